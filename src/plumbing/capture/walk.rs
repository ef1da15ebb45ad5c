//! One walk over a working tree: which names count, and what stands at each.

use crate::domain::Entry;
use crate::domain::Failure;
use crate::domain::MAX_PATH;
use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::folded;
use crate::domain::is_dot_git;
use crate::domain::is_dot_gitmodules;
use crate::plumbing::capture::Base;
use crate::plumbing::capture::Birth;
use crate::plumbing::capture::Captured;
use crate::plumbing::capture::Limits;
use crate::plumbing::capture::Skipped;
use crate::plumbing::capture::disk;
use crate::plumbing::capture::disk::Content;
use crate::plumbing::capture::disk::Found;
use crate::plumbing::capture::disk::Stamp;
use crate::plumbing::capture::disk::Time;
use crate::plumbing::capture::folders_of;
use crate::plumbing::capture::holds;
use crate::plumbing::capture::rules::Depth;
use crate::plumbing::capture::rules::Rules;
use crate::plumbing::capture::untouched::found as standing;
use crate::plumbing::objects::Objects;
use bstr::BStr;
use bstr::BString;
use bstr::ByteSlice;
use rustix::fd::AsFd;
use rustix::fd::BorrowedFd;
use rustix::fd::OwnedFd;
use rustix::fs::Stat;
use rustix::io::Errno;
use std::collections::HashMap;
use std::collections::HashSet;
use std::ffi::CStr;
use std::ffi::CString;

/// The state of one walk. What it found is in `found`, `kept`, `skipped` and `ignored_new`.
pub(super) struct Walk<'w> {
    pub(super) objects: &'w Objects,
    pub(super) birth: &'w Birth,
    pub(super) base: &'w Base,
    pub(super) limits: &'w Limits,
    pub(super) rules: Rules,
    pub(super) tick: Option<Time>,
    pub(super) known: &'w mut HashMap<BString, Known>,
    pub(super) reads: &'w mut u64,
    pub(super) found: HashMap<BString, Entry>,
    /// Paths, and folders with all below them, that stay as they are in the base unless they were found.
    pub(super) kept: HashSet<BString>,
    pub(super) skipped: Vec<(BString, Skipped)>,
    pub(super) ignored_new: Vec<BString>,
    pub(super) counted: usize,
    pub(super) bytes: u64,
}

/// What a file was when it was read.
pub(super) struct Known {
    stamp: Stamp,
    mode: Mode,
    /// The blob of its bytes, which need not be written.
    raw: Oid,
    /// The one that it was checked out from, if that is another.
    blob: Option<Oid>,
}

/// Whether all that is new below a folder is ignored: now, and by the rules at birth.
#[derive(Clone, Copy)]
struct Hidden {
    now: bool,
    born: bool,
}

