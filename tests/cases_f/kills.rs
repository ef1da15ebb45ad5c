//! A kill at any moment, and then the same command again: in the end all is as if there had been no kill.

use crate::support::World;
use crate::support::acts::Dice;
use crate::support::acts::group_runs;
use crate::support::acts::is_free;
use crate::support::acts::mentions;
use crate::support::acts::runs;
use crate::support::acts::until;
use std::collections::BTreeSet;
use std::io::Write;
use std::process::Command;
use std::time::Duration;
use std::time::Instant;

const TASK: &str = "echo one > one.txt && git add one.txt && git commit -qm one; \
                    echo two > b.txt && git commit -qam two";

at_each_level!(
    f18_a_killed_landing_and_the_same_command_again,
    f18_a_killed_dispatch_and_the_same_command_again,
    f18_a_killed_supervisor_and_the_same_command_again,
    f18_a_worker_that_is_given_up_does_not_come_to_life_later,
);

/// What a landing leaves on `branch`, beside its own date and operation.
fn left_on(world: &World, branch: &str) -> Vec<String> {
    let mut left = world.lines(&["log", "--format=%T %an %cn %s", branch]);
    left.push(world.git(["status", "--porcelain"]));
    left.extend(world.local_refs("candidate"));
    let rooms = std::fs::read_dir(world.path(".git/skein/run")).unwrap();
    let rooms = rooms.map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
    left.extend(rooms.filter(|n| n.starts_with("gate-")));
    left.extend(world.lines(&["worktree", "list", "--porcelain"]).into_iter().filter(|l| l.contains("gate")));
    left
}

/// The kinds of the lane's records that speak of `branch`'s operation, oldest first.
fn journal(world: &World, branch: &str) -> (usize, usize) {
    let lane = world.git(["for-each-ref", "--format=%(refname)", "refs/skein/lane"]);
    let log = world.lines(&["log", "--first-parent", "--format=%s", &lane]);
    let count = |kind: &str| log.iter().filter(|l| l.starts_with(&format!("{kind}: {branch} "))).count();
    let abandoned = log.iter().filter(|l| l.starts_with("abandoned:")).count();
    assert!(count("intent") <= count("landing") + abandoned, "an intent is open: {log:?}");
    (count("landing"), abandoned)
}

