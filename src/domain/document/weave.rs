//! Two sides of one sequence: what each changed, and where their changes meet.

use similar::Algorithm;
use similar::DiffOp;
use similar::capture_diff_slices;
use std::cell::Cell;
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

/// What is left for the comparison of lines and words that differ. Counted and not timed: the same texts always give
/// the same result.
pub struct Effort(Cell<usize>);

impl Effort {
    /// Well below a second.
    pub fn full() -> Effort {
        Effort(Cell::new(30_000_000))
    }

    pub fn renew(&self) {
        self.0.set(Effort::full().0.get());
    }

    /// False if there is not enough left.
    pub fn spend(&self, cost: usize) -> bool {
        let left = self.0.get().checked_sub(cost);
        self.0.set(left.unwrap_or(self.0.get()));
        left.is_some()
    }
}

/// A run of the base and what one side has instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    pub base: Range<usize>,
    pub side: Range<usize>,
}

/// More than this on both sides, and equal blocks are looked for first: of many short lines in disorder the smallest
/// difference takes too long to find.
const MANY: usize = 30_000;
/// A changed run between equal blocks is looked into if it is not longer.
const RUN: usize = 400;

/// What leads from `base` to `side`: in order, never two that touch.
pub fn hunks(base: &[u32], side: &[u32]) -> Vec<Hunk> {
    let (head, old, new) = trimmed(base, side);
    if old.len() + new.len() <= MANY { differ(base, side) } else { by_blocks(old, new, head) }
}

/// Without what they begin and end with alike; and how much that was at the beginning.
pub fn trimmed<'a>(base: &'a [u32], side: &'a [u32]) -> (usize, &'a [u32], &'a [u32]) {
    let head = base.iter().zip(side).take_while(|(a, b)| a == b).count();
    let (old, new) = (&base[head..], &side[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    (head, &old[..old.len() - tail], &new[..new.len() - tail])
}

/// What both changed of the base between two lines that both kept: where that is in each of the three, and by which of
/// the hunks of each side.
pub struct Both {
    pub at: [Range<usize>; 3],
    pub hunks: [Range<usize>; 2],
}

/// All of them. `starts` is where the three begin that the hunks are of.
pub fn both(starts: [usize; 3], hunks: [&[Hunk]; 2]) -> Vec<Both> {
    let mut all = Vec::new();
    let (mut at, mut next) = (starts, [0, 0]);
    loop {
        let starts = [0, 1].map(|side| hunks[side].get(next[side]).map(|hunk| hunk.base.start));
        let Some(start) = starts.into_iter().flatten().min() else { return all };
        let kept = start - at[0];
        let (from, first, mut end) = (at.map(|at| at + kept), next, start);
        let meets = |next: &[usize; 2], end, side: &usize| {
            hunks[*side].get(next[*side]).is_some_and(|hunk| hunk.base.start <= end)
        };
        while let Some(side) = (0..2).find(|side| meets(&next, end, side)) {
            end = end.max(hunks[side][next[side]].base.end);
            next[side] += 1;
        }
        let [mine, theirs] = [0, 1].map(|side| match hunks[side][first[side]..next[side]].last() {
            Some(last) => last.side.end + (end - last.base.end),
            None => from[side + 1] + (end - start),
        });
        at = [end, mine, theirs];
        let hunks = [0, 1].map(|side| first[side]..next[side]);
        if !hunks.iter().any(Range::is_empty) {
            all.push(Both { at: [0, 1, 2].map(|n| from[n]..at[n]), hunks });
        }
    }
}

/// The hunks of the second side, told as those of the first wherever it did the same: of several ways to tell one change
/// the comparison finds any, and what is told in two ways would be done twice.
pub fn alike(all: &[Both], ids: [&[u32]; 2], mine: &[Hunk], theirs: Vec<Hunk>) -> Vec<Hunk> {
    let mut told = theirs;
    for Both { at: [_, one, other], hunks } in all.iter().rev() {
        if ids[0][one.clone()] == ids[1][other.clone()] {
            let moved = |at: usize| at - one.start + other.start;
            let again = mine[hunks[0].clone()].iter();
            let again = again.map(|Hunk { base, side }| Hunk {
                base: base.clone(),
                side: moved(side.start)..moved(side.end),
            });
            told.splice(hunks[1].clone(), again);
        }
    }
    told
}

fn differ(base: &[u32], side: &[u32]) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for op in capture_diff_slices(Algorithm::Myers, base, side) {
        if !matches!(op, DiffOp::Equal { .. }) {
            push(&mut hunks, op.old_range(), op.new_range());
        }
    }
    hunks
}

