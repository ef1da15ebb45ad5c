//! A second world from a first, at another path, so that a prepared repository is prepared once.

use crate::support::World;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

impl World {
    /// All of this world again in a folder of its own. What holds absolute paths is made to fit.
    pub fn copy(&self) -> World {
        self.copy_into(&fastest())
    }

    /// The same in a new folder inside `folder`.
    pub fn copy_into(&self, folder: &Path) -> World {
        let root = tempfile::Builder::new().prefix("skein-test-").tempdir_in(folder).unwrap();
        let (old, new) = (self.root(), root.path().canonicalize().unwrap());
        let copied = Command::new("cp").arg("-a").arg(old.join(".")).arg(&new).status().unwrap();
        assert!(copied.success());
        let moved = |path: &Path| new.join(path.strip_prefix(&old).unwrap());
        let world = World {
            repo: moved(&self.repo),
            cwd: moved(&self.cwd),
            extra: self.extra.clone(),
            ticks: AtomicU64::new(self.ticks.load(Ordering::SeqCst)),
            root,
            nobody: self.nobody,
        };
        let (old, new) = (old.display().to_string(), new.display().to_string());
        relocate(&world.common(), &old, &new, &["gitdir", "spec.json"]);
        // It stands for the first world, not beside it.
        let _ = fs::remove_file(world.common().join("skein/home"));
        for worktree in world.below("repo.skein") {
            relocate(&worktree, &old, &new, &[".git"]);
        }
        if world.repo.join(".git").exists() {
            // The copy's files have other inodes than the index says.
            world.try_git(["update-index", "-q", "--refresh"]);
        }
        world
    }

    /// The git folder that all worktrees share.
    pub fn common(&self) -> PathBuf {
        let inside = self.repo.join(".git");
        if inside.is_dir() {
            return inside;
        }
        // One kept apart is named in a file; a bare repository is one itself.
        let named = fs::read_to_string(&inside).ok();
        let named = named.and_then(|text| Some(text.strip_prefix("gitdir: ")?.trim_end().to_owned()));
        named.map_or_else(|| self.repo.clone(), |dir| self.repo.join(dir))
    }

    /// What is in a folder beside the repository, sorted; nothing if there is none.
    pub fn below(&self, folder: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.root().join(folder)).into_iter().flatten().flatten();
        let mut found: Vec<_> = entries.map(|e| e.path()).collect();
        found.sort();
        found
    }
}

/// Where a sync costs nothing, if there is such a place: a kill does not lose what the kernel has.
fn fastest() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if tempfile::tempfile_in(&memory).is_ok() { memory } else { std::env::temp_dir() }
}

/// Puts `new` for `old` in the files called one of `names`, at any depth below `dir`.
fn relocate(dir: &Path, old: &str, new: &str, names: &[&str]) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() && entry.file_name() != "objects" && entry.file_name() != "refs" {
            relocate(&path, old, new, names);
        } else if kind.is_file() && names.iter().any(|n| entry.file_name() == *n) {
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, text.replace(old, new)).unwrap();
        }
    }
}
