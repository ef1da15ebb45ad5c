//! A process of ours that runs beside, while we go on listening.

use crate::domain::Failure;
use crate::domain::Result;
use crate::host::process::command;
use std::ffi::OsString;
use std::path::Path;
use std::process::Output;
use std::process::Stdio;
use tokio::task::JoinHandle;

/// Its run. It is killed when the runtime ends.
#[derive(Debug)]
pub struct Aside {
    run: JoinHandle<std::io::Result<Output>>,
    output: Option<Vec<u8>>,
}

impl Aside {
    pub fn start(argv: &[OsString], cwd: &Path, env: Vec<(OsString, OsString)>) -> Result<Aside> {
        let started = command(argv).and_then(|mut command| {
            command.current_dir(cwd).env_clear().envs(env).stdin(Stdio::null()).stdout(Stdio::piped());
            tokio::process::Command::from(command).kill_on_drop(true).spawn()
        });
        let child = started.map_err(|e| Failure::fault("starting a process of ours", e))?;
        Ok(Aside { run: tokio::spawn(child.wait_with_output()), output: None })
    }

    /// Resolves when it has ended. May be dropped and asked again.
    pub async fn ended(&mut self) {
        if self.output.is_none() {
            let ended = (&mut self.run).await;
            self.output = Some(ended.ok().and_then(|e| e.ok()).map(|o| o.stdout).unwrap_or_default());
        }
    }

    /// Whether it has ended, so that [`Aside::ended`] does not wait.
    pub fn is_over(&self) -> bool {
        self.output.is_some() || self.run.is_finished()
    }

    /// What it said, once it has ended.
    pub fn output(&self) -> Option<&[u8]> {
        self.output.as_deref()
    }
}
