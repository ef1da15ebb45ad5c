//! Documents: whoever writes one writes its ref. What another clone has written comes into the file here too, by the
//! way that every answer takes; else it would read as deleted here.

use crate::domain::Oid;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::sync::Shared;
use crate::domain::sync::Step;
use crate::host::beside;
use crate::plumbing::Edit;
use crate::plumbing::Moved;
use crate::state::Both;
use crate::state::DocRecord;
use crate::state::DocState;
use crate::state::DocStep;
use crate::state::Draft;
use crate::state::Joined;
use crate::state::document_step;
use crate::state::join;
use crate::verbs::doc::Held;
use crate::verbs::doc::Open;
use crate::verbs::doc::bring_in;
use crate::verbs::doc::place;
use crate::verbs::doc::remember;
use crate::verbs::doc::taken_in;
use crate::verbs::session::Session;
use crate::verbs::sync::Exchanged;
use crate::verbs::sync::Stays;

const SUBJECT: &str = "brought together";

/// What became of a document that the remote has.
pub enum Brought {
    Nothing,
    Moved(Exchanged),
    /// It cannot be brought now; for the next time.
    Stays(Stays),
}

/// Why a document stays as it is: its own state, which a person can change.
const ITS_OWN: [Token; 7] = [
    Token::Busy,
    Token::BadDocument,
    Token::DocumentTwice,
    Token::NotText,
    Token::RecordMoved,
    Token::NoDocument,
    Token::OutsideWorktree,
];

/// Brings what the remote has of a document here.
pub fn take(session: &Session<'_>, both: &Both) -> Result<Brought> {
    let brings = matches!(both.step(), Step::Take | Step::Merge);
    let brought = if brings { bring(session, both) } else { finish(session, both).map(|()| None) };
    match brought {
        Ok(None) => Ok(Brought::Nothing),
        Ok(new) => {
            let (name, what) = (both.name.clone(), both.what(&session.repo)?);
            Ok(Brought::Moved(Exchanged { name, what, old: both.here, new }))
        }
        Err(failure) if failure.token().is_some_and(|token| ITS_OWN.contains(&token)) => {
            let (name, what) = (both.name.clone(), both.what(&session.repo)?);
            Ok(Brought::Stays(Stays { name, what, token: failure.token(), why: failure.to_string() }))
        }
        Err(failure) => Err(failure),
    }
}

fn bring(session: &Session<'_>, both: &Both) -> Result<Option<Oid>> {
    let repo = &session.repo;
    let Some(there) = both.there else { return Ok(None) };
    let there = DocState::at(repo, there)?;
    let here = both.here.map(|here| DocState::at(repo, here)).transpose()?;
    let Some(mut held) = held(session, here.as_ref(), &there)? else {
        let joined = joined(session, here.as_ref(), &there)?;
        // Its file may come or come back, and has not taken in what is new.
        let seen = remember(session, there.record.doc, both.here)?;
        return move_to(session, both, &joined, seen);
    };
    let joined = joined(session, held.open.state.as_ref(), &there)?;
    let both = &Both { here: held.open.state.as_ref().map(|state| state.at), ..both.clone() };
    let before = match &held.open.state {
        Some(here) => here.text(repo)?.unwrap_or_default(),
        // The file came by way of a branch.
        None => taken_in(session, &held.open, &there)?,
    };
    let after = joined.text(repo)?;
    let record = DocRecord { path: held.open.name.to_string(), ..joined.record.clone() };
    if !bring_in(session, &mut held, (before, after), (DocStep::upon(&joined), record, SUBJECT))? {
        return move_to(session, both, &joined, None);
    }
    Ok(held.open.state.map(|state| state.at))
}

/// Finishes what a sync that died has begun: its text lies beside the file.
fn finish(session: &Session<'_>, both: &Both) -> Result<()> {
    let (Some(top), Some(here)) = (&session.repo.dirs.work_tree, both.here) else { return Ok(()) };
    let here = DocState::at(&session.repo, here)?;
    if beside(&top.join(&here.record.path)).exists() {
        held(session, Some(&here), &here)?;
    }
    Ok(())
}

/// The document's file here, if it has one.
fn held(session: &Session<'_>, here: Option<&DocState>, there: &DocState) -> Result<Option<Held>> {
    let Some(top) = &session.repo.dirs.work_tree else { return Ok(None) };
    let paths = here.into_iter().chain([there]).map(|state| top.join(&state.record.path));
    for file in paths.filter_map(|path| place(session.env.cwd(), &path).ok()) {
        let open = Open::look(session, file)?;
        if open.id == Some(there.record.doc) {
            return Held::hold(session, open).map(Some);
        }
    }
    Ok(None)
}

/// Both sides as one, or that which has the other.
fn joined(session: &Session<'_>, here: Option<&DocState>, there: &DocState) -> Result<Joined> {
    let repo = &session.repo;
    let Some(here) = here else { return Ok(Joined::of(there)) };
    if repo.objects.is_ancestor(here.at, there.at)? {
        return Ok(Joined::of(there));
    }
    let base =
        repo.objects.merge_bases(here.at, there.at)?.first().map(|at| DocState::at(repo, *at)).transpose()?;
    join(repo, base.as_ref(), here, there)?.ok_or_else(|| {
        Refusal::new(Token::Busy, "a turn is open here, and one in another clone")
            .show(format!("git show {}:meta.json", here.at))
            .next("answer it or let it be answered, then sync again")
            .into()
    })
}

/// Moves the ref by itself; `seen` says what the file has, where that is not all.
fn move_to(session: &Session<'_>, both: &Both, joined: &Joined, seen: Option<Edit>) -> Result<Option<Oid>> {
    let repo = &session.repo;
    let new = match joined.parents[..] {
        [one] => one,
        _ => document_step(repo, joined, SUBJECT)?,
    };
    let edit = Edit { name: both.name.clone(), old: both.here, new: Some(new) };
    let draft = seen.into_iter().fold(Draft::new(repo).put(edit), Draft::put);
    if draft.publish()? == Moved::Done {
        return Ok(Some(new));
    }
    Err(Refusal::new(Token::RecordMoved, "the document was written meanwhile")
        .show(format!("git log -3 {}", both.name))
        .next("sync again")
        .into())
}

/// `skein.syncDocuments` says whether documents leave this clone.
pub fn may_be_given(session: &Session<'_>, both: &Both) -> bool {
    let kept =
        session.config.get("skein.syncdocuments").is_some() && !session.config.is_true("skein.syncdocuments");
    both.shared != Shared::Document || !kept
}
