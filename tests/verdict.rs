//! Verdicts: bound to the one delta or question that was looked at, written with what they do to the worker, heard by
//! every landing, and told afterwards from any clone that has the refs.

use crate::jail::possible;
use crate::support::World;
use crate::support::acts::until;
use serde_json::Value;
use std::fs;

const WORK: &str = "echo one >new.txt && git add -A && git commit -qm work";

/// The newest record of the lane that is a verdict.
fn verdict(world: &World) -> Value {
    let log = world.skein(&["log", "decisions", "--json"]).ok().json();
    log["result"]["entries"][0].clone()
}

fn record(world: &World, worker: &str) -> Value {
    let name = format!("refs/skein/worker/{}:record.json", world.ulid(worker));
    serde_json::from_str(&world.git(["show", &name])).unwrap()
}

/// The id that the card says.
fn seen(world: &World, worker: &str) -> String {
    let card = world.skein(&["verdict", worker, "--json"]).ok().json();
    card["result"]["subject"].as_str().unwrap().to_owned()
}

/// A commit more in the worktree of `worker`, by the worker's name.
fn goes_on(world: &World, worker: &str, script: &str) {
    let place = world.worktree(worker);
    let mail = format!("{}@worker.skein.invalid", world.ulid(worker));
    let who = format!("git config user.name w; git config user.email {mail}; {script}");
    let status = std::process::Command::new("sh").args(["-c", &who]).current_dir(place).status().unwrap();
    assert!(status.success());
}

/// The policy on the trunk.
fn policy(world: &World, text: &str) {
    world.write(".skein/policy.toml", text);
    world.commit("policy");
}

#[test]
fn what_was_looked_at_is_accepted_and_lands() {
    let world = World::new();
    policy(&world, "require_verdict = true\nlater = 1\n");
    world.worker("w", WORK);
    world.worker("v", "echo two >new.txt; echo x >auth.rs; git add -A; git commit -qm work");
    let before = world.git(["for-each-ref"]);
    let card = world.skein(&["verdict", "w"]).ok();
    assert!(card.out.contains("risk      medium (changed by others too: v)"), "{}", card.out);
    assert!(
        card.out.contains("meets     v in new.txt: conflicts") && card.out.contains("--delta 1:"),
        "{}",
        card.out
    );
    assert!(card.out.contains("next: git skein verdict w accept|reject|revise|retry\n"), "{}", card.out);
    let grave = world.skein(&["verdict", "v"]).ok().out;
    assert!(grave.contains("risk      high (sensitive: auth.rs; "), "{grave}");
    assert_eq!(world.git(["for-each-ref"]), before, "to look writes nothing");

    world.skein(&["land", "w", "--dry-run"]).refused("not-accepted", 1);
    world.skein(&["land", "w"]).refused("not-accepted", 1);
    world.skein(&["import", "w", "--into", "coord"]).refused("not-accepted", 1);
    assert!(!world.exists("refs/heads/coord"));
    let id = seen(&world, "w");
    let done = world.skein(&["verdict", "w", "accept", "--delta", &id, "-m", "fine"]).ok();
    assert!(done.out.starts_with(&format!("accept: w {id}\n")), "{}", done.out);
    assert!(done.err.contains("later is not known here"), "{}", done.err);
    world.skein(&["verdict", "w", "accept"]).refused("verdict-given", 1);
    let card = world.skein(&["verdict", "w"]).ok().out;
    assert!(card.contains("verdict   accept delta 1 by Ada <ada@example.invalid>\n"), "{card}");
    assert!(card.ends_with("next: git skein land w\n"), "{card}");
    let (lane, kept) = (verdict(&world), record(&world, "w"));
    assert_eq!(kept["judged"][0]["op"], lane["op"]);
    assert_eq!((&lane["verb"], &lane["delta"], &lane["text"]), (&"accept".into(), &1.into(), &"fine".into()));
    assert_eq!(lane["actor"], "Ada <ada@example.invalid>");
    assert_eq!(lane["raw"], kept["judged"][0]["raw"]);
    // The first record of a lane, and what it keeps.
    world.skein(&["fsck"]).ok();
    world.skein(&["land", "w"]).ok();
    world.check();
}

