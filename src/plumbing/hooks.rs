//! Hooks: where git looks for them, and what it tells one that it starts.

use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Result;
use crate::plumbing::discover;
use crate::plumbing::git::Call;
use crate::plumbing::objects::Objects;
use crate::plumbing::repo::Repo;
use crate::plumbing::worktree::Admin;
use crate::plumbing::worktree::in_worktree;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;

/// The git folders that a hook was started for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    /// That of the worktree.
    pub git: PathBuf,
    /// The one that all worktrees share.
    pub common: PathBuf,
}

impl Called {
    /// From what git sets for a hook and from few reads; no process is started. None where there is no repository.
    pub fn find(cwd: &Path, git_dir: Option<&OsStr>) -> Option<Called> {
        let git = match git_dir {
            Some(dir) => cwd.join(dir).canonicalize().ok()?,
            None => return discover::around(cwd).map(|(git, common)| Called { git, common }),
        };
        let common = match std::fs::read(git.join("commondir")) {
            Ok(said) => {
                let said = said.strip_suffix(b"\n").unwrap_or(&said);
                git.join(OsStr::from_bytes(said)).canonicalize().ok()?
            }
            Err(_) => git.clone(),
        };
        Some(Called { git, common })
    }

    /// The reason that the worktree is locked with, if it is.
    pub fn locked(&self) -> Option<String> {
        let said = std::fs::read_to_string(self.git.join("locked")).ok()?;
        Some(said.trim_end().to_owned())
    }
}

/// Where git looks for hooks, as its configuration has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HooksPath {
    /// `core.hooksPath`, if it is set: the scope that sets it, and the value.
    pub named: Option<(String, String)>,
    pub folder: PathBuf,
    /// A file there is not ignored by the working tree that it would stand in.
    pub in_tree: bool,
}

impl Repo {
    /// Where git looks for the hooks of this worktree.
    pub fn hooks_path(&self) -> Result<HooksPath> {
        let here = self.dirs.work_tree.as_ref().unwrap_or(&self.dirs.git);
        let key = "core.hooksPath";
        let call = Call::new(["config", "--show-scope", "--get", key]).dir(here);
        let said = self.git.run(&call.for_person().unpinned().reads())?.text();
        let named = said.split_once('\t').map(|(scope, value)| (scope.to_owned(), value.to_owned()));
        let call = Call::new(["rev-parse", "--path-format=absolute", "--git-path", "hooks"]).dir(here);
        let folder = self.git.expect(&call.for_person().unpinned().reads())?.stdout;
        let folder = folder.strip_suffix(b"\n").unwrap_or(&folder);
        let folder = PathBuf::from(OsStr::from_bytes(folder));
        let in_tree = self.dirs.work_tree.as_ref().is_some_and(|top| folder.starts_with(top))
            && !folder.starts_with(&self.dirs.common)
            && !self.is_ignored(here, &folder)?;
        Ok(HooksPath { named, folder, in_tree })
    }

    fn is_ignored(&self, here: &Path, folder: &Path) -> Result<bool> {
        self.ignores(here, &folder.join("reference-transaction"))
    }

    /// Whether git ignores `path` in the working tree `here`, of this repository or another.
    pub fn ignores(&self, here: &Path, path: &Path) -> Result<bool> {
        let call = Call::new(["check-ignore", "--quiet", "--"]).arg(path).dir(here).for_person().reads();
        Ok(self.git.run(&call)?.ok())
    }

    /// The tree of what is staged in a worktree: in `index`, if git has named another one for now.
    pub fn staged(&self, admin: &Admin, index: Option<&OsStr>) -> Result<Oid> {
        let call = in_worktree(admin, &["write-tree"]);
        let call = index.into_iter().fold(call, |call, index| call.env("GIT_INDEX_FILE", index));
        self.git.expect(&call)?.text().parse()
    }

    /// The branch that the repository's own `HEAD` names.
    pub fn main_branch(&self) -> Result<Option<RefName>> {
        let said = self.git.run(&self.call(&["symbolic-ref", "--quiet", "HEAD"]).reads())?;
        Ok(RefName::new(said.text()).ok().filter(|_| said.ok()))
    }

    /// Reads from now on through the store `dir`: one that borrows from this repository's and from where git keeps
    /// what is pushed until it is accepted.
    pub fn read_through(&mut self, dir: &Path) -> Result<()> {
        self.objects = Objects::through(dir, self.objects.format())?;
        Ok(())
    }
}
