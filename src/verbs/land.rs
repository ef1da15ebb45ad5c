//! `land`: freeze, build the candidate on the exact tip, gate it, move the trunk; again if the trunk moved.

mod branch;
mod gates;

pub use branch::begin_for;
pub use branch::of_its_own;

use crate::domain::Bounds;
use crate::domain::Failure;
use crate::domain::Jail;
use crate::domain::Oid;
use crate::domain::OpId;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::quoted;
use crate::plumbing::Edit;
use crate::state::CandidateRecord;
use crate::state::LIST_SHARED;
use crate::state::Landing;
use crate::state::Ledger;
pub use crate::state::Match;
use crate::state::View;
use crate::state::Worker;
use crate::verbs::candidate;
use crate::verbs::candidate::Candidate;
use crate::verbs::candidate::Shape;
use crate::verbs::candidate::Source;
use crate::verbs::depth;
use crate::verbs::freeze;
use crate::verbs::freeze::Frozen;
use crate::verbs::freeze::Noted;
use crate::verbs::freeze::Take;
use crate::verbs::gate;
use crate::verbs::gate::Checks;
use crate::verbs::init;
use crate::verbs::landed::has_landed;
use crate::verbs::landed::is_taken_back;
use crate::verbs::landing;
use crate::verbs::landing::Landings;
use crate::verbs::overlap;
use crate::verbs::policy;
use crate::verbs::server;
use crate::verbs::session::Session;
use crate::verbs::verdict;
use serde::Serialize;
use std::cell::Cell;

/// What `land` and `import --into` are asked for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub onto: Option<RefName>,
    pub gates: Vec<String>,
    pub retries: u32,
    pub dry_run: bool,
    /// Accept it first.
    pub accept: bool,
    pub shape: Shape,
    pub take: Take,
    /// Part of a plan that has told already who is in whose way.
    pub planned: bool,
}

/// How one landing ended well.
#[derive(Debug, Serialize)]
pub struct Landed {
    pub name: String,
    pub onto: RefName,
    pub old: Oid,
    pub new: Oid,
    pub op: OpId,
    pub commits: usize,
    pub paths: usize,
    #[serde(rename = "match")]
    pub match_: Option<Match>,
    pub squash: bool,
    /// It had landed before; nothing was done.
    pub already: bool,
    /// `--dry-run`: nothing was done.
    pub dry_run: bool,
    pub gates: Vec<String>,
    #[serde(flatten)]
    pub noted: Noted,
    /// The person's configuration asks for signed commits, and this one is not.
    pub unsigned: bool,
}

/// How often a landing begins anew because another process wrote the same worker's record.
const RACES: u32 = 50;

/// Lands `name`, a worker or a local branch.
pub fn run(session: &mut Session<'_>, name: &str, request: &Request) -> Result<Landed> {
    session.refuse_in_worker("land")?;
    Bounds::of(&session.config)?;
    let mut view = begin_for(session, name, request.dry_run)?;
    if !request.planned {
        overlap::foretell(session, &view, name)?;
    }
    if request.accept {
        verdict::accept(session, name, request.take)?;
        view = session.view()?;
    }
    let mut left = RACES;
    view = depth::for_worker(session, view, name)?;
    loop {
        match once(session, &view, name, request) {
            Err(Failure::Refusal(r)) if r.token == Token::RecordMoved && left > 0 => left -= 1,
            other => return other,
        }
        view = session.view()?;
    }
}

fn once(session: &mut Session<'_>, view: &View, name: &str, request: &Request) -> Result<Landed> {
    let found = resolve_lazily(session, view, name, request.take)?;
    let onto = found.target(session, view, request)?;
    if depth::for_landing(session, view, &found.source, &onto)? {
        // What was written before the store was opened anew is looked at again.
        let found = resolve_lazily(session, view, name, request.take)?;
        return attempts(session, view, &found, &onto, request);
    }
    attempts(session, view, &found, &onto, request)
}

/// What every writing verb of the funnel starts with.
pub fn begin(session: &mut Session<'_>, dry_run: bool) -> Result<View> {
    if dry_run {
        session.rehearse()?;
        return session.view();
    }
    let view = init::ensure(session)?;
    gate::sweep(session)?;
    Ok(view)
}

