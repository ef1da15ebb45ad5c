//! The merge test: is a change already part of a tree? It is if merging it there changes nothing, with
//! renames off and on, and if what it takes away does not live on elsewhere. Each answer names its reason.

use crate::domain::Change;
use crate::domain::Entry;
use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::Result;
use crate::plumbing::Merged;
use crate::plumbing::Merger;
use crate::plumbing::Objects;
use crate::plumbing::Renames;
use crate::plumbing::hunks;
use crate::plumbing::is_binary;
use crate::plumbing::similarity;
use bstr::BString;
use bstr::ByteSlice;
use std::collections::HashMap;

/// Letters and digits that a block needs before finding it in another file means that it moved there:
/// the threshold of git's `--color-moved`.
const BLOCK: usize = 20;
/// Paths changed since the base among which moved content is looked for; beyond that there is no proof.
const FAR: usize = 2000;
/// How alike a deleted and a new file must be to count as one file that moved, in percent.
const ALIKE: u8 = 50;

/// A change from one tree to another.
#[derive(Debug, Clone)]
pub struct Delta {
    pub base: Oid,
    pub tip: Oid,
    pub changes: Vec<Change>,
}

impl Delta {
    pub fn between(objects: &Objects, base: Oid, tip: Oid) -> Result<Delta> {
        Ok(Delta { base, tip, changes: objects.diff_trees(base, tip)? })
    }

    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    pub fn inverse(&self) -> Delta {
        let changes = self.changes.iter().map(Change::inverse).collect();
        Delta { base: self.tip, tip: self.base, changes }
    }
}

/// `Ok` if the test holds, else why it does not.
pub type Held = std::result::Result<(), String>;

/// Lines that a change takes out of a file.
struct Block {
    path: BString,
    lines: Vec<Vec<u8>>,
    weight: usize,
}

pub struct Tester<'a> {
    objects: &'a Objects,
    merger: Merger<'a>,
    known: HashMap<(Oid, Oid, Oid), Held>,
}

impl<'a> Tester<'a> {
    /// Merges are written to `objects`: a scratch store.
    pub fn new(objects: &'a Objects) -> Tester<'a> {
        Tester { objects, merger: Merger::new(objects), known: HashMap::new() }
    }

    pub fn merger(&mut self) -> &mut Merger<'a> {
        &mut self.merger
    }

    /// Whether tree `at` already has `delta`. A change of nothing proves nothing.
    pub fn holds(&mut self, delta: &Delta, at: Oid) -> Result<Held> {
        let key = (delta.base, delta.tip, at);
        if let Some(held) = self.known.get(&key) {
            return Ok(held.clone());
        }
        let held = match self.fails(delta, at)? {
            Some(why) => Err(why),
            None => Ok(()),
        };
        self.known.insert(key, held.clone());
        Ok(held)
    }

    /// Whether tree `at` has nothing of `delta` any more: it has the inverse, be it in files that have another name
    /// now, or all that was taken out is back and all that was put in is gone, however the lines around it have changed.
    pub fn gone(&mut self, delta: &Delta, at: Oid) -> Result<bool> {
        let inverse = delta.inverse();
        if delta.is_empty() || self.holds(&inverse, at)?.is_ok() {
            return Ok(!delta.is_empty());
        }
        if self.merger.trees(inverse.base, at, inverse.tip, Renames::Follow)?.is_tree(at) {
            return Ok(true);
        }
        for change in &delta.changes {
            if !self.is_undone(delta, change, at)? {
                return Ok(false);
            }
        }
        Ok(self.lives_on(&inverse, at)?.is_none())
    }

