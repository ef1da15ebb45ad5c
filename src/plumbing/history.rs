//! Ancestry: what lies between two commits.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::Result;
use crate::plumbing::disk;
use crate::plumbing::objects::Objects;
use crate::plumbing::objects::id;
use crate::plumbing::objects::oid_of;
use gix::revision::plumbing as gix_revision;
use std::collections::HashSet;

impl Objects {
    /// The best common ancestors of two commits; empty if they share no history.
    pub fn merge_bases(&self, a: Oid, b: Oid) -> Result<Vec<Oid>> {
        let mut graph = gix_revision::Graph::new(&self.odb, None);
        let found = gix_revision::merge_base(id(a), &[id(b)], &mut graph)
            .map_err(|e| disk::gix(format!("finding the merge base of {a} and {b}"), e))?;
        Ok(found.into_iter().flatten().map(|o| oid_of(&o)).collect())
    }

    /// Whether `ancestor` is `of` itself or reachable from it.
    pub fn is_ancestor(&self, ancestor: Oid, of: Oid) -> Result<bool> {
        Ok(ancestor == of || self.merge_bases(ancestor, of)?.contains(&ancestor))
    }

    /// The commits reachable from `tip` and not from `base`, parents before children.
    pub fn between(&self, base: Oid, tip: Oid) -> Result<Vec<Oid>> {
        if base == tip {
            return Ok(Vec::new());
        }
        let failed = |e: gix::Error| disk::gix(format!("listing {base}..{tip}"), e);
        let walk = gix::traverse::commit::topo::Builder::from_iters(&self.odb, [id(tip)], Some([id(base)]))
            .sorting(gix::traverse::commit::topo::Sorting::TopoOrder)
            .build()
            .map_err(failed)?;
        let mut commits = Vec::new();
        for info in walk {
            commits.push(oid_of(&info.map_err(failed)?.id));
        }
        commits.reverse();
        Ok(commits)
    }

    /// The ids of all objects that the commits of `base..tip` brought. A missing one is a fault.
    pub fn brought(&self, base: Oid, tip: Oid) -> Result<Vec<Oid>> {
        let mut found = Vec::new();
        for oid in self.between(base, tip)? {
            let commit = self.commit(oid)?;
            let before = match commit.parents.first() {
                Some(parent) => self.tree_of(*parent)?,
                None => self.empty_tree(),
            };
            found.extend([oid, commit.tree]);
            found.extend(self.new_entries(before, commit.tree)?);
        }
        found.sort_unstable();
        found.dedup();
        for oid in &found {
            if !self.can_have(*oid)? {
                return Err(Failure::fault(format!("reading what {tip} needs"), format!("{oid} is missing")));
            }
        }
        Ok(found)
    }

    /// The oldest commit on the first-parent line of `tip` that contains `oid`: where it came in.
    pub fn entry_point(&self, oid: Oid, tip: Oid) -> Result<Option<Oid>> {
        let mut holding = HashSet::from([oid]);
        for commit in self.between(oid, tip)? {
            if self.commit(commit)?.parents.iter().any(|p| holding.contains(p)) {
                holding.insert(commit);
            }
        }
        let mut found = None;
        let mut next = Some(tip);
        while let Some(commit) = next.filter(|o| holding.contains(o)) {
            found = Some(commit);
            next = if commit == oid { None } else { self.commit(commit)?.parents.first().copied() };
        }
        Ok(found)
    }

    /// Whether more than `limit` commits are met on the way from `tip` back to `base`: never more work
    /// than that, and an estimate, since older side branches are counted too.
    pub fn is_far(&self, base: Oid, tip: Oid, limit: usize) -> Result<bool> {
        let mut met = HashSet::from([base, tip]);
        let mut open = vec![tip];
        while let Some(oid) = open.pop() {
            if met.len() > limit {
                return Ok(true);
            }
            open.extend(self.commit(oid)?.parents.into_iter().filter(|p| met.insert(*p)));
        }
        Ok(false)
    }
}
