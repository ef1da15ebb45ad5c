//! What the fence blocks and what it passes, each tried by real git from inside a real worker.

use crate::hooks::guarded;
use crate::hooks::has_reftables;
use crate::hooks::left;
use crate::hooks::other_git;
use crate::jail::possible;
use crate::support::World;
use crate::support::acts::has_tmux;
use crate::support::acts::until;
use std::fs;
use std::process::Stdio;

/// What a worker tries, and whether it passes. `$main` is the main checkout.
const TRIED: &[(&str, &str, bool)] = &[
    ("own-commit", "echo 1 >>a.txt && $git commit -qam one", true),
    ("amend", "$git commit -q --amend -m two", true),
    ("detached-checkout", "$git checkout -q --detach HEAD~1 && $git checkout -q --detach @{1}", true),
    ("reset", "$git reset -q --hard HEAD", true),
    ("rebase", "$git rebase -q --force-rebase HEAD~1", true),
    ("own-pseudo-ref", "$git update-ref REBASE_HEAD HEAD", true),
    ("own-ref", "$git update-ref refs/worktree/mine HEAD", true),
    ("bisect", "$git bisect start HEAD HEAD~1 && $git bisect reset", true),
    ("branch", "$git branch other", false),
    ("branch-switch", "$git switch -q -c other", false),
    ("trunk", "$git update-ref refs/heads/main HEAD", false),
    ("trunk-deleted", "$git update-ref -d refs/heads/kept", false),
    ("branch-renamed", "$git branch -m kept lost", false),
    ("tag", "$git tag v1", false),
    ("stash", "echo 2 >>a.txt; $git stash", false),
    ("reset-after-stash", "$git reset -q --hard HEAD", true),
    ("note", "$git notes add -m x HEAD", false),
    ("replace", "$git replace HEAD HEAD~1", false),
    ("push-here", "$git push -q . HEAD:refs/heads/pushed", false),
    ("fetch-here", "$git fetch -q . HEAD:refs/heads/fetched", false),
    ("pack-refs", "$git pack-refs --all", false),
    ("worktree", "$git worktree add -q --detach ../another HEAD", false),
    ("main-head", "$git update-ref --no-deref main-worktree/HEAD HEAD", false),
    ("our-refs", "$git update-ref refs/skein/lane/x HEAD", false),
    ("main-commit", "$git -C \"$main\" commit -q --allow-empty -m stolen", false),
    (
        "main-commit-bare-env",
        "env -u SKEIN_WORKER -u SKEIN_OUTBOX $git -C \"$main\" commit -q --allow-empty -m x",
        false,
    ),
    ("main-by-git-dir", "$git --git-dir=\"$main/.git\" update-ref refs/heads/x HEAD", false),
    ("main-inside", "(cd \"$main/.git\" && $git update-ref refs/heads/x HEAD)", false),
    ("main-detached", "$git -C \"$main\" checkout -q --detach", false),
    ("own-session", "setsid -w $git branch other", false),
    (
        "own-repository",
        "rm -rf r.ign && $git init -q r.ign && $git -C r.ign commit -q --allow-empty -m x",
        true,
    ),
    // What it does not stop. The documents say so.
    ("other-hooks-path", "$git -c core.hooksPath=/dev/null branch climbed", true),
    ("config", "$git config some.key value && $git config --unset some.key", true),
    ("by-hand", "$git rev-parse HEAD >\"$main/.git/refs/heads/hand\"", true),
];

fn refs(world: &World) -> Vec<String> {
    let all = world.lines(&[
        "for-each-ref",
        "--format=%(objectname) %(refname)",
        "refs/heads",
        "refs/tags",
        "refs/notes/commits",
    ]);
    [all, vec![world.git(["symbolic-ref", "HEAD"])]].concat()
}

