//! The main path, end to end, on both gits.

use crate::support::World;

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
