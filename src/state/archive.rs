//! Archives: closed workers of one clone and month as entries of one tree, so that they need no refs of
//! their own. A worker that has a ref is open, whatever an archive says.

use crate::domain::Failure;
use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::plumbing::Edit;
use crate::plumbing::Repo;
use crate::state::draft::record_commit;
use crate::state::names;
use crate::state::record::Folded;
use crate::state::record::FoldedIndex;
use crate::state::record::Read;
use crate::state::record::VERSION;
use crate::state::record::encode;
use crate::state::view::View;
use crate::state::view::Worker;
use crate::state::view::ambiguous;
use crate::state::view::named;
use crate::state::view::read;
use bstr::BString;
use std::collections::BTreeMap;

const INDEX: &str = "index.json";

/// How a snapshot is told from what else a kept commit has as a parent.
pub const SNAPSHOT: &str = "snapshot of";

/// A worker that is about to be closed: where it stands, and its newest snapshot.
#[derive(Debug)]
pub struct Closing<'w> {
    pub worker: &'w Worker,
    pub tip: Oid,
    pub wip: Option<Oid>,
}

/// The ref moves that fold `closing` at `at` seconds into the archive of `clone`: at most one commit for all
/// of them, and a kept commit for each that has more than its record keeps. Empty if all of it is there.
pub fn fold(repo: &Repo, view: &View, clone: &str, at: i64, closing: &[Closing<'_>]) -> Result<Vec<Edit>> {
    let mut edits = Vec::new();
    for one in closing {
        edits.extend(keep(repo, view, one, at)?);
    }
    let month: String = jiff::Timestamp::from_second(at)
        .map(|time| time.to_string().chars().take(7).collect())
        .map_err(|e| Failure::fault("reading the clock", e))?;
    let name = names::archive(clone, &month)?;
    let old = view.archives.get(&format!("{clone}-{month}")).copied();
    let newest = newest(repo, view)?;
    let fresh: Vec<(&Closing<'_>, Folded)> =
        closing.iter().map(|one| (one, folded(one, newest.get(&one.worker.id), at))).collect();
    let fresh: Vec<_> = fresh.into_iter().filter(|(o, f)| newest.get(&o.worker.id) != Some(f)).collect();
    if fresh.is_empty() {
        return Ok(edits);
    }
    let (root, entries) = match old {
        Some(at) => (repo.objects.tree_of(at)?, index(repo, at)?),
        None => (repo.objects.empty_tree(), Vec::new()),
    };
    let mut all: BTreeMap<WorkerId, Folded> = entries.into_iter().map(|f| (f.worker, f)).collect();
    all.extend(fresh.iter().map(|(_, f)| (f.worker, f.clone())));
    let record = FoldedIndex { v: VERSION, workers: all.into_values().collect() };
    let blob = repo.objects.write_blob(&encode(&record)?)?;
    let trees = fresh.iter().map(|(o, f)| (BString::from(f.worker.to_string()), o.worker.tree));
    let root = repo.objects.put_trees(root, trees)?;
    let root = repo.objects.edit_tree(root, [(INDEX.into(), Some((Mode::File, blob)))])?;
    // A record keeps its base and the tips of its deltas.
    let parents = old.into_iter().chain(fresh.iter().map(|(_, f)| f.record)).collect();
    let subject = match fresh.as_slice() {
        [(_, one)] => format!("folded: {}", one.handle),
        many => format!("folded: {} workers", many.len()),
    };
    let new = record_commit(repo, root, parents, at, &subject)?;
    edits.push(Edit { name, old, new: Some(new) });
    Ok(edits)
}

/// The entry of a worker; the same as `before` if nothing happened since.
fn folded(one: &Closing<'_>, before: Option<&Folded>, at: i64) -> Folded {
    let now = Folded {
        worker: one.worker.id,
        handle: one.worker.record.handle.clone(),
        record: one.worker.at,
        tip: one.tip,
        at,
        fold: before.map_or(1, |b| b.fold + 1),
    };
    match before {
        Some(b) if (b.record, b.tip) == (now.record, now.tip) => b.clone(),
        _ => now,
    }
}

/// A commit with tip and newest snapshot as parents, if the record does not keep them already. One that was
/// made before lives on as its last parent.
fn keep(repo: &Repo, view: &View, one: &Closing<'_>, at: i64) -> Result<Option<Edit>> {
    let id = one.worker.id;
    let own: Vec<Oid> = [one.tip].into_iter().chain(one.wip).collect();
    let old = view.kept.get(&id).copied();
    let before = old.map(|oid| repo.objects.commit(oid)).transpose()?;
    if before.is_some_and(|b| b.parents.starts_with(&own) && (one.wip.is_some() || b.parents.len() == 1)) {
        return Ok(None);
    }
    let by_record = one.wip.is_none()
        && old.is_none()
        && (one.tip == one.worker.record.base || delta_tip(repo, one.worker) == Some(one.tip));
    if by_record {
        return Ok(None);
    }
    let tree = repo.objects.tree_of(one.wip.unwrap_or(one.tip))?;
    let parents = own.into_iter().chain(old).collect();
    let new = record_commit(repo, tree, parents, at, &format!("kept of {id}"))?;
    Ok(Some(Edit { name: names::kept(id)?, old, new: Some(new) }))
}

fn delta_tip(repo: &Repo, worker: &Worker) -> Option<Oid> {
    worker.delta(repo).ok().flatten().map(|delta| delta.tip)
}

/// The entries of the archive at commit `at`; none of a version that is not known here.
fn index(repo: &Repo, at: Oid) -> Result<Vec<Folded>> {
    match read::<FoldedIndex>(repo, repo.objects.tree_of(at)?, INDEX)? {
        Read::Known(index) => Ok(index.workers),
        Read::Unknown(why) => Err(Failure::fault(format!("reading {INDEX} of the archive {at}"), why)),
    }
}

/// Of each worker in any archive the entry that was made last.
fn newest(repo: &Repo, view: &View) -> Result<BTreeMap<WorkerId, Folded>> {
    let mut found: BTreeMap<WorkerId, Folded> = BTreeMap::new();
    for at in view.archives.values() {
        for entry in index(repo, *at)? {
            match found.get(&entry.worker) {
                Some(other) if other.fold >= entry.fold => {}
                _ => drop(found.insert(entry.worker, entry)),
            }
        }
    }
    Ok(found)
}

impl View {
    /// Every closed worker, by birth.
    pub fn archived(&self, repo: &Repo) -> Result<Vec<Worker>> {
        self.closed(repo)?.iter().map(|entry| self.unfold(repo, entry)).collect()
    }

    /// The closed worker that `name` means, if any does.
    pub fn archived_worker(&self, repo: &Repo, name: &str) -> Result<Option<Worker>> {
        let closed = self.closed(repo)?;
        match named(&closed, name, |f| (f.worker, &f.handle)).as_slice() {
            [] => Ok(None),
            [one] => self.unfold(repo, one).map(Some),
            many => Err(ambiguous(
                name,
                many.iter().map(|f| format!("{} {}", f.worker, f.handle)),
                names::LIST_ARCHIVES,
            )),
        }
    }

    /// The worker that `name` means: an open one, else a closed one.
    pub fn any_worker(&self, repo: &Repo, name: &str) -> Result<Worker> {
        match self.worker(name) {
            Ok(worker) => Ok(worker.clone()),
            Err(none) => match none.token() {
                Some(Token::NoSuchWorker) => self.archived_worker(repo, name)?.ok_or(none),
                _ => Err(none),
            },
        }
    }

    /// The open worker that `name` means. One that is closed is a refusal of its own.
    pub fn open_worker(&self, repo: &Repo, name: &str) -> Result<&Worker> {
        self.worker(name).map_err(|none| self.or_archived(repo, name, none))
    }

    /// Why there is no open worker `name`, in better words if it is a closed one.
    pub fn or_archived(&self, repo: &Repo, name: &str, none: Failure) -> Failure {
        if none.token() != Some(Token::NoSuchWorker) {
            return none;
        }
        match self.archived_worker(repo, name) {
            Ok(None) => none,
            Ok(Some(worker)) => {
                let handle = &worker.record.handle;
                Refusal::new(Token::Archived, format!("{handle} is closed and in the archive"))
                    .oid("tip", worker.tip())
                    .show(names::LIST_ARCHIVES)
                    .next(format!("git skein restore {handle} opens it again"))
                    .into()
            }
            Err(failure) => failure,
        }
    }

    fn closed(&self, repo: &Repo) -> Result<Vec<Folded>> {
        let mut found = newest(repo, self)?;
        for worker in &self.workers {
            found.remove(&worker.id);
        }
        for (id, _) in &self.unreadable {
            found.remove(id);
        }
        Ok(found.into_values().collect())
    }

    fn unfold(&self, repo: &Repo, entry: &Folded) -> Result<Worker> {
        let tree = repo.objects.tree_of(entry.record)?;
        let record = match read(repo, tree, "record.json")? {
            Read::Known(record) => record,
            Read::Unknown(why) => {
                return Err(Failure::fault(format!("reading the record of worker {}", entry.worker), why));
            }
        };
        let (head, wip) = match self.kept.get(&entry.worker) {
            Some(at) => closed_at(repo, *at)?,
            None => (entry.tip, None),
        };
        Ok(Worker { id: entry.worker, record, at: entry.record, tree, head: Some(head), wip })
    }
}

/// Tip and newest snapshot that the kept commit `at` holds.
pub fn closed_at(repo: &Repo, at: Oid) -> Result<(Oid, Option<Oid>)> {
    let parents = repo.objects.commit(at)?.parents;
    let head = *parents.first().ok_or_else(|| Failure::fault("reading what is kept", "it keeps nothing"))?;
    match parents.get(1) {
        Some(oid) if repo.objects.commit(*oid)?.subject().starts_with(SNAPSHOT.as_bytes()) => {
            Ok((head, Some(*oid)))
        }
        _ => Ok((head, None)),
    }
}