fn tries(world: &World, git: &str) {
    world.git(["branch", "kept"]);
    let before = refs(world);
    let mut script = format!("git={git}; main='{}'\n", world.repo.display());
    for (name, command, _) in TRIED {
        script.push_str(&format!(
            "if ( {command} ) >>said.ign 2>&1; then echo {name} true; else echo {name} false; fi >>out.ign\n"
        ));
    }
    world.worker("climber", &script);
    let said = left(world, "climber", "said.ign");
    let found: Vec<String> = left(world, "climber", "out.ign").lines().map(str::to_owned).collect();
    let want: Vec<String> = TRIED.iter().map(|(name, _, passes)| format!("{name} {passes}")).collect();
    assert_eq!(found, want, "{said}");
    assert!(said.contains("refused: fenced: worker ") && said.contains("git skein worker done"), "{said}");
    assert!(!world.git(["worktree", "list"]).contains("another"));
    let climbed = ["refs/heads/climbed", "refs/heads/hand"];
    let after: Vec<String> =
        refs(world).into_iter().filter(|line| !climbed.iter().any(|name| line.ends_with(name))).collect();
    assert_eq!(after, before, "{said}");
}

#[test]
fn a_worker_moves_no_ref_but_its_own() {
    tries(&guarded(), "git");
}

#[test]
fn nor_by_another_git() {
    let Some(git) = other_git() else { return };
    // That git does not tell a hook of a symbolic ref, so a new branch is what stops it there.
    tries(&guarded(), git.to_str().unwrap());
}

#[test]
fn a_person_beside_it_is_not_hindered() {
    let world = guarded();
    let ran = world.skein(&["dispatch", "--name", "busy", "busy", "--", "sh", "-c", "sleep 60"]).ok();
    assert!(ran.out.contains("busy"), "{ran:?}");
    world.git(["commit", "-q", "--allow-empty", "-m", "mine"]);
    world.git(["branch", "mine"]);
    world.git(["tag", "mine"]);
    world.git(["-C", world.worktree("busy").to_str().unwrap(), "branch", "from-its-worktree"]);
    world.write("a.txt", "stashed\n");
    world.git(["stash"]);
    world.git(["stash", "drop"]);
    world.skein(&["stop", "busy"]).ok();
    world.worker("fix", "echo new >new.txt; git add new.txt; git commit -qm new");
    world.skein(&["land", "fix"]).ok();
    world.check();
}

#[test]
fn a_fence_in_reftables() {
    if !has_reftables() {
        return;
    }
    let world = World::with_formats(&["--ref-format=reftable"]);
    world.skein(&["hooks", "install"]).ok();
    world.worker(
        "climber",
        "echo 1 >>a.txt; git commit -qam one && echo own >>out.ign; git branch x 2>>said.ign || echo blocked >>out.ign",
    );
    assert_eq!(
        left(&world, "climber", "out.ign"),
        "own\nblocked\n",
        "{}",
        left(&world, "climber", "said.ign")
    );
}

/// What a person sees of a worker in tmux is its agent's: there the fence stands, too.
#[test]
fn a_fence_around_a_window() {
    if !has_tmux() {
        return;
    }
    let world = guarded();
    let script = "git branch x 2>said.ign || echo blocked >out.ign; git commit -q --allow-empty -m own && echo own >>out.ign";
    // A server of its own, which ends with it.
    let sockets = world.root().join("sockets");
    std::fs::create_dir(&sockets).unwrap();
    let mut command =
        world.command(&["dispatch", "--wait", "--tmux", "--name", "w", "w", "--", "sh", "-c", script]);
    let ran = crate::support::ran(command.env("TMUX_TMPDIR", &sockets).output().unwrap());
    let mut tmux = std::process::Command::new("tmux");
    tmux.arg("kill-server").env("TMUX_TMPDIR", &sockets).env_remove("TMUX").output().unwrap();
    assert!([0, 1].contains(&ran.code), "{ran:?}");
    assert_eq!(left(&world, "w", "out.ign"), "blocked\nown\n", "{}", left(&world, "w", "said.ign"));
}

