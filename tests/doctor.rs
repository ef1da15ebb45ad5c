//! `doctor`: each check on a repository that real git brought into that state, that looking writes nothing,
//! and that mending does only what it says.

use crate::support::World;
use crate::support::acts::until;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// Every file below `dir` with its bytes and time of change.
fn bytes(dir: &Path) -> BTreeMap<PathBuf, (Vec<u8>, std::time::SystemTime)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let (path, meta) = (entry.path(), entry.path().symlink_metadata().unwrap());
        if meta.is_dir() {
            found.extend(bytes(&path));
        }
        let content = if meta.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        found.insert(path, (content, meta.modified().unwrap()));
    }
    found
}

/// What plain `doctor` says of `check`: the worst level, and all of it as text. Nothing is changed by looking.
#[track_caller]
fn looked(world: &World, check: &str) -> (String, String) {
    let before = bytes(&world.root());
    let ran = world.skein(&["doctor", "--json"]);
    assert_eq!(bytes(&world.root()), before, "looking changed something");
    let result = ran.json()["result"].clone();
    let findings = result["findings"].as_array().unwrap();
    let rank = |level: &str| ["ok", "note", "warning", "problem"].iter().position(|l| *l == level).unwrap();
    let worst = |some: Vec<&serde_json::Value>| {
        some.iter().map(|f| f["level"].as_str().unwrap()).max_by_key(|l| rank(l)).unwrap().to_owned()
    };
    let all = worst(findings.iter().collect());
    assert_eq!(ran.code, i32::from(rank(&all) > 1), "{ran:?}");
    let some: Vec<_> = findings.iter().filter(|f| f["check"] == check).collect();
    assert!(!some.is_empty(), "no check is called {check}: {ran:?}");
    (worst(some.clone()), format!("{some:?}"))
}

/// It is well before `change` and `level` after it, and then says `word`.
#[track_caller]
fn becomes(world: &World, check: &str, level: &str, word: &str, change: impl FnOnce(&World)) {
    assert_eq!(looked(world, check).0, "ok", "{check} before");
    change(world);
    let (now, said) = looked(world, check);
    assert_eq!(now, level, "{check}: {said}");
    assert!(said.contains(word), "{check}: {said}");
}

fn config(world: &World, key: &str, value: &str) {
    world.git(["config", "--add", key, value]);
}

#[test]
fn a_healthy_repository_is_well_and_says_so() {
    let world = World::new();
    let ran = world.skein(&["doctor"]).ok();
    assert!(ran.out.lines().last().unwrap().starts_with("0 problem, 0 warning, "), "{}", ran.out);
    world.worker("w", "echo 1 >new; git add -A; git commit -qm new");
    world.skein(&["land", "w"]).ok();
    let ran = world.skein(&["doctor"]).ok();
    assert!(ran.out.contains("0 problem, 0 warning, "), "{}", ran.out);
    assert!(ran.out.contains("worktrees: 2 registered, all there"), "{}", ran.out);
    let again = world.skein(&["doctor", "--fix"]).ok();
    assert!(!again.out.contains("fixed"), "{}", again.out);
    world.check();
}

#[test]
fn settings_of_git_are_told() {
    for (check, level, key, value) in [
        ("hooks", "warning", "core.hooksPath", ".husky/_"),
        ("signing", "note", "commit.gpgSign", "true"),
        ("filters", "note", "filter.lfs.clean", "git-lfs clean -- %f"),
        ("merge-drivers", "note", "merge.mine.driver", "false %A"),
        ("sparse", "note", "core.sparseCheckout", "true"),
        ("worktree-config", "note", "extensions.worktreeConfig", "true"),
        ("partial-clone", "note", "remote.origin.promisor", "true"),
        ("refspecs", "problem", "remote.origin.fetch", "+refs/*:refs/*"),
        ("refspecs", "warning", "remote.origin.fetch", "+refs/heads/*:refs/heads/*"),
        ("refspecs", "warning", "remote.origin.mirror", "true"),
        ("refspecs", "warning", "remote.origin.push", "+refs/*:refs/*"),
        ("file-system", "warning", "core.ignoreCase", "true"),
    ] {
        let word = if check == "file-system" { "case" } else { value };
        let word = if ["true", "+refs/*:refs/*", "false %A"].contains(&word) { check } else { word };
        let word = if check == "filters" { "lfs" } else { word };
        becomes(&World::new(), check, level, word, |w| config(w, key, value));
    }
}

