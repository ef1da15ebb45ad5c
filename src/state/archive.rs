//! Archives: closed workers of one clone and month as entries of one tree, so that they need no refs of
//! their own. A worker that has a ref is open, whatever an archive says.

use crate::domain::Failure;
use crate::domain::Handle;
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
use std::collections::HashSet;

const INDEX: &str = "index.json";

/// The first line of a commit that keeps.
const KEPT: &str = "kept of closed workers";

/// A worker that is about to be closed: where it stands, and its newest snapshot.
#[derive(Debug)]
pub struct Closing<'w> {
    pub worker: &'w Worker,
    pub tip: Oid,
    pub wip: Option<Oid>,
}

/// The ref moves that fold `closing` at `at` seconds into the archive of `clone`: at most one commit there,
/// and one that keeps what the records do not. Empty if all of it is there.
pub fn fold(repo: &Repo, view: &View, clone: &str, at: i64, closing: &[Closing<'_>]) -> Result<Vec<Edit>> {
    let month: String = jiff::Timestamp::from_second(at)
        .map(|time| time.to_string().chars().take(7).collect())
        .map_err(|e| Failure::fault("reading the clock", e))?;
    let mut edits = Vec::new();
    edits.extend(keep(repo, view, clone, &month, at, closing)?);
    let newest = newest(repo, view)?;
    let entry = |one: &'_ Closing<'_>| folded(one, newest.get(&one.worker.id), at);
    let is_new = |(one, entry): &(&Closing<'_>, Folded)| newest.get(&one.worker.id) != Some(entry);
    let fresh: Vec<_> = closing.iter().map(|one| (one, entry(one))).filter(is_new).collect();
    if fresh.is_empty() {
        return Ok(edits);
    }
    let name = names::archive(clone, &month)?;
    let old = view.archives.get(&format!("{clone}-{month}")).copied();
    let (root, entries) = match old {
        Some(at) => match index(repo, at)? {
            Read::Known(index) => (repo.objects.tree_of(at)?, index.workers),
            // It is never rewritten.
            Read::Unknown(why) => return Err(Failure::fault(format!("reading {INDEX} of {name}"), why)),
        },
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
        snapshot: one.wip,
        at,
        fold: before.map_or(1, |b| b.fold + 1),
    };
    match before {
        Some(b) if (b.record, b.tip, b.snapshot) == (now.record, now.tip, now.snapshot) => b.clone(),
        _ => now,
    }
}

/// One commit with every tip and snapshot as a parent that neither a record nor such a commit keeps already.
fn keep(
    repo: &Repo,
    view: &View,
    clone: &str,
    month: &str,
    at: i64,
    closing: &[Closing<'_>],
) -> Result<Option<Edit>> {
    let mut known: HashSet<Oid> = HashSet::new();
    let mut open: Vec<Oid> = view.kept.values().copied().collect();
    while let Some(oid) = open.pop() {
        let commit = repo.objects.commit(oid)?;
        // Only the first of its parents can be another one of these.
        let before = commit.parents.first().copied();
        known.extend(commit.parents);
        if let Some(before) = before
            && repo.objects.commit(before)?.subject().starts_with(KEPT.as_bytes())
        {
            open.push(before);
        }
    }
    let mut keeps = Vec::new();
    for one in closing {
        let by_record = one.tip == one.worker.record.base || delta_tip(repo, one.worker) == Some(one.tip);
        let own = Some(one.tip).filter(|_| !by_record).into_iter().chain(one.wip);
        keeps.extend(own.filter(|oid| known.insert(*oid)));
    }
    if keeps.is_empty() {
        return Ok(None);
    }
    let old = view.kept.get(&format!("{clone}-{month}")).copied();
    let parents = old.into_iter().chain(keeps).collect();
    let new = record_commit(repo, repo.objects.write_empty_tree()?, parents, at, KEPT)?;
    Ok(Some(Edit { name: names::kept(clone, month)?, old, new: Some(new) }))
}

fn delta_tip(repo: &Repo, worker: &Worker) -> Option<Oid> {
    worker.delta(repo).ok().flatten().map(|delta| delta.tip)
}

/// The entries of the archive at commit `at`.
fn index(repo: &Repo, at: Oid) -> Result<Read<FoldedIndex>> {
    read(repo, repo.objects.tree_of(at)?, INDEX)
}

/// Whether there is an archive at commit `at`, be it of another version.
pub(super) fn is_readable(repo: &Repo, at: Oid) -> bool {
    index(repo, at).is_ok()
}

/// The entries of all archives, each with the clone and month of its own.
pub(super) fn entries(repo: &Repo, view: &View) -> Result<Vec<(String, Folded)>> {
    let mut found = Vec::new();
    for (name, at) in &view.archives {
        // Of another version: somebody else's, and passed over.
        let Read::Known(index) = index(repo, *at)? else { continue };
        found.extend(index.workers.into_iter().map(|entry| (name.clone(), entry)));
    }
    Ok(found)
}

/// Of each worker in any archive the entry that was made last.
fn newest(repo: &Repo, view: &View) -> Result<BTreeMap<WorkerId, Folded>> {
    let mut found: BTreeMap<WorkerId, Folded> = BTreeMap::new();
    for (_, entry) in entries(repo, view)? {
        match found.get(&entry.worker) {
            Some(other) if other.fold >= entry.fold => {}
            _ => drop(found.insert(entry.worker, entry)),
        }
    }
    Ok(found)
}

impl View {
    /// Every closed worker, by birth.
    pub fn archived(&self, repo: &Repo) -> Result<Vec<Worker>> {
        self.closed(repo)?.iter().map(|entry| self.unfold(repo, entry)).collect()
    }

    /// When each closed worker was closed.
    pub fn closing_times(&self, repo: &Repo) -> Result<BTreeMap<WorkerId, i64>> {
        Ok(self.closed(repo)?.into_iter().map(|entry| (entry.worker, entry.at)).collect())
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

    /// The open worker that `name` means. A part of a name means nobody where a closed worker has that name: who speaks
    /// of `fix` does not mean `fix-2` as soon as `fix` is closed.
    pub fn meant(&self, repo: &Repo, name: &str) -> Result<&Worker> {
        let worker = self.worker(name)?;
        let whole = |id: WorkerId, handle: &Handle| handle.as_str() == name || id.to_string() == name;
        if !whole(worker.id, &worker.record.handle)
            && self.closed(repo)?.iter().any(|closed| whole(closed.worker, &closed.handle))
        {
            return Err(self.no_such_worker(name));
        }
        Ok(worker)
    }

    /// The worker that `name` means: an open one, else a closed one.
    pub fn any_worker(&self, repo: &Repo, name: &str) -> Result<Worker> {
        match self.meant(repo, name) {
            Ok(worker) => Ok(worker.clone()),
            Err(none) => match none.token() {
                Some(Token::NoSuchWorker) => self.archived_worker(repo, name)?.ok_or(none),
                _ => Err(none),
            },
        }
    }

    /// The open worker that `name` means. One that is closed is a refusal of its own.
    pub fn open_worker(&self, repo: &Repo, name: &str) -> Result<&Worker> {
        self.meant(repo, name).map_err(|none| self.or_archived(repo, name, none))
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
        // The snapshots of another clone never come here.
        let wip = entry.snapshot.filter(|oid| repo.objects.exists(*oid));
        let (id, at) = (entry.worker, entry.record);
        Ok(Worker { id, record, at, tree, head: Some(entry.tip), wip, taken_in: None, is_away: false })
    }

    /// Of each open worker that an archive has with this very record: tip and newest snapshot, as they were
    /// when it was being closed.
    pub fn half_closed(&self, repo: &Repo) -> Result<BTreeMap<WorkerId, (Oid, Option<Oid>)>> {
        let newest = newest(repo, self)?;
        let same = |w: &&Worker| newest.get(&w.id).is_some_and(|f| f.record == w.at);
        let open = self.workers.iter().filter(same);
        Ok(open.filter_map(|w| newest.get(&w.id).map(|f| (w.id, (f.tip, f.snapshot)))).collect())
    }
}
