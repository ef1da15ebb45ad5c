//! Workers whose process is provably gone: one whose agent never ran is removed with all its traces; a run
//! that was cut short is ended, looked at once more and closed as failed.

use crate::domain::Change;
use crate::domain::End;
use crate::domain::Entry;
use crate::domain::Flag;
use crate::domain::Liveness;
use crate::domain::Oid;
use crate::domain::Outcome;
use crate::domain::Result;
use crate::domain::WorkerId;
use crate::domain::is_torn;
use crate::host::Lock;
use crate::plumbing::Edit;
use crate::plumbing::Objects;
use crate::state::Draft;
use crate::state::View;
use crate::state::Worker;
use crate::state::head_ref;
use crate::state::lock_reason;
use crate::verbs::custody;
use crate::verbs::finish;
use crate::verbs::outside::Outside;
use crate::verbs::session::Session;
use crate::verbs::snapshot;
use crate::verbs::stored;
use crate::verbs::supervise;
use bstr::BString;
use bstr::ByteSlice;
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// How long what an agent left running may take to end when asked.
pub const GRACE: Duration = Duration::from_secs(2);

/// Closes every dead worker; true if there was one. One that cannot be closed now is said and stays.
pub fn dead_workers(session: &Session<'_>, view: &View) -> bool {
    let mut any = false;
    for worker in view.workers.iter().filter(|w| w.record.outcome == Outcome::Active) {
        match one(session, worker, &End::SupervisorLost) {
            Ok(closed) => any |= closed,
            Err(failure) => session.tell(format!("{} is dead, but: {failure}", worker.record.handle)),
        }
    }
    any
}

/// Closes `worker` if its process is gone, as ended by `end`; false if it is not gone.
pub fn one(session: &Session<'_>, worker: &Worker, end: &End) -> Result<bool> {
    if custody::liveness(session, worker) != Liveness::Gone {
        return Ok(false);
    }
    // Both locks, held to the end: a supervisor that comes up only now finds them taken and gives up.
    let locks = [session.local.making(worker.id), session.local.alive(worker.id)];
    let [Some(_making), Some(_alive)] = [Lock::try_acquire(&locks[0])?, Lock::try_acquire(&locks[1])?] else {
        return Ok(false);
    };
    // What was read before the locks were held may be long over.
    let view = session.view()?;
    let active = |w: &&Worker| w.id == worker.id && w.record.outcome == Outcome::Active;
    let Some(worker) = view.workers.iter().find(active) else { return Ok(false) };
    if supervise::took_over(session, worker.id) || holds_work(session, worker)? {
        cut_short(session, worker, end)?;
    } else {
        never_ran(session, worker)?;
    }
    Ok(true)
}

/// Whether its refs or the worktree hold anything that its birth did not make. That a supervisor took over is
/// noted in a file that a power cut may lose; what it has done must not go with it.
fn holds_work(session: &Session<'_>, worker: &Worker) -> Result<bool> {
    let repo = &session.repo;
    let base = worker.record.base;
    if worker.wip.is_some() || worker.head.is_some_and(|head| head != base) {
        return Ok(true);
    }
    let Some(admin) = custody::standing(session, worker.id)? else { return Ok(false) };
    if repo.head_of(&admin)?.is_some_and(|head| head != base) {
        return Ok(true);
    }
    let tree = repo.objects.tree_of(base)?;
    let captured = snapshot::capture(session, worker.id, &admin)?.tree(tree)?;
    let stored =
        stored::or_disk(stored::tree(session, worker.record.jail, base, base, captured.tree), captured.tree)?;
    let changes = repo.objects.diff_trees(tree, stored)?;
    Ok(changes.iter().any(|change| is_work(&repo.objects, change)) || !captured.skipped.is_empty())
}

/// A checkout that was cut short lacks files, or has the beginning of one.
fn is_work(objects: &Objects, change: &Change) -> bool {
    let (old, new) = match (change.old, change.new) {
        (_, None) => return false,
        (None, Some(_)) => return true,
        (Some((was, _)), Some((is, _))) if was != is => return true,
        (Some((_, old)), Some((_, new))) => (old, new),
    };
    match (objects.blob(old), objects.blob(new)) {
        (Ok(old), Ok(new)) => !is_torn(&old, &new),
        _ => true,
    }
}

/// Removes every worktree that is locked with `reason`, half-made ones too, and the empty folder that was
/// meant for the one of worker `id`.
pub fn unmake(session: &Session<'_>, id: WorkerId, reason: &str) -> Result<()> {
    let _making = session.lock_worktrees()?;
    for (admin, path) in session.repo.admins_locked_with(reason)? {
        if let Some(path) = path {
            crate::host::remove_tree(&path)?;
        }
        session.repo.forget_worktree(&admin)?;
    }
    // git makes the folder before anything says whose it is; then it is empty.
    let place = crate::host::read_optional(&session.local.place(id))?.unwrap_or_default();
    let _ = std::fs::remove_dir(Path::new(std::ffi::OsStr::from_bytes(place.trim_end())));
    Ok(())
}

