//! What is claimed, attacked: every system call killed or failed, recovery killed as well, power cut, git's own
//! housekeeping at every moment. Beside it what git alone loses under the same.

mod alone;
mod doubles;
mod gc;
mod power;
pub mod strace;
mod syscalls;
mod verbs;

use crate::faults::sweep::SEED;
use crate::faults::sweep::words;
use crate::support::acts::Dice;
use crate::support::tally::tally;
use std::fmt::Display;
use std::io::Write;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

/// Cases at a time.
const THREADS: usize = 2;

/// So many failures tell enough.
const MANY: usize = 30;

/// One harness: the name of its regressions file, and what its strikes are counted as.
struct Harness {
    name: &'static str,
    counts: &'static str,
}

/// What the cases of one harness came to.
#[derive(Default)]
struct Tried {
    struck: u64,
    failures: Vec<String>,
}

impl Harness {
    /// Tries `cases`; `run` is false where nothing was struck.
    fn each<C: Display + Sync>(&self, cases: &[C], run: impl Fn(&C) -> bool + Sync) -> Tried {
        let next = AtomicUsize::new(0);
        let tried = Mutex::new(Tried::default());
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    while let Some(case) = cases.get(next.fetch_add(1, Ordering::SeqCst)) {
                        let ended = catch_unwind(AssertUnwindSafe(|| run(case)));
                        let mut tried = tried.lock().unwrap();
                        tried.struck += u64::from(!matches!(ended, Ok(false)));
                        if let Err(panic) = ended {
                            let said = format!(
                                "- {}\n  fixtures/regressions/{}.txt: {case}",
                                words(&*panic),
                                self.name
                            );
                            // A long run is not waited for.
                            say(&format!("{} fails\n{said}", self.counts));
                            tried.failures.push(said);
                        }
                        if tried.failures.len() > MANY {
                            return;
                        }
                    }
                });
            }
        });
        tried.into_inner().unwrap()
    }

    /// Adds up, prints a line, and fails where anything failed or where nothing was struck.
    fn close(&self, tried: Tried, rest: &str) {
        tally(self.counts, tried.struck);
        say(&format!("{}: {} struck{rest}", self.counts, tried.struck));
        let shown: Vec<&str> = tried.failures.iter().take(12).map(String::as_str).collect();
        let sown = format!("  SKEIN_TEST_SEED={}", *SEED);
        assert!(
            tried.failures.is_empty(),
            "{}: {} cases fail{sown}\n{}",
            self.counts,
            tried.failures.len(),
            shown.join("\n")
        );
        assert!(tried.struck > 0, "{}: nothing was struck", self.counts);
    }
}

/// `count` of them in an order of their own, which the seed decides.
fn drawn<C>(salt: &str, mut from: Vec<C>, count: usize) -> Vec<C> {
    let mut dice =
        Dice::of(salt.bytes().fold(*SEED, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into())));
    let mut chosen = Vec::new();
    while chosen.len() < count && !from.is_empty() {
        chosen.push(from.swap_remove(dice.below(from.len() as u64) as usize));
    }
    chosen
}

/// Past the capture of the test harness: the line belongs into the log of a run.
fn say(line: &str) {
    writeln!(std::io::stdout().lock(), "proof: {line}").unwrap();
}
