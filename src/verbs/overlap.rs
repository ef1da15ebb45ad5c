//! `overlap`: which workers are at work on the same lines, and whether their work can be merged, seen in their
//! newest snapshots. Nothing is written, but for what a gate proves.

mod pairs;
mod warning;

use crate::domain::Failure;
use crate::domain::Handle;
use crate::domain::Jail;
use crate::domain::Mode;
use crate::domain::Nearness;
use crate::domain::Oid;
use crate::domain::Outcome;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::plumbing::Commit;
use crate::plumbing::Merged;
use crate::plumbing::Objects;
use crate::state::Ledger;
use crate::state::View;
use crate::state::Worker;
use crate::verbs::gate;
use crate::verbs::gate::Checks;
use crate::verbs::land;
use crate::verbs::session::Session;
use crate::verbs::stored;
use bstr::BString;
use bstr::ByteSlice;
use pairs::Ask;
use pairs::Meet;
use pairs::Overlap;
use pairs::Work;
#[cfg(feature = "bench")]
pub use pairs::bench_overlaps;
use pairs::overlaps;
use serde::Serialize;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
pub use warning::Warnings;

/// The most pairs that are looked at where nobody asked: those of twenty workers.
const UNASKED: usize = 190;

/// What overlap is asked for.
#[derive(Debug, Default)]
pub struct Request {
    /// Only pairs with one of these; of all open workers if none is named.
    pub names: Vec<String>,
    /// What must pass on what each two come to together.
    pub gates: Vec<String>,
}

/// Those that were looked at, and the pairs of them that meet; with a gate, all pairs.
#[derive(Debug, PartialEq, Serialize)]
pub struct Found {
    pub workers: Vec<Looked>,
    pub pairs: Vec<Pair>,
}

/// A worker with work that has not landed.
#[derive(Debug, PartialEq, Serialize)]
pub struct Looked {
    pub worker: WorkerId,
    pub handle: Handle,
    pub outcome: Outcome,
    /// The tree of its newest snapshot.
    pub tree: Oid,
}

#[derive(Debug, PartialEq, Serialize)]
pub struct Pair {
    pub workers: [Handle; 2],
    pub paths: Vec<Path>,
    /// The paths that a merge of the two leaves to a person.
    pub conflicts: Vec<String>,
    /// What they come to together, if they merge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged: Option<Oid>,
    /// What the gate said to that, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
}

impl Pair {
    /// Whether the second cannot land as it is once the first has.
    pub fn is_in_the_way(&self) -> bool {
        !self.conflicts.is_empty() || self.gate.as_ref().is_some_and(|gate| !gate.passed)
    }
}

/// A path that both change.
#[derive(Debug, PartialEq, Serialize)]
pub struct Path {
    pub path: String,
    pub nearness: Nearness,
    /// Unchanged lines between the nearest changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<u32>,
    /// The first and the last line of these, counted from one in the file that both started from. Where the last is
    /// before the first, lines were put in between the two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<[(u32, u32); 2]>,
}

#[derive(Debug, PartialEq, Serialize)]
pub struct Gate {
    pub passed: bool,
    /// How it failed, and the last that it printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub output: Vec<String>,
}

/// Another worker that one meets.
#[derive(Debug, Clone, Serialize)]
pub struct Neighbour {
    pub handle: Handle,
    pub outcome: Outcome,
    /// The nearest that they come.
    pub nearness: Nearness,
    pub paths: Vec<String>,
    /// Whether a merge of the two needs a person.
    pub conflict: bool,
}

impl Neighbour {
    /// How they meet, in a word.
    pub fn how(&self) -> &'static str {
        if self.conflict { "conflicts" } else { self.nearness.word() }
    }
}

