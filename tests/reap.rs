//! Closing workers and opening them again: every reason to keep one, every reason to remove one, and that
//! nothing is lost on the way.

use crate::support::World;
use crate::support::acts::mentions;
use crate::support::acts::until;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::path::Path;

const FIVE: &str = "sed -i s/5/five/ a.txt && git commit -qam five";

/// The decision and its reason on one worker, from a dry run.
#[track_caller]
fn says(world: &World, args: &[&str]) -> (String, String) {
    let row = row(world, args);
    (text(&row["decision"]), text(&row["reason"]))
}

#[track_caller]
fn row(world: &World, args: &[&str]) -> Value {
    let ran = world.skein(&[&["reap", "--json"], args].concat());
    assert!([0, 1].contains(&ran.code), "{ran:?}");
    let rows = ran.json()["result"]["workers"].clone();
    assert_eq!(rows.as_array().unwrap().len(), 1, "{rows}");
    rows[0].clone()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[track_caller]
fn keeps(world: &World, reason: &str, args: &[&str]) {
    assert_eq!(says(world, args), ("keep".to_owned(), reason.to_owned()), "{args:?}");
    let before = everything(world);
    world.skein(&[&["reap", "--yes"], args].concat()).code(1);
    assert_eq!(everything(world), before, "{args:?}: something went");
}

/// Refs of workers, worktrees and every file in them.
fn everything(world: &World) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for line in world.git(["for-each-ref", "--format=%(refname)", "refs/skein"]).lines() {
        all.insert(line.to_owned(), String::new());
    }
    all.insert("worktrees".into(), world.git(["worktree", "list", "--porcelain"]));
    for folder in world.below("repo.skein") {
        files(&folder, &mut all);
    }
    all
}

/// Every file below `dir` but `.git`: kind, executable bit and content.
fn files(dir: &Path, all: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        let name = path.display().to_string();
        if kind.is_symlink() {
            all.insert(name, format!("-> {}", fs::read_link(&path).unwrap().display()));
        } else if kind.is_dir() {
            files(&path, all);
        } else if entry.file_name() != ".git" {
            let x = entry.metadata().unwrap().permissions().mode() & 0o111 != 0;
            all.insert(name, format!("{x} {:?}", fs::read(&path).unwrap_or_default()));
        }
    }
}

fn content(dir: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    files(dir, &mut all);
    let prefix = format!("{}/", dir.display());
    all.into_iter().map(|(path, text)| (path.replace(&prefix, ""), text)).collect()
}

fn shared(world: &World, kind: &str) -> Vec<String> {
    world.lines(&["for-each-ref", "--format=%(refname)", &format!("refs/skein/{kind}/")])
}

/// A dry run says it; with `--yes` worktree and refs are gone, and the archive has the record.
#[track_caller]
fn removes(world: &World, reason: &str, args: &[&str]) {
    let before = everything(world);
    let listed = row(world, args);
    assert_eq!((text(&listed["decision"]), text(&listed["reason"])), ("remove".into(), reason.into()));
    assert_eq!(everything(world), before, "a dry run changes nothing");
    let ulid = text(&listed["worker"]);
    world.skein(&[&["reap", "--yes"], args].concat()).ok();
    for name in ["skein/worker", "skein-local/head", "skein-local/wip"] {
        assert!(!world.exists(&format!("refs/{name}/{ulid}")), "{name}");
    }
    let archive = shared(world, "archive");
    assert_eq!(archive.len(), 1);
    let record = world.git(["show", &format!("{}:{ulid}/record.json", archive[0])]);
    assert!(record.contains(&ulid), "{record}");
    assert!(!world.path(&format!(".git/skein/run/{ulid}")).exists());
    assert!(!world.git(["worktree", "list", "--porcelain"]).contains(&ulid));
    world.collect_garbage();
    world.check();
}

#[test]
fn what_landed_and_what_did_nothing_goes() {
    let world = World::new();
    world.worker("fix", FIVE);
    world.worker("idle", "true");
    world.skein(&["land", "fix"]).ok();
    let next = world.field("fix", "next");
    assert_eq!(next, "git skein reap fix");
    let said = world.skein(&["reap", "fix"]).ok().out;
    assert!(said.contains("remove: fix (landed: in main by proof of receipt"), "{said}");
    removes(&world, "landed", &["fix"]);
    removes(&world, "empty", &["idle"]);
    assert!(world.below("repo.skein").is_empty());
    assert!(world.skein(&["reap", "fix", "--yes"]).ok().out.contains("already"));
    assert!(world.skein(&["reap", "--all", "--yes"]).ok().out.contains("no worker"));
    world.skein(&["reap"]).code(129);
    world.skein(&["reap", "nobody"]).refused("no-such-worker", 1);
}

