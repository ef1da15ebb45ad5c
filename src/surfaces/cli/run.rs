//! From parsed arguments to a verb and from its outcome to a page.

use crate::domain::Exit;
use crate::domain::Failure;
use crate::domain::RefName;
use crate::domain::Result;
use crate::domain::Risks;
use crate::domain::protocol::Answer;
use crate::host::Env;
use crate::surfaces::ci;
use crate::surfaces::ci::Witness;
use crate::surfaces::cli::again;
use crate::surfaces::cli::args;
use crate::surfaces::cli::args::Cli;
use crate::surfaces::cli::args::Verb;
use crate::surfaces::cli::bundle;
use crate::surfaces::cli::decide;
use crate::surfaces::cli::dispatch;
use crate::surfaces::cli::doc;
use crate::surfaces::cli::events;
use crate::surfaces::cli::events::Telling;
use crate::surfaces::cli::events::tells;
use crate::surfaces::cli::hooks;
use crate::surfaces::cli::kinds;
use crate::surfaces::cli::land;
use crate::surfaces::cli::runner;
use crate::surfaces::cli::watch;
use crate::surfaces::demo;
use crate::surfaces::dock;
use crate::surfaces::present::Ends;
use crate::surfaces::present::Page;
use crate::verbs;
use crate::verbs::land::Request;
use crate::verbs::session::Session;
use crate::verbs::show::Part;
use clap::Parser;
use std::ffi::OsString;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

/// The verbs that only this program gives itself. `None`: it is not one of them.
pub fn hidden(env: &Env) -> Option<ExitCode> {
    let argv: Vec<OsString> = std::env::args_os().collect();
    let verb = argv.get(1)?.to_str()?;
    let quiet = |line: &str| anstream::eprintln!("{line}");
    let code = |done: Result<()>| match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            Page::failure(verb, &failure, false).print();
            ExitCode::from(failure.exit().code())
        }
    };
    if verb == verbs::hooks::HOOK {
        return Some(crate::surfaces::hooks::run(env, argv.get(2..)?));
    }
    match verb {
        verbs::session::LAUNCH => {
            let parent = argv.get(2)?.to_str()?.parse().ok()?;
            let failure = verbs::supervise::launch(parent, argv.get(3)?.to_str()?, argv.get(5..)?)?;
            Page::failure(verb, &failure, false).print();
            Some(ExitCode::from(127))
        }
        verbs::session::SUPERVISE => {
            let id = argv.get(2)?.to_str()?.parse().ok()?;
            let life = Session::open(env, env.cwd(), &quiet).and_then(|s| verbs::supervise::run(&s, id));
            Some(code(life))
        }
        verbs::pane::RELAY => Some(ends(verb, verbs::pane::relay(env, argv.get(2..)?))),
        verbs::pane::KEEP => Some(ends(verb, verbs::pane::keep(env, argv.get(2)?))),
        verbs::session::SPAWN => {
            let (id, base) = (argv.get(2)?.to_str()?.parse().ok()?, argv.get(3)?.to_str()?.parse().ok()?);
            let file = Path::new(argv.get(4)?);
            let done = Session::open(env, env.cwd(), &quiet)
                .and_then(|mut s| verbs::spawn::dispatch(&mut s, id, base, file));
            anstream::println!("{}", Answer::of(done).to_line());
            Some(ExitCode::SUCCESS)
        }
        verbs::session::CHECK => {
            let (id, commit) = (argv.get(2)?.to_str()?.parse().ok()?, argv.get(3)?.to_str()?.parse().ok()?);
            let done =
                Session::open(env, env.cwd(), &quiet).and_then(|s| verbs::commit::check(&s, id, commit));
            anstream::println!("{}", Answer::of(done).to_line());
            Some(ExitCode::SUCCESS)
        }
        _ => None,
    }
}

