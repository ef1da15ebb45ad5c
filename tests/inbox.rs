//! What waits for a person, in its order; what was decided and what never was, told from another clone too.

use crate::support::World;
use crate::support::acts::until;
use serde_json::Value;
use std::fs;

fn work(name: &str) -> String {
    format!("echo {name} >{name}.txt; git add -A; git commit -qm {name}")
}

fn cards(world: &World) -> Vec<Value> {
    world.skein(&["inbox", "--json"]).ok().json()["result"]["cards"].as_array().unwrap().clone()
}

/// A clone that has the refs of the tool, and nothing else of it.
fn fetched(world: &World) -> World {
    let mut other = World::empty();
    world.git(["clone", "-q", ".", "../other"]);
    fs::rename(world.root().join("other"), other.root().join("other")).unwrap();
    other.cwd = other.root().join("other");
    let from = world.repo.display().to_string();
    other.git(["fetch", "-q", &from, "+refs/skein/*:refs/skein/*"]);
    other
}

#[test]
fn each_that_waits_stands_in_its_place() {
    let world = World::new();
    let running = "echo x >x; while [ -e .git ]; do sleep 0.1; done";
    world.skein(&["dispatch", "--name", "runs", "Run", "--", "sh", "-c", running]).ok();
    world.worker("asks", "git skein worker wait --question 'Which\u{1b}[2J one?' --option a --option b");
    world.worker("fails", "exit 3");
    world.worker("leaves", "echo left >left.txt");
    world.worker("good", &work("good"));
    world.worker("taken", &work("taken"));
    world.worker("refused", &work("refused"));
    world.worker("lands", &work("lands"));
    world.worker("empty", "true");
    world.skein(&["verdict", "taken", "accept"]).ok();
    world.skein(&["verdict", "refused", "reject"]).ok();
    world.skein(&["land", "lands"]).ok();
    until("the work", || world.root().join("repo.skein/runs/x").exists());
    let before = world.git(["for-each-ref"]);
    let found = cards(&world);
    let lines: Vec<String> = found
        .iter()
        .map(|c| {
            let text = |key: &str| c[key].as_str().unwrap().to_owned();
            let (handle, waits) = (text("handle"), text("waits_for"));
            let risk = c["risk"]["level"].as_str().unwrap_or("-");
            format!(
                "{} {handle} {waits} {risk}: {}",
                c["rank"],
                text("next").trim_start_matches("git skein ")
            )
        })
        .collect();
    // Who waits longest is first; those of one second are in the order of their names.
    let mut sorted = lines.clone();
    sorted.sort();
    assert_eq!(
        sorted,
        [
            "0 asks answer -: verdict asks answer --option <N>",
            "1 fails failure -: verdict fails",
            "2 good verdict low: verdict good",
            "2 leaves look low: verdict leaves",
            "4 taken landing low: land taken",
            "5 empty closing -: reap empty",
            "5 refused closing low: reap --include-unlanded refused",
        ]
    );
    let ranks: Vec<i64> = found.iter().map(|c| c["rank"].as_i64().unwrap()).collect();
    assert!(ranks.is_sorted(), "{ranks:?}");
    let text = world.skein(&["inbox"]).ok().out;
    assert_eq!(text.lines().count(), 1 + found.len(), "{text}");
    assert!(text.contains("an answer: Which\\u{1b}[2J one?"), "{text}");
    assert_eq!(world.git(["for-each-ref"]), before, "to look writes nothing");
    world.skein(&["stop", "runs"]).ok();
}

#[test]
fn decisions_and_debt_are_told_from_a_clone_that_has_the_refs() {
    let world = World::new();
    for name in ["judged", "landed", "closed", "refused", "undone"] {
        world.worker(name, &work(name));
    }
    world.worker("idle", "true");
    world.skein(&["land", "undone"]).ok();
    world.skein(&["undo"]).ok();
    let check = ["candidate", "create", "judged"];
    world.skein(&check).ok();
    // On the candidate's tree, which is the very tree of the worker's commit.
    world.skein(&["candidate", "admit", "judged", "--gate", "grep -c judged judged.txt"]).ok();
    world.skein(&["verdict", "judged", "accept", "-m", "token=abcdefghijklmnopqrstuvwxyz012345"]).ok();
    world.skein(&["candidate", "integrate", "judged"]).ok();
    world.skein(&["land", "landed"]).ok();
    world.skein(&["verdict", "refused", "reject"]).ok();
    world.skein(&["reap", "--yes", "--include-unlanded", "closed", "refused", "idle", "landed"]).ok();
    let other = fetched(&world);
    let none = World::new();
    assert_eq!(none.skein(&["debt"]).ok().out, "");
    let all = [&world, &other].map(|world| {
        let debt = world.skein(&["debt", "--json"]).ok().json();
        let owed: Vec<(String, String)> = debt["result"]["owed"]
            .as_array()
            .unwrap()
            .iter()
            .map(|o| (o["handle"].as_str().unwrap().to_owned(), o["what"].as_str().unwrap().to_owned()))
            .collect();
        let mut sorted = owed;
        sorted.sort();
        let want = [("closed", "closed"), ("landed", "landed")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(sorted, want);
        let log = world.skein(&["log", "decisions"]).ok().out;
        assert!(log.contains("evidence  exit 0: grep -c judged judged.txt\n"), "{log}");
        assert!(
            log.contains("reject") && log.contains("accept") && log.contains("by Ada <ada@example.invalid>")
        );
        assert!(!log.contains("abcdefghijkl"), "{log}");
        let lines = world.skein(&["log", "decisions", "--porcelain"]).ok().out;
        assert!(lines.lines().all(|l| l.starts_with("verdict\t")) && lines.lines().count() == 2, "{lines}");
        (log, lines)
    });
    assert_eq!(all[0], all[1]);
    // What is owed can be paid, as long as the worker is open.
    world.skein(&["restore", "landed"]).ok();
    world.skein(&["verdict", "landed", "accept"]).ok();
    assert!(!world.skein(&["debt"]).ok().out.contains(" landed landed"), "paid");
    world.check();
}
