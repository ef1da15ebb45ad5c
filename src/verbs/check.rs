//! `check`: runs the checks of a worker on the exact tree of its delta, as a gate would, and keeps what they showed.
//! `verify` runs again what was recorded of a commit's tree, and compares.

use crate::domain::Bounds;
use crate::domain::Exit;
use crate::domain::Handle;
use crate::domain::Jail;
use crate::domain::Oid;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::domain::verify_commit;
pub use crate::state::Evidence;
use crate::state::LIST_SHARED;
use crate::state::Proofs;
use crate::verbs::freeze;
use crate::verbs::freeze::Take;
use crate::verbs::gate;
use crate::verbs::gate::Checks;
use crate::verbs::gate::Thoroughly;
use crate::verbs::land;
use crate::verbs::land::Resolved;
use crate::verbs::policy;
use crate::verbs::session::Session;
use serde::Serialize;
use std::collections::HashSet;

/// What `check` is asked for.
#[derive(Debug, Default)]
pub struct Request {
    pub name: String,
    /// Commands beside those of the worker.
    pub commands: Vec<String>,
    /// What of the tree they depend on.
    pub reads: Vec<String>,
    pub again: bool,
    pub take: Take,
}

#[derive(Debug, Serialize)]
pub struct Done {
    pub worker: WorkerId,
    pub handle: Handle,
    /// The delta that was checked.
    pub delta: u32,
    pub tree: Oid,
    pub checks: Vec<One>,
}

/// What one command showed.
#[derive(Debug, Serialize)]
pub struct One {
    pub passed: bool,
    /// It was run before, on this tree or on one that is the same as far as it reads.
    pub already: bool,
    #[serde(flatten)]
    pub evidence: Evidence,
    /// Why it is no pass, and the last that it printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub output: Vec<String>,
}

impl Done {
    pub fn exit(&self) -> Exit {
        if self.checks.iter().all(|one| one.passed) { Exit::Done } else { Exit::GateFailed }
    }
}

pub fn run(session: &mut Session<'_>, request: &Request) -> Result<Done> {
    session.refuse_in_worker("check")?;
    Bounds::of(&session.config)?;
    let view = land::begin_for(session, &request.name, false)?;
    let worker = view.open_worker(&session.repo, &request.name)?;
    let record = &worker.record;
    let mut commands = record.checks.clone();
    commands.extend(policy::checks(session, &view, &record.onto)?);
    commands.extend(request.commands.iter().cloned());
    let mut known = HashSet::new();
    commands.retain(|command| known.insert(command.clone()));
    if commands.is_empty() {
        return Err(Refusal::new(Token::NoTask, format!("{} was given no checks", record.handle))
            .show("git skein show <worker>")
            .next(format!("name one: git skein check {} --check '<command>'", record.handle))
            .into());
    }
    let frozen = freeze::run(session, &view, worker, request.take)?;
    let delta = frozen.delta.clone();
    Resolved::of(worker, frozen).settle(session)?;
    let objects = &session.repo.objects;
    let changes = objects.diff_trees(objects.tree_of(delta.base)?, delta.tree)?;
    let about = ["check", &worker.id.to_string(), &delta.tip.to_string()];
    let op = session.op_id(session.clock.now_millis(), &about);
    let clone = session.clone_id().unwrap_or_default();
    let checks = Checks {
        commands: &commands,
        changes: &changes,
        least: Jail::None,
        allow_empty: request.take.allow_empty,
    };
    let how =
        Thoroughly { all: true, again: request.again, tools: true, reads: &request.reads, verifies: false };
    let ran = gate::each(session, clone, &view, delta.tip, op, &checks, how)?;
    let checks = ran.into_iter().map(|checked| One {
        passed: checked.refused.is_none(),
        already: checked.already,
        evidence: checked.evidence,
        says: checked.refused.as_ref().map(|refusal| refusal.says.clone()),
        output: checked.refused.map(|refusal| refusal.lines).unwrap_or_default(),
    });
    Ok(Done {
        worker: worker.id,
        handle: record.handle.clone(),
        delta: delta.n,
        tree: delta.tree,
        checks: checks.collect(),
    })
}

#[derive(Debug, Serialize)]
pub struct Verified {
    pub commit: Oid,
    pub tree: Oid,
    pub compared: Vec<Compared>,
}

/// A command as it was recorded, and as it is now.
#[derive(Debug, Serialize)]
pub struct Compared {
    pub command: String,
    /// It passed or failed as before.
    pub same: bool,
    /// It printed the very same.
    pub same_output: bool,
    pub before: Evidence,
    pub now: Evidence,
}

impl Verified {
    pub fn exit(&self) -> Exit {
        if self.compared.iter().all(|one| one.same) { Exit::Done } else { Exit::No }
    }
}

/// Runs again, in a clean worktree of `rev`, all that was recorded of its tree.
pub fn verify(session: &mut Session<'_>, rev: &str, allow_empty: bool) -> Result<Verified> {
    session.refuse_in_worker("verify")?;
    Bounds::of(&session.config)?;
    let commit = session.repo.resolve_commit(rev)?.ok_or_else(|| {
        Refusal::new(Token::BadRevision, format!("{rev:?} is no commit"))
            .show(verify_commit(rev))
            .next("name a commit; git log shows them")
    })?;
    let view = land::begin(session, false)?;
    let tree = session.repo.objects.tree_of(commit)?;
    let before: Vec<Evidence> = Proofs::load(&session.repo, &view)?.recorded(tree).cloned().collect();
    if before.is_empty() {
        return Err(Refusal::new(
            Token::NoEvidence,
            "nothing is recorded that was run on the tree of that commit",
        )
        .oid("commit", commit)
        .oid("tree", tree)
        .show(LIST_SHARED)
        .next("name a commit that was gated; git skein log lists what was run")
        .into());
    }
    let parent = session.repo.objects.commit(commit)?.parents.first().copied();
    let objects = &session.repo.objects;
    let base = parent.map_or(Ok(objects.empty_tree()), |parent| objects.tree_of(parent))?;
    let changes = objects.diff_trees(base, tree)?;
    let commands: Vec<String> = before.iter().map(|evidence| evidence.command.clone()).collect();
    let op = session.op_id(session.clock.now_millis(), &["verify", &commit.to_string()]);
    let checks = Checks { commands: &commands, changes: &changes, least: Jail::None, allow_empty };
    let how = Thoroughly { all: true, again: true, tools: true, reads: &[], verifies: true };
    let clone = session.clone_id().unwrap_or_default();
    let ran = gate::each(session, clone, &view, commit, op, &checks, how)?;
    let compared = before.into_iter().zip(ran).map(|(before, ran)| Compared {
        command: ran.command,
        same: before.is_pass(allow_empty) == ran.evidence.is_pass(allow_empty),
        same_output: before.digest == ran.evidence.digest,
        before,
        now: ran.evidence,
    });
    Ok(Verified { commit, tree, compared: compared.collect() })
}
