//! Text of the renderer as lines with styles. It knows the few styles that the renderer writes; whatever else could
//! steer a terminal is made visible.

use crate::surfaces::style::safe;
use ratatui::style::Color;
use ratatui::style::Modifier;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::text::Span;

pub fn lines(text: &str) -> Vec<Line<'static>> {
    let mut style = Style::new();
    text.lines().map(|line| one(line, &mut style)).collect()
}

/// One line, begun in `style`, which is left as the line leaves it.
fn one(line: &str, style: &mut Style) -> Line<'static> {
    let mut spans = Vec::new();
    let mut rest = line;
    while let Some((before, codes, after)) = escape(rest) {
        push(&mut spans, before, *style);
        *style = codes.split(';').fold(*style, change);
        rest = after;
    }
    push(&mut spans, rest, *style);
    Line::from(spans)
}

fn push(spans: &mut Vec<Span<'static>>, text: &str, style: Style) {
    if !text.is_empty() {
        spans.push(Span::styled(safe(text).replace(['\t', '\n'], "    "), style));
    }
}

/// What stands before the first style, its codes, and what stands after it.
fn escape(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(at) = text[from..].find("\x1b[").map(|at| at + from) {
        let inner = &text[at + 2..];
        let end = inner.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(inner.len());
        if inner[end..].starts_with('m') {
            return Some((&text[..at], &inner[..end], &inner[end + 1..]));
        }
        from = at + 2;
    }
    None
}

fn change(style: Style, code: &str) -> Style {
    match code {
        "" | "0" => Style::new(),
        "1" => style.add_modifier(Modifier::BOLD),
        "2" => style.add_modifier(Modifier::DIM),
        "31" => style.fg(Color::Red),
        "32" => style.fg(Color::Green),
        "33" => style.fg(Color::Yellow),
        _ => style,
    }
}

/// The same style here.
pub fn style(of: anstyle::Style) -> Style {
    let codes = of.render().to_string();
    match escape(&codes) {
        Some(_) => {
            let mut style = Style::new();
            one(&codes, &mut style);
            style
        }
        None => Style::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surfaces::style::BAD;
    use crate::surfaces::style::BOLD;
    use crate::surfaces::style::DIM;
    use crate::surfaces::style::GOOD;
    use crate::surfaces::style::WARN;
    use crate::surfaces::style::paint;

    #[test]
    fn the_styles_of_the_renderer_are_all_known() {
        let all = [
            (GOOD, Style::new().fg(Color::Green)),
            (BAD, Style::new().fg(Color::Red)),
            (WARN, Style::new().fg(Color::Yellow)),
            (DIM, Style::new().add_modifier(Modifier::DIM)),
            (BOLD, Style::new().add_modifier(Modifier::BOLD)),
        ];
        for (theirs, ours) in all {
            assert_eq!(style(theirs), ours);
            let line = &lines(&format!("a{}b", paint(theirs, "x")))[0];
            let spans: Vec<_> = line.spans.iter().map(|s| (s.content.as_ref(), s.style)).collect();
            assert_eq!(spans, [("a", Style::new()), ("x", ours), ("b", Style::new())]);
        }
        assert_eq!(style(anstyle::Style::new()), Style::new());
    }

    #[test]
    fn nothing_else_gets_through() {
        let text: Vec<String> =
            lines("a\x1b[2Jb\x1bc\u{202e}\td\re\n\x1b[").iter().map(Line::to_string).collect();
        assert_eq!(text, ["a\\u{1b}[2Jb\\u{1b}c\\u{202e}    d\\re", "\\u{1b}["]);
    }
}
