//! The team's policy, a tracked file. It is read at the tip of the trunk, so that no worker's fork can change it.

use serde::Deserialize;
use std::collections::BTreeMap;

/// Where it is.
pub const POLICY: &str = ".skein/policy.toml";

/// What of it is heard here.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// Nothing lands that nobody has accepted.
    pub require_verdict: bool,
    /// The mails of those who may judge; anybody where none is named.
    pub verdict_actors: Vec<String>,
    /// Workers, gates and checks run in a jail or not at all.
    pub require_jail: bool,
    /// Commands that must pass before anything moves a branch.
    pub gate: Vec<String>,
    /// Checks of every worker, beside its own.
    pub checks: Vec<String>,
    #[serde(flatten)]
    others: BTreeMap<String, toml::Value>,
}

impl Policy {
    /// From the bytes of the file; else what is wrong with them.
    pub fn parse(bytes: &[u8]) -> Result<Policy, String> {
        let text = std::str::from_utf8(bytes).map_err(|e| e.to_string())?;
        let policy: Policy = toml::from_str(text).map_err(|e| e.to_string().trim_end().to_owned())?;
        match policy.gates().iter().any(|command| command.trim().is_empty()) {
            true => Err("gate or checks: there is no command in it".to_owned()),
            false => Ok(policy),
        }
    }

    /// All that has to pass before work lands.
    pub fn gates(&self) -> Vec<String> {
        self.checks.iter().chain(&self.gate).cloned().collect()
    }

    /// What it makes run, a line each.
    pub fn commands(&self) -> Vec<String> {
        let checks = self.checks.iter().map(|check| format!("check: {check}"));
        checks.chain(self.gate.iter().map(|gate| format!("gate: {gate}"))).collect()
    }

    /// Keys that mean nothing here.
    pub fn unknown(&self) -> impl Iterator<Item = &str> {
        self.others.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_heard_and_what_is_not_known_is_named() {
        let read = |text: &str| Policy::parse(text.as_bytes());
        assert_eq!(read("").unwrap(), Policy::default());
        let policy = read("require_verdict = true\nverdict_actors = ['a@b']\nnew = { a = 1 }\n").unwrap();
        assert!(policy.require_verdict && policy.verdict_actors == ["a@b"] && !policy.require_jail);
        assert!(read("require_jail = true").unwrap().require_jail);
        assert_eq!(policy.unknown().collect::<Vec<_>>(), ["new"]);
        let policy = read("gate = ['make']\nchecks = ['fmt', 'lint']\n").unwrap();
        assert_eq!(policy.gates(), ["fmt", "lint", "make"]);
        assert_eq!(policy.commands(), ["check: fmt", "check: lint", "gate: make"]);
        for bad in [
            "require_verdict = 1",
            "require_jail = 'bwrap'",
            "verdict_actors = 'a@b'",
            "gate = 'make'",
            "gate = [' ']",
            "checks = ['make', '']",
            "require_verdict",
            "a = 1\na = 2",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert!(Policy::parse(b"\xff").is_err());
    }
}
