//! Tracked files that make commands run: nothing of them runs before the person has trusted their exact content.

use crate::support::World;
use crate::support::acts::until;
use serde_json::json;
use std::fs;
use std::path::Path;

const PATH: &str = ".skein/kinds/maker.md";

/// A kind whose agent leaves a mark.
fn maker(mark: &Path, checks: &str) -> String {
    format!("---\nagent: [sh, -c, 'touch {}']\nchecks: [{checks}]\n---\nMake it.\n", mark.display())
}

fn sha256sum(world: &World) -> String {
    let sum = std::process::Command::new("sha256sum").arg(world.path(PATH)).output().unwrap();
    String::from_utf8(sum.stdout).unwrap()[..64].to_owned()
}

#[test]
fn nothing_of_it_runs_before_its_very_content_is_trusted() {
    let world = World::new();
    let mark = world.root().join("mark");
    world.kind("maker", &maker(&mark, "'true'"));
    let dispatch = ["dispatch", "--wait", "--kind", "maker", "--name", "w", "w"];
    // Not even with another agent: the checks are its own, too.
    world.skein(&[&dispatch[..], &["--", "true"]].concat()).refused("untrusted", 1);
    let refused = world.skein(&dispatch).refused("untrusted", 1).err;
    let digest = sha256sum(&world);
    for part in [
        &format!("digest: {digest}\n"),
        &format!("git skein trust --yes {}\n", &digest[..12]),
        "agent: sh -c touch ",
        "check: true\n",
        &format!("git show main:{PATH}"),
    ] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    world.write("tasks", "{\"task\":\"x\",\"kind\":\"maker\"}\n");
    let batch = world.skein(&["dispatch", "--from", "tasks"]).refused("bad-tasks", 1).err;
    assert!(
        batch.contains("line 1: the kind \"maker\" of this project makes commands run, and nobody"),
        "{batch}"
    );
    assert!(world.skein(&["kinds"]).ok().out.contains("not trusted: git skein trust\n"));
    let shown = world.skein(&["trust"]).code(1).out;
    assert!(
        shown.contains(&format!("{digest} {PATH}: not trusted\n")) && shown.contains("| Make it.\n"),
        "{shown}"
    );
    assert!(!mark.exists() && world.git(["for-each-ref", "refs/skein/worker"]).is_empty());

    // A checkout is nothing to go by, nor is what somebody else has trusted.
    for name in ["nothing.md", &digest[..7], &"0".repeat(64)] {
        world.skein(&["trust", "--yes", name]).refused("no-such-kind", 1);
    }
    assert!(
        world.skein(&["trust", "--yes", PATH]).ok().out.contains(&format!("{digest} {PATH}: trusted now\n"))
    );
    assert!(world.git(["config", "--local", "skein.trust"]).starts_with(&digest));
    world.skein(&dispatch).ok();
    assert!(mark.exists());
    assert_eq!(world.field("w", "kind")["name"], "maker");
    fs::remove_file(&mark).unwrap();

    let old = world.rev(&format!("main:{PATH}"));
    world.kind("maker", &maker(&mark, "'false'"));
    let refused = world.skein(&dispatch).refused("untrusted", 1).err;
    let new = world.rev(&format!("main:{PATH}"));
    assert!(
        refused.contains("has changed since") && refused.contains(&format!("git diff {old} {new}")),
        "{refused}"
    );
    let shown = world.skein(&["trust"]).code(1).out;
    assert!(shown.contains("| -checks: ['true']\n") && shown.contains("| +checks: ['false']\n"), "{shown}");
    let listed = world.skein(&["trust", "--list"]).code(1).out;
    assert!(listed.contains("changed since it was trusted\nnext:"), "{listed}");
    assert!(!mark.exists());
    // What was trusted before is trusted still, wherever it came from.
    world.kind("maker", &maker(&mark, "'true'"));
    world.skein(&["trust"]).ok();
    world.check();
}

#[test]
fn without_a_configuration_the_environment_names_what_is_trusted() {
    let world = World::new();
    let mark = world.root().join("mark");
    world.kind("maker", &maker(&mark, "'true'"));
    let dispatch = ["dispatch", "--wait", "--kind", "maker", "--name", "w", "w"];
    let with = |value: &str| {
        let output = world.command(&dispatch).env("SKEIN_TRUST", value).output().unwrap();
        crate::support::ran(output)
    };
    with("0000").refused("untrusted", 1);
    with(&format!("0000, {}", sha256sum(&world))).ok();
    assert!(mark.exists());
    world.skein(&["trust"]).code(1);
}

