//! Components: the named regions of a document, between `<!-- agent:name -->` and `<!-- /agent:name -->`.
//!
//! A marker counts where CommonMark sees neither code nor a quote. A fence that a person has not closed yet would hide
//! the end of the component it stands in, and turn all later fences round. So where components do not come out whole,
//! or a fence that never ends hides a marker, other readings are tried: in each, a fence ends before a line that is
//! only a marker, and reading begins anew there. The first whole one stands; without any, it is as CommonMark has it.

mod comments;
mod covers;

#[cfg(test)]
mod tests;

use super::Malformed;
use super::front;
use super::lines;
use covers::Kind;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::ops::Range;

pub use comments::strip_comments;
pub(super) use covers::Cover;
pub(super) use covers::covers;
pub(super) use covers::open_fence;
pub(super) use covers::over;

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

/// So often is a text read again with a fence ended elsewhere.
const MOST_READINGS: usize = 64;

type Found = Result<Vec<Component>, Malformed>;

thread_local! {
    /// What was read last: one answer asks again and again for the components of the same few texts, and to compare
    /// a text costs a hundredth of reading it.
    static LAST: RefCell<VecDeque<(String, Found)>> = const { RefCell::new(VecDeque::new()) };
}

/// So many texts are kept, as far as they are worth it.
const KEPT: usize = 6;
const WORTH: usize = 2048;

/// The components of a document, in the order in which they begin.
pub fn components(text: &str) -> Found {
    if text.len() < WORTH {
        return read(text, front::body(text), Family::Agent).1;
    }
    LAST.with_borrow_mut(|last| {
        if let Some((_, found)) = last.iter().find(|(known, _)| known == text) {
            return found.clone();
        }
        let found = read(text, front::body(text), Family::Agent).1;
        last.truncate(KEPT - 1);
        last.push_front((text.to_owned(), found.clone()));
        found
    })
}

/// The markers of `text` that count, by CommonMark alone.
pub(super) fn shown(text: &str, family: Family) -> Vec<Mark> {
    let marks = marks(text, 0, family);
    if marks.is_empty() {
        return marks;
    }
    let covers = covers(text, 0);
    marks.into_iter().filter(|mark| over(&covers, mark.at.start).is_none()).collect()
}

/// What hides markers in `text`, and the regions in it.
pub(super) fn read(
    text: &str,
    body: usize,
    family: Family,
) -> (Vec<Cover>, Result<Vec<Component>, Malformed>) {
    let marks = marks(text, body, family);
    let covers = covers(text, body);
    if marks.is_empty() {
        return (covers, Ok(Vec::new()));
    }
    let mut search = Search { text, marks: &marks, family, left: MOST_READINGS };
    if let Some(reading) = search.settle(&covers, body, false) {
        return (reading.covers, Ok(reading.found));
    }
    let strict = nest(text, &marks, &covers, family).map_err(|fault| fault.malformed(text, family));
    (covers, strict)
}

/// Looks for a reading in which the regions are whole.
struct Search<'a> {
    text: &'a str,
    marks: &'a [Mark],
    family: Family,
    left: usize,
}

struct Reading {
    covers: Vec<Cover>,
    found: Vec<Component>,
    /// No marker is hidden by a fence that never ends.
    is_clean: bool,
}

impl Search<'_> {
    /// The last fences of what was read from `from` on are tried, if they have to end elsewhere.
    fn settle(&mut self, covers: &[Cover], from: usize, guessed: bool) -> Option<Reading> {
        self.left = self.left.checked_sub(1)?;
        let found = match nest(self.text, self.marks, covers, self.family) {
            Ok(found) => found,
            Err(fault) => {
                let cuts = cuts_for(&fault, self.marks, covers, from);
                return self.best(covers, cuts);
            }
        };
        let last = covers.last().filter(|last| last.at.start >= from && last.is_open_in(self.text));
        // An answer may itself be cut off: then nothing is guessed.
        if last.is_some() && guessed && self.family == Family::Patch {
            return None;
        }
        let first = last.and_then(|last| hidden(self.marks, last).iter().find(|mark| mark.alone));
        let here = Reading { covers: covers.to_vec(), found, is_clean: first.is_none() };
        let Some(first) = first else { return Some(here) };
        // It may be another one that has no end, so that all from there on is read the wrong way round.
        let ends = self.ends(&here, from);
        let cuts = [first.at.start].into_iter().chain(ends).collect();
        self.best(covers, cuts).or(Some(here))
    }

    /// The first clean reading, or else the first one.
    fn best(&mut self, covers: &[Cover], cuts: Vec<usize>) -> Option<Reading> {
        let mut whole = None;
        for cut in cuts {
            match self.cut(covers, cut) {
                Some(reading) if reading.is_clean => return Some(reading),
                reading => whole = whole.or(reading),
            }
        }
        whole
    }

    /// Where regions may end within a fence that began in them.
    fn ends(&self, reading: &Reading, from: usize) -> Vec<usize> {
        let fences =
            reading.covers.iter().filter(|cover| cover.kind == Kind::Fence && cover.at.start >= from);
        let ends = fences.filter_map(|fence| {
            let lines: Vec<Mark> =
                hidden(self.marks, fence).iter().filter(|mark| mark.alone).cloned().collect();
            let (start, found) = (fence.at.start, &reading.found);
            let around = found.iter().rev().filter(|region| region.body.contains(&start));
            around.into_iter().find_map(|region| end_of(&lines, &region.name))
        });
        ends.collect()
    }

    /// The fence that hides the byte `cut` ends before the line of it.
    fn cut(&mut self, before: &[Cover], cut: usize) -> Option<Reading> {
        let from = lines::start(self.text, cut);
        let mut covers = before.to_vec();
        covers.retain(|cover| cover.at.start < from);
        if let Some(last) = covers.last_mut() {
            last.at.end = last.at.end.min(from);
        }
        covers.extend(self::covers(self.text, from));
        self.settle(&covers, from, true)
    }
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
    let column = lines::first(text, start).map(|line| &text[line..start]);
    let alone = column.is_some_and(|column| column.len() <= 3 && !column.contains('\t'))
        && lines::last(text, at.end).is_some();
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

