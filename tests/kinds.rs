//! Kinds of workers: which one counts, what it binds a worker to, with a jail and without one.

use crate::agents::agent;
use crate::protocol::levels;
use crate::support::Ran;
use crate::support::World;
use serde_json::Value;
use serde_json::json;
use std::fs;

/// An agent that writes down what it was told, outside of its worktree.
const LISTENS: &[&str] = &["--", "sh", "-c", "cat; true"];

impl World {
    /// Puts a kind of the project on the trunk.
    pub fn kind(&self, name: &str, text: &str) {
        self.write(&format!(".skein/kinds/{name}.md"), text);
        self.commit("a kind");
    }

    /// Puts a kind into the person's own folder.
    fn own_kind(&self, name: &str, text: &str) {
        let folder = self.root().join("home/config/git-skein/kinds");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{name}.md")), text).unwrap();
    }

    /// Dispatches a worker of a kind, and waits for it.
    pub fn of_kind(&self, kind: &str, name: &str, options: &[&str], agent: &[&str]) -> Ran {
        let given = ["dispatch", "--wait", "--timeout", "100s", "--kind", kind, "--name", name, name];
        self.skein(&[&given[..], options, agent].concat())
    }

    pub fn record(&self, name: &str) -> Value {
        let record = self.git(["show", &format!("refs/skein/worker/{}:record.json", self.ulid(name))]);
        serde_json::from_str(&record).unwrap()
    }
}

#[test]
fn the_project_goes_before_the_person_and_that_before_the_program() {
    let world = World::new();
    let first = world.head();
    world.own_kind("patcher", "---\ndescription: mine\n---\nMine.\n");
    world.own_kind("own", "---\nagent: [sh, -c, 'cat; exit 0']\nchecks: ['true']\n---\nMine alone.\n");
    world.of_kind("patcher", "a", &[], LISTENS).ok();
    let said = world.skein(&["show", "--log", "a"]).ok().out;
    assert!(said.contains("You are a worker of git-skein") && said.ends_with("\nMine.\n"), "{said}");
    // The person's own may run, untrusted by anybody; what is said goes before it.
    world.of_kind("own", "b", &[], &[]).ok();
    assert_eq!(world.field("b", "checks"), json!(["true"]));
    assert!(world.skein(&["show", "--log", "b"]).ok().out.contains("Mine alone."));
    world.of_kind("own", "c", &["--check", "false"], &["--", "true"]).ok();
    assert_eq!((world.field("c", "checks"), world.field("c", "agent")), (json!(["false"]), json!(["true"])));

    world
        .kind("patcher", "---\nname: patcher\ndescription: ours\npaths: [src/**]\ntimeout: 90\n---\nOurs.\n");
    world.of_kind("patcher", "d", &[], LISTENS).ok();
    let record = world.record("d");
    assert_eq!((&record["paths"], &record["limits"]["timeout"]), (&json!(["src/**"]), &json!(100)));
    let kind = &record["kind"];
    assert_eq!((&kind["name"], &kind["from"]), (&json!("patcher"), &json!("project")));
    assert_eq!(world.rev("main:.skein/kinds/patcher.md"), kind["oid"]);
    let kept = format!("refs/skein/worker/{}:kind.md", world.ulid("d"));
    assert_eq!(world.rev(&kept), kind["oid"]);
    assert!(world.skein(&["show", "d"]).ok().out.contains("  kind      patcher (project)\n"));

    let listed = world.skein(&["kinds"]).ok().out;
    for line in
        ["patcher (project .skein/kinds/patcher.md)", "patcher (built-in, hidden)", "scout (built-in)"]
    {
        assert!(listed.contains(line), "{listed}");
    }
    let all = world.skein(&["kinds", "--json"]).ok().json()["result"]["kinds"].clone();
    let patchers: Vec<Value> =
        all.as_array().unwrap().iter().filter(|k| k["name"] == "patcher").cloned().collect();
    assert_eq!(patchers.iter().map(|k| &k["from"]).collect::<Vec<_>>(), ["project", "person", "built-in"]);
    assert_eq!(patchers.iter().map(|k| &k["shadowed"]).collect::<Vec<_>>(), [false, true, true]);

    // Only the tip of the trunk says what the project's are.
    world.write(".skein/kinds/patcher.md", "Not committed.\n");
    world.of_kind("patcher", "e", &["--base", &first], LISTENS).ok();
    assert!(world.skein(&["show", "--log", "e"]).ok().out.ends_with("\nOurs.\n"));
    world.check();
}

