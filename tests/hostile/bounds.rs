//! What a hostile worker leaves to be read costs little time and memory, whatever it is.

use crate::support::Ran;
use crate::support::World;
use crate::support::acts::until;
use crate::support::ran;
use std::fs;
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

/// What a process has cost: its processor's time in hundredths of a second, with that of the git processes below it,
/// and its own peak of memory in MiB.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    time: u64,
    memory: u64,
}

impl Cost {
    fn of(pid: &str) -> Option<Cost> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let memory = peak.trim().trim_end_matches(" kB").parse::<u64>().ok()? / 1024;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let times = stat.rsplit_once(") ")?.1.split(' ').skip(11).take(4);
        Some(Cost { time: times.filter_map(|t| t.parse::<u64>().ok()).sum(), memory })
    }

    #[track_caller]
    fn is_within(self, seconds: u64, mebibytes: u64) {
        assert!(self.time < seconds * 100 && self.memory < mebibytes, "{self:?}");
    }
}

/// Runs a command of ours, and watches what it costs until shortly before its end.
fn measured(world: &World, args: &[&str]) -> (Ran, Cost) {
    let mut command = world.command(args);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id().to_string();
    let watch = std::thread::spawn(move || {
        let mut cost = Cost::default();
        while let Some(now) = Cost::of(&pid) {
            cost = now;
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        cost
    });
    let ended = ran(child.wait_with_output().unwrap());
    (ended, watch.join().unwrap())
}

/// Dispatches a worker; gives the largest memory of its supervisor.
fn supervised(world: &World, script: &str) -> u64 {
    world.skein(&["dispatch", "--jail", "none", "--name", "w", "w", "--", "sh", "-c", script]).ok();
    let run = world.path(".git/skein/run").join(world.ulid("w"));
    let pid = fs::read_to_string(run.join("pid")).unwrap();
    let mut memory = 0;
    until("the supervisor ends", || match Cost::of(pid.trim()) {
        Some(cost) => {
            memory = cost.memory;
            false
        }
        None => true,
    });
    memory
}

#[test]
fn a_tree_bomb_is_refused_at_once() {
    let world = World::new();
    let script = "o=$(echo x | git hash-object -w --stdin); t=$(printf '100644 blob %s\\tf0\\n' $o | git mktree)
        for n in 1 2 3 4 5 6 7 8 9; do t=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf '040000 tree %s\\td%s\\n' $t $i; done | git mktree); done
        c=$(git commit-tree -p HEAD -m bomb $t); git update-ref --no-deref HEAD $(git commit-tree -p $c -m gone HEAD^{tree})";
    assert!(supervised(&world, script) < 200);
    assert_eq!(world.field("w", "flags"), serde_json::json!(["quarantined"]));
    // It is in none of the trees at its ends, only on its way.
    for args in [&["import", "w"], &["land", "w"]] {
        let (ended, cost) = measured(&world, args);
        assert!(ended.refused("quarantined", 1).err.contains("too many files"));
        cost.is_within(2, 200);
    }
    let (_, cost) = measured(&world, &["doctor"]);
    cost.is_within(2, 200);
}

#[test]
fn a_file_of_zeros_is_refused_at_once() {
    let world = World::new();
    let script = "echo n > n; git add n; truncate -s 1G sparse
        o=$(git -c core.compression=1 hash-object -w --stdin < sparse)
        git update-index --add --cacheinfo 100644,$o,zeros; git commit -qm zeros";
    assert!(supervised(&world, script) < 200);
    let (ended, cost) = measured(&world, &["import", "--any-outcome", "w"]);
    assert!(ended.refused("quarantined", 1).err.contains("bytes"));
    cost.is_within(2, 200);
    let kept = world.git(["ls-tree", "--name-only", &format!("refs/skein-local/wip/{}", world.ulid("w"))]);
    assert_eq!(kept, ".gitignore\na.txt\nb.txt\nn");
}

#[test]
fn many_files_come_in() {
    let world = World::new();
    assert!(supervised(&world, "mkdir d; cd d; seq 100000 | xargs touch") < 200);
    let (ended, cost) = measured(&world, &["import", "--uncommitted", "w"]);
    assert!(ended.ok().out.contains("100000 paths"));
    cost.is_within(60, 200);
}

/// Nothing of what a link shows is taken for the worker's, and a pipe holds nobody up.
#[test]
fn links_and_pipes_in_the_place_of_files_while_they_are_read() {
    let world = World::new();
    let secret = world.root().join("secret");
    fs::create_dir(&secret).unwrap();
    fs::write(secret.join("f"), "of the person\n").unwrap();
    world.worker("w", "mkdir d; echo 0 > d/f; mkfifo p; echo 1 > n; git add n; git commit -qm n");
    let tree = world.worktree("w");
    let over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for n in 0.. {
                fs::rename(tree.join("d"), tree.join("e")).unwrap();
                std::os::unix::fs::symlink(&secret, tree.join("d")).unwrap();
                std::thread::sleep(std::time::Duration::from_micros(n % 7 * 100));
                fs::remove_file(tree.join("d")).unwrap();
                fs::rename(tree.join("e"), tree.join("d")).unwrap();
                fs::write(tree.join("d/f"), n.to_string()).unwrap();
                if over.load(Ordering::SeqCst) {
                    break;
                }
            }
        });
        for _ in 0..10 {
            let (_, cost) = measured(&world, &["import", "--uncommitted", "w"]);
            cost.is_within(5, 200);
        }
        over.store(true, Ordering::SeqCst);
    });
    let id = world.git(["hash-object", secret.join("f").to_str().unwrap()]);
    assert!(!world.exists(&id), "what the link shows was read");
    let frozen = world.skein(&["import", "--uncommitted", "w"]).ok();
    assert!(frozen.out.contains("2 paths"), "{frozen:?}");
}
