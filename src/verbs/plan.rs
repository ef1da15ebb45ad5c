//! `plan`: a worker lays out what it means to do, and ends its turn; a person reads that, and decides on this very
//! version of it. Then the worker goes on.

use crate::domain::Change;
use crate::domain::Failure;
use crate::domain::Handle;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::domain::mask;
use crate::domain::plan::Decided;
use crate::domain::plan::LaidOut;
use crate::domain::plan::Plan;
use crate::domain::plan::Verdict;
use crate::domain::plan::Whose;
use crate::domain::plan::already;
use crate::domain::plan::decide;
use crate::domain::plan::refuse_late;
use crate::domain::plan::refuse_unplanned;
use crate::state::Worker;
use crate::verbs::custody;
use crate::verbs::finish;
use crate::verbs::init;
use crate::verbs::session::Session;
use crate::verbs::snapshot::Seen;
use crate::verbs::tell;
use crate::verbs::verdict;
use bstr::ByteSlice;
use serde::Serialize;

/// What a person wants of the plan of a worker.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub worker: String,
    /// None: to read it.
    pub verdict: Option<Verdict>,
    /// The id of the version that was read, or its beginning; else the newest.
    pub plan: Option<String>,
    /// What the worker is told with it.
    pub text: Option<String>,
}

/// The newest plan of a worker.
#[derive(Debug, Serialize)]
pub struct Read {
    pub worker: WorkerId,
    pub handle: Handle,
    pub plan: LaidOut,
    /// How many there are.
    pub plans: usize,
    /// It was decided just now.
    pub now: bool,
    /// The worker goes on with it.
    pub resumed: bool,
}

pub fn run(session: &mut Session<'_>, request: &Request) -> Result<Read> {
    let Some(said) = request.verdict else { return read(session, &request.worker) };
    session.refuse_in_worker("plan")?;
    if said == Verdict::Reject && request.text.as_ref().is_none_or(|text| text.trim().is_empty()) {
        return Err(Refusal::new(Token::NoTask, "nothing says what is wrong with the plan")
            .show("git skein plan -h")
            .next("say it with -m: the worker plans again after that")
            .into());
    }
    let view = init::ensure(session)?;
    let worker = view.open_worker(&session.repo, &request.worker)?;
    verdict::refuse_foreign(session, &worker.record)?;
    let handle = worker.record.handle.clone();
    let whose = whose(worker);
    // What is decided is what stands there now, whatever comes while it is looked at.
    let newest = worker.record.plans.last().map(|plan| plan.id.clone());
    let asked = request.plan.as_deref().or(newest.as_deref());
    decide(&whose, &worker.record.plans, asked, said, &[])?;
    custody::refuse_running(session, worker)?;
    let late = late(session, worker, &custody::look(session, worker)?)?;
    let (by, at) = (session.person()?, session.clock.now_secs());
    let plan = finish::amend(session, worker.id, |record| {
        let n = decide(&whose, &record.plans, asked, said, &late)?;
        let text = request.text.as_deref().map(mask);
        let told = match &text {
            Some(text) => format!("Your plan {} is {}: {text}", record.plans[n].short(), said.word()),
            None => format!("Your plan {} is {}. Keep to it.", record.plans[n].short(), said.word()),
        };
        record.plans[n].decided = Some(Decided { verdict: said, by: by.clone(), at, text });
        record.tell(&told, None, None, at);
        Ok(record.plans[n].clone())
    })?;
    crate::fault::point("plan: verdict recorded");
    let (id, plans) = (worker.id, worker.record.plans.len());
    let resumed = tell::taken_up(session, id);
    Ok(Read { worker: id, handle, plan, plans, now: true, resumed })
}

fn read(session: &Session<'_>, name: &str) -> Result<Read> {
    let view = session.view()?;
    let worker = view.any_worker(&session.repo, name)?;
    let record = &worker.record;
    if record.plans.is_empty() {
        decide(&whose(&worker), &record.plans, None, Verdict::Approve, &[])?;
    }
    let plan =
        record.plans.last().cloned().ok_or_else(|| Failure::fault("reading a plan", "there is none"))?;
    let (handle, plans) = (record.handle.clone(), record.plans.len());
    Ok(Read { worker: worker.id, handle, plan, plans, now: false, resumed: false })
}

fn whose(worker: &Worker) -> Whose {
    Whose { handle: worker.record.handle.to_string(), record: worker.ref_text() }
}

/// What a worker that has to plan first has changed without an approved plan.
fn late(session: &Session<'_>, worker: &Worker, seen: &Seen) -> Result<Vec<String>> {
    let record = &worker.record;
    if record.may_write() || !record.plan_gate() {
        return Ok(Vec::new());
    }
    if let Some(refusal) = &seen.withheld {
        return Err(Failure::Refusal(refusal.clone()));
    }
    let objects = &session.repo.objects;
    let base = objects.tree_of(record.base)?;
    let mut changed = objects.diff_trees(base, seen.tree)?;
    changed.extend(objects.diff_trees(base, objects.tree_of(seen.head)?)?);
    let mut found: Vec<String> = changed.iter().map(|c| c.path.to_str_lossy().into_owned()).collect();
    found.sort_unstable();
    found.dedup();
    if found.is_empty() && seen.head != record.base {
        found.push(format!("HEAD is at {}, and the base is {}", seen.head, record.base));
    }
    Ok(found)
}

/// In the supervisor: puts the plan of worker `id` on its record.
pub fn lay_out(session: &Session<'_>, id: WorkerId, plan: &Plan, seen: Option<&Seen>) -> Result<LaidOut> {
    let seen = seen.ok_or_else(|| Failure::fault("looking at the worktree", "it keeps changing"))?;
    let view = session.view()?;
    let worker = view.worker(&id.to_string())?;
    let handle = worker.record.handle.as_str();
    let late = late(session, worker, seen)?;
    if !late.is_empty() {
        return Err(refuse_late(handle, &late));
    }
    let (whose, at) = (whose(worker), session.clock.now_secs());
    finish::amend(session, id, |record| {
        if let Some(approved) = record.plans.iter().find(|plan| plan.is_approved()) {
            return Err(already(&whose, approved, Verdict::Approve));
        }
        let laid = plan.laid_out(record.plans.len() as u32 + 1, at);
        record.plans.push(laid.clone());
        Ok(laid)
    })
}

/// Refuses changes, or a worker to be started, before the plan of a worker that needs one is approved.
pub fn refuse(worker: &Worker, changes: &[Change]) -> Result<()> {
    let record = &worker.record;
    if !record.plan_gate() || record.has_approved_plan() {
        return Ok(());
    }
    let lines = changes.iter().map(|c| c.path.to_str_lossy().into_owned()).collect();
    Err(refuse_unplanned(record.handle.as_str(), lines))
}
