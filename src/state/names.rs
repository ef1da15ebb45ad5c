//! Our ref names, both ways. Every name has a fixed depth, so none is both a file and a folder.

use crate::domain::BriefId;
use crate::domain::BundleId;
use crate::domain::DocId;
use crate::domain::OpId;
use crate::domain::RefName;
use crate::domain::RemoteName;
use crate::domain::Result;
use crate::domain::WorkerId;
use std::fmt::Display;
use std::str::FromStr;

/// The events of a worker's runs, beside its record.
pub const EVENTS: &str = "events.jsonl";

/// The last that the tmux window of a worker showed.
pub const PANE: &str = "evidence/pane.txt";

/// The text of its kind, in the same place.
pub const KIND: &str = "kind.md";

/// Everything that may be pushed.
pub const SHARED: &str = "refs/skein";
/// Everything that stays in this clone.
pub const LOCAL: &str = "refs/skein-local";
/// Plain git that lists what is shared, and what is local.
pub const LIST_SHARED: &str = "git for-each-ref refs/skein";
pub const LIST_LOCAL: &str = "git for-each-ref refs/skein-local";
/// Plain git that lists all lanes with their newest records.
pub const LIST_LANES: &str = "git for-each-ref --format='%(refname) %(subject)' refs/skein/lane";
/// The same for what is saved of workers.
pub const LIST_BUNDLES: &str = "git for-each-ref refs/skein/bundle";
/// The same for session documents.
pub const LIST_DOCUMENTS: &str = "git for-each-ref refs/skein/doc";
/// The same for the archives.
pub const LIST_ARCHIVES: &str = "git for-each-ref refs/skein/archive";
/// Where all lanes are.
pub const LANES: &str = "refs/skein/lane";
/// Briefs that wait, and who has taken which: on a remote, and in its mirror.
pub const QUEUE: &str = "refs/skein/queue";
pub const LEASES: &str = "refs/skein/lease";
/// Our notes.
pub const NOTES: &str = "refs/notes/skein";
/// What was fetched from remotes, before it is merged in.
pub const REMOTES: &str = "refs/skein-remote";
/// Everything of ours.
pub const SPACES: &[&str] = &[SHARED, LOCAL, NOTES];
/// Patterns that match all of them, for `log.excludeDecoration` and for `git log --exclude`.
pub const HIDE: &[&str] = &["refs/skein*", "refs/notes/skein*"];

/// The sentinel: our refs without it mean that refs were lost.
pub fn format() -> Result<RefName> {
    RefName::new("refs/skein/format/1")
}

pub fn worker(id: WorkerId) -> Result<RefName> {
    RefName::new(format!("refs/skein/worker/{id}"))
}

pub fn lane(clone: &str) -> Result<RefName> {
    RefName::new(format!("refs/skein/lane/{clone}"))
}

/// The clone whose lane this is, if it is a lane.
pub fn lane_of(name: &RefName) -> Option<String> {
    match parse(name) {
        Some(Ours::Lane(clone)) => Some(clone),
        _ => None,
    }
}

/// What was saved of a worker, or came in as a file.
pub fn bundle(id: BundleId) -> Result<RefName> {
    RefName::new(format!("refs/skein/bundle/{id}"))
}

/// A task that waits on a remote for a runner.
pub fn queued(id: BriefId) -> Result<RefName> {
    RefName::new(format!("{QUEUE}/{id}"))
}

/// Who does what must be done once; on a remote, too.
pub fn lease(name: &str) -> Result<RefName> {
    RefName::new(format!("{LEASES}/{name}"))
}

/// The steps of one session document.
pub fn document(id: DocId) -> Result<RefName> {
    RefName::new(format!("refs/skein/doc/{id}"))
}

/// Keeps the worker's tip alive from its birth on.
pub fn head(id: WorkerId) -> Result<RefName> {
    RefName::new(format!("refs/skein-local/head/{id}"))
}

/// The worker's newest snapshot.
pub fn wip(id: WorkerId) -> Result<RefName> {
    RefName::new(format!("refs/skein-local/wip/{id}"))
}

/// Workers that this clone folded in one month, `yyyy-mm`.
pub fn archive(clone: &str, month: &str) -> Result<RefName> {
    RefName::new(format!("refs/skein/archive/{clone}-{month}"))
}

/// Keeps what these workers' records do not.
pub fn kept(clone: &str, month: &str) -> Result<RefName> {
    RefName::new(format!("refs/skein-local/kept/{clone}-{month}"))
}

pub fn candidate(op: OpId) -> Result<RefName> {
    RefName::new(format!("refs/skein-local/candidate/{op}"))
}

/// The last step that a file of this clone has taken in, where that is not the newest; the sentinel for none.
pub fn seen(id: DocId) -> Result<RefName> {
    RefName::new(format!("refs/skein-local/seen/{id}"))
}

/// Says which file of commits in the cache is ours.
pub fn commits() -> Result<RefName> {
    RefName::new("refs/skein-local/cache/commits")
}

pub fn landed_notes() -> Result<RefName> {
    RefName::new("refs/notes/skein/landed")
}

