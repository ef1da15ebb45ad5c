//! The two ways a verb can fail: a refusal, where nothing changed, and a fault, where the world did.
//! Both are data; text is made once, by the renderer.

use crate::domain::Exit;
use crate::domain::Oid;
use serde::Serialize;
use std::fmt;

pub type Result<T> = std::result::Result<T, Failure>;

#[derive(Debug)]
pub enum Failure {
    Refusal(Box<Refusal>),
    Fault(Box<Fault>),
}

/// A "no" with its reasons. Nothing was changed.
#[derive(Debug, Clone, Serialize)]
pub struct Refusal {
    pub token: Token,
    /// What disagrees, in one sentence.
    pub says: String,
    /// The objects that disagree, each with what it is.
    pub oids: Vec<(&'static str, Oid)>,
    /// Paths or names concerned, one a line.
    pub lines: Vec<String>,
    /// A plain git command that shows the same.
    pub show: String,
    /// What to do next.
    pub next: String,
}

impl Refusal {
    pub fn new(token: Token, says: impl Into<String>) -> Refusal {
        Refusal {
            token,
            says: says.into(),
            oids: Vec::new(),
            lines: Vec::new(),
            show: String::new(),
            next: String::new(),
        }
    }

    pub fn oid(mut self, what: &'static str, oid: Oid) -> Refusal {
        self.oids.push((what, oid));
        self
    }

    pub fn lines(mut self, lines: impl IntoIterator<Item = String>) -> Refusal {
        self.lines.extend(lines);
        self
    }

    pub fn show(mut self, command: impl Into<String>) -> Refusal {
        self.show = command.into();
        self
    }

    pub fn next(mut self, remedy: impl Into<String>) -> Refusal {
        self.next = remedy.into();
        self
    }
}

impl From<Box<Refusal>> for Failure {
    fn from(refusal: Box<Refusal>) -> Failure {
        Failure::Refusal(refusal)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        Failure::Refusal(Box::new(refusal))
    }
}

/// Something outside the program failed: a disk, a process, a damaged object.
#[derive(Debug, Clone, Serialize)]
pub struct Fault {
    /// What was being done.
    pub doing: String,
    /// What went wrong, in the words of whoever said it.
    pub cause: String,
}

impl Fault {
    pub fn new(doing: impl Into<String>, cause: impl fmt::Display) -> Fault {
        Fault { doing: doing.into(), cause: cause.to_string() }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Failure {
        Failure::Fault(Box::new(fault))
    }
}

/// In one line, where a failure is only mentioned.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refusal(r) => write!(f, "{}: {}", r.token.as_str(), r.says),
            Failure::Fault(e) => write!(f, "{e}"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.doing, self.cause)
    }
}

impl Failure {
    pub fn fault(doing: impl Into<String>, cause: impl fmt::Display) -> Failure {
        Fault::new(doing, cause).into()
    }

    /// The name of the refusal, if it is one.
    pub fn token(&self) -> Option<Token> {
        match self {
            Failure::Refusal(refusal) => Some(refusal.token),
            Failure::Fault(_) => None,
        }
    }

    pub fn exit(&self) -> Exit {
        match self {
            Failure::Refusal(refusal) => refusal.token.exit(),
            Failure::Fault(_) => Exit::Fault,
        }
    }
}

/// Declares the refusal tokens: name in code, name for people and scripts, exit code.
macro_rules! tokens {
    ($($name:ident $text:literal $exit:ident;)*) => {
        /// The stable names of all refusals.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Token { $($name),* }

        impl Token {
            pub const ALL: &'static [Token] = &[$(Token::$name),*];

            pub fn as_str(self) -> &'static str {
                match self { $(Token::$name => $text),* }
            }

            pub fn exit(self) -> Exit {
                match self { $(Token::$name => Exit::$exit),* }
            }
        }
    };
}

