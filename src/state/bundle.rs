//! Bundles: what there is of a worker, as papers in one commit whose parent is the tip of its delta. The id of that
//! commit stands for all of it.

use crate::domain::BundleId;
use crate::domain::Handle;
use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::Outcome;
use crate::domain::Part;
use crate::domain::RawDigest;
use crate::domain::Result;
use crate::domain::WorkerId;
use crate::domain::is_paper;
use crate::plumbing::Kind;
use crate::plumbing::Objects;
use crate::plumbing::Quota;
use crate::plumbing::Repo;
use crate::state::draft::is_ours;
use crate::state::draft::record_commit;
use crate::state::record::DeltaRecord;
use crate::state::record::Entry;
use crate::state::record::LaneRecord;
use crate::state::record::Read;
use crate::state::record::VERSION;
use crate::state::record::decode;
use crate::state::record::encode;
use bstr::BString;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

const RECORD: &str = "bundle.json";

/// Where the record of the delta is among the papers.
pub const DELTA_PAPER: &str = "delta/delta.json";

/// Papers of one bundle. More are somebody's trick.
const MOST_PAPERS: u64 = 20_000;

/// Bytes of all of them.
const MOST_BYTES: u64 = 64 << 20;

/// A bundle as its commit says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleRecord {
    pub v: u32,
    pub bundle: BundleId,
    pub at: i64,
    pub worker: WorkerId,
    pub handle: Handle,
    /// The first line of its brief.
    pub task: String,
    pub outcome: Outcome,
    pub base: Oid,
    pub base_name: String,
    /// The record of the worker that it was made from.
    pub record: Oid,
    pub parts: Vec<Part>,
    /// The delta, if it is in there.
    pub delta: Option<BundledDelta>,
    /// Every other file of the commit, by path.
    pub papers: Vec<Paper>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundledDelta {
    pub n: u32,
    pub tip: Oid,
    pub tree: Oid,
    pub raw: RawDigest,
    pub commits: u64,
    pub paths: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paper {
    pub path: String,
    pub oid: Oid,
    pub bytes: u64,
    /// How many it had before it was cut.
    pub of: u64,
}

/// A bundle whose commit is what its record says.
#[derive(Debug, Clone)]
pub struct Bundle {
    pub commit: Oid,
    pub record: BundleRecord,
    /// The base was there, and the delta is what it says against it.
    pub against_base: bool,
}

/// Why a commit is no sound bundle.
#[derive(Debug)]
pub enum Unsound {
    /// Of a version that is not known here.
    Unknown(String),
    Changed(String),
}

impl BundleRecord {
    pub fn bytes(&self) -> u64 {
        self.papers.iter().fold(0, |sum, paper| sum.saturating_add(paper.bytes))
    }

    /// Whether both tell the same of the same worker.
    pub fn is_like(&self, other: &BundleRecord) -> bool {
        let own = (other.bundle, other.at, other.record);
        *other == BundleRecord { bundle: own.0, at: own.1, record: own.2, ..self.clone() }
    }
}

/// Writes the commit of a bundle. Its papers are written already.
pub fn write_bundle(repo: &Repo, record: &BundleRecord) -> Result<Oid> {
    let papers = record.papers.iter().map(|p| (BString::from(p.path.as_str()), Some((Mode::File, p.oid))));
    let blob = repo.objects.write_blob(&encode(record)?)?;
    let edits = papers.chain([(RECORD.into(), Some((Mode::File, blob)))]);
    let tree = repo.objects.edit_tree(repo.objects.empty_tree(), edits)?;
    let parents = record.delta.iter().map(|delta| delta.tip).collect();
    let delta = record.delta.as_ref().map(|delta| format!(" delta {}", delta.n)).unwrap_or_default();
    let subject = format!("bundle: {}{delta}", record.handle);
    record_commit(repo, tree, parents, record.at, &subject)
}

/// The bundle at `commit`, if it is what its record says as far as the objects here tell; `whole`: its delta too is
/// held against its base, which costs what a comparison of trees costs.
pub fn read_bundle(
    objects: &Objects,
    commit: Oid,
    whole: bool,
) -> Result<std::result::Result<Bundle, Unsound>> {
    let changed = |what: &str| Ok(Err(Unsound::Changed(what.to_owned())));
    let made = objects.commit(commit)?;
    if !is_ours(&made) {
        return changed("its commit was not made by the program");
    }
    if objects.beyond(&[made.tree], 2, MOST_PAPERS)?.is_some() {
        return changed("its commit has too many files, or folders in folders");
    }
    let files: BTreeMap<BString, (Mode, Oid)> = objects.entries(made.tree)?.into_iter().collect();
    let Some((Mode::File, blob)) = files.get(&BString::from(RECORD)) else {
        return changed("its commit has no bundle.json");
    };
    let bytes = match objects.size(*blob)? {
        Some(size) if size <= MOST_BYTES => objects.blob(*blob)?,
        _ => return changed("its bundle.json is too large"),
    };
    let record: BundleRecord = match decode(&bytes) {
        Read::Known(record) => record,
        Read::Unknown(why) if why.starts_with("version") => return Ok(Err(Unsound::Unknown(why))),
        Read::Unknown(why) => return Ok(Err(Unsound::Changed(format!("its bundle.json is {why}")))),
    };
    let tip = record.delta.as_ref().map(|delta| delta.tip);
    let wrong = match () {
        () if encode(&record)? != bytes => Some("its bundle.json is not written as the schema says"),
        () if made.parents != tip.into_iter().collect::<Vec<_>>() => {
            Some("its parent is not the tip of its delta")
        }
        () if record.delta.is_some() && !record.parts.contains(&Part::Delta) => {
            Some("it has a delta that it does not name")
        }
        () => wrong_papers(objects, &record, &files)?,
    };
    if let Some(wrong) = wrong {
        return changed(wrong);
    }
    let against_base = match &record.delta {
        None => false,
        Some(delta) => match wrong_delta(objects, &record, delta, whole)? {
            Ok(against_base) => against_base,
            Err(wrong) => return changed(wrong),
        },
    };
    Ok(Ok(Bundle { commit, record, against_base }))
}

fn wrong_papers(
    objects: &Objects,
    record: &BundleRecord,
    files: &BTreeMap<BString, (Mode, Oid)>,
) -> Result<Option<&'static str>> {
    if record.papers.len() + 1 != files.len() || record.bytes() > MOST_BYTES {
        return Ok(Some("its files are not those that it lists"));
    }
    for paper in &record.papers {
        let listed = files.get(&BString::from(paper.path.as_str())) == Some(&(Mode::File, paper.oid));
        let part = Part::of(&paper.path).is_some_and(|part| record.parts.contains(&part));
        if !listed || !part || !is_paper(&paper.path) {
            return Ok(Some("its files are not those that it lists"));
        }
        if objects.size(paper.oid)? != Some(paper.bytes) {
            return Ok(Some("a file of it has another length than it lists"));
        }
    }
    let mut wrong = None;
    for paper in record.papers.iter().filter(|p| p.path.starts_with("verdicts/")) {
        let Read::Known(LaneRecord { entry: Entry::Verdict(verdict), .. }) =
            decode(&objects.blob(paper.oid)?)
        else {
            return Ok(Some("a verdict of it cannot be read"));
        };
        let other = |d: &BundledDelta| verdict.delta == Some(d.n) && verdict.raw.as_ref() != Some(&d.raw);
        if verdict.worker != record.worker || record.delta.as_ref().is_some_and(other) {
            wrong = Some("a verdict of it judges another delta");
        }
    }
    Ok(wrong)
}

