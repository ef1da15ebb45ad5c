//! A person's index and files, moved from tree to tree under git's own lock. The work is done on a copy of
//! the index and put in place by one rename, and the lock names its owner: whatever a crash leaves can be
//! told from what another git is doing, and can be brought to either end.

use crate::domain::Change;
use crate::domain::Entry;
use crate::domain::Failure;
use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::Result;
use crate::plumbing::disk;
use crate::plumbing::durable;
use crate::plumbing::git::Call;
use crate::plumbing::index_entry::IndexFile;
use crate::plumbing::repo::Repo;
use crate::plumbing::worktree::Admin;
use crate::plumbing::worktree::in_worktree;
use crate::plumbing::worktree::split;
use bstr::BStr;
use bstr::BString;
use bstr::ByteSlice;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::io::ErrorKind;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;

/// The index of a worktree while its lock is ours. Nothing is undone when it is dropped: [`HeldIndex::free`].
#[must_use = "the index stays locked until it is freed"]
pub struct HeldIndex<'r> {
    repo: &'r Repo,
    admin: Admin,
}

/// Which end a half-made move is brought to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Old,
    New,
}

/// How the lock is called before it is in its place.
const HOLDING: &str = ".skein-hold-";

impl Repo {
    /// Takes the lock of the worktree's index and leaves `mark` in it. `None` if another git has it.
    pub fn hold_index(&self, admin: &Admin, mark: &str) -> Result<Option<HeldIndex<'_>>> {
        let lock = lock(admin);
        let made = crate::fault::file().and_then(|()| {
            // Of one that died before it had the lock: only one at a time comes here.
            for left in fs::read_dir(&admin.dir)?.flatten().map(|entry| entry.path()) {
                if left.file_name().is_some_and(|name| name.as_bytes().starts_with(HOLDING.as_bytes())) {
                    remove(&left)?;
                }
            }
            // Linked into place with its content, so that a lock of ours is never without its mark, after a power cut neither.
            let mut file = tempfile::Builder::new().prefix(HOLDING).tempfile_in(&admin.dir)?;
            file.write_all(mark.as_bytes())?;
            file.as_file().sync_data()?;
            match fs::hard_link(file.path(), &lock) {
                // Some file systems have no second names.
                Err(e) if matches!(e.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) => {
                    fs::File::create_new(&lock)?.write_all(mark.as_bytes())
                }
                linked => linked,
            }
        });
        match made {
            Ok(()) => Ok(Some(HeldIndex { repo: self, admin: admin.clone() })),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(None),
            Err(e) => Err(failed("locking", admin, e)),
        }
    }

    /// The lock that is there already, if it holds `mark`. Its owner must be known to be dead.
    pub fn inherit_index(&self, admin: &Admin, mark: &str) -> Option<HeldIndex<'_>> {
        let found = fs::read(lock(admin)).ok()?;
        (found == mark.as_bytes()).then(|| HeldIndex { repo: self, admin: admin.clone() })
    }

    /// What is in the lock of the worktree's index, if it is locked: git's own are empty or binary.
    pub fn index_lock(&self, admin: &Admin) -> Option<BString> {
        fs::read(lock(admin)).ok().map(BString::from)
    }
}

impl Repo {
    /// What `update-index -z --index-info` reads of one path; no entry removes it.
    pub(super) fn index_line(&self, path: &BStr, entry: Option<(Mode, Oid)>) -> Vec<u8> {
        let head = match entry {
            Some((mode, oid)) => format!("{mode} {oid}\t"),
            None => format!("0 {}\t", self.objects.null()),
        };
        [head.as_bytes(), path.as_bytes(), b"\0"].concat()
    }
}

