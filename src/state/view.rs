//! A read-only picture of all our state, taken by one listing of the refs. It never decides.

use crate::domain::BundleId;
use crate::domain::Failure;
use crate::domain::Flag;
use crate::domain::Handle;
use crate::domain::Kind as WorkerKind;
use crate::domain::Oid;
use crate::domain::OpId;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::plumbing::Kind;
use crate::plumbing::Ref;
use crate::plumbing::Repo;
use crate::state::names;
use crate::state::names::Ours;
use crate::state::record::CandidateRecord;
use crate::state::record::DeltaRecord;
use crate::state::record::Read;
use crate::state::record::WorkerRecord;
use crate::state::record::decode;
use bstr::ByteSlice;
use std::collections::BTreeMap;

/// A worker whose record this version can read.
#[derive(Debug, Clone)]
pub struct Worker {
    pub id: WorkerId,
    pub record: WorkerRecord,
    /// The record commit that says so, and its tree.
    pub at: Oid,
    pub tree: Oid,
    pub head: Option<Oid>,
    pub wip: Option<Oid>,
    /// What its working tree was taken in as, where only that came from the clone that it ran in.
    pub taken_in: Option<Oid>,
    /// Its newest commits are in the clone that it ran in, and not here.
    pub is_away: bool,
}

/// The picture. Refs that moved since are not seen: load again.
#[derive(Debug, Default)]
pub struct View {
    pub initialised: bool,
    /// By birth, oldest first.
    pub workers: Vec<Worker>,
    /// Records of an unknown version, with the reason.
    pub unreadable: Vec<(WorkerId, String)>,
    pub lanes: BTreeMap<String, Oid>,
    /// Archives of closed workers, by clone and month.
    pub archives: BTreeMap<String, Oid>,
    /// What is kept of closed workers beside their archives, by the same.
    pub kept: BTreeMap<String, Oid>,
    /// What was saved of workers, or came in as files.
    pub bundles: BTreeMap<BundleId, Oid>,
    pub candidates: BTreeMap<OpId, Oid>,
    /// Which file of commits in the cache is ours.
    pub commits: Option<Oid>,
    /// Local branches.
    pub branches: BTreeMap<RefName, Oid>,
    /// Where `origin/HEAD` points, as a local branch name.
    pub origin_head: Option<RefName>,
}

/// The lanes that are here, and nothing else: a server has what was pushed to it.
pub fn lanes(repo: &Repo) -> Result<BTreeMap<String, Oid>> {
    let refs = repo.refs(&[names::LANES])?;
    Ok(refs.into_iter().filter_map(|r| Some((names::lane_of(&r.name)?, r.oid))).collect())
}

impl View {
    pub fn load(repo: &Repo) -> Result<View> {
        repo.objects.remembering(|| View::read(repo))
    }

    fn read(repo: &Repo) -> Result<View> {
        let prefixes = [names::SHARED, names::LOCAL, names::NOTES, "refs/heads", "refs/remotes/origin/HEAD"];
        let refs = repo.refs(&prefixes)?;
        let mut view = View::default();
        let (mut records, mut heads, mut wips) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        for r in refs {
            if r.name.as_str().starts_with("refs/heads/") {
                view.branches.insert(r.name, r.oid);
                continue;
            }
            if r.name.as_str().starts_with("refs/remotes/") {
                let target =
                    r.points_at.as_ref().and_then(|t| t.as_str().strip_prefix("refs/remotes/origin/"));
                view.origin_head = target.and_then(|t| RefName::branch(t).ok());
                continue;
            }
            match names::parse(&r.name).filter(|_| r.points_at.is_none()) {
                Some(Ours::Format) => view.initialised = true,
                Some(Ours::Worker(id)) => records.push((id, r.oid)),
                Some(Ours::Lane(clone)) => drop(view.lanes.insert(clone, r.oid)),
                Some(Ours::Bundle(id)) => drop(view.bundles.insert(id, r.oid)),
                Some(Ours::Head(id)) => drop(heads.insert(id, r.oid)),
                Some(Ours::Wip(id)) => drop(wips.insert(id, r.oid)),
                Some(Ours::Archive(of)) => drop(view.archives.insert(of, r.oid)),
                Some(Ours::Kept(of)) => drop(view.kept.insert(of, r.oid)),
                Some(Ours::Candidate(op)) => drop(view.candidates.insert(op, r.oid)),
                Some(Ours::Commits) => view.commits = Some(r.oid),
                Some(Ours::Document(_) | Ours::Seen(_) | Ours::Queued(_) | Ours::Lease(_)) => {}
                Some(Ours::LandedNotes | Ours::Reserved) => {}
                None => return Err(squatted(&r)),
            }
        }
        let any = !records.is_empty()
            || !view.lanes.is_empty()
            || !view.archives.is_empty()
            || !view.bundles.is_empty();
        if !view.initialised && any {
            return Err(sentinel_lost());
        }
        for (id, at) in records {
            let tree = match repo.objects.tree_of(at) {
                Ok(tree) => tree,
                Err(_) if !matches!(repo.objects.try_read(at)?, None | Some((Kind::Commit, _))) => {
                    return Err(squatted(&Ref { name: names::worker(id)?, oid: at, points_at: None }));
                }
                Err(unreadable) => return Err(unreadable),
            };
            match read(repo, tree, "record.json")? {
                Read::Known(record) => {
                    let (head, wip) = (heads.get(&id).copied(), wips.get(&id).copied());
                    let worker = Worker { id, record, at, tree, head, wip, taken_in: None, is_away: false };
                    view.workers.push(worker.came_from_afar(repo)?);
                }
                Read::Unknown(why) => view.unreadable.push((id, why)),
            }
        }
        Ok(view)
    }