    fn is_undone(&self, delta: &Delta, change: &Change, at: Oid) -> Result<bool> {
        let there = match self.objects.entry_at(at, change.path.as_ref())? {
            None if change.old.is_some() => self.moved(delta, change, at)?,
            there => there,
        };
        if there == change.old {
            return Ok(true);
        }
        if let (Some(old), None, Some(there)) = (change.old, change.new, there) {
            // It is back, and was worked on since.
            let back = old.0 == there.0 && is_file(old.0);
            return Ok(back && similarity(&self.objects.blob(old.1)?, &self.objects.blob(there.1)?) >= ALIKE);
        }
        let (Some(old), Some(new), Some(there)) = (change.old, change.new, there) else { return Ok(false) };
        let files = [old, new, there].iter().all(|e| is_file(e.0));
        if !files || (old.0 != new.0 && there.0 != old.0) {
            return Ok(false);
        }
        if old.1 == new.1 {
            return Ok(true);
        }
        let (old, new, there) =
            (self.objects.blob(old.1)?, self.objects.blob(new.1)?, self.objects.blob(there.1)?);
        if [&old, &new, &there].iter().any(|b| is_binary(b)) {
            return Ok(false);
        }
        let (old, new, there) = (tally(&old), tally(&new), tally(&there));
        let times =
            |tally: &HashMap<Vec<u8>, usize>, line: &Vec<u8>| tally.get(line).copied().unwrap_or_default();
        let moved = |line: &&Vec<u8>| times(&old, line) != times(&new, line);
        let mut telling = old.keys().chain(new.keys()).filter(moved).peekable();
        let any = telling.peek().is_some();
        Ok(any
            && telling.all(|line| {
                let (was, is) = (times(&old, line), times(&there, line));
                if times(&new, line) > was { is <= was } else { is >= was }
            }))
    }

    /// The file that was at the path of `change` when `delta` was made, where it has another name in `at`: of those that
    /// are new since, the one most like it.
    fn moved(&self, delta: &Delta, change: &Change, at: Oid) -> Result<Option<Entry>> {
        let Some(was) = change.new.filter(|new| is_file(new.0)) else { return Ok(None) };
        let since = self.objects.diff_trees(delta.tip, at)?;
        let mut best = None;
        for new in since.iter().filter(|c| c.old.is_none() && since.len() <= FAR).filter_map(|c| c.new) {
            if is_file(new.0) {
                let alike = similarity(&self.objects.blob(was.1)?, &self.objects.blob(new.1)?);
                best = best.max(Some((alike, new)).filter(|(alike, _)| *alike >= ALIKE));
            }
        }
        Ok(best.map(|(_, entry)| entry))
    }

    fn fails(&mut self, delta: &Delta, at: Oid) -> Result<Option<String>> {
        if delta.is_empty() {
            return Ok(Some("it changes nothing".to_owned()));
        }
        for change in &delta.changes {
            if let Some(why) = self.misfit(change, at)? {
                return Ok(Some(why));
            }
        }
        let there = self.there(delta, at)?;
        if let Some(why) = self.fails_alone(delta, &there)? {
            return Ok(Some(why));
        }
        if !delta.changes.iter().zip(&there).all(|(change, there)| is_settled(change, *there)) {
            for (renames, how) in [(Renames::Ignore, "renames off"), (Renames::Follow, "renames on")] {
                let merged = self.merger.trees(delta.base, at, delta.tip, renames)?;
                if let Some(why) = changes_more(merged, at, how, |path| path) {
                    return Ok(Some(why));
                }
            }
        }
        self.lives_on(delta, at)
    }

    /// What stands at the paths of `delta`.
    pub fn there(&self, delta: &Delta, at: Oid) -> Result<Vec<Option<Entry>>> {
        delta.changes.iter().map(|change| self.objects.entry_at(at, change.path.as_ref())).collect()
    }

    /// Why merging the paths of `delta` alone, without the rest of the trees, changes something. It costs the
    /// same however much else has changed.
    fn fails_alone(&mut self, delta: &Delta, there: &[Option<Entry>]) -> Result<Option<String>> {
        let tree = |entry: &dyn Fn(usize) -> Option<Entry>| {
            let named = (0..there.len()).map(|n| (BString::from(format!("{n:08}")), entry(n)));
            self.objects.edit_tree(self.objects.empty_tree(), named.filter(|(_, entry)| entry.is_some()))
        };
        let (base, at) = (tree(&|n| delta.changes[n].old)?, tree(&|n| there[n])?);
        let tip = tree(&|n| delta.changes[n].new)?;
        let merged = self.merger.trees(base, at, tip, Renames::Ignore)?;
        let named = |name: BString| {
            let n = name.to_str().ok().and_then(|name| name.parse::<usize>().ok());
            n.and_then(|n| delta.changes.get(n)).map_or(name, |change| change.path.clone())
        };
        Ok(changes_more(merged, at, "renames off", named))
    }

