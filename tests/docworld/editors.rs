//! A person's editor, whatever it does to the file while an answer comes in.

use crate::docworld::ANSWER;
use crate::docworld::DOC;
use crate::docworld::asked;
use crate::docworld::body;
use crate::docworld::feed;
use crate::docworld::known;
use crate::docworld::litter;
use crate::docworld::send;
use crate::docworld::times;
use crate::docworld::type_on;
use crate::support::Ran;
use crate::support::World;
use crate::support::ran;
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;

const WAIT: Duration = Duration::from_millis(200);

fn sent() -> World {
    let world = World::in_memory();
    asked(&world, DOC);
    send(&world, DOC);
    world
}

/// Gives an answer; `meanwhile` happens when the verb has begun, and has found the document.
fn write_while(world: &World, answer: &str, meanwhile: impl FnOnce()) -> Ran {
    let mut command = world.command(&["doc", "write", DOC]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(answer.as_bytes()).unwrap();
    // More than a pipe holds: when all of it is in, somebody reads.
    input.write_all(" \n".repeat(100_000).as_bytes()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(WAIT / 4);
            drop(input);
        });
        meanwhile();
    });
    ran(child.wait_with_output().unwrap())
}

#[track_caller]
fn both_are_there(world: &World, typed: &str) {
    let text = world.read(DOC);
    assert_eq!((times(&text, ANSWER), times(&text, typed)), (1, 1), "{text}");
    assert_eq!(times(&known(world, DOC), typed), 0, "it was not sent");
    assert_eq!(times(&known(world, DOC), ANSWER), 1);
    assert!(litter(world).is_empty());
    // Another run changes nothing.
    world.skein(&["doc", "recover", DOC]).ok();
    feed(world, &["doc", "write", DOC], &format!("{ANSWER}{}", " \n".repeat(100_000))).ok();
    assert_eq!(world.read(DOC), text);
    world.check();
}

#[test]
fn one_that_writes_in_place() {
    let world = sent();
    let node = fs::metadata(world.path(DOC)).unwrap().ino();
    write_while(&world, ANSWER, || {
        let text = world.read(DOC) + "typed\n";
        fs::write(world.path(DOC), text).unwrap();
        assert_eq!(fs::metadata(world.path(DOC)).unwrap().ino(), node);
    })
    .ok();
    both_are_there(&world, "typed");
}

#[test]
fn one_that_writes_another_file_and_renames_it() {
    let world = sent();
    write_while(&world, ANSWER, || {
        fs::write(world.path(".talk.md.new"), world.read(DOC) + "typed\n").unwrap();
        fs::rename(world.path(".talk.md.new"), world.path(DOC)).unwrap();
    })
    .ok();
    both_are_there(&world, "typed");
}

/// A reader sees an empty file.
#[test]
fn one_that_truncates_first() {
    let world = sent();
    write_while(&world, ANSWER, || {
        let text = world.read(DOC) + "typed\n";
        fs::write(world.path(DOC), "").unwrap();
        std::thread::sleep(WAIT);
        fs::write(world.path(DOC), text).unwrap();
    })
    .ok();
    both_are_there(&world, "typed");
}

/// A reader sees no file.
#[test]
fn one_that_makes_a_backup_of_the_old_file() {
    let world = sent();
    write_while(&world, ANSWER, || {
        let text = world.read(DOC) + "typed\n";
        fs::rename(world.path(DOC), world.path("talk.md~")).unwrap();
        std::thread::sleep(WAIT);
        fs::write(world.path(DOC), text).unwrap();
    })
    .ok();
    both_are_there(&world, "typed");
    assert_eq!(times(&world.read("talk.md~"), ANSWER), 0);
}

#[test]
fn files_that_editors_keep_beside_it() {
    let world = World::in_memory();
    asked(&world, DOC);
    let beside = ["talk.md~", "#talk.md#", ".talk.md.swp", "4913", "talk.md.bak", "talk.md.orig"];
    for name in beside {
        fs::copy(world.path(DOC), world.path(name)).unwrap();
    }
    let text = world.read(DOC);
    send(&world, DOC);
    feed(&world, &["doc", "respond", DOC], ANSWER).ok();
    for name in beside {
        assert_eq!(world.read(name), text);
    }
    assert_eq!(world.git(["ls-files", "--", ":!*.txt", ":!.gitignore"]), DOC);
}

/// Every key that was pressed is there in the end, and so is every answer.
#[test]
fn one_that_saves_all_the_time() {
    let world = World::in_memory();
    asked(&world, DOC);
    let (ends, count) = (AtomicBool::new(false), 5);
    let keys = std::thread::scope(|scope| {
        let typist = scope.spawn(|| {
            let mut keys = 0;
            while !ends.load(Ordering::SeqCst) {
                keys += 1;
                type_on(&world, DOC, &format!("key {keys}\n"));
                std::thread::sleep(WAIT);
            }
            keys
        });
        for n in 0..count {
            std::thread::sleep(WAIT);
            send(&world, DOC);
            feed(&world, &["doc", "write", DOC], &format!("answer {n}")).ok();
        }
        ends.store(true, Ordering::SeqCst);
        typist.join().unwrap()
    });
    let text = world.read(DOC);
    for n in 1..=keys {
        assert_eq!(times(&text, &format!("key {n}\n")), 1, "{n} of {keys}: {text}");
    }
    for n in 0..count {
        assert_eq!(times(&text, &format!("answer {n}\n")), 1, "{text}");
    }
    assert!(litter(&world).is_empty());
}

