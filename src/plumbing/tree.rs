//! Trees: differences, edits, look-ups.

use crate::domain::Change;
use crate::domain::Entry;
use crate::domain::Failure;
use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::Result;
use crate::plumbing::disk;
use crate::plumbing::objects::Objects;
use crate::plumbing::objects::id;
use crate::plumbing::objects::oid_of;
use bstr::BStr;
use bstr::BString;
use bstr::ByteSlice;
use gix::diff::tree::recorder::Change as Recorded;
use gix::objs::Tree;
use gix::objs::TreeRefIter;
use gix::objs::tree::EntryKind;
use gix::objs::tree::EntryMode;
use std::collections::BTreeMap;
use std::collections::HashMap;
use std::collections::hash_map::Entry::Occupied;
use std::collections::hash_map::Entry::Vacant;

impl Objects {
    /// Every path that differs between two trees, sorted by path. Trees themselves are not listed.
    pub fn diff_trees(&self, old: Oid, new: Oid) -> Result<Vec<Change>> {
        if old == new {
            return Ok(Vec::new());
        }
        Ok(pair(self.record(old, new)?))
    }

    fn record(&self, old: Oid, new: Oid) -> Result<Vec<Recorded>> {
        let (old_bytes, new_bytes) = (self.tree(old)?, self.tree(new)?);
        let mut recorder = gix::diff::tree::Recorder::default();
        gix::diff::tree(
            TreeRefIter::from_bytes(&old_bytes, self.hash),
            TreeRefIter::from_bytes(&new_bytes, self.hash),
            gix::diff::tree::State::default(),
            &self.odb,
            &mut recorder,
        )
        .map_err(|e| {
            let doing = format!("comparing trees {old} and {new}");
            match e {
                gix::diff::tree::Error::Failure(e) => disk::gix(doing, e),
                e => Failure::fault(doing, e),
            }
        })?;
        Ok(recorder.records)
    }

    /// Ids of trees and blobs that stand in tree `new` where tree `old` has something else.
    pub(super) fn new_entries(&self, old: Oid, new: Oid) -> Result<Vec<Oid>> {
        let mut found = Vec::new();
        for record in self.record(old, new)? {
            match record {
                Recorded::Addition { entry_mode, oid, .. }
                | Recorded::Modification { entry_mode, oid, .. } => {
                    if !entry_mode.is_commit() {
                        found.push(oid_of(&oid));
                    }
                }
                Recorded::Deletion { .. } => {}
            }
        }
        Ok(found)
    }

    /// The difference that commit `oid` makes to its first parent (to the empty tree if it has none).
    pub fn changes_of(&self, oid: Oid) -> Result<Vec<Change>> {
        let commit = self.commit(oid)?;
        let before = match commit.parents.first() {
            Some(parent) => self.tree_of(*parent)?,
            None => self.empty_tree(),
        };
        self.diff_trees(before, commit.tree)
    }

    /// What stands at `path` below tree `root`; a folder counts as absent.
    pub fn entry_at(&self, root: Oid, path: &BStr) -> Result<Option<Entry>> {
        Ok(self.raw_entry(root, path)?.and_then(|(mode, oid)| mode_of(mode).map(|m| (m, oid))))
    }

    /// The id at `path` below tree `root`, folder or not.
    pub fn oid_at(&self, root: Oid, path: &BStr) -> Result<Option<Oid>> {
        Ok(self.raw_entry(root, path)?.map(|(_, oid)| oid))
    }

