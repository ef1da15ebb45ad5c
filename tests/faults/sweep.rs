//! The sweep: a verb is struck at every crossing of a site, the repository is looked at, cleaned by git as
//! hard as git can, and the same verb is run again. It must end where an undisturbed run ends.

use crate::faults::state;
use crate::faults::state::State;
use crate::support::Ran;
use crate::support::World;
use crate::support::ran;
use crate::support::tally::full;
use crate::support::tally::regressions;
use crate::support::tally::tally;
use git2::Oid;
use git2::Repository;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::process::Command;
use std::sync::LazyLock;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

/// Cases at a time.
const THREADS: u64 = 2;

/// So many failures tell enough.
const MANY: usize = 50;

/// Past this many crossings a sweep is running away.
const MOST: u64 = 2000;

/// Without `SKEIN_TEST_FULL` a sweep strikes one of so many crossings that it else would, beside the first and the
/// last of each name at a failpoint, and one of two of these elsewhere.
const SPARSE: u64 = 5;

/// Notes where all plans can strike, and disturbs nothing.
pub const COUNT: Plan = Plan { site: "all", action: "count", stride: 1, lasting: true };

/// Something that is done to a world.
pub type Act = fn(&World);

/// One verb on one prepared repository.
pub struct Scene {
    pub name: &'static str,
    /// Prepared once, copied for each case.
    pub world: World,
    /// Done to each copy before the verb.
    pub before: Act,
    pub args: Vec<&'static str>,
    /// What the verb reads on its standard input, if it does.
    pub input: &'static str,
    /// What must be the same in the end.
    pub state: fn(&World) -> State,
    /// After a strike: whether the verb is to be run again.
    pub again: fn(&World) -> bool,
    /// What else must hold in the end.
    pub after: Act,
    pub plans: &'static [Plan],
}

impl Scene {
    pub fn new(name: &'static str, world: World, args: &[&'static str]) -> Scene {
        let args = args.to_vec();
        Scene {
            name,
            world,
            before: |_| {},
            args,
            input: "",
            state: state::of,
            again: |_| true,
            after: |_| {},
            plans: PLANS,
        }
    }

    /// The verb, ready to be run or changed.
    pub fn command(&self, world: &World) -> Command {
        let mut command = world.command(&self.args);
        if !self.input.is_empty() {
            let input = world.root().join("input");
            std::fs::write(&input, self.input).unwrap();
            command.stdin(File::open(input).unwrap());
        }
        command
    }
}

/// What is done at the k-th crossing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    pub site: &'static str,
    pub action: &'static str,
    /// Every how many crossings.
    pub stride: u64,
    /// From the k-th crossing on, not only there.
    pub lasting: bool,
}

/// Every crossing of every site is killed, every call fails once with EIO; of the other errors some.
pub const PLANS: &[Plan] = &[
    Plan { site: "point", action: "kill", stride: 1, lasting: false },
    Plan { site: "git", action: "kill", stride: 1, lasting: false },
    Plan { site: "file", action: "kill", stride: 1, lasting: false },
    Plan { site: "git", action: "EIO", stride: 1, lasting: false },
    Plan { site: "file", action: "EIO", stride: 1, lasting: false },
    Plan { site: "git", action: "EACCES", stride: 5, lasting: false },
    Plan { site: "file", action: "EACCES", stride: 7, lasting: false },
    Plan { site: "file", action: "ENOSPC", stride: 5, lasting: false },
    Plan { site: "file", action: "ENOSPC", stride: 7, lasting: true },
    Plan { site: "git", action: "EIO", stride: 5, lasting: true },
];

/// For a verb that runs no git at all.
pub const WITHOUT_GIT: &[Plan] = &[
    Plan { site: "point", action: "kill", stride: 1, lasting: false },
    Plan { site: "file", action: "kill", stride: 1, lasting: false },
    Plan { site: "file", action: "EIO", stride: 1, lasting: false },
    Plan { site: "file", action: "ENOSPC", stride: 7, lasting: true },
];

/// The names at the crossings of an undisturbed run in their order, by site.
pub struct Crossed(BTreeMap<String, Vec<String>>);

impl Crossed {
    /// From what [`COUNT`] noted. Each process counts for itself, so the one with the most tells how far it goes.
    pub fn read(mark: &str) -> Crossed {
        let mut each: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
        for line in mark.lines() {
            let mut words = line.splitn(3, ' ');
            let (process, site, name) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
            each.entry((site, process)).or_default().push(name.to_owned());
        }
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for ((site, _), names) in each {
            let most = all.entry(site.to_owned()).or_default();
            if names.len() > most.len() {
                *most = names;
            }
        }
        Crossed(all)
    }

