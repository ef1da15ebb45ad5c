//! Where worktrees of workers stand.

use crate::domain::Handle;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
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
