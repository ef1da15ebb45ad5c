//! How runs end that do not end by themselves, with a jail and without one.

use crate::agents::agent;
use crate::agents::recorded;
use crate::jail::possible;
use crate::support::World;
use crate::support::acts::runs;
use crate::support::acts::until;
use std::fs;

fn levels() -> &'static [&'static str] {
    if possible() { &["none", "bwrap"] } else { &["none"] }
}

#[test]
fn a_prompt_that_nobody_answers_is_a_question_for_a_person() {
    for level in levels() {
        let world = World::new();
        let script =
            "echo half >half; printf 'Reading.\\r\\nAllow the command `make test`? [y/N] '; sleep 600";
        let options = ["--wait", "--jail", level, "--silence", "1s", "--name", "w", "w"];
        world.skein(&[&["dispatch"], &options[..], &["--", "sh", "-c", script]].concat());
        let reason = world.field("w", "reason");
        assert_eq!(reason, "silent; its last line was: Allow the command `make test`? [y/N] ", "{level}");
        assert_eq!(world.field("w", "outcome"), "needs-input");
        assert!(world.skein(&["show", "w"]).ok().out.contains("Allow the command"));
        assert!(world.worktree("w").join("half").exists(), "its work is kept");
        world.check();
    }
}

#[test]
fn a_deaf_agent_is_killed_and_stopped_with_its_work() {
    for level in levels() {
        let world = World::new();
        let script = "trap '' TERM INT HUP; echo 1 >n; git add n; git commit -qm n; echo 2 >m; while :; do sleep 0.1; done";
        world.skein(&["dispatch", "--jail", level, "--name", "w", "w", "--", "sh", "-c", script]).ok();
        until("it has worked", || world.worktree("w").join("m").exists());
        let pid = fs::read_to_string(world.path(".git/skein/run").join(world.ulid("w")).join("pid")).unwrap();
        world.skein(&["stop", "w"]).ok();
        assert_eq!(world.field("w", "outcome"), "stopped", "{level}");
        assert!(world.field("w", "flags").to_string().contains("killed"), "{level}");
        until("all of it is gone", || !runs(pid.trim()));
        assert_eq!(world.field("w", "commits"), 1, "{level}");
        assert_eq!(world.field("w", "files"), 2, "what was not committed is kept too");
        world.check();
    }
}

#[test]
fn an_agent_that_is_done_and_parks_is_done_in_a_jail_too() {
    for level in levels() {
        let script = format!("echo 1 >n; git add n; git commit -qm n; {}; exec sleep 600", recorded("codex"));
        let world = agent(World::new(), "codex", &script);
        let options = ["--wait", "--jail", level, "--timeout", "60s", "--name", "w"];
        world.skein(&[&["dispatch", "--agent", "codex"], &options[..], &["Greet"]].concat()).ok();
        assert_eq!(world.field("w", "reason"), "it said it was done", "{level}");
    }
}

/// Output and input both larger than any pipe, at the same time, with bytes of every kind and no last line feed.
#[test]
fn a_flood_both_ways_neither_stands_still_nor_fills_the_disk() {
    for level in levels() {
        let world = World::new();
        world.write("../task", &"much to read\n".repeat(80_000));
        let script = "head -c 3000000 /dev/zero >&2; yes \"$(printf 'on Windows\\r')\" | head -c 9000000
            cat >n; head -c 2000000 /dev/urandom; printf 'the\\0end'; git add n; git commit -qm n";
        let task = world.root().join("task").display().to_string();
        let options = ["--wait", "--timeout", "60s", "--jail", level, "--name", "w", "-F", &task];
        world.skein(&[&["dispatch"], &options[..], &["--", "sh", "-c", script]].concat()).ok();
        let log = fs::read(world.path(".git/skein/run").join(world.ulid("w")).join("log")).unwrap();
        assert!(log.len() < 6 << 20 && log.ends_with(b"the\0end"), "{level}: {}", log.len());
        let read = fs::read_to_string(world.worktree("w").join("n")).unwrap();
        let (task, manners) = read.split_once("\n---\n").unwrap();
        assert!(
            task == "much to read\n".repeat(80_000) && manners.ends_with(".\n"),
            "{level}: {}",
            read.len()
        );
    }
}
