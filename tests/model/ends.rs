//! Groups of deltas that land in random order, some of them refused: the trunk ends as its base with exactly what was
//! acknowledged in it. What that is, the model knows by construction, and git by merging each step itself.

use super::Strike;
use super::edits;
use super::edits::Body;
use super::edits::Edit;
use super::edits::Files;
use crate::support::World;
use crate::support::acts::Dice;
use crate::support::tally::full;
use crate::support::tally::tally;
use git2::Oid;
use git2::Repository;
use serde_json::Value;
use std::path::PathBuf;

const WORKERS: usize = 4;

/// A repository with workers that stand ready, all forked from the model's base.
pub struct Place {
    pub world: World,
    pub repo: Repository,
    pub base: Oid,
    workers: Vec<(String, String, PathBuf)>,
    groups: u64,
}

/// One piece of work: its edits, and the commit that they end in.
struct Delta {
    name: String,
    edits: Vec<Edit>,
    /// A commit on the way, and how many of the edits it has. Another piece of work may have begun with the same.
    midway: Vec<(Oid, usize)>,
    tip: Oid,
}

impl Delta {
    /// What it does beyond the commits that `at` has.
    fn beyond(&self, repo: &Repository, at: Oid) -> &[Edit] {
        let has = |commit: Oid| repo.graph_descendant_of(at, commit).unwrap();
        let there = self.midway.iter().rfind(|(commit, _)| has(*commit));
        &self.edits[there.map_or(0, |(_, edits)| *edits)..]
    }
}

/// What each place is a copy of.
pub fn template(workers: usize) -> World {
    let world = World::in_memory();
    let repo = Repository::open(&world.repo).unwrap();
    let first = repo.head().unwrap().target().unwrap();
    let base = edits::commit(&repo, &edits::base(), &[first], 0, "ada@example.invalid", "the model's base");
    world.git(["reset", "--quiet", "--hard", &base.to_string()]);
    for n in 0..workers {
        world.worker(&format!("w{n}"), "echo first > first && git add first && git commit -qm first");
    }
    world
}

impl Place {
    pub fn of(template: &World) -> Place {
        let world = template.copy();
        let repo = Repository::open(&world.repo).unwrap();
        let base = repo.refname_to_id("refs/heads/main").unwrap();
        let names = world.below("repo.skein").len();
        let names = (0..names).map(|n| format!("w{n}"));
        let workers = names.map(|name| (name.clone(), world.ulid(&name), world.worktree(&name))).collect();
        Place { world, repo, base, workers, groups: 0 }
    }

    /// Makes `tip` the work of a worker, as if it had done that.
    pub fn give(&self, worker: usize, tip: Oid) {
        let path = self.workers[worker].2.display().to_string();
        self.world.git(["-C", &path, "reset", "--quiet", "--hard", &tip.to_string()]);
    }

    /// The same without its files: they are what no system checks out.
    pub fn hold(&self, worker: usize, tip: Oid) {
        let path = self.workers[worker].2.display().to_string();
        self.world.git(["-C", &path, "update-ref", "--no-deref", "HEAD", &tip.to_string()]);
    }

    pub fn mail(&self, worker: usize) -> String {
        format!("{}@worker.skein.invalid", self.workers[worker].1)
    }

    /// Some edits of the base, in one or two commits. Edits of another delta may be among them.
    fn delta(&self, dice: &mut Dice, fresh: &mut u64, others: &[Delta], name: String, mail: &str) -> Delta {
        let (mut files, mut done, mut tip) = (edits::base(), Vec::new(), self.base);
        let mut midway = Vec::new();
        let count = 1 + dice.below(4);
        for n in 0..count {
            let mut edit = edits::random(dice, &files, fresh);
            if n == 0 && !others.is_empty() && dice.below(4) == 0 {
                let other = &others[dice.below(others.len() as u64) as usize];
                edit = other.edits.first().cloned().unwrap_or(edit);
            }
            if !edit.stands_beside(&done) || !edit.apply(&mut files) {
                continue;
            }
            done.push(edit);
            if n + 1 < count && dice.below(4) == 0 {
                tip = edits::commit(&self.repo, &files, &[tip], n as i64 + 1, mail, "midway");
                midway.push((tip, done.len()));
            }
        }
        let tip = edits::commit(&self.repo, &files, &[tip], 9, mail, &name);
        Delta { name, edits: done, midway, tip }
    }

