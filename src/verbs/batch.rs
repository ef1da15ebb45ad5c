//! `dispatch --from`: many tasks, so many at a time, each when those it comes after are ready. The command is the
//! scheduler and keeps nothing: which tasks were started is told by the workers that exist, so that after a kill
//! the same command goes on. Agents run on without it.

use crate::domain::Bounds;
use crate::domain::Exit;
use crate::domain::Failure;
use crate::domain::Handle;
use crate::domain::Oid;
use crate::domain::Outcome;
use crate::domain::Result;
use crate::domain::Task;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::domain::bad_tasks;
use crate::domain::mask;
use crate::domain::tasks;
use crate::state::View;
use crate::state::Worker;
use crate::verbs::custody;
use crate::verbs::depth;
use crate::verbs::dispatch;
use crate::verbs::dispatch::Request;
use crate::verbs::init;
use crate::verbs::session::Session;
use crate::verbs::upon;
use crate::verbs::wait;
use serde::Serialize;
use std::collections::BTreeSet;

/// Where each task stands when the command ends.
#[derive(Debug, Serialize)]
pub struct Batch {
    pub tasks: Vec<Entry>,
}

#[derive(Debug, Serialize)]
pub struct Entry {
    /// Of the file, from 1.
    pub line: usize,
    pub name: Handle,
    pub after: Vec<String>,
    #[serde(flatten)]
    pub state: State,
}

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum State {
    Waiting,
    /// It has a worker; the outcome is `active` while that runs.
    Started {
        worker: WorkerId,
        outcome: Outcome,
        reason: Option<String>,
        base: Oid,
    },
    /// It was not started, since one that it comes after did not become ready.
    Skipped {
        why: String,
    },
    /// Its dispatch was refused or failed.
    Refused {
        token: Option<Token>,
        why: String,
    },
}

impl State {
    fn is_ready(&self) -> bool {
        matches!(self, State::Started { outcome: Outcome::Ready, .. })
    }

    fn runs(&self) -> bool {
        matches!(self, State::Started { outcome: Outcome::Active, .. })
    }

    /// It will not become ready by itself any more.
    fn is_over(&self) -> bool {
        !matches!(self, State::Waiting) && !self.runs() && !self.is_ready()
    }

    pub fn word(&self) -> &'static str {
        match self {
            State::Waiting => "waiting",
            State::Started { outcome, .. } => outcome.word(),
            State::Skipped { .. } => "skipped",
            State::Refused { .. } => "refused",
        }
    }
}

impl Batch {
    /// The gravest outcome, as `wait` counts them. What still runs is no outcome.
    pub fn exit(&self) -> Exit {
        let rank = |entry: &Entry| match &entry.state {
            State::Started { outcome: Outcome::Ready | Outcome::Active, .. } | State::Waiting => 0,
            State::Started { outcome: Outcome::NeedsInput, .. } => 1,
            State::Started { .. } | State::Skipped { .. } | State::Refused { .. } => 2,
        };
        match self.tasks.iter().map(rank).max() {
            None | Some(0) => Exit::Done,
            Some(1) => Exit::Conflict,
            Some(_) => Exit::No,
        }
    }
}

