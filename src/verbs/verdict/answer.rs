//! The answer to one exact question of a worker.

use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Subject;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::domain::mask;
use crate::domain::protocol::Question;
use crate::state::LaneEntry;
use crate::state::LaneRecord;
use crate::state::VERSION;
use crate::state::Verdict;
use crate::state::Worker;
use crate::state::WorkerRecord;
use crate::verbs::landing::Landings;
use crate::verbs::session::Session;
use crate::verbs::tell;
use crate::verbs::verdict;
use crate::verbs::verdict::Decided;
use crate::verbs::verdict::Request;

/// An answer that is on the record.
struct Given {
    message: u32,
    question: Question,
    open: usize,
    record: LaneRecord,
}

pub fn give(session: &mut Session<'_>, id: WorkerId, request: &Request, actor: &str) -> Result<Decided> {
    let given = verdict::until_written(|| once(session, id, request, actor))?;
    let subject = Subject::Question(given.question.n).to_string();
    let op = given.record.op;
    let told = tell::follow(session, id, given.message, Some(given.question), given.open)?;
    let handle = told.handle.clone();
    let verb = match (told.resumed, told.resumable && told.open == 0) {
        (true, _) => "wait",
        (false, true) => "resume",
        (false, false) => "verdict",
    };
    Ok(Decided {
        worker: id,
        next: format!("git skein {verb} {handle}"),
        handle,
        op,
        verb: request.verb,
        subject,
        delta: None,
        risk: None,
        done: true,
        told: Some(told),
        retry: None,
    })
}

fn once(session: &Session<'_>, id: WorkerId, request: &Request, actor: &str) -> Result<Given> {
    let clone = session.clone_id().unwrap_or_default();
    let held = Landings::begin(session, clone)?;
    let view = session.view()?;
    let worker = view.worker(&id.to_string())?;
    tell::refuse_ended(&worker.record)?;
    let question = meant(worker, request.seen.as_deref())?;
    let text = words(worker, &question, request)?;
    let at = session.clock.now_secs();
    let mut next: WorkerRecord = worker.record.clone();
    let message = next.tell(&text, Some(question.n), None, at);
    let about = [clone, &id.to_string(), "answer", &question.n.to_string()];
    let given = Verdict {
        verb: request.verb,
        worker: id,
        actor: actor.to_owned(),
        delta: None,
        tip: None,
        raw: None,
        question: Some(question.n),
        option: request.option,
        text: Some(mask(&text)),
        risk: None,
        evidence: Vec::new(),
        record: worker.at,
        retry: None,
    };
    let op = session.op_id(session.clock.now_millis(), &about);
    let record = LaneRecord { v: VERSION, op, at, entry: LaneEntry::Verdict(given) };
    verdict::publish(&held, worker, &record, &next)?;
    Ok(Given { message, question, open: next.open_questions().count(), record })
}

/// The question that was seen; without a name the one that is open.
fn meant(worker: &Worker, seen: Option<&str>) -> Result<Question> {
    let record = &worker.record;
    let handle = &record.handle;
    let open: Vec<&Question> = record.open_questions().collect();
    let found = match (seen, open.as_slice()) {
        (Some(seen), open) => open.iter().find(|q| Subject::Question(q.n).is(seen)),
        (None, [one]) => Some(one),
        (None, _) => None,
    };
    if let Some(found) = found {
        return Ok((**found).clone());
    }
    let (token, says) = match (seen, open.is_empty()) {
        (None, true) => (Token::NoSuchQuestion, format!("{handle} asks nothing")),
        (None, false) => (Token::VerdictStale, format!("{handle} asks {} questions", open.len())),
        (Some(seen), _) => (Token::VerdictStale, format!("{handle} does not ask {seen}, or not any more")),
    };
    Err(Refusal::new(token, says)
        .lines(open.iter().map(|q| format!("{}: {}", Subject::Question(q.n), q.text)))
        .show(format!("git show {}:record.json", worker.ref_text()))
        .next(format!("git skein verdict {handle} shows what it asks; name the question with --delta"))
        .into())
}

/// The option that was chosen, and what is said beside it.
fn words(worker: &Worker, question: &Question, request: &Request) -> Result<String> {
    let handle = &worker.record.handle;
    let show = format!("git show {}:record.json", worker.ref_text());
    let said = request.text.as_deref().filter(|text| !text.trim().is_empty());
    let Some(n) = request.option else {
        return said.map(ToOwned::to_owned).ok_or_else(|| {
            Refusal::new(Token::NoTask, "the answer is empty")
                .show(show)
                .next("say it with -m, or choose with --option")
                .into()
        });
    };
    let index = usize::try_from(n).unwrap_or(usize::MAX).checked_sub(1);
    let Some(chosen) = index.and_then(|at| question.options.get(at)) else {
        let says = format!("question {} of {handle} has no option {n}", question.n);
        return Err(Refusal::new(Token::NoSuchOption, says)
            .lines(question.options.iter().enumerate().map(|(at, o)| format!("{}: {o}", at + 1)))
            .show(show)
            .next("choose one of these, or answer in words with -m")
            .into());
    };
    Ok(said.map_or_else(|| chosen.clone(), |said| format!("{chosen}\n\n{said}")))
}
