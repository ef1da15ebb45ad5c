//! Agents that begin with the session of another worker, where their kind asks for that.

use crate::agents::agent;
use crate::agents::recorded;
use crate::jail::possible;
use crate::support::World;
use serde_json::json;
use std::fs;

const SESSION: &str = "00000000-0000-0000-0000-000000000000";

fn levels() -> &'static [&'static str] {
    if possible() { &["none", "bwrap"] } else { &["none"] }
}

/// An agent `name` that keeps what it was told in its first turn in a session below its home, and in a turn that goes
/// on from that writes down how it was called and what it remembers. `first` is what it does at first.
fn remembering(name: &str, begins: &str, folder: &str, goes_on: &str, first: &str) -> World {
    let script = format!(
        r#"case "$*" in
        *"{goes_on}"*)
            cat "$HOME/{folder}/one" >said || exit 7
            printf '%s\n' "$@" >>said
            git add said; git commit -qm said
            {} ;;
        *)
            mkdir -p "$HOME/{folder}"; echo "of $SKEIN_HANDLE" >"$HOME/{folder}/one"
            echo '{begins}'
            {first}
            {} ;;
        esac"#,
        recorded(name),
        recorded(name)
    );
    let world = agent(World::new(), name, &script);
    fs::create_dir_all(world.root().join("home").join(folder)).unwrap();
    let kinds = world.root().join("home/config/git-skein/kinds");
    fs::create_dir_all(&kinds).unwrap();
    fs::write(kinds.join("heir.md"), "---\nseed: full\n---\nGo on.\n").unwrap();
    world
}

