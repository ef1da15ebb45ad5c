//! What lies between two commits.

use crate::domain::Oid;
use crate::domain::Result;
use crate::plumbing::commit_graph::CommitGraph;
use crate::plumbing::commit_graph::Link;
use crate::plumbing::commit_graph::Paths;
use crate::plumbing::objects::Objects;
use std::collections::BinaryHeap;
use std::collections::HashMap;
use std::collections::HashSet;
use std::rc::Rc;

/// The commits reachable from a tip and not from a base, parents before their children.
#[derive(Debug)]
pub struct History {
    graph: Rc<CommitGraph>,
    /// The commits that the graph lacks. The number of a commit is its place in the graph, or the size of
    /// the graph and its place here.
    read: Vec<Past>,
    numbers: HashMap<Oid, u32>,
    base: Oid,
    /// The base is an ancestor of the tip, or the tip itself.
    whole: bool,
    /// All of it comes from the base.
    closed: bool,
    order: Vec<u32>,
    /// By number.
    places: Vec<u32>,
}

#[derive(Debug)]
struct Past {
    oid: Oid,
    known: Option<Known>,
}

#[derive(Debug)]
struct Known {
    /// None if git's own graph says the rest.
    tree: Option<Oid>,
    parents: Vec<u32>,
    time: i64,
    /// Its place there.
    there: Option<u32>,
}

/// A parent of a commit of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parent {
    At(usize),
    Outside(Oid),
}

const NOWHERE: u32 = u32::MAX;

/// More commits of a fork are not read to spare a walk.
const FEW: usize = 32;

const SEEN: u8 = 1;
/// Reachable from the base.
const HIDDEN: u8 = 2;
const QUEUED: u8 = 4;

/// The commits that are still to be looked at.
struct Front {
    marks: Vec<u8>,
    /// Those of the graph, children first, and how many of them are not hidden.
    inside: BinaryHeap<u32>,
    open_inside: usize,
    /// Those that were read, newest first, and how many of them are not hidden.
    outside: BinaryHeap<(i64, u32)>,
    open_outside: usize,
    /// Commits that were read and have a child in the graph.
    below: Vec<u32>,
}

impl Front {
    fn mark(&mut self, number: u32) -> &mut u8 {
        let at = number as usize;
        if self.marks.len() <= at {
            self.marks.resize(at + 1, 0);
        }
        &mut self.marks[at]
    }

    /// Takes a commit in, or hides one that was taken in. It has a time if it was read.
    fn put(&mut self, number: u32, hidden: u8, time: Option<i64>) {
        let mark = self.mark(number);
        let before = *mark;
        if before & SEEN != 0 && (hidden == 0 || before & HIDDEN != 0) {
            return;
        }
        *mark = before | SEEN | hidden | QUEUED;
        let open = if time.is_some() { &mut self.open_outside } else { &mut self.open_inside };
        if before & QUEUED != 0 {
            *open -= 1;
            return;
        }
        *open += usize::from(hidden == 0);
        match time {
            Some(time) => self.outside.push((time, number)),
            None => self.inside.push(number),
        }
    }

    fn taken(&mut self, number: u32) -> u8 {
        let mark = self.mark(number);
        *mark &= !QUEUED;
        *mark & HIDDEN
    }

    /// Whether the tip reaches the commit and the base was not seen to.
    fn shows(&self, number: u32) -> bool {
        self.marks.get(number as usize).is_some_and(|mark| mark & (SEEN | HIDDEN) == SEEN)
    }
}

impl History {
    /// Reads the commits after `base` up to `tip`, those that `graph` lacks from the store.
    pub fn read(objects: &Objects, graph: &Rc<CommitGraph>, base: Oid, tip: Oid) -> Result<History> {
        let (mut history, mut front) = History::begin(objects, graph, base, tip)?;
        history.walk(objects, &mut front, usize::MAX)?;
        // Clocks may be wrong, so that an ancestor of the base is met before the base has hidden it. A commit
        // that comes from the base is not its ancestor. Where one does not, all ancestors are looked at.
        if base != tip && !history.arrange(&front, tip) {
            while !(front.inside.is_empty() && front.outside.is_empty()) {
                history.step_inside(objects, &mut front)?;
                history.step_outside(objects, &mut front)?;
            }
            history.arrange(&front, tip);
        }
        Ok(history)
    }

