//! The declarations: every flag of every verb, its help, its man page.

mod artifacts;
mod check;
mod dispatch;
pub mod doc;
mod land;
mod runner;

pub use artifacts::Artifacts;
pub use artifacts::Search;
pub use check::Check;
pub use check::Verify;
pub use dispatch::Dispatch;
pub use land::Candidate;
pub use land::Land;
pub use land::Take;
use land::command;
pub use runner::Queue;
pub use runner::Runner;

use crate::domain::Since;
use crate::domain::limit;
use crate::domain::span;
use crate::surfaces::cli::again::Limit;
use crate::surfaces::cli::again::Resume;
use crate::surfaces::cli::args::doc::Doc;
use crate::surfaces::cli::bundle::Bundle;
use crate::surfaces::cli::decide;
use crate::surfaces::cli::hooks::Hooks;
use crate::surfaces::cli::kinds::Bound;
use crate::surfaces::cli::worker::Worker;
use crate::surfaces::present::Ends;
use clap::Args;
use clap::Parser;
use clap::Subcommand;
use clap::ValueEnum;
use clap_complete::Shell;
use std::path::PathBuf;
use std::time::Duration;

/// Below the list of verbs: the words that their help uses, and where to go on.
const WORDS: &str = "\
A worker is one task given to one agent: any command, in a worktree of its own. What it made is frozen as a \
delta. A delta becomes a candidate on the tip of the trunk (the branch that work lands on), passes the gate \
(commands of yours), and lands. The lane is the journal of all that.

To see it at work: git skein demo. What exit codes mean: git skein help exit-codes. What a refusal \
means: git skein help refusals.";

const GLOBAL: &str = "Options of every verb";

