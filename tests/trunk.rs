//! A trunk moves where it is checked out, or it does not move at all: nobody's files, staged changes or
//! unfinished operations are touched, and what stands in the way is named.

use crate::support::World;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::path::PathBuf;

/// A worker `w` that is ready to land what `script` does.
fn ready(world: &World, script: &str) {
    world.worker("w", &format!("{script}\ngit add -A -f && git commit -qm done"));
    assert_eq!(world.field("w", "outcome"), "ready");
}

/// Lands `w`; only the trunk and its checkout move. Gives the new tip.
#[track_caller]
fn lands(world: &World) -> String {
    let old = world.rev("refs/heads/main");
    world.skein(&["land", "w"]).ok();
    let new = world.rev("refs/heads/main");
    assert_eq!(world.rev("refs/heads/main^"), old, "not on top of the old tip");
    world.skein(&["landed", "w"]).ok();
    world.check();
    new
}

/// `land w` is refused with `token`, names each of `named`, and leaves everything as it was; once `clear` has
/// removed the obstacle, the same command lands.
#[track_caller]
fn refused_until(world: &World, token: &str, code: i32, named: &[&str], clear: impl FnOnce()) {
    let before = world.picture(&[]);
    for _ in 0..2 {
        let refused = world.skein(&["land", "w"]).refused(token, code);
        for name in named {
            assert!(refused.err.contains(name), "{name} is not named: {}", refused.err);
        }
        assert_eq!(world.picture(&[]), before);
    }
    clear();
    lands(world);
}

#[test]
fn a_checkout_that_the_configuration_denies_does_not_stay_behind() {
    let world = World::new();
    ready(&world, "echo new > new");
    world.git(["config", "core.bare", "true"]);
    refused_until(&world, "wrongly-bare", 1, &["core.bare", "main"], || {
        world.git(["config", "core.bare", "false"]);
    });
    assert_eq!(world.git(["status", "--porcelain"]), "");
}

/// Files and links of a folder with their content, `.git` left out.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap).filter(|e| e.file_name() != ".git") {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(files(&path));
        } else if kind.is_symlink() {
            found.insert(path.clone(), fs::read_link(path).unwrap().into_os_string().into_encoded_bytes());
        } else {
            found.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    found
}

#[test]
fn a_clean_checkout_moves_with_its_trunk() {
    let world = World::new();
    world.write("dir/one", "1\n");
    world.write("dir/two", "2\n");
    world.write("plain", "p\n");
    world.commit("more");
    ready(
        &world,
        "sed -i s/5/five/ a.txt; git mv b.txt c.txt; git rm -q plain; chmod +x dir/one; ln -s one dir/link; mkdir -p deep/er; echo n >deep/er/new",
    );
    lands(&world);
    assert_eq!(world.git(["status", "--porcelain", "--ignored"]), "");
    assert!(world.read("a.txt").contains("line five\n"));
    assert_eq!(world.read("c.txt"), "b\n");
    assert!(!world.path("b.txt").exists() && !world.path("plain").exists());
    assert_eq!(fs::metadata(world.path("dir/one")).unwrap().permissions().mode() & 0o111, 0o111);
    assert_eq!(fs::read_link(world.path("dir/link")).unwrap(), Path::new("one"));
    assert_eq!(world.read("deep/er/new"), "n\n");
}

#[test]
fn a_file_becomes_a_folder_and_a_folder_a_file() {
    let world = World::new();
    world.write("dir/one", "1\n");
    world.write("dir/sub/two", "2\n");
    world.commit("more");
    ready(&world, "git rm -rq dir b.txt; echo file >dir; mkdir b.txt; echo in >b.txt/in");
    lands(&world);
    assert_eq!(world.git(["status", "--porcelain"]), "");
    assert_eq!((world.read("dir"), world.read("b.txt/in")), ("file\n".into(), "in\n".into()));
}

