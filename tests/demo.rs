//! `demo` as a stranger runs it: anywhere, with any configuration, and gone afterwards.

use crate::support::Ran;
use crate::support::World;
use crate::support::ran;
use std::fs;
use std::path::PathBuf;

/// A world with a folder of its own for temporary files, and that folder.
fn world() -> (World, PathBuf) {
    let world = World::empty();
    let temp = world.root().join("temp");
    fs::create_dir(&temp).unwrap();
    let name = temp.display().to_string();
    (world.env("TMPDIR", &name), temp)
}

fn entries(folder: &PathBuf) -> usize {
    fs::read_dir(folder).unwrap().count()
}

/// Every part of the story is there, in its order.
#[track_caller]
fn tells_all(ran: &Ran) {
    let mut rest = ran.out.as_str();
    for key in [
        "Three workers start at once.",
        "$ git skein dispatch --name menu -F ../tasks/menu.txt",
        "$ git skein dispatch --name cheaper",
        "$ git skein status",
        "cheaper ready (1 commit, 1 file)",
        "frozen: menu delta 1: 1 commit, 1 path",
        "$ git skein land menu --gate 'sh check.sh'",
        "landed: menu on main",
        "gate passed: sh check.sh",
        "refused: conflict:",
        "prices.txt",
        "(exit code 3)",
        "[self-discarded]",
        "idea.txt\nthe tenth cup is free\n",
        "$ git skein landed --explain dearer",
        "by proof of receipt",
        "not-landed:",
        "landing: main",
        "dearer: Tea costs 4",
        "steps ended as they should.",
    ] {
        let at =
            rest.find(key).unwrap_or_else(|| panic!("no {key:?} after its predecessor in:\n{}", ran.out));
        rest = &rest[at + key.len()..];
    }
    assert!(!ran.out.contains('\x1b'), "colour in a pipe");
    assert_eq!(ran.err, "");
}

#[test]
fn the_demo_runs_and_leaves_nothing() {
    let (world, temp) = world();
    let ran = world.skein(&["demo"]).ok();
    tells_all(&ran);
    assert!(ran.out.contains("Removed: "), "{}", ran.out);
    assert_eq!(entries(&temp), 0);
    assert_eq!(world.git(["for-each-ref"]), "");
}

#[test]
fn a_kept_demo_is_a_repository_like_any_other() {
    let (world, temp) = world();
    let ran = world.skein(&["demo", "--keep"]).ok();
    tells_all(&ran);
    let kept = ran.out.lines().last().unwrap().rsplit_once(": ").unwrap().1.to_owned();
    assert!(kept.starts_with(temp.to_str().unwrap()));
    world.git(["-C", &kept, "fsck", "--full", "--strict"]);
    assert_eq!(world.git(["-C", &kept, "status", "--porcelain"]), "");
    let status = world.skein(&["-C", &kept, "status"]).ok().out;
    for handle in ["menu", "dearer", "cheaper", "regret"] {
        assert!(status.contains(handle), "{status}");
    }
}

#[test]
fn no_configuration_of_the_person_reaches_the_demo() {
    let (world, temp) = world();
    let config = "[commit]\n\tgpgSign = true\n[core]\n\tautocrlf = true\n\thooksPath = /no/such\n\
                  \texcludesFile = ~/ignore\n[init]\n\tdefaultBranch = other\n[skein]\n\ttrunk = nowhere\n";
    fs::write(world.root().join("home/.gitconfig"), config).unwrap();
    fs::write(world.root().join("home/ignore"), "*.txt\n").unwrap();
    let git_dir = world.path(".git").display().to_string();
    let world = world
        .env("GIT_DIR", &git_dir)
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "skein.worktreeDir")
        .env("GIT_CONFIG_VALUE_0", "/no/such/place")
        .env("GIT_DEFAULT_HASH", "sha256");
    let ran = ran(world.command(&["demo"]).current_dir("/").output().unwrap()).ok();
    tells_all(&ran);
    assert_eq!(entries(&temp), 0);
}

#[test]
fn a_demo_for_programs_prints_one_document() {
    let (world, temp) = world();
    let ran = world.skein(&["demo", "--json"]).ok();
    assert_eq!(ran.json()["result"]["kept"], serde_json::Value::Null);
    assert!(ran.err.contains("refused: conflict:"), "{}", ran.err);
    assert_eq!(entries(&temp), 0);
}

#[test]
fn a_demo_that_cannot_be_made_says_so() {
    let world = World::empty().env("TMPDIR", "/no/such/folder");
    let ran = world.skein(&["demo"]).code(128);
    assert!(ran.err.contains("/no/such/folder"), "{}", ran.err);
}