/// What is wrong with the delta; else whether that could be looked at against its base.
fn wrong_delta(
    objects: &Objects,
    record: &BundleRecord,
    delta: &BundledDelta,
    whole: bool,
) -> Result<std::result::Result<bool, &'static str>> {
    let Some(paper) = record.papers.iter().find(|paper| paper.path == DELTA_PAPER) else {
        return Ok(Err("the record of its delta is missing"));
    };
    let Read::Known(frozen) = decode::<DeltaRecord>(&objects.blob(paper.oid)?) else {
        return Ok(Err("the record of its delta cannot be read"));
    };
    let same = (frozen.worker, frozen.n, frozen.base, frozen.tip, frozen.tree, &frozen.net.raw)
        == (record.worker, delta.n, record.base, delta.tip, delta.tree, &delta.raw);
    if !same || delta.commits != frozen.commits.len() as u64 || delta.paths != frozen.paths {
        return Ok(Err("the record of its delta is of another one"));
    }
    if objects.tree_of(delta.tip)? != delta.tree {
        return Ok(Err("the tree of its delta is not that of its tip"));
    }
    let (mut open, mut seen) = (vec![delta.tip], BTreeSet::new());
    while let Some(oid) = open.pop().filter(|_| seen.len() <= frozen.commits.len()) {
        if oid != record.base && seen.insert(oid) {
            open.extend(objects.commit(oid)?.parents);
        }
    }
    if seen != frozen.commits.iter().map(|commit| commit.oid).collect() {
        return Ok(Err("its commits are not those of its delta"));
    }
    if !whole || !matches!(objects.try_read(record.base)?, Some((Kind::Commit, _))) {
        return Ok(Ok(false));
    }
    let base = objects.tree_of(record.base)?;
    // Few trees can stand for more files than anybody can compare; where the base does, the person lives with that.
    let quota = Quota::default();
    let beyond = |tree| objects.beyond(&[tree], quota.depth, quota.files);
    if beyond(delta.tree)?.is_some() && beyond(base)?.is_none() {
        return Ok(Err("its delta has too many files, or folders in folders"));
    }
    let changes = objects.diff_trees(base, delta.tree)?;
    match RawDigest::of(&changes) == delta.raw {
        true => Ok(Ok(true)),
        false => Ok(Err("its delta makes another change than it says")),
    }
}

