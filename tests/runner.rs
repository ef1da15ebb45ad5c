//! `runner`: briefs that wait on a server, and who runs them.

use crate::faults::scenes;
use crate::faults::sweep;
use crate::support::Ran;
use crate::support::World;
use crate::support::acts::until;
use crate::sync::cloned;
use crate::sync::served;
use std::path::Path;
use std::process::Child;
use std::process::Command;

/// What a clone allows, and how fast it goes.
const CONFIG: [[&str; 2]; 3] =
    [["skein.runnerAgent", "sh -c *"], ["skein.runnerLease", "2s"], ["skein.runnerPoll", "100ms"]];

fn allow(world: &World, clone: &str) {
    for [key, value] in CONFIG {
        world.git_in(clone, &["config", key, value]);
    }
}

/// A server, the clone that queues, and two that run.
fn farm() -> World {
    let world = served();
    for clone in ["one", "two"] {
        cloned(&world, clone);
        allow(&world, clone);
    }
    world
}

fn queue(world: &World, name: &str, script: &str, more: &[&str]) -> String {
    let args = [&["dispatch", "--queue", "--json", "--name", name], more, &[name, "--", "sh", "-c", script]]
        .concat();
    let done = world.skein(&args).ok().json();
    done["result"]["brief"].as_str().unwrap().to_owned()
}

fn makes(name: &str) -> String {
    format!("echo {name} >{name}; git add {name}; git commit -qm {name}")
}

/// Names on the server below `refs/skein/<part>`.
fn there(world: &World, part: &str) -> Vec<String> {
    let prefix = format!("refs/skein/{part}");
    let all = world.git_in("server.git", &["for-each-ref", "--format=%(refname:lstrip=3)", &prefix]);
    all.lines().map(ToOwned::to_owned).collect()
}

/// The workers on the server, as `brief outcome deltas`.
fn results(world: &World) -> Vec<String> {
    let mut all = Vec::new();
    for id in there(world, "worker") {
        let text = world.git_in("server.git", &["show", &format!("refs/skein/worker/{id}:record.json")]);
        let record: serde_json::Value = serde_json::from_str(&text).unwrap();
        let word = |key: &str| record[key].as_str().unwrap_or("-").to_owned();
        all.push(format!("{} {} {}", word("brief"), word("outcome"), record["deltas"]));
    }
    all.sort();
    all
}

fn start(world: &World, clone: &str, args: &[&str]) -> Child {
    let to = world.root().join(clone).display().to_string();
    let mut command = world.command(&[&["-C", &to, "runner"], args].concat());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
}

fn end(child: Child) -> Ran {
    crate::support::ran(child.wait_with_output().unwrap())
}

#[test]
fn a_brief_is_run_elsewhere_and_its_result_comes_back() {
    let world = farm();
    let nothing = world.skein_in("one", &["runner", "--once"]).ok();
    assert_eq!(nothing.out, "nothing to do on origin\n");
    let brief = queue(&world, "fix", &makes("fix"), &["--path", "fix", "--onto", "main"]);
    assert!(world.skein(&["status"]).ok().out.matches("fix").count() == 0, "it was started here");
    let listed = world.skein(&["queue", "list"]).ok().out;
    assert!(listed.contains(&brief) && listed.contains("fix (for main)"), "{listed}");
    let record = world.git_in("server.git", &["show", &format!("refs/skein/queue/{brief}:record.json")]);
    assert!(record.contains(&world.rev("main")), "{record}");

    let ran = world.skein_in("one", &["runner", "--once"]).ok();
    assert!(ran.out.contains(&format!("{brief}  fix is ready\n1 result, 0 left")), "{}", ran.out);
    assert_eq!(results(&world), [format!("{brief} ready 1")]);
    assert_eq!((there(&world, "queue"), there(&world, "lease")), (vec![], vec![]));
    assert_eq!(world.skein(&["queue", "list"]).ok().out, "nothing waits on origin\n");

    world.skein(&["sync"]).ok();
    assert_eq!(world.field("fix", "brief"), brief.as_str());
    assert!(world.skein(&["show", "fix"]).ok().out.contains(&brief));
    world.skein(&["land", "fix"]).ok();
    assert!(world.path("fix").exists());
    for clone in ["repo", "one", "server.git"] {
        world.skein_in(clone, &["fsck"]).ok();
    }
    assert_eq!(world.skein_in("one", &["runner", "--once"]).ok().out, "nothing to do on origin\n");
}