    /// The commits among them that `graph` lacks, newest first, and whether these are all: no more than
    /// about `limit` are read.
    pub fn unread(
        objects: &Objects,
        graph: &Rc<CommitGraph>,
        base: Oid,
        tip: Oid,
        limit: usize,
    ) -> Result<(Vec<Oid>, bool)> {
        let (mut history, mut front) = History::begin(objects, graph, base, tip)?;
        let all = history.walk(objects, &mut front, limit)?;
        let shown = history.read.iter().zip(graph.len() as u32..).filter(|(_, number)| front.shows(*number));
        Ok((shown.map(|(past, _)| past.oid).collect(), all))
    }

    /// The one commit where `tip` left `trunk`, or `tip` itself if `trunk` has it; `None` if there are more or
    /// none.
    pub fn fork_point(
        objects: &Objects,
        graph: &Rc<CommitGraph>,
        trunk: Oid,
        tip: Oid,
    ) -> Result<Option<Oid>> {
        let (mut history, mut front) = History::begin(objects, graph, trunk, tip)?;
        history.walk(objects, &mut front, usize::MAX)?;
        let start = history.number(tip);
        if trunk == tip || !front.shows(start) {
            return Ok(Some(tip));
        }
        let (mut open, mut met, mut points) = (vec![start], HashSet::new(), HashSet::new());
        while let Some(number) = open.pop() {
            for parent in history.parents_of(number) {
                if !front.shows(parent) {
                    points.insert(parent);
                } else if met.insert(parent) {
                    open.push(parent);
                }
            }
        }
        let only = points.iter().next().filter(|_| points.len() == 1);
        only.map(|point| history.oid_of(*point)).transpose()
    }

    /// The same where it is found by one walk, with the commits of the trunk after it: a few commits that only follow
    /// each other on a commit that the graph has, or that its oldest ones follow on. `None` says nothing.
    pub fn after_fork(
        objects: &Objects,
        graph: &Rc<CommitGraph>,
        trunk: Oid,
        tip: Oid,
    ) -> Result<Option<(Oid, History)>> {
        if graph.len() == 0 {
            return Ok(None);
        }
        let (mut own, mut point) = (Vec::new(), tip);
        while !graph.reaches(point) {
            let parents = &objects.past(point)?.parents;
            let [parent] = parents[..] else { return Ok(None) };
            own.push(point);
            if own.len() > FEW {
                return Ok(None);
            }
            point = parent;
        }
        if own.is_empty() {
            return Ok(None);
        }
        let history = History::read(objects, graph, point, trunk)?;
        // The trunk has the point, and nothing after it.
        let parted = history.comes_from_base() && !own.iter().any(|oid| history.contains(*oid));
        Ok(parted.then_some((point, history)))
    }

    fn begin(objects: &Objects, graph: &Rc<CommitGraph>, base: Oid, tip: Oid) -> Result<(History, Front)> {
        let mut history = History {
            graph: Rc::clone(graph),
            read: Vec::new(),
            numbers: HashMap::new(),
            base,
            whole: base == tip,
            closed: base == tip,
            order: Vec::new(),
            places: Vec::new(),
        };
        let mut front = Front {
            marks: vec![0; graph.len()],
            inside: BinaryHeap::new(),
            open_inside: 0,
            outside: BinaryHeap::new(),
            open_outside: 0,
            below: Vec::new(),
        };
        if base != tip {
            for (oid, hidden) in [(tip, 0), (base, HIDDEN)] {
                let number = history.number(oid);
                let time = history.time(objects, number)?;
                front.put(number, hidden, time);
            }
        }
        Ok((history, front))
    }

    /// Looks at commits until all that are left are hidden; false if it would read more than `limit`.
    fn walk(&mut self, objects: &Objects, front: &mut Front, limit: usize) -> Result<bool> {
        while front.open_outside + front.open_inside > 0 {
            // What the graph hides is seen before anything is read for it.
            while front.open_inside > 0 || (front.open_outside > 0 && !front.inside.is_empty()) {
                self.step_inside(objects, front)?;
            }
            if front.open_outside > 0 {
                if self.read.len() > limit {
                    return Ok(false);
                }
                self.step_outside(objects, front)?;
            }
        }
        Ok(true)
    }

