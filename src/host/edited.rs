//! A file that a person may be writing at this moment, in any editor: read when it has come to rest, replaced only if
//! it is still what was read.

use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::quoted;
use crate::fault;
use crate::host::file::failure;
use crate::host::file::parent;
use crate::host::file::sync_dir;
use rustix::fs::CWD;
use rustix::fs::RenameFlags;
use rustix::fs::renameat_with;
use std::fs;
use std::fs::File;
use std::io;
use std::io::ErrorKind;
use std::io::Read;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

/// Between two looks at a file that is being written.
const REST: Duration = Duration::from_millis(5);

/// How long a file may stay empty or away that was not: some editors truncate first, or move the old one away, and
/// write then.
const EMPTY: Duration = Duration::from_millis(500);

/// How long a file that never rests is waited for.
const PATIENCE: Duration = Duration::from_secs(3);

/// What the file at `path` holds; `None` where there is none. If that is not what somebody wrote who is known to be
/// done, it is read until it stays the same for `rest`.
pub fn read_at_rest(path: &Path, rest: Duration, known: impl Fn(&[u8]) -> bool) -> Result<Option<Vec<u8>>> {
    let read = || match fault::file().and_then(|()| read(path)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => Err(is_link(path)),
        Err(e) => Err(failure("reading", path, e)),
    };
    let mut bytes = read()?;
    let (started, mut since) = (Instant::now(), Instant::now());
    while !bytes.as_deref().is_some_and(&known) && started.elapsed() < PATIENCE {
        let wanted = if bytes.as_deref().unwrap_or_default().is_empty() { EMPTY } else { rest };
        if since.elapsed() >= wanted {
            break;
        }
        std::thread::sleep(REST.min(wanted));
        let again = read()?;
        if again != bytes {
            (bytes, since) = (again, Instant::now());
        }
    }
    Ok(bytes)
}

/// Puts `new` beside `path`, with the permissions of the file there, on the disk. The second half of a replacement is
/// [`swap`].
pub fn lay_beside(path: &Path, beside: &Path, new: &[u8]) -> Result<()> {
    let mode = fs::metadata(path).map_err(|e| failure("reading", path, e))?.permissions();
    if mode.mode() & 0o222 == 0 {
        return Err(read_only(path));
    }
    refuse_unless_plain(path, beside)?;
    let laid = fault::file().and_then(|()| {
        // Never through a link, and not into a file that has another name, too.
        forget(beside)?;
        let mut file = File::create_new(beside)?;
        file.set_permissions(mode)?;
        file.write_all(new)?;
        file.sync_all()
    });
    laid.map_err(|e| failure("writing", beside, e))
}

/// Puts what lies beside in the place of `path`, if that still holds `seen`; then what was there goes. False if it
/// holds something else, and stays. Nothing that is written meanwhile is lost: the two change places in one step, and
/// what comes out is looked at.
pub fn swap(path: &Path, beside: &Path, seen: &[u8]) -> Result<bool> {
    let failed = |e| failure("replacing", path, e);
    let done = exchange(path, beside, seen)?;
    if done {
        fault::file().and_then(|()| forget(beside)).map_err(failed)?;
    }
    Ok(done)
}

/// The same, and what was there stays beside.
pub fn exchange(path: &Path, beside: &Path, seen: &[u8]) -> Result<bool> {
    let failed = |e| failure("replacing", path, e);
    fault::file().map_err(failed)?;
    match read(path) {
        Ok(now) if now == seen => {}
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(failed(e)),
        // Or it is away: some editors move it before they write a new one.
        _ => return Ok(false),
    }
    match renameat_with(CWD, path, CWD, beside, RenameFlags::EXCHANGE) {
        Ok(()) => {}
        Err(rustix::io::Errno::NOENT) if !path.exists() => return Ok(false),
        // This file system knows no such step.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP) => {
            fs::rename(beside, path).map_err(failed)?;
            return sync_dir(parent(path)).map(|()| true);
        }
        Err(e) => return Err(failed(e.into())),
    }
    fault::point("document: swapped");
    if !read(beside).is_ok_and(|was| was == seen) {
        renameat_with(CWD, path, CWD, beside, RenameFlags::EXCHANGE).map_err(|e| failed(e.into()))?;
        return Ok(false);
    }
    sync_dir(parent(path)).map(|()| true)
}

/// What the file itself holds, and nothing that it leads to.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    File::options().read(true).custom_flags(flags).open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn forget(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// What a replacement of `path` that died left beside it. A repository may bring anything of that name along: what is
/// no plain file is neither followed nor touched.
pub fn left_beside(path: &Path, beside: &Path) -> Result<Option<Vec<u8>>> {
    refuse_unless_plain(path, beside)?;
    match fault::file().and_then(|()| read(beside)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(failure("reading", beside, e)),
    }
}

fn refuse_unless_plain(path: &Path, beside: &Path) -> Result<()> {
    if fs::symlink_metadata(beside).is_ok_and(|found| !found.is_file()) {
        return Err(Refusal::new(
            Token::FileExists,
            format!("{} is no plain file, and a new {} would lie there", beside.display(), path.display()),
        )
        .show(format!("ls -ld {}", quoted(beside)))
        .next("move it away, then try again; nothing was written")
        .into());
    }
    Ok(())
}

/// Where the new text of a file lies until it takes its place.
pub fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    path.with_file_name(format!(".{name}.skein~"))
}

fn is_link(path: &Path) -> crate::domain::Failure {
    Refusal::new(Token::OutsideWorktree, format!("{} has become a link", path.display()))
        .show(format!("ls -l {}", quoted(path)))
        .next("give the file that it leads to; nothing was written")
        .into()
}

fn read_only(path: &Path) -> crate::domain::Failure {
    Refusal::new(Token::ReadOnly, format!("{} may not be written", path.display()))
        .show(format!("ls -l {}", quoted(path)))
        .next("allow writing to it, then try again; nothing was written")
        .into()
}
