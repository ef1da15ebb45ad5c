//! Hooks that are not there, notes that go, and many of everything. Of the same list: many worktrees at once
//! is `races::sixteen_dispatches_at_once_all_stand`; a landing order for many workers `batch`; a caller and a
//! callee that merge cleanly and do not work `cases_f::f16`; what a worktree of 20,000 files costs is in
//! docs/performance.md.

use crate::support::World;
use std::fs;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

#[test]
fn x21_hooks_that_a_worktree_does_not_have_are_told_at_dispatch() {
    let dispatch = |world: &World, name: &str| {
        let argv = [
            "dispatch",
            "--wait",
            "--name",
            name,
            "T",
            "--",
            "sh",
            "-c",
            "echo w > b.txt; git commit -qam w",
        ];
        world.skein(&argv)
    };
    let world = World::new();
    world.write(".gitignore", ".husky/_\n");
    world.commit("ignored hooks");
    let hook = world.path(".husky/_/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let quiet = dispatch(&world, "before").ok();
    assert!(!quiet.err.contains("no hooks") && !quiet.out.contains("no hooks"), "{quiet:?}");
    world.git(["config", "core.hooksPath", ".husky/_"]);
    world.write("b.txt", "x\n");
    assert!(!world.try_git(["commit", "-qam", "x"]).status.success(), "the hook runs in the main checkout");
    world.git(["checkout", "--", "b.txt"]);

    // The commit that the hook forbids is made: git runs no hook there, and says nothing.
    let told = dispatch(&world, "w").ok();
    assert_eq!(world.field("w", "outcome"), "ready");
    let said = format!("{}{}", told.out, told.err);
    assert!(said.contains("no hooks: .husky/_: core.hooksPath is relative"), "{told:?}");
    let argv = ["dispatch", "--json", "--name", "json", "T", "--", "true"];
    assert_eq!(world.skein(&argv).ok().json()["result"]["no_hooks"], ".husky/_");
    world.skein(&["wait", "json"]);

    // Tracked or absolute, they are there.
    world.git(["config", "core.hooksPath", world.path(".husky/_").to_str().unwrap()]);
    let argv = ["dispatch", "--wait", "--json", "--name", "absolute", "T", "--", "true"];
    let absolute = world.skein(&argv);
    assert!(!format!("{absolute:?}").contains(".husky"), "{absolute:?}");
    world.check();
}

/// Everything that happens to a worker is a commit more on a chain, not a ref more.
#[test]
fn x27_a_life_of_a_worker_is_a_few_refs() {
    let world = World::new();
    let ours =
        || world.lines(&["for-each-ref", "--format=%(refname)", "refs/skein", "refs/skein-local"]).len();
    let mut counts = Vec::new();
    for n in 0..4 {
        let name = format!("w{n}");
        let script =
            "for n in 1 2 3; do echo $n$SKEIN_WORKER >> b$SKEIN_WORKER; git add -A; git commit -qm $n; done";
        world.worker(&name, script);
        world.skein(&["import", &name]).ok();
        world.skein(&["land", &name]).ok();
        counts.push(ours());
    }
    let steps: Vec<usize> = counts.windows(2).map(|w| w[1] - w[0]).collect();
    assert!(steps.iter().all(|more| *more <= 4), "{counts:?}");
    world.skein(&["reap", "--all", "--yes"]).ok();
    assert!(ours() < counts[3], "{} of {counts:?}", ours());
    world.check();
}

/// A process is killed while it holds a transaction over four thousand refs: git leaves as many locks.
#[test]
fn x28_locks_that_a_killed_git_left_are_named_and_hinder_nobody() {
    let world = World::new();
    world.worker("w", "echo w > b.txt && git commit -qam w");
    let head = world.head();
    let mut git = std::process::Command::new("git");
    git.args(["update-ref", "--stdin"]).current_dir(&world.repo).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut git = git.spawn().unwrap();
    let creates: String = (0..4000).map(|n| format!("create refs/heads/many/{n} {head}\n")).collect();
    let mut pipe = git.stdin.take().unwrap();
    pipe.write_all(format!("start\n{creates}prepare\n").as_bytes()).unwrap();
    let mut said = BufReader::new(git.stdout.take().unwrap()).lines();
    assert_eq!(said.next().unwrap().unwrap(), "start: ok");
    assert_eq!(said.next().unwrap().unwrap(), "prepare: ok");
    git.kill().unwrap();
    git.wait().unwrap();
    let locks = || fs::read_dir(world.path(".git/refs/heads/many")).unwrap().count();
    assert_eq!(locks(), 4000);
    assert_eq!(world.lines(&["for-each-ref", "refs/heads/many/"]).len(), 0);

    world.skein(&["land", "w"]).ok();
    assert_eq!(world.read("b.txt"), "w\n");
    let found = world.skein(&["doctor"]);
    assert!(found.out.contains("many/") && found.out.contains(".lock"), "{found:?}");
    world.skein(&["doctor", "--fix"]);
    assert_eq!(locks(), 4000, "they are somebody else's");
}

#[test]
fn x29_records_outlive_an_amended_commit() {
    let world = World::new();
    world.worker("w", "echo w > b.txt && git commit -qam w");
    world.skein(&["land", "w"]).ok();
    let landed = world.head();
    let notes = ["log", "-1", "--format=%N", "--notes=skein/*"];
    assert!(world.git(notes).contains("landed") || !world.git(notes).is_empty());
    world.git(["commit", "--quiet", "--amend", "-m", "in other words"]);
    assert_eq!(world.git(notes), "", "git leaves the note behind");
    // The record is about the worker, not about one commit: what became of it is still known.
    assert!(world.skein(&["log"]).ok().out.contains(&landed[..7]));
    let said = world.skein(&["landed", "w", "--json"]).ok().json();
    assert_eq!(said["result"]["verdict"]["presence"], "yes");
    assert_ne!(said["result"]["verdict"]["proof"], "receipt", "the landing that it names is not there");
    world.skein(&["reap", "w", "--yes"]).ok();
    world.check();
}
