//! Which two works meet in the same files, how near, and what a merge of the two says. Nothing is written.

use crate::domain::Change;
use crate::domain::Mode;
use crate::domain::Nearness;
use crate::domain::Oid;
use crate::domain::Result;
use crate::domain::nearest;
use crate::domain::shared;
use crate::plumbing::Merged;
use crate::plumbing::Merger;
use crate::plumbing::Objects;
use crate::plumbing::Renames;
use crate::plumbing::changed_lines;
use bstr::BStr;
use bstr::BString;
use bstr::ByteSlice;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

/// What one worker did: from a commit to a tree, which was seen on top of `head`.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    pub base: Oid,
    pub head: Oid,
    pub tree: Oid,
}

/// Two that meet, by their places among those that were asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    pub pair: (usize, usize),
    /// The paths that both change.
    pub meets: Vec<Meet>,
    /// What a merge of the two gives, or leaves to a person.
    pub merged: Merged,
}

/// One path that both change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meet {
    pub path: BString,
    pub nearness: Nearness,
    /// The changes that are nearest to each other, as lines of the file that both started from, and the unchanged
    /// lines between them; none of what has no lines.
    pub lines: Option<(u32, [Range<u32>; 2])>,
}

/// Which pairs are asked about, by their places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Those that change the same paths. Others have nothing to conflict about.
    Meeting,
    /// The same, of this one.
    MeetingWith(usize),
    /// All: a program can break over files that are not the same.
    Every,
}

/// The pairs of `works` that `ask` names, in their order. Merges are made in `scratch`, a store in memory.
pub fn overlaps(scratch: &Objects, works: &[Work], ask: Ask) -> Result<Vec<Overlap>> {
    let mut merger = Merger::new(scratch);
    let mut lines = Lines { objects: scratch, known: HashMap::new() };
    let mut changes: Vec<Vec<Change>> = Vec::new();
    for work in works {
        changes.push(scratch.diff_trees(scratch.tree_of(work.base)?, work.tree)?);
    }
    let mut found = Vec::new();
    for second in 0..works.len() {
        for first in 0..second {
            if matches!(ask, Ask::MeetingWith(one) if one != first && one != second) {
                continue;
            }
            let paths = shared(&changes[first], &changes[second]);
            if paths.is_empty() && ask != Ask::Every {
                continue;
            }
            let (ours, theirs) = (works[first], works[second]);
            let Some(base) = start(scratch, ours, theirs)? else { continue };
            if base == ours.tree || base == theirs.tree {
                // One goes on from where the other is.
                continue;
            }
            let merged = merger.trees(base, ours.tree, theirs.tree, Renames::Follow)?;
            let meet = |path: BString| lines.meet(base, [ours.tree, theirs.tree], path);
            let meets = paths.into_iter().map(meet).collect::<Result<Vec<Meet>>>()?;
            found.push(Overlap { pair: (first, second), meets, merged });
        }
    }
    Ok(found)
}

/// The tree that two works both started from; none if they have no history in common.
fn start(objects: &Objects, ours: Work, theirs: Work) -> Result<Option<Oid>> {
    let common = match ours.base == theirs.base {
        true => Some(ours.base),
        false => objects.merge_bases(ours.head, theirs.head)?.first().copied(),
    };
    common.map(|common| objects.tree_of(common)).transpose()
}

type Spans = Option<Rc<[Range<u32>]>>;

/// Which lines of a file a change of it touches.
struct Lines<'o> {
    objects: &'o Objects,
    known: HashMap<(Oid, Oid), Spans>,
}

impl Lines<'_> {
    fn meet(&mut self, base: Oid, sides: [Oid; 2], path: BString) -> Result<Meet> {
        let there = |side| self.objects.entry_at(side, path.as_bstr());
        if there(sides[0])? == there(sides[1])? {
            // Both made the very same of it.
            return Ok(Meet { path, nearness: Nearness::SameFile, lines: None });
        }
        let [ours, theirs] =
            [self.of(base, sides[0], path.as_bstr())?, self.of(base, sides[1], path.as_bstr())?];
        let lines = ours.zip(theirs).and_then(|(ours, theirs)| nearest(&ours, &theirs));
        let nearness = lines.as_ref().map_or(Nearness::Contested, |(gap, _)| Nearness::of(*gap));
        Ok(Meet { path, nearness, lines })
    }

    /// `None`: it is no change of lines, but of what stands there.
    fn of(&mut self, base: Oid, side: Oid, path: &BStr) -> Result<Spans> {
        let there = (self.objects.entry_at(base, path)?, self.objects.entry_at(side, path)?);
        let (Some((before, old)), Some((after, new))) = there else { return Ok(None) };
        if before != after || !matches!(before, Mode::File | Mode::Executable) {
            return Ok(None);
        }
        if let Some(known) = self.known.get(&(old, new)) {
            return Ok(known.clone());
        }
        let spans: Spans = changed_lines(&self.objects.blob(old)?, &self.objects.blob(new)?).map(Rc::from);
        self.known.insert((old, new), spans.clone());
        Ok(spans)
    }
}

