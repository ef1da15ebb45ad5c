//! What a person decides of a worker that waits, struck: an answer, what is missing, its end.

use crate::faults::rest;
use crate::faults::rest::FEW;
use crate::faults::scenes;
use crate::faults::state;
use crate::faults::state::State;
use crate::faults::sweep;
use crate::faults::sweep::Act;
use crate::faults::sweep::Scene;
use crate::support::World;

/// Does what it is told to do beyond its task.
const GOES_ON: &str = "if grep -q Blue $SKEIN_BRIEF; then echo new >new.txt; else echo first >first.txt; fi
    git add --all; git commit -qm fixed";

/// A worker that is done, and will do more if it is told.
fn done() -> World {
    let world = scenes::still();
    world.skein(&["dispatch", "--wait", "--name", "fix", "fix", "--", "sh", "-c", GOES_ON]).ok();
    world
}

/// Decided it is or it is not: then the same is said again. A worker that was not taken up waits for that.
fn goes_on(world: &World, verdict: &[&str]) {
    scenes::all_ended(world);
    if rest::verdicts(world).is_empty() {
        world.skein(verdict).ok();
        scenes::all_ended(world);
    }
    if world.record("fix")["messages"].as_array().unwrap().iter().any(|told| told["delivered"].is_null()) {
        world.skein(&["resume", "fix"]).ok();
        scenes::all_ended(world);
    }
}

const ANSWER: &[&str] = &["verdict", "fix", "answer", "-m", "Blue"];
const REVISE: &[&str] = &["verdict", "fix", "revise", "--delta", "1", "-m", "Blue"];
const STOP: &[&str] = &["verdict", "fix", "stop", "-m", "Enough"];

fn once(world: &World) {
    scenes::all_ended(world);
    assert_eq!(rest::verdicts(world).len(), 1);
}

#[test]
fn an_answer() {
    let again = |world: &World| {
        goes_on(world, ANSWER);
        false
    };
    // It goes on when a person lets it.
    let after: Act = |world| {
        goes_on(world, ANSWER);
        once(world);
        assert_eq!(world.field("fix", "outcome"), "ready");
    };
    let scene = Scene::new("verdict answer", rest::asking(), ANSWER);
    sweep::run(&Scene { again, after, state: rest::ended, plans: FEW, ..scene });
}

#[test]
fn what_is_missing() {
    let again = |world: &World| {
        goes_on(world, REVISE);
        false
    };
    let after: Act = |world| {
        once(world);
        let head = world.field("fix", "head");
        assert_eq!(world.git(["show", &format!("{}:new.txt", head.as_str().unwrap())]), "new");
    };
    let scene = Scene::new("verdict revise", done(), REVISE);
    sweep::run(&Scene { again, after, state: rest::ended, plans: FEW, ..scene });
}

#[test]
fn its_end() {
    let again = |world: &World| {
        if rest::verdicts(world).is_empty() {
            world.skein(STOP).ok();
        }
        false
    };
    let scene = Scene::new("verdict stop", rest::asking(), STOP);
    sweep::run(&Scene { again, after: once, state: rest::ended, plans: FEW, ..scene });
}

const RETRY: &[&str] = &["verdict", "fix", "retry", "--delta", "1", "-m", "Again"];

/// The workers, by what became of them and of their work.
fn tries(world: &World) -> State {
    scenes::all_ended(world);
    let mut state = state::person(world);
    let workers = world.lines(&["for-each-ref", "refs/skein/worker"]);
    state.insert("refs/skein workers".into(), workers.len().to_string());
    state
}

/// The other try is started once, however often it is asked for.
#[test]
fn another_try() {
    let again = |world: &World| {
        scenes::all_ended(world);
        let ran = world.skein(RETRY);
        if ran.code != 0 {
            ran.refused("verdict-given", 1);
        }
        // What git clears away next must not be what the other try is about to commit.
        scenes::all_ended(world);
        false
    };
    let after: Act = |world| {
        once(world);
        world.skein(&["wait", "fix-2"]);
        if world.field("fix-2", "outcome") != "ready" {
            world.skein(&["resume", "fix-2"]).ok();
            scenes::all_ended(world);
        }
        assert_eq!(world.field("fix-2", "outcome"), "ready");
    };
    let scene = Scene::new("verdict retry", done(), RETRY);
    sweep::run(&Scene { again, after, state: tries, plans: FEW, ..scene });
}
