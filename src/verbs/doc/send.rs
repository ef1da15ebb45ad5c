//! What is new in a document: `diff` shows it, `preflight` sends it.

use crate::domain::DocId;
use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::Result;
use crate::domain::document::strip_comments;
use crate::state::BASELINE;
use crate::state::DocStep;
use crate::state::TEXT;
use crate::state::TurnRecord;
use crate::state::UNDER;
use crate::state::turn_file;
use crate::verbs::doc::commit::commit_held;
use crate::verbs::doc::contribute::next_record;
use crate::verbs::doc::contribute::publish;
use crate::verbs::doc::open::Held;
use crate::verbs::doc::open::Open;
use crate::verbs::doc::open::Place;
use crate::verbs::session::Session;
use bstr::ByteSlice;
use serde::Serialize;
use similar::TextDiff;

/// Lines of context around what changed.
const RADIUS: usize = 5;

/// What differs between what the agent knows and the file.
#[derive(Debug, Serialize)]
pub struct Compared {
    pub doc: Option<DocId>,
    pub path: String,
    /// As a unified diff; empty if nothing differs.
    pub diff: String,
}

#[derive(Debug, Serialize)]
pub struct Preflight {
    pub doc: DocId,
    pub path: String,
    /// A run that had died was finished.
    pub recovered: bool,
    /// The commit of what was answered before, if that was not committed yet.
    pub committed: Option<Oid>,
    /// The turn that waits for an answer now.
    pub turn: Option<u32>,
    pub claims: Vec<String>,
    pub diff: Option<String>,
    pub no_changes: bool,
    /// The whole text.
    pub document: String,
    /// The blob of the text that was sent.
    pub baseline: Oid,
}

/// Compares; `bare` leaves comments out on both sides.
pub fn compare(session: &Session<'_>, place: Place, bare: bool) -> Result<Compared> {
    let open = Open::look(session, place)?;
    Ok(Compared { doc: open.id, path: open.place.shown.clone(), diff: difference(session, &open, bare)? })
}

/// What is new, as a unified diff. Before anything was sent, that is the whole body.
pub fn difference(session: &Session<'_>, open: &Open, bare: bool) -> Result<String> {
    let known = open.compared_with(session)?;
    let shown = |text: &str| if bare { strip_comments(text) } else { text.to_owned() };
    Ok(unified(&shown(&known), &shown(&open.text), ("sent", &open.place.shown)))
}

/// `new` against `old` under these names.
pub fn unified(old: &str, new: &str, names: (&str, &str)) -> String {
    if old == new {
        return String::new();
    }
    TextDiff::from_lines(old, new).unified_diff().context_radius(RADIUS).header(names.0, names.1).to_string()
}

/// All that an agent needs before it answers, and the turn that its answer is of.
pub fn preflight(session: &mut Session<'_>, place: Place) -> Result<Preflight> {
    let mut held = Held::take(session, place, "doc preflight")?;
    let committed = commit_held(session, &mut held)?.and_then(|done| done.commit);
    let diff = difference(session, &held.open, true)?;
    let turn = if diff.is_empty() { None } else { Some(send(session, &mut held, &diff)?) };
    let baseline = session.repo.objects.hash_blob(held.open.text.as_bytes())?;
    Ok(Preflight {
        doc: held.id,
        path: held.open.place.shown.clone(),
        recovered: held.recovered,
        committed,
        turn,
        claims: Vec::new(),
        no_changes: diff.is_empty(),
        diff: (!diff.is_empty()).then_some(diff),
        document: held.open.text,
        baseline,
    })
}

#[derive(Debug, Serialize)]
pub struct Recovered {
    pub path: String,
    pub recovered: bool,
}

/// Finishes an interrupted write, if there is one.
pub fn recover(session: &mut Session<'_>, place: Place) -> Result<Recovered> {
    let held = Held::take(session, place, "doc recover")?;
    Ok(Recovered { path: held.open.place.shown, recovered: held.recovered })
}

/// Opens a turn for the text as it stands: `prompt` is what is sent. The same text again is the same turn.
pub fn send(session: &Session<'_>, held: &mut Held, prompt: &str) -> Result<u32> {
    let repo = &session.repo;
    let before = repo.objects.hash_blob(held.open.text.as_bytes())?;
    if let Some(state) = &held.open.state
        && let Some(n) = state.record.open.last()
        && state.oid(repo, &turn_file(*n, "before"))? == Some(before)
        && state.oid(repo, &turn_file(*n, "known"))? == state.oid(repo, TEXT)?
        && state.file(repo, &turn_file(*n, "prompt"))?.as_deref() == Some(prompt)
    {
        return Ok(*n);
    }
    let mut record = next_record(held);
    record.turns += 1;
    let n = record.turns;
    record.open.push(n);
    let mut step = DocStep::default();
    let before = step.put(repo, &turn_file(n, "before"), held.open.text.as_bytes())?;
    step.put_blob(BASELINE, before);
    step.put(repo, &turn_file(n, "prompt"), prompt.as_bytes())?;
    for (name, of) in [("known", TEXT), (UNDER, UNDER)] {
        if let Some(oid) = held.open.state.as_ref().and_then(|state| state.oid(repo, of).transpose()) {
            step.put_blob(&turn_file(n, name), oid?);
        }
    }
    if let Some(head) = repo.head_of(&held.open.admin)?
        && let Some((mode, blob)) =
            repo.objects.entry_at(repo.objects.tree_of(head)?, held.open.name.as_bstr())?
        && matches!(mode, Mode::File | Mode::Executable)
    {
        step.put_blob(&turn_file(n, "head"), blob);
    }
    step.put_turn(repo, &TurnRecord::new(n, Some(session.clock.now_secs())))?;
    publish(session, held, step, &record, &format!("turn {n} sent"))?;
    Ok(n)
}
