//! Where worktrees of workers stand.

use crate::domain::Handle;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::quoted;
use crate::plumbing::Worktree;
use crate::verbs::session::Session;
use std::path::Path;
use std::path::PathBuf;

/// The folder of all worktrees of workers.
pub fn folder(session: &Session<'_>, worktrees: &[Worktree]) -> PathBuf {
    let main = worktrees.first().map(|w| w.path.clone()).unwrap_or_default();
    match session.config.path("skein.worktreedir", session.env.get("HOME")) {
        Some(dir) => crate::host::resolved(&main.join(dir)),
        None => {
            let mut name = main.file_name().unwrap_or_default().to_owned();
            name.push(".skein");
            main.with_file_name(name)
        }
    }
}

/// Where the worktree of `handle` goes. Never inside a working tree: `git clean` there would take it.
pub fn place(session: &Session<'_>, worktrees: &[Worktree], handle: &Handle) -> Result<PathBuf> {
    let path = folder(session, worktrees).join(handle.as_str());
    refuse_place(session, worktrees, &path)?;
    Ok(path)
}

/// The outermost working tree of another repository that `path` would lie in, if it is not ignored there.
fn outermost(session: &Session<'_>, path: &Path) -> Result<Option<PathBuf>> {
    let own = &session.repo.dirs.common;
    let is_tree = |dir: &Path| {
        let git = dir.join(".git");
        (git.is_file() || git.join("HEAD").exists()) && std::fs::canonicalize(&git).is_ok_and(|at| at != *own)
    };
    let mut found = None;
    for dir in path.ancestors().skip(1).filter(|dir| is_tree(dir)) {
        if !session.repo.ignores(dir, path)? {
            found = Some(dir.to_owned());
        }
    }
    Ok(found)
}

/// Refuses a place for a worktree that lies inside a working tree, or where something stands already.
pub fn refuse_place(session: &Session<'_>, worktrees: &[Worktree], path: &Path) -> Result<()> {
    let inside = worktrees.iter().any(|w| !w.bare && path != w.path && path.starts_with(&w.path));
    if inside || path.starts_with(&session.repo.dirs.common) {
        return Err(Refusal::new(
            Token::WorktreeInside,
            "the worktree would stand inside a working tree, where git clean deletes it",
        )
        .lines([path.display().to_string()])
        .show("git config --get skein.worktreeDir")
        .next("name a folder outside; for skein.worktreeDir, ../<repository>.skein")
        .into());
    }
    if let Some(outer) = outermost(session, path)? {
        let name = session.repo.dirs.work_tree.as_deref().and_then(Path::file_name).unwrap_or_default();
        let mut beside = outer.clone().into_os_string();
        beside.push("-");
        beside.push(name);
        beside.push(".skein");
        session.tell(format!(
            "the worktree stands inside {}, another repository, whose git clean -ffd takes it; for the next ones: git config skein.worktreeDir {}",
            outer.display(),
            quoted(&beside)
        ));
    }
    let registered = worktrees.iter().any(|w| w.path == path);
    if registered || std::fs::symlink_metadata(path).is_ok() {
        return Err(Refusal::new(Token::WorktreeExists, "the folder for the worktree exists already")
            .lines([path.display().to_string()])
            .show("git worktree list")
            .next("choose another one, or move the folder away")
            .into());
    }
    Ok(())
}