#[test]
fn changes_elsewhere_stay_byte_for_byte() {
    let world = World::new();
    world.write("staged", "old\n");
    world.write("both", "old\n");
    world.write("gone", "old\n");
    world.commit("more");
    ready(&world, "sed -i s/5/five/ a.txt; echo n >new");
    fs::write(world.path("b.txt"), b"mine \xff\r\n\0 no end").unwrap();
    world.write("staged", "staged\n");
    world.write("both", "staged\n");
    world.write("added", "staged\n");
    world.git(["add", "staged", "both", "added"]);
    world.write("both", "staged and more\n");
    world.git(["rm", "-q", "gone"]);
    world.write("untracked", "mine\n");
    world.write("x.ign", "mine\n");
    let dirt = || {
        let index = world.git(["diff", "--cached", "--raw", "--abbrev=40"]);
        let tree = world.git(["diff", "--name-status"]);
        let mut kept = files(&world.repo);
        kept.retain(|path, _| !path.ends_with("a.txt") && !path.ends_with("new"));
        (index, tree, world.git(["status", "--porcelain", "--ignored"]), kept)
    };
    let before = dirt();
    lands(&world);
    assert_eq!(dirt(), before);
    assert!(world.read("a.txt").contains("line five\n"));
    assert_eq!(world.read("new"), "n\n");
}

#[test]
fn a_change_on_the_same_path_is_named_and_kept() {
    let world = World::new();
    ready(&world, "sed -i s/5/five/ a.txt");
    world.write("a.txt", "mine\n");
    refused_until(&world, "dirty-overlap", 1, &["  a.txt\n"], || {
        world.git(["checkout", "-q", "a.txt"]);
    });
}

#[test]
fn a_staged_change_on_the_same_path_is_named_and_kept() {
    let world = World::new();
    ready(&world, "sed -i s/5/five/ a.txt");
    world.write("a.txt", "mine\n");
    world.git(["add", "a.txt"]);
    refused_until(&world, "dirty-overlap", 1, &["  a.txt\n"], || {
        world.git(["reset", "-q", "--hard"]);
    });
}

#[test]
fn a_staged_deletion_of_a_changed_path_is_named_and_kept() {
    let world = World::new();
    ready(&world, "sed -i s/5/five/ a.txt");
    world.git(["rm", "-q", "--cached", "a.txt"]);
    refused_until(&world, "dirty-overlap", 1, &["  a.txt\n"], || {
        world.git(["reset", "-q", "--hard"]);
    });
}

#[test]
fn a_path_that_is_only_announced_is_named_and_kept() {
    let world = World::new();
    ready(&world, "echo theirs >new");
    world.write("new", "mine\n");
    world.git(["add", "-N", "new"]);
    refused_until(&world, "dirty-overlap", 1, &["  new\n"], || {
        world.git(["reset", "-q"]);
        fs::remove_file(world.path("new")).unwrap();
    });
}

/// git is told not to look at the file, so its status is silent about the change.
#[test]
fn a_change_that_git_was_told_to_overlook_is_named_and_kept() {
    for flag in ["assume-unchanged", "skip-worktree"] {
        let world = World::new();
        ready(&world, "sed -i s/5/five/ a.txt");
        world.git(["update-index", &format!("--{flag}"), "a.txt"]);
        world.write("a.txt", "mine\n");
        refused_until(&world, "dirty-overlap", 1, &["a.txt"], || {
            world.git(["update-index", &format!("--no-{flag}"), "a.txt"]);
            world.git(["checkout", "-q", "a.txt"]);
        });
    }
}

#[test]
fn an_untracked_file_in_the_way_is_named_and_kept() {
    let world = World::new();
    ready(&world, "echo theirs >new; mkdir d; echo theirs >d/new");
    world.write("new", "mine\n");
    world.write("d/new", "mine\n");
    refused_until(&world, "in-the-way", 1, &["  new\n", "  d/new\n"], || {
        fs::remove_file(world.path("new")).unwrap();
        fs::remove_dir_all(world.path("d")).unwrap();
    });
}

