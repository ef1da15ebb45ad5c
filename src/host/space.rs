//! What a disk is like, and how much room is left on it. Nothing is written to find out.

use crate::domain::Result;
use crate::host::file::failure;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes that this user may still write on the file system that holds `path`, which must exist.
pub fn free_bytes(path: &Path) -> Result<u64> {
    let stat =
        rustix::fs::statvfs(path).map_err(|e| failure("measuring the free space at", path, e.into()))?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// How many more files this user may make there. `None` where the file system has no such number.
pub fn free_inodes(path: &Path) -> Result<Option<u64>> {
    let stat =
        rustix::fs::statvfs(path).map_err(|e| failure("measuring the free space at", path, e.into()))?;
    Ok((stat.f_files > 0).then_some(stat.f_favail))
}

/// The kind of the file system that holds `path`, by the number that statfs(2) gives it.
#[cfg(target_os = "linux")]
pub fn file_system(path: &Path) -> Option<&'static str> {
    let kind = rustix::fs::statfs(path).ok()?.f_type as u64 & 0xffff_ffff;
    let known = [
        (0xef53, "ext4"),
        (0x5846_5342, "xfs"),
        (0x9123_683e, "btrfs"),
        (0x2fc1_2fc1, "zfs"),
        (0xf2f5_2010, "f2fs"),
        (0xca45_1a4e, "bcachefs"),
        (0x0102_1994, "tmpfs"),
        (0x8584_58f6, "ramfs"),
        (0x794c_7630, "overlay"),
        (0x6969, "nfs"),
        (0xff53_4d42, "smb"),
        (0xfe53_4d42, "smb"),
        (0x6573_5546, "fuse"),
        (0x0102_1997, "9p"),
    ];
    known.iter().find(|(magic, _)| *magic == kind).map(|(_, name)| *name)
}

#[cfg(not(target_os = "linux"))]
pub fn file_system(_path: &Path) -> Option<&'static str> {
    None
}

/// Whether the folder of `file`, which must exist and have a name with letters, takes names in other case
/// for the same.
pub fn folds_case(file: &Path) -> Option<bool> {
    let name = file.file_name()?.to_str()?;
    let swap = |c: char| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
    let other = file.with_file_name(name.chars().map(swap).collect::<String>());
    let id = |path: &Path| std::fs::symlink_metadata(path).ok().map(|m| (m.dev(), m.ino()));
    id(file).map(|there| id(&other) == Some(there))
}

/// Whether `path` belongs to another user.
pub fn is_foreign(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|m| m.uid() != rustix::process::geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_an_existing_path_only() {
        let dir = tempfile::tempdir().unwrap();
        assert!(free_bytes(dir.path()).unwrap() > 0);
        assert!(free_bytes(&dir.path().join("missing")).is_err());
        assert!(free_inodes(dir.path()).unwrap().is_none_or(|n| n > 0));
        assert!(!is_foreign(dir.path()));
    }

    #[test]
    fn looks_for_case_and_writes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("HEAD");
        assert_eq!(folds_case(&file), None);
        std::fs::File::create(&file).unwrap();
        let folds = folds_case(&file);
        assert_eq!(folds, Some(dir.path().join("head").exists()));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
