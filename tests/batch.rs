//! Many at once: landing all that is ready, branches of the person's among them.

use crate::support::World;
use serde_json::json;

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
