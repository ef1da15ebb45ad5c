//! What the surroundings of a repository mean for the program: facts in, one finding or more for each check.

mod refs;
mod setup;
mod state;

pub use refs::Ours;
pub use state::Intent;
pub use state::LockFile;
pub use state::Lost;
pub use state::Tree;
pub use state::rescue;

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

/// The person's configuration: keys in lower case as git lists them, the last value of a key counts.
#[derive(Debug, Clone, Default)]
pub struct Settings(pub Vec<(String, String)>);

impl Settings {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().rev().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    fn is_true(&self, key: &str) -> bool {
        let value = self.get(key).map(str::to_ascii_lowercase);
        matches!(value.as_deref(), Some("true" | "yes" | "on" | "1"))
    }

    fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// The keys `<section>.<name>.<last>` with their names and values.
    fn named<'a>(&'a self, section: &str, last: &str) -> Vec<(&'a str, &'a str)> {
        let (start, end) = (format!("{section}."), format!(".{last}"));
        let name = |k: &'a str| k.strip_prefix(&start)?.strip_suffix(&end);
        self.0.iter().filter_map(|(k, v)| Some((name(k)?, v.as_str()))).collect()
    }
}

/// All that was looked at.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// As git states it: `2.47.3`, `2.39.5 (Apple Git-154)`.
    pub git: String,
    pub config: Settings,
    pub common: PathBuf,
    /// The kind of file system, if the system tells.
    pub file_system: Option<&'static str>,
    /// Whether a name in other case opens the same file.
    pub folds_case: Option<bool>,
    pub free_bytes: u64,
    /// None where the file system does not count them.
    pub free_inodes: Option<u64>,
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
    pub modules: bool,
    pub alternates: Vec<String>,
    pub replaced: usize,
    pub grafts: bool,
    pub ours: Ours,
    pub trunk: Option<String>,
    /// Why there is no trunk, or why our state cannot be read.
    pub refused: Vec<Refusal>,
    pub worktrees: Vec<Tree>,
    /// Folders where our worktrees stand that git does not know.
    pub strangers: Vec<String>,
    pub locks: Vec<LockFile>,
    pub lost: Vec<Lost>,
    /// Workers that are recorded as running, but whose supervisor is gone.
    pub gone: Vec<String>,
    pub unreadable: Vec<String>,
    pub intent: Option<Intent>,
}

/// One check: its name, and what the facts mean for it.
type Check = (&'static str, fn(&'static str, &Facts) -> Vec<Finding>);

const CHECKS: &[Check] = &[
    ("git", setup::git),
    ("file-system", setup::file_system),
    ("space", setup::space),
    ("history", setup::history),
    ("partial-clone", setup::partial_clone),
    ("formats", setup::formats),
    ("core-bare", setup::bare),
    ("core-worktree", setup::worktree),
    ("hooks", setup::hooks),
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
    ("intents", state::intents),
    ("workers", state::workers),
    ("lost-commits", state::lost),
];

