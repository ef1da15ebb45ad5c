//! Power goes: a file system in a file, whose bytes are copied at some moment as the kernel has written them back. On
//! the copy, which is mounted anew, all that was acknowledged is there, and the same verbs come to the same end.

use crate::docworld;
use crate::faults::state;
use crate::proof::Harness;
use crate::proof::alone;
use crate::proof::power::disk::Disk;
use crate::proof::power::disk::Kind;
use crate::support::Ran;
use crate::support::World;
use crate::support::acts::Dice;
use crate::support::tally::full;
use crate::support::tally::regressions;
use crate::support::tally::tally;
use serde_json::Value;
use std::fmt;
use std::fs;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

pub mod disk;

const HARNESS: Harness = Harness { name: "power", counts: "power cut" };
const REFTABLE: Harness = Harness { name: "power", counts: "power cut, reftable" };

/// What one verb of a walk is, what holds once it has said that it is done, and whether it is to be given again.
pub struct Step {
    pub args: &'static [&'static str],
    pub input: &'static str,
    /// Looks with git only. What the verb said is there if it said it.
    pub done: fn(&World, Option<&Value>),
    pub again: fn(&World) -> bool,
}

const fn step(args: &'static [&'static str], done: fn(&World, Option<&Value>)) -> Step {
    Step { args, input: "", done, again: |_| true }
}

pub struct Walk {
    pub name: &'static str,
    pub world: fn(&[&str]) -> World,
    pub steps: &'static [Step],
    /// An agent's own gits write there as well, and theirs is what they left half written.
    pub agent: bool,
}

pub const WALKS: &[Walk] = &[
    Walk { name: "import, verdict, land", world: ready, steps: LAND, agent: false },
    Walk { name: "land, checked out", world: checked_out, steps: CHECKED_OUT, agent: false },
    Walk { name: "doc write, doc commit", world: sent, steps: DOCUMENT, agent: false },
    Walk { name: "dispatch, import, land", world: plain, steps: DISPATCH, agent: true },
];

const WORK: &str = "sed -i s/1/one/ a.txt && echo new > new.txt && git add -A && git commit -qm fixed";

const LAND: &[Step] = &[
    step(&["import", "fix", "--json"], frozen),
    Step {
        again: |world| !judged(world),
        ..step(&["verdict", "fix", "accept", "--json"], |world, _| assert!(judged(world)))
    },
    step(&["land", "fix", "--json"], landed),
];

const CHECKED_OUT: &[Step] = &[step(&["land", "fix", "--json"], |world, said| {
    landed(world, said);
    // The branch is what was told; its files come with it once the verb is given again.
    if said.is_none() {
        assert_eq!(world.git(["status", "--porcelain"]), "");
        assert_eq!(world.read("new.txt"), "new\n");
    }
})];

const DOCUMENT: &[Step] = &[
    Step { input: docworld::ANSWER, ..step(&["doc", "write", docworld::DOC, "--json"], answered) },
    step(&["doc", "commit", docworld::DOC, "--json"], |world, said| {
        let text = world.git(["show", &format!("main:{}", docworld::DOC)]);
        assert_eq!(docworld::times(&text, docworld::ANSWER), 1, "{text}");
        if let Some(said) = said {
            let commit = said["result"]["commit"].as_str().unwrap();
            world.git(["merge-base", "--is-ancestor", commit, "main"]);
        }
    }),
];

const DISPATCH: &[Step] = &[
    Step {
        again: |world| !ready_there(world),
        ..step(
            &["dispatch", "--wait", "--json", "--name", "fix", "fix it", "--", "sh", "-c", WORK],
            |world, said| {
                if let Some(said) = said {
                    let head = said["result"]["workers"][0]["head"].as_str().unwrap();
                    assert!(world.reachable(head), "the work {head} is gone");
                    world.git(["rev-list", "--objects", head]);
                }
            },
        )
    },
    step(&["import", "fix", "--json"], frozen),
    step(&["land", "fix", "--json"], landed),
];

fn plain(options: &[&str]) -> World {
    let world = World::with_formats(options);
    world.skein(&["init"]).ok();
    world.git(["switch", "-q", "--create", "side"]);
    world
}

fn ready(options: &[&str]) -> World {
    let world = plain(options);
    world
        .skein(&[
            "dispatch", "--wait", "--onto", "main", "--base", "main", "--name", "fix", "fix it", "--", "sh",
            "-c", WORK,
        ])
        .ok();
    world
}

fn checked_out(options: &[&str]) -> World {
    let world = ready(options);
    world.git(["switch", "-q", "main"]);
    world
}

