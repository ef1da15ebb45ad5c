//! Components: the named regions of a document, between `<!-- agent:name -->` and `<!-- /agent:name -->`.
//!
//! A marker counts where CommonMark sees neither code nor a quote. A fence that a person has not closed yet would hide
//! the end of the component it stands in, and all that follows. So where components do not come out whole, the fence
//! that hides their end is taken to end there, and reading begins anew. A fence that never ends at all hides no line
//! that is only a marker, as long as the components still come out whole.

mod comments;
mod covers;

#[cfg(test)]
mod tests;

use super::Malformed;
use super::front;
use super::lines;
use covers::Cover;
use covers::Kind;
use covers::covers;
use std::collections::BTreeMap;
use std::ops::Range;

pub use comments::strip_comments;
pub(super) use covers::open_fence;

/// A named region. `body` is what stands on the lines between the markers; markers that share a line with it bound it
/// directly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    pub name: String,
    pub attrs: Vec<(String, String)>,
    pub open: Range<usize>,
    pub body: Range<usize>,
    pub close: Range<usize>,
    pub line: usize,
}

impl Component {
    pub fn attr(&self, key: &str) -> Option<&str> {
        self.attrs.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

/// Whose markers are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// The components of a document; each name once.
    Agent,
    /// The blocks of an answer.
    Patch,
}

impl Family {
    fn word(self) -> &'static str {
        match self {
            Family::Agent => "agent",
            Family::Patch => "patch",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    pub at: Range<usize>,
    name: String,
    attrs: Vec<(String, String)>,
    is_end: bool,
    /// It is all that stands on its line, at most three columns in.
    alone: bool,
}

/// Bytes of a marker.
const LONGEST_MARK: usize = 1024;

/// So many fences may be left open. Each costs one more reading of what follows.
const MOST_CUTS: usize = 64;

/// The components of a document, in the order in which they begin.
pub fn components(text: &str) -> Result<Vec<Component>, Malformed> {
    read(text, front::body(text), Family::Agent).1
}

/// The markers of `text` that count, by CommonMark alone.
pub(super) fn shown(text: &str, family: Family) -> Vec<Mark> {
    let marks = marks(text, 0, family);
    if marks.is_empty() {
        return marks;
    }
    let covers = covers(text, 0);
    marks.into_iter().filter(|mark| covers::over(&covers, mark.at.start).is_none()).collect()
}

/// What hides markers in `text`, and the regions in it.
pub(super) fn read(
    text: &str,
    body: usize,
    family: Family,
) -> (Vec<Cover>, Result<Vec<Component>, Malformed>) {
    let marks = marks(text, body, family);
    let mut covers = covers(text, body);
    if marks.is_empty() {
        return (covers, Ok(Vec::new()));
    }
    let mut from = body;
    let mut best = None;
    for _ in 0..MOST_CUTS {
        let nested = nest(text, &marks, &covers, family);
        let cut = match &nested {
            Ok(_) => cut_open(text, &marks, &covers, from),
            Err(fault) => cut_for(fault, &marks, &covers, from),
        };
        best = match (best, nested) {
            (_, Ok(found)) => Some((covers.clone(), Ok(found))),
            (None, Err(fault)) => Some((covers.clone(), Err(fault.malformed(text, family)))),
            (best, Err(_)) => best,
        };
        let Some(cut) = cut else { break };
        from = lines::start(text, cut);
        covers.retain(|cover| cover.at.start < from);
        if let Some(last) = covers.last_mut() {
            last.at.end = last.at.end.min(from);
        }
        covers.extend(self::covers(text, from));
    }
    best.unwrap_or_else(|| (Vec::new(), Ok(Vec::new())))
}

/// All that has the shape of a marker.
fn marks(text: &str, from: usize, family: Family) -> Vec<Mark> {
    let mut found = Vec::new();
    let mut at = from;
    while let Some(next) = text[at..].find("<!--") {
        let start = at + next;
        at = start + "<!--".len();
        if let Some(mark) = mark(text, start, family) {
            at = mark.at.end;
            found.push(mark);
        }
    }
    found
}

fn mark(text: &str, start: usize, family: Family) -> Option<Mark> {
    let bytes = &text.as_bytes()[start..];
    let bytes = &bytes[..bytes.len().min(LONGEST_MARK)];
    let end = bytes.windows(3).skip(4).position(|three| three == b"-->")? + 4;
    let inner = std::str::from_utf8(&bytes[4..end]).ok()?;
    if inner.contains('\n') {
        return None;
    }
    let inner = inner.trim();
    let (is_end, inner) = inner.strip_prefix('/').map_or((false, inner), |inner| (true, inner));
    let inner = inner.strip_prefix(family.word())?.strip_prefix(':')?;
    let mut words = inner.split_whitespace();
    let name = words.next().filter(|name| inner.starts_with(name) && is_name(name))?;
    let attrs: Vec<_> = words.map(attr).collect();
    if is_end && !attrs.is_empty() {
        return None;
    }
    let at = start..start + end + 3;
    let before = &text[lines::start(text, start)..start];
    let after = &text[at.end..lines::end(text, at.end)];
    let alone = before.len() <= 3 && before.bytes().all(|byte| byte == b' ') && lines::is_blank(after);
    Some(Mark { at, name: name.to_owned(), attrs, is_end, alone })
}

fn attr(word: &str) -> (String, String) {
    let (key, value) = word.split_once('=').unwrap_or((word, ""));
    let bare = |quote: char| value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote));
    (key.to_owned(), bare('"').or_else(|| bare('\'')).unwrap_or(value).to_owned())
}

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Why markers do not nest.
enum Fault<'a> {
    /// It does not end before the byte.
    Unclosed(&'a Mark, usize),
    /// It ends nothing.
    Stray(&'a Mark),
    /// It began before, on the line.
    Twice(&'a Mark, usize),
}

impl Fault<'_> {
    fn malformed(&self, text: &str, family: Family) -> Malformed {
        let (what, word) = match family {
            Family::Agent => ("component", "agent"),
            Family::Patch => ("block", "patch"),
        };
        let (mark, says) = match self {
            Fault::Unclosed(mark, _) => {
                let name = &mark.name;
                (mark, format!("the {what} {name:?} begins here, and no <!-- /{word}:{name} --> ends it"))
            }
            Fault::Stray(mark) => {
                let name = &mark.name;
                (mark, format!("<!-- /{word}:{name} --> stands here, and no {what} {name:?} is open"))
            }
            Fault::Twice(mark, line) => {
                (mark, format!("a second {what} {:?}; the first is on line {line}", mark.name))
            }
        };
        Malformed { line: lines::number(text, mark.at.start), says }
    }
}

fn nest<'a>(
    text: &str,
    marks: &'a [Mark],
    covers: &[Cover],
    family: Family,
) -> Result<Vec<Component>, Fault<'a>> {
    let mut found: Vec<Component> = Vec::new();
    let mut open: Vec<(usize, &Mark)> = Vec::new();
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut line, mut seen) = (1, 0);
    for mark in marks.iter().filter(|mark| covers::over(covers, mark.at.start).is_none()) {
        line += lines::number(&text[seen..], mark.at.start - seen) - 1;
        seen = mark.at.start;
        if !mark.is_end {
            if let Some(first) = names.insert(&mark.name, line).filter(|_| family == Family::Agent) {
                return Err(Fault::Twice(mark, first));
            }
            open.push((found.len(), mark));
            found.push(Component {
                name: mark.name.clone(),
                attrs: mark.attrs.clone(),
                open: mark.at.clone(),
                body: 0..0,
                close: 0..0,
                line,
            });
            continue;
        }
        match open.pop() {
            Some((index, top)) if top.name == mark.name => {
                found[index].body = body(text, &top.at, &mark.at);
                found[index].close = mark.at.clone();
            }
            Some((_, top)) if open.iter().any(|(_, below)| below.name == mark.name) => {
                return Err(Fault::Unclosed(top, mark.at.start));
            }
            _ => return Err(Fault::Stray(mark)),
        }
    }
    match open.pop() {
        Some((_, top)) => Err(Fault::Unclosed(top, text.len())),
        None => Ok(found),
    }
}

