//! The lane of this clone: its append-only journal. One writer at a time, under the land lock.

use crate::domain::Failure;
use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::OpId;
use crate::domain::RefName;
use crate::domain::Result;
use crate::domain::WorkerId;
use crate::plumbing::Edit;
use crate::plumbing::Repo;
use crate::state::draft::is_ours;
use crate::state::draft::record_commit;
use crate::state::evidence::Evidence;
use crate::state::evidence::Reads;
use crate::state::names;
use crate::state::record::Entry;
use crate::state::record::LandedDelta;
use crate::state::record::Landing;
use crate::state::record::LaneRecord;
use crate::state::record::Move;
use crate::state::record::Read;
use crate::state::record::Undo;
use crate::state::record::encode;
use crate::state::view::View;
use crate::state::view::read;
use bstr::BString;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// Writes the next record of the lane at `tip`; the ref moves when the edit is published. `keeps` are the
/// objects it speaks of: as parents they live as long as the lane.
pub fn append(
    repo: &Repo,
    clone: &str,
    tip: Option<Oid>,
    record: &LaneRecord,
    output: Option<&[u8]>,
    keeps: &[Oid],
) -> Result<Edit> {
    let blob = repo.objects.write_blob(&encode(record)?)?;
    let mut edits = vec![(BString::from("record.json"), Some((Mode::File, blob)))];
    if let Some(output) = output {
        edits.push(("output".into(), Some((Mode::File, repo.objects.write_blob(output)?))));
    }
    let tree = repo.objects.edit_tree(repo.objects.empty_tree(), edits)?;
    let parents: Vec<Oid> = tip.into_iter().chain(keeps.iter().copied()).collect();
    let new = record_commit(repo, tree, parents, record.at, &subject(record))?;
    Ok(Edit { name: names::lane(clone)?, old: tip, new: Some(new) })
}

impl std::fmt::Display for LaneRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&subject(self))
    }
}

fn subject(record: &LaneRecord) -> String {
    let landing = |l: &Landing| {
        let who =
            l.delta.as_ref().map(|d| format!(" (worker {} delta {})", d.worker, d.n)).unwrap_or_default();
        format!("{} {}..{}{who}", l.onto.short(), l.old.short(), l.new.short())
    };
    let undo = |u: &Undo| {
        format!("{} {}..{} (takes back {})", u.onto.short(), u.old.short(), u.new.short(), u.undoes)
    };
    match &record.entry {
        Entry::Intent(l) => format!("intent: {}", landing(l)),
        Entry::Landing(l) => format!("landing: {}", landing(l)),
        Entry::Undo(u) => format!("undo: {}", undo(u)),
        Entry::Undone(u) => format!("undone: {}", undo(u)),
        Entry::Abandoned { why } => format!("abandoned: {why}"),
        Entry::Evidence(e) => {
            format!("evidence: {} on tree {}: {}", e.ended(), e.tree.short(), e.command)
        }
        Entry::Rewritten { commits } => format!("rewritten: {} of operation {}", commits.len(), record.op),
        Entry::Verdict(v) => {
            let delta = v.delta.map(|n| format!(" delta {n}")).unwrap_or_default();
            let question = v.question.map(|n| format!(" question {n}")).unwrap_or_default();
            format!("verdict: {} worker {}{delta}{question}", v.verb, v.worker)
        }
    }
}

/// The records of one lane, newest first, each with its commit. A record that cannot be read is skipped:
/// it is somebody else's version, and never rewritten.
pub fn records(repo: &Repo, tip: Option<Oid>) -> Result<Vec<(Oid, LaneRecord)>> {
    newest_first(repo, tip).collect()
}

/// Those after the record at `known`, oldest first; all if it is not on the lane.
pub fn records_since(repo: &Repo, tip: Oid, known: Option<Oid>) -> Result<Vec<(Oid, LaneRecord)>> {
    let new = |found: &Result<(Oid, LaneRecord)>| found.as_ref().map_or(true, |(at, _)| Some(*at) != known);
    let mut found: Vec<(Oid, LaneRecord)> =
        newest_first(repo, Some(tip)).take_while(new).collect::<Result<_>>()?;
    found.reverse();
    Ok(found)
}

/// Those of [`records`], read as far as they are asked for.
pub fn newest_first(repo: &Repo, tip: Option<Oid>) -> impl Iterator<Item = Result<(Oid, LaneRecord)>> {
    let mut next = tip;
    let mut behind: Option<Vec<Oid>> = None;
    std::iter::from_fn(move || {
        loop {
            if let Some(parents) = behind.take() {
                match previous(repo, &parents) {
                    Ok(before) => next = before,
                    Err(failure) => return Some(Err(failure)),
                }
            }
            let oid = next.take()?;
            match entry(repo, oid) {
                Ok((record, parents)) => {
                    behind = Some(parents);
                    if let Read::Known(record) = record {
                        return Some(Ok((oid, record)));
                    }
                }
                Err(failure) => return Some(Err(failure)),
            }
        }
    })
}

