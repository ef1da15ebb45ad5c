//! Import: a delta's commits are merged onto a target in memory, tree by tree. No worktree, no index, no
//! patch text.

use crate::domain::Oid;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::sha256;
use crate::domain::with_trailers;
use crate::plumbing::Commit;
use crate::plumbing::Merged;
use crate::plumbing::Merger;
use crate::plumbing::Renames;
use crate::plumbing::Repo;
use crate::state::DeltaRecord;
use crate::state::LandedDelta;
use crate::state::Match;
use crate::state::committed_base;
use bstr::BString;
use bstr::ByteSlice;

/// How a delta is brought onto a target.
#[derive(Debug, Clone)]
pub struct How<'a> {
    pub handle: &'a str,
    pub squash: bool,
    pub exact: bool,
    /// `Name <mail>` of the person, and the date in seconds, for every commit made.
    pub committer: &'a str,
    pub at: i64,
    pub op: String,
}

/// The commits that were made; the last one is the new tip.
#[derive(Debug)]
pub struct Replayed {
    pub tip: Oid,
    pub delta: LandedDelta,
}

/// Rebuilds `delta` on commit `onto`. Refuses on conflict, on nothing to do, and with `exact` on any
/// difference.
pub fn replay(repo: &Repo, delta: &DeltaRecord, onto: Oid, how: &How<'_>) -> Result<Replayed> {
    let objects = &repo.objects;
    let (base_tree, onto_tree) = (objects.tree_of(delta.base)?, objects.tree_of(onto)?);
    let mut merger = Merger::new(objects);
    let net = match merger.trees(base_tree, onto_tree, delta.tree, Renames::Follow)? {
        Merged::Clean(tree) => tree,
        Merged::Conflict(paths) => {
            return Err(match on_uncommitted(repo, delta, onto_tree, &paths)? {
                Some(paths) => built_on_uncommitted(delta, onto, how, &paths),
                None => conflict(Token::Conflict, delta, onto, how, &paths),
            });
        }
    };
    // A delta without any change was asked for as it is.
    if net == onto_tree && delta.paths > 0 {
        return Err(nothing_to_land(delta, onto, how));
    }
    let landed = objects.identity(&objects.diff_trees(onto_tree, net)?)?;
    // The same hunks around moved line numbers are exact only if merging them again adds nothing.
    let same = landed.raw == delta.net.raw
        || (landed.patch_verbatim == delta.net.patch_verbatim
            && merger.trees(base_tree, net, delta.tree, Renames::Follow)?.is_tree(net));
    let match_ = if same { Match::Exact } else { Match::Adjusted };
    if how.exact && match_ == Match::Adjusted {
        return Err(not_exact(delta, onto, how));
    }
    // A fork that branched within itself has no one order of steps: it folds to its net tree.
    let fold = how.squash || delta.commits.iter().any(|c| c.parents > 1);
    let (tip, commits) = if fold {
        let tip = folded(repo, delta, onto, net, how)?;
        (tip, delta.commits.iter().map(|c| (c.oid, tip)).collect())
    } else {
        one_to_one(repo, &mut merger, delta, (onto, onto_tree), net, how)?
    };
    Ok(Replayed {
        tip,
        delta: LandedDelta {
            worker: delta.worker,
            n: delta.n,
            base: delta.base,
            tip: delta.tip,
            commits,
            squash: fold,
            match_,
            raw: delta.net.raw.clone(),
            landed_raw: landed.raw,
        },
    })
}

type Pairs = Vec<(Oid, Oid)>;

fn one_to_one(
    repo: &Repo,
    merger: &mut Merger<'_>,
    delta: &DeltaRecord,
    (onto, onto_tree): (Oid, Oid),
    net: Oid,
    how: &How<'_>,
) -> Result<(Oid, Pairs)> {
    let objects = &repo.objects;
    let (mut tip, mut tree, mut pairs) = (onto, onto_tree, Vec::new());
    for step in &delta.commits {
        let commit = objects.commit(step.oid)?;
        let before = match commit.parents.first() {
            Some(parent) => objects.tree_of(*parent)?,
            None => objects.empty_tree(),
        };
        let after = match merger.trees(before, tree, commit.tree, Renames::Follow)? {
            Merged::Clean(next) => next,
            Merged::Conflict(paths) => {
                return Err(conflict(Token::ConflictMidway, delta, step.oid, how, &paths));
            }
        };
        if after == tree && commit.tree != before {
            // The target already holds this step; as what, is not known here.
            continue;
        }
        tree = after;
        let identity = objects.identity(&objects.changes_of(step.oid)?)?;
        let trailers = trailers(delta, how, identity.raw.as_str(), &identity.patch_stable);
        tip = objects.write_commit(&Commit {
            tree,
            parents: vec![tip],
            author: commit.author.clone(),
            committer: committer(how),
            encoding: commit.encoding.clone(),
            message: with_trailers(&commit.message, &trailers),
        })?;
        pairs.push((step.oid, tip));
    }
    if tree != net {
        // The steps do not add up to the whole: what was verified is the whole.
        return Err(conflict(Token::ConflictMidway, delta, delta.tip, how, &[]));
    }
    Ok((tip, pairs))
}

