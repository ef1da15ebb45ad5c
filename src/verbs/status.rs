//! `status`: every worker with outcome, liveness and what to do next. Derived on each look, stored nowhere.

use crate::domain::BriefId;
use crate::domain::Flag;
use crate::domain::Handle;
use crate::domain::Liveness;
use crate::domain::Oid;
use crate::domain::Outcome;
use crate::domain::RefName;
use crate::domain::Result;
use crate::domain::WorkerId;
use crate::domain::protocol::Question;
use crate::domain::protocol::Talk;
use crate::domain::quoted;
use crate::plumbing::CommitGraph;
use crate::plumbing::History;
use crate::plumbing::Worktree;
use crate::state::FrozenWork;
use crate::state::Landing;
use crate::state::Ledger;
use crate::state::View;
use crate::state::Worker;
use crate::state::locked_for;
use crate::verbs::custody;
use crate::verbs::graph;
use crate::verbs::landed::home;
use crate::verbs::landed::seems_taken_back;
use crate::verbs::overlap;
use crate::verbs::overlap::Neighbour;
use crate::verbs::session::Session;
use crate::verbs::stored::Picture;
use serde::Serialize;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

/// All workers, by birth.
#[derive(Debug, Serialize)]
pub struct Status {
    pub workers: Vec<Row>,
    /// Records that this version cannot read.
    pub unreadable: Vec<Unreadable>,
}

#[derive(Debug, Serialize)]
pub struct Unreadable {
    pub worker: WorkerId,
    pub why: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub worker: WorkerId,
    pub handle: Handle,
    pub task: String,
    pub outcome: Outcome,
    pub reason: Option<String>,
    /// Until when its agent cannot go on, while that is to come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<i64>,
    /// The brief of a queue that it was, and what other workers there are of it: each is a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brief: Option<BriefId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub twins: Vec<String>,
    /// As long as its record says that it runs.
    pub liveness: Option<Liveness>,
    pub flags: Vec<Flag>,
    pub base: Oid,
    pub base_name: String,
    pub onto: RefName,
    /// Commits that the target has gained since the base; none can be counted of a branch that is gone.
    pub behind: Option<usize>,
    pub head: Oid,
    pub commits: usize,
    /// Files changed, uncommitted ones included as far as a snapshot saw them.
    pub files: usize,
    /// Its work is in the clone that it ran in, and not here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub away: bool,
    pub snapshot: Option<Oid>,
    pub created: i64,
    pub ended: Option<i64>,
    /// Seconds since its birth.
    pub age: i64,
    /// Seconds since it began to wait for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<i64>,
    /// Of one that runs: seconds since it printed or said something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent: Option<i64>,
    #[serde(serialize_with = "crate::verbs::place_as_text")]
    pub worktree: Option<PathBuf>,
    pub deltas: u32,
    /// It is closed: only an archive has it.
    pub archived: bool,
    /// The commit its newest delta landed as, by the lane, if the branch that it is for has it.
    pub landed: Option<Oid>,
    /// Another branch that has it, where that one has not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub landed_on: Option<RefName>,
    /// The branch had it and took it back.
    pub taken_back: bool,
    /// The worker that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Kin>,
    /// The open workers that it has started.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Kin>,
    /// Of one that is not done: what it said of how it goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub board: Option<Board>,
    /// What it asks a person, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Question>,
    /// The workers that are at work on the same files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub meets: Vec<Neighbour>,
    /// The command that comes next.
    pub next: String,
}

/// How far a worker is, in its own words.
#[derive(Debug, Clone, Serialize)]
pub struct Board {
    pub done: usize,
    pub todos: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
}

impl Board {
    /// None if it has said nothing.
    pub fn of(talk: &Talk) -> Option<Board> {
        let done = talk.todos.iter().filter(|item| item.done).count();
        let board = Board { done, todos: talk.todos.len(), progress: talk.progress.clone() };
        (board.todos > 0 || board.progress.is_some()).then_some(board)
    }
}

/// What the worker has told of its list and of how it goes.
pub fn talk(session: &Session<'_>, id: WorkerId) -> Result<Talk> {
    let talk = crate::host::read_optional(&session.local.talk(id))?.unwrap_or_default();
    Ok(serde_json::from_slice(&talk).unwrap_or_default())
}

/// A worker that started another, or was started by it.
#[derive(Debug, Clone, Serialize)]
pub struct Kin {
    pub worker: WorkerId,
    /// None of a parent that was closed.
    pub handle: Option<Handle>,
    pub outcome: Option<Outcome>,
}

impl Kin {
    fn of(worker: &Worker) -> Kin {
        let record = &worker.record;
        Kin { worker: worker.id, handle: Some(record.handle.clone()), outcome: Some(record.outcome) }
    }

    fn parent(view: &View, child: &Worker) -> Option<Kin> {
        let id = child.record.parent.as_ref()?.worker;
        let open = view.workers.iter().find(|w| w.id == id).map(Kin::of);
        Some(open.unwrap_or(Kin { worker: id, handle: None, outcome: None }))
    }
}

