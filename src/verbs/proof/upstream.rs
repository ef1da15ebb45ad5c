//! The trunk after the base: the commits that touch the fork's paths, and what each changes.

use crate::domain::Oid;
use crate::domain::RawDigest;
use crate::domain::Result;
use crate::plumbing::Objects;
use crate::plumbing::Watch;
use crate::verbs::proof::fork::Step;
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
    order: HashMap<Oid, usize>,
}

impl Upstream {
    /// Reads `history`: the commits after the base up to `tip`, parents first.
    pub fn read(objects: &Objects, history: &[Oid], tip: Oid, watch: &mut Watch) -> Result<Upstream> {
        let mut looks: HashMap<Oid, u32> = HashMap::new();
        let mut first_parent: HashMap<Oid, Oid> = HashMap::new();
        let mut touches = Vec::new();
        for oid in history {
            let commit = objects.commit(*oid)?;
            let now = watch.look(objects, commit.tree)?;
            looks.insert(*oid, now);
            let before = match commit.parents.first() {
                None => watch.look(objects, objects.empty_tree())?,
                Some(parent) => {
                    first_parent.insert(*oid, *parent);
                    match looks.get(parent) {
                        Some(look) => *look,
                        None => {
                            let look = watch.look(objects, objects.tree_of(*parent)?)?;
                            looks.insert(*parent, look);
                            look
                        }
                    }
                }
            };
            if now != before {
                let raw = RawDigest::of(&objects.changes_of(*oid)?);
                let merge = commit.parents.len() > 1;
                touches.push(Touch { oid: *oid, tree: commit.tree, merge, on_line: false, raw });
            }
        }
        let mut line = HashSet::from([tip]);
        let mut next = tip;
        while let Some(parent) = first_parent.get(&next) {
            line.insert(*parent);
            next = *parent;
        }
        for touch in &mut touches {
            touch.on_line = line.contains(&touch.oid);
        }
        let order = history.iter().enumerate().map(|(at, oid)| (*oid, at)).collect();
        Ok(Upstream { touches, order })
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

    pub fn by_digest(&self, raw: &RawDigest) -> Option<&Touch> {
        self.touches.iter().rev().find(|t| t.raw == *raw)
    }

    /// A twin on the trunk for as many `steps` as have one; each commit of the trunk serves once, and
    /// those that the fork carries (`taken`) serve themselves.
    pub fn twins(&self, steps: &[Step], taken: &HashSet<Oid>) -> HashMap<Oid, Oid> {
        let mut pool: HashMap<&RawDigest, Vec<Oid>> = HashMap::new();
        for touch in self.touches.iter().filter(|t| !t.merge && !taken.contains(&t.oid)) {
            pool.entry(&touch.raw).or_default().push(touch.oid);
        }
        steps.iter().rev().filter_map(|step| Some((step.oid, pool.get_mut(&step.raw)?.pop()?))).collect()
    }

    /// Whether the trunk made the change `raw` more often than it took it back, by commits that are no merges.
    pub fn balance(&self, raw: &RawDigest, inverse: &RawDigest) -> i64 {
        let count =
            |want: &RawDigest| self.touches.iter().filter(|t| !t.merge && t.raw == *want).count() as i64;
        count(raw) - count(inverse)
    }
}
