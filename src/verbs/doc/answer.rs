//! `write` and `respond`: an agent's answer goes to where it belongs.

use crate::domain::DocId;
use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::document::Answer;
use crate::domain::document::Knows;
use crate::domain::document::Malformed;
use crate::domain::document::Mode;
use crate::domain::document::Since;
use crate::domain::document::answer as parse;
use crate::domain::document::components;
use crate::domain::document::filled;
use crate::domain::document::front;
use crate::domain::document::known_after;
use crate::domain::document::rule;
use crate::domain::document::skeleton;
use crate::domain::document::to_commit;
use crate::state::COMMITTED;
use crate::state::ConflictRecord;
use crate::state::DocRecord;
use crate::state::DocState;
use crate::state::DocStep;
use crate::state::OVER;
use crate::state::TurnRecord;
use crate::state::UNDER;
use crate::state::document_ref;
use crate::state::turn_file;
use crate::verbs::doc::blocks::Made;
use crate::verbs::doc::blocks::REMOVED;
use crate::verbs::doc::blocks::Target;
use crate::verbs::doc::blocks::make;
use crate::verbs::doc::blocks::tell_of;
use crate::verbs::doc::commit::Committed;
use crate::verbs::doc::commit::Manner;
use crate::verbs::doc::commit::commit_now;
use crate::verbs::doc::contribute::Contributed;
use crate::verbs::doc::contribute::Contribution;
use crate::verbs::doc::contribute::contribute;
use crate::verbs::doc::contribute::next_record;
use crate::verbs::doc::contribute::publish;
use crate::verbs::doc::open::Held;
use crate::verbs::doc::open::Place;
use crate::verbs::doc::open::malformed;
use crate::verbs::doc::rules::Rules;
use crate::verbs::session::Session;
use serde::Serialize;

/// An answer as it was given.
#[derive(Debug, Default)]
pub struct Given {
    pub text: String,
    /// What it was made to, if that is not what was sent last.
    pub baseline: Option<String>,
    /// The turn that it answers; else the newest without an answer.
    pub turn: Option<u32>,
    /// It answers none: nobody asked.
    pub unasked: bool,
    pub origin: Option<String>,
    pub agent: Option<String>,
    pub model: Option<String>,
    pub session: Option<String>,
}

/// What became of it.
#[derive(Debug, Serialize)]
pub struct Answered {
    pub doc: DocId,
    pub path: String,
    pub turn: u32,
    /// The very same was given before.
    pub already: bool,
    pub patched: Vec<String>,
    /// Blocks that went nowhere, each with its component and the reason.
    pub refused: Vec<(String, String)>,
    pub conflicts: Vec<ConflictRecord>,
    /// Where the whole answer is.
    pub kept: String,
}

impl Answered {
    /// Of turn `n`, by which nothing was done.
    fn none(held: &Held, n: u32) -> Result<Answered> {
        Ok(Answered {
            doc: held.id,
            path: held.open.place.shown.clone(),
            turn: n,
            already: false,
            patched: Vec::new(),
            refused: Vec::new(),
            conflicts: Vec::new(),
            kept: kept(held, n)?,
        })
    }

    pub fn is_whole(&self) -> bool {
        self.refused.is_empty()
    }
}

/// Brings an answer into the document.
pub fn answer(session: &Session<'_>, held: &mut Held, given: &Given) -> Result<Answered> {
    if given.text.trim().is_empty() {
        return Err(Refusal::new(Token::BadAnswer, "the answer is empty")
            .show("git skein doc write -h")
            .next("give it on standard input")
            .into());
    }
    let mut turn = Turn::find(session, held, given)?;
    if turn.already {
        return Ok(Answered { already: true, ..Answered::none(held, turn.record.n)? });
    }
    let parsed = match parse(&given.text) {
        Ok(parsed) => parsed,
        Err(why) => return Err(keep_bad(session, held, turn, given, &why)?),
    };
    let rules = Rules::load(&held.open)?;
    let stamp = rules.stamp(session);
    turn.fill(held, &replaced(held, &parsed, &rules))?;
    let before = given.baseline.clone().unwrap_or_else(|| turn.before.clone());
    let to = Target { session, held, rules: &rules, stamp: &stamp };
    let made = match make(&to, &before, &parsed) {
        Ok(made) => made,
        Err(Failure::Refusal(why)) => return Err(keep(session, held, turn, given, *why)?),
        Err(fault) => return Err(fault),
    };
    let done = settle(session, held, turn, given, before, made)?;
    tell_of(session, &held.open, &rules, &done.patched);
    Ok(done)
}

