//! "Landed?": gathers the facts about a fork and a trunk, for `domain::landed` to decide. Everything is
//! tried in an order that stops early, in a store that leaves no trace, and each try is told.

mod contain;
mod fork;
mod presence;
mod search;
mod upstream;

#[cfg(test)]
mod tests;

use crate::domain::Facts;
use crate::domain::Failure;
use crate::domain::Net;
use crate::domain::Oid;
use crate::domain::Presence;
use crate::domain::Proof;
use crate::domain::RawDigest;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::Unknown;
use crate::domain::Verdict;
use crate::domain::decide;
use crate::plumbing::CommitGraph;
use crate::plumbing::History;
use crate::plumbing::Objects;
use crate::plumbing::Renames;
use crate::verbs::proof::contain::Delta;
use crate::verbs::proof::contain::Tester;
use crate::verbs::proof::fork::Fork;
use crate::verbs::proof::presence::Landing;
use crate::verbs::proof::presence::presence;
use crate::verbs::proof::upstream::Upstream;
use serde::Serialize;
use std::collections::HashMap;
use std::rc::Rc;

/// Has what lies between `base` and `tip` landed on `onto`?
#[derive(Debug, Clone)]
pub struct Question {
    pub base: Oid,
    /// The commit of the trunk that the base was made on, if the base holds more: uncommitted changes, or the work of
    /// another worker. What that commit has already proves nothing, though the base has something else.
    pub committed: Option<Oid>,
    pub tip: Oid,
    pub onto: Oid,
    /// The repository's history is cut off.
    pub shallow: bool,
    /// Landings that the lane records for this fork.
    pub receipts: Vec<Receipt>,
    /// The commits after the base up to `onto`, if they were read already.
    pub trunk: Option<Rc<History>>,
}

impl Question {
    /// Where the fork left the trunk.
    fn start(&self) -> Oid {
        self.committed.unwrap_or(self.base)
    }
}

/// A landing as the lane records it.
#[derive(Debug, Clone)]
pub struct Receipt {
    /// Each commit of the fork with the commit that it became.
    pub landed: Vec<(Oid, Oid)>,
    /// The trunk before and after.
    pub old: Oid,
    pub new: Oid,
    /// Of the difference between `old` and `new`.
    pub landed_raw: RawDigest,
    /// Of the fork's net difference when it landed.
    pub delta_raw: RawDigest,
}

/// One thing that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    pub test: &'static str,
    pub oids: Vec<Oid>,
    pub holds: bool,
    pub note: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct Answer {
    pub verdict: Verdict,
    /// What was tried, in order.
    pub explain: Vec<Line>,
}

/// Answers `question`. Nothing is written. What cannot be read makes the answer `unknown`.
pub fn prove(objects: &Objects, question: &Question) -> Result<Answer> {
    prove_by(objects, &Rc::default(), question)
}

/// The same, by a graph that spares the reading of most commits of the trunk. What stands at the trunk's tip is
/// there whatever a graph says; that it was there before is not believed of git's own graph alone.
pub fn prove_by(objects: &Objects, graph: &Rc<CommitGraph>, question: &Question) -> Result<Answer> {
    let answer = answer(objects, graph, question)?;
    match answer.verdict {
        Verdict::Landed { presence: Presence::Changed | Presence::Reverted, .. } if graph.has_used_git() => {
            let question = Question { trunk: None, ..question.clone() };
            self::answer(objects, &Rc::new(graph.without_git()), &question)
        }
        _ => Ok(answer),
    }
}

