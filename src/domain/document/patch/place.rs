//! A patch goes into its component, and no byte around that changes.

use super::Mode;
use super::Patch;
use super::Rule;
use super::Unpatched;
use super::closed;
use super::config::is_growing;
use super::named;
use crate::domain::document::Component;
use crate::domain::document::Malformed;
use crate::domain::document::components;
use crate::domain::document::grammar;
use crate::domain::document::grammar::Family;
use crate::domain::document::lines;

/// The text with the patch in its component: on lines of its own, with the document's line ending. Appending and
/// prepending leave what is there; in components of paragraphs a blank line stands between, and behind what is appended.
/// A fence that the content leaves open is closed, so that what follows is read as before. The result has the same
/// components, or none is given.
pub fn apply(text: &str, patch: &Patch, rule: &Rule, stamp: Option<&str>) -> Result<String, Unpatched> {
    let before = components(text).map_err(Unpatched::Breaks)?;
    let Some(target) = named(&before, &patch.component) else {
        let names = before.into_iter().map(|component| component.name).collect();
        return Err(Unpatched::Unknown { names });
    };
    let eol = lines::ending(text);
    let mut entry = closed(lines::inner(&patch.content), eol);
    if !grammar::shown(&entry, Family::Agent).is_empty() {
        return Err(Unpatched::Escapes);
    }
    if let Some(stamp) = stamp.filter(|_| rule.timestamp && !entry.is_empty()) {
        entry = stamped(stamp, &entry, eol);
    }
    let old = &text[target.body.clone()];
    let inline = target.body.start == target.open.end;
    let mut new = joined(old, &entry, rule.mode, is_growing(&target.name), eol);
    if new != old || rule.mode == Mode::Replace {
        new = trimmed(&new, rule).to_owned();
        // What comes next is a paragraph of its own, whoever writes it.
        if rule.mode == Mode::Append && is_growing(&target.name) {
            blank_line(&mut new, eol);
        }
        // Lines of its own, where the markers share one.
        let goes_on = rule.mode == Mode::Append && !old.is_empty() && new.starts_with(old);
        if inline && !new.is_empty() && !goes_on {
            new.insert_str(0, eol);
        }
    }
    let made = [&text[..target.body.start], &new, &text[target.body.end..]].concat();
    let after = components(&made).map_err(Unpatched::Breaks)?;
    let shift = |at: usize| if at < target.body.end { at } else { at - old.len() + new.len() };
    same(&before, &after, target, shift).map_err(Unpatched::Breaks)?;
    Ok(made)
}

/// The entry behind a time. What is more than a line of prose stays at the beginning of its line.
fn stamped(stamp: &str, entry: &str, eol: &str) -> String {
    let is_prose = !entry.starts_with(['#', '`', '~', '>', '|', '<', ' ', '\t']);
    let gap = if is_prose { " " } else { eol };
    [stamp, gap, entry].concat()
}

fn joined(old: &str, entry: &str, mode: Mode, paragraphs: bool, eol: &str) -> String {
    if entry.is_empty() {
        return if mode == Mode::Replace { String::new() } else { old.to_owned() };
    }
    let mut new = String::new();
    let apart = paragraphs && !lines::is_blank(old);
    match mode {
        Mode::Replace => {}
        Mode::Append => {
            new.push_str(old);
            end_line(&mut new, eol);
            if apart {
                blank_line(&mut new, eol);
            }
        }
        Mode::Prepend => {
            new.push_str(entry);
            new.push_str(eol);
            if apart && !lines::is_blank(&old[..lines::end(old, 0)]) {
                new.push_str(eol);
            }
            new.push_str(old);
            return new;
        }
    }
    new.push_str(entry);
    new.push_str(eol);
    new
}

/// Ends the last line, if there is one that has no end.
pub fn end_line(text: &mut String, eol: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push_str(eol);
    }
}

/// Ends with a blank line.
pub fn blank_line(text: &mut String, eol: &str) {
    let last = lines::start(text, text.len().saturating_sub(1));
    if text.is_empty() || !lines::is_blank(&text[last..]) {
        text.push_str(eol);
    }
}

/// The newest entries and the last lines.
fn trimmed<'a>(body: &'a str, rule: &Rule) -> &'a str {
    let mut body = body;
    match rule.mode {
        _ if rule.max_entries == 0 => {}
        Mode::Replace => {}
        Mode::Append => body = last(body, rule.max_entries, |line| !lines::is_blank(line)),
        Mode::Prepend => body = first(body, rule.max_entries),
    }
    match rule.max_lines {
        0 => body,
        most => last(body, most, |_| true),
    }
}

/// From the last line but `most` on, of those that count.
fn last(body: &str, most: usize, counts: impl Fn(&str) -> bool) -> &str {
    let (mut start, mut kept) = (body.len(), body.len());
    let mut left = most;
    for line in body.split_inclusive('\n').rev() {
        start -= line.len();
        if counts(line) {
            if left == 0 {
                return &body[kept..];
            }
            left -= 1;
            kept = start;
        }
    }
    body
}

/// Up to the entry `most`.
fn first(body: &str, most: usize) -> &str {
    let mut end = 0;
    let mut left = most;
    for line in body.split_inclusive('\n') {
        if !lines::is_blank(line) {
            if left == 0 {
                return &body[..end];
            }
            left -= 1;
        }
        end += line.len();
    }
    body
}

/// The components are those of before, and none outside of the target's body has moved otherwise than with it.
fn same(
    before: &[Component],
    after: &[Component],
    target: &Component,
    shift: impl Fn(usize) -> usize,
) -> Result<(), Malformed> {
    let gone = |old: &Component| Malformed {
        line: old.line,
        says: format!("the component {:?} would not be read as before", old.name),
    };
    for (index, old) in before.iter().enumerate() {
        let new = after.get(index).filter(|new| new.name == old.name).ok_or_else(|| gone(old))?;
        let is_inside = target.body.contains(&old.open.start);
        let starts = [(old.open.start, new.open.start), (old.close.start, new.close.start)];
        if !is_inside && starts.iter().any(|(old, new)| shift(*old) != *new) {
            return Err(gone(old));
        }
    }
    match after.get(before.len()) {
        None => Ok(()),
        Some(new) => {
            let says = format!("the component {:?} would be a new one", new.name);
            Err(Malformed { line: new.line, says })
        }
    }
}
