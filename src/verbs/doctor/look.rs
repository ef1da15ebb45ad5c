//! The facts that `doctor` goes by. Nothing is written to get them.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::Outcome;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::Verdict;
use crate::domain::WorkerId;
use crate::domain::doctor::Facts;
use crate::domain::doctor::Intent;
use crate::domain::doctor::LockFile;
use crate::domain::doctor::Lost;
use crate::domain::doctor::Ours;
use crate::domain::doctor::Tree;
use crate::domain::doctor::hooks_inside;
use crate::plumbing::Commit;
use crate::plumbing::Quota;
use crate::plumbing::Worktree;
use crate::state::HIDE;
use crate::state::LIST_SHARED;
use crate::state::SPACES;
use crate::state::View;
use crate::state::locked_for;
use crate::state::open_move;
use crate::state::tip;
use crate::verbs::checkout;
use crate::verbs::custody;
use crate::verbs::dispatch;
use crate::verbs::landed;
use crate::verbs::proof;
use crate::verbs::proof::Left;
use crate::verbs::session::Session;
use crate::verbs::snapshot;
use bstr::ByteSlice;
use std::collections::HashSet;
use std::path::Path;
use std::rc::Rc;

/// A fault is found, too: it does not keep the rest from being looked at.
pub fn facts(session: &Session<'_>) -> Result<Facts> {
    let (mut refused, mut faults) = (None, Vec::new());
    let view = session.view().unwrap_or_else(|failure| {
        refused = Some(match failure {
            Failure::Refusal(refusal) => *refusal,
            Failure::Fault(fault) => {
                session.tell(format!("fault: {fault}"));
                unreadable(&fault.to_string())
            }
        });
        View::default()
    });
    let trunk = session.trunk(&view).ok();
    let worktrees = or_fault(&mut faults, session.repo.worktrees());
    let mut facts = Facts {
        ours: or_fault(&mut faults, ours(session)),
        strangers: strangers(session, &worktrees),
        locks: or_fault(&mut faults, locks(session)),
        empty: or_fault(&mut faults, empty_objects(session)),
        lost: or_fault(&mut faults, lost(session, &view, &worktrees)),
        gone: gone(session, &view),
        unreadable: view.unreadable.iter().map(|(id, why)| format!("{id}: {why}")).collect(),
        intent: or_fault(&mut faults, intent(session, &view)),
        worktrees: or_fault(
            &mut faults,
            worktrees.iter().filter(|w| !w.bare).map(|w| tree(session, &view, w)).collect(),
        ),
        ..setup(session)?
    };
    let root = trunk.as_ref().and_then(|t| view.branches.get(t));
    if let Some(root) = root.and_then(|tip| session.repo.objects.tree_of(*tip).ok()) {
        let has = |path: &str| session.repo.objects.oid_at(root, path.into()).is_ok_and(|at| at.is_some());
        facts.modules = has(".gitmodules");
        if let Some(hooks) = session.config.get("core.hookspath").and_then(hooks_inside) {
            facts.hooks_tracked = has(hooks);
        }
    }
    if session.config.get("skein.jail") != Some("none") {
        facts.no_jail = session.jails().clone().err();
    }
    facts.trunk = trunk.map(|t| t.short().to_owned());
    faults.iter().for_each(|fault| session.tell(format!("fault: {fault}")));
    (facts.refused, facts.faults) = (refused, faults);
    Ok(facts)
}

fn or_fault<T: Default>(faults: &mut Vec<String>, found: Result<T>) -> T {
    found.unwrap_or_else(|failure| {
        faults.push(failure.to_string());
        T::default()
    })
}

/// Objects that our refs need are damaged or gone.
fn unreadable(why: &str) -> Refusal {
    Refusal::new(Token::StateCorrupt, why)
        .show(format!("git fsck && {LIST_SHARED}"))
        .next("restore the objects from a backup or another clone; nothing is deleted meanwhile")
}

pub fn ours(session: &Session<'_>) -> Result<Ours> {
    Ok(Ours { namespaces: SPACES, hidden: HIDE, any: !session.repo.refs(SPACES)?.is_empty() })
}

