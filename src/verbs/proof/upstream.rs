//! The trunk after the base: the commits that touch the fork's paths, and what each changes.

use crate::domain::Oid;
use crate::domain::RawDigest;
use crate::domain::Result;
use crate::plumbing::History;
use crate::plumbing::Objects;
use crate::plumbing::Parent;
use crate::plumbing::Paths;
use crate::plumbing::Watch;
use crate::verbs::proof::fork::Fork;
use bstr::BStr;
use std::collections::HashMap;
use std::collections::HashSet;
use std::rc::Rc;

/// A commit that differs from its first parent at one of the paths.
#[derive(Debug)]
pub struct Touch {
    pub oid: Oid,
    pub tree: Oid,
    /// Its place in the history.
    at: usize,
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
    history: Rc<History>,
}

impl Upstream {
    /// Reads what `history`, the commits after the base up to `tip`, changed at `paths`.
    pub fn read<'p>(
        objects: &Objects,
        history: Rc<History>,
        tip: Oid,
        paths: impl IntoIterator<Item = &'p BStr>,
    ) -> Result<Upstream> {
        let paths: Vec<&BStr> = paths.into_iter().collect();
        let wanted = Paths::new(paths.iter().copied());
        let mut watch = Watch::new(paths);
        let mut looks: HashMap<Oid, u32> = HashMap::new();
        let mut touches = Vec::new();
        for at in 0..history.len() {
            if !history.may_change(at, &wanted) {
                continue;
            }
            let oid = history.oid(at)?;
            let tree = match history.tree(at) {
                Some(tree) => tree,
                None => objects.tree_of(oid)?,
            };
            let now = watch.look(objects, tree)?;
            looks.insert(oid, now);
            let parents = history.parents(at)?;
            let before = match parents.first() {
                None => watch.look(objects, objects.empty_tree())?,
                Some(parent) => {
                    let (parent, known) = match parent {
                        Parent::At(at) => (history.oid(*at)?, history.tree(*at)),
                        Parent::Outside(oid) => (*oid, None),
                    };
                    match (looks.get(&parent), known) {
                        (Some(look), _) => *look,
                        (None, Some(tree)) => watch.look(objects, tree)?,
                        (None, None) => watch.look(objects, objects.tree_of(parent)?)?,
                    }
                }
            };
            if now != before {
                let raw = RawDigest::of(&objects.changes_of(oid)?);
                touches.push(Touch { oid, tree, at, merge: parents.len() > 1, on_line: false, raw });
            }
        }
        let mut on_line = vec![false; history.len()];
        // Parents have smaller places: below the oldest touch there is none.
        let oldest = touches.first().map_or(history.len(), |touch| touch.at);
        history.line().take_while(|at| *at >= oldest).for_each(|at| on_line[at] = true);
        touches.iter_mut().for_each(|t| t.on_line = on_line[t.at]);
        Ok(Upstream { touches, tip, history })
    }

    /// The oldest commit on the first-parent line that contains `oid`: where it came in.
    pub fn entry(&self, oid: Oid) -> Result<Oid> {
        Ok(self.history.entry(oid)?.unwrap_or(self.tip))
    }

    /// The touches on the first-parent line, newest first.
    pub fn line(&self) -> impl Iterator<Item = &Touch> {
        self.touches.iter().rev().filter(|t| t.on_line)
    }

    /// The same, as far back as `entry`.
    pub fn line_since(&self, entry: Oid) -> impl Iterator<Item = &Touch> {
        let oldest = self.history.position(entry).unwrap_or_default();
        self.line().take_while(move |t| t.at >= oldest)
    }

    /// The newest of `oids`; what is not on the trunk counts as oldest.
    pub fn newest(&self, oids: impl IntoIterator<Item = Oid>) -> Option<Oid> {
        oids.into_iter().max_by_key(|oid| self.history.position(*oid).map_or(0, |at| at + 1))
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
