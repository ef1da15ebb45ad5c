//! `post-merge`: a worker whose work a person merged by hand is told apart from one that still waits. Nothing is
//! recorded: that its tip is in the branch is the proof, and every clone can see it.

use crate::domain::Oid;
use crate::domain::Result;
use crate::host::Env;
use crate::plumbing::Admin;
use crate::state::Worker;
use crate::verbs::hooks;
use crate::verbs::session::Session;
use bstr::ByteSlice;
use std::path::Path;

/// Where git keeps the message of a squash that is not committed yet.
const SQUASH: &str = "SQUASH_MSG";

pub fn run(env: &Env, squash: bool, tell: &dyn Fn(&str)) -> Result<()> {
    let Some(called) = hooks::called(env).filter(hooks::is_known) else { return Ok(()) };
    if hooks::caller(&called).is_some() {
        return Ok(());
    }
    let session = Session::open(env, env.cwd(), tell)?;
    let view = session.view()?;
    let admin = Admin { dir: called.git.clone(), path: env.cwd().to_owned() };
    let Some(head) = session.repo.head_of(&admin)? else { return Ok(()) };
    let squashed = if squash { squashed(&called.git)? } else { Vec::new() };
    let before = session.repo.resolve_any("ORIG_HEAD^{commit}")?;
    for worker in view.workers.iter().filter(|worker| worker.tip() != worker.record.base) {
        let handle = &worker.record.handle;
        if squashed.contains(&worker.tip()) {
            tell(&format!(
                "this is the work of {handle}; once committed, git skein landed {handle} proves it"
            ));
        } else if !squash && came_in(&session, worker, head, before)? {
            let onto = worker.record.onto.short();
            tell(&format!(
                "{handle} is merged here; if this is {onto}, it has landed: git skein landed {handle}"
            ));
        }
    }
    Ok(())
}

/// Whether the merge brought the worker's tip.
fn came_in(session: &Session<'_>, worker: &Worker, head: Oid, before: Option<Oid>) -> Result<bool> {
    let objects = &session.repo.objects;
    let had = match before {
        Some(before) => objects.is_ancestor(worker.tip(), before)?,
        None => false,
    };
    Ok(!had && objects.is_ancestor(worker.tip(), head)?)
}

/// The commits that a squash took together, as git lists them.
fn squashed(git: &Path) -> Result<Vec<Oid>> {
    Ok(listed(&crate::host::read_optional(&git.join(SQUASH))?.unwrap_or_default()))
}

pub(super) fn listed(squash: &[u8]) -> Vec<Oid> {
    squash.lines().filter_map(|line| line.strip_prefix(b"commit ")?.to_str().ok()?.parse().ok()).collect()
}
