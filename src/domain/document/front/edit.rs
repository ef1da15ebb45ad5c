//! Front matter is edited as lines: a key that is set changes its own line, and no other byte.

use super::Malformed;
use super::bom;
use super::lines;
use super::map;
use serde_json::Value;
use std::ops::Range;

/// A key at the left edge with its value.
pub struct Entry {
    /// All of its lines.
    pub line: Range<usize>,
    /// The first line of the value, without what surrounds it and without a comment behind it.
    pub value: Range<usize>,
}

/// The text with `key` set to `value` in its front matter, which is made where there is none.
pub fn set(text: &str, key: &str, value: &str) -> Result<String, Malformed> {
    let Some(block) = super::block(text) else {
        let (start, eol) = (bom(text), lines::ending(text));
        let said = scalar(value);
        let made = format!("---{eol}{key}: {said}{eol}---{eol}");
        let made = [&text[..start], &made, &text[start..]].concat();
        // What is written can be read.
        return super::front(&made).map(|_| made);
    };
    let yaml = &text[block.yaml.clone()];
    super::fields(yaml)?;
    let known = map(yaml)?;
    if known.get(key).and_then(Value::as_str) == Some(value) {
        return Ok(text.to_owned());
    }
    let base = block.yaml.start;
    let edited = match entry(yaml, key) {
        Some(entry) => {
            let gap = if yaml[..entry.value.start].ends_with(':') { " " } else { "" };
            let first = lines::end(yaml, entry.line.start);
            let said = scalar(value);
            // What stands behind the value on its line is kept; more lines of it are not.
            let kept = &yaml[entry.value.end..first];
            let until = base + entry.line.end;
            [&text[..base + entry.value.start], gap, &said, kept, &text[until..]].concat()
        }
        None => {
            let eol = if text[..base].ends_with("\r\n") { "\r\n" } else { "\n" };
            let made = format!("{key}: {}{eol}", scalar(value));
            [&text[..block.yaml.end], &made, &text[block.yaml.end..]].concat()
        }
    };
    // A block that is no list of lines `key: value` cannot be edited so.
    let is_set = super::block(&edited).is_some_and(|block| {
        let now = map(&edited[block.yaml]);
        now.is_ok_and(|mut now| {
            let set = now.remove(key);
            let mut rest = known;
            rest.remove(key);
            set.as_ref().and_then(Value::as_str) == Some(value) && now == rest
        })
    });
    if is_set {
        return Ok(edited);
    }
    let says = format!("{key}: the front matter cannot take it as a line of its own; write it by hand");
    Err(Malformed { line: 1, says })
}

/// The lines of `key`, if it stands at the left edge of a line.
pub fn entry(yaml: &str, key: &str) -> Option<Entry> {
    let mut at = 0;
    let mut lines = yaml.split_inclusive('\n');
    let (start, colon, line) = loop {
        let line = lines.next()?;
        let bare = [key.to_owned(), format!("\"{key}\""), format!("'{key}'")];
        let rest = bare.iter().find_map(|bare| line.strip_prefix(bare.as_str()));
        let after = rest.map(|rest| rest.trim_start_matches([' ', '\t']));
        let after = after.and_then(|after| after.strip_prefix(':'));
        let after = after.filter(|after| after.is_empty() || after.starts_with([' ', '\t', '\r', '\n']));
        match after {
            Some(after) => break (at, at + line.len() - after.len(), line),
            None => at += line.len(),
        }
    };
    let mut end = start + line.len();
    let mut next = end;
    for line in lines {
        next += line.len();
        if line.starts_with([' ', '\t']) && !lines::is_blank(line) || line.starts_with("- ") {
            end = next;
        } else if !lines::is_blank(line) {
            break;
        }
    }
    let rest = &yaml[colon..start + line.len()];
    let said = rest.trim_start_matches([' ', '\t']);
    let from = colon + rest.len() - said.len();
    Some(Entry { line: start..end, value: from..from + value(said) })
}

/// How many bytes of the line are the value.
fn value(line: &str) -> usize {
    let bytes = line.as_bytes();
    let quote = bytes.first().copied().filter(|byte| matches!(byte, b'"' | b'\''));
    let mut at = 0;
    if let Some(quote) = quote {
        at = 1;
        while at < bytes.len() && bytes[at] != quote {
            at += if quote == b'"' && bytes[at] == b'\\' { 2 } else { 1 };
        }
    }
    let from = at.min(bytes.len());
    let comment = (from..bytes.len())
        .find(|at| bytes[*at] == b'#' && (*at == 0 || matches!(bytes[*at - 1], b' ' | b'\t')));
    let end = comment.unwrap_or(bytes.len());
    line[..end].trim_end().len()
}

/// `value` as YAML on one line: as it is, if that means the same text to everybody.
fn scalar(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || " ./_+-@=".contains(c);
    if value.chars().all(plain) && value.trim() == value {
        // Read as the older YAML too, to which more words are no text.
        let read: Result<Value, _> = serde_saphyr::from_str(&format!("key: {value}\n"));
        if read.is_ok_and(|map| map["key"].as_str() == Some(value)) {
            return value.to_owned();
        }
    }
    // What JSON may hold as it is, YAML may not.
    let odd = |c: &char| {
        matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
    };
    let said = serde_json::to_string(value).unwrap_or_default();
    said.chars().map(|c| if odd(&c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() }).collect()
}
