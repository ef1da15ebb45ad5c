//! `resume`: a worker whose turn has ended runs again in its own worktree, with what it was told meanwhile. An agent
//! that has sessions goes on in its own; any other is given the task again, and what was said of it.

use crate::domain::Agent;
use crate::domain::Bounds;
use crate::domain::Handle;
use crate::domain::Jail;
use crate::domain::Outcome;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::domain::protocol::Message;
use crate::host::Lock;
use crate::state::Worker;
use crate::state::WorkerRecord;
use crate::verbs::bundle;
use crate::verbs::custody;
use crate::verbs::dispatch;
use crate::verbs::finish;
use crate::verbs::init;
use crate::verbs::jail;
use crate::verbs::job;
use crate::verbs::job::Job;
use crate::verbs::job::manners;
use crate::verbs::outside::Outside;
use crate::verbs::pane;
use crate::verbs::pause;
use crate::verbs::pause::AtLimit;
use crate::verbs::session::Session;
use crate::verbs::supervise;
use serde::Serialize;

/// What is said to an agent that was told nothing.
const GO_ON: &str = "Go on with the task.";

/// A worker that runs again.
#[derive(Debug, Serialize)]
pub struct Resumed {
    pub worker: WorkerId,
    pub handle: Handle,
    /// The session that it goes on in, if it has one.
    pub session: Option<String>,
    /// The messages that it was started with.
    pub messages: Vec<u32>,
    pub jail: Jail,
}

pub fn run(session: &mut Session<'_>, name: &str, text: Option<&str>, at_limit: AtLimit) -> Result<Resumed> {
    session.refuse_in_worker("resume")?;
    let view = init::ensure(session)?;
    let worker = view.open_worker(&session.repo, name)?;
    refuse(session, worker)?;
    dispatch::refuse_active(session, &view)?;
    pause::heed(session, at_limit, &worker.record.agent)?;
    if let Some(text) = text {
        add(session, worker.id, text)?;
    }
    let view = session.view()?;
    begin(session, view.worker(&worker.id.to_string())?)
}

/// What can be seen to keep a worker from running again.
fn refuse(session: &Session<'_>, worker: &Worker) -> Result<()> {
    custody::refuse_running(session, worker)?;
    let record = &worker.record;
    let handle = &record.handle;
    let no = |says: String, next: String| {
        let show = format!("git show {}:record.json", worker.ref_text());
        Err(Refusal::new(Token::NotReady, says).show(show).next(next).into())
    };
    if !matches!(record.outcome, Outcome::NeedsInput | Outcome::Failed | Outcome::Stopped) {
        return no(
            format!("{handle} is {}, and not to be taken up again", record.outcome),
            format!("git skein show {handle}; for more work, dispatch another worker: git skein dispatch …"),
        );
    }
    if session.clone_id() != Some(record.clone.as_str()) {
        return no(
            format!("{handle} was dispatched in another clone"),
            "take it up where it was dispatched".to_owned(),
        );
    }
    if !record.outside.is_empty() {
        return no(
            format!("while {handle} ran, files outside its worktree changed"),
            format!("git skein show {handle} names them; dispatch another worker for the rest"),
        );
    }
    if custody::standing(session, worker.id)?.is_none() {
        return no(
            format!("{handle} has no worktree"),
            format!("git skein restore {handle} makes it again; then take it up"),
        );
    }
    let seen = custody::look(session, worker)?;
    seen.withheld.map_or(Ok(()), |withheld| Err(withheld.into()))
}

/// A message by itself.
fn add(session: &Session<'_>, id: WorkerId, text: &str) -> Result<()> {
    let at = session.clock.now_secs();
    finish::amend(session, id, |record| {
        record.tell(text, None, None, at);
        Ok(())
    })
}

