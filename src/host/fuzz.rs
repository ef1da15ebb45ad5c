//! What is held against any bytes that the machine or a terminal shows: each function panics where a reader of this
//! room breaks its promise. Built for fuzzers and for the tests that replay what they found.

#![allow(clippy::unwrap_used, reason = "that it fails is what it is for")]

use crate::host::chain;
use crate::host::mailbox;
use crate::host::survivors;
use crate::host::tmux;
use crate::host::typing;
use bstr::ByteSlice;
use std::os::unix::ffi::OsStrExt;

/// What a pane shows, and what is typed into it.
pub fn tmux_screen(bytes: &[u8]) {
    for most in [0, 1, 40] {
        let shown = tmux::shown(bytes, most);
        assert!(shown.lines().count() <= most as usize && shown.len() <= bytes.len() + 1);
        let last = tmux::last_lines(bytes, most);
        assert!(bytes.ends_with(&last) && last.lines().count() <= most as usize);
    }
    let text = String::from_utf8_lossy(bytes).into_owned();
    let typed = typing::harmless(&text);
    assert!(typed.chars().all(|c| c == '\n' || !c.is_control()), "{typed:?}");
    assert_eq!(typing::harmless(&typed), typed);
    let has_words = typed.lines().any(|line| !typing::squeezed(line).is_empty());
    assert_eq!(typing::times(typed.as_bytes(), &typed) > 0, has_words, "what is shown is seen: {typed:?}");
}

/// `/proc/<pid>/stat`: the name may hold anything.
pub fn process_stat(bytes: &[u8]) {
    #[cfg(target_os = "linux")]
    if let Some(name) = survivors::name_in(bytes) {
        let raw = String::from_utf8_lossy(bytes);
        assert!(raw.contains(&format!("({name})")), "{name:?}");
        let odd = [b"7 (a) b (", bytes, b") S 1 7 7 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 99 0"].concat();
        assert!(survivors::name_in(&odd).is_some());
    }
    let _ = bytes;
}

/// The first line of somebody's hook, and the names of requests in a folder that anybody may write to.
pub fn script_head(bytes: &[u8]) {
    if let Some(words) = chain::interpreter(bytes) {
        assert!((1..=3).contains(&words.len()));
        let plain = words.iter().all(|word| words == ["sh"] || bytes.find(word.as_bytes()).is_some());
        assert!(plain && words.iter().all(|word| !word.is_empty()));
    }
    let name: Vec<u8> = bytes.iter().copied().take_while(|byte| *byte != 0).chain([0]).collect();
    if let Some(called) = mailbox::called(std::ffi::CStr::from_bytes_with_nul(&name).unwrap()) {
        assert!(!called.is_empty() && called.len() <= 100 && !called.contains(['/', '.']));
    }
}
