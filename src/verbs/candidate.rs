//! `candidate create`: the exact commit that would become the trunk, kept under its own ref with all that
//! its landing will say. A candidate is a pure function of its operation, its tree and its parents.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::OpId;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::quoted;
use crate::plumbing::Commit;
use crate::plumbing::Edit;
use crate::plumbing::Merged;
use crate::plumbing::Merger;
use crate::plumbing::Moved;
use crate::plumbing::Renames;
use crate::state::CandidateRecord;
use crate::state::DeltaRecord;
use crate::state::Draft;
use crate::state::Landing;
use crate::state::VERSION;
use crate::state::View;
use crate::state::candidate_ref;
use crate::state::encode;
use crate::state::record_commit;
use crate::verbs::replay;
use crate::verbs::replay::How;
use crate::verbs::session::Session;
use crate::verbs::upon;
use bstr::ByteSlice;

/// What is to land.
#[derive(Debug, Clone)]
pub enum Source {
    Delta {
        handle: String,
        delta: Box<DeltaRecord>,
    },
    /// A person's branch keeps its ancestry: fast-forward or a merge.
    Branch {
        name: RefName,
        tip: Oid,
    },
}

impl Source {
    pub fn name(&self) -> &str {
        match self {
            Source::Delta { handle, .. } => handle,
            Source::Branch { name, .. } => name.short(),
        }
    }

