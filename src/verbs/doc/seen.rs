//! A document's newest step may have come from another clone while its file was not here: on another branch, under
//! another name, not pulled yet. What the file has not taken in would read as deleted in it, so a ref remembers what it
//! has, and whoever writes the document next brings the rest into it first.

use crate::domain::DocId;
use crate::domain::Oid;
use crate::domain::Result;
use crate::domain::document::Touched;
use crate::domain::document::common;
use crate::plumbing::Edit;
use crate::state::COMMITTED;
use crate::state::DocRecord;
use crate::state::DocState;
use crate::state::DocStep;
use crate::state::Draft;
use crate::state::TEXT;
use crate::state::format_ref;
use crate::state::seen_ref;
use crate::verbs::doc::contribute::Contribution;
use crate::verbs::doc::contribute::contribute;
use crate::verbs::doc::contribute::next_record;
use crate::verbs::doc::open::Held;
use crate::verbs::doc::open::Open;
use crate::verbs::session::Session;

/// The note that the file of `id` has taken in no more than `step`, unless an older note is there.
pub fn remember(session: &Session<'_>, id: DocId, step: Option<Oid>) -> Result<Option<Edit>> {
    let (repo, name) = (&session.repo, seen_ref(id)?);
    if repo.read_refs(&[&name])?.pop().flatten().is_some() {
        return Ok(None);
    }
    let none = repo.read_refs(&[&format_ref()?])?.pop().flatten();
    Ok(step.or(none).map(|at| Edit::create(name, at)))
}

/// Brings what the file has not taken in into it.
pub fn catch_up(session: &Session<'_>, held: &mut Held) -> Result<()> {
    let (repo, name) = (&session.repo, seen_ref(held.id)?);
    let Some(seen) = repo.read_refs(&[&name])?.pop().flatten() else { return Ok(()) };
    // Where nothing is known, nothing is new.
    if let Some(state) = held.open.state.clone()
        && let Some(after) = state.text(repo)?
    {
        let before = match repo.objects.oid_at(repo.objects.tree_of(seen)?, TEXT.into())? {
            Some(oid) => String::from_utf8_lossy(&repo.objects.blob(oid)?).into_owned(),
            None => taken_in(session, &held.open, &state)?,
        };
        let record = next_record(held);
        let step = (DocStep::default(), record, "brought into the file");
        if bring_in(session, held, (before, after), step)? {
            session.tell(format!("{}: what another clone wrote is in the file now", held.open.place.shown));
        }
    }
    crate::fault::point("document: caught up");
    Draft::new(repo).put(Edit::delete(name, seen)).publish().map(drop)
}

/// Brings what makes the second text of the first into the file, as a step of its own; false if the file has it.
pub fn bring_in(
    session: &Session<'_>,
    held: &mut Held,
    (before, after): (String, String),
    (step, record, subject): (DocStep, DocRecord, &str),
) -> Result<bool> {
    let (touched, text) = (Touched::Whole, &held.open.text);
    if held.open.graft(&before, text, &after, &touched)?.text == *text {
        return Ok(false);
    }
    let (known, turn, subject) = (after.clone(), record.turns, subject.to_owned());
    let made = Contribution { before, after, touched, known, turn, step, record, subject };
    contribute(session, held, made)?;
    Ok(true)
}

/// What a file has of a document whose steps it never saw: the step that its branch has, or it itself is; else what it
/// shares with the newest.
pub fn taken_in(session: &Session<'_>, open: &Open, state: &DocState) -> Result<String> {
    let objects = &session.repo.objects;
    let after = state.text(&session.repo)?.unwrap_or_default();
    let head = match session.repo.head_of(&open.admin)? {
        Some(head) => {
            objects.oid_at(objects.tree_of(head)?, bstr::ByteSlice::as_bstr(open.name.as_slice()))?
        }
        None => None,
    };
    let known = [head, Some(objects.hash_blob(open.text.as_bytes())?)];
    let mut next = Some(state.at);
    while let Some(at) = next {
        let commit = objects.commit(at)?;
        for name in [TEXT, COMMITTED] {
            let oid = objects.oid_at(commit.tree, name.into())?;
            if let Some(oid) = oid.filter(|_| known.contains(&oid)) {
                return Ok(String::from_utf8_lossy(&objects.blob(oid)?).into_owned());
            }
        }
        next = commit.parents.first().copied();
    }
    Ok(common(&open.text, &after))
}
