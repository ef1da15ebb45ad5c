//! What a verdict sets going once it is recorded. It stands whatever comes of that, and said again it goes on there.

use crate::domain::Decision;
use crate::domain::OpId;
use crate::domain::Result;
use crate::domain::WorkerId;
use crate::state::Worker;
use crate::verbs::dispatch;
use crate::verbs::job;
use crate::verbs::session::Session;
use crate::verbs::tell;
use crate::verbs::verdict::Decided;
use crate::verbs::verdict::Given;
use crate::verbs::verdict::Request;
use crate::verbs::wait;

/// The worker that a retry starts has the name of the operation, so that the same verdict never starts two.
pub fn promised(op: OpId) -> Option<WorkerId> {
    op.to_string().parse().ok()
}

/// The same task once more: for the branch that it was meant for, from where that is now.
pub fn again(
    session: &Session<'_>,
    worker: &Worker,
    request: &Request,
    op: Option<OpId>,
) -> Result<dispatch::Request> {
    let record = &worker.record;
    let task = worker.brief(&session.repo)?;
    let task = match &request.text {
        Some(said) => format!("{}\n\nThis was said of an earlier try:\n\n{said}\n", task.trim_end()),
        None => task,
    };
    Ok(dispatch::Request {
        task,
        name: Some(record.handle.to_string()),
        onto: Some(record.onto.short().to_owned()),
        paths: record.paths.clone(),
        checks: record.checks.clone(),
        limits: record.limits.clone(),
        jail: Some(record.jail.word().to_owned()),
        spawn: Some(record.spawn),
        argv: job::given(session, worker)?,
        kind: record.kind.as_ref().map(|kind| kind.name.clone()),
        only_reads: record.only_reads(),
        follows: Some(worker.id),
        retries: op.and_then(promised).map(|id| (worker.id, id)),
        ..dispatch::Request::default()
    })
}

/// Sets going what the verdict says.
pub fn up(session: &mut Session<'_>, id: WorkerId, request: &Request, given: Given) -> Result<Decided> {
    let Given { handle, op, subject, delta, risk } = given;
    let name = id.to_string();
    let mut retry = None;
    let (done, next) = match request.verb {
        Decision::Accept => (true, format!("git skein land {handle}")),
        Decision::Reject => (true, format!("git skein reap --include-unlanded {handle}")),
        Decision::Revise => match tell::taken_up(session, id) {
            true => (true, format!("git skein wait {handle}")),
            false => (false, format!("git skein resume {handle}")),
        },
        Decision::Retry => {
            let view = session.view()?;
            let request = again(session, view.worker(&name)?, request, Some(op))?;
            match dispatch::run(session, &request) {
                Ok(started) => {
                    let next = format!("git skein wait {}", started.handle);
                    retry = Some(started.handle);
                    (true, next)
                }
                Err(failure) => {
                    session.tell(format!("the other try is not started: {failure}"));
                    (false, format!("git skein verdict {handle} retry"))
                }
            }
        }
        Decision::Stop | Decision::Answer => match wait::stop(session, &name) {
            Ok(_) => (true, format!("git skein verdict {handle}")),
            Err(failure) => {
                session.tell(format!("it is not stopped: {failure}"));
                (false, format!("git skein verdict {handle} stop"))
            }
        },
    };
    let verb = request.verb;
    Ok(Decided { worker: id, handle, op, verb, subject, delta, risk, told: None, done, retry, next })
}
