//! Random histories of which it is known what has landed in them: a piece of work is a list of edits, and whatever the
//! trunk does with it is done by these edits.

use super::edits;
use super::edits::Body;
use super::edits::Edit;
use super::edits::Files;
use crate::support::acts::Dice;
use git2::Oid;
use git2::Repository;

/// Something that holds where the work is.
#[derive(Debug, Clone)]
enum Effect {
    Line(u64, String),
    NoLine(u64, String),
    Path(u64, String),
    Gone(u64),
    Mode(u64, bool),
    Body(u64, Body),
}

impl Effect {
    fn holds(&self, files: &Files) -> bool {
        let has = |file: &u64, line: &String| matches!(files.get(file).map(|i| &i.body), Some(Body::Text(lines)) if lines.contains(line));
        match self {
            Effect::Line(file, line) => has(file, line),
            Effect::NoLine(file, line) => !has(file, line),
            Effect::Path(file, path) => files.get(file).is_some_and(|i| i.path == *path),
            Effect::Gone(file) => !files.contains_key(file),
            Effect::Mode(file, exec) => files.get(file).is_some_and(|i| i.exec == *exec),
            Effect::Body(file, body) => files.get(file).is_some_and(|i| i.body == *body),
        }
    }
}

/// What the way from one state to another does.
fn effects(from: &Files, to: &Files) -> Vec<Effect> {
    let mut all: Vec<Effect> =
        from.keys().filter(|id| !to.contains_key(id)).map(|id| Effect::Gone(*id)).collect();
    for (id, item) in to {
        let before = from.get(id);
        if before.is_none_or(|b| b.path != item.path) {
            all.push(Effect::Path(*id, item.path.clone()));
        }
        if before.is_none_or(|b| b.exec != item.exec) {
            all.push(Effect::Mode(*id, item.exec));
        }
        let old: &[String] = match before.map(|b| &b.body) {
            Some(Body::Text(lines)) => lines,
            _ => &[],
        };
        match &item.body {
            Body::Text(lines) => {
                let lost = old.iter().filter(|l| !lines.contains(l));
                all.extend(lost.map(|l| Effect::NoLine(*id, l.clone())));
                let gained = lines.iter().filter(|l| !old.contains(l));
                all.extend(gained.map(|l| Effect::Line(*id, l.clone())));
            }
            body if before.is_none_or(|b| b.body != *body) => all.push(Effect::Body(*id, body.clone())),
            _ => {}
        }
    }
    all
}

pub struct History {
    pub base: Oid,
    pub tip: Oid,
    pub trunk: Oid,
    /// In words, for whoever reads of a failure.
    pub told: Vec<String>,
    /// All of the work is at the tip of the trunk.
    pub now: bool,
    /// Each part of it has been on the trunk at some time.
    pub ever: bool,
    /// The trunk took it all in at once, or commit by commit.
    pub taken: bool,
    /// What had landed, or a part of it that had landed by itself, was taken back, and did not all come in again.
    pub back: bool,
    /// The trunk has the tip itself.
    pub merged: bool,
}

struct Maker<'r> {
    repo: &'r Repository,
    dice: Dice,
    fresh: u64,
    at: i64,
    files: Files,
    trunk: Oid,
    states: Vec<Files>,
    work: Vec<Vec<Edit>>,
    /// Landings that stand: the edits, and those that were not there before and are its own to give back.
    landed: Vec<(Vec<Edit>, Vec<Edit>)>,
    /// What was taken back, and after how many states.
    backs: Vec<(usize, Vec<Effect>)>,
    history: History,
}

/// A history after the model's base, which is `base`.
pub fn random(repo: &Repository, base: Oid, seed: u64) -> History {
    let history = History {
        base,
        tip: base,
        trunk: base,
        told: Vec::new(),
        now: false,
        ever: false,
        taken: false,
        back: false,
        merged: false,
    };
    let mut maker = Maker {
        repo,
        dice: Dice::of(seed),
        fresh: 0,
        at: 0,
        files: edits::base(),
        trunk: base,
        states: Vec::new(),
        work: Vec::new(),
        landed: Vec::new(),
        backs: Vec::new(),
        history,
    };
    let work = maker.work();
    for _ in 0..2 + maker.dice.below(6) {
        maker.step(&work);
    }
    let net = effects(&edits::base(), &work);
    let mut history = maker.history;
    history.trunk = maker.trunk;
    history.now = !net.is_empty() && net.iter().all(|e| e.holds(&maker.files));
    let again = |from: usize, effect: &Effect| maker.states[from..].iter().any(|files| effect.holds(files));
    history.back = maker.backs.iter().any(|(from, lost)| !lost.iter().all(|effect| again(*from, effect)));
    history.ever = !net.is_empty() && net.iter().all(|e| maker.states.iter().any(|files| e.holds(files)));
    history
}

