//! Every verb in every state that a machine without a person has, beside the same verb where a person sits.

use crate::jail::is_root;
use crate::support::Ran;
use crate::support::World;
use crate::support::ran;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;

const AGENT: &str = "echo '::error::x'; echo w > w.txt; git add w.txt; git commit -qm w";

/// A command line of each verb, in an order in which all of them have something to do.
const LINES: &[&[&str]] = &[
    &["init"],
    &["dispatch", "--wait", "--name", "w", "t", "--", "sh", "-c", AGENT],
    &["kinds"],
    &["trust"],
    &["plan", "w"],
    &["plan", "w", "approve"],
    &["plan", "w", "reject", "-m", "no"],
    &["status"],
    &["show", "w"],
    &["show", "w", "--log"],
    &["artifacts", "w"],
    &["search", "w"],
    &["bundle", "save", "w"],
    &["bundle", "list"],
    &["doc", "init", "d.md", "D"],
    &["doc", "status", "d.md"],
    &["doc", "run", "d.md", "--agent", "nobody"],
    &["overlap"],
    &["events"],
    &["wait", "w"],
    &["stop", "w"],
    &["attach", "w"],
    &["peek", "w"],
    &["tell", "w", "more"],
    &["resume", "w"],
    &["wait"],
    &["inbox"],
    &["dock"],
    &["verdict", "w"],
    &["verdict", "w", "accept"],
    &["debt"],
    &["worker", "progress", "x"],
    &["mcp"],
    &["import", "w"],
    &["check", "w", "--check", "true"],
    &["candidate", "create", "w"],
    &["candidate", "admit", "w", "--gate", "true"],
    &["candidate", "integrate", "w"],
    &["land", "w"],
    &["land", "--all"],
    &["landed", "w"],
    &["verify", "main"],
    &["log"],
    &["reap", "w"],
    &["reap", "--all", "--yes"],
    &["restore", "w"],
    &["undo"],
    &["sync"],
    &["queue", "list"],
    &["runner", "--once"],
    &["hooks", "status"],
    &["fsck"],
    &["doctor"],
    &["man", "../man"],
    &["completions", "bash"],
    &["help", "exit-codes"],
];

/// Those that print something else than one object with `--json`: a protocol, or lines.
const NOT_ONE: &[&str] = &["mcp", "events"];

/// Those that want no repository.
const ANYWHERE: &[&str] = &["worker", "mcp", "man", "completions", "help", "demo"];

struct State {
    name: &'static str,
    /// Changes the place. Gives where commands run.
    place: fn(&World) -> PathBuf,
    change: fn(&World, &mut Command),
    /// Verbs that end otherwise than where a person sits, and how.
    otherwise: &'static [(&'static str, i32)],
}

fn here(world: &World) -> PathBuf {
    world.repo.clone()
}

fn as_it_is(_: &World, _: &mut Command) {}

/// The person's own repository has none.
const REMOTE: &[(&str, i32)] = &[("sync", 0), ("queue", 0), ("runner", 0)];

const STATES: &[State] = &[
    State {
        name: "no home, no terminal, a pipeline",
        place: here,
        change: |_, command| {
            command.env_remove("HOME").env_remove("XDG_CONFIG_HOME").env_remove("TERM");
            command.env("CI", "true");
        },
        otherwise: &[],
    },
    State {
        name: "the runner of GitHub",
        place: here,
        change: |world, command| {
            command.env("CI", "true").env("GITHUB_ACTIONS", "true");
            command.env("GITHUB_STEP_SUMMARY", world.root().join("summary.md"));
        },
        otherwise: &[],
    },
    State {
        name: "a home that cannot be written",
        place: |world| {
            let home = world.root().join("home");
            std::fs::set_permissions(&home, PermissionsExt::from_mode(0o555)).unwrap();
            world.repo.clone()
        },
        // For root a folder that is not there and cannot be made says the same.
        change: |_, command| {
            if is_root() {
                command.env("HOME", "/proc/nobody").env("XDG_CONFIG_HOME", "/proc/nobody/config");
            }
        },
        otherwise: &[],
    },
    State {
        name: "a clone of depth 1",
        place: |world| {
            let at = cloned(world, &["clone", "--quiet", "--depth", "1"]);
            assert!(at.join(".git/shallow").is_file());
            at
        },
        change: as_it_is,
        otherwise: REMOTE,
    },
    State {
        name: "a checkout of one commit, as pipelines make it",
        place: |world| {
            let at = world.root().join("clone");
            let git = |args: &[&str]| world.git([&["-C", at.to_str().unwrap()], args].concat());
            world.git(["init", "--quiet", "--template=", at.to_str().unwrap()]);
            git(&["remote", "add", "origin", &url(world)]);
            git(&["fetch", "--quiet", "--depth=1", "origin", "+refs/heads/main:refs/remotes/origin/main"]);
            git(&["checkout", "--quiet", "--detach", "origin/main"]);
            git(&["config", "user.name", "Ada"]);
            git(&["config", "user.email", "ada@example.invalid"]);
            at
        },
        change: |_, command| {
            command.env("CI", "true");
        },
        otherwise: REMOTE,
    },
];

