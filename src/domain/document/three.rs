//! The lines of the three versions of a text, and the text they are put together to.

use crate::domain::document::Clash;
use crate::domain::document::Merged;
use crate::domain::document::weave::Effort;
use crate::domain::document::weave::Ids;
use std::borrow::Cow;
use std::ops::Range;

/// A line; `end` is its own line ending, empty if it has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line<'a> {
    pub text: Cow<'a, str>,
    pub end: &'a str,
}

pub fn split(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.split_inclusive('\n').map(|line| {
        let (text, end) = line.split_at(
            line.strip_suffix('\n').map_or(line.len(), |text| text.strip_suffix('\r').unwrap_or(text).len()),
        );
        Line { text: Cow::Borrowed(text), end }
    })
}

/// One version; lines of the same text, whatever their end, have the same number in all three.
pub struct Side<'a> {
    pub lines: Vec<Line<'a>>,
    pub ids: Vec<u32>,
}

/// A place in all three.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    pub base: Range<usize>,
    pub person: Range<usize>,
    pub agent: Range<usize>,
}

/// All three versions, and what may still be spent on them.
pub struct Three<'a> {
    pub base: Side<'a>,
    pub person: Side<'a>,
    pub agent: Side<'a>,
    pub effort: Effort,
}

impl<'a> Three<'a> {
    pub fn of(base: &'a str, person: &'a str, agent: &'a str) -> Three<'a> {
        let mut ids = Ids::default();
        let [base, person, agent] = [base, person, agent].map(|text| {
            let (mut lines, mut numbers) = (Vec::new(), Vec::new());
            for line in split(text) {
                if let Cow::Borrowed(text) = line.text {
                    numbers.push(ids.of(text));
                }
                lines.push(line);
            }
            Side { lines, ids: numbers }
        });
        Three { base, person, agent, effort: Effort::full() }
    }

    pub fn whole(&self) -> Stretch {
        let all = |side: &Side<'_>| 0..side.ids.len();
        Stretch { base: all(&self.base), person: all(&self.person), agent: all(&self.agent) }
    }
}

impl<'a> Side<'a> {
    pub fn text(&self, at: usize) -> &str {
        &self.lines[at].text
    }

    /// The numbers of some lines, and the lines.
    pub fn part(&self, range: &Range<usize>) -> (&[u32], &[Line<'a>]) {
        (&self.ids[range.clone()], &self.lines[range.clone()])
    }

    pub fn raw(&self, range: Range<usize>) -> String {
        self.lines[range].iter().flat_map(|line| [&*line.text, line.end]).collect()
    }

    /// The line ending that most lines have.
    fn ending(&self) -> Option<&'static str> {
        let ended = self.lines.iter().filter(|line| !line.end.is_empty());
        let (all, long) = ended.fold((0, 0), |(all, long), line| (all + 1, long + line.end.len() - 1));
        (all > 0).then_some(if long * 2 > all { "\r\n" } else { "\n" })
    }
}

/// The merged text while it grows.
pub struct Out<'a> {
    lines: Vec<Line<'a>>,
    clashes: Vec<Clash>,
    ending: &'static str,
    /// The line ending of the base, if the person gave the document another.
    was: Option<&'static str>,
    /// Lines that both put in, so near to each other that they may be there twice.
    doubts: Vec<u32>,
}

impl<'a> Out<'a> {
    pub fn of(three: &Three<'a>) -> Out<'a> {
        let (base, person) = (three.base.ending(), three.person.ending());
        let ending = person.or(base).or(three.agent.ending()).unwrap_or("\n");
        let was = base.filter(|base| *base != ending);
        Out { lines: Vec::new(), clashes: Vec::new(), ending, was, doubts: Vec::new() }
    }

    /// How much there is; `back_to` takes away what came after.
    pub fn mark(&self) -> [usize; 2] {
        [self.lines.len(), self.clashes.len()]
    }

    pub fn back_to(&mut self, [lines, clashes]: [usize; 2]) {
        self.lines.truncate(lines);
        self.clashes.truncate(clashes);
    }

    pub fn doubt(&mut self, lines: impl IntoIterator<Item = u32>) {
        self.doubts.extend(lines);
    }

    pub fn doubts(&self) -> &[u32] {
        &self.doubts
    }

    pub fn line(&mut self, text: Cow<'a, str>, end: &'a str) {
        self.lines.push(Line { text, end });
    }

    /// Lines that the person wrote, or that stand as they are.
    pub fn person(&mut self, lines: &[Line<'a>]) {
        self.lines.extend_from_slice(lines);
    }

    /// Lines that the agent wrote: in the line endings that the person's editor gave the document meanwhile.
    pub fn agent(&mut self, lines: &[Line<'a>]) {
        for line in lines {
            let end = if self.was == Some(line.end) { self.ending } else { line.end };
            self.lines.push(Line { text: line.text.clone(), end });
        }
    }

    /// Lines that have the same text in all three, perhaps not the same end.
    pub fn kept(&mut self, three: &Three<'a>, at: Stretch) {
        let sides = at.base.zip(at.person).zip(at.agent);
        for ((base, person), agent) in sides {
            let end = |side: &Side<'a>, at: usize| side.lines[at].end;
            let end = ended(end(&three.base, base), end(&three.person, person), end(&three.agent, agent));
            self.lines.push(Line { text: three.person.lines[person].text.clone(), end });
        }
    }

    /// The person's lines stand, and all three are kept beside the text.
    pub fn clash(&mut self, three: &Three<'a>, at: Stretch) {
        self.clashes.push(Clash {
            line: self.lines.len() + 1,
            base: three.base.raw(at.base),
            person: three.person.raw(at.person.clone()),
            agent: three.agent.raw(at.agent),
        });
        self.lines.extend_from_slice(&three.person.lines[at.person]);
    }

    /// No two lines are welded, and the text ends as the person's does.
    pub fn merged(mut self, three: &Three<'a>) -> Merged {
        let open = three.person.lines.last().map(|line| line.end.is_empty());
        let last = self.lines.len().saturating_sub(1);
        for (number, line) in self.lines.iter_mut().enumerate() {
            if number == last && open == Some(true) {
                // Without its end an empty line would be gone.
                if !line.text.is_empty() {
                    line.end = "";
                }
            } else if line.end.is_empty() && (number < last || open == Some(false)) {
                line.end = self.ending;
            }
        }
        let text = self.lines.iter().flat_map(|line| [&*line.text, line.end]).collect();
        Merged { text, clashes: self.clashes }
    }
}

/// The end of a line that all three have: who changed it has it, the person before the agent.
pub fn ended<'a>(base: &'a str, person: &'a str, agent: &'a str) -> &'a str {
    if person == base { agent } else { person }
}
