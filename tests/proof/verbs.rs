//! The verbs that are struck here, each on a repository that is prepared for it.

use crate::docworld;
use crate::docworld::struck as documents;
use crate::faults::decisions;
use crate::faults::options;
use crate::faults::reap;
use crate::faults::scenes;
use crate::faults::sweep::Act;
use crate::faults::sweep::Scene;
use crate::proof::drawn;
use crate::support::World;
use crate::support::tally::full;
use crate::support::tally::regressions;

/// By name: to prepare one takes a while.
pub type Named = (&'static str, fn() -> Scene);

pub const ALL: &[Named] = &[
    ("init", || Scene::new("init", scenes::still(), &["init"])),
    ("dispatch", scenes::dispatching),
    ("import", || Scene::new("import", scenes::ready(), &["import", "fix"])),
    ("import --into", || Scene::new("import --into", scenes::ready(), &["import", "fix", "--into", "coord"])),
    ("candidate admit", admitting),
    ("check", decisions::checking),
    ("land", || landing("land", scenes::ready(), &["land", "fix"])),
    ("land, checked out", || landing("land, checked out", scenes::checked_out(), &["land", "fix"])),
    ("land --gate", || {
        landing("land --gate", scenes::ready(), &["land", "fix", "--gate", "grep -q one a.txt"])
    }),
    ("verdict", options::judging),
    ("undo", || scenes::undoing("undo", scenes::ready())),
    ("reap", || Scene { args: vec!["reap", "fix", "idle", "--yes"], ..reap::closing() }),
    ("restore", reap::opening),
    ("doc write", writing),
    ("doc commit", || {
        document("doc commit", documents::with_answer(), &["doc", "commit", docworld::DOC], "")
    }),
    ("sync", crate::sync::struck::syncing),
];

/// All of them, or on a push `count` of them, and those that a regression of `harness` names.
pub fn chosen(harness: &str, salt: &str, count: usize) -> Vec<Named> {
    let only = std::env::var("SKEIN_PROOF_VERB").unwrap_or_default();
    let named = ALL.iter().copied().filter(|(name, _)| only.is_empty() || only == *name);
    if full() {
        return named.collect();
    }
    let known = regressions(harness);
    let failed = |name: &str| known.iter().any(|line| line.starts_with(&format!("{name}: ")));
    let (mut all, rest): (Vec<Named>, Vec<Named>) = named.partition(|(name, _)| failed(name));
    all.extend(drawn(salt, rest, count));
    all
}

fn landing(name: &'static str, world: World, args: &[&'static str]) -> Scene {
    Scene { after: scenes::landed, ..Scene::new(name, world, args) }
}

fn admitting() -> Scene {
    let world = scenes::with(scenes::ready(), &[&["candidate", "create", "fix"]]);
    Scene::new("candidate admit", world, &["candidate", "admit", "fix", "--gate", "grep -q one a.txt"])
}

fn writing() -> Scene {
    let world = documents::with_question();
    docworld::send(&world, docworld::DOC);
    docworld::type_on(&world, docworld::DOC, "And what");
    document("doc write", world, &["doc", "write", docworld::DOC], docworld::ANSWER)
}

fn document(name: &'static str, world: World, args: &[&'static str], input: &'static str) -> Scene {
    let again = |world: &World| {
        documents::finish(world);
        true
    };
    let after: Act = |world| assert_eq!(docworld::litter(world), [""; 0]);
    Scene { input, again, after, state: documents::seen, ..Scene::new(name, world, args) }
}
