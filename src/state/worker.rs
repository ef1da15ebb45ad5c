//! Writing worker records: each transition is one commit on the worker's chain.

use crate::domain::Change;
use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::Result;
use crate::plumbing::Commit;
use crate::plumbing::Edit;
use crate::plumbing::Objects;
use crate::plumbing::Repo;
use crate::state::draft::is_ours;
use crate::state::draft::record_commit;
use crate::state::names;
use crate::state::record::DeltaCommit;
use crate::state::record::DeltaRecord;
use crate::state::record::FrozenWork;
use crate::state::record::Read;
use crate::state::record::VERSION;
use crate::state::record::WorkerRecord;
use crate::state::record::encode;
use crate::state::view::Worker;
use crate::state::view::read;
use bstr::BString;
use bstr::ByteSlice;

/// The first record of a worker, with its brief.
pub fn birth(repo: &Repo, record: &WorkerRecord, brief: &str) -> Result<Edit> {
    let brief = repo.objects.write_blob(brief.as_bytes())?;
    let kind = record.kind.as_ref().map(|kind| (names::KIND.into(), Some((Mode::File, kind.oid))));
    let edits =
        [entry(repo, "record.json", &encode(record)?)?, ("brief.md".into(), Some((Mode::File, brief)))];
    let edits = edits.into_iter().chain(kind);
    let tree = repo.objects.edit_tree(repo.objects.empty_tree(), edits)?;
    // The base is kept from the first moment on, whatever happens to the branch it came from.
    let new = record_commit(repo, tree, vec![record.base], record.created, &subject(record))?;
    Ok(Edit::create(names::worker(record.worker)?, new))
}

/// The first line of a base that holds uncommitted changes; with our name as its author it tells such a base.
const DIRTY_BASE: &str = "base with uncommitted changes";

/// A base made of commit `parent` and what is not committed on it, as `tree`.
pub fn dirty_base(repo: &Repo, tree: Oid, parent: Oid, at: i64) -> Result<Oid> {
    record_commit(repo, tree, vec![parent], at, DIRTY_BASE)
}

/// The commit that `base` was made on, if it holds uncommitted changes.
pub fn committed_base(objects: &Objects, base: Oid) -> Result<Option<Oid>> {
    let commit = objects.commit(base)?;
    let ours = commit.subject() == DIRTY_BASE && is_ours(&commit);
    Ok(commit.parents.first().copied().filter(|_| ours && commit.parents.len() == 1))
}

/// The next record of `worker`, at `at` seconds.
pub fn next(repo: &Repo, worker: &Worker, record: &WorkerRecord, at: i64) -> Result<Edit> {
    end(repo, worker, record, at, &[])
}

/// The record at the end of a run, with what tells of it: files of the record's tree. Empty ones are left out.
pub fn end(
    repo: &Repo,
    worker: &Worker,
    record: &WorkerRecord,
    at: i64,
    files: &[(&str, Vec<u8>)],
) -> Result<Edit> {
    let mut edits = vec![entry(repo, "record.json", &encode(record)?)?];
    for (path, bytes) in files.iter().filter(|(_, bytes)| !bytes.is_empty()) {
        edits.push(entry(repo, path, bytes)?);
    }
    let tree = repo.objects.edit_tree(worker.tree, edits)?;
    let new = record_commit(repo, tree, vec![worker.at], at, &subject(record))?;
    Ok(Edit::update(names::worker(worker.id)?, worker.at, new))
}

/// The records of a worker with their commits, oldest first, from the one at `known` on; all if there is none. One
/// that cannot be read is passed over.
pub fn history(repo: &Repo, worker: &Worker, known: Option<Oid>) -> Result<Vec<(Oid, WorkerRecord)>> {
    let mut found = Vec::new();
    let mut next = Some(worker.at);
    while let Some(oid) = next.filter(|oid| *oid != worker.record.base) {
        let commit = repo.objects.commit(oid)?;
        if let Read::Known(record) = read(repo, commit.tree, "record.json")? {
            found.push((oid, record));
        }
        next = commit.parents.first().copied().filter(|_| Some(oid) != known);
    }
    found.reverse();
    Ok(found)
}

/// The record that adds a frozen delta; the delta's tip becomes a parent, so it lives as long as the record.
pub fn freeze(repo: &Repo, worker: &Worker, delta: &DeltaRecord) -> Result<Edit> {
    let frozen = FrozenWork { tip: delta.tip, commits: delta.commits.len() as u64, paths: delta.paths };
    let record = WorkerRecord { deltas: delta.n, frozen: Some(frozen), ..worker.record.clone() };
    let path = names::delta(delta.n);
    let edits = [entry(repo, "record.json", &encode(&record)?)?, entry(repo, &path, &encode(delta)?)?];
    let tree = repo.objects.edit_tree(worker.tree, edits)?;
    let subject = format!("{}: delta {}", record.handle, delta.n);
    let new = record_commit(repo, tree, vec![worker.at, delta.tip], delta.created, &subject)?;
    Ok(Edit::update(names::worker(worker.id)?, worker.at, new))
}

/// The next delta of a worker: its commits up to `tip`, whose difference to the base is `changes`, with all
/// identities.
pub fn describe(
    repo: &Repo,
    worker: &WorkerRecord,
    tip: Oid,
    uncommitted: bool,
    changes: &[Change],
) -> Result<DeltaRecord> {
    let objects = &repo.objects;
    let mut commits = Vec::new();
    for oid in objects.between(worker.base, tip)? {
        let commit = objects.commit(oid)?;
        commits.push(DeltaCommit {
            oid,
            parents: commit.parents.len() as u32,
            identity: objects.identity(&objects.changes_of(oid)?)?,
            author: name_and_mail(&commit),
            subject: commit.subject().to_str_lossy().into_owned(),
        });
    }
    Ok(DeltaRecord {
        v: VERSION,
        n: worker.deltas + 1,
        worker: worker.worker,
        base: worker.base,
        tip,
        tree: objects.tree_of(tip)?,
        commits,
        net: objects.identity(changes)?,
        paths: changes.len() as u64,
        uncommitted,
        lane: None,
        created: worker.ended.unwrap_or(worker.created),
    })
}

fn name_and_mail(commit: &Commit) -> String {
    let line = commit.author.to_str_lossy();
    line.rfind('>').map_or_else(|| line.to_string(), |end| line[..=end].to_owned())
}

fn entry(repo: &Repo, path: &str, bytes: &[u8]) -> Result<(BString, Option<(Mode, Oid)>)> {
    Ok((path.into(), Some((Mode::File, repo.objects.write_blob(bytes)?))))
}

fn subject(record: &WorkerRecord) -> String {
    format!("{}: {}", record.handle, record.outcome)
}
