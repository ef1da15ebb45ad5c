//! What waits for a person, in the order in which it should be looked at.

use crate::domain::Decision;
use crate::domain::Liveness;
use crate::domain::Outcome;
use serde::Serialize;

/// What is known of a worker, as far as it decides who waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    pub outcome: Outcome,
    pub liveness: Option<Liveness>,
    /// It asks, and nobody has answered.
    pub asks: bool,
    /// It has laid out a plan, and nobody has decided on that.
    pub plans: bool,
    /// It was told something, or its limit has passed, and it does not run.
    pub told: bool,
    /// Its usage limit passes later.
    pub paused: bool,
    /// There is work of it.
    pub works: bool,
    /// The judgment that stands on its newest work, or on its run.
    pub judged: Option<Decision>,
    /// It was judged before, but not this work.
    pub moved: bool,
    /// Its work is on the branch.
    pub landed: bool,
}

/// What it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// It asks.
    Answer,
    /// It has laid out a plan.
    Plan,
    /// It failed, or nobody knows what became of it.
    Failure,
    /// Its turn ended without a question, a commit or a result.
    Look,
    /// Its work is to be judged.
    Verdict,
    /// The same, and what was judged before has changed.
    VerdictAgain,
    /// It was sent back or its limit has passed, and it does not run.
    Resume,
    /// It was accepted.
    Landing,
    /// It was rejected, or ended without anything.
    Closing,
}

impl Need {
    /// Lower is sooner.
    pub fn rank(self) -> u8 {
        match self {
            Need::Answer | Need::Plan => 0,
            Need::Failure => 1,
            Need::Look | Need::Verdict | Need::VerdictAgain => 2,
            Need::Resume => 3,
            Need::Landing => 4,
            Need::Closing => 5,
        }
    }

    /// In one word.
    pub fn word(self) -> &'static str {
        match self {
            Need::Answer => "asks",
            Need::Plan => "plan",
            Need::Failure => "failed",
            Need::Look => "look",
            Need::Verdict => "verdict",
            Need::VerdictAgain => "changed",
            Need::Resume => "resume",
            Need::Landing => "land",
            Need::Closing => "close",
        }
    }

    /// In words, after "waits for".
    pub fn words(self) -> &'static str {
        match self {
            Need::Answer => "an answer",
            Need::Plan => "a verdict on its plan",
            Need::Failure => "a look at its failure",
            Need::Look => "a look: it ended without a result",
            Need::Verdict => "a verdict",
            Need::VerdictAgain => "a verdict again: its work changed",
            Need::Resume => "being taken up again",
            Need::Landing => "landing: it is accepted",
            Need::Closing => "being closed",
        }
    }
}

/// What a worker waits for, if for anything of a person.
pub fn need(w: &Waiting) -> Option<Need> {
    let runs = w.outcome == Outcome::Active;
    if w.landed {
        return None;
    }
    match w.judged {
        _ if w.asks => Some(Need::Answer),
        _ if w.plans => Some(Need::Plan),
        _ if runs => (w.liveness == Some(Liveness::Gone)).then_some(Need::Failure),
        _ if w.paused => None,
        _ if w.told => Some(Need::Resume),
        Some(Decision::Accept) => Some(Need::Landing),
        Some(verb) if verb.bars() || verb == Decision::Stop => Some(Need::Closing),
        _ if w.outcome == Outcome::Failed => Some(Need::Failure),
        _ if w.outcome == Outcome::NeedsInput => Some(Need::Look),
        _ if !w.works => Some(Need::Closing),
        _ if w.moved => Some(Need::VerdictAgain),
        _ => Some(Need::Verdict),
    }
}

/// Where a worker stands among all: those that wait for a person in the order of the inbox, then who runs, whose work
/// has landed, and who is closed.
pub fn place(need: Option<Need>, landed: bool, closed: bool) -> u8 {
    match need {
        _ if closed => 8,
        Some(need) => need.rank(),
        None if landed => 7,
        None => 6,
    }
}

/// Sorts what waits: by rank, then who waits longest, then by name.
pub fn ranked<T>(all: &mut [T], key: impl Fn(&T) -> (Need, i64, &str)) {
    all.sort_by(|a, b| {
        let ((na, sa, ha), (nb, sb, hb)) = (key(a), key(b));
        (na.rank(), sa, ha).cmp(&(nb.rank(), sb, hb))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_waits_for_one_thing() {
        use Outcome::*;
        let w = |outcome| Waiting {
            outcome,
            liveness: None,
            asks: false,
            plans: false,
            told: false,
            paused: false,
            works: true,
            judged: None,
            moved: false,
            landed: false,
        };
        let judged = |verb| Waiting { judged: Some(verb), ..w(Ready) };
        for (waiting, want) in [
            (w(Active), None),
            (Waiting { liveness: Some(Liveness::Live), ..w(Active) }, None),
            (Waiting { liveness: Some(Liveness::Unknown), ..w(Active) }, None),
            (Waiting { liveness: Some(Liveness::Gone), ..w(Active) }, Some(Need::Failure)),
            (Waiting { asks: true, liveness: Some(Liveness::Live), ..w(Active) }, Some(Need::Answer)),
            (Waiting { asks: true, ..w(NeedsInput) }, Some(Need::Answer)),
            (Waiting { plans: true, ..w(NeedsInput) }, Some(Need::Plan)),
            (Waiting { told: true, ..w(NeedsInput) }, Some(Need::Resume)),
            (Waiting { paused: true, told: true, ..w(NeedsInput) }, None),
            (w(NeedsInput), Some(Need::Look)),
            (w(Failed), Some(Need::Failure)),
            (Waiting { judged: Some(Decision::Reject), ..w(Failed) }, Some(Need::Closing)),
            (Waiting { judged: Some(Decision::Retry), ..w(Failed) }, Some(Need::Closing)),
            (w(Ready), Some(Need::Verdict)),
            (w(Stopped), Some(Need::Verdict)),
            (Waiting { works: false, ..w(Ready) }, Some(Need::Closing)),
            (Waiting { moved: true, ..w(Ready) }, Some(Need::VerdictAgain)),
            (judged(Decision::Accept), Some(Need::Landing)),
            (judged(Decision::Reject), Some(Need::Closing)),
            (judged(Decision::Revise), Some(Need::Verdict)),
            (Waiting { landed: true, ..judged(Decision::Accept) }, None),
            (Waiting { landed: true, ..w(Ready) }, None),
        ] {
            assert_eq!(need(&waiting), want, "{waiting:?}");
        }
    }

    #[test]
    fn who_waits_stands_before_all_others() {
        let last = place(Some(Need::Closing), false, false);
        let rest =
            [place(None, false, false), place(None, true, false), place(Some(Need::Answer), false, true)];
        assert!(last < rest[0] && rest.is_sorted_by(|a, b| a < b), "{last} {rest:?}");
    }

    #[test]
    fn the_order_is_rank_then_age_then_name() {
        let mut all = [
            (Need::Closing, 1, "a"),
            (Need::Verdict, 5, "b"),
            (Need::Look, 4, "c"),
            (Need::Verdict, 4, "b"),
            (Need::Answer, 9, "z"),
            (Need::Failure, 2, "y"),
            (Need::Landing, 1, "x"),
            (Need::Resume, 1, "r"),
        ];
        ranked(&mut all, |(need, since, name)| (*need, *since, name));
        let names: Vec<&str> = all.iter().map(|(_, _, name)| *name).collect();
        assert_eq!(names, ["z", "y", "b", "c", "b", "r", "x", "a"]);
    }
}
