//! What a person looks at before a verdict: the card of the worker, the risk of its work, and the id of
//! what the verdict would be bound to. Nothing is written.

use crate::domain::Decision;
use crate::domain::Outcome;
use crate::domain::Result;
use crate::domain::Risk;
use crate::domain::Standing;
use crate::domain::Subject;
use crate::domain::standing;
use crate::state::Ledger;
use crate::state::Worker;
use crate::verbs::freeze::Take;
use crate::verbs::policy;
use crate::verbs::session::Session;
use crate::verbs::show;
use crate::verbs::verdict::Found;
use crate::verbs::verdict::refuse_foreign;
use crate::verbs::weigh::Weighing;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct Card {
    #[serde(flatten)]
    pub card: show::Card,
    /// What a verdict would be bound to now, as `--delta` names it; none if nothing can be decided here.
    pub subject: Option<String>,
    /// Why no delta of it can be accepted, or nothing decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hindered: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// The judgment that stands on it, else the newest on work before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standing: Option<Standing>,
    /// What shows what changed since that older work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// The verdicts that can be given.
    pub verbs: Vec<Decision>,
}

pub fn card(session: &mut Session<'_>, name: &str) -> Result<Card> {
    let shown = show::card_of(session, name)?;
    session.rehearse()?;
    let view = session.view()?;
    let archived = shown.row.archived;
    let mut card = Card {
        card: shown,
        subject: None,
        hindered: None,
        risk: None,
        standing: None,
        since: None,
        verbs: Vec::new(),
    };
    if archived {
        card.hindered = Some("it is closed".to_owned());
        return Ok(card);
    }
    let worker = view.worker(&card.card.row.worker.to_string())?;
    if let Err(foreign) = refuse_foreign(session, &worker.record) {
        card.hindered = Some(foreign.to_string());
        return Ok(card);
    }
    card.verbs = verbs(worker);
    if let Some(question) = card.card.row.asks.first() {
        card.subject = Some(Subject::Question(question.n).to_string());
        return Ok(card);
    }
    let found = Found::look(session, &view, worker, Take::default())?;
    card.subject = Some(found.subject.to_string());
    card.hindered = found.refusal.as_ref().map(|refusal| refusal.says.clone());
    card.standing = standing(&worker.record.judged, &found.subject);
    if let Some(delta) = found.delta() {
        let objects = &session.repo.objects;
        let changes = objects.diff_trees(objects.tree_of(delta.base)?, delta.tree)?;
        let ledger = Ledger::load(&session.repo, &view)?;
        let weighed = Weighing::of(session, &view, &ledger)?.weigh(session, worker, delta.tip, &changes)?;
        card.risk = Some(weighed.risk);
        if let (None, Some(before)) = (&card.standing, worker.record.judged.last()) {
            card.since = Some(policy::since(before, delta));
            card.standing = Some(Standing { judged: before.clone(), carried: false });
        }
    }
    let given = card.standing.as_ref().filter(|s| card.since.is_none() && !s.carried).map(|s| s.judged.verb);
    let none = found.delta().is_none();
    card.verbs.retain(|verb| Some(*verb) != given && !(none && *verb == Decision::Accept));
    Ok(card)
}

/// A worker that asks is answered; what has ended is judged.
fn verbs(worker: &Worker) -> Vec<Decision> {
    use Decision::*;
    let record = &worker.record;
    let asks = record.open_questions().next().is_some();
    match record.outcome {
        Outcome::Active if asks => vec![Answer, Stop],
        Outcome::Active => vec![Stop],
        Outcome::NeedsInput if asks => vec![Answer, Retry, Stop],
        Outcome::NeedsInput => vec![Accept, Reject, Revise, Retry, Stop],
        Outcome::Failed => vec![Reject, Revise, Retry],
        Outcome::Ready | Outcome::Stopped => vec![Accept, Reject, Revise, Retry],
    }
}
