//! Cases that plain git gets wrong or lets happen, each with the answer that must be given here. Where it
//! helps, a test first shows what git itself does.

mod landed;
mod many;

use crate::support::World;
use std::fs;
use std::path::Path;

#[test]
fn x08_a_checkout_elsewhere_moves_with_its_branch() {
    let world = World::new();
    let base = world.head();
    world.worker("w", "echo two > b.txt && echo new > new.txt && git add -A && git commit -qm w");
    world.git(["checkout", "--quiet", "--detach"]);
    let linked = world.root().join("linked");
    let linked = linked.to_str().unwrap();
    world.git(["worktree", "add", "--quiet", linked, "main"]);
    let status = || world.git(["-C", linked, "status", "--porcelain"]);

    let tip = world.field("w", "head").as_str().unwrap().to_owned();
    world.git(["update-ref", "refs/heads/main", &tip]);
    assert!(status().contains("D  new.txt"), "git stages the revert: {}", status());
    world.git(["update-ref", "refs/heads/main", &base]);
    assert_eq!(status(), "");

    world.skein(&["land", "w"]).ok();
    assert_eq!(status(), "");
    assert_eq!(fs::read_to_string(Path::new(linked).join("new.txt")).unwrap(), "new\n");
    assert_eq!(world.head(), base, "the detached checkout stays");
    world.check();
}

#[test]
fn x09_what_push_refuses_land_does() {
    let world = World::new();
    world.worker("w", "echo w > b.txt && git commit -qam w; git push -q . HEAD:main && exit 9; exit 0");
    assert_eq!(world.field("w", "outcome"), "ready");
    let log = world.skein(&["show", "w", "--log"]).ok().out;
    assert!(log.contains("refusing to update checked out branch"), "{log}");
    world.skein(&["land", "w"]).ok();
    assert_eq!((world.read("b.txt").as_str(), world.git(["status", "--porcelain"]).as_str()), ("w\n", ""));
    world.check();
}

#[test]
fn x10_the_second_of_two_landers_is_told_both_oids() {
    let world = World::new();
    let base = world.head();
    for name in ["one", "two"] {
        world.worker(name, &format!("echo {name} > {name} && git add {name} && git commit -qm {name}"));
        world.skein(&["candidate", "create", name]).ok();
        world.skein(&["candidate", "admit", name, "--gate", "true"]).ok();
    }
    world.skein(&["candidate", "integrate", "one"]).ok();
    let moved = world.rev("main");
    let lost = world.skein(&["candidate", "integrate", "two"]).refused("candidate-stale", 4);
    assert!(lost.err.contains(&base) && lost.err.contains(&moved), "{}", lost.err);
    assert_eq!(world.rev("main"), moved);
    world.skein(&["candidate", "create", "two", "--supersede"]).ok();
    world.skein(&["candidate", "admit", "two", "--gate", "true"]).ok();
    world.skein(&["candidate", "integrate", "two"]).ok();
    assert_eq!(world.rev("main^"), moved);
    assert_eq!(world.local_refs("candidate"), Vec::<String>::new());
    world.check();
}

/// Removes the worktree of `worker` as hard as git can, and then everything that no ref keeps.
fn wipe(world: &World, worker: &str) {
    let path = world.worktree(worker);
    world.git(["worktree", "remove", "-f", "-f", path.to_str().unwrap()]);
    world.collect_garbage();
    assert!(!path.exists());
}

