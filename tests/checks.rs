//! What is run on a worker's delta and kept as evidence, and what is run again later.

use crate::support::World;
use std::fs;

/// A command that leaves a mark outside each time it runs, then does `rest`.
fn counting(world: &World, rest: &str) -> String {
    format!("echo run >> {}; {rest}", world.root().join("runs").display())
}

fn runs(world: &World) -> usize {
    fs::read_to_string(world.root().join("runs")).unwrap_or_default().lines().count()
}

fn dispatch(world: &World, name: &str, check: &str, script: &str) {
    let script = format!("{script}\ngit add -A && git commit -qm {name}");
    world
        .skein(&["dispatch", "--wait", "--check", check, "--name", name, name, "--", "sh", "-c", &script])
        .ok();
}

#[test]
fn a_delta_is_checked_once_and_what_was_seen_is_kept() {
    let world = World::new();
    dispatch(
        &world,
        "w",
        &counting(&world, "git --version; grep -q one a.txt"),
        "sed -i 's/line 1/one/' a.txt",
    );
    let bad = counting(&world, "echo why it fails; false");
    let ran = world.skein(&["check", "w", "--check", &bad]).code(5);
    assert!(ran.out.contains("  passed  echo run") && ran.out.contains("    why it fails\n"), "{}", ran.out);
    assert!(ran.out.contains("    git: git version 2."), "what it was run with: {}", ran.out);
    assert_eq!(runs(&world), 2, "one that fails does not keep the others");
    assert_eq!(world.git(["status", "--porcelain"]), "");

    let again = world.skein(&["check", "w", "--json"]).ok().json()["result"].clone();
    assert_eq!(again["checks"][0]["already"], true);
    assert_eq!(again["tree"], world.git(["rev-parse", &format!("{}^{{tree}}", tip(&world, "w"))]));
    assert_eq!(runs(&world), 2);
    world.skein(&["check", "w", "--again"]).ok();
    assert_eq!(runs(&world), 3);
    let card = world.skein(&["show", "w"]).ok().out;
    assert!(card.contains("grep -q one a.txt") && !card.contains("why it fails"), "{card}");
    // It lands with what was proven of this very tree.
    world.skein(&["land", "w"]).ok();
    assert_eq!(runs(&world), 3);
    world.check();
}

fn tip(world: &World, name: &str) -> String {
    world.field(name, "head").as_str().unwrap().to_owned()
}

#[test]
fn what_a_check_does_not_read_does_not_run_it_again() {
    let world = World::new();
    let check = counting(&world, "cat b.txt");
    dispatch(&world, "one", &check, "echo one > one.txt");
    dispatch(&world, "two", &check, "echo two > two.txt");
    dispatch(&world, "three", &check, "echo three > b.txt");
    for (name, already) in [("one", false), ("two", true), ("three", false)] {
        let ran = world.skein(&["check", name, "--reads", "b.*", "--json"]).ok().json()["result"].clone();
        assert_eq!(ran["checks"][0]["already"], already, "{name}");
    }
    assert_eq!(runs(&world), 2);
    world.skein(&["check", "two"]).ok();
    assert_eq!(runs(&world), 3, "unless somebody says what it reads, it reads all");
    world.skein(&["check", "two", "--reads", "["]).refused("bad-pattern", 1);
}

#[test]
fn a_check_that_ran_no_test_is_no_pass() {
    let world = World::new();
    let none = "echo 'running 0 tests'; echo; echo 'test result: ok. 0 passed; 0 failed; 0 ignored'";
    dispatch(&world, "w", none, "echo w > w.txt");
    let ran = world.skein(&["check", "w"]).code(5);
    assert!(ran.out.contains("failed") && ran.out.contains("ran no test"), "{}", ran.out);
    assert!(ran.out.contains("exit 0, 0 tests"), "{}", ran.out);
    let main = world.head();
    world.skein(&["land", "w"]).refused("no-tests", 5);
    assert_eq!(world.head(), main);
    let card = world.skein(&["show", "w"]).ok().out;
    assert!(!card.contains("  passed"), "{card}");
    world.skein(&["check", "w", "--allow-empty"]).ok();
    world.skein(&["land", "w", "--allow-empty"]).ok();
    let some = "echo 'test result: ok. 4 passed; 0 failed; 0 ignored'";
    dispatch(&world, "x", some, "echo x > x.txt");
    let ran = world.skein(&["check", "x", "--json"]).ok().json()["result"].clone();
    assert_eq!(ran["checks"][0]["tests"], 4);
    world.check();
}

#[test]
fn what_was_recorded_is_run_again_and_compared() {
    let world = World::new();
    let weather = world.root().join("weather");
    fs::write(&weather, "fair\n").unwrap();
    let check = format!("grep fair {}", weather.display());
    dispatch(&world, "w", &check, "echo w > w.txt");
    world.skein(&["land", "w", "--gate", "test -e w.txt"]).ok();
    let ran = world.skein(&["verify", "main"]).ok();
    assert_eq!(ran.out.matches("  same  ").count(), 2, "{}", ran.out);
    world.skein(&["verify", "main~1"]).refused("no-evidence", 1);
    world.skein(&["verify", "nothing"]).refused("bad-revision", 1);

    fs::write(&weather, "foul\n").unwrap();
    let ran = world.skein(&["verify", "HEAD", "--json"]).code(1).json()["result"].clone();
    let told: Vec<(bool, bool)> = ran["compared"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["same"].as_bool().unwrap(), one["same_output"].as_bool().unwrap()))
        .collect();
    assert_eq!(told, [(false, false), (true, true)]);
    // The next one compares with the record, and not with what this one saw; so it is in any clone.
    let text = world.skein(&["verify", "HEAD"]).code(1).out;
    assert_eq!(text.matches("  same  ").count(), 1, "{text}");
    // What failed since is no proof any more.
    world.git(["branch", "again", "main"]);
    world.git(["update-ref", "refs/heads/main", "main~1"]);
    world.git(["reset", "-q", "--hard"]);
    world.skein(&["land", "again", "--gate", &check]).refused("gate-failed", 5);
    fs::write(&weather, "fair\n").unwrap();
    world.skein(&["land", "again", "--gate", &check]).ok();
    world.check();
}

#[test]
fn nothing_to_check_is_a_refusal() {
    let world = World::new();
    world.worker("w", "echo w > w.txt; git add w.txt; git commit -qm w");
    world.skein(&["check", "w"]).refused("no-task", 1);
    world.skein(&["check", "nobody"]).refused("no-such-worker", 1);
    world.skein(&[
        "dispatch",
        "--wait",
        "--name",
        "in",
        "in",
        "--",
        "sh",
        "-c",
        "git skein check w; git skein verify HEAD",
    ]);
    let log = world.skein(&["show", "--log", "in"]).ok().out;
    assert_eq!(log.matches("refused: in-worker").count(), 2, "{log}");
}

#[test]
fn a_check_is_shut_in() {
    if !crate::jail::possible() {
        return;
    }
    let world = World::new();
    world.git(["config", "skein.jail", "bwrap"]);
    let outside = world.root().join("outside");
    dispatch(&world, "w", &format!("echo x > {}; true", outside.display()), "echo w > w.txt");
    world.skein(&["check", "w"]).ok();
    assert!(!outside.exists());
}
