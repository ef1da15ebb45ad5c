//! What is known of commits without reading them: parents, and which paths each may have changed
//! against its first parent. As git's own commit-graph, it is made from the commits and never from itself.
//!
//! Each entry stands for itself: a commit's id fixes all that its entry says, so an entry cannot become
//! stale, and a commit without one is read. Nothing is checked here: whoever gives the file has to know that
//! it is the one that was written.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::Result;
use crate::plumbing::git_graph::GitGraph;
use crate::plumbing::git_graph::Key;
use crate::plumbing::git_graph::Stored;
use crate::plumbing::objects::Objects;
use bstr::BStr;
use bstr::ByteSlice;
use std::cell::Cell;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;

const MAGIC: &[u8; 16] = b"skein commits 1\n";

/// Links from here on are to commits without an entry.
const OUTSIDE: u32 = 1 << 31;

/// Paths beyond which a commit counts as changing anything.
const MANY: usize = 512;

/// Changes anything.
const ANYTHING: [u32; 1] = [u32::MAX];

/// What stands for one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub parents: Vec<Oid>,
    /// Hashes of what changed, sorted.
    changed: Vec<u32>,
}

impl Entry {
    /// Reads commit `oid` and what it changes.
    pub fn read(objects: &Objects, oid: Oid) -> Result<Entry> {
        let past = objects.past(oid)?;
        let before = match past.parents.first() {
            Some(parent) => objects.past(*parent)?.tree,
            None => objects.empty_tree(),
        };
        let changes = objects.diff_trees(before, past.tree)?;
        let mut changed: Vec<u32> = if changes.len() > MANY {
            ANYTHING.to_vec()
        } else {
            let below = |path| folders(path).map(|f| hash(b'/', f));
            changes.iter().flat_map(|c| below(c.path.as_ref()).chain([hash(b'=', c.path.as_ref())])).collect()
        };
        changed.sort_unstable();
        changed.dedup();
        Ok(Entry { parents: past.parents.clone(), changed })
    }
}

/// The folders that `path` is in.
fn folders(path: &BStr) -> impl Iterator<Item = &BStr> {
    path.find_iter("/").map(|at| path[..at].as_bstr())
}

/// 32 bits of FNV-1a. A collision costs the reading of a commit.
fn hash(kind: u8, path: &BStr) -> u32 {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let full = [kind].iter().chain(path.iter()).fold(start, step);
    (full ^ (full >> 32)) as u32
}

/// Paths that are looked for.
#[derive(Debug)]
pub struct Paths {
    hashes: Vec<u32>,
    /// By the lower bits of the hash: most commits are told apart by this alone.
    some: Vec<bool>,
    /// For git's filters.
    keys: Vec<Key>,
}

const BITS: u32 = 0xfff;

impl Paths {
    pub fn new<'p>(paths: impl IntoIterator<Item = &'p BStr>) -> Paths {
        let (mut hashes, mut keys) = (ANYTHING.to_vec(), Vec::new());
        for path in paths {
            // What is below a folder that changed, and what stands where one should be, is in them too.
            keys.push(Key::of(path));
            // The path itself, what is below it, and what stands where one of its folders should be.
            hashes.extend([hash(b'=', path), hash(b'/', path)]);
            hashes.extend(folders(path).map(|f| hash(b'=', f)));
        }
        hashes.sort_unstable();
        hashes.dedup();
        let mut some = vec![false; BITS as usize + 1];
        hashes.iter().for_each(|h| some[(h & BITS) as usize] = true);
        Paths { hashes, some, keys }
    }

    fn has(&self, hash: u32) -> bool {
        self.some[(hash & BITS) as usize] && self.hashes.binary_search(&hash).is_ok()
    }
}

/// A commit, by its place in the graph or by its id.
pub(super) enum Link {
    Inside(u32),
    Outside(Oid),
}

/// The entries, as they stand in the file: counts, ids with parents before their children, the same places by
/// id, ends of the links of each, links, ids outside, ends of the hashes of each, hashes. All numbers are
/// little-endian.
#[derive(Debug, Default)]
pub struct CommitGraph {
    bytes: Vec<u8>,
    width: usize,
    count: usize,
    /// Where each part begins.
    by_id: usize,
    link_ends: usize,
    links: usize,
    outside: usize,
    hash_ends: usize,
    hashes: usize,
    beside: Beside,
}

/// git's own graph, for commits without an entry. It is opened when it is first wanted.
#[derive(Debug, Default)]
struct Beside {
    store: Option<PathBuf>,
    graph: OnceCell<Option<GitGraph>>,
    used: Cell<bool>,
    asked: Cell<u32>,
    few: u32,
}

