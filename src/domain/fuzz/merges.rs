//! What the merge of a document promises: of any three texts, and of three whose merge is known beforehand.

use crate::domain::dice::Dice;
use crate::domain::document::Touched;
use crate::domain::document::components;
use crate::domain::document::front;
use crate::domain::document::graft;
use crate::domain::document::merge;
use crate::domain::fuzz::documents::read_only;
use crate::domain::fuzz::parts;
use crate::domain::fuzz::text;
use std::collections::HashMap;

/// Base, person and agent as any texts.
pub fn merge_three(bytes: &[u8]) {
    let [base, person, agent] = parts(bytes).map(text);
    merged(&base, &person, &agent);
}

type Words<'t> = HashMap<&'t str, usize>;

/// The words of a text, with how often each stands there.
fn words(text: &str) -> Words<'_> {
    let mut counts = Words::new();
    for word in text.split_whitespace() {
        *counts.entry(word).or_default() += 1;
    }
    counts
}

/// The lines that are one word, and so are not taken apart; with how often each of these words stands in the text.
fn solid<'t>(text: &'t str, words: &Words<'t>) -> Words<'t> {
    let lines = text.split(['\n', '\r']).map(str::trim);
    let whole = lines.filter(|line| line.chars().any(char::is_alphanumeric));
    whole.filter_map(|line| words.get_key_value(line)).map(|(word, times)| (*word, *times)).collect()
}

/// No line that the person wrote goes; one that the agent wrote is in the text or told beside it; what one side did
/// alone is taken as it is; the same again is the same.
fn merged(base: &str, person: &str, agent: &str) {
    assert_eq!(merge(base, person, base).text, person);
    assert_eq!(merge(base, base, agent).text, agent);
    assert_eq!(merge(base, person, person).text, person);
    let done = merge(base, person, agent);
    assert_eq!(done, merge(base, person, agent), "the same texts give the same result");
    let told = || format!("{base:?}\n{person:?}\n{agent:?}\n{done:#?}");
    let [old, mine, theirs, now] = [base, person, agent, &done.text].map(words);
    let count = |of: &Words<'_>, word: &str| of.get(word).copied().unwrap_or(0);
    for (word, times) in solid(person, &mine) {
        let more = times.saturating_sub(count(&old, word));
        assert!(count(&now, word) >= more, "{word:?} of the person, {}", told());
    }
    for (word, times) in solid(agent, &theirs) {
        // Of several equal lines one may be taken for the same line of the person's.
        let more = times.saturating_sub(count(&old, word)).min(1);
        let beside = done.clashes.iter().any(|clash| clash.agent.contains(word));
        assert!(count(&now, word) >= more || beside, "{word:?} of the agent, {}", told());
    }
    for word in now.keys().filter(|word| word.chars().any(char::is_alphanumeric)) {
        let known = count(&old, word) + count(&mine, word) + count(&theirs, word) > 0;
        assert!(known, "{word:?} is nobody's, {}", told());
    }
    let all = done.text.split_inclusive('\n').count();
    assert!(done.clashes.iter().all(|clash| (1..=all + 1).contains(&clash.line)), "{}", told());
}

/// Any markdown: it is read and merged without a fault, and what is written can be read again. Gives how many bytes
/// were looked at.
pub fn markdown(document: &str, dice: &mut Dice) -> usize {
    read_only(document);
    let mut side = |who: &str| {
        let mut lines: Vec<String> = document.split_inclusive('\n').map(str::to_owned).collect();
        for n in 0..1 + dice.roll(4) {
            let at = dice.roll(lines.len() + 1);
            match dice.roll(3) {
                0 if at < lines.len() => drop(lines.remove(at)),
                1 if at < lines.len() => lines[at] = lines[at].replacen(' ', &format!(" {who} "), 1),
                _ => lines.insert(at, format!("{who}{n}\n")),
            }
        }
        lines.concat()
    };
    let (person, agent) = (side("mine"), side("theirs"));
    merged(document, &person, &agent);
    let touched = match components(document) {
        Ok(all) => Touched::Components(all.into_iter().map(|component| component.name).collect()),
        Err(_) => Touched::Whole,
    };
    if let Ok(grafted) = graft(document, &person, &agent, &touched) {
        // What only one of them wrote is taken as it is.
        let is_one = grafted.text == person || grafted.text == agent;
        assert!(is_one || components(&grafted.text).is_ok(), "what is written can be read");
        let same = front(&person).map(|read| read.body) == front(&grafted.text).map(|read| read.body);
        assert!(
            is_one || same || touched == Touched::Whole,
            "an answer into components moves no front matter"
        );
    }
    document.len()
}

/// A block of lines of which none stands twice.
struct Blocks {
    serial: usize,
    end: &'static str,
}

impl Blocks {
    fn line(&mut self, who: &str, dice: &mut Dice) -> String {
        self.serial += 1;
        let n = self.serial;
        let line = match dice.roll(6) {
            0 => format!("- [ ] {who}{n}"),
            1 => format!("## {who}{n}"),
            2 => format!("{who}{n} with ünïcödé and more words {n}"),
            3 => format!("  * {who}{n}"),
            _ => format!("{who}{n}"),
        };
        line + self.end
    }

