//! The verbs around kinds: which there are, and what of them may run.

use crate::domain::Result;
use crate::domain::plan::Verdict;
use crate::surfaces::present::Page;
use crate::verbs;
use crate::verbs::session::Session;
use clap::Args;
use clap::Subcommand;
use clap::ValueEnum;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Bound {
    /// List the kinds of workers, where each comes from, and which are hidden by another of the same name.
    Kinds,
    /// Show what tracked files would make run, and with --yes trust their exact content.
    Trust(Trust),
    /// Show the plan that a worker has laid out, or decide on it. Then the worker goes on.
    Plan(Plan),
}

#[derive(Debug, Args)]
#[group(skip)]
pub struct Plan {
    /// A worker, by handle or id.
    worker: String,
    /// What is decided; without it, the plan is shown.
    #[arg(value_enum)]
    verdict: Option<Word>,
    /// What the worker is told with it: needed to reject.
    #[arg(short, long, value_name = "TEXT", requires = "verdict")]
    message: Option<String>,
    /// The plan that was read, by the first letters of its id; else the newest.
    #[arg(long, value_name = "ID", requires = "verdict")]
    plan: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Word {
    /// It is carried out as it stands.
    Approve,
    /// The worker plans again.
    Reject,
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
            Bound::Plan(_) => "plan",
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
        Bound::Plan(args) => {
            let verdict = args.verdict.map(|word| match word {
                Word::Approve => Verdict::Approve,
                Word::Reject => Verdict::Reject,
            });
            let (worker, plan, text) = (args.worker.clone(), args.plan.clone(), args.message.clone());
            let request = verbs::plan::Request { worker, verdict, plan, text };
            Ok(Page::plan(&verbs::plan::run(session, &request)?, json))
        }
    }
}
