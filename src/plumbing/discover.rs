//! Finding a repository and its configuration without a git process, where both are plain. Whatever is not is
//! left to git: another binding by the environment, another owner, an extension, an include, a value that two
//! parsers might read in two ways. So what is found here is what git finds.

use crate::domain::Config;
use crate::plumbing::git::BINDING;
use crate::plumbing::git::Git;
use crate::plumbing::repo::Dirs;
use bstr::ByteSlice;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::path::PathBuf;

/// Variables that say it of the system's.
const SYSTEM: [&str; 2] = ["GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM"];

/// The repository around `cwd`, if it is a plain one of sha1 and files. `note` says where, below a shared git
/// folder, [`SystemNote`] is kept.
pub(super) fn plainly(cwd: &Path, git: &Git, note: &dyn Fn(&Path) -> PathBuf) -> Option<(Dirs, Config)> {
    if BINDING.iter().any(|name| git.person(name).is_some()) {
        return None;
    }
    let dirs = dirs(&cwd.canonicalize().ok()?)?;
    let config = config(&dirs.common, git, note)?;
    let plain = config.get("core.repositoryformatversion").is_none_or(|v| v == "0")
        && config.get("core.bare").is_none_or(|v| v == "false")
        && config.get("core.worktree").is_none()
        && !config.iter().any(|(key, _)| LEFT.iter().any(|left| key.starts_with(left)));
    plain.then_some((dirs, config))
}

/// The git folder of the repository around `cwd`, and the one that its worktrees share, whatever is configured there.
pub(super) fn around(cwd: &Path) -> Option<(PathBuf, PathBuf)> {
    let dirs = dirs(&cwd.canonicalize().ok()?)?;
    Some((dirs.git, dirs.common))
}

/// Keys that change what else is read.
const LEFT: &[&str] = &["extensions.", "include.", "includeif."];

fn dirs(cwd: &Path) -> Option<Dirs> {
    let top = cwd.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok() || has_head(dir))?;
    let device = top.metadata().ok()?.dev();
    let between = cwd.ancestors().take_while(|dir| *dir != top);
    if between.into_iter().any(|dir| !dir.metadata().is_ok_and(|meta| meta.dev() == device)) {
        return None;
    }
    let link = top.join(".git");
    let git = match link.symlink_metadata().ok()? {
        meta if meta.is_dir() => link.clone(),
        meta if meta.is_file() => pointed_at(&link, b"gitdir: ")?,
        _ => return None,
    };
    let common = match std::fs::read(git.join("commondir")) {
        Ok(said) => named(&git, &said)?,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => git.clone(),
        Err(_) => return None,
    };
    let own = rustix::process::geteuid().as_raw();
    let owned = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.uid() == own);
    let whole = has_head(&git) && ["objects", "refs"].iter().all(|part| common.join(part).is_dir());
    let sound = whole && [top, &link, &git, &common].into_iter().all(owned);
    sound.then(|| Dirs { git, common, work_tree: Some(top.to_owned()), bare: false })
}

/// Whether `dir` has what a git folder begins with.
fn has_head(dir: &Path) -> bool {
    let head = dir.join("HEAD");
    if !head.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
        return false;
    }
    let is_oid = |head: &[u8]| head.len() >= 40 && head[..40].iter().all(u8::is_ascii_hexdigit);
    std::fs::read(head).is_ok_and(|head| head.starts_with(b"ref: refs/") || is_oid(&head))
}

/// The folder that the file `link` names after `word`.
fn pointed_at(link: &Path, word: &[u8]) -> Option<PathBuf> {
    let said = std::fs::read(link).ok()?;
    named(link.parent()?, said.strip_prefix(word)?)
}

/// The folder that a line names, seen from `from`.
fn named(from: &Path, line: &[u8]) -> Option<PathBuf> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    if line.is_empty() || line.contains(&b'\n') || line.contains(&b'\r') {
        return None;
    }
    from.join(OsStr::from_bytes(line)).canonicalize().ok()
}