/// Why markers do not nest, and what is open there, from the outermost on.
struct Fault<'a> {
    why: Why<'a>,
    open: Vec<&'a Mark>,
    /// Where that is seen.
    at: usize,
}

enum Why<'a> {
    Unclosed(&'a Mark),
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
        let (mark, says) = match &self.why {
            Why::Unclosed(mark) => {
                let name = &mark.name;
                (mark, format!("the {what} {name:?} begins here, and no <!-- /{word}:{name} --> ends it"))
            }
            Why::Stray(mark) => {
                let name = &mark.name;
                (mark, format!("<!-- /{word}:{name} --> stands here, and no {what} {name:?} is open"))
            }
            Why::Twice(mark, line) => {
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
    let fault = |why, open: &[(usize, &'a Mark)], at| {
        Err(Fault { why, open: open.iter().map(|(_, mark)| *mark).collect(), at })
    };
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut line, mut seen) = (1, 0);
    for mark in marks.iter().filter(|mark| over(covers, mark.at.start).is_none()) {
        line += lines::number(&text[seen..], mark.at.start - seen) - 1;
        seen = mark.at.start;
        if !mark.is_end {
            if let Some(first) = names.insert(&mark.name, line).filter(|_| family == Family::Agent) {
                return fault(Why::Twice(mark, first), &open, mark.at.start);
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
        match open.last() {
            Some((index, top)) if top.name == mark.name => {
                found[*index].body = body(text, &top.at, &mark.at);
                found[*index].close = mark.at.clone();
                open.pop();
            }
            Some((_, top)) if open.iter().any(|(_, below)| below.name == mark.name) => {
                return fault(Why::Unclosed(top), &open, mark.at.start);
            }
            _ => return fault(Why::Stray(mark), &open, mark.at.start),
        }
    }
    match open.last() {
        Some((_, top)) => fault(Why::Unclosed(top), &open, text.len()),
        None => Ok(found),
    }
}

/// The bytes between two markers, without the rest of the line of the first and what indents the second.
fn body(text: &str, open: &Range<usize>, close: &Range<usize>) -> Range<usize> {
    let after = lines::last(text, open.end).filter(|after| *after <= close.start);
    let start = after.unwrap_or(open.end);
    let before = lines::first(text, close.start).filter(|before| *before >= start);
    start..before.unwrap_or(close.start)
}

/// The marker lines that the fence hides.
fn hidden<'a>(marks: &'a [Mark], fence: &Cover) -> &'a [Mark] {
    let from = marks.partition_point(|mark| mark.at.start < fence.at.start);
    let to = marks.partition_point(|mark| mark.at.start < fence.at.end);
    &marks[from..to]
}

/// Where fences of what was read from `from` on may have to end, so that the fault is gone; the likeliest first.
fn cuts_for(fault: &Fault<'_>, marks: &[Mark], covers: &[Cover], from: usize) -> Vec<usize> {
    let fences = covers.iter().rev().filter(|cover| cover.kind == Kind::Fence);
    let fences = fences.filter(|fence| fence.at.start >= from && fence.at.start < fault.at);
    let fences: Vec<_> = fences.map(|fence| (fence.at.start, hidden(marks, fence))).collect();
    let lines = |hidden: &'_ [Mark]| hidden.iter().filter(|mark| mark.alone).cloned().collect::<Vec<_>>();
    let mut cuts = Vec::new();
    for open in &fault.open {
        let below = fences.iter().filter(|(start, _)| *start >= open.at.end);
        cuts.extend(below.filter_map(|(_, hidden)| end_of(&lines(hidden), &open.name)));
    }
    if let Why::Stray(mark) = fault.why {
        let begins = |line: &Mark| !line.is_end && line.name == mark.name;
        let above = fences.iter().map(|(_, hidden)| lines(hidden)).filter(|lines| lines.iter().any(begins));
        cuts.extend(above.filter_map(|lines| lines.first().map(|first| first.at.start)));
    }
    cuts
}

/// The end of `name` among marker lines. Regions that begin and end before it count too, so it is their first line.
fn end_of(lines: &[Mark], name: &str) -> Option<usize> {
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