/// The record at a commit of a lane, and the commit's parents.
fn entry(repo: &Repo, oid: Oid) -> Result<(Read<LaneRecord>, Vec<Oid>)> {
    let commit = repo.objects.commit(oid)?;
    Ok((read(repo, commit.tree, "record.json")?, commit.parents))
}

/// The previous record of a lane is the first parent, unless that is an object the record keeps: the first
/// record of a lane has none before it.
pub(super) fn previous(repo: &Repo, parents: &[Oid]) -> Result<Option<Oid>> {
    let Some(first) = parents.first() else { return Ok(None) };
    let commit = repo.objects.commit(*first)?;
    let ours = is_ours(&commit) && repo.objects.entry_at(commit.tree, "record.json".into())?.is_some();
    Ok(ours.then_some(*first))
}

/// The move announced on the lane of this clone that has no end yet. There is at most one: each writer ends
/// what it finds open before it begins, so the newest announcement or end decides.
pub fn open_move(repo: &Repo, tip: Option<Oid>) -> Result<Option<Move>> {
    for found in newest_first(repo, tip) {
        let (_, LaneRecord { op, at, entry, .. }) = found?;
        match entry {
            Entry::Intent(landing) => return Ok(Some(landing.into_move(op, at))),
            Entry::Undo(undo) => return Ok(Some(undo.to_move(op, at))),
            Entry::Landing(_) | Entry::Undone(_) | Entry::Abandoned { .. } => return Ok(None),
            Entry::Evidence(_) | Entry::Verdict(_) | Entry::Rewritten { .. } => {}
        }
    }
    Ok(None)
}

/// What all lanes together say.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Finished landings, newest first; those taken back too.
    pub landings: Vec<(OpId, i64, Landing)>,
    /// Finished undos.
    pub undos: Vec<(OpId, i64, Undo)>,
}

impl Ledger {
    pub fn load(repo: &Repo, view: &View) -> Result<Ledger> {
        Ledger::since(repo, view, None)
    }

    /// What came after `start`, a commit of one lane, and all that the other lanes say.
    pub fn since(repo: &Repo, view: &View, start: Option<Oid>) -> Result<Ledger> {
        let mut ledger = Ledger::default();
        for tip in view.lanes.values().filter(|tip| Some(**tip) != start) {
            let mut here = BTreeSet::new();
            let after =
                |found: &Result<(Oid, LaneRecord)>| !found.as_ref().is_ok_and(|(oid, _)| Some(*oid) == start);
            let found = newest_first(repo, Some(*tip)).take_while(after).collect::<Result<Vec<_>>>()?;
            for (_, LaneRecord { op, at, entry, .. }) in found.into_iter().rev() {
                match entry {
                    Entry::Landing(landing) => {
                        // Landed a second time, it stands again.
                        if !here.insert(op) {
                            ledger.undos.retain(|(_, _, u)| u.undoes != op);
                        }
                        ledger.landings.push((op, at, landing));
                    }
                    Entry::Undone(undo) => ledger.undos.push((op, at, undo)),
                    _ => {}
                }
            }
        }
        ledger.landings.sort_by_key(|(op, at, _)| std::cmp::Reverse((*at, *op)));
        Ok(ledger)
    }

    /// The landings of worker deltas, with the branch move that brought them.
    pub fn deltas(&self) -> impl Iterator<Item = (&OpId, &Landing, &LandedDelta)> {
        self.landings.iter().filter_map(|(op, _, l)| l.delta.as_ref().map(|d| (op, l, d)))
    }

    /// The newest landing of delta `n` of `worker` that stands.
    pub fn landing_of(&self, worker: WorkerId, n: u32) -> Option<&Landing> {
        self.landings_of(worker, n).next()
    }

    /// The landings of delta `n` of `worker` that stand, newest first.
    pub fn landings_of(&self, worker: WorkerId, n: u32) -> impl Iterator<Item = &Landing> {
        let of_it = move |d: &LandedDelta| d.worker == worker && d.n == n;
        self.deltas().filter(move |(op, _, d)| of_it(d) && !self.is_taken_back(**op)).map(|(_, l, _)| l)
    }

    /// The newest landing of work of `worker` on `onto`, if an undo took it back.
    pub fn undone(&self, worker: WorkerId, onto: &RefName) -> Option<&Landing> {
        let mut of_it = self.deltas().filter(|(_, landing, d)| d.worker == worker && landing.onto == *onto);
        of_it.next().filter(|(op, _, _)| self.is_taken_back(**op)).map(|(_, landing, _)| landing)
    }