#[test]
fn hooks_that_a_worker_has_are_well() {
    let world = World::new();
    world.write(".githooks/pre-commit", "#!/bin/sh\n");
    world.commit("hooks");
    config(&world, "core.hooksPath", ".githooks");
    assert_eq!(looked(&world, "hooks").0, "ok");
}

#[test]
fn a_repository_that_lost_its_working_tree() {
    becomes(&World::new(), "core-bare", "problem", "core.bare", |w| {
        w.git(["config", "core.bare", "true"]);
    });
    let world = World::new();
    fs::create_dir(world.root().join("elsewhere")).unwrap();
    becomes(&world, "core-worktree", "note", "elsewhere", |w| config(w, "core.worktree", "../../elsewhere"));
    fs::remove_dir(world.root().join("elsewhere")).unwrap();
    let bare = world.repo.join(".git");
    let ran = world.skein(&["-C", bare.to_str().unwrap(), "doctor"]);
    assert!(ran.code == 128 || ran.out.contains("problem  core-worktree"), "{ran:?}");
}

#[test]
fn history_and_objects_that_are_not_here() {
    let world = World::new();
    world.write("c.txt", "c\n");
    world.commit("second");
    let url = format!("file://{}", world.repo.display());
    let at = |name: &str| world.root().join(name).display().to_string();
    for (name, args, check) in [
        ("shallow", &["--depth=1"][..], "history"),
        ("partial", &["--filter=blob:none"][..], "partial-clone"),
        ("borrows", &["--reference", world.repo.to_str().unwrap()][..], "alternates"),
    ] {
        world.git(["config", "uploadpack.allowFilter", "true"]);
        world.git([&["clone", "-q"][..], args, &[url.as_str(), at(name).as_str()][..]].concat());
        let ran = world.skein(&["-C", &at(name), "doctor"]);
        assert!(ran.out.contains(&format!("note     {check}:")), "{}", ran.out);
    }
    becomes(&world, "replacements", "note", "refs/replace", |w| {
        w.git(["replace", "HEAD", "HEAD~1"]);
    });
    becomes(&World::new(), "replacements", "note", "grafts", |w| {
        w.write(".git/info/grafts", &format!("{}\n", w.head()));
    });
}

#[test]
fn who_you_are_and_whom_git_trusts() {
    becomes(&World::new(), "identity", "problem", "user.email", |w| {
        w.git(["config", "--unset", "user.email"]);
        w.git(["config", "user.useConfigOnly", "true"]);
    });
    becomes(&World::new(), "safe-directory", "note", "safe.directory", |w| {
        fs::write(w.root().join("home/.gitconfig"), "[safe]\n\tdirectory = *\n").unwrap();
    });
    becomes(&World::new(), "submodules", "note", "submodule", |w| {
        w.write(".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = ../x\n");
        w.commit("a submodule");
    });
}

#[test]
fn formats_are_named() {
    let world = World::new();
    assert!(looked(&world, "formats").1.contains("objects are sha1, refs are files"));
    let at = world.root().join("other").display().to_string();
    if world.try_git(["init", "-q", "--object-format=sha256", "--ref-format=reftable", &at]).status.success()
    {
        let ran = world.skein(&["-C", &at, "doctor"]);
        assert!(ran.out.contains("objects are sha256, refs are reftable"), "{}", ran.out);
        assert!(ran.out.contains("git config reftable.lockTimeout 10000"), "{}", ran.out);
    }
}

