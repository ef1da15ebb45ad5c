//! `doc` on the command line.

use crate::domain::Failure;
use crate::domain::Result;
use crate::domain::document;
use crate::domain::document::Format;
use crate::host::Env;
use crate::surfaces::present::Page;
use crate::verbs;
use crate::verbs::doc::Choice;
use crate::verbs::doc::Given;
use crate::verbs::doc::Manner;
use crate::verbs::doc::Place;
use crate::verbs::doc::RunRequest;
use crate::verbs::doc::Scaffold;
use crate::verbs::session::Session;
use clap::Args;
use clap::Subcommand;
use clap::ValueEnum;
use std::path::Path;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
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
            Doc::Commit { .. } => "doc commit",
        }
    }
}

pub fn run(env: &Env, cwd: &Path, verb: &Doc, json: bool, tell: &dyn Fn(&str)) -> Result<Page> {
    if let Doc::Init { file, title, agent, mode } = verb {
        return init(env, cwd, file.as_deref(), (title, agent, *mode), json, tell);
    }
    let place = verbs::doc::place(cwd, file(verb))?;
    let session = &mut verbs::doc::session(env, &place, tell)?;
    match verb {
        Doc::Init { .. } => Ok(Page::nothing()),
        Doc::Claim { new, .. } => Ok(Page::doc_claimed(&verbs::doc::claim(session, place, *new)?, json)),
        Doc::Diff { no_comments, exit_code, .. } => {
            Ok(Page::doc_compared(&verbs::doc::compare(session, place, *no_comments)?, *exit_code, json))
        }
        Doc::Preflight { .. } => Ok(Page::doc_preflight(&verbs::doc::preflight(session, place)?, json)),
        Doc::Write(args) => {
            let mut held = verbs::doc::Held::take(session, place, "doc write")?;
            let given = given(cwd, args)?;
            Ok(Page::doc_answered("doc write", &verbs::doc::answer(session, &mut held, &given)?, json))
        }
        Doc::Respond(args) => {
            let given = given(cwd, args)?;
            Ok(Page::doc_responded(&verbs::doc::respond(session, place, &given)?, json))
        }
        Doc::Run { branch, agent, model, jail, dry_run, no_git, .. } => {
            let (agent, model, jail) = (agent.clone(), model.clone(), jail.clone());
            let (branch, dry_run, no_git) = (*branch, *dry_run, *no_git);
            let request = RunRequest { agent, model, branch, dry_run, no_git, jail };
            Ok(Page::doc_ran(&verbs::doc::run(session, place, &request)?, json))
        }
        Doc::Patch { component, content, mode, .. } => {
            let content = content.clone().map_or_else(stdin, Ok)?;
            let mode = mode.map(|mode| match mode {
                Where::Replace => document::Mode::Replace,
                Where::Append => document::Mode::Append,
                Where::Prepend => document::Mode::Prepend,
            });
            let done = verbs::doc::patch(session, place, component, &content, mode)?;
            Ok(Page::doc_edited("doc patch", &done, json))
        }
        Doc::Dedupe { .. } => Ok(Page::doc_edited("doc dedupe", &verbs::doc::dedupe(session, place)?, json)),
        Doc::Turns { most, .. } => Ok(Page::doc_turns(&verbs::doc::turns(session, place, *most)?, json)),
        Doc::Turn(turn) => self::turn(session, place, (cwd, turn), json),
        Doc::Conflicts { all, .. } => {
            Ok(Page::doc_conflicts(&verbs::doc::conflicts(session, place, *all)?, json))
        }
        Doc::Resolve { n, ours, theirs, .. } => {
            let choice = match (ours, theirs) {
                (true, _) => Choice::Ours,
                (_, true) => Choice::Theirs,
                _ => Choice::Both,
            };
            Ok(Page::doc_resolved(&verbs::doc::resolve(session, place, *n, choice)?, json))
        }
        Doc::Recover { .. } => Ok(Page::doc_recovered(&verbs::doc::recover(session, place)?, json)),
        Doc::Commit { here, force, .. } => {
            let manner = Manner { here: *here, force: *force };
            Ok(Page::doc_committed(&verbs::doc::commit(session, place, manner)?, json))
        }
    }
}

fn file(verb: &Doc) -> &Path {
    match verb {
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
        | Doc::Commit { file, .. } => file,
    }
}

fn turn(session: &mut Session<'_>, place: Place, (cwd, turn): (&Path, &Turn), json: bool) -> Result<Page> {
    match turn {
        Turn::Show { n, .. } => Ok(Page::doc_turn(&verbs::doc::show(session, place, *n)?, false, json)),
        Turn::Diff { n, .. } => Ok(Page::doc_turn(&verbs::doc::show(session, place, *n)?, true, json)),
        Turn::Undo { n, .. } => Ok(Page::doc_turned(&verbs::doc::undo(session, place, *n)?, json)),
        Turn::Redo { n, .. } => Ok(Page::doc_turned(&verbs::doc::redo(session, place, *n)?, json)),
        Turn::Fork { n, new, .. } => {
            let shown = new.display().to_string();
            Ok(Page::doc_forked(&verbs::doc::fork(session, place, *n, &cwd.join(new), &shown)?, json))
        }
    }
}

fn stdin() -> Result<String> {
    std::io::read_to_string(std::io::stdin()).map_err(|e| Failure::fault("reading standard input", e))
}

fn init(
    env: &Env,
    cwd: &Path,
    file: Option<&Path>,
    (title, agent, mode): (&Option<String>, &Option<String>, Mode),
    json: bool,
    tell: &dyn Fn(&str),
) -> Result<Page> {
    let Some(file) = file else {
        return Ok(Page::init(&verbs::init::run(&mut Session::open(env, cwd, tell)?)?, json));
    };
    let path = cwd.join(file);
    let mut session = Session::open(env, path.parent().unwrap_or(cwd), tell)?;
    let format = match mode {
        Mode::Template => Format::Template,
        Mode::Append | Mode::Inline => Format::Append,
    };
    let scaffold = Scaffold { title: title.clone(), agent: agent.clone(), format };
    let made = verbs::doc::init(&mut session, &path, &file.display().to_string(), &scaffold)?;
    Ok(Page::doc_made(&made, json))
}

fn given(cwd: &Path, args: &Write) -> Result<Given> {
    let text = stdin()?;
    let read = |path: &PathBuf| {
        std::fs::read_to_string(cwd.join(path))
            .map_err(|e| Failure::fault(format!("reading {}", path.display()), e))
    };
    Ok(Given {
        text,
        baseline: args.baseline_file.as_ref().map(read).transpose()?,
        turn: args.turn,
        origin: args.origin.clone(),
        agent: args.agent.clone(),
        model: args.model.clone(),
        session: None,
    })
}
