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
const SAYS: &str = "say() { git skein worker \"$@\" && echo \"$1\" >>$OUT/told; }
    say progress 'half way'; say note 'mind the gap'; say todo look; echo new >new.txt; say commit -m 'a file'
    say done --outcome complete --summary 'there it is' --evidence 'cat new.txt: new'";

#[test]
fn what_a_worker_says() {
    let world = scenes::still();
    world.skein(&["init"]).ok();
    let counted = world.copy();
    let (dispatched, mark) = struck(&counted, sweep::COUNT, 1);
    dispatched.ok();
    assert_eq!(told(&counted).len(), 5);
    let crossed = Crossed::read(&mark.unwrap());
    sweep::table("worker ...", PLANS, 6, &crossed, |plan, k| case(&world, plan, k));
}

fn struck(world: &World, plan: Plan, k: u64) -> (Ran, Option<String>) {
    let mark = world.root().join("mark");
    let mut dispatch = world.command(&["dispatch", "--name", "fix", "fix", "--", "sh", "-c", SAYS]);
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

fn case(world: &World, plan: Plan, k: u64) -> bool {
    let world = world.copy();
    let (dispatched, mark) = struck(&world, plan, k);
    let Some(at) = mark else { return false };
    sweep::clean(&world, k);
    // Whatever verb comes next closes it.
    world.skein(&["stop", "fix"]);
    let told = told(&world);
    let status = world.skein(&["status", "--json"]).ok().json();
    let Some(row) = status["result"]["workers"].as_array().unwrap().first().cloned() else {
        assert!(dispatched.code != 0 && told.is_empty(), "{at}: the worker was told, and is gone");
        return true;
    };
    assert_ne!(row["outcome"], "active", "{at}: {row}");
    let card = world.skein(&["show", "fix", "--json"]).ok().json()["result"].clone();
    for said in &told {
        let found = match said.as_str() {
            "progress" => card["progress"] == "half way",
            "note" => world.skein(&["show", "--events", "fix"]).out.contains("mind the gap"),
            "todo" => card["todos"][0]["text"] == "look",
            "commit" => card["commits"] == 1,
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
