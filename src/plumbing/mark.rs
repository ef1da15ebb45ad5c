//! What a transaction of refs is about to do, noted beside it: if git is killed in the middle, with us or without,
//! the locks that it left can be told from those of others, and go. The note is locked as long as we or that git
//! live. A lock goes only if it holds the very value that the note names for that ref, and is no other's then: who
//! takes it must find it gone first, and only one at a time clears it away.
//!
//! The lock of a deletion holds nothing, and those of `packed-refs` and of reftables are everybody's. Once git says that
//! all is prepared they are its own, and which files they are is noted too. One that a git left which was killed
//! before it could say so stays, and is named by whoever it keeps from moving refs.

use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Result;
use crate::plumbing::disk;
use crate::plumbing::refs::Edit;
use crate::plumbing::repo::Repo;
use std::fs;
use std::fs::File;
use std::io;
use std::io::Read;
use std::io::Seek;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::UNIX_EPOCH;

const PREFIX: &str = "refs-";
const HELD: &str = "held ";
const PACKED: &str = "packed-refs.lock";
const HALF_PACKED: &str = "packed-refs.new";
const TABLES: &str = "reftable/tables.list.lock";

/// A note, removed on drop.
#[derive(Debug)]
pub(super) struct Mark {
    path: PathBuf,
    file: File,
    /// It has to outlive us.
    left: bool,
}

impl Mark {
    /// Made before git is started, which inherits the lock. `None` where no place can be made for it: then nothing
    /// can be cleared away, and nothing else is different.
    pub(super) fn new(folder: &Path) -> Option<Mark> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        // The first transaction of a repository comes before anything else of ours.
        fs::create_dir_all(folder).ok()?;
        let path = folder.join(format!("{PREFIX}{}-{count}", std::process::id()));
        // One of the same name is of a dead process; its locks are not ours to forget.
        let file = File::options().read(true).write(true).create_new(true).open(&path).ok()?;
        let mark = Mark { path, file, left: false };
        mark.file.try_lock().ok()?;
        rustix::io::fcntl_setfd(&mark.file, rustix::io::FdFlags::empty()).ok()?;
        Some(mark)
    }

    pub(super) fn note(&mut self, edits: &[Edit]) -> io::Result<()> {
        let line = |edit: &Edit| Some(format!("{} {}\n", edit.new?, edit.name));
        let text: String = edits.iter().filter_map(line).collect();
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(text.as_bytes())?;
        // git syncs the locks that it makes: after a power cut they are there, and so must be what tells whose.
        self.file.sync_data()
    }

    /// Its git was killed: the note stays until the locks are cleared away.
    pub(super) fn leave(mut self) {
        self.left = true;
    }

    /// Notes which files the locks `names` are, below `common`, now that git has them.
    pub(super) fn hold(&mut self, common: &Path, names: &[String]) -> io::Result<()> {
        let line = |name: &String| Some(format!("{HELD}{} {name}\n", identity(&common.join(name))?));
        let text: String = names.iter().filter_map(line).collect();
        self.file.write_all(text.as_bytes())?;
        self.file.sync_data()
    }
}

/// What tells a file from any other that ever stood in its place; none where the file system does not say. Not its
/// device: that may have another number after a restart.
fn identity(path: &Path) -> Option<String> {
    let file = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    let born = file.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{}:{}", file.ino(), born.as_nanos()))
}

/// The locks of a transaction of `edits` that cannot be told by what they hold.
pub(super) fn nameless(edits: &[Edit], reftable: bool) -> Vec<String> {
    if reftable {
        return vec![TABLES.to_owned()];
    }
    let deleted = edits.iter().filter(|edit| edit.new.is_none());
    let mut names: Vec<String> = deleted.map(|edit| format!("{}.lock", edit.name)).collect();
    if !names.is_empty() {
        names.push(PACKED.to_owned());
    }
    names
}

impl Drop for Mark {
    fn drop(&mut self) {
        if !self.left {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Repo {
    /// Where notes stand.
    pub(super) fn marks(&self) -> PathBuf {
        self.dirs.common.join("skein").join("run")
    }

    /// Removes the locks that transactions of dead processes left, where it is proven that they are theirs.
    /// Gives those that went.
    pub fn clear_left_locks(&self) -> Result<Vec<PathBuf>> {
        let mut gone = Vec::new();
        for entry in fs::read_dir(self.marks()).into_iter().flatten().flatten() {
            if !entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)) {
                continue;
            }
            let path = entry.path();
            let cleared =
                self.clear(&path).map_err(|e| disk::io(format!("clearing {}", path.display()), e))?;
            gone.extend(cleared);
        }
        gone.extend(self.clear_half_packed().map_err(|e| disk::io("clearing packed-refs.new", e))?);
        Ok(gone)
    }

    /// What a git made under the lock of `packed-refs`, and left when it died. Who removed that lock has not removed this,
    /// and no git goes on then. Under the same lock nobody else is at it.
    fn clear_half_packed(&self) -> io::Result<Option<PathBuf>> {
        let (half, lock) = (self.dirs.common.join(HALF_PACKED), self.dirs.common.join(PACKED));
        if !half.exists() {
            return Ok(None);
        }
        match File::options().write(true).create_new(true).open(&lock) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            made => drop(made?),
        }
        let gone = disk::gone(fs::remove_file(&half));
        disk::gone(fs::remove_file(&lock))?;
        gone.map(|()| Some(half))
    }

    fn clear(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let mut gone = Vec::new();
        let Ok(mut file) = File::options().read(true).write(true).open(path) else { return Ok(gone) };
        if file.try_lock().is_err() {
            return Ok(gone);
        }
        // Another may have cleared it before the lock was ours.
        let here = file.metadata()?;
        if !fs::metadata(path).is_ok_and(|there| (there.dev(), there.ino()) == (here.dev(), here.ino())) {
            return Ok(gone);
        }
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        for (oid, name) in text.lines().filter_map(|line| line.split_once(' ')) {
            let (Ok(oid), Ok(name)) = (oid.parse::<Oid>(), RefName::new(name)) else { continue };
            let at = |name: &str| self.dirs.common.join(format!("{name}.lock"));
            let holds =
                |path: &Path, what: &str| fs::read_to_string(path).is_ok_and(|it| it.trim_end() == what);
            let (lock, head) = (at(name.as_str()), at("HEAD"));
            if !holds(&lock, &oid.to_string()) {
                continue;
            }
            // With the branch that it names git locks `HEAD` first, to write nothing. While the branch is locked
            // nobody else has a use for that.
            if holds(&self.dirs.common.join("HEAD"), &format!("ref: {name}")) && holds(&head, "") {
                disk::gone(fs::remove_file(&head))?;
                gone.push(head);
            }
            disk::gone(fs::remove_file(&lock))?;
            gone.push(lock);
        }
        for (told, name) in text.lines().filter_map(|line| line.strip_prefix(HELD)?.split_once(' ')) {
            let of_a_ref = name.strip_suffix(".lock").is_some_and(|name| RefName::new(name).is_ok());
            let lock = self.dirs.common.join(name);
            if !(of_a_ref || name == PACKED || name == TABLES) || identity(&lock).as_deref() != Some(told) {
                continue;
            }
            if name == PACKED {
                // Made under that lock, and in the way of the next one who holds it.
                disk::gone(fs::remove_file(self.dirs.common.join(HALF_PACKED)))?;
            }
            disk::gone(fs::remove_file(&lock))?;
            gone.push(lock);
        }
        disk::gone(fs::remove_file(path))?;
        Ok(gone)
    }
}
