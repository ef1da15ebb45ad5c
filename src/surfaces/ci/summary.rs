//! The summary of a step, in markdown.

use crate::surfaces::ci::Case;
use crate::surfaces::style::line;
use crate::surfaces::style::safe;

/// Lines of output that are shown of what failed.
const END: usize = 40;

/// A table of all that was done, and the end of the output of what failed.
pub fn table(verb: &str, cases: &[Case]) -> String {
    let mut text = format!("### git skein {verb}\n\n| | what | outcome | time |\n|---|---|---|---:|\n");
    for case in cases {
        let time = case.millis.map(|millis| format!("{:.1} s", millis as f64 / 1000.0)).unwrap_or_default();
        let (name, says) = (plain(&case.name), plain(&case.says));
        // Of a gate the name says it all.
        let says = if says.is_empty() || case.kind == "gate" { String::new() } else { format!(": {says}") };
        text.push_str(&format!("| {} | {name} | {}{says} | {time} |\n", case.kind, case.state.word()));
    }
    let shown = |case: &&Case| case.state.is_bad() && !case.output.trim().is_empty() && !case.is_of_a_gate();
    for case in cases.iter().filter(shown) {
        let end = safe(&case.end(END));
        let fence = "`".repeat(longest_run(&end).max(2) + 1);
        let head = line(&format!("{} {}", case.kind, case.name));
        let head = head.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        text.push_str(&format!(
            "\n<details><summary>{head}</summary>\n\n{fence}text\n{end}{fence}\n\n</details>\n"
        ));
    }
    text + "\n"
}

/// In one line, without any mark of markdown or tag.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in line(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            c if c.is_ascii_punctuation() && !matches!(c, '.' | ',' | '-' | '/' | '\'' | ';' | '=') => {
                out.extend(['\\', c]);
            }
            c => out.push(c),
        }
    }
    out
}

/// The most backticks in a row.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_cell_is_markdown() {
        assert_eq!(plain("a|b <x> [l](u)\n`c`"), "a\\|b &lt;x\\> \\[l\\]\\(u\\) \\`c\\`");
        assert_eq!(longest_run("a ``` b `"), 3);
    }
}
