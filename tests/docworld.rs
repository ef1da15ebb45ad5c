//! Session documents in the world as it is: editors of every kind, repositories in every state, verbs that die.

mod at_once;
mod commits;
mod editors;
mod random;
mod shapes;
mod states;
pub mod struck;

use crate::support::Ran;
use crate::support::World;
use crate::support::ran;
use std::io::Write;
use std::process::Stdio;

pub const DOC: &str = "talk.md";
const QUESTION: &str = "What is it?";
pub const ANSWER: &str = "It is a test.";

/// A command of ours with something on its standard input.
#[track_caller]
pub fn feed(world: &World, args: &[&str], input: &str) -> Ran {
    let mut command = world.command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // One that refuses need not read it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    ran(child.wait_with_output().unwrap())
}

pub fn body(said: &str) -> String {
    format!("# Talk\n\n<!-- agent:exchange -->\n{said}<!-- /agent:exchange -->\n")
}

/// A document at `path` with a question that nobody has sent.
pub fn asked(world: &World, path: &str) {
    world.write(path, &body(&format!("{QUESTION}\n")));
    world.skein(&["doc", "claim", path]).ok();
}

/// Sends what is new and gives the number of the turn.
#[track_caller]
pub fn send(world: &World, path: &str) -> u64 {
    let sent = world.skein(&["doc", "preflight", path]).ok().json();
    sent["result"]["turn"].as_u64().unwrap_or_else(|| panic!("nothing is new: {sent}"))
}

/// The same, sent and answered, and the person types on: gives the text without what is typed since.
#[track_caller]
pub fn answered(world: &World, path: &str) -> String {
    asked(world, path);
    send(world, path);
    feed(world, &["doc", "write", path], ANSWER).ok();
    let known = world.read(path);
    assert!(known.ends_with(&body(&format!("{QUESTION}\n\n{ANSWER}\n\n"))), "{known}");
    type_on(world, path, "And what");
    known
}

/// Types at the end, as an editor does that writes in place.
pub fn type_on(world: &World, path: &str, text: &str) {
    let mut file = std::fs::File::options().append(true).open(world.path(path)).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// Half-written texts of ours, anywhere below the world.
pub fn litter(world: &World) -> Vec<String> {
    let found = std::process::Command::new("find").arg(world.root()).args(["-name", ".*skein~"]).output();
    String::from_utf8(found.unwrap().stdout).unwrap().lines().map(str::to_owned).collect()
}

/// How often `word` stands in `text`.
pub fn times(text: &str, word: &str) -> usize {
    text.matches(word).count()
}

/// What the agent knows of it.
#[track_caller]
pub fn known(world: &World, path: &str) -> String {
    world.skein(&["doc", "show", path]).ok().out
}
