//! One entry of an index file, found and replaced in the bytes of the file, as gitformat-index(5) has them: what
//! git does for it, reading and writing every entry, takes longer the more files there are.

use crate::domain::Mode;
use crate::domain::Oid;
use bstr::BStr;
use bstr::ByteSlice;
use sha2::Digest;
use std::ops::Range;

/// Magic, version, count of entries.
const HEADER: usize = 12;
/// What an entry says of its file: ten words of 32 bits, with the mode in their middle.
const STAT: usize = 40;
const MODE: Range<usize> = 24..28;

const NAME_LENGTH: u16 = 0x0fff;
const STAGE: u16 = 0x3000;
const EXTENDED: u16 = 0x4000;
/// A person said that the file is not to be looked at.
const ASSUME_VALID: u16 = 0x8000;
/// Of the flags that come after the others where there are more: nothing is staged, only that something will be.
const INTENT_TO_ADD: u16 = 0x2000;

/// Extensions that stay as they are where an entry is replaced: what was resolved, untracked files, where the entries
/// are. Of others it is not known here.
const STAY: [&[u8; 4]; 4] = [b"REUC", b"UNTR", b"IEOT", b"sdir"];

/// An index of version 2 or 3, seen from one path.
pub(super) struct IndexFile<'b> {
    bytes: &'b [u8],
    /// Bytes of an object id.
    width: usize,
    /// The entries of the path, of whatever stage, and of what is below it.
    found: Vec<Entry>,
    /// From after the last entry to before the checksum.
    extensions: Range<usize>,
}

struct Entry {
    at: usize,
    flags: u16,
    is_below: bool,
}

impl<'b> IndexFile<'b> {
    /// `None` where it is of another kind, refers to a shared index, or is broken.
    pub fn read(bytes: &'b [u8], width: usize, path: &BStr) -> Option<IndexFile<'b>> {
        let version = word(bytes, 4)?;
        if !bytes.starts_with(b"DIRC") || !matches!(version, 2 | 3) {
            return None;
        }
        let end = bytes.len().checked_sub(width)?;
        let (mut at, mut found) = (HEADER, Vec::new());
        for _ in 0..word(bytes, 8)? {
            let (name, flags, next) = entry(bytes, at, width)?;
            let rest = name.strip_prefix(path.as_bytes());
            let is_below = rest.is_some_and(|rest| rest.starts_with(b"/"));
            if is_below || rest.is_some_and(<[u8]>::is_empty) {
                found.push(Entry { at, flags, is_below });
            }
            at = next;
        }
        let file = IndexFile { bytes, width, found, extensions: at..end };
        let is_whole = file.each_extension(|name, _| name != b"link")?;
        is_whole.then_some(file)
    }

    /// What it has at the path, which is nothing where that is only meant to be added; the outer `None` where it cannot
    /// be told plainly.
    pub fn entry(&self) -> Option<Option<(Mode, Oid)>> {
        let Some(entry) = self.found.first() else { return Some(None) };
        let entry = self.plain(entry)?;
        if self.is_intent(entry) {
            return Some(None);
        }
        let bits = word(self.bytes, entry.at + MODE.start)?;
        let oid = self.bytes.get(entry.at + STAT..entry.at + STAT + self.width)?;
        Some(Some((Mode::of_octal(bits)?, Oid::from_bytes(oid)?)))
    }

    /// The bytes with another entry at the path, of a file that nothing is known of, as `git update-index
    /// --index-info` makes it, but that a file that is not to be looked at stays so. `None` where there is no plain entry,
    /// or something unknown depends on it.
    pub fn replaced(&self, path: &BStr, (mode, oid): (Mode, Oid)) -> Option<Vec<u8>> {
        let entry = self.plain(self.found.first()?)?;
        if self.is_intent(entry) {
            return None;
        }
        let mut new = Vec::with_capacity(self.bytes.len() + STAT);
        new.extend_from_slice(&self.bytes[..self.extensions.start]);
        let flags = entry.at + STAT + self.width;
        new[entry.at..entry.at + STAT].fill(0);
        new[entry.at + MODE.start..entry.at + MODE.end].copy_from_slice(&mode.octal().to_be_bytes());
        new[entry.at + STAT..flags].copy_from_slice(oid.as_bytes());
        let kept = entry.flags & (NAME_LENGTH | EXTENDED | ASSUME_VALID);
        new[flags..flags + 2].copy_from_slice(&kept.to_be_bytes());
        self.extend(&mut new, path)?;
        let sum = &self.bytes[self.extensions.end..];
        // A person may have git leave it out.
        let sum = if sum.iter().all(|byte| *byte == 0) { sum.to_vec() } else { digest(self.width, &new) };
        new.extend_from_slice(&sum);
        Some(new)
    }

    /// The only one of the path, if it is of no conflict.
    fn plain<'e>(&self, entry: &'e Entry) -> Option<&'e Entry> {
        (self.found.len() == 1 && !entry.is_below && entry.flags & STAGE == 0).then_some(entry)
    }

    fn is_intent(&self, entry: &Entry) -> bool {
        let more = entry.at + STAT + self.width + 2;
        let more = self.bytes.get(more..).and_then(<[u8]>::first_chunk).map(|more| u16::from_be_bytes(*more));
        entry.flags & EXTENDED != 0 && more.is_some_and(|more| more & INTENT_TO_ADD != 0)
    }

    /// The extensions with the trees of the path as unknown.
    fn extend(&self, new: &mut Vec<u8>, path: &BStr) -> Option<()> {
        let start = new.len();
        let mut heads = Vec::new();
        let is_known = self.each_extension(|name, body| {
            let body = match name {
                b"TREE" => forget(body, self.width, path),
                b"EOIE" => Some(end_of_entries(start, self.width, &heads)),
                _ => STAY.contains(&name).then(|| body.to_vec()),
            };
            let Some(body) = body else { return false };
            let head = [&name[..], &u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes()].concat();
            new.extend_from_slice(&head);
            new.extend_from_slice(&body);
            heads.extend_from_slice(&head);
            true
        })?;
        is_known.then_some(())
    }

    /// Gives name and body of each to `take`, until that says no. `None` where they are cut off.
    fn each_extension(&self, mut take: impl FnMut(&[u8; 4], &[u8]) -> bool) -> Option<bool> {
        let mut rest = self.bytes.get(self.extensions.clone())?;
        while let Some((name, after)) = rest.split_first_chunk::<4>() {
            let (length, after) = after.split_first_chunk::<4>()?;
            let (body, after) = after.split_at_checked(u32::from_be_bytes(*length) as usize)?;
            if !take(name, body) {
                return Some(false);
            }
            rest = after;
        }
        rest.is_empty().then_some(true)
    }
}

