//! Objects of the repository, read and written in process. The store is opened by its folder alone, so
//! no configuration, attribute, replacement or graft of the repository can change what is read.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::Result;
use crate::plumbing::collection::Newborn;
use crate::plumbing::disk;
use crate::plumbing::known::Known;
use crate::plumbing::object_file::ObjectFiles;
use crate::plumbing::store::Lack;
use crate::plumbing::store::Store;
use bstr::BStr;
use bstr::BString;
use bstr::ByteSlice;
use gix::objs::Exists;
use gix::objs::Find;
use gix::objs::Write;
use gix::odb::store::init::Slots;
use sha2::Digest;
use std::cell::OnceCell;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::path::PathBuf;
use std::rc::Rc;

/// The odb type behind [`Objects`]: reads the store, writes to it or, for a scratch, to memory.
pub(super) type Odb = gix::odb::memory::Proxy<Store>;

/// Bytes kept of delta bases and of decoded objects.
const PACK_CACHE: usize = 16 << 20;
const OBJECT_CACHE: usize = 64 << 20;

/// Bytes that a disk has or has not, at the least.
const BLOCK: usize = 512;

/// Places for packs, which a store has from its opening on: others add many while a verb runs.
const PACKS: Slots = Slots::AsNeededByDiskState { multiplier: 2.0, minimum: 2048 };

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Blob,
    Tree,
    Commit,
    Tag,
}

impl From<gix::objs::Kind> for Kind {
    fn from(kind: gix::objs::Kind) -> Kind {
        match kind {
            gix::objs::Kind::Blob => Kind::Blob,
            gix::objs::Kind::Tree => Kind::Tree,
            gix::objs::Kind::Commit => Kind::Commit,
            gix::objs::Kind::Tag => Kind::Tag,
        }
    }
}

/// A commit as plain data. `author` and `committer` are the raw header lines `Name <mail> seconds zone`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub tree: Oid,
    pub parents: Vec<Oid>,
    pub author: BString,
    pub committer: BString,
    pub encoding: Option<BString>,
    pub message: BString,
}

impl Commit {
    /// By one person, who wrote it and made the commit, `at` seconds since the epoch; `who` is `Name <mail>`.
    pub fn by(who: &str, at: i64, tree: Oid, parents: Vec<Oid>, message: impl Into<BString>) -> Commit {
        let line = BString::from(format!("{who} {at} +0000"));
        Commit {
            tree,
            parents,
            author: line.clone(),
            committer: line,
            encoding: None,
            message: message.into(),
        }
    }

    /// The first line of the message.
    pub fn subject(&self) -> &BStr {
        self.message.lines().next().unwrap_or_default().as_bstr()
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut raw = format!("tree {}\n", self.tree).into_bytes();
        for parent in &self.parents {
            raw.extend_from_slice(format!("parent {parent}\n").as_bytes());
        }
        let mut header = |name: &str, value: &BString| {
            raw.extend_from_slice(name.as_bytes());
            raw.extend_from_slice(value);
            raw.push(b'\n');
        };
        header("author ", &self.author);
        header("committer ", &self.committer);
        if let Some(encoding) = &self.encoding {
            header("encoding ", encoding);
        }
        raw.push(b'\n');
        raw.extend_from_slice(&self.message);
        raw
    }
}

/// Where a commit comes from.
#[derive(Debug)]
pub(super) struct Past {
    pub tree: Oid,
    pub parents: Vec<Oid>,
    pub time: i64,
}

/// The objects of one repository.
pub struct Objects {
    pub(super) odb: Odb,
    pub(super) hash: gix::hash::Kind,
    dir: PathBuf,
    files: ObjectFiles,
    /// What is written stays in memory.
    in_memory: bool,
    lack: Rc<Lack>,
    written: RefCell<Vec<Oid>>,
    pub(super) newborn: RefCell<Newborn>,
    known: Known,
    pasts: Rc<RefCell<HashMap<Oid, Rc<Past>>>>,
    /// Our failure on its way through a callback of gix, which knows only its own.
    carried: RefCell<Option<Failure>>,
}

