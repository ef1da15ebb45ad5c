//! `doc` on the command line.

use crate::domain::Failure;
use crate::domain::Result;
use crate::domain::document;
use crate::domain::document::Format;
use crate::host::Env;
use crate::surfaces::cli::args::doc::Doc;
use crate::surfaces::cli::args::doc::Mode;
use crate::surfaces::cli::args::doc::Turn;
use crate::surfaces::cli::args::doc::Where;
use crate::surfaces::cli::args::doc::Write;
use crate::surfaces::present::Page;
use crate::verbs;
use crate::verbs::doc::Choice;
use crate::verbs::doc::FanoutRequest;
use crate::verbs::doc::Given;
use crate::verbs::doc::Manner;
use crate::verbs::doc::Place;
use crate::verbs::doc::RunRequest;
use crate::verbs::doc::Scaffold;
use crate::verbs::session::Session;
use std::path::Path;
use std::path::PathBuf;

pub fn run(env: &Env, cwd: &Path, verb: &Doc, json: bool, tell: &dyn Fn(&str)) -> Result<Page> {
    if let Doc::Init { file, title, agent, mode } = verb {
        return init(env, cwd, file.as_deref(), (title, agent, *mode), json, tell);
    }
    let place = verbs::doc::place(cwd, verb.file())?;
    let session = &mut verbs::doc::session(env, &place, tell)?;
    match verb {
        Doc::Init { .. } => Ok(Page::nothing()),
        Doc::Claim { new, .. } => Ok(Page::doc_claimed(&verbs::doc::claim(session, place, *new)?, json)),
        Doc::Diff { no_comments, exit_code, .. } => {
            Ok(Page::doc_compared(&verbs::doc::compare(session, place, *no_comments)?, *exit_code, json))
        }
        Doc::Preflight { .. } => Ok(Page::doc_preflight(&verbs::doc::preflight(session, place)?, json)),
        Doc::Write(args) => {
            // The lock waits for nobody who is still thinking.
            let given = given(cwd, args)?;
            let mut held = verbs::doc::Held::take(session, place, "doc write")?;
            Ok(Page::doc_answered("doc write", &verbs::doc::answer(session, &mut held, &given)?, json))
        }
        Doc::Respond(args) => {
            let given = given(cwd, args)?;
            Ok(Page::doc_responded(&verbs::doc::respond(session, place, &given)?, json))
        }
        Doc::Run { branch, agent, model, jail, dry_run, no_git, argv, .. } => {
            let (agent, model, jail, argv) = (agent.clone(), model.clone(), jail.clone(), argv.clone());
            let (branch, dry_run, no_git) = (*branch, *dry_run, *no_git);
            let request = RunRequest { agent, argv, model, branch, dry_run, no_git, jail };
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
        Doc::Status { .. } => Ok(Page::doc_status(&verbs::doc::status(session, place)?, json)),
        Doc::Outline { .. } => Ok(Page::doc_outline(&verbs::doc::outline(session, place)?, json)),
        Doc::Show { verify, .. } => Ok(Page::doc_known(&verbs::doc::known(session, place, *verify)?, json)),
        Doc::History { restore: None, .. } => {
            Ok(Page::doc_history(&verbs::doc::history(session, place)?, json))
        }
        Doc::History { restore: Some(rev), .. } => {
            Ok(Page::doc_edited("doc history", &verbs::doc::restore(session, place, rev)?, json))
        }
        Doc::Reset { .. } => Ok(Page::doc_begun(&verbs::doc::reset(session, place)?, json)),
        Doc::Clean { .. } => Ok(Page::doc_folded(&verbs::doc::clean(session, place)?, json)),
        Doc::Fanout { agent, base, jail, dry_run, argv, .. } => {
            let (agent, base, jail, argv) = (agent.clone(), base.clone(), jail.clone(), argv.clone());
            let request = FanoutRequest { agent, argv, base, jail, dry_run: *dry_run };
            Ok(Page::doc_fanned(&verbs::doc::fanout(session, place, &request)?, json))
        }
        Doc::Commit { here, force, .. } => {
            let manner = Manner { here: *here, force: *force };
            Ok(Page::doc_committed(&verbs::doc::commit(session, place, manner)?, json))
        }
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
        ..Given::default()
    })
}
