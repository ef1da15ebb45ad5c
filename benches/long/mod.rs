//! What must not grow: `landed` over long histories, `status` of many workers, the overlap of many of them.

use crate::Place;
use crate::binary;
use crate::file;
use crate::import;
use crate::lines;
use crate::median;
use crate::row;
use crate::ulid;
use crate::workers;
use crate::workers_from;
use std::fmt::Write;
use std::time::Instant;

/// `status` of many workers that each have a worktree and a commit, on a trunk that has gone on since.
pub fn status() {
    let place = Place::bare(1000);
    place.skein(&["init"]);
    let mut made = 0;
    for (count, limit) in [(100, 200.0), (500, 1000.0)] {
        import(&place.repo(), &crowd(&place, made..count));
        for n in made..count {
            let (path, reason) = (format!("../w{n}"), format!("git-skein worker {}", ulid(n)));
            let tip = format!("refs/skein-local/head/{}", ulid(n));
            place.git(&[
                "worktree",
                "add",
                "--quiet",
                "--no-checkout",
                "--detach",
                "--lock",
                "--reason",
                &reason,
                &path,
                &tip,
            ]);
        }
        made = count;
        place.skein(&["init"]);
        let (_, cold) = (place.millis(&binary(), &["status"]), place.millis(&binary(), &["status"]));
        let pair = |_| (place.millis(&binary(), &["status"]), place.millis("git", &["for-each-ref"]));
        let pairs: Vec<(f64, f64)> = (0..15).map(pair).collect();
        let shown: serde_json::Value = serde_json::from_str(&place.skein(&["status", "--json"])).unwrap();
        assert_eq!(shown["result"]["workers"].as_array().unwrap().len(), count);
        row(&format!("`status` of {count} workers beside `git for-each-ref`"), pairs, 2.0);
        assert!(cold <= limit, "status took {cold} ms");
    }
}

/// Workers with a commit each; after each of them the trunk gains one.
fn crowd(place: &Place, which: std::ops::Range<usize>) -> String {
    let who = "committer Ada <a@x> 1767225700 +0000";
    let mut text = String::new();
    let base = place.git(&["rev-parse", "main"]);
    for n in which.clone() {
        let name = format!("refs/skein-local/head/{}", ulid(n));
        let _ = write!(text, "commit {name}\n{who}\ndata 1\nw\nfrom {base}\n{}", file(n, "work\n"));
    }
    import(&place.repo(), &text);
    text.clear();
    for (k, worker) in workers_from(place, which.clone()).into_iter().enumerate() {
        let n = which.start + k;
        text += &worker;
        let _ = write!(text, "commit refs/heads/main\n{who}\ndata 1\nm\n");
        if k == 0 {
            text += "from refs/heads/main^0\n";
        }
        text += &file(n, &format!("trunk {n}\n"));
    }
    text
}

/// The overlap of every two of 10 and of 20 workers, each of which changes 20 of 20,000 files.
pub fn overlap() {
    let place = Place::bare(20_000);
    let base = place.git(&["rev-parse", "main"]);
    for n in 0..20 {
        // Neighbours share half of their files; every third pair of them changes the same lines.
        let mut text = format!(
            "commit refs/heads/w{n}\ncommitter Ada <a@x> 1767225700 +0000\ndata 1\nw\nfrom refs/heads/main^0\n"
        );
        for k in 0..20 {
            let at = n * 10 + k;
            let line = if n % 3 == 2 { 15 } else { 3 };
            text += &file(
                at * 97,
                &lines(at * 97).replace(&format!("{} {line}\n", at * 97), &format!("by {n}\n")),
            );
        }
        import(&place.repo(), &text);
    }
    let objects = place.repo().join(".git/objects");
    for (count, limit) in [(10, 100.0), (20, 400.0)] {
        let tip = |n| place.git(&["rev-parse", &format!("w{n}")]);
        let works: Vec<(String, String)> = (0..count).map(|n| (base.clone(), tip(n))).collect();
        let runs: Vec<(usize, usize, f64)> =
            (0..9).map(|_| git_skein::bench_overlaps(&objects, &works).unwrap()).collect();
        let ours = median(runs.iter().map(|run| run.2).collect());
        let (meet, conflict) = (runs[0].0, runs[0].1);
        let started = Instant::now();
        for second in 0..count {
            for first in 0..second {
                let args = ["merge-tree", "--write-tree", &format!("w{first}"), &format!("w{second}")];
                place.command("git", &args).output().unwrap();
            }
        }
        let git = started.elapsed().as_secs_f64() * 1e3;
        let all = count * (count - 1) / 2;
        println!(
            "| overlap of {all} pairs, in process ({meet} meet, {conflict} conflict), beside `git merge-tree` of each | {ours:.1} ms | {git:.1} ms | {:.3} | {limit} ms |",
            ours / git
        );
        assert!(ours <= limit, "the overlap of {all} pairs took {ours} ms");
    }
}

/// Files of the repository that `landed` is asked in.
const FILES: usize = 50_000;

/// How many commits the trunk gained since each of the bases.
const BEHIND: [usize; 5] = [10, 100, 1000, 10_000, 50_000];