impl Walk<'_> {
    /// Walks the whole tree. Returns the paths of the base that are not there any more.
    pub(super) fn run(&mut self, root: &OwnedFd) -> Result<Vec<BString>> {
        let names = disk::list(root.as_fd()).map_err(|e| Failure::fault("listing the working tree", e))?;
        self.folder(root.as_fd(), names, b"".into(), 0, Hidden { now: false, born: false })?;
        self.look_again(root)
    }

    /// Everything below the open folder `fd`. `prefix` is empty or ends with a slash.
    fn folder(
        &mut self,
        fd: BorrowedFd<'_>,
        mut names: rustix::fs::Dir,
        prefix: &BStr,
        depth: usize,
        hidden: Hidden,
    ) -> Result<()> {
        let mark = self.enter(fd, prefix, hidden)?;
        let mut folders: Vec<CString> = Vec::new();
        while let Some(entry) = names.read() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(errno) if prefix.is_empty() => return Err(ours(b".".into(), errno)),
                Err(_) => {
                    // What else is here cannot be known.
                    self.skip(prefix.trim_end_with(|c| c == '/').into(), Skipped::Unreadable)?;
                    break;
                }
            };
            let name = entry.file_name();
            let path = join(prefix, name);
            if self.counts(&path, name, prefix.is_empty(), hidden)? && self.name(fd, name, &path, hidden)? {
                folders.push(name.to_owned());
            }
        }
        // Names are looked at while they are listed, folders after it: one descriptor is held per level.
        drop(names);
        folders.sort_unstable();
        for name in folders {
            self.below(fd, &name, join(prefix, &name), depth + 1, hidden)?;
        }
        self.rules.leave(mark);
        Ok(())
    }

    /// Takes in the ignore file of a folder, and the one it had at birth.
    fn enter(&mut self, fd: BorrowedFd<'_>, prefix: &BStr, hidden: Hidden) -> Result<Depth> {
        let path = join(prefix, c".gitignore");
        if hidden.now {
            return Ok(self.rules.enter(prefix, None, None));
        }
        let now = disk::read_rules(fd, c".gitignore").map_err(|e| ours(path.as_bstr(), e))?;
        let entry = match self.birth.is_none() {
            true => self.base.entries.get(&path).copied(),
            false => self.birth.entry(path.as_bstr()),
        };
        let born = match entry {
            Some((Mode::File | Mode::Executable, oid)) => match &now {
                Some(bytes) if self.objects.hash_blob(bytes)? == oid => now.clone(),
                _ => Some(BString::from(self.objects.blob(oid)?)),
            },
            _ => None,
        };
        // As git does: a rule file that a sparse checkout left out still counts.
        let now = if now.is_none() && self.birth.outside(path.as_bstr()) { born.clone() } else { now };
        Ok(self.rules.enter(prefix, now.as_ref(), born.as_ref()))
    }

    /// True if `name` is one that a tree could hold. One that it could not is skipped and named.
    fn counts(&mut self, path: &BString, name: &CStr, at_root: bool, hidden: Hidden) -> Result<bool> {
        let bytes = name.to_bytes();
        if matches!(bytes, b"." | b"..") || at_root && bytes == b".git" {
            return Ok(false);
        }
        if hidden.now && !self.tracks(path) && !self.base.folders.contains(path) {
            return Ok(false);
        }
        if is_dot_git(bytes.as_bstr()) || path.len() > MAX_PATH {
            self.skip(path.clone(), Skipped::BadName)?;
            return Ok(false);
        }
        Ok(true)
    }

    /// Looks at one name, and captures it if it is a leaf. True if it is a folder, which comes later.
    fn name(&mut self, fd: BorrowedFd<'_>, name: &CStr, path: &BString, hidden: Hidden) -> Result<bool> {
        let stat = match disk::stat(fd, name) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(false),
            Err(_) => return self.skip(path.clone(), Skipped::Unreadable).map(|()| false),
        };
        let found = disk::found(&stat);
        if matches!(found, Found::Folder) {
            return Ok(true);
        }
        if !self.tracks(path) && self.ignored(path, false, hidden).now {
            return Ok(false);
        }
        match found {
            Found::Leaf(mode) => self.leaf(fd, name, path, mode, &stat)?,
            // Not kept: what the commit has here is gone.
            _ => self.tell(path.clone(), Skipped::Special)?,
        }
        Ok(false)
    }

    /// Captures one file or symlink.
    fn leaf(
        &mut self,
        fd: BorrowedFd<'_>,
        name: &CStr,
        path: &BString,
        mode: Mode,
        stat: &Stat,
    ) -> Result<()> {
        if mode == Mode::Link && is_dot_gitmodules(name.to_bytes().as_bstr()) {
            return self.skip(path.clone(), Skipped::BadName);
        }
        let stamp = Stamp::of(stat);
        let size = stat.st_size as u64;
        if let Some(entry) = self.unchanged(path, mode, stamp) {
            return self.take(path, entry, size);
        }
        if size > self.limits.file_bytes {
            return self.skip(path.clone(), Skipped::TooLarge);
        }
        let content = match mode {
            Mode::Link => disk::read_link(fd, name, *stat),
            _ => disk::read(fd, name, self.limits.file_bytes),
        };
        *self.reads += 1;
        let (bytes, stat) = match content.map_err(|e| ours(path.as_bstr(), e))? {
            Content::Bytes(bytes, stat) => (bytes, stat),
            Content::Gone => return Ok(()),
            Content::Not(Skipped::Special) => return self.tell(path.clone(), Skipped::Special),
            Content::Not(why) => return self.skip(path.clone(), why),
        };
        let Found::Leaf(mode) = disk::found(&stat) else { return self.tell(path.clone(), Skipped::Special) };
        let raw = self.objects.hash_blob(&bytes)?;
        let blob = self.checked_out(path, &bytes, raw)?;
        let entry = (mode, blob.unwrap_or(raw));
        self.take(path, entry, bytes.len() as u64)?;
        let has = |known: Option<Entry>| known.is_some_and(|(_, oid)| oid == entry.1);
        if !has(self.base.entries.get(path).copied()) && !has(self.birth.entry(path.as_bstr())) {
            self.objects.write_blob(&bytes)?;
        }
        let stamp = Stamp::of(&stat);
        // A file changed again within this tick could have the same stamp.
        match self.tick {
            Some(tick) if stamp.is_before(tick) => {
                self.known.insert(path.clone(), Known { stamp, mode, raw, blob })
            }
            _ => self.known.remove(path),
        };
        Ok(())
    }

    /// The blob that the commit has at `path`, if `bytes`, whose own is `raw`, are what it was checked out as.
    fn checked_out(&self, path: &BString, bytes: &[u8], raw: Oid) -> Result<Option<Oid>> {
        let there = self.base.entries.get(path).map(|(_, there)| *there).filter(|there| *there != raw);
        let Some(there) = there.filter(|oid| self.birth.checked_out(path.as_bstr(), *oid, bytes.len()))
        else {
            return Ok(None);
        };
        match without_cr(bytes) {
            Some(text) if self.objects.hash_blob(&text)? == there => Ok(Some(there)),
            _ => Ok(None),
        }
    }

    /// What is known of a file without reading it. A blob that is not of its bytes counts beside the commit that
    /// has it, and nowhere else.
    fn unchanged(&self, path: &BString, mode: Mode, stamp: Stamp) -> Option<Entry> {
        let here = |entry: Entry| self.base.entries.get(path) == Some(&entry);
        let Some(known) = self.known.get(path) else {
            return self.birth.unchanged(path.as_bstr(), mode, stamp).filter(|born| here(*born));
        };
        let oid = known.blob.filter(|blob| here((mode, *blob))).unwrap_or(known.raw);
        // The blob may be gone: no ref has to hold what was captured last time.
        (known.stamp == stamp && known.mode == mode && self.objects.exists(oid)).then_some((mode, oid))
    }

    /// Goes into folder `path`, unless there is a reason not to.
    fn below(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &CStr,
        path: BString,
        depth: usize,
        hidden: Hidden,
    ) -> Result<()> {
        if let Some(entry) = self.base.entries.get(&path).filter(|entry| entry.0 == Mode::Gitlink) {
            self.found.insert(path, *entry);
            return Ok(());
        }
        let hidden = self.ignored(&path, true, hidden);
        if !self.base.folders.contains(&path) {
            if hidden.now {
                return Ok(());
            }
            self.count()?;
        }
        if depth > self.limits.depth {
            return self.skip(path, Skipped::TooLarge);
        }
        let opened =
            disk::folder(parent, name).and_then(|fd| disk::list(fd.as_fd()).map(|names| (fd, names)));
        match opened {
            Ok((fd, names)) => {
                let mut prefix = path;
                prefix.push(b'/');
                self.folder(fd.as_fd(), names, prefix.as_bstr(), depth, hidden)
            }
            Err(Errno::NOENT) => Ok(()),
            Err(Errno::NOTDIR | Errno::LOOP) => self.skip(path, Skipped::Raced),
            Err(errno) if disk::is_ours(errno) => Err(ours(path.as_bstr(), errno)),
            Err(_) => self.skip(path, Skipped::Unreadable),
        }
    }

    /// Whether a new `path` is ignored; what only today's rules hide is noted, once, where hiding begins.
    fn ignored(&mut self, path: &BString, is_folder: bool, above: Hidden) -> Hidden {
        let now = above.now || self.rules.ignores(path.as_bstr(), is_folder);
        let ask_born = is_folder || now && !above.now;
        let born = above.born || ask_born && self.rules.ignored_at_birth(path.as_bstr(), is_folder);
        if now && !above.now && !born && self.ignored_new.len() < Captured::IGNORED_NAMED {
            let mut named = path.clone();
            if is_folder {
                named.push(b'/');
            }
            self.ignored_new.push(named);
        }
        Hidden { now, born }
    }

    fn tracks(&self, path: &BString) -> bool {
        self.base.entries.contains_key(path) || self.birth.entry(path.as_bstr()).is_some()
    }

    /// Notes what stands at `path`.
    fn take(&mut self, path: &BString, entry: Entry, size: u64) -> Result<()> {
        if self.base.entries.get(path) != Some(&entry) {
            self.count()?;
            self.bytes = self.bytes.saturating_add(size);
            if self.bytes > self.limits.total_bytes {
                return Err(self.too_large(format!(
                    "the changed files have more than {} bytes",
                    self.limits.total_bytes
                )));
            }
        }
        self.found.insert(path.clone(), entry);
        Ok(())
    }

    fn count(&mut self) -> Result<()> {
        self.counted += 1;
        if self.counted > self.limits.files {
            return Err(self.too_large(format!("more than {} files and folders changed", self.limits.files)));
        }
        Ok(())
    }

    fn too_large(&self, says: String) -> Failure {
        Refusal::new(Token::TooLarge, says)
            .show("git status --short --untracked-files=all")
            .next("remove what was generated, or name it in .gitignore")
            .into()
    }

    /// Names what was left out.
    fn tell(&mut self, path: BString, why: Skipped) -> Result<()> {
        self.skipped.push((path, why));
        self.count()
    }

    /// Names what could not be looked at; what the base has there stays.
    fn skip(&mut self, path: BString, why: Skipped) -> Result<()> {
        self.kept.insert(path.clone());
        self.tell(path, why)
    }

    /// Looks by name for what the lists did not show: a file that is replaced by a rename while its folder is
    /// listed can be missing from the list, and must not become a deletion. Returns what is really gone.
    pub(super) fn look_again(&mut self, root: &OwnedFd) -> Result<Vec<BString>> {
        let base = self.base;
        let mut missing: Vec<(&BString, &Entry)> = base
            .entries
            .iter()
            .filter(|(path, _)| !self.found.contains_key(*path) && !self.birth.outside(path.as_bstr()))
            .filter(|(path, _)| !holds(&self.kept, path))
            .collect();
        missing.sort_unstable();
        let new = self.found.keys().filter(|path| !base.entries.contains_key(*path));
        let new: HashMap<BString, BString> = match missing.is_empty() {
            true => HashMap::new(),
            false => new.map(|path| (folded(path.as_bstr()), path.clone())).collect(),
        };
        let mut gone: HashSet<BString> = HashSet::new();
        for (path, (mode, _)) in &missing {
            let renamed = new.get(&folded(path.as_bstr()));
            if renamed.is_some_and(|new| is_one_file(root, path.as_bstr(), new.as_bstr())) {
                continue;
            }
            if *mode != Mode::Gitlink && !folders_of(path.as_bstr()).any(|folder| gone.contains(folder)) {
                self.look_for(root, path, &mut gone)?;
            }
        }
        let still = |path: &BString| !self.found.contains_key(path) && !holds(&self.kept, path);
        Ok(missing.into_iter().map(|(path, _)| path).filter(|path| still(path)).cloned().collect())
    }

    /// Captures `path` if it is there after all; else the folder that is not there joins `gone`.
    fn look_for(&mut self, root: &OwnedFd, path: &BString, gone: &mut HashSet<BString>) -> Result<()> {
        let mut held: Option<OwnedFd> = None;
        for (start, end) in spans(path) {
            // The base is a worker's tree, its names may lead anywhere.
            let name = &path[start..end];
            let Ok(name) = CString::new(name) else { return Ok(()) };
            if matches!(name.to_bytes(), b"" | b"." | b"..") || is_dot_git(name.to_bytes().as_bstr()) {
                return Ok(());
            }
            let fd = held.as_ref().unwrap_or(root).as_fd();
            if end == path.len() {
                return match disk::stat(fd, &name).map(|stat| (disk::found(&stat), stat)) {
                    Ok((Found::Leaf(mode), stat)) => self.leaf(fd, &name, path, mode, &stat),
                    Ok(_) | Err(Errno::NOENT) => Ok(()),
                    Err(_) => self.skip(path.clone(), Skipped::Unreadable),
                };
            }
            match disk::folder(fd, &name) {
                Ok(next) => held = Some(next),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                    gone.insert(path[..end].into());
                    return Ok(());
                }
                Err(errno) if disk::is_ours(errno) => return Err(ours(path.as_bstr(), errno)),
                Err(_) => return self.skip(path[..end].into(), Skipped::Unreadable),
            }
        }
        Ok(())
    }
}

/// Whether two names are those of one file: where case is folded, one that was renamed stands at both.
fn is_one_file(root: &OwnedFd, old: &BStr, new: &BStr) -> bool {
    let at = |path: &BStr| standing(root, path);
    at(old).is_some() && at(old) == at(new)
}

/// Text with LF for CRLF, if every line ends with CRLF.
fn without_cr(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = bytes.replace("\r\n", "\n");
    let ends = bytes.len() - text.len();
    let lines = bytes.find_iter("\n").count();
    (ends > 0 && ends == lines).then_some(text)
}

/// Where each component of `path` begins and ends.
fn spans(path: &BString) -> impl Iterator<Item = (usize, usize)> {
    let ends = path.find_iter(b"/").chain([path.len()]);
    ends.scan(0, |start, end| Some((std::mem::replace(start, end + 1), end)))
}

fn join(prefix: &BStr, name: &CStr) -> BString {
    let mut path = BString::from(prefix);
    path.extend_from_slice(name.to_bytes());
    path
}

/// An error that says something of this process, not of the tree.
fn ours(path: &BStr, errno: Errno) -> Failure {
    Failure::fault(format!("reading {path} of the working tree"), errno)
}
