//! Freezing: what a worker has done becomes an immutable delta with an identity. The belts are here.

use crate::domain::Change;
use crate::domain::Failure;
use crate::domain::Globs;
use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::PROTECTED;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::domain::check_path;
use crate::domain::collisions;
use crate::domain::link_escapes;
use crate::domain::quoted;
use crate::plumbing::Commit;
use crate::plumbing::Edit;
use crate::plumbing::Moved;
use crate::state::DeltaRecord;
use crate::state::Draft;
use crate::state::LIST_SHARED;
use crate::state::View;
use crate::state::Worker;
use crate::state::WorkerRecord;
use crate::state::describe;
use crate::state::freeze;
use crate::verbs::custody;
use crate::verbs::kinds;
use crate::verbs::outside::Outside;
use crate::verbs::session::Session;
use crate::verbs::snapshot::Seen;
use crate::verbs::stored;
use bstr::BString;
use bstr::ByteSlice;
use serde::Serialize;
use std::collections::BTreeSet;
use std::collections::HashSet;

/// What of a worker's work is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Take {
    /// Changes beyond the last commit too.
    pub uncommitted: bool,
    /// Whatever the outcome was.
    pub any_outcome: bool,
    /// A delta that changes nothing.
    pub allow_empty: bool,
}

/// What a person should know about the work that was taken, path by path.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Noted {
    /// Changed beyond the delta's tip; kept in the snapshot only.
    pub leftovers: Vec<String>,
    /// Changed outside the globs that dispatch declared.
    pub undeclared: Vec<String>,
    /// Changed though it is not in the plan that was approved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub off_plan: Vec<String>,
    /// Could not be captured, with the reason.
    pub skipped: Vec<String>,
    /// The worker made git ignore them.
    pub ignored: Vec<String>,
    /// Attribute files by which its commits store files otherwise than the base does.
    pub attributes: Vec<String>,
}

/// A frozen delta.
#[derive(Debug)]
pub struct Frozen {
    pub delta: DeltaRecord,
    pub noted: Noted,
    /// The ref move that records the delta, if it is new. Its objects become durable with that move.
    pub pending: Option<Edit>,
}

/// Records a new delta of `handle` by itself.
pub fn settle(session: &Session<'_>, pending: Edit, handle: &str) -> Result<()> {
    match Draft::new(&session.repo).put(pending).publish()? {
        Moved::Done => Ok(()),
        Moved::Lost(_) => Err(raced(handle)),
    }
}

/// Freezes the work of `worker` as it stands, or finds that its last delta is just that.
pub fn run(session: &Session<'_>, view: &View, worker: &Worker, take: Take) -> Result<Frozen> {
    custody::refuse_running(session, worker)?;
    custody::refuse_away(worker)?;
    judge(worker, take)?;
    of_seen(session, view, worker, custody::look(session, worker)?, take)
}

/// Freezes the commits of a worker whose run is over and went well, but for its record. Its working tree is not
/// taken. False if it has committed nothing.
pub fn claimed(session: &Session<'_>, id: WorkerId, seen: &Seen) -> Result<bool> {
    for _ in 0..10 {
        let view = session.view()?;
        let worker = view.worker(&id.to_string())?;
        if worker.record.base == seen.head {
            return Ok(false);
        }
        let frozen = of_seen(session, &view, worker, seen.clone(), Take::default())?;
        let done = match frozen.pending {
            Some(pending) => Draft::new(&session.repo).put(pending).publish()? == Moved::Done,
            None => true,
        };
        if done {
            return Ok(true);
        }
    }
    Err(raced(&id.to_string()))
}

