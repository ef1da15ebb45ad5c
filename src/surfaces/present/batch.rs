//! `dispatch --from`: each task in a line.

use crate::domain::Outcome;
use crate::surfaces::present::Page;
use crate::surfaces::style::BAD;
use crate::surfaces::style::GOOD;
use crate::surfaces::style::WARN;
use crate::surfaces::style::line;
use crate::surfaces::style::paint;
use crate::verbs::batch::Batch;
use crate::verbs::batch::Entry;
use crate::verbs::batch::State;

impl Page {
    pub fn batch(batch: &Batch, json: bool) -> Page {
        Page::of("dispatch", batch, json, |batch| batch.tasks.iter().map(entry).collect())
            .ending(batch.exit())
    }
}

fn entry(entry: &Entry) -> String {
    let (style, why) = match &entry.state {
        State::Started { outcome, reason, .. } => match outcome {
            Outcome::Ready => (GOOD, reason.clone()),
            Outcome::Active => (WARN, Some(format!("git skein wait {}", entry.name))),
            _ => (BAD, reason.clone()),
        },
        State::Waiting => (WARN, None),
        State::Skipped { why } => (WARN, Some(why.clone())),
        State::Refused { why, .. } => (BAD, Some(why.clone())),
    };
    let why = why.map(|why| format!(": {}", line(&why))).unwrap_or_default();
    format!("{} {}{why}\n", entry.name, paint(style, entry.state.word()))
}