/// A long trunk, with forks at each of the bases, in git's own graph.
pub fn trunk() -> Place {
    let place = Place::bare(FILES);
    import(&place.repo(), &history());
    place.git(&["commit-graph", "write", "--reachable"]);
    place
}

/// Makes the index as far back as the oldest base.
pub fn index(place: &Place) {
    place.oldest_worker();
    place.skein(&["init"]);
}

/// Forks at each of the bases: one that landed, one that did not.
pub fn landed() {
    let place = trunk();
    place.skein(&["init"]);
    let rounds = |behind: usize| if behind < 10_000 { 9 } else { 3 };
    let mut cherries = Vec::new();
    for behind in BEHIND {
        let cherry = (0..rounds(behind)).map(|_| place.cherry(behind)).collect();
        cherries.push(median(cherry));
    }
    let ask = |title: &str, limits: [f64; 5]| {
        let mut firsts = Vec::new();
        for ((behind, cherry), limit) in BEHIND.into_iter().zip(&cherries).zip(limits) {
            for (fork, code, what) in [("new", 0, "landed"), ("own", 1, "not landed")] {
                let name = format!("{fork}-{behind}");
                let ours = median((0..rounds(behind) * 3).map(|_| place.landed(&name, code)).collect());
                let ratio = ours / cherry;
                println!(
                    "| `landed` {title}, {behind} commits, {what}, beside `git cherry` | {ours:.1} ms | {cherry:.1} ms | {ratio:.4} | {limit} |"
                );
                firsts.push(ours);
            }
        }
        for (at, what) in ["landed", "not landed"].iter().enumerate() {
            let grown = firsts[8 + at] / firsts[2 + at];
            println!("| `landed` {title}, 50,000 commits beside 100, {what} | {grown:.2} | | | |");
        }
    };
    ask("without an index", [f64::NAN, f64::NAN, 0.1, 0.1, 0.1]);
    place.git(&["commit-graph", "write", "--reachable", "--changed-paths"]);
    ask("with git's filters", [f64::NAN, f64::NAN, 0.1, 0.1, 0.1]);
    let started = Instant::now();
    index(&place);
    println!(
        "| making the index of 50,000 commits | {:.0} ms | | | |",
        started.elapsed().as_secs_f64() * 1e3
    );
    ask("with the index", [f64::NAN, f64::NAN, 0.1, 0.1, 0.01]);
}

/// The commits of the trunk: most change one to four files, every fifth the same one. Then the forks, and those that landed.
fn history() -> String {
    let total = BEHIND[4];
    let mut text = format!("reset refs/heads/back-{total}\nfrom refs/heads/main^0\n\n");
    let head = |name: &str, at: usize, from: &str| {
        format!(
            "commit refs/heads/{name}\ncommitter Ada <a@x> {} +0000\ndata 1\nc{from}\n",
            1_767_225_700 + at
        )
    };
    for at in 1..=total {
        text += &head("main", at, if at == 1 { "\nfrom refs/heads/main^0" } else { "" });
        match at % 5 {
            0 => {
                let _ = writeln!(text, "M 100644 inline CHANGELOG.md\ndata <<end\n- {at}\nend");
            }
            changed => {
                for k in 0..changed {
                    let n = (at * 7919 + k * 104_729) % FILES;
                    text += &file(n, &lines(n).replace(&format!("{n} 5\n"), &format!("{n} {at}\n")));
                }
            }
        }
        let left = total - at;
        if BEHIND.contains(&left) {
            let _ = writeln!(text, "reset refs/heads/back-{left}\nfrom refs/heads/main\n");
        }
    }
    for (k, behind) in BEHIND.into_iter().enumerate() {
        let from = format!("\nfrom refs/heads/back-{behind}");
        let new = format!("M 100644 inline new/{behind}\ndata <<end\nnew {behind}\nand more\nend\n");
        text += &(head(&format!("new-{behind}"), total, &from) + &new);
        let n = 20 * k + 3;
        text += &head(&format!("own-{behind}"), total, &from);
        text += &file(n, &lines(n).replace(&format!("{n} 15\n"), "never landed\n"));
    }
    for behind in BEHIND {
        text += &head("main", total, "");
        let _ = writeln!(text, "M 100644 inline new/{behind}\ndata <<end\nnew {behind}\nand more\nend");
    }
    text
}

impl Place {
    fn timed(&self, program: &str, args: &[&str], code: i32) -> f64 {
        let started = Instant::now();
        let output = self.command(program, args).output().unwrap();
        let took = started.elapsed().as_secs_f64() * 1e3;
        assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
        took
    }

    fn cherry(&self, behind: usize) -> f64 {
        self.timed("git", &["cherry", "main", &format!("new-{behind}")], 0)
    }

    fn landed(&self, name: &str, code: i32) -> f64 {
        self.timed(&binary(), &["landed", name, "--onto", "main"], code)
    }

    /// A worker whose base is the oldest.
    fn oldest_worker(&self) {
        let base = self.git(&["rev-parse", &format!("back-{}", BEHIND[4])]);
        let text = workers(self, 1, false).replace(&self.git(&["rev-parse", "main"]), &base);
        import(&self.repo(), &text);
    }
}
