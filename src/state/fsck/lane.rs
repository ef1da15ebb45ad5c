//! Lanes: their order, and what each landing says of itself.

use crate::domain::Oid;
use crate::domain::RawDigest;
use crate::domain::RefName;
use crate::domain::Result;
use crate::plumbing::Repo;
use crate::state::fsck::Audit;
use crate::state::fsck::Code;
use crate::state::record::Entry;
use crate::state::record::Landing;
use crate::state::record::LaneRecord;
use crate::state::record::Match;
use crate::state::record::Move;

/// Where the reading of a lane stands.
#[derive(Default)]
struct Reading {
    open: Option<Move>,
    /// The move that ended last: its receipt may be there twice.
    ended: Option<Move>,
    /// A record could not be read; what it was is not known.
    blind: bool,
}

impl Audit<'_> {
    pub(super) fn lane(&mut self, name: &RefName, at: Oid) {
        let chain = self.chain(name, at);
        let cut = chain.first().is_none_or(|(_, _, before)| before.is_some());
        self.blind |= cut;
        let mut reading = Reading { blind: cut, ..Reading::default() };
        for (oid, commit, previous) in chain {
            let Some(record) = self.record::<LaneRecord>(name, oid, commit.tree, "record.json") else {
                reading = Reading { blind: true, ..Reading::default() };
                self.blind = true;
                continue;
            };
            let LaneRecord { op, at, entry, .. } = record;
            let keeps = match entry {
                Entry::Intent(landing) => self.announced(name, oid, &mut reading, landing.into_move(op, at)),
                Entry::Undo(undo) => self.announced(name, oid, &mut reading, undo.to_move(op, at)),
                Entry::Landing(landing) => self.done(name, oid, &mut reading, landing.into_move(op, at)),
                Entry::Undone(undo) => self.done(name, oid, &mut reading, undo.to_move(op, at)),
                Entry::Abandoned { .. } => {
                    let closes = reading.open.take().is_some_and(|open| open.op == op);
                    if !closes && !reading.blind {
                        self.on_commit(Code::MoveUnannounced, name, oid, "it abandons what is not open");
                    }
                    Vec::new()
                }
                Entry::Evidence(_) => {
                    let tree = commit.tree;
                    let output = self.read(name, |repo| repo.objects.entry_at(tree, "output".into()));
                    if output == Some(None) {
                        self.on_commit(Code::FileMissing, name, oid, "output is missing");
                    }
                    Vec::new()
                }
                Entry::Rewritten { commits } => {
                    let keeps = commits.iter().map(|(_, new)| *new).collect();
                    self.rewritten.push((op, commits));
                    keeps
                }
                Entry::Verdict(verdict) => {
                    let keeps = verdict.tip.into_iter().collect();
                    self.given.push((name.clone(), oid, op, verdict));
                    keeps
                }
            };
            let want: Vec<Oid> = previous.into_iter().chain(keeps).collect();
            self.parents(name, oid, &commit, &want);
        }
        if let Some(open) = reading.open {
            let says =
                format!("operation {} has no end yet: it runs, or the next writing verb ends it", open.op);
            self.add(Code::MoveOpen, name, says, format!("git log -3 {name}"));
            self.open.push(open);
        }
    }

    fn announced(&mut self, name: &RefName, at: Oid, reading: &mut Reading, step: Move) -> Vec<Oid> {
        if let Some(open) = &reading.open {
            let says = format!("it begins while operation {} has no end", open.op);
            self.on_commit(Code::MoveUnended, name, at, says);
        }
        let keeps = step.intent_keeps();
        *reading = Reading { open: Some(step), ..Reading::default() };
        keeps
    }

    fn done(&mut self, name: &RefName, at: Oid, reading: &mut Reading, step: Move) -> Vec<Oid> {
        let keeps = vec![step.landing.new];
        match reading.open.take() {
            Some(open) if open == step => {}
            Some(open) if open.op == step.op => {
                self.on_commit(Code::MoveDiffers, name, at, "it is not what was announced");
            }
            None if reading.ended.as_ref() == Some(&step) => return keeps,
            _ if reading.blind => {}
            _ => self.on_commit(Code::MoveUnannounced, name, at, "nothing announced it"),
        }
        let differs = self.read(name, |repo| landing_differs(repo, &step.landing, step.undoes.is_some()));
        if let Some(Some(what)) = differs {
            self.on_commit(Code::MoveDiffers, name, at, what);
        }
        reading.ended = Some(step.clone());
        self.moves.push(step);
        keeps
    }

    /// What each undo says of the operation that it takes back.
    pub(super) fn undos(&mut self) {
        let mut wrong = Vec::new();
        for step in self.moves.iter() {
            let Some(undoes) = step.undoes else { continue };
            let (there, back) = (self.find(undoes).map(|m| &m.landing), &step.landing);
            let mirrors = there.map(|l| l.onto == back.onto && l.old == back.new && l.new == back.old);
            if mirrors == Some(false) || (mirrors.is_none() && !self.blind) {
                wrong.push((step.op, undoes));
            }
        }
        for (op, undoes) in wrong {
            let says = format!("undo {op} is not the way back of operation {undoes}");
            self.add(Code::MoveDiffers, crate::state::names::LANES, says, crate::state::names::LIST_LANES);
        }
    }
}

/// What a landing says that its commits do not bear out.
pub(super) fn landing_differs(repo: &Repo, landing: &Landing, undo: bool) -> Result<Option<&'static str>> {
    let objects = &repo.objects;
    let Landing { old, new, delta, .. } = landing;
    let raw = |from: Oid, to: Oid| -> Result<RawDigest> {
        Ok(RawDigest::of(&objects.diff_trees(objects.tree_of(from)?, objects.tree_of(to)?)?))
    };
    let connected = objects.is_ancestor(*old, *new)? || (undo && objects.is_ancestor(*new, *old)?);
    if !connected {
        return Ok(Some("one end of it is not reachable from the other"));
    }
    let Some(delta) = delta else { return Ok(None) };
    let (fork, landed) = (objects.between(delta.base, delta.tip)?, objects.between(*old, *new)?);
    if !delta.commits.iter().all(|(from, to)| fork.contains(from) && landed.contains(to)) {
        return Ok(Some("it names commits that it did not bring"));
    }
    let (before, after) = (raw(delta.base, delta.tip)?, raw(*old, *new)?);
    Ok(match () {
        () if before != delta.raw => Some("raw is not the digest of the delta"),
        () if after != delta.landed_raw => Some("landed_raw is not the digest of what landed"),
        () if before == after && delta.match_ != Match::Exact => Some("it is exact, but says adjusted"),
        () => None,
    })
}
