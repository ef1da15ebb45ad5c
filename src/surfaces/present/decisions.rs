//! What waits for a person, what was decided, and what nobody ever decided.

use crate::domain::Decision;
use crate::domain::Risk;
use crate::domain::RiskLevel;
use crate::surfaces::present::Page;
use crate::surfaces::present::workers;
use crate::surfaces::style::BAD;
use crate::surfaces::style::BOLD;
use crate::surfaces::style::DIM;
use crate::surfaces::style::GOOD;
use crate::surfaces::style::WARN;
use crate::surfaces::style::date;
use crate::surfaces::style::line;
use crate::surfaces::style::paint;
use crate::surfaces::style::span;
use crate::verbs::debt::Debt;
use crate::verbs::debt::Owed;
use crate::verbs::inbox;
use crate::verbs::inbox::Inbox;
use crate::verbs::log;
use crate::verbs::log::Decisions;
use crate::verbs::log::LaneEntry;
use crate::verbs::verdict::Card;
use crate::verbs::verdict::Decided;

impl Page {
    pub fn verdict_card(card: &Card, json: bool) -> Page {
        Page::of("verdict", card, json, shown)
    }

    pub fn decided(done: &Decided, json: bool) -> Page {
        Page::of("verdict", done, json, decided)
    }

    pub fn inbox(inbox: &Inbox, json: bool) -> Page {
        Page::of("inbox", inbox, json, |inbox| match inbox.cards.as_slice() {
            [] => "nothing waits for you\n".to_owned(),
            cards => table(cards),
        })
    }

    pub fn decisions(log: &Decisions, json: bool) -> Page {
        Page::of("log", log, json, |log| log.entries.iter().map(decision).collect())
    }

    pub fn debt(debt: &Debt, json: bool) -> Page {
        Page::of("debt", debt, json, |debt| debt.owed.iter().map(owed).collect())
    }
}

fn risk(risk: &Risk) -> String {
    let style = match risk.level {
        RiskLevel::Low => GOOD,
        RiskLevel::Medium => WARN,
        RiskLevel::High => BAD,
    };
    let reasons: Vec<String> = risk.reasons.iter().map(|reason| line(reason)).collect();
    let why = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join("; ")) };
    paint(style, risk.level.word()) + &why
}

/// The card of the worker, then what a verdict is about.
fn shown(card: &Card) -> String {
    let row = &card.card.row;
    let mut text = workers::facts(&card.card);
    let mut field = |name: &str, value: String| {
        if !value.is_empty() {
            text.push_str(&format!("  {name:<10}{value}\n"));
        }
    };
    for question in &row.asks {
        for (at, option) in question.options.iter().enumerate() {
            field("option", format!("{} (q{}): {}", at + 1, question.n, line(option)));
        }
    }
    field("risk", card.risk.as_ref().map(risk).unwrap_or_default());
    if let Some(standing) = &card.standing {
        let judged = &standing.judged;
        let delta = judged.delta.map(|n| format!(" delta {n}")).unwrap_or_default();
        let how = match (standing.carried, &card.since) {
            (true, _) => "; it carries over, the changes are the same",
            (false, Some(_)) => "; what is there now is something else",
            (false, None) => "",
        };
        let word = paint(if judged.verb == Decision::Accept { GOOD } else { WARN }, judged.verb.word());
        field("verdict", format!("{word}{delta} by {}{how}", line(&judged.actor)));
    }
    field("since then", card.since.clone().unwrap_or_default());
    field("hindered", card.hindered.as_deref().map(line).unwrap_or_default());
    field("decides", card.subject.as_ref().map(|id| format!("--delta {id}")).unwrap_or_default());
    let verbs: Vec<&str> = card.verbs.iter().map(|verb| verb.word()).collect();
    let accepted = card.since.is_none()
        && card.standing.as_ref().is_some_and(|standing| standing.judged.verb == Decision::Accept);
    let next = match verbs.as_slice() {
        [] => row.next.clone(),
        _ if accepted => row.next.clone(),
        verbs => format!("git skein verdict {} {}", row.handle, verbs.join("|")),
    };
    text.push_str(&format!("{} {next}\n", paint(DIM, "next:")));
    text
}

