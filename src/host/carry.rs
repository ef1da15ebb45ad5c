//! Copying single files from one tree into another. Both may hold links that lead anywhere: every folder on the
//! way is opened by one name beneath the one before, and no link is followed on either side.

use crate::domain::Failure;
use crate::domain::Result;
use crate::fault;
use crate::host::file::failure;
use rustix::fd::AsFd;
use rustix::fd::BorrowedFd;
use rustix::fd::OwnedFd;
use rustix::fs::Dir;
use rustix::fs::FileType;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Component;
use std::path::Path;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What became of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carried {
    Copied,
    /// Something stands there already; it is left alone.
    InTheWay,
    /// A link, or below one, or no regular file.
    NotAFile,
    Gone,
}

/// Copies the regular file `path` of tree `from` to the same place in tree `to`, with its permissions, sharing
/// its blocks where the file system can. What is there is never overwritten, and nobody waits for the disk.
pub fn carry(from: &Path, to: &Path, path: &Path) -> Result<Carried> {
    fault::file()
        .and_then(|()| copy(from, to, path, u64::MAX))
        .map_err(|e| failure("copying", &to.join(path), e))
}

/// Folders in folders that are copied, and bytes of one file: somebody else wrote them, who may mean ill.
const DEEPEST: usize = 32;
const LONGEST: u64 = 1 << 30;

/// Copies the folder `path` of tree `from`, as far as it has files and folders, to the same place in tree `to`.
pub fn carry_all(from: &Path, to: &Path, path: &Path) -> Result<()> {
    let failed = |e: Errno| failure("copying", &from.join(path), e.into());
    let folder = match walk(from, path, false) {
        Ok(folder) => folder,
        Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => return Ok(()),
        Err(errno) => return Err(failed(errno)),
    };
    walk(to, path, true).map_err(failed)?;
    if path.components().count() > DEEPEST {
        return Ok(());
    }
    for entry in Dir::read_from(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        let path = path.join(name);
        if name == "." || name == ".." {
            continue;
        }
        let done = fault::file().and_then(|()| copy(from, to, &path, LONGEST));
        if done.map_err(|e| failure("copying", &to.join(&path), e))? == Carried::NotAFile {
            carry_all(from, to, &path)?;
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path, path: &Path, most: u64) -> io::Result<Carried> {
    let (Some(name), folders) = (path.file_name(), path.parent().unwrap_or(Path::new(""))) else {
        return Ok(Carried::NotAFile);
    };
    let source = match walk(from, folders, false) {
        Ok(folder) => folder,
        Err(errno) => return sorted(errno, Carried::NotAFile),
    };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(&source, name, flags, Mode::empty()) {
        Ok(file) => file,
        Err(errno) => return sorted(errno, Carried::NotAFile),
    };
    let stat = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || stat.st_size as u64 > most {
        return Ok(Carried::NotAFile);
    }
    let target = match walk(to, folders, true) {
        Ok(folder) => folder,
        Err(errno) => return sorted(errno, Carried::InTheWay),
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let made = match rustix::fs::openat(&target, name, flags, Mode::from_raw_mode(stat.st_mode & 0o777)) {
        Ok(made) => made,
        Err(Errno::EXIST) => return Ok(Carried::InTheWay),
        Err(errno) => return Err(errno.into()),
    };
    io::copy(&mut File::from(file).take(most), &mut File::from(made))?;
    Ok(Carried::Copied)
}

/// A link or a file on the way is an answer; anything else is an error.
fn sorted(errno: Errno, blocked: Carried) -> io::Result<Carried> {
    match errno {
        Errno::NOENT => Ok(Carried::Gone),
        Errno::LOOP | Errno::NOTDIR | Errno::NXIO => Ok(blocked),
        _ => Err(errno.into()),
    }
}

/// The folder `path` below `root`; with `make` those that are missing are made.
fn walk(root: &Path, path: &Path, make: bool) -> rustix::io::Result<OwnedFd> {
    let mut at = rustix::fs::open(root, FOLDER, Mode::empty())?;
    for part in path.components() {
        let Component::Normal(name) = part else { return Err(Errno::NOTDIR) };
        at = match open(at.as_fd(), name) {
            Err(Errno::NOENT) if make => match rustix::fs::mkdirat(&at, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => open(at.as_fd(), name)?,
                Err(errno) => return Err(errno),
            },
            other => other?,
        };
    }
    Ok(at)
}

fn open(folder: BorrowedFd<'_>, name: &std::ffi::OsStr) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(folder, name, FOLDER, Mode::empty())
}

/// The bytes of the regular file at `path`; no link is followed.
pub fn read_here(root: &Path, name: &str) -> Result<Option<Vec<u8>>> {
    let path = root.join(name);
    match std::fs::symlink_metadata(&path) {
        Ok(found) if found.is_file() => crate::host::read_optional(&path),
        Ok(_) => Ok(None),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Failure::fault(format!("looking at {}", path.display()), e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::fs::symlink;

    #[test]
    fn copies_files_and_follows_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to, away) = (dir.path().join("from"), dir.path().join("to"), dir.path().join("away"));
        for folder in [&from.join("a/b"), &from.join("c"), &to, &away] {
            fs::create_dir_all(folder).unwrap();
        }
        for (file, text) in [("a/b/file", "one"), ("c/file", "two"), ("top", "three")] {
            crate::host::replace(&from.join(file), text.as_bytes()).unwrap();
        }
        fs::set_permissions(from.join("top"), fs::Permissions::from_mode(0o750)).unwrap();
        symlink(&away, to.join("c")).unwrap();
        symlink("top", from.join("link")).unwrap();
        symlink("a", from.join("linked")).unwrap();
        let carried = |path: &str| carry(&from, &to, Path::new(path)).unwrap();
        assert_eq!(carried("a/b/file"), Carried::Copied);
        assert_eq!(carried("top"), Carried::Copied);
        assert_eq!(fs::metadata(to.join("top")).unwrap().permissions().mode() & 0o700, 0o700);
        assert_eq!(carried("top"), Carried::InTheWay);
        assert_eq!(carried("c/file"), Carried::InTheWay);
        assert_eq!(fs::read_dir(&away).unwrap().count(), 0);
        for path in ["link", "linked/b/file", "a", "../from/top"] {
            assert_eq!(carried(path), Carried::NotAFile, "{path}");
        }
        assert_eq!(carried("none"), Carried::Gone);
        assert_eq!(fs::read(to.join("a/b/file")).unwrap(), b"one");
    }
}