impl HeldIndex<'_> {
    /// Moves index and files from tree `old` to `new`, which differ by `changes`, as git's two-tree merge
    /// does: local changes elsewhere stay. The inner error is git's: it would not, or could not, and all is
    /// as it was. After an outer one it may stand halfway.
    /// `meanwhile` is called while git works.
    pub fn move_tree(
        &self,
        changes: &[Change],
        old: Oid,
        new: Oid,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<Result<()>> {
        self.copy()?;
        let (old, new) = (old.to_string(), new.to_string());
        let args = ["read-tree", "-m", "-u", old.as_str(), new.as_str()];
        let call = self.on_copy(&args);
        let moving = self.repo.git.start(&call)?;
        meanwhile();
        let mut moved = self.repo.git.finish(&call, moving)?;
        if !moved.ok() {
            // Files that were only touched count as changed until the index is refreshed.
            self.repo.git.run(&self.on_copy(&["update-index", "-q", "--refresh"]))?;
            moved = self.repo.git.run(&self.on_copy(&args))?;
        }
        if moved.ok() {
            crate::fault::point("index: files moved");
            self.sync(changes.iter(), Side::New)?;
            self.publish()?;
            return Ok(Ok(()));
        }
        // A full disk ends it in the middle of the files. What it would not touch is nobody's but theirs.
        if self.settle(changes, Side::Old)?.is_err() {
            remove(&copy(&self.admin)).map_err(|e| failed("removing", &self.admin, e))?;
        }
        Ok(Err(disk::git(format!("moving the files of {}", self.admin.path.display()), &moved.words())))
    }

    /// Sets what the index has at `path`, and nothing else. False if it has not what it was thought to have.
    pub fn set_entry(&self, path: &BStr, was: Option<Entry>, entry: Option<Entry>) -> Result<bool> {
        if let Some((found, bytes)) = entry.and_then(|entry| self.replaced(path, entry)) {
            if was != Some(found) {
                return Ok(false);
            }
            self.write(&bytes)?;
            return self.publish().map(|()| true);
        }
        if self.repo.indexed_at(&self.admin, path)? != Some(was) {
            return Ok(false);
        }
        self.copy()?;
        let line = self.repo.index_line(path, entry);
        self.repo.git.expect(&self.on_copy(&["update-index", "-z", "--index-info"]).stdin(&line))?;
        for flag in entry.map_or(Vec::new(), |_| self.repo.flags_at(&self.admin, path)) {
            let call = self.on_copy(&["update-index", "-z", flag, "--stdin"]);
            self.repo.git.expect(&call.stdin(&[path.as_bytes(), b"\0"].concat()))?;
        }
        self.publish().map(|()| true)
    }

    /// The entry at `path`, and the bytes of the index with another entry at `path`, where that can be told without git.
    fn replaced(&self, path: &BStr, entry: Entry) -> Option<(Entry, Vec<u8>)> {
        let bytes = fs::read(self.admin.dir.join("index")).ok()?;
        let index = IndexFile::read(&bytes, entry.1.as_bytes().len(), path)?;
        Some((index.entry()??, index.replaced(path, entry)?))
    }

    /// Makes `bytes` the copy, as old as the index and for the same people.
    fn write(&self, bytes: &[u8]) -> Result<()> {
        let write = || {
            crate::fault::file()?;
            let was = fs::metadata(self.admin.dir.join("index"))?;
            let mut file = fs::File::create(copy(&self.admin))?;
            file.set_permissions(was.permissions())?;
            file.write_all(bytes)?;
            file.set_modified(was.modified()?)?;
            file.sync_data()
        };
        write().map_err(|e| failed("writing", &self.admin, e))
    }

    /// Whether a move began and its index was not yet put in place.
    pub fn is_halfway(&self) -> bool {
        copy(&self.admin).exists()
    }

    /// Brings a half-made move by `changes` to one end. Paths that hold neither end's content, nor the
    /// beginning of the new one's, were written by somebody else: then nothing is done, and they are told.
    pub fn settle(&self, changes: &[Change], side: Side) -> Result<std::result::Result<(), Vec<BString>>> {
        let changes: Vec<&Change> = changes.iter().filter(|c| !is_gitlink(c)).collect();
        let half = lock_of(&copy(&self.admin));
        remove(&half).map_err(|e| failed("removing the lock of", &self.admin, e))?;
        self.copy()?;
        self.enter(&changes, |c| c.old)?;
        let from_old = self.differing()?;
        self.enter(&changes, |c| c.new)?;
        let from_new = self.differing()?;
        let mut foreign = Vec::new();
        for change in &changes {
            if !self.explained(change, &from_old, &from_new)? {
                foreign.push(change.path.clone());
            }
        }
        if !foreign.is_empty() {
            return Ok(Err(foreign));
        }
        let end = |c: &Change| if side == Side::New { c.new } else { c.old };
        let differing = if side == Side::New { from_new } else { from_old };
        self.enter(&changes, end)?;
        for change in changes.iter().filter(|c| end(c).is_none()) {
            self.unlink(change.path.as_bstr()).map_err(|e| failed("removing a file of", &self.admin, e))?;
        }
        let mut paths = Vec::new();
        for change in changes.iter().filter(|c| end(c).is_some() && differing.contains(&c.path)) {
            paths.extend_from_slice(&change.path);
            paths.push(0);
        }
        let args = ["checkout-index", "--force", "--index", "-z", "--stdin"];
        self.repo.git.expect(&self.on_copy(&args).stdin(&paths))?;
        self.sync(changes.iter().copied(), side)?;
        self.publish()?;
        Ok(Ok(()))
    }

    /// Gives the lock back; what was not put in place is dropped.
    pub fn free(self) -> Result<()> {
        let admin = &self.admin;
        let copy = copy(admin);
        crate::fault::file()
            .and_then(|()| remove(&lock_of(&copy)))
            .and_then(|()| remove(&copy))
            .and_then(|()| remove(&lock(admin)))
            .map_err(|e| failed("unlocking", admin, e))
    }

    fn on_copy<'a>(&'a self, args: &[&str]) -> Call<'a> {
        in_worktree(&self.admin, args).env("GIT_INDEX_FILE", copy(&self.admin)).apart()
    }

    fn copy(&self) -> Result<()> {
        copy_index(&self.admin, &copy(&self.admin))
    }

    /// What the index says of the files is to hold after a power cut, too: git does not sync what it checks out.
    fn sync<'c>(&self, changes: impl Iterator<Item = &'c Change>, side: Side) -> Result<()> {
        let plain = |end: Option<(Mode, Oid)>| {
            end.is_none_or(|(mode, _)| mode == Mode::File || mode == Mode::Executable)
        };
        let end = |change: &Change| if side == Side::New { change.new } else { change.old };
        let changed =
            changes.filter(|change| plain(end(change))).map(|change| self.file(change.path.as_bstr()));
        // Of what is gone the folder is all that there is to sync.
        let files: Vec<PathBuf> = changed.filter(|file| file.parent().is_some_and(Path::is_dir)).collect();
        durable::files(&self.admin.path, &files)
    }

    /// Puts the copy, which git has synced, in the place of the index, durably.
    fn publish(&self) -> Result<()> {
        let (from, to) = (copy(&self.admin), self.admin.dir.join("index"));
        crate::fault::file()
            .and_then(|()| fs::rename(&from, &to))
            .map_err(|e| failed("replacing", &self.admin, e))?;
        durable::sync(&self.admin.dir)
    }

    /// The paths whose file is not what the copy says.
    fn differing(&self) -> Result<HashSet<BString>> {
        self.repo.git.run(&self.on_copy(&["update-index", "-q", "--refresh"]))?;
        let args = ["diff-files", "--name-only", "-z", "--no-renames", "--ignore-submodules=all"];
        Ok(split(&self.repo.git.expect(&self.on_copy(&args))?.stdout).into_iter().collect())
    }

    /// Enters one end of each change into the copy.
    fn enter(&self, changes: &[&Change], end: impl Fn(&Change) -> Option<(Mode, Oid)>) -> Result<()> {
        let mut text = Vec::new();
        // Removals first: a file may stand where a folder is to be.
        for present in [false, true] {
            for change in changes.iter().filter(|c| end(c).is_some() == present) {
                text.extend_from_slice(&self.repo.index_line(change.path.as_bstr(), end(change)));
            }
        }
        let args = ["update-index", "-z", "--index-info"];
        self.repo.git.expect(&self.on_copy(&args).stdin(&text)).map(drop)
    }

    /// Whether the file at a path is the old one, the new one, or the new one in the making.
    fn explained(
        &self,
        change: &Change,
        from_old: &HashSet<BString>,
        from_new: &HashSet<BString>,
    ) -> Result<bool> {
        let path = self.file(change.path.as_bstr());
        let Ok(found) = fs::symlink_metadata(&path) else { return Ok(true) };
        let is = |end: Option<(Mode, Oid)>, differing: &HashSet<BString>| {
            end.is_some() && !differing.contains(&change.path)
        };
        if is(change.old, from_old) || is(change.new, from_new) {
            return Ok(true);
        }
        let Some((mode, oid)) = change.new.filter(|_| found.is_file()) else { return Ok(false) };
        if mode == Mode::Link {
            return Ok(false);
        }
        let begun = fs::read(&path).map_err(|e| failed("reading a file of", &self.admin, e))?;
        Ok(self.repo.objects.blob(oid)?.starts_with(&begun))
    }

    fn file(&self, path: &BStr) -> PathBuf {
        self.admin.path.join(std::ffi::OsStr::from_bytes(path))
    }

    /// Removes a file and the folders that it leaves empty.
    fn unlink(&self, path: &BStr) -> io::Result<()> {
        let file = self.file(path);
        remove(&file)?;
        disk::remove_emptied(&file, &self.admin.path);
        Ok(())
    }
}