/// Every check, in order; each finds at least one thing.
pub fn examine(facts: &Facts) -> Vec<Finding> {
    CHECKS.iter().flat_map(|(name, check)| check(name, facts)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(config: &[(&str, &str)], change: impl Fn(&mut Facts), check: &str) -> Level {
        let mut facts = Facts {
            git: "2.47.3".into(),
            free_bytes: 1 << 40,
            identity: true,
            core_worktree_there: true,
            ours: Ours { namespaces: &["refs/ours", "refs/ours-local"], hidden: &["refs/ours*"], any: true },
            trunk: Some("main".into()),
            ..Facts::default()
        };
        facts.config = Settings(config.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect());
        change(&mut facts);
        let found = examine(&facts);
        for (name, _) in CHECKS {
            assert!(found.iter().any(|f| f.check == *name), "{name} says nothing");
        }
        for f in found.iter().filter(|f| f.level > Level::Note) {
            assert!(!f.show.is_empty() && !f.next.is_empty(), "{f:?}");
        }
        found.iter().filter(|f| f.check == check).map(|f| f.level).max().unwrap_or(Level::Ok)
    }

    #[test]
    fn a_plain_repository_is_well() {
        for (name, _) in CHECKS {
            assert!(level(&[], |_| {}, name) <= Level::Note, "{name}");
        }
    }

    #[test]
    fn configuration_is_judged() {
        for (check, key, value, want) in [
            ("hooks", "core.hookspath", ".husky/_", Level::Warning),
            ("hooks", "core.hookspath", "/opt/hooks", Level::Ok),
            ("hooks", "core.hookspath", "~/hooks", Level::Ok),
            ("refspecs", "remote.o.fetch", "+refs/heads/*:refs/remotes/o/*", Level::Ok),
            ("refspecs", "remote.o.fetch", "+refs/*:refs/*", Level::Problem),
            ("refspecs", "remote.o.fetch", "refs/ours/*:refs/ours/*", Level::Problem),
            ("refspecs", "remote.o.fetch", "refs/x:refs/ours/lane/x", Level::Problem),
            ("refspecs", "remote.o.fetch", "refs/ours/*:refs/ours-remote/o/*", Level::Ok),
            ("refspecs", "remote.o.fetch", "+refs/heads/*:refs/heads/*", Level::Warning),
            ("refspecs", "remote.o.fetch", "refs/heads/*:refs/heads/*", Level::Note),
            ("refspecs", "remote.o.fetch", "^refs/heads/x", Level::Ok),
            ("refspecs", "remote.o.fetch", "main", Level::Ok),
            ("refspecs", "remote.o.push", "refs/heads/*:refs/heads/*", Level::Ok),
            ("refspecs", "remote.o.push", "refs/*:refs/*", Level::Warning),
            ("refspecs", "remote.o.mirror", "true", Level::Warning),
            ("log", "log.initialdecorationset", "all", Level::Note),
            ("signing", "commit.gpgsign", "true", Level::Note),
            ("filters", "filter.lfs.clean", "git-lfs clean -- %f", Level::Note),
            ("merge-drivers", "merge.x.driver", "x %A", Level::Note),
            ("sparse", "core.sparsecheckout", "true", Level::Note),
            ("safe-directory", "safe.directory", "*", Level::Note),
            ("partial-clone", "remote.o.promisor", "true", Level::Note),
        ] {
            assert_eq!(level(&[(key, value)], |_| {}, check), want, "{key}={value}");
        }
        let tracked = |f: &mut Facts| f.hooks_tracked = true;
        assert_eq!(level(&[("core.hookspath", ".githooks")], tracked, "hooks"), Level::Ok);
        let gone = |f: &mut Facts| f.core_worktree_there = false;
        assert_eq!(level(&[("core.worktree", "/gone")], gone, "core-worktree"), Level::Problem);
        let hidden = [("log.initialdecorationset", "all"), ("log.excludedecoration", "refs/ours*")];
        assert_eq!(level(&hidden, |_| {}, "log"), Level::Ok);
        assert_eq!(level(&[], |f| f.ours.any = true, "log"), Level::Ok);
    }

    #[test]
    fn versions_of_git() {
        for (text, want) in [
            ("2.38.9", Level::Problem),
            ("1.9", Level::Problem),
            ("2.39.5 (Apple Git-154)", Level::Ok),
            ("2.47.0.windows.1", Level::Ok),
            ("2.54.rc1", Level::Ok),
            ("3.0.0", Level::Ok),
            ("nonsense", Level::Problem),
        ] {
            assert_eq!(level(&[], |f| f.git = text.into(), "git"), want, "{text}");
        }
    }

    #[test]
    fn the_machine_is_judged() {
        let fs = |name: &'static str| level(&[], |f| f.file_system = Some(name), "file-system");
        assert_eq!([fs("ext4"), fs("tmpfs"), fs("nfs")], [Level::Ok, Level::Note, Level::Warning]);
        let folds = |f: &mut Facts| f.folds_case = Some(true);
        assert_eq!(level(&[("core.ignorecase", "true")], folds, "file-system"), Level::Note);
        assert_eq!(level(&[], folds, "file-system"), Level::Warning);
        let space = |bytes| level(&[], |f| f.free_bytes = bytes, "space");
        assert_eq!(
            [space(1 << 20), space(100 << 20), space(9 << 30)],
            [Level::Problem, Level::Warning, Level::Ok]
        );
        assert_eq!(level(&[], |f| f.free_inodes = Some(10), "space"), Level::Problem);
        assert_eq!(level(&[], |f| (f.bare, f.has_tree) = (true, true), "core-bare"), Level::Problem);
        assert_eq!(level(&[], |f| f.bare = true, "core-bare"), Level::Ok);
    }

    #[test]
    fn locks_are_judged_by_who_holds_them() {
        let lock = |op: Option<&str>, holders: Option<Vec<String>>, alive| {
            let lock = LockFile {
                path: "index.lock".into(),
                op: op.map(str::to_owned),
                holders,
                owner_lives: alive,
            };
            level(&[], |f| f.locks = vec![lock.clone()], "locks")
        };
        assert_eq!(lock(None, Some(vec!["7 git".into()]), false), Level::Note);
        assert_eq!(lock(None, Some(Vec::new()), false), Level::Warning);
        assert_eq!(lock(None, None, false), Level::Note, "nobody can tell");
        assert_eq!(lock(Some("01"), Some(Vec::new()), true), Level::Note);
        assert_eq!(lock(Some("01"), Some(Vec::new()), false), Level::Warning);
    }
}
