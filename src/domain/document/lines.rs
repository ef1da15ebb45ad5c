//! Lines of a text, by their bytes. A line ends with LF, and with CR LF.

/// The line ending that most lines of `text` have.
pub fn ending(text: &str) -> &'static str {
    let crlf = text.matches("\r\n").count();
    let all = text.bytes().filter(|byte| *byte == b'\n').count();
    if crlf * 2 > all { "\r\n" } else { "\n" }
}

/// The number of the line that holds the byte `at`.
pub fn number(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count()
}

/// Where the line that holds the byte `at` begins.
pub fn start(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |before| before + 1)
}

/// Where the line that holds the byte `at` ends, its ending included.
pub fn end(text: &str, at: usize) -> usize {
    text.as_bytes()[at..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |after| at + after + 1)
}

/// Where the line of the byte `at` begins, if nothing but blanks stands before it.
pub fn first(text: &str, at: usize) -> Option<usize> {
    let before = text.as_bytes()[..at].iter().rposition(|byte| !matches!(byte, b' ' | b'\t'));
    match before {
        None => Some(0),
        Some(before) => (text.as_bytes()[before] == b'\n').then_some(before + 1),
    }
}

/// Where the line of the byte `at` ends, its ending included, if nothing but blanks stands behind it.
pub fn last(text: &str, at: usize) -> Option<usize> {
    let after = text.as_bytes()[at..].iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
    match after {
        None => Some(text.len()),
        Some(after) => (text.as_bytes()[at + after] == b'\n').then_some(at + after + 1),
    }
}

pub fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
}

/// `text` without the blank lines before and behind it, and without the ending of its last line.
pub fn inner(text: &str) -> &str {
    let mut rest = text;
    while let Some((first, after)) = rest.split_once('\n') {
        if !is_blank(first) {
            break;
        }
        rest = after;
    }
    while let Some((before, last)) = rest.rsplit_once('\n') {
        if !is_blank(last) {
            break;
        }
        rest = before;
    }
    if is_blank(rest) { "" } else { rest.strip_suffix('\r').unwrap_or(rest) }
}

/// `text` with every line ending made `eol`.
pub fn with_ending(text: &str, eol: &str) -> String {
    text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect::<Vec<_>>().join(eol)
}