impl Objects {
    /// Opens the store at `dir` (an `objects` folder) of a whole repository; see [`Objects::lacking`].
    #[cfg(any(test, feature = "bench", feature = "fuzz"))]
    pub fn open(dir: &Path, format: &str) -> Result<Objects> {
        Objects::lacking(dir, format, Lack::default())
    }

    /// Opens the store at `dir`, which borrows all that it has from others.
    pub(super) fn through(dir: &Path, format: &str) -> Result<Objects> {
        Objects::lacking(dir, format, Lack::default())
    }

    /// Opens the store at `dir` (an `objects` folder) of a repository in the object format `format`, `sha1`
    /// or `sha256`.
    pub(super) fn lacking(dir: &Path, format: &str, lack: Lack) -> Result<Objects> {
        let lack = Rc::new(lack);
        let hash = match format {
            "sha256" => gix::hash::Kind::Sha256,
            _ => gix::hash::Kind::Sha1,
        };
        Ok(Objects {
            odb: store(dir, hash, &lack)?.with_write_passthrough(),
            hash,
            dir: dir.to_owned(),
            files: ObjectFiles::default(),
            in_memory: false,
            lack,
            written: RefCell::default(),
            newborn: RefCell::default(),
            known: Known::default(),
            pasts: Rc::default(),
            carried: RefCell::default(),
        })
    }

    /// The same objects, but what is written stays in memory: for questions that must leave no trace.
    pub fn scratch(&self) -> Result<Objects> {
        Ok(Objects {
            odb: gix::odb::memory::Proxy::new(self.odb.again(), self.hash),
            hash: self.hash,
            dir: self.dir.clone(),
            files: ObjectFiles::default(),
            in_memory: true,
            lack: Rc::clone(&self.lack),
            written: RefCell::default(),
            newborn: RefCell::default(),
            known: Known::default(),
            pasts: Rc::clone(&self.pasts),
            carried: RefCell::default(),
        })
    }