/// The machine, git and its configuration.
fn setup(session: &Session<'_>) -> Result<Facts> {
    let repo = &session.repo;
    let common = &repo.dirs.common;
    let tree = session.config.get("core.worktree").map(|path| common.join(path));
    let (hooks_gone, hooks_replaced) = crate::verbs::hooks::troubles(session).unwrap_or_default();
    Ok(Facts {
        git: repo.git_version()?,
        config: session.config.clone(),
        common: common.clone(),
        file_system: crate::host::file_system(common),
        folds_case: crate::host::folds_case(&common.join("HEAD")),
        free_bytes: crate::host::free_bytes(common)?,
        free_inodes: crate::host::free_inodes(common)?,
        foreign: crate::host::is_foreign(common),
        shallow: repo.is_shallow(),
        sha256: repo.objects.width() == 32,
        reftable: repo.is_reftable(),
        bare: session.config.is_true("core.bare"),
        has_tree: common.file_name() == Some(".git".as_ref()) && common.join("index").is_file(),
        hooks_gone,
        hooks_replaced,
        core_worktree_there: tree.is_none_or(|t| t.is_dir()),
        identity: repo.identity(&session.config)?.is_some(),
        alternates: repo.alternates().iter().map(|p| p.display().to_string()).collect(),
        replaced: repo.replaced()?,
        grafts: repo.has_grafts(),
        ..Facts::default()
    })
}

fn tree(session: &Session<'_>, view: &View, worktree: &Worktree) -> Result<Tree> {
    let worker = worktree.locked.as_deref().and_then(locked_for);
    let has_record =
        |id| view.workers.iter().any(|w| w.id == id) || view.unreadable.iter().any(|u| u.0 == id);
    Ok(Tree {
        path: worktree.path.display().to_string(),
        branch: worktree.branch.as_ref().map(|b| b.short().to_owned()),
        there: worktree.path.join(".git").exists() || worktree.admin().dir == session.repo.dirs.common,
        cut_off: session.repo.is_cut_off(&worktree.path),
        recorded: worker.is_some_and(has_record),
        worker: worker.map(|id| id.to_string()),
        progress: session.repo.in_progress(&worktree.admin())?.map(|(what, _)| what),
    })
}

/// Folders among the workers' worktrees that are not registered.
fn strangers(session: &Session<'_>, worktrees: &[Worktree]) -> Vec<String> {
    let folder = dispatch::folder(session, worktrees);
    let known = |path: &Path| worktrees.iter().any(|w| w.path == path || w.path.starts_with(path));
    let entries = std::fs::read_dir(crate::host::resolved(&folder)).into_iter().flatten().flatten();
    // A person may have chosen a folder that holds other things too: what is no worktree is not ours to name.
    let mut found: Vec<String> = entries
        .map(|e| e.path())
        .filter(|p| {
            p.is_dir()
                && !known(p)
                && (p.join(".git").is_file() || session.config.get("skein.worktreedir").is_none())
        })
        .map(|p| p.display().to_string())
        .collect();
    found.sort();
    found
}

fn locks(session: &Session<'_>) -> Result<Vec<LockFile>> {
    // Ours there mean nothing by being there: the kernel knows whether they are held.
    let found = session.repo.lock_files(&session.local.run());
    let landing = crate::host::is_held(&session.local.land_lock())?;
    let holders = crate::host::holders(&found);
    let lock = |(at, path): (usize, &std::path::PathBuf)| LockFile {
        path: path.display().to_string(),
        op: std::fs::read(path).ok().and_then(|mark| checkout::marked_by(&mark)),
        holders: holders.as_ref().map(|h| h[at].clone()),
        owner_lives: landing,
    };
    Ok(found.iter().enumerate().map(lock).collect())
}

fn empty_objects(session: &Session<'_>) -> Result<Vec<String>> {
    Ok(session.repo.empty_objects()?.iter().map(|path| path.display().to_string()).collect())
}

pub fn gone(session: &Session<'_>, view: &View) -> Vec<String> {
    let dead = view.workers.iter().filter(|w| custody::supervisor_lost(session, &w.record));
    dead.map(|w| w.record.handle.to_string()).collect()
}

