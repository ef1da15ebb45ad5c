//! What a repository holds of the person's, as libgit2 and the file system say it.

use git2::Oid;
use git2::Repository;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A file: whether it is a program, and its bytes; a link's bytes are its target.
type File = (bool, Vec<u8>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// All refs but ours and those that follow a server.
    pub refs: BTreeMap<String, Oid>,
    pub head: String,
    index: BTreeMap<(Vec<u8>, u16), (u32, Oid)>,
    files: BTreeMap<String, File>,
    config: String,
}

/// A branch that was moved by what was acknowledged.
pub struct Move {
    pub onto: String,
    pub old: Oid,
    pub new: Oid,
}

pub fn ours(name: &str) -> bool {
    name.starts_with("refs/skein") || name.starts_with("refs/notes/skein")
}

/// Every ref with where it leads.
pub fn refs(repo: &Repository) -> BTreeMap<String, Oid> {
    let all = repo.references().unwrap().flatten();
    all.filter_map(|r| Some((r.name().ok()?.to_owned(), r.resolve().ok()?.target()?))).collect()
}

/// All commits that refs of ours reach.
pub fn reached(repo: &Repository) -> BTreeSet<Oid> {
    let mut walk = repo.revwalk().unwrap();
    for (name, oid) in refs(repo) {
        if ours(&name) {
            let _ = walk.push(oid);
        }
    }
    walk.flatten().collect()
}

impl Look {
    pub fn at(folder: &Path) -> Look {
        let repo = Repository::open(folder).unwrap();
        let mut refs = refs(&repo);
        refs.retain(|name, _| !ours(name) && !name.starts_with("refs/remotes/"));
        let config = fs::read_to_string(repo.path().join("config")).unwrap();
        let kept: Vec<&str> = config.split("\n[").filter(|part| !part.starts_with("skein")).collect();
        let entry = |e: git2::IndexEntry| ((e.path, (e.flags >> 12) & 3), (e.mode, e.id));
        let mut files = BTreeMap::new();
        walk(folder, "", &mut files);
        Look {
            refs,
            head: fs::read_to_string(repo.path().join("HEAD")).unwrap(),
            index: repo.index().unwrap().iter().map(entry).collect(),
            files,
            config: kept.join("\n[").trim_end().to_owned(),
        }
    }

    /// The branch that is checked out, if one is.
    pub fn branch(&self) -> Option<&str> {
        self.head.trim_end().strip_prefix("ref: ")
    }

    pub fn text(&self, path: &str) -> String {
        let bytes = self.files.get(path).map(|f| f.1.clone()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The same with `path` left out of account.
    pub fn but(mut self, path: &str) -> Look {
        self.files.remove(path);
        self.index.retain(|(name, _), _| name != path.as_bytes());
        self
    }

    /// What it must be after these moves: the branches elsewhere, and what differs between the two ends of the
    /// one that is checked out put in place.
    pub fn after(mut self, repo: &Repository, moves: &[Move]) -> Result<Look, String> {
        for name in moves.iter().map(|m| m.onto.clone()).collect::<BTreeSet<String>>() {
            let Some(start) = self.refs.get(&name).copied() else { continue };
            let steps: BTreeMap<Oid, Oid> =
                moves.iter().filter(|m| m.onto == name).map(|m| (m.old, m.new)).collect();
            let (mut end, mut count) = (start, 0);
            while let Some(next) = steps.get(&end) {
                (end, count) = (*next, count + 1);
            }
            if count != moves.iter().filter(|m| m.onto == name).count() {
                return Err(format!("what was acknowledged on {name} is no line from {start}: {steps:?}"));
            }
            if self.branch() == Some(&name) {
                self.check_out(repo, start, end);
            }
            self.refs.insert(name, end);
        }
        Ok(self)
    }

    fn check_out(&mut self, repo: &Repository, old: Oid, new: Oid) {
        let tree = |commit: Oid| repo.find_commit(commit).unwrap().tree().unwrap();
        let diff = repo.diff_tree_to_tree(Some(&tree(old)), Some(&tree(new)), None).unwrap();
        for delta in diff.deltas() {
            let side = delta.new_file();
            let path = side.path().or(delta.old_file().path()).unwrap().display().to_string();
            let key = (path.clone().into_bytes(), 0);
            if delta.status() == git2::Delta::Deleted {
                self.files.remove(&path);
                self.index.remove(&key);
                continue;
            }
            let mode = u32::from(side.mode());
            let bytes = repo.find_blob(side.id()).unwrap().content().to_vec();
            self.files.insert(path, (mode == 0o100_755, bytes));
            self.index.insert(key, (mode, side.id()));
        }
    }

    /// What differs, in words.
    pub fn differs(&self, found: &Look) -> Option<String> {
        fn maps<K: Ord + std::fmt::Debug, V: PartialEq + std::fmt::Debug>(
            what: &str,
            want: &BTreeMap<K, V>,
            found: &BTreeMap<K, V>,
        ) -> Option<String> {
            let keys: BTreeSet<&K> = want.keys().chain(found.keys()).collect();
            let key = keys.into_iter().find(|k| want.get(k) != found.get(k))?;
            Some(format!("{what} {key:?}: want {:?}, found {:?}", want.get(key), found.get(key)))
        }
        let texts = |files: &BTreeMap<String, File>| -> BTreeMap<String, (bool, String)> {
            files
                .iter()
                .map(|(k, (x, b))| (k.clone(), (*x, String::from_utf8_lossy(b).into_owned())))
                .collect()
        };
        maps("ref", &self.refs, &found.refs)
            .or_else(|| maps("file", &texts(&self.files), &texts(&found.files)))
            .or_else(|| maps("index", &self.index, &found.index))
            .or_else(|| (self.head != found.head).then(|| format!("HEAD: {} {}", self.head, found.head)))
            .or_else(|| {
                (self.config != found.config).then(|| format!("config: {} {}", self.config, found.config))
            })
            .or_else(|| (self != found).then(|| "bytes of a file".to_owned()))
    }
}

fn walk(dir: &Path, prefix: &str, files: &mut BTreeMap<String, File>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().unwrap();
        if kind.is_symlink() {
            let target = fs::read_link(entry.path()).unwrap().into_os_string().into_encoded_bytes();
            files.insert(name, (false, target));
        } else if kind.is_dir() && name != ".git" {
            walk(&entry.path(), &format!("{name}/"), files);
        } else if kind.is_file() {
            let program = entry.metadata().unwrap().permissions().mode() & 0o100 != 0;
            files.insert(name, (program, fs::read(entry.path()).unwrap()));
        }
    }
}
