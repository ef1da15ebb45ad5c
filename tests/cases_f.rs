//! What agents do, each played by a small shell script, and the answer it must get, with a jail and without one. Who
//! commits on the trunk or writes hooks and configuration is in the corpus of hostile workers, and who asks or has
//! no more to spend in `protocol` and `agents`.

/// A test of each for workers without a jail, and one for workers in it.
macro_rules! at_each_level {
    ($($name:ident),* $(,)?) => {
        mod free {
            $(#[test] fn $name() { super::$name(&crate::support::World::new()); })*
        }
        mod jailed {
            $(#[test] fn $name() {
                if crate::jail::possible() { super::$name(&crate::support::World::of_jails()); }
            })*
        }
    };
}

mod kills;
mod movers;

use crate::support::World;
use crate::support::acts::mentions;
use crate::support::acts::runs;
use crate::support::acts::until;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

at_each_level!(
    f01_edits_and_commits_is_returned_verified_and_landed,
    f02_edits_without_a_commit_are_no_success_and_not_lost,
    f03_work_that_was_thrown_away_is_flagged_and_can_be_had_back,
    f04_an_empty_commit_lands_only_if_asked_for,
    f07_a_daemon_left_behind_is_ended_and_listed,
    f08_an_agent_that_ignores_the_polite_signal_is_killed_and_its_work_kept,
    f09_a_result_line_ends_a_run_that_never_exits,
    f10_what_changes_in_the_main_checkout_fails_the_run_and_is_named,
    f12_a_base_that_was_left_or_grown_is_refused,
    f13_two_hundred_megabytes_of_output_and_bytes_of_every_kind,
    f14_every_kind_of_change_arrives_byte_for_byte,
    f14_a_submodule_pointer_enters_only_where_it_is_allowed,
    f16_same_lines_conflict_far_lines_merge_and_a_gate_sees_the_merged_tree,
);

impl World {
    /// One whose workers and gates are shut in.
    fn of_jails() -> World {
        let world = World::new();
        world.git(["config", "skein.jail", "bwrap"]);
        world.git([Path::new("config"), Path::new("skein.jailWrite"), &world.shared()]);
        world
    }

    fn has_jails(&self) -> bool {
        self.try_git(["config", "skein.jailWrite"]).status.success()
    }

    /// A folder beside the repository where jailed workers may write too.
    fn shared(&self) -> PathBuf {
        let folder = self.root().join("shared");
        fs::create_dir_all(&folder).unwrap();
        folder
    }
}

fn flags(world: &World, worker: &str) -> Vec<String> {
    serde_json::from_value(world.field(worker, "flags")).unwrap()
}

fn text(world: &World, worker: &str, key: &str) -> String {
    world.field(worker, key).as_str().unwrap_or_default().to_owned()
}

/// What changed between two commits, to the last byte.
fn raw(world: &World, from: &str, to: &str) -> String {
    world.git(["diff-tree", "-r", "--raw", "--no-renames", "--full-index", from, to])
}

fn f01_edits_and_commits_is_returned_verified_and_landed(world: &World) {
    let base = world.head();
    world.worker("w", "echo w > b.txt && git commit -qam 'say w' -m 'and why'");
    assert_eq!(text(world, "w", "outcome"), "ready");
    assert_eq!(flags(world, "w"), Vec::<String>::new());
    let frozen = world.skein(&["import", "w", "--json"]).ok().json();
    let tip = frozen["result"]["delta"]["tip"].as_str().unwrap().to_owned();
    assert_eq!(frozen["result"]["delta"]["base"], base);
    assert_eq!(world.rev("main"), base, "import alone lands nothing");
    let landed = world.skein(&["land", "w", "--exact", "--json"]).ok().json();
    assert_eq!(landed["result"]["match"], "exact");
    assert_eq!(raw(world, "main~", "main"), raw(world, &base, &tip));
    let message = world.git(["log", "-1", "--format=%an|%cn|%B"]);
    assert!(message.starts_with("w|Ada|say w\n\nand why\n\nSkein-Worker: "), "{message}");
    assert!(world.skein(&["landed", "w"]).ok().out.contains("receipt"));
    world.check();
}

