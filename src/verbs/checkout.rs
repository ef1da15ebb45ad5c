//! The trunk's own checkout: when a trunk moves, the tree and index where it is checked out move with it,
//! or the landing is refused before anything changes. Nobody's work is stashed, discarded or merged.

use crate::domain::Change;
use crate::domain::DocId;
use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::OpId;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::folded;
use crate::domain::quoted;
use crate::host::Lock;
use crate::plumbing::Admin;
use crate::plumbing::Untracked;
use crate::verbs::session::Session;
use bstr::BStr;
use bstr::BString;
use bstr::ByteSlice;
use std::collections::HashMap;
use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Where `branch` is checked out, if anywhere. Refuses where it is twice, or something is under way there.
pub fn find(session: &Session<'_>, branch: &RefName) -> Result<Option<Admin>> {
    if session.repo.denied_checkout()?.as_ref() == Some(branch) {
        let says = format!("core.bare is true, but {} is checked out in a working tree", branch.short());
        return Err(Refusal::new(Token::WronglyBare, says)
            .lines(["it would stay behind, and git would show the landing taken back there".to_owned()])
            .show("git config --show-origin --get core.bare")
            .next("git config core.bare false")
            .into());
    }
    let mut found = Vec::new();
    for (index, worktree) in session.repo.worktrees()?.into_iter().enumerate() {
        if worktree.bare {
            continue;
        }
        let here = worktree.branch.as_ref() == Some(branch);
        if index == 0 && here && worktree.path == session.repo.dirs.common {
            return Err(Failure::fault(
                format!("finding the checkout of {}", branch.short()),
                "its files cannot be found from here; give the command where they are",
            ));
        }
        let admin = worktree.admin();
        let progress = session.repo.in_progress(&admin)?;
        match progress {
            Some((what, returns_to)) if here || returns_to.as_ref() == Some(branch) => {
                return Err(in_progress(what, branch, &admin.path));
            }
            _ if here => found.push(admin),
            _ => {}
        }
    }
    if found.len() > 1 {
        return Err(Refusal::new(
            Token::CheckedOutTwice,
            format!("{} is checked out more than once", branch.short()),
        )
        .lines(found.iter().map(|a| a.path.display().to_string()))
        .show("git worktree list")
        .next("switch all but one of them to another branch or detach them")
        .into());
    }
    Ok(found.pop().filter(|admin| session.repo.stands(admin)))
}

fn in_progress(what: &str, branch: &RefName, path: &Path) -> Failure {
    Refusal::new(
        Token::OperationInProgress,
        format!("a {what} is in progress where {} is checked out", branch.short()),
    )
    .lines([path.display().to_string()])
    .show(format!("git -C {} status", quoted(path)))
    .next(format!("finish or abort the {what}, then try again"))
    .into()
}

/// What the lock of an index begins with while a landing of ours holds it.
const MARK: &[u8] = b"git-skein landing ";

/// The same while a document is entered into it.
const DOC_MARK: &[u8] = b"git-skein document ";

/// What the lock of an index holds while document `id` is entered.
pub fn doc_mark(id: DocId) -> String {
    format!("{}{id}\n", DOC_MARK.as_bstr())
}

/// What the lock of an index holds while operation `op` moves it.
pub fn mark(op: OpId) -> String {
    format!("{}{op}\n", MARK.as_bstr())
}

/// The operation that the lock of an index names, if it is one of ours.
pub fn marked_by(mark: &[u8]) -> Option<String> {
    Some(mark.strip_prefix(MARK)?.to_str_lossy().trim_end().to_owned())
}

/// The document that the lock of an index names, if it is one of ours.
pub fn entered_by(mark: &[u8]) -> Option<DocId> {
    mark.strip_prefix(DOC_MARK)?.trim_end().to_str().ok()?.parse().ok()
}

/// Removes a lock that a landing of ours left on an index, or a document. The land lock is held and no intent is open:
/// the landing that took it is over. True if there was one.
pub fn free_left(session: &Session<'_>, admin: &Admin) -> Result<bool> {
    let mark = session.repo.index_lock(admin).filter(|mark| mark.starts_with(MARK));
    let Some(mark) = mark else { return free_left_by_document(session, admin, None) };
    free(session, admin, mark.as_bstr())
}

/// Removes the lock that entering a document left on an index: `own`, which is held, or one that nobody holds.
/// True if there was one.
pub fn free_left_by_document(session: &Session<'_>, admin: &Admin, own: Option<DocId>) -> Result<bool> {
    let Some(mark) = session.repo.index_lock(admin) else { return Ok(false) };
    let Some(id) = entered_by(&mark) else { return Ok(false) };
    let _lock = match own == Some(id) {
        true => None,
        false => match Lock::try_acquire(&session.local.document_lock(id))? {
            None => return Ok(false),
            lock => lock,
        },
    };
    free(session, admin, mark.as_bstr())
}

fn free(session: &Session<'_>, admin: &Admin, mark: &BStr) -> Result<bool> {
    let held = session.repo.inherit_index(admin, &mark.to_str_lossy());
    held.map_or(Ok(()), |held| held.free())?;
    Ok(true)
}

