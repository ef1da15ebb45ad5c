//! Ordinary trees: the capture is the tree that `git add -A` makes.

use super::*;

fn base(root: &Path) {
    put(root, "a", "a\n");
    put(root, "b.sh", "#!/bin/sh\n");
    chmod(root, "b.sh", 0o755);
    put(root, "dir/one", "1\n");
    put(root, "dir/two", "2\n");
    put(root, "dir/deep/three", "3\n");
    put(root, "dir.x", "sorts between dir and dir/\n");
    put(root, "kept.log", "tracked though ignored\n");
    put(root, "out/kept", "tracked in an ignored folder\n");
    put(root, ".gitignore", "*.log\nout/\n");
    put(root, "empty", "");
    link(root, "to-a", "a");
    link(root, "to-dir", "dir");
}

type Step = (&'static str, fn(&Path));

const STEPS: &[Step] = &[
    ("nothing", |_| {}),
    ("content", |r| put(r, "a", "A\n")),
    ("same size, same second", |r| put(r, "a", "b\n")),
    ("touched only", |r| put(r, "a", "a\n")),
    ("made executable", |r| chmod(r, "a", 0o744)),
    ("no longer executable", |r| chmod(r, "b.sh", 0o611)),
    ("new files and folders", |r| {
        put(r, "new", "n");
        put(r, "x/y/z", "z");
        put(r, "dir/deep/er/still", "s");
        put(r, "bytes", b"\0\r\n\xff\r\n");
        std::fs::create_dir_all(r.join("nothing/in/it")).unwrap();
    }),
    ("deleted file", |r| remove(r, "a")),
    ("deleted folder", |r| remove(r, "dir")),
    ("all deleted", |r| {
        for entry in std::fs::read_dir(r).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name != ".git" {
                remove(r, &name);
            }
        }
    }),
    ("file becomes folder", |r| {
        remove(r, "a");
        put(r, "a/b/c", "c");
    }),
    ("folder becomes file", |r| {
        remove(r, "dir");
        put(r, "dir", "d");
    }),
    ("folder becomes link", |r| {
        remove(r, "dir");
        link(r, "dir", "x");
        put(r, "x/one", "1\n");
    }),
    ("link becomes folder", |r| {
        remove(r, "to-dir");
        put(r, "to-dir/one", "1\n");
    }),
    ("file becomes link and back", |r| {
        remove(r, "a");
        link(r, "a", "a\n");
        remove(r, "to-a");
        put(r, "to-a", "a");
    }),
    ("file becomes empty folder", |r| {
        remove(r, "a");
        std::fs::create_dir(r.join("a")).unwrap();
    }),
    ("link moved, dangling and odd links", |r| {
        remove(r, "to-a");
        link(r, "to-a", "/nowhere/at/all");
        link(r, "loop", "loop");
        link(r, "up", "../..");
    }),
    ("ignored", |r| {
        put(r, "x.log", "no");
        put(r, "out/new", "no");
        put(r, "out/more/new", "no");
        put(r, "kept.log", "yes");
        put(r, "out/kept", "yes");
    }),
    ("tracked and ignored, deleted", |r| {
        remove(r, "kept.log");
        remove(r, "out");
    }),
    ("renamed", |r| std::fs::rename(r.join("dir"), r.join("moved")).unwrap()),
    ("swapped", |r| {
        std::fs::rename(r.join("dir/one"), r.join("t")).unwrap();
        std::fs::rename(r.join("dir/two"), r.join("dir/one")).unwrap();
        std::fs::rename(r.join("t"), r.join("dir/two")).unwrap();
    }),
    ("odd names", |r| {
        for name in
            ["-n", " lead", "trail ", "tab\t", "new\nline", "q\"uote", "ä", "*", "git", ".gitx", "..x", "a:b"]
        {
            put(r, name, name);
        }
        put(r, "-d/x", "x");
    }),
];

#[test]
fn a_capture_is_what_git_adds() {
    for format in ["sha1", "sha256"] {
        for (what, step) in STEPS {
            let fixture = Fixture::new(format, base);
            put(fixture.dir.path(), "excludes", "");
            step(&fixture.root());
            settle();
            fixture.agrees(what);
        }
    }
}

#[test]
fn an_empty_repository() {
    let fixture = Fixture::new("sha1", |_| {});
    fixture.agrees("empty");
    put(&fixture.root(), "a/b", "b");
    settle();
    fixture.agrees("first file");
}

