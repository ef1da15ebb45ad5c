//! May a worker be removed? Only a proof, or the absence of all work, says yes; a person may take single
//! risks by name.

use crate::domain::Liveness;
use crate::domain::Outcome;
use crate::domain::Presence;
use crate::domain::Verdict;
use serde::Serialize;

/// What was found out about a worker and its worktree.
#[derive(Debug)]
pub struct Remains<'f> {
    pub outcome: Outcome,
    pub liveness: Liveness,
    /// It was dispatched in this clone.
    pub own: bool,
    /// Why its folder cannot be taken for its worktree, in a few words.
    pub estranged: Option<String>,
    /// What git is in the middle of there.
    pub in_progress: Option<&'static str>,
    /// Paths that could not be captured.
    pub uncaptured: usize,
    /// Paths that no snapshot saw.
    pub unseen: usize,
    pub verdict: &'f Verdict,
    /// Nothing committed, no changes, and no snapshot saw any.
    pub untouched: bool,
    /// There are commits, and nothing besides.
    pub changes_nothing: bool,
    /// Those commits were landed all the same, and the branch has them.
    pub landed_empty: bool,
}

/// Risks that the person takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Risks {
    /// Work that is not proven to have landed.
    pub unlanded: bool,
    /// Ignored files that no snapshot saw.
    pub ignored: bool,
}

/// Why a worker is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// It belongs to another clone.
    OtherClone,
    Running,
    /// Its record says that it runs, and nobody can see whether it does.
    NotKnownEnded,
    /// Its registration and the folder do not name each other, or the folder holds another worktree.
    NotItsWorktree,
    /// A rebase, merge or the like is under way in its worktree.
    InProgress,
    NotLanded,
    Partial,
    Reverted,
    /// Whether it landed cannot be known.
    Unknown,
    /// Its commits change nothing, but there are changes or snapshots besides.
    Uncommitted,
    /// Its commits change nothing, so nothing can prove that they landed.
    EmptyCommits,
    /// Files in its worktree cannot be captured.
    Uncaptured,
    IgnoredFiles,
    /// Its worktree or record changed while it was being removed.
    ChangedMeanwhile,
}

impl Keep {
    pub fn word(self) -> &'static str {
        match self {
            Keep::OtherClone => "other-clone",
            Keep::Running => "running",
            Keep::NotKnownEnded => "not-known-ended",
            Keep::NotItsWorktree => "not-its-worktree",
            Keep::InProgress => "in-progress",
            Keep::NotLanded => "not-landed",
            Keep::Partial => "partial",
            Keep::Reverted => "reverted",
            Keep::Unknown => "unknown",
            Keep::Uncommitted => "uncommitted",
            Keep::EmptyCommits => "empty-commits",
            Keep::Uncaptured => "uncaptured",
            Keep::IgnoredFiles => "ignored-files",
            Keep::ChangedMeanwhile => "changed-meanwhile",
        }
    }
}

/// What becomes of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "decision", content = "reason", rename_all = "kebab-case")]
pub enum Fate {
    Remove(Remove),
    Keep(Keep),
}

/// Why a worker may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remove {
    /// Its work is proven to have landed and to be present, or changed by later work.
    Landed,
    /// It did nothing at all.
    Empty,
    /// Not proven; the person takes the risk.
    Unlanded,
    /// It is in the archive already.
    Archived,
}

impl Remove {
    pub fn word(self) -> &'static str {
        match self {
            Remove::Landed => "landed",
            Remove::Empty => "empty",
            Remove::Unlanded => "unlanded",
            Remove::Archived => "archived",
        }
    }
}

/// The decision. What cannot be made good again is asked first, then what a flag allows.
pub fn fate(found: &Remains<'_>, risks: Risks) -> Fate {
    let active = found.outcome == Outcome::Active;
    if !found.own {
        return Fate::Keep(Keep::OtherClone);
    }
    // A supervisor has written the outcome a moment before it is gone, so both say that it runs.
    if found.liveness == Liveness::Live {
        return Fate::Keep(Keep::Running);
    }
    if active && found.liveness == Liveness::Unknown {
        return Fate::Keep(Keep::NotKnownEnded);
    }
    if found.estranged.is_some() {
        return Fate::Keep(Keep::NotItsWorktree);
    }
    if found.in_progress.is_some() {
        return Fate::Keep(Keep::InProgress);
    }
    let why = match proven(found) {
        Ok(why) => why,
        Err(_) if risks.unlanded => Remove::Unlanded,
        Err(keep) => return Fate::Keep(keep),
    };
    if found.uncaptured > 0 {
        return Fate::Keep(Keep::Uncaptured);
    }
    if found.unseen > 0 && !risks.ignored {
        return Fate::Keep(Keep::IgnoredFiles);
    }
    Fate::Remove(why)
}

