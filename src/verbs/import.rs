//! `import`: freezes a worker's delta; with a branch, brings it there as a landing without a gate.

use crate::domain::RefName;
use crate::domain::Result;
use crate::plumbing::Edit;
use crate::plumbing::Moved;
use crate::state::DeltaRecord;
use crate::state::Draft;
use crate::state::View;
use crate::verbs::candidate::Source;
use crate::verbs::freeze;
use crate::verbs::freeze::Noted;
use crate::verbs::land;
use crate::verbs::land::Landed;
use crate::verbs::land::Request;
use crate::verbs::session::Session;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct Imported {
    pub handle: String,
    pub delta: DeltaRecord,
    pub landed: Option<Landed>,
    #[serde(flatten)]
    pub noted: Noted,
    pub dry_run: bool,
}

pub fn run(session: &mut Session<'_>, name: &str, into: Option<&str>, request: &Request) -> Result<Imported> {
    session.refuse_in_worker("import")?;
    let view = land::begin(session, request.dry_run)?;
    let worker = view.worker(name)?;
    let frozen = freeze::run(session, &view, worker, request.take)?.settle(session, worker)?;
    let landed = match into {
        Some(branch) => Some(bring(session, &view, name, branch, request)?),
        None => None,
    };
    Ok(Imported {
        handle: worker.record.handle.to_string(),
        delta: frozen.delta,
        landed,
        noted: frozen.noted,
        dry_run: request.dry_run,
    })
}

/// Onto a coordination branch, which begins at the trunk if it is new.
fn bring(session: &Session<'_>, view: &View, name: &str, branch: &str, request: &Request) -> Result<Landed> {
    let onto = RefName::branch(branch)?;
    if !view.branches.contains_key(&onto) {
        let trunk = session.trunk(view)?;
        let tip = session.branch_tip(view, &trunk)?;
        if !session.dry
            && matches!(
                Draft::new(&session.repo).put(Edit::create(onto.clone(), tip)).publish()?,
                Moved::Done
            )
        {
            session.tell(format!("made branch {} at {} ({})", onto.short(), tip.short(), trunk.short()));
        }
    }
    let view = session.view()?;
    let mut found = land::resolve(session, &view, name, request.take)?;
    debug_assert!(matches!(found.source, Source::Delta { .. }));
    // A coordination branch collects; the gate runs when it lands.
    found.gates.clear();
    land::attempts(session, &found, &onto, request)
}