/// A source with what its freezing reported.
pub struct Resolved {
    pub source: Source,
    /// Records the delta if it is new; taken by the first landing that is tried.
    pending: Cell<Option<Edit>>,
    worker_onto: Option<RefName>,
    /// The worker's own checks.
    checks: Vec<String>,
    /// It only joins others on a branch; what has to pass does so when that lands.
    collected: bool,
    noted: Noted,
}

/// The worker of that name with its work frozen and recorded, else the local branch.
pub fn resolve(session: &Session<'_>, view: &View, name: &str, take: Take) -> Result<Resolved> {
    let found = resolve_lazily(session, view, name, take)?;
    found.settle(session)?;
    Ok(found)
}

/// The same, but a new delta is not recorded yet.
fn resolve_lazily(session: &Session<'_>, view: &View, name: &str, take: Take) -> Result<Resolved> {
    let worker = match view.meant(&session.repo, name) {
        Ok(worker) => worker,
        Err(none) => {
            return branch(view, name).ok_or_else(|| nothing_of_that_name(session, view, name, none));
        }
    };
    Ok(Resolved::of(worker, freeze::run(session, view, worker, take)?))
}

fn nothing_of_that_name(session: &Session<'_>, view: &View, name: &str, none: Failure) -> Failure {
    match view.or_archived(&session.repo, name, none) {
        Failure::Refusal(refusal) if refusal.token == Token::NoSuchWorker => {
            let says = format!("no worker and no local branch is called {name:?}");
            Refusal { says, ..*refusal }.into()
        }
        other => other,
    }
}

impl Resolved {
    /// A worker whose work is frozen.
    pub fn of(worker: &Worker, frozen: Frozen) -> Resolved {
        Resolved {
            source: Source::Delta { handle: worker.record.handle.to_string(), delta: Box::new(frozen.delta) },
            pending: Cell::new(frozen.pending),
            worker_onto: Some(worker.record.onto.clone()),
            checks: worker.record.checks.clone(),
            collected: false,
            noted: frozen.noted,
        }
    }

    /// The branch it goes to: the one asked for, else the worker's own, else the trunk.
    pub fn target(&self, session: &Session<'_>, view: &View, request: &Request) -> Result<RefName> {
        match &self.worker_onto {
            // Recorded as it is meant.
            Some(recorded) if request.onto.is_none() => Ok(recorded.clone()),
            _ => session.onto(view, request.onto.as_ref()),
        }
    }

    /// Whether its delta is not recorded yet. A record that moved since is a refusal: whoever wrote it may have
    /// frozen and landed the same work.
    fn is_new(&self, view: &View) -> Result<bool> {
        let pending = self.pending.take();
        let new = pending.is_some();
        let raced = pending.as_ref().is_some_and(|edit| !view.workers.iter().any(|w| Some(w.at) == edit.old));
        self.pending.set(pending);
        if raced { Err(freeze::raced(self.source.name())) } else { Ok(new) }
    }

    /// Records a new delta by itself.
    pub fn settle(&self, session: &Session<'_>) -> Result<()> {
        match self.pending.take() {
            Some(edit) => freeze::settle(session, edit, self.source.name()),
            None => Ok(()),
        }
    }
}

fn branch(view: &View, name: &str) -> Option<Resolved> {
    let name = RefName::branch(name).ok()?;
    let tip = *view.branches.get(&name)?;
    let source = Source::Branch { name, tip };
    Some(Resolved {
        source,
        pending: Cell::new(None),
        worker_onto: None,
        checks: Vec::new(),
        collected: false,
        noted: Noted::default(),
    })
}

pub fn attempts(
    session: &Session<'_>,
    view: &View,
    found: &Resolved,
    onto: &RefName,
    request: &Request,
) -> Result<Landed> {
    of_its_own(session, view, onto, || again_and_again(session, view, found, onto, request))
}

fn again_and_again(
    session: &Session<'_>,
    view: &View,
    found: &Resolved,
    onto: &RefName,
    request: &Request,
) -> Result<Landed> {
    let clone = session.clone_id().unwrap_or_default().to_owned();
    server::refresh(session, onto)?;
    let mut gates = found.gates(session, view, onto, &request.gates)?;
    let mut left = request.retries;
    loop {
        match attempt(session, &clone, found, onto, &gates, request) {
            Err(Failure::Refusal(r)) if r.token == Token::TrunkMoved && left > 0 => {
                left -= 1;
                session.tell(format!(
                    "{} moved; building the candidate again ({left} retries left)",
                    onto.short()
                ));
                gates = found.gates(session, &session.view()?, onto, &request.gates)?;
            }
            other => return other,
        }
    }
}

