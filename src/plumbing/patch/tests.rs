//! Our patch ids against those of real git, on a table of cases and on random ones; and against libgit2.

mod libgit2;
mod many;

use super::*;
use crate::domain::Oid;
use crate::plumbing::oracle::git;

struct Repo {
    dir: tempfile::TempDir,
    objects: Objects,
}

impl Repo {
    fn new(format: &str) -> Repo {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "-q", "--bare", "--object-format", format, "."], b"");
        let objects = Objects::open(&dir.path().join("objects"), format).unwrap();
        Repo { dir, objects }
    }

    /// A tree of files: `path` may start with `x:` (executable), `l:` (link) or `m:` (gitlink).
    fn tree(&self, files: &[(&str, &[u8])]) -> Oid {
        let edits: Vec<_> = files
            .iter()
            .map(|(name, content)| {
                let (mode, path) = match name.split_once(':') {
                    Some(("x", path)) => (Mode::Executable, path),
                    Some(("l", path)) => (Mode::Link, path),
                    Some(("m", path)) => (Mode::Gitlink, path),
                    _ => (Mode::File, *name),
                };
                let oid = match mode {
                    Mode::Gitlink => self.objects.hash_blob(content).unwrap(),
                    _ => self.objects.write_blob(content).unwrap(),
                };
                (path.into(), Some((mode, oid)))
            })
            .collect();
        self.objects.edit_tree(self.objects.empty_tree(), edits).unwrap()
    }

    fn ours(&self, a: Oid, b: Oid) -> PatchIds {
        self.objects.patch_ids(&self.objects.diff_trees(a, b).unwrap()).unwrap()
    }

    fn theirs(&self, a: Oid, b: Oid) -> PatchIds {
        let (a, b) = (a.to_string(), b.to_string());
        let diff =
            ["diff-tree", "-r", "-p", "--no-renames", "--no-indent-heuristic", "--full-index", "-U3", &a, &b];
        let patch = git(self.dir.path(), &diff, b"");
        let id = |kind: &str| {
            let out = git(self.dir.path(), &["patch-id", kind], &patch);
            String::from_utf8(out).unwrap().split_whitespace().next().unwrap_or_default().to_owned()
        };
        PatchIds { stable: id("--stable"), verbatim: id("--verbatim") }
    }

    fn check(&self, name: &str, before: &[(&str, &[u8])], after: &[(&str, &[u8])]) {
        let (a, b) = (self.tree(before), self.tree(after));
        for (a, b) in [(a, b), (b, a)] {
            assert_eq!(self.ours(a, b), self.theirs(a, b), "{name}");
        }
    }
}

type Files<'a> = &'a [(&'a str, &'a [u8])];

