//! What dead processes began is ended here, before a writing verb does its own work: an open intent is
//! finished if its landing is visible anywhere, else abandoned; a worker that nobody supervises is closed.

use crate::domain::OpId;
use crate::domain::Result;
use crate::plumbing::Edit;
use crate::plumbing::HeldIndex;
use crate::plumbing::Moved;
use crate::plumbing::Side;
use crate::state::Draft;
use crate::state::Landing;
use crate::state::Move;
use crate::state::View;
use crate::state::candidate_ref;
use crate::state::open_move;
use crate::state::tip;
use crate::verbs::checkout;
use crate::verbs::landing;
use crate::verbs::landing::Landings;
use crate::verbs::reclaim;
use crate::verbs::session::Session;
use crate::verbs::spawn;
use bstr::ByteSlice;

/// What every writing verb begins with. A landing that runs ends its own intents; what cannot be ended now
/// is said, and does not keep the verb from its work. True if anything was.
pub fn all(session: &Session<'_>, view: &View) -> Result<bool> {
    let mut any = false;
    locks(session)?;
    if let Some(clone) = session.clone_id()
        && view.lanes.contains_key(clone)
        && let Some(lock) = session.try_lock_landing()?
    {
        match open_intents(&Landings::under(session, clone, lock)) {
            Ok(found) => any |= found,
            Err(failure) => session.tell(format!("not recovered: {failure}")),
        }
    }
    any |= reclaim::dead_workers(session, view);
    spawn::report_all(session, view);
    Ok(any)
}

/// Removes the locks that killed gits of ours have left.
pub fn locks(session: &Session<'_>) -> Result<()> {
    for lock in session.repo.clear_left_locks()? {
        session.tell(format!("recovered: removed {}, which a dead process of ours had left", lock.display()));
    }
    Ok(())
}

/// Ends the open intent of this clone; true if there was one. The land lock is held, so its owner is dead.
pub fn open_intents(held: &Landings<'_>) -> Result<bool> {
    let repo = &held.session.repo;
    let Some(step) = open_move(repo, tip(repo, held.clone)?)? else { return Ok(false) };
    end(held, &step)?;
    Ok(true)
}

fn end(held: &Landings<'_>, step: &Move) -> Result<()> {
    let session = held.session;
    let Move { op, landing: ref intent, .. } = *step;
    if intent.onto.is_tracking() {
        return match landing::server::look(held, step)? {
            Ok(()) => stands(held, step),
            Err(why) => give_up(held, op, why),
        };
    }
    let now = session.repo.read_refs(&[&intent.onto])?.pop().flatten();
    let mut landed = landing::holds(session, step, now)?;
    let side = if landed || now == Some(intent.old) { Side::New } else { Side::Old };
    let index = settle_checkout(held, op, intent, side)?;
    if !landed && now == Some(intent.old) {
        landed = finish(held, intent)?;
    }
    if let Some(index) = index {
        index.free()?;
    }
    if landed {
        return stands(held, step);
    }
    let moved = now != Some(intent.old);
    give_up(held, op, if moved { landing::SUPERSEDED } else { landing::DIED })
}

fn stands(held: &Landings<'_>, step: &Move) -> Result<()> {
    let session = held.session;
    let Move { op, landing: ref intent, .. } = *step;
    landing::acknowledge(session, step)?;
    landing::write_receipt(held, &mut session.repo.ref_session()?, step)?;
    drop_candidate(session, &session.view()?, op)?;
    let (onto, new) = (intent.onto.short(), intent.new.short());
    session.tell(match step.undoes {
        Some(undoes) => format!("recovered: {onto} went back to {new}; operation {undoes} is undone"),
        None => format!("recovered: {onto} holds {new} (operation {op})"),
    });
    Ok(())
}

fn give_up(held: &Landings<'_>, op: OpId, why: &str) -> Result<()> {
    landing::abandon(held, op, why)?;
    held.session.tell(format!("recovered: operation {op} did not land: {why}"));
    Ok(())
}

/// The index that the dead process held, with index and files at one end of the move.
fn settle_checkout<'r>(
    held: &Landings<'r>,
    op: OpId,
    intent: &Landing,
    side: Side,
) -> Result<Option<HeldIndex<'r>>> {
    let session = held.session;
    let Ok(Some(admin)) = checkout::find(session, &intent.onto) else { return Ok(None) };
    let Some(index) = session.repo.inherit_index(&admin, &checkout::mark(op)) else { return Ok(None) };
    // To go on from the new end is to move the branch; to go back is to move the checkout.
    if (index.is_halfway() || side == Side::Old)
        && let Err(foreign) = index.settle(&landing::changes(session, intent)?, side)?
    {
        session.tell(format!(
            "a landing was cut short while it moved {}, and files there have changed since; they are left as they are:",
            admin.path.display()
        ));
        for path in foreign {
            session.tell(format!("    {}", path.to_str_lossy()));
        }
    }
    Ok(Some(index))
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

/// A candidate that has become the branch needs no ref of its own.
fn drop_candidate(session: &Session<'_>, view: &View, op: OpId) -> Result<()> {
    match view.candidates.get(&op) {
        Some(at) => Draft::new(&session.repo).put(Edit::delete(candidate_ref(op)?, *at)).publish().map(drop),
        None => Ok(()),
    }
}
