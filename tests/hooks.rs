//! `hooks`, and each hook as git itself starts it.

mod commit;
mod fence;
mod notes;
mod place;
mod push;
mod receive;

use crate::matrix::knows_reftable;
use crate::support::World;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::path::PathBuf;

/// A repository with our hooks.
fn guarded() -> World {
    let world = World::new();
    world.skein(&["hooks", "install"]).ok();
    world
}

/// A script that may be executed.
fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// What each hook is said to be, by `hooks status`.
fn states(world: &World) -> Vec<(String, String, bool)> {
    let said = world.skein(&["hooks", "status", "--json"]).json();
    let text = |v: &serde_json::Value| v.as_str().unwrap().to_owned();
    let hooks = said["result"]["hooks"].as_array().unwrap();
    hooks.iter().map(|h| (text(&h["hook"]), text(&h["state"]), h["chained"].as_bool().unwrap())).collect()
}

/// A file that a worker wrote, which git ignores, from its worktree.
fn left(world: &World, worker: &str, name: &str) -> String {
    fs::read_to_string(world.worktree(worker).join(name)).unwrap_or_default()
}

/// Whether a hook said no by this token.
fn says_no(said: &str, token: &str) -> bool {
    said.contains(&format!("refused: {token}:"))
}

/// Whether the git under test has reftables.
fn has_reftables() -> bool {
    knows_reftable(&std::env::var("SKEIN_TEST_GIT").unwrap_or_else(|_| "git".to_owned()))
}

/// Another git of this machine than the first of `PATH`, if there is one.
fn other_git() -> Option<PathBuf> {
    let first = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|d| d.join("git"))
        .find(|p| p.is_file());
    let other = PathBuf::from("/usr/bin/git");
    let same = first.and_then(|p| p.canonicalize().ok()) == other.canonicalize().ok();
    (other.is_file() && !same).then_some(other)
}
