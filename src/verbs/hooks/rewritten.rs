//! `post-rewrite`: the notes of landed commits follow them where a person amends or rebases. The lane records it, so
//! that the notes can be made again from it; and only a commit that makes the same change is the same work.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::OpId;
use crate::domain::Result;
use crate::host::Env;
use crate::plumbing::Moved;
use crate::state::Draft;
use crate::state::LaneEntry;
use crate::state::LaneRecord;
use crate::state::VERSION;
use crate::state::append;
use crate::state::followed_notes;
use crate::state::landed_notes_ref;
use crate::state::noted_ops;
use crate::state::tip;
use crate::verbs::hooks;
use crate::verbs::hooks::Input;
use crate::verbs::init;
use crate::verbs::landing::Landings;
use crate::verbs::session::Session;
use bstr::ByteSlice;
use std::collections::BTreeMap;

pub fn run(env: &Env, input: &mut Input, tell: &dyn Fn(&str)) -> Result<()> {
    let Some(called) = hooks::called(env).filter(hooks::is_known) else { return Ok(()) };
    if hooks::caller(&called).is_some() {
        return Ok(());
    }
    let pairs: Vec<(Oid, Oid)> = input.read()?.lines().filter_map(pair).collect();
    let mut session = Session::open(env, env.cwd(), tell)?;
    let Some(notes) = session.repo.read_refs(&[&landed_notes_ref()?])?.pop().flatten() else { return Ok(()) };
    let mut followed: BTreeMap<OpId, Vec<(Oid, Oid)>> = BTreeMap::new();
    for (old, new) in pairs.into_iter().filter(|(old, new)| old != new) {
        let ops = noted_ops(&session.repo, notes, old)?;
        if ops.is_empty() {
            continue;
        }
        if !is_same_work(&session, old, new)? {
            let (old, new) = (old.short(), new.short());
            tell(&format!("{new} makes another change than {old}, so the note that it landed stays there"));
            continue;
        }
        for op in ops {
            followed.entry(op).or_default().push((old, new));
        }
    }
    if followed.is_empty() {
        return Ok(());
    }
    init::ensure(&mut session)?;
    let clone = session.clone_id().unwrap_or_default().to_owned();
    let held = Landings::begin(&session, &clone)?;
    let count: usize = followed.values().map(Vec::len).sum();
    for (op, commits) in followed {
        follow(&held, op, commits)?;
    }
    tell(&format!("the notes of {count} landed commit{} came along", if count == 1 { "" } else { "s" }));
    Ok(())
}

/// Writes on the lane what became of the commits of operation `op`, and moves the notes with it. Either can be lost
/// to a crash: `fsck --rebuild` makes the notes what the lane says.
fn follow(held: &Landings<'_>, op: OpId, commits: Vec<(Oid, Oid)>) -> Result<()> {
    let (repo, at) = (&held.session.repo, held.session.clock.now_secs());
    let keeps: Vec<Oid> = commits.iter().map(|(_, new)| *new).collect();
    let record = LaneRecord { v: VERSION, op, at, entry: LaneEntry::Rewritten { commits: commits.clone() } };
    for _ in 0..50 {
        let notes = repo.read_refs(&[&landed_notes_ref()?])?.pop().flatten();
        let notes = notes.map(|notes| followed_notes(repo, notes, op, &commits, at)).transpose()?.flatten();
        let lane = append(repo, held.clone, tip(repo, held.clone)?, &record, None, &keeps)?;
        let draft = [lane].into_iter().chain(notes).fold(Draft::new(repo), Draft::put);
        if draft.publish()? == Moved::Done {
            return Ok(());
        }
    }
    Err(Failure::fault("taking the notes along", "they kept moving"))
}

pub(super) fn pair(line: &[u8]) -> Option<(Oid, Oid)> {
    let mut words = line.split_str(" ").map(|word| word.to_str().ok()?.parse().ok());
    Some((words.next()??, words.next()??))
}

/// By the identities that a landing goes by: the very same blobs, or the same lines somewhere else.
fn is_same_work(session: &Session<'_>, old: Oid, new: Oid) -> Result<bool> {
    let objects = &session.repo.objects;
    if !objects.exists(old) || !objects.exists(new) {
        return Ok(false);
    }
    let (before, after) = (objects.changes_of(old)?, objects.changes_of(new)?);
    if before.is_empty() || after.is_empty() {
        return Ok(false);
    }
    let (before, after) = (objects.identity(&before)?, objects.identity(&after)?);
    Ok(before.raw == after.raw || before.patch_verbatim == after.patch_verbatim)
}