/// The open workers, or those in the archives. Where their worktrees are is looked up if asked for.
pub fn run(session: &Session<'_>, archived: bool, places: bool) -> Result<Status> {
    let mut view = session.view()?;
    if archived {
        let closed = view.archived(&session.repo)?;
        (view.workers, view.unreadable) = (closed, Vec::new());
    }
    let seen = Seen::of(session, &view, places)?;
    let rows =
        view.workers.iter().map(|w| row(session, &seen, w).map(|r| if archived { r.archived() } else { r }));
    let mut workers = rows.collect::<Result<Vec<Row>>>()?;
    if !archived {
        let mut meet = overlap::neighbours(session, &view, &seen.ledger)?;
        workers.iter_mut().for_each(|row| row.meets = meet.remove(&row.worker).unwrap_or_default());
    }
    Ok(Status {
        workers,
        unreadable: view
            .unreadable
            .iter()
            .map(|(worker, why)| Unreadable { worker: *worker, why: why.clone() })
            .collect(),
    })
}

/// What is looked at once for all rows.
pub struct Seen<'v> {
    view: &'v View,
    ledger: Ledger,
    worktrees: BTreeMap<WorkerId, PathBuf>,
    past: Rc<CommitGraph>,
    /// The open workers that each has started.
    children: BTreeMap<WorkerId, Vec<Kin>>,
    /// How far a branch at the second has gone on since the first.
    behind: RefCell<BTreeMap<(Oid, Oid), usize>>,
}

impl<'v> Seen<'v> {
    pub fn of(session: &Session<'_>, view: &'v View, places: bool) -> Result<Seen<'v>> {
        let none = view.workers.is_empty();
        let standing = if none || !places { Vec::new() } else { session.repo.worktrees()? };
        let owner = |w: &Worktree| w.locked.as_deref().and_then(locked_for);
        let worktrees = standing.into_iter().filter_map(|w| Some((owner(&w)?, w.path))).collect();
        let past = if none { Rc::default() } else { graph::load(session, view) };
        let ledger = Ledger::load(&session.repo, view)?;
        let mut children: BTreeMap<WorkerId, Vec<Kin>> = BTreeMap::new();
        for child in &view.workers {
            if let Some(parent) = &child.record.parent {
                children.entry(parent.worker).or_default().push(Kin::of(child));
            }
        }
        Ok(Seen { view, ledger, worktrees, past, children, behind: RefCell::default() })
    }

    /// The commits that `target` has and `base` has not. Most workers share both.
    fn behind(&self, session: &Session<'_>, base: Oid, target: Oid) -> Result<usize> {
        if let Some(known) = self.behind.borrow().get(&(base, target)) {
            return Ok(*known);
        }
        let count = History::read(&session.repo.objects, &self.past, base, target)?.len();
        self.behind.borrow_mut().insert((base, target), count);
        Ok(count)
    }
}

/// One worker's row.
pub fn row(session: &Session<'_>, seen: &Seen<'_>, worker: &Worker) -> Result<Row> {
    let Seen { view, ledger, worktrees, past, .. } = seen;
    let objects = &session.repo.objects;
    let record = &worker.record;
    let (head, commits, files) = match frozen(worker) {
        Some(work) => (work.tip, work.commits as usize, work.paths as usize),
        None => {
            let picture = Picture::of(session, worker)?;
            let work = History::read(objects, past, record.base, picture.head)?;
            let base = objects.tree_of(record.base)?;
            let files = picture.objects(session).diff_trees(base, picture.tree)?.len();
            (picture.head, if work.comes_from_base() { work.len() } else { 0 }, files)
        }
    };
    let target = session.tip(view, &record.onto);
    let behind = target.map(|target| seen.behind(session, record.base, target)).transpose()?;
    let liveness = (record.outcome == Outcome::Active).then(|| custody::liveness(session, worker));
    let home = home(session, view, ledger, worker).map(|(_, tip)| tip);
    let (landed, elsewhere) = landed(session, seen, worker, home)?;
    let server = elsewhere.and_then(|landing| ask_server(landing, worker));
    let taken_back = match landed.zip(home) {
        Some((landing, target)) => seems_taken_back(session, landing, head, target)?,
        None => false,
    };
    let asks: Vec<Question> = match record.outcome {
        Outcome::Active | Outcome::NeedsInput => record.open_questions().cloned().collect(),
        _ => Vec::new(),
    };
    let board = match record.outcome {
        Outcome::Active | Outcome::NeedsInput => Board::of(&talk(session, worker.id)?),
        _ => None,
    };
    let now = session.clock.now_secs();
    Ok(Row {
        worker: worker.id,
        handle: record.handle.clone(),
        task: record.task.clone(),
        outcome: record.outcome,
        reason: record.reason.clone(),
        brief: record.brief,
        twins: twins(view, worker),
        paused: record.paused.filter(|until| *until > session.clock.now_secs()),
        liveness,
        flags: record.flags.clone(),
        base: record.base,
        base_name: record.base_name.clone(),
        onto: record.onto.clone(),
        behind,
        head,
        commits,
        files,
        away: worker.is_away,
        snapshot: worker.wip,
        created: record.created,
        ended: record.ended,
        age: now - record.created,
        waits: record.ended.filter(|_| record.outcome == Outcome::NeedsInput).map(|at| (now - at).max(0)),
        silent: (liveness == Some(Liveness::Live)).then(|| silent(session, worker, now)),
        worktree: worktrees.get(&worker.id).cloned(),
        deltas: record.deltas,
        archived: false,
        landed: landed.map(|l| l.new),
        landed_on: elsewhere.map(|l| l.onto.clone()),
        taken_back,
        next: match (taken_back, asks.is_empty()) {
            (true, _) => format!("git skein landed {}", record.handle),
            (_, true) if record.open_plan().is_some() => format!("git skein plan {}", record.handle),
            (_, true) if landed.is_none() && is_barred(worker) => {
                format!("git skein verdict {}", record.handle)
            }
            (_, true) if server.is_some() => server.unwrap_or_default(),
            (_, true) if record.waits_for_its_turn() => format!("git skein resume {}", record.handle),
            (_, true) => next(record.outcome, liveness, landed.is_some(), files, &record.handle),
            (_, false) => format!("git skein tell {} '<answer>'", record.handle),
        },
        board,
        asks,
        meets: Vec::new(),
        parent: Kin::parent(view, worker),
        children: seen.children.get(&worker.id).cloned().unwrap_or_default(),
    })
}

