//! The removal itself. Each step leaves what the next run of the same command needs: until the last one the
//! worker is open, and after the first one everything that was seen of it is kept.

use crate::domain::Failure;
use crate::domain::Fate;
use crate::domain::Keep;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Risks;
use crate::domain::Token;
use crate::plumbing::Admin;
use crate::plumbing::Edit;
use crate::plumbing::Moved;
use crate::state::Closing;
use crate::state::Draft;
use crate::state::LIST_ARCHIVES;
use crate::state::Ledger;
use crate::state::View;
use crate::state::fold;
use crate::state::head_ref;
use crate::state::restoring_reason;
use crate::state::wip_ref;
use crate::verbs::pane;
use crate::verbs::reap::Bench;
use crate::verbs::reap::Case;
use crate::verbs::reap::judge;
use crate::verbs::reap::uncaptured;
use crate::verbs::reap::unseen;
use crate::verbs::reclaim;
use crate::verbs::registration::Registered;
use crate::verbs::registration::Registration;
use crate::verbs::registration::aside;
use crate::verbs::session::Session;
use crate::verbs::snapshot;
use crate::verbs::snapshot::Kept;
use crate::verbs::snapshot::Seen;
use crate::verbs::supervise;
use std::collections::HashSet;
use std::ffi::OsString;

/// How often the refs are read anew when others write them meanwhile.
const TRIES: usize = 10;

/// Closes the workers of `cases`. The rows say what became of each.
pub fn all(session: &Session<'_>, view: &View, cases: &mut [Case], risks: Risks) -> Result<()> {
    end_survivors(session, view, cases, risks)?;
    archive(session, view, cases)?;
    let locked: HashSet<String> = session.repo.locked_admins()?.into_iter().map(|(why, ..)| why).collect();
    let mut failed = None;
    for case in cases.iter_mut().filter(|c| removes(c)) {
        match remove(session, case, risks, &locked) {
            Ok(true) => {}
            Ok(false) => case.row.fate = Fate::Keep(Keep::ChangedMeanwhile),
            Err(failure) => {
                case.row.fate = Fate::Keep(Keep::ChangedMeanwhile);
                failed = failed.or(Some(failure));
            }
        }
    }
    crate::fault::point("reap: worktrees removed");
    forget(session, cases)?;
    failed.map_or(Ok(()), Err)
}

fn removes(case: &Case) -> bool {
    matches!(case.row.fate, Fate::Remove(_))
}

/// What agents left running could still write. Who was disturbed is looked at again.
fn end_survivors(session: &Session<'_>, view: &View, cases: &mut [Case], risks: Risks) -> Result<()> {
    let briefs = cases.iter().map(|c| session.local.brief(c.worker.id)).filter(|b| b.exists());
    let briefs: Vec<OsString> = briefs.map(Into::into).collect();
    if !crate::host::end_marked(supervise::MARK, &briefs, reclaim::GRACE) {
        return Ok(());
    }
    let ledger = Ledger::load(&session.repo, view)?;
    let bench = Bench { view, ledger, registered: Registered::read(session)?, risks };
    for case in cases {
        let mut worker = case.worker.clone();
        if let Some(seen) = &case.seen {
            (worker.head, worker.wip) = (seen.kept.head, seen.kept.wip);
        }
        *case = judge(session, &bench, &worker)?;
    }
    Ok(())
}

/// Everything is kept and archived, on the disk, before anything goes.
fn archive(session: &Session<'_>, view: &View, cases: &[Case]) -> Result<()> {
    let closing = cases.iter().filter(|c| removes(c)).map(|c| Closing {
        worker: &c.worker,
        tip: c.row.tip,
        wip: c.row.snapshot,
    });
    let closing: Vec<Closing<'_>> = closing.collect();
    let clone = session.clone_id().unwrap_or_default();
    let edits = fold(&session.repo, view, clone, session.clock.now_secs(), &closing)?;
    if edits.is_empty() {
        return Ok(());
    }
    let draft = edits.into_iter().fold(Draft::new(&session.repo), Draft::put);
    match draft.publish()? {
        Moved::Done => {
            crate::fault::point("reap: kept and archived");
            Ok(())
        }
        Moved::Lost(_) => {
            Err(Refusal::new(Token::RecordMoved, "the archive was written by somebody else just now")
                .show(LIST_ARCHIVES)
                .next("do the same again")
                .into())
        }
    }
}

