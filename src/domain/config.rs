//! git's configuration, as read by git itself: keys in lower case as git lists them.

use bstr::ByteSlice;
use std::ffi::OsStr;
use std::path::PathBuf;

/// All values of all scopes, in the order git lists them: the last one of a key counts.
#[derive(Debug, Clone, Default)]
pub struct Config(Vec<(String, String)>);

impl Config {
    /// From the bytes of `git config --list -z`: `key LF value NUL`, or `key NUL` for a bare key.
    pub fn parse(bytes: &[u8]) -> Config {
        let pair = |item: &[u8]| {
            let (key, value) = item.split_once_str("\n").unwrap_or((item, b"true"));
            (key.to_str_lossy().into_owned(), value.to_str_lossy().into_owned())
        };
        bytes.split(|b| *b == 0).filter(|i| !i.is_empty()).map(pair).collect()
    }

    /// The value of `key` (section and name in lower case).
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().rev().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    pub fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// Every key with every value, in the order git lists them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }

    /// git's reading of a boolean; anything unclear is `false`.
    pub fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(|v| matches!(v.to_ascii_lowercase().as_str(), "true" | "yes" | "on" | "1"))
    }

    /// The keys `<section>.<name>.<last>` with their names and values.
    pub fn named<'a>(&'a self, section: &str, last: &str) -> Vec<(&'a str, &'a str)> {
        let (start, end) = (format!("{section}."), format!(".{last}"));
        let name = |k: &'a str| k.strip_prefix(&start)?.strip_suffix(&end);
        self.0.iter().filter_map(|(k, v)| Some((name(k)?, v.as_str()))).collect()
    }

    /// The remotes that have promised what is missing here.
    pub fn promisors(&self) -> Vec<&str> {
        let named = self.named("remote", "promisor").into_iter();
        let mut from: Vec<&str> = named.filter(|(_, v)| *v != "false").map(|(remote, _)| remote).collect();
        from.extend(self.get("extensions.partialclone").filter(|remote| !from.contains(remote)));
        from
    }

    /// A path, with a leading `~/` taken as `home`.
    pub fn path(&self, key: &str, home: Option<&OsStr>) -> Option<PathBuf> {
        self.get(key).filter(|value| !value.is_empty()).map(|value| from_home(value, home))
    }

    /// All paths of a key, each as [`Config::path`] has it.
    pub fn paths<'a>(&'a self, key: &'a str, home: Option<&'a OsStr>) -> impl Iterator<Item = PathBuf> {
        self.all(key).map(move |value| from_home(value, home))
    }
}

fn from_home(path: &str, home: Option<&OsStr>) -> PathBuf {
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(path),
    }
}

impl FromIterator<(String, String)> for Config {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Config {
        Config(pairs.into_iter().collect())
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
