//! `landed`: is this work on the trunk, and by what proof? Reads only.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::Presence;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::Unknown;
use crate::domain::Verdict;
use crate::domain::verify_commit;
use crate::plumbing::CommitGraph;
use crate::state::LandedDelta;
use crate::state::Landing;
use crate::state::Ledger;
use crate::state::View;
use crate::state::Worker;
use crate::state::committed_base;
use crate::verbs::custody;
use crate::verbs::graph;
use crate::verbs::proof;
use crate::verbs::proof::Answer;
use crate::verbs::proof::Left;
use crate::verbs::proof::Question;
use crate::verbs::proof::Receipt;
use crate::verbs::session::Session;
use crate::verbs::stored::Picture;
use crate::verbs::upon;
use bstr::ByteSlice;
use serde::Serialize;
use std::rc::Rc;

#[derive(Debug, Clone)]
pub struct Request {
    pub name: String,
    pub base: Option<String>,
    pub onto: Option<RefName>,
    /// Also ask `git cherry`.
    pub cherry: bool,
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
    /// What `git cherry` says, if it was asked; it does not change the verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cherry: Option<Cherry>,
}

/// The answer of `git cherry`.
#[derive(Debug, Serialize)]
#[serde(tag = "says", rename_all = "kebab-case")]
pub enum Cherry {
    /// Every commit is upstream.
    Landed { commits: Vec<Sign> },
    /// Some commit is not upstream.
    NotLanded { commits: Vec<Sign> },
    /// It lists no commit: the branch has them all, or there are none but merges.
    Nothing,
    /// It failed.
    Failed { why: String },
}

/// One commit as `git cherry` lists it.
#[derive(Debug, Serialize)]
pub struct Sign {
    pub commit: Oid,
    /// It says `-`: a commit with the same patch id is there.
    pub upstream: bool,
}

pub fn run(session: &Session<'_>, request: &Request) -> Result<Answered> {
    let view = session.view()?;
    let no_worker = match view.meant(&session.repo, &request.name) {
        Ok(worker) => return of_worker(session, &view, worker, request),
        Err(no_worker) => no_worker,
    };
    if let Some(worker) = archived(session, &view, &request.name, &no_worker)? {
        return of_worker(session, &view, &worker, request);
    }
    let onto = session.onto(&view, request.onto.as_ref())?;
    let target = session.branch_tip(&view, &onto)?;
    let tip = commit(session, &request.name).map_err(|no_commit| match no_worker {
        // A worker was meant, but it cannot be told which, or its record cannot be read.
        Failure::Refusal(r) if r.token != Token::NoSuchWorker => r.into(),
        _ => no_commit,
    })?;
    let graph = graph::load(session, &view);
    let base = match &request.base {
        Some(rev) => Ok(Left { base: commit(session, rev)?, trunk: None }),
        None => proof::base_of(&session.repo.objects, &graph, tip, target)?,
    };
    let question = match base {
        Ok(Left { base, trunk }) => Ok(Question { trunk, ..of_commits(session, base, tip, target)? }),
        Err(Unknown::Unrelated | Unknown::Root) if session.repo.is_shallow() => Err(Unknown::Shallow),
        Err(why) => Err(why),
    };
    ask((session, &graph), request, onto, (tip, target), question, 0)
}

/// The closed worker of that name. A part of its name does not stand before a revision.
fn archived(session: &Session<'_>, view: &View, name: &str, none: &Failure) -> Result<Option<Worker>> {
    if none.token() != Some(Token::NoSuchWorker) {
        return Ok(None);
    }
    let whole = |w: &Worker| w.record.handle.as_str() == name || w.id.to_string() == name;
    match view.archived_worker(&session.repo, name) {
        Ok(Some(worker)) if whole(&worker) => Ok(Some(worker)),
        Ok(None) => Ok(None),
        part if session.repo.resolve_commit(name)?.is_none() => part,
        _ => Ok(None),
    }
}

/// The branch that the worker is for, and where it is. Where that is gone, it is the trunk of now, if it landed there.
pub fn home(session: &Session<'_>, view: &View, ledger: &Ledger, worker: &Worker) -> Option<(RefName, Oid)> {
    let onto = &worker.record.onto;
    if let Some(tip) = session.tip(view, onto) {
        return Some((onto.clone(), tip));
    }
    let mut landings = ledger.landings_of(worker.id, worker.record.deltas).peekable();
    landings.peek()?;
    let trunk = session.trunk(view).ok()?;
    let tip = session.tip(view, &trunk)?;
    landings.any(|landing| landing.onto == trunk).then_some((trunk, tip))
}

