//! Bundles that are given to workers.

use crate::bundle::exported;
use crate::bundle::file;
use crate::bundle::result;
use crate::support::World;
use std::fs;

/// Prints what it was given, and what of it can be read.
const READS: &str = "cat; cat $SKEIN_REFERENCES/*/brief/brief.md $SKEIN_REFERENCES/*/evidence/1.txt; exit 3";

fn read(world: &World, name: &str) -> String {
    world.skein(&["show", "--log", name]).ok().out
}

#[test]
fn it_is_given_once_with_the_next_run() {
    let (world, commit) = exported();
    world.worker("next", READS);
    let given = result(world.skein(&["bundle", "load", "next", "fix", "--json"]));
    assert_eq!((&given["commit"], &given["already"]), (&commit.into(), &false.into()));
    assert_eq!(result(world.skein(&["bundle", "load", "next", "fix", "--json"]))["already"], true);
    assert!(world.skein(&["show", "next"]).ok().out.contains("(for its next run)"));
    world.skein(&["bundle", "delete", "fix"]).refused("bundle-loaded", 1);
    assert!(world.skein(&["bundle", "list"]).ok().out.contains("  loaded for next\n"));
    assert!(!read(&world, "next").contains("References for this task"));

    world.skein(&["resume", "next"]).ok();
    world.skein(&["wait", "next"]).code(1);
    let log = read(&world, "next");
    assert!(
        log.contains("References for this task") && log.contains("of the worker fix (Fix the first line)"),
        "{log}"
    );
    assert!(log.contains("Fix the first line1\n2\n3\n"), "its papers can be read: {log}");
    let base = world.field("fix", "base");
    assert!(log.contains(&format!("git diff {} ", base.as_str().unwrap())), "{log}");
    assert!(world.field("next", "loaded")[0]["used"].is_number());
    world.skein(&["bundle", "unload", "next", "fix"]).refused("bundle-used", 1);

    world.skein(&["resume", "next"]).ok();
    world.skein(&["wait", "next"]).code(1);
    assert_eq!(read(&world, "next").matches("References for this task").count(), 1, "not again");
    world.skein(&["bundle", "delete", "fix"]).ok();
    world.skein(&["fsck"]).ok();
    world.check();
}

#[test]
fn before_it_is_used_it_can_be_taken_away() {
    let (world, _) = exported();
    world.worker("next", READS);
    world.skein(&["bundle", "unload", "next", "fix"]).refused("no-such-bundle", 1);
    world.skein(&["bundle", "load", "next", "fix"]).ok();
    world.skein(&["bundle", "unload", "next", "fix"]).ok();
    world.skein(&["resume", "next"]).ok();
    world.skein(&["wait", "next"]).code(1);
    assert!(!read(&world, "next").contains("References for this task"));
    world.skein(&["bundle", "load", "next", "nothing"]).refused("no-such-bundle", 1);
    world.skein(&["bundle", "load", "nobody", "fix"]).refused("no-such-worker", 1);
    world.check();
}

#[test]
fn a_worker_that_runs_is_given_it_later() {
    let (world, _) = exported();
    let script = "test -e go && cat && exit 3; touch go; git skein worker wait --question q --stay";
    world.skein(&["dispatch", "--name", "next", "next", "--", "sh", "-c", script]).ok();
    let given = world.skein(&["bundle", "load", "next", "fix"]).ok().out;
    assert!(given.contains("next runs: it is given it when it is taken up again"), "{given}");
    world.skein(&["stop", "next"]).ok();
    world.skein(&["resume", "next"]).ok();
    world.skein(&["wait", "next"]).code(1);
    assert!(read(&world, "next").contains("References for this task"));
}

#[test]
fn a_new_worker_begins_with_a_file() {
    let (world, _) = exported();
    world.skein(&["bundle", "delete", "fix"]).ok();
    let name = file(&world).display().to_string();
    let args = ["dispatch", "--wait", "--with", &name, "--name", "next", "Go on", "--", "sh", "-c", READS];
    world.skein(&args).code(1);
    let log = read(&world, "next");
    assert!(log.starts_with("Go on\n\nReferences for this task"), "{log}");
    assert!(log.contains("Fix the first line1\n2\n3\n"), "{log}");
    assert!(world.field("next", "loaded")[0]["used"].is_number());
    let args = ["dispatch", "--with", "nothing", "x", "--", "true"];
    world.skein(&args).refused("no-such-bundle", 1);
}

#[test]
fn in_a_jail_it_is_read_and_not_written() {
    if !crate::jail::possible() {
        return;
    }
    let (world, commit) = exported();
    world.git(["config", "skein.jail", "bwrap"]);
    let script = format!(
        "cat $SKEIN_REFERENCES/*/brief/brief.md; f=$(ls $SKEIN_REFERENCES/*/brief/brief.md); \
         (echo x > $f) 2>/dev/null || echo sealed; rm -rf $SKEIN_REFERENCES 2>/dev/null; \
         git show {commit}:brief/brief.md; exit 3"
    );
    world
        .skein(&["dispatch", "--wait", "--with", "fix", "--name", "next", "x", "--", "sh", "-c", &script])
        .code(1);
    assert_eq!(read(&world, "next"), "Fix the first linesealed\nFix the first line");
    let folder = world.path(&format!(".git/skein/run/{}/references", world.ulid("next")));
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1);
}

#[test]
fn a_worker_may_look_and_no_more() {
    let (world, _) = exported();
    let before = world.git(["for-each-ref", "refs/skein/bundle"]);
    let script = "for verb in 'save in' 'export fix x' 'import ../../fix.bundle' 'load in fix' 'unload in fix' 'delete fix'; \
                  do git skein bundle $verb; done; git skein dispatch --with fix x -- true; git skein bundle show fix";
    world.worker("in", script);
    let log = read(&world, "in");
    assert_eq!(log.matches("refused: in-worker").count(), 7, "{log}");
    assert!(log.contains("verified: "), "{log}");
    assert_eq!(world.git(["for-each-ref", "refs/skein/bundle"]), before);
}

/// One whose work is ready is given it with what is said of that work.
#[test]
fn a_worker_that_is_to_do_better_is_given_it() {
    let (world, _) = exported();
    world.worker("next", "cat; echo x >> x.txt; git add x.txt; git commit -qm x");
    let said = world.skein(&["bundle", "load", "next", "fix"]).ok().out;
    assert!(said.contains("git skein verdict next revise"), "{said}");
    world.skein(&["verdict", "next", "revise", "--delta", "1", "-m", "as in the reference"]).ok();
    world.skein(&["wait", "next"]).ok();
    let log = read(&world, "next");
    assert!(log.contains("References for this task") && log.contains("as in the reference"), "{log}");
    assert!(world.field("next", "loaded")[0]["used"].is_number());
}
