//! Worker chains and frozen deltas.

use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Result;
use crate::domain::WorkerId;
use crate::plumbing::Commit;
use crate::plumbing::Repo;
use crate::state::fsck::Audit;
use crate::state::fsck::Code;
use crate::state::names;
use crate::state::record::DeltaRecord;
use crate::state::record::WorkerRecord;
use crate::state::worker::describe;

impl Audit<'_> {
    pub(super) fn worker(&mut self, name: &RefName, id: WorkerId, at: Oid) {
        let chain = self.chain(name, at);
        let complete = chain.first().is_some_and(|(_, _, before)| before.is_none());
        let mut before: Option<WorkerRecord> = None;
        let mut newest = None;
        for (index, (oid, commit, previous)) in chain.iter().enumerate() {
            let record: Option<WorkerRecord> = self.record(name, *oid, commit.tree, "record.json");
            newest.clone_from(&record);
            let Some(record) = record else {
                before = None;
                continue;
            };
            if record.worker != id {
                self.on_commit(Code::RecordDiffers, name, *oid, format!("it is of worker {}", record.worker));
            }
            match (&before, previous) {
                (Some(before), Some(previous)) => {
                    self.transition(name, (*oid, commit), (*previous, before), &record);
                }
                (None, None) if index == 0 && complete => {
                    self.parents(name, *oid, commit, &[record.base]);
                    if record.deltas > 0 || record.ended.is_some() || record.tip.is_some() {
                        let says = "the first record of a worker is its birth, and this is none";
                        self.on_commit(Code::ChainBroken, name, *oid, says);
                    }
                }
                _ => {}
            }
            before = Some(record);
        }
        if let (Some(record), Some((oid, commit, _))) = (&newest, chain.last()) {
            self.brief(name, *oid, commit);
            self.kind(name, *oid, commit, record);
            // No record adds more than one, whatever it says; that it says more is told above.
            let most = u32::try_from(chain.len()).unwrap_or(u32::MAX);
            for n in 1..=record.deltas.min(most) {
                self.delta(name, &chain, record, n);
            }
        }
        self.workers.insert(id, newest);
    }

    fn transition(
        &mut self,
        name: &RefName,
        (at, commit): (Oid, &Commit),
        (previous, before): (Oid, &WorkerRecord),
        record: &WorkerRecord,
    ) {
        let birth = |r: &WorkerRecord| (r.clone.clone(), r.base, r.onto.clone(), r.created, r.handle.clone());
        if birth(before) != birth(record) || before.kind != record.kind {
            let says = "clone, base, branch, handle, kind or birth are not those of the record before";
            self.on_commit(Code::RecordDiffers, name, at, says);
        }
        if record.deltas == before.deltas {
            self.parents(name, at, commit, &[previous]);
        } else if record.deltas == before.deltas + 1 {
            let path = names::delta(record.deltas);
            let tip = self.read(name, |repo| tip_of(repo, commit.tree, &path)).flatten();
            let Some(tip) = tip else { return };
            if commit.parents.contains(&tip) {
                self.parents(name, at, commit, &[previous, tip]);
            } else {
                let says = format!("the tip of delta {}, {}, is not its parent", record.deltas, tip.short());
                self.on_commit(Code::DeltaUnkept, name, at, says);
            }
        } else {
            let says = format!("deltas went from {} to {}", before.deltas, record.deltas);
            self.on_commit(Code::RecordDiffers, name, at, says);
        }
    }

    fn brief(&mut self, name: &RefName, at: Oid, commit: &Commit) {
        let tree = commit.tree;
        if self.read(name, |repo| repo.objects.entry_at(tree, "brief.md".into())) == Some(None) {
            self.on_commit(Code::FileMissing, name, at, "brief.md is missing");
        }
    }

    /// The text of its kind is the one that its record names, and its plans are those that a verdict was on.
    fn kind(&mut self, name: &RefName, at: Oid, commit: &Commit, record: &WorkerRecord) {
        let tree = commit.tree;
        if let Some(kind) = &record.kind {
            match self.read(name, |repo| repo.objects.entry_at(tree, names::KIND.into())) {
                Some(None) => self.on_commit(Code::FileMissing, name, at, "kind.md is missing"),
                Some(Some((_, oid))) if oid != kind.oid => {
                    self.on_commit(Code::RecordDiffers, name, at, "kind.md is not what the record names");
                }
                _ => {}
            }
        }
        for plan in record.plans.iter().filter(|plan| !plan.is_genuine()) {
            let says = format!("plan {} is not what its id was made of", plan.n);
            self.on_commit(Code::RecordDiffers, name, at, says);
        }
    }

    /// Delta `n` as the newest record holds it: the same in all records since, and true.
    fn delta(&mut self, name: &RefName, chain: &[(Oid, Commit, Option<Oid>)], worker: &WorkerRecord, n: u32) {
        let path = names::delta(n);
        let Some((at, newest, _)) = chain.last() else { return };
        let found = |tree: Oid, repo: &Repo| repo.objects.entry_at(tree, path.as_str().into());
        let Some(blob) = self.read(name, |repo| found(newest.tree, repo)) else { return };
        if blob.is_none() {
            self.on_commit(Code::DeltaMissing, name, *at, format!("{path} is missing"));
            return;
        }
        let mut frozen = false;
        for (oid, commit, _) in chain {
            let then = self.read(name, |repo| found(commit.tree, repo)).flatten();
            frozen |= then.is_some();
            if frozen && then != blob {
                let says = format!("{path} is not what a later record holds");
                self.on_commit(Code::DeltaAltered, name, *oid, says);
            }
        }
        let Some(delta) = self.record::<DeltaRecord>(name, *at, newest.tree, &path) else { return };
        if (delta.worker, delta.n, delta.base) != (worker.worker, n, worker.base) {
            self.on_commit(Code::DeltaDiffers, name, *at, format!("{path} is not of this worker and base"));
            return;
        }
        let differs = self.read(name, |repo| differs(repo, worker, &delta));
        if let Some(Some(what)) = differs {
            self.on_commit(Code::DeltaDiffers, name, *at, format!("{path}: {what}"));
        }
    }
}

/// The tip that the delta at `path` names, whatever else is wrong with it.
fn tip_of(repo: &Repo, tree: Oid, path: &str) -> Result<Option<Oid>> {
    let Some((_, blob)) = repo.objects.entry_at(tree, path.into())? else { return Ok(None) };
    let value: serde_json::Value = serde_json::from_slice(&repo.objects.blob(blob)?).unwrap_or_default();
    Ok(value.get("tip").and_then(serde_json::Value::as_str).and_then(|tip| tip.parse().ok()))
}

/// What is not as computing the delta again gives it.
fn differs(repo: &Repo, worker: &WorkerRecord, delta: &DeltaRecord) -> Result<Option<&'static str>> {
    let objects = &repo.objects;
    if !objects.is_ancestor(delta.base, delta.tip)? {
        return Ok(Some("its base is not an ancestor of its tip"));
    }
    // All that it brought is there.
    objects.brought(delta.base, delta.tip)?;
    let changes = objects.diff_trees(objects.tree_of(delta.base)?, objects.tree_of(delta.tip)?)?;
    let again = describe(repo, worker, delta.tip, delta.uncommitted, &changes)?;
    Ok(match () {
        () if again.tree != delta.tree => Some("its tree is not that of its tip"),
        () if again.net != delta.net => Some("its identities are not those of base and tip"),
        () if again.commits != delta.commits => Some("its commits are not those between base and tip"),
        () if again.paths != delta.paths => Some("it changes another number of paths"),
        () => None,
    })
}
