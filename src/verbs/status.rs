//! `status`: every worker with outcome, liveness and what to do next. Derived on each look, stored nowhere.

use crate::domain::Flag;
use crate::domain::Handle;
use crate::domain::Liveness;
use crate::domain::Oid;
use crate::domain::Outcome;
use crate::domain::RefName;
use crate::domain::Result;
use crate::domain::WorkerId;
use crate::plumbing::Worktree;
use crate::state::Ledger;
use crate::state::View;
use crate::state::Worker;
use crate::verbs::custody;
use crate::verbs::session::Session;
use crate::verbs::stored::Picture;
use serde::Serialize;
use std::path::PathBuf;

/// All workers, by birth.
#[derive(Debug, Serialize)]
pub struct Status {
    pub workers: Vec<Row>,
    /// Records that this version cannot read.
    pub unreadable: Vec<Unreadable>,
}

#[derive(Debug, Serialize)]
pub struct Unreadable {
    pub worker: WorkerId,
    pub why: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub worker: WorkerId,
    pub handle: Handle,
    pub task: String,
    pub outcome: Outcome,
    pub reason: Option<String>,
    pub liveness: Liveness,
    pub flags: Vec<Flag>,
    pub base: Oid,
    pub base_name: String,
    pub onto: RefName,
    /// Commits that the target has gained since the base.
    pub behind: usize,
    pub head: Oid,
    pub commits: usize,
    /// Files changed, uncommitted ones included as far as a snapshot saw them.
    pub files: usize,
    pub snapshot: Option<Oid>,
    pub created: i64,
    pub ended: Option<i64>,
    /// Seconds since its birth.
    pub age: i64,
    #[serde(serialize_with = "crate::verbs::place_as_text")]
    pub worktree: Option<PathBuf>,
    pub deltas: u32,
    /// It is closed: only an archive has it.
    pub archived: bool,
    /// The commit its newest delta landed as, by the lane.
    pub landed: Option<Oid>,
    /// The command that comes next.
    pub next: String,
}

/// The open workers, or those in the archives.
pub fn run(session: &Session<'_>, archived: bool) -> Result<Status> {
    let mut view = session.view()?;
    if archived {
        let closed = view.archived(&session.repo)?;
        (view.workers, view.unreadable) = (closed, Vec::new());
    }
    let worktrees = if view.workers.is_empty() { Vec::new() } else { session.repo.worktrees()? };
    let ledger = Ledger::load(&session.repo, &view)?;
    let rows = view.workers.iter().map(|w| {
        row(session, &view, &ledger, &worktrees, w).map(|r| if archived { r.archived() } else { r })
    });
    Ok(Status {
        workers: rows.collect::<Result<Vec<Row>>>()?,
        unreadable: view
            .unreadable
            .iter()
            .map(|(worker, why)| Unreadable { worker: *worker, why: why.clone() })
            .collect(),
    })
}

/// One worker's row.
pub fn row(
    session: &Session<'_>,
    view: &View,
    ledger: &Ledger,
    worktrees: &[Worktree],
    worker: &Worker,
) -> Result<Row> {
    let objects = &session.repo.objects;
    let record = &worker.record;
    let picture = Picture::of(session, worker)?;
    let head = picture.head;
    let on_base = objects.is_ancestor(record.base, head)?;
    let behind = match view.branches.get(&record.onto) {
        Some(target) => objects.between(record.base, *target)?.len(),
        None => 0,
    };
    let liveness = custody::liveness(session, worker);
    let landed = ledger
        .deltas()
        .find(|(op, _, d)| d.worker == worker.id && d.n == record.deltas && !ledger.is_taken_back(**op))
        .map(|(_, l, _)| l.new);
    let files = picture.objects(session).diff_trees(objects.tree_of(record.base)?, picture.tree)?.len();
    Ok(Row {
        worker: worker.id,
        handle: record.handle.clone(),
        task: record.task.clone(),
        outcome: record.outcome,
        reason: record.reason.clone(),
        liveness,
        flags: record.flags.clone(),
        base: record.base,
        base_name: record.base_name.clone(),
        onto: record.onto.clone(),
        behind,
        head,
        commits: if on_base { objects.between(record.base, head)?.len() } else { 0 },
        files,
        snapshot: worker.wip,
        created: record.created,
        ended: record.ended,
        age: session.clock.now_secs() - record.created,
        worktree: custody::worktree(worktrees, worker.id).map(|w| w.path.clone()),
        deltas: record.deltas,
        archived: false,
        landed,
        next: next(record.outcome, liveness, landed.is_some(), files, &record.handle),
    })
}

impl Row {
    /// As that of a closed worker.
    pub fn archived(self) -> Row {
        Row { archived: true, next: format!("git skein restore {}", self.handle), ..self }
    }
}

fn next(outcome: Outcome, liveness: Liveness, landed: bool, files: usize, handle: &Handle) -> String {
    let verb = match (outcome, liveness) {
        _ if landed => "reap",
        (Outcome::Active, Liveness::Live) => "wait",
        (Outcome::Active, _) => "stop",
        (Outcome::Ready | Outcome::Stopped, _) if files > 0 => "land",
        (Outcome::NeedsInput, _) if files > 0 => "show --diff",
        _ => "show --log",
    };
    format!("git skein {verb} {handle}")
}
