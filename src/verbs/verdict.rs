//! `verdict`: what a person decides of a worker, bound to the one delta or question that was looked at. The verdict on
//! the lane and what it does to the worker's record are one transaction; a record that moved meanwhile is read again.

mod answer;
mod card;
mod follow;

pub use card::Card;
pub use card::card;

use crate::domain::Decision;
use crate::domain::Failure;
use crate::domain::Handle;
use crate::domain::Jail;
use crate::domain::Judged;
use crate::domain::OpId;
use crate::domain::Outcome;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Risk;
use crate::domain::Subject;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::domain::mask;
use crate::domain::standing;
use crate::plumbing::Moved;
use crate::state::DeltaRecord;
use crate::state::Draft;
use crate::state::LIST_LANES;
use crate::state::LaneEntry;
use crate::state::LaneRecord;
use crate::state::Ledger;
use crate::state::VERSION;
use crate::state::Verdict;
use crate::state::View;
use crate::state::Worker;
use crate::state::WorkerRecord;
use crate::state::append;
use crate::state::next_record;
use crate::state::tip;
use crate::verbs::dispatch;
use crate::verbs::freeze;
use crate::verbs::freeze::Frozen;
use crate::verbs::freeze::Take;
use crate::verbs::init;
use crate::verbs::landing::Landings;
use crate::verbs::policy;
use crate::verbs::session::Session;
use crate::verbs::tell::Told;
use crate::verbs::weigh::Weighing;
use serde::Serialize;

/// How often a verdict is written anew because somebody else wrote the worker's record.
const RACES: u32 = 10;

/// What is decided, and of what.
#[derive(Debug, Clone)]
pub struct Request {
    pub verb: Decision,
    /// The number of an option of the question.
    pub option: Option<u32>,
    pub text: Option<String>,
    /// The id that the card showed; else there must be but one delta or question.
    pub seen: Option<String>,
    /// Whatever there is, is meant: `land --accept`.
    pub newest: bool,
    pub take: Take,
}

/// A verdict that is on the lane, and what came of it.
#[derive(Debug, Serialize)]
pub struct Decided {
    pub worker: WorkerId,
    pub handle: Handle,
    pub op: OpId,
    pub verb: Decision,
    /// What it is bound to, as `--delta` names it.
    pub subject: String,
    pub delta: Option<u32>,
    pub risk: Option<Risk>,
    /// An answer, on its way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told: Option<Told>,
    /// Whether the worker was taken up again, its other try started, its processes ended.
    pub done: bool,
    /// The worker that has the task now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Handle>,
    pub next: String,
}

/// Decides of worker `name`.
pub fn decide(session: &mut Session<'_>, name: &str, request: &Request) -> Result<Decided> {
    session.refuse_in_worker("verdict")?;
    let actor = session.person()?;
    let view = init::ensure_for(session, name)?;
    let worker = view.open_worker(&session.repo, name)?;
    refuse_foreign(session, &worker.record)?;
    let id = worker.id;
    request.refuse_unclear()?;
    if request.verb == Decision::Answer {
        return answer::give(session, id, request, &actor);
    }
    policy::refuse_actor(session, &view, &worker.record.onto, &actor)?;
    let given = match begun(session, &view, worker, request)? {
        Some(judged) => Given::again(worker, judged),
        None => until_written(|| once(session, id, request, &actor))?,
    };
    follow::up(session, id, request, given)
}

/// Tries again as long as somebody else writes the record.
fn until_written<T>(mut write: impl FnMut() -> Result<T>) -> Result<T> {
    let mut left = RACES;
    loop {
        match write() {
            Err(failure) if failure.token() == Some(Token::RecordMoved) && left > 0 => left -= 1,
            other => return other,
        }
    }
}

impl Request {
    fn refuse_unclear(&self) -> Result<()> {
        let show = "git skein verdict -h";
        let silent = self.text.as_deref().is_none_or(|text| text.trim().is_empty());
        if self.verb == Decision::Revise && silent {
            return Err(Refusal::new(Token::NoTask, "it is not said what is to be done otherwise")
                .show(show)
                .next("say it with -m")
                .into());
        }
        if self.option.is_some() && self.verb != Decision::Answer {
            return Err(Refusal::new(
                Token::NoSuchOption,
                "options are those of a question, which is answered",
            )
            .show(show)
            .next("leave --option out, or answer with it")
            .into());
        }
        Ok(())
    }
}

