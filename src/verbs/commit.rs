//! `worker commit`: the supervisor makes one commit of what a worker has, after it looked at it; the worker's own
//! side moves its `HEAD` there, so that nobody else writes into its git.

use crate::domain::Failure;
use crate::domain::Globs;
use crate::domain::Jail;
use crate::domain::Oid;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::domain::protocol::Call;
use crate::domain::protocol::Commit;
use crate::domain::protocol::Committed;
use crate::domain::protocol::Said;
use crate::host::Aside;
use crate::plumbing;
use crate::plumbing::Admin;
use crate::state::Worker;
use crate::verbs::custody;
use crate::verbs::freeze;
use crate::verbs::gate;
use crate::verbs::gate::Checks;
use crate::verbs::outside::Outside;
use crate::verbs::session::CHECK;
use crate::verbs::session::Session;
use crate::verbs::snapshot::Seen;
use crate::verbs::stored;
use crate::verbs::worker;
use bstr::ByteSlice;
use std::ffi::OsString;
use std::time::Duration;

/// From inside a worker: asks for the commit, and goes there.
pub fn run(session: &Session<'_>, asked: Commit, limit: Duration) -> Result<Said> {
    let admin = own(session)?;
    if let Some((what, _)) = session.repo.in_progress(&admin)? {
        return Err(Refusal::new(Token::OperationInProgress, format!("a {what} is under way here"))
            .show("git status")
            .next("finish it with git, or abort it, then commit again")
            .into());
    }
    let head = session.repo.head_of(&admin)?.unwrap_or(session.repo.objects.null());
    let said = worker::run(session.env, Call::Commit(Commit { head: Some(head), ..asked }), limit)?;
    let Some(commit) = said.commit else { return Ok(said) };
    if !session.repo.advance(&admin, commit, head)? {
        return Err(moved(session.repo.head_of(&admin)?, head));
    }
    worker::run(session.env, Call::Committed(Committed { commit }), limit)?;
    Ok(said)
}

fn own(session: &Session<'_>) -> Result<Admin> {
    let id = session.env.get("SKEIN_WORKER").and_then(|id| id.to_str()?.parse().ok());
    let found = id.map(|id| custody::standing(session, id)).transpose()?.flatten();
    found.ok_or_else(|| worker::nobody("there is no worktree of a worker here"))
}

/// In the supervisor: the commit of what was `seen`, which nothing names yet.
pub fn make(session: &Session<'_>, worker: &Worker, asked: &Commit, seen: &Seen) -> Result<Said> {
    let objects = &session.repo.objects;
    let record = &worker.record;
    if let Some(refusal) = &seen.withheld {
        return Err(Failure::Refusal(refusal.clone()));
    }
    let expected = asked.head.unwrap_or(objects.null());
    if expected != seen.head {
        return Err(moved(Some(seen.head), expected));
    }
    refuse_touched(session, worker)?;
    stored::refuse_changed_rules(session, worker, seen.tree)?;
    let all = stored::tree(session, record.jail, record.base, seen.head, seen.tree)?;
    let before = objects.tree_of(seen.head)?;
    let wanted = Globs::new(asked.paths.iter().map(String::as_str))?;
    let changes = objects.diff_trees(before, all)?;
    let meant = changes.into_iter().filter(|c| wanted.is_empty() || wanted.covers(c.path.as_bstr()));
    let tree = objects.edit_tree(before, meant.map(|c| (c.path, c.new)))?;
    if tree == before {
        return Err(Refusal::new(Token::Empty, "there is nothing to commit")
            .oid("HEAD", seen.head)
            .show("git status --short")
            .next("change something first; ignored files are not taken")
            .into());
    }
    let undeclared = freeze::check_tree(session, worker, tree)?;
    let at = session.clock.now_secs();
    let author = custody::author(worker.id, &record.handle);
    let message = format!("{}\n", asked.message.trim());
    let commit = objects.write_commit(&plumbing::Commit::by(&author, at, tree, vec![seen.head], message))?;
    Ok(Said { commit: Some(commit), undeclared, ..Said::new(format!("committed {}", commit.short())) })
}

/// Without a jail the worker may have set up a filter in the person's own configuration: then none runs.
fn refuse_touched(session: &Session<'_>, worker: &Worker) -> Result<()> {
    if worker.record.jail != Jail::None {
        return Ok(());
    }
    let before = Outside::before(session, worker.id)?;
    let changed = Outside::since(session, before.as_ref(), worker.id)?;
    if changed.is_empty() {
        return Ok(());
    }
    Err(Refusal::new(Token::OutsideChanged, "files outside the worktree changed since the worker was made")
        .lines(changed)
        .show("git status")
        .next("commit with git itself; a person will look at this")
        .into())
}

/// Starts the worker's checks on a commit, in a process of their own.
pub fn begin_checks(session: &Session<'_>, id: WorkerId, commit: Oid) -> Result<Aside> {
    let exe = session.env.exe().as_os_str().to_owned();
    let argv: [OsString; 4] = [exe, CHECK.into(), id.to_string().into(), commit.to_string().into()];
    let env = session.env.iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    Aside::start(&argv, &session.repo.dirs.common, env)
}

/// That process: runs the checks on the commit's tree as a gate does, shut in as the worker is at least, and leaves
/// the same evidence.
pub fn check(session: &Session<'_>, id: WorkerId, commit: Oid) -> Result<Said> {
    let view = session.view()?;
    let worker = view.worker(&id.to_string())?;
    let record = &worker.record;
    let objects = &session.repo.objects;
    let changes = objects.diff_trees(objects.tree_of(record.base)?, objects.tree_of(commit)?)?;
    let about = ["worker commit", &id.to_string(), &commit.to_string()];
    let op = session.op_id(session.clock.now_millis(), &about);
    let checks =
        Checks { commands: &record.checks, changes: &changes, least: record.jail, allow_empty: false };
    gate::run(session, &record.clone, &view, commit, op, &checks)?;
    Ok(Said::default())
}

fn moved(now: Option<Oid>, before: Oid) -> Failure {
    let refusal = Refusal::new(Token::HeadMoved, "HEAD is not where it was when the commit was asked for");
    let refusal = now.into_iter().fold(refusal, |refusal, oid| refusal.oid("HEAD", oid));
    refusal
        .oid("expected", before)
        .show("git reflog -3")
        .next("look at what moved it, then commit again")
        .into()
}
