//! `land --all`: which of the ready workers land, in which order, and who is in whose way; planned in memory, by
//! merging, before the first of them moves the trunk. The landings themselves are `land`'s.

use crate::domain::Bounds;
use crate::domain::Exit;
use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::Outcome;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::order;
use crate::plumbing::Merged;
use crate::plumbing::Merger;
use crate::plumbing::Objects;
use crate::plumbing::Renames;
use crate::state::DeltaRecord;
use crate::state::LIST_SHARED;
use crate::state::Ledger;
use crate::state::View;
use crate::state::Worker;
use crate::verbs::candidate::Source;
use crate::verbs::depth;
use crate::verbs::land;
use crate::verbs::land::Landed;
use crate::verbs::land::Request;
use crate::verbs::land::Resolved;
use crate::verbs::landed::is_taken_back;
use crate::verbs::landed::is_there;
use crate::verbs::landed::of_commits;
use crate::verbs::policy;
use crate::verbs::server;
use crate::verbs::session::Session;
use crate::verbs::upon::Stack;
use bstr::ByteSlice;
use serde::Serialize;

/// What will be done, before anything is.
#[derive(Debug, Serialize)]
pub struct Plan {
    pub onto: RefName,
    /// Where the branch is.
    pub tip: Oid,
    /// Handles in the order of landing: these fit on each other.
    pub order: Vec<String>,
    /// Tried after them; they conflict with the branch or with one that lands before.
    pub last: Vec<Blocked>,
    /// Ready, but there is nothing to land or it cannot be taken.
    pub left_out: Vec<LeftOut>,
}

