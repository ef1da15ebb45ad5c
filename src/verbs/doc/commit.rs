//! `commit`: what the agent knows of the document, on the branch that is checked out. Unfinished typing stays where it
//! is, and so does everything else: no other path, no index but that one entry of it, no file.

use crate::domain::DocId;
use crate::domain::Entry;
use crate::domain::Failure;
use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::document::to_commit;
use crate::domain::quoted;
use crate::plumbing::Commit;
use crate::plumbing::Edit;
use crate::plumbing::Moved;
use crate::state::BASELINE;
use crate::state::COMMITTED;
use crate::state::DocState;
use crate::state::DocStep;
use crate::state::Draft;
use crate::state::OVER;
use crate::state::TEXT;
use crate::state::TurnRecord;
use crate::state::turn_file;
use crate::verbs::checkout;
use crate::verbs::doc::contribute::moved;
use crate::verbs::doc::contribute::next_record;
use crate::verbs::doc::hooks;
use crate::verbs::doc::open::Held;
use crate::verbs::doc::open::Open;
use crate::verbs::doc::open::Place;
use crate::verbs::session::Session;
use bstr::ByteSlice;
use serde::Serialize;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

/// How often a branch that moves meanwhile is tried again.
const ROUNDS: usize = 5;

/// How often, and how far apart, an index that another git has is tried.
const LOOKS: usize = 50;
const LOOK: Duration = Duration::from_millis(20);

#[derive(Debug, Serialize)]
pub struct Committed {
    pub doc: DocId,
    pub path: String,
    /// None where there was nothing to commit.
    pub commit: Option<Oid>,
    /// The branch it is on; none where `HEAD` is detached.
    pub branch: Option<RefName>,
    /// The person's index has the new version, too.
    pub indexed: bool,
}

/// How a commit is made.
#[derive(Debug, Default, Clone, Copy)]
pub struct Manner {
    /// On the branch that is checked out now, whichever the answer was written on.
    pub here: bool,
    /// Even if git ignores the path.
    pub force: bool,
}

pub fn commit(session: &mut Session<'_>, place: Place, manner: Manner) -> Result<Committed> {
    let mut held = Held::take(session, place, "doc commit")?;
    commit_now(session, &mut held, manner)
}

