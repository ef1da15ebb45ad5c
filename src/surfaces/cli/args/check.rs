//! Arguments of what is run on a tree.

use crate::verbs::check::Request;
use crate::verbs::freeze::Take;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Check {
    /// A worker, by handle or id.
    pub worker: String,
    /// A command beside those that the worker was dispatched with.
    #[arg(long = "check", value_name = "CMD")]
    pub commands: Vec<String>,
    /// The files that the commands depend on, as globs: a tree with the same ones is not checked again.
    #[arg(long, value_name = "GLOB")]
    pub reads: Vec<String>,
    /// Run what has passed before too.
    #[arg(long)]
    pub again: bool,
    /// A test runner that ran no test has passed too.
    #[arg(long)]
    pub allow_empty: bool,
    /// Even if it did not end ready.
    #[arg(long)]
    pub any_outcome: bool,
    /// Write what ran and how it went to FILE, as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

impl Check {
    pub fn request(&self) -> Request {
        let take = Take { any_outcome: self.any_outcome, allow_empty: self.allow_empty, ..Take::default() };
        Request {
            name: self.worker.clone(),
            commands: self.commands.clone(),
            reads: self.reads.clone(),
            again: self.again,
            take,
        }
    }
}

#[derive(Debug, Args)]
pub struct Verify {
    /// A commit whose tree was gated or checked.
    pub commit: String,
    /// A test runner that ran no test has passed too.
    #[arg(long)]
    pub allow_empty: bool,
    /// Write what ran and how it went to FILE, as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}
