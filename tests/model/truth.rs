//! `landed` on random histories, against what is known of them by construction and against its own claims, tried by
//! brute force with libgit2: each commit of the trunk is looked at, and its trees are merged and compared.

use super::Strike;
use super::ends::Place;
use super::ends::template;
use super::history;
use super::history::History;
use crate::support::tally::full;
use crate::support::tally::tally;
use git2::Oid;
use git2::Repository;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

/// Histories in which all is at the tip, and in which that was not said.
static THERE: AtomicU64 = AtomicU64::new(0);
static NEEDLESS: AtomicU64 = AtomicU64::new(0);

/// A difference: path, modes, blobs; each before and after.
type Raw = BTreeSet<(Vec<u8>, i32, Oid, i32, Oid)>;

fn raw(repo: &Repository, old: Oid, new: Oid) -> Raw {
    let tree = |commit: Oid| repo.find_commit(commit).unwrap().tree().unwrap();
    let diff = repo.diff_tree_to_tree(Some(&tree(old)), Some(&tree(new)), None).unwrap();
    let line = |d: git2::DiffDelta<'_>| {
        let (old, new) = (d.old_file(), d.new_file());
        let path = new.path_bytes().or(old.path_bytes()).unwrap().to_vec();
        (path, i32::from(old.mode()), old.id(), i32::from(new.mode()), new.id())
    };
    diff.deltas().map(line).collect()
}

/// Merging `tip` into `onto`, from `base`, leaves it as it is: with renames off, and with renames on.
fn changes_nothing(repo: &Repository, base: Oid, onto: Oid, tip: Oid) -> bool {
    let tree = |commit: Oid| repo.find_commit(commit).unwrap().tree().unwrap();
    [false, true].into_iter().any(|renames| {
        let mut options = git2::MergeOptions::new();
        options.find_renames(renames);
        let merged = repo.merge_trees(&tree(base), &tree(onto), &tree(tip), Some(&options));
        merged.is_ok_and(|mut index| {
            !index.has_conflicts() && index.write_tree_to(repo).unwrap() == tree(onto).id()
        })
    })
}

/// The commits after `base` that `tip` has.
fn after(repo: &Repository, base: Oid, tip: Oid) -> Vec<Oid> {
    let mut walk = repo.revwalk().unwrap();
    walk.push(tip).unwrap();
    walk.hide(base).unwrap();
    walk.map(Result::unwrap).collect()
}

/// The commits of the work that change something.
fn steps(repo: &Repository, base: Oid, tip: Oid) -> Vec<Oid> {
    let tree = |commit: Oid| repo.find_commit(commit).unwrap().tree_id();
    let mut work = after(repo, base, tip);
    work.retain(|c| tree(*c) != tree(repo.find_commit(*c).unwrap().parent_id(0).unwrap()));
    work
}

/// Whether what `proof` claims of base, tip and trunk is so.
pub fn proven(repo: &Repository, [base, tip, trunk]: [Oid; 3], proof: &str) -> bool {
    let step = |commit: Oid| repo.find_commit(commit).unwrap().parent_id(0).unwrap();
    let upstream = after(repo, base, trunk);
    match proof {
        "ancestor" => trunk == tip || repo.graph_descendant_of(trunk, tip).unwrap(),
        "exact" => {
            let there: BTreeSet<Raw> = upstream.iter().map(|u| raw(repo, step(*u), *u)).collect();
            let mut work = steps(repo, base, tip).into_iter().map(|c| raw(repo, step(c), c));
            work.all(|raw| there.contains(&raw))
        }
        "range" => {
            let net = raw(repo, base, tip);
            upstream.iter().any(|u| raw(repo, step(*u), *u) == net)
        }
        "contained" => {
            let whole = |base: Oid, tip: Oid| upstream.iter().any(|u| changes_nothing(repo, base, *u, tip));
            let twin = |c: Oid| upstream.iter().any(|u| raw(repo, step(*u), *u) == raw(repo, step(c), c));
            whole(base, tip) || steps(repo, base, tip).into_iter().all(|c| twin(c) || whole(step(c), c))
        }
        _ => false,
    }
}

fn one(place: &mut Place, seed: u64) -> Result<(), String> {
    let h = history::random(&place.repo, place.base, seed);
    for (name, oid) in [("s", h.tip), ("t", h.trunk)] {
        place.repo.reference(&format!("refs/heads/{name}{seed}"), oid, true, "").unwrap();
    }
    let (s, t, base) = (format!("s{seed}"), format!("t{seed}"), h.base.to_string());
    let ran = place.world.skein(&["landed", &s, "--base", &base, "--onto", &t, "--json"]);
    let verdict = ran.json()["result"]["verdict"].clone();
    judge(&place.repo, &h, ran.code, &verdict)
        .map_err(|why| format!("{why}\n   said: {verdict}\n   {}", h.told.join("\n   ")))
}

fn judge(repo: &Repository, h: &History, code: i32, verdict: &Value) -> Result<(), String> {
    let field = |key: &str| verdict[key].as_str().unwrap_or_default().to_owned();
    let (said, proof, presence) = (field("verdict"), field("proof"), field("presence"));
    let landed = said == "landed" && presence != "reverted";
    if landed != (code == 0) {
        return Err(format!("exit code {code}"));
    }
    if !["landed", "partial", "not-landed", "empty"].contains(&said.as_str()) {
        return Err("no such verdict is due".into());
    }
    if said == "landed" {
        if !h.ever {
            return Err("FALSE LANDED: a part has never been on the trunk".into());
        }
        if !proven(repo, [h.base, h.tip, h.trunk], &proof) {
            return Err(format!("FALSE PROOF: no {proof} to be found by brute force"));
        }
    }
    if landed && h.back && !h.now {
        return Err("FALSE LANDED: it was taken back".into());
    }
    if presence == "yes" && !h.now {
        return Err("FALSE YES: it is not at the tip".into());
    }
    if h.now && h.taken {
        THERE.fetch_add(1, Ordering::Relaxed);
        tally("history that has it all", 1);
        if !landed {
            NEEDLESS.fetch_add(1, Ordering::Relaxed);
            tally("needless not-landed", 1);
        }
    }
    Ok(())
}

#[test]
fn what_is_said_to_have_landed_has() {
    let template = template(0);
    let count = if full() { 3000 } else { 120 };
    Strike { name: "truth", tally: "history judged", count }.run(|| Place::of(&template), one);
    let (there, needless) = (THERE.load(Ordering::Relaxed), NEEDLESS.load(Ordering::Relaxed));
    println!("{needless} needless of {there}");
    assert!(there * 10 >= count, "too few histories have it all: {there}");
    assert!(needless * 20 <= there + 60, "landed, and not said so: {needless} of {there}");
}
