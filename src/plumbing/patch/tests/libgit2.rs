//! libgit2 as a second oracle: it gives the same ids where content is text, and where it is binary it does
//! not look at it, so that its ids of different changes are the same there.

use super::Files;
use super::Repo;
use crate::domain::Oid;

impl Repo {
    /// libgit2's patch id of what leads from tree `a` to tree `b`.
    fn libgit2(&self, a: Oid, b: Oid) -> String {
        let repo = git2::Repository::open_bare(self.dir.path()).unwrap();
        let tree = |oid: Oid| repo.find_tree(git2::Oid::from_bytes(oid.as_bytes()).unwrap()).unwrap();
        let diff = repo.diff_tree_to_tree(Some(&tree(a)), Some(&tree(b)), None).unwrap();
        diff.patchid(None).unwrap().to_string()
    }
}

#[test]
fn libgit2_agrees_on_text_modes_links_and_gitlinks() {
    let table: Vec<(&str, Files<'_>, Files<'_>)> = vec![
        ("text", &[("a", b"1\n2\n3\n")], &[("a", b"1\ntwo\n3\n")]),
        ("two files", &[("a", b"1\n"), ("b/c", b"1\n")], &[("a", b"2\n"), ("b/c", b"3\n")]),
        ("new file", &[("z", b"z\n")], &[("z", b"z\n"), ("a", b"1\n")]),
        ("no newline at the end", &[("a", b"1\n2\n")], &[("a", b"1\n2")]),
        ("white space", &[("a", b"f(a b)\n")], &[("a", b"\tf( a  b )\n")]),
        ("line ends", &[("a", b"1\n2\n")], &[("a", b"1\r\n2\r\n")]),
        ("executable", &[("a", b"1\n")], &[("x:a", b"1\n")]),
        ("mode and text", &[("a", b"1\n")], &[("x:a", b"2\n")]),
        ("link", &[("l:a", b"there")], &[("l:a", b"elsewhere")]),
        ("gitlink", &[("m:sub", b"1")], &[("m:sub", b"2")]),
        ("new gitlink", &[("a", b"1\n")], &[("a", b"1\n"), ("m:sub", b"2")]),
    ];
    let repo = Repo::new("sha1");
    for (name, before, after) in table {
        let (a, b) = (repo.tree(before), repo.tree(after));
        for (a, b) in [(a, b), (b, a)] {
            assert_eq!(repo.ours(a, b).stable, repo.libgit2(a, b), "{name}");
        }
    }
}

#[test]
fn libgit2_takes_different_binary_changes_for_one() {
    let repo = Repo::new("sha1");
    let [base, one, other] = [b"1\0", b"2\0", b"3\0"].map(|content| repo.tree(&[("a", content)]));
    assert_eq!(repo.libgit2(base, one), repo.libgit2(base, other));
    let (ours, others) = (repo.ours(base, one), repo.ours(base, other));
    assert_ne!(ours.stable, others.stable);
    assert_ne!(ours.verbatim, others.verbatim);
    assert_eq!(ours, repo.theirs(base, one));
}