#[test]
fn ids_equal_those_of_git() {
    let long: Vec<u8> = (0..60).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
    let far = long.replace(b"line 5\n", b"five\n").replace(b"line 40\n", b"forty\n");
    let near = long.replace(b"line 5\n", b"five\n").replace(b"line 12\n", b"twelve\n");
    let late_nul: Vec<u8> = [&b"a\n".repeat(5000)[..], b"x\0y\nz\n"].concat();
    let late_nul_2: Vec<u8> = [&b"a\n".repeat(5000)[..], b"x\0w\nzz\n"].concat();
    let table: Vec<(&str, Files<'_>, Files<'_>)> = vec![
        ("nothing", &[("a", b"1\n")], &[("a", b"1\n")]),
        ("text", &[("a", b"1\n2\n3\n")], &[("a", b"1\ntwo\n3\n")]),
        ("new file", &[("z", b"z\n")], &[("z", b"z\n"), ("a", b"1\n")]),
        ("new empty file before another", &[("z", b"z\n")], &[("z", b"y\n"), ("a", b"")]),
        ("executable", &[("a", b"1\n")], &[("x:a", b"1\n")]),
        ("mode, then text in another", &[("a", b"1\n"), ("b", b"1\n")], &[("x:a", b"1\n"), ("b", b"2\n")]),
        ("mode and text", &[("a", b"1\n")], &[("x:a", b"2\n")]),
        ("link", &[("l:a", b"there")], &[("l:a", b"elsewhere")]),
        ("file to link", &[("a", b"there\n")], &[("l:a", b"there")]),
        ("gitlink", &[("m:sub", b"1")], &[("m:sub", b"2")]),
        ("file to gitlink", &[("sub", b"1\n")], &[("m:sub", b"2")]),
        ("new gitlink", &[("a", b"1\n")], &[("a", b"1\n"), ("m:sub", b"2")]),
        ("no newline at the end", &[("a", b"1\n2\n")], &[("a", b"1\n2")]),
        ("no newline in context", &[("a", b"1\n2")], &[("a", b"one\n2")]),
        ("white space", &[("a", b"f(a b)\n")], &[("a", b"\tf( a  b )\n")]),
        ("line ends", &[("a", b"1\n2\n")], &[("a", b"1\r\n2\r\n")]),
        ("binary", &[("a", b"1\0\n")], &[("a", b"2\0\n")]),
        ("new binary", &[("z", b"z\n")], &[("z", b"z\n"), ("a", b"\0")]),
        ("binary before text", &[("a", b"1\0\n"), ("b", b"1\n")], &[("a", b"2\0\n"), ("b", b"2\n")]),
        ("binary before mode", &[("a", b"1\0\n"), ("b", b"1\n")], &[("a", b"2\0\n"), ("x:b", b"1\n")]),
        ("two binaries", &[("a", b"1\0\n"), ("b", b"1\0")], &[("a", b"2\0\n"), ("b", b"2\0")]),
        ("text before binary", &[("a", b"1\n"), ("b", b"1\0")], &[("a", b"2\n"), ("b", b"2\0")]),
        ("binary mode only", &[("a", b"1\0\n")], &[("x:a", b"1\0\n")]),
        ("binary and mode", &[("a", b"1\0\n")], &[("x:a", b"2\0\n")]),
        ("file to folder", &[("a", b"1\n"), ("a.b", b"1\n")], &[("a/b", b"1\n"), ("a.b", b"2\n")]),
        ("space in the name", &[("a b", b"1\n")], &[("a b", b"2\n")]),
        ("odd names", &[("\"q\\\t\u{e9}", b"1\n")], &[("\"q\\\t\u{e9}", b"2\n")]),
        ("many files", &[("a", b"1\n"), ("b/c", b"1\n"), ("d", b"1\n")], &[("a", b"2\n"), ("b/c", b"3\n")]),
    ];
    for format in ["sha1", "sha256"] {
        let repo = Repo::new(format);
        for (name, before, after) in &table {
            repo.check(&format!("{name} ({format})"), before, after);
        }
        for (name, before, after) in
            [("far hunks", &long, &far), ("near hunks", &long, &near), ("late NUL", &late_nul, &late_nul_2)]
        {
            repo.check(name, &[("a", before)], &[("a", after)]);
        }
    }
}

#[test]
fn nothing_has_empty_ids() {
    let repo = Repo::new("sha1");
    let ids = repo.objects.patch_ids(&[]).unwrap();
    assert_eq!((ids.stable.as_str(), ids.verbatim.as_str()), ("", ""));
    assert_eq!(repo.objects.identity(&[]).unwrap().patch_stable, "");
}

/// Random line edits over a small alphabet, where the choice of hunks is hardest.
#[test]
fn random_texts_have_the_ids_of_git() {
    let repo = Repo::new("sha1");
    let mut state = 0x5eed_u64;
    println!("seed {state:#x}");
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for round in 0..40 {
        let mut text =
            |len: u64| -> Vec<Vec<u8>> { (0..len).map(|_| format!("{}\n", next(12)).into_bytes()).collect() };
        let before = text(40);
        let mut after = before.clone();
        for _ in 0..next(5) + 1 {
            let at = next(after.len() as u64) as usize;
            match next(3) {
                0 => drop(after.remove(at)),
                1 => after.insert(at, format!("{}\n", next(12)).into_bytes()),
                _ => after[at] = format!("new {}\n", next(3)).into_bytes(),
            }
        }
        let (before, after) = (before.concat(), after.concat());
        repo.check(&format!("round {round}"), &[("f", &before)], &[("f", &after)]);
    }
}

#[test]
fn similarity_is_that_of_rename_detection() {
    let ten: Vec<u8> = (0..10).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
    let half = [&ten[..35], &b"other\n".repeat(6)[..35]].concat();
    assert_eq!(similarity(&ten, &ten), 100);
    assert_eq!(similarity(&ten, &half), 50);
    assert_eq!(similarity(&ten, b"line 0\n"), 0);
}
