//! The records of version 1: JSON with sorted keys. docs/schema.md describes every field.

use crate::domain::BriefId;
use crate::domain::Change;
use crate::domain::Failure;
use crate::domain::Flag;
use crate::domain::Handle;
use crate::domain::Identity;
use crate::domain::Jail;
use crate::domain::Judged;
use crate::domain::Loaded;
use crate::domain::Oid;
use crate::domain::OpId;
use crate::domain::Outcome;
use crate::domain::Parent;
use crate::domain::RawDigest;
use crate::domain::RefName;
use crate::domain::Result;
use crate::domain::Window;
use crate::domain::WorkerId;
use crate::domain::kind::Ties;
use crate::domain::mask;
use crate::domain::plan::LaidOut;
use crate::domain::protocol::Claim;
use crate::domain::protocol::Message;
use crate::domain::protocol::Question;
use crate::state::evidence::Evidence;
use crate::state::evidence::Verdict;
use serde::Deserialize;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub const VERSION: u32 = 1;

/// A worker as its record chain says. Times are seconds since the epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerRecord {
    pub v: u32,
    pub worker: WorkerId,
    /// The clone that dispatched it: only there can its process be seen.
    pub clone: String,
    pub handle: Handle,
    /// The first line of the brief.
    pub task: String,
    pub outcome: Outcome,
    pub reason: Option<String>,
    pub base: Oid,
    pub base_name: String,
    pub onto: RefName,
    pub paths: Vec<String>,
    pub checks: Vec<String>,
    /// The agent's command, secrets masked. Empty: the built-in scripted agent.
    pub agent: Vec<String>,
    pub limits: Limits,
    /// What its agent was shut in by; absent where it was not.
    #[serde(default, skip_serializing_if = "Jail::is_none")]
    pub jail: Jail,
    /// Its tmux window; absent where it has none.
    #[serde(default, skip_serializing_if = "Window::is_none")]
    pub window: Window,
    pub created: i64,
    pub ended: Option<i64>,
    pub exit: Option<i32>,
    /// `HEAD` of the worktree; none until the worktree stands.
    pub tip: Option<Oid>,
    /// The newest snapshot. It is local, so it is named here but never a parent.
    pub snapshot: Option<Oid>,
    pub flags: Vec<Flag>,
    /// What changed outside the worktree while it ran.
    pub outside: Vec<String>,
    /// How many deltas were frozen; they are numbered from 1.
    pub deltas: u32,
    /// What the newest of them is: whoever lists many workers does not read them all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<FrozenWork>,
    /// Who started it, if another worker did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// How deep workers may start others, counted from one that a person started; absent where none may.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spawn: u32,
    /// What its kind binds it to; absent where that is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Ties>,
    /// What it said of its work when it said that it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// Until when its agent cannot go on: it ran into a usage limit. In seconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<i64>,
    /// The name that its agent gave to its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What that went on from, if not from nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<Seeded>,
    /// What it asked, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// What it means to do, as it laid that out, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<LaidOut>,
    /// What it was told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Message>,
    /// How it was judged, newest last; of one delta only the newest judgment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judged: Vec<Judged>,
    /// Bundles that it is given, or was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loaded: Vec<Loaded>,
    /// The worker whose task it has, to do it better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<WorkerId>,
    /// The brief of a queue that it was, if it came from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brief: Option<BriefId>,
}

impl WorkerRecord {
    /// The questions that nobody has answered, oldest first.
    pub fn open_questions(&self) -> impl Iterator<Item = &Question> {
        self.questions.iter().filter(|q| self.messages.iter().all(|m| m.to != Some(q.n)))
    }

    /// Puts down a message to it, secrets masked: the answer to question `to`, or what became of the worker `from`.
    /// Gives its number.
    pub fn tell(&mut self, text: &str, to: Option<u32>, from: Option<WorkerId>, at: i64) -> u32 {
        let n = self.messages.len() as u32 + 1;
        self.messages.push(Message { n, text: mask(text), to, from, at, delivered: None, read: None });
        n
    }

    /// Puts down a judgment, in place of an older one of the same work.
    pub fn judge(&mut self, judged: Judged) {
        self.judged.retain(|before| before.raw != judged.raw);
        self.judged.push(judged);
    }

    /// Whether its kind lets it change no file.
    pub fn only_reads(&self) -> bool {
        self.kind.as_ref().is_some_and(|kind| kind.read_only)
    }

    /// Whether its kind wants a plan before it changes a file.
    pub fn plan_gate(&self) -> bool {
        self.kind.as_ref().is_some_and(|kind| kind.plan_gate)
    }

    pub fn has_approved_plan(&self) -> bool {
        self.plans.iter().any(LaidOut::is_approved)
    }

