//! The supervisor: one process per worker that outlives the command that started it. It runs the agent,
//! keeps snapshots of its tree as it works, and writes how it ended.

use crate::domain::Agent;
use crate::domain::Bounds;
use crate::domain::End;
use crate::domain::Failure;
use crate::domain::Flag;
use crate::domain::Jail;
use crate::domain::Oid;
use crate::domain::Outcome;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::domain::quoted;
use crate::host::Cause;
use crate::host::Control;
use crate::host::Lock;
use crate::host::Spared;
use crate::host::Spec;
use crate::host::Supervised;
use crate::host::Watch;
use crate::plumbing::Admin;
use crate::plumbing::Capture;
use crate::plumbing::NO_MAINTENANCE;
use crate::plumbing::Private;
use crate::state::Limits;
use crate::verbs::custody;
use crate::verbs::desk::Desk;
use crate::verbs::finish;
use crate::verbs::freeze;
use crate::verbs::gate;
use crate::verbs::jail;
use crate::verbs::jail::Cell;
use crate::verbs::job::Job;
use crate::verbs::outside::Outside;
use crate::verbs::overlap::Warnings;
use crate::verbs::pane;
use crate::verbs::post::Post;
use crate::verbs::recorder::Recorder;
use crate::verbs::session::SUPERVISE;
use crate::verbs::session::Session;
use crate::verbs::snapshot;
use crate::verbs::snapshot::Kept;
use crate::verbs::snapshot::Seen;
use crate::verbs::spawn;
use bstr::ByteSlice;
use std::ffi::OsString;
use std::time::Duration;
use tokio::time::Instant;

/// Set for the agent and all that it starts: its brief. The path says of which worker in which repository,
/// where a copied repository has the same workers.
pub const MARK: &str = "SKEIN_BRIEF";

/// Where the agent puts what it says to us.
pub const OUTBOX: &str = "SKEIN_OUTBOX";

/// A change is kept when the tree has been quiet for this long, and at the latest after [`AT_MOST`].
const QUIET: Duration = Duration::from_millis(200);
const AT_MOST: Duration = Duration::from_secs(2);

/// How long somebody may look at the lock of a supervisor that is being born; another one has it for good.
const LOOKS: Duration = Duration::from_secs(1);

/// How long dispatch waits for the supervisor's first sign of life.
const START: Duration = Duration::from_secs(20);

pub fn done_pattern(limits: &Limits) -> Result<Option<regex::bytes::Regex>> {
    let Some(pattern) = &limits.done_pattern else { return Ok(None) };
    regex::bytes::Regex::new(pattern).map(Some).map_err(|e| {
        Refusal::new(Token::BadPattern, format!("--done-pattern {pattern:?} is not a regular expression"))
            .lines(e.to_string().lines().map(ToOwned::to_owned))
            .show(format!("printf '%s\\n' text | grep -E {}", quoted(pattern)))
            .next("correct the pattern")
            .into()
    })
}

/// Starts the supervisor of `job` and returns when it has taken over.
pub fn start(session: &Session<'_>, job: &Job) -> Result<()> {
    let id = job.worker;
    let spec = serde_json::to_vec(job).map_err(|e| Failure::fault("noting the job", e))?;
    crate::host::put(&session.local.spec(id), &spec)?;
    crate::host::put(&session.local.brief(id), job.brief.as_bytes())?;
    let argv = [session.env.exe().as_os_str().to_owned(), SUPERVISE.into(), id.to_string().into()];
    let env = session.env.iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    let common = &session.repo.dirs.common;
    let mut env: Vec<(OsString, OsString)> = crate::fault::for_supervisor(env);
    env.retain(|(k, _)| !crate::plumbing::is_local_env(k));
    env.push(("GIT_DIR".into(), common.as_os_str().to_owned()));
    // Where the main checkout is may be known only here: from `GIT_WORK_TREE` or a `.git` file.
    let main = session.repo.worktrees()?.into_iter().next().filter(|w| !w.bare && w.path != *common);
    env.extend(main.map(|w| ("GIT_WORK_TREE".into(), w.path.into())));
    let words = session.local.worker(id).join("supervisor.log");
    let pid = crate::host::detach(&argv, common, &env, &words)?;
    crate::fault::point("dispatch: supervisor started");
    // Written when it is alive, and what `stop` looks for. Of an earlier run there is another one.
    let known = || {
        let noted = crate::host::read_optional(&session.local.pid(id)).unwrap_or_default();
        noted.is_some_and(|noted| noted == format!("{pid}\n").as_bytes())
    };
    // Once seen is seen: who takes a read that fails later for its end puts back the record of one that runs.
    let mut seen = false;
    crate::host::wait_until(START, || {
        seen = known();
        seen || !crate::host::start_time(pid).is_some_and(|t| crate::host::alive(pid, t))
    });
    if seen || known() {
        return Ok(());
    }
    let said = crate::host::read_optional(&words)?.unwrap_or_default();
    Err(Failure::fault("starting the supervisor", said.to_str_lossy().trim()))
}

