//! `tell`: a person's message to a worker, or the answer to its question. What is said of its way is what was seen
//! of it.

use crate::domain::Agent;
use crate::domain::Failure;
use crate::domain::Handle;
use crate::domain::Liveness;
use crate::domain::Outcome;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::Window;
use crate::domain::WorkerId;
use crate::domain::protocol::Delivery;
use crate::domain::protocol::Question;
use crate::state::LIST_SHARED;
use crate::state::WorkerRecord;
use crate::verbs::custody;
use crate::verbs::finish;
use crate::verbs::init;
use crate::verbs::pause::AtLimit;
use crate::verbs::resume;
use crate::verbs::session::Session;
use crate::verbs::verdict;
use serde::Serialize;

/// A message that is on its worker's record.
#[derive(Debug, Serialize)]
pub struct Told {
    pub worker: WorkerId,
    pub handle: Handle,
    pub message: u32,
    /// The question that it answers.
    pub to: Option<Question>,
    pub state: Delivery,
    /// Whether the worker runs, and so can ask for it.
    pub live: bool,
    /// Whether its agent listens while it works, so that it is brought to it.
    pub listens: bool,
    /// Questions that are still open.
    pub open: usize,
    /// Its session was taken up again with it.
    pub resumed: bool,
    /// Whether `resume` can start its agent with it.
    pub resumable: bool,
}

/// Puts `text` on the record of the worker: as the answer to question `to`, else to its oldest open one, else as a
/// message by itself.
pub fn run(session: &mut Session<'_>, name: &str, text: &str, to: Option<u32>) -> Result<Told> {
    session.refuse_in_worker("tell")?;
    if text.trim().is_empty() {
        return Err(Refusal::new(Token::NoTask, "the message is empty")
            .show("git skein tell -h")
            .next("say what the worker is to know")
            .into());
    }
    let view = init::ensure_for(session, name)?;
    let worker = view.open_worker(&session.repo, name)?;
    verdict::refuse_foreign(session, &worker.record)?;
    let (id, at) = (worker.id, session.clock.now_secs());
    let (message, question, open) = finish::amend(session, id, |record| {
        refuse_ended(record)?;
        let question = match to {
            Some(n) => Some(asked(record, n)?),
            None => record.open_questions().next().cloned(),
        };
        let n = record.tell(text, question.as_ref().map(|q| q.n), None, at);
        Ok((n, question, record.open_questions().count()))
    })?;
    crate::fault::point("tell: message recorded");
    follow(session, id, message, question, open)
}

/// What comes of a message once it is on the record of worker `id`: who waits for it is woken, and a session whose last
/// question it answers is taken up again.
pub fn follow(
    session: &mut Session<'_>,
    id: WorkerId,
    message: u32,
    question: Option<Question>,
    open: usize,
) -> Result<Told> {
    let view = session.view()?;
    let worker = view.worker(&id.to_string())?;
    let handle = worker.record.handle.clone();
    let live = custody::liveness(session, worker) == Liveness::Live;
    if live {
        // It only wakes who waits; the record says what there is.
        let _ = crate::host::put(&session.local.bell(id), message.to_string().as_bytes());
    }
    let view = session.view()?;
    let record = &view.worker(&id.to_string())?.record;
    let listens = live && (record.window == Window::Typed || Agent::rpc(&record.agent).is_some());
    let over = record.outcome == Outcome::NeedsInput && !live;
    let resumed = over && open == 0 && resume::has_session(record) && taken_up(session, id);
    let state = match session.view()?.worker(&id.to_string())?.record.messages.iter().find(|m| m.n == message)
    {
        Some(m) => Delivery::of(Outcome::Active, m.delivered.is_some(), m.read.is_some()),
        None => Delivery::Queued,
    };
    Ok(Told {
        worker: id,
        handle,
        message,
        to: question,
        state,
        live,
        listens,
        open,
        resumed,
        resumable: over,
    })
}

/// Takes its session up again. The message is on its record whatever comes of that.
pub fn taken_up(session: &mut Session<'_>, id: WorkerId) -> bool {
    match resume::run(session, &id.to_string(), None, AtLimit::Refuse) {
        Ok(_) => true,
        Err(failure) => {
            session.tell(format!("it is not taken up again: {failure}"));
            false
        }
    }
}

/// Refuses a worker that will never ask for a message.
pub fn refuse_ended(record: &WorkerRecord) -> Result<()> {
    if matches!(record.outcome, Outcome::Active | Outcome::NeedsInput) {
        return Ok(());
    }
    let handle = &record.handle;
    Err(Refusal::new(
        Token::Undeliverable,
        format!("{handle} has ended ({}), and asks no more", record.outcome),
    )
    .show(LIST_SHARED)
    .next("dispatch another worker with what is to be done: git skein dispatch …")
    .into())
}

fn asked(record: &WorkerRecord, n: u32) -> Result<Question> {
    let open = record.open_questions().find(|q| q.n == n).cloned();
    open.ok_or_else(|| -> Failure {
        let open = record.open_questions().map(|q| format!("{}: {}", q.n, q.text));
        Refusal::new(Token::NoSuchQuestion, format!("{} has no open question {n}", record.handle))
            .lines(open)
            .show(LIST_SHARED)
            .next(format!("git skein show {} lists what it asks", record.handle))
            .into()
    })
}
