//! Workers and gates that are shut in: they notice nothing, nobody notices them, and nothing of theirs is lost.

mod limits;
mod quarantine;

use crate::support::Ran;
use crate::support::World;
use crate::support::acts::is_free;
use crate::support::acts::is_over;
use crate::support::acts::until;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Whether jails can be made here. Where they must be, `SKEIN_TEST_JAIL=must` says so.
pub fn possible() -> bool {
    let made = Command::new("bwrap").args(["--unshare-user", "--ro-bind", "/", "/", "true"]).output();
    let possible = made.is_ok_and(|o| o.status.success());
    if !possible {
        assert!(std::env::var_os("SKEIN_TEST_JAIL").is_none(), "no jail can be made here");
        writeln!(std::io::stdout().lock(), "jail: skipped, bubblewrap does not work here").unwrap();
    }
    possible
}

/// Whether the tests run as root, so that they can run as another user too.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The same; where they are not, that is said.
pub fn can_be_nobody() -> bool {
    if !is_root() {
        writeln!(std::io::stdout().lock(), "jail: skipped, only root can be nobody").unwrap();
    }
    is_root()
}

/// Whether disks must be there: everything must, and root can mount them.
pub fn must_mount() -> bool {
    is_root() && std::env::var_os("SKEIN_TEST_JAIL").is_some_and(|must| must == "must")
}

/// The same world for each user that can be tried.
pub fn users() -> Vec<World> {
    let mut found = vec![World::new()];
    if is_root() {
        found.push(World::new().given_to_nobody());
    }
    found
}

impl World {
    /// Dispatches a jailed worker that runs `script`.
    fn begin_shut_in(&self, name: &str, script: &str) {
        self.skein(&["dispatch", "--jail", "bwrap", "--name", name, name, "--", "sh", "-c", script]).ok();
    }

    /// Dispatches a jailed worker that runs `script`, and waits for it.
    fn shut_in(&self, name: &str, script: &str) -> Ran {
        let jail = ["--wait", "--jail", "bwrap", "--name", name];
        self.skein(&[&["dispatch"], &jail[..], &[name, "--", "sh", "-c", script]].concat())
    }
}

#[test]
fn a_jailed_worker_notices_nothing_and_lands() {
    if !possible() {
        return;
    }
    for world in users() {
        let script = "set -e; echo 1 > n; git add n; git commit -qm one; git commit -q --amend -m 'one more'
            git branch side; git tag t; git stash list; echo 2 > b.txt; git stash -q; git stash pop -q
            git commit -qam two; git notes add -m hey; git config user.nick x; git gc -q --prune=now
            git checkout -q -b other; echo 3 > m; git add m; git commit -qm three; git rebase -q HEAD~2
            git status --porcelain; test -z \"$(git status --porcelain)\"; git log --oneline --all";
        let ran = world.shut_in("w", script).ok();
        assert!(ran.out.contains("jail      bwrap\n"), "{}", ran.out);
        assert_eq!(world.field("w", "jail"), "bwrap");
        world.skein(&["land", "w"]).ok();
        let log = world.git(["log", "--format=%s", "main"]);
        assert_eq!(log, "three\ntwo\none more\nbase");
        // Nothing that its git knew is known outside.
        assert_eq!(
            world.git(["for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags"]),
            "refs/heads/main"
        );
        assert_eq!(world.git(["config", "--default", "none", "user.nick"]), "none");
        // And its worktree is the person's now, in order.
        let worktree = world.worktree("w");
        assert_eq!(
            world.git([Path::new("-C"), &worktree, Path::new("status"), Path::new("--porcelain")]),
            ""
        );
        assert!(!world.path(".git/skein/private").join(world.ulid("w")).exists());
        world.git(["fsck", "--strict"]);
    }
}

