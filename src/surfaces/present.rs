//! The only renderer: outcomes, refusals and faults become text or JSON, and an exit code.

use crate::domain::Exit;
use crate::domain::Failure;
use crate::domain::Flag;
use crate::domain::Liveness;
use crate::domain::Outcome;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::host::Env;
use crate::surfaces::cli::command;
use crate::surfaces::style::BAD;
use crate::surfaces::style::BOLD;
use crate::surfaces::style::DIM;
use crate::surfaces::style::GOOD;
use crate::surfaces::style::WARN;
use crate::surfaces::style::count;
use crate::surfaces::style::date;
use crate::surfaces::style::line;
use crate::surfaces::style::paint;
use crate::surfaces::style::safe;
use crate::surfaces::style::span;
use crate::surfaces::style::steers;
use crate::verbs::dispatch::Dispatched;
use crate::verbs::freeze::Noted;
use crate::verbs::import::Imported;
use crate::verbs::init::Initialised;
use crate::verbs::land::Landed;
use crate::verbs::landed::Answered;
use crate::verbs::log::Log;
use crate::verbs::show::Card;
use crate::verbs::show::Shown;
use crate::verbs::status::Row;
use crate::verbs::status::Status;
use crate::verbs::steps::Step;
use crate::verbs::wait::Waited;
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// What a command prints, and how it ends.
pub struct Page {
    pub exit: Exit,
    /// Standard output: the result.
    pub out: String,
    /// Standard error: refusals and faults.
    pub err: String,
}

impl Page {
    fn text(out: String) -> Page {
        Page { exit: Exit::Done, out, err: String::new() }
    }

    /// The end of a demo whose `steps` all ended as they should.
    pub fn demo(steps: usize, repo: &Path, keep: bool, json: bool) -> Page {
        let kept = keep.then_some(repo);
        Page::of("demo", &serde_json::json!({ "steps": steps, "kept": kept }), json, |_| {
            let place = line(&repo.display().to_string());
            let end = match keep {
                true => format!("Kept, with the workers' trees beside it: {place}"),
                false => format!("Removed: {place} (--keep leaves it)"),
            };
            format!("\n{}\n{end}\n", paint(GOOD, &format!("All {steps} steps ended as they should.")))
        })
    }

    /// JSON if asked for, else the text that `human` makes.
    fn of<T: Serialize>(verb: &str, result: &T, json: bool, human: impl FnOnce(&T) -> String) -> Page {
        if json { Page::text(envelope(verb, "result", result)) } else { Page::text(human(result)) }
    }

    fn ending(self, exit: Exit) -> Page {
        Page { exit, ..self }
    }

    /// Writes it. A reader that has gone away is no failure of ours.
    pub fn print(&self) {
        let mut out = anstream::stdout().lock();
        out.write_all(self.out.as_bytes()).and_then(|()| out.flush()).ok();
        anstream::stderr().write_all(self.err.as_bytes()).ok();
    }

    pub fn failure(verb: &str, failure: &Failure, json: bool) -> Page {
        let exit = failure.exit();
        let err = match failure {
            Failure::Refusal(refusal) => refused(refusal),
            Failure::Fault(fault) => {
                format!("{} {}: {}\n", paint(BAD, "fault:"), line(&fault.doing), safe(&fault.cause))
            }
        };
        let out = if json { envelope(verb, "error", &error(failure)) } else { String::new() };
        Page { exit, out, err }
    }

    /// The command line could not be understood.
    pub fn usage(says: &str, json: bool) -> Page {
        let error = serde_json::json!({ "code": Exit::Usage.code(), "token": "usage", "says": says.trim() });
        let out = if json { envelope("git-skein", "error", &error) } else { String::new() };
        Page { exit: Exit::Usage, out, err: safe(says) }
    }

