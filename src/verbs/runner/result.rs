//! Bringing results: the work is frozen, the worker's record pushed and seen there; only then the brief goes, and after it
//! the lease. In any other order a death in between would lose the result, or have the brief run again for nothing.

use crate::domain::BriefId;
use crate::domain::Failure;
use crate::domain::Outcome;
use crate::domain::Result;
use crate::domain::WorkerId;
use crate::plumbing::Hooks;
use crate::plumbing::Send;
use crate::state::View;
use crate::state::Worker;
use crate::state::format_ref;
use crate::state::queued_ref;
use crate::state::worker_ref;
use crate::verbs::freeze;
use crate::verbs::freeze::Take;
use crate::verbs::queue;
use crate::verbs::runner::Delivered;
use crate::verbs::runner::GIVEN;
use crate::verbs::runner::Runner;

impl Runner<'_, '_, '_> {
    /// Brings the result of a worker whose run is over. False if the remote did not take it yet.
    pub(super) fn deliver(&mut self, worker: &Worker) -> Result<bool> {
        let Some(brief) = worker.record.brief else { return Ok(true) };
        self.freeze(worker)?;
        crate::fault::point("runner: result frozen");
        if let Some(words) = self.give(worker.id)? {
            return self.not_taken(worker, &words);
        }
        crate::fault::point("runner: result pushed");
        let late = !self.holds(brief);
        if !late {
            self.finish(brief)?;
        }
        crate::host::put(&self.session.local.delivered(worker.id), b"")?;
        let record = &worker.record;
        let (handle, outcome) = (record.handle.clone(), record.outcome);
        self.session.tell(match late {
            false => format!("brief {brief}: {handle} is {outcome}, and {} has it", self.remote),
            true => format!(
                "brief {brief}: {handle} is {outcome}; others have taken the brief meanwhile, so this is a second result, and {} has it",
                self.remote
            ),
        });
        self.ran.results.push(Delivered { brief, worker: worker.id, handle, outcome, late });
        Ok(true)
    }

    /// What it committed becomes a delta, so that it is reachable from its record, however it ended.
    fn freeze(&self, worker: &Worker) -> Result<()> {
        if worker.tip() == worker.record.base {
            return Ok(());
        }
        let view = self.session.view()?;
        let take = Take { any_outcome: true, ..Take::default() };
        let worker = view.worker(&worker.id.to_string())?;
        let frozen = freeze::run(self.session, &view, worker, take);
        match frozen.map(|frozen| frozen.pending) {
            Ok(Some(pending)) => freeze::settle(self.session, pending, worker.record.handle.as_str()),
            Ok(None) => Ok(()),
            Err(Failure::Refusal(why)) => {
                let handle = &worker.record.handle;
                self.session.tell(format!("the work of {handle} stays in this clone: {}", why.says));
                Ok(())
            }
            Err(fault) => Err(fault),
        }
    }

    /// Pushes its record; the words of the remote if it was not seen there.
    fn give(&mut self, id: WorkerId) -> Result<Option<String>> {
        let (name, sentinel) = (worker_ref(id)?, format_ref()?);
        let at = self.session.repo.read_refs(&[&name, &sentinel])?;
        let [Some(at), Some(sentinel_at)] = at[..] else { return Ok(None) };
        if self.queue.workers.get(&id) != Some(&at) {
            let sends = [Send::forward(sentinel, sentinel_at), Send::forward(name, at)];
            let words = self.session.repo.push(self.remote, &sends, Hooks::None)?;
            self.fetch(&[id])?;
            if self.queue.workers.get(&id) != Some(&at) {
                return Ok(Some(words.unwrap_or_default()));
            }
        }
        Ok(None)
    }

    fn not_taken(&mut self, worker: &Worker, words: &str) -> Result<bool> {
        let tries = self.refused.entry(worker.id).or_default();
        *tries += 1;
        if *tries < GIVEN {
            return Ok(false);
        }
        // The worker has it all, and so the brief and the lease stay where they are.
        Err(queue::refused(self.remote, &worker_ref(worker.id)?, words))
    }

    /// The brief is done: it goes, and then its lease.
    fn finish(&mut self, brief: BriefId) -> Result<()> {
        if let Some(there) = self.queue.briefs.get(&brief) {
            let gone = Send::delete(queued_ref(brief)?, there.at);
            let words = self.session.repo.push(self.remote, &[gone], Hooks::None)?;
            crate::fault::point("runner: brief gone");
            self.fetch(&[])?;
            if self.queue.briefs.contains_key(&brief) {
                return Err(queue::refused(self.remote, &queued_ref(brief)?, &words.unwrap_or_default()));
            }
        }
        self.leases().release(self.session, &self.queue, &queue::lease(brief))?;
        crate::fault::point("runner: lease gone");
        Ok(())
    }

    /// Briefs with a result from here that somebody else took, and let lie since: they are done.
    pub(super) fn finish_abandoned(&mut self, view: &View) -> Result<()> {
        let over = |w: &&Worker| w.record.outcome != Outcome::Active && !self.has_result(w);
        let done: Vec<BriefId> = self.own(view).filter(over).filter_map(|w| w.record.brief).collect();
        for brief in done {
            let name = queue::lease(brief);
            let free = !self.queue.leases.contains_key(&name) || self.sightings.is_stale(&self.queue, &name);
            if !self.queue.briefs.contains_key(&brief) || !free && !self.holds(brief) {
                continue;
            }
            let send = self.leases().claim(self.session, &self.queue, &name)?;
            self.session.repo.push(self.remote, &[send], Hooks::None)?;
            self.fetch(&[])?;
            if self.holds(brief) {
                self.finish(brief)?;
            }
        }
        Ok(())
    }

    /// Leases that nothing waits for any more: ours at once, those of others when nobody renews them.
    pub(super) fn tidy(&mut self, view: &View) -> Result<()> {
        let mut left = Vec::new();
        for name in self.queue.leases.keys() {
            let Some(brief) = queue::of_lease(name) else { continue };
            let runs = self.own(view).any(|w| {
                w.record.brief == Some(brief) && (w.record.outcome == Outcome::Active || self.has_result(w))
            });
            let waits = self.queue.briefs.contains_key(&brief);
            if !waits && !runs && (self.holds(brief) || self.sightings.is_stale(&self.queue, name)) {
                left.push(name.clone());
            }
        }
        for name in left {
            self.leases().release(self.session, &self.queue, &name)?;
        }
        Ok(())
    }
}