impl Bundle {
    /// What a paper holds, if it is there.
    pub fn paper(&self, objects: &Objects, path: &str) -> Result<Option<Vec<u8>>> {
        let found = self.record.papers.iter().find(|paper| paper.path == path);
        found.map(|paper| objects.blob(paper.oid)).transpose()
    }

    /// The lane records among its papers that lie in the folder of `part`, each with its path.
    pub fn lane_records(&self, objects: &Objects, part: Part) -> Result<Vec<(String, LaneRecord)>> {
        let mut found = Vec::new();
        for paper in self.record.papers.iter().filter(|p| Part::of(&p.path) == Some(part)) {
            if paper.path.ends_with(".json")
                && let Read::Known(record) = decode(&objects.blob(paper.oid)?)
            {
                found.push((paper.path.clone(), record));
            }
        }
        Ok(found)
    }

    /// The record of its delta.
    pub fn delta(&self, objects: &Objects) -> Result<Option<DeltaRecord>> {
        match self.paper(objects, DELTA_PAPER)?.map(|bytes| decode(&bytes)) {
            Some(Read::Known(delta)) => Ok(Some(delta)),
            _ => Ok(None),
        }
    }

    /// The commit that its file builds on.
    pub fn needs(&self) -> Option<Oid> {
        self.record.delta.as_ref().map(|_| self.record.base)
    }
}

/// An empty one, to be filled.
pub fn new_bundle(
    of: (WorkerId, &crate::state::WorkerRecord, Oid),
    parts: Vec<Part>,
    bundle: BundleId,
    at: i64,
) -> BundleRecord {
    let (worker, record, commit) = of;
    BundleRecord {
        v: VERSION,
        bundle,
        at,
        worker,
        handle: record.handle.clone(),
        task: record.task.clone(),
        outcome: record.outcome,
        base: record.base,
        base_name: record.base_name.clone(),
        record: commit,
        parts,
        delta: None,
        papers: Vec::new(),
    }
}
