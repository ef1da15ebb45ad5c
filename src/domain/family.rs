//! Workers that start workers: who may, and what the one that started another is told of its end.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::Outcome;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use serde::Deserialize;
use serde::Serialize;

/// How many may run at a time that one worker has started.
const AT_ONCE: usize = 8;

/// So many changed files are named to the one that started it.
const NAMED: usize = 50;

/// Who started a worker, by which of its requests: the same one never starts two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    pub worker: WorkerId,
    pub request: String,
    /// How many workers stand above it.
    pub depth: u32,
}

/// The deepest level at which workers may be started, from `skein.spawn`.
pub fn deepest(text: Option<&str>) -> Result<u32> {
    let Some(text) = text else { return Ok(0) };
    text.trim().parse().map_err(|_| {
        Refusal::new(Token::BadLimit, format!("skein.spawn is {text:?}, which is no depth"))
            .show("git config --show-origin --get-all skein.spawn")
            .next("give a whole number: 1 lets a worker start others, 2 lets those do so, too; or unset it")
            .into()
    })
}

/// Whether a worker with `depth` others above it may start one more, while `running` of its own run.
pub fn refuse_spawn(depth: u32, deepest: u32, running: usize) -> Result<()> {
    if depth >= deepest {
        let says = match deepest {
            0 => "this worker may not start others".to_owned(),
            _ => format!("workers are started {deepest} deep at most, and this one is {depth} deep"),
        };
        return Err(refused(says).next("do it yourself, or say in the summary what is left to do").into());
    }
    if running >= AT_ONCE {
        let says = format!("{running} workers that this one has started run, and {AT_ONCE} are the most");
        return Err(refused(says).next("git skein worker wait --stay, until one of them has ended").into());
    }
    Ok(())
}

fn refused(says: String) -> Refusal {
    Refusal::new(Token::SpawnRefused, says).show("git config --get skein.spawn")
}

/// A caller that says the same again while it is carried out.
pub fn spawning(request: &str) -> Failure {
    Refusal::new(Token::Busy, format!("the worker of request {request:?} is being started"))
        .show("git worktree list")
        .next("ask again in a moment, with the same name for the request")
        .into()
}

/// How a worker ended, for the one that started it.
pub struct Ended<'e> {
    pub name: String,
    pub outcome: Outcome,
    pub reason: Option<&'e str>,
    pub summary: Option<&'e str>,
    pub base: Oid,
    pub tip: Oid,
    pub commits: usize,
    pub files: Vec<String>,
}

impl Ended<'_> {
    /// The message.
    pub fn letter(&self) -> String {
        let reason = self.reason.map(|r| format!(": {r}")).unwrap_or_default();
        let mut text = format!("{} has ended: {}{reason}\n", self.name, self.outcome);
        if let Some(summary) = self.summary.filter(|s| !self.reason.is_some_and(|r| r.ends_with(s))) {
            text.push_str(&format!("{summary}\n"));
        }
        text.push_str(&format!("tip: {}, base: {}, commits: {}\n", self.tip, self.base, self.commits));
        for file in self.files.iter().take(NAMED) {
            text.push_str(&format!("  {file}\n"));
        }
        if self.files.len() > NAMED {
            text.push_str(&format!("  and {} more\n", self.files.len() - NAMED));
        }
        if self.commits > 0 {
            let (base, tip) = (self.base.short(), self.tip.short());
            text.push_str(&format!(
                "to look: git diff {base} {tip}; to take: git cherry-pick {base}..{tip}\n"
            ));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_started_as_deep_as_allowed_and_few_at_a_time() {
        let token =
            |depth, deepest, running| refuse_spawn(depth, deepest, running).err().and_then(|f| f.token());
        for (depth, most, running, want) in [
            (0, 0, 0, Some(Token::SpawnRefused)),
            (0, 1, 0, None),
            (1, 1, 0, Some(Token::SpawnRefused)),
            (1, 2, 7, None),
            (0, 1, AT_ONCE, Some(Token::SpawnRefused)),
        ] {
            assert_eq!(token(depth, most, running), want, "{depth} {most} {running}");
        }
        assert_eq!((deepest(None).unwrap(), deepest(Some(" 2 ")).unwrap()), (0, 2));
        assert!(deepest(Some("-1")).is_err() && deepest(Some("yes")).is_err());
    }
}
