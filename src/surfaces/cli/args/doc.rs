//! The declarations of `doc`.

use clap::Args;
use clap::Subcommand;
use clap::ValueEnum;
use std::path::Path;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Doc {
    /// Make a new document; without a file, only prepare the repository.
    Init {
        /// The file. It must not be there.
        file: Option<PathBuf>,
        /// Its title; else the name of the file.
        title: Option<String>,
        /// The agent that answers in it.
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// How answers stand in it.
        #[arg(long, value_name = "FORMAT", value_enum, default_value = "template")]
        mode: Mode,
    },
    /// Make a document of a markdown file: one line in its front matter gives it an identity.
    Claim {
        /// The file.
        file: PathBuf,
        /// Another identity than it has: it is a copy.
        #[arg(long)]
        new: bool,
    },
    /// Show what is in the file and was not sent to an agent yet.
    Diff {
        /// The document.
        file: PathBuf,
        /// Leave comments out.
        #[arg(long)]
        no_comments: bool,
        /// End with 1 if there is anything.
        #[arg(long)]
        exit_code: bool,
    },
    /// All that an agent needs before it answers, as one JSON object; what is new is sent with it.
    Preflight {
        /// The document.
        file: PathBuf,
    },
    /// Bring the answer on standard input into the document.
    ///
    /// Blocks `<!-- patch:NAME -->` to `<!-- /patch:NAME -->` go into the component of that name, the rest into the
    /// exchange.
    Write(Write),
    /// The same, and commit it.
    Respond(Write),
    /// Send what is new to an agent, and bring its answer in.
    ///
    /// The agent is a worker that may change no file. While it works, anybody may write in the document.
    Run {
        /// The document.
        file: PathBuf,
        /// On a branch of the document's own, which is made and checked out.
        #[arg(short, long)]
        branch: bool,
        /// The agent; else as the front matter says, or `skein.agent`, or claude.
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// Its model.
        #[arg(long, value_name = "NAME")]
        model: Option<String>,
        /// What to shut the agent in by; else as `skein.jail` says.
        #[arg(long, value_name = "JAIL")]
        jail: Option<String>,
        /// Only print what would be sent.
        #[arg(long)]
        dry_run: bool,
        /// Commit nothing.
        #[arg(long)]
        no_git: bool,
        /// The command of the agent, if it is none that is known.
        #[arg(last = true, value_name = "COMMAND", conflicts_with = "agent")]
        argv: Vec<String>,
    },
    /// Put text into a component, as its attributes and `.skein/components.toml` say.
    Patch {
        /// The document.
        file: PathBuf,
        /// The component.
        component: String,
        /// The text; else it is read from standard input.
        content: Option<String>,
        /// Where it goes, whatever is said elsewhere.
        #[arg(long, value_name = "MODE", value_enum)]
        mode: Option<Where>,
    },
    /// Take out what an agent has said twice in a row.
    Dedupe {
        /// The document.
        file: PathBuf,
    },
    /// List the turns of a document, newest first.
    Turns {
        /// The document.
        file: PathBuf,
        /// At most so many.
        most: Option<u32>,
    },
    /// Look at one turn, take it back, do it again, or go on from it in another document.
    #[command(subcommand)]
    Turn(Turn),
    /// List where you and an agent wrote the same words. Yours stand.
    Conflicts {
        /// The document.
        file: PathBuf,
        /// Those too that are resolved.
        #[arg(long)]
        all: bool,
    },
    /// Say whose words are to stand.
    #[command(group = clap::ArgGroup::new("whose").required(true).args(["ours", "theirs", "both"]))]
    Resolve {
        /// The document.
        file: PathBuf,
        /// The conflict; else all.
        n: Option<u32>,
        /// Yours, as they do.
        #[arg(long)]
        ours: bool,
        /// The agent's.
        #[arg(long)]
        theirs: bool,
        /// Yours, and below them the agent's.
        #[arg(long)]
        both: bool,
    },
    /// Finish what a run that died has begun. Every verb that writes does it first.
    Recover {
        /// The document.
        file: PathBuf,
    },
    /// Tell of each line whether it was sent, is yet to be, or is the agent's.
    Status {
        /// The document.
        file: PathBuf,
    },
    /// List the sections, with their lines and about how many tokens they are.
    Outline {
        /// The document.
        file: PathBuf,
    },
    /// Print what the agent knows of the document.
    Show {
        /// The document.
        file: PathBuf,
        /// Read and hash again all that is stored of it.
        #[arg(long)]
        verify: bool,
    },
    /// List the commits of the document, or bring back what was said in one.
    History {
        /// The document.
        file: PathBuf,
        /// Put what was said in this commit above what is said now.
        #[arg(long, value_name = "REV")]
        restore: Option<String>,
    },
    /// Forget what the agent knows: the next turn begins with the whole text.
    Reset {
        /// The document.
        file: PathBuf,
    },
    /// Make one commit of the document's own at the tip of the branch, if nothing else lies between them.
    Clean {
        /// The document.
        file: PathBuf,
    },
    /// Give each open task of the document (`- [ ] …`) to a worker, and bring back what came of it.
    Fanout {
        /// The document.
        file: PathBuf,
        /// The agent of all of them.
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// What they fork from; else the tip of the trunk.
        #[arg(long, value_name = "REV")]
        base: Option<String>,
        /// What to shut them in by; else as `skein.jail` says.
        #[arg(long, value_name = "JAIL")]
        jail: Option<String>,
        /// Only list the tasks.
        #[arg(long)]
        dry_run: bool,
        /// The command of the agent, if it is none that is known.
        #[arg(last = true, value_name = "COMMAND")]
        argv: Vec<String>,
    },
    /// Commit what the agent has been sent and has answered. What is typed since stays as it is.
    Commit {
        /// The document.
        file: PathBuf,
        /// On the branch that is checked out now, whichever it was when the answer was written.
        #[arg(long)]
        here: bool,
        /// Even if git ignores the file.
        #[arg(long)]
        force: bool,
    },
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub enum Turn {
    /// What was asked, what came back, and what it did to the text.
    Show {
        /// The document.
        file: PathBuf,
        n: u32,
    },
    /// Only what it did to the text.
    Diff {
        /// The document.
        file: PathBuf,
        n: u32,
    },
    /// Take it out of the text. What was typed since stays.
    Undo {
        /// The document.
        file: PathBuf,
        n: u32,
    },
    /// Bring it back.
    Redo {
        /// The document.
        file: PathBuf,
        n: u32,
    },
    /// Make a new document of what this one was after that turn.
    Fork {
        /// The document.
        file: PathBuf,
        n: u32,
        /// The new file.
        new: PathBuf,
    },
}

/// Where new text of a component goes.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Where {
    Replace,
    Append,
    Prepend,
}

