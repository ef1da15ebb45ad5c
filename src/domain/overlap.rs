//! Where the work of two workers meets.

use crate::domain::Change;
use bstr::BStr;
use bstr::BString;
use bstr::ByteSlice;
use std::collections::BTreeSet;

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
}
