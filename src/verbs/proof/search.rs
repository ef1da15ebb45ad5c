//! The proofs for a fork whose tip the trunk does not have, strongest first: its commits one by one by
//! digest, its net against one commit, the merge test along the trunk, and the merge test piece by piece.

use crate::domain::Mode;
use crate::domain::Net;
use crate::domain::Oid;
use crate::domain::Presence;
use crate::domain::Proof;
use crate::domain::RawDigest;
use crate::domain::Result;
use crate::plumbing::History;
use crate::verbs::proof::Gather;
use crate::verbs::proof::contain::Delta;
use crate::verbs::proof::fork::Addition;
use crate::verbs::proof::fork::Fork;
use crate::verbs::proof::fork::Step;
use crate::verbs::proof::upstream::Touch;
use crate::verbs::proof::upstream::Upstream;
use bstr::BString;
use std::collections::HashMap;
use std::rc::Rc;

/// Once the tip test holds, a longer history is not read just to name a stronger proof, unless it is known.
const NAMING: usize = 5000;

/// What is known of the parts of a fork.
struct Parts<'f> {
    fork: &'f Fork,
    upstream: &'f Upstream,
    /// Commits of the fork with the commits of the trunk that prove them.
    twins: HashMap<Oid, Oid>,
    /// All twins come from receipts.
    received: bool,
    /// No merge of the fork adds anything of its own.
    plain: bool,
    /// Merges whose own content is not proven.
    opaque: Vec<Oid>,
}