/// Whether the commits of a worker up to `head` could be frozen, without anything being written or run. Gives
/// the changed paths that it had not declared.
pub fn check(session: &Session<'_>, view: &View, worker: &Worker, head: Oid) -> Result<Vec<String>> {
    let objects = &session.repo.objects;
    let base = worker.record.base;
    belts(session, view, worker, head)?;
    let tree = objects.tree_of(head)?;
    let changes = objects.diff_trees(objects.tree_of(base)?, tree)?;
    if changes.is_empty() {
        return Err(empty(worker, base, head));
    }
    check_net(session, worker, tree, &changes)?;
    undeclared(worker, &changes)
}

/// The same of the paths alone, for a tree that is to be committed.
pub fn check_tree(session: &Session<'_>, worker: &Worker, tree: Oid) -> Result<Vec<String>> {
    let objects = &session.repo.objects;
    let changes = objects.diff_trees(objects.tree_of(worker.record.base)?, tree)?;
    check_net(session, worker, tree, &changes)?;
    undeclared(worker, &changes)
}

/// The changed paths outside the globs that dispatch declared.
fn undeclared(worker: &Worker, changes: &[Change]) -> Result<Vec<String>> {
    let declared = Globs::new(worker.record.paths.iter().map(String::as_str))?;
    let found = changes.iter().filter(|c| !declared.is_empty() && !declared.covers(c.path.as_bstr()));
    Ok(found.map(|c| text(&c.path)).collect())
}

fn of_seen(
    session: &Session<'_>,
    view: &View,
    worker: &Worker,
    mut seen: Seen,
    take: Take,
) -> Result<Frozen> {
    if let Some(refusal) = seen.withheld.take() {
        return Err(Failure::Refusal(refusal));
    }
    let objects = &session.repo.objects;
    let base = worker.record.base;
    belts(session, view, worker, seen.head)?;
    let head_tree = objects.tree_of(seen.head)?;
    let stored = stored::tree(session, worker.record.jail, base, seen.head, seen.tree);
    // What git does not store is a change too.
    let dirty = stored.as_ref().map_or(seen.tree, |tree| *tree) != head_tree;
    let (tip, left, uncommitted) = if dirty && (take.uncommitted || seen.head == base) {
        stored::refuse_changed_rules(session, worker, seen.tree)?;
        let tree = stored?;
        (working_tree_commit(session, worker, seen.head, tree)?, tree, true)
    } else {
        (seen.head, stored::or_disk(stored, seen.tree)?, false)
    };
    let changes = objects.diff_trees(objects.tree_of(base)?, objects.tree_of(tip)?)?;
    let mut delta = describe(&session.repo, &worker.record, tip, uncommitted, &changes)?;
    if worker.record.ended.is_none() {
        delta.created = session.clock.now_secs();
    }
    if delta.commits.is_empty() || (delta.paths == 0 && !take.allow_empty) {
        return Err(empty(worker, base, tip));
    }
    check_net(session, worker, delta.tree, &changes)?;
    check_steps(session, worker, &delta)?;
    let leftovers = if uncommitted { Vec::new() } else { objects.diff_trees(head_tree, left)? };
    let rules = if uncommitted { Vec::new() } else { stored::rules_changed(session, base, delta.tree)? };
    let noted = Noted {
        leftovers: leftovers.iter().map(|c| text(&c.path)).collect(),
        undeclared: undeclared(worker, &changes)?,
        off_plan: worker.record.off_plan(&changes)?,
        skipped: seen.skipped,
        ignored: seen.ignored,
        attributes: rules.iter().map(text).collect(),
    };
    delta.lane = session.clone_id().and_then(|clone| view.lanes.get(clone)).copied();
    let frozen = Frozen { delta, noted, pending: None };
    keep(session, worker, frozen)
}

/// The newest delta if it is the same work, else a new one on the worker's record.
fn keep(session: &Session<'_>, worker: &Worker, frozen: Frozen) -> Result<Frozen> {
    if let Some(last) = worker.delta(&session.repo)?
        && last.tip == frozen.delta.tip
    {
        return Ok(Frozen { delta: last, ..frozen });
    }
    if session.dry {
        return Ok(frozen);
    }
    // What its git wrote became durable when its `HEAD` was kept, and what is not its commit was written here.
    let pending = Some(freeze(&session.repo, worker, &frozen.delta)?);
    Ok(Frozen { pending, ..frozen })
}