    fn step_inside(&mut self, objects: &Objects, front: &mut Front) -> Result<()> {
        let Some(number) = front.inside.pop() else { return Ok(()) };
        let hidden = front.taken(number);
        front.open_inside -= usize::from(hidden == 0);
        let graph = Rc::clone(&self.graph);
        for link in graph.links(number) {
            match link {
                Link::Inside(parent) => front.put(parent, hidden, None),
                Link::Outside(oid) => {
                    let parent = self.number(oid);
                    let time = self.time(objects, parent)?;
                    front.below.push(parent);
                    front.put(parent, hidden, time);
                }
            }
        }
        Ok(())
    }

    fn step_outside(&mut self, objects: &Objects, front: &mut Front) -> Result<()> {
        let Some((_, number)) = front.outside.pop() else { return Ok(()) };
        let hidden = front.taken(number);
        front.open_outside -= usize::from(hidden == 0);
        for parent in self.parents_of(number) {
            let time = self.time(objects, parent)?;
            front.put(parent, hidden, time);
        }
        Ok(())
    }

    /// Puts what is shown in order; true if all of it comes from the base.
    fn arrange(&mut self, front: &Front, tip: Oid) -> bool {
        let (tip, base) = (self.number(tip), self.number(self.base));
        let known = self.graph.len() as u32;
        self.order.clear();
        // The graph has an order. What is above it comes after it.
        let mixed = front.below.iter().any(|number| front.shows(*number));
        if !mixed {
            self.order.extend((0..known).filter(|number| front.shows(*number)));
        }
        self.descend(front, tip, if mixed { 0 } else { known });
        self.places = vec![NOWHERE; known as usize + self.read.len()];
        for (number, place) in self.order.iter().zip(0..) {
            self.places[*number as usize] = place;
        }
        let mut from_base: Vec<bool> = Vec::with_capacity(self.order.len());
        for number in &self.order {
            let comes = |parent: u32| {
                parent == base || self.place(parent).is_some_and(|at| from_base.get(at) == Some(&true))
            };
            from_base.push(self.any_parent(*number, comes));
        }
        self.whole = from_base.contains(&true);
        self.closed = !from_base.contains(&false);
        self.closed
    }

    /// Adds what `tip` shows to the order, first parents first, as far as the numbers are at least `least`.
    fn descend(&mut self, front: &Front, tip: u32, least: u32) {
        let mut entered = HashSet::from([tip]);
        let mut stack = vec![(tip, self.parents_of(tip), 0)];
        while let Some((number, parents, next)) = stack.last_mut() {
            match parents.get(*next).copied() {
                Some(parent) => {
                    *next += 1;
                    if parent >= least && front.shows(parent) && entered.insert(parent) {
                        stack.push((parent, self.parents_of(parent), 0));
                    }
                }
                None => {
                    if *number >= least && front.shows(*number) {
                        self.order.push(*number);
                    }
                    stack.pop();
                }
            }
        }
    }

    fn number(&mut self, oid: Oid) -> u32 {
        if let Some(number) = self.number_of(oid) {
            return number;
        }
        let number = (self.graph.len() + self.read.len()) as u32;
        self.read.push(Past { oid, known: None });
        self.numbers.insert(oid, number);
        number
    }

    fn number_of(&self, oid: Oid) -> Option<u32> {
        self.numbers.get(&oid).copied().or_else(|| self.graph.position(oid))
    }

    /// The time of a commit that the graph lacks. It is read if it was not.
    fn time(&mut self, objects: &Objects, number: u32) -> Result<Option<i64>> {
        let Some(at) = (number as usize).checked_sub(self.graph.len()) else { return Ok(None) };
        if let Some(known) = &self.read[at].known {
            return Ok(Some(known.time));
        }
        let oid = self.read[at].oid;
        let known = match self.graph.stored(oid) {
            Some(stored) => {
                let parents = stored.parents.iter().map(|p| self.number(*p)).collect();
                Known { tree: None, parents, time: stored.time, there: stored.at }
            }
            None => {
                let past = objects.past(oid)?;
                let parents = past.parents.iter().map(|p| self.number(*p)).collect();
                Known { tree: Some(past.tree), parents, time: past.time, there: None }
            }
        };
        let time = known.time;
        self.read[at].known = Some(known);
        Ok(Some(time))
    }

    fn any_parent(&self, number: u32, mut is: impl FnMut(u32) -> bool) -> bool {
        match (number as usize).checked_sub(self.graph.len()) {
            Some(at) => self.read[at].known.iter().flat_map(|k| &k.parents).any(|p| is(*p)),
            None => self.graph.links(number).filter_map(|link| self.linked(link)).any(is),
        }
    }

