//! Workers: how one is born, listed, shown, waited for.

use crate::domain;
use crate::domain::Flag;
use crate::domain::Jail;
use crate::domain::Liveness;
use crate::domain::Outcome;
use crate::domain::Tally;
use crate::domain::protocol::Question;
use crate::surfaces::ci::Case;
use crate::surfaces::present::Page;
use crate::surfaces::present::kinds::laid_out;
use crate::surfaces::present::kinds::ties;
use crate::surfaces::present::overlap::neighbour;
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
use crate::verbs::dispatch::Dispatched;
use crate::verbs::init::Initialised;
use crate::verbs::show::Card;
use crate::verbs::show::Shown;
use crate::verbs::show::WentOn;
use crate::verbs::status::Board;
use crate::verbs::status::Kin;
use crate::verbs::status::Row;
use crate::verbs::status::Status;
use crate::verbs::wait::Waited;
use anstyle::Style;

/// What is quiet for less than these seconds is not remarkable.
const LONG: i64 = 60;

impl Page {
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
        let cases = waited.workers.iter().map(Case::of_worker).collect();
        Page::of(verb, waited, json, text).ending(waited.exit()).telling(cases)
    }

    pub fn stopped(waited: &Waited, json: bool) -> Page {
        Page::of("stop", waited, json, |w| w.workers.iter().map(ended).collect())
    }
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
    if d.committed_base.is_some() {
        let on = d.committed_base.map(|oid| oid.short().to_owned()).unwrap_or_default();
        text.push_str(&format!("  with      {}, uncommitted on {on}\n", some_of(&d.with_dirty)));
    }
    if !d.left_out.is_empty() {
        text.push_str(&format!("  {}  {}\n", paint(WARN, "left out"), some_of(&d.left_out)));
    }
    if !d.included.copied.is_empty() {
        text.push_str(&format!("  included  {} (ignored by git)\n", some_of(&d.included.copied)));
    }
    for (path, why) in d.included.skipped.iter().take(5) {
        text.push_str(&format!("  {} {}: {why}\n", paint(WARN, "not included:"), line(path)));
    }
    if let Some(hooks) = &d.no_hooks {
        let why = "core.hooksPath is relative, and this is not in its worktree: its commits run no hook";
        text.push_str(&format!("  {} {}: {why}\n", paint(WARN, "no hooks:"), line(hooks)));
    }
    text.push_str(&format!("  worktree  {}\n", line(&d.worktree.display().to_string())));
    if let Some(kind) = &d.kind {
        text.push_str(&format!("  kind      {}\n", ties(kind)));
    }
    let note = if d.jail == Jail::None { " (it can write outside its worktree)" } else { "" };
    text.push_str(&format!("  jail      {}{note}\n", d.jail.word()));
    if d.tmux {
        text.push_str(&format!("  window    git skein attach {}\n", d.handle));
    }
    text
}

fn seed(of: &WentOn) -> String {
    let whose = of.handle.as_ref().map_or_else(|| of.seed.worker.to_string(), ToString::to_string);
    format!("session {} of {}", line(&of.seed.session), line(&whose))
}

fn spent(said: &Tally) -> String {
    let usage = &said.usage;
    let cost = usage.cost.map(|cost| format!(", ${cost:.2}")).unwrap_or_default();
    let number = |n: u64, what: &str| count(usize::try_from(n).unwrap_or(usize::MAX), what);
    let counts = format!("{}, {}", number(usage.turns, "turn"), number(usage.tools, "tool call"));
    format!("{counts}, {} tokens in, {} out{cost}", usage.tokens_in, usage.tokens_out)
}

/// The first of many names.
fn some_of(names: &[String]) -> String {
    domain::some_of(names.iter().map(|name| line(name)), 5)
}

fn outcome_style(row: &Row) -> Style {
    match row.outcome {
        // Without any work it is nothing to be glad of.
        Outcome::Ready if row.files == 0 => WARN,
        Outcome::Ready => GOOD,
        Outcome::Failed => BAD,
        Outcome::NeedsInput | Outcome::Stopped => WARN,
        Outcome::Active => BOLD,
    }
}

fn words(flags: &[Flag]) -> String {
    flags.iter().map(|f| f.word()).collect::<Vec<_>>().join(", ")
}

