//! What a person decides before and after a run, and what is looked at for it, struck: plans, trust, checks, overlap
//! under a gate, a dispatch of a kind. And the plan of a worker, whose supervisor is struck.

use crate::faults::scenes;
use crate::faults::state;
use crate::faults::state::State;
use crate::faults::sweep;
use crate::faults::sweep::Act;
use crate::faults::sweep::Crossed;
use crate::faults::sweep::Plan;
use crate::faults::sweep::Scene;
use crate::support::Ran;
use crate::support::World;
use crate::support::ran;
use serde_json::Value;
use serde_json::json;

/// Every named place, and of the rest some.
const FEW: &[Plan] = &[
    Plan { site: "point", action: "kill", stride: 1, lasting: false },
    Plan { site: "git", action: "kill", stride: 5, lasting: false },
    Plan { site: "file", action: "kill", stride: 11, lasting: false },
    Plan { site: "git", action: "EIO", stride: 7, lasting: false },
    Plan { site: "file", action: "EIO", stride: 13, lasting: false },
    Plan { site: "file", action: "ENOSPC", stride: 19, lasting: true },
];

/// For a verb with no named place of its own.
const NAMELESS: &[Plan] = &[
    Plan { site: "git", action: "kill", stride: 1, lasting: false },
    Plan { site: "file", action: "kill", stride: 1, lasting: false },
    Plan { site: "git", action: "EIO", stride: 1, lasting: false },
    Plan { site: "file", action: "EIO", stride: 1, lasting: false },
    Plan { site: "file", action: "ENOSPC", stride: 3, lasting: true },
];

/// Plans, plans anew when that is rejected, and does it when it is approved.
const PLANS: &str =
    "plan() { git skein worker plan --goal \"$1\" --step 'Write it -- n' --verify 'cat n' --risk None; }
    if grep -q 'Your plan .* is approved' $SKEIN_BRIEF; then echo 1 >n; git add n; git commit -qm n
    elif grep -q 'Your plan .* is rejected' $SKEIN_BRIEF; then plan 'A better n'; else plan 'A file n'; fi";

/// A worker whose plan waits for a person.
fn planned() -> World {
    let world = scenes::still();
    let given =
        ["dispatch", "--wait", "--kind", "architect", "--name", "fix", "fix", "--", "sh", "-c", PLANS];
    world.skein(&given).code(3);
    assert_eq!(
        world.field("fix", "next"),
        "git skein plan fix",
        "{}",
        world.skein(&["show", "--log", "fix"]).out
    );
    world
}

/// The plans of the worker with what was decided of each, what it was told, and where it is now.
fn plans(world: &World) -> State {
    scenes::all_ended(world);
    let record = world.record("fix");
    let mut state = state::person(world);
    for (at, plan) in record["plans"].as_array().unwrap().iter().enumerate() {
        // One after the decision is of a worker that goes on.
        let ours = if at > 0 { "refs/skein " } else { "" };
        state.insert(format!("{ours}plan {at}"), format!("{} {}", plan["goal"], plan["decided"]["verdict"]));
    }
    for (at, message) in record["messages"].as_array().unwrap().iter().enumerate() {
        state.insert(format!("message {at}"), message["text"].to_string());
    }
    // That it goes on is promised only where that is said: else it waits to be taken up.
    state.insert("refs/skein outcome".into(), record["outcome"].to_string());
    let head = world.field("fix", "head");
    state.insert("refs/skein work".into(), world.rev(&format!("{}^{{tree}}", head.as_str().unwrap())));
    state
}

/// A plan is decided or it is not: then the same is said again. A worker that was not taken up waits for that.
fn decided_once(world: &World, args: &[&str]) {
    scenes::all_ended(world);
    let record = world.record("fix");
    let first = &record["plans"][0]["decided"];
    if first.is_null() {
        world.skein(args).ok();
    } else {
        let refused = world.skein(args);
        let told =
            ["refused: plan-decided:", "refused: plan-moved:"].iter().any(|says| refused.err.contains(says));
        assert!(told, "{refused:?}");
        if record["messages"].as_array().unwrap().iter().any(|m| m["delivered"].is_null()) {
            world.skein(&["resume", "fix"]).ok();
        }
    }
    // What git clears away next must not be what the worker is about to commit.
    scenes::all_ended(world);
}

