//! A person, an agent and a kill, in any order.

use crate::docworld::DOC;
use crate::docworld::asked;
use crate::docworld::feed;
use crate::docworld::known;
use crate::docworld::litter;
use crate::docworld::times;
use crate::docworld::type_on;
use crate::support::World;
use crate::support::acts::Dice;
use crate::support::ran;
use std::fs::File;

const ROUNDS: u64 = 60;

/// Runs a command that may be killed anywhere.
fn maybe_killed(world: &World, dice: &mut Dice, args: &[&str], input: &str) {
    let file = world.root().join("input");
    std::fs::write(&file, input).unwrap();
    let mut command = world.command(args);
    let (site, most) = [("point", 5), ("file", 25), ("git", 12)][dice.below(3) as usize];
    command.env("SKEIN_FAULT", format!("{site}:{}:kill", 1 + dice.below(most)));
    let ended = ran(command.stdin(File::open(&file).unwrap()).output().unwrap());
    assert!(matches!(ended.code, 0 | -1), "{ended:?}");
}

/// The person writes a new line somewhere, in one of the ways of editors. Gives it.
fn edit(world: &World, dice: &mut Dice, n: u64) -> String {
    let line = format!("mine{n}\n");
    let text = world.read(DOC);
    match dice.below(3) {
        0 => type_on(world, DOC, &line),
        1 => {
            let text = text.replace("<!-- /agent:exchange -->", &format!("{line}<!-- /agent:exchange -->"));
            std::fs::write(world.path(DOC), text).unwrap();
        }
        _ => {
            std::fs::write(world.path("new"), text.replacen("# Talk\n", &format!("# Talk\n{line}"), 1))
                .unwrap();
            std::fs::rename(world.path("new"), world.path(DOC)).unwrap();
        }
    }
    line
}

#[test]
fn nothing_is_lost_and_nothing_twice() {
    let mut dice = Dice::new();
    let world = World::in_memory();
    asked(&world, DOC);
    let (mut mine, mut theirs) = (Vec::new(), Vec::new());
    for n in 0..ROUNDS {
        mine.push(edit(&world, &mut dice, n));
        if dice.below(2) == 0 {
            maybe_killed(&world, &mut dice, &["doc", "preflight", DOC], "");
        }
        world.skein(&["doc", "preflight", DOC]).ok();
        if dice.below(2) == 0 {
            mine.push(edit(&world, &mut dice, 1000 + n));
        }
        let answer = format!("theirs{n}\n");
        let verb = ["write", "respond"][dice.below(2) as usize];
        maybe_killed(&world, &mut dice, &["doc", verb, DOC], &answer);
        // It may lie there for a while, and the person goes on.
        if dice.below(2) == 0 {
            mine.push(edit(&world, &mut dice, 2000 + n));
        }
        if dice.below(2) == 0 {
            world.skein(&["doc", "recover", DOC]).ok();
        }
        feed(&world, &["doc", "write", DOC], &answer).ok();
        theirs.push(answer);
        let text = world.read(DOC);
        for line in mine.iter().chain(&theirs) {
            assert_eq!(times(&text, line), 1, "round {n}: {line}{text}");
        }
        let sent = known(&world, DOC);
        assert!(theirs.iter().all(|line| times(&sent, line) == 1), "round {n}: {sent}");
        if dice.below(3) == 0 {
            maybe_killed(&world, &mut dice, &["doc", "commit", DOC], "");
            world.skein(&["doc", "commit", DOC]).ok();
            assert_eq!(world.git(["show", &format!("HEAD:{DOC}")]) + "\n", sent, "round {n}");
            assert_eq!(world.git(["diff", "--cached", "--name-only"]), "", "round {n}");
        }
        assert_eq!(world.read(DOC), text, "round {n}");
        assert_eq!(litter(&world), [""; 0], "round {n}");
    }
    world.check();
}