/// The components whose text goes when the answer comes in.
fn replaced(held: &Held, parsed: &Answer, rules: &Rules) -> Vec<String> {
    let found = components(&held.open.text).unwrap_or_default();
    let named = |name: &str| parsed.patches.iter().any(|patch| patch.component == name);
    let replaced = found.iter().filter(|found| rule(found, rules.of(&found.name)).mode == Mode::Replace);
    replaced.map(|found| found.name.clone()).filter(|name| named(name)).collect()
}

fn settle(
    session: &Session<'_>,
    held: &mut Held,
    turn: Turn,
    given: &Given,
    before: String,
    made: Made,
) -> Result<Answered> {
    let Made { after, touched, patched, mut refused } = made;
    let mut record = next_record(held);
    let n = turn.record.n;
    record.turns = record.turns.max(n);
    let whole = refused.is_empty() || !patched.is_empty();
    if whole {
        record.open.retain(|open| *open != n);
    }
    let mut step = DocStep::default();
    step.put(&session.repo, &turn_file(n, "response"), given.text.as_bytes())?;
    if !whole {
        return put_by(session, held, turn, step, (record, refused));
    }
    let now = held.open.known(session)?;
    let since = turn.since(session, held)?;
    let Knows { text: known, under } = known_after(&since, now.as_deref(), (&before, &after), &touched)
        .map_err(|why| malformed(&held.open.place, &why))?;
    if let Some(under) = under {
        step.put(&session.repo, UNDER, under.as_bytes())?;
        if record.committed < n {
            step.put(&session.repo, OVER, before.as_bytes())?;
        }
        if let Some(base) = turn.base(session, held)? {
            step.put_blob(COMMITTED, base);
        }
    }
    if turn.record.sent.is_none() && now.is_none() {
        // Nothing was sent yet: what is committed before is not what this adds to.
        step.put(&session.repo, COMMITTED, before.as_bytes())?;
    }
    let answered = TurnRecord {
        answered: Some(session.clock.now_secs()),
        failed: None,
        origin: given.origin.clone().or(turn.record.origin.clone()),
        agent: given.agent.clone().or(turn.record.agent.clone()),
        model: given.model.clone().or(turn.record.model.clone()),
        session: given.session.clone().or(turn.record.session.clone()),
        touched: touched.clone(),
        ..turn.record
    };
    step.put_turn(&session.repo, &answered)?;
    step.put(&session.repo, &turn_file(n, "before"), before.as_bytes())?;
    step.put(&session.repo, &turn_file(n, "after"), after.as_bytes())?;
    let subject = format!("turn {n} answered");
    let Contributed { conflicts, missing } = contribute(
        session,
        held,
        Contribution { before, after, touched, known, turn: n, step, record, subject },
    )?;
    let patched = patched.into_iter().filter(|name| !missing.contains(name)).collect();
    refused.extend(missing.into_iter().map(|name| (name, REMOVED.to_owned())));
    Ok(Answered { patched, refused, conflicts, ..Answered::none(held, n)? })
}

/// Keeps an answer of which no block could be applied. The turn waits for another one, and what the agent knows is what
/// it was.
fn put_by(
    session: &Session<'_>,
    held: &mut Held,
    turn: Turn,
    mut step: DocStep,
    (record, refused): (DocRecord, Vec<(String, String)>),
) -> Result<Answered> {
    let n = turn.record.n;
    let failed = Some("no block of it could be applied".to_owned());
    step.put_turn(&session.repo, &TurnRecord { failed, ..turn.record })?;
    publish(session, held, step, &record, &format!("turn {n} refused"))?;
    Ok(Answered { refused, ..Answered::none(held, n)? })
}

