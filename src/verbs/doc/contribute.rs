//! The one way into a document: read, merge, parse, one state commit, and the file replaced if it is still what was
//! read. The new text lies beside the file from before the commit until it has taken its place: a run that died there
//! is finished by the next one.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::document::Clash;
use crate::domain::document::Grafted;
use crate::domain::document::Touched;
use crate::domain::document::common;
use crate::host::beside;
use crate::host::exchange;
use crate::host::lay_beside;
use crate::host::left_beside;
use crate::host::swap;
use crate::plumbing::Edit;
use crate::plumbing::Moved;
use crate::state::ConflictRecord;
use crate::state::DocRecord;
use crate::state::DocState;
use crate::state::DocStep;
use crate::state::Draft;
use crate::state::LAST_AFTER;
use crate::state::LAST_BEFORE;
use crate::state::LAST_LEFT;
use crate::state::TEXT;
use crate::state::VERSION;
use crate::state::Wrote;
use crate::state::turn_file;
use crate::verbs::doc::open::Held;
use crate::verbs::doc::open::Open;
use crate::verbs::doc::open::restless;
use crate::verbs::session::Session;
use std::time::Duration;

/// How often a file that is written meanwhile is merged again.
const ROUNDS: usize = 20;

/// What is to be done where it never rests.
const RECOVER: &str = "git skein doc recover finishes it when the file rests";

/// What somebody other than the person does to a document.
#[derive(Debug)]
pub struct Contribution {
    /// The text that it was made to, and what it made of it.
    pub before: String,
    pub after: String,
    pub touched: Touched,
    /// What the agent knows of the text from now on; empty where nothing is known, as after a reset: that stays so.
    pub known: String,
    /// The turn that it belongs to.
    pub turn: u32,
    /// What else the step records, and its record.
    pub step: DocStep,
    pub record: DocRecord,
    pub subject: String,
}

/// What became of it.
#[derive(Debug, Default)]
pub struct Contributed {
    pub conflicts: Vec<ConflictRecord>,
    /// Components that the person has removed meanwhile.
    pub missing: Vec<String>,
}

/// A record to begin with.
pub fn first_record(held: &Held) -> DocRecord {
    DocRecord {
        v: VERSION,
        doc: held.id,
        path: held.open.name.to_string(),
        branch: None,
        turns: 0,
        open: Vec::new(),
        undone: Vec::new(),
        committed: 0,
        conflicts: 0,
        wrote: None,
    }
}

/// The record of the newest step, to be changed for the next.
pub fn next_record(held: &Held) -> DocRecord {
    let last = held.open.state.as_ref().map(|state| state.record.clone());
    let record = last.unwrap_or_else(|| first_record(held));
    DocRecord { path: held.open.name.to_string(), ..record }
}

/// Publishes a step that writes no file.
pub fn publish(
    session: &Session<'_>,
    held: &mut Held,
    step: DocStep,
    record: &DocRecord,
    subject: &str,
) -> Result<()> {
    let edit =
        step.commit(&session.repo, held.open.state.as_ref(), record, session.clock.now_secs(), subject)?;
    put(session, &mut held.open, edit)
}

fn put(session: &Session<'_>, open: &mut Open, edit: Edit) -> Result<()> {
    let new = edit.new;
    if Draft::new(&session.repo).put(edit).publish()? != Moved::Done {
        return Err(moved(open));
    }
    open.state = new.map(|at| DocState::at(&session.repo, at)).transpose()?;
    Ok(())
}

pub fn moved(open: &Open) -> Failure {
    Refusal::new(Token::RecordMoved, format!("the state of {} has changed meanwhile", open.place.shown))
        .show(crate::state::LIST_DOCUMENTS)
        .next("give the same command again")
        .into()
}