/// It has refs of its own there, and no hook of the person's.
#[test]
fn a_jail_needs_no_fence() {
    if !possible() {
        return;
    }
    let world = guarded();
    let script = "git branch x && git tag y && git stash list && echo free >out.ign";
    world.skein(&["dispatch", "--wait", "--jail", "bwrap", "--name", "w", "w", "--", "sh", "-c", script]);
    assert_eq!(left(&world, "w", "out.ign"), "free\n");
    assert_eq!(world.git(["branch", "--list", "x"]), "");
}

/// A process that its parent has left belongs to the supervisor as long as that runs.
#[test]
fn an_orphan_is_inside_as_well() {
    let world = guarded();
    let script = "\
        (setsid sh -c 'sleep 0.5; git branch orphan 2>said.ign; echo \"$?\" >code.ign; mv code.ign out.ign' &) \n\
        for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ -f out.ign ] && break; sleep 0.5; done";
    world.worker("w", script);
    let out = left(&world, "w", "out.ign");
    assert!(!out.is_empty() && out != "0\n", "{out}");
    assert!(left(&world, "w", "said.ign").contains("fenced"));
    assert_eq!(world.git(["branch", "--list", "orphan"]), "");
}

/// A worker that another one has started is known as itself.
#[test]
fn a_child_moves_its_own_head_and_not_its_parents() {
    let world = guarded();
    let child = world.root().join("child.sh");
    let text = "git commit -q --allow-empty -m own && echo own >out.ign\n\
                git -C \"$1\" commit -q --allow-empty -m x 2>said.ign || echo blocked >>out.ign\n\
                echo 1 >c; git add c; git commit -qm c\n\
                git skein worker done --outcome complete --summary 'The file c is new' --evidence 'ls: c'\n";
    fs::write(&child, text).unwrap();
    let script = format!(
        "git skein worker spawn 'Write c' --name c --path c -- sh '{}' \"$PWD\" && git skein worker wait --stay; \
         git commit -q --allow-empty -m own && echo own >out.ign",
        child.display()
    );
    let dir = std::path::Path::new(env!("CARGO_BIN_EXE_git-skein")).parent().unwrap();
    let world = world.env("PATH", &format!("{}:{}", dir.display(), std::env::var("PATH").unwrap()));
    let args = [
        "dispatch",
        "--wait",
        "--timeout",
        "60s",
        "--spawn",
        "1",
        "--name",
        "w",
        "w",
        "--",
        "sh",
        "-c",
        &script,
    ];
    let ran = world.skein(&args);
    assert!([0, 1, 3].contains(&ran.code), "{ran:?}");
    assert_eq!(
        left(&world, "c", "out.ign"),
        "own\nblocked\n",
        "{}",
        world.skein(&["show", "--log", "w"]).out
    );
    assert!(
        left(&world, "c", "said.ign")
            .contains(&format!("worker {} may move nothing outside", world.ulid("c")))
    );
    assert_eq!(left(&world, "w", "out.ign"), "own\n");
}

/// Their lines are more than a pipe holds.
const MANY: usize = 1500;

/// A fetch of many refs does not wait for who does not read.
#[test]
fn many_refs_are_fetched_and_pushed() {
    let world = guarded();
    world.worker("w", "true");
    let server = world.root().join("server.git");
    world.git(["init", "-q", "--bare", server.to_str().unwrap()]);
    let head = world.head();
    let refs: String =
        (0..MANY).map(|n| format!("create refs/heads/a-rather-long-name-of-a-branch-{n} {head}\n")).collect();
    world.git(["push", "-q", server.to_str().unwrap(), "main"]);
    let list = world.root().join("list");
    fs::write(&list, refs).unwrap();
    let made = std::process::Command::new("git")
        .args(["-C", server.to_str().unwrap(), "update-ref", "--stdin"])
        .stdin(fs::File::open(&list).unwrap())
        .status();
    assert!(made.unwrap().success());
    world.git(["remote", "add", "origin", server.to_str().unwrap()]);
    // Each ref is a transaction of its own otherwise, and git starts a hook for each.
    world.git(["fetch", "-q", "--atomic", "origin"]);
    assert_eq!(world.lines(&["for-each-ref", "refs/remotes"]).len(), MANY + 1);
    // Nor does it where a hook of somebody else reads all of it.
    let count = world.root().join("count");
    let text = format!("#!/bin/sh\n[ \"$1\" != committed ] || wc -l >'{}'\n", count.display());
    crate::hooks::script(&world.path(".git/hooks/reference-transaction.skein-chained"), &text);
    world.git(["fetch", "-q", "--atomic", server.to_str().unwrap(), "refs/heads/*:refs/other/*"]);
    assert_eq!(fs::read_to_string(&count).unwrap().trim(), (MANY + 1).to_string());
}

