//! Front matter and lists, merged by the names of their entries.

use crate::domain::document::items::Item;
use crate::domain::document::items::in_list;
use crate::domain::document::items::pick;
use crate::domain::document::keyed::Names;
use crate::domain::document::keyed::join;
use crate::domain::document::three::Line;
use crate::domain::document::three::Out;
use crate::domain::document::three::Side;
use crate::domain::document::three::Stretch;
use crate::domain::document::three::Three;
use crate::domain::document::three::ended;
use crate::domain::document::words;
use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::HashSet;
use std::ops::Range;

/// The lines of the entries of one side.
type Spans = Vec<Range<usize>>;

impl<'a> Three<'a> {
    /// Merges the front matter, if all three have one; returns the stretch behind it.
    pub fn front(&self, out: &mut Out<'a>) -> Stretch {
        let mut rest = self.whole();
        let ends = [&self.base, &self.person, &self.agent].map(fenced);
        let [Some(base), Some(person), Some(agent)] = ends else { return rest };
        let head = Stretch { base: 1..base, person: 1..person, agent: 1..agent };
        out.kept(self, Stretch { base: 0..1, person: 0..1, agent: 0..1 });
        self.keys(&head, out);
        out.person(&self.person.lines[person..person + 1]);
        rest.base.start = base + 1;
        rest.person.start = person + 1;
        rest.agent.start = agent + 1;
        rest
    }

    fn keys(&self, at: &Stretch, out: &mut Out<'a>) {
        let spans = [(&self.base, &at.base), (&self.person, &at.person), (&self.agent, &at.agent)]
            .map(|(side, range)| cut(range, |line| starts(side, line..range.end)));
        let mut names = Names::default();
        let ids = [(&self.base, &spans[0]), (&self.person, &spans[1]), (&self.agent, &spans[2])]
            .map(|(side, spans)| names.of(spans.iter().map(|span| key(side.text(span.start)))));
        self.joined([&ids[0], &ids[1], &ids[2]], &spans, false, |_| None, out);
    }