    /// Whether operation `op` was undone, and that undo not undone again.
    pub fn is_taken_back(&self, op: OpId) -> bool {
        self.taken_back_by(op).is_some()
    }

    /// The undo that took `op` back and stands.
    pub fn taken_back_by(&self, op: OpId) -> Option<OpId> {
        self.standing_undo(op, self.undos.len())
    }

    /// No chain of undos is longer than all of them.
    fn standing_undo(&self, op: OpId, longest: usize) -> Option<OpId> {
        let shorter = longest.checked_sub(1)?;
        let of_it = self.undos.iter().filter(|(_, _, u)| u.undoes == op);
        of_it.map(|(by, _, _)| *by).find(|by| self.standing_undo(*by, shorter).is_none())
    }
}

/// A run of a command, by some lane.
#[derive(Debug)]
pub struct Ran {
    /// The commit of the lane that says so.
    pub commit: Oid,
    pub at: i64,
    pub evidence: Evidence,
}

impl Ran {
    /// What is kept of the output.
    pub fn output(&self, repo: &Repo) -> Result<String> {
        let tree = repo.objects.tree_of(self.commit)?;
        match repo.objects.entry_at(tree, "output".into())? {
            Some((_, blob)) => Ok(String::from_utf8_lossy(&repo.objects.blob(blob)?).into_owned()),
            None => Ok(String::new()),
        }
    }
}

/// Every run on any tree, newest first within each lane.
pub fn ran(repo: &Repo, view: &View) -> Result<Vec<Ran>> {
    let mut found = Vec::new();
    for tip in view.lanes.values() {
        for (commit, LaneRecord { at, entry, .. }) in records(repo, Some(*tip))? {
            if let Entry::Evidence(evidence) = entry {
                found.push(Ran { commit, at, evidence });
            }
        }
    }
    Ok(found)
}

/// What the newest run of each command on each tree showed, by all lanes.
#[derive(Debug, Default)]
pub struct Proofs {
    trees: BTreeMap<Oid, BTreeMap<String, (i64, Evidence)>>,
    /// The same without what was only run to compare.
    recorded: BTreeMap<Oid, BTreeMap<String, (i64, Evidence)>>,
    parts: BTreeMap<Reads, BTreeMap<String, (i64, Evidence)>>,
}

impl Proofs {
    pub fn load(repo: &Repo, view: &View) -> Result<Proofs> {
        let mut proofs = Proofs::default();
        // Newest first: of the same second the first one counts.
        for Ran { at, evidence, .. } in ran(repo, view)? {
            if let Some(reads) = evidence.reads.clone() {
                newest(proofs.parts.entry(reads).or_default(), at, evidence.clone());
            }
            if !evidence.verifies {
                newest(proofs.recorded.entry(evidence.tree).or_default(), at, evidence.clone());
            }
            newest(proofs.trees.entry(evidence.tree).or_default(), at, evidence);
        }
        Ok(proofs)
    }

    /// By command.
    pub fn of(&self, tree: Oid) -> impl Iterator<Item = &Evidence> {
        self.trees.get(&tree).into_iter().flat_map(BTreeMap::values).map(|(_, evidence)| evidence)
    }

    /// What gates and checks showed, by command: whatever `verify` saw since, here or in another clone.
    pub fn recorded(&self, tree: Oid) -> impl Iterator<Item = &Evidence> {
        self.recorded.get(&tree).into_iter().flat_map(BTreeMap::values).map(|(_, evidence)| evidence)
    }

    pub fn on(&self, tree: Oid, command: &str) -> Option<&Evidence> {
        self.trees.get(&tree)?.get(command).map(|(_, evidence)| evidence)
    }

    /// Of a tree with the same part.
    pub fn on_part(&self, reads: &Reads, command: &str) -> Option<&Evidence> {
        self.parts.get(reads)?.get(command).map(|(_, evidence)| evidence)
    }
}

fn newest(of: &mut BTreeMap<String, (i64, Evidence)>, at: i64, evidence: Evidence) {
    match of.get(&evidence.command) {
        Some((known, _)) if *known >= at => {}
        _ => drop(of.insert(evidence.command.clone(), (at, evidence))),
    }
}

/// The tip of our own lane as it is now.
pub fn tip(repo: &Repo, clone: &str) -> Result<Option<Oid>> {
    let name = names::lane(clone)?;
    repo.read_refs(&[&name])?.pop().ok_or_else(|| Failure::fault("reading our lane", "no answer"))
}
