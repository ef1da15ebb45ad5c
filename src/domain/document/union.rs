//! Two insertions at one place.

use crate::domain::document::three::Line;
use crate::domain::document::weave;
use crate::domain::document::weave::Hunk;
use std::collections::HashMap;
use std::ops::Range;

/// Whose lines come next. What both put in is named by its place in the person's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Run {
    Person(Range<usize>),
    Agent(Range<usize>),
}

/// All lines of both: the agent's before the person's, and what both put in once, between what each has before and
/// behind it. A fenced block is one thing. Blank lines and rules are no landmarks: they do not tear an answer apart.
pub fn union(person: &[Line<'_>], agent: &[Line<'_>], ids: [&[u32]; 2]) -> Vec<Run> {
    let (mine, theirs) = (units(person), units(agent));
    let [left, right] = landmarks([&theirs, &mine], [agent, person], [ids[1], ids[0]]);
    let mut hunks = weave::hunks(&left, &right);
    hunks.push(Hunk { base: left.len()..left.len(), side: right.len()..right.len() });
    let mut runs = Vec::new();
    let (mut from, mut next) = ([0, 0], [0, 0]);
    for hunk in hunks {
        for (theirs, mine) in theirs[next[0]..hunk.base.start].iter().zip(&mine[next[1]..hunk.side.start]) {
            gap(&mut runs, [from[0]..mine.start, from[1]..theirs.start], [person, agent], ids);
            runs.push(Run::Person(mine.clone()));
            from = [mine.end, theirs.end];
        }
        next = [hunk.base.end, hunk.side.end];
    }
    gap(&mut runs, [from[0]..person.len(), from[1]..agent.len()], [person, agent], ids);
    runs.retain(|run| !matches!(run, Run::Person(range) | Run::Agent(range) if range.is_empty()));
    runs
}

/// Between two landmarks: if one side only has blank lines there, those that both have are not doubled.
fn gap(runs: &mut Vec<Run>, at: [Range<usize>; 2], sides: [&[Line<'_>]; 2], ids: [&[u32]; 2]) {
    let [mut mine, mut theirs] = at;
    let plain = |range: &Range<usize>, side: &[Line<'_>]| !side[range.clone()].iter().any(telling);
    let mut tail = mine.end..mine.end;
    if plain(&mine, sides[0]) || plain(&theirs, sides[1]) {
        let start = mine.start;
        while !mine.is_empty() && !theirs.is_empty() && ids[0][mine.start] == ids[1][theirs.start] {
            (mine.start, theirs.start) = (mine.start + 1, theirs.start + 1);
        }
        runs.push(Run::Person(start..mine.start));
        while !mine.is_empty() && !theirs.is_empty() && ids[0][mine.end - 1] == ids[1][theirs.end - 1] {
            (mine.end, theirs.end) = (mine.end - 1, theirs.end - 1);
        }
        tail.start = mine.end;
    }
    runs.extend([Run::Agent(theirs), Run::Person(mine), Run::Person(tail)]);
}

/// A line that is not everywhere: a blank one or a fence is no landmark.
pub fn telling(line: &Line<'_>) -> bool {
    line.text.chars().any(char::is_alphanumeric)
}

/// Whether the last `len` lines of `before` and the first of `next`, which are the same, are blocks as a whole, and tell
/// something or are blank.
pub fn whole(before: &[Line<'_>], next: &[Line<'_>], len: usize) -> bool {
    let (start, lines) = (before.len() - len, &next[..len]);
    let tells = lines.iter().any(telling) || lines.iter().all(|line| line.text.trim().is_empty());
    tells
        && units(before).iter().any(|unit| unit.start == start)
        && units(next).iter().any(|unit| unit.end == len)
}

/// Lines, and fenced blocks as a whole.
fn units(lines: &[Line<'_>]) -> Vec<Range<usize>> {
    let mut units = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let mut end = at + 1;
        if let Some((mark, len)) = fence(&lines[at].text) {
            let closes = |line: &Line<'_>| {
                let line = line.text.trim();
                line.len() >= len && line.chars().all(|c| c == mark)
            };
            let inside = lines[end..].iter().position(closes);
            end = inside.map_or(lines.len(), |inside| end + inside + 1);
        }
        units.push(at..end);
        at = end;
    }
    units
}

fn fence(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let len = line.chars().take_while(|c| *c == mark).count();
    (len >= 3).then_some((mark, len))
}

/// A number for each unit; those that are no landmark are equal to nothing.
fn landmarks(units: [&[Range<usize>]; 2], sides: [&[Line<'_>]; 2], ids: [&[u32]; 2]) -> [Vec<u32>; 2] {
    let mut known: HashMap<&[u32], u32> = HashMap::new();
    let mut next = 0;
    [0, 1].map(|n| {
        let (units, lines, ids) = (units[n], sides[n], ids[n]);
        let number = |unit: &Range<usize>| {
            next += 1;
            if lines[unit.clone()].iter().any(telling) {
                *known.entry(&ids[unit.clone()]).or_insert(next)
            } else {
                next
            }
        };
        units.iter().map(number).collect()
    })
}
