//! The checkout as it was made, from a copy of its index: what a file's stat data has to be for its content
//! to be still the one that was checked out.

use crate::domain::Entry;
use crate::domain::Failure;
use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::Result;
use crate::plumbing::capture::disk::Stamp;
use crate::plumbing::capture::disk::Time;
use crate::plumbing::capture::folders_of;
use crate::plumbing::objects::Objects;
use crate::plumbing::objects::oid_of;
use bstr::BStr;
use bstr::BString;
use bstr::ByteSlice;
use std::collections::HashMap;
use std::collections::HashSet;
use std::path::Path;

struct Born {
    entry: Entry,
    /// `None` if the file may have changed after it was looked at: it must be read.
    stamp: Option<Stamp>,
    /// How large it was when it was checked out.
    size: u32,
    /// Not checked out at all (skip-worktree).
    sparse: bool,
}

/// The entries of the index at birth.
#[derive(Default)]
pub struct Birth {
    entries: HashMap<BString, Born>,
    /// Folders of which nothing was checked out.
    outside: HashSet<BString>,
}

impl Birth {
    /// No checkout is known: everything is read once.
    pub fn none() -> Birth {
        Birth::default()
    }

    /// From `index_copy`, a copy of the worktree's index that was made after the checkout and before the
    /// worker ran: nothing that happened after the copy's own mtime can hide behind an older stat.
    pub fn read(index_copy: &Path, objects: &Objects) -> Result<Birth> {
        let (index, written) = index_at(index_copy, objects)?;
        let mut birth = Birth::default();
        for entry in index.entries() {
            let path = entry.path(&index);
            if entry.mode.is_sparse() {
                birth.outside.insert(path.trim_end_with(|c| c == '/').into());
                continue;
            }
            let Some(mode) = mode_of(entry.mode) else { continue };
            let stamp = Stamp::of_index(&entry.stat);
            // A null id marks an intent to add, a stage a conflict: neither says what is on the disk.
            let trusted = entry.stage_raw() == 0 && !entry.id.is_null() && stamp.is_before(written);
            let sparse = entry.flags.contains(gix::index::entry::Flags::SKIP_WORKTREE);
            let (size, stamp) = (entry.stat.size, trusted.then_some(stamp));
            let born = Born { entry: (mode, oid_of(&entry.id)), stamp, size, sparse };
            birth.entries.insert(path.to_owned(), born);
        }
        birth.find_outside();
        Ok(birth)
    }

    /// A folder is outside when all that the index has below it is.
    fn find_outside(&mut self) {
        let mut inside: HashSet<&BStr> = HashSet::new();
        let mut sparse: HashSet<&BStr> = HashSet::new();
        for (path, born) in &self.entries {
            let set = if born.sparse { &mut sparse } else { &mut inside };
            set.extend(folders_of(path.as_bstr()));
        }
        self.outside.extend(sparse.difference(&inside).map(|folder| (*folder).to_owned()));
    }

    pub(super) fn is_none(&self) -> bool {
        self.entries.is_empty() && self.outside.is_empty()
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &BString> {
        self.entries.keys()
    }

    pub(super) fn entry(&self, path: &BStr) -> Option<Entry> {
        self.entries.get(path).map(|born| born.entry)
    }

    /// The entry of a file that still has the mode and the stamp it was born with.
    pub(super) fn unchanged(&self, path: &BStr, mode: Mode, stamp: Stamp) -> Option<Entry> {
        let born = self.entries.get(path)?;
        (born.stamp == Some(stamp) && born.entry.0 == mode).then_some(born.entry)
    }

    /// Whether a file of `size` bytes may be blob `oid` as it was checked out at `path`.
    pub(super) fn checked_out(&self, path: &BStr, oid: Oid, size: usize) -> bool {
        let born = self.entries.get(path);
        born.is_some_and(|born| born.entry.1 == oid && !born.sparse && born.size as usize == size)
    }

    /// True if `path` was left out of the checkout, or lies in a folder that was: its absence means nothing.
    pub(super) fn outside(&self, path: &BStr) -> bool {
        match self.entries.get(path) {
            Some(born) => born.sparse,
            None => !self.outside.is_empty() && folders_of(path).any(|folder| self.outside.contains(folder)),
        }
    }
}

/// An index, and when its file was written.
pub(in crate::plumbing) fn index_at(path: &Path, objects: &Objects) -> Result<(gix::index::File, Time)> {
    let index = gix::index::File::at(path, objects.hash, false, gix::index::decode::Options::default())
        .map_err(|e| Failure::fault(format!("reading the index {}", path.display()), e))?;
    let written = index.timestamp();
    let written = (written.unix_seconds() as u32, written.nanoseconds());
    Ok((index, written))
}

pub(super) fn mode_of(mode: gix::index::entry::Mode) -> Option<Mode> {
    match mode {
        gix::index::entry::Mode::FILE => Some(Mode::File),
        gix::index::entry::Mode::FILE_EXECUTABLE => Some(Mode::Executable),
        gix::index::entry::Mode::SYMLINK => Some(Mode::Link),
        gix::index::entry::Mode::COMMIT => Some(Mode::Gitlink),
        _ => None,
    }
}