    pub fn at(&self, site: &str) -> &[String] {
        self.0.get(site).map_or(&[], Vec::as_slice)
    }

    /// A crossing in words that hold while the code around it changes: the sweep, the site, what is done, the how
    /// manieth of that name, and the name.
    pub fn named(&self, sweep: &str, plan: Plan, at: usize) -> String {
        let names = self.at(plan.site);
        let Some(name) = names.get(at) else { return format!("{sweep} {}: past the end", plan.site) };
        let nth = 1 + names[..at].iter().filter(|other| *other == name).count();
        format!("{sweep}: {} {} {nth} {name}", plan.site, plan.action)
    }

    /// Those that `plan` strikes in the sweep `name`: the first and the last of each name, or half of these, and some
    /// between. They are others with another seed.
    fn chosen(&self, name: &str, plan: Plan) -> Vec<u64> {
        let names = self.at(plan.site);
        let stride = plan.stride * SPARSE;
        let words = format!("{name} {plan:?}");
        let offset =
            words.bytes().fold(*SEED, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into())) % stride;
        let turn = |at: usize| plan.site == "point" || (at as u64 + offset).is_multiple_of(2);
        let edge = |at: usize| !names[..at].contains(&names[at]) || !names[at + 1..].contains(&names[at]);
        let failed_once = regressions("sweep");
        let known = |at: usize| failed_once.contains(&self.named(name, plan, at));
        let chosen: Vec<u64> = (0..names.len())
            .filter(|at| edge(*at) && turn(*at) || *at as u64 % stride == offset || known(*at))
            .map(|at| 1 + at as u64)
            .collect();
        // Where there are few, any is better than none.
        let any = 1 + offset % names.len().max(1) as u64;
        if chosen.is_empty() { vec![any] } else { chosen }
    }
}

/// The same for each run of a commit, so that what fails in one fails in the next.
pub static SEED: LazyLock<u64> = LazyLock::new(|| {
    let given = std::env::var("SKEIN_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    given.unwrap_or_else(|| {
        let head = Repository::discover(env!("CARGO_MANIFEST_DIR")).ok();
        let head = head.and_then(|repo| repo.head().ok()?.target());
        head.map_or(0, |oid| oid.as_bytes().iter().take(4).fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    })
});

/// How the undisturbed verb ends.
pub struct Reference {
    pub crossed: Crossed,
    /// What it said on its standard output.
    out: String,
    state: State,
    /// Refs before it.
    before: BTreeMap<String, Oid>,
    /// Branches after it.
    moved: BTreeMap<String, Oid>,
}

/// Runs all plans of `scene`.
pub fn run(scene: &Scene) {
    let reference = reference(scene);
    table(scene.name, scene.plans, THREADS, &reference.crossed, |plan, k| case(scene, &reference, plan, k));
}

/// Runs `plans`, or those that `SKEIN_SWEEP=<site>[:<action>]` names, and prints how often each site was
/// struck. `case` strikes at the k-th crossing; false when there is none.
pub fn table(
    name: &str,
    plans: &[Plan],
    threads: u64,
    crossed: &Crossed,
    case: impl Fn(Plan, u64) -> bool + Sync,
) {
    let full = full();
    let sown = if full { String::new() } else { format!("  SKEIN_TEST_SEED={}", *SEED) };
    let mut line = format!("faults: {name:<28}");
    let mut failures = Vec::new();
    let only = std::env::var("SKEIN_SWEEP").unwrap_or_default();
    for plan in plans.iter().filter(|p| format!("{}:{}", p.site, p.action).starts_with(&only)) {
        let mut chosen = (!full).then(|| crossed.chosen(name, *plan));
        let (mut struck, mut failed) = all(name, *plan, threads, chosen.as_deref(), &case);
        if struck == 0 && chosen.is_some() {
            // Not each run comes to the last crossings, but each does to the first.
            chosen = Some(vec![1]);
            (struck, failed) = all(name, *plan, threads, chosen.as_deref(), &case);
        }
        tally(if plan.action == "kill" { "kill at a failpoint" } else { "error at a failpoint" }, struck);
        let lasting = if plan.lasting { "+" } else { "" };
        let of = match &chosen {
            Some(_) => format!(" of {}", crossed.at(plan.site).len()),
            None if plan.stride > 1 => format!(" (1 of {})", plan.stride),
            None => String::new(),
        };
        line += &format!("  {} {}{lasting} {struck}{of}", plan.site, plan.action);
        failures.extend(failed.into_iter().map(|(k, words)| {
            let regression = crossed.named(name, *plan, k as usize - 1);
            format!(
                "- {}:{k}:{} {words}\n  fixtures/regressions/sweep.txt: {regression}",
                plan.site, plan.action
            )
        }));
        if struck == 0 && (plan.stride == 1 || !full) {
            failures.push(format!("{} {}: nothing was struck", plan.site, plan.action));
        }
        // Two runs of a supervisor may differ in a few crossings, but not in most of them.
        let missed = chosen.map_or(0, |chosen| chosen.len() as u64 - struck);
        if missed > struck.max(2) {
            failures.push(format!("{} {}: {missed} crossings were not come to", plan.site, plan.action));
        }
    }
    // Past the capture of the test harness: the table belongs into the log of a run.
    writeln!(std::io::stdout().lock(), "{line}{sown}").unwrap();
    let shown: Vec<&str> = failures.iter().take(12).map(String::as_str).collect();
    assert!(failures.is_empty(), "{name}: {} cases fail{sown}\n{}", failures.len(), shown.join("\n"));
}