fn f02_edits_without_a_commit_are_no_success_and_not_lost(world: &World) {
    let argv = ["dispatch", "--wait", "--name", "w", "the task", "--", "sh", "-c"];
    let argv = [&argv[..], &["echo w > b.txt && echo new > new.txt && echo done"]].concat();
    world.skein(&argv).code(3);
    assert_eq!(text(world, "w", "outcome"), "needs-input");
    assert_eq!(flags(world, "w"), ["uncommitted"]);
    let snapshot = text(world, "w", "snapshot");
    assert_eq!(world.git(["show", &format!("{snapshot}:new.txt")]), "new");
    fs::remove_dir_all(world.worktree("w")).unwrap();
    world.collect_garbage();
    let landed = world.skein(&["land", "w"]).ok();
    assert!(landed.out.contains("landed"), "{}", landed.out);
    assert_eq!((world.read("b.txt").as_str(), world.read("new.txt").as_str()), ("w\n", "new\n"));
    assert_eq!(world.git(["log", "-1", "--format=%an|%s"]), "w|the task");
    world.check();
}

fn f03_work_that_was_thrown_away_is_flagged_and_can_be_had_back(world: &World) {
    let base = world.head();
    // Commits that no snapshot had the time to see are in the reflog.
    world.worker("fast", "echo fast > b.txt && git commit -qam fast && git reset -q --hard HEAD~");
    // Files that a snapshot saw, tracked and not, are in the snapshot.
    let go = world.shared().join("go");
    let slow = format!(
        "echo slow > b.txt && git commit -qam slow && echo slow > new.txt && until [ -e {} ]; do sleep 0.02; done \
         && git reset -q --hard HEAD~ && git clean -fdxq",
        go.display()
    );
    world.skein(&["dispatch", "--name", "slow", "slow", "--", "sh", "-c", &slow]).ok();
    let new = format!("refs/skein-local/wip/{}:new.txt", world.ulid("slow"));
    until("a snapshot of it", || world.exists(&new));
    fs::write(go, "").unwrap();
    world.skein(&["wait", "slow"]);
    for worker in ["fast", "slow"] {
        assert_eq!(flags(world, worker), ["self-discarded"], "{worker}");
        assert_eq!(text(world, worker, "head"), base);
        world.skein(&["land", worker]).refused("empty", 1);
        let path = world.worktree(worker);
        world.git(["worktree", "remove", "-f", "-f", path.to_str().unwrap()]);
    }
    world.collect_garbage();
    let kept = |worker: &str| format!("refs/skein-local/wip/{}", world.ulid(worker));
    let subjects = |worker: &str| world.git(["log", "--format=%s", &format!("{base}..{}", kept(worker))]);
    assert!(subjects("fast").lines().any(|l| l == "fast"), "{}", subjects("fast"));
    assert!(subjects("slow").lines().any(|l| l == "slow"), "{}", subjects("slow"));
    let listed = world.git(["log", "--format=", "--name-only", "-m", &kept("slow"), "--not", &base]);
    assert!(listed.lines().any(|l| l == "new.txt"), "{listed}");
    world.check();
}

fn f04_an_empty_commit_lands_only_if_asked_for(world: &World) {
    let base = world.head();
    world.worker("w", "git commit -q --allow-empty -m 'all tests pass' && echo 'all tests pass'");
    world.skein(&["import", "w"]).refused("empty", 1);
    world.skein(&["land", "w"]).refused("empty", 1);
    assert_eq!(world.rev("main"), base);
    world.skein(&["land", "w", "--allow-empty"]).ok();
    assert_eq!(world.rev("main~"), base);
    assert_eq!(world.rev("main^{tree}"), world.rev(&format!("{base}^{{tree}}")));
    assert_eq!(world.git(["log", "-1", "--format=%s"]), "all tests pass");
    world.check();
}