fn push(hunks: &mut Vec<Hunk>, base: Range<usize>, side: Range<usize>) {
    match hunks.last_mut() {
        Some(last) if last.base.end == base.start && last.side.end == side.start => {
            last.base.end = base.end;
            last.side.end = side.end;
        }
        _ => hunks.push(Hunk { base, side }),
    }
}

/// Both in blocks that end where their content says so; then the changed blocks by what is in them.
fn by_blocks(base: &[u32], side: &[u32], offset: usize) -> Vec<Hunk> {
    let (old, new) = (blocks(base), blocks(side));
    let mut known: HashMap<&[u32], u32> = HashMap::new();
    let [left, right] = [(base, &old), (side, &new)].map(|(ids, blocks)| {
        let number = |block: &Range<usize>| {
            let next = known.len() as u32;
            *known.entry(&ids[block.clone()]).or_insert(next)
        };
        blocks.iter().map(number).collect::<Vec<_>>()
    });
    let span = |blocks: &[Range<usize>], run: Range<usize>, len: usize| {
        let start = |at: usize| blocks.get(at).map_or(len, |block| block.start);
        start(run.start)..start(run.end)
    };
    let mut hunks = Vec::new();
    for hunk in differ(&left, &right) {
        let (base_run, side_run) = (span(&old, hunk.base, base.len()), span(&new, hunk.side, side.len()));
        let inner = if base_run.len() + side_run.len() > RUN {
            let (head, old, new) = trimmed(&base[base_run.clone()], &side[side_run.clone()]);
            vec![Hunk { base: head..head + old.len(), side: head..head + new.len() }]
        } else {
            differ(&base[base_run.clone()], &side[side_run.clone()])
        };
        let shift = |run: Range<usize>, by: usize| run.start + by + offset..run.end + by + offset;
        for Hunk { base, side } in inner {
            push(&mut hunks, shift(base, base_run.start), shift(side, side_run.start));
        }
    }
    hunks
}

/// Blocks of about sixteen; equal runs have equal blocks, wherever they stand.
fn blocks(ids: &[u32]) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let (mut start, mut last) = (0, 0_u64);
    for (at, id) in ids.iter().enumerate() {
        // Of the last four and no more.
        last = (last << 16) ^ (u64::from(*id) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        if last.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 60 == 0 || at + 1 - start == 256 || at + 1 == ids.len()
        {
            blocks.push(start..at + 1);
            start = at + 1;
        }
    }
    blocks
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
    fn many_lines_are_compared_in_blocks() {
        let base: Vec<u32> = (0..40_000).map(|n| n * n % 1009).collect();
        let mut side = base.clone();
        side[700] = 5000;
        side.splice(20_000..20_000, [5001, 5002]);
        side.drain(30_000..30_400);
        let hunks = hunks(&base, &side);
        let lens: Vec<_> = hunks.iter().map(|hunk| (hunk.base.len(), hunk.side.len())).collect();
        assert_eq!(lens, [(1, 1), (0, 2), (400, 0)]);
        assert_eq!(hunks[0], Hunk { base: 700..701, side: 700..701 });
        let mut again = base.clone();
        for hunk in hunks.iter().rev() {
            again.splice(hunk.base.clone(), side[hunk.side.clone()].to_vec());
        }
        assert_eq!(again, side);
        let other: Vec<u32> = (0..40_000).map(|n| 2000 + n).collect();
        assert_eq!(super::hunks(&base, &other), [Hunk { base: 0..40_000, side: 0..40_000 }]);
    }

    #[test]
    fn one_change_is_told_in_one_way() {
        // Behind what only the second side put in, both move the last of three to the front.
        let (mine, theirs) = ([9, 3, 1, 2, 8], [7, 9, 3, 1, 2, 8]);
        let moved = [Hunk { base: 1..1, side: 1..2 }, Hunk { base: 3..4, side: 4..4 }];
        let first = Hunk { base: 0..0, side: 0..1 };
        let other = vec![first.clone(), Hunk { base: 1..3, side: 2..2 }, Hunk { base: 4..4, side: 3..5 }];
        let again =
            |theirs: &[u32]| alike(&both([0; 3], [&moved, &other]), [&mine, theirs], &moved, other.clone());
        assert_eq!(again(&theirs), [first, Hunk { base: 1..1, side: 2..3 }, Hunk { base: 3..4, side: 5..5 }]);
        // Where they did not do the same, each stays as it was told.
        assert_eq!(again(&[7, 9, 3, 1, 5, 8]), other);
    }

    #[test]
    fn a_window_takes_what_touches_it() {
        let want = [part(Kept, "a", "a", "a"), part(Window, "bcd", "dbc", "bcD"), part(Kept, "e", "e", "e")];
        assert_eq!(meetings("abcde", "adbce", "abcDe", &[1..4]), want);
    }
}
