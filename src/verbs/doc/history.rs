//! The commits of a document: listed, brought back into the text, folded; and a document begun anew.

use crate::domain::DocId;
use crate::domain::Oid;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::document::Mode;
use crate::domain::document::Patch;
use crate::domain::document::Rule;
use crate::domain::document::Touched;
use crate::domain::document::apply;
use crate::domain::document::components;
use crate::domain::quoted;
use crate::plumbing::Commit;
use crate::plumbing::Edit;
use crate::plumbing::Moved;
use crate::state::BASELINE;
use crate::state::COMMITTED;
use crate::state::DocStep;
use crate::state::Draft;
use crate::state::OVER;
use crate::state::TEXT;
use crate::state::UNDER;
use crate::verbs::doc::answer::Turn;
use crate::verbs::doc::contribute::moved;
use crate::verbs::doc::contribute::next_record;
use crate::verbs::doc::contribute::publish;
use crate::verbs::doc::edit::Edited;
use crate::verbs::doc::edit::record;
use crate::verbs::doc::open::Held;
use crate::verbs::doc::open::Open;
use crate::verbs::doc::open::Place;
use crate::verbs::session::Session;
use bstr::BString;
use bstr::ByteSlice;
use serde::Serialize;

/// The component that holds what was said.
const EXCHANGE: &str = "exchange";

/// The trailer that every commit of a document has.
const TRAILER: &str = "Skein-Doc: ";

#[derive(Debug, Serialize)]
pub struct Row {
    pub commit: Oid,
    pub at: i64,
    pub subject: String,
    /// It was made by `commit`.
    pub ours: bool,
    /// The last line of what was said then.
    pub said: Option<String>,
}

/// Newest first.
#[derive(Debug, Serialize)]
pub struct History {
    pub path: String,
    pub commits: Vec<Row>,
}

#[derive(Debug, Serialize)]
pub struct Begun {
    pub doc: DocId,
    pub path: String,
}

#[derive(Debug, Serialize)]
pub struct Folded {
    pub doc: DocId,
    pub path: String,
    /// How many commits became one; none if there were fewer than two.
    pub folded: usize,
    pub commit: Option<Oid>,
}

pub fn history(session: &Session<'_>, place: Place) -> Result<History> {
    let open = Open::look_unsure(session, place)?;
    let mut commits = Vec::new();
    for (oid, path) in session.repo.commits_of(&open.admin, open.name.as_bstr())? {
        let commit = session.repo.objects.commit(oid)?;
        let at = commit.committer.rsplitn_str(3, " ").nth(1).and_then(|at| at.to_str().ok()?.parse().ok());
        commits.push(Row {
            commit: oid,
            at: at.unwrap_or(0),
            subject: commit.subject().to_str_lossy().into_owned(),
            ours: commit.message.contains_str(TRAILER),
            said: exchange(session, oid, &path)?.and_then(|text| last_line(&text)),
        });
    }
    Ok(History { path: open.place.shown, commits })
}

/// What the exchange held in a commit.
fn exchange(session: &Session<'_>, commit: Oid, path: &BString) -> Result<Option<String>> {
    let objects = &session.repo.objects;
    let Some((_, oid)) = objects.entry_at(objects.tree_of(commit)?, path.as_bstr())? else { return Ok(None) };
    let text = String::from_utf8_lossy(&objects.blob(oid)?).into_owned();
    let found = components(&text).unwrap_or_default().into_iter().find(|found| found.name == EXCHANGE);
    Ok(found.map(|found| text[found.body].to_owned()))
}

/// What was said in a commit, under the name that the document had then.
fn said_in(session: &Session<'_>, open: &Open, commit: Oid) -> Result<Option<String>> {
    let all = session.repo.commits_of(&open.admin, open.name.as_bstr())?;
    let listed = all.iter().filter(|(oid, _)| *oid == commit).map(|(_, name)| name);
    let names = listed.chain([&open.name]).chain(all.iter().map(|(_, name)| name));
    let mut tried: Vec<&BString> = Vec::new();
    for name in names {
        if tried.contains(&name) {
            continue;
        }
        tried.push(name);
        if let Some(said) = exchange(session, commit, name)?.filter(|said| !said.trim().is_empty()) {
            return Ok(Some(said));
        }
    }
    Ok(None)
}

fn last_line(text: &str) -> Option<String> {
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(line.trim().chars().take(72).collect())
}

/// Brings what was said in the commit `rev` in above what is said now.
pub fn restore(session: &mut Session<'_>, place: Place, rev: &str) -> Result<Edited> {
    let mut held = Held::take(session, place, "doc history --restore")?;
    let bad = |says: String| {
        Refusal::new(Token::BadRevision, says)
            .show(format!("git log --oneline -- {}", quoted(&held.open.place.path)))
            .next("git skein doc history lists the commits of the document")
    };
    let commit = session.repo.resolve_commit(rev)?.ok_or_else(|| bad(format!("{rev:?} is no commit")))?;
    let said = match said_in(session, &held.open, commit)? {
        Some(said) => said,
        None => return Err(bad(format!("in {} nothing was said in this document", commit.short())).into()),
    };
    let turn = Turn::unasked(session, &held)?;
    let patch = Patch { component: EXCHANGE.to_owned(), content: format!("{}\n\n---\n", said.trim_end()) };
    let rule = Rule { mode: Mode::Prepend, ..Rule::default() };
    let Ok(after) = apply(&turn.before, &patch, &rule, None) else {
        return Err(bad("what was said there does not fit into the document any more".to_owned()).into());
    };
    let before = turn.before.clone();
    let subject = format!("turn {}: restored from {}", turn.record.n, commit.short());
    record(session, &mut held, turn, (before, after), Touched::Components(vec![EXCHANGE.to_owned()]), subject)
}

