//! Leases on a remote: what must run once is run by whoever holds the lease of it. One push takes it, with exactly what
//! is expected there; of two, one wins. No clock of another machine is believed: a lease may be taken over by who has
//! itself seen it unchanged for as long as it says. So leases delay, and never free.

use crate::domain::Oid;
use crate::domain::RemoteName;
use crate::domain::Result;
use crate::plumbing::Hooks;
use crate::plumbing::Send;
use crate::state::LeaseRecord;
use crate::state::Queue;
use crate::state::VERSION;
use crate::state::lease_commit;
use crate::state::lease_ref;
use crate::verbs::session::Session;
use std::collections::BTreeMap;
use std::time::Duration;
use std::time::Instant;

/// No lease is waited for longer, whatever it says.
const LONGEST: u64 = 24 * 60 * 60;

/// Since when this process has seen each lease as it is.
#[derive(Debug, Default)]
pub struct Sightings(BTreeMap<String, Sighting>);

#[derive(Debug)]
struct Sighting {
    at: Oid,
    since: Instant,
    /// It was seen to move: somebody holds it.
    moved: bool,
}

impl Sightings {
    /// Takes in what was fetched at this moment.
    pub fn look(&mut self, queue: &Queue) {
        self.0.retain(|name, _| queue.leases.contains_key(name));
        for (name, there) in &queue.leases {
            let seen = self.0.get(name);
            if seen.is_none_or(|seen| seen.at != there.at) {
                let sighting = Sighting { at: there.at, since: Instant::now(), moved: seen.is_some() };
                self.0.insert(name.clone(), sighting);
            }
        }
    }

    /// Whether its holder has let it lie for as long as it says itself. One that cannot be read is left for long.
    pub fn is_stale(&self, queue: &Queue, name: &str) -> bool {
        let Some((seen, there)) = self.0.get(name).zip(queue.leases.get(name)) else { return false };
        let seconds = there.record.as_ref().map_or(LONGEST, |record| record.seconds.min(LONGEST));
        seen.at == there.at && seen.since.elapsed() >= Duration::from_secs(seconds)
    }

    /// Whether somebody was seen to hold it.
    pub fn is_alive(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|seen| seen.moved)
    }
}

/// The leases of this clone on one remote.
pub struct Leases<'s> {
    pub remote: &'s RemoteName,
    pub clone: &'s str,
    pub seconds: u64,
}

impl Leases<'_> {
    /// Whether this clone holds it, as far as was fetched.
    pub fn is_ours(&self, queue: &Queue, name: &str) -> bool {
        self.holder(queue, name).is_some_and(|clone| clone == self.clone)
    }

    pub fn holder<'q>(&self, queue: &'q Queue, name: &str) -> Option<&'q str> {
        queue.leases.get(name)?.record.as_ref().map(|record| record.clone.as_str())
    }

    /// The push that takes it, renews it, or takes it over from whoever left it: it goes on from what is there.
    pub fn claim(&self, session: &Session<'_>, queue: &Queue, name: &str) -> Result<Send> {
        let before = queue.leases.get(name);
        let ours = before.and_then(|b| b.record.as_ref()).filter(|record| record.clone == self.clone);
        let record = LeaseRecord {
            v: VERSION,
            name: name.to_owned(),
            clone: self.clone.to_owned(),
            nonce: ours
                .map_or_else(|| format!("{:020x}", session.clock.distinct()), |record| record.nonce.clone()),
            n: ours.map_or(0, |record| record.n + 1),
            seconds: self.seconds,
        };
        let at = before.map(|before| before.at);
        let new = lease_commit(&session.repo, &record, at, session.clock.now_secs())?;
        Ok(Send { name: lease_ref(name)?, new: Some(new), expected: Some(at.unwrap_or(new.null_like())) })
    }

    /// Gives it back, if it is as it was fetched.
    pub fn release(&self, session: &Session<'_>, queue: &Queue, name: &str) -> Result<()> {
        let Some(there) = queue.leases.get(name) else { return Ok(()) };
        let send = Send::delete(lease_ref(name)?, there.at);
        session.repo.push(self.remote, &[send], Hooks::None).map(drop)
    }
}
