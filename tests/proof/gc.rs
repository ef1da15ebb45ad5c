//! Git's own housekeeping, as hard as it can be asked for: between every two steps of a whole walk, and without a pause
//! beside landings that race.

use crate::docworld;
use crate::docworld::feed;
use crate::matrix::knows_reftable;
use crate::proof::drawn;
use crate::proof::say;
use crate::races::ack;
use crate::races::assert_line;
use crate::races::branches;
use crate::races::together;
use crate::support::World;
use crate::support::acts::until;
use crate::support::tally::full;
use crate::support::tally::tally;
use std::fs;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

/// What git itself, or a person, may do to a repository at any time.
const WAYS: [&[&str]; 5] = [
    &["gc", "--quiet", "--prune=now"],
    &["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"],
    &["worktree", "prune", "--expire=now"],
    &["maintenance", "run", "--quiet", "--task=gc", "--task=commit-graph", "--task=loose-objects"],
    &["pack-refs", "--all", "--prune"],
];

/// All of it in one order, which leaves nothing that no ref keeps.
const ALL: [usize; 6] = [1, 2, 4, 3, 0, 4];

/// What was told to be there, as the objects that hold it.
type Told = Vec<String>;

type Step = (&'static str, fn(&World, &mut Told));

/// The agent commits, waits to be let go on, and commits again.
const AGENT: &str = "sed -i s/1/one/ a.txt && git commit -qam first && until [ -e ../go ]; do sleep 0.02; done; \
                     echo new > new.txt && git add new.txt && git commit -qm second; echo left > left.txt";

const WALK: &[Step] = &[
    ("init", |world, _| drop(world.skein(&["init"]).ok())),
    ("dispatch", |world, told| {
        world.skein(&["dispatch", "--name", "fix", "fix it", "--", "sh", "-c", AGENT]).ok();
        until("the first commit", || says(world, "fix", "first"));
        told.push(in_worktree(world, "fix"));
    }),
    ("worker goes on", |world, told| {
        fs::write(world.root().join("repo.skein/go"), "").unwrap();
        world.skein(&["wait", "fix", "--timeout", "60s"]);
        fs::remove_file(world.root().join("repo.skein/go")).unwrap();
        told.push(text(world, "fix", "head"));
        told.push(text(world, "fix", "snapshot"));
    }),
    ("import", |world, told| {
        let said = world.skein(&["import", "fix", "--json"]).ok().json();
        told.push(said["result"]["delta"]["tip"].as_str().unwrap().to_owned());
    }),
    ("check", |world, _| drop(world.skein(&["check", "fix", "--check", "cat new.txt"]).ok())),
    ("verdict", |world, _| drop(world.skein(&["verdict", "fix", "accept"]).ok())),
    ("candidate create", |world, told| {
        let said = world.skein(&["candidate", "create", "fix", "--json"]).ok().json();
        told.push(said["result"]["candidate"].as_str().unwrap_or("main").to_owned());
    }),
    ("candidate admit", |world, _| drop(world.skein(&["candidate", "admit", "fix", "--gate", "true"]).ok())),
    ("land", |world, told| {
        let said = world.skein(&["land", "fix", "--json"]).ok().json();
        told.push(said["result"]["new"].as_str().unwrap().to_owned());
    }),
    ("doc claim", |world, _| docworld::asked(world, docworld::DOC)),
    ("doc preflight", |world, _| assert_eq!(docworld::send(world, docworld::DOC), 1)),
    ("doc write", |world, _| drop(feed(world, &["doc", "write", docworld::DOC], docworld::ANSWER).ok())),
    ("doc commit", |world, told| {
        let said = world.skein(&["doc", "commit", docworld::DOC, "--json"]).ok().json();
        told.push(said["result"]["commit"].as_str().unwrap().to_owned());
    }),
    ("bundle save", |world, _| drop(world.skein(&["bundle", "save", "fix"]).ok())),
    ("reap", |world, _| drop(world.skein(&["reap", "fix", "--yes"]).ok())),
    ("restore", |world, _| {
        world.skein(&["restore", "fix"]).ok();
        let place = world.root().join("repo.skein/fix");
        assert_eq!(fs::read_to_string(place.join("left.txt")).unwrap(), "left\n");
    }),
    ("undo", |world, _| {
        world.git(["switch", "-q", "--detach"]);
        let landing = landing(world);
        world.skein(&["undo", &landing]);
    }),
    ("land again", |world, told| {
        let said = world.skein(&["land", "fix", "--any-outcome", "--json"]);
        if said.code == 0 {
            told.push(said.json()["result"]["new"].as_str().unwrap().to_owned());
        }
    }),
];

fn landing(world: &World) -> String {
    let said = world.skein(&["log", "--json"]).ok().json();
    let all = said["result"]["entries"].as_array().unwrap().clone();
    let landed = all.iter().find(|entry| entry["kind"] == "landing").unwrap_or_else(|| panic!("{said}"));
    landed["op"].as_str().unwrap().to_owned()
}

fn in_worktree(world: &World, worker: &str) -> String {
    let place = world.root().join("repo.skein").join(worker);
    world.git(["-C", place.to_str().unwrap(), "rev-parse", "HEAD"])
}

fn says(world: &World, worker: &str, subject: &str) -> bool {
    let place = world.root().join("repo.skein").join(worker);
    place.exists() && world.git(["-C", place.to_str().unwrap(), "log", "-1", "--format=%s"]) == subject
}

fn text(world: &World, worker: &str, key: &str) -> String {
    world.field(worker, key).as_str().unwrap_or("HEAD").to_owned()
}

/// One walk with `ways` between every two steps. Gives how often something was cleaned.
fn walk(options: &[&str], ways: &[usize]) -> u64 {
    let world = World::with_formats(options);
    let mut told = Told::new();
    let mut cleaned = 0;
    for (name, step) in WALK {
        step(&world, &mut told);
        for way in ways {
            world.git(WAYS[*way]);
            cleaned += 1;
        }
        for oid in &told {
            let read = world.try_git(["rev-list", "--objects", "--quiet", oid]);
            assert!(
                read.status.success(),
                "after {name} and {ways:?}: {oid}: {}",
                String::from_utf8_lossy(&read.stderr)
            );
        }
    }
    assert_eq!(world.git(["show", "main:new.txt"]), "new");
    assert_eq!(docworld::times(&docworld::known(&world, docworld::DOC), docworld::ANSWER), 1);
    world.skein(&["show", "fix"]).ok();
    let found = world.skein(&["fsck"]);
    assert!(found.code == 0 && found.out.contains("sound: 0 errors"), "{found:?}");
    world.check();
    cleaned
}

fn formats() -> Vec<&'static [&'static str]> {
    let both: [&[&str]; 2] = [&[], &["--ref-format=reftable"]];
    both.into_iter().take(if knows_reftable("git") { 2 } else { 1 }).collect()
}

