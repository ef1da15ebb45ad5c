//! What an error of the file system below git's folders means: a full disk and missing rights are refusals.

use crate::domain::Failure;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::plumbing::store::Withheld;
use rustix::fs::Mode;
use rustix::fs::OFlags;
use std::fmt::Display;
use std::io;
use std::io::ErrorKind;
use std::io::Read;
use std::path::Path;

/// `doing` failed by an error of `kind`, if one is known.
pub(super) fn failure(doing: impl Into<String>, kind: Option<ErrorKind>, cause: impl Display) -> Failure {
    let doing = doing.into();
    match kind {
        Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
            Refusal::new(Token::NoSpace, format!("no space is left for {doing}: {cause}"))
                .show("git count-objects -v -H")
                .next("make room, then give the same command again")
                .into()
        }
        Some(ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied) => {
            Refusal::new(Token::ReadOnly, format!("not allowed: {doing}: {cause}"))
                .show("git rev-parse --git-common-dir")
                .next("give this user write access to that folder; reading verbs still work")
                .into()
        }
        _ => Failure::fault(doing, cause),
    }
}

pub(super) fn io(doing: impl Into<String>, error: io::Error) -> Failure {
    failure(doing, Some(error.kind()), error)
}

/// What is not there is removed already.
pub(super) fn gone(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|e| match e.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(()),
        _ => Err(e),
    })
}

/// The bytes of a file. A worker may have put a pipe in its place, and that holds nobody up.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = std::fs::File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is no file"));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The bytes of a file; none where there is no file.
pub(super) fn read_optional(path: &Path) -> Result<Option<Vec<u8>>> {
    match read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(Failure::fault(format!("reading {}", path.display()), e)),
    }
}

/// Removes the folders between `root` and what stood at `path` that are empty without it.
pub(super) fn remove_emptied(path: &Path, root: &Path) {
    let mut above = path.ancestors().skip(1).take_while(|dir| *dir != root);
    while above.next().is_some_and(|dir| std::fs::remove_dir(dir).is_ok()) {}
}

/// gix says what it was doing; the error of the system is somewhere below.
pub(super) fn gix(doing: impl Into<String>, error: gix::Error) -> Failure {
    if let Some(withheld) = error.downcast_any_ref::<Withheld>() {
        return missing(&doing.into(), withheld);
    }
    failure(doing, error.downcast_any_ref::<io::Error>().map(io::Error::kind), error)
}

/// A partial clone cannot have what it was promised.
fn missing(doing: &str, cause: impl Display) -> Failure {
    Refusal::new(Token::ObjectsMissing, format!("this partial clone lacks what it needs for {doing}"))
        .lines([cause.to_string()])
        .show("git rev-list --objects --missing=print --all")
        .next("make its remote reachable, then give the same command again")
        .into()
}

/// git ended with these words. The C library's texts for errors of the system are fixed by `LC_ALL=C`.
pub(super) fn git(doing: impl Into<String>, words: &str) -> Failure {
    if let Some(line) = words.lines().find(|line| line.contains("from promisor remote")) {
        return missing(&doing.into(), line);
    }
    let known = [
        ("No space left on device", ErrorKind::StorageFull),
        ("Disk quota exceeded", ErrorKind::QuotaExceeded),
        ("Permission denied", ErrorKind::PermissionDenied),
        ("Read-only file system", ErrorKind::ReadOnlyFilesystem),
    ];
    let kind = known.iter().find(|(text, _)| words.contains(text)).map(|(_, kind)| *kind);
    failure(doing, kind, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_a_refusal_whoever_says_it() {
        let token = |failure: Failure| match failure {
            Failure::Refusal(refusal) => Some(refusal.token),
            Failure::Fault(_) => None,
        };
        assert_eq!(token(io("x", ErrorKind::StorageFull.into())), Some(Token::NoSpace));
        assert_eq!(token(io("x", ErrorKind::ReadOnlyFilesystem.into())), Some(Token::ReadOnly));
        assert_eq!(token(io("x", ErrorKind::Other.into())), None);
        assert_eq!(token(git("x", "fatal: sha1 file: No space left on device")), Some(Token::NoSpace));
        assert_eq!(token(git("x", "error: could not lock: Permission denied")), Some(Token::ReadOnly));
        assert_eq!(token(git("x", "fatal: bad object")), None);
        let below = gix::Error::from_error(io::Error::from(ErrorKind::PermissionDenied));
        assert_eq!(token(gix("x", below)), Some(Token::ReadOnly));
    }
}
