//! Notes follow landed commits, and work that was merged by hand is known.

use crate::hooks::guarded;
use crate::support::World;

const NOTES: &str = "refs/notes/skein/landed";

fn note(world: &World, rev: &str) -> String {
    let shown = world.try_git(["notes", "--ref", NOTES, "show", rev]);
    String::from_utf8_lossy(&shown.stdout).into_owned()
}

/// All notes, each with its commit.
fn all(world: &World) -> Vec<(String, String)> {
    let lines = world.lines(&["notes", "--ref", NOTES, "list"]);
    let mut found: Vec<(String, String)> = lines
        .iter()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(_, about)| (about.to_owned(), note(world, about)))
        .collect();
    found.sort();
    found
}

fn landed(world: &World, name: &str) {
    world.worker(name, &format!("echo {name} >{name}.txt; git add -A; git commit -qm {name}"));
    world.skein(&["land", name]).ok();
}

/// The notes are what the lanes say: they are sound, and made again from nothing they are the same.
#[track_caller]
fn agrees(world: &World) {
    let ran = world.skein(&["fsck"]).ok();
    assert!(!ran.out.contains("note-"), "{}", ran.out);
    let before = all(world);
    world.git(["update-ref", "-d", NOTES]);
    world.skein(&["fsck", "--rebuild"]).ok();
    assert_eq!(all(world), before);
    world.skein(&["fsck"]).ok();
}

#[test]
fn they_follow_an_amended_commit() {
    let world = guarded();
    landed(&world, "one");
    let before = note(&world, "HEAD");
    assert!(before.contains("\"delta\":1"), "{before}");
    let ran = world.try_git(["commit", "--amend", "-q", "-m", "other words"]);
    assert!(
        String::from_utf8_lossy(&ran.stderr).contains("the notes of 1 landed commit came along"),
        "{ran:?}"
    );
    assert_eq!(note(&world, "HEAD"), before);
    agrees(&world);
    // Once more, and it still is the same work.
    world.git(["commit", "--amend", "-q", "-m", "yet others"]);
    assert_eq!(note(&world, "HEAD"), before);
    agrees(&world);
    assert!(world.skein(&["log"]).ok().out.contains("rewritten: 1 of operation"));
    assert_eq!(world.landed("one", "").0, 0);
    world.check();
}

#[test]
fn they_follow_a_rebase_and_not_other_work() {
    let world = guarded();
    world.git(["branch", "before"]);
    landed(&world, "one");
    landed(&world, "two");
    let notes = [note(&world, "HEAD~1"), note(&world, "HEAD")];
    world.git(["switch", "-q", "before"]);
    world.write("b.txt", "moved on\n");
    world.commit("moved on");
    world.git(["switch", "-q", "main"]);
    world.git(["rebase", "-q", "before"]);
    assert_eq!([note(&world, "HEAD~1"), note(&world, "HEAD")], notes);
    agrees(&world);
    let head = world.head();
    world.write("two.txt", "something else\n");
    world.git(["add", "-A"]);
    let ran = world.try_git(["commit", "--amend", "-q", "-m", "other work"]);
    assert!(String::from_utf8_lossy(&ran.stderr).contains("makes another change"), "{ran:?}");
    assert_eq!((note(&world, "HEAD"), note(&world, &head)), (String::new(), notes[1].clone()));
    agrees(&world);
    world.check();
}

#[test]
fn a_commit_that_never_landed_is_no_matter() {
    let world = guarded();
    world.write("mine.txt", "1\n");
    world.commit("mine");
    let ran = world.try_git(["commit", "--amend", "-q", "-m", "still mine"]);
    assert!(ran.status.success() && ran.stderr.is_empty(), "{ran:?}");
    landed(&world, "one");
    world.write("mine.txt", "2\n");
    world.commit("mine too");
    let before = world.git(["for-each-ref", "refs/skein", "refs/notes"]);
    world.git(["commit", "--amend", "-q", "-m", "still mine"]);
    assert_eq!(world.git(["for-each-ref", "refs/skein", "refs/notes"]), before);
}

#[test]
fn a_worker_that_a_person_merged_is_landed() {
    let world = guarded();
    for name in ["merged", "squashed", "waits"] {
        world.worker(name, &format!("echo {name} >{name}.txt; git add -A; git commit -qm {name}"));
    }
    let tip = |name: &str| world.git(["-C", world.worktree(name).to_str().unwrap(), "rev-parse", "HEAD"]);
    let said = |args: &[&str]| {
        let ran = world.try_git(args);
        assert!(ran.status.success(), "{ran:?}");
        String::from_utf8_lossy(&ran.stderr).into_owned()
    };
    let merged = said(&["merge", "--no-ff", "-m", "by hand", &tip("merged")]);
    assert!(merged.contains("git-skein: merged is merged here") && !merged.contains("waits"), "{merged}");
    let squashed = said(&["merge", "--squash", &tip("squashed")]);
    assert!(
        squashed.contains("this is the work of squashed") && !squashed.contains("merged is"),
        "{squashed}"
    );
    world.git(["commit", "-q", "-m", "squashed by hand"]);
    let landed = |name: &str| {
        let ran = world.skein(&["landed", name, "--json"]);
        (
            ran.code,
            ran.json()["result"]["answer"]["proof"]
                .as_str()
                .or(ran.json()["result"]["proof"].as_str())
                .map(str::to_owned),
            ran.out,
        )
    };
    assert_eq!(landed("merged").0, 0);
    assert!(landed("merged").2.contains("ancestor"));
    assert_eq!(landed("squashed").0, 0);
    assert_eq!(landed("waits").0, 1);
    let reaped = world.skein(&["reap", "--all", "--yes"]);
    assert!(reaped.out.contains("merged") && reaped.out.contains("squashed"), "{reaped:?}");
    assert_eq!(world.skein(&["show", "waits"]).code, 0);
}

/// Whatever ends the hook, what the person did stands, and `fsck --rebuild` makes the notes what the lane says.
#[test]
fn struck_anywhere_lane_and_notes_can_be_made_to_agree() {
    let world = guarded();
    landed(&world, "one");
    let old = world.head();
    world.git(["-c", "core.hooksPath=/dev/null", "commit", "--amend", "-q", "-m", "other words"]);
    let pair = format!("{old} {}\n", world.head());
    let (mut struck, mut told) = (0, 0);
    for (site, action) in
        [("git", "kill"), ("git", "EIO"), ("file", "kill"), ("file", "EIO"), ("point", "kill")]
    {
        for k in 1..100 {
            let copy = world.copy();
            let mark = copy.root().join("mark");
            let mut hook = copy.command(&["hook", "post-rewrite", "-", "amend"]);
            hook.env("SKEIN_FAULT", format!("{site}:{k}:{action}")).env("SKEIN_FAULT_MARK", &mark);
            let input = copy.root().join("input");
            std::fs::write(&input, &pair).unwrap();
            let ran = hook.stdin(std::fs::File::open(&input).unwrap()).output().unwrap();
            assert!(action == "kill" || ran.status.success(), "it fails nothing of the person's: {ran:?}");
            if !mark.exists() {
                break;
            }
            struck += 1;
            copy.skein(&["fsck", "--rebuild"]).ok();
            let (lane, now) = (copy.skein(&["log"]).ok().out.contains("rewritten"), note(&copy, "HEAD"));
            assert_eq!(lane, !now.is_empty(), "{site}:{k}:{action} {lane} {now}");
            told += u32::from(lane);
            copy.check();
        }
    }
    assert!(struck > 10 && told > 0 && told < struck, "{struck} {told}");
}
