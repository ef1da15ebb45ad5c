//! Every invariant of the schema, looked at without caches and without trust. What is wrong is a finding; only
//! a repository that cannot be listed is a failure.

mod bundle;
mod document;
mod finding;
mod kept;
mod lane;
mod notes;
mod verdict;
mod worker;

pub use finding::Code;
pub use finding::Finding;
pub use finding::Level;
pub use notes::followed as followed_notes;
pub use notes::noted_ops;
#[cfg(feature = "fuzz")]
pub use notes::op_of;
#[cfg(feature = "fuzz")]
pub use notes::version_of;

use crate::domain::Oid;
use crate::domain::OpId;
use crate::domain::RefName;
use crate::domain::Result;
use crate::domain::WorkerId;
use crate::plumbing::Commit;
use crate::plumbing::Kind;
use crate::plumbing::Ref;
use crate::plumbing::Repo;
use crate::state::draft::is_ours;
use crate::state::evidence::Verdict;
use crate::state::names;
use crate::state::names::Ours;
use crate::state::record::Move;
use crate::state::record::VERSION;
use crate::state::record::WorkerRecord;
use crate::state::record::encode;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;

/// What was looked at, and what is wrong with it.
pub struct Audit<'r> {
    repo: &'r Repo,
    pub findings: Vec<Finding>,
    /// Our refs that point at a commit.
    refs: Vec<(RefName, Ours, Oid)>,
    /// The newest readable record of each worker; none if its newest cannot be read.
    pub workers: BTreeMap<WorkerId, Option<WorkerRecord>>,
    /// Finished moves of branches, lane by lane, oldest first.
    moves: Vec<Move>,
    /// Moves that were announced and have no end; a note of theirs may be there already.
    open: Vec<Move>,
    /// What became of landed commits, with the operations that brought them, lane by lane, oldest first.
    rewritten: Vec<(OpId, Vec<(Oid, Oid)>)>,
    /// Verdicts, each with its lane and its commit there.
    given: Vec<(RefName, Oid, OpId, Verdict)>,
    /// A lane could not be read to its end: nothing follows from what is not on it.
    blind: bool,
    pub records: usize,
}

