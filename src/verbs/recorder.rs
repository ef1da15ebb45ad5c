//! Writes what happens in a run as it happens: what the agent's output says and what the worker says, one event a
//! line. It is for people and for other programs, and never holds up the run.

use crate::domain::Agent;
use crate::domain::Event;
use crate::domain::Result;
use crate::domain::Said;
use crate::domain::WorkerId;
use crate::domain::capped;
use crate::state::Worker;
use crate::verbs::session::Session;
use std::cell::Cell;

/// Bytes of events that are kept here.
const MOST: u64 = 4 << 20;

/// Of these, kept free for what must not be missing.
const RESERVE: u64 = 1 << 20;

/// Of the events in the record.
const RECORD: usize = 1 << 20;

/// The events of one run.
pub struct Recorder<'s, 'e> {
    session: &'s Session<'e>,
    id: WorkerId,
    agent: Option<&'static Agent>,
    ends: Option<regex::bytes::Regex>,
    bytes: Cell<u64>,
}

impl<'s, 'e> Recorder<'s, 'e> {
    /// Goes on where an earlier run of the worker has ended.
    pub fn open(
        session: &'s Session<'e>,
        worker: &Worker,
        agent: Option<&'static Agent>,
    ) -> Result<Recorder<'s, 'e>> {
        let path = session.local.events(worker.id);
        let before = match crate::host::read_optional(&path)? {
            Some(mut here) => {
                // A line that was cut short does not spoil the next one.
                let cut = here.last().is_some_and(|byte| *byte != b'\n');
                if cut {
                    crate::host::add_to(&path, b"\n")?;
                    here.push(b'\n');
                }
                here
            }
            None => {
                let before = worker.events(&session.repo)?;
                if !before.is_empty() {
                    crate::host::add_to(&path, &before)?;
                }
                before
            }
        };
        let ends = agent.and_then(|agent| regex::bytes::Regex::new(agent.ends?).ok());
        Ok(Recorder { session, id: worker.id, agent, ends, bytes: Cell::new(before.len() as u64) })
    }

    /// A line of the agent's output.
    pub fn heard(&self, line: &[u8]) {
        let Some(agent) = self.agent else { return };
        let said = agent.said(line);
        // The last event can be too long to be read as one.
        let is_last = said.is_empty() && self.ends.as_ref().is_some_and(|ends| ends.is_match(line));
        for said in said.iter().chain(is_last.then_some(&Said::Done)) {
            if let Some(event) = Event::of(self.now(), said) {
                self.write(&event);
            }
        }
    }

    /// Something that the worker said, or that was done for it.
    pub fn note(&self, kind: &str, text: &str) {
        self.write(&Event::new(self.now(), kind, text));
    }

    fn now(&self) -> i64 {
        self.session.clock.now_secs()
    }

    fn write(&self, event: &Event) {
        let line = event.to_line() + "\n";
        let bytes = self.bytes.get() + line.len() as u64;
        let room = if event.is_grave() { MOST } else { MOST - RESERVE };
        if bytes > room {
            return;
        }
        self.bytes.set(bytes);
        if let Err(failure) = crate::host::add_to(&self.session.local.events(self.id), line.as_bytes()) {
            self.session.tell(format!("events: {failure}"));
        }
    }
}

/// The events of a worker: those that are written here, else those of its record.
pub fn events(session: &Session<'_>, worker: &Worker) -> Result<Vec<u8>> {
    match crate::host::read_optional(&session.local.events(worker.id))? {
        Some(here) => Ok(here),
        None => worker.events(&session.repo),
    }
}

/// The same, as the record has them.
pub fn for_record(session: &Session<'_>, worker: &Worker) -> Result<Vec<u8>> {
    Ok(capped(&events(session, worker)?, RECORD))
}