pub fn run(session: &mut Session<'_>, request: &Request) -> Result<Found> {
    let view = match request.gates.is_empty() {
        true => session.view()?,
        false => {
            session.refuse_in_worker("overlap --gate")?;
            land::begin(session, false)?
        }
    };
    let named = request.names.iter().map(|name| Ok(view.open_worker(&session.repo, name)?.id));
    let named = named.collect::<Result<Vec<WorkerId>>>()?;
    let scratch = session.repo.objects.scratch()?;
    let ledger = Ledger::load(&session.repo, &view)?;
    let at_work = at_work(session, &view, &ledger, Some(&scratch), &named)?;
    let works: Vec<Work> = at_work.iter().map(|(_, work)| *work).collect();
    let ask = if request.gates.is_empty() { Ask::Meeting } else { Ask::Every };
    let mut pairs = Vec::new();
    for overlap in overlaps(&scratch, &works, ask)? {
        let both = [at_work[overlap.pair.0], at_work[overlap.pair.1]];
        if !named.is_empty() && !both.iter().any(|(worker, _)| named.contains(&worker.id)) {
            continue;
        }
        let mut pair = pair(both.map(|(worker, _)| worker), &overlap);
        if let (Merged::Clean(tree), false) = (&overlap.merged, request.gates.is_empty()) {
            pair.gate = Some(gated(session, &view, &scratch, both, *tree, &request.gates)?);
        }
        pairs.push(pair);
    }
    let looked = |(worker, work): &(&Worker, Work)| Looked {
        worker: worker.id,
        handle: worker.record.handle.clone(),
        outcome: worker.record.outcome,
        tree: work.tree,
    };
    Ok(Found { workers: at_work.iter().map(looked).collect(), pairs })
}

/// The open workers with work that has not landed, and those that were named. Where nobody asked for a look, and so
/// there is no `scratch` for it, one whose files only a filter could tell is left out.
fn at_work<'v>(
    session: &Session<'_>,
    view: &'v View,
    ledger: &Ledger,
    scratch: Option<&Objects>,
    named: &[WorkerId],
) -> Result<Vec<(&'v Worker, Work)>> {
    let mut found = Vec::new();
    for worker in unlanded(view, ledger, named) {
        let picture = match scratch {
            Some(scratch) => Some(stored::picture_in(session, worker, scratch)?),
            None => stored::known_picture(session, worker)?,
        };
        let Some((head, tree)) = picture else { continue };
        let base = worker.record.base;
        if tree != session.repo.objects.tree_of(base)? {
            found.push((worker, Work { base, head, tree }));
        }
    }
    Ok(found)
}

fn unlanded<'v>(view: &'v View, ledger: &Ledger, named: &[WorkerId]) -> impl Iterator<Item = &'v Worker> {
    view.workers.iter().filter(move |w| {
        let landed =
            w.record.outcome != Outcome::Active && ledger.landing_of(w.id, w.record.deltas).is_some();
        !landed || named.contains(&w.id)
    })
}

/// Who meets whom, as far as that can be told at once: of many workers nothing is said.
pub fn neighbours(
    session: &Session<'_>,
    view: &View,
    ledger: &Ledger,
) -> Result<BTreeMap<WorkerId, Vec<Neighbour>>> {
    let count = unlanded(view, ledger, &[]).count();
    if count < 2 || count * (count - 1) / 2 > UNASKED {
        return Ok(BTreeMap::new());
    }
    met(session, view, ledger, None)
}

/// Whom one worker meets; nobody, where there are too many to look at unasked.
pub fn neighbours_of(session: &Session<'_>, view: &View, id: WorkerId) -> Result<Vec<Neighbour>> {
    if !(2..UNASKED).contains(&view.workers.len()) {
        return Ok(Vec::new());
    }
    let mut found = met(session, view, &Ledger::default(), Some(id))?.remove(&id).unwrap_or_default();
    if found.is_empty() {
        return Ok(found);
    }
    // Most meet nobody: what has landed is asked about last.
    let ledger = Ledger::load(&session.repo, view)?;
    let left: BTreeSet<&Handle> = unlanded(view, &ledger, &[]).map(|w| &w.record.handle).collect();
    found.retain(|other| left.contains(&other.handle));
    Ok(found)
}

/// Says before a landing whose work comes near it.
pub fn foretell(session: &Session<'_>, view: &View, name: &str) -> Result<()> {
    let Ok(worker) = view.meant(&session.repo, name) else { return Ok(()) };
    for other in neighbours_of(session, view, worker.id)? {
        let (who, outcome, paths) = (&other.handle, other.outcome, warning::some_of(&other.paths));
        session.tell(format!("overlap: {who} ({outcome}) changes {paths} too: {}", other.how()));
    }
    Ok(())
}

