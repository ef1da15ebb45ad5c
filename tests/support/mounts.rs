//! What a test mounts is its own.

use rustix::thread::UnshareFlags;
use std::process::Command;

thread_local! {
    static APART: () = leave();
}

/// From here on no other test, and no jail that one of them makes, sees what this thread and all that it starts mount
/// and unmount: a jail that comes up meanwhile may fail, for it binds each mount that it has just read of.
pub fn apart() {
    APART.with(|()| ());
}

/// Where this may not be done, the mount that follows says so, or is seen by all.
fn leave() {
    #[expect(
        deprecated,
        reason = "the other one is unsafe for a flag that is not used here: that of the open files"
    )]
    if rustix::thread::unshare(UnshareFlags::NEWNS).is_ok() {
        let _ = Command::new("mount").args(["--make-rprivate", "/"]).output();
    }
}
