//! Trees made to hang, to lead outside, to exhaust or to hide.

use super::*;
use crate::domain::Mode;
use crate::domain::Token;

fn fixture() -> Fixture {
    Fixture::new("sha1", |root| {
        put(root, "a", "a\n");
        put(root, "dir/one", "1\n");
        put(root, "dir/two", "2\n");
    })
}

fn mode_at(fixture: &Fixture, captured: &Captured, path: &str) -> Option<Mode> {
    fixture.objects.entry_at(captured.tree, path.into()).unwrap().map(|(mode, _)| mode)
}

fn fifo(root: &Path, path: &str) {
    rustix::fs::mknodat(
        rustix::fs::CWD,
        root.join(path),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o644),
        0,
    )
    .unwrap();
}

#[test]
fn what_is_no_file_is_never_opened() {
    let fixture = fixture();
    let root = fixture.root();
    fifo(&root, "pipe");
    remove(&root, "dir/one");
    fifo(&root, "dir/one");
    fifo(&root, "dir/.gitignore");
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    let captured = fixture.capture(fixture.birth()).tree(fixture.head()).unwrap();
    let special = |path: &str| (BString::from(path), Skipped::Special);
    let all = [special("dir/.gitignore"), special("dir/one"), special("pipe"), special("socket")];
    assert_eq!(captured.skipped, all);
    assert_eq!(captured.changes.len(), 1, "the tracked file that is a pipe now is gone");
}

#[test]
fn links_are_captured_and_never_followed() {
    let fixture = fixture();
    let root = fixture.root();
    let outside = tempfile::tempdir().unwrap();
    put(outside.path(), "one", "secret");
    put(outside.path(), "two", "secret");
    put(outside.path(), "rules", "*\n");
    remove(&root, "dir");
    link(&root, "dir", outside.path().to_str().unwrap());
    link(&root, ".gitignore", outside.path().join("rules").to_str().unwrap());
    put(&root, "new", "n");
    let mut capture = fixture.capture(fixture.birth());
    let captured = capture.tree(fixture.head()).unwrap();
    assert_eq!(mode_at(&fixture, &captured, "dir"), Some(Mode::Link));
    assert_eq!(mode_at(&fixture, &captured, ".gitignore"), Some(Mode::Link));
    assert_eq!(mode_at(&fixture, &captured, "new"), Some(Mode::File), "rules behind a link do not count");
    assert_eq!(captured.tree, fixture.oracle());
    assert_eq!(capture.reads, 3);
    assert!(!fixture.objects.exists(fixture.objects.hash_blob(b"secret").unwrap()));
    std::fs::rename(&root, root.with_file_name("elsewhere")).unwrap();
    std::os::unix::fs::symlink(outside.path(), &root).unwrap();
    assert!(matches!(capture.tree(captured.tree), Err(Failure::Fault(_))), "the root itself is no link");
}

#[test]
fn names_that_no_checkout_would_take() {
    let fixture = fixture();
    let root = fixture.root();
    for path in [".GIT/config", "dir/.git/config", "dir/.Git.", "git~1", "dir/.g\u{200c}it", ".git::$DATA"] {
        put(&root, path, "bad");
    }
    link(&root, ".gitmodules", "a");
    put(&root, "dir/new", "good");
    let captured = fixture.capture(fixture.birth()).tree(fixture.head()).unwrap();
    let bad: Vec<BString> = captured.skipped.iter().map(|(path, _)| path.clone()).collect();
    assert_eq!(
        bad,
        [".GIT", ".git::$DATA", ".gitmodules", "dir/.Git.", "dir/.git", "dir/.g\u{200c}it", "git~1"]
    );
    assert!(captured.skipped.iter().all(|(_, why)| *why == Skipped::BadName));
    assert_eq!(captured.changes.len(), 1);
}

#[test]
fn a_hostile_commit_leads_nowhere() {
    let fixture = fixture();
    put(fixture.dir.path(), "one", "outside");
    let blob = fixture.objects.write_blob(b"x").unwrap();
    let paths = ["../one", "dir/../../one", ".git/x", "dir/./y"];
    let edits = paths.map(|path| (BString::from(path), Some((Mode::File, blob))));
    let against = fixture.objects.edit_tree(fixture.head(), edits).unwrap();
    let mut capture = fixture.capture(fixture.birth());
    assert_eq!(capture.tree(against).unwrap().tree, fixture.head());
    assert_eq!(capture.reads, 0);
}

