//! Where both sides hold the same change, and each more of its own beside it, a line may come out twice. Then the merge is
//! made anew from a base that has what both did.

use crate::domain::document::merge::Merged;
use crate::domain::document::three::Line;
use crate::domain::document::three::Side;
use crate::domain::document::three::Three;
use crate::domain::document::three::split;
use crate::domain::document::union::telling;
use crate::domain::document::weave;
use crate::domain::document::weave::Both;
use crate::domain::document::weave::Hunk;
use std::collections::HashMap;
use std::collections::HashSet;

impl Three<'_> {
    /// The lines that one of them put in there, and that the other has there, too.
    pub fn doubts(&self, both: &Both, hunks: [&[Hunk]; 2]) -> Vec<u32> {
        let [one, other] = [&self.person.ids[both.at[1].clone()], &self.agent.ids[both.at[2].clone()]];
        if one == other {
            return Vec::new();
        }
        let hunks = [0, 1].map(|n| &hunks[n][both.hunks[n].clone()]);
        let there = |ids: &[u32]| ids.iter().copied().collect::<HashSet<u32>>();
        [put_in(&self.person, hunks[0], &there(other)), put_in(&self.agent, hunks[1], &there(one))].concat()
    }

    /// The lines that both put in, and that the base has nowhere: however far apart, they may be of one change that was
    /// found at two places.
    pub fn new_in_both(&self, hunks: [&[Hunk]; 2]) -> Vec<u32> {
        let lines = hunks[0].iter().flat_map(|hunk| hunk.side.clone());
        let mut mine: HashSet<u32> = lines.map(|at| self.person.ids[at]).collect();
        if !mine.is_empty() {
            self.base.ids.iter().for_each(|id| _ = mine.remove(id));
        }
        put_in(&self.agent, hunks[1], &mine)
    }

    /// How many more of these lines the text has than any of the three.
    pub fn too_many(&self, doubts: &[u32], text: &str) -> usize {
        if doubts.is_empty() {
            return 0;
        }
        let mut most: HashMap<u32, usize> = doubts.iter().map(|id| (*id, 0)).collect();
        let mut texts: HashMap<&str, u32> = HashMap::new();
        for side in [&self.base, &self.person, &self.agent] {
            let mut here: HashMap<u32, usize> = HashMap::new();
            for (line, id) in side.lines.iter().zip(&side.ids).filter(|(_, id)| most.contains_key(id)) {
                *here.entry(*id).or_default() += 1;
                texts.insert(&line.text, *id);
            }
            here.into_iter().for_each(|(id, count)| {
                most.entry(id).and_modify(|most| *most = count.max(*most));
            });
        }
        let mut found: HashMap<u32, usize> = HashMap::new();
        split(text)
            .filter_map(|line| texts.get(&*line.text))
            .for_each(|id| *found.entry(*id).or_default() += 1);
        found.iter().map(|(id, count)| count.saturating_sub(most[id])).sum()
    }

    /// Whether every line is there that the person put in; and those of the agent, if not beside the text.
    pub fn has_all(&self, merged: &Merged) -> bool {
        let text = |line: &Line<'_>| line.text.clone().into_owned();
        let counted = |lines: &mut dyn Iterator<Item = String>| {
            let mut counts: HashMap<String, usize> = HashMap::new();
            lines.for_each(|line| *counts.entry(line).or_default() += 1);
            counts
        };
        let of = |side: &Side<'_>| counted(&mut side.lines.iter().filter(|line| telling(line)).map(text));
        let (old, mine, theirs) = (of(&self.base), of(&self.person), of(&self.agent));
        let now = counted(&mut split(&merged.text).map(|line| text(&line)));
        let has = |lines: &HashMap<String, usize>, line: &str| lines.get(line).copied().unwrap_or(0);
        let there = |line: &str, count: usize| has(&now, line) + has(&old, line) >= count;
        let beside = |line: &str| merged.clashes.iter().any(|clash| clash.agent.contains(line));
        mine.iter().all(|(line, count)| there(line, *count))
            && theirs.iter().all(|(line, count)| there(line, *count) || beside(line))
    }

    /// The base with what both put in, without what both took out; each line of it once, where the person has it, or
    /// else the agent.
    pub fn with_what_both_did(&self) -> String {
        let kept = |side: &Side<'_>| -> Vec<Option<usize>> {
            let mut from = vec![None; side.ids.len()];
            let hunks = weave::hunks(&self.base.ids, &side.ids);
            let end = Hunk { base: self.base.ids.len()..0, side: side.ids.len()..0 };
            let mut at = (0, 0);
            for Hunk { base, side } in hunks.iter().chain([&end]) {
                (at.0..base.start).zip(at.1..side.start).for_each(|(old, new)| from[new] = Some(old));
                at = (base.end, side.end);
            }
            from
        };
        let (mine, theirs) = (kept(&self.person), kept(&self.agent));
        let mut hunks = weave::hunks(&self.person.ids, &self.agent.ids);
        let end = (self.person.ids.len(), self.agent.ids.len());
        hunks.push(Hunk { base: end.0..end.0, side: end.1..end.1 });
        let mut used: HashSet<usize> = HashSet::new();
        let mut at = (0, 0);
        for hunk in &hunks {
            let same = (at.0..hunk.base.start).zip(at.1..hunk.side.start);
            used.extend(same.filter_map(|(one, other)| mine[one].or(theirs[other])));
            at = (hunk.base.end, hunk.side.end);
        }
        let (mut text, mut at) = (String::new(), (0, 0));
        let mut put = |line: &Line<'_>| text.extend([&*line.text, line.end]);
        for Hunk { base, side } in hunks {
            self.person.lines[at.0..base.start].iter().for_each(&mut put);
            let old = base.clone().filter_map(|at| mine[at]).chain(side.clone().filter_map(|at| theirs[at]));
            let mut old: Vec<usize> = old.filter(|line| used.insert(*line)).collect();
            old.sort_unstable();
            old.iter().for_each(|line| put(&self.base.lines[*line]));
            at = (base.end, side.end);
        }
        text
    }
}

/// The lines of one side's hunks that are among `these`.
fn put_in(side: &Side<'_>, hunks: &[Hunk], these: &HashSet<u32>) -> Vec<u32> {
    let lines = hunks.iter().flat_map(|hunk| hunk.side.clone());
    let lines = lines.filter(|at| these.contains(&side.ids[*at]) && telling(&side.lines[*at]));
    lines.map(|at| side.ids[at]).collect()
}
