//! What a repository is like, for who looks after it. Nothing here writes.

use crate::domain::Oid;
use crate::domain::Result;
use crate::plumbing::disk;
use crate::plumbing::git::Call;
use crate::plumbing::repo::Repo;
use bstr::ByteSlice;
use std::fs::DirEntry;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;

impl Repo {
    /// git's version as it states it, without the words before it.
    pub fn git_version(&self) -> Result<String> {
        let said = self.git.expect(&Call::new(["version"]).reads())?.text();
        Ok(said.strip_prefix("git version ").unwrap_or(&said).to_owned())
    }

    /// Commits that no ref, `HEAD` or index of any worktree reaches; reflogs do not count. Ancestors of others
    /// among them are there too. It reads every object's links.
    pub fn unreachable_commits(&self) -> Result<Vec<Oid>> {
        let args = ["fsck", "--unreachable", "--no-reflogs", "--connectivity-only", "--no-progress"];
        let call = self.call(&args).reads();
        let found = self.git.run(&call)?;
        // Small exit codes tell of damage, which is not asked for here; others that it could not look.
        let found = if (0..128).contains(&found.code) { found } else { self.git.expected(&call, found)? };
        let commit = |line: &[u8]| line.strip_prefix(b"unreachable commit ")?.to_str().ok()?.parse().ok();
        Ok(found.stdout.lines().filter_map(commit).collect())
    }

    /// Whether some ref, or the main worktree's `HEAD`, reaches `commit`.
    pub fn is_kept(&self, commit: Oid) -> Result<bool> {
        let commit = commit.to_string();
        let found = self.git.expect(
            &self.call(&["rev-list", "-n1", &commit, "--not", "--single-worktree", "--all"]).reads(),
        )?;
        Ok(found.stdout.is_empty())
    }

    /// Everything that `commit` needs and no ref keeps. A missing object is a fault.
    pub fn unkept(&self, commit: Oid) -> Result<Vec<Oid>> {
        let commit = commit.to_string();
        let args =
            ["rev-list", "--objects", "--no-object-names", &commit, "--not", "--single-worktree", "--all"];
        let call = self.call(&args);
        self.git.expect(&call.reads())?.text().lines().map(str::parse).collect()
    }

    /// The object folders that this repository borrows from.
    pub fn alternates(&self) -> Vec<PathBuf> {
        let listed = std::fs::read(self.dirs.common.join("objects/info/alternates")).unwrap_or_default();
        let path = |line: &[u8]| PathBuf::from(std::ffi::OsStr::from_bytes(line));
        listed.lines().filter(|l| !l.is_empty() && !l.starts_with(b"#")).map(path).collect()
    }

    /// Whether `info/grafts` changes history.
    pub fn has_grafts(&self) -> bool {
        std::fs::metadata(self.dirs.common.join("info/grafts")).is_ok_and(|m| m.len() > 0)
    }

    /// How many objects are replaced by others.
    pub fn replaced(&self) -> Result<usize> {
        Ok(self.refs(&["refs/replace"])?.len())
    }

    /// git's lock files in the shared git folder: of refs, indexes, configuration and the like. `skip` is a
    /// folder that is not looked into.
    pub fn lock_files(&self, skip: &Path) -> Vec<PathBuf> {
        locks_below(self.dirs.common.clone(), skip)
    }

    /// Files of single objects that hold no byte. git links an object into its place when it is whole, so that only a
    /// power cut before the disk had its bytes leaves one. git takes it for the object, and does not write that again.
    pub fn empty_objects(&self) -> Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        for spread in entries(&self.dirs.common.join("objects"))?.iter().filter(|e| e.file_name().len() == 2)
        {
            let files = entries(&spread.path())?;
            // One that is being written has another name.
            let named = files.iter().filter(|e| e.file_name().as_bytes().iter().all(u8::is_ascii_hexdigit));
            let empty = named.filter(|e| e.metadata().is_ok_and(|m| m.is_file() && m.len() == 0));
            found.extend(empty.map(DirEntry::path));
        }
        found.sort();
        Ok(found)
    }

    /// Removes the locks of the refs below `prefix`, which are nobody's: who calls this knows that no git moves these
    /// refs now.
    pub fn clear_locks_below(&self, prefix: &str) -> Result<Vec<PathBuf>> {
        let found = locks_below(self.dirs.common.join(prefix), Path::new(""));
        for lock in &found {
            disk::gone(std::fs::remove_file(lock))
                .map_err(|e| disk::io(format!("removing {}", lock.display()), e))?;
        }
        Ok(found)
    }
}

/// What is in a folder; nothing if it is gone.
fn entries(folder: &Path) -> Result<Vec<DirEntry>> {
    let found = match std::fs::read_dir(folder) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        found => found.and_then(Iterator::collect),
    };
    found.map_err(|e| disk::io(format!("listing {}", folder.display()), e))
}

fn locks_below(folder: PathBuf, skip: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            // Objects are written aside and linked, never locked.
            let objects = dir.ends_with("objects") && entry.file_name().len() == 2;
            if kind.is_dir() && path != skip && !objects {
                open.push(path);
            } else if kind.is_file() && path.extension() == Some("lock".as_ref()) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