/// Forgets what the agent knows: the next turn begins with the whole text. The file and all turns stay.
pub fn reset(session: &mut Session<'_>, place: Place) -> Result<Begun> {
    let mut held = Held::take(session, place, "doc reset")?;
    if held.open.state.is_some() {
        let mut step = DocStep::default();
        for file in [TEXT, BASELINE, COMMITTED, UNDER, OVER] {
            step.remove(file);
        }
        let mut record = next_record(&held);
        record.open.clear();
        publish(session, &mut held, step, &record, "begun anew")?;
    }
    Ok(Begun { doc: held.id, path: held.open.place.shown })
}

/// Makes one commit of those at the tip of the branch that are of this document alone.
pub fn clean(session: &mut Session<'_>, place: Place) -> Result<Folded> {
    let held = Held::take(session, place, "doc clean")?;
    let repo = &session.repo;
    let mut done = Folded { doc: held.id, path: held.open.place.shown.clone(), folded: 0, commit: None };
    let Some(tip) = repo.head_of(&held.open.admin)? else { return Ok(done) };
    let own = own_commits(session, &held, tip)?;
    let (Some((newest, last)), Some((_, oldest))) = (own.first(), own.last()) else {
        return refuse_buried(session, &held, done);
    };
    if own.len() < 2 {
        return Ok(done);
    }
    let pushed = repo.on_a_remote(own.last().map_or(tip, |(oid, _)| *oid))?;
    if let Some(remote) = pushed {
        return Err(not_ours(&held, &format!("they are on {remote} already")));
    }
    let subject = format!("{} (and {} before)\n", last.subject(), own.len() - 1);
    let trailers: Vec<&[u8]> = own
        .iter()
        .rev()
        .flat_map(|(_, commit)| commit.message.lines().filter(|line| line.starts_with(b"Skein-")))
        .collect();
    let mut message = subject.into_bytes();
    message.push(b'\n');
    let mut seen: Vec<&[u8]> = Vec::new();
    for line in trailers {
        if !seen.contains(&line) {
            seen.push(line);
            message.extend_from_slice(line);
            message.push(b'\n');
        }
    }
    let commit = Commit {
        parents: oldest.parents.clone(),
        author: oldest.author.clone(),
        message: message.into(),
        ..last.clone()
    };
    let folded = write(session, &held, &commit)?;
    let moved_there = match repo.branch_of(&held.open.admin)? {
        Some(branch) => Draft::new(repo).put(Edit::update(branch, *newest, folded)).publish()? == Moved::Done,
        None => {
            repo.make_durable(&repo.objects.take_written())?;
            repo.move_detached(&held.open.admin, folded, *newest, "doc: folded")?
        }
    };
    if !moved_there {
        return Err(moved(&held.open));
    }
    (done.folded, done.commit) = (own.len(), Some(folded));
    Ok(done)
}

/// Writes the commit, signed where commits are to be.
fn write(session: &Session<'_>, held: &Held, commit: &Commit) -> Result<Oid> {
    if !session.config.is_true("commit.gpgsign") {
        return session.repo.objects.write_commit(commit);
    }
    let (message, now) = (commit.message.to_str_lossy(), session.clock.now_secs());
    let person = session.person()?;
    let made = session.repo.commit_signed(commit.tree, &commit.parents, &message, &person, now)?;
    made.map_err(|words| {
        let shown = &held.open.place.shown;
        Refusal::new(Token::NotSigned, format!("the one commit of {shown} could not be signed"))
            .lines(words.lines().map(str::to_owned))
            .show("git config --get-regexp '^(commit.gpgsign|gpg|user.signingkey)'")
            .next("make signing work, or turn it off: git config commit.gpgSign false")
            .into()
    })
}

/// From the tip down as far as each is of this document, changes nothing else, and has one parent or none.
fn own_commits(session: &Session<'_>, held: &Held, tip: Oid) -> Result<Vec<(Oid, Commit)>> {
    let objects = &session.repo.objects;
    let trailer = format!("{TRAILER}{}", held.id);
    let (mut own, mut next) = (Vec::new(), Some(tip));
    while let Some(oid) = next.take() {
        let commit = objects.commit(oid)?;
        let says = commit.message.lines().any(|line| line == trailer.as_bytes());
        if !says || commit.parents.len() > 1 {
            break;
        }
        let changes = objects.changes_of(oid)?;
        if changes.iter().any(|change| change.path != held.open.name) {
            break;
        }
        next = commit.parents.first().copied();
        own.push((oid, commit));
    }
    Ok(own)
}

/// Where commits of the document lie below others, they are not folded.
fn refuse_buried(session: &Session<'_>, held: &Held, done: Folded) -> Result<Folded> {
    let all = session.repo.commits_of(&held.open.admin, held.open.name.as_bstr())?;
    let trailer = format!("{TRAILER}{}", held.id);
    for (oid, _) in all {
        if session.repo.objects.commit(oid)?.message.contains_str(&trailer) {
            return Err(not_ours(held, "others lie above them"));
        }
    }
    Ok(done)
}

fn not_ours(held: &Held, why: &str) -> crate::domain::Failure {
    let place = &held.open.place;
    Refusal::new(Token::NotOurs, format!("the commits of {} are not folded: {why}", place.shown))
        .show(format!("git log --oneline -- {}", quoted(&place.path)))
        .next("leave them as they are")
        .into()
}
