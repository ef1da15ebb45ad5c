//! Keeps the graph of the commits that `landed` would have to read one by one: those of each branch that
//! workers are meant for, back to the base of its oldest worker.

use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Result;
use crate::plumbing::CommitGraph;
use crate::plumbing::Edit;
use crate::plumbing::GraphEntry;
use crate::plumbing::History;
use crate::plumbing::Moved;
use crate::state::Draft;
use crate::state::Seal;
use crate::state::View;
use crate::state::commits_ref;
use crate::verbs::session::Session;
use std::collections::BTreeMap;
use std::collections::HashSet;
use std::rc::Rc;

/// So many commits are rather read by `landed` than that the graph is written again.
const FEW: usize = 32;

/// How many commits a verb takes in on its way to something else; about 0.2 s. The next one goes on.
const SOME: usize = 1000;

/// What is known of commits without reading them: nothing, unless the file is the very one that was written. What it
/// lacks, git's own graph may have.
pub fn load(session: &Session<'_>, view: &View) -> Rc<CommitGraph> {
    let objects = &session.repo.objects;
    let graph = seal(session, view).and_then(|seal| sealed(session, &seal)).unwrap_or_default();
    let off = session.config.get("core.commitgraph").is_some_and(|value| value == "false");
    Rc::new(if off || !objects.is_whole() { graph } else { graph.beside_git(objects) })
}

/// Takes in what the branches have gained. It may fail, and nothing is lost but time.
pub fn extend(session: &Session<'_>, view: &View) {
    let _ = take_in(session, view, SOME);
}

/// The same however long it takes; how many commits were taken in.
pub fn complete(session: &Session<'_>, view: &View) -> usize {
    take_in(session, view, usize::MAX).unwrap_or_default()
}

/// Where history is cut off or objects are elsewhere, a commit is not always what it is here now.
fn seal(session: &Session<'_>, view: &View) -> Option<Seal> {
    let at = view.commits.filter(|_| session.repo.objects.is_whole())?;
    Seal::parse(&session.repo.objects.blob(at).ok()?)
}

fn sealed(session: &Session<'_>, seal: &Seal) -> Option<CommitGraph> {
    let file = seal.open(&session.local.commits(&seal.digest)).ok().flatten()?;
    CommitGraph::parse(file, &session.repo.objects)
}

fn take_in(session: &Session<'_>, view: &View, limit: usize) -> Result<usize> {
    let objects = &session.repo.objects;
    if !objects.is_whole() || session.dry {
        return Ok(0);
    }
    let old = seal(session, view).filter(|seal| session.local.commits(&seal.digest).is_file());
    let seen = old.as_ref().map(|seal| seal.tips.clone()).unwrap_or_default();
    let thorough = limit == usize::MAX;
    let mut lines: BTreeMap<&RefName, Oid> = BTreeMap::new();
    for worker in &view.workers {
        lines.entry(&worker.record.onto).or_insert(worker.record.base);
    }
    let mut todo = Vec::new();
    for (onto, base) in lines {
        let Some(tip) = session.tip(view, onto) else { continue };
        if thorough || !is_near(session, &seen, base, tip)? {
            todo.push((base, tip));
        }
    }
    if todo.is_empty() {
        return Ok(0);
    }
    let graph = Rc::new(old.as_ref().and_then(|seal| sealed(session, seal)).unwrap_or_default());
    let (mut entries, mut tips) = (graph.entries()?, Vec::new());
    let before = entries.len();
    let mut known: HashSet<Oid> = entries.iter().map(|(oid, _)| *oid).collect();
    for (base, tip) in todo {
        let (unread, all) = History::unread(objects, &graph, base, tip, limit)?;
        if all {
            tips.push(tip);
        }
        for oid in unread {
            if known.insert(oid) {
                entries.push((oid, GraphEntry::read(objects, oid)?));
            }
        }
    }
    let more = entries.len() - before;
    tips.extend(seen.iter().filter(|tip| !tips.contains(tip)).copied().collect::<Vec<Oid>>());
    tips.truncate(2 * FEW);
    if more > 0 || tips != seen {
        keep(session, view, &CommitGraph::file(&entries, objects), tips, old.as_ref())?;
    }
    Ok(more)
}

/// Puts the file beside the old one, and lets the ref name it. Who loses the race leaves no file.
fn keep(session: &Session<'_>, view: &View, file: &[u8], tips: Vec<Oid>, old: Option<&Seal>) -> Result<()> {
    let (repo, local) = (&session.repo, &session.local);
    let seal = Seal::of(file, tips);
    crate::host::make_dir(&local.cache())?;
    crate::host::put(&local.commits(&seal.digest), file)?;
    let blob = repo.objects.write_blob(seal.text().as_bytes())?;
    let edit = Edit { name: commits_ref()?, old: view.commits, new: Some(blob) };
    let named = match Draft::new(repo).put(edit).publish_lazily_in(&mut repo.ref_session()?)? {
        Moved::Done => Some(blob),
        Moved::Lost(now) => now.first().and_then(|(_, now)| *now),
    };
    let gone = if named == Some(blob) { old.filter(|old| old.digest != seal.digest) } else { Some(&seal) };
    gone.map_or(Ok(()), |gone| crate::host::remove_tree(&local.commits(&gone.digest)))
}

/// Whether the graph, or the base, is not far below `tip`.
fn is_near(session: &Session<'_>, seen: &[Oid], base: Oid, tip: Oid) -> Result<bool> {
    let mut next = Some(tip);
    for _ in 0..FEW {
        match next {
            Some(oid) if oid != base && !seen.contains(&oid) => {
                next = session.repo.objects.commit(oid)?.parents.first().copied();
            }
            _ => return Ok(true),
        }
    }
    Ok(false)
}
