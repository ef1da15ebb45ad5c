//! What is held against any line that git hands to a hook.

use crate::verbs::hooks::push;
use crate::verbs::hooks::receive;
use crate::verbs::hooks::rewritten;

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
