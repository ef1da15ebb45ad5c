//! Files that survive a power cut: whole or not at all, and on the disk before the call returns. Each
//! durable step first crosses the failpoint `file`, so that a sweep can strike between any two of them.

use crate::domain::Failure;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::quoted;
use crate::fault;
use std::fs;
use std::fs::File;
use std::fs::Permissions;
use std::io;
use std::io::ErrorKind;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

/// How often a removal is tried again when something was written into the tree meanwhile.
const REMOVALS: u32 = 3;

/// What an error on a path means: a refusal when the disk is full or may not be written, else a fault.
/// `doing` is followed by the path: "writing".
pub fn failure(doing: &str, path: &Path, error: io::Error) -> Failure {
    let what = format!("{doing} {}", path.display());
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Refusal::new(Token::NoSpace, format!("no space is left for {what}"))
                .show(format!("df -h {}", quoted(nearest(path))))
                .next("free some space there and run the command again")
                .into()
        }
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => {
            Refusal::new(Token::ReadOnly, format!("not allowed: {what} ({error})"))
                .show(format!("ls -ld {}", quoted(nearest(path))))
                .next("give this user access to it and run the command again")
                .into()
        }
        _ => Failure::fault(what, error),
    }
}

/// `path` without `.` and `..`, and without symlinks as far as it exists.
pub fn resolved(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(found.pop()),
            _ => {
                found.push(part);
                // One step at a time, so that `..` behind a link leads where the system would go.
                found = fs::canonicalize(&found).unwrap_or(found);
            }
        }
    }
    found
}

/// Puts `bytes` at `path` in one step. The permissions of a file there are kept, a symlink there is
/// replaced, not followed. After a failure `path` holds the old bytes or the new, never a mixture.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    replace_by(parent(path), path, bytes)
}

/// The same for a file that is to be executed, whatever permissions the one there has: by way of the folder `way`, if
/// that is on the same file system, so that who is killed leaves nothing beside it.
pub fn replace_program(way: &Path, path: &Path, bytes: &[u8]) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let device = |dir: &Path| fs::metadata(dir).map(|meta| meta.dev()).ok();
    let beside = parent(path);
    let way = if device(way) == device(beside) { way } else { beside };
    let whole =
        |file: &File| file.set_permissions(Permissions::from_mode(0o755)).and_then(|()| file.sync_all());
    write_beside(path, way, bytes, 0o755, whole).map_err(|e| failure("writing", path, e))?;
    sync_dir(beside)
}

/// Gives a file, or a symlink as such, a second name in the same folder; moves it there where a file can have only one.
pub fn name_again(from: &Path, to: &Path) -> Result<()> {
    fault::file()
        .and_then(|()| fs::hard_link(from, to))
        .or_else(|e| match e.kind() {
            ErrorKind::Unsupported | ErrorKind::PermissionDenied if fs::symlink_metadata(to).is_err() => {
                fs::rename(from, to)
            }
            _ => Err(e),
        })
        .map_err(|e| failure("setting aside", from, e))?;
    sync_dir(parent(to))
}

/// The same by way of a folder in which nobody else replaces anything now: what killed ones left there goes.
pub fn replace_by_way_of(way: &Path, path: &Path, bytes: &[u8]) -> Result<()> {
    remove_left(way)?;
    replace_by(way, path, bytes)
}

fn replace_by(way: &Path, path: &Path, bytes: &[u8]) -> Result<()> {
    write_beside(path, way, bytes, 0o666, File::sync_all).map_err(|e| failure("writing", path, e))?;
    sync_dir(parent(path))
}

/// Makes a file at `path` of what `fill` writes, whole or not at all, and tells its length; `None` if something is
/// there already.
pub fn create(path: &Path, fill: impl FnOnce(File) -> Result<()>) -> Result<Option<u64>> {
    let failed = |e| failure("writing", path, e);
    if fs::symlink_metadata(path).is_ok() {
        return Ok(None);
    }
    fault::file().map_err(failed)?;
    // Without a name as long as it is not whole, where the system knows such files: who dies leaves nothing.
    let unnamed = unnamed(parent(path));
    let named = match &unnamed {
        Some(_) => None,
        None => Some(
            tempfile::Builder::new()
                .prefix(BESIDE)
                .suffix(".tmp")
                .permissions(Permissions::from_mode(0o666))
                .tempfile_in(parent(path))
                .map_err(failed)?,
        ),
    };
    let Some(file) = unnamed.as_ref().or(named.as_ref().map(|temp| temp.as_file())) else { return Ok(None) };
    fill(file.try_clone().map_err(failed)?)?;
    file.sync_all().map_err(failed)?;
    let len = file.metadata().map_err(failed)?.len();
    fault::file().map_err(failed)?;
    let placed = match named {
        Some(temp) => temp.persist_noclobber(path).map(drop).map_err(|e| e.error),
        None => name(file, path),
    };
    match placed {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => return Ok(None),
        placed => placed.map_err(failed)?,
    }
    sync_dir(parent(path))?;
    Ok(Some(len))
}

