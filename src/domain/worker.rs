//! A worker's outcome (durable) and liveness (observed), and the one place that turns the end of a run
//! into an outcome.

use crate::domain::protocol::Claim;
use crate::domain::protocol::Claimed;
use serde::Deserialize;
use serde::Serialize;
use std::fmt;

/// Where a worker stands, as its record says. Only [`conclude`] and a person's `stop` leave `Active`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Active,
    NeedsInput,
    Ready,
    Failed,
    Stopped,
}

impl Outcome {
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Active => "active",
            Outcome::NeedsInput => "needs-input",
            Outcome::Ready => "ready",
            Outcome::Failed => "failed",
            Outcome::Stopped => "stopped",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// Whether the worker's supervisor runs, as seen from here and now. No proof is `Unknown`, never dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Liveness {
    Live,
    Gone,
    Unknown,
}

impl fmt::Display for Liveness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Liveness::Live => "live",
            Liveness::Gone => "gone",
            Liveness::Unknown => "unknown",
        })
    }
}

/// What is worth a warning on a worker's card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flag {
    /// Changes that were seen in a snapshot are in no commit and no longer in the working tree.
    SelfDiscarded,
    /// The working tree holds changes that are not committed.
    Uncommitted,
    /// Something outside the worktree changed while the worker ran.
    OutsideChanged,
    /// The process had to be killed.
    Killed,
    /// Processes outlived the agent and were ended.
    Survivors,
    /// The supervisor died before it could finish.
    SupervisorLost,
    /// Commits of the jailed worker were not let in.
    Quarantined,
}

impl Flag {
    pub fn word(self) -> &'static str {
        match self {
            Flag::SelfDiscarded => "self-discarded",
            Flag::Uncommitted => "uncommitted",
            Flag::OutsideChanged => "outside-changed",
            Flag::Killed => "killed",
            Flag::Survivors => "survivors",
            Flag::SupervisorLost => "supervisor-lost",
            Flag::Quarantined => "quarantined",
        }
    }
}

/// How an agent's run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Exited(i32),
    Signalled(i32),
    TimedOut,
    /// No output and no change for the silence limit; the last line it printed.
    Silent(String),
    /// It printed a line that says it is done.
    Done,
    Stopped,
    SupervisorLost,
    /// It said that it was done, and what it made of the task.
    Claimed(Claim),
    /// It said so, but its work could not be frozen.
    NotFrozen(String),
    /// It said that it could not do the task, and why.
    GaveUp(String),
    /// It asked a person something.
    Asked(String),
    /// It laid out a plan, with that goal, and waits for a person to decide on it.
    Planned(String),
    /// Its agent ran into a usage limit, which passes at that time.
    Limited(String, i64),
    /// Its agent spent more than its kind allows for one run, in cents.
    Overspent(u64),
    /// The last that it said was an error.
    Erred(String),
}

/// What the worktree holds when the run has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work<'a> {
    /// Commits between base and tip.
    pub commits: usize,
    /// The tip has the very files of the base, and nothing of the worker's was kept out.
    pub same: bool,
    /// Why what it committed does not come in, so that the tip is not its own.
    pub withheld: Option<&'a str>,
    /// The working tree differs from the tip.
    pub uncommitted: bool,
    /// An earlier snapshot holds what neither tip nor working tree has.
    pub discarded: bool,
    /// Something outside the worktree changed.
    pub outside: bool,
    /// Its kind only reads.
    pub only_reads: bool,
    /// It has to plan first, and no plan of it was approved.
    pub unplanned: bool,
}