#[test]
fn a_jailed_worker_writes_nothing_outside_its_worktree() {
    if !possible() {
        return;
    }
    for world in users() {
        world.worker("sibling", "echo s > s");
        let secret = world.root().join("home/.ssh");
        std::fs::create_dir_all(&secret).unwrap();
        std::fs::write(secret.join("id"), "key").unwrap();
        let outside = world.root().join("outside");
        std::fs::write(&outside, "as it was").unwrap();
        let script = format!(
            "for f in {out} {repo}/a.txt {repo}/.git/config {repo}/.git/hooks/pre-commit {sib}/s ~/.bashrc /etc/skein
             do mkdir -p \"$(dirname $f)\"; echo evil > $f; done; rm -f .git; rm -rf {repo} {sib}
             cat ~/.ssh/id; ls {repo} {sib}; mount -o remount,rw /; kill -9 -1; true",
            out = outside.display(),
            repo = world.repo.display(),
            sib = world.worktree("sibling").display(),
        );
        let before = world.git(["status", "--porcelain", "--ignored"]);
        let config = std::fs::read(world.path(".git/config")).unwrap();
        world.shut_in("w", &script);
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), "as it was");
        assert_eq!(world.git(["status", "--porcelain", "--ignored"]), before);
        assert_eq!(std::fs::read(world.path(".git/config")).unwrap(), config);
        assert!(!world.path(".git/hooks").exists() && !Path::new("/etc/skein").exists());
        assert!(!world.root().join("home/.bashrc").exists());
        assert_eq!(std::fs::read_to_string(world.worktree("sibling").join("s")).unwrap(), "s\n");
        let log = world.skein(&["show", "--log", "w"]).ok().out;
        assert!(!log.contains("key"), "{log}");
        assert_eq!(world.field("w", "outside"), serde_json::json!([]));
    }
}

/// Whether this bubblewrap can forbid further user namespaces.
fn closes() -> bool {
    let made = Command::new("bwrap")
        .args(["--unshare-user", "--disable-userns", "--ro-bind", "/", "/"])
        .args(["--proc", "/proc", "true"])
        .output();
    made.is_ok_and(|o| o.status.success())
}

#[test]
fn no_jail_is_made_in_a_jail_where_that_can_be_forbidden() {
    if !possible() || !closes() {
        return;
    }
    for world in users() {
        world.shut_in(
            "w",
            "unshare -Ur true || echo no > refused; bwrap --ro-bind / / true || echo no > again",
        );
        let at = world.worktree("w");
        assert!(at.join("refused").exists() && at.join("again").exists());
    }
}

/// An old bubblewrap is as good as it was.
#[test]
fn a_jail_is_made_where_that_cannot_be_forbidden() {
    if !possible() {
        return;
    }
    let world = World::new();
    let bin = world.root().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let real = Command::new("sh").args(["-c", "command -v bwrap"]).output().unwrap();
    let real = String::from_utf8_lossy(&real.stdout).trim().to_owned();
    let old = format!(
        "#!/bin/sh\nfor a; do test \"$a\" = -- && break; test \"$a\" = --disable-userns && exit 1; done\nexec {real} \"$@\"\n"
    );
    std::fs::write(bin.join("bwrap"), old).unwrap();
    let made = Command::new("chmod").arg("+x").arg(bin.join("bwrap")).status().unwrap();
    assert!(made.success());
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let world = world.env("PATH", &path);
    let ran = world.shut_in("w", "echo 1 > n; git add n; git commit -qm one").ok();
    assert!(ran.out.contains("jail      bwrap\n"), "{}", ran.out);
    world.skein(&["land", "w"]).ok();
}

