//! `dispatch`: one task becomes a worker in its own detached worktree, forked from a named base.

mod site;

pub use site::folder;
pub use site::place;
pub use site::refuse_place;

use crate::domain;
use crate::domain::AGENTS;
use crate::domain::Agent;
use crate::domain::Bounds;
use crate::domain::BriefId;
use crate::domain::Globs;
use crate::domain::Handle;
use crate::domain::Jail;
use crate::domain::Kind;
use crate::domain::Loaded;
use crate::domain::Oid;
use crate::domain::Outcome;
use crate::domain::Parent;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::Window;
use crate::domain::WorkerId;
use crate::domain::deepest;
use crate::domain::doctor::hooks_inside;
use crate::domain::kind::Ties;
use crate::domain::mask;
use crate::domain::verify_commit;
use crate::host::Lock;
use crate::plumbing::Admin;
use crate::plumbing::Edit;
use crate::plumbing::Moved;
use crate::state::Draft;
use crate::state::Limits;
use crate::state::VERSION;
use crate::state::View;
use crate::state::WorkerRecord;
use crate::state::birth;
use crate::state::bundle_ref;
use crate::state::head_ref;
use crate::state::lock_reason;
use crate::verbs::bundle;
use crate::verbs::depth;
use crate::verbs::dirty::Checkout;
use crate::verbs::include::Included;
use crate::verbs::include::Wanted;
use crate::verbs::init;
use crate::verbs::jail;
use crate::verbs::job::Job;
use crate::verbs::kinds;
use crate::verbs::kinds::Chosen;
use crate::verbs::outside::Outside;
use crate::verbs::pane;
use crate::verbs::pause;
use crate::verbs::pause::AtLimit;
use crate::verbs::policy;
use crate::verbs::seed;
use crate::verbs::seed::Seed;
use crate::verbs::session::Session;
use crate::verbs::supervise;
use serde::Serialize;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;

#[derive(Debug, Clone, Default)]
pub struct Request {
    pub task: String,
    pub base: Option<String>,
    /// Fork from the work of another worker: its tip and its handle.
    pub upon: Option<(Oid, String)>,
    /// Fork from the checkout that the person stands in, with what is not committed there.
    pub with_dirty: bool,
    pub name: Option<String>,
    /// What goes on to speak of it by that name must not mean another: where it is taken, nothing starts.
    pub only_that_name: bool,
    /// The name of its kind; else the default one.
    pub kind: Option<String>,
    /// It may change no file, whatever its kind says.
    pub only_reads: bool,
    pub paths: Vec<String>,
    pub onto: Option<String>,
    pub checks: Vec<String>,
    pub limits: Limits,
    /// What to shut the agent in by: `auto`, `bwrap` or `none`; else as `skein.jail` says.
    pub jail: Option<String>,
    /// Nothing starts that cannot be shut in.
    pub require_jail: bool,
    /// How deep workers may start others; else as `skein.spawn` says.
    pub spawn: Option<u32>,
    /// The worker that asks for it.
    pub parent: Option<Parent>,
    /// The name of a known agent, if `argv` is empty; else as `skein.agent` says.
    pub agent: Option<String>,
    /// More words for a known agent.
    pub words: Vec<String>,
    /// What to do while its usage limit is reached.
    pub at_limit: AtLimit,
    /// Empty: the agent, else the built-in scripted one.
    pub argv: Vec<String>,
    /// The command, if neither this nor the kind names one.
    pub otherwise: Vec<String>,
    /// In a tmux window that a person can look at.
    pub tmux: bool,
    /// The agent reads there what is typed at any time; of a known one it is seen in its command.
    pub interactive: bool,
    /// The worker that it follows on, from whose session it goes on if its kind says so.
    pub follows: Option<WorkerId>,
    /// It does, and another one may go on from its own, whatever its kind says.
    pub goes_on: bool,
    /// The worker that it is another try of, and the id that it was promised.
    pub retries: Option<(WorkerId, WorkerId)>,
    /// The brief of a queue that it is.
    pub brief: Option<BriefId>,
    /// The bundles that it begins with.
    pub loaded: Vec<Loaded>,
}

