//! Clones that are cut off before what a verb needs.

use crate::support::World;
use crate::support::ran;
use std::path::Path;

/// A server with twelve commits on `main`, and `topic`, which left it six commits ago.
fn server() -> World {
    let world = World::new();
    for n in 1..12 {
        world.write("n.txt", &format!("{n}\n"));
        world.commit(&n.to_string());
    }
    world.git(["switch", "--quiet", "--create", "topic", "HEAD~6"]);
    world.write("t.txt", "t\n");
    world.commit("topic");
    world.git(["switch", "--quiet", "main"]);
    world
}

/// A clone of depth 1 where commands run from now on.
fn shallow(mut world: World) -> World {
    let (url, at) = (format!("file://{}", world.repo.display()), world.root().join("shallow"));
    world.git(["clone", "--quiet", "--template=", "--depth=1", &url, at.to_str().unwrap()]);
    world.cwd = at;
    for (key, value) in [("user.name", "Ada"), ("user.email", "ada@example.invalid")] {
        world.git(["config", key, value]);
    }
    world
}

fn refs(world: &World) -> String {
    world.git([
        "for-each-ref",
        "--format=%(refname) %(objectname)",
        "refs/heads",
        "refs/remotes",
        "refs/tags",
    ])
}

fn borders(world: &World) -> Option<String> {
    std::fs::read_to_string(world.cwd.join(".git/shallow")).ok()
}

const OK: &[&str] = &["--", "sh", "-c", "echo w > w.txt; git add w.txt; git commit -qm w"];

#[test]
fn dispatch_reaches_the_base_that_is_named() {
    let world = shallow(server());
    let before = refs(&world);
    let base = world.git(["-C", world.repo.to_str().unwrap(), "rev-parse", "main~4"]);
    for rev in [&base[..], "main~4"] {
        let name = if rev == base { "by-id" } else { "by-way" };
        let ran =
            world.skein(&[&["dispatch", "--wait", "--name", name, "--base", rev, "t"], OK].concat()).ok();
        assert_eq!(ran.err.contains("fetched 11 commits of origin to reach"), rev == base, "{}", ran.err);
        assert_eq!(world.field(name, "base"), base.as_str());
    }
    assert_eq!(refs(&world), before, "no ref moves by that");
    world.skein(&["land", "--all"]).ok();
}

#[test]
fn a_file_of_tasks_reaches_the_bases_that_it_names() {
    let world = shallow(server());
    let base = world.git(["-C", world.repo.to_str().unwrap(), "rev-parse", "main~7"]);
    let task = format!("{{\"task\": \"t\", \"name\": \"w\", \"base\": \"{base}\"}}\n");
    std::fs::write(world.cwd.join("tasks"), task).unwrap();
    world.skein(&[&["dispatch", "--wait", "--from", "tasks"], OK].concat()).ok();
    assert_eq!(world.field("w", "base"), base.as_str());
}

/// The tip of a line that the clone knows nothing of.
#[test]
fn dispatch_reaches_a_commit_of_no_branch_here() {
    let world = shallow(server());
    let base = world.git(["-C", world.repo.to_str().unwrap(), "rev-parse", "topic"]);
    world.skein(&[&["dispatch", "--wait", "--name", "w", "--base", &base, "t"], OK].concat()).ok();
    assert_eq!(world.field("w", "base"), base.as_str());
}

#[test]
fn what_is_nowhere_is_asked_for_once_and_refused() {
    let world = shallow(server());
    let ran = world.skein(&["dispatch", "--base", &"1".repeat(40), "t", "--", "true"]);
    ran.refused("bad-base", 1);
    // The name of a ref that is not here is found by no longer history.
    let world = shallow(server());
    let before = borders(&world);
    world.skein(&["dispatch", "--base", "nosuch", "t", "--", "true"]).refused("bad-base", 1);
    assert_eq!(borders(&world), before);
}

#[test]
fn a_branch_lands_that_parted_beyond_the_border() {
    let world = shallow(server());
    world.git(["fetch", "--quiet", "--depth=1", "origin", "topic:topic"]);
    let (before, at) = (refs(&world), borders(&world));
    // What reads writes nothing, and names the command.
    let said = world.skein(&["landed", "topic"]).code(128);
    assert!(said.out.contains("shallow") && said.out.contains("git fetch --unshallow"), "{said:?}");
    world.skein(&["land", "topic", "--dry-run"]).refused("shallow", 128);
    assert_eq!((refs(&world), borders(&world)), (before, at));
    let done = world.skein(&["land", "topic"]).ok();
    assert!(
        done.err.contains("fetched 11 commits of origin to reach where topic and main parted"),
        "{done:?}"
    );
    assert_eq!(world.git(["merge-base", "topic", "main~1"]), world.git(["rev-parse", "topic~1"]));
    assert_eq!(world.git(["ls-tree", "--name-only", "main"]), ".gitignore\na.txt\nb.txt\nn.txt\nt.txt");
}