fn f07_a_daemon_left_behind_is_ended_and_listed(world: &World) {
    let pid_file = world.shared().join("pid");
    let pid_name = pid_file.display();
    let daemon = format!("echo $$ > {pid_name}; exec sleep 1000");
    world.worker(
        "w",
        &format!(
            "echo w > b.txt && git commit -qam w && setsid sh -c '{daemon}' > /dev/null 2>&1 & \
             until [ -s {pid_name} ]; do :; done"
        ),
    );
    assert_eq!(text(world, "w", "outcome"), "ready");
    if world.has_jails() {
        // Nothing survives the end of a jail.
        assert_eq!(flags(world, "w"), Vec::<String>::new());
        assert!(!mentions(&world.ulid("w")), "it lives on");
    } else {
        assert_eq!(flags(world, "w"), ["survivors"]);
        let pid = fs::read_to_string(pid_file).unwrap().trim().to_owned();
        assert!(!runs(&pid), "{pid} lives on");
        let log = world.skein(&["show", "w", "--log"]).ok().out;
        assert!(log.contains(&format!("left running, and ended: sleep {pid} ")), "{log}");
    }
    world.skein(&["land", "w"]).ok();
    world.check();
}

fn f08_an_agent_that_ignores_the_polite_signal_is_killed_and_its_work_kept(world: &World) {
    let fifo = world.shared().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    let script = format!("trap '' TERM; echo w > b.txt; while :; do read x < {}; done", fifo.display());
    let dispatch = |name: &str, more: &[&str]| {
        let head = ["dispatch", "--name", name, name];
        world.skein(&[&head[..], more, &["--", "sh", "-c", &script]].concat()).ok();
    };
    dispatch("stopped", &[]);
    until("a snapshot of its work", || !world.field("stopped", "snapshot").is_null());
    world.skein(&["land", "stopped"]).refused("still-running", 1);
    world.skein(&["stop", "stopped"]).ok();
    dispatch("late", &["--timeout", "2s"]);
    world.skein(&["wait", "late"]).code(1);
    for (worker, outcome) in [("stopped", "stopped"), ("late", "failed")] {
        assert_eq!(text(world, worker, "outcome"), outcome);
        assert!(world.field(worker, "liveness").is_null());
        assert_eq!(flags(world, worker), ["uncommitted", "killed"], "{worker}");
        let snapshot = text(world, worker, "snapshot");
        assert_eq!(world.git(["show", &format!("{snapshot}:b.txt")]), "w", "{worker}");
    }
    assert!(text(world, "late", "reason").contains("time limit"));
    world.skein(&["land", "late"]).refused("not-ready", 1);
    world.skein(&["land", "stopped"]).ok();
    assert_eq!(world.read("b.txt"), "w\n");
}

fn f09_a_result_line_ends_a_run_that_never_exits(world: &World) {
    let fifo = world.shared().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    let pid = world.shared().join("pid");
    let script = format!(
        "echo $$ > {}; echo w > b.txt && git commit -qam w && echo 'RESULT: ok' && read x < {}",
        pid.display(),
        fifo.display()
    );
    let argv = ["dispatch", "--wait", "--done-pattern", "^RESULT: ", "--name", "w", "w", "--", "sh", "-c"];
    world.skein(&[&argv[..], &[&script]].concat()).ok();
    assert_eq!(text(world, "w", "outcome"), "ready");
    assert!(text(world, "w", "reason").contains("done"));
    match world.has_jails() {
        true => assert!(!mentions(&world.ulid("w"))),
        false => assert!(!runs(fs::read_to_string(pid).unwrap().trim())),
    }
    world.skein(&["land", "w"]).ok();
    world.check();
}

