//! The verbs around kinds: which there are, and what of them may run.

use crate::domain::Result;
use crate::surfaces::present::Page;
use crate::verbs;
use crate::verbs::session::Session;
use clap::Args;
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum Bound {
    /// List the kinds of workers, where each comes from, and which are hidden by another of the same name.
    Kinds,
    /// Show what tracked files would make run, and with --yes trust their exact content.
    Trust(Trust),
}

#[derive(Debug, Args)]
#[group(skip)]
pub struct Trust {
    /// Only these files: by path, or by 8 letters or more of the digest.
    #[arg(value_name = "FILE")]
    names: Vec<String>,
    /// One line for each file, and no content.
    #[arg(long, conflicts_with = "yes")]
    list: bool,
    /// Trust them as they are at the tip of the trunk. A change asks again.
    #[arg(long)]
    yes: bool,
}

impl Bound {
    pub fn name(&self) -> &'static str {
        match self {
            Bound::Kinds => "kinds",
            Bound::Trust(_) => "trust",
        }
    }
}

pub fn run(session: &mut Session<'_>, verb: &Bound, json: bool) -> Result<Page> {
    match verb {
        Bound::Kinds => Ok(Page::kinds(&verbs::kinds::run(session)?, json)),
        Bound::Trust(args) => {
            let request = verbs::trust::Request { names: args.names.clone(), yes: args.yes };
            Ok(Page::trust(&verbs::trust::run(session, &request)?, args.list, json))
        }
    }
}