#[test]
fn a_delta_that_moved_is_asked_for_again_and_one_that_is_the_same_is_not() {
    let world = World::new();
    world.git(["config", "skein.requireVerdict", "true"]);
    world.worker("w", WORK);
    let first = seen(&world, "w");
    goes_on(&world, "w", "echo two >>new.txt && git commit -qam more");
    let stale = world.skein(&["verdict", "w", "accept", "--delta", &first]).refused("verdict-stale", 4);
    let second = seen(&world, "w");
    assert_ne!(first, second);
    assert!(stale.err.contains(&second) && stale.err.contains("git range-diff "), "{}", stale.err);
    let unnamed = world.skein(&["verdict", "w", "accept"]).refused("verdict-stale", 4);
    assert!(unnamed.err.contains(&second), "{}", unnamed.err);
    world.skein(&["verdict", "w", "accept", "--delta", &second]).ok();

    // Other commits, the same changes.
    goes_on(&world, "w", "git commit -q --amend -m otherwise");
    let card = world.skein(&["verdict", "w"]).ok().out;
    assert!(card.contains("accept") && card.contains("carries over, the changes are the same"), "{card}");
    // Other changes: what was judged is something else.
    goes_on(&world, "w", "echo three >>new.txt && git commit -qam three");
    let card = world.skein(&["verdict", "w"]).ok().out;
    assert!(
        card.contains("what is there now is something else") && card.contains("git range-diff"),
        "{card}"
    );
    let barred = world.skein(&["land", "w"]).refused("not-accepted", 1);
    let show = barred.shown();
    let words: Vec<&str> = show.strip_prefix("git ").unwrap().split(' ').collect();
    assert!(world.git(&words).contains("three"), "{show}");
    goes_on(&world, "w", "git reset -q --hard HEAD~");
    let landed = world.skein(&["land", "w"]).ok();
    assert!(landed.err.contains("the verdict on delta 2 carries over"), "{landed:?}");
    world.check();
}