/// A worker that runs.
#[derive(Debug, Serialize)]
pub struct Dispatched {
    pub worker: WorkerId,
    pub handle: Handle,
    pub base: Oid,
    pub base_name: String,
    pub onto: RefName,
    /// Commits of the target branch that the base does not have, and the other way round.
    pub behind: usize,
    pub ahead: usize,
    /// The target's own distance to its upstream, as git says it.
    pub upstream: Option<String>,
    /// Uncommitted files that `--with-dirty` put into the base, on top of this commit.
    pub with_dirty: Vec<String>,
    pub committed_base: Option<Oid>,
    /// Uncommitted files of the main checkout, which the worker does not see.
    pub left_out: Vec<String>,
    /// Ignored files of the main checkout that `.worktreeinclude` brought along.
    pub included: Included,
    /// The hooks of `core.hooksPath`, if the worktree does not have them: git says nothing and runs none.
    pub no_hooks: Option<String>,
    #[serde(serialize_with = "crate::verbs::path_as_text")]
    pub worktree: PathBuf,
    pub jail: Jail,
    /// What its kind binds it to, if that is anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Ties>,
    /// It has a tmux window.
    pub tmux: bool,
}

pub fn run(session: &mut Session<'_>, request: &Request) -> Result<Dispatched> {
    session.refuse_in_worker("dispatch")?;
    begin(session, request)
}

/// The same for who may dispatch from below a supervisor: that supervisor.
pub fn begin(session: &mut Session<'_>, request: &Request) -> Result<Dispatched> {
    let view = session.view()?;
    let kind = kinds::choose(session, &view, request.kind.as_deref())?;
    let request = &with_agent(session, &bound(session, &view, kind.complete(request))?)?;
    let wish = check(session, request)?;
    pause::heed(session, request.at_limit, &request.argv)?;
    let (onto, target) = target(session, &view, request)?;
    depth::for_base(session, request.base.as_deref().unwrap_or_default())?;
    let dirty = if request.with_dirty { Some(Checkout::look(session)?) } else { None };
    let (start, base_name) = match &dirty {
        Some(dirty) => (dirty.head, dirty.name.clone()),
        None => base(session, request, &onto, target)?,
    };
    if !view.initialised {
        // Before a first worker nothing can be in its place that is ours: look before anything is written.
        place(session, &session.repo.worktrees()?, &wish)?;
    }
    let jail = level(session, request)?;
    let seed = seed::look(session, &view, kind.kind.seed, request, jail)?;
    if kind.kind.plan_gate && jail.is_none() {
        session.tell("without a jail nothing keeps it from changing files before its plan is approved");
    }
    let base = match &dirty {
        Some(dirty) => dirty.commit(session)?,
        None => start,
    };
    let wanted = Wanted::look(session, base)?;
    init::ensure_from(session, view)?;
    let outside = Outside::look(session)?;
    let plan = Plan { wish, base, base_name, onto, outside, wanted, jail, kind, seed };
    let (record, admin, included) = make(session, request, &plan)?;
    let Plan { base_name, onto, outside, .. } = plan;
    let objects = &session.repo.objects;
    let with_dirty = dirty.as_ref().map(Checkout::taken).unwrap_or_default();
    let is_main = dirty.is_some_and(|dirty| dirty.is_main);
    let left_out =
        outside.dirty_files().into_iter().filter(|f| !is_main || !with_dirty.contains(f)).collect();
    let hooks = hooks_inside(session.config.get("core.hookspath").unwrap_or_default());
    let no_hooks = hooks.filter(|hooks| !admin.path.join(hooks).is_dir()).map(ToOwned::to_owned);
    Ok(Dispatched {
        worker: record.worker,
        handle: record.handle,
        base,
        base_name,
        behind: objects.between(start, target)?.len(),
        ahead: objects.between(target, start)?.len(),
        upstream: session.repo.upstream(&onto)?,
        onto,
        with_dirty,
        committed_base: (base != start).then_some(start),
        left_out,
        included,
        no_hooks,
        worktree: admin.path,
        jail: record.jail,
        kind: record.kind,
        tmux: request.tmux,
    })
}

