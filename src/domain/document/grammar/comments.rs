//! Comments, which a person writes for themselves.

use super::super::front;
use super::super::lines;
use super::Family;
use super::covers;
use super::mark;
use super::read;
use std::ops::Range;

/// The text without HTML comments and without lines `[//]: # (...)`, for a diff of what is said. Comments in code
/// stay, and so do the markers of components, which say where a text stands. What is alone on its lines takes them
/// along. A comment that does not end before the next marker is none.
pub fn strip_comments(text: &str) -> String {
    let body = front::body(text);
    if !text[body..].contains("<!--") && !text[body..].contains("[//]:") {
        return text.to_owned();
    }
    let (hides, _) = read(text, body, Family::Agent);
    let code = |at: usize| covers::over(&hides, at).is_some_and(|cover| cover.kind != covers::Kind::Quote);
    let mut out = text[..body].to_owned();
    let mut kept = body;
    let mut starts: Vec<usize> = ["<!--", "[//]:"]
        .iter()
        .flat_map(|open| text[body..].match_indices(open))
        .map(|(at, _)| body + at)
        .collect();
    starts.sort_unstable();
    let last = text.rfind("-->").unwrap_or(body);
    for start in starts {
        if start < kept || code(start) || (start > last && text[start..].starts_with('<')) {
            continue;
        }
        let Some(comment) = comment(text, body, start).filter(|comment| !code(comment.end - 1)) else {
            continue;
        };
        out.push_str(&text[kept..comment.start.max(kept)]);
        kept = comment.end;
        let line = lines::first(&out[body..], out.len() - body);
        if let (Some(line), Some(after)) = (line, lines::last(text, kept)) {
            out.truncate(body + line);
            kept = after;
        }
    }
    out.push_str(&text[kept..]);
    out
}

/// The bytes of the comment that begins at `start`.
fn comment(text: &str, body: usize, start: usize) -> Option<Range<usize>> {
    let line = lines::first(&text[body..], start - body).map(|line| body + line);
    if text[start..].starts_with('[') {
        let line = line.filter(|line| start - line <= 3)?;
        let end = lines::end(text, start);
        let said = text[start..end].strip_prefix("[//]:")?.trim().strip_prefix('#')?.trim();
        let is_said = said.starts_with('(') && said.ends_with(')');
        return is_said.then_some(line..end);
    }
    if mark(text, start, Family::Agent).is_some() {
        return None;
    }
    let end = start + 4 + text[start + 4..].find("-->")? + 3;
    let inside = &text[start + 4..end - 3];
    let marks = |(at, _)| mark(text, start + 4 + at, Family::Agent).is_some();
    let stops = line.is_none() && inside.lines().skip(1).any(lines::is_blank);
    if stops || inside.match_indices("<!--").any(marks) {
        return None;
    }
    Some(start..end)
}