#[test]
fn a_git_that_is_too_old() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let tools = world.root().join("tools");
    fs::create_dir(&tools).unwrap();
    let path = std::env::var("PATH").unwrap();
    let script = format!(
        "#!/bin/sh\nfor a; do [ \"$a\" = version ] && echo 'git version 2.30.1' && exit; done\n\
         PATH='{path}' exec git \"$@\"\n"
    );
    fs::write(tools.join("git"), script).unwrap();
    fs::set_permissions(tools.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let world = world.env("PATH", tools.to_str().unwrap());
    let (level, said) = looked(&world, "git");
    assert!(level == "problem" && said.contains("2.30.1"), "{said}");
}

#[test]
fn the_trunk_in_two_places() {
    let world = World::new();
    becomes(&world, "trunk", "problem", "more than once", |w| {
        w.git(["worktree", "add", "-q", "--force", "../twice", "main"]);
    });
    let none = World::empty();
    assert_eq!(looked(&none, "trunk").0, "warning");
    becomes(&World::new(), "trunk", "note", "merge", |w| {
        w.write(".git/MERGE_HEAD", &format!("{}\n", w.head()));
    });
}

#[test]
fn worktrees_that_are_nowhere_or_nobodys() {
    let world = World::new();
    world.worker("w", "true");
    becomes(&world, "worktrees", "warning", "../gone".trim_start_matches("../"), |w| {
        w.git(["worktree", "add", "-q", "--detach", "../gone"]);
        fs::remove_dir_all(w.root().join("gone")).unwrap();
    });
    world.git(["worktree", "prune"]);
    becomes(&world, "worktrees", "warning", "stranger", |w| {
        fs::create_dir(w.root().join("repo.skein/stranger")).unwrap();
    });
    fs::remove_dir(world.root().join("repo.skein/stranger")).unwrap();
    becomes(&world, "worktrees", "note", "commits are kept", |w| {
        fs::rename(w.worktree("w"), w.root().join("away")).unwrap();
    });
    let world = World::new();
    world.worker("w", "true");
    becomes(&world, "worktrees", "warning", "has no record", |w| {
        w.git(["update-ref", "-d", &format!("refs/skein/worker/{}", w.ulid("w"))]);
    });
}

/// After `mv repo elsewhere` git in a worker's worktree finds no repository, and nothing can be done with it.
#[test]
fn worktrees_of_a_repository_that_was_moved() {
    let mut world = World::new();
    world.worker("w", "echo w > b.txt && git commit -qam w");
    world.skein(&["land", "w"]).ok();
    let tree = world.worktree("w");
    becomes(&world, "worktrees", "ok", "all there", |_| {});
    let moved = world.root().join("moved");
    fs::rename(&world.repo, &moved).unwrap();
    (world.repo, world.cwd) = (moved.clone(), moved);
    let (level, said) = looked(&world, "worktrees");
    assert!(level == "warning" && said.contains(tree.to_str().unwrap()), "{said}");
    assert!(said.contains("git worktree repair"), "{said}");
    let kept = world.skein(&["reap", "w"]).code(1);
    assert!(kept.out.contains("git worktree repair"), "{kept:?}");
    let refused = world.skein(&["restore", "w"]).refused("worktree-exists", 1);
    assert!(refused.err.contains("git worktree repair"), "{refused:?}");
    world.git(["worktree", "repair"]);
    assert_eq!(looked(&world, "worktrees").0, "ok");
    world.skein(&["reap", "w", "--yes"]).ok();
    assert!(!tree.exists());
}