/// Ends as an agent did.
fn ends(verb: &str, code: Result<i32>) -> ExitCode {
    match code {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)),
        Err(failure) => {
            Page::failure(verb, &failure, false).print();
            ExitCode::from(127)
        }
    }
}

/// Runs one command line given as words, for the demo. The page is the caller's to print; `tell` takes what
/// would go to standard error meanwhile.
pub fn run_line(env: &Env, words: &[&str], tell: &dyn Fn(&str)) -> Page {
    match Cli::try_parse_from(words) {
        Ok(cli) => carry_out(env, &cli, tell),
        Err(error) => Page::failure("usage", &Failure::fault("parsing a command line", error), false),
    }
}

/// Runs the verb, prints its page and tells how to end.
pub fn run(env: &Env, cli: &Cli) -> Exit {
    settle(cli);
    if ci::is_actions(env) {
        ci::is_heard();
    }
    let tell = |line: &str| {
        if !cli.quiet {
            // What is quoted in it makes no line of its own.
            let text = crate::surfaces::style::safe(line).replace('\n', "\n  ");
            anstream::eprintln!("{}", ci::harmless(&text));
        }
    };
    carry_out(env, cli, &tell).print()
}

fn carry_out(env: &Env, cli: &Cli, tell: &dyn Fn(&str)) -> Page {
    let cwd = cli.dir.as_ref().map_or_else(|| env.cwd().to_owned(), |dir| env.cwd().join(dir));
    let junit = junit(&cli.verb).map(|file| cwd.join(file));
    let witness = Witness::new(env, name(&cli.verb), cli.quiet, junit);
    let heard = |what| witness.heard(what);
    let page = match verb(env, cli, &cwd, tell, &heard) {
        Ok(page) => page,
        Err(failure) => Page::failure(name(&cli.verb), &failure, cli.json || tells(&cli.verb)),
    };
    let page = Page { verbatim: is_of_others(&cli.verb), ..witness.close(page) };
    if tells(&cli.verb) { page.into_event() } else { page }
}

/// Whether what the verb prints is what somebody else has written, perhaps on its way to a file.
fn is_of_others(verb: &Verb) -> bool {
    let whole = |args: &args::Show| part(args) != Part::Card;
    match verb {
        Verb::Show(args) => whole(args),
        Verb::Artifacts(_) | Verb::Peek { .. } | Verb::Bundle(_) | Verb::Doc(_) => true,
        Verb::Events { .. } | Verb::Completions { .. } | Verb::Man { .. } => true,
        _ => false,
    }
}

/// Where test results are to be written, if they are.
fn junit(verb: &Verb) -> Option<&Path> {
    match verb {
        Verb::Land(args::Land { target, .. }) | Verb::Candidate(args::Candidate::Admit { target, .. }) => {
            target.junit.as_deref()
        }
        Verb::Check(args) => args.junit.as_deref(),
        Verb::Verify(args) => args.junit.as_deref(),
        _ => None,
    }
}

