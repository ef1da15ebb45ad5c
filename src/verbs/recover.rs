//! What dead processes began is ended here, before a writing verb does its own work: an open intent is
//! finished if its landing is visible anywhere, else abandoned.

use crate::domain::OpId;
use crate::domain::Result;
use crate::plumbing::Edit;
use crate::plumbing::Moved;
use crate::state::Landing;
use crate::state::open_intent;
use crate::state::tip;
use crate::verbs::checkout;
use crate::verbs::landing;
use crate::verbs::landing::Landings;

/// Ends the open intent of this clone, if there is one. The land lock is held, so its owner is dead.
pub fn open_intents(held: &Landings<'_>) -> Result<()> {
    let repo = &held.session.repo;
    match open_intent(repo, tip(repo, held.clone)?)? {
        Some((op, at, intent)) => end(held, op, at, &intent),
        None => Ok(()),
    }
}

fn end(held: &Landings<'_>, op: OpId, at: i64, intent: &Landing) -> Result<()> {
    let session = held.session;
    let now = session.repo.read_refs(&[&intent.onto])?.pop().flatten();
    let landed = match now {
        Some(now) => now == intent.new || session.repo.objects.is_ancestor(intent.new, now)?,
        None => false,
    };
    if landed || (now == Some(intent.old) && finish(held, intent)?) {
        landing::acknowledge(session, intent)?;
        landing::write_receipt(held, &mut session.repo.ref_session()?, op, at, intent)?;
        session.tell(format!(
            "recovered: {} holds {} (operation {op})",
            intent.onto.short(),
            intent.new.short()
        ));
        return Ok(());
    }
    let why = if now == Some(intent.old) {
        "its process died before the branch moved"
    } else {
        "superseded: the branch went elsewhere"
    };
    landing::abandon(held, op, why)?;
    session.tell(format!("recovered: operation {op} did not land: {why}"));
    Ok(())
}

/// The checkout holds the landing's content already but the branch does not: moving the branch completes
/// it. Leaving it would show the person a staged change that they never made.
fn finish(held: &Landings<'_>, intent: &Landing) -> Result<bool> {
    let session = held.session;
    let Ok(Some(admin)) = checkout::find(session, &intent.onto) else { return Ok(false) };
    let changes = landing::changes(session, intent)?;
    let new_tree = session.repo.objects.tree_of(intent.new)?;
    if !checkout::already_moved(session, &admin, new_tree, &changes)? {
        return Ok(false);
    }
    let edit = Edit::update(intent.onto.clone(), intent.old, intent.new);
    Ok(session.repo.update_refs(&[edit])? == Moved::Done)
}