/// Whether a supervisor ever came so far that an agent may have run.
pub fn took_over(session: &Session<'_>, id: WorkerId) -> bool {
    session.local.pid(id).exists()
}

/// Turns this process into the agent, within bounds; returns only if that fails.
pub fn launch(parent: u32, bounds: &str, argv: &[OsString]) -> Option<Failure> {
    Some(crate::host::launch(parent, &Bounds::from_word(bounds)?, argv))
}

/// The supervisor's life, from start to end.
pub fn run(session: &Session<'_>, id: WorkerId) -> Result<()> {
    crate::host::become_supervisor()?;
    let spec = crate::host::read_optional(&session.local.spec(id))?.unwrap_or_default();
    let job: Job = serde_json::from_slice(&spec).map_err(|e| Failure::fault("reading the job", e))?;
    let _alive = Lock::acquire(&session.local.alive(id), LOOKS)?
        .ok_or_else(|| Failure::fault("supervising", "another supervisor has this worker"))?;
    crate::host::put(&session.local.pid(id), format!("{}\n", std::process::id()).as_bytes())?;
    crate::fault::point("supervise: taken over");
    let admin = custody::standing(session, id)?
        .ok_or_else(|| Failure::fault("supervising", "the worktree is not there"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Failure::fault("starting the runtime", e))?;
    runtime.block_on(supervise(session, &job, &admin))
}

async fn supervise(session: &Session<'_>, job: &Job, admin: &Admin) -> Result<()> {
    let id = job.worker;
    let view = session.view()?;
    let worker = view.worker(&id.to_string())?;
    if worker.record.outcome != Outcome::Active {
        return Ok(());
    }
    let base = worker.record.base;
    let mut kept = Kept { head: worker.head, wip: worker.wip };
    let mut capture = snapshot::capture(session, id, admin)?;
    let recorder = Recorder::open(session, worker, Agent::of(&job.argv))?;
    let mut desk = Desk::open(session, id, &recorder)?;
    let mut warnings = Warnings::of(session, &recorder, id, base);
    let mut spec = spec(session, job, worker, admin)?;
    let post = Post::open(session, job, &mut spec, &recorder);
    // Now: its agent could remove it.
    let before = Outside::before(session, id)?;
    let mut files = Watch::new(&admin.path)?;
    let mut commits = match job.jail {
        Jail::None => None,
        Jail::Bwrap => Some(Watch::new(&Private::of(session.local.private(id), admin).watched())?),
    };
    let control = spec.control.clone();
    let each = |line: &[u8]| {
        recorder.heard(line);
        post.heard(line);
    };
    let run = Supervised::heard(spec, &each);
    let mut run = std::pin::pin!(run);
    let ended = loop {
        let leaves = desk.leaves();
        tokio::select! { biased;
            ended = &mut run => break ended,
            () = at(leaves) => {
                desk.has_left();
                control.stop();
            }
            () = recorder.learnt() => learnt(session, job, &recorder),
            () = recorder.overspent() => control.stop(),
            () = post.news() => post.note(),
            () = post.rung() => {
                // Who waits for an answer has it first.
                desk.hear(Vec::new(), None);
                post.bring();
            }
            () = desk.called() => {
                control.touch();
                let requests = desk.requests();
                let seen = match requests.is_empty() {
                    true => None,
                    false => look(session, id, base, admin, &mut capture, &mut kept),
                };
                if let Some(seen) = &seen {
                    warnings.look(seen);
                }
                desk.hear(requests, seen.as_ref());
            }
            () = changed(&mut files, commits.as_mut()) => {
                control.touch();
                if let Some(seen) = look(session, id, base, admin, &mut capture, &mut kept) {
                    warnings.look(&seen);
                }
            }
        }
    };
    post.note();
    let seen = match snapshot::take(session, id, base, admin, &mut capture, kept) {
        Ok(seen) => seen,
        // Once more with what is kept now; the worktree may be gone, then that is all there is.
        Err(_) => custody::look(session, session.view()?.worker(&id.to_string())?)?,
    };
    crate::fault::point("supervise: last snapshot");
    if seen.withheld.is_none()
        && let Err(failure) = jail::give_back(session, id, admin, base, &job.argv)
    {
        // The next look tries again.
        session.tell(format!("giving the worktree back: {failure}"));
    }
    let outside = Outside::since(session, before.as_ref(), id)?;
    close(session, job, admin, ended, &seen, outside, (desk.end(), &recorder))
}

/// Keeps what is there now. A tree in the middle of a change is looked at again: nothing is lost by one failure.
fn look(
    session: &Session<'_>,
    id: WorkerId,
    base: Oid,
    admin: &Admin,
    capture: &mut Capture<'_>,
    kept: &mut Kept,
) -> Option<Seen> {
    match snapshot::take(session, id, base, admin, capture, *kept) {
        Ok(seen) => {
            *kept = seen.kept;
            Some(seen)
        }
        Err(failure) => {
            session.tell(format!("snapshot: {failure}"));
            *kept = snapshot::kept_now(session, id).unwrap_or(*kept);
            None
        }
    }
}

/// Resolves at `moment`, if there is one.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Resolves when the working tree has changed, or what its git knows.
async fn changed(files: &mut Watch, commits: Option<&mut Watch>) {
    let Some(commits) = commits else { return files.settled(QUIET, AT_MOST).await };
    tokio::select! {
        () = files.settled(QUIET, AT_MOST) => {}
        () = commits.settled(QUIET, AT_MOST) => {}
    }
}

fn close(
    session: &Session<'_>,
    job: &Job,
    admin: &Admin,
    ended: Result<crate::host::End>,
    seen: &Seen,
    outside: Vec<String>,
    (said, recorder): (Option<&End>, &Recorder<'_, '_>),
) -> Result<()> {
    let id = job.worker;
    let started = ended.is_ok();
    let (end, exit, mut flags) = match ended {
        Ok(ended) => {
            if let Err(failure) = &ended.log {
                session.tell(format!("log: {failure:?}"));
            }
            told(ended)
        }
        Err(failure) => {
            session.tell(format!("run: {failure:?}"));
            (End::Exited(127), Some(127), Vec::new())
        }
    };
    if !crate::host::survivors_in(&admin.path).is_empty() {
        flags.push(Flag::Survivors);
    }
    let end = match said {
        Some(said) => last_word(session, id, said, seen, outside.is_empty()),
        None => {
            let end = recorder.end(end);
            // What cannot be frozen now is said to whoever imports it.
            if matches!(end, End::Exited(0) | End::Done) && outside.is_empty() {
                let _ = freeze_commits(session, id, seen);
            }
            end
        }
    };
    if started {
        note(session, job, recorder)?;
    }
    if finish::close(session, id, &end, seen, exit, flags, outside)? == Outcome::Ready
        && !job.seeds
        && !is_seed(session, id)
    {
        // Nobody takes it up again, or goes on from it.
        crate::host::remove_tree(&session.local.kept_home(id))?;
    }
    Ok(())
}

/// Whether another worker may go on from its session.
fn is_seed(session: &Session<'_>, id: WorkerId) -> bool {
    let record = session.view().and_then(|view| view.worker(&id.to_string()).map(|w| w.record.clone()));
    record.map_or(true, |record| record.kind.is_some_and(|kind| !kind.seed.is_none()))
}

/// Puts on the record what the output has told: the name of the agent's session, so that it can be taken up again
/// whatever comes, and how far the messages came that the run began with.
fn note(session: &Session<'_>, job: &Job, recorder: &Recorder<'_, '_>) -> Result<()> {
    let at = session.clock.now_secs();
    finish::amend(session, job.worker, |record| {
        record.session = recorder.named();
        for message in record.messages.iter_mut().filter(|m| job.letters.contains(&m.n)) {
            // The agent was started with them, or none of its output would be there.
            message.delivered.get_or_insert(at);
            if recorder.has_begun() {
                message.read.get_or_insert(at);
            }
        }
        for loaded in record.loaded.iter_mut().filter(|loaded| job.references.contains(&loaded.bundle)) {
            loaded.used.get_or_insert(at);
        }
        Ok(())
    })
}

/// The same while it runs. It is tried again at the end.
fn learnt(session: &Session<'_>, job: &Job, recorder: &Recorder<'_, '_>) {
    if let Err(failure) = note(session, job, recorder) {
        session.tell(format!("record: {failure}"));
    }
}

/// How a run ended whose worker said so. What it claims to have done is frozen before its record says that.
fn last_word(session: &Session<'_>, id: WorkerId, said: &End, seen: &Seen, untouched: bool) -> End {
    if !matches!(said, End::Claimed(_)) || !untouched {
        return said.clone();
    }
    match freeze_commits(session, id, seen) {
        Ok(()) => said.clone(),
        Err(failure) => {
            session.tell(format!("freezing: {failure}"));
            End::NotFrozen(failure.to_string())
        }
    }
}

/// Freezes what the worker has committed, if anything: while nobody waits, and before its record says how it ended.
fn freeze_commits(session: &Session<'_>, id: WorkerId, seen: &Seen) -> Result<()> {
    if freeze::claimed(session, id, seen)? {
        crate::fault::point("supervise: delta frozen");
    }
    Ok(())
}

fn told(ended: crate::host::End) -> (End, Option<i32>, Vec<Flag>) {
    let end = match ended.cause {
        Cause::Exited { code } => End::Exited(code),
        Cause::Signalled { signal } => End::Signalled(signal),
        Cause::TimedOut => End::TimedOut,
        Cause::Silent { last_line } => End::Silent(last_line.to_str_lossy().into_owned()),
        Cause::Done { .. } => End::Done,
        Cause::Stopped => End::Stopped,
    };
    let mut flags = Vec::new();
    if ended.killed {
        flags.push(Flag::Killed);
    }
    if !ended.survivors.is_empty() {
        flags.push(Flag::Survivors);
    }
    (end, ended.code, flags)
}

/// `git skein` works for the agent wherever this program was started from.
fn add_own_program(session: &Session<'_>, env: &mut [(OsString, OsString)]) {
    let found = crate::host::find_program(session.env, "git-skein");
    let (Err(_), Some(folder)) = (found, session.env.exe().parent()) else { return };
    if let Some((_, path)) = env.iter_mut().find(|(name, _)| name == "PATH") {
        path.push(":");
        path.push(folder);
    }
}

fn spec(session: &Session<'_>, job: &Job, worker: &crate::state::Worker, admin: &Admin) -> Result<Spec> {
    let id = job.worker;
    let brief_file = session.local.brief(id);
    let cell = Cell {
        dir: session.local.private(id),
        admin,
        only_reads: job.only_reads,
        shown: [brief_file.clone(), session.local.manners(id), session.local.replies(id)]
            .into_iter()
            .chain(Some(session.local.references(id)).filter(|folder| folder.is_dir()))
            .collect(),
        written: vec![session.local.outbox(id)],
        state: Agent::of(&job.argv).map(|agent| agent.state).unwrap_or_default(),
        kept: Some(session.local.kept_home(id)),
    };
    crate::host::put(&session.local.manners(id), job.manners.as_bytes())?;
    let argv = jail::shut_in(session, job.jail, &cell, job.command(&brief_file, &admin.path))?;
    let mut spec = Spec::new(argv, &admin.path, session.local.log(id));
    let handle = &worker.record.handle;
    spec.env = gate::child_env(session, &admin.path);
    let own: [(&str, String); 8] = [
        ("SKEIN_WORKER", id.to_string()),
        ("SKEIN_HANDLE", handle.to_string()),
        ("SKEIN_BASE", worker.record.base.to_string()),
        ("GIT_AUTHOR_NAME", handle.to_string()),
        ("GIT_AUTHOR_EMAIL", custody::mail(id)),
        ("GIT_COMMITTER_NAME", handle.to_string()),
        ("GIT_COMMITTER_EMAIL", custody::mail(id)),
        ("GIT_TERMINAL_PROMPT", "0".to_owned()),
    ];
    spec.env.retain(|(k, _)| !own.iter().any(|(name, _)| k == name));
    spec.env.extend(own.into_iter().map(|(k, v)| (k.into(), v.into())));
    spec.env.extend(NO_MAINTENANCE.map(|(k, v)| (k.into(), v.into())));
    spec.env.push((MARK.into(), brief_file.into()));
    let references = session.local.references(id);
    if references.is_dir() {
        spec.env.push(("SKEIN_REFERENCES".into(), references.into()));
    }
    spec.env.push((OUTBOX.into(), session.local.outbox(id).into()));
    spec.env.push(("SKEIN_MANNERS".into(), session.local.manners(id).into()));
    add_own_program(session, &mut spec.env);
    spec.stdin = job.input();
    spec.timeout = job.limits.timeout.map(Duration::from_secs);
    spec.silence = job.limits.silence.map(Duration::from_secs);
    spec.done = done_pattern(&job.limits)?;
    if let Some(ends) = Agent::of(&job.argv).and_then(|agent| agent.ends)
        && spec.done.is_none()
    {
        spec.done = regex::bytes::Regex::new(ends).ok();
        let goes_on = Agent::of(&job.argv).and_then(|agent| agent.goes_on);
        spec.goes_on = goes_on.and_then(|goes_on| regex::bytes::Regex::new(goes_on).ok());
    }
    spec.control = Control::new();
    let bounds = if !job.window.is_none() {
        spec.argv = pane::in_window(session, job, handle, &spec)?;
        spec.env = gate::child_env(session, &admin.path);
        &Bounds::default()
    } else {
        &job.bounds
    };
    spec.argv = gate::launched(session, bounds, spec.argv);
    let local = session.local.clone();
    spec.spared = Spared::new(move || spawn::other_supervisors(&local));
    Ok(spec)
}
