//! The merge of a document: rounds of a person, an agent and commits in any order; merges that are known to the byte; and
//! markdown of all kinds, spoiled. A failure tells the number of its round, and that goes into
//! `fixtures/regressions/merges.txt` behind the name of the kind.

use crate::fuzz::corpus;
use crate::fuzz::mutate::mutated;
use crate::fuzz::root;
use crate::support::tally::full;
use crate::support::tally::regressions;
use crate::support::tally::tally;
use git_skein::fuzz::Dice;
use git_skein::fuzz::apart;
use git_skein::fuzz::beside;
use git_skein::fuzz::interleaved;
use git_skein::fuzz::markdown;

/// Rounds of the kind `kind`, those first that once failed; `which` of `of` shares.
fn rounds(kind: &str, play: fn(u64), most: u64, (which, of): (u64, u64)) -> u64 {
    if which == 0 {
        for line in regressions("merges") {
            if let Some(seed) = line.strip_prefix(kind) {
                play(seed.trim().parse().unwrap());
            }
        }
    }
    let seeds = (0..most).filter(|seed| seed % of == which);
    seeds.map(play).count() as u64
}

fn interleave(share: u64) {
    let most = if full() { 120_000 } else { 20_000 };
    tally("interleaving of a person and an agent", rounds("interleaved ", interleaved, most, (share, 4)));
}

#[test]
fn any_order_first_share() {
    interleave(0);
}

#[test]
fn any_order_second_share() {
    interleave(1);
}

#[test]
fn any_order_third_share() {
    interleave(2);
}

#[test]
fn any_order_fourth_share() {
    interleave(3);
}

/// Whoever is called the person, and however often: what both did apart from each other is there, to the byte.
#[test]
fn what_was_done_apart_comes_together() {
    let most = if full() { 200_000 } else { 10_000 };
    tally("merge known to the byte", rounds("apart ", apart, most, (0, 1)));
}

/// Both hold some edits alike, as where two clones were brought together before: no line comes out twice, and none goes.
#[test]
fn what_both_did_is_there_once() {
    let most = if full() { 200_000 } else { 10_000 };
    tally("merge of sides with edits in common", rounds("beside ", beside, most, (0, 1)));
}

/// Any markdown is read, merged and written without a fault, and no line of anybody goes.
#[test]
fn spoiled_markdown_is_read_and_merged() {
    let most = if full() { 50 << 20 } else { 2 << 20 };
    let mut seeds: Vec<Vec<u8>> = std::fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "md"))
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    seeds.sort();
    seeds.extend(corpus("document").into_iter().map(|(_, bytes)| bytes));
    let (mut seen, mut round) = (0, 0);
    while seen < most {
        let mut dice = Dice(round);
        let [one, other] = [(); 2].map(|()| seeds[dice.roll(seeds.len())].clone());
        // A piece of it, so that what is spoiled stands near what it may break.
        let from = dice.roll(one.len());
        let piece = &one[from..one.len().min(from + 200 + dice.roll(6_000))];
        let text = String::from_utf8_lossy(&mutated(piece, &other, &mut dice)).into_owned();
        let done = std::panic::catch_unwind(|| markdown(&text, &mut dice.clone()));
        seen += done.unwrap_or_else(|_| panic!("round {round}: {text:?}"));
        round += 1;
    }
    assert!(round > 100, "{round}");
    tally("byte of spoiled markdown", seen as u64);
}
