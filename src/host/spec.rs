//! What a supervised run is given, the reins on it, and what it tells.

use crate::domain::Result;
use regex::bytes::Regex;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio::time::sleep_until;

/// Between the polite and the final signal, unless the run says otherwise.
const GRACE: Duration = Duration::from_secs(2);

/// What to run, and within which limits.
#[derive(Debug)]
pub struct Spec {
    /// The launcher with the agent's command behind it.
    pub argv: Vec<OsString>,
    pub cwd: PathBuf,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// Standard input, fed and then closed.
    pub stdin: Vec<u8>,
    /// What it is fed besides, as it comes: then it stays open until the agent is done.
    pub more: Option<UnboundedReceiver<Vec<u8>>>,
    /// Output is appended here: the first 4 MiB as they come, the last 1 MiB at the end.
    pub log: PathBuf,
    pub timeout: Option<Duration>,
    /// How long there may be neither output nor a [`Control::touch`].
    pub silence: Option<Duration>,
    /// A line of output that matches means that the agent is done.
    pub done: Option<Regex>,
    /// A line after that one that means that it is not.
    pub goes_on: Option<Regex>,
    /// How long a process that was asked to stop may take.
    pub grace: Duration,
    pub control: Control,
    /// What is not the agent's, though it was started below us.
    pub spared: Spared,
}

impl Spec {
    /// A run without input and without limits.
    pub fn new(argv: Vec<OsString>, cwd: impl Into<PathBuf>, log: impl Into<PathBuf>) -> Spec {
        Spec {
            argv,
            cwd: cwd.into(),
            env: Vec::new(),
            stdin: Vec::new(),
            more: None,
            log: log.into(),
            timeout: None,
            silence: None,
            done: None,
            goes_on: None,
            grace: GRACE,
            control: Control::new(),
            spared: Spared::default(),
        }
    }
}

/// Tells which processes, and all below them, are left alone when a run ends.
pub struct Spared(Box<dyn Fn() -> Vec<u32>>);

impl Spared {
    pub fn new(pids: impl Fn() -> Vec<u32> + 'static) -> Spared {
        Spared(Box::new(pids))
    }

    pub(super) fn now(&self) -> Vec<u32> {
        (self.0)()
    }
}

impl Default for Spared {
    fn default() -> Spared {
        Spared::new(Vec::new)
    }
}

impl std::fmt::Debug for Spared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Spared")
    }
}

/// Reins on a run, for other tasks and threads.
#[derive(Debug, Clone)]
pub struct Control {
    active: watch::Sender<Instant>,
    stopped: watch::Sender<bool>,
}

impl Control {
    pub fn new() -> Control {
        Control { active: watch::Sender::new(Instant::now()), stopped: watch::Sender::new(false) }
    }

    /// The agent is at work: a file of its changed. Its silence starts anew.
    pub fn touch(&self) {
        self.active.send_replace(Instant::now());
    }

    /// Ends the run. One that was not started yet ends at once.
    pub fn stop(&self) {
        self.stopped.send_replace(true);
    }

    pub(super) async fn stopped(&self) {
        // It cannot be closed while we hold a sender.
        let _ = self.stopped.subscribe().wait_for(|stopped| *stopped).await;
    }

    /// Resolves when nothing has happened for as long as `limit`.
    pub(super) async fn silent(&self, limit: Option<Duration>) {
        let Some(limit) = limit else { return std::future::pending().await };
        loop {
            let until = *self.active.borrow() + limit;
            if Instant::now() >= until {
                return;
            }
            sleep_until(until).await;
        }
    }
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    Exited {
        code: i32,
    },
    Signalled {
        signal: i32,
    },
    TimedOut,
    /// The last line may be a prompt that waits for an answer.
    Silent {
        last_line: Vec<u8>,
    },
    /// The completion line came, whether or not the agent exited after it.
    Done {
        line: Vec<u8>,
    },
    /// By its [`Control`], or by a SIGTERM to this process.
    Stopped,
}

/// How a run ended.
#[derive(Debug)]
pub struct End {
    pub cause: Cause,
    /// The exit code, unless a signal ended the agent.
    pub code: Option<i32>,
    /// Whether anything had to be killed because it did not stop when asked.
    pub killed: bool,
    /// Processes that the agent left running, and that were ended then.
    pub survivors: Vec<(u32, String)>,
    /// Why the log is not complete, if it is not. The run did not suffer.
    pub log: Result<()>,
}
