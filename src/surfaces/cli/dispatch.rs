//! `dispatch` on the command line: one task, or a file of them.

use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::quoted;
use crate::surfaces::ci;
use crate::surfaces::ci::Case;
use crate::surfaces::cli::args;
use crate::surfaces::cli::events::Telling;
use crate::surfaces::present::Page;
use crate::verbs;
use crate::verbs::dispatch::Dispatched;
use crate::verbs::session::Session;
use crate::verbs::show::Part;
use crate::verbs::show::Shown;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

/// Lines of an agent's output that the log of a pipeline shows.
const LINES: usize = 500;

/// Dispatches one task or a file of them.
pub fn run(session: &mut Session<'_>, args: &args::Dispatch, cwd: &Path, json: bool) -> Result<Page> {
    let each = verbs::dispatch::Request {
        jail: args.jail.clone(),
        require_jail: args.require_jail,
        spawn: args.spawn,
        at_limit: args.limit.at_limit(),
        agent: args.agent.clone(),
        kind: args.kind.clone(),
        argv: args.argv.clone(),
        tmux: args.tmux,
        interactive: args.interactive,
        loaded: verbs::bundle::for_dispatch(session, &args.with, cwd)?,
        ..verbs::dispatch::Request::default()
    };
    if let Some(file) = &args.from {
        let text = read(file, cwd, "give a file with a task in each line: git skein help dispatch")?;
        let at_once = args.jobs.map_or_else(verbs::batch::processors, |jobs| jobs as usize);
        return Ok(Page::batch(&verbs::batch::run(session, &text, &each, at_once, args.wait)?, json));
    }
    let seconds = |time: Option<Duration>| time.map(|t| t.as_secs().max(1));
    let request = verbs::dispatch::Request {
        task: task(args, cwd)?,
        base: args.base.clone(),
        upon: None,
        with_dirty: args.with_dirty,
        name: args.name.clone(),
        only_that_name: true,
        paths: args.paths.clone(),
        onto: args.onto.clone(),
        checks: args.checks.clone(),
        limits: verbs::job::limits(seconds(args.timeout), seconds(args.silence), args.done_pattern.clone()),
        ..each
    };
    if let Some(remote) = &args.queue {
        let remote = Some(remote.as_str()).filter(|name| !name.is_empty());
        let queued = verbs::queue::add(session, remote, &request, args.label.as_deref())?;
        return Ok(Page::queued(&queued, json));
    }
    let dispatched: Dispatched = verbs::dispatch::run(session, &request)?;
    if !args.wait {
        return Ok(Page::dispatch(&dispatched, json));
    }
    if !json {
        Page::dispatch(&dispatched, false).print();
    }
    let id = dispatched.worker.to_string();
    let telling = match args.events {
        true => Some(Telling::of(Session::open(session.env, cwd, session.tell)?, &id)?),
        false => None,
    };
    let waited = verbs::wait::wait(session, &[id], false, None, &|| telling.iter().for_each(Telling::tell))?;
    let page = Page::wait("dispatch", &waited, json);
    if !ci::is_actions(session.env) {
        return Ok(page);
    }
    let log = printed(session, dispatched.worker.to_string().as_str());
    let cases = page.cases.iter().cloned().map(|case| Case { output: log.clone(), ..case }).collect();
    Ok(page.telling(cases))
}

/// The end of what the agent printed.
fn printed(session: &Session<'_>, worker: &str) -> String {
    let Ok(Shown::Text(text)) = verbs::show::run(session, worker, Part::Log) else { return String::new() };
    let lines: Vec<&str> = text.lines().collect();
    lines.iter().skip(lines.len().saturating_sub(LINES)).map(|line| format!("{line}\n")).collect()
}

/// A file is looked for where the command runs, `-C` included.
fn task(args: &args::Dispatch, cwd: &Path) -> Result<String> {
    match &args.file {
        Some(file) => read(file, cwd, "give a text file, or the task as an argument"),
        None => Ok(args.task.clone().unwrap_or_default()),
    }
}

fn read(file: &Path, cwd: &Path, next: &str) -> Result<String> {
    let read = if file.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(cwd.join(file))
    };
    read.map_err(|e| {
        Refusal::new(Token::NoTask, format!("no task can be read from {}: {e}", file.display()))
            .show(format!("file {}", quoted(file)))
            .next(next)
            .into()
    })
}