#[test]
fn a_commit_whose_trees_no_git_wrote_is_compared_with_all_the_same() {
    let fixture = fixture();
    let head = fixture.objects.entry_at(fixture.head(), "a".into()).unwrap().unwrap().1;
    let raw = |entries: &[(&str, Oid)]| {
        let line = |(name, oid): &(&str, Oid)| {
            let mode = if *oid == head { "100644 " } else { "40000 " };
            [mode.as_bytes(), name.as_bytes(), b"\0", oid.as_bytes()].concat()
        };
        let bytes: Vec<u8> = entries.iter().flat_map(line).collect();
        fixture.objects.write(gix::objs::Kind::Tree, &bytes).unwrap()
    };
    let unsorted = raw(&[("z", head), ("b", head)]);
    for against in [raw(&[("dir", unsorted)]), raw(&[("a", head), ("dir", head), ("dir", unsorted)])] {
        let captured = fixture.capture(fixture.birth()).tree(against).unwrap();
        assert_eq!(captured.tree, fixture.oracle());
    }
}

fn limited(fixture: &Fixture, limits: Limits) -> Result<Captured> {
    Capture::new(&fixture.objects, fixture.root(), fixture.birth(), fixture.excludes(), limits)
        .tree(fixture.head())
}

fn refused(result: Result<Captured>) -> bool {
    matches!(result, Err(Failure::Refusal(refusal)) if refusal.token == Token::TooLarge)
}

#[test]
fn limits_of_size_and_number() {
    let fixture = fixture();
    let root = fixture.root();
    let file = std::fs::File::create(root.join("sparse")).unwrap();
    file.set_len(1 << 40).unwrap();
    std::fs::File::create(root.join("dir/one")).unwrap().set_len(1 << 40).unwrap();
    put(&root, "p", "12345");
    put(&root, "q", "12345");
    let captured = limited(&fixture, Limits::default()).unwrap();
    let large = |path: &str| (BString::from(path), Skipped::TooLarge);
    assert_eq!(captured.skipped, [large("dir/one"), large("sparse")]);
    assert_eq!(captured.changes.len(), 2, "a tracked file that is too large stays as it was");
    assert!(limited(&fixture, Limits { total_bytes: 10, files: 4, ..Limits::default() }).is_ok());
    assert!(refused(limited(&fixture, Limits { total_bytes: 9, ..Limits::default() })));
    assert!(refused(limited(&fixture, Limits { files: 3, ..Limits::default() })));
    for n in 0..5 {
        std::fs::create_dir(root.join(format!("empty{n}"))).unwrap();
    }
    assert!(refused(limited(&fixture, Limits { files: 8, ..Limits::default() })), "folders count");
}

#[test]
fn limits_of_depth() {
    let fixture = Fixture::new("sha1", |root| put(root, "1/2/3/4/tracked", "t"));
    put(&fixture.root(), "1/2/3/new", "n");
    put(&fixture.root(), "1/2/3/4/new", "n");
    remove(&fixture.root(), "1/2/3/4/tracked");
    let captured = limited(&fixture, Limits { depth: 3, ..Limits::default() }).unwrap();
    assert_eq!(captured.skipped, [("1/2/3/4".into(), Skipped::TooLarge)]);
    let changed: Vec<BString> = captured.changes.into_iter().map(|c| c.path).collect();
    assert_eq!(changed, ["1/2/3/new"], "nothing is deleted where nobody looked");
    // Deeper than any path may be, made as a worker would: step by step.
    let name = "d".repeat(200);
    let mut at =
        rustix::fs::open(fixture.root(), rustix::fs::OFlags::PATH, rustix::fs::Mode::empty()).unwrap();
    for _ in 0..300 {
        rustix::fs::mkdirat(&at, &*name, rustix::fs::Mode::RWXU).unwrap();
        at = rustix::fs::openat(&at, &*name, rustix::fs::OFlags::PATH, rustix::fs::Mode::empty()).unwrap();
    }
    let captured = limited(&fixture, Limits::default()).unwrap();
    assert!(captured.skipped.iter().all(|(path, why)| path.len() > 4096 && *why == Skipped::BadName));
    assert_eq!(captured.skipped.len(), 1);
}