fn decided(done: &Decided) -> String {
    let style = match done.verb {
        Decision::Accept | Decision::Answer => GOOD,
        _ => WARN,
    };
    let mut text = format!("{}: {} {}\n", paint(style, done.verb.word()), done.handle, done.subject);
    if let Some(found) = &done.risk {
        text.push_str(&format!("  risk      {}\n", risk(found)));
    }
    if let Some(told) = &done.told {
        let to = told.to.as_ref().map(|q| line(&q.text)).unwrap_or_default();
        text.push_str(&format!("  answers   {to}\n"));
    }
    if let Some(retry) = &done.retry {
        text.push_str(&format!("  retry     {retry}\n"));
    }
    text + &format!("{} {}\n", paint(DIM, "next:"), done.next)
}

/// One line each, with the question or the reason below it.
fn table(cards: &[inbox::Card]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(["RANK", "HANDLE", "WAITS FOR", "SINCE", "RISK", "NEXT"]);
    for card in cards {
        let said = card.says.as_deref().map(|says| format!(": {}", cut(&line(says)))).unwrap_or_default();
        table.add_row([
            card.rank.to_string(),
            card.handle.to_string(),
            card.waits_for.words().to_owned() + &said,
            span(card.waited),
            card.risk.as_ref().map_or("-", |risk| risk.level.word()).to_owned(),
            card.next.clone(),
        ]);
    }
    table.lines().map(|l| format!("{}\n", l.strip_prefix(' ').unwrap_or(&l).trim_end())).collect()
}

/// The beginning of a text.
fn cut(text: &str) -> String {
    let mut some: String = text.chars().take(60).collect();
    if some.len() < text.len() {
        some.push('…');
    }
    some
}

/// One verdict of a lane, and what it rests on below it.
fn decision(one: &log::Decided) -> String {
    let LaneEntry::Verdict(v) = &one.entry.record.entry else { return String::new() };
    let who = one.handle.as_ref().map_or_else(|| v.worker.to_string(), ToString::to_string);
    let mut about = String::new();
    if let (Some(n), Some(raw)) = (v.delta, &v.raw) {
        about.push_str(&format!(" {n}:{}", raw.as_str().get(..12).unwrap_or_default()));
    }
    if let Some(n) = v.question {
        about.push_str(&format!(" q{n}"));
    }
    if let Some(n) = v.option {
        about.push_str(&format!(" option {n}"));
    }
    let when = paint(DIM, &date(one.entry.record.at));
    let mut text =
        format!("{when} {} {}{about} by {}\n", paint(BOLD, v.verb.word()), line(&who), line(&v.actor));
    let mut field = |name: &str, value: &str| text.push_str(&format!("  {name:<10}{value}\n"));
    if let Some(found) = &v.risk {
        field("risk", &risk(found));
    }
    if let Some(said) = &v.text {
        field("said", &line(said));
    }
    for ran in &one.ran {
        field("evidence", &format!("{}: {}", ran.ended(), line(&ran.command)));
    }
    if let Some(retry) = v.retry {
        field("retry", &retry.to_string());
    }
    text
}

fn owed(one: &Owed) -> String {
    let who = one.handle.as_ref().map_or_else(|| one.worker.to_string(), ToString::to_string);
    let how = match (one.delta, &one.onto) {
        (Some(n), Some(onto)) => format!("landed delta {n} on {}", onto.short()),
        _ => "was closed".to_owned(),
    };
    let when = paint(DIM, &date(one.at));
    format!("{when} {} {how}, and nobody judged it\n{} {}\n", line(&who), paint(DIM, "next:"), one.next)
}
