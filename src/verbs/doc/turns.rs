//! The turns of a document: listed, shown, taken back and done again, each as often as wanted, and gone on from in
//! another document.

use crate::domain::DocId;
use crate::domain::Failure;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::document::front;
use crate::domain::document::set;
use crate::domain::document::with_typed;
use crate::domain::quoted;
use crate::state::ConflictRecord;
use crate::state::DocRecord;
use crate::state::DocState;
use crate::state::DocStep;
use crate::state::TEXT;
use crate::state::TurnRecord;
use crate::state::turn_file;
use crate::verbs::doc::answer::is_superseded;
use crate::verbs::doc::claim::KEY;
use crate::verbs::doc::claim::fresh;
use crate::verbs::doc::claim::make;
use crate::verbs::doc::claim::refuse_outside;
use crate::verbs::doc::contribute::Contribution;
use crate::verbs::doc::contribute::contribute;
use crate::verbs::doc::contribute::next_record;
use crate::verbs::doc::contribute::publish;
use crate::verbs::doc::open::Held;
use crate::verbs::doc::open::Open;
use crate::verbs::doc::open::Place;
use crate::verbs::doc::open::identity;
use crate::verbs::doc::open::malformed;
use crate::verbs::doc::send::unified;
use crate::verbs::session::Session;
use serde::Serialize;
use std::path::Path;

/// What stands of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It was sent, and nothing came back.
    Open,
    /// The same, and one that was sent after it is answered: what it asked was asked again there.
    Superseded,
    Answered,
    /// It came back, and nothing of it could be used.
    Failed,
    Undone,
}

#[derive(Debug, Serialize)]
pub struct Row {
    #[serde(flatten)]
    pub turn: TurnRecord,
    pub standing: Standing,
}

/// Newest first.
#[derive(Debug, Serialize)]
pub struct Turns {
    pub doc: Option<DocId>,
    pub path: String,
    pub turns: Vec<Row>,
}

/// One turn with all of it.
#[derive(Debug, Serialize)]
pub struct Shown {
    pub doc: DocId,
    pub path: String,
    #[serde(flatten)]
    pub row: Row,
    pub prompt: Option<String>,
    pub response: Option<String>,
    /// What it did to the text, as a unified diff.
    pub diff: String,
    pub conflicts: Vec<ConflictRecord>,
}

#[derive(Debug, Serialize)]
pub struct Turned {
    pub doc: DocId,
    pub path: String,
    pub turn: u32,
    /// It was taken back; else done again.
    pub undone: bool,
    pub conflicts: Vec<ConflictRecord>,
}

#[derive(Debug, Serialize)]
pub struct Forked {
    pub doc: DocId,
    pub path: String,
    pub of: DocId,
    pub turn: u32,
}

/// The newest `most` turns; all if none is said.
pub fn turns(session: &Session<'_>, place: Place, most: Option<u32>) -> Result<Turns> {
    let open = Open::look(session, place)?;
    let mut turns = Vec::new();
    if let Some(state) = &open.state {
        let last = state.record.turns;
        for n in (1..=last).rev().take(most.unwrap_or(last) as usize) {
            let turn = state.turn(&session.repo, n)?;
            turns.extend(turn.map(|turn| row(session, state, turn)).transpose()?);
        }
    }
    Ok(Turns { doc: open.id, path: open.place.shown.clone(), turns })
}

fn row(session: &Session<'_>, state: &DocState, turn: TurnRecord) -> Result<Row> {
    let standing = match () {
        () if state.record.undone.contains(&turn.n) => Standing::Undone,
        () if turn.failed.is_some() => Standing::Failed,
        () if turn.answered.is_some() => Standing::Answered,
        () if is_superseded(session, state, turn.n)? => Standing::Superseded,
        () => Standing::Open,
    };
    Ok(Row { turn, standing })
}

pub fn show(session: &Session<'_>, place: Place, n: u32) -> Result<Shown> {
    let open = Open::look(session, place)?;
    let repo = &session.repo;
    let (state, turn) = found(session, &open, n)?;
    let file = |name: &str| state.file(repo, &turn_file(n, name));
    let (before, after) = (file("before")?, file("after")?);
    let diff = match (before, after) {
        (Some(before), Some(after)) => unified(&before, &after, ("before", "after")),
        _ => String::new(),
    };
    let mut conflicts = Vec::new();
    for k in 1..=state.record.conflicts {
        conflicts.extend(state.conflict(repo, k)?.filter(|conflict| conflict.turn == n));
    }
    Ok(Shown {
        doc: state.record.doc,
        path: open.place.shown.clone(),
        prompt: file("prompt")?,
        response: file("response")?,
        diff,
        conflicts,
        row: row(session, &state, turn)?,
    })
}

fn found(session: &Session<'_>, open: &Open, n: u32) -> Result<(DocState, TurnRecord)> {
    let state = open.state.clone().ok_or_else(|| none(open, n, "has no turns yet"))?;
    let turn = state.turn(&session.repo, n)?.ok_or_else(|| none(open, n, "has no such turn"))?;
    Ok((state, turn))
}

fn none(open: &Open, n: u32, why: &str) -> Failure {
    Refusal::new(Token::NoSuchTurn, format!("turn {n}: {} {why}", open.place.shown))
        .show(crate::state::LIST_DOCUMENTS)
        .next(format!("git skein doc turns {} lists them", quoted(&open.place.shown)))
        .into()
}

/// Takes turn `n` out of the text; what was typed since stays.
pub fn undo(session: &mut Session<'_>, place: Place, n: u32) -> Result<Turned> {
    turn_back(session, place, n, true)
}

