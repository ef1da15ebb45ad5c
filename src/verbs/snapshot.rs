//! Snapshots: the whole working tree of a worker as a commit on `wip/<ulid>`. Snapshots chain, and every
//! commit that the worker's `HEAD` was ever at is a parent, so that nothing a snapshot saw is ever lost.

use crate::domain::Change;
use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::WorkerId;
use crate::plumbing::Admin;
use crate::plumbing::Birth;
use crate::plumbing::Capture;
use crate::plumbing::Edit;
use crate::plumbing::Excludes;
use crate::plumbing::Limits;
use crate::plumbing::Moved;
use crate::plumbing::Quota;
use crate::state::Draft;
use crate::state::head_ref;
use crate::state::record_commit;
use crate::state::wip_ref;
use crate::verbs::custody;
use crate::verbs::freeze;
use crate::verbs::jail;
use crate::verbs::session::Session;
use bstr::ByteSlice;
use std::collections::HashSet;

/// The first words of a snapshot: by them it is told from a stray among the parents of another.
const SNAPSHOT: &str = "snapshot of";

/// Where a worker's refs stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    pub head: Option<Oid>,
    pub wip: Option<Oid>,
}

/// What a look at a worktree found.
#[derive(Debug, Clone)]
pub struct Seen {
    pub head: Oid,
    /// The tree of everything in the working tree that is tracked or not ignored, as it stands on the disk.
    pub tree: Oid,
    /// What differs between `HEAD` and that tree.
    pub leftovers: Vec<Change>,
    /// Paths that could not be taken in, with the reason.
    pub skipped: Vec<String>,
    /// Names that the worker made git ignore.
    pub ignored: Vec<String>,
    pub kept: Kept,
    /// Why commits of the worker were not let in, if they were not.
    pub withheld: Option<Box<Refusal>>,
}

/// A capture of the worktree `admin` of worker `id`.
pub fn capture<'r>(session: &'r Session<'_>, id: WorkerId, admin: &Admin) -> Result<Capture<'r>> {
    let person = session.own_file("core.excludesfile", "ignore");
    let shared = session.repo.dirs.common.join("info/exclude");
    let excludes = Excludes { files: person.into_iter().chain([shared]).collect() };
    let birth = session.local.birth_index(id);
    // It only spares reading: a damaged one is as good as none.
    let birth = Birth::read(&birth, &session.repo.objects).unwrap_or_else(|_| Birth::none());
    Ok(Capture::new(&session.repo.objects, admin.path.clone(), birth, excludes, Limits::default()))
}

/// Looks at the worktree and keeps what it sees: `head` moves to its `HEAD`, and where the working tree or
/// the history of `HEAD` is not yet in the newest snapshot, a new one is made.
pub fn take(
    session: &Session<'_>,
    id: WorkerId,
    base: Oid,
    admin: &Admin,
    capture: &mut Capture<'_>,
    kept: Kept,
) -> Result<Seen> {
    let repo = &session.repo;
    let withheld = jail::take_in(session, id, admin, base)?;
    let (head, beyond) = tip(session, base, repo.head_of(admin)?.unwrap_or(base), kept)?;
    let captured = capture.tree(repo.objects.tree_of(head)?)?;
    let seen = Seen {
        head,
        tree: captured.tree,
        leftovers: captured.changes,
        skipped: captured
            .skipped
            .iter()
            .map(|(path, why)| format!("{} ({why:?})", path.to_str_lossy()))
            .collect(),
        ignored: captured.ignored_new.iter().map(|p| p.to_str_lossy().into_owned()).collect(),
        kept,
        withheld: withheld.or(beyond),
    };
    keep(session, id, base, admin, seen)
}

/// The `HEAD` to go by. A few objects can be a tree of more files than anybody can read, and a few bytes a file larger
/// than memory: where it came by such a thing, or is at no commit that is all there, that is where it was before, with
/// the reason.
pub fn tip(session: &Session<'_>, base: Oid, head: Oid, kept: Kept) -> Result<(Oid, Option<Box<Refusal>>)> {
    let before = kept.head.unwrap_or(base);
    if head == before {
        return Ok((head, None));
    }
    match session.repo.bound(before, head, base, &Quota::default()) {
        Ok(()) => Ok((head, None)),
        Err(Failure::Refusal(refusal)) => Ok((before, Some(refusal))),
        Err(fault) => Err(fault),
    }
}

/// Keeps what was seen of the worktree that `admin` registers.
pub fn keep(session: &Session<'_>, id: WorkerId, base: Oid, admin: &Admin, mut seen: Seen) -> Result<Seen> {
    let repo = &session.repo;
    let (head, kept) = (seen.head, seen.kept);
    let lost = strays(session, id, base, admin, head, kept)?;
    let stale = match kept.wip {
        // A snapshot of the same files on another commit shows them as something else.
        Some(wip) => {
            let wip = repo.objects.commit(wip)?;
            wip.tree != seen.tree || (wip.parents.first() != Some(&head) && !seen.leftovers.is_empty())
        }
        None => !seen.leftovers.is_empty(),
    };
    if session.dry {
        return Ok(seen);
    }
    let mut draft = Draft::new(repo);
    let mut moved = false;
    if stale || !lost.is_empty() {
        let parents: Vec<Oid> = [head].into_iter().chain(kept.wip).chain(lost).collect();
        let at = session.clock.now_secs();
        let wip = record_commit(repo, seen.tree, parents, at, &format!("{SNAPSHOT} {id}"))?;
        draft = draft.put(Edit { name: wip_ref(id)?, old: kept.wip, new: Some(wip) });
        seen.kept.wip = Some(wip);
        moved = true;
    }
    if kept.head != Some(head) {
        repo.objects.count_as_written(repo.objects.brought(base, head)?);
        draft = draft.put(Edit { name: head_ref(id)?, old: kept.head, new: Some(head) });
        seen.kept.head = Some(head);
        moved = true;
    }
    if moved && draft.publish()? != Moved::Done {
        return Err(freeze::raced(&id.to_string()));
    }
    Ok(seen)
}