#[test]
fn a_plan_is_approved() {
    let id = planned();
    let plan: &'static str = id.record("fix")["plans"][0]["id"].as_str().unwrap().to_owned().leak();
    APPROVE.set(plan).unwrap();
    let args = ["plan", "fix", "approve", "--plan", plan];
    let again = |world: &World| {
        decided_once(world, &["plan", "fix", "approve", "--plan", APPROVE.get().unwrap()]);
        false
    };
    let after: Act = |world| {
        scenes::all_ended(world);
        assert_eq!(world.field("fix", "outcome"), "ready");
    };
    sweep::run(&Scene { again, after, state: plans, plans: FEW, ..Scene::new("plan approve", id, &args) });
}

static APPROVE: std::sync::OnceLock<&str> = std::sync::OnceLock::new();
static REJECT: std::sync::OnceLock<&str> = std::sync::OnceLock::new();

#[test]
fn a_plan_is_rejected() {
    let world = planned();
    let plan: &'static str = world.record("fix")["plans"][0]["id"].as_str().unwrap().to_owned().leak();
    REJECT.set(plan).unwrap();
    let args = ["plan", "fix", "reject", "--plan", plan, "-m", "Too bold"];
    let again = |world: &World| {
        decided_once(world, &["plan", "fix", "reject", "--plan", REJECT.get().unwrap(), "-m", "Too bold"]);
        false
    };
    let after: Act = |world| {
        scenes::all_ended(world);
        assert_eq!(world.field("fix", "next"), "git skein plan fix");
    };
    sweep::run(&Scene { again, after, state: plans, plans: FEW, ..Scene::new("plan reject", world, &args) });
}

/// The person's, and each digest that is trusted, as often as it is noted.
fn trusted(world: &World) -> State {
    let mut state = state::person(world);
    let kept = world.try_git(["config", "--get-all", "skein.trust"]).stdout;
    state.insert("trust".into(), String::from_utf8(kept).unwrap());
    state
}

#[test]
fn trust() {
    let world = scenes::still();
    world.kind("maker", "---\nagent: [\"true\"]\n---\n");
    world.write(".skein/policy.toml", "gate = ['true']\n");
    world.commit("policy");
    let after: Act = |world| drop(world.skein(&["trust"]).ok());
    let scene = Scene::new("trust --yes", world, &["trust", "--yes"]);
    sweep::run(&Scene { after, state: trusted, plans: NAMELESS, ..scene });
}

#[test]
fn check() {
    sweep::run(&checking());
}

pub fn checking() -> Scene {
    let world = scenes::still();
    let given =
        ["dispatch", "--wait", "--check", "grep -c one a.txt", "--check", "true", "--name", "fix", "fix"];
    world.skein(&[&given[..], &["--", "sh", "-c", scenes::WORK]].concat()).ok();
    let after: Act = |world| {
        let done = world.skein(&["check", "fix", "--json"]).ok().json();
        let all = done["result"]["checks"].as_array().unwrap();
        assert!(
            all.len() == 2 && all.iter().all(|one| one["passed"] == true && one["already"] == true),
            "{done}"
        );
    };
    Scene { after, plans: FEW, ..Scene::new("check", world, &["check", "fix"]) }
}

#[test]
fn overlap_under_a_gate() {
    let world = scenes::ready();
    world.worker("more", "echo more >more.txt; git add more.txt; git commit -qm more");
    let after: Act = |world| {
        let found = world.skein(&["overlap", "--gate", "test -e more.txt", "--json"]).ok().json();
        assert_eq!(found["result"]["pairs"][0]["gate"]["passed"], true, "{found}");
    };
    let scene = Scene::new("overlap --gate", world, &["overlap", "--gate", "test -e more.txt"]);
    sweep::run(&Scene { after, plans: FEW, ..scene });
}

/// What the kind binds the worker to, beside what any dispatch promises.
fn of_a_kind(world: &World) -> State {
    scenes::all_ended(world);
    let mut state = scenes::with_person(world);
    if world.lines(&["for-each-ref", "--format=%(refname)", "refs/skein/worker"]).is_empty() {
        return state;
    }
    let record = world.record("fix");
    for key in ["checks", "kind", "paths", "limits"] {
        state.insert(key.into(), record[key].to_string());
    }
    state.insert("goal".into(), record["plans"][0]["goal"].to_string());
    let kept = world.rev(&format!("refs/skein/worker/{}:kind.md", world.ulid("fix")));
    state.insert("text".into(), kept);
    state
}