/// The outcome of a run, and why, in a few words.
pub fn conclude(end: &End, work: Work<'_>) -> (Outcome, Option<String>) {
    let because = |outcome, why: &str| (outcome, Some(why.to_owned()));
    match end {
        _ if work.outside => because(Outcome::Failed, "it changed files outside its worktree"),
        _ if work.only_reads && (!work.same || work.uncommitted) => {
            because(Outcome::Failed, "it changed files, and its kind only reads")
        }
        End::Exited(0) | End::Done | End::Claimed(_) | End::Planned(_)
            if work.unplanned && (!work.same || work.uncommitted) =>
        {
            because(Outcome::NeedsInput, "it changed files before its plan was approved")
        }
        End::Exited(0) | End::Done | End::Claimed(_) if work.withheld.is_some() => {
            because(Outcome::NeedsInput, &brief(work.withheld.unwrap_or_default()))
        }
        End::Exited(0) | End::Done if work.commits == 0 && work.uncommitted => because(
            Outcome::NeedsInput,
            "uncommitted: it ended without a commit; import takes the working tree",
        ),
        // No failure: a task may be to look. No success without a word either.
        End::Exited(0) | End::Done if work.same && !work.uncommitted => because(
            Outcome::Ready,
            match work.commits {
                0 => "nothing changed: it ended without a commit, and made no claim",
                _ => "nothing changed: what it committed comes to nothing",
            },
        ),
        End::Exited(0) => (Outcome::Ready, None),
        End::Done => because(Outcome::Ready, "it said it was done"),
        End::Exited(code) => because(Outcome::Failed, &format!("exit code {code}")),
        End::Signalled(signal) => because(Outcome::Failed, &format!("ended by signal {signal}")),
        End::TimedOut => because(Outcome::Failed, "the time limit passed"),
        End::Silent(line) if line.is_empty() => because(Outcome::NeedsInput, "silent; it printed nothing"),
        End::Silent(line) => because(
            Outcome::NeedsInput,
            &format!("silent; its last line was: {}", line.chars().take(120).collect::<String>()),
        ),
        End::Claimed(claim)
            if claim.outcome != Claimed::NothingToDo && work.commits == 0 && !work.only_reads =>
        {
            because(
                Outcome::NeedsInput,
                "uncommitted: it said it was done, and there is no commit; import takes the working tree",
            )
        }
        End::Claimed(_) if work.commits == 0 && work.uncommitted => because(
            Outcome::NeedsInput,
            "uncommitted: it said that there was nothing to do, and changed files",
        ),
        End::Claimed(claim) => {
            because(Outcome::Ready, &format!("{}: {}", claim.outcome.word(), brief(&claim.summary)))
        }
        End::NotFrozen(why) => because(Outcome::NeedsInput, &format!("its work cannot be taken: {why}")),
        End::GaveUp(reason) => because(Outcome::Failed, &format!("it gave up: {}", brief(reason))),
        End::Asked(question) => because(Outcome::NeedsInput, &format!("it asks: {}", brief(question))),
        End::Planned(goal) => because(Outcome::NeedsInput, &format!("its plan waits: {}", brief(goal))),
        End::Overspent(cents) => because(
            Outcome::NeedsInput,
            &format!("it has spent more than ${}.{:02}, the budget of a run", cents / 100, cents % 100),
        ),
        End::Limited(agent, until) => because(
            Outcome::NeedsInput,
            &format!("paused until {}: the usage limit of {agent}", date(*until)),
        ),
        End::Erred(error) => because(Outcome::Failed, &format!("its agent reports: {}", brief(error))),
        End::Stopped => because(Outcome::Stopped, "stopped by a person"),
        End::SupervisorLost => because(Outcome::Failed, "its supervisor was lost"),
    }
}

/// A time for people.
pub fn date(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).map_or_else(|_| seconds.to_string(), |t| t.to_string())
}

