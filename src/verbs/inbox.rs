//! `inbox`: what waits for a person, the most urgent first. Derived on each look, stored nowhere.

use crate::domain::Change;
use crate::domain::Handle;
use crate::domain::Need;
use crate::domain::RawDigest;
use crate::domain::Result;
use crate::domain::Risk;
use crate::domain::Subject;
use crate::domain::Waiting;
use crate::domain::WorkerId;
use crate::domain::need;
use crate::domain::ranked;
use crate::domain::standing;
use crate::state::Ledger;
use crate::state::View;
use crate::state::Worker;
use crate::verbs::custody::picture;
use crate::verbs::session::Session;
use crate::verbs::status;
use crate::verbs::status::Row;
use crate::verbs::weigh::Weighing;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Serialize)]
pub struct Inbox {
    pub cards: Vec<Card>,
}

/// One worker that waits.
#[derive(Debug, Serialize)]
pub struct Card {
    /// 0 is the most urgent.
    pub rank: u8,
    pub worker: WorkerId,
    pub handle: Handle,
    pub task: String,
    pub waits_for: Need,
    /// Its question, or why it ended as it did.
    pub says: Option<String>,
    pub since: i64,
    /// Seconds since then.
    pub waited: i64,
    /// Of its work, where there is any.
    pub risk: Option<Risk>,
    pub next: String,
}

/// The workers of this clone that wait: only here can somebody decide of them.
pub fn run(session: &Session<'_>) -> Result<Inbox> {
    let view = session.view()?;
    let seen = status::Seen::of(session, &view, false)?;
    let weighing = Weighing::of(session, &view, &Ledger::load(&session.repo, &view)?)?;
    let mut cards = Vec::new();
    for worker in view.workers.iter().filter(|w| session.clone_id() == Some(w.record.clone.as_str())) {
        let (row, changes, need) = look(session, &seen, worker)?;
        let Some(need) = need else { continue };
        let weighed = changes.map(|c| weighing.weigh(session, worker, row.head, &c)).transpose()?;
        cards.push(card(session, worker, &row, need, weighed.map(|weighed| weighed.risk)));
    }
    ranked(&mut cards, |card| (card.waits_for, card.since, card.handle.as_str()));
    Ok(Inbox { cards })
}

/// What each of these open workers waits for, if for anything.
pub fn needs(
    session: &Session<'_>,
    view: &View,
    of: &[WorkerId],
) -> Result<BTreeMap<WorkerId, Option<Need>>> {
    let seen = status::Seen::of(session, view, false)?;
    let wanted = view.workers.iter().filter(|worker| of.contains(&worker.id));
    wanted.map(|worker| Ok((worker.id, look(session, &seen, worker)?.2))).collect()
}

fn look(
    session: &Session<'_>,
    seen: &status::Seen<'_>,
    worker: &Worker,
) -> Result<(Row, Option<Vec<Change>>, Option<Need>)> {
    let row = status::row(session, seen, worker)?;
    let changes = if row.files > 0 { changes(session, worker, &row)? } else { None };
    let need = need(&waiting(worker, &row, changes.as_deref()));
    Ok((row, changes, need))
}

fn waiting(worker: &Worker, row: &Row, changes: Option<&[Change]>) -> Waiting {
    let record = &worker.record;
    let delta = changes.map(|changes| Subject::Delta(record.deltas, RawDigest::of(changes)));
    let stands = delta.and_then(|delta| standing(&record.judged, &delta));
    let stands = stands.or_else(|| standing(&record.judged, &Subject::Run(worker.at)));
    Waiting {
        outcome: row.outcome,
        liveness: row.liveness,
        asks: !row.asks.is_empty(),
        plans: record.open_plan().is_some(),
        told: record.waits_for_its_turn(),
        paused: row.paused.is_some(),
        works: row.files > 0 || row.commits > 0,
        moved: stands.is_none() && !record.judged.is_empty(),
        judged: stands.map(|stands| stands.judged.verb),
        landed: row.landed.is_some()
            || row.landed_on.as_ref().is_some_and(|server| server.may_be_one_branch(&row.onto)),
    }
}

fn card(session: &Session<'_>, worker: &Worker, row: &Row, need: Need, risk: Option<Risk>) -> Card {
    let record = &worker.record;
    let question = row.asks.first();
    let said = record.messages.last().map(|m| m.at);
    let judged = record.judged.last().map(|judged| judged.at);
    let ended = record.ended.unwrap_or(record.created);
    let since = match need {
        Need::Answer => question.map_or(ended, |q| q.at),
        Need::Landing | Need::Closing => judged.unwrap_or(ended).max(ended),
        Need::Resume => said.unwrap_or(ended).max(ended),
        _ => ended,
    };
    Card {
        rank: need.rank(),
        worker: row.worker,
        handle: row.handle.clone(),
        task: row.task.clone(),
        waits_for: need,
        says: match (question, record.open_plan()) {
            (Some(question), _) => Some(question.text.clone()),
            (None, Some(plan)) => Some(plan.goal.clone()),
            (None, None) => record.reason.clone(),
        },
        since,
        waited: session.clock.now_secs() - since,
        risk,
        next: next(need, row),
    }
}

/// What it committed; what it left uncommitted only where that is all there is.
fn changes(session: &Session<'_>, worker: &Worker, row: &Row) -> Result<Option<Vec<Change>>> {
    let objects = &session.repo.objects;
    let base = worker.record.base;
    if !objects.exists(base) || !objects.is_ancestor(base, row.head)? {
        return Ok(None);
    }
    let tree = if row.head == base { picture(session, worker)?.1 } else { objects.tree_of(row.head)? };
    objects.diff_trees(objects.tree_of(base)?, tree).map(Some)
}

fn next(need: Need, row: &Row) -> String {
    let handle = &row.handle;
    let options = row.asks.first().is_some_and(|q| !q.options.is_empty());
    match need {
        Need::Answer if options => format!("git skein verdict {handle} answer --option <N>"),
        Need::Answer => format!("git skein verdict {handle} answer -m '<answer>'"),
        Need::Plan => format!("git skein plan {handle}"),
        Need::Failure | Need::Look | Need::Verdict | Need::VerdictAgain => {
            format!("git skein verdict {handle}")
        }
        Need::Resume => format!("git skein resume {handle}"),
        Need::Landing => format!("git skein land {handle}"),
        Need::Closing if row.files > 0 || row.commits > 0 => {
            format!("git skein reap --include-unlanded {handle}")
        }
        Need::Closing => format!("git skein reap {handle}"),
    }
}
