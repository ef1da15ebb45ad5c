//! Four clones that land on one server at the same time, and say so to each other.

use crate::support::World;
use crate::support::tally::full;
use crate::sync::cloned;
use crate::sync::served;
use crate::sync::shared;
use std::collections::BTreeSet;
use std::fs;

const CLONES: [&str; 4] = ["c0", "c1", "c2", "c3"];

/// Landings of each clone.
fn landings() -> usize {
    if full() { 50 } else { 12 }
}

/// Lands all that is on the branches of one clone on the server, and syncs now and then. Gives what was acknowledged.
fn lands(world: &World, clone: &str) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for n in 0..landings() {
        let name = format!("{clone}-{n}");
        loop {
            let ran =
                world.skein_in(clone, &["land", &name, "--onto", "origin/main", "--retries", "20", "--json"]);
            if ran.code == 0 {
                let new = ran.json()["result"]["new"].as_str().unwrap().to_owned();
                acknowledged.push(new);
                break;
            }
            // Out of retries, or another one of ours; nothing landed.
            assert!([4, 75].contains(&ran.code), "{ran:?}");
        }
        if n % 5 == 4 {
            world.skein_in(clone, &["sync"]).ok();
        }
    }
    acknowledged
}

#[test]
fn four_clones_land_on_one_server_and_nothing_is_lost_or_doubled() {
    let world = served();
    for clone in CLONES {
        cloned(&world, clone);
        world.git_in(clone, &["checkout", "-q", "--detach"]);
        for n in 0..landings() {
            let name = format!("{clone}-{n}");
            world.git_in(clone, &["checkout", "-q", "-b", &name, "main"]);
            fs::write(world.root().join(clone).join(&name), &name).unwrap();
            world.git_in(clone, &["add", &name]);
            world.git_in(clone, &["commit", "-q", "-m", &name]);
        }
        world.git_in(clone, &["checkout", "-q", "--detach", "main"]);
    }
    let acknowledged: Vec<Vec<String>> = std::thread::scope(|scope| {
        let all: Vec<_> = CLONES.iter().map(|clone| scope.spawn(|| lands(&world, clone))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    for _ in 0..2 {
        CLONES.iter().for_each(|clone| drop(world.skein_in(clone, &["sync"]).ok()));
    }

    // History is what was acknowledged: each tip that was told is on the first-parent line, and nothing else is.
    let line = world.git_in("server.git", &["rev-list", "--first-parent", "main"]);
    let line: BTreeSet<&str> = line.lines().collect();
    let told: BTreeSet<&str> = acknowledged.iter().flatten().map(String::as_str).collect();
    assert_eq!(told.len(), CLONES.len() * landings());
    let unknown: Vec<&&str> = line.difference(&told).collect();
    assert!(told.is_subset(&line), "acknowledged and not there: {:?}", told.difference(&line));
    let files = world.git_in("server.git", &["ls-tree", "--name-only", "main"]);
    for clone in CLONES {
        for n in 0..landings() {
            let name = format!("{clone}-{n}");
            assert_eq!(files.lines().filter(|file| **file == name).count(), 1, "{name}");
            let with = ["log", "--format=%s", "--fixed-strings", &format!("--grep={name}"), "main"];
            let made = world.git_in("server.git", &with);
            assert_eq!(made.lines().filter(|subject| **subject == name).count(), 1, "{name} is there twice");
        }
    }
    // What was there at first; a branch that could be moved forward brings its own commit only.
    assert_eq!(unknown.len(), 1, "{unknown:?}");

    // Each lane is whole, and everybody has the same.
    let first = shared(&world, CLONES[0]);
    assert_eq!(first.lines().filter(|line| line.contains("/lane/")).count(), CLONES.len());
    for clone in CLONES {
        assert_eq!(shared(&world, clone), first, "{clone}");
        let log = world.skein_in(clone, &["log", "--json"]).ok();
        assert_eq!(log.out.matches("\"landing\"").count(), CLONES.len() * landings(), "{clone}");
        world.skein_in(clone, &["fsck"]).ok();
    }
    assert_eq!(shared(&world, "server.git"), first);
    world.git_in("server.git", &["fsck", "--strict"]);
}

#[test]
fn a_mirror_push_carries_no_fact_of_the_machine() {
    let world =
        served().env("USER", "canary-user").env("LOGNAME", "canary-user").env("HOSTNAME", "canary-host");
    world.worker_in("repo", "one");
    world.worker_in("repo", "two");
    world.skein(&["land", "one", "--gate", "sleep 0.1; pwd; echo $$"]).ok();
    world.skein(&["check", "two", "--check", "true"]);
    world.skein(&["reap", "one", "--yes"]).ok();
    world.skein(&["bundle", "save", "two"]).ok();
    world.write("talk.md", &crate::docworld::body("Where are you?\n"));
    world.skein(&["doc", "claim", "talk.md"]).ok();
    world.skein(&["doc", "preflight", "talk.md"]).ok();
    world
        .skein(&[
            "dispatch",
            "--wait",
            "--with-dirty",
            "--name",
            "three",
            "three",
            "--",
            "sh",
            "-c",
            "echo x >x; git add x; git commit -qm x",
        ])
        .ok();
    world.skein(&["sync"]).ok();
    let pids: Vec<String> = fs::read_dir(world.path(".git/skein/run"))
        .unwrap()
        .filter_map(|file| fs::read_to_string(file.unwrap().path()).ok())
        .flat_map(|text| text.split(|c: char| !c.is_ascii_digit()).map(str::to_owned).collect::<Vec<_>>())
        .filter(|number| number.len() > 3 && std::path::Path::new(&format!("/proc/{number}")).exists())
        .collect();
    let all = world.root().join("all.git");
    world.git(["init", "-q", "--bare", &all.display().to_string()]);
    world.git(["push", "-q", "--mirror", &all.display().to_string()]);
    let batch = ["cat-file", "--batch-all-objects", "--batch", "--buffer"];
    let dump = world.try_git([&["-C", all.to_str().unwrap()], &batch[..]].concat()).stdout;
    let dump = String::from_utf8_lossy(&dump);
    assert!(dump.contains("\"worker\"") && dump.len() > 10_000, "nothing was pushed");
    let host = fs::read_to_string("/etc/hostname").unwrap_or_default();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let root = world.root().display().to_string();
    let told: Vec<&str> =
        ["canary-user", "canary-host", &root, host.trim(), boot.trim()].into_iter().collect();
    for fact in told.into_iter().filter(|fact| fact.len() > 3) {
        let lines: Vec<&str> = dump.lines().filter(|line| line.contains(fact)).collect();
        assert!(lines.is_empty(), "{fact} is in {lines:?}");
    }
    for pid in pids {
        assert!(!dump.contains(&format!("\"pid\": {pid}")), "{pid}");
    }
}
