//! `land --onto REMOTE/BRANCH`: the trunk is on a server.

use crate::faults::scenes;
use crate::faults::sweep;
use crate::faults::sweep::Scene;
use crate::support::World;
use crate::sync::cloned;
use crate::sync::served;
use crate::sync::server;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const THERE: &str = "refs/remotes/origin/main";

fn hook(path: &Path, body: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, format!("#!/bin/sh\n{body}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Somebody else moves the branch of the server.
fn elsewhere(world: &World, name: &str) -> String {
    let there = world.root().join("server.git").display().to_string();
    let tree = world.git(["-C", &there, "rev-parse", "main^{tree}"]);
    let commit = world.git([
        "-C",
        &there,
        "-c",
        "user.name=x",
        "-c",
        "user.email=x@example.invalid",
        "commit-tree",
        "-p",
        "main",
        "-m",
        name,
        &tree,
    ]);
    world.git(["-C", &there, "update-ref", "refs/heads/main", &commit]);
    commit
}

fn tip(world: &World) -> String {
    world.git_in("server.git", &["rev-parse", "main"])
}

/// How often each subject is on the branch of the server.
fn subjects(world: &World) -> Vec<String> {
    let log = world.git_in("server.git", &["log", "--format=%s", "main"]);
    let mut all: Vec<String> = log.lines().map(ToOwned::to_owned).collect();
    all.sort();
    all
}

#[test]
fn it_lands_on_the_server_and_nothing_here_moves() {
    let world = served();
    world.worker_in("repo", "one");
    let main = world.rev("main");
    let other = elsewhere(&world, "other");
    let landed = world.skein(&["land", "one", "--onto", "origin/main"]).ok();
    assert!(
        landed.out.contains("landed: one on origin/main") && landed.out.contains("git pull"),
        "{}",
        landed.out
    );
    assert_eq!(world.rev("main"), main);
    assert_eq!(world.rev(THERE), tip(&world));
    assert_eq!(world.git_in("server.git", &["rev-parse", "main^"]), other);
    assert_eq!(world.git(["status", "--porcelain"]), "");
    // Known by its receipt there; here when the branch has come.
    world.skein(&["landed", "one", "--onto", "origin/main"]).ok();
    world.skein(&["landed", "one"]).code(1);
    assert_eq!(world.field("one", "landed_on"), THERE);
    world.git(["pull", "-q", "--ff-only", "origin", "main"]);
    let proof = world.skein(&["landed", "one", "--json"]).ok().json();
    assert_eq!(proof["result"]["verdict"]["proof"], "receipt", "{proof}");
    // Once is enough, wherever one asks.
    for args in
        [&["land", "one", "--onto", "origin/main"][..], &["land", "one"], &["land", "one", "--onto", THERE]]
    {
        assert!(world.skein(args).ok().out.starts_with("already landed"), "{args:?}");
    }
    let reaped = world.skein(&["reap", "one", "--yes"]).ok();
    assert!(reaped.out.contains("receipt"), "{}", reaped.out);
    world.check();
    world.skein(&["fsck"]).ok();
}

#[test]
fn names_of_branches_there_are_told_from_those_here() {
    let world = served();
    world.worker_in("repo", "one");
    world.skein(&["land", "one", "--onto", "origin/none"]).refused("not-a-branch", 1);
    world.skein(&["land", "one", "--onto", "other/main"]).refused("not-a-branch", 1);
    world.skein(&["land", "one", "--onto", "refs/remotes/other/main"]).refused("no-remote", 1);
    world.skein(&["import", "one", "--into", "origin/main"]).refused("bad-name", 1);
    world.git(["branch", "origin/main"]);
    let told = world.skein(&["land", "one", "--onto", "origin/main"]).refused("bad-name", 1);
    assert!(told.err.contains(THERE), "{}", told.err);
    world.skein(&["land", "one", "--onto", THERE]).ok();
    world.git(["branch", "-D", "origin/main"]);
    // Of two remotes that fit, the one with the longer name.
    world.git(["init", "-q", "--bare", "-b", "main", "../team.git"]);
    world.git(["remote", "add", "team/up", "../team.git"]);
    world.git(["push", "-q", "team/up", "main:feature/x"]);
    world.worker_in("repo", "two");
    world.skein(&["land", "two", "--onto", "team/up/feature/x"]).ok();
    assert_eq!(
        world.git_in("team.git", &["rev-parse", "feature/x"]),
        world.rev("refs/remotes/team/up/feature/x")
    );
}

#[test]
fn a_worker_may_be_for_the_server_from_its_birth() {
    let world = served();
    world.git(["fetch", "-q", "origin"]);
    let script = "echo 1 >one; git add one; git commit -qm one";
    world
        .skein(&[
            "dispatch",
            "--wait",
            "--onto",
            "origin/main",
            "--name",
            "one",
            "one",
            "--",
            "sh",
            "-c",
            script,
        ])
        .ok();
    world.skein(&["land", "one"]).ok();
    assert_eq!(world.git_in("server.git", &["log", "-1", "--format=%s", "main"]), "one");
    assert!(world.skein(&["reap", "one", "--yes"]).ok().out.contains("landed: in origin/main"));
}

#[test]
fn a_rehearsal_fetches_nothing() {
    let world = served();
    world.worker_in("repo", "one");
    let seen = world.rev(THERE);
    elsewhere(&world, "other");
    let told = world.skein(&["land", "one", "--onto", "origin/main", "--dry-run"]).ok();
    assert!(told.err.contains("nothing is fetched"), "{}", told.err);
    assert_eq!(world.rev(THERE), seen);
    assert_eq!(subjects(&world), ["base", "other"]);
}

#[test]
fn all_of_them_and_in_steps() {
    let world = served();
    for name in ["one", "two", "three"] {
        world.worker_in("repo", name);
    }
    elsewhere(&world, "other");
    world.skein(&["candidate", "create", "one", "--onto", "origin/main"]).ok();
    world.skein(&["candidate", "admit", "one", "--onto", "origin/main", "--gate", "true"]).ok();
    elsewhere(&world, "more");
    world.skein(&["candidate", "integrate", "one", "--onto", "origin/main"]).refused("candidate-stale", 4);
    world.skein(&["candidate", "create", "one", "--onto", "origin/main", "--supersede"]).ok();
    world.skein(&["candidate", "admit", "one", "--onto", "origin/main", "--gate", "true"]).ok();
    world.skein(&["candidate", "integrate", "one", "--onto", "origin/main"]).ok();
    let all = world.skein(&["land", "--all", "--onto", "origin/main"]).ok();
    assert!(all.out.contains("2 of 2 workers landed on origin/main"), "{}", all.out);
    assert_eq!(subjects(&world), ["base", "more", "one", "other", "three", "two"]);
    world.check();
}

#[test]
fn a_lost_race_builds_again_and_gates_what_changed() {
    let world = served();
    world.worker_in("repo", "one");
    let there = server(&world);
    // The first gate run moves the branch of the server, as another clone would.
    let gate = format!(
        "echo x >>../../gates-$$; [ -e {there}/raced ] || {{ touch {there}/raced; c=$(git -C {there} -c user.name=x -c user.email=x@example.invalid commit-tree -p main -m raced 'main^{{tree}}'); git -C {there} update-ref refs/heads/main $c; }}; test -e one"
    );
    let landed = world.skein(&["land", "one", "--onto", "origin/main", "--gate", &gate]).ok();
    assert!(landed.err.contains("origin/main moved; building the candidate again"), "{}", landed.err);
    assert_eq!(subjects(&world), ["base", "one", "raced"]);
    world.worker_in("repo", "two");
    // Another tree each time: on one that has passed no gate runs again.
    let always = format!(
        "cd {there}; b=$(date +%N | git hash-object -w --stdin); t=$( (git ls-tree main; printf '100644 blob %s\\tx-%s\\n' $b $b) | git mktree); c=$(git -c user.name=x -c user.email=x@example.invalid commit-tree -p main -m again $t); git update-ref refs/heads/main $c"
    );
    world
        .skein(&["land", "two", "--onto", "origin/main", "--gate", &always, "--retries", "1"])
        .refused("trunk-moved", 4);
    assert!(!subjects(&world).contains(&"two".to_owned()));
    world.check();
}

#[test]
fn two_clones_race_and_the_server_has_what_was_acknowledged() {
    let world = served();
    cloned(&world, "other");
    let names = |clone: &str| (0..4).map(|n| format!("{clone}-{n}")).collect::<Vec<_>>();
    for clone in ["repo", "other"] {
        names(clone).iter().for_each(|name| world.worker_in(clone, name));
    }
    let landed = std::thread::scope(|scope| {
        let land = |clone: &'static str| {
            let mut done = Vec::new();
            for name in names(clone) {
                let ran = world.skein_in(clone, &["land", &name, "--onto", "origin/main", "--retries", "9"]);
                assert!([0, 4].contains(&ran.code), "{ran:?}");
                done.extend((ran.code == 0).then_some(name));
            }
            done
        };
        let other = scope.spawn(move || land("other"));
        let mut all = land("repo");
        all.extend(other.join().unwrap());
        all
    });
    let mut want = landed.clone();
    want.push("base".into());
    want.sort();
    assert_eq!(subjects(&world), want);
    assert_eq!(landed.len(), 8, "each has retries enough: {landed:?}");
    world.check();
}

#[test]
fn what_does_not_get_through_is_told_with_its_words() {
    let world = served();
    world.worker_in("repo", "one");
    let before = tip(&world);
    let land = ["land", "one", "--onto", "origin/main"];
    let ours = world.path(".git/hooks/pre-push");
    // Their own hook, with what they gave in the environment.
    hook(&ours, "cat >seen; echo \"$1 $(git config my.key)\" >>seen; echo 'not on fridays'; exit 1");
    let environment =
        [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "my.key"), ("GIT_CONFIG_VALUE_0", "theirs")];
    let told = crate::support::ran(world.command(&land).envs(environment).output().unwrap());
    let told = told.refused("push-refused", 1);
    assert!(told.err.contains("not on fridays"), "{}", told.err);
    let seen = world.read("seen");
    assert!(seen.contains("refs/heads/main") && seen.contains("origin theirs"), "{seen}");
    std::fs::remove_file(&ours).unwrap();
    for name in ["pre-receive", "update"] {
        let there = world.root().join("server.git/hooks").join(name);
        hook(&there, "echo 'protected: ask Bea' >&2; exit 1");
        let told = world.skein(&land).refused("push-refused", 1);
        assert!(told.err.contains("remote: protected: ask Bea"), "{}", told.err);
        std::fs::remove_file(&there).unwrap();
    }
    assert_eq!(tip(&world), before);
    let log = world.skein(&["log"]).ok();
    assert!(log.out.contains("the server did not take it"), "{}", log.out);
    // The branch went back there: what is built is built on what it is now.
    world.git_in("server.git", &["update-ref", "-d", "refs/heads/main"]);
    world.skein(&land).refused("not-a-branch", 1);
    world.git(["push", "-q", "origin", "main"]);
    world.skein(&land).ok();
    assert_eq!(subjects(&world), ["base", "one"]);
}

