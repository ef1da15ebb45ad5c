//! The fork: which commits are its own, what each changes, and what they change together. A fork that
//! merged the trunk holds the trunk's work too; that part is told apart here, so that it proves nothing.

use crate::domain::Oid;
use crate::domain::RawDigest;
use crate::domain::Result;
use crate::plumbing::Commit;
use crate::plumbing::History;
use crate::plumbing::Merged;
use crate::plumbing::Objects;
use crate::plumbing::Renames;
use crate::verbs::proof::contain::Delta;
use crate::verbs::proof::contain::Tester;
use bstr::BStr;
use std::collections::HashSet;

/// One commit that is no merge and changes something.
#[derive(Debug)]
pub struct Step {
    pub oid: Oid,
    pub raw: RawDigest,
    pub delta: Delta,
}

/// A run of commits on the fork's first-parent line that no merge interrupts.
#[derive(Debug)]
pub struct Piece {
    pub delta: Delta,
    pub commits: Vec<Oid>,
    /// Not yet reachable from the trunk.
    pub own: bool,
}

/// What a merge commit adds to the automatic merge of its parents.
#[derive(Debug)]
pub enum Addition {
    Nothing,
    Known(Delta),
    /// It resolves a conflict, or has more than two parents: it cannot be told apart.
    Opaque,
}

#[derive(Debug)]
pub struct Fork {
    /// Commits from base to tip, parents first.
    pub all: Vec<Oid>,
    /// Those that the trunk does not have.
    pub own: Vec<Oid>,
    pub steps: Vec<Step>,
    pub merges: Vec<Oid>,
    /// Steps on the fork's first-parent line that the trunk has.
    pub carried: Vec<Step>,
    /// What the tip changes against the trunk that it last took in: one, unless trunk and fork merged
    /// each other.
    pub nets: Vec<Delta>,
    /// The first-parent line from base to tip, if it leads there.
    pub pieces: Option<Vec<Piece>>,
    /// The commits of the trunk that the nets start from.
    pub starts: Vec<Oid>,
}

impl Fork {
    /// Reads the fork from `base` to `tip`, seen from the trunk at `trunk`, whose `history` goes back to the
    /// base. The base is an ancestor of the tip.
    pub fn read(objects: &Objects, base: Oid, tip: Oid, trunk: Oid, history: &History) -> Result<Fork> {
        let all = objects.between(base, tip)?;
        // No commit of the fork is an ancestor of the base, so the trunk has it only after the base.
        let beyond: HashSet<Oid> = all.iter().copied().filter(|c| !history.contains(*c)).collect();
        let own: Vec<Oid> = all.iter().copied().filter(|c| beyond.contains(c)).collect();
        let starts = if own.len() == all.len() { vec![base] } else { objects.merge_bases(tip, trunk)? };
        let end = objects.tree_of(tip)?;
        let nets = starts
            .iter()
            .map(|start| Delta::between(objects, objects.tree_of(*start)?, end))
            .collect::<Result<Vec<Delta>>>()?;
        let chain = chain(objects, base, tip, &all)?;
        let (mut steps, mut merges, mut carried) = (Vec::new(), Vec::new(), Vec::new());
        for oid in &all {
            let mine = beyond.contains(oid);
            if !mine && !chain.as_ref().is_some_and(|c| c.contains(oid)) {
                continue;
            }
            match step(objects, *oid)? {
                None if mine => merges.push(*oid),
                Some(step) if !step.delta.is_empty() => {
                    if mine { &mut steps } else { &mut carried }.push(step);
                }
                _ => {}
            }
        }
        let pieces = chain.map(|chain| pieces(objects, &chain, &beyond)).transpose()?;
        Ok(Fork { all, own, steps, merges, carried, nets, pieces, starts })
    }

    /// Whether it holds commits of the trunk beyond its base.
    pub fn took_trunk_in(&self) -> bool {
        !self.own.is_empty() && self.own.len() != self.all.len()
    }

    /// Whether it has no merge, of the trunk or of anything.
    pub fn is_straight(&self) -> bool {
        self.merges.is_empty() && !self.took_trunk_in()
    }

    /// Whether commit `oid` of the fork was made when `trunk` was known to it: what the trunk did before
    /// that cannot be the landing of what came after.
    pub fn knew(&self, objects: &Objects, oid: Oid, trunk: Oid) -> Result<bool> {
        Ok(self.took_trunk_in() && self.all.contains(&trunk) && objects.is_ancestor(trunk, oid)?)
    }

    /// Whether its pieces and merges are every commit of its own.
    pub fn is_line(&self) -> bool {
        let Some(pieces) = &self.pieces else { return false };
        let own = pieces.iter().filter(|p| p.own).map(|p| p.commits.len()).sum::<usize>();
        own + self.merges.len() == self.own.len()
    }

    /// Its tip has the very tree of a trunk that it took in.
    pub fn is_absorbed(&self) -> bool {
        self.nets.iter().any(Delta::is_empty)
    }

    /// Every path that it, or a commit of it, changes.
    pub fn paths(&self) -> impl Iterator<Item = &BStr> {
        let steps = self.steps.iter().chain(&self.carried).map(|s| &s.delta);
        let pieces = self.pieces.iter().flatten().map(|p| &p.delta);
        self.nets.iter().chain(steps).chain(pieces).flat_map(|d| &d.changes).map(|c| c.path.as_ref())
    }

