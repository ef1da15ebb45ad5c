//! How much there is to look at before work is accepted: from what is seen of it, never from what anybody thinks.

use crate::domain::Change;
use crate::domain::Flag;
use crate::domain::Globs;
use crate::domain::PROTECTED;
use crate::domain::Result;
use crate::domain::some_of;
use bstr::ByteSlice;
use serde::Deserialize;
use serde::Serialize;

/// More paths than these are much to read, and too much to read well.
const MANY: usize = 8;
const TOO_MANY: usize = 30;

/// Where a small change does much.
const SENSITIVE: &[&str] = &[
    "**/*auth*",
    "**/*auth*/**",
    "**/*crypt*",
    "**/*crypt*/**",
    "**/*secret*",
    "**/*password*",
    "**/*permission*",
    "**/migrations/**",
    "**/*.sql",
    "**/.env*",
    "**/Dockerfile",
    "**/*.tf",
];

/// What decides which code of others is built in.
const SUPPLY: &[&str] = &[
    "**/Cargo.toml",
    "**/Cargo.lock",
    "**/build.rs",
    "**/package.json",
    "**/package-lock.json",
    "**/yarn.lock",
    "**/pnpm-lock.yaml",
    "**/pyproject.toml",
    "**/requirements*.txt",
    "**/go.mod",
    "**/go.sum",
    "**/Gemfile*",
    "**/Makefile",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RiskLevel {
    Low,
    Medium,
    High,
}

impl RiskLevel {
    pub fn word(self) -> &'static str {
        match self {
            RiskLevel::Low => "low",
            RiskLevel::Medium => "medium",
            RiskLevel::High => "high",
        }
    }
}

/// A level, and all that speaks for it, the gravest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Risk {
    pub level: RiskLevel,
    pub reasons: Vec<String>,
}

/// What is seen of the work of a worker.
#[derive(Debug, Default)]
pub struct Looked<'a> {
    pub changes: &'a [Change],
    /// More globs of sensitive paths: `skein.sensitive`.
    pub sensitive: &'a [&'a str],
    /// The globs that it was given; any path is declared where there is none.
    pub declared: &'a [String],
    pub flags: &'a [Flag],
    /// The commands that were asked for, and those that were seen to pass on its commits.
    pub checks: &'a [String],
    pub passed: &'a [String],
    /// It says that something shows its work to be good.
    pub claims: bool,
    /// Workers that change a path that it changes.
    pub meets: &'a [String],
    /// What it changes that is not in the plan that it laid out.
    pub off_plan: &'a [String],
}