fn proven(found: &Remains<'_>) -> Result<Remove, Keep> {
    match found.verdict {
        Verdict::Landed { presence: Presence::Yes | Presence::Changed, .. } => Ok(Remove::Landed),
        Verdict::Landed { presence: Presence::Reverted, .. } => Err(Keep::Reverted),
        Verdict::Empty if found.untouched => Ok(Remove::Empty),
        Verdict::Empty if found.landed_empty => Ok(Remove::Landed),
        Verdict::Empty if found.changes_nothing => Err(Keep::EmptyCommits),
        Verdict::Empty => Err(Keep::Uncommitted),
        Verdict::Partial { .. } => Err(Keep::Partial),
        Verdict::NotLanded { .. } => Err(Keep::NotLanded),
        Verdict::Unknown { .. } => Err(Keep::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Oid;
    use crate::domain::Proof;
    use crate::domain::Unknown;

    fn landed(presence: Presence) -> Verdict {
        let at = Oid::from_bytes(&[1; 20]).unwrap();
        Verdict::Landed { proof: Proof::Range, at, presence }
    }

    fn ended(verdict: &Verdict) -> Remains<'_> {
        Remains {
            outcome: Outcome::Ready,
            liveness: Liveness::Gone,
            own: true,
            estranged: None,
            in_progress: None,
            uncaptured: 0,
            unseen: 0,
            verdict,
            untouched: false,
            changes_nothing: false,
            landed_empty: false,
        }
    }

    #[test]
    fn only_a_proof_permits_removal() {
        let none = Risks::default();
        let unlanded = Risks { unlanded: true, ..none };
        let unknown = Verdict::Unknown { why: Unknown::Shallow, detail: String::new() };
        let partial = Verdict::Partial { missing: vec![], found: vec![] };
        for (verdict, word) in [
            (landed(Presence::Yes), "landed"),
            (landed(Presence::Changed), "landed"),
            (landed(Presence::Reverted), "reverted"),
            (partial, "partial"),
            (Verdict::NotLanded { similar: vec![] }, "not-landed"),
            (Verdict::Empty, "uncommitted"),
            (unknown, "unknown"),
        ] {
            let found = ended(&verdict);
            let (plain, risky) = (fate(&found, none), fate(&found, unlanded));
            if word == "landed" {
                assert_eq!((plain, risky), (Fate::Remove(Remove::Landed), plain));
            } else {
                assert!(matches!(plain, Fate::Keep(k) if k.word() == word), "{verdict:?}: {plain:?}");
                assert_eq!(risky, Fate::Remove(Remove::Unlanded));
            }
        }
        let found = Remains { untouched: true, ..ended(&Verdict::Empty) };
        assert_eq!(fate(&found, none), Fate::Remove(Remove::Empty));
    }

    #[test]
    fn no_flag_removes_what_runs_or_cannot_be_kept() {
        let all = Risks { unlanded: true, ignored: true };
        let yes = landed(Presence::Yes);
        let base = || ended(&yes);
        for (found, keep) in [
            (Remains { own: false, ..base() }, Keep::OtherClone),
            (Remains { liveness: Liveness::Live, ..base() }, Keep::Running),
            (
                Remains { outcome: Outcome::Active, liveness: Liveness::Unknown, ..base() },
                Keep::NotKnownEnded,
            ),
            (Remains { estranged: Some("x".to_owned()), ..base() }, Keep::NotItsWorktree),
            (Remains { in_progress: Some("rebase"), ..base() }, Keep::InProgress),
            (Remains { uncaptured: 1, ..base() }, Keep::Uncaptured),
        ] {
            assert_eq!(fate(&found, all), Fate::Keep(keep), "{found:?}");
        }
        let ignored = Remains { unseen: 1, ..base() };
        assert_eq!(fate(&ignored, Risks { ignored: false, ..all }), Fate::Keep(Keep::IgnoredFiles));
        assert_eq!(fate(&ignored, all), Fate::Remove(Remove::Landed));
        let lost = Remains { outcome: Outcome::Failed, liveness: Liveness::Unknown, ..base() };
        assert_eq!(fate(&lost, Risks::default()), Fate::Remove(Remove::Landed));
    }
}
