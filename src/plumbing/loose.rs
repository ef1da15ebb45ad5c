//! Refs of the files backend, read in process. A ref that cannot be read is a failure, never absent.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::quoted;
use crate::plumbing::objects::oid_of;
use crate::plumbing::refs::Ref;
use bstr::ByteSlice;
use gix::refs::Target;
use gix::refs::file::Store;
use gix::refs::file::find::ReferenceDecode;
use std::fmt::Display;
use std::path::Path;
use std::time::Duration;
use std::time::SystemTime;

/// A listing that crossed a `pack-refs` or a deletion is made again; so often at most.
const TRIES: u32 = 20;

const PAUSE: Duration = Duration::from_micros(500);

fn store(common: &Path, hash: gix::hash::Kind) -> Store {
    Store::at(common.to_owned(), hash)
}

fn failed(what: &str, e: impl Display) -> Failure {
    Failure::fault(format!("reading {what}"), e)
}

/// Git lists all but such a ref, and takes no command on it: only a person can mend it.
fn unread(store: &Store, what: &str, e: &gix::Error) -> Failure {
    let Some(ReferenceDecode { relative_path }) = e.downcast_any_ref() else { return failed(what, e) };
    let (name, dir) = (relative_path.display().to_string(), store.git_dir());
    let (file, log) = (dir.join(relative_path), dir.join("logs").join(relative_path));
    let made = format!("git update-ref {} <commit>", quoted(&name));
    Refusal::new(Token::RefBroken, format!("the file of {name} holds no object id"))
        .lines([file.display().to_string()])
        .show(format!("git for-each-ref {}", quoted(&name)))
        .next(format!(
            "move that file away, then {made}; where it was is in {}, if it has a log",
            log.display()
        ))
        .into()
}

/// See [`crate::plumbing::Repo::refs`].
pub(super) fn list(common: &Path, hash: gix::hash::Kind, prefixes: &[&str]) -> Result<Vec<Ref>> {
    settled(common, || list_once(common, hash, prefixes))
}

/// What `look` finds when nobody packs or deletes refs meanwhile.
fn settled<T>(common: &Path, look: impl Fn() -> Result<T>) -> Result<T> {
    let mut found = Err(failed("the refs", "they are packed over and over"));
    for tried in 1..=TRIES {
        let before = stamp(common);
        let now = look();
        // A ref that is packed meanwhile is in neither the old packed file nor among the loose ones.
        let same = stamp(common) == before;
        if same && now.is_ok() {
            return now;
        }
        // A file that was listed may be gone when it is opened: packed before we looked, or deleted.
        if same {
            found = now;
            std::thread::sleep(PAUSE * tried);
        }
    }
    found
}

fn stamp(common: &Path) -> Option<(u64, SystemTime, u64)> {
    use std::os::unix::fs::MetadataExt;
    let meta = common.join("packed-refs").metadata().ok()?;
    Some((meta.len(), meta.modified().ok()?, meta.ino()))
}

/// Each ref is a file of its own to open, so the first prefix is listed beside the others.
pub(super) fn list_once(common: &Path, hash: gix::hash::Kind, prefixes: &[&str]) -> Result<Vec<Ref>> {
    let below = |prefixes: &[&str]| -> Result<Vec<Ref>> {
        let store = store(common, hash);
        let found = items(&store, prefixes)?.into_iter().map(|item| resolve(&store, item));
        Ok(found.collect::<Result<Vec<Option<Ref>>>>()?.into_iter().flatten().collect())
    };
    let mut found = match prefixes {
        [first, others @ ..] if !others.is_empty() => std::thread::scope(|scope| {
            let apart = scope.spawn(|| below(&[first]));
            let mut found = below(others)?;
            found.extend(apart.join().unwrap_or_else(|_| Err(failed("the refs", "a thread died")))?);
            Ok::<Vec<Ref>, Failure>(found)
        })?,
        _ => below(prefixes)?,
    };
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found.dedup_by(|a, b| a.name == b.name);
    Ok(found)
}

/// See [`crate::plumbing::Repo::dangling`].
pub(super) fn dangling(common: &Path, hash: gix::hash::Kind, prefixes: &[&str]) -> Result<Vec<RefName>> {
    settled(common, || {
        let store = store(common, hash);
        let mut found = Vec::new();
        for item in items(&store, prefixes)? {
            let name = RefName::new(item.name.as_bstr().to_str_lossy())?;
            if resolve(&store, item)?.is_none() {
                found.push(name);
            }
        }
        Ok(found)
    })
}

fn find(store: &Store, name: &str) -> Result<Option<gix::refs::Reference>> {
    store.try_find(name).map_err(|e| unread(store, name, &e))
}

/// What stands below `prefixes`, in no order and some of it twice.
fn items(store: &Store, prefixes: &[&str]) -> Result<Vec<gix::refs::Reference>> {
    let platform = store.iter().map_err(|e| failed("packed refs", e))?;
    let mut found = Vec::new();
    for prefix in prefixes {
        let below = format!("{prefix}/");
        let path: &gix::path::RelativePath =
            below.as_bytes().try_into().map_err(|e: gix::Error| failed(prefix, e))?;
        for item in platform.prefixed(path).map_err(|e| failed(prefix, e))? {
            found.push(item.map_err(|e| unread(store, prefix, &e))?);
        }
        // The prefix itself may be a ref.
        let itself = find(store, prefix)?;
        found.extend(itself.filter(|item| item.name.as_bstr() == prefix));
    }
    Ok(found)
}

/// Follows a symbolic ref to its object; one that points at nothing is left out, as git does.
fn resolve(store: &Store, item: gix::refs::Reference) -> Result<Option<Ref>> {
    let name = RefName::new(item.name.as_bstr().to_str_lossy())?;
    let mut points_at = None;
    let mut target = item.target;
    for _ in 0..5 {
        match target {
            Target::Object(oid) => return Ok(Some(Ref { name, oid: oid_of(&oid), points_at })),
            Target::Symbolic(next) => {
                if points_at.is_none() {
                    points_at = Some(RefName::new(next.as_bstr().to_str_lossy())?);
                }
                let found = store.try_find(next.as_ref()).map_err(|e| unread(store, name.as_str(), &e))?;
                let Some(found) = found else { return Ok(None) };
                target = found.target;
            }
        }
    }
    Err(failed(name.as_str(), "it is symbolic too many times over"))
}

/// See [`crate::plumbing::Repo::read_refs`].
pub(super) fn read(common: &Path, hash: gix::hash::Kind, names: &[&RefName]) -> Result<Vec<Option<Oid>>> {
    let store = store(common, hash);
    let one = |name: &&RefName| -> Result<Option<Oid>> {
        let found = find(&store, name.as_str())?;
        // Packed between the look at the loose file and the one at the packed file: look once more.
        let found = match found {
            None => find(&self::store(common, hash), name.as_str())?,
            some => some,
        };
        let found = found.filter(|f| f.name.as_bstr() == name.as_str());
        Ok(found.map(|item| resolve(&store, item)).transpose()?.flatten().map(|r| r.oid))
    };
    names.iter().map(one).collect()
}
