//! Connections that are cut after any number of bytes, either way: the next sync goes on, and nothing is lost or there
//! twice.

use crate::docworld::body;
use crate::support::World;
use crate::sync::cloned;
use crate::sync::served;
use crate::sync::server;
use crate::sync::shared;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Runs a git of the server whose input or output ends after so many bytes, which it counts. Then nothing holds the
/// other way open either.
const CUT: &str = r#"#!/bin/sh
way=$1 bytes=$2 count=$3 program=$4 repo=$5
case $way in
in) tee -a "$count" | dd bs=64k iflag=count_bytes count="$bytes" status=none | { git "$program" "$repo"; kill -9 $$; } ;;
out) git "$program" "$repo" | tee -a "$count" | { dd bs=64k iflag=count_bytes count="$bytes" status=none; kill -9 $$; } ;;
esac
"#;

const EVERYTHING: usize = 1 << 30;

/// How often each way is cut in one run; the places differ.
const CUTS: usize = 9;

struct Line {
    /// The remote's setting and the program that it names.
    program: (&'static str, &'static str),
    way: &'static str,
}

const LINES: [Line; 4] = [
    Line { program: ("uploadpack", "upload-pack"), way: "in" },
    Line { program: ("uploadpack", "upload-pack"), way: "out" },
    Line { program: ("receivepack", "receive-pack"), way: "in" },
    Line { program: ("receivepack", "receive-pack"), way: "out" },
];

impl Line {
    /// Lets this line of a clone end after `bytes`.
    fn cut(&self, world: &World, clone: &str, bytes: usize) {
        let root = world.root().display().to_string();
        let (setting, program) = self.program;
        let command = format!("{root}/cut {} {bytes} {root}/count {program}", self.way);
        world.git_in(clone, &["config", &format!("remote.origin.{setting}"), &command]);
    }

    fn whole(&self, world: &World, clone: &str) {
        let setting = format!("remote.origin.{}", self.program.0);
        world.git_in(clone, &["config", "--unset", &setting]);
    }
}

/// Workers, landings, an archive, notes and a document of the first clone; nothing of it is on the server.
fn written() -> World {
    let world = served();
    let script = world.root().join("cut");
    fs::write(&script, CUT).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["one", "two", "three"] {
        world.worker_in("repo", name);
    }
    world.skein(&["land", "one"]).ok();
    world.skein(&["land", "two"]).ok();
    world.skein(&["reap", "one", "--yes"]).ok();
    world.write("talk.md", &body("Is it there?\n"));
    world.skein(&["doc", "claim", "talk.md"]).ok();
    world.skein(&["doc", "preflight", "talk.md"]).ok();
    world
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    let _ = fs::remove_dir_all(to);
    assert!(Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
}

/// Where to cut what is so long.
fn places(long: usize) -> impl Iterator<Item = usize> {
    (0..CUTS).map(move |k| (long * k / (CUTS - 1)).saturating_sub(1))
}

#[test]
fn what_is_given_arrives_whole_whatever_was_cut() {
    let world = written();
    let (fresh, used) = (world.root().join("fresh"), world.root().join("server.git"));
    copy(&used, &fresh);
    let mine = shared(&world, "repo");
    let mut broken = 0;
    for line in &LINES {
        let _ = fs::remove_file(world.root().join("count"));
        copy(&fresh, &used);
        line.cut(&world, "repo", EVERYTHING);
        world.skein(&["sync"]).ok();
        let long = fs::read(world.root().join("count")).unwrap().len();
        assert!(long > 0);
        for bytes in places(long) {
            copy(&fresh, &used);
            line.cut(&world, "repo", bytes);
            broken += usize::from(world.skein(&["sync"]).code != 0);
            // What is there now is a part of it.
            let there = shared(&world, "server.git");
            assert!(there.lines().all(|l| mine.contains(l)), "{there}\nis no part of\n{mine}");
            line.whole(&world, "repo");
            world.skein(&["sync"]).ok();
            assert_eq!(shared(&world, "server.git"), mine, "cut after {bytes}");
            assert_eq!(shared(&world, "repo"), mine, "cut after {bytes}");
            world.git_in("server.git", &["fsck", "--strict"]);
        }
    }
    assert!(broken > CUTS, "only {broken} were cut");
    world.skein(&["fsck"]).ok();
}

#[test]
fn what_is_taken_arrives_whole_whatever_was_cut() {
    let world = written();
    world.skein(&["sync"]).ok();
    let mine = shared(&world, "repo");
    let mut broken = 0;
    for (n, line) in LINES.iter().take(2).enumerate() {
        let _ = fs::remove_file(world.root().join("count"));
        let name = format!("first-{n}");
        cloned(&world, &name);
        line.cut(&world, &name, EVERYTHING);
        world.skein_in(&name, &["sync"]).ok();
        let long = fs::read(world.root().join("count")).unwrap().len();
        for bytes in places(long) {
            let name = format!("clone-{n}-{bytes}");
            cloned(&world, &name);
            line.cut(&world, &name, bytes);
            broken += usize::from(world.skein_in(&name, &["sync"]).code != 0);
            line.whole(&world, &name);
            world.skein_in(&name, &["sync"]).ok();
            assert_eq!(shared(&world, &name), mine, "cut after {bytes}");
            world.skein_in(&name, &["fsck"]).ok();
            fs::remove_dir_all(world.root().join(&name)).unwrap();
        }
    }
    assert!(broken > CUTS / 2, "only {broken} were cut");
    assert!(!server(&world).is_empty());
}
