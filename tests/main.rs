//! All integration tests, in one binary.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and runs git to look at what the binary did"
)]

mod agents;
mod artifacts;
mod batch;
mod bundle;
mod cache;
mod cases_d;
mod cases_f;
mod cases_x;
mod checks;
mod citizen;
mod demo;
mod dirty;
mod dock;
mod doctor;
mod documents;
mod docworld;
mod endings;
mod events;
mod faults;
mod fsck;
mod fuzz;
mod gates;
mod golden;
mod headless;
mod hooks;
mod hostile;
mod identity;
mod inbox;
mod jail;
mod kinds;
mod landed;
mod limits;
mod listening;
mod manual;
mod matrix;
mod mcp;
mod memory;
mod model;
mod morning;
mod overlap;
mod plan;
mod porcelain;
mod proof;
mod protocol;
mod races;
mod readme;
mod reap;
mod refusals;
mod resume;
mod runner;
mod saying;
mod seed;
mod server;
mod shapes;
mod spawn;
mod support;
mod sync;
mod terminal;
mod tmux;
mod trunk;
mod trust;
mod undo;
mod verdict;
mod walk;
mod wardens;
