//! `import`: freezes a worker's delta; with a branch, brings it there as a landing. On a branch that collects, its
//! checks wait until that branch lands.

use crate::domain::Bounds;
use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Result;
use crate::plumbing::Edit;
use crate::plumbing::Moved;
use crate::state::DeltaRecord;
use crate::state::Draft;
use crate::state::View;
use crate::verbs::depth;
use crate::verbs::freeze;
use crate::verbs::freeze::Noted;
use crate::verbs::land;
use crate::verbs::land::Landed;
use crate::verbs::land::Request;
use crate::verbs::land::Resolved;
use crate::verbs::server;
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
    let into = into.map(RefName::branch).transpose()?;
    Bounds::of(&session.config)?;
    let view = land::begin_for(session, name, request.dry_run)?;
    if let Some(branch) = &into {
        server::refuse(session, &view, branch, name)?;
    }
    let view = depth::for_worker(session, view, name)?;
    let target = into.map(|branch| Target::look(session, &view, branch)).transpose()?;
    let worker = view.open_worker(&session.repo, name)?;
    let frozen = freeze::run(session, &view, worker, request.take)?;
    let (delta, noted) = (frozen.delta.clone(), frozen.noted.clone());
    let found = Resolved::of(worker, frozen);
    found.settle(session)?;
    let landed = target.map(|target| bring(session, &view, found, target, request)).transpose()?;
    Ok(Imported { handle: worker.record.handle.to_string(), delta, landed, noted, dry_run: request.dry_run })
}

/// A coordination branch; one that is new begins at the trunk.
struct Target {
    branch: RefName,
    begins: Option<(RefName, Oid)>,
}

impl Target {
    fn look(session: &Session<'_>, view: &View, branch: RefName) -> Result<Target> {
        if view.branches.contains_key(&branch) {
            return Ok(Target { branch, begins: None });
        }
        let branch = RefName::new_branch(branch.short())?;
        let trunk = session.trunk(view)?;
        let tip = session.branch_tip(view, &trunk)?;
        Ok(Target { branch, begins: Some((trunk, tip)) })
    }
}

fn bring(
    session: &Session<'_>,
    view: &View,
    mut found: Resolved,
    target: Target,
    request: &Request,
) -> Result<Landed> {
    let Target { branch, begins } = target;
    found.put_off_checks(session, view, &branch);
    let Some((trunk, tip)) = begins else { return land::attempts(session, view, &found, &branch, request) };
    if session.dry {
        // What would happen there is what would happen on the trunk that it begins at.
        return Ok(Landed { onto: branch, ..land::attempts(session, view, &found, &trunk, request)? });
    }
    let made = Draft::new(&session.repo).put(Edit::create(branch.clone(), tip)).publish()? == Moved::Done;
    let landed = land::attempts(session, view, &found, &branch, request);
    if made && landed.is_ok() {
        session.tell(format!("made branch {} at {} ({})", branch.short(), tip.short(), trunk.short()));
    } else if made {
        // A refusal leaves no branch behind, unless somebody has taken it up meanwhile.
        Draft::new(&session.repo).put(Edit::delete(branch, tip)).publish()?;
    }
    landed
}
