//! Where hooks are put, beside those of others, and that nothing of theirs is lost.

use crate::hooks::guarded;
use crate::hooks::script;
use crate::hooks::states;
use crate::support::World;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::path::PathBuf;

const CLIENT: [&str; 5] = ["reference-transaction", "pre-commit", "post-rewrite", "post-merge", "pre-push"];

/// Every file of a folder: its bytes, permissions, and where it leads if it is a symlink.
fn files(dir: &Path) -> BTreeMap<String, (Vec<u8>, u32, Option<PathBuf>)> {
    let entries = fs::read_dir(dir).into_iter().flatten().map(|e| e.unwrap().path());
    let file = |path: PathBuf| {
        let meta = path.symlink_metadata().unwrap();
        let bytes = if meta.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        (
            path.file_name().unwrap().to_str().unwrap().to_owned(),
            (bytes, meta.mode(), fs::read_link(&path).ok()),
        )
    };
    entries.map(file).collect()
}

#[track_caller]
fn all(world: &World, state: &str) {
    let found = states(world);
    assert_eq!(found.iter().map(|(name, ..)| name.as_str()).collect::<Vec<_>>(), CLIENT);
    assert!(found.iter().all(|(_, is, _)| is == state), "{found:?}");
}

#[test]
fn they_come_and_go() {
    let world = World::new();
    all(&world, "absent");
    world.skein(&["hooks", "status"]).code(1);
    world.skein(&["hooks", "install"]).ok();
    all(&world, "installed");
    world.skein(&["hooks", "status"]).ok();
    let first = files(&world.path(".git/hooks"));
    let again = world.skein(&["hooks", "install"]).ok();
    assert!(!again.out.contains("written"), "{}", again.out);
    assert_eq!(files(&world.path(".git/hooks")), first);
    world.skein(&["hooks", "uninstall"]).ok();
    assert!(files(&world.path(".git/hooks")).is_empty());
    world.skein(&["hooks", "uninstall"]).ok();
}

