//! Two sides of one sequence: what each changed, and where their changes meet.

use similar::Algorithm;
use similar::DiffOp;
use similar::capture_diff_slices;
use std::collections::HashMap;
use std::ops::Range;

/// Equal texts have equal numbers.
#[derive(Default)]
pub struct Ids<'a>(HashMap<&'a str, u32>);

impl<'a> Ids<'a> {
    pub fn of(&mut self, text: &'a str) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry(text).or_insert(next)
    }
}

/// A run of the base and what one side has instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    pub base: Range<usize>,
    pub side: Range<usize>,
}

/// What leads from `base` to `side`: in order, never two that touch.
pub fn hunks(base: &[u32], side: &[u32]) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for op in capture_diff_slices(Algorithm::Myers, base, side) {
        if let DiffOp::Equal { .. } = op {
            continue;
        }
        let (base, side) = (op.old_range(), op.new_range());
        match hunks.last_mut() {
            Some(last) if last.base.end == base.start && last.side.end == side.start => {
                last.base.end = base.end;
                last.side.end = side.end;
            }
            _ => hunks.push(Hunk { base, side }),
        }
    }
    hunks
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meeting {
    /// Nobody changed it.
    Kept,
    Person,
    Agent,
    /// Both changed the same lines, or put lines in at the same place.
    Contested,
    /// Was asked for as one piece.
    Window,
}

/// A stretch of all three, and the hunks of each side in it (by number).
#[derive(Debug, Clone)]
pub struct Part {
    pub meeting: Meeting,
    pub base: Range<usize>,
    pub person: Range<usize>,
    pub agent: Range<usize>,
    pub hunks: [Range<usize>; 2],
}

/// The stretch of the three in question cut into parts. Hunks that only touch at their borders stay apart; an
/// insertion comes before a change of the line behind it. `windows` are runs of the base that become one part
/// with all that meets them.
pub fn parts(
    whole: [Range<usize>; 3],
    person: &[Hunk],
    agent: &[Hunk],
    windows: &[Range<usize>],
) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut at = [whole[0].start, whole[1].start, whole[2].start];
    let mut next = [0; 3];
    let range = |lane: usize, number: usize| match lane {
        0 => person.get(number).map(|hunk| hunk.base.clone()),
        1 => agent.get(number).map(|hunk| hunk.base.clone()),
        _ => windows.get(number).cloned(),
    };
    loop {
        let first = (0..3)
            .filter_map(|lane| range(lane, next[lane]).map(|range| (lane, range)))
            .min_by_key(|(lane, range)| (range.start, *lane != 2, !range.is_empty(), *lane));
        let Some((_, mut span)) = first else { break };
        let from = next;
        while let Some((lane, more)) = (0..3).find_map(|lane| {
            let more = range(lane, next[lane])?;
            meets(&span, &more, next[2] > from[2], next == from).then_some((lane, more))
        }) {
            span = span.start.min(more.start)..span.end.max(more.end);
            next[lane] += 1;
        }
        let grown = |hunks: &[Hunk]| -> (usize, usize) {
            hunks.iter().fold((0, 0), |(new, old), hunk| (new + hunk.side.len(), old + hunk.base.len()))
        };
        let absorbed = [from[0]..next[0], from[1]..next[1]];
        let (mine, theirs) = (grown(&person[absorbed[0].clone()]), grown(&agent[absorbed[1].clone()]));
        let kept = span.start - at[0];
        push_kept(&mut parts, at, kept, &absorbed);
        at = at.map(|at| at + kept);
        let end = [at[1] + span.len() + mine.0 - mine.1, at[2] + span.len() + theirs.0 - theirs.1];
        let meeting = match (absorbed[0].is_empty(), absorbed[1].is_empty()) {
            _ if next[2] > from[2] => Meeting::Window,
            (false, false) => Meeting::Contested,
            (false, true) => Meeting::Person,
            (true, _) => Meeting::Agent,
        };
        let (base, person, agent) = (span.clone(), at[1]..end[0], at[2]..end[1]);
        parts.push(Part { meeting, base, person, agent, hunks: absorbed });
        at = [span.end, end[0], end[1]];
    }
    let none = [next[0]..next[0], next[1]..next[1]];
    push_kept(&mut parts, at, whole[0].end - at[0], &none);
    parts
}

fn push_kept(parts: &mut Vec<Part>, at: [usize; 3], count: usize, hunks: &[Range<usize>; 2]) {
    if count > 0 {
        let [base, person, agent] = at.map(|at| at..at + count);
        let hunks = [hunks[0].start..hunks[0].start, hunks[1].start..hunks[1].start];
        parts.push(Part { meeting: Meeting::Kept, base, person, agent, hunks });
    }
}

/// Whether `more`, which does not begin before `span`, belongs to it.
fn meets(span: &Range<usize>, more: &Range<usize>, window: bool, first: bool) -> bool {
    if first || span.is_empty() {
        return more == span;
    }
    more.start < span.end || window && more.is_empty() && more.start == span.end
}

#[cfg(test)]
mod tests {
    #![expect(clippy::single_range_in_vec_init, reason = "one window is a list of one")]

    use super::*;
    use Meeting::*;

    fn meetings(
        base: &str,
        person: &str,
        agent: &str,
        windows: &[Range<usize>],
    ) -> Vec<(Meeting, [String; 3])> {
        let ids = |text: &str| -> Vec<u32> { text.bytes().map(u32::from).collect() };
        let (mine, theirs) = (hunks(&ids(base), &ids(person)), hunks(&ids(base), &ids(agent)));
        let whole = [0..base.len(), 0..person.len(), 0..agent.len()];
        parts(whole, &mine, &theirs, windows)
            .into_iter()
            .map(|part| {
                let texts = [&base[part.base], &person[part.person], &agent[part.agent]];
                (part.meeting, texts.map(str::to_owned))
            })
            .collect()
    }

    fn part(meeting: Meeting, base: &str, person: &str, agent: &str) -> (Meeting, [String; 3]) {
        (meeting, [base, person, agent].map(str::to_owned))
    }

    #[test]
    fn what_only_touches_is_apart() {
        let want = [
            part(Kept, "a", "a", "a"),
            part(Person, "b", "X", "b"),
            part(Agent, "", "", "Y"),
            part(Kept, "c", "c", "c"),
        ];
        assert_eq!(meetings("abc", "aXc", "abYc", &[]), want);
        let want = [part(Agent, "", "", "Y"), part(Person, "a", "X", "a"), part(Agent, "b", "b", "Z")];
        assert_eq!(meetings("ab", "Xb", "YaZ", &[]), want);
    }

    #[test]
    fn what_overlaps_is_contested() {
        let want =
            [part(Kept, "a", "a", "a"), part(Contested, "bcd", "XYd", "bUV"), part(Kept, "e", "e", "e")];
        assert_eq!(meetings("abcde", "aXYde", "abUVe", &[]), want);
        assert_eq!(meetings("ab", "aXb", "YZ", &[]), [part(Contested, "ab", "aXb", "YZ")]);
        let want = [part(Kept, "a", "a", "a"), part(Contested, "", "X", "Y"), part(Kept, "b", "b", "b")];
        assert_eq!(meetings("ab", "aXb", "aYb", &[]), want);
    }

    #[test]
    fn a_window_takes_what_touches_it() {
        let want = [part(Kept, "a", "a", "a"), part(Window, "bcd", "dbc", "bcD"), part(Kept, "e", "e", "e")];
        assert_eq!(meetings("abcde", "adbce", "abcDe", &[1..4]), want);
    }
}
