//! `events`: what happens to all workers, as a stream for other programs. Nobody writes it: it is read from the
//! records, the lanes, and the files that the supervisors write, so a reader that stops reading stops nobody.

mod facts;

use crate::domain::Cursor;
use crate::domain::Event;
use crate::domain::Place;
use crate::domain::Result;
use crate::domain::Since;
use crate::domain::WorkerId;
use crate::plumbing::Objects;
use crate::state::View;
use crate::state::Worker;
use crate::state::history;
use crate::state::records_since;
use crate::verbs::recorder;
use crate::verbs::session::Session;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;
use std::time::Instant;

/// The version of the form of a line.
pub const VERSION: u32 = 1;

/// How often it is looked at the refs; at the files it is looked each time.
const LOOK: Duration = Duration::from_secs(1);

/// One line.
#[derive(Debug, Clone, Serialize)]
pub struct Line {
    pub v: u32,
    /// The same whenever it is told again.
    pub id: String,
    pub at: i64,
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// What the kind has besides.
    #[serde(flatten)]
    pub more: serde_json::Map<String, Value>,
}

/// What was new at one look, and where that leaves the reader.
#[derive(Debug)]
pub struct Batch {
    pub lines: Vec<Line>,
    pub cursor: String,
}

/// A reader's place in the stream.
pub struct Stream {
    cursor: Cursor,
    /// Only these workers, if any is named.
    only: BTreeSet<WorkerId>,
    view: View,
    looked: Instant,
    running: Vec<WorkerId>,
    /// What came before the first look is told only of workers that are open.
    begun: bool,
}

impl Stream {
    /// Begins where `since` says; else with the birth of each open worker.
    pub fn open(session: &Session<'_>, names: &[String], since: Option<Since>) -> Result<Stream> {
        let view = session.view()?;
        let mut only = BTreeSet::new();
        for name in names {
            only.insert(view.any_worker(&session.repo, name)?.id);
        }
        let begun = since.is_some();
        let cursor = match since {
            Some(Since::Cursor(cursor)) => *cursor,
            Some(Since::Now) => now(session, &view)?,
            None => Cursor { archives: view.archives.clone(), ..Cursor::default() },
        };
        Ok(Stream { cursor, only, view, looked: Instant::now(), running: Vec::new(), begun })
    }

    /// What is new.
    pub fn next(&mut self, session: &Session<'_>) -> Result<Batch> {
        let mut lines = Vec::new();
        if self.looked.elapsed() >= LOOK || self.stirred(session) {
            self.view = session.view()?;
            self.looked = Instant::now();
            let ids = self.view.workers.iter().map(|worker| worker.id);
            self.running = ids.filter(|id| runs(session, *id)).collect();
        }
        for worker in &self.view.workers {
            let place = self.cursor.workers.entry(worker.id).or_default();
            lines.extend(told(session, worker, place)?);
        }
        let (closed, reaped) = self.closed(session)?;
        lines.extend(closed);
        lines.extend(self.landed(session, &reaped)?);
        lines.extend(reaped);
        self.begun = true;
        if !self.only.is_empty() {
            lines.retain(|line| line.worker.is_some_and(|id| self.only.contains(&id)));
        }
        // In the order of time as far as the records tell it; what is of one second stays in its own order.
        lines.sort_by_key(|line| line.at);
        Ok(Batch { lines, cursor: self.cursor.to_string() })
    }

    /// What is new, with a look at the refs in any case.
    pub fn all(&mut self, session: &Session<'_>) -> Result<Batch> {
        self.looked = self.looked.checked_sub(LOOK).unwrap_or(self.looked);
        self.next(session)
    }

    /// Whether one that ran does not any more: then it is not waited for the next look.
    fn stirred(&self, session: &Session<'_>) -> bool {
        self.running.iter().any(|id| !runs(session, *id))
    }

    fn landed(&mut self, session: &Session<'_>, reaped: &[Line]) -> Result<Vec<Line>> {
        let mut lines = Vec::new();
        for (lane, tip) in &self.view.lanes {
            let known = self.cursor.lanes.insert(lane.clone(), *tip);
            if known == Some(*tip) {
                continue;
            }
            let told = records_since(&session.repo, *tip, known)?;
            let told = told.iter().filter_map(|(at, record)| facts::of_lane(*at, record));
            let open = |line: &Line| {
                line.worker.is_some_and(|id| self.view.workers.iter().any(|worker| worker.id == id))
            };
            lines.extend(told.filter(|line| self.begun || open(line)));
        }
        for line in &mut lines {
            let of_it = self.view.workers.iter().find(|w| Some(w.id) == line.worker);
            let closed = reaped.iter().find(|other| other.worker == line.worker && line.worker.is_some());
            let handle = of_it.map(|w| w.record.handle.to_string());
            line.handle = handle.or_else(|| closed?.handle.clone());
        }
        Ok(lines)
    }

