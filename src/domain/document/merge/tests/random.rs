//! Properties over random edits. The seed of a round is its number; a failure tells it.

use super::super::*;
use crate::domain::dice::Dice;
use std::collections::HashMap;

impl Dice {
    /// A line without its end. `who` makes those that nobody else writes.
    fn line(&mut self, who: &str, serial: &mut usize) -> String {
        *serial += 1;
        match self.roll(9) {
            0 => String::new(),
            1 => self.pick(&["```", "---", "- [ ] a", "- [x] a", "- b", "same", "## h"]).to_owned(),
            2 => format!("- [ ] {who} {serial}"),
            3 => format!("{who} word {serial} and some more words"),
            4 => format!("é{who} ünï {serial}"),
            _ => format!("{who}{serial}"),
        }
    }

    fn edited(&mut self, lines: &[String], who: &str) -> Vec<String> {
        let mut lines = lines.to_vec();
        let mut serial = 0;
        for _ in 0..self.roll(6) {
            let at = self.roll(lines.len() + 1);
            let some = at..lines.len().min(at + 1 + self.roll(3));
            match self.roll(7) {
                0..=2 => {
                    let new: Vec<_> = (0..=self.roll(3)).map(|_| self.line(who, &mut serial)).collect();
                    lines.splice(at..at, new);
                }
                3 => drop(lines.drain(some)),
                4 => {
                    let moved: Vec<_> = lines.drain(some).collect();
                    let to = self.roll(lines.len() + 1);
                    lines.splice(to..to, moved);
                }
                5 => {
                    if let Some(line) = lines.get_mut(at) {
                        *line = line.replacen(' ', &format!(" {who} "), 1);
                    }
                }
                _ => {
                    if let Some(line) = lines.get_mut(at) {
                        *line = line.replace("[ ]", "[x]");
                    }
                }
            }
        }
        lines
    }

    fn text(&mut self, lines: &[String]) -> String {
        let end = self.pick(&["\n", "\n", "\r\n"]);
        let mut text = lines.iter().flat_map(|line| [line, end]).collect::<String>();
        if self.roll(4) == 0 {
            text.truncate(text.trim_end_matches(['\r', '\n']).len());
        }
        text
    }

    fn three(&mut self) -> [String; 3] {
        let mut serial = 0;
        let base: Vec<_> = (0..self.roll(14)).map(|_| self.line("base", &mut serial)).collect();
        let (person, agent) = (self.edited(&base, "mine"), self.edited(&base, "theirs"));
        [base, person, agent].map(|lines| self.text(&lines))
    }
}

fn lines(text: &str) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for line in text.lines() {
        *counts.entry(line.trim_end_matches('\r')).or_default() += 1;
    }
    counts
}

fn ended(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

/// Lines of which `side` has more than the base, and how many more.
fn put_in<'a>(base: &str, side: &'a str) -> Vec<(&'a str, usize)> {
    let old = lines(base);
    let more = |line, count: usize| count.saturating_sub(old.get(line).copied().unwrap_or(0));
    lines(side)
        .into_iter()
        .map(|(line, count)| (line, more(line, count)))
        .filter(|(_, more)| *more > 0)
        .collect()
}

/// A line that no merge by words makes out of others: it stands as it is.
fn solid(line: &str) -> bool {
    !line.is_empty() && !line.contains(' ')
}

