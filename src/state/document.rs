//! Session documents: one commit for each step, whose tree holds all there is of a document.

use crate::domain::DocId;
use crate::domain::Failure;
use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Result;
use crate::domain::document::Touched;
use crate::plumbing::Edit;
use crate::plumbing::Repo;
use crate::state::draft::record_commit;
use crate::state::join::Joined;
use crate::state::names;
use crate::state::record::Read;
use crate::state::record::VERSION;
use crate::state::record::decode;
use crate::state::record::encode;
use bstr::BString;
use serde::Deserialize;
use serde::Serialize;

/// What the agent has been sent, with what it made of it: what `commit` commits and `diff` compares with.
pub const TEXT: &str = "text";
/// The file as it was sent last.
pub const BASELINE: &str = "baseline";
/// What the branch has, as far as [`TEXT`] goes: [`TEXT`] as it was committed last; or what the branch had when the
/// newest turn was sent that is answered, if nothing was committed since.
pub const COMMITTED: &str = "committed";
/// What was sent with the newest turn that is answered, until something is committed.
pub const OVER: &str = "over";
/// [`TEXT`] without the answer to the newest turn that has one, and without those after that.
pub const UNDER: &str = "under";
/// What the newest write merged: [`Wrote`] tells of them, and here they live.
pub const LAST_BEFORE: &str = "last/before";
pub const LAST_AFTER: &str = "last/after";
/// What somebody saved in the middle of a write that died, where it could not be brought into the file.
pub const LAST_LEFT: &str = "last/left";
const META: &str = "meta.json";

/// More turns than anybody has.
const MOST: u32 = 1_000_000;

/// Turns in one folder of the tree: a step writes no list of them all.
const SHELF: u32 = 100;

/// A document as of its newest step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocRecord {
    pub v: u32,
    pub doc: DocId,
    /// Where its file was at that step, below the top of the working tree.
    pub path: String,
    /// The branch that was checked out when its file was written last; none where `HEAD` was detached.
    pub branch: Option<RefName>,
    /// How many turns there are.
    pub turns: u32,
    /// Turns that were sent and have no answer.
    pub open: Vec<u32>,
    /// Turns that were taken back, in that order.
    pub undone: Vec<u32>,
    /// How many turns there were when it was committed last.
    pub committed: u32,
    pub conflicts: u32,
    pub wrote: Option<Wrote>,
}

/// The newest write to the file, as blobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wrote {
    /// What the file held, and what it was to hold.
    pub person: Oid,
    pub merged: Oid,
    /// What was merged into it: made of the first, the second.
    pub before: Oid,
    pub after: Oid,
    pub touched: Touched,
}

/// One turn: what was asked, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRecord {
    pub v: u32,
    pub n: u32,
    /// When it was sent; none where nobody asked.
    pub sent: Option<i64>,
    pub answered: Option<i64>,
    /// Why it has no answer.
    pub failed: Option<String>,
    pub agent: Option<String>,
    pub model: Option<String>,
    /// The agent's own name of its session.
    pub session: Option<String>,
    /// Who wrote, in their own words.
    pub origin: Option<String>,
    pub touched: Touched,
}

impl TurnRecord {
    /// Turn `n`, which nobody has answered yet.
    pub fn new(n: u32, sent: Option<i64>) -> TurnRecord {
        TurnRecord {
            v: VERSION,
            n,
            sent,
            answered: None,
            failed: None,
            agent: None,
            model: None,
            session: None,
            origin: None,
            touched: Touched::Nothing,
        }
    }
}

/// Two versions of the same lines: the person's stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictRecord {
    pub v: u32,
    pub n: u32,
    pub turn: u32,
    pub component: Option<String>,
    /// Where the person's version stood in the file then, from 1.
    pub line: usize,
    pub base: String,
    pub person: String,
    pub agent: String,
    /// How it was resolved.
    pub resolved: Option<String>,
}

/// A document that has a state.
#[derive(Debug, Clone)]
pub struct DocState {
    pub at: Oid,
    pub tree: Oid,
    pub record: DocRecord,
}

impl DocState {
    /// The newest step of document `id`, if there is one.
    pub fn load(repo: &Repo, id: DocId) -> Result<Option<DocState>> {
        let name = names::document(id)?;
        match repo.read_refs(&[&name])?.pop().flatten() {
            Some(at) => DocState::at(repo, at).map(Some),
            None => Ok(None),
        }
    }

    /// The step at commit `at`.
    pub fn at(repo: &Repo, at: Oid) -> Result<DocState> {
        let tree = repo.objects.tree_of(at)?;
        let record: DocRecord = json(repo, tree, META)?
            .ok_or_else(|| Failure::fault(format!("reading step {at}"), "it has no meta.json"))?;
        // Somebody else may have written it, and turns and conflicts are walked over.
        if record.turns.max(record.conflicts) >= MOST {
            return Err(Failure::fault(format!("reading step {at}"), "it counts more than anybody has"));
        }
        Ok(DocState { at, tree, record })
    }

