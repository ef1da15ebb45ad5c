//! What a worker says while it works, its supervisor struck: of what it was told is done, all is there afterwards.

use crate::faults::scenes;
use crate::faults::sweep;
use crate::faults::sweep::Crossed;
use crate::faults::sweep::Plan;
use crate::support::Ran;
use crate::support::World;
use crate::support::ran;
use std::fs;

const PLANS: &[Plan] = &[
    Plan { site: "point", action: "kill", stride: 1, lasting: false },
    Plan { site: "git", action: "kill", stride: 5, lasting: false },
    Plan { site: "file", action: "kill", stride: 9, lasting: false },
    Plan { site: "git", action: "EIO", stride: 7, lasting: false },
    Plan { site: "file", action: "EIO", stride: 13, lasting: false },
];

/// Notes of each thing that it says whether that was taken in.
const SAY: &str = "say() { git skein worker \"$@\" && echo \"$1\" >>$OUT/told; }";

const WORKS: &str = "say progress 'half way'; say note 'mind the gap'; say todo look; echo new >new.txt
    say commit -m 'a file'
    say done --outcome complete --summary 'there it is' --evidence 'cat new.txt: new'";

const GIVES_UP: &str = "say spawn 'Try it' --name other -- true; say fail --reason 'no way to do it'";

/// All that is said in one or the other.
pub const SAID: &[&str] = &["progress", "note", "todo", "commit", "done", "spawn", "fail"];

#[test]
fn what_a_worker_says() {
    strikes(scenes::still(), "worker ...", WORKS, &SAID[..5]);
}

#[test]
fn what_a_worker_says_that_gives_up() {
    // With one seed the other would draw the same id.
    let world = scenes::still().env("SKEIN_SEED", "");
    strikes(world, "worker spawn, worker fail", GIVES_UP, &SAID[5..]);
}

fn strikes(world: World, name: &str, script: &str, says: &[&str]) {
    world.skein(&["init"]).ok();
    let counted = world.copy();
    let (dispatched, mark) = struck(&counted, script, sweep::COUNT, 1);
    dispatched.ok();
    assert_eq!(told(&counted), says, "{}", counted.skein(&["show", "--log", "fix"]).out);
    let crossed = Crossed::read(&mark.unwrap());
    sweep::table(name, PLANS, 6, &crossed, |plan, k| case(&world, script, plan, k));
}

fn struck(world: &World, script: &str, plan: Plan, k: u64) -> (Ran, Option<String>) {
    let mark = world.root().join("mark");
    let script = format!("{SAY}\n{script}");
    let args = ["dispatch", "--spawn", "1", "--name", "fix", "fix", "--", "sh", "-c", &script];
    let mut dispatch = world.command(&args);
    dispatch.env("SKEIN_SUPERVISOR_FAULT", format!("{}:{k}:{}", plan.site, plan.action));
    dispatch.env("OUT", world.root()).env("SKEIN_FAULT_MARK", &mark);
    let dispatched = ran(dispatch.output().unwrap());
    scenes::all_ended(world);
    (dispatched, fs::read_to_string(mark).ok())
}

fn told(world: &World) -> Vec<String> {
    let told = fs::read_to_string(world.root().join("told")).unwrap_or_default();
    told.lines().map(str::to_owned).collect()
}

fn case(world: &World, script: &str, plan: Plan, k: u64) -> bool {
    let world = world.copy();
    let (dispatched, mark) = struck(&world, script, plan, k);
    let Some(at) = mark else { return false };
    sweep::clean(&world, k);
    // Whatever verb comes next closes it.
    world.skein(&["stop", "fix"]);
    let told = told(&world);
    let status = world.skein(&["status", "--json"]).ok().json();
    let rows = status["result"]["workers"].as_array().unwrap();
    let row = |handle: &str| rows.iter().find(|row| row["handle"] == handle);
    let Some(fix) = row("fix") else {
        assert!(dispatched.code != 0 && told.is_empty(), "{at}: the worker was told, and is gone");
        return true;
    };
    assert_ne!(fix["outcome"], "active", "{at}: {fix}");
    let card = world.skein(&["show", "fix", "--json"]).ok().json()["result"].clone();
    for said in &told {
        let found = match said.as_str() {
            "progress" => card["progress"] == "half way",
            "note" => world.skein(&["show", "--events", "fix"]).out.contains("mind the gap"),
            "todo" => card["todos"][0]["text"] == "look",
            "commit" => card["commits"] == 1,
            "spawn" => row("other").is_some_and(|other| other["parent"]["worker"] == fix["worker"]),
            // In the events at once, where they could be written, and on the record when it has ended.
            "fail" => {
                let events = world.skein(&["show", "--events", "fix"]).out;
                format!("{events}{}", card["reason"]).contains("no way to do it")
            }
            _ => card["claim"]["summary"] == "there it is",
        };
        assert!(found, "{at}: it was told that {said} is done: {card}");
    }
    if told.iter().any(|said| said == "commit") {
        world.skein(&["land", "fix", "--any-outcome"]).ok();
        assert_eq!(world.git(["show", "main:new.txt"]), "new", "{at}");
    }
    world.check();
    true
}