/// What is asked of a worker whose `HEAD` is `head`. Its base is the recorded one, its tip that of its newest
/// delta, or its `HEAD` before any.
pub fn question(
    session: &Session<'_>,
    ledger: &Ledger,
    worker: &Worker,
    head: Oid,
    (onto, target): (&RefName, Oid),
) -> Result<Question> {
    let delta = worker.delta(&session.repo)?;
    let tip = delta.map_or(head, |d| d.tip);
    let receipts = ledger
        .deltas()
        .filter(|(_, landing, d)| {
            d.worker == worker.id && landing.onto.may_be_one_branch(onto) && d.tip == tip
        })
        .map(|(_, landing, d)| receipt(landing, d))
        .collect();
    Ok(Question { receipts, ..of_commits(session, worker.record.base, tip, target)? })
}

/// Whether all that is committed of the worker is proven to be on the branch that it is for.
pub fn has_landed(session: &Session<'_>, view: &View, ledger: &Ledger, worker: &Worker) -> Result<bool> {
    let onto = &worker.record.onto;
    let Some(target) = session.tip(view, onto) else { return Ok(false) };
    let objects = &session.repo.objects;
    if worker.is_away || !objects.exists(worker.tip()) {
        return Ok(false);
    }
    let question = question(session, ledger, worker, worker.tip(), (onto, target))?;
    let all = question.tip == worker.tip() || objects.is_ancestor(worker.tip(), question.tip)?;
    Ok(all && is_there(session, &question)?)
}

/// Whether the work that is asked of is proven to be there, and nobody took it back.
pub fn is_there(session: &Session<'_>, question: &Question) -> Result<bool> {
    let verdict = proof::prove(&session.repo.objects, question)?.verdict;
    Ok(matches!(verdict, Verdict::Landed { presence: Presence::Yes | Presence::Changed, .. }))
}

/// What is asked of `tip`, forked from `base`, and a branch at `target`, when no receipt is known.
pub fn of_commits(session: &Session<'_>, base: Oid, tip: Oid, target: Oid) -> Result<Question> {
    let shallow = session.repo.is_shallow();
    let committed = match committed(session, base)? {
        None => upon::trunk_below(session, base, target)?,
        made => made,
    };
    Ok(Question { base, committed, tip, onto: target, shallow, receipts: Vec::new(), trunk: None })
}

/// What the lane's record of a landing claims.
fn receipt(landing: &Landing, delta: &LandedDelta) -> Receipt {
    Receipt {
        landed: delta.commits.clone(),
        old: landing.old,
        new: landing.new,
        landed_raw: delta.landed_raw.clone(),
        delta_raw: delta.raw.clone(),
    }
}

/// Whether what `landing` brought to a branch that is at `target` now was taken back there: the delta that it
/// names, else the person's branch at `tip`.
pub fn is_taken_back(session: &Session<'_>, landing: &Landing, tip: Oid, target: Oid) -> Result<bool> {
    let base = match &landing.delta {
        Some(delta) => delta.base,
        None => match session.repo.objects.merge_bases(landing.old, tip)?[..] {
            [base] => base,
            _ => return Ok(false),
        },
    };
    let receipts = landing.delta.iter().map(|delta| receipt(landing, delta)).collect();
    let question = Question { receipts, ..of_commits(session, base, tip, target)? };
    let answer = proof::prove(&session.repo.objects, &question)?;
    Ok(matches!(answer.verdict, Verdict::Landed { presence: Presence::Reverted, .. }))
}

/// The same for a mere look at many: what the branch has as the landing left it is not proven again.
pub fn seems_taken_back(session: &Session<'_>, landing: &Landing, tip: Oid, target: Oid) -> Result<bool> {
    let objects = &session.repo.objects;
    let root = objects.tree_of(target)?;
    for change in objects.diff_trees(objects.tree_of(landing.old)?, objects.tree_of(landing.new)?)? {
        if objects.entry_at(root, change.path.as_bstr())? != change.new {
            return Ok(
                objects.is_ancestor(landing.new, target)? && is_taken_back(session, landing, tip, target)?
            );
        }
    }
    Ok(false)
}

