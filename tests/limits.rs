//! Agents that run into a usage limit: their workers are paused, and no other one of them starts before it passes.

use crate::agents::agent;
use crate::agents::recorded;
use crate::support::MOMENT;
use crate::support::Ran;
use crate::support::World;
use crate::support::acts::until;
use crate::support::ran;

/// When the limits of the fixtures pass, in seconds.
const PASSES: u64 = MOMENT / 1000 + 3600;

impl World {
    /// Runs a command of ours so many seconds after [`MOMENT`].
    fn at(&self, second: u64, args: &[&str]) -> Ran {
        let clock = (MOMENT + second * 1000).to_string();
        ran(self.command(args).env("SKEIN_CLOCK", clock).output().unwrap())
    }
}

/// Each prints its limit and exits as it does then.
fn limited(name: &str, fixture: &str) -> World {
    let code = if name == "claude" || name == "pi" { 1 } else { 0 };
    let code = if name == "aider" { 2 } else { code };
    agent(World::new(), name, &format!("echo half >half; {}; exit {code}", recorded(fixture)))
}

#[test]
fn each_agent_that_reaches_its_limit_is_paused_until_it_passes() {
    for (name, fixture) in [
        ("claude", "limit-claude"),
        ("claude", "limit-claude-event"),
        ("claude", "limit-claude-clock"),
        ("codex", "limit-codex"),
        ("gemini", "limit-gemini"),
        ("pi", "limit-pi"),
        ("opencode", "limit-opencode"),
        ("aider", "limit-aider"),
    ] {
        let world = limited(name, fixture);
        world.at(0, &["dispatch", "--wait", "--agent", name, "--name", "w", "Greet"]).code(3);
        let record = world.git(["show", &format!("refs/skein/worker/{}:record.json", world.ulid("w"))]);
        let record: serde_json::Value = serde_json::from_str(&record).unwrap();
        assert_eq!(record["paused"], PASSES, "{fixture}: {record}");
        assert_eq!(record["outcome"], "needs-input", "{fixture}");
        let status = world.at(1, &["status"]).ok().out;
        assert!(status.contains("paused until 2026-01-01T01:00:00Z"), "{fixture}: {status}");
        let refused = world.at(3599, &["dispatch", "--agent", name, "Another"]).refused("agent-paused", 75);
        assert!(refused.err.contains("2026-01-01T01:00:00Z") && refused.err.contains("--ignore-limit"));
    }
}

#[test]
fn a_pause_is_of_one_agent_and_ends() {
    let world = limited("codex", "limit-codex");
    let world = agent(world, "pi", &format!("echo 1 >n; git add n; git commit -qm n; {}", recorded("pi")));
    world.at(0, &["dispatch", "--wait", "--agent", "codex", "--name", "w", "Greet"]).code(3);
    let card = world.at(0, &["show", "w"]).ok().out;
    assert!(card.contains("  paused    until 2026-01-01T01:00:00Z\n"), "{card}");
    world.at(0, &["dispatch", "--wait", "--agent", "pi", "--name", "x", "Greet"]).ok();
    let path = world.root().join("bin/codex").display().to_string();
    world.at(0, &["dispatch", "T", "--", &path, "exec"]).refused("agent-paused", 75);
    world.at(0, &["dispatch", "--wait", "--name", "y", "--ignore-limit", "T", "--", &path]).code(3);
    assert_eq!(world.field("y", "outcome"), "needs-input");
    world.at(3600, &["dispatch", "--wait", "--agent", "codex", "--name", "z", "Greet"]).code(3);
    let status = world.at(7300, &["status"]).ok().out;
    assert!(!status.contains("paused until"), "{status}");
    world.at(7300, &["land", "w"]).refused("not-ready", 1);
    world.at(7300, &["import", "w", "--any-outcome"]).ok();
    world.check();
}

/// With the clock of the system: the limit passes while it is waited for.
#[test]
fn a_dispatch_may_stay_until_the_limit_passes() {
    let said = r#"{"type":"turn.failed","error":{"message":"usage limit reached, try again in 4 seconds"}}"#;
    let script = format!(
        "[ -e $HOME/limited ] && {{ echo 1 >n; git add n; git commit -qm n; {}; exit; }}
        touch $HOME/limited; echo '{said}'; exit 1",
        recorded("codex")
    );
    let world = agent(World::new(), "codex", &script);
    world.skein(&["dispatch", "--wait", "--agent", "codex", "--name", "w", "Greet"]).code(3);
    world.write("../tasks", "{\"task\":\"one\",\"name\":\"one\"}\n");
    let batch = vec!["dispatch", "--wait", "--from", "../tasks", "--agent", "codex"];
    let one = vec!["dispatch", "--wait", "--wait-limit", "--agent", "codex", "--name", "two", "two"];
    let done = world.at_once(&[batch, one]);
    for ran in &done {
        assert!(ran.code == 0 && ran.err.contains("waiting"), "{ran:?}");
    }
    let passes = world.git(["show", &format!("refs/skein/worker/{}:record.json", world.ulid("w"))]);
    let passes: serde_json::Value = serde_json::from_str(&passes).unwrap();
    for name in ["one", "two"] {
        assert!(world.field(name, "created").as_i64() >= passes["paused"].as_i64(), "{name} {passes}");
    }
}