#[test]
fn git_cleans_up_between_every_two_steps() {
    let mut walks: Vec<(&[&str], Vec<usize>)> = Vec::new();
    for format in formats() {
        walks.push((format, ALL.to_vec()));
        if full() {
            walks.extend((0..WAYS.len()).map(|way| (format, vec![way])));
        }
    }
    let walks = if full() { walks } else { drawn("gc", walks, 1) };
    let cleaned: u64 = walks.iter().map(|(format, ways)| walk(format, ways)).sum();
    tally("git cleans up between two steps", cleaned);
    say(&format!("git cleans up between two steps: {} walks, cleaned {cleaned} times", walks.len()));
    assert!(cleaned > 0);
}

/// Says so when it goes.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Eight processes land, while all of [`WAYS`] runs in a loop.
fn race(options: &[&str], each: usize) -> (u64, u64, u64) {
    let world = World::with_formats(options);
    let base = world.head();
    branches(&world, 8, each);
    world.skein(&["init"]).ok();
    let over = AtomicBool::new(false);
    let (cleaned, told) = (AtomicU64::new(0), AtomicU64::new(0));
    let acks = std::thread::scope(|scope| {
        let cleaning = scope.spawn(|| {
            for way in ALL.iter().cycle() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                // It may find a ref locked; what it must not do is take something away.
                cleaned.fetch_add(u64::from(world.try_git(WAYS[*way]).status.success()), Ordering::SeqCst);
            }
        });
        // However it ends: a landing that fails must not leave the other thread at it for ever.
        let ends = Over(&over);
        let acks = together(8, |process| {
            let land = |i| {
                let args = ["land", &format!("b{process}-{i:03}"), "--json"];
                for _ in 0..5 {
                    let ran = world.skein(&args);
                    if ran.code == 0 {
                        return ack(ran);
                    }
                    // A writer that git got in the way of says so, and has not landed.
                    assert!(ran.err.contains("refused: ") || ran.err.contains("fault: "), "{ran:?}");
                    told.fetch_add(1, Ordering::SeqCst);
                }
                panic!("b{process}-{i:03} does not land: {:?}", world.skein(&args))
            };
            (0..each).map(land).collect::<Vec<_>>()
        });
        drop(ends);
        cleaning.join().unwrap();
        acks
    });
    let acks = acks.concat();
    assert_line(&world, &base, "main", &acks);
    for ack in &acks {
        world.git(["merge-base", "--is-ancestor", &ack.new, "main"]);
    }
    let files = world.lines(&["ls-tree", "--name-only", "main"]);
    assert_eq!(files.iter().filter(|f| f.starts_with('b') && f.contains('-')).count(), 8 * each);
    world.git(["rev-list", "--objects", "--quiet", "--all"]);
    world.check();
    (acks.len() as u64, cleaned.into_inner(), told.into_inner())
}

#[test]
fn git_cleans_up_beside_landings_that_race() {
    let formats = formats();
    let formats = if full() { formats } else { drawn("race", formats, 1) };
    for format in formats {
        let (landed, cleaned, told) = race(format, if full() { 20 } else { 4 });
        tally("racing landing beside git's housekeeping", landed);
        say(&format!(
            "racing landings beside git's housekeeping: {landed} landed, cleaned {cleaned} times, {told} told to try again {format:?}"
        ));
        assert!(cleaned > 0, "git never cleaned up");
    }
}
