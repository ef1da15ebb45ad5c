//! The verbs: gather, decide, apply, return an outcome. They print nothing and build no git argument.

pub mod artifacts;
pub mod batch;
pub mod bundle;
pub mod candidate;
pub mod check;
mod checkout;
pub mod commit;
mod custody;
pub mod debt;
pub mod demo;
mod depth;
mod desk;
mod dirty;
pub mod dispatch;
pub mod doc;
pub mod dock;
pub mod doctor;
pub mod events;
mod finish;
pub mod freeze;
pub mod fsck;
#[cfg(feature = "fuzz")]
pub mod fuzz;
pub mod gate;
mod graph;
pub mod hooks;
pub mod import;
pub mod inbox;
mod include;
pub mod init;
mod jail;
pub mod job;
pub mod kinds;
pub mod land;
pub mod land_all;
pub mod landed;
mod landing;
mod lease;
pub mod log;
mod outside;
pub mod overlap;
pub mod pane;
pub mod pause;
pub mod plan;
mod policy;
mod post;
mod proof;
pub mod queue;
pub mod reap;
mod reclaim;
mod recorder;
mod recover;
mod registration;
mod replay;
pub mod restore;
pub mod resume;
pub mod runner;
mod seed;
pub mod server;
pub mod session;
pub mod show;
mod snapshot;
pub mod spawn;
pub mod status;
pub mod steps;
mod stored;
pub mod supervise;
pub mod sync;
pub mod tell;
pub mod trust;
pub mod undo;
mod upon;
pub mod verdict;
pub mod wait;
mod weigh;
pub mod worker;

/// Writes files that a person asked for into `dir`, each replaced as a whole.
pub fn write_files(
    dir: &std::path::Path,
    files: &[(std::path::PathBuf, Vec<u8>)],
) -> crate::domain::Result<()> {
    crate::host::make_dir(dir)?;
    files.iter().try_for_each(|(path, bytes)| crate::host::replace(path, bytes))
}

/// Writes a report that a pipeline asked for: a file of its own, or something more in one that others write too.
pub fn write_report(path: &std::path::Path, bytes: &[u8], whole: bool) -> crate::domain::Result<()> {
    if whole { crate::host::replace(path, bytes) } else { crate::host::add_to(path, bytes) }
}

#[cfg(feature = "bench")]
pub use overlap::bench_overlaps;

/// A path in JSON, which has no other bytes than text.
fn path_as_text<S: serde::Serializer>(path: &std::path::Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}

/// Bytes in JSON, likewise.
fn bytes_as_text<S: serde::Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&String::from_utf8_lossy(bytes))
}

/// The same where there may be none.
fn place_as_text<S: serde::Serializer>(path: &Option<std::path::PathBuf>, to: S) -> Result<S::Ok, S::Error> {
    match path {
        Some(path) => path_as_text(path, to),
        None => to.serialize_none(),
    }
}