/// Name and flags of the entry at `at`, and where the next one begins.
fn entry(bytes: &[u8], at: usize, width: usize) -> Option<(&[u8], u16, usize)> {
    let flags_at = at + STAT + width;
    let flags = u16::from_be_bytes(*bytes.get(flags_at..)?.first_chunk()?);
    let name_at = flags_at + if flags & EXTENDED == 0 { 2 } else { 4 };
    let length = match flags & NAME_LENGTH {
        // As long or longer.
        NAME_LENGTH => bytes.get(name_at..)?.find_byte(0)?,
        length => usize::from(length),
    };
    let name = bytes.get(name_at..name_at + length)?;
    // One to eight NULs, so that each is a multiple of eight long.
    let next = at + (name_at + length - at + 8) / 8 * 8;
    Some((name, flags, next))
}

/// What a `TREE` extension knows but for the trees that `path` is in: for each tree, its folders after it, name, NUL,
/// count of entries, space, count of folders, line feed, and its id, unless its count is negative: then it is unknown.
fn forget(body: &[u8], width: usize, path: &BStr) -> Option<Vec<u8>> {
    let mut new = Vec::with_capacity(body.len());
    let mut rest = body;
    // For each tree around the next one, how many of its folders are to come, and the path within it.
    let mut around: Vec<(usize, Option<&[u8]>)> = Vec::new();
    while !rest.is_empty() {
        let name_end = rest.find_byte(0)?;
        let (name, after) = (&rest[..name_end], &rest[name_end + 1..]);
        let counts_end = after.find_byte(b'\n')?;
        let (entries, folders) = after[..counts_end].to_str().ok()?.split_once(' ')?;
        let id = if entries.starts_with('-') { 0 } else { width };
        let next = name_end + 1 + counts_end + 1 + id;
        let within = match around.last_mut() {
            Some((left, within)) => {
                *left -= 1;
                within.and_then(|path| path.strip_prefix(name)?.strip_prefix(b"/"))
            }
            None => name.is_empty().then_some(path.as_bytes()),
        };
        let tree = rest.get(..next)?;
        if within.is_some() {
            new.extend_from_slice(name);
            new.extend_from_slice(format!("\0-1 {folders}\n").as_bytes());
        } else {
            new.extend_from_slice(tree);
        }
        around.push((folders.parse().ok()?, within));
        while around.last().is_some_and(|(left, _)| *left == 0) {
            around.pop();
        }
        rest = &rest[next..];
        if around.is_empty() {
            break;
        }
    }
    (rest.is_empty() && around.is_empty()).then_some(new)
}

