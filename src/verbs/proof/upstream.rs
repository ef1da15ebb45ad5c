//! The trunk after the base: the commits that touch the fork's paths, and what each changes.

use crate::domain::Oid;
use crate::domain::RawDigest;
use crate::domain::Result;
use crate::plumbing::Objects;
use crate::plumbing::Watch;
use crate::verbs::proof::fork::Fork;
use std::collections::HashMap;
use std::collections::HashSet;

/// A commit that differs from its first parent at one of the paths.
#[derive(Debug)]
pub struct Touch {
    pub oid: Oid,
    pub tree: Oid,
    pub merge: bool,
    /// On the trunk's first-parent line.
    pub on_line: bool,
    /// Of the difference to its first parent, all paths.
    pub raw: RawDigest,
}

/// What was read of the trunk; parents first.
#[derive(Debug)]
pub struct Upstream {
    pub touches: Vec<Touch>,
    tip: Oid,
    /// Every commit with its parents.
    history: Vec<(Oid, Vec<Oid>)>,
    order: HashMap<Oid, usize>,
}

impl Upstream {
    /// Reads `history`: the commits after the base up to `tip`, parents first.
    pub fn read(objects: &Objects, history: &[Oid], tip: Oid, watch: &mut Watch) -> Result<Upstream> {
        let mut looks: HashMap<Oid, u32> = HashMap::new();
        let (mut touches, mut parents) = (Vec::new(), Vec::with_capacity(history.len()));
        for oid in history {
            let commit = objects.commit(*oid)?;
            let now = watch.look(objects, commit.tree)?;
            looks.insert(*oid, now);
            let before = match commit.parents.first() {
                None => watch.look(objects, objects.empty_tree())?,
                Some(parent) => match looks.get(parent) {
                    Some(look) => *look,
                    None => {
                        let look = watch.look(objects, objects.tree_of(*parent)?)?;
                        looks.insert(*parent, look);
                        look
                    }
                },
            };
            if now != before {
                let raw = RawDigest::of(&objects.changes_of(*oid)?);
                let merge = commit.parents.len() > 1;
                touches.push(Touch { oid: *oid, tree: commit.tree, merge, on_line: false, raw });
            }
            parents.push((*oid, commit.parents));
        }
        let order = history.iter().enumerate().map(|(at, oid)| (*oid, at)).collect();
        let mut upstream = Upstream { touches: Vec::new(), tip, history: parents, order };
        let line: HashSet<Oid> = upstream.first_parents().into_iter().collect();
        for touch in &mut touches {
            touch.on_line = line.contains(&touch.oid);
        }
        upstream.touches = touches;
        Ok(upstream)
    }

    /// The first-parent line as far as it was read, newest first, and the commit that it comes from.
    fn first_parents(&self) -> Vec<Oid> {
        let mut line = vec![self.tip];
        let parent = |oid: &Oid| self.history[*self.order.get(oid)?].1.first().copied();
        while let Some(next) = line.last().and_then(parent) {
            line.push(next);
        }
        line
    }

    /// The oldest commit on the first-parent line that contains `oid`: where it came in.
    pub fn entry(&self, oid: Oid) -> Oid {
        let mut holding = HashSet::from([oid]);
        for (commit, parents) in &self.history {
            if parents.iter().any(|p| holding.contains(p)) {
                holding.insert(*commit);
            }
        }
        self.first_parents().into_iter().take_while(|c| holding.contains(c)).last().unwrap_or(self.tip)
    }

    /// The touches on the first-parent line, newest first.
    pub fn line(&self) -> impl Iterator<Item = &Touch> {
        self.touches.iter().rev().filter(|t| t.on_line)
    }

    /// The same, as far back as `entry`.
    pub fn line_since(&self, entry: Oid) -> impl Iterator<Item = &Touch> {
        let oldest = self.order.get(&entry).copied().unwrap_or_default();
        self.line().take_while(move |t| self.order.get(&t.oid).is_some_and(|at| *at >= oldest))
    }

    /// The newest of `oids`; what is not on the trunk counts as oldest.
    pub fn newest(&self, oids: impl IntoIterator<Item = Oid>) -> Option<Oid> {
        oids.into_iter().max_by_key(|oid| self.order.get(oid).map_or(0, |at| at + 1))
    }

    /// The newest commit that makes exactly the change `raw` and was not known when `oid` of the fork was made.
    pub fn by_digest(
        &self,
        objects: &Objects,
        fork: &Fork,
        raw: &RawDigest,
        oid: Oid,
    ) -> Result<Option<Oid>> {
        for touch in self.touches.iter().rev().filter(|t| t.raw == *raw) {
            if !fork.knew(objects, oid, touch.oid)? {
                return Ok(Some(touch.oid));
            }
        }
        Ok(None)
    }

    /// A twin on the trunk for as many commits of the fork as have one; each commit of the trunk serves
    /// once, and those that the fork carries serve themselves.
    pub fn twins(&self, objects: &Objects, fork: &Fork) -> Result<HashMap<Oid, Oid>> {
        let carried: HashSet<Oid> = fork.carried.iter().map(|s| s.oid).collect();
        let mut pool: HashMap<&RawDigest, Vec<Oid>> = HashMap::new();
        for touch in self.touches.iter().filter(|t| !t.merge && !carried.contains(&t.oid)) {
            pool.entry(&touch.raw).or_default().push(touch.oid);
        }
        let mut twins = HashMap::new();
        for step in fork.steps.iter().rev() {
            let Some(twin) = pool.get_mut(&step.raw).and_then(Vec::pop) else { continue };
            // The pool gives the newest first: if this one was known, so were the others.
            if !fork.knew(objects, step.oid, twin)? {
                twins.insert(step.oid, twin);
            }
        }
        Ok(twins)
    }

    /// Whether the trunk made the change `raw` more often than it took it back, by commits that are no merges.
    pub fn balance(&self, raw: &RawDigest, inverse: &RawDigest) -> i64 {
        let count =
            |want: &RawDigest| self.touches.iter().filter(|t| !t.merge && t.raw == *want).count() as i64;
        count(raw) - count(inverse)
    }
}
