//! The end of a run on the worker's record.

use crate::domain::End;
use crate::domain::Failure;
use crate::domain::Flag;
use crate::domain::Outcome;
use crate::domain::Result;
use crate::domain::Work;
use crate::domain::WorkerId;
use crate::domain::conclude;
use crate::plumbing::Moved;
use crate::state::Draft;
use crate::state::EVENTS;
use crate::state::PANE;
use crate::state::WorkerRecord;
use crate::state::end_record;
use crate::state::next_record;
use crate::verbs::pane;
use crate::verbs::recorder;
use crate::verbs::session::Session;
use crate::verbs::snapshot;
use crate::verbs::snapshot::Seen;
use crate::verbs::spawn;
use crate::verbs::stored;

/// Writes a change of the record of worker `id`, as long as its run is not over. `change` sees the record as it is
/// now, may be asked again after a race, and refuses by an error.
pub fn amend<T>(
    session: &Session<'_>,
    id: WorkerId,
    mut change: impl FnMut(&mut WorkerRecord) -> Result<T>,
) -> Result<T> {
    for _ in 0..10 {
        let view = session.view()?;
        let worker = view.worker(&id.to_string())?;
        let mut record = worker.record.clone();
        let given = change(&mut record)?;
        if record == worker.record {
            return Ok(given);
        }
        let edit = next_record(&session.repo, worker, &record, session.clock.now_secs())?;
        if Draft::new(&session.repo).put(edit).publish()? == Moved::Done {
            return Ok(given);
        }
    }
    Err(Failure::fault("writing the record", "it kept moving"))
}

/// Writes how the run of worker `id` ended. A record that is closed already stays as it is.
pub fn close(
    session: &Session<'_>,
    id: WorkerId,
    end: &End,
    seen: &Seen,
    exit: Option<i32>,
    mut flags: Vec<Flag>,
    outside: Vec<String>,
) -> Result<Outcome> {
    let objects = &session.repo.objects;
    let mut uncommitted = None;
    let withheld = seen.withheld.as_ref().map(|why| format!("{}: {}", why.token.as_str(), why.says));
    for _ in 0..10 {
        let view = session.view()?;
        let worker = view.worker(&id.to_string())?;
        if worker.record.outcome != Outcome::Active {
            return Ok(worker.record.outcome);
        }
        let base = worker.record.base;
        let rebased = !objects.is_ancestor(base, seen.head)?;
        let commits = if rebased { 1 } else { objects.between(base, seen.head)?.len() };
        let work = Work {
            commits,
            withheld: withheld.as_deref(),
            same: seen.withheld.is_none() && objects.tree_of(seen.head)? == objects.tree_of(base)?,
            uncommitted: match uncommitted {
                Some(known) => known,
                // After a change outside no filter runs: it may be the worker's own.
                None if !outside.is_empty() || *end == End::SupervisorLost => {
                    seen.tree != objects.tree_of(seen.head)?
                }
                None => *uncommitted.insert(stored::is_uncommitted(session, &worker.record, seen)?),
            },
            discarded: snapshot::discarded(session, base, seen)?,
            unplanned: !worker.record.may_write() && !worker.record.only_reads(),
            only_reads: worker.record.only_reads(),
            outside: !outside.is_empty() && session.config.get("skein.outside") != Some("warn"),
        };
        let marks = [
            (Flag::Uncommitted, work.uncommitted),
            (Flag::SelfDiscarded, work.discarded),
            (Flag::Quarantined, seen.withheld.is_some()),
            (Flag::OutsideChanged, !outside.is_empty()),
        ];
        flags.extend(marks.into_iter().filter(|(_, set)| *set).map(|(flag, _)| flag));
        flags.sort_unstable();
        flags.dedup();
        let (outcome, reason) = conclude(end, work);
        let at = session.clock.now_secs();
        let paused = match end {
            End::Limited(_, until) if outcome == Outcome::NeedsInput => Some(*until),
            _ => None,
        };
        let record = WorkerRecord {
            outcome,
            reason,
            paused,
            ended: Some(at),
            exit,
            tip: Some(seen.head),
            snapshot: seen.kept.wip,
            flags: flags.clone(),
            outside: outside.clone(),
            ..worker.record.clone()
        };
        let files = [(EVENTS, recorder::for_record(session, worker)?), (PANE, pane::for_record(session, id))];
        let edit = end_record(&session.repo, worker, &record, at, &files)?;
        if Draft::new(&session.repo).put(edit).publish()? == Moved::Done {
            crate::fault::point("finish: outcome recorded");
            if let Err(failure) = spawn::report(session, id) {
                session.tell(format!("the end is not told: {failure}"));
            }
            return Ok(outcome);
        }
    }
    Err(Failure::fault("recording the end of the run", "the record kept moving"))
}
