//! Undo: a branch goes back as it came, with its checkout, or not at all; and forward again.

use crate::support::Ran;
use crate::support::World;
use crate::support::ran;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const WORK: &str = "sed -i s/1/one/ a.txt && echo new > new.txt && git add -A && git commit -qm fixed";

/// With the work of worker `fix` on `main`, which is checked out; and the tips before and after.
fn landed() -> (World, String, String) {
    let world = World::new();
    let base = world.head();
    world.worker("fix", WORK);
    world.skein(&["land", "fix"]).ok();
    let new = world.head();
    (world, base, new)
}

fn result(ran: Ran) -> Value {
    ran.ok().json()["result"].clone()
}

/// The operation of the newest record of `kind`.
fn op(world: &World, kind: &str) -> String {
    let log = world.skein(&["log", "--json"]).ok().json();
    let all = log["result"]["entries"].as_array().unwrap();
    all.iter().find(|e| e["kind"] == kind).unwrap()["op"].as_str().unwrap().to_owned()
}

fn commit_tree(world: &World, parent: &str) -> String {
    world.git(["commit-tree", "-p", parent, "-m", "other", &format!("{parent}^{{tree}}")])
}

/// What the last line of a refusal tells to type, typed.
fn do_next(world: &World, refused: &Ran) -> Ran {
    let line = refused.err.lines().find(|l| l.contains("next:")).unwrap();
    let built = world.command(&[]);
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", line.split_once("next:").unwrap().1]).current_dir(&world.cwd).env_clear();
    for (key, value) in built.get_envs() {
        shell.env(key, value.unwrap());
    }
    let path = built.get_envs().find(|(k, _)| *k == "PATH").unwrap().1.unwrap().to_owned();
    let folder = Path::new(built.get_program()).parent().unwrap().to_owned();
    let folders = [folder].into_iter().chain(std::env::split_paths(&path));
    shell.env("PATH", std::env::join_paths(folders).unwrap());
    ran(shell.output().unwrap())
}

#[test]
fn a_landing_goes_back_and_can_land_again() {
    let (world, base, new) = landed();
    world.write("b.txt", "mine\n");
    world.write("free.txt", "mine\n");
    let landing = op(&world, "landing");
    let done = result(world.skein(&["undo", "--json"]));
    assert_eq!((&done["name"], &done["worker"]), (&"fix".into(), &world.ulid("fix").into()));
    assert_eq!(
        (&done["undoes"], &done["old"], &done["new"]),
        (&landing.into(), &new.clone().into(), &base.clone().into())
    );
    assert_eq!((world.rev("main"), world.read("a.txt").starts_with("line 1\n")), (base, true));
    assert_eq!(world.git(["status", "--porcelain"]), " M b.txt\n?? free.txt");
    assert!(world.reachable(&new), "the lane keeps what was taken back");
    world.skein(&["landed", "fix"]).code(1);
    let row = &world.skein(&["status", "--json"]).ok().json()["result"]["workers"][0];
    assert_eq!((&row["outcome"], &row["landed"]), (&"ready".into(), &Value::Null));
    assert_eq!(row["next"], "git skein land fix");
    assert!(world.skein(&["log"]).ok().out.contains("undone: main"));
    let note = world.git(["notes", "--ref=skein/landed", "show", &new]);
    assert!(note.contains(&world.ulid("fix")), "{note}");

    let again = result(world.skein(&["land", "fix", "--json"]));
    assert_eq!((again["already"].as_bool(), again["new"] == new), (Some(false), false), "{again}");
    world.skein(&["landed", "fix"]).ok();
    assert_eq!(
        world.skein(&["status", "--json"]).ok().json()["result"]["workers"][0]["landed"],
        again["new"]
    );
    // The newest landing that stands is the second one.
    assert_eq!(result(world.skein(&["undo", "--json"]))["old"], again["new"]);
    world.skein(&["undo"]).refused("nothing-to-undo", 1);
    world.check();
}

#[test]
fn an_undo_can_be_undone_as_often_as_one_likes() {
    let (world, base, new) = landed();
    let landing = op(&world, "landing");
    let prefix = &landing[..landing.len() - 1];
    for _ in 0..2 {
        world.skein(&["undo", prefix]).ok();
        assert_eq!(world.head(), base);
        let already = result(world.skein(&["undo", &landing, "--json"]));
        assert_eq!((already["already"].as_bool(), &already["undoes"]), (Some(true), &landing.clone().into()));
        let undo = op(&world, "undone");
        let redone = result(world.skein(&["undo", &undo, "--json"]));
        assert_eq!((redone["forward"].as_bool(), &redone["undoes"]), (Some(true), &undo.clone().into()));
        assert_eq!((world.head(), world.git(["status", "--porcelain"])), (new.clone(), String::new()));
        assert_eq!(result(world.skein(&["undo", &undo, "--json"]))["already"], true);
        world.skein(&["landed", "fix"]).ok();
        assert_eq!(result(world.skein(&["land", "fix", "--json"]))["already"], true);
    }
    // To take the redo back is to undo once more.
    let redo = op(&world, "undone");
    world.skein(&["undo", &redo]).ok();
    assert_eq!(world.head(), base);
    world.check();
}