/// The folder of a worktree of which a power cut, or a git that died, left no trace that says whose it is, if nothing but
/// a checkout of `tree` is in it. One that is registered and not locked may be a person's choice: it goes only if
/// the worker `never_ran`.
pub fn unmake_torn(session: &Session<'_>, id: WorkerId, tree: Oid, never_ran: bool) -> Result<()> {
    let noted = crate::host::read_optional(&session.local.place(id))?.unwrap_or_default();
    let place = Path::new(std::ffi::OsStr::from_bytes(noted.trim_end()));
    if noted.is_empty() || !place.is_dir() {
        return Ok(());
    }
    let _making = session.lock_worktrees()?;
    let admins = session.repo.locked_admins()?.into_iter().filter(|(_, admin, _)| admin.path == place);
    let admins: Vec<_> = admins.collect();
    if admins.iter().any(|(reason, ..)| !never_ran || !reason.is_empty()) {
        return Ok(());
    }
    let objects = &session.repo.objects;
    let files: HashMap<BString, Entry> = objects.entries(tree)?.into_iter().collect();
    let of_base = |path: &Path, text: &[u8]| {
        let file = files.get(path.as_os_str().as_bytes().as_bstr());
        file.is_some_and(|(_, oid)| objects.blob(*oid).is_ok_and(|whole| is_torn(&whole, text)))
    };
    if only(place, place, &of_base) {
        // A git that failed in making it has unlocked it, and left the rest.
        let unlocked = session.repo.admin_of(place);
        crate::host::remove_tree(place)?;
        let locked = admins.into_iter().map(|(_, admin, _)| admin);
        return locked.chain(unlocked).try_for_each(|admin| session.repo.forget_worktree(&admin));
    }
    session.tell(format!("left as it is, since there are other files in it: {}", place.display()));
    Ok(())
}

/// Whether each file below `folder`, beside the `.git` of a worktree, is one that `fine` knows by its path and content.
fn only(root: &Path, folder: &Path, fine: &dyn Fn(&Path, &[u8]) -> bool) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().all(|entry| {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => only(root, &path, fine),
            Ok(kind) if kind.is_file() && path == root.join(".git") => true,
            Ok(kind) if kind.is_file() => {
                let named = path.strip_prefix(root).unwrap_or(&path);
                std::fs::read(&path).is_ok_and(|text| fine(named, &text))
            }
            Ok(kind) if kind.is_symlink() => {
                let named = path.strip_prefix(root).unwrap_or(&path);
                std::fs::read_link(&path).is_ok_and(|to| fine(named, to.as_os_str().as_bytes()))
            }
            _ => false,
        }
    })
}

/// No agent ever ran there, so there is nothing to keep.
fn never_ran(session: &Session<'_>, worker: &Worker) -> Result<()> {
    unmake(session, worker.id, &lock_reason(worker.id))?;
    unmake_torn(session, worker.id, session.repo.objects.tree_of(worker.record.base)?, true)?;
    crate::fault::point("reclaim: half-made worktree removed");
    let mut draft = Draft::new(&session.repo);
    if let Some(head) = worker.head {
        draft = draft.put(Edit::delete(head_ref(worker.id)?, head));
    }
    // The record last: while it is there, the rest is looked for again.
    draft.put(Edit::delete(worker.ref_name()?, worker.at)).publish()?;
    crate::host::remove_tree(&session.local.worker(worker.id))?;
    crate::host::remove_tree(&session.local.kept_home(worker.id))?;
    session
        .tell(format!("recovered: {} was cut short before its agent ran; it is gone", worker.record.handle));
    Ok(())
}

fn cut_short(session: &Session<'_>, worker: &Worker, end: &End) -> Result<()> {
    // The agent died with its supervisor, but what it had started did not.
    let left = crate::host::end_marked(supervise::MARK, &[session.local.brief(worker.id).into()], GRACE);
    let mut flags = vec![Flag::SupervisorLost];
    if left {
        flags.push(Flag::Survivors);
    }
    let seen = custody::look(session, worker)?;
    // An agent may have killed it for that.
    let before = Outside::before(session, worker.id)?;
    let outside = Outside::since(session, before.as_ref(), worker.id)?;
    finish::close(session, worker.id, end, &seen, None, flags, outside)?;
    session.tell(format!("recovered: the supervisor of {} died; its work is kept", worker.record.handle));
    Ok(())
}