/// Refused, with the file and all refs as they were.
#[track_caller]
fn refused(world: &World, ran: Ran, before: (&[u8], String), token: &str, code: i32) {
    ran.refused(token, code);
    assert_eq!(fs::read(world.path(DOC)).unwrap(), before.0);
    assert_eq!(world.git(["for-each-ref"]), before.1);
    assert!(litter(world).is_empty());
}

#[test]
fn a_file_that_becomes_a_link() {
    let world = sent();
    let outside = world.root().join("outside.md");
    fs::copy(world.path(DOC), &outside).unwrap();
    let (text, refs) = (world.read(DOC), world.git(["for-each-ref"]));
    let meanwhile = || {
        fs::remove_file(world.path(DOC)).unwrap();
        symlink(&outside, world.path(DOC)).unwrap();
    };
    write_while(&world, ANSWER, meanwhile).refused("outside-worktree", 1);
    assert_eq!(fs::read_to_string(&outside).unwrap(), text, "nothing was written behind the link");
    assert!(world.path(DOC).is_symlink());
    assert_eq!(world.git(["for-each-ref"]), refs);
    for verb in ["preflight", "diff", "commit", "claim", "recover", "status"] {
        world.skein(&["doc", verb, DOC]).refused("outside-worktree", 1);
    }
    assert!(litter(&world).is_empty());
}

#[test]
fn a_file_that_may_not_be_written() {
    let world = sent();
    fs::set_permissions(world.path(DOC), fs::Permissions::from_mode(0o444)).unwrap();
    let (text, refs) = (fs::read(world.path(DOC)).unwrap(), world.git(["for-each-ref"]));
    let ran = feed(&world, &["doc", "write", DOC], ANSWER);
    refused(&world, ran, (&text, refs), "read-only", 128);
    fs::set_permissions(world.path(DOC), fs::Permissions::from_mode(0o640)).unwrap();
    feed(&world, &["doc", "write", DOC], ANSWER).ok();
    assert_eq!(fs::metadata(world.path(DOC)).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(times(&world.read(DOC), ANSWER), 1);
}

#[test]
fn a_file_that_is_deleted_meanwhile() {
    let world = sent();
    let (text, refs) = (world.read(DOC), world.git(["for-each-ref"]));
    let ran = write_while(&world, ANSWER, || fs::remove_file(world.path(DOC)).unwrap());
    ran.refused("no-document", 1);
    assert!(!world.path(DOC).exists());
    assert_eq!(world.git(["for-each-ref"]), refs);
    assert!(litter(&world).is_empty());
    // Brought back, it takes the answer.
    world.write(DOC, &text);
    feed(&world, &["doc", "write", DOC], ANSWER).ok();
    assert_eq!(times(&world.read(DOC), ANSWER), 1);
}

#[test]
fn bytes_that_are_no_text() {
    for bad in [&b"a\0b\n"[..], b"\xff\xfe\n", b"\xc3\n", b"\xed\xa0\x80\n"] {
        let world = sent();
        let text = [world.read(DOC).as_bytes(), bad].concat();
        fs::write(world.path(DOC), &text).unwrap();
        let refs = world.git(["for-each-ref"]);
        for verb in ["write", "preflight", "commit", "diff", "claim", "dedupe"] {
            let ran = feed(&world, &["doc", verb, DOC], ANSWER);
            refused(&world, ran, (&text, refs.clone()), "not-text", 1);
        }
        // Pasted while the answer comes in, too.
        fs::write(world.path(DOC), &text[..text.len() - bad.len()]).unwrap();
        let ran = write_while(&world, ANSWER, || fs::write(world.path(DOC), &text).unwrap());
        refused(&world, ran, (&text, refs), "not-text", 1);
    }
}

#[test]
fn an_empty_file() {
    let world = World::in_memory();
    world.write(DOC, "");
    for verb in ["write", "preflight", "commit", "recover"] {
        feed(&world, &["doc", verb, DOC], ANSWER).refused("not-a-document", 1);
        assert_eq!(world.read(DOC), "");
    }
    world.skein(&["doc", "claim", DOC]).ok();
    feed(&world, &["doc", "respond", DOC], ANSWER).ok();
    let text = world.read(DOC);
    assert!(text.starts_with("---\nskein_doc: ") && times(&text, ANSWER) == 1, "{text}");
    assert_eq!(world.git(["show", &format!("HEAD:{DOC}")]), text.trim_end_matches('\n'));
}

#[test]
fn ten_megabytes() {
    let world = World::in_memory();
    let line = "A line of a document that has grown for a long while, and nobody has begun another.\n";
    let long = line.repeat(10_000_000 / line.len());
    world.write(DOC, &(body("What is it?\n") + &long));
    world.skein(&["doc", "claim", DOC]).ok();
    send(&world, DOC);
    let before = world.read(DOC);
    type_on(&world, DOC, "typed\n");
    feed(&world, &["doc", "write", DOC], ANSWER).ok();
    let after = before.replace("What is it?\n", &format!("What is it?\n\n{ANSWER}\n\n"));
    assert!(world.read(DOC) == format!("{after}typed\n"));
    assert!(litter(&world).is_empty());
}