#[test]
fn two_runners_run_each_of_five_briefs_once() {
    let world = farm();
    let mut briefs: Vec<String> =
        (0..5).map(|n| queue(&world, &format!("b{n}"), &makes(&format!("b{n}")), &[])).collect();
    let runners: Vec<Child> =
        ["one", "two"].iter().map(|c| start(&world, c, &["--once", "-j", "2"])).collect();
    let ended: Vec<Ran> = runners.into_iter().map(|child| end(child).ok()).collect();
    briefs.sort();
    let want: Vec<String> = briefs.iter().map(|brief| format!("{brief} ready 1")).collect();
    assert_eq!(results(&world), want, "{ended:?}");
    assert_eq!((there(&world, "queue"), there(&world, "lease")), (vec![], vec![]));
    let told: usize = ended.iter().map(|ran| ran.out.matches(" is ready\n").count()).sum();
    assert_eq!(told, 5, "{ended:?}");
}

/// A brief whose agent commits, and then waits until the file is there.
fn gated(world: &World) -> (std::path::PathBuf, String) {
    let gate = world.root().join("gate");
    let script = format!("{}; while ! [ -e {} ]; do sleep 0.05; done", makes("fix"), gate.display());
    let brief = queue(world, "fix", &script, &[]);
    (gate, brief)
}

/// Until the agent of a gated brief has committed. Its worker is listed earlier; whose runner dies before then has
/// nothing to bring.
fn at_work(world: &World, clone: &str) {
    // An older git fails while a worktree is being made.
    let at = world.root().join(clone).display().to_string();
    let listed = || world.try_git(["-C", &at, "log", "--all", "--format=%s"]).stdout;
    let committed = || String::from_utf8_lossy(&listed()).lines().any(|subject| subject == "fix");
    until("its agent has committed", committed);
}

#[test]
fn a_dead_runners_brief_is_taken_again_and_its_late_result_is_kept() {
    let world = farm();
    let (gate, brief) = gated(&world);
    let mut dead = start(&world, "one", &[]);
    at_work(&world, "one");
    assert_eq!(there(&world, "lease").len(), 1);
    dead.kill().unwrap();
    dead.wait().unwrap();
    // Alive or not: nobody can tell, so the other one waits as long as the lease says, by its own clock.
    let began = std::time::Instant::now();
    let second = start(&world, "two", &["--once"]);
    at_work(&world, "two");
    assert!(began.elapsed() >= std::time::Duration::from_secs(2), "too early: {:?}", began.elapsed());
    std::fs::write(&gate, "").unwrap();
    let second = end(second).ok();
    assert!(second.err.contains("is held by clone "), "{}", second.err);
    assert_eq!(results(&world), [format!("{brief} ready 1")]);
    // The worker of the dead one has ended since. The next runner there brings what it made.
    let late = world.skein_in("one", &["runner", "--once"]).ok();
    assert!(late.out.contains("fix is ready, a second result"), "{late:?}");
    assert_eq!(results(&world), [format!("{brief} ready 1"), format!("{brief} ready 1")]);
    assert_eq!((there(&world, "queue"), there(&world, "lease")), (vec![], vec![]));
    world.skein(&["sync"]).ok();
    let told = world.skein(&["status"]).ok().out;
    assert_eq!(told.matches(&format!("is a second result of brief {brief}\n")).count(), 1, "{told}");
    let shown = world.skein(&["status", "--json"]).ok().json();
    for row in shown["result"]["workers"].as_array().unwrap() {
        assert_eq!(row["twins"].as_array().unwrap().len(), 1, "{row}");
    }
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args([name, &pid]).status().unwrap().success());
}

