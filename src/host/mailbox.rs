//! Files that processes hand each other: a request is renamed into a folder, and a reply is awaited in another
//! one. The folder is hostile to who reads it: nothing but small regular files is opened, no link is followed,
//! and nothing there can make the reader wait. Who wrote a request holds a lock on it; whose lock that is, the
//! kernel says.

use crate::domain::Failure;
use crate::domain::Result;
use crate::host::file::failure;
use rustix::fd::AsFd;
use rustix::fd::BorrowedFd;
use rustix::fs::AtFlags;
use rustix::fs::Dir;
use rustix::fs::FileType;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use std::ffi::CStr;
use std::fs::File;
use std::io::Read;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// What the names of requests and replies end with.
const KIND: &str = ".json";

/// So many are read at once; the next look finds the others.
const AT_ONCE: usize = 256;

/// So many names are looked at, whatever they are.
const NAMES: usize = 10_000;

/// A request that waits for its reply. It counts only as long as this is held.
#[derive(Debug)]
pub struct Posted {
    _file: File,
}

/// Puts a request called `name` into `outbox`.
pub fn post(outbox: &Path, name: &str, bytes: &[u8]) -> Result<Posted> {
    let (draft, path) = (outbox.join(format!(".{name}")), outbox.join(format!("{name}{KIND}")));
    let posted = || -> std::io::Result<File> {
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(bytes)?;
        file.lock()?;
        std::fs::rename(&draft, &path)?;
        Ok(file)
    };
    posted().map(|file| Posted { _file: file }).map_err(|e| failure("posting", &path, e))
}

/// The reply to the request called `name`, if it is there.
pub fn reply_to(replies: &Path, name: &str) -> Result<Option<Vec<u8>>> {
    crate::host::read_optional(&replies.join(format!("{name}{KIND}")))
}

/// Puts the reply to the request called `name`.
pub fn reply(replies: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    crate::host::put(&replies.join(format!("{name}{KIND}")), bytes)
}

/// Takes a reply away that nobody needs any more.
pub fn withdraw(replies: &Path, name: &str) {
    let _ = std::fs::remove_file(replies.join(format!("{name}{KIND}")));
}

/// A request that was found.
#[derive(Debug)]
pub struct Found {
    pub name: String,
    /// Its bytes, or why they are none.
    pub content: std::result::Result<Vec<u8>, String>,
    /// Who waits for the reply.
    pub caller: Option<u32>,
}

/// Takes the requests of at most `limit` bytes each out of `outbox`, the oldest first. What else lies there goes.
pub fn collect(outbox: &Path, limit: u64) -> Result<Vec<Found>> {
    let failed = |e: rustix::io::Errno| failure("looking into", outbox, e.into());
    let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = rustix::fs::open(outbox, folder, Mode::empty()).map_err(failed)?;
    let mut names = Vec::new();
    for entry in Dir::read_from(&held).map_err(failed)?.take(NAMES) {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_owned();
        match called(&name) {
            Some(called) => names.push((called, name)),
            None if name.to_bytes().starts_with(b".") => {}
            None => remove(held.as_fd(), &name),
        }
    }
    names.sort_unstable();
    names.truncate(AT_ONCE);
    let mut found = Vec::new();
    for (called, name) in names {
        let opened = open(held.as_fd(), &name, limit);
        let caller = opened.as_ref().ok().and_then(|(file, _)| holder(file));
        remove(held.as_fd(), &name);
        found.push(Found { name: called, content: opened.map(|(_, bytes)| bytes), caller });
    }
    Ok(found)
}

/// The name of a request, if a file has one that we would give.
pub(super) fn called(name: &CStr) -> Option<String> {
    let name = name.to_str().ok()?.strip_suffix(KIND)?;
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (!name.is_empty() && name.len() <= 100 && name.chars().all(fine)).then(|| name.to_owned())
}

