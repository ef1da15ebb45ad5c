//! What a repository says, as lines that can be compared between two runs of the same verb: read with git2
//! and git only, with nothing in it that depends on where the repository lies.

use crate::support::World;
use git2::Oid;
use git2::Repository;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Lines by what they speak of.
pub type State = BTreeMap<String, String>;

/// Everything that the end of a verb decides.
pub fn of(world: &World) -> State {
    let mut state = person(world);
    ours(world, &mut state);
    litter(world, &mut state);
    state
}

/// The first difference of two states, in words.
pub fn differ(want: &State, found: &State) -> Option<String> {
    let keys: BTreeSet<&String> = want.keys().chain(found.keys()).collect();
    let differs = keys.into_iter().find(|key| want.get(*key) != found.get(*key))?;
    let side = |state: &State| state.get(differs).cloned().unwrap_or_else(|| "(nothing)".into());
    Some(format!("{differs}\n   want: {}\n  found: {}", side(want), side(found)))
}

/// The person's: branches, `HEAD`, index, files, stash, configuration but `skein.*`, hooks.
pub fn person(world: &World) -> State {
    let mut state = State::new();
    let repo = Repository::open(&world.repo).unwrap();
    for (name, oid) in refs(&repo) {
        if !name.contains("refs/skein") && !name.contains("refs/notes/skein") {
            state.insert(format!("ref {name}"), oid.to_string());
        }
    }
    let common = world.common();
    state.insert("HEAD".into(), fs::read_to_string(common.join("HEAD")).unwrap());
    let config = fs::read_to_string(common.join("config")).unwrap();
    let kept: Vec<&str> = config.split("\n[").filter(|part| !part.starts_with("skein")).collect();
    state.insert("config".into(), kept.join("\n[").trim_end().to_owned());
    files(&common.join("hooks"), "hook", &mut state);
    if !repo.is_bare() {
        state.insert("index".into(), world.git(["ls-files", "--stage"]));
        state.insert("status".into(), world.git(["status", "--porcelain=v2", "-uall", "--ignored"]));
        files(&world.repo, "file", &mut state);
    }
    state
}

/// Every ref with where it points.
pub fn refs(repo: &Repository) -> BTreeMap<String, Oid> {
    let all = repo.references().unwrap().flatten();
    all.filter_map(|r| Some((r.name().ok()?.to_owned(), r.target()?))).collect()
}

/// Our refs by what they hold. The lane counts by what it decided: an attempt more leaves its records.
fn ours(world: &World, state: &mut State) {
    let repo = Repository::open(&world.repo).unwrap();
    for (name, oid) in refs(&repo) {
        let text = |path: &str| blob(&repo, oid, path).unwrap_or_default();
        // An archive is the same whether its workers were folded at once or one by one, and a document whether it was
        // written in one try or two.
        let by_tree = ["refs/skein/worker/", "refs/skein/archive/", "refs/notes/skein/", "refs/skein/doc/"];
        let of_a_remote = name.starts_with("refs/skein-remote/") && name.contains("/doc/");
        if of_a_remote || by_tree.iter().any(|prefix| name.starts_with(prefix)) {
            let tree = repo.find_commit(oid).unwrap().tree_id();
            state.insert(name, tree.to_string());
        } else if name.starts_with("refs/skein-local/candidate/") {
            state.insert(name, text("record.json"));
        } else if name.starts_with("refs/skein-local/kept/") {
            state.insert(name, kept(&repo, oid));
        } else if name.starts_with("refs/skein/lane/") {
            for (at, line) in lane(&repo, oid).iter().enumerate() {
                state.insert(format!("{name} {at}"), line.clone());
            }
        } else if name.contains("refs/skein") {
            state.insert(name, oid.to_string());
        }
    }
}

fn blob(repo: &Repository, commit: Oid, path: &str) -> Option<String> {
    let entry = repo.find_commit(commit).ok()?.tree().ok()?.get_path(Path::new(path)).ok()?;
    let blob = repo.find_blob(entry.id()).ok()?;
    Some(String::from_utf8_lossy(blob.content()).into_owned())
}

/// What a commit that keeps keeps, however many such commits it took.
fn kept(repo: &Repository, tip: Oid) -> String {
    let mut walk = repo.revwalk().unwrap();
    walk.push(tip).unwrap();
    let keeps = |oid: &Oid| {
        repo.find_commit(*oid).unwrap().summary().is_ok_and(|line| line == Some("kept of closed workers"))
    };
    let all: BTreeSet<Oid> = walk.map(Result::unwrap).filter(|oid| !keeps(oid)).collect();
    all.iter().map(|oid| format!("{oid} ")).collect()
}

