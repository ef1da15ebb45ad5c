//! Test results as XML that any server for continuous integration reads.

use crate::surfaces::ci::Case;
use crate::surfaces::ci::State;
use crate::surfaces::style::line;
use crate::surfaces::style::safe;

/// One suite: the command, with a case for each gate and each thing that it was to do.
pub fn file(verb: &str, cases: &[Case]) -> String {
    let failed = cases.iter().filter(|case| case.state == State::Failed).count();
    let refused = cases.iter().filter(|case| matches!(case.state, State::Refused(_) | State::Waits)).count();
    let millis: u64 = cases.iter().filter_map(|case| case.millis).sum();
    let counts = format!(
        "name=\"git skein {verb}\" tests=\"{}\" failures=\"{failed}\" errors=\"{refused}\" time=\"{}\"",
        cases.len(),
        seconds(millis)
    );
    let cases: String = cases.iter().map(one).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n<testsuite {counts} skipped=\"0\">\n\
         {cases}</testsuite>\n</testsuites>\n"
    )
}

fn one(case: &Case) -> String {
    let time = case.millis.map(|millis| format!(" time=\"{}\"", seconds(millis))).unwrap_or_default();
    let head = format!("classname=\"{}\" name=\"{}\"{time}", text(case.kind), text(&line(&case.name)));
    let fault = |tag: &str, kind: &str| {
        let (says, more) = (text(&line(&case.says)), text(&case.output));
        format!("<{tag} message=\"{says}\" type=\"{}\">{more}</{tag}>\n", text(kind))
    };
    let inside = match &case.state {
        State::Passed if case.output.trim().is_empty() => String::new(),
        State::Passed => format!("<system-out>{}</system-out>\n", text(&case.output)),
        State::Before => "<system-out>passed before on the same tree</system-out>\n".to_owned(),
        State::Failed => fault("failure", "failed"),
        State::Waits => fault("error", "waits"),
        State::Refused(token) => fault("error", token),
    };
    format!("<testcase {head}>{inside}</testcase>\n")
}

fn seconds(millis: u64) -> String {
    format!("{:.3}", millis as f64 / 1000.0)
}

/// Text inside or between tags. What XML has no spelling for is made visible.
fn text(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in safe(raw).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}
