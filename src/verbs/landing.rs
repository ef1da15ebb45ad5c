//! `candidate integrate`, and the end of every `land` and `undo`: a branch moves by compare-and-swap, journalled
//! on the lane so that a kill at any moment loses nothing. docs/schema.md has the protocol.

pub mod server;

use crate::domain::Change;
use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::OpId;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::quoted;
use crate::host::Lock;
use crate::plumbing::Admin;
use crate::plumbing::Edit;
use crate::plumbing::HeldIndex;
use crate::plumbing::Moved;
use crate::plumbing::RefSession;
use crate::state::Draft;
use crate::state::Landing;
use crate::state::LaneEntry;
use crate::state::LaneRecord;
use crate::state::Move;
use crate::state::VERSION;
use crate::state::append;
use crate::state::encode_line;
use crate::state::landed_notes_ref;
use crate::state::lane_ref;
use crate::state::record_commit;
use crate::state::tip;
use crate::verbs::checkout;
use crate::verbs::recover;
use crate::verbs::session::Session;

/// Why an intent that a dead process left open has no landing.
pub const DIED: &str = "its process died before the branch moved";
pub const SUPERSEDED: &str = "superseded: the branch went elsewhere";

/// The land lock, held: what must run under it takes this.
pub struct Landings<'s> {
    pub session: &'s Session<'s>,
    pub clone: &'s str,
    _lock: Lock,
}

impl<'s> Landings<'s> {
    /// Takes the lock and first ends what dead processes began.
    pub fn begin(session: &'s Session<'s>, clone: &'s str) -> Result<Landings<'s>> {
        let landings = Landings::under(session, clone, session.lock_landing()?);
        recover::open_intents(&landings)?;
        Ok(landings)
    }

    /// With the land lock taken already.
    pub fn under(session: &'s Session<'s>, clone: &'s str, lock: Lock) -> Landings<'s> {
        Landings { session, clone, _lock: lock }
    }
}

/// Moves the branch. `TrunkMoved` means that nothing changed and a new candidate is needed. `first` is a ref
/// move that must be durable before: the delta's own record, when it is new.
pub fn integrate(held: &Landings<'_>, step: &Move, first: Option<Edit>) -> Result<()> {
    let session = held.session;
    let landing = &step.landing;
    let now = session.repo.read_refs(&[&landing.onto])?.pop().flatten();
    if now != Some(landing.old) {
        return Err(moved(landing, now));
    }
    if landing.onto.is_tracking() {
        return server::integrate(held, step, first);
    }
    let (old_tree, new_tree) = trees(session, landing)?;
    let changes = session.repo.objects.diff_trees(old_tree, new_tree)?;
    let admin = checkout::find(session, &landing.onto)?;
    if let Some(admin) = &admin {
        checkout::refuse_overlap(session, admin, &changes)?;
    }
    let mut refs = session.repo.ref_session()?;
    let lane = intend(held, &mut refs, first, step)?;
    crate::fault::point("landing: intent durable");
    // Made while git moves the files; no ref names it before the landing.
    let mut receipt = None;
    let mut prepare = || receipt = Receipt::prepare(held, lane, step).ok();
    // Until the branch has moved nobody else's git may write that index, or it would commit the landing.
    let index = match &admin {
        Some(admin) => Some(move_checkout(held, step, admin, &changes, &mut prepare)?),
        None => {
            prepare();
            None
        }
    };
    crate::fault::point("landing: checkout moved");
    let outcome = refs.apply(&[Edit::update(landing.onto.clone(), landing.old, landing.new)]);
    crate::fault::point("landing: branch moved");
    let failure = match outcome {
        Ok(Moved::Done) => None,
        Ok(Moved::Lost(now)) => Some(moved(landing, now.into_iter().next().and_then(|(_, oid)| oid))),
        Err(fault) => Some(fault),
    };
    if let Some(failure) = failure {
        let now = session.repo.read_refs(&[&landing.onto]);
        return Err(match now.and_then(|now| holds(session, step, now.into_iter().next().flatten())) {
            Ok(false) => take_back(held, step, index, &changes, failure),
            // It moved after all, or nobody knows: the next verb looks again and ends the intent.
            Ok(true) | Err(_) => failure,
        });
    }
    // The landing is a fact: a lock that cannot be removed now is removed by the next verb.
    let freed = index.map_or(Ok(()), HeldIndex::free);
    acknowledge(session, step)?;
    if freed.is_ok() && hand_out(held, &mut refs, receipt, step).is_err() {
        held.session.tell("the landing stands; its receipt is written by the next verb");
    }
    Ok(())
}

fn trees(session: &Session<'_>, landing: &Landing) -> Result<(Oid, Oid)> {
    let objects = &session.repo.objects;
    Ok((objects.tree_of(landing.old)?, objects.tree_of(landing.new)?))
}

fn moved(landing: &Landing, now: Option<Oid>) -> Failure {
    let mut refusal = Refusal::new(
        Token::TrunkMoved,
        format!("{} moved while the candidate was made", landing.onto.short()),
    )
    .oid("expected", landing.old)
    .show(format!("git log --oneline {}", quoted(format!("{}..{}", landing.old, landing.onto))))
    .next("try again: the candidate is rebuilt on the new tip");
    if let Some(now) = now {
        refusal = refusal.oid("found", now);
    }
    refusal.into()
}

fn move_checkout<'r>(
    held: &Landings<'r>,
    step: &Move,
    admin: &Admin,
    changes: &[Change],
    meanwhile: &mut dyn FnMut(),
) -> Result<HeldIndex<'r>> {
    let Some(index) = held.session.repo.hold_index(admin, &checkout::mark(step.op))? else {
        abandon(held, step.op, "another git held the index of the checkout")?;
        return Err(checkout::index_locked(admin));
    };
    let (old, new) = trees(held.session, &step.landing)?;
    let Err(failure) = index.move_tree(changes, old, new, meanwhile)? else { return Ok(index) };
    let why = "the checkout of the branch could not be moved";
    if let Err(later) = index.free().and_then(|()| abandon(held, step.op, why)) {
        held.session.tell(format!("the next verb tidies up: {later}"));
    }
    let Failure::Fault(said) = failure else { return Err(failure) };
    Err(Refusal::new(Token::DirtyOverlap, why)
        .lines(said.cause.lines().map(ToOwned::to_owned))
        .show(format!("git -C {} status", quoted(&admin.path)))
        .next("commit or put aside what is in the way, then try again")
        .into())
}

