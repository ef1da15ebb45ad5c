//! git's own commit-graph with its filters of changed paths (gitformat-commit-graph(5)). It spares reading commits and trees, as it does for git. It is a file that anybody who may write to the
//! repository may have written: what rests on it alone is no proof.

use crate::domain::Oid;
use crate::plumbing::objects::id;
use crate::plumbing::objects::oid_of;
use bstr::BStr;
use gix::commitgraph::File;
use gix::commitgraph::Graph;
use std::path::Path;
use std::path::PathBuf;

/// Commits with their parents, trees and filters.
pub(super) struct GitGraph {
    graph: Graph,
    /// Those of the files that have some.
    filters: Vec<Filters>,
}

impl std::fmt::Debug for GitGraph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GitGraph of {} commits", self.graph.num_commits())
    }
}

/// What the graph says of a commit.
pub(super) struct Stored {
    pub parents: Vec<Oid>,
    pub time: i64,
    /// Where it is, if there is a filter for it.
    pub at: Option<u32>,
}

impl GitGraph {
    /// The graph of the store at `objects`, if it has one.
    pub fn of(objects: &Path) -> Option<GitGraph> {
        let (mut files, mut filters, mut before) = (Vec::new(), Vec::new(), 0);
        for path in paths(&objects.join("info"))? {
            let file = File::at(&path).ok()?;
            filters.extend(Filters::read(&path, before, file.num_commits()));
            before += file.num_commits();
            files.push(file);
        }
        let graph = Graph::new(files).ok()?;
        Some(GitGraph { graph, filters })
    }

    pub fn stored(&self, oid: Oid) -> Option<Stored> {
        let at = self.graph.lookup(id(oid))?;
        let commit = self.graph.commit_at(at);
        let parents = commit.iter_parents().map(|parent| Some(oid_of(self.graph.id_at(parent.ok()?))));
        Some(Stored {
            parents: parents.collect::<Option<Vec<Oid>>>()?,
            time: i64::try_from(commit.committer_timestamp()).ok()?,
            at: self.filters_for(at.0).map(|_| at.0),
        })
    }

    fn filters_for(&self, at: u32) -> Option<&Filters> {
        self.filters.iter().find(|f| at >= f.first && at - f.first < f.count)
    }

    /// Whether the commit at `at` may differ from its first parent at one of the paths. If not, it does not.
    pub fn may_change(&self, at: u32, keys: &[Key]) -> bool {
        self.filters_for(at).is_none_or(|filters| filters.may_have(at - filters.first, keys))
    }
}

/// The files of the graph, base first.
fn paths(info: &Path) -> Option<Vec<PathBuf>> {
    let (single, chain) = (info.join("commit-graph"), info.join("commit-graphs"));
    if single.is_file() {
        return Some(vec![single]);
    }
    let listed = std::fs::read_to_string(chain.join("commit-graph-chain")).ok()?;
    let is_hex = |line: &str| !line.is_empty() && line.bytes().all(|b| b.is_ascii_hexdigit());
    listed.lines().map(|line| is_hex(line).then(|| chain.join(format!("graph-{line}.graph")))).collect()
}

/// The two hashes of a path, from which all its bits follow.
#[derive(Debug)]
pub(super) struct Key {
    first: u32,
    step: u32,
    /// git's first version reads such bytes as negative numbers.
    ascii: bool,
}

impl Key {
    pub fn of(path: &BStr) -> Key {
        let hash = |seed| murmur3(seed, path);
        Key { first: hash(0x293a_e76f), step: hash(0x7e64_6e2c), ascii: path.is_ascii() }
    }
}

/// The filters of one file.
pub(super) struct Filters {
    /// The places in the whole graph that they are of.
    first: u32,
    count: u32,
    /// Where each ends in `data`, as big-endian numbers.
    ends: Vec<u8>,
    data: Vec<u8>,
    version: u32,
    hashes: u32,
}

/// git makes 7 of each path. More would only take long, and somebody else may have written that there are.
const MOST: u32 = 64;