impl<'r> Audit<'r> {
    /// Looks at everything that the refs hold. `clone` is the one whose local refs these are.
    pub fn of(repo: &'r Repo, clone: Option<&str>) -> Result<Audit<'r>> {
        let mut audit = Audit {
            repo,
            findings: Vec::new(),
            refs: Vec::new(),
            workers: BTreeMap::new(),
            moves: Vec::new(),
            open: Vec::new(),
            rewritten: Vec::new(),
            given: Vec::new(),
            blind: false,
            records: 0,
        };
        audit.list()?;
        audit.sentinel();
        for (name, ours, at) in audit.refs.clone() {
            match ours {
                Ours::Worker(id) => audit.worker(&name, id, at),
                Ours::Lane(_) => audit.lane(&name, at),
                Ours::Candidate(op) => audit.candidate(&name, op, at),
                Ours::Bundle(id) => audit.bundle(&name, id, at),
                Ours::Document(id) => audit.document(&name, id, at),
                Ours::Format
                | Ours::Head(_)
                | Ours::Wip(_)
                | Ours::Seen(_)
                | Ours::Kept(_)
                | Ours::Archive(_)
                | Ours::LandedNotes
                | Ours::Queued(_)
                | Ours::Lease(_)
                | Ours::Commits
                | Ours::Reserved => {}
            }
        }
        audit.undos();
        audit.verdicts();
        audit.notes();
        audit.kept(clone);
        Ok(audit)
    }

    pub fn add(&mut self, code: Code, name: impl ToString, says: impl Into<String>, show: impl Into<String>) {
        self.findings.push(Finding::new(code, name.to_string(), says.into(), show.into()));
    }

    fn on_commit(&mut self, code: Code, name: &RefName, at: Oid, says: impl Into<String>) {
        let show = format!("git cat-file -p {at}");
        self.findings
            .push(Finding { oid: Some(at), ..Finding::new(code, name.to_string(), says.into(), show) });
    }

    /// The value, unless the objects that it is made of cannot be read: that is a finding of `name`.
    fn read<T>(&mut self, name: &RefName, read: impl FnOnce(&Repo) -> Result<T>) -> Option<T> {
        match read(self.repo) {
            Ok(value) => Some(value),
            Err(failure) => {
                let show = format!("git rev-list --objects --quiet {name}");
                self.add(Code::Unreadable, name, failure.to_string(), show);
                None
            }
        }
    }

    fn list(&mut self) -> Result<()> {
        for name in self.repo.dangling(names::SPACES)? {
            let show = format!("git symbolic-ref {name}");
            self.add(Code::SymbolicRef, name, "it is a symbolic ref to a ref that does not exist", show);
        }
        for Ref { name, oid, points_at } in self.repo.refs(names::SPACES)? {
            let Some(ours) = names::parse(&name) else {
                let show = format!("git for-each-ref {name}");
                self.add(Code::StrayRef, &name, "this version knows no ref of that name", show);
                continue;
            };
            if let Ours::Worker(id) = ours {
                // However damaged: what it keeps is not stray.
                self.workers.insert(id, None);
            }
            if let Some(target) = points_at {
                let show = format!("git symbolic-ref {name}");
                self.add(Code::SymbolicRef, &name, format!("it is a symbolic ref to {target}"), show);
                continue;
            }
            let kind = self.read(&name, |repo| repo.objects.try_read(oid));
            match kind {
                Some(Some((Kind::Commit, _))) => self.refs.push((name, ours, oid)),
                // What it says is believed of one file of the cache only.
                Some(Some((Kind::Blob, _))) if ours == Ours::Commits => {}
                Some(Some((kind, _))) => {
                    let kind = format!("{kind:?}").to_lowercase();
                    self.on_commit(Code::NotACommit, &name, oid, format!("it points at a {kind}"));
                }
                Some(None) => {
                    self.on_commit(Code::Unreadable, &name, oid, "the commit that it points at is missing");
                }
                None => {}
            }
        }
        Ok(())
    }

    fn sentinel(&mut self) {
        let Ok(name) = names::format() else { return };
        let found = self.refs.iter().find(|(_, ours, _)| *ours == Ours::Format).map(|(_, _, at)| *at);
        let named = self.findings.iter().any(|f| f.name == name.as_str());
        match found {
            Some(at) => {
                let empty = self.repo.objects.empty_tree();
                if let Some(commit) = self.read(&name, |repo| repo.objects.commit(at))
                    && (!commit.parents.is_empty() || commit.tree != empty || !is_ours(&commit))
                {
                    let says = "it is not the sentinel: a commit of ours without parents and files";
                    self.on_commit(Code::SentinelAltered, &name, at, says);
                }
            }
            None if self.refs.is_empty() || named => {}
            None => {
                let says = "there are refs of ours, but no sentinel: refs were lost";
                self.add(Code::SentinelMissing, name, says, names::LIST_SHARED);
            }
        }
    }

    /// The record at `path` of the commit `at`, if it can be read; and whether its bytes are those that
    /// writing it again would give.
    fn record<T: Serialize + DeserializeOwned>(
        &mut self,
        name: &RefName,
        at: Oid,
        tree: Oid,
        path: &str,
    ) -> Option<T> {
        let bytes = self.read(name, |repo| match repo.objects.entry_at(tree, path.into())? {
            Some((_, blob)) => repo.objects.blob(blob).map(Some),
            None => Ok(None),
        })?;
        self.records += 1;
        let show = format!("git show {at}:{path}");
        let mut add = |code, says: String| {
            let finding = Finding::new(code, name.to_string(), says, show.clone());
            self.findings.push(Finding { oid: Some(at), ..finding });
        };
        let Some(bytes) = bytes else {
            add(Code::RecordDamaged, format!("{path} is missing"));
            return None;
        };
        let value: Value = match serde_json::from_slice(&bytes) {
            Ok(value) => value,
            Err(e) => {
                add(Code::RecordDamaged, format!("{path} is no JSON: {e}"));
                return None;
            }
        };
        if let Some(v) = value.get("v").and_then(Value::as_u64).filter(|v| *v != u64::from(VERSION)) {
            add(Code::UnknownVersion, format!("{path} has version {v}, which is not known here"));
            return None;
        }
        let record: T = match serde_json::from_slice(&bytes) {
            Ok(record) => record,
            Err(e) => {
                add(Code::RecordDamaged, format!("{path} is no such record: {e}"));
                return None;
            }
        };
        let again = encode(&record).unwrap_or_default();
        if again != bytes {
            let known: Value = serde_json::from_slice(&again).unwrap_or_default();
            let mut extra = Vec::new();
            strangers(&value, &known, "", &mut extra);
            let machine =
                extra.iter().find(|key| MACHINE.contains(&key.rsplit('/').next().unwrap_or_default()));
            match (machine, extra.first()) {
                (Some(key), _) => add(Code::MachineFact, format!("{path} holds the machine fact {key}")),
                (None, Some(key)) => {
                    add(Code::NotCanonical, format!("{path} has the key {key}, which is no key of it"))
                }
                (None, None) => add(Code::NotCanonical, format!("{path} is not written as the schema says")),
            }
        }
        Some(record)
    }

    /// The chain from `at` back to its first record, oldest first, as far as it can be read; each commit with
    /// the one before, which only the first record has not.
    fn chain(&mut self, name: &RefName, at: Oid) -> Vec<(Oid, Commit, Option<Oid>)> {
        let mut found = Vec::new();
        let mut next = Some(at);
        while let Some(oid) = next {
            let Some(commit) = self.read(name, |repo| repo.objects.commit(oid)) else { break };
            let parents = commit.parents.clone();
            let previous = self.read(name, |repo| super::lane::previous(repo, &parents));
            next = previous.flatten();
            if !is_ours(&commit) {
                self.on_commit(Code::ChainBroken, name, oid, "this commit was not made by the program");
            }
            // One that cannot be read is there all the same.
            let before = if previous.is_none() { parents.first().copied() } else { next };
            found.push((oid, commit, before));
        }
        found.reverse();
        found
    }

    /// Compares the parents of a record commit with those that it should have.
    fn parents(&mut self, name: &RefName, at: Oid, commit: &Commit, want: &[Oid]) {
        if commit.parents != want {
            let list = |oids: &[Oid]| oids.iter().map(Oid::short).collect::<Vec<_>>().join(" ");
            let says = format!("its parents are [{}], not [{}]", list(&commit.parents), list(want));
            self.on_commit(Code::ChainBroken, name, at, says);
        }
    }

    fn find(&self, op: OpId) -> Option<&Move> {
        self.moves.iter().find(|m| m.op == op)
    }
}

/// Keys that would tell of a machine. Paths of a repository are no facts of a machine.
const MACHINE: &[&str] = &[
    "boot", "boot_id", "cwd", "host", "hostname", "path", "pid", "ppid", "socket", "start", "started", "tty",
    "user", "worktree",
];

/// The keys of `found` that `known` does not have, at any depth.
fn strangers(found: &Value, known: &Value, at: &str, extra: &mut Vec<String>) {
    match (found, known) {
        (Value::Object(found), Value::Object(known)) => {
            for (key, value) in found {
                match known.get(key) {
                    Some(beside) => strangers(value, beside, &format!("{at}/{key}"), extra),
                    None => extra.push(format!("{at}/{key}")),
                }
            }
        }
        (Value::Array(found), Value::Array(known)) => {
            for (index, (value, beside)) in found.iter().zip(known).enumerate() {
                strangers(value, beside, &format!("{at}/{index}"), extra);
            }
        }
        _ => {}
    }
}
