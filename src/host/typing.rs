//! Words typed into a pane while something runs there, and looked for on its screen: what was not seen there was
//! perhaps not read.

use crate::domain::Failure;
use crate::domain::Result;
use crate::host::Tmux;
use crate::host::file;
use serde::Deserialize;
use serde::Serialize;
use std::io::BufRead;
use std::path::Path;
use std::time::Duration;
use std::time::Instant;

/// How long a text may take to be seen.
const SEEN: Duration = Duration::from_secs(2);

/// How often it is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// So many lines of the screen, and of what scrolled out of it, are looked at.
const LINES: u32 = 200;

/// A shorter text is on many a screen; only left of the cursor it is what was typed.
const SHORT: usize = 4;

/// What a supervisor gives to a relay to be typed, one in a line.
#[derive(Debug, Serialize, Deserialize)]
pub struct ToType {
    pub n: u32,
    pub text: String,
}

impl ToType {
    /// The line that holds it.
    pub fn line(n: u32, text: &str) -> Vec<u8> {
        let mut line = serde_json::to_vec(&ToType { n, text: text.to_owned() }).unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// The next one that comes, if any does.
    pub(super) fn next(from: &mut impl BufRead) -> Result<Option<ToType>> {
        let mut line = String::new();
        let count =
            from.read_line(&mut line).map_err(|e| Failure::fault("reading what is to be typed", e))?;
        match count {
            0 => Ok(None),
            _ => serde_json::from_str(&line)
                .map(Some)
                .map_err(|e| Failure::fault("reading what is to be typed", e)),
        }
    }
}

/// Types all that comes from `from` into the pane, and puts the numbers of those down that were seen there.
pub(super) fn type_all(mut from: impl BufRead, tmux: &Tmux, pane: &str, seen: &Path) {
    while let Ok(Some(next)) = ToType::next(&mut from) {
        if type_and_look(tmux, pane, &next.text).unwrap_or(false) {
            // Not put down is not seen.
            let _ = file::add_to(seen, format!("{}\n", next.n).as_bytes());
        }
    }
}

/// Whether the text was seen before it was sent off.
fn type_and_look(tmux: &Tmux, pane: &str, text: &str) -> Result<bool> {
    let text = harmless(text);
    let before = times(&tmux.screen(pane, LINES)?, &text);
    tmux.put_in(pane, &text)?;
    let typed = Instant::now();
    let mut seen = false;
    while !seen && typed.elapsed() < SEEN {
        std::thread::sleep(LOOK);
        seen = if squeezed(&text).chars().count() < SHORT {
            squeezed(&tmux.before_cursor(pane)?).ends_with(&squeezed(&text))
        } else {
            times(&tmux.screen(pane, LINES)?, &text) > before
        };
    }
    tmux.enter(pane)?;
    Ok(seen)
}

/// The text without anything that a terminal takes for a key: control characters as pictures of themselves.
pub(super) fn harmless(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' => '\n',
        '\t' => ' ',
        '\u{7f}' => '\u{2421}',
        c if u32::from(c) < 0x20 => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    text.replace("\r\n", "\n").trim_end_matches('\n').chars().map(shown).collect()
}

/// How often the screen has all lines of the text, however they are broken and framed there.
pub(super) fn times(screen: &[u8], text: &str) -> usize {
    let screen = squeezed(&String::from_utf8_lossy(screen));
    let lines = text.lines().map(squeezed).filter(|line| !line.is_empty());
    lines.map(|line| screen.matches(&line).count()).min().unwrap_or(0)
}

/// Without blanks and the lines that frames are made of.
pub(super) fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !('\u{2500}'..='\u{257f}').contains(c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_typed_is_a_key() {
        for (text, want) in [
            ("plain", "plain"),
            ("two\r\nlines\n\n", "two\nlines"),
            ("a\tb", "a b"),
            ("stop \u{3}\u{1b}[201~ \u{7f}\u{9b}A\r", "stop \u{2403}\u{241b}[201~ \u{2421}\u{fffd}A\u{240d}"),
        ] {
            assert_eq!(harmless(text), want);
            assert!(harmless(text).chars().all(|c| c == '\n' || !c.is_control()));
        }
    }

    #[test]
    fn a_text_is_found_as_it_stands_on_a_screen() {
        let screen = "│ > do what I   │\n│   have said   │\n│ now           │\n".as_bytes();
        assert_eq!(times(screen, "do what I have said\n\nnow"), 1);
        assert_eq!(times(screen, "do what I have said\nthen"), 0);
        assert_eq!(times(b"one one\nonly one", "one"), 3);
        assert_eq!(times(screen, "  "), 0);
    }

    #[test]
    fn what_is_to_be_typed_comes_in_lines() {
        let lines = [ToType::line(0, ""), ToType::line(1, "a\nb\u{1b}")].concat();
        let mut from = lines.as_slice();
        assert_eq!(ToType::next(&mut from).unwrap().map(|t| (t.n, t.text)), Some((0, String::new())));
        assert_eq!(
            ToType::next(&mut from).unwrap().map(|t| (t.n, t.text)),
            Some((1, "a\nb\u{1b}".to_owned()))
        );
        assert!(ToType::next(&mut from).unwrap().is_none());
        assert!(ToType::next(&mut &b"{\n"[..]).is_err());
    }
}