fn sent(options: &[&str]) -> World {
    let world = World::with_formats(options);
    world.skein(&["init"]).ok();
    docworld::asked(&world, docworld::DOC);
    world.commit("a question");
    docworld::send(&world, docworld::DOC);
    docworld::type_on(&world, docworld::DOC, "And what");
    world
}

fn worker(world: &World) -> Option<String> {
    world.lines(&["for-each-ref", "--format=%(refname)", "refs/skein/worker"]).into_iter().next()
}

fn frozen(world: &World, said: Option<&Value>) {
    let refs = worker(world).expect("the worker is gone");
    let delta = world.git(["show", &format!("{refs}:delta/1/delta.json")]);
    if let Some(said) = said {
        let tip = said["result"]["delta"]["tip"].as_str().unwrap();
        assert!(delta.contains(tip), "{delta}");
        world.git(["rev-list", "--objects", tip]);
        assert!(world.reachable(tip), "the delta {tip} is gone");
    }
}

fn judged(world: &World) -> bool {
    let lanes = world.lines(&["for-each-ref", "--format=%(refname)", "refs/skein/lane"]);
    lanes.iter().any(|lane| {
        let record = |at: &String| world.try_git(["show", &format!("{at}:record.json")]).stdout;
        let kind = |text: &[u8]| {
            serde_json::from_slice::<Value>(text).is_ok_and(|record| record["kind"] == "verdict")
        };
        world.lines(&["rev-list", "--first-parent", lane]).iter().any(|at| kind(&record(at)))
    })
}

fn landed(world: &World, said: Option<&Value>) {
    assert_eq!(world.git(["show", "main:new.txt"]), "new");
    if let Some(said) = said {
        let new = said["result"]["new"].as_str().unwrap();
        world.git(["merge-base", "--is-ancestor", new, "main"]);
    }
    world.git(["rev-list", "--objects", "main"]);
}

fn answered(world: &World, _: Option<&Value>) {
    let docs = world.lines(&["for-each-ref", "--format=%(refname)", "refs/skein/doc"]);
    let text = world.git(["show", &format!("{}:text", docs[0])]);
    assert_eq!(docworld::times(&text, docworld::ANSWER), 1, "{text}");
    let file = world.read(docworld::DOC);
    assert_eq!(docworld::times(&file, docworld::ANSWER), 1, "{file}");
    assert!(file.contains("And what"), "what was typed is gone: {file}");
}

/// A worker that the cut has not torn from its work.
fn ready_there(world: &World) -> bool {
    let status = world.skein(&["status", "--json"]).ok().json();
    let Some(row) = status["result"]["workers"].as_array().unwrap().first().cloned() else { return false };
    if row["outcome"] == "ready" {
        return true;
    }
    // It died with the machine: it is ended and cleared away, as a person does, and its work is kept in the archive.
    let ended = world.skein(&["stop", "fix"]);
    if ended.err.contains("recovered: fix was cut short before its agent ran; it is gone") {
        return false;
    }
    ended.ok();
    world.skein(&["reap", "fix", "--yes", "--include-unlanded"]).ok();
    false
}

/// When power goes.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// So long after the beginning.
    Micros(u64),
    /// As soon as the verb with this number has ended.
    After(usize),
}

struct Case<'a> {
    walk: &'a Walk,
    prepared: &'a World,
    kind: Kind,
    format: &'static str,
    moment: Moment,
}

impl fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}, {}: ", self.walk.name, self.format, self.kind.name)?;
        match self.moment {
            Moment::Micros(micros) => write!(f, "after {} ms", micros / 1000),
            Moment::After(step) => write!(f, "after verb {}", step + 1),
        }
    }
}

impl<'a> Case<'a> {
    /// From the words that it is shown in; `None` if it is of another walk, format or disk.
    fn read(
        walk: &'a Walk,
        prepared: &'a World,
        (format, kinds): (&'static str, &[Kind]),
        line: &str,
    ) -> Option<Case<'a>> {
        let (of, moment) = line.split_once(": after ")?;
        let kind =
            of.strip_prefix(walk.name)?.strip_prefix(", ")?.strip_prefix(format)?.strip_prefix(", ")?;
        let kind = *kinds.iter().find(|one| one.name == kind)?;
        let moment = match moment.strip_prefix("verb ") {
            Some(verb) => Moment::After(verb.parse::<usize>().ok()? - 1),
            None => Moment::Micros(1000 * moment.strip_suffix(" ms")?.parse::<u64>().ok()?),
        };
        Some(Case { walk, prepared, kind, format, moment })
    }
}

