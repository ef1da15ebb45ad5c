//! What goes wrong between a fork and its landing where patches are taken out as text, applied to a checkout,
//! and judged by what is there at the moment. Numbers are rows of one list; those that other tests cover:
//!
//! | row | covered by |
//! |---|---|
//! | 1 a fork from elsewhere, 3 a foreign merge | `refusals::a_base_that_moved_and_work_that_is_not_its_own`, `cases_f::f12` |
//! | 4, 5 no commit, an empty commit | `cases_f::f04`, `refusals::work_that_changes_nothing` |
//! | 7 all is committed | `cases_f::f01` |
//! | 8 the work was thrown away | `cases_f::f03` |
//! | 9 binaries, 12 modes, renames, line ends, last newline, submodules | `cases_f::f14`, `identity`, `landed::corpus` |
//! | 16 a dirty trunk | `trunk::changes_elsewhere_stay_byte_for_byte`, `trunk::a_change_on_the_same_path_is_named_and_kept` |
//! | 17 the trunk moved, other files | `races::twenty_forks_with_files_of_their_own_land_one_by_one_and_all_at_once` |
//! | 18 the trunk moved, same lines | `cases_f::f16` |
//! | 19 a file in the way | `trunk::an_untracked_file_in_the_way_is_named_and_kept` and those after it |
//! | 22 a nested repository | `refusals::a_nested_repository`, `reap::what_cannot_be_captured_or_is_half_done_stays` |
//! | 23 the checkout is on no branch | `shapes::a_checkout_on_no_branch`, `trunk::a_detached_checkout_at_the_trunks_commit_stays` |
//! | 26 a hook changes what is committed | `citizen::a_days_work_leaves_everything_as_it_was_and_runs_no_hook`, `landed::corpus` |
//! | 27 signing without a key | `trunk::a_landing_that_was_to_be_signed_says_that_it_is_not` |
//! | 28 a crash between two steps | `faults` |
//! | 29 the gate's program is missing | `refusals::gates_that_fail_or_write` |
//! | 30, 31 at once | `races`, `cases_x::x10`, `cases_f::f17` |
//! | 32 many worktrees at once | `races::sixteen_dispatches_at_once_all_stand` |
//! | 33 the branch is checked out elsewhere | `cases_x::x08`, `trunk` |
//! | 34 a worktree that is gone, locked, has submodules | `cases_x::x20`, `cases_x::x13`, `reap::a_worktree_deleted_by_hand_is_no_obstacle` |
//! | 38 a shallow clone | `landed::a_cut_history_is_unknown_and_nothing_is_fetched`, `shapes::stores` |
//! | 42 a gate runs the worker's code | `cases_x::x18`; it runs on the exact candidate, in a jail: `jail::` |
//! | 43 the worker still runs | `refusals::a_worker_that_still_runs`, `reap::a_worktree_that_changes_while_it_is_closed_stays` |

use crate::support::Ran;
use crate::support::World;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The entries of a tree with these names.
fn entries(world: &World, tree: &str, names: &[&str]) -> Vec<String> {
    let listed = world.git(["ls-tree", "-r", "-z", tree]);
    let named = |l: &&str| names.contains(&l.split_once('\t').unwrap_or_default().1);
    listed.split('\0').filter(named).map(str::to_owned).collect()
}

fn strings(ran: &Ran, key: &str) -> Vec<String> {
    serde_json::from_value(ran.json()["result"][key].clone()).unwrap()
}

#[test]
fn d02_an_edit_on_a_foreign_commit_is_refused() {
    let world = World::new();
    world.git(["switch", "--quiet", "--create", "other"]);
    world.write("other.txt", "other\n");
    let other = world.commit("other");
    world.git(["switch", "--quiet", "main"]);
    let base = world.head();
    world.worker("w", "git reset -q --hard other; echo z >> b.txt");
    for args in [&["import", "w", "--uncommitted"][..], &["land", "w", "--uncommitted"], &["land", "w"]] {
        let args = [args, &["--any-outcome"]].concat();
        let refused = world.skein(&args).refused("foreign-merge", 1);
        assert!(refused.err.contains(&other), "{}", refused.err);
    }
    assert_eq!(world.rev("main"), base);
    world.check();
}