fn settle(cli: &Cli) {
    let choice = match cli.color {
        args::When::Auto => anstream::ColorChoice::Auto,
        args::When::Always => anstream::ColorChoice::Always,
        args::When::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
    if cli.verbose > 0 {
        let level = if cli.verbose > 1 { tracing::Level::TRACE } else { tracing::Level::DEBUG };
        tracing_subscriber::fmt()
            .with_max_level(level)
            .with_writer(std::io::stderr)
            .without_time()
            .with_target(false)
            .try_init()
            .ok();
    }
}

/// Where neither a flag nor the environment says anything of colour, git's configuration may turn it off. Its `always`
/// is not heard: a worker without a jail can write it, and colours what other programs read.
fn coloured(env: &Env, cli: &Cli, session: &Session<'_>) {
    let said = |name: &str, none: &str| env.get(name).is_some_and(|v| !v.is_empty() && v != none);
    let open = matches!(cli.color, args::When::Auto)
        && anstream::ColorChoice::global() == anstream::ColorChoice::Auto
        && !said("NO_COLOR", "")
        && !said("CLICOLOR_FORCE", "0")
        && env.get("CLICOLOR").is_none_or(|value| value != "0");
    let value = session.config.get("color.skein").or_else(|| session.config.get("color.ui"));
    let off = ["never", "false", "no", "off", "0"];
    if open && value.is_some_and(|value| off.contains(&value.to_ascii_lowercase().as_str())) {
        anstream::ColorChoice::Never.write_global();
    }
}

fn name(verb: &Verb) -> &'static str {
    match verb {
        Verb::Init => "init",
        Verb::Dispatch(_) => "dispatch",
        Verb::Status { .. } => "status",
        Verb::Show(_) => "show",
        Verb::Artifacts(_) => "artifacts",
        Verb::Search(_) => "search",
        Verb::Bundle(_) => "bundle",
        Verb::Doc(verb) => verb.name(),
        Verb::Overlap { .. } => "overlap",
        Verb::Events { .. } => "events",
        Verb::Wait { .. } => "wait",
        Verb::Stop { .. } => "stop",
        Verb::Attach { .. } => "attach",
        Verb::Peek { .. } => "peek",
        Verb::Tell { .. } => "tell",
        Verb::Resume(_) => "resume",
        Verb::Inbox => "inbox",
        Verb::Dock => "dock",
        Verb::Verdict(_) => "verdict",
        Verb::Debt => "debt",
        Verb::Sync { .. } => "sync",
        Verb::Queue(_) => "queue",
        Verb::Runner(_) => "runner",
        Verb::Bound(verb) => verb.name(),
        Verb::Worker(_) => "worker",
        Verb::Mcp => "mcp",
        Verb::Import { .. } => "import",
        Verb::Check(_) => "check",
        Verb::Verify(_) => "verify",
        Verb::Candidate(_) => "candidate",
        Verb::Land(_) => "land",
        Verb::Landed { .. } => "landed",
        Verb::Reap(_) => "reap",
        Verb::Restore { .. } => "restore",
        Verb::Log { .. } => "log",
        Verb::Doctor { .. } => "doctor",
        Verb::Undo { .. } => "undo",
        Verb::Hooks(verb) => verb.name(),
        Verb::Fsck { .. } => "fsck",
        Verb::Demo { .. } => "demo",
        Verb::Man { .. } => "man",
        Verb::Completions { .. } => "completions",
        Verb::Help { .. } => "help",
    }
}

/// The verbs that want no repository, or not that of the folder they are given in.
fn anywhere(env: &Env, cli: &Cli, tell: &dyn Fn(&str)) -> Option<Result<Page>> {
    Some(match &cli.verb {
        Verb::Demo { keep } => demo::run(env, *keep, cli.json),
        Verb::Man { folder } => crate::surfaces::present::man_pages(env, folder.as_deref(), cli.json),
        Verb::Completions { shell } => Ok(Page::completions(*shell, cli.json)),
        Verb::Help { topic } => Ok(Page::help(topic, cli.json)),
        Verb::Worker(said) => crate::surfaces::cli::worker::run(env, said, cli.json, tell),
        Verb::Mcp => crate::surfaces::mcp::run(env).map(|()| Page::nothing()),
        _ => return None,
    })
}

