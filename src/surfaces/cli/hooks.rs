//! `hooks` on the command line.

use crate::domain::Result;
use crate::surfaces::present::Page;
use crate::verbs::hooks;
use crate::verbs::hooks::Request;
use crate::verbs::session::Session;
use clap::Subcommand;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Hooks {
    /// Put ours in place. A hook that is there is set aside, and called by ours.
    ///
    /// Of a repository with a working tree: reference-transaction, pre-commit, post-rewrite, post-merge and pre-push. Of
    /// a bare one: pre-receive. From git 2.54 on they are lines of the repository's configuration, and no files.
    Install {
        /// Even if `core.hooksPath` is set for all repositories: they run in each of them then.
        #[arg(long)]
        shared: bool,
        /// As files, whatever this git reads: for a repository that an older git uses as well.
        #[arg(long)]
        files: bool,
    },
    /// Take ours away, and bring back what was there before, byte for byte.
    Uninstall,
    /// Tell what stands there. The exit code is 1 if one of ours is not in place.
    Status,
}

impl Hooks {
    pub fn name(&self) -> &'static str {
        match self {
            Hooks::Install { .. } => "hooks install",
            Hooks::Uninstall => "hooks uninstall",
            Hooks::Status => "hooks status",
        }
    }
}

pub fn run(session: &mut Session<'_>, verb: &Hooks, json: bool) -> Result<Page> {
    let (report, fine) = match verb {
        Hooks::Install { shared, files } => {
            let report = hooks::install(session, Request { shared: *shared, files: *files })?;
            let fine = report.is_complete();
            (report, fine)
        }
        Hooks::Uninstall => {
            let report = hooks::uninstall(session)?;
            let fine = report.is_empty();
            (report, fine)
        }
        Hooks::Status => {
            let report = hooks::status(session)?;
            let fine = report.is_complete();
            (report, fine)
        }
    };
    Ok(Page::hooks(verb.name(), &report, fine, json))
}
