//! What git alone does under the same: kills at its system calls, appends at once, power cuts. Nothing fails here by
//! what git loses: it is counted, and stands beside our own numbers.

use crate::proof::drawn;
use crate::proof::power::disk;
use crate::proof::power::disk::Disk;
use crate::proof::power::disk::Kind;
use crate::proof::strace;
use crate::support::World;
use crate::support::tally::full;
use crate::support::tally::tally;
use std::collections::BTreeSet;
use std::fs;
use std::fs::File;
use std::process::Command;
use std::process::Output;
use std::time::Duration;
use std::time::Instant;

pub fn told(what: &str, times: u64) {
    tally(&format!("git alone: {what}"), times);
    super::say(&format!("git alone: {what}: {times}"));
}

/// A command of git, and how its end is looked at.
struct Alone {
    name: &'static str,
    args: &'static [&'static str],
    input: fn(&World) -> String,
    /// What there is of it: nothing, some of it, all.
    made: fn(&World) -> Made,
}

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum Made {
    Nothing,
    Some,
    All,
}

const COMMANDS: &[Alone] = &[
    Alone {
        name: "commit",
        args: &["commit", "-q", "-m", "next"],
        input: |_| String::new(),
        made: |world| {
            if says(world, &["log", "-1", "--format=%s"], "next") { Made::All } else { Made::Nothing }
        },
    },
    Alone {
        name: "notes append",
        args: &["notes", "--ref=mine", "append", "-m", "second", "HEAD"],
        input: |_| String::new(),
        made: |world| {
            if says(world, &["notes", "--ref=mine", "show", "HEAD"], "second") {
                Made::All
            } else {
                Made::Nothing
            }
        },
    },
    Alone {
        name: "worktree add",
        args: &["worktree", "add", "-q", "--detach", "../there"],
        input: |_| String::new(),
        made: |world| {
            let there = world.root().join("there");
            let folder = world.path(".git/worktrees/there").exists();
            match (there.exists(), folder) {
                (false, false) => Made::Nothing,
                (true, true) if whole(world) => Made::All,
                _ => Made::Some,
            }
        },
    },
    Alone {
        name: "update-ref --stdin",
        args: &["update-ref", "--stdin"],
        input: |world| {
            let (new, old) = (world.rev("main^{tree}"), world.rev("main"));
            let new = world.git(["commit-tree", "-p", "main", "-m", "new", &new]);
            format!(
                "start\nupdate refs/heads/main {new} {old}\ncreate refs/mine/one {new}\ncreate refs/mine/two {new}\ncommit\n"
            )
        },
        made: |world| {
            let mine = world.lines(&["for-each-ref", "refs/mine"]).len();
            let moved = usize::from(says(world, &["log", "-1", "--format=%s", "main"], "new"));
            match mine + moved {
                0 => Made::Nothing,
                3 => Made::All,
                _ => Made::Some,
            }
        },
    },
];

fn says(world: &World, args: &[&str], words: &str) -> bool {
    String::from_utf8_lossy(&world.try_git(args).stdout).contains(words)
}

/// The worktree is as its commit says.
fn whole(world: &World) -> bool {
    let there = world.root().join("there");
    let status = world.try_git(["-C", there.to_str().unwrap(), "status", "--porcelain"]);
    status.status.success() && status.stdout.is_empty()
}

fn run(world: &World, alone: &Alone, strace: Option<&[String]>) -> Output {
    let input = world.root().join("input");
    fs::write(&input, (alone.input)(world)).unwrap();
    let env = world.command(&[]);
    let mut git = Command::new("git");
    git.args(alone.args).current_dir(&world.repo).env_clear();
    git.envs(env.get_envs().filter_map(|(key, value)| Some((key, value?))));
    if let Some(options) = strace {
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        git = strace::traced(&git, &world.root().join("struck"), &[&["-f"], &options[..]].concat());
    }
    git.stdin(File::open(input).unwrap()).output().unwrap()
}

fn prepared() -> World {
    let world = World::in_memory();
    world.git(["notes", "--ref=mine", "add", "-m", "first", "HEAD"]);
    world.write("a.txt", "changed\n");
    world.git(["add", "a.txt"]);
    world
}