pub(super) fn refuse_foreign(session: &Session<'_>, record: &WorkerRecord) -> Result<()> {
    if session.clone_id() == Some(record.clone.as_str()) {
        return Ok(());
    }
    Err(Refusal::new(Token::ForeignWorker, format!("{} was dispatched in another clone", record.handle))
        .show("git config skein.clone")
        .next("decide where it was dispatched: only that clone writes its record")
        .into())
}

/// A verdict whose consequence was cut short: the worker was not taken up again, its other try never started, or it
/// runs still.
fn begun<'w>(
    session: &Session<'_>,
    view: &View,
    worker: &'w Worker,
    request: &Request,
) -> Result<Option<&'w Judged>> {
    let Some(judged) = worker.record.judged.last().filter(|judged| judged.verb == request.verb) else {
        return Ok(None);
    };
    let left = match request.verb {
        Decision::Revise => {
            let said = request.text.as_deref().map(mask);
            let last = worker.record.messages.last().filter(|m| m.delivered.is_none());
            worker.record.outcome == Outcome::NeedsInput && last.map(|m| &m.text) == said.as_ref()
        }
        Decision::Stop => worker.record.outcome == Outcome::Active,
        Decision::Retry => match follow::promised(judged.op) {
            Some(id) => {
                let open = view.workers.iter().any(|w| w.id == id);
                !open && view.archived_worker(&session.repo, &id.to_string())?.is_none()
            }
            None => false,
        },
        _ => false,
    };
    Ok(Some(judged).filter(|_| left))
}

/// What was found to judge.
struct Found {
    subject: Subject,
    frozen: Option<Frozen>,
    /// Why there is no delta.
    refusal: Option<Box<Refusal>>,
}

impl Found {
    /// The work of the worker as it would be frozen now, else its run.
    fn look(session: &Session<'_>, view: &View, worker: &Worker, take: Take) -> Result<Found> {
        let run = Subject::Run(worker.at);
        if worker.record.outcome == Outcome::Active {
            return Ok(Found { subject: run, frozen: None, refusal: None });
        }
        match freeze::run(session, view, worker, take) {
            Ok(frozen) => {
                let subject = Subject::Delta(frozen.delta.n, frozen.delta.net.raw.clone());
                Ok(Found { subject, frozen: Some(frozen), refusal: None })
            }
            Err(Failure::Refusal(refusal)) if refusal.token != Token::RecordMoved => {
                Ok(Found { subject: run, frozen: None, refusal: Some(refusal) })
            }
            Err(failure) => Err(failure),
        }
    }

    fn delta(&self) -> Option<&DeltaRecord> {
        self.frozen.as_ref().map(|frozen| &frozen.delta)
    }
}

/// A verdict that is recorded.
struct Given {
    handle: Handle,
    op: OpId,
    subject: String,
    delta: Option<u32>,
    risk: Option<Risk>,
}

impl Given {
    fn again(worker: &Worker, judged: &Judged) -> Given {
        let subject = judged.delta.zip(judged.raw.clone()).map(|(n, raw)| Subject::Delta(n, raw));
        let subject = subject.unwrap_or(Subject::Run(worker.at)).to_string();
        let handle = worker.record.handle.clone();
        Given { handle, op: judged.op, subject, delta: judged.delta, risk: None }
    }
}