    /// What must be there for all of its work to be there: the net, and the pieces that the trunk had
    /// before the fork last took it in, since the net does not show them.
    pub fn units(&self, tester: &mut Tester<'_>, objects: &Objects) -> Result<Vec<Delta>> {
        let mut units: Vec<Delta> = self.nets.iter().filter(|n| !n.is_empty()).cloned().collect();
        if !self.took_trunk_in() && !units.is_empty() {
            return Ok(units);
        }
        for piece in self.pieces.iter().flatten().filter(|p| !p.delta.is_empty()) {
            let mut landed = !piece.own || self.is_absorbed();
            for start in &self.starts {
                landed = landed || tester.holds(&piece.delta, objects.tree_of(*start)?)?.is_ok();
            }
            if landed {
                units.push(piece.delta.clone());
            }
        }
        if units.is_empty() {
            units.extend(self.steps.iter().map(|s| s.delta.clone()));
        }
        Ok(units)
    }

    /// If `tip` only takes the trunk in and adds nothing: the fork before it did.
    pub fn before_merge(&self, tester: &mut Tester<'_>, objects: &Objects, tip: Oid) -> Result<Option<Oid>> {
        if !self.merges.contains(&tip) || !matches!(self.addition(tester, objects, tip)?, Addition::Nothing) {
            return Ok(None);
        }
        let parents = objects.commit(tip)?.parents;
        let mine: Vec<&Oid> = parents.iter().filter(|p| self.own.contains(p)).collect();
        Ok(if let [mine] = mine[..] { Some(*mine) } else { None })
    }

    /// What merge `oid` adds of its own.
    pub fn addition(&self, tester: &mut Tester<'_>, objects: &Objects, oid: Oid) -> Result<Addition> {
        let merge = objects.commit(oid)?;
        for parent in &merge.parents {
            // It took the trunk's tree as it was.
            if !self.own.contains(parent) && objects.tree_of(*parent)? == merge.tree {
                return Ok(Addition::Nothing);
            }
        }
        let [ours, theirs] = merge.parents[..] else { return Ok(Addition::Opaque) };
        let [base] = objects.merge_bases(ours, theirs)?[..] else { return Ok(Addition::Opaque) };
        let (base, ours, theirs) = (objects.tree_of(base)?, objects.tree_of(ours)?, objects.tree_of(theirs)?);
        let mut addition = Addition::Opaque;
        for renames in [Renames::Follow, Renames::Ignore] {
            if let Merged::Clean(tree) = tester.merger().trees(base, ours, theirs, renames)? {
                if tree == merge.tree {
                    return Ok(Addition::Nothing);
                }
                if matches!(addition, Addition::Opaque) {
                    addition = Addition::Known(Delta::between(objects, tree, merge.tree)?);
                }
            }
        }
        Ok(addition)
    }
}

/// `None` if `oid` is a merge.
fn step(objects: &Objects, oid: Oid) -> Result<Option<Step>> {
    let commit = objects.commit(oid)?;
    if commit.parents.len() > 1 {
        return Ok(None);
    }
    let delta = own_change(objects, &commit)?;
    Ok(Some(Step { oid, raw: RawDigest::of(&delta.changes), delta }))
}

/// What `commit` changes against its first parent.
pub fn own_change(objects: &Objects, commit: &Commit) -> Result<Delta> {
    let before = match commit.parents.first() {
        Some(parent) => objects.tree_of(*parent)?,
        None => objects.empty_tree(),
    };
    Delta::between(objects, before, commit.tree)
}

/// The first-parent line after `base` up to `tip`, oldest first; `None` if it does not come from `base`.
fn chain(objects: &Objects, base: Oid, tip: Oid, all: &[Oid]) -> Result<Option<Vec<Oid>>> {
    let range: HashSet<&Oid> = all.iter().collect();
    let (mut line, mut next) = (Vec::new(), Some(tip));
    while let Some(oid) = next.filter(|o| range.contains(o)) {
        line.push(oid);
        next = objects.commit(oid)?.parents.first().copied();
    }
    line.reverse();
    Ok((next == Some(base)).then_some(line))
}

fn pieces(objects: &Objects, chain: &[Oid], beyond: &HashSet<Oid>) -> Result<Vec<Piece>> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut joined = false;
    for oid in chain {
        let commit = objects.commit(*oid)?;
        let (own, merge) = (beyond.contains(oid), commit.parents.len() > 1);
        if merge && own {
            joined = false;
            continue;
        }
        match pieces.last_mut().filter(|p| joined && p.own == own) {
            Some(piece) => {
                piece.commits.push(*oid);
                piece.delta = Delta::between(objects, piece.delta.base, commit.tree)?;
            }
            None => {
                let before = match commit.parents.first() {
                    Some(parent) => objects.tree_of(*parent)?,
                    None => objects.empty_tree(),
                };
                let delta = Delta::between(objects, before, commit.tree)?;
                pieces.push(Piece { delta, commits: vec![*oid], own });
            }
        }
        joined = true;
    }
    Ok(pieces)
}
