//! Briefs that wait on a remote, and the leases of those who took them. Both are there alone: what is here of them was
//! fetched.

use crate::domain::BriefId;
use crate::domain::Mode;
use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::RemoteName;
use crate::domain::Result;
use crate::domain::WorkerId;
use crate::plumbing::Repo;
use crate::state::draft::record_commit;
use crate::state::names;
use crate::state::names::Ours;
use crate::state::record::Limits;
use crate::state::record::Read;
use crate::state::record::encode;
use crate::state::view::read;
use bstr::ByteSlice;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;

/// A task for whoever takes it. It never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BriefRecord {
    pub v: u32,
    pub brief: BriefId,
    /// The clone that it came from.
    pub clone: String,
    /// The first line of the task.
    pub task: String,
    pub base: Oid,
    pub base_name: String,
    /// The branch that the work is meant for.
    pub onto: RefName,
    /// That is the one on the server.
    pub onto_server: bool,
    /// The handle that is wished for.
    pub name: Option<String>,
    pub kind: Option<String>,
    /// The name of a known agent, if there is no command.
    pub agent: Option<String>,
    pub argv: Vec<String>,
    pub paths: Vec<String>,
    pub checks: Vec<String>,
    pub limits: Limits,
    /// Only runners with this label take it.
    pub label: Option<String>,
    pub created: i64,
}

/// Who holds a lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRecord {
    pub v: u32,
    pub name: String,
    pub clone: String,
    /// Tells this taking from any other.
    pub nonce: String,
    /// How often it was renewed.
    pub n: u64,
    /// Whoever has seen it unchanged for so long may take it over.
    pub seconds: u64,
}

/// What lies at a ref of the remote; no record if this version cannot read it.
#[derive(Debug, Clone)]
pub struct There<R> {
    pub at: Oid,
    pub record: Option<R>,
}

/// What was fetched of a remote.
#[derive(Debug, Default)]
pub struct Queue {
    pub briefs: BTreeMap<BriefId, There<BriefRecord>>,
    /// By name.
    pub leases: BTreeMap<String, There<LeaseRecord>>,
    /// Those of the asked-for workers that are there.
    pub workers: BTreeMap<WorkerId, Oid>,
}

impl Queue {
    /// Fetches what waits, what is taken, and the records of `workers`.
    pub fn fetch(repo: &Repo, remote: &RemoteName, workers: &[WorkerId]) -> Result<Queue> {
        let (place, _) = names::mirror(remote);
        let mirrored =
            |name: &str| format!("+{name}:{place}/skein{}", name.trim_start_matches(names::SHARED));
        let mut refspecs =
            vec![mirrored(&format!("{}/*", names::QUEUE)), mirrored(&format!("{}/*", names::LEASES))];
        for id in workers {
            // A pattern, since one that is not there yet is no failure.
            refspecs.push(mirrored(&format!("{}*", names::worker(*id)?)));
        }
        repo.fetch(remote, &refspecs)?;
        let parts = ["queue", "lease", "worker"].map(|part| format!("{place}/skein/{part}"));
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let mut found = Queue::default();
        for r in repo.refs(&parts)? {
            let name = names::mirrored(&place, &r.name).filter(|_| r.points_at.is_none());
            match name.as_ref().and_then(names::parse) {
                Some(Ours::Queued(id)) => drop(found.briefs.insert(id, there(repo, r.oid)?)),
                Some(Ours::Lease(name)) => drop(found.leases.insert(name, there(repo, r.oid)?)),
                Some(Ours::Worker(id)) if workers.contains(&id) => drop(found.workers.insert(id, r.oid)),
                _ => {}
            }
        }
        Ok(found)
    }

    /// The whole task of a brief.
    pub fn text(&self, repo: &Repo, id: BriefId) -> Result<String> {
        let Some(brief) = self.briefs.get(&id) else { return Ok(String::new()) };
        let found = repo.objects.entry_at(repo.objects.tree_of(brief.at)?, "brief.md".into())?;
        let text = found.map(|(_, blob)| repo.objects.blob(blob)).transpose()?;
        Ok(text.unwrap_or_default().to_str_lossy().into_owned())
    }
}

/// Of a commit of anything else there is no record either.
fn there<R: serde::de::DeserializeOwned>(repo: &Repo, at: Oid) -> Result<There<R>> {
    let Ok(tree) = repo.objects.tree_of(at) else { return Ok(There { at, record: None }) };
    let record = match read(repo, tree, "record.json")? {
        Read::Known(record) => Some(record),
        Read::Unknown(_) => None,
    };
    Ok(There { at, record })
}

/// The commit of a brief. Its base is its parent, so that it comes along.
pub fn brief_commit(repo: &Repo, record: &BriefRecord, task: &str) -> Result<Oid> {
    let (json, task) = (encode(record)?, task.as_bytes());
    let subject = format!("queued: {}", record.task);
    commit(repo, &[("record.json", &json), ("brief.md", task)], vec![record.base], record.created, &subject)
}

/// The commit of a lease that goes on from `before`.
pub fn lease_commit(repo: &Repo, record: &LeaseRecord, before: Option<Oid>, at: i64) -> Result<Oid> {
    let subject = format!("lease: {} {}", record.name, record.n);
    commit(repo, &[("record.json", &encode(record)?)], before.into_iter().collect(), at, &subject)
}

/// Written and durable.
fn commit(repo: &Repo, files: &[(&str, &[u8])], parents: Vec<Oid>, at: i64, subject: &str) -> Result<Oid> {
    let mut edits = Vec::new();
    for (path, bytes) in files {
        edits.push(((*path).into(), Some((Mode::File, repo.objects.write_blob(bytes)?))));
    }
    let tree = repo.objects.edit_tree(repo.objects.empty_tree(), edits)?;
    let made = record_commit(repo, tree, parents, at, subject)?;
    repo.make_durable(&repo.objects.take_written())?;
    Ok(made)
}
