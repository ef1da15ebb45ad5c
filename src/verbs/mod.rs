//! The verbs: gather, decide, apply, return an outcome. They print nothing and build no git argument.

pub mod candidate;
mod checkout;
mod custody;
pub mod dispatch;
mod finish;
pub mod freeze;
mod gate;
pub mod import;
pub mod init;
pub mod land;
mod landing;
pub mod log;
mod outside;
mod reclaim;
mod recover;
mod replay;
pub mod session;
pub mod show;
mod snapshot;
pub mod status;
pub mod steps;
pub mod supervise;
pub mod wait;