/// Runs `commands` one after another until `moment`, when all of them die. Gives what each of them that ended well said.
fn until_dark(commands: Vec<Command>, moment: Moment, said: &Path) -> Vec<Option<String>> {
    let began = Instant::now();
    let mut all = Vec::new();
    for (nth, mut command) in commands.into_iter().enumerate() {
        let out = said.join(format!("out.{nth}"));
        command.stdout(File::create(&out).unwrap()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn().unwrap();
        let ended = loop {
            if let Some(ended) = child.try_wait().unwrap() {
                break Some(ended);
            }
            if let Moment::Micros(micros) = moment
                && began.elapsed() >= Duration::from_micros(micros)
            {
                Command::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]).output().unwrap();
                child.wait().unwrap();
                break None;
            }
            std::thread::sleep(Duration::from_micros(300));
        };
        let text = fs::read_to_string(&out).unwrap_or_default();
        // What was said in full counts, whatever became of the process then.
        let whole = serde_json::from_str::<Value>(&text).is_ok();
        all.push(match ended {
            Some(ended) if ended.success() => Some(text),
            Some(ended) => panic!("verb {} ended with {ended}: {text}", nth + 1),
            None => whole.then_some(text),
        });
        if ended.is_none() || matches!(moment, Moment::After(last) if last == nth) {
            break;
        }
    }
    all
}

fn commands(walk: &Walk, world: &World, said: &Path) -> Vec<Command> {
    let command = |(nth, step): (usize, &Step)| {
        let mut command = world.command(step.args);
        let input = said.join(format!("in.{nth}"));
        fs::write(&input, step.input).unwrap();
        command.stdin(File::open(&input).unwrap());
        command
    };
    walk.steps.iter().enumerate().map(command).collect()
}

/// False where the reftable of the repository cannot be read afterwards: git has written it so.
fn cut(case: &Case<'_>) -> bool {
    let mut disk = Disk::new(case.kind);
    let world = case.prepared.copy_into(disk.folder());
    disk.sync();
    let said = tempfile::tempdir().unwrap();
    let acked = until_dark(commands(case.walk, &world, said.path()), case.moment, said.path());
    disk::end_all(&world.root());
    disk.cut();

    if case.format == "reftable" && alone::reftable_is_broken(&world) {
        // Only where git was in the middle of writing one: what was told is on the disk to its end.
        assert!(!matches!(case.moment, Moment::After(_)), "git reads no ref any more");
        return false;
    }
    world.git(["for-each-ref", "--format=%(objecttype) %(refname)"]);
    // The `HEAD` of a worker is its own git's, until it was taken in.
    let own: &[&str] = if case.walk.agent { &["--single-worktree"] } else { &[] };
    world.git([&["rev-list"], own, &["--all", "--objects", "--quiet"]].concat());
    for (step, said) in case.walk.steps.iter().zip(&acked) {
        if let Some(said) = said {
            (step.done)(&world, Some(&serde_json::from_str(said).unwrap()));
        }
    }
    if case.walk.agent {
        remove_empty(&world);
    }
    let locks = state::locks(&world);
    crate::faults::sweep::named_locks(&world, &case.to_string());
    for step in case.walk.steps {
        if (step.again)(&world) {
            let input = said.path().join("again");
            fs::write(&input, step.input).unwrap();
            let again = || {
                let mut again = world.command(step.args);
                crate::support::ran(again.stdin(File::open(&input).unwrap()).output().unwrap())
            };
            let mut ran = again();
            if remove_named(&ran) || move_away(&ran) {
                ran = again();
            }
            let log = || {
                let words =
                    world.below("repo/.git/skein/run").into_iter().map(|run| run.join("supervisor.log"));
                let of_supervisors: String = words.filter_map(|log| fs::read_to_string(log).ok()).collect();
                world.skein(&["show", "--log", "fix"]).out + &of_supervisors
            };
            assert_eq!(ran.code, 0, "{:?} again: {}{}\n{locks:?}\n{}", step.args, ran.out, ran.err, log());
        }
        (step.done)(&world, None);
    }
    world.git(["worktree", "list"]);
    if !case.walk.agent {
        // Objects of which the disk got the name alone, and that nothing reaches.
        world.git(["prune", "--expire=now"]);
        world.check();
    }
    let found = world.skein(&["fsck"]);
    assert!(found.code == 0 && found.out.contains("sound: 0 errors"), "{found:?}");
    disk::end_all(&world.root());
    true
}

/// Removes the locks that a refusal names, as it says; true if there were any.
fn remove_named(ran: &Ran) -> bool {
    if !(ran.err.contains("refused: ref-locked:") || ran.err.contains("refused: index-locked:")) {
        return false;
    }
    let named =
        ran.err.lines().map(str::trim).filter(|line| line.starts_with('/') && line.ends_with(".lock"));
    let gone = named.map(fs::remove_file).filter(Result::is_ok).count();
    tally("lock that a power cut left, named and removed by hand", u64::from(gone > 0));
    gone > 0
}

