//! `candidate integrate`, and the end of every `land`: a branch moves to its candidate by compare-and-swap,
//! journalled on the lane so that a kill at any moment loses nothing. docs/schema.md has the protocol.

use crate::domain::Change;
use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::OpId;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::host::Lock;
use crate::plumbing::Admin;
use crate::plumbing::Edit;
use crate::plumbing::HeldIndex;
use crate::plumbing::Moved;
use crate::plumbing::RefSession;
use crate::state::CandidateRecord;
use crate::state::Draft;
use crate::state::LandedNote;
use crate::state::Landing;
use crate::state::LaneEntry;
use crate::state::LaneRecord;
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

/// Moves the branch to the candidate. `TrunkMoved` means that nothing changed and a new candidate is needed.
/// `first` is a ref move that must be durable before: the delta's own record, when it is new.
pub fn integrate(held: &Landings<'_>, candidate: &CandidateRecord, first: Option<Edit>) -> Result<()> {
    let session = held.session;
    let landing = &candidate.landing;
    let now = session.repo.read_refs(&[&landing.onto])?.pop().flatten();
    if now != Some(landing.old) {
        return Err(moved(landing, now));
    }
    let (old_tree, new_tree) = trees(session, landing)?;
    let changes = session.repo.objects.diff_trees(old_tree, new_tree)?;
    let admin = checkout::find(session, &landing.onto)?;
    if let Some(admin) = &admin {
        checkout::refuse_overlap(session, admin, &changes)?;
    }
    let mut refs = session.repo.ref_session()?;
    let lane = intend(held, &mut refs, first, candidate)?;
    crate::fault::point("landing: intent durable");
    // Made while git moves the files; no ref names it before the landing.
    let mut receipt = None;
    let mut prepare = || receipt = Receipt::prepare(held, lane, candidate).ok();
    // Until the branch has moved nobody else's git may write that index, or it would commit the landing.
    let index = match &admin {
        Some(admin) => Some(move_checkout(held, candidate, admin, &changes, &mut prepare)?),
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
        return Err(match now.and_then(|now| holds(session, landing, now.into_iter().next().flatten())) {
            Ok(false) => take_back(held, candidate, index, &changes, failure),
            // It moved after all, or nobody knows: the next verb looks again and ends the intent.
            Ok(true) | Err(_) => failure,
        });
    }
    // The landing is a fact: a lock that cannot be removed now is removed by the next verb.
    let freed = index.map_or(Ok(()), HeldIndex::free);
    acknowledge(session, landing)?;
    if freed.is_ok() && hand_out(held, &mut refs, receipt, candidate).is_err() {
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
    .show(format!("git log --oneline {}..{}", landing.old, landing.onto))
    .next("try again: the candidate is rebuilt on the new tip");
    if let Some(now) = now {
        refusal = refusal.oid("found", now);
    }
    refusal.into()
}

fn move_checkout<'r>(
    held: &Landings<'r>,
    candidate: &CandidateRecord,
    admin: &Admin,
    changes: &[Change],
    meanwhile: &mut dyn FnMut(),
) -> Result<HeldIndex<'r>> {
    let Some(index) = held.session.repo.hold_index(admin, &checkout::mark(candidate.op))? else {
        abandon(held, candidate.op, "another git held the index of the checkout")?;
        return Err(checkout::index_locked(admin));
    };
    let (old, new) = trees(held.session, &candidate.landing)?;
    let Err(failure) = index.move_tree(changes, old, new, meanwhile)? else { return Ok(index) };
    let why = "the checkout of the branch could not be moved";
    if let Err(later) = index.free().and_then(|()| abandon(held, candidate.op, why)) {
        held.session.tell(format!("the next verb tidies up: {later}"));
    }
    let Failure::Fault(said) = failure else { return Err(failure) };
    Err(Refusal::new(Token::DirtyOverlap, why)
        .lines(said.cause.lines().map(ToOwned::to_owned))
        .show(format!("git -C '{}' status", admin.path.display()))
        .next("commit or put aside what is in the way, then try again")
        .into())
}

/// The branch did not move: the checkout goes back and the intent is closed. If that fails too, the intent
/// stays open and the next verb ends it.
fn take_back(
    held: &Landings<'_>,
    candidate: &CandidateRecord,
    index: Option<HeldIndex<'_>>,
    changes: &[Change],
    failure: Failure,
) -> Failure {
    let back = |index: HeldIndex<'_>| -> Result<()> {
        let (old, new) = trees(held.session, &candidate.landing)?;
        let undo: Vec<Change> = changes.iter().map(Change::inverse).collect();
        index.move_tree(&undo, new, old, &mut || {})??;
        index.free()
    };
    let back = index.map_or(Ok(()), back);
    if let Err(later) = back.and_then(|()| abandon(held, candidate.op, "the branch did not move")) {
        held.session.tell(format!("the next verb tidies up: {later}"));
    }
    failure
}