/// What stands before the filters.
const HEADER: usize = 12;

impl Filters {
    pub(super) fn read(path: &Path, first: u32, count: u32) -> Option<Filters> {
        let file = std::fs::read(path).ok()?;
        let number = |at: usize| Some(u32::from_be_bytes(*file.get(at..)?.first_chunk()?));
        let offset = |at: usize| {
            let raw = u64::from_be_bytes(*file.get(at..)?.first_chunk()?);
            usize::try_from(raw).ok()
        };
        let chunks = usize::from(*file.get(6)?);
        let chunk = |name: &[u8; 4]| {
            let entry = (0..chunks).map(|n| 8 + n * 12).find(|at| file.get(*at..at + 4) == Some(name))?;
            Some((offset(entry + 4)?, offset(entry + 16)?))
        };
        let ((ends, ends_end), (data, data_end)) = (chunk(b"BIDX")?, chunk(b"BDAT")?);
        let (version, hashes) = (number(data)?, number(data + 4)?);
        let filters = Filters {
            first,
            count,
            ends: file.get(ends..ends_end)?.to_vec(),
            data: file.get(data + HEADER..data_end)?.to_vec(),
            version,
            hashes,
        };
        let fits = filters.ends.len() == count as usize * 4
            && (1..=2).contains(&version)
            && (1..=MOST).contains(&hashes);
        fits.then_some(filters)
    }

    pub(super) fn may_have(&self, at: u32, keys: &[Key]) -> bool {
        let end = |at: u32| {
            let raw = self.ends.get(at as usize * 4..)?.first_chunk()?;
            Some(u32::from_be_bytes(*raw) as usize)
        };
        let start = at.checked_sub(1).map_or(Some(0), end);
        let span = start.zip(end(at)).and_then(|(start, end)| self.data.get(start..end));
        // One that was not made says nothing.
        let Some(bits) = span.filter(|bits| !bits.is_empty()) else { return true };
        keys.iter().any(|key| self.has(bits, key))
    }

    fn has(&self, bits: &[u8], key: &Key) -> bool {
        if self.version == 1 && !key.ascii {
            return true;
        }
        let size = bits.len() as u64 * 8;
        (0..self.hashes).all(|n| {
            let hash = key.first.wrapping_add(n.wrapping_mul(key.step));
            let bit = u64::from(hash) % size;
            bits[(bit / 8) as usize] & (1 << (bit % 8)) != 0
        })
    }
}

