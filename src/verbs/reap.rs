//! `reap`: closes workers whose work is proven landed, or who did nothing. Tip and snapshots are kept before
//! anything goes, the record goes into an archive, and the refs go last.

mod close;

use crate::domain::Exit;
use crate::domain::Failure;
use crate::domain::Fate;
use crate::domain::Handle;
use crate::domain::Keep;
use crate::domain::Liveness;
use crate::domain::Oid;
use crate::domain::Outcome;
use crate::domain::RefName;
use crate::domain::Remains;
use crate::domain::Remove;
use crate::domain::Result;
use crate::domain::Risks;
use crate::domain::Token;
use crate::domain::Unknown;
use crate::domain::Verdict;
use crate::domain::WorkerId;
use crate::domain::fate;
use crate::state::Ledger;
use crate::state::View;
use crate::state::Worker;
use crate::verbs::custody;
use crate::verbs::init;
use crate::verbs::landed;
use crate::verbs::proof;
use crate::verbs::registration;
use crate::verbs::registration::Registered;
use crate::verbs::registration::Registration;
use crate::verbs::session::Session;
use crate::verbs::snapshot::Seen;
use crate::verbs::spawn;
use crate::verbs::stored;
use bstr::BString;
use bstr::ByteSlice;
use serde::Serialize;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

/// How long the supervisor of a worker that has ended may take to be gone.
const LEAVING: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Default)]
pub struct Request {
    pub names: Vec<String>,
    /// Every worker that does not run.
    pub all: bool,
    /// Do it; else only say what would be done.
    pub yes: bool,
    pub risks: Risks,
}

#[derive(Debug, Serialize)]
pub struct Reaped {
    pub workers: Vec<Row>,
    pub dry_run: bool,
    #[serde(skip)]
    named: bool,
}

impl Reaped {
    /// A worker that was named and is kept is a "no".
    pub fn exit(&self) -> Exit {
        let kept = self.workers.iter().any(|w| matches!(w.fate, Fate::Keep(_)));
        if self.named && kept { Exit::No } else { Exit::Done }
    }
}

/// One worker and what becomes of it.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub worker: WorkerId,
    pub handle: Handle,
    #[serde(flatten)]
    pub fate: Fate,
    /// What the proof found, if it was asked for one.
    pub verdict: Option<Verdict>,
    pub onto: RefName,
    /// Why its folder is not taken for its worktree.
    pub estranged: Option<String>,
    /// Paths beyond its delta, kept as a snapshot.
    pub leftovers: usize,
    /// Paths in its worktree that cannot be captured.
    pub uncaptured: Vec<String>,
    /// Paths in its worktree that no snapshot saw.
    pub unseen: Vec<String>,
    #[serde(serialize_with = "crate::verbs::place_as_text")]
    pub worktree: Option<PathBuf>,
    pub tip: Oid,
    pub snapshot: Option<Oid>,
    /// Workers that it has started and that are open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Handle>,
}

/// A worker with what was found of it.
struct Case {
    worker: Worker,
    registration: Registration,
    seen: Option<Seen>,
    row: Row,
}

/// What all cases are judged by.
struct Bench<'b> {
    view: &'b View,
    ledger: Ledger,
    registered: Registered,
    risks: Risks,
}

pub fn run(session: &mut Session<'_>, request: &Request) -> Result<Reaped> {
    session.refuse_in_worker("reap")?;
    if !request.yes {
        session.rehearse()?;
        let view = session.view()?;
        return rows(session, &view, request).map(|(_, reaped)| reaped);
    }
    init::ensure(session)?;
    let _closing = session.lock_reaping()?;
    let view = session.view()?;
    let (mut cases, mut reaped) = rows(session, &view, request)?;
    close::all(session, &view, &mut cases, request.risks)?;
    let closed = cases.into_iter().map(|c| c.row);
    reaped.workers.extend(closed);
    reaped.workers.sort_by_key(|w| w.worker);
    Ok(reaped)
}