#[test]
fn the_default_counts_for_all_and_tasks_of_a_file_name_theirs() {
    let world = World::new();
    world.worker("plain", "true");
    assert!(world.record("plain")["kind"].is_null(), "the built-in one binds nobody");
    world.kind("default", "---\nforbid: [b.txt]\nshape: round\n---\nFor all.\n");
    let tasks =
        "{\"task\":\"one\",\"argv\":[\"true\"]}\n{\"task\":\"two\",\"kind\":\"scout\",\"argv\":[\"true\"]}\n";
    world.write("tasks", tasks);
    let ran = world.skein(&["dispatch", "--from", "tasks", "--wait"]).ok();
    let said = "kind default: these keys mean nothing here: shape\n";
    assert_eq!(ran.err.matches(said).count(), 1, "{}", ran.err);
    assert_eq!(
        (&world.record("one")["kind"]["name"], &world.record("two")["kind"]["name"]),
        (&json!("default"), &json!("scout"))
    );
    world.write("tasks", "{\"task\":\"x\",\"kind\":\"nobody\"}\n");
    let refused = world.skein(&["dispatch", "--from", "tasks"]).refused("bad-tasks", 1).err;
    assert!(refused.contains("line 1: there is no kind \"nobody\""), "{refused}");

    world.worker("bad", "echo 2 >b.txt; git commit -qam b");
    let refused = world.skein(&["land", "bad"]).refused("forbidden-path", 1).err;
    assert!(refused.contains("b.txt"), "{refused}");
    // Nor in a step that is taken back: it would stand in the history.
    world.worker(
        "back",
        "echo 2 >b.txt; git commit -qam b; echo b >b.txt; echo 1 >n; git add n; git commit -qam n",
    );
    world.skein(&["land", "back"]).refused("forbidden-path", 1);
}

#[test]
fn what_is_no_kind_starts_nothing() {
    let world = World::new();
    world.kind("loop", "---\nagent: loop\n---\n");
    world.kind("open", "---\nread_only: true\n");
    for (kind, token) in
        [("loop", "bad-kind"), ("open", "bad-kind"), ("none", "no-such-kind"), ("../x", "no-such-kind")]
    {
        world.of_kind(kind, "w", &[], LISTENS).refused(token, 1);
    }
    assert_eq!(world.git(["for-each-ref", "refs/skein/worker"]), "");
    assert!(world.skein(&["kinds"]).ok().out.contains("refused: bad-kind:"));
}

#[test]
fn who_only_reads_writes_nothing_and_reports() {
    let done = "git skein worker done --outcome complete --summary 'The parser has two callers' --evidence 'grep -rn parse: 2 lines'";
    for (world, level) in levels() {
        let script = format!("echo 2 >b.txt; {done}");
        let ran = world.of_kind("scout", "w", &["--jail", level], &["--", "sh", "-c", &script]);
        if level == "none" {
            assert!(ran.err.contains("without a jail nothing keeps it from writing"), "{}", ran.err);
            ran.code(1);
            assert_eq!(world.field("w", "outcome"), "failed");
            world.skein(&["import", "w", "--any-outcome"]).refused("only-reads", 1);
        } else {
            ran.ok();
            assert_eq!(fs::read_to_string(world.worktree("w").join("b.txt")).unwrap(), "b\n");
            // What its own git makes without the worktree does not get far either.
            let script =
                "t=$(printf x | git hash-object -w --stdin); git update-index --cacheinfo 100644,$t,b.txt
                git commit -qm sly";
            world.of_kind("scout", "sly", &["--jail", level], &["--", "sh", "-c", script]).code(1);
            world.skein(&["import", "sly", "--any-outcome"]).refused("only-reads", 1);
        }
        world.of_kind("scout", "r", &["--jail", level], &["--", "sh", "-c", done]).ok();
        let reason = world.field("r", "reason");
        assert_eq!(reason, "complete: The parser has two callers");
        let card = world.skein(&["show", "r"]).ok().out;
        assert!(card.contains("  kind      scout (built-in, reads only)\n"), "{card}");
        world.check();
    }
}