#[test]
fn an_ignored_file_in_the_way_is_named_and_kept() {
    let world = World::new();
    ready(&world, "echo theirs >x.ign");
    world.write("x.ign", "mine\n");
    refused_until(&world, "in-the-way", 1, &["  x.ign\n"], || {
        fs::rename(world.path("x.ign"), world.path("y.ign")).unwrap();
    });
    assert_eq!((world.read("y.ign"), world.read("x.ign")), ("mine\n".into(), "theirs\n".into()));
}

#[test]
fn an_ignored_folder_in_the_way_of_a_file_is_named_and_kept() {
    let world = World::new();
    ready(&world, "echo theirs >ignored");
    world.write("ignored/deep/keep", "mine\n");
    refused_until(&world, "in-the-way", 1, &["  ignored/deep/keep\n"], || {
        fs::remove_dir_all(world.path("ignored")).unwrap();
    });
    assert_eq!(world.read("ignored"), "theirs\n");
}

#[test]
fn an_ignored_file_in_a_folder_that_becomes_a_file_is_named_and_kept() {
    let world = World::new();
    world.write("dir/one", "1\n");
    world.commit("more");
    ready(&world, "git rm -rq dir; echo theirs >dir");
    world.write("dir/x.ign", "mine\n");
    refused_until(&world, "in-the-way", 1, &["  dir/x.ign\n"], || {
        fs::remove_file(world.path("dir/x.ign")).unwrap();
    });
    assert_eq!(world.read("dir"), "theirs\n");
}

#[test]
fn a_file_in_the_way_of_a_folder_is_named_and_kept() {
    let world = World::new();
    ready(&world, "mkdir d.ign; echo theirs >d.ign/new");
    world.write("d.ign", "mine\n");
    refused_until(&world, "in-the-way", 1, &["  d.ign\n"], || {
        fs::remove_file(world.path("d.ign")).unwrap();
    });
    assert_eq!(world.read("d.ign/new"), "theirs\n");
}

#[test]
fn a_link_in_the_way_of_a_folder_is_named_and_never_followed() {
    let world = World::new();
    ready(&world, "mkdir d; echo theirs >d/new");
    let outside = world.root().join("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, world.path("d")).unwrap();
    refused_until(&world, "in-the-way", 1, &["  d\n"], || {
        assert!(files(&outside).is_empty());
        fs::remove_file(world.path("d")).unwrap();
    });
    assert!(files(&outside).is_empty());
}

#[test]
fn an_empty_folder_in_the_way_is_no_obstacle() {
    let world = World::new();
    ready(&world, "echo theirs >new");
    fs::create_dir_all(world.path("new/empty/deep")).unwrap();
    lands(&world);
    assert_eq!(world.read("new"), "theirs\n");
}

#[test]
fn a_deletion_leaves_ignored_neighbours() {
    let world = World::new();
    world.write("dir/one", "1\n");
    world.commit("more");
    ready(&world, "git rm -rq dir");
    world.write("dir/x.ign", "mine\n");
    world.write("dir/untracked", "mine\n");
    lands(&world);
    assert!(!world.path("dir/one").exists());
    assert_eq!((world.read("dir/x.ign"), world.read("dir/untracked")), ("mine\n".into(), "mine\n".into()));
}

#[test]
fn a_file_that_was_only_touched_is_no_change() {
    let world = World::new();
    ready(&world, "sed -i s/5/five/ a.txt");
    let text = world.read("a.txt");
    fs::remove_file(world.path("a.txt")).unwrap();
    world.write("a.txt", &text);
    let touched = fs::File::options().append(true).open(world.path("a.txt")).unwrap();
    touched.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000)).unwrap();
    lands(&world);
    assert!(world.read("a.txt").contains("line five\n"));
    assert_eq!(world.git(["status", "--porcelain"]), "");
}