impl Gather<'_> {
    pub(super) fn search(&mut self, fork: &Fork, trunk: Rc<History>) -> Result<()> {
        let onto = self.question.onto;
        let objects = self.objects;
        if fork.is_absorbed() {
            self.facts.net = Net::Absorbed;
        }
        let at_tip = self.nets_hold(fork, onto, objects.tree_of(onto)?, true)?;
        let received = self.received(fork)?;
        if at_tip && received.is_empty() && !fork.took_trunk_in() && trunk.strange() > NAMING {
            self.say("exact", &[onto], false, "not searched: the history since the base is long");
            self.facts.proofs.push((Proof::Contained, onto));
            self.facts.presence = Some(Presence::Yes);
            return Ok(());
        }
        let upstream = Upstream::read(objects, trunk, onto, fork.paths())?;
        let parts = self.parts(fork, &upstream, received)?;
        let Some((proof, at, alone)) = self.proof(&parts, at_tip)? else { return Ok(()) };
        let units = fork.units(&mut self.tester, objects)?;
        let landing = self.landing(fork, &upstream, units, at, alone.then_some(at))?;
        self.settle(proof, at, &landing)
    }

    /// The strongest proof with the commit that shows it, and whether that commit alone landed it.
    fn proof(&mut self, parts: &Parts<'_>, at_tip: bool) -> Result<Option<(Proof, Oid, bool)>> {
        if let Some(at) = self.exact(parts) {
            let proof = if parts.received { Proof::Receipt } else { Proof::Exact };
            return Ok(Some((proof, at, false)));
        }
        if let Some(at) = self.range(parts)? {
            return Ok(Some((Proof::Range, at, true)));
        }
        if let Some(at) = self.contained(parts, at_tip)? {
            return Ok(Some((Proof::Contained, at, true)));
        }
        if let Some((proof, at)) = self.piecewise(parts)? {
            return Ok(Some((proof, at, false)));
        }
        Ok(self.each_commit(parts)?.map(|at| (Proof::Contained, at, false)))
    }

    /// The merge test of the whole fork at one commit.
    fn nets_hold(&mut self, fork: &Fork, at: Oid, tree: Oid, tell: bool) -> Result<bool> {
        if fork.is_absorbed() {
            return Ok(false);
        }
        let mut why_not = None;
        if let Some(committed) = self.question.committed {
            let before = self.objects.tree_of(committed)?;
            let mut all = true;
            for net in &fork.nets {
                all = all && self.tester.holds(net, before)?.is_ok();
            }
            if all {
                why_not = Some("it only takes back what its base has beyond the trunk".to_owned());
            }
        }
        for net in &fork.nets {
            if let Err(why) = self.tester.holds(net, tree)? {
                why_not = Some(why);
                break;
            }
        }
        let holds = why_not.is_none();
        if tell || holds {
            self.say("contained", &[at], holds, why_not.unwrap_or_default());
        }
        Ok(holds)
    }

    fn parts<'f>(
        &mut self,
        fork: &'f Fork,
        upstream: &'f Upstream,
        received: HashMap<Oid, Oid>,
    ) -> Result<Parts<'f>> {
        let all_received = !received.is_empty() && fork.steps.iter().all(|s| received.contains_key(&s.oid));
        let mut twins = upstream.twins(self.objects, fork)?;
        twins.extend(received);
        let (mut plain, mut opaque) = (true, Vec::new());
        for merge in &fork.merges {
            let proven = match fork.addition(&mut self.tester, self.objects, *merge)? {
                Addition::Nothing => continue,
                Addition::Opaque => None,
                Addition::Known(delta) => self.on_line(fork, upstream, &delta, true)?,
            };
            plain = false;
            self.say("merge", &[*merge], proven.is_some(), "it adds something of its own");
            if proven.is_none() {
                opaque.push(*merge);
            }
        }
        Ok(Parts { fork, upstream, twins, received: all_received, plain, opaque })
    }

    fn exact(&mut self, parts: &Parts<'_>) -> Option<Oid> {
        let steps = &parts.fork.steps;
        let missing = steps.iter().filter(|s| !parts.twins.contains_key(&s.oid)).count();
        let holds = !steps.is_empty() && missing == 0 && parts.plain;
        let note = match (missing, parts.plain) {
            (0, true) => String::new(),
            (0, false) => "a merge of the fork adds something of its own".to_owned(),
            _ => format!("{missing} of {} commits have no twin", steps.len()),
        };
        let at = parts.upstream.newest(steps.iter().filter_map(|s| parts.twins.get(&s.oid)).copied());
        self.say("exact", at.as_slice(), holds, note);
        at.filter(|_| holds)
    }

    fn range(&mut self, parts: &Parts<'_>) -> Result<Option<Oid>> {
        let [net] = &parts.fork.nets[..] else { return Ok(None) };
        if net.is_empty() {
            return Ok(None);
        }
        let raw = RawDigest::of(&net.changes);
        let found = parts.upstream.by_digest(self.objects, parts.fork, &raw, self.tip)?;
        if let Some(at) = found {
            self.say("range", &[at], true, "it makes exactly the net difference");
        }
        Ok(found)
    }

    /// The commit where the newest run of commits begins that have the whole fork.
    fn contained(&mut self, parts: &Parts<'_>, at_tip: bool) -> Result<Option<Oid>> {
        let mut at = at_tip.then_some(self.question.onto);
        let (mut tried, mut run) = (0, 0);
        for touch in self.line_after_starts(parts.fork, parts.upstream)? {
            tried += 1;
            if self.nets_hold(parts.fork, touch.oid, touch.tree, false)? {
                at = Some(touch.oid);
                run += 1;
            } else if at.is_some() {
                break;
            }
            if run > NAMING {
                break;
            }
        }
        if at.is_none() {
            self.say("contained", &[], false, format!("{tried} commits touch its paths, none has all of it"));
        }
        Ok(at)
    }

    /// The touches on the trunk's first-parent line that have every start of the fork's nets: at an older
    /// commit, what the fork removes may be missing because it was not there yet.
    fn line_after_starts<'u>(&self, fork: &Fork, upstream: &'u Upstream) -> Result<Vec<&'u Touch>> {
        let known = |start: &Oid| if *start == self.question.base { self.question.start() } else { *start };
        let entries: Result<Vec<Oid>> =
            fork.starts.iter().map(|start| upstream.entry(known(start))).collect();
        let newest = upstream.newest(entries?);
        Ok(newest.map(|entry| upstream.line_since(entry).collect()).unwrap_or_default())
    }

    /// The merge test of a part of the fork along the trunk, tip first. A part that the base has already,
    /// such as taking back what the fork itself had added, is no proof of anything.
    fn on_line(
        &mut self,
        fork: &Fork,
        upstream: &Upstream,
        delta: &Delta,
        late: bool,
    ) -> Result<Option<Oid>> {
        let (base, onto) = (self.question.start(), self.question.onto);
        if self.base_holds(delta)? {
            return Ok(None);
        }
        if self.tester.holds(delta, self.objects.tree_of(onto)?)?.is_ok() {
            return Ok(Some(onto));
        }
        let line = if late {
            self.line_after_starts(fork, upstream)?
        } else {
            upstream.line_since(upstream.entry(base)?).collect()
        };
        for touch in line {
            if self.tester.holds(delta, touch.tree)?.is_ok() {
                return Ok(Some(touch.oid));
            }
        }
        Ok(None)
    }

    /// Whether the base has `delta` already, or the trunk below it has.
    fn base_holds(&mut self, delta: &Delta) -> Result<bool> {
        for start in [Some(self.question.base), self.question.committed].into_iter().flatten() {
            if self.tester.holds(delta, self.objects.tree_of(start)?)?.is_ok() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// For a fork that took the trunk in: each run of its commits by itself, and no merge with content.
    fn piecewise(&mut self, parts: &Parts<'_>) -> Result<Option<(Proof, Oid)>> {
        let fork = parts.fork;
        if !fork.took_trunk_in() || !fork.is_line() || !parts.opaque.is_empty() {
            return Ok(None);
        }
        let (mut proof, mut proofs) = (Proof::Exact, Vec::new());
        for (at, piece) in fork.pieces.iter().flatten().enumerate() {
            if !piece.own || piece.delta.is_empty() {
                continue;
            }
            let steps: Vec<&Step> = fork.steps.iter().filter(|s| piece.commits.contains(&s.oid)).collect();
            let twins: Option<Vec<Oid>> = steps.iter().map(|s| parts.twins.get(&s.oid).copied()).collect();
            let raw = RawDigest::of(&piece.delta.changes);
            let squash = match piece.commits.first() {
                Some(first) => parts.upstream.by_digest(self.objects, fork, &raw, *first)?,
                None => None,
            };
            let found = match (twins.and_then(|t| parts.upstream.newest(t)), squash) {
                (Some(twin), _) => Some((Proof::Exact, twin)),
                (None, Some(squash)) => Some((Proof::Range, squash)),
                _ => self.on_line(fork, parts.upstream, &piece.delta, at > 0)?.map(|u| (Proof::Contained, u)),
            };
            self.say("piece", &piece.commits, found.is_some(), "");
            let Some((kind, shown)) = found else { return Ok(None) };
            proof = proof.max(kind);
            proofs.push(shown);
        }
        // A net of several pieces is not one commit's, and merges with content are only contained.
        if !parts.plain || (proof == Proof::Range && proofs.len() > 1) {
            proof = Proof::Contained;
        }
        Ok(parts.upstream.newest(proofs).map(|at| (proof, at)))
    }

    /// Every commit by itself: by its twin, or by the merge test with its own parent as base, at the tip
    /// or at a commit of the trunk with the same verbatim patch id.
    fn each_commit(&mut self, parts: &Parts<'_>) -> Result<Option<Oid>> {
        let fork = parts.fork;
        let onto = self.question.onto;
        let mut shown = Vec::new();
        self.facts.found = fork.carried.iter().map(|s| s.oid).collect();
        for step in &fork.steps {
            let alike = self.alike(parts.upstream, &step.delta)?;
            let mut at = parts.twins.get(&step.oid).copied();
            if at.is_none() && !self.base_holds(&step.delta)? {
                let exact = alike.iter().filter(|(_, verbatim)| *verbatim).map(|(oid, _)| *oid);
                for candidate in std::iter::once(onto).chain(exact) {
                    if fork.knew(self.objects, step.oid, candidate)? {
                        continue;
                    }
                    let held = self.tester.holds(&step.delta, self.objects.tree_of(candidate)?)?;
                    if held.is_ok() {
                        at = Some(candidate);
                        break;
                    }
                }
            }
            self.say("commit", &[step.oid], at.is_some(), "");
            match at {
                Some(at) => {
                    shown.push(at);
                    self.facts.found.push(step.oid);
                }
                None => {
                    self.facts.missing.push(step.oid);
                    self.facts.similar.extend(alike.iter().map(|(oid, _)| (step.oid, *oid)));
                }
            }
        }
        self.facts.missing.extend(&parts.opaque);
        if let ([net], true) = (&fork.nets[..], fork.steps.len() > 1) {
            let squashes = self.alike(parts.upstream, net)?;
            self.facts.similar.extend(squashes.iter().map(|(oid, _)| (self.tip, *oid)));
        }
        for (mine, theirs) in self.facts.similar.clone() {
            self.say("similar", &[mine, theirs], false, "the same patch id, which proves nothing");
        }
        let all = self.facts.missing.is_empty();
        Ok(parts.upstream.newest(shown).filter(|_| all))
    }

    /// Commits of the trunk with the same stable patch id, newest first; `true` if the verbatim one is the
    /// same too. Ids are computed only where paths and modes agree.
    fn alike(&self, upstream: &Upstream, delta: &Delta) -> Result<Vec<(Oid, bool)>> {
        if delta.is_empty() {
            return Ok(Vec::new());
        }
        let header = |delta: &[crate::domain::Change]| -> Vec<(BString, Option<Mode>, Option<Mode>)> {
            delta.iter().map(|c| (c.path.clone(), c.old.map(|e| e.0), c.new.map(|e| e.0))).collect()
        };
        let (mine, mut ids, mut found) = (header(&delta.changes), None, Vec::new());
        for touch in upstream.touches.iter().rev().filter(|t| !t.merge) {
            let changes = self.objects.changes_of(touch.oid)?;
            if header(&changes) != mine {
                continue;
            }
            let ours = match &ids {
                Some(ids) => ids,
                None => ids.insert(self.objects.patch_ids(&delta.changes)?),
            };
            let theirs = self.objects.patch_ids(&changes)?;
            if theirs.stable == ours.stable {
                found.push((touch.oid, theirs.verbatim == ours.verbatim));
            }
        }
        Ok(found)
    }
}
