//! No verb is forgotten: each that the program has is struck by a sweep, or only reads, or stands here with its reason.

use crate::faults::desk;
use crate::faults::disk::READING;
use crate::manual::declared;
use crate::support::World;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Where sweeps are, below `tests`.
const SWEEPS: &[&str] = &["faults", "docworld", "proof", "sync", "server.rs"];

/// What makes a scene or a table of strikes. The next words in quotes are its name, which begins with the verb, or the
/// verb itself.
const MAKES: &[&str] = &["Scene::new(", "sweep_landing(", "undoing(", "sweep::table("];

/// They never write, whatever they are given.
const ONLY_READ: &[&str] = &[
    "artifacts",
    "attach",
    "bundle list",
    "bundle show",
    "completions",
    "debt",
    "doc conflicts",
    "doc diff",
    "doc outline",
    "doc show",
    "doc status",
    "doc turn diff",
    "doc turn show",
    "doc turns",
    "events",
    "help",
    "hooks status",
    "inbox",
    "kinds",
    "landed",
    "log",
    "peek",
    "search",
    "show",
    "status",
    "wait",
];

/// In no sweep, and why.
const EXCEPTED: &[(&str, &str)] = &[
    ("demo", "it writes only into a repository of its own, which is thrown away"),
    ("dock", "what it does, it does by the command lines of other verbs"),
    ("man", "it writes into a folder of man pages alone, and each file is put there whole"),
    ("mcp", "its tools are the calls of `worker`, which are struck"),
    ("queue list", "it fetches what it shows, as `queue drop` does before it writes"),
    ("runner", "it runs until it is ended; tests/runner.rs kills it where it is at work"),
    ("worker inbox", "it notes only what was read; what is noted too little is shown again"),
    ("worker wait", "tests/faults/supervisor.rs strikes it at the place where its question is on the record"),
];

fn sources(at: &Path, found: &mut Vec<String>) {
    if at.is_file() {
        found.push(fs::read_to_string(at).unwrap());
        return;
    }
    for entry in fs::read_dir(at).unwrap() {
        sources(&entry.unwrap().path(), found);
    }
}

/// The first words of each sweep.
fn swept() -> Vec<Vec<String>> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut texts = Vec::new();
    for place in SWEEPS {
        sources(&tests.join(place), &mut texts);
    }
    let mut found: Vec<Vec<String>> =
        desk::SAID.iter().map(|word| vec!["worker".to_owned(), (*word).to_owned()]).collect();
    for (text, makes) in texts.iter().flat_map(|text| MAKES.iter().map(move |makes| (text, makes))) {
        for (at, _) in text.match_indices(makes).filter(|(at, _)| !text[..*at].ends_with("fn ")) {
            let rest = &text[at + makes.len()..];
            let rest = &rest[..rest.find([']', ';', '}']).unwrap_or(rest.len())];
            let quoted: Vec<&str> = rest.split('"').skip(1).step_by(2).collect();
            let words = quoted.iter().flat_map(|part| part.split([' ', ',']));
            found.push(words.filter(|word| !word.is_empty()).map(str::to_owned).collect());
        }
    }
    found
}

#[test]
fn each_verb_is_struck_or_only_reads() {
    let all: BTreeSet<Vec<String>> = declared(&World::new()).into_keys().collect();
    let is_whole = |verb: &&Vec<String>| {
        !verb.is_empty() && !all.iter().any(|other| other.len() > verb.len() && other.starts_with(verb))
    };
    let verbs: BTreeSet<String> = all.iter().filter(is_whole).map(|verb| verb.join(" ")).collect();
    let swept = swept();
    let words = |verb: &str| -> Vec<String> { verb.split(' ').map(str::to_owned).collect() };
    let is_struck = |verb: &str| swept.iter().any(|sweep| sweep.starts_with(&words(verb)));
    for verb in &verbs {
        let reads = ONLY_READ.contains(&verb.as_str());
        let excepted = EXCEPTED.iter().any(|(other, _)| other == verb);
        let ways = usize::from(reads) + usize::from(excepted) + usize::from(is_struck(verb));
        assert_eq!(ways, 1, "{verb}: no sweep strikes it, and it is in no list here; or in two places");
    }
    for verb in ONLY_READ.iter().chain(EXCEPTED.iter().map(|(verb, _)| verb)) {
        assert!(verbs.contains(*verb), "there is no verb {verb}");
    }
    for verb in ONLY_READ {
        let given = |args: &&[&str]| {
            words(verb).iter().map(String::as_str).eq(args.iter().copied().take(words(verb).len()))
        };
        assert!(
            READING.iter().any(|(args, _)| given(args)),
            "{verb} is not in the list of tests/faults/disk.rs"
        );
    }
    assert!(verbs.len() > 70, "{}", verbs.len());
}