fn is_gitlink(change: &Change) -> bool {
    let link = |end: Option<(Mode, Oid)>| end.is_some_and(|(mode, _)| mode == Mode::Gitlink);
    link(change.old) || link(change.new)
}

fn lock(admin: &Admin) -> PathBuf {
    admin.dir.join("index.lock")
}

/// The copy that is worked on. It lies beside the index, where git looks for what an index may refer to.
fn copy(admin: &Admin) -> PathBuf {
    admin.dir.join("skein-index")
}

/// The index of `admin` as it is now, at `to`. No index is an empty one. The copy is no younger: a file that was
/// changed in the second in which the index was written is told by that time alone.
pub(super) fn copy_index(admin: &Admin, to: &Path) -> Result<()> {
    let from = admin.dir.join("index");
    let copy = || {
        let written = fs::metadata(&from)?.modified()?;
        fs::copy(&from, to)?;
        fs::File::options().write(true).open(to)?.set_modified(written)
    };
    let copied = crate::fault::file().and_then(|()| match copy() {
        Err(e) if e.kind() == ErrorKind::NotFound => remove(to),
        other => other,
    });
    copied.map_err(|e| failed("copying", admin, e))
}

fn lock_of(copy: &Path) -> PathBuf {
    copy.with_extension("lock")
}

fn remove(path: &Path) -> io::Result<()> {
    disk::gone(fs::remove_file(path))
}

fn failed(doing: &str, admin: &Admin, e: io::Error) -> Failure {
    disk::io(format!("{doing} the index of {}", admin.path.display()), e)
}

#[cfg(test)]
mod tests;
