//! Rendering of kinds, and of what has to be trusted.

use crate::domain::Exit;
use crate::domain::kind::Ties;
use crate::domain::plan::LaidOut;
use crate::surfaces::present::Page;
use crate::surfaces::style::BOLD;
use crate::surfaces::style::DIM;
use crate::surfaces::style::GOOD;
use crate::surfaces::style::WARN;
use crate::surfaces::style::date;
use crate::surfaces::style::line;
use crate::surfaces::style::paint;
use crate::surfaces::style::safe;
use crate::verbs::kinds::Kinds;
use crate::verbs::kinds::Listed;
use crate::verbs::plan::Read;
use crate::verbs::trust;
use crate::verbs::trust::Trust;

impl Page {
    pub fn kinds(kinds: &Kinds, json: bool) -> Page {
        Page::of("kinds", kinds, json, |kinds| kinds.kinds.iter().map(kind).collect())
    }

    pub fn plan(read: &Read, json: bool) -> Page {
        Page::of("plan", read, json, plan)
    }

    /// Where something is not trusted, the answer is no.
    pub fn trust(trust: &Trust, brief: bool, json: bool) -> Page {
        let exit = if trust.is_complete() { Exit::Done } else { Exit::No };
        Page::of("trust", trust, json, |trust| trusted(trust, brief)).ending(exit)
    }
}

fn plan(read: &Read) -> String {
    let handle = &read.handle;
    let mut text = format!("{} plan {} of {}\n", paint(BOLD, handle.as_str()), read.plan.short(), read.plans);
    for (name, value) in laid_out(&read.plan) {
        text.push_str(&format!("  {name:<10}{value}\n"));
    }
    let next = match (read.now, read.resumed, &read.plan.decided) {
        (true, true, _) => format!("git skein wait {handle}"),
        (true, false, _) => format!("git skein resume {handle}"),
        (false, _, None) => format!("git skein plan {handle} approve --plan {}", read.plan.short()),
        (false, _, Some(_)) => format!("git skein show {handle}"),
    };
    text + &format!("{} {next}\n", paint(DIM, "next:"))
}

/// A plan, field by field.
pub fn laid_out(plan: &LaidOut) -> Vec<(&'static str, String)> {
    let mut fields = vec![("goal", line(&plan.goal))];
    for (n, step) in plan.steps.iter().enumerate() {
        let paths =
            if step.paths.is_empty() { String::new() } else { format!(" ({})", step.paths.join(" ")) };
        fields.push(("step", format!("{}. {}{}", n + 1, line(&step.text), line(&paths))));
    }
    fields.extend(plan.verification.iter().map(|text| ("verify", line(text))));
    fields.extend(plan.risks.iter().map(|text| ("risk", line(text))));
    if let Some(decided) = &plan.decided {
        let why = decided.text.as_ref().map(|text| format!(": {}", line(text))).unwrap_or_default();
        fields
            .push((decided.verdict.word(), format!("by {} at {}{why}", line(&decided.by), date(decided.at))));
    }
    fields
}

fn kind(listed: &Listed) -> String {
    let place = match listed.place.is_empty() {
        true => String::new(),
        false => format!(" {}", line(&listed.place)),
    };
    let hidden = if listed.shadowed { ", hidden" } else { "" };
    let from = paint(DIM, &format!("({}{place}{hidden})", listed.from.word()));
    let mut text = format!("{} {from}\n", paint(BOLD, &line(&listed.name)));
    if let Some(kind) = &listed.kind {
        let marks = [
            (kind.read_only, "reads only"),
            (kind.plan_gate, "plans first"),
            (!kind.seed.is_none(), "goes on from a session"),
            (kind.can_spawn.is_some_and(|depth| depth > 0), "starts others"),
        ];
        let marks: Vec<&str> = marks.into_iter().filter(|(set, _)| *set).map(|(_, mark)| mark).collect();
        let marks = if marks.is_empty() { String::new() } else { format!(" [{}]", marks.join(", ")) };
        text.push_str(&format!("  {}{marks}\n", line(&kind.description)));
        for command in kind.commands() {
            text.push_str(&format!("  {}\n", line(&command)));
        }
    }
    if let Some(bad) = &listed.bad {
        text.push_str(&format!("  {} {}\n", paint(WARN, "refused:"), line(bad)));
    }
    if listed.untrusted {
        text.push_str(&format!("  {} git skein trust\n", paint(WARN, "not trusted:")));
    }
    text
}

fn trusted(trust: &Trust, brief: bool) -> String {
    if trust.files.is_empty() {
        return "nothing tracked makes commands run\n".to_owned();
    }
    let mut text: String = trust.files.iter().map(|listed| file(listed, brief)).collect();
    if !trust.is_complete() {
        let new = trust.files.iter().filter(|file| !file.trusted);
        let new: Vec<&str> = new.map(|file| trust::short(&file.digest)).collect();
        text.push_str(&format!("{} git skein trust --yes {}\n", paint(DIM, "next:"), new.join(" ")));
    }
    text
}

fn file(listed: &trust::Listed, brief: bool) -> String {
    let state = match (listed.trusted, listed.now, listed.before) {
        (true, true, _) => paint(GOOD, "trusted now"),
        (true, false, _) => paint(GOOD, "trusted"),
        (false, _, Some(_)) => paint(WARN, "changed since it was trusted"),
        (false, _, None) => paint(WARN, "not trusted"),
    };
    let mut text = format!("{} {}: {state}\n", listed.digest, line(&listed.path));
    if brief || listed.trusted {
        return text;
    }
    for command in &listed.commands {
        text.push_str(&format!("  {}\n", line(command)));
    }
    for content in safe(&listed.text).lines() {
        text.push_str(&format!("  {} {content}\n", paint(DIM, "|")));
    }
    text
}

/// The kind of a worker, and what that binds it to.
pub fn ties(ties: &Ties) -> String {
    let marks = [(ties.read_only, ", reads only"), (ties.plan_gate, ", plans first")];
    let marks: String = marks.into_iter().filter(|(set, _)| *set).map(|(_, mark)| mark).collect();
    let budget = ties.budget.map(|cents| format!(", at most ${}.{:02}", cents / 100, cents % 100));
    format!("{} ({}{marks}{})", line(&ties.name), ties.from.word(), budget.unwrap_or_default())
}