/// Judges what there is now, if that is what was seen.
fn once(session: &Session<'_>, id: WorkerId, request: &Request, actor: &str) -> Result<Given> {
    let view = session.view()?;
    let worker = view.worker(&id.to_string())?;
    refuse_state(worker, request.verb)?;
    let mut found = Found::look(session, &view, worker, request.take)?;
    refuse_unseen(session, worker, &found, request)?;
    if let (Decision::Accept, Some(refusal)) = (request.verb, found.refusal.take()) {
        return Err(refusal.into());
    }
    if let Some(already) = standing(&worker.record.judged, &found.subject)
        && already.judged.verb == request.verb
        && !already.carried
    {
        return Err(given_already(worker, &found.subject, &already.judged));
    }
    if request.verb == Decision::Retry {
        dispatch::rehearse(session, &view, &follow::again(session, worker, request, None)?)?;
    }
    if let Some(pending) = found.frozen.as_mut().and_then(|frozen| frozen.pending.take()) {
        freeze::settle(session, pending, worker.record.handle.as_str())?;
        crate::fault::point("verdict: delta frozen");
    }
    let clone = session.clone_id().unwrap_or_default();
    let held = Landings::begin(session, clone)?;
    let view = session.view()?;
    let now = view.worker(&id.to_string())?;
    let mut want = worker.record.clone();
    (want.deltas, want.frozen) = (now.record.deltas, now.record.frozen);
    let there = found.delta().map_or(worker.record.deltas, |delta| delta.n);
    if now.record != want || now.record.deltas != there {
        return Err(freeze::raced(worker.record.handle.as_str()));
    }
    record(&held, &view, now, &found, request, actor)
}

/// Writes the verdict, and what it makes of the worker.
fn record(
    held: &Landings<'_>,
    view: &View,
    worker: &Worker,
    found: &Found,
    request: &Request,
    actor: &str,
) -> Result<Given> {
    let session = held.session;
    let (at, verb) = (session.clock.now_secs(), request.verb);
    let subject = found.subject.to_string();
    let about = [held.clone, &worker.id.to_string(), verb.word(), &subject];
    let op = session.op_id(session.clock.now_millis(), &about);
    let delta = found.delta();
    let (mut risk, mut evidence) = (None, Vec::new());
    if let Some(delta) = delta {
        let objects = &session.repo.objects;
        let changes = objects.diff_trees(objects.tree_of(delta.base)?, delta.tree)?;
        let ledger = Ledger::load(&session.repo, view)?;
        let weighed = Weighing::of(session, view, &ledger)?.weigh(session, worker, delta.tip, &changes)?;
        (risk, evidence) = (Some(weighed.risk), weighed.evidence);
    }
    let verdict = Verdict {
        verb,
        worker: worker.id,
        actor: actor.to_owned(),
        delta: delta.map(|d| d.n),
        tip: delta.map(|d| d.tip),
        raw: delta.map(|d| d.net.raw.clone()),
        question: None,
        option: None,
        text: request.text.as_deref().map(mask),
        risk: risk.clone(),
        evidence,
        record: worker.at,
        retry: follow::promised(op).filter(|_| verb == Decision::Retry),
    };
    let judged = Judged {
        op,
        verb,
        delta: verdict.delta,
        tip: verdict.tip,
        raw: verdict.raw.clone(),
        actor: actor.to_owned(),
        at,
    };
    let next = changed(worker.record.clone(), judged, request, at);
    publish(held, worker, &LaneRecord { v: VERSION, op, at, entry: LaneEntry::Verdict(verdict) }, &next)?;
    let (handle, delta) = (worker.record.handle.clone(), delta.map(|d| d.n));
    Ok(Given { handle, op, subject, delta, risk })
}

/// Verdict and worker in one transaction.
fn publish(held: &Landings<'_>, worker: &Worker, verdict: &LaneRecord, next: &WorkerRecord) -> Result<()> {
    let repo = &held.session.repo;
    let keeps: Vec<_> = match &verdict.entry {
        LaneEntry::Verdict(given) => given.tip.into_iter().collect(),
        _ => Vec::new(),
    };
    let lane = append(repo, held.clone, tip(repo, held.clone)?, verdict, None, &keeps)?;
    let worker_edit = next_record(repo, worker, next, verdict.at)?;
    crate::fault::point("verdict: before it is recorded");
    match Draft::new(repo).put(lane).put(worker_edit).publish()? {
        Moved::Done => {
            crate::fault::point("verdict: recorded");
            Ok(())
        }
        Moved::Lost(_) => Err(freeze::raced(worker.record.handle.as_str())),
    }
}

