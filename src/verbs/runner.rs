//! `runner`: takes briefs from the queue of a remote, runs each as a worker of this clone, and brings its result there.
//! What it does next follows from what the remote has and what the records here say, so it may die at any moment: the
//! next runner here goes on, and one elsewhere takes over what is not renewed.

mod result;
mod take;

use crate::domain::Allowed;
use crate::domain::BriefId;
use crate::domain::Failure;
use crate::domain::Handle;
use crate::domain::Outcome;
use crate::domain::RemoteName;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::domain::span;
use crate::plumbing::Hooks;
use crate::plumbing::Send;
use crate::state::Queue;
use crate::state::View;
use crate::state::Worker;
use crate::verbs::init;
use crate::verbs::lease::Leases;
use crate::verbs::lease::Sightings;
use crate::verbs::queue;
use crate::verbs::session::Session;
use crate::verbs::sync;
use serde::Serialize;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::time::Duration;
use std::time::Instant;

/// Where nothing is configured: how long a lease holds, and how often the remote is asked.
const LEASE: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_secs(10);

/// An idle runner asks less and less often, at most this many times less.
const SLOWEST: u32 = 6;

/// How often a result is given to a remote that does not take it, before the runner ends for that.
const GIVEN: u32 = 3;

#[derive(Debug, Clone, Default)]
pub struct Request {
    pub remote: Option<String>,
    /// Takes what is there, waits for it, and ends.
    pub once: bool,
    /// Workers at a time.
    pub jobs: usize,
    /// Only briefs with this label; without it only those without any.
    pub label: Option<String>,
}

/// What it did until it ended.
#[derive(Debug, Default, Serialize)]
pub struct Ran {
    pub remote: String,
    pub results: Vec<Delivered>,
    /// Left in the queue, and why.
    pub left: Vec<Left>,
}

/// A result that the remote was seen to have.
#[derive(Debug, Serialize)]
pub struct Delivered {
    pub brief: BriefId,
    pub worker: WorkerId,
    pub handle: Handle,
    pub outcome: Outcome,
    /// Another runner had taken the brief meanwhile, or brought a result of it.
    pub late: bool,
}

#[derive(Debug, Serialize)]
pub struct Left {
    pub brief: BriefId,
    pub why: String,
}

pub fn run(session: &mut Session<'_>, request: &Request) -> Result<Ran> {
    session.refuse_in_worker("runner")?;
    let remote = sync::remote(session, request.remote.as_deref())?;
    init::ensure(session)?;
    let _only = session.lock_running()?;
    let setting = |key: &str, otherwise: Duration| match session.config.get(key) {
        Some(text) => span(text).map_err(|why| Failure::fault(format!("reading {key}"), why)),
        None => Ok(otherwise),
    };
    let (lease, poll) = (setting("skein.runnerlease", LEASE)?, setting("skein.runnerpoll", POLL)?);
    let allowed = Allowed {
        agents: session.config.all("skein.runneragent").map(ToOwned::to_owned).collect(),
        checks: session.config.all("skein.runnercheck").map(ToOwned::to_owned).collect(),
    };
    if allowed.agents.is_empty() {
        session.tell("no agent of others may run here: git config --add skein.runnerAgent <name or command>");
    }
    if !request.once {
        session.tell(format!("waiting for briefs on {remote}; Ctrl-C ends the runner, its workers go on, and the next runner here brings their results"));
    }
    let clone = session.clone_id().unwrap_or_default().to_owned();
    let mut runner = Runner {
        remote: &remote,
        clone: &clone,
        seconds: lease.as_secs().max(1),
        allowed,
        request,
        queue: Queue::default(),
        sightings: Sightings::default(),
        renewed: BTreeMap::new(),
        skipped: BTreeSet::new(),
        refused: BTreeMap::new(),
        ran: Ran { remote: remote.to_string(), ..Ran::default() },
        session,
    };
    runner.go(poll.max(Duration::from_millis(100)))?;
    Ok(runner.ran)
}

struct Runner<'r, 's, 'e> {
    session: &'s mut Session<'e>,
    remote: &'r RemoteName,
    clone: &'r str,
    seconds: u64,
    allowed: Allowed,
    request: &'r Request,
    /// As it was fetched last.
    queue: Queue,
    sightings: Sightings,
    /// When this process pushed each lease last.
    renewed: BTreeMap<BriefId, Instant>,
    /// Briefs that this process does not try again.
    skipped: BTreeSet<BriefId>,
    /// How often the remote did not take a result.
    refused: BTreeMap<WorkerId, u32>,
    ran: Ran,
}

/// How a look at everything ended.
struct Round {
    running: Vec<WorkerId>,
    /// Something was done.
    busy: bool,
    /// Somebody else holds a brief, or its result is not there yet.
    open: bool,
}

