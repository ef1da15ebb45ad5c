//! Every verb that writes a document, struck between any two durable steps. What git may clear away is cleared away,
//! then it is finished, or done again: never by half, never twice.

use crate::docworld::ANSWER;
use crate::docworld::DOC;
use crate::docworld::answered;
use crate::docworld::asked;
use crate::docworld::body;
use crate::docworld::feed;
use crate::docworld::litter;
use crate::docworld::send;
use crate::docworld::type_on;
use crate::faults::rest::FEW;
use crate::faults::scenes::all_ended;
use crate::faults::scenes::still;
use crate::faults::state;
use crate::faults::state::State;
use crate::faults::sweep;
use crate::faults::sweep::Plan;
use crate::support::Ran;
use crate::support::World;
use crate::support::ran;
use std::fs::File;

const PLANS: &[Plan] = &[
    Plan { site: "point", action: "kill", stride: 1, lasting: false },
    Plan { site: "git", action: "kill", stride: 2, lasting: false },
    Plan { site: "file", action: "kill", stride: 3, lasting: false },
    Plan { site: "git", action: "EIO", stride: 3, lasting: false },
    Plan { site: "file", action: "EIO", stride: 5, lasting: false },
    Plan { site: "file", action: "ENOSPC", stride: 9, lasting: true },
];

/// For a verb that passes no named place.
const NAMELESS: &[Plan] = PLANS.split_at(1).1;

struct Scene {
    world: World,
    args: Vec<&'static str>,
    input: String,
    /// Given twice, it is done once.
    same: bool,
    plans: &'static [Plan],
    seen: fn(&World) -> State,
    /// Whoever comes after the strike draws other ids.
    anew: bool,
}

