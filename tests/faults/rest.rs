//! The writing verbs that no other sweep strikes: what a worker is told and how it goes on, other verdicts, what was
//! recorded run again, bundles taken away and given out, the queue.

use crate::faults::scenes;
use crate::faults::state;
use crate::faults::state::State;
use crate::faults::sweep;
use crate::faults::sweep::Act;
use crate::faults::sweep::Plan;
use crate::faults::sweep::Scene;
use crate::support::World;
use std::fs;

/// Every named place, and of the rest some.
pub const FEW: &[Plan] = &[
    Plan { site: "point", action: "kill", stride: 1, lasting: false },
    Plan { site: "git", action: "kill", stride: 3, lasting: false },
    Plan { site: "file", action: "kill", stride: 7, lasting: false },
    Plan { site: "git", action: "EIO", stride: 5, lasting: false },
    Plan { site: "file", action: "EIO", stride: 9, lasting: false },
];

/// For a verb with no named place of its own.
const NAMELESS: &[Plan] = &[
    Plan { site: "git", action: "kill", stride: 1, lasting: false },
    Plan { site: "file", action: "kill", stride: 1, lasting: false },
    Plan { site: "file", action: "EIO", stride: 2, lasting: false },
];

/// The texts that the worker was told.
fn told(world: &World) -> Vec<String> {
    let record = world.record("fix");
    let all = record["messages"].as_array().cloned().unwrap_or_default();
    all.iter().map(|message| message["text"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn tell() {
    // Told twice, it would be told twice.
    let again = |world: &World| told(world).is_empty();
    let after: Act = |world| assert_eq!(told(world), ["Mind the gap"]);
    let scene = Scene::new("tell", asking(), &["tell", "fix", "Mind the gap"]);
    sweep::run(&Scene { again, after, plans: FEW, ..scene });
}

/// Asks, and does its work when it is answered.
const ASKS: &str =
    "if grep -q Blue $SKEIN_BRIEF; then echo new >new.txt; git add new.txt; git commit -qm fixed
    else git skein worker wait --question 'Which one?'; fi";

pub fn ended(world: &World) -> State {
    scenes::all_ended(world);
    let mut state = state::person(world);
    let head = world.field("fix", "head");
    state.insert("refs/skein work".into(), world.rev(&format!("{}^{{tree}}", head.as_str().unwrap())));
    state.insert("refs/skein outcome".into(), world.field("fix", "outcome").to_string());
    state
}

/// A worker that waits for an answer.
pub fn asking() -> World {
    let world = scenes::still();
    world.skein(&["dispatch", "--wait", "--name", "fix", "fix", "--", "sh", "-c", ASKS]).code(3);
    world
}

#[test]
fn resume() {
    let world = asking();
    // Answered, and not taken up: nobody goes on by itself.
    let again = |world: &World| {
        scenes::all_ended(world);
        if world.field("fix", "outcome") != "ready" {
            world.skein(&["resume", "fix", "-m", "Blue"]).ok();
            scenes::all_ended(world);
        }
        false
    };
    let after: Act = |world| {
        scenes::all_ended(world);
        assert_eq!(world.field("fix", "outcome"), "ready");
    };
    let scene = Scene::new("resume", world, &["resume", "fix", "-m", "Blue"]);
    sweep::run(&Scene { again, after, state: ended, plans: FEW, ..scene });
}

/// The kinds of verdicts that the lane has.
pub fn verdicts(world: &World) -> Vec<String> {
    let given = world.skein(&["log", "decisions", "--json"]).ok().json();
    let all = given["result"]["entries"].as_array().unwrap().clone();
    all.iter().map(|entry| entry["verb"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_verdict_that_says_no() {
    let again = |world: &World| {
        let ran = world.skein(&["verdict", "fix", "reject", "--delta", "1", "-m", "Too bold"]);
        if ran.code != 0 {
            ran.refused("verdict-given", 1);
        }
        false
    };
    let after: Act = |world| assert_eq!(verdicts(world).len(), 1);
    let args = ["verdict", "fix", "reject", "--delta", "1", "-m", "Too bold"];
    sweep::run(&Scene { again, after, plans: FEW, ..Scene::new("verdict reject", scenes::ready(), &args) });
}

#[test]
fn verify() {
    let world = scenes::ready();
    world.skein(&["land", "fix", "--gate", "grep -q one a.txt"]).ok();
    sweep::run(&Scene { plans: FEW, ..Scene::new("verify", world, &["verify", "main"]) });
}

fn loaded() -> World {
    let world = scenes::ready();
    world.skein(&["bundle", "save", "fix"]).ok();
    world.worker("next", "exit 3");
    world.skein(&["bundle", "load", "next", "fix"]).ok();
    world
}

#[test]
fn bundle_unload() {
    let again = |world: &World| {
        if world.field("next", "loaded").as_array().is_some_and(|all| !all.is_empty()) {
            world.skein(&["bundle", "unload", "next", "fix"]).ok();
        }
        false
    };
    let after: Act = |world| {
        assert!(world.field("next", "loaded").as_array().is_none_or(Vec::is_empty));
        assert_eq!(world.lines(&["for-each-ref", "refs/skein/bundle"]).len(), 1);
    };
    let scene = Scene::new("bundle unload", loaded(), &["bundle", "unload", "next", "fix"]);
    sweep::run(&Scene { again, after, plans: FEW, ..scene });
}

/// There is a whole file or none.
#[test]
fn bundle_export() {
    let again = |world: &World| {
        let file = world.root().join("out.bundle");
        if file.exists() {
            world.skein(&["bundle", "show", "../out.bundle"]).ok();
            fs::remove_file(file).unwrap();
        }
        true
    };
    let after: Act = |world| drop(world.skein(&["bundle", "show", "../out.bundle"]).ok());
    let scene = Scene::new("bundle export", loaded(), &["bundle", "export", "fix", "../out.bundle"]);
    sweep::run(&Scene { again, after, plans: NAMELESS, ..scene });
}

fn served() -> World {
    let world = scenes::still();
    world.git(["init", "--quiet", "--bare", "--initial-branch=main", "../server.git"]);
    world.git(["remote", "add", "origin", "../server.git"]);
    world.git(["push", "--quiet", "origin", "main"]);
    world.skein(&["init"]).ok();
    world
}

/// Without what this clone has seen of the server: that is looked at anew each time.
fn without_mirror(world: &World) -> State {
    let mut state = state::of(world);
    state.retain(|key, _| !key.contains("refs/skein-remote/"));
    state
}

/// What waits on the server.
fn queued(world: &World) -> Vec<String> {
    world.lines(&["-C", "../server.git", "for-each-ref", "--format=%(refname)", "refs/skein/queue"])
}

#[test]
fn dispatch_to_a_queue() {
    let again = |world: &World| queued(world).is_empty();
    let after: Act = |world| assert_eq!(queued(world).len(), 1);
    let args = ["dispatch", "--queue", "--name", "fix", "fix it", "--", "true"];
    let scene = Scene::new("dispatch --queue", served(), &args);
    sweep::run(&Scene { again, after, state: without_mirror, plans: FEW, ..scene });
}

#[test]
fn queue_drop() {
    let world = served();
    let args = ["dispatch", "--queue", "--json", "--name", "fix", "fix it", "--", "true"];
    let brief = world.skein(&args).ok().json()["result"]["brief"].as_str().unwrap().to_owned();
    let again = |world: &World| !queued(world).is_empty();
    let after: Act = |world| assert_eq!(queued(world), [""; 0]);
    // It is let go of, as it was asked for.
    let before: Act = |world| {
        let seen =
            world.lines(&["for-each-ref", "--format=%(objectname)", "refs/skein-remote/origin/skein/queue"]);
        world.git(["update-ref", "refs/heads/old", &seen[0]]);
    };
    let scene = Scene::new("queue drop", world, &["queue", "drop", brief.leak()]);
    sweep::run(&Scene { before, again, after, state: without_mirror, plans: NAMELESS, ..scene });
}
