//! Recovery is struck as well: a verb is killed, and what would put things right is killed too. The next run, which
//! nothing disturbs, must end where an undisturbed one ends.

use crate::faults::sweep;
use crate::faults::sweep::COUNT;
use crate::faults::sweep::Crossed;
use crate::faults::sweep::How;
use crate::faults::sweep::Plan;
use crate::faults::sweep::Reference;
use crate::faults::sweep::Scene;
use crate::proof::Harness;
use crate::proof::Tried;
use crate::proof::drawn;
use crate::proof::verbs;
use crate::support::World;
use crate::support::tally::full;
use crate::support::tally::regressions;
use std::cell::Cell;
use std::fmt;
use std::process::Command;

const HARNESS: Harness = Harness { name: "doubles", counts: "double kill" };

const KILL: Plan = Plan { site: "point", action: "kill", stride: 1, lasting: false };

/// A kill at the k-th crossing of a site.
#[derive(Debug, Clone, PartialEq)]
struct At {
    plan: Plan,
    k: u64,
    words: String,
}

struct Case {
    first: At,
    second: At,
    /// `doctor --fix` comes first, not the verb again.
    doctor: bool,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, then {}", self.first.words, self.second.words)
    }
}

/// Every place where a run that crossed these can be killed.
fn places(crossed: &Crossed, name: &str) -> Vec<At> {
    let mut all = Vec::new();
    for site in ["point", "git", "file"] {
        let plan = Plan { site, ..KILL };
        all.extend((0..crossed.at(site).len()).map(|at| At {
            plan,
            k: at as u64 + 1,
            words: crossed.named(name, plan, at),
        }));
    }
    all
}

/// Some in the order of the places, spread over all.
fn spread(all: Vec<At>, salt: &str, count: usize) -> Vec<At> {
    drawn(salt, all, count)
}

/// Whether the verb can be given again: not where a supervisor has taken over.
fn goes_on(scene: &Scene, world: &World) -> bool {
    scene.name != "dispatch" || (scene.again)(world)
}

fn recovery(scene: &Scene, world: &World, doctor: bool) -> Command {
    if doctor { world.command(&["doctor", "--fix"]) } else { scene.command(world) }
}

/// The double kills of a scene: `firsts` places of the verb, and for each `seconds` of what comes after.
fn cases(scene: &Scene, reference: &Reference, [firsts, seconds]: [usize; 2]) -> Vec<Case> {
    let known = regressions(HARNESS.name);
    let mut all = Vec::new();
    let places_of_verb = places(&reference.crossed, scene.name);
    let again: Vec<At> = places_of_verb
        .iter()
        .filter(|at| known.iter().any(|line| line.starts_with(&at.words)))
        .cloned()
        .collect();
    let firsts = again.into_iter().chain(spread(places_of_verb, scene.name, firsts));
    for (nth, first) in firsts.enumerate() {
        let doctor = nth % 4 == 3;
        let world = scene.world.copy();
        (scene.before)(&world);
        let (_, mark) = sweep::struck(scene.command(&world), &world, first.plan, first.k);
        if mark.is_none() || !goes_on(scene, &world) {
            continue;
        }
        sweep::clean(&world, first.k);
        let (_, mark) = sweep::struck(recovery(scene, &world, doctor), &world, COUNT, 1);
        let name = if doctor { "doctor" } else { "again" };
        let Some(mark) = mark else { continue };
        let there = places(&Crossed::read(&mark), name);
        let failed = |at: &At| known.contains(&format!("{}, then {}", first.words, at.words));
        let (mut chosen, rest): (Vec<At>, Vec<At>) = there.into_iter().partition(failed);
        chosen.extend(spread(rest, &first.words, seconds));
        all.extend(chosen.into_iter().map(|second| Case { first: first.clone(), second, doctor }));
    }
    all
}

/// False where the second did not come to its place.
fn case(scene: &Scene, reference: &Reference, case: &Case) -> bool {
    let both = Cell::new(false);
    let how = How { k: case.second.k, killed: true, sound: true, git: false, unread: false };
    sweep::once(scene, reference, how, |world| {
        let (ran, first) = sweep::struck(scene.command(world), world, case.first.plan, case.first.k);
        let Some(first) = first else { return (ran, None) };
        if !goes_on(scene, world) {
            return (ran, Some(first));
        }
        sweep::clean(world, case.first.k);
        let recovery = recovery(scene, world, case.doctor);
        let (mut ran, second) = sweep::struck(recovery, world, case.second.plan, case.second.k);
        both.set(second.is_some());
        if case.doctor {
            // What it says is not what the verb would say.
            ran.code = -1;
        }
        (ran, Some(format!("{case}: {first}, {second:?}")))
    });
    both.get()
}

#[test]
fn recovery_is_killed_too() {
    let mut sum = Tried::default();
    let size = if full() { [11, 11] } else { [5, 4] };
    for (name, scene) in verbs::chosen(HARNESS.name, HARNESS.counts, 3) {
        let scene = Scene { name, ..scene() };
        let reference = sweep::reference(&scene);
        let cases = cases(&scene, &reference, size);
        let tried = HARNESS.each(&cases, |one| case(&scene, &reference, one));
        super::say(&format!("double kill: {name}: {} of {}", tried.struck, cases.len()));
        sum.struck += tried.struck;
        sum.failures.extend(tried.failures);
    }
    HARNESS.close(sum, "");
}
