//! From parsed arguments to a verb and from its outcome to a page.

use crate::domain::Exit;
use crate::domain::Failure;
use crate::domain::RefName;
use crate::domain::Result;
use crate::domain::Risks;
use crate::domain::protocol::Answer;
use crate::host::Env;
use crate::surfaces::cli::again;
use crate::surfaces::cli::args;
use crate::surfaces::cli::args::Cli;
use crate::surfaces::cli::args::Verb;
use crate::surfaces::cli::bundle;
use crate::surfaces::cli::decide;
use crate::surfaces::cli::dispatch;
use crate::surfaces::cli::doc;
use crate::surfaces::cli::events;
use crate::surfaces::cli::kinds;
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
    let tell = |line: &str| {
        if !cli.quiet {
            // What is quoted in it makes no line of its own.
            anstream::eprintln!("{}", crate::surfaces::style::safe(line).replace('\n', "\n  "));
        }
    };
    carry_out(env, cli, &tell).print()
}

fn carry_out(env: &Env, cli: &Cli, tell: &dyn Fn(&str)) -> Page {
    match verb(env, cli, tell) {
        Ok(page) => page,
        Err(failure) => Page::failure(name(&cli.verb), &failure, cli.json),
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
        Verb::Bound(verb) => verb.name(),
        Verb::Worker(_) => "worker",
        Verb::Mcp => "mcp",
        Verb::Import { .. } => "import",
        Verb::Check(_) => "check",
        Verb::Verify(_) => "verify",
        Verb::Candidate(_) => "candidate",
        Verb::Land { .. } => "land",
        Verb::Landed { .. } => "landed",
        Verb::Reap(_) => "reap",
        Verb::Restore { .. } => "restore",
        Verb::Log { .. } => "log",
        Verb::Doctor { .. } => "doctor",
        Verb::Undo { .. } => "undo",
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
        Verb::Man { dir } => crate::surfaces::present::man_pages(env, dir.as_deref(), cli.json),
        Verb::Completions { shell } => Ok(Page::completions(*shell, cli.json)),
        Verb::Help { topic } => Ok(Page::help(topic, cli.json)),
        Verb::Worker(said) => crate::surfaces::cli::worker::run(env, said, cli.json, tell),
        Verb::Mcp => crate::surfaces::mcp::run(env).map(|()| Page::nothing()),
        _ => return None,
    })
}

fn verb(env: &Env, cli: &Cli, tell: &dyn Fn(&str)) -> Result<Page> {
    if let Some(page) = anywhere(env, cli, tell) {
        return page;
    }
    let lines = lines(&cli.verb);
    if let Some(says) = lines.and_then(|_| no_lines(cli)) {
        return Ok(Page::usage(says, cli.json));
    }
    let cwd = cli.dir.as_ref().map_or_else(|| env.cwd().to_owned(), |dir| env.cwd().join(dir));
    let json = cli.json;
    if let Verb::Bundle(verb) = &cli.verb {
        return bundle::run(env, &cwd, verb, json, tell);
    }
    if let Verb::Doc(verb) = &cli.verb {
        return doc::run(env, &cwd, verb, json, tell);
    }
    let mut session = Session::open(env, &cwd, tell)?;
    coloured(env, cli, &session);
    match &cli.verb {
        Verb::Init => Ok(Page::init(&verbs::init::run(&mut session)?, json)),
        Verb::Dispatch(args) => dispatch::run(&mut session, args, &cwd, json),
        Verb::Wait { workers, any, timeout } => {
            Ok(Page::wait("wait", &verbs::wait::wait(&session, workers, *any, *timeout)?, json))
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
        Verb::Bound(verb) => kinds::run(&mut session, verb, json),
        Verb::Import { worker, into, take, dry_run } => {
            let request = Request { dry_run: *dry_run, ..request(None, &[], take)? };
            Ok(Page::import(&verbs::import::run(&mut session, worker, into.as_deref(), &request)?, json))
        }
        Verb::Check(args) => Ok(Page::check(&verbs::check::run(&mut session, &args.request())?, json)),
        Verb::Verify(args) => {
            let done = verbs::check::verify(&mut session, &args.commit, args.allow_empty)?;
            Ok(Page::verify(&done, json))
        }
        Verb::Candidate(step) => candidate(&mut session, step, json),
        Verb::Land { names, all, target, take, accept, retries, dry_run } => {
            let request = request(target.onto.as_deref(), &target.gates, take)?;
            let request = Request { retries: *retries, dry_run: *dry_run, accept: *accept, ..request };
            if *all {
                return land_all(&mut session, &request, json);
            }
            land(&mut session, names, &request, json)
        }
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

fn request(onto: Option<&str>, gates: &[String], take: &args::Take) -> Result<Request> {
    Ok(Request {
        onto: onto.map(RefName::target).transpose()?,
        gates: gates.to_vec(),
        retries: 3,
        dry_run: false,
        accept: false,
        shape: verbs::candidate::Shape {
            squash: take.squash,
            exact: take.exact,
            allow_empty: take.allow_empty,
        },
        take: verbs::freeze::Take {
            uncommitted: take.uncommitted,
            any_outcome: take.any_outcome,
            allow_empty: take.allow_empty,
        },
        planned: false,
    })
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

/// Several names are several landings: each stands or is refused by itself, and the gravest exit code counts.
fn land(session: &mut Session<'_>, names: &[String], request: &Request, json: bool) -> Result<Page> {
    let names = match names {
        [] => vec![verbs::land::only_ready(session)?],
        names => names.to_vec(),
    };
    let mut results = Vec::new();
    for name in &names {
        results.push((name.clone(), verbs::land::run(session, name, request)));
    }
    if let [(_, _)] = results.as_slice()
        && let Some((_, one)) = results.pop()
    {
        return Ok(Page::land(&one?, json));
    }
    Ok(Page::land_many(&results, json))
}

fn land_all(session: &mut Session<'_>, request: &Request, json: bool) -> Result<Page> {
    let plan = verbs::land_all::plan(session, request)?;
    if request.dry_run {
        return Ok(Page::land_plan(&plan, json));
    }
    let show = |page: Page| {
        if !json {
            page.print();
        }
    };
    show(Page::land_plan(&plan, false));
    let done = verbs::land_all::carry_out(session, &plan, request, |name, result| {
        show(match result {
            Ok(landed) => Page::land(landed, false),
            Err(failure) => Page::failure(name, failure, false),
        });
    });
    Ok(Page::land_all(&plan, &done, json))
}

fn candidate(session: &mut Session<'_>, step: &args::Candidate, json: bool) -> Result<Page> {
    let nothing = args::Take::default();
    let step = match step {
        args::Candidate::Create { name, onto, take, supersede } => {
            verbs::steps::create(session, name, *supersede, &request(onto.as_deref(), &[], take)?)
        }
        args::Candidate::Admit { name, target } => {
            verbs::steps::admit(session, name, &request(target.onto.as_deref(), &target.gates, &nothing)?)
        }
        args::Candidate::Integrate { name, onto, gates } => {
            verbs::steps::integrate(session, name, &request(onto.as_deref(), gates, &nothing)?)
        }
    };
    Ok(Page::step(&step?, json))
}

/// Where man looks for a person's own pages, if the environment tells.
pub fn man_dir(env: &Env) -> Option<PathBuf> {
    let set = |key: &str| env.get(key).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")));
    data.map(|data| data.join("man/man1"))
}