    fn parents_of(&self, number: u32) -> Vec<u32> {
        let mut parents = Vec::new();
        self.any_parent(number, |parent| {
            parents.push(parent);
            false
        });
        parents
    }

    fn linked(&self, link: Link) -> Option<u32> {
        match link {
            Link::Inside(at) => Some(at),
            Link::Outside(oid) => self.number_of(oid),
        }
    }

    fn oid_of(&self, number: u32) -> Result<Oid> {
        match (number as usize).checked_sub(self.graph.len()) {
            Some(at) => Ok(self.read[at].oid),
            None => self.graph.oid(number),
        }
    }

    fn place(&self, number: u32) -> Option<usize> {
        self.places.get(number as usize).filter(|place| **place != NOWHERE).map(|place| *place as usize)
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// How many of them were read, since neither graph has them.
    pub fn strange(&self) -> usize {
        let read = |number: u32| self.read.get((number as usize).checked_sub(self.graph.len())?);
        let known = |past: &Past| past.known.as_ref().is_some_and(|known| known.there.is_some());
        self.order.iter().filter(|number| read(**number).is_some_and(|past| !known(past))).count()
    }

    /// The commits in order.
    pub fn oids(&self) -> Result<Vec<Oid>> {
        self.order.iter().map(|n| self.oid_of(*n)).collect()
    }

    pub fn oid(&self, at: usize) -> Result<Oid> {
        self.oid_of(self.order[at])
    }

    /// The tree of a commit that was read.
    pub fn tree(&self, at: usize) -> Option<Oid> {
        let read = (self.order[at] as usize).checked_sub(self.graph.len())?;
        self.read[read].known.as_ref()?.tree
    }

    pub fn position(&self, oid: Oid) -> Option<usize> {
        self.place(self.number_of(oid)?)
    }

    pub fn contains(&self, oid: Oid) -> bool {
        self.position(oid).is_some()
    }

    pub fn parents(&self, at: usize) -> Result<Vec<Parent>> {
        let parent = |number: u32| match self.place(number) {
            Some(place) => Ok(Parent::At(place)),
            None => self.oid_of(number).map(Parent::Outside),
        };
        self.parents_of(self.order[at]).into_iter().map(parent).collect()
    }

    /// Whether the commit at a position may differ from its first parent at one of `paths`.
    pub fn may_change(&self, at: usize, paths: &Paths) -> bool {
        let number = self.order[at];
        let Some(read) = (number as usize).checked_sub(self.graph.len()) else {
            return self.graph.may_change(number, paths);
        };
        let there = self.read[read].known.as_ref().and_then(|known| known.there);
        there.is_none_or(|there| self.graph.may_change_there(there, paths))
    }

    /// Whether the base is an ancestor of the tip; where they are one, it is.
    pub fn comes_from_base(&self) -> bool {
        self.whole
    }

    /// The places of the first-parent line, tip first.
    pub fn line(&self) -> impl Iterator<Item = usize> {
        self.first_parents().map_while(|number| self.place(number))
    }

    /// The numbers of that line, and last that of the commit that it comes from.
    fn first_parents(&self) -> impl Iterator<Item = u32> {
        std::iter::successors(self.order.last().copied(), |number| {
            self.place(*number)?;
            let mut first = None;
            self.any_parent(*number, |parent| {
                first = Some(parent);
                true
            });
            first
        })
    }

    /// The oldest commit on the first-parent line that contains `oid`: where it came in.
    pub fn entry(&self, oid: Oid) -> Result<Option<Oid>> {
        let Some(sought) = self.number_of(oid) else { return Ok(None) };
        // All of them hold the base, if all come from it.
        let all = oid == self.base && self.closed;
        let mut holding = vec![all; self.len()];
        let start = if all { self.len() } else { self.place(sought).unwrap_or_default() };
        for at in start..self.len() {
            let number = self.order[at];
            let holds = |parent: u32| parent == sought || self.place(parent).is_some_and(|p| holding[p]);
            holding[at] = number == sought || self.any_parent(number, holds);
        }
        let held =
            |number: &u32| *number == sought || self.place(*number).is_some_and(|place| holding[place]);
        self.first_parents().take_while(held).last().map(|number| self.oid_of(number)).transpose()
    }
}
