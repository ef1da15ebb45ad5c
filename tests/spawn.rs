//! Workers that start workers: who may, from where the new one starts, and how its result comes back, jailed and
//! not, and after kills.

use crate::protocol::in_order;
use crate::protocol::levels;
use crate::protocol::refusals;
use crate::support::Ran;
use crate::support::World;
use crate::support::acts::is_free;
use crate::support::acts::is_over;
use crate::support::acts::until;
use serde_json::Value;
use serde_json::json;
use std::fs;

const SPAWN: &str = "git skein worker spawn";

/// A child that commits one file and says so.
const CHILD: &str = "echo 1 >c; git add c; git commit -qm c; git skein worker done --outcome complete \
                     --summary 'The file c is new' --evidence 'cat c: 1'";

impl World {
    /// Dispatches a worker that may start others, and waits for it.
    fn starts(&self, level: &str, options: &[&str], script: &str) -> Ran {
        let given = ["--wait", "--timeout", "100s", "--jail", level, "--name", "w"];
        let script = in_order(script);
        self.skein(&[&["dispatch"], &given[..], options, &["w", "--", "sh", "-c", &script]].concat())
    }

    fn says(&self, name: &str) -> String {
        self.skein(&["show", "--log", name]).ok().out
    }

    /// The handles of the open workers that `w` has started.
    fn children(&self) -> Vec<String> {
        let all = self.skein(&["status", "--json"]).ok().json()["result"]["workers"].clone();
        let of = all.as_array().unwrap().iter().filter(|w| !w["parent"].is_null());
        of.map(|w| w["handle"].as_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn a_child_starts_from_the_work_of_its_parent_and_its_result_comes_back() {
    for (world, level) in levels() {
        let script = format!(
            "set -e; echo 1 >p; git add p; git commit -qm p; echo 2 >left
            {SPAWN} 'Write c' --name c --path c -- sh -c \"{CHILD}; {SPAWN} deeper\"
            git skein worker wait --stay >$TMPDIR/skein-told.$$; cat $TMPDIR/skein-told.$$
            tip=$(sed -n 's/^tip: \\([0-9a-f]*\\),.*/\\1/p' $TMPDIR/skein-told.$$); rm $TMPDIR/skein-told.$$ left
            git cherry-pick $tip >/dev/null; git skein worker inbox
            git skein worker done --outcome complete --summary 'The files p and c are new' --evidence 'ls: c p'"
        );
        world.starts(level, &["--spawn", "1", "--check", "true"], &script).ok();
        let said = world.says("w");
        let parent = world.field("w", "head");
        let base = world.field("c", "base");
        assert_eq!(
            base,
            world.rev(&format!("{}~1", parent.as_str().unwrap())),
            "what was committed, and no more"
        );
        assert!(said.contains(&format!("c is started, from {}", &base.as_str().unwrap()[..7])), "{said}");
        assert!(
            said.contains(&format!("message 1 (from {}):\nc ({0}) has ended: ready: ", world.ulid("c"))),
            "{said}"
        );
        assert!(said.contains("The file c is new") && said.contains("\n  A c\nto look: "), "{said}");
        assert!(said.contains("no messages\n"), "it has read it: {said}");
        for key in ["jail", "checks", "onto", "jail"] {
            assert_eq!(world.field("c", key), world.field("w", key), "{key}");
        }
        assert_eq!((world.field("c", "base_name"), world.field("c", "paths")), (json!("w"), json!(["c"])));
        let record = world.git(["show", &format!("refs/skein/worker/{}:record.json", world.ulid("c"))]);
        let record: Value = serde_json::from_str(&record).unwrap();
        assert_eq!((&record["parent"]["depth"], &record["limits"]["timeout"]), (&json!(1), &json!(100)));
        assert_eq!(world.field("w", "messages")[0]["state"], "read");
        let card = world.skein(&["show", "w"]).ok().out;
        assert!(
            card.contains("  children  c (ready)\n")
                && card.contains("  told      1 from a child (read): c ("),
            "{card}"
        );
        assert!(world.skein(&["show", "c"]).ok().out.contains("  parent    w (ready)\n"));
        assert!(world.skein(&["status"]).ok().out.contains("w started: c (ready)\n"));
        assert!(world.skein(&["reap", "w"]).code(1).out.contains("it started, still open: c\n"));
        world.skein(&["land", "w"]).ok();
        assert_eq!(world.git(["show", "main:c", "main:p"]), "1\n1");
        world.skein(&["reap", "w", "--yes"]).ok();
        assert!(world.skein(&["show", "c"]).ok().out.contains("(closed)\n"));
        world.check();
    }
}

#[test]
fn only_who_may_starts_others_and_only_so_deep() {
    for (world, level) in levels() {
        world.starts(level, &[], &format!("{SPAWN} x; echo $?; {SPAWN} ' '"));
        let said = world.says("w");
        refusals(&said, "spawn-refused", 1);
        assert!(said.contains("this worker may not start others\n"), "{said}");
        assert!(
            said.contains("\n1\nrefused: bad-call: the task is empty\n") && world.children().is_empty(),
            "{said}"
        );
        world.skein(&["worker", "spawn", "x"]).refused("not-a-worker", 1);
        world.skein(&["reap", "w", "--yes"]).ok();
        world.git(["config", "skein.spawn", "2"]);
        // Each starts one below it, as deep as it goes.
        let script = format!(
            "echo \"$SKEIN_HANDLE\"; {SPAWN} deeper --name \"$SKEIN_HANDLE-x\" && git skein worker wait --stay || true"
        );
        world.starts(level, &[], &script);
        assert_eq!(world.children(), ["w-x", "w-x-x"], "{}", world.says("w"));
        assert!(
            world.says("w-x-x").contains("workers are started 2 deep at most"),
            "{}",
            world.says("w-x-x")
        );
        assert_eq!(world.field("w-x-x", "parent")["handle"], "w-x");
        world.git(["config", "skein.spawn", "many"]);
        world.skein(&["dispatch", "x", "--", "true"]).refused("bad-limit", 1);
    }
}

#[test]
fn the_same_request_starts_one_child_whatever_dies_between() {
    // Where the process dies that dispatches it, and whether a child is left then.
    for (point, left) in [("", 1), ("dispatch: worker recorded", 0), ("dispatch: supervisor started", 1)] {
        let world = match point {
            "" => World::new(),
            point => World::new().env("SKEIN_SUPERVISOR_FAULT", &format!("{point}:1:kill")),
        };
        let spawn = format!("{SPAWN} x --name c --request one -- sh -c \"sleep 0.5\"");
        world.starts("none", &["--spawn", "1"], &format!("{spawn}; {spawn}; {spawn}; echo over"));
        let said = world.says("w");
        assert!(said.contains("over\n"), "{said}");
        world.skein(&["wait"]);
        world.skein(&["stop", "w"]).ok();
        assert_eq!(world.children().len(), left, "{point}: {said}");
        let again = if point.is_empty() { 2 } else { 2 * left };
        assert_eq!(said.matches("c was started already").count(), again, "{point}: {said}");
        world.check();
    }
}

#[test]
fn a_supervisor_that_dies_before_the_dispatch_leaves_no_child() {
    let world = World::new().env("SKEIN_SUPERVISOR_FAULT", "spawn: request noted:1:kill");
    world.starts("none", &["--spawn", "1"], &format!("{SPAWN} x; sleep 100"));
    world.skein(&["stop", "w"]);
    assert_eq!((world.field("w", "outcome"), world.children().len()), (json!("failed"), 0));
    world.check();
}

#[test]
fn a_child_outlives_its_parent_and_speaks_for_itself_only() {
    for (world, level) in levels() {
        let child = "until test -f go; do sleep 0.02; done; echo 1 >c; git add c; git commit -qm c
            OUT=$SKEIN_OUTBOX; SKEIN_OUTBOX=$(cat parent) git skein worker note spoofed; echo $?; rm parent go";
        world.write("child", child);
        world.commit("child");
        let script = format!("{SPAWN} x --name c -- sh child");
        world.starts(level, &["--spawn", "1"], &script);
        assert!(world.says("w").contains("c is started"), "{}", world.says("w"));
        let outbox = world.path(".git/skein/run").join(world.ulid("w")).join("outbox");
        let at = world.worktree("c");
        fs::write(at.join("parent"), outbox.to_str().unwrap()).unwrap();
        fs::write(at.join("go"), "").unwrap();
        world.skein(&["wait", "c"]).ok();
        assert_eq!((world.field("c", "outcome"), world.field("c", "flags")), (json!("ready"), json!([])));
        until("the message", || !world.field("w", "messages").is_null());
        let told = world.field("w", "messages")[0].clone();
        assert_eq!(told["from"], world.ulid("c"));
        assert_eq!(told["state"], "undeliverable", "it had ended");
        assert!(world.says("c").contains("refused: not-a-worker"), "{}", world.says("c"));
        world.check();
    }
}

#[test]
fn a_child_does_not_speak_as_its_living_parent() {
    let world = World::new();
    let child = "SKEIN_OUTBOX=$0 git skein worker fail --reason spoofed; true";
    let script =
        format!("{SPAWN} x --name c -- sh -c '{child}' \"$SKEIN_OUTBOX\"; git skein worker wait --stay");
    world.starts("none", &["--spawn", "1"], &script);
    assert!(world.says("c").contains("refused: not-the-worker:"), "{}", world.says("c"));
    assert_ne!(world.field("w", "outcome"), "failed");
}

#[test]
fn the_end_of_a_child_is_told_even_if_its_supervisor_dies_before() {
    let world = World::new();
    let script =
        format!("{SPAWN} x --name c -- sh -c 'sleep 600'; until test -f go; do sleep 0.02; done; rm go");
    let options = ["--timeout", "100s", "--spawn", "1", "--name", "w", "w", "--", "sh", "-c", &script];
    world.skein(&[&["dispatch"], &options[..]].concat()).ok();
    until("a child", || !world.children().is_empty());
    let pid = world.path(".git/skein/run").join(world.ulid("c")).join("pid");
    until("its supervisor", || pid.exists());
    let pid = fs::read_to_string(pid).unwrap();
    std::process::Command::new("kill").args(["-KILL", pid.trim()]).output().unwrap();
    until("its end", || !crate::support::acts::runs(pid.trim()));
    world.skein(&["init"]).ok();
    world.skein(&["stop", "c"]).ok();
    let told = world.field("w", "messages")[0].clone();
    assert!(told["text"].as_str().unwrap().contains("failed: its supervisor was lost"), "{told}");
    assert_eq!(told["state"], "queued");
    fs::write(world.worktree("w").join("go"), "").unwrap();
    world.skein(&["wait", "w"]);
}

#[test]
fn an_end_that_was_recorded_is_told_once() {
    let world = World::new().env("SKEIN_SUPERVISOR_FAULT", "finish: outcome recorded:1:kill");
    let script = format!("{SPAWN} x --name c -- true; until test -f go; do sleep 0.02; done; rm go");
    let options = ["--timeout", "100s", "--spawn", "1", "--name", "w", "w", "--", "sh", "-c", &script];
    world.skein(&[&["dispatch"], &options[..]].concat()).ok();
    until("the end of the child", || !world.children().is_empty() && world.field("c", "outcome") != "active");
    // Its supervisor died before it could tell; a writing verb that came by since has told it then.
    assert!(world.field("w", "messages").as_array().is_none_or(|told| told.len() == 1));
    for _ in 0..2 {
        world.skein(&["init"]);
        world.skein(&["stop", "c"]).ok();
        assert_eq!(world.field("w", "messages").as_array().unwrap().len(), 1);
    }
    fs::write(world.worktree("w").join("go"), "").unwrap();
    world.skein(&["wait", "w"]);
    world.check();
}

#[test]
fn so_many_run_at_a_time_and_no_more() {
    let world = World::new();
    let child = "-- sh -c 'until test -f \"$0\"; do sleep 0.05; done' \"$PWD/go\"";
    let script = format!(
        "for i in 1 2 3 4 5 6 7 8 9 10; do {SPAWN} x --name c$i --request $i {child} & done; wait
        touch go; until {SPAWN} x --name last -- true; do git skein worker wait --stay >/dev/null; done"
    );
    world.starts("none", &["--spawn", "1"], &script);
    let said = world.says("w");
    assert!(said.matches("and 8 are the most").count() >= 2, "{said}");
    assert_eq!(world.children().len(), 9, "{said}");
    world.skein(&["wait"]);
    // Each of them tells its end to who started it, when its own record says already that it has ended.
    let all = world.lines(&["for-each-ref", "--format=%(refname:lstrip=3)", "refs/skein/worker"]);
    let folder = world.path(".git/skein/run");
    until("their supervisors end", || all.iter().all(|id| is_over(id) && is_free(&folder.join(id))));
    world.check();
}

#[test]
fn a_request_whose_child_was_closed_starts_no_other_one() {
    let world = World::new();
    let spawn = format!("{SPAWN} x --name c --request one -- true");
    let script = format!("{spawn}; until test -f go; do sleep 0.02; done; rm go; {spawn}");
    let options = ["--timeout", "100s", "--spawn", "1", "--name", "w", "w", "--", "sh", "-c", &script];
    world.skein(&[&["dispatch"], &options[..]].concat()).ok();
    until("a child", || !world.children().is_empty());
    world.skein(&["wait", "c"]).ok();
    world.skein(&["reap", "c", "--yes"]).ok();
    fs::write(world.worktree("w").join("go"), "").unwrap();
    world.skein(&["wait", "w"]).ok();
    assert!(world.says("w").contains("c was started already"), "{}", world.says("w"));
    assert!(world.children().is_empty());
}