impl Runner<'_, '_, '_> {
    fn go(&mut self, poll: Duration) -> Result<()> {
        let mut idle = 0;
        loop {
            let running = match self.round() {
                Ok(round) if self.request.once && round.running.is_empty() && !round.open => return Ok(()),
                Ok(round) => {
                    let still = !round.busy && round.running.is_empty();
                    idle = if still { (idle + 1).min(SLOWEST) } else { 0 };
                    round.running
                }
                // Once more, and later: what runs goes on, and a result stays here until it is taken.
                Err(Failure::Refusal(away))
                    if away.token == Token::RemoteUnreachable && !(self.request.once && idle >= GIVEN) =>
                {
                    self.session.tell_once(format!("{} is away; trying again", self.remote));
                    idle += 1;
                    self.active(&self.session.view()?).map(|w| w.id).collect()
                }
                Err(failure) => return Err(failure),
            };
            let pause = if self.request.once { poll } else { poll * idle.clamp(1, SLOWEST) };
            self.pause(&running, pause.min(Duration::from_millis(self.seconds * 1000 / 6)));
        }
    }

    /// Until one of them has ended, or it is time to look at the remote again.
    fn pause(&self, running: &[WorkerId], most: Duration) {
        if running.is_empty() {
            return std::thread::sleep(most);
        }
        let live = |id: &WorkerId| crate::host::is_held(&self.session.local.alive(*id)).unwrap_or(false);
        let before = running.iter().filter(|id| live(id)).count();
        crate::host::wait_until(most, || running.iter().filter(|id| live(id)).count() < before);
    }

    fn round(&mut self) -> Result<Round> {
        let view = init::ensure(self.session)?;
        let results: Vec<Worker> = self.own(&view).filter(|w| self.has_result(w)).cloned().collect();
        self.fetch(&results.iter().map(|w| w.id).collect::<Vec<_>>())?;
        let active: Vec<Worker> = self.active(&view).cloned().collect();
        let mut busy = self.renew(&active)?;
        let mut open = false;
        for worker in results {
            let done = self.deliver(&worker)?;
            busy |= done;
            open |= !done;
        }
        self.tidy(&view)?;
        self.finish_abandoned(&view)?;
        let waits = self.take(active.len())?;
        let view = self.session.view()?;
        let running: Vec<WorkerId> = self.active(&view).map(|w| w.id).collect();
        // A run may be over before one looks.
        open |= self.own(&view).any(|w| self.has_result(w));
        busy |= running.len() > active.len();
        Ok(Round { running, busy, open: open || waits })
    }

    /// The workers of this clone that were briefs.
    fn own<'v>(&self, view: &'v View) -> impl Iterator<Item = &'v Worker> {
        let clone = self.clone.to_owned();
        view.workers.iter().filter(move |w| w.record.brief.is_some() && w.record.clone == clone)
    }

    fn active<'v>(&self, view: &'v View) -> impl Iterator<Item = &'v Worker> {
        self.own(view).filter(|w| w.record.outcome == Outcome::Active)
    }

    fn has_result(&self, worker: &Worker) -> bool {
        worker.record.outcome != Outcome::Active && !self.session.local.delivered(worker.id).exists()
    }

    fn fetch(&mut self, workers: &[WorkerId]) -> Result<()> {
        self.queue = Queue::fetch(&self.session.repo, self.remote, workers)?;
        self.sightings.look(&self.queue);
        Ok(())
    }

    fn leases(&self) -> Leases<'_> {
        Leases { remote: self.remote, clone: self.clone, seconds: self.seconds }
    }

    fn holds(&self, brief: BriefId) -> bool {
        self.leases().is_ours(&self.queue, &queue::lease(brief))
    }

    /// Renews the leases of what runs, each after a third of its time, and says which are lost.
    fn renew(&mut self, active: &[Worker]) -> Result<bool> {
        let mut sends: Vec<(BriefId, Send)> = Vec::new();
        for worker in active {
            let Some(brief) = worker.record.brief else { continue };
            let fresh = self.renewed.get(&brief).is_some_and(|at| at.elapsed().as_secs() * 3 < self.seconds);
            let name = queue::lease(brief);
            let taken = self.queue.leases.contains_key(&name) && !self.holds(brief);
            if taken {
                self.lost(worker, brief);
            } else if !fresh && self.queue.briefs.contains_key(&brief) {
                sends.push((brief, self.leases().claim(self.session, &self.queue, &name)?));
            }
        }
        if sends.is_empty() {
            return Ok(false);
        }
        let all: Vec<Send> = sends.iter().map(|(_, send)| send.clone()).collect();
        // The time counts from before: whoever sees it later waits longer.
        let now = Instant::now();
        self.session.repo.push(self.remote, &all, Hooks::None)?;
        crate::fault::point("runner: leases renewed");
        self.fetch(&[])?;
        for (brief, send) in sends {
            let there = self.queue.leases.get(&queue::lease(brief)).map(|there| there.at);
            if there == send.new {
                self.renewed.insert(brief, now);
            } else if there.is_some()
                && let Some(worker) = active.iter().find(|w| w.record.brief == Some(brief))
            {
                self.lost(worker, brief);
            }
        }
        Ok(true)
    }

    fn lost(&self, worker: &Worker, brief: BriefId) {
        let holder = self.leases().holder(&self.queue, &queue::lease(brief)).unwrap_or("another").to_owned();
        self.session.tell_once(format!(
            "lost the lease of brief {brief}: clone {holder} has taken it over; {} goes on, and its result is a second one",
            worker.record.handle
        ));
    }

    fn leave(&mut self, brief: BriefId, why: String) {
        if self.skipped.insert(brief) {
            self.session.tell(format!("left brief {brief}: {why}"));
            self.ran.left.push(Left { brief, why });
        }
    }
}