/// MurmurHash3, 32 bits (Austin Appleby, public domain).
fn murmur3(seed: u32, data: &[u8]) -> u32 {
    let mix = |block: u32| block.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let mut hash = seed;
    let (blocks, tail) = data.as_chunks::<4>();
    for block in blocks {
        hash = (hash ^ mix(u32::from_le_bytes(*block))).rotate_left(13);
        hash = hash.wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    let rest = tail.iter().rev().fold(0, |rest: u32, byte| (rest << 8) | u32::from(*byte));
    if !tail.is_empty() {
        hash ^= mix(rest);
    }
    hash ^= data.len() as u32;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a graph is cut short by hand")]
mod tests {
    use super::*;
    use crate::plumbing::objects::Objects;
    use crate::plumbing::oracle::git;
    use std::collections::BTreeSet;
    use std::fmt::Write;

    #[test]
    fn hashes_are_those_of_git() {
        // The values in git's own tests of its filters (t0095).
        assert_eq!(murmur3(0, b""), 0);
        assert_eq!(murmur3(0, b"Hello world!"), 0x627b_0c2c);
        assert_eq!(murmur3(0, b"The quick brown fox jumps over the lazy dog"), 0x2e4f_f723);
    }

    /// Each commit changes two of these, one of them added and taken away in turn.
    const PATHS: &[&str] =
        &["a", "b/c", "b/d/e", "b/d/f", "g/h/i/j", "kä/l", "m n", "o.p", "q/r", "s/t/u", "v", "w/x/y/z"];

    fn history(dir: &Path) -> Vec<Oid> {
        let mut stream = String::new();
        for n in 0..200 {
            let _ = write!(stream, "commit refs/heads/main\ncommitter a <b> {} +0000\ndata 1\nx\n", 1000 + n);
            let (path, other) = (PATHS[n % PATHS.len()], PATHS[n * 5 % PATHS.len()]);
            let _ = write!(stream, "M 100644 inline \"{path}\"\ndata 3\n{n:03}\n");
            if n % 3 == 0 && other != path {
                let _ = writeln!(stream, "D \"{other}\"");
            }
        }
        git(dir, &["init", "--quiet", "--bare", "."], b"");
        git(dir, &["fast-import", "--quiet"], stream.as_bytes());
        let listed = git(dir, &["rev-list", "main"], b"");
        String::from_utf8(listed).unwrap().lines().map(|line| line.parse().unwrap()).collect()
    }

    fn agrees(dir: &Path, commits: &[Oid], version: u32) {
        let objects = Objects::open(&dir.join("objects"), "sha1").unwrap();
        let graph = GitGraph::of(&dir.join("objects")).unwrap();
        assert!(graph.filters.iter().all(|f| f.version == version));
        let (mut said, mut so) = (0, 0);
        for oid in commits {
            let (stored, past) = (graph.stored(*oid).unwrap(), objects.past(*oid).unwrap());
            assert_eq!((stored.parents, stored.time), (past.parents.clone(), past.time));
            let changes = objects.changes_of(*oid).unwrap();
            let mut changed: BTreeSet<String> = BTreeSet::new();
            for change in &changes {
                let path = String::from_utf8(change.path.to_vec()).unwrap();
                changed.extend(path.match_indices('/').map(|(at, _)| path[..at].to_owned()));
                changed.insert(path);
            }
            for path in PATHS.iter().chain(&["b", "b/d", "w/x", "none", "b/none"]) {
                let may = graph.may_change(stored.at.unwrap(), &[Key::of(path.as_bytes().into())]);
                assert!(may || !changed.contains(*path), "{oid} changes {path}");
                said += usize::from(may);
                so += usize::from(changed.contains(*path));
            }
        }
        assert!(said < so * 2, "a filter that says yes to everything: {said} of which {so} are so");
    }

    #[test]
    fn filters_miss_no_change() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path();
        let commits = history(dir);
        assert!(GitGraph::of(&dir.join("objects")).is_none(), "there is none");
        let write = |more: &[&str]| {
            let args = [more, &["commit-graph", "write", "--reachable", "--changed-paths"]].concat();
            git(dir, &args, b"");
        };
        write(&[]);
        agrees(dir, &commits, 1);
        std::fs::remove_file(dir.join("objects/info/commit-graph")).unwrap();
        git(dir, &["commit-graph", "write", "--reachable", "--no-changed-paths"], b"");
        let bare = GitGraph::of(&dir.join("objects")).unwrap();
        assert!(bare.stored(commits[0]).unwrap().at.is_none() && bare.may_change(0, &[]), "without filters");
        std::fs::remove_file(dir.join("objects/info/commit-graph")).unwrap();
        // A chain of two files.
        let half = commits[100].to_string();
        let split = ["commit-graph", "write", "--changed-paths", "--split=no-merge", "--stdin-commits"];
        git(dir, &split, half.as_bytes());
        git(dir, &split, commits[0].to_string().as_bytes());
        assert_eq!(GitGraph::of(&dir.join("objects")).unwrap().filters.len(), 2);
        agrees(dir, &commits, 1);
        // Cut short, it is none.
        let (last, file) = paths(&dir.join("objects/info"))
            .unwrap()
            .pop()
            .map(|p| (p.clone(), std::fs::read(p).unwrap()))
            .unwrap();
        std::fs::remove_file(&last).unwrap();
        std::fs::write(&last, &file[..file.len() / 2]).unwrap();
        assert!(GitGraph::of(&dir.join("objects")).is_none());
    }
}
