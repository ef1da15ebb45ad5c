//! The home folder that a jailed command sees. Its files are copies, its folders can be read, and what is written
//! there goes with the jail. So a program may keep its settings and caches, and none of it runs as the person
//! tomorrow.

use crate::domain::Result;
use crate::host::Mount;
use crate::host::copy_files;
use crate::host::failure;
use crate::host::make_dir;
use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;

/// Where the person keeps what opens other doors, below the home folder.
const SECRETS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/gcloud",
    ".cargo/credentials.toml",
    ".npmrc",
    ".pypirc",
    ".password-store",
];

/// Folders in which programs make folders of their own.
const OPEN: &[&str] = &[".config", ".local", ".local/share", ".local/state"];

/// Where what is lost does no harm.
const CACHE: &str = ".cache";

/// Of a file that is copied. A larger one can be read where it is.
const FILE: u64 = 1 << 20;

/// What is hidden in the folders that can be read; the rest is just not copied.
pub fn hidden(home: &Path) -> Vec<PathBuf> {
    let copied = |name: &&&str| {
        let folder = Path::new(name).parent().unwrap_or(Path::new(""));
        folder == Path::new("") || OPEN.iter().any(|open| folder == Path::new(open))
    };
    let deeper = SECRETS.iter().filter(|name| !copied(name)).map(|name| home.join(name));
    deeper.filter(|path| path.exists()).collect()
}

/// Makes the home folder at `own` and tells how it is seen. It has copies of the folders `state`.
pub fn make(home: &Path, own: &Path, state: &[&str]) -> Result<Vec<Mount>> {
    let mut mounts = vec![Mount::Write(own.to_owned(), home.to_owned())];
    fill(home, own, Path::new(""), state, &mut mounts)?;
    Ok(mounts)
}

fn fill(home: &Path, own: &Path, below: &Path, state: &[&str], mounts: &mut Vec<Mount>) -> Result<()> {
    let (from, to) = (home.join(below), own.join(below));
    make_dir(&to)?;
    let failed = |e: io::Error| failure("copying", &from, e);
    for entry in fs::read_dir(&from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let below = below.join(entry.file_name());
        let is_one_of = |list: &[&str]| list.iter().any(|name| below == Path::new(name));
        let (path, copy) = (entry.path(), own.join(&below));
        let kind = entry.file_type().map_err(failed)?;
        if is_one_of(SECRETS) {
            continue;
        }
        if kind.is_symlink() {
            let target = fs::read_link(&path).map_err(failed)?;
            std::os::unix::fs::symlink(target, copy).map_err(failed)?;
        } else if kind.is_dir() && is_one_of(OPEN) {
            fill(home, own, &below, state, mounts)?;
        } else if kind.is_dir() && is_one_of(state) {
            copy_files(&path, &copy, FILE)?;
        } else if kind.is_dir() {
            make_dir(&copy)?;
            let seen = (!is_one_of(&[CACHE])).then(|| Mount::shown(path));
            mounts.extend(seen);
        } else if kind.is_file() && entry.metadata().is_ok_and(|m| m.len() <= FILE) {
            // What the person cannot read, nobody has to.
            let _ = fs::copy(&path, &copy);
        } else if kind.is_file() {
            mounts.push(Mount::shown(path));
        }
    }
    Ok(())
}

/// Moves the folders `state` from below one home folder to below another, in place of those there. An agent wrote what
/// is in the first, so no link in it is followed; nothing of it runs meanwhile.
pub fn move_state(from: &Path, to: &Path, state: &[&str]) -> Result<()> {
    for name in state {
        let (source, target) = (from.join(name), to.join(name));
        let folders = source.ancestors().take_while(|path| path.starts_with(from));
        if !folders.into_iter().all(|path| fs::symlink_metadata(path).is_ok_and(|m| m.is_dir())) {
            continue;
        }
        crate::host::remove_tree(&target)?;
        if let Some(parent) = target.parent() {
            make_dir(parent)?;
        }
        crate::host::rename(&source, &target)?;
    }
    Ok(())
}