#[test]
fn later_work_does_not_keep_it_and_a_squash_by_hand_counts() {
    let world = World::new();
    world.worker("fix", FIVE);
    world.skein(&["land", "fix"]).ok();
    world.write("a.txt", &world.read("a.txt").replace("five", "fuenf"));
    world.commit("later");
    removes(&world, "landed", &["fix"]);
    world.worker("two", "echo 1 >n && git add n && git commit -qm 1 && echo 2 >n && git commit -qam 2");
    world.write("n", "2\n");
    world.commit("squashed by hand");
    assert_eq!(row(&world, &["two"])["verdict"]["proof"], "range");
    removes(&world, "landed", &["two"]);
}

#[test]
fn what_was_taken_back_is_not_called_landed() {
    let world = World::new();
    world.worker("fix", FIVE);
    world.skein(&["land", "fix"]).ok();
    let landed = world.head();
    let row = || world.skein(&["status", "--json"]).ok().json()["result"]["workers"][0].clone();
    assert_eq!(
        (&row()["taken_back"], row()["next"].as_str().unwrap()),
        (&false.into(), "git skein reap fix")
    );
    world.git(["revert", "--no-edit", "HEAD"]);
    // What comes later does not hide it.
    world.git(["commit", "-q", "--allow-empty", "-m", "later"]);
    let row = row();
    assert_eq!((&row["taken_back"], &row["landed"]), (&true.into(), &landed.into()));
    assert_eq!(row["next"], "git skein landed fix");
    assert!(world.skein(&["status"]).ok().out.contains("taken back"));
    let card = world.skein(&["show", "fix"]).ok().out;
    assert!(card.contains(", and was taken back") && card.contains("git skein landed fix"), "{card}");
    assert!(world.skein(&["landed", "fix"]).code(1).out.contains("reverted"));
}

#[test]
fn what_is_not_proven_stays() {
    let world = World::new();
    world.worker("fix", FIVE);
    keeps(&world, "not-landed", &["fix"]);
    world.worker("draft", "echo x >x");
    keeps(&world, "uncommitted", &["draft"]);
    world.worker(
        "half",
        "echo 1 >p && git add p && git commit -qm p; echo 2 >q && git add q && git commit -qm q",
    );
    world.write("p", "1\n");
    world.commit("one of them");
    keeps(&world, "partial", &["half"]);
    world.skein(&["land", "fix"]).ok();
    world.git(["revert", "--no-edit", "HEAD"]);
    keeps(&world, "reverted", &["fix"]);
    world.worker("lost", "echo 1 >l && git add l && git commit -qm l");
    world.git(["update-ref", "--no-deref", "refs/heads/kept", "main"]);
    world.git(["switch", "-q", "--orphan", "other"]);
    world.git(["commit", "-q", "--allow-empty", "-m", "other"]);
    world.git(["update-ref", "refs/heads/main", "HEAD"]);
    keeps(&world, "unknown", &["lost"]);
    for name in ["fix", "draft", "half", "lost"] {
        assert_eq!(says(&world, &[name, "--include-unlanded"]).1, "unlanded", "{name}");
    }
    removes(&world, "unlanded", &["draft", "--include-unlanded"]);
    let index = world.git(["show", &format!("{}:index.json", shared(&world, "archive")[0])]);
    let index: Value = serde_json::from_str(&index).unwrap();
    let snapshot = text(&index["workers"][0]["snapshot"]);
    assert_eq!(world.git(["show", &format!("{snapshot}:x")]), "x");
    assert!(
        world.git(["for-each-ref", "--contains", &snapshot, "refs/skein"]).is_empty(),
        "it is not shared"
    );
}

#[test]
fn what_runs_stays() {
    let world = World::new();
    world
        .skein(&[
            "dispatch",
            "--name",
            "run",
            "T",
            "--",
            "sh",
            "-c",
            "while [ -e .git ]; do sleep 0.05; done",
        ])
        .ok();
    let all = ["run", "--include-unlanded", "--include-ignored"];
    assert_eq!(says(&world, &all), ("keep".into(), "running".into()));
    world.skein(&["reap", "run", "--yes", "--include-unlanded"]).code(1);
    assert!(world.skein(&["reap", "--all", "--yes"]).ok().out.contains("no worker"));
    // Nobody can see it any more, but the record says that it runs.
    let run = world.path(&format!(".git/skein/run/{}", world.ulid("run")));
    fs::rename(&run, world.path(".git/skein/run/elsewhere")).unwrap();
    assert_eq!(says(&world, &all), ("keep".into(), "not-known-ended".into()));
    fs::rename(world.path(".git/skein/run/elsewhere"), &run).unwrap();
    world.skein(&["stop", "run"]).ok();
    removes(&world, "empty", &["run"]);
}

