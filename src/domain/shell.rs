//! Words for a shell: a command that is printed may be pasted, whoever chose the words in it.

use std::ffi::OsStr;

/// A word as a shell would take it.
pub fn quoted(word: impl AsRef<OsStr>) -> String {
    let text = word.as_ref().to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "/._-+:@%=,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The command that shows whether `rev` names a commit.
pub fn verify_commit(rev: &str) -> String {
    format!("git rev-parse --verify {}", quoted(format!("{rev}^{{commit}}")))
}