fn attempt(
    session: &Session<'_>,
    clone: &str,
    found: &Resolved,
    onto: &RefName,
    gates: &[String],
    request: &Request,
) -> Result<Landed> {
    let report = Report { session, found, onto, gates, dry_run: request.dry_run };
    let tip = |view: &View| session.branch_tip(view, onto);
    if request.dry_run || gates.is_empty() {
        // Nothing slow lies between building and landing: under the lock no other landing of ours can come
        // first.
        let held = if request.dry_run { None } else { Some(Landings::begin(session, clone)?) };
        let view = session.view()?;
        let waiting = left_waiting(session, &view, found, onto)?;
        if let Some((op, landing)) = already(session, &view, found, onto)? {
            candidate::let_go(session, &waiting);
            return report.already(op, &landing, tip(&view)?);
        }
        policy::heed(session, &view, &found.source, onto)?;
        found.refuse_other_gates(session, &view, onto, gates)?;
        let record = candidate::build(session, &found.source, onto, tip(&view)?, request.shape)?;
        if let Some(held) = held {
            landing::integrate(&held, &record.to_move(), found.pending.take())?;
            candidate::let_go(session, &waiting);
        }
        return report.landed(&record);
    }
    found.settle(session)?;
    drop(Landings::begin(session, clone)?);
    let view = session.view()?;
    let stale = left_waiting(session, &view, found, onto)?;
    if let Some((op, landing)) = already(session, &view, found, onto)? {
        candidate::let_go(session, &stale);
        return report.already(op, &landing, tip(&view)?);
    }
    policy::heed(session, &view, &found.source, onto)?;
    found.refuse_other_gates(session, &view, onto, gates)?;
    let record = candidate::build(session, &found.source, onto, tip(&view)?, request.shape)?;
    let kept = candidate::keep(session, record)?;
    let old: Vec<Candidate> = stale.into_iter().filter(|c| c.record.op != kept.record.op).collect();
    candidate::drop_all(session, &old)?;
    let changes = landing::changes(session, &kept.record.landing)?;
    let checks = Checks {
        commands: gates,
        changes: &changes,
        least: Jail::None,
        allow_empty: request.take.allow_empty,
    };
    gate::run(session, clone, &view, kept.record.landing.new, kept.record.op, &checks)?;
    crate::fault::point("land: gate passed");
    let held = Landings::begin(session, clone)?;
    // The gate took its time, in which somebody may have judged.
    policy::refuse_unjudged(session, &session.view()?, &found.source, onto)?;
    landing::integrate(&held, &kept.record.to_move(), None)?;
    candidate::let_go(session, std::slice::from_ref(&kept));
    report.landed(&kept.record)
}

/// The candidates that wait for this work. What the branch holds already is dropped: its landing was cut
/// short before it could do so itself.
fn left_waiting(
    session: &Session<'_>,
    view: &View,
    found: &Resolved,
    onto: &RefName,
) -> Result<Vec<Candidate>> {
    if session.dry {
        return Ok(Vec::new());
    }
    let waiting = candidate::waiting(session, view, &found.source, onto)?;
    let tip = session.branch_tip(view, onto)?;
    let (mut landed, mut rest) = (Vec::new(), Vec::new());
    for candidate in waiting {
        let done = session.repo.objects.is_ancestor(candidate.record.landing.new, tip)?;
        if done { landed.push(candidate) } else { rest.push(candidate) }
    }
    candidate::drop_all(session, &landed)?;
    Ok(rest)
}

/// The landing on `onto` that already brought home this very delta, or all that the branch holds, if its
/// commit is still reachable.
pub fn already(
    session: &Session<'_>,
    view: &View,
    found: &Resolved,
    onto: &RefName,
) -> Result<Option<(OpId, Landing)>> {
    // A delta that is new just now cannot have landed.
    if found.is_new(view)? {
        return Ok(None);
    }
    let objects = &session.repo.objects;
    let frozen = match &found.source {
        Source::Delta { delta, .. } => delta.lane,
        Source::Branch { .. } => None,
    };
    let ledger = Ledger::since(&session.repo, view, frozen)?;
    let tip = session.branch_tip(view, onto)?;
    for (op, _, landing) in ledger.landings.iter().filter(|(_, _, l)| l.onto.may_be_one_branch(onto)) {
        let same = match &found.source {
            Source::Delta { delta, .. } => {
                landing.delta.as_ref().is_some_and(|d| d.worker == delta.worker && d.n == delta.n)
            }
            Source::Branch { name, tip } => {
                landing.branch.as_ref() == Some(name) && objects.is_ancestor(*tip, landing.new)?
            }
        };
        if same && objects.is_ancestor(landing.new, tip)? {
            return Ok(Some((*op, landing.clone())));
        }
    }
    Ok(None)
}