/// The worker's record with the verdict.
fn changed(mut record: WorkerRecord, judged: Judged, request: &Request, at: i64) -> WorkerRecord {
    let verb = judged.verb;
    record.judge(judged);
    match verb {
        Decision::Revise => {
            let text = request.text.as_deref().unwrap_or_default();
            record.tell(text, None, None, at);
            if record.outcome == Outcome::Ready && record.jail != Jail::None {
                // What its agent had kept of the session is gone since.
                record.session = None;
            }
            record.outcome = Outcome::NeedsInput;
            record.reason = Some(format!("sent back: {}", mask(text).lines().next().unwrap_or_default()));
        }
        Decision::Stop if record.outcome == Outcome::NeedsInput => {
            record.outcome = Outcome::Stopped;
            record.reason = Some("stopped by a verdict".to_owned());
            record.paused = None;
        }
        _ => {}
    }
    record
}

/// What a worker's state does not allow.
fn refuse_state(worker: &Worker, verb: Decision) -> Result<()> {
    let record = &worker.record;
    let handle = &record.handle;
    let active = record.outcome == Outcome::Active;
    let turn_over = record.outcome == Outcome::NeedsInput;
    let asks = (active || turn_over) && record.open_questions().next().is_some();
    let (token, says, next) = match verb {
        Decision::Stop if active || turn_over => return Ok(()),
        Decision::Stop => {
            let says = format!("{handle} has ended already ({})", record.outcome);
            (Token::NotReady, says, format!("judge what it made: git skein verdict {handle}"))
        }
        Decision::Accept | Decision::Reject | Decision::Revise if asks => {
            let says = format!("{handle} asks a question, and is not done");
            (Token::NotReady, says, format!("answer it first: git skein verdict {handle} answer -m '…'"))
        }
        _ if active => {
            let says = format!("{handle} is still running");
            (
                Token::StillRunning,
                says,
                format!("git skein wait {handle}, or git skein verdict {handle} stop"),
            )
        }
        _ => return Ok(()),
    };
    Err(Refusal::new(token, says)
        .show(format!("git show {}:record.json", worker.ref_text()))
        .next(next)
        .into())
}

/// Refuses to judge what nobody has seen: a delta that is there now instead of the one on the card.
fn refuse_unseen(session: &Session<'_>, worker: &Worker, found: &Found, request: &Request) -> Result<()> {
    let handle = &worker.record.handle;
    let bound = matches!(request.verb, Decision::Accept | Decision::Reject | Decision::Revise);
    let says = match &request.seen {
        Some(seen) if !found.subject.is(seen) => format!("{seen} is not what there is of {handle} now"),
        None if bound && !request.newest && found.delta().is_some_and(|delta| delta.n > 1) => {
            format!("there is more than one delta of {handle}, and none was named")
        }
        _ => return Ok(()),
    };
    let before = worker.delta(&session.repo)?.filter(|last| Some(last.n) != found.delta().map(|d| d.n));
    let show = match (before, found.delta(), worker.record.judged.last()) {
        (Some(before), Some(now), _) => {
            format!("git range-diff {0}..{1} {0}..{2}", now.base, before.tip, now.tip)
        }
        (None, Some(now), Some(judged)) => policy::since(judged, now),
        (_, Some(now), _) => format!("git log --stat {}..{}", now.base, now.tip),
        _ => format!("git show {}:record.json", worker.ref_text()),
    };
    Err(Refusal::new(Token::VerdictStale, says)
        .lines([format!("now: {}", found.subject)])
        .show(show)
        .next(format!("look at it with git skein verdict {handle}, then add --delta {}", found.subject))
        .into())
}

fn given_already(worker: &Worker, subject: &Subject, judged: &Judged) -> Failure {
    let handle = &worker.record.handle;
    let says = format!("{} has said {} to {handle} {subject} already", judged.actor, judged.verb);
    Refusal::new(Token::VerdictGiven, says)
        .lines([format!("operation {}", judged.op)])
        .show(LIST_LANES)
        .next("nothing to do; another verdict on it may still be given")
        .into()
}

/// Accepts the work of worker `name` as it stands, unless that is accepted already.
pub fn accept(session: &mut Session<'_>, name: &str, take: Take) -> Result<()> {
    let request =
        Request { verb: Decision::Accept, option: None, text: None, seen: None, newest: true, take };
    match decide(session, name, &request) {
        Ok(done) => {
            session.tell(format!("accepted: {} {}", done.handle, done.subject));
            Ok(())
        }
        Err(failure) if failure.token() == Some(Token::VerdictGiven) => Ok(()),
        Err(failure) => Err(failure),
    }
}
