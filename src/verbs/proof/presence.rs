//! Is what landed still there? The same merge test at the trunk's tip; if it fails, the trunk is read
//! backwards to the landing, and the newest commit that has all of it, or none of it, decides.

use crate::domain::Change;
use crate::domain::Oid;
use crate::domain::Presence;
use crate::domain::RawDigest;
use crate::domain::Result;
use crate::plumbing::Objects;
use crate::verbs::proof::contain::Delta;
use crate::verbs::proof::contain::Tester;
use crate::verbs::proof::fork::Fork;
use crate::verbs::proof::fork::Step;
use crate::verbs::proof::fork::own_change;
use crate::verbs::proof::upstream::Upstream;
use bstr::BStr;
use bstr::ByteSlice;
use std::collections::HashSet;

/// So many commits of the trunk, the newest that touch its paths, are looked at as parts of it that landed by themselves.
const PARTS: usize = 200;

/// What landed, where, and what came after it.
pub struct Landing<'a> {
    /// Changes that must all be there.
    pub units: Vec<Delta>,
    /// The commit that made the landing's change alone, if one did.
    pub commit: Option<Oid>,
    /// The commit on the trunk's first-parent line where it came in.
    pub entry: Oid,
    /// It came in by merging a branch.
    pub merged: bool,
    pub upstream: &'a Upstream,
    pub fork: &'a Fork,
}

/// The presence at tree `tip`, and why.
pub fn presence(
    tester: &mut Tester<'_>,
    objects: &Objects,
    landing: &Landing<'_>,
    tip: Oid,
) -> Result<(Presence, String)> {
    let mut missing = None;
    for unit in &landing.units {
        if let Err(why) = tester.holds(unit, tip)? {
            missing = Some(why);
            break;
        }
    }
    if missing.is_none() && !landing.units.is_empty() {
        return Ok((Presence::Yes, "the tip has all of it".to_owned()));
    }
    for unit in &landing.units {
        if let Some(why) = taken_back(tester, landing, unit, tip)? {
            return Ok((Presence::Reverted, why));
        }
    }
    if let Some(why) = landing.steps_undone() {
        return Ok((Presence::Reverted, why));
    }
    if let Some(why) = landing.part_gone(tester, objects, tip)? {
        return Ok((Presence::Reverted, why));
    }
    if let Some(why) = landing.commit_undone(objects)? {
        return Ok((Presence::Reverted, why));
    }
    // A merge that changes none of its paths, as strategy `ours` makes it, never brought it to the line.
    if landing.merged && !landing.upstream.line().any(|t| t.oid == landing.entry) {
        let entry = objects.tree_of(landing.entry)?;
        for unit in &landing.units {
            if tester.holds(unit, entry)?.is_err() {
                return Ok((Presence::Reverted, "the merge took nothing of it".to_owned()));
            }
        }
    }
    Ok((Presence::Changed, missing.unwrap_or_default()))
}

/// Of `step`, the paths that the later commits of the fork left as they are; `None` if that is all or nothing of it. Its
/// other paths may have been gone over, and then the fork's end does not have all of it.
fn untouched(objects: &Objects, step: &Delta, net: &Delta) -> Result<Option<Delta>> {
    let mut changes = Vec::new();
    for change in &step.changes {
        if objects.entry_at(net.tip, change.path.as_ref())? == change.new {
            changes.push(change.clone());
        }
    }
    if changes.is_empty() || changes.len() == step.changes.len() {
        return Ok(None);
    }
    let tip = objects.edit_tree(step.base, changes.iter().map(|change| (change.path.clone(), change.new)))?;
    Ok(Some(Delta { base: step.base, tip, changes }))
}

/// Where the newest commit that has all of `unit` or none of it has none.
fn taken_back(
    tester: &mut Tester<'_>,
    landing: &Landing<'_>,
    unit: &Delta,
    tip: Oid,
) -> Result<Option<String>> {
    if tester.holds(unit, tip)?.is_ok() {
        return Ok(None);
    }
    if tester.gone(unit, tip)? {
        return Ok(Some("the tip has nothing of it".to_owned()));
    }
    for touch in landing.upstream.line_since(landing.entry) {
        if tester.holds(unit, touch.tree)?.is_ok() {
            return Ok(None);
        }
        if tester.gone(unit, touch.tree)? {
            return Ok(Some(format!("{} has nothing of it", touch.oid)));
        }
    }
    Ok(None)
}

