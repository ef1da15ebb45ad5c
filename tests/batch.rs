//! Many at once: landing all that is ready, branches of the person's among them.

use crate::support::World;
use crate::support::acts::until;
use serde_json::Value;
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;

/// A worker that commits what `script` does.
fn works(world: &World, name: &str, script: &str) {
    world.worker(name, &format!("{script}\ngit add -A && git commit -qm {name}"));
    assert_eq!(world.field(name, "outcome"), "ready");
}

fn subjects(world: &World, range: &str) -> Vec<String> {
    world.lines(&["log", "--reverse", "--format=%s", range])
}

/// `wide` stands in the way of two others, `late` of the trunk; `idle` did nothing, `away` is for elsewhere.
fn crowd() -> World {
    let world = World::new();
    world.git(["branch", "other"]);
    works(&world, "wide", "sed -i 's/1/wide/; s/9/wide/' a.txt");
    works(&world, "one", "sed -i s/1/one/ a.txt");
    works(&world, "nine", "sed -i s/9/nine/ a.txt");
    works(&world, "new", "echo new > new.txt");
    works(&world, "late", "echo late > b.txt");
    world.worker("idle", "true");
    world.worker("failed", "exit 3");
    let args = ["dispatch", "--wait", "--onto", "other", "--name", "away", "t", "--", "sh", "-c"];
    world
        .skein(
            &[&args[..], &["git commit -q --allow-empty -m x; echo x > x; git add x; git commit -qm x"]]
                .concat(),
        )
        .ok();
    world.write("b.txt", "changed\n");
    world.commit("trunk");
    world
}

#[test]
fn all_that_is_ready_lands_in_the_order_that_lands_most() {
    let world = crowd();
    let base = world.head();
    let plan = world.skein(&["land", "--all", "--dry-run", "--json"]).ok().json()["result"]["plan"].clone();
    assert_eq!(plan["order"], json!(["new", "one", "nine"]));
    assert_eq!(
        plan["last"],
        json!([
            { "name": "wide", "by": ["one", "nine"], "paths": ["a.txt"] },
            { "name": "late", "by": ["main"], "paths": ["b.txt"] }
        ])
    );
    assert_eq!(plan["left_out"].to_string().matches("\"token\":null").count(), 2, "{plan}");
    assert_eq!(world.head(), base, "only a plan");

    let ran = world.skein(&["land", "--all"]).code(3);
    assert_eq!(subjects(&world, &format!("{base}..main")), ["new", "one", "nine"]);
    assert!(ran.out.starts_with("3 landings on main"), "the plan comes first: {}", ran.out);
    assert!(ran.out.contains("last wide: conflicts with one, nine in a.txt"), "{}", ran.out);
    assert!(
        ran.out.contains("not idle: ") && ran.out.contains("not away: it is meant for other"),
        "{}",
        ran.out
    );
    assert!(ran.out.ends_with("3 of 5 workers landed on main\n"), "{}", ran.out);
    assert_eq!(ran.err.matches("refused: conflict:").count(), 2, "{}", ran.err);
    assert_eq!(world.git(["status", "--porcelain"]), "");

    let again = world.skein(&["land", "--all", "--json"]).code(3).json();
    assert_eq!(again["result"]["plan"]["order"], json!([]));
    assert_eq!(again["result"]["landings"].as_array().unwrap().len(), 2);
    assert_eq!(again["result"]["landings"][0]["error"]["token"], "conflict");
    assert!(again["result"]["plan"]["left_out"].to_string().contains("it has landed already"));
    let other = world.skein(&["land", "--all", "--onto", "other", "--json"]).ok().json();
    assert_eq!(other["result"]["landings"][0]["name"], "away");
    world.check();
}

#[test]
fn a_gate_that_fails_for_one_does_not_keep_the_others() {
    let world = World::new();
    works(&world, "bad", "echo bad > bad.txt");
    works(&world, "good", "echo good > good.txt");
    world.skein(&["land", "--all", "--gate", "test ! -e bad.txt"]).code(5);
    assert!(world.path("good.txt").exists() && !world.path("bad.txt").exists());
}

