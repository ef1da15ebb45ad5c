//! Many at once: documents of one repository, agents of one document, and a person who types.

use crate::docworld::DOC;
use crate::docworld::answered;
use crate::docworld::asked;
use crate::docworld::feed;
use crate::docworld::known;
use crate::docworld::litter;
use crate::docworld::send;
use crate::docworld::times;
use crate::docworld::type_on;
use crate::support::World;
use std::time::Duration;

#[test]
fn documents_committed_at_once() {
    let world = World::in_memory();
    let paths = ["one.md", "two.md", "three.md"];
    let texts: Vec<String> = paths.iter().map(|path| answered(&world, path)).collect();
    let head = world.head();
    let commands: Vec<Vec<&str>> = paths.iter().map(|path| vec!["doc", "commit", path]).collect();
    for ran in world.at_once(&commands) {
        ran.ok();
    }
    assert_eq!(world.rev("HEAD~3"), head);
    for (path, text) in paths.iter().zip(texts) {
        assert_eq!(world.git(["show", &format!("HEAD:{path}")]) + "\n", text);
    }
    assert_eq!(world.git(["diff", "--cached", "--name-only"]), "");
    assert_eq!(world.git(["status", "--porcelain"]), " M one.md\n M three.md\n M two.md");
    world.check();
}

/// Each answers the turn that it was sent; the person types all the while.
#[test]
fn two_agents_and_a_person() {
    let world = World::in_memory();
    asked(&world, DOC);
    for round in 0..4 {
        let first = send(&world, DOC);
        type_on(&world, DOC, &format!("question {round}\n"));
        let second = send(&world, DOC);
        assert_eq!(second, first + 1);
        let answer = |n: u64| {
            let said = format!("Said in turn {n}.");
            let world = &world;
            move || {
                let turn = n.to_string();
                for _ in 0..8 {
                    let ran = feed(world, &["doc", "respond", "--turn", &turn, DOC], &said);
                    match ran.code {
                        0 => return,
                        // A commit that lost too often is made by the next.
                        4 | 75 => {}
                        _ => panic!("{ran:?}"),
                    }
                }
                panic!("turn {n} found no way in");
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(answer(first));
            scope.spawn(answer(second));
            scope.spawn(|| {
                for key in 0..6 {
                    type_on(&world, DOC, &format!("typed {round}.{key}\n"));
                    std::thread::sleep(Duration::from_millis(70));
                }
            });
        });
    }
    let text = world.read(DOC);
    for turn in 1..=8 {
        assert_eq!(times(&text, &format!("Said in turn {turn}.\n")), 1, "{text}");
        assert_eq!(times(&known(&world, DOC), &format!("Said in turn {turn}.\n")), 1, "{text}");
    }
    for round in 0..4 {
        assert_eq!(times(&text, &format!("question {round}\n")), 1, "{text}");
        for key in 0..6 {
            assert_eq!(times(&text, &format!("typed {round}.{key}\n")), 1, "{text}");
        }
    }
    world.skein(&["doc", "commit", DOC]).ok();
    assert_eq!(world.git(["show", &format!("HEAD:{DOC}")]) + "\n", known(&world, DOC));
    assert_eq!(world.git(["diff", "--cached", "--name-only"]), "");
    assert!(litter(&world).is_empty());
    world.check();
}
