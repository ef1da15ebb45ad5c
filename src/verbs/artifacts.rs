//! `artifacts`: what the run of a worker has left, item by item. `search` looks through those of all workers, first
//! of those that wait for a person.

use crate::domain::Artifact;
pub use crate::domain::ArtifactKind;
use crate::domain::Artifacts;
use crate::domain::Handle;
use crate::domain::Outcome;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::domain::attention;
use crate::domain::found_in;
use crate::state::Ledger;
use crate::state::Ran;
use crate::state::Worker;
use crate::state::ran;
use crate::verbs::recorder;
use crate::verbs::session::Session;
use crate::verbs::show;
use crate::verbs::stored::Picture;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashSet;

/// What a worker has left.
#[derive(Debug, Serialize)]
pub struct Left {
    pub worker: WorkerId,
    pub handle: Handle,
    pub artifacts: Vec<Artifact>,
    /// One was asked for: all of its text is shown.
    #[serde(skip)]
    pub whole: bool,
}

/// The artifacts of `name`: all, those of some kinds, or the one with this address.
pub fn run(session: &Session<'_>, name: &str, item: Option<&str>, kinds: &[ArtifactKind]) -> Result<Left> {
    let view = session.view()?;
    let worker = view.any_worker(&session.repo, name)?;
    let mut artifacts = of(session, &worker, &ran(&session.repo, &view)?)?;
    artifacts.retain(|artifact| kinds.is_empty() || kinds.contains(&artifact.kind));
    if let Some(item) = item {
        let there: Vec<String> = artifacts.iter().map(|a| format!("{} {}", a.id, a.title)).collect();
        artifacts.retain(|artifact| artifact.id == item);
        if artifacts.is_empty() {
            return Err(no_such_item(&worker, item, there).into());
        }
    }
    Ok(Left { worker: worker.id, handle: worker.record.handle.clone(), artifacts, whole: item.is_some() })
}

fn no_such_item(worker: &Worker, item: &str, there: Vec<String>) -> Refusal {
    let handle = &worker.record.handle;
    Refusal::new(Token::NoSuchItem, format!("{handle} has left nothing with the address {item:?}"))
        .lines(there)
        .show(format!("git show {}:record.json", worker.ref_text()))
        .next(format!("git skein artifacts {handle} lists what there is"))
}

/// All that one worker has left; `runs` is what was run on any tree.
pub fn of(session: &Session<'_>, worker: &Worker, runs: &[Ran]) -> Result<Vec<Artifact>> {
    let record = &worker.record;
    let mut all = Artifacts::default();
    all.add(ArtifactKind::Prompt, record.created, &worker.brief(&session.repo)?);
    for message in &record.messages {
        all.add(ArtifactKind::Prompt, message.at, &message.text);
    }
    all.add_events(crate::domain::events(&recorder::events(session, worker)?));
    for question in &record.questions {
        let options: String = question.options.iter().map(|option| format!("\n- {option}")).collect();
        all.add(ArtifactKind::Question, question.at, &format!("{}{options}", question.text));
    }
    let end = record.ended.unwrap_or_else(|| session.clock.now_secs());
    edits(session, worker, end, &mut all)?;
    if let Some(claim) = &record.claim {
        let evidence: String = claim.evidence.iter().map(|line| format!("\n{line}")).collect();
        all.add(ArtifactKind::Claim, end, &format!("{}: {}{evidence}", claim.outcome.word(), claim.summary));
    }
    evidence(session, worker, runs, &mut all)?;
    Ok(all.sorted())
}

/// What it changed, a path each.
fn edits(session: &Session<'_>, worker: &Worker, at: i64, all: &mut Artifacts) -> Result<()> {
    if !session.repo.objects.exists(worker.record.base) {
        return Ok(());
    }
    let now = Picture::of(session, worker)?;
    let objects = now.objects(session);
    for change in objects.diff_trees(objects.tree_of(worker.record.base)?, now.tree)? {
        let title = format!("{} {}", show::letter(&change), change.path);
        all.add_titled(ArtifactKind::Edit, at, &title, &show::patch(objects, &change)?);
    }
    Ok(())
}