tokens! {
    NotARepository "not-a-repository" Fault;
    OldGit "old-git" Fault;
    StateCorrupt "state-corrupt" Fault;
    RefBroken "ref-broken" Fault;
    RefsSquatted "refs-squatted" Fault;
    NoSpace "no-space" Fault;
    ObjectsMissing "objects-missing" Fault;
    Shallow "shallow" Fault;
    ReadOnly "read-only" Fault;
    NoTrunk "no-trunk" No;
    UnbornTrunk "unborn-trunk" No;
    NotABranch "not-a-branch" No;
    BadBase "bad-base" No;
    BadRevision "bad-revision" No;
    BadName "bad-name" No;
    NameTaken "name-taken" No;
    BadPattern "bad-pattern" No;
    NoSuchWorker "no-such-worker" No;
    AmbiguousWorker "ambiguous-worker" No;
    Archived "archived" No;
    UnknownRecord "unknown-record" No;
    AgentNotFound "agent-not-found" No;
    AgentPaused "agent-paused" Busy;
    NoJail "no-jail" No;
    BadLimit "bad-limit" No;
    NoPane "no-pane" No;
    NoTerminal "no-terminal" No;
    NoTask "no-task" No;
    BadTasks "bad-tasks" No;
    BadKind "bad-kind" No;
    NoSuchKind "no-such-kind" No;
    Untrusted "untrusted" No;
    NoSession "no-session" No;
    TooMany "too-many" No;
    NoIdentity "no-identity" No;
    WorktreeExists "worktree-exists" No;
    WorktreeInside "worktree-inside" No;
    InWorker "in-worker" No;
    NotAWorker "not-a-worker" No;
    NotTheWorker "not-the-worker" No;
    BadCall "bad-call" No;
    Vague "vague" No;
    SpawnRefused "spawn-refused" No;
    TurnEnded "turn-ended" No;
    PlanFirst "plan-first" No;
    PlanLate "plan-late" No;
    NoPlan "no-plan" No;
    PlanDecided "plan-decided" No;
    PlanMoved "plan-moved" Raced;
    HeadMoved "head-moved" Raced;
    NoSuchQuestion "no-such-question" No;
    NoSuchItem "no-such-item" No;
    Undeliverable "undeliverable" No;
    StillRunning "still-running" No;
    NotReady "not-ready" No;
    OutsideChanged "outside-changed" No;
    BaseMoved "base-moved" No;
    ForeignMerge "foreign-merge" No;
    Empty "empty" No;
    Reverted "reverted" No;
    ForbiddenPath "forbidden-path" No;
    OnlyReads "only-reads" No;
    BadPath "bad-path" No;
    TooLarge "too-large" No;
    Quarantined "quarantined" No;
    GitlinkRefused "gitlink" No;
    FilterChanged "filter-changed" No;
    FilterFailed "filter-failed" No;
    NotExact "not-exact" No;
    VerdictStale "verdict-stale" Raced;
    VerdictGiven "verdict-given" No;
    NoSuchOption "no-such-option" No;
    ForeignWorker "foreign-worker" No;
    MayNotJudge "may-not-judge" No;
    NotAccepted "not-accepted" No;
    Rejected "rejected" No;
    BadPolicy "bad-policy" No;
    KeepsCommits "keeps-commits" No;
    Conflict "conflict" Conflict;
    ConflictMidway "conflict-midway" Conflict;
    BadBundle "bad-bundle" No;
    BundleChanged "bundle-changed" No;
    BundleUnfit "bundle-unfit" No;
    NoSuchBundle "no-such-bundle" No;
    AmbiguousBundle "ambiguous-bundle" No;
    BundleLoaded "bundle-loaded" No;
    BundleUsed "bundle-used" No;
    FileExists "file-exists" No;
    NoCandidate "no-candidate" No;
    CandidateExists "candidate-exists" No;
    CandidateStale "candidate-stale" Raced;
    NotAdmitted "not-admitted" No;
    TrunkMoved "trunk-moved" Raced;
    GateFailed "gate-failed" GateFailed;
    GateDirtied "gate-dirtied" GateFailed;
    NoTests "no-tests" GateFailed;
    NoEvidence "no-evidence" No;
    DirtyOverlap "dirty-overlap" No;
    InTheWay "in-the-way" No;
    OperationInProgress "operation-in-progress" No;
    NoDocument "no-document" No;
    NotADocument "not-a-document" No;
    NotText "not-text" No;
    BadDocument "bad-document" No;
    DocumentTwice "document-twice" No;
    OutsideWorktree "outside-worktree" No;
    BadAnswer "bad-answer" No;
    NoAnswer "no-answer" No;
    NoSuchTurn "no-such-turn" No;
    NoSuchConflict "no-such-conflict" No;
    NoSuchComponent "no-such-component" No;
    HookFailed "hook-failed" No;
    HooksOff "hooks-off" No;
    HooksShared "hooks-shared" No;
    HooksTracked "hooks-tracked" No;
    HookReplaced "hook-replaced" No;
    Fenced "fenced" No;
    Undeclared "undeclared" No;
    ConflictMarkers "conflict-markers" No;
    Unjudged "unjudged" No;
    Unproven "unproven" No;
    NotOurs "not-ours" No;
    BranchSwitched "branch-switched" No;
    Ignored "ignored" No;
    NotSigned "not-signed" No;
    CheckedOutTwice "checked-out-twice" No;
    WronglyBare "wrongly-bare" No;
    NoSuchOperation "no-such-operation" No;
    AmbiguousOperation "ambiguous-operation" No;
    NothingToUndo "nothing-to-undo" No;
    BuiltUpon "built-upon" No;
    Pushed "pushed" No;
    NoRemote "no-remote" No;
    RemoteUnreachable "remote-unreachable" Busy;
    PushRefused "push-refused" No;
    Forked "forked" Conflict;
    NoSuchBrief "no-such-brief" No;
    SecretInBrief "secret-in-brief" No;
    RunnerRuns "runner-runs" Busy;
    RecordMoved "record-moved" Raced;
    IndexLocked "index-locked" Busy;
    RefLocked "ref-locked" Busy;
    Busy "busy" Busy;
    TimedOut "timed-out" Busy;
}

impl Serialize for Token {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_unique_lowercase_words() {
        let mut names: Vec<&str> = Token::ALL.iter().map(|t| t.as_str()).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(names.iter().all(|n| n.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')));
    }
}
