//! `wait` and `stop`: until a worker's run has ended, and to end it.

use crate::domain::End;
use crate::domain::Exit;
use crate::domain::Failure;
use crate::domain::Liveness;
use crate::domain::Outcome;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::quoted;
use crate::host::Signal;
use crate::state::LIST_LOCAL;
use crate::state::View;
use crate::state::Worker;
use crate::verbs::custody;
use crate::verbs::finish;
use crate::verbs::init;
use crate::verbs::reclaim;
use crate::verbs::session::Session;
use crate::verbs::status;
use crate::verbs::status::Row;
use bstr::ByteSlice;
use serde::Serialize;
use std::time::Duration;
use std::time::Instant;

/// How long `stop` waits for the supervisor to end its worker: its own grace, twice, and some air.
const STOP: Duration = Duration::from_secs(20);

/// The workers waited for, as they are now.
#[derive(Debug, Serialize)]
pub struct Waited {
    pub workers: Vec<Row>,
}

impl Waited {
    /// The gravest outcome.
    pub fn exit(&self) -> Exit {
        let rank = |row: &Row| match row.outcome {
            Outcome::Ready => 0,
            Outcome::NeedsInput => 1,
            Outcome::Stopped | Outcome::Failed | Outcome::Active => 2,
        };
        match self.workers.iter().map(rank).max() {
            None | Some(0) => Exit::Done,
            Some(1) => Exit::Conflict,
            Some(_) => Exit::No,
        }
    }
}

/// Waits for all of `names` (all running workers if empty), or with `any` for the first of them. `meanwhile` is called
/// before each look, and when it is over.
pub fn wait(
    session: &Session<'_>,
    names: &[String],
    any: bool,
    limit: Option<Duration>,
    meanwhile: &dyn Fn(),
) -> Result<Waited> {
    let view = session.view()?;
    let mut ids = Vec::new();
    for name in names {
        ids.push(view.open_worker(&session.repo, name)?.id);
    }
    if names.is_empty() {
        ids = view.workers.iter().filter(|w| w.record.outcome == Outcome::Active).map(|w| w.id).collect();
    }
    let started = Instant::now();
    loop {
        meanwhile();
        let view = session.view()?;
        let mut ended = Vec::new();
        for id in &ids {
            let worker = view.worker(&id.to_string())?;
            if worker.record.outcome != Outcome::Active
                || custody::liveness(session, worker) == Liveness::Gone
            {
                ended.push(*id);
            }
        }
        if ended.len() == ids.len() || (any && !ended.is_empty()) {
            let wanted = if any { ended } else { ids };
            meanwhile();
            return rows(session, &wanted);
        }
        if limit.is_some_and(|l| started.elapsed() >= l) {
            return Err(timed_out(&view, &ids));
        }
        rest(session, &view, &ids, limit.map(|l| l.saturating_sub(started.elapsed())));
    }
}

/// Sleeps until one of the supervisors may have ended; looking at a lock is cheap, at refs is not.
pub(super) fn rest(
    session: &Session<'_>,
    view: &View,
    ids: &[crate::domain::WorkerId],
    left: Option<Duration>,
) {
    let live = |id: &crate::domain::WorkerId| {
        view.worker(&id.to_string()).is_ok_and(|w| w.record.outcome == Outcome::Active)
            && crate::host::is_held(&session.local.alive(*id)).unwrap_or(false)
    };
    let before = ids.iter().filter(|id| live(id)).count();
    let most = Duration::from_secs(1).min(left.unwrap_or(Duration::MAX));
    crate::host::wait_until(most, || ids.iter().filter(|id| live(id)).count() < before);
}

fn timed_out(view: &View, ids: &[crate::domain::WorkerId]) -> crate::domain::Failure {
    let running = view.workers.iter().filter(|w| ids.contains(&w.id) && w.record.outcome == Outcome::Active);
    Refusal::new(Token::TimedOut, "the time to wait has passed and workers still run")
        .lines(running.map(|w| w.record.handle.to_string()))
        .show(LIST_LOCAL)
        .next("wait again, or git skein stop <worker>")
        .into()
}

fn rows(session: &Session<'_>, ids: &[crate::domain::WorkerId]) -> Result<Waited> {
    let view = session.view()?;
    let seen = status::Seen::of(session, &view, true)?;
    let mut workers = Vec::new();
    for id in ids {
        workers.push(status::row(session, &seen, view.worker(&id.to_string())?)?);
    }
    Ok(Waited { workers })
}

/// Ends the worker's processes and keeps everything it did. A worker that has ended already stays as it is.
pub fn stop(session: &mut Session<'_>, name: &str) -> Result<Waited> {
    session.refuse_in_worker("stop")?;
    let view = init::ensure_for(session, name)?;
    let worker = view.open_worker(&session.repo, name)?;
    if worker.record.outcome == Outcome::Active {
        end(session, worker)?;
    }
    // One whose agent never ran is gone now, with nothing to be shown.
    if session.view()?.workers.iter().all(|w| w.id != worker.id) {
        return Ok(Waited { workers: Vec::new() });
    }
    rows(session, &[worker.id])
}

fn end(session: &Session<'_>, worker: &Worker) -> Result<()> {
    let id = worker.id;
    match custody::liveness(session, worker) {
        Liveness::Live => {
            let over = || !matches!(custody::liveness(session, worker), Liveness::Live);
            let mut asked = false;
            let ended = crate::host::wait_until(STOP, || {
                // It is asked once, as soon as its number is known: right after its birth that takes a moment.
                asked = asked || ask(session, worker);
                over()
            });
            if !ended {
                return Err(still_running(session, worker));
            }
            crate::fault::point("stop: supervisor gone");
            // A supervisor that was asked before it could listen has gone without a word; one that could not
            // be asked was dying already.
            let without_a_word = if asked { End::Stopped } else { End::SupervisorLost };
            let view = session.view()?;
            match view.workers.iter().find(|w| w.id == id && w.record.outcome == Outcome::Active) {
                Some(left) => reclaim::one(session, left, &without_a_word).map(drop),
                None => Ok(()),
            }
        }
        Liveness::Gone => reclaim::one(session, worker, &End::SupervisorLost).map(drop),
        // Nobody can be seen running it from here: a person says that it is over.
        Liveness::Unknown => {
            let seen = custody::look(session, worker)?;
            finish::close(session, id, &End::Stopped, &seen, None, Vec::new(), Vec::new()).map(drop)
        }
    }
}

fn still_running(session: &Session<'_>, worker: &Worker) -> Failure {
    Refusal::new(Token::TimedOut, format!("{} did not end within {} s", worker.record.handle, STOP.as_secs()))
        .show(format!("fuser -v {}", quoted(session.local.alive(worker.id))))
        .next("try again; its work is kept meanwhile")
        .into()
}

/// Asks the supervisor to end. Its number counts only while the lock beside it is held.
fn ask(session: &Session<'_>, worker: &Worker) -> bool {
    let pid = crate::host::read_optional(&session.local.pid(worker.id)).ok().flatten().unwrap_or_default();
    let held = crate::host::is_held(&session.local.alive(worker.id)).unwrap_or(false);
    match pid.to_str_lossy().trim().parse() {
        Ok(pid) if held => crate::host::signal(pid, Signal::Term),
        _ => false,
    }
}
