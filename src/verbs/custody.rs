//! Where a worker's work is: in its worktree as long as that stands, else in its refs.

use crate::domain::Handle;
use crate::domain::Liveness;
use crate::domain::Oid;
use crate::domain::Outcome;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::plumbing::Admin;
use crate::plumbing::Worktree;
use crate::state::View;
use crate::state::Worker;
use crate::state::WorkerRecord;
use crate::state::locked_for;
use crate::state::wip_ref;
use crate::verbs::jail;
use crate::verbs::registration::Registered;
use crate::verbs::registration::Registration;
use crate::verbs::session::Session;
use crate::verbs::snapshot;
use crate::verbs::snapshot::Kept;
use crate::verbs::snapshot::Seen;
use bstr::ByteSlice;

/// Where every worker has its address.
const MAIL: &str = "@worker.skein.invalid";

/// The address that a worker commits with.
pub fn mail(id: WorkerId) -> String {
    format!("{id}{MAIL}")
}

/// `Name <mail>` of a worker.
pub fn author(id: WorkerId, handle: &Handle) -> String {
    format!("{handle} <{}>", mail(id))
}

/// Whether `oid` was committed in the name of worker `id`. A landing is committed by the person.
pub fn committed_by(session: &Session<'_>, oid: Oid, id: WorkerId) -> Result<bool> {
    Ok(session.repo.objects.commit(oid)?.committer.contains_str(mail(id)))
}

/// Whether `oid` was committed by some worker.
pub fn committed_by_a_worker(session: &Session<'_>, oid: Oid) -> Result<bool> {
    Ok(session.repo.objects.commit(oid)?.committer.contains_str(MAIL))
}

/// Whether `id` is a worker of this clone. One that no record names can only be if it is younger than the clone, or
/// has run here.
pub fn is_of_this_clone(session: &Session<'_>, view: &View, id: WorkerId) -> bool {
    let clone = session.clone_id();
    let record = view.workers.iter().find(|w| w.id == id).map(|w| &w.record);
    match (record, clone.and_then(|id| id.parse::<WorkerId>().ok())) {
        (Some(record), _) => clone == Some(record.clone.as_str()),
        (None, Some(here)) if id.millis() >= here.millis() => true,
        _ => session.local.worker(id).exists(),
    }
}

/// The worker in whose name a commit with this committer was made.
pub fn worker_of(committer: &[u8]) -> Option<WorkerId> {
    let end = committer.find(MAIL)?;
    let start = committer.get(..end)?.rfind("<")? + 1;
    committer.get(start..end)?.to_str().ok()?.parse().ok()
}

/// Whether the worker's process runs. Only its own clone can know, and only where its lock files are.
pub fn liveness(session: &Session<'_>, worker: &Worker) -> Liveness {
    liveness_of(session, &worker.record)
}

pub fn liveness_of(session: &Session<'_>, record: &WorkerRecord) -> Liveness {
    if session.clone_id() != Some(record.clone.as_str()) {
        return Liveness::Unknown;
    }
    let locks = [session.local.alive(record.worker), session.local.making(record.worker)];
    if locks.iter().any(|l| crate::host::is_held(l).unwrap_or(false)) {
        return Liveness::Live;
    }
    // A missing file proves nothing: the folder is disposable.
    if locks.iter().any(|l| l.exists()) { Liveness::Gone } else { Liveness::Unknown }
}

/// Whether it is recorded as running, but its process is gone.
pub fn supervisor_lost(session: &Session<'_>, record: &WorkerRecord) -> bool {
    record.outcome == Outcome::Active && liveness_of(session, record) == Liveness::Gone
}

pub fn refuse_running(session: &Session<'_>, worker: &Worker) -> Result<()> {
    // A supervisor writes the outcome when the run is over, and is gone a moment later.
    if worker.record.outcome != Outcome::Active || liveness(session, worker) != Liveness::Live {
        return Ok(());
    }
    let handle = &worker.record.handle;
    Err(Refusal::new(Token::StillRunning, format!("{handle} is still running"))
        .show(format!("git log -1 {}", wip_ref(worker.id)?))
        .next(format!("git skein wait {handle}, or git skein stop {handle}"))
        .into())
}

/// Refuses what needs the work of a worker that another clone has.
pub fn refuse_away(worker: &Worker) -> Result<()> {
    if !worker.is_away {
        return Ok(());
    }
    let handle = &worker.record.handle;
    Err(Refusal::new(
        Token::ForeignWorker,
        format!("{handle} ran in another clone, and its newest work is not here"),
    )
    .oid("its tip there", worker.record.tip.unwrap_or(worker.record.base))
    .show(format!("git show {}:record.json", worker.ref_text()))
    .next(format!(
        "there: git skein import --any-outcome {handle}; then push and fetch {}",
        worker.ref_text()
    ))
    .into())
}

/// The worktree of worker `id` among `worktrees`: the one locked in its name.
pub fn worktree(worktrees: &[Worktree], id: WorkerId) -> Option<&Worktree> {
    worktrees.iter().find(|w| w.locked.as_deref().and_then(locked_for) == Some(id))
}

/// The worktree of the worker, if it still stands.
pub fn standing(session: &Session<'_>, id: WorkerId) -> Result<Option<Admin>> {
    let worktrees = session.repo.worktrees()?;
    let found = worktree(&worktrees, id).map(Worktree::admin);
    Ok(found.filter(|admin| session.repo.stands(admin)))
}

/// What the worker's work is now; what is seen is kept.
pub fn look(session: &Session<'_>, worker: &Worker) -> Result<Seen> {
    let kept = Kept { head: worker.head, wip: worker.wip };
    if let Some(admin) = standing(session, worker.id)? {
        jail::mend(session, worker.id, &admin, worker.record.base)?;
        let mut capture = snapshot::capture(session, worker.id, &admin)?;
        let seen = snapshot::take(session, worker.id, worker.record.base, &admin, &mut capture, kept)?;
        if seen.withheld.is_none() && liveness(session, worker) != Liveness::Live {
            jail::give_back(session, worker.id, &admin, worker.record.base, &worker.record.agent)?;
        }
        return Ok(seen);
    }
    // Whoever removed or replaced the folder may have committed before; where `HEAD` was is still noted.
    match Registered::read(session)?.of(session, worker.id) {
        gone @ (Registration::Gone(_) | Registration::Estranged(..)) => gone.look(session, worker),
        _ => from_refs(session, worker, kept),
    }
}

/// The newest picture of the work in the refs: the kept `HEAD`, and the tree of the newest snapshot if that
/// was taken on this very `HEAD`, else the tree of `HEAD`.
pub fn picture(session: &Session<'_>, worker: &Worker) -> Result<(Oid, Oid)> {
    let objects = &session.repo.objects;
    let head = worker.tip();
    if let Some(wip) = worker.wip {
        let snapshot = objects.commit(wip)?;
        if snapshot.parents.first() == Some(&head) {
            return Ok((head, snapshot.tree));
        }
    }
    Ok((head, objects.tree_of(head)?))
}

/// Without a worktree the refs say what there is.
pub fn from_refs(session: &Session<'_>, worker: &Worker, kept: Kept) -> Result<Seen> {
    let objects = &session.repo.objects;
    let (head, tree) = picture(session, worker)?;
    Ok(Seen {
        head,
        tree,
        leftovers: objects.diff_trees(objects.tree_of(head)?, tree)?,
        skipped: Vec::new(),
        ignored: Vec::new(),
        kept,
        withheld: None,
    })
}