    /// Merges lists by items. False, and nothing done, if they are more than lists.
    pub fn listed(&self, at: &Stretch, out: &mut Out<'a>) -> bool {
        let sides = [(&self.base, &at.base), (&self.person, &at.person), (&self.agent, &at.agent)];
        let item = |side: &Side<'_>, line: usize| Item::of(side.text(line)).is_some();
        let list = |side: &Side<'_>, range: &Range<usize>| {
            range.clone().all(|line| in_list(side.text(line)))
                && (range.is_empty() || item(side, range.start))
        };
        if !sides.iter().all(|(side, range)| list(side, range)) {
            return false;
        }
        let spans = sides.map(|(side, range)| cut(range, |line| item(side, line)));
        let text = |side: &'_ Side<'a>, span: &Range<usize>| -> String {
            Item::of(side.text(span.start)).map_or("", |item| item.text).to_owned()
        };
        let texts: [Vec<String>; 3] = [0, 1, 2].map(|n| {
            let (side, _) = sides[n];
            spans[n].iter().map(|span| text(side, span)).collect()
        });
        let mut names = Names::default();
        let [base, person, agent] = [0, 1, 2].map(|n| names.of(texts[n].iter().map(String::as_str)));
        let person = self.renamed([&base, &person], [&texts[0], &texts[1]]);
        let agent = self.renamed([&base, &agent], [&texts[0], &texts[2]]);
        // What both replaced by something else is no matter of different items.
        let [old, mine, theirs] = [&base, &person, &agent].map(|ids| ids.iter().collect::<HashSet<_>>());
        let replaced = |id: &&u32| !mine.contains(id) && !theirs.contains(id);
        if !mine.is_subset(&old) && !theirs.is_subset(&old) && old.iter().any(replaced) {
            return false;
        }
        self.joined([&base, &person, &agent], &spans, true, |at| self.item(at), out);
        true
    }

    /// The numbers of a side's items; one that stands where an old one is gone and is like it has its number.
    fn renamed(&self, [base, side]: [&[u32]; 2], [old, new]: [&[String]; 2]) -> Vec<u32> {
        let places: HashMap<u32, usize> = base.iter().enumerate().map(|(at, id)| (*id, at)).collect();
        let mut taken: HashSet<u32> = side.iter().copied().collect();
        let mut ids = side.to_vec();
        // Where the next item stands that is also in the base.
        let mut next = vec![base.len(); side.len() + 1];
        for at in (0..side.len()).rev() {
            next[at] = places.get(&side[at]).copied().unwrap_or(next[at + 1]);
        }
        let mut from = 0;
        for at in 0..side.len() {
            if let Some(place) = places.get(&side[at]) {
                from = place + 1;
                continue;
            }
            for place in from..next[at + 1].max(from) {
                if !self.effort.spend(10) {
                    return ids;
                }
                if !taken.contains(&base[place]) && words::related(&old[place], &new[at], &self.effort) {
                    taken.insert(base[place]);
                    ids[at] = base[place];
                    from = place + 1;
                    break;
                }
            }
        }
        ids
    }

    /// One item that both changed: its line, and what is indented below as one value.
    fn item(&self, at: &Stretch) -> Option<Vec<Line<'a>>> {
        if at.base.is_empty() {
            return None;
        }
        let (base, person, agent) = (
            &self.base.lines[at.base.start],
            &self.person.lines[at.person.start],
            &self.agent.lines[at.agent.start],
        );
        let text = match [base, person, agent].map(|line| Item::of(&line.text)) {
            [Some(base), Some(person), Some(agent)] => Item::merged(base, person, agent, &self.effort)?,
            _ => return None,
        };
        let below = |range: &Range<usize>| range.start + 1..range.end;
        let bodies = (&self.person.ids[below(&at.person)], &self.agent.ids[below(&at.agent)]);
        let body = pick(&self.base.ids[below(&at.base)], bodies.0, bodies.1)?;
        let from = if body == bodies.0 {
            &self.person.lines[below(&at.person)]
        } else {
            &self.agent.lines[below(&at.agent)]
        };
        let mut lines = vec![Line { text: Cow::Owned(text), end: ended(base.end, person.end, agent.end) }];
        lines.extend_from_slice(from);
        Some(lines)
    }

    /// Puts the entries together. `value` merges one that both changed, not alike.
    fn joined(
        &self,
        ids: [&[u32]; 3],
        spans: &[Spans; 3],
        either: bool,
        value: impl Fn(&Stretch) -> Option<Vec<Line<'a>>>,
        out: &mut Out<'a>,
    ) {
        for entry in join(ids[0], ids[1], ids[2], either) {
            let span = |side: usize, number: Option<usize>| number.map_or(0..0, |at| spans[side][at].clone());
            let at = Stretch {
                base: span(0, entry.base),
                person: span(1, entry.person),
                agent: span(2, entry.agent),
            };
            let base = &self.base.ids[at.base.clone()];
            let (mine, theirs) = (&self.person.ids[at.person.clone()], &self.agent.ids[at.agent.clone()]);
            // Gone on one side is a value as well: nothing.
            if mine == theirs && base == mine {
                out.kept(self, at);
            } else if mine == theirs || theirs == base {
                out.person(&self.person.lines[at.person]);
            } else if mine == base {
                out.agent(&self.agent.lines[at.agent]);
            } else if mine.is_empty() || theirs.is_empty() {
                out.clash(self, at);
            } else {
                match value(&at) {
                    Some(lines) => out.person(&lines),
                    None => out.clash(self, at),
                }
            }
        }
    }
}

/// Runs of lines, each from one where `starts` holds up to the next.
fn cut(range: &Range<usize>, starts: impl Fn(usize) -> bool) -> Spans {
    let mut spans: Spans = Vec::new();
    for line in range.clone() {
        match spans.last_mut() {
            Some(span) if !starts(line) => span.end = line + 1,
            _ => spans.push(line..line + 1),
        }
    }
    spans
}

/// The line that closes the front matter, if there is one.
fn fenced(side: &Side<'_>) -> Option<usize> {
    let first = side.lines.first()?.text.trim_start_matches('\u{feff}').trim_end();
    if first != "---" {
        return None;
    }
    (1..side.lines.len()).find(|at| matches!(side.text(*at).trim_end(), "---" | "..."))
}

/// Whether the first of these lines of front matter starts an entry. A blank one does, unless it is inside a value.
fn starts(side: &Side<'_>, lines: Range<usize>) -> bool {
    let told = lines.map(|line| side.text(line)).find(|line| !line.trim().is_empty());
    told.is_none_or(|line| !line.starts_with([' ', '\t', '-', '}', ']']))
}

/// The key of a line of front matter; a comment or a blank line is its own.
fn key(line: &str) -> &str {
    if line.starts_with('#') { line } else { line.split_once(':').map_or(line, |(key, _)| key) }
}