/// The turn that an answer is of.
pub struct Turn {
    pub record: TurnRecord,
    /// The text that it is an answer to.
    pub before: String,
    /// What the agent knew when it was sent.
    known: Option<String>,
    already: bool,
}

impl Turn {
    fn find(session: &Session<'_>, held: &Held, given: &Given) -> Result<Turn> {
        let repo = &session.repo;
        let Some(state) = &held.open.state else { return Turn::unasked(session, held) };
        if given.unasked {
            return Turn::unasked(session, held);
        }
        let newest = if given.turn.is_some() { given.turn } else { waiting(session, state)? };
        if let Some(n) = newest.filter(|n| state.record.open.contains(n)) {
            let record = state.turn(repo, n)?.ok_or_else(|| no_turn(held, n))?;
            let before = state.file(repo, &turn_file(n, "before"))?.unwrap_or_default();
            let known = state.file(repo, &turn_file(n, "known"))?;
            return Ok(Turn { record, before, known, already: false });
        }
        let Some(n) = given.turn else {
            return match last_answer(session, state)? {
                Some((record, said)) if said == given.text => Ok(Turn::again(record)),
                _ => Turn::unasked(session, held),
            };
        };
        let stands = !state.record.undone.contains(&n);
        match (state.turn(repo, n)?, state.file(repo, &turn_file(n, "response"))?) {
            (Some(record), Some(said)) if stands && said == given.text && record.failed.is_none() => {
                Ok(Turn::again(record))
            }
            _ => Err(no_turn(held, n)),
        }
    }

    /// It has this answer, and nothing is to be done.
    fn again(record: TurnRecord) -> Turn {
        Turn { record, before: String::new(), known: None, already: true }
    }

    /// What else was answered since it was sent.
    fn since(&self, session: &Session<'_>, held: &Held) -> Result<Since> {
        let repo = &session.repo;
        let n = self.record.n;
        let Some(state) = held.open.state.as_ref().filter(|_| self.record.sent.is_some()) else {
            return Ok(Since::Unasked);
        };
        if state.oid(repo, UNDER)? == state.oid(repo, &turn_file(n, UNDER))? {
            return Ok(Since::Nothing(self.known.clone()));
        }
        if is_superseded(session, state, n)? {
            return Ok(Since::Newer);
        }
        Ok(Since::Older(state.file(repo, UNDER)?.unwrap_or_default()))
    }

    /// What the branch had when it was sent: the text that was sent is made of it. Where something was committed since,
    /// of answers that nobody asked for, that is in it, too.
    fn base(&self, session: &Session<'_>, held: &Held) -> Result<Option<Oid>> {
        let repo = &session.repo;
        let Some(state) = &held.open.state else { return Ok(None) };
        let head = turn_file(self.record.n, "head");
        if state.record.committed < self.record.n {
            return state.oid(repo, &head);
        }
        match (state.oid(repo, UNDER)?, state.file(repo, COMMITTED)?) {
            (None, Some(known)) => {
                let head = state.file(repo, &head)?.unwrap_or_else(|| self.before.clone());
                let bad = |why| malformed(&held.open.place, &why);
                let body = front(&self.before).map_err(bad)?.body;
                let bones = skeleton(&self.before, body).map_err(bad)?;
                repo.objects
                    .write_blob(to_commit(Some(&bones), None, Some(&head), known).as_bytes())
                    .map(Some)
            }
            _ => Ok(None),
        }
    }

    /// An answer that nobody asked for adds to what the agent knows, so that what was typed and not sent stays so.
    pub fn unasked(session: &Session<'_>, held: &Held) -> Result<Turn> {
        let open = &held.open;
        let known = open.known(session)?;
        let before = match &known {
            Some(known) => known.clone(),
            None => skeleton(&open.text, open.front.body).map_err(|why| malformed(&open.place, &why))?,
        };
        let n = open.state.as_ref().map_or(0, |state| state.record.turns) + 1;
        let record = TurnRecord::new(n, None);
        Ok(Turn { record, before, known, already: false })
    }

    /// Where nothing was sent yet, what is replaced is not in the way of what replaces it.
    pub fn fill(&mut self, held: &Held, names: &[String]) -> Result<()> {
        if self.known.is_none() && self.record.sent.is_none() {
            self.before = filled(&self.before, &held.open.text, names)
                .map_err(|why| malformed(&held.open.place, &why))?;
        }
        Ok(())
    }
}