    pub fn help(topic: Option<&str>, json: bool) -> Page {
        let mut command = command();
        let text = match topic {
            Some("exit-codes") => exit_codes(),
            Some(verb) => match command.find_subcommand_mut(verb) {
                Some(found) => found.render_long_help().to_string(),
                None => return Page::usage(&format!("there is no verb or topic {verb:?}\n"), json),
            },
            None => command.render_long_help().to_string(),
        };
        Page::of("help", &text, json, String::clone)
    }

    pub fn init(done: &Initialised, json: bool) -> Page {
        Page::of("init", done, json, |done| match done.wrote.as_slice() {
            [] => "nothing to do: this repository is prepared\n".to_owned(),
            wrote => wrote.iter().map(|w| format!("{w}\n")).collect(),
        })
    }

    pub fn dispatch(done: &Dispatched, json: bool) -> Page {
        Page::of("dispatch", done, json, dispatched)
    }

    pub fn status(status: &Status, json: bool) -> Page {
        Page::of("status", status, json, |status| {
            let mut text = if status.workers.is_empty() && status.unreadable.is_empty() {
                "no workers; git skein dispatch \"<task>\" -- <agent> makes one\n".to_owned()
            } else {
                table(&status.workers)
            };
            for unread in &status.unreadable {
                text.push_str(&format!("{} {}\n", unread.worker, line(&unread.why)));
            }
            text
        })
    }

    pub fn show(shown: &Shown, json: bool) -> Page {
        Page::of("show", shown, json, |shown| match shown {
            Shown::Card(found) => card(found),
            Shown::Text(text) => safe(text),
            Shown::Events(events) => {
                events.iter().map(|e| format!("{}  {}\n", paint(DIM, &date(e.at)), line(&e.what))).collect()
            }
        })
    }

    pub fn wait(verb: &str, waited: &Waited, json: bool) -> Page {
        let text = |w: &Waited| w.workers.iter().map(ended).collect();
        Page::of(verb, waited, json, text).ending(waited.exit())
    }

    pub fn stopped(waited: &Waited, json: bool) -> Page {
        Page::of("stop", waited, json, |w| w.workers.iter().map(ended).collect())
    }

    pub fn import(done: &Imported, json: bool) -> Page {
        Page::of("import", done, json, imported)
    }

    pub fn land(done: &Landed, json: bool) -> Page {
        Page::of("land", done, json, landed)
    }

    /// Several landings. Each is shown; the gravest exit code counts.
    pub fn land_many(results: &[(String, Result<Landed>)], json: bool) -> Page {
        let mut page = Page::text(String::new());
        let mut values = Vec::new();
        for (name, result) in results {
            let one = match result {
                Ok(done) => Page::land(done, false),
                Err(failure) => Page::failure(name, failure, false),
            };
            page.out.push_str(&one.out);
            if !one.err.is_empty() {
                page.err.push_str(&format!("{}:\n{}", line(name), one.err));
            }
            if one.exit.code() > page.exit.code() {
                page.exit = one.exit;
            }
            values.push(match result {
                Ok(done) => serde_json::json!({ "name": name, "result": done }),
                Err(failure) => serde_json::json!({ "name": name, "error": error(failure) }),
            });
        }
        if json {
            page.out = envelope("land", "result", &values);
        }
        page
    }

    pub fn step(done: &Step, json: bool) -> Page {
        Page::of("candidate", done, json, |s| {
            let again = if s.already { " already" } else { "" };
            let gates: String = s.gates.iter().map(|g| format!("  gate passed: {}\n", line(g))).collect();
            let what = format!("candidate of {}{again} {}", line(&s.name), s.state);
            format!(
                "{}: {} on {} ({})\n{gates}",
                paint(GOOD, &what),
                s.new.short(),
                s.old.short(),
                s.onto.short()
            )
        })
    }

    pub fn landed(answer: &Answered, explain: bool, json: bool) -> Page {
        let exit = answer.answer.verdict.exit();
        Page::of("landed", answer, json, |a| crate::surfaces::verdict::text(a, explain)).ending(exit)
    }

