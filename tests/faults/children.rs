//! The processes that a verb starts: git killed in the middle of its work, git that lives on after us, a
//! gate that does. A script in git's place plays them.

use crate::faults::scenes;
use crate::faults::state;
use crate::faults::sweep::clean;
use crate::matrix::knows_reftable;
use crate::support::World;
use crate::support::acts::group_runs;
use crate::support::acts::until;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;

/// Puts a script before git that runs `action` where the arguments hold `words`, and then git itself.
pub fn with_git(world: &World, command: &mut Command, words: &str, action: &str) {
    let dir = world.root().join("bin");
    git_in(&dir, words, action);
    let path = command.get_envs().find(|(k, _)| *k == "PATH").and_then(|(_, v)| v).unwrap();
    let path = format!("{}:{}", dir.display(), path.to_str().unwrap());
    command.env("PATH", path);
}

/// The script alone, as `git` in a folder that is to stand first in `PATH`.
pub fn git_in(dir: &Path, words: &str, action: &str) {
    fs::create_dir_all(dir).unwrap();
    let script = format!(
        "#!/bin/sh\nPATH=${{PATH#*:}}\ncase \" $* \" in *\" {words} \"*)\n{action}\n;; esac\nexec git \"$@\"\n"
    );
    fs::write(dir.join("git"), script).unwrap();
    fs::set_permissions(dir.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs a command in which git, called with `words`, does `action` and then dies together with the verb.
fn die_in_git(world: &World, args: &[&str], words: &str, action: &str) {
    let mut command = world.command(args);
    with_git(world, &mut command, words, &format!("{action}\nkill -9 $PPID\nkill -9 $$"));
    let ended = command.output().unwrap();
    assert_eq!(ended.status.code(), None, "{}", String::from_utf8_lossy(&ended.stderr));
}

/// `main` is checked out, and the worker changed, removed, added and linked files.
fn many_changes() -> World {
    let world = scenes::still();
    let work = "sed -i s/1/one/ a.txt && git rm -q b.txt && mkdir -p dir/sub && echo deep > dir/sub/deep.txt \
                && ln -s a.txt link && echo new > new.txt && git add -A && git commit -qm fixed";
    world.worker("fix", work);
    world.write("kept.txt", "dirty\n");
    world
}

/// git's `read-tree` writes file after file and the index last; it may die between any two.
#[test]
fn a_move_of_the_checkout_that_died_halfway_is_finished() {
    let world = many_changes();
    let whole = world.copy();
    whole.skein(&["land", "fix"]).ok();
    let want = state::of(&whole);
    let all = "git \"$@\"";
    for (at, action) in [
        "",
        "rm a.txt",
        ": > a.txt",
        "printf 'line o' > a.txt",
        "rm b.txt",
        "rm a.txt b.txt; : > new.txt",
        "mkdir dir",
        "mkdir -p dir/sub; printf de > dir/sub/deep.txt",
        "ln -s a.txt link",
        all,
        "git \"$@\"; rm a.txt; : > new.txt",
        "git \"$@\"; rm link; rm -r dir",
    ]
    .into_iter()
    .enumerate()
    {
        let world = world.copy();
        let lock = if action == all { "" } else { ": > \"$GIT_INDEX_FILE.lock\"" };
        die_in_git(&world, &["land", "fix"], "read-tree", &format!("{action}\n{lock}"));
        // A person who looks sees our lock; nobody's git may write that index meanwhile.
        assert!(world.path(".git/index.lock").exists(), "{action}");
        assert!(!world.try_git(["add", "kept.txt"]).status.success(), "{action}");
        clean(&world, at as u64);
        world.skein(&["land", "fix"]).ok();
        if let Some(difference) = state::differ(&want, &state::of(&world)) {
            panic!("{action}: {difference}");
        }
        world.check();
    }
}

/// The same, but before anybody looks the branch goes elsewhere: the move is taken back.
#[test]
fn a_move_that_died_halfway_is_taken_back_when_the_branch_went_elsewhere() {
    let world = many_changes();
    for action in ["rm a.txt; : > new.txt", "git \"$@\"; rm a.txt; : > new.txt"] {
        let world = world.copy();
        die_in_git(&world, &["land", "fix"], "read-tree", action);
        let tree = world.rev("main^{tree}");
        let other = world.git(["commit-tree", "-p", "main", "-m", "elsewhere", &tree]);
        world.git(["update-ref", "refs/heads/main", &other]);
        let said = world.skein(&["import", "fix"]).ok();
        assert!(said.err.contains("superseded"), "{}", said.err);
        assert_eq!(world.rev("main"), other);
        assert_eq!(world.git(["status", "--porcelain"]), " M kept.txt", "{action}");
        assert_eq!(world.read("b.txt"), "b\n");
        world.skein(&["land", "fix"]).ok();
        assert_eq!(world.rev("main^"), other);
        assert_eq!(world.git(["status", "--porcelain"]), " M kept.txt", "{action}");
        world.check();
    }
}

/// What a person wrote since the death is theirs, in whatever state the rest is.
#[test]
fn a_half_made_move_does_not_touch_what_was_written_since() {
    let world = many_changes();
    die_in_git(
        &world,
        &["land", "fix"],
        "read-tree",
        "rm b.txt; printf 'line o' > a.txt; echo new > new.txt",
    );
    world.write("a.txt", "mine\n");
    let main = world.rev("main");
    let refused = world.skein(&["land", "fix"]).refused("dirty-overlap", 1);
    assert!(refused.err.contains("left as they are") && refused.err.contains("a.txt"), "{}", refused.err);
    assert_eq!(world.read("a.txt"), "mine\n");
    assert_eq!(world.rev("main"), main);
    world.check();
    // The person puts things right with plain git, and goes on.
    world.git(["checkout", "--", "a.txt", "b.txt"]);
    fs::remove_file(world.path("new.txt")).unwrap();
    world.skein(&["land", "fix"]).ok();
    assert_eq!(world.git(["status", "--porcelain"]), " M kept.txt");
    world.check();
}

/// We are killed, git is not: it goes on with what we told it. Nobody else begins before it has ended.
#[test]
fn a_git_that_outlives_its_verb_is_waited_for() {
    let world = many_changes();
    let whole = world.copy();
    whole.skein(&["land", "fix"]).ok();
    let want = state::of(&whole);
    for words in ["read-tree", "update-ref"] {
        let world = world.copy();
        let mut command = world.command(&["land", "fix"]);
        // `cat` ends when we are dead, since then nobody holds the other end; only then git is told.
        let slow = "touch ../begun; cat > ../told; sleep 1; git \"$@\" < ../told; touch ../ended; exit";
        with_git(&world, &mut command, words, slow);
        let mut verb = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        if words == "update-ref" {
            until("git to begin", || world.root().join("begun").exists());
            std::thread::sleep(Duration::from_millis(200));
        } else {
            until("git to begin", || world.root().join("begun").exists());
        }
        verb.kill().unwrap();
        verb.wait().unwrap();
        assert!(!world.root().join("ended").exists(), "{words}");
        world.skein(&["land", "fix"]).ok();
        assert!(world.root().join("ended").exists(), "{words}: it did not wait");
        if let Some(difference) = state::differ(&want, &state::of(&world)) {
            panic!("{words}: {difference}");
        }
        world.check();
    }
}

/// A gate is not left running by a verb that was killed, nor is what it had started.
#[test]
fn a_gate_ends_with_its_verb() {
    let world = scenes::ready();
    let gate = "echo $$ > $OUT/pid; sleep 600 & echo $! > $OUT/child; wait";
    let mut command = world.command(&["land", "fix", "--gate", gate]);
    let mut verb = command.env("OUT", world.root()).stderr(Stdio::null()).spawn().unwrap();
    let number = |name: &str| fs::read_to_string(world.root().join(name)).unwrap_or_default();
    until("the gate to run", || number("child").ends_with('\n'));
    let lives = |name: &str| {
        let stat = fs::read_to_string(format!("/proc/{}/stat", number(name).trim())).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z")
    };
    assert!(lives("pid") && lives("child"));
    verb.kill().unwrap();
    verb.wait().unwrap();
    until("the gate to end", || !lives("pid"));
    world.skein(&["land", "fix"]).ok();
    assert!(!lives("child"));
    let left: Vec<String> = state::of(&world).into_keys().filter(|key| key.starts_with("left ")).collect();
    assert!(left.is_empty(), "{left:?}");
    world.check();
}

/// `git worktree add` makes its folders one after the other; each half of it is found and removed.
#[test]
fn a_half_made_worktree_is_removed() {
    let world = scenes::still();
    world.skein(&["init"]).ok();
    let find = "for arg; do case $arg in --git-dir=*) dir=${arg#*=};; esac; done
        while [ \"$1\" != --reason ]; do shift; done
        reason=$2 path=$4 admin=$dir/worktrees/fix\n";
    let dispatch = ["dispatch", "--wait", "--name", "fix", "fix it", "--", "sh", "-c", scenes::WORK];
    let steps = [
        "mkdir -p \"$path\"",
        "mkdir -p \"$admin\"",
        "printf %s \"$reason\" > \"$admin/locked\"",
        "echo \"$path/.git\" > \"$admin/gitdir\"",
        "echo \"gitdir: $admin\" > \"$path/.git\"",
        "echo ../.. > \"$admin/commondir\"",
    ];
    for done in 0..=steps.len() {
        let world = world.copy();
        let action = format!("{find}{}", steps[..done].join("\n"));
        die_in_git(&world, &dispatch, "worktree add", &action);
        clean(&world, done as u64);
        world.skein(&dispatch).ok();
        let workers = world.skein(&["status", "--json"]).ok().json();
        let workers = workers["result"]["workers"].as_array().unwrap().clone();
        assert_eq!(workers.len(), 1, "after {done} steps");
        assert_eq!(workers[0]["handle"], "fix");
        assert_eq!(workers[0]["outcome"], "ready");
        let folders: Vec<_> = world.below("repo.skein");
        assert_eq!(folders, [world.root().join("repo.skein/fix")]);
        // Only what git had made before it said whose it is may stay, and it is git's to remove.
        let admins = fs::read_dir(world.path(".git/worktrees")).unwrap().count();
        assert!(admins == 1 || done == 2, "after {done} steps: {admins}");
        world.check();
    }
}

/// In a copy of a repository its workers are dead; those of the original are not.
#[test]
fn a_copied_repository_ends_no_agent_of_the_original() {
    let world = scenes::still();
    scenes::running(&world);
    let copy = world.copy();
    copy.skein(&["stop", "fix"]).ok();
    assert_eq!(copy.field("fix", "outcome"), "failed");
    assert_eq!(world.field("fix", "liveness"), "live");
    world.skein(&["stop", "fix"]).ok();
    assert_eq!(world.field("fix", "outcome"), "stopped");
    assert_eq!(world.field("fix", "reason"), "stopped by a person");
}

/// The kernel, a signal to the whole group or a lost session takes git too, in the middle of a transaction. The locks
/// that it leaves are ours, and provably so.
#[test]
fn locks_of_a_git_that_died_with_its_verb_are_cleared_away() {
    let world = many_changes();
    let whole = world.copy();
    whole.skein(&["land", "fix"]).ok();
    let want = state::of(&whole);
    // The intent on the lane, and the move of the trunk.
    for (nth, part) in [(1, "refs/skein/lane"), (2, "refs/heads")] {
        let world = world.copy();
        let mut command = world.command(&["land", "fix"]);
        let sed = format!("/^commit$/{{x;s/^/x/;/^x\\{{{nth}\\}}$/{{x;d;}};x;}}");
        with_git(&world, &mut command, "update-ref", &format!("sed -uz '{sed}' | git \"$@\"; exit"));
        let mut verb = command.process_group(0).stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let lock = || -> Option<PathBuf> {
            let found = fs::read_dir(world.path(&format!(".git/{part}"))).ok()?.flatten().map(|e| e.path());
            let mut locks = found.filter(|p| p.extension().is_some_and(|e| e == "lock"));
            locks.find(|p| fs::read(p).is_ok_and(|held| !held.is_empty()))
        };
        until("git to be prepared", || lock().is_some());
        let lock = lock().unwrap();
        let kill = std::process::Command::new("kill").args(["-9", "--", &format!("-{}", verb.id())]).status();
        assert!(kill.unwrap().success());
        verb.wait().unwrap();
        until("all of them to end", || !group_runs(&verb.id().to_string()));
        assert!(lock.exists(), "{part}");
        // Somebody else's stays.
        fs::write(world.path(".git/refs/heads/theirs.lock"), "").unwrap();
        let said = world.skein(&["land", "fix"]).ok();
        assert!(said.err.contains(lock.to_str().unwrap()), "{said:?}");
        assert!(!lock.exists(), "{part}");
        fs::remove_file(world.path(".git/refs/heads/theirs.lock")).unwrap();
        if let Some(difference) = state::differ(&want, &state::of(&world)) {
            panic!("{part}: {difference}");
        }
        let notes = fs::read_dir(world.path(".git/skein/run")).unwrap().flatten();
        assert!(!notes.into_iter().any(|e| e.file_name().to_str().unwrap().starts_with("refs-")), "{part}");
        world.check();
    }
}

/// Kills `args` and its git, which has prepared a transaction and noted `lock`, which it holds; `sed` says of what it
/// hears which commit it does not.
fn die_prepared(world: &World, args: &[&str], sed: &str, lock: &str) {
    let mut command = world.command(args);
    with_git(world, &mut command, "update-ref", &format!("sed -uz '{sed}' | git \"$@\"; exit"));
    let mut verb = command.process_group(0).stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let noted = || {
        let notes = fs::read_dir(world.path(".git/skein/run")).unwrap().flatten();
        let mut notes = notes.filter(|e| e.file_name().to_str().unwrap().starts_with("refs-"));
        let holds = |text: String| text.lines().any(|l| l.starts_with("held ") && l.ends_with(lock));
        notes.any(|e| fs::read_to_string(e.path()).is_ok_and(holds)) && world.path(".git").join(lock).exists()
    };
    until("git to be prepared", noted);
    // Told to commit, it does not hear it.
    std::thread::sleep(Duration::from_millis(100));
    let kill = Command::new("kill").args(["-9", "--", &format!("-{}", verb.id())]).status();
    assert!(kill.unwrap().success());
    verb.wait().unwrap();
    until("all of them to end", || !group_runs(&verb.id().to_string()));
    assert!(world.path(".git").join(lock).exists());
}

/// The locks of a deletion hold nothing, and that of all packed refs is everybody's. They are known by the file.
#[test]
fn locks_of_deletions_are_cleared_away() {
    let world = many_changes();
    world.skein(&["land", "fix"]).ok();
    world.git(["pack-refs", "--all"]);
    let reap = ["reap", "fix", "--yes"];
    let whole = world.copy();
    whole.skein(&reap).ok();
    let id = world.ulid("fix");
    let locks = [format!("refs/skein/worker/{id}.lock"), "packed-refs.lock".to_owned()];
    let there = |world: &World| locks.iter().filter(|l| world.path(".git").join(l).exists()).count();
    let died = world.copy();
    let sed = format!("\\,^update refs/skein/worker/{id}$,h;/^commit$/{{x;/./d;x;}}");
    die_prepared(&died, &reap, &sed, &locks[0]);
    assert_eq!(there(&died), 2);
    assert!(died.path(".git/packed-refs.new").exists());
    // Not the files that were noted, but as empty, of the same names and in the same place.
    let theirs = died.copy();
    let refused = theirs.skein(&reap).refused("ref-locked", 75);
    assert!(locks.iter().all(|lock| refused.err.contains(lock)), "{}", refused.err);
    assert!(refused.err.contains("if nobody does, remove them"), "{}", refused.err);
    assert_eq!(there(&theirs), 2);

    let said = died.skein(&reap).ok();
    assert!(locks.iter().all(|lock| said.err.contains(lock)), "{said:?}");
    assert_eq!(there(&died), 0);
    assert!(!died.path(".git/packed-refs.new").exists());
    assert_eq!(died.git(["for-each-ref", "refs/skein/worker"]), "");
    if let Some(difference) = state::differ(&state::of(&whole), &state::of(&died)) {
        panic!("{difference}");
    }
    died.check();
}

#[test]
fn the_lock_of_reftables_is_cleared_away() {
    let git = std::env::var("SKEIN_TEST_GIT").unwrap_or_else(|_| "git".to_owned());
    if !knows_reftable(&git) {
        return;
    }
    let world = World::with_formats(&["--ref-format=reftable"]);
    world.worker("fix", scenes::WORK);
    let lock = "reftable/tables.list.lock";
    // The intent of a landing, and the move of the trunk.
    for nth in [1, 2] {
        let died = world.copy();
        let sed = format!("/^commit$/{{x;s/^/x/;/^x\\{{{nth}\\}}$/{{x;d;}};x;}}");
        die_prepared(&died, &["land", "fix"], &sed, lock);
        let said = died.skein(&["land", "fix"]).ok();
        assert!(said.err.contains(lock), "{said:?}");
        assert!(!died.path(".git").join(lock).exists());
        assert_eq!(died.git(["rev-list", "--count", "main"]), "2");
        died.check();
    }
    // One that nobody noted is somebody's.
    fs::write(world.path(".git").join(lock), "").unwrap();
    let refused = world.skein(&["land", "fix"]).refused("ref-locked", 75);
    assert!(refused.err.contains(lock), "{}", refused.err);
    assert!(world.path(".git").join(lock).exists());
}

/// What a dead process noted proves nothing where somebody else has the lock by now.
#[test]
fn a_lock_with_another_value_is_somebody_elses() {
    let world = many_changes();
    let head = world.head();
    fs::write(world.path(".git/skein/run/refs-1-0"), format!("edit {head} - refs/heads/new\n")).unwrap();
    let lock = world.path(".git/refs/heads/new.lock");
    for held in ["", "0123456789012345678901234567890123456789\n"] {
        fs::write(&lock, held).unwrap();
        fs::write(world.path(".git/skein/run/refs-1-0"), format!("edit {head} - refs/heads/new\n")).unwrap();
        world.skein(&["import", "fix"]).ok();
        assert_eq!(fs::read_to_string(&lock).unwrap(), held);
    }
    // Whoever holds the note lives.
    fs::write(&lock, format!("{head}\n")).unwrap();
    fs::write(world.path(".git/skein/run/refs-1-0"), format!("edit {head} - refs/heads/new\n")).unwrap();
    let note = fs::File::open(world.path(".git/skein/run/refs-1-0")).unwrap();
    note.lock().unwrap();
    world.skein(&["import", "fix"]).ok();
    assert!(lock.exists());
    drop(note);
    world.skein(&["import", "fix"]).ok();
    assert!(!lock.exists() && !world.path(".git/skein/run/refs-1-0").exists());
}

/// Who may write there may put anything there: it says nothing, and keeps no verb from its work.
#[test]
fn a_note_that_nobody_of_ours_wrote_says_nothing() {
    let world = many_changes();
    let head = world.head();
    let notes = world.path(".git/skein/run");
    let lock = world.path(".git/refs/heads/new.lock");
    fs::write(&lock, format!("{head}\n")).unwrap();
    let line = format!("edit {head} - refs/heads/new\n");
    fs::write(notes.join("refs-1-0"), [b"edit \xff\xfe\n\0\0\n", line.as_bytes()].concat()).unwrap();
    fs::create_dir(notes.join("refs-1-1")).unwrap();
    let pipe = notes.join("refs-1-2");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut import = crate::proof::strace::bounded(&world.command(&["import", "fix"]));
    crate::support::ran(import.output().unwrap()).ok();
    assert!(!lock.exists(), "what is a line of ours is one, whatever stands beside it");
    world.check();
}

/// A dead process moved one of two refs. Whoever clears up may die as well, after noting that and before the lock goes.
#[test]
fn what_is_done_in_part_is_done_to_its_end() {
    let world = many_changes();
    let head = world.head();
    let note = world.path(".git/skein/run/refs-1-0");
    let lock = world.path(".git/refs/heads/two.lock");
    world.git(["branch", "one"]);
    for (said, locked) in [("", true), ("half\n", true), ("half\n", false)] {
        let edits = ["one", "two"].map(|name| format!("edit {head} - refs/heads/{name}\n"));
        fs::write(&note, edits.concat() + said).unwrap();
        if locked {
            fs::write(&lock, format!("{head}\n")).unwrap();
        }
        world.skein(&["import", "fix"]).ok();
        assert_eq!(world.rev("two"), head, "{said:?}, locked: {locked}");
        assert!(!lock.exists() && !note.exists(), "{said:?}, locked: {locked}");
        world.git(["branch", "-D", "two"]);
    }
    // Nothing of it was done, so nothing is.
    world.git(["branch", "-D", "one"]);
    fs::write(&note, format!("edit {head} - refs/heads/one\nedit {head} - refs/heads/two\n")).unwrap();
    fs::write(&lock, format!("{head}\n")).unwrap();
    world.skein(&["import", "fix"]).ok();
    assert!(!lock.exists() && !note.exists());
    assert_eq!(world.git(["for-each-ref", "refs/heads/one", "refs/heads/two"]), "");
}
