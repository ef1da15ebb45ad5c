//! Where objects and refs are: cut off, borrowed, packed, or not there at all.

use crate::shapes::round;
use crate::shapes::text;
use crate::support::World;
use std::fs;

/// The world's repository is from now on a clone of it, made with `options`.
pub fn cloned(mut world: World, options: &[&str]) -> World {
    let there = world.root().join("clone");
    // Only what is fetched can be cut off or left out.
    let scheme = if options.contains(&"--shared") { "" } else { "file://" };
    let from = format!("{scheme}{}", text(&world.repo));
    world.git([&["clone", "-q"], options, &[&from, &text(&there)]].concat());
    (world.repo, world.cwd) = (there.clone(), there);
    world.git(["config", "user.name", "Ada"]);
    world.git(["config", "user.email", "ada@example.invalid"]);
    world
}

pub fn with_history(world: World) -> World {
    for n in 1..=5 {
        world.write("h.txt", &format!("{n}\n"));
        world.write(&format!("old/{n}"), &format!("only in {n}\n"));
        world.commit(&format!("h{n}"));
        fs::remove_file(world.path(&format!("old/{n}"))).unwrap();
    }
    world.commit("end");
    world.git(["config", "uploadpack.allowFilter", "true"]);
    world.git(["config", "uploadpack.allowAnySHA1InWant", "true"]);
    world
}

#[test]
fn a_history_that_is_cut_off() {
    let world = cloned(with_history(World::in_memory()), &["--depth", "1"]);
    round(&world, "one");
    round(&world, "two");
    // Beyond the cut there is nothing to compare with.
    let cut = world.rev("main~4");
    assert!(!world.exists(&format!("{cut}~1")));
    assert_eq!(world.skein(&["landed", "main~4"]).code, 128);
    // On it there is: a person's branch, at first unproven, then landed.
    world.git(["switch", "-qc", "person", &cut]);
    world.write("p.txt", "p\n");
    world.commit("p");
    world.git(["switch", "-q", "main"]);
    let (code, verdict) = world.landed("person", &cut);
    assert_eq!((code, &verdict["why"]), (128, &"shallow".into()), "the cut may hide it: {verdict}");
    world.skein(&["land", "person"]).ok();
    assert_eq!(world.read("p.txt"), "p\n");
    assert_eq!(world.landed("person", &cut).0, 0);
    // A worker's work that did not land is not known to be out, either.
    world.worker("out", "echo out >out; git add out; git commit -qm out");
    assert_eq!(world.skein(&["landed", "out"]).code, 128);
    // With more of the history everything stays as it was.
    world.git(["fetch", "-q", "--unshallow", "origin"]);
    assert_eq!(world.skein(&["landed", "out"]).code, 1);
    world.skein(&["landed", "one"]).ok();
    world.skein(&["land", "out"]).ok();
    world.check();
}

#[test]
fn a_branch_that_shares_nothing_within_the_cut() {
    let world = with_history(World::in_memory());
    world.git(["branch", "far", "main~3"]);
    world.git(["checkout", "-q", "far"]);
    world.write("far.txt", "far\n");
    world.commit("far");
    world.git(["checkout", "-q", "main"]);
    let world = cloned(world, &["--depth", "1", "--no-single-branch"]);
    let (main, far) = (world.rev("main"), world.rev("origin/far"));
    let said = world.skein(&["landed", &far, "--onto", "main", "--json"]);
    assert_eq!(said.code(128).json()["result"]["verdict"]["verdict"], "unknown");
    world.git(["branch", "far", &far]);
    let url = world.git(["remote", "get-url", "origin"]);
    world.git(["config", "--unset", "remote.origin.url"]);
    world.skein(&["land", "far"]).refused("shallow", 128);
    assert_eq!(world.rev("main"), main);
    world.git(["config", "remote.origin.url", &url]);
    let landed = world.skein(&["land", "far"]).ok();
    assert!(landed.err.contains("to reach where far and main parted"), "{landed:?}");
    assert_eq!(world.rev("main~1"), main);
    world.check();
}

#[test]
fn objects_that_are_borrowed() {
    let world = cloned(with_history(World::in_memory()), &["--shared"]);
    assert!(world.path(".git/objects/info/alternates").is_file());
    round(&world, "one");
}

#[test]
fn all_refs_packed_and_every_index_of_packs() {
    let world = with_history(World::in_memory());
    round(&world, "one");
    for _ in 0..2 {
        world.git(["pack-refs", "--all", "--prune"]);
        world.git(["repack", "-q", "-a", "-d", "--write-bitmap-index", "--write-midx"]);
        world.git(["commit-graph", "write", "--reachable", "--changed-paths"]);
        world.git(["multi-pack-index", "write", "--bitmap"]);
        assert!(world.path(".git/objects/pack/multi-pack-index").is_file());
        world.skein(&["landed", "one"]).ok();
        world.skein(&["status"]).ok();
        let name = format!("again{}", world.lines(&["log", "--format=%h"]).len());
        round(&world, &name);
        world.git(["pack-refs", "--all"]);
        world.git(["commit-graph", "write", "--reachable", "--split"]);
    }
}