fn folded(repo: &Repo, delta: &DeltaRecord, onto: Oid, net: Oid, how: &How<'_>) -> Result<Oid> {
    let last = repo.objects.commit(delta.tip)?;
    let mut message = last.message.clone();
    if delta.commits.len() > 1 {
        while message.ends_with(b"\n") {
            message.pop();
        }
        message.extend_from_slice(b"\n\nFolded:\n");
        for commit in delta.commits.iter().take(20) {
            message.extend_from_slice(format!("    {} {}\n", commit.oid, commit.subject).as_bytes());
        }
        if delta.commits.len() > 20 {
            message.extend_from_slice(format!("    and {} more\n", delta.commits.len() - 20).as_bytes());
        }
        let list: Vec<String> = delta.commits.iter().map(|c| c.oid.to_string()).collect();
        message.extend_from_slice(
            format!("    sha256 of the whole list: {}\n", sha256(list.join("\n").as_bytes())).as_bytes(),
        );
    }
    let trailers = trailers(delta, how, delta.net.raw.as_str(), &delta.net.patch_stable);
    repo.objects.write_commit(&Commit {
        tree: net,
        parents: vec![onto],
        author: last.author.clone(),
        committer: committer(how),
        encoding: last.encoding.clone(),
        message: with_trailers(&message, &trailers),
    })
}

fn committer(how: &How<'_>) -> BString {
    format!("{} {} +0000", how.committer, how.at).into()
}

fn trailers<'k>(delta: &DeltaRecord, how: &How<'_>, raw: &str, stable: &str) -> Vec<(&'k str, String)> {
    let mut trailers = vec![
        ("Skein-Worker", delta.worker.to_string()),
        ("Skein-Base", delta.base.to_string()),
        ("Skein-Delta", format!("{} {raw}", delta.n)),
    ];
    if !stable.is_empty() {
        trailers.push(("Skein-Patch-Id", stable.to_owned()));
    }
    trailers.push(("Skein-Op", how.op.clone()));
    trailers
}

fn conflict(
    token: Token,
    delta: &DeltaRecord,
    onto: Oid,
    how: &How<'_>,
    paths: &[BString],
) -> crate::domain::Failure {
    let midway = token == Token::ConflictMidway;
    let says = if midway {
        format!("the whole of {} merges cleanly, but its commits one by one do not", how.handle)
    } else {
        format!("{} and the target changed the same lines", how.handle)
    };
    let next = if midway {
        format!("git skein land --squash {} lands it as one commit", how.handle)
    } else {
        let (handle, tip) = (how.handle, delta.tip);
        format!(
            "dispatch a new worker from the target's tip; or merge on a branch of yours: git switch -c {handle}-merged {onto} && git merge {tip}, then git skein land {handle}-merged"
        )
    };
    Refusal::new(token, says)
        .oid("base", delta.base)
        .oid(if midway { "commit" } else { "target" }, onto)
        .oid("delta", delta.tip)
        .lines(paths.iter().map(|p| p.to_str_lossy().into_owned()))
        .show(format!("git diff {} {onto} && git diff {} {}", delta.base, delta.base, delta.tip))
        .next(next)
        .into()
}

/// The paths of a conflict that are there only because the base holds uncommitted changes of the person's which
/// the target does not have; `None` if there is another reason.
fn on_uncommitted(
    repo: &Repo,
    delta: &DeltaRecord,
    onto: Oid,
    paths: &[BString],
) -> Result<Option<Vec<BString>>> {
    let objects = &repo.objects;
    let Some(committed) = committed_base(objects, delta.base)? else { return Ok(None) };
    let (before, base) = (objects.tree_of(committed)?, objects.tree_of(delta.base)?);
    let mut found = Vec::new();
    for path in paths {
        let at = |tree| objects.entry_at(tree, path.as_ref());
        if at(base)? != at(before)? && at(onto)? != at(base)? {
            found.push(path.clone());
        }
    }
    Ok(Some(found).filter(|found| !found.is_empty()))
}

fn built_on_uncommitted(
    delta: &DeltaRecord,
    onto: Oid,
    how: &How<'_>,
    paths: &[BString],
) -> crate::domain::Failure {
    let says = format!(
        "{} built on uncommitted changes of yours, which its base has and the target has not",
        how.handle
    );
    Refusal::new(Token::Conflict, says)
        .oid("base", delta.base)
        .oid("target", onto)
        .oid("delta", delta.tip)
        .lines(paths.iter().map(|p| p.to_str_lossy().into_owned()))
        .show(format!("git show {} && git diff {} {}", delta.base, delta.base, delta.tip))
        .next(format!("commit those changes on the target first, then land {} again", how.handle))
        .into()
}

fn nothing_to_land(delta: &DeltaRecord, onto: Oid, how: &How<'_>) -> crate::domain::Failure {
    Refusal::new(Token::Empty, format!("the target already holds all of {}", how.handle))
        .oid("delta", delta.tip)
        .oid("target", onto)
        .show(format!("git diff {} {onto} && git diff {} {}", delta.base, delta.base, delta.tip))
        .next(format!("git skein landed --explain {} shows how it got there", how.handle))
        .into()
}

fn not_exact(delta: &DeltaRecord, onto: Oid, how: &How<'_>) -> crate::domain::Failure {
    Refusal::new(
        Token::NotExact,
        format!("{} merges cleanly, but not byte for byte: its files moved on the target", how.handle),
    )
    .oid("base", delta.base)
    .oid("target", onto)
    .show(format!("git diff --raw --no-renames {} {}", delta.base, onto))
    .next("leave out --exact to accept a clean merge")
    .into()
}