/// Where the worker's refs stand now: after a failure nobody knows what moved.
pub fn kept_now(session: &Session<'_>, id: WorkerId) -> Result<Kept> {
    let mut found = session.repo.read_refs(&[&head_ref(id)?, &wip_ref(id)?])?.into_iter();
    Ok(Kept { head: found.next().flatten(), wip: found.next().flatten() })
}

/// Commits that `HEAD` has left behind, or that the worker put into the stash where anybody may take them,
/// and that no earlier snapshot keeps.
fn strays(
    session: &Session<'_>,
    id: WorkerId,
    base: Oid,
    admin: &Admin,
    head: Oid,
    kept: Kept,
) -> Result<Vec<Oid>> {
    let objects = &session.repo.objects;
    let mut known: HashSet<Oid> = [head].into_iter().chain(kept.head).collect();
    for wip in chain(session, kept.wip)? {
        known.extend(objects.commit(wip)?.parents);
    }
    let mut lost: Vec<Oid> = session
        .repo
        .heads_ever(admin)?
        .into_iter()
        .filter(|h| !known.contains(h) && objects.is_commit(*h))
        .collect();
    if let Some(before) = kept.head.filter(|b| *b != head && !lost.contains(b)) {
        lost.push(before);
    }
    for entry in session.repo.stash()? {
        if !known.contains(&entry) && custody::committed_by(session, entry, id)? {
            lost.push(entry);
        }
    }
    // What HEAD still contains is kept by HEAD.
    let mut strays = Vec::new();
    for oid in lost {
        let fits = || tip(session, base, oid, Kept { head: None, ..kept }).map(|(_, why)| why.is_none());
        match objects.is_ancestor(oid, head) {
            Ok(true) => {}
            Ok(false) if fits()? => strays.push(oid),
            // One that breaks git's rules is where nobody can build on it.
            Err(fault) if fits()? => return Err(fault),
            _ => {}
        }
    }
    Ok(strays)
}

/// Whether work that an earlier snapshot saw is in neither the tip nor the working tree: committed work
/// that `HEAD` no longer contains, or changes that are back at the base's content.
pub fn discarded(session: &Session<'_>, base: Oid, seen: &Seen) -> Result<bool> {
    let objects = &session.repo.objects;
    let snapshots = chain(session, seen.kept.wip)?;
    for (at, wip) in snapshots.iter().enumerate() {
        let commit = objects.commit(*wip)?;
        let before = snapshots.get(at + 1);
        for parent in commit.parents.iter().filter(|p| Some(*p) != before) {
            if objects.is_ancestor(*parent, seen.head)? {
                continue;
            }
            let changes = objects.diff_trees(objects.tree_of(base)?, objects.tree_of(*parent)?)?;
            if any(&changes, |change| is_gone(session, seen, change))? {
                return Ok(true);
            }
        }
    }
    Ok(discarded_in(session, base, seen)?.is_some())
}

/// The newest snapshot with work that is in neither the tip nor the working tree.
pub fn discarded_in(session: &Session<'_>, base: Oid, seen: &Seen) -> Result<Option<Oid>> {
    let objects = &session.repo.objects;
    let gone = |change: &Change| is_gone(session, seen, change);
    for wip in chain(session, seen.kept.wip)? {
        let changes = objects.diff_trees(objects.tree_of(base)?, objects.commit(wip)?.tree)?;
        let tracked = changes.iter().filter(|c| c.old.is_some()).cloned().collect::<Vec<_>>();
        let all_gone = !changes.is_empty() && !any(&changes, |c| gone(c).map(|g| !g))?;
        if all_gone || any(&tracked, gone)? {
            return Ok(Some(wip));
        }
    }
    Ok(None)
}

fn is_gone(session: &Session<'_>, seen: &Seen, change: &Change) -> Result<bool> {
    let objects = &session.repo.objects;
    let path = change.path.as_bstr();
    let head = objects.tree_of(seen.head)?;
    Ok(objects.entry_at(seen.tree, path)? == change.old && objects.entry_at(head, path)? == change.old)
}

fn any(changes: &[Change], test: impl Fn(&Change) -> Result<bool>) -> Result<bool> {
    for change in changes {
        if test(change)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The snapshot `newest` and those before it, newest first. A snapshot's parents: its `HEAD`, the snapshot
/// before it, strays.
pub fn chain(session: &Session<'_>, newest: Option<Oid>) -> Result<Vec<Oid>> {
    let objects = &session.repo.objects;
    let mut found = Vec::new();
    let mut next = newest;
    while let Some(wip) = next {
        found.push(wip);
        let before = objects.commit(wip)?.parents.get(1).copied();
        next =
            before.filter(|p| objects.commit(*p).is_ok_and(|c| c.subject().starts_with(SNAPSHOT.as_bytes())));
    }
    Ok(found)
}