/// A file of a ref that was listed may be gone when it is opened.
#[test]
fn refs_that_are_packed_and_deleted_meanwhile() {
    let world = with_history(World::in_memory());
    round(&world, "one");
    let each = |verb: &str| (0..40).map(|i| format!("{verb} refs/heads/x{i}")).collect::<Vec<_>>();
    let (made, gone) = (each("create").join(" HEAD\\n") + " HEAD\\n", each("delete").join("\\n") + "\\n");
    let churn = format!(
        "!until test -f .git/over; do printf '{made}' | git update-ref --stdin; git pack-refs --all
        printf '{gone}' | git update-ref --stdin; done"
    );
    std::thread::scope(|scope| {
        let churns = scope.spawn(|| world.try_git(["-c", &format!("alias.churn={churn}"), "churn"]));
        let failed = (0..120).map(|_| world.skein(&["status"])).find(|ran| ran.code != 0);
        std::fs::write(world.path(".git/over"), "").unwrap();
        let churned = churns.join().unwrap();
        assert!(churned.status.success(), "{churned:?}");
        assert!(failed.is_none(), "{failed:?}");
    });
}

/// Blobs come only when somebody asks for them.
#[test]
fn a_clone_without_blobs() {
    let world = cloned(with_history(World::in_memory()), &["--filter=blob:none"]);
    let missing = || world.git(["rev-list", "--objects", "--all", "--missing=print"]).matches("\n?").count();
    assert!(missing() > 0, "nothing is missing");
    round(&world, "one");
    // Old content comes back, was it ever here or not.
    world.worker("back", "git checkout -q HEAD -- . && git show origin/main~3:old/3 >back && git add back && git commit -qm back");
    world.skein(&["land", "back"]).ok();
    // A question that needs a blob of the past.
    world.git(["branch", "person", "origin/main~2"]);
    let said = world.skein(&["landed", "person", "--base", "origin/main~4", "--onto", "main"]);
    assert_eq!(said.code, 0, "{said:?}");
    // A delta that restores a blob that is not here.
    let lost = world.git(["ls-tree", "--object-only", "origin/main~4", "old/2"]);
    let script = format!(
        "git update-index --add --cacheinfo 100644,{lost},old/2; git commit -qm restored; git checkout -q -- old/2"
    );
    world.worker("restores", &script);
    world.skein(&["land", "restores"]).ok();
    assert_eq!(world.git(["show", "main:old/2"]), "only in 2");
    world.skein(&["landed", "restores"]).ok();
}

/// The one who has them is gone.
#[test]
fn a_clone_without_blobs_whose_origin_is_gone() {
    let world = with_history(World::in_memory());
    let origin = world.repo.clone();
    let world = cloned(world, &["--filter=blob:none"]);
    fs::rename(&origin, world.root().join("gone")).unwrap();
    let main = world.rev("main");
    round(&world, "one");
    let args =
        ["dispatch", "--wait", "--base", "origin/main~3", "--name", "w", "w", "--", "sh", "-c", "echo w >w"];
    world.skein(&args).refused("objects-missing", 128);
    // What it began is no worker.
    world.skein(&["dispatch", "--wait", "--name", "v", "v", "--", "true"]);
    assert_eq!(world.skein(&["show", "w"]).code, 1);
    world.git(["branch", "old", "origin/main~3"]);
    let said = world.skein(&["landed", "old", "--base", "origin/main~4", "--onto", "main", "--json"]);
    assert_eq!(said.code(128).json()["result"]["verdict"]["why"], "unreadable");
    // Its changes must be read to be merged.
    let lost = world.git(["ls-tree", "--object-only", "origin/main~3", "h.txt"]);
    let script = format!(
        "git update-index --cacheinfo 100644,{lost},h.txt; c=$(git commit-tree -p HEAD -m moved $(git write-tree --missing-ok)); git update-ref HEAD $c"
    );
    let args = ["dispatch", "--wait", "--name", "x", "x", "--", "sh", "-c", &script];
    world.skein(&args);
    let said = world.skein(&["land", "x", "--any-outcome"]);
    assert!(said.err.contains("refused: objects-missing:"), "{said:?}");
    assert_eq!(world.rev("main~2"), main);
    // With it all goes on.
    fs::rename(world.root().join("gone"), &origin).unwrap();
    world.skein(&["land", "x", "--any-outcome"]).ok();
    assert_eq!(world.git(["show", "main:h.txt"]), "3");
    world.skein(&["landed", "x"]).ok();
    world.check();
}
