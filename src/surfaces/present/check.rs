//! What checks showed.

use crate::surfaces::present::Page;
use crate::surfaces::style::BAD;
use crate::surfaces::style::DIM;
use crate::surfaces::style::GOOD;
use crate::surfaces::style::WARN;
use crate::surfaces::style::count;
use crate::surfaces::style::line;
use crate::surfaces::style::paint;
use crate::verbs::check::Compared;
use crate::verbs::check::Done;
use crate::verbs::check::Evidence;
use crate::verbs::check::One;
use crate::verbs::check::Verified;

impl Page {
    pub fn check(done: &Done, json: bool) -> Page {
        let text = |done: &Done| {
            let head = format!("{} delta {} (tree {})\n", done.handle, done.delta, done.tree.short());
            head + &done.checks.iter().map(one).collect::<String>()
        };
        Page::of("check", done, json, text).ending(done.exit())
    }

    pub fn verify(done: &Verified, json: bool) -> Page {
        let text = |done: &Verified| {
            let head = format!("{} (tree {})\n", done.commit.short(), done.tree.short());
            head + &done.compared.iter().map(compared).collect::<String>()
        };
        Page::of("verify", done, json, text).ending(done.exit())
    }
}

fn one(one: &One) -> String {
    let state = if one.passed { paint(GOOD, "passed") } else { paint(BAD, "failed") };
    let before = if one.already { ", before" } else { "" };
    let mut text = format!("  {state}  {} ({}{before})\n", line(&one.evidence.command), facts(&one.evidence));
    for said in one.says.iter().chain(&one.output) {
        text.push_str(&format!("    {}\n", line(said)));
    }
    text + &tools(&one.evidence)
}

fn compared(one: &Compared) -> String {
    let state = match (one.same, one.same_output) {
        (false, _) => paint(BAD, "differs"),
        (true, true) => paint(GOOD, "same"),
        (true, false) => paint(WARN, "same, with other output"),
    };
    let (before, now) = (facts(&one.before), facts(&one.now));
    format!("  {state}  {}\n    before: {before}\n    now:    {now}\n", line(&one.command)) + &tools(&one.now)
}

fn facts(evidence: &Evidence) -> String {
    let tests =
        evidence.tests.map(|n| format!(", {}", count(usize::try_from(n).unwrap_or(usize::MAX), "test")));
    let seconds = evidence.millis as f64 / 1000.0;
    format!("{}{}, {seconds:.1} s", evidence.ended(), tests.unwrap_or_default())
}

fn tools(evidence: &Evidence) -> String {
    evidence.tools.iter().map(|tool| format!("    {}\n", paint(DIM, &line(tool)))).collect()
}