#[test]
fn nothing_that_somebody_wrote_is_lost() {
    let mut clashes = 0;
    for seed in 0..6000 {
        let [base, person, agent] = Dice(seed).three();
        let merged = merge(&base, &person, &agent);
        let told = || format!("seed {seed}\n{base:?}\n{person:?}\n{agent:?}\n{merged:#?}");
        let result = lines(&merged.text);
        let count = |line: &str| result.get(line).copied().unwrap_or(0);
        let recorded = |line: &str| merged.clashes.iter().any(|clash| clash.agent.contains(line));
        for (line, more) in put_in(&base, &person) {
            if solid(line) {
                assert!(count(line) >= more, "{line:?} of the person, {}", told());
            }
        }
        let kept = lines(&agent);
        for line in lines(&person).into_keys().filter(|line| solid(line) && kept.contains_key(line)) {
            assert!(count(line) > 0 || recorded(line), "{line:?} that both have, {}", told());
        }
        for (line, more) in put_in(&base, &agent).into_iter().filter(|(line, _)| solid(line)) {
            assert!(count(line) >= more || recorded(line), "{line:?} of the agent, {}", told());
            if line.starts_with("theirs") {
                assert!(count(line) <= kept[line], "{line:?} twice, {}", told());
            }
        }
        for clash in &merged.clashes {
            let at = merged.text.split_inclusive('\n').skip(clash.line - 1).collect::<String>();
            let first = clash.person.lines().next().unwrap_or("");
            assert!(at.starts_with(first), "{clash:?}, {}", told());
        }
        clashes += merged.clashes.len();
    }
    assert!(clashes > 500, "{clashes}");
}

#[test]
fn what_both_put_in_at_one_place_is_there_once() {
    for seed in 0..6000 {
        let mut dice = Dice(seed);
        let base: Vec<String> =
            (0..dice.roll(8)).map(|_| dice.pick(&["", "x", "- a", "y y"]).to_owned()).collect();
        let at = dice.roll(base.len() + 1);
        let block = ["", "both1", "", "both2", ""].map(str::to_owned);
        let block = &block[dice.roll(2)..5 - dice.roll(2)];
        let mut side = |who: &str| {
            let mut lines = base.clone();
            lines.splice(at..at, block.to_vec());
            for number in 0..dice.roll(3) {
                let at = dice.roll(lines.len() + 1);
                lines.splice(at..at, [format!("{who}{number}"), String::new()]);
            }
            ended(&lines)
        };
        let (person, agent) = (side("mine"), side("theirs"));
        let base = ended(&base);
        let merged = merge(&base, &person, &agent);
        let told = || format!("seed {seed}\n{base:?}\n{person:?}\n{agent:?}\n{merged:#?}");
        let counts = lines(&merged.text);
        assert_eq!([counts.get("both1"), counts.get("both2")], [Some(&1), Some(&1)], "{}", told());
        for line in lines(&person).into_keys().chain(lines(&agent).into_keys()).filter(|line| solid(line)) {
            assert!(counts.contains_key(line), "{line:?}, {}", told());
        }
        assert_eq!(merged.clashes, [], "{}", told());
    }
}

#[test]
fn equal_sides_and_unchanged_sides() {
    for seed in 0..3000 {
        let [base, person, _] = Dice(seed).three();
        let one = Merged { text: person.clone(), clashes: Vec::new() };
        assert_eq!(merge(&base, &base, &person), one, "seed {seed}");
        assert_eq!(merge(&base, &person, &base), one, "seed {seed}");
        assert_eq!(merge(&base, &person, &person), one, "seed {seed}");
    }
}

#[test]
fn the_same_again_is_the_same() {
    for seed in 0..3000 {
        let [base, person, agent] = Dice(seed).three();
        assert_eq!(merge(&base, &person, &agent), merge(&base, &person, &agent), "seed {seed}");
    }
}

#[test]
fn any_text_is_merged() {
    let bits = [
        "a", "b", " ", "\n", "\r", "\r\n", "- ", "[ ] ", "---\n", "```\n", "k: v\n", "é", "\u{2028}", "\0",
        "1. ",
    ];
    for seed in 0..20_000 {
        let mut dice = Dice(seed);
        let [base, person, agent] =
            [0; 3].map(|_| (0..dice.roll(12)).map(|_| dice.pick(&bits)).collect::<String>());
        let merged = merge(&base, &person, &agent);
        let count = merged.text.split_inclusive('\n').count();
        assert!(
            merged.clashes.iter().all(|clash| (1..=count + 1).contains(&clash.line)),
            "seed {seed}: {merged:?}"
        );
    }
}