#[test]
fn what_was_taken_back_is_not_landed_unasked() {
    let world = World::new();
    works(&world, "back", "echo back > back.txt");
    works(&world, "undone", "echo undone > undone.txt");
    world.skein(&["land", "back"]).ok();
    world.git(["revert", "--no-edit", "HEAD"]);
    let before = world.head();
    world.skein(&["land", "undone"]).ok();
    world.skein(&["undo"]).ok();
    works(&world, "new", "echo new > new.txt");
    let said = world.skein(&["land", "--all", "--json"]).ok().json()["result"]["plan"].clone();
    assert_eq!(
        (&said["order"], &said["left_out"]),
        (
            &json!(["new"]),
            &json!([
                { "name": "back", "why": "it was taken back after it had landed", "token": null },
                { "name": "undone", "why": "its landing was undone; to land it again, name it", "token": null }
            ])
        )
    );
    assert_eq!(subjects(&world, &format!("{before}..main")), ["new"]);
    // Asked for by its name it lands; from then on it is there.
    world.skein(&["land", "undone"]).ok();
    let again = world.skein(&["land", "--all"]).ok();
    assert!(again.out.contains("not undone: it has landed already"), "{}", again.out);
    world.check();
}

#[test]
fn work_that_cannot_be_taken_is_said_and_counts() {
    let world = World::new();
    world.skein(&["land", "--all"]).refused("no-such-worker", 1);
    works(&world, "ci", "mkdir -p .github/workflows && echo x > .github/workflows/x.yml");
    works(&world, "good", "echo good > good.txt");
    let said = world.skein(&["land", "--all", "--json"]).code(1).json();
    assert_eq!(said["result"]["plan"]["left_out"][0]["token"], "forbidden-path");
    assert_eq!(said["result"]["landings"][0]["result"]["name"], "good");
    assert_eq!(world.skein(&["land", "--all", "good"]).code, 129);
}

#[test]
fn the_plan_leaves_no_objects_behind() {
    let world = World::new();
    works(&world, "one", "sed -i s/1/one/ a.txt");
    works(&world, "nine", "sed -i s/9/nine/ a.txt");
    world.skein(&["import", "one"]).ok();
    world.skein(&["import", "nine"]).ok();
    let count = || world.git(["count-objects"]);
    let before = count();
    world.skein(&["land", "--all", "--dry-run"]).ok();
    assert_eq!(count(), before);
    let pictured = world.picture(&[]);
    world.skein(&["land", "--all", "--dry-run", "--json"]).ok();
    assert_eq!((count(), world.picture(&[])), (before, pictured));
}

#[test]
fn branches_keep_their_ancestry() {
    let world = World::new();
    let base = world.head();
    let branch = |name: &str, file: &str| {
        world.git(["switch", "--quiet", "--create", name, &base]);
        for n in ["1", "2"] {
            world.write(file, n);
            world.commit(&format!("{name} {n}"));
        }
        world.git(["switch", "--quiet", "main"]);
        world.rev(name)
    };
    let (first, second) = (branch("topic/first", "f.txt"), branch("second", "s.txt"));
    // A fast-forward makes no commit, whatever git is configured to do.
    world.git(["config", "merge.ff", "false"]);
    let done = world.skein(&["land", "topic/first", "--json"]).ok().json();
    assert_eq!((world.head(), &done["result"]["new"]), (first.clone(), &first.as_str().into()));
    // The second one merges: both parents, no rewritten commit.
    world.git(["config", "merge.ff", "only"]);
    world.skein(&["land", "second"]).ok();
    assert_eq!(world.lines(&["rev-parse", "main^1", "main^2"]), [first, second]);
    assert!(world.git(["log", "-1", "--format=%B"]).starts_with("Merge branch 'second' into main\n"));
    let again = world.skein(&["land", "second", "--json"]).ok().json();
    assert_eq!(again["result"]["already"], true);
    // One that main has by other means was never landed, and has nothing to bring.
    world.git(["branch", "old", &base]);
    world.skein(&["land", "old"]).refused("empty", 1);
    // Nor one that changes nothing, be it ahead or beside.
    for (name, at) in [("same", "main"), ("beside", &base)] {
        let empty = world.git(["commit-tree", "-p", at, "-m", name, &format!("{at}^{{tree}}")]);
        world.git(["branch", name, &empty]);
        let refused = world.skein(&["land", name]).refused("empty", 1);
        assert!(refused.err.contains("would change nothing on main"), "{}", refused.err);
        let landed = world.skein(&["land", "--allow-empty", name, "--json"]).ok().json()["result"].clone();
        assert_eq!((&landed["paths"], &landed["new"]), (&json!(0), &world.head().into()));
        assert_eq!(world.git(["merge-base", "--is-ancestor", name, "main"]), "");
    }
    // Without a common commit there is nothing to merge from; what does not overlap still comes in.
    world.git(["switch", "--quiet", "--orphan", "island"]);
    world.write("island.txt", "i\n");
    world.commit("island");
    world.git(["switch", "--quiet", "main"]);
    world.skein(&["land", "island"]).ok();
    assert!(world.path("island.txt").exists() && world.path("a.txt").exists());
    world.check();
}