/// The decision on each worker that is meant; with `--yes` those to be removed as cases, and the others as
/// rows.
fn rows(session: &Session<'_>, view: &View, request: &Request) -> Result<(Vec<Case>, Reaped)> {
    let mut meant: Vec<&Worker> = Vec::new();
    let mut workers = Vec::new();
    for name in &request.names {
        match view.meant(&session.repo, name) {
            Ok(worker) if meant.iter().any(|w| w.id == worker.id) => {}
            Ok(worker) => meant.push(worker),
            Err(none) => match view.archived_worker(&session.repo, name) {
                Ok(Some(closed)) if none.token() == Some(Token::NoSuchWorker) => {
                    let fate = Fate::Remove(Remove::Archived);
                    workers.push(Row { fate, ..row(&closed, &Registration::Missing) });
                }
                _ => return Err(none),
            },
        }
    }
    if request.all {
        meant = view.workers.iter().filter(|w| !runs(session, w)).collect();
    }
    let mut mended: Vec<Worker> = meant.into_iter().cloned().collect();
    if request.yes {
        let half = view.half_closed(&session.repo)?;
        for worker in &mut mended {
            *worker = registration::mend(session, worker, half.get(&worker.id))?;
        }
        registration::settle(session, &mended.iter().map(|w| w.id).collect::<Vec<_>>())?;
    }
    let ledger = Ledger::load(&session.repo, view)?;
    let bench = Bench { view, ledger, registered: Registered::read(session)?, risks: request.risks };
    let mut cases = Vec::new();
    for worker in &mended {
        let case = judge(session, &bench, worker)?;
        match case.row.fate {
            Fate::Remove(_) if request.yes => cases.push(case),
            _ => workers.push(case.row),
        }
    }
    Ok((cases, Reaped { workers, dry_run: !request.yes, named: !request.names.is_empty() }))
}

fn row(worker: &Worker, registration: &Registration) -> Row {
    Row {
        worker: worker.id,
        handle: worker.record.handle.clone(),
        fate: Fate::Keep(Keep::Running),
        verdict: None,
        onto: worker.record.onto.clone(),
        estranged: registration.estranged(),
        leftovers: 0,
        uncaptured: Vec::new(),
        unseen: Vec::new(),
        worktree: match registration {
            Registration::Stands(admin) => Some(admin.path.clone()),
            _ => None,
        },
        tip: worker.tip(),
        snapshot: worker.wip,
        children: Vec::new(),
    }
}

/// Whether it runs. A supervisor writes the outcome when the run is over, and is gone a moment later.
fn runs(session: &Session<'_>, worker: &Worker) -> bool {
    let live = || custody::liveness(session, worker) == Liveness::Live;
    if worker.record.outcome == Outcome::Active {
        return live();
    }
    !crate::host::wait_until(LEAVING, || !live())
}

/// Looks at one worker and decides. Outside a rehearsal what is seen is kept as a snapshot.
fn judge(session: &Session<'_>, bench: &Bench<'_>, worker: &Worker) -> Result<Case> {
    let registration = bench.registered.of(session, worker.id);
    let mut row = row(worker, &registration);
    row.children = spawn::children(bench.view, worker.id).map(|w| w.record.handle.clone()).collect();
    let liveness = if runs(session, worker) { Liveness::Live } else { custody::liveness(session, worker) };
    let in_progress = match registration.admin() {
        Some(admin) => session.repo.in_progress(admin)?,
        None => None,
    };
    let nothing = Verdict::Empty;
    let mut found = Remains {
        outcome: worker.record.outcome,
        liveness: match liveness {
            // Whoever writes has just closed every dead worker that can be closed.
            Liveness::Gone if !session.dry && worker.record.outcome == Outcome::Active => Liveness::Unknown,
            seen => seen,
        },
        own: session.clone_id() == Some(worker.record.clone.as_str()),
        estranged: row.estranged.clone(),
        in_progress: in_progress.map(|(what, _)| what),
        uncaptured: 0,
        unseen: 0,
        verdict: &nothing,
        untouched: true,
        changes_nothing: false,
        landed_empty: false,
    };
    row.fate = fate(&found, bench.risks);
    if matches!(row.fate, Fate::Keep(_)) {
        return Ok(Case { worker: worker.clone(), registration, seen: None, row });
    }
    let seen = match registration.look(session, worker) {
        // A full disk says nothing of the worker.
        Err(Failure::Refusal(refusal)) if refusal.token.exit() != Exit::Fault => {
            row.fate = Fate::Keep(Keep::Uncaptured);
            row.uncaptured = vec![refusal.says];
            return Ok(Case { worker: worker.clone(), registration, seen: None, row });
        }
        looked => looked?,
    };
    let home = landed::home(session, bench.view, &bench.ledger, worker);
    let verdict = verdict(session, bench, worker, (seen.head, home.as_ref()))?;
    if let Registration::Stands(admin) = &registration {
        row.uncaptured = uncaptured(admin, &seen);
        let unseen = unseen(session, &admin.path, seen.tree)?;
        row.unseen = unseen.iter().map(|p| p.to_str_lossy().into_owned()).collect();
    }
    found.uncaptured = row.uncaptured.len();
    found.unseen = row.unseen.len();
    found.verdict = &verdict;
    let alone = seen.leftovers.is_empty() && seen.kept.wip.is_none();
    found.untouched = alone && seen.head == worker.record.base;
    found.changes_nothing = alone && !found.untouched;
    if found.changes_nothing && verdict == Verdict::Empty {
        found.landed_empty = landed_as_it_is(session, bench, worker, (seen.head, home.as_ref()))?;
    }
    row.fate = fate(&found, bench.risks);
    row.leftovers = stored::leftovers(session, &worker.record, &seen)?.len();
    row.onto = home.map_or(row.onto, |(onto, _)| onto);
    row.verdict = Some(verdict);
    (row.tip, row.snapshot) = (seen.head, seen.kept.wip);
    Ok(Case { worker: worker.clone(), registration, seen: Some(seen), row })
}

