//! `verdict`, `inbox` and `debt` on the command line.

use crate::domain::Decision;
use crate::domain::Result;
use crate::surfaces::present::Ends;
use crate::surfaces::present::Page;
use crate::verbs;
use crate::verbs::session::Session;
use crate::verbs::verdict::Request;
use clap::Args;
use clap::ValueEnum;

#[derive(Debug, Args)]
#[group(skip)]
pub struct Verdict {
    /// A worker, by handle or id.
    pub worker: String,
    /// What is decided. Without it, show the card: what there is to decide, and the id for --delta.
    #[arg(value_enum)]
    pub verb: Option<Word>,
    /// Choose option N of the question.
    #[arg(long, value_name = "N", requires = "verb")]
    pub option: Option<u32>,
    /// What is said: the answer, what is to be done otherwise, or why.
    #[arg(short, long, value_name = "TEXT", requires = "verb")]
    pub message: Option<String>,
    /// The delta or the question that was looked at, as the card names it. If it is not the one that there is now,
    /// nothing is decided.
    #[arg(long, value_name = "ID", requires = "verb")]
    pub delta: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Word {
    /// The delta may land.
    Accept,
    /// It must not. The worker is kept.
    Reject,
    /// Tell the worker what is missing, and let it go on.
    Revise,
    /// Answer its question.
    Answer,
    /// Give the task to another worker.
    Retry,
    /// End the worker.
    Stop,
}

impl Word {
    fn decision(self) -> Decision {
        match self {
            Word::Accept => Decision::Accept,
            Word::Reject => Decision::Reject,
            Word::Revise => Decision::Revise,
            Word::Answer => Decision::Answer,
            Word::Retry => Decision::Retry,
            Word::Stop => Decision::Stop,
        }
    }
}

/// What `log` shows instead of all.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Part {
    /// The verdicts: when, who, what, on which delta, at which risk, on what evidence.
    Decisions,
}

pub fn verdict(session: &mut Session<'_>, args: &Verdict, json: bool) -> Result<Page> {
    let Some(word) = args.verb else {
        return Ok(Page::verdict_card(&verbs::verdict::card(session, &args.worker)?, json));
    };
    let request = Request {
        verb: word.decision(),
        option: args.option,
        text: args.message.clone(),
        seen: args.delta.clone(),
        newest: false,
        take: verbs::freeze::Take::default(),
    };
    Ok(Page::decided(&verbs::verdict::decide(session, &args.worker, &request)?, json))
}

pub fn log(
    session: &Session<'_>,
    part: Option<Part>,
    most: Option<usize>,
    json: bool,
    lines: Option<Ends>,
) -> Result<Page> {
    match (part, lines) {
        (Some(Part::Decisions), None) => Ok(Page::decisions(&verbs::log::decisions(session, most)?, json)),
        (Some(Part::Decisions), Some(ends)) => {
            Ok(Page::log_lines(&verbs::log::verdicts(session, most)?, ends))
        }
        (None, Some(ends)) => Ok(Page::log_lines(&verbs::log::run(session, most)?, ends)),
        (None, None) => Ok(Page::log(&verbs::log::run(session, most)?, json)),
    }
}
