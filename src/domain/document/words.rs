//! The merge of one line by words, and of a paragraph that one side only broke into other lines.

use crate::domain::document::weave;
use crate::domain::document::weave::Effort;
use crate::domain::document::weave::Hunk;
use crate::domain::document::weave::Ids;
use std::collections::HashMap;

/// The line with the edits of both, if they touch different words with a kept word between them. Words that both
/// edited alike are taken once. `None`: a value that both set, or edits that would stand wall to wall.
pub fn merge(base: &str, person: &str, agent: &str, effort: &Effort) -> Option<String> {
    let (base, person, agent) = (runs(base), runs(person), runs(agent));
    let [ids, mine, theirs] = numbers([&base, &person, &agent]);
    let mine = edits(hunks(&ids, &mine, effort)?, &person);
    let theirs = edits(hunks(&ids, &theirs, effort)?, &agent);
    let mut all = mine;
    all.extend(theirs);
    all.sort_by_key(|edit| (edit.at.start, edit.at.end));
    all.dedup();
    if all.windows(2).any(|pair| !apart(&base, &pair[0], &pair[1])) {
        return None;
    }
    let mut text = String::new();
    let mut at = 0;
    for edit in &all {
        text.extend(base[at..edit.at.start].iter().copied().chain(edit.text.iter().copied()));
        at = edit.at.end;
    }
    text.extend(base[at..].iter().copied());
    Some(text)
}

/// Three versions of some lines of which one side only changed the white space: its layout with the words of the
/// other. `None` if neither did only that, or if the other changed the number of lines too.
pub fn reflow(base: &str, person: &str, agent: &str, effort: &Effort) -> Option<String> {
    let (old, mine, theirs) = (Laid::of(base), Laid::of(person), Laid::of(agent));
    let lines = |text: &str| text.matches('\n').count();
    if old.words.is_empty() {
        return None;
    }
    if mine.words == old.words && lines(agent) == lines(base) {
        mine.with(&theirs, &old, effort)
    } else if theirs.words == old.words && lines(person) == lines(base) {
        theirs.with(&mine, &old, effort)
    } else {
        None
    }
}

/// Whether two lines look like versions of one: they share half of their words.
pub fn related(a: &str, b: &str, effort: &Effort) -> bool {
    if !effort.spend(2 * (a.len() + b.len()) + 50) {
        return false;
    }
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let (mut here, mut there, mut shared) = (0, 0, 0);
    for word in a.split_whitespace() {
        *counts.entry(word).or_default() += 1;
        here += 1;
    }
    for word in b.split_whitespace() {
        there += 1;
        if let Some(left) = counts.get_mut(word).filter(|left| **left > 0) {
            *left -= 1;
            shared += 1;
        }
    }
    shared > 0 && shared * 2 >= here.max(there)
}

/// Runs of base that one side replaced.
#[derive(PartialEq, Eq)]
struct Edit<'a> {
    at: std::ops::Range<usize>,
    text: Vec<&'a str>,
}

fn edits<'a>(hunks: Vec<Hunk>, side: &[&'a str]) -> Vec<Edit<'a>> {
    hunks.into_iter().map(|hunk| Edit { at: hunk.base, text: side[hunk.side].to_vec() }).collect()
}

fn hunks(base: &[u32], side: &[u32], effort: &Effort) -> Option<Vec<Hunk>> {
    let (_, old, new) = weave::trimmed(base, side);
    effort.spend(300 * (old.len() + new.len())).then(|| weave::hunks(base, side))
}

/// Two edits, in order, are apart if a word that both keep stands between them.
fn apart(base: &[&str], one: &Edit<'_>, next: &Edit<'_>) -> bool {
    one.at.end < next.at.start
        && base[one.at.end..next.at.start].iter().any(|run| !run.starts_with(char::is_whitespace))
}

/// Words and the white space between them, in turn.
fn runs(text: &str) -> Vec<&str> {
    let mut runs = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let space = first.is_whitespace();
        let end = rest.find(|c: char| c.is_whitespace() != space).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        runs.push(run);
        rest = after;
    }
    runs
}

fn numbers(sides: [&[&str]; 3]) -> [Vec<u32>; 3] {
    let mut ids = Ids::default();
    sides.map(|side| side.iter().map(|run| ids.of(run)).collect())
}

/// Words and the gaps around them: `gaps[i]` is before word i, the last one after all.
struct Laid<'a> {
    words: Vec<&'a str>,
    gaps: Vec<&'a str>,
}

impl<'a> Laid<'a> {
    fn of(text: &'a str) -> Laid<'a> {
        let mut laid = Laid { words: Vec::new(), gaps: Vec::new() };
        for run in runs(text) {
            if run.starts_with(char::is_whitespace) {
                laid.gaps.push(run);
            } else {
                if laid.gaps.len() == laid.words.len() {
                    laid.gaps.push("");
                }
                laid.words.push(run);
            }
        }
        if laid.gaps.len() == laid.words.len() {
            laid.gaps.push("");
        }
        laid
    }

    /// This layout, of the words of `old`, with the words of `other`. `None` if `other` changed white space too.
    fn with(&self, other: &Laid<'a>, old: &Laid<'a>, effort: &Effort) -> Option<String> {
        let [mine, theirs, _] = numbers([&self.words, &other.words, &[]]);
        let mut text = String::new();
        let mut at = 0;
        let hunks = hunks(&mine, &theirs, effort)?;
        if !old.spaced_as(other, &hunks) {
            return None;
        }
        for Hunk { base, side } in hunks {
            for word in at..base.start {
                text.extend([self.gaps[word], self.words[word]]);
            }
            let words = side.clone().flat_map(|word| {
                let gap = if word == side.start { "" } else { other.gaps[word] };
                [gap, other.words[word]]
            });
            at = base.end;
            if side.is_empty() {
                // The words are gone, and one of the two gaps around them: the one that breaks the line stays.
                let (before, after) = (self.gaps[base.start], self.gaps[base.end]);
                let first = base.end < self.words.len() && (base.start == 0 || before.contains('\n'));
                text.push_str(if first { before } else { after });
                if let Some(word) = self.words.get(at) {
                    text.push_str(word);
                    at += 1;
                } else {
                    return Some(text);
                }
            } else if !base.is_empty() {
                text.push_str(self.gaps[base.start]);
                text.extend(words);
            } else if base.start == 0 {
                text.push_str(self.gaps[0]);
                text.extend(words);
                text.push_str(other.gaps[side.end]);
                if let Some(word) = self.words.first() {
                    text.push_str(word);
                    at = 1;
                }
            } else {
                text.push_str(other.gaps[side.start]);
                text.extend(words);
            }
        }
        for word in at..self.words.len() {
            text.extend([self.gaps[word], self.words[word]]);
        }
        text.push_str(self.gaps[self.words.len()]);
        Some(text)
    }

    /// Whether the gaps between words that were kept are the same, whatever the line endings.
    fn spaced_as(&self, other: &Laid<'_>, hunks: &[Hunk]) -> bool {
        let plain = |gap: &str| gap.replace('\r', "");
        let mut from = (0, 0);
        let end = Hunk { base: self.words.len()..usize::MAX, side: other.words.len()..usize::MAX };
        hunks.iter().chain([&end]).all(|hunk| {
            let kept = (from.0 + 1..hunk.base.start).zip(from.1 + 1..hunk.side.start);
            from = (hunk.base.end, hunk.side.end);
            kept.into_iter().all(|(old, new)| {
                let (old, new) = (self.gaps[old], other.gaps[new]);
                old == new || plain(old) == plain(new)
            })
        })
    }
}
