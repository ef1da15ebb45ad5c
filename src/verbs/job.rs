//! What the supervisor of a worker is told: what to run, and within which limits.

use crate::domain::Agent;
use crate::domain::Bounds;
use crate::domain::BundleId;
use crate::domain::Jail;
use crate::domain::Kind;
use crate::domain::Result;
use crate::domain::Rpc;
use crate::domain::Window;
use crate::domain::WorkerId;
use crate::host::ToType;
use crate::state::Limits;
use crate::state::Worker;
use crate::state::WorkerRecord;
use crate::verbs::dispatch::Request;
use crate::verbs::session::Session;
use bstr::ByteSlice;
use serde::Deserialize;
use serde::Serialize;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

/// What the agent should know of where it is. It follows on the task.
pub const MANNERS: &str = include_str!("manners.md");

/// The same for one that may start others.
const MAY_SPAWN: &str = "- To give a part of it to another worker, which starts from what you have committed:
  `git skein worker spawn \"<task>\"`. Its result comes with `git skein worker wait --stay`.
";

/// The built-in agent.
const SCRIPTED: &str = include_str!("scripted.sh");

/// What the supervisor is told; a local file, so argv stands there as it was given.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    pub worker: WorkerId,
    pub argv: Vec<String>,
    /// What the agent is given: the task with the manners below it, which are not for the built-in one, or when it is
    /// taken up again what it was told.
    pub brief: String,
    #[serde(default)]
    pub manners: String,
    /// The brief goes to standard input.
    pub stdin: bool,
    pub limits: Limits,
    pub jail: Jail,
    /// In a jail it cannot write into its worktree.
    #[serde(default)]
    pub only_reads: bool,
    #[serde(default)]
    pub bounds: Bounds,
    /// The messages that the brief holds.
    #[serde(default)]
    pub letters: Vec<u32>,
    #[serde(default)]
    pub window: Window,
    /// The bundles that the brief tells of.
    #[serde(default)]
    pub references: Vec<BundleId>,
    /// Another one may go on from its session, whatever its kind says.
    #[serde(default)]
    pub seeds: bool,
}

impl Job {
    /// `told` is what is said of the bundles that it begins with.
    pub fn new(
        request: &Request,
        record: &WorkerRecord,
        kind: Option<&Kind>,
        bounds: Bounds,
        told: &str,
    ) -> Job {
        let manners = manners(record, kind);
        let task = &request.task;
        let told = if told.is_empty() { String::new() } else { format!("{told}\n") };
        let brief = match request.argv.is_empty() {
            true => task.clone(),
            false => format!("{}\n\n{told}---\n\n{manners}", task.trim_end()),
        };
        let argv = if request.argv.is_empty() { scripted() } else { request.argv.clone() };
        Job {
            worker: record.worker,
            stdin: !argv.iter().any(|word| named(word)),
            argv,
            brief,
            manners,
            limits: request.limits.clone(),
            jail: record.jail,
            only_reads: !record.may_write(),
            bounds,
            letters: Vec::new(),
            window: record.window,
            references: record.loaded.iter().map(|loaded| loaded.bundle).collect(),
            seeds: request.goes_on,
        }
    }

    /// Another run of the worker, in which its agent is told `text`, which holds the messages `letters`.
    pub fn again(
        (worker, kind): (&Worker, Option<&Kind>),
        argv: Vec<String>,
        text: String,
        letters: Vec<u32>,
        jail: Jail,
        bounds: Bounds,
    ) -> Job {
        let argv = if argv.is_empty() { scripted() } else { argv };
        let limits = worker.record.limits.clone();
        Job {
            worker: worker.id,
            stdin: !argv.iter().any(|word| named(word)),
            argv,
            brief: text,
            manners: manners(&worker.record, kind),
            limits,
            jail,
            only_reads: !worker.record.may_write(),
            bounds,
            letters,
            window: worker.record.window,
            references: Vec::new(),
            seeds: false,
        }
    }

    /// How its agent is spoken to while it works, if it listens on standard input.
    pub fn rpc(&self) -> Option<&'static Rpc> {
        Agent::rpc(&self.argv).filter(|_| self.stdin && self.window.is_none())
    }

    /// What goes to standard input at first.
    pub fn input(&self) -> Vec<u8> {
        match self.rpc() {
            Some(rpc) => rpc.begin(&self.brief),
            None if self.window == Window::Typed => {
                ToType::line(0, if self.stdin { &self.brief } else { "" })
            }
            None if self.stdin => self.brief.clone().into_bytes(),
            None => Vec::new(),
        }
    }

    pub fn command(&self, brief_file: &Path, worktree: &Path) -> Vec<OsString> {
        let fill = |a: &String| {
            let filled = a
                .as_bytes()
                .replace("{brief-file}", brief_file.as_os_str().as_bytes())
                .replace("{worktree}", worktree.as_os_str().as_bytes());
            OsString::from_vec(filled.replace("{brief}", &self.brief))
        };
        self.argv.iter().map(fill).collect()
    }
}

/// The command of a worker's agent as it was given, where that is known still: the record has secrets masked.
pub fn given(session: &Session<'_>, worker: &Worker) -> Result<Vec<String>> {
    let noted = crate::host::read_optional(&session.local.command(worker.id))?.unwrap_or_default();
    Ok(serde_json::from_slice(&noted).unwrap_or_else(|_| worker.record.agent.clone()))
}

/// What it should know, whether it may start others, and below that what its kind says.
pub fn manners(record: &WorkerRecord, kind: Option<&Kind>) -> String {
    let more = if record.depth() < record.spawn { MAY_SPAWN } else { "" };
    let kind = kind.map(Kind::told).unwrap_or_default();
    format!("{MANNERS}{more}{kind}")
}

fn scripted() -> Vec<String> {
    vec!["/bin/sh".to_owned(), "-c".to_owned(), SCRIPTED.to_owned()]
}

/// Whether the task goes there.
fn named(word: &str) -> bool {
    word.contains("{brief}") || word.contains("{brief-file}")
}

/// Limits as the person gave them; times in seconds.
pub fn limits(timeout: Option<u64>, silence: Option<u64>, done_pattern: Option<String>) -> Limits {
    Limits { timeout, silence, done_pattern }
}