/// The branch did not move: the checkout goes back and the intent is closed. If that fails too, the intent
/// stays open and the next verb ends it.
fn take_back(
    held: &Landings<'_>,
    step: &Move,
    index: Option<HeldIndex<'_>>,
    changes: &[Change],
    failure: Failure,
) -> Failure {
    let back = |index: HeldIndex<'_>| -> Result<()> {
        let (old, new) = trees(held.session, &step.landing)?;
        let undo: Vec<Change> = changes.iter().map(Change::inverse).collect();
        index.move_tree(&undo, new, old, &mut || {})??;
        index.free()
    };
    let back = index.map_or(Ok(()), back);
    if let Err(later) = back.and_then(|()| abandon(held, step.op, "the branch did not move")) {
        held.session.tell(format!("the next verb tidies up: {later}"));
    }
    failure
}

/// Reads the branch once more and makes it durable: only after this is the landing a fact.
pub fn acknowledge(session: &Session<'_>, step: &Move) -> Result<()> {
    let landing = &step.landing;
    let now = session.repo.read_refs(&[&landing.onto])?.pop().flatten();
    if !holds(session, step, now)? {
        return Err(moved(landing, now));
    }
    session.repo.make_refs_durable([&landing.onto])?;
    crate::fault::point("landing: branch durable");
    Ok(())
}

/// Whether a branch that is at `now` holds what the move brought. Every branch that holds a landing holds also
/// what was before it: one that goes back must have let go of what it left.
pub fn holds(session: &Session<'_>, step: &Move, now: Option<Oid>) -> Result<bool> {
    let objects = &session.repo.objects;
    let Landing { old, new, .. } = step.landing;
    let Some(now) = now else { return Ok(false) };
    if now == new {
        return Ok(true);
    }
    let goes_back = step.undoes.is_some() && objects.is_ancestor(new, old)?;
    Ok(objects.is_ancestor(new, now)? && !(goes_back && objects.is_ancestor(old, now)?))
}

/// Moves notes and lane to the receipt that was made beforehand, or makes it again: the notes may have
/// moved, and what nothing names may have been pruned.
fn hand_out(
    held: &Landings<'_>,
    refs: &mut RefSession<'_>,
    receipt: Option<Receipt>,
    step: &Move,
) -> Result<()> {
    let objects = &held.session.repo.objects;
    if let Some(receipt) = receipt.filter(|r| r.objects.iter().all(|oid| objects.exists(*oid)))
        && refs.apply(&receipt.edits)? == Moved::Done
    {
        crate::fault::point("landing: receipt written");
        return Ok(());
    }
    write_receipt(held, refs, step)
}