#[test]
fn a_branch_of_the_person_and_a_coordination_branch_go_back() {
    let world = World::new();
    let base = world.head();
    world.git(["switch", "--quiet", "--create", "topic"]);
    world.write("topic.txt", "topic\n");
    world.commit("topic");
    world.git(["switch", "--quiet", "main"]);
    world.skein(&["land", "topic"]).ok();
    assert_eq!(world.rev("main"), world.rev("topic"));
    world.skein(&["undo"]).ok();
    assert_eq!((world.head(), world.path("topic.txt").exists()), (base.clone(), false));
    // With a merge: the trunk has gone on.
    world.write("main.txt", "main\n");
    let trunk = world.commit("main");
    world.skein(&["land", "topic"]).ok();
    assert_eq!(world.rev("main^1"), trunk);
    let done = result(world.skein(&["undo", "--json"]));
    assert_eq!((&done["name"], world.head()), (&"topic".into(), trunk));

    world.worker("fix", WORK);
    world.skein(&["import", "fix", "--into", "coord"]).ok();
    let before = world.rev("coord^");
    world.skein(&["undo"]).ok();
    assert_eq!(world.rev("coord"), before);
    world.skein(&["candidate", "create", "fix"]).ok();
    world.skein(&["candidate", "admit", "fix"]).ok();
    world.skein(&["candidate", "integrate", "fix"]).ok();
    world.skein(&["undo"]).ok();
    assert_eq!(world.rev("main"), before);
    world.check();
}

#[test]
fn what_stands_in_the_way_is_a_refusal() {
    let (world, _, new) = landed();
    let before = world.picture(&[]);
    let would = world.skein(&["undo", "--dry-run"]).ok();
    assert!(would.out.contains("would undo"), "{would:?}");
    assert_eq!((world.picture(&[]), op(&world, "landing")), (before, op(&world, "landing")));

    world.write("new.txt", "mine\n");
    assert!(world.skein(&["undo"]).refused("dirty-overlap", 1).err.contains("new.txt"));
    assert_eq!((world.head(), world.read("new.txt")), (new, "mine\n".to_owned()));
    world.git(["checkout", "--quiet", "new.txt"]);
    world.skein(&["undo", ""]).refused("no-such-operation", 1);
    world.skein(&["undo", "zzz"]).refused("no-such-operation", 1);
    let inside = world.command(&["undo"]).env("SKEIN_WORKER", "x").output().unwrap();
    ran(inside).refused("in-worker", 1);
    world.git(["reset", "--quiet", "--hard", "HEAD^"]);
    world.skein(&["undo"]).refused("nothing-to-undo", 1);
    assert_eq!(World::new().skein(&["undo"]).refused("nothing-to-undo", 1).out, "");
}

#[test]
fn what_is_built_upon_is_reverted_as_the_refusal_says() {
    let (world, base, new) = landed();
    world.write("later.txt", "later\n");
    let later = world.commit("later");
    let landing = op(&world, "landing");
    let refused = world.skein(&["undo", &landing]).refused("built-upon", 1);
    for part in [format!("{} later", &later[..10]), format!("git log --oneline {base}..refs/heads/main"), new]
    {
        assert!(refused.err.contains(&part), "{part}: {}", refused.err);
    }
    assert_eq!(world.head(), later);
    do_next(&world, &refused).ok();
    assert_eq!(world.git(["diff", "--name-only", &base, "main"]), "later.txt");
    assert_eq!(world.rev("main^"), later);
    world.skein(&["landed", "fix"]).code(1);
    world.check();
}

#[test]
fn what_was_pushed_is_reverted_as_the_refusal_says() {
    let world = World::new();
    world.git(["switch", "--quiet", "--create", "it's"]);
    world.write("topic.txt", "topic\n");
    world.commit("topic");
    world.git(["switch", "--quiet", "main"]);
    world.write("main.txt", "main\n");
    let trunk = world.commit("main");
    world.skein(&["land", "it's"]).ok();
    let merge = world.head();
    let beyond = commit_tree(&world, &merge);
    world.git(["update-ref", "refs/remotes/origin/main", &beyond]);
    world.git(["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main"]);
    let refused = world.skein(&["undo"]).refused("pushed", 1);
    assert!(refused.err.contains("refs/remotes/origin/main"), "{}", refused.err);
    assert_eq!(world.head(), merge);
    do_next(&world, &refused).ok();
    assert_eq!(world.git(["diff", "--name-only", &trunk, "main"]), "");
    world.check();
}

/// After a kill the same command must not take back the landing before as well.
#[test]
fn a_second_try_undoes_once() {
    let world = World::new();
    world.worker("one", "echo 1 > one.txt && git add -A && git commit -qm one");
    world.skein(&["land", "one"]).ok();
    let one = world.head();
    let first = op(&world, "landing");
    world.worker("two", "echo 2 > two.txt && git add -A && git commit -qm two");
    world.skein(&["land", "two"]).ok();
    let refused = world.skein(&["undo", "0"]).refused("ambiguous-operation", 1);
    assert!(refused.err.contains(&first), "{}", refused.err);
    for point in ["landing: checkout moved", "landing: branch moved"] {
        let died = world.command(&["undo"]).env("SKEIN_FAULT", format!("{point}:1:kill")).output().unwrap();
        assert_eq!(died.status.code(), None);
        let again = world.skein(&["undo"]).ok();
        assert!(again.out.contains("already undone"), "{again:?}");
        assert_eq!((world.head(), world.git(["status", "--porcelain"])), (one.clone(), String::new()));
        world.skein(&["undo", &op(&world, "undone")]).ok();
    }
    world.check();
}
