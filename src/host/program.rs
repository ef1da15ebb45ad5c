//! Looking for a program, and waiting for something to come true.

use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::quoted;
use crate::host::Env;
use rustix::event::PollFd;
use rustix::event::PollFlags;
use rustix::event::Timespec;
use rustix::event::poll;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

/// Where `program` would be started from: a name is looked up in `PATH`, a path is taken as it is.
pub fn find_program(env: &Env, program: &str) -> Result<PathBuf> {
    let runs = |p: &Path| p.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    let found = if program.contains('/') {
        Some(env.cwd().join(program)).filter(|p| runs(p))
    } else {
        let path = env.get("PATH").unwrap_or_default();
        std::env::split_paths(path).map(|dir| dir.join(program)).find(|p| runs(p))
    };
    found.ok_or_else(|| {
        Refusal::new(Token::AgentNotFound, format!("there is no program {program:?} to run"))
            .show(format!("command -v {}", quoted(program)))
            .next("install it, or give the full path after --")
            .into()
    })
}

/// Whether somebody may still read what is written to `out`: the other end of a pipe can be closed.
pub fn is_read(out: &impl AsFd) -> bool {
    let mut polled = [PollFd::new(out, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let _ = poll(&mut polled, Some(&now));
    !polled[0].revents().intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL)
}

/// Whether `true_now` came true within `limit`.
pub fn wait_until(limit: Duration, mut true_now: impl FnMut() -> bool) -> bool {
    let started = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if true_now() {
            return true;
        }
        if started.elapsed() >= limit {
            return false;
        }
        std::thread::sleep(pause.min(limit.saturating_sub(started.elapsed())));
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}