#[test]
fn hooks_of_others_are_called_and_restored_byte_for_byte() {
    let world = World::new();
    let hooks = world.path(".git/hooks");
    let log = world.root().join("said by hooks");
    for name in CLIENT {
        script(
            &hooks.join(name),
            &format!("#!/bin/sh\necho \"{name} $0 $*\" >>'{0}'; cat >>'{0}'\n", log.display()),
        );
    }
    script(&world.path("tools/check"), "#!/bin/sh\nexit 0\n");
    symlink("../../tools/check", hooks.join("commit-msg")).unwrap();
    fs::remove_file(hooks.join("pre-commit")).unwrap();
    symlink("../../tools/check", hooks.join("pre-commit")).unwrap();
    fs::set_permissions(hooks.join("post-merge"), std::os::unix::fs::PermissionsExt::from_mode(0o754))
        .unwrap();
    let before = files(&hooks);
    world.skein(&["hooks", "install"]).ok();
    assert_eq!(states(&world).iter().filter(|(.., chained)| *chained).count(), 5);
    world.commit("one");
    world.git(["commit", "-q", "--amend", "-m", "two"]);
    let server = world.root().join("server.git");
    world.git(["init", "-q", "--bare", server.to_str().unwrap()]);
    world.git(["push", "-q", server.to_str().unwrap(), "main"]);
    let said = fs::read_to_string(&log).unwrap();
    for part in [
        "reference-transaction .git/hooks/reference-transaction prepared\n",
        "reference-transaction .git/hooks/reference-transaction committed\n",
        "post-rewrite .git/hooks/post-rewrite amend\n",
        "pre-push .git/hooks/pre-push ",
        " HEAD\n",
        "refs/heads/main ",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    world.skein(&["hooks", "uninstall"]).ok();
    assert_eq!(files(&hooks), before);
}

/// Its exit code counts, its input is whole, and it is still run where our program is gone.
#[test]
fn a_hook_of_others_that_refuses_still_does() {
    let world = World::new();
    let hooks = world.path(".git/hooks");
    script(
        &hooks.join("pre-commit"),
        "#!/usr/bin/env bash\n[[ $(git diff --cached --name-only) != *bad* ]] || exit 7\n",
    );
    script(
        &hooks.join("reference-transaction"),
        "#!/bin/sh -e\nif grep -q refs/heads/never; then exit 1; fi\n",
    );
    world.skein(&["hooks", "install"]).ok();
    let program = || {
        world.write("bad.txt", "x\n");
        world.git(["add", "bad.txt"]);
        assert!(!world.try_git(["commit", "-qm", "bad"]).status.success());
        world.git(["rm", "-q", "-f", "bad.txt"]);
        assert!(!world.try_git(["branch", "never"]).status.success());
        world.git(["branch", "ever"]);
        world.git(["branch", "-D", "ever"]);
    };
    program();
    for name in ["pre-commit", "reference-transaction"] {
        let text = fs::read_to_string(hooks.join(name)).unwrap();
        let gone = text.replace(env!("CARGO_BIN_EXE_git-skein"), "/nowhere/git-skein");
        script(&hooks.join(name), &gone);
    }
    program();
    let ran = world.try_git(["branch", "said"]);
    assert!(String::from_utf8_lossy(&ran.stderr).contains("git-skein is gone"), "{ran:?}");
    let status = world.skein(&["hooks", "status"]).code(1);
    assert!(status.out.contains("there is no /nowhere/git-skein any more"), "{}", status.out);
    let doctor = world.skein(&["doctor"]).code(1);
    assert!(doctor.out.contains("/nowhere/git-skein"), "{}", doctor.out);
    world.skein(&["hooks", "install"]).ok();
    assert!(states(&world).iter().all(|(_, state, _)| state == "installed"));
    program();
}

#[test]
fn what_replaced_ours_is_left_alone() {
    let world = World::new();
    let hooks = world.path(".git/hooks");
    script(&hooks.join("pre-commit"), "#!/bin/sh\n# first\n");
    world.skein(&["hooks", "install"]).ok();
    script(&hooks.join("pre-commit"), "#!/bin/sh\n# second\n");
    let before = files(&hooks);
    assert!(states(&world).contains(&("pre-commit".into(), "foreign".into(), true)));
    for verb in ["install", "uninstall"] {
        let ran = world.skein(&["hooks", verb]).refused("hook-replaced", 1);
        assert!(ran.err.contains("pre-commit.skein-chained"), "{}", ran.err);
        assert_eq!(files(&hooks), before, "{verb}");
    }
    assert!(world.skein(&["doctor"]).code(1).out.contains("replaced"));
    // One that was put there again as it was is no second one.
    script(&hooks.join("pre-commit"), "#!/bin/sh\n# first\n");
    world.skein(&["hooks", "install"]).ok();
    all(&world, "installed");
    world.skein(&["hooks", "uninstall"]).ok();
    assert_eq!(fs::read_to_string(hooks.join("pre-commit")).unwrap(), "#!/bin/sh\n# first\n");
    assert_eq!(files(&hooks).len(), 1);
}

/// As husky lays them out: a folder that it makes and git ignores; each file leads to the person's by its own name.
#[test]
fn beside_husky() {
    let world = World::new();
    script(&world.path(".husky/pre-commit"), "echo husky >>\"$HUSKY_LOG\"\n[ ! -f refuse.ign ]\n");
    world.commit("husky");
    let stubs = world.path(".husky/_");
    fs::create_dir_all(&stubs).unwrap();
    fs::write(stubs.join(".gitignore"), "*").unwrap();
    fs::write(
        stubs.join("h"),
        "#!/usr/bin/env sh\nn=$(basename \"$0\")\ns=$(dirname \"$(dirname \"$0\")\")/$n\n[ ! -f \"$s\" ] && exit 0\nsh -e \"$s\" \"$@\"\nexit $?\n",
    )
    .unwrap();
    for name in ["pre-commit", "post-merge", "pre-push", "commit-msg"] {
        script(&stubs.join(name), "#!/usr/bin/env sh\n. \"$(dirname \"$0\")/h\"");
    }
    world.git(["config", "core.hooksPath", ".husky/_"]);
    let log = world.root().join("husky.log");
    let world = world.env("HUSKY_LOG", log.to_str().unwrap());
    let before = files(&stubs);
    let installed = world.skein(&["hooks", "install"]).ok();
    assert!(installed.out.contains("core.hooksPath is relative"), "{}", installed.out);
    assert_eq!(world.git(["status", "--porcelain"]), "");
    world.commit("seen by both");
    assert_eq!(fs::read_to_string(&log).unwrap(), "husky\n");
    world.write("refuse.ign", "");
    assert!(!world.try_git(["commit", "-q", "--allow-empty", "-m", "no"]).status.success());
    world.skein(&["hooks", "uninstall"]).ok();
    assert_eq!(files(&stubs), before);
}

/// As lefthook and pre-commit do: scripts in `.git/hooks` that start a program by its path.
#[test]
fn beside_lefthook_and_pre_commit() {
    let world = World::new();
    let hooks = world.path(".git/hooks");
    let log = world.root().join("log");
    let said = log.display();
    script(
        &hooks.join("pre-commit"),
        &format!(
            "#!/usr/bin/env bash\n# File generated by pre-commit: https://pre-commit.com\nHERE=\"$(cd \"$(dirname \"$0\")\" && pwd)\"\nARGS=(hook-impl --hook-type=pre-commit)\nARGS+=(--hook-dir \"$HERE\" -- \"$@\")\necho \"${{ARGS[@]}}\" >>'{said}'\n"
        ),
    );
    script(
        &hooks.join("pre-push"),
        &format!(
            "#!/bin/sh\ncall_lefthook()\n{{\n  echo \"$@\" >>'{said}'; cat >>'{said}'\n}}\ncall_lefthook run \"pre-push\" \"$@\"\n"
        ),
    );
    script(&hooks.join("post-merge"), "#!/usr/bin/env python3\nimport sys\nsys.exit(0)\n");
    let before = files(&hooks);
    world.skein(&["hooks", "install"]).ok();
    world.commit("one");
    let server = world.root().join("server.git");
    world.git(["init", "-q", "--bare", server.to_str().unwrap()]);
    world.git(["push", "-q", server.to_str().unwrap(), "main"]);
    let text = fs::read_to_string(&log).unwrap();
    assert!(text.contains(&format!("--hook-dir {} --", hooks.display())), "{text}");
    assert!(text.contains("run pre-push ") && text.contains("refs/heads/main "), "{text}");
    world.skein(&["hooks", "uninstall"]).ok();
    assert_eq!(files(&hooks), before);
}

#[test]
fn with_spaces_and_quotes_in_every_path() {
    let world = World::new();
    let odd = world.root().join("it's an $odd \"place\"");
    fs::create_dir_all(&odd).unwrap();
    let program = odd.join("git-skein");
    // By a process of its own: a child of another test would hold the file open for writing.
    let copied = std::process::Command::new("cp").arg(env!("CARGO_BIN_EXE_git-skein")).arg(&program).status();
    assert!(copied.unwrap().success());
    let repo = odd.join("my repo");
    fs::rename(&world.repo, &repo).unwrap();
    let mut world = world;
    (world.cwd, world.repo) = (repo.clone(), repo);
    script(&world.path(".git/hooks/pre-commit"), "#!/bin/sh\necho \"called $0\" >&2\n");
    let mut install = std::process::Command::new(&program);
    let plain = world.command(&["hooks", "install"]);
    install.args(["hooks", "install"]).current_dir(&world.cwd).env_clear();
    install.envs(plain.get_envs().filter_map(|(k, v)| Some((k, v?))));
    let ran = install.output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let ran = world.try_git(["commit", "-q", "--allow-empty", "-m", "one"]);
    assert!(ran.status.success(), "{ran:?}");
    assert_eq!(String::from_utf8_lossy(&ran.stderr), "called .git/hooks/pre-commit\n");
    let ended = world.skein(&[
        "dispatch",
        "--wait",
        "--name",
        "w",
        "w",
        "--",
        "sh",
        "-c",
        "git branch x 2>said.ign; :",
    ]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let said = crate::hooks::left(&world, "w", "said.ign");
    assert!(said.contains("refused: fenced"), "{said}");
    fs::remove_file(&program).unwrap();
    let status = world.skein(&["hooks", "status"]).code(1);
    assert!(status.out.contains("it's an $odd \"place\"/git-skein any more"), "{}", status.out);
    assert!(world.try_git(["branch", "y"]).status.success());
}

#[test]
fn a_hooks_path_of_ones_own() {
    for (value, folder) in [("my hooks", "my hooks"), ("ABS", "../abs hooks")] {
        let world = World::new();
        let place = world.path(folder);
        let value = if value == "ABS" {
            world.root().join("abs hooks").display().to_string()
        } else {
            value.to_owned()
        };
        world.git(["config", "core.hooksPath", &value]);
        if folder == "my hooks" {
            let ran = world.skein(&["hooks", "install"]).refused("hooks-tracked", 1);
            assert!(ran.err.contains("my hooks"), "{}", ran.err);
            assert!(!place.exists());
            world.write(".git/info/exclude", "my hooks\n");
        }
        world.skein(&["hooks", "install"]).ok();
        assert_eq!(files(&place).len(), 5, "{folder}");
        assert_eq!(files(&world.path(".git/hooks")).len(), 0);
        world.skein(&["hooks", "uninstall"]).ok();
        assert_eq!(files(&place).len(), 0);
    }
}

#[test]
fn tracked_hooks_are_the_projects() {
    let world = World::new();
    script(&world.path(".githooks/pre-commit"), "#!/bin/sh\n");
    world.commit("hooks");
    world.git(["config", "core.hooksPath", ".githooks"]);
    world.skein(&["hooks", "install"]).refused("hooks-tracked", 1);
    assert_eq!(world.git(["status", "--porcelain"]), "");
    // What the refusal says to do instead.
    let ours = env!("CARGO_BIN_EXE_git-skein");
    script(
        &world.path(".githooks/reference-transaction"),
        &format!("#!/bin/sh\n{ours} hook reference-transaction - \"$@\"\n"),
    );
    world.commit("fence");
    world.worker("w", "git branch x 2>said.ign");
    assert!(crate::hooks::left(&world, "w", "said.ign").contains("refused: fenced"));
}

#[test]
fn places_that_are_not_this_repositorys() {
    let world = World::new();
    world.git(["config", "core.hooksPath", "/dev/null"]);
    let ran = world.skein(&["hooks", "install"]).refused("hooks-off", 1);
    assert!(ran.err.contains("core.hooksPath is /dev/null"), "{}", ran.err);
    world.git(["config", "--unset", "core.hooksPath"]);
    let everywhere = world.root().join("everywhere");
    world.git(["config", "--global", "core.hooksPath", everywhere.to_str().unwrap()]);
    world.skein(&["hooks", "install"]).refused("hooks-shared", 1);
    assert!(!everywhere.exists());
    world.skein(&["hooks", "install", "--shared"]).ok();
    assert_eq!(files(&everywhere).len(), 5);
    // Another repository that has nothing of ours goes on as before.
    let other = world.root().join("other");
    world.git(["init", "-q", other.to_str().unwrap()]);
    let other = other.to_str().unwrap();
    world.git([
        "-C",
        other,
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@b",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "x",
    ]);
    world.worker("w", &format!("git -C '{other}' branch free 2>said.ign; git branch x 2>>said.ign"));
    assert_eq!(world.git(["-C", other, "branch", "--list", "free"]).trim(), "free");
    assert!(crate::hooks::left(&world, "w", "said.ign").contains("fenced"));
}

#[test]
fn many_at_once_are_as_one() {
    let world = World::new();
    let hooks = world.path(".git/hooks");
    script(&hooks.join("pre-commit"), "#!/bin/sh\n# theirs\n");
    let before = files(&hooks);
    for verb in ["install", "uninstall"] {
        let commands: Vec<Vec<&str>> = (0..6).map(|_| vec!["hooks", verb]).collect();
        for ran in world.at_once(&commands) {
            ran.ok();
        }
        if verb == "install" {
            all(&world, "installed");
        }
    }
    assert_eq!(files(&hooks), before);
}

#[test]
fn from_a_linked_worktree() {
    let world = guarded();
    let linked = world.root().join("linked tree");
    world.git(["worktree", "add", "-q", "-b", "linked", linked.to_str().unwrap()]);
    let mut there = world;
    there.cwd = linked;
    all(&there, "installed");
    there.skein(&["hooks", "uninstall"]).ok();
    there.skein(&["hooks", "install"]).ok();
    assert_eq!(files(&there.path(".git/hooks")).len(), 5);
}

#[test]
fn not_from_inside_a_worker() {
    let world = guarded();
    let ours = env!("CARGO_BIN_EXE_git-skein");
    world.worker("w", &format!("{ours} hooks uninstall 2>said.ign; {ours} hooks status >state.ign"));
    assert!(crate::hooks::left(&world, "w", "said.ign").contains("refused: in-worker"));
    assert_eq!(crate::hooks::left(&world, "w", "state.ign").matches("installed").count(), 5);
    all(&world, "installed");
}

/// No git of this kind was at hand: one that says it is stands for it, so this is about what is written alone.
#[test]
fn a_newer_git_has_them_in_its_configuration() {
    let world = World::new();
    script(&world.path(".git/hooks/pre-commit"), "#!/bin/sh\n# theirs\n");
    let before = files(&world.path(".git/hooks"));
    let real = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|d| d.join("git"))
        .find(|p| p.is_file());
    let bin = world.root().join("bin");
    let text = format!(
        "#!/bin/sh\nfor word; do [ \"$word\" != version ] || {{ echo 'git version 2.54.0'; exit; }}; done\necho \"$@\" >>'{}'\nexec '{}' \"$@\"\n",
        world.root().join("calls").display(),
        real.unwrap().display()
    );
    script(&bin.join("git"), &text);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let world = world.env("PATH", &path);
    let ran = world.skein(&["hooks", "install"]).ok();
    assert!(ran.out.contains("in the configuration of this repository"), "{}", ran.out);
    assert_eq!(files(&world.path(".git/hooks")), before);
    let ours = env!("CARGO_BIN_EXE_git-skein");
    for name in CLIENT {
        assert_eq!(world.git(["config", "--local", &format!("hook.skein-{name}.event")]), name);
        let command = world.git(["config", "--local", &format!("hook.skein-{name}.command")]);
        assert_eq!(command, format!("test ! -x {ours} || exec {ours} hook {name} -"));
    }
    all(&world, "installed");
    // As git runs it: in a shell, with its arguments behind it.
    let command = world.git(["config", "hook.skein-reference-transaction.command"]);
    world.worker("w", &format!("echo 0 1 refs/heads/x | sh -c '{command} \"$@\"' hook prepared 2>said.ign && echo passed >>said.ign"));
    assert!(crate::hooks::left(&world, "w", "said.ign").starts_with("refused: fenced"));
    // `core.hooksPath` does not keep these from running, so our own calls turn each off.
    let calls = world.root().join("calls");
    fs::write(&calls, "").unwrap();
    world.skein(&["land", "w"]).code(1);
    world.worker("v", "echo 1 >v; git add v; git commit -qm v");
    world.skein(&["land", "v"]).ok();
    let text = fs::read_to_string(&calls).unwrap();
    let moves: Vec<&str> = text.lines().filter(|line| line.contains("update-ref")).collect();
    assert!(
        !moves.is_empty()
            && moves.iter().all(|l| l.contains("hook.skein-reference-transaction.enabled=false")),
        "{text}"
    );
    world.skein(&["hooks", "uninstall"]).ok();
    let left = world.try_git(["config", "--local", "--get-regexp", "^hook\\."]);
    assert!(left.stdout.is_empty(), "{left:?}");
    assert_eq!(files(&world.path(".git/hooks")), before);
}