#[test]
fn a_jailed_agents_home_is_its_own() {
    if !possible() {
        return;
    }
    let world = World::new();
    let home = world.root().join("home");
    for (file, text) in
        [(".settings", "mine"), ("tools/t", "tool"), (".pi/agent/hook", "mine"), (".netrc", "key")]
    {
        std::fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
        std::fs::write(home.join(file), text).unwrap();
    }
    let agent = home.join("tools/pi");
    let script = "#!/bin/sh
        set -e; cat ~/.settings ~/tools/t ~/.pi/agent/hook > seen; ! cat ~/.netrc >> seen
        for f in .settings .pi/agent/hook .local/share/new/x .cache/y; do
            mkdir -p $(dirname ~/$f); echo evil > ~/$f.new; mv ~/$f.new ~/$f; done
        ! echo evil > ~/tools/t";
    std::fs::write(&agent, script).unwrap();
    std::process::Command::new("chmod").arg("+x").arg(&agent).status().unwrap();
    let agent = agent.to_str().unwrap();
    world.skein(&["dispatch", "--wait", "--jail", "bwrap", "--name", "w", "w", "--", agent]);
    assert_eq!(std::fs::read_to_string(world.worktree("w").join("seen")).unwrap(), "minetoolmine");
    assert_eq!(std::fs::read_to_string(home.join(".settings")).unwrap(), "mine");
    assert_eq!(std::fs::read_to_string(home.join(".pi/agent/hook")).unwrap(), "mine");
    assert!(!home.join(".local").exists() && !home.join(".cache").exists());
}