fn f10_what_changes_in_the_main_checkout_fails_the_run_and_is_named(world: &World) {
    world.write("b.txt", "mine, not committed\n");
    let main = world.repo.display();
    world.worker("good", "echo w > w.txt && git add w.txt && git commit -qm w");
    assert_eq!(text(world, "good", "outcome"), "ready", "what was dirty before is nobody's fault");
    world.worker("writes", &format!("echo bad > {main}/a.txt; echo bad > {main}/new.txt"));
    if !world.has_jails() {
        world.git(["checkout", "--quiet", "--", "a.txt"]);
        fs::remove_file(world.path("new.txt")).unwrap();
    }
    world.worker("undoes", &format!("git -C {main} checkout -q -- b.txt; echo w > w.txt"));
    if world.has_jails() {
        assert_eq!(world.git(["status", "--porcelain"]), " M b.txt");
        assert_eq!(world.field("writes", "outside"), serde_json::json!([]));
        assert_eq!(world.field("undoes", "outside"), serde_json::json!([]));
        world.skein(&["land", "good"]).ok();
        return;
    }
    for (worker, paths) in [("writes", &["a.txt", "new.txt"][..]), ("undoes", &["b.txt"])] {
        assert_eq!(text(world, worker, "outcome"), "failed", "{worker}");
        assert!(flags(world, worker).contains(&"outside-changed".to_owned()), "{worker}");
        let refused = world.skein(&["land", worker]).refused("outside-changed", 1);
        for path in paths {
            assert!(refused.err.contains(path), "{worker}: {}", refused.err);
        }
    }
    world.skein(&["reap", "--yes", "--include-unlanded", "undoes"]).ok();
    // A checkout may run what it has set up, until a person has looked.
    world.skein(&["restore", "undoes"]).refused("outside-changed", 1);
    world.skein(&["restore", "--any-outcome", "undoes"]).ok();
    world.skein(&["land", "good"]).ok();
    world.check();
}

fn f12_a_base_that_was_left_or_grown_is_refused(world: &World) {
    let old = world.head();
    world.write("b.txt", "newer\n");
    let newer = world.commit("newer");
    let dispatch = |name: &str, script: &str| {
        let argv = ["dispatch", "--wait", "--base", &old, "--name", name, name, "--", "sh", "-c", script];
        world.skein(&argv).ok();
    };
    dispatch("amends", "echo w > w.txt && git add w.txt && git commit -q --amend -m 'not the base'");
    dispatch("rebases", "echo w > w.txt && git add w.txt && git commit -qm w && git rebase -q main");
    dispatch("merges", "echo w > w.txt && git add w.txt && git commit -qm w && git merge -q main");
    dispatch("elsewhere", "git checkout -q --orphan x && git commit -qm x && git checkout -q --detach");
    for (worker, token) in [
        ("amends", "base-moved"),
        ("elsewhere", "base-moved"),
        ("rebases", "foreign-merge"),
        ("merges", "foreign-merge"),
    ] {
        let refused = world.skein(&["land", worker]).refused(token, 1);
        assert!(refused.err.contains(&old), "{}", refused.err);
        assert_eq!(token == "base-moved", refused.err.contains("git range-diff"), "{}", refused.err);
        assert_eq!(world.rev("main"), newer);
    }
    world.check();
}

fn f13_two_hundred_megabytes_of_output_and_bytes_of_every_kind(world: &World) {
    const ODD: &[u8] = b"zero\0cr\r\n\xff\xfe bytes\r\rlast line without an end";
    let script = r#"
        printf 'zero\0cr\r\n\377\376 bytes\r\rlast line without an end' > odd &&
        git add odd && git commit -qm odd || exit 9
        printf 'first line\r\n'
        head -c 5000000 /dev/zero >&2
        yes "$(printf 'a line that ends as on Windows\r')" | head -c 120000000
        head -c 80000000 /dev/zero
        printf 'the end'
    "#;
    let argv = ["dispatch", "--wait", "--name", "w", "w", "--", "sh", "-c", script];
    world.skein(&argv).ok();
    let log = fs::read(world.path(&format!(".git/skein/run/{}/log", world.ulid("w")))).unwrap();
    assert!(log.len() < 6 << 20, "the log has {} bytes", log.len());
    assert!(log.starts_with(b"first line\r\n") && log.ends_with(b"\0the end"));
    let shown = world.skein(&["show", "w", "--log"]).ok().out;
    assert!(shown.contains("bytes left out") && !shown.contains('\0'));
    world.skein(&["land", "w", "--exact"]).ok();
    let blob = world.try_git(["cat-file", "blob", "main:odd"]).stdout;
    assert_eq!(blob, ODD);
    assert_eq!(fs::read(world.path("odd")).unwrap(), ODD);
}

