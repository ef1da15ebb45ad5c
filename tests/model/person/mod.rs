//! A person works beside the tool, in any order, and one to three orchestrators: what was acknowledged, what workers
//! committed and what the person wrote is written down in memory, and the repository is held against it after each step,
//! read with git and libgit2 only. A sequence that fails is shortened, and printed as one line.

mod acts;
mod look;
mod scene;
mod verbs;

use super::found;
use super::kept;
use super::words;
use crate::support::World;
use crate::support::acts::Dice;
use crate::support::tally::full;
use crate::support::tally::tally;
use crate::sync::cloned;
use crate::sync::served;
use scene::Scene;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

/// No longer is a sequence made shorter.
const SHRINKING: Duration = Duration::from_secs(120);

/// Landings that were acknowledged in all sequences.
static LANDED: AtomicUsize = AtomicUsize::new(0);

/// One step, with a number that says which of all there are.
#[derive(Debug, Clone)]
struct Op {
    act: &'static Act,
    n: u64,
}

/// What a person or the tool can do, and how often it is done beside the others.
struct Act {
    name: &'static str,
    weight: u64,
    run: fn(&mut Scene, u64) -> Result<(), String>,
}

impl fmt::Debug for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.act.name, self.n)
    }
}

fn all() -> impl Iterator<Item = &'static Act> + Clone {
    acts::ACTS.iter().chain(verbs::ACTS)
}

fn parse(line: &str) -> Vec<Op> {
    let op = |word: &str| {
        let (name, n) = word.split_once(':').unwrap();
        let act = all().find(|act| act.name == name).unwrap_or_else(|| panic!("no act {name}"));
        Op { act, n: n.parse().unwrap() }
    };
    line.split_whitespace().map(op).collect()
}

fn line(ops: &[Op]) -> String {
    ops.iter().map(Op::to_string).collect::<Vec<_>>().join(" ")
}

fn random(dice: &mut Dice, length: usize) -> Vec<Op> {
    let sum: u64 = all().map(|act| act.weight).sum();
    let draw = |dice: &mut Dice| {
        let mut left = dice.below(sum);
        let act = all().find(|act| {
            let here = left < act.weight;
            left = left.saturating_sub(act.weight);
            here
        });
        Op { act: act.unwrap(), n: dice.below(1000) }
    };
    let mut ops = parse("dispatch:0 dispatch:1");
    ops.extend((2..length).map(|_| draw(dice)));
    ops
}

/// Two clones of one server; the first is the person's, with a document in it and a branch `topic`.
fn template() -> World {
    let world = served();
    cloned(&world, "other");
    world.write("c.txt", &(1..=12).map(|n| format!("c {n}\n")).collect::<String>());
    world.write("d/d.txt", "d\n");
    world.commit("more");
    crate::docworld::asked(&world, scene::DOC);
    world.commit("a document");
    world.git(["branch", "topic", "HEAD~1"]);
    world.git(["push", "--quiet", "origin", "main"]);
    world.git_in("other", &["pull", "--quiet"]);
    world
}

/// Why a sequence fails, and after how many steps. Counted is what is played for its own sake, and not to make another
/// one shorter.
fn play(template: &World, ops: &[Op], counted: bool) -> Option<(usize, String)> {
    let mut done = 0;
    let mut scene = Scene::of(template.copy());
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        for op in ops {
            done += 1;
            scene.step = line(std::slice::from_ref(op));
            (op.act.run)(&mut scene, op.n).map_err(|why| format!("at {op}: {why}"))?;
        }
        scene.end().map_err(|why| format!("at the end: {why}"))
    }));
    if counted {
        tally("step beside a person", done as u64);
        tally("landing beside a person", scene.acks.len() as u64);
        LANDED.fetch_add(scene.acks.len(), Ordering::SeqCst);
    }
    outcome.unwrap_or_else(|panic| Err(words(&*panic))).err().map(|why| (done, why))
}

/// Leaves out what is not needed to fail.
fn shrunk(template: &World, ops: &[Op], why: String) -> (Vec<Op>, String) {
    let (started, mut ops, mut why) = (Instant::now(), ops.to_vec(), why);
    let mut size = ops.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < ops.len() && started.elapsed() < SHRINKING {
            let mut fewer = ops.clone();
            fewer.drain(at..(at + size).min(ops.len()));
            match play(template, &fewer, false) {
                Some((done, because)) => {
                    fewer.truncate(done);
                    (ops, why) = (fewer, because);
                }
                None => at += size,
            }
        }
        size /= 2;
    }
    (ops, why)
}

#[test]
fn nothing_is_lost_beside_a_person() {
    let template = template();
    let (count, length) = if full() { (300, 50) } else { (12, 25) };
    let mut dice = Dice::new();
    let mut all: Vec<Vec<Op>> = kept("person").iter().map(|line| parse(line)).collect();
    let old = all.len();
    all.extend((0..count).map(|_| random(&mut dice, length)));
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(ops) = all.get(next.fetch_add(1, Ordering::SeqCst)) {
            let Some((done, why)) = play(&template, ops, true) else { continue };
            let (short, why) = shrunk(&template, &ops[..done], why);
            found(&wrong, format!("person {}\n   {why}", line(&short)));
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} for model.txt:\n{}", wrong.len(), wrong.join("\n"));
    assert!(next.into_inner() > old + count, "nothing was played");
    assert!(LANDED.load(Ordering::SeqCst) >= count, "hardly anything landed");
    tally("sequence beside a person", all.len() as u64);
}

/// A name, and how it is lost.
type Loss = (&'static str, fn(&World));

/// What the model would say if something were lost.
#[test]
fn a_loss_is_seen() {
    let template = template();
    fn delete(world: &World, below: &str) {
        for name in world.lines(&["for-each-ref", "--format=%(refname)", below]) {
            world.git(["update-ref", "-d", &name]);
        }
    }
    let losses: [Loss; 6] = [
        ("a snapshot", |world| delete(world, "refs/skein-local/wip")),
        ("the tip of a worker", |world| delete(world, "refs/skein-local")),
        ("what was typed", |world| world.write("a.txt", "gone\n")),
        ("a new file", |world| std::fs::remove_file(world.path("free.txt")).unwrap()),
        ("what was staged", |world| drop(world.git(["reset", "--quiet"]))),
        ("a landing", |world| drop(world.git(["update-ref", "refs/heads/main", "main~1"]))),
    ];
    for (what, lose) in losses {
        let mut scene = Scene::of(template.copy());
        for op in parse("dispatch:2 land:8 switch:1 dirty:0 stage:1 dirty:2") {
            (op.act.run)(&mut scene, op.n).unwrap();
        }
        scene.verb(&["status"]).unwrap();
        assert_eq!(scene.acks.len(), 1);
        scene.meanwhile = Some(lose);
        assert!(scene.verb(&["status"]).is_err(), "{what} is lost, and nobody saw it");
    }
}