/// Where the server's branch has it: it comes with a pull, and is not landed again.
fn ask_server(landing: &Landing, worker: &Worker) -> Option<String> {
    let onto = Some(&landing.onto).filter(|onto| onto.may_be_one_branch(&worker.record.onto))?;
    Some(format!("git skein landed {} --onto {}", worker.record.handle, quoted(onto.short())))
}

/// The other workers of the same brief.
fn twins(view: &View, worker: &Worker) -> Vec<String> {
    let same =
        |w: &&Worker| w.record.brief.is_some() && w.record.brief == worker.record.brief && w.id != worker.id;
    view.workers.iter().filter(same).map(|w| view.name_of(w)).collect()
}

/// The landing that the branch at `home` has, by way of whichever branch; else one that stands on another.
fn landed<'s>(
    session: &Session<'_>,
    seen: &'s Seen<'_>,
    worker: &Worker,
    home: Option<Oid>,
) -> Result<(Option<&'s Landing>, Option<&'s Landing>)> {
    let mut elsewhere = None;
    for landing in seen.ledger.landings_of(worker.id, worker.record.deltas) {
        if home.map_or(Ok(false), |home| is_here(session, seen, landing, home))? {
            return Ok((Some(landing), None));
        }
        let tip = session.tip(seen.view, &landing.onto).filter(|_| elsewhere.is_none());
        if tip.map_or(Ok(false), |tip| is_here(session, seen, landing, tip))? {
            elsewhere = Some(landing);
        }
    }
    Ok((None, elsewhere))
}

/// Whether a branch at `target` has the landing. The lane of another clone knows of it before the branch has come here.
fn is_here(session: &Session<'_>, seen: &Seen<'_>, landing: &Landing, target: Oid) -> Result<bool> {
    let objects = &session.repo.objects;
    let known = target == landing.new || objects.exists(landing.new);
    Ok(known && History::read(objects, &seen.past, landing.new, target)?.comes_from_base())
}

/// Whether its newest delta was judged last, and must not land.
fn is_barred(worker: &Worker) -> bool {
    let record = &worker.record;
    record.judged.last().is_some_and(|j| j.verb.bars() && j.delta.unwrap_or_default() == record.deltas)
}

/// Seconds since something came from its agent: a line of output, or a word by the protocol.
fn silent(session: &Session<'_>, worker: &Worker, now: i64) -> i64 {
    let local = &session.local;
    let said = [local.log(worker.id), local.events(worker.id)];
    let last = said.iter().filter_map(|path| crate::host::written_at(path)).max();
    (now - last.unwrap_or(worker.record.created)).max(0)
}

/// The newest delta, if it is all that there is: nothing was seen since that is not in it.
fn frozen(worker: &Worker) -> Option<FrozenWork> {
    let record = &worker.record;
    let all = worker.wip == record.snapshot && !record.flags.contains(&Flag::Uncommitted);
    record.frozen.filter(|work| (all || worker.taken_in.is_some()) && work.tip == worker.tip())
}

impl Row {
    /// As that of a closed worker.
    pub fn archived(self) -> Row {
        Row { archived: true, next: format!("git skein restore {}", self.handle), ..self }
    }
}

fn next(outcome: Outcome, liveness: Option<Liveness>, landed: bool, files: usize, handle: &Handle) -> String {
    let verb = match (outcome, liveness) {
        _ if landed => "reap",
        (Outcome::Active, Some(Liveness::Live)) => "wait",
        (Outcome::Active, _) => "stop",
        (Outcome::Ready | Outcome::Stopped, _) if files > 0 => "land",
        (Outcome::NeedsInput, _) if files > 0 => "show --diff",
        _ => "show --log",
    };
    format!("git skein {verb} {handle}")
}
