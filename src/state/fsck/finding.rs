//! What can be wrong, with a stable name for each.

use crate::domain::Oid;
use serde::Serialize;

/// How grave it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// An invariant does not hold.
    Error,
    /// What a crash leaves and the next writing verb ends, or what this version cannot judge.
    Warning,
}

/// Declares the codes: name in code, name for people and scripts, level.
macro_rules! codes {
    ($($name:ident $text:literal $level:ident;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Code { $($name),* }

        impl Code {
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text),* }
            }

            pub fn level(self) -> Level {
                match self { $(Code::$name => Level::$level),* }
            }
        }
    };
}

codes! {
    SentinelMissing "sentinel-missing" Error;
    SentinelAltered "sentinel-altered" Error;
    StrayRef "stray-ref" Error;
    SymbolicRef "symbolic-ref" Error;
    NotACommit "not-a-commit" Error;
    Unreadable "unreadable" Error;
    UnknownVersion "unknown-version" Warning;
    RecordDamaged "record-damaged" Error;
    NotCanonical "not-canonical" Error;
    MachineFact "machine-fact" Error;
    ChainBroken "chain-broken" Error;
    RecordDiffers "record-differs" Error;
    FileMissing "file-missing" Error;
    DeltaMissing "delta-missing" Error;
    DeltaAltered "delta-altered" Error;
    DeltaUnkept "delta-unkept" Error;
    DeltaDiffers "delta-differs" Error;
    MoveOpen "move-open" Warning;
    MoveUnended "move-unended" Error;
    MoveUnannounced "move-unannounced" Error;
    MoveDiffers "move-differs" Error;
    VerdictDiffers "verdict-differs" Error;
    NoteMissing "note-missing" Error;
    NoteAltered "note-altered" Error;
    NoteExtra "note-extra" Error;
    NoteDamaged "note-damaged" Error;
    NoteUnproven "note-unproven" Warning;
    CandidateDiffers "candidate-differs" Error;
    BundleDiffers "bundle-differs" Error;
    KeepRefMissing "keep-ref-missing" Error;
    KeepRefLacks "keep-ref-lacks" Error;
    KeepRefStray "keep-ref-stray" Error;
    WorktreeStray "worktree-stray" Error;
    WorktreeMissing "worktree-missing" Warning;
    LockStale "lock-stale" Warning;
    RunStray "run-stray" Warning;
}

impl Code {
    /// What to do about it.
    fn next(self) -> &'static str {
        match self {
            Code::NoteMissing
            | Code::NoteAltered
            | Code::NoteExtra
            | Code::NoteDamaged
            | Code::KeepRefMissing
            | Code::KeepRefLacks => "git skein fsck --rebuild makes it again, if what it needs is there",
            Code::MoveOpen | Code::LockStale => "the next verb that writes ends it",
            Code::UnknownVersion => "use the version that wrote it; this one leaves it as it is",
            Code::NoteUnproven => "if it is of another clone, fetch its lane",
            Code::StrayRef | Code::SymbolicRef | Code::KeepRefStray => {
                "look at it, then delete it: git update-ref --no-deref -d <ref>"
            }
            Code::WorktreeStray => "look at it; if nothing in it is needed: git worktree remove <path>",
            Code::WorktreeMissing => "nothing is lost that its refs hold: git skein show <worker>",
            Code::RunStray => {
                "git skein doctor --fix removes it if no agent ran there; nothing needs it, so it may be deleted"
            }
            _ => {
                "restore the ref or its objects from another clone or a backup; nothing is deleted meanwhile"
            }
        }
    }
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One thing that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub code: Code,
    pub level: Level,
    /// The ref, worktree or file concerned.
    pub name: String,
    /// The record commit or object concerned.
    pub oid: Option<Oid>,
    pub says: String,
    /// A plain git command that shows it.
    pub show: String,
    pub next: &'static str,
}

impl Finding {
    pub fn new(code: Code, name: String, says: String, show: String) -> Finding {
        Finding { code, level: code.level(), name, oid: None, says, show, next: code.next() }
    }
}