fn begin(session: &Session<'_>, worker: &Worker) -> Result<Resumed> {
    let (id, record) = (worker.id, &worker.record);
    let mut job = job(session, worker)?;
    crate::host::make_dir(&session.local.worker(id))?;
    let loaded = bundle::unused(record);
    if !loaded.is_empty() {
        job.brief = format!("{}\n{}", bundle::place(session, id, &loaded)?, job.brief);
    }
    job.references = loaded.iter().map(|loaded| loaded.bundle).collect();
    let making = Lock::try_acquire(&session.local.making(id))?;
    let outside = Outside::look(session)?;
    crate::host::put(&session.local.worker(id).join("outside.json"), &outside.to_bytes()?)?;
    if !supervise::took_over(session, id) {
        // What ran once is never taken for what never ran.
        crate::host::put(&session.local.pid(id), format!("{}\n", std::process::id()).as_bytes())?;
    }
    finish::amend(session, id, |now| {
        if now != record {
            return Err(moved(worker).into());
        }
        *now = WorkerRecord {
            outcome: Outcome::Active,
            reason: None,
            ended: None,
            exit: None,
            paused: None,
            claim: None,
            // Its next run is not judged yet.
            judged: now.judged.iter().filter(|judged| judged.raw.is_some()).cloned().collect(),
            ..now.clone()
        };
        Ok(())
    })?;
    crate::fault::point("resume: recorded");
    if let Err(failure) = started(session, &job) {
        let before = record.clone();
        finish::amend(session, id, |now| {
            *now = before.clone();
            Ok(())
        })?;
        return Err(failure);
    }
    drop(making);
    let session = record.session.clone().filter(|_| has_session(record));
    Ok(Resumed { worker: id, handle: record.handle.clone(), session, messages: job.letters, jail: job.jail })
}

/// Starts it in a new window, if it had one.
fn started(session: &Session<'_>, job: &Job) -> Result<()> {
    if !job.window.is_none() {
        pane::reopen(session, job.worker)?;
    }
    supervise::start(session, job)
}

fn moved(worker: &Worker) -> Refusal {
    Refusal::new(Token::RecordMoved, format!("the record of {} has changed meanwhile", worker.record.handle))
        .show(format!("git log -2 {}", worker.ref_text()))
        .next("look at it, then try again")
}

/// Whether its agent can go on where it was.
pub fn has_session(record: &WorkerRecord) -> bool {
    let name = record.session.as_deref();
    name.and_then(|name| Agent::of(&record.agent)?.again(&record.agent, name)).is_some()
}

/// What its supervisor is told this time.
fn job(session: &Session<'_>, worker: &Worker) -> Result<Job> {
    let record = &worker.record;
    let jail = jail::level(session, Some(record.jail.word()), false)?;
    let bounds = Bounds::of(&session.config)?;
    let argv = job::given(session, worker)?;
    let kind = worker.kind(&session.repo)?;
    let queued: Vec<&Message> = record.messages.iter().filter(|m| m.delivered.is_none()).collect();
    let letters = queued.iter().map(|m| m.n).collect();
    let again = record.session.as_deref().and_then(|name| Agent::of(&argv)?.again(&argv, name));
    let text = match &again {
        Some(_) if queued.is_empty() => GO_ON.to_owned(),
        Some(_) => said(record, &queued),
        None => {
            let task = worker.brief(&session.repo)?;
            let all: Vec<&Message> = record.messages.iter().collect();
            let said = said(record, &all);
            let manners = manners(record, kind.as_ref());
            format!("{}\n\n{GO_ON} This was said of it:\n\n{said}\n---\n\n{manners}", task.trim_end())
        }
    };
    Ok(Job::again((worker, kind.as_ref()), again.unwrap_or(argv), text, letters, jail, bounds))
}

/// Messages as an agent reads them, each answer under its question.
pub fn said(record: &WorkerRecord, messages: &[&Message]) -> String {
    let one = |message: &&Message| {
        let asked = message.to.and_then(|n| record.questions.iter().find(|q| q.n == n));
        match asked {
            Some(question) => format!("You asked: {}\nThe answer: {}\n", question.text, message.text),
            None => format!("{}\n", message.text),
        }
    };
    messages.iter().map(one).collect::<Vec<_>>().join("\n")
}
