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

/// Of each worker that begins with a bundle the record says so, and its agent is told.
#[test]
fn dispatch_with_a_bundle() {
    let world = with_file(scenes::WORK);
    world.skein(&["bundle", "import", "../fix.bundle"]).ok();
    let script =
        "cat $SKEIN_REFERENCES/*/brief/brief.md > new2.txt && git add new2.txt && git commit -qm next";
    let args = ["dispatch", "--wait", "--with", "fix", "--name", "next", "go on", "--", "sh", "-c", script];
    let after: Act = |world| {
        let head = world.field("next", "head");
        assert_eq!(world.git(["show", &format!("{}:new2.txt", head.as_str().unwrap())]), "fix");
        assert!(world.field("next", "loaded")[0]["used"].is_number());
    };
    // What the supervisor has begun goes on without the command.
    let scene = Scene::new("dispatch --with", world, &args);
    let (state, again) = (scenes::with_person, scenes::not_taken_over);
    sweep::run(&Scene { state, again, after, plans: &PLANS[..1], ..scene });
}

#[test]
fn delete() {
    let world = judged();
    world.skein(&["bundle", "save", "fix"]).ok();
    // It is let go of, as it was asked for.
    let before: Act = |world| {
        let at = world.lines(&["for-each-ref", "--format=%(objectname)", "refs/skein/bundle"]);
        world.git(["update-ref", "refs/heads/old", &at[0]]);
    };
    let again = |world: &World| {
        let ran = world.skein(&["bundle", "delete", "fix"]);
        if ran.code != 0 {
            ran.refused("no-such-bundle", 1);
        }
        false
    };
    let after: Act = |world| assert_eq!(world.git(["for-each-ref", "refs/skein/bundle"]), "");
    let scene = Scene::new("bundle delete", world, &["bundle", "delete", "fix"]);
    sweep::run(&Scene { before, again, after, plans: PLANS, ..scene });
}
