//! A tree difference as plain data, and the exact identity computed from it.

use crate::domain::Oid;
use bstr::BString;
use serde::Deserialize;
use serde::Serialize;
use sha2::Digest;
use std::fmt;

/// The kind of a tree entry that is not a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    File,
    Executable,
    Link,
    Gitlink,
}

impl Mode {
    /// As git writes it in a tree.
    pub fn octal(self) -> u32 {
        match self {
            Mode::File => 0o100_644,
            Mode::Executable => 0o100_755,
            Mode::Link => 0o120_000,
            Mode::Gitlink => 0o160_000,
        }
    }

    /// None of a folder, or of what no git writes.
    pub fn of_octal(bits: u32) -> Option<Mode> {
        [Mode::File, Mode::Executable, Mode::Link, Mode::Gitlink]
            .into_iter()
            .find(|mode| mode.octal() == bits)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06o}", self.octal())
    }
}

/// What stands at a path.
pub type Entry = (Mode, Oid);

/// One path that differs between two trees; `None` is absence. Renames are never detected here.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    pub path: BString,
    pub old: Option<Entry>,
    pub new: Option<Entry>,
}

impl Change {
    /// The change that undoes this one.
    pub fn inverse(&self) -> Change {
        Change { path: self.path.clone(), old: self.new, new: self.old }
    }
}

/// Whether `found` is what a write of `whole` may have left that was cut short: its beginning, with zeros where the disk
/// did not get it. Nobody's work is in that.
pub fn is_torn(whole: &[u8], found: &[u8]) -> bool {
    found.len() <= whole.len() && found.iter().zip(whole).all(|(found, whole)| *found == 0 || found == whole)
}

/// The raw digest of a change set: SHA-256 over path, old and new mode and oid of every change, in path
/// order. It depends on nothing but the two trees. Written as 64 hex digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawDigest(String);

impl RawDigest {
    /// `changes` in any order; each path once.
    pub fn of(changes: &[Change]) -> RawDigest {
        let mut sorted: Vec<&Change> = changes.iter().collect();
        sorted.sort_by(|a, b| a.path.cmp(&b.path));
        let mut hash = sha2::Sha256::new();
        hash.update(b"skein raw digest 1\0");
        for change in sorted {
            hash.update((change.path.len() as u64).to_be_bytes());
            hash.update(&change.path);
            for side in [change.old, change.new] {
                match side {
                    None => hash.update([0]),
                    Some((mode, oid)) => {
                        hash.update([1]);
                        hash.update(mode.octal().to_be_bytes());
                        hash.update([oid.as_bytes().len() as u8]);
                        hash.update(oid.as_bytes());
                    }
                }
            }
        }
        RawDigest(crate::domain::hex(&hash.finalize()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RawDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The three identities of a change set. Patch ids are hex; the raw digest is the primary one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub raw: RawDigest,
    pub patch_verbatim: String,
    pub patch_stable: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oid(byte: u8) -> Option<Oid> {
        Oid::from_bytes(&[byte; 20])
    }

    fn change(path: &str, old: u8, new: u8, mode: Mode) -> Change {
        Change {
            path: path.into(),
            old: oid(old).filter(|_| old > 0).map(|o| (Mode::File, o)),
            new: oid(new).map(|o| (mode, o)),
        }
    }

    #[test]
    fn what_a_cut_write_leaves_is_nobodys_work() {
        for torn in ["", "ab", "abc", "a\0c", "\0\0\0"] {
            assert!(is_torn(b"abc", torn.as_bytes()), "{torn:?}");
        }
        for work in ["x", "abcd", "ac", "abc\0"] {
            assert!(!is_torn(b"abc", work.as_bytes()), "{work:?}");
        }
    }

    #[test]
    fn digest_ignores_order_and_tells_everything_else_apart() {
        let (a, b) = (change("a", 1, 2, Mode::File), change("b", 0, 3, Mode::File));
        let both = RawDigest::of(&[a.clone(), b.clone()]);
        assert_eq!(both, RawDigest::of(&[b.clone(), a.clone()]));
        for other in [
            vec![a.clone()],
            vec![a.inverse(), b.clone()],
            vec![change("a", 1, 2, Mode::Executable), b.clone()],
            vec![change("ab", 1, 2, Mode::File), b],
        ] {
            assert_ne!(both, RawDigest::of(&other), "{other:?}");
        }
    }
}
