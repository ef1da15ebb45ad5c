//! What the registration of a worker's worktree leads to. A folder is the worktree only if it and the
//! registration name each other: anything else is somebody else's and is never touched.

use crate::domain::Oid;
use crate::domain::Result;
use crate::domain::WorkerId;
use crate::plumbing::Admin;
use crate::plumbing::Edit;
use crate::plumbing::Moved;
use crate::plumbing::Worktree;
use crate::state::Draft;
use crate::state::Worker;
use crate::state::head_ref;
use crate::state::locked_for;
use crate::state::wip_ref;
use crate::verbs::custody;
use crate::verbs::freeze;
use crate::verbs::session::Session;
use crate::verbs::snapshot;
use crate::verbs::snapshot::Kept;
use crate::verbs::snapshot::Seen;
use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;

/// Where a worker's worktree is.
#[derive(Debug, Clone)]
pub enum Registration {
    /// None is registered.
    Missing,
    /// It is registered, and its folder is gone.
    Gone(Admin),
    Stands(Admin),
    /// The folder is not its own, or not only; why, in a few words.
    Estranged(Admin, String),
    /// It is registered more than once: which of them is its own, nobody knows.
    Contested(Admin),
}

/// All worktrees, and the locked registrations of workers.
pub struct Registered {
    worktrees: Vec<Worktree>,
    by_worker: BTreeMap<WorkerId, Vec<Admin>>,
}

impl Registered {
    pub fn read(session: &Session<'_>) -> Result<Registered> {
        let mut by_worker: BTreeMap<WorkerId, Vec<Admin>> = BTreeMap::new();
        for (reason, admin, _) in session.repo.locked_admins()? {
            if let Some(id) = locked_for(&reason) {
                by_worker.entry(id).or_default().push(admin);
            }
        }
        Ok(Registered { worktrees: session.repo.worktrees()?, by_worker })
    }

    pub fn of(&self, session: &Session<'_>, id: WorkerId) -> Registration {
        let repo = &session.repo;
        let admin = match self.by_worker.get(&id).map(Vec::as_slice) {
            None | Some([]) => return Registration::Missing,
            Some([one]) => one.clone(),
            Some([first, ..]) => {
                return Registration::Contested(first.clone());
            }
        };
        let path = admin.path.display();
        if repo.is_registered(&admin) {
            let inside = |p: &Path| p != admin.path && p.starts_with(&admin.path);
            let mut others = self.worktrees.iter().map(|w| &w.path).chain([&repo.dirs.common]);
            return match others.find(|p| inside(p)) {
                Some(other) => {
                    let why = format!("{} lies inside {path}", other.display());
                    Registration::Estranged(admin, why)
                }
                None => Registration::Stands(admin),
            };
        }
        if std::fs::symlink_metadata(&admin.path).is_ok() {
            let why = match repo.is_cut_off(&admin.path) {
                true => {
                    format!("{path} looks for a repository that was moved; git worktree repair mends that")
                }
                false => format!("the folder {path} is not its worktree"),
            };
            return Registration::Estranged(admin, why);
        }
        let aside = aside(&admin, id);
        match repo.moved_to(&admin) {
            // Half-way between a removal and its place.
            Some(moved) if moved == aside => Registration::Stands(Admin { path: aside, ..admin }),
            Some(moved) => {
                let why = format!("its worktree was moved from {path} to {}", moved.display());
                Registration::Estranged(admin, why)
            }
            None => Registration::Gone(admin),
        }
    }
}

impl Registration {
    pub fn admin(&self) -> Option<&Admin> {
        match self {
            Registration::Missing => None,
            Registration::Gone(admin) | Registration::Stands(admin) => Some(admin),
            Registration::Estranged(admin, _) | Registration::Contested(admin) => Some(admin),
        }
    }

    /// Why the folder is not to be taken for its own, if it is not.
    pub fn estranged(&self) -> Option<String> {
        match self {
            Registration::Estranged(_, why) => Some(why.clone()),
            Registration::Contested(_) => Some("it is registered more than once".to_owned()),
            _ => None,
        }
    }

    /// What the work is, in the worktree or as far as the refs and the registration know it. What is seen is
    /// kept.
    pub fn look(&self, session: &Session<'_>, worker: &Worker) -> Result<Seen> {
        let (id, base) = (worker.id, worker.record.base);
        let kept = Kept { head: worker.head, wip: worker.wip };
        match self {
            Registration::Stands(admin) => {
                let mut capture = snapshot::capture(session, id, admin)?;
                snapshot::take(session, id, base, admin, &mut capture, kept)
            }
            Registration::Gone(admin) | Registration::Estranged(admin, _) => {
                // The folder is gone, or another one; but where `HEAD` was is still noted.
                let head = session.repo.head_of(admin)?.filter(|h| session.repo.objects.is_commit(*h));
                let known = worker.head.unwrap_or(base);
                let (head, withheld) = snapshot::tip(session, base, head.unwrap_or(known), kept)?;
                let known = Worker { head: Some(head), ..worker.clone() };
                let seen = Seen { withheld, ..custody::from_refs(session, &known, kept)? };
                snapshot::keep(session, id, base, admin, seen)
            }
            _ => custody::from_refs(session, worker, kept),
        }
    }
}

/// Where the worktree stands while it is being removed: beside its place, named for its worker.
pub fn aside(admin: &Admin, id: WorkerId) -> PathBuf {
    admin.path.with_file_name(format!(".skein-reaped-{id}"))
}

/// Ends removals of `ids` that were cut short. A folder aside was checked, and is on its way out, once its
/// `.git` is gone; before that it goes back to its place.
pub fn settle(session: &Session<'_>, ids: &[WorkerId]) -> Result<()> {
    for (reason, admin, _) in session.repo.locked_admins()? {
        let Some(id) = locked_for(&reason).filter(|id| ids.contains(id)) else { continue };
        let aside = aside(&admin, id);
        if std::fs::symlink_metadata(&aside).is_err() {
            continue;
        }
        let _changing = session.lock_worktrees()?;
        let free = std::fs::symlink_metadata(&admin.path).is_err();
        if session.repo.is_worktree_of(&aside, &admin) {
            if free {
                crate::host::rename(&aside, &admin.path)?;
            }
        } else if std::fs::symlink_metadata(aside.join(".git")).is_err() {
            crate::host::remove_tree(&aside)?;
            if free {
                session.repo.forget_worktree(&admin)?;
            }
        }
    }
    Ok(())
}

/// The refs of an open worker that a closing was deleting when the power went, made again from `before`: its
/// tip and newest snapshot, as the archive has them.
pub fn mend(session: &Session<'_>, worker: &Worker, before: Option<&(Oid, Option<Oid>)>) -> Result<Worker> {
    let mut mended = worker.clone();
    let Some((head, wip)) = before else { return Ok(mended) };
    let mut draft = Draft::new(&session.repo);
    if worker.head.is_none() {
        draft = draft.put(Edit::create(head_ref(worker.id)?, *head));
        mended.head = Some(*head);
    }
    if let (None, Some(wip)) = (worker.wip, wip) {
        draft = draft.put(Edit::create(wip_ref(worker.id)?, *wip));
        mended.wip = Some(*wip);
    }
    if draft.is_empty() {
        return Ok(mended);
    }
    match draft.publish()? {
        Moved::Done => Ok(mended),
        Moved::Lost(_) => Err(freeze::raced(&worker.record.handle.to_string())),
    }
}