#[test]
fn ignored_files_stay_until_they_are_given_up() {
    let world = World::new();
    world.worker("fix", &format!("{FIVE}; echo s >key.ign; mkdir -p ignored/deep; echo d >ignored/deep/d"));
    world.skein(&["land", "fix"]).ok();
    keeps(&world, "ignored-files", &["fix"]);
    assert_eq!(row(&world, &["fix"])["unseen"], serde_json::json!(["ignored/", "key.ign"]));
    let said = world.skein(&["reap", "fix"]).code(1);
    assert!(said.out.contains("key.ign") && said.out.contains("--include-ignored"), "{said:?}");
    removes(&world, "landed", &["fix", "--include-ignored"]);
}

/// `.worktreeinclude` brought them, and they are as they came.
#[test]
fn copies_of_ignored_files_are_no_loss() {
    let world = World::new();
    world.write(".worktreeinclude", "*.ign\nignored/\n");
    world.commit("rules");
    world.write("key.ign", "secret\n");
    world.write("ignored/deep/d", &"long\n".repeat(40_000));
    let tree = world.worker("fix", &format!("{FIVE}; test -e key.ign"));
    let tree = world.worktree(&tree);
    world.skein(&["land", "fix"]).ok();
    let unseen = || row(&world, &["fix"])["unseen"].clone();
    assert_eq!(
        (fs::read(tree.join("key.ign")).unwrap(), unseen()),
        (b"secret\n".to_vec(), serde_json::json!([]))
    );
    // Changed here, changed or gone there, or a link: then it is the only one.
    fs::write(tree.join("key.ign"), "Secret\n").unwrap();
    assert_eq!(unseen(), serde_json::json!(["key.ign"]));
    fs::write(tree.join("key.ign"), "secret\n").unwrap();
    fs::write(tree.join("ignored/deep/d"), "long\n".repeat(39_999) + "Long\n").unwrap();
    assert_eq!(unseen(), serde_json::json!(["ignored/"]));
    fs::write(tree.join("ignored/deep/d"), "long\n".repeat(40_000)).unwrap();
    fs::remove_file(world.path("key.ign")).unwrap();
    assert_eq!(unseen(), serde_json::json!(["key.ign"]));
    std::os::unix::fs::symlink(tree.join("key.ign"), world.path("key.ign")).unwrap();
    keeps(&world, "ignored-files", &["fix"]);
    fs::remove_file(world.path("key.ign")).unwrap();
    world.write("key.ign", "secret\n");
    fs::rename(world.path("ignored"), world.path("aside")).unwrap();
    std::os::unix::fs::symlink(tree.join("ignored"), world.path("ignored")).unwrap();
    assert_eq!(unseen(), serde_json::json!(["ignored/"]));
    fs::remove_file(world.path("ignored")).unwrap();
    fs::rename(world.path("aside"), world.path("ignored")).unwrap();
    removes(&world, "landed", &["fix"]);
    assert_eq!(world.read("key.ign"), "secret\n");
}

#[test]
fn what_cannot_be_captured_or_is_half_done_stays() {
    let world = World::new();
    for name in ["nested", "rebasing"] {
        world.worker(name, &format!("echo {name} >{name} && git add {name} && git commit -qm {name}"));
        world.skein(&["land", name]).ok();
    }
    let tree = world.worktree("nested");
    world.git(["init", "-q", tree.join("sub").to_str().unwrap()]);
    fs::write(tree.join("sub/file"), "x").unwrap();
    keeps(&world, "uncaptured", &["nested", "--include-ignored", "--include-unlanded"]);
    let git =
        world.git(["-C", world.worktree("rebasing").to_str().unwrap(), "rev-parse", "--absolute-git-dir"]);
    fs::create_dir(Path::new(&git).join("rebase-merge")).unwrap();
    keeps(&world, "in-progress", &["rebasing", "--include-ignored", "--include-unlanded"]);
}

