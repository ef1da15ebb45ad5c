//! `worker spawn`: a worker asks for another one, and its supervisor dispatches it, outside of any jail. It starts
//! from what the first has committed, is shut in and limited as that is, and its result goes to its parent's inbox.

use crate::domain::Ended;
use crate::domain::Failure;
use crate::domain::Liveness;
use crate::domain::Oid;
use crate::domain::Outcome;
use crate::domain::Parent;
use crate::domain::Result;
use crate::domain::WorkerId;
use crate::domain::protocol::Said;
use crate::domain::protocol::Spawn;
use crate::domain::protocol::Spawned;
use crate::domain::refuse_spawn;
use crate::host::Aside;
use crate::state::Local;
use crate::state::View;
use crate::state::Worker;
use crate::verbs::custody;
use crate::verbs::dispatch;
use crate::verbs::dispatch::Request;
use crate::verbs::finish;
use crate::verbs::job;
use crate::verbs::plan;
use crate::verbs::session::SPAWN;
use crate::verbs::session::Session;
use crate::verbs::snapshot::Seen;
use bstr::ByteSlice;
use std::ffi::OsString;

/// The workers that `parent` has started and that are open.
pub fn children(view: &View, parent: WorkerId) -> impl Iterator<Item = &Worker> {
    view.workers.iter().filter(move |w| w.record.parent.as_ref().is_some_and(|p| p.worker == parent))
}

/// In the supervisor of `parent`: starts the dispatch of what it `asked` for, in a process of its own. `name` is that
/// of the request among files; `begun` are the requests that are carried out already.
pub fn begin(
    session: &Session<'_>,
    parent: WorkerId,
    asked: &Spawn,
    seen: &Seen,
    name: &str,
    begun: &[&str],
) -> Result<Aside> {
    let view = session.view()?;
    let parent = view.worker(&parent.to_string())?;
    if let Some(refusal) = &seen.withheld {
        return Err(Failure::Refusal(refusal.clone()));
    }
    plan::refuse(parent, &[])?;
    let request = asked.request.as_deref().unwrap_or_default();
    if child_of(&view.workers, parent.id, request).is_none() {
        let record = &parent.record;
        let unborn = begun.iter().filter(|begun| child_of(&view.workers, parent.id, begun).is_none()).count();
        let running = children(&view, parent.id).filter(|w| w.record.outcome == Outcome::Active).count();
        refuse_spawn(record.depth(), record.spawn, running + unborn)?;
    }
    let bytes = serde_json::to_vec(asked).map_err(|e| Failure::fault("noting a request", e))?;
    let file = session.local.worker(parent.id).join(format!("spawn-{name}.json"));
    crate::host::put(&file, &bytes)?;
    crate::fault::point("spawn: request noted");
    let exe = session.env.exe().as_os_str().to_owned();
    let argv: [OsString; 5] =
        [exe, SPAWN.into(), parent.id.to_string().into(), seen.head.to_string().into(), file.into()];
    let env = session.env.iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    Aside::start(&argv, &session.repo.dirs.common, env)
}

/// That process: dispatches the worker, unless this very request has one.
pub fn dispatch(
    session: &mut Session<'_>,
    parent: WorkerId,
    base: Oid,
    file: &std::path::Path,
) -> Result<Said> {
    let bytes = crate::host::read_optional(file)?.unwrap_or_default();
    let _ = std::fs::remove_file(file);
    let asked: Spawn = serde_json::from_slice(&bytes).map_err(|e| Failure::fault("reading a request", e))?;
    // A child whose dispatch was cut short before its agent ran goes first.
    let view = crate::verbs::init::ensure(session)?;
    let request = asked.request.clone().unwrap_or_default();
    let closed = view.archived(&session.repo)?;
    let known = child_of(&view.workers, parent, &request).or_else(|| child_of(&closed, parent, &request));
    if let Some(child) = known {
        return Ok(said(child.id, child.record.handle.to_string(), child.record.base, "was started already"));
    }
    let worker = view.worker(&parent.to_string())?;
    let record = &worker.record;
    let request = Request {
        task: asked.task,
        upon: Some((base, record.handle.to_string())),
        name: asked.name,
        paths: if asked.paths.is_empty() { record.paths.clone() } else { asked.paths },
        onto: Some(record.onto.short().to_owned()),
        checks: record.checks.clone(),
        limits: record.limits.clone(),
        jail: Some(record.jail.word().to_owned()),
        kind: asked.kind,
        only_reads: record.only_reads(),
        agent: asked.agent,
        argv: asked.argv,
        otherwise: job::given(session, worker)?,
        spawn: Some(record.spawn),
        follows: Some(parent),
        parent: Some(Parent { worker: parent, request, depth: record.depth() + 1 }),
        ..Request::default()
    };
    let done = dispatch::begin(session, &request)?;
    Ok(said(done.worker, done.handle.to_string(), done.base, "is started"))
}

