//! The only room that touches git. It knows nothing of workers and none of our ref names.

mod config;
mod durable;
mod git;
mod history;
mod merge;
mod notes;
mod objects;
mod refs;
mod repo;
mod tree;
mod worktree;

pub use config::Config;
pub use git::Git;
pub use git::is_local_env;
pub use merge::Merged;
pub use merge::Merger;
pub use merge::Renames;
pub use objects::Commit;
pub use objects::Kind;
pub use objects::Objects;
pub use refs::Edit;
pub use refs::Moved;
pub use refs::Ref;
pub use refs::RefSession;
pub use repo::Dirs;
pub use repo::Repo;
pub use worktree::Admin;
pub use worktree::Dirty;
pub use worktree::Untracked;
pub use worktree::Worktree;