#[cfg(target_os = "linux")]
fn unnamed(dir: &Path) -> Option<File> {
    use rustix::fs::Mode;
    use rustix::fs::OFlags;
    let open = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let there = Path::new(OPEN_FILES).exists();
    there.then(|| rustix::fs::open(dir, open, Mode::from_raw_mode(0o666)).ok()).flatten().map(File::from)
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_: &Path) -> Option<File> {
    None
}

/// Where a file without a name can be reached.
const OPEN_FILES: &str = "/proc/self/fd";

/// Gives a name to a file that has none.
fn name(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::AtFlags;
    use rustix::fs::CWD;
    use std::os::fd::AsRawFd;
    let from = format!("{OPEN_FILES}/{}", file.as_raw_fd());
    rustix::fs::linkat(CWD, from, CWD, path, AtFlags::SYMLINK_FOLLOW).map_err(io::Error::from)
}

/// Removes what writers left half-written in `dir`. One that still writes there fails.
pub fn remove_left(dir: &Path) -> Result<()> {
    for left in fs::read_dir(dir).into_iter().flatten().flatten() {
        if left.file_name().as_encoded_bytes().starts_with(BESIDE.as_bytes()) {
            fs::remove_file(left.path()).map_err(|e| failure("removing", &left.path(), e))?;
        }
    }
    Ok(())
}

/// As [`replace`] for what only this machine needs, and only until its power goes: private, and nobody waits
/// for the disk.
pub fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    write_beside(path, parent(path), bytes, 0o600, |_| Ok(())).map_err(|e| failure("writing", path, e))
}

/// Adds `bytes` to the end of a private file in one write, for what only this machine needs.
pub fn add_to(path: &Path, bytes: &[u8]) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let added = fault::file().and_then(|()| {
        let mut file = File::options().append(true).create(true).mode(0o600).open(path)?;
        file.write_all(bytes)
    });
    added.map_err(|e| failure("writing", path, e))
}

/// What the names of half-written files begin with.
const BESIDE: &str = ".skein-";

fn write_beside(
    path: &Path,
    dir: &Path,
    bytes: &[u8],
    mode: u32,
    sync: fn(&File) -> io::Result<()>,
) -> io::Result<()> {
    fault::file()?;
    let mut temp = tempfile::Builder::new()
        .prefix(BESIDE)
        .suffix(".tmp")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(dir)?;
    if let Ok(old) = fs::symlink_metadata(path)
        && old.is_file()
    {
        temp.as_file().set_permissions(old.permissions())?;
    }
    temp.write_all(bytes)?;
    sync(temp.as_file())?;
    fault::file()?;
    temp.persist(path).map_err(|e| e.error)?;
    Ok(())
}

/// Brings the names in a directory onto the disk.
pub fn sync_dir(path: &Path) -> Result<()> {
    let synced = fault::file().and_then(|()| File::open(path)).and_then(|dir| dir.sync_all());
    match synced {
        // Some network file systems cannot sync a directory and say so; they do it at every change.
        Err(e) if e.kind() == ErrorKind::InvalidInput => Ok(()),
        other => other.map_err(|e| failure("syncing", path, e)),
    }
}

/// Makes a directory and those above it that are missing, each on the disk before the next.
pub fn make_dir(path: &Path) -> Result<()> {
    let failed = |e| failure("making the directory", path, e);
    let missing: Vec<&Path> =
        path.ancestors().take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists()).collect();
    for dir in missing.into_iter().rev() {
        match fault::file().and_then(|()| fs::create_dir(dir)) {
            Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(failed(e)),
            _ => sync_dir(parent(dir))?,
        }
    }
    if path.is_dir() { Ok(()) } else { Err(failed(ErrorKind::NotADirectory.into())) }
}

/// The bytes of a file, or `None` where there is no file.
pub fn read_optional(path: &Path) -> Result<Option<Vec<u8>>> {
    match fault::file().and_then(|()| fs::read(path)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if is_missing(&e) => Ok(None),
        Err(e) => Err(failure("reading", path, e)),
    }
}

/// When a file was written last, in seconds since 1970, if there is one.
pub fn written_at(path: &Path) -> Option<i64> {
    let at = fs::metadata(path).and_then(|file| file.modified()).ok()?;
    i64::try_from(at.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs()).ok()
}

/// Removes whatever is at `path` with all that it holds. Symlinks are removed, never followed; a missing
/// path is fine.
pub fn remove_tree(path: &Path) -> Result<()> {
    let removed = fault::file()
        .and_then(|()| fs::symlink_metadata(path))
        .and_then(|found| if found.is_dir() { remove_dir(path) } else { fs::remove_file(path) });
    match removed {
        Ok(()) => sync_dir(parent(path)),
        Err(e) if is_missing(&e) => Ok(()),
        Err(e) => Err(failure("removing", path, e)),
    }
}