#[test]
fn git_is_killed_at_its_system_calls() {
    if !strace::there() {
        return;
    }
    let prepared = prepared();
    let (mut struck, mut wedged, mut partial, mut lost) = (0, 0, 0, 0);
    for alone in COMMANDS {
        let world = prepared.copy();
        let noted = ["-e".to_owned(), format!("trace={}", strace::CALLS)];
        assert!(run(&world, alone, Some(&noted)).status.success());
        assert_eq!((alone.made)(&world), Made::All, "{}", alone.name);
        let log = fs::read_to_string(world.root().join("struck")).unwrap();
        let calls = strace::calls(&log, &world.root().display().to_string());
        let calls = calls.into_iter().filter(|call| call.kind != strace::Kind::Reads).collect();
        let calls = if full() { calls } else { drawn(alone.name, calls, 8) };
        let (mut here, before) = ([0; 4], [struck, wedged, partial, lost]);
        for call in calls {
            let world = prepared.copy();
            let was = world.rev("main");
            run(&world, alone, Some(&strace::injection(&call.name, call.nth, false, "signal=KILL")));
            if strace::struck(&world.root().join("struck")).is_none() {
                continue;
            }
            struck += 1;
            let made = (alone.made)(&world);
            partial += u64::from(made == Made::Some);
            let kept = world.try_git(["merge-base", "--is-ancestor", &was, "main"]).status.success()
                && says(&world, &["notes", "--ref=mine", "show", "main~0"], "first")
                || made == Made::All;
            lost += u64::from(!kept);
            // Where all is done the same again is another thing. Where it is not, it must be possible.
            let again = made == Made::All
                || run(&world, alone, None).status.success() && (alone.made)(&world) == Made::All;
            let locked = !world.try_git(["commit", "-q", "--allow-empty", "-m", "goes on"]).status.success();
            wedged += u64::from(!again || locked);
        }
        for (at, now) in [struck, wedged, partial, lost].into_iter().enumerate() {
            here[at] = now - before[at];
        }
        super::say(&format!(
            "git alone: {}: {} kills, {} wedged, {} by half, {} lost",
            alone.name, here[0], here[1], here[2], here[3]
        ));
    }
    told("kills at a syscall", struck);
    told("kills after which the same command or a commit fails", wedged);
    told("kills that left something by half", partial);
    told("kills that lost what was there", lost);
    assert!(struck > 0, "nothing was struck");
}

/// Eight processes that append to notes at once.
#[test]
fn notes_are_appended_at_once() {
    let each = if full() { 20 } else { 4 };
    let world = World::in_memory();
    let commits: Vec<String> = (0..8).map(|n| world.commit(&format!("commit {n}"))).collect();
    std::thread::scope(|scope| {
        for (process, commit) in commits.iter().enumerate() {
            let world = &world;
            scope.spawn(move || {
                for nth in 0..each {
                    // A refusal is an answer; what counts is what was said to be done.
                    let _ = world.try_git([
                        "notes",
                        "--ref=mine",
                        "append",
                        "-m",
                        &format!("{process}-{nth}"),
                        commit,
                    ]);
                }
            });
        }
    });
    let there: BTreeSet<String> = commits
        .iter()
        .flat_map(|commit| {
            let shown = world.try_git(["notes", "--ref=mine", "show", commit]).stdout;
            String::from_utf8_lossy(&shown)
                .lines()
                .filter(|l| l.contains('-'))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(!there.is_empty());
    told("notes appended by 8 processes at once", 8 * each);
    told("notes of them that are there", there.len() as u64);
}

/// Commits with git's own settings until `micros` have passed and power goes. How many that it had told are not in the
/// branch then, and whether the branch cannot be read.
pub fn commits_cut(prepared: &World, kind: Kind, micros: u64) -> (u64, bool) {
    let mut disk = Disk::new(kind);
    let world = prepared.copy_into(disk.folder());
    disk.sync();
    let began = Instant::now();
    let mut acked = Vec::new();
    while began.elapsed() < Duration::from_micros(micros) || acked.is_empty() {
        acked.push(world.commit(&format!("commit {}", acked.len())));
    }
    disk::end_all(&world.root());
    disk.cut();
    let there = world.try_git(["rev-list", "--objects", "main"]);
    let text = String::from_utf8_lossy(&there.stdout).into_owned();
    let lost = acked.iter().filter(|commit| !text.contains(commit.as_str())).count() as u64;
    (lost, !there.status.success())
}

/// Whether git cannot read the refs: those are its own tables.
pub fn reftable_is_broken(world: &World) -> bool {
    // A table without its end reads as if there were none, and git dies where it looks for something in it.
    let listed = world.try_git(["for-each-ref", "--format=%(refname)"]);
    !listed.status.success() || listed.stdout.is_empty()
}