    /// A file of the step.
    pub fn file(&self, repo: &Repo, path: &str) -> Result<Option<String>> {
        let Some(oid) = self.oid(repo, path)? else { return Ok(None) };
        Ok(Some(String::from_utf8_lossy(&repo.objects.blob(oid)?).into_owned()))
    }

    /// Which blob that is.
    pub fn oid(&self, repo: &Repo, path: &str) -> Result<Option<Oid>> {
        repo.objects.oid_at(self.tree, path.into())
    }

    pub fn text(&self, repo: &Repo) -> Result<Option<String>> {
        self.file(repo, TEXT)
    }

    /// Whether it has the turns and conflicts that it counts: nobody walks over more than there are.
    pub fn is_whole(&self, repo: &Repo) -> bool {
        let there = |n: u32, path: String| n == 0 || matches!(self.oid(repo, &path), Ok(Some(_)));
        let DocRecord { turns, conflicts, .. } = self.record;
        there(turns, turn_file(turns, META))
            && there(conflicts, conflict_file(conflicts))
            && turns.max(conflicts) < MOST
    }

    pub fn turn(&self, repo: &Repo, n: u32) -> Result<Option<TurnRecord>> {
        json(repo, self.tree, &turn_file(n, META))
    }

    pub fn conflict(&self, repo: &Repo, n: u32) -> Result<Option<ConflictRecord>> {
        json(repo, self.tree, &conflict_file(n))
    }
}

/// Where a file of turn `n` is.
pub fn turn_file(n: u32, name: &str) -> String {
    format!("turns/{}/{:02}/{name}", n / SHELF, n % SHELF)
}

pub(super) fn conflict_file(n: u32) -> String {
    format!("conflicts/{n}.json")
}

fn json<T: serde::de::DeserializeOwned>(repo: &Repo, tree: Oid, path: &str) -> Result<Option<T>> {
    let Some(oid) = repo.objects.oid_at(tree, path.into())? else { return Ok(None) };
    match decode(&repo.objects.blob(oid)?) {
        Read::Known(value) => Ok(Some(value)),
        Read::Unknown(why) => Err(Failure::fault(format!("reading {path} of {tree}"), why)),
    }
}

/// What a step changes in the tree.
#[derive(Debug, Default)]
pub struct DocStep {
    files: Vec<(BString, Option<(Mode, Oid)>)>,
    /// The step of another document that the first one of this builds on.
    first: Option<DocState>,
    /// What it builds on in place of the newest step.
    upon: Option<Joined>,
}

/// What was brought together, as a step of its own. Whoever makes it makes the same: it has the time of the newer side.
pub fn step(repo: &Repo, joined: &Joined, subject: &str) -> Result<Oid> {
    let times = joined.parents.iter().map(|at| repo.objects.time_of(*at));
    let at = times.collect::<Result<Vec<i64>>>()?.into_iter().max().unwrap_or_default();
    record_commit(repo, joined.tree, joined.parents.clone(), at, &format!("doc: {subject}"))
}

impl DocStep {
    /// A step that builds on what was brought together.
    pub fn upon(joined: &Joined) -> DocStep {
        DocStep { upon: Some(joined.clone()), ..DocStep::default() }
    }

    pub fn put(&mut self, repo: &Repo, path: &str, bytes: &[u8]) -> Result<Oid> {
        let oid = repo.objects.write_blob(bytes)?;
        self.put_blob(path, oid);
        Ok(oid)
    }

    /// A blob that is there.
    pub fn put_blob(&mut self, path: &str, oid: Oid) {
        self.files.push((path.into(), Some((Mode::File, oid))));
    }

    /// The first step of a document goes on from a step of another one.
    pub fn begin_with(&mut self, other: &DocState) {
        self.first = Some(other.clone());
    }

    pub fn remove(&mut self, path: &str) {
        self.files.push((path.into(), None));
    }

    pub fn put_turn(&mut self, repo: &Repo, turn: &TurnRecord) -> Result<()> {
        self.put(repo, &turn_file(turn.n, META), &encode(turn)?).map(drop)
    }

    pub fn put_conflict(&mut self, repo: &Repo, conflict: &ConflictRecord) -> Result<()> {
        self.put(repo, &conflict_file(conflict.n), &encode(conflict)?).map(drop)
    }

    /// The commit of the step after `last`, and the move of the ref that makes it the newest.
    pub fn commit(
        mut self,
        repo: &Repo,
        last: Option<&DocState>,
        record: &DocRecord,
        at: i64,
        subject: &str,
    ) -> Result<Edit> {
        self.put(repo, META, &encode(record)?)?;
        let from = last.or(self.first.as_ref());
        let (root, parents) = match (self.upon, from) {
            (Some(upon), _) => (upon.tree, upon.parents),
            (None, Some(from)) => (from.tree, vec![from.at]),
            (None, None) => (repo.objects.empty_tree(), Vec::new()),
        };
        let tree = repo.objects.edit_tree(root, self.files)?;
        let new = record_commit(repo, tree, parents, at, &format!("doc: {subject}"))?;
        Ok(Edit { name: names::document(record.doc)?, old: last.map(|last| last.at), new: Some(new) })
    }
}