    /// Whether it may change files now.
    pub fn may_write(&self) -> bool {
        !self.only_reads() && (!self.plan_gate() || self.has_approved_plan())
    }

    /// The plan that a person has to decide on, if that is what it waits for.
    pub fn open_plan(&self) -> Option<&LaidOut> {
        self.plans.last().filter(|plan| plan.decided.is_none() && self.outcome == Outcome::NeedsInput)
    }

    /// Which of `changes` are not in the plan that it laid out last.
    pub fn off_plan(&self, changes: &[Change]) -> Result<Vec<String>> {
        let against = self.plans.last().map(|plan| plan.against(changes)).transpose()?;
        Ok(against.map(|against| against.off_plan).unwrap_or_default())
    }

    /// How many workers stand above it.
    pub fn depth(&self) -> u32 {
        self.parent.as_ref().map_or(0, |parent| parent.depth)
    }

    /// Whether its turn was cut short, or it was told something since it ended.
    pub fn waits_for_its_turn(&self) -> bool {
        let told = self.messages.iter().any(|m| m.delivered.is_none());
        self.outcome == Outcome::NeedsInput && (told || self.paused.is_some())
    }
}

/// The session of another worker that an agent went on from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seeded {
    pub worker: WorkerId,
    pub session: String,
}

/// The size of a delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrozenWork {
    pub tip: Oid,
    pub commits: u64,
    pub paths: u64,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// What ends a run, in seconds; none is no limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    pub timeout: Option<u64>,
    pub silence: Option<u64>,
    pub done_pattern: Option<String>,
}

/// A frozen version of a worker's work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeltaRecord {
    pub v: u32,
    pub n: u32,
    pub worker: WorkerId,
    pub base: Oid,
    /// The last commit of the delta: the worker's own, or one made from its working tree.
    pub tip: Oid,
    pub tree: Oid,
    pub commits: Vec<DeltaCommit>,
    pub net: Identity,
    /// Paths changed between base and tip.
    pub paths: u64,
    /// The working tree was taken in.
    pub uncommitted: bool,
    /// Where the lane of the clone that froze it was: what landed it there came after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<Oid>,
    pub created: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeltaCommit {
    pub oid: Oid,
    pub parents: u32,
    pub identity: Identity,
    pub author: String,
    pub subject: String,
}

/// One entry of a lane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneRecord {
    pub v: u32,
    pub op: OpId,
    pub at: i64,
    #[serde(flatten)]
    pub entry: Entry,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Entry {
    /// A trunk is about to move. The commit's parents keep candidate and delta alive.
    Intent(Landing),
    /// It moved.
    Landing(Landing),
    /// A branch is about to go back to where it was before an operation. The parents keep both ends.
    Undo(Undo),
    /// It went back.
    Undone(Undo),
    /// An intent or an undo moved nothing, and will not by this operation.
    Abandoned { why: String },
    /// A command was run on a tree.
    Evidence(Evidence),
    /// A person judged a delta, or answered a question.
    Verdict(Verdict),
    /// A person has made other commits of landed ones, which make the same changes. Each old one with the new one.
    Rewritten { commits: Vec<(Oid, Oid)> },
}

/// A branch moved from `old` to `new`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landing {
    pub onto: RefName,
    pub old: Oid,
    pub new: Oid,
    /// The worker's delta that came home; none for a person's branch.
    pub delta: Option<LandedDelta>,
    /// The branch given by name, for a person's branch.
    pub branch: Option<RefName>,
}

/// A branch goes back from `old`, where operation `undoes` had moved it, to `new`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undo {
    pub undoes: OpId,
    pub onto: RefName,
    pub old: Oid,
    pub new: Oid,
}

/// The move of a branch, as an intent announces it and a receipt confirms it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    pub op: OpId,
    pub at: i64,
    /// From where to where, and what comes home with it.
    pub landing: Landing,
    /// The operation that it takes back, if it is an undo.
    pub undoes: Option<OpId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandedDelta {
    pub worker: WorkerId,
    pub n: u32,
    pub base: Oid,
    pub tip: Oid,
    /// Each commit of the fork with the commit it became; a squash maps all to one.
    pub commits: Vec<(Oid, Oid)>,
    pub squash: bool,
    #[serde(rename = "match")]
    pub match_: Match,
    /// The delta's net digest, and that of what the landing changed.
    pub raw: RawDigest,
    pub landed_raw: RawDigest,
}

/// How close a landed change is to the delta it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Match {
    /// The raw digest is the same.
    Exact,
    /// A clean merge; context or blobs moved.
    Adjusted,
}

