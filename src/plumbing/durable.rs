//! Made durable: fsync of exactly the files written and of their folders. git syncs what it writes itself
//! (`core.fsync=all`), but never the folders; gix syncs nothing.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Result;
use crate::plumbing::disk;
use crate::plumbing::objects::Objects;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;
use std::path::PathBuf;

/// How many files are synced at the same time.
const TOGETHER: usize = 2;

/// Past this many files one `syncfs` is cheaper than an fsync each.
const MANY: usize = 1000;

/// Reads back, re-hashes and syncs the loose ones among `oids`. Packed ones were synced by who packed them.
pub(super) fn objects(store: &Objects, oids: &[Oid]) -> Result<()> {
    let loose: Vec<PathBuf> = oids.iter().map(|o| store.loose_path(*o)).filter(|p| p.exists()).collect();
    for oid in oids {
        verify(store, *oid)?;
    }
    files(store.dir(), &loose)
}

/// Syncs `files` below `root`, those that are there, and then the folders that hold them, and `root`.
pub(super) fn files(root: &Path, files: &[PathBuf]) -> Result<()> {
    if files.len() > MANY {
        return file_system(root);
    }
    sync_all(&files.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
    // After the files: by then most of what the folders wait for is on the disk.
    let mut folders: BTreeSet<&Path> = files.iter().filter_map(|p| p.parent()).collect();
    if !folders.is_empty() {
        folders.insert(root);
    }
    sync_all(&folders.into_iter().collect::<Vec<_>>())
}

/// One journal commit of the file system serves all that wait for it at that moment, so they wait together.
fn sync_all(paths: &[&Path]) -> Result<()> {
    let (own, others) = paths.split_at(paths.len().div_ceil(TOGETHER));
    let all = |some: &[&Path]| some.iter().try_for_each(|p| sync(p));
    std::thread::scope(|scope| {
        let shares = others.chunks(own.len().max(1));
        let waiting: Vec<_> = shares.map(|share| scope.spawn(move || all(share))).collect();
        let joined = waiting
            .into_iter()
            .map(|w| w.join().unwrap_or_else(|_| Err(Failure::fault("syncing", "a thread died"))));
        [all(own)].into_iter().chain(joined).collect::<Result<Vec<()>>>().map(drop)
    })
}

fn verify(store: &Objects, oid: Oid) -> Result<()> {
    // It came with a fetch, which has looked at it.
    if store.is_end(oid) {
        return Ok(());
    }
    let doing = || format!("reading back object {oid}");
    let (kind, bytes) = store
        .read_stored(oid)?
        .ok_or_else(|| Failure::fault(doing(), "it is missing after it was written"))?;
    if store.rehash(kind, &bytes)? == oid {
        return Ok(());
    }
    Err(Failure::fault(doing(), "its content does not match its id"))
}

/// Syncs the folders that hold the files of `names`, up to the shared git folder.
pub(super) fn ref_folders<'n>(common: &Path, names: impl IntoIterator<Item = &'n RefName>) -> Result<()> {
    let mut folders = BTreeSet::new();
    for name in names {
        let mut folder = common.join(name.as_str());
        while folder.pop() && folder.starts_with(common) && folder != common {
            folders.insert(folder.clone());
        }
    }
    // A ref may have been deleted or packed away meanwhile, and its folder with it.
    let there: Vec<&Path> = folders.iter().map(PathBuf::as_path).filter(|f| f.exists()).collect();
    sync_all(&there)
}

/// Syncs the whole file system that holds `path`.
pub(super) fn file_system(path: &Path) -> Result<()> {
    let failed = |e: io::Error| disk::io(format!("syncing the file system of {}", path.display()), e);
    crate::fault::file().map_err(failed)?;
    let handle = File::open(path).map_err(failed)?;
    sync_file_system(&handle).map_err(failed)
}

#[cfg(target_os = "linux")]
fn sync_file_system(handle: &File) -> io::Result<()> {
    rustix::fs::syncfs(handle).map_err(io::Error::from)
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(_handle: &File) -> io::Result<()> {
    rustix::fs::sync();
    Ok(())
}

/// Syncs one file or folder.
pub(super) fn sync(path: &Path) -> Result<()> {
    let failed = |e: io::Error| disk::io(format!("syncing {}", path.display()), e);
    crate::fault::file().map_err(failed)?;
    match File::open(path) {
        Ok(file) => file.sync_all().map_err(failed),
        // Packed away by a concurrent repack, which synced it.
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(failed(e)),
    }
}
