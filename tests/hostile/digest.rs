//! What everything outside a worker's worktree is like, but for what is the tool's own.

use crate::support::World;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Paths with what they hold, and refs.
#[derive(Debug, PartialEq, Eq)]
pub struct Digest(BTreeMap<String, Vec<u8>>);

/// Of the repository's own folder, what the tool and git keep objects and state in. Refs are read apart.
const OWN: &[&str] = &[
    ".git/objects/",
    ".git/skein/",
    ".git/refs/",
    ".git/packed-refs",
    ".git/logs/refs/skein",
    ".git/logs/refs/notes/skein",
];

const LARGE: u64 = 16 << 20;

impl Digest {
    /// Of everything but the worktree of worker `name`.
    pub fn of(world: &World, name: &str) -> Digest {
        let mut found = BTreeMap::new();
        let own = [format!("repo.skein/{name}/"), format!("repo/.git/worktrees/{name}/")];
        let tools = OWN.iter().map(|path| format!("repo/{path}"));
        let left_out: Vec<String> = own.into_iter().chain(tools).collect();
        walk(&world.root(), "", &left_out, &mut found);
        found.extend(refs(&world.path(".git")));
        let alternates = world.path(".git/objects/info/alternates");
        found.extend(
            fs::read_to_string(alternates).map(|text| ("objects/info/alternates".to_owned(), text.into())),
        );
        Digest(found)
    }

    /// What is another one in `after`.
    pub fn changes(&self, after: &Digest) -> Vec<String> {
        let names = self.0.keys().chain(after.0.keys()).collect::<std::collections::BTreeSet<_>>();
        names.into_iter().filter(|name| self.0.get(*name) != after.0.get(*name)).cloned().collect()
    }
}

/// What a landing may change: the trunk and its checkout.
pub fn by_landing(path: &str) -> bool {
    let git = ["index", "logs/HEAD", "logs/refs/heads/main", "ORIG_HEAD"];
    match path.strip_prefix("repo/.git/") {
        Some(path) => git.contains(&path),
        None => path == "refs/heads/main" || path.starts_with("repo/"),
    }
}

fn walk(at: &Path, name: &str, left_out: &[String], found: &mut BTreeMap<String, Vec<u8>>) {
    let Ok(entries) = fs::read_dir(at) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = format!("{name}{}", entry.file_name().to_string_lossy());
        let Ok(meta) = fs::symlink_metadata(&path) else { continue };
        let mode = meta.permissions().mode();
        if meta.is_dir() {
            let name = format!("{name}/");
            if !left_out.iter().any(|out| name.starts_with(out.as_str())) {
                walk(&path, &name, left_out, found);
            }
        } else if left_out.iter().any(|out| name.starts_with(out.as_str())) {
        } else if meta.is_symlink() {
            found.insert(name, format!("{:?}", fs::read_link(&path)).into());
        } else if meta.is_file() {
            // One that is larger is there for its size.
            let bytes = if meta.len() < LARGE {
                fs::read(&path).unwrap_or_default()
            } else {
                meta.len().to_be_bytes().into()
            };
            found.insert(name, [&mode.to_be_bytes(), &bytes[..]].concat());
        } else {
            found.insert(name, mode.to_be_bytes().into());
        }
    }
}

/// The refs that are not the tool's, read by hand: a worker may have broken the configuration.
fn refs(common: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let packed = fs::read_to_string(common.join("packed-refs")).unwrap_or_default();
    for line in packed.lines().filter(|l| !l.starts_with(['#', '^'])) {
        let (oid, name) = line.split_once(' ').unwrap();
        found.insert(name.to_owned(), oid.into());
    }
    let mut files = BTreeMap::new();
    walk(&common.join("refs"), "refs/", &[], &mut files);
    for name in files.keys() {
        let text = fs::read_to_string(common.join(name)).unwrap_or_default();
        found.insert(name.clone(), text.trim().into());
    }
    found.retain(|name, _| !["refs/skein", "refs/notes/skein"].iter().any(|own| name.starts_with(own)));
    found
}
