//! What is held against any bytes that git hands to a hook, and that lie in files of other tools: each function panics
//! where a reader of this room breaks its promise. Built for fuzzers and for the tests that replay what they found.

#![allow(clippy::unwrap_used, reason = "that it fails is what it is for")]

use crate::verbs::checkout;
use crate::verbs::doc;
use crate::verbs::hooks;
use crate::verbs::outside::Outside;
use bstr::ByteSlice;

/// Standard input of `pre-receive`, `pre-push` and `post-rewrite`.
pub fn hook_input(bytes: &[u8]) {
    bytes.lines().for_each(hooks::fuzz::heard);
}

/// What a hook finds: the list of a squash, a hook in its place, the command line of whoever started it.
pub fn hook_surroundings(bytes: &[u8]) {
    hooks::fuzz::found(bytes);
}

/// What was noted of the main checkout, and the mark in a lock of an index.
pub fn noted_outside(bytes: &[u8]) {
    if let Some(outside) = Outside::from_bytes(bytes) {
        let again = outside.to_bytes().unwrap();
        let read = Outside::from_bytes(&again).unwrap();
        assert_eq!(read.to_bytes().unwrap(), again);
        assert_eq!(read.dirty_files(), outside.dirty_files());
    }
    if let Some(doc) = checkout::entered_by(bytes) {
        assert_eq!(checkout::entered_by(checkout::doc_mark(doc).as_bytes()), Some(doc));
    }
    if let Some(op) = checkout::marked_by(bytes) {
        assert!(bytes.len() > op.len() || op.contains('\u{fffd}'));
    }
}

/// The configuration of agent-doc.
pub fn agent_doc_config(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    assert!(doc::agents_in(&text).iter().all(|name| name.len() <= text.len()));
}