/// Refuses what `landing` brought home to a branch that is at `target` now, if it was taken back there.
pub fn refuse_taken_back(
    session: &Session<'_>,
    landing: &Landing,
    source: &Source,
    target: Oid,
) -> Result<()> {
    if !is_taken_back(session, landing, source.tip(), target)? {
        return Ok(());
    }
    Err(Refusal::new(Token::Reverted, format!("{} was taken back after it had landed", source.name()))
        .oid("it landed as", landing.new)
        .oid("the branch is at", target)
        .show(format!("git log --oneline {}", quoted(format!("{}..{}", landing.new, landing.onto.short()))))
        .next("git revert the commit that took it back, or dispatch the task again")
        .into())
}

/// Builds the outcome.
struct Report<'a> {
    session: &'a Session<'a>,
    found: &'a Resolved,
    onto: &'a RefName,
    gates: &'a [String],
    dry_run: bool,
}

impl Report<'_> {
    fn landed(&self, record: &CandidateRecord) -> Result<Landed> {
        let landing = &record.landing;
        Ok(Landed {
            paths: landing::changes(self.session, landing)?.len(),
            gates: self.gates.to_vec(),
            unsigned: self.session.config.is_true("commit.gpgsign"),
            ..self.of(record.op, landing)
        })
    }

    /// What was taken back after it had landed does not land again unasked: somebody wanted it away.
    fn already(&self, op: OpId, landing: &Landing, target: Oid) -> Result<Landed> {
        refuse_taken_back(self.session, landing, &self.found.source, target)?;
        Ok(Landed { already: true, ..self.of(op, landing) })
    }

    fn of(&self, op: OpId, landing: &Landing) -> Landed {
        let delta = landing.delta.as_ref();
        Landed {
            name: self.found.source.name().to_owned(),
            onto: self.onto.clone(),
            old: landing.old,
            new: landing.new,
            op,
            commits: delta.map_or(1, |d| if d.squash { 1 } else { d.commits.len() }),
            paths: 0,
            match_: delta.map(|d| d.match_),
            squash: delta.is_some_and(|d| d.squash),
            already: false,
            dry_run: self.dry_run,
            gates: Vec::new(),
            noted: self.found.noted.clone(),
            unsigned: false,
        }
    }
}

/// The one worker that is ready, for `land` without a name.
pub fn only_ready(session: &Session<'_>) -> Result<String> {
    let view = session.view()?;
    let all: Vec<_> =
        view.workers.iter().filter(|w| w.record.outcome == crate::domain::Outcome::Ready).collect();
    let ledger = Ledger::load(&session.repo, &view)?;
    let mut open = Vec::new();
    for worker in &all {
        if !has_landed(session, &view, &ledger, worker)? {
            open.push(*worker);
        }
    }
    // One that did nothing is in nobody's way.
    let mut ready = open.clone();
    ready.retain(|w| w.tip() != w.record.base);
    let ready = if ready.is_empty() { open } else { ready };
    match (ready.as_slice(), all.as_slice()) {
        // Of the only one there is, `land` says itself that it has landed.
        ([one], _) | ([], [one]) => Ok(one.record.handle.to_string()),
        ([], [_, ..]) => Err(Refusal::new(Token::NoSuchWorker, "every worker that is ready has landed")
            .lines(all.iter().map(|w| w.record.handle.to_string()))
            .show(LIST_SHARED)
            .next("git skein reap --all shows which can be closed")
            .into()),
        ([], _) => Err(Refusal::new(Token::NoSuchWorker, "no worker is ready")
            .show(LIST_SHARED)
            .next("git skein status shows what each of them does")
            .into()),
        (many, _) => Err(Refusal::new(
            Token::NoSuchWorker,
            format!("{} workers are ready; say which one to land", many.len()),
        )
        .lines(many.iter().map(|w| w.record.handle.to_string()))
        .show(LIST_SHARED)
        .next("git skein land <worker>…")
        .into()),
    }
}
