//! Three-way merges of trees, in process. Attributes and merge drivers are neutral: nothing that a
//! repository or a worker configures changes a result. The caches are made once and reused.

use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::Result;
use crate::plumbing::objects::Objects;
use crate::plumbing::objects::id;
use crate::plumbing::objects::oid_of;
use crate::plumbing::patch::similarity;
use bstr::BString;
use gix::diff::tree_with_rewrites::Change;
use gix::merge::plumbing as gix_merge;
use gix::merge::plumbing::tree::Resolution;
use gix::objs::tree::EntryKind;

/// How alike two files must be for git to take them for one, in percent.
const ALIKE: u8 = 50;

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
        let mut modes: Vec<(BString, Option<Mode>)> = outcome.conflicts.iter().filter_map(renamed).collect();
        let mut tree = oid_of(&outcome.tree.write(|tree| objects.write_tree(tree)).map_err(failed)?);
        self.twins([base, ours, theirs], &mut modes)?;
        for (path, mode) in modes {
            match (objects.entry_at(tree, path.as_ref())?, mode) {
                (Some((there, _)), Some(mode)) if there == mode => {}
                (Some((there, blob)), Some(mode)) if is_file(there) => {
                    tree = objects.edit_tree(tree, [(path, Some((mode, blob)))])?;
                }
                _ => return Ok(Merged::Conflict(vec![path])),
            }
        }
        Ok(Merged::Clean(tree))
    }

    /// Files that both sides have anew, with two modes. The merge takes those of one content for clean and for programs;
    /// what they are is told by the file of the base that both have made them of. Without one there is no telling.
    fn twins(&self, [base, ours, theirs]: [Oid; 3], modes: &mut Vec<(BString, Option<Mode>)>) -> Result<()> {
        let changes = self.objects.diff_trees(base, theirs)?;
        for change in &changes {
            let (None, Some((mode, blob))) = (change.old, change.new) else { continue };
            let there = self.objects.entry_at(ours, change.path.as_ref())?.map(|entry| entry.0);
            if there.is_none_or(|there| there == mode) || modes.iter().any(|(path, _)| *path == change.path) {
                continue;
            }
            let mut origin = None;
            for gone in changes.iter().filter(|gone| gone.new.is_none()) {
                let Some((was, old)) = gone.old.filter(|(was, _)| is_file(*was)) else { continue };
                if is_file(mode) && self.objects.entry_at(ours, gone.path.as_ref())?.is_none() {
                    let alike = similarity(&self.objects.blob(old)?, &self.objects.blob(blob)?);
                    origin = origin.max(Some((alike, was)).filter(|(alike, _)| *alike >= ALIKE));
                }
            }
            let mode = origin.map(|(_, was)| changed_mode(was, mode, there.unwrap_or(was)));
            modes.push((change.path.clone(), mode.filter(|_| there.is_some_and(is_file))));
        }
        Ok(())
    }
}

fn is_file(mode: Mode) -> bool {
    matches!(mode, Mode::File | Mode::Executable)
}

/// What two sides make of a mode.
fn changed_mode(base: Mode, ours: Mode, theirs: Mode) -> Mode {
    if ours == base { theirs } else { ours }
}

/// The path and the mode of a file that both sides have changed, and to which a side has given another name: the merge
/// does not look at the mode in the base, and makes it a program whenever it is one on either side.
fn renamed(settled: &gix_merge::tree::Conflict) -> Option<(BString, Option<Mode>)> {
    let file = |entry: gix_merge::tree::ConflictIndexEntry| match entry.mode.kind() {
        EntryKind::Blob => Some(Mode::File),
        EntryKind::BlobExecutable => Some(Mode::Executable),
        _ => None,
    };
    let change =
        [&settled.ours, &settled.theirs].into_iter().find(|c| matches!(c, Change::Rewrite { .. }))?;
    let [base, ours, theirs] = settled.entries;
    let mode = changed_mode(file(base?)?, file(ours?)?, file(theirs?)?);
    let path = match &settled.resolution {
        Ok(Resolution::OursModifiedTheirsRenamedAndChangedThenRename {
            final_location: Some(path), ..
        }) => path.clone(),
        Ok(Resolution::SourceLocationAffectedByRename { .. }) => return None,
        _ => change.location().to_owned(),
    };
    Some((path, Some(mode)))
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
