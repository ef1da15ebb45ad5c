//! A checkout with what is not committed there as one tree, by git's own plumbing on a copy of the index: the
//! person's filters and line endings count, and their index and files stay as they are.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::Result;
use crate::plumbing::git::Call;
use crate::plumbing::index::copy_index;
use crate::plumbing::repo::Repo;
use crate::plumbing::stored::refused;
use crate::plumbing::worktree::Admin;
use crate::plumbing::worktree::in_worktree;
use crate::plumbing::worktree::split;
use bstr::BString;
use std::path::Path;

impl Repo {
    /// The tree of the index of `admin` with `paths` as they stand in its working tree. `copy` is where the copy
    /// of the index goes; it is left there.
    pub fn tree_with(&self, admin: &Admin, paths: &[BString], copy: &Path) -> Result<Oid> {
        copy_index(admin, copy)?;
        let on_copy = |args: &[&str]| -> Call<'_> {
            let args = [&["-c", "core.splitIndex=false"], args].concat();
            in_worktree(admin, &args).env("GIT_INDEX_FILE", copy)
        };
        let list = terminated(paths);
        let args = ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"];
        let added = self.git.run(&on_copy(&args).stdin(&list))?;
        if !added.ok() {
            return Err(refused(&added));
        }
        let written = self.git.expect(&on_copy(&["write-tree"]))?;
        written.text().parse()
    }

    /// The files of the working tree of `admin` that are not tracked and that the rules in the file `rules`, written
    /// like a `.gitignore`, name. Nested repositories are folders with a slash.
    pub fn untracked_named(&self, admin: &Admin, rules: &Path) -> Result<Vec<BString>> {
        let call =
            in_worktree(admin, &["ls-files", "-z", "--others", "--ignored", "--exclude-from"]).arg(rules);
        Ok(split(&self.git.expect(&call.reads())?.stdout))
    }

    /// Those of `paths` that git ignores in the working tree of `admin`: never a tracked one.
    pub fn ignored_among(&self, admin: &Admin, paths: &[BString]) -> Result<Vec<BString>> {
        let list = terminated(paths);
        let output =
            self.git.run(&in_worktree(admin, &["check-ignore", "-z", "--stdin"]).stdin(&list).reads())?;
        match output.code {
            // 1: none of them.
            0 | 1 => Ok(split(&output.stdout)),
            _ => Err(Failure::fault("asking what is ignored", output.words())),
        }
    }
}

/// Paths as git reads them with `-z`.
pub(super) fn terminated(paths: &[BString]) -> Vec<u8> {
    paths.iter().flat_map(|path| path.iter().copied().chain([0])).collect()
}
