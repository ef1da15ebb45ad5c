//! Writes what happens in a run as it happens: what the agent's output says and what the worker says, one event a
//! line. It is for people and for other programs, and never holds up the run.

use crate::domain::Agent;
use crate::domain::End;
use crate::domain::Event;
use crate::domain::Result;
use crate::domain::Said;
use crate::domain::WorkerId;
use crate::domain::capped;
use crate::domain::mask;
use crate::state::Worker;
use crate::verbs::session::Session;
use bstr::ByteSlice;
use std::cell::Cell;
use std::cell::RefCell;
use std::time::Duration;
use tokio::sync::Notify;

/// Bytes of events that are kept here.
const MOST: u64 = 4 << 20;

/// Of these, kept free for what must not be missing.
const RESERVE: u64 = 1 << 20;

/// What a turn has cost is said before the agent says that it was the last one.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Of a last line.
const LAST: usize = 8 << 10;

/// Of the events in the record.
const RECORD: usize = 1 << 20;

/// The events of one run.
pub struct Recorder<'s, 'e> {
    session: &'s Session<'e>,
    id: WorkerId,
    agent: Option<&'static Agent>,
    ends: Option<regex::bytes::Regex>,
    bytes: Cell<u64>,
    /// The error that was said last, if nothing came after it.
    error: RefCell<Option<String>>,
    /// When the usage limit passes that was said last, if nothing came after that.
    limit: Cell<Option<i64>>,
    /// The last line of an agent that has no events.
    last: RefCell<Vec<u8>>,
    named: RefCell<Option<String>>,
    /// The model was asked.
    begun: Cell<bool>,
    learnt: Notify,
    /// What its agent may spend in this run, in cents, and what it has spent, in dollars.
    budget: Option<u64>,
    spent: Cell<f64>,
    /// It said that its work is over, and nothing since.
    done: Cell<bool>,
    broke: Notify,
    /// It was told that this is more than it may spend.
    broken: Cell<bool>,
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
        Ok(Recorder {
            session,
            id: worker.id,
            agent,
            ends,
            bytes: Cell::new(before.len() as u64),
            error: RefCell::default(),
            limit: Cell::default(),
            last: RefCell::default(),
            named: RefCell::new(worker.record.session.clone()),
            begun: Cell::default(),
            learnt: Notify::new(),
            budget: worker.record.kind.as_ref().and_then(|kind| kind.budget),
            spent: Cell::default(),
            done: Cell::default(),
            broke: Notify::new(),
            broken: Cell::default(),
        })
    }

    /// A line of the agent's output.
    pub fn heard(&self, line: &[u8]) {
        let Some(agent) = self.agent.filter(|agent| agent.ends.is_some()) else {
            // Of what has no events the last line counts. It is only kept here: there may be very many.
            if !line.trim().is_empty() {
                let mut last = self.last.borrow_mut();
                last.clear();
                last.extend_from_slice(&line[..line.len().min(LAST)]);
            }
            return;
        };
        if line.first() != Some(&b'{') {
            if let Some(limit) = line.to_str().ok().and_then(|line| self.limited(line)) {
                self.limit.set(Some(limit));
            }
            return;
        }
        let said = agent.said(line);
        // The last event can be too long to be read as one.
        let is_last = said.is_empty() && self.ends.as_ref().is_some_and(|ends| ends.is_match(line));
        for said in said.iter().chain(is_last.then_some(&Said::Done)) {
            self.take(said);
            if let Some(event) = Event::of(self.now(), said) {
                self.write(&event);
            }
        }
    }

    fn take(&self, said: &Said) {
        match said {
            Said::Error(error) => {
                let limit = self.limited(error);
                self.limit.set(limit.or(self.limit.get()));
                self.error.replace(Some(error.clone()));
            }
            Said::Turn | Said::Tool(..) | Said::Text(_) => {
                self.limit.set(None);
                self.done.set(false);
                self.error.take();
                if !self.begun.replace(true) {
                    self.learnt.notify_one();
                }
            }
            Said::Session(name) => {
                if self.named.replace(Some(name.clone())).as_ref() != Some(name) {
                    self.learnt.notify_one();
                }
            }
            Said::Usage(_, _, cost) => {
                // It has spent nothing less by saying so.
                self.spent.set(self.spent.get() + cost.max(0.0));
                if self.is_over_budget() {
                    self.broke.notify_one();
                }
            }
            Said::Done => self.done.set(true),
        }
    }

    /// Whether the agent has turned to what it was given.
    pub fn has_begun(&self) -> bool {
        self.begun.get()
    }

    /// Resolves when there is something for the record.
    pub async fn learnt(&self) {
        self.learnt.notified().await;
    }

    /// Resolves once, when its agent has spent more than it may, and is not done.
    pub async fn overspent(&self) {
        loop {
            if self.is_over_budget() && !self.done.get() && !self.broken.get() {
                tokio::time::sleep(LAST_WORDS).await;
                if !self.done.get() {
                    self.broken.set(true);
                    return;
                }
            }
            self.broke.notified().await;
        }
    }

    fn is_over_budget(&self) -> bool {
        self.budget.is_some_and(|cents| self.spent.get() * 100.0 > cents as f64)
    }

    fn limited(&self, line: &str) -> Option<i64> {
        self.session.clock.moment(&crate::domain::usage_limit(line)?)
    }

    /// The name of its session.
    pub fn named(&self) -> Option<String> {
        self.named.borrow().clone()
    }

    /// How the run has ended, in the light of what was said last. A limit that has passed meanwhile is none.
    pub fn end(&self, end: End) -> End {
        if end == End::Stopped && self.broken.get() {
            return End::Overspent(self.budget.unwrap_or_default());
        }
        let error = self.error.borrow().clone();
        let fine = matches!(end, End::Exited(0) | End::Done);
        let gone = matches!(end, End::Exited(_) | End::Done | End::Silent(_));
        let limit = self.limit.get().or_else(|| self.limited(&self.last.borrow().to_str_lossy()));
        match (limit.filter(|until| *until > self.now()), error) {
            (Some(until), error) if gone && (!fine || error.is_some()) => {
                End::Limited(self.agent.map_or("its agent", |agent| agent.name).to_owned(), until)
            }
            (_, Some(error)) if fine => End::Erred(mask(&error)),
            _ => end,
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