#[test]
fn a_child_has_the_kind_that_was_asked_for_and_never_more_than_its_parent() {
    let world = World::new();
    world.own_kind("reader", "---\nread_only: true\ncan_spawn: 1\n---\n");
    world.own_kind("strict", "---\nchecks: ['test -f b.txt']\ntimeout: 50s\ncan_spawn: 5\n---\nBe strict.\n");
    let script = "git skein worker spawn x --name c --kind strict -- true; git skein worker spawn x --name d -- true; \
                  git skein worker spawn x --kind nobody || true";
    let agent = ["--", "sh", "-c", script];
    world.of_kind("reader", "w", &["--check", "true"], &agent).ok();
    assert!(world.skein(&["show", "--log", "w"]).ok().out.contains("refused: no-such-kind:"));
    world.skein(&["wait"]);
    let child = world.record("c");
    assert_eq!((&child["checks"], &child["spawn"]), (&json!(["true", "test -f b.txt"]), &json!(1)));
    assert_eq!((&child["limits"]["timeout"], &child["kind"]["read_only"]), (&json!(50), &json!(true)));
    assert_eq!(world.record("d")["kind"]["read_only"], true);
}

#[test]
fn a_run_that_spends_more_than_its_budget_is_ended() {
    // It says what each turn has cost, and would never end.
    let turn = |cost: &str| {
        let event =
            format!("{{\"type\":\"turn_end\",\"message\":{{\"usage\":{{\"cost\":{{\"total\":{cost}}}}}}}}}");
        format!("echo '{{\"type\":\"turn_start\"}}'; echo '{event}'\n")
    };
    let script = format!("{}{}sleep 100", turn("0.2"), turn("0.2"));
    let world = agent(World::new(), "pi", &script);
    world.own_kind("thrifty", "---\nbudget: 0.25\n---\n");
    world.own_kind("lavish", "---\nbudget: 0.25\nagent: pi\n---\n");
    world.of_kind("thrifty", "w", &["--agent", "pi"], &[]).code(3);
    assert_eq!(world.field("w", "reason"), "it has spent more than $0.25, the budget of a run");
    assert!(world.skein(&["show", "w"]).ok().out.contains("  kind      thrifty (person, at most $0.25)\n"));
    // What is done already is not ended for what it cost.
    let script = format!("{}echo '{{\"type\":\"agent_end\"}}'", turn("0.9"));
    let world = agent(world, "pi", &script);
    world.of_kind("lavish", "d", &[], &[]).ok();
    assert_eq!(world.field("d", "outcome"), "ready");
}

#[test]
fn who_only_reads_runs_without_a_jail_only_if_a_person_wants_none() {
    let world = agent(World::new(), "bwrap", "exit 1");
    world.git(["config", "skein.jail", "auto"]);
    world.of_kind("scout", "w", &[], &["--", "true"]).refused("no-jail", 1);
    world.of_kind("patcher", "p", &[], &["--", "true"]).ok();
    world.of_kind("scout", "s", &["--jail", "none"], &["--", "true"]).ok();
    let ran = world.of_kind("architect", "a", &[], &["--", "true"]).ok();
    let said = "without a jail nothing keeps it from changing files before its plan is approved";
    assert!(ran.err.contains(said), "{}", ran.err);
}

#[test]
fn a_kind_and_the_policy_can_ask_for_a_jail() {
    let world = World::new();
    world.kind("careful", "---\nrequire_jail: true\n---\n");
    let script = "pwd > w.txt; git add w.txt; git commit -qm w";
    let work = ["--", "sh", "-c", script];
    // The person's own configuration says `none`.
    world.of_kind("careful", "w", &[], &work).refused("no-jail", 1);
    world.worker("free", script);
    world.write(".skein/policy.toml", "require_jail = true\n");
    world.commit("policy");
    let dispatch =
        |options: &[&str]| world.skein(&[&["dispatch", "--wait"], options, &["t"], &work].concat());
    dispatch(&["--name", "w"]).refused("no-jail", 1);
    dispatch(&["--name", "w", "--jail", "none"]).refused("no-jail", 1);
    world.skein(&["land", "free", "--gate", "true"]).refused("no-jail", 1);
    world.skein(&["land", "free"]).ok();
    if crate::jail::possible() {
        world.of_kind("careful", "w", &["--jail", "bwrap"], &work).ok();
        world.git(["config", "skein.jail", "auto"]);
        assert!(dispatch(&["--name", "x"]).ok().out.contains("jail      bwrap\n"));
        world.skein(&["check", "w", "--check", "! touch /outside"]).ok();
    }
    world.write(".skein/policy.toml", "require_jail = 'yes'\n");
    world.commit("bad policy");
    dispatch(&["--name", "y"]).refused("bad-policy", 1);
}
