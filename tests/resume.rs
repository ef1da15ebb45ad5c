//! Workers that go on after their turn has ended: with an answer, after a limit, in their own session or without one.

use crate::agents::agent;
use crate::agents::recorded;
use crate::jail::possible;
use crate::support::MOMENT;
use crate::support::World;
use crate::support::acts::until;
use std::fs;

const SESSION: &str = "00000000-0000-0000-0000-000000000000";

fn levels() -> &'static [&'static str] {
    if possible() { &["none", "bwrap"] } else { &["none"] }
}

/// An agent that asks in its first turn, keeps a session below its home, and says in the second how it was called.
pub fn asking(questions: &str) -> World {
    let script = format!(
        r#"case "$*" in
        *" resume "*)
            cat "$HOME/.codex/sessions/one" >said || exit 7
            printf '%s\n' "$@" >>said
            git add said; git commit -qm said
            {} ;;
        *)
            mkdir -p "$HOME/.codex/sessions"; echo remembered >"$HOME/.codex/sessions/one"
            echo '{{"type":"thread.started","thread_id":"{SESSION}"}}'; echo '{{"type":"turn.started"}}'
            echo half >half
            {questions} ;;
        esac"#,
        recorded("codex")
    );
    let world = agent(World::new(), "codex", &script);
    fs::create_dir_all(world.root().join("home/.codex")).unwrap();
    world
}

#[test]
fn an_answer_takes_up_the_session_of_the_agent() {
    for level in levels() {
        let world = asking(
            "git skein worker todo 'ask'; git skein worker wait --question 'Which colour?' --option red",
        );
        let dispatch = ["dispatch", "--wait", "--jail", level, "--agent", "codex", "--name", "w", "Paint"];
        world.skein(&dispatch).code(3);
        let record = || -> serde_json::Value {
            let name = format!("refs/skein/worker/{}:record.json", world.ulid("w"));
            serde_json::from_str(&world.git(["show", &name])).unwrap()
        };
        assert_eq!(record()["session"], SESSION, "{level}");
        // What is disposable is disposed of.
        if *level == "bwrap" {
            assert!(!world.root().join("home/.codex/sessions").exists(), "it was a copy");
        }
        let told = world.skein(&["tell", "w", "blue"]).ok();
        assert!(
            told.out.contains("its session is taken up again") && told.out.contains("wait w"),
            "{told:?}"
        );
        let waited = world.skein(&["wait", "w"]);
        assert_eq!(waited.code, 0, "{level}: {waited:?} {}", world.skein(&["show", "--log", "w"]).out);
        let said = fs::read_to_string(world.worktree("w").join("said")).unwrap();
        assert!(said.starts_with("remembered\nexec\n--json\n"), "{said}");
        let end = format!("\nresume\n{SESSION}\nYou asked: Which colour?\nThe answer: blue\n");
        assert!(said.contains(&end), "{said}");
        assert_eq!(
            fs::read_to_string(world.worktree("w").join("half")).unwrap(),
            "half\n",
            "its own worktree"
        );
        let record = record();
        assert_eq!((&record["outcome"], record["questions"].as_array().unwrap().len()), (&"ready".into(), 1));
        assert!(record["messages"][0]["read"].is_number(), "{record}");
        let card = world.skein(&["show", "w"]).ok().out;
        assert!(
            card.contains("told      1 to question 1 (read): blue\n") && card.contains("todo      1. ask\n"),
            "{card}"
        );
        assert!(card.contains("2 turns, "), "both turns count: {card}");
        world.skein(&["land", "w"]).ok();
        world.skein(&["reap", "--yes", "--include-unlanded", "w"]).ok();
        let left = fs::read_dir(world.path(".git/skein/private")).map_or(0, |found| found.count());
        assert_eq!(left, 0, "nothing of it stays");
        world.check();
    }
}

#[test]
fn several_questions_are_answered_oldest_first_before_the_worker_goes_on() {
    let world = asking(
        "git skein worker wait --stay --question one --timeout 1s; git skein worker wait --question two",
    );
    world.skein(&["dispatch", "--wait", "--agent", "codex", "--name", "w", "Ask"]).code(3);
    let first = world.skein(&["tell", "w", "1"]).ok().out;
    assert!(first.contains("answers question 1: one") && first.contains("1 question open"), "{first}");
    assert_eq!(world.field("w", "outcome"), "needs-input", "the other one is open");
    let second = world.skein(&["tell", "w", "2"]).ok().out;
    assert!(second.contains("answers question 2: two") && second.contains("taken up again"), "{second}");
    world.skein(&["wait", "w"]).ok();
    let said = fs::read_to_string(world.worktree("w").join("said")).unwrap();
    assert!(said.contains("You asked: one\nThe answer: 1\n\nYou asked: two\nThe answer: 2\n"), "{said}");
}