pub fn index_locked(admin: &Admin) -> Failure {
    let lock = admin.dir.join("index.lock");
    Refusal::new(Token::IndexLocked, "another git holds the index of the trunk's checkout, or left its lock")
        .lines([lock.display().to_string()])
        .show(format!("fuser -v {}", quoted(&lock)))
        .next("let that git end; if none runs, remove the file and try again")
        .into()
}

/// Refuses if moving the checkout by `changes` would touch anything that is not committed.
pub fn refuse_overlap(session: &Session<'_>, admin: &Admin, changes: &[Change]) -> Result<()> {
    free_left(session, admin)?;
    if session.repo.index_lock(admin).is_some() {
        return Err(index_locked(admin));
    }
    if !session.repo.is_untouched(admin, changes) {
        refuse_dirty(session, admin, changes)?;
    }
    refuse_in_the_way(session, admin, changes)
}

fn refuse_dirty(session: &Session<'_>, admin: &Admin, changes: &[Change]) -> Result<()> {
    let touched: HashSet<&BString> = changes.iter().map(|c| &c.path).collect();
    let dirty = session.repo.status(admin, Untracked::Skip)?;
    let overlap: Vec<String> = dirty
        .iter()
        .filter(|d| touched.contains(&d.path))
        .map(|d| d.path.to_str_lossy().into_owned())
        .collect();
    if overlap.is_empty() {
        return Ok(());
    }
    Err(Refusal::new(Token::DirtyOverlap, "the landing changes files that have uncommitted changes")
        .lines(overlap)
        .show(format!("git -C {} status", quoted(&admin.path)))
        .next("commit or put aside those files; all others may stay as they are")
        .into())
}

/// `git read-tree` overwrites ignored files without a word, so what stands in the way is looked up here.
fn refuse_in_the_way(session: &Session<'_>, admin: &Admin, changes: &[Change]) -> Result<()> {
    let mut suspects = Vec::new();
    for change in changes.iter().filter(|c| c.new.is_some() && c.old.is_none()) {
        occupied(&admin.path, change.path.as_bstr(), &mut suspects);
    }
    if suspects.is_empty() {
        return Ok(());
    }
    let tracked: HashSet<BString> = session.repo.indexed(admin)?.into_iter().collect();
    let going = changes.iter().filter(|c| c.new.is_none());
    let going: HashMap<BString, &BString> = going.map(|c| (folded(c.path.as_bstr()), &c.path)).collect();
    // Where case is folded, a file that goes stands at its new name too.
    let goes = |p: &BString| {
        let old = going.get(&folded(p.as_bstr()));
        old.is_some_and(|old| is_one_file(&admin.path, old.as_bstr(), p.as_bstr()))
    };
    let mut way: Vec<String> = suspects
        .into_iter()
        .filter(|p| !tracked.contains(p) && !goes(p))
        .map(|p| p.to_str_lossy().into_owned())
        .collect();
    if way.is_empty() {
        return Ok(());
    }
    way.sort();
    way.dedup();
    Err(Refusal::new(Token::InTheWay, "files that git does not track stand where the landing adds files")
        .lines(way)
        .show(format!("git -C {} status --ignored", quoted(&admin.path)))
        .next("move them away, then try again")
        .into())
}

fn is_one_file(root: &Path, a: &BStr, b: &BStr) -> bool {
    let file = |path: &BStr| {
        let found = std::fs::symlink_metadata(root.join(std::ffi::OsStr::from_bytes(path))).ok()?;
        Some((found.dev(), found.ino()))
    };
    file(a).is_some() && file(a) == file(b)
}

/// Files at `path`, above it or below it in the working tree.
fn occupied(root: &Path, path: &BStr, found: &mut Vec<BString>) {
    let os = |bytes: &[u8]| root.join(std::ffi::OsStr::from_bytes(bytes));
    for at in path.find_iter("/") {
        if std::fs::symlink_metadata(os(&path[..at])).is_ok_and(|m| !m.is_dir()) {
            found.push(BString::from(&path[..at]));
        }
    }
    files_below(&os(path), BString::from(path.as_bytes()), found);
}

fn files_below(at: &Path, name: BString, found: &mut Vec<BString>) {
    let Ok(meta) = std::fs::symlink_metadata(at) else { return };
    if !meta.is_dir() {
        found.push(name);
        return;
    }
    for entry in std::fs::read_dir(at).into_iter().flatten().flatten() {
        let mut below = name.clone();
        below.push(b'/');
        below.extend_from_slice(entry.file_name().as_bytes());
        files_below(&entry.path(), below, found);
    }
}

/// Whether the index of the checkout already holds what `changes` bring, as after a crash between moving
/// the tree and moving the branch.
pub fn already_moved(
    session: &Session<'_>,
    admin: &Admin,
    new_tree: Oid,
    changes: &[Change],
) -> Result<bool> {
    let differs: HashSet<BString> = session.repo.index_differs(admin, new_tree)?.into_iter().collect();
    Ok(!changes.is_empty() && changes.iter().all(|c| !differs.contains(&c.path)))
}
