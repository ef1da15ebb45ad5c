//! What a transaction of refs is about to do, noted beside it: if git is killed in the middle, with us or without,
//! the locks that it left can be told from those of others, and go. The note is locked as long as we or that git
//! live. A lock goes only if it holds the very value that the note names for that ref, and is no other's then: who
//! takes it must find it gone first, and only one at a time clears it away.
//!
//! The lock of a deletion holds nothing, and those of `packed-refs` and of reftables are everybody's. Once git says that
//! all is prepared they are its own, and which files they are is noted too. One that a git left which was killed
//! before it could say so stays, and is named by whoever it keeps from moving refs.
//!
//! Where refs are files git moves one after the other. A transaction of which a part is done is done to its end.

use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Result;
use crate::plumbing::disk;
use crate::plumbing::refs::Edit;
use crate::plumbing::repo::Repo;
use bstr::ByteSlice;
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
const EDIT: &str = "edit ";
const HELD: &str = "held ";
/// The git ended by itself, and removed its locks: one with its value is another's.
const ENDED: &str = "ended";
/// A part of the transaction is done.
const HALF: &str = "half";
/// In the place of an oid.
const ABSENT: &str = "-";
const PACKED: &str = "packed-refs.lock";
const HALF_PACKED: &str = "packed-refs.new";
const TABLES: &str = "reftable/tables.list.lock";

/// A note, removed on drop.
#[derive(Debug)]
pub(super) struct Mark {
    path: PathBuf,
    file: File,
    /// Locks of the transaction that is noted.
    held: Vec<Held>,
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
        let mark = Mark { path, file, held: Vec::new(), left: false };
        mark.file.try_lock().ok()?;
        rustix::io::fcntl_setfd(&mark.file, rustix::io::FdFlags::empty()).ok()?;
        Some(mark)
    }

    pub(super) fn note(&mut self, edits: &[Edit]) -> io::Result<()> {
        let text: String = edits.iter().map(line_of).collect();
        self.held.clear();
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

    /// Its git ended, and has done a part of what is noted.
    pub(super) fn leave_half(mut self) -> io::Result<()> {
        self.file.write_all(format!("{ENDED}\n{HALF}\n").as_bytes())?;
        self.file.sync_data()?;
        self.leave();
        Ok(())
    }

    /// Notes which files the locks `names` are, below `common`, now that git has them.
    pub(super) fn hold(&mut self, common: &Path, names: &[String]) -> io::Result<()> {
        let known =
            |name: &String| Some(Held { identity: identity(&common.join(name))?, name: name.clone() });
        self.held = names.iter().filter_map(known).collect();
        self.file.write_all(self.held.iter().map(Held::line).collect::<String>().as_bytes())?;
        self.file.sync_data()
    }

    /// Removes those that are still there: git, which is through with them, could not.
    pub(super) fn release(&self, common: &Path) -> io::Result<()> {
        self.held.iter().try_for_each(|held| held.release(common).map(drop))
    }
}

fn line_of(edit: &Edit) -> String {
    let oid = |oid: Option<Oid>| oid.map_or(ABSENT.to_owned(), |oid| oid.to_string());
    format!("{EDIT}{} {} {}\n", oid(edit.new), oid(edit.old), edit.name)
}

/// A lock that is known by the file that it is.
#[derive(Debug)]
struct Held {
    identity: String,
    /// Below the common folder.
    name: String,
}

impl Held {
    fn line(&self) -> String {
        format!("{HELD}{} {}\n", self.identity, self.name)
    }

    /// `None` if it is not there.
    fn release(&self, common: &Path) -> io::Result<Option<PathBuf>> {
        if !self.stands(common) {
            return Ok(None);
        }
        let lock = common.join(&self.name);
        if self.name == PACKED {
            // Made under that lock, and in the way of the next one who holds it.
            disk::gone(fs::remove_file(common.join(HALF_PACKED)))?;
        }
        disk::gone(fs::remove_file(&lock))?;
        Ok(Some(lock))
    }

    fn stands(&self, common: &Path) -> bool {
        identity(&common.join(&self.name)).as_ref() == Some(&self.identity)
    }
}

/// What a note says. Whoever may write into our folder may have written it: a line that is none of ours says nothing.
pub(super) struct Noted {
    edits: Vec<Edit>,
    held: Vec<Held>,
    ended: bool,
    half: bool,
}

impl Noted {
    pub(super) fn parse(bytes: &[u8]) -> Noted {
        let lines = || bytes.lines().filter_map(|line| line.to_str().ok());
        let oid = |word: &str| (word != ABSENT).then(|| word.parse::<Oid>()).transpose().ok();
        let edit = |line: &str| {
            let mut words = line.strip_prefix(EDIT)?.splitn(3, ' ');
            let (new, old) = (oid(words.next()?)?, oid(words.next()?)?);
            Some(Edit { name: RefName::new(words.next()?).ok()?, old, new })
        };
        let held = |line: &str| {
            let (identity, name) = line.strip_prefix(HELD)?.split_once(' ')?;
            let of_a_ref = name.strip_suffix(".lock").is_some_and(|name| RefName::new(name).is_ok());
            let known = of_a_ref || name == PACKED || name == TABLES;
            known.then(|| Held { identity: identity.to_owned(), name: name.to_owned() })
        };
        Noted {
            edits: lines().filter_map(edit).collect(),
            held: lines().filter_map(held).collect(),
            ended: lines().any(|line| line == ENDED),
            half: lines().any(|line| line == HALF),
        }
    }

