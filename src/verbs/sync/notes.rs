//! The notes are made from the lanes; what others noted of lanes that are not here is taken as it is.

use crate::domain::Oid;
use crate::domain::Result;
use crate::plumbing::Edit;
use crate::plumbing::Moved;
use crate::state::Draft;
use crate::state::Mirror;
use crate::state::add_notes;
use crate::state::landed_notes_ref;
use crate::state::record_commit;
use crate::state::with_notes_of;
use crate::verbs::session::Session;
use crate::verbs::sync::Exchanged;
use crate::verbs::sync::moved;

/// A landing of this clone may note something at any time.
const ROUNDS: usize = 50;

/// Brings the notes of the remote, and those that `lanes` imply, together with those here. Of each lane there is where
/// it is now, and where it was.
pub fn take(
    session: &Session<'_>,
    mirror: &Mirror,
    lanes: &[(Oid, Option<Oid>)],
) -> Result<Option<Exchanged>> {
    let (repo, name) = (&session.repo, landed_notes_ref()?);
    let objects = &repo.objects;
    let there = mirror.there(&name);
    let tree = |at: Option<Oid>| at.map_or(Ok(objects.empty_tree()), |at| objects.tree_of(at));
    for _ in 0..ROUNDS {
        let here = repo.read_refs(&[&name])?.pop().flatten();
        let (ours, theirs) = (tree(here)?, tree(there)?);
        let mut joined = with_notes_of(objects, ours, theirs)?;
        for (lane, known) in lanes {
            joined = add_notes(repo, joined, *lane, *known)?;
        }
        let holds = |new: Option<Oid>, old: Option<Oid>| match (new, old) {
            (Some(new), Some(old)) => objects.is_ancestor(old, new),
            (new, old) => Ok(old.is_none() || new == old),
        };
        let new = match there {
            _ if joined == ours && holds(here, there)? => return Ok(None),
            // An index: where the remote has all of it, its history is as good as ours.
            Some(there) if joined == theirs => there,
            _ => {
                let parents = there.into_iter().chain(here).collect();
                record_commit(repo, joined, parents, session.clock.now_secs(), "landed: brought together")?
            }
        };
        let edit = Edit { name: name.clone(), old: here, new: Some(new) };
        if Draft::new(repo).put(edit).publish()? == Moved::Done {
            let what = "notes".to_owned();
            return Ok(Some(Exchanged { name, what, old: here, new: Some(new) }));
        }
    }
    Err(moved(mirror))
}