#[derive(Debug, Serialize)]
pub struct Blocked {
    pub name: String,
    /// Handles whose work is in the way; the branch's own name if it is that.
    pub by: Vec<String>,
    /// Paths that need a person.
    pub paths: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct LeftOut {
    pub name: String,
    pub why: String,
    /// It was refused, which somebody must look at.
    pub token: Option<Token>,
}

/// One that can be taken.
struct Ready {
    name: String,
    delta: DeltaRecord,
}

/// One by one the plan was carried out; each landing stands or is refused by itself.
pub type Landings = Vec<(String, Result<Landed>)>;

/// Plans. Deltas that are new are frozen on the way, as any look at them does.
pub fn plan(session: &mut Session<'_>, request: &Request) -> Result<Plan> {
    session.refuse_in_worker("land")?;
    Bounds::of(&session.config)?;
    let view = land::begin(session, request.dry_run)?;
    let onto = session.onto(&view, request.onto.as_ref())?;
    server::refresh(session, &onto)?;
    let view = depth::for_all(session, view, &onto)?;
    let tip = session.branch_tip(&view, &onto)?;
    let mut left_out = Vec::new();
    let ready = ready(session, &view, &onto, request, &mut left_out)?;
    let memory;
    // Merges that nobody asked for leave no trace. A rehearsal has its objects in memory already.
    let objects = if session.dry {
        &session.repo.objects
    } else {
        memory = session.repo.objects.scratch()?;
        &memory
    };
    let (order, last) = arrange(objects, &ready, &onto, objects.tree_of(tip)?)?;
    Ok(Plan { onto, tip, order, last, left_out })
}

/// Carries the plan out. `tell` is called after each landing. One that is refused does not keep the others; where
/// the world fails, such as a full disk, the rest is not tried.
pub fn carry_out(
    session: &mut Session<'_>,
    plan: &Plan,
    request: &Request,
    tell: impl Fn(&str, &Result<Landed>),
) -> Landings {
    let request = Request { onto: Some(plan.onto.clone()), planned: true, ..request.clone() };
    let mut done = Landings::new();
    for name in plan.order.iter().chain(plan.last.iter().map(|blocked| &blocked.name)) {
        let result = land::run(session, name, &request);
        tell(name, &result);
        let failed = result.as_ref().is_err_and(|failure| failure.exit() == Exit::Fault);
        done.push((name.clone(), result));
        if failed {
            break;
        }
        crate::fault::point("land --all: one is done");
    }
    done
}

/// Those that are ready, the oldest first. The clocks of several clones say nothing of each other, nor which of them
/// was the first to start: there their handles decide.
fn in_turn(view: &View) -> Vec<&Worker> {
    let mut ready: Vec<&Worker> =
        view.workers.iter().filter(|w| w.record.outcome == Outcome::Ready).collect();
    if ready.iter().any(|w| w.record.clone != ready[0].record.clone) {
        ready.sort_by_key(|w| (w.record.handle.to_string(), w.id));
    }
    ready
}

fn ready(
    session: &Session<'_>,
    view: &View,
    onto: &RefName,
    request: &Request,
    left_out: &mut Vec<LeftOut>,
) -> Result<Vec<Ready>> {
    let mut found = Vec::new();
    let mut any = false;
    let ledger = Ledger::load(&session.repo, view)?;
    for worker in in_turn(view) {
        any = true;
        let name = view.name_of(worker);
        // What is meant for the branch of that name here may go to the one on the server.
        let meant = &worker.record.onto;
        if meant != onto && !(onto.is_tracking() && meant.may_be_one_branch(onto)) {
            let meant = worker.record.onto.short();
            left_out.push(LeftOut { name, why: format!("it is meant for {meant}"), token: None });
            continue;
        }
        let id = worker.id.to_string();
        let resolved = match land::resolve(session, view, &id, request.take) {
            Ok(resolved) => resolved,
            // A full disk says nothing of this worker.
            Err(Failure::Refusal(refusal)) if refusal.token.exit() != Exit::Fault => {
                let token = Some(refusal.token).filter(|token| *token != Token::Empty);
                left_out.push(LeftOut { name, why: refusal.says, token });
                continue;
            }
            Err(failure) => return Err(failure),
        };
        if let Some((_, landing)) = land::already(session, view, &resolved, onto)? {
            let target = session.branch_tip(view, onto)?;
            let back = is_taken_back(session, &landing, resolved.source.tip(), target)?;
            let why = if back { "it was taken back after it had landed" } else { "it has landed already" };
            left_out.push(LeftOut { name, why: why.to_owned(), token: None });
        } else if is_proven(session, view, &resolved, onto)? {
            left_out.push(LeftOut { name, why: "it has landed already".to_owned(), token: None });
        } else if ledger.undone(worker.id, onto).is_some() {
            // Somebody wanted it away. Named, it lands.
            let why = "its landing was undone; to land it again, name it".to_owned();
            left_out.push(LeftOut { name, why, token: None });
        } else if let Err(Failure::Refusal(barred)) =
            policy::refuse_unjudged(session, view, &resolved.source, onto)
        {
            left_out.push(LeftOut { name, why: barred.says, token: Some(barred.token) });
        } else if let Source::Delta { delta, .. } = &resolved.source {
            found.push(Ready { name, delta: (**delta).clone() });
        }
    }
    if any {
        return Ok(found);
    }
    Err(Refusal::new(Token::NoSuchWorker, "no worker is ready")
        .show(LIST_SHARED)
        .next("git skein status shows what each of them does")
        .into())
}

/// Whether the branch is proven to have it though no landing of this very delta says so: it came with more, or by hand.
fn is_proven(session: &Session<'_>, view: &View, resolved: &Resolved, onto: &RefName) -> Result<bool> {
    let Source::Delta { delta, .. } = &resolved.source else { return Ok(false) };
    let target = session.branch_tip(view, onto)?;
    is_there(session, &of_commits(session, delta.base, delta.tip, target)?)
}

/// The order, and who is put last with what is in the way.
fn arrange(
    objects: &Objects,
    ready: &[Ready],
    onto: &RefName,
    tip: Oid,
) -> Result<(Vec<String>, Vec<Blocked>)> {
    let mut merger = Merger::new(objects);
    let deltas: Vec<&DeltaRecord> = ready.iter().map(|r| &r.delta).collect();
    let stack = Stack::new(&deltas);
    let mut merge = |at: usize, upon: Option<usize>, on: Oid| {
        let base = match upon {
            Some(before) => deltas[before].tree,
            None => objects.tree_of(deltas[stack.ground(at)].base)?,
        };
        merger.trees(base, on, deltas[at].tree, Renames::Follow)
    };
    let mut alone = Vec::new();
    let mut blocked: Vec<(Vec<String>, Vec<String>)> = vec![Default::default(); ready.len()];
    for (at, blocked) in blocked.iter_mut().enumerate() {
        alone.push(match merge(at, None, tip)? {
            Merged::Clean(tree) => Some(tree),
            Merged::Conflict(paths) => {
                add(blocked, onto.short(), &paths);
                None
            }
        });
    }
    let mut pairs = Vec::new();
    for first in 0..ready.len() {
        for second in first + 1..ready.len() {
            let (Some(on), Some(_)) = (alone[first], alone[second]) else { continue };
            let common = stack.common(first, second);
            if common == Some(first) || common == Some(second) {
                continue;
            }
            if let Merged::Conflict(paths) = merge(second, common, on)? {
                add(&mut blocked[first], &ready[second].name, &paths);
                add(&mut blocked[second], &ready[first].name, &paths);
                pairs.push((first, second));
            }
        }
    }
    let mut tree = tip;
    let (taken, put_off) = order(ready.len(), &pairs, &stack.below, |next| -> Result<bool> {
        if alone[next].is_none() {
            return Ok(false);
        }
        Ok(match merge(next, stack.below[next], tree)? {
            Merged::Clean(merged) => {
                tree = merged;
                true
            }
            // Each pair fits, all together do not.
            Merged::Conflict(paths) => {
                add(&mut blocked[next], "those before it", &paths);
                false
            }
        })
    })?;
    let name = |at: &usize| ready[*at].name.clone();
    let last = put_off.iter().map(|at| {
        let (mut by, mut paths) = blocked[*at].clone();
        if let (true, Some(before)) = (by.is_empty(), stack.below[*at]) {
            (by, paths) = (vec![ready[before].name.clone()], blocked[before].1.clone());
        }
        Blocked { name: name(at), by, paths }
    });
    Ok((taken.iter().map(name).collect(), last.collect()))
}

fn add((by, all): &mut (Vec<String>, Vec<String>), name: &str, paths: &[bstr::BString]) {
    by.push(name.to_owned());
    all.extend(paths.iter().map(|path| path.to_str_lossy().into_owned()));
    all.sort();
    all.dedup();
}