/// Brings a contribution into the document.
pub fn contribute(session: &Session<'_>, held: &mut Held, mut made: Contribution) -> Result<Contributed> {
    let repo = &session.repo;
    let (before, after) = (
        made.step.put(repo, LAST_BEFORE, made.before.as_bytes())?,
        made.step.put(repo, LAST_AFTER, made.after.as_bytes())?,
    );
    if !made.known.is_empty() {
        made.step.put(repo, TEXT, made.known.as_bytes())?;
    }
    made.record.branch = repo.branch_of(&held.open.admin)?;
    let mut left = Some(made.step);
    let mut done = Contributed::default();
    for _ in 0..ROUNDS {
        let open = &mut held.open;
        let grafted = open.graft(&made.before, &open.text, &made.after, &made.touched)?;
        let seen = open.text.clone();
        let new = grafted.text.clone();
        let file = Laid::lay(open, &new)?;
        crate::fault::point("document: laid beside");
        if !file.is_current(open)? {
            if let Err(gone) = open.look_again(session) {
                // What nobody has recorded, nobody finishes.
                left.as_ref().map_or(Ok(()), |_| crate::host::remove_tree(&file.at))?;
                return Err(gone);
            }
            continue;
        }
        let hash = |text: &str| repo.objects.hash_blob(text.as_bytes());
        made.record.wrote = Some(Wrote {
            person: hash(&seen)?,
            merged: hash(&new)?,
            before,
            after,
            touched: made.touched.clone(),
        });
        let mut step = left.take().unwrap_or_default();
        if done.conflicts.is_empty() {
            done.conflicts = record_conflicts(&mut made.record, made.turn, &grafted.clashes);
            for conflict in &done.conflicts {
                step.put_conflict(repo, conflict)?;
            }
        }
        let edit =
            step.commit(repo, open.state.as_ref(), &made.record, session.clock.now_secs(), &made.subject)?;
        put(session, open, edit)?;
        crate::fault::point("document: step published");
        if file.take_place(open, &seen)? {
            done.missing = grafted.missing;
            open.text = new;
            return Ok(done);
        }
        open.look_again(session)?;
    }
    Err(restless(&held.open.place, RECOVER))
}

fn record_conflicts(
    record: &mut DocRecord,
    turn: u32,
    clashes: &[(Option<String>, Clash)],
) -> Vec<ConflictRecord> {
    let mut found = Vec::new();
    for (component, clash) in clashes {
        record.conflicts += 1;
        found.push(ConflictRecord {
            v: VERSION,
            n: record.conflicts,
            turn,
            component: component.clone(),
            line: clash.line,
            base: clash.base.clone(),
            person: clash.person.clone(),
            agent: clash.agent.clone(),
            resolved: None,
        });
    }
    found
}

/// The new text of a file, where it lies until it takes its place.
struct Laid {
    at: std::path::PathBuf,
    /// There is nothing to write.
    same: bool,
}

impl Laid {
    fn lay(open: &Open, new: &str) -> Result<Laid> {
        let at = beside(&open.place.path);
        let same = new == open.text;
        if same {
            crate::host::remove_tree(&at)?;
        } else {
            lay_beside(&open.place.path, &at, new.as_bytes())?;
        }
        Ok(Laid { at, same })
    }

    fn is_current(&self, open: &Open) -> Result<bool> {
        let now = crate::host::read_at_rest(&open.place.path, Duration::ZERO, |_| true)?;
        Ok(now.as_deref() == Some(open.text.as_bytes()))
    }

    fn take_place(&self, open: &Open, seen: &str) -> Result<bool> {
        if self.same { Ok(true) } else { swap(&open.place.path, &self.at, seen.as_bytes()) }
    }
}

/// Finishes what a run that died has begun: its text lies beside the file.
pub fn finish_interrupted(session: &Session<'_>, open: &mut Open) -> Result<bool> {
    let repo = &session.repo;
    let at = beside(&open.place.path);
    let Some(left) = left_beside(&open.place.path, &at)? else { return Ok(false) };
    let oid = repo.objects.hash_blob(&left)?;
    let wrote = open.state.as_ref().and_then(|state| state.record.wrote.clone());
    match wrote {
        // It had changed places: this is what was there before.
        Some(wrote) if oid == wrote.person => {}
        // Its step was published, and the file not replaced.
        Some(wrote) if oid == wrote.merged || change_back(session, open, &wrote, &left)? => {
            bring_written(session, open, wrote)?;
            return Ok(true);
        }
        Some(wrote) if is_typed(session, open, &wrote, &left)? && has_more(open, &left) => {
            keep(session, open, &left)?;
        }
        // Its step was never published, or somebody has written into it.
        _ => {
            let kept = repo.objects.write_blob(&left)?;
            repo.make_durable(&repo.objects.take_written())?;
            session.tell(format!(
                "{}: a write was interrupted before it was recorded; what it left is git cat-file -p {kept}",
                open.place.shown
            ));
        }
    }
    crate::host::remove_tree(&at)?;
    Ok(true)
}

/// Merges the newest write into the file as it is now.
fn bring_written(session: &Session<'_>, open: &mut Open, wrote: Wrote) -> Result<()> {
    let repo = &session.repo;
    open.look_again(session)?;
    let (before, after) = (text_of(session, wrote.before)?, text_of(session, wrote.after)?);
    let mut told = 0;
    for _ in 0..ROUNDS {
        let Grafted { text: new, clashes, missing } =
            open.graft(&before, &open.text, &after, &wrote.touched)?;
        let (seen, file) = (open.text.clone(), Laid::lay(open, &new)?);
        let hash = |text: &str| repo.objects.hash_blob(text.as_bytes());
        let now = Wrote { person: hash(&seen)?, merged: hash(&new)?, ..wrote.clone() };
        if let Some(state) = open.state.clone() {
            let mut record = DocRecord { wrote: Some(now), ..state.record.clone() };
            let mut step = DocStep::default();
            for conflict in conflicts_since(session, (&state, &mut record), &wrote, clashes)? {
                step.put_conflict(repo, &conflict)?;
                told += 1;
            }
            if record != state.record {
                let (now, subject) = (session.clock.now_secs(), "an interrupted write, finished");
                let edit = step.commit(repo, Some(&state), &record, now, subject)?;
                put(session, open, edit)?;
            }
        }
        if file.take_place(open, &seen)? {
            open.text = new;
            tell_finished(session, open, told, &missing);
            return Ok(());
        }
        open.look_again(session)?;
    }
    Err(restless(&open.place, RECOVER))
}