    /// The note that says it.
    #[cfg(feature = "fuzz")]
    pub(super) fn text(&self) -> String {
        let edits = self.edits.iter().map(line_of);
        let words = [(self.ended, ENDED), (self.half, HALF)].into_iter().filter(|(so, _)| *so);
        let words = words.map(|(_, word)| format!("{word}\n"));
        edits.chain(self.held.iter().map(Held::line)).chain(words).collect()
    }

    /// Whatever it may have removed, below the common folder.
    #[cfg(feature = "fuzz")]
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        let edits = self.edits.iter().map(|edit| format!("{}.lock", edit.name));
        edits.chain(self.held.iter().map(|held| held.name.clone()))
    }

    /// The locks that hold the very value of an edit, and `HEAD`'s beside the one of its branch.
    fn by_value(&self, common: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for edit in self.edits.iter().filter(|_| !self.ended) {
            let at = |name: &str| common.join(format!("{name}.lock"));
            let holds =
                |path: &Path, what: &str| fs::read_to_string(path).is_ok_and(|it| it.trim_end() == what);
            let (lock, head) = (at(edit.name.as_str()), at("HEAD"));
            if !edit.new.is_some_and(|new| holds(&lock, &new.to_string())) {
                continue;
            }
            // With the branch that it names git locks `HEAD` first, to write nothing. While the branch is locked
            // nobody else has a use for that.
            if holds(&common.join("HEAD"), &format!("ref: {}", edit.name)) && holds(&head, "") {
                found.push(head);
            }
            found.push(lock);
        }
        found
    }
}

/// Of `edits`, where a part of them is done, those that are not.
pub(super) fn rest(edits: &[Edit], now: &[Option<Oid>]) -> Vec<Edit> {
    let moves = || edits.iter().zip(now).filter(|(edit, _)| edit.new != edit.old);
    if !moves().any(|(edit, now)| edit.new == *now) {
        return Vec::new();
    }
    moves().filter(|(edit, now)| edit.old == **now).map(|(edit, _)| edit.clone()).collect()
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

    /// Removes the locks that transactions of dead processes left, where it is proven that they are theirs, and ends
    /// those that are done in part. Gives the locks that went.
    pub fn clear_left_locks(&self) -> Result<Vec<PathBuf>> {
        let mut gone = Vec::new();
        for entry in fs::read_dir(self.marks()).into_iter().flatten().flatten() {
            if !entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)) {
                continue;
            }
            let path = entry.path();
            gone.extend(self.clear(&path)?);
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

    fn clear(&self, path: &Path) -> Result<Vec<PathBuf>> {
        let failed = |e: io::Error| disk::io(format!("clearing {}", path.display()), e);
        let Ok(mut file) = File::options().read(true).append(true).open(path) else { return Ok(Vec::new()) };
        if file.try_lock().is_err() {
            return Ok(Vec::new());
        }
        // Another may have cleared it before the lock was ours. What is no file would be read for ever.
        let here = file.metadata().map_err(failed)?;
        if !here.is_file()
            || !fs::metadata(path).is_ok_and(|there| (there.dev(), there.ino()) == (here.dev(), here.ino()))
        {
            return Ok(Vec::new());
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed)?;
        let noted = Noted::parse(&text);
        let common = &self.dirs.common;
        let mut gone = noted.by_value(common);
        let stand = !gone.is_empty() || noted.held.iter().any(|held| held.stands(common));
        let names: Vec<&RefName> = noted.edits.iter().map(|edit| &edit.name).collect();
        let mut left = Vec::new();
        if noted.half || stand {
            left = rest(&noted.edits, &self.read_refs(&names)?);
            // A gc may have been there since: whoever owns the transaction makes it anew then.
            left.retain(|edit| edit.new.is_none_or(|new| self.objects.exists(new)));
        }
        if !left.is_empty() && !noted.half {
            // Without its locks nothing else would tell.
            file.write_all(format!("{HALF}\n").as_bytes()).and_then(|()| file.sync_data()).map_err(failed)?;
        }
        for lock in &gone {
            disk::gone(fs::remove_file(lock)).map_err(failed)?;
        }
        for held in &noted.held {
            gone.extend(held.release(common).map_err(failed)?);
        }
        if !left.is_empty() {
            self.update_refs(&left)?;
        }
        disk::gone(fs::remove_file(path)).map_err(failed)?;
        Ok(gone)
    }
}
