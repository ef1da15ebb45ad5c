//! What is saved of a worker: taken along as a file, opened where there is nothing else, taken in elsewhere, and given
//! to another worker as a reference; and files that are not what they say.

mod hostile;
mod references;

use crate::support::Ran;
use crate::support::World;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// Its work is judged, checked and spoken of.
const WORK: &str = "git skein worker note hello; sed -i 's/line 1/one/' a.txt; git commit -qam one; \
                    echo n > n.txt; git add n.txt; git commit -qm two";

/// A repository with a worker `fix` of which there is something in each part.
pub fn judged() -> World {
    let world = World::new();
    let check = "seq 1 400; grep -c one a.txt";
    let args = ["dispatch", "--wait", "--check", check, "--name", "fix", "Fix the first line"];
    world.skein(&[&args[..], &["--", "sh", "-c", WORK]].concat()).ok();
    world.skein(&["check", "fix"]).ok();
    world.skein(&["verdict", "fix", "accept", "-m", "looks fine"]).ok();
    world
}

/// The same with its bundle in the file `fix.bundle` beside the repository, and the id of that.
pub fn exported() -> (World, String) {
    let world = judged();
    world.skein(&["bundle", "save", "fix"]).ok();
    let done = world.skein(&["bundle", "export", "fix", "../fix.bundle", "--json"]).ok().json();
    (world, done["result"]["commit"].as_str().unwrap().to_owned())
}

pub fn file(world: &World) -> PathBuf {
    world.root().join("fix.bundle")
}

/// Another repository beside the first, with what a clone has.
pub fn cloned(world: &World) -> World {
    let mut other = world.copy();
    other.repo = other.root().join("other");
    world.git(["clone", "--quiet", ".", other.repo.to_str().unwrap()]);
    other.cwd = other.repo.clone();
    other.git(["config", "user.name", "Bob"]);
    other.git(["config", "user.email", "bob@example.invalid"]);
    other
}

pub fn result(ran: Ran) -> Value {
    ran.ok().json()["result"].clone()
}

