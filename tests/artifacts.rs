//! What workers have left: item by item, and searched.

use crate::support::World;
use serde_json::Value;

/// An agent of a known kind: its output has events.
const AGENT: &str = r#"#!/bin/sh
printf '%s\n' '{"type":"session","version":3,"id":"s"}'
printf '%s\n' '{"type":"turn_start"}'
printf '%s\n' '{"type":"tool_execution_start","toolCallId":"1","toolName":"bash","args":{"command":"grep -n Login a.txt"}}'
sed -i 's/line 1/login page/' a.txt; git commit -qam 'the login page'
printf '%s\n' '{"type":"turn_end","message":{"role":"assistant","content":[{"type":"text","text":"The login page is there.\nNothing else."}],"stopReason":"stop"}}'
printf '%s\n' '{"type":"agent_end","messages":[]}'
"#;

fn ids(left: &Value) -> Vec<String> {
    let all = left["result"]["artifacts"].as_array().unwrap();
    all.iter().map(|a| format!("{} {}", a["id"].as_str().unwrap(), a["title"].as_str().unwrap())).collect()
}

fn world() -> World {
    let world = World::new();
    let bin = world.root().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::write(bin.join("pi"), AGENT).unwrap();
    assert!(std::process::Command::new("chmod").arg("+x").arg(bin.join("pi")).status().unwrap().success());
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut dispatch =
        world.command(&["dispatch", "--wait", "--name", "login", "--agent", "pi", "Make a login"]);
    assert!(dispatch.env("PATH", path).output().unwrap().status.success());
    world
}

#[test]
fn everything_that_a_run_left_has_an_address() {
    let world = world();
    world.skein(&["check", "login", "--check", "grep -c login a.txt"]).ok();
    let left = world.skein(&["artifacts", "login", "--json"]).ok().json();
    assert_eq!(
        ids(&left),
        [
            "p1 Make a login",
            "c1 grep -n Login a.txt",
            "r1 The login page is there.",
            "e1 M a.txt",
            "v1 exit 0: grep -c login a.txt"
        ]
    );
    let text = world.skein(&["artifacts", "login"]).ok().out;
    assert!(text.starts_with("p1   prompt    ") && text.lines().count() == 5, "{text}");
    assert_eq!(
        world.skein(&["artifacts", "login", "r1"]).ok().out,
        "The login page is there.\nNothing else.\n"
    );
    assert!(world.skein(&["artifacts", "login", "e1"]).ok().out.contains("\n+login page\n"));
    assert_eq!(world.skein(&["artifacts", "login", "v1"]).ok().out, "exit 0: grep -c login a.txt\n1\n");
    assert_eq!(world.skein(&["artifacts", "login", "--kind", "edit"]).ok().out.lines().count(), 1);
    world.skein(&["artifacts", "login", "c9"]).refused("no-such-item", 1);
    world.skein(&["artifacts", "nobody"]).refused("no-such-worker", 1);
    world.skein(&["artifacts", "login", "--kind", "thing"]).code(129);
}

#[test]
fn what_waits_for_a_person_is_found_first() {
    let world = world();
    world.worker("asks", "git skein worker wait --question 'Which login?' --option old --option new");
    world.worker("fails", "echo login > l.txt; git add l.txt; git commit -qm l; exit 3");
    world.worker("idle", "true # no words");
    let hits = |args: &[&str]| -> Vec<String> {
        let found = world.skein(&[&["search", "--json"], args].concat()).ok().json();
        let all = found["result"]["found"].as_array().unwrap().clone();
        all.iter()
            .map(|h| format!("{}:{}", h["handle"].as_str().unwrap(), h["id"].as_str().unwrap()))
            .collect()
    };
    let found = hits(&["LOGIN"]);
    assert_eq!(found[..2], ["asks:q1", "fails:e1"]);
    assert!(found[2..].iter().all(|hit| hit.starts_with("login:")) && found.len() == 6, "{found:?}");
    assert_eq!(hits(&["login", "page", "--kind", "response"]), ["login:r1"]);
    assert_eq!(hits(&["-n", "1", "login"]), ["asks:q1"]);
    let text = world.skein(&["search", "-n", "1", "login"]).ok().out;
    assert_eq!(text, "asks:q1 needs-input question: Which login?\nand 5 more; -n shows them\n");
    world.skein(&["search", "nowhere at all"]).code(1);
    world.skein(&["search", " "]).refused("no-task", 1);

    // Closed, it is still found, at last.
    world.skein(&["land", "login"]).ok();
    assert!(world.skein(&["search", "page"]).ok().out.contains("login:r1 landed response:"));
    world.skein(&["reap", "login", "--yes"]).ok();
    let text = world.skein(&["search", "login"]).ok().out;
    assert!(text.starts_with("asks:q1") && text.contains("login:r1 closed response:"), "{text}");
    assert!(world.skein(&["artifacts", "login", "r1"]).ok().out.contains("Nothing else."));
    world.check();
}

