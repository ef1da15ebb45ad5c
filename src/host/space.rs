//! How much room is left on a disk.

use crate::domain::Result;
use crate::host::file::failure;
use std::path::Path;

/// Bytes that this user may still write on the file system that holds `path`, which must exist.
pub fn free_bytes(path: &Path) -> Result<u64> {
    let stat =
        rustix::fs::statvfs(path).map_err(|e| failure("measuring the free space at", path, e.into()))?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_an_existing_path_only() {
        let dir = tempfile::tempdir().unwrap();
        assert!(free_bytes(dir.path()).unwrap() > 0);
        assert!(free_bytes(&dir.path().join("missing")).is_err());
    }
}
