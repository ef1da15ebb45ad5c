//! What this clone keeps for itself: candidates, and the refs that keep workers' commits and snapshots.

use crate::domain::Oid;
use crate::domain::OpId;
use crate::domain::RefName;
use crate::domain::WorkerId;
use crate::plumbing::Edit;
use crate::plumbing::Repo;
use crate::state::fsck::Audit;
use crate::state::fsck::Code;
use crate::state::fsck::lane::landing_differs;
use crate::state::names;
use crate::state::names::Ours;
use crate::state::record::CandidateRecord;
use crate::state::record::WorkerRecord;

impl Audit<'_> {
    pub(super) fn candidate(&mut self, name: &RefName, op: OpId, at: Oid) {
        let Some(commit) = self.read(name, |repo| repo.objects.commit(at)) else { return };
        let record = self.record::<CandidateRecord>(name, at, commit.tree, "record.json");
        let Some(CandidateRecord { op: stated, landing, .. }) = record else { return };
        if stated != op {
            self.on_commit(Code::CandidateDiffers, name, at, format!("it is of operation {stated}"));
        }
        let tip = landing.delta.as_ref().map(|d| d.tip);
        let want: Vec<Oid> = [landing.new].into_iter().chain(tip).collect();
        self.parents(name, at, &commit, &want);
        if let Some(Some(what)) = self.read(name, |repo| landing_differs(repo, &landing, false)) {
            self.on_commit(Code::CandidateDiffers, name, at, what);
        }
    }

    /// Whether what the records name is held by some ref of that worker, and each keep-ref has a worker.
    pub(super) fn kept(&mut self, clone: Option<&str>) {
        for (name, ours, at) in self.refs.clone() {
            if let Ours::Head(id) | Ours::Wip(id) = ours
                && !self.workers.contains_key(&id)
            {
                self.on_commit(Code::KeepRefStray, &name, at, "there is no worker of that id");
            }
        }
        for (id, record) in self.workers.clone() {
            let Some(record) = record.filter(|r| clone == Some(r.clone.as_str())) else { continue };
            let holders = self.holders(id);
            let lost = lost(self.repo, &record, &holders);
            for (what, oid) in lost {
                let name = names::head(id).map_or_else(|_| id.to_string(), String::from);
                let says = format!("no ref of the worker holds its {what} {oid}");
                self.add(Code::KeepRefLacks, name, says, format!("git for-each-ref --contains {oid}"));
            }
        }
    }

    /// The tips of all refs that are about worker `id`.
    fn holders(&self, id: WorkerId) -> Vec<Oid> {
        let id = format!("/{id}");
        self.refs.iter().filter(|(name, _, _)| name.as_str().ends_with(&id)).map(|(_, _, at)| *at).collect()
    }

    /// Whether the worker's `HEAD` has its keep-ref.
    pub fn keeps_head(&self, id: WorkerId) -> bool {
        self.refs.iter().any(|(_, ours, _)| *ours == Ours::Head(id))
    }

    /// The ref move that keeps the recorded tip again, if its object is still there.
    pub fn rebuilt_head(&self, id: WorkerId) -> Option<Edit> {
        let tip = self.workers.get(&id)?.as_ref()?.tip?;
        let there = !self.keeps_head(id) && self.repo.objects.commit(tip).is_ok();
        names::head(id).ok().filter(|_| there).map(|name| Edit::create(name, tip))
    }
}

/// What a record names and none of `holders` reaches.
fn lost(repo: &Repo, record: &WorkerRecord, holders: &[Oid]) -> Vec<(&'static str, Oid)> {
    let held = |oid: Oid| holders.iter().any(|tip| repo.objects.is_ancestor(oid, *tip).unwrap_or(false));
    let named = [("tip", record.tip), ("snapshot", record.snapshot)];
    named.into_iter().filter_map(|(what, oid)| Some((what, oid?))).filter(|(_, oid)| !held(*oid)).collect()
}
