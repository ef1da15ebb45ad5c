//! Without a jail a worker can write anywhere. What matters most is compared before and after its run: the
//! main checkout, the shared configuration and hooks, and commits on branches in the worker's own name.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Result;
use crate::domain::WorkerId;
use crate::domain::sha256;
use crate::plumbing::Untracked;
use crate::verbs::custody;
use crate::verbs::session::Session;
use bstr::ByteSlice;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::path::PathBuf;

/// The person's rules on what git runs, stores and leaves out.
const RULES: [&str; 3] = ["config.worktree", "info/attributes", "info/exclude"];

/// What makes git see another history or other objects.
const SIGHT: [&str; 3] = ["info/grafts", "shallow", "objects/info/alternates"];

/// Replaced objects, which only plain git looks at.
const REPLACED: &str = "refs/replace";

/// The person's own rules, below the folder of git's configuration.
const GLOBAL: [&str; 3] = ["config", "attributes", "ignore"];

/// The main checkout and what all worktrees share, at one moment.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outside {
    /// Paths that differ from the commit there, with state, size and times.
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
    /// How it is before a worker starts.
    pub fn look(session: &Session<'_>) -> Result<Outside> {
        Outside::look_after(session, None)
    }

    /// How it is now. Where the rules are no longer those of `before`, what they would run is not run, and so
    /// the files of the main checkout are not looked at.
    pub fn look_after(session: &Session<'_>, before: Option<&Outside>) -> Result<Outside> {
        let common = &session.repo.dirs.common;
        let mut outside = Outside { config: digest(&common.join("config")), ..Outside::default() };
        for name in RULES.into_iter().chain(SIGHT) {
            outside.shared.insert(name.to_owned(), digest(&common.join(name)));
        }
        for (name, file) in global(session) {
            outside.shared.insert(name, digest(&file));
        }
        let replaced: Vec<String> =
            session.repo.refs(&[REPLACED])?.iter().map(|r| format!("{} {}", r.name, r.oid)).collect();
        outside.shared.insert(REPLACED.to_owned(), sha256(replaced.join("\n").as_bytes()));
        for entry in std::fs::read_dir(common.join("hooks")).into_iter().flatten().flatten() {
            outside.hooks.insert(entry.file_name().to_string_lossy().into_owned(), digest(&entry.path()));
        }
        for (name, oid) in session.view()?.branches {
            outside.branches.insert(name.to_string(), oid);
        }
        outside.stash = session.repo.stash()?;
        if before.is_some_and(|before| !before.same_rules(&outside)) {
            return Ok(outside);
        }
        let main = session.repo.worktrees()?.into_iter().next().filter(|w| !w.bare && w.path.exists());
        let main = main.filter(|w| w.path != *common);
        if let Some(main) = main {
            let admin = main.admin();
            outside.head = session.repo.head_of(&admin)?;
            let seen = session.repo.status(&admin, Untracked::List)?.into_iter();
            let seen = seen.map(|dirty| (dirty.path, dirty.state));
            let hidden = session.repo.hidden(&admin).into_iter().map(|path| (path, "hidden".to_owned()));
            for (path, state) in seen.chain(hidden) {
                let at = main.path.join(std::ffi::OsStr::from_bytes(&path));
                let mark = format!("{state} {}", stamp(&at));
                outside.dirty.insert(path.to_str_lossy().into_owned(), mark);
            }
        }
        Ok(outside)
    }

    fn same_rules(&self, after: &Outside) -> bool {
        let other = |name: &String| self.shared.get(name) != after.shared.get(name);
        self.config == after.config
            && !self.shared.keys().any(|name| !SIGHT.contains(&name.as_str()) && other(name))
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

    /// How it was before worker `id` started, as noted then.
    pub fn before(session: &Session<'_>, id: WorkerId) -> Result<Option<Outside>> {
        let noted = crate::host::read_optional(&session.local.worker(id).join("outside.json"))?;
        Ok(noted.as_deref().and_then(Outside::from_bytes))
    }

    /// What worker `id` must not have done since `before`.
    pub fn since(session: &Session<'_>, before: Option<&Outside>, id: WorkerId) -> Result<Vec<String>> {
        match before {
            Some(before) => before.changed(session, &Outside::look_after(session, Some(before))?, id),
            None => Ok(vec!["what was noted about it before the start".to_owned()]),
        }
    }

    /// What a worker must not have done, between `self` and `after`.
    fn changed(&self, session: &Session<'_>, after: &Outside, worker: WorkerId) -> Result<Vec<String>> {
        let mut found: Vec<String> = after
            .dirty
            .iter()
            .filter(|(path, mark)| self.dirty.get(*path) != Some(mark))
            .map(|(path, _)| path.clone())
            .collect();
        // Where the commit there is still the same, nobody has committed them.
        let undone = self
            .dirty
            .keys()
            .filter(|_| self.same_rules(after))
            .filter(|path| !after.dirty.contains_key(*path));
        if self.head == after.head {
            found.extend(undone.map(|path| format!("{path}: its uncommitted changes are gone")));
        }
        if self.config != after.config {
            found.push("the repository's config".to_owned());
        }
        let other = self.shared.iter().filter(|(name, mark)| after.shared.get(*name) != Some(mark));
        found.extend(other.map(|(name, _)| match name.starts_with(['~', '/']) {
            true => name.clone(),
            false => format!("the repository's {name}"),
        }));
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

/// The person's own configuration of git: how it is named, and where it is.
fn global(session: &Session<'_>) -> Vec<(String, PathBuf)> {
    let home = session.env.get("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let below = session.own_folder().into_iter().flat_map(|folder| GLOBAL.map(|name| folder.join(name)));
    let named = below.map(|file| (file.display().to_string(), file));
    named.chain(home.map(|home| ("~/.gitconfig".to_owned(), home.join(".gitconfig")))).collect()
}

fn digest(path: &Path) -> String {
    sha256(&std::fs::read(path).unwrap_or_default())
}

fn stamp(path: &Path) -> String {
    match std::fs::symlink_metadata(path) {
        Ok(m) => {
            let changed = format!("{}.{:09}", m.ctime(), m.ctime_nsec());
            format!("{} {}.{:09} {changed}", m.len(), m.mtime(), m.mtime_nsec())
        }
        Err(_) => "gone".to_owned(),
    }
}
