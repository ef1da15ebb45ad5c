//! Without a jail a worker can write anywhere. What matters most is compared before and after its run: the
//! main checkout, the shared configuration and hooks, and commits on branches in the worker's own name.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Result;
use crate::domain::WorkerId;
use crate::plumbing::Untracked;
use crate::verbs::custody;
use crate::verbs::session::Session;
use bstr::ByteSlice;
use serde::Deserialize;
use serde::Serialize;
use sha2::Digest;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The person's rules on what git stores and what it leaves out.
const SHARED: [&str; 3] = ["config.worktree", "info/attributes", "info/exclude"];

/// The main checkout and what all worktrees share, at one moment.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outside {
    /// Paths that differ from the commit there, with state, size and time of change.
    dirty: BTreeMap<String, String>,
    config: String,
    /// What else all worktrees share beside it.
    #[serde(default)]
    shared: BTreeMap<String, String>,
    hooks: BTreeMap<String, String>,
    branches: BTreeMap<String, Oid>,
    stash: Vec<Oid>,
    /// The commit of the main checkout.
    head: Option<Oid>,
}

impl Outside {
    pub fn look(session: &Session<'_>) -> Result<Outside> {
        let common = &session.repo.dirs.common;
        let mut outside = Outside { config: digest(&common.join("config")), ..Outside::default() };
        for name in SHARED {
            outside.shared.insert(name.to_owned(), digest(&common.join(name)));
        }
        for entry in std::fs::read_dir(common.join("hooks")).into_iter().flatten().flatten() {
            outside.hooks.insert(entry.file_name().to_string_lossy().into_owned(), digest(&entry.path()));
        }
        for (name, oid) in session.view()?.branches {
            outside.branches.insert(name.to_string(), oid);
        }
        outside.stash = session.repo.stash()?;
        let main = session.repo.worktrees()?.into_iter().next().filter(|w| !w.bare && w.path.exists());
        let main = main.filter(|w| w.path != *common);
        if let Some(main) = main {
            let admin = main.admin();
            outside.head = session.repo.head_of(&admin)?;
            for dirty in session.repo.status(&admin, Untracked::List)? {
                let at = main.path.join(std::ffi::OsStr::from_bytes(&dirty.path));
                let mark = format!("{} {}", dirty.state, stamp(&at));
                outside.dirty.insert(dirty.path.to_str_lossy().into_owned(), mark);
            }
        }
        Ok(outside)
    }

    /// Files of the main checkout that are not committed there.
    pub fn dirty_files(&self) -> Vec<String> {
        self.dirty.keys().cloned().collect()
    }

    /// Whether the branch was there.
    pub fn had(&self, branch: &RefName) -> bool {
        self.branches.contains_key(branch.as_str())
    }

    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|e| Failure::fault("noting the main checkout", e))
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Outside> {
        serde_json::from_slice(bytes).ok()
    }

    /// What a worker must not have done, between `self` and `after`.
    pub fn changed(&self, session: &Session<'_>, after: &Outside, worker: WorkerId) -> Result<Vec<String>> {
        let mut found: Vec<String> = after
            .dirty
            .iter()
            .filter(|(path, mark)| self.dirty.get(*path) != Some(mark))
            .map(|(path, _)| path.clone())
            .collect();
        // Where the commit there is still the same, nobody has committed them.
        let undone = self.dirty.keys().filter(|path| !after.dirty.contains_key(*path));
        if self.head == after.head {
            found.extend(undone.map(|path| format!("{path}: its uncommitted changes are gone")));
        }
        if self.config != after.config {
            found.push("the repository's config".to_owned());
        }
        let other = self.shared.iter().filter(|(name, mark)| after.shared.get(*name) != Some(mark));
        found.extend(other.map(|(name, _)| format!("the repository's {name}")));
        for name in self.hooks.keys().chain(after.hooks.keys()).collect::<std::collections::BTreeSet<_>>() {
            if self.hooks.get(name) != after.hooks.get(name) {
                found.push(format!("hook {name}"));
            }
        }
        for (name, new) in &after.branches {
            let old = self.branches.get(name);
            if old.is_some_and(|o| o != new) && custody::committed_by(session, *new, worker)? {
                found.push(format!("branch {name} moved to its commit {}", new.short()));
            }
        }
        for new in after.stash.iter().filter(|s| !self.stash.contains(s)) {
            if custody::committed_by(session, *new, worker)? {
                found.push(format!("the stash holds its entry {}", new.short()));
            }
        }
        for old in self.stash.iter().filter(|s| !after.stash.contains(s)) {
            if session.repo.objects.exists(*old) && custody::committed_by_a_worker(session, *old)? {
                found.push(format!("the stash has lost entry {} of another worker", old.short()));
            }
        }
        Ok(found)
    }
}

fn digest(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    sha2::Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect()
}

fn stamp(path: &Path) -> String {
    match std::fs::symlink_metadata(path) {
        Ok(m) => format!("{} {}.{:09}", m.len(), m.mtime(), m.mtime_nsec()),
        Err(_) => "gone".to_owned(),
    }
}
