//! What a working tree has beyond its commit: what no tree holds of it, and putting changes back into it.

use crate::domain::Change;
use crate::domain::Failure;
use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::Result;
use crate::domain::is_dot_git;
use crate::plumbing::capture::folders_of;
use crate::plumbing::disk;
use crate::plumbing::objects::Objects;
use crate::plumbing::repo::Repo;
use crate::plumbing::worktree::Admin;
use crate::plumbing::worktree::checkout_of;
use crate::plumbing::worktree::linked_to;
use crate::plumbing::worktree::names_back;
use bstr::BStr;
use bstr::BString;
use bstr::ByteSlice;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::path::PathBuf;

/// So many are named; the rest goes without saying.
const NAMED: usize = 1000;

impl Objects {
    /// What stands in the working tree at `root` and has no place in `tree`: files, and folders (with a slash
    /// at the end) that hold some and nothing of the tree. What `home` has in the same place with the same bytes
    /// is not lost with it. Sorted; at most 1000 are named.
    pub fn unseen(&self, root: &Path, tree: Oid, home: Option<&Path>) -> Result<Vec<BString>> {
        let paths: HashSet<BString> = self.entries(tree)?.into_iter().map(|(path, _)| path).collect();
        let folders: HashSet<&BStr> = paths.iter().flat_map(|path| folders_of(path.as_bstr())).collect();
        let mut found = Vec::new();
        let mut open = vec![BString::default()];
        while let Some(folder) = open.pop() {
            let here = root.join(std::ffi::OsStr::from_bytes(&folder));
            let failed = |e| Failure::fault(format!("listing {}", here.display()), e);
            for entry in fs::read_dir(&here).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let mut path = folder.clone();
                path.extend_from_slice(entry.file_name().as_bytes());
                let is_folder = entry.file_type().map_err(failed)?.is_dir();
                if path == ".git" || (!is_folder && paths.contains(&path)) || found.len() >= NAMED {
                    continue;
                }
                if is_folder && folders.contains(path.as_bstr()) {
                    path.push(b'/');
                    open.push(path);
                } else if is_folder {
                    if holds_more(root, &entry.path(), home).map_err(failed)? {
                        path.push(b'/');
                        found.push(path);
                    }
                } else if !is_at_home(root, &entry.path(), home).map_err(failed)? {
                    found.push(path);
                }
            }
        }
        found.sort_unstable();
        Ok(found)
    }
}

/// Whether `folder`, below `root`, holds a file that is not at home as well.
fn holds_more(root: &Path, folder: &Path, home: Option<&Path>) -> io::Result<bool> {
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            } else if !is_at_home(root, &entry.path(), home)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Whether `home` has the regular file `path` of the tree at `root`, byte for byte and no link.
fn is_at_home(root: &Path, path: &Path, home: Option<&Path>) -> io::Result<bool> {
    let (Some(home), Ok(below)) = (home, path.strip_prefix(root)) else { return Ok(false) };
    let there = home.join(below);
    let (here, Ok(kept)) = (fs::symlink_metadata(path)?, fs::symlink_metadata(&there)) else {
        return Ok(false);
    };
    // A link on the way there may lead back here.
    let same = (here.dev(), here.ino()) == (kept.dev(), kept.ino());
    if same || !here.is_file() || !kept.is_file() || here.len() != kept.len() {
        return Ok(false);
    }
    let (mut here, Ok(mut kept)) =
        (BufReader::new(fs::File::open(path)?), fs::File::open(&there).map(BufReader::new))
    else {
        return Ok(false);
    };
    loop {
        let (ours, theirs) = (here.fill_buf()?, kept.fill_buf()?);
        let both = ours.len().min(theirs.len());
        if both == 0 || ours[..both] != theirs[..both] {
            return Ok(ours.is_empty() && theirs.is_empty());
        }
        here.consume(both);
        kept.consume(both);
    }
}

impl Repo {
    /// Makes `changes` in the files of the worktree, byte for byte, and leaves its index alone.
    pub fn put_back(&self, admin: &Admin, changes: &[Change]) -> Result<()> {
        let root = &admin.path;
        let failed = |path: &Path, e: io::Error| disk::io(format!("writing {}", path.display()), e);
        // What has to go makes room for what comes: a file where a folder was, and back.
        for change in changes.iter().filter(|c| c.old.is_some()) {
            let path = place(root, &change.path)?;
            crate::fault::file().map_err(|e| failed(&path, e))?;
            let gone = match change.old {
                Some((Mode::Gitlink, _)) => disk::gone(fs::remove_dir(&path)),
                _ => disk::gone(fs::remove_file(&path)),
            };
            gone.map_err(|e| failed(&path, e))?;
            disk::remove_emptied(&path, root);
        }
        for change in changes {
            let Some((mode, oid)) = change.new else { continue };
            let path = place(root, &change.path)?;
            crate::fault::file().map_err(|e| failed(&path, e))?;
            let folder = if mode == Mode::Gitlink { Some(path.as_path()) } else { path.parent() };
            folder.map_or(Ok(()), fs::create_dir_all).map_err(|e| failed(&path, e))?;
            let wrote = match mode {
                Mode::Gitlink => Ok(()),
                Mode::Link => {
                    let target = self.objects.blob(oid)?;
                    std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(&target), &path)
                }
                Mode::File | Mode::Executable => {
                    let bits = if mode == Mode::Executable { 0o777 } else { 0o666 };
                    let file = fs::OpenOptions::new().write(true).create_new(true).mode(bits).open(&path);
                    let bytes = self.objects.blob(oid)?;
                    file.and_then(|mut file| file.write_all(&bytes))
                }
            };
            wrote.map_err(|e| failed(&path, e))?;
        }
        Ok(())
    }

    /// Folders beside the registered place of a worktree that say that they are it: it was moved by hand.
    pub fn moved_to(&self, admin: &Admin) -> Option<PathBuf> {
        let entries = fs::read_dir(admin.path.parent()?).ok()?.flatten().map(|e| e.path());
        let mut mine = entries.filter(|path| *path != admin.path && self.is_worktree_of(path, admin));
        mine.next()
    }

    /// Whether the folder `path` says that `admin` registers it.
    pub fn is_worktree_of(&self, path: &Path, admin: &Admin) -> bool {
        names_back(path, &admin.dir)
    }

    /// Whether the folder `path` names a git folder that is not there: its repository was moved, or is gone.
    pub fn is_cut_off(&self, path: &Path) -> bool {
        linked_to(path).is_some_and(|link| !link.exists())
    }

    /// Whether registration and folder name each other, and the folder is no symbolic link.
    pub fn is_registered(&self, admin: &Admin) -> bool {
        let folder = fs::symlink_metadata(&admin.path).is_ok_and(|m| m.is_dir());
        folder
            && checkout_of(&admin.dir).is_ok_and(|of| of.as_ref() == Some(&admin.path))
            && self.is_worktree_of(&admin.path, admin)
    }
}

/// Where `path` of a tree is below `root`. The tree may be a hostile worker's.
fn place(root: &Path, path: &BString) -> Result<PathBuf> {
    let fine = |name: &[u8]| !matches!(name, b"" | b"." | b"..") && !is_dot_git(name.as_bstr());
    if path.split_str("/").all(fine) {
        return Ok(root.join(std::ffi::OsStr::from_bytes(path)));
    }
    Err(Failure::fault("writing a file of a snapshot", format!("{path} is no place in a working tree")))
}