#[test]
fn the_own_need_none_and_a_worker_gives_none() {
    let world = World::new();
    assert_eq!(world.skein(&["trust"]).ok().out, "nothing tracked makes commands run\n");
    world.kind("maker", "---\nagent: [\"true\"]\n---\n");
    world.kind("words", "Only words.\n");
    // From inside it can neither trust it nor start it.
    let script = "git skein trust --yes 2>&1; git skein worker spawn x --kind maker 2>&1; true";
    let given = [
        "dispatch", "--wait", "--spawn", "1", "--kind", "words", "--name", "w", "w", "--", "sh", "-c", script,
    ];
    world.skein(&given).ok();
    let said = world.skein(&["show", "--log", "w"]).ok().out;
    assert!(said.contains("refused: in-worker:") && said.contains("refused: untrusted:"), "{said}");
    assert_eq!(world.git(["config", "--default", "none", "skein.trust"]), "none");

    // Trust is written where workers are watched for writing.
    let given =
        ["dispatch", "--name", "live", "x", "--", "sh", "-c", "until test -f go; do sleep 0.02; done; rm go"];
    world.skein(&given).ok();
    world.skein(&["trust", "--yes"]).refused("still-running", 1);
    fs::write(world.worktree("live").join("go"), "").unwrap();
    world.skein(&["wait", "live"]).ok();
    until("its supervisor is gone", || world.skein(&["trust", "--yes"]).code == 0);
    assert_eq!(world.field("live", "flags"), json!([]));
}

const POLICY: &str = ".skein/policy.toml";

/// The team's policy, on the trunk.
fn policy(world: &World, text: &str) {
    world.write(POLICY, text);
    world.commit("policy");
}

/// A command that leaves a line in a file outside, and what it says of its work.
fn noting(world: &World, name: &str, rest: &str) -> String {
    format!("echo x >> {}; {rest}", world.root().join(name).display())
}

fn lines(world: &World, name: &str) -> usize {
    fs::read_to_string(world.root().join(name)).unwrap_or_default().lines().count()
}

const WORK: &str = "sed -i s/1/one/ a.txt; git commit -qam one";

#[test]
fn a_gate_of_the_policy_runs_when_it_is_trusted_and_a_change_asks_again() {
    let world = World::new();
    let gate = noting(&world, "ran", "grep -q one a.txt");
    policy(&world, &format!("gate = ['{gate}']\n"));
    world.worker("fix", WORK);
    let main = world.rev("main");
    world.skein(&["candidate", "create", "fix"]).ok();
    for args in [
        &["land", "fix"][..],
        &["land", "fix", "--dry-run"],
        &["land", "fix", "--gate", "true"],
        &["candidate", "admit", "fix", "--gate", "true"],
        &["candidate", "integrate", "fix"],
    ] {
        let refused = world.skein(args).refused("untrusted", 1).err;
        for part in [
            &format!("gate: {gate}"),
            "the policy of main makes commands run, and nobody has trusted it here",
            &format!("git show main:{POLICY}"),
        ] {
            assert!(refused.contains(part), "{args:?} {part}: {refused}");
        }
    }
    assert_eq!((world.rev("main"), lines(&world, "ran")), (main, 0));
    // What is only collected is checked when that lands.
    world.skein(&["import", "fix", "--into", "coord"]).ok();
    world.skein(&["land", "coord"]).refused("untrusted", 1);
    let shown = world.skein(&["trust"]).code(1).out;
    assert!(shown.contains(&format!("{POLICY}: not trusted\n  gate: ")), "{shown}");
    world.skein(&["trust", "--yes", POLICY]).ok();
    // Another gate is no way around it.
    world.skein(&["candidate", "integrate", "fix"]).refused("not-admitted", 1);
    let landed = world.skein(&["land", "fix", "--json"]).ok().json();
    assert_eq!(landed["result"]["gates"], json!([gate]));
    assert_eq!(lines(&world, "ran"), 1);

    let old = world.rev(&format!("main:{POLICY}"));
    world.git(["reset", "-q", "--hard"]);
    policy(&world, &format!("gate = ['{gate}', 'false']\n"));
    world.worker("next", "sed -i s/2/two/ a.txt; git commit -qam two");
    let refused = world.skein(&["land", "next"]).refused("untrusted", 1).err;
    let show = format!("git diff {old} {}", world.rev(&format!("main:{POLICY}")));
    assert!(refused.contains("has changed since it was trusted") && refused.contains(&show), "{refused}");
    let shown = world.skein(&["trust"]).code(1).out;
    assert!(shown.contains("| -gate = [") && shown.contains(", 'false']\n"), "{shown}");
    assert_eq!(lines(&world, "ran"), 1, "nothing of it runs meanwhile");
    world.skein(&["trust", "--yes"]).ok();
    world.skein(&["land", "next"]).refused("gate-failed", 5);
    world.check();
}

