//! The world outside git: environment, clock, files, locks, child processes, watches. Knows no policy.

mod clock;
mod env;
mod file;
mod lock;
mod space;

pub use clock::Clock;
pub use env::Env;
pub use file::failure;
pub use file::make_dir;
pub use file::read_optional;
pub use file::remove_optional;
pub use file::remove_tree;
pub use file::replace;
pub use file::sync_dir;
pub use file::sync_file;
pub use file::sync_tree_dirs;
pub use lock::Lock;
pub use lock::is_held;
pub use space::free_bytes;
