//! What commands say is what is so: in text and in JSON, once, and with a next step that helps.

use crate::support::World;
use crate::support::acts::until;
use serde_json::Value;
use std::fs;
use std::io::BufRead;
use std::io::BufReader;
use std::process::Stdio;

const WORK: &str = "sed -i s/1/one/ a.txt && git commit -qam fixed";

#[test]
fn liveness_is_of_those_that_run() {
    let world = World::new();
    world.worker("fix", WORK);
    world.skein(&["dispatch", "--name", "long", "long", "--", "sleep", "600"]).ok();
    let status = world.skein(&["status", "--json"]).ok().json();
    let live = |n: usize| status["result"]["workers"][n]["liveness"].clone();
    assert_eq!((live(0), live(1)), (Value::Null, "live".into()));
    world.skein(&["stop", "long"]).ok();
    fs::remove_dir_all(world.path(".git/skein/run")).unwrap();
    assert!(world.field("fix", "liveness").is_null());
}

#[test]
fn a_branch_that_is_gone_has_no_distance() {
    let world = World::new();
    world.git(["branch", "other"]);
    world.skein(&["dispatch", "--wait", "--onto", "other", "--name", "w", "w", "--", "sh", "-c", WORK]).ok();
    assert!(world.skein(&["show", "w"]).ok().out.contains("(0 behind other)"));
    world.git(["branch", "-D", "other"]);
    let card = world.skein(&["show", "w"]).ok().out;
    assert!(card.contains("(there is no branch other)"), "{card}");
    assert!(world.field("w", "behind").is_null());
    let record = world.skein(&["status", "--porcelain"]).ok().out;
    assert_eq!(record.lines().next().unwrap().split('\t').nth(11), Some("-"), "{record}");
}

#[test]
fn a_watch_in_json_has_a_picture_in_each_line() {
    let world = World::new();
    world.worker("fix", WORK);
    let mut watch = world.command(&["status", "--watch", "--json"]);
    let mut watch = watch.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(watch.stdout.take().unwrap()).read_line(&mut line).unwrap();
    watch.kill().unwrap();
    watch.wait().unwrap();
    let once = world.skein(&["status", "--json"]).ok().json();
    let seen: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(seen["result"]["workers"][0]["next"], once["result"]["workers"][0]["next"]);
}

#[test]
fn a_reason_is_not_said_twice() {
    let world = World::new();
    let ran =
        world.skein(&["dispatch", "--wait", "--name", "w", "w", "--", "sh", "-c", "echo 1 >new"]).code(3);
    assert_eq!(ran.out.matches("uncommitted").count(), 1, "{}", ran.out);
    let ran =
        world.skein(&["dispatch", "--wait", "--name", "x", "x", "--", "sh", "-c", "echo 1 >new; exit 3"]);
    assert!(ran.out.contains("[uncommitted]"), "{}", ran.out);
}

#[test]
fn a_limit_of_no_time_is_none() {
    let world = World::new();
    for option in ["--timeout", "--silence"] {
        for none in ["0", "0s", "0m"] {
            let ran = world.skein(&["dispatch", option, none, "w", "--", "true"]);
            assert_eq!(ran.code, 129, "{ran:?}");
            assert!(ran.err.contains("leave it out for no limit"), "{ran:?}");
        }
    }
    assert_eq!(world.git(["for-each-ref", "refs/skein"]), "");
}

#[test]
fn a_file_of_tasks_may_be_missing_or_begin_with_a_mark() {
    let world = World::new();
    let refused = world.skein(&["dispatch", "--from", "nosuch.jsonl"]).refused("no-task", 1);
    assert!(
        refused.err.contains("a task in each line") && !refused.err.contains("as an argument"),
        "{refused:?}"
    );
    fs::write(world.root().join("tasks"), "\u{feff}{\"task\":\"t\",\"name\":\"t\",\"argv\":[\"true\"]}\n")
        .unwrap();
    world.skein(&["dispatch", "--from", "../tasks", "--wait"]).ok();
    assert_eq!(world.field("t", "outcome"), "ready");
}

#[test]
fn a_candidate_of_what_has_landed_says_so() {
    let world = World::new();
    world.worker("fix", WORK);
    world.skein(&["land", "fix"]).ok();
    let landed = world.head();
    let ran = world.skein(&["candidate", "create", "fix"]).ok();
    assert!(ran.out.contains("candidate of fix already integrated"), "{}", ran.out);
    let json = world.skein(&["candidate", "create", "fix", "--json"]).ok().json()["result"].clone();
    assert_eq!((&json["already"], &json["new"]), (&true.into(), &landed.into()));
    assert_eq!(world.git(["for-each-ref", "refs/skein-local/candidate"]), "");
    world.git(["revert", "--no-edit", "HEAD"]);
    world.skein(&["candidate", "create", "fix"]).refused("reverted", 1);
}

#[test]
fn who_waits_and_who_is_silent_is_told_with_the_time() {
    let world = World::new();
    world.worker("asks", "git skein worker wait --question 'Which?'");
    world.skein(&["dispatch", "--name", "still", "still", "--", "sh", "-c", "echo so; sleep 600"]).ok();
    let log = world.path(".git/skein/run").join(world.ulid("still")).join("log");
    until("it has spoken", || fs::read_to_string(&log).is_ok_and(|text| text.contains("so")));
    let text = world.skein(&["status"]).ok().out;
    assert!(!text.contains("waiting") && !text.contains("silent"), "that is not long: {text}");
    assert!(world.field("asks", "waits").as_i64().is_some_and(|s| s < 60));
    // Four minutes later, by the age of its last words and by the clock.
    let then = std::time::SystemTime::now() - std::time::Duration::from_secs(245);
    fs::File::options().append(true).open(&log).unwrap().set_modified(then).unwrap();
    let events = log.with_file_name("events.jsonl");
    if let Ok(file) = fs::File::options().append(true).open(&events) {
        file.set_modified(then).unwrap();
    }
    let text = world.skein(&["status"]).ok().out;
    assert!(text.lines().any(|l| l.starts_with("still ") && l.contains("silent 4m")), "{text}");
    assert!(world.skein(&["show", "still"]).ok().out.contains("  liveness  silent 4m\n"));
    world.skein(&["stop", "still"]).ok();
}
