//! `log`: the lanes, newest first.

use crate::domain::Oid;
use crate::domain::Result;
use crate::state::LaneRecord;
use crate::state::records;
use crate::verbs::session::Session;
use serde::Serialize;

pub use crate::state::Landing;
pub use crate::state::LaneEntry;
pub use crate::state::Undo;

#[derive(Debug, Serialize)]
pub struct Log {
    pub entries: Vec<Entry>,
}

#[derive(Debug, Serialize)]
pub struct Entry {
    pub lane: String,
    pub commit: Oid,
    #[serde(flatten)]
    pub record: LaneRecord,
}

pub fn run(session: &Session<'_>, most: Option<usize>) -> Result<Log> {
    let mut entries = Vec::new();
    for (lane, tip) in session.view()?.lanes {
        for (commit, record) in records(&session.repo, Some(tip))? {
            entries.push(Entry { lane: lane.clone(), commit, record });
        }
    }
    // Within a lane the order is that of its parents; the sort is stable and keeps it.
    entries.sort_by_key(|e| std::cmp::Reverse(e.record.at));
    entries.truncate(most.unwrap_or(usize::MAX));
    Ok(Log { entries })
}