#[test]
fn the_repository_is_the_persons_meanwhile() {
    if !possible() {
        return;
    }
    let world = World::new();
    world.git(["init", "--quiet", "--bare", "../remote"]);
    world.git(["remote", "add", "origin", "../remote"]);
    let script = "until test -f stop; do
            echo >> $SKEIN_HANDLE; git add $SKEIN_HANDLE; git commit -qm more; sleep 0.1
        done; rm stop";
    for name in ["x", "y", "z"] {
        world.begin_shut_in(name, script);
    }
    for _ in 0..4 {
        for args in [
            &["gc", "--quiet"][..],
            &["repack", "-a", "-d", "-q"],
            &["log", "--all", "--oneline"],
            &["push", "--quiet", "origin", "main"],
            &["fetch", "--quiet"],
            &["pack-refs", "--all"],
            &["worktree", "prune"],
            // Unlike `fsck` it reads first what is named, and then what is there.
            &["rev-list", "--all", "--objects", "--quiet"],
        ] {
            // Two gits may meet at a lock, be they ours or not. And what a collection packs before a ref names
            // it, a `repack -a -d` drops: git keeps nobody from that, so that it comes in again.
            for tried in 0.. {
                let ran = world.try_git(args);
                if ran.status.success() {
                    break;
                }
                let said = String::from_utf8_lossy(&ran.stderr);
                let passes = ["File exists", "missing", "bad", "Could not read", "unable to read"];
                assert!(tried < 100 && passes.iter().any(|p| said.contains(p)), "{args:?}: {said}");
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
    for name in ["x", "y", "z"] {
        std::fs::write(world.worktree(name).join("stop"), "").unwrap();
    }
    let waited = world.skein(&["wait"]);
    for name in ["x", "y", "z"] {
        let log = world.path(".git/skein/run").join(world.ulid(name)).join("supervisor.log");
        let said = std::fs::read_to_string(log).unwrap_or_default();
        let shown = world.skein(&["show", "--log", name]).out;
        assert_eq!(world.field(name, "outcome"), "ready", "{waited:?} {shown} supervisor: {said}");
        assert!(world.field(name, "commits").as_u64() > Some(2));
        world.skein(&["land", name]).ok();
    }
    world.git(["fsck", "--strict"]);
}

#[test]
fn what_it_committed_before_its_supervisor_died_comes_in_later() {
    if !possible() {
        return;
    }
    let world = World::new();
    let script = "echo 1 > n; git add n; git commit -qm one; touch done; sleep 600";
    world.begin_shut_in("w", script);
    let done = world.worktree("w").join("done");
    until("the worker commits", || done.exists());
    let run = world.path(".git/skein/run").join(world.ulid("w"));
    let pid = std::fs::read_to_string(run.join("pid")).unwrap();
    let killed = Command::new("kill").args(["-9", pid.trim()]).status().unwrap();
    assert!(killed.success());
    until("the jail ends", || is_over(&world.ulid("w")) && is_free(&run));
    world.git(["gc", "--quiet", "--prune=now"]);
    world.skein(&["land", "--any-outcome", "w"]).ok();
    assert_eq!(world.git(["log", "--format=%s", "main"]), "one\nbase");
    assert!(!world.path(".git/skein/private").join(world.ulid("w")).exists());
}

#[test]
fn many_objects_come_in_as_a_pack() {
    if !possible() {
        return;
    }
    let world = World::new();
    let script = "for i in $(seq 300); do echo $i > n$i; done; git add .; git commit -qm many";
    world.shut_in("w", script).ok();
    world.skein(&["land", "w"]).ok();
    let packs = std::fs::read_dir(world.path(".git/objects/pack")).unwrap().flatten();
    let names: Vec<String> = packs.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    assert!(
        names.iter().any(|n| n.ends_with(".pack")) && !names.iter().any(|n| n.ends_with(".keep")),
        "{names:?}"
    );
    world.git(["fsck", "--strict"]);
}

#[test]
fn what_came_in_and_went_again_comes_in_again() {
    if !possible() {
        return;
    }
    let world = World::new();
    let script = "echo 1 > n; git add n; git commit -qm one; until test -f go; do sleep 0.05; done; rm go";
    world.begin_shut_in("w", script);
    until("its commit is in", || world.field("w", "commits") == 1);
    let go = world.worktree("w").join("go");
    // A garbage collection that looked at the refs before it came in would do the same.
    let commit = world.git(["rev-parse", &format!("refs/skein-local/head/{}", world.ulid("w"))]);
    std::fs::remove_file(world.path(&format!(".git/objects/{}/{}", &commit[..2], &commit[2..]))).unwrap();
    std::fs::write(go, "").unwrap();
    world.skein(&["wait", "w"]);
    world.skein(&["land", "--any-outcome", "w"]).ok();
    assert_eq!(world.git(["log", "--format=%s", "main"]), "one\nbase");
    world.git(["fsck", "--strict"]);
}

#[test]
fn a_jailed_worker_that_is_asked_to_stop_may_finish_its_sentence() {
    if !possible() {
        return;
    }
    let world = World::new();
    let script = "trap 'echo last > words; exit 0' TERM; touch ready; while :; do sleep 0.05; done";
    world.begin_shut_in("w", script);
    let ready = world.worktree("w").join("ready");
    until("the worker is ready", || ready.exists());
    world.skein(&["stop", "w"]).ok();
    assert_eq!(std::fs::read_to_string(world.worktree("w").join("words")).unwrap(), "last\n");
    assert_eq!(world.field("w", "outcome"), "stopped");
}

#[test]
fn the_gate_runs_in_the_same_jail() {
    if !possible() {
        return;
    }
    let world = World::new();
    world.git(["config", "skein.jail", "bwrap"]);
    world.worker("w", "echo 1 > n; git add n; git commit -qm one");
    let evil = format!(
        "test -f n && ! echo evil 2>&1 > {}/a.txt && git commit -q --allow-empty -m mine",
        world.repo.display()
    );
    world.skein(&["land", "w", "--gate", &evil]).ok();
    assert_eq!(world.git(["status", "--porcelain"]), "");
    assert_eq!(world.git(["log", "--format=%s", "main"]), "one\nbase");
    assert_eq!(world.git(["log", "--all", "--grep=^mine$", "--format=%s"]), "");
    assert!(
        std::fs::read_dir(world.path(".git/skein/run"))
            .unwrap()
            .flatten()
            .all(|e| { !e.file_name().to_string_lossy().starts_with("gate-") })
    );
}

/// They read what the worker has left. LFS keeps its files where everybody finds them.
#[test]
fn the_filters_of_the_person_run_in_the_jail_of_the_worker() {
    if !possible() {
        return;
    }
    for world in users() {
        let mark = world.root().join("mark");
        let clean = format!(
            "touch {}; mkdir -p {lfs} && tee -a {lfs}/kept | tr a-z A-Z",
            mark.display(),
            lfs = world.path(".git/lfs").display()
        );
        world.git(["config", "filter.lfs.clean", &clean]);
        world.git(["config", "filter.lfs.required", "false"]);
        world.write(".gitattributes", "*.big filter=lfs\n");
        world.commit("attributes");
        for (name, level) in [("shut", "bwrap"), ("free", "none")] {
            let script = format!("echo {name} > {name}.big");
            let run =
                ["dispatch", "--wait", "--jail", level, "--name", name, name, "--", "sh", "-c", &script];
            world.skein(&run);
            world.skein(&["import", "--uncommitted", name]).ok();
            assert_eq!(mark.exists(), level == "none");
            let kept = std::fs::read_to_string(world.path(".git/lfs/kept")).unwrap();
            assert!(kept.lines().any(|line| line == name), "{kept}");
            world.skein(&["land", "--uncommitted", name]).ok();
            assert_eq!(world.git(["show", &format!("main:{name}.big")]), name.to_uppercase());
        }
    }
}

#[test]
fn without_a_jail_it_is_said_or_refused() {
    let world = World::new();
    let bin = world.root().join("bin");
    std::fs::create_dir(&bin).unwrap();
    for program in ["git", "sh", "env", "true"] {
        let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap();
        let found = String::from_utf8_lossy(&found.stdout).trim().to_owned();
        std::os::unix::fs::symlink(found, bin.join(program)).unwrap();
    }
    let world = world.env("PATH", bin.to_str().unwrap());
    let agent = ["--", "sh", "-c", ":"];
    let with = |flags: &[&str]| world.skein(&[&["dispatch", "--wait"], flags, &["task"], &agent].concat());
    with(&["--jail", "bwrap"]).refused("no-jail", 1);
    with(&["--jail", "auto", "--require-jail"]).refused("no-jail", 1);
    with(&["--require-jail"]).refused("no-jail", 1);
    assert_eq!(world.skein(&["status", "--json"]).ok().json()["result"]["workers"], serde_json::json!([]));
    world.git(["config", "--global", "skein.jail", "bwrap"]);
    let found = world.skein(&["doctor"]).code(1).out;
    assert!(found.contains("jail: skein.jail is bwrap, and no jail can be made: "), "{found}");
    let ran = with(&["--jail", "auto"]);
    assert!(ran.out.contains("jail      none (it can write outside its worktree)"), "{ran:?}");
}

#[test]
fn every_kind_of_repository_has_jails() {
    if !possible() {
        return;
    }
    for options in
        [&["--object-format=sha256"][..], &["--ref-format=reftable"], &["--separate-git-dir=../apart"]]
    {
        let old = std::env::var_os("SKEIN_TEST_GIT").is_some();
        if old && options[0].starts_with("--ref") {
            continue;
        }
        let world = World::with_formats(options);
        world
            .shut_in(
                "w",
                "echo 1 > n; git add n; git commit -qm one; git gc -q; echo 2 > n; git commit -qam two",
            )
            .ok();
        world.skein(&["land", "w"]).ok();
        assert_eq!(world.git(["log", "--format=%s", "main"]), "two\none\nbase");
        world.git(["fsck", "--strict"]);
    }
}

#[test]
fn a_shallow_clone_and_a_dirty_base_have_jails() {
    if !possible() {
        return;
    }
    let world = World::new();
    world.write("a.txt", "changed\n");
    let ran = world.skein(&[
        "dispatch",
        "--wait",
        "--jail",
        "bwrap",
        "--with-dirty",
        "--name",
        "w",
        "w",
        "--",
        "sh",
        "-c",
        "cat a.txt; echo 1 > n; git add n; git commit -qm one",
    ]);
    ran.ok();
    world.git(["checkout", "--quiet", "--", "a.txt"]);
    world.skein(&["land", "w"]).ok();
    assert_eq!(world.git(["diff", "--name-only", "HEAD~1", "HEAD"]), "n");
}
