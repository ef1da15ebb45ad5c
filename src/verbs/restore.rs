//! `restore`: a worktree again for a worker, open or closed, with what it had not committed.

use crate::domain::Handle;
use crate::domain::Oid;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::plumbing::Admin;
use crate::plumbing::Edit;
use crate::plumbing::Moved;
use crate::state::Draft;
use crate::state::LIST_SHARED;
use crate::state::Worker;
use crate::state::WorkerRecord;
use crate::state::copy_reason;
use crate::state::head_ref;
use crate::state::lock_reason;
use crate::state::next_record;
use crate::state::restoring_reason;
use crate::state::wip_ref;
use crate::verbs::custody;
use crate::verbs::dispatch;
use crate::verbs::freeze;
use crate::verbs::init;
use crate::verbs::reclaim;
use crate::verbs::registration;
use crate::verbs::registration::Registered;
use crate::verbs::registration::Registration;
use crate::verbs::session::Session;
use crate::verbs::snapshot;
use serde::Serialize;
use std::path::Path;
use std::path::PathBuf;

#[derive(Debug, Clone)]
pub struct Request {
    pub name: String,
    /// An absolute path; else where `dispatch` would put it.
    pub to: Option<PathBuf>,
    /// A snapshot of the worker; else its tip with the newest leftovers.
    pub snapshot: Option<String>,
    /// Whatever changed outside its worktree: a checkout runs what git's configuration names.
    pub any_outcome: bool,
}

#[derive(Debug, Serialize)]
pub struct Restored {
    pub worker: WorkerId,
    pub handle: Handle,
    /// It was in the archive, and is open again.
    pub reopened: bool,
    /// Its own worktree stands: this one is a copy, and the person's to remove.
    pub copy: bool,
    #[serde(serialize_with = "crate::verbs::path_as_text")]
    pub worktree: PathBuf,
    pub head: Oid,
    /// Changes put back that are in no commit.
    pub leftovers: usize,
}

/// What the worktree is to hold.
struct Content {
    head: Oid,
    tree: Oid,
}

pub fn run(session: &mut Session<'_>, request: &Request) -> Result<Restored> {
    session.refuse_in_worker("restore")?;
    init::ensure_for(session, &request.name)?;
    let _opening = session.lock_reaping()?;
    let view = session.view()?;
    let worker = view.any_worker(&session.repo, &request.name)?;
    let open = view.workers.iter().any(|w| w.id == worker.id);
    if open {
        custody::refuse_running(session, &worker)?;
    }
    custody::refuse_away(&worker)?;
    if !request.any_outcome {
        freeze::refuse_outside(&worker.record, "restore")?;
    }
    registration::settle(session, &[worker.id])?;
    reclaim::unmake(session, worker.id, &restoring_reason(worker.id))?;
    let half = view.half_closed(&session.repo)?;
    let worker = registration::mend(session, &worker, half.get(&worker.id))?;
    let registration = Registered::read(session)?.of(session, worker.id);
    let stands = match &registration {
        Registration::Stands(_) | Registration::Estranged(..) | Registration::Contested(_) => true,
        Registration::Gone(_) | Registration::Missing => false,
    };
    if stands && request.to.is_none() {
        return Err(standing(&worker, &registration));
    }
    let worker = &match registration {
        // Where `HEAD` was is noted there, and nowhere else.
        Registration::Gone(_) | Registration::Estranged(..) if open => kept(session, &registration, worker)?,
        _ => worker,
    };
    let content = content(session, worker, request)?;
    if !stands {
        let tree = session.repo.objects.tree_of(content.head)?;
        reclaim::unmake_torn(session, worker.id, tree, false)?;
    }
    let (handle, path) = {
        // Until the record stands, nobody else may find the same handle free.
        let _naming = session.lock_worktrees()?;
        let view = session.view()?;
        let handle = match open {
            true => worker.record.handle.clone(),
            false => worker.record.handle.clone().unique(|h| view.handle_taken(h)),
        };
        let path = place(session, request, &registration, &handle)?;
        if !open {
            reopen(session, worker, &handle)?;
        }
        (handle, path)
    };
    crate::fault::point("restore: worker open");
    if let Registration::Gone(admin) = &registration {
        session.repo.forget_worktree(admin)?;
    }
    let (admin, leftovers) = make(session, worker.id, &content, &path, stands)?;
    Ok(Restored {
        worker: worker.id,
        handle,
        reopened: !open,
        copy: stands,
        worktree: admin.path,
        head: content.head,
        leftovers,
    })
}

