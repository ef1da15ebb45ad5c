//! Bytes from workers on their way to a terminal, and the few styles there are.

pub use crate::domain::date;

use anstyle::AnsiColor;
use anstyle::Style;

pub const GOOD: Style = AnsiColor::Green.on_default();
pub const BAD: Style = AnsiColor::Red.on_default();
pub const WARN: Style = AnsiColor::Yellow.on_default();
pub const DIM: Style = Style::new().dimmed();
pub const BOLD: Style = Style::new().bold();

/// Whether `c` could steer a terminal or reorder a line. Line feeds and tabs do not.
pub fn steers(c: char) -> bool {
    let reorders =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{61c}');
    reorders || (c.is_control() && !matches!(c, '\n' | '\t'))
}

/// `text` with everything that [`steers`] made visible.
pub fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// [`safe`] on one line.
pub fn line(text: &str) -> String {
    safe(text).replace(['\n', '\t'], " ")
}

pub fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// `s` with a plural `s` unless `n` is one.
pub fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// A span of seconds in the largest unit that fits.
pub fn span(seconds: i64) -> String {
    match seconds.max(0) {
        s @ 0..60 => format!("{s}s"),
        s @ 60..3600 => format!("{}m", s / 60),
        s @ 3600..86400 => format!("{}h", s / 3600),
        s => format!("{}d", s / 86400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_a_terminal() {
        assert_eq!(safe("a\x1b[8mb\r\u{202e}c\u{9b}\n"), "a\\u{1b}[8mb\\r\\u{202e}c\\u{9b}\n");
        assert_eq!(line("a\nb"), "a b");
        assert_eq!(
            (span(59), span(3600), count(1, "file"), count(2, "file")),
            ("59s".into(), "1h".into(), "1 file".into(), "2 files".into())
        );
    }
}