/// Somebody else wrote the record of `handle` in between.
pub fn raced(handle: &str) -> Failure {
    Refusal::new(Token::RecordMoved, format!("the record of {handle} was written by somebody else just now"))
        .show(LIST_SHARED)
        .next("do the same again")
        .into()
}

/// Refuses to `verb` a worker during whose run files outside its worktree changed.
pub fn refuse_outside(record: &WorkerRecord, verb: &str) -> Result<()> {
    if record.outside.is_empty() {
        return Ok(());
    }
    let handle = &record.handle;
    let says = format!("while {handle} ran, files outside its worktree changed");
    let next = format!(
        "look at them; if they are yours, add --any-outcome: git skein {verb} --any-outcome {handle}"
    );
    Err(Refusal::new(Token::OutsideChanged, says)
        .lines(record.outside.iter().cloned())
        .show("git status && git reflog -3")
        .next(next)
        .into())
}

fn judge(worker: &Worker, take: Take) -> Result<()> {
    use crate::domain::Flag;
    use crate::domain::Outcome;
    let record = &worker.record;
    let handle = &record.handle;
    if !take.any_outcome {
        refuse_outside(record, "land")?;
    }
    // What did not come in is tried again, and it is told why it does not.
    let left = |flag: &Flag| matches!(flag, Flag::Uncommitted | Flag::Quarantined);
    let left = record.flags.iter().any(left);
    let fine = match record.outcome {
        Outcome::Ready | Outcome::Stopped => true,
        // Its run was over, and not just its turn.
        Outcome::NeedsInput => left && record.paused.is_none() && record.open_questions().next().is_none(),
        Outcome::Active | Outcome::Failed => false,
    };
    if fine || take.any_outcome {
        return Ok(());
    }
    let why = record.reason.as_deref().unwrap_or("it has not ended well");
    Err(Refusal::new(Token::NotReady, format!("{handle} is {}: {why}", record.outcome))
        .show(format!("git show {}:record.json", worker.ref_text()))
        .next(format!("git skein show {handle}; to take its work all the same, add --any-outcome"))
        .into())
}

/// The base is the stored one, and nothing from outside came in.
fn belts(session: &Session<'_>, view: &View, worker: &Worker, head: Oid) -> Result<()> {
    let objects = &session.repo.objects;
    let base = worker.record.base;
    if !objects.is_ancestor(base, head)? {
        return Err(Refusal::new(
            Token::BaseMoved,
            format!("{} was forked from a commit that its HEAD no longer contains", worker.record.handle),
        )
        .oid("base", base)
        .oid("HEAD", head)
        .show(format!("git range-diff {base}...{head}"))
        .next(match objects.merge_bases(base, head)?.first() {
            Some(left) => format!("in its worktree: git rebase --onto {base} {left}"),
            None => format!("in its worktree: git rebase --onto {base} --root"),
        })
        .into());
    }
    let Some((branch, first, count)) = foreign(session, view, worker, head)? else { return Ok(()) };
    Err(Refusal::new(
        Token::ForeignMerge,
        format!("{} holds {} commits of {}", worker.record.handle, count, branch.short()),
    )
    .oid("base", base)
    .oid("the first of them", first)
    .show(format!("git log --oneline {base}..{head}"))
    .next(format!(
        "land it as a branch of yours: git branch {0}-merged {head} && git skein land {0}-merged; or take its own commits back onto its base, without its merges, in its worktree: git rebase --onto {base} {1}",
        worker.record.handle,
        quoted(branch.short()),
    ))
    .into())
}

