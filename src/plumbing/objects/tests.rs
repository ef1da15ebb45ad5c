use super::*;
use crate::plumbing::oracle::git;

#[test]
fn kept_bytes_are_proven_by_their_id() {
    for hash in [gix::hash::Kind::Sha1, gix::hash::Kind::Sha256] {
        let oid = oid_of(&gix::objs::compute_hash(hash, gix::objs::Kind::Blob, b"one\n").unwrap());
        assert!(is(oid, Kind::Blob, b"one\n"));
        assert!(!is(oid, Kind::Blob, b"two\n") && !is(oid, Kind::Tag, b"one\n"));
    }
}

/// A store has places for so many packs as there were when it was opened, and some.
#[test]
fn packs_that_come_while_a_store_is_open_are_found() {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "--quiet", "--bare", "."], b"");
    let objects = Objects::open(&dir.path().join("objects"), "sha1").unwrap();
    for n in 0..40 {
        let text = format!("{n}\n");
        let said =
            String::from_utf8(git(dir.path(), &["hash-object", "-w", "--stdin"], text.as_bytes())).unwrap();
        git(dir.path(), &["pack-objects", "--quiet", "objects/pack/pack"], said.as_bytes());
        git(dir.path(), &["prune-packed"], b"");
        assert_eq!(objects.blob(said.trim().parse().unwrap()).unwrap(), text.as_bytes(), "{n}");
    }
}

/// A `git gc` drops packs that are open here.
#[test]
fn a_pack_that_was_removed_while_it_is_open_is_not_on_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "--quiet", "--bare", "."], b"");
    let objects = Objects::open(&dir.path().join("objects"), "sha1").unwrap();
    let oid = objects.write_blob(b"one\n").unwrap();
    assert!(objects.on_disk()(oid));
    git(dir.path(), &["pack-objects", "--quiet", "objects/pack/pack"], format!("{oid}\n").as_bytes());
    git(dir.path(), &["prune-packed"], b"");
    assert!(objects.exists(oid) && objects.on_disk()(oid), "it is in a pack");
    std::fs::remove_dir_all(dir.path().join("objects/pack")).unwrap();
    std::fs::create_dir(dir.path().join("objects/pack")).unwrap();
    assert!(objects.exists(oid) && !objects.on_disk()(oid), "it is open here, and nowhere else");
}