/// The brief of a queue, and whether others brought a result of it.
fn brief(row: &Row) -> String {
    let Some(brief) = row.brief else { return String::new() };
    let twins: Vec<String> = row.twins.iter().map(|name| line(name)).collect();
    let more = format!(", another result of it is {}", twins.join(", "));
    format!("{brief}{}", if twins.is_empty() { "" } else { &more })
}

fn work(row: &Row) -> String {
    match (row.commits, row.files) {
        (0, 0) if row.away => "in another clone".to_owned(),
        (0, 0) => "nothing".to_owned(),
        (0, files) => format!("{}, not committed", count(files, "file")),
        (commits, files) => format!("{}, {}", count(commits, "commit"), count(files, "file")),
    }
}

fn state(row: &Row) -> String {
    match row.landed {
        Some(_) if row.taken_back => "taken back".to_owned(),
        Some(_) => "landed".to_owned(),
        None => match row.paused {
            Some(until) => format!("paused until {}", date(until)),
            None => match &row.landed_on {
                Some(onto) => format!("{}, on {}", row.outcome, line(onto.short())),
                None => row.outcome.to_string(),
            },
        },
    }
}

/// Liveness is a question only while the record says that it runs.
fn live(row: &Row) -> String {
    let long = |what: &str, seconds: Option<i64>| {
        seconds.filter(|s| *s >= LONG).map(|s| format!("{what} {}", span(s)))
    };
    match row.liveness {
        Some(Liveness::Live) => long("silent", row.silent).unwrap_or_else(|| "live".to_owned()),
        Some(Liveness::Gone) => "gone".to_owned(),
        Some(Liveness::Unknown) => "unknown".to_owned(),
        None => long("waiting", row.waits).unwrap_or_else(|| "-".to_owned()),
    }
}

/// What a worker does or did, in a word or two, and how good that is.
pub fn standing(row: &Row) -> (String, Style) {
    let alive = row.outcome == Outcome::Active && row.liveness == Some(Liveness::Live);
    let words = if alive && row.landed.is_none() { live(row) } else { state(row) };
    (words, if alive { live_style(row) } else { outcome_style(row) })
}

fn live_style(row: &Row) -> Style {
    let long = |seconds: Option<i64>| seconds.is_some_and(|s| s >= LONG);
    match row.liveness {
        Some(Liveness::Gone) => BAD,
        Some(Liveness::Unknown) => WARN,
        _ if long(row.silent) || long(row.waits) => WARN,
        _ => Style::new(),
    }
}

/// How far it is, in its own words, on one line.
pub fn board(board: &Board) -> String {
    let listed = (board.todos > 0).then(|| format!("{} of {} done", board.done, board.todos));
    let said = board.progress.as_deref().map(line);
    [listed, said].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

const HEADER: [&str; 7] = ["HANDLE", "OUTCOME", "LIVE", "BASE", "WORK", "AGE", "NEXT"];

fn cells(row: &Row) -> [(String, Style); 7] {
    let behind = row.behind.filter(|n| *n > 0).map(|n| format!(" -{n}")).unwrap_or_default();
    let flags = if row.flags.is_empty() { String::new() } else { format!(" ({})", words(&row.flags)) };
    [
        (row.handle.to_string(), BOLD),
        (state(row) + &flags, outcome_style(row)),
        (live(row), live_style(row)),
        (line(&row.base_name) + &behind, Style::new()),
        (work(row), Style::new()),
        (span(row.age), DIM),
        (row.next.clone(), Style::new()),
    ]
}

/// A line of a table with its cells painted. Only blanks stand between them.
fn painted<'c>(plain: &str, cells: impl Iterator<Item = (&'c str, Style)>) -> String {
    let (mut rest, mut out) = (plain, String::new());
    for (text, style) in cells {
        let Some((gap, after)) = rest.split_once(text).filter(|(gap, _)| gap.trim().is_empty()) else {
            return plain.to_owned();
        };
        out.push_str(gap);
        out.push_str(&paint(style, text));
        rest = after;
    }
    out + rest
}

