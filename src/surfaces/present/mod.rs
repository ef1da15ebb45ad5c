//! The only renderer: outcomes, refusals and faults become text or JSON, and an exit code.

mod artifacts;
mod batch;
mod bundle;
mod check;
mod completions;
mod decisions;
mod doc;
mod doctor;
mod events;
mod fsck;
mod funnel;
mod hooks;
mod kinds;
mod land_all;
mod manual;
mod overlap;
mod pane;
mod porcelain;
mod protocol;
mod reap;
mod refusals;
mod restore;
mod runner;
mod sync;
mod undo;
mod verdict;
mod workers;

pub use manual::man_pages;
pub use porcelain::Ends;
pub use workers::board;
pub use workers::standing;

use crate::domain::Exit;
use crate::domain::Failure;
use crate::domain::Refusal;
use crate::surfaces::ci;
use crate::surfaces::ci::Case;
use crate::surfaces::style::BAD;
use crate::surfaces::style::DIM;
use crate::surfaces::style::line;
use crate::surfaces::style::paint;
use crate::surfaces::style::safe;
use crate::surfaces::style::steers;
use serde::Serialize;
use std::borrow::Cow;
use std::io::ErrorKind;
use std::io::Write;

/// What a command prints, and how it ends.
pub struct Page {
    pub exit: Exit,
    /// Standard output: the result.
    pub out: String,
    /// The same for scripts, as bytes of any kind; either this or `out` is empty.
    pub raw: Vec<u8>,
    /// Standard error: refusals and faults.
    pub err: String,
    /// The same for pipelines: what they are told of it, and the commands that their runner hears on standard error.
    pub cases: Vec<Case>,
    pub told: String,
    /// `out` is the work of others, to be given on as it is.
    pub verbatim: bool,
}

impl Page {
    fn text(out: String) -> Page {
        Page {
            exit: Exit::Done,
            out,
            raw: Vec::new(),
            err: String::new(),
            cases: Vec::new(),
            told: String::new(),
            verbatim: false,
        }
    }

    /// JSON if asked for, else the text that `human` makes.
    fn of<T: Serialize>(verb: &str, result: &T, json: bool, human: impl FnOnce(&T) -> String) -> Page {
        if json { Page::text(envelope(verb, "result", result)) } else { Page::text(human(result)) }
    }

    /// JSON without its line breaks, for one picture after another. Inside a string there is none.
    pub fn on_one_line(self, json: bool) -> Page {
        if !json {
            return self;
        }
        let out: String = self.out.lines().map(str::trim_start).collect();
        Page { out: out + "\n", ..self }
    }

    /// There is nothing more to print.
    pub fn nothing() -> Page {
        Page::text(String::new())
    }

    pub fn ending(self, exit: Exit) -> Page {
        Page { exit, ..self }
    }

    /// Writes it, and tells how to end. A reader that has gone away is no failure of ours; a result that cannot
    /// be written is one.
    pub fn print(&self) -> Exit {
        let mut out = anstream::stdout().lock();
        let as_it_is = self.verbatim || self.out.starts_with('{');
        let text = if as_it_is { Cow::Borrowed(&self.out[..]) } else { ci::harmless(&self.out) };
        let wrote = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        // Bytes for scripts pass by the filter that takes colour out.
        let mut raw = std::io::stdout().lock();
        let wrote = wrote.and_then(|()| raw.write_all(&self.raw)).and_then(|()| raw.flush());
        let mut err = anstream::stderr().lock();
        err.write_all(ci::harmless(&self.err).as_bytes()).ok();
        err.write_all(self.told.as_bytes()).ok();
        match wrote {
            Err(e) if e.kind() != ErrorKind::BrokenPipe => {
                writeln!(
                    err,
                    "{} writing the result: {e}; what was to be done is done",
                    paint(BAD, "fault:")
                )
                .ok();
                if self.exit == Exit::Done { Exit::Fault } else { self.exit }
            }
            _ => self.exit,
        }
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
        let cases = vec![Case::of_failure("verb", verb, failure)];
        Page { exit, err, cases, ..Page::text(out) }
    }

    /// What it says is done, and what was to come after that failed.
    pub fn but(self, verb: &str, failed: Option<&Failure>, json: bool) -> Page {
        let Some(failure) = failed else { return self };
        let more = Page::failure(verb, failure, false);
        let mut out = self.out;
        if json && let Ok(mut all) = serde_json::from_str::<serde_json::Value>(&out) {
            all["error"] = error(failure);
            out = harmless(&format!("{all:#}\n"));
        }
        Page { out, ..more }
    }

    /// With what pipelines are told of it.
    pub fn telling(self, cases: Vec<Case>) -> Page {
        Page { cases, ..self }
    }

    /// The command line could not be understood.
    pub fn usage(says: &str, json: bool) -> Page {
        let error = serde_json::json!({ "code": Exit::Usage.code(), "token": "usage", "says": says.trim() });
        let out = if json { envelope("git-skein", "error", &error) } else { String::new() };
        Page { exit: Exit::Usage, err: safe(says), ..Page::text(out) }
    }
}

/// The one shape of all JSON output. What could steer a terminal stands in strings only, where JSON has a
/// spelling for it.
fn envelope<T: Serialize>(verb: &str, key: &str, value: &T) -> String {
    let value = serde_json::json!({ "schema": "git-skein/1", "verb": verb, key: value });
    harmless(&format!("{value:#}\n"))
}

/// JSON with what could steer a terminal in its other spelling.
fn harmless(json: &str) -> String {
    let mut text = String::new();
    for c in json.chars() {
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
    text + &guidance("", &refusal.show, &refusal.next)
}

/// The lines that say what shows it and what to do; none for what is empty.
fn guidance(indent: &str, show: &str, next: &str) -> String {
    let said = [("see: ", show), ("next:", next)].into_iter().filter(|(_, text)| !text.is_empty());
    said.map(|(what, text)| format!("{indent}{} {}\n", paint(DIM, what), line(text))).collect()
}