/// The beginning of a text, on one line.
fn brief(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(120).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claimed(outcome: Claimed) -> End {
        End::Claimed(Claim { outcome, summary: "all\nof it".into(), evidence: Vec::new() })
    }

    #[test]
    fn silence_has_a_last_line_or_none() {
        let said = |line: &str| conclude(&End::Silent(line.into()), Work::default()).1.unwrap();
        assert_eq!(said("y/n?"), "silent; its last line was: y/n?");
        assert_eq!(said(""), "silent; it printed nothing");
    }

    #[test]
    fn a_run_that_changed_nothing_says_so() {
        let nothing = Work { same: true, ..Work::default() };
        let empty = Work { commits: 1, same: true, ..Work::default() };
        let back = Work { uncommitted: true, ..empty };
        for (end, work, said) in [
            (End::Exited(0), nothing, true),
            (End::Done, nothing, true),
            (End::Exited(0), empty, true),
            (End::Exited(0), back, false),
            (End::Exited(0), Work { commits: 1, ..Work::default() }, false),
            (End::Exited(1), nothing, false),
            (claimed(Claimed::NothingToDo), nothing, false),
        ] {
            let reason = conclude(&end, work).1.unwrap_or_default();
            assert_eq!(reason.starts_with("nothing changed: "), said, "{end:?}: {reason}");
        }
    }

    #[test]
    fn who_only_reads_is_judged_by_what_it_says() {
        let nothing = Work { same: true, only_reads: true, ..Work::default() };
        let wrote = Work { uncommitted: true, ..nothing };
        let committed = Work { commits: 1, same: false, ..nothing };
        for (work, want) in
            [(nothing, Outcome::Ready), (wrote, Outcome::Failed), (committed, Outcome::Failed)]
        {
            assert_eq!(conclude(&claimed(Claimed::Complete), work).0, want);
            assert_eq!(conclude(&End::Exited(0), work).0, want);
        }
    }

    #[test]
    fn ends_become_outcomes() {
        let clean = Work { commits: 1, ..Work::default() };
        let dirty = Work { uncommitted: true, ..Work::default() };
        let outside = Work { commits: 1, outside: true, ..Work::default() };
        for (end, work, want) in [
            (End::Exited(0), clean, Outcome::Ready),
            (End::Exited(0), dirty, Outcome::NeedsInput),
            (End::Exited(0), Work { withheld: Some("why"), ..clean }, Outcome::NeedsInput),
            (
                claimed(Claimed::NothingToDo),
                Work { withheld: Some("why"), ..Work::default() },
                Outcome::NeedsInput,
            ),
            (End::Exited(0), outside, Outcome::Failed),
            (End::Exited(1), clean, Outcome::Failed),
            (End::Done, clean, Outcome::Ready),
            (End::Silent("y/n?".into()), clean, Outcome::NeedsInput),
            (End::TimedOut, clean, Outcome::Failed),
            (End::Stopped, clean, Outcome::Stopped),
            (End::SupervisorLost, clean, Outcome::Failed),
            (claimed(Claimed::Complete), clean, Outcome::Ready),
            (claimed(Claimed::Partial), clean, Outcome::Ready),
            (claimed(Claimed::Complete), outside, Outcome::Failed),
            (claimed(Claimed::Complete), dirty, Outcome::NeedsInput),
            (claimed(Claimed::Complete), Work::default(), Outcome::NeedsInput),
            (claimed(Claimed::NothingToDo), Work::default(), Outcome::Ready),
            (claimed(Claimed::NothingToDo), dirty, Outcome::NeedsInput),
            (End::NotFrozen("why".into()), clean, Outcome::NeedsInput),
            (End::GaveUp("why".into()), clean, Outcome::Failed),
            (End::Asked("what?".into()), clean, Outcome::NeedsInput),
            (End::Overspent(1), clean, Outcome::NeedsInput),
            (End::Planned("goal".into()), Work { same: true, ..Work::default() }, Outcome::NeedsInput),
            (End::Exited(0), Work { unplanned: true, ..clean }, Outcome::NeedsInput),
            (End::Exited(1), Work { unplanned: true, ..clean }, Outcome::Failed),
            (End::Limited("claude".into(), 1), clean, Outcome::NeedsInput),
            (End::Limited("claude".into(), 1), outside, Outcome::Failed),
            (End::Erred("529".into()), clean, Outcome::Failed),
        ] {
            assert_eq!(conclude(&end, work).0, want, "{end:?}");
        }
    }
}