/// Run coding agents on one repository, each in its own worktree, and land their work with proof.
#[derive(Debug, Parser)]
#[command(name = "git-skein", bin_name = "git skein", version, after_help = WORDS)]
#[command(disable_help_subcommand = true, max_term_width = 100)]
pub struct Cli {
    /// Run as if started in DIR.
    #[arg(short = 'C', value_name = "DIR", global = true, help_heading = GLOBAL)]
    pub dir: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub json: bool,
    /// Say nothing beside the result.
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    pub quiet: bool,
    /// Show the git commands that are run.
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = GLOBAL)]
    pub verbose: u8,
    /// When to colour the output. For auto, NO_COLOR counts before color.skein, and that before color.ui.
    #[arg(long, value_name = "WHEN", value_enum, default_value = "auto", global = true, help_heading = GLOBAL)]
    pub color: When,
    /// Start no pager. None is started yet.
    #[arg(long, global = true, help_heading = GLOBAL)]
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
#[command(defer = true)]
pub enum Verb {
    /// Prepare this repository. Verbs that write do it by themselves.
    Init,
    /// Give a task to a new worker in its own worktree.
    Dispatch(Box<Dispatch>),
    /// List the workers.
    Status {
        /// Look again every second until interrupted.
        #[arg(long, conflicts_with_all = ["porcelain", "nul"])]
        watch: bool,
        #[command(flatten)]
        lines: Lines,
        /// List the workers that were closed, not the open ones.
        #[arg(long)]
        archived: bool,
    },
    /// Show one worker: its card, or one part of it.
    Show(Show),
    /// List what the run of a worker has left: what it was told, ran, changed and said, and what was seen and decided of it.
    Artifacts(Artifacts),
    /// Look for words in what all workers have left, open and closed; first in those that wait for you.
    Search(Search),
    /// Save what there is of a worker, take it along as a file, open it anywhere, give it to another worker.
    ///
    /// A bundle is named by its id or the first letters of it, or by the handle of its worker if there is one of it;
    /// for `show`, `load` and `dispatch --with` a file does as well.
    #[command(subcommand)]
    Bundle(Bundle),
    /// Write markdown together with an agent: both texts stay, and the agent's part is committed.
    #[command(subcommand)]
    Doc(Doc),
    /// Tell which workers are at work on the same lines, and whether their work can be merged.
    ///
    /// Seen in the newest snapshots of all open workers with work that has not landed. The exit code is 1 if one is
    /// in the way of another.
    Overlap {
        /// Only pairs with these workers, by handle or id.
        workers: Vec<String>,
        /// Look again every second, and print what is new, until interrupted.
        #[arg(long)]
        watch: bool,
        /// A command that must pass on what each two come to together; of all pairs, those too that share no file.
        #[arg(long = "gate", value_name = "CMD", conflicts_with = "watch")]
        gates: Vec<String>,
    },
    /// Print what happens to workers, a JSON object a line, for other programs.
    ///
    /// The forms of the lines are in `docs/events.md`. Each look at what is new ends with a line of the kind
    /// `cursor`; given to `--since`, the stream goes on from there.
    Events {
        /// Only these workers, by handle or id.
        workers: Vec<String>,
        /// Go on until interrupted, or until nobody reads any more.
        #[arg(short, long)]
        follow: bool,
        /// Begin where this cursor says, or with `now`; else with the birth of each open worker.
        #[arg(long, value_name = "CURSOR")]
        since: Option<Since>,
    },
    /// Wait until workers have ended. The exit code tells how.
    Wait {
        /// Workers, by handle or id; if none is named, all that run.
        workers: Vec<String>,
        /// Return when the first of them has ended.
        #[arg(long)]
        any: bool,
        /// Give up after this time, such as 30s, 5m or 2h (exit code 75).
        #[arg(long, value_name = "TIME", value_parser = span)]
        timeout: Option<Duration>,
        /// Print what happens meanwhile as `git skein events` does, and at the end the result as one more line.
        #[arg(long, conflicts_with = "json")]
        events: bool,
    },
    /// End a worker's processes. Everything it did is kept.
    Stop {
        /// A worker, by handle or id.
        worker: String,
    },
    /// Go to the tmux window of a worker; outside tmux, print the command that leads there.
    Attach {
        /// A worker, by handle or id.
        worker: String,
    },
    /// Show what the tmux window of a worker shows, or showed last.
    Peek {
        /// A worker, by handle or id.
        worker: String,
        /// At most N lines, from the end.
        #[arg(short = 'n', long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=2000))]
        lines: u32,
    },
    /// Tell a worker something, or answer its question.
    Tell {
        /// A worker, by handle or id.
        worker: String,
        /// The message.
        text: String,
        /// The number of the question that it answers; else the oldest open one, if there is any.
        #[arg(long, value_name = "QUESTION")]
        to: Option<u32>,
    },
    /// Let a worker whose turn has ended go on, with what it was told meanwhile.
    Resume(Resume),
    /// List what waits for you, the most urgent first.
    Inbox,
    /// Look at all workers and decide of them by keys, in the whole terminal.
    ///
    /// Each key runs a plain verb, whose command line is shown before. With --json it is `inbox`.
    Dock,
    /// Show what is to be decided of a worker, or decide it.
    ///
    /// A verdict is bound to the one delta or question that the card names; if that has changed meanwhile, nothing is
    /// decided.
    Verdict(decide::Verdict),
    /// List work that landed or was closed, and that nobody ever judged.
    Debt,
    #[command(flatten)]
    Bound(Bound),
    /// Speak as a worker: only from inside one.
    #[command(subcommand)]
    Worker(Worker),
    /// The same as tools of the Model Context Protocol, on standard input and output.
    ///
    /// For an agent that speaks it: enter `git skein mcp` as a server in its settings. It is started by the agent,
    /// inside a worker; elsewhere each tool refuses.
    Mcp,
    /// Freeze a worker's work as a delta, and with --into bring it onto a branch.
    Import {
        /// A worker, by handle or id.
        worker: String,
        /// A branch that collects work before it lands. If it is new, it starts at the tip of the trunk. The checks
        /// of the workers run when it lands; on the branch that the work is meant for they run at once.
        #[arg(long, value_name = "BRANCH")]
        into: Option<String>,
        #[command(flatten)]
        take: Take,
        /// Only say what would be done.
        #[arg(long)]
        dry_run: bool,
    },
    /// Run a worker's checks on its delta, in a throwaway worktree, and keep what they show.
    ///
    /// A tree on which a command has passed is not checked again.
    Check(Check),
    /// Run again what was recorded of a commit's tree, in a clean worktree, and compare.
    Verify(Verify),
    /// Land in separate steps, each of which may be repeated.
    #[command(subcommand)]
    Candidate(Candidate),
    /// Bring workers' deltas, or your own branches, onto the trunk.
    Land(Land),
    /// Tell whether work is on the trunk, and by what proof.
    Landed {
        /// A worker, or any revision.
        name: String,
        /// Where a revision was forked from; else its merge base with the trunk.
        #[arg(long, value_name = "REV")]
        base: Option<String>,
        /// The branch to look at, or REMOTE/BRANCH as it was seen last; else the trunk.
        #[arg(long, value_name = "BRANCH")]
        onto: Option<String>,
        /// Show each test that was made and what it found.
        #[arg(long)]
        explain: bool,
        /// Show what another tool says beside it. The exit code is that of our own answer.
        #[arg(long, value_name = "TOOL", value_enum)]
        by: Option<By>,
        #[command(flatten)]
        lines: Lines,
    },
    /// Bring the state of all clones together, by way of a remote: workers, lanes, documents, archives, notes.
    ///
    /// Nothing is forced and no branch is touched: it moves what refs/skein holds, here and there. It may be given
    /// again at any time.
    Sync {
        /// The remote; else that of `skein.remote`, origin, or the only one.
        remote: Option<String>,
    },
    /// List the briefs that wait on a remote for a runner, or drop one: `dispatch --queue` puts them there.
    #[command(subcommand)]
    Queue(Queue),
    /// Run what waits in the queue of a remote, each brief as a worker of this clone, and bring the results there.
    ///
    /// Only agents and checks that `skein.runnerAgent` and `skein.runnerCheck` name may run: see `docs/runner.md`.
    Runner(Runner),
    /// Close workers whose work is proven landed, or who did nothing. Tip and snapshots are kept.
    Reap(Reap),
    /// Make a worktree again for a worker, open or closed, with what it had not committed.
    Restore {
        /// A worker, by handle or id.
        worker: String,
        /// The folder for it; else where `dispatch` would put it.
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
        /// Exactly as one of its snapshots has it; else at its tip, with the newest leftovers.
        #[arg(long, value_name = "REV")]
        snapshot: Option<String>,
        /// Even if files outside its worktree changed while it ran: a checkout runs what git's configuration names.
        #[arg(long)]
        any_outcome: bool,
    },
    /// Show what was intended, gated, landed and decided, newest first.
    Log {
        /// Only this.
        #[arg(value_enum)]
        part: Option<decide::Part>,
        /// At most so many entries.
        #[arg(short = 'n', value_name = "N")]
        most: Option<usize>,
        #[command(flatten)]
        lines: Lines,
    },
    /// Look for what is wrong in and around this repository.
    Doctor {
        /// Mend what can be mended safely, and say each thing that is done.
        #[arg(long)]
        fix: bool,
        #[command(flatten)]
        lines: Lines,
    },
    /// Put hooks beside those that are there: a fence around workers, and checks when they commit.
    ///
    /// In a bare repository it is one for the server: the trunk moves only to what was gated. `docs/hooks.md` has what
    /// each of them does, and what it does not stop.
    #[command(subcommand)]
    Hooks(Hooks),
    /// Move a branch back to where it was before a landing, or forward again after an undo.
    Undo {
        /// An operation as `log` prints it, or its first letters; else the newest landing of this clone.
        op: Option<String>,
        /// Only say what would be done.
        #[arg(long)]
        dry_run: bool,
    },
    /// Check everything that is stored, and name what is wrong. Without --rebuild it only reads.
    Fsck {
        /// Make again what can be made again: the notes from the lanes, lost keep-refs from the records. Caches
        /// are removed.
        #[arg(long)]
        rebuild: bool,
    },
    /// See it all at work, in a throwaway repository with the built-in agent.
    Demo {
        /// Keep the repository and say where it is.
        #[arg(long)]
        keep: bool,
    },
    /// Write the man pages.
    Man {
        /// The folder for them; else the one where `man` finds your own pages.
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
    /// Write completions for a shell to standard output.
    ///
    /// In bash, save them as `~/.local/share/bash-completion/completions/git-skein`; in zsh, as `_git-skein` in a
    /// folder of your `fpath`; in fish, as `~/.config/fish/completions/git-skein.fish`. They work for
    /// `git skein` too, through git's own completion.
    Completions {
        /// The shell.
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Print help for a verb, or on exit codes or refusals.
    Help {
        /// A verb such as `land` or `candidate create`; `exit-codes`; `refusals`, or one of them by its token.
        #[arg(value_name = "TOPIC")]
        topic: Vec<String>,
    },
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true).args(["workers", "all"]))]
pub struct Reap {
    /// Workers, by handle or id.
    pub workers: Vec<String>,
    /// Every worker that does not run.
    #[arg(long, conflicts_with = "workers")]
    pub all: bool,
    /// Do it. Without it, only say what would be done.
    #[arg(long)]
    pub yes: bool,
    /// Also workers whose work is not proven to have landed.
    #[arg(long)]
    pub include_unlanded: bool,
    /// Also worktrees with ignored files, which no snapshot saw: those are lost that the main checkout does not have.
    #[arg(long)]
    pub include_ignored: bool,
}

