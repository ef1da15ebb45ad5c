//! Models beside the tool: random work whose outcome is known by construction, the same work through the built
//! binary, and a reader of the repository that is git and libgit2 only.

mod edits;
mod ends;
mod history;
mod identity;
mod names;
mod person;
mod truth;

use crate::faults::sweep::words;
use crate::support::acts::Dice;
use crate::support::tally::regressions;
use crate::support::tally::tally;
use std::io::Write;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

/// A place for cases is made anew after so many: what they leave there makes the next ones slow.
const RENEWED: u64 = 60;

/// What is tried at random: first the seeds that failed once, then `count` new ones, on two threads.
struct Strike {
    /// The first word of its lines in `fixtures/regressions/model.txt`.
    name: &'static str,
    tally: &'static str,
    count: u64,
}

impl Strike {
    /// `make` gives the place in which `case` tries one seed. All that went wrong is told in the end.
    fn run<P>(&self, make: impl Fn() -> P + Sync, case: impl Fn(&mut P, u64) -> Result<(), String> + Sync) {
        let old: Vec<u64> = kept(self.name).iter().map(|line| line.parse().unwrap()).collect();
        let mut dice = Dice::new();
        let new = (0..self.count).map(|_| dice.below(1 << 40));
        let seeds: Vec<u64> = old.into_iter().chain(new).collect();
        let (next, wrong) = (AtomicU64::new(0), Mutex::new(Vec::new()));
        let work = || {
            let (mut place, mut used) = (make(), 0);
            while let Some(seed) = seeds.get(next.fetch_add(1, Ordering::SeqCst) as usize) {
                if used == RENEWED {
                    (place, used) = (make(), 0);
                }
                used += 1;
                let done = catch_unwind(AssertUnwindSafe(|| case(&mut place, *seed)));
                match done.unwrap_or_else(|panic| Err(words(&*panic))) {
                    Ok(()) => tally(self.tally, 1),
                    Err(why) => found(&wrong, format!("{} {seed}\n   {why}", self.name)),
                }
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(work);
            work();
        });
        let wrong = wrong.into_inner().unwrap();
        assert!(wrong.is_empty(), "{} for model.txt:\n{}", wrong.len(), wrong.join("\n"));
        assert!(next.into_inner() > self.count, "nothing was tried");
    }
}

/// Keeps what went wrong, and tells of it at once: the rest may take long.
fn found(wrong: &Mutex<Vec<String>>, what: String) {
    writeln!(std::io::stderr().lock(), "for model.txt: {what}").unwrap();
    wrong.lock().unwrap().push(what);
}

/// What failed once in the harness `name`.
fn kept(name: &str) -> Vec<String> {
    let all = regressions("model");
    all.iter().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned)).collect()
}