#[test]
fn x11_a_removed_worktree_takes_no_commit_with_it() {
    let world = World::new();
    let plain = world.root().join("plain");
    let plain = plain.to_str().unwrap();
    world.git(["worktree", "add", "--quiet", "--detach", plain]);
    fs::write(Path::new(plain).join("b.txt"), "plain\n").unwrap();
    world.git(["-C", plain, "commit", "--quiet", "-am", "plain"]);
    let lost = world.git(["-C", plain, "rev-parse", "HEAD"]);
    world.git(["worktree", "remove", plain]);
    world.collect_garbage();
    assert!(!world.exists(&lost), "git keeps what nothing names");

    world.worker("w", "echo w > b.txt && git commit -qam w");
    let kept = world.field("w", "head").as_str().unwrap().to_owned();
    let path = world.worktree("w");
    let refused = world.try_git(["worktree", "remove", path.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("locked"), "{refused:?}");
    assert_eq!((refused.status.code(), path.exists()), (Some(128), true));
    wipe(&world, "w");
    assert!(world.reachable(&kept));
    world.skein(&["land", "w"]).ok();
    assert_eq!(world.read("b.txt"), "w\n");
    world.check();
}

#[test]
fn x12_ignored_files_keep_their_worktree() {
    let world = World::new();
    let plain = world.root().join("plain");
    let plain = plain.to_str().unwrap();
    world.git(["worktree", "add", "--quiet", "--detach", plain]);
    fs::write(Path::new(plain).join("secret.ign"), "only here\n").unwrap();
    world.git(["worktree", "remove", plain]);
    assert!(!Path::new(plain).exists(), "git asks nobody about ignored files");

    world.worker("w", "echo 'only here' > secret.ign");
    let path = world.worktree("w");
    let refused = world.try_git(["worktree", "remove", path.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(128), "{refused:?}");
    assert_eq!(fs::read_to_string(path.join("secret.ign")).unwrap(), "only here\n");
    // Ignored files are no work that could land, and no snapshot publishes them.
    world.skein(&["land", "w"]).refused("empty", 1);
    assert_eq!(world.local_refs("wip"), Vec::<String>::new());
}

#[test]
fn x13_a_worktree_with_a_submodule_is_no_special_case() {
    let world = World::new();
    let library = world.root().join("library");
    let library = library.to_str().unwrap();
    world.git(["init", "--quiet", "--template=", "--initial-branch=main", library]);
    world.git([
        "-C",
        library,
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@b",
        "commit",
        "-qm1",
        "--allow-empty",
    ]);
    let allow = "protocol.file.allow=always";
    world.git(["-c", allow, "submodule", "--quiet", "add", library, "sub"]);
    world.commit("with a submodule");
    let script = format!(
        "git -c {allow} submodule --quiet update --init && echo w > b.txt && git commit -qam w && cat sub/.git"
    );
    world.worker("w", &script);
    assert_eq!(world.field("w", "outcome"), "ready");
    let path = world.worktree("w");
    assert!(path.join("sub/.git").is_file(), "the submodule is initialised");
    let refused = world.try_git(["worktree", "remove", path.to_str().unwrap()]);
    assert_eq!((refused.status.code(), path.exists()), (Some(128), true));
    let kept = world.field("w", "head").as_str().unwrap().to_owned();
    wipe(&world, "w");
    assert!(world.reachable(&kept));
    world.skein(&["land", "w", "--exact"]).ok();
    assert_eq!(world.git(["diff", "--name-only", "main~", "main"]), "b.txt");
}

#[test]
fn a_printed_command_can_be_pasted_whatever_the_folder_is_called() {
    let world = World::new();
    world.git(["branch", "side"]);
    let folder = world.root().join("it's a");
    world.git(["worktree", "add", "-q", folder.to_str().unwrap(), "side"]);
    let script = "echo w >n && git add n && git commit -qm n";
    let to = ["dispatch", "--wait", "--name", "w", "--onto", "side", "w", "--", "sh", "-c", script];
    world.skein(&to).ok();
    fs::write(folder.join("n"), "").unwrap();
    let refused = world.skein(&["land", "w"]).code(1);
    let see = refused.shown();
    let pasted = std::process::Command::new("sh").args(["-c", see]).output().unwrap();
    assert!(see.contains("git -C '") && pasted.status.success(), "{see}: {pasted:?}");
}

#[test]
fn x15_a_stale_index_lock_is_named_and_never_removed() {
    let world = World::new();
    world.worker("w", "echo w > b.txt && git commit -qam w");
    let base = world.head();
    world.write(".git/index.lock", "");
    let before = world.picture(&[]);
    let refused = world.skein(&["land", "w"]).refused("index-locked", 75);
    assert!(refused.err.contains(".git/index.lock"), "{}", refused.err);
    assert_eq!(world.rev("main"), base);
    assert_eq!(world.picture(&[]), before);
    assert!(world.path(".git/index.lock").exists());
    fs::remove_file(world.path(".git/index.lock")).unwrap();
    world.skein(&["land", "w"]).ok();
    assert_eq!(world.read("b.txt"), "w\n");
    world.check();
}

#[test]
fn x16_git_clean_cannot_reach_a_worktree() {
    let world = World::new();
    world.git(["worktree", "add", "--quiet", "--detach", "nested"]);
    world.git(["clean", "-ffdxq"]);
    assert!(!world.path("nested").exists(), "git clean takes nested worktrees");
    world.git(["worktree", "prune"]);

    world.worker("w", "echo w > b.txt; echo i > some.ign");
    let path = world.worktree("w");
    assert!(!path.starts_with(&world.repo));
    world.git(["clean", "-ffdxq"]);
    assert_eq!(fs::read_to_string(path.join("b.txt")).unwrap(), "w\n");
    assert!(path.join("some.ign").exists());
    for inside in [".", "work/trees", ".git/trees"] {
        world.git(["config", "skein.worktreeDir", inside]);
        world.skein(&["dispatch", "--name", "in", "t", "--", "true"]).refused("worktree-inside", 1);
    }
    world.git(["config", "skein.worktreeDir", "../elsewhere"]);
    world.worker("out", "echo out > b.txt");
    assert_eq!(world.worktree("out"), world.root().join("elsewhere/out"));
}

/// `git clean -ffd` of the outer repository takes what it does not track, worktrees too.
#[test]
fn a_repository_inside_another_is_told_where_its_worktrees_are_safe() {
    let world = World::new();
    world.git(["init", "-q", "-b", "main", ".."]);
    let told = world.skein(&["dispatch", "--wait", "--name", "in", "T", "--", "true"]).ok();
    let next = told.err.lines().find_map(|line| line.split_once("skein.worktreeDir ")).unwrap().1;
    assert_eq!(next, format!("{}-repo.skein", world.root().display()));
    fs::write(world.root().join(".git/info/exclude"), "*.skein/\n").unwrap();
    world.worker("ignored", "echo out > b.txt");
    world.git(["-C", "..", "clean", "-ffdq", "-e", "repo"]);
    assert!(world.worktree("ignored").join("b.txt").exists());
    fs::write(world.root().join(".git/info/exclude"), "").unwrap();
    world.git(["config", "skein.worktreeDir", next]);
    world.worker("out", "echo out > b.txt");
    assert_eq!(world.worktree("out"), Path::new(next).join("out"));
    fs::remove_dir_all(next).unwrap();
}

#[test]
fn x17_work_stashed_by_one_worker_is_kept_and_cannot_land_as_anothers() {
    let world = World::new();
    world.worker("one", "echo mine > b.txt && git stash -q");
    let stashed = world.rev("refs/stash");
    assert_eq!(world.field("one", "outcome"), "failed");
    assert!(world.field("one", "outside").to_string().contains("stash"));
    world.worker("two", "git stash pop -q && git commit -qam 'as if mine'");
    assert!(world.try_git(["rev-parse", "--verify", "-q", "refs/stash"]).stdout.is_empty());
    world.collect_garbage();
    assert!(world.reachable(&stashed), "the one that made it keeps it");
    assert_eq!(world.git(["show", &format!("{stashed}:b.txt")]), "mine");
    let refused = world.skein(&["land", "two"]).refused("outside-changed", 1);
    assert!(refused.err.contains("stash"), "{}", refused.err);
    assert_eq!(world.read("b.txt"), "b\n");
    world.check();
}

#[test]
fn x19_dirty_files_elsewhere_survive_and_those_in_the_way_are_named() {
    let world = World::new();
    world.worker("w", "echo w > b.txt && git commit -qam w");
    world.write("a.txt", "mine, not staged\n");
    world.write("staged.txt", "mine, staged\n");
    world.git(["add", "staged.txt"]);
    let mine = "A  staged.txt";
    world.write("b.txt", "mine too\n");
    let (before, base) = (world.picture(&[]), world.head());
    let refused = world.skein(&["land", "w"]).refused("dirty-overlap", 1);
    assert!(refused.err.contains("b.txt") && !refused.err.contains("a.txt"), "{}", refused.err);
    assert_eq!((world.picture(&[]), world.head()), (before, base));

    // Back to the committed bytes with another time of change: touched, but not changed.
    world.write("b.txt", "b\n");
    world.skein(&["land", "w"]).ok();
    assert_eq!(world.read("b.txt"), "w\n");
    assert_eq!(world.read("a.txt"), "mine, not staged\n");
    let status = world.git(["status", "--porcelain"]);
    assert!(status.contains(mine) && status.contains(" M a.txt") && status.lines().count() == 2, "{status}");
    world.check();
}

#[test]
fn x20_a_worktree_deleted_by_hand_loses_nothing() {
    let world = World::new();
    world.worker("w", "echo w > b.txt && git commit -qam w && echo more > more.txt");
    let kept = world.field("w", "head").as_str().unwrap().to_owned();
    let snapshot = world.field("w", "snapshot").as_str().unwrap().to_owned();
    let path = world.worktree("w");
    fs::remove_dir_all(&path).unwrap();
    world.git(["worktree", "prune", "--expire=now"]);
    world.git(["worktree", "unlock", path.to_str().unwrap()]);
    world.git(["worktree", "prune", "--expire=now"]);
    assert_eq!(world.lines(&["worktree", "list"]).len(), 1);
    world.collect_garbage();
    assert!(world.reachable(&kept) && world.reachable(&snapshot));
    assert_eq!(world.git(["show", &format!("{snapshot}:more.txt")]), "more");
    let card = world.skein(&["show", "w"]).ok();
    assert!(card.out.contains("gone"), "{}", card.out);
    world.skein(&["land", "w"]).ok();
    assert_eq!(world.read("b.txt"), "w\n");
    world.check();
}

/// The variables that bind a process to one repository, by git's own list.
fn local_env_vars(world: &World) -> Vec<String> {
    let names = world.lines(&["rev-parse", "--local-env-vars"]);
    assert!(names.len() > 10, "{names:?}");
    names
}

#[test]
fn x18_agents_and_gates_are_bound_to_no_repository() {
    let world = World::new();
    let other = World::new();
    let names = local_env_vars(&world);
    let dump = |name: &str| {
        let out = world.root().join(name).display().to_string();
        format!("env -0 | tr '\\0\\n' '\\n ' | cut -d= -f1 > {out}")
    };
    // A re-initialisation with an inherited GIT_DIR makes a repository bare: here nothing is inherited.
    let config = world.root().join("config");
    let agent = format!(
        "{}; git config --get-regexp maintenance >{}; \
         git init -q --template= && echo w > b.txt && git commit -qam w",
        dump("agent"),
        config.display()
    );
    let gate = dump("gate");
    let elsewhere = [
        ("GIT_DIR", world.path(".git")),
        ("GIT_WORK_TREE", world.repo.clone()),
        ("GIT_COMMON_DIR", world.path(".git")),
        ("GIT_INDEX_FILE", other.path(".git/index")),
        ("GIT_OBJECT_DIRECTORY", other.path(".git/objects")),
        ("GIT_PREFIX", "a/".into()),
        ("GIT_CONFIG_PARAMETERS", "'user.name'='Somebody'".into()),
        ("GIT_CONFIG_COUNT", "1".into()),
        ("GIT_CONFIG_KEY_0", "core.bare".into()),
        ("GIT_CONFIG_VALUE_0", "true".into()),
    ];
    let (before, before_other) = (world.picture(&["main"]), other.picture(&[]));
    let run = |args: &[&str]| {
        let output = world.command(args).envs(elsewhere.iter().cloned()).output().unwrap();
        crate::support::ran(output).ok()
    };
    run(&["dispatch", "--wait", "--name", "w", "w", "--", "sh", "-c", &agent]);
    assert_eq!(world.picture(&["main"]), before);
    run(&["land", "w", "--gate", &gate]);
    assert_eq!(other.picture(&[]), before_other);
    assert_eq!(world.read("b.txt"), "w\n");
    assert_eq!(world.git(["status", "--porcelain"]), "");
    assert_eq!(world.git(["config", "core.bare"]), "false");
    for who in ["agent", "gate"] {
        let seen = fs::read_to_string(world.root().join(who)).unwrap();
        let seen: Vec<&str> = seen.lines().collect();
        assert!(seen.contains(&"PATH"), "{who}: {seen:?}");
        let bound = |n: &&str| names.iter().any(|l| l == n) || n.starts_with("GIT_CONFIG_KEY");
        let leaked: Vec<&str> = seen.iter().filter(|n| bound(n)).copied().collect();
        let own: &[&str] = if who == "agent" { &["GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0"] } else { &[] };
        assert_eq!(leaked, own, "{who}");
    }
    assert_eq!(fs::read_to_string(config).unwrap(), "maintenance.auto false\n");
    world.check();
}

#[test]
fn x22_a_foreign_git_dir_is_honoured_and_a_foreign_index_never_written() {
    let here = World::new();
    let there = World::new();
    for world in [&here, &there] {
        world.worker("w", "echo w > b.txt && git commit -qam w");
        world.write("staged.txt", "staged\n");
        world.git(["add", "staged.txt"]);
    }
    let run = |envs: &[(&str, std::path::PathBuf)], args: &[&str]| {
        let output = here.command(args).envs(envs.iter().cloned()).output().unwrap();
        crate::support::ran(output).ok()
    };
    // GIT_DIR says which repository is meant, as it does for git.
    let (here_before, there_tip) = (here.picture(&[]), there.rev("main"));
    run(&[("GIT_DIR", there.path(".git"))], &["land", "w"]);
    assert_eq!(here.picture(&[]), here_before);
    assert_eq!(there.rev("main^"), there_tip);
    assert_eq!(there.git(["status", "--porcelain"]), "A  staged.txt");
    assert_eq!(there.read("b.txt"), "w\n");
    // An index alone says nothing about the repository; the one of another is not touched.
    let (there_before, here_tip) = (there.picture(&[]), here.rev("main"));
    run(&[("GIT_INDEX_FILE", there.path(".git/index"))], &["land", "w"]);
    assert_eq!(there.picture(&[]), there_before);
    assert_eq!(here.rev("main^"), here_tip);
    assert_eq!(here.git(["status", "--porcelain"]), "A  staged.txt");
    here.check();
    there.check();
}

#[test]
fn x23_notes_of_landings_at_once_are_all_kept() {
    let world = World::new();
    world.worker("w", "for i in 1 2 3; do echo $i > f$i && git add f$i && git commit -qm $i; done");
    let names: Vec<String> = (1..=8).map(|i| format!("t{i}")).collect();
    for name in &names {
        world.git(["branch", name]);
    }
    let land: Vec<Vec<&str>> = names.iter().map(|n| vec!["land", "w", "--onto", n.as_str()]).collect();
    for ran in world.at_once(&land) {
        ran.ok();
    }
    let noted = world.lines(&["notes", "--ref=skein/landed", "list"]);
    assert_eq!(noted.len(), 8 * 3, "{noted:?}");
    for name in &names {
        let log = ["log", "-3", "--notes=skein/landed", "--format=%N", name];
        assert_eq!(world.git(log).matches(&world.ulid("w")).count(), 3, "{name}");
    }
    world.check();
}

#[test]
fn x38_help_is_found_where_git_looks_for_it() {
    let world = World::new();
    let pages = world.root().join("share/man/man1");
    world.skein(&["man", pages.to_str().unwrap()]).ok();
    let mut verbs = 0;
    for entry in fs::read_dir(&pages).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&path).unwrap();
        let title = text.lines().find(|l| l.starts_with(".TH ")).unwrap_or_default();
        assert!(title.starts_with(&format!(".TH {name} 1 ")), "{name}: {title:?}");
        assert!(text.contains("\n.SH NAME\n"), "{name}");
        verbs += 1;
    }
    assert!(verbs > 10 && pages.join("git-skein.1").is_file() && pages.join("git-skein-land.1").is_file());
    let binary = Path::new(env!("CARGO_BIN_EXE_git-skein")).parent().unwrap().display().to_string();
    let path = format!("{binary}:{}", std::env::var("PATH").unwrap());
    let run = |program: &str, args: &[&str]| {
        let mut command = std::process::Command::new(program);
        command.args(args).current_dir(&world.repo).env_clear().env("PATH", &path).env("LC_ALL", "C");
        command.env("HOME", world.root().join("home")).env("MANPATH", world.root().join("share/man"));
        command.env("MANPAGER", "cat").output()
    };
    if run("man", &["--version"]).is_ok_and(|o| o.status.success()) {
        let help = run("git", &["skein", "--help"]).unwrap();
        let text = String::from_utf8_lossy(&help.stdout).into_owned();
        assert!(help.status.success() && text.contains("dispatch"), "{help:?}");
        for page in ["git-skein", "git-skein-dispatch"] {
            let shown = run("man", &["--warnings", "-l", pages.join(format!("{page}.1")).to_str().unwrap()]);
            let shown = shown.unwrap();
            assert!(shown.status.success() && shown.stderr.is_empty(), "{shown:?}");
        }
    }
    // Without a folder they go where man looks for a person's own.
    world.skein(&["man"]).ok();
    assert!(world.root().join("home/.local/share/man/man1/git-skein.1").is_file());
}
