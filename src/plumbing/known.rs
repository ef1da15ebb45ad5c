//! Objects that were read before, kept in one disposable file so that many small ones cost one read. The
//! file is never believed: what it gives out has been hashed again, and only if the store has that object.

use crate::domain::Oid;
use crate::plumbing::objects::Kind;
use std::cell::Cell;
use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::HashSet;
use std::ops::Range;

/// The first bytes of the file. Then, over and over: length of the id (1 byte), id, kind (1 byte), length
/// of the content (4 bytes, big-endian), content.
const MAGIC: &[u8] = b"skein objects 1\n";

/// What it is not worth writing the file for.
const FEW: usize = 12;

/// Objects of an earlier command, and those that this one reads while it [remembers](Known::remembers).
#[derive(Debug, Default)]
pub(super) struct Known {
    bytes: Vec<u8>,
    at: HashMap<Oid, (Kind, Range<usize>)>,
    /// Those of the file that were asked for and are what they claim to be.
    sound: RefCell<HashSet<Oid>>,
    fresh: RefCell<HashMap<Oid, (Kind, Vec<u8>)>>,
    remembers: Cell<bool>,
}

impl Known {
    /// Takes in a file as far as it can be understood.
    pub fn parse(bytes: Vec<u8>) -> Known {
        let mut known = Known::default();
        let mut next = bytes.strip_prefix(MAGIC).map(|_| MAGIC.len());
        while let Some((oid, kind, content)) = next.and_then(|start| entry(&bytes, start)) {
            next = Some(content.end);
            known.at.insert(oid, (kind, content));
        }
        known.bytes = bytes;
        known
    }

    /// The kind and content that the file gives `oid`; `is` says whether they really have that id.
    pub fn get(&self, oid: Oid, is: impl FnOnce(Kind, &[u8]) -> bool) -> Option<(Kind, Vec<u8>)> {
        let (kind, content) = self.at.get(&oid)?;
        let content = self.bytes.get(content.clone())?;
        if !self.sound.borrow().contains(&oid) {
            if !is(*kind, content) {
                return None;
            }
            self.sound.borrow_mut().insert(oid);
        }
        Some((*kind, content.to_vec()))
    }

    /// Keeps what the store gave, while remembering.
    pub fn see(&self, oid: Oid, kind: Kind, bytes: &[u8]) {
        if self.remembers.get() {
            self.fresh.borrow_mut().entry(oid).or_insert_with(|| (kind, bytes.to_vec()));
        }
    }

    /// Turns remembering on or off; gives what it was.
    pub fn remember(&self, on: bool) -> bool {
        self.remembers.replace(on)
    }

    /// The file that would have served this command, if that is worth writing: the objects asked for, and no
    /// others.
    pub fn file(&self) -> Option<Vec<u8>> {
        let (sound, fresh) = (self.sound.borrow(), self.fresh.borrow());
        if fresh.len() < FEW || fresh.len() * 8 < sound.len() {
            return None;
        }
        let old = sound.iter().filter_map(|oid| {
            let (kind, content) = self.at.get(oid)?;
            Some((oid, *kind, self.bytes.get(content.clone())?))
        });
        let mut file = MAGIC.to_vec();
        for (oid, kind, content) in old.chain(fresh.iter().map(|(oid, (kind, c))| (oid, *kind, c.as_slice())))
        {
            let Ok(length) = u32::try_from(content.len()) else { continue };
            file.push(oid.as_bytes().len() as u8);
            file.extend_from_slice(oid.as_bytes());
            file.push(kind as u8);
            file.extend_from_slice(&length.to_be_bytes());
            file.extend_from_slice(content);
        }
        Some(file)
    }
}

/// The entry that begins at `start`, if there is a whole one.
pub(super) fn entry(bytes: &[u8], start: usize) -> Option<(Oid, Kind, Range<usize>)> {
    let width = usize::from(*bytes.get(start)?);
    let kind_at = start + 1 + width;
    let oid = Oid::from_bytes(bytes.get(start + 1..kind_at)?)?;
    let kind = [Kind::Blob, Kind::Tree, Kind::Commit, Kind::Tag];
    let kind = *kind.get(usize::from(*bytes.get(kind_at)?))?;
    let length = u32::from_be_bytes(bytes.get(kind_at + 1..kind_at + 5)?.try_into().ok()?);
    let content = kind_at + 5..kind_at + 5 + usize::try_from(length).ok()?;
    bytes.get(content.clone()).map(|_| (oid, kind, content))
}
