//! `sync` that is struck anywhere: the next one goes on, and nobody's text or record is lost or there twice.

use crate::docworld::litter;
use crate::faults::scenes;
use crate::faults::sweep;
use crate::faults::sweep::Scene;
use crate::support::World;
use crate::sync::documents::At;
use crate::sync::documents::begun;
use crate::sync::shared;

/// A clone that has a landing and a turn to give, and a worker and another turn of the same document to take.
fn ready() -> World {
    let world = scenes::ready();
    world.git(["switch", "-q", "main"]);
    world.git(["init", "-q", "--bare", "-b", "main", "../server.git"]);
    world.git(["remote", "add", "origin", "../server.git"]);
    let (one, other) = begun(&world);
    other.asks("From there?");
    other.fed("write", "Said there.").ok();
    world.worker_in("other", "theirs");
    other.sync().ok();
    std::fs::remove_dir_all(world.root().join("other")).unwrap();
    one.asks("From here?");
    one.fed("write", "Said here.").ok();
    one.types("Not sent");
    world.skein(&["land", "fix"]).ok();
    world
}

fn swept(world: &World) {
    let one = At { world, clone: "repo" };
    one.sync().ok();
    one.doc("recover", &[]).ok();
    assert_eq!(litter(world), Vec::<String>::new());
    assert_eq!(one.sync().ok().out, "in step with origin\n");
    assert_eq!(shared(world, "repo"), shared(world, "server.git"));
    for said in ["From there?", "Said there.", "From here?", "Said here.", "Begun."] {
        assert_eq!(one.known().matches(said).count(), 1, "{said} in\n{}", one.known());
        assert_eq!(one.file().matches(said).count(), 1, "{said} in\n{}", one.file());
    }
    assert_eq!((one.file().matches("Not sent").count(), one.known().matches("Not sent").count()), (1, 0));
    assert_eq!(one.turns(), 3);
    world.skein(&["fsck"]).ok();
}

#[test]
fn struck_anywhere_it_goes_on() {
    sweep::run(&syncing());
}

pub fn syncing() -> Scene {
    Scene { after: swept, ..Scene::new("sync", ready(), &["sync"]) }
}