#[test]
fn who_was_cut_off_says_that_the_lease_is_lost() {
    let world = farm();
    let (gate, brief) = gated(&world);
    let first = start(&world, "one", &["--once"]);
    at_work(&world, "one");
    signal(&first, "-STOP");
    let second = start(&world, "two", &["--once"]);
    at_work(&world, "two");
    signal(&first, "-CONT");
    std::thread::sleep(std::time::Duration::from_secs(1));
    std::fs::write(&gate, "").unwrap();
    let (first, second) = (end(first).ok(), end(second).ok());
    assert!(first.err.contains(&format!("lost the lease of brief {brief}: clone ")), "{first:?}");
    assert!(first.out.contains("fix is ready, a second result"), "{first:?}");
    assert!(second.out.contains("fix is ready\n"), "{second:?}");
    assert_eq!(results(&world).len(), 2);
    assert_eq!((there(&world, "queue"), there(&world, "lease")), (vec![], vec![]));
}

#[test]
fn who_comes_back_in_time_goes_on_with_its_own() {
    let world = farm();
    let (gate, brief) = gated(&world);
    let mut dead = start(&world, "one", &[]);
    at_work(&world, "one");
    assert_eq!(there(&world, "lease").len(), 1);
    world.skein_in("one", &["runner", "--once"]).refused("runner-runs", 75);
    dead.kill().unwrap();
    dead.wait().unwrap();
    let back = start(&world, "one", &["--once"]);
    std::thread::sleep(std::time::Duration::from_secs(3));
    // Renewed all the while, it is not taken over.
    let other = world.skein_in("two", &["runner", "--once"]).ok();
    assert_eq!(other.out, "nothing to do on origin\n", "{other:?}");
    std::fs::write(&gate, "").unwrap();
    end(back).ok();
    assert_eq!(results(&world), [format!("{brief} ready 1")]);
}

#[test]
fn a_failed_run_is_a_result() {
    let world = farm();
    let brief = queue(&world, "bad", &format!("{}; exit 3", makes("bad")), &[]);
    let ran = world.skein_in("one", &["runner", "--once"]).ok();
    assert!(ran.out.contains("bad is failed"), "{}", ran.out);
    // Its commits came along.
    assert_eq!(results(&world), [format!("{brief} failed 1")]);
    assert_eq!(there(&world, "queue").len(), 0);
}

#[test]
fn labels_say_who_takes_what() {
    let world = farm();
    let plain = queue(&world, "plain", "true", &[]);
    let gpu = queue(&world, "gpu", "true", &["--label", "gpu"]);
    assert!(world.skein(&["queue", "list"]).ok().out.contains(&format!("{gpu} [gpu]")));
    world.skein_in("one", &["runner", "--once", "--label", "arm"]).ok();
    assert_eq!(there(&world, "queue").len(), 2);
    world.skein_in("one", &["runner", "--once", "--label", "gpu"]).ok();
    assert_eq!(there(&world, "queue"), [plain.as_str()]);
    world.skein_in("one", &["runner", "--once"]).ok();
    assert_eq!(there(&world, "queue").len(), 0);
}

#[test]
fn only_what_the_owner_of_the_machine_allows_runs() {
    let world = farm();
    let ran = world.root().join("ran");
    let touch = format!("touch {}", ran.display());
    let other = ["dispatch", "--queue", "--name", "a", "a", "--", "touch", &ran.display().to_string()];
    world.skein(&other).ok();
    world.skein(&["dispatch", "--queue", "--agent", "codex", "b"]).ok();
    world.skein(&["dispatch", "--queue", &format!("run: {touch}")]).ok();
    queue(&world, "d", "true", &["--check", &touch]);
    world.skein(&["dispatch", "--queue", "--kind", "unheard-of", "e"]).ok();
    let told = world.skein_in("one", &["runner", "--once"]).ok();
    assert!(told.out.ends_with("0 results, 5 left\n"), "{}", told.out);
    for why in [
        "its agent may not run here",
        "agent \"codex\" may not",
        "the built-in agent may not",
        "its check may not",
    ] {
        assert!(told.err.contains(why), "{why}: {}", told.err);
    }
    assert!(!ran.exists() && there(&world, "lease").is_empty() && there(&world, "queue").len() == 5);
    world.git_in("two", &["config", "--add", "skein.runnerAgent", "scripted"]);
    world.git_in("two", &["config", "skein.runnerCheck", "*"]);
    let told = world.skein_in("two", &["runner", "--once"]).ok();
    assert!(told.out.ends_with("2 results, 3 left\n"), "{}", told.out);
    assert!(ran.exists());
}