    /// `sha1` or `sha256`.
    pub fn format(&self) -> &'static str {
        if self.hash == gix::hash::Kind::Sha256 { "sha256" } else { "sha1" }
    }

    pub fn is_commit(&self, oid: Oid) -> bool {
        let header = gix::objs::FindHeader::try_header(&self.odb, &id(oid));
        header.is_ok_and(|found| found.is_some_and(|found| found.kind == gix::objs::Kind::Commit))
    }

    pub fn exists(&self, oid: Oid) -> bool {
        self.odb.exists(&id(oid))
    }

    /// The same as the disk says from now on. What is open of a pack that somebody has removed since says otherwise.
    pub(super) fn on_disk(&self) -> impl Fn(Oid) -> bool {
        let opened = OnceCell::new();
        move |oid| {
            let packs = || opened.get_or_init(|| store(&self.dir, self.hash, &self.lack).ok());
            self.loose_path(oid).exists() || packs().as_ref().is_some_and(|odb| odb.exists(&id(oid)))
        }
    }

    /// How many bytes the object has, by its header; `None` if the store lacks it.
    pub fn size(&self, oid: Oid) -> Result<Option<u64>> {
        let header = gix::objs::FindHeader::try_header(&self.odb, &id(oid));
        Ok(header
            .map_err(|e| disk::gix(format!("reading the header of {oid}"), e))?
            .map(|header| header.size))
    }

    /// Whether the object is here, or came when it was asked for.
    pub(super) fn can_have(&self, oid: Oid) -> Result<bool> {
        Ok(self.exists(oid) || self.lack.origin.is_some() && self.try_read(oid)?.is_some())
    }

    /// Whether nothing is cut off, and nothing left with another store.
    pub fn is_whole(&self) -> bool {
        self.lack.ends.is_empty() && self.lack.origin.is_none()
    }

    /// Whether a shallow clone ends at this commit: it is not read as it is stored.
    pub(super) fn is_end(&self, oid: Oid) -> bool {
        self.lack.is_end(oid)
    }

    /// The object's kind and bytes, or `None` if the store lacks it.
    pub fn try_read(&self, oid: Oid) -> Result<Option<(Kind, Vec<u8>)>> {
        if let Some(known) = self.known.get(oid, |kind, bytes| is(oid, kind, bytes) && self.exists(oid)) {
            return Ok(Some(known));
        }
        let found = self.read_stored(oid)?;
        if let Some((kind, bytes)) = &found {
            self.known.see(oid, *kind, bytes);
        }
        Ok(found)
    }

    /// Lets the objects in `file`, written by an earlier command, spare reading the store.
    pub fn lean_on(&mut self, file: Vec<u8>) {
        self.known = Known::parse(file);
    }

    /// Does `work`, and remembers what it reads for [`Objects::worth_keeping`].
    pub fn remembering<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = self.known.remember(true);
        let done = work();
        self.known.remember(before);
        done
    }

    /// The file to [lean on](Objects::lean_on) next time, if it would spare enough.
    pub fn worth_keeping(&self) -> Option<Vec<u8>> {
        self.known.file()
    }

    /// The same as [`Objects::try_read`] from the store and nowhere else.
    pub(super) fn read_stored(&self, oid: Oid) -> Result<Option<(Kind, Vec<u8>)>> {
        let mut bytes = Vec::new();
        let found = self
            .odb
            .try_find(&id(oid), &mut bytes)
            .map_err(|e| disk::gix(format!("reading object {oid}"), e))?
            .map(|data| data.kind.into());
        Ok(found.map(|kind| (kind, bytes)))
    }

    fn read(&self, oid: Oid, want: Kind) -> Result<Vec<u8>> {
        match self.try_read(oid)? {
            Some((kind, bytes)) if kind == want => Ok(bytes),
            Some((kind, _)) => Err(Failure::fault(
                format!("reading object {oid}"),
                format!("it is a {kind:?}, not a {want:?}"),
            )),
            None => Err(Failure::fault(format!("reading object {oid}"), "the object is missing")),
        }
    }

    pub fn blob(&self, oid: Oid) -> Result<Vec<u8>> {
        self.read(oid, Kind::Blob)
    }

    /// The raw bytes of a tree.
    pub fn tree(&self, oid: Oid) -> Result<Vec<u8>> {
        if oid == self.empty_tree() {
            return Ok(Vec::new());
        }
        self.read(oid, Kind::Tree)
    }

    pub fn commit(&self, oid: Oid) -> Result<Commit> {
        let bytes = self.read(oid, Kind::Commit)?;
        let commit = gix::objs::CommitRef::from_bytes(&bytes, self.hash)
            .map_err(|e| Failure::fault(format!("reading commit {oid}"), e))?;
        Ok(Commit {
            tree: oid_of(&commit.tree()),
            parents: commit.parents().map(|p| oid_of(&p)).collect(),
            author: commit.author.to_owned(),
            committer: commit.committer.to_owned(),
            encoding: commit.encoding.map(ToOwned::to_owned),
            message: commit.message.to_owned(),
        })
    }

    /// When commit `oid` was made, by its committer's clock.
    pub fn time_of(&self, oid: Oid) -> Result<i64> {
        Ok(self.past(oid)?.time)
    }

    /// Tree, parents and committer's time of commit `oid`; a time that makes no sense is the oldest. Long walks
    /// are often walked twice, so this is remembered.
    pub(super) fn past(&self, oid: Oid) -> Result<Rc<Past>> {
        if let Some(past) = self.pasts.borrow().get(&oid) {
            return Ok(Rc::clone(past));
        }
        let bytes = self.read(oid, Kind::Commit)?;
        let commit = gix::objs::CommitRef::from_bytes(&bytes, self.hash)
            .map_err(|e| Failure::fault(format!("reading commit {oid}"), e))?;
        let time = commit.committer.rsplit_str(" ").nth(1).and_then(|t| t.to_str().ok()?.parse().ok());
        let parents = commit.parents().map(|p| oid_of(&p)).collect();
        let past = Rc::new(Past { tree: oid_of(&commit.tree()), parents, time: time.unwrap_or_default() });
        self.pasts.borrow_mut().insert(oid, Rc::clone(&past));
        Ok(past)
    }

    /// The tree of commit `oid`.
    pub fn tree_of(&self, oid: Oid) -> Result<Oid> {
        Ok(self.past(oid)?.tree)
    }

    pub fn empty_tree(&self) -> Oid {
        oid_of(&gix::ObjectId::empty_tree(self.hash))
    }

    /// Bytes of an id.
    pub fn width(&self) -> usize {
        self.hash.len_in_bytes()
    }

    /// The all-zero id of this repository's hash.
    pub fn null(&self) -> Oid {
        oid_of(&gix::ObjectId::null(self.hash))
    }

    /// The id that `bytes` would have as a blob. Nothing is written.
    pub fn hash_blob(&self, bytes: &[u8]) -> Result<Oid> {
        self.hash(gix::objs::Kind::Blob, bytes)
    }

    fn hash(&self, kind: gix::objs::Kind, bytes: &[u8]) -> Result<Oid> {
        gix::objs::compute_hash(self.hash, kind, bytes)
            .map(|found| oid_of(&found))
            .map_err(|e| Failure::fault("hashing an object", e))
    }

    pub(super) fn rehash(&self, kind: Kind, bytes: &[u8]) -> Result<Oid> {
        self.hash(kind_of(kind), bytes)
    }

    pub fn write_blob(&self, bytes: &[u8]) -> Result<Oid> {
        self.write(gix::objs::Kind::Blob, bytes)
    }

    /// git knows the empty tree without having it, but its fsck wants what a commit names to be stored.
    pub fn write_empty_tree(&self) -> Result<Oid> {
        self.write(gix::objs::Kind::Tree, b"")
    }

    pub fn write_commit(&self, commit: &Commit) -> Result<Oid> {
        self.write(gix::objs::Kind::Commit, &commit.to_bytes())
    }

    /// Writes an object unless it is there as a file of its own; either way it is remembered for
    /// [`Objects::take_written`]. In a pack it may be one that nothing names any more: a repack that began before
    /// drops it.
    pub(super) fn write(&self, kind: gix::objs::Kind, bytes: &[u8]) -> Result<Oid> {
        let oid = self.hash(kind, bytes)?;
        // In memory it is kept anyway: to look for it would list the folder of packs for each object that is new.
        if self.in_memory {
            self.odb.write_buf(kind, bytes).map_err(|e| disk::gix(format!("writing object {oid}"), e))?;
        } else {
            if !self.freshened(oid) {
                self.write_file(oid, kind, bytes)?;
            }
            self.newborn.borrow_mut().add(oid, kind, bytes);
        }
        self.written.borrow_mut().push(oid);
        Ok(oid)
    }

    /// Writes an object as a file of its own.
    pub(super) fn write_file(&self, oid: Oid, kind: gix::objs::Kind, bytes: &[u8]) -> Result<()> {
        crate::fault::file()
            .and_then(|()| self.files.write(&self.dir, &self.loose_path(oid), kind, bytes))
            .map_err(|e| disk::io(format!("writing object {oid}"), e))
    }

    /// True if the object has a file of its own, which is now as young as a new one: git prunes old ones. A power cut
    /// may leave the name alone, or zeros for blocks of it: what is compressed has no such block.
    fn freshened(&self, oid: Oid) -> bool {
        let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
        let times = rustix::fs::Timestamps { last_access: now, last_modification: now };
        let path = self.loose_path(oid);
        let is_whole = |file: Vec<u8>| {
            !file.is_empty() && file.chunks(BLOCK).all(|block| block.iter().any(|byte| *byte != 0))
        };
        rustix::fs::utimensat(rustix::fs::CWD, &path, &times, rustix::fs::AtFlags::empty()).is_ok()
            && std::fs::read(&path).is_ok_and(is_whole)
    }

    /// Wraps our failure as one of gix; [`Objects::carried`] gives it back on the other side.
    pub(super) fn carry(&self, failure: Failure) -> gix::Error {
        *self.carried.borrow_mut() = Some(failure);
        gix::Error::from_error(std::io::Error::other("writing an object failed"))
    }

    /// The failure that was carried, else one of `doing` made of `error`.
    pub(super) fn carried(&self, doing: &str, error: gix::Error) -> Failure {
        self.carried.take().unwrap_or_else(|| disk::gix(doing, error))
    }

    /// Counts `oids`, which others wrote, among those that must be made durable.
    pub fn count_as_written(&self, oids: Vec<Oid>) {
        self.written.borrow_mut().extend(oids);
    }

    /// The ids written since the last call: what must be made durable before a ref names them.
    pub fn take_written(&self) -> Vec<Oid> {
        let mut written = self.written.take();
        written.sort_unstable();
        written.dedup();
        written
    }

    /// Where the loose form of `oid` would be.
    pub(super) fn loose_path(&self, oid: Oid) -> PathBuf {
        let hex = oid.to_string();
        self.dir.join(&hex[..2]).join(&hex[2..])
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

fn kind_of(kind: Kind) -> gix::objs::Kind {
    match kind {
        Kind::Blob => gix::objs::Kind::Blob,
        Kind::Tree => gix::objs::Kind::Tree,
        Kind::Commit => gix::objs::Kind::Commit,
        Kind::Tag => gix::objs::Kind::Tag,
    }
}

/// Whether `bytes`, kept outside the store, are the object `oid`. git's search for collisions takes five times as
/// long and is left out: who passes off another content would have had to make the object in the store as well.
fn is(oid: Oid, kind: Kind, bytes: &[u8]) -> bool {
    let header = gix::objs::encode::loose_header(kind_of(kind), bytes.len() as u64);
    match oid.as_bytes().len() {
        20 => sha1::Sha1::new_with_prefix(&header).chain_update(bytes).finalize()[..] == *oid.as_bytes(),
        _ => sha2::Sha256::new_with_prefix(&header).chain_update(bytes).finalize()[..] == *oid.as_bytes(),
    }
}

fn store(dir: &Path, hash: gix::hash::Kind, lack: &Rc<Lack>) -> Result<Odb> {
    let options = gix::odb::store::init::Options { slots: PACKS, ..Default::default() };
    let mut handle = gix::odb::at_opts(dir, hash, None, options)
        .map_err(|e| Failure::fault(format!("opening {}", dir.display()), e))?;
    handle.set_pack_cache(|| Box::new(gix::odb::pack::cache::lru::MemoryCappedHashmap::new(PACK_CACHE)));
    handle
        .set_object_cache(|| Box::new(gix::odb::pack::cache::object::MemoryCappedHashmap::new(OBJECT_CACHE)));
    Ok(gix::odb::memory::Proxy::new(Store::new(handle, Rc::clone(lack)), hash))
}

pub(super) fn id(oid: Oid) -> gix::ObjectId {
    gix::ObjectId::from_bytes_or_panic(oid.as_bytes())
}

pub(super) fn oid_of(id: &gix::oid) -> Oid {
    Oid::from_bytes(id.as_bytes()).unwrap_or_else(|| unreachable!("gix knows two hashes, both known here"))
}

#[cfg(test)]
mod tests;
