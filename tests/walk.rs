//! The main path, end to end, on both gits.

use crate::support::World;
use std::io::BufRead;
use std::io::BufReader;
use std::process::Stdio;

#[test]
fn a_task_becomes_a_landed_commit() {
    let world = World::new();
    let base = world.head();
    let before = world.picture(&["main"]);
    world.worker("fix", "sed -i s/1/one/ a.txt && git commit -qam fixed");
    assert_eq!(world.field("fix", "outcome"), "ready");
    assert_eq!(world.picture(&["main"]), before);
    let landed = world.skein(&["land", "fix", "--gate", "grep -q one a.txt", "--json"]).ok().json();
    let new = landed["result"]["new"].as_str().unwrap().to_owned();
    assert_eq!(world.rev("main"), new);
    assert_eq!(world.rev("main^"), base);
    assert_eq!(world.git(["status", "--porcelain"]), "");
    assert!(world.read("a.txt").starts_with("line one\n"));
    world.skein(&["landed", "fix"]).ok();
    world.skein(&["land", "fix"]).ok();
    assert_eq!(world.rev("main"), new);
    let note = world.git(["log", "-1", "--notes=skein/*", "--format=%N"]);
    assert!(note.contains(&world.ulid("fix")), "{note}");
    world.check();
}

#[test]
fn two_workers_on_the_same_lines_conflict_and_nothing_changes() {
    let world = World::new();
    world.worker("one", "sed -i s/1/one/ a.txt && git commit -qam one");
    world.worker("two", "sed -i s/1/eins/ a.txt && git commit -qam two");
    world.skein(&["land", "one"]).ok();
    let main = world.rev("main");
    let refused = world.skein(&["land", "two"]).refused("conflict", 3);
    assert!(refused.err.contains("a.txt"), "{}", refused.err);
    assert_eq!(world.rev("main"), main);
    world.check();
}

#[test]
fn to_wait_ends_with_the_first_or_with_the_last() {
    let world = World::new();
    let worker = |name: &str, script: &str| {
        world.skein(&["dispatch", "--name", name, "T", "--", "sh", "-c", script]).ok();
    };
    worker("slow", "while [ ! -e go ]; do sleep 0.05; done; exit 3");
    worker("quick", "echo 1 > new && git add new && git commit -qm new");
    let said = world.skein(&["wait", "slow", "quick", "--any"]).ok();
    assert!(said.out.contains("quick ready") && !said.out.contains("slow"), "{said:?}");
    world.skein(&["wait", "slow", "--timeout", "1s"]).refused("timed-out", 75);
    assert_eq!(world.field("slow", "outcome"), "active");
    std::fs::write(world.worktree("slow").join("go"), "").unwrap();
    // The gravest outcome counts; who has ended already is told as well.
    let said = world.skein(&["wait", "slow", "quick"]).code(1);
    assert!(said.out.contains("quick ready") && said.out.contains("slow failed: exit code 3"), "{said:?}");
    world.check();
}

#[test]
fn the_status_is_shown_again_and_again() {
    let world = World::new();
    world.worker("w", "true");
    let mut watch = world.command(&["status", "--watch", "--json"]);
    let mut watch = watch.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(watch.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    assert_eq!(lines.filter(|line| line.contains("\"schema\": \"git-skein/1\"")).take(2).count(), 2);
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn the_git_commands_are_shown_if_asked_for() {
    let world = World::new();
    world.worker("w", "echo 1 >new && git add new && git commit -qm new");
    let quiet = world.skein(&["landed", "main", "--base", "main~0"]).code(1);
    assert_eq!(quiet.err, "");
    let said = world.skein(&["-v", "landed", "main", "--base", "main~0"]).code(1);
    assert!(said.err.contains("rev-parse"), "{said:?}");
    assert_eq!(said.out, quiet.out);
}

#[test]
fn what_is_meant_is_not_guessed() {
    let world = World::new();
    world.skein(&["init"]).ok();
    let said = world.skein(&["land"]).refused("no-such-worker", 1);
    assert!(said.err.contains("no worker is ready") && said.err.contains("git skein status"), "{}", said.err);
    let said = world.skein(&["reap", "--yes"]).code(129);
    assert!(said.err.contains("--all"), "{}", said.err);
}

/// Some agents believe `PWD` more than where they are, and would work in the folder that dispatch was called in.
#[test]
fn agents_are_told_where_they_are() {
    let world = World::new().env("PWD", "/elsewhere").env("OLDPWD", "/before");
    world.skein(&["dispatch", "--wait", "--name", "w", "w", "--", "printenv", "PWD"]).ok();
    let log = world.skein(&["show", "--log", "w"]).ok().out;
    assert_eq!(log.trim(), world.worktree("w").to_str().unwrap());
}