fn verb(
    env: &Env,
    cli: &Cli,
    cwd: &Path,
    tell: &dyn Fn(&str),
    heard: &dyn Fn(verbs::gate::Heard),
) -> Result<Page> {
    if let Some(page) = anywhere(env, cli, tell) {
        return page;
    }
    let lines = lines(&cli.verb);
    if let Some(says) = lines.and_then(|_| no_lines(cli)) {
        return Ok(Page::usage(says, cli.json));
    }
    let json = cli.json || tells(&cli.verb);
    if let Verb::Bundle(verb) = &cli.verb {
        return bundle::run(env, cwd, verb, json, tell);
    }
    if let Verb::Doc(verb) = &cli.verb {
        return doc::run(env, cwd, verb, json, tell);
    }
    let telling = Telling::begin(env, cwd, tell, &cli.verb)?;
    let meanwhile = || telling.iter().for_each(Telling::tell);
    let heard = |what| {
        heard(what);
        meanwhile();
    };
    let mut session = Session::open(env, cwd, tell)?;
    session.listener = Some(&heard);
    coloured(env, cli, &session);
    match &cli.verb {
        Verb::Init => Ok(Page::init(&verbs::init::run(&mut session)?, json)),
        Verb::Dispatch(args) => dispatch::run(&mut session, args, cwd, json),
        Verb::Wait { workers, any, timeout, .. } => {
            let waited = verbs::wait::wait(&session, workers, *any, *timeout, &meanwhile)?;
            Ok(Page::wait("wait", &waited, json))
        }
        Verb::Stop { worker } => Ok(Page::stopped(&verbs::wait::stop(&mut session, worker)?, json)),
        Verb::Tell { worker, text, to } => {
            Ok(Page::told(&verbs::tell::run(&mut session, worker, text, *to)?, json))
        }
        Verb::Resume(args) => again::run(&mut session, args, json),
        Verb::Inbox => Ok(Page::inbox(&verbs::inbox::run(&session)?, json)),
        Verb::Dock => dock::run(env, &session, cli.dir.as_deref(), json),
        Verb::Verdict(args) => decide::verdict(&mut session, args, json),
        Verb::Debt => Ok(Page::debt(&verbs::debt::run(&session)?, json)),
        Verb::Sync { remote } => Ok(Page::synced(&verbs::sync::run(&mut session, remote.as_deref())?, json)),
        Verb::Queue(args) => runner::queue(&mut session, args, json),
        Verb::Runner(args) => runner::run(&mut session, args, json),
        Verb::Bound(verb) => kinds::run(&mut session, verb, json),
        Verb::Import { worker, into, take, dry_run } => {
            let request = Request { dry_run: *dry_run, ..land::request(None, &[], take)? };
            Ok(Page::import(&verbs::import::run(&mut session, worker, into.as_deref(), &request)?, json))
        }
        Verb::Check(args) => Ok(Page::check(&verbs::check::run(&mut session, &args.request())?, json)),
        Verb::Verify(args) => {
            let done = verbs::check::verify(&mut session, &args.commit, args.allow_empty)?;
            Ok(Page::verify(&done, json))
        }
        Verb::Candidate(step) => land::candidate(&mut session, step, json),
        Verb::Land(args) => land::run(&mut session, args, json, &meanwhile),
        Verb::Doctor { fix, .. } => {
            let found = verbs::doctor::run(&mut session, *fix)?;
            Ok(lines.map_or_else(|| Page::doctor(&found, json), |ends| Page::doctor_lines(&found, ends)))
        }
        Verb::Reap(args) => Ok(Page::reap(&verbs::reap::run(&mut session, &reap(args))?, json)),
        Verb::Restore { worker, to, snapshot, any_outcome } => {
            let (name, snapshot) = (worker.clone(), snapshot.clone());
            let to = to.as_ref().map(|dir| cwd.join(dir));
            let request = verbs::restore::Request { name, to, snapshot, any_outcome: *any_outcome };
            Ok(Page::restore(&verbs::restore::run(&mut session, &request)?, json))
        }
        Verb::Fsck { rebuild } => Ok(Page::fsck(&verbs::fsck::run(&mut session, *rebuild)?, json)),
        Verb::Hooks(verb) => hooks::run(&mut session, verb, json),
        Verb::Undo { op, dry_run } => {
            let request = verbs::undo::Request { op: op.clone(), dry_run: *dry_run };
            Ok(Page::undo(&verbs::undo::run(&mut session, &request)?, json))
        }
        _ => look(&mut session, cli, lines),
    }
}