fn standing(worker: &Worker, registration: &Registration) -> crate::domain::Failure {
    let handle = &worker.record.handle;
    let path = registration.admin().map(|a| a.path.display().to_string()).unwrap_or_default();
    let (why, use_it) = match registration.estranged() {
        Some(why) => (why, ""),
        None => ("its worktree stands".to_owned(), "use it, or "),
    };
    Refusal::new(Token::WorktreeExists, format!("{handle}: {why}"))
        .lines([path])
        .show("git worktree list")
        .next(format!("{use_it}make a copy elsewhere: git skein restore {handle} --to <folder>"))
        .into()
}

fn kept(session: &Session<'_>, registration: &Registration, worker: Worker) -> Result<Worker> {
    let seen = registration.look(session, &worker)?;
    Ok(Worker { head: seen.kept.head, wip: seen.kept.wip, ..worker })
}

fn content(session: &Session<'_>, worker: &Worker, request: &Request) -> Result<Content> {
    let Some(rev) = &request.snapshot else {
        let (head, tree) = custody::picture(session, worker)?;
        return Ok(Content { head, tree });
    };
    let all = snapshot::chain(session, worker.wip)?;
    let found = session.repo.resolve_commit(rev)?.filter(|oid| all.contains(oid));
    let Some(oid) = found else {
        let handle = &worker.record.handle;
        let newest = worker.wip.map_or_else(|| worker.tip().to_string(), |w| w.to_string());
        return Err(Refusal::new(Token::BadRevision, format!("{rev:?} is no snapshot of {handle}"))
            .lines(all.iter().map(|o| o.to_string()))
            .show(format!("git log {newest}"))
            .next(format!("name one of its snapshots, or leave --snapshot out for the newest of {handle}"))
            .into());
    };
    let commit = session.repo.objects.commit(oid)?;
    let head = commit.parents.first().copied().unwrap_or(worker.record.base);
    Ok(Content { head, tree: commit.tree })
}

fn place(
    session: &Session<'_>,
    request: &Request,
    registration: &Registration,
    handle: &Handle,
) -> Result<PathBuf> {
    let mut worktrees = session.repo.worktrees()?;
    if let Registration::Gone(admin) = registration {
        // Its own old place is free.
        worktrees.retain(|w| w.path != admin.path);
    }
    let Some(to) = &request.to else { return dispatch::place(session, &worktrees, handle) };
    let path = crate::host::resolved(to);
    dispatch::refuse_place(session, &worktrees, &path)?;
    Ok(path)
}

/// The refs of a closed worker again. The archive keeps its entry: the ref stands before it.
fn reopen(session: &Session<'_>, worker: &Worker, handle: &Handle) -> Result<()> {
    let (id, repo) = (worker.id, &session.repo);
    let mut at = worker.at;
    if *handle != worker.record.handle {
        let record = WorkerRecord { handle: handle.clone(), ..worker.record.clone() };
        at = next_record(repo, worker, &record, session.clock.now_secs())?.new.unwrap_or(at);
    }
    // A crash of an earlier try may have left some of them.
    let there = snapshot::kept_now(session, id)?;
    let refs = [
        (head_ref(id)?, there.head, Some(worker.tip())),
        (wip_ref(id)?, there.wip, worker.wip.or(there.wip)),
        (worker.ref_name()?, None, Some(at)),
    ];
    let edits = refs.into_iter().filter(|(_, old, new)| old != new);
    let draft = edits.fold(Draft::new(repo), |d, (name, old, new)| d.put(Edit { name, old, new }));
    match draft.publish()? {
        Moved::Done => Ok(()),
        Moved::Lost(_) => Err(Refusal::new(
            Token::RecordMoved,
            format!("the refs of {} were written by somebody else just now", worker.record.handle),
        )
        .show(LIST_SHARED)
        .next("do the same again")
        .into()),
    }
}

/// The worktree with its content. It is locked as what it is to be only when it is complete: half of it must
/// not be taken for the worker's.
fn make(
    session: &Session<'_>,
    id: WorkerId,
    content: &Content,
    path: &Path,
    copy: bool,
) -> Result<(Admin, usize)> {
    crate::host::make_dir(&session.local.worker(id))?;
    if !copy {
        dispatch::note_place(session, id, path)?;
    }
    let admin = dispatch::stand(session, content.head, path, &restoring_reason(id))?;
    if !copy {
        dispatch::note_birth(session, id, &admin)?;
    }
    let objects = &session.repo.objects;
    let changes = objects.diff_trees(objects.tree_of(content.head)?, content.tree)?;
    session.repo.put_back(&admin, &changes)?;
    crate::fault::point("restore: worktree filled");
    session.repo.relock(&admin, &if copy { copy_reason(id) } else { lock_reason(id) })?;
    crate::fault::point("restore: worktree named");
    Ok((admin, changes.len()))
}
