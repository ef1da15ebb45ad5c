//! Every system call of a verb and of each git that it starts that changes something: killed before it is made, or
//! failed, once and from then on. What must hold then is what must hold after any fault.

use crate::faults::sweep;
use crate::faults::sweep::How;
use crate::faults::sweep::Reference;
use crate::faults::sweep::Scene;
use crate::proof::Harness;
use crate::proof::Tried;
use crate::proof::strace;
use crate::proof::strace::Call;
use crate::proof::strace::Kind;
use crate::proof::verbs;
use crate::support::Ran;
use crate::support::World;
use crate::support::ran;
use crate::support::tally::full;
use crate::support::tally::regressions;
use crate::support::tally::tally;
use std::fmt;
use std::fs;

/// Of what is only read, one in so many is failed.
const READS: u64 = 6;

/// Of the errors, one in so many stays.
const STAYS: u64 = 4;

const KILL: &str = "signal=KILL";

/// Whose call is struck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// Of the verb's own process.
    Verb,
    /// Of the how manieth git that it starts, and of what that one starts.
    Git(u64),
    /// The same, and the verb dies with it, as when a whole group or a machine goes.
    GitAndVerb(u64),
    /// Of every process and thread of the tree that comes to it.
    Any,
}

#[derive(Debug, Clone)]
struct Case {
    verb: &'static str,
    whose: Whose,
    call: String,
    nth: u64,
    lasting: bool,
    fault: &'static str,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lasting = if self.lasting { "+" } else { "" };
        let (verb, call, nth, fault) = (self.verb, &self.call, self.nth, self.fault);
        match self.whose {
            Whose::Verb => write!(f, "{verb}: verb {call} {nth}{lasting} {fault}"),
            Whose::Git(git) => write!(f, "{verb}: git {git} {call} {nth}{lasting} {fault}"),
            Whose::GitAndVerb(git) => {
                write!(f, "{verb}: git {git} with the verb {call} {nth}{lasting} {fault}")
            }
            Whose::Any => write!(f, "{verb}: any {call} {nth}{lasting} {fault}"),
        }
    }
}

impl Case {
    /// From the words that it is shown in; `None` if it is of another verb.
    fn read(verb: &'static str, line: &str) -> Option<Case> {
        let (whose, rest) = line.strip_prefix(verb)?.strip_prefix(": ")?.split_once(' ')?;
        let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("no number: {line}"));
        let (whose, rest) = match whose {
            "verb" => (Whose::Verb, rest),
            "any" => (Whose::Any, rest),
            "git" => {
                let (git, rest) = rest.split_once(' ')?;
                match rest.strip_prefix("with the verb ") {
                    Some(rest) => (Whose::GitAndVerb(number(git)), rest),
                    None => (Whose::Git(number(git)), rest),
                }
            }
            _ => panic!("whose call? {line}"),
        };
        let [call, nth, fault] = rest.split(' ').collect::<Vec<_>>()[..] else { panic!("no call: {line}") };
        let lasting = nth.ends_with('+');
        let nth = number(nth.trim_end_matches('+'));
        let fault = String::from(fault).leak();
        let case = Case { verb, whose, call: call.to_owned(), nth, lasting, fault };
        assert_eq!(case.to_string(), line);
        Some(case)
    }
}

/// The calls of an undisturbed run: those of the verb, and those of each git.
fn calls(scene: &Scene) -> Vec<(Whose, Vec<Call>)> {
    let world = scene.world.copy();
    (scene.before)(&world);
    let (root, text) = (world.root(), world.root().display().to_string());
    let mut command = scene.command(&world);
    let noted = format!("trace={}", strace::CALLS);
    let plan = strace::Plan { nth: None, options: &format!("-e {noted}"), along: false };
    strace::gits(&root, &mut command, &plan);
    let mut command = strace::traced(&command, &root.join("verb"), &["-e", &noted]);
    feed(&mut command, scene, &world);
    ran(command.output().unwrap()).ok();
    let read = |name: &str| strace::calls(&fs::read_to_string(root.join(name)).unwrap_or_default(), &text);
    let mut all = vec![(Whose::Verb, read("verb"))];
    let mut gits = fs::read_dir(root.join("bin/nth")).unwrap().count() as u64;
    if scene.name == "dispatch" {
        gits = gits.min(SUPERVISED - 1);
    }
    all.extend((1..=gits).map(|git| (Whose::Git(git), read(&format!("git.{git}")))));
    (scene.again)(&world);
    all
}

