//! Hooks that are put in place and taken away, struck anywhere: those of others are whole at every moment.

use crate::faults::scenes;
use crate::faults::state;
use crate::faults::state::State;
use crate::faults::sweep;
use crate::faults::sweep::Scene;
use crate::support::World;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;

const THEIRS: &str = "#!/bin/sh\n[ ! -f refuse.ign ]\n";

/// Three hooks of others: a script, a symlink, and one that may not be executed.
fn hooked() -> World {
    let world = scenes::still();
    let hooks = world.path(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for (name, mode) in [("pre-commit", 0o755), ("post-merge", 0o644), ("theirs", 0o755)] {
        fs::write(hooks.join(name), THEIRS).unwrap();
        fs::set_permissions(hooks.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    symlink("theirs", hooks.join("pre-push")).unwrap();
    world
}

/// The person's, and which file of the hooks is what.
fn hooks(world: &World) -> State {
    let mut state = state::person(world);
    for entry in fs::read_dir(world.path(".git/hooks")).unwrap().map(Result::unwrap) {
        let meta = entry.path().symlink_metadata().unwrap();
        let leads = fs::read_link(entry.path()).ok();
        let name = entry.file_name().to_string_lossy().into_owned();
        state.insert(format!("hooks/{name}"), format!("{:o} {leads:?}", meta.permissions().mode()));
    }
    state
}

/// Whatever was struck, the hook of the others still decides on a commit of the person's.
fn heard(world: &World) -> bool {
    world.write("refuse.ign", "");
    let ran = world.try_git(["commit", "-q", "--allow-empty", "-m", "no"]);
    assert!(!ran.status.success(), "their hook was not heard: {ran:?}");
    fs::remove_file(world.path("refuse.ign")).unwrap();
    true
}

#[test]
fn install() {
    let scene = Scene::new("hooks install", hooked(), &["hooks", "install"]);
    sweep::run(&Scene { state: hooks, again: heard, ..scene });
}

#[test]
fn uninstall() {
    let world = hooked();
    let before = hooks(&world);
    world.skein(&["hooks", "install"]).ok();
    assert_ne!(hooks(&world), before);
    let scene = Scene::new("hooks uninstall", world, &["hooks", "uninstall"]);
    sweep::run(&Scene { state: hooks, again: heard, ..scene });
    let world = hooked();
    world.skein(&["hooks", "install"]).ok();
    world.skein(&["hooks", "uninstall"]).ok();
    assert_eq!(hooks(&world), before);
}