#[test]
fn locks_by_who_holds_them() {
    let world = World::new();
    world.skein(&["init"]).ok();
    becomes(&world, "locks", "warning", "no process has", |w| w.write(".git/packed-refs.lock", ""));
    let open = fs::File::create(world.path(".git/packed-refs.lock")).unwrap();
    let (level, said) = looked(&world, "locks");
    assert!(level == "note" && said.contains(&std::process::id().to_string()), "{said}");
    drop(open);
    // What git left stays git's: only the person removes it.
    world.skein(&["doctor", "--fix"]).code(1);
    assert!(world.path(".git/packed-refs.lock").exists());
    fs::remove_file(world.path(".git/packed-refs.lock")).unwrap();

    let op = "01m8fvk4h5wge3ssmwj9wshmn4";
    world.write(".git/index.lock", &format!("git-skein landing {op}\n"));
    let (level, said) = looked(&world, "locks");
    assert!(level == "warning" && said.contains(op) && said.contains("is dead"), "{said}");
    let held = fs::File::create(world.path(".git/skein/run/land.lock")).unwrap();
    held.lock().unwrap();
    assert_eq!(looked(&world, "locks").0, "note", "a landing runs");
    world.skein(&["doctor", "--fix"]).ok();
    assert!(world.path(".git/index.lock").exists(), "its owner may live");
    drop(held);
    let ran = world.skein(&["doctor", "--fix"]).ok();
    assert!(ran.out.contains("fixed") && ran.out.contains("index.lock"), "{}", ran.out);
    assert!(!world.path(".git/index.lock").exists());
    world.check();
}

/// As a power cut leaves them; what is told next is typed as it stands.
#[test]
fn objects_without_a_byte() {
    let world = World::new();
    world.write("new.txt", "new\n");
    world.git(["add", "new.txt"]);
    let id = world.git(["write-tree"]);
    let file = world.path(&format!(".git/objects/{}/{}", &id[..2], &id[2..]));
    std::fs::write(file.with_file_name("tmp_obj_1a2b3c"), "").unwrap();
    becomes(&world, "empty-objects", "problem", &id[2..], |_| {
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, "").unwrap();
    });
    assert!(!world.try_git(["commit", "-qm", "new"]).status.success(), "git takes it for the object");
    world.typed(&world.diagnosis("empty-objects").1);
    assert_eq!(looked(&world, "empty-objects").0, "ok");
    assert!(file.with_file_name("tmp_obj_1a2b3c").exists(), "one that is being written stays");
    world.git(["commit", "-qm", "new"]);
    world.check();
}

#[test]
fn commits_that_no_ref_keeps_are_rescued() {
    let world = World::new();
    world.worker(
        "w",
        "echo 1 >new; git add -A; git commit -qm first; echo 2 >new; git commit -qam 'work of w'",
    );
    let (id, work) = (world.ulid("w"), world.field("w", "head").as_str().unwrap().to_owned());
    becomes(&world, "lost-commits", "problem", "work of w", |w| {
        w.git(["worktree", "remove", "--force", "--force", w.worktree("w").to_str().unwrap()]);
        for name in ["refs/skein/worker", "refs/skein-local/head", "refs/skein-local/wip"] {
            w.git(["update-ref", "-d", &format!("{name}/{id}")]);
        }
    });
    let (_, said) = looked(&world, "lost-commits");
    assert!(!said.contains("first"), "only the newest is named: {said}");
    // A branch that is in the way is no reason to lose anything.
    world.git(["branch", "rescue"]);
    let ran = world.skein(&["doctor", "--fix"]).code(1);
    assert!(ran.err.contains("not fixed:"), "{}", ran.err);
    world.git(["branch", "-q", "-D", "rescue"]);
    let ran = world.skein(&["doctor", "--fix"]).ok();
    let branch = format!("rescue/{}", &work[..10]);
    assert!(ran.out.contains(&branch), "{}", ran.out);
    assert_eq!(world.rev(&format!("refs/heads/{branch}")), work);
    world.collect_garbage();
    assert_eq!(world.git(["show", &format!("{branch}:new")]), "2");
    assert_eq!(looked(&world, "lost-commits").0, "ok");
    world.check();
}