/// A branch that has commits of the fork, the first of them and their number: of others, since a person may
/// have fast-forwarded a branch to the worker's own. A branch that came later may have been made by an agent
/// that commits under another name; the one to land on counts all the same.
fn foreign<'v>(
    session: &Session<'_>,
    view: &'v View,
    worker: &Worker,
    head: Oid,
) -> Result<Option<(&'v RefName, Oid, usize)>> {
    let objects = &session.repo.objects;
    let (base, onto) = (worker.record.base, &worker.record.onto);
    let mut others = HashSet::new();
    for oid in objects.between(base, head)? {
        if !custody::committed_by(session, oid, worker.id)? {
            others.insert(oid);
        }
    }
    if others.is_empty() {
        return Ok(None);
    }
    let before = crate::host::read_optional(&session.local.worker(worker.id).join("outside.json"))?;
    let before = before.as_deref().and_then(Outside::from_bytes);
    let counts = |name: &RefName| name == onto || before.as_ref().is_none_or(|b| b.had(name));
    let target = view.branches.get_key_value(onto).into_iter();
    for (name, tip) in target.chain(view.branches.iter().filter(|(name, _)| counts(name))) {
        let theirs = objects.between(base, *tip)?;
        let foreign: Vec<Oid> = theirs.into_iter().filter(|oid| others.contains(oid)).collect();
        if let Some(first) = foreign.first() {
            return Ok(Some((name, *first, foreign.len())));
        }
    }
    Ok(None)
}

/// The working tree as one commit by the worker. A pure function of worker, parent and tree.
fn working_tree_commit(session: &Session<'_>, worker: &Worker, parent: Oid, tree: Oid) -> Result<Oid> {
    let at = worker.record.ended.unwrap_or(worker.record.created);
    let line = BString::from(format!("{} {at} +0000", custody::author(worker.id, &worker.record.handle)));
    let brief = worker.brief(&session.repo)?;
    let oid = session.repo.objects.write_commit(&Commit {
        tree,
        parents: vec![parent],
        author: line.clone(),
        committer: line,
        encoding: None,
        message: format!("{}\n", brief.trim()).into(),
    })?;
    Ok(oid)
}

/// What is gone again at the end lands all the same, in the history: nobody could check that commit out.
fn check_steps(session: &Session<'_>, worker: &Worker, delta: &DeltaRecord) -> Result<()> {
    let objects = &session.repo.objects;
    let base = objects.tree_of(delta.base)?;
    let folds = delta.commits.iter().any(|c| c.parents > 1);
    for step in delta.commits.iter().filter(|c| !folds && c.oid != delta.tip) {
        let tree = objects.tree_of(step.oid)?;
        let changes = objects.diff_trees(base, tree)?;
        kinds::refuse_changes(worker, &changes)?;
        check_paths(session, worker, tree, &changes)?;
    }
    Ok(())
}

/// What must hold of all that a fork changes.
fn check_net(session: &Session<'_>, worker: &Worker, tree: Oid, changes: &[Change]) -> Result<()> {
    kinds::refuse_changes(worker, changes)?;
    check_protected(session, worker, changes)?;
    check_paths(session, worker, tree, changes)
}

/// Refuses changes that need a person's leave.
fn check_protected(session: &Session<'_>, worker: &Worker, changes: &[Change]) -> Result<()> {
    let config = &session.config;
    let protected = Globs::new(PROTECTED.iter().copied().chain(config.all("skein.forbidden")))?;
    let allowed = Globs::new(config.all("skein.allow"))?;
    let forbidden = |c: &&Change| protected.covers(c.path.as_bstr()) && !allowed.covers(c.path.as_bstr());
    let found: Vec<String> = changes.iter().filter(forbidden).map(|c| text(&c.path)).collect();
    let handle = &worker.record.handle;
    let show = format!("git diff --raw --no-renames {} {}", worker.record.base, worker.tip_text());
    if !found.is_empty() {
        return Err(Refusal::new(
            Token::ForbiddenPath,
            format!("{handle} changed files that steer agents, CI or policy"),
        )
        .lines(found)
        .show(show)
        .next("if that was the task, allow it: git config --add skein.allow '<glob>'")
        .into());
    }
    Ok(())
}

