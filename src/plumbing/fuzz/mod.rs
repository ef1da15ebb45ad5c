//! What is held against any bytes that git printed or that lie in a git folder: each function panics where a reader of
//! this room breaks its promise. Built for fuzzers and for the tests that replay what they found.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "that it fails is what it is for")]

mod files;

pub use files::*;

use crate::domain::Oid;
use crate::plumbing::attributes::Deciding;
use crate::plumbing::bundle::Header;
use crate::plumbing::capture::ignored;
use crate::plumbing::cherry;
use crate::plumbing::discover;
use crate::plumbing::patch;
use crate::plumbing::quota;
use crate::plumbing::refs;
use crate::plumbing::repo::Said;
use crate::plumbing::single;
use crate::plumbing::store;
use crate::plumbing::worktree;
use bstr::BString;
use bstr::ByteSlice;
use std::os::unix::ffi::OsStrExt;

/// Cut at a byte that nothing else uses.
fn parts<const N: usize>(bytes: &[u8]) -> [&[u8]; N] {
    let mut all = bytes.splitn(N, |byte| *byte == 0xfe);
    std::array::from_fn(|_| all.next().unwrap_or_default())
}

/// `git status --porcelain=v2 -z`: paths are those that git printed, and written again they are read the same.
pub fn status(bytes: &[u8]) {
    let found = worktree::parse_status(bytes);
    assert!(found.len() <= bytes.split(|b| *b == 0).count());
    let mut again = Vec::new();
    for dirty in &found {
        assert!(bytes.find(&dirty.path).is_some() && !dirty.path.contains(&0));
        match dirty.state.as_str() {
            "??" => again.extend_from_slice(b"? "),
            state => again.extend_from_slice(format!("1 {state} N... 1 1 1 a b ").as_bytes()),
        }
        again.extend_from_slice(&dirty.path);
        again.push(0);
    }
    assert_eq!(worktree::parse_status(&again), found);
}

/// `git worktree list --porcelain -z`.
pub fn worktree_list(bytes: &[u8]) {
    let found = worktree::parse_worktrees(bytes);
    let mut again = Vec::new();
    for one in &found {
        again.extend([b"worktree ", one.path.as_os_str().as_bytes(), b"\0"].concat());
        again.extend(one.branch.iter().flat_map(|name| format!("branch {name}\0").into_bytes()));
        again.extend(if one.bare { &b"bare\0"[..] } else { b"" });
        again.extend(one.locked.iter().flat_map(|why| format!("locked {why}\0").into_bytes()));
        again.push(0);
    }
    let read = worktree::parse_worktrees(&again);
    let facts = |all: &[worktree::Worktree]| -> Vec<_> {
        all.iter().map(|w| (w.path.clone(), w.branch.clone(), w.bare, w.locked.clone())).collect()
    };
    assert_eq!(facts(&read), facts(&found));
}

/// Lines of `git for-each-ref` with NUL between three fields.
pub fn for_each_ref(bytes: &[u8]) {
    for line in bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
        let Ok(one) = refs::parse(line) else { continue };
        let points_at = one.points_at.as_ref().map(ToString::to_string).unwrap_or_default();
        let again = format!("{}\0{points_at}\0{}", one.oid, one.name);
        let read = refs::parse(again.as_bytes()).unwrap();
        assert_eq!((read.oid, &read.name, &read.points_at), (one.oid, &one.name, &one.points_at));
    }
}

/// Paths, each with a NUL behind it.
pub fn nul_paths(bytes: &[u8]) {
    let paths = worktree::split(bytes);
    assert!(paths.iter().all(|path| !path.is_empty() && !path.contains(&0)));
    let length: usize = paths.iter().map(|path| path.len()).sum();
    assert_eq!(length, bytes.iter().filter(|b| **b != 0).count(), "no byte is lost");
}

/// `git log --follow --name-only -z`: a name is never taken for a commit, whatever it looks like.
pub fn log_names(bytes: &[u8]) {
    let found = single::named(bytes, b"a.md".into());
    let mut again = Vec::new();
    for (oid, name) in &found {
        assert!(!name.is_empty() && !name.contains(&0));
        again.extend([b"\0", oid.to_string().as_bytes(), b"\0\n", name, b"\0"].concat());
    }
    assert_eq!(single::named(&again, b"a.md".into()), found);
}

/// A reflog, `shallow`, and what `git cherry` and `git cat-file --batch-check` print: lists of ids.
pub fn id_lists(bytes: &[u8]) {
    let lines = bytes.lines().count();
    let logged = worktree::logged(bytes);
    assert!(logged.len() <= lines && logged.iter().all(|oid| !oid.is_null()));
    assert!(store::Lack::ends_in(bytes).len() <= lines);
    for line in bytes.lines() {
        let Ok((oid, upstream)) = cherry::sign(&line.to_str_lossy()) else { continue };
        let again = format!("{} {oid}", if upstream { '-' } else { '+' });
        assert_eq!(cherry::sign(&again).unwrap(), (oid, upstream));
    }
    let quota = quota::Quota::default();
    let all: Vec<(u64, String)> = quota::sizes(bytes).collect();
    assert_eq!(all.len(), lines);
    let total = all.iter().fold(0_u64, |sum, (size, _)| sum.saturating_add(*size));
    let fits = all.iter().all(|(size, _)| *size <= quota.object_bytes) && total <= quota.total_bytes;
    assert_eq!(quota::within(all.into_iter(), &quota).is_ok(), fits);
}