/// Two branches that change line 1 of `a.txt`: `main` and `other`.
fn forked(world: &World) {
    world.git(["switch", "-qc", "other"]);
    world.write("a.txt", "other\n");
    world.commit("other");
    world.write("other", "second\n");
    world.commit("other two");
    world.git(["switch", "-q", "main"]);
    world.write("a.txt", "main\n");
    world.commit("main");
}

#[test]
fn a_merge_in_progress_is_waited_for() {
    let world = World::new();
    forked(&world);
    ready(&world, "echo n >new");
    assert!(!world.try_git(["merge", "other"]).status.success());
    refused_until(&world, "operation-in-progress", 1, &["a merge"], || {
        world.git(["merge", "--abort"]);
    });
}

#[test]
fn a_rebase_of_the_trunk_in_progress_is_waited_for() {
    let world = World::new();
    world.write("b.txt", "more\n");
    world.commit("more");
    ready(&world, "echo n >new");
    assert!(!world.try_git(["rebase", "-q", "-x", "false", "HEAD~1"]).status.success());
    assert!(!world.try_git(["symbolic-ref", "-q", "HEAD"]).status.success(), "HEAD is detached meanwhile");
    refused_until(&world, "operation-in-progress", 1, &["a rebase"], || {
        world.git(["rebase", "--abort"]);
    });
}

#[test]
fn a_rebase_of_another_branch_hinders_nobody() {
    let world = World::new();
    forked(&world);
    ready(&world, "echo n >new");
    world.git(["switch", "-q", "other"]);
    assert!(!world.try_git(["rebase", "-q", "-x", "false", "HEAD~1"]).status.success());
    let before = world.picture(&["main"]);
    lands(&world);
    assert_eq!(world.picture(&["main"]), before);
}

#[test]
fn a_cherry_pick_in_progress_is_waited_for() {
    let world = World::new();
    forked(&world);
    ready(&world, "echo n >new");
    assert!(!world.try_git(["cherry-pick", "other~1"]).status.success());
    refused_until(&world, "operation-in-progress", 1, &["a cherry-pick"], || {
        world.git(["cherry-pick", "--abort"]);
    });
}

/// Between two picks no `CHERRY_PICK_HEAD` stands, and `--abort` would go back to where it began.
#[test]
fn a_row_of_cherry_picks_in_progress_is_waited_for() {
    let world = World::new();
    forked(&world);
    ready(&world, "echo n >new");
    assert!(!world.try_git(["cherry-pick", "main~1..other"]).status.success());
    world.write("a.txt", "resolved\n");
    world.git(["commit", "-qam", "resolved"]);
    assert!(!world.path(".git/CHERRY_PICK_HEAD").exists());
    refused_until(&world, "operation-in-progress", 1, &["a cherry-pick"], || {
        world.git(["cherry-pick", "--continue"]);
    });
}

#[test]
fn a_bisection_in_progress_is_waited_for() {
    let world = World::new();
    for n in 0..4 {
        world.write("b.txt", &format!("{n}\n"));
        world.commit("more");
    }
    ready(&world, "echo n >new");
    world.git(["bisect", "start", "main", "main~4"]);
    assert_ne!(world.head(), world.rev("main"));
    refused_until(&world, "operation-in-progress", 1, &["a bisect"], || {
        world.git(["bisect", "reset"]);
    });
}