fn child_of<'w>(workers: &'w [Worker], parent: WorkerId, request: &str) -> Option<&'w Worker> {
    let of =
        |w: &&Worker| w.record.parent.as_ref().is_some_and(|p| p.worker == parent && p.request == request);
    workers.iter().find(of)
}

fn said(worker: WorkerId, handle: String, base: Oid, how: &str) -> Said {
    let says = format!("{handle} {how}, from {}; its result comes to your inbox", base.short());
    Said { spawned: Some(Spawned { worker, handle, base }), ..Said::new(says) }
}

/// Tells the parent of `child` how that has ended, once. A parent that was closed is told nothing.
pub fn report(session: &Session<'_>, child: WorkerId) -> Result<()> {
    let view = session.view()?;
    let Some(child) = view.workers.iter().find(|w| w.id == child && w.record.outcome != Outcome::Active)
    else {
        return Ok(());
    };
    let Some(parent) = child.record.parent.as_ref().map(|p| p.worker) else { return Ok(()) };
    let Some(told) = view.workers.iter().find(|w| w.id == parent) else { return Ok(()) };
    let (text, at) = (letter(session, child)?, session.clock.now_secs());
    finish::amend(session, parent, |record| {
        if record.messages.iter().all(|m| m.from != Some(child.id)) {
            record.tell(&text, None, Some(child.id), at);
        }
        Ok(())
    })?;
    if custody::liveness(session, told) == Liveness::Live {
        let _ = crate::host::put(&session.local.bell(parent), child.id.to_string().as_bytes());
    }
    Ok(())
}

fn letter(session: &Session<'_>, child: &Worker) -> Result<String> {
    let (record, objects) = (&child.record, &session.repo.objects);
    let (base, tip) = (record.base, record.tip.unwrap_or(child.tip()));
    let ahead = objects.is_ancestor(base, tip)?;
    let changes = objects.diff_trees(objects.tree_of(base)?, objects.tree_of(tip)?)?;
    let file = |c: &crate::domain::Change| {
        let state = if c.old.is_none() { 'A' } else { 'M' };
        format!("{} {}", if c.new.is_none() { 'D' } else { state }, c.path.to_str_lossy())
    };
    let ended = Ended {
        name: format!("{} ({})", record.handle, child.id),
        outcome: record.outcome,
        reason: record.reason.as_deref(),
        summary: record.claim.as_ref().map(|c| c.summary.as_str()),
        base,
        tip,
        commits: if ahead { objects.between(base, tip)?.len() } else { 0 },
        files: changes.iter().map(file).collect(),
    };
    Ok(ended.letter())
}

/// Tells what somebody died before telling.
pub fn report_all(session: &Session<'_>, view: &View) {
    let told = |parent: WorkerId, child: WorkerId| {
        let parent = view.workers.iter().find(|w| w.id == parent);
        parent.is_none_or(|w| w.record.messages.iter().any(|m| m.from == Some(child)))
    };
    for child in view.workers.iter().filter(|w| w.record.outcome != Outcome::Active) {
        if child.record.parent.as_ref().is_some_and(|p| !told(p.worker, child.id))
            && let Err(failure) = report(session, child.id)
        {
            session.tell(format!("the end of {} is not told: {failure}", child.record.handle));
        }
    }
}

/// The other supervisors that run here. What is below one of them is no process of this worker.
pub fn other_supervisors(local: &Local) -> Vec<u32> {
    let folders = std::fs::read_dir(local.run()).into_iter().flatten().flatten();
    let ids = folders.filter_map(|entry| entry.file_name().to_str()?.parse::<WorkerId>().ok());
    let alive = ids.filter(|id| crate::host::is_held(&local.alive(*id)).unwrap_or(false));
    let pids = alive.filter_map(|id| {
        let pid = crate::host::read_optional(&local.pid(id)).ok().flatten()?;
        pid.to_str_lossy().trim().parse().ok()
    });
    pids.filter(|pid| *pid != std::process::id()).collect()
}
