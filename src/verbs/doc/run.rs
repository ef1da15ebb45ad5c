//! `run`: what is new goes to an agent, and its answer into the document. The agent is a worker that may change no
//! file: it has a worktree of its own, a jail, a record. While it works the document is anybody's.

use crate::domain::Agent;
use crate::domain::Failure;
use crate::domain::Flag;
use crate::domain::Handle;
use crate::domain::Outcome;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Said;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::domain::document::Format;
use crate::domain::document::components;
use crate::domain::quoted;
use crate::state::DocStep;
use crate::state::TurnRecord;
use crate::state::WorkerRecord;
use crate::verbs::dispatch;
use crate::verbs::doc::agents::Chosen;
use crate::verbs::doc::agents::choose;
use crate::verbs::doc::answer::Answered;
use crate::verbs::doc::answer::Given;
use crate::verbs::doc::answer::answer;
use crate::verbs::doc::commit::Committed;
use crate::verbs::doc::commit::Manner;
use crate::verbs::doc::commit::commit_held;
use crate::verbs::doc::commit::commit_now;
use crate::verbs::doc::contribute::next_record;
use crate::verbs::doc::contribute::publish;
use crate::verbs::doc::open::Held;
use crate::verbs::doc::open::Open;
use crate::verbs::doc::open::Place;
use crate::verbs::doc::open::malformed;
use crate::verbs::doc::send::difference;
use crate::verbs::doc::send::send;
use crate::verbs::reap;
use crate::verbs::session::Session;
use bstr::BStr;
use bstr::ByteSlice;
use serde::Serialize;

