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
use crate::domain::found_in;
use crate::domain::place;
use crate::domain::plan::LaidOut;
use crate::state::LaneEntry;
use crate::state::Ledger;
use crate::state::Ran;
use crate::state::Verdict;
use crate::state::View;
use crate::state::Worker;
use crate::state::ran;
use crate::verbs::inbox;
use crate::verbs::log;
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
    let mut artifacts = of(session, &worker, &Lanes::read(session, &view)?)?;
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

/// What the lanes say of all workers.
pub struct Lanes {
    /// What was run on any tree.
    runs: Vec<Ran>,
    ledger: Ledger,
    /// Newest first.
    verdicts: Vec<log::Entry>,
}

impl Lanes {
    pub fn read(session: &Session<'_>, view: &View) -> Result<Lanes> {
        let (runs, ledger) = (ran(&session.repo, view)?, Ledger::load(&session.repo, view)?);
        Ok(Lanes { runs, ledger, verdicts: log::verdicts(session, None)?.entries })
    }
}

/// All that one worker has left.
pub fn of(session: &Session<'_>, worker: &Worker, lanes: &Lanes) -> Result<Vec<Artifact>> {
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
    record.plans.iter().for_each(|plan| all.add(ArtifactKind::Plan, plan.at, &laid_out(plan)));
    evidence(session, worker, lanes, &mut all)?;
    for entry in lanes.verdicts.iter().rev() {
        if let LaneEntry::Verdict(verdict) = &entry.record.entry
            && verdict.worker == worker.id
        {
            all.add(ArtifactKind::Verdict, entry.record.at, &decided(verdict));
        }
    }
    Ok(all.sorted())
}

fn laid_out(plan: &LaidOut) -> String {
    let steps = plan.steps.iter().map(|step| format!("- {} ({})", step.text, step.paths.join(" ")));
    let verification = plan.verification.iter().map(|text| format!("verify: {text}"));
    let risks = plan.risks.iter().map(|text| format!("risk: {text}"));
    let decided = plan.decided.iter().map(|said| {
        let text = said.text.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
        format!("{} by {}{text}", said.verdict.word(), said.by)
    });
    let lines = std::iter::once(plan.goal.clone()).chain(steps).chain(verification).chain(risks);
    lines.chain(decided).collect::<Vec<_>>().join("\n")
}

fn decided(verdict: &Verdict) -> String {
    let of = match (verdict.delta, verdict.question, verdict.option) {
        (Some(n), ..) => format!(" delta {n}"),
        (None, Some(q), Some(option)) => format!(" question {q}, option {option}"),
        (None, Some(q), None) => format!(" question {q}"),
        (None, None, _) => String::new(),
    };
    let text = verdict.text.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
    format!("{}{of}{text}\nby {}", verdict.verb, verdict.actor)
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

/// What was run on the trees of its commits, and on those that they landed as.
fn evidence(session: &Session<'_>, worker: &Worker, lanes: &Lanes, all: &mut Artifacts) -> Result<()> {
    let objects = &session.repo.objects;
    if lanes.runs.is_empty() {
        return Ok(());
    }
    let mut trees = HashSet::new();
    if objects.exists(worker.record.base) {
        for commit in objects.between(worker.record.base, worker.tip())? {
            trees.insert(objects.tree_of(commit)?);
        }
    }
    let landed = lanes.ledger.deltas().filter(|(_, _, delta)| delta.worker == worker.id);
    for (_, landing, _) in landed.filter(|(_, landing, _)| objects.exists(landing.new)) {
        trees.insert(objects.tree_of(landing.new)?);
    }
    // Oldest first, so that what is run later gives no other address to what was there.
    let mut runs: Vec<&Ran> =
        lanes.runs.iter().rev().filter(|run| trees.contains(&run.evidence.tree)).collect();
    runs.sort_by_key(|run| run.at);
    for run in runs {
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
    let lanes = Lanes::read(session, &view)?;
    let mut closed = view.archived(&session.repo)?;
    closed.retain(|worker| view.workers.iter().all(|open| open.id != worker.id));
    let mut found = Vec::new();
    for (worker, closed) in
        view.workers.iter().map(|w| (w, false)).chain(closed.iter().map(|worker| (worker, true)))
    {
        hits(session, &lanes, (worker, closed), &words, kinds, &mut found)?;
    }
    let open: Vec<WorkerId> = found.iter().filter(|hit| !hit.closed).map(|hit| hit.worker).collect();
    let needs = inbox::needs(session, &view, &open)?;
    let need = |hit: &Hit| needs.get(&hit.worker).copied().flatten();
    found.sort_by_key(|hit| (place(need(hit), hit.landed, hit.closed), Reverse(hit.at)));
    let more = found.len().saturating_sub(most);
    found.truncate(most);
    Ok(Search { found, more })
}

fn hits(
    session: &Session<'_>,
    lanes: &Lanes,
    (worker, closed): (&Worker, bool),
    words: &[String],
    kinds: &[ArtifactKind],
    found: &mut Vec<Hit>,
) -> Result<()> {
    let record = &worker.record;
    let landed = lanes.ledger.landing_of(worker.id, record.deltas).is_some();
    for artifact in of(session, worker, lanes)? {
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