/// The `HEAD` of a worktree keeps a commit only as long as the worktree stands.
#[test]
fn a_head_that_nobody_looks_after() {
    let world = World::new();
    world.worker("w", "echo 1 >new; git add -A; git commit -qm 'work of w'");
    let work = world.field("w", "head").as_str().unwrap().to_owned();
    let id = world.ulid("w");
    for name in ["refs/skein/worker", "refs/skein-local/head"] {
        world.git(["update-ref", "-d", &format!("{name}/{id}")]);
    }
    assert_eq!(looked(&world, "lost-commits").0, "problem");
    world.skein(&["doctor", "--fix"]).code(1);
    assert_eq!(world.rev(&format!("refs/heads/rescue/{}", &work[..10])), work);
}

/// A local clone has the objects of all, and none of the work that they are of.
#[test]
fn a_clone_has_not_lost_what_was_never_its_own() {
    let world = World::new();
    world.git(["branch", "other"]);
    let work = "echo 1 >new; git add -A; git commit -qm 'work of w'";
    world.skein(&["dispatch", "--wait", "--onto", "other", "--name", "w", "w", "--", "sh", "-c", work]).ok();
    world.skein(&["land", "w"]).ok();
    let head = world.field("w", "head").as_str().unwrap().to_owned();
    world.git(["clone", "-q", "--bare", "--template=", ".", "../bare.git"]);
    let says = |place: &std::path::Path| {
        let place = place.to_str().unwrap();
        let ran = world.skein(&["-C", place, "doctor", "--json"]).json();
        let found = ran["result"]["findings"].as_array().unwrap().clone();
        found.into_iter().find(|f| f["check"] == "lost-commits").unwrap()["level"].clone()
    };
    let bare = world.root().join("bare.git");
    let lost = world.git(["-C", bare.to_str().unwrap(), "fsck", "--unreachable", "--no-reflogs"]);
    assert!(lost.contains(&head), "{lost}");
    assert_eq!(says(&bare), "ok");
    // With workers of its own, too.
    world.skein(&["-C", bare.to_str().unwrap(), "init"]).ok();
    assert_eq!(says(&bare), "ok");
    world.skein(&["-C", bare.to_str().unwrap(), "doctor", "--fix"]);
    assert_eq!(world.git(["-C", bare.to_str().unwrap(), "branch", "--list", "rescue*"]), "");
}

#[test]
fn what_killed_dispatches_left_goes() {
    let world = World::new();
    world.worker("w", "true");
    let folders = || {
        let run = world.path(".git/skein/run");
        let names = fs::read_dir(run).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.len() == 26).count()
    };
    let mut killed = 0;
    for k in 1..60 {
        let fault = format!("git:{k}:kill");
        let args = ["dispatch", "--name", "x", "x", "--", "true"];
        let died = world.command(&args).env("SKEIN_FAULT", fault).output().unwrap();
        if died.status.code().is_some() {
            break;
        }
        killed += 1;
    }
    assert!(killed > 3, "{killed}");
    world.skein(&["wait"]);
    let many = folders();
    let known = world.lines(&["for-each-ref", "--format=%(refname)", "refs/skein/worker"]).len();
    assert!(many > known, "{many} of {known}");
    assert!(world.skein(&["fsck"]).out.contains("run-stray"));
    let ran = world.skein(&["doctor", "--fix"]);
    assert!(ran.out.contains("of a worker that never ran"), "{}", ran.out);
    assert_eq!(folders(), world.lines(&["for-each-ref", "--format=%(refname)", "refs/skein/worker"]).len());
    assert!(!world.skein(&["fsck"]).ok().out.contains("run-stray"));
    // Where an agent ran, a person decides.
    let ran = world.path(".git/skein/run/01jd0000000000000000000000");
    fs::create_dir_all(&ran).unwrap();
    fs::write(ran.join("pid"), "1").unwrap();
    world.skein(&["doctor", "--fix"]);
    assert!(ran.exists());
    world.check();
}

