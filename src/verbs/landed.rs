//! `landed`: is this work on the trunk, and by what proof? Reads only.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::Unknown;
use crate::domain::Verdict;
use crate::state::Ledger;
use crate::state::View;
use crate::state::Worker;
use crate::state::committed_base;
use crate::verbs::proof;
use crate::verbs::proof::Answer;
use crate::verbs::proof::Question;
use crate::verbs::proof::Receipt;
use crate::verbs::session::Session;
use serde::Serialize;

#[derive(Debug, Clone)]
pub struct Request {
    pub name: String,
    pub base: Option<String>,
    pub onto: Option<RefName>,
}

/// The answer with what was asked.
#[derive(Debug, Serialize)]
pub struct Answered {
    pub name: String,
    /// None could be found.
    pub base: Option<Oid>,
    pub tip: Oid,
    pub onto: RefName,
    /// Where the branch is.
    pub target: Oid,
    #[serde(flatten)]
    pub answer: Answer,
    /// Paths of a worker's working tree beyond its delta; they do not change the verdict.
    pub leftovers: usize,
}

pub fn run(session: &Session<'_>, request: &Request) -> Result<Answered> {
    let view = session.view()?;
    let no_worker = match view.worker(&request.name) {
        Ok(worker) => return of_worker(session, &view, worker, request),
        Err(no_worker) => no_worker,
    };
    let onto = onto(session, &view, request.onto.as_ref())?;
    let target = session.branch_tip(&view, &onto)?;
    let tip = commit(session, &request.name).map_err(|no_commit| match no_worker {
        // A worker was meant, but it cannot be told which, or its record cannot be read.
        Failure::Refusal(r) if r.token != Token::NoSuchWorker => r.into(),
        _ => no_commit,
    })?;
    let base = match &request.base {
        Some(rev) => Ok(commit(session, rev)?),
        None => proof::base_of(&session.repo.objects, tip, target)?,
    };
    ask(session, request, onto, (base, tip, target), Vec::new(), 0)
}

fn onto(session: &Session<'_>, view: &View, given: Option<&RefName>) -> Result<RefName> {
    given.map_or_else(|| session.trunk(view), |name| Ok(name.clone()))
}

/// A worker's base is the recorded one, its tip that of its newest delta, or its `HEAD` before any.
fn of_worker(session: &Session<'_>, view: &View, worker: &Worker, request: &Request) -> Result<Answered> {
    let request = &Request { name: worker.record.handle.to_string(), ..request.clone() };
    let onto = request.onto.clone().unwrap_or_else(|| worker.record.onto.clone());
    let target = session.branch_tip(view, &onto)?;
    let delta = worker.delta(&session.repo)?;
    let tip = delta.as_ref().map_or_else(|| worker.tip(), |d| d.tip);
    let ledger = Ledger::load(&session.repo, view)?;
    let receipts = ledger
        .deltas()
        .filter(|(_, landing, d)| d.worker == worker.id && landing.onto == onto && d.tip == tip)
        .map(|(_, landing, d)| Receipt {
            landed: d.commits.clone(),
            old: landing.old,
            new: landing.new,
            landed_raw: d.landed_raw.clone(),
            delta_raw: d.raw.clone(),
        })
        .collect();
    let left = match worker.wip {
        Some(wip) => {
            let objects = &session.repo.objects;
            objects.diff_trees(objects.tree_of(tip)?, objects.tree_of(wip)?)?.len()
        }
        None => 0,
    };
    ask(session, request, onto, (Ok(worker.record.base), tip, target), receipts, left)
}

fn ask(
    session: &Session<'_>,
    request: &Request,
    onto: RefName,
    (base, tip, target): (std::result::Result<Oid, Unknown>, Oid, Oid),
    receipts: Vec<Receipt>,
    leftovers: usize,
) -> Result<Answered> {
    let answer = match base {
        Ok(base) => {
            let shallow = session.repo.is_shallow();
            let objects = &session.repo.objects;
            let committed = if objects.exists(base) { committed_base(objects, base)? } else { None };
            proof::prove(objects, &Question { base, committed, tip, onto: target, shallow, receipts })?
        }
        Err(why) => {
            let detail =
                "there is no base to compare with; say where it was forked from: --base <rev>".to_owned();
            Answer { verdict: Verdict::Unknown { why, detail }, explain: Vec::new() }
        }
    };
    Ok(Answered { name: request.name.clone(), base: base.ok(), tip, onto, target, answer, leftovers })
}

fn commit(session: &Session<'_>, rev: &str) -> Result<Oid> {
    session.repo.resolve_commit(rev)?.ok_or_else(|| {
        Refusal::new(Token::BadRevision, format!("{rev:?} is neither a worker nor a commit"))
            .show(format!("git rev-parse --verify '{rev}^{{commit}}'"))
            .next("git skein status lists the workers")
            .into()
    })
}
