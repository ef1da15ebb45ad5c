//! Where the work of two workers meets.

use crate::domain::Change;
use bstr::BStr;
use bstr::BString;
use bstr::ByteSlice;
use serde::Serialize;
use std::collections::BTreeSet;
use std::ops::Range;

/// The most unchanged lines between two changes that are still told of as near each other.
const NEAR: u32 = 8;

/// How near the changes of two workers come to each other in one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Nearness {
    /// The same file, but far apart or changed to the same.
    SameFile,
    /// At most eight unchanged lines lie between.
    Adjacent,
    /// The same lines, or lines without an unchanged one between; and whatever has no lines.
    Contested,
}

impl Nearness {
    /// Of changes with `gap` unchanged lines between them.
    pub fn of(gap: u32) -> Nearness {
        match gap {
            0 => Nearness::Contested,
            1..=NEAR => Nearness::Adjacent,
            _ => Nearness::SameFile,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Nearness::SameFile => "same file",
            Nearness::Adjacent => "adjacent",
            Nearness::Contested => "contested",
        }
    }
}

/// The two changes that are nearest to each other, one of each side, and how many unchanged lines lie between.
/// All are ranges of lines of the same file, in order; an empty one is a place where lines were put in. `None`
/// if one side changes no line.
pub fn nearest(a: &[Range<u32>], b: &[Range<u32>]) -> Option<(u32, [Range<u32>; 2])> {
    let (mut left, mut right) = (0, 0);
    let mut best: Option<(u32, [Range<u32>; 2])> = None;
    while let (Some(x), Some(y)) = (a.get(left), b.get(right)) {
        let gap = y.start.saturating_sub(x.end).max(x.start.saturating_sub(y.end));
        if best.as_ref().is_none_or(|(least, _)| gap < *least) {
            best = Some((gap, [x.clone(), y.clone()]));
        }
        if x.end <= y.end { left += 1 } else { right += 1 }
    }
    best
}

/// The paths that both change, sorted. Where one has a file and the other a folder, the file's path.
pub fn shared(a: &[Change], b: &[Change]) -> Vec<BString> {
    let paths = |changes: &[Change]| changes.iter().map(|c| c.path.clone()).collect::<BTreeSet<BString>>();
    let (a, b) = (paths(a), paths(b));
    let mut shared: BTreeSet<BString> = a.intersection(&b).cloned().collect();
    for (these, those) in [(&a, &b), (&b, &a)] {
        let above = these.iter().flat_map(|path| folders(path.as_ref()));
        shared.extend(above.filter(|folder| those.contains(*folder)).map(ToOwned::to_owned));
    }
    shared.into_iter().collect()
}

fn folders(path: &BStr) -> impl Iterator<Item = &BStr> {
    path.find_iter("/").map(|at| path[..at].as_bstr())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::single_range_in_vec_init, reason = "one change is a list of one")]

    use super::*;
    use crate::domain::Mode;
    use crate::domain::Oid;

    #[test]
    fn paths_meet_where_they_are_the_same_or_a_file_stands_for_a_folder() {
        let entry = Some((Mode::File, Oid::from_bytes(&[1; 20]).unwrap()));
        let work = |paths: &[&str]| -> Vec<Change> {
            paths.iter().map(|p| Change { path: (*p).into(), old: None, new: entry }).collect()
        };
        for (a, b, want) in [
            (&["a", "b"][..], &["b", "c"][..], &["b"][..]),
            (&["a"], &["b"], &[]),
            (&["d"], &["d/e/f"], &["d"]),
            (&["d/e/f", "d/x"], &["d/e"], &["d/e"]),
            (&["d/e"], &["d/ef"], &[]),
            (&[], &["a"], &[]),
        ] {
            let want: Vec<BString> = want.iter().map(|p| (*p).into()).collect();
            assert_eq!(shared(&work(a), &work(b)), want, "{a:?} {b:?}");
            assert_eq!(shared(&work(b), &work(a)), want, "{b:?} {a:?}");
        }
    }

    #[test]
    fn the_nearest_changes_are_found() {
        for (a, b, want) in [
            (&[0..1][..], &[0..1][..], Some((0, [0..1, 0..1]))),
            (&[0..3], &[3..4], Some((0, [0..3, 3..4]))),
            (&[5..5], &[5..5], Some((0, [5..5, 5..5]))),
            (&[5..5], &[4..6], Some((0, [5..5, 4..6]))),
            (&[0..1, 20..21], &[10..11, 24..30], Some((3, [20..21, 24..30]))),
            (&[0..100], &[40..41], Some((0, [0..100, 40..41]))),
            (&[9..10], &[0..1], Some((8, [9..10, 0..1]))),
            (&[], &[0..1], None),
        ] {
            assert_eq!(nearest(a, b), want, "{a:?} {b:?}");
            let turned = want.map(|(gap, [x, y])| (gap, [y, x]));
            assert_eq!(nearest(b, a), turned, "{b:?} {a:?}");
        }
        let words = [0, 1, 8, 9].map(|gap| Nearness::of(gap).word());
        assert_eq!(words, ["contested", "adjacent", "adjacent", "same file"]);
    }
}