/// The verbs that only look.
fn look(session: &mut Session<'_>, cli: &Cli, lines: Option<Ends>) -> Result<Page> {
    let json = cli.json;
    match &cli.verb {
        Verb::Status { watch, archived, .. } => watch::status(session, *watch, *archived, json, lines),
        Verb::Show(args) => {
            let shown = verbs::show::run(session, &args.worker, part(args))?;
            Ok(lines.map_or_else(|| Page::show(&shown, json), |ends| Page::show_lines(&shown, ends)))
        }
        Verb::Artifacts(args) => {
            let left = verbs::artifacts::run(session, &args.worker, args.item.as_deref(), &args.kinds)?;
            Ok(Page::artifacts(&left, json))
        }
        Verb::Search(args) => {
            let search = verbs::artifacts::search(session, &args.words, &args.kinds, args.most)?;
            Ok(Page::search(&search, json))
        }
        Verb::Overlap { workers, watch, gates } => {
            let request = verbs::overlap::Request { names: workers.clone(), gates: gates.clone() };
            watch::overlap(session, &request, *watch, json)
        }
        Verb::Events { workers, follow, since } => events::run(session, workers, *follow, since.clone()),
        Verb::Attach { worker } => Ok(Page::attached(&verbs::pane::attach(session, worker)?, json)),
        Verb::Peek { worker, lines } => Ok(Page::peeked(&verbs::pane::peek(session, worker, *lines)?, json)),
        Verb::Landed { name, base, onto, explain, by, .. } => {
            let asked = verbs::landed::Request {
                name: name.clone(),
                base: base.clone(),
                onto: onto.as_deref().map(RefName::target).transpose()?,
                cherry: by.is_some(),
            };
            landed(session, &asked, *explain, json, lines)
        }
        Verb::Log { part, most, .. } => decide::log(session, *part, *most, json, lines),
        // Those that want no repository were answered before.
        _ => Ok(Page::help(&[], json)),
    }
}

fn landed(
    session: &Session<'_>,
    asked: &verbs::landed::Request,
    explain: bool,
    json: bool,
    lines: Option<Ends>,
) -> Result<Page> {
    let answer = verbs::landed::run(session, asked)?;
    Ok(lines.map_or_else(
        || Page::landed(&answer, explain, json),
        |ends| Page::landed_lines(&answer, explain, ends),
    ))
}

/// How records for scripts end, if the verb was asked for some.
fn lines(verb: &Verb) -> Option<Ends> {
    match verb {
        Verb::Status { lines, .. }
        | Verb::Landed { lines, .. }
        | Verb::Log { lines, .. }
        | Verb::Doctor { lines, .. } => lines.ends(),
        Verb::Show(args) => args.lines.ends(),
        _ => None,
    }
}

/// Why there cannot be records for scripts, if so.
fn no_lines(cli: &Cli) -> Option<&'static str> {
    if cli.json {
        return Some("--porcelain and -z cannot be used with --json\n");
    }
    match &cli.verb {
        Verb::Show(args) if matches!(part(args), Part::Diff | Part::Brief | Part::Log) => {
            Some("--porcelain and -z show the card or --events; --json gives the other parts unchanged\n")
        }
        _ => None,
    }
}

fn reap(args: &args::Reap) -> verbs::reap::Request {
    verbs::reap::Request {
        names: args.workers.clone(),
        all: args.all,
        yes: args.yes,
        risks: Risks { unlanded: args.include_unlanded, ignored: args.include_ignored },
    }
}

fn part(args: &args::Show) -> Part {
    match args {
        args::Show { diff: true, .. } => Part::Diff,
        args::Show { brief: true, .. } => Part::Brief,
        args::Show { events: true, .. } => Part::Events,
        args::Show { log: true, .. } => Part::Log,
        _ => Part::Card,
    }
}

/// Where man looks for a person's own pages, if the environment tells.
pub fn man_dir(env: &Env) -> Option<PathBuf> {
    let set = |key: &str| env.get(key).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")));
    data.map(|data| data.join("man/man1"))
}
