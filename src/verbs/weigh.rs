//! What is known of a worker's work when it is judged: the risk of it, what was run on it, and whose work it meets.

use crate::domain::Change;
use crate::domain::Handle;
use crate::domain::Looked;
use crate::domain::Oid;
use crate::domain::Result;
use crate::domain::Risk;
use crate::domain::WorkerId;
use crate::domain::risk;
use crate::domain::shared;
use crate::state::Ledger;
use crate::state::Ran;
use crate::state::View;
use crate::state::Worker;
use crate::state::ran;
use crate::verbs::session::Session;
use std::collections::BTreeMap;

/// What is looked at once for all workers.
pub struct Weighing {
    /// By tree.
    runs: BTreeMap<Oid, Vec<Ran>>,
    /// What the open workers change whose work has not landed, as far as their commits tell.
    work: Vec<(WorkerId, Handle, Vec<Change>)>,
}

/// The work of one worker, weighed.
#[derive(Debug)]
pub struct Weighed {
    pub risk: Risk,
    /// The records of what was run on its trees.
    pub evidence: Vec<Oid>,
}

impl Weighing {
    pub fn of(session: &Session<'_>, view: &View, ledger: &Ledger) -> Result<Weighing> {
        let objects = &session.repo.objects;
        let mut work = Vec::new();
        for worker in &view.workers {
            let landed = ledger.landing_of(worker.id, worker.record.deltas).is_some();
            let (base, tip) = (worker.record.base, worker.tip());
            if landed || base == tip || !objects.exists(tip) || !objects.exists(base) {
                continue;
            }
            let changes = objects.diff_trees(objects.tree_of(base)?, objects.tree_of(tip)?)?;
            work.push((worker.id, worker.record.handle.clone(), changes));
        }
        let mut runs: BTreeMap<Oid, Vec<Ran>> = BTreeMap::new();
        for run in ran(&session.repo, view)? {
            runs.entry(run.evidence.tree).or_default().push(run);
        }
        Ok(Weighing { runs, work })
    }

    /// `changes` of a worker whose commits end at `tip`.
    pub fn weigh(
        &self,
        session: &Session<'_>,
        worker: &Worker,
        tip: Oid,
        changes: &[Change],
    ) -> Result<Weighed> {
        let (objects, record) = (&session.repo.objects, &worker.record);
        let mut runs = Vec::new();
        for oid in objects.between(record.base, tip)? {
            runs.extend(self.runs.get(&objects.tree_of(oid)?).into_iter().flatten());
        }
        let passed: Vec<String> =
            runs.iter().filter(|r| r.evidence.is_pass(false)).map(|r| r.evidence.command.clone()).collect();
        let others = self.work.iter().filter(|(id, _, _)| *id != worker.id);
        let meets: Vec<String> = others
            .filter(|(_, _, theirs)| !shared(changes, theirs).is_empty())
            .map(|(_, handle, _)| handle.to_string())
            .collect();
        let off_plan = record.off_plan(changes)?;
        let sensitive: Vec<&str> = session.config.all("skein.sensitive").collect();
        let risk = risk(&Looked {
            changes,
            sensitive: &sensitive,
            declared: &record.paths,
            flags: &record.flags,
            checks: &record.checks,
            passed: &passed,
            claims: record.claim.as_ref().is_some_and(|claim| !claim.evidence.is_empty()),
            meets: &meets,
            off_plan: &off_plan,
        })?;
        let mut evidence: Vec<Oid> = runs.iter().map(|run| run.commit).collect();
        evidence.sort_unstable();
        evidence.dedup();
        Ok(Weighed { risk, evidence })
    }
}