    pub fn log(log: &Log, json: bool) -> Page {
        Page::of("log", log, json, |log| log.entries.iter().map(crate::surfaces::verdict::entry).collect())
    }
}

/// The one shape of all JSON output. What could steer a terminal stands in strings only, where JSON has a
/// spelling for it.
fn envelope<T: Serialize>(verb: &str, key: &str, value: &T) -> String {
    let value = serde_json::json!({ "schema": "git-skein/1", "verb": verb, key: value });
    let mut text = String::new();
    for c in format!("{value:#}\n").chars() {
        if steers(c) {
            text.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            text.push(c);
        }
    }
    text
}

fn error(failure: &Failure) -> serde_json::Value {
    let code = failure.exit().code();
    match failure {
        Failure::Refusal(r) => serde_json::json!({
            "code": code, "token": r.token, "says": r.says, "oids": r.oids, "lines": r.lines, "show": r.show,
            "next": r.next,
        }),
        Failure::Fault(f) => {
            serde_json::json!({ "code": code, "token": "fault", "says": f.doing, "cause": f.cause })
        }
    }
}

fn refused(refusal: &Refusal) -> String {
    let head = paint(BAD, &format!("refused: {}", refusal.token.as_str()));
    let mut text = format!("{head}: {}\n", line(&refusal.says));
    for (what, oid) in &refusal.oids {
        text.push_str(&format!("  {what}: {oid}\n"));
    }
    for item in refusal.lines.iter().take(40) {
        text.push_str(&format!("  {}\n", line(item)));
    }
    if refusal.lines.len() > 40 {
        text.push_str(&format!("  and {} more\n", refusal.lines.len() - 40));
    }
    if !refusal.show.is_empty() {
        text.push_str(&format!("{} {}\n", paint(DIM, "see: "), line(&refusal.show)));
    }
    if !refusal.next.is_empty() {
        text.push_str(&format!("{} {}\n", paint(DIM, "next:"), line(&refusal.next)));
    }
    text
}

fn exit_codes() -> String {
    Exit::TABLE.iter().map(|(exit, what)| format!("{:>4}  {what}\n", exit.code())).collect()
}

fn dispatched(d: &Dispatched) -> String {
    let mut text = format!("{} {}\n", paint(BOLD, d.handle.as_str()), paint(DIM, &d.worker.to_string()));
    let mut distance = Vec::new();
    match (d.behind, d.ahead) {
        (0, 0) => distance.push(format!("the tip of {}", d.onto.short())),
        (behind, 0) => distance.push(format!("{} behind {}", count(behind, "commit"), d.onto.short())),
        (behind, ahead) => distance.push(format!("{behind} behind and {ahead} ahead of {}", d.onto.short())),
    }
    distance.extend(d.upstream.as_ref().map(|u| line(u)));
    text.push_str(&format!(
        "  base      {} {} ({})\n",
        d.base.short(),
        line(&d.base_name),
        distance.join("; ")
    ));
    if !d.left_out.is_empty() {
        let some: Vec<String> = d.left_out.iter().take(5).map(|p| line(p)).collect();
        let more =
            if d.left_out.len() > 5 { format!(" and {} more", d.left_out.len() - 5) } else { String::new() };
        text.push_str(&format!("  {} {}{more}\n", paint(WARN, "left out"), some.join(", ")));
    }
    text.push_str(&format!("  worktree  {}\n", line(&d.worktree.display().to_string())));
    text.push_str(&format!("  jail      {} (it can write outside its worktree)\n", d.jail));
    text
}

fn outcome_style(outcome: Outcome) -> anstyle::Style {
    match outcome {
        Outcome::Ready => GOOD,
        Outcome::Failed => BAD,
        Outcome::NeedsInput | Outcome::Stopped => WARN,
        Outcome::Active => BOLD,
    }
}

fn words(flags: &[Flag]) -> String {
    flags.iter().map(|f| f.word()).collect::<Vec<_>>().join(", ")
}