fn codex(first: &str) -> World {
    let begins = format!(r#"{{"type":"thread.started","thread_id":"{SESSION}"}}"#);
    remembering("codex", &begins, ".codex/sessions", &format!("resume {SESSION}"), first)
}

fn pi(first: &str) -> World {
    let begins = format!(r#"{{"type":"session","version":3,"id":"{SESSION}"}}"#);
    remembering("pi", &begins, ".pi/agent/sessions", &format!("--fork {SESSION}"), first)
}

fn said(world: &World, worker: &str) -> String {
    fs::read_to_string(world.worktree(worker).join("said"))
        .unwrap_or_else(|_| panic!("{}", world.skein(&["show", "--log", worker]).out))
}

/// What the parent does until its child is told of: its session is on its record by then.
const SPAWN: &str = "echo x >x; git add x; git commit -qm x
    n=0; until git skein worker spawn 'the rest' --name child --kind heir; do n=$((n+1)); [ $n -lt 50 ] || break; sleep 0.1; done";

#[test]
fn a_child_goes_on_from_the_session_of_its_parent() {
    for level in levels() {
        let world = pi(SPAWN);
        let given =
            ["dispatch", "--wait", "--jail", level, "--spawn", "1", "--agent", "pi", "--name", "w", "w"];
        world.skein(&given).ok();
        world.skein(&["wait"]);
        let record = world.record("child");
        assert_eq!(record["seed"], json!({ "worker": world.ulid("w"), "session": SESSION }), "{level}");
        assert_eq!(record["kind"]["seed"], "full");
        assert!(!record["agent"].to_string().contains("--fork"), "taken up again it has its own: {record}");
        let said = said(&world, "child");
        assert!(
            said.starts_with("of w\n") && said.contains(&format!("--fork\n{SESSION}\n")),
            "{level}: {said}"
        );
        let card = world.skein(&["show", "child"]).ok().out;
        assert!(card.contains(&format!("  seed      session {SESSION} of w\n")), "{card}");
        assert_eq!(world.field("child", "seed")["handle"], "w");
        assert!(world.record("w")["seed"].is_null());
        if *level == "bwrap" {
            assert_eq!(fs::read_dir(world.root().join("home/.pi/agent/sessions")).unwrap().count(), 0);
        }
        world.check();
    }
}

#[test]
fn another_try_goes_on_from_the_session_of_the_first() {
    for level in levels() {
        let world = codex("echo x >x; git add x; git commit -qm x");
        let given =
            ["dispatch", "--wait", "--jail", level, "--kind", "heir", "--agent", "codex", "--name", "w", "w"];
        world.skein(&given).ok();
        assert!(world.record("w")["seed"].is_null(), "there is nothing that it could go on from");
        world.skein(&["verdict", "w", "retry", "-m", "with a test"]).ok();
        world.skein(&["wait"]);
        let said = said(&world, "w-2");
        assert!(said.starts_with("of w\n") && said.contains(&format!("resume\n{SESSION}\nw\n")), "{said}");
        assert!(said.contains("with a test"), "{said}");
        assert_eq!(world.record("w-2")["seed"]["worker"], world.ulid("w"));
        assert_eq!(world.record("w-2")["kind"]["name"], "heir", "it is of the same kind");
        world.skein(&["land", "w-2"]).ok();
        world.skein(&["reap", "--yes", "--include-unlanded", "w", "w-2"]).ok();
        let left = fs::read_dir(world.path(".git/skein/private")).map_or(0, |found| found.count());
        assert_eq!(left, 0, "no session stays with what is closed");
        world.check();
    }
}

#[test]
fn a_task_goes_on_from_the_one_that_it_comes_after() {
    let world = pi("echo x >x; git add x; git commit -qm x");
    let tasks = "{\"task\":\"one\",\"name\":\"one\",\"kind\":\"heir\"}\n{\"task\":\"two\",\"name\":\"two\",\"kind\":\"heir\",\"after\":[\"one\"]}\n";
    fs::write(world.root().join("tasks"), tasks).unwrap();
    world.skein(&["dispatch", "--from", "../tasks", "--wait", "--agent", "pi"]).ok();
    assert!(said(&world, "two").starts_with("of one\n"));
    assert_eq!(world.record("two")["seed"]["worker"], world.ulid("one"));
    assert!(world.record("one")["seed"].is_null());
    assert!(world.skein(&["kinds"]).ok().out.contains(" [goes on from a session]\n"));
    world.check();
}

#[test]
fn without_a_word_of_the_kind_it_begins_anew() {
    let world = codex("echo x >x; git add x; git commit -qm x");
    world.skein(&["dispatch", "--wait", "--agent", "codex", "--name", "w", "w"]).ok();
    world.skein(&["verdict", "w", "retry"]).ok();
    world.skein(&["wait"]);
    assert!(world.record("w-2")["seed"].is_null() && !world.worktree("w-2").join("said").exists());
    let kinds = world.root().join("home/config/git-skein/kinds");
    fs::write(kinds.join("odd.md"), "---\nseed: half\n---\n").unwrap();
    let refused = world.skein(&["dispatch", "--kind", "odd", "x"]).refused("bad-kind", 1).err;
    assert!(refused.contains("seed: say none or full"), "{refused}");
}

/// Nothing starts, and no verdict is given.
#[test]
fn what_has_no_session_is_gone_on_from_by_nobody() {
    // Its parent runs, and this one cannot copy a session.
    let world = codex(
        "git skein worker spawn x --kind heir || true; git skein worker spawn x --kind heir --agent pi || true",
    );
    fs::copy(world.root().join("bin/codex"), world.root().join("bin/pi")).unwrap();
    let spawn = ["dispatch", "--wait", "--spawn", "1", "--agent", "codex", "--name", "w", "w"];
    world.skein(&spawn).ok();
    let log = world.skein(&["show", "--log", "w"]).ok().out;
    assert_eq!(log.matches("refused: no-session:").count(), 2, "{log}");
    assert!(log.contains("its own agent is pi, and not the one that has it"), "{log}");
    assert_eq!(world.lines(&["for-each-ref", "--format=%(refname)", "refs/skein/worker"]).len(), 1);

    let stays = "echo '{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\"}'; echo x >x; git add x; git commit -qm x";
    let world = agent(codex("true"), "claude", stays);
    world.skein(&["dispatch", "--wait", "--kind", "heir", "--agent", "claude", "--name", "w", "w"]).ok();
    assert_eq!(world.record("w")["session"], "s");
    let refused = world.skein(&["verdict", "w", "retry"]).refused("no-session", 1).err;
    assert!(refused.contains("claude finds no session but in the worktree where it began"), "{refused}");

    let heir = ["dispatch", "--wait", "--kind", "heir"];
    for (name, agent, says) in [
        (
            "plain",
            &["--", "sh", "-c", "echo x >x; git add x; git commit -qm x"][..],
            "its own agent is none that has",
        ),
        ("mute", &["--", "codex", "exec", "mute"], "has told none"),
    ] {
        let world = agent_world(name);
        world.skein(&[&heir[..], &["--name", name, name], agent].concat());
        let refused = world.skein(&["verdict", name, "retry"]).refused("no-session", 1).err;
        assert!(refused.contains(says) && refused.contains("record.json"), "{refused}");
        assert_eq!(world.lines(&["for-each-ref", "--format=%(refname)", "refs/skein/worker"]).len(), 1);
        assert_eq!(world.skein(&["log", "decisions"]).ok().out, "");
        world.check();
    }
}

/// One whose agent says nothing of a session.
fn agent_world(name: &str) -> World {
    let world = codex("true");
    let program = world.root().join("bin/codex");
    fs::write(program, format!("#!/bin/sh\necho {name} >x; git add x; git commit -qm x\n")).unwrap();
    world
}

/// A parent that means ill puts links where its session should be, and out of its home.
#[test]
fn a_session_is_copied_and_no_link_is_followed() {
    if !possible() {
        return;
    }
    let evil = "ln -s /etc/passwd \"$HOME/.pi/agent/sessions/link\"; ln -s / \"$HOME/.pi/agent/root\"";
    let world = pi(&format!("{evil}\n{SPAWN}"));
    let given =
        ["dispatch", "--wait", "--jail", "bwrap", "--spawn", "1", "--agent", "pi", "--name", "w", "w"];
    world.skein(&given).ok();
    world.skein(&["wait"]);
    assert!(said(&world, "child").starts_with("of w\n"));
    let kept = world.path(&format!(".git/skein/private/{}.home", world.ulid("child")));
    for name in ["sessions/link", "root"] {
        assert!(fs::symlink_metadata(kept.join(".pi/agent").join(name)).is_err(), "{name}");
    }
    assert!(kept.join(".pi/agent/sessions/one").is_file());
}