/// A candidate: the exact commit that would become the trunk, with all that its landing will say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CandidateRecord {
    pub v: u32,
    pub op: OpId,
    pub at: i64,
    pub landing: Landing,
    /// The gate that admitted it; none until it was admitted.
    pub admitted: Option<Vec<String>>,
}

impl CandidateRecord {
    /// The move that makes the candidate the tip of its branch.
    pub fn to_move(&self) -> Move {
        self.landing.clone().into_move(self.op, self.at)
    }
}

impl Landing {
    pub fn into_move(self, op: OpId, at: i64) -> Move {
        Move { op, at, landing: self, undoes: None }
    }
}

impl Undo {
    pub fn to_move(&self, op: OpId, at: i64) -> Move {
        let Undo { onto, old, new, .. } = self.clone();
        let landing = Landing { onto, old, new, delta: None, branch: None };
        Move { undoes: Some(self.undoes), ..landing.into_move(op, at) }
    }
}

impl Move {
    /// The record that it is about to happen.
    pub fn intent(&self) -> LaneRecord {
        self.record(Entry::Intent, Entry::Undo)
    }

    /// The record that it happened.
    pub fn receipt(&self) -> LaneRecord {
        self.record(Entry::Landing, Entry::Undone)
    }

    fn record(&self, landing: fn(Landing) -> Entry, undo: fn(Undo) -> Entry) -> LaneRecord {
        let moved = self.landing.clone();
        let entry = match self.undoes {
            None => landing(moved),
            Some(undoes) => undo(Undo { undoes, onto: moved.onto, old: moved.old, new: moved.new }),
        };
        LaneRecord { v: VERSION, op: self.op, at: self.at, entry }
    }

    /// The line that it leaves in the notes, and the commits that get it.
    pub fn note(&self) -> Option<(LandedNote, Vec<Oid>)> {
        let delta = self.landing.delta.as_ref()?;
        let mut landed: Vec<Oid> = delta.commits.iter().map(|(_, landed)| *landed).collect();
        landed.dedup();
        let note = LandedNote {
            v: VERSION,
            op: self.op,
            at: self.at,
            onto: self.landing.onto.clone(),
            worker: delta.worker,
            delta: delta.n,
            base: delta.base,
            raw: delta.raw.clone(),
        };
        Some((note, landed))
    }

    /// What the lane keeps alive from the intent on: after an undo nothing else may name what it took back.
    pub fn intent_keeps(&self) -> Vec<Oid> {
        let Landing { old, new, delta, .. } = &self.landing;
        let tip = delta.as_ref().map(|d| d.tip);
        [*new].into_iter().chain(tip).chain(self.undoes.map(|_| *old)).collect()
    }
}

/// The index of an archive, by worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoldedIndex {
    pub v: u32,
    pub workers: Vec<Folded>,
}

/// A closed worker in an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Folded {
    pub worker: WorkerId,
    pub handle: Handle,
    /// Its last record commit.
    pub record: Oid,
    /// Its `HEAD` when it was folded.
    pub tip: Oid,
    /// Its newest snapshot. It is local, so it is named here but never a parent of the archive.
    pub snapshot: Option<Oid>,
    pub at: i64,
    /// How often it was folded: of several entries the one that counts most is the newest.
    pub fold: u32,
}

/// A line of `refs/notes/skein/landed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandedNote {
    pub v: u32,
    pub op: OpId,
    pub at: i64,
    pub onto: RefName,
    pub worker: WorkerId,
    pub delta: u32,
    pub base: Oid,
    pub raw: RawDigest,
}

/// What reading a record of some version gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read<T> {
    Known(T),
    /// Listed with the reason, never rewritten.
    Unknown(String),
}

/// JSON with sorted keys, for people and `git diff`.
pub fn encode<T: Serialize>(record: &T) -> Result<Vec<u8>> {
    let text = serde_json::to_value(record).and_then(|value| serde_json::to_string_pretty(&value));
    text.map(|t| (t + "\n").into_bytes()).map_err(|e| Failure::fault("writing a record", e))
}

/// The same on one line without the line feed, for notes.
pub fn encode_line<T: Serialize>(record: &T) -> Result<String> {
    serde_json::to_value(record).map(|v| v.to_string()).map_err(|e| Failure::fault("writing a record", e))
}

pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Read<T> {
    #[derive(Deserialize)]
    struct Version {
        v: u64,
    }
    match serde_json::from_slice::<Version>(bytes) {
        Ok(found) if found.v == u64::from(VERSION) => match serde_json::from_slice(bytes) {
            Ok(record) => Read::Known(record),
            Err(e) => Read::Unknown(format!("damaged: {e}")),
        },
        Ok(found) => Read::Unknown(format!("version {} is not known here", found.v)),
        Err(e) => Read::Unknown(format!("damaged: {e}")),
    }
}