#[test]
fn without_a_remote_the_reason_is_said() {
    let world = shallow(server());
    world.git(["fetch", "--quiet", "--depth=1", "origin", "topic:topic"]);
    world.git(["remote", "remove", "origin"]);
    let refused = world.skein(&["land", "topic"]).refused("shallow", 128);
    assert!(
        refused.err.contains("there is no remote") && refused.err.contains("git fetch --unshallow"),
        "{refused:?}"
    );
    world.skein(&["dispatch", "--base", "main~4", "t", "--", "true"]).refused("shallow", 128);
}

#[test]
fn a_remote_that_is_a_command_is_not_run() {
    let world = shallow(server());
    let sang = world.root().join("sang");
    world.git(["config", "protocol.ext.allow", "always"]);
    world.git(["config", "remote.origin.url", &format!("ext::sh -c touch% {}", sang.display())]);
    world.skein(&["dispatch", "--base", "main~4", "t", "--", "true"]).refused("shallow", 128);
    assert!(!sang.exists());
}

/// What landed beyond the border is not landed again, though the branch is not seen to hold it.
#[test]
fn what_landed_before_the_border_is_known() {
    let world = World::new();
    world.worker("w", "echo w > w.txt; git add w.txt; git commit -qm w");
    world.skein(&["land", "w"]).ok();
    world.git(["revert", "--no-edit", "HEAD"]);
    world.commit("later");
    let world = shallow(world);
    world.git(["fetch", "--quiet", "origin", "refs/skein/*:refs/skein/*"]);
    let tip = world.rev("main");
    world.skein(&["land", "w"]).refused("reverted", 1);
    assert_eq!(world.rev("main"), tip);
    let world = shallow({
        let world = World::new();
        world.worker("w", "echo w > w.txt; git add w.txt; git commit -qm w");
        world.skein(&["land", "w"]).ok();
        world.commit("later");
        world
    });
    world.git(["fetch", "--quiet", "origin", "refs/skein/*:refs/skein/*"]);
    let plan = world.skein(&["land", "--all"]).ok();
    assert!(
        plan.out.contains("not w: it has landed already") && plan.err.contains("to reach what has landed"),
        "{plan:?}"
    );
}

/// Refs that were fetched with a depth bring a record without what it is about.
#[test]
fn a_record_without_its_work_is_followed_to_its_base() {
    let world = server();
    world.worker("w", "echo w > w.txt; git add w.txt; git commit -qm w");
    let world = shallow(world);
    world.git(["fetch", "--quiet", "--depth=1", "origin", "refs/skein/*:refs/skein/*"]);
    let rows = world.skein(&["status", "--json"]).ok().json();
    assert_eq!(rows["result"]["workers"][0]["handle"], "w");
    world.skein(&["land", "w"]).ok();
    assert_eq!(world.git(["show", "main:w.txt"]), "w");
}

#[test]
fn a_checkout_of_one_commit_has_the_branches_of_its_remote() {
    let mut world = server();
    let url = format!("file://{}", world.repo.display());
    world.cwd = world.root().join("job");
    std::fs::create_dir(&world.cwd).unwrap();
    world.git(["init", "--quiet", "--template="]);
    for (key, value) in
        [("user.name", "Ada"), ("user.email", "ada@example.invalid"), ("remote.origin.url", &url)]
    {
        world.git(["config", key, value]);
    }
    world.git(["fetch", "--quiet", "--depth=1", "origin", "+refs/heads/topic:refs/remotes/pull/7/merge"]);
    world.git(["checkout", "--quiet", "--detach", "pull/7/merge"]);
    let none = world.skein(&["dispatch", "t", "--", "true"]).refused("no-trunk", 1);
    assert!(none.err.contains("HEAD is detached") && none.err.contains("git fetch origin main"), "{none:?}");
    world
        .skein(&["dispatch", "--onto", "main", "--base", "HEAD", "t", "--", "true"])
        .refused("not-a-branch", 1);
    world.git(["fetch", "--quiet", "--depth=1", "origin", "+refs/heads/main:refs/remotes/origin/main"]);
    world.skein(&[&["dispatch", "--wait", "--name", "w", "t"], OK].concat()).ok();
    let tip = world.rev("refs/remotes/origin/main");
    assert_eq!(world.field("w", "base"), tip.as_str());
    // A refusal leaves no branch behind.
    world.skein(&["land", "w", "--gate", "false"]).refused("gate-failed", 5);
    assert_eq!(world.git(["for-each-ref", "refs/heads"]), "");
    let done = world.skein(&["land", "w"]).ok();
    assert!(done.err.contains("made branch main at"), "{done:?}");
    assert_eq!((world.rev("main~1"), world.rev("refs/remotes/origin/main")), (tip.clone(), tip));
}

/// A fetch that was cut short is begun again.
#[test]
fn a_kill_between_fetch_and_landing_loses_nothing() {
    let world = shallow(server());
    world.git(["fetch", "--quiet", "--depth=1", "origin", "topic:topic"]);
    let mut killed = world.command(&["land", "topic"]);
    let killed = ran(killed.env("SKEIN_FAULT", "deepen: history fetched:1:kill").output().unwrap());
    assert_ne!(killed.code, 0, "{killed:?}");
    world.skein(&["land", "topic"]).ok();
    assert!(Path::new(&world.cwd).join("t.txt").is_file());
    world.skein(&["fsck"]).ok();
}