fn url(world: &World) -> String {
    format!("file://{}", world.repo.display())
}

fn cloned(world: &World, how: &[&str]) -> PathBuf {
    let at = world.root().join("clone");
    world.git([how, &["--template=", &url(world), at.to_str().unwrap()]].concat());
    for (key, value) in [("user.name", "Ada"), ("user.email", "ada@example.invalid")] {
        world.git(["-C", at.to_str().unwrap(), "config", key, value]);
    }
    at
}

/// With a second commit, so that a clone can be cut off.
fn world() -> World {
    let world = World::new();
    world.write("c.txt", "c\n");
    world.commit("second");
    world
}

/// Runs a line with nothing on its standard input.
fn line(world: &World, state: &State, at: &PathBuf, words: &[&str], json: bool) -> Ran {
    let split = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    let mut words = words.to_vec();
    if json {
        words.insert(split, "--json");
    }
    let mut command = world.command(&words);
    command.current_dir(at).stdin(Stdio::null());
    command
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "skein.jail")
        .env("GIT_CONFIG_VALUE_0", "none");
    (state.change)(world, &mut command);
    ran(command.output().unwrap())
}

/// All lines in one state: how each ended.
fn played(state: &State) -> Vec<i32> {
    let world = world();
    let at = (state.place)(&world);
    let mut codes = Vec::new();
    for words in LINES {
        let what = format!("{}: {words:?}", state.name);
        let done = line(&world, state, &at, words, false);
        assert!(!done.err.contains("panicked") && !done.err.contains("fault:"), "{what}: {done:?}");
        assert!(!done.out.contains('\x1b') && !done.err.contains('\x1b'), "{what}: colour in {done:?}");
        assert!(![101, 129, -1].contains(&done.code), "{what}: {done:?}");
        let again = line(&world, state, &at, words, true);
        assert!(!again.err.contains("panicked") && !again.err.contains("fault:"), "{what}: {again:?}");
        if !NOT_ONE.contains(&words[0]) {
            let object = again.json();
            assert_eq!(object["schema"], "git-skein/1", "{what}");
            assert!(object.get("result").is_some() != object.get("error").is_some(), "{what}: {object}");
        }
        codes.push(done.code);
        codes.push(again.code);
    }
    codes
}

#[test]
fn every_verb_ends_as_where_a_person_sits() {
    let person = State { name: "a person", place: here, change: as_it_is, otherwise: &[] };
    let want = played(&person);
    std::thread::scope(|scope| {
        for state in STATES {
            let want = &want;
            scope.spawn(move || {
                for (at, (want, found)) in want.iter().zip(played(state)).enumerate() {
                    let words = LINES[at / 2];
                    let otherwise = state.otherwise.iter().find(|(verb, _)| *verb == words[0]);
                    let want = otherwise.map_or(want, |(_, code)| code);
                    assert_eq!(found, *want, "{}: {words:?} (with --json: {})", state.name, at % 2 == 1);
                }
            });
        }
    });
}

#[test]
fn no_verb_is_left_out() {
    let help = World::empty().skein(&["-h"]).ok().out;
    let verbs = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let verbs = verbs.lines().filter(|l| !l.starts_with("   ")).filter_map(|l| l.split_whitespace().next());
    let played: BTreeSet<&str> = LINES.iter().map(|words| words[0]).collect();
    // The demo has tests of its own, and a repository of its own.
    let left: Vec<&str> = verbs.filter(|verb| *verb != "demo" && !played.contains(verb)).collect();
    assert_eq!(left, Vec::<&str>::new());
}

/// Only root can give its files away.
#[test]
fn in_the_checkout_of_another_user_git_has_the_word() {
    if !is_root() {
        return;
    }
    let world = world();
    world.skein(&["init"]).ok();
    world.write("d.md", "# D\n");
    let given = Command::new("chown").args(["-R", "65534:65534"]).arg(&world.repo).status().unwrap();
    assert!(given.success());
    let state = State { name: "another's", place: here, change: as_it_is, otherwise: &[] };
    for words in LINES.iter().filter(|words| !ANYWHERE.contains(&words[0])) {
        let done = line(&world, &state, &world.repo, words, false).refused("not-a-repository", 128);
        assert!(done.err.contains("detected dubious ownership"), "{words:?}: {done:?}");
        assert!(done.err.contains("git config --global --add safe.directory"), "{words:?}: {done:?}");
        let json = line(&world, &state, &world.repo, words, true).code(128).json();
        assert_eq!(json["error"]["token"], "not-a-repository", "{words:?}");
    }
}
