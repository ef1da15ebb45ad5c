//! Workers whose process is provably gone: a worktree that never stood is removed with its record; a run
//! that was cut short is looked at once more and closed as failed.

use crate::domain::End;
use crate::domain::Flag;
use crate::domain::Liveness;
use crate::domain::Outcome;
use crate::domain::Result;
use crate::host::Lock;
use crate::plumbing::Edit;
use crate::state::Draft;
use crate::state::View;
use crate::state::Worker;
use crate::state::head_ref;
use crate::verbs::custody;
use crate::verbs::finish;
use crate::verbs::session::Session;

pub fn dead_workers(session: &Session<'_>, view: &View) -> Result<()> {
    for worker in view.workers.iter().filter(|w| w.record.outcome == Outcome::Active) {
        if custody::liveness(session, worker) != Liveness::Gone {
            continue;
        }
        // A supervisor may be on its way; it finds the lock taken, or the worker closed.
        let Some(_alive) = Lock::try_acquire(&session.local.alive(worker.id))? else { continue };
        match worker.record.tip {
            None => never_stood(session, worker)?,
            Some(_) => cut_short(session, worker)?,
        }
    }
    Ok(())
}

/// No agent ever ran there, so there is nothing to keep.
fn never_stood(session: &Session<'_>, worker: &Worker) -> Result<()> {
    let _making = session.lock_worktrees()?;
    let worktrees = session.repo.worktrees()?;
    if let Some(half) = custody::worktree(&worktrees, worker.id) {
        let admin = session.repo.admin_of(&half.path);
        crate::host::remove_tree(&half.path)?;
        if let Some(admin) = admin {
            session.repo.forget_worktree(&admin)?;
        }
    }
    crate::fault::point("reclaim: half-made worktree removed");
    let mut draft = Draft::new(&session.repo).put(Edit::delete(worker.ref_name()?, worker.at));
    if let Some(head) = worker.head {
        draft = draft.put(Edit::delete(head_ref(worker.id)?, head));
    }
    draft.publish()?;
    crate::host::remove_tree(&session.local.worker(worker.id))?;
    session.tell(format!(
        "recovered: {} was cut short before its worktree stood; it is gone",
        worker.record.handle
    ));
    Ok(())
}

fn cut_short(session: &Session<'_>, worker: &Worker) -> Result<()> {
    let seen = custody::look(session, worker)?;
    finish::close(
        session,
        worker.id,
        &End::SupervisorLost,
        &seen,
        None,
        vec![Flag::SupervisorLost],
        Vec::new(),
    )?;
    session.tell(format!("recovered: the supervisor of {} died; its work is kept", worker.record.handle));
    Ok(())
}
