//! `candidate create | admit | integrate`: a landing in separate, repeatable steps.

use crate::domain::Bounds;
use crate::domain::Failure;
use crate::domain::Jail;
use crate::domain::Oid;
use crate::domain::OpId;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::plumbing::Edit;
use crate::plumbing::Moved;
use crate::state::CandidateRecord;
use crate::state::Draft;
use crate::state::LIST_LOCAL;
use crate::state::Landing;
use crate::state::candidate_ref;
use crate::verbs::candidate;
use crate::verbs::candidate::Candidate;
use crate::verbs::depth;
use crate::verbs::gate;
use crate::verbs::gate::Checks;
use crate::verbs::land;
use crate::verbs::land::Request;
use crate::verbs::landing;
use crate::verbs::landing::Landings;
use crate::verbs::policy;
use crate::verbs::server;
use crate::verbs::session::Session;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct Step {
    pub name: String,
    pub op: OpId,
    pub onto: RefName,
    pub old: Oid,
    pub new: Oid,
    /// `created`, `admitted` or `integrated`.
    pub state: &'static str,
    /// It was so before; nothing was done.
    pub already: bool,
    pub gates: Vec<String>,
}

/// Builds and keeps a candidate. One that waits already is the answer if the branch has not moved, else it
/// is replaced only with `supersede`.
pub fn create(session: &mut Session<'_>, name: &str, supersede: bool, request: &Request) -> Result<Step> {
    session.refuse_in_worker("candidate create")?;
    let view = land::begin_for(session, name, false)?;
    let view = depth::for_worker(session, view, name)?;
    let mut found = land::resolve(session, &view, name, request.take)?;
    let onto = found.target(session, &view, request)?;
    server::refresh(session, &onto)?;
    if depth::for_landing(session, &view, &found.source, &onto)? {
        found = land::resolve(session, &session.view()?, name, request.take)?;
    }
    let tip = session.branch_tip(&view, &onto)?;
    let view = session.view()?;
    if let Some((op, landing)) = land::already(session, &view, &found, &onto)? {
        land::refuse_taken_back(session, &landing, &found.source, tip)?;
        return Ok(landed_already(name, op, landing));
    }
    let waiting = candidate::waiting(session, &view, &found.source, &onto)?;
    let fresh =
        waiting.iter().find(|c| c.record.landing.old == tip && of_this_delta(&c.record, &found.source));
    if let Some(fresh) = fresh.filter(|_| !supersede) {
        return Ok(step(name, &fresh.record, "created", true, Vec::new()));
    }
    if let Some(stale) = waiting.first().filter(|_| !supersede) {
        return Err(Refusal::new(
            Token::CandidateExists,
            format!("an older candidate of {name} waits for {}", onto.short()),
        )
        .oid("it was built on", stale.record.landing.old)
        .oid("the branch is at", tip)
        .show(format!("git show {}:record.json", candidate_ref(stale.record.op)?))
        .next(format!("git skein candidate create --supersede {name}"))
        .into());
    }
    let record = candidate::build(session, &found.source, &onto, tip, request.shape)?;
    let kept = candidate::keep(session, record)?;
    let old: Vec<Candidate> = waiting.into_iter().filter(|c| c.record.op != kept.record.op).collect();
    candidate::drop_all(session, &old)?;
    Ok(step(name, &kept.record, "created", false, Vec::new()))
}

fn landed_already(name: &str, op: OpId, landing: Landing) -> Step {
    let Landing { onto, old, new, .. } = landing;
    let (name, gates) = (name.to_owned(), Vec::new());
    Step { name, op, onto, old, new, state: "integrated", already: true, gates }
}

fn of_this_delta(record: &CandidateRecord, source: &candidate::Source) -> bool {
    match source {
        candidate::Source::Delta { delta, .. } => {
            record.landing.delta.as_ref().is_some_and(|d| d.n == delta.n)
        }
        candidate::Source::Branch { tip, .. } => {
            record.landing.new == *tip || record.landing.branch.is_some()
        }
    }
}