/// The folder at a worker's place is removed only if it and its registration name each other.
#[test]
fn a_folder_that_is_not_its_worktree_stays() {
    let world = World::new();
    for name in ["moved", "foreign", "stripped", "forged", "holds"] {
        world.worker(name, &format!("echo {name} >{name} && git add {name} && git commit -qm {name}"));
        world.skein(&["land", name]).ok();
    }
    let place = |name: &str| world.root().join("repo.skein").join(name);
    fs::rename(place("moved"), place("moved-by-hand")).unwrap();
    fs::rename(place("foreign"), world.root().join("away")).unwrap();
    fs::create_dir(place("foreign")).unwrap();
    fs::write(place("foreign").join("mine"), "mine").unwrap();
    fs::remove_file(place("stripped").join(".git")).unwrap();
    // A registration made by hand that points at the main checkout.
    let admin = world.path(".git/worktrees/forged");
    fs::write(admin.join("gitdir"), format!("{}\n", world.path(".git").display())).unwrap();
    let inside = place("holds").join("inside");
    world.git(["worktree", "add", "-q", "--detach", inside.to_str().unwrap()]);
    for name in ["moved", "foreign", "stripped", "forged", "holds"] {
        keeps(&world, "not-its-worktree", &[name, "--include-ignored", "--include-unlanded"]);
    }
    assert!(text(&row(&world, &["moved"])["estranged"]).contains("moved-by-hand"));
    assert!(text(&row(&world, &["foreign"])["estranged"]).contains("repo.skein/foreign"));
    let said = world.skein(&["restore", "moved"]).refused("worktree-exists", 1);
    assert!(said.err.contains("moved-by-hand"), "{}", said.err);
    assert!(world.path("a.txt").exists() && place("moved-by-hand").join("moved").exists());
}

#[test]
fn a_worktree_deleted_by_hand_is_no_obstacle() {
    let world = World::new();
    world.worker("fix", FIVE);
    world.skein(&["land", "fix"]).ok();
    let tree = world.worktree("fix");
    // A commit that no snapshot saw, known to the registration alone.
    fs::write(tree.join("more"), "more").unwrap();
    world.git(["-C", tree.to_str().unwrap(), "add", "more"]);
    world.git(["-C", tree.to_str().unwrap(), "commit", "-qm", "more"]);
    let head = world.git(["-C", tree.to_str().unwrap(), "rev-parse", "HEAD"]);
    fs::remove_dir_all(&tree).unwrap();
    removes(&world, "landed", &["fix"]);
    assert!(world.reachable(&head));
    world.skein(&["restore", "fix"]).ok();
    assert_eq!(fs::read_to_string(tree.join("more")).unwrap(), "more");
}

/// Everything that a worker may leave: commits, changes, new files, a bit, a link, a deletion, a folder for
/// a file.
const RICH: &str = "echo 1 >c1 && git add c1 && git commit -qm c1
    echo 'line one' >a.txt; rm b.txt; mkdir b.txt; echo in >b.txt/in
    printf 'bin\\0ary\\r\\n' >bin; echo '#!/bin/sh' >run.sh; chmod +x run.sh; chmod +x c1
    ln -s a.txt link; mkdir -p deep/er; echo d >deep/er/d; echo spaces >'a b'";

#[test]
fn every_byte_comes_back() {
    let world = World::new();
    world.worker("rich", RICH);
    let tree = world.worktree("rich");
    let (before, status) =
        (content(&tree), world.git(["-C", tree.to_str().unwrap(), "status", "--porcelain", "-uall"]));
    let ulid = world.ulid("rich");
    let events = world.skein(&["show", "rich", "--events"]).ok().out;
    world.skein(&["reap", "rich", "--yes", "--include-unlanded"]).ok();
    world.collect_garbage();
    assert!(!tree.exists());
    let again = world.skein(&["restore", &ulid[..14], "--json"]).ok().json()["result"].clone();
    assert_eq!((&again["reopened"], &again["handle"]), (&true.into(), &"rich".into()));
    assert_eq!(content(&tree), before);
    assert_eq!(world.git(["-C", tree.to_str().unwrap(), "status", "--porcelain", "-uall"]), status);
    assert_eq!(world.skein(&["show", "rich", "--events"]).ok().out, events);
    let listed = world.git(["worktree", "list", "--porcelain"]);
    assert!(listed.contains(&format!("locked git-skein worker {ulid}")), "{listed}");
    // It is a worker like before.
    world.skein(&["restore", "rich"]).refused("worktree-exists", 1);
    world.skein(&["land", "rich", "--uncommitted"]).ok();
    removes(&world, "landed", &["rich"]);
    world.skein(&["restore", "rich"]).ok();
    assert_eq!(content(&tree), before);
    world.check();
}

