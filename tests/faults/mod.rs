//! Every writing verb, struck at every place between two durable steps; what else may end a verb, its
//! children or its supervisor; disks that are full or may not be written.

mod bundle;
mod children;
mod decisions;
mod disk;
mod hooks;
mod options;
mod reap;
pub mod scenes;
pub mod state;
mod supervisor;
pub mod sweep;

pub use children::git_in;
