//! The working tree of a worker as one git tree: no git process runs in it, no index of it is touched, no
//! filter and no configuration of the worker's choosing counts. The tree is hostile while it is read.

mod birth;
mod disk;
mod rules;
mod untouched;
mod walk;

#[cfg(test)]
mod tests;

pub use birth::Birth;
pub(in crate::plumbing) use birth::index_at;
pub(super) use disk::read_below;

use crate::domain::Change;
use crate::domain::Entry;
use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::Result;
use crate::plumbing::capture::walk::Known;
use crate::plumbing::capture::walk::Walk;
use crate::plumbing::objects::Objects;
use bstr::BStr;
use bstr::BString;
use bstr::ByteSlice;
use std::collections::HashMap;
use std::collections::HashSet;
use std::path::PathBuf;

/// The person's own ignore files, the weakest first: `core.excludesFile`, then `<common>/info/exclude`.
#[derive(Debug, Clone, Default)]
pub struct Excludes {
    pub files: Vec<PathBuf>,
}

/// What a capture takes in at most.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Of one file. A larger one is skipped and named.
    pub file_bytes: u64,
    /// Of all files that differ from the commit. More is a refusal.
    pub total_bytes: u64,
    /// Files that differ, folders that hold nothing tracked, names skipped. More is a refusal.
    pub files: usize,
    /// Folders inside one another. A deeper one is skipped and named.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { file_bytes: 100 << 20, total_bytes: 2 << 30, files: 200_000, depth: 256 }
    }
}

/// Whether `rules`, as an ignore file at the top has them, ignore `path`; and whether those at birth do.
#[cfg(feature = "fuzz")]
pub(in crate::plumbing) fn ignored(rules: &BString, path: &BStr, is_folder: bool) -> [bool; 2] {
    let mut all = rules::Rules::default();
    let depth = all.enter(b"".into(), Some(rules), Some(rules));
    let told = [all.ignores(path, is_folder), all.ignored_at_birth(path, is_folder)];
    all.leave(depth);
    told
}

/// Why something that stands in the tree is not in the capture. Except for [`Skipped::Special`], what the
/// commit has at the path stays: a thing that could not be read was not deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skipped {
    /// A fifo, a socket, a device.
    Special,
    TooLarge,
    Unreadable,
    /// No tree can hold the name, or git would not check it out.
    BadName,
    /// It kept changing while it was read.
    Raced,
}

/// A working tree as it was found: its files are as they stand on the disk, but for those that are as `HEAD` was
/// checked out.
#[derive(Debug)]
pub struct Captured {
    pub tree: Oid,
    /// From the commit's tree to `tree`.
    pub changes: Vec<Change>,
    /// Sorted by path.
    pub skipped: Vec<(BString, Skipped)>,
    /// Ignored now, but not by the rules that the worker was born with; a folder ends with a slash. Sorted;
    /// at most [`Captured::IGNORED_NAMED`] are named.
    pub ignored_new: Vec<BString>,
}

impl Captured {
    pub const IGNORED_NAMED: usize = 1000;
}

/// Captures one working tree, again and again: what did not change since the last time is not read again.
pub struct Capture<'a> {
    objects: &'a Objects,
    root: PathBuf,
    birth: Birth,
    excludes: Excludes,
    limits: Limits,
    known: HashMap<BString, Known>,
    base: Option<Base>,
    /// How many files were read so far.
    reads: u64,
}

/// The tree that a capture is compared with, and the folders that hold something tracked.
struct Base {
    tree: Oid,
    entries: HashMap<BString, Entry>,
    folders: HashSet<BString>,
}

impl<'a> Capture<'a> {
    pub fn new(
        objects: &'a Objects,
        root: PathBuf,
        birth: Birth,
        excludes: Excludes,
        limits: Limits,
    ) -> Capture<'a> {
        Capture { objects, root, birth, excludes, limits, known: HashMap::new(), base: None, reads: 0 }
    }

    /// The working tree as it is now, as a change of `against`, the tree of the worker's HEAD.
    pub fn tree(&mut self, against: Oid) -> Result<Captured> {
        let base = match self.base.take().filter(|base| base.tree == against) {
            Some(base) => base,
            None => Base::read(self.objects, against, &self.birth)?,
        };
        let captured = self.captured(&base);
        self.base = Some(base);
        captured
    }

    fn captured(&mut self, base: &Base) -> Result<Captured> {
        let root = disk::root(&self.root)
            .map_err(|e| Failure::fault(format!("opening the working tree {}", self.root.display()), e))?;
        let mut walk = self.walk(base)?;
        let removed = walk.run(&root)?;
        let Walk { mut found, mut skipped, mut ignored_new, .. } = walk;
        self.known.retain(|path, _| found.contains_key(path));
        // Removals go first: the editor would take `a/b` out of a tree `a` that has become a file, and back.
        let mut edits: Vec<(BString, Option<Entry>)> = removed.into_iter().map(|path| (path, None)).collect();
        found.retain(|path, entry| base.entries.get(path) != Some(entry));
        let mut changed: Vec<(BString, Option<Entry>)> =
            found.into_iter().map(|(p, e)| (p, Some(e))).collect();
        changed.sort_unstable();
        edits.extend(changed);
        let tree =
            if edits.is_empty() { base.tree } else { self.objects.edit_foreign_tree(base.tree, &edits)? };
        skipped.sort_unstable();
        ignored_new.sort_unstable();
        Ok(Captured { tree, changes: self.objects.diff_trees(base.tree, tree)?, skipped, ignored_new })
    }

    fn walk<'w>(&'w mut self, base: &'w Base) -> Result<Walk<'w>> {
        Ok(Walk {
            objects: self.objects,
            birth: &self.birth,
            base,
            limits: &self.limits,
            rules: rules::Rules::read(&self.excludes)?,
            tick: disk::tick(self.objects.dir()),
            known: &mut self.known,
            reads: &mut self.reads,
            found: HashMap::with_capacity(base.entries.len()),
            kept: HashSet::new(),
            skipped: Vec::new(),
            ignored_new: Vec::new(),
            counted: 0,
            bytes: 0,
        })
    }
}

impl Base {
    fn read(objects: &Objects, tree: Oid, birth: &Birth) -> Result<Base> {
        let entries: HashMap<BString, Entry> = objects.entries(tree)?.into_iter().collect();
        let mut folders = HashSet::new();
        for path in entries.keys().chain(birth.paths()) {
            for folder in folders_of(path.as_bstr()) {
                if !folders.contains(folder) {
                    folders.insert(folder.to_owned());
                }
            }
        }
        Ok(Base { tree, entries, folders })
    }
}

/// The folders that lead to `path`, the nearest first.
pub(super) fn folders_of(path: &BStr) -> impl Iterator<Item = &BStr> {
    path.rfind_iter(b"/").map(|end| path[..end].as_bstr())
}

/// True if `set` has `path` or a folder that leads to it.
fn holds(set: &HashSet<BString>, path: &BString) -> bool {
    !set.is_empty() && (set.contains(path) || folders_of(path.as_bstr()).any(|folder| set.contains(folder)))
}
