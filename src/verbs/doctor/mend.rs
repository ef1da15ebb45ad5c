//! What `doctor --fix` does: only what is ours or adds something. Each step stands by itself, and may be
//! done again.

use crate::domain::Failure;
use crate::domain::RefName;
use crate::domain::Result;
use crate::domain::WorkerId;
use crate::domain::doctor::Lost;
use crate::domain::doctor::rescue;
use crate::host::Lock;
use crate::plumbing::Edit;
use crate::plumbing::Moved;
use crate::state::Draft;
use crate::state::View;
use crate::state::open_move;
use crate::state::tip;
use crate::verbs::checkout;
use crate::verbs::doctor::look;
use crate::verbs::init;
use crate::verbs::session::Session;

/// What was done, and what could not be.
#[derive(Debug, Default)]
pub struct Done {
    pub fixed: Vec<String>,
    pub failed: Vec<String>,
}

impl Done {
    /// Notes how a step ended; one that fails does not keep the next from being tried.
    fn note(&mut self, what: &str, step: Result<Vec<String>>) {
        match step {
            Ok(done) => self.fixed.extend(done),
            Err(failure) => self.failed.push(format!("{what}: {failure}")),
        }
    }
}

pub fn all(session: &mut Session<'_>) -> Result<Done> {
    let mut done = Done::default();
    let recovered = recover(session);
    done.note("recovery", recovered);
    done.note("locks", free_locks(session));
    done.note("folders of workers that never were", sweep(session));
    // Where our own refs cannot be read, nobody can tell what else keeps a commit.
    match session.view() {
        Ok(view) => {
            let rescued = rescue_all(session, &view, &mut done);
            done.note("lost commits", rescued.map(|()| Vec::new()));
        }
        Err(failure) => done.failed.push(format!("lost commits: {failure}")),
    }
    done.note("log.excludeDecoration", hide(session));
    Ok(done)
}

/// What every writing verb begins with, where the repository was ever prepared.
fn recover(session: &mut Session<'_>) -> Result<Vec<String>> {
    let view = session.view()?;
    if !view.initialised || session.clone_id().is_none() {
        return Ok(Vec::new());
    }
    let (gone, open) = (look::gone(session, &view), look::intent(session, &view)?);
    let after = init::ensure_from(session, view)?;
    let (still_gone, still_open) = (look::gone(session, &after), look::intent(session, &after)?);
    let closed = gone.into_iter().filter(|w| !still_gone.contains(w));
    let mut done: Vec<String> =
        closed.map(|w| format!("closed worker {w}, whose supervisor is gone")).collect();
    if let Some(intent) = open.filter(|_| still_open.is_none()) {
        done.push(format!("ended landing {}, which was cut short", intent.op));
    }
    Ok(done)
}

/// Locks that a dead landing of ours left on an index.
fn free_locks(session: &Session<'_>) -> Result<Vec<String>> {
    let mut done = Vec::new();
    let Some(clone) = session.clone_id() else { return Ok(done) };
    let Some(_lock) = session.try_lock_landing()? else { return Ok(done) };
    if open_move(&session.repo, tip(&session.repo, clone)?)?.is_some() {
        return Ok(done);
    }
    for worktree in session.repo.worktrees()? {
        let admin = worktree.admin();
        if checkout::free_left(session, &admin)? {
            done.push(format!("removed {}", admin.dir.join("index.lock").display()));
        }
    }
    Ok(done)
}

/// Removes what a dispatch left that was killed before its worker was recorded, or while that was taken back: no
/// record knows it, no agent ran there.
fn sweep(session: &Session<'_>) -> Result<Vec<String>> {
    let mut done = Vec::new();
    let local = &session.local;
    let entries = std::fs::read_dir(local.run()).into_iter().flatten().flatten();
    let mut ids: Vec<WorkerId> =
        entries.filter_map(|e| e.file_name().to_str().and_then(|name| name.parse().ok())).collect();
    ids.sort();
    if ids.is_empty() {
        return Ok(done);
    }
    // Under this lock no dispatch is between its folder and its record.
    let _naming = session.lock_worktrees()?;
    let view = session.view()?;
    for id in ids {
        let known = view.workers.iter().any(|w| w.id == id)
            || view.unreadable.iter().any(|(unread, _)| *unread == id)
            || view.archived_worker(&session.repo, &id.to_string())?.is_some();
        if known || local.pid(id).exists() || crate::host::is_held(&local.alive(id))? {
            continue;
        }
        let folder = local.worker(id);
        let making = Lock::try_acquire(&local.making(id))?;
        if making.is_some() {
            crate::host::remove_tree(&folder)?;
            done.push(format!("removed {}, of a worker that never ran", folder.display()));
        }
    }
    Ok(done)
}

/// A branch for each lost commit.
fn rescue_all(session: &Session<'_>, view: &View, done: &mut Done) -> Result<()> {
    for lost in look::lost(session, view, &session.repo.worktrees()?)? {
        done.note("lost commits", rescue_one(session, &lost).map(|said| vec![said]));
        crate::fault::point("doctor: commit rescued");
    }
    Ok(())
}

/// Made durable with all that it needs: a fault if any of that is gone already.
fn rescue_one(session: &Session<'_>, lost: &Lost) -> Result<String> {
    let repo = &session.repo;
    let name = RefName::branch(&rescue(lost))?;
    repo.objects.count_as_written(repo.unkept(lost.oid)?);
    match Draft::new(repo).put(Edit::create(name.clone(), lost.oid)).publish()? {
        Moved::Done => Ok(format!("made branch {} for {} {}", name.short(), lost.oid, lost.subject)),
        Moved::Lost(_) => Err(Failure::fault(format!("making branch {}", name.short()), "it exists already")),
    }
}

/// Lets git log leave our refs out of its decorations.
fn hide(session: &mut Session<'_>) -> Result<Vec<String>> {
    let mut done = Vec::new();
    let missing = |session: &Session<'_>| -> Result<Vec<&'static str>> {
        Ok(look::ours(session)?.undecorated(&session.config))
    };
    if missing(session)?.is_empty() {
        return Ok(done);
    }
    let _lock = session.lock_landing()?;
    // Another process may have done it while this one waited.
    session.config = session.repo.config()?;
    for pattern in missing(session)? {
        session.repo.add_config("log.excludeDecoration", pattern)?;
        done.push(format!("added {pattern} to log.excludeDecoration in this repository's config"));
    }
    session.config = session.repo.config()?;
    Ok(done)
}