impl Landing<'_> {
    /// A commit of the fork was taken back on the trunk more often than it was made again.
    fn steps_undone(&self) -> Option<String> {
        let inverse = |step: &Step| RawDigest::of(&step.delta.inverse().changes);
        let fork: Vec<(&RawDigest, RawDigest)> =
            self.fork.steps.iter().chain(&self.fork.carried).map(|s| (&s.raw, inverse(s))).collect();
        for step in &self.fork.steps {
            let made = fork.iter().filter(|s| *s.0 == step.raw).count() as i64;
            let unmade = fork.iter().filter(|s| s.1 == step.raw).count() as i64;
            let landed = self.upstream.touches.iter().any(|t| !t.merge && t.raw == step.raw);
            if landed && self.upstream.balance(&step.raw, &inverse(step)) < made - unmade {
                return Some(format!("commit {} was taken back", step.oid));
            }
        }
        None
    }

    /// A commit of the fork, or one of the trunk that made a part of the fork's work and nothing else, of which the fork's
    /// end still has all and the trunk has nothing: it was taken back by itself. Its digest does not show that where
    /// other work has changed the same files.
    fn part_gone(&self, tester: &mut Tester<'_>, objects: &Objects, tip: Oid) -> Result<Option<String>> {
        let [net] = &self.fork.nets[..] else { return Ok(None) };
        for step in self.fork.steps.iter().filter(|_| self.fork.steps.len() > 1) {
            let mut parts = vec![step.delta.clone()];
            parts.extend(untouched(objects, &step.delta, net)?);
            for part in &parts {
                if self.vanished(tester, part, (net, self.entry), tip)? {
                    return Ok(Some(format!("nothing is left of commit {}", step.oid)));
                }
            }
        }
        let paths: HashSet<&BStr> = self.fork.paths().collect();
        for touch in self.upstream.line().take(PARTS) {
            let part = own_change(objects, &objects.commit(touch.oid)?)?;
            let inside = part.changes.iter().all(|change| paths.contains(change.path.as_bstr()));
            if inside && self.vanished(tester, &part, (net, touch.oid), tip)? {
                return Ok(Some(format!("nothing is left of {}, which made a part of it", touch.oid)));
            }
        }
        Ok(None)
    }

    /// Whether the newest commit since `from` that has all of `part` or nothing of it has nothing, though the end of `net`
    /// has all of it.
    fn vanished(
        &self,
        tester: &mut Tester<'_>,
        part: &Delta,
        (net, from): (&Delta, Oid),
        tip: Oid,
    ) -> Result<bool> {
        let inverse = part.inverse();
        if !tester.gone(&inverse, net.tip)? || tester.gone(part, net.tip)? {
            return Ok(false);
        }
        let mut seen = None;
        let line = self.upstream.line_since(from).map(|touch| touch.tree);
        for tree in std::iter::once(tip).chain(line) {
            // Trees that are alike at its paths have the same of it.
            let there = tester.there(part, tree)?;
            if seen.as_ref() == Some(&there) {
                continue;
            }
            seen = Some(there);
            if tester.gone(&inverse, tree)? {
                return Ok(false);
            }
            if tester.gone(part, tree)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The newest event on the first-parent line that makes or unmakes exactly the change of the landing
    /// commit unmakes it.
    fn commit_undone(&self, objects: &Objects) -> Result<Option<String>> {
        let Some(at) = self.commit else { return Ok(None) };
        let changes = objects.changes_of(at)?;
        let inverse = RawDigest::of(&changes.iter().map(Change::inverse).collect::<Vec<Change>>());
        let raw = RawDigest::of(&changes);
        let mut events = self.upstream.line_since(self.entry).filter(|t| t.oid != at);
        let newest = events.find(|t| t.raw == raw || t.raw == inverse);
        Ok(newest.filter(|t| t.raw == inverse).map(|t| format!("{} is the exact inverse", t.oid)))
    }
}
