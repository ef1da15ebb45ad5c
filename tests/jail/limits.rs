//! How much of the machine a worker or a gate takes, with a jail and without one.

use super::is_root;
use super::possible;
use super::users;
use crate::support::World;

/// The levels that can be tried.
fn levels() -> Vec<&'static str> {
    if possible() { vec!["none", "bwrap"] } else { vec!["none"] }
}

/// What a worker says that it is bound by, by the kernel's name for it.
fn bound(world: &World, level: &str, name: &str, limit: &str) -> Option<String> {
    let script = "cp /proc/self/limits limits";
    world
        .skein(&["dispatch", "--wait", "--jail", level, "--name", name, name, "--", "sh", "-c", script])
        .code(3);
    let limits = std::fs::read_to_string(world.worktree(name).join("limits")).unwrap();
    let line = limits.lines().find_map(|l| l.strip_prefix(limit)).unwrap().trim();
    let mut words = line.split_whitespace();
    let both = (words.next().unwrap(), words.next().unwrap());
    assert_eq!(both.0, both.1, "a limit that can be lifted: {line}");
    (both.0 != "unlimited").then(|| both.0.to_owned())
}

#[test]
fn each_limit_is_set_for_good() {
    for level in levels() {
        for world in users() {
            world.git(["config", "skein.limitMemory", "3g"]);
            world.git(["config", "skein.limitProcesses", "1k"]);
            world.git(["config", "skein.limitFile", "64m"]);
            for (name, limit, want) in [
                ("m", "Max address space", "3221225472"),
                ("p", "Max processes", "1024"),
                ("f", "Max file size", "67108864"),
            ] {
                assert_eq!(bound(&world, level, name, limit).as_deref(), Some(want), "{level}");
            }
        }
    }
}

#[test]
fn a_file_that_is_too_large_ends_its_writer() {
    for level in levels() {
        let world = World::new();
        world.git(["config", "skein.limitFile", "64k"]);
        world.git(["config", "skein.jail", level]);
        world.worker(
            "w",
            "head -c 60k /dev/zero > n; git add n; git commit -qm one; head -c 99k /dev/zero > n",
        );
        let left = std::fs::metadata(world.worktree("w").join("n")).unwrap().len();
        assert_eq!(left, 64 << 10, "{level}");
        world
            .skein(&["land", "--any-outcome", "w", "--gate", "head -c 65k /dev/zero > x"])
            .refused("gate-failed", 5);
        world.skein(&["land", "--any-outcome", "w", "--gate", "head -c 64k /dev/zero > x"]).ok();
    }
}

#[test]
fn memory_beyond_the_limit_is_not_given() {
    for level in levels() {
        let world = World::new();
        world.git(["config", "skein.limitMemory", "400m"]);
        // One block of a size that the program keeps in memory.
        let take = |size: &str| format!("dd if=/dev/zero of=/dev/null bs={size} count=1 && touch had-{size}");
        for (size, had) in [("50M", true), ("800M", false)] {
            let script = take(size);
            let named = ["dispatch", "--wait", "--jail", level, "--name"];
            world.skein(&[&named[..], &[&size.to_lowercase(), "t", "--", "sh", "-c", &script]].concat());
            let file = world.worktree(&size.to_lowercase()).join(format!("had-{size}"));
            assert_eq!(file.exists(), had, "{level} {size}");
        }
    }
}

#[test]
fn processes_beyond_the_limit_do_not_start() {
    if !is_root() {
        return;
    }
    // Without a jail: in one it takes processes to make it.
    let world = World::new().given_to_nobody();
    world.git(["config", "skein.limitProcesses", "1"]);
    world.worker("w", "echo started > one; (echo started > two); (echo started > three) & wait");
    let at = world.worktree("w");
    assert!(at.join("one").exists() && !at.join("two").exists() && !at.join("three").exists());
}

#[test]
fn a_limit_that_cannot_be_read_is_refused_before_anything_is_written() {
    for (key, value) in [
        ("skein.limitMemory", "much"),
        ("skein.limitProcesses", "-1"),
        ("skein.limitFile", "0"),
        ("skein.limitMemory", "1.5g"),
    ] {
        let world = World::new();
        world.git(["config", key, value]);
        let ran = world.skein(&["dispatch", "t", "--", "true"]).refused("bad-limit", 1);
        assert!(ran.err.contains(key) && ran.err.contains(value), "{}", ran.err);
        assert_eq!(world.git(["for-each-ref", "refs/skein", "refs/skein-local"]), "");
        assert!(!world.root().join("repo.skein").exists());
        world.git(["config", "--unset", key]);
        world.worker("w", "echo 1 > n; git add n; git commit -qm one");
        world.git(["config", key, value]);
        let before = world.git(["for-each-ref"]);
        for args in [
            &["land", "w", "--gate", "true"][..],
            &["land", "--all"],
            &["import", "w"],
            &["candidate", "admit", "w"],
        ] {
            world.skein(args).refused("bad-limit", 1);
        }
        assert_eq!(world.git(["for-each-ref"]), before);
        // What mends and what looks is not bound.
        world.skein(&["status"]).ok();
        world.skein(&["show", "w"]).ok();
    }
}
