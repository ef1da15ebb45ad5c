//! What goes into a bundle, part by part.

use crate::domain::Part;
use crate::domain::Result;
use crate::domain::cut;
use crate::plumbing::Objects;
use crate::state::BundledDelta;
use crate::state::DELTA_PAPER;
use crate::state::DeltaRecord;
use crate::state::LaneEntry;
use crate::state::Paper;
use crate::state::VERSION;
use crate::state::View;
use crate::state::Worker;
use crate::state::encode;
use crate::state::ran;
use crate::state::records;
use crate::verbs::session::Session;
use crate::verbs::show;
use std::collections::HashSet;

/// Bytes of the diff, which is there to be read.
const DIFF: usize = 256 << 10;

/// A file with more bytes is not compared for it.
const COMPARED: u64 = 1 << 20;

pub struct Gathered {
    pub papers: Vec<Paper>,
    pub delta: Option<BundledDelta>,
}

/// Papers as they come.
struct Pile<'o> {
    objects: &'o Objects,
    papers: Vec<Paper>,
}

impl Pile<'_> {
    fn add(&mut self, path: impl Into<String>, bytes: &[u8]) -> Result<()> {
        self.add_cut(path, bytes, bytes.len())
    }

    /// What is kept of `bytes`.
    fn add_cut(&mut self, path: impl Into<String>, bytes: &[u8], most: usize) -> Result<()> {
        let kept = cut(bytes, most);
        let oid = self.objects.write_blob(&kept)?;
        self.papers.push(Paper { path: path.into(), oid, bytes: kept.len() as u64, of: bytes.len() as u64 });
        Ok(())
    }
}

pub fn gather(
    session: &Session<'_>,
    view: &View,
    worker: &Worker,
    parts: &[Part],
    max_output: Option<usize>,
) -> Result<Gathered> {
    let repo = &session.repo;
    let mut pile = Pile { objects: &repo.objects, papers: Vec::new() };
    let frozen = worker.delta(repo)?;
    let mut delta = None;
    for part in parts {
        match part {
            Part::Brief => {
                pile.add("brief/brief.md", worker.brief(repo)?.as_bytes())?;
                if let Some(kind) = worker.file(repo, "kind.md")? {
                    pile.add("brief/kind.md", &kind)?;
                }
            }
            Part::Delta => {
                if let Some(frozen) = &frozen {
                    delta = Some(of_delta(&mut pile, frozen)?);
                }
            }
            Part::Verdicts => verdicts(session, view, worker, &mut pile)?,
            Part::Evidence => evidence(session, view, worker, frozen.as_ref(), max_output, &mut pile)?,
            Part::Messages => {
                let record = &worker.record;
                let said = serde_json::json!({
                    "v": VERSION, "claim": record.claim, "messages": record.messages, "plans": record.plans,
                    "questions": record.questions,
                });
                pile.add("messages/messages.json", &encode(&said)?)?;
            }
        }
    }
    Ok(Gathered { papers: pile.papers, delta })
}

fn of_delta(pile: &mut Pile<'_>, frozen: &DeltaRecord) -> Result<BundledDelta> {
    pile.add(DELTA_PAPER, &encode(frozen)?)?;
    let objects = pile.objects;
    let changes = objects.diff_trees(objects.tree_of(frozen.base)?, frozen.tree)?;
    let mut diff = String::new();
    for change in &changes {
        if diff.len() > DIFF {
            break;
        }
        let mut large = false;
        for (_, oid) in [change.old, change.new].into_iter().flatten() {
            large |= objects.size(oid)?.is_some_and(|bytes| bytes > COMPARED);
        }
        diff.push_str(&match large {
            true => format!("{} {} is too large to be compared here\n", show::letter(change), change.path),
            false => show::patch(objects, change)?,
        });
    }
    pile.add_cut("delta/delta.diff", diff.as_bytes(), DIFF)?;
    Ok(BundledDelta {
        n: frozen.n,
        tip: frozen.tip,
        tree: frozen.tree,
        raw: frozen.net.raw.clone(),
        commits: frozen.commits.len() as u64,
        paths: frozen.paths,
    })
}

/// The verdicts on it, as the lanes have them, oldest first.
fn verdicts(session: &Session<'_>, view: &View, worker: &Worker, pile: &mut Pile<'_>) -> Result<()> {
    let mut found = Vec::new();
    for tip in view.lanes.values() {
        for (_, record) in records(&session.repo, Some(*tip))? {
            if matches!(&record.entry, LaneEntry::Verdict(verdict) if verdict.worker == worker.id) {
                found.push(record);
            }
        }
    }
    found.sort_by_key(|record| (record.at, record.op));
    found.dedup_by_key(|record| record.op);
    found.iter().try_for_each(|record| pile.add(format!("verdicts/{}.json", record.op), &encode(record)?))
}

/// What was run on the trees of its commits, as the lanes have it, oldest first.
fn evidence(
    session: &Session<'_>,
    view: &View,
    worker: &Worker,
    frozen: Option<&DeltaRecord>,
    max_output: Option<usize>,
    pile: &mut Pile<'_>,
) -> Result<()> {
    let objects = &session.repo.objects;
    let tip = frozen.map_or_else(|| worker.tip(), |delta| delta.tip);
    if !objects.exists(worker.record.base) || !objects.exists(tip) {
        return Ok(());
    }
    let mut trees = HashSet::new();
    for commit in objects.between(worker.record.base, tip)? {
        trees.insert(objects.tree_of(commit)?);
    }
    let mut runs = ran(&session.repo, view)?;
    runs.retain(|run| trees.contains(&run.evidence.tree));
    runs.sort_by_key(|run| (run.at, run.commit));
    for (n, run) in (1..).zip(&runs) {
        let tree = objects.tree_of(run.commit)?;
        let kept = |path: &str| -> Result<Vec<u8>> {
            let found = objects.entry_at(tree, path.into())?;
            Ok(found.map(|(_, blob)| objects.blob(blob)).transpose()?.unwrap_or_default())
        };
        pile.add(format!("evidence/{n}.json"), &kept("record.json")?)?;
        let output = kept("output")?;
        pile.add_cut(format!("evidence/{n}.txt"), &output, max_output.unwrap_or(output.len()))?;
    }
    Ok(())
}