/// See `git_skein::bench_overlaps`. Commits are full ids.
#[cfg(feature = "bench")]
pub fn bench_overlaps(dir: &std::path::Path, works: &[(String, String)]) -> Result<(usize, usize, f64)> {
    let objects = Objects::open(dir, "sha1")?;
    let work = |(base, tip): &(String, String)| -> Result<Work> {
        let head: Oid = tip.parse()?;
        Ok(Work { base: base.parse()?, head, tree: objects.tree_of(head)? })
    };
    let works = works.iter().map(work).collect::<Result<Vec<Work>>>()?;
    let started = std::time::Instant::now();
    let found = overlaps(&objects.scratch()?, &works, Ask::Meeting)?;
    let millis = started.elapsed().as_secs_f64() * 1e3;
    Ok((found.len(), found.iter().filter(|o| matches!(o.merged, Merged::Conflict(_))).count(), millis))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plumbing::oracle::git;

    const STORY: &str = "\
commit refs/heads/old\nmark :1\ncommitter A <a@x> 1 +0000\ndata 0\n\
M 100644 inline a\ndata 6\n1\n2\n3\n\nM 100644 inline b\ndata 2\n1\n\n\
commit refs/heads/base\nmark :2\ncommitter A <a@x> 2 +0000\ndata 0\nfrom :1\nM 100644 inline n\ndata 2\nn\n\n\
commit refs/heads/top\ncommitter A <a@x> 3 +0000\ndata 0\nfrom :2\nM 100644 inline a\ndata 6\n9\n2\n3\n\n\
commit refs/heads/end\ncommitter A <a@x> 3 +0000\ndata 0\nfrom :1\nM 100644 inline a\ndata 6\n1\n2\n9\n\n\
commit refs/heads/both\ncommitter A <a@x> 3 +0000\ndata 0\nfrom :2\nM 100644 inline a\ndata 6\n8\n2\n3\n\n\
commit refs/heads/other\ncommitter A <a@x> 3 +0000\ndata 0\nfrom :2\nM 100644 inline c\ndata 2\nc\n\n";

    #[test]
    fn pairs_that_meet_are_merged_and_git_agrees() {
        for format in ["sha1", "sha256"] {
            let dir = tempfile::tempdir().unwrap();
            let run = |args: &[&str], input: &str| {
                let out = git(dir.path(), args, input.as_bytes());
                String::from_utf8(out).unwrap().trim().to_owned()
            };
            run(&["init", "--quiet", "--bare", "--object-format", format, "."], "");
            run(&["fast-import", "--quiet"], STORY);
            let oid = |name: &str| -> Oid { run(&["rev-parse", name], "").parse().unwrap() };
            let names = ["top", "end", "both", "other"];
            let objects = Objects::open(&dir.path().join("objects"), format).unwrap();
            let work = |n: &&str| {
                let (base, head) = (oid(if *n == "end" { "old" } else { "base" }), oid(n));
                Work { base, head, tree: objects.tree_of(head).unwrap() }
            };
            let works: Vec<Work> = names.iter().map(work).collect();
            let scratch = objects.scratch().unwrap();
            let found = overlaps(&scratch, &works, Ask::Meeting).unwrap();
            let told = |o: &Overlap| (o.pair, o.meets[0].nearness, o.meets[0].lines.clone());
            let told: Vec<_> = found.iter().map(told).collect();
            // The lines of `top` and `end` do not touch; those of `top` and `both` are the same.
            let (near, same) = (Nearness::Adjacent, Nearness::Contested);
            let lines = |gap, one, two| Some((gap, [one, two]));
            assert_eq!(
                told,
                [
                    ((0, 1), near, lines(1, 0..1, 2..3)),
                    ((0, 2), same, lines(0, 0..1, 0..1)),
                    ((1, 2), near, lines(1, 2..3, 0..1)),
                ]
            );
            assert_eq!(overlaps(&scratch, &works, Ask::Every).unwrap().len(), 6);
            assert_eq!(overlaps(&scratch, &works, Ask::MeetingWith(2)).unwrap(), found[1..]);
            for overlap in found {
                let (one, two) = (names[overlap.pair.0], names[overlap.pair.1]);
                let says = run(&["merge-tree", "--stdin"], &format!("{one} {two}\n"));
                assert_eq!(
                    says.starts_with('1'),
                    matches!(overlap.merged, Merged::Clean(_)),
                    "{one} {two}: {says}"
                );
            }
        }
    }
}
