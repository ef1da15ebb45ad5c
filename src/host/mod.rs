//! The world outside git: environment, clock, files, locks, child processes, watches. Knows no policy.

mod clock;
mod env;
mod file;
mod launch;
mod lock;
mod output;
mod process;
mod space;
mod survivors;

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
pub use launch::become_supervisor;
pub use launch::detach;
pub use launch::launch;
pub use lock::Lock;
pub use lock::is_held;
pub use process::Ended;
pub use process::Run;
pub use process::run_to_end;
pub use space::free_bytes;
pub use survivors::Signal;
pub use survivors::alive;
pub use survivors::boot_id;
pub use survivors::kill_group;
pub use survivors::signal;
pub use survivors::start_time;
pub use survivors::survivors_in;