/// A file of git's configuration.
pub fn config_file(bytes: &[u8]) {
    let mut found = Vec::new();
    if discover::pairs(bytes, &mut found).is_none() {
        return;
    }
    for (key, value) in &found {
        let (section, last) = (key.split('.').next().unwrap(), key.rsplit('.').next().unwrap());
        assert!(!section.is_empty() && section == section.to_ascii_lowercase(), "{key:?}");
        assert!(!last.is_empty() && last == last.to_ascii_lowercase(), "{key:?}");
        assert!(!value.is_empty(), "{key:?}");
    }
}

/// What `git rev-parse` says of where the repository is.
pub fn repository_found(bytes: &[u8]) {
    let Some(said) = Said::parse(bytes) else { return };
    let all = [said.bare, said.format, said.git_dir, said.common, said.top.unwrap_or_default()];
    assert!(all.iter().map(|part| part.len()).sum::<usize>() <= bytes.len());
    assert!(!said.bare.contains(&b'\n') && !said.format.contains(&b'\n'));
}

/// The lines before the pack of a bundle's file.
pub fn bundle_header(bytes: &[u8]) {
    let Ok(header) = Header::parse(bytes) else { return };
    let text = header.text();
    let again = Header::parse(text.as_bytes()).unwrap();
    let facts = |h: &Header| (h.format, h.needs, h.tip, h.name.clone());
    assert_eq!(facts(&again), facts(&header));
    assert_eq!(again.text(), text);
}

/// The lines of an attributes file that decide: they are lines of it, and alone they say the same.
pub fn attributes(bytes: &[u8]) {
    let file = BString::from(bytes);
    let deciding = Deciding::with_macros_of(std::slice::from_ref(&file));
    let found = deciding.lines(bytes);
    assert!(found.len() <= bytes.lines().count());
    let mut again = Vec::new();
    for (pattern, said) in &found {
        assert!(!pattern.is_empty() && !said.is_empty());
        assert!(bytes.find(pattern).is_some() && said.iter().all(|word| bytes.find(word).is_some()));
        again.extend([pattern.as_bytes(), b" ", &bstr::join(" ", said), b"\n"].concat());
    }
    assert_eq!(deciding.lines(&again), found);
}

/// The rules of an ignore file (`.gitignore`, `.worktreeinclude`), then paths.
pub fn ignore_rules(bytes: &[u8]) {
    let [rules, paths] = parts(bytes);
    let rules = BString::from(rules);
    let more = BString::from([rules.as_bytes(), b"\n!*\n!/**\n"].concat());
    for path in paths.split(|b| *b == b'\n').filter(|path| !path.is_empty()).take(20) {
        for is_folder in [false, true] {
            let [now, born] = ignored(&rules, path.into(), is_folder);
            assert_eq!(now, born, "the same rules say the same");
            assert!(!ignored(&more, path.into(), is_folder)[0], "the last rule counts: {path:?}");
        }
        assert!(!ignored(&BString::default(), path.into(), false)[0]);
    }
}

/// Two files: what was taken out and put in leads from one to the other.
pub fn line_changes(bytes: &[u8]) {
    let [before, after] = parts(bytes);
    let hunks = patch::hunks(before, after);
    let count = |text: &[u8]| text.lines_with_terminator().count();
    let (gone, new) = hunks.iter().fold((0, 0), |(gone, new), hunk| {
        assert!(hunk.removed != hunk.added);
        (gone + hunk.removed.len(), new + hunk.added.len())
    });
    assert_eq!(count(before) - gone + new, count(after));
    assert_eq!(hunks.is_empty(), before == after);
    match patch::changed_lines(before, after) {
        Some(ranges) => {
            assert_eq!(ranges.len(), hunks.len());
            assert_eq!(ranges.iter().map(|r| r.len()).sum::<usize>(), gone);
            assert!(ranges.windows(2).all(|two| two[0].end <= two[1].start));
            assert!(ranges.last().is_none_or(|last| last.end as usize <= count(before)));
        }
        None => assert!(before.contains(&0) || after.contains(&0)),
    }
    let alike = patch::similarity(before, after);
    assert!(alike <= 100 && (before != after || alike == 100));
}

/// A commit from which a shallow clone takes its parents: nothing else goes.
pub fn cut_off_commit(bytes: &[u8]) {
    let mut commit = bytes.to_vec();
    store::orphan(&mut commit);
    let first = bytes.find_byte(b'\n').map_or(bytes.len(), |end| end + 1);
    assert!(commit.starts_with(&bytes[..first]) && bytes.ends_with(&commit[first..]));
    assert!(!commit[first..].starts_with(b"parent "));
    let gone = &bytes[first..bytes.len() - (commit.len() - first)];
    assert!(gone.lines().all(|line| line.starts_with(b"parent ")));
    let again = commit.clone();
    store::orphan(&mut commit);
    assert_eq!(commit, again);
}

fn oid_at(bytes: &[u8], at: usize) -> Option<Oid> {
    Oid::from_bytes(bytes.get(at..at + 20)?)
}