/// So few commits are rather read than that git's own graph is opened.
const FEW: u32 = 32;

/// Where the ids begin: after the first line and five counts.
const IDS: usize = 36;

impl CommitGraph {
    /// The graph in a file, if it is one, and of a repository with this hash.
    pub fn parse(bytes: Vec<u8>, objects: &Objects) -> Option<CommitGraph> {
        let width = objects.width();
        let number = |at: usize| {
            let raw = bytes.get(at..at + 4)?.try_into().ok()?;
            usize::try_from(u32::from_le_bytes(raw)).ok()
        };
        let [real, count, links, outside, hashes] =
            [number(16)?, number(20)?, number(24)?, number(28)?, number(32)?];
        let mut graph = CommitGraph { width, count, ..CommitGraph::default() };
        let mut at = IDS;
        let mut part = |size: usize| {
            at += size;
            at - size
        };
        part(count * width);
        graph.by_id = part(count * 4);
        graph.link_ends = part(count * 4);
        graph.links = part(links * 4);
        graph.outside = part(outside * width);
        graph.hash_ends = part(count * 4);
        graph.hashes = part(hashes * 4);
        if !bytes.starts_with(MAGIC) || real != width || at != bytes.len() {
            return None;
        }
        graph.bytes = bytes;
        Some(graph)
    }

    /// The file that holds `entries`. Where they are given with children first, they stand in the order of a
    /// walk that follows first parents first.
    pub fn file(entries: &[(Oid, Entry)], objects: &Objects) -> Vec<u8> {
        let order = parents_first(entries);
        let place: HashMap<Oid, u32> = order.iter().map(|at| entries[*at].0).zip(0..).collect();
        let (mut outside, mut places_outside) = (Vec::new(), HashMap::new());
        let (mut links, mut link_ends, mut hashes, mut hash_ends) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (_, entry) in order.iter().map(|at| &entries[*at]) {
            for parent in &entry.parents {
                links.push(place.get(parent).copied().unwrap_or_else(|| {
                    *places_outside.entry(*parent).or_insert_with(|| {
                        outside.push(*parent);
                        OUTSIDE + outside.len() as u32 - 1
                    })
                }));
            }
            link_ends.push(links.len() as u32);
            hashes.extend_from_slice(&entry.changed);
            hash_ends.push(hashes.len() as u32);
        }
        let mut by_id: Vec<u32> = (0..order.len() as u32).collect();
        by_id.sort_unstable_by_key(|at| entries[order[*at as usize]].0);
        let mut file = MAGIC.to_vec();
        let width = objects.width();
        for count in [width, order.len(), links.len(), outside.len(), hashes.len()] {
            file.extend_from_slice(&(count as u32).to_le_bytes());
        }
        let numbers = |file: &mut Vec<u8>, all: &[u32]| {
            all.iter().for_each(|n| file.extend_from_slice(&n.to_le_bytes()));
        };
        order.iter().for_each(|at| file.extend_from_slice(entries[*at].0.as_bytes()));
        numbers(&mut file, &by_id);
        numbers(&mut file, &link_ends);
        numbers(&mut file, &links);
        outside.iter().for_each(|oid| file.extend_from_slice(oid.as_bytes()));
        numbers(&mut file, &hash_ends);
        numbers(&mut file, &hashes);
        file
    }

    /// All entries, to be added to.
    pub fn entries(&self) -> Result<Vec<(Oid, Entry)>> {
        let entry = |at: u32| {
            let parents = self.links(at).map(|link| match link {
                Link::Inside(at) => self.oid(at),
                Link::Outside(oid) => Ok(oid),
            });
            let changed = self.changed(at).collect();
            let parents = parents.collect::<Result<Vec<Oid>>>()?;
            Ok((self.oid(at)?, Entry { parents, changed }))
        };
        (0..self.count as u32).map(entry).collect()
    }

    /// Lets git's own graph of the store at `objects` say what this one does not.
    pub fn beside_git(mut self, objects: &Objects) -> CommitGraph {
        self.beside.store = Some(objects.dir().to_owned());
        self.beside.few = FEW;
        self
    }

    /// The same however few they are.
    #[cfg(test)]
    pub fn beside_git_at_once(self, objects: &Objects) -> CommitGraph {
        let mut graph = self.beside_git(objects);
        graph.beside.few = 0;
        graph
    }

    /// Whether something rests on git's own graph.
    pub fn has_used_git(&self) -> bool {
        self.beside.used.get()
    }

    /// The same without it.
    pub fn without_git(&self) -> CommitGraph {
        CommitGraph { bytes: self.bytes.clone(), beside: Beside::default(), ..*self }
    }