fn f18_a_killed_landing_and_the_same_command_again(world: &World) {
    let mut dice = Dice::new();
    world.worker("w", TASK);
    let land = |branch: &str| {
        // The branch is checked out, so index and files are part of what can be torn.
        world.git(["checkout", "--quiet", "-b", branch, "main"]);
        ["land", "w", "--gate", "grep -q two b.txt", "--onto", branch].map(str::to_owned)
    };
    let run = |args: &[String]| world.skein(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let first = land("whole");
    run(&first).ok();
    let want = left_on(world, "whole");
    assert_eq!(want.len(), 4, "{want:?}");

    // A gate and its jail take their time, and only the first landing needs them.
    let next = land("next");
    let started = Instant::now();
    run(&next).ok();
    let longest = started.elapsed().as_micros() as u64;
    let mut killed = 0;
    let rounds = if world.has_jails() { 12 } else { 25 };
    for round in 0..rounds {
        let branch = format!("round-{round}");
        let args = land(&branch);
        // A tree that passed the gate is not run again; killed rounds go on from any step.
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        let moment = Duration::from_micros(dice.below(longest));
        killed += usize::from(world.killed_after(&words, moment));
        run(&args).ok();
        assert_eq!(left_on(world, &branch), want, "round {round}, killed after {moment:?}");
        assert_eq!(journal(world, &branch).0, 1, "round {round}");
        let tip = world.rev(&branch);
        assert!(run(&args).ok().out.contains("already"));
        assert_eq!(world.rev(&branch), tip);
    }
    assert!(killed > rounds / 6, "only {killed} were killed");
    let notes = world.lines(&["notes", "--ref=skein/landed", "list"]);
    assert_eq!(notes.len(), (rounds + 2) * 2, "a note for each commit of each landing");
    world.check();
}

fn f18_a_killed_dispatch_and_the_same_command_again(world: &World) {
    let mut dice = Dice::new();
    let started = Instant::now();
    world.worker("whole", TASK);
    let whole = started.elapsed().as_micros() as u64;
    let tree = |worker: &str| {
        let head = world.field(worker, "head").as_str().unwrap().to_owned();
        world.rev(&format!("{head}^{{tree}}"))
    };
    let want = tree("whole");
    let (mut killed, mut twice) = (0, 0);
    for round in 0..12 {
        let name = format!("round-{round}");
        let args = ["dispatch", "--wait", "--json", "--name", &name, "t", "--", "sh", "-c", TASK];
        killed += usize::from(world.killed_after(&args, Duration::from_micros(dice.below(whole))));
        let again = world.skein(&args).ok().json();
        let handle = again["result"]["workers"][0]["handle"].as_str().unwrap().to_owned();
        assert_eq!(world.field(&handle, "outcome"), "ready");
        assert_eq!(tree(&handle), want, "round {round}");
        if handle == name {
            continue;
        }
        // The first one had come so far that it exists: it ended well by itself, or it is told as lost.
        twice += 1;
        world.skein(&["wait", &name]);
        let outcome = world.field(&name, "outcome");
        if outcome == "ready" {
            assert_eq!(tree(&name), want, "round {round}");
        } else {
            assert_eq!(outcome, "failed", "round {round}");
            assert_eq!(world.field(&name, "flags"), serde_json::json!(["supervisor-lost"]));
            // It is over, so nothing of it may happen any more.
            assert_eq!(tree(&name), world.rev("main^{tree}"));
        }
    }
    assert!(killed > 3, "only {killed} were killed, {twice} of them after the worker stood");
    // Every worktree belongs to a worker that is known.
    let workers = world.skein(&["status", "--json"]).ok().json();
    let workers = workers["result"]["workers"].as_array().unwrap().clone();
    let known: BTreeSet<&str> = workers.iter().filter_map(|w| w["worktree"].as_str()).collect();
    let listed = world.lines(&["worktree", "list", "--porcelain"]);
    let listed: BTreeSet<&str> = listed.iter().filter_map(|l| l.strip_prefix("worktree ")).skip(1).collect();
    assert_eq!(listed, known);
    let folders = std::fs::read_dir(world.root().join("repo.skein")).unwrap().count();
    assert_eq!(folders, known.len());
    world.check();
}

fn f18_a_killed_supervisor_and_the_same_command_again(world: &World) {
    let mut dice = Dice::new();
    let group = world.shared().join("group");
    let script = format!("echo $$ > {}; {TASK}", group.display());
    let started = Instant::now();
    world.worker("whole", &script);
    let whole = started.elapsed().as_micros() as u64;
    let (rounds, mut killed) = (if world.has_jails() { 4 } else { 10 }, 0);
    for round in 0..rounds {
        let name = format!("round-{round}");
        let args = ["dispatch", "--name", &name, "t", "--", "sh", "-c", &script];
        std::fs::remove_file(&group).unwrap();
        world.skein(&args).ok();
        let ulid = world.ulid(&name);
        let run = world.path(&format!(".git/skein/run/{ulid}"));
        let pid = std::fs::read_to_string(run.join("pid")).unwrap();
        // A jail takes its time, and there are few rounds: the end of a run is not worth one.
        let most = if world.has_jails() { whole / 3 } else { whole };
        std::thread::sleep(Duration::from_micros(dice.below(most)));
        let kill = Command::new("kill").args(["-KILL", pid.trim()]).output().unwrap();
        killed += usize::from(kill.status.success());
        until("the end of supervisor and agent", || {
            // In a jail it counts its processes by itself; then what made the jail must be gone.
            let agent = match world.has_jails() {
                true => mentions(&ulid),
                false => std::fs::read_to_string(&group).is_ok_and(|g| group_runs(g.trim())),
            };
            !runs(pid.trim()) && !agent && is_free(&run)
        });
        world.skein(&["stop", &name]);
        let (outcome, flags) = (world.field(&name, "outcome"), world.field(&name, "flags").to_string());
        let lost = outcome == "failed" && flags.contains("supervisor-lost");
        assert!(lost || outcome == "ready", "round {round}: {outcome} {flags}");
        if lost {
            world.skein(&["land", &name]).refused("not-ready", 1);
        }
        // Whatever it had committed and written stays.
        let path = world.worktree(&name);
        let path = path.to_str().unwrap();
        let head = world.git(["-C", path, "rev-parse", "HEAD"]);
        let dirty = world.git(["-C", path, "status", "--porcelain"]);
        world.git(["worktree", "remove", "-f", "-f", path]);
        world.collect_garbage();
        assert!(world.reachable(&head), "round {round}");
        // What git says of a jailed worker's tree is by a `HEAD` that its commits had not come to yet.
        if !world.has_jails() {
            assert_eq!(dirty.is_empty(), world.field(&name, "snapshot").is_null(), "round {round}: {dirty}");
        }

        let again = format!("again-{round}");
        world.worker(&again, &script);
        assert_eq!(world.field(&again, "outcome"), "ready");
        let branch = format!("b{round}");
        world.git(["branch", &branch, "main"]);
        world.skein(&["land", &again, "--onto", &branch]).ok();
        assert_eq!(world.lines(&["log", "--format=%s", &branch]), ["two", "one", "base"]);
    }
    assert!(killed > rounds / 5, "only {killed} of {rounds} were killed");
    world.check();
}

/// The crossing of the failpoint after the start of the supervisor.
fn supervisor_started(world: &World) -> u32 {
    let mark = world.root().join("mark");
    world.skein(&["init"]).ok();
    let find = |k: &u32| {
        let name = format!("probe-{k}");
        let mut command = world.command(&["dispatch", "--name", &name, "t", "--", "true"]);
        command.env("SKEIN_FAULT", format!("point:{k}:kill")).env("SKEIN_FAULT_MARK", &mark);
        command.output().unwrap();
        // The next one shall find nothing to end first, which would cross other failpoints.
        world.skein(&["stop", &name]);
        std::fs::read_to_string(&mark).unwrap() == "dispatch: supervisor started"
    };
    (1..100).find(find).unwrap()
}

fn f18_a_worker_that_is_given_up_does_not_come_to_life_later(world: &World) {
    let k = supervisor_started(world);
    let (rounds, mut lost) = (if world.has_jails() { 4 } else { 12 }, 0);
    for round in 0..rounds {
        let (name, ran) = (format!("w{round}"), world.shared().join(format!("ran-{round}")));
        let script = format!("touch {}; {TASK}", ran.display());
        let mut command = world.command(&["dispatch", "--name", &name, "t", "--", "sh", "-c", &script]);
        let killed = command.env("SKEIN_FAULT", format!("point:{k}:kill")).output().unwrap();
        assert_eq!(killed.status.code(), None);
        // Its supervisor is on its way. Stopping is the first thing that looks for dead ones.
        let newest =
            ["for-each-ref", "--format=%(refname)", "--sort=-refname", "--count=1", "refs/skein/worker"];
        let ulid = world.git(newest).rsplit_once('/').unwrap().1.to_owned();
        world.skein(&["stop", &name]);
        until("the end of its supervisor", || crate::support::acts::is_over(&ulid));
        // One that never ran is gone with all that was made for it.
        let shown = world.skein(&["show", &name, "--json"]);
        let outcome = if shown.code == 0 { shown.json()["result"]["outcome"].clone() } else { "gone".into() };
        if outcome == "failed" || outcome == "gone" {
            lost += 1;
            assert!(!ran.exists(), "round {round}: it was told as lost, and then it ran");
        } else {
            assert!(outcome == "stopped" || outcome == "ready", "round {round}: {outcome}");
        }
    }
    writeln!(std::io::stdout().lock(), "{lost} of {rounds} were given up").unwrap();
    // A git that an agent ran, killed with it, leaves a lock in that worktree's own folder, as it would anywhere.
    for (round, lock) in (0..rounds).flat_map(|round| [(round, "index.lock"), (round, "HEAD.lock")]) {
        let _ = std::fs::remove_file(world.common().join(format!("worktrees/w{round}/{lock}")));
    }
    // A supervisor that was stopped in the middle of a transaction leaves locks to the next verb that writes.
    crate::faults::sweep::named_locks(world, "stopped");
    world.check();
}