/// Leaves out of `found` what it keeps of closed workers beyond all that `want` keeps of them. The archive names the
/// newest snapshot, which is then another one.
pub fn forget_more_kept(want: &State, found: &mut State) {
    let mut more = false;
    for (key, want) in want.iter().filter(|(key, _)| key.starts_with("refs/skein-local/kept/")) {
        let Some(found) = found.get_mut(key).filter(|found| *found != want) else { continue };
        let held: BTreeSet<&str> = found.split_whitespace().collect();
        if want.split_whitespace().all(|oid| held.contains(oid)) {
            *found = want.clone();
            more = true;
        }
    }
    for (key, want) in want.iter().filter(|(key, _)| more && key.starts_with("refs/skein/archive/")) {
        found.entry(key.clone()).and_modify(|found| found.clone_from(want));
    }
}

/// The landings, undos and verdicts of a lane, oldest first, and the intents that nothing ended.
fn lane(repo: &Repository, tip: Oid) -> Vec<String> {
    let (mut landings, mut open) = (Vec::new(), BTreeMap::new());
    let mut chain = Vec::new();
    let mut next = Some(tip);
    while let Some(oid) = next {
        let Some(text) = blob(repo, oid, "record.json") else { break };
        chain.push(serde_json::from_str::<serde_json::Value>(&text).unwrap());
        next = repo.find_commit(oid).unwrap().parent_id(0).ok();
    }
    for record in chain.into_iter().rev() {
        let op = record["op"].as_str().unwrap().to_owned();
        match record["kind"].as_str().unwrap() {
            "intent" | "undo" => drop(open.insert(op, record.to_string())),
            "landing" | "undone" => {
                open.remove(&op);
                landings.push(record.to_string());
            }
            "abandoned" => drop(open.remove(&op)),
            "verdict" => landings.push(record.to_string()),
            _ => {}
        }
    }
    landings.extend(open.into_values().map(|intent| format!("open: {intent}")));
    landings
}

/// Worktrees, and whatever a verb may have left lying about.
fn litter(world: &World, state: &mut State) {
    let root = world.root().display().to_string();
    let listed = world.git(["worktree", "list", "--porcelain"]).replace(&root, "ROOT");
    state.insert("worktrees".into(), listed);
    for folder in world.below("repo.skein") {
        state.insert(format!("folder {}", folder.file_name().unwrap().to_string_lossy()), String::new());
    }
    let mut left = Vec::new();
    walk(&world.root(), &mut left);
    for path in left {
        state.insert(format!("left {}", path.replace(&root, "ROOT")), String::new());
    }
}

/// Unfinished files of ours anywhere but in the cache, which clears itself when it is written again, and
/// unfinished gates.
fn walk(dir: &Path, left: &mut Vec<String>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(".skein-") || name.starts_with("gate-") || name.contains("skein-index") {
            left.push(entry.path().display().to_string());
        } else if entry.file_type().is_ok_and(|t| t.is_dir()) && !matches!(name.as_str(), "objects" | "cache")
        {
            walk(&entry.path(), left);
        }
    }
}

/// The locks below the git folder that hold nothing, but for those of ours.
pub fn empty_locks(world: &World) -> Vec<std::path::PathBuf> {
    fn find(dir: &Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(meta) = entry.metadata() else { continue };
            if meta.is_dir() && entry.file_name() != "skein" && entry.file_name() != "objects" {
                find(&path, found);
            } else if meta.is_file() && path.extension().is_some_and(|e| e == "lock") {
                // After a power cut what was written may be so many zeros.
                if fs::read(&path).is_ok_and(|held| held.iter().all(|byte| *byte == 0)) {
                    found.push(path);
                }
            }
        }
    }
    let mut found = Vec::new();
    find(&world.common(), &mut found);
    // `refs/skein` is a folder of git's.
    find(&world.common().join("refs/skein"), &mut found);
    find(&world.common().join("refs/notes/skein"), &mut found);
    found
}

/// Every lock of a ref, and every note of whose they are, with what it holds: for the words of a failure.
pub fn locks(world: &World) -> Vec<(String, String)> {
    locks_below(&world.common())
}

pub fn locks_below(folder: &Path) -> Vec<(String, String)> {
    let found = std::process::Command::new("find")
        .arg(folder)
        .args(["(", "-name", "*.lock", "-o", "-name", "refs-*", ")", "-type", "f"])
        .output()
        .unwrap();
    let paths = String::from_utf8_lossy(&found.stdout).into_owned();
    let held = |path: &str| format!("{:?}", String::from_utf8_lossy(&fs::read(path).unwrap_or_default()));
    paths.lines().map(|path| (path.to_owned(), held(path))).collect()
}

fn files(dir: &Path, prefix: &str, state: &mut State) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = format!("{prefix}/{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && entry.file_name() != ".git" {
            files(&entry.path(), &name, state);
        } else if kind.is_file() {
            state.insert(name, String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).into_owned());
        }
    }
}