#[test]
fn d06_the_committed_part_lands_and_the_rest_is_told() {
    let world = World::new();
    world.worker("w", "echo w > b.txt && git commit -qam w; echo left > a.txt; echo new > new.txt");
    let imported = world.skein(&["import", "w", "--json", "--any-outcome"]).ok();
    assert_eq!(strings(&imported, "leftovers"), ["a.txt", "new.txt"]);
    world.skein(&["land", "w", "--any-outcome"]).ok();
    assert_eq!((world.read("b.txt").as_str(), world.path("new.txt").exists()), ("w\n", false));
    // They change no verdict, and are not lost with the worker.
    let said = world.skein(&["landed", "w"]).ok();
    assert!(said.out.contains("leftovers: 2 paths"), "{said:?}");
    let snapshot = world.field("w", "snapshot").as_str().unwrap().to_owned();
    assert_eq!(world.git(["show", &format!("{snapshot}:new.txt")]), "new");
    // Asked for, they land too.
    world.skein(&["land", "w", "--uncommitted", "--any-outcome"]).ok();
    assert_eq!((world.read("a.txt").as_str(), world.read("new.txt").as_str()), ("left\n", "new\n"));
    world.check();
}

#[test]
fn d10_links_are_links_whatever_they_point_to() {
    let world = World::new();
    world.worker(
        "w",
        "mkdir dir && echo 1 > dir/file && ln -s dir todir && ln -s nowhere dangling && ln -sf a.txt b.txt",
    );
    let imported = world.skein(&["land", "w", "--uncommitted", "--json", "--any-outcome"]).ok();
    assert_eq!(imported.json()["result"]["paths"], 4);
    let modes = |tree: &str| -> Vec<String> {
        let found = entries(&world, tree, &["todir", "dangling", "b.txt", "dir/file"]);
        found.iter().map(|e| e[..6].to_owned()).collect()
    };
    assert_eq!(modes("main"), ["120000", "120000", "100644", "120000"]);
    assert_eq!(fs::read_link(world.path("todir")).unwrap(), Path::new("dir"));
    assert_eq!(world.git(["status", "--porcelain"]), "");
    world.check();
}

