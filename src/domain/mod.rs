//! Words and decisions. Facts in, a plan or a refusal out: no IO, no clock, no git.

mod change;
mod claim;
mod exit;
mod failure;
mod mask;
mod message;
mod name;
mod worker;

pub use change::Change;
pub use change::Entry;
pub use change::Identity;
pub use change::Mode;
pub use change::RawDigest;
pub use claim::Globs;
pub use claim::PROTECTED;
pub use exit::Exit;
pub use failure::Failure;
pub use failure::Fault;
pub use failure::Refusal;
pub use failure::Result;
pub use failure::Token;
pub use mask::mask;
pub use message::with_trailers;
pub use name::Handle;
pub use name::Oid;
pub use name::OpId;
pub use name::RefName;
pub use name::WorkerId;
pub use worker::End;
pub use worker::Flag;
pub use worker::Liveness;
pub use worker::Outcome;
pub use worker::Work;
pub use worker::conclude;
