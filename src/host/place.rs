//! What tells a folder from its copy.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// The identity of the folder at `path` on this machine: the same after a move on its file system and after
/// a restart, another for a copy. Its inode with the time at which that was born, or with the device where
/// no birth is told. `None` where it cannot be seen.
pub fn identity(path: &Path) -> Option<String> {
    let found = path.metadata().ok()?;
    let birth = found.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let rest = match birth {
        Some(at) => format!("born {}.{:09}", at.as_secs(), at.subsec_nanos()),
        None => format!("device {}", found.dev()),
    };
    Some(format!("inode {} {rest}\n", found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_keeps_the_identity_and_a_folder_made_anew_has_another() {
        let dir = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| dir.path().join(name));
        std::fs::create_dir(&one).unwrap();
        let old = identity(&one).unwrap();
        std::fs::rename(&one, &two).unwrap();
        std::fs::create_dir(&one).unwrap();
        assert_eq!(identity(&two).as_ref(), Some(&old));
        assert_ne!(identity(&one), Some(old));
        assert_eq!(identity(&dir.path().join("none")), None);
    }
}
