//! Every writing verb, struck at every place between two durable steps; what else may end a verb, its
//! children or its supervisor; disks that are full or may not be written.

mod answers;
mod bundle;
pub mod children;
pub mod decisions;
mod desk;
pub mod disk;
mod hooks;
pub mod options;
pub mod reap;
pub mod rest;
pub mod scenes;
pub mod state;
mod supervisor;
pub mod sweep;
mod verbs;

pub use children::git_in;
