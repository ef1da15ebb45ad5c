//! Files in a git folder: objects, the index, git's graph of commits and ours, what we keep of objects and note of refs.

use crate::domain::Mode;
use crate::domain::Oid;
use crate::plumbing::capture::Birth;
use crate::plumbing::commit_graph::CommitGraph;
use crate::plumbing::commit_graph::Paths;
use crate::plumbing::fuzz::oid_at;
use crate::plumbing::git_graph::Filters;
use crate::plumbing::git_graph::GitGraph;
use crate::plumbing::git_graph::Key;
use crate::plumbing::index_entry::IndexFile;
use crate::plumbing::known;
use crate::plumbing::known::Known;
use crate::plumbing::loose;
use crate::plumbing::mark::Noted;
use crate::plumbing::objects::Objects;
use bstr::BString;
use bstr::ByteSlice;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;
use tempfile::TempDir;

/// A store with one blob in it, for whoever reads objects.
struct Place {
    dir: TempDir,
    objects: Objects,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("objects/info/commit-graphs")).unwrap();
        let objects = Objects::open(&dir.path().join("objects"), "sha1").unwrap();
        objects.write_blob(b"x\n").unwrap();
        Place { dir, objects }
    }

    /// A file of these bytes.
    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

thread_local! {
    static PLACE: Place = Place::new();
}

/// A tree, whatever it holds: read as a tree, and as one of notes.
pub fn notes_tree(bytes: &[u8]) {
    PLACE.with(|place| {
        let objects = place.objects.scratch().unwrap();
        let root = objects.write(gix::objs::Kind::Tree, bytes).unwrap();
        let about = Oid::from_bytes(&[0xaa; 20]).unwrap();
        let before = objects.entries(root);
        let _ = (objects.beyond(&[root], 8, 1000), objects.names_in(root, b"".into()));
        let _ = objects.attribute_files(root);
        let changes = objects.diff_trees(objects.empty_tree(), root);
        if let (Ok(before), Ok(changes)) = (&before, &changes) {
            assert!(changes.len() <= before.len() && changes.iter().all(|c| c.old.is_none()));
        }
        let Ok(noted) = objects.note_with_line(root, about, "a line") else { return };
        let text = objects.note(noted, about).unwrap();
        assert_eq!(text.lines().filter(|line| *line == b"a line").count(), 1, "{:?}", text.as_bstr());
        assert_eq!(objects.note_with_line(noted, about, "a line").unwrap(), noted, "the same again");
        if let (Ok(before), Ok(after)) = (before, objects.entries(noted)) {
            // What stands below the folder that the note is put in may not be told apart by name.
            let hex = about.to_string();
            let other = |path: &BString| !path.starts_with(&hex.as_bytes()[..2]);
            for entry in before.iter().filter(|(path, _)| other(path)) {
                assert!(after.contains(entry), "{entry:?} went");
            }
        }
    });
}

/// A commit: what is read of it is written and read the same.
pub fn commit_object(bytes: &[u8]) {
    PLACE.with(|place| {
        let objects = place.objects.scratch().unwrap();
        let oid = objects.write(gix::objs::Kind::Commit, bytes).unwrap();
        let past = objects.past(oid);
        let Ok(commit) = objects.commit(oid) else { return };
        let past = past.unwrap();
        assert_eq!((past.tree, &past.parents), (commit.tree, &commit.parents));
        let again = objects.write_commit(&commit).unwrap();
        assert_eq!(objects.commit(again).unwrap(), commit);
        assert!(!commit.subject().contains(&b'\n'));
    });
}

/// The index of a worktree, with the checksum that it should have: fuzzers never find one.
pub fn index(bytes: &[u8]) {
    PLACE.with(|place| {
        use sha1::Digest;
        let sum = sha1::Sha1::digest(bytes);
        let path = place.file("index", &[bytes, &sum].concat());
        let _ = Birth::read(&path, &place.objects);
        let bare = place.file("index", bytes);
        let options = gix::index::decode::Options { thread_limit: Some(1), ..Default::default() };
        if let Ok(index) = gix::index::File::at(bare, gix::hash::Kind::Sha1, true, options) {
            assert!(index.entries().len() <= bytes.len());
        }
        let oid = Oid::from_bytes(&[0xaa; 20]).unwrap();
        for path in ["a.txt", "docs/a.md"] {
            let Some(found) = IndexFile::read(bytes, 20, path.into()) else { continue };
            if let Some(new) = found.replaced(path.into(), (Mode::File, oid)) {
                let again = IndexFile::read(&new, 20, path.into()).unwrap();
                assert_eq!(again.entry(), Some(Some((Mode::File, oid))));
            }
        }
    });
}

