//! A pipeline of three jobs and one that lands, in every order; and work of clones that know nothing of each other.

use crate::support::World;
use crate::support::tally::full;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const ORDERS: [&str; 6] =
    ["one two three", "one three two", "two one three", "two three one", "three one two", "three two one"];

#[test]
fn the_order_of_the_jobs_changes_nothing() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pipeline.sh");
    let mut results = BTreeSet::new();
    // A push tries the one order and its reverse.
    for order in ORDERS.into_iter().filter(|order| full() || [ORDERS[0], ORDERS[5]].contains(order)) {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().canonicalize().unwrap().join("pipeline");
        let mut run = Command::new(script);
        let ran = run.arg(env!("CARGO_BIN_EXE_git-skein")).arg(&folder).arg(order).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success(), "{order}: {out}\n{err}");
        results.insert(out.into_owned());
    }
    let all: Vec<&String> = results.iter().collect();
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(all[0].ends_with("landed What one did\nlanded What two did\n"), "{all:?}");
}

/// A server, and a clone of it for each name.
fn clones(names: &[&str]) -> World {
    let world = World::new();
    let at = |name: &str| world.root().join(name).display().to_string();
    world.git(["clone", "--quiet", "--bare", ".", &at("server")]);
    for name in names {
        world.git(["clone", "--quiet", "--template=", &at("server"), &at(name)]);
        for (key, value) in [("user.name", "Ada"), ("user.email", "ada@example.invalid")] {
            world.git(["-C", &at(name), "config", key, value]);
        }
    }
    world
}

const PUSH: &[&str] = &["push", "--quiet", "origin", "refs/skein/*:refs/skein/*"];
const FETCH: &[&str] = &["fetch", "--quiet", "origin", "refs/skein/*:refs/skein/*"];

fn stand(world: &mut World, name: &str) {
    world.cwd = world.root().join(name);
}

#[test]
fn a_working_tree_that_was_taken_in_elsewhere_lands() {
    let mut world = clones(&["job", "last"]);
    stand(&mut world, "job");
    world.worker("draft", "echo d > d.txt");
    let tip = world.skein(&["import", "draft", "--json"]).ok().json()["result"]["delta"]["tip"].clone();
    world.git(PUSH);
    stand(&mut world, "last");
    world.git(FETCH);
    let row = world.skein(&["status", "--json"]).ok().json()["result"]["workers"][0].clone();
    assert_eq!((&row["head"], &row["commits"], &row["files"]), (&tip, &1.into(), &1.into()), "{row}");
    world.skein(&["land", "draft"]).ok();
    assert_eq!(world.git(["show", "main:d.txt"]), "d");
    world.skein(&["landed", "draft"]).ok();
    world.skein(&["fsck"]).ok();
    let at = format!("refs/skein/worker/{}", world.ulid("draft"));
    assert_eq!(
        world.rev(&at),
        world.git(["ls-remote", "origin", &at]).split('\t').next().unwrap(),
        "untouched"
    );
}

#[test]
fn work_that_did_not_come_is_refused_by_name() {
    let mut world = clones(&["job", "last"]);
    stand(&mut world, "job");
    world.worker("fails", "echo f > f.txt; git add f.txt; git commit -qm f; exit 1");
    world.worker("fine", "echo g > g.txt; git add g.txt; git commit -qm g");
    world.git(PUSH);
    stand(&mut world, "last");
    world.git(FETCH);
    let status = world.skein(&["status"]).ok().out;
    assert!(status.lines().any(|l| l.starts_with("fails") && l.contains("in another clone")), "{status}");
    for words in [
        &["land", "--any-outcome", "fails"][..],
        &["import", "--any-outcome", "fails"],
        &["landed", "fails"],
        &["restore", "fails"],
    ] {
        world.skein(words).refused("foreign-worker", 1);
    }
    for words in
        [&["show", "fails"][..], &["inbox"], &["overlap"], &["fsck"], &["doctor"], &["reap", "--all"]]
    {
        let ran = world.skein(words);
        assert!(!ran.err.contains("fault:"), "{words:?}: {ran:?}");
    }
    // It does not keep the others.
    world.skein(&["land", "--all"]).ok();
    assert_eq!(world.git(["show", "main:g.txt"]), "g");
    // Frozen there and pushed again, it is here.
    stand(&mut world, "job");
    world.skein(&["import", "--any-outcome", "fails"]).ok();
    world.git(PUSH);
    stand(&mut world, "last");
    world.git(FETCH);
    world.skein(&["land", "--any-outcome", "fails"]).ok();
    assert_eq!(world.git(["show", "main:f.txt"]), "f");
}

#[test]
fn two_clones_may_choose_one_name() {
    let mut world = clones(&["one", "two", "last"]);
    for name in ["one", "two"] {
        stand(&mut world, name);
        world.worker("fix", &format!("echo {name} > {name}.txt; git add .; git commit -qm {name}"));
        world.git(PUSH);
    }
    stand(&mut world, "last");
    world.git(FETCH);
    world.skein(&["land", "fix"]).refused("ambiguous-worker", 1);
    let done = world.skein(&["land", "--all", "--json"]).ok().json();
    let order: BTreeSet<&str> = done["result"]["plan"]["order"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    assert!(order.len() == 2 && order.iter().all(|name| name.len() == 26), "{order:?}");
    assert_eq!(world.git(["ls-tree", "--name-only", "main"]), ".gitignore\na.txt\nb.txt\none.txt\ntwo.txt");
}

/// The clocks of clones say nothing of each other.
#[test]
fn between_clones_the_handle_decides_who_is_first() {
    let mut landed = BTreeSet::new();
    for order in [["a", "b"], ["b", "a"]] {
        let mut world = clones(&["a", "b", "last"]);
        for name in order {
            stand(&mut world, name);
            world.worker(name, &format!("echo {name} > a.txt; git commit -qam {name}"));
            world.git(PUSH);
        }
        stand(&mut world, "last");
        world.git(FETCH);
        world.skein(&["land", "--all"]).code(3);
        landed.insert(world.git(["show", "main:a.txt"]));
        assert!(Path::new(&world.cwd).join("a.txt").is_file());
    }
    assert_eq!(landed.into_iter().collect::<Vec<_>>(), ["a"]);
}
