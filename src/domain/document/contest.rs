//! Lines that both sides changed: one rule after the other, from what is sure to what is left to the person.

use crate::domain::document::items::Item;
use crate::domain::document::items::in_list;
use crate::domain::document::items::pick;
use crate::domain::document::three::Line;
use crate::domain::document::three::Out;
use crate::domain::document::three::Side;
use crate::domain::document::three::Stretch;
use crate::domain::document::three::Three;
use crate::domain::document::three::ended;
use crate::domain::document::three::split;
use crate::domain::document::union::Run;
use crate::domain::document::union::telling;
use crate::domain::document::union::union;
use crate::domain::document::union::whole;
use crate::domain::document::weave;
use crate::domain::document::weave::Hunk;
use crate::domain::document::weave::Meeting;
use crate::domain::document::words;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

/// How far ahead the new version of a line is looked for.
const AHEAD: usize = 8;
/// How many blank lines may lie between insertions that are looked at together.
const NEAR: usize = 3;

impl<'a> Three<'a> {
    /// The merge of the lines at `at`. If lines of a list clash, their whole list is merged by items.
    pub fn woven(&self, at: Stretch, out: &mut Out<'a>) {
        let hunks = |side: &Side<'_>, range: &Range<usize>| -> Vec<Hunk> {
            let shift = |r: Range<usize>, by: usize| r.start + by..r.end + by;
            weave::hunks(&self.base.ids[at.base.clone()], &side.ids[range.clone()])
                .into_iter()
                .map(|Hunk { base, side }| Hunk {
                    base: shift(base, at.base.start),
                    side: shift(side, range.start),
                })
                .collect()
        };
        let mine = hunks(&self.person, &at.person);
        let theirs = hunks(&self.agent, &at.agent);
        let both = weave::both([at.base.start, at.person.start, at.agent.start], [&mine, &theirs]);
        out.doubt(both.iter().flat_map(|both| self.doubts(both, [&mine, &theirs])));
        out.doubt(self.new_in_both([&mine, &theirs]));
        let theirs = weave::alike(&both, [&self.person.ids, &self.agent.ids], &mine, theirs);
        let [mine, theirs] = [&mine[..], &theirs[..]];
        let mark = out.mark();
        let mut clashed = Vec::new();
        let near = self.near(mine, theirs);
        self.weave(&at, [mine, theirs], &near, false, (out, &mut clashed));
        let lists = self.lists(&at.base, &clashed);
        if !lists.is_empty() {
            let lists = joined(lists, near);
            out.back_to(mark);
            self.effort.renew();
            self.weave(&at, [mine, theirs], &lists, false, (out, &mut clashed));
        }
    }

    /// `fine`: the hunks are cut as small as they get.
    fn weave(
        &self,
        at: &Stretch,
        hunks: [&[Hunk]; 2],
        windows: &[Range<usize>],
        fine: bool,
        (out, clashed): (&mut Out<'a>, &mut Vec<Range<usize>>),
    ) {
        let whole = [at.base.clone(), at.person.clone(), at.agent.clone()];
        let mut before: Option<weave::Part> = None;
        for part in weave::parts(whole, hunks[0], hunks[1], windows) {
            let here =
                Stretch { base: part.base.clone(), person: part.person.clone(), agent: part.agent.clone() };
            let inner = [&hunks[0][part.hunks[0].clone()], &hunks[1][part.hunks[1].clone()]];
            match part.meeting {
                Meeting::Kept => out.kept(self, here),
                Meeting::Person => {
                    let new = part.person.start + self.doubled(before.as_ref(), &part);
                    out.person(&self.person.lines[new..part.person.end]);
                }
                Meeting::Agent => {
                    let new = part.agent.start + self.doubled(before.as_ref(), &part);
                    out.agent(&self.agent.lines[new..part.agent.end]);
                }
                Meeting::Window if self.twice(&here, inner, out) || self.listed(&here, out) => {}
                Meeting::Window => self.weave(&here, inner, &[], false, (out, clashed)),
                Meeting::Contested if self.settled(&here, out) => {}
                Meeting::Contested if !fine => {
                    let fine = [self.cut(inner[0], &self.person), self.cut(inner[1], &self.agent)];
                    self.weave(&here, [&fine[0], &fine[1]], &[], true, (out, clashed));
                }
                Meeting::Contested if self.agreed(&here, out) => {}
                Meeting::Contested => {
                    clashed.push(here.base.clone());
                    out.clash(self, here);
                }
            }
            before = Some(part);
        }
    }

    /// Blank lines with an insertion of each side around them that hold a line in common: with equal lines about,
    /// what both put in at one place may be found at two.
    fn near(&self, person: &[Hunk], agent: &[Hunk]) -> Vec<Range<usize>> {
        let mut near: Vec<Range<usize>> = Vec::new();
        let mut from = 0;
        for mine in person.iter().filter(|hunk| hunk.base.is_empty()) {
            let at = mine.base.start;
            from += agent[from..].iter().take_while(|hunk| hunk.base.start + NEAR < at).count();
            let reach = agent[from..].iter().take_while(|hunk| hunk.base.start <= at + NEAR);
            for theirs in reach.filter(|hunk| hunk.base.is_empty() && hunk.base.start != at) {
                let span = at.min(theirs.base.start)..at.max(theirs.base.start);
                let blank = span.clone().all(|line| self.base.text(line).trim().is_empty());
                if blank && self.share(mine, theirs) {
                    near.push(span);
                }
            }
        }
        joined(near, Vec::new())
    }

    fn share(&self, mine: &Hunk, theirs: &Hunk) -> bool {
        let known: HashSet<&u32> = self.person.ids[mine.side.clone()].iter().collect();
        theirs.side.clone().any(|at| known.contains(&self.agent.ids[at]) && telling(&self.agent.lines[at]))
    }

    /// Insertions on both sides of blank lines, as one of each.
    fn twice(&self, at: &Stretch, hunks: [&[Hunk]; 2], out: &mut Out<'a>) -> bool {
        let blank = at.base.clone().all(|line| self.base.text(line).trim().is_empty());
        let added = hunks.iter().all(|hunks| hunks.iter().all(|hunk| hunk.base.is_empty()));
        if blank && added {
            self.both(at.person.clone(), at.agent.clone(), out);
        }
        blank && added
    }

    /// How many of the first lines of `part` the other side put in just before it: an insertion at the border of a
    /// change may hold what the change holds too. A fence or a rule alone is everywhere, and no part of a block goes.
    fn doubled(&self, before: Option<&weave::Part>, part: &weave::Part) -> usize {
        let Some(before) = before.filter(|before| before.base.is_empty() || part.base.is_empty()) else {
            return 0;
        };
        let mine = |part: &weave::Part| self.person.part(&part.person);
        let theirs = |part: &weave::Part| self.agent.part(&part.agent);
        let ((one, before), (next, lines)) = match (before.meeting, part.meeting) {
            (Meeting::Person, Meeting::Agent) => (mine(before), theirs(part)),
            (Meeting::Agent, Meeting::Person) => (theirs(before), mine(part)),
            _ => return 0,
        };
        let most = one.len().min(next.len()).min(1000);
        let same = |len: &usize| one[one.len() - len..] == next[..*len];
        (1..=most).rev().filter(same).find(|len| whole(before, lines, *len)).unwrap_or(0)
    }

    /// The rules that look at a contested stretch as it is.
    fn settled(&self, at: &Stretch, out: &mut Out<'a>) -> bool {
        let base = &self.base.ids[at.base.clone()];
        let (mine, theirs) = (&self.person.ids[at.person.clone()], &self.agent.ids[at.agent.clone()]);
        if mine == theirs || theirs == base {
            out.person(&self.person.lines[at.person.clone()]);
        } else if mine == base {
            out.agent(&self.agent.lines[at.agent.clone()]);
        } else if base.is_empty() {
            self.both(at.person.clone(), at.agent.clone(), out);
        } else if let [[base], [person], [agent]] = [
            &self.base.lines[at.base.clone()],
            &self.person.lines[at.person.clone()],
            &self.agent.lines[at.agent.clone()],
        ] {
            let Some(text) = self.one_line(&base.text, &person.text, &agent.text) else { return false };
            out.line(Cow::Owned(text), ended(base.end, person.end, agent.end));
        } else if !mine.is_empty() && !theirs.is_empty() {
            let raw = |side: &Side<'_>, range: &Range<usize>| side.raw(range.clone());
            let [base, person, agent] =
                [raw(&self.base, &at.base), raw(&self.person, &at.person), raw(&self.agent, &at.agent)];
            let Some(text) = words::reflow(&base, &person, &agent, &self.effort) else { return false };
            let owned = |Line { text, end }: Line<'_>| Line {
                text: Cow::Owned(text.into_owned()),
                end: if end.len() == 2 { "\r\n" } else { &"\n"[..end.len()] },
            };
            out.agent(&split(&text).map(owned).collect::<Vec<_>>());
        } else {
            return false;
        }
        true
    }

    fn one_line(&self, base: &str, person: &str, agent: &str) -> Option<String> {
        match [base, person, agent].map(Item::of) {
            [Some(base), Some(person), Some(agent)] => Item::merged(base, person, agent, &self.effort),
            _ => words::merge(base, person, agent, &self.effort),
        }
    }

    /// Line by line no two changes differ; or both begin or end with the same new lines in place of all the old
    /// ones: what else they have is added.
    fn agreed(&self, at: &Stretch, out: &mut Out<'a>) -> bool {
        let base = &self.base.ids[at.base.clone()];
        let (mine, theirs) = (&self.person.ids[at.person.clone()], &self.agent.ids[at.agent.clone()]);
        if mine.len() == base.len() && theirs.len() == base.len() {
            let lines = || base.iter().zip(mine).zip(theirs);
            if lines().any(|((base, mine), theirs)| pick(base, mine, theirs).is_none()) {
                return false;
            }
            for (number, ((_, mine), theirs)) in lines().enumerate() {
                let (person, agent) = (at.person.start + number, at.agent.start + number);
                if mine == theirs || *mine != base[number] {
                    out.person(&self.person.lines[person..person + 1]);
                } else {
                    out.agent(&self.agent.lines[agent..agent + 1]);
                }
            }
            return true;
        }
        let head = mine.iter().zip(theirs).take_while(|(a, b)| a == b).count();
        let (rest, other) = (&mine[head..], &theirs[head..]);
        let tail = rest.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
        if head + tail < at.base.len() || head + tail == 0 {
            return false;
        }
        let mine = at.person.start + head..at.person.end - tail;
        let theirs = at.agent.start + head..at.agent.end - tail;
        out.person(&self.person.lines[at.person.start..mine.start]);
        self.both(mine.clone(), theirs, out);
        out.person(&self.person.lines[mine.end..at.person.end]);
        true
    }

    fn both(&self, person: Range<usize>, agent: Range<usize>, out: &mut Out<'a>) {
        let (mine, theirs) = (&self.person.lines[person.clone()], &self.agent.lines[agent.clone()]);
        for run in union(mine, theirs, [&self.person.ids[person], &self.agent.ids[agent]]) {
            match run {
                Run::Person(range) => out.person(&mine[range]),
                Run::Agent(range) => out.agent(&theirs[range]),
            }
        }
    }

    /// Hunks cut into smaller ones wherever a line is seen to be the new version of an old one.
    fn cut(&self, hunks: &[Hunk], side: &Side<'_>) -> Vec<Hunk> {
        let mut cut = Vec::new();
        for hunk in hunks {
            if self.reflowed(hunk, side) {
                cut.push(hunk.clone());
                continue;
            }
            let (mut base, mut new) = (hunk.base.start, hunk.side.start);
            for old in hunk.base.clone() {
                let mut ahead = new..hunk.side.end.min(new + AHEAD);
                let Some(found) = ahead.find(|at| self.alike(old, side, *at)) else { continue };
                push(&mut cut, base..old, new..found);
                if self.base.ids[old] != side.ids[found] {
                    cut.push(Hunk { base: old..old + 1, side: found..found + 1 });
                }
                (base, new) = (old + 1, found + 1);
            }
            push(&mut cut, base..hunk.base.end, new..hunk.side.end);
        }
        cut
    }

    /// Whether a hunk only breaks its lines elsewhere: then no line of it is the new version of another.
    fn reflowed(&self, hunk: &Hunk, side: &Side<'_>) -> bool {
        words_of(&self.base.lines[hunk.base.clone()]).eq(words_of(&side.lines[hunk.side.clone()]))
    }

    fn alike(&self, old: usize, side: &Side<'_>, new: usize) -> bool {
        if self.base.ids[old] == side.ids[new] {
            return true;
        }
        words::related(bare(self.base.text(old)), bare(side.text(new)), &self.effort)
    }

    /// The lists of the base that hold clashes.
    fn lists(&self, all: &Range<usize>, clashed: &[Range<usize>]) -> Vec<Range<usize>> {
        let inside = |at: usize| in_list(self.base.text(at));
        let item = |at: usize| Item::of(self.base.text(at)).is_some();
        let mut lists: Vec<Range<usize>> = Vec::new();
        for clash in clashed {
            let known = lists.last().is_some_and(|list| clash.start < list.end);
            if known || !clash.clone().all(inside) || !clash.clone().any(item) {
                continue;
            }
            let mut list = clash.clone();
            while list.start > all.start && inside(list.start - 1) {
                list.start -= 1;
            }
            while list.end < all.end && inside(list.end) {
                list.end += 1;
            }
            while list.start < clash.start && !item(list.start) {
                list.start += 1;
            }
            while list.end > clash.end && self.base.text(list.end - 1).trim().is_empty() {
                list.end -= 1;
            }
            lists.push(list);
        }
        lists
    }
}

/// Ranges in order; those that overlap are one.
fn joined(mut some: Vec<Range<usize>>, more: Vec<Range<usize>>) -> Vec<Range<usize>> {
    some.extend(more);
    some.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in some {
        match joined.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

fn push(hunks: &mut Vec<Hunk>, base: Range<usize>, side: Range<usize>) {
    if !base.is_empty() || !side.is_empty() {
        hunks.push(Hunk { base, side });
    }
}

fn words_of<'l>(lines: &'l [Line<'_>]) -> impl Iterator<Item = &'l str> {
    lines.iter().flat_map(|line| line.text.split_whitespace())
}

/// Without what makes it an item.
fn bare(line: &str) -> &str {
    Item::of(line).map_or(line, |item| item.text)
}