    /// The open worker that `name` means: its handle, its ULID, or a prefix of either that fits only one.
    pub fn worker(&self, name: &str) -> Result<&Worker> {
        match named(&self.workers, name, |w| (w.id, &w.record.handle)).as_slice() {
            [one] => Ok(one),
            [] => Err(self.no_such_worker(name)),
            many => Err(ambiguous(
                name,
                many.iter().map(|w| format!("{} {}", w.id, w.record.handle)),
                "git for-each-ref refs/skein/worker",
            )),
        }
    }

    pub(super) fn no_such_worker(&self, name: &str) -> Failure {
        let lower = name.to_ascii_lowercase();
        if let Some((id, why)) = self.unreadable.iter().find(|(id, _)| id.to_string().starts_with(&lower)) {
            return Refusal::new(
                Token::UnknownRecord,
                format!("the record of worker {id} cannot be read: {why}"),
            )
            .show(format!("git show refs/skein/worker/{id}:record.json"))
            .next("use the version of git-skein that wrote it; this one leaves it as it is")
            .into();
        }
        Refusal::new(Token::NoSuchWorker, format!("no worker is called {name:?}"))
            .lines(self.workers.iter().map(|w| w.record.handle.to_string()))
            .show("git for-each-ref refs/skein/worker")
            .next("git skein status lists the workers")
            .into()
    }

    pub fn handle_taken(&self, handle: &Handle) -> bool {
        self.workers.iter().any(|w| w.record.handle == *handle)
    }

    /// What a person calls the worker: its handle, or its id where another one has the same handle.
    pub fn name_of(&self, worker: &Worker) -> String {
        let mut same = self.workers.iter().filter(|w| w.record.handle == worker.record.handle);
        if same.nth(1).is_some() { worker.id.to_string() } else { worker.record.handle.to_string() }
    }

    /// The candidates with their records and the refs that hold them, oldest first.
    pub fn candidate_records(&self, repo: &Repo) -> Result<Vec<(Oid, CandidateRecord)>> {
        let mut found = Vec::new();
        for at in self.candidates.values() {
            if let Read::Known(record) = read(repo, repo.objects.tree_of(*at)?, "record.json")? {
                found.push((*at, record));
            }
        }
        Ok(found)
    }
}

impl Worker {
    pub fn ref_name(&self) -> Result<RefName> {
        names::worker(self.id)
    }

    /// Its `HEAD` as far as it is kept, or what its working tree was taken in as where it did not run; its base
    /// before it was ever seen to move.
    pub fn tip(&self) -> Oid {
        let recorded = self.record.tip.filter(|_| !self.is_away);
        self.head.or(self.taken_in).or(recorded).unwrap_or(self.record.base)
    }

    /// The same with what there is of it where another clone's record is all that came.
    fn came_from_afar(mut self, repo: &Repo) -> Result<Worker> {
        let Some(tip) = self.record.tip.filter(|_| self.head.is_none() && self.wip.is_none()) else {
            return Ok(self);
        };
        self.taken_in = self.working_tree(repo)?;
        self.is_away = self.taken_in.is_none() && tip != self.record.base && !repo.objects.exists(tip);
        Ok(self)
    }

    /// The newest delta, if that was made of its working tree after its end.
    fn working_tree(&self, repo: &Repo) -> Result<Option<Oid>> {
        if !self.record.flags.contains(&Flag::Uncommitted) || self.record.frozen.is_none() {
            return Ok(None);
        }
        let delta = self.delta(repo)?;
        Ok(delta.filter(|d| d.uncommitted && Some(d.created) == self.record.ended).map(|d| d.tip))
    }

