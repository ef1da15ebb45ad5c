//! `log`: the lanes, newest first. `log decisions`: the verdicts among their records, with what each rests on.

use crate::domain::Handle;
use crate::domain::Oid;
use crate::domain::Result;
use crate::domain::WorkerId;
use crate::state::LaneRecord;
use crate::state::View;
use crate::state::newest_first;
use crate::state::ran;
use crate::verbs::session::Session;
use serde::Serialize;
use std::collections::BTreeMap;

pub use crate::state::Evidence;
pub use crate::state::Landing;
pub use crate::state::LaneEntry;
pub use crate::state::Undo;

#[derive(Debug, Serialize)]
pub struct Log {
    pub entries: Vec<Entry>,
}

#[derive(Debug, Serialize)]
pub struct Entry {
    pub lane: String,
    pub commit: Oid,
    #[serde(flatten)]
    pub record: LaneRecord,
}

#[derive(Debug, Serialize)]
pub struct Decisions {
    pub entries: Vec<Decided>,
}

/// One verdict.
#[derive(Debug, Serialize)]
pub struct Decided {
    #[serde(flatten)]
    pub entry: Entry,
    /// None of a worker that is known nowhere any more.
    pub handle: Option<Handle>,
    /// What had been run on its work.
    pub ran: Vec<Evidence>,
}

pub fn run(session: &Session<'_>, most: Option<usize>) -> Result<Log> {
    of(session, &session.view()?, most, |_| true)
}

/// The lanes without all that is no verdict.
pub fn verdicts(session: &Session<'_>, most: Option<usize>) -> Result<Log> {
    of(session, &session.view()?, most, is_verdict)
}

fn is_verdict(record: &LaneRecord) -> bool {
    matches!(record.entry, LaneEntry::Verdict(_))
}

fn of(
    session: &Session<'_>,
    view: &View,
    most: Option<usize>,
    wanted: impl Fn(&LaneRecord) -> bool,
) -> Result<Log> {
    let most = most.unwrap_or(usize::MAX);
    let mut entries = Vec::new();
    for (lane, tip) in &view.lanes {
        let is_wanted = |found: &Result<(Oid, LaneRecord)>| found.as_ref().map_or(true, |(_, r)| wanted(r));
        // A lane may be long: it is read as far as it is shown.
        for found in newest_first(&session.repo, Some(*tip)).filter(is_wanted).take(most) {
            let (commit, record) = found?;
            entries.push(Entry { lane: lane.clone(), commit, record });
        }
    }
    // Within a lane the order is that of its parents; the sort is stable and keeps it.
    entries.sort_by_key(|e| std::cmp::Reverse(e.record.at));
    entries.truncate(most);
    Ok(Log { entries })
}

/// The verdicts of all lanes, each with its worker's name and the commands that had run on its work.
pub fn decisions(session: &Session<'_>, most: Option<usize>) -> Result<Decisions> {
    let view = session.view()?;
    let closed = view.archived(&session.repo)?;
    let names: BTreeMap<WorkerId, &Handle> =
        view.workers.iter().chain(&closed).map(|w| (w.id, &w.record.handle)).collect();
    let runs = ran(&session.repo, &view)?.into_iter().map(|run| (run.commit, run.evidence));
    let ran: BTreeMap<Oid, Evidence> = runs.collect();
    let decided = |entry: Entry| {
        let LaneEntry::Verdict(verdict) = &entry.record.entry else {
            return Decided { entry, handle: None, ran: Vec::new() };
        };
        let handle = names.get(&verdict.worker).map(|handle| (*handle).clone());
        let ran = verdict.evidence.iter().filter_map(|at| ran.get(at).cloned()).collect();
        Decided { entry, handle, ran }
    };
    let found = of(session, &view, most, is_verdict)?;
    Ok(Decisions { entries: found.entries.into_iter().map(decided).collect() })
}
