//! What a checkout holds of its own, told from stat data alone.

use crate::domain::Change;
use crate::domain::Entry;
use crate::plumbing::capture::birth::index_at;
use crate::plumbing::capture::birth::mode_of;
use crate::plumbing::capture::disk;
use crate::plumbing::capture::disk::Found;
use crate::plumbing::capture::disk::Stamp;
use crate::plumbing::repo::Repo;
use crate::plumbing::worktree::Admin;
use bstr::BStr;
use bstr::BString;
use bstr::ByteSlice;
use gix::index::entry::Flags;
use gix::index::entry::Stage;
use rustix::fd::AsFd;
use rustix::fd::OwnedFd;
use std::ffi::CString;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

impl Repo {
    /// True if index and working tree have the old side of each of `changes` beyond doubt. On any doubt
    /// `false`: only git can tell, by reading the files.
    pub fn is_untouched(&self, admin: &Admin, changes: &[Change]) -> bool {
        let Ok((index, written)) = index_at(&admin.dir.join("index"), &self.objects) else { return false };
        let Ok(root) = disk::root(&admin.path) else { return false };
        changes.iter().all(|change| match change.old {
            None => index.entry_by_path(change.path.as_ref()).is_none(),
            Some(old) => holds(&index, written, &root, &change.path, old),
        })
    }

    /// Files that git is told not to look at, and that are not as the index of the worktree knows them. What is not
    /// there is left out where git was told that it need not be.
    pub fn hidden(&self, admin: &Admin) -> Vec<BString> {
        let Some(index) = self.whole_index(&admin.dir.join("index")) else { return Vec::new() };
        let Ok(root) = disk::root(&admin.path) else { return Vec::new() };
        let is_there = |path: &BStr| admin.path.join(OsStr::from_bytes(path)).symlink_metadata().is_ok();
        let changed = |entry: &&gix::index::Entry| match found(&root, entry.path(&index)) {
            Some((_, stamp)) => stamp != Stamp::of_index(&entry.stat),
            None => entry.flags.contains(Flags::ASSUME_VALID) || is_there(entry.path(&index)),
        };
        let unseen = Flags::ASSUME_VALID | Flags::SKIP_WORKTREE;
        let hidden = index.entries().iter().filter(|entry| entry.flags.intersects(unseen)).filter(changed);
        hidden.map(|entry| entry.path(&index).to_owned()).collect()
    }
}

fn holds(index: &gix::index::File, written: disk::Time, root: &OwnedFd, path: &BString, old: Entry) -> bool {
    let Some(entry) = index.entry_by_path_and_stage(path.as_ref(), Stage::Unconflicted) else { return false };
    let stamp = Stamp::of_index(&entry.stat);
    mode_of(entry.mode) == Some(old.0)
        && entry.id.as_bytes() == old.1.as_bytes()
        && !entry.flags.intersects(Flags::SKIP_WORKTREE | Flags::INTENT_TO_ADD)
        && stamp.is_before(written)
        && found(root, path.as_ref()) == Some((old.0, stamp))
}

/// What stands at `path`, if no symbolic link leads there.
pub(super) fn found(root: &OwnedFd, path: &BStr) -> Option<(crate::domain::Mode, Stamp)> {
    let mut held: Option<OwnedFd> = None;
    let mut names = path.split_str("/").peekable();
    while let Some(name) = names.next() {
        let name = CString::new(name).ok()?;
        let folder = held.as_ref().unwrap_or(root).as_fd();
        if names.peek().is_some() {
            held = Some(disk::folder(folder, &name).ok()?);
            continue;
        }
        let stat = disk::stat(folder, &name).ok()?;
        let Found::Leaf(mode) = disk::found(&stat) else { return None };
        return Some((mode, Stamp::of(&stat)));
    }
    None
}
