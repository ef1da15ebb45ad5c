//! What has to pass before work moves a branch: the checks of its worker, what the policy asks of everybody, and what is
//! asked for besides.

use crate::domain::POLICY;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::quoted;
use crate::state::Ledger;
use crate::state::View;
use crate::verbs::candidate::Source;
use crate::verbs::land::Resolved;
use crate::verbs::policy;
use crate::verbs::session::Session;
use std::collections::HashSet;

impl Resolved {
    /// All that has to pass before it moves `onto`, as the trunk wants it now: its checks, what the policy asks of
    /// everybody, and what is asked for besides.
    pub fn gates(
        &self,
        session: &Session<'_>,
        view: &View,
        onto: &RefName,
        asked: &[String],
    ) -> Result<Vec<String>> {
        let mut gates = self.checks(session, view, onto)?;
        if !self.collected {
            gates.extend(policy::gates(session, view, onto)?);
        }
        gates.extend(asked.iter().cloned());
        let mut known = HashSet::new();
        gates.retain(|gate| known.insert(gate.clone()));
        Ok(gates)
    }

    /// Refuses a landing whose gate is not any more the one that the trunk asks for.
    pub(super) fn refuse_other_gates(
        &self,
        session: &Session<'_>,
        view: &View,
        onto: &RefName,
        gates: &[String],
    ) -> Result<()> {
        let wanted = if self.collected { Vec::new() } else { policy::gates(session, view, onto)? };
        if wanted.iter().all(|gate| gates.contains(gate)) {
            return Ok(());
        }
        Err(Refusal::new(
            Token::TrunkMoved,
            "the policy of the trunk asks for another gate since a moment ago",
        )
        .show(format!("git log -1 -p {} -- {POLICY}", quoted(onto.short())))
        .next("give the same command again")
        .into())
    }

    /// Goes to a branch that only collects: the checks and the gate are for later, when that lands. On the branch that the
    /// work is meant for, and on the trunk, they hold at once.
    pub fn put_off_checks(&mut self, session: &Session<'_>, view: &View, branch: &RefName) {
        let meant = self.worker_onto.as_ref() == Some(branch);
        if !meant && !session.trunk(view).is_ok_and(|trunk| trunk == *branch) {
            self.checks.clear();
            self.collected = true;
        }
    }

    /// The worker's checks, or those of all workers whose work the branch has collected.
    fn checks(&self, session: &Session<'_>, view: &View, onto: &RefName) -> Result<Vec<String>> {
        let Source::Branch { name, tip } = &self.source else { return Ok(self.checks.clone()) };
        let (repo, objects) = (&session.repo, &session.repo.objects);
        let there = session.branch_tip(view, onto)?;
        let mut checks: Vec<String> = Vec::new();
        let ledger = Ledger::load(repo, view)?;
        for (_, landing, delta) in ledger.deltas().filter(|(_, landing, _)| landing.onto == *name) {
            if !objects.is_ancestor(landing.new, *tip)? || objects.is_ancestor(landing.new, there)? {
                continue;
            }
            match view.any_worker(repo, &delta.worker.to_string()) {
                Ok(worker) => checks.extend(worker.record.checks),
                // Of a worker that is known nowhere any more nobody can say what it asked for.
                Err(none) if none.token() == Some(Token::NoSuchWorker) => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(checks)
    }
}
