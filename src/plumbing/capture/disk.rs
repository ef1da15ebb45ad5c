//! Reading a tree that somebody else is changing. Every open is of one name beneath a folder that is held
//! open, with `O_NOFOLLOW`: no symlink, planted before or meanwhile, can lead out, on any kernel. Only
//! regular files are opened, and never in a way that waits.

use crate::domain::Mode;
use crate::plumbing::capture::Skipped;
use bstr::BString;
use rustix::fd::AsFd;
use rustix::fd::BorrowedFd;
use rustix::fd::OwnedFd;
use rustix::fs::AtFlags;
use rustix::fs::Dir;
use rustix::fs::FileType;
use rustix::fs::OFlags;
use rustix::fs::Stat;
use rustix::io::Errno;
use std::ffi::CStr;
use std::ffi::CString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Seconds and nanoseconds.
pub(super) type Time = (u32, u32);

/// What tells that a file is still the one it was, in the widths that an index keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    mtime: Time,
    ctime: Time,
    inode: u32,
    size: u32,
}

impl Stamp {
    pub(super) fn of(stat: &Stat) -> Stamp {
        Stamp {
            mtime: (stat.st_mtime as u32, stat.st_mtime_nsec as u32),
            ctime: (stat.st_ctime as u32, stat.st_ctime_nsec as u32),
            inode: stat.st_ino as u32,
            size: stat.st_size as u32,
        }
    }

    pub(super) fn of_index(stat: &gix::index::entry::Stat) -> Stamp {
        Stamp {
            mtime: (stat.mtime.secs, stat.mtime.nsecs),
            ctime: (stat.ctime.secs, stat.ctime.nsecs),
            inode: stat.ino,
            size: stat.size,
        }
    }

    /// True if a change made at `time` or later cannot have this stamp. The ctime alone decides: an mtime can
    /// be set at will, and a change always moves the ctime.
    pub(super) fn is_before(&self, time: Time) -> bool {
        self.ctime < time
    }
}

/// What stands at a name, as far as a tree can hold it.
pub(super) enum Found {
    Folder,
    Leaf(Mode),
    Special,
}

pub(super) fn found(stat: &Stat) -> Found {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Found::Folder,
        FileType::Symlink => Found::Leaf(Mode::Link),
        FileType::RegularFile if stat.st_mode & 0o100 != 0 => Found::Leaf(Mode::Executable),
        FileType::RegularFile => Found::Leaf(Mode::File),
        _ => Found::Special,
    }
}

/// What reading a name gave.
pub(super) enum Content {
    Bytes(Vec<u8>, Stat),
    Gone,
    Not(Skipped),
}

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

pub(super) fn root(path: &Path) -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(path, FOLDER, rustix::fs::Mode::empty())
}

pub(super) fn folder(parent: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(parent, name, FOLDER, rustix::fs::Mode::empty())
}

pub(super) fn list(folder: BorrowedFd<'_>) -> rustix::io::Result<Dir> {
    Dir::read_from(folder)
}

pub(super) fn stat(folder: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<Stat> {
    rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
}

/// The content of the regular file `name`, read once more if it changed meanwhile.
pub(super) fn read(folder: BorrowedFd<'_>, name: &CStr, limit: u64) -> rustix::io::Result<Content> {
    for _ in 0..2 {
        if let Some(content) = read_once(folder, name, limit)? {
            return Ok(content);
        }
    }
    Ok(Content::Not(Skipped::Raced))
}

fn read_once(folder: BorrowedFd<'_>, name: &CStr, limit: u64) -> rustix::io::Result<Option<Content>> {
    let fd = match rustix::fs::openat(folder, name, FILE, rustix::fs::Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::NOENT) => return Ok(Some(Content::Gone)),
        // It is a symlink by now.
        Err(Errno::LOOP) => return Ok(None),
        Err(Errno::NXIO) => return Ok(Some(Content::Not(Skipped::Special))),
        Err(errno) => return unreadable(errno).map(Some),
    };
    let before = match rustix::fs::fstat(&fd) {
        Ok(stat) => stat,
        Err(errno) => return unreadable(errno).map(Some),
    };
    if FileType::from_raw_mode(before.st_mode) != FileType::RegularFile {
        return Ok(Some(Content::Not(Skipped::Special)));
    }
    let size = before.st_size as u64;
    if size > limit {
        return Ok(Some(Content::Not(Skipped::TooLarge)));
    }
    let mut bytes = Vec::with_capacity(size as usize + 1);
    let mut file = File::from(fd).take(size + 1);
    if file.read_to_end(&mut bytes).is_err() {
        return Ok(Some(Content::Not(Skipped::Unreadable)));
    }
    let after = rustix::fs::fstat(file.get_ref()).ok();
    let still = after.filter(|after| bytes.len() as u64 == size && Stamp::of(&before) == Stamp::of(after));
    Ok(still.map(|stat| Content::Bytes(bytes, stat)))
}

/// The target of symlink `name`, whose stat data is `seen`.
pub(super) fn read_link(folder: BorrowedFd<'_>, name: &CStr, seen: Stat) -> rustix::io::Result<Content> {
    match rustix::fs::readlinkat(folder, name, Vec::new()) {
        Ok(target) => Ok(Content::Bytes(target.into_bytes(), seen)),
        Err(Errno::NOENT) => Ok(Content::Gone),
        Err(Errno::INVAL) => Ok(Content::Not(Skipped::Raced)),
        Err(errno) => unreadable(errno),
    }
}

/// The content of the regular file `below` the folder `root`, if no symlink leads there and it is not larger
/// than `limit`.
pub(in crate::plumbing) fn read_below(root: &Path, below: &Path, limit: u64) -> Option<Vec<u8>> {
    let mut held = self::root(root).ok()?;
    let mut names = below.iter().peekable();
    while let Some(name) = names.next() {
        let name = CString::new(name.as_bytes()).ok()?;
        if names.peek().is_some() {
            held = folder(held.as_fd(), &name).ok()?;
        } else if let Ok(Content::Bytes(bytes, _)) = read(held.as_fd(), &name, limit) {
            return Some(bytes);
        }
    }
    None
}

/// An error that says something of the file is a finding; one that says something of us is an error.
fn unreadable(errno: Errno) -> rustix::io::Result<Content> {
    if is_ours(errno) { Err(errno) } else { Ok(Content::Not(Skipped::Unreadable)) }
}

pub(super) fn is_ours(errno: Errno) -> bool {
    matches!(errno, Errno::MFILE | Errno::NFILE | Errno::NOMEM)
}

/// The ignore file `name`, if it is a regular file of a size that a person would write.
pub(super) fn read_rules(folder: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<Option<BString>> {
    const RULES: u64 = 1 << 20;
    let regular = |s: Stat| FileType::from_raw_mode(s.st_mode) == FileType::RegularFile;
    if !stat(folder, name).is_ok_and(regular) {
        return Ok(None);
    }
    Ok(match read(folder, name, RULES)? {
        Content::Bytes(bytes, _) => Some(bytes.into()),
        _ => None,
    })
}

/// The time that the kernel would give a file changed now, taken from a file without a name beside the
/// objects. Without it nothing is remembered from one capture to the next.
pub(super) fn tick(dir: &Path) -> Option<Time> {
    let file = tempfile::tempfile_in(dir).ok()?;
    let stat = rustix::fs::fstat(file.as_fd()).ok()?;
    Some(Stamp::of(&stat).ctime)
}