#[test]
fn a_trunk_in_a_linked_worktree_moves_there() {
    let world = World::new();
    world.git(["switch", "-qc", "side"]);
    world.git(["worktree", "add", "-q", "../linked", "main"]);
    let linked = world.root().join("linked");
    let at = linked.to_str().unwrap().to_owned();
    ready(&world, "sed -i s/5/five/ a.txt; echo n >new");
    fs::write(linked.join("b.txt"), "mine\n").unwrap();
    fs::write(linked.join("new"), "mine\n").unwrap();
    let before = files(&linked);
    refused_until(&world, "in-the-way", 1, &["  new\n", &at], || {
        assert_eq!(files(&linked), before);
        fs::remove_file(linked.join("new")).unwrap();
    });
    assert_eq!(world.git(["-C", &at, "status", "--porcelain"]), " M b.txt");
    assert!(fs::read_to_string(linked.join("a.txt")).unwrap().contains("line five\n"));
    assert_eq!(fs::read_to_string(linked.join("b.txt")).unwrap(), "mine\n");
    assert_eq!(world.git(["status", "--porcelain"]), "");
    assert!(world.read("a.txt").contains("line 5\n"), "the main checkout is on another branch");
}

#[test]
fn the_main_checkout_stays_when_its_trunk_is_elsewhere() {
    let world = World::new();
    world.git(["switch", "-qc", "side"]);
    world.git(["worktree", "add", "-q", "../linked", "main"]);
    ready(&world, "sed -i s/5/five/ a.txt");
    world.write("a.txt", "mine\n");
    let before = world.picture(&["main"]);
    lands(&world);
    assert_eq!(world.picture(&["main"]), before);
}

#[test]
fn a_merge_in_a_linked_worktree_is_waited_for() {
    let world = World::new();
    forked(&world);
    world.git(["switch", "-qc", "side"]);
    world.git(["worktree", "add", "-q", "../linked", "main"]);
    ready(&world, "echo n >new");
    assert!(!world.try_git(["-C", "../linked", "merge", "other"]).status.success());
    refused_until(&world, "operation-in-progress", 1, &["a merge", "linked"], || {
        world.git(["-C", "../linked", "merge", "--abort"]);
    });
}

#[test]
fn a_trunk_checked_out_twice_is_not_moved() {
    let world = World::new();
    world.git(["worktree", "add", "-q", "--force", "../linked", "main"]);
    ready(&world, "sed -i s/5/five/ a.txt");
    let linked = world.root().join("linked");
    let before = files(&linked);
    let both = [world.repo.to_str().unwrap(), linked.to_str().unwrap()];
    refused_until(&world, "checked-out-twice", 1, &both, || {
        assert_eq!(files(&linked), before);
        world.git(["-C", "../linked", "switch", "-q", "--detach"]);
    });
    assert_eq!(files(&linked), before);
}

#[test]
fn a_trunk_that_is_checked_out_nowhere_moves_alone() {
    let world = World::new();
    world.git(["switch", "-qc", "side"]);
    world.write("a.txt", "mine\n");
    ready(&world, "sed -i s/5/five/ a.txt");
    let before = world.picture(&["main"]);
    let new = lands(&world);
    assert_eq!(world.picture(&["main"]), before);
    assert!(world.git(["show", &format!("{new}:a.txt")]).contains("line five\n"));
}

/// The folder of a worktree that had the trunk was deleted by hand: it holds nothing back.
#[test]
fn a_worktree_that_is_gone_holds_no_trunk() {
    let world = World::new();
    world.git(["switch", "-qc", "side"]);
    world.git(["worktree", "add", "-q", "../linked", "main"]);
    ready(&world, "sed -i s/5/five/ a.txt");
    fs::remove_dir_all(world.root().join("linked")).unwrap();
    lands(&world);
    assert!(!world.root().join("linked").exists());
}

#[test]
fn a_detached_checkout_at_the_trunks_commit_stays() {
    let world = World::new();
    ready(&world, "sed -i s/5/five/ a.txt");
    world.git(["switch", "-q", "--detach", "main"]);
    let before = (world.head(), world.picture(&["main"]));
    lands(&world);
    assert_eq!((world.head(), world.picture(&["main"])), before);
}