fn f14_every_kind_of_change_arrives_byte_for_byte(world: &World) {
    world.write(".gitattributes", "*.lfs filter=lfs diff=lfs merge=lfs -text\n");
    world.write("big.lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:1111\nsize 1\n");
    world.write("readme", "read me\n");
    let base = world.commit("more files");
    world.worker(
        "w",
        r#"
        chmod +x a.txt && git commit -qam 'a mode' &&
        ln -s a.txt link && git add link && git commit -qm 'a link' &&
        printf 'version https://git-lfs.github.com/spec/v1\noid sha256:2222\nsize 22\n' > big.lfs &&
        git commit -qam 'a pointer' &&
        printf 'bin\0ary\377' > bin && git add bin && git commit -qm 'a binary' &&
        git mv readme README && git commit -qm 'another case' &&
        ln -sf a.txt b.txt && git commit -qam 'a file becomes a link'
        "#,
    );
    assert_eq!(text(world, "w", "outcome"), "ready");
    let tip = text(world, "w", "head");
    world.write("other.txt", "meanwhile\n");
    let old = world.commit("the trunk moved");
    world.skein(&["land", "w", "--exact"]).ok();
    assert_eq!(raw(world, &old, "main"), raw(world, &base, &tip));
    for step in 0..6 {
        let (one, two) = (format!("main~{step}"), format!("main~{}", step + 1));
        let (theirs, before) = (format!("{tip}~{step}"), format!("{tip}~{}", step + 1));
        assert_eq!(raw(world, &two, &one), raw(world, &before, &theirs), "{step}");
    }
    assert_eq!(world.git(["status", "--porcelain"]), "");
    assert_eq!(fs::read_link(world.path("link")).unwrap().to_str(), Some("a.txt"));
    world.check();
}

fn f14_a_submodule_pointer_enters_only_where_it_is_allowed(world: &World) {
    let base = world.head();
    world.worker(
        "w",
        &format!("git update-index --add --cacheinfo 160000,{base},sub && git commit -qm pointer"),
    );
    let refused = world.skein(&["land", "w"]).refused("gitlink", 1);
    assert!(refused.err.contains("sub") && refused.err.contains("skein.allowGitlinks"), "{}", refused.err);
    assert_eq!(world.rev("main"), base);
    world.git(["config", "skein.allowGitlinks", "true"]);
    world.skein(&["land", "w", "--exact"]).ok();
    assert_eq!(world.git(["ls-tree", "main", "sub"]), format!("160000 commit {base}\tsub"));
    assert_eq!(raw(world, "main~", "main"), raw(world, &base, &text(world, "w", "head")));
    world.check();
}

fn f16_same_lines_conflict_far_lines_merge_and_a_gate_sees_the_merged_tree(world: &World) {
    world.write("lib.sh", "greet() { echo hello; }\n");
    world.write("use.sh", ". ./lib.sh\ngreet\n");
    world.write("check", "for f in *.sh; do sh -eu $f || exit 1; done\n");
    world.commit("a program");
    world.worker("one", "sed -i s/2/two/ a.txt && git commit -qam one");
    world.worker("same", "sed -i s/2/zwei/ a.txt && git commit -qam same");
    world.worker("far", "sed -i s/8/eight/ a.txt && git commit -qam far");
    world.worker("callee", "sed -i s/greet/welcome/ lib.sh use.sh && git commit -qam callee");
    world.worker("caller", "cp use.sh more.sh && git add more.sh && git commit -qm caller");
    let gate = |worker: &str| world.skein(&["land", worker, "--gate", "sh check"]);
    gate("one").ok();
    let conflict = gate("same").refused("conflict", 3);
    assert!(conflict.err.contains("a.txt"), "{}", conflict.err);
    gate("far").ok();
    assert!(world.read("a.txt").contains("two\n") && world.read("a.txt").contains("eight\n"));
    gate("callee").ok();
    // Alone it passes, and it merges cleanly; only together they do not work.
    let path = world.worktree("caller");
    let alone = std::process::Command::new("sh").arg("check").current_dir(path).status().unwrap();
    assert!(alone.success());
    let before = world.rev("main");
    let failed = gate("caller").refused("gate-failed", 5);
    assert!(failed.err.contains("greet"), "{}", failed.err);
    assert_eq!(world.rev("main"), before);
    world.skein(&["land", "caller", "--dry-run"]).ok();
    assert_eq!(world.git(["status", "--porcelain"]), "");
    world.check();
}