#[test]
fn a_server_that_is_away_leaves_the_intent_open() {
    let world = served();
    world.worker_in("repo", "one");
    let land = ["land", "one", "--onto", "origin/main"];
    let (there, away) = (world.root().join("server.git"), world.root().join("away.git"));
    let status = world.command(&land).env("SKEIN_FAULT", "landing: pushed:1:kill").status().unwrap();
    assert_eq!(status.code(), None);
    assert_eq!(subjects(&world), ["base", "one"]);
    // git itself may have noted the push.
    world.git(["update-ref", THERE, "main"]);
    std::fs::rename(&there, &away).unwrap();
    let told = world.skein(&land).refused("remote-unreachable", 75);
    assert!(told.err.contains("was cut short while it landed on origin/main"), "{}", told.err);
    let told = world.skein(&["dispatch", "--wait", "--name", "two", "two", "--", "true"]).ok();
    assert!(told.err.contains("not recovered: "), "{}", told.err);
    std::fs::rename(&away, &there).unwrap();
    let told = world.skein(&["import", "one"]).ok();
    assert!(told.err.contains("recovered: origin/main holds"), "{}", told.err);
    assert!(world.skein(&land).ok().out.starts_with("already landed"));
    world.skein(&["fsck"]).ok();
}

#[test]
fn a_remote_that_is_configured_no_more_ends_the_intent() {
    let world = served();
    world.worker_in("repo", "one");
    let land = ["land", "one", "--onto", "origin/main"];
    let status = world.command(&land).env("SKEIN_FAULT", "landing: intent durable:1:kill").status().unwrap();
    assert_eq!(status.code(), None);
    world.git(["remote", "remove", "origin"]);
    let told = world.skein(&["land", "one"]).ok();
    assert!(told.err.contains("its remote is not configured any more"), "{}", told.err);
    world.skein(&["fsck"]).ok();
}

