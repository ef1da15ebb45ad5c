//! `fanout`: each open task of a document becomes a worker, and what came of each comes back as a turn. The work itself
//! is in their deltas, to be judged and landed like any other.

use crate::domain::DocId;
use crate::domain::Handle;
use crate::domain::Outcome;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::domain::document::tasks;
use crate::domain::quoted;
use crate::verbs::dispatch;
use crate::verbs::doc::answer::Answered;
use crate::verbs::doc::answer::Given;
use crate::verbs::doc::answer::answer;
use crate::verbs::doc::open::Held;
use crate::verbs::doc::open::Open;
use crate::verbs::doc::open::Place;
use crate::verbs::session::Session;
use serde::Serialize;

/// What `fanout` is asked for.
#[derive(Debug, Default)]
pub struct Request {
    pub agent: Option<String>,
    pub argv: Vec<String>,
    pub base: Option<String>,
    pub jail: Option<String>,
    pub dry_run: bool,
}

/// One task and what came of it.
#[derive(Debug, Serialize)]
pub struct Task {
    pub text: String,
    pub worker: Option<WorkerId>,
    pub handle: Option<Handle>,
    pub outcome: Option<Outcome>,
    /// Paths that its delta changes, if it has one.
    pub paths: Option<u64>,
    /// Why there is none.
    pub why: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Fanned {
    pub doc: Option<DocId>,
    pub path: String,
    pub tasks: Vec<Task>,
    pub answer: Option<Answered>,
}

impl Fanned {
    /// Every task has a delta.
    pub fn is_whole(&self) -> bool {
        self.tasks.iter().all(|task| task.paths.is_some())
    }
}

pub fn fanout(session: &mut Session<'_>, place: Place, request: &Request) -> Result<Fanned> {
    let open = Open::look(session, place.clone())?;
    let found: Vec<Task> = tasks(&open.text).into_iter().map(task).collect();
    if found.is_empty() {
        return Err(Refusal::new(Token::NoTask, format!("{} has no open task", place.shown))
            .show(format!("grep -n '\\[ \\]' {}", quoted(&place.path)))
            .next("write each task as a list item: - [ ] what is to be done")
            .into());
    }
    let mut fanned = Fanned { doc: open.id, path: place.shown.clone(), tasks: found, answer: None };
    if request.dry_run {
        return Ok(fanned);
    }
    // A document that cannot be written takes no results back: that is known before anybody works.
    drop(Held::take(session, place.clone(), "doc fanout")?);
    for task in &mut fanned.tasks {
        begin(session, request, task)?;
    }
    let ids: Vec<String> = fanned.tasks.iter().filter_map(|task| Some(task.worker?.to_string())).collect();
    if !ids.is_empty() {
        crate::verbs::wait::wait(session, &ids, false, None, &|| {})?;
    }
    for task in &mut fanned.tasks {
        bring_in(session, task)?;
    }
    let mut held = Held::take(session, place, "doc fanout")?;
    let text = report(&fanned.tasks);
    let given = Given { text, origin: Some("fanout".to_owned()), unasked: true, ..Given::default() };
    fanned.answer = Some(answer(session, &mut held, &given)?);
    Ok(fanned)
}

fn task(text: String) -> Task {
    Task { text, worker: None, handle: None, outcome: None, paths: None, why: None }
}

fn begin(session: &mut Session<'_>, request: &Request, task: &mut Task) -> Result<()> {
    let wanted = dispatch::Request {
        task: task.text.clone(),
        agent: request.agent.clone(),
        argv: request.argv.clone(),
        base: request.base.clone(),
        jail: request.jail.clone(),
        ..dispatch::Request::default()
    };
    match dispatch::run(session, &wanted) {
        Ok(started) => {
            session.tell(format!(
                "{} works on: {}",
                started.handle,
                task.text.lines().next().unwrap_or_default()
            ));
            (task.worker, task.handle) = (Some(started.worker), Some(started.handle));
        }
        Err(failure) if failure.token().is_some() => task.why = Some(failure.to_string()),
        Err(failure) => return Err(failure),
    }
    Ok(())
}

/// Freezes the work of the worker as a delta.
fn bring_in(session: &mut Session<'_>, task: &mut Task) -> Result<()> {
    let Some(id) = task.worker else { return Ok(()) };
    let outcome = session.view()?.worker(&id.to_string())?.record.outcome;
    task.outcome = Some(outcome);
    // What it did not commit is taken, too; whether it waits for something else `import` knows.
    if !matches!(outcome, Outcome::Ready | Outcome::NeedsInput) {
        task.why = Some(format!("it is {outcome}"));
        return Ok(());
    }
    match crate::verbs::import::run(session, &id.to_string(), None, &crate::verbs::land::Request::default()) {
        Ok(done) => task.paths = Some(done.delta.paths),
        Err(failure) if failure.token().is_some() => task.why = Some(failure.to_string()),
        Err(failure) => return Err(failure),
    }
    Ok(())
}

/// What is written into the document.
fn report(tasks: &[Task]) -> String {
    let mut text = String::new();
    for task in tasks {
        text.push_str(&format!("### Re: {}\n\n", task.text.lines().next().unwrap_or_default()));
        let handle = task.handle.as_ref().map(ToString::to_string).unwrap_or_default();
        match (&task.paths, &task.why) {
            (Some(paths), _) => text.push_str(&format!(
                "{handle} has changed {paths} files: `git skein show --diff {handle}`, `git skein land {handle}`\n\n"
            )),
            (None, Some(why)) if handle.is_empty() => text.push_str(&format!("No worker was started: {why}\n\n")),
            (None, Some(_)) if task.outcome == Some(Outcome::NeedsInput) => {
                text.push_str(&format!("{handle} waits for you: `git skein verdict {handle}`\n\n"));
            }
            (None, Some(why)) => {
                text.push_str(&format!("{handle} has no work to show, {why}: `git skein show --log {handle}`\n\n"));
            }
            (None, None) => text.push_str(&format!("{handle} has no work to show\n\n")),
        }
    }
    text
}