    fn some(&mut self, who: &str, dice: &mut Dice, most: usize) -> Vec<String> {
        (0..dice.roll(most + 1)).map(|_| self.line(who, dice)).collect()
    }

    /// What somebody makes of a block: lines put in, taken out, moved, written anew.
    fn edited(&mut self, block: &[String], who: &str, dice: &mut Dice) -> Vec<String> {
        let mut lines = block.to_vec();
        for _ in 0..1 + dice.roll(4) {
            let at = dice.roll(lines.len() + 1);
            let upto = lines.len().min(at + 1 + dice.roll(2));
            match dice.roll(4) {
                0 => drop(lines.drain(at..upto)),
                1 => {
                    let moved: Vec<String> = lines.drain(at..upto).collect();
                    let to = dice.roll(lines.len() + 1);
                    lines.splice(to..to, moved);
                }
                2 => {
                    let new = self.some(who, dice, 2);
                    lines.splice(at..upto, new);
                }
                _ => {
                    let new = self.some(who, dice, 3);
                    lines.splice(at..at, new);
                }
            }
        }
        lines
    }
}

/// Blocks with a line between each two that nobody touches; one is edited by the person, one by the agent, one by both
/// alike, one by nobody. The merge is then known to the byte: whoever is called the person, and however often.
pub fn apart(seed: u64) {
    let mut dice = Dice(seed);
    let mut blocks = Blocks { serial: 0, end: dice.pick(&["\n", "\n", "\r\n"]) };
    let [mut base, mut person, mut agent, mut wanted] = [const { String::new() }; 4];
    if dice.roll(4) == 0 {
        let front = format!("---{0}skein_doc: x{0}---{0}", blocks.end);
        [&mut base, &mut person, &mut agent, &mut wanted].into_iter().for_each(|side| side.push_str(&front));
    }
    for n in 0..1 + dice.roll(8) {
        let fence = format!("anchor{n}{0}between{n}{0}", blocks.end);
        let old = blocks.some("old", &mut dice, 6);
        let who = dice.roll(4);
        let new = if who == 3 {
            old.clone()
        } else {
            blocks.edited(&old, ["mine", "theirs", "both"][who], &mut dice)
        };
        let (by_person, by_agent) = (who == 0 || who == 2, who == 1 || who == 2);
        let sides =
            [(&mut base, false), (&mut person, by_person), (&mut agent, by_agent), (&mut wanted, true)];
        for (side, changed) in sides {
            side.push_str(&fence);
            side.push_str(&if changed { &new } else { &old }.concat());
        }
    }
    for side in [&mut base, &mut person, &mut agent, &mut wanted] {
        side.push_str("the end");
        side.push_str(blocks.end);
    }
    let told = |what: &str, done: &str| {
        format!(
            "seed {seed}: {what}\nbase {base:?}\nperson {person:?}\nagent {agent:?}\nwanted {wanted:?}\ndone {done:?}"
        )
    };
    let is = |what: &str, [base, person, agent]: [&str; 3]| {
        let done = merge(base, person, agent);
        assert!(done.text == wanted && done.clashes.is_empty(), "{}", told(what, &done.text));
    };
    is("merged", [&base, &person, &agent]);
    is("the other way round", [&base, &agent, &person]);
    is("merged again", [&base, &wanted, &agent]);
    is("and again the other way round", [&base, &wanted, &person]);
    is("merged with the merged", [&person, &wanted, &person]);
}

/// Both hold some edits alike, and each has a few of its own beside them, in lines of which none stands twice: none comes
/// out twice, and none of the person's goes.
pub fn beside(seed: u64) {
    let mut dice = Dice(seed);
    let mut blocks = Blocks { serial: 0, end: "\n" };
    let base: Vec<String> = (0..3 + dice.roll(10)).map(|_| blocks.line("old", &mut dice)).collect();
    let both = blocks.edited(&base, "both", &mut dice);
    let mut own = |who: &str| {
        let mut lines = both.clone();
        for _ in 0..1 + dice.roll(2) {
            let at = dice.roll(lines.len() + 1);
            let upto = lines.len().min(at + dice.roll(3));
            let new = blocks.some(who, &mut dice, 2);
            lines.splice(at..upto, new);
        }
        lines
    };
    let (person, agent) = (own("mine"), own("theirs"));
    let done = merge(&base.concat(), &person.concat(), &agent.concat());
    let told = || format!("seed {seed}\n{base:?}\n{person:?}\n{agent:?}\n{done:#?}");
    let mut found: HashMap<&str, usize> = HashMap::new();
    done.text.lines().for_each(|line| *found.entry(line).or_default() += 1);
    assert!(found.values().all(|times| *times == 1), "{}", told());
    for line in person.iter().filter(|line| line.contains("mine")) {
        assert!(found.contains_key(line.trim_end_matches('\n')), "{line:?}, {}", told());
    }
    for line in agent.iter().filter(|line| line.contains("theirs")) {
        let there = found.contains_key(line.trim_end_matches('\n'));
        assert!(there || done.clashes.iter().any(|clash| clash.agent.contains(line)), "{line:?}, {}", told());
    }
}