fn tell_finished(session: &Session<'_>, open: &Open, conflicts: usize, missing: &[String]) {
    let shown = &open.place.shown;
    session.tell(format!("{shown}: an interrupted answer is in the file now"));
    for name in missing {
        session.tell(format!("{shown}: its block for {name} went nowhere: it was removed meanwhile"));
    }
    if conflicts > 0 {
        let shown = crate::domain::quoted(shown);
        session.tell(format!("in conflict with what you wrote meanwhile: git skein doc conflicts {shown}"));
    }
}

/// Conflicts of the newest write that are not on the record: the person wrote the same words after it was published.
fn conflicts_since(
    session: &Session<'_>,
    (state, record): (&DocState, &mut DocRecord),
    wrote: &Wrote,
    mut clashes: Vec<(Option<String>, Clash)>,
) -> Result<Vec<ConflictRecord>> {
    if clashes.is_empty() {
        return Ok(Vec::new());
    }
    let turn = turn_of(session, state, wrote)?;
    for n in 1..=state.record.conflicts {
        let Some(known) = state.conflict(&session.repo, n)?.filter(|known| known.turn == turn) else {
            continue;
        };
        clashes.retain(|(component, clash)| {
            (component, &clash.base, &clash.agent) != (&known.component, &known.base, &known.agent)
        });
    }
    Ok(record_conflicts(record, turn, &clashes))
}

/// The turn that a write is of; else the newest.
fn turn_of(session: &Session<'_>, state: &DocState, wrote: &Wrote) -> Result<u32> {
    for n in (1..=state.record.turns).rev() {
        let of = |name: &str| state.oid(&session.repo, &turn_file(n, name));
        let found = (of("before")?, of("after")?);
        let (before, after) = (Some(wrote.before), Some(wrote.after));
        if found == (before, after) || found == (after, before) {
            return Ok(n);
        }
    }
    Ok(state.record.turns)
}

fn text_of(session: &Session<'_>, oid: Oid) -> Result<String> {
    Ok(String::from_utf8_lossy(&session.repo.objects.blob(oid)?).into_owned())
}

/// Whether what lies beside has nothing of the newest write: somebody saved it just before that took the place of the
/// file.
fn is_typed(session: &Session<'_>, open: &Open, wrote: &Wrote, left: &[u8]) -> Result<bool> {
    let Ok(left) = str::from_utf8(left) else { return Ok(true) };
    let (before, after) = (text_of(session, wrote.before)?, text_of(session, wrote.after)?);
    let grafted = open.graft(&before, left, &after, &wrote.touched);
    Ok(grafted.map_or(true, |grafted| grafted.text != left || !grafted.clashes.is_empty()))
}

/// What was typed takes its place again, if the file still is what was written: then that is merged into it as if nobody
/// had died.
fn change_back(session: &Session<'_>, open: &Open, wrote: &Wrote, left: &[u8]) -> Result<bool> {
    let (written, path) = (open.text.as_bytes(), &open.place.path);
    Ok(session.repo.objects.hash_blob(written)? == wrote.merged
        && is_typed(session, open, wrote, left)?
        && exchange(path, &beside(path), written)?)
}

/// Whether there are lines in it that the file has not.
fn has_more(open: &Open, left: &[u8]) -> bool {
    let left = String::from_utf8_lossy(left);
    common(&left, &open.text) != left
}

/// Keeps what somebody typed with the document: git does not remove what a ref leads to.
fn keep(session: &Session<'_>, open: &mut Open, left: &[u8]) -> Result<()> {
    let Some(state) = open.state.clone() else { return Ok(()) };
    let mut step = DocStep::default();
    let kept = step.put(&session.repo, LAST_LEFT, left)?;
    let now = session.clock.now_secs();
    let edit =
        step.commit(&session.repo, Some(&state), &state.record, now, "what was typed meanwhile, kept")?;
    put(session, open, edit)?;
    session.tell(format!(
        "{}: a write was interrupted, and what had been saved just before is not in the file: git cat-file -p {kept}",
        open.place.shown
    ));
    Ok(())
}
