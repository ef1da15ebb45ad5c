//! The declarations: every flag of every verb, its help, its man page.

use clap::Args;
use clap::Parser;
use clap::Subcommand;
use clap::ValueEnum;
use std::path::PathBuf;
use std::time::Duration;

/// Run coding agents on one repository, each in its own worktree, and land their work with proof.
#[derive(Debug, Parser)]
#[command(name = "git-skein", version, disable_help_subcommand = true, max_term_width = 100)]
pub struct Cli {
    /// Run as if started in DIR.
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub dir: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long, global = true)]
    pub json: bool,
    /// Print the result only.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Say more: the git commands that are run.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Colour the output.
    #[arg(long, value_name = "WHEN", value_enum, default_value = "auto", global = true)]
    pub color: When,
    /// Never start a pager. None is started yet.
    #[arg(long, global = true)]
    pub no_pager: bool,
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum When {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Prepare this repository: a sentinel ref and this clone's id. Writing verbs do it by themselves.
    Init,
    /// Give a task to a new worker in its own worktree.
    Dispatch(Dispatch),
    /// List the workers.
    Status {
        /// Look again every second until interrupted.
        #[arg(long)]
        watch: bool,
    },
    /// Show one worker: its card, or one part of it.
    Show(Show),
    /// Wait until workers have ended; the exit code tells how.
    Wait {
        /// Workers; all that run if none is named.
        workers: Vec<String>,
        /// Return when the first has ended.
        #[arg(long)]
        any: bool,
        /// Give up after this time (exit code 75).
        #[arg(long, value_name = "TIME", value_parser = time)]
        timeout: Option<Duration>,
    },
    /// End a worker's processes. Everything it did is kept.
    Stop { worker: String },
    /// Freeze a worker's work as a delta; with --into, bring it onto a branch.
    Import {
        worker: String,
        /// A branch that collects work before it lands; made at the trunk if it is new.
        #[arg(long, value_name = "BRANCH")]
        into: Option<String>,
        #[command(flatten)]
        take: Take,
        /// Only say what would be done.
        #[arg(long)]
        dry_run: bool,
    },
    /// A landing in separate steps, each repeatable.
    #[command(subcommand)]
    Candidate(Candidate),
    /// Bring workers' deltas, or your own branches, onto the trunk.
    Land {
        /// Workers or local branches; the one worker that is ready if none is named.
        names: Vec<String>,
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        take: Take,
        /// Build again so often if the trunk moves meanwhile.
        #[arg(long, value_name = "N", default_value_t = 3)]
        retries: u32,
        /// Only say what would be done.
        #[arg(long)]
        dry_run: bool,
    },
    /// Tell whether work is on the trunk, and by what proof.
    Landed {
        /// A worker, or any revision.
        name: String,
        /// Where a plain revision was forked from; else its merge base with the trunk.
        #[arg(long, value_name = "REV")]
        base: Option<String>,
        /// The branch to look at; else the trunk.
        #[arg(long, value_name = "BRANCH")]
        onto: Option<String>,
        /// Show every test that was made.
        #[arg(long)]
        explain: bool,
    },
    /// Show the lane: intents, landings, evidence; newest first.
    Log {
        /// At most so many entries.
        #[arg(short = 'n', value_name = "N")]
        most: Option<usize>,
    },
    /// Run the main job in a throwaway repository, with the built-in agent.
    Demo {
        /// Keep the repository and say where it is.
        #[arg(long)]
        keep: bool,
    },
    /// Write the man pages.
    Man {
        /// The folder for them; else where man finds your own pages.
        #[arg(value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Print help for a verb, or `exit-codes`.
    Help { topic: Option<String> },
}

#[derive(Debug, Args)]
pub struct Dispatch {
    /// What is to be done; else -F.
    pub task: Option<String>,
    /// Read the task from FILE (`-`: standard input).
    #[arg(short = 'F', long = "file", value_name = "FILE", conflicts_with = "task")]
    pub file: Option<PathBuf>,
    /// Fork from REV; else from the tip of the trunk.
    #[arg(long, value_name = "REV")]
    pub base: Option<String>,
    /// The worker's handle; else made from the task.
    #[arg(long, value_name = "SLUG")]
    pub name: Option<String>,
    /// A path it says it will touch; others are reported at import. Repeatable.
    #[arg(long = "path", value_name = "GLOB")]
    pub paths: Vec<String>,
    /// The branch the work is meant for; else the trunk.
    #[arg(long, value_name = "BRANCH")]
    pub onto: Option<String>,
    /// A command that must pass before it lands; `{paths}` stands for the changed paths. Repeatable.
    #[arg(long = "check", value_name = "CMD")]
    pub checks: Vec<String>,
    /// End the run after this time.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub timeout: Option<Duration>,
    /// End the run when there was neither output nor a change for this time.
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub silence: Option<Duration>,
    /// A line of output that matches means that the agent is done.
    #[arg(long, value_name = "RE")]
    pub done_pattern: Option<String>,
    /// Stay until the worker has ended; the exit code tells how.
    #[arg(long)]
    pub wait: bool,
    /// The agent: any command. `{brief}`, `{brief-file}` and `{worktree}` are filled in; without a brief
    /// in it, the task goes to its standard input. No command: the built-in scripted agent.
    #[arg(last = true, value_name = "ARGV")]
    pub argv: Vec<String>,
}

#[derive(Debug, Args)]
#[group(skip)]
pub struct Show {
    pub worker: String,
    /// The change set as a diff.
    #[arg(long, group = "part")]
    pub diff: bool,
    /// The task as the agent got it.
    #[arg(long, group = "part")]
    pub brief: bool,
    /// The transitions of its record.
    #[arg(long, group = "part")]
    pub events: bool,
    /// The agent's output.
    #[arg(long, group = "part")]
    pub log: bool,
}

#[derive(Debug, Args, Default)]
pub struct Take {
    /// Refuse unless it lands byte for byte as it was made.
    #[arg(long)]
    pub exact: bool,
    /// Bring it home as one commit.
    #[arg(long)]
    pub squash: bool,
    /// Take in changes beyond the worker's last commit.
    #[arg(long)]
    pub uncommitted: bool,
    /// Whatever its outcome, and whatever changed outside its worktree.
    #[arg(long)]
    pub any_outcome: bool,
    /// Accept commits that change nothing.
    #[arg(long)]
    pub allow_empty: bool,
}

#[derive(Debug, Args)]
pub struct Target {
    /// The branch to land on; else the one the worker was dispatched for, else the trunk.
    #[arg(long, value_name = "BRANCH")]
    pub onto: Option<String>,
    /// A command that must pass on the exact tree that would land. Repeatable.
    #[arg(long = "gate", value_name = "CMD")]
    pub gates: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub enum Candidate {
    /// Build the exact commit that would become the trunk, and keep it.
    Create {
        name: String,
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        take: Take,
        /// Replace one that waits already.
        #[arg(long)]
        supersede: bool,
    },
    /// Run the gate on it.
    Admit {
        name: String,
        #[command(flatten)]
        target: Target,
    },
    /// Move the branch to it, if the branch is where it was.
    Integrate {
        name: String,
        #[command(flatten)]
        target: Target,
    },
}

/// `30`, `30s`, `5m`, `2h`, `1h 30m`: seconds without a unit.
fn time(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.parse::<u64>() {
        return Ok(Duration::from_secs(seconds));
    }
    let parsed: jiff::SignedDuration =
        text.parse().map_err(|_| "give a time such as 30s, 5m or 2h".to_owned())?;
    Duration::try_from(parsed).map_err(|_| "a time cannot be negative".to_owned())
}