#[test]
fn a_bare_repository_has_the_whole_walk() {
    let mut world = World::new();
    world.git(["clone", "-q", "--bare", "--template=", ".", "../bare.git"]);
    world.repo = world.root().join("bare.git");
    world.cwd.clone_from(&world.repo);
    world.git(["config", "user.name", "Ada"]);
    world.git(["config", "user.email", "ada@example.invalid"]);
    ready(&world, "sed -i s/5/five/ a.txt");
    assert!(world.worktree("w").starts_with(world.root().join("bare.git.skein")));
    let old = world.rev("main");
    world.skein(&["land", "w", "--gate", "grep -q five a.txt"]).ok();
    assert_eq!(world.rev("main^"), old);
    world.skein(&["landed", "w"]).ok();
    world.skein(&["landed", "main"]).ok();
    assert!(world.git(["show", "main:a.txt"]).contains("line five\n"));
    assert!(!world.repo.join("a.txt").exists() && !world.repo.join("index").exists());
    world.check();
}

/// A bare repository whose branches are all checked out beside it, as some people work.
#[test]
fn a_trunk_in_a_worktree_of_a_bare_repository_moves_there() {
    let mut world = World::new();
    world.git(["clone", "-q", "--bare", "--template=", ".", "../all/.bare"]);
    world.repo = world.root().join("all/.bare");
    world.cwd.clone_from(&world.repo);
    world.git(["config", "user.name", "Ada"]);
    world.git(["config", "user.email", "ada@example.invalid"]);
    world.git(["worktree", "add", "-q", "../main", "main"]);
    world.cwd = world.root().join("all/main");
    ready(&world, "sed -i s/5/five/ a.txt");
    lands(&world);
    assert_eq!(world.git(["status", "--porcelain"]), "");
    assert!(fs::read_to_string(world.cwd.join("a.txt")).unwrap().contains("line five\n"));
    assert!(!world.repo.join("a.txt").exists());
}

#[test]
fn paths_outside_a_sparse_checkout_change_in_the_index_only() {
    for sparse_index in ["--no-sparse-index", "--sparse-index"] {
        let world = World::new();
        for path in ["in/one", "out/one", "out/two"] {
            world.write(path, "old\n");
        }
        world.commit("more");
        world.git(["sparse-checkout", "set", "--cone", sparse_index, "in"]);
        assert!(!world.path("out").exists());
        ready(
            &world,
            "git sparse-checkout disable; echo new >in/one; echo new >out/one; git rm -q out/two; echo new >out/three; echo new >in/two",
        );
        lands(&world);
        assert_eq!((world.read("in/one"), world.read("in/two")), ("new\n".into(), "new\n".into()));
        assert!(!world.path("out").exists(), "{sparse_index}");
        assert_eq!(world.git(["status", "--porcelain"]), "");
        assert_eq!(world.git(["ls-files", "-t", "out"]), "S out/one\nS out/three");
        assert_eq!(world.git(["diff", "--cached", "HEAD", "--stat"]), "");
    }
}

/// A worker's worktree is as sparse as the checkout it was made from: what is not there was not deleted.
#[test]
fn a_sparse_worker_deletes_nothing() {
    let world = World::new();
    world.write("in/one", "old\n");
    world.write("out/one", "old\n");
    world.commit("more");
    world.git(["sparse-checkout", "set", "--cone", "in"]);
    world.worker("w", "test ! -e out && echo new >in/one");
    world.skein(&["land", "w"]).ok();
    assert_eq!(world.git(["diff", "--name-status", "main^", "main"]), "M\tin/one");
    world.check();
}

#[test]
fn a_locked_index_is_never_unlocked_by_us() {
    let world = World::new();
    ready(&world, "sed -i s/5/five/ a.txt");
    let lock = world.path(".git/index.lock");
    fs::write(&lock, "somebody's").unwrap();
    refused_until(&world, "index-locked", 75, &["index.lock"], || {
        assert_eq!(fs::read(&lock).unwrap(), b"somebody's");
        fs::remove_file(&lock).unwrap();
    });
}