/// Removes worktree and local files of a worker. False if the worktree is not as it was seen: then it stays.
fn remove(session: &Session<'_>, case: &Case, risks: Risks, locked: &HashSet<String>) -> Result<bool> {
    let id = case.worker.id;
    let repo = &session.repo;
    match (&case.registration, &case.seen) {
        (Registration::Stands(admin), Some(seen)) => {
            let _changing = session.lock_worktrees()?;
            if !repo.is_registered(admin) {
                return Ok(false);
            }
            // In its place nobody finds it any more, and what was written until now shows.
            let aside = Admin { dir: admin.dir.clone(), path: aside(admin, id) };
            crate::host::rename(&admin.path, &aside.path)?;
            crate::fault::point("reap: worktree aside");
            let same = as_seen(session, case, &aside, seen, risks);
            if !matches!(same, Ok(true)) {
                crate::host::rename(&aside.path, &admin.path)?;
                return same;
            }
            // Without it the folder is on its way out, whoever finds it.
            crate::host::remove_tree(&aside.path.join(".git"))?;
            crate::fault::point("reap: worktree condemned");
            crate::host::remove_tree(&aside.path)?;
            crate::fault::point("reap: worktree gone");
            repo.forget_worktree(admin)?;
        }
        (Registration::Gone(admin), _) => {
            let _changing = session.lock_worktrees()?;
            if std::fs::symlink_metadata(&admin.path).is_ok() {
                return Ok(false);
            }
            repo.forget_worktree(admin)?;
        }
        _ => {}
    }
    if locked.contains(&restoring_reason(id)) {
        reclaim::unmake(session, id, &restoring_reason(id))?;
    }
    pane::close(session, id);
    // Logs and locks: nothing that anybody waits for the disk for.
    let _ = std::fs::remove_dir_all(session.local.worker(id));
    let _ = std::fs::remove_dir_all(session.local.kept_home(id));
    Ok(true)
}

fn as_seen(session: &Session<'_>, case: &Case, aside: &Admin, seen: &Seen, risks: Risks) -> Result<bool> {
    let (id, base) = (case.worker.id, case.worker.record.base);
    let mut capture = snapshot::capture(session, id, aside)?;
    let kept: Kept = seen.kept;
    let now = snapshot::take(session, id, base, aside, &mut capture, kept)?;
    let same = now.kept == kept && (now.head, now.tree) == (seen.head, seen.tree);
    let unseen = unseen(session, &aside.path, now.tree)?.len();
    Ok(same && uncaptured(aside, &now).is_empty() && (risks.ignored || unseen == 0))
}

/// The refs go in one transaction. Who was written meanwhile stays open.
fn forget(session: &Session<'_>, cases: &mut [Case]) -> Result<()> {
    for _ in 0..TRIES {
        let mut edits: Vec<(usize, Edit)> = Vec::new();
        for (at, case) in cases.iter().enumerate().filter(|(_, c)| removes(c)) {
            let id = case.worker.id;
            edits.push((at, Edit::delete(head_ref(id)?, case.row.tip)));
            if let Some(wip) = case.row.snapshot {
                edits.push((at, Edit::delete(wip_ref(id)?, wip)));
            }
            // The record last: while it is there, the rest is looked for again.
            edits.push((at, Edit::delete(case.worker.ref_name()?, case.worker.at)));
        }
        let names: Vec<&RefName> = edits.iter().map(|(_, e)| &e.name).collect();
        let now = session.repo.read_refs(&names)?;
        let mut moved = HashSet::new();
        let mut draft = Draft::new(&session.repo);
        for ((at, edit), now) in edits.iter().zip(&now) {
            if now.is_some() && *now != edit.old {
                moved.insert(*at);
            }
        }
        for ((at, edit), now) in edits.into_iter().zip(now) {
            if now.is_some() && !moved.contains(&at) {
                draft = draft.put(edit);
            }
        }
        for at in moved {
            cases[at].row.fate = Fate::Keep(Keep::ChangedMeanwhile);
        }
        if draft.is_empty() || draft.publish()? == Moved::Done {
            return Ok(());
        }
    }
    Err(Failure::fault("closing workers", "their refs kept moving"))
}
