//! What the surroundings of a repository mean for the program: facts in, one finding or more for each check.

mod machine;
mod refs;
mod setup;
mod state;
#[cfg(test)]
mod tests;

pub use refs::Ours;
pub use setup::hooks_inside;
pub use state::Intent;
pub use state::LockFile;
pub use state::Lost;
pub use state::Tree;
pub use state::rescue;

use crate::domain::Config;
use crate::domain::Refusal;
use serde::Serialize;
use std::path::PathBuf;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Ok,
    /// Good to know; nothing has to be done.
    Note,
    /// Something does not do what a person would expect.
    Warning,
    /// Something is broken or will be lost.
    Problem,
}

impl Level {
    pub fn word(self) -> &'static str {
        match self {
            Level::Ok => "ok",
            Level::Note => "note",
            Level::Warning => "warning",
            Level::Problem => "problem",
        }
    }
}

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub check: &'static str,
    pub level: Level,
    pub says: String,
    /// Paths or names concerned, one a line.
    pub lines: Vec<String>,
    /// A plain command that shows the same.
    pub show: String,
    /// What to do; empty if there is nothing to do.
    pub next: String,
}

impl Finding {
    fn new(check: &'static str, level: Level, says: impl Into<String>) -> Finding {
        Finding {
            check,
            level,
            says: says.into(),
            lines: Vec::new(),
            show: String::new(),
            next: String::new(),
        }
    }

    fn ok(check: &'static str, says: impl Into<String>) -> Finding {
        Finding::new(check, Level::Ok, says)
    }

    fn note(check: &'static str, says: impl Into<String>) -> Finding {
        Finding::new(check, Level::Note, says)
    }

    fn warning(check: &'static str, says: impl Into<String>) -> Finding {
        Finding::new(check, Level::Warning, says)
    }

    fn problem(check: &'static str, says: impl Into<String>) -> Finding {
        Finding::new(check, Level::Problem, says)
    }

    fn lines(mut self, lines: impl IntoIterator<Item = String>) -> Finding {
        self.lines.extend(lines);
        self
    }

    fn show(mut self, command: impl Into<String>) -> Finding {
        self.show = command.into();
        self
    }

    fn next(mut self, remedy: impl Into<String>) -> Finding {
        self.next = remedy.into();
        self
    }
}

/// All that was looked at.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// As git states it: `2.47.3`, `2.39.5 (Apple Git-154)`.
    pub git: String,
    /// The person's.
    pub config: Config,
    pub common: PathBuf,
    /// The kind of file system, if the system tells.
    pub file_system: Option<&'static str>,
    /// Whether a name in other case opens the same file.
    pub folds_case: Option<bool>,
    pub free_bytes: u64,
    /// None where the file system does not count them.
    pub free_inodes: Option<u64>,
    /// Hooks of ours that start a program which is not there any more, each with it.
    pub hooks_gone: Vec<String>,
    /// Hooks of ours that somebody has replaced or taken away, while others of ours are in place.
    pub hooks_replaced: Vec<String>,
    /// The repository belongs to another user.
    pub foreign: bool,
    pub shallow: bool,
    pub sha256: bool,
    pub reftable: bool,
    pub bare: bool,
    /// A `.git` folder with an index: a working tree belongs to it.
    pub has_tree: bool,
    /// The folder that `core.worktree` names is there.
    pub core_worktree_there: bool,
    pub identity: bool,
    /// Whether the folder of a relative `core.hooksPath` is part of the trunk's tree.
    pub hooks_tracked: bool,
    /// Why no jail can be made here, if none can.
    pub no_jail: Option<String>,
    pub modules: bool,
    pub alternates: Vec<String>,
    pub replaced: usize,
    pub grafts: bool,
    pub ours: Ours,
    pub trunk: Option<String>,
    /// Why our state cannot be read; then nobody knows what is a worker's.
    pub refused: Option<Refusal>,
    /// What could not be looked at, and why.
    pub faults: Vec<String>,
    pub worktrees: Vec<Tree>,
    /// Folders where our worktrees stand that git does not know.
    pub strangers: Vec<String>,
    pub locks: Vec<LockFile>,
    /// Files of objects that hold no byte.
    pub empty: Vec<String>,
    pub lost: Vec<Lost>,
    /// Workers that are recorded as running, but whose supervisor is gone.
    pub gone: Vec<String>,
    pub unreadable: Vec<String>,
    pub intent: Option<Intent>,
}

/// One check: its name, and what the facts mean for it.
type Check = (&'static str, fn(&'static str, &Facts) -> Vec<Finding>);

const CHECKS: &[Check] = &[
    ("git", machine::git),
    ("file-system", machine::file_system),
    ("space", machine::space),
    ("history", machine::history),
    ("partial-clone", machine::partial_clone),
    ("formats", machine::formats),
    ("core-bare", setup::bare),
    ("core-worktree", setup::worktree),
    ("hooks", setup::hooks),
    ("jail", setup::jail),
    ("identity", setup::identity),
    ("signing", setup::signing),
    ("filters", setup::filters),
    ("merge-drivers", setup::merge_drivers),
    ("submodules", setup::submodules),
    ("sparse", setup::sparse),
    ("alternates", setup::alternates),
    ("replacements", setup::replacements),
    ("worktree-config", setup::worktree_config),
    ("safe-directory", setup::safe_directory),
    ("refspecs", refs::refspecs),
    ("log", refs::log),
    ("state", state::state),
    ("trunk", state::trunk),
    ("worktrees", state::worktrees),
    ("locks", state::locks),
    ("empty-objects", state::empty_objects),
    ("intents", state::intents),
    ("workers", state::workers),
    ("lost-commits", state::lost),
];

/// Every check, in order; each finds at least one thing.
pub fn examine(facts: &Facts) -> Vec<Finding> {
    CHECKS.iter().flat_map(|(name, check)| check(name, facts)).collect()
}