#[test]
fn dispatch_of_a_kind() {
    let world = scenes::still();
    let kind = "---\nplan_gate: true\nchecks: ['test -e n']\npaths: ['n']\nforbid: [b.txt]\ntimeout: 90s\n---\nPlan it.\n";
    world.kind("planner", kind);
    world.skein(&["trust", "--yes"]).ok();
    let args = ["dispatch", "--kind", "planner", "--name", "fix", "fix it", "--", "sh", "-c", PLANS];
    let again = scenes::not_taken_over;
    let after: Act = |world| {
        scenes::all_ended(world);
        assert_eq!(world.field("fix", "next"), "git skein plan fix");
    };
    let scene = Scene::new("dispatch --kind", world, &args);
    sweep::run(&Scene { state: of_a_kind, again, after, plans: FEW, ..scene });
}

const SUPERVISED: &[Plan] = &[
    Plan { site: "point", action: "kill", stride: 1, lasting: false },
    Plan { site: "git", action: "kill", stride: 4, lasting: false },
    Plan { site: "file", action: "kill", stride: 13, lasting: false },
    Plan { site: "git", action: "EIO", stride: 7, lasting: false },
    Plan { site: "file", action: "EIO", stride: 17, lasting: false },
];

/// What a worker was told of its plan is so, and the plan of one whose supervisor died can be decided all the same.
#[test]
fn a_worker_lays_out_its_plan() {
    let world = scenes::still();
    world.skein(&["init"]).ok();
    let (dispatched, mark) = plan_struck(&world.copy(), sweep::COUNT, 1);
    dispatched.ok();
    let crossed = Crossed::read(&mark.unwrap());
    sweep::table("worker plan", SUPERVISED, 6, &crossed, |plan, k| laid_out(&world, plan, k));
}

/// A dispatch of a worker that plans, whose supervisor is struck, and where it was.
fn plan_struck(world: &World, plan: Plan, k: u64) -> (Ran, Option<String>) {
    let mark = world.root().join("mark");
    let given = ["dispatch", "--kind", "architect", "--name", "fix", "fix", "--", "sh", "-c", PLANS];
    let mut dispatch = world.command(&given);
    dispatch.env("SKEIN_SUPERVISOR_FAULT", format!("{}:{k}:{}", plan.site, plan.action));
    let dispatched = ran(dispatch.env("SKEIN_FAULT_MARK", &mark).output().unwrap());
    scenes::all_ended(world);
    (dispatched, std::fs::read_to_string(mark).ok())
}

fn laid_out(world: &World, plan: Plan, k: u64) -> bool {
    let world = world.copy();
    let (dispatched, mark) = plan_struck(&world, plan, k);
    let struck = mark.is_some();
    let at = mark.unwrap_or_default();
    let log = std::fs::read_dir(world.path(".git/skein/run")).into_iter().flatten().flatten();
    let log: String = log.filter_map(|e| std::fs::read_to_string(e.path().join("log")).ok()).collect();
    sweep::clean(&world, k);
    // Whatever verb comes next closes it.
    world.skein(&["stop", "fix"]);
    let status = world.skein(&["status", "--json"]).ok().json();
    let Some(row) = status["result"]["workers"].as_array().unwrap().first().cloned() else {
        assert!(struck && dispatched.code != 0, "{at}: the worker was told, and is gone");
        return struck;
    };
    assert_ne!(row["outcome"], "active", "{at}: {row}");
    let plans = world.record("fix")["plans"].as_array().cloned().unwrap_or_default();
    assert!(plans.len() <= 1, "{at}: {plans:?}");
    if log.contains("waits for a person") {
        assert_eq!(plans.first().map(|plan| &plan["goal"]), Some(&json!("A file n")), "{at}: {log}");
    }
    if plans.is_empty() {
        world.skein(&["resume", "fix"]).ok();
        scenes::all_ended(&world);
    }
    world.skein(&["plan", "fix", "approve"]).ok();
    scenes::all_ended(&world);
    assert_eq!(world.field("fix", "outcome"), Value::from("ready"), "{at}");
    world.skein(&["land", "fix"]).ok();
    assert_eq!(world.git(["show", "main:n"]), "1", "{at}");
    world.check();
    struck
}
