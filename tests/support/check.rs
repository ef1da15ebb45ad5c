//! The independent checker: reads a repository with git and libgit2 only, never with our code.

use crate::support::World;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;

/// Everything of the person's that a verb must leave alone, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture(BTreeMap<String, String>);

impl Picture {
    /// Without what is meant to change.
    pub fn but(mut self, part: &str) -> Picture {
        self.0.remove(part);
        self
    }
}

impl World {
    /// What belongs to the person: index, files, stash, configuration but `skein.*`, hooks, branches, tags,
    /// other worktrees. `except` names branches that are meant to move.
    pub fn picture(&self, except: &[&str]) -> Picture {
        let mut all = BTreeMap::new();
        let git = self.repo.join(".git");
        let common = if git.is_dir() { git } else { self.repo.clone() };
        for file in ["index", "HEAD", "packed-refs", "info/exclude", "info/attributes"] {
            let bytes = std::fs::read(common.join(file)).unwrap_or_default();
            if file != "packed-refs" {
                all.insert(file.to_owned(), format!("{:?}", digest(&bytes)));
            }
        }
        let config = std::fs::read_to_string(common.join("config")).unwrap();
        let kept = config.split("\n[").filter(|s| !s.starts_with("skein")).collect::<Vec<_>>().join("\n[");
        all.insert("config".into(), kept.trim_end().to_owned());
        tree(&common.join("hooks"), &mut all, "hooks");
        let refs = self.git(["for-each-ref", "--format=%(refname) %(objectname)"]);
        for line in refs.lines().filter(|l| !l.contains("refs/skein") && !l.contains("refs/notes/skein")) {
            if !except.iter().any(|e| line.starts_with(&format!("refs/heads/{e} "))) {
                all.insert(format!("ref {line}"), String::new());
            }
        }
        if self.repo.join(".git").exists() {
            tree(&self.repo, &mut all, "file");
        }
        Picture(all)
    }

    /// What git and libgit2 agree must hold of any repository that we touched: `git fsck` is clean, every
    /// ref's objects can be read by both, no lock of ours and no unfinished gate is left.
    pub fn check(&self) {
        let fsck = self.try_git(["fsck", "--full", "--strict", "--no-dangling"]);
        assert!(fsck.status.success(), "fsck: {}", String::from_utf8_lossy(&fsck.stderr));
        let mut locks = Vec::new();
        find_locks(&self.common(), &mut locks);
        assert!(locks.is_empty(), "stale locks: {locks:?}");
        // libgit2 reads no other formats.
        let config = std::fs::read_to_string(self.common().join("config")).unwrap().to_lowercase();
        if config.contains("refstorage") || config.contains("objectformat") {
            return;
        }
        let repo = git2::Repository::open(&self.repo).unwrap();
        let listed: BTreeSet<String> = self
            .git(["for-each-ref", "--format=%(refname) %(objectname)"])
            .lines()
            .map(str::to_owned)
            .collect();
        let mut seen = BTreeSet::new();
        for reference in repo.references().unwrap() {
            let reference = reference.unwrap();
            let commit = reference.peel(git2::ObjectType::Any).unwrap();
            let id = reference.target().unwrap_or(commit.id());
            seen.insert(format!("{} {id}", reference.name().unwrap()));
        }
        assert_eq!(listed, seen, "git and libgit2 list different refs");
    }

    /// Whether `commit` is reachable from any ref.
    pub fn reachable(&self, commit: &str) -> bool {
        let found = self.try_git(["for-each-ref", "--contains", commit]);
        found.status.success() && !found.stdout.is_empty()
    }
}

fn digest(bytes: &[u8]) -> u64 {
    use std::hash::Hasher;
    let mut hash = std::collections::hash_map::DefaultHasher::new();
    hash.write(bytes);
    hash.finish()
}

fn tree(dir: &Path, all: &mut BTreeMap<String, String>, prefix: &str) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = format!("{prefix}/{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && entry.file_name() != ".git" {
            tree(&entry.path(), all, &name);
        } else if kind.is_symlink() {
            all.insert(name, format!("{:?}", std::fs::read_link(entry.path()).unwrap()));
        } else if kind.is_file() {
            all.insert(name, format!("{:?}", digest(&std::fs::read(entry.path()).unwrap_or_default())));
        }
    }
}

fn find_locks(dir: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        // What a jailed git that was killed left in the worker's private folder, nobody else meets.
        if path.ends_with("skein/run") || path.ends_with("skein/private") {
            continue;
        }
        if entry.file_type().is_ok_and(|t| t.is_dir()) {
            find_locks(&path, found);
        } else if path.extension().is_some_and(|e| e == "lock") {
            found.push(path.display().to_string());
        }
    }
}