/// An `EOIE` extension: where the entries end, and the digest of the heads of all extensions before it.
fn end_of_entries(end: usize, width: usize, heads: &[u8]) -> Vec<u8> {
    let end = u32::try_from(end).unwrap_or(u32::MAX).to_be_bytes();
    [&end[..], &digest(width, heads)].concat()
}

/// Of the bytes alone, and without a search for collisions: it tells of broken disks.
fn digest(width: usize, bytes: &[u8]) -> Vec<u8> {
    match width {
        20 => sha1::Sha1::digest(bytes).to_vec(),
        _ => sha2::Sha256::digest(bytes).to_vec(),
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "indexes are laid out and read by hand")]
mod tests {
    use super::*;
    use crate::plumbing::oracle::git;
    use std::fs;
    use std::path::Path;

    const PATHS: [&str; 7] = ["a/b/c", "a/b/d", "a/b.c", "a/e", "f", "g/h/i/j/k", "z"];

    /// A repository with all of [`PATHS`] committed, and one staged.
    fn committed(dir: &Path, format: &str, settings: &[(&str, &str)]) {
        git(dir, &["init", "--quiet", "--object-format", format, "."], b"");
        for (key, value) in [("user.name", "A"), ("user.email", "a@b")].iter().chain(settings) {
            git(dir, &["config", key, value], b"");
        }
        for path in PATHS {
            fs::create_dir_all(dir.join(path).parent().unwrap()).unwrap();
            fs::write(dir.join(path), path).unwrap();
        }
        git(dir, &["add", "--all"], b"");
        git(dir, &["commit", "--quiet", "--message", "one"], b"");
        git(dir, &["update-index", "--force-write-index"], b"");
    }

    fn index(dir: &Path) -> Vec<u8> {
        fs::read(dir.join(".git/index")).unwrap()
    }

    fn blob(dir: &Path) -> Oid {
        let said = git(dir, &["hash-object", "-w", "--stdin"], b"other\n");
        String::from_utf8(said).unwrap().trim().parse().unwrap()
    }

    /// What git does to the index of `dir` by the same entry.
    fn by_git(dir: &Path, path: &str, oid: Oid) -> Vec<u8> {
        let line = format!("100755 {oid}\t{path}\0");
        git(dir, &["update-index", "-z", "--index-info"], line.as_bytes());
        index(dir)
    }

    fn is_as_git_makes_it(dir: &Path, what: &str) {
        for path in PATHS {
            let oid = blob(dir);
            let before = index(dir);
            let read = IndexFile::read(&before, oid.as_bytes().len(), path.into());
            let read = read.unwrap_or_else(|| panic!("{what}"));
            let new = read.replaced(path.into(), (Mode::Executable, oid)).unwrap();
            assert_eq!(by_git(dir, path, oid).as_bstr(), new.as_bstr(), "{what}: {path}");
            let again = IndexFile::read(&new, oid.as_bytes().len(), path.into()).unwrap();
            assert_eq!(again.entry(), Some(Some((Mode::Executable, oid))));
        }
    }

    #[test]
    fn an_entry_is_replaced_as_git_does_it() {
        let ends = [("index.recordEndOfIndexEntries", "true"), ("index.recordOffsetTable", "true")];
        let threads = [ends[0], ends[1], ("index.threads", "2")];
        let kinds: [(&str, &[(&str, &str)]); 5] = [
            ("plain", &[]),
            ("ends", &ends),
            ("offsets", &threads),
            ("no checksum", &[("index.skipHash", "true")]),
            ("untracked files", &[("core.untrackedCache", "true")]),
        ];
        for format in ["sha1", "sha256"] {
            for (what, settings) in kinds {
                let dir = tempfile::tempdir().unwrap();
                committed(dir.path(), format, settings);
                is_as_git_makes_it(dir.path(), what);
            }
        }
    }

