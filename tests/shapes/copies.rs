//! A copy of a whole clone is another clone; a clone that was moved is the same.

use crate::shapes::text;
use crate::support::World;
use crate::support::acts::until;
use crate::support::ran;
use std::fs;
use std::path::Path;
use std::process::Command;

/// `cp -r` or `mv` of a folder.
fn run(words: &[&str], from: &Path, to: &Path) {
    assert!(Command::new(words[0]).args(&words[1..]).arg(from).arg(to).status().unwrap().success());
}

fn id(world: &World) -> String {
    world.git(["config", "skein.clone"])
}

fn lanes(world: &World) -> Vec<String> {
    world.lines(&["for-each-ref", "--format=%(refname:lstrip=3)", "refs/skein/lane"])
}

/// The same world, standing in another folder of it.
fn moved(world: &mut World, to: &Path) {
    (world.repo, world.cwd) = (to.to_owned(), to.to_owned());
}

#[test]
fn a_copy_is_another_clone_with_a_lane_of_its_own() {
    let mut world = World::in_memory();
    world.worker("one", "echo 1 >one; git add one; git commit -qm one; echo left >left");
    world.worker("two", "echo 2 >two; git add two; git commit -qm two");
    world.skein(&["land", "one"]).ok();
    let first = world.repo.clone();
    let script = "touch up; while [ ! -e end ]; do sleep 0.02; done";
    world.skein(&["dispatch", "--name", "runs", "runs", "--", "sh", "-c", script]).ok();
    let tree = world.worktree("runs");
    until("the agent is up", || tree.join("up").exists());
    let old = id(&world);
    let copy = world.root().join("copy");
    run(&["cp", "-a"], &first, &copy);

    moved(&mut world, &copy);
    // Before it writes anything it already knows that those workers are not its own.
    assert_eq!(world.field("runs", "liveness"), "unknown");
    world.skein(&["landed", "one"]).ok();
    assert_eq!(id(&world), old);
    // A person may say that one is over for this clone; the process of the first is not asked.
    world.skein(&["stop", "runs"]).ok();
    world.skein(&["land", "two"]).ok();
    let new = id(&world);
    assert_ne!(new, old);
    assert_eq!(lanes(&world).len(), 2);
    world.worker("three", "echo 3 >three; git add three; git commit -qm three");
    world.skein(&["land", "three"]).ok();
    assert_eq!(id(&world), new, "one copy, one id");
    let in_copy = world.rev("main");

    moved(&mut world, &first);
    assert_eq!(world.field("runs", "liveness"), "live", "nobody has touched it");
    fs::write(tree.join("end"), "").unwrap();
    world.skein(&["wait", "runs"]);
    world.skein(&["land", "two"]).ok();
    assert_eq!((id(&world), lanes(&world)), (old.clone(), vec![old.clone()]));
    let lane = world.rev(&format!("refs/skein/lane/{old}"));

    // Each takes the other's lane over, without force. The copy has the first one's lane too, of an older day.
    let theirs = format!("refs/skein/lane/{new}:refs/skein/lane/{new}");
    world.git(["fetch", "-q", &text(&copy), &theirs, "main:theirs"]);
    assert_eq!(lanes(&world).len(), 2);
    assert_eq!(world.rev(&format!("refs/skein/lane/{old}")), lane);
    assert_eq!(world.rev("theirs"), in_copy);
    world.skein(&["landed", "two"]).ok();
    world.skein(&["log"]).ok();
    world.worker("four", "echo 4 >four; git add four; git commit -qm four");
    world.skein(&["land", "four"]).ok();
    world.check();
    moved(&mut world, &copy);
    world.git(["fetch", "-q", &text(&first), "refs/skein/lane/*:refs/skein/lane/*"]);
    world.skein(&["landed", "two"]).ok();
    world.skein(&["status"]).ok();
    world.check();
}

#[test]
fn a_copy_touches_no_worktree_of_the_first() {
    let mut world = World::in_memory();
    world.git(["switch", "-qc", "desk"]);
    world.git(["worktree", "add", "-q", "../linked", "main"]);
    world.worker("one", "echo 1 >one; git add one; git commit -qm one");
    let copy = world.root().join("copy");
    run(&["cp", "-a"], &world.repo, &copy);
    fs::write(world.worktree("one").join("later"), "l\n").unwrap();
    moved(&mut world, &copy);
    let imported = world.skein(&["land", "one", "--json"]).ok().json();
    assert!(imported["result"]["leftovers"].as_array().unwrap().is_empty(), "{imported}");
    assert_eq!(world.git(["show", "main:one"]), "1");
    let linked = world.root().join("linked");
    assert!(!linked.join("one").exists(), "the files of the first clone's worktree have moved");
    assert_eq!(world.git(["-C", &text(&linked), "status", "--porcelain"]), "");
}

#[test]
fn a_move_keeps_the_id_and_so_does_whoever_clears_the_local_files() {
    let mut world = World::in_memory();
    world.worker("one", "echo 1 >one; git add one; git commit -qm one");
    let old = id(&world);
    let to = world.root().join("elsewhere");
    run(&["mv"], &world.repo.clone(), &to);
    moved(&mut world, &to);
    world.git(["worktree", "repair"]);
    world.skein(&["land", "one"]).ok();
    assert!(world.field("one", "liveness").is_null());
    fs::remove_dir_all(world.path(".git/skein/run")).unwrap();
    world.worker("two", "echo 2 >two; git add two; git commit -qm two");
    fs::remove_dir_all(world.path(".git/skein")).unwrap();
    world.skein(&["land", "two"]).ok();
    world.worker("three", "echo 3 >three; git add three; git commit -qm three");
    assert_eq!((id(&world), lanes(&world)), (old.clone(), vec![old]));
    world.check();
}

#[test]
fn a_copy_that_is_cut_short_while_it_gets_its_id_never_shares_one() {
    let mut world = World::in_memory();
    world.worker("one", "echo 1 >one; git add one; git commit -qm one");
    let old = id(&world);
    let copy = world.root().join("copy");
    run(&["cp", "-a"], &world.repo, &copy);
    moved(&mut world, &copy);
    for k in 1..100 {
        let mut land = world.command(&["land", "one"]);
        let killed = ran(land.env("SKEIN_FAULT", format!("file:{k}:kill")).output().unwrap());
        if killed.code == 0 {
            assert!(k > 3);
            break;
        }
        assert!(lanes(&world).iter().all(|lane| *lane != old), "it wrote as the first one");
    }
    assert_ne!(id(&world), old);
    world.skein(&["landed", "one"]).ok();
    world.check();
}
