//! `worker` on the command line: what an agent says, and how the answer looks.

use crate::domain::Result;
use crate::domain::plan::Plan;
use crate::domain::protocol::Call;
use crate::domain::protocol::Claim;
use crate::domain::protocol::Claimed;
use crate::domain::protocol::Commit;
use crate::domain::protocol::Fail;
use crate::domain::protocol::Inbox;
use crate::domain::protocol::Spawn;
use crate::domain::protocol::Text;
use crate::domain::protocol::Todo;
use crate::domain::protocol::Wait;
use crate::domain::span;
use crate::host::Env;
use crate::surfaces::present::Page;
use crate::verbs;
use clap::Subcommand;
use std::time::Duration;

#[derive(Debug, Clone, Subcommand)]
#[command(defer = true)]
pub enum Worker {
    /// Add to the list of what is to be done, or check items off. Without arguments, print it.
    Todo {
        /// Items to add.
        #[arg(value_name = "TEXT")]
        add: Vec<String>,
        /// Begin a new list.
        #[arg(long)]
        set: bool,
        /// Item N is done. Repeatable.
        #[arg(long, value_name = "N")]
        check: Vec<usize>,
        /// Item N is not done after all. Repeatable.
        #[arg(long, value_name = "N")]
        uncheck: Vec<usize>,
    },
    /// Say how it goes. The newest one stands on the card of the worker.
    Progress {
        /// What is being done now.
        text: String,
    },
    /// Say something that is worth keeping.
    Note {
        /// What it is.
        text: String,
    },
    /// Ask a person, and end the turn.
    Wait {
        /// What is to be answered. Without it and with --stay, whatever comes next is waited for: a message, or the
        /// result of a worker that this one has started.
        #[arg(
            long,
            value_name = "TEXT",
            required_unless_present = "stay",
            default_value = "",
            hide_default_value = true
        )]
        question: String,
        /// An answer to choose. Repeatable.
        #[arg(long = "option", value_name = "TEXT")]
        options: Vec<String>,
        /// Stay until it is answered, and print the answer.
        #[arg(long)]
        stay: bool,
        /// Stay no longer than this time, such as 30s, 5m or 2h (exit code 75).
        #[arg(long, value_name = "TIME", value_parser = span, requires = "stay")]
        timeout: Option<Duration>,
    },
    /// Lay out what is to be done, for a person to approve, and end the turn. Where the kind of this worker wants that,
    /// nothing may be changed before.
    Plan {
        /// What will be so when it is done.
        #[arg(long, value_name = "TEXT")]
        goal: String,
        /// A step, and behind ` -- ` globs of the files that it touches. Repeatable.
        #[arg(long = "step", value_name = "TEXT -- GLOB…", required = true)]
        steps: Vec<String>,
        /// How it will be seen to work: a command, or what to look at. Repeatable.
        #[arg(long = "verify", value_name = "TEXT", required = true)]
        verification: Vec<String>,
        /// What may go wrong. Repeatable.
        #[arg(long = "risk", value_name = "TEXT")]
        risks: Vec<String>,
    },
    /// Say that the task is done, what came of it, and what shows it. The run ends.
    Done {
        /// How much of the task it is.
        #[arg(long, value_name = "OUTCOME", value_parser = Claimed::WORDS)]
        outcome: String,
        /// What was changed, and where.
        #[arg(long, value_name = "TEXT", default_value = "")]
        summary: String,
        /// What shows it: a command and what it said, or a file and what is in it. Repeatable.
        #[arg(long, value_name = "TEXT")]
        evidence: Vec<String>,
    },
    /// Say that the task cannot be done. What there is of it is kept, and the run ends.
    Fail {
        /// Why.
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Commit what the worktree holds, after it was looked at and its checks passed.
    Commit {
        /// The message: what, and why.
        #[arg(short, long, value_name = "TEXT")]
        message: String,
        /// Take only these files. Repeatable.
        #[arg(long = "path", value_name = "GLOB")]
        paths: Vec<String>,
    },
    /// Start another worker with a part of the task, if this one may. It starts from what is committed here, and its
    /// result comes to the inbox.
    Spawn {
        /// What it is to do.
        task: String,
        /// Its handle; else it is made from the task.
        #[arg(long, value_name = "SLUG")]
        name: Option<String>,
        /// Files that its task is about; else those of this worker. Repeatable.
        #[arg(long = "path", value_name = "GLOB")]
        paths: Vec<String>,
        /// Its kind, by name; see `git skein kinds`.
        #[arg(long, value_name = "KIND")]
        kind: Option<String>,
        /// Its agent, by name; else that of its kind, or of this worker.
        #[arg(long, value_name = "NAME", conflicts_with = "argv")]
        agent: Option<String>,
        /// A name for this request. Said again with the same one, it starts nothing more.
        #[arg(long, value_name = "NAME")]
        request: Option<String>,
        /// Its agent, as a command; else that of this worker.
        #[arg(last = true, value_name = "ARGV")]
        argv: Vec<String>,
    },
    /// Print what this worker was told: messages, answers, and results of workers that it has started.
    Inbox,
}

/// Says it, and shows the answer.
pub fn run(env: &Env, said: &Worker, json: bool, tell: &dyn Fn(&str)) -> Result<Page> {
    let limit = match said {
        Worker::Wait { timeout, .. } => *timeout,
        _ => None,
    };
    Ok(Page::said(&verbs::worker::speak(env, call(said)?, limit, tell)?, json))
}

fn call(said: &Worker) -> Result<Call> {
    Ok(match said.clone() {
        Worker::Todo { add, set, check, uncheck } => Call::Todo(Todo { set, add, check, uncheck }),
        Worker::Progress { text } => Call::Progress(Text { text }),
        Worker::Note { text } => Call::Note(Text { text }),
        Worker::Wait { question, options, stay, .. } => Call::Wait(Wait { question, options, stay }),
        Worker::Plan { goal, steps, verification, risks } => {
            let steps = steps.iter().map(|step| Plan::step(step)).collect();
            Call::Plan(Plan { goal, steps, verification, risks })
        }
        Worker::Done { outcome, summary, evidence } => {
            Call::Done(Claim { outcome: Claimed::parse(&outcome)?, summary, evidence })
        }
        Worker::Fail { reason } => Call::Fail(Fail { reason }),
        Worker::Commit { message, paths } => Call::Commit(Commit { message, paths, head: None }),
        Worker::Spawn { task, name, paths, kind, agent, request, argv } => {
            Call::Spawn(Spawn { task, name, paths, kind, agent, argv, request })
        }
        Worker::Inbox => Call::Inbox(Inbox {}),
    })
}