#[test]
fn what_was_rejected_lands_only_when_it_is_accepted_after_all() {
    let world = World::new();
    world.worker("w", WORK);
    world.worker("v", "echo v >v.txt && git add -A && git commit -qm v");
    world.skein(&["verdict", "w", "reject", "-m", "no"]).ok();
    assert!(world.skein(&["status"]).ok().out.contains("git skein verdict w\n"));
    world.skein(&["land", "w"]).refused("rejected", 1);
    world.skein(&["land", "w", "--gate", "true"]).refused("rejected", 1);
    world.skein(&["candidate", "create", "w"]).ok();
    world.skein(&["candidate", "admit", "w", "--gate", "true"]).ok();
    world.skein(&["candidate", "integrate", "w"]).refused("rejected", 1);
    let all = world.skein(&["land", "--all", "--json"]).json();
    assert_eq!(all["result"]["plan"]["left_out"][0]["token"], "rejected", "{all}");
    world.skein(&["landed", "v"]).ok();
    assert_eq!(record(&world, "w")["outcome"], "ready", "it is kept");
    let landed = world.skein(&["land", "--accept", "w"]).ok();
    assert!(landed.err.contains("accepted: w 1:"), "{landed:?}");
    let verbs: Vec<Value> = world.skein(&["log", "decisions", "--json"]).ok().json()["result"]["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["verb"].clone())
        .collect();
    assert_eq!(verbs, ["accept", "reject"]);
    world.skein(&["fsck"]).ok();
    world.check();
}

#[test]
fn only_whom_the_trunk_names_may_judge() {
    let world = World::new();
    policy(&world, "require_verdict = true\nverdict_actors = ['bob@example.invalid']\n");
    // What a fork says of the policy counts for nothing; its own change of it is refused on its own.
    world.worker("w", &format!("mkdir -p .skein; echo >.skein/policy.toml; {WORK}"));
    world.skein(&["verdict", "w", "accept"]).refused("may-not-judge", 1);
    world.worker("v", WORK);
    world.skein(&["land", "v"]).refused("not-accepted", 1);
    world.skein(&["land", "--accept", "v"]).refused("may-not-judge", 1);
    world.git(["config", "user.email", "Bob@example.invalid"]);
    world.skein(&["verdict", "v", "accept"]).ok();
    world.git(["config", "user.email", "ada@example.invalid"]);
    policy(&world, "require_verdict = true\nverdict_actors = ['eve@example.invalid']\n");
    world.skein(&["land", "v"]).refused("may-not-judge", 1);
    policy(&world, "require_verdict = perhaps\n");
    world.skein(&["land", "v"]).refused("bad-policy", 1);
    world.skein(&["verdict", "v", "reject"]).refused("bad-policy", 1);
    policy(&world, "require_verdict = true\n");
    world.skein(&["land", "v"]).ok();
    world.check();
}

#[test]
fn an_agent_never_judges_and_another_clone_does_not() {
    let world = World::new();
    let inside = "git skein verdict w accept; echo $? >code; git skein land --accept w; echo $? >>code; git add -A; \
                  git commit -qm x";
    world.worker("w", inside);
    assert_eq!(fs::read_to_string(world.worktree("w").join("code")).unwrap(), "1\n1\n");
    let log = world.skein(&["show", "--log", "w"]).ok().out;
    assert_eq!(log.matches("refused: in-worker").count(), 2, "{log}");

    let id = world.ulid("w");
    world.git(["clone", "-q", ".", "../other"]);
    let mut other = World::empty();
    other.cwd = world.root().join("other");
    other.git(["fetch", "-q", "origin", "+refs/skein/*:refs/skein/*"]);
    other.git(["config", "user.name", "Ada"]);
    other.git(["config", "user.email", "ada@example.invalid"]);
    let card = other.skein(&["verdict", &id]).ok().out;
    assert!(card.contains("hindered  foreign-worker"), "{card}");
    for args in [&["verdict", &id, "accept"][..], &["plan", &id, "approve"], &["tell", &id, "go on"]] {
        other.skein(args).refused("foreign-worker", 1);
    }
    assert_eq!(other.skein(&["inbox"]).ok().out, "nothing waits for you\n");
}

/// A worker that asks with options, and when it goes on, says what it was told.
fn asking(question: &str) -> World {
    let script = format!(
        "if [ -e asked ]; then cat >said; git add said; git commit -qm s; exit; fi\ntouch asked\n{question}"
    );
    let world = World::new();
    world.skein(&["dispatch", "--wait", "--name", "w", "Paint", "--", "sh", "-c", &script]).code(3);
    world
}

#[test]
fn an_answer_goes_to_one_exact_question() {
    let world = asking("git skein worker wait --question Which --option red --option blue");
    let card = world.skein(&["verdict", "w"]).ok().out;
    assert!(card.contains("option    2 (q1): blue\n") && card.contains("--delta q1\n"), "{card}");
    assert!(card.contains("next: git skein verdict w answer|retry|stop\n"), "{card}");
    for verb in ["accept", "reject"] {
        world.skein(&["verdict", "w", verb]).refused("not-ready", 1);
    }
    world.skein(&["verdict", "w", "answer"]).refused("no-task", 1);
    world.skein(&["verdict", "w", "answer", "--option", "3"]).refused("no-such-option", 1);
    world.skein(&["verdict", "w", "answer", "--option", "0"]).refused("no-such-option", 1);
    world.skein(&["verdict", "w", "stop", "--option", "1"]).refused("no-such-option", 1);
    world.skein(&["verdict", "w", "answer", "--delta", "q2", "-m", "x"]).refused("verdict-stale", 4);
    let done = world.skein(&["verdict", "w", "answer", "--option", "2", "-m", "dark", "--delta", "q1"]).ok();
    assert!(done.out.contains("answer: w q1\n  answers   Which\n"), "{}", done.out);
    world.skein(&["verdict", "w", "answer", "--option", "2"]).refused("no-such-question", 1);
    let said = verdict(&world);
    assert_eq!((&said["question"], &said["option"], &said["delta"]), (&1.into(), &2.into(), &Value::Null));
    let kept = record(&world, "w");
    assert_eq!(kept["messages"][0]["text"], "blue\n\ndark");
    assert_eq!((&kept["messages"][0]["to"], kept.get("judged")), (&1.into(), None));
    world.skein(&["resume", "w"]).ok();
    world.skein(&["wait", "w"]).ok();
    assert!(fs::read_to_string(world.worktree("w").join("said")).unwrap().contains("blue\n\ndark"));
    world.check();
}

#[test]
fn of_two_questions_one_is_named() {
    let world = asking(
        "git skein worker wait --stay --question one --timeout 1s; git skein worker wait --question two",
    );
    let which = world.skein(&["verdict", "w", "answer", "-m", "x"]).refused("verdict-stale", 4);
    assert!(which.err.contains("q1: one") && which.err.contains("q2: two"), "{}", which.err);
    world.skein(&["verdict", "w", "answer", "-m", "x", "--delta", "q2"]).ok();
    world.skein(&["verdict", "w", "answer", "-m", "y"]).ok();
    let kept = record(&world, "w");
    assert_eq!((&kept["messages"][0]["to"], &kept["messages"][1]["to"]), (&2.into(), &1.into()));
    world.skein(&["verdict", "w", "stop"]).ok();
    assert_eq!(record(&world, "w")["outcome"], "stopped");
    world.skein(&["verdict", "w", "stop"]).refused("not-ready", 1);
    world.check();
}

#[test]
fn work_that_is_sent_back_goes_on_with_what_was_said() {
    for level in if possible() { &["none", "bwrap"][..] } else { &["none"] } {
        sent_back(level);
    }
}

fn sent_back(level: &str) {
    let world = World::new();
    let script = "if [ -e new.txt ]; then cat >said; git add said; git commit -qm said; exit; fi
        echo one >new.txt; git add -A; git commit -qm work";
    let dispatch = ["dispatch", "--wait", "--jail", level, "--name", "w", "Work", "--", "sh", "-c", script];
    world.skein(&dispatch).ok();
    world.skein(&["verdict", "w", "revise"]).refused("no-task", 1);
    let first = seen(&world, "w");
    let done = world.skein(&["verdict", "w", "revise", "-m", "and a test", "--delta", &first]).ok();
    assert!(done.out.contains("next: git skein wait w"), "{done:?}");
    world.skein(&["wait", "w"]).ok();
    assert!(fs::read_to_string(world.worktree("w").join("said")).unwrap().contains("and a test"));
    let kept = record(&world, "w");
    assert_eq!((&kept["outcome"], &kept["judged"][0]["verb"]), (&"ready".into(), &"revise".into()));
    let inbox = world.skein(&["inbox"]).ok().out;
    assert!(inbox.contains("a verdict again: its work changed"), "{inbox}");
    assert_ne!(seen(&world, "w"), first);
    world.check();
}

#[test]
fn another_worker_gets_the_task() {
    let world = World::new();
    let script = "cat >brief; test -e ../w-2 || exit 1; git add brief; git commit -qm again";
    world.worker("w", script);
    assert_eq!(world.field("w", "outcome"), "failed");
    world.skein(&["verdict", "w", "accept"]).refused("not-ready", 1);
    let card = world.skein(&["verdict", "w"]).ok().out;
    assert!(card.contains("hindered  w is failed: exit code 1\n"), "{card}");
    assert!(card.contains("--delta run:") && card.ends_with("verdict w reject|revise|retry\n"), "{card}");
    let done = world.skein(&["verdict", "w", "retry", "-m", "more slowly"]).ok();
    assert!(done.out.contains("retry     w-2\n"), "{done:?}");
    world.skein(&["wait", "w-2"]).ok();
    assert!(fs::read_to_string(world.worktree("w-2").join("brief")).unwrap().contains("more slowly"));
    assert_eq!(record(&world, "w-2")["retries"], world.ulid("w").as_str());
    assert_eq!(verdict(&world)["retry"], world.ulid("w-2").as_str());
    world.skein(&["verdict", "w", "retry"]).refused("verdict-given", 1);
    world.skein(&["land", "w", "--any-outcome"]).refused("rejected", 1);
    assert!(world.skein(&["inbox"]).ok().out.contains("reap --include-unlanded w\n"));
    world.check();
}

#[test]
fn a_running_worker_is_only_stopped() {
    let world = World::new();
    let script = "echo x >x; while :; do sleep 0.1; done";
    world.skein(&["dispatch", "--name", "w", "Run", "--", "sh", "-c", script]).ok();
    until("the work", || world.root().join("repo.skein/w/x").exists());
    for verb in ["accept", "reject", "retry"] {
        world.skein(&["verdict", "w", verb]).refused("still-running", 1);
    }
    world.skein(&["verdict", "w", "answer", "-m", "x"]).refused("no-such-question", 1);
    let done = world.skein(&["verdict", "w", "stop"]).ok();
    assert!(done.out.starts_with("stop: w run:"), "{done:?}");
    let kept = record(&world, "w");
    assert_eq!((&kept["outcome"], &kept["judged"][0]["verb"]), (&"stopped".into(), &"stop".into()));
    world.check();
}

#[test]
fn a_retry_that_was_cut_short_starts_one_worker_when_it_is_given_again() {
    let world = World::new();
    world.worker("w", "exit 3");
    let place = world.root().join("repo.skein/w-2");
    fs::create_dir(&place).unwrap();
    let done = world.skein(&["verdict", "w", "retry"]).ok();
    assert!(done.err.contains("not started: worktree-exists"), "{done:?}");
    assert!(done.out.ends_with("git skein verdict w retry\n"), "{done:?}");
    fs::remove_dir(&place).unwrap();
    world.skein(&["verdict", "w", "retry"]).ok();
    world.skein(&["wait", "w-2"]).code(1);
    world.skein(&["verdict", "w", "retry"]).refused("verdict-given", 1);
    assert_eq!(verdict(&world)["retry"], world.ulid("w-2").as_str());
    assert_eq!(world.skein(&["log", "decisions"]).ok().out.matches("retry w by").count(), 1);
    world.skein(&["reap", "--yes", "--include-unlanded", "w-2"]).ok();
    world.skein(&["verdict", "w", "retry"]).refused("verdict-given", 1);
    world.check();
}

#[test]
fn a_worker_that_waits_for_its_answer_has_it_at_once() {
    let world = World::new();
    let script =
        "git skein worker wait --stay --question Which --option red >said; git add said; git commit -qm s";
    world.skein(&["dispatch", "--name", "w", "Ask", "--", "sh", "-c", script]).ok();
    until("the question", || world.skein(&["inbox"]).out.contains("an answer: Which"));
    world.skein(&["verdict", "w", "accept"]).refused("not-ready", 1);
    world.skein(&["verdict", "w", "answer", "--option", "1"]).ok();
    world.skein(&["wait", "w"]).ok();
    assert!(fs::read_to_string(world.worktree("w").join("said")).unwrap().contains("red"));
    assert_eq!(verdict(&world)["verb"], "answer");
}

/// What was not committed is judged as it would be taken in, and two who say the same at once are one verdict.
#[test]
fn of_two_at_once_one_is_given() {
    let world = World::new();
    world.worker("w", "echo one >new.txt");
    let id = seen(&world, "w");
    let accept = vec!["verdict", "w", "accept", "--delta", &id];
    let mut codes: Vec<i32> = world.at_once(&[accept.clone(), accept]).into_iter().map(|r| r.code).collect();
    codes.sort_unstable();
    assert_eq!(codes, [0, 1]);
    assert_eq!(world.skein(&["log", "decisions"]).ok().out.matches("accept w 1:").count(), 1);
    world.git(["config", "skein.requireVerdict", "true"]);
    world.skein(&["land", "w"]).ok();
    world.check();
}

/// Its session is taken up where it is still there; the jail's went when the worker was ready, so it begins anew.
#[test]
fn an_agent_with_sessions_is_sent_back_into_its_own() {
    for (level, session) in [("none", true), ("bwrap", false)] {
        if level == "bwrap" && !possible() {
            continue;
        }
        let done = "git add half; git commit -qm half; git skein worker done --outcome complete --summary 'half was made' --evidence 'git log: half'";
        let world = crate::resume::asking(done);
        let dispatch = ["dispatch", "--wait", "--jail", level, "--agent", "codex", "--name", "w", "Paint"];
        let ended = world.skein(&dispatch);
        assert_eq!(ended.code, 0, "{ended:?}");
        let back = world.skein(&["verdict", "w", "revise", "-m", "the other half"]).ok();
        assert!(back.out.contains("wait w"), "{back:?}");
        world.skein(&["wait", "w"]).ok();
        let log = world.skein(&["show", "--log", "w"]).ok().out;
        let said = fs::read_to_string(world.worktree("w").join("said"));
        assert_eq!(said.is_ok_and(|said| said.contains("\nthe other half\n")), session, "{level}: {log}");
        assert!(record(&world, "w")["messages"][0]["read"].is_number(), "{level}");
        world.check();
    }
}

/// Killed right after it was recorded: the worker does not run, and what there is says how it goes on; said again it goes on.
#[test]
fn a_revision_that_was_cut_short_waits_to_be_taken_up() {
    let world = World::new();
    let script = "if [ -e new.txt ]; then cat >said; git add said; git commit -qm said; exit; fi
        echo one >new.txt; git add -A; git commit -qm work";
    world.worker("w", script);
    let mut command = world.command(&["verdict", "w", "revise", "-m", "and a test"]);
    let ended = command.env("SKEIN_FAULT", "verdict: recorded:1:kill").output().unwrap();
    assert_eq!(ended.status.code(), None);
    assert!(world.skein(&["inbox"]).ok().out.contains("being taken up again"));
    assert!(world.skein(&["status"]).ok().out.contains("git skein resume w\n"));
    world.skein(&["verdict", "w", "revise", "-m", "and a test"]).ok();
    world.skein(&["wait", "w"]).ok();
    let said = fs::read_to_string(world.worktree("w").join("said")).unwrap();
    assert_eq!(said.matches("and a test").count(), 1);
    assert_eq!(world.skein(&["log", "decisions"]).ok().out.matches("revise w").count(), 1);
    world.check();
}