/// The request with what the team's policy asks of all workers.
fn bound(session: &Session<'_>, view: &View, request: Request) -> Result<Request> {
    let require_jail = request.require_jail || policy::requires_jail(session, view)?;
    Ok(Request { require_jail, ..request })
}

/// What it is shut in by. Of a worker that may only read this is what keeps it from writing: it runs without a jail
/// only if the person wants none.
fn level(session: &Session<'_>, request: &Request) -> Result<Jail> {
    let wish = request.jail.as_deref().or_else(|| session.config.get("skein.jail"));
    let free = wish == Some(Jail::None.word());
    if request.only_reads && free {
        session
            .tell_once("without a jail nothing keeps it from writing; what it changes is refused".to_owned());
    }
    let require = request.require_jail || request.only_reads && !free;
    jail::level(session, request.jail.as_deref(), require)
}

/// The request with the command of the agent that it names.
fn with_agent(session: &Session<'_>, request: &Request) -> Result<Request> {
    let named = request.agent.as_deref().or_else(|| session.config.get("skein.agent"));
    let Some(name) = named.filter(|_| request.argv.is_empty()) else { return Ok(request.clone()) };
    let agent = Agent::named(name).ok_or_else(|| {
        let known: Vec<&str> = AGENTS.iter().map(|agent| agent.name).collect();
        Refusal::new(Token::AgentNotFound, format!("no agent is known as {name:?}"))
            .lines([format!("known are {}", known.join(", "))])
            .show("git config --get skein.agent")
            .next("name a known agent, or give the whole command after --")
    })?;
    let level = level(session, request)?;
    let argv = agent.with(&agent.argv(level, request.tmux), &request.words);
    Ok(Request { argv, ..request.clone() })
}

/// The branch that the work is for, and where it is.
pub fn target(session: &Session<'_>, view: &View, request: &Request) -> Result<(RefName, Oid)> {
    let named = request.onto.as_deref().map(RefName::target).transpose()?;
    let onto = session.onto(view, named.as_ref())?;
    let target = session.branch_tip(view, &onto)?;
    Ok((onto, target))
}

/// Refuses what can be known to be wrong with a request now. Nothing is written.
pub fn rehearse(session: &Session<'_>, view: &View, request: &Request) -> Result<()> {
    let kind = kinds::choose(session, view, request.kind.as_deref())?;
    let request = &with_agent(session, &bound(session, view, kind.complete(request))?)?;
    check(session, request)?;
    seed::look(session, view, kind.kind.seed, request, level(session, request)?)?;
    let (onto, target) = target(session, view, request)?;
    base(session, request, &onto, target).map(drop)
}

pub fn refuse_empty(request: &Request) -> Result<()> {
    if !request.task.trim().is_empty() {
        return Ok(());
    }
    Err(Refusal::new(Token::NoTask, "the task is empty")
        .show("git skein dispatch -h")
        .next("say what is to be done, or give a file with -F")
        .into())
}

/// What can be refused before anything is written.
fn check(session: &Session<'_>, request: &Request) -> Result<Handle> {
    refuse_empty(request)?;
    Globs::new(request.paths.iter().map(String::as_str))?;
    supervise::done_pattern(&request.limits)?;
    Bounds::of(&session.config)?;
    Bounds::active(&session.config)?;
    deepest(session.config.get("skein.spawn"))?;
    if let Some(program) = request.argv.first() {
        crate::host::find_program(session.env, program)?;
    }
    if request.tmux {
        pane::find(session)?;
    }
    match &request.name {
        Some(name) => Handle::new(name),
        None => Ok(Handle::from_task(&request.task)),
    }
}

