//! The only room that touches git. It knows nothing of workers and none of our ref names.

mod attributes;
mod capture;
mod cherry;
mod dirty;
mod disk;
mod durable;
mod git;
mod history;
mod index;
mod known;
mod leftovers;
mod loose;
mod mark;
mod merge;
mod notes;
mod objects;
#[cfg(test)]
pub mod oracle;
mod patch;
mod private;
mod refs;
mod repo;
mod store;
mod stored;
mod survey;
mod tree;
mod worktree;

pub use capture::Birth;
pub use capture::Capture;
pub use capture::Excludes;
pub use capture::Limits;
pub use git::Git;
pub use git::is_local_env;
pub use index::HeldIndex;
pub use index::Side;
pub use merge::Merged;
pub use merge::Merger;
pub use merge::Renames;
pub use objects::Commit;
pub use objects::Kind;
pub use objects::Objects;
pub use patch::hunks;
pub use patch::is_binary;
pub use patch::similarity;
pub use private::Private;
pub use private::Quota;
pub use private::STORE;
pub use refs::Edit;
pub use refs::Moved;
pub use refs::Ref;
pub use refs::RefSession;
pub use repo::Repo;
pub use stored::Asked;
pub use stored::Settings;
pub use tree::Watch;
pub use worktree::Admin;
pub use worktree::Dirty;
pub use worktree::Untracked;
pub use worktree::Worktree;

#[cfg(feature = "bench")]
pub use merge::bench_merge;