#[test]
fn the_locked_index_of_a_linked_worktree_is_never_unlocked_by_us() {
    let world = World::new();
    world.git(["switch", "-qc", "side"]);
    world.git(["worktree", "add", "-q", "../linked", "main"]);
    ready(&world, "sed -i s/5/five/ a.txt");
    let lock = world.path(".git/worktrees/linked/index.lock");
    fs::write(&lock, "").unwrap();
    refused_until(&world, "index-locked", 75, &["index.lock"], || {
        assert!(lock.exists());
        fs::remove_file(&lock).unwrap();
    });
}

/// Left by a git of ours that was killed in the middle of a transaction, or held by one that lives.
#[test]
fn a_locked_ref_is_never_unlocked_by_us() {
    let world = World::new();
    world.worker("w", "echo w > b.txt && git commit -qam w");
    world.skein(&["import", "w", "--into", "coord"]).ok();
    let lane = world.lines(&["for-each-ref", "--format=%(refname)", "refs/skein/lane/"]).remove(0);
    let one = |name: &str| {
        let world = world.copy();
        let base = world.head();
        let lock = world.path(&format!(".git/{name}.lock"));
        fs::write(&lock, "").unwrap();
        let refused = world.skein(&["land", "w"]).refused("ref-locked", 75);
        assert!(refused.err.contains(lock.to_str().unwrap()), "{}", refused.err);
        assert!(refused.err.contains("git skein doctor"), "{}", refused.err);
        assert_eq!((world.rev("main"), world.git(["status", "--porcelain"])), (base, String::new()));
        assert!(lock.exists());
        fs::remove_file(&lock).unwrap();
        world.skein(&["land", "w"]).ok();
        assert_eq!(world.read("b.txt"), "w\n");
        world.check();
    };
    // Each waits ten seconds for the lock.
    std::thread::scope(|scope| {
        let other = scope.spawn(|| one(&lane));
        one("refs/heads/main");
        other.join().unwrap();
    });
}

#[test]
fn a_submodule_elsewhere_in_the_trunk_stays() {
    let world = World::new();
    let inner = world.root().join("inner");
    world.git(["clone", "-q", "--template=", ".", "../inner"]);
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    world.git(add.into_iter().chain([inner.to_str().unwrap(), "sub"]));
    world.commit("submodule");
    ready(&world, "sed -i s/5/five/ a.txt");
    world.write("sub/a.txt", "mine\n");
    world.write("sub/untracked", "mine\n");
    let before = (files(&world.path("sub")), world.git(["submodule", "status"]));
    lands(&world);
    assert_eq!((files(&world.path("sub")), world.git(["submodule", "status"])), before);
    assert_eq!(world.git(["status", "--porcelain"]), " M sub");
    assert!(world.read("a.txt").contains("line five\n"));
}

/// Inside a submodule: its git folder lies in the outer repository's, its files do not.
#[test]
fn a_submodule_is_a_repository_like_any_other() {
    let mut world = World::new();
    world.git(["clone", "-q", "--template=", ".", "../inner"]);
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../inner", "sub"];
    world.git(["remote", "add", "origin", world.repo.to_str().unwrap()]);
    world.git(add);
    world.commit("submodule");
    let modules = world.path(".git/modules/sub");
    world.cwd = world.path("sub");
    world.git(["config", "user.name", "Ada"]);
    world.git(["config", "user.email", "ada@example.invalid"]);
    ready(&world, "sed -i s/5/five/ a.txt");
    assert!(!world.worktree("w").starts_with(world.path(".git")), "{:?}", world.worktree("w"));
    let old = world.rev("main");
    world.skein(&["land", "w"]).ok();
    assert_eq!(world.rev("main^"), old);
    assert_eq!(world.git(["status", "--porcelain"]), "");
    assert!(world.read("sub/a.txt").contains("line five\n"));
    assert!(!modules.join("a.txt").exists(), "files were written into the git folder");
}

