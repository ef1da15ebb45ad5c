//! What is held against any bytes that come to a surface: each function panics where a reader of this room breaks its
//! promise. Built for fuzzers and for the tests that replay what they found.

#![allow(clippy::unwrap_used, reason = "that it fails is what it is for")]

use crate::host::Env;
use crate::surfaces::dock;
use crate::surfaces::mcp;
use crate::surfaces::style;
use bstr::ByteSlice;

/// Frames of the Model Context Protocol: whatever comes in, what goes out is whole lines of JSON.
pub fn mcp_frames(bytes: &[u8]) {
    let env = Env::capture().unwrap().changed(|_| true, &[]);
    let said = mcp::answered(&env, bytes);
    assert!(said.is_empty() || said.ends_with(b"\n"));
    for line in said.lines() {
        let answer: serde_json::Value = serde_json::from_slice(line).unwrap();
        assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
    }
    assert!(said.len() <= 100_000 + 200 * bytes.len());
}

/// What an agent printed, on its way to a terminal: nothing steers it, and no line is lost.
pub fn shown_text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let safe = style::safe(&text);
    assert!(!safe.contains(style::steers));
    assert_eq!(safe.matches('\n').count(), text.matches('\n').count());
    assert!(!style::line(&text).contains(['\n', '\t']));
    let lines = dock::ansi_lines(&text);
    assert_eq!(lines.len(), text.lines().count());
    for span in lines.iter().flat_map(|line| &line.spans) {
        assert!(!span.content.contains(style::steers) && !span.content.contains(['\n', '\t']), "{span:?}");
    }
}
