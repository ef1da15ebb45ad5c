//! The branch to land on, where the clone has only what the remote calls so.

use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Result;
use crate::plumbing::Edit;
use crate::plumbing::Moved;
use crate::state::Draft;
use crate::state::View;
use crate::verbs::session::Session;

/// What a verb about `name` starts with: where nothing is kept and no branch has that name, it is refused before
/// anything is.
pub fn begin_for(session: &mut Session<'_>, name: &str, dry_run: bool) -> Result<View> {
    if session.clone_id().is_none() {
        let view = session.view()?;
        if let (false, Err(none)) = (view.initialised, view.worker(name))
            && super::branch(&view, name).is_none()
        {
            return Err(super::nothing_of_that_name(session, &view, name, none));
        }
    }
    super::begin(session, dry_run)
}

/// Makes the branch at the place where the remote has it, as `git switch` would, for as long as `moves` goes well: a
/// refusal leaves no branch behind.
pub fn of_its_own<T>(
    session: &Session<'_>,
    view: &View,
    onto: &RefName,
    moves: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let made = make(session, view, onto)?;
    let done = moves();
    if let (Some(tip), Err(_)) = (made, &done) {
        Draft::new(&session.repo).put(Edit::delete(onto.clone(), tip)).publish()?;
    }
    done
}

fn make(session: &Session<'_>, view: &View, onto: &RefName) -> Result<Option<Oid>> {
    if session.dry || view.branches.contains_key(onto) {
        return Ok(None);
    }
    let Some(tip) = session.tracked(onto)? else { return Ok(None) };
    if Draft::new(&session.repo).put(Edit::create(onto.clone(), tip)).publish()? != Moved::Done {
        return Ok(None);
    }
    session.tell(format!("made branch {} at {} (where the remote had it)", onto.short(), tip.short()));
    Ok(Some(tip))
}
