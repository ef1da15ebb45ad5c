//! `resume`, and what to do while an agent cannot be started.

use crate::domain::Result;
use crate::surfaces::present::Page;
use crate::verbs;
use crate::verbs::pause::AtLimit;
use crate::verbs::session::Session;
use clap::Args;

#[derive(Debug, Args)]
pub struct Resume {
    /// A worker, by handle or id.
    pub worker: String,
    /// Something more that it is told.
    #[arg(short, long, value_name = "TEXT")]
    pub message: Option<String>,
    #[command(flatten)]
    pub limit: Limit,
}

// What to do while the usage limit of the agent is reached. A doc comment would stand for the one of the verb.
#[derive(Debug, Args)]
#[group(skip)]
pub struct Limit {
    /// If a worker of the same agent ran into its usage limit, stay until that passes.
    #[arg(long, conflicts_with = "ignore_limit")]
    wait_limit: bool,
    /// Start the agent even if its usage limit is reached.
    #[arg(long)]
    ignore_limit: bool,
}

impl Limit {
    pub fn at_limit(&self) -> AtLimit {
        match (self.wait_limit, self.ignore_limit) {
            (true, _) => AtLimit::Wait,
            (_, true) => AtLimit::Ignore,
            _ => AtLimit::Refuse,
        }
    }
}

pub fn run(session: &mut Session<'_>, args: &Resume, json: bool) -> Result<Page> {
    let message = args.message.as_deref();
    let done = verbs::resume::run(session, &args.worker, message, args.limit.at_limit())?;
    Ok(Page::resumed(&done, json))
}