/// Who was told what, what was laid out, claimed, seen and decided: all of it, of open workers and of closed ones.
#[test]
fn what_was_decided_and_what_was_seen_is_found() {
    let world = World::new();
    let hits = |args: &[&str]| -> Vec<String> {
        let found = world.skein(&[&["search", "--json"], args].concat()).json();
        let all = found["result"]["found"].as_array().unwrap().clone();
        all.iter()
            .map(|h| format!("{}:{}", h["handle"].as_str().unwrap(), h["id"].as_str().unwrap()))
            .collect()
    };
    world.worker("asks", "git skein worker wait --question 'Which hue?' --option teal --option plum");
    assert_eq!(hits(&["plum"]), ["asks:q1"]);
    world.skein(&["verdict", "asks", "answer", "--option", "2", "-m", "like ultramarine"]).ok();
    assert_eq!(hits(&["ultramarine", "--kind", "verdict"]), ["asks:d1"]);
    assert!(hits(&["ultramarine"]).contains(&"asks:p2".to_owned()), "as it was told");

    let plan =
        "git skein worker plan --goal 'Ships sail' --step 'Hoist -- n' --verify 'Look' --risk 'Scurvy'";
    world.worker("plans", plan);
    assert_eq!(hits(&["scurvy"]), ["plans:l1"]);
    let waits = world.skein(&["inbox"]).ok().out;
    assert!(
        waits.contains("a verdict on its plan: Ships sail") && waits.contains("git skein plan plans"),
        "{waits}"
    );

    let done = "echo 1 >n; git add n; git commit -qm n; git skein worker done --outcome complete --summary 'The file n is new' \
                --evidence 'wc -l walrus: 3 lines'";
    world.worker("good", done);
    assert_eq!(hits(&["walrus"]), ["good:k1"]);
    world.skein(&["check", "good", "--check", "echo the porpoise passed"]).ok();
    world.skein(&["verdict", "good", "reject", "-m", "there is no heron in it"]).ok();
    world.skein(&["verdict", "good", "accept", "-m", "the heron is there"]).ok();
    let mut both = hits(&["heron"]);
    both.sort();
    assert_eq!(both, ["good:d1", "good:d2"]);
    assert_eq!(
        world.skein(&["artifacts", "good", "d1"]).ok().out,
        "reject delta 1: there is no heron in it\nby Ada <ada@example.invalid>\n"
    );
    assert_eq!(hits(&["porpoise", "passed"]), ["good:v1"]);
    // It lands as another tree, on which the gate ran.
    world.write("other.txt", "other\n");
    world.commit("other");
    world.skein(&["land", "good", "--gate", "echo a dugong"]).ok();
    assert_eq!(hits(&["dugong"]), ["good:v2"]);
    world.skein(&["reap", "--yes", "good"]).ok();
    for (words, want) in
        [("heron", "good:d2"), ("porpoise", "good:v1"), ("dugong", "good:v2"), ("walrus", "good:k1")]
    {
        assert!(hits(&[words]).contains(&want.to_owned()), "{words}");
        assert!(world.skein(&["search", words]).ok().out.contains(" closed "), "{words}");
    }
    world.check();
}
