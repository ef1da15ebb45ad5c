//! Agents that are known by name: how they are called, when they are done, and what of their words is shown.

use crate::support::World;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

/// A program of that name, first in the `PATH`, that does what `script` says.
pub fn agent(world: World, name: &str, script: &str) -> World {
    let bin = world.root().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let program = bin.join(name);
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    world.env("PATH", &path)
}

/// The shell command that prints what an agent once printed. It reads no file: the folder of the fixtures may be
/// hidden in a jail.
pub fn recorded(name: &str) -> String {
    let file = format!("{}/fixtures/agents/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(file).unwrap();
    format!("printf '%s\\n' '{}'", text.trim_end().replace('\'', r"'\''"))
}

#[test]
fn an_agent_is_called_by_its_name() {
    let script = format!(
        "printf '%s\\n' \"$@\" > called; git add called; git commit -qm called; {}",
        recorded("codex")
    );
    let world = agent(World::new(), "codex", &script);
    world.skein(&["dispatch", "--wait", "--agent", "codex", "--name", "w", "Greet the world"]).ok();
    world.skein(&["land", "w"]).ok();
    let called = world.git(["show", "main:called"]);
    let prompt = called.strip_prefix("exec\n--json\n--sandbox\nworkspace-write\nGreet the world\n\n---\n\n");
    let prompt = prompt.unwrap_or_else(|| panic!("{called}"));
    assert!(prompt.contains("nobody else's work") && prompt.contains("Do not use `git push`"), "{prompt}");
    let said = world.field("w", "said");
    assert_eq!(
        (&said["tools"], &said["tokens_in"]),
        (&serde_json::json!(2), &serde_json::json!(3)),
        "{said}"
    );
    let card = world.skein(&["show", "w"]).ok().out;
    assert!(card.contains("1 turn, 2 tool calls, 3 tokens in, 3 out\n"), "{card}");
    assert!(card.contains("said      The greeting is for the world now.\n"), "{card}");
    // By configuration, and beside it any command.
    world.git(["config", "skein.agent", "codex"]);
    world.skein(&["dispatch", "--wait", "--name", "x", "Greet again"]).ok();
    assert_eq!(world.field("x", "agent")[0], "codex");
    world.skein(&["dispatch", "--wait", "--name", "y", "y", "--", "true"]).ok();
    assert_eq!(world.field("y", "agent"), serde_json::json!(["true"]));
    world.git(["config", "skein.agent", "hal"]);
    let ran = world.skein(&["dispatch", "Open the doors"]).refused("agent-not-found", 1);
    assert!(ran.err.contains("known are claude, codex, pi"), "{}", ran.err);
}

#[test]
fn an_agent_that_stays_after_its_last_word_is_done() {
    let stays = |name: &str| {
        let script = format!("echo 1 > n; git add n; git commit -qm n; {}; sleep 600", recorded(name));
        let world = agent(World::new(), name, &script);
        let started = Instant::now();
        world.skein(&["dispatch", "--wait", "--agent", name, "--name", "w", "Greet the world"]).ok();
        assert!(started.elapsed().as_secs() < 60);
        assert_eq!(world.field("w", "outcome"), "ready", "{name}");
        assert_eq!(world.field("w", "said")["done"], true, "{name}");
    };
    // Each is given some time to end by itself: they have it together.
    std::thread::scope(|scope| {
        for name in ["claude", "codex", "pi", "opencode", "gemini"] {
            scope.spawn(move || stays(name));
        }
    });
}

#[test]
fn an_agent_that_is_done_may_put_itself_in_order() {
    let script = format!("{}; sleep 0.5; echo 1 > n; git add n; git commit -qm n", recorded("pi"));
    let world = agent(World::new(), "pi", &script);
    world.skein(&["dispatch", "--wait", "--agent", "pi", "--name", "w", "Greet the world"]).ok();
    assert_eq!(world.field("w", "commits"), 1);
}

#[test]
fn tasks_of_a_file_have_the_same_agent() {
    let world =
        agent(World::new(), "pi", &format!("echo 1 > n; git add n; git commit -qm n; {}", recorded("pi")));
    world.write(
        "../tasks",
        "{\"task\":\"one\",\"name\":\"one\"}\n{\"task\":\"two\",\"name\":\"two\",\"argv\":[\"true\"]}\n",
    );
    world.skein(&["dispatch", "--wait", "--from", "../tasks", "--agent", "pi"]).ok();
    assert_eq!(world.field("one", "agent")[0], "pi");
    assert_eq!(world.field("two", "agent"), serde_json::json!(["true"]));
}