fn of_worker(session: &Session<'_>, view: &View, worker: &Worker, request: &Request) -> Result<Answered> {
    custody::refuse_away(worker)?;
    let request = &Request { name: worker.record.handle.to_string(), ..request.clone() };
    let ledger = Ledger::load(&session.repo, view)?;
    let onto = match &request.onto {
        Some(named) => session.onto(view, Some(named))?,
        None => home(session, view, &ledger, worker).map_or(worker.record.onto.clone(), |(onto, _)| onto),
    };
    let target = session.branch_tip(view, &onto)?;
    let question = question(session, &ledger, worker, worker.tip(), (&onto, target))?;
    let tip = question.tip;
    let left = match worker.wip {
        Some(wip) => {
            let picture = Picture::of_snapshot(session, worker, wip)?;
            let objects = picture.objects(session);
            objects.diff_trees(objects.tree_of(tip)?, picture.tree)?.len()
        }
        None => 0,
    };
    let graph = graph::load(session, view);
    let asked = question.clone();
    let mut answered = ask((session, &graph), request, onto, (tip, target), Ok(question), left)?;
    let answered_with = (&answered.onto, &answered.answer.verdict);
    if let Some(more) = landed_with_more(session, &ledger, worker, &asked, answered_with)? {
        answered.answer = more;
    }
    Ok(answered)
}

/// Where the trunk does not have the base any more, nothing but a receipt tells, and there may be one of more than is
/// asked of: of what was committed, together with what was not.
pub fn landed_with_more(
    session: &Session<'_>,
    ledger: &Ledger,
    worker: &Worker,
    asked: &Question,
    (onto, verdict): (&RefName, &Verdict),
) -> Result<Option<Answer>> {
    let objects = &session.repo.objects;
    if !matches!(verdict, Verdict::Unknown { why: Unknown::BaseNotInTrunk, .. }) {
        return Ok(None);
    }
    for (_, landing, delta) in ledger.deltas().filter(|(_, _, delta)| delta.worker == worker.id) {
        let same_branch = landing.onto.may_be_one_branch(onto);
        if !same_branch || !objects.exists(delta.tip) || !objects.is_ancestor(asked.tip, delta.tip)? {
            continue;
        }
        let more = Question { tip: delta.tip, receipts: vec![receipt(landing, delta)], ..asked.clone() };
        let answer = proof::prove(objects, &more)?;
        if matches!(answer.verdict, Verdict::Landed { .. }) {
            return Ok(Some(answer));
        }
    }
    Ok(None)
}

/// What a base of uncommitted changes was made on, as far as it is here.
pub fn committed(session: &Session<'_>, base: Oid) -> Result<Option<Oid>> {
    let objects = &session.repo.objects;
    if objects.exists(base) { committed_base(objects, base) } else { Ok(None) }
}

fn ask(
    (session, graph): (&Session<'_>, &Rc<CommitGraph>),
    request: &Request,
    onto: RefName,
    (tip, target): (Oid, Oid),
    question: std::result::Result<Question, Unknown>,
    leftovers: usize,
) -> Result<Answered> {
    let base = question.as_ref().ok().map(|asked| asked.base);
    let answer = match question {
        Ok(question) => proof::prove_by(&session.repo.objects, graph, &question)?,
        Err(why) => {
            let detail = match why {
                Unknown::Shallow => "history is cut off before they parted: git fetch --unshallow",
                _ => "there is no base to compare with; say where it was forked from: --base <rev>",
            };
            let detail = detail.to_owned();
            Answer { verdict: Verdict::Unknown { why, detail }, explain: Vec::new() }
        }
    };
    let cherry = if request.cherry { Some(cherry(session, target, tip, base)?) } else { None };
    Ok(Answered { name: request.name.clone(), base, tip, onto, target, answer, leftovers, cherry })
}

fn cherry(session: &Session<'_>, target: Oid, tip: Oid, base: Option<Oid>) -> Result<Cherry> {
    let listed = match session.repo.cherry(target, tip, base)? {
        Ok(listed) => listed,
        Err(why) => return Ok(Cherry::Failed { why }),
    };
    let all = listed.iter().all(|(_, upstream)| *upstream);
    let commits: Vec<Sign> = listed.into_iter().map(|(commit, upstream)| Sign { commit, upstream }).collect();
    Ok(match (commits.is_empty(), all) {
        (true, _) => Cherry::Nothing,
        (false, true) => Cherry::Landed { commits },
        (false, false) => Cherry::NotLanded { commits },
    })
}

fn commit(session: &Session<'_>, rev: &str) -> Result<Oid> {
    session.repo.resolve_commit(rev)?.ok_or_else(|| {
        Refusal::new(Token::BadRevision, format!("{rev:?} is neither a worker nor a commit"))
            .show(verify_commit(rev))
            .next("git skein status lists the workers")
            .into()
    })
}