#[test]
fn an_open_worker_gets_its_worktree_back_or_a_copy() {
    let world = World::new();
    world.worker("rich", RICH);
    let tree = world.worktree("rich");
    let before = content(&tree);
    let copy = world.root().join("copy");
    world.skein(&["restore", "rich", "--to", "../copy"]).ok();
    assert_eq!(content(&copy), before);
    assert_eq!(world.worktree("rich"), tree, "the copy is not the worker's");
    world.skein(&["restore", "rich", "--to", "../copy"]).refused("worktree-exists", 1);
    world.skein(&["restore", "rich", "--to", "inside"]).refused("worktree-inside", 1);
    fs::remove_dir_all(&tree).unwrap();
    world.skein(&["restore", "rich"]).ok();
    assert_eq!(content(&tree), before);
    // Another place becomes its own when it has none.
    fs::remove_dir_all(&tree).unwrap();
    world.skein(&["restore", "rich", "--to", "../elsewhere"]).ok();
    assert_eq!(world.worktree("rich"), world.root().join("elsewhere"));
    world.check();
}

#[test]
fn a_snapshot_is_restored_exactly() {
    let world = World::new();
    world.worker("w", "echo 1 >x");
    let first = text(&world.field("w", "snapshot"));
    let tree = world.worktree("w");
    fs::write(tree.join("x"), "2\n").unwrap();
    world.skein(&["reap", "w", "--yes", "--include-unlanded"]).ok();
    world.skein(&["restore", "w", "--snapshot", "main"]).refused("bad-revision", 1);
    assert!(!tree.exists() && shared(&world, "worker").is_empty(), "a refusal changes nothing");
    world.skein(&["restore", "w", "--snapshot", &first]).ok();
    assert_eq!(fs::read_to_string(tree.join("x")).unwrap(), "1\n");
    fs::remove_dir_all(&tree).unwrap();
    world.skein(&["restore", "w"]).ok();
    assert_eq!(fs::read_to_string(tree.join("x")).unwrap(), "2\n");
}

