//! What the tool itself takes of the machine while workers run.

use crate::agents::agent;
use crate::jail::possible;
use crate::support::World;
use crate::support::acts::until;
use std::fs;

/// Of one supervisor, in kB.
const MOST: u64 = 30_000;

/// A field of a file below `/proc/<pid>`, in kB.
fn kilobytes(pid: &str, file: &str, field: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
    let line =
        text.lines().find(|line| line.starts_with(field)).unwrap_or_else(|| panic!("{field} in {text}"));
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Ten at once, each with long lines of output, commits, calls and snapshots. Pages of the program's own file are
/// shared by all, and in a build for tests there are very many of them: their part of one is counted, and at the peak
/// only what is not of a file.
#[test]
fn ten_supervisors_take_little_memory() {
    let line = r#"{"type":"message_end","message":{"content":[{"type":"text","text":""#;
    let script = format!(
        "long=$(head -c 100000 /dev/zero | tr '\\0' x)
        for k in 1 2 3 4 5; do
            printf '%s' '{line}'; for part in 1 2 3 4 5 6 7 8 9; do printf %s $long; done; printf '\"}}]}}}}\\n'
            echo $k >n$k; git add .; git commit -qm $k; git skein worker note $k
        done
        touch over; until [ -e go ]; do sleep 0.1; done"
    );
    let world = agent(World::new(), "pi", &script);
    let level = if possible() { "bwrap" } else { "none" };
    for n in 0..10 {
        let name = format!("w{n}");
        world.skein(&["dispatch", "--jail", level, "--agent", "pi", "--name", &name, "Work"]).ok();
    }
    let worktree = |n: usize| world.root().join(format!("repo.skein/w{n}"));
    until("all have worked", || (0..10).all(|n| worktree(n).join("over").exists()));
    let run =
        fs::read_dir(world.path(".git/skein/run")).unwrap().map(|entry| entry.unwrap().path().join("pid"));
    let pids: Vec<String> = run.filter_map(|pid| fs::read_to_string(pid).ok()).collect();
    assert_eq!(pids.len(), 10);
    for pid in pids.iter().map(|pid| pid.trim()) {
        let share = kilobytes(pid, "smaps_rollup", "Pss:");
        let peak = kilobytes(pid, "status", "VmHWM:") - kilobytes(pid, "status", "RssFile:");
        assert!(share < MOST && peak < MOST, "{share} kB, {peak} kB at the peak");
    }
    for n in 0..10 {
        fs::write(worktree(n).join("go"), "").unwrap();
    }
    world.skein(&["wait"]);
}
