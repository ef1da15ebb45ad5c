//! Verbs with options that write in a way of their own, struck at some of their crossings: the ways that they share
//! with the plain verbs are struck everywhere already.

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
const FEW: &[Plan] = &[
    Plan { site: "point", action: "kill", stride: 1, lasting: false },
    Plan { site: "git", action: "kill", stride: 3, lasting: false },
    Plan { site: "file", action: "kill", stride: 6, lasting: false },
    Plan { site: "file", action: "EIO", stride: 9, lasting: false },
];

#[test]
fn import_of_what_is_not_committed() {
    let world = scenes::still();
    world.worker("fix", &format!("{}; echo more >>new.txt; echo left >left.txt", scenes::WORK));
    let after: Act = |world| {
        let tips = world.lines(&["for-each-ref", "--format=%(objectname)", "refs/skein/worker"]);
        let delta = world.git(["show", &format!("{}:delta/2/delta.json", tips[0])]);
        let delta: serde_json::Value = serde_json::from_str(&delta).unwrap();
        assert_eq!((&delta["uncommitted"], &delta["paths"]), (&true.into(), &3.into()), "{delta}");
        let tree = delta["tree"].as_str().unwrap();
        assert_eq!(world.git(["show", &format!("{tree}:new.txt")]), "new\nmore");
    };
    let scene = Scene::new("import --uncommitted", world, &["import", "fix", "--uncommitted"]);
    sweep::run(&Scene { after, plans: FEW, ..scene });
}

#[test]
fn land_as_one_commit() {
    let world = scenes::still();
    world.worker("fix", &format!("{}; echo 2 >>new.txt && git commit -qam second", scenes::WORK));
    let after: Act = |world| {
        scenes::landed(world);
        assert_eq!(world.git(["rev-list", "--count", "main"]), "3", "two and the one that landed");
    };
    let scene = Scene::new("land --squash", world, &["land", "fix", "--squash"]);
    sweep::run(&Scene { after, plans: FEW, ..scene });
}

#[test]
fn a_candidate_in_place_of_another() {
    let world = scenes::ready();
    world.skein(&["candidate", "create", "fix"]).ok();
    let tip = world.git(["commit-tree", "-p", "main", "-m", "other", "main^{tree}"]);
    world.git(["update-ref", "refs/heads/main", &tip]);
    let after: Act = |world| {
        let waiting = world.lines(&["for-each-ref", "--format=%(refname)", "refs/skein-local/candidate"]);
        let [one] = waiting.as_slice() else { panic!("{waiting:?}") };
        let record = world.git(["show", &format!("{one}:record.json")]);
        assert!(record.contains(&world.rev("main")), "{record}");
    };
    let args = ["candidate", "create", "fix", "--supersede"];
    // The one that is replaced is let go of, as it was asked for.
    let before: Act = |world| drop(world.git(["update-ref", "refs/heads/old", &candidate(world)]));
    let scene = Scene::new("candidate create --supersede", world, &args);
    sweep::run(&Scene { before, after, plans: FEW, ..scene });
}

fn candidate(world: &World) -> String {
    let waiting = world.lines(&["for-each-ref", "--format=%(objectname)", "refs/skein-local/candidate"]);
    world.rev(&format!("{}^1", waiting[0]))
}

/// The worktree somewhere else, as it was.
fn elsewhere(world: &World) -> State {
    let mut state = state::person(world);
    let there = world.root().join("there");
    for name in ["a.txt", "new.txt", "left.txt"] {
        state.insert(format!("there {name}"), fs::read_to_string(there.join(name)).unwrap_or_default());
    }
    let listed = world.git(["worktree", "list", "--porcelain"]);
    state.insert("worktrees".into(), listed.matches("worktree ").count().to_string());
    state.insert("locked".into(), listed.matches(&world.ulid("fix")).count().to_string());
    state.insert("outcome".into(), world.field("fix", "outcome").to_string());
    state
}

#[test]
fn restore_to_a_place_of_its_own() {
    let world = scenes::still();
    world.worker("fix", &format!("{}; echo left >left.txt", scenes::WORK));
    world.skein(&["land", "fix"]).ok();
    world.skein(&["reap", "fix", "--yes"]).ok();
    let again = |world: &World| {
        let ran = world.skein(&["restore", "fix", "--to", "../there"]);
        if ran.code != 0 {
            ran.refused("worktree-exists", 1);
        }
        false
    };
    let scene = Scene::new("restore --to", world, &["restore", "fix", "--to", "../there"]);
    sweep::run(&Scene { again, state: elsewhere, plans: FEW, ..scene });
}

#[test]
fn undo_of_an_undo() {
    let world = scenes::checked_out();
    world.skein(&["land", "fix"]).ok();
    let undone = world.skein(&["undo", "--json"]).ok().json();
    let op: &'static str = undone["result"]["op"].as_str().unwrap().to_owned().leak();
    let scene = Scene::new("undo of an undo", world, &["undo", op]);
    sweep::run(&Scene { after: scenes::landed, plans: FEW, ..scene });
}

#[test]
fn dispatch_with_ignored_files() {
    let world = scenes::still();
    world.write(".worktreeinclude", "*.ign\nignored/\n");
    world.write("x.ign", "one\n");
    fs::create_dir_all(world.path("ignored/deep")).unwrap();
    world.write("ignored/deep/file", "two\n");
    let script = "cat x.ign ignored/deep/file >new.txt && git add new.txt && git commit -qm fixed";
    let args = ["dispatch", "--wait", "--name", "fix", "fix it", "--", "sh", "-c", script];
    let after: Act = |world| {
        let head = world.field("fix", "head");
        assert_eq!(world.git(["show", &format!("{}:new.txt", head.as_str().unwrap())]), "one\ntwo");
    };
    let scene = Scene::new("dispatch, .worktreeinclude", world, &args);
    let (state, again) = (scenes::with_person, scenes::not_taken_over);
    sweep::run(&Scene { state, again, after, plans: FEW, ..scene });
}

#[test]
fn a_verdict() {
    sweep::run(&judging());
}

/// The verdict is on the lane and on the worker, or on neither: said again it is given once.
pub fn judging() -> Scene {
    let again = |world: &World| {
        let ran = world.skein(&["verdict", "fix", "accept", "--delta", "1"]);
        if ran.code != 0 {
            ran.refused("verdict-given", 1);
        }
        false
    };
    let after: Act = |world| {
        let given = world.skein(&["log", "decisions", "--json"]).ok().json();
        assert_eq!(given["result"]["entries"].as_array().unwrap().len(), 1, "{given}");
    };
    let scene = Scene::new("verdict accept", scenes::ready(), &["verdict", "fix", "accept", "--delta", "1"]);
    Scene { again, after, plans: FEW, ..scene }
}

#[test]
fn land_what_is_accepted_with_it() {
    let scene = Scene::new("land --accept", scenes::ready(), &["land", "fix", "--accept"]);
    sweep::run(&Scene { after: scenes::landed, plans: &FEW[..1], ..scene });
}
