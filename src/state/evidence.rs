//! What a gate or a check showed, and what was decided on it, as the lane records them.

use crate::domain::Decision;
use crate::domain::Oid;
use crate::domain::RawDigest;
use crate::domain::Risk;
use crate::domain::WorkerId;
use serde::Deserialize;
use serde::Serialize;

/// A command that was run on a tree. Its capped output is the blob `output` beside the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    pub tree: Oid,
    pub command: String,
    pub exit: Option<i32>,
    pub millis: u64,
    /// SHA-256 of the whole output, in hex.
    pub digest: String,
    pub bytes: u64,
    /// How many tests ran, if a test runner said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<u64>,
    /// Versions of what it was run with, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// What of the tree it depends on, if somebody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<Reads>,
    /// It was run to be compared with what was recorded before, and is not what the next one is compared with.
    #[serde(default, skip_serializing_if = "is_false")]
    pub verifies: bool,
}

fn is_false(truth: &bool) -> bool {
    !truth
}

impl Evidence {
    /// Whether it ended well, and a test runner, if one spoke, ran tests.
    pub fn is_pass(&self, allow_empty: bool) -> bool {
        self.exit == Some(0) && (allow_empty || self.tests != Some(0))
    }

    /// How it ended, in words.
    pub fn ended(&self) -> String {
        self.exit.map_or_else(|| "no exit code".to_owned(), |code| format!("exit {code}"))
    }
}

/// The part of a tree that a command reads: another tree with the same part need not be checked again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Reads {
    pub globs: Vec<String>,
    /// SHA-256 over path, mode and id of each file that they cover, in hex.
    pub digest: String,
}

/// A decision on one exact delta, or an answer to one exact question. `Name <mail>` of who decided, what was seen of
/// the work then, and the record that it was decided on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub verb: Decision,
    pub worker: WorkerId,
    pub actor: String,
    /// The delta, its tip and the raw digest of all that it changes; none of a question, or of a run without work.
    pub delta: Option<u32>,
    pub tip: Option<Oid>,
    pub raw: Option<RawDigest>,
    pub question: Option<u32>,
    /// The number of the option that was chosen.
    pub option: Option<u32>,
    /// What was said, secrets masked.
    pub text: Option<String>,
    pub risk: Option<Risk>,
    /// Records on lanes of commands that had run on the trees of the delta's commits.
    pub evidence: Vec<Oid>,
    pub record: Oid,
    /// The worker that gets the task now.
    pub retry: Option<WorkerId>,
}