#[test]
fn what_has_no_session_runs_again_with_all_that_was_said() {
    for level in levels() {
        let world = World::new();
        let script = "if [ -e asked ]; then cat >n; git add n; git commit -qm n; exit; fi
            touch asked; git skein worker wait --question 'Which one?'";
        let options = ["--wait", "--jail", level, "--name", "w", "Choose one"];
        world.skein(&[&["dispatch"], &options[..], &["--", "sh", "-c", script]].concat()).code(3);
        let told = world.skein(&["tell", "w", "this"]).ok().out;
        assert!(told.contains("queued") && told.contains("git skein resume w"), "{told}");
        assert!(world.skein(&["status"]).ok().out.contains("git skein resume w"));
        // The folder of the run is disposable in between.
        fs::remove_dir_all(world.path(".git/skein/run")).unwrap();
        world.skein(&["resume", "w", "-m", "and quickly"]).ok();
        assert_eq!(world.skein(&["wait", "w"]).code, 0, "{}", world.skein(&["show", "--log", "w"]).out);
        let n = fs::read_to_string(world.worktree("w").join("n")).unwrap();
        let want = "Choose one\n\nGo on with the task. This was said of it:\n\nYou asked: Which one?\nThe answer: this\n\nand quickly\n";
        let (task, manners) = n.split_once("\n---\n").unwrap();
        assert_eq!((task, manners.contains("git skein worker done")), (want, true), "{level}");
        world.skein(&["resume", "w"]).refused("not-ready", 1);
        world.skein(&["land", "w"]).ok();
        world.check();
    }
}

#[test]
fn a_worker_goes_on_when_its_limit_has_passed() {
    let script = format!(
        "case \"$*\" in *' resume '*) echo 1 >n; git add n; git commit -qm n; {};; *) {};; esac",
        recorded("codex"),
        recorded("limit-codex")
    );
    let world = agent(World::new(), "codex", &script);
    let at = |second: u64, args: &[&str]| {
        let clock = (MOMENT + second * 1000).to_string();
        crate::support::ran(world.command(args).env("SKEIN_CLOCK", clock).output().unwrap())
    };
    at(0, &["dispatch", "--wait", "--agent", "codex", "--name", "w", "Greet"]).code(3);
    at(10, &["resume", "w"]).refused("agent-paused", 75);
    // The message stays on its record, and nothing starts.
    let told = at(10, &["tell", "w", "hello"]).ok();
    assert!(told.err.contains("agent-paused") && told.out.contains("queued"), "{told:?}");
    at(3601, &["resume", "w"]).ok();
    at(3601, &["wait", "w"]).ok();
    let begun = format!("\"at\":{},\"kind\":\"outcome\"", MOMENT / 1000 + 3601);
    assert!(at(3601, &["events"]).ok().out.matches(&begun).count() >= 2, "it begins anew, and ends");
    let record = world.git(["show", &format!("refs/skein/worker/{}:record.json", world.ulid("w"))]);
    assert!(!record.contains("\"paused\"") && record.contains("\"ready\""), "{record}");
}

#[test]
fn what_cannot_go_on_is_refused_and_loses_nothing() {
    let world = asking("git skein worker wait --question 'Well?'");
    world.skein(&["dispatch", "--wait", "--agent", "codex", "--name", "w", "Ask"]).code(3);
    let before = world.git(["for-each-ref", "refs/skein"]);
    let place = world.worktree("w");
    fs::rename(&place, place.with_extension("away")).unwrap();
    let refused = world.skein(&["resume", "w"]).refused("not-ready", 1);
    assert!(refused.err.contains("git skein restore w"), "{refused:?}");
    assert_eq!(world.git(["for-each-ref", "refs/skein"]), before);
    fs::rename(place.with_extension("away"), &place).unwrap();
    let inside =
        crate::support::ran(world.command(&["resume", "w"]).env("SKEIN_WORKER", "x").output().unwrap());
    inside.refused("in-worker", 1);
    world.skein(&["dispatch", "--name", "v", "v", "--", "sleep", "60"]).ok();
    world.skein(&["resume", "v"]).refused("still-running", 1);
    world.skein(&["stop", "v"]).ok();
    // A crash between the record and the supervisor: the next command closes it, and its work is kept.
    let mut command = world.command(&["resume", "w"]);
    command.env("SKEIN_FAULT", "resume: recorded:1:kill");
    assert!(!command.output().unwrap().status.success());
    world.skein(&["dispatch", "--wait", "--name", "u", "u", "--", "true"]);
    until("the worker is closed", || world.field("w", "outcome") == "failed");
    assert!(place.join("half").exists() && world.field("w", "asks").is_null());
    world.check();
}

/// In a jail the agent's own folders are moved by us, between runs. What it made of them must lead nowhere else.
#[test]
fn a_home_with_links_in_it_leads_nowhere() {
    if !possible() {
        return;
    }
    let world = asking(
        "rm -rf $HOME/.codex; ln -s $(dirname $PWD) $HOME/.codex; git skein worker wait --question 'Well?'",
    );
    let canary = world.root().join("home/.codex/canary");
    fs::write(&canary, "mine").unwrap();
    world.skein(&["dispatch", "--wait", "--jail", "bwrap", "--agent", "codex", "--name", "w", "Ask"]).code(3);
    world.skein(&["tell", "w", "yes"]).ok();
    world.skein(&["wait", "w"]).code(1);
    assert_eq!(world.field("w", "exit"), 7, "its session is gone, as it made it");
    assert_eq!(fs::read_to_string(&canary).unwrap(), "mine");
    assert!(world.worktree("w").join("half").exists());
}
