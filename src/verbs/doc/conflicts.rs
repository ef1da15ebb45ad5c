//! Where a person and an agent wrote the same words: the person's stand, and both are on the record until somebody
//! says which it is to be.

use crate::domain::DocId;
use crate::domain::Failure;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::document::Touched;
use crate::domain::document::components;
use crate::domain::quoted;
use crate::state::ConflictRecord;
use crate::state::DocState;
use crate::state::DocStep;
use crate::verbs::doc::contribute::Contribution;
use crate::verbs::doc::contribute::contribute;
use crate::verbs::doc::contribute::next_record;
use crate::verbs::doc::open::Held;
use crate::verbs::doc::open::Open;
use crate::verbs::doc::open::Place;
use crate::verbs::session::Session;
use serde::Serialize;

/// Whose words are to stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The person's.
    Ours,
    /// The agent's.
    Theirs,
    /// The person's, and below them the agent's.
    Both,
}

impl Choice {
    pub fn word(self) -> &'static str {
        match self {
            Choice::Ours => "ours",
            Choice::Theirs => "theirs",
            Choice::Both => "both",
        }
    }
}

#[derive(Debug, Serialize)]
pub struct Conflicts {
    pub doc: Option<DocId>,
    pub path: String,
    /// Those that nobody has resolved; with `all`, all.
    pub conflicts: Vec<ConflictRecord>,
}

#[derive(Debug, Serialize)]
pub struct Resolved {
    pub doc: DocId,
    pub path: String,
    pub resolved: Vec<ConflictRecord>,
}

pub fn conflicts(session: &Session<'_>, place: Place, all: bool) -> Result<Conflicts> {
    let open = Open::look(session, place)?;
    let mut found = Vec::new();
    if let Some(state) = &open.state {
        found = listed(session, state)?;
        found.retain(|conflict| all || conflict.resolved.is_none());
    }
    Ok(Conflicts { doc: open.id, path: open.place.shown.clone(), conflicts: found })
}

fn listed(session: &Session<'_>, state: &DocState) -> Result<Vec<ConflictRecord>> {
    let numbers = 1..=state.record.conflicts;
    numbers.filter_map(|n| state.conflict(&session.repo, n).transpose()).collect()
}

/// Resolves conflict `n`, else all that are open.
pub fn resolve(session: &mut Session<'_>, place: Place, n: Option<u32>, choice: Choice) -> Result<Resolved> {
    let mut held = Held::take(session, place, "doc resolve")?;
    let state = held.open.state.clone();
    let mut open = state.as_ref().map(|state| listed(session, state)).transpose()?.unwrap_or_default();
    open.retain(|conflict| conflict.resolved.is_none() && n.is_none_or(|n| n == conflict.n));
    if open.is_empty() {
        return Err(none(&held.open, n));
    }
    let mut resolved = Vec::new();
    for conflict in open {
        let before = held.open.text.clone();
        let after = chosen(&held.open, &before, &conflict, choice)?;
        let done = ConflictRecord { resolved: Some(choice.word().to_owned()), ..conflict };
        let mut step = DocStep::default();
        step.put_conflict(&session.repo, &done)?;
        let known = held.open.known(session)?.unwrap_or_default();
        let made = Contribution {
            before,
            after,
            touched: Touched::Whole,
            known,
            turn: done.turn,
            step,
            record: next_record(&held),
            subject: format!("conflict {} resolved ({})", done.n, choice.word()),
        };
        contribute(session, &mut held, made)?;
        resolved.push(done);
    }
    Ok(Resolved { doc: held.id, path: held.open.place.shown, resolved })
}

/// The text with the chosen words in the place of the person's.
fn chosen(open: &Open, text: &str, conflict: &ConflictRecord, choice: Choice) -> Result<String> {
    let words = match choice {
        Choice::Ours => return Ok(text.to_owned()),
        Choice::Theirs => conflict.agent.clone(),
        Choice::Both if conflict.person.is_empty() || conflict.person.ends_with('\n') => {
            format!("{}{}", conflict.person, conflict.agent)
        }
        Choice::Both => format!("{}\n{}", conflict.person, conflict.agent),
    };
    let at = spot(text, conflict).ok_or_else(|| moved(open, conflict))?;
    let mut chosen = text.to_owned();
    chosen.replace_range(at..at + conflict.person.len(), &words);
    Ok(chosen)
}

/// Where the person's words stand: as near as can be to the line in which they stood. That is where a line begins, or
/// behind the marker of their component, if that shares its line with them.
fn spot(text: &str, conflict: &ConflictRecord) -> Option<usize> {
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    let found = components(text).unwrap_or_default();
    let inline = found
        .iter()
        .find(|found| Some(&found.name) == conflict.component.as_ref() && found.body.start == found.open.end);
    let inline = inline.map(|found| (text[..found.open.end].matches('\n').count(), found.open.end));
    let places = inline.into_iter().chain(starts.enumerate());
    let places = places.filter(|(_, at)| text[*at..].starts_with(&conflict.person));
    // The first of those that are as near.
    places.min_by_key(|(line, _)| (line + 1).abs_diff(conflict.line)).map(|(_, at)| at)
}

fn moved(open: &Open, conflict: &ConflictRecord) -> Failure {
    Refusal::new(
        Token::NoSuchConflict,
        format!("conflict {}: your words do not stand in {} any more", conflict.n, open.place.shown),
    )
    .lines(conflict.person.lines().map(str::to_owned))
    .show(format!("grep -n '' {}", quoted(&open.place.path)))
    .next("write what it is to be, then resolve it with --ours")
    .into()
}

fn none(open: &Open, n: Option<u32>) -> Failure {
    let what = n.map_or("no conflict".to_owned(), |n| format!("no conflict {n}"));
    Refusal::new(Token::NoSuchConflict, format!("{} has {what} that waits to be resolved", open.place.shown))
        .show(crate::state::LIST_DOCUMENTS)
        .next(format!("git skein doc conflicts --all {} lists all", quoted(&open.place.shown)))
        .into()
}