pub fn base(session: &Session<'_>, request: &Request, onto: &RefName, target: Oid) -> Result<(Oid, String)> {
    let Some(rev) = &request.base else {
        return Ok(request.upon.clone().unwrap_or_else(|| (target, onto.short().to_owned())));
    };
    if let Some(oid) = session.repo.resolve_commit(rev)? {
        return Ok((oid, rev.clone()));
    }
    let refusal = match session.repo.resolve_any(rev)? {
        Some(oid) => Refusal::new(Token::BadBase, format!("{rev:?} is not a commit")).oid("it is", oid),
        None => Refusal::new(Token::BadBase, format!("{rev:?} names nothing here")),
    };
    Err(refusal.show(verify_commit(rev)).next("give a commit, a branch or a tag that exists").into())
}

/// What is decided before the first write.
struct Plan {
    wish: Handle,
    base: Oid,
    base_name: String,
    onto: RefName,
    outside: Outside,
    wanted: Wanted,
    jail: Jail,
    kind: Chosen,
    seed: Option<Seed>,
}

fn make(session: &Session<'_>, request: &Request, plan: &Plan) -> Result<(WorkerRecord, Admin, Included)> {
    let base = plan.base;
    // Until the record stands, nobody else may find the same handle free.
    let naming = session.lock_worktrees()?;
    let view = session.view()?;
    refuse_active(session, &view)?;
    let handle = name(session, &view, request, &plan.wish)?;
    let path = place(session, &session.repo.worktrees()?, &handle)?;
    let id = request.retries.map_or_else(|| session.new_worker_id(), |(_, promised)| promised);
    crate::host::make_dir(&session.local.worker(id))?;
    let making = Lock::try_acquire(&session.local.making(id))?;
    let brief = mask(&request.task);
    let record = WorkerRecord {
        v: VERSION,
        worker: id,
        clone: session.clone_id().unwrap_or_default().to_owned(),
        handle,
        task: title(&brief),
        outcome: Outcome::Active,
        reason: None,
        base,
        base_name: plan.base_name.clone(),
        onto: plan.onto.clone(),
        paths: request.paths.clone(),
        checks: request.checks.clone(),
        agent: request.argv.iter().map(|a| mask(a)).collect(),
        limits: request.limits.clone(),
        jail: plan.jail,
        created: session.clock.now_secs(),
        ended: None,
        exit: None,
        tip: None,
        snapshot: None,
        flags: Vec::new(),
        outside: Vec::new(),
        deltas: 0,
        frozen: None,
        parent: request.parent.clone(),
        spawn: request.spawn.map_or_else(|| deepest(session.config.get("skein.spawn")), Ok)?,
        kind: plan.kind.ties(session, request.only_reads)?,
        claim: None,
        window: Window::of(request.tmux, request.interactive || Agent::reads_terminal(&request.argv)),
        paused: None,
        session: None,
        seed: plan.seed.as_ref().map(Seed::record),
        questions: Vec::new(),
        plans: Vec::new(),
        messages: Vec::new(),
        judged: Vec::new(),
        loaded: request.loaded.clone(),
        retries: request.retries.map(|(of, _)| of),
        brief: request.brief,
    };
    // Record first, world second: a crash leaves something that can be ended.
    let mut draft = Draft::new(&session.repo)
        .put(birth(&session.repo, &record, &brief)?)
        .put(Edit::create(head_ref(id)?, base));
    for loaded in &record.loaded {
        // It is there still.
        draft = draft.put(Edit::update(bundle_ref(loaded.bundle)?, loaded.commit, loaded.commit));
    }
    if draft.publish()? != Moved::Done {
        let cause = "its refs exist already, or a bundle that it begins with is gone";
        return Err(crate::domain::Failure::fault("recording the worker", cause));
    }
    drop(naming);
    crate::fault::point("dispatch: worker recorded");
    note_place(session, id, &path)?;
    let admin = stand(session, base, &path, &lock_reason(id))?;
    note_birth(session, id, &admin)?;
    let included = plan.wanted.copy(session, &admin)?;
    crate::fault::point("dispatch: ignored files copied");
    let job = job(session, request, plan, &record)?;
    crate::host::put(&session.local.worker(id).join("outside.json"), &plan.outside.to_bytes()?)?;
    if request.tmux {
        // Not by the supervisor: the server would be a child of its own, and end with the run.
        pane::open_session(session)?;
    }
    // Nothing from the checkout on waits for the disk: that would write out all its files. A worker without
    // a trace of work of its own is made anew.
    supervise::start(session, &job)?;
    drop(making);
    Ok((record, admin, included))
}