fn open(folder: BorrowedFd<'_>, name: &CStr, limit: u64) -> std::result::Result<(File, Vec<u8>), String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(|e| e.to_string())?;
    let regular = |mode| FileType::from_raw_mode(mode) == FileType::RegularFile;
    // Even opening a device may do something.
    if !regular(stat.st_mode) {
        return Err("it is no regular file".to_owned());
    }
    let fd = rustix::fs::openat(folder, name, flags, Mode::empty()).map_err(|e| e.to_string())?;
    let stat = rustix::fs::fstat(&fd).map_err(|e| e.to_string())?;
    if !regular(stat.st_mode) || stat.st_nlink != 1 {
        return Err("it is no regular file of its own".to_owned());
    }
    let mut file = File::from(fd);
    let mut bytes = Vec::new();
    (&mut file).take(limit + 1).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    if bytes.len() as u64 > limit {
        return Err(format!("it has more than {limit} bytes"));
    }
    Ok((file, bytes))
}

fn remove(folder: BorrowedFd<'_>, name: &CStr) {
    if rustix::fs::unlinkat(folder, name, AtFlags::empty()).is_err() {
        let _ = rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR);
    }
}

/// The process that holds a lock on the whole of `file`, as the kernel lists it.
#[cfg(target_os = "linux")]
pub(super) fn holder(file: &File) -> Option<u32> {
    let stat = rustix::fs::fstat(file).ok()?;
    let (major, minor) = (rustix::fs::major(stat.st_dev), rustix::fs::minor(stat.st_dev));
    let here = format!("{major:02x}:{minor:02x}:{}", stat.st_ino);
    let inode = format!(":{}", stat.st_ino);
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let found: Vec<(u32, &str)> = locks
        .lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            // One that only waits for a lock has an arrow in its line.
            let [_, "FLOCK", _, "WRITE", pid, place, ..] = words[..] else { return None };
            place.ends_with(&inode).then_some((pid.parse().ok()?, place))
        })
        .collect();
    // Some file systems list another device than a file of theirs says.
    let exact = found.iter().find(|(_, place)| *place == here);
    exact.or(found.first()).map(|(pid, _)| *pid)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn holder(_file: &File) -> Option<u32> {
    None
}

/// A folder for requests or replies, for nobody but this user.
pub fn open_box(path: &Path) -> Result<()> {
    crate::host::make_dir(path)?;
    rustix::fs::chmod(path, Mode::RWXU).map_err(|e| Failure::fault(format!("closing {}", path.display()), e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_a_caller_as_long_as_it_waits() {
        let dir = tempfile::tempdir().unwrap();
        let posted = post(dir.path(), "1-a", b"one").unwrap();
        drop(post(dir.path(), "2-b", b"two").unwrap());
        let found = collect(dir.path(), 10).unwrap();
        let names: Vec<&str> = found.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["1-a", "2-b"]);
        assert_eq!(found[0].content.as_deref(), Ok(&b"one"[..]));
        assert_eq!(found[1].caller, None);
        if cfg!(target_os = "linux") {
            assert_eq!(found[0].caller, Some(std::process::id()));
        }
        drop(posted);
        assert!(collect(dir.path(), 10).unwrap().is_empty());
    }

    #[test]
    fn what_is_no_request_goes_and_is_never_waited_for() {
        let (dir, away) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| dir.path().join(name);
        crate::host::put(&at("big.json"), &[b'x'; 11]).unwrap();
        crate::host::put(&at("other"), b"x").unwrap();
        crate::host::put(&away.path().join("kept"), b"x").unwrap();
        std::fs::hard_link(away.path().join("kept"), at("linked.json")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("link.json")).unwrap();
        let made = rustix::fs::mknodat(rustix::fs::CWD, at("pipe.json"), FileType::Fifo, Mode::RWXU, 0);
        made.unwrap();
        std::fs::create_dir_all(at("folder.json/below")).unwrap();
        let found = collect(dir.path(), 10).unwrap();
        assert_eq!(found.len(), 5);
        assert!(found.iter().all(|f| f.content.is_err() && f.caller.is_none()), "{found:?}");
        let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["folder.json"]);
    }
}