    /// A name that no other system can check out, beside other work.
    fn bad(&self, name: &str, mail: &str) -> Delta {
        let mut files = edits::base();
        let item = files[&0].clone();
        files.insert(900, edits::Item { path: "x\\y".into(), ..item });
        let tip = edits::commit(&self.repo, &files, &[self.base], 9, mail, "bad");
        Delta { name: name.to_owned(), edits: Vec::new(), midway: Vec::new(), tip }
    }

    fn group(&mut self, dice: &mut Dice) -> Vec<Delta> {
        self.groups += 1;
        let (mut fresh, mut deltas) = (0, Vec::new());
        let by_workers = dice.below(4) == 0;
        let count = 1 + dice.below(if by_workers { WORKERS as u64 } else { 8 });
        for n in 0..count as usize {
            if !by_workers {
                let name = format!("g{}-{n}", self.groups);
                let delta = self.delta(dice, &mut fresh, &deltas, name.clone(), "bo@example.invalid");
                self.repo.reference(&format!("refs/heads/{name}"), delta.tip, false, "").unwrap();
                deltas.push(delta);
                continue;
            }
            let (name, mail) = (self.workers[n].0.clone(), self.mail(n));
            let bad = dice.below(8) == 0;
            let delta =
                if bad { self.bad(&name, &mail) } else { self.delta(dice, &mut fresh, &deltas, name, &mail) };
            self.give(n, delta.tip);
            deltas.push(delta);
        }
        deltas
    }

    /// The tree that git makes of it, unless it finds a conflict.
    fn merged(&self, old: Oid, tip: Oid) -> Option<Oid> {
        let said = self.world.try_git(["merge-tree", "--write-tree", &old.to_string(), &tip.to_string()]);
        let line = String::from_utf8_lossy(&said.stdout).lines().next().unwrap_or_default().to_owned();
        said.status.success().then(|| Oid::from_str(&line).unwrap())
    }

    fn tree_of(&self, commit: Oid) -> Oid {
        self.repo.find_commit(commit).unwrap().tree_id()
    }
}

fn oid(value: &Value) -> Oid {
    Oid::from_str(value.as_str().unwrap()).unwrap()
}

/// Lands them in random order, one of them twice, and gives what was said of each.
fn land(place: &Place, dice: &mut Dice, deltas: &[Delta], onto: &str) -> Vec<(usize, Value)> {
    let mut order: Vec<usize> = (0..deltas.len()).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, dice.below(at as u64 + 1) as usize);
    }
    order.push(order[dice.below(order.len() as u64) as usize]);
    let mut args = vec!["land", "--json", "--onto", onto];
    if deltas[0].name.starts_with('w') && dice.below(3) == 0 {
        args.push("--squash");
    }
    args.extend(order.iter().map(|n| deltas[*n].name.as_str()));
    let said = place.world.skein(&args).json();
    let said = said["result"].as_array().unwrap().clone();
    assert_eq!(said.len(), order.len());
    order.into_iter().zip(said).collect()
}

fn one(place: &mut Place, seed: u64) -> Result<(), String> {
    let mut landed = Vec::new();
    run(place, seed, &mut landed).map_err(|why| format!("{why}\n   after:\n   {}", landed.join("\n   ")))
}

fn run(place: &mut Place, seed: u64, before: &mut Vec<String>) -> Result<(), String> {
    let dice = &mut Dice::of(seed);
    let deltas = place.group(dice);
    let onto = format!("g{}", place.groups);
    place.repo.reference(&format!("refs/heads/{onto}"), place.base, false, "").unwrap();
    let (mut at, mut files, mut landed) = (place.base, edits::base(), Vec::new());
    for (which, said) in land(place, dice, &deltas, &onto) {
        let delta = &deltas[which];
        let told = format!("{} {:?}: {said}", delta.name, delta.edits);
        if let Some(error) = said.get("error") {
            let token = error["token"].as_str().unwrap_or_default();
            if token.is_empty() {
                return Err(format!("refused without a token: {told}"));
            }
            if token.starts_with("conflict") && place.merged(at, delta.tip).is_some() {
                tally("needless conflict", 1);
            }
            continue;
        }
        let (old, new) = (oid(&said["result"]["old"]), oid(&said["result"]["new"]));
        if said["result"]["already"] == true {
            if !landed.contains(&which) {
                return Err(format!("said to have landed before: {told}"));
            }
            continue;
        }
        if old != at {
            return Err(format!("began at {old}, and the branch was at {at}: {told}"));
        }
        let next = edits::apply_all(delta.beyond(&place.repo, old), &files);
        files = next.ok_or_else(|| format!("it has no place there: {told}"))?;
        check(place, &files, delta, old, new).map_err(|why| format!("{why}: {told}"))?;
        at = new;
        landed.push(which);
        before.push(format!("{} {:?}", delta.name, delta.edits));
    }
    let tip = place.repo.refname_to_id(&format!("refs/heads/{onto}")).unwrap();
    if tip != at {
        return Err(format!("{onto} is at {tip}, and what was acknowledged ends at {at}"));
    }
    tally("landing of a group", landed.len() as u64);
    Ok(())
}

