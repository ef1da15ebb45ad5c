//! Verdicts on lanes beside the workers that they are of.

use crate::domain::Oid;
use crate::domain::OpId;
use crate::domain::RefName;
use crate::domain::Result;
use crate::domain::WorkerId;
use crate::plumbing::Repo;
use crate::state::evidence::Verdict;
use crate::state::fsck::Audit;
use crate::state::fsck::Code;
use crate::state::names;
use crate::state::names::Ours;
use crate::state::record::DeltaRecord;
use crate::state::record::Read;
use crate::state::view::read;
use std::collections::BTreeSet;

impl Audit<'_> {
    /// What each verdict judges is what its worker holds, and no worker counts as judged by what is on no lane.
    pub(super) fn verdicts(&mut self) {
        let verdicts = std::mem::take(&mut self.given);
        for (name, at, _, verdict) in &verdicts {
            self.judged(name, *at, verdict);
        }
        let known: BTreeSet<OpId> = verdicts.iter().map(|(_, _, op, _)| *op).collect();
        let mut unheard = Vec::new();
        for record in self.workers.values().flatten().filter(|_| !self.blind) {
            let lane = self.refs.iter().any(|(_, ours, _)| *ours == Ours::Lane(record.clone.clone()));
            let ops = record.judged.iter().map(|judged| judged.op).filter(|op| lane && !known.contains(op));
            unheard.extend(ops.map(|op| (record.worker, op)));
        }
        for (worker, op) in unheard {
            let Ok(name) = names::worker(worker) else { continue };
            let says = format!("it is judged by {op}, which is on no lane");
            self.add(Code::VerdictDiffers, name, says, names::LIST_LANES);
        }
    }

    fn judged(&mut self, name: &RefName, at: Oid, verdict: &Verdict) {
        let Some(n) = verdict.delta else { return };
        let is = |ours: &Ours| *ours == Ours::Worker(verdict.worker);
        // Of one that was closed the archive has the delta.
        let Some(worker) = self.refs.iter().find(|(_, ours, _)| is(ours)).map(|(_, _, at)| *at) else {
            return;
        };
        let found = self.read(name, |repo| delta(repo, worker, n));
        let Some(Read::Known(delta)) = found else { return };
        if (Some(delta.tip), Some(&delta.net.raw)) != (verdict.tip, verdict.raw.as_ref()) {
            let says = format!("it judges another delta {n} than {} has", name_of(verdict.worker));
            self.on_commit(Code::VerdictDiffers, name, at, says);
        }
    }
}

fn name_of(id: WorkerId) -> String {
    names::worker(id).map_or_else(|_| id.to_string(), String::from)
}

fn delta(repo: &Repo, worker: Oid, n: u32) -> Result<Read<DeltaRecord>> {
    read(repo, repo.objects.tree_of(worker)?, &names::delta(n))
}