fn table(rows: &[Row]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(HEADER);
    let cells: Vec<_> = rows.iter().map(cells).collect();
    for row in &cells {
        table.add_row(row.iter().map(|(text, _)| text));
    }
    let header = HEADER.map(|name| (name.to_owned(), DIM));
    // The table pads its cells; a line of ours begins at the margin.
    let lines = table.lines().zip([&header].into_iter().chain(&cells)).map(|(l, cells)| {
        let plain = l.strip_prefix(' ').unwrap_or(&l).trim_end();
        painted(plain, cells.iter().map(|(text, style)| (text.trim(), *style))) + "\n"
    });
    let boards = rows.iter().filter_map(|row| Some((row, row.board.as_ref()?)));
    let boards = boards.map(|(row, said)| format!("{} says: {}\n", row.handle, board(said)));
    let asked = rows.iter().flat_map(|row| row.asks.iter().map(move |q| (row, q)));
    let asked = asked.map(|(row, q)| format!("{} asks: {}\n", row.handle, question(q)));
    let near = rows.iter().flat_map(|row| row.meets.iter().map(move |other| (row, other)));
    // Each pair once.
    let near = near.filter(|(row, other)| row.handle < other.handle);
    let near = near.map(|(row, other)| format!("{} meets {}\n", row.handle, neighbour(other)));
    let started = rows.iter().filter(|row| !row.children.is_empty());
    let started = started.map(|row| format!("{} started: {}\n", row.handle, kin(&row.children)));
    let again = |row: &&Row| {
        rows.iter().any(|o| row.brief.is_some() && o.brief == row.brief && o.worker < row.worker)
    };
    let again = rows.iter().filter(again).map(|row| {
        let (id, brief) = (row.worker, row.brief.map(|brief| brief.to_string()).unwrap_or_default());
        format!("{} ({id}) is a second result of brief {brief}\n", row.handle)
    });
    lines.chain(boards).chain(asked).chain(near).chain(started).chain(again).collect()
}

fn card(card: &Card) -> String {
    facts(card) + &format!("{} {}\n", paint(DIM, "next:"), card.row.next)
}

/// The card without what comes next.
pub(super) fn facts(card: &Card) -> String {
    let row = &card.row;
    let mut text = format!("{} {}\n", paint(BOLD, row.handle.as_str()), paint(DIM, &row.worker.to_string()));
    let mut field = |name: &str, value: String| {
        if !value.is_empty() {
            text.push_str(&format!("  {name:<10}{value}\n"));
        }
    };
    let reason = row.reason.as_ref().map(|r| format!(": {}", line(r))).unwrap_or_default();
    field("task", line(&row.task));
    field("outcome", format!("{}{reason}", paint(outcome_style(row), row.outcome.word())));
    field("liveness", live(row));
    field("flags", words(&row.flags));
    let distance = match row.behind {
        Some(behind) => format!("{behind} behind {}", row.onto.short()),
        None => format!("there is no branch {}", row.onto.short()),
    };
    field("base", format!("{} {} ({distance})", row.base.short(), line(&row.base_name)));
    field("head", format!("{} ({})", row.head.short(), work(row)));
    field("brief", brief(row));
    field("parent", row.parent.as_ref().map(|p| kin(std::slice::from_ref(p))).unwrap_or_default());
    field("children", kin(&row.children));
    for other in &row.meets {
        field("meets", neighbour(other));
    }
    field("snapshot", row.snapshot.map(|s| s.short()).unwrap_or_default());
    field(
        "discarded",
        card.discarded.map(|oid| format!("snapshot {} has it", oid.short())).unwrap_or_default(),
    );
    field("agent", if card.agent.is_empty() { "built-in".to_owned() } else { line(&card.agent.join(" ")) });
    if let Some(said) = &card.said {
        field("spent", spent(said));
        let first =
            |text: &Option<String>| line(text.as_deref().unwrap_or_default().lines().next().unwrap_or(""));
        field("said", first(&said.text));
        field("error", first(&said.error));
    }
    field("paused", row.paused.map(|until| format!("until {}", date(until))).unwrap_or_default());
    field("kind", card.kind.as_ref().map(ties).unwrap_or_default());
    field("seed", card.seed.as_ref().map(seed).unwrap_or_default());
    field("exit", card.exit.map(|e| e.to_string()).unwrap_or_default());
    field("jail", card.jail.word().to_owned());
    field("paths", line(&card.paths.join(" ")));
    field("checks", line(&card.checks.join("; ")));
    field("born", format!("{} ({} ago)", date(row.created), span(row.age)));
    field("ended", row.ended.map(date).unwrap_or_default());
    field(
        "worktree",
        row.worktree.as_ref().map(|w| line(&w.display().to_string())).unwrap_or_else(|| "gone".to_owned()),
    );
    let back = if row.taken_back { ", and was taken back" } else { "" };
    field("landed", row.landed.map(|l| paint(GOOD, &l.to_string()) + back).unwrap_or_default());
    field("landed on", row.landed_on.as_ref().map(|onto| line(onto.short())).unwrap_or_default());
    for outside in &card.outside {
        field("outside", paint(BAD, &line(outside)));
    }
    if let Some(plan) = &card.plan {
        field("plan", plan.plan.short().to_owned());
        laid_out(&plan.plan).into_iter().for_each(|(name, value)| field(name, value));
        field("planned", line(&plan.against.planned.join(" ")));
        field("off plan", line(&plan.against.off_plan.join(" ")));
        field("untouched", line(&plan.against.untouched.join(" ")));
    }
    spoken(card, &mut field);
    for change in &card.changes {
        text.push_str(&format!("  {} {}\n", change.state, line(&change.path)));
    }
    text
}