/// What was run on the trees of its commits.
fn evidence(session: &Session<'_>, worker: &Worker, runs: &[Ran], all: &mut Artifacts) -> Result<()> {
    let objects = &session.repo.objects;
    if runs.is_empty() || !objects.exists(worker.record.base) {
        return Ok(());
    }
    let mut trees = HashSet::new();
    for commit in objects.between(worker.record.base, worker.tip())? {
        trees.insert(objects.tree_of(commit)?);
    }
    for run in runs.iter().filter(|run| trees.contains(&run.evidence.tree)) {
        let title = format!("{}: {}", run.evidence.ended(), run.evidence.command);
        let output = run.output(&session.repo)?;
        all.add_titled(ArtifactKind::Evidence, run.at, &title, &format!("{title}\n{output}"));
    }
    Ok(())
}

/// Where words were found.
#[derive(Debug, Serialize)]
pub struct Search {
    pub found: Vec<Hit>,
    /// How many more there are.
    pub more: usize,
}

#[derive(Debug, Serialize)]
pub struct Hit {
    pub worker: WorkerId,
    pub handle: Handle,
    pub outcome: Outcome,
    pub landed: bool,
    pub closed: bool,
    /// The address of the artifact.
    pub id: String,
    pub kind: ArtifactKind,
    pub at: i64,
    /// The line.
    pub line: String,
}

/// Looks for artifacts that have all of `words`, in open and archived workers. Those of workers that wait for a person
/// come first, then the newest.
pub fn search(
    session: &Session<'_>,
    words: &[String],
    kinds: &[ArtifactKind],
    most: usize,
) -> Result<Search> {
    let words: Vec<String> =
        words.iter().flat_map(|text| text.split_whitespace()).map(str::to_owned).collect();
    if words.is_empty() {
        return Err(Refusal::new(Token::NoTask, "there is nothing to look for")
            .show("git skein search -h")
            .next("give one word or more")
            .into());
    }
    let view = session.view()?;
    let runs = ran(&session.repo, &view)?;
    let ledger = Ledger::load(&session.repo, &view)?;
    let mut closed = view.archived(&session.repo)?;
    closed.retain(|worker| view.workers.iter().all(|open| open.id != worker.id));
    let mut found = Vec::new();
    for (worker, closed) in
        view.workers.iter().map(|w| (w, false)).chain(closed.iter().map(|worker| (worker, true)))
    {
        hits(session, &ledger, (worker, closed), &runs, &words, kinds, &mut found)?;
    }
    found.sort_by_key(|hit| (attention(hit.outcome, hit.landed, hit.closed), Reverse(hit.at)));
    let more = found.len().saturating_sub(most);
    found.truncate(most);
    Ok(Search { found, more })
}

fn hits(
    session: &Session<'_>,
    ledger: &Ledger,
    (worker, closed): (&Worker, bool),
    runs: &[Ran],
    words: &[String],
    kinds: &[ArtifactKind],
    found: &mut Vec<Hit>,
) -> Result<()> {
    let record = &worker.record;
    let landed = ledger.landing_of(worker.id, record.deltas).is_some();
    for artifact in of(session, worker, runs)? {
        let wanted = kinds.is_empty() || kinds.contains(&artifact.kind);
        let whole = format!("{}\n{}", artifact.title, artifact.text);
        if let (true, Some(line)) = (wanted, found_in(&whole, words)) {
            found.push(Hit {
                worker: worker.id,
                handle: record.handle.clone(),
                outcome: record.outcome,
                landed,
                closed,
                id: artifact.id,
                kind: artifact.kind,
                at: artifact.at,
                line: line.trim().to_owned(),
            });
        }
    }
    Ok(())
}
