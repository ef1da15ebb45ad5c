//! What is held against any line that git hands to a hook, and against what a hook finds around it.

use crate::verbs::hooks::merged;
use crate::verbs::hooks::named;
use crate::verbs::hooks::place;
use crate::verbs::hooks::push;
use crate::verbs::hooks::receive;
use crate::verbs::hooks::rewritten;
use crate::verbs::session::SUPERVISE;
use bstr::ByteSlice;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// Panics where a line is read otherwise than it is written.
pub fn heard(line: &[u8]) {
    let text = String::from_utf8_lossy(line);
    let zero = |oid: crate::domain::Oid| oid.null_like();
    if let Some(update) = receive::parse(&text)
        && let Some(some) = update.old.or(update.new)
    {
        let [old, new] = [update.old, update.new].map(|oid| oid.unwrap_or_else(|| zero(some)));
        let again = receive::parse(&format!("{old} {new} {}", update.name));
        let same = again.is_some_and(|a| (a.old, a.new, &a.name) == (update.old, update.new, &update.name));
        assert!(same, "{text:?}");
    }
    if let Some(push) = push::parse(&text) {
        let there = push.there.unwrap_or_else(|| zero(push.from));
        let again = push::parse(&format!("HEAD^{{/a word}} {} refs/heads/x {there}", push.from));
        assert!(again.is_some_and(|a| (a.from, a.there) == (push.from, push.there)), "{text:?}");
    }
    if let Some((one, other)) = rewritten::pair(line) {
        assert_eq!(rewritten::pair(format!("{one} {other}").as_bytes()), Some((one, other)));
    }
}

/// Panics where the list of a squash, a hook that stands there or the command line of a process is read otherwise than it
/// is written.
pub fn found(bytes: &[u8]) {
    let commits = merged::listed(bytes);
    let again: String = commits.iter().map(|oid| format!("commit {oid}\n")).collect();
    assert!(commits.len() <= bytes.lines().count() && merged::listed(again.as_bytes()) == commits);

    let text = String::from_utf8_lossy(bytes);
    place::started_by(&text);
    for path in text.lines().filter(|path| !path.is_empty() && !path.contains(" git-skein; do")) {
        let shim = place::shim_of(&crate::domain::quoted(path));
        assert_eq!(place::started_by(&shim).as_deref(), Some(path));
    }

    let words: Vec<OsString> = bytes.split(|b| *b == 0).map(|w| OsStr::from_bytes(w).to_owned()).collect();
    if let Some(id) = named(&words) {
        // Wherever the program stands.
        let odd = OsStr::from_bytes(b"/\xff/git-skein").to_owned();
        let moved: Vec<OsString> = [std::slice::from_ref(&odd), &words[1..]].concat();
        assert_eq!(named(&moved), Some(id));
        assert_eq!(named(&[odd, SUPERVISE.into(), id.to_string().into()]), Some(id));
    }
}