#[test]
fn d11_names_of_every_kind_arrive() {
    let world = World::new();
    let names = ["a\"b", " lead", "trail ", "-dash", "a'b", "a$b`c", "caf\u{e9}", "*?[x]", "a:b", "#x"];
    let quoted: Vec<String> = names.iter().map(|n| format!("'{}'", n.replace('\'', r"'\''"))).collect();
    let latin = r#""$(printf 'latin\351')""#;
    let script = format!("for f in {} {latin}; do echo x > \"./$f\"; done", quoted.join(" "));
    world.worker("w", &script);
    world.skein(&["land", "w", "--uncommitted", "--any-outcome"]).ok();
    assert_eq!(entries(&world, "main", &names).len(), names.len());
    let listed = world.try_git(["ls-tree", "-z", "--name-only", "main"]).stdout;
    assert!(listed.split(|b| *b == 0).any(|name| name == b"latin\xe9"));
    assert_eq!(world.git(["status", "--porcelain"]), "");
    // What a terminal or a script would trip over is refused by name, not dropped.
    for (worker, script) in [("tab", r#"echo x > "$(printf 'a\tb')""#), ("backslash", r"echo x > 'a\b'")] {
        world.worker(worker, script);
        world.skein(&["land", worker, "--uncommitted", "--any-outcome"]).refused("bad-path", 1);
    }
    world.check();
}

#[test]
fn d13_a_submodule_moves_though_settings_hide_it() {
    let world = World::new();
    let base = world.head();
    fs::create_dir(world.path("sub")).unwrap();
    world.git(["update-index", "--add", "--cacheinfo", &format!("160000,{base},sub")]);
    world.git(["commit", "--quiet", "-m", "a submodule"]);
    let second = world.head();
    world.git(["config", "skein.allowGitlinks", "true"]);
    world.git(["config", "diff.ignoreSubmodules", "all"]);
    world.git(["config", "submodule.sub.ignore", "all"]);
    world.worker("w", &format!("git update-index --cacheinfo 160000,{second},sub && git commit -qm bump"));
    world.skein(&["land", "w", "--exact"]).ok();
    assert_eq!(world.git(["ls-tree", "main", "sub"]), format!("160000 commit {second}\tsub"));
    world.check();
}

#[test]
fn d14_settings_of_diff_and_apply_change_no_byte() {
    let world = World::new();
    let script = "printf 'one  \\n\\ttwo \\r\\n\\n\\n' > new.txt; sed -i 's/5/5   /' a.txt; git add -A; git commit -qm w";
    world.worker("w", script);
    for (key, value) in [
        ("apply.whitespace", "fix"),
        ("core.whitespace", "trailing-space,blank-at-eof"),
        ("diff.external", "echo poison"),
        ("diff.noprefix", "true"),
        ("diff.context", "0"),
        ("color.ui", "always"),
        ("merge.renormalize", "true"),
    ] {
        world.git(["config", key, value]);
    }
    let tip = world.field("w", "head").as_str().unwrap().to_owned();
    world.write("b.txt", "meanwhile\n");
    world.git(["commit", "--quiet", "-am", "the trunk moved"]);
    world.skein(&["land", "w"]).ok();
    let files = ["a.txt", "new.txt"];
    assert_eq!(entries(&world, "main", &files), entries(&world, &tip, &files));
    assert_eq!(fs::read(world.path("new.txt")).unwrap(), b"one  \n\ttwo \r\n\n\n");
    world.check();
}

#[test]
fn d21_what_the_worker_made_git_ignore_is_told() {
    let world = World::new();
    world.worker(
        "w",
        "echo secret.conf >> .gitignore; echo x > secret.conf; echo w > b.txt; git commit -qam w",
    );
    let imported = world.skein(&["import", "w", "--json"]).ok();
    assert_eq!(strings(&imported, "ignored"), ["secret.conf"]);
    let said = world.skein(&["import", "w"]).ok();
    assert!(said.out.contains("ignored by its own rule: secret.conf"), "{said:?}");
    world.skein(&["land", "w"]).ok();
    assert!(!world.path("secret.conf").exists());
    world.check();
}

#[test]
fn d24_nothing_to_land_is_no_landing() {
    let world = World::new();
    world.worker("w", "echo w > b.txt && git commit -qam w");
    world.skein(&["land", "w"]).ok();
    let tip = world.head();
    let again = world.skein(&["land", "w", "--json"]).ok();
    assert_eq!(again.json()["result"]["already"], true);
    assert_eq!(world.head(), tip);
    // A branch that is there already makes no merge either.
    world.git(["branch", "old", "main~1"]);
    let old = world.skein(&["land", "old"]);
    assert_eq!(world.head(), tip, "{old:?}");
    // Taken back, it is not there, and nothing says that it is.
    world.git(["revert", "--no-edit", "HEAD"]);
    let reverted = world.head();
    assert_eq!(
        world.skein(&["landed", "w", "--json"]).code(1).json()["result"]["verdict"]["presence"],
        "reverted"
    );
    for args in [&["land", "w"][..], &["land", "w", "--gate", "true"], &["land", "w", "--dry-run"]] {
        let refused = world.skein(args).refused("reverted", 1);
        assert!(refused.err.contains(&tip), "{}", refused.err);
    }
    assert_eq!(world.head(), reverted);
    // The way back that the refusal names.
    world.git(["revert", "--no-edit", "HEAD"]);
    assert_eq!(world.skein(&["land", "w", "--json"]).ok().json()["result"]["already"], true);
    // The same with a person's branch that was merged.
    world.git(["switch", "--quiet", "--create", "mine", "main~1"]);
    world.write("mine.txt", "mine\n");
    world.commit("mine");
    world.git(["switch", "--quiet", "main"]);
    world.skein(&["land", "mine"]).ok();
    world.git(["revert", "--no-edit", "-m", "1", "HEAD"]);
    world.skein(&["land", "mine"]).refused("reverted", 1);
    world.check();
}

#[test]
fn d35_line_ends_of_a_checkout_are_no_change() {
    let world = World::new();
    world.git(["config", "core.autocrlf", "true"]);
    fs::remove_file(world.path("a.txt")).unwrap();
    world.git(["checkout", "--", "a.txt"]);
    assert!(world.read("a.txt").contains("\r\n"));
    // Stat data that are out of date make git read the files again.
    for file in ["a.txt", "b.txt"] {
        let text = fs::read(world.path(file)).unwrap();
        fs::write(world.path(file), text).unwrap();
    }
    world.worker("w", "sed -i 's/line 5/five/' a.txt && git commit -qam w");
    world.skein(&["land", "w", "--exact"]).ok();
    assert_eq!(world.git(["status", "--porcelain"]), "");
    assert!(world.read("a.txt").contains("five\r\n"));
    assert!(!world.git(["show", "main:a.txt"]).contains('\r'));
    world.check();
}

#[test]
fn d36_filters_run_where_files_are_checked_out_and_nowhere_else() {
    let world = World::new();
    world.git(["config", "filter.shout.clean", "tr a-z A-Z"]);
    world.git(["config", "filter.shout.smudge", "tr A-Z a-z"]);
    world.write(".gitattributes", "*.shout filter=shout\n");
    world.write("x.shout", "hello\n");
    world.commit("shouting");
    assert_eq!(world.git(["show", "main:x.shout"]), "HELLO");
    world.worker("w", "echo goodbye > x.shout && git commit -qam w");
    world.skein(&["land", "w", "--exact"]).ok();
    assert_eq!(world.git(["show", "main:x.shout"]), "GOODBYE");
    assert_eq!(world.read("x.shout"), "goodbye\n");
    assert_eq!(world.git(["status", "--porcelain"]), "");
    world.check();
}

#[test]
fn d39_replaced_objects_change_nothing() {
    let world = World::new();
    let base = world.head();
    world.write("b.txt", "other\n");
    let other = world.commit("other");
    world.git(["reset", "--quiet", "--hard", &base]);
    world.git(["replace", &base, &other]);
    let dispatched = world.skein(&["dispatch", "--wait", "--name", "w", "w", "--", "sh", "-c",
        "GIT_NO_REPLACE_OBJECTS=1; export GIT_NO_REPLACE_OBJECTS; echo w > w.txt && git add w.txt && git commit -qm w"]);
    dispatched.ok();
    world.skein(&["land", "w"]).ok();
    world.git(["replace", "--delete", &base]);
    assert_eq!(world.git(["diff", "--name-status", &base, "main"]), "A\tw.txt");
    assert_eq!(world.rev("main~1"), base);
    world.skein(&["landed", "w"]).ok();
    world.check();
}

/// git runs a hook with variables that bind it to one repository and one index.
#[test]
fn d40_from_a_hook_of_a_linked_worktree() {
    let world = World::new();
    world.worker("w", "echo w > b.txt && git commit -qam w");
    let linked = world.root().join("linked");
    world.git(["worktree", "add", "--quiet", "-b", "mine", linked.to_str().unwrap()]);
    let hook = world.path(".git/hooks/post-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let skein = env!("CARGO_BIN_EXE_git-skein");
    let out = world.root().join("out");
    let text = format!(
        "#!/bin/sh\n{{ {skein} status --json && {skein} land w --json; }} > {} 2>&1\n",
        out.display()
    );
    fs::write(&hook, text).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(linked.join("mine.txt"), "mine\n").unwrap();
    let base = world.rev("main");
    world.git(["-C", linked.to_str().unwrap(), "add", "mine.txt"]);
    world.git(["-C", linked.to_str().unwrap(), "commit", "--quiet", "-m", "mine"]);
    let said = fs::read_to_string(out).unwrap();
    assert!(said.contains("\"handle\": \"w\""), "{said}");
    assert_eq!(world.rev("main~1"), base, "{said}");
    assert_eq!(world.read("b.txt"), "w\n", "{said}");
    for tree in [&world.repo, &linked] {
        assert_eq!(world.git(["-C", tree.to_str().unwrap(), "status", "--porcelain"]), "");
    }
    world.check();
}

/// A worker makes a repository of its own, with a program in its configuration, out of its worktree.
#[test]
fn d41_a_git_folder_of_the_workers_is_never_believed() {
    let world = World::new();
    let canary = world.root().join("canary");
    let poison = format!("touch {}", canary.display());
    let script = format!(
        "echo w > b.txt && git commit -qam w && rm .git && git init -q --template= . && \
         git config core.fsmonitor '{poison}; false' && git config core.hooksPath . && git config core.pager '{poison}' && \
         git config diff.external '{poison}' && git config filter.x.clean '{poison}; cat' && \
         echo '* filter=x diff=x' > .gitattributes && rm -f {}",
        canary.display()
    );
    world.worker("w", &script);
    let base = world.rev("main");
    for args in [
        &["status"][..],
        &["show", "w"],
        &["show", "w", "--diff"],
        &["import", "w", "--any-outcome"],
        &["import", "w", "--uncommitted", "--any-outcome"],
        &["land", "w", "--any-outcome", "--dry-run"],
        &["landed", "w"],
        &["reap", "w", "--yes"],
        &["doctor"],
    ] {
        let said = world.skein(args);
        assert!(!canary.exists(), "{args:?}: {said:?}");
        assert!(said.code != 101, "{said:?}");
    }
    assert_eq!(world.rev("main"), base);
    // What it had committed before is safe.
    let tip = world.field("w", "head").as_str().unwrap().to_owned();
    assert_eq!(world.git(["show", &format!("{tip}:b.txt")]), "w");
}

#[test]
fn d44_only_workers_are_ever_closed() {
    let world = World::new();
    world.worker("w", "echo w > b.txt && git commit -qam w");
    world.git(["switch", "--quiet", "--create", "dev"]);
    let refs = || world.git(["for-each-ref", "refs/heads", "refs/tags", "refs/remotes"]);
    let before = refs();
    for name in ["main", "refs/heads/main", "dev", "HEAD"] {
        world.skein(&["reap", name, "--yes"]).refused("no-such-worker", 1);
    }
    world.skein(&["reap", "w", "--include-unlanded", "--yes"]).ok();
    assert_eq!(refs(), before);
    assert!(world.path("a.txt").exists());
    world.check();
}