#[test]
fn what_is_on_the_server_is_not_undone_but_reverted() {
    let world = served();
    world.worker_in("repo", "one");
    world.skein(&["land", "one", "--onto", "origin/main"]).ok();
    let told = world.skein(&["undo"]).refused("pushed", 1);
    let next =
        told.err.split_once("next: ").unwrap().1.trim().replace("git skein", env!("CARGO_BIN_EXE_git-skein"));
    let done = std::process::Command::new("sh")
        .args(["-c", &next])
        .current_dir(&world.repo)
        .env("HOME", world.root().join("home"))
        .output()
        .unwrap();
    assert!(done.status.success(), "{next}\n{done:?}");
    assert_eq!(world.git_in("server.git", &["rev-parse", "main^{tree}"]), world.rev("main^{tree}"));
    assert_eq!(subjects(&world).len(), 3);
}

/// The policy that counts is that of the trunk on the server.
#[test]
fn the_policy_of_the_server_holds() {
    let world = served();
    world.worker_in("repo", "one");
    cloned(&world, "other");
    let policy = world.root().join("other/.skein/policy.toml");
    std::fs::create_dir_all(policy.parent().unwrap()).unwrap();
    std::fs::write(&policy, "require_verdict = true\n").unwrap();
    world.git_in("other", &["add", "."]);
    world.git_in("other", &["commit", "-qm", "policy"]);
    world.git_in("other", &["push", "-q", "origin", "main"]);
    world.skein(&["land", "one", "--onto", "origin/main"]).refused("not-accepted", 1);
    world.skein(&["land", "one"]).ok();
}

fn ready() -> World {
    let world = scenes::ready();
    world.git(["init", "--quiet", "--bare", "--initial-branch=main", "../server.git"]);
    world.git(["remote", "add", "origin", "../server.git"]);
    world.git(["push", "--quiet", "origin", "main"]);
    world
}

fn swept(world: &World) {
    world.skein(&["landed", "fix", "--onto", "origin/main"]).ok();
    assert_eq!(subjects(world).iter().filter(|s| *s == "fixed").count(), 1);
    assert_eq!(tip(world), world.rev(THERE));
}

#[test]
fn struck_anywhere_it_lands_once() {
    let args = ["land", "fix", "--onto", "origin/main"];
    sweep::run(&Scene { after: swept, ..Scene::new("land --onto a server", ready(), &args) });
}

#[test]
fn struck_anywhere_with_a_gate_it_lands_once() {
    let args = ["land", "fix", "--onto", "origin/main", "--gate", "grep -q one a.txt"];
    let scene = Scene::new("land --gate --onto a server", ready(), &args);
    sweep::run(&Scene { after: swept, plans: &sweep::PLANS[..4], ..scene });
}