/// Whether a turn that was sent after turn `n` is answered.
pub fn is_superseded(session: &Session<'_>, state: &DocState, n: u32) -> Result<bool> {
    for newer in n + 1..=state.record.turns {
        let turn = state.turn(&session.repo, newer)?;
        if turn.is_some_and(|turn| turn.sent.is_some() && turn.answered.is_some() && turn.failed.is_none()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The turn that an answer is of which names none: the newest that waits. What was asked in it was asked again in those
/// that were sent after it; once one of these is answered, only an answer that names it is of it.
fn waiting(session: &Session<'_>, state: &DocState) -> Result<Option<u32>> {
    let Some(n) = state.record.open.last().copied() else { return Ok(None) };
    Ok(if is_superseded(session, state, n)? { None } else { Some(n) })
}

/// The newest answer that stands; what tools have edited since is none.
fn last_answer(session: &Session<'_>, state: &DocState) -> Result<Option<(TurnRecord, String)>> {
    for n in (1..=state.record.turns).rev().filter(|n| !state.record.undone.contains(n)) {
        let Some(record) = state.turn(&session.repo, n)? else { continue };
        let said = state.file(&session.repo, &turn_file(n, "response"))?.unwrap_or_default();
        if record.answered.is_some() && record.failed.is_none() && !said.is_empty() {
            return Ok(Some((record, said)));
        }
    }
    Ok(None)
}

fn no_turn(held: &Held, n: u32) -> Failure {
    Refusal::new(Token::NoSuchTurn, format!("turn {n} of {} waits for no answer", held.open.place.shown))
        .show(crate::state::LIST_DOCUMENTS)
        .next("git skein doc turns lists them")
        .into()
}

/// Keeps an answer that cannot be read, so that nobody has to ask for it again, and refuses it.
fn keep_bad(
    session: &Session<'_>,
    held: &mut Held,
    turn: Turn,
    given: &Given,
    why: &Malformed,
) -> Result<Failure> {
    let failed = format!("line {}: {}", why.line, why.says);
    let refusal = Refusal::new(Token::BadAnswer, format!("the answer cannot be read: {failed}"))
        .next("mend it and give it again; the document was left as it is");
    keep(session, held, turn, given, refusal)
}

/// Keeps an answer that is refused: the turn waits for it, or for another one.
fn keep(session: &Session<'_>, held: &mut Held, turn: Turn, given: &Given, why: Refusal) -> Result<Failure> {
    let n = turn.record.n;
    let mut step = DocStep::default();
    step.put(&session.repo, &turn_file(n, "response"), given.text.as_bytes())?;
    step.put_turn(&session.repo, &TurnRecord { failed: Some(why.says.clone()), ..turn.record })?;
    let mut record = next_record(held);
    record.turns = record.turns.max(n);
    publish(session, held, step, &record, &format!("turn {n} refused"))?;
    let kept = format!("git show {}", kept(held, n)?);
    Ok(match why.show.is_empty() {
        true => why.show(kept),
        false => why.lines([format!("the answer is kept: {kept}")]),
    }
    .into())
}

fn kept(held: &Held, n: u32) -> Result<String> {
    Ok(format!("{}:{}", document_ref(held.id)?, turn_file(n, "response")))
}

/// An answer and its commit.
#[derive(Debug, Serialize)]
pub struct Responded {
    pub answer: Answered,
    pub commit: Option<Committed>,
    /// Why there is none; the answer stands all the same.
    #[serde(skip)]
    pub failed: Option<Failure>,
}

/// Brings an answer into the document and commits it.
pub fn respond(session: &mut Session<'_>, place: Place, given: &Given) -> Result<Responded> {
    let mut held = Held::take(session, place, "doc respond")?;
    let answer = answer(session, &mut held, given)?;
    let (commit, failed) = match commit_now(session, &mut held, Manner::default()) {
        Ok(done) => (Some(done), None),
        Err(failure) => (None, Some(failure)),
    };
    Ok(Responded { answer, commit, failed })
}
