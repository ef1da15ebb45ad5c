//! `dispatch --with-dirty`: the checkout that the person stands in becomes a base, with what is not committed
//! there. The base is a commit of ours on top of theirs; no branch ever names it, and what it holds beyond
//! theirs never lands: a delta is what the worker changed since.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::host::Scratch;
use crate::plumbing::Admin;
use crate::plumbing::Limits;
use crate::plumbing::Untracked;
use crate::state::dirty_base;
use crate::verbs::session::Session;
use bstr::BString;
use bstr::ByteSlice;
use std::os::unix::ffi::OsStrExt;

/// A checkout as it is at one moment.
pub struct Checkout {
    admin: Admin,
    pub is_main: bool,
    pub head: Oid,
    /// Its branch, or its commit.
    pub name: String,
    /// Changed or untracked and not ignored, sorted. Nested repositories are left out.
    paths: Vec<BString>,
}

impl Checkout {
    /// The checkout that the command was given in. Refuses what is too large to be put into a commit.
    pub fn look(session: &Session<'_>) -> Result<Checkout> {
        let here = session.repo.dirs.work_tree.as_deref().ok_or_else(no_checkout)?;
        let here = std::fs::canonicalize(here).unwrap_or_else(|_| here.to_owned());
        let worktrees = session.repo.worktrees()?;
        let (at, found) = worktrees
            .iter()
            .enumerate()
            .find(|(_, w)| !w.bare && std::fs::canonicalize(&w.path).is_ok_and(|path| path == here))
            .ok_or_else(no_checkout)?;
        let admin = found.admin();
        let head = session.repo.head_of(&admin)?.ok_or_else(no_checkout)?;
        let name = found.branch.as_ref().map_or_else(|| head.short().to_owned(), |b| b.short().to_owned());
        let mut paths: Vec<BString> = session
            .repo
            .status(&admin, Untracked::List)?
            .into_iter()
            .map(|dirty| dirty.path)
            .filter(|path| !path.ends_with(b"/"))
            .collect();
        paths.sort();
        paths.dedup();
        let found = Checkout { admin, is_main: at == 0, head, name, paths };
        found.refuse_large()?;
        Ok(found)
    }

    fn refuse_large(&self) -> Result<()> {
        let limits = Limits::default();
        let size = |path: &BString| {
            let at = self.admin.path.join(std::ffi::OsStr::from_bytes(path));
            std::fs::symlink_metadata(at).map_or(0, |m| m.len())
        };
        let large: Vec<String> = self
            .paths
            .iter()
            .filter(|path| size(path) > limits.file_bytes)
            .map(|path| path.to_str_lossy().into_owned())
            .collect();
        let says = if !large.is_empty() {
            format!("uncommitted files have more than {} MiB", limits.file_bytes >> 20)
        } else if self.paths.iter().map(size).sum::<u64>() > limits.total_bytes {
            format!("the uncommitted files have more than {} MiB together", limits.total_bytes >> 20)
        } else if self.paths.len() > limits.files {
            format!("more than {} files are not committed", limits.files)
        } else {
            return Ok(());
        };
        Err(Refusal::new(Token::TooLarge, says)
            .lines(large)
            .show("git status --short --untracked-files=all")
            .next("commit or remove them, or name them in .gitignore; then dispatch again")
            .into())
    }

    /// What goes into the base beyond the commit.
    pub fn taken(&self) -> Vec<String> {
        self.paths.iter().map(|path| path.to_str_lossy().into_owned()).collect()
    }

    /// The base: a commit of the checkout as it is, or its `HEAD` if nothing is changed. Its objects are written,
    /// no ref names them yet.
    pub fn commit(&self, session: &Session<'_>) -> Result<Oid> {
        if self.paths.is_empty() {
            return Ok(self.head);
        }
        let objects = &session.repo.objects;
        let scratch = Scratch::new(session.env, "skein-index-")?;
        let tree = session.repo.tree_with(&self.admin, &self.paths, &scratch.path().join("index"))?;
        if tree == objects.tree_of(self.head)? {
            return Ok(self.head);
        }
        let base = dirty_base(&session.repo, tree, self.head, session.clock.now_secs())?;
        // What git wrote must be as durable as what we write.
        objects.count_as_written(objects.brought(self.head, base)?);
        crate::fault::point("dispatch: base of uncommitted changes written");
        Ok(base)
    }
}

fn no_checkout() -> Failure {
    Refusal::new(Token::BadBase, "there is no checkout with a commit here whose changes could be taken")
        .show("git rev-parse --show-toplevel && git rev-parse --verify HEAD")
        .next("go into a checkout, or leave out --with-dirty")
        .into()
}
