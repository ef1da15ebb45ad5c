//! The lines of the stream, each from the fact that it tells.

use crate::domain::Event;
use crate::domain::Oid;
use crate::domain::Outcome;
use crate::domain::Result;
use crate::plumbing::Objects;
use crate::state::Landing;
use crate::state::LaneEntry;
use crate::state::LaneRecord;
use crate::state::Worker;
use crate::state::WorkerRecord;
use crate::verbs::events::Line;
use crate::verbs::events::made_at;
use serde_json::json;

/// Where a line stands among those of the same worker and second.
pub fn rank(kind: &str) -> u8 {
    match kind {
        "born" => 0,
        "outcome" => 2,
        "reaped" => 3,
        _ => 1,
    }
}

/// An event of the file, which begins there at `offset`.
pub fn of_event(worker: &Worker, offset: usize, event: Event) -> Line {
    let text = Some(event.text).filter(|text| !text.is_empty());
    let more = json!({ "text": text, "tool": event.tool, "usage": event.usage });
    Line::new(format!("{}-{offset}", worker.id), event.at, &event.kind, more).of(worker)
}

/// What successive records of a worker say beyond the one before; the first has none before it.
pub fn of_records(
    objects: &Objects,
    told: &[(Oid, WorkerRecord)],
    mut known: Option<WorkerRecord>,
) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (at, record) in told {
        lines.extend(step(objects, *at, known.as_ref(), record)?);
        known = Some(record.clone());
    }
    Ok(lines)
}

fn step(objects: &Objects, oid: Oid, before: Option<&WorkerRecord>, now: &WorkerRecord) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    let mut add = |at: i64, kind: &str, more: serde_json::Value| {
        let id = format!("{oid}-{}", lines.len());
        let line = Line::new(id, at, kind, more);
        lines.push(Line { worker: Some(now.worker), handle: Some(now.handle.to_string()), ..line });
    };
    if before.is_none() {
        let agent = now.agent.first();
        let more = json!({
            "task": now.task, "base": now.base, "base_name": now.base_name, "onto": now.onto, "agent": agent,
        });
        add(now.created, "born", more);
    }
    let asked = before.map_or(0, |b| b.questions.len());
    for q in now.questions.iter().skip(asked) {
        add(q.at, "question", json!({ "n": q.n, "text": q.text, "options": q.options }));
    }
    for message in &now.messages {
        let was = before.and_then(|b| b.messages.iter().find(|m| m.n == message.n));
        let more = |state| json!({ "n": message.n, "to": message.to, "text": message.text, "state": state });
        if was.is_none() {
            add(message.at, "message", more("queued"));
        }
        if was.is_none_or(|m| m.delivered.is_none())
            && let Some(at) = message.delivered
        {
            add(at, "message", more("delivered"));
        }
        if was.is_none_or(|m| m.read.is_none())
            && let Some(at) = message.read
        {
            add(at, "message", more("read"));
        }
    }
    let ended = now.ended.unwrap_or(now.created);
    if before.map_or(0, |b| b.deltas) < now.deltas {
        add(ended, "frozen", json!({ "delta": now.deltas }));
    }
    let moved = before.is_some_and(|b| (b.outcome, &b.reason) != (now.outcome, &now.reason));
    if moved {
        let at = if now.outcome == Outcome::Active { made_at(objects, oid)? } else { ended };
        let more = json!({
            "outcome": now.outcome, "reason": now.reason, "exit": now.exit, "flags": now.flags, "tip": now.tip,
        });
        add(at, "outcome", more);
    }
    Ok(lines)
}

pub fn snapshot(objects: &Objects, worker: &Worker, wip: Oid) -> Result<Line> {
    let at = made_at(objects, wip)?;
    let head = worker.head;
    let more = json!({ "commit": wip, "head": head });
    Ok(Line::new(wip.to_string(), at, "snapshot", more).of(worker))
}

/// What a lane says, if it is of interest outside.
pub fn of_lane(oid: Oid, record: &LaneRecord) -> Option<Line> {
    let line = |kind: &str, more| Line::new(oid.to_string(), record.at, kind, more);
    Some(match &record.entry {
        LaneEntry::Landing(landing) => {
            let Landing { onto, old, new, delta, branch } = landing;
            let n = delta.as_ref().map(|d| d.n);
            let more = json!({
                "op": record.op, "onto": onto, "old": old, "new": new, "delta": n, "branch": branch,
            });
            Line { worker: delta.as_ref().map(|d| d.worker), ..line("landed", more) }
        }
        LaneEntry::Undone(undo) => {
            let more = json!({
                "op": record.op, "undoes": undo.undoes, "onto": undo.onto, "old": undo.old, "new": undo.new,
            });
            line("undone", more)
        }
        LaneEntry::Evidence(gate) => {
            let more = json!({
                "command": gate.command, "exit": gate.exit, "tree": gate.tree, "millis": gate.millis,
            });
            line("gate", more)
        }
        LaneEntry::Verdict(given) => {
            let more = json!({
                "op": record.op, "verb": given.verb, "delta": given.delta, "question": given.question,
                "actor": given.actor, "text": given.text,
            });
            Line { worker: Some(given.worker), ..line("verdict", more) }
        }
        LaneEntry::Intent(_)
        | LaneEntry::Undo(_)
        | LaneEntry::Abandoned { .. }
        | LaneEntry::Rewritten { .. } => {
            return None;
        }
    })
}

/// The end of a worker that was closed.
pub fn reaped(worker: &Worker, at: i64) -> Line {
    Line::new(format!("{}-reaped", worker.at), at, "reaped", json!({ "tip": worker.head })).of(worker)
}