    fn git(&self) -> Option<&GitGraph> {
        let store = self.beside.store.as_deref()?;
        self.beside.graph.get_or_init(|| GitGraph::of(store)).as_ref()
    }

    /// What git's own graph has of a commit.
    pub(super) fn stored(&self, oid: Oid) -> Option<Stored> {
        let asked = self.beside.asked.get();
        self.beside.asked.set(asked.saturating_add(1));
        if asked < self.beside.few {
            return None;
        }
        let stored = self.git()?.stored(oid)?;
        self.beside.used.set(true);
        Some(stored)
    }

    /// Whether the commit at `at` of git's own graph may have changed one of `paths`.
    pub(super) fn may_change_there(&self, at: u32, paths: &Paths) -> bool {
        self.git().is_none_or(|git| git.may_change(at, &paths.keys))
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    fn raw_oid(&self, start: usize, at: usize) -> &[u8] {
        self.bytes.get(start + at * self.width..start + (at + 1) * self.width).unwrap_or_default()
    }

    pub(super) fn oid(&self, at: u32) -> Result<Oid> {
        Oid::from_bytes(self.raw_oid(IDS, at as usize))
            .ok_or_else(|| Failure::fault("reading the commit graph", "it has no such commit"))
    }

    /// Where the entry of `oid` is.
    pub fn position(&self, oid: Oid) -> Option<u32> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            let at = self.number(self.by_id, middle);
            match self.raw_oid(IDS, at as usize).cmp(oid.as_bytes()) {
                std::cmp::Ordering::Equal => return Some(at),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Whether the graph has `oid`, or a child of it.
    pub fn reaches(&self, oid: Oid) -> bool {
        let outside = self.bytes.get(self.outside..self.hash_ends).unwrap_or_default();
        self.position(oid).is_some() || outside.chunks(self.width.max(1)).any(|raw| raw == oid.as_bytes())
    }

    fn number(&self, start: usize, at: usize) -> u32 {
        let raw = self.bytes.get(start + at * 4..).and_then(|b| b.first_chunk());
        raw.map_or(0, |raw| u32::from_le_bytes(*raw))
    }

    /// What stands of `at` in the part that `ends` is of, which has so many.
    fn span(&self, (ends, most): (usize, usize), at: u32) -> Range<usize> {
        let at = at as usize;
        let start = if at == 0 { 0 } else { self.number(ends, at - 1) };
        start as usize..most.min(self.number(ends, at) as usize)
    }

    /// The parents of a commit. Those inside stand before it.
    pub(super) fn links(&self, at: u32) -> impl Iterator<Item = Link> {
        self.span((self.link_ends, (self.outside - self.links) / 4), at).map(|n| {
            let link = self.number(self.links, n);
            match link.checked_sub(OUTSIDE) {
                Some(out) => {
                    // A link that leads nowhere ends in an object that no store has.
                    let raw = self.raw_oid(self.outside, out as usize);
                    Link::Outside(Oid::from_bytes(raw).unwrap_or_else(|| null(self.width)))
                }
                None => Link::Inside(link),
            }
        })
    }

    fn changed(&self, at: u32) -> impl Iterator<Item = u32> {
        self.span((self.hash_ends, (self.bytes.len() - self.hashes) / 4), at)
            .map(|n| self.number(self.hashes, n))
    }

    /// Whether the commit may have changed one of `paths`. If not, it has not.
    pub(super) fn may_change(&self, at: u32, paths: &Paths) -> bool {
        self.changed(at).any(|hash| paths.has(hash))
    }
}

/// The places of `entries` in an order that has parents before their children.
fn parents_first(entries: &[(Oid, Entry)]) -> Vec<usize> {
    let place: HashMap<Oid, usize> = entries.iter().map(|(oid, _)| *oid).zip(0..).collect();
    let (mut order, mut entered) = (Vec::with_capacity(entries.len()), vec![false; entries.len()]);
    for start in 0..entries.len() {
        let mut stack = vec![(start, 0)];
        if std::mem::replace(&mut entered[start], true) {
            continue;
        }
        while let Some((at, next)) = stack.last_mut() {
            match entries[*at].1.parents.get(*next) {
                Some(parent) => {
                    *next += 1;
                    if let Some(parent) = place.get(parent)
                        && !std::mem::replace(&mut entered[*parent], true)
                    {
                        stack.push((*parent, 0));
                    }
                }
                None => {
                    order.push(*at);
                    stack.pop();
                }
            }
        }
    }
    order
}

fn null(width: usize) -> Oid {
    Oid::from_bytes(&[0; 32][..width]).unwrap_or_else(|| unreachable!("the width of a known hash"))
}