/// Brings it back.
pub fn redo(session: &mut Session<'_>, place: Place, n: u32) -> Result<Turned> {
    turn_back(session, place, n, false)
}

fn turn_back(session: &mut Session<'_>, place: Place, n: u32, undo: bool) -> Result<Turned> {
    let mut held = Held::take(session, place, if undo { "doc turn undo" } else { "doc turn redo" })?;
    let (state, turn) = found(session, &held.open, n)?;
    let standing = row(session, &state, turn.clone())?.standing;
    let wanted = if undo { Standing::Answered } else { Standing::Undone };
    if standing != wanted {
        let why = if undo { "has no answer to take back" } else { "was not taken back" };
        return Err(none(&held.open, n, &format!("{why} in that turn")));
    }
    let file = |name: &str| state.file(&session.repo, &turn_file(n, name)).map(Option::unwrap_or_default);
    let (mut before, mut after) = (file("before")?, file("after")?);
    let known = state.text(&session.repo)?;
    let mut knows = (before.clone(), after.clone());
    if undo {
        if let Some(known) = &known {
            knows = with_typed(&after, known, &before);
        }
        (before, after) = with_typed(&after, &held.open.text, &before);
        if !held.open.graft(&before, &held.open.text, &after, &turn.touched)?.clashes.is_empty() {
            return Err(edited(&held.open, n));
        }
    }
    let mut record = next_record(&held);
    record.undone.retain(|other| *other != n);
    if undo {
        record.undone.push(n);
    }
    let known = match known {
        Some(known) => held.open.graft(&knows.0, &known, &knows.1, &turn.touched)?.text,
        None => String::new(),
    };
    let subject = format!("turn {n} {}", if undo { "undone" } else { "done again" });
    let step = DocStep::default();
    let made = Contribution { before, after, touched: turn.touched, known, turn: n, step, record, subject };
    let done = contribute(session, &mut held, made)?;
    let (doc, path) = (held.id, held.open.place.shown);
    Ok(Turned { doc, path, turn: n, undone: undo, conflicts: done.conflicts })
}

/// What the person has made of an answer is theirs: it stays, and so the turn stands.
fn edited(open: &Open, n: u32) -> Failure {
    let path = quoted(&open.place.shown);
    Refusal::new(
        Token::NoSuchTurn,
        format!("turn {n} of {} is not taken back: you have changed what it wrote", open.place.shown),
    )
    .show(crate::state::LIST_DOCUMENTS)
    .next(format!("git skein doc turn diff {path} {n} shows what it wrote; take that out by hand"))
    .into()
}

/// A new document at `path`, as this one was after turn `n`.
pub fn fork(session: &mut Session<'_>, place: Place, n: u32, path: &Path, shown: &str) -> Result<Forked> {
    session.refuse_in_worker("doc turn fork")?;
    let open = Open::look(session, place)?;
    let (newest, _) = found(session, &open, n)?;
    let state = at_turn(session, &newest, n)?.ok_or_else(|| none(&open, n, "was not answered"))?;
    let text = state.file(&session.repo, &turn_file(n, "after"))?.unwrap_or_default();
    refuse_outside(session, path, shown)?;
    let begun = begun(session, path, &text)?;
    let doc = begun.unwrap_or_else(|| fresh(session));
    let text = set(&text, KEY, &doc.to_string()).map_err(|why| malformed(&open.place, &why))?;
    if begun.is_none() {
        make(path, shown, &text, "give a file that is not there")?;
    }
    let place = crate::verbs::doc::place(path.parent().unwrap_or(Path::new(".")), path)?;
    let mut held = Held::take(session, place, "doc turn fork")?;
    let mut step = DocStep::default();
    step.put(&session.repo, TEXT, text.as_bytes())?;
    step.remove(crate::state::COMMITTED);
    let record = DocRecord {
        doc,
        path: held.open.name.to_string(),
        open: Vec::new(),
        committed: 0,
        wrote: None,
        branch: None,
        ..state.record.clone()
    };
    held.open.state = None;
    step.begin_with(&state);
    publish(session, &mut held, step, &record, &format!("forked from {} at turn {n}", state.record.doc))?;
    Ok(Forked { doc, path: shown.to_owned(), of: state.record.doc, turn: n })
}

/// The document in the file at `path`, if a fork of `text` made that and died before it was known.
fn begun(session: &Session<'_>, path: &Path, text: &str) -> Result<Option<DocId>> {
    let found = crate::host::read_optional(path).ok().flatten();
    let found = found.and_then(|found| String::from_utf8(found).ok());
    let Some(found) = found else { return Ok(None) };
    let Some(doc) = front(&found).ok().and_then(|front| identity(&front)) else { return Ok(None) };
    let is_fork = set(text, KEY, &doc.to_string()).is_ok_and(|made| made == found);
    let is_known = is_fork && DocState::load(&session.repo, doc)?.is_some();
    Ok((is_fork && !is_known).then_some(doc))
}

/// The newest step in which turn `n` is the last; where others came before its answer, the step of that.
fn at_turn(session: &Session<'_>, newest: &DocState, n: u32) -> Result<Option<DocState>> {
    let repo = &session.repo;
    let (mut next, mut found) = (Some(newest.clone()), None);
    while let Some(state) = next {
        if state.turn(repo, n)?.is_none_or(|turn| turn.answered.is_none()) {
            return Ok(found);
        }
        if state.record.turns == n {
            return Ok(Some(state));
        }
        let parent = repo.objects.commit(state.at)?.parents.first().copied();
        next = parent.map(|parent| DocState::at(repo, parent)).transpose()?;
        found = Some(state);
    }
    Ok(found)
}