#[test]
fn a_thousand_files_and_only_the_changed_are_read() {
    let fixture = Fixture::new("sha1", |root| {
        (0..1000).for_each(|n| put(root, &format!("d{}/e{}/f{n}", n % 10, n % 7), format!("{n}\n")));
    });
    let mut capture = fixture.capture(fixture.birth());
    let head = fixture.head();
    assert_eq!(capture.tree(head).unwrap().tree, head);
    assert_eq!(capture.reads, 0, "the birth index vouches for all");
    for n in [1, 500, 999] {
        put(&fixture.root(), &format!("d{}/e{}/f{n}", n % 10, n % 7), "changed\n");
    }
    put(&fixture.root(), "new", "new");
    settle();
    let captured = capture.tree(head).unwrap();
    assert_eq!(captured.tree, fixture.oracle());
    assert_eq!((captured.changes.len(), capture.reads), (4, 4));
    capture.tree(head).unwrap();
    assert_eq!(capture.reads, 4, "nothing changed, nothing read");
    // The cache is not the birth: a second change of the same file is seen, and so is its return.
    put(&fixture.root(), "new", "NEW");
    settle();
    assert_eq!(capture.tree(head).unwrap().tree, fixture.oracle());
    assert_eq!(capture.reads, 5);
    remove(&fixture.root(), "new");
    assert_eq!(capture.tree(head).unwrap().changes.len(), 3);
}

#[test]
fn a_change_in_the_tick_of_the_capture_is_seen() {
    let fixture = Fixture::new("sha1", |root| put(root, "a", "0000\n"));
    let mut capture = fixture.capture(fixture.birth());
    let head = fixture.head();
    for n in 1..200 {
        let text = format!("{n:04}\n");
        put(&fixture.root(), "a", &text);
        let captured = capture.tree(head).unwrap();
        let (_, oid) = fixture.objects.entry_at(captured.tree, "a".into()).unwrap().unwrap();
        assert_eq!(fixture.objects.blob(oid).unwrap(), text.as_bytes());
    }
}

#[test]
fn what_was_read_in_the_tick_of_its_change_is_read_again() {
    let fixture = Fixture::new("sha1", |_| {});
    let head = fixture.head();
    // The tick may end between the write and the capture, but not every time.
    let again = (0..50).any(|n| {
        let mut capture = fixture.capture(fixture.birth());
        put(&fixture.root(), "a", format!("{n}"));
        capture.tree(head).unwrap();
        capture.tree(head).unwrap();
        capture.reads == 2
    });
    assert!(again);
}

#[test]
fn a_birth_index_no_younger_than_its_files_is_not_believed() {
    let fixture = Fixture::new("sha1", |root| put(root, "a", "a\n"));
    let reads = || {
        let mut capture = fixture.capture(fixture.birth());
        assert_eq!(capture.tree(fixture.head()).unwrap().changes, []);
        capture.reads
    };
    assert_eq!(reads(), 0);
    let changed = rustix::fs::stat(fixture.root().join("a")).unwrap();
    let at = rustix::fs::Timespec { tv_sec: changed.st_ctime, tv_nsec: changed.st_ctime_nsec as _ };
    let copy = fixture.dir.path().join("birth");
    let times = rustix::fs::Timestamps { last_access: at, last_modification: at };
    rustix::fs::utimensat(rustix::fs::CWD, copy, &times, rustix::fs::AtFlags::empty()).unwrap();
    assert_eq!(reads(), 1);
}

#[test]
fn a_commit_of_the_worker_moves_the_comparison() {
    let fixture = Fixture::new("sha1", base);
    let mut capture = fixture.capture(fixture.birth());
    let root = fixture.root();
    put(&root, "a", "A\n");
    put(&root, "new", "n");
    remove(&root, "dir/one");
    fixture.git(&["add", "-A"]);
    fixture.git(&["commit", "-q", "-m", "more"]);
    settle();
    let captured = capture.tree(fixture.head()).unwrap();
    assert_eq!((captured.tree, captured.changes), (fixture.head(), vec![]));
    // Back to what was checked out: birth's entry, which is a change of the worker's own commit.
    fixture.git(&["checkout", "-q", "HEAD^", "--", "a"]);
    fixture.agrees("a taken back");
    // Untracked by the worker, ignored, but tracked at birth: still captured.
    fixture.git(&["rm", "-q", "--cached", "kept.log"]);
    fixture.git(&["commit", "-q", "-m", "hide"]);
    let captured = capture.tree(fixture.head()).unwrap();
    let changed: Vec<BString> = captured.changes.into_iter().map(|c| c.path).collect();
    assert_eq!(changed, ["kept.log"]);
}

