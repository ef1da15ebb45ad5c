//! Ancestry: whether one commit comes from another, and what lies between them.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::Result;
use crate::plumbing::disk;
use crate::plumbing::history::History;
use crate::plumbing::objects::Objects;
use crate::plumbing::objects::id;
use crate::plumbing::objects::oid_of;
use gix::revision::plumbing as gix_revision;
use std::rc::Rc;

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
        History::read(self, &Rc::default(), base, tip)?.oids()
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
}
