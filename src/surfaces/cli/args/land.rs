//! Arguments of landing, whole and step by step.

use clap::Args;
use clap::Subcommand;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Land {
    /// Workers or local branches; if none is named, the one worker that is ready.
    pub names: Vec<String>,
    /// All workers that are ready for the branch, in the order in which the most of them fit on each other.
    /// The plan is shown first; one that conflicts does not keep the others.
    #[arg(long, conflicts_with = "names")]
    pub all: bool,
    #[command(flatten)]
    pub target: Target,
    #[command(flatten)]
    pub take: Take,
    /// Accept the work, then land it: `verdict accept` and `land` in one.
    #[arg(long, conflicts_with_all = ["all", "dry_run"])]
    pub accept: bool,
    /// How often to build again when the trunk moves meanwhile.
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub retries: u32,
    /// Only say what would be done.
    #[arg(long)]
    pub dry_run: bool,
    /// Print what happens meanwhile as `git skein events` does, and at the end the result as one more line.
    #[arg(long, conflicts_with = "json")]
    pub events: bool,
}

#[derive(Debug, Args, Default)]
pub struct Take {
    /// Refuse a merge that changes it: what lands must be exactly what was made.
    #[arg(long)]
    pub exact: bool,
    /// Make one commit of it.
    #[arg(long)]
    pub squash: bool,
    /// Take in what the worker did not commit, too.
    #[arg(long)]
    pub uncommitted: bool,
    /// Take it whatever its outcome is, and whatever changed outside its worktree.
    #[arg(long)]
    pub any_outcome: bool,
    /// Accept commits that change nothing.
    #[arg(long)]
    pub allow_empty: bool,
}

/// An empty command, as of a variable that is not set, would pass and prove nothing.
pub fn command(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() { Err("there is no command in it") } else { Ok(text.to_owned()) }
}

#[derive(Debug, Args)]
pub struct Target {
    /// The branch to land on, or REMOTE/BRANCH to push it to a server; else the one that the worker was dispatched
    /// for, else the trunk.
    #[arg(long, value_name = "BRANCH")]
    pub onto: Option<String>,
    /// A command that must pass on the exact tree that would land. Repeatable.
    #[arg(long = "gate", value_name = "CMD", value_parser = command)]
    pub gates: Vec<String>,
    /// Write what ran and how it went to FILE, as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Candidate {
    /// Build the exact commit that would become the tip of the trunk, and keep it.
    Create {
        /// A worker or a local branch.
        name: String,
        /// The branch to land on, or REMOTE/BRANCH to push it to a server; else the one that the worker was dispatched
        /// for, else the trunk.
        #[arg(long, value_name = "BRANCH")]
        onto: Option<String>,
        #[command(flatten)]
        take: Take,
        /// Replace a candidate that waits already.
        #[arg(long)]
        supersede: bool,
    },
    /// Run the gate on a candidate.
    Admit {
        /// A worker or a local branch.
        name: String,
        #[command(flatten)]
        target: Target,
    },
    /// Move the trunk to a candidate, if the trunk is where it was.
    Integrate {
        /// A worker or a local branch.
        name: String,
        /// The branch to land on, or REMOTE/BRANCH to push it to a server; else the one that the worker was dispatched
        /// for, else the trunk.
        #[arg(long, value_name = "BRANCH")]
        onto: Option<String>,
        /// A command that the candidate must have passed when it was admitted. Repeatable.
        #[arg(long = "gate", value_name = "CMD", value_parser = command)]
        gates: Vec<String>,
    },
}