/// The command that a runner prints for allowing a brief is there to be pasted.
#[test]
fn a_brief_does_not_run_by_being_pasted() {
    let world = served();
    let clone = cloned(&world, "one");
    let ran = world.root().join("ran");
    let touch = format!("echo \"$(touch {0})\" '`touch {0}`'", ran.display());
    queue(&world, "agent", &touch, &[]);
    queue(&world, "check", "true", &["--check", &touch]);
    let told = world.skein_in("one", &["runner", "--once"]).ok();
    let lines: Vec<&str> = told.err.lines().filter_map(|l| Some(l.split_once("to allow it: ")?.1)).collect();
    assert_eq!(lines.len(), 2, "{}", told.err);
    for line in lines {
        let pasted = Command::new("sh").args(["-c", line]).current_dir(&clone).status().unwrap();
        assert!(pasted.success() && !ran.exists(), "{line}");
    }
    assert_eq!(world.git_in("one", &["config", "skein.runnerAgent"]), format!("sh -c {touch}"));
    assert_eq!(world.git_in("one", &["config", "skein.runnerCheck"]), touch);
}

#[test]
fn secrets_do_not_go_into_a_queue() {
    let world = served();
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    world.skein(&["dispatch", "--queue", "x", "--", "sh", "-c", &secret]).refused("secret-in-brief", 1);
    let done = world.skein(&["dispatch", "--queue", "--json", &format!("use {secret}")]).ok().json();
    let brief = done["result"]["brief"].as_str().unwrap().to_owned();
    let text = world.git_in("server.git", &["show", &format!("refs/skein/queue/{brief}:brief.md")]);
    assert!(!text.contains(&secret) && text.starts_with("use "), "{text}");
}

#[test]
fn a_brief_is_dropped_by_its_first_letters() {
    let world = farm();
    let brief = queue(&world, "fix", "true", &[]);
    world.skein(&["queue", "drop", "zzz"]).refused("no-such-brief", 1);
    world.skein(&["queue", "drop", &brief[..20]]).ok();
    world.skein(&["queue", "drop", &brief]).refused("no-such-brief", 1);
    assert_eq!(there(&world, "queue").len(), 0);
    assert_eq!(world.skein_in("one", &["runner", "--once"]).ok().out, "nothing to do on origin\n");
}

#[test]
fn a_server_that_is_away_loses_nothing() {
    let world = farm();
    let (here, away) = (world.root().join("server.git"), world.root().join("away.git"));
    let (gate, brief) = gated(&world);
    let runner = start(&world, "one", &["--once"]);
    at_work(&world, "one");
    std::fs::rename(&here, &away).unwrap();
    std::fs::write(&gate, "").unwrap();
    let ended = end(runner).refused("remote-unreachable", 75);
    assert!(ended.err.contains("is away; trying again"), "{}", ended.err);
    world.skein(&["queue", "list"]).refused("remote-unreachable", 75);
    std::fs::rename(&away, &here).unwrap();
    world.skein_in("one", &["runner", "--once"]).ok();
    assert_eq!(results(&world), [format!("{brief} ready 1")]);
    assert_eq!((there(&world, "queue"), there(&world, "lease")), (vec![], vec![]));
}