#[test]
fn a_closed_worker_can_be_asked_about_and_its_name_used_again() {
    let world = World::new();
    world.worker("fix", FIVE);
    world.skein(&["land", "fix"]).ok();
    let (card, ulid) = (world.skein(&["show", "fix", "--diff"]).ok().out, world.ulid("fix"));
    let verdict = world.skein(&["landed", "fix", "--json"]).ok().json()["result"]["verdict"].clone();
    world.skein(&["reap", "--all", "--yes"]).ok();
    world.collect_garbage();
    assert_eq!(world.skein(&["show", "fix", "--diff"]).ok().out, card);
    assert_eq!(world.field("fix", "archived"), true);
    assert_eq!(world.field("fix", "next"), "git skein restore fix");
    assert_eq!(world.skein(&["landed", "fix", "--json"]).ok().json()["result"]["verdict"], verdict);
    assert_eq!(verdict["proof"], "receipt");
    assert!(world.skein(&["status"]).ok().out.contains("no workers"));
    assert!(world.skein(&["status", "--archived"]).ok().out.contains("fix"));
    for verb in [&["land"][..], &["import"], &["stop"], &["wait"], &["candidate", "create"]] {
        let said = world.skein(&[verb, &["fix"]].concat()).refused("archived", 1);
        assert!(said.err.contains("git skein restore fix"), "{}", said.err);
    }
    // The name is free; the old one is found by its id, and comes back under another.
    world.worker("fix", "true");
    assert_ne!(world.ulid("fix"), ulid);
    assert_eq!(world.skein(&["show", &ulid, "--diff"]).ok().out, card);
    let again = world.skein(&["restore", &ulid, "--json"]).ok().json()["result"].clone();
    assert_eq!(again["handle"], "fix-2");
    assert_eq!(world.ulid("fix-2"), ulid);
    world.skein(&["reap", "--all", "--yes"]).ok();
    assert_eq!(
        world.skein(&["status", "--archived", "--json"]).ok().json()["result"]["workers"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    world.check();
}

/// Commits that a worker left behind, and changes that it made and took back, are kept with the rest.
#[test]
fn what_only_snapshots_saw_is_kept() {
    let world = World::new();
    world.worker("w", "echo a >a && git add a && git commit -qm a && git rev-parse HEAD >../left && git reset -q --hard HEAD~1");
    let left = fs::read_to_string(world.root().join("repo.skein/left")).unwrap().trim().to_owned();
    keeps(&world, "uncommitted", &["w"]);
    world.skein(&["reap", "w", "--yes", "--include-unlanded"]).ok();
    world.collect_garbage();
    assert!(world.reachable(&left));
}

/// A part of what the newest snapshot saw is committed since: the rest is still not committed.
#[test]
fn leftovers_are_those_of_the_tip() {
    let world = World::new();
    world.worker("w", "echo a >a; echo b >b");
    let tree = world.worktree("w");
    let git = |args: &[&str]| world.git([&["-C", tree.to_str().unwrap()], args].concat());
    git(&["add", "a"]);
    git(&["commit", "-qm", "a alone"]);
    let head = git(&["rev-parse", "HEAD"]);
    world.skein(&["reap", "w", "--yes", "--include-unlanded"]).ok();
    world.collect_garbage();
    world.skein(&["restore", "w"]).ok();
    assert_eq!((git(&["rev-parse", "HEAD"]), git(&["status", "--porcelain"])), (head, "?? b".to_owned()));
}

/// Where its base is gone from the trunk only a receipt tells, and the one there is has what it did not commit, too.
#[test]
fn what_landed_with_more_than_was_committed_goes() {
    let world = World::new();
    world.worker("one", "echo one >one; git add one; git commit -qm one");
    world.skein(&["land", "one"]).ok();
    world.worker("w", "echo a >a; git add a; git commit -qm a; echo b >b");
    world.skein(&["undo"]).ok();
    let base = world.field("w", "base");
    assert_ne!(world.git(["merge-base", "main", base.as_str().unwrap()]), base);
    world.skein(&["land", "w", "--uncommitted"]).ok();
    // Its delta is what it committed, again.
    world.skein(&["import", "w"]).ok();
    world.skein(&["landed", "w"]).ok();
    world.skein(&["reap", "w", "--yes"]).ok();
    assert_eq!(world.git(["show", "main:b"]), "b");
    world.check();
}

#[test]
fn what_an_agent_left_running_is_ended_first() {
    let world = World::new();
    let lone = format!("skein-test-lone-{}", std::process::id());
    world.worker("w", "true");
    let brief = world.path(&format!(".git/skein/run/{}/brief.md", world.ulid("w")));
    let mut child = std::process::Command::new("sh")
        .args(["-c", &format!("while :; do sleep 0.05; done # {lone}")])
        .env("SKEIN_BRIEF", brief)
        .spawn()
        .unwrap();
    until("it runs", || mentions(&lone));
    world.skein(&["reap", "w"]).ok();
    assert!(mentions(&lone), "a dry run ends nothing");
    world.skein(&["reap", "w", "--yes"]).ok();
    child.wait().unwrap();
    assert!(!mentions(&lone));
}

#[test]
fn a_link_in_the_place_of_the_worktree_is_not_followed() {
    let world = World::new();
    world.worker("fix", FIVE);
    world.skein(&["land", "fix"]).ok();
    let (tree, away) = (world.worktree("fix"), world.root().join("away"));
    fs::rename(&tree, &away).unwrap();
    symlink(&away, &tree).unwrap();
    keeps(&world, "not-its-worktree", &["fix", "--include-ignored", "--include-unlanded"]);
    assert!(away.join("a.txt").exists());
}

/// Kills a command of ours at a named point.
fn die_at(world: &World, args: &[&str], point: &str) {
    let ended = world.command(args).env("SKEIN_FAULT", format!("{point}:1:kill")).output().unwrap();
    assert_eq!(ended.status.code(), None, "{point}: {ended:?}");
}

/// A removal that was cut short in the middle of the files is ended; before the folder was condemned it goes
/// back, with what was written into it since.
#[test]
fn a_removal_that_was_cut_short_is_ended_or_taken_back() {
    let world = World::new();
    world.worker("fix", &format!("{FIVE}; echo left >left"));
    world.skein(&["land", "fix"]).ok();
    let tree = world.worktree("fix");
    let before = content(&tree);
    let aside = tree.with_file_name(format!(".skein-reaped-{}", world.ulid("fix")));
    die_at(&world, &["reap", "fix", "--yes"], "reap: worktree condemned");
    fs::remove_file(aside.join("left")).unwrap();
    fs::remove_file(aside.join("a.txt")).unwrap();
    world.skein(&["reap", "fix", "--yes"]).ok();
    assert!(!aside.exists() && !tree.exists());
    world.skein(&["restore", "fix"]).ok();
    assert_eq!(content(&tree), before, "half a worktree is not taken for the work");

    die_at(&world, &["reap", "fix", "--yes"], "reap: worktree condemned");
    fs::remove_file(aside.join("a.txt")).unwrap();
    world.skein(&["restore", "fix"]).ok();
    assert_eq!(content(&tree), before);

    die_at(&world, &["reap", "fix", "--yes"], "reap: worktree aside");
    assert!(!tree.exists());
    fs::write(aside.join("mine"), "mine").unwrap();
    assert_eq!(says(&world, &["fix"]).0, "remove");
    world.skein(&["restore", "fix"]).refused("worktree-exists", 1);
    assert_eq!(fs::read_to_string(tree.join("mine")).unwrap(), "mine");
    world.skein(&["reap", "fix", "--yes"]).ok();
    world.skein(&["restore", "fix"]).ok();
    assert_eq!(fs::read_to_string(tree.join("mine")).unwrap(), "mine");
    world.check();
}

/// Half a restored worktree is no worker's: nobody takes what is missing there for deleted.
#[test]
fn a_restoring_that_was_cut_short_is_made_anew() {
    let world = World::new();
    world.worker("fix", &format!("{FIVE}; echo left >left"));
    world.skein(&["land", "fix"]).ok();
    let tree = world.worktree("fix");
    let before = content(&tree);
    world.skein(&["reap", "fix", "--yes"]).ok();
    die_at(&world, &["restore", "fix"], "dispatch: worktree registered");
    assert!(tree.exists() && !tree.join("a.txt").exists());
    assert_eq!(world.field("fix", "worktree"), Value::Null);
    assert!(world.skein(&["import", "fix"]).ok().out.contains("delta 1"));
    world.skein(&["restore", "fix"]).ok();
    assert_eq!(content(&tree), before);
    world.skein(&["reap", "fix", "--yes"]).ok();
    die_at(&world, &["restore", "fix"], "dispatch: worktree registered");
    world.skein(&["reap", "fix", "--yes"]).ok();
    assert_eq!(world.git(["worktree", "list"]).lines().count(), 1);
}

/// Somebody writes into the worktree after the last snapshot: it goes back to its place.
#[test]
fn a_worktree_that_changes_while_it_is_closed_stays() {
    let world = World::new();
    world.worker("fix", FIVE);
    world.skein(&["land", "fix"]).ok();
    let tree = world.worktree("fix");
    let bin = world.root().join("bin");
    // Nothing is new, so the first time that refs are moved is when all is kept and archived.
    crate::faults::git_in(&bin, "update-ref", &format!("echo late >>'{}/late'", tree.display()));
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut reap = world.command(&["reap", "fix", "--yes", "--json"]);
    let ended = crate::support::ran(reap.env("PATH", path).output().unwrap()).code(1);
    assert_eq!(ended.json()["result"]["workers"][0]["reason"], "changed-meanwhile");
    assert!(fs::read_to_string(tree.join("late")).unwrap().starts_with("late"));
    assert_eq!(shared(&world, "worker").len(), 1);
    removes(&world, "landed", &["fix"]);
}

/// What a power cut may leave of the last transaction: refs that are gone though the record is not.
#[test]
fn refs_that_went_too_early_are_made_again() {
    let world = World::new();
    world.worker("fix", &format!("{FIVE}; echo left >left"));
    world.skein(&["land", "fix"]).ok();
    let (tree, ulid) = (world.worktree("fix"), world.ulid("fix"));
    let before = content(&tree);
    for verb in [&["reap", "fix", "--yes"][..], &["restore", "fix"]] {
        die_at(&world, &["reap", "fix", "--yes"], "reap: worktrees removed");
        for kind in ["head", "wip"] {
            world.git(["update-ref", "-d", &format!("refs/skein-local/{kind}/{ulid}")]);
        }
        world.collect_garbage();
        world.skein(verb).ok();
        if !tree.exists() {
            world.skein(&["restore", "fix"]).ok();
        }
        assert_eq!(content(&tree), before, "{verb:?}");
    }
    world.check();
}

#[test]
fn archives_without_the_sentinel_are_a_loss() {
    let world = World::new();
    world.worker("idle", "true");
    world.skein(&["reap", "--all", "--yes"]).ok();
    world.git(["update-ref", "-d", "refs/skein/format/1"]);
    world.skein(&["status"]).refused("state-corrupt", 128);
}

#[test]
fn other_hashes_and_other_ref_stores() {
    for format in ["--object-format=sha256", "--ref-format=reftable"] {
        let mut world = World::empty();
        let made = world.try_git(["init", "-q", "--template=", "--initial-branch=main", format, "../other"]);
        if !made.status.success() {
            assert_eq!(format, "--ref-format=reftable", "an older git knows no reftables");
            continue;
        }
        world.repo = world.root().join("other");
        world.cwd = world.repo.clone();
        world.git(["config", "user.name", "Ada"]);
        world.git(["config", "user.email", "ada@example.invalid"]);
        world.write("f", "f\n");
        world.commit("base");
        world.worker("w", "echo 1 >n && git add n && git commit -qm n; echo 2 >left");
        world.skein(&["land", "w"]).ok();
        let tree = world.worktree("w");
        let before = content(&tree);
        world.skein(&["reap", "--all", "--yes"]).ok();
        world.collect_garbage();
        world.skein(&["landed", "w"]).ok();
        world.skein(&["restore", "w"]).ok();
        assert_eq!(content(&tree), before, "{format}");
    }
}

#[test]
fn two_at_once_close_each_worker_once() {
    let world = World::new();
    for name in ["one", "two", "three"] {
        world.worker(name, "true");
    }
    let all = vec!["reap", "--all", "--yes"];
    let named = vec!["reap", "one", "two", "three", "--yes"];
    for ended in world.at_once(&[all.clone(), named, all]) {
        ended.ok();
    }
    assert!(shared(&world, "worker").is_empty() && world.local_refs("head").is_empty());
    let closed = world.skein(&["status", "--archived", "--json"]).ok().json()["result"]["workers"].clone();
    assert_eq!(closed.as_array().unwrap().len(), 3);
    world.check();
}

/// Its name is the beginning of another one's.
#[test]
fn the_name_of_a_closed_worker_does_not_mean_another() {
    let world = World::new();
    world.worker("fix", FIVE);
    world.worker("fix-2", "sed -i s/7/seven/ a.txt && git commit -qam seven");
    world.skein(&["land", "fix"]).ok();
    world.skein(&["reap", "--yes", "fix"]).ok();
    let landed = world.head();
    world.skein(&["land", "fix"]).refused("archived", 1);
    world.skein(&["import", "fix"]).refused("archived", 1);
    assert_eq!(world.head(), landed);
    world.skein(&["landed", "fix"]).ok();
    assert_eq!(text(&row(&world, &["fix"])["handle"]), "fix");
    // A part that is nobody's name means the one that it fits.
    world.skein(&["landed", "fix-"]).code(1);
}

/// What the list says is of the branch that the worker is for.
#[test]
fn landed_elsewhere_is_not_landed() {
    let world = World::new();
    world.worker("q", "echo q >q && git add q && git commit -qm q");
    world.skein(&["import", "q", "--into", "collect"]).ok();
    let status = world.skein(&["status"]).ok().out;
    assert!(status.contains("ready, on collect") && status.contains("git skein land q"), "{status}");
    assert!(!status.contains("landed") && !status.contains("skein reap"), "{status}");
    assert!(!world.skein(&["inbox"]).ok().out.starts_with("nothing"), "it waits no more");
    assert!(world.field("q", "landed").is_null());
    assert_eq!(world.field("q", "landed_on"), "refs/heads/collect");
    let collected = world.rev("collect");
    assert!(!world.skein(&["status", "--porcelain"]).ok().out.contains(&collected));
    world.skein(&["landed", "q"]).code(1);
    // Its branch has it by way of the other one.
    world.skein(&["land", "collect"]).ok();
    let status = world.skein(&["status"]).ok().out;
    assert!(status.contains("landed") && status.contains("git skein reap q"), "{status}");
    assert_eq!(world.field("q", "landed"), collected.as_str());
    world.skein(&["landed", "q"]).ok();
    world.skein(&["reap", "--yes", "q"]).ok();
}

#[test]
fn where_the_branch_has_another_name_now_what_landed_there_is_asked_of_it() {
    let world = World::new();
    for name in ["x", "y"] {
        world.worker(name, &format!("echo {name} >{name} && git add {name} && git commit -qm {name}"));
    }
    world.git(["branch", "-m", "main", "trunk"]);
    world.git(["config", "skein.trunk", "trunk"]);
    world.skein(&["land", "x", "--onto", "trunk"]).ok();
    let status = world.skein(&["status"]).ok().out;
    assert!(status.contains("git skein reap x") && !status.contains("git skein reap y"), "{status}");
    world.skein(&["landed", "x"]).ok();
    let closed = world.skein(&["reap", "--yes", "x"]).ok();
    assert!(closed.out.contains("in trunk by proof"), "{}", closed.out);
    let kept = world.skein(&["reap", "--yes", "y"]).code(1);
    assert!(kept.out.contains("no branch main any more"), "{}", kept.out);
}

#[test]
fn commits_that_change_nothing_are_kept_for_that() {
    let world = World::new();
    world.worker("e", "git commit -q --allow-empty -m nothing");
    let kept = world.skein(&["reap", "--yes", "e"]).code(1);
    assert!(kept.out.contains("empty-commits: its commits change nothing"), "{}", kept.out);
    assert!(!kept.out.contains("not committed"), "{}", kept.out);
    world.skein(&["land", "--allow-empty", "e"]).ok();
    assert_eq!(world.git(["log", "-1", "--format=%s"]), "nothing");
    assert!(world.skein(&["status"]).ok().out.contains("git skein reap e"));
    let closed = world.skein(&["reap", "--yes", "e"]).ok();
    assert!(closed.out.contains("landed: in main, though it changes nothing"), "{}", closed.out);
}
