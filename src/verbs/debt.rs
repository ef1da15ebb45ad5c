//! `debt`: work that landed or was put away and that nobody ever judged. From lanes and records alone, so any clone that
//! has them can tell.

use crate::domain::Decision;
use crate::domain::Handle;
use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Result;
use crate::domain::WorkerId;
use crate::state::LandedDelta;
use crate::state::LaneEntry;
use crate::state::Ledger;
use crate::state::Verdict;
use crate::state::View;
use crate::state::Worker;
use crate::state::records;
use crate::verbs::session::Session;
use serde::Serialize;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

#[derive(Debug, Serialize)]
pub struct Debt {
    /// Newest first.
    pub owed: Vec<Owed>,
}

/// One verdict that was never given.
#[derive(Debug, Serialize)]
pub struct Owed {
    pub worker: WorkerId,
    /// None of a worker that is known nowhere any more.
    pub handle: Option<Handle>,
    pub task: Option<String>,
    /// `landed`, or `closed` without having landed.
    pub what: &'static str,
    pub at: i64,
    /// Of what landed: the delta, where, and as what.
    pub delta: Option<u32>,
    pub onto: Option<RefName>,
    pub commit: Option<Oid>,
    /// The command that comes next.
    pub next: String,
}

pub fn run(session: &Session<'_>) -> Result<Debt> {
    let view = session.view()?;
    let repo = &session.repo;
    let verdicts = verdicts(session, &view)?;
    let closed = view.archived(repo)?;
    let known: BTreeMap<WorkerId, &Worker> =
        view.workers.iter().chain(&closed).map(|worker| (worker.id, worker)).collect();
    let open = |id: WorkerId| view.workers.iter().any(|w| w.id == id);
    let ledger = Ledger::load(repo, &view)?;
    let (mut owed, mut landed) = (Vec::new(), BTreeSet::new());
    for (op, at, landing) in &ledger.landings {
        let Some(delta) = &landing.delta else { continue };
        // Once for each worker: its newest landing.
        if ledger.is_taken_back(*op) || !landed.insert(delta.worker) || judged(&verdicts, delta) {
            continue;
        }
        let worker = known.get(&delta.worker);
        let next = match worker.filter(|worker| open(worker.id)) {
            Some(worker) => format!("git skein verdict {}", worker.record.handle),
            None => format!("git show {}", landing.new),
        };
        owed.push(Owed {
            worker: delta.worker,
            handle: worker.map(|w| w.record.handle.clone()),
            task: worker.map(|w| w.record.task.clone()),
            what: "landed",
            at: *at,
            delta: Some(delta.n),
            onto: Some(landing.onto.clone()),
            commit: Some(landing.new),
            next,
        });
    }
    let times = view.closing_times(repo)?;
    for worker in &closed {
        let (id, record) = (worker.id, &worker.record);
        let worked = worker.tip() != record.base || record.snapshot.is_some();
        if !worked || landed.contains(&id) || verdicts.iter().any(|v| v.worker == id) {
            continue;
        }
        owed.push(Owed {
            worker: id,
            handle: Some(record.handle.clone()),
            task: Some(record.task.clone()),
            what: "closed",
            at: times.get(&id).copied().unwrap_or(record.created),
            delta: None,
            onto: None,
            commit: None,
            next: format!("git skein restore {}", record.handle),
        });
    }
    owed.sort_by_key(|one| std::cmp::Reverse((one.at, one.worker)));
    Ok(Debt { owed })
}

/// The judgments on all lanes. An answer is none.
fn verdicts(session: &Session<'_>, view: &View) -> Result<Vec<Verdict>> {
    let mut found = Vec::new();
    for tip in view.lanes.values() {
        for (_, record) in records(&session.repo, Some(*tip))? {
            if let LaneEntry::Verdict(verdict) = record.entry {
                found.push(verdict);
            }
        }
    }
    found.retain(|verdict| verdict.verb != Decision::Answer);
    Ok(found)
}

/// Whether somebody judged what landed.
fn judged(verdicts: &[Verdict], delta: &LandedDelta) -> bool {
    verdicts.iter().any(|v| v.worker == delta.worker && v.raw.as_ref() == Some(&delta.raw))
}