impl Scene {
    fn new(world: World, args: &[&'static str]) -> Scene {
        Scene {
            world,
            args: args.to_vec(),
            input: String::new(),
            same: true,
            plans: PLANS,
            seen,
            anew: false,
        }
    }

    fn input(self, text: &str) -> Scene {
        Scene { input: text.to_owned(), ..self }
    }

    /// Given twice, it is done twice, or refused.
    fn once(self) -> Scene {
        Scene { same: false, ..self }
    }
}

/// The person's, and all that is known of the document.
pub fn seen(world: &World) -> State {
    let mut state = state::person(world);
    for line in world.lines(&["for-each-ref", "--format=%(refname) %(tree)", "refs/skein"]) {
        let (name, tree) = line.split_once(' ').unwrap();
        state.insert(name.to_owned(), world.git(["ls-tree", "-r", tree]));
    }
    state
}

fn run(scene: Scene) {
    let name = scene.args[..2].join(" ");
    let world = scene.world.copy();
    let before = (scene.seen)(&world);
    feed(&world, &scene.args, &scene.input).ok();
    let reference = (scene.seen)(&world);
    assert!(litter(&world).is_empty());
    let counted = scene.world.copy();
    let (_, mark) = strike(&counted, &scene, sweep::COUNT, 1);
    let crossed = sweep::Crossed::read(&mark.unwrap());
    sweep::table(&name, scene.plans, 2, &crossed, |plan, k| case(&scene, [&before, &reference], plan, k));
}

fn case(scene: &Scene, [before, reference]: [&State; 2], plan: Plan, k: u64) -> bool {
    let world = scene.world.copy();
    let (struck, mark) = strike(&world, scene, plan, k);
    let Some(mark) = mark else {
        assert_eq!(struck.code, 0, "not struck, but {struck:?}");
        return false;
    };
    let at = format!("at {mark:?} ({k})");
    assert!(!struck.err.contains("panicked"), "{at}: {}", struck.err);
    if plan.action != "kill" && struck.code != 0 {
        let told = struck.err.contains("refused: ") || struck.err.contains("fault: ");
        assert!(told, "{at}: without a word: {struck:?}");
    }
    all_ended(&world);
    // The person's text is the old one or the new one, and so is each branch.
    let now = if scene.anew { (scene.seen)(&world) } else { state::person(&world) };
    for (key, found) in now.iter().filter(|(key, _)| !key.ends_with("skein~") && *key != "status") {
        let fine = [before.get(key), reference.get(key)].contains(&Some(found));
        assert!(fine, "{at}: {key} is neither old nor new: {found:?}\n{:?}", before.get(key));
    }
    if struck.code == 0 && !scene.anew {
        let lacks = state::differ(reference, &(scene.seen)(&world));
        assert!(lacks.is_none(), "{at}: success was told, but: {}: {struck:?}", lacks.unwrap_or_default());
    }
    if plan.action == "kill" {
        sweep::clean(&world, k);
    }
    let world = if scene.anew { world.env("SKEIN_SEED", "3") } else { world };
    // By turns: finished, and done again if that was not all; or done again at once.
    if !scene.same || k.is_multiple_of(2) {
        finish(&world);
    }
    let made = state::differ(reference, &(scene.seen)(&world)).is_none();
    if !made || scene.same {
        let again = feed(&world, &scene.args, &scene.input);
        let there = scene.args[1] == "init" && again.err.contains("refused: file-exists:");
        assert!(again.code == 0 || there, "{at}: the same again\n{again:?}");
    }
    assert_eq!(litter(&world), [""; 0], "{at}");
    if let Some(difference) = state::differ(reference, &(scene.seen)(&world)) {
        panic!("{at}: not as undisturbed: {difference}");
    }
    world.check();
    true
}

fn strike(world: &World, scene: &Scene, plan: Plan, k: u64) -> (Ran, Option<String>) {
    let (mark, input) = (world.root().join("mark"), world.root().join("input"));
    std::fs::write(&input, &scene.input).unwrap();
    // Of a strike before this one.
    let _ = std::fs::remove_file(&mark);
    let lasting = if plan.lasting { "+" } else { "" };
    let mut command = world.command(&scene.args);
    command.env("SKEIN_FAULT", format!("{}:{k}{lasting}:{}", plan.site, plan.action));
    command.env("SKEIN_FAULT_MARK", &mark).stdin(File::open(&input).unwrap());
    let ran = ran(command.output().unwrap());
    (ran, std::fs::read_to_string(&mark).ok())
}

pub fn finish(world: &World) {
    let done = world.skein(&["doc", "recover", DOC]);
    // There may be no document yet.
    let none = done.err.contains("refused: no-document:") || done.err.contains("refused: not-a-document:");
    assert!(done.code == 0 || none, "{done:?}");
}

pub fn with_question() -> World {
    let world = still();
    world.skein(&["init"]).ok();
    asked(&world, DOC);
    world.commit("a question");
    world
}

pub fn with_answer() -> World {
    let world = still();
    world.skein(&["init"]).ok();
    answered(&world, DOC);
    world
}

#[test]
fn init() {
    let world = still();
    world.skein(&["init"]).ok();
    run(Scene { plans: NAMELESS, ..Scene::new(world, &["doc", "init", DOC]) });
}

#[test]
fn claim() {
    let world = still();
    world.skein(&["init"]).ok();
    world.write(DOC, &body("What is it?\n"));
    run(Scene::new(world, &["doc", "claim", DOC]));
}

#[test]
fn preflight() {
    run(Scene::new(with_answer(), &["doc", "preflight", DOC]));
}

#[test]
fn write() {
    let world = with_question();
    send(&world, DOC);
    type_on(&world, DOC, "And what");
    run(Scene::new(world, &["doc", "write", DOC]).input(ANSWER));
}

#[test]
fn respond() {
    let world = with_question();
    send(&world, DOC);
    type_on(&world, DOC, "And what");
    run(Scene::new(world, &["doc", "respond", DOC]).input(ANSWER));
}

#[test]
fn patch() {
    let world = with_answer();
    run(Scene::new(world, &["doc", "patch", DOC, "exchange", "Patched in."]).once());
}

#[test]
fn commit() {
    run(Scene::new(with_answer(), &["doc", "commit", DOC]));
}

#[test]
fn commit_where_head_is_detached() {
    let world = still();
    world.skein(&["init"]).ok();
    world.git(["switch", "-q", "--detach"]);
    answered(&world, DOC);
    run(Scene::new(world, &["doc", "commit", DOC]));
}

#[test]
fn turn_undo() {
    run(Scene::new(with_answer(), &["doc", "turn", "undo", DOC, "1"]).once());
}

#[test]
fn resolve() {
    let world = still();
    world.skein(&["init"]).ok();
    let text = "<!-- agent:status -->\nstate: one\n<!-- /agent:status -->\n";
    world.write(DOC, &(body("What is it?\n") + text));
    world.skein(&["doc", "claim", DOC]).ok();
    send(&world, DOC);
    world.write(DOC, &world.read(DOC).replace("state: one", "state: mine"));
    let said = "<!-- patch:status -->\nstate: theirs\n<!-- /patch:status -->\n";
    feed(&world, &["doc", "write", DOC], said).code(3);
    run(Scene::new(world, &["doc", "resolve", DOC, "--theirs"]).once());
}

#[test]
fn clean() {
    let world = with_question();
    for said in ["One.", "Two.", "Three."] {
        type_on(&world, DOC, "More?\n");
        send(&world, DOC);
        feed(&world, &["doc", "respond", DOC], said).ok();
    }
    run(Scene::new(world, &["doc", "clean", DOC]));
}

#[test]
fn reset() {
    run(Scene::new(with_answer(), &["doc", "reset", DOC]));
}

#[test]
fn dedupe() {
    let world = still();
    world.skein(&["init"]).ok();
    let said = "### Re: A\n\none\n\n";
    world.write(DOC, &body(&format!("{said}{said}")));
    world.skein(&["doc", "claim", DOC]).ok();
    send(&world, DOC);
    feed(&world, &["doc", "write", DOC], ANSWER).ok();
    type_on(&world, DOC, "And what");
    run(Scene::new(world, &["doc", "dedupe", DOC]));
}

#[test]
fn turn_redo() {
    let world = with_answer();
    world.skein(&["doc", "turn", "undo", DOC, "1"]).ok();
    run(Scene::new(world, &["doc", "turn", "redo", DOC, "1"]).once());
}

#[test]
fn what_was_said_is_brought_back() {
    let world = with_answer();
    world.skein(&["doc", "commit", DOC]).ok();
    let first: &'static str = world.head().leak();
    type_on(&world, DOC, "More?\n");
    send(&world, DOC);
    feed(&world, &["doc", "respond", DOC], "Another.").ok();
    run(Scene::new(world, &["doc", "history", DOC, "--restore", first]).once());
}

#[test]
fn turn_fork() {
    // Not the id again that the document got.
    let world = with_answer().env("SKEIN_SEED", "2");
    run(Scene::new(world, &["doc", "turn", "fork", DOC, "1", "other.md"]).once());
}

/// An answer is cut off where something is left to be finished; then what finishes it is.
#[test]
fn recover() {
    let world = with_question();
    send(&world, DOC);
    let begun = Plan { site: "point", action: "kill", stride: 1, lasting: false };
    let said = Scene::new(world.copy(), &["doc", "respond", DOC]).input(ANSWER);
    let cut = |k: u64| {
        let world = world.copy();
        strike(&world, &said, begun, k).1.expect("each place leaves nothing to finish");
        let finished = world.copy();
        finish(&finished);
        state::differ(&seen(&world), &seen(&finished)).map(|_| world)
    };
    let world = (1..).find_map(cut).unwrap();
    run(Scene { plans: NAMELESS, ..Scene::new(world, &["doc", "recover", DOC]) });
}

/// The person's. The commit of an answer names who was asked, and that may be somebody else.
fn answered_at_last(world: &World) -> State {
    all_ended(world);
    let mut state = state::person(world);
    state.insert("ref refs/heads/main".into(), world.rev("main^{tree}"));
    state
}

#[test]
fn an_agent_is_asked() {
    let world = with_question();
    let scene = Scene::new(world, &["doc", "run", DOC, "--", "sh", "-c", "echo An answer."]);
    run(Scene { plans: FEW, seen: answered_at_last, anew: true, ..scene });
}

/// Of the document, which tasks it has word of: workers that are started anew have other names.
fn reported(world: &World) -> State {
    let mut state = answered_at_last(world);
    let text = world.read(DOC);
    for task in ["one", "two"] {
        state.insert(format!("word of {task}"), text.contains(&format!("### Re: {task}\n")).to_string());
    }
    state.retain(|key, _| key != "status" && !key.ends_with(DOC));
    state
}

#[test]
fn tasks_are_given_out() {
    let world = still();
    world.skein(&["init"]).ok();
    world.write(DOC, &format!("- [ ] one\n- [ ] two\n{}", body("")));
    world.skein(&["doc", "claim", DOC]).ok();
    world.commit("tasks");
    let script = "echo new >new.txt; git add new.txt; git commit -qm new";
    let scene = Scene::new(world, &["doc", "fanout", DOC, "--", "sh", "-c", script]);
    run(Scene { plans: FEW, seen: reported, anew: true, ..scene.once() });
}