/// The handle that it gets: the one wished for, or the like. The same task again is another try.
fn name(session: &Session<'_>, view: &View, request: &Request, wish: &Handle) -> Result<Handle> {
    let free = wish.clone().unique(|h| view.handle_taken(h));
    let there = view.workers.iter().find(|w| w.record.handle == *wish);
    let Some(worker) = there.filter(|_| request.only_that_name && request.name.is_some()) else {
        return Ok(free);
    };
    if worker.record.task == title(&mask(&request.task)) {
        session.tell(format!("{wish} is an open worker with the same task; this one is called {free}"));
        return Ok(free);
    }
    Err(Refusal::new(Token::NameTaken, format!("an open worker with another task is called {wish}"))
        .lines([format!("{}, {}: {}", worker.id, worker.record.outcome.word(), worker.record.task)])
        .show(format!("git show {}:record.json", worker.ref_text()))
        .next(format!("choose another --name, or close that one: git skein reap {wish}"))
        .into())
}

fn title(brief: &str) -> String {
    brief.lines().find(|l| !l.trim().is_empty()).unwrap_or_default().trim().to_owned()
}

/// What the supervisor is told.
fn job(session: &Session<'_>, request: &Request, plan: &Plan, record: &WorkerRecord) -> Result<Job> {
    let kind = Kind { read_only: request.only_reads, ..plan.kind.kind.clone() };
    let id = record.worker;
    let command = serde_json::to_vec(&request.argv).unwrap_or_default();
    crate::host::put(&session.local.command(id), &command)?;
    let told = bundle::place(session, id, &record.loaded)?;
    let bounds = Bounds::of(&session.config)?;
    let mut job = Job::new(request, record, record.kind.as_ref().map(|_| &kind), bounds, &told);
    if let Some(seed) = &plan.seed {
        seed.bring(session, id)?;
        // Only this time: taken up again, it has a session of its own.
        job.argv.clone_from(&seed.argv);
    }
    Ok(job)
}

/// Refuses one more worker that runs, where as many do as the person wants.
pub fn refuse_active(session: &Session<'_>, view: &View) -> Result<()> {
    let most = Bounds::active(&session.config)?;
    let own = view.workers.iter().filter(|w| session.clone_id() == Some(w.record.clone.as_str()));
    let active = own.filter(|w| w.record.outcome == Outcome::Active);
    let active: Vec<String> = active.map(|w| w.record.handle.to_string()).collect();
    domain::refuse_active(most, &active)
}

/// A worktree at commit `at`, locked with `reason`: registered under the tool's lock, filled outside it, and checked.
pub fn stand(session: &Session<'_>, at: Oid, path: &Path, reason: &str) -> Result<Admin> {
    if let Some(parent) = path.parent() {
        crate::host::make_dir(parent)?;
    }
    let admin = {
        let _making = session.lock_worktrees()?;
        session.repo.register_worktree(path, at, reason)?
    };
    crate::fault::point("dispatch: worktree registered");
    session.repo.check_out(&admin)?;
    crate::fault::point("dispatch: worktree filled");
    if session.repo.head_of(&admin)? != Some(at) {
        return Err(crate::domain::Failure::fault("making the worktree", "its HEAD is elsewhere"));
    }
    Ok(admin)
}

/// Notes where the worktree of `id` is to stand. Of the folder itself a power cut may leave nothing that says whose it is.
pub fn note_place(session: &Session<'_>, id: WorkerId, path: &Path) -> Result<()> {
    crate::host::replace(&session.local.place(id), path.as_os_str().as_bytes())
}

/// Notes the index of a fresh checkout: it spares reading what does not change.
pub fn note_birth(session: &Session<'_>, id: WorkerId, admin: &Admin) -> Result<()> {
    std::fs::copy(admin.dir.join("index"), session.local.birth_index(id))
        .map(drop)
        .map_err(|e| crate::host::failure("noting the index of", &admin.path, e))
}
