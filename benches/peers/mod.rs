//! What people would use instead, on the same generated repositories, in turn: time, the processes that are started, the
//! most memory that one of them holds, and what is written to files. `benches/peers.sh` installs the peers and puts
//! what this prints into docs/performance.md.
//!
//! `SKEIN_PEERS` names the folder with their programs. A peer that is not there, or that knows no such work, has no row.
//! `SKEIN_PEERS_ONLY` names the parts to be run, by commas: files, landed, status, overlap, lane.

use crate::Place;
use crate::binary;
use crate::file;
use crate::import;
use crate::lines;
use crate::long;
use crate::median;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

const SIZES: [usize; 3] = [100, 5_000, 50_000];

/// One way to do some work.
struct Way<'a> {
    name: &'static str,
    /// Before each run, not timed.
    before: Box<dyn Fn(usize) + 'a>,
    run: Box<dyn Fn(usize) -> Command + 'a>,
    after: Box<dyn Fn(usize) + 'a>,
}

impl<'a> Way<'a> {
    fn new(name: &'static str, run: impl Fn(usize) -> Command + 'a) -> Way<'a> {
        Way { name, before: Box::new(|_| {}), run: Box::new(run), after: Box::new(|_| {}) }
    }

    fn before(self, before: impl Fn(usize) + 'a) -> Way<'a> {
        Way { before: Box::new(before), ..self }
    }

    fn after(self, after: impl Fn(usize) + 'a) -> Way<'a> {
        Way { after: Box::new(after), ..self }
    }
}

fn peer(name: &str) -> Option<String> {
    let program = PathBuf::from(std::env::var_os("SKEIN_PEERS")?).join("bin").join(name);
    program.exists().then(|| program.to_string_lossy().into_owned())
}

pub fn peers() {
    println!("| work | by | median | ours beside it | processes | memory | written |");
    println!("|---|---|---|---|---|---|---|");
    // All of it takes an hour: a part can be run by itself.
    let only = std::env::var("SKEIN_PEERS_ONLY").unwrap_or_default();
    let wanted = |part: &str| only.is_empty() || only.split(',').any(|one| one == part);
    for files in SIZES.into_iter().filter(|_| wanted("files")) {
        let place = Place::new(files);
        place.skein(&["init"]);
        let edited: String = (0..5).map(|k| file(k * (files / 5), "another\n")).collect();
        let head = "commit refs/heads/main\ncommitter Ada <a@x> 1767225700 +0000\ndata 1\nm\nfrom refs/heads/main^0\n";
        import(&place.repo(), &format!("{head}{edited}"));
        place.git(&["reset", "--quiet", "--hard"]);
        create(&place, files);
        capture(&place, files);
        land(&place, files);
    }
    for (part, run) in [("landed", landed as fn()), ("status", status), ("overlap", overlap), ("lane", lane)]
    {
        if wanted(part) {
            run();
        }
    }
}

/// Times all ways in turn, then looks at one more run of each. The first is ours.
fn beside(work: &str, place: &Place, rounds: usize, ways: &[Way<'_>]) {
    let mut times = vec![Vec::new(); ways.len()];
    for n in 0..rounds {
        for (way, times) in ways.iter().zip(&mut times) {
            (way.before)(n);
            let mut command = (way.run)(n);
            let started = Instant::now();
            let output = command.output().unwrap();
            times.push(started.elapsed().as_secs_f64() * 1e3);
            // Whether something landed may be answered by a no.
            let most = if work.starts_with("landed") { 1 } else { 0 };
            let fine = output.status.code().is_some_and(|code| code <= most);
            assert!(fine, "{}: {command:?}: {}", way.name, String::from_utf8_lossy(&output.stderr));
            (way.after)(n);
        }
    }
    for (at, way) in ways.iter().enumerate() {
        let ratio = median(times[0].iter().zip(&times[at]).map(|(ours, theirs)| ours / theirs).collect());
        let ratio = if at == 0 { String::new() } else { format!("{ratio:.3}") };
        let (processes, written) = traced(place, way, rounds);
        let memory = memory(place, way, rounds + 1);
        println!(
            "| {work} | {} | {:.1} ms | {ratio} | {processes} | {memory:.0} MB | {:.0} KB |",
            way.name,
            median(times[at].clone()),
            written + 0.0
        );
    }
}

/// The same command under another program.
fn under(place: &Place, way: &Way<'_>, n: usize, program: &str, args: &[&str]) -> String {
    let out = place.root.path().join("looked-at");
    (way.before)(n);
    let inner = (way.run)(n);
    let mut outer = Command::new(program);
    outer.args(args).arg("-o").arg(&out).arg(inner.get_program()).args(inner.get_args());
    if let Some(dir) = inner.get_current_dir() {
        outer.current_dir(dir);
    }
    outer.envs(inner.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let ran = outer.output();
    (way.after)(n);
    assert!(ran.is_ok(), "{program} is not here");
    std::fs::read_to_string(out).unwrap_or_default()
}

/// How many programs were started, and how many KB were written to files.
fn traced(place: &Place, way: &Way<'_>, n: usize) -> (usize, f64) {
    let args = ["-f", "-qq", "-y", "-s", "0", "-e", "trace=execve,write,writev,pwrite64"];
    let trace = under(place, way, n, "strace", &args);
    let started = trace.lines().filter(|line| line.contains("execve(") && line.ends_with("= 0")).count();
    let written = trace.lines().filter_map(|line| {
        let (_, call) = line.split_once("write")?;
        let (_, path) = call.split_once('<')?;
        let to_file = path.starts_with('/') && !path.starts_with("/dev/");
        let bytes: f64 = line.rsplit_once("= ")?.1.trim().parse().ok()?;
        to_file.then_some(bytes.max(0.0))
    });
    (started, written.sum::<f64>() / 1e3)
}

/// MB that the largest process held.
fn memory(place: &Place, way: &Way<'_>, n: usize) -> f64 {
    let text = under(place, way, n, "/usr/bin/time", &["-f", "%M"]);
    text.lines().last().and_then(|kib| kib.trim().parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e3
}

fn rounds(files: usize) -> usize {
    if files > 10_000 { 3 } else { 7 }
}

/// A worktree on `main`, under its own name; only ours is a whole worker, with a process that ends at once.
fn create(place: &Place, files: usize) {
    let gone = |path: String| {
        let _ = std::fs::remove_dir_all(place.root.path().join(path));
        place.git(&["worktree", "prune"]);
    };
    let mut ways = vec![
        Way::new("`dispatch`", |n| {
            place.command(&binary(), &["dispatch", "--name", &format!("c{n}"), "t", "--", "true"])
        })
        .after(move |n| {
            place.skein(&["wait", &format!("c{n}")]);
            place.skein(&["reap", &format!("c{n}"), "--yes"]);
        }),
        Way::new("`git worktree add`", |n| {
            place.command("git", &["worktree", "add", "--quiet", "--detach", &format!("../plain{n}")])
        })
        .after(move |n| gone(format!("plain{n}"))),
    ];
    // What a pool of worktrees would save: one that is there is moved to the commit before.
    place.git(&["worktree", "add", "--quiet", "--detach", "../warm"]);
    let warm = place.root.path().join("warm");
    let moved = |n: usize| {
        if n.is_multiple_of(2) {
            "git read-tree -m -u main main~1"
        } else {
            "git read-tree -m -u main~1 main"
        }
    };
    ways.push(Way::new("`git read-tree -m -u` in a worktree that is there", move |n| {
        let mut command = place.command("sh", &["-c", moved(n)]);
        command.current_dir(&warm);
        command
    }));
    if let Some(wt) = peer("wt") {
        let run = move |n| place.command(&wt, &["switch", "--create", &format!("wt{n}"), "--no-cd", "--yes"]);
        ways.push(Way::new("`wt switch --create`", run).after(move |n| gone(format!("repo.wt{n}"))));
    }
    if let Some(doctrine) = peer("doctrine") {
        let run = move |n| {
            let (branch, dir) = (format!("dispatch/dc{n}"), format!("../dc{n}"));
            place.command(
                &doctrine,
                &["worktree", "fork", "--base", "main", "--branch", &branch, "--dir", &dir],
            )
        };
        ways.push(Way::new("`doctrine worktree fork`", run).after(move |n| gone(format!("dc{n}"))));
    }
    beside(&format!("create a worker, {files} files"), place, rounds(files), &ways);
    drop(ways);
    place.git(&["worktree", "remove", "--force", "../warm"]);
}

/// Five files of a worktree were changed and not committed.
fn capture(place: &Place, files: usize) {
    place.skein(&["dispatch", "--wait", "--jail", "none", "--name", "cap", "t", "--", "true"]);
    place.git(&["worktree", "add", "--quiet", "--detach", "../cap"]);
    let theirs = place.root.path().join("cap");
    let ours = place.root.path().join("repo.skein/cap");
    let change = |tree: &PathBuf, n: usize| {
        for k in 0..5 {
            let at = k * (files / 5);
            let path = format!("d{:03}/e{:02}/f{at}", at / 400, at / 20 % 20);
            std::fs::write(tree.join(path), format!("{n} {k}\n")).unwrap();
        }
    };
    let by_hand = "git add -A && git commit-tree -m snapshot -p HEAD $(git write-tree)";
    let mut ways = vec![
        Way::new("`import`", |_| place.command(&binary(), &["import", "cap"])).before(|n| change(&ours, n)),
        Way::new("`git add`, `write-tree`, `commit-tree`", |_| {
            let mut command = place.command("sh", &["-c", by_hand]);
            command.current_dir(&theirs);
            command
        })
        .before(|n| change(&theirs, n)),
    ];
    if let Some(doctrine) = peer("doctrine") {
        let base = place.git(&["rev-parse", "main"]);
        let tree = theirs.to_string_lossy().into_owned();
        let run = move |_| {
            place.command(&doctrine, &["worktree", "import", "--base", &base, "--from-worktree", &tree])
        };
        let way = Way::new("`doctrine worktree import --from-worktree`", run);
        let way = way.before(|n| change(&theirs, n));
        ways.push(way.after(|_| drop(place.git(&["reset", "--quiet", "--hard"]))));
    }
    beside(&format!("capture 5 changed files, {files} files"), place, rounds(files), &ways);
    place.git(&["worktree", "remove", "--force", "../cap"]);
    place.skein(&["reap", "cap", "--yes", "--include-unlanded"]);
}

/// A worktree with a commit comes onto `main`, which is checked out.
fn land(place: &Place, files: usize) {
    let script = |name: &str| format!("echo {name} > {name} && git add {name} && git commit -qm {name}");
    // A worktree of theirs with a commit on a branch; its files are there.
    let forked = |branch: &str, dir: &str| {
        place.git(&["worktree", "add", "--quiet", "-b", branch, &format!("../{dir}"), "main"]);
        let mut commit = place.command("sh", &["-c", &script(dir)]);
        commit.current_dir(place.root.path().join(dir));
        assert!(commit.status().unwrap().success());
    };
    let gone = |dir: &str| {
        let _ = place.command("git", &["worktree", "remove", "--force", &format!("../{dir}")]).output();
    };
    let mut ways = vec![
        Way::new("`land`", |n| place.command(&binary(), &["land", &format!("l{n}")]))
            .before(|n| {
                let (name, script) = (format!("l{n}"), script(&format!("l{n}")));
                place.skein(&["dispatch", "--wait", "--name", &name, "t", "--", "sh", "-c", &script]);
            })
            .after(|n| drop(place.skein(&["reap", &format!("l{n}"), "--yes"]))),
        Way::new("`git cherry-pick`", |n| place.command("git", &["cherry-pick", &format!("pick{n}")]))
            .before(|n| {
                forked(&format!("pick{n}"), &format!("pick{n}"));
                // Or its commit would be the trunk's next, and nothing would have to be merged.
                place.git(&["commit", "--quiet", "--allow-empty", "-m", "meanwhile"]);
            })
            .after(|n| gone(&format!("pick{n}"))),
    ];
    if let Some(wt) = peer("wt") {
        let run = move |n| {
            let mut command = place.command(&wt, &["merge", "main", "--yes", "--no-remove"]);
            command.current_dir(place.root.path().join(format!("wtl{n}")));
            command
        };
        let way = Way::new("`wt merge`", run).before(|n| {
            forked(&format!("wtl{n}"), &format!("wtl{n}"));
            place.git(&["commit", "--quiet", "--allow-empty", "-m", "meanwhile"]);
        });
        ways.push(way.after(|n| gone(&format!("wtl{n}"))));
    }
    if let Some(doctrine) = peer("doctrine") {
        let run = move |n| {
            let script = format!(
                "{doctrine} worktree import --base main --fork dispatch/dl{n} && git commit --quiet -m dl{n}"
            );
            place.command("sh", &["-c", &script])
        };
        let way = Way::new("`doctrine worktree import`, `git commit`", run);
        let way = way.before(|n| forked(&format!("dispatch/dl{n}"), &format!("dl{n}")));
        ways.push(way.after(|n| gone(&format!("dl{n}"))));
    }
    beside(&format!("import and land a commit, {files} files"), place, rounds(files), &ways);
}

/// Whether a commit landed, so many commits ago.
fn landed() {
    let place = long::trunk();
    place.skein(&["init"]);
    long::index(&place);
    for behind in [10, 1000, 10_000, 50_000] {
        let name = format!("new-{behind}");
        let mut ways = vec![
            Way::new("`landed`", |_| place.command(&binary(), &["landed", &name, "--onto", "main"])),
            Way::new("`git cherry`", |_| place.command("git", &["cherry", "main", &name])),
        ];
        if let Some(doctrine) = peer("doctrine") {
            let name = name.clone();
            let place = &place;
            let run = move |_| place.command(&doctrine, &["worktree", "gc", "--fork", &name, "--dry-run"]);
            ways.push(Way::new("`doctrine worktree gc --dry-run`", run));
        }
        beside(&format!("landed, {behind} commits ago, 50,000 files"), &place, 5, &ways);
    }
}

/// All workers and where they stand.
fn status() {
    let place = Place::new(100);
    let mut made = 0;
    for count in [10, 100, 500] {
        for n in made..count {
            place.skein(&["dispatch", "--jail", "none", "--name", &format!("w{n}"), "t", "--", "true"]);
        }
        made = count;
        place.skein(&["wait"]);
        let mut ways = vec![
            Way::new("`status`", |_| place.command(&binary(), &["status"])),
            Way::new("`git worktree list`", |_| place.command("git", &["worktree", "list"])),
            Way::new("`git for-each-ref`", |_| place.command("git", &["for-each-ref"])),
        ];
        let place = &place;
        if let Some(wt) = peer("wt") {
            ways.push(Way::new("`wt list`", move |_| place.command(&wt, &["list"])));
        }
        if let Some(doctrine) = peer("doctrine") {
            let run = move |_| place.command(&doctrine, &["worktree", "list"]);
            ways.push(Way::new("`doctrine worktree list`", run));
        }
        beside(&format!("status of {count} workers"), place, 5, &ways);
    }
}

/// Which workers are at work on the same lines.
fn overlap() {
    let place = Place::new(2000);
    place.skein(&["init"]);
    for n in 0..20 {
        let edit: String = (0..20)
            .map(|k| {
                let at = (n * 10 + k) * 9;
                format!("sed -i 's/^{at} 3$/by {n}/' d{:03}/e{:02}/f{at} && ", at / 400, at / 20 % 20)
            })
            .collect();
        let script = edit + &format!("git commit -qam w{n}");
        let args =
            ["dispatch", "--wait", "--jail", "none", "--name", &format!("w{n}"), "t", "--", "sh", "-c"];
        place.skein(&[&args[..], &[&script]].concat());
        if n == 9 || n == 19 {
            let pairs: String = (0..=n)
                .flat_map(|b| (0..b).map(move |a| (a, b)))
                .map(|(a, b)| {
                    let tree = |w: usize| place.root.path().join(format!("repo.skein/w{w}"));
                    let head = |w| {
                        let path = tree(w).to_string_lossy().into_owned();
                        place.git(&["-C", &path, "rev-parse", "HEAD"])
                    };
                    format!("git merge-tree --write-tree {} {} >/dev/null; ", head(a), head(b))
                })
                .collect();
            let ways = [
                Way::new("`overlap`", |_| place.command(&binary(), &["overlap"])),
                Way::new("`git merge-tree` of each pair", |_| place.command("sh", &["-c", &pairs])),
            ];
            beside(&format!("overlap of {} workers", n + 1), &place, 5, &ways);
        }
    }
}

/// Branches that land together in one command.
const TOGETHER: usize = 250;

/// Ten thousand landings, each with its record and its note.
fn lane() {
    let place = Place::new(100);
    place.skein(&["init"]);
    for first in (0..10_000).step_by(TOGETHER) {
        let names: Vec<String> = (first..first + TOGETHER).map(|n| format!("b{n}")).collect();
        let mut text = String::new();
        for (name, n) in names.iter().zip(first..) {
            text += &format!(
                "commit refs/heads/{name}\ncommitter Ada <a@x> 1767225700 +0000\ndata 1\nb\nfrom refs/heads/main^0\n"
            );
            text += &file(1000 + n, &lines(n));
        }
        import(&place.repo(), &text);
        let args: Vec<&str> = std::iter::once("land").chain(names.iter().map(String::as_str)).collect();
        place.skein(&args);
        let all: String = names.iter().map(|name| format!("delete refs/heads/{name}\n")).collect();
        crate::update_refs(&place, &all);
    }
    let tip = place.git(&["rev-parse", "main~5000"]);
    let log = [
        Way::new("`log -n 20`", |_| place.command(&binary(), &["log", "-n", "20"])),
        Way::new("`git log --notes -20`", |_| place.command("git", &["log", "--notes=skein/landed", "-20"])),
    ];
    beside("the newest 20 of 10,000 landings", &place, 9, &log);
    let one = [
        Way::new("`landed` of a commit in the middle", |_| place.command(&binary(), &["landed", &tip])),
        Way::new("`git notes show`", |_| {
            place.command("git", &["notes", "--ref=skein/landed", "show", &tip])
        }),
    ];
    beside("what is known of one of 10,000 landings", &place, 9, &one);
}