fn work(row: &Row) -> String {
    match (row.commits, row.files) {
        (0, 0) => "nothing".to_owned(),
        (0, files) => format!("{}, not committed", count(files, "file")),
        (commits, files) => format!("{}, {}", count(commits, "commit"), count(files, "file")),
    }
}

fn state(row: &Row) -> String {
    match row.landed {
        Some(_) => "landed".to_owned(),
        None => row.outcome.to_string(),
    }
}

/// Liveness is a question only while the record says that it runs.
fn live(row: &Row) -> &'static str {
    match (row.outcome, row.liveness) {
        (Outcome::Active, Liveness::Live) => "live",
        (Outcome::Active, Liveness::Gone) => "gone",
        (Outcome::Active, Liveness::Unknown) => "unknown",
        _ => "-",
    }
}

fn table(rows: &[Row]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(["HANDLE", "OUTCOME", "LIVE", "BASE", "WORK", "AGE", "NEXT"]);
    for row in rows {
        let behind = if row.behind > 0 { format!(" -{}", row.behind) } else { String::new() };
        let flags = if row.flags.is_empty() { String::new() } else { format!(" ({})", words(&row.flags)) };
        table.add_row([
            row.handle.to_string(),
            state(row) + &flags,
            live(row).to_owned(),
            line(&row.base_name) + &behind,
            work(row),
            span(row.age),
            row.next.clone(),
        ]);
    }
    // The table pads its cells; a line of ours begins at the margin.
    table.lines().map(|l| format!("{}\n", l.strip_prefix(' ').unwrap_or(&l).trim_end())).collect()
}

fn card(card: &Card) -> String {
    let row = &card.row;
    let mut text = format!("{} {}\n", paint(BOLD, row.handle.as_str()), paint(DIM, &row.worker.to_string()));
    let mut field = |name: &str, value: String| {
        if !value.is_empty() {
            text.push_str(&format!("  {name:<10}{value}\n"));
        }
    };
    let reason = row.reason.as_ref().map(|r| format!(": {}", line(r))).unwrap_or_default();
    field("task", line(&row.task));
    field("outcome", format!("{}{reason}", paint(outcome_style(row.outcome), row.outcome.word())));
    field("liveness", live(row).to_owned());
    field("flags", words(&row.flags));
    field(
        "base",
        format!("{} {} ({} behind {})", row.base.short(), line(&row.base_name), row.behind, row.onto.short()),
    );
    field("head", format!("{} ({})", row.head.short(), work(row)));
    field("snapshot", row.snapshot.map(|s| s.short()).unwrap_or_default());
    field("agent", if card.agent.is_empty() { "built-in".to_owned() } else { line(&card.agent.join(" ")) });
    field("exit", card.exit.map(|e| e.to_string()).unwrap_or_default());
    field("jail", card.jail.to_owned());
    field("paths", line(&card.paths.join(" ")));
    field("checks", line(&card.checks.join("; ")));
    field("born", format!("{} ({} ago)", date(row.created), span(row.age)));
    field("ended", row.ended.map(date).unwrap_or_default());
    field(
        "worktree",
        row.worktree.as_ref().map(|w| line(&w.display().to_string())).unwrap_or_else(|| "gone".to_owned()),
    );
    field("landed", row.landed.map(|l| paint(GOOD, &l.to_string())).unwrap_or_default());
    for outside in &card.outside {
        field("outside", paint(BAD, &line(outside)));
    }
    for change in &card.changes {
        text.push_str(&format!("  {} {}\n", change.state, line(&change.path)));
    }
    text.push_str(&format!("{} {}\n", paint(DIM, "next:"), row.next));
    text
}

fn ended(row: &Row) -> String {
    let reason = row.reason.as_ref().map(|r| format!(": {}", line(r))).unwrap_or_default();
    let flags = if row.flags.is_empty() { String::new() } else { format!(" [{}]", words(&row.flags)) };
    let outcome = paint(outcome_style(row.outcome), row.outcome.word());
    format!("{} {outcome}{reason}{flags} ({})\n{} {}\n", row.handle, work(row), paint(DIM, "next:"), row.next)
}