pub fn intent(session: &Session<'_>, view: &View) -> Result<Option<Intent>> {
    let Some(clone) = session.clone_id().filter(|c| view.lanes.contains_key(*c)) else { return Ok(None) };
    // Looked at first: a landing that begins in between is under way, not cut short.
    let open = open_move(&session.repo, tip(&session.repo, clone)?)?;
    let running = crate::host::is_held(&session.local.land_lock())?;
    Ok(open.map(|open| Intent {
        op: open.op.to_string(),
        onto: open.landing.onto.short().to_owned(),
        running,
    }))
}

/// Commits of workers of this clone that no ref keeps and the trunk does not have in another form: what a removed
/// worktree's `HEAD` was at, and the `HEAD` of one that nobody looks after. A running worker's are its
/// supervisor's business.
pub fn lost(session: &Session<'_>, view: &View, worktrees: &[Worktree]) -> Result<Vec<Lost>> {
    let (repo, objects) = (&session.repo, &session.repo.objects);
    let live: Vec<String> = view
        .workers
        .iter()
        .filter(|w| w.record.outcome == Outcome::Active && !custody::supervisor_lost(session, &w.record))
        .map(|w| custody::mail(w.id))
        .collect();
    let mut stashed: HashSet<Oid> = repo.stash()?.into_iter().filter(|o| objects.exists(*o)).collect();
    for entry in stashed.clone() {
        stashed.extend(objects.commit(entry)?.parents);
    }
    let mut found = repo.unreachable_commits()?;
    for worktree in worktrees.iter().skip(1) {
        if let Some(head) = repo.head_of(&worktree.admin())?.filter(|h| objects.is_commit(*h))
            && !repo.is_kept(head)?
        {
            found.push(head);
        }
    }
    let (mut commits, mut below) = (Vec::new(), HashSet::new());
    for oid in found.into_iter().filter(|o| !stashed.contains(o)) {
        let commit = match objects.commit(oid) {
            Ok(commit) => commit,
            // One that breaks git's rules, and that nobody can build on.
            Err(_) if objects.is_commit(oid) => continue,
            Err(fault) => return Err(fault),
        };
        let running = live.iter().any(|mail| commit.committer.contains_str(mail));
        let Some(id) = custody::worker_of(&commit.committer) else { continue };
        // A local clone copies whatever objects there are; what is lost is lost where it was made.
        if !running
            && custody::is_of_this_clone(session, view, id)
            && !is_pictured(session, view, id, &commit)?
        {
            below.extend(commit.parents.iter().copied());
            commits.push(Lost { oid, subject: commit.subject().to_str_lossy().into_owned() });
        }
    }
    commits.sort_by_key(|lost| lost.oid);
    commits.dedup_by_key(|lost| lost.oid);
    let trunk = session.trunk(view).ok().and_then(|name| view.branches.get(&name).copied());
    commits.retain(|lost| !below.contains(&lost.oid) && !trunk.is_some_and(|t| landed(session, lost.oid, t)));
    Ok(commits)
}

/// Whether it was made of a working tree by an import that came to nothing, and a snapshot has that tree, too.
fn is_pictured(session: &Session<'_>, view: &View, id: WorkerId, commit: &Commit) -> Result<bool> {
    let Some(worker) = view.workers.iter().find(|worker| worker.id == id) else { return Ok(false) };
    if commit.message.trim() != worker.brief(&session.repo)?.trim().as_bytes() {
        return Ok(false);
    }
    for snapshot in snapshot::chain(session, worker.wip)? {
        let snapshot = session.repo.objects.commit(snapshot)?;
        if snapshot.tree == commit.tree && snapshot.parents.first() == commit.parents.first() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the trunk provably has what `tip` brings.
fn landed(session: &Session<'_>, tip: Oid, trunk: Oid) -> bool {
    let Ok(Ok(Left { base, .. })) = proof::base_of(&session.repo.objects, &Rc::default(), tip, trunk) else {
        return false;
    };
    // What cannot be looked at in any time is not on the trunk.
    if session.repo.bound(base, tip, base, &Quota::default()).is_err() {
        return false;
    }
    let question = landed::of_commits(session, base, tip, trunk);
    let answer = question.and_then(|question| proof::prove(&session.repo.objects, &question));
    answer.is_ok_and(|a| matches!(a.verdict, Verdict::Landed { .. }))
}
