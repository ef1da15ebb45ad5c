//! Looking at a document: who wrote which line and whether it was sent, its sections, and what the agent knows of it.

use crate::domain::DocId;
use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::Result;
use crate::domain::document::Section;
use crate::domain::document::outline as sections;
use crate::domain::document::strip_comments;
use crate::state::DocState;
use crate::state::TEXT;
use crate::state::turn_file;
use crate::verbs::doc::open::Open;
use crate::verbs::doc::open::Place;
use crate::verbs::session::Session;
use serde::Serialize;
use similar::ChangeTag;
use similar::TextDiff;

/// Turns that are looked at for who wrote a line; what is older counts as sent.
const BACK: u32 = 200;

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The person's, and the agent has it.
    Sent,
    /// It goes out with the next turn.
    Unsent,
    /// In a comment, which is never sent as new.
    Comment,
    Agent,
    /// The person's, where the agent has written, too.
    Conflict,
}

#[derive(Debug, Serialize)]
pub struct Line {
    pub line: usize,
    pub state: State,
    /// The turn that it was sent with or came by, as far as that is known.
    pub turn: Option<u32>,
    pub text: String,
}

#[derive(Debug, Serialize)]
pub struct Status {
    pub doc: Option<DocId>,
    pub path: String,
    pub turns: u32,
    /// Turns that wait for an answer.
    pub open: Vec<u32>,
    /// Open conflicts.
    pub conflicts: u32,
    /// Lines that the agent has and the file has not: the person removed them.
    pub removed: usize,
    pub lines: Vec<Line>,
}

#[derive(Debug, Serialize)]
pub struct Outline {
    pub path: String,
    pub sections: Vec<Section>,
}

/// What the agent knows, as bytes.
#[derive(Debug, Serialize)]
pub struct Known {
    pub doc: DocId,
    pub path: String,
    pub oid: Oid,
    pub text: String,
    /// Blobs of the newest step that were read and hashed again.
    pub verified: Option<usize>,
}

/// Who is to be named for a line, and with which turn.
type Mark = (State, Option<u32>);

pub fn status(session: &Session<'_>, place: Place) -> Result<Status> {
    let open = Open::look(session, place)?;
    let Some(state) = open.state.clone() else { return Ok(unsent(&open)) };
    let known = open.compared_with(session)?;
    let (marks, removed) =
        carried(&marks(session, &state, &known)?, (State::Unsent, None), &known, &open.text);
    let mut lines = numbered(&open.text, marks);
    comments(&open.text, &mut lines);
    let mut conflicts = 0;
    for n in 1..=state.record.conflicts {
        let Some(found) = state.conflict(&session.repo, n)?.filter(|found| found.resolved.is_none()) else {
            continue;
        };
        conflicts += 1;
        let words: Vec<&str> = found.person.lines().collect();
        for line in &mut lines {
            if !words.is_empty() && line.state != State::Agent && words.contains(&line.text.as_str()) {
                (line.state, line.turn) = (State::Conflict, Some(found.turn));
            }
        }
    }
    let record = &state.record;
    let (doc, path) = (open.id, open.place.shown.clone());
    Ok(Status { doc, path, turns: record.turns, open: record.open.clone(), conflicts, removed, lines })
}

fn unsent(open: &Open) -> Status {
    let marks = open.text.lines().map(|_| (State::Unsent, None)).collect();
    let mut lines = numbered(&open.text, marks);
    comments(&open.text, &mut lines);
    let (doc, path) = (open.id, open.place.shown.clone());
    Status { doc, path, turns: 0, open: Vec::new(), conflicts: 0, removed: 0, lines }
}

fn numbered(text: &str, marks: Vec<Mark>) -> Vec<Line> {
    let lines = text.lines().zip(marks).enumerate();
    lines
        .map(|(at, (text, (state, turn)))| Line { line: at + 1, state, turn, text: text.to_owned() })
        .collect()
}

/// Gives each line of a newer text the mark that it had in an older one, and a new one `fresh`; tells how many are gone.
fn carried(old: &[Mark], fresh: Mark, before: &str, after: &str) -> (Vec<Mark>, usize) {
    let (mut marks, mut gone) = (Vec::new(), 0);
    for change in TextDiff::from_lines(before, after).iter_all_changes() {
        match change.tag() {
            ChangeTag::Equal => {
                marks.push(change.old_index().and_then(|at| old.get(at)).copied().unwrap_or(fresh));
            }
            ChangeTag::Insert => marks.push(fresh),
            ChangeTag::Delete => gone += 1,
        }
    }
    (marks, gone)
}

/// The marks of the lines of `known`, by the turns.
fn marks(session: &Session<'_>, state: &DocState, known: &str) -> Result<Vec<Mark>> {
    let repo = &session.repo;
    let (mut text, mut found): (String, Vec<Mark>) = (String::new(), Vec::new());
    let first = state.record.turns.saturating_sub(BACK) + 1;
    for n in first..=state.record.turns {
        if state.record.undone.contains(&n) {
            continue;
        }
        let file = |name: &str| state.file(repo, &turn_file(n, name));
        let (Some(before), Some(after)) = (file("before")?, file("after")?) else { continue };
        let asked = state.turn(repo, n)?.is_some_and(|turn| turn.sent.is_some());
        found = carried(&found, (State::Sent, asked.then_some(n)), &text, &before).0;
        found = carried(&found, (State::Agent, Some(n)), &before, &after).0;
        text = after;
    }
    Ok(carried(&found, (State::Sent, None), &text, known).0)
}

/// Unsent lines that are in comments are never sent.
fn comments(text: &str, lines: &mut [Line]) {
    let stripped = strip_comments(text);
    let diff = TextDiff::from_lines(text, stripped.as_str());
    for change in diff.iter_all_changes().filter(|change| change.tag() == ChangeTag::Delete) {
        let line = change.old_index().and_then(|at| lines.get_mut(at));
        if let Some(line) = line.filter(|line| line.state == State::Unsent && !line.text.trim().is_empty()) {
            line.state = State::Comment;
        }
    }
}

pub fn outline(session: &Session<'_>, place: Place) -> Result<Outline> {
    let open = Open::look_unsure(session, place)?;
    Ok(Outline { sections: sections(&open.text), path: open.place.shown })
}

/// What the agent knows; with `verify` all blobs of the newest step are read and hashed again.
pub fn known(session: &Session<'_>, place: Place, verify: bool) -> Result<Option<Known>> {
    let repo = &session.repo;
    let open = Open::look(session, place)?;
    let (Some(state), Some(text)) = (&open.state, open.known(session)?) else { return Ok(None) };
    let Some(oid) = state.oid(repo, TEXT)? else { return Ok(None) };
    let mut verified = None;
    if verify {
        let entries = repo.objects.entries(state.tree)?;
        for (path, (_, oid)) in &entries {
            let bytes = repo.objects.blob(*oid)?;
            if repo.objects.hash_blob(&bytes)? != *oid {
                return Err(Failure::fault(format!("hashing {path} again"), format!("it is not {oid}")));
            }
        }
        verified = Some(entries.len());
    }
    Ok(Some(Known { doc: state.record.doc, path: open.place.shown.clone(), oid, text, verified }))
}
