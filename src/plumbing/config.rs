//! git's configuration, as read by git itself.

use bstr::ByteSlice;
use std::path::PathBuf;

/// All values of all scopes, in the order git lists them: the last one of a key counts.
#[derive(Debug, Clone, Default)]
pub struct Config(Vec<(String, String)>);

impl Config {
    /// From the bytes of `git config --list -z`: `key LF value NUL`, or `key NUL` for a bare key.
    pub(super) fn parse(bytes: &[u8]) -> Config {
        let pair = |item: &[u8]| {
            let (key, value) = item.split_once_str("\n").unwrap_or((item, b"true"));
            (key.to_str_lossy().into_owned(), value.to_str_lossy().into_owned())
        };
        Config(bytes.split(|b| *b == 0).filter(|i| !i.is_empty()).map(pair).collect())
    }

    /// The value of `key` (section and name in lower case).
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().rev().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// Every key with every value.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.0
    }

    pub fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// git's reading of a boolean; anything unclear is `false`.
    pub fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(|v| matches!(v.to_ascii_lowercase().as_str(), "true" | "yes" | "on" | "1"))
    }

    /// Whether a remote has promised what is missing here.
    pub(super) fn has_promise(&self) -> bool {
        let promisor = |(key, value): &(String, String)| {
            let ours = key.starts_with("remote.") && key.ends_with(".promisor") && value != "false";
            ours || key == "extensions.partialclone"
        };
        self.0.iter().any(promisor)
    }

    /// A path, with a leading `~/` taken as `home`.
    pub fn path(&self, key: &str, home: Option<&std::ffi::OsStr>) -> Option<PathBuf> {
        let value = self.get(key).filter(|v| !v.is_empty())?;
        match (value.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => Some(PathBuf::from(home).join(rest)),
            _ => Some(PathBuf::from(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_counts_and_bare_keys_are_true() {
        let config = Config::parse(b"a.b\none\0a.b\ntwo\nlines\0c.d\0");
        assert_eq!(config.get("a.b"), Some("two\nlines"));
        assert_eq!(config.all("a.b").count(), 2);
        assert!(config.is_true("c.d") && !config.is_true("a.b") && config.get("x.y").is_none());
    }
}