/// What no snapshot saw of the worktree at `path`, and the main checkout does not have either: copies that
/// `.worktreeinclude` brought are no loss as long as they are copies.
fn unseen(session: &Session<'_>, path: &Path, tree: Oid) -> Result<Vec<BString>> {
    let main = session.repo.worktrees()?.into_iter().next();
    let home = main.filter(|main| !main.bare && main.path != session.repo.dirs.common);
    session.repo.objects.unseen(path, tree, home.map(|main| main.path).as_deref())
}

/// What would be lost with the worktree whatever is captured. A fifo or a socket holds nothing.
fn uncaptured(admin: &crate::plumbing::Admin, seen: &Seen) -> Vec<String> {
    let bytes = seen.skipped.iter().filter(|s| !s.ends_with("(Special)")).cloned();
    let withheld = seen.withheld.iter().map(|why| why.says.clone());
    let inside = [("modules", "repositories of submodules"), ("refs/worktree", "refs of the worktree alone")];
    let more = inside.iter().filter(|(name, _)| admin.dir.join(name).exists());
    bytes
        .chain(withheld)
        .chain(more.map(|(name, what)| format!("{} ({what})", admin.dir.join(name).display())))
        .collect()
}

/// Whether its very commits were landed though they change nothing, and the branch has them: of such there is no proof
/// but that record.
fn landed_as_it_is(
    session: &Session<'_>,
    bench: &Bench<'_>,
    worker: &Worker,
    (head, home): (Oid, Option<&(RefName, Oid)>),
) -> Result<bool> {
    let Some((onto, target)) = home else { return Ok(false) };
    let mut of_it = bench.ledger.landings_of(worker.id, worker.record.deltas).filter(|l| l.onto == *onto);
    let landing = of_it.find(|l| l.delta.as_ref().is_some_and(|d| d.tip == head));
    landing.map_or(Ok(false), |l| session.repo.objects.is_ancestor(l.new, *target))
}

fn verdict(
    session: &Session<'_>,
    bench: &Bench<'_>,
    worker: &Worker,
    (head, home): (Oid, Option<&(RefName, Oid)>),
) -> Result<Verdict> {
    let Some((onto, target)) = home else {
        let detail = format!("there is no branch {} any more", worker.record.onto.short());
        return Ok(Verdict::Unknown { why: Unknown::BaseNotInTrunk, detail });
    };
    let question = landed::question(session, &bench.ledger, worker, head, (onto, *target))?;
    if question.tip == question.base {
        return Ok(Verdict::Empty);
    }
    let verdict = proof::prove(&session.repo.objects, &question)?.verdict;
    let more = landed::landed_with_more(session, &bench.ledger, worker, &question, (onto, &verdict))?;
    Ok(more.map_or(verdict, |more| more.verdict))
}