    fn raw_entry(&self, root: Oid, path: &BStr) -> Result<Option<(EntryMode, Oid)>> {
        let mut tree = root;
        let mut components = path.split_str("/").peekable();
        while let Some(name) = components.next() {
            let bytes = self.tree(tree)?;
            let found = TreeRefIter::from_bytes(&bytes, self.hash)
                .filter_map(std::result::Result::ok)
                .find(|e| e.filename == name.as_bstr())
                .map(|e| (e.mode, oid_of(e.oid)));
            match found {
                Some((mode, oid)) if mode.is_tree() && components.peek().is_some() => tree = oid,
                found if components.peek().is_none() => return Ok(found),
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    /// The paths of what stands directly in `folder` below tree `root`; none if there is no such folder.
    pub fn names_in(&self, root: Oid, folder: &BStr) -> Result<Vec<BString>> {
        let (tree, prefix) = match self.raw_entry(root, folder)? {
            _ if folder.is_empty() => (root, BString::default()),
            Some((mode, oid)) if mode.is_tree() => (oid, bstr::concat([folder.as_bytes(), b"/"]).into()),
            _ => return Ok(Vec::new()),
        };
        let bytes = self.tree(tree)?;
        let entries = TreeRefIter::from_bytes(&bytes, self.hash).filter_map(std::result::Result::ok);
        Ok(entries.map(|e| bstr::concat([prefix.as_bytes(), e.filename.as_bytes()]).into()).collect())
    }

    /// The first of the trees `roots` that stands for more files than `most`, counted where they would stand, or
    /// has some more than `depth` folders deep, or does not parse. Each tree is read once, however often it is named.
    pub fn beyond(&self, roots: &[Oid], depth: usize, most: u64) -> Result<Option<Oid>> {
        let mut counted = HashMap::new();
        for root in roots {
            let files = self.count_files(*root, depth, most, &mut counted)?;
            if files.is_none_or(|files| files > most) {
                return Ok(Some(*root));
            }
        }
        Ok(None)
    }

    fn count_files(
        &self,
        tree: Oid,
        depth: usize,
        most: u64,
        counted: &mut HashMap<Oid, u64>,
    ) -> Result<Option<u64>> {
        if let Some(files) = counted.get(&tree) {
            return Ok(Some(*files));
        }
        if depth == 0 {
            return Ok(None);
        }
        let bytes = self.tree(tree)?;
        let mut files = 0u64;
        for entry in TreeRefIter::from_bytes(&bytes, self.hash) {
            // What cannot be read may be anything.
            let Ok(entry) = entry else { return Ok(None) };
            let below = match mode_of(entry.mode) {
                Some(_) => Some(1),
                None => self.count_files(oid_of(entry.oid), depth - 1, most, counted)?,
            };
            files = match below {
                Some(below) if files.saturating_add(below) <= most => files + below,
                _ => return Ok(None),
            };
        }
        counted.insert(tree, files);
        Ok(Some(files))
    }

    /// Every entry below tree `root` that is not a tree, with its full path, in no order.
    pub fn entries(&self, root: Oid) -> Result<Vec<(BString, Entry)>> {
        let mut found = Vec::new();
        let mut folders = vec![(BString::default(), root)];
        while let Some((prefix, tree)) = folders.pop() {
            let bytes = self.tree(tree)?;
            for entry in TreeRefIter::from_bytes(&bytes, self.hash) {
                let entry = entry.map_err(|e| disk::gix(format!("reading tree {tree}"), e))?;
                let path = bstr::concat([prefix.as_bytes(), entry.filename.as_bytes()]);
                match mode_of(entry.mode) {
                    Some(mode) => found.push((path.into(), (mode, oid_of(entry.oid)))),
                    None => folders.push((bstr::concat([path.as_slice(), b"/"]).into(), oid_of(entry.oid))),
                }
            }
        }
        Ok(found)
    }

    /// Tree `root` with `edits` applied (`None` removes), written to the store. A tree on the way that no git has
    /// written is a fault.
    pub fn edit_tree(
        &self,
        root: Oid,
        edits: impl IntoIterator<Item = (BString, Option<Entry>)>,
    ) -> Result<Oid> {
        self.edit(root, edits.into_iter().map(kind_of))?.ok_or_else(|| disorder(root))
    }

    /// As [`Objects::edit_tree`], of a tree that anybody made: where one on the way is in disorder, all files are
    /// listed anew, and of a name that is a file and a folder the folder stays.
    pub fn edit_foreign_tree(&self, root: Oid, edits: &[(BString, Option<Entry>)]) -> Result<Oid> {
        if let Some(tree) = self.edit(root, edits.iter().cloned().map(kind_of))? {
            return Ok(tree);
        }
        let mut files: BTreeMap<BString, Entry> = self.entries(root)?.into_iter().collect();
        for (path, entry) in edits {
            match entry {
                Some(entry) => files.insert(path.clone(), *entry),
                None => files.remove(path),
            };
        }
        self.edit_tree(self.empty_tree(), files.into_iter().map(|(path, entry)| (path, Some(entry))))
    }

    /// Tree `root` with each of `trees` as the folder at its path, written to the store.
    pub fn put_trees(&self, root: Oid, trees: impl IntoIterator<Item = (BString, Oid)>) -> Result<Oid> {
        let edits = trees.into_iter().map(|(path, tree)| (path, Some((EntryKind::Tree, tree))));
        self.edit(root, edits)?.ok_or_else(|| disorder(root))
    }

    /// `None` if a tree on the way is in disorder.
    fn edit(
        &self,
        root: Oid,
        edits: impl IntoIterator<Item = (BString, Option<(EntryKind, Oid)>)>,
    ) -> Result<Option<Oid>> {
        let failed = |e: gix::Error| self.carried(&format!("editing tree {root}"), e);
        let Some(tree) = self.sound_tree(root)? else { return Ok(None) };
        let mut sound = HashMap::from([(root, tree.clone())]);
        let mut editor = gix::objs::tree::Editor::new(tree, &self.odb, self.hash);
        for (path, entry) in edits {
            if !self.is_sound_along(root, path.as_bstr(), &mut sound)? {
                return Ok(None);
            }
            let components = path.split_str("/").map(ByteSlice::as_bstr);
            match entry {
                Some((kind, oid)) => editor.upsert(components, kind, id(oid)),
                None => editor.remove(components),
            }
            .map_err(failed)?;
        }
        let written = editor.write(|tree| self.write_tree(tree)).map_err(failed)?;
        Ok(Some(oid_of(&written)))
    }

    /// Reads the trees on the way to `path`, each once, into `sound`. False if one is in disorder.
    fn is_sound_along(&self, root: Oid, path: &BStr, sound: &mut HashMap<Oid, Tree>) -> Result<bool> {
        let mut oid = root;
        for name in path.split_str("/") {
            let tree = match sound.entry(oid) {
                Occupied(there) => there.into_mut(),
                Vacant(place) => match self.sound_tree(oid)? {
                    Some(tree) => place.insert(tree),
                    None => return Ok(false),
                },
            };
            let below = tree.entries.iter().find(|e| e.filename == name.as_bstr() && e.mode.is_tree());
            let Some(below) = below else { break };
            oid = oid_of(&below.oid);
        }
        Ok(true)
    }

    /// A tree that is to be edited, unless no git has written it: gix panics over some of them.
    fn sound_tree(&self, oid: Oid) -> Result<Option<Tree>> {
        let bytes = self.tree(oid)?;
        let tree = gix::objs::TreeRef::from_bytes(&bytes, self.hash)
            .map_err(|e| self.carried(&format!("editing tree {oid}"), e))?;
        Ok(Some(Tree::from(tree)).filter(is_sound))
    }

    pub(super) fn write_tree(&self, tree: &Tree) -> gix::Result<gix::ObjectId> {
        // One that git would not have written, and whose entries it would not find: somebody else made it.
        if !is_sound(tree) {
            let failure =
                Failure::fault("writing a tree", "the entries of the one that it is made of are in disorder");
            return Err(self.carry(failure));
        }
        let mut bytes = Vec::new();
        gix::objs::WriteTo::write_to(tree, &mut bytes).map_err(gix::Error::from_error)?;
        self.write(gix::objs::Kind::Tree, &bytes).map(id).map_err(|failure| self.carry(failure))
    }
}

fn disorder(root: Oid) -> Failure {
    Failure::fault(format!("editing tree {root}"), "entries of it, or of a folder in it, are in disorder")
}

fn kind_of((path, entry): (BString, Option<Entry>)) -> (BString, Option<(EntryKind, Oid)>) {
    (path, entry.map(|(mode, oid)| (entry_kind(mode), oid)))
}

/// Whether the entries are in git's order, and none is both a file and a folder.
fn is_sound(tree: &Tree) -> bool {
    let is_file = |name: &BString| {
        let key = |entry: &gix::objs::tree::Entry| {
            let slash = entry.mode.is_tree().then_some(b'/');
            entry.filename.iter().copied().chain(slash).cmp(name.iter().copied())
        };
        tree.entries.binary_search_by(key).is_ok()
    };
    tree.entries.is_sorted_by(|one, next| one < next)
        && !tree.entries.iter().any(|entry| entry.mode.is_tree() && is_file(&entry.filename))
}

/// What stands at some paths of many trees, told apart by number: two trees have the same number exactly
/// if they agree at every path. Sub-trees seen before are not read again, so that a walk over a long
/// history reads little more than its top-level trees.
#[derive(Debug)]
pub struct Watch {
    nodes: Vec<Node>,
    seen: HashMap<(usize, Oid), u32>,
    numbers: HashMap<Vec<Option<Spot>>, u32>,
}

/// One folder of the watched paths.
#[derive(Debug, Default)]
struct Node {
    /// By name: whether a path ends here, and the node of the paths below.
    names: BTreeMap<BString, (bool, Option<usize>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Spot {
    Entry(u16, Oid),
    Below(u32),
}

/// The number of a tree that has none of the paths. A folder without any is as good as no folder.
const NOTHING: u32 = 0;

impl Watch {
    pub fn new<'p>(paths: impl IntoIterator<Item = &'p BStr>) -> Watch {
        let mut nodes = vec![Node::default()];
        for path in paths {
            let mut node = 0;
            let mut names = path.split_str("/").peekable();
            while let Some(name) = names.next() {
                let fresh = nodes.len();
                let (ends, below) = nodes[node].names.entry(name.into()).or_default();
                if names.peek().is_none() {
                    *ends = true;
                    continue;
                }
                node = *below.get_or_insert(fresh);
                if node == fresh {
                    nodes.push(Node::default());
                }
            }
        }
        Watch { nodes, seen: HashMap::new(), numbers: HashMap::new() }
    }

    /// The number of what `tree` has at the watched paths.
    pub fn look(&mut self, objects: &Objects, tree: Oid) -> Result<u32> {
        self.look_at(objects, 0, tree)
    }

    fn look_at(&mut self, objects: &Objects, node: usize, tree: Oid) -> Result<u32> {
        if let Some(number) = self.seen.get(&(node, tree)) {
            return Ok(*number);
        }
        let bytes = objects.tree(tree)?;
        let names = &self.nodes[node].names;
        let mut found = Vec::new();
        for entry in TreeRefIter::from_bytes(&bytes, objects.hash) {
            let entry = entry.map_err(|e| disk::gix(format!("reading tree {tree}"), e))?;
            if let Some((name, (ends, below))) = names.get_key_value(entry.filename) {
                found.push((name.clone(), entry.mode, oid_of(entry.oid), *ends, *below));
            }
        }
        let mut spots: HashMap<BString, [Option<Spot>; 2]> = HashMap::new();
        for (name, mode, oid, ends, below) in found {
            let entry = Some(Spot::Entry(mode.value(), oid));
            let inside = match below {
                Some(below) if mode.is_tree() => match self.look_at(objects, below, oid)? {
                    NOTHING => None,
                    number => Some(Spot::Below(number)),
                },
                Some(_) => entry,
                None => None,
            };
            spots.insert(name, [entry.filter(|_| ends), inside]);
        }
        let state: Vec<Option<Spot>> =
            self.nodes[node].names.keys().flat_map(|n| spots.get(n).copied().unwrap_or_default()).collect();
        let number = if state.iter().all(Option::is_none) {
            NOTHING
        } else {
            // A number belongs to one folder's names, so the node is part of what it stands for.
            let state = [vec![Some(Spot::Below(node as u32))], state].concat();
            let next = self.numbers.len() as u32 + 1;
            *self.numbers.entry(state).or_insert(next)
        };
        self.seen.insert((node, tree), number);
        Ok(number)
    }
}

/// A file that becomes a folder (or back) is recorded as two changes of one path: make them one.
fn pair(records: Vec<Recorded>) -> Vec<Change> {
    let mut changes: Vec<Change> = records
        .into_iter()
        .filter_map(|record| {
            let (path, old, new) = match record {
                Recorded::Addition { entry_mode, oid, path, .. } => (path, None, Some((entry_mode, oid))),
                Recorded::Deletion { entry_mode, oid, path, .. } => (path, Some((entry_mode, oid)), None),
                Recorded::Modification { previous_entry_mode, previous_oid, entry_mode, oid, path } => {
                    (path, Some((previous_entry_mode, previous_oid)), Some((entry_mode, oid)))
                }
            };
            let side = |s: Option<(EntryMode, gix::ObjectId)>| {
                s.and_then(|(mode, oid)| mode_of(mode).map(|m| (m, oid_of(&oid))))
            };
            let (old, new) = (side(old), side(new));
            (old.is_some() || new.is_some()).then_some(Change { path, old, new })
        })
        .collect();
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    changes.dedup_by(|next, kept| {
        let same = next.path == kept.path;
        if same {
            kept.old = kept.old.or(next.old);
            kept.new = kept.new.or(next.new);
        }
        same
    });
    changes
}

fn mode_of(mode: EntryMode) -> Option<Mode> {
    match mode.kind() {
        EntryKind::Tree => None,
        EntryKind::Blob => Some(Mode::File),
        EntryKind::BlobExecutable => Some(Mode::Executable),
        EntryKind::Link => Some(Mode::Link),
        EntryKind::Commit => Some(Mode::Gitlink),
    }
}

fn entry_kind(mode: Mode) -> EntryKind {
    match mode {
        Mode::File => EntryKind::Blob,
        Mode::Executable => EntryKind::BlobExecutable,
        Mode::Link => EntryKind::Link,
        Mode::Gitlink => EntryKind::Commit,
    }
}