fn paths(shown: &Value) -> Vec<String> {
    let papers = shown["papers"].as_array().unwrap();
    papers.iter().map(|paper| paper["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_is_saved_outlives_its_worker() {
    let world = judged();
    let saved = result(world.skein(&["bundle", "save", "fix", "--json"]));
    assert_eq!(
        (&saved["already"], &saved["delta"], &saved["handle"]),
        (&false.into(), &1.into(), &"fix".into())
    );
    let again = result(world.skein(&["bundle", "save", "fix", "--json"]));
    assert_eq!((&again["already"], &again["commit"]), (&true.into(), &saved["commit"]));
    let (commit, tip) = (saved["commit"].as_str().unwrap(), world.field("fix", "head"));
    world.skein(&["reap", "fix", "--yes", "--include-unlanded"]).ok();
    for space in ["refs/skein/archive", "refs/skein-local"] {
        for name in world.lines(&["for-each-ref", "--format=%(refname)", space]) {
            world.git(["update-ref", "-d", &name]);
        }
    }
    world.collect_garbage();
    assert!(world.exists(tip.as_str().unwrap()), "its delta is kept");
    let text = world.skein(&["bundle", "show", "fix"]).ok().out;
    for part in [
        &format!("verified: {commit}\n"),
        "task     Fix the first line\n",
        "(2 commits, 2 paths; checked against its base)",
        "verdict  accept by Ada <ada@example.invalid> at ",
        ": looks fine\n",
        "evidence exit 0: seq 1 400; grep -c one a.txt (evidence/1.txt)\n",
        "  brief/brief.md (18 bytes)\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let diff = world.skein(&["bundle", "show", "fix", "delta/delta.diff"]).ok().out;
    assert!(diff.contains("\n-line 1\n+one\n") && diff.contains("+++ b/n.txt"), "{diff}");
    let listed = result(world.skein(&["bundle", "list", "--json"]));
    assert_eq!(listed["bundles"][0]["parts"].as_array().unwrap().len(), 5);
    assert!(
        world
            .skein(&["bundle", "list"])
            .ok()
            .out
            .contains("brief, delta, verdicts, evidence, messages (7 papers, ")
    );
    assert!(world.skein(&["fsck"]).ok().out.starts_with("sound"), "no clone has that worker any more");

    world.skein(&["bundle", "delete", "fix"]).ok();
    assert_eq!(world.git(["for-each-ref", "refs/skein/bundle"]), "");
    world.collect_garbage();
    assert!(!world.exists(commit));
    world.check();
}

#[test]
fn parts_are_chosen_and_output_is_cut() {
    let world = judged();
    let shown = |args: &[&str]| {
        let saved = result(world.skein(&[&["bundle", "save", "fix", "--json"], args].concat()));
        result(world.skein(&["bundle", "show", saved["bundle"].as_str().unwrap(), "--json"]))
    };
    let some = shown(&["--only", "brief,verdicts"]);
    assert_eq!(
        (some["delta"].clone(), some["needs"].clone(), paths(&some).len()),
        (Value::Null, Value::Null, 2)
    );
    let rest = shown(&["--without", "brief", "--without", "verdicts,messages", "--max-output", "40"]);
    assert_eq!(paths(&rest), ["delta/delta.json", "delta/delta.diff", "evidence/1.json", "evidence/1.txt"]);
    let output = &rest["papers"][3];
    assert_eq!(output["of"], 1494, "{output}");
    let id = rest["bundle"].as_str().unwrap();
    let text = world.skein(&["bundle", "show", id, "evidence/1.txt"]).ok().out;
    assert!(
        text.starts_with("1\n2\n") && text.ends_with("\n1\n") && text.contains("[1454 bytes are left out]"),
        "{text}"
    );
    assert_eq!(text.len() as u64, output["bytes"].as_u64().unwrap());
    world.skein(&["bundle", "save", "fix", "--only", "brief", "--without", "brief"]).refused("no-task", 1);
    world.skein(&["bundle", "save", "fix", "--only", "secrets"]).code(129);
    // A worker that has no delta yet has the rest.
    world.worker("asks", "git skein worker wait --question 'Which?' --option a --option b");
    let said = world.skein(&["bundle", "save", "asks"]).ok().out;
    assert!(said.contains("no delta is frozen: git skein import asks freezes it"), "{said}");
    assert!(world.skein(&["bundle", "show", "asks"]).ok().out.contains("asked    1: Which?\n"));
    world.skein(&["bundle", "show", "fix"]).refused("ambiguous-bundle", 1);
    world.skein(&["fsck"]).ok();
    world.check();
}

#[test]
fn a_file_is_a_bundle_of_git_and_comes_in_once() {
    let (world, commit) = exported();
    let path = file(&world);
    let name = path.to_str().unwrap();
    world.git(["bundle", "verify", "--quiet", name]);
    world.skein(&["bundle", "export", "fix", "../fix.bundle"]).refused("file-exists", 1);
    let other = cloned(&world);
    other.git(["fetch", "--quiet", name, "refs/skein/bundle/*:refs/heads/kept/*"]);
    other.git(["diff", "--quiet", &format!("{commit}^"), world.field("fix", "head").as_str().unwrap()]);
    for kept in other.lines(&["for-each-ref", "--format=%(refname)", "refs/heads/kept"]) {
        other.git(["update-ref", "-d", &kept]);
    }
    other.collect_garbage();

    let theirs = || other.git(["for-each-ref", "refs/heads", "refs/remotes", "refs/tags"]);
    let before = theirs();
    let came = result(other.skein(&["bundle", "import", name, "--expect", &commit, "--json"]));
    assert_eq!(
        (&came["already"], &came["commit"], &came["from"]),
        (&false.into(), &commit.clone().into(), &name.into())
    );
    let again = result(other.skein(&["bundle", "import", name, "--json"]));
    assert_eq!(again["already"], true);
    assert_eq!(other.lines(&["for-each-ref", "refs/skein/bundle"]).len(), 1);
    assert_eq!(theirs(), before, "no ref of the person has moved");
    other.collect_garbage();
    assert!(other.skein(&["bundle", "show", "fix"]).ok().out.contains("saved here"));
    assert!(other.skein(&["bundle", "list"]).ok().out.contains(&format!("  from {name}\n")));
    assert!(other.skein(&["fsck"]).ok().out.starts_with("sound"));
    other.skein(&["bundle", "export", "fix", "../again.bundle"]).ok();
    let out = other.root().join("again.bundle");
    other.skein(&["bundle", "show", out.to_str().unwrap(), "--expect", &commit]).ok();
    other.check();
}

#[test]
fn a_file_opens_where_there_is_no_repository() {
    let (world, commit) = exported();
    let alone = tempfile::tempdir().unwrap();
    fs::copy(file(&world), alone.path().join("x")).unwrap();
    let run = |args: &[&str]| {
        let mut command = world.command(args);
        crate::support::ran(command.current_dir(alone.path()).output().unwrap())
    };
    let text = run(&["bundle", "show", "x"]).ok().out;
    assert!(
        text.starts_with(&format!("verified: {commit}\n")) && text.contains("its base is not here"),
        "{text}"
    );
    assert!(run(&["bundle", "show", "x", "delta/delta.diff"]).ok().out.contains("+one\n"));
    run(&["bundle", "show", "x", "--expect", &commit]).ok();
    run(&["bundle", "show", "x", "--expect", &"0".repeat(39)]).refused("bad-revision", 1);
    run(&["bundle", "show", "x", "--expect", &world.head()]).refused("bundle-changed", 1);
    run(&["bundle", "show", "x", "evidence/9.txt"]).refused("no-such-bundle", 1);
    run(&["bundle", "import", "x"]).refused("not-a-repository", 128);
    run(&["bundle", "list"]).refused("not-a-repository", 128);
    assert_eq!(fs::read_dir(alone.path()).unwrap().count(), 1, "nothing is left there");
}

#[test]
fn a_file_wants_its_base_or_brings_it() {
    let (world, _) = exported();
    world.skein(&["bundle", "export", "fix", "../whole.bundle", "--whole"]).ok();
    let whole = world.root().join("whole.bundle");
    let (part, whole) = (file(&world).display().to_string(), whole.display().to_string());
    let stranger = World::empty();
    stranger.write("a.txt", "other\n");
    stranger.commit("other");
    let said = stranger.skein(&["bundle", "import", &part]).refused("bundle-unfit", 1);
    assert!(said.err.contains("it needs: "), "{}", said.err);
    assert_eq!(stranger.git(["for-each-ref", "refs/skein/bundle"]), "");
    stranger.skein(&["bundle", "show", &part]).ok();
    stranger.skein(&["bundle", "import", &whole]).ok();
    stranger.collect_garbage();
    assert!(stranger.skein(&["bundle", "show", "fix"]).ok().out.contains("checked against its base"));
    stranger.skein(&["fsck"]).ok();
    stranger.check();
    let long = World::with_formats(&["--object-format=sha256"]);
    long.skein(&["bundle", "import", &whole]).refused("bundle-unfit", 1);
    assert!(long.skein(&["bundle", "show", &whole]).ok().out.contains("checked against its base"));
}

#[test]
fn bundles_of_long_ids_and_of_reftables() {
    for options in [&["--object-format=sha256"][..], &["--ref-format=reftable"]] {
        let known = World::empty().try_git(["init", "-h"]);
        if !String::from_utf8_lossy(&known.stdout).contains("ref-format") && options[0].contains("ref-format")
        {
            continue;
        }
        let world = World::with_formats(options);
        world.worker("fix", "sed -i 's/line 1/one/' a.txt; git commit -qam one");
        world.skein(&["bundle", "save", "fix"]).ok();
        world.skein(&["bundle", "export", "fix", "../fix.bundle"]).ok();
        world.git(["bundle", "verify", "--quiet", file(&world).to_str().unwrap()]);
        world.skein(&["bundle", "delete", "fix"]).ok();
        world.skein(&["reap", "fix", "--yes", "--include-unlanded"]).ok();
        world.skein(&["bundle", "import", "../fix.bundle"]).ok();
        assert!(world.skein(&["bundle", "show", "fix"]).ok().out.contains("checked against its base"));
        world.skein(&["fsck"]).ok();
    }
}

/// More objects than come in as files of their own.
#[test]
fn a_large_one_comes_in_as_a_pack() {
    let world = World::new();
    world.worker("fix", "for n in $(seq 300); do echo $n > f$n; done; git add -A; git commit -qm many");
    world.skein(&["bundle", "save", "fix"]).ok();
    world.skein(&["bundle", "export", "fix", "../fix.bundle"]).ok();
    let other = cloned(&world);
    other.skein(&["bundle", "import", file(&world).to_str().unwrap()]).ok();
    let packs: Vec<String> = fs::read_dir(other.path(".git/objects/pack"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(packs.iter().any(|name| name.ends_with(".pack")), "{packs:?}");
    assert!(packs.iter().all(|name| !name.ends_with(".keep")), "{packs:?}");
    other.collect_garbage();
    other.skein(&["bundle", "show", "fix"]).ok();
    other.check();
}