fn answer(objects: &Objects, graph: &Rc<CommitGraph>, question: &Question) -> Result<Answer> {
    let scratch = objects.scratch()?;
    let mut gather = Gather {
        objects: &scratch,
        graph,
        question,
        tip: question.tip,
        tester: Tester::new(&scratch),
        facts: Facts::default(),
        explain: Vec::new(),
    };
    match gather.run() {
        Ok(()) => {}
        Err(Failure::Fault(fault)) => {
            let detail = format!("{}: {}", fault.doing, fault.cause);
            gather.facts = Facts { unknown: Some((Unknown::Unreadable, detail)), ..Facts::default() };
        }
        Err(Failure::Refusal(refusal)) if refusal.token == Token::ObjectsMissing => {
            let detail = refusal.lines.first().cloned().unwrap_or(refusal.says);
            gather.facts = Facts { unknown: Some((Unknown::Unreadable, detail)), ..Facts::default() };
        }
        Err(refusal) => return Err(refusal),
    }
    let mut verdict = decide(&gather.facts);
    if question.shallow && matches!(verdict, Verdict::Partial { .. } | Verdict::NotLanded { .. }) {
        // What is cut off may hold the rest.
        gather.unknown(Unknown::Shallow, "the history is cut off: git fetch --unshallow");
        verdict = decide(&gather.facts);
    }
    Ok(Answer { verdict, explain: gather.explain })
}

/// Where a revision left the trunk.
#[derive(Debug, Clone)]
pub struct Left {
    pub base: Oid,
    /// The trunk after it, where that was read on the way.
    pub trunk: Option<Rc<History>>,
}

/// The base of a revision that has none recorded: the merge base with `onto`, and where that is the
/// revision itself, its first parent.
pub fn base_of(
    objects: &Objects,
    graph: &Rc<CommitGraph>,
    rev: Oid,
    onto: Oid,
) -> Result<std::result::Result<Left, Unknown>> {
    if let Some((base, trunk)) = History::after_fork(objects, graph, onto, rev)? {
        return Ok(Ok(Left { base, trunk: Some(Rc::new(trunk)) }));
    }
    let bases = match History::fork_point(objects, graph, onto, rev)? {
        Some(base) => vec![base],
        None => objects.merge_bases(rev, onto)?,
    };
    let left = |base| Left { base, trunk: None };
    Ok(match bases[..] {
        [] => Err(Unknown::Unrelated),
        [base] if base != rev => Ok(left(base)),
        [_] => objects.commit(rev)?.parents.first().map(|base| left(*base)).ok_or(Unknown::Root),
        _ => Err(Unknown::ManyBases),
    })
}

struct Gather<'a> {
    objects: &'a Objects,
    graph: &'a Rc<CommitGraph>,
    question: &'a Question,
    /// The tip without the merges at its end that only take the trunk in.
    tip: Oid,
    tester: Tester<'a>,
    facts: Facts,
    explain: Vec<Line>,
}

