//! The sections of a document.

use super::front;
use super::lines;
use pulldown_cmark::Event;
use pulldown_cmark::HeadingLevel;
use pulldown_cmark::Parser;
use pulldown_cmark::Tag;
use pulldown_cmark::TagEnd;
use serde::Serialize;
use std::ops::Range;

/// A heading with what stands below it, up to the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Section {
    pub heading: String,
    /// From 1; what stands before the first heading has 0.
    pub depth: usize,
    /// Of the heading, in the file, from 1.
    pub line: usize,
    /// How many lines stand below it.
    pub lines: usize,
    /// About so many tokens are in them: a quarter of their bytes.
    pub tokens: usize,
}

/// A heading at the left edge of the document, in no list and no quote.
pub(super) struct Heading {
    pub at: Range<usize>,
    pub text: String,
    pub depth: usize,
}

const PREAMBLE: &str = "(preamble)";

/// The sections below the front matter. Headings are those of CommonMark, so code has none.
pub fn outline(text: &str) -> Vec<Section> {
    let body = front::body(text);
    let headings = headings(text, body);
    let mut all = Vec::new();
    let first = headings.first().map_or(text.len(), |first| first.at.start);
    if !lines::is_blank(&text[body..first]) {
        all.push(section(PREAMBLE, 0, lines::number(text, body), &text[body..first]));
    }
    let (mut line, mut seen) = (1, 0);
    let ends = headings.iter().skip(1).map(|next| next.at.start).chain([text.len()]);
    for (heading, end) in headings.iter().zip(ends) {
        let below = &text[heading.at.end.min(end)..end];
        line += lines::number(&text[seen..], heading.at.start - seen) - 1;
        seen = heading.at.start;
        all.push(section(&heading.text, heading.depth, line, below));
    }
    all
}

fn section(heading: &str, depth: usize, line: usize, below: &str) -> Section {
    Section {
        heading: heading.to_owned(),
        depth,
        line,
        lines: below.lines().count(),
        tokens: below.len() / 4,
    }
}

/// The headings from `from` on, each with all of its lines.
pub(super) fn headings(text: &str, from: usize) -> Vec<Heading> {
    let mut found = Vec::new();
    let mut inside = 0_usize;
    let mut current: Option<(Range<usize>, usize, Option<Range<usize>>)> = None;
    for (event, at) in Parser::new(&text[from..]).into_offset_iter() {
        let at = at.start + from..at.end + from;
        match event {
            Event::Start(Tag::List(_) | Tag::BlockQuote(_)) => inside += 1,
            Event::End(TagEnd::List(_) | TagEnd::BlockQuote(_)) => inside = inside.saturating_sub(1),
            Event::Start(Tag::Heading { level, .. }) if inside == 0 => {
                let start = lines::start(text, at.start).max(from);
                let last = at.start + text[at.clone()].trim_end().len();
                current = Some((start..lines::end(text, last), depth(level), None));
            }
            Event::End(TagEnd::Heading(_)) => {
                let Some((at, depth, words)) = current.take() else { continue };
                let words = words.map_or("", |words| text[words].trim());
                let text = words.split_whitespace().collect::<Vec<_>>().join(" ");
                found.push(Heading { at, text, depth });
            }
            _ => {
                if let Some((_, _, words)) = &mut current {
                    let start = words.as_ref().map_or(at.start, |words| words.start);
                    let end = words.as_ref().map_or(at.end, |words| words.end.max(at.end));
                    *words = Some(start..end);
                }
            }
        }
    }
    found
}

fn depth(level: HeadingLevel) -> usize {
    level as usize
}

#[cfg(test)]
mod tests {
    use super::outline;

    fn rows(text: &str) -> Vec<(String, usize, usize, usize, usize)> {
        outline(text).into_iter().map(|s| (s.heading, s.depth, s.line, s.lines, s.tokens)).collect()
    }

    #[test]
    fn sections_have_lines_and_tokens() {
        let text = "---\nagent: x\n---\nhello you\n\n# One `a` *b* #\n\ntext of one\nmore\n## Two\nSet\next\n===\n\nlast";
        let found = rows(text);
        let one = "One `a` *b*".to_owned();
        assert_eq!(
            found,
            [
                ("(preamble)".to_owned(), 0, 4, 2, 2),
                (one, 1, 6, 3, 4),
                ("Two".to_owned(), 2, 10, 0, 0),
                ("Set ext".to_owned(), 1, 11, 2, 1),
            ]
        );
        assert_eq!(rows(&text.replace('\n', "\r\n")).len(), 4);
        assert_eq!(rows(&text.replace('\n', "\r\n"))[3].2, 11);
    }

    #[test]
    fn code_quotes_and_lists_have_no_sections() {
        assert_eq!(rows("```sh\n# build it\n```\n~~~\n# x\n~~~\n\n    # y\n\n> # z\n\n- # w\n").len(), 1);
        assert_eq!(rows(""), []);
        assert_eq!(rows("\u{feff}# Ü ❯ ж (HEAD)\n")[0].0, "Ü ❯ ж (HEAD)");
        assert_eq!(rows("#\n")[0], (String::new(), 1, 1, 0, 0));
    }
}
