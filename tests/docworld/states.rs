//! `doc commit` in repositories that are in the middle of something, and where git refuses: exit and words say so,
//! and nothing has moved.

use crate::docworld::ANSWER;
use crate::docworld::DOC;
use crate::docworld::answered;
use crate::docworld::asked;
use crate::docworld::commits::moves_alone;
use crate::docworld::commits::only_typing_is_left;
use crate::docworld::commits::ready;
use crate::docworld::feed;
use crate::docworld::send;
use crate::docworld::times;
use crate::docworld::type_on;
use crate::support::World;
use std::fs;
use std::time::Duration;

/// Refused with `token`, and everything of the person's as before; then, mended, it goes.
#[track_caller]
fn refused(world: &World, token: &str, code: i32) {
    let before = (world.picture(&[]), world.lines(&["for-each-ref"]));
    world.skein(&["doc", "commit", DOC]).refused(token, code);
    assert_eq!((world.picture(&[]), world.lines(&["for-each-ref"])), before);
}

fn conflicting() -> World {
    let world = World::in_memory();
    world.git(["switch", "-qc", "side"]);
    world.write("a.txt", "side\n");
    world.commit("side");
    world.git(["switch", "-q", "main"]);
    world.write("a.txt", "main\n");
    world.commit("main");
    answered(&world, DOC);
    world
}

#[test]
fn in_the_middle_of_a_merge_a_rebase_a_pick_a_revert() {
    let acts: [(&[&str], &[&str]); 4] = [
        (&["merge", "side"], &["merge", "--abort"]),
        (&["rebase", "side"], &["rebase", "--abort"]),
        (&["cherry-pick", "side"], &["cherry-pick", "--abort"]),
        (&["revert", "HEAD~1"], &["revert", "--abort"]),
    ];
    let world = conflicting();
    for (begin, abort) in acts {
        let world = world.copy();
        if begin[0] == "revert" {
            world.write("a.txt", "more\n");
            world.git(["commit", "-qam", "more"]);
        }
        let head = world.head();
        let began = world.try_git(begin);
        assert!(!began.status.success(), "{began:?}");
        refused(&world, "operation-in-progress", 1);
        let here = world.skein(&["doc", "commit", "--here", DOC]);
        here.refused("operation-in-progress", 1);
        world.git(abort);
        assert_eq!(world.head(), head);
        world.skein(&["doc", "commit", DOC]).ok();
        assert_eq!(world.rev("HEAD^"), head);
        only_typing_is_left(&world, DOC);
    }
}

#[test]
fn a_detached_head_moves_and_no_branch() {
    let world = World::in_memory();
    world.git(["switch", "-q", "--detach"]);
    let (world, known, head) = ready(world);
    moves_alone(&world, DOC, &known, Some(&head));
    only_typing_is_left(&world, DOC);
    assert_eq!(world.rev("main"), head);
    assert!(world.try_git(["symbolic-ref", "-q", "HEAD"]).stdout.is_empty());
}

#[test]
fn an_unborn_branch_is_born() {
    let world = World::empty();
    world.write("staged", "s\n");
    world.git(["add", "staged"]);
    world.write("x", "x\n");
    let known = answered(&world, DOC);
    moves_alone(&world, DOC, &known, None);
    only_typing_is_left(&world, DOC);
    assert_eq!(world.git(["status", "--porcelain", "staged"]), "A  staged");
}

#[test]
fn an_ignored_path_is_asked_for() {
    let world = World::in_memory();
    let path = "ignored/talk.md";
    let known = answered(&world, path);
    let (head, index) = (world.head(), world.git(["ls-files", "-s"]));
    world.skein(&["doc", "commit", path]).refused("ignored", 1);
    assert_eq!((world.head(), world.git(["ls-files", "-s"])), (head, index));
    world.skein(&["doc", "commit", "--force", path]).ok();
    assert_eq!(world.git(["show", &format!("HEAD:{path}")]) + "\n", known);
    only_typing_is_left(&world, path);
}

#[test]
fn without_an_identity() {
    let (world, known, head) = ready(World::in_memory());
    for key in ["user.name", "user.email"] {
        world.git(["config", "--unset", key]);
    }
    world.git(["config", "user.useConfigOnly", "true"]);
    refused(&world, "no-identity", 1);
    world.git(["config", "user.name", "Ada"]);
    world.git(["config", "user.email", "ada@example.invalid"]);
    moves_alone(&world, DOC, &known, Some(&head));
}

