//! `git skein` runs many coding agents on one repository and brings their work home.
//!
//! The rooms, from the roof down; a room uses only rooms below it:
//!
//! | room | owns |
//! |---|---|
//! | `surfaces` | the command line, rendering, exit codes |
//! | `verbs` | one file per verb: gather, decide, apply, return an outcome |
//! | `state` | ref names, records, the view, drafts, the lane |
//! | `host` | clock, files, child processes, environment |
//! | `plumbing` | everything that touches git |
//! | `domain` | words and decisions, pure |
//!
//! `fault` and `fuzz` stand outside the rooms: the first is empty, the second not there, unless the crate is built for
//! its tests.

mod domain;
mod fault;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod host;
mod plumbing;
mod state;
mod surfaces;
mod verbs;

pub use surfaces::main;

/// For `benches/` only: the merge of three trees named by revisions, made `times` over in one process. Gives
/// the tree's id and the milliseconds of each run.
#[cfg(feature = "bench")]
pub fn bench_merge(objects: &std::path::Path, trees: [&str; 3], times: usize) -> Option<(String, Vec<f64>)> {
    plumbing::bench_merge(objects, trees, times).ok()
}

/// For `benches/` only: which two of `works`, each a base and a tip, are at work on the same files. Gives how
/// many pairs are, how many of them conflict, and the milliseconds that it took.
#[cfg(feature = "bench")]
pub fn bench_overlaps(objects: &std::path::Path, works: &[(String, String)]) -> Option<(usize, usize, f64)> {
    verbs::bench_overlaps(objects, works).ok()
}

/// For `benches/` only: what a person and an agent made of the document `base`, merged `times` over in one process.
/// Gives how many places clash, and the milliseconds of each run.
#[cfg(feature = "bench")]
pub fn bench_document_merge(base: &str, person: &str, agent: &str, times: usize) -> (usize, Vec<f64>) {
    let mut clashes = 0;
    let run = |_| {
        let started = std::time::Instant::now();
        clashes = domain::document::merge(base, person, agent).clashes.len();
        started.elapsed().as_secs_f64() * 1e3
    };
    let millis = (0..times).map(run).collect();
    (clashes, millis)
}