/// Removes the objects without a byte that an agent's own gits left, as `doctor` says.
fn remove_empty(world: &World) {
    let (level, next) = world.diagnosis("empty-objects");
    if level == "problem" {
        world.typed(&next);
        assert_eq!(world.diagnosis("empty-objects").0, "ok", "{next}");
        tally("power cut that left objects without a byte, removed as doctor says", 1);
    }
}

/// Moves the folder away that a refusal names: a worktree whose registration the disk never got. True if there was one.
fn move_away(ran: &Ran) -> bool {
    if !ran.err.contains("refused: worktree-exists:") {
        return false;
    }
    let folder = ran.err.lines().map(str::trim).find(|line| line.starts_with('/')).unwrap();
    fs::rename(folder, format!("{folder}.torn")).unwrap();
    tally("worktree that a power cut left without its registration, named and moved away by hand", 1);
    true
}

/// How long the walk takes where nothing disturbs it, on such a disk.
fn duration(walk: &Walk, prepared: &World, kind: Kind) -> u64 {
    let disk = Disk::new(kind);
    let world = prepared.copy_into(disk.folder());
    disk.sync();
    let said = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let acked = until_dark(commands(walk, &world, said.path()), Moment::After(walk.steps.len()), said.path());
    let took = began.elapsed().as_micros() as u64;
    assert!(acked.len() == walk.steps.len() && acked.iter().all(Option::is_some), "{acked:?}");
    for step in walk.steps {
        (step.done)(&world, None);
    }
    disk::end_all(&world.root());
    took
}

fn walks_are_cut(harness: &Harness, format: &'static str, options: &[&str], count: usize) {
    let kinds = disk::kinds();
    if kinds.is_empty() {
        return;
    }
    let mut dice = Dice::of(*crate::faults::sweep::SEED);
    // On a push one walk, another one for another commit.
    let walks: Vec<&Walk> = WALKS.iter().collect();
    let walks = if full() { walks } else { super::drawn(harness.counts, walks, 2) };
    let each = count / walks.len();
    let mut sum = super::Tried::default();
    let mut unreadable = 0;
    for walk in walks {
        let prepared = (walk.world)(options);
        let took = duration(walk, &prepared, kinds[0]);
        let known = regressions(harness.name);
        let known = known.iter().filter_map(|line| Case::read(walk, &prepared, (format, &kinds), line));
        let drawn = (0..each).map(|nth| {
            let after = dice.below(3) == 0;
            let moment = if after {
                Moment::After(dice.below(walk.steps.len() as u64) as usize)
            } else {
                Moment::Micros(dice.below(took + took / 10))
            };
            Case { walk, prepared: &prepared, kind: kinds[nth % kinds.len()], format, moment }
        });
        let cases: Vec<Case<'_>> = known.chain(drawn).collect();
        let tried = harness.each(&cases, cut);
        unreadable += cases.len() as u64 - tried.struck;
        sum.struck += tried.struck;
        sum.failures.extend(tried.failures);
    }
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
    harness.close(sum, &format!(" on {}, {unreadable} not readable by git", names.join(", ")));
    tally("power cut, reftable, that left tables which git cannot read", unreadable);
    for name in names {
        tally(&format!("kind of disk that power was cut from: {name}"), 1);
    }
}

#[test]
fn what_was_acknowledged_is_there_after_a_power_cut() {
    walks_are_cut(&HARNESS, "files", &[], if full() { 320 } else { 8 });
}

#[test]
fn what_was_acknowledged_is_there_after_a_power_cut_with_reftables() {
    if crate::matrix::knows_reftable("git") {
        walks_are_cut(&REFTABLE, "reftable", &["--ref-format=reftable"], if full() { 110 } else { 4 });
    }
}

/// Commits of git's own, with its own settings, until power goes.
#[test]
fn commits_of_git_alone() {
    let kinds = disk::kinds();
    if kinds.is_empty() {
        return;
    }
    let count = if full() { 80 } else { 4 };
    let (mut cuts, mut lost, mut broken) = (0, 0, 0);
    let world = World::with_formats(&[]);
    let mut dice = Dice::of(*crate::faults::sweep::SEED);
    for nth in 0..count {
        let (acked, unreadable) = alone::commits_cut(&world, kinds[nth % kinds.len()], dice.below(60_000));
        cuts += 1;
        lost += u64::from(acked > 0);
        broken += u64::from(unreadable);
    }
    alone::told("power cuts", cuts);
    alone::told("power cuts that lost an acknowledged commit", lost);
    alone::told("power cuts that left a branch that cannot be read", broken);
}
