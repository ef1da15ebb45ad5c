//! Which workers are at work on the same files, and whether their work can be merged. Nothing is written.

use crate::domain::Change;
use crate::domain::Oid;
use crate::domain::Result;
use crate::domain::shared;
use crate::plumbing::Merged;
use crate::plumbing::Merger;
use crate::plumbing::Objects;
use crate::plumbing::Renames;
use bstr::BString;

/// What one worker did: from a commit to a commit.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    pub base: Oid,
    pub tip: Oid,
}

/// Two that meet, by their places among those that were asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    pub pair: (usize, usize),
    /// The paths that both change.
    pub paths: Vec<BString>,
    /// Those that a merge of the two leaves to a person.
    pub conflicts: Vec<BString>,
}

/// Every two of `works` that change the same paths, with what a merge of their tips says. Others have nothing
/// to conflict about.
pub fn overlaps(objects: &Objects, works: &[Work]) -> Result<Vec<Overlap>> {
    let scratch = objects.scratch()?;
    let mut merger = Merger::new(&scratch);
    let mut known: Vec<(Oid, Vec<Change>)> = Vec::new();
    for work in works {
        let tip = scratch.tree_of(work.tip)?;
        known.push((tip, scratch.diff_trees(scratch.tree_of(work.base)?, tip)?));
    }
    let mut found = Vec::new();
    for (second, (theirs, their_changes)) in known.iter().enumerate() {
        for (first, (ours, our_changes)) in known[..second].iter().enumerate() {
            let paths = shared(our_changes, their_changes);
            if paths.is_empty() {
                continue;
            }
            let bases = [works[first].base, works[second].base];
            let conflicts = match start(&scratch, bases)? {
                Some(base) => match merger.trees(base, *ours, *theirs, Renames::Follow)? {
                    Merged::Clean(_) => Vec::new(),
                    Merged::Conflict(conflicts) => conflicts,
                },
                None => paths.clone(),
            };
            found.push(Overlap { pair: (first, second), paths, conflicts });
        }
    }
    Ok(found)
}

/// The tree that two works both started from; none if their bases have no history in common.
fn start(objects: &Objects, bases: [Oid; 2]) -> Result<Option<Oid>> {
    let common = match bases {
        [a, b] if a == b => Some(a),
        [a, b] => objects.merge_bases(a, b)?.first().copied(),
    };
    common.map(|common| objects.tree_of(common)).transpose()
}

/// See `git_skein::bench_overlaps`. Commits are full ids.
#[cfg(feature = "bench")]
pub fn bench_overlaps(dir: &std::path::Path, works: &[(String, String)]) -> Result<(usize, usize, f64)> {
    let objects = Objects::open(dir, "sha1")?;
    let work = |(base, tip): &(String, String)| Ok(Work { base: base.parse()?, tip: tip.parse()? });
    let works = works.iter().map(work).collect::<Result<Vec<Work>>>()?;
    let started = std::time::Instant::now();
    let found = overlaps(&objects, &works)?;
    let millis = started.elapsed().as_secs_f64() * 1e3;
    Ok((found.len(), found.iter().filter(|o| !o.conflicts.is_empty()).count(), millis))
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
            let works: Vec<Work> = names
                .iter()
                .map(|n| Work { base: oid(if *n == "end" { "old" } else { "base" }), tip: oid(n) })
                .collect();
            let objects = Objects::open(&dir.path().join("objects"), format).unwrap();
            let found = overlaps(&objects, &works).unwrap();
            let a = || vec![BString::from("a")];
            let want = |pair, conflicts| Overlap { pair, paths: a(), conflicts };
            // The lines of `top` and `end` do not touch; those of `top` and `both` are the same.
            assert_eq!(found, [want((0, 1), vec![]), want((0, 2), a()), want((1, 2), vec![])]);
            for overlap in found {
                let (one, two) = (names[overlap.pair.0], names[overlap.pair.1]);
                let says = run(&["merge-tree", "--stdin"], &format!("{one} {two}\n"));
                assert_eq!(says.starts_with('1'), overlap.conflicts.is_empty(), "{one} {two}: {says}");
            }
        }
    }
}