/// One landing, by the model and by git.
fn check(place: &Place, files: &Files, delta: &Delta, old: Oid, new: Oid) -> Result<(), String> {
    let (found, want) = (place.tree_of(new), edits::tree(&place.repo, files));
    if found != want {
        let diff = place.world.git(["diff-tree", "-p", &want.to_string(), &found.to_string()]);
        return Err(format!("not the base with all that was acknowledged:\n{diff}\n"));
    }
    match place.merged(old, delta.tip) {
        Some(tree) if tree == found => {}
        Some(tree) => return Err(format!("git merges it to {tree}, not to {found}")),
        None => return Err("git finds a conflict".into()),
    }
    match place.repo.graph_descendant_of(new, old) {
        Ok(true) => Ok(()),
        _ => Err("the branch was moved away from what it had".into()),
    }
}

#[test]
fn a_trunk_ends_as_its_base_with_all_that_was_acknowledged() {
    let template = template(WORKERS);
    let count = if full() { 1000 } else { 40 };
    Strike { name: "ends", tally: "group of deltas", count }.run(|| Place::of(&template), one);
}

/// A file has another name on one side or on both, and a side makes a program of it, or makes it none any more.
#[test]
fn a_mode_is_not_forgotten_under_another_name() {
    let place = Place::of(&template(0));
    let Body::Text(lines) = edits::base()[&0].body.clone() else { unreachable!() };
    for (round, exec) in [false, true].into_iter().enumerate() {
        let mut files = edits::base();
        files.get_mut(&0).unwrap().exec = exec;
        let base = edits::commit(&place.repo, &files, &[place.base], 1, "bo@x.invalid", "base");
        let mode = Edit::Mode { file: 0, exec: !exec };
        let name = Edit::Rename { file: 0, old: "f0.txt".into(), new: "z.txt".into() };
        let line = Edit::Replace { file: 0, old: lines[5].clone(), new: "another\n".into() };
        let pairs = [
            (vec![name.clone()], vec![mode.clone()]),
            (vec![name.clone()], vec![mode.clone(), line.clone()]),
            (vec![name.clone(), line.clone()], vec![mode.clone()]),
            (vec![name.clone(), mode.clone()], vec![line.clone()]),
            (vec![name.clone(), mode.clone()], vec![name.clone()]),
            (vec![name.clone(), mode.clone()], vec![name, line]),
        ];
        for (n, (one, other)) in pairs.into_iter().enumerate() {
            for (side, [ours, theirs]) in [[&one, &other], [&other, &one]].into_iter().enumerate() {
                let [old, tip] = [ours, theirs].map(|edits| {
                    let after = edits::apply_all(edits, &files).unwrap();
                    edits::commit(&place.repo, &after, &[base], 2, "bo@x.invalid", &format!("{edits:?}"))
                });
                let [onto, work] = ["on", "work"].map(|what| format!("{what}{round}-{n}-{side}"));
                for (branch, oid) in [(&onto, old), (&work, tip)] {
                    place.repo.reference(&format!("refs/heads/{branch}"), oid, false, "").unwrap();
                }
                let ran = place.world.skein(&["land", "--onto", &onto, &work]);
                let new = place.repo.refname_to_id(&format!("refs/heads/{onto}")).unwrap();
                let both = edits::apply_all(theirs, &edits::apply_all(ours, &files).unwrap()).unwrap();
                let want = edits::tree(&place.repo, &both);
                let what = format!("a program: {exec}, onto {ours:?}: {theirs:?}: {ran:?}");
                assert_eq!(place.tree_of(new), want, "{what}");
                assert_eq!(place.merged(old, tip), Some(want), "git differs: {what}");
            }
        }
    }
}
