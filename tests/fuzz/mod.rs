//! Every reader of foreign bytes, held against its corpus, against what once broke it, and against both spoiled: the same
//! targets that fuzzers run, on any toolchain. The inputs of a run follow from the files and a number alone.

mod merges;
mod mutate;

use crate::support::tally::full;
use crate::support::tally::tally;
use git_skein::fuzz::Dice;
use git_skein::fuzz::TARGETS;
use git_skein::fuzz::Target;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::hash::DefaultHasher;
use std::hash::Hash;
use std::hash::Hasher;
use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::path::Path;
use std::path::PathBuf;

/// Spoiled inputs of each file of the corpus.
const PUSH: u64 = 300;
const FULL: u64 = 12_000;

const BROKE: &str = "fixtures/regressions/fuzz";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files in a folder, by name.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap()))
        .collect();
    found.sort();
    found
}

fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    files(&root().join("fixtures/corpus").join(target))
}

fn hashed(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// Runs the target. Bytes that it breaks at are kept, and will be tried first.
fn strike(target: Target, bytes: &[u8], from: &str) -> Result<(), String> {
    let (name, run) = target;
    if catch_unwind(AssertUnwindSafe(|| run(bytes))).is_ok() {
        return Ok(());
    }
    let file = PathBuf::from(BROKE).join(format!("{name}-{:016x}.bin", hashed(bytes)));
    std::fs::create_dir_all(root().join(BROKE)).unwrap();
    std::fs::write(root().join(&file), bytes).unwrap();
    Err(format!("{name}: {from} breaks it; the bytes are in {}", file.display()))
}

/// One file of the corpus, and `rounds` inputs made of it. Runs in a thread of that name: where the stack ends, nobody
/// else can tell what it was.
fn spoiled(target: Target, which: usize, seeds: &[(String, Vec<u8>)], rounds: u64) -> Result<u64, String> {
    let (name, bytes) = &seeds[which];
    strike(target, bytes, name)?;
    for round in 0..rounds {
        let mut dice = Dice(hashed((target.0, name, round)));
        let (_, other) = &seeds[dice.roll(seeds.len())];
        let input = mutate::mutated(bytes, other, &mut dice);
        strike(target, &input, &format!("{name}, spoiled in round {round},"))?;
    }
    Ok(rounds)
}

/// Whatever once broke a target is tried before anything else.
#[test]
fn what_once_broke_a_reader_does_not_again() {
    let all: HashMap<&str, Target> = TARGETS.iter().map(|target| (target.0, *target)).collect();
    let mut struck = 0;
    for (file, bytes) in files(&root().join(BROKE)) {
        let (name, _) = file.rsplit_once('-').unwrap();
        let target = all.get(name).unwrap_or_else(|| panic!("{file} is of no target"));
        assert_eq!(strike(*target, &bytes, &file), Ok(()));
        struck += 1;
    }
    tally("input that once broke a reader", struck);
}

/// `which` of `of` shares of the targets, side by side with the others.
fn share(which: usize, of: usize) {
    let rounds = if full() { FULL } else { PUSH };
    let (mut broken, mut struck) = (Vec::new(), 0);
    for target in TARGETS.iter().skip(which).step_by(of) {
        let seeds = corpus(target.0);
        assert!(!seeds.is_empty(), "{} has no corpus", target.0);
        for at in 0..seeds.len() {
            let thread = std::thread::Builder::new().name(format!("{} {}", target.0, seeds[at].0));
            let done = std::thread::scope(|scope| {
                thread.spawn_scoped(scope, || spoiled(*target, at, &seeds, rounds)).unwrap().join().unwrap()
            });
            match done {
                Ok(more) => struck += more + 1,
                Err(told) => broken.push(told),
            }
        }
    }
    assert!(struck > 0 && broken.is_empty(), "\n{}", broken.join("\n"));
    tally("spoiled input of a reader", struck);
}

#[test]
fn spoiled_bytes_break_no_reader_first_share() {
    share(0, 2);
}

#[test]
fn spoiled_bytes_break_no_reader_second_share() {
    share(1, 2);
}

/// A target that no fuzzer runs, or has no corpus, would prove nothing.
#[test]
fn each_target_has_a_fuzzer_and_a_corpus() {
    let names: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names.len(), TARGETS.len(), "two targets of one name");
    let fuzzers = files(&root().join("fuzz/fuzz_targets"));
    let mut there = BTreeSet::new();
    for (file, text) in fuzzers {
        let name = file.strip_suffix(".rs").unwrap().to_owned();
        let call = format!("git_skein::fuzz::run(\"{name}\", bytes)");
        assert!(String::from_utf8(text).unwrap().contains(&call), "{file} runs another target");
        there.insert(name);
    }
    assert_eq!(names, there);
    let manifest: toml::Table =
        std::fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap().parse().unwrap();
    let bins = manifest["bin"].as_array().unwrap();
    let bins: BTreeSet<String> = bins.iter().map(|bin| bin["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, bins);
    let folders: BTreeSet<String> = std::fs::read_dir(root().join("fixtures/corpus"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names, folders);
}

/// The mutator reaches what it is for: no input is left as it is, and they differ.
#[test]
fn the_mutator_spoils() {
    let (bytes, other) = (b"{\"v\":1,\"a\":[1,2,3]}\nline\n", b"other text");
    let all: BTreeSet<Vec<u8>> =
        (0..500).map(|n| mutate::mutated(bytes, other, &mut Dice(n))).filter(|made| made != bytes).collect();
    assert!(all.len() > 400, "{}", all.len());
    assert!(all.iter().any(|made| made.len() > 200) && all.iter().any(|made| made.len() < 10));
}