    #[test]
    fn beside_entries_of_version_3_and_long_names() {
        let dir = tempfile::tempdir().unwrap();
        committed(dir.path(), "sha1", &[]);
        fs::write(dir.path().join("b"), "not yet").unwrap();
        git(dir.path(), &["add", "--intent-to-add", "b"], b"");
        by_git(dir.path(), &format!("c/{}", "long/".repeat(1000) + "d"), blob(dir.path()));
        let found = index(dir.path());
        let new = IndexFile::read(&found, 20, "b".into()).unwrap();
        assert_eq!(word(&found, 4), Some(3));
        assert_eq!(new.entry(), Some(None));
        assert!(new.replaced("b".into(), (Mode::File, blob(dir.path()))).is_none());
        is_as_git_makes_it(dir.path(), "version 3");
    }

    #[test]
    fn what_git_is_not_to_look_at_stays_so() {
        for (flag, shown) in [("--assume-unchanged", "h"), ("--skip-worktree", "S")] {
            for format in ["sha1", "sha256"] {
                let dir = tempfile::tempdir().unwrap();
                committed(dir.path(), format, &[]);
                git(dir.path(), &["update-index", flag, "a/b/c"], b"");
                let (before, oid) = (index(dir.path()), blob(dir.path()));
                let read = IndexFile::read(&before, oid.as_bytes().len(), "a/b/c".into()).unwrap();
                let new = read.replaced("a/b/c".into(), (Mode::File, oid)).unwrap();
                fs::write(dir.path().join(".git/index"), new).unwrap();
                let said = git(dir.path(), &["ls-files", "-v", "a/b/c"], b"");
                assert_eq!(said.as_bstr(), format!("{shown} a/b/c\n").as_str(), "{flag}");
                let said = git(dir.path(), &["ls-files", "--stage", "a/b/c"], b"");
                assert_eq!(said.as_bstr(), format!("100644 {oid} 0\ta/b/c\n").as_str(), "{flag}");
            }
        }
    }

    #[test]
    fn what_is_not_plain_is_left_to_git() {
        let dir = tempfile::tempdir().unwrap();
        committed(dir.path(), "sha1", &[]);
        let oid = blob(dir.path());
        let of = |path: &str| {
            let bytes = index(dir.path());
            let found = IndexFile::read(&bytes, 20, path.into())?;
            Some((found.entry(), found.replaced(path.into(), (Mode::File, oid)).is_some()))
        };
        assert_eq!(of("none"), Some((Some(None), false)));
        assert_eq!(of("a/b"), Some((None, false)));
        let stages = (1..4).map(|stage| format!("100644 {oid} {stage}\tf\0")).collect::<String>();
        git(dir.path(), &["update-index", "-z", "--index-info"], format!("0 {oid}\tf\0{stages}").as_bytes());
        assert_eq!(of("f"), Some((None, false)));
        git(dir.path(), &["update-index", "--index-version", "4"], b"");
        assert_eq!(of("z"), None);
        git(dir.path(), &["update-index", "--index-version", "2"], b"");
        assert!(of("z").is_some());
        git(dir.path(), &["update-index", "--split-index"], b"");
        assert_eq!(of("z"), None);
    }

    #[test]
    fn what_is_broken_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        committed(dir.path(), "sha1", &[]);
        let (whole, oid) = (index(dir.path()), blob(dir.path()));
        for length in 0..whole.len() - 20 {
            let cut = &whole[..length];
            let read = IndexFile::read(cut, 20, "z".into());
            assert!(
                read.is_none_or(|read| read.replaced("z".into(), (Mode::File, oid)).is_none()
                    || read.extensions.is_empty()),
                "{length}"
            );
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x41;
            if let Some(read) = IndexFile::read(&bytes, 20, "a/b/c".into()) {
                let _ = (read.entry(), read.replaced("a/b/c".into(), (Mode::File, oid)));
            }
        }
    }
}
