//! The arguments of `dispatch`.

use crate::surfaces::cli::args::Limit;
use crate::surfaces::cli::args::command;
use crate::surfaces::cli::args::limit;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub struct Dispatch {
    /// What is to be done, in words for the agent. See -F for long ones.
    pub task: Option<String>,
    /// Read the task from FILE, or with `-` from standard input.
    #[arg(short = 'F', long = "file", value_name = "FILE", conflicts_with = "task")]
    pub file: Option<PathBuf>,
    /// Fork from REV, not from the tip of the trunk.
    #[arg(long, value_name = "REV")]
    pub base: Option<String>,
    /// Fork from the checkout you stand in, with what is not committed there. Only what the worker changes
    /// beyond it lands.
    #[arg(long, conflicts_with = "base")]
    pub with_dirty: bool,
    /// The handle of the worker; else it is made from the task.
    #[arg(long, value_name = "SLUG")]
    pub name: Option<String>,
    /// What kind of worker, by name: `git skein kinds` lists them. What else is said here goes before what the kind
    /// says. The default is the kind `default`.
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// Files that the task is about. Changes of others are reported at import. Repeatable.
    #[arg(long = "path", value_name = "GLOB")]
    pub paths: Vec<String>,
    /// The branch that the work is meant for, here or as REMOTE/BRANCH on a server; else the trunk.
    #[arg(long, value_name = "BRANCH")]
    pub onto: Option<String>,
    /// A gate of this worker: a command that must pass before its work lands. `{paths}` stands for the
    /// changed paths. Repeatable.
    #[arg(long = "check", value_name = "CMD", value_parser = command)]
    pub checks: Vec<String>,
    /// End the run after this time, such as 30s, 5m or 2h.
    #[arg(long, value_name = "TIME", value_parser = limit)]
    pub timeout: Option<Duration>,
    /// End the run after this time without output or a changed file.
    #[arg(long, value_name = "TIME", value_parser = limit)]
    pub silence: Option<Duration>,
    /// End the run when a line of output matches: the agent is done.
    #[arg(long, value_name = "RE")]
    pub done_pattern: Option<String>,
    /// Start nothing here: put the task into the queue of REMOTE, else of skein.remote or origin, for a `runner`
    /// anywhere. The base goes along.
    #[arg(long, value_name = "REMOTE", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = [
        "with_dirty", "wait", "jail", "require_jail", "tmux", "spawn", "with", "from", "wait_limit", "ignore_limit",
    ])]
    pub queue: Option<String>,
    /// With --queue: only a runner with this label takes it.
    #[arg(long, value_name = "LABEL", requires = "queue")]
    pub label: Option<String>,
    /// Stay until the worker has ended. The exit code tells how.
    #[arg(long)]
    pub wait: bool,
    /// With --wait: print what happens meanwhile as `git skein events` does, and at the end the result as one more line.
    #[arg(long, requires = "wait", conflicts_with_all = ["json", "from"])]
    pub events: bool,
    /// The agent, by name: claude, codex, pi, opencode, gemini or aider; skein.agent is the default. Any other
    /// command is given after --.
    #[arg(long, value_name = "NAME", conflicts_with = "argv")]
    pub agent: Option<String>,
    /// Shut the agent in: it sees the machine read-only and its own git alone, and writes only its worktree.
    /// With auto, which is also the default of skein.jail, wherever that works.
    #[arg(long, value_name = "LEVEL", value_parser = ["auto", "bwrap", "none"])]
    pub jail: Option<String>,
    /// Start nothing that cannot be shut in.
    #[arg(long)]
    pub require_jail: bool,
    /// Run the agent in a window of the tmux session of this repository. `attach` leads there, `peek` shows what it
    /// shows; the window stays when the agent has ended. A task that would go to standard input is typed in.
    #[arg(long, conflicts_with = "from")]
    pub tmux: bool,
    /// With --tmux: the agent reads what is typed into its window at any time, so `tell` types messages there. It is
    /// known of the known agents.
    #[arg(long, requires = "tmux")]
    pub interactive: bool,
    /// Let it start workers of its own, and those theirs, N deep at most; skein.spawn is the default, and without it
    /// none may.
    #[arg(long, value_name = "N")]
    pub spawn: Option<u32>,
    /// Begin with a bundle as a reference, a saved one or a file. Repeatable.
    #[arg(long, value_name = "BUNDLE")]
    pub with: Vec<String>,
    #[command(flatten)]
    pub limit: Limit,
    /// Dispatch many tasks from FILE, or with `-` from standard input: a JSON object in each line with `task`
    /// and, if wanted, name, base, kind, paths, onto, checks, timeout, silence, done_pattern, argv, and `after`, the
    /// names of tasks that must be ready first. A task starts from the tip that its branch has then. After exactly
    /// one other for the same branch, and without a base of its own, it starts from the work of that one unless it
    /// has landed: it sees and builds on it, and only what it does itself is its own. Cut short, the same command
    /// goes on where it was.
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "task", "file", "base", "with_dirty", "name", "paths", "onto", "checks", "timeout", "silence", "done_pattern",
    ])]
    pub from: Option<PathBuf>,
    /// With --from: at most N workers at a time; else as many as there are processors.
    #[arg(short = 'j', long, value_name = "N", requires = "from", conflicts_with_all = ["task", "file"], value_parser = clap::value_parser!(u32).range(1..))]
    pub jobs: Option<u32>,
    /// The agent: any command. `{brief}`, `{brief-file}` and `{worktree}` are filled in. If neither of the
    /// first two is there, the brief goes to its standard input: the task, and below it how a worker behaves.
    /// Without a command the built-in agent runs the lines of the task that begin with `run: `.
    #[arg(last = true, value_name = "ARGV")]
    pub argv: Vec<String>,
}