    /// What a clean merge must find at the path. It is cheaper than merging, and it does not rest on the
    /// merge being right about types, modes, links and gitlinks.
    fn misfit(&self, change: &Change, at: Oid) -> Result<Option<String>> {
        let path = &change.path;
        let there = self.objects.entry_at(at, path.as_ref())?;
        let say = |what: &str| Ok(Some(format!("{path} {what}")));
        let ((mode, oid), (there_mode, there_oid)) = match (change.new, there) {
            (None, None) => return Ok(None),
            (None, Some(_)) => return say("is still there"),
            (Some(_), None) => return say("is not there"),
            (Some(new), Some(there)) => (new, there),
        };
        if (mode, oid) == (there_mode, there_oid) {
            return Ok(None);
        }
        let mode_given = change.old.is_none_or(|(old, _)| old != mode);
        if mode != there_mode && (mode_given || !is_file(mode) || !is_file(there_mode)) {
            return say("has another mode");
        }
        let content_given = change.old.is_none_or(|(_, old)| old != oid);
        if content_given && oid != there_oid && !is_file(mode) {
            return say("points elsewhere");
        }
        Ok(None)
    }

    /// A deletion is no proof while its content stands at another place that the base did not have: there
    /// it was moved, not deleted.
    fn lives_on(&self, delta: &Delta, at: Oid) -> Result<Option<String>> {
        let mut blocks = Vec::new();
        for change in &delta.changes {
            let Some(old) = change.old.filter(|old| is_file(old.0)) else { continue };
            let before = self.objects.blob(old.1)?;
            let (after, deleted) = match change.new {
                None => (Vec::new(), true),
                Some(new) if is_file(new.0) => (self.objects.blob(new.1)?, false),
                Some(_) => continue,
            };
            if is_binary(&before) || is_binary(&after) {
                continue;
            }
            let removed = removed_blocks(&change.path, &before, &after);
            if !deleted && let Some(there) = self.objects.entry_at(at, change.path.as_ref())? {
                let there = self.objects.blob(there.1)?;
                let (now, tip) = (trimmed(&there), trimmed(&after));
                if removed.iter().any(|b| count(b, &now) > count(b, &tip)) {
                    return Ok(Some(format!("lines removed from {} stand elsewhere in it", change.path)));
                }
            }
            blocks.extend(removed.into_iter().filter(|b| b.weight >= BLOCK));
        }
        let deletions: Vec<&Change> =
            delta.changes.iter().filter(|c| c.new.is_none() && !self.is_empty_file(c.old)).collect();
        if blocks.is_empty() && deletions.is_empty() {
            return Ok(None);
        }
        let moved = self.objects.diff_trees(delta.base, at)?;
        if moved.len() > FAR {
            return Ok(Some(format!(
                "too much has changed to see whether what it removes was moved: {}",
                moved.len()
            )));
        }
        for change in &moved {
            if let Some(path) = self.taken_in(delta, &deletions, &blocks, change)? {
                return Ok(Some(format!("what it removes from {path} lives on in {}", change.path)));
            }
        }
        Ok(None)
    }

    fn is_empty_file(&self, entry: Option<Entry>) -> bool {
        let empty = self.objects.hash_blob(b"").ok();
        entry.is_some_and(|(_, oid)| Some(oid) == empty)
    }