#[test]
fn what_is_meant_for_the_server_is_so_for_the_runner() {
    let world = farm();
    world.git(["fetch", "-q", "origin"]);
    queue(&world, "fix", &makes("fix"), &["--onto", "origin/main"]);
    world.git_in("one", &["remote", "rename", "origin", "hub"]);
    world.skein_in("one", &["runner", "--once"]).ok();
    world.skein_in("one", &["land", "fix"]).ok();
    assert_eq!(world.git_in("server.git", &["log", "-1", "--format=%s", "main"]), "fix");
}

/// No machine fact is in what was pushed.
#[test]
fn a_lease_says_who_and_no_more() {
    let world = farm();
    let gate = world.root().join("gate");
    queue(&world, "fix", &format!("while ! [ -e {} ]; do sleep 0.05; done", gate.display()), &[]);
    let runner = start(&world, "one", &["--once"]);
    until("it is at work", || there(&world, "lease").len() == 1);
    let name = there(&world, "lease").remove(0);
    let text = world.git_in("server.git", &["show", &format!("refs/skein/lease/{name}:record.json")]);
    let record: serde_json::Value = serde_json::from_str(&text).unwrap();
    let keys: Vec<&String> = record.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["clone", "n", "name", "nonce", "seconds", "v"]);
    assert_eq!(record["clone"], world.git_in("one", &["config", "skein.clone"]).as_str());
    // They stay on the server, which is a repository like any other.
    world.skein_in("server.git", &["fsck"]).ok();
    world.skein_in("server.git", &["status"]).ok();
    for clone in ["repo", "one"] {
        world.skein_in(clone, &["sync"]).ok();
        assert_eq!(world.git_in(clone, &["for-each-ref", "refs/skein/queue", "refs/skein/lease"]), "");
    }
    assert_eq!((there(&world, "queue").len(), there(&world, "lease").len()), (1, 1));
    std::fs::write(&gate, "").unwrap();
    end(runner).ok();
}

/// A runner that is killed anywhere, or whose git fails, is followed by another one of the same clone.
fn struck(world: &World, plan: sweep::Plan, k: u64) -> bool {
    let world = world.copy();
    let (ran, mark) = sweep::strike(&world, &["runner", "--once"], plan, k);
    let Some(at) = mark else {
        assert_eq!(ran.code, 0, "{ran:?}");
        return false;
    };
    assert!(!ran.err.contains("panicked"), "at {at}: {}", ran.err);
    let again = world.skein(&["runner", "--once"]);
    assert_eq!(again.code, 0, "at {at}: {again:?}");
    let found = results(&world);
    assert!(found.len() == 1 && found[0].ends_with(" ready 1"), "at {at}: {found:?}");
    assert_eq!((there(&world, "queue"), there(&world, "lease")), (vec![], vec![]), "at {at}: {again:?}");
    world.skein(&["fsck"]).ok();
    true
}

#[test]
fn struck_anywhere_a_brief_has_its_result() {
    let world = scenes::still();
    world.git(["init", "--quiet", "--bare", "--initial-branch=main", "../server.git"]);
    world.git(["remote", "add", "origin", "../server.git"]);
    world.git(["push", "--quiet", "origin", "main"]);
    for [key, value] in CONFIG {
        world.git(["config", key, value]);
    }
    queue(&world, "fix", &makes("fix"), &[]);
    let plans = [
        sweep::Plan { site: "point", action: "kill", stride: 2, lasting: false },
        sweep::Plan { site: "git", action: "kill", stride: 3, lasting: false },
        sweep::Plan { site: "git", action: "EIO", stride: 5, lasting: false },
    ];
    let whole = world.copy();
    let (ran, mark) = sweep::strike(&whole, &["runner", "--once"], sweep::COUNT, 1);
    ran.ok();
    assert_eq!(results(&whole).len(), 1);
    let crossed = sweep::Crossed::read(&mark.unwrap());
    sweep::table("runner --once", &plans, 2, &crossed, |plan, k| struck(&world, plan, k));
    assert!(Path::new(&world.root()).exists());
}