/// What was checked out with CRLF is the commit's as long as it is just that, touched or not; else its bytes count.
#[test]
fn bytes_count_but_for_what_was_checked_out() {
    let fixture = Fixture::new("sha1", |root| {
        put(root, ".gitattributes", "* text eol=crlf\n");
        for name in ["a", "b", "c", "d"] {
            put(root, name, format!("{name}\n{name}\n"));
        }
    });
    let root = fixture.root();
    assert_eq!(std::fs::read(root.join("a")).unwrap(), b"a\r\na\r\n");
    let mut capture = fixture.capture(fixture.birth());
    let mut look = |reads: u64, want: &[(&str, &str)]| {
        let before = capture.reads;
        let captured = capture.tree(fixture.head()).unwrap();
        let found: Vec<(String, Vec<u8>)> = captured
            .changes
            .iter()
            .map(|c| (c.path.to_string(), fixture.objects.blob(c.new.unwrap().1).unwrap()))
            .collect();
        let want: Vec<_> = want.iter().map(|(p, b)| (p.to_string(), b.as_bytes().to_vec())).collect();
        assert_eq!((found, capture.reads - before), (want, reads));
    };
    look(0, &[]);
    put(&root, "a", "a\r\na\r\n");
    put(&root, "b", "b\nb\r\n\n");
    put(&root, "c", "c\r\nC\r\n");
    settle();
    let changed = [("b", "b\nb\r\n\n"), ("c", "c\r\nC\r\n")];
    look(3, &changed);
    look(0, &changed);
    // On another commit it is no longer the commit's: then its bytes count too, and those of what nobody touched.
    fixture.git(&["rm", "-q", "--cached", "a", "d"]);
    fixture.git(&["commit", "-q", "-m", "without"]);
    let all = [("a", "a\r\na\r\n"), changed[0], changed[1], ("d", "d\r\nd\r\n")];
    look(2, &all);
    look(0, &all);
}

#[test]
fn index_versions_and_sparse_checkouts() {
    for version in ["2", "3", "4"] {
        for sparse_index in ["--sparse-index", "--no-sparse-index"] {
            let fixture = Fixture::new("sha1", base);
            fixture.git(&["update-index", "--index-version", version]);
            fixture.git(&["sparse-checkout", "set", "--cone", sparse_index, "out"]);
            settle();
            fixture.born();
            let root = fixture.root();
            assert!(!root.join("dir").exists());
            let head = fixture.head();
            let mut capture = fixture.capture(fixture.birth());
            assert_eq!(capture.tree(head).unwrap().tree, head, "what is not checked out is not deleted");
            put(&root, "a", "A\n");
            remove(&root, "to-a");
            let changed = |capture: &mut Capture<'_>, against: Oid| -> Vec<BString> {
                capture.tree(against).unwrap().changes.into_iter().map(|c| c.path).collect()
            };
            assert_eq!(changed(&mut capture, head), ["a", "to-a"]);
            // A path that the worker's own commit has outside its checkout is not deleted either.
            let blob = fixture.objects.write_blob(b"merged").unwrap();
            let edit = (BString::from("dir/deep/merged"), Some((crate::domain::Mode::File, blob)));
            let merged = fixture.objects.edit_tree(head, [edit]).unwrap();
            assert_eq!(changed(&mut capture, merged), ["a", "to-a"]);
            put(&root, "dir/one", "written outside\n");
            assert_eq!(changed(&mut capture, merged), ["a", "dir/one", "to-a"]);
        }
    }
}

#[test]
fn a_submodule_stays_and_a_nested_repository_is_files() {
    let fixture = Fixture::new("sha1", |root| {
        put(root, "a", "a");
        let null = "1".repeat(40);
        git(root, &["update-index", "--add", "--cacheinfo", &format!("160000,{null},sub")]);
        std::fs::create_dir(root.join("sub")).unwrap();
    });
    // `add -A` of the fixture looks at the folder, and leaves an empty one alone.
    let head = fixture.head();
    let root = fixture.root();
    assert!(fixture.listing(head).contains("160000 commit"));
    let mut capture = fixture.capture(fixture.birth());
    assert_eq!(capture.tree(head).unwrap().tree, head);
    put(&root, "sub/inside", "belongs to the submodule");
    assert_eq!(capture.tree(head).unwrap().tree, head);
    remove(&root, "sub");
    assert_eq!(capture.tree(head).unwrap().tree, fixture.oracle(), "a removed folder is a removed submodule");
    put(&root, "sub", "a file now");
    assert_eq!(capture.tree(head).unwrap().tree, fixture.oracle());

    std::fs::create_dir(root.join("nested")).unwrap();
    git(&root.join("nested"), &["init", "-q"]);
    put(&root, "nested/file", "f");
    put(&root, "nested/.gitignore", "*.o\n");
    put(&root, "nested/x.o", "o");
    let captured = capture.tree(head).unwrap();
    assert_eq!(captured.skipped, [("nested/.git".into(), Skipped::BadName)]);
    let names: Vec<BString> = captured.changes.into_iter().map(|c| c.path).collect();
    assert_eq!(names, ["nested/.gitignore", "nested/file", "sub"]);
}