/// Runs the verb of `scene` undisturbed.
pub fn reference(scene: &Scene) -> Reference {
    let world = scene.world.copy();
    (scene.before)(&world);
    let repo = Repository::open(&world.repo).unwrap();
    let mut before = state::refs(&repo);
    for (_, oid) in before.iter_mut().filter(|(name, _)| name.starts_with("refs/skein-local/candidate/")) {
        // The candidate was to become the trunk; its record goes when it has.
        *oid = repo.find_commit(*oid).unwrap().parent_id(0).unwrap();
    }
    let (ran, mark) = struck(scene.command(&world), &world, COUNT, 1);
    let out = ran.ok().out;
    (scene.after)(&world);
    world.check();
    let moved = state::refs(&Repository::open(&world.repo).unwrap());
    let crossed = Crossed::read(&mark.unwrap());
    Reference { crossed, out, state: (scene.state)(&world), before, moved }
}

fn all(
    name: &str,
    plan: Plan,
    threads: u64,
    chosen: Option<&[u64]>,
    case: &(impl Fn(Plan, u64) -> bool + Sync),
) -> (u64, Vec<(u64, String)>) {
    let (next, struck) = (AtomicU64::new(0), AtomicU64::new(0));
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let nth = next.fetch_add(1, Ordering::SeqCst);
                    let k = match chosen {
                        None => 1 + nth * plan.stride,
                        Some(chosen) => match chosen.get(nth as usize) {
                            Some(k) => *k,
                            None => return,
                        },
                    };
                    assert!(k < MOST, "{name}: no end of {}", plan.site);
                    match catch_unwind(AssertUnwindSafe(|| case(plan, k))) {
                        Ok(false) if chosen.is_none() => return,
                        Ok(false) => {}
                        Ok(true) => drop(struck.fetch_add(1, Ordering::SeqCst)),
                        Err(panic) => {
                            struck.fetch_add(1, Ordering::SeqCst);
                            let mut failures = failures.lock().unwrap();
                            failures.push((k, words(&*panic)));
                            if failures.len() > MANY {
                                return;
                            }
                        }
                    }
                }
            });
        }
    });
    (struck.into_inner(), failures.into_inner().unwrap())
}

/// What a panic said.
pub fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()))
        .unwrap_or_else(|| "panicked".to_owned())
}

/// One strike. False when the verb ended before it came to the k-th crossing.
fn case(scene: &Scene, reference: &Reference, plan: Plan, k: u64) -> bool {
    let how =
        How { k, killed: plan.action == "kill", sound: plan.site == "point", git: false, unread: false };
    once(scene, reference, how, |world| struck(scene.command(world), world, plan, k))
}

/// What kind of strike is looked at.
#[derive(Debug, Clone, Copy)]
pub struct How {
    pub k: u64,
    /// Somebody was killed: nothing need have been said, and git cleans up before the verb is run again.
    pub killed: bool,
    /// In the end `fsck` finds nothing.
    pub sound: bool,
    /// A git was killed: between making a lock and writing into it nothing can tell whose it is.
    pub git: bool,
    /// Something could not be read: of a closed worker more may be kept than is needed.
    pub unread: bool,
}

