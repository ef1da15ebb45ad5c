//! A gate that was asked for runs, whatever way the work takes to the trunk, or the way is closed.

use crate::support::Ran;
use crate::support::World;

/// A worker `w` with the check `grep -q good new.txt`, whose file holds `word`.
fn checked(word: &str) -> World {
    let world = World::new();
    let script = format!("echo {word} > new.txt && git add new.txt && git commit -qm new");
    let check = "grep -q good new.txt";
    world
        .skein(&["dispatch", "--wait", "--name", "w", "--check", check, "T", "--", "sh", "-c", &script])
        .ok();
    world
}

#[test]
fn a_workers_check_holds_for_the_branch_that_collected_it() {
    let world = checked("bad");
    let base = world.head();
    // What only collects takes everything.
    world.skein(&["import", "w", "--into", "coord"]).ok();
    assert_ne!(world.rev("coord"), base);
    for land in [&["land", "coord"][..], &["land", "coord", "--gate", "true"]] {
        let said = world.skein(land).refused("gate-failed", 5);
        assert!(said.err.contains("grep -q good"), "{}", said.err);
    }
    world.skein(&["candidate", "create", "coord"]).ok();
    world.skein(&["candidate", "admit", "coord"]).refused("gate-failed", 5);
    world.skein(&["candidate", "integrate", "coord"]).refused("not-admitted", 1);
    assert_eq!(world.rev("main"), base);
    // A closed worker's is not forgotten either.
    world.skein(&["reap", "w", "--yes", "--include-unlanded"]).ok();
    world.skein(&["land", "coord"]).refused("gate-failed", 5);
    assert_eq!(world.rev("main"), base);
    world.check();
}

#[test]
fn what_a_branch_brought_already_is_not_checked_again() {
    let world = checked("good");
    world.skein(&["import", "w", "--into", "coord"]).ok();
    let said = world.skein(&["land", "coord", "--json"]).ok().json();
    assert_eq!(said["result"]["gates"], serde_json::json!(["grep -q good new.txt"]));
    world.git(["rm", "--quiet", "new.txt"]);
    world.commit("done with it");
    world.git(["update-ref", "refs/heads/coord", "main"]);
    world.worker("more", "echo more > more.txt && git add more.txt && git commit -qm more");
    world.skein(&["import", "more", "--into", "coord"]).ok();
    let said = world.skein(&["land", "coord", "--json"]).ok().json();
    assert_eq!(said["result"]["gates"], serde_json::json!([]));
    world.check();
}

#[test]
fn import_is_no_way_past_a_check() {
    let world = checked("bad");
    let base = world.head();
    world.skein(&["import", "w", "--into", "main"]).refused("gate-failed", 5);
    assert_eq!(world.rev("main"), base);

    let world = World::new();
    world.git(["branch", "next"]);
    let script = "echo bad > new.txt && git add new.txt && git commit -qm new";
    let argv =
        ["dispatch", "--wait", "--name", "w", "--onto", "next", "--check", "false", "T", "--", "sh", "-c"];
    world.skein(&[&argv[..], &[script]].concat()).ok();
    world.skein(&["import", "w", "--into", "next"]).refused("gate-failed", 5);
    assert_eq!(world.rev("next"), world.rev("main"));
    world.check();
}

#[test]
fn a_gate_is_run_where_it_is_given_or_not_taken() {
    let world = checked("good");
    world.skein(&["candidate", "create", "w", "--gate", "false"]).code(129);
    world.skein(&["candidate", "create", "w"]).ok();
    world.skein(&["candidate", "admit", "w"]).ok();
    let said =
        world.skein(&["candidate", "integrate", "w", "--gate", "test -f new.txt"]).refused("not-admitted", 1);
    assert!(said.err.contains("`test -f new.txt`"), "{}", said.err);
    world.skein(&["candidate", "admit", "w", "--gate", "test -f new.txt"]).ok();
    world.skein(&["candidate", "integrate", "w", "--gate", "test -f new.txt"]).ok();
    world.check();
}