/// What git reads, in its order: of the system, of the person, of the repository.
fn config(common: &Path, git: &Git, note: &dyn Fn(&Path) -> PathBuf) -> Option<Config> {
    let mut files = Vec::new();
    match SYSTEM.map(|name| git.passed(name).map(OsStr::as_bytes)) {
        [Some(b"1" | b"true"), _] => {}
        [Some(_), _] => return None,
        [None, Some(file)] => files.push(PathBuf::from(OsStr::from_bytes(file))),
        [None, None] => files.push(SystemNote::read(&note(common))?.file(git)?),
    }
    let home = git.passed("HOME").map(PathBuf::from);
    match git.passed("GIT_CONFIG_GLOBAL") {
        Some(file) => files.push(PathBuf::from(file)),
        None => {
            let own = git.passed("XDG_CONFIG_HOME").filter(|set| !set.is_empty()).map(PathBuf::from);
            files.extend(
                own.or_else(|| Some(home.as_ref()?.join(".config"))).map(|dir| dir.join("git/config")),
            );
            files.extend(home.map(|home| home.join(".gitconfig")));
        }
    }
    files.push(common.join("config"));
    let mut all = Vec::new();
    for file in files {
        if !file.is_absolute() {
            return None;
        }
        match std::fs::read(&file) {
            Ok(bytes) => pairs(&bytes, &mut all)?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(_) => return None,
        }
    }
    Some(all.into_iter().collect())
}

/// The keys and values of one file, as `git config --list` has them.
pub(super) fn pairs(bytes: &[u8], to: &mut Vec<(String, String)>) -> Option<()> {
    if bytes.contains(&b'\r') || bytes.contains(&0) || bytes.starts_with(b"\xef\xbb\xbf") {
        return None;
    }
    let meta = gix::config::file::Metadata::api();
    let file = gix::config::File::from_bytes_no_includes(bytes, meta, Default::default()).ok()?;
    for section in file.sections() {
        let header = section.header();
        if header.is_legacy() || header.name().is_empty() {
            return None;
        }
        let mut start = header.name().to_str().ok()?.to_ascii_lowercase();
        if let Some(name) = header.subsection_name() {
            start = format!("{start}.{}", name.to_str().ok()?);
        }
        let mut seen: Vec<String> = Vec::new();
        for name in section.body().value_names() {
            let name = name.to_ascii_lowercase();
            let nth = seen.iter().filter(|before| **before == name).count();
            let value = section.values(&name).into_iter().nth(nth)?;
            // A key without a value looks the same here, and is not.
            if value.is_empty() {
                return None;
            }
            to.push((format!("{start}.{name}"), value.to_str().ok()?.to_owned()));
            seen.push(name);
        }
    }
    Some(())
}

/// Which file the git in use reads as the system's. Only that git knows: it is a constant in it.
pub(super) struct SystemNote(Vec<u8>);

impl SystemNote {
    fn read(path: &Path) -> Option<SystemNote> {
        std::fs::read(path).ok().map(SystemNote)
    }

    /// The note to keep, unless the one at `path` holds for this git. An empty name says that git did not tell.
    pub fn renewed(path: &Path, git: &Git) -> Option<Vec<u8>> {
        if SYSTEM.iter().any(|name| git.passed(name).is_some()) {
            return None;
        }
        let stamp = git.stamp()?;
        if SystemNote::read(path).is_some_and(|old| old.0.starts_with(&stamp)) {
            return None;
        }
        let told = git.system_file().unwrap_or_default();
        Some([stamp, told].concat())
    }

    /// The file, if the note is of this very git.
    fn file(&self, git: &Git) -> Option<PathBuf> {
        let told = self.0.strip_prefix(git.stamp()?.as_slice())?;
        Some(PathBuf::from(OsStr::from_bytes(told)))
    }
}

#[cfg(test)]
mod tests;