#[derive(Debug, Args)]
#[group(skip)]
pub struct Show {
    /// A worker, by handle or id.
    pub worker: String,
    /// The change set as a diff.
    #[arg(long, group = "part")]
    pub diff: bool,
    /// The task as the agent got it.
    #[arg(long, group = "part")]
    pub brief: bool,
    /// The transitions of its record, and what it said meanwhile.
    #[arg(long, group = "part")]
    pub events: bool,
    /// The agent's output.
    #[arg(long, group = "part")]
    pub log: bool,
    #[command(flatten)]
    pub lines: Lines,
}

// Records for scripts. Where this is flattened, a doc comment would stand for the one of the verb.
#[derive(Debug, Args)]
#[group(skip)]
pub struct Lines {
    /// Print records for scripts, the same in every version that has this format.
    #[arg(long, value_name = "FORMAT", value_enum, num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "v1")]
    pub porcelain: Option<Format>,
    /// The same with NUL after each record and nothing quoted.
    #[arg(short = 'z')]
    pub nul: bool,
}

/// The tools whose answer `landed` shows beside its own.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum By {
    /// git's own `git cherry`: a patch id of each commit.
    Cherry,
}

/// The formats of `--porcelain`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Format {
    V1,
}

impl Lines {
    /// How records end, if records are asked for.
    pub fn ends(&self) -> Option<Ends> {
        match (self.nul, self.porcelain) {
            (true, _) => Some(Ends::Nul),
            (false, Some(Format::V1)) => Some(Ends::Line),
            (false, None) => None,
        }
    }
}