/// What landed as another commit is where it belongs.
#[test]
fn what_has_landed_is_not_lost() {
    let world = World::new();
    world.worker("w", "echo 1 >new; git add -A; git commit -qm first; echo 2 >new; git commit -qam second");
    world.worker("x", "echo 1 >x; git add -A; git commit -qm x");
    world.skein(&["land", "x"]).ok();
    world.skein(&["land", "w"]).ok();
    let id = world.ulid("w");
    world.git(["worktree", "remove", "--force", "--force", world.worktree("w").to_str().unwrap()]);
    world.git(["update-ref", "-d", &format!("refs/skein/worker/{id}")]);
    world.git(["update-ref", "-d", &format!("refs/skein-local/head/{id}")]);
    let lanes = world.lines(&["for-each-ref", "--format=%(refname)", "refs/skein/lane"]);
    world.git(["update-ref", "-d", &lanes[0]]);
    let unreachable = world.git(["fsck", "--unreachable", "--no-reflogs"]);
    assert!(unreachable.contains("unreachable commit"), "{unreachable}");
    let (level, said) = looked(&world, "lost-commits");
    assert_eq!(level, "ok", "{said}");
}

/// What a worker amended away or put into the stash is kept by its snapshots or the stash.
#[test]
fn what_is_kept_otherwise_is_not_lost() {
    let world = World::new();
    world.worker(
        "w",
        "echo 1 >new; git add -A; git commit -qm one; git commit -q --amend -m two; echo 2 >new; git stash -q; \
         echo 3 >new; git stash -q",
    );
    world.worker("x", "echo 1 >x; git add -A; git commit -qm x");
    world.skein(&["land", "x"]).ok();
    world.skein(&["import", "w", "--any-outcome"]);
    let (level, said) = looked(&world, "lost-commits");
    assert_eq!(level, "ok", "{said}");
}

/// What an import makes of a working tree and cannot record is in the snapshot that it took of it.
#[test]
fn a_commit_of_what_a_snapshot_holds_is_not_lost() {
    let world = World::new();
    world.worker("w", "echo 1 >new; git add -A; git commit -qm work; echo 2 >new");
    let record = format!("refs/skein/worker/{}", world.ulid("w"));
    let before = world.rev(&record);
    world.skein(&["import", "--uncommitted", "w"]).ok();
    world.git(["update-ref", &record, &before]);
    let unreachable = world.git(["fsck", "--unreachable", "--no-reflogs"]);
    assert!(unreachable.contains("unreachable commit"), "{unreachable}");
    let (level, said) = looked(&world, "lost-commits");
    assert_eq!(level, "ok", "{said}");
    world.git(["update-ref", "-d", &format!("refs/skein-local/wip/{}", world.ulid("w"))]);
    assert_eq!(looked(&world, "lost-commits").0, "problem");
}

#[test]
fn refs_that_are_not_ours() {
    becomes(&World::new(), "state", "problem", "refs-squatted", |w| {
        w.git(["update-ref", "refs/skein/strange", "HEAD"]);
    });
    becomes(&World::new(), "state", "problem", "refs-squatted", |w| {
        w.git(["update-ref", "refs/notes/skein", "HEAD"]);
    });
    let world = World::new();
    world.worker("w", "true");
    becomes(&world, "state", "problem", "state-corrupt", |w| {
        w.git(["update-ref", "-d", "refs/skein/format/1"]);
    });
    assert!(!looked(&world, "worktrees").1.contains("has no record"), "nobody knows");
    let refs = world.git(["for-each-ref"]);
    let ran = world.skein(&["doctor", "--fix"]).code(1);
    assert!(ran.err.contains("not fixed: recovery: state-corrupt"), "{}", ran.err);
    assert_eq!(world.git(["for-each-ref"]), refs);
}