/// One `strike`, which tells how the verb ended and where it was struck, and all that must hold after it. False when
/// nothing was struck.
pub fn once(
    scene: &Scene,
    reference: &Reference,
    how: How,
    strike: impl FnOnce(&World) -> (Ran, Option<String>),
) -> bool {
    let world = scene.world.copy();
    (scene.before)(&world);
    let person = state::person(&world);
    let (ran, mark) = strike(&world);
    let Some(mark) = mark else {
        assert_eq!(ran.code, 0, "not struck, but {ran:?}");
        return false;
    };
    let at = format!("at {mark:?}");
    assert!(!ran.err.contains("panicked"), "{at}: {}", ran.err);
    if !how.killed && ran.code != 0 {
        // A "no" may be the result itself.
        let told = ran.err.contains("refused: ")
            || ran.err.contains("fault: ")
            || ran.code == 1 && !ran.out.is_empty();
        assert!(told, "{at}: exit {} without a word: {ran:?}", ran.code);
    }
    still_there(&world, reference, &person, (how, &at));
    // Who is killed after its last word has said it all the same.
    if ran.code == 0 || how.killed && !ran.out.is_empty() && ran.out == reference.out {
        stands(scene, &world, reference, (&ran, &at));
    }
    if how.git {
        named_locks(&world, &at);
    }
    let again = (scene.again)(&world);
    if how.killed && !how.git {
        clean(&world, how.k);
    } else if how.git {
        // A lock of a git that died is in the way of every other one until a verb has cleared it away.
        for args in [&["reflog", "expire", "--expire=now", "--all"][..], &["gc", "--quiet", "--prune=now"]] {
            world.try_git(args);
        }
    }
    if again {
        let again = crate::support::ran(scene.command(&world).output().unwrap());
        assert_eq!(again.code, 0, "{at}: the same again\n{}{}", again.out, again.err);
        assert!(!again.err.contains("panicked"), "{at}: {}", again.err);
    }
    same(scene, &world, reference, (how, &at));
    (scene.after)(&world);
    world.check();
    if how.sound {
        let found = world.skein(&["fsck"]);
        // A folder of a worker that was never born may be left: it is disposable.
        assert!(found.code == 0 && found.out.contains("sound: 0 errors"), "{at}: {found:?}");
    }
    true
}

/// Locks of git that are empty: of each that we do not clear away ourselves a person is told by its name, and removes it.
pub fn named_locks(world: &World, at: &str) {
    // What git locks to write its configuration it names itself when it finds that lock.
    if std::fs::remove_file(world.common().join("config.lock")).is_ok() {
        tally("config.lock that a killed git left, removed by hand", 1);
    }
    // On a server its own git left them, and its own people remove them: nobody else can.
    let server = world.root().join("server.git");
    for lock in state::locks_below(&server).into_iter().filter(|(path, _)| path.ends_with(".lock")) {
        std::fs::remove_file(lock.0).unwrap();
        tally("lock on the server that its killed git left, removed there by hand", 1);
    }
    if state::empty_locks(world).is_empty() {
        return;
    }
    world.skein(&["doctor", "--fix"]);
    let left = state::empty_locks(world);
    let said = world.skein(&["doctor"]);
    for lock in &left {
        assert!(
            said.out.contains(&lock.display().to_string()),
            "{at}: {} is not named: {said:?}",
            lock.display()
        );
        std::fs::remove_file(lock).unwrap();
    }
    if !left.is_empty() {
        tally("lock that a killed git left empty, named and removed by hand", 1);
    }
}

/// Runs the verb with a fault, and tells where it struck, if it did.
pub fn strike(world: &World, args: &[&str], plan: Plan, k: u64) -> (Ran, Option<String>) {
    struck(world.command(args), world, plan, k)
}

/// The same for a command that is ready.
pub fn struck(mut command: Command, world: &World, plan: Plan, k: u64) -> (Ran, Option<String>) {
    let mark = world.root().join("mark");
    let lasting = if plan.lasting { "+" } else { "" };
    command.env("SKEIN_FAULT", format!("{}:{k}{lasting}:{}", plan.site, plan.action));
    command.env("SKEIN_FAULT_MARK", &mark);
    let ran = ran(command.output().unwrap());
    let struck = std::fs::read_to_string(&mark).ok();
    let _ = std::fs::remove_file(&mark);
    (ran, struck)
}