/// Moves a file or folder to a free name in the same folder.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    fault::file().and_then(|()| fs::rename(from, to)).map_err(|e| failure("moving", from, e))?;
    sync_dir(parent(to))
}

fn remove_dir(path: &Path) -> io::Result<()> {
    for _ in 1..REMOVALS {
        match fs::remove_dir_all(path) {
            Err(e) if e.kind() == ErrorKind::DirectoryNotEmpty => {}
            other => return other,
        }
    }
    fs::remove_dir_all(path)
}

pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

pub(super) fn parent(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The path itself or the first one above it that can be seen, so that the shown command has an answer.
fn nearest(path: &Path) -> &Path {
    path.ancestors().find(|dir| dir.exists()).unwrap_or(Path::new("."))
}

/// Copies the files of folder `from`, and of those in it, that are no larger than `limit`. A link stays a link.
pub fn copy_files(from: &Path, to: &Path, limit: u64) -> Result<()> {
    let failed = |e| failure("copying", from, e);
    make_dir(to)?;
    for entry in std::fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (kind, to) = (entry.file_type().map_err(failed)?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_files(&entry.path(), &to, limit)?;
        } else if kind.is_symlink() {
            let target = std::fs::read_link(entry.path()).map_err(failed)?;
            std::os::unix::fs::symlink(target, to).map_err(failed)?;
        } else if kind.is_file() && entry.metadata().is_ok_and(|m| m.len() <= limit) {
            std::fs::copy(entry.path(), to).map_err(failed)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;
    use std::os::unix::fs::symlink;

    fn names(dir: &Path) -> Vec<String> {
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn replaces_and_reads() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("record");
        assert_eq!(read_optional(&path).unwrap(), None);
        assert_eq!(read_optional(&path.join("below")).unwrap(), None);
        replace(&path, b"one").unwrap();
        assert_eq!(read_optional(&path.join("below a file")).unwrap(), None);
        replace(&path, b"two").unwrap();
        assert_eq!(read_optional(&path).unwrap().unwrap(), b"two");
        assert_eq!(names(dir.path()), ["record"]);
    }

    #[test]
    fn replacing_keeps_the_mode_and_replaces_a_symlink() {
        let dir = tempfile::tempdir().unwrap();
        let (path, link) = (dir.path().join("tool"), dir.path().join("link"));
        replace(&path, b"old").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o600, 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o751)).unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o751);
        symlink(&path, &link).unwrap();
        replace(&link, b"own").unwrap();
        assert_eq!(read_optional(&path).unwrap().unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_file());
    }

    #[test]
    fn makes_and_syncs_directories() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b/c");
        make_dir(&deep).unwrap();
        make_dir(&deep).unwrap();
        assert!(deep.is_dir());
        replace(&deep.join("file"), b"").unwrap();
        assert!(matches!(make_dir(&deep.join("file")), Err(Failure::Fault(_))));
        assert!(make_dir(&deep.join("file/below")).is_err());
    }

    #[test]
    fn removing_follows_no_symlink() {
        let dir = tempfile::tempdir().unwrap();
        let (kept, tree) = (dir.path().join("kept"), dir.path().join("tree"));
        make_dir(&kept).unwrap();
        replace(&kept.join("file"), b"here").unwrap();
        make_dir(&tree.join("sub")).unwrap();
        symlink(&kept, tree.join("sub/link")).unwrap();
        remove_tree(&tree).unwrap();
        remove_tree(&tree).unwrap();
        symlink(&kept, &tree).unwrap();
        remove_tree(&tree).unwrap();
        assert_eq!(names(dir.path()), ["kept"]);
        assert!(kept.join("file").exists());
        remove_tree(&kept.join("file")).unwrap();
        remove_tree(&kept.join("file")).unwrap();
        assert!(names(&kept).is_empty());
    }

    #[test]
    fn full_and_forbidden_disks_are_recognised() {
        let path = Path::new("/tmp/no such place/it's");
        let refused = |errno: Errno| match failure("writing", path, errno.into()) {
            Failure::Refusal(refusal) => *refusal,
            Failure::Fault(fault) => panic!("{fault:?}"),
        };
        let full = refused(Errno::NOSPC);
        assert_eq!((full.token, full.show.as_str()), (Token::NoSpace, "df -h /tmp"));
        assert!(full.says.contains("writing /tmp/no such place/it's"));
        assert_eq!(refused(Errno::DQUOT).token, Token::NoSpace);
        let denied = refused(Errno::ROFS);
        assert_eq!((denied.token, denied.show.as_str()), (Token::ReadOnly, "ls -ld /tmp"));
        assert_eq!(refused(Errno::ACCESS).token, Token::ReadOnly);
        assert!(matches!(failure("writing", path, Errno::IO.into()), Failure::Fault(_)));
        assert_eq!(quoted(path), r"'/tmp/no such place/it'\''s'");
    }
}