    /// The path whose deletion or removed lines `change`, made since the base, has taken in.
    fn taken_in(
        &self,
        delta: &Delta,
        deletions: &[&Change],
        blocks: &[Block],
        change: &Change,
    ) -> Result<Option<BString>> {
        let Some(new) = change.new else { return Ok(None) };
        let tip = delta.changes.iter().find(|c| c.path == change.path).map_or(change.old, |c| c.new);
        if tip == Some(new) {
            return Ok(None);
        }
        let elsewhere = deletions.iter().filter(|d| d.path != change.path);
        if let Some(same) = elsewhere.clone().find(|d| d.old.is_some_and(|old| old.1 == new.1)) {
            return Ok(Some(same.path.clone()));
        }
        if !is_file(new.0) {
            return Ok(None);
        }
        let content = self.objects.blob(new.1)?;
        // Where the change itself makes a file, it has moved the content.
        if change.old.is_none() && tip.is_none() {
            for deleted in elsewhere {
                let Some(old) = deleted.old.filter(|old| is_file(old.0)) else { continue };
                if similarity(&self.objects.blob(old.1)?, &content) >= ALIKE {
                    return Ok(Some(deleted.path.clone()));
                }
            }
        }
        if is_binary(&content) {
            return Ok(None);
        }
        let side = |entry: Option<Entry>| match entry.filter(|e| is_file(e.0)) {
            Some((_, oid)) => self.objects.blob(oid),
            None => Ok(Vec::new()),
        };
        let (now, base, tip) = (content, side(change.old)?, side(tip)?);
        let (now, base, tip) = (trimmed(&now), trimmed(&base), trimmed(&tip));
        let taken =
            |b: &&Block| b.path != change.path && count(b, &now) > count(b, &base).max(count(b, &tip));
        Ok(blocks.iter().find(taken).map(|b| b.path.clone()))
    }
}

/// Whether no rename elsewhere can make the merge come out differently here: the very entry of the tip is
/// there, or all three sides have a file at the path.
fn is_settled(change: &Change, there: Option<Entry>) -> bool {
    let all_files = [change.old, change.new, there].iter().all(|entry| entry.is_some_and(|e| is_file(e.0)));
    change.new.is_some() && (change.new == there || all_files)
}

/// Why a merge is not `at`; `named` makes the path of one of its names.
fn changes_more(
    merged: Merged,
    at: Oid,
    how: &str,
    named: impl FnOnce(BString) -> BString,
) -> Option<String> {
    match merged {
        Merged::Clean(tree) if tree == at => None,
        Merged::Clean(_) => Some(format!("merging it changes the tree, {how}")),
        Merged::Conflict(paths) => {
            let path = paths.into_iter().next().map(named).unwrap_or_default();
            Some(format!("merging it conflicts at {path}, {how}"))
        }
    }
}

/// How often each line that says something occurs.
fn tally(bytes: &[u8]) -> HashMap<Vec<u8>, usize> {
    let mut tally = HashMap::new();
    for line in
        bytes.split(|b| *b == b'\n').filter(|l| l.iter().any(|b| b.is_ascii_alphanumeric() || *b >= 0x80))
    {
        *tally.entry(line.to_vec()).or_default() += 1;
    }
    tally
}

fn is_file(mode: Mode) -> bool {
    matches!(mode, Mode::File | Mode::Executable)
}

/// The blocks of lines that are taken out for good: little stands in their place, and the file has fewer
/// of them than before.
fn removed_blocks(path: &BString, before: &[u8], after: &[u8]) -> Vec<Block> {
    let weight = |lines: &[&[u8]]| {
        lines.iter().flat_map(|l| l.iter()).filter(|b| b.is_ascii_alphanumeric() || **b >= 0x80).count()
    };
    let (old, new) = (trimmed(before), trimmed(after));
    hunks(before, after)
        .into_iter()
        .filter_map(|hunk| {
            let (removed, added) = (weight(&hunk.removed), weight(&hunk.added));
            let lines: Vec<&[u8]> = hunk.removed.iter().map(|l| l.trim_ascii()).collect();
            let first = lines.iter().position(|l| !l.is_empty())?;
            let last = lines.iter().rposition(|l| !l.is_empty())?;
            let lines = lines[first..=last].iter().map(|l| l.to_vec()).collect();
            let block = Block { path: path.clone(), lines, weight: removed };
            (removed > 0 && added * 2 < removed && count(&block, &new) < count(&block, &old)).then_some(block)
        })
        .collect()
}

/// The lines without the white space around them: moved code is often indented anew.
fn trimmed(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split(|b| *b == b'\n').map(<[u8]>::trim_ascii).collect()
}

fn count(block: &Block, lines: &[&[u8]]) -> usize {
    lines.windows(block.lines.len()).filter(|w| w.iter().zip(&block.lines).all(|(a, b)| a == b)).count()
}