#[test]
fn work_is_judged_by_the_gate_of_the_trunk_and_not_by_its_own() {
    let world = World::new();
    policy(&world, &format!("gate = ['{}']\n", noting(&world, "old", "true")));
    world.skein(&["trust", "--yes"]).ok();
    let script = format!("echo 'gate = []' > {POLICY}; git commit -qam 'no gate'");
    world.worker("sly", &script);
    let refused = world.skein(&["land", "sly"]).refused("forbidden-path", 1).err;
    assert!(refused.contains(POLICY), "{refused}");
    // Nor does the person's own branch, nor a worker whose fork is from there.
    world.git(["switch", "-qc", "topic"]);
    policy(&world, "gate = []\n");
    world.git(["switch", "-q", "main"]);
    let given = ["dispatch", "--wait", "--base", "topic", "--name", "w", "w", "--", "sh", "-c", WORK];
    world.skein(&given).ok();
    world.skein(&["land", "w"]).ok();
    assert_eq!(lines(&world, "old"), 1);
    world.skein(&["land", "topic"]).ok();
    assert_eq!(lines(&world, "old"), 2, "it lands by the gate that it takes away");
    world.worker("free", "echo f > f; git add f; git commit -qm f");
    world.skein(&["land", "free"]).ok();
    assert_eq!(lines(&world, "old"), 2);
    world.check();
}

#[test]
fn the_policy_gives_checks_to_every_worker() {
    let world = World::new();
    let check = noting(&world, "checked", "grep -q one a.txt");
    policy(&world, &format!("checks = ['{check}']\ngate = ['{}']\n", noting(&world, "gated", "true")));
    world.worker("w", WORK);
    world.skein(&["check", "w"]).refused("untrusted", 1);
    world.skein(&["trust", "--yes"]).ok();
    world.skein(&["check", "w"]).ok();
    assert_eq!((lines(&world, "checked"), lines(&world, "gated")), (1, 0));
    world.skein(&["land", "w"]).ok();
    assert_eq!((lines(&world, "checked"), lines(&world, "gated")), (1, 1), "its tree was checked already");
    world.worker("bad", "sed -i s/one/1/ a.txt; git commit -qam 'back again'");
    world.skein(&["check", "bad"]).code(5);
    world.skein(&["land", "bad"]).refused("gate-failed", 5);
    policy(&world, "gate = ['']\n");
    world.skein(&["land", "bad"]).refused("bad-policy", 1);
}

#[test]
fn a_checkout_may_trust_all_or_nothing() {
    let world = World::new();
    let gate = noting(&world, "ran", "true");
    // Neither for all clones of a person, nor by what the repository itself holds, nor for one call.
    world.write("tracked", "[skein]\n\ttrust = all\n");
    policy(&world, &format!("gate = ['{gate}']\n"));
    world.worker("fix", WORK);
    let land = |options: &[(&str, &str)]| {
        let mut command = world.command(&["land", "fix"]);
        crate::support::ran(command.envs(options.iter().copied()).output().unwrap())
    };
    land(&[]).refused("untrusted", 1);
    let said = land(&[
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "skein.trust"),
        ("GIT_CONFIG_VALUE_0", "all"),
    ])
    .refused("untrusted", 1);
    assert!(
        said.err.contains("skein.trust all counts in the clone's own configuration only"),
        "{}",
        said.err
    );
    world.git(["config", "include.path", "../tracked"]);
    assert_eq!(world.git(["config", "skein.trust"]), "all");
    land(&[]).refused("untrusted", 1);
    world.git(["config", "--unset", "include.path"]);
    world.git(["config", "--global", "skein.trust", "all"]);
    land(&[]).refused("untrusted", 1);
    world.git(["config", "--global", "--unset", "skein.trust"]);
    assert_eq!(lines(&world, "ran"), 0);

    // Nothing, whatever is kept.
    world.skein(&["trust", "--yes"]).ok();
    world.git(["config", "--add", "skein.trust", "none"]);
    let refused = land(&[]).refused("untrusted", 1).err;
    assert!(refused.contains("skein.trust is none here"), "{refused}");
    world.skein(&["trust", "--yes"]).refused("untrusted", 1);
    world.git(["config", "--unset-all", "skein.trust"]);

    world.git(["config", "skein.trust", "all"]);
    world.skein(&["trust"]).ok();
    land(&[]).ok();
    assert_eq!(lines(&world, "ran"), 1);
    world.kind("maker", "---\nagent: [\"true\"]\n---\n");
    world.skein(&["dispatch", "--wait", "--kind", "maker", "--name", "m", "m"]).ok();
    world.check();
}
