//! A repository with a linked worktree to capture, and git as the oracle.
#![expect(clippy::disallowed_methods, reason = "the oracle is git itself, and the trees are made by hand")]

mod hostile;
mod rules;
mod trees;

use super::*;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;

/// A repository, its worktree, and the copy of the worktree's index at birth.
pub(super) struct Fixture {
    dir: tempfile::TempDir,
    pub(super) objects: Objects,
}

impl Fixture {
    /// A repository with what `make` makes as its one commit, checked out into a worktree.
    pub(super) fn new(format: &str, make: impl FnOnce(&Path)) -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("main");
        std::fs::create_dir(&main).unwrap();
        git(&main, &["init", "-q", "--object-format", format]);
        make(&main);
        git(&main, &["add", "-A", "-f"]);
        git(&main, &["commit", "-q", "--allow-empty", "-m", "base"]);
        git(&main, &["worktree", "add", "-q", "--detach", "../tree"]);
        let objects = Objects::open(&main.join(".git/objects"), format).unwrap();
        let fixture = Fixture { dir, objects };
        settle();
        fixture.born();
        fixture
    }

    pub(super) fn root(&self) -> PathBuf {
        self.dir.path().join("tree")
    }

    pub(super) fn git(&self, args: &[&str]) -> String {
        git(&self.root(), args)
    }

    /// Copies the index again, after a change to it that belongs to the checkout.
    pub(super) fn born(&self) {
        let index = self.git(&["rev-parse", "--git-path", "index"]);
        std::fs::copy(self.root().join(index), self.dir.path().join("birth")).unwrap();
        settle();
    }

    pub(super) fn birth(&self) -> Birth {
        Birth::read(&self.dir.path().join("birth"), &self.objects).unwrap()
    }

    pub(super) fn excludes(&self) -> Excludes {
        let file = self.dir.path().join("excludes");
        Excludes { files: vec![file, self.dir.path().join("main/.git/info/exclude")] }
    }

    pub(super) fn head(&self) -> Oid {
        self.git(&["rev-parse", "HEAD^{tree}"]).parse().unwrap()
    }

    pub(super) fn capture(&self, birth: Birth) -> Capture<'_> {
        Capture::new(&self.objects, self.root(), birth, self.excludes(), Limits::default())
    }

    /// What `git add -A` makes of the worktree, in an index of its own.
    pub(super) fn oracle(&self) -> Oid {
        let excludes = format!("core.excludesFile={}", self.dir.path().join("excludes").display());
        let index = self.dir.path().join("oracle");
        let _ = std::fs::remove_file(&index);
        let run = |args: &[&str]| {
            let mut command = hermetic(&self.root());
            run(command.env("GIT_INDEX_FILE", &index).args(["-c", &excludes]).args(args))
        };
        run(&["read-tree", "HEAD"]);
        run(&["add", "-A"]);
        run(&["write-tree"]).parse().unwrap()
    }

    pub(super) fn listing(&self, tree: Oid) -> String {
        self.git(&["ls-tree", "-r", &tree.to_string()])
    }

    /// Captures with and without a birth; both must be what git says. Nothing is read twice.
    pub(super) fn agrees(&self, what: &str) {
        let (head, oracle) = (self.head(), self.oracle());
        for birth in [self.birth(), Birth::none()] {
            let mut capture = self.capture(birth);
            let captured = capture.tree(head).unwrap();
            assert_eq!(self.listing(captured.tree), self.listing(oracle), "{what}");
            assert_eq!(captured.tree, oracle, "{what}");
            assert_eq!(captured.changes, self.objects.diff_trees(head, oracle).unwrap(), "{what}");
            let reads = capture.reads;
            assert_eq!(capture.tree(head).unwrap().tree, oracle, "{what}, again");
            assert_eq!(capture.reads, reads, "{what}: read again");
        }
    }
}

fn hermetic(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command.env_clear().current_dir(dir).stdin(Stdio::null());
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    for (key, value) in [
        ("HOME", "/nonexistent"),
        ("LC_ALL", "C"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_AUTHOR_NAME", "a"),
        ("GIT_AUTHOR_EMAIL", "a@example.org"),
        ("GIT_COMMITTER_NAME", "a"),
        ("GIT_COMMITTER_EMAIL", "a@example.org"),
    ] {
        command.env(key, value);
    }
    command
}

fn run(command: &mut Command) -> String {
    let out = command.output().unwrap();
    assert!(out.status.success(), "{command:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().trim_end().to_owned()
}

pub(super) fn git(dir: &Path, args: &[&str]) -> String {
    run(hermetic(dir).args(args))
}

/// Lets the kernel's file clock move on, so that nothing is racily clean.
pub(super) fn settle() {
    std::thread::sleep(Duration::from_millis(25));
}

pub(super) fn put(root: &Path, path: &str, text: impl AsRef<[u8]>) {
    let file = root.join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

pub(super) fn chmod(root: &Path, path: &str, mode: u32) {
    std::fs::set_permissions(root.join(path), std::fs::Permissions::from_mode(mode)).unwrap();
}

pub(super) fn remove(root: &Path, path: &str) {
    let path = root.join(path);
    match path.symlink_metadata().unwrap().is_dir() {
        true => std::fs::remove_dir_all(path).unwrap(),
        false => std::fs::remove_file(path).unwrap(),
    }
}

pub(super) fn link(root: &Path, path: &str, target: &str) {
    std::os::unix::fs::symlink(target, root.join(path)).unwrap();
}