/// The bytes between two markers, without the rest of the line of the first and what indents the second.
fn body(text: &str, open: &Range<usize>, close: &Range<usize>) -> Range<usize> {
    let after = lines::end(text, open.end);
    let own =
        after <= close.start && text[..after].ends_with('\n') && lines::is_blank(&text[open.end..after]);
    let start = if own { after } else { open.end };
    let before = lines::start(text, close.start);
    let own = before >= start && lines::is_blank(&text[before..close.start]);
    start..if own { before } else { close.start }
}

/// The marker lines that the fence hides.
fn hidden<'a>(marks: &'a [Mark], fence: &Cover) -> &'a [Mark] {
    let from = marks.partition_point(|mark| mark.at.start < fence.at.start);
    let to = marks.partition_point(|mark| mark.at.start < fence.at.end);
    &marks[from..to]
}

/// Where a fence of what was read from `from` on has to end, so that the fault is gone.
fn cut_for(fault: &Fault<'_>, marks: &[Mark], covers: &[Cover], from: usize) -> Option<usize> {
    let (after, before) = match fault {
        Fault::Unclosed(mark, before) => (mark.at.end.max(from), *before),
        Fault::Stray(mark) => (from, mark.at.start),
        Fault::Twice(..) => return None,
    };
    let fences = covers.iter().rev().filter(|cover| cover.kind == Kind::Fence);
    let mut fences = fences.filter(|fence| fence.at.start >= after && fence.at.start < before);
    fences.find_map(|fence| {
        let lines = hidden(marks, fence).iter().filter(|mark| mark.alone);
        match fault {
            Fault::Unclosed(mark, _) => end_of(lines, &mark.name),
            Fault::Stray(mark) => {
                let first = lines.clone().next()?.at.start;
                lines.into_iter().any(|line| !line.is_end && line.name == mark.name).then_some(first)
            }
            Fault::Twice(..) => None,
        }
    })
}

/// The end of `name` among marker lines. Regions that begin and end before it count too, so it is their first line.
fn end_of<'a>(lines: impl Iterator<Item = &'a Mark>, name: &str) -> Option<usize> {
    let (mut first, mut whole, mut open) = (None, true, Vec::new());
    for line in lines {
        first = first.or(Some(line.at.start));
        if !line.is_end {
            whole &= line.name != name;
            open.push(&line.name);
        } else if open.last().is_some_and(|last| **last == line.name) {
            open.pop();
        } else if line.name == name {
            return if whole && open.is_empty() { first } else { Some(line.at.start) };
        } else {
            whole = false;
        }
    }
    None
}

/// The first marker line in a fence that never ends.
fn cut_open(text: &str, marks: &[Mark], covers: &[Cover], from: usize) -> Option<usize> {
    let fence = covers.last().filter(|last| last.at.start >= from && last.is_open_in(text))?;
    hidden(marks, fence).iter().find(|mark| mark.alone).map(|mark| mark.at.start)
}