/// A worker's record is gone: the rest is looked at all the same, and nobody is told to delete anything.
#[test]
fn an_object_of_ours_that_is_missing() {
    let world = World::new();
    world.worker("w", "echo 1 >new; git add -A; git commit -qm new");
    let record = world.rev(&format!("refs/skein/worker/{}:record.json", world.ulid("w")));
    let path = world.path(&format!(".git/objects/{}/{}", &record[..2], &record[2..]));
    becomes(&world, "state", "problem", &record, |_| fs::remove_file(path).unwrap());
    let ran = world.skein(&["doctor"]).code(1);
    assert!(!ran.out.contains("worktree remove") && ran.out.contains("safe-directory"), "{}", ran.out);
    let refs = world.git(["for-each-ref"]);
    world.skein(&["doctor", "--fix"]).code(1);
    assert_eq!(world.git(["for-each-ref"]), refs);
}

#[test]
fn a_worker_without_a_supervisor_is_closed() {
    let world = World::new();
    world.skein(&["dispatch", "--name", "w", "w", "--", "sleep", "600"]).ok();
    let pid = world.path(&format!(".git/skein/run/{}/pid", world.ulid("w")));
    until("the supervisor has said who it is", || pid.exists());
    let pid = fs::read_to_string(pid).unwrap();
    assert!(std::process::Command::new("kill").args(["-9", pid.trim()]).status().unwrap().success());
    until("it is dead", || world.field("w", "liveness") == "gone");
    let (level, said) = looked(&world, "workers");
    assert!(level == "warning" && said.contains("\"w\""), "{said}");
    let ran = world.skein(&["doctor", "--fix"]).ok();
    assert!(ran.out.contains("closed worker w"), "{}", ran.out);
    assert_eq!(world.field("w", "outcome"), "failed");
    world.check();
}

#[test]
fn a_landing_that_was_cut_short_is_ended() {
    let world = World::new();
    world.worker("w", "echo 1 >new; git add -A; git commit -qm new");
    let mut dies = world.command(&["land", "w"]);
    dies.env("SKEIN_FAULT", "landing: branch moved:1:kill").output().unwrap();
    let (level, said) = looked(&world, "intents");
    assert!(level == "warning" && said.contains("cut short"), "{said}");
    let ran = world.skein(&["doctor", "--fix"]).ok();
    assert!(ran.out.contains("ended landing"), "{}", ran.out);
    assert_eq!(looked(&world, "intents").0, "ok");
    world.check();
}

/// The patterns that are offered do what is said of them, in the git at hand.
#[test]
fn git_log_without_our_refs() {
    let world = World::new();
    world.worker("w", "echo 1 >new; git add -A; git commit -qm new");
    world.skein(&["land", "w"]).ok();
    let decorated = || world.git(["log", "--all", "--decorate=full", "--oneline"]);
    let names_ours = |text: &str| text.contains("refs/skein") || text.contains("refs/notes/skein");
    assert!(!names_ours(&decorated()), "git names only the usual refs by itself");
    let (level, said) = looked(&world, "log");
    assert_eq!(level, "ok");
    let idiom = said.split("git log").last().unwrap().split(" --all").next().unwrap().replace('\'', "");
    let args: Vec<&str> = ["log", "--format=%s"].into_iter().chain(idiom.split_whitespace()).collect();
    let subjects = world.git([&args[..], &["--all"][..]].concat());
    assert_eq!(subjects, "new\nbase", "{args:?}");
    config(&world, "log.initialDecorationSet", "all");
    config(&world, "log.excludeDecoration", "refs/tags/");
    assert!(names_ours(&decorated()));
    assert_eq!(looked(&world, "log").0, "note");
    let ran = world.skein(&["doctor", "--fix"]).ok();
    assert!(ran.out.contains("log.excludeDecoration"), "{}", ran.out);
    assert!(!names_ours(&decorated()), "{}", decorated());
    assert!(world.git(["config", "--get-all", "log.excludeDecoration"]).contains("refs/tags/"));
    assert_eq!(looked(&world, "log").0, "ok");
}

#[test]
fn mending_is_not_a_workers_business() {
    let world = World::new();
    let mut inside = world.command(&["doctor", "--fix"]);
    inside.env("SKEIN_WORKER", "x");
    crate::support::ran(inside.output().unwrap()).refused("in-worker", 1);
}
