//! The workflow commands of GitHub's runner, and how text of others is kept from being one.

use crate::domain::sha256;
use crate::surfaces::ci::Case;
use crate::surfaces::ci::State;
use crate::surfaces::style::line;
use crate::surfaces::style::safe;
use std::borrow::Cow;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

/// A runner shows no more annotations of one step.
const MOST: usize = 10;

/// Characters of a name that stand in a title.
const TITLE: usize = 80;

/// Lines of output that an annotation shows.
const END: usize = 20;

/// A gate with its output, to be folded away.
pub fn group(case: &Case) -> String {
    let seconds = case.millis.map(|millis| format!(", {:.1} s", millis as f64 / 1000.0)).unwrap_or_default();
    let head = format!("{}: {} ({}{seconds})", case.kind, case.name, case.state.word());
    format!("::group::{}\n{}::endgroup::\n", data(&line(&head)), fenced(&case.output))
}

/// Output of others, in which no line is a command: the runner listens to none until it sees a word again that the
/// output does not have.
fn fenced(output: &str) -> String {
    if output.trim().is_empty() {
        return String::new();
    }
    let mut word = sha256(output.as_bytes());
    while output.contains(&word) {
        word = sha256(word.as_bytes());
    }
    let lines: String = safe(output).lines().map(|text| format!("  {text}\n")).collect();
    format!("::stop-commands::{word}\n{}::{word}::\n", inert(&lines))
}

/// Whether this process is heard by such a runner.
static HEARD: AtomicBool = AtomicBool::new(false);

/// From now on, all that is printed is heard by such a runner.
pub fn is_heard() {
    HEARD.store(true, Ordering::Relaxed);
}

/// `text` as it is, or [`inert`] where a runner hears it.
pub fn harmless(text: &str) -> Cow<'_, str> {
    if HEARD.load(Ordering::Relaxed) { Cow::Owned(inert(text)) } else { Cow::Borrowed(text) }
}

/// `text` with lines in it that a runner would take for commands made harmless.
fn inert(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for whole in text.split_inclusive('\n') {
        // The runner trims a line before it looks.
        let blank = whole.len() - whole.trim_start().len();
        let (blank, rest) = whole.split_at(blank);
        out.push_str(blank);
        if rest.starts_with("::") {
            out.push_str("| ");
        }
        out.push_str(&rest.replace("##[", "# #["));
    }
    out
}

/// What went wrong, where it was.
pub fn annotations(cases: &[Case]) -> String {
    let mut out = Vec::new();
    let gate_told = cases.iter().any(|case| case.kind == "gate" && case.state.is_bad());
    for case in cases {
        let level = match case.state {
            State::Passed | State::Before => continue,
            State::Waits => "warning",
            State::Failed | State::Refused(_) => "error",
        };
        if gate_told && case.is_of_a_gate() {
            continue;
        }
        let name: String = case.name.chars().take(TITLE).collect();
        let title = property(&line(&format!("{} {name}: {}", case.kind, case.state.word())));
        for spot in &case.spots {
            let column = spot.column.map(|column| format!(",col={column}")).unwrap_or_default();
            let says = if spot.says.is_empty() { &case.says } else { &spot.says };
            out.push(format!(
                "::{level} file={},line={}{column},title={title}::{}\n",
                property(&safe(&spot.path)),
                spot.line,
                data(&safe(says))
            ));
        }
        if case.spots.is_empty() {
            let text = format!("{}\n{}", case.says, case.end(END));
            out.push(format!("::{level} title={title}::{}\n", data(safe(&text).trim())));
        }
    }
    out.truncate(MOST);
    out.concat()
}

/// The text of a command.
fn data(text: &str) -> String {
    text.replace("##[", "# #[").replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property of a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_of_others_is_a_command() {
        assert_eq!(data("100%\r\nx"), "100%25%0D%0Ax");
        assert_eq!(property("a:b,c%"), "a%3Ab%2Cc%25");
        assert_eq!(inert("a\n  ::error::x\nb ##[group]y\n"), "a\n  | ::error::x\nb # #[group]y\n");
        let text = fenced("::set-env name=x::y\n::stop-commands::z\n");
        let word = text.lines().next().unwrap().strip_prefix("::stop-commands::").unwrap().to_owned();
        assert_eq!(word.len(), 64);
        assert_eq!(
            text,
            format!("::stop-commands::{word}\n  | ::set-env name=x::y\n  | ::stop-commands::z\n::{word}::\n")
        );
        assert_eq!(fenced(" \n"), "");
    }
}