impl Maker<'_> {
    /// Up to four commits. Gives the files at their end.
    fn work(&mut self) -> Files {
        let mut files = edits::base();
        for n in 0..1 + self.dice.below(4) {
            let mut commit = Vec::new();
            for _ in 0..1 + self.dice.below(3) {
                let edit = edits::random(&mut self.dice, &files, &mut self.fresh);
                if edit.apply(&mut files) {
                    commit.push(edit);
                }
            }
            let parent = self.history.tip;
            let message = format!("work {n}");
            self.history.tip =
                edits::commit(self.repo, &files, &[parent], 50 + n as i64, "bo@x.invalid", &message);
            self.history.told.push(format!("{message}: {commit:?}"));
            self.work.push(commit);
        }
        files
    }

    /// The trunk makes these edits, if they have a place there.
    fn make(&mut self, edits: &[Edit], second: Option<Oid>, what: &str) -> bool {
        let Some(files) = edits::apply_all(edits, &self.files) else { return false };
        if files == self.files && second.is_none() {
            return false;
        }
        self.at += 1;
        let parents: Vec<Oid> = [self.trunk].into_iter().chain(second).collect();
        self.trunk = edits::commit(self.repo, &files, &parents, 100 + self.at, "ada@x.invalid", what);
        self.files = files;
        self.states.push(self.files.clone());
        self.history.told.push(format!("trunk: {what} {edits:?}"));
        true
    }

    fn step(&mut self, work: &Files) {
        let all: Vec<Edit> = self.work.concat();
        let one = self.dice.below(self.work.len() as u64) as usize;
        match self.dice.below(12) {
            0 | 1 => {
                let edit = edits::random(&mut self.dice, &self.files, &mut self.fresh);
                self.make(&[edit], None, "own");
            }
            2 => drop(self.near()),
            3 => {
                // One after the other, as they were made.
                let mut made = true;
                for commit in self.work.clone() {
                    made &= !self.stands(&commit) && self.land(&commit, None, "pick");
                }
                self.history.taken |= made;
            }
            4 | 5 => {
                let commit = self.work[one].clone();
                let landed = !self.stands(&commit) && self.land(&commit, None, "pick one");
                self.history.taken |= landed && self.work.len() == 1;
            }
            6 => self.history.taken |= self.land(&all, None, "squash"),
            7 if !self.history.merged => {
                let tip = self.history.tip;
                if self.land(&all, Some(tip), "merge") {
                    (self.history.merged, self.history.taken) = (true, true);
                }
            }
            8 => {
                // A line that the work itself has written anew since is not written again.
                let new = |(at, edit): &(usize, &Edit)| !edit.is_past(&all[at + 1..], &self.files);
                let part = all.iter().enumerate().step_by(2).filter(new).map(|(_, edit)| edit.clone());
                let part: Vec<Edit> = part.collect();
                self.make(&part, None, "part");
            }
            9 | 10 => self.take_back(work),
            _ => self.over(work),
        }
    }

    /// Whether it has landed, alone or with others, and was not taken back.
    fn stands(&self, commit: &[Edit]) -> bool {
        commit.first().is_some_and(|first| self.landed.iter().any(|(edits, _)| edits.contains(first)))
    }

    fn land(&mut self, edits: &[Edit], second: Option<Oid>, what: &str) -> bool {
        let does = edits::done(edits, &self.files);
        let made = self.make(edits, second, what);
        if let (true, Some((_, does))) = (made, does) {
            self.landed.push((edits.to_vec(), does));
        }
        made
    }

    /// As git does it: where a part has been changed since, nothing is done.
    fn take_back(&mut self, work: &Files) {
        if self.landed.is_empty() {
            return;
        }
        let which = self.dice.below(self.landed.len() as u64) as usize;
        let edits: Vec<Edit> = self.landed[which].1.iter().rev().map(Edit::inverse).collect();
        let mut files = self.files.clone();
        let each = edits.iter().all(|edit| {
            let before = files.clone();
            edit.apply(&mut files) && files != before
        });
        let mut lost = effects(&files, &self.files);
        // What the work itself has changed again is not missed.
        lost.retain(|effect| effect.holds(work));
        if each && self.make(&edits, None, "revert") {
            self.landed.remove(which);
            self.backs.push((self.states.len(), lost));
        }
    }

    /// A change right beside a line of the work: its context moves.
    fn near(&mut self) -> Option<bool> {
        let all = self.work.concat();
        let edit = &all[self.dice.below(all.len() as u64) as usize];
        let (Edit::Replace { file, old: line, .. } | Edit::Insert { file, after: line, .. }) = edit else {
            return None;
        };
        let Body::Text(lines) = &self.files.get(file)?.body else { return None };
        let at = lines.iter().position(|l| l == line)?;
        let before = lines.get(at.checked_sub(2)?)?.clone();
        self.fresh += 1;
        let new = format!("near {}\n", self.fresh);
        Some(self.make(&[Edit::Replace { file: *file, old: before, new }], None, "near"))
    }

    /// Later work goes over a line that came in.
    fn over(&mut self, work: &Files) {
        let mine = effects(&edits::base(), work);
        let lines = mine.iter().filter_map(|e| match e {
            Effect::Line(file, line) if e.holds(&self.files) => Some((*file, line.clone())),
            _ => None,
        });
        let lines: Vec<(u64, String)> = lines.collect();
        if lines.is_empty() {
            return;
        }
        let (file, old) = lines[self.dice.below(lines.len() as u64) as usize].clone();
        self.fresh += 1;
        let new = format!("over {}\n", self.fresh);
        self.make(&[Edit::Replace { file, old, new }], None, "over");
    }
}
