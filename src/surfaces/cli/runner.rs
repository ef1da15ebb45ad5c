//! `queue` and `runner` on the command line.

use crate::domain::Result;
use crate::surfaces::cli::args;
use crate::surfaces::present::Page;
use crate::verbs;
use crate::verbs::session::Session;

pub fn queue(session: &mut Session<'_>, args: &args::Queue, json: bool) -> Result<Page> {
    match args {
        args::Queue::List { remote } => {
            Ok(Page::queue(&verbs::queue::list(session, remote.as_deref())?, json))
        }
        args::Queue::Drop { id, remote } => {
            Ok(Page::dropped(&verbs::queue::discard(session, remote.as_deref(), id)?, json))
        }
    }
}

pub fn run(session: &mut Session<'_>, args: &args::Runner, json: bool) -> Result<Page> {
    let request = verbs::runner::Request {
        remote: args.remote.clone(),
        once: args.once,
        jobs: args.jobs.map_or_else(verbs::batch::processors, |jobs| jobs as usize),
        label: args.label.clone(),
    };
    Ok(Page::ran(&verbs::runner::run(session, &request)?, json))
}
