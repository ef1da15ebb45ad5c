//! The funnel beside plain git, in one run on one machine: pairs of commands in turn, medians and their
//! ratio. `cargo bench --features bench` prints the table of docs/performance.md, and with
//! `-- land dispatch` those two parts of it.
//!
//! `SKEIN_BIN` names another binary than the one built here, `SKEIN_ROUNDS` the rounds of simultaneous
//! dispatches (default 10; the published figure is of 200).

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program for developers"
)]

mod documents;
mod long;
mod peers;

use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::time::Instant;

fn main() {
    let named: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    if named.iter().any(|n| n == "peers") {
        return peers::peers();
    }
    println!("| what | ours | plain git | ratio | limit |");
    println!("|---|---|---|---|---|");
    let parts: [(&str, fn()); 14] = [
        ("start", cold_start),
        ("merges", merges),
        ("land", land),
        ("dispatch", dispatch),
        ("jail", jail),
        ("snapshot", snapshot),
        ("at-once", at_once),
        ("landing-at-once", landing_at_once),
        ("fold", fold),
        ("landed", long::landed),
        ("status", long::status),
        ("overlap", long::overlap),
        ("documents", documents::documents),
        ("document-merge", documents::merges),
    ];
    for (name, part) in parts {
        if named.is_empty() || named.iter().any(|n| n == name) {
            part();
        }
    }
}

struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new(files: usize) -> Place {
        let place = Place::bare(files);
        place.git(&["read-tree", "-m", "-u", "main"]);
        place
    }

    /// Without files in its working tree.
    fn bare(files: usize) -> Place {
        let place = Place { root: tempfile::tempdir().unwrap() };
        place.git(&["init", "--quiet", "--template=", "--initial-branch=main", "."]);
        place.git(&["config", "user.name", "Ada"]);
        place.git(&["config", "user.email", "ada@example.invalid"]);
        import(&place.repo(), &stream(files));
        place
    }

    fn repo(&self) -> PathBuf {
        let repo = self.root.path().join("repo");
        std::fs::create_dir_all(&repo).unwrap();
        repo
    }

    fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(self.repo())
            .env("HOME", self.root.path())
            .env("GIT_CONFIG_NOSYSTEM", "1");
        command.stdin(Stdio::null());
        command
    }

    fn git(&self, args: &[&str]) -> String {
        text(self.command("git", args))
    }

    fn skein(&self, args: &[&str]) -> String {
        text(self.command(&binary(), args))
    }

    fn millis(&self, program: &str, args: &[&str]) -> f64 {
        let started = Instant::now();
        text(self.command(program, args));
        started.elapsed().as_secs_f64() * 1e3
    }
}

fn binary() -> String {
    std::env::var("SKEIN_BIN").unwrap_or_else(|_| env!("CARGO_BIN_EXE_git-skein").to_owned())
}