#[test]
fn where_signing_fails() {
    let (world, known, head) = ready(World::in_memory());
    world.git(["config", "commit.gpgSign", "true"]);
    world.git(["config", "gpg.program", "false"]);
    refused(&world, "not-signed", 1);
    world.git(["config", "commit.gpgSign", "false"]);
    moves_alone(&world, DOC, &known, Some(&head));
}

/// A program in the place of gpg that signs anything, and does something before it does so the first time.
fn signing(world: &World, first: &str) {
    let program = world.root().join("gpg");
    let done = world.root().join("done");
    let text = format!(
        "#!/bin/sh\nif ! test -e {done}; then touch {done}; (unset GIT_DIR GIT_INDEX_FILE; cd {repo} && {first}) >&2; fi\ncat >/dev/null\necho '[GNUPG:] SIG_CREATED D' >&2\necho '-----BEGIN PGP SIGNATURE-----'\necho x\necho '-----END PGP SIGNATURE-----'\n",
        done = done.display(),
        repo = world.repo.display(),
    );
    fs::write(&program, text).unwrap();
    std::process::Command::new("chmod").arg("+x").arg(&program).status().unwrap();
    world.git(["config", "commit.gpgSign", "true"]);
    world.git(["config", "gpg.program", program.to_str().unwrap()]);
}

#[test]
fn a_branch_that_somebody_else_moves_meanwhile() {
    let (world, known, head) = ready(World::in_memory());
    signing(&world, "git -c commit.gpgSign=false commit -q --allow-empty -m theirs");
    world.skein(&["doc", "commit", DOC]).ok();
    assert_eq!(world.rev("HEAD~2"), head);
    assert_eq!(world.git(["show", "-s", "--format=%s", "HEAD~1"]), "theirs");
    assert_eq!(world.git(["show", &format!("HEAD:{DOC}")]) + "\n", known);
    assert!(world.git(["cat-file", "commit", "HEAD"]).contains("gpgsig"));
    only_typing_is_left(&world, DOC);
    world.check();
}

#[test]
fn a_branch_on_which_somebody_else_has_the_path_meanwhile() {
    let (world, _, head) = ready(World::in_memory());
    signing(&world, &format!("git add {DOC} && git -c commit.gpgSign=false commit -qm theirs"));
    world.skein(&["doc", "commit", DOC]).ok();
    assert_eq!(world.rev("HEAD~1"), head);
    let text = world.git(["show", &format!("HEAD:{DOC}")]);
    assert_eq!((times(&text, ANSWER), times(&text, "And what")), (1, 1), "{text}");
    assert_eq!(world.git(["status", "--porcelain"]), "");
}

#[test]
fn another_branch_is_checked_out() {
    let (world, known, head) = ready(World::in_memory());
    world.git(["switch", "-qc", "other"]);
    refused(&world, "branch-switched", 1);
    world.skein(&["doc", "commit", "--here", DOC]).ok();
    assert_eq!(world.rev("other^"), head);
    assert_eq!(world.rev("main"), head);
    assert_eq!(world.git(["show", &format!("other:{DOC}")]) + "\n", known);
    only_typing_is_left(&world, DOC);
}

#[test]
fn an_index_that_another_git_has() {
    let (world, known, head) = ready(World::in_memory());
    let lock = world.path(".git/index.lock");
    fs::write(&lock, "").unwrap();
    refused(&world, "index-locked", 75);
    // It ends while we wait.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            fs::remove_file(&lock).unwrap();
        });
        world.skein(&["doc", "commit", DOC]).ok();
    });
    assert_eq!(world.rev("HEAD^"), head);
    assert_eq!(world.git(["show", &format!("HEAD:{DOC}")]) + "\n", known);
    only_typing_is_left(&world, DOC);
}

/// An answer that cannot be committed is in the document all the same, and is committed with the next.
#[test]
fn an_answer_that_git_refuses_to_commit() {
    let world = World::in_memory();
    asked(&world, DOC);
    send(&world, DOC);
    world.git(["config", "commit.gpgSign", "true"]);
    world.git(["config", "gpg.program", "false"]);
    let head = world.head();
    feed(&world, &["doc", "respond", DOC], ANSWER).refused("not-signed", 1);
    assert_eq!((times(&world.read(DOC), ANSWER), world.head()), (1, head.clone()));
    world.git(["config", "--unset", "commit.gpgSign"]);
    feed(&world, &["doc", "respond", DOC], ANSWER).ok();
    assert_eq!(times(&world.read(DOC), ANSWER), 1);
    assert_eq!(world.rev("HEAD^"), head);
    type_on(&world, DOC, "x");
    only_typing_is_left(&world, DOC);
}
