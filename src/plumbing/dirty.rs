//! A checkout with what is not committed there as one tree, by git's own plumbing on a copy of the index: the
//! person's filters and line endings count, and their index and files stay as they are.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::Result;
use crate::plumbing::git::Call;
use crate::plumbing::repo::Repo;
use crate::plumbing::worktree::Admin;
use crate::plumbing::worktree::in_worktree;
use bstr::BString;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

impl Repo {
    /// The tree of the index of `admin` with `paths` as they stand in its working tree. `copy` is where the copy
    /// of the index goes; it is left there.
    pub fn tree_with(&self, admin: &Admin, paths: &[BString], copy: &Path) -> Result<Oid> {
        let copied = crate::fault::file().and_then(|()| match fs::copy(admin.dir.join("index"), copy) {
            // No index is an empty one.
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(0),
            other => other,
        });
        copied.map_err(|e| Failure::fault(format!("copying the index of {}", admin.path.display()), e))?;
        let on_copy = |args: &[&str]| -> Call<'_> {
            let args = [&["-c", "core.splitIndex=false"], args].concat();
            in_worktree(admin, &args).env("GIT_INDEX_FILE", copy)
        };
        let mut list = Vec::new();
        for path in paths {
            list.extend_from_slice(path);
            list.push(0);
        }
        self.git.expect(&on_copy(&["update-index", "-z", "--add", "--remove", "--stdin"]).stdin(&list))?;
        let written = self.git.expect(&on_copy(&["write-tree"]))?;
        written.text().parse()
    }
}