#[test]
fn a_branch_is_not_squashed_and_that_is_said() {
    let world = World::new();
    world.git(["switch", "-q", "-c", "side"]);
    for name in ["one", "two"] {
        world.write(name, name);
        world.commit(name);
    }
    world.git(["switch", "-q", "main"]);
    world.skein(&["init"]).ok();
    let before = world.picture(&[]);
    for verb in [&["land"][..], &["land", "--dry-run"], &["candidate", "create"]] {
        let refused = world.skein(&[verb, &["--squash", "side"]].concat()).refused("keeps-commits", 1);
        assert!(refused.err.contains("git log --oneline"), "{}", refused.err);
        assert_eq!(world.picture(&[]), before);
    }
    world.skein(&["land", "side"]).ok();
    assert_eq!(subjects(&world, "main~2..main"), ["one", "two"]);
}

#[test]
fn what_has_landed_is_not_ready() {
    let world = World::new();
    works(&world, "one", "echo one >one");
    world.skein(&["land"]).ok();
    let again = world.skein(&["land"]).ok();
    assert!(again.out.contains("already"), "{}", again.out);
    works(&world, "two", "echo two >two");
    assert!(world.skein(&["land"]).ok().out.contains("landed: two on main"));
    works(&world, "picked", "echo picked >picked");
    world.git(["cherry-pick", &format!("refs/skein-local/head/{}", world.ulid("picked"))]);
    world.worker("more", "echo m >m; git add m; git commit -qm m; echo left >left");
    world.skein(&["land", "--uncommitted", "more"]).ok();
    let none = world.skein(&["land"]).refused("no-such-worker", 1);
    assert!(none.err.contains("has landed") && none.err.contains("picked"), "{}", none.err);
    works(&world, "three", "echo three >three");
    let plan = world.skein(&["land", "--all"]).ok();
    assert!(plan.out.contains("landed: three on main") && !plan.out.contains("empty"), "{}", plan.out);
    assert!(!plan.err.contains("refused"), "{}", plan.err);
    assert_eq!(subjects(&world, "main~1..main"), ["three"]);
    let none = world.skein(&["land", "--all", "--json"]).ok().json();
    assert_eq!(none["result"]["plan"]["order"].as_array().map(Vec::len), Some(0), "{none}");
}

/// What follows speaks of a worker by the name that was given, and would mean the other one.
#[test]
fn a_name_that_is_taken_starts_nothing() {
    let world = World::new();
    works(&world, "greet", "echo one >one");
    let before = world.picture(&[]);
    let again = ["dispatch", "--wait", "--name", "greet", "Greet others", "--", "true"];
    let refused = world.skein(&again).refused("name-taken", 1);
    assert!(refused.err.contains(&world.ulid("greet")), "{}", refused.err);
    assert!(refused.err.contains("git skein reap greet"), "{}", refused.err);
    assert_eq!(world.picture(&[]), before);
    world.skein(&["land", "greet"]).ok();
    world.skein(&again).refused("name-taken", 1);
    world.skein(&["reap", "--yes", "greet"]).ok();
    works(&world, "greet", "echo two >two");
    // The same task is another try, as after a dispatch that was killed.
    let twice = world.skein(&["dispatch", "--wait", "--name", "greet", "greet", "--", "true"]);
    assert!(twice.err.contains("this one is called greet-2"), "{}", twice.err);
    // A name that is only made from the task is made to differ.
    for _ in 0..2 {
        world.skein(&["dispatch", "--wait", "Say it", "--", "true"]);
    }
    assert!(world.ulid("say-it") != world.ulid("say-it-2"));
}

