//! A trunk that moves while a landing is under way, and a working tree that changes while it is taken.

use crate::support::World;
use crate::support::acts::until;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

at_each_level!(
    f17_a_trunk_that_stays_is_landed_on,
    f17_a_trunk_that_moves_once_is_landed_on,
    f17_a_trunk_that_moves_a_few_times_is_landed_on,
    f17_a_trunk_that_moves_too_often_keeps_a_rebuilt_candidate,
    f17_a_kept_candidate_goes_with_the_landing_however_that_comes,
);

/// A gate that moves the trunk as often as the file beside the repository says, each time to another tree.
fn mover(world: &World, times: u32) -> String {
    let count = world.root().join("count");
    std::fs::write(&count, format!("{times}\n")).unwrap();
    let (count, main) = (count.display(), world.repo.display());
    format!(
        "n=$(cat {count}); test $n -eq 0 && exit 0; echo $((n - 1)) > {count}; \
         cd {main} && echo $n > moved-$n && git add moved-$n && git commit -qm moved-$n"
    )
}

/// A worker's landing with a trunk that moves under it.
fn land(world: &World, moves: u32, retries: &str) -> (String, crate::support::Ran) {
    world.worker("w", "echo w > b.txt && git commit -qam w");
    // The gate is to move the trunk, which it could not in a jail.
    world.git(["config", "skein.jail", "none"]);
    let gate = mover(world, moves);
    let ran = world.skein(&["land", "w", "--retries", retries, "--gate", &gate]);
    (gate, ran)
}

/// The trunk's history is all the moves and then the landing: nothing was lost.
fn assert_all_there(world: &World, moves: u32) {
    let mut want: Vec<String> = vec!["w".into()];
    want.extend((1..=moves).map(|n| format!("moved-{n}")));
    want.push("base".into());
    assert_eq!(world.lines(&["log", "--format=%s", "main"]), want);
    assert_eq!(world.read("b.txt"), "w\n");
    assert_eq!(world.git(["status", "--porcelain"]), "");
    assert_eq!(world.local_refs("candidate"), Vec::<String>::new());
    world.check();
}

fn f17_a_trunk_that_stays_is_landed_on(world: &World) {
    land(world, 0, "10").1.ok();
    assert_all_there(world, 0);
}

fn f17_a_trunk_that_moves_once_is_landed_on(world: &World) {
    land(world, 1, "10").1.ok();
    assert_all_there(world, 1);
}

fn f17_a_trunk_that_moves_a_few_times_is_landed_on(world: &World) {
    land(world, 5, "10").1.ok();
    assert_all_there(world, 5);
}

fn f17_a_trunk_that_moves_too_often_keeps_a_rebuilt_candidate(world: &World) {
    let (gate, ran) = land(world, 5, "2");
    ran.refused("trunk-moved", 4);
    assert_eq!(world.lines(&["log", "--format=%s", "main"]), ["moved-3", "moved-4", "moved-5", "base"]);
    let kept = world.local_refs("candidate");
    assert_eq!(kept.len(), 1, "{kept:?}");
    let candidate = format!("{}^1", kept[0]);
    assert_eq!(world.git(["log", "-2", "--format=%s", &candidate]), "w\nmoved-4", "built again each time");
    world.skein(&["land", "w", "--retries", "10", "--gate", &gate]).ok();
    assert_all_there(world, 5);
}

fn f17_a_kept_candidate_goes_with_the_landing_however_that_comes(world: &World) {
    land(world, 1, "0").1.refused("trunk-moved", 4);
    assert_eq!(world.local_refs("candidate").len(), 1);
    world.skein(&["land", "w", "--dry-run"]).ok();
    assert_eq!(world.local_refs("candidate").len(), 1, "a rehearsal drops nothing");
    world.skein(&["land", "w"]).ok();
    assert_all_there(world, 1);
}

/// Somebody who was not found goes on writing while the work is taken: what is taken is one picture, each file as it
/// was at one moment, and nothing of it is read a second time.
#[test]
fn what_is_taken_while_somebody_writes_is_one_picture() {
    let world = World::new();
    world.worker("w", "echo 0 >whole.txt && : >log.txt && git add -A && git commit -qm fixed");
    let (tree, beside) = (world.worktree("w"), world.root().join("beside"));
    let (end, written) = (AtomicBool::new(false), AtomicU64::new(0));
    let seen = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut log = fs::OpenOptions::new().append(true).open(tree.join("log.txt")).unwrap();
            for n in 1.. {
                // As an editor saves: a new file in the place of the old one, and never half of either.
                fs::write(&beside, format!("{}\n", n % 10).repeat(n % 700)).unwrap();
                fs::rename(&beside, tree.join("whole.txt")).unwrap();
                writeln!(log, "{n}").unwrap();
                written.store(n as u64, Ordering::SeqCst);
                if end.load(Ordering::SeqCst) {
                    return;
                }
            }
        });
        let seen = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let mut seen = Vec::new();
            for verb in ["import", "import", "import", "land"] {
                let before = written.load(Ordering::SeqCst);
                until("it to write on", || written.load(Ordering::SeqCst) > before);
                world.skein(&[verb, "w", "--uncommitted"]).ok();
                let n = world.field("w", "deltas");
                let record = format!("refs/skein/worker/{}:delta/{n}/delta.json", world.ulid("w"));
                let delta: serde_json::Value = serde_json::from_str(&world.git(["show", &record])).unwrap();
                let text = |key: &str| delta[key].as_str().unwrap().to_owned();
                seen.push((n.as_u64().unwrap(), text("tip"), text("tree")));
            }
            seen
        }));
        end.store(true, Ordering::SeqCst);
        seen.unwrap()
    });
    let log = fs::read_to_string(tree.join("log.txt")).unwrap();
    for (_, tip, tree) in &seen {
        assert_eq!(world.rev(&format!("{tip}^{{tree}}")), *tree);
        let whole = world.git(["show", &format!("{tree}:whole.txt")]);
        let versions: BTreeSet<&str> = whole.lines().collect();
        assert!(versions.len() <= 1, "two versions in one file: {versions:?}");
        let log_then = world.git(["show", &format!("{tree}:log.txt")]);
        assert!(log.starts_with(&log_then), "the log never was so");
    }
    let numbers: Vec<u64> = seen.iter().map(|(n, ..)| *n).collect();
    assert_eq!(numbers, [2, 3, 4, 5], "each look saw more than was committed, and than the one before");
    // What landed is the very picture, whatever was written meanwhile and since.
    assert_eq!(world.rev("main^{tree}"), seen[3].2);
    world.skein(&["landed", "w"]).ok();
    world.check();
}
