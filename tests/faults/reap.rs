//! Closing workers and opening them again, struck anywhere.

use crate::faults::scenes;
use crate::faults::state;
use crate::faults::state::State;
use crate::faults::sweep;
use crate::faults::sweep::Scene;
use crate::support::World;
use crate::support::ran;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const LEFT: &str = "sed -i s/2/two/ a.txt; rm b.txt; echo more >more.txt; echo '#!' >run.sh; chmod +x run.sh; ln -s a.txt link";

/// A worker that landed and left changes besides, one that did nothing, and one that has not landed.
fn ended() -> World {
    let world = scenes::still();
    let scripts = [
        ("fix", format!("{}; {LEFT}", scenes::WORK)),
        ("idle", "true".to_owned()),
        ("other", "echo other >other && git add other && git commit -qm other".to_owned()),
    ];
    for (seed, (name, script)) in (2..).zip(scripts) {
        let mut dispatch =
            world.command(&["dispatch", "--wait", "--name", name, name, "--", "sh", "-c", &script]);
        ran(dispatch.env("SKEIN_SEED", seed.to_string()).output().unwrap()).ok();
    }
    world.skein(&["land", "fix"]).ok();
    world.git(["gc", "--quiet"]);
    world
}

#[test]
fn reap() {
    sweep::run(&closing());
}

pub fn closing() -> Scene {
    Scene::new("reap --all --yes", ended(), &["reap", "--all", "--yes"])
}

/// Every file of the worktree, its `HEAD` and what git says of it.
fn work(world: &World) -> State {
    let mut state = state::person(world);
    let tree = world.root().join("repo.skein/fix");
    files(&tree, "", &mut state);
    let git = |args: &[&str]| world.git([&["-C", tree.to_str().unwrap()], args].concat());
    state.insert("worker HEAD".into(), git(&["rev-parse", "HEAD"]));
    state.insert("worker status".into(), git(&["status", "--porcelain=v2", "-uall"]));
    state.insert("worker outcome".into(), world.field("fix", "outcome").to_string());
    let listed = world.git(["worktree", "list", "--porcelain"]);
    state.insert("locked".into(), listed.matches(&world.ulid("fix")).count().to_string());
    state
}

fn files(dir: &Path, prefix: &str, state: &mut State) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = format!("{prefix}/{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type().unwrap();
        let text = match () {
            () if kind.is_dir() => {
                files(&entry.path(), &name, state);
                continue;
            }
            () if kind.is_symlink() => format!("-> {}", fs::read_link(entry.path()).unwrap().display()),
            () => {
                let x = entry.metadata().unwrap().permissions().mode() & 0o100;
                format!("{x} {:?}", fs::read(entry.path()).unwrap())
            }
        };
        if name != "/.git" {
            state.insert(format!("work {name}"), text);
        }
    }
}

/// The worktree again, if it is not there.
fn back(world: &World) {
    let ran = world.skein(&["restore", "fix"]);
    if ran.code != 0 {
        ran.refused("worktree-exists", 1);
    }
}

fn back_and_work(world: &World) -> State {
    back(world);
    work(world)
}

#[test]
fn reap_then_restore() {
    let scene = Scene::new("reap, then restore", ended(), &["reap", "fix", "--yes"]);
    sweep::run(&Scene { again: |_| false, state: back_and_work, ..scene });
}

#[test]
fn restore() {
    sweep::run(&opening());
}

pub fn opening() -> Scene {
    let world = ended();
    world.skein(&["reap", "fix", "--yes"]).ok();
    let again = |world: &World| {
        back(world);
        false
    };
    Scene { again, state: work, ..Scene::new("restore", world, &["restore", "fix"]) }
}
