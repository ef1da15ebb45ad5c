//! Saving, taking in, giving and deleting bundles, struck anywhere.

use crate::faults::scenes;
use crate::faults::sweep;
use crate::faults::sweep::Act;
use crate::faults::sweep::Plan;
use crate::faults::sweep::Scene;
use crate::support::World;
use std::fs;

/// Every kill, and of the errors some.
const PLANS: &[Plan] = &[
    Plan { site: "point", action: "kill", stride: 1, lasting: false },
    Plan { site: "git", action: "kill", stride: 1, lasting: false },
    Plan { site: "file", action: "kill", stride: 1, lasting: false },
    Plan { site: "git", action: "EIO", stride: 1, lasting: false },
    Plan { site: "file", action: "EIO", stride: 2, lasting: false },
    Plan { site: "file", action: "ENOSPC", stride: 7, lasting: true },
];

/// With a worker that was checked and judged.
fn judged() -> World {
    let world = scenes::ready();
    world.skein(&["check", "fix", "--check", "cat new.txt"]).ok();
    world.skein(&["verdict", "fix", "accept"]).ok();
    world
}

/// There is one, and it is sound when all is dropped that no ref keeps.
fn one(world: &World) {
    assert_eq!(world.lines(&["for-each-ref", "refs/skein/bundle"]).len(), 1);
    world.git(["prune", "--expire=now"]);
    let shown = world.skein(&["bundle", "show", "fix"]).ok().out;
    assert!(shown.contains("checked against its base"), "{shown}");
    let keeps = fs::read_dir(world.common().join("objects/pack")).unwrap().flatten();
    assert!(keeps.map(|e| e.path()).all(|path| path.extension().is_none_or(|kind| kind != "keep")));
}

#[test]
fn save() {
    sweep::run(&Scene {
        after: one,
        plans: PLANS,
        ..Scene::new("bundle save", judged(), &["bundle", "save", "fix"])
    });
}

/// A repository that has the base alone, and a file beside it.
fn with_file(script: &str) -> World {
    let world = scenes::still();
    world.worker("fix", script);
    world.skein(&["bundle", "save", "fix"]).ok();
    world.skein(&["bundle", "export", "fix", "../fix.bundle"]).ok();
    let other = scenes::still();
    fs::copy(world.root().join("fix.bundle"), other.root().join("fix.bundle")).unwrap();
    assert_eq!(world.rev("main"), other.rev("main"));
    other.skein(&["init"]).ok();
    other
}

#[test]
fn import() {
    let scene = Scene::new("bundle import", with_file(scenes::WORK), &["bundle", "import", "../fix.bundle"]);
    sweep::run(&Scene { after: one, plans: PLANS, ..scene });
}

#[test]
fn import_of_a_pack() {
    let many = "for n in $(seq 250); do echo $n > f$n; done; git add -A; git commit -qm many";
    let scene = Scene::new("bundle import, a pack", with_file(many), &["bundle", "import", "../fix.bundle"]);
    sweep::run(&Scene { after: one, plans: &PLANS[..2], ..scene });
}

#[test]
fn load() {
    let world = judged();
    world.skein(&["bundle", "save", "fix"]).ok();
    world.worker("next", "exit 3");
    let after: Act = |world| {
        assert_eq!(world.field("next", "loaded").as_array().unwrap().len(), 1);
        one(world);
    };
    let scene = Scene::new("bundle load", world, &["bundle", "load", "next", "fix"]);
    sweep::run(&Scene { after, plans: PLANS, ..scene });
}