/// While no worker runs, the shim alone answers, and no program is started; while one does, a person is asked about.
#[test]
fn no_program_is_started_while_no_worker_runs() {
    let world = guarded();
    let hook = world.path(".git/hooks/reference-transaction");
    // One that says that it was started.
    let text = fs::read_to_string(&hook).unwrap();
    let program = world.root().join("program");
    let started = world.root().join("started");
    crate::hooks::script(&program, &format!("#!/bin/sh\necho \"$3 $4\" >>'{}'\n", started.display()));
    let put = |world: &World| {
        let shim = text.replace(env!("CARGO_BIN_EXE_git-skein"), program.to_str().unwrap());
        crate::hooks::script(&world.path(".git/hooks/reference-transaction"), &shim);
    };
    let said = || fs::read_to_string(&started).unwrap_or_default();
    put(&world);
    world.git(["branch", "before-any"]);
    assert_eq!(said(), "");
    // Where it cannot see that, the program is asked.
    fs::rename(world.path(".git/skein"), world.root().join("skein")).unwrap();
    world.git(["branch", "unseen"]);
    assert!(said().contains("prepared") && !said().contains("committed"), "{}", said());
    fs::rename(world.root().join("skein"), world.path(".git/skein")).unwrap();
    world.worker("w", "true");
    let pid = world.read(&format!(".git/skein/run/{}/pid", world.ulid("w")));
    until("its supervisor is gone", || !std::path::Path::new(&format!("/proc/{}", pid.trim())).exists());
    fs::write(&started, "").unwrap();
    world.git(["branch", "after"]);
    assert_eq!(said(), "");
    world.skein(&["dispatch", "--name", "busy", "busy", "--", "sh", "-c", "sleep 60"]).ok();
    world.git(["branch", "meanwhile"]);
    assert!(said().contains("prepared") && !said().contains("committed"), "{}", said());
    world.skein(&["stop", "busy"]).ok();
}

/// Nothing to do: no other process, and no read of what git has to say.
#[test]
fn nothing_to_do_costs_no_process() {
    let world = guarded();
    world.worker("fix", "true");
    let trace = world.root().join("trace");
    let lines: String =
        (0..10_000).map(|n| format!("{0} {0} refs/remotes/origin/b{n}\n", "1".repeat(40))).collect();
    let big = world.root().join("lines");
    fs::write(&big, lines).unwrap();
    for state in ["prepared", "committed", "aborted", "preparing"] {
        let strace = std::process::Command::new("strace").arg("-V").stdout(Stdio::null()).status();
        if strace.is_err() {
            return;
        }
        let ours = world.command(&["hook", "reference-transaction", "-", state]);
        let mut traced = std::process::Command::new("strace");
        traced.args(["-f", "-e", "trace=execve,fork,vfork", "-o"]).arg(&trace).arg(ours.get_program());
        traced.args(ours.get_args()).current_dir(&world.repo).env_clear();
        traced.envs(ours.get_envs().filter_map(|(k, v)| Some((k, v?))));
        let ran = traced.stdin(fs::File::open(&big).unwrap()).output().unwrap();
        assert!(ran.status.success() && ran.stderr.is_empty(), "{ran:?}");
        let text = fs::read_to_string(&trace).unwrap();
        assert_eq!(text.matches("execve(").count(), 1, "{state}: {text}");
        assert!(!text.contains("fork("), "{state}: {text}");
    }
}