#[test]
fn a_branch_that_conflicts_or_crosses_is_for_a_person() {
    let world = World::new();
    world.git(["switch", "--quiet", "--create", "topic"]);
    world.write("b.txt", "topic\n");
    world.commit("topic");
    world.git(["switch", "--quiet", "main"]);
    world.write("b.txt", "main\n");
    let main = world.commit("main");
    let refused = world.skein(&["land", "topic"]).refused("conflict", 3);
    assert!(refused.err.contains("  b.txt\n"), "{}", refused.err);
    // Merged into each other: two merge bases, and no one answer.
    let (ours, theirs) = (world.rev("main"), world.rev("topic"));
    let tree = world.rev("main^{tree}");
    let crossed = world.git(["commit-tree", "-p", &theirs, "-p", &ours, "-m", "cross", &tree]);
    let mine = world.git(["commit-tree", "-p", &ours, "-p", &theirs, "-m", "cross", &tree]);
    world.git(["update-ref", "refs/heads/topic", &crossed]);
    world.git(["update-ref", "refs/heads/target", &mine]);
    let refused = world.skein(&["land", "topic", "--onto", "target"]).refused("conflict", 3);
    assert!(refused.err.contains("more than one merge base"), "{}", refused.err);
    assert_eq!((world.head(), world.rev("target")), (main, mine));
}

/// A file of tasks beside the repository. Each agent notes when it begins and ends; tasks called `bad` fail.
fn tasks(world: &World, lines: &[Value]) -> String {
    let file = world.root().join("tasks.jsonl");
    fs::write(&file, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    file.to_str().unwrap().to_owned()
}

const AGENT: &str = "read task; echo \"+ $task\" >> ../../log; case $task in bad*) exit 3;; esac; \
                     while [ -e ../../hold ]; do sleep 0.05; done; \
                     echo \"$task\" > \"$task.txt\"; git add -A; git commit -qm \"$task\"; echo \"- $task\" >> ../../log";

fn from<'a>(file: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["dispatch", "--from", file][..], more, &["--", "sh", "-c", AGENT]].concat()
}