fn feed(command: &mut std::process::Command, scene: &Scene, world: &World) {
    if !scene.input.is_empty() {
        command.stdin(fs::File::open(world.root().join("input")).unwrap());
    }
}

/// From this one on the gits of `dispatch` are its supervisor's, which has taken over: the worker ends as failed, and what
/// it did is kept. It is not made anew.
const SUPERVISED: u64 = 9;
/// From here on they may be.
const SUPERVISING: u64 = 5;

/// Whether it may be a git of the supervisor, which reads the settings while `dispatch` waits for it: if it cannot, the
/// worker ends as failed.
fn is_supervisors(scene: &Scene, whose: Whose) -> bool {
    scene.name == "dispatch" && matches!(whose, Whose::Git(SUPERVISING..) | Whose::GitAndVerb(SUPERVISING..))
}

fn kills(scene: &Scene) -> Vec<Case> {
    let mut all = Vec::new();
    for (whose, calls) in calls(scene) {
        for call in calls.iter().filter(|call| call.kind != Kind::Reads) {
            let case = |whose| Case {
                verb: scene.name,
                whose,
                call: call.name.clone(),
                nth: call.nth,
                lasting: false,
                fault: KILL,
            };
            all.push(case(whose));
            if let Whose::Git(git) = whose {
                all.push(case(Whose::GitAndVerb(git)));
            }
        }
    }
    all
}

/// What each call can fail with.
fn faults(call: &str, kind: Kind) -> &'static [&'static str] {
    match call {
        "openat" if kind == Kind::Reads => &["error=EACCES", "error=EMFILE", "error=EIO"],
        "openat" => &["error=EACCES", "error=EMFILE", "error=ENOSPC", "error=EROFS", "error=EIO"],
        "write" | "pwrite64" | "ftruncate" | "copy_file_range" => &["error=ENOSPC", "error=EIO"],
        "fsync" | "fdatasync" | "syncfs" => &["error=EIO", "error=ENOSPC"],
        _ => &["error=EACCES", "error=EROFS", "error=ENOSPC", "error=EIO"],
    }
}

fn errors(scene: &Scene) -> Vec<Case> {
    let mut all = Vec::new();
    let mut turn = 0;
    // A full disk that stays full may leave a worker that never ran, for a later verb than the next.
    let stays = if scene.name == "dispatch" { u64::MAX } else { STAYS };
    let mut add = |whose, call: &str, kind, nth| {
        turn += 1;
        let faults = faults(call, kind);
        let fault = faults[turn as usize % faults.len()];
        all.push(Case {
            verb: scene.name,
            whose,
            call: call.to_owned(),
            nth,
            lasting: turn % stays == 0,
            fault,
        });
    };
    let mut reads = 0;
    for (whose, calls) in calls(scene) {
        for call in calls {
            reads += u64::from(call.kind == Kind::Reads);
            // What a git says to the verb goes through a pipe, which fails by its other end alone.
            let fails = match call.kind {
                Kind::Writes => true,
                Kind::Says => whose == Whose::Verb,
                // A release's: not all of them come to one end yet, docs/proof.md says which.
                Kind::Reads => full() && reads % READS == 0 && !is_supervisors(scene, whose),
                Kind::Passes | Kind::Lives => false,
            };
            if fails {
                add(whose, &call.name, call.kind, call.nth);
            }
        }
    }
    // Threads of the verb's own write to the disk what it has written.
    for nth in 1..=6 {
        add(Whose::Any, "fsync", Kind::Writes, nth);
    }
    all
}

