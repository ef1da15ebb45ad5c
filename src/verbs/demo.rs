//! The ground of `demo`: a throwaway repository with tasks beside it, and surroundings in which nothing of
//! the person's own configuration counts.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::Outcome;
use crate::domain::Result;
use crate::host::Ended;
use crate::host::Env;
use crate::host::Run;
use crate::host::Scratch;
use crate::verbs::session::Session;
use crate::verbs::snapshot;
use crate::verbs::wait;
use bstr::BStr;
use bstr::ByteSlice;
use std::ffi::OsStr;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

/// Makes the repository and the tasks.
const SCRIPT: &str = include_str!("demo.sh");

/// How long plain commands may run, and supervisors may take to go home.
const LIMIT: Duration = Duration::from_secs(30);

/// A place to play in. It is removed when dropped.
pub struct Ground {
    scratch: Scratch,
    repo: PathBuf,
    env: Env,
}

impl Ground {
    pub fn make(env: &Env) -> Result<Ground> {
        let scratch = Scratch::new(env, "git-skein-demo-")?;
        let repo = scratch.path().join("shop");
        let nothing = OsStr::new("/dev/null");
        let own = [("GIT_CONFIG_GLOBAL", nothing), ("GIT_CONFIG_SYSTEM", nothing)];
        let ground = Ground { env: env.changed(is_personal, &own), repo, scratch };
        let made = ground.run(SCRIPT, ground.scratch.path())?;
        match made.code {
            Some(0) => Ok(ground),
            _ => Err(Failure::fault("making the demo's repository", made.output.to_str_lossy().trim())),
        }
    }

    /// What every command of the demo sees as its environment.
    pub fn env(&self) -> &Env {
        &self.env
    }

    pub fn repo(&self) -> &Path {
        &self.repo
    }

    /// Runs a shell command in the repository: its exit code and what it printed.
    pub fn shell(&self, command: &str) -> Result<(Option<i32>, String)> {
        let ended = self.run(command, &self.repo)?;
        Ok((ended.code, ended.output.to_str_lossy().into_owned()))
    }

    fn run(&self, command: &str, cwd: &Path) -> Result<Ended> {
        crate::host::run_to_end(Run {
            argv: vec!["/bin/sh".into(), "-c".into(), command.into()],
            cwd: cwd.to_owned(),
            env: self.env.iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect(),
            stdin: None,
            timeout: Some(LIMIT),
            keep: 64 << 10,
        })
    }

    /// The newest snapshot of worker `name` that holds `path`.
    pub fn snapshot_with(&self, name: &str, path: &str) -> Result<Option<Oid>> {
        let session = self.session()?;
        let view = session.view()?;
        let objects = &session.repo.objects;
        for wip in snapshot::chain(&session, view.worker(name)?.wip)? {
            if objects.entry_at(objects.tree_of(wip)?, BStr::new(path))?.is_some() {
                return Ok(Some(wip));
            }
        }
        Ok(None)
    }

    /// Ends what still runs and removes everything, or with `keep` leaves it: where it is.
    pub fn leave(self, keep: bool) -> Result<PathBuf> {
        self.quiet()?;
        if keep {
            self.scratch.keep();
        } else {
            self.scratch.remove()?;
        }
        Ok(self.repo)
    }

    /// No supervisor runs any more: it would write into a folder that is being removed.
    fn quiet(&self) -> Result<()> {
        let mut session = self.session()?;
        let view = session.view()?;
        for worker in view.workers.iter().filter(|w| w.record.outcome == Outcome::Active) {
            wait::stop(&mut session, worker.record.handle.as_str())?;
        }
        let held = |id| crate::host::is_held(&session.local.alive(id)).unwrap_or(false);
        crate::host::wait_until(LIMIT, || !view.workers.iter().any(|w| held(w.id)));
        Ok(())
    }

    fn session(&self) -> Result<Session<'_>> {
        Session::open(&self.env, &self.repo, &|_| {})
    }
}

/// Variables by which a person steers git; what only watches it stays.
fn is_personal(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let harmless = name.starts_with("GIT_TRACE") || name == "GIT_EXEC_PATH";
    name == "EMAIL" || (name.starts_with("GIT_") && !harmless)
}