/// Where what a remote has is fetched to, and what to fetch.
pub fn mirror(remote: &RemoteName) -> (String, [String; 2]) {
    let place = format!("{REMOTES}/{}", remote.component());
    let take = [(SHARED, "skein"), (NOTES, "notes")].map(|(from, to)| format!("+{from}/*:{place}/{to}/*"));
    (place, take)
}

/// The ref of the remote that a ref in its mirror at `place` stands for.
pub fn mirrored(place: &str, name: &RefName) -> Option<RefName> {
    let inner = name.as_str().strip_prefix(place)?.strip_prefix('/')?;
    let (part, rest) = inner.split_once('/')?;
    match part {
        "skein" => RefName::new(format!("{SHARED}/{rest}")).ok(),
        "notes" => RefName::new(format!("{NOTES}/{rest}")).ok(),
        _ => None,
    }
}

/// What one of our refs is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ours {
    Format,
    Worker(WorkerId),
    Lane(String),
    Bundle(BundleId),
    Document(DocId),
    /// These two only on a server: they are exchanged with nobody.
    Queued(BriefId),
    Lease(String),
    Head(WorkerId),
    Wip(WorkerId),
    /// Clone and month, as in the name.
    Archive(String),
    /// The same.
    Kept(String),
    Candidate(OpId),
    LandedNotes,
    Seen(DocId),
    Commits,
    /// In our namespace, of a shape that this version does not write but reserves.
    Reserved,
}

const RESERVED: &[&str] = &[
    "refs/skein/store/",
    "refs/skein-local/queue/",
    "refs/skein-local/schedule/",
    "refs/skein-local/lease/",
    "refs/skein-local/undo/",
    "refs/skein-local/cache/",
    "refs/notes/skein/evidence",
];

/// The meaning of a ref below [`SHARED`], [`LOCAL`] or [`NOTES`]; `None` if it has no business there.
pub fn parse(name: &RefName) -> Option<Ours> {
    let name = name.as_str();
    let id = |prefix: &str| name.strip_prefix(prefix).filter(|rest| !rest.contains('/'));
    let worker = |prefix: &str| id(prefix).and_then(spelled);
    match name {
        "refs/skein/format/1" => Some(Ours::Format),
        "refs/notes/skein/landed" => Some(Ours::LandedNotes),
        "refs/skein-local/cache/commits" => Some(Ours::Commits),
        _ => None
            .or_else(|| worker("refs/skein/worker/").map(Ours::Worker))
            .or_else(|| id("refs/skein/lane/").map(|c| Ours::Lane(c.to_owned())))
            .or_else(|| id("refs/skein/bundle/").and_then(spelled).map(Ours::Bundle))
            .or_else(|| id("refs/skein/queue/").and_then(spelled).map(Ours::Queued))
            .or_else(|| id("refs/skein/lease/").map(|name| Ours::Lease(name.to_owned())))
            .or_else(|| id("refs/skein/doc/").and_then(spelled).map(Ours::Document))
            .or_else(|| worker("refs/skein-local/head/").map(Ours::Head))
            .or_else(|| worker("refs/skein-local/wip/").map(Ours::Wip))
            .or_else(|| id("refs/skein-local/seen/").and_then(spelled).map(Ours::Seen))
            .or_else(|| id("refs/skein/archive/").map(|a| Ours::Archive(a.to_owned())))
            .or_else(|| id("refs/skein-local/kept/").map(|a| Ours::Kept(a.to_owned())))
            .or_else(|| id("refs/skein-local/candidate/").and_then(spelled).map(Ours::Candidate))
            .or_else(|| RESERVED.iter().any(|r| name.starts_with(r)).then_some(Ours::Reserved)),
    }
}

/// The identity that is written just so: spelled otherwise it would be a second ref of the same thing.
fn spelled<T: FromStr + Display>(text: &str) -> Option<T> {
    text.parse().ok().filter(|id: &T| id.to_string() == text)
}

/// Where the record of a worker holds its `n`th delta.
pub fn delta(n: u32) -> String {
    format!("delta/{n}/delta.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways_and_strangers_are_seen() -> Result<()> {
        let id = WorkerId::from_parts(1_767_225_600_000, 0xabc_def);
        assert_eq!(parse(&worker(id)?), Some(Ours::Worker(id)));
        assert_eq!(parse(&wip(id)?), Some(Ours::Wip(id)));
        assert_eq!(parse(&kept("abc", "2026-01")?), Some(Ours::Kept("abc-2026-01".into())));
        assert_eq!(parse(&archive("abc", "2026-01")?), Some(Ours::Archive("abc-2026-01".into())));
        assert_eq!(parse(&lane("abc")?), Some(Ours::Lane("abc".into())));
        assert_eq!(parse(&format()?), Some(Ours::Format));
        let loud = format!("refs/skein/worker/{}", id.to_string().to_ascii_uppercase());
        for stranger in
            ["refs/skein/worker", "refs/skein/worker/a/b", "refs/skein/x", "refs/skein-local/head", &loud]
        {
            assert_eq!(parse(&RefName::new(stranger)?), None, "{stranger}");
        }
        Ok(())
    }
}