/// As of `--gate "$TESTS"` where the variable is not set: it would pass, and prove nothing.
#[test]
fn an_empty_command_is_no_gate() {
    let world = checked("good");
    for args in [
        &["land", "w", "--gate", ""][..],
        &["land", "w", "--gate= "],
        &["land", "--all", "--gate", ""],
        &["candidate", "admit", "w", "--gate", ""],
        &["candidate", "integrate", "w", "--gate", ""],
        &["dispatch", "--check", "", "T"],
    ] {
        let said = world.skein(args).code(129);
        assert!(said.err.contains("no command"), "{args:?}: {}", said.err);
    }
    assert_eq!(
        world.skein(&["status", "--json"]).ok().json()["result"]["workers"].as_array().unwrap().len(),
        1
    );
}

/// Types into a shell what `said` shows, as a person would, and gives what it printed.
fn type_shown(world: &World, said: &Ran) -> String {
    let shown = said.shown();
    let ran = std::process::Command::new("sh").args(["-c", shown]).current_dir(&world.repo).output().unwrap();
    let text = [ran.stdout, ran.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(!text.contains("syntax error"), "{shown}\n{text}");
    text
}

#[test]
fn what_a_gate_did_is_seen_away_from_the_checkout() {
    let world = checked("good");
    let cases =
        [("sed -i s/good/bad/ new.txt", "gate-dirtied"), ("touch here; test -f nowhere", "gate-failed")];
    for (gate, token) in cases {
        let said = world.skein(&["land", "w", "--gate", gate]).refused(token, 5);
        for _ in 0..2 {
            let text = type_shown(&world, &said);
            assert!(token == "gate-failed" || text.contains("modified:   new.txt"), "{text}");
        }
        assert_eq!(world.git(["status", "--porcelain"]), "", "the person's checkout is as it was");
    }
    world.git(["worktree", "prune", "--expire=now"]);
}

/// Both ways out of a conflict are walked as they are told.
#[test]
fn a_conflict_is_resolved_as_it_is_told() {
    let world = World::new();
    for name in ["one", "two", "three"] {
        world.worker(name, &format!("echo {name} >a.txt; git commit -qam {name}"));
    }
    world.skein(&["land", "one"]).ok();
    let told = world.skein(&["land", "two"]).refused("conflict", 3);
    type_shown(&world, &told);
    let next = told.next();
    let merging =
        next.split_once("a branch of yours: ").unwrap().1.split_once(", then ").unwrap().0.to_owned();
    world.git(["config", "user.name", "Ada"]);
    world.git(["config", "user.email", "ada@example.invalid"]);
    let sh = |tree: &std::path::Path, words: &str| {
        std::process::Command::new("sh").args(["-c", words]).current_dir(tree).output().unwrap()
    };
    assert!(!sh(&world.repo, &merging).status.success(), "it conflicts: {merging}");
    sh(&world.repo, "echo both >a.txt; git commit -qam both");
    world.git(["switch", "-q", "main"]);
    world.skein(&["land", "two-merged"]).ok();
    world.skein(&["landed", "two"]).ok();

    // Who has merged the trunk into the fork lands that as a branch, and keeps what was resolved.
    world.skein(&["land", "three"]).refused("conflict", 3);
    let tree = world.worktree("three");
    sh(&tree, "git merge -q main; echo all >a.txt; git commit -qam all");
    let told = world.skein(&["land", "three"]).refused("foreign-merge", 1);
    let next = told.next();
    let branch =
        next.split_once("as a branch of yours: ").unwrap().1.split_once(" && ").unwrap().0.to_owned();
    assert!(sh(&world.repo, &branch).status.success(), "{branch}");
    world.skein(&["land", "three-merged"]).ok();
    assert_eq!(world.git(["show", "main:a.txt"]), "all");
    world.skein(&["landed", "three"]).ok();
}
