//! The identities of random deltas, as `import` computes them: against git's own patch ids and a diff by libgit2. Two
//! deltas have the same raw digest if and only if they make the same difference.

use super::Strike;
use super::edits;
use super::ends::Place;
use super::ends::template;
use crate::support::acts::Dice;
use crate::support::tally::full;
use git2::Oid;
use git2::Repository;
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Mutex;

/// The difference of two commits in words, by libgit2.
fn difference(repo: &Repository, old: Oid, new: Oid) -> String {
    let tree = |commit: Oid| repo.find_commit(commit).unwrap().tree().unwrap();
    let diff = repo.diff_tree_to_tree(Some(&tree(old)), Some(&tree(new)), None).unwrap();
    let line = |d: git2::DiffDelta<'_>| {
        let (old, new) = (d.old_file(), d.new_file());
        let path = new.path().or(old.path()).unwrap().display().to_string();
        format!("{path} {:?} {} {:?} {}\n", old.mode(), old.id(), new.mode(), new.id())
    };
    diff.deltas().map(line).collect()
}

/// What git calls the patch, from a diff of plumbing with nothing configured.
fn patch_id(place: &Place, old: Oid, new: Oid, how: &str) -> String {
    let script = format!(
        "git diff-tree -p --no-renames --no-indent-heuristic --full-index -U3 --no-ext-diff --no-textconv {old} {new} \
         | git patch-id {how}"
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(&place.world.repo).env_clear();
    shell.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", place.world.root().join("home"));
    let said = String::from_utf8(shell.output().unwrap().stdout).unwrap();
    said.split(' ').next().unwrap_or_default().to_owned()
}

#[test]
fn identities_are_those_of_git_and_tell_differences_apart() {
    let template = template(1);
    // Both ways: a digest has one difference, a difference one digest.
    let known: Mutex<[BTreeMap<String, String>; 2]> = Mutex::default();
    let case = |place: &mut Place, seed: u64| {
        let mut dice = Dice::of(seed);
        let (mut files, mut fresh, mail) = (edits::base(), 0, place.mail(0));
        // Few enough that some are made twice.
        for _ in 0..1 + dice.below(3) {
            edits::random(&mut dice, &files, &mut fresh).apply(&mut files);
        }
        let tip = edits::commit(&place.repo, &files, &[place.base], 7, &mail, "work");
        let difference = difference(&place.repo, place.base, tip);
        place.give(0, tip);
        let ran = place.world.skein(&["import", "w0", "--dry-run", "--json"]);
        if difference.is_empty() {
            let refused = ran.code == 1 && ran.json()["error"]["token"] == "empty";
            return if refused { Ok(()) } else { Err(format!("changes nothing: {ran:?}")) };
        }
        if ran.code != 0 {
            return Err(format!("{difference}{ran:?}"));
        }
        let net = ran.json()["result"]["delta"]["net"].clone();
        let text = |key: &str| net[key].as_str().unwrap().to_owned();
        let stable = patch_id(place, place.base, tip, "--stable");
        if !stable.is_empty() && text("patch_stable") != stable {
            return Err(format!("{difference}git's stable id is {stable}: {net}"));
        }
        let mut known = known.lock().unwrap();
        for (n, (key, value)) in
            [(text("raw"), difference.clone()), (difference, text("raw"))].into_iter().enumerate()
        {
            let first = known[n].entry(key.clone()).or_insert_with(|| value.clone());
            if *first != value {
                return Err(format!("{key}: {first} and {value}"));
            }
        }
        Ok(())
    };
    let count = if full() { 1500 } else { 40 };
    Strike { name: "identity", tally: "identity compared", count }.run(|| Place::of(&template), case);
}