fn met(
    session: &Session<'_>,
    view: &View,
    ledger: &Ledger,
    one: Option<WorkerId>,
) -> Result<BTreeMap<WorkerId, Vec<Neighbour>>> {
    let scratch = session.repo.objects.scratch()?;
    let at_work = at_work(session, view, ledger, None, one.as_slice())?;
    let works: Vec<Work> = at_work.iter().map(|(_, work)| *work).collect();
    let ask = match one.map(|id| at_work.iter().position(|(worker, _)| worker.id == id)) {
        None => Ask::Meeting,
        Some(Some(at)) => Ask::MeetingWith(at),
        Some(None) => return Ok(BTreeMap::new()),
    };
    let mut found: BTreeMap<WorkerId, Vec<Neighbour>> = BTreeMap::new();
    for overlap in overlaps(&scratch, &works, ask)? {
        let (one, other) = (at_work[overlap.pair.0].0, at_work[overlap.pair.1].0);
        for (this, that) in [(one, other), (other, one)] {
            found.entry(this.id).or_default().push(neighbour(that, &overlap));
        }
    }
    Ok(found)
}

fn neighbour(worker: &Worker, overlap: &Overlap) -> Neighbour {
    let meets = overlap.meets.iter();
    Neighbour {
        handle: worker.record.handle.clone(),
        outcome: worker.record.outcome,
        nearness: meets.clone().map(|meet| meet.nearness).max().unwrap_or(Nearness::SameFile),
        paths: meets.map(|meet| text(&meet.path)).collect(),
        conflict: matches!(overlap.merged, Merged::Conflict(_)),
    }
}

fn pair(workers: [&Worker; 2], overlap: &Overlap) -> Pair {
    let (conflicts, merged) = match &overlap.merged {
        Merged::Clean(tree) => (Vec::new(), Some(*tree)),
        Merged::Conflict(paths) => (paths.iter().map(text).collect(), None),
    };
    Pair {
        workers: workers.map(|worker| worker.record.handle.clone()),
        paths: overlap.meets.iter().map(path).collect(),
        conflicts,
        merged,
        gate: None,
    }
}

fn path(meet: &Meet) -> Path {
    let people = |lines: &std::ops::Range<u32>| (lines.start + 1, lines.end);
    Path {
        path: text(&meet.path),
        nearness: meet.nearness,
        gap: meet.lines.as_ref().map(|(gap, _)| *gap),
        lines: meet.lines.as_ref().map(|(_, [ours, theirs])| [people(ours), people(theirs)]),
    }
}

fn text(path: &BString) -> String {
    path.to_str_lossy().into_owned()
}

/// Runs the gate on what two works come to together; that it passed is kept as evidence on that tree.
fn gated(
    session: &Session<'_>,
    view: &View,
    scratch: &Objects,
    both: [(&Worker, Work); 2],
    tree: Oid,
    commands: &[String],
) -> Result<Gate> {
    let objects = &session.repo.objects;
    let base = objects.tree_of(both[0].1.base)?;
    let changes = scratch.diff_trees(base, tree)?;
    for (_, oid) in changes.iter().filter_map(|c| c.new).filter(|(mode, _)| *mode != Mode::Gitlink) {
        if !objects.exists(oid) {
            objects.write_blob(&scratch.blob(oid)?)?;
        }
    }
    let tree = objects.edit_tree(base, changes.iter().map(|c| (c.path.clone(), c.new)))?;
    let (person, millis) = (session.person()?, session.clock.now_millis());
    let signature = format!("{person} {} +0000", millis / 1000);
    let commit = objects.write_commit(&Commit {
        tree,
        parents: both.map(|(_, work)| work.head).to_vec(),
        author: signature.as_str().into(),
        committer: signature.into(),
        encoding: None,
        message: "what two workers come to together\n".into(),
    })?;
    let op = session.op_id(millis, &["overlap", &commit.to_string()]);
    let checks = Checks { commands, changes: &changes, least: Jail::None, allow_empty: false };
    let clone = session.clone_id().unwrap_or_default();
    match gate::run(session, clone, view, commit, op, &checks) {
        Ok(()) => Ok(Gate { passed: true, says: None, output: Vec::new() }),
        Err(Failure::Refusal(refusal))
            if matches!(refusal.token, Token::GateFailed | Token::GateDirtied | Token::NoTests) =>
        {
            Ok(Gate { passed: false, says: Some(refusal.says), output: refusal.lines })
        }
        Err(failure) => Err(failure),
    }
}