/// Workers that started each other, with where they stand.
fn kin(all: &[Kin]) -> String {
    let one = |kin: &Kin| match (&kin.handle, kin.outcome) {
        (Some(handle), Some(outcome)) => format!("{handle} ({outcome})"),
        _ => format!("{} (closed)", kin.worker),
    };
    all.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// What it said, what it was told, and what it claims beside what was seen.
fn spoken(card: &Card, field: &mut impl FnMut(&str, String)) {
    if !card.todos.is_empty() {
        let done = card.todos.iter().filter(|todo| todo.done).count();
        field("done", format!("{done} of {}", count(card.todos.len(), "todo")));
    }
    for (n, todo) in card.todos.iter().enumerate().filter(|(_, todo)| !todo.done) {
        field("todo", format!("{}. {}", n + 1, line(&todo.text)));
    }
    field("progress", card.progress.as_deref().map(line).unwrap_or_default());
    for asked in &card.row.asks {
        field("asks", question(asked));
    }
    for loaded in &card.loaded {
        let state = if loaded.used.is_some() { "used" } else { "for its next run" };
        field("reads", format!("{} ({state})", loaded.bundle));
    }
    for sent in &card.messages {
        let to = sent.message.to.map(|n| format!(" to question {n}"));
        let to = to.or(sent.message.from.map(|_| " from a child".to_owned())).unwrap_or_default();
        let (n, state) = (sent.message.n, sent.state.word());
        field("told", format!("{n}{to} ({state}): {}", line(&sent.message.text)));
    }
    let Some(claim) = &card.claim else {
        card.passed.iter().for_each(|passed| field("passed", line(passed)));
        return;
    };
    field("claims", format!("{}: {}", claim.outcome.word(), line(&claim.summary)));
    for evidence in &claim.evidence {
        field("", line(evidence));
    }
    field("observed", work(&card.row));
    for passed in &card.passed {
        field("passed", line(passed));
    }
    if card.passed.is_empty() {
        field("passed", "nothing was seen to pass on its commits".to_owned());
    }
}

fn question(asked: &Question) -> String {
    let options: String = asked.options.iter().map(|o| format!(" [{}]", line(o))).collect();
    format!("{}. {}{options}", asked.n, line(&asked.text))
}

fn ended(row: &Row) -> String {
    let reason = row.reason.as_ref().map(|r| format!(": {}", line(r))).unwrap_or_default();
    // What the reason says already is not said again.
    let said =
        |flag: &&Flag| row.reason.as_ref().is_some_and(|r| r.starts_with(&format!("{}:", flag.word())));
    let flags: Vec<Flag> = row.flags.iter().filter(|flag| !said(flag)).copied().collect();
    let flags = if flags.is_empty() { String::new() } else { format!(" [{}]", words(&flags)) };
    let outcome = paint(outcome_style(row), row.outcome.word());
    format!("{} {outcome}{reason}{flags} ({})\n{} {}\n", row.handle, work(row), paint(DIM, "next:"), row.next)
}
