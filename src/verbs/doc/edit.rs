//! Changes that a tool makes: `patch` and `dedupe`. Each adds to what the agent knows its own span and no more, so that
//! what was typed and not sent is still sent.

use crate::domain::DocId;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::document::Mode;
use crate::domain::document::Patch;
use crate::domain::document::Touched;
use crate::domain::document::Unpatched;
use crate::domain::document::apply;
use crate::domain::document::components;
use crate::domain::document::rule;
use crate::domain::quoted;
use crate::state::COMMITTED;
use crate::state::ConflictRecord;
use crate::state::DocStep;
use crate::state::turn_file;
use crate::verbs::doc::answer::Turn;
use crate::verbs::doc::contribute::Contribution;
use crate::verbs::doc::contribute::contribute;
use crate::verbs::doc::contribute::next_record;
use crate::verbs::doc::open::Held;
use crate::verbs::doc::open::Place;
use crate::verbs::doc::open::malformed;
use crate::verbs::doc::rules::Rules;
use crate::verbs::session::Session;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct Edited {
    pub doc: DocId,
    pub path: String,
    /// The turn it is on the record as; none where nothing changed.
    pub turn: Option<u32>,
    pub conflicts: Vec<ConflictRecord>,
}

/// Puts `content` into a component, as its rule says, or in another `mode`.
pub fn patch(
    session: &mut Session<'_>,
    place: Place,
    component: &str,
    content: &str,
    mode: Option<Mode>,
) -> Result<Edited> {
    let mut held = Held::take(session, place, "doc patch")?;
    let rules = Rules::load(&held.open)?;
    let text = held.open.text.clone();
    let found = components(&text).map_err(|why| malformed(&held.open.place, &why))?;
    let Some(target) = found.iter().find(|found| found.name == component) else {
        return Err(no_component(&held, component, found.iter().map(|found| found.name.clone()).collect()));
    };
    let mut rule = rule(target, rules.of(component));
    rule.mode = mode.unwrap_or(rule.mode);
    let content = rules.prepared(session, &held.open, (component, &rule), content)?;
    let patch = Patch { component: component.to_owned(), content };
    let stamp = rules.stamp(session);
    let stamp = rule.timestamp.then_some(stamp.as_str());
    let put = |text: &str| apply(text, &patch, &rule, stamp);
    let refused = |why: Unpatched| match why {
        Unpatched::Unknown { names } => no_component(&held, component, names),
        Unpatched::Escapes => bad(&held, component, "it has the marker of a component in it"),
        Unpatched::Breaks(why) => {
            bad(&held, component, &format!("the document would not parse: {}", why.says))
        }
    };
    let mut turn = Turn::unasked(session, &held)?;
    if rule.mode == Mode::Replace {
        turn.fill(&held, &[component.to_owned()])?;
    }
    // The component may be one that was typed and not sent yet.
    let (before, after) = match put(&turn.before) {
        Ok(after) => (turn.before.clone(), after),
        Err(Unpatched::Unknown { .. }) => (text.clone(), put(&text).map_err(refused)?),
        Err(why) => return Err(refused(why)),
    };
    let touched = Touched::Components(vec![component.to_owned()]);
    let subject = format!("turn {}: {component} patched", turn.record.n);
    let done = record(session, &mut held, turn, (before, after), touched, subject)?;
    if let Some(command) = &rule.post_patch {
        rules.told(session, &held.open, component, command)?;
    }
    Ok(done)
}

/// Takes out what an agent has said twice in a row.
pub fn dedupe(session: &mut Session<'_>, place: Place) -> Result<Edited> {
    let mut held = Held::take(session, place, "doc dedupe")?;
    let before = held.open.text.clone();
    let after = crate::domain::document::dedupe(&before);
    if before == after {
        return Ok(Edited { doc: held.id, path: held.open.place.shown, turn: None, conflicts: Vec::new() });
    }
    let turn = Turn::unasked(session, &held)?;
    let subject = format!("turn {}: said once", turn.record.n);
    record(session, &mut held, turn, (before, after), Touched::Whole, subject)
}

/// Brings a tool's edit in, as a turn that nobody asked for.
pub fn record(
    session: &Session<'_>,
    held: &mut Held,
    turn: Turn,
    (before, after): (String, String),
    touched: Touched,
    subject: String,
) -> Result<Edited> {
    let repo = &session.repo;
    let n = turn.record.n;
    let mut record = next_record(held);
    record.turns = n;
    let mut step = DocStep::default();
    for (name, text) in [("before", &before), ("after", &after)] {
        step.put(repo, &turn_file(n, name), text.as_bytes())?;
    }
    step.put(repo, &turn_file(n, "response"), b"")?;
    let answered = crate::state::TurnRecord {
        answered: Some(session.clock.now_secs()),
        origin: Some("git-skein".to_owned()),
        touched: touched.clone(),
        ..turn.record
    };
    step.put_turn(repo, &answered)?;
    let known = match held.open.known(session)? {
        Some(known) => known,
        None => {
            step.put(repo, COMMITTED, turn.before.as_bytes())?;
            turn.before
        }
    };
    let known = held.open.graft(&before, &known, &after, &touched)?.text;
    let made = Contribution { before, after, touched, known, turn: n, step, record, subject };
    let done = contribute(session, held, made)?;
    Ok(Edited { doc: held.id, path: held.open.place.shown.clone(), turn: Some(n), conflicts: done.conflicts })
}

fn no_component(held: &Held, component: &str, names: Vec<String>) -> crate::domain::Failure {
    let place = &held.open.place;
    Refusal::new(Token::NoSuchComponent, format!("{} has no component {component:?}", place.shown))
        .lines(names)
        .show(format!("grep -n 'agent:' {}", quoted(&place.path)))
        .next("give one of those that are named, or put its markers into the text")
        .into()
}

fn bad(held: &Held, component: &str, why: &str) -> crate::domain::Failure {
    Refusal::new(Token::BadAnswer, format!("this cannot go into {component:?}: {why}"))
        .show(format!("grep -n 'agent:' {}", quoted(&held.open.place.path)))
        .next("give it without that; nothing was written")
        .into()
}
