//! Which file of commits in the cache is ours. The file itself anybody could have written; it is believed only
//! if it has the digest that this text states, in a blob that a ref of ours names.

use crate::domain::Oid;
use crate::domain::Result;
use crate::domain::sha256;
use crate::host::by_halves;
use crate::host::read_by_halves;
use bstr::ByteSlice;
use std::path::Path;

/// The digest of the file: that of its first half and that of its second, one after the other. And the commits up to
/// which it was complete, newest first. As text: a line each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    pub digest: String,
    pub tips: Vec<Oid>,
}

impl Seal {
    pub fn of(file: &[u8], tips: Vec<Oid>) -> Seal {
        Seal { digest: by_halves(file, sha256).concat(), tips }
    }

    /// The file at `path`, if it is the one.
    pub fn open(&self, path: &Path) -> Result<Option<Vec<u8>>> {
        let read = read_by_halves(path, sha256)?;
        Ok(read.filter(|(_, halves)| self.digest == halves.concat()).map(|(file, _)| file))
    }

    pub fn text(&self) -> String {
        let tips: String = self.tips.iter().map(|tip| format!("{tip}\n")).collect();
        format!("{}\n{tips}", self.digest)
    }

    pub fn parse(text: &[u8]) -> Option<Seal> {
        let mut lines = text.lines().map(|line| line.to_str().ok());
        let digest = lines.next()??.to_owned();
        let tips = lines.map(|line| line?.parse().ok()).collect::<Option<Vec<Oid>>>()?;
        let is_digest = digest.len() == 128 && digest.bytes().all(|b| b.is_ascii_hexdigit());
        is_digest.then_some(Seal { digest, tips })
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "files are laid out by hand")]
mod tests {
    use super::*;

    #[test]
    fn a_seal_is_read_as_it_was_written_and_nothing_else_is_one() {
        let tips = vec![Oid::from_bytes(&[7; 20]).unwrap(), Oid::from_bytes(&[8; 20]).unwrap()];
        let seal = Seal::of(b"file", tips);
        assert_eq!(Seal::parse(seal.text().as_bytes()), Some(seal.clone()));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let fits = |seal: &Seal, file: &[u8]| {
            std::fs::write(&path, file).unwrap();
            seal.open(&path).unwrap().inspect(|read| assert_eq!(read, file)).is_some()
        };
        assert!(fits(&seal, b"file") && !fits(&seal, b"File") && !fits(&seal, b"fil") && !fits(&seal, b""));
        let mut large: Vec<u8> = (0..500_001_u32).map(|n| (n % 251) as u8).collect();
        let whole = Seal::of(&large, Vec::new());
        assert!(fits(&whole, &large));
        for at in [0, 250_000, 500_000] {
            large[at] ^= 1;
            assert!(!fits(&whole, &large), "{at}");
            large[at] ^= 1;
        }
        std::fs::remove_file(&path).unwrap();
        assert!(whole.open(&path).unwrap().is_none());
        let text = seal.text();
        for bad in ["", "\n", "../../etc/passwd\n", &text[1..], &format!("{text}\nmore"), &text[..70]] {
            assert_eq!(Seal::parse(bad.as_bytes()), None, "{bad:?}");
        }
    }
}
