//! What a person stages between a look at their index and its lock stays.

use super::*;
use crate::plumbing::git::Git;
use crate::plumbing::oracle::git;
use std::ffi::OsStr;

fn blob(dir: &Path, text: &str) -> Entry {
    let said = git(dir, &["hash-object", "-w", "--stdin"], text.as_bytes());
    (Mode::File, String::from_utf8(said).unwrap().trim().parse().unwrap())
}

/// By bytes, and by git, which alone reads the fourth version.
#[test]
#[expect(clippy::disallowed_methods, reason = "a repository is laid out by hand")]
fn what_was_staged_meanwhile_stays() {
    for version in ["2", "4"] {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        git(root, &["init", "--quiet", "."], b"");
        git(root, &["config", "index.version", version], b"");
        fs::write(root.join("a"), "seen\n").unwrap();
        git(root, &["add", "a"], b"");
        let [seen, staged, new] = ["seen\n", "staged\n", "new\n"].map(|text| blob(root, text));
        let path = std::env::var_os("PATH").unwrap();
        let vars = [(OsStr::new("PATH"), path.as_os_str()), (OsStr::new("HOME"), root.as_os_str())];
        let (repo, _) = Repo::discover(root, Git::new(vars), &|common| common.join("note")).unwrap();
        let admin = Admin { dir: root.join(".git"), path: root.to_owned() };
        git(root, &["update-index", "--cacheinfo", &format!("100644,{},a", staged.1)], b"");
        let before = fs::read(root.join(".git/index")).unwrap();
        let set = |was: Option<Entry>| {
            let index = repo.hold_index(&admin, "mark").unwrap().unwrap();
            let set = index.set_entry("a".into(), was, Some(new)).unwrap();
            index.free().unwrap();
            set
        };
        for was in [Some(seen), None] {
            assert!(!set(was), "{version}: {was:?}");
            assert_eq!(fs::read(root.join(".git/index")).unwrap(), before, "{version}: {was:?}");
        }
        assert!(set(Some(staged)));
        assert_eq!(repo.indexed_at(&admin, "a".into()).unwrap(), Some(Some(new)), "{version}");
    }
}
