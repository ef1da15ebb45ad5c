//! The whole walk in every format of a repository, by an old git and by the newest here.

use crate::support::Ran;
use crate::support::World;
use crate::support::acts::until;
use crate::support::ran;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// The git of the system, as old as the oldest that is supported.
const OLD: &str = "/usr/bin/git";

/// Past the capture of the test harness: what a run did not try belongs into its log.
pub fn not_here(what: &str, why: &str) {
    writeln!(std::io::stdout().lock(), "matrix: {what}: not tried: {why}").unwrap();
}

/// A world in one format, with the newest git or with the old one. None, and a word about it, if this system
/// cannot make it.
fn cell(hash: &str, refs: &str, old: bool) -> Option<World> {
    let name = format!("{hash}, {refs}, {}", if old { "old git" } else { "first git" });
    if refs != "files" && !knows_reftable("git") {
        not_here(&name, "no git here knows that format");
        return None;
    }
    let format = format!("--object-format={hash}");
    // The older git must be able to read what the other one makes.
    let world = match refs {
        "files" => World::with_formats(&[&format]),
        _ => World::with_formats(&[&format, "--ref-format=reftable"]),
    };
    if !old {
        return Some(world);
    }
    if !Path::new(OLD).exists() {
        not_here(&name, "there is no git of the system");
        return None;
    }
    Some(world.env("PATH", "/usr/bin:/bin"))
}

pub fn knows_reftable(git: &str) -> bool {
    let usage = Command::new(git).args(["init", "-h"]).output().unwrap().stdout;
    String::from_utf8_lossy(&usage).contains("--[no-]ref-format")
        || String::from_utf8_lossy(&usage).contains("--ref-format")
}

#[test]
fn sha1_files_first_git() {
    cell("sha1", "files", false).iter().for_each(walk);
}

#[test]
fn sha1_files_old_git() {
    cell("sha1", "files", true).iter().for_each(walk);
}

#[test]
fn sha256_files_first_git() {
    cell("sha256", "files", false).iter().for_each(walk);
}

#[test]
fn sha256_files_old_git() {
    cell("sha256", "files", true).iter().for_each(walk);
}

#[test]
fn sha1_reftable_first_git() {
    cell("sha1", "reftable", false).iter().for_each(walk);
}

#[test]
fn sha256_reftable_first_git() {
    cell("sha256", "reftable", false).iter().for_each(walk);
}

#[test]
fn reftable_old_git() {
    let Some(world) = cell("sha1", "reftable", true) else { return };
    if knows_reftable(OLD) {
        not_here("sha1, reftable, old git", "that git knows the format, and the other cell tried it");
        return;
    }
    for args in
        [&["init"][..], &["status"], &["dispatch", "x"], &["land", "x"], &["landed", "HEAD"], &["log"]]
    {
        let refused = world.skein(args).refused("old-git", 128);
        assert!(refused.err.contains("refstorage"), "{}", refused.err);
    }
    let json = world.skein(&["status", "--json"]).code(128).json();
    assert_eq!(json["error"]["token"], "old-git");
    assert!(!world.path(".git/skein").exists());
}

/// Everything that the verbs do, on `main` checked out with changes of the person's own.
pub fn walk(world: &World) {
    world.skein(&["init"]).ok();
    world.skein(&["init"]).ok();
    world.git(["tag", "start"]);
    runs(world);
    imports(world);
    lands(world);
    steps(world);
    branches(world);
    conflicts(world);
    cut_short(world, "cut", "landing: checkout moved", "4");
    cut_short(world, "late", "landing: branch moved", "5");
    lasts(world);
}

/// Dispatch, status, show, wait, stop.
fn runs(world: &World) {
    let script = "sed -i s/1/one/ a.txt && git commit -qam one && sed -i s/9/nine/ a.txt && git commit -qam nine && echo left >left.txt";
    world.skein(&["dispatch", "--name", "fix", "fix it", "--", "sh", "-c", script]).ok();
    world.skein(&["wait", "fix", "--timeout", "60s"]).ok();
    let status = world.skein(&["status", "--json"]).ok().json();
    let row = &status["result"]["workers"][0];
    assert_eq!((&row["handle"], &row["outcome"]), (&"fix".into(), &"ready".into()), "{row}");
    assert_eq!((&row["commits"], &row["liveness"]), (&2.into(), &serde_json::Value::Null), "{row}");
    assert!(row["snapshot"].is_string(), "{row}");
    let diff = world.skein(&["show", "fix", "--diff"]).ok().out;
    assert!(diff.contains("+line one") && diff.contains("+line nine"), "{diff}");
    assert_eq!(
        world.field("fix", "head"),
        world.rev(&format!("refs/skein-local/head/{}", world.ulid("fix"))).as_str()
    );

    let script = "echo x >x; git add x; git commit -qm x; touch up; exec sleep 600";
    world.skein(&["dispatch", "--name", "long", "long", "--", "sh", "-c", script]).ok();
    let up = world.worktree("long").join("up");
    until("the agent is up", || up.exists());
    world.skein(&["import", "long"]).refused("still-running", 1);
    world.skein(&["stop", "long"]).ok();
    assert_eq!(world.field("long", "outcome"), "stopped");
    assert!(world.field("long", "liveness").is_null(), "that is for those that run");
}

