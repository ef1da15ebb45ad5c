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