    /// What was not yet told of the workers that were closed since, and that they were.
    fn closed(&mut self, session: &Session<'_>) -> Result<(Vec<Line>, Vec<Line>)> {
        let (mut lines, mut reaped) = (Vec::new(), Vec::new());
        let open: BTreeSet<WorkerId> = self.view.workers.iter().map(|worker| worker.id).collect();
        // A worker is in the archive before it stops being an open one.
        let gone = self.cursor.workers.keys().any(|id| !open.contains(id));
        if self.cursor.archives == self.view.archives && !gone {
            return Ok((lines, reaped));
        }
        let before = std::mem::replace(&mut self.cursor.archives, self.view.archives.clone());
        let before = View { archives: before, ..View::default() };
        let known: BTreeSet<_> =
            before.archived(&session.repo)?.into_iter().map(|w| (w.id, w.at, w.head, w.wip)).collect();
        let times = self.view.closing_times(&session.repo)?;
        for worker in self.view.archived(&session.repo)? {
            let place = self.cursor.workers.remove(&worker.id);
            if place.is_none() && known.contains(&(worker.id, worker.at, worker.head, worker.wip)) {
                continue;
            }
            lines.extend(told(session, &worker, &mut place.unwrap_or_default())?);
            reaped.push(facts::reaped(&worker, times.get(&worker.id).copied().unwrap_or(0)));
        }
        // One that never ran leaves nothing behind.
        self.cursor.workers.retain(|id, _| open.contains(id));
        Ok((lines, reaped))
    }
}

fn runs(session: &Session<'_>, id: WorkerId) -> bool {
    crate::host::is_held(&session.local.alive(id)).unwrap_or(false)
}

/// Whether anybody still reads what this process prints.
pub fn is_read() -> bool {
    crate::host::is_read(&std::io::stdout())
}

/// The cursor of a reader that was told everything.
fn now(session: &Session<'_>, view: &View) -> Result<Cursor> {
    let mut cursor =
        Cursor { lanes: view.lanes.clone(), archives: view.archives.clone(), ..Cursor::default() };
    for worker in &view.workers {
        let bytes = whole(&recorder::events(session, worker)?) as u64;
        let place = Place { record: Some(worker.at), bytes, snapshot: worker.wip };
        cursor.workers.insert(worker.id, place);
    }
    Ok(cursor)
}

/// What of one worker was not told yet.
fn told(session: &Session<'_>, worker: &Worker, place: &mut Place) -> Result<Vec<Line>> {
    let mut lines = said(session, worker, place)?;
    if place.record != Some(worker.at) {
        let told = history(&session.repo, worker, place.record)?;
        let known = place.record.and(told.first()).map(|(_, record)| record.clone());
        let new = &told[usize::from(known.is_some())..];
        lines.extend(facts::of_records(&session.repo.objects, new, known)?);
        place.record = Some(worker.at);
    }
    if let Some(wip) = worker.wip
        && place.snapshot != Some(wip)
    {
        place.snapshot = Some(wip);
        lines.push(facts::snapshot(&session.repo.objects, worker, wip)?);
    }
    // Its birth first, its end last: they are of the same second in a short run.
    lines.sort_by_key(|line| (line.at, facts::rank(&line.kind)));
    Ok(lines)
}

/// What its events say beyond those told. A line that is not yet whole is left for the next time.
fn said(session: &Session<'_>, worker: &Worker, place: &mut Place) -> Result<Vec<Line>> {
    if fs::metadata(session.local.events(worker.id)).is_ok_and(|file| file.len() == place.bytes) {
        return Ok(Vec::new());
    }
    let bytes = recorder::events(session, worker)?;
    let from = usize::try_from(place.bytes).unwrap_or(usize::MAX).min(bytes.len());
    let end = whole(&bytes).max(from);
    let mut lines = Vec::new();
    let mut at = from;
    for line in bytes[from..end].split_inclusive(|byte| *byte == b'\n') {
        if let Ok(event) = serde_json::from_slice::<Event>(line)
            && event.kind != "asked"
        {
            lines.push(facts::of_event(worker, at, event));
        }
        at += line.len();
    }
    place.bytes = end as u64;
    Ok(lines)
}

fn whole(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
}

impl Line {
    fn new(id: String, at: i64, kind: &str, more: Value) -> Line {
        let more = match more {
            Value::Object(more) => more.into_iter().filter(|(_, value)| !value.is_null()).collect(),
            _ => serde_json::Map::new(),
        };
        Line { v: VERSION, id, at, kind: kind.to_owned(), worker: None, handle: None, more }
    }

    fn of(self, worker: &Worker) -> Line {
        let handle = Some(worker.record.handle.to_string());
        Line { worker: Some(worker.id), handle, ..self }
    }
}

/// When a commit of ours was made.
fn made_at(objects: &Objects, oid: crate::domain::Oid) -> Result<i64> {
    let commit = objects.commit(oid)?;
    let committer = commit.committer.to_string();
    Ok(committer.rsplit(' ').nth(1).and_then(|seconds| seconds.parse().ok()).unwrap_or(0))
}