fn imports(world: &World) {
    let main = world.rev("main");
    world.skein(&["import", "fix"]).ok();
    world.skein(&["import", "fix", "--into", "gathered"]).ok();
    assert_eq!(world.rev("main"), main);
    assert_eq!(world.lines(&["log", "--format=%s", "main..gathered"]), ["nine", "one"]);
    assert_eq!(world.git(["diff", "--name-only", "main", "gathered"]), "a.txt");
}

/// Landing where the person has the trunk checked out.
fn lands(world: &World) {
    let main = world.rev("main");
    world.write("a.txt", "mine\n");
    let refused = world.skein(&["land", "fix"]).refused("dirty-overlap", 1);
    assert!(refused.err.contains("a.txt"), "{}", refused.err);
    assert_eq!((world.rev("main"), world.read("a.txt")), (main.clone(), "mine\n".into()));
    world.git(["checkout", "-q", "--", "a.txt"]);
    world.write("b.txt", "mine\n");
    world.write("staged.txt", "mine\n");
    world.git(["add", "staged.txt"]);

    world.skein(&["verdict", "fix", "reject"]).ok();
    world.skein(&["land", "fix"]).refused("rejected", 1);
    world.skein(&["verdict", "fix", "accept"]).ok();
    world.skein(&["land", "fix", "--gate", "grep -q no-such a.txt"]).code(5);
    assert_eq!(world.rev("main"), main);
    world.skein(&["land", "fix", "--gate", "grep -q one a.txt && ! test -e left.txt"]).ok();
    assert_eq!(world.lines(&["log", "--format=%s", "start..main"]), ["nine", "one"]);
    assert_eq!(world.lines(&["status", "--porcelain"]), [" M b.txt", "A  staged.txt"]);
    assert!(world.read("a.txt").starts_with("line one\n"));
    let note = world.git(["log", "-1", "--notes=skein/*", "--format=%N%(trailers)"]);
    assert!(note.matches(&world.ulid("fix")).count() >= 2, "{note}");
    let explained = world.skein(&["landed", "fix", "--explain", "--json"]).ok().json();
    assert_eq!(explained["result"]["verdict"]["proof"], "receipt", "{explained}");
    let (code, _) = world.landed(&world.rev("main"), "start");
    assert_eq!(code, 0);
    // Once is enough.
    let now = world.rev("main");
    world.skein(&["land", "fix"]).ok();
    assert_eq!(world.rev("main"), now);
}

/// Candidates, step by step, onto a branch that nobody has checked out and onto the trunk.
fn steps(world: &World) {
    world.worker("steps", "echo s >s.txt; git add s.txt; git commit -qm steps");
    world.skein(&["candidate", "create", "steps"]).ok();
    world.skein(&["candidate", "create", "steps"]).ok();
    world.skein(&["candidate", "integrate", "steps", "--gate", "test -e s.txt"]).refused("not-admitted", 1);
    world.skein(&["candidate", "admit", "steps", "--gate", "test -e s.txt"]).ok();
    world.skein(&["candidate", "integrate", "steps", "--gate", "test -e s.txt"]).ok();
    assert_eq!(world.read("s.txt"), "s\n");
    assert!(world.local_refs("candidate").is_empty());
    world.skein(&["land", "steps", "--onto", "gathered"]).ok();
    assert_eq!(world.git(["show", "gathered:s.txt"]), "s");
}

/// A person's branch keeps its commits.
fn branches(world: &World) {
    world.git(["worktree", "add", "-q", "-b", "feature", "../feature", "start"]);
    let there = world.root().join("feature");
    fs::write(there.join("f.txt"), "f\n").unwrap();
    let there = there.to_str().unwrap();
    world.git(["-C", there, "add", "f.txt"]);
    world.git(["-C", there, "commit", "-qm", "feature"]);
    let tip = world.rev("feature");
    world.skein(&["land", "feature"]).ok();
    assert_eq!(world.rev("main^2"), tip);
    assert_eq!(world.read("f.txt"), "f\n");
    world.skein(&["landed", "feature", "--base", "start"]).ok();
}

fn conflicts(world: &World) {
    let script = "sed -i s/1/eins/ a.txt && git commit -qam eins";
    let args = ["dispatch", "--wait", "--base", "start", "--name", "late-one", "x", "--", "sh", "-c", script];
    world.skein(&args).ok();
    let main = world.rev("main");
    let refused = world.skein(&["land", "late-one"]).refused("conflict", 3);
    assert!(refused.err.contains("a.txt"), "{}", refused.err);
    assert_eq!(world.rev("main"), main);
    assert_eq!(world.skein(&["landed", "late-one"]).code, 1);
}