/// The verb with one call struck.
fn strike(scene: &Scene, world: &World, case: &Case) -> (Ran, Option<String>) {
    let root = world.root();
    let mut command = scene.command(world);
    let options = strace::injection(&case.call, case.nth, case.lasting, case.fault);
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let log = match case.whose {
        Whose::Verb | Whose::Any => root.join("struck"),
        Whose::Git(git) | Whose::GitAndVerb(git) => root.join(format!("git.{git}")),
    };
    match case.whose {
        Whose::Verb => command = strace::traced(&command, &log, &options),
        Whose::Any => command = strace::traced(&command, &log, &[&["-f"], &options[..]].concat()),
        Whose::Git(git) | Whose::GitAndVerb(git) => {
            let along = case.whose != Whose::Git(git);
            strace::gits(
                &root,
                &mut command,
                &strace::Plan { nth: Some(git), options: &options.join(" "), along },
            );
            command = strace::bounded(&command);
        }
    }
    feed(&mut command, scene, world);
    let mut ran = ran(command.output().unwrap());
    if strace::silenced(&log) {
        // It cannot say what it was not let say.
        ran.err.push_str("fault: (struck before it was said)");
    }
    let mut mark = strace::struck(&log);
    // The tracer may be a moment behind.
    for _ in 0..100 {
        if mark.is_some() || ran.code == 0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
        mark = strace::struck(&log);
    }
    for name in fs::read_dir(&root).unwrap().flatten() {
        let name = name.file_name().to_string_lossy().into_owned();
        if name == "struck" || name == "bin" || name.starts_with("git.") {
            let path = root.join(name);
            let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
    }
    (ran, mark.map(|at| format!("{case}: {at}")))
}

fn tried(harness: &Harness, cases: fn(&Scene) -> Vec<Case>, verbs: usize, each: usize) -> (Tried, usize) {
    let mut sum = Tried::default();
    let mut of = 0;
    for (name, scene) in verbs::chosen(harness.name, harness.counts, verbs) {
        let scene = Scene { name, ..scene() };
        let reference = sweep::reference(&scene);
        let all = cases(&scene);
        of += all.len();
        let count = all.len();
        let kills = harness.counts.starts_with("kill");
        let known = regressions(harness.name);
        let known = known.iter().filter_map(|line| Case::read(name, line));
        let known: Vec<Case> = known.filter(|case| (case.fault == KILL) == kills).collect();
        let chosen = if full() { all } else { super::drawn(harness.counts, all, each) };
        let run = |case: &Case| one(&scene, &reference, case);
        let [again, tried] = [&known, &chosen].map(|cases| harness.each(cases, run));
        let struck = again.struck + tried.struck;
        super::say(&format!("{}: {name}: {struck} of {count} struck", harness.counts));
        // A change of the program has moved them: such a line tries something else now, or nothing.
        let gone = known.len() as u64 - again.struck;
        tally("regression of a system call that is not reached any more", gone);
        sum.struck += struck;
        sum.failures.extend(again.failures);
        sum.failures.extend(tried.failures);
    }
    (sum, of)
}

fn one(scene: &Scene, reference: &Reference, case: &Case) -> bool {
    let killed = case.fault == KILL && !matches!(case.whose, Whose::Git(_));
    // A git that cannot remove its lock leaves it as one that is killed.
    let leaves = case.fault == KILL || case.call.starts_with("unlink");
    let git = matches!(case.whose, Whose::Git(_) | Whose::GitAndVerb(_)) && leaves;
    let unread = case.fault != KILL && (case.call.starts_with("open") || case.call.contains("read"));
    let how = How { k: case.nth, killed, sound: case.nth.is_multiple_of(4), git, unread };
    sweep::once(scene, reference, how, |world| strike(scene, world, case))
}

fn each(counts: &'static str, cases: fn(&Scene) -> Vec<Case>) {
    let harness = Harness { name: "syscalls", counts };
    if strace::there() {
        let (tried, of) = tried(&harness, cases, 4, 12);
        harness.close(tried, &format!(" of {of}"));
    }
}

#[test]
fn regressions_are_read() {
    for line in regressions("syscalls") {
        assert!(verbs::ALL.iter().any(|(name, _)| Case::read(name, &line).is_some()), "{line}");
    }
}

#[test]
fn killed() {
    each("kill at a syscall", kills);
}

#[test]
fn failed() {
    each("error at a syscall", errors);
}