fn log(world: &World) -> Vec<String> {
    let text = fs::read_to_string(world.root().join("log")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn states(ran: &crate::support::Ran) -> Vec<(String, String)> {
    let all = ran.json()["result"]["tasks"].as_array().unwrap().clone();
    let word = |t: &Value| match t["state"].as_str().unwrap() {
        "started" => t["outcome"].as_str().unwrap().to_owned(),
        other => other.to_owned(),
    };
    all.iter().map(|t| (t["name"].as_str().unwrap().to_owned(), word(t))).collect()
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

#[test]
fn tasks_run_so_many_at_a_time_and_after_one_another() {
    let world = World::new();
    let file = tasks(
        &world,
        &[
            json!({ "task": "last", "name": "last", "after": ["one", "two"] }),
            json!({ "task": "one", "name": "one", "paths": ["*.txt"], "checks": ["true"], "timeout": "5m" }),
            json!({ "task": "two", "name": "two" }),
            json!({ "task": "three" }),
            json!({ "task": "three" }),
            json!({ "task": "own", "name": "own", "argv": ["sh", "-c", "exit 0"] }),
        ],
    );
    let ran = world.skein(&from(&file, &["-j", "2", "--wait", "--json"])).ok();
    let all = ["last", "one", "two", "three", "three-2", "own"];
    assert_eq!(states(&ran), pairs(&all.map(|name| (name, "ready"))));
    let log = log(&world);
    let (mut now, mut most) = (0, 0);
    for line in &log {
        now += if line.starts_with('+') { 1 } else { -1 };
        most = most.max(now);
    }
    assert_eq!((now, most <= 2, log.len()), (0, true, 10), "{log:?}");
    let at = |line: &str| log.iter().position(|l| l == line).unwrap();
    assert!(at("+ last") > at("- one") && at("+ last") > at("- two"), "{log:?}");
    let card = world.skein(&["show", "one", "--json"]).ok().json();
    assert_eq!((&card["result"]["paths"], &card["result"]["checks"]), (&json!(["*.txt"]), &json!(["true"])));
    // Given again, nothing is started.
    let again = world.skein(&from(&file, &["--wait", "--json"])).ok();
    assert_eq!(states(&again), states(&ran));
    assert_eq!(world.git(["for-each-ref", "refs/skein/worker"]).lines().count(), 6);
    // The last two did the same: what is there already is no failure.
    world.skein(&["land", "--all"]).ok();
    assert!(["last", "one", "two", "three"].iter().all(|n| world.path(&format!("{n}.txt")).exists()));
}

#[test]
fn what_comes_after_a_failure_is_skipped() {
    let world = World::new();
    let file = tasks(
        &world,
        &[
            json!({ "task": "bad", "name": "bad" }),
            json!({ "task": "next", "name": "next", "after": ["bad"] }),
            json!({ "task": "far", "name": "far", "after": ["next", "fine"] }),
            json!({ "task": "fine", "name": "fine" }),
        ],
    );
    let ran = world.skein(&from(&file, &["--wait", "--json"])).code(1);
    let want = [("bad", "failed"), ("next", "skipped"), ("far", "skipped"), ("fine", "ready")];
    assert_eq!(states(&ran), pairs(&want));
    assert!(ran.err.contains("next: skipped, bad is failed"), "{}", ran.err);
    let text = world.skein(&from(&file, &["--wait"])).code(1).out;
    assert!(text.contains("far skipped: next is skipped"), "{text}");
    // Without --wait it ends when there is nothing left to start.
    let file = tasks(&world, &[json!({ "task": "slow", "name": "slow" })]);
    fs::write(world.root().join("hold"), "").unwrap();
    let ran = world.skein(&from(&file, &["--json"])).ok();
    assert_eq!(states(&ran), pairs(&[("slow", "active")]));
    fs::remove_file(world.root().join("hold")).unwrap();
    world.skein(&["wait"]).ok();
}

#[test]
fn a_killed_scheduler_goes_on_where_it_was() {
    let world = World::new();
    let names = ["one", "two", "three", "four"];
    let file = tasks(&world, &names.map(|n| json!({ "task": n, "name": n })));
    fs::write(world.root().join("hold"), "").unwrap();
    let args = from(&file, &["-j", "2", "--wait", "--json"]);
    let mut scheduler = world.command(&args);
    let mut scheduler =
        scheduler.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    until("two agents run", || log(&world).len() == 2);
    scheduler.kill().unwrap();
    scheduler.wait().unwrap();
    // Struck again while it dispatches the third.
    fs::remove_file(world.root().join("hold")).unwrap();
    let struck =
        world.command(&args).env("SKEIN_FAULT", "dispatch: worktree registered:1:kill").output().unwrap();
    assert_eq!(struck.status.code(), None);
    let ran = world.skein(&args).ok();
    assert_eq!(states(&ran), pairs(&names.map(|n| (n, "ready"))));
    let begun: Vec<String> = log(&world).into_iter().filter(|l| l.starts_with('+')).collect();
    assert_eq!(begun.len(), 4, "each was started once: {begun:?}");
    assert_eq!(begun.into_iter().collect::<BTreeSet<_>>().len(), 4);
    world.check();
}

#[test]
fn a_task_starts_from_where_its_branch_is_then() {
    let world = World::new();
    let base = world.head();
    // The first was done before, and has landed since.
    world.skein(&from(&tasks(&world, &[json!({ "task": "one", "name": "one" })]), &["--wait"])).ok();
    world.skein(&["land", "one"]).ok();
    let landed = world.head();
    let lines = [
        json!({ "task": "one", "name": "one" }),
        json!({ "task": "two", "name": "two", "after": ["one"] }),
        json!({ "task": "old", "name": "old", "after": ["one"], "base": base }),
    ];
    let file = tasks(&world, &lines);
    let ran = world.skein(&from(&file, &["--wait", "--json"])).ok().json();
    let bases: Vec<&str> =
        ran["result"]["tasks"].as_array().unwrap().iter().map(|t| t["base"].as_str().unwrap()).collect();
    assert_eq!(bases, [base.as_str(), &landed, &base]);
}

/// `one` changes line 1; `two` comes after it, looks for that and changes the line again; `far` after both.
fn chain() -> (World, String) {
    let world = World::new();
    let base = world.head();
    let agent = |script: &str| json!(["sh", "-ec", format!("{script}; git add -A; git commit -qm work")]);
    let two = "grep -q one a.txt; sed -i s/one/two/ a.txt; echo two > two.txt";
    let lines = [
        json!({ "task": "two", "name": "two", "after": ["one"], "argv": agent(two) }),
        json!({ "task": "one", "name": "one", "argv": agent("sed -i s/1/one/ a.txt") }),
        json!({ "task": "far", "name": "far", "after": ["one", "two"], "argv": agent("! grep one a.txt; echo far > far.txt") }),
        json!({ "task": "own", "name": "own", "after": ["one"], "base": "main", "argv": agent("echo own > own.txt") }),
    ];
    let file = tasks(&world, &lines);
    let ran = world.skein(&["dispatch", "--from", &file, "-j", "1", "--wait", "--json"]).ok();
    assert_eq!(states(&ran), pairs(&["two", "one", "far", "own"].map(|n| (n, "ready"))));
    let card = |name: &str, key: &str| world.field(name, key).as_str().unwrap().to_owned();
    let tip = card("one", "head");
    assert_eq!((card("two", "base"), card("two", "base_name")), (tip.clone(), "one".to_owned()));
    assert!(ran.err.contains(&format!("two: started from one {}", &tip[..10])), "{}", ran.err);
    assert_eq!((card("far", "base"), card("own", "base")), (base.clone(), base));
    assert_eq!(world.field("two", "commits"), 1, "only its own");
    (world, file)
}

#[test]
fn a_task_after_one_other_builds_on_its_work() {
    let (world, file) = chain();
    world.skein(&["landed", "two"]).code(1);
    let refused = world.skein(&["land", "two"]).refused("conflict", 3);
    assert!(
        refused.err.contains("two builds on the work of one, which main does not have"),
        "{}",
        refused.err
    );
    assert!(refused.err.contains("next: git skein land one two"), "{}", refused.err);
    let plan = world.skein(&["land", "--all", "--dry-run", "--json"]).ok().json()["result"]["plan"].clone();
    assert_eq!((&plan["order"], &plan["last"]), (&json!(["one", "two", "far", "own"]), &json!([])), "{plan}");
    world.skein(&["land", "one", "two"]).ok();
    assert!(world.read("a.txt").starts_with("line two\n") && world.path("two.txt").exists());
    assert_eq!(world.git(["rev-list", "--count", "main"]), "3");
    for name in ["one", "two"] {
        world.skein(&["landed", name]).ok();
    }
    let again = world.skein(&["dispatch", "--from", &file, "--wait", "--json"]).ok();
    assert_eq!(states(&again).len(), 4);
    world.skein(&["land", "--all"]).ok();
    world.skein(&["reap", "--all", "--yes"]).ok();
    assert_eq!(world.git(["for-each-ref", "refs/skein/worker"]), "");
    world.check();
}

#[test]
fn work_upon_work_that_has_not_landed_brings_only_its_own() {
    let world = World::new();
    let agent = |script: &str| json!(["sh", "-ec", format!("{script}; git add -A; git commit -qm work")]);
    let lines = [
        json!({ "task": "one", "name": "one", "argv": agent("sed -i s/1/one/ a.txt") }),
        json!({ "task": "two", "name": "two", "after": ["one"], "argv": agent("grep -q one a.txt; echo two > two.txt") }),
    ];
    let file = tasks(&world, &lines);
    world.skein(&["dispatch", "--from", &file, "--wait"]).ok();
    let ran = world.skein(&["land", "two"]).ok();
    assert!(
        ran.err.contains("two builds on the work of one, which main does not have; only its own"),
        "{}",
        ran.err
    );
    assert_eq!(world.git(["diff", "--name-only", "main^", "main"]), "two.txt");
    world.skein(&["landed", "two"]).ok();
    assert_eq!(
        world.skein(&["landed", "one", "--json"]).code(1).json()["result"]["verdict"]["verdict"],
        "not-landed"
    );
    let ran = world.skein(&["land", "--all"]).ok();
    assert!(ran.out.contains("not two: it has landed already"), "{}", ran.out);
    assert_eq!(world.git(["diff", "--name-only", "main^", "main"]), "a.txt");
    world.skein(&["landed", "one"]).ok();
    world.skein(&["landed", "two"]).ok();
    // What it builds on is in the trunk's way: so is it.
    let (world, _) = chain();
    world.write("a.txt", "other\n");
    world.commit("trunk");
    let plan = world.skein(&["land", "--all", "--json"]).code(3).json()["result"]["plan"].clone();
    assert_eq!(plan["order"], json!(["far", "own"]));
    assert_eq!(plan["last"][0]["name"], "one");
    assert_eq!(plan["last"][1], json!({ "name": "two", "by": ["main"], "paths": ["a.txt"] }));
    world.check();
}

#[test]
fn a_bad_file_starts_nothing() {
    let world = World::new();
    world.worker("taken", "true");
    let refs = world.git(["for-each-ref"]);
    for (text, says) in [
        ("{\"task\":\"t\"}\n{\"task\":\"t\",\"tsak\":1}\n", "line 2: unknown field `tsak`"),
        ("nonsense\n", "line 1: it is no JSON object"),
        ("[\"t\"]\n", "line 1: it is no JSON object"),
        ("{\"task\":\"t\",\"checks\":[\" \"]}\n", "line 1: checks: there is no command in it"),
        (
            "{\"task\":\"t\"}\n{\"task\":\"t\",\"base\":\"nowhere\"}\n",
            "line 2: \"nowhere\" names nothing here",
        ),
        ("{\"task\":\"t\",\"onto\":\"nowhere\"}\n", "line 1: there is no local branch nowhere"),
        ("{\"task\":\"t\",\"argv\":[\"no-such-program\"]}\n", "line 1: there is no program"),
        ("{\"task\":\"t\",\"done_pattern\":\"(\"}\n", "line 1: --done-pattern"),
        ("{\"task\":\"t\",\"name\":\"taken\"}\n", "line 1: name: taken is a worker with another task"),
        ("{\"task\":\"t\",\"name\":\"a\",\"after\":[\"a\"]}\n", "line 1: after: it waits for itself"),
    ] {
        let file = world.root().join("tasks.jsonl");
        fs::write(&file, text).unwrap();
        let ran =
            world.skein(&["dispatch", "--from", file.to_str().unwrap(), "--wait"]).refused("bad-tasks", 1);
        assert!(ran.err.contains(says), "{says}: {}", ran.err);
        assert_eq!(world.git(["for-each-ref"]), refs);
    }
    world.skein(&["dispatch", "--from", "/nowhere", "--wait"]).refused("no-task", 1);
    for usage in [
        &["dispatch", "--from", "x", "task"][..],
        &["dispatch", "-j", "2", "t"],
        &["dispatch", "--from", "x", "-j", "0"],
    ] {
        assert_eq!(world.skein(usage).code, 129, "{usage:?}");
    }
    // From standard input.
    let mut command = world.command(&["dispatch", "--from", "-", "--wait", "--json"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"{\"task\":\"run: true\",\"name\":\"in\"}")
        .unwrap();
    assert_eq!(states(&crate::support::ran(child.wait_with_output().unwrap())), pairs(&[("in", "ready")]));
}