    pub fn tip(&self) -> Oid {
        match self {
            Source::Delta { delta, .. } => delta.tip,
            Source::Branch { tip, .. } => *tip,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shape {
    pub squash: bool,
    pub exact: bool,
    /// Of a branch: merge it though that changes nothing.
    pub allow_empty: bool,
}

/// A candidate and the record commit that keeps it.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub record: CandidateRecord,
    pub at: Oid,
}

/// Builds the candidate of `source` on `onto` as it is at `old`. Objects are written, nothing names them yet.
pub fn build(
    session: &Session<'_>,
    source: &Source,
    onto: &RefName,
    old: Oid,
    shape: Shape,
) -> Result<CandidateRecord> {
    let person = session.person()?;
    let millis = session.clock.now_millis();
    let at = (millis / 1000) as i64;
    let (tip, old_text) = (source.tip().to_string(), old.to_string());
    // Part of the identity since the first version, so it stays as it was spelled there.
    let shape_text = format!("Shape {{ squash: {}, exact: {} }}", shape.squash, shape.exact);
    let op =
        session.op_id(millis, &["land", source.name(), &tip, onto.as_str(), &old_text, &person, &shape_text]);
    let landing = match source {
        Source::Delta { handle, delta } => {
            let how = How {
                handle,
                squash: shape.squash,
                exact: shape.exact,
                committer: &person,
                at,
                op: op.to_string(),
            };
            let replayed = replay::replay(&session.repo, delta, old, &how)
                .map_err(|failure| upon::explain(session, handle, delta, (onto, old), failure))?;
            upon::tell(session, handle, delta, (onto, old))?;
            Landing { onto: onto.clone(), old, new: replayed.tip, delta: Some(replayed.delta), branch: None }
        }
        Source::Branch { name, tip } => {
            if shape.squash {
                return Err(keeps_commits(name, *tip, old));
            }
            let new = merge_branch(session, name, *tip, onto, old, &person, at, op)?;
            let objects = &session.repo.objects;
            if !shape.allow_empty && objects.tree_of(new)? == objects.tree_of(old)? {
                return Err(changes_nothing(name, *tip, onto, old));
            }
            Landing { onto: onto.clone(), old, new, delta: None, branch: Some(name.clone()) }
        }
    };
    Ok(CandidateRecord { v: VERSION, op, at, landing, admitted: None })
}

#[expect(clippy::too_many_arguments, reason = "the facts of one merge commit")]
fn merge_branch(
    session: &Session<'_>,
    name: &RefName,
    tip: Oid,
    onto: &RefName,
    old: Oid,
    person: &str,
    at: i64,
    op: OpId,
) -> Result<Oid> {
    let objects = &session.repo.objects;
    if objects.is_ancestor(tip, old)? {
        return Err(Refusal::new(
            Token::Empty,
            format!("{} already holds all of {}", onto.short(), name.short()),
        )
        .oid("branch", tip)
        .oid("target", old)
        .show(format!("git log --oneline {old}..{tip}"))
        .next("there is nothing to do")
        .into());
    }
    if objects.is_ancestor(old, tip)? {
        return Ok(tip);
    }
    let bases = objects.merge_bases(old, tip)?;
    let base = match bases.first() {
        Some(base) => objects.tree_of(*base)?,
        None => objects.empty_tree(),
    };
    let merged =
        Merger::new(objects).trees(base, objects.tree_of(old)?, objects.tree_of(tip)?, Renames::Follow)?;
    let tree = match merged {
        Merged::Clean(tree) if bases.len() <= 1 => tree,
        Merged::Clean(_) => return Err(branch_conflict(name, tip, old, Vec::new())),
        Merged::Conflict(paths) => {
            return Err(branch_conflict(
                name,
                tip,
                old,
                paths.iter().map(|p| p.to_str_lossy().into_owned()).collect(),
            ));
        }
    };
    let line = bstr::BString::from(format!("{person} {at} +0000"));
    objects.write_commit(&Commit {
        tree,
        parents: vec![old, tip],
        author: line.clone(),
        committer: line,
        encoding: None,
        message: format!("Merge branch '{}' into {}\n\nSkein-Op: {op}\n", name.short(), onto.short()).into(),
    })
}

fn keeps_commits(name: &RefName, tip: Oid, old: Oid) -> Failure {
    let says = format!("{} is a branch, and one keeps its commits: --squash is for workers", name.short());
    Refusal::new(Token::KeepsCommits, says)
        .oid("branch", tip)
        .oid("target", old)
        .show(format!("git log --oneline {old}..{tip}"))
        .next("land it without --squash, or make one commit of it first, with git rebase -i")
        .into()
}

fn changes_nothing(name: &RefName, tip: Oid, onto: &RefName, old: Oid) -> Failure {
    let (name, onto) = (name.short(), onto.short());
    Refusal::new(Token::Empty, format!("to merge {name} would change nothing on {onto}"))
        .oid("branch", tip)
        .oid("target", old)
        .show(format!("git log --oneline {old}..{tip} && git diff {old} {tip}"))
        .next(format!(
            "to have its commits there all the same: git skein land --allow-empty {}",
            quoted(name)
        ))
        .into()
}

fn branch_conflict(name: &RefName, tip: Oid, old: Oid, lines: Vec<String>) -> Failure {
    let says = if lines.is_empty() {
        format!("{} and the target have more than one merge base", name.short())
    } else {
        format!("{} and the target changed the same lines", name.short())
    };
    Refusal::new(Token::Conflict, says)
        .oid("branch", tip)
        .oid("target", old)
        .lines(lines)
        .show(format!("git merge-tree --write-tree {old} {tip}"))
        .next(format!("merge the target into {} by hand, then land it again", name.short()))
        .into()
}

/// Keeps a built candidate: objects durable, its ref made. Making the same one again finds it there.
pub fn keep(session: &Session<'_>, record: CandidateRecord) -> Result<Candidate> {
    let at = commit_of(session, &record)?;
    let name = candidate_ref(record.op)?;
    crate::fault::point("candidate: built");
    match Draft::new(&session.repo).put(Edit::create(name.clone(), at)).publish()? {
        Moved::Done => Ok(Candidate { record, at }),
        Moved::Lost(now) if now.iter().any(|(_, oid)| *oid == Some(at)) => Ok(Candidate { record, at }),
        Moved::Lost(_) => Err(Refusal::new(Token::CandidateExists, format!("{name} is taken"))
            .show(format!("git show {name}:record.json"))
            .next("do the same again")
            .into()),
    }
}

/// The record commit of a candidate: the candidate and the delta's tip are its parents, so they live.
pub fn commit_of(session: &Session<'_>, record: &CandidateRecord) -> Result<Oid> {
    let objects = &session.repo.objects;
    let blob = objects.write_blob(&encode(record)?)?;
    let entry = ("record.json".into(), Some((crate::domain::Mode::File, blob)));
    let tree = objects.edit_tree(objects.empty_tree(), [entry])?;
    let landing = &record.landing;
    let parents = [landing.new].into_iter().chain(landing.delta.as_ref().map(|d| d.tip)).collect();
    record_commit(&session.repo, tree, parents, record.at, &format!("candidate for {}", landing.onto.short()))
}

/// The candidates that wait for `source`'s name on `onto`, oldest first.
pub fn waiting(
    session: &Session<'_>,
    view: &View,
    source: &Source,
    onto: &RefName,
) -> Result<Vec<Candidate>> {
    let same = |landing: &Landing| {
        landing.onto == *onto
            && match source {
                Source::Delta { delta, .. } => {
                    landing.delta.as_ref().is_some_and(|d| d.worker == delta.worker)
                }
                Source::Branch { name, .. } => landing.branch.as_ref() == Some(name),
            }
    };
    let found = view.candidate_records(&session.repo)?;
    Ok(found
        .into_iter()
        .filter(|(_, r)| same(&r.landing))
        .map(|(at, record)| Candidate { record, at })
        .collect())
}

/// Drops candidates that are no longer wanted.
pub fn drop_all(session: &Session<'_>, candidates: &[Candidate]) -> Result<()> {
    if candidates.is_empty() {
        return Ok(());
    }
    let mut draft = Draft::new(&session.repo);
    for candidate in candidates {
        draft = draft.put(Edit::delete(candidate_ref(candidate.record.op)?, candidate.at));
    }
    // Somebody else may have dropped them: gone is gone.
    draft.publish().map(drop)
}

/// The same where the landing is a fact already: what cannot be dropped now is dropped another time.
pub fn let_go(session: &Session<'_>, candidates: &[Candidate]) {
    if let Err(failure) = drop_all(session, candidates) {
        session.tell(format!("the landing stands; its candidate is still kept: {failure}"));
    }
}