/// How many run at a time unless the person says.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Carries out the tasks of `text`, at most `at_once` at a time. Returns when there is nothing left to start; with
/// `wait`, when all have ended. `each` says what the tasks do not, such as the agent.
pub fn run(
    session: &mut Session<'_>,
    text: &str,
    each: &Request,
    at_once: usize,
    wait: bool,
) -> Result<Batch> {
    session.refuse_in_worker("dispatch")?;
    let tasks = tasks(text)?;
    // The others of the file wait for their turn in any case.
    let at_once = Bounds::active(&session.config)?.map_or(at_once, |most| most.min(at_once));
    for base in tasks.iter().filter_map(|task| task.base.as_deref()) {
        depth::for_base(session, base)?;
    }
    let view = session.view()?;
    let requests = requests(session, &view, &tasks, each)?;
    let entry = |(task, request): (&Task, &Request)| -> Result<Entry> {
        let name = Handle::new(request.name.as_deref().unwrap_or_default())?;
        Ok(Entry { line: task.line, name, after: task.after.clone(), state: State::Waiting })
    };
    let entries = tasks.iter().zip(&requests).map(entry).collect::<Result<Vec<Entry>>>()?;
    let mut batch = Batch { tasks: entries };
    let mut paused = BTreeSet::new();
    loop {
        let view = session.view()?;
        if look(session, &view, &requests, &mut batch)? {
            // Whose supervisor died is closed as by any writing verb.
            let view = init::ensure(session)?;
            if look(session, &view, &requests, &mut batch)? {
                return Err(Failure::fault(
                    "closing a worker whose supervisor died",
                    "it cannot be closed now",
                ));
            }
        }
        skip(session, &mut batch);
        start(session, &requests, &mut batch, at_once, &mut paused)?;
        skip(session, &mut batch);
        let open = |state: &State| matches!(state, State::Waiting) || wait && state.runs();
        if !batch.tasks.iter().any(|entry| open(&entry.state)) {
            return Ok(batch);
        }
        let running: Vec<WorkerId> = batch.tasks.iter().filter_map(running).collect();
        wait::rest(session, &session.view()?, &running, None);
    }
}

fn running(entry: &Entry) -> Option<WorkerId> {
    match &entry.state {
        State::Started { worker, outcome: Outcome::Active, .. } => Some(*worker),
        _ => None,
    }
}

/// The dispatch of each task, with its name. All that can be known to be wrong is refused here, by line.
fn requests(session: &Session<'_>, view: &View, tasks: &[Task], each: &Request) -> Result<Vec<Request>> {
    let (mut found, mut wrong): (Vec<Request>, Vec<(usize, String)>) = (Vec::new(), Vec::new());
    let mut taken: Vec<String> = tasks.iter().filter_map(|task| task.name.clone()).collect();
    for task in tasks {
        let name = match &task.name {
            Some(name) => name.clone(),
            None => {
                // The same file gives the same names, whatever of it was started before.
                let free = |h: &Handle| !taken.contains(&h.to_string()) && !is_other(session, view, h, task);
                let name = Handle::from_task(&task.task).unique(|h| !free(h)).to_string();
                taken.push(name.clone());
                name
            }
        };
        if task.name.is_some() && is_other(session, view, &Handle::new(&name)?, task) {
            wrong.push((task.line, format!("name: {name} is a worker with another task already")));
        }
        let request = Request {
            task: task.task.clone(),
            base: task.base.clone(),
            upon: None,
            name: Some(name),
            kind: task.kind.clone().or_else(|| each.kind.clone()),
            paths: task.paths.clone(),
            onto: task.onto.clone(),
            checks: task.checks.clone(),
            limits: crate::verbs::job::limits(task.timeout(), task.silence(), task.done_pattern.clone()),
            agent: each.agent.clone().filter(|_| task.argv.is_none()),
            argv: task.argv.clone().unwrap_or_else(|| each.argv.clone()),
            ..each.clone()
        };
        if let Err(failure) = dispatch::rehearse(session, view, &request) {
            match failure {
                Failure::Refusal(refusal) => wrong.push((task.line, refusal.says)),
                fault => return Err(fault),
            }
        }
        found.push(request);
    }
    if wrong.is_empty() { Ok(found) } else { Err(bad_tasks(wrong).into()) }
}

/// Whether a worker has that name and another task.
fn is_other(session: &Session<'_>, view: &View, name: &Handle, task: &Task) -> bool {
    let named = view.workers.iter().find(|w| w.record.handle == *name);
    named.is_some_and(|worker| !is_same(session, worker, &task.task))
}

fn is_same(session: &Session<'_>, worker: &Worker, task: &str) -> bool {
    worker.brief(&session.repo).is_ok_and(|brief| brief == mask(task))
}