/// Runs `body` as somebody whom modes stop, even if the tests run as root.
fn as_nobody(body: impl FnOnce() + Send) {
    let root = rustix::process::geteuid().is_root();
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if root {
                let (uid, nobody) = (rustix::process::getuid(), rustix::process::Uid::from_raw(65534));
                rustix::thread::set_thread_res_uid(uid, nobody, uid).unwrap();
            }
            body();
        });
        thread.join().unwrap();
    });
}

#[test]
fn what_cannot_be_read_is_not_deleted() {
    let fixture = fixture();
    let root = fixture.root();
    std::fs::set_permissions(fixture.dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    put(&root, "a", "changed\n");
    put(&root, "locked/new", "n");
    let head = fixture.head();
    let unreadable = |path: &str| (BString::from(path), Skipped::Unreadable);
    chmod(&root, "a", 0);
    chmod(&root, "locked", 0);
    // Neither listable, listable but not searchable, searchable but not listable.
    for mode in [0, 0o444, 0o111] {
        chmod(&root, "dir", mode);
        let (dir, birth) = (fixture.objects.dir().to_owned(), fixture.birth());
        let (excludes, root) = (fixture.excludes(), root.clone());
        as_nobody(move || {
            let objects = Objects::open(&dir, "sha1").unwrap();
            let captured =
                Capture::new(&objects, root, birth, excludes, Limits::default()).tree(head).unwrap();
            assert_eq!(captured.tree, head, "{mode:o}");
            assert_eq!(
                captured.skipped,
                [unreadable("a"), unreadable("dir"), unreadable("locked")],
                "{mode:o}"
            );
        });
    }
    chmod(&root, "dir", 0o755);
    chmod(&root, "locked", 0o755);
}

#[test]
fn a_tree_that_changes_under_the_capture() {
    let fixture = fixture();
    let root = fixture.root();
    let head = fixture.head();
    let outside = tempfile::tempdir().unwrap();
    put(outside.path(), "one", "secret");
    put(outside.path(), "two", "secret");
    let (target, stop) = (outside.path().to_owned(), std::sync::atomic::AtomicBool::new(false));
    let stopped = || stop.load(std::sync::atomic::Ordering::Relaxed);
    std::thread::scope(|scope| {
        // One swaps a folder with a link to outside, one replaces a file by renames, one grows a file.
        scope.spawn(|| {
            link(&root, "swap", target.to_str().unwrap());
            while !stopped() {
                let exchange = rustix::fs::RenameFlags::EXCHANGE;
                let (a, b) = (root.join("dir"), root.join("swap"));
                let _ = rustix::fs::renameat_with(rustix::fs::CWD, a, rustix::fs::CWD, b, exchange);
            }
        });
        scope.spawn(|| {
            while !stopped() {
                put(&root, ".a.tmp", "replaced\n");
                std::fs::rename(root.join(".a.tmp"), root.join("a")).unwrap();
            }
        });
        scope.spawn(|| {
            let mut n = 0;
            while !stopped() {
                n += 1;
                put(&root, "grows", "x".repeat(n % 5000));
            }
        });
        let mut capture = fixture.capture(fixture.birth());
        for _ in 0..300 {
            let captured = capture.tree(head).unwrap();
            assert!(mode_at(&fixture, &captured, "a").is_some(), "a replaced file is never a deleted one");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert!(!fixture.objects.exists(fixture.objects.hash_blob(b"secret").unwrap()));
}

#[test]
fn what_a_list_did_not_show_is_looked_for_by_name() {
    let fixture = fixture();
    let root = fixture.root();
    put(&root, "a", "changed\n");
    remove(&root, "dir/one");
    let base = Base::read(&fixture.objects, fixture.head(), &Birth::none()).unwrap();
    let mut capture = fixture.capture(fixture.birth());
    let mut walk = capture.walk(&base).unwrap();
    assert_eq!(walk.look_again(&disk::root(&root).unwrap()).unwrap(), ["dir/one"]);
    let mut found: Vec<&BString> = walk.found.keys().collect();
    found.sort_unstable();
    assert_eq!(found, ["a", "dir/two"]);
}