/// Adds the note and appends the landing to the lane, in one transaction; the notes ref may be contended by
/// others, so it is read again until it is ours. The lane comes last: a crash may part the two, and an
/// intent without its landing is looked at again. Both can be made again from the intent, so nobody waits
/// for the disk.
pub fn write_receipt(held: &Landings<'_>, refs: &mut RefSession<'_>, step: &Move) -> Result<()> {
    let repo = &held.session.repo;
    for _ in 0..50 {
        let edits = receipt_edits(held, tip(repo, held.clone)?, step)?;
        let draft = edits.into_iter().fold(Draft::new(repo), Draft::put);
        if draft.publish_lazily_in(refs)? == Moved::Done {
            crate::fault::point("landing: receipt written");
            return Ok(());
        }
    }
    Err(Failure::fault("writing the receipt", "the notes kept moving"))
}

/// The ref moves that say that it happened, on the lane at `lane`.
fn receipt_edits(held: &Landings<'_>, lane: Option<Oid>, step: &Move) -> Result<Vec<Edit>> {
    let note = note(held.session, step)?;
    let keeps = [step.landing.new];
    let lane = append(&held.session.repo, held.clone, lane, &step.receipt(), None, &keeps)?;
    Ok(note.into_iter().chain([lane]).collect())
}

fn note(session: &Session<'_>, step: &Move) -> Result<Option<Edit>> {
    let Some((note, landed)) = step.note() else { return Ok(None) };
    let objects = &session.repo.objects;
    let name = landed_notes_ref()?;
    let old = session.repo.read_refs(&[&name])?.pop().flatten();
    let before = match old {
        Some(old) => objects.tree_of(old)?,
        None => objects.empty_tree(),
    };
    let line = encode_line(&note)?;
    let mut tree = before;
    for commit in landed {
        tree = objects.note_with_line(tree, commit, &line)?;
    }
    if tree == before {
        return Ok(None);
    }
    let subject = format!("landed: {}", step.op);
    let new = record_commit(&session.repo, tree, old.into_iter().collect(), step.at, &subject)?;
    Ok(Some(Edit { name, old, new: Some(new) }))
}

/// Closes an intent that moved nothing.
pub fn abandon(held: &Landings<'_>, op: OpId, why: &str) -> Result<()> {
    let repo = &held.session.repo;
    let entry = LaneEntry::Abandoned { why: why.to_owned() };
    let record = LaneRecord { v: VERSION, op, at: held.session.clock.now_secs(), entry };
    let edit = append(repo, held.clone, tip(repo, held.clone)?, &record, None, &[])?;
    publish(held, Draft::new(repo).put(edit), &mut repo.ref_session()?)
}

/// A receipt whose objects are durable and whose refs have not moved.
struct Receipt {
    edits: Vec<Edit>,
    objects: Vec<Oid>,
}

impl Receipt {
    fn prepare(held: &Landings<'_>, lane: Option<Oid>, step: &Move) -> Result<Receipt> {
        let repo = &held.session.repo;
        let edits = receipt_edits(held, lane, step)?;
        let objects = repo.objects.take_written();
        repo.make_durable(&objects)?;
        Ok(Receipt { edits, objects })
    }
}

/// Journals that the branch is about to move. Where the lane is then.
fn intend(
    held: &Landings<'_>,
    refs: &mut RefSession<'_>,
    first: Option<Edit>,
    step: &Move,
) -> Result<Option<Oid>> {
    let repo = &held.session.repo;
    let before = tip(repo, held.clone)?;
    let intent = append(repo, held.clone, before, &step.intent(), None, &step.intent_keeps())?;
    let lane = intent.new;
    publish(held, first.into_iter().fold(Draft::new(repo), Draft::put).put(intent), refs)?;
    Ok(lane)
}

fn publish(held: &Landings<'_>, draft: Draft<'_>, refs: &mut RefSession<'_>) -> Result<()> {
    match draft.publish_in(refs)? {
        Moved::Done => Ok(()),
        Moved::Lost(_) => {
            Err(Refusal::new(Token::RecordMoved, "a record of this clone was written by somebody else")
                .show(format!("git log -3 {}", lane_ref(held.clone)?))
                .next("do the same again")
                .into())
        }
    }
}

/// What a landing changes, path by path.
pub fn changes(session: &Session<'_>, landing: &Landing) -> Result<Vec<Change>> {
    let (old, new) = trees(session, landing)?;
    session.repo.objects.diff_trees(old, new)
}