/// Reads the branch once more and makes it durable: only after this is the landing a fact.
pub fn acknowledge(session: &Session<'_>, landing: &Landing) -> Result<()> {
    let now = session.repo.read_refs(&[&landing.onto])?.pop().flatten();
    if !holds(session, landing, now)? {
        return Err(moved(landing, now));
    }
    session.repo.make_refs_durable([&landing.onto])?;
    crate::fault::point("landing: branch durable");
    Ok(())
}

/// Whether a branch that is at `now` holds the landing.
pub fn holds(session: &Session<'_>, landing: &Landing, now: Option<Oid>) -> Result<bool> {
    match now {
        Some(now) => Ok(now == landing.new || session.repo.objects.is_ancestor(landing.new, now)?),
        None => Ok(false),
    }
}

/// Moves notes and lane to the receipt that was made beforehand, or makes it again: the notes may have
/// moved, and what nothing names may have been pruned.
fn hand_out(
    held: &Landings<'_>,
    refs: &mut RefSession<'_>,
    receipt: Option<Receipt>,
    candidate: &CandidateRecord,
) -> Result<()> {
    let objects = &held.session.repo.objects;
    if let Some(receipt) = receipt.filter(|r| r.objects.iter().all(|oid| objects.exists(*oid))) {
        if refs.apply(&receipt.edits)? == Moved::Done {
            crate::fault::point("landing: receipt written");
            return Ok(());
        }
        refs.renew()?;
    }
    write_receipt(held, refs, candidate.op, candidate.at, &candidate.landing)
}

/// Adds the note and appends the landing to the lane, in one transaction; the notes ref may be contended by
/// others, so it is read again until it is ours. The lane comes last: a crash may part the two, and an
/// intent without its landing is looked at again. Both can be made again from the intent, so nobody waits
/// for the disk.
pub fn write_receipt(
    held: &Landings<'_>,
    refs: &mut RefSession<'_>,
    op: OpId,
    at: i64,
    landing: &Landing,
) -> Result<()> {
    let repo = &held.session.repo;
    for _ in 0..50 {
        let edits = receipt_edits(held, tip(repo, held.clone)?, op, at, landing)?;
        let draft = edits.into_iter().fold(Draft::new(repo), Draft::put);
        if draft.publish_lazily_in(refs)? == Moved::Done {
            crate::fault::point("landing: receipt written");
            return Ok(());
        }
        refs.renew()?;
    }
    Err(Failure::fault("writing the receipt", "the notes kept moving"))
}

/// The ref moves that say that it landed, on the lane at `lane`.
fn receipt_edits(
    held: &Landings<'_>,
    lane: Option<Oid>,
    op: OpId,
    at: i64,
    landing: &Landing,
) -> Result<Vec<Edit>> {
    let record = LaneRecord { v: VERSION, op, at, entry: LaneEntry::Landing(landing.clone()) };
    let note = note(held.session, op, at, landing)?;
    let landed = append(&held.session.repo, held.clone, lane, &record, None, &[landing.new])?;
    Ok(note.into_iter().chain([landed]).collect())
}

fn note(session: &Session<'_>, op: OpId, at: i64, landing: &Landing) -> Result<Option<Edit>> {
    let Some(delta) = &landing.delta else { return Ok(None) };
    let objects = &session.repo.objects;
    let name = landed_notes_ref()?;
    let old = session.repo.read_refs(&[&name])?.pop().flatten();
    let before = match old {
        Some(old) => objects.tree_of(old)?,
        None => objects.empty_tree(),
    };
    let line = encode_line(&LandedNote {
        v: VERSION,
        op,
        at,
        onto: landing.onto.clone(),
        worker: delta.worker,
        delta: delta.n,
        base: delta.base,
        raw: delta.raw.clone(),
    })?;
    let mut tree = before;
    let mut landed: Vec<Oid> = delta.commits.iter().map(|(_, landed)| *landed).collect();
    landed.dedup();
    for commit in landed {
        tree = objects.note_with_line(tree, commit, &line)?;
    }
    if tree == before {
        return Ok(None);
    }
    let new = record_commit(&session.repo, tree, old.into_iter().collect(), at, &format!("landed: {op}"))?;
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
    fn prepare(held: &Landings<'_>, lane: Option<Oid>, candidate: &CandidateRecord) -> Result<Receipt> {
        let repo = &held.session.repo;
        let CandidateRecord { op, at, landing, .. } = candidate;
        let edits = receipt_edits(held, lane, *op, *at, landing)?;
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
    candidate: &CandidateRecord,
) -> Result<Option<Oid>> {
    let repo = &held.session.repo;
    let CandidateRecord { op, at, landing, .. } = candidate;
    let keeps: Vec<Oid> = [landing.new].into_iter().chain(landing.delta.as_ref().map(|d| d.tip)).collect();
    let entry = LaneEntry::Intent(landing.clone());
    let record = LaneRecord { v: VERSION, op: *op, at: *at, entry };
    let intent = append(repo, held.clone, tip(repo, held.clone)?, &record, None, &keeps)?;
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