pub fn risk(seen: &Looked<'_>) -> Result<Risk> {
    use RiskLevel::High;
    use RiskLevel::Medium;
    let sensitive = SENSITIVE.iter().chain(PROTECTED).copied().chain(seen.sensitive.iter().copied());
    let (sensitive, supply) = (Globs::new(sensitive)?, Globs::new(SUPPLY.iter().copied())?);
    let declared = Globs::new(seen.declared.iter().map(String::as_str))?;
    let paths = |which: &dyn Fn(&Change) -> bool| -> Vec<String> {
        seen.changes.iter().filter(|c| which(c)).map(|c| c.path.to_str_lossy().into_owned()).collect()
    };
    let mut found = Vec::new();
    let mut add = |level: RiskLevel, what: &str, names: Vec<String>| {
        if !names.is_empty() {
            found.push((level, format!("{what}: {}", some_of(names.iter().cloned(), 3))));
        }
    };
    add(High, "sensitive", paths(&|c| sensitive.covers(c.path.as_bstr())));
    let grave = |flag: &&Flag| matches!(flag, Flag::OutsideChanged | Flag::Quarantined);
    let word = |flag: &Flag| flag.word().to_owned();
    add(High, "flagged", seen.flags.iter().filter(grave).map(word).collect());
    add(Medium, "flagged", seen.flags.iter().filter(|f| **f == Flag::SelfDiscarded).map(word).collect());
    add(Medium, "build and dependencies", paths(&|c| supply.covers(c.path.as_bstr())));
    add(Medium, "deleted", paths(&|c| c.new.is_none()));
    add(Medium, "not declared", paths(&|c| !declared.is_empty() && !declared.covers(c.path.as_bstr())));
    add(Medium, "off plan", seen.off_plan.to_vec());
    let unseen = seen.checks.iter().filter(|check| !seen.passed.contains(check));
    add(Medium, "not seen to pass", unseen.cloned().collect());
    add(Medium, "changed by others too", seen.meets.to_vec());
    if seen.claims && seen.passed.is_empty() {
        found.push((Medium, "it claims evidence, and none was seen".to_owned()));
    }
    match seen.changes.len() {
        n if n > TOO_MANY => found.push((High, format!("{n} paths"))),
        n if n > MANY => found.push((Medium, format!("{n} paths"))),
        _ => {}
    }
    found.sort_by_key(|(level, _)| std::cmp::Reverse(*level));
    let level = found.first().map_or(RiskLevel::Low, |(level, _)| *level);
    Ok(Risk { level, reasons: found.into_iter().map(|(_, reason)| reason).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Mode;
    use crate::domain::Oid;

    fn changes(paths: &[&str]) -> Vec<Change> {
        let blob = Some((Mode::File, Oid::from_bytes(&[1; 20]).unwrap()));
        let one = |path: &&str| match path.strip_prefix('-') {
            Some(gone) => Change { path: gone.into(), old: blob, new: None },
            None => Change { path: (*path).into(), old: None, new: blob },
        };
        paths.iter().map(one).collect()
    }

    #[test]
    fn a_level_and_its_reasons() {
        let words = |all: &[&str]| all.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        let (test, txt, w2) = (words(&["cargo test"]), words(&["*.txt"]), words(&["w2"]));
        let many: Vec<String> = (0..40).map(|n| format!("f{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let (a, auth, gone) =
            (changes(&["a.txt"]), changes(&["a.txt", "src/auth/x.rs"]), changes(&["-a.txt"]));
        let (lock, rs, nine, forty) =
            (changes(&["Cargo.lock"]), changes(&["a.rs"]), changes(&many[..9]), changes(&many));
        let look = |changes| Looked { changes, ..Looked::default() };
        for (seen, want, reasons) in [
            (look(&a), "low", &[][..]),
            (look(&auth), "high", &["sensitive: src/auth/x.rs"]),
            (Looked { sensitive: &["a.*"], ..look(&a) }, "high", &["sensitive: a.txt"]),
            (look(&lock), "medium", &["build and dependencies: Cargo.lock"]),
            (look(&gone), "medium", &["deleted: a.txt"]),
            (Looked { declared: &txt, ..look(&a) }, "low", &[]),
            (Looked { declared: &txt, ..look(&rs) }, "medium", &["not declared: a.rs"]),
            (look(&nine), "medium", &["9 paths"]),
            (look(&forty), "high", &["40 paths"]),
            (Looked { checks: &test, ..look(&a) }, "medium", &["not seen to pass: cargo test"]),
            (Looked { checks: &test, passed: &test, claims: true, ..look(&a) }, "low", &[]),
            (Looked { claims: true, ..look(&a) }, "medium", &["it claims evidence, and none was seen"]),
            (Looked { meets: &w2, ..look(&a) }, "medium", &["changed by others too: w2"]),
            (Looked { flags: &[Flag::SelfDiscarded], ..look(&a) }, "medium", &["flagged: self-discarded"]),
            (
                Looked { flags: &[Flag::Quarantined], ..look(&gone) },
                "high",
                &["flagged: quarantined", "deleted: a.txt"],
            ),
        ] {
            let found = risk(&seen).unwrap();
            assert_eq!((found.level.word(), found.reasons), (want, words(reasons)), "{seen:?}");
        }
    }
}