    /// Its ref, for a command that a person can type.
    pub fn ref_text(&self) -> String {
        self.ref_name().map_or_else(|_| self.id.to_string(), String::from)
    }

    /// Where the tip of its work is, for a command that a person can type.
    pub fn tip_text(&self) -> String {
        match (self.head, names::head(self.id)) {
            (Some(_), Ok(name)) => name.into(),
            _ => self.tip().to_string(),
        }
    }

    pub fn brief(&self, repo: &Repo) -> Result<String> {
        match repo.objects.entry_at(self.tree, "brief.md".into())? {
            Some((_, blob)) => Ok(repo.objects.blob(blob)?.to_str_lossy().into_owned()),
            None => Ok(String::new()),
        }
    }

    /// Its kind as it was when it was dispatched, if it has one.
    pub fn kind(&self, repo: &Repo) -> Result<Option<WorkerKind>> {
        let Some(ties) = &self.record.kind else { return Ok(None) };
        let text = self.file(repo, names::KIND)?.unwrap_or_default();
        let text = text.to_str_lossy();
        // What was masked may be no front matter any more; the record has what binds the worker.
        Ok(Some(WorkerKind::parse(&ties.name, &text).unwrap_or_else(|_| ties.with_body(&text))))
    }

    /// The events of its runs that have ended, a JSON object a line.
    pub fn events(&self, repo: &Repo) -> Result<Vec<u8>> {
        Ok(self.file(repo, names::EVENTS)?.unwrap_or_default())
    }

    /// A file of its record's tree, if it is there.
    pub fn file(&self, repo: &Repo, path: &str) -> Result<Option<Vec<u8>>> {
        let found = repo.objects.entry_at(self.tree, path.into())?;
        found.map(|(_, blob)| repo.objects.blob(blob)).transpose()
    }

    /// The delta frozen last, if any.
    pub fn delta(&self, repo: &Repo) -> Result<Option<DeltaRecord>> {
        if self.record.deltas == 0 {
            return Ok(None);
        }
        let path = names::delta(self.record.deltas);
        match read(repo, self.tree, &path)? {
            Read::Known(delta) => Ok(Some(delta)),
            Read::Unknown(why) => Err(Failure::fault(format!("reading {path} of worker {}", self.id), why)),
        }
    }
}

/// What of `all` the name fits: one by its whole handle or ULID, else all that it begins.
pub(super) fn named<'a, T>(all: &'a [T], name: &str, key: impl Fn(&T) -> (WorkerId, &Handle)) -> Vec<&'a T> {
    let lower = name.to_ascii_lowercase();
    let fits = |test: &dyn Fn(&str, &str) -> bool| -> Vec<&'a T> {
        let one = |t: &&T| {
            let (id, handle) = key(t);
            test(handle.as_str(), name) || test(&id.to_string(), &lower)
        };
        all.iter().filter(one).filter(|_| !name.is_empty()).collect()
    };
    let exact = fits(&|whole, name| whole == name);
    if exact.is_empty() { fits(&|whole, name| whole.starts_with(name)) } else { exact }
}

pub(super) fn ambiguous(name: &str, fit: impl Iterator<Item = String>, show: &str) -> Failure {
    let lines: Vec<String> = fit.collect();
    Refusal::new(Token::AmbiguousWorker, format!("{name:?} fits {} workers", lines.len()))
        .lines(lines)
        .show(show)
        .next("give more of the handle or of the ULID")
        .into()
}

/// The record at `path` of a record tree.
pub fn read<T: serde::de::DeserializeOwned>(repo: &Repo, tree: Oid, path: &str) -> Result<Read<T>> {
    match repo.objects.entry_at(tree, path.into())? {
        Some((_, blob)) => Ok(decode(&repo.objects.blob(blob)?)),
        None => Ok(Read::Unknown(format!("{path} is missing"))),
    }
}

fn squatted(r: &Ref) -> Failure {
    let what = if r.points_at.is_some() { "a symbolic ref" } else { "a ref that is not ours" };
    Refusal::new(Token::RefsSquatted, format!("{} is {what}", r.name))
        .oid("it points at", r.oid)
        .show(format!("git for-each-ref {} {} {}", names::SHARED, names::LOCAL, names::NOTES))
        .next(format!("look at it, then delete it: git update-ref --no-deref -d {}", r.name))
        .into()
}

fn sentinel_lost() -> Failure {
    Refusal::new(
        Token::StateCorrupt,
        "there are workers or lanes but no refs/skein/format/1: refs of this repository were lost",
    )
    .show("git for-each-ref refs/skein && git fsck")
    .next("restore the refs from a backup or another clone before going on; nothing is deleted meanwhile")
    .into()
}
