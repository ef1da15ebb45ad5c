//! Three-way merges of trees, in process. Attributes and merge drivers are neutral: nothing that a
//! repository or a worker configures changes a result. The caches are made once and reused.

use crate::domain::Oid;
use crate::domain::Result;
use crate::plumbing::objects::Objects;
use crate::plumbing::objects::id;
use crate::plumbing::objects::oid_of;
use bstr::BString;
use gix::merge::plumbing as gix_merge;

/// Whether a merge follows renames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renames {
    /// As git does by default: at least 50 % alike.
    Follow,
    Ignore,
}

/// How a merge of three trees ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    Clean(Oid),
    /// The paths that need a person, sorted.
    Conflict(Vec<BString>),
}

impl Merged {
    pub fn is_tree(&self, tree: Oid) -> bool {
        *self == Merged::Clean(tree)
    }
}

/// Merges trees of one store.
pub struct Merger<'a> {
    objects: &'a Objects,
    diff: gix::diff::blob::Platform,
    blobs: gix_merge::blob::Platform,
}

impl<'a> Merger<'a> {
    /// Results are written to `objects`: give a scratch store to leave no trace.
    pub fn new(objects: &'a Objects) -> Merger<'a> {
        let hash = objects.hash;
        let filter = || gix::filter::plumbing::Pipeline::new(Default::default(), hash, Default::default());
        let diff = gix::diff::blob::Platform::new(
            gix::diff::blob::platform::Options {
                algorithm: Some(gix::diff::blob::Algorithm::Histogram),
                skip_internal_diff_if_external_is_configured: true,
            },
            gix::diff::blob::Pipeline::new(Default::default(), filter(), Vec::new(), Default::default()),
            gix::diff::blob::pipeline::Mode::ToGit,
            neutral(),
        );
        let blobs = gix_merge::blob::Platform::new(
            gix_merge::blob::Pipeline::new(Default::default(), filter(), Default::default()),
            gix_merge::blob::pipeline::Mode::ToGit,
            neutral(),
            Vec::new(),
            Default::default(),
        );
        Merger { objects, diff, blobs }
    }

    /// The merge of `ours` and `theirs`, both grown from `base`; all three are trees.
    pub fn trees(&mut self, base: Oid, ours: Oid, theirs: Oid, renames: Renames) -> Result<Merged> {
        if base == theirs || ours == theirs {
            return Ok(Merged::Clean(ours));
        }
        if base == ours {
            return Ok(Merged::Clean(theirs));
        }
        let objects = self.objects;
        let failed = |e: gix::Error| objects.carried(&format!("merging trees {base}, {ours}, {theirs}"), e);
        let mut outcome = gix_merge::tree(
            &id(base),
            &id(ours),
            &id(theirs),
            gix_merge::blob::builtin_driver::text::Labels {
                ancestor: Some("base".into()),
                current: Some("trunk".into()),
                other: Some("worker".into()),
            },
            &objects.odb,
            |bytes| objects.write_blob(bytes).map(id).map_err(|failure| objects.carry(failure)),
            &mut gix::diff::tree::State::default(),
            &mut self.diff,
            &mut self.blobs,
            options(renames),
        )
        .map_err(failed)?;
        let strict = gix_merge::tree::TreatAsUnresolved::git();
        let mut paths: Vec<BString> = outcome
            .conflicts
            .iter()
            .filter(|c| c.is_unresolved(strict))
            .map(|c| c.ours.location().to_owned())
            .collect();
        if !paths.is_empty() {
            paths.sort();
            paths.dedup();
            return Ok(Merged::Conflict(paths));
        }
        let forgotten =
            if renames == Renames::Follow { self.forgotten(base, ours, theirs)? } else { Vec::new() };
        if !forgotten.is_empty() {
            return Ok(Merged::Conflict(forgotten));
        }
        let tree = outcome.tree.write(|tree| objects.write_tree(tree)).map_err(failed)?;
        Ok(Merged::Clean(oid_of(&tree)))
    }

    /// Files that one side has under another name, and whose mode the other side has changed: the merge takes them for
    /// clean, and the mode is that of the base again.
    fn forgotten(&self, base: Oid, ours: Oid, theirs: Oid) -> Result<Vec<BString>> {
        let mut paths = Vec::new();
        for change in self.objects.diff_trees(base, theirs)? {
            let Some((mode, _)) = change.old else { continue };
            let there = self.objects.entry_at(ours, change.path.as_ref())?;
            let (one, other) = (change.new.map(|e| e.0), there.map(|e| e.0));
            if one.xor(other).is_some_and(|changed| changed != mode) {
                paths.push(change.path);
            }
        }
        Ok(paths)
    }
}

fn options(renames: Renames) -> gix_merge::tree::Options {
    let mut options = gix_merge::tree::Options {
        rewrites: (renames == Renames::Follow).then(gix::diff::Rewrites::default),
        ..Default::default()
    };
    options.blob_merge.text.diff_algorithm = gix::diff::blob::Algorithm::Histogram;
    options
}

/// An attribute stack that knows no attribute.
fn neutral() -> gix::worktree::Stack {
    let attributes = gix::worktree::stack::state::Attributes::new(
        Default::default(),
        None,
        gix::worktree::stack::state::attributes::Source::IdMapping,
        Default::default(),
    );
    gix::worktree::Stack::new(
        "/nowhere",
        gix::worktree::stack::State::AttributesStack(attributes),
        gix::glob::pattern::Case::Sensitive,
        Vec::new(),
        Vec::new(),
    )
}

/// See `git_skein::bench_merge`. Trees are full ids.
#[cfg(feature = "bench")]
pub fn bench_merge(dir: &std::path::Path, trees: [&str; 3], times: usize) -> Result<(String, Vec<f64>)> {
    let objects = Objects::open(dir, "sha1")?.scratch()?;
    let [base, ours, theirs] = [trees[0].parse()?, trees[1].parse()?, trees[2].parse()?];
    let mut merger = Merger::new(&objects);
    let (mut tree, mut millis) = (String::new(), Vec::new());
    for _ in 0..times {
        let started = std::time::Instant::now();
        if let Merged::Clean(oid) = merger.trees(base, ours, theirs, Renames::Follow)? {
            tree = oid.to_string();
        }
        millis.push(started.elapsed().as_secs_f64() * 1e3);
    }
    Ok((tree, millis))
}