/// git's graph of commits with its filters.
pub fn git_commit_graph(bytes: &[u8]) {
    PLACE.with(|place| {
        let path = place.file("objects/info/commit-graph", bytes);
        let keys = ["a", "b/c", "k\u{e4}/l"].map(|path| Key::of(path.as_bytes().into()));
        if let Some(graph) = GitGraph::of(place.objects.dir()) {
            // Ids stand somewhere in the file.
            for at in (0..bytes.len()).step_by(4).take(2000) {
                let Some(stored) = oid_at(bytes, at).and_then(|oid| graph.stored(oid)) else { continue };
                assert!(stored.parents.len() <= bytes.len());
                let _ = stored.at.is_some_and(|at| graph.may_change(at, &keys));
            }
            let _ = graph.may_change(u32::MAX, &keys);
        }
        let count = bytes.first().map_or(1, |byte| u32::from(*byte));
        for count in [1, 3, count] {
            if let Some(filters) = Filters::read(&path, 0, count) {
                for at in [0, 1, count - 1, count, u32::MAX] {
                    let _ = filters.may_have(at, &keys);
                }
            }
        }
    });
}

/// Our graph of commits: what it holds is bounded by its size, and written again it is read the same.
pub fn commit_graph(bytes: &[u8]) {
    PLACE.with(|place| {
        let Some(graph) = CommitGraph::parse(bytes.to_vec(), &place.objects) else { return };
        let paths = Paths::new([b"a/b".into()]);
        for at in 0..graph.len() as u32 {
            assert!(graph.links(at).count() <= bytes.len(), "parents of one commit");
            let _ = graph.may_change(at, &paths);
            let _ = graph.position(graph.oid(at).unwrap());
        }
        let Ok(entries) = graph.entries() else { return };
        let mut distinct: Vec<Oid> = entries.iter().map(|(oid, _)| *oid).collect();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.len() < entries.len() {
            return;
        }
        let file = CommitGraph::file(&entries, &place.objects);
        let again = CommitGraph::parse(file, &place.objects).unwrap();
        let (mut one, mut other) = (entries, again.entries().unwrap());
        one.sort_by_key(|(oid, _)| *oid);
        other.sort_by_key(|(oid, _)| *oid);
        assert_eq!(one, other);
        assert!(one.iter().all(|(oid, _)| again.position(*oid).is_some()));
    });
}

/// The file of objects that were read before: nothing beyond it is given out, and what it holds is kept.
pub fn known_objects(bytes: &[u8]) {
    let all = Known::parse(bytes.to_vec());
    let fresh = Known::default();
    fresh.remember(true);
    let (mut found, mut next) = (Vec::new(), 16);
    while bytes.starts_with(b"skein objects 1\n")
        && let Some((oid, kind, content)) = known::entry(bytes, next)
    {
        next = content.end;
        assert!(next <= bytes.len());
        found.push(oid);
        let (_, given) = all.get(oid, |_, _| true).unwrap();
        assert!(bytes.find(&given).is_some());
        fresh.see(oid, kind, &bytes[content]);
    }
    let Some(file) = fresh.file() else { return };
    let again = Known::parse(file);
    assert!(found.iter().all(|oid| again.get(*oid, |_, _| true).is_some()));
}

/// `packed-refs`, and a loose ref of the same bytes.
pub fn ref_files(bytes: &[u8]) {
    PLACE.with(|place| {
        let common = place.dir.path();
        std::fs::create_dir_all(common.join("refs/heads")).unwrap();
        place.file("packed-refs", bytes);
        let sha1 = gix::hash::Kind::Sha1;
        for loose in [None, Some(bytes)] {
            match loose {
                Some(bytes) => drop(place.file("refs/heads/main", bytes)),
                None => drop(std::fs::remove_file(common.join("refs/heads/main"))),
            }
            if let Ok(found) = loose::list_once(common, sha1, &["refs/heads", "refs/tags"]) {
                assert!(found.len() <= bytes.lines().count() + 1);
                assert!(found.iter().all(|one| one.name.as_str().starts_with("refs/")));
            }
        }
    });
}

/// The note of a transaction of refs, by which locks are removed: they are those of refs, and nothing else is read again
/// out of what was written again.
pub fn transaction_note(bytes: &[u8]) {
    let noted = Noted::parse(bytes);
    for name in noted.names() {
        let of_a_ref = name.starts_with("refs/") && name.ends_with(".lock");
        assert!(of_a_ref || name == "packed-refs.lock" || name == "reftable/tables.list.lock", "{name:?}");
        let plain = |part| matches!(part, Component::Normal(_));
        assert!(Path::new(&name).components().all(plain) && !name.contains(['\0', '\n']), "{name:?}");
    }
    let text = noted.text();
    assert!(text.lines().count() <= bytes.lines().count() && Noted::parse(text.as_bytes()).text() == text);
}
