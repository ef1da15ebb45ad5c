//! The way home: what was imported, landed step by step, and whether it is there.

use crate::domain::Result;
use crate::surfaces::ci::Case;
use crate::surfaces::present::Page;
use crate::surfaces::present::envelope;
use crate::surfaces::present::error;
use crate::surfaces::present::verdict;
use crate::surfaces::style::GOOD;
use crate::surfaces::style::WARN;
use crate::surfaces::style::count;
use crate::surfaces::style::line;
use crate::surfaces::style::paint;
use crate::verbs::freeze::Noted;
use crate::verbs::import::Imported;
use crate::verbs::land::Landed;
use crate::verbs::land::Match;
use crate::verbs::landed::Answered;
use crate::verbs::log::Log;
use crate::verbs::steps::Step;

impl Page {
    pub fn import(done: &Imported, json: bool) -> Page {
        Page::of("import", done, json, imported)
    }

    pub fn land(done: &Landed, json: bool) -> Page {
        Page::of("land", done, json, landed).telling(vec![case(done)])
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
            values.push(landing(name, result));
            page.cases.push(landing_case(name, result));
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
        .telling(vec![Case::passed("candidate", &done.name, done.state.to_owned())])
    }

    pub fn landed(answer: &Answered, explain: bool, json: bool) -> Page {
        let exit = answer.answer.verdict.exit();
        Page::of("landed", answer, json, |a| verdict::text(a, explain)).ending(exit)
    }

    pub fn log(log: &Log, json: bool) -> Page {
        Page::of("log", log, json, |log| log.entries.iter().map(verdict::entry).collect())
    }
}

/// One of several landings.
pub(super) fn landing(name: &str, result: &Result<Landed>) -> serde_json::Value {
    match result {
        Ok(done) => serde_json::json!({ "name": name, "result": done }),
        Err(failure) => serde_json::json!({ "name": name, "error": error(failure) }),
    }
}

fn case(done: &Landed) -> Case {
    let how = match (done.already, done.dry_run) {
        (true, _) => "had landed before",
        (false, true) => "would land",
        (false, false) => "landed",
    };
    Case::passed("landing", &done.name, format!("{how} on {} as {}", done.onto.short(), done.new.short()))
}

/// The same of one of several landings.
pub(super) fn landing_case(name: &str, result: &Result<Landed>) -> Case {
    match result {
        Ok(done) => case(done),
        Err(failure) => Case::of_failure("landing", name, failure),
    }
}

fn warnings(noted: &Noted) -> String {
    let mut text = String::new();
    for (what, items) in [
        ("not committed, kept in the snapshot only", &noted.leftovers),
        ("outside the declared paths", &noted.undeclared),
        ("off its plan", &noted.off_plan),
        ("could not be captured", &noted.skipped),
        ("ignored by its own rule", &noted.ignored),
        ("changes how git stores files", &noted.attributes),
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
            Some(Match::Exact) => ", exact",
            Some(Match::Adjusted) => ", adjusted to the new context",
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
    if l.onto.is_tracking() && !l.dry_run {
        text.push_str("  that is on the server; git pull brings it here\n");
    }
    if l.unsigned {
        text.push_str(&format!(
            "  {}: commit.gpgSign is set, but landings are not signed yet\n",
            paint(WARN, "unsigned")
        ));
    }
    text + &warnings(&l.noted)
}
