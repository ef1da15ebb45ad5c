//! Work upon work: a worker that was forked from what another one made, which need not have landed yet.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::state::DeltaRecord;
use crate::state::Ledger;
use crate::state::View;
use crate::state::Worker;
use crate::verbs::custody;
use crate::verbs::session::Session;

/// Where a worker starts that builds on `worker` and is meant for `onto`, which is at `target`: at its work, or
/// nowhere else than usual if it did nothing, is meant for another branch or has landed there.
pub fn start_of(
    session: &Session<'_>,
    view: &View,
    worker: &Worker,
    (onto, target): (&RefName, Oid),
) -> Result<Option<(Oid, String)>> {
    let tip = worker.delta(&session.repo)?.map_or(worker.tip(), |delta| delta.tip);
    if worker.record.onto != *onto || tip == worker.record.base {
        return Ok(None);
    }
    let landed = has_landed(session, view, worker, (onto, target), tip)?;
    Ok((!landed).then(|| (tip, worker.record.handle.to_string())))
}

/// Whether the lane says that the work of `worker` up to `tip` is on `onto`, which is at `target`.
fn has_landed(
    session: &Session<'_>,
    view: &View,
    worker: &Worker,
    (onto, target): (&RefName, Oid),
    tip: Oid,
) -> Result<bool> {
    let objects = &session.repo.objects;
    let ledger = Ledger::load(&session.repo, view)?;
    let mine = ledger
        .deltas()
        .filter(|(_, l, d)| d.worker == worker.id && d.tip == tip && l.onto.may_be_one_branch(onto));
    for (op, landing, _) in mine {
        if !ledger.is_taken_back(*op) && objects.is_ancestor(landing.new, target)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The commit of a branch at `target` that work with this base comes from, if the base is a worker's own commit
/// that the branch does not have.
pub fn trunk_below(session: &Session<'_>, base: Oid, target: Oid) -> Result<Option<Oid>> {
    let objects = &session.repo.objects;
    if !is_of_a_worker(session, base, target)? {
        return Ok(None);
    }
    Ok(match objects.merge_bases(base, target)?[..] {
        [one] => Some(one),
        _ => None,
    })
}

fn is_of_a_worker(session: &Session<'_>, base: Oid, target: Oid) -> Result<bool> {
    let objects = &session.repo.objects;
    let there = objects.exists(base) && objects.exists(target);
    Ok(there && custody::committed_by_a_worker(session, base)? && !objects.is_ancestor(base, target)?)
}

/// The worker whose work `delta` was forked from, if `onto` at `target` does not have it.
fn missing(
    session: &Session<'_>,
    delta: &DeltaRecord,
    (onto, target): (&RefName, Oid),
) -> Result<Option<Worker>> {
    if !is_of_a_worker(session, delta.base, target)? {
        return Ok(None);
    }
    let view = session.view()?;
    for worker in &view.workers {
        let has_it = worker.tip() == delta.base
            || worker.delta(&session.repo)?.is_some_and(|before| before.tip == delta.base);
        if has_it && !has_landed(session, &view, worker, (onto, target), delta.base)? {
            return Ok(Some(worker.clone()));
        }
    }
    Ok(None)
}

/// Tells that only the changes of `handle` itself are taken, where those below them have not landed.
pub fn tell(session: &Session<'_>, handle: &str, delta: &DeltaRecord, at: (&RefName, Oid)) -> Result<()> {
    if let Some(before) = missing(session, delta, at)? {
        let (before, onto) = (&before.record.handle, at.0.short());
        session.tell(format!(
            "{handle} builds on the work of {before}, which {onto} does not have; only its own changes are taken"
        ));
    }
    Ok(())
}

/// A conflict that is there because the work below has not landed says so.
pub fn explain(
    session: &Session<'_>,
    handle: &str,
    delta: &DeltaRecord,
    at: (&RefName, Oid),
    failure: Failure,
) -> Failure {
    match failure {
        Failure::Refusal(refusal) if refusal.token == Token::Conflict => {
            let Ok(Some(before)) = missing(session, delta, at) else { return refusal.into() };
            let (before, onto) = (&before.record.handle, at.0.short());
            let says = format!("{handle} builds on the work of {before}, which {onto} does not have");
            Refusal { says, ..*refusal }.next(format!("git skein land {before} {handle}")).into()
        }
        other => other,
    }
}

/// Which deltas of many build on which. One that builds on another brings that along, as long as it is not there.
pub struct Stack {
    /// For each the one that it was forked from.
    pub below: Vec<Option<usize>>,
}

impl Stack {
    pub fn new(deltas: &[&DeltaRecord]) -> Stack {
        let before = |delta: &&DeltaRecord| deltas.iter().position(|other| other.tip == delta.base);
        Stack { below: deltas.iter().map(before).collect() }
    }

    /// It and all below it, from the top. A tip comes after its base, so there is an end.
    fn column(&self, at: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(at), |at| self.below[*at])
    }

    /// The lowest below `at`, which nothing here is below.
    pub fn ground(&self, at: usize) -> usize {
        self.column(at).last().unwrap_or(at)
    }

    /// The highest that both build on or are.
    pub fn common(&self, one: usize, other: usize) -> Option<usize> {
        self.column(other).find(|at| self.column(one).any(|mine| mine == *at))
    }
}