/// What became of each task, by the workers that exist. True if one of them has lost its supervisor.
fn look(session: &Session<'_>, view: &View, requests: &[Request], batch: &mut Batch) -> Result<bool> {
    let mut lost = false;
    for (entry, request) in batch.tasks.iter_mut().zip(requests) {
        let same = |w: &&Worker| w.record.handle == entry.name && is_same(session, w, &request.task);
        let Some(worker) = view.workers.iter().find(same) else {
            if matches!(entry.state, State::Started { .. }) {
                // Its dispatch was cut short before its agent ran, and it was removed: it starts anew.
                entry.state = State::Waiting;
            }
            continue;
        };
        let record = &worker.record;
        lost |= custody::supervisor_lost(session, record);
        let was = entry.state.clone();
        entry.state = State::Started {
            worker: worker.id,
            outcome: record.outcome,
            reason: record.reason.clone(),
            base: record.base,
        };
        if was.runs() && !entry.state.runs() {
            session.tell(format!("{}: {}", entry.name, entry.state.word()));
        } else if matches!(was, State::Waiting) {
            session.tell(format!("{} was started before: {}", entry.name, entry.state.word()));
        }
    }
    Ok(lost)
}

/// Those that come after one that did not become ready will not start, nor will those after them.
fn skip(session: &Session<'_>, batch: &mut Batch) {
    loop {
        let over = |name: &String| {
            let one = batch.tasks.iter().find(|e| e.name.as_str() == name)?;
            one.state.is_over().then(|| format!("{name} is {}", one.state.word()))
        };
        let waiting = batch.tasks.iter().enumerate().filter(|(_, e)| matches!(e.state, State::Waiting));
        let next = waiting.filter_map(|(at, e)| Some((at, e.after.iter().find_map(over)?))).next();
        let Some((at, why)) = next else { return };
        session.tell(format!("{}: skipped, {why}", batch.tasks[at].name));
        batch.tasks[at].state = State::Skipped { why };
    }
}

/// The work that a task builds on: that of the one task that it comes after, unless the task says where it starts.
fn upon(session: &Session<'_>, entry: &Entry, request: &Request) -> Result<Option<(Oid, String)>> {
    let ([name], None) = (entry.after.as_slice(), &request.base) else { return Ok(None) };
    let view = session.view()?;
    let Some(worker) = view.workers.iter().find(|w| w.record.handle.as_str() == name) else {
        return Ok(None);
    };
    let (onto, target) = dispatch::target(session, &view, request)?;
    upon::start_of(session, &view, worker, (&onto, target))
}

/// Starts as many as may run, in the order of the file.
fn start(
    session: &mut Session<'_>,
    requests: &[Request],
    batch: &mut Batch,
    at_once: usize,
    paused: &mut BTreeSet<String>,
) -> Result<()> {
    let ready: Vec<String> =
        batch.tasks.iter().filter(|e| e.state.is_ready()).map(|e| e.name.to_string()).collect();
    let mut free = at_once.saturating_sub(batch.tasks.iter().filter(|e| e.state.runs()).count());
    for (entry, request) in batch.tasks.iter_mut().zip(requests) {
        let may =
            matches!(entry.state, State::Waiting) && entry.after.iter().all(|name| ready.contains(name));
        if free == 0 || !may {
            continue;
        }
        let upon = upon(session, entry, request)?;
        let follows = match entry.after.as_slice() {
            [name] => session.view()?.workers.iter().find(|w| w.record.handle.as_str() == name).map(|w| w.id),
            _ => None,
        };
        entry.state = match dispatch::run(session, &Request { upon, follows, ..request.clone() }) {
            Ok(done) => {
                free -= 1;
                session.tell(format!(
                    "{}: started from {} {}",
                    entry.name,
                    done.base_name,
                    done.base.short()
                ));
                let outcome = Outcome::Active;
                State::Started { worker: done.worker, outcome, reason: None, base: done.base }
            }
            // It passes: then it is tried again.
            Err(Failure::Refusal(refusal)) if refusal.token == Token::AgentPaused => {
                if paused.insert(refusal.says.clone()) {
                    session.tell(format!("{}: {}; waiting", entry.name, refusal.says));
                }
                State::Waiting
            }
            Err(Failure::Refusal(refusal)) if refusal.token.exit() != Exit::Fault => {
                session.tell(format!("{}: {}", entry.name, refusal.says));
                State::Refused { token: Some(refusal.token), why: refusal.says }
            }
            // The world fails: what runs goes on, and the same command goes on from here.
            Err(failure) => return Err(failure),
        };
        crate::fault::point("dispatch --from: one is started");
    }
    Ok(())
}