#[derive(Debug, Args)]
#[group(skip)]
pub struct Write {
    /// The document.
    pub file: PathBuf,
    /// What the answer was made to, if that is not what was sent last.
    #[arg(long, value_name = "FILE")]
    pub baseline_file: Option<PathBuf>,
    /// Accepted, and of no effect: every answer is merged.
    #[arg(long, hide = true)]
    pub stream: bool,
    /// Who writes, for the record.
    #[arg(long, value_name = "NAME")]
    pub origin: Option<String>,
    /// The turn that it answers; else the newest without an answer.
    #[arg(long, value_name = "N")]
    pub turn: Option<u32>,
    /// The agent that answered, for the record.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Its model, for the record.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
}

/// How answers stand in a document.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Mode {
    /// In components.
    Template,
    /// One below the other.
    Append,
    /// The same.
    #[value(hide = true)]
    Inline,
}

impl Doc {
    pub fn name(&self) -> &'static str {
        match self {
            Doc::Init { .. } => "doc init",
            Doc::Claim { .. } => "doc claim",
            Doc::Diff { .. } => "doc diff",
            Doc::Preflight { .. } => "doc preflight",
            Doc::Write(_) => "doc write",
            Doc::Respond(_) => "doc respond",
            Doc::Run { .. } => "doc run",
            Doc::Patch { .. } => "doc patch",
            Doc::Dedupe { .. } => "doc dedupe",
            Doc::Turns { .. } => "doc turns",
            Doc::Turn(Turn::Show { .. }) => "doc turn show",
            Doc::Turn(Turn::Diff { .. }) => "doc turn diff",
            Doc::Turn(Turn::Undo { .. }) => "doc turn undo",
            Doc::Turn(Turn::Redo { .. }) => "doc turn redo",
            Doc::Turn(Turn::Fork { .. }) => "doc turn fork",
            Doc::Conflicts { .. } => "doc conflicts",
            Doc::Resolve { .. } => "doc resolve",
            Doc::Recover { .. } => "doc recover",
            Doc::Status { .. } => "doc status",
            Doc::Outline { .. } => "doc outline",
            Doc::Show { .. } => "doc show",
            Doc::History { .. } => "doc history",
            Doc::Reset { .. } => "doc reset",
            Doc::Clean { .. } => "doc clean",
            Doc::Fanout { .. } => "doc fanout",
            Doc::Commit { .. } => "doc commit",
        }
    }

    /// The document that it is about.
    pub fn file(&self) -> &Path {
        match self {
            Doc::Init { file, .. } => file.as_deref().unwrap_or(Path::new(".")),
            Doc::Claim { file, .. }
            | Doc::Diff { file, .. }
            | Doc::Preflight { file }
            | Doc::Write(Write { file, .. })
            | Doc::Respond(Write { file, .. })
            | Doc::Run { file, .. }
            | Doc::Patch { file, .. }
            | Doc::Dedupe { file }
            | Doc::Turns { file, .. }
            | Doc::Turn(
                Turn::Show { file, .. }
                | Turn::Diff { file, .. }
                | Turn::Undo { file, .. }
                | Turn::Redo { file, .. }
                | Turn::Fork { file, .. },
            )
            | Doc::Conflicts { file, .. }
            | Doc::Resolve { file, .. }
            | Doc::Recover { file }
            | Doc::Status { file }
            | Doc::Outline { file }
            | Doc::Show { file, .. }
            | Doc::History { file, .. }
            | Doc::Reset { file }
            | Doc::Clean { file }
            | Doc::Fanout { file, .. }
            | Doc::Commit { file, .. } => file,
        }
    }
}