impl Gather<'_> {
    fn say(&mut self, test: &'static str, oids: &[Oid], holds: bool, note: impl Into<String>) {
        self.explain.push(Line { test, oids: oids.to_vec(), holds, note: note.into() });
    }

    fn unknown(&mut self, why: Unknown, detail: impl Into<String>) {
        let detail = detail.into();
        self.say("known", &[], false, format!("{}: {detail}", why.as_str()));
        self.facts.unknown = Some((why, detail));
    }

    fn run(&mut self) -> Result<()> {
        let Question { base, tip, onto, shallow, .. } = *self.question;
        let objects = self.objects;
        if base == tip {
            self.say("commits", &[base, tip], false, "there is no commit between base and tip");
            self.facts.commits = Some(0);
            return Ok(());
        }
        if let Some(gone) = [base, tip, onto].into_iter().find(|oid| !objects.exists(*oid)) {
            self.unknown(Unknown::Unreadable, format!("{gone} is missing"));
            return Ok(());
        }
        if !objects.is_ancestor(base, tip)? {
            self.unknown(Unknown::BaseNotInTip, format!("{base} is not an ancestor of {tip}"));
            return Ok(());
        }
        let trunk = match (&self.question.trunk, self.question.committed) {
            (Some(trunk), None) => Rc::clone(trunk),
            _ => self.history(self.question.start(), onto)?,
        };
        let mut fork = Fork::read(objects, base, tip, onto, &trunk)?;
        self.facts.commits = Some(fork.all.len());
        loop {
            let tip = self.tip;
            if !fork.took_trunk_in() && objects.tree_of(base)? == objects.tree_of(tip)? {
                self.say("commits", &[base, tip], false, "base and tip have the same tree");
                self.facts.net = Net::Nothing;
                return Ok(());
            }
            if let Some(receipt) = self.whole_receipt(&fork)? {
                return self.landed_by_receipt(&fork, &receipt);
            }
            // What a merge added cannot be told where the history of its sides is cut off.
            if shallow && !fork.is_straight() {
                break;
            }
            let Some(before) = fork.before_merge(&mut self.tester, objects, tip)? else { break };
            self.say("merge", &[tip, before], true, "the tip only takes the trunk in");
            self.tip = before;
            fork = Fork::read(objects, base, before, onto, &trunk)?;
        }
        if !trunk.comes_from_base() {
            let base = self.question.start();
            self.unknown(Unknown::BaseNotInTrunk, format!("{base} is not an ancestor of {onto}"));
            return Ok(());
        }
        if fork.own.is_empty() {
            return self.ancestor(trunk);
        }
        self.say("ancestor", &[self.tip, onto], false, "the trunk does not have the tip");
        if shallow && !fork.is_straight() {
            self.unknown(
                Unknown::Shallow,
                "the history is cut off, and the fork holds merges: git fetch --unshallow",
            );
            return Ok(());
        }
        self.search(&fork, trunk)
    }

    fn history(&self, base: Oid, tip: Oid) -> Result<Rc<History>> {
        Ok(Rc::new(History::read(self.objects, self.graph, base, tip)?))
    }

    /// A receipt for the whole of the fork as it is now.
    fn whole_receipt(&mut self, fork: &Fork) -> Result<Option<Receipt>> {
        let net = self.net_from_base(self.tip)?;
        let raw = RawDigest::of(&net.changes);
        for receipt in &self.question.receipts {
            let oids = [receipt.old, receipt.new];
            if receipt.delta_raw != raw {
                self.say("receipt", &oids, false, "it is for another state of the fork");
                continue;
            }
            let why_not = self.receipt_fails(fork, receipt, &net)?;
            self.say("receipt", &oids, why_not.is_none(), why_not.clone().unwrap_or_default());
            if why_not.is_none() {
                return Ok(Some(receipt.clone()));
            }
        }
        Ok(None)
    }

    /// The commits of the fork for which receipts hold that were written when it was shorter.
    fn received(&mut self, fork: &Fork) -> Result<HashMap<Oid, Oid>> {
        let mut received = HashMap::new();
        for receipt in &self.question.receipts {
            let tip = fork.all.iter().rev().find(|c| receipt.landed.iter().any(|pair| pair.0 == **c));
            let Some(tip) = tip else { continue };
            let net = self.net_from_base(*tip)?;
            if RawDigest::of(&net.changes) == receipt.delta_raw
                && self.receipt_fails(fork, receipt, &net)?.is_none()
            {
                self.say("receipt", &[receipt.old, receipt.new, *tip], true, "for the fork up to here");
                let known: HashMap<Oid, Oid> = receipt.landed.iter().copied().collect();
                let until = self.objects.between(self.question.base, *tip)?;
                received
                    .extend(until.into_iter().map(|c| (c, known.get(&c).copied().unwrap_or(receipt.new))));
            }
        }
        Ok(received)
    }

    fn net_from_base(&self, tip: Oid) -> Result<Delta> {
        let objects = self.objects;
        Delta::between(objects, objects.tree_of(self.question.base)?, objects.tree_of(tip)?)
    }

    /// A receipt is only a claim. What it says of the landing is computed again from the landing.
    fn receipt_fails(&mut self, fork: &Fork, receipt: &Receipt, net: &Delta) -> Result<Option<String>> {
        let objects = self.objects;
        let say = |why: &str| Ok(Some(why.to_owned()));
        if net.is_empty() {
            return say("the fork changes nothing");
        }
        if !objects.exists(receipt.new) || !objects.is_ancestor(receipt.new, self.question.onto)? {
            return say("the trunk does not have the landing");
        }
        if !objects.exists(receipt.old) || !objects.is_ancestor(receipt.old, receipt.new)? {
            return say("the landing does not come after the trunk that it names");
        }
        let (old, new) = (objects.tree_of(receipt.old)?, objects.tree_of(receipt.new)?);
        let landing = Delta::between(objects, old, new)?;
        if landing.is_empty() || RawDigest::of(&landing.changes) != receipt.landed_raw {
            return say("the landing has another identity than the receipt says");
        }
        let between = objects.between(receipt.old, receipt.new)?;
        let pairs_fit = |(mine, theirs): &(Oid, Oid)| fork.all.contains(mine) && between.contains(theirs);
        if !receipt.landed.iter().all(pairs_fit) {
            return say("it names commits that are not in the fork or not in the landing");
        }
        if RawDigest::of(&net.changes) == receipt.landed_raw {
            return Ok(None);
        }
        for renames in [Renames::Ignore, Renames::Follow] {
            if self.tester.merger().trees(net.base, old, net.tip, renames)?.is_tree(new)
                || self.tester.merger().trees(net.base, new, net.tip, renames)?.is_tree(new)
            {
                return Ok(None);
            }
        }
        // A person may have resolved a conflict; but a landing that touches none of it is of something else.
        let shared = landing.changes.iter().any(|l| net.changes.iter().any(|n| n.path == l.path));
        if shared { Ok(None) } else { say("the landing touches no path of the fork") }
    }

    fn landed_by_receipt(&mut self, fork: &Fork, receipt: &Receipt) -> Result<()> {
        let objects = self.objects;
        let (old, new) = (objects.tree_of(receipt.old)?, objects.tree_of(receipt.new)?);
        let unit = Delta::between(objects, old, new)?;
        let paths = fork.paths().chain(unit.changes.iter().map(|c| c.path.as_ref()));
        let history = self.history(receipt.old, self.question.onto)?;
        let upstream = Upstream::read(objects, history, self.question.onto, paths)?;
        let alone = objects.commit(receipt.new)?.parents.first() == Some(&receipt.old);
        let landing = self.landing(fork, &upstream, vec![unit], receipt.new, alone.then_some(receipt.new))?;
        self.settle(Proof::Receipt, receipt.new, &landing)
    }

    /// The trunk has the tip itself.
    fn ancestor(&mut self, trunk: Rc<History>) -> Result<()> {
        let Question { base, onto, .. } = *self.question;
        let (objects, tip) = (self.objects, self.tip);
        self.say("ancestor", &[tip, onto], true, "the trunk has the tip");
        let trunk = if self.question.committed.is_some() { self.history(base, onto)? } else { trunk };
        let entry = trunk.entry(tip)?.unwrap_or(onto);
        // Seen from the trunk as it was before, the fork's own work is told from the trunk's.
        let before = match objects.commit(entry)?.parents.first() {
            Some(parent) if entry != tip && objects.is_ancestor(base, *parent)? => *parent,
            _ => base,
        };
        let fork = Fork::read(objects, base, tip, before, self.history(base, before)?.as_ref())?;
        let upstream = Upstream::read(objects, trunk, onto, fork.paths())?;
        let units = fork.units(&mut self.tester, objects)?;
        let landing = self.landing(&fork, &upstream, units, tip, (entry != tip).then_some(entry))?;
        self.settle(Proof::Ancestor, tip, &landing)
    }

    /// What came in with commit `at`; `commit` made that change, if one did alone.
    fn landing<'u>(
        &self,
        fork: &'u Fork,
        upstream: &'u Upstream,
        units: Vec<Delta>,
        at: Oid,
        commit: Option<Oid>,
    ) -> Result<Landing<'u>> {
        let entry = upstream.entry(at)?;
        Ok(Landing { units, commit, entry, merged: entry != at, upstream, fork })
    }

    fn settle(&mut self, proof: Proof, at: Oid, landing: &Landing<'_>) -> Result<()> {
        let tip = self.objects.tree_of(self.question.onto)?;
        let (presence, why) = presence(&mut self.tester, self.objects, landing, tip)?;
        self.say("presence", &[self.question.onto], presence == Presence::Yes, why);
        self.facts.proofs.push((proof, at));
        self.facts.presence = Some(presence);
        Ok(())
    }
}