/// A landing is killed at `point`; the next verb that writes brings it to an end.
fn cut_short(world: &World, name: &str, point: &str, line: &str) {
    let tree = format!(
        "sed -i 's/line {line}/& {name}/' a.txt; git commit -qam {name}; echo n >{name}.new; git add -A; git commit -qm more"
    );
    world.worker(name, &tree);
    let main = world.rev("main");
    let mut land = world.command(&["land", name]);
    let killed: Ran = ran(land.env("SKEIN_FAULT", format!("{point}:1:kill")).output().unwrap());
    assert_eq!(killed.code, -1, "{killed:?}");
    world.collect_garbage();
    world.skein(&["import", name]).ok();
    assert_eq!(world.rev("main~2"), main, "its content was in the checkout already");
    world.skein(&["landed", name]).ok();
    let landed = world.skein(&["land", name, "--json"]).ok().json();
    assert_eq!(landed["result"]["already"], true, "{landed}");
    assert_eq!(world.lines(&["status", "--porcelain"]), [" M b.txt", "A  staged.txt"]);
    assert_eq!(world.read(&format!("{name}.new")), "n\n");
}

/// After the roughest collection of garbage all proofs stand, and so do the leftovers of a worker.
fn lasts(world: &World) {
    world.collect_garbage();
    for worker in ["fix", "steps", "cut", "late"] {
        world.skein(&["landed", worker]).ok();
    }
    let left = format!("refs/skein-local/wip/{}:left.txt", world.ulid("fix"));
    assert_eq!(world.git(["show", &left]), "left");
    let log = world.skein(&["log"]).ok().out;
    assert!(log.matches("landing:").count() >= 6, "{log}");
    fs::remove_dir_all(world.common().join("skein/run")).unwrap();
    assert_eq!(world.field("fix", "outcome"), "ready");
    world.skein(&["status"]).ok();
    world.check();
}

/// In reftables the marks of an operation under way are refs, not files.
#[test]
fn an_operation_under_way_is_seen_in_reftables() {
    let Some(world) = cell("sha1", "reftable", false) else { return };
    world.worker("w", "echo w >w.txt; git add w.txt; git commit -qm w");
    world.git(["branch", "side"]);
    world.write("a.txt", "here\n");
    world.commit("here");
    world.git(["switch", "-q", "side"]);
    world.write("a.txt", "there\n");
    world.commit("there");
    world.git(["switch", "-q", "main"]);
    let under_way: [(&[&str], &[&str]); 5] = [
        (&["cherry-pick", "side"], &["cherry-pick", "--abort"]),
        (&["revert", "HEAD~1"], &["revert", "--abort"]),
        (&["merge", "side"], &["merge", "--abort"]),
        (&["rebase", "side"], &["rebase", "--abort"]),
        (&["bisect", "start", "HEAD", "HEAD~1"], &["bisect", "reset"]),
    ];
    for (begin, end) in under_way {
        world.try_git(begin);
        let refused = world.skein(&["land", "w"]).refused("operation-in-progress", 1);
        assert!(refused.err.contains(begin[0]), "{}", refused.err);
        world.git(end);
    }
    world.skein(&["land", "w"]).ok();
    assert_eq!(world.read("w.txt"), "w\n");
    world.check();
}

/// libgit2 reads no reftables, so the sweeps do not come here: a landing is killed at each of its steps, and
/// the same command ends it.
#[test]
fn a_landing_in_reftables_may_be_killed_at_each_step() {
    let Some(world) = cell("sha256", "reftable", false) else { return };
    world.worker("w", "sed -i s/5/five/ a.txt; echo w >w.txt; git add -A; git commit -qm w");
    let old = world.rev("main");
    for (site, stride) in [("point", 1), ("git", 2), ("file", 3)] {
        let mut struck = 0;
        for k in (1..1000).step_by(stride) {
            let world = world.copy();
            let mut land = world.command(&["land", "w"]);
            let killed = ran(land.env("SKEIN_FAULT", format!("{site}:{k}:kill")).output().unwrap());
            if killed.code == 0 {
                break;
            }
            struck += 1;
            assert_eq!(killed.code, -1, "{site}:{k}: {killed:?}");
            world.collect_garbage();
            world.skein(&["land", "w"]).ok();
            assert_eq!(world.rev("main^"), old, "{site}:{k}");
            assert_eq!(world.git(["status", "--porcelain"]), "", "{site}:{k}");
            assert_eq!(world.read("w.txt"), "w\n", "{site}:{k}");
            world.skein(&["landed", "w"]).ok();
            world.check();
        }
        assert!(struck > 3, "{site}: {struck}");
    }
}