/// Refuses paths and links that must not enter the trunk.
fn check_paths(session: &Session<'_>, worker: &Worker, tree: Oid, changes: &[Change]) -> Result<()> {
    let handle = &worker.record.handle;
    let show = format!("git log --raw --no-renames {}..{}", worker.record.base, worker.tip_text());
    let gitlinks = changes.iter().filter(|c| c.new.is_some_and(|(mode, _)| mode == Mode::Gitlink));
    let gitlinks: Vec<String> = gitlinks.map(|c| text(&c.path)).collect();
    if !gitlinks.is_empty() && !session.config.is_true("skein.allowgitlinks") {
        return Err(Refusal::new(Token::GitlinkRefused, format!("{handle} changed submodule pointers"))
            .lines(gitlinks)
            .show(show)
            .next("if that was the task, allow it: git config skein.allowGitlinks true")
            .into());
    }
    let mut bad = Vec::new();
    for change in changes.iter().filter(|c| c.new.is_some()) {
        if let Err(why) = check_path(change.path.as_bstr()) {
            bad.push(format!("{}: {why}", text(&change.path)));
        } else if let Some((Mode::Link, oid)) = change.new
            && link_escapes(change.path.as_bstr(), session.repo.objects.blob(oid)?.as_bstr())
        {
            bad.push(format!("{}: the link leaves the tree", text(&change.path)));
        }
    }
    bad.extend(
        met(session, worker, tree, changes)?
            .into_iter()
            .map(|(a, b)| format!("{} and {}: the same name on some systems", text(&a), text(&b))),
    );
    if bad.is_empty() {
        return Ok(());
    }
    Err(Refusal::new(Token::BadPath, format!("{handle} made names that must not enter the trunk"))
        .lines(bad)
        .show(show)
        .next("rename or remove them in its worktree, then import again")
        .into())
}

/// Pairs of names that some file systems take for one, of which the delta brought at least one: its new
/// paths are compared with each other and with all that stands beside them.
fn met(
    session: &Session<'_>,
    worker: &Worker,
    tree: Oid,
    changes: &[Change],
) -> Result<Vec<(BString, BString)>> {
    let objects = &session.repo.objects;
    let mut paths: BTreeSet<BString> = BTreeSet::new();
    let mut folders: BTreeSet<&[u8]> = BTreeSet::new();
    for change in changes.iter().filter(|c| c.old.is_none()) {
        folders.extend(change.path.find_iter("/").map(|end| &change.path[..end]).chain([b"".as_slice()]));
        paths.insert(change.path.clone());
    }
    for folder in folders {
        paths.extend(objects.names_in(tree, folder.as_bstr())?);
    }
    let base = objects.tree_of(worker.record.base)?;
    let mut found = collisions(paths.iter().map(|p| p.as_bstr()));
    let mut known = Vec::new();
    for (a, b) in &found {
        known.push(
            objects.oid_at(base, a.as_bstr())?.is_some() && objects.oid_at(base, b.as_bstr())?.is_some(),
        );
    }
    let mut known = known.into_iter();
    found.retain(|_| !known.next().unwrap_or(false));
    Ok(found)
}

fn empty(worker: &Worker, base: Oid, tip: Oid) -> Failure {
    Refusal::new(Token::Empty, format!("{} changed nothing", worker.record.handle))
        .oid("base", base)
        .oid("tip", tip)
        .show(format!("git diff --stat {base} {tip}"))
        .next(format!("git skein show --log {} shows what it did", worker.record.handle))
        .into()
}

fn text(path: &BString) -> String {
    path.to_str_lossy().into_owned()
}
