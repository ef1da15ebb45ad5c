//! A folder that goes away again.

use crate::domain::Result;
use crate::host::Env;
use crate::host::failure;
use crate::host::remove_tree;
use std::path::Path;
use std::path::PathBuf;
use tempfile::TempDir;

/// A new folder in the system's place for such, with all symbolic links of its path resolved. It is removed
/// when this is dropped.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    path: PathBuf,
}

impl Scratch {
    pub fn new(env: &Env, prefix: &str) -> Result<Scratch> {
        let place = env.get("TMPDIR").filter(|dir| !dir.is_empty()).map_or("/tmp".into(), PathBuf::from);
        let failed = |e| failure("making a folder in", &place, e);
        let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(&place).map_err(failed)?;
        let path = folder.path().canonicalize().map_err(failed)?;
        Ok(Scratch { folder, path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it now. What other processes wrote into it meanwhile is removed too.
    pub fn remove(self) -> Result<()> {
        remove_tree(&self.path)
    }

    /// Leaves it where it is.
    pub fn keep(self) -> PathBuf {
        drop(self.folder.keep());
        self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_unless_it_is_kept() {
        let env = Env::capture().unwrap();
        let (one, two, three) = (
            Scratch::new(&env, "s-").unwrap(),
            Scratch::new(&env, "s-").unwrap(),
            Scratch::new(&env, "s-").unwrap(),
        );
        let paths = [one.path().to_owned(), two.path().to_owned(), three.path().to_owned()];
        std::fs::create_dir(paths[0].join("below")).unwrap();
        one.remove().unwrap();
        drop(two);
        assert_eq!(three.keep(), paths[2]);
        assert_eq!(paths.each_ref().map(|p| p.exists()), [false, false, true]);
        std::fs::remove_dir(&paths[2]).unwrap();
    }
}