fn text(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// `files` small files, twenty to a folder, in one commit on main.
fn stream(files: usize) -> String {
    let mut text =
        String::from("commit refs/heads/main\ncommitter Ada <a@x> 1767225600 +0000\ndata 4\nbase\n");
    for n in 0..files {
        text += &file(n, &lines(n));
    }
    text
}

/// The `n`-th file with its content, for `git fast-import`.
fn file(n: usize, body: &str) -> String {
    format!("M 100644 inline d{:03}/e{:02}/f{n}\ndata {}\n{body}\n", n / 400, n / 20 % 20, body.len())
}

fn lines(n: usize) -> String {
    (0..20).map(|line| format!("{n} {line}\n")).collect()
}

/// A commit on `branch` that changes one line of `count` files, `step` apart, from the `line`-th on.
fn edit(branch: &str, count: usize, step: usize, line: usize) -> String {
    let mut text = format!(
        "commit refs/heads/{branch}\ncommitter Ada <a@x> 1767225700 +0000\ndata 4\nedit\nfrom refs/heads/main^0\n"
    );
    for n in (0..count).map(|k| k * step) {
        let body = lines(n).replace(&format!("{n} {line}\n"), &format!("{n} {line} {branch}\n"));
        text += &file(n, &body);
    }
    text
}

fn import(repo: &Path, stream: &str) {
    let mut git = Command::new("git");
    let mut child = git
        .args(["fast-import", "--quiet", "--force"])
        .current_dir(repo)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), stream.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

/// A transaction for `git update-ref --stdin`.
fn update_refs(place: &Place, transaction: &str) {
    let mut git = place.command("git", &["update-ref", "--stdin"]);
    let mut child = git.stdin(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), transaction.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// One row: the two in turn, medians, and the median of the ratios pair by pair.
fn row(what: &str, pairs: Vec<(f64, f64)>, limit: f64) {
    let ratio = median(pairs.iter().map(|(ours, git)| ours / git).collect());
    let (ours, git) =
        (median(pairs.iter().map(|p| p.0).collect()), median(pairs.iter().map(|p| p.1).collect()));
    println!("| {what} | {ours:.1} ms | {git:.1} ms | {ratio:.2} | {limit} |");
}

fn cold_start() {
    let place = Place::new(100);
    place.skein(&["init"]);
    let pairs = |args: &[&str]| {
        let pair = |_| (place.millis(&binary(), args), place.millis("git", &["rev-parse", "HEAD"]));
        (0..40).map(pair).collect()
    };
    row("`--version` beside `git rev-parse HEAD`", pairs(&["--version"]), 1.5);
    row("`status` beside `git rev-parse HEAD`", pairs(&["status"]), f64::NAN);
    let pair = |_| (place.millis(&binary(), &["status"]), place.millis("git", &["status"]));
    row("`status` beside `git status`", (0..40).map(pair).collect(), f64::NAN);
}

fn merges() {
    let place = Place::new(50_000);
    for (count, limit) in [(1, 1.0), (10, 2.0), (100, 15.0)] {
        for (branch, line) in [("ours", 2), ("theirs", 17)] {
            import(&place.repo(), &edit(branch, count, 50_000 / count, line));
        }
        let tree = |rev: &str| place.git(&["rev-parse", &format!("{rev}^{{tree}}")]);
        let trees = [tree("main"), tree("ours"), tree("theirs")];
        let named = [trees[0].as_str(), trees[1].as_str(), trees[2].as_str()];
        let objects = place.repo().join(".git/objects");
        let (merged, ours) = git_skein::bench_merge(&objects, named, 15).unwrap();
        let args = ["merge-tree", "--write-tree", "--merge-base=main", "ours", "theirs"];
        let git = (0..15).map(|_| place.millis("git", &args));
        let pairs: Vec<(f64, f64)> = ours.into_iter().zip(git).collect();
        assert_eq!(merged, place.git(&args), "git merges to another tree");
        let ours = median(pairs.iter().map(|p| p.0).collect());
        assert!(ours <= limit, "merging {count} files took {ours} ms");
        row(
            &format!("merge of {count} files both sides changed, of 50,000, in process; limit in ms"),
            pairs,
            limit,
        );
    }
}

fn land() {
    let place = Place::new(1000);
    let runs = 12;
    for n in 0..runs + 1 {
        let script = format!("echo {n} > n{n} && git add n{n} && git commit -qm n{n}");
        place.skein(&["dispatch", "--wait", "--name", &format!("w{n}"), "t", "--", "sh", "-c", &script]);
    }
    let pair = |n: usize| {
        std::fs::write(place.repo().join(format!("c{n}")), n.to_string()).unwrap();
        place.git(&["add", &format!("c{n}")]);
        let git = place.millis("git", &["-c", "core.fsync=all", "commit", "--quiet", "-m", "c"]);
        (place.millis(&binary(), &["land", &format!("w{n}")]), git)
    };
    row("`land` beside `git -c core.fsync=all commit`", (0..runs).map(pair).collect(), 3.0);
    let trace = place.root.path().join("trace");
    let args = [
        "-f",
        "-qq",
        "-e",
        "trace=execve",
        "-o",
        trace.to_str().unwrap(),
        &binary(),
        "land",
        &format!("w{runs}"),
    ];
    if place.command("strace", &args).output().is_ok_and(|o| o.status.success()) {
        let trace = std::fs::read_to_string(&trace).unwrap();
        let git = trace.lines().filter(|l| l.contains("/git\"") && l.ends_with("= 0")).count();
        println!("| git processes of one `land` | {git} | 1 | | |");
    }
}

fn dispatch() {
    let place = Place::new(20_000);
    place.skein(&["init"]);
    let pair = |n: usize| {
        let name = format!("w{n}");
        let ours = place.millis(&binary(), &["dispatch", "--name", &name, "t", "--", "true"]);
        place.skein(&["wait"]);
        let path = format!("../plain{n}");
        let git = place.millis("git", &["worktree", "add", "--quiet", "--detach", &path]);
        for path in [path, format!("../repo.skein/{name}")] {
            std::fs::remove_dir_all(place.repo().join(path)).unwrap();
        }
        (ours, git)
    };
    row("`dispatch` on 20,000 files beside `git worktree add --detach`", (0..7).map(pair).collect(), 1.1);
}

/// What the jail costs a worker from its start to its end. The right column is no plain git but no jail.
/// What is changed in a worktree of 20,000 files is looked at and kept: `import` of a worker whose delta is known.
fn snapshot() {
    let place = Place::new(20_000);
    let script = "echo 1 > new && git add new && git commit -qm new";
    place.skein(&["dispatch", "--wait", "--jail", "none", "--name", "w", "t", "--", "sh", "-c", script]);
    let shown: serde_json::Value = serde_json::from_str(&place.skein(&["show", "w", "--json"])).unwrap();
    let tree = PathBuf::from(shown["result"]["worktree"].as_str().unwrap());
    let objects = || place.git(&["count-objects"]);
    let look = || place.millis(&binary(), &["import", "w"]);
    look();
    let before = objects();
    let still = median((0..15).map(|_| look()).collect());
    assert_eq!(objects(), before, "nothing has changed, and something was written");
    let change = |n: usize| {
        for k in 0..5 {
            let at = k * 3999;
            let path = format!("d{:03}/e{:02}/f{at}", at / 400, at / 20 % 20);
            std::fs::write(tree.join(path), format!("{n} {k}\n")).unwrap();
        }
        look()
    };
    let changed = median((0..15).map(change).collect());
    assert!(changed <= 150.0, "a snapshot took {changed} ms");
    println!(
        "| snapshot of 20,000 files, 5 of them changed, within `import` | {changed:.1} ms | | | 150 ms |"
    );
    println!("| the same when nothing has changed; nothing is written | {still:.1} ms | | | |");
}

fn jail() {
    let place = Place::new(1000);
    place.skein(&["init"]);
    let timed = |level: &str, n: usize| {
        let name = format!("{level}{n}");
        place.millis(&binary(), &["dispatch", "--wait", "--jail", level, "--name", &name, "t", "--", "true"])
    };
    let pairs = (0..9).map(|n| (timed("bwrap", n), timed("none", n))).collect();
    row("`dispatch --wait --jail bwrap` beside `--jail none`", pairs, 1.5);
}

fn at_once() {
    let rounds: usize = std::env::var("SKEIN_ROUNDS").ok().and_then(|r| r.parse().ok()).unwrap_or(10);
    let (mut ours, mut git) = (0, 0);
    for first in (0..rounds).step_by(FRESH) {
        let (failed, by_git) = rounds_at_once(first..rounds.min(first + FRESH));
        ours += failed;
        git += by_git;
    }
    println!("| 16 at once, {rounds} rounds: failures | {ours} | {git} | | 0 |");
    assert_eq!(ours, 0);
}

/// After so many rounds a new repository is taken, or most of the time would go to hundreds of old workers.
const FRESH: usize = 10;

fn rounds_at_once(rounds: std::ops::Range<usize>) -> (usize, usize) {
    let place = Place::new(20);
    place.skein(&["init"]);
    let round = |start: &dyn Fn(usize) -> Command| {
        let children: Vec<_> =
            (0..16).map(|n| start(n).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()).collect();
        children.into_iter().map(|mut c| c.wait().unwrap()).filter(|s| !s.success()).count()
    };
    let (mut ours, mut git) = (0, 0);
    for r in rounds {
        ours += round(&|n| {
            place.command(&binary(), &["dispatch", "--name", &format!("r{r}-{n}"), "t", "--", "true"])
        });
        place.skein(&["wait"]);
        git += round(&|n| {
            place.command("git", &["worktree", "add", "--quiet", "--detach", &format!("../g{r}-{n}")])
        });
    }
    (ours, git)
}

/// So many processes land at the same time, each its own worker.
const LANDING: usize = 16;

/// Under the lock landings go one after another, so who is k-th in the queue waits for k landings. That the
/// lock is fair shows in the spread: nobody waits much longer than its place in the queue.
fn landing_at_once() {
    let place = Place::new(1000);
    let alone = 5;
    for n in 0..LANDING + alone {
        let script = format!("echo {n} > n{n} && git add n{n} && git commit -qm n{n}");
        place.skein(&["dispatch", "--wait", "--name", &format!("w{n}"), "t", "--", "sh", "-c", &script]);
    }
    let lone = (LANDING..LANDING + alone).map(|n| place.millis(&binary(), &["land", &format!("w{n}")]));
    let lone = median(lone.collect());
    let before = place.git(&["rev-parse", "main"]);
    let waits: Vec<f64> = std::thread::scope(|scope| {
        let land = |n: usize| place.millis(&binary(), &["land", &format!("w{n}")]);
        let all: Vec<_> = (0..LANDING).map(|n| scope.spawn(move || land(n))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let landed = place.git(&["log", "--format=%s", &format!("{before}..main")]);
    let landed: std::collections::BTreeSet<&str> = landed.lines().collect();
    let lost = (0..LANDING).filter(|n| !landed.contains(format!("n{n}").as_str())).count();
    let count = place.git(&["rev-list", "--count", &format!("{before}..main")]).parse::<usize>().unwrap();
    let phantom = count - landed.len();
    let (middle, longest) = (median(waits.clone()), waits.iter().copied().fold(0.0, f64::max));
    let limit = 2.0 * lone * LANDING as f64;
    println!("| {LANDING} landings at once: lost, phantom | {lost}, {phantom} | | | 0 |");
    println!(
        "| the same: median and longest wait, limit 2 x {LANDING} x one alone ({lone:.1} ms) | {middle:.1} ms, {longest:.1} ms | | | {limit:.1} ms |"
    );
    assert_eq!((lost, phantom), (0, 0));
    assert!(middle <= limit, "half of the landings waited longer than {limit} ms");
}

/// Closes 1000 workers, and looks one of them up by its handle and by its id.
fn fold() {
    for (what, snapshots) in [("1,000 workers that did nothing", false), ("the same with snapshots", true)] {
        let place = Place::new(100);
        place.skein(&["init"]);
        import(&place.repo(), &workers(&place, 1000, snapshots));
        let args = ["reap", "--all", "--yes", "--include-unlanded"];
        let millis = place.millis(&binary(), &args);
        println!("| `reap` of {what} | {millis:.1} ms | | | 2000 ms |");
        assert_eq!(place.git(&["for-each-ref", "refs/skein/worker"]), "");
        assert!(millis <= 2000.0, "folding took {millis} ms");
        let ulid = ulid(500);
        for name in ["w500", &ulid] {
            let pair =
                |_| (place.millis(&binary(), &["show", name]), place.millis(&binary(), &["--version"]));
            let pairs: Vec<(f64, f64)> = (0..20).map(pair).collect();
            let found = median(pairs.iter().map(|(show, start)| show - start).collect());
            println!("| `show` of one of them beyond the start, as {name} | {found:.1} ms | | | 20 ms |");
            assert!(found <= 20.0, "finding one took {found} ms");
        }
    }
}

fn ulid(n: usize) -> String {
    format!("01kdvxqg00{n:016}")
}

/// Refs of workers that have ended, for `git fast-import`.
fn workers(place: &Place, count: usize, snapshots: bool) -> String {
    let base = place.git(&["rev-parse", "main"]);
    let workers = workers_from(place, 0..count).into_iter().zip(0..).map(|(text, n)| {
        let id = ulid(n);
        let name = format!("refs/skein-local/wip/{id}");
        let snapshot = ours(&name, &format!("snapshot of {id}"), &base, "left.txt", &id);
        let kept = format!("reset refs/skein-local/head/{id}\nfrom {base}\n\n");
        text + if snapshots { &snapshot } else { "" } + &kept
    });
    workers.collect()
}

/// A commit as the program makes it.
fn ours(name: &str, message: &str, from: &str, path: &str, body: &str) -> String {
    let who = "git-skein <skein@git-skein.invalid> 1767225600 +0000";
    let head = format!("commit {name}\ncommitter {who}\ndata {}\n{message}\nfrom {from}\n", message.len());
    format!("{head}M 100644 inline {path}\ndata {}\n{body}\n", body.len())
}

/// The records of workers that have ended, on the trunk's tip.
fn workers_from(place: &Place, which: std::ops::Range<usize>) -> Vec<String> {
    let (base, clone) = (place.git(&["rev-parse", "main"]), place.git(&["config", "skein.clone"]));
    let worker = |n: usize| {
        let id = ulid(n);
        let head =
            place.command("git", &["rev-parse", "-q", "--verify", &format!("refs/skein-local/head/{id}")]);
        let tip = { head }.output().unwrap().stdout;
        let tip =
            if tip.is_empty() { base.clone() } else { String::from_utf8(tip).unwrap().trim().to_owned() };
        let size = usize::from(tip != base);
        let record = serde_json::json!({
            "v": 1, "worker": id, "clone": clone, "handle": format!("w{n}"), "task": "t", "outcome": "ready",
            "reason": null, "base": base, "base_name": "main", "onto": "refs/heads/main", "paths": [],
            "checks": [], "agent": [], "limits": { "timeout": null, "silence": null, "done_pattern": null },
            "created": 1_767_225_600, "ended": 1_767_225_600, "exit": 0, "tip": tip, "snapshot": null,
            "flags": [], "outside": [], "deltas": size,
            "frozen": { "tip": tip, "commits": size, "paths": size },
        });
        ours(&format!("refs/skein/worker/{id}"), "ready", &base, "record.json", &record.to_string())
    };
    which.map(worker).collect()
}
