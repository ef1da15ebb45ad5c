//! The only room that touches git. It knows nothing of workers and none of our ref names.

mod history;
mod merge;
mod objects;
mod tree;

pub use merge::Merged;
pub use merge::Merger;
pub use merge::Renames;
pub use objects::Commit;
pub use objects::Kind;
pub use objects::Objects;
