//! Claims that do not say enough to be judged.

use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::protocol::Claim;

/// Words that say nothing, alone or together.
const EMPTY_WORDS: &[&str] = &[
    "a",
    "all",
    "an",
    "and",
    "as",
    "asked",
    "been",
    "by",
    "changes",
    "code",
    "complete",
    "completed",
    "done",
    "everything",
    "finished",
    "fine",
    "fixed",
    "good",
    "has",
    "i",
    "implemented",
    "is",
    "it",
    "looks",
    "made",
    "my",
    "na",
    "no",
    "none",
    "now",
    "ok",
    "okay",
    "pass",
    "passed",
    "passes",
    "requested",
    "success",
    "successful",
    "successfully",
    "task",
    "tested",
    "tests",
    "that",
    "the",
    "this",
    "to",
    "todo",
    "was",
    "well",
    "work",
    "worked",
    "works",
    "yes",
];

fn is_vague(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
    words.into_iter().all(|word| EMPTY_WORDS.contains(&word.to_lowercase().as_str()))
}

/// What a claim lacks, named piece by piece, so that it can be made good.
pub fn refuse(claim: &Claim) -> Result<()> {
    let mut lacks = Vec::new();
    if is_vague(&claim.summary) || claim.summary.split_whitespace().count() < 3 {
        lacks.push(format!("summary {:?}: say what was changed, and where", claim.summary));
    }
    if claim.evidence.is_empty() {
        lacks.push("evidence: name at least one thing that shows it, as a command and what it said".into());
    }
    let vague = claim.evidence.iter().filter(|e| is_vague(e) || e.split_whitespace().count() < 2);
    lacks.extend(vague.map(|e| format!("evidence {e:?}: name the command or the file, and what it shows")));
    if lacks.is_empty() {
        return Ok(());
    }
    Err(Refusal::new(Token::Vague, "the claim does not say enough to be judged")
        .lines(lacks)
        .show("git log --stat")
        .next("say it again: git skein worker done --outcome complete --summary '…' --evidence '…'")
        .into())
}