fn warnings(noted: &Noted) -> String {
    let mut text = String::new();
    for (what, items) in [
        ("not committed, kept in the snapshot only", &noted.leftovers),
        ("outside the declared paths", &noted.undeclared),
        ("could not be captured", &noted.skipped),
        ("ignored by its own rule", &noted.ignored),
    ] {
        for item in items {
            text.push_str(&format!("  {}: {}\n", paint(WARN, what), line(item)));
        }
    }
    text
}

fn imported(i: &Imported) -> String {
    let warn = warnings(&i.noted);
    let commits = count(i.delta.commits.len(), "commit");
    let how = if i.dry_run { "would freeze" } else { "frozen" };
    let head = format!("{how}: {} delta {}", i.handle, i.delta.n);
    let mut text = format!("{}: {commits}, {}\n", paint(GOOD, &head), count(i.delta.paths as usize, "path"));
    text.push_str(&format!(
        "  base {}  tip {}  raw {}\n",
        i.delta.base.short(),
        i.delta.tip.short(),
        &i.delta.net.raw.as_str()[..16]
    ));
    if i.delta.uncommitted {
        text.push_str("  its working tree was taken in as one commit\n");
    }
    match &i.landed {
        Some(done) => text + &landed(done),
        None => text + &warn,
    }
}

fn landed(l: &Landed) -> String {
    let onto = l.onto.short();
    let mut text = if l.already {
        format!("{}: {} is on {onto} as {}\n", paint(GOOD, "already landed"), line(&l.name), l.new)
    } else {
        let word = if l.dry_run { "would land" } else { "landed" };
        let kind = match l.match_ {
            Some(crate::verbs::land::Match::Exact) => ", exact",
            Some(crate::verbs::land::Match::Adjusted) => ", adjusted to the new context",
            None => "",
        };
        let what = format!("{}, {}{kind}", count(l.commits, "commit"), count(l.paths, "path"));
        format!(
            "{}: {} on {onto} ({what})\n  {}..{}\n",
            paint(GOOD, word),
            line(&l.name),
            l.old.short(),
            l.new
        )
    };
    for gate in &l.gates {
        let word = if l.dry_run { "gate to pass" } else { "gate passed" };
        text.push_str(&format!("  {word}: {}\n", line(gate)));
    }
    if l.unsigned {
        text.push_str(&format!(
            "  {}: commit.gpgSign is set, but landings are not signed yet\n",
            paint(WARN, "unsigned")
        ));
    }
    text + &warnings(&l.noted)
}

/// Writes one man page for the program and one for each verb.
pub fn man_pages(env: &Env, dir: Option<&Path>, json: bool) -> Result<Page> {
    let dir = dir.map_or_else(|| crate::surfaces::cli::man_dir(env), |d| env.cwd().join(d));
    let mut pages = Vec::new();
    let root = command();
    let mut all = vec![("git-skein".to_owned(), root.clone())];
    all.extend(root.get_subcommands().map(|c| (format!("git-skein-{}", c.get_name()), c.clone())));
    for (name, command) in all {
        let mut text = Vec::new();
        let named: &'static str = Box::leak(name.clone().into_boxed_str());
        clap_mangen::Man::new(command.name(named).version(env!("CARGO_PKG_VERSION")))
            .render(&mut text)
            .map_err(|e| Failure::fault("rendering a man page", e))?;
        pages.push((dir.join(format!("{name}.1")), text));
    }
    crate::verbs::write_files(&dir, &pages)?;
    let wrote: Vec<String> = pages.iter().map(|(path, _)| path.display().to_string()).collect();
    let folder = line(&dir.display().to_string());
    Ok(Page::of("man", &wrote, json, |w| format!("wrote {} to {folder}\n", count(w.len(), "man page"))))
}