/// What git itself may do to a repository at any time, as hard as it can.
pub fn clean(world: &World, k: u64) {
    world.git(["reflog", "expire", "--expire=now", "--all"]);
    world.git(["worktree", "prune", "--expire=now"]);
    // Everything unreachable goes either way; only every third time everything is packed as well.
    if k.is_multiple_of(3) {
        world.git(["gc", "--quiet", "--prune=now"]);
    } else {
        world.git(["prune", "--expire=now"]);
    }
}

fn same(scene: &Scene, world: &World, reference: &Reference, (how, at): (How, &str)) {
    let mut found = (scene.state)(world);
    if how.unread {
        state::forget_more_kept(&reference.state, &mut found);
    }
    if let Some(difference) = state::differ(&reference.state, &found) {
        panic!("{at}: not as undisturbed: {difference}");
    }
}

/// What was told as done is done: all but the receipt of a landing, which its intent stands for until then, and what is
/// cleared away after it. Where the words say what was not done, that is not.
fn stands(scene: &Scene, world: &World, reference: &Reference, (ran, at): (&Ran, &str)) {
    let of_landing = ["intent", "undo", "landing", "undone"].map(|kind| format!(r#""kind":"{kind}""#));
    let lane = "refs/skein/lane/";
    // What the agent does then is its supervisor's to tell, which may be struck as well.
    let not_gone_on =
        ran.out.contains("next: git skein resume ") || ran.err.contains("the other try is not started: ");
    let left_behind = ran.err.contains("left behind, removed by the next run: ");
    let later = |key: &str, said: &str| {
        let cleared = key.starts_with("left ") || key.starts_with("refs/skein-local/candidate/");
        cleared && !reference.state.contains_key(key)
            || key.starts_with(lane) && of_landing.iter().any(|kind| said.contains(kind))
            || key == "refs/notes/skein/landed"
            || key.starts_with("refs/skein ") && not_gone_on
            || key == "worktrees" && left_behind
    };
    let told = |state: &State| -> BTreeSet<String> {
        let told = state.iter().filter(|(key, said)| !later(key, said));
        // In the lane it may stand at another place.
        let name = |key: &str| if key.starts_with(lane) { lane.to_owned() } else { key.to_owned() };
        told.map(|(key, said)| format!("{} {said}", name(key))).collect()
    };
    let (want, found) = (told(&reference.state), told(&(scene.state)(world)));
    let differs: Vec<_> = want.symmetric_difference(&found).collect();
    assert!(differs.is_empty(), "{at}: success was told, but: {differs:?}: {ran:?}");
}

/// Right after the strike: what was reachable still is, branches are old or new, and nothing of the
/// person's is changed but for a checkout on its way from the one to the other.
fn still_there(world: &World, reference: &Reference, person: &State, (how, at): (How, &str)) {
    let repo = Repository::open(&world.repo).unwrap();
    let now = state::refs(&repo);
    let held = |oid: Oid| now.values().any(|tip| *tip == oid || repo.graph_descendant_of(*tip, oid).unwrap());
    for (name, oid) in &reference.before {
        assert!(held(*oid), "{at}: {name} was at {oid}, which nothing reaches now");
        if name.starts_with("refs/heads/") {
            let found = now.get(name).copied();
            // Or where somebody else put it, whom a scene lets have a hand in this.
            let others = reference.before.get("refs/heads/other").copied();
            let fine = [Some(*oid), reference.moved.get(name).copied(), others].contains(&found);
            assert!(fine, "{at}: {name} is at {found:?}");
        }
    }
    let trunk = now.get("refs/heads/main").map(Oid::to_string);
    let strange = |after: &State| -> Option<String> {
        let keys = person.keys().chain(after.keys());
        // What a write has laid beside a document is finished or cleared away by the next one.
        for key in keys.filter(|key| key.as_str() != "status" && !key.ends_with("skein~")) {
            let (old, new, found) = (person.get(key), reference.state.get(key), after.get(key));
            // A new branch begins at the trunk.
            let begun = old.is_none() && key.starts_with("ref refs/heads/") && found == trunk.as_ref();
            let put = key == "ref refs/heads/main" && found == person.get("ref refs/heads/other");
            // Of a git that was killed in it.
            let on_its_way = how.git && key.starts_with("file/") && old != new;
            if !(found == old || found == new || begun || put || on_its_way) {
                return Some(format!("{key} is neither old nor new: {found:?}"));
            }
        }
        None
    };
    // A git that outlives us may be in the middle of a file.
    let mut said = strange(&state::person(world));
    for _ in 0..50 {
        if said.is_none() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
        said = strange(&state::person(world));
    }
    assert!(said.is_none(), "{at}: {}", said.unwrap_or_default());
}