#[test]
fn a_git_folder_of_its_own_gets_no_files() {
    let mut world = World::new();
    let apart = world.root().join("apart.git");
    world.git(["init", "-q", "--separate-git-dir", apart.to_str().unwrap()]);
    assert!(world.path(".git").is_file());
    world.write("sub/keep", "k\n");
    world.commit("more");
    ready(&world, "sed -i s/5/five/ a.txt");
    world.write("b.txt", "mine\n");
    world.cwd = world.path("sub");
    world.skein(&["land", "w"]).ok();
    world.cwd.clone_from(&world.repo);
    assert_eq!(world.git(["status", "--porcelain"]), " M b.txt");
    assert!(world.read("a.txt").contains("line five\n"));
    assert!(!apart.join("a.txt").exists(), "files were written into the git folder");
}

/// From a linked worktree nothing says where the files of such a git folder are: better no landing than one
/// that leaves them behind.
#[test]
fn a_checkout_that_cannot_be_found_holds_the_trunk() {
    let mut world = World::new();
    let apart = world.root().join("apart.git");
    world.git(["init", "-q", "--separate-git-dir", apart.to_str().unwrap()]);
    world.git(["worktree", "add", "-q", "--detach", "../linked"]);
    ready(&world, "sed -i s/5/five/ a.txt");
    let (old, before) = (world.rev("main"), files(&apart.join("refs/heads")));
    world.cwd = world.root().join("linked");
    let failed = world.skein(&["land", "w"]).code(128);
    assert!(failed.err.contains("give the command where they are"), "{}", failed.err);
    assert_eq!(files(&apart.join("refs/heads")), before);
    world.cwd.clone_from(&world.repo);
    world.skein(&["land", "w"]).ok();
    assert_eq!(world.rev("main^"), old);
    assert_eq!(world.git(["status", "--porcelain"]), "");
}

/// As some people keep their dotfiles: a bare repository, and the work tree named at each call.
#[test]
fn a_work_tree_named_by_the_environment_moves() {
    let mut world = World::new();
    let (git, tree) = (world.root().join("dots.git"), world.root().join("dots"));
    world.git(["clone", "-q", "--bare", "--template=", ".", "../dots.git"]);
    fs::create_dir(&tree).unwrap();
    world.cwd.clone_from(&tree);
    let mut world = world.env("GIT_DIR", git.to_str().unwrap()).env("GIT_WORK_TREE", tree.to_str().unwrap());
    world.git(["config", "user.name", "Ada"]);
    world.git(["config", "user.email", "ada@example.invalid"]);
    world.git(["checkout", "-q", "main"]);
    ready(&world, "sed -i s/5/five/ a.txt");
    let old = world.rev("main");
    fs::write(tree.join("a.txt"), "mine\n").unwrap();
    let refused = world.skein(&["land", "w"]).refused("dirty-overlap", 1);
    assert!(refused.err.contains("  a.txt\n"), "{}", refused.err);
    assert_eq!(world.rev("main"), old);
    world.git(["checkout", "-q", "a.txt"]);
    world.cwd = tree.clone();
    world.skein(&["land", "w"]).ok();
    assert_eq!(world.rev("main^"), old);
    assert_eq!(world.git(["status", "--porcelain", "-uno"]), "");
    assert!(fs::read_to_string(tree.join("a.txt")).unwrap().contains("line five\n"));
    assert!(!git.join("a.txt").exists(), "files were written into the git folder");
}

#[test]
fn a_landing_that_was_to_be_signed_says_that_it_is_not() {
    let world = World::new();
    world.worker("w", "echo 1 >new; git add -A; git commit -qm new");
    world.git(["config", "commit.gpgSign", "true"]);
    assert!(world.skein(&["land", "w"]).ok().out.contains("unsigned"));
}
