//! How much of what a worker committed may come in at once, and what cannot come in at all.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::plumbing::repo::Repo;
use bstr::ByteSlice;

pub(super) const NO_COMMIT: &str = "its HEAD is not there, or no commit";

/// What may come in at once.
#[derive(Debug, Clone)]
pub struct Quota {
    pub objects: usize,
    /// Of one object.
    pub object_bytes: u64,
    /// Of all of them, unpacked.
    pub total_bytes: u64,
    /// Files of one tree, counted where they would stand.
    pub files: u64,
    /// Folders inside one another.
    pub depth: usize,
}

impl Default for Quota {
    fn default() -> Quota {
        Quota {
            objects: 500_000,
            object_bytes: 100 << 20,
            total_bytes: 2 << 30,
            files: 1_000_000,
            depth: 256,
        }
    }
}

impl Repo {
    /// Refuses what `tip` has and `from` has not, if a tree of it would not be a sane number of files, however few
    /// objects it is made of, if it is too much to be read, or if it is not all there.
    pub fn bound(&self, from: Oid, tip: Oid, base: Oid, quota: &Quota) -> Result<()> {
        let back = format!("in its worktree: git update-ref --no-deref HEAD {from}");
        if !self.objects.is_commit(tip) {
            let refusal = stays_out(NO_COMMIT, Vec::new()).oid("HEAD", tip);
            return Err(refusal.show(format!("git cat-file -t {tip}")).next(back).into());
        }
        match self.measure(from, tip, base, quota) {
            Err(Failure::Fault(fault)) => match self.broken(from, tip)? {
                Some(words) => Err(stays_out("its objects do not hang together", vec![words])
                    .oid("HEAD", tip)
                    .show(format!("git rev-list --objects {tip} ^{from} && git cat-file -p {tip}"))
                    .next(back)
                    .into()),
                None => Err(Failure::Fault(fault)),
            },
            measured => measured,
        }
    }

    fn measure(&self, from: Oid, tip: Oid, base: Oid, quota: &Quota) -> Result<()> {
        self.weigh(&self.objects.between(from, tip)?, base, quota)?;
        let mut sizes = Vec::new();
        for oid in self.objects.brought(from, tip)? {
            sizes.push((self.objects.size(oid)?.unwrap_or_default(), oid.to_string()));
        }
        let refused =
            |refusal: Box<Refusal>| (*refusal).show(format!("git log --oneline {tip} ^{from}")).into();
        within(sizes.into_iter(), quota).map_err(refused)
    }

    /// What is wrong with the objects that `tip` has and `from` has not, where it is them and not their reading. git
    /// walks over commits that it would not take from elsewhere.
    fn broken(&self, from: Oid, tip: Oid) -> Result<Option<String>> {
        let (tip, from) = (tip.to_string(), format!("^{from}"));
        let walked = self.git.run(&self.call(&["rev-list", "--objects", "--quiet", &tip, &from]).reads())?;
        if !walked.ok() {
            return Ok(Some(walked.words()));
        }
        let listed = self.git.expect(&self.call(&["rev-list", &tip, &from]).reads())?;
        let wrong = |oid: Oid| self.objects.commit(oid).err().filter(|_| self.objects.is_commit(oid));
        let commits = listed.stdout.lines().filter_map(|line| line.to_str().ok()?.parse().ok());
        Ok(commits.filter_map(wrong).map(|failure| failure.to_string()).next())
    }

    /// Refuses commits of which a tree would not be a sane number of files. Where that of `base` already is none,
    /// the person works with such trees.
    pub(super) fn weigh(&self, commits: &[Oid], base: Oid, quota: &Quota) -> Result<()> {
        let trees = commits.iter().map(|c| self.objects.tree_of(*c)).collect::<Result<Vec<Oid>>>()?;
        let beyond = |trees: &[Oid]| self.objects.beyond(trees, quota.depth, quota.files);
        let Some(found) = beyond(&trees)? else { return Ok(()) };
        if beyond(&[self.objects.tree_of(base)?])?.is_some() {
            return Ok(());
        }
        Err(stays_out(&format!("the tree {found} has too many files or folders, or is none"), Vec::new())
            .show(format!("git ls-tree {found}"))
            .into())
    }
}

/// What `cat-file --batch-check=%(objectsize) %(objectname)` says; a size that cannot be read is any.
pub(super) fn sizes(listed: &[u8]) -> impl Iterator<Item = (u64, String)> {
    listed.lines().map(|line| {
        let (size, oid) = line.split_once_str(" ").unwrap_or((line, b""));
        (size.to_str().ok().and_then(|s| s.parse().ok()).unwrap_or(u64::MAX), oid.as_bstr().to_string())
    })
}

/// Refuses objects of these sizes if one is too large, or all of them are.
pub(super) fn within(
    sizes: impl Iterator<Item = (u64, String)>,
    quota: &Quota,
) -> std::result::Result<(), Box<Refusal>> {
    let mut total = 0u64;
    for (size, oid) in sizes {
        total = total.saturating_add(size);
        if size > quota.object_bytes {
            let says = format!("object {oid} has more than {} bytes", quota.object_bytes);
            return Err(Box::new(stays_out(&says, Vec::new())));
        }
    }
    if total > quota.total_bytes {
        let says = format!("{total} bytes are more than {}", quota.total_bytes);
        return Err(Box::new(stays_out(&says, Vec::new())));
    }
    Ok(())
}

pub(super) fn stays_out(what: &str, lines: Vec<String>) -> Refusal {
    Refusal::new(Token::Quarantined, format!("what the worker committed does not come in: {what}"))
        .lines(lines)
        .show("git --git-dir=<private>/worktrees/<name> log --stat HEAD")
        .next("its working tree is kept as a snapshot; look at its private store before you trust it")
}