/// What `run` is asked for.
#[derive(Debug, Default)]
pub struct Request {
    pub agent: Option<String>,
    /// The whole command of an agent that is not known by a name.
    pub argv: Vec<String>,
    pub model: Option<String>,
    /// Onto a branch of the document's own.
    pub branch: bool,
    pub dry_run: bool,
    /// Commit nothing.
    pub no_git: bool,
    pub jail: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Ran {
    pub path: String,
    /// The exact bytes that were sent, or would be; none where nothing is new.
    pub prompt: Option<String>,
    /// Nothing was sent.
    pub dry_run: bool,
    pub worker: Option<WorkerId>,
    pub agent: String,
    pub answer: Option<Answered>,
    pub commit: Option<Committed>,
    /// Why the answer that stands is not committed.
    #[serde(skip)]
    pub failed: Option<Failure>,
}

pub fn run(session: &mut Session<'_>, place: Place, request: &Request) -> Result<Ran> {
    let open = Open::look(session, place.clone())?;
    let chosen = match request.argv.first() {
        Some(program) => Chosen {
            name: program.rsplit('/').next().unwrap_or(program).to_owned(),
            argv: request.argv.clone(),
            more: Vec::new(),
            model: request.model.clone(),
        },
        None => choose(session, &open.front.fields, request.agent.as_deref(), request.model.as_deref())?,
    };
    let mut ran = Ran {
        path: place.shown.clone(),
        prompt: prompt(session, &open)?,
        dry_run: request.dry_run,
        worker: None,
        agent: chosen.name.clone(),
        answer: None,
        commit: None,
        failed: None,
    };
    if request.dry_run {
        return Ok(ran);
    }
    let mut held = Held::take(session, place.clone(), "doc run")?;
    let Some(text) = prompt(session, &held.open)? else {
        // The answer may be there, and whoever was to commit it died.
        let commit = if request.no_git { None } else { commit_held(session, &mut held)? };
        return Ok(Ran { prompt: None, commit, ..ran });
    };
    if request.branch {
        branch(session, &held.open)?;
    }
    let last = last_worker(session, &held)?;
    let n = send(session, &mut held, &text)?;
    let name = held.open.name.clone();
    // While the agent works, the document is anybody's.
    drop(held);
    let said = ask(session, &place, &chosen, request, (&text, name.as_bstr(), last));
    let mut held = Held::take(session, place, "doc run")?;
    match said {
        Err(failure) => {
            fail(session, &mut held, n, &failure)?;
            return Err(failure);
        }
        Ok(said) => {
            ran.worker = Some(said.worker);
            let given = Given {
                text: said.text,
                turn: Some(n),
                origin: Some("run".to_owned()),
                agent: Some(chosen.name),
                model: chosen.model,
                session: Some(said.worker.to_string()),
                ..Given::default()
            };
            ran.answer = Some(answer(session, &mut held, &given)?);
        }
    }
    if !request.no_git {
        match commit_now(session, &mut held, Manner::default()) {
            Ok(done) => ran.commit = Some(done),
            Err(failure) => ran.failed = Some(failure),
        }
    }
    ran.prompt = Some(text);
    // The newest has the session; one before has nothing that is not on the record.
    if let Some(last) = last.filter(|_| ran.worker.is_some()) {
        let names = vec![last.to_string()];
        let closed = reap::run(session, &reap::Request { names, yes: true, ..reap::Request::default() });
        if let Err(failure) = closed
            && failure.token() != Some(Token::NoSuchWorker)
            && failure.token() != Some(Token::Archived)
        {
            session.tell(format!("the worker of the turn before is kept: {failure}"));
        }
    }
    Ok(ran)
}

/// What is sent: what is new, the whole text, and how to answer. Nothing where nothing is new.
fn prompt(session: &Session<'_>, open: &Open) -> Result<Option<String>> {
    let diff = difference(session, open, true)?;
    if diff.is_empty() {
        return Ok(None);
    }
    let first = open.known(session)?.is_none();
    let new = if first { String::new() } else { format!("<diff>\n{diff}</diff>\n\n") };
    Ok(Some(format!("{new}<document>\n{}</document>\n\n{}\n", open.text, contract(open)?)))
}

fn contract(open: &Open) -> Result<String> {
    let found = components(&open.text).map_err(|why| malformed(&open.place, &why))?;
    let begin = "A person wrote this document and waits for your answer to what is new in it. Change no file: what you \
                 print at the end is your answer, in markdown.";
    if found.is_empty() || open.front.fields.format == Format::Append {
        return Ok(format!("{begin} It is put below the document."));
    }
    let names: Vec<&str> = found.iter().map(|component| component.name.as_str()).collect();
    Ok(format!(
        "{begin} The document has the components {}. What belongs into one of them stands between \
         `<!-- patch:NAME -->` and `<!-- /patch:NAME -->`, each on a line of its own; all else goes into the exchange.",
        names.join(", ")
    ))
}

/// What an agent said at its end.
struct Answer {
    worker: WorkerId,
    text: String,
}

fn ask(
    session: &mut Session<'_>,
    place: &Place,
    chosen: &Chosen,
    request: &Request,
    (prompt, name, last): (&str, &BStr, Option<WorkerId>),
) -> Result<Answer> {
    let view = session.view()?;
    let handle = handle(place).unique(|taken| view.handle_taken(taken));
    let mut wanted = dispatch::Request {
        task: prompt.to_owned(),
        name: Some(handle.to_string()),
        only_reads: true,
        agent: Some(chosen.name.clone()).filter(|_| chosen.argv.is_empty()),
        words: chosen.more.clone(),
        argv: chosen.argv.clone(),
        jail: request.jail.clone(),
        follows: last,
        goes_on: true,
        ..dispatch::Request::default()
    };
    let started = match dispatch::run(session, &wanted) {
        Err(failure) if failure.token() == Some(Token::NoSession) => {
            // The document holds all that was said.
            session.tell(format!("its session begins anew ({failure})"));
            wanted.follows = None;
            dispatch::run(session, &wanted)
        }
        started => started,
    }?;
    session.tell(format!("{} answers (git skein show {})", chosen.name, started.handle));
    crate::verbs::wait::wait(session, &[started.worker.to_string()], false, None, &|| {})?;
    let view = session.view()?;
    let worker = view.worker(&started.worker.to_string())?;
    let log = crate::host::read_optional(&session.local.log(worker.id))?.unwrap_or_default();
    let text = said(&worker.record.agent, &log);
    let good = matches!(worker.record.outcome, Outcome::Ready | Outcome::NeedsInput)
        || only_typed_in(&worker.record, name);
    if good && !text.trim().is_empty() {
        return Ok(Answer { worker: worker.id, text });
    }
    let why = if good { "said nothing".to_owned() } else { format!("is {}", worker.record.outcome) };
    Err(Refusal::new(Token::NoAnswer, format!("{} {why}; the document was left as it is", chosen.name))
        .lines(
            log.to_str_lossy().lines().rev().take(5).collect::<Vec<_>>().into_iter().rev().map(str::to_owned),
        )
        .show(format!("git show {}:record.json", worker.ref_text()))
        .next(format!(
            "git skein show --log {}; then git skein doc run {}",
            started.handle,
            quoted(&place.shown)
        ))
        .into())
}

/// Whether all that went wrong is that a file changed while it worked, and that is the document, or what an editor keeps
/// beside it; or any file, where a jail kept the agent from it. It ended well, and changed nothing itself.
fn only_typed_in(record: &WorkerRecord, name: &BStr) -> bool {
    let (folder, file) = parted(name);
    // The name of what an editor keeps begins with that of the file: `.t.md.swp`, `t.md~`, `#t.md#`.
    let beside = |path: &String| {
        let (other, path) = parted(path.as_bytes());
        other == folder && path.trim_start_with(|c| ".#".contains(c)).starts_with(file)
    };
    record.exit == Some(0)
        && record.flags == [Flag::OutsideChanged]
        && record.tip == Some(record.base)
        && (!record.jail.is_none() || record.outside.iter().all(beside))
}

/// The folder of a path, and the name in it.
fn parted(path: &[u8]) -> (&[u8], &[u8]) {
    path.rsplit_once_str("/").unwrap_or((b"", path))
}

/// What the agent said last: of one that tells events, its words after the last tool it used; of another one, all.
fn said(argv: &[String], log: &[u8]) -> String {
    let Some(agent) = Agent::of(argv) else { return log.to_str_lossy().trim().to_owned() };
    let mut words: Vec<String> = Vec::new();
    let mut told = false;
    for line in log.lines() {
        for said in agent.said(line) {
            told = true;
            match said {
                Said::Text(text) => words.push(text),
                Said::Tool(..) => words.clear(),
                _ => {}
            }
        }
    }
    if told { words.join("\n\n") } else { log.to_str_lossy().trim().to_owned() }
}

/// The worker of the last answer that was run for.
fn last_worker(session: &Session<'_>, held: &Held) -> Result<Option<WorkerId>> {
    let Some(state) = &held.open.state else { return Ok(None) };
    for n in (1..=state.record.turns).rev().take(5) {
        let turn = state.turn(&session.repo, n)?;
        if let Some(id) = turn.and_then(|turn| turn.session).and_then(|name| name.parse().ok()) {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

fn fail(session: &Session<'_>, held: &mut Held, n: u32, failure: &Failure) -> Result<()> {
    let Some(turn) =
        held.open.state.as_ref().map(|state| state.turn(&session.repo, n)).transpose()?.flatten()
    else {
        return Ok(());
    };
    let mut step = DocStep::default();
    step.put_turn(&session.repo, &TurnRecord { failed: Some(failure.to_string()), ..turn })?;
    let mut record = next_record(held);
    record.open.retain(|open| *open != n);
    publish(session, held, step, &record, &format!("turn {n} failed"))
}

/// What a worker that answers in the document is called, and its branch.
fn handle(place: &Place) -> Handle {
    let stem = place.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Handle::from_task(&format!("doc {stem}"))
}

/// Goes onto the branch of the document, which begins where `HEAD` is.
fn branch(session: &Session<'_>, open: &Open) -> Result<()> {
    let branch = RefName::new_branch(&format!("skein-doc/{}", handle(&open.place)))?;
    if session.repo.branch_of(&open.admin)?.as_ref() == Some(&branch) {
        return Ok(());
    }
    session.repo.switch_new(&open.admin, &branch)?.map_err(|words| {
        Refusal::new(Token::NotABranch, format!("{} could not be made", branch.short()))
            .lines(words.lines().map(str::to_owned))
            .show(format!("git branch --list {}", branch.short()))
            .next("go there by hand: git switch, or run without --branch")
            .into()
    })
}