#[test]
fn what_is_said_of_limits_is_not_one_that_is_reached() {
    let talk = r#"{"type":"item.completed","item":{"type":"agent_message","text":"usage limit reached|1767229200"}}"#;
    let retried = r#"{"type":"error","message":"429 rate limit, retry after 3600 s"}"#;
    let script = format!(
        "echo '{talk}'; echo '{retried}'; echo 1 >n; git add n; git commit -qm n; {}",
        recorded("codex")
    );
    let world = agent(World::new(), "codex", &script);
    world.at(0, &["dispatch", "--wait", "--agent", "codex", "--name", "w", "Greet"]).ok();
    // A command that ends well, whatever it prints last.
    let print = "echo 1 >n; git add n; git commit -qm n; echo 'usage limit reached|1767229200'";
    world.at(0, &["dispatch", "--wait", "--name", "x", "x", "--", "sh", "-c", print]).ok();
    let fails = format!("{print}; exit 1");
    world.at(0, &["dispatch", "--wait", "--name", "y", "y", "--", "sh", "-c", &fails]).code(3);
    // Which agent that was is not known, so nobody waits for it.
    world.at(0, &["dispatch", "--wait", "--name", "z", "z", "--", "sh", "-c", print]).ok();
    // A limit that has passed is none.
    world.at(3600, &["dispatch", "--wait", "--name", "v", "v", "--", "sh", "-c", &fails]).code(1);
}

#[test]
fn an_agent_that_ends_with_an_error_has_failed() {
    let failed = r#"{"type":"turn.failed","error":{"message":"529 overloaded"}}"#;
    let script = format!("echo 1 >n; git add n; git commit -qm n; echo '{failed}'");
    let world = agent(World::new(), "codex", &script);
    world.skein(&["dispatch", "--wait", "--agent", "codex", "--name", "w", "Greet"]).code(1);
    assert_eq!(world.field("w", "reason"), "its agent reports: 529 overloaded");
    assert_eq!(world.field("w", "commits"), 1, "its work is kept");
}

/// Nothing is queued: who is refused is not there, and asks again.
#[test]
fn no_more_are_active_than_the_person_wants() {
    let world = World::new();
    world.git(["config", "skein.maxActive", "1"]);
    let stays = "until test -f go; do sleep 0.02; done; rm go; git skein worker wait --question q";
    world.skein(&["dispatch", "--name", "one", "one", "--", "sh", "-c", stays]).ok();
    let two = ["dispatch", "--wait", "--name", "two", "two", "--", "true"];
    let refused = world.skein(&two).refused("too-many", 1).err;
    assert!(
        refused.contains("1 worker is active, and skein.maxActive is 1\n") && refused.contains("one\n"),
        "{refused}"
    );
    assert_eq!(world.git(["for-each-ref", "--format=%(refname)", "refs/skein/worker"]).lines().count(), 1);
    assert_eq!(world.below("repo.skein").len(), 1);
    std::fs::write(world.worktree("one").join("go"), "").unwrap();
    world.skein(&["wait", "one"]);
    world.skein(&two).ok();

    // Who is taken up again counts too, and who is started by another.
    let spawns = "git skein worker spawn x -- true; until test -f go; do sleep 0.02; done";
    world.skein(&["dispatch", "--spawn", "1", "--name", "three", "three", "--", "sh", "-c", spawns]).ok();
    world.skein(&["resume", "one"]).refused("too-many", 1);
    assert_eq!(world.field("one", "outcome"), "needs-input");
    until("the refusal of its child", || world.skein(&["show", "--log", "three"]).out.contains("too-many"));
    std::fs::write(world.worktree("three").join("go"), "").unwrap();
    world.skein(&["wait", "three"]);
    until("its end", || world.field("three", "liveness").is_null());

    // The tasks of a file wait for their turn.
    std::fs::write(world.root().join("tasks"), "{\"task\":\"a\"}\n{\"task\":\"b\"}\n").unwrap();
    world.skein(&["dispatch", "--from", "../tasks", "-j", "2", "--wait", "--", "sleep", "0.2"]).ok();
    for bad in ["0", "few"] {
        world.git(["config", "skein.maxActive", bad]);
        world.skein(&two).refused("bad-limit", 1);
    }
    world.check();
}