/// The same beside another verb, for which nothing depends on it: a refusal is told, and that is all.
pub fn commit_held(session: &Session<'_>, held: &mut Held) -> Result<Option<Committed>> {
    match commit_now(session, held, Manner::default()) {
        Ok(done) => Ok(Some(done).filter(|done| done.commit.is_some())),
        Err(failure) if failure.token().is_some() => {
            session.tell(format!("not committed: {failure}"));
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

pub fn commit_now(session: &Session<'_>, held: &mut Held, manner: Manner) -> Result<Committed> {
    let mut index = Index { doc: held.id, was: None, now: None };
    let done = rounds(session, held, manner, &mut index);
    if matches!(&done, Err(failure) if failure.token().is_some()) {
        index.put_back(session, &held.open)?;
    }
    done
}

fn rounds(session: &Session<'_>, held: &mut Held, manner: Manner, index: &mut Index) -> Result<Committed> {
    for _ in 0..ROUNDS {
        match attempt(session, held, manner, index)? {
            Some(done) => return Ok(done),
            None => held.open.state = DocState::load(&session.repo, held.id)?,
        }
    }
    Err(moved(&held.open))
}

/// What was done to the person's index.
struct Index {
    doc: DocId,
    was: Option<Option<(Mode, Oid)>>,
    now: Option<(Mode, Oid)>,
}

impl Index {
    /// Brings that one entry along, if it is the old version: what they have staged stays. It comes before the branch:
    /// whoever dies in between leaves the new version staged, and never that it be taken back.
    fn enter(
        &mut self,
        session: &Session<'_>,
        open: &Open,
        target: &Target,
        new: (Mode, Oid),
    ) -> Result<bool> {
        let repo = &session.repo;
        let found = match repo.indexed_at(&open.admin, open.name.as_bstr())? {
            Some(found) if found == Some(new) => return Ok(true),
            Some(found) if found == target.entry || (found == self.now && found.is_some()) => found,
            _ => return Ok(false),
        };
        repo.make_durable(&repo.objects.take_written())?;
        let set = set_entry(session, open, self.doc, (found, Some(new)))?;
        if set {
            self.was.get_or_insert(found);
            self.now = Some(new);
        }
        Ok(set)
    }

    /// It was not committed, as far as anybody can tell.
    fn put_back(&self, session: &Session<'_>, open: &Open) -> Result<()> {
        let Some(was) = self.was else { return Ok(()) };
        let found = session.repo.indexed_at(&open.admin, open.name.as_bstr())?;
        let is_ours = found == Some(self.now) && Target::find(session, open, None)?.entry != self.now;
        if is_ours { set_entry(session, open, self.doc, (self.now, was)).map(drop) } else { Ok(()) }
    }
}

/// Sets it as soon as no other git has the index; false if it was staged otherwise meanwhile.
fn set_entry(
    session: &Session<'_>,
    open: &Open,
    id: DocId,
    (was, entry): (Option<Entry>, Option<Entry>),
) -> Result<bool> {
    let admin = &open.admin;
    for look in 0..LOOKS {
        if look > 0 && !checkout::free_left_by_document(session, admin, None)? {
            std::thread::sleep(LOOK);
        }
        let Some(index) = session.repo.hold_index(admin, &checkout::doc_mark(id))? else { continue };
        let set = index.set_entry(open.name.as_bstr(), was, entry);
        index.free()?;
        return set;
    }
    let lock = admin.dir.join("index.lock");
    Err(Refusal::new(Token::IndexLocked, "another git holds the index, or left its lock")
        .lines([lock.display().to_string()])
        .show(format!("fuser -v {}", quoted(&lock)))
        .next("let that git end; if none runs, remove the file and try again")
        .into())
}

/// Where the commit goes.
struct Target {
    branch: Option<RefName>,
    head: Option<Oid>,
    /// What it has at the path.
    entry: Option<(Mode, Oid)>,
}

impl Target {
    /// On `branch`, which is checked out.
    fn find(session: &Session<'_>, open: &Open, branch: Option<RefName>) -> Result<Target> {
        let head = session.repo.head_of(&open.admin)?;
        let entry = match head {
            Some(head) => {
                session.repo.objects.entry_at(session.repo.objects.tree_of(head)?, open.name.as_bstr())?
            }
            None => None,
        };
        Ok(Target { branch, head, entry })
    }
}

/// One try; `None` if the branch or the document moved meanwhile.
fn attempt(
    session: &Session<'_>,
    held: &mut Held,
    manner: Manner,
    index: &mut Index,
) -> Result<Option<Committed>> {
    let repo = &session.repo;
    let open = &held.open;
    let mut done = Committed {
        doc: held.id,
        path: open.place.shown.clone(),
        commit: None,
        branch: repo.branch_of(&open.admin)?,
        indexed: false,
    };
    let Some(state) = open.state.clone() else { return Ok(Some(done)) };
    let Some(known) = state.text(repo)? else { return Ok(Some(done)) };
    if state.oid(repo, COMMITTED)? == state.oid(repo, TEXT)? {
        return Ok(Some(done));
    }
    let target = Target::find(session, open, done.branch.clone())?;
    // A rebase has left the branch, too, and comes back to it.
    if let Some((what, _)) = repo.in_progress(&open.admin)? {
        return Err(in_progress(open, what));
    }
    refuse_elsewhere(open, &state, &target, manner)?;
    let blob = content(session, open, &state, &target, known)?;
    let mode = mode(session, open, &target);
    let mut record = next_record(held);
    record.committed = record.turns;
    let mut step = DocStep::default();
    if let Some(text) = state.oid(repo, TEXT)? {
        step.put_blob(COMMITTED, text);
        step.remove(OVER);
    }
    let commit = match target.entry {
        Some((_, old)) if old == blob => None,
        None if !manner.force
            && !repo.ignored_among(&open.admin, std::slice::from_ref(&open.name))?.is_empty() =>
        {
            return Err(ignored(open));
        }
        _ => Some(write_commit(session, open, &state, &target, (mode, blob))?),
    };
    let subject =
        commit.map_or("committed by hand".to_owned(), |commit| format!("committed {}", commit.short()));
    let edit = step.commit(repo, Some(&state), &record, session.clock.now_secs(), &subject)?;
    let at = edit.new;
    if commit.is_some() {
        done.indexed = index.enter(session, open, &target, (mode, blob))?;
        crate::fault::point("document: indexed");
    }
    if !publish(session, open, &target, commit, edit)? {
        return Ok(None);
    }
    crate::fault::point("document: committed");
    done.commit = commit;
    held.open.state = at.map(|at| DocState::at(repo, at)).transpose()?;
    Ok(Some(done))
}

/// Moves the branch and the document together; where `HEAD` is detached, one after the other.
fn publish(
    session: &Session<'_>,
    open: &Open,
    target: &Target,
    commit: Option<Oid>,
    step: Edit,
) -> Result<bool> {
    let draft = Draft::new(&session.repo);
    let Some(commit) = commit else { return Ok(draft.put(step).publish()? == Moved::Done) };
    match (&target.branch, target.head) {
        (Some(branch), head) => {
            let edit = Edit { name: branch.clone(), old: head, new: Some(commit) };
            Ok(draft.put(edit).put(step).publish()? == Moved::Done)
        }
        (None, Some(head)) => {
            session.repo.make_durable(&session.repo.objects.take_written())?;
            if !session.repo.move_detached(&open.admin, commit, head, "doc: committed")? {
                return Ok(false);
            }
            Ok(draft.put(step).publish()? == Moved::Done)
        }
        (None, None) => Err(Failure::fault("committing", "HEAD is neither at a branch nor at a commit")),
    }
}

/// What the branch has at the path from now on: what it has, with what the agent knows now and did not when it was
/// committed last. What a person has committed meanwhile stays.
fn content(
    session: &Session<'_>,
    open: &Open,
    state: &DocState,
    target: &Target,
    known: String,
) -> Result<Oid> {
    let repo = &session.repo;
    let home = session.own_folder();
    let converts = repo.may_convert_path(&open.admin, open.name.as_bstr(), &session.config, home.as_deref());
    // As git has it, it is compared and merged as the file would have it.
    let in_file = |oid: Oid| match converts {
        true => repo.read_converted(&open.admin, open.name.as_bstr(), oid),
        false => repo.objects.blob(oid),
    };
    let of_branch = target.entry.filter(|(mode, _)| matches!(mode, Mode::File | Mode::Executable));
    let base =
        state.oid(repo, COMMITTED)?.map_or_else(|| state.oid(repo, BASELINE), |base| Ok(Some(base)))?;
    let is_untouched = base.is_some() && base == of_branch.map(|(_, old)| old);
    let text = if is_untouched {
        known
    } else {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let base = match base {
            Some(base) if is_of_branch(session, state, base)? => Some(in_file(base)?),
            base => base.map(|base| repo.objects.blob(base)).transpose()?,
        };
        let theirs = of_branch.map(|(_, old)| in_file(old)).transpose()?.map(text);
        let sent = state.file(repo, OVER)?;
        to_commit(base.map(text).as_deref(), sent.as_deref(), theirs.as_deref(), known)
    };
    if converts {
        return repo.write_converted(&open.admin, open.name.as_bstr(), text.as_bytes());
    }
    repo.objects.write_blob(text.as_bytes())
}

/// Whether that is what the branch had when a turn was sent: git's version, and not one of the file.
fn is_of_branch(session: &Session<'_>, state: &DocState, base: Oid) -> Result<bool> {
    for n in state.record.committed + 1..=state.record.turns {
        if state.oid(&session.repo, &turn_file(n, "head"))? == Some(base) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn mode(session: &Session<'_>, open: &Open, target: &Target) -> Mode {
    if let Some((mode @ (Mode::File | Mode::Executable), _)) = target.entry {
        return mode;
    }
    let counts = session.config.get("core.filemode").is_none_or(|value| value != "false");
    let bits = std::fs::metadata(&open.place.path).map(|file| file.permissions().mode()).unwrap_or(0);
    if counts && bits & 0o100 != 0 { Mode::Executable } else { Mode::File }
}

fn write_commit(
    session: &Session<'_>,
    open: &Open,
    state: &DocState,
    target: &Target,
    entry: (Mode, Oid),
) -> Result<Oid> {
    let repo = &session.repo;
    let person = session.person()?;
    let now = session.clock.now_secs();
    let root = match target.head {
        Some(head) => repo.objects.tree_of(head)?,
        None => repo.objects.empty_tree(),
    };
    let tree = repo.objects.edit_tree(root, [(open.name.clone(), Some(entry))])?;
    let message = hooks::before(session, open, tree, message(session, open, state)?)?;
    let parents: Vec<Oid> = target.head.into_iter().collect();
    if session.config.is_true("commit.gpgsign") {
        let made = repo.commit_signed(tree, &parents, &message, &person, now)?;
        return made.map_err(|words| unsigned(open, &words));
    }
    repo.objects.write_commit(&Commit::by(&person, now, tree, parents, message))
}

/// The subject, and as trailers the document, its turns since the last commit, and who answered.
fn message(session: &Session<'_>, open: &Open, state: &DocState) -> Result<String> {
    let record = &state.record;
    let mut turns: Vec<TurnRecord> = Vec::new();
    for n in record.committed + 1..=record.turns {
        turns.extend(state.turn(&session.repo, n)?.filter(|turn| turn.answered.is_some()));
    }
    let stem = open.place.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let stem: String = stem.chars().filter(|c| !c.is_control()).collect();
    let what = match turns.as_slice() {
        [] => "edited".to_owned(),
        [one] => format!("turn {}", one.n),
        [first, .., last] => format!("turns {} to {}", first.n, last.n),
    };
    let mut text = format!("doc({stem}): {what}\n\nSkein-Doc: {}\n", record.doc);
    for turn in &turns {
        text.push_str(&format!("Skein-Turn: {}\n", turn.n));
    }
    for (name, of) in
        [("Agent", (|turn| &turn.agent) as fn(&TurnRecord) -> &Option<String>), ("Model", |turn| &turn.model)]
    {
        let mut named: Vec<String> =
            turns.iter().filter_map(|turn| of(turn).clone()).map(|word| word.replace('\n', " ")).collect();
        named.dedup();
        text.extend(named.into_iter().map(|word| format!("Skein-{name}: {word}\n")));
    }
    Ok(text)
}

fn refuse_elsewhere(open: &Open, state: &DocState, target: &Target, manner: Manner) -> Result<()> {
    if manner.here || state.record.wrote.is_none() || state.record.branch == target.branch {
        return Ok(());
    }
    let named = |branch: &Option<RefName>| {
        branch.as_ref().map_or("a detached HEAD".to_owned(), |branch| branch.short().to_owned())
    };
    let (then, now) = (named(&state.record.branch), named(&target.branch));
    Err(Refusal::new(
        Token::BranchSwitched,
        format!("the answer in {} was written on {then}, and now {now} is checked out", open.place.shown),
    )
    .lines([format!("then {then}"), format!("now {now}")])
    .show("git branch --show-current")
    .next(format!(
        "switch back, or commit it here: git skein doc commit --here {}",
        quoted(&open.place.shown)
    ))
    .into())
}

fn in_progress(open: &Open, what: &str) -> Failure {
    Refusal::new(Token::OperationInProgress, format!("a {what} is in progress where {} is", open.place.shown))
        .show("git status")
        .next(format!("finish or abort the {what}, then try again"))
        .into()
}

fn ignored(open: &Open) -> Failure {
    Refusal::new(Token::Ignored, format!("git ignores {}, and it is not tracked", open.place.shown))
        .show(format!("git check-ignore -v {}", quoted(&open.place.path)))
        .next(format!("git skein doc commit --force {}", quoted(&open.place.shown)))
        .into()
}

fn unsigned(open: &Open, words: &str) -> Failure {
    Refusal::new(Token::NotSigned, format!("the commit of {} could not be signed", open.place.shown))
        .lines(words.lines().map(str::to_owned))
        .show("git config --get-regexp '^(commit.gpgsign|gpg|user.signingkey)'")
        .next("make signing work, or turn it off: git config commit.gpgSign false")
        .into()
}
