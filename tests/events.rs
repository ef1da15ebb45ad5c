//! What is known of a run while it goes on and after it: the events of one worker.

use crate::agents::agent;
use crate::agents::recorded;
use crate::support::World;
use crate::support::acts::until;
use serde_json::Value;
use std::fs;

impl World {
    fn told(&self, worker: &str) -> String {
        self.skein(&["show", "--events", worker]).ok().out
    }

    /// The events in the record of a worker, as git has them.
    fn recorded_events(&self, worker: &str) -> Vec<Value> {
        let name = format!("refs/skein/worker/{}:events.jsonl", self.ulid(worker));
        let text = self.git(["cat-file", "blob", &name]);
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

#[test]
fn all_agents_have_the_same_events() {
    for name in ["claude", "codex", "pi", "opencode", "gemini"] {
        let script = format!("echo 1 > n; git add n; git commit -qm n; {}", recorded(name));
        let world = agent(World::new(), name, &script);
        world.skein(&["dispatch", "--wait", "--agent", name, "--name", "w", "Greet the world"]).ok();
        let events = world.recorded_events("w");
        let kinds: Vec<&str> = events.iter().map(|e| e["kind"].as_str().unwrap()).collect();
        for kind in ["turn", "tool", "text", "usage", "done"] {
            assert!(kinds.contains(&kind), "{name}: no {kind} in {kinds:?}");
        }
        let tool = events.iter().find(|e| e["kind"] == "tool").unwrap();
        assert!(tool["text"].as_str().unwrap().contains("greeting.txt"), "{tool}");
        let card = world.skein(&["show", "w"]).ok().out;
        // The folder of the run is disposable: the record says the same.
        fs::remove_dir_all(world.path(".git/skein/run")).unwrap();
        assert_eq!(world.skein(&["show", "w"]).ok().out, card, "{name}");
        assert!(world.told("w").contains("text: The greeting is for the world now.\n"), "{name}");
        world.check();
    }
}

#[test]
fn events_are_read_while_a_worker_runs_and_nothing_in_them_reaches_the_terminal() {
    let said = r#"{"type":"item.completed","item":{"type":"agent_message","text":"Look: \u001b[2J sk-abcdefghijklmnopqrstuvwx"}}"#;
    let script =
        format!("echo '{said}'; printf '\\000\\r\\n{{\"type\":\\n'; until [ -e go ]; do sleep 0.02; done");
    let world = agent(World::new(), "codex", &script);
    world.skein(&["dispatch", "--agent", "codex", "--name", "w", "Look"]).ok();
    until("the event is there", || world.told("w").contains("text: Look: "));
    let told = world.told("w");
    assert!(told.contains("***") && !told.contains("sk-abc") && !told.contains("\x1b[2J"), "{told}");
    let none =
        world.try_git(["cat-file", "-e", &format!("refs/skein/worker/{}:events.jsonl", world.ulid("w"))]);
    assert!(!none.status.success(), "the record gets them at the end");
    fs::write(world.worktree("w").join("go"), "").unwrap();
    world.skein(&["wait", "w"]);
    assert_eq!(world.recorded_events("w")[0]["text"], "Look: \u{1b}[2J ***");
}

#[test]
fn a_flood_of_events_is_capped_and_its_cost_is_known() {
    let event = format!(
        r#"{{"type":"item.completed","item":{{"type":"agent_message","text":"{}"}}}}"#,
        "x".repeat(3000)
    );
    let usage = r#"{"type":"turn.completed","usage":{"input_tokens":5,"output_tokens":1}}"#;
    // The event that ends its work comes with each turn here, so another line has to end it.
    let script = format!(
        "i=0; while [ $i -lt 2000 ]; do echo '{event}'; echo '{usage}'; i=$((i+1)); done
        echo 1 > n; git add n; git commit -qm n; echo over"
    );
    let world = agent(World::new(), "codex", &script);
    let call = ["--done-pattern", "^over$", "--name", "w", "Flood", "--", "codex"];
    world.skein(&[&["dispatch", "--wait"], &call[..]].concat()).ok();
    let kept = fs::metadata(world.path(".git/skein/run").join(world.ulid("w")).join("events.jsonl")).unwrap();
    assert!(kept.len() <= 4 << 20, "{}", kept.len());
    let said = world.field("w", "said");
    assert_eq!((&said["tokens_in"], &said["tokens_out"]), (&10_000.into(), &2000.into()), "{said}");
    let blob = world.git(["cat-file", "-s", &format!("refs/skein/worker/{}:events.jsonl", world.ulid("w"))]);
    assert!(blob.parse::<usize>().unwrap() <= (1 << 20) + 300, "{blob}");
    fs::remove_dir_all(world.path(".git/skein/run")).unwrap();
    assert_eq!(world.field("w", "said")["tokens_in"], said["tokens_in"]);
    assert!(world.told("w").contains(" left-out: "));
}