/// Runs the gate on the waiting candidate and notes on it what passed.
pub fn admit(session: &mut Session<'_>, name: &str, request: &Request) -> Result<Step> {
    session.refuse_in_worker("candidate admit")?;
    Bounds::of(&session.config)?;
    let view = land::begin_for(session, name, false)?;
    let (found, onto, waiting) = the_waiting(session, &view, name, request)?;
    let gates = found.gates(session, &view, &onto, &request.gates)?;
    if waiting.record.admitted.as_ref().is_some_and(|a| gates.iter().all(|g| a.contains(g))) {
        return Ok(step(name, &waiting.record, "admitted", true, gates));
    }
    let clone = session.clone_id().unwrap_or_default();
    let landing = &waiting.record.landing;
    let changes = landing::changes(session, landing)?;
    let checks = Checks {
        commands: &gates,
        changes: &changes,
        least: Jail::None,
        allow_empty: request.take.allow_empty,
    };
    gate::run(session, clone, &view, landing.new, waiting.record.op, &checks)?;
    let record = CandidateRecord { admitted: Some(gates.clone()), ..waiting.record.clone() };
    let at = candidate::commit_of(session, &record)?;
    let edit = Edit::update(candidate_ref(record.op)?, waiting.at, at);
    match Draft::new(&session.repo).put(edit).publish()? {
        Moved::Done => Ok(step(name, &record, "admitted", false, gates)),
        Moved::Lost(_) => Err(no_candidate(name, &onto)),
    }
}

/// Moves the branch to the admitted candidate.
pub fn integrate(session: &mut Session<'_>, name: &str, request: &Request) -> Result<Step> {
    session.refuse_in_worker("candidate integrate")?;
    let view = land::begin_for(session, name, false)?;
    let found = land::resolve(session, &view, name, request.take)?;
    let onto = found.target(session, &view, request)?;
    let clone = session.clone_id().unwrap_or_default().to_owned();
    let held = Landings::begin(session, &clone)?;
    let view = session.view()?;
    let waiting = candidate::waiting(session, &view, &found.source, &onto)?.pop();
    if let Some((op, landing)) = land::already(session, &view, &found, &onto)? {
        candidate::let_go(session, waiting.as_slice());
        return Ok(landed_already(name, op, landing));
    }
    policy::heed(session, &view, &found.source, &onto)?;
    let waiting = waiting.ok_or_else(|| no_candidate(name, &onto))?;
    let passed = waiting.record.admitted.as_deref();
    let mut wanted = policy::gates(session, &view, &onto)?;
    wanted.extend(request.gates.iter().cloned());
    let missing = wanted.iter().find(|gate| !passed.is_some_and(|p| p.contains(gate)));
    if passed.is_none() || missing.is_some() {
        let what = missing.map_or_else(|| "a gate".to_owned(), |gate| format!("`{gate}`"));
        return Err(Refusal::new(
            Token::NotAdmitted,
            format!("the candidate of {name} has not passed {what}"),
        )
        .oid("candidate", waiting.record.landing.new)
        .show(format!("git show {}:record.json", candidate_ref(waiting.record.op)?))
        .next(format!("git skein candidate admit {name}, with --gate as often as there are checks"))
        .into());
    }
    let moves = || landing::integrate(&held, &waiting.record.to_move(), None);
    land::of_its_own(session, &view, &onto, moves).map_err(|failure| match failure {
        Failure::Refusal(moved) if moved.token == Token::TrunkMoved => stale(name, *moved),
        other => other,
    })?;
    candidate::let_go(session, std::slice::from_ref(&waiting));
    Ok(step(name, &waiting.record, "integrated", false, waiting.record.admitted.clone().unwrap_or_default()))
}

fn the_waiting(
    session: &Session<'_>,
    view: &crate::state::View,
    name: &str,
    request: &Request,
) -> Result<(land::Resolved, RefName, Candidate)> {
    let found = land::resolve(session, view, name, request.take)?;
    let onto = found.target(session, view, request)?;
    let waiting = candidate::waiting(session, view, &found.source, &onto)?.pop();
    match waiting {
        Some(waiting) => Ok((found, onto, waiting)),
        None => Err(no_candidate(name, &onto)),
    }
}

/// A candidate that was made by hand is not made again by itself.
fn stale(name: &str, moved: Refusal) -> Failure {
    Refusal { token: Token::CandidateStale, ..moved }
        .next(format!("git skein candidate create --supersede {name}, or git skein land {name}"))
        .into()
}

fn no_candidate(name: &str, onto: &RefName) -> crate::domain::Failure {
    Refusal::new(Token::NoCandidate, format!("no candidate of {name} waits for {}", onto.short()))
        .show(LIST_LOCAL)
        .next(format!("git skein candidate create {name}"))
        .into()
}

fn step(
    name: &str,
    record: &CandidateRecord,
    state: &'static str,
    already: bool,
    gates: Vec<String>,
) -> Step {
    let landing = &record.landing;
    Step {
        name: name.to_owned(),
        op: record.op,
        onto: landing.onto.clone(),
        old: landing.old,
        new: landing.new,
        state,
        already,
        gates,
    }
}
