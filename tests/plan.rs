//! Plans: a worker that has to plan first changes nothing before a person has approved that very plan.

use crate::protocol::in_order;
use crate::protocol::levels;
use crate::protocol::refusals;
use crate::support::World;
use serde_json::json;

const PLAN: &str = "git skein worker plan --goal 'A file n' --step 'Write it -- n src/**' --step 'Look' \
                    --verify 'cat n' --risk 'It is there already'";
const DONE: &str =
    "git skein worker done --outcome complete --summary 'The file n is new' --evidence 'cat n: 1'";

impl World {
    fn plans(&self, level: &str, options: &[&str], script: &str) -> String {
        let script = in_order(script);
        let given = [&["--jail", level], options].concat();
        self.of_kind("architect", "w", &given, &["--", "sh", "-c", &script]);
        self.skein(&["show", "--log", "w"]).ok().out
    }

    fn plan_id(&self) -> String {
        let record = self.record("w");
        record["plans"].as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned()
    }
}

#[test]
fn nothing_is_changed_before_the_plan_is_approved_and_then_it_is_kept_to() {
    for (world, level) in levels() {
        // In a jail it cannot write before; without one this one does not.
        let early = if level == "none" { "" } else { "echo 2 >b.txt;" };
        let script = format!(
            "if grep -q 'Your plan .* is approved' $SKEIN_BRIEF; then echo 1 >n; echo 2 >off; git add n off; git commit -qm n; {DONE}
            else {early} git skein worker spawn x; git skein worker commit -m x; {PLAN}; {PLAN}; fi"
        );
        let said = world.plans(level, &["--spawn", "1"], &script);
        refusals(&said, "plan-first", 1);
        refusals(&said, "turn-ended", 1);
        assert!(said.contains(" waits for a person. End your turn now"), "{said}");
        assert_eq!(said.contains("Read-only file system"), level != "none", "{said}");
        assert_eq!(
            (world.field("w", "outcome"), world.field("w", "files")),
            (json!("needs-input"), json!(0))
        );
        assert_eq!(world.field("w", "reason"), "its plan waits: A file n");
        assert_eq!(world.field("w", "next"), "git skein plan w");

        let id = world.plan_id();
        let shown = world.skein(&["plan", "w"]).ok().out;
        for line in [
            &format!("w plan {} of 1\n", &id[..12]),
            "  goal      A file n\n",
            "  step      1. Write it (n src/**)\n",
            "  verify    cat n\n",
            "  risk      It is there already\n",
        ] {
            assert!(shown.contains(line), "{line}: {shown}");
        }
        world.skein(&["plan", "w", "reject"]).refused("no-task", 1);
        world.skein(&["plan", "w", "reject", "-m", "Too bold"]).ok();
        world.skein(&["wait", "w"]);
        let record = world.record("w");
        assert_eq!(record["plans"][0]["decided"]["verdict"], "reject");
        assert_eq!(record["plans"][0]["decided"]["by"], "Ada <ada@example.invalid>");
        assert!(
            record["plans"][1]["decided"].is_null()
                && record["messages"][0]["text"] == format!("Your plan {} is rejected: Too bold", &id[..12])
        );

        let ran = world.skein(&["plan", "w", "approve", "--plan", &id[..8]]).ok().out;
        assert!(ran.ends_with("next: git skein wait w\n"), "{ran}");
        world.skein(&["wait", "w"]).ok();
        world.skein(&["plan", "w", "approve"]).refused("plan-decided", 1);
        let card = world.skein(&["show", "w"]).ok().out;
        for line in [
            "  approved  by Ada ",
            "  planned   n\n",
            "  off plan  off\n",
            "  untouched src/**\n",
            "  kind      architect (built-in, plans first)\n",
        ] {
            assert!(card.contains(line), "{line}: {card}");
        }
        let plan = world.field("w", "plan");
        assert_eq!(
            (&plan["planned"], &plan["off_plan"], &plan["untouched"]),
            (&json!(["n"]), &json!(["off"]), &json!(["src/**"]))
        );
        let imported = world.skein(&["import", "w"]).ok().out;
        assert!(imported.contains("  off its plan: off\n"), "{imported}");
        world.skein(&["land", "w"]).ok();
        assert_eq!(world.git(["show", "main:n"]), "1");
        world.check();
    }
}

#[test]
fn what_was_changed_before_is_approved_by_nobody() {
    let world = World::new();
    // It changes a file when it has planned already.
    let said = world.plans(
        "none",
        &[],
        &format!("echo 2 >b.txt; {PLAN}; git checkout -q b.txt; {PLAN}; echo 3 >b.txt"),
    );
    refusals(&said, "plan-late", 1);
    assert_eq!(world.field("w", "reason"), "it changed files before its plan was approved");
    let refused = world.skein(&["plan", "w", "approve"]).refused("plan-late", 1).err;
    assert!(refused.contains("\n  b.txt\n"), "{refused}");
    assert!(world.record("w")["plans"][0]["decided"].is_null());
    world.skein(&["import", "w", "--any-outcome"]).refused("plan-first", 1);
    world.skein(&["reap", "w", "--yes", "--include-unlanded"]).ok();

    // A commit without any plan.
    let said = world.plans(
        "none",
        &[],
        &format!("echo 1 >n; git add n; git commit -qm n; {DONE}; git skein plan w approve; exit 0"),
    );
    refusals(&said, "plan-first", 1);
    refusals(&said, "in-worker", 1);
    assert_eq!(world.field("w", "outcome"), "needs-input");
    world.skein(&["plan", "w"]).refused("no-plan", 1);
    world.skein(&["plan", "w", "approve"]).refused("no-plan", 1);
    world.skein(&["import", "w", "--any-outcome"]).refused("plan-first", 1);
    world.check();
}

#[test]
fn a_verdict_is_on_the_version_that_was_read() {
    let world = World::new();
    let times = world.root().join("times");
    let bad = "git skein worker plan --goal x --step y --verify z; git skein worker plan --goal x --step 'y -- a[' --verify z";
    let script = format!(
        "echo x >>{0}; {bad}; git skein worker plan --goal \"goal $(wc -l <{0})\" --step 'x -- n' --verify y",
        times.display()
    );
    let said = world.plans("none", &[], &script);
    refusals(&said, "bad-call", 1);
    refusals(&said, "bad-pattern", 1);
    let first = world.plan_id();
    world.skein(&["resume", "w"]).ok();
    world.skein(&["wait", "w"]);
    let second = world.plan_id();
    assert_ne!(first, second);
    world.skein(&["plan", "w", "approve", "--plan", &first]).refused("plan-moved", 4);
    world.skein(&["plan", "w", "approve", "--plan", "0000000000"]).refused("no-plan", 1);
    assert!(world.skein(&["plan", "w"]).ok().out.contains("goal 2\n"));
    // What a command that dies in between leaves is decided, and the worker goes on when it is told to.
    let output = world
        .command(&["plan", "w", "approve", "--plan", &second])
        .env("SKEIN_FAULT", "plan: verdict recorded:1:kill")
        .output();
    assert_eq!(output.unwrap().status.code(), None);
    assert_eq!(world.record("w")["plans"][1]["decided"]["verdict"], "approve");
    world.skein(&["plan", "w", "approve"]).refused("plan-decided", 1);
    world.skein(&["resume", "w"]).ok();
    world.skein(&["wait", "w"]);
    let said = world.skein(&["show", "--log", "w"]).ok().out;
    refusals(&said, "plan-decided", 1);
    world.check();
}
