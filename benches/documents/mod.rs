//! `doc` beside agent-doc, where `AGENT_DOC` names its program; else beside what git would be called for by hand: a
//! comparison of two files, and the five commands that commit one path through an index of their own.

use crate::Place;
use crate::binary;
use crate::row;
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Instant;

const ROUNDS: usize = 15;

/// The same document twice, one for each program.
struct Pair {
    place: Place,
    peer: Option<PathBuf>,
}

pub fn documents() {
    let peer = std::env::var_os("AGENT_DOC").map(PathBuf::from);
    for files in [10, 5_000, 50_000] {
        for size in [10_000, 100_000, 1_000_000] {
            Pair::new(files, size, peer.clone()).rows(files, size);
        }
    }
    turns();
}

impl Pair {
    fn new(files: usize, size: usize, peer: Option<PathBuf>) -> Pair {
        let place = Place::bare(files);
        place.git(&["read-tree", "main"]);
        place.skein(&["init"]);
        let pair = Pair { place, peer };
        for (name, front) in [
            ("ours.md", "skein_doc: 01k00000000000000000000d0c\n"),
            (
                "theirs.md",
                "agent_doc_session: cf853a21-0000-4000-8000-000000000000\nagent_doc_format: template\n",
            ),
        ] {
            let said: String = (0..size / 50)
                .map(|n| format!("Line {n} of what was said before, about so long.\n"))
                .collect();
            let text = format!(
                "---\n{front}---\n\n# Plan\n\n<!-- agent:exchange -->\n{said}<!-- /agent:exchange -->\n"
            );
            std::fs::write(pair.place.repo().join(name), text).unwrap();
            pair.place.git(&["add", "--sparse", name]);
        }
        pair.place.git(&["commit", "--quiet", "-m", "documents"]);
        pair.turn("first", true);
        pair.turn("first", false);
        pair
    }

    /// What is typed goes out, an answer comes in and is committed.
    fn turn(&self, word: &str, ours: bool) -> [f64; 4] {
        let file = if ours { "ours.md" } else { "theirs.md" };
        let path = self.place.repo().join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        let typed = format!("Question {word}?\n<!-- /agent:exchange -->");
        std::fs::write(&path, text.replace("<!-- /agent:exchange -->", &typed)).unwrap();
        if self.peer.is_some() && !ours {
            // It waits for the clock of the file, which is no work.
            let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
            std::fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        }
        let answer = format!("<!-- patch:exchange -->\nAnswer {word}.\n<!-- /patch:exchange -->\n");
        let diff = self.run(ours, "diff", file, "");
        let preflight = self.run(ours, "preflight", file, "");
        let write = self.run(ours, "write", file, &answer);
        [diff, preflight, write, self.run(ours, "commit", file, "")]
    }

    /// Milliseconds of one command.
    fn run(&self, ours: bool, verb: &str, file: &str, input: &str) -> f64 {
        let mut command = match (&self.peer, ours) {
            (_, true) => self.place.command(&binary(), &["doc", verb, file]),
            (Some(peer), false) => {
                let mut args = vec![verb, file];
                if verb == "write" {
                    args.extend(["--stream", "--force-disk"]);
                }
                self.place.command(&peer.to_string_lossy(), &args)
            }
            (None, false) => self.by_hand(verb, file),
        };
        let started = Instant::now();
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
        let status = child.wait().unwrap();
        assert!(status.success() || verb == "diff", "{verb} {file}: {status}");
        started.elapsed().as_secs_f64() * 1e3
    }

    fn by_hand(&self, verb: &str, file: &str) -> std::process::Command {
        let script = match verb {
            "commit" => format!(
                "export GIT_INDEX_FILE=own; git read-tree HEAD && blob=$(git hash-object -w {file}) && \
                 git update-index --cacheinfo 100644,$blob,{file} && tree=$(git write-tree) && \
                 git update-ref refs/heads/main $(git commit-tree -p HEAD -m doc $tree)"
            ),
            "write" => format!("cat >>{file}"),
            _ => format!("git show HEAD:{file} | git diff --no-index - {file}; true"),
        };
        self.place.command("sh", &["-c", &script])
    }

    fn rows(&self, files: usize, size: usize) {
        let mut pairs: [Vec<(f64, f64)>; 4] = Default::default();
        for n in 0..ROUNDS {
            let (ours, theirs) = (self.turn(&n.to_string(), true), self.turn(&n.to_string(), false));
            for (verb, pair) in pairs.iter_mut().zip(ours.into_iter().zip(theirs)) {
                verb.push(pair);
            }
        }
        let beside = if self.peer.is_some() { "agent-doc" } else { "git by hand" };
        for (verb, pairs) in ["diff", "preflight", "write", "commit"].into_iter().zip(pairs) {
            let what = format!("`doc {verb}`, {} KB in {files} files, beside {beside}", size / 1000);
            row(&what, pairs, if self.peer.is_some() { 0.5 } else { f64::NAN });
        }
    }
}

/// The merge of a document of 100 KB, in process, beside `git merge-file`; each side has 100 edits.
pub fn merges() {
    let place = Place::bare(1);
    for (kind, limit) in [("apart", 2.0), ("in the same lines", 20.0), ("against each other", 20.0)] {
        let [base, person, agent] = sides(kind);
        let (clashes, ours) = git_skein::bench_document_merge(&base, &person, &agent, 2 * ROUNDS);
        assert_eq!(clashes, if kind == "against each other" { EDITS } else { 0 }, "{kind}");
        for (name, text) in [("base", &base), ("person", &person), ("agent", &agent)] {
            std::fs::write(place.repo().join(name), text).unwrap();
        }
        // It exits with the number of conflicts.
        let git = (0..2 * ROUNDS).map(|_| {
            place.millis("sh", &["-c", "git merge-file -p person base agent >merged; test $? -le 127"])
        });
        let pairs: Vec<(f64, f64)> = ours.into_iter().zip(git).collect();
        let median = crate::median(pairs.iter().map(|p| p.0).collect());
        assert!(median <= limit, "merging edits {kind} took {median} ms");
        row(
            &format!("merge of a document of 100 KB, {EDITS} edits a side {kind}; limit in ms"),
            pairs,
            limit,
        );
    }
}

const EDITS: usize = 100;

/// A document, and what a person and an agent made of it.
fn sides(kind: &str) -> [String; 3] {
    let line = |n: usize| format!("Line {n} of what was said before, about so long.\n");
    let side = |who: &str, at: usize| -> String {
        let edited = |n: usize| match (kind, n % 20 == at, n / 20 % 3) {
            (_, false, _) => line(n),
            ("apart", true, 0) => format!("{}{who} put in line {n}.\n", line(n)),
            ("apart", true, 1) => String::new(),
            ("in the same lines", true, _) if who == "mine" => line(n).replace("Line", who),
            ("in the same lines", true, _) => line(n).replace("long", who),
            (_, true, _) => line(n).replace("before", who),
        };
        (0..20 * EDITS).map(edited).collect()
    };
    let apart = if kind == "apart" { 12 } else { 5 };
    [(0..20 * EDITS).map(line).collect(), side("mine", 5), side("theirs", apart)]
}

/// A document of 10,000 turns lists them.
fn turns() {
    let place = Place::new(10);
    place.skein(&["init"]);
    let doc = "01k00000000000000000000d0c";
    std::fs::write(place.repo().join("ours.md"), format!("---\nskein_doc: {doc}\n---\n\ntext\n")).unwrap();
    place.skein(&["doc", "preflight", "ours.md"]);
    let name = format!("refs/skein/doc/{doc}");
    let turn = place.git(&["cat-file", "blob", &format!("{name}:turns/0/01/meta.json")]);
    let meta = place.git(&["cat-file", "blob", &format!("{name}:meta.json")]);
    let mut stream = format!(
        "commit {name}\ncommitter git-skein <skein@git-skein.invalid> 1767225700 +0000\ndata 4\nmany\nfrom {name}^0\n"
    );
    let mut put = |path: &str, text: &str| {
        stream += &format!("M 100644 inline {path}\ndata {}\n{text}\n", text.len());
    };
    put("meta.json", &meta.replace("\"turns\": 1", "\"turns\": 10000"));
    for n in 1..=10_000 {
        let path = format!("turns/{}/{:02}/meta.json", n / 100, n % 100);
        put(&path, &turn.replace("\"n\": 1", &format!("\"n\": {n}")));
    }
    crate::import(&place.repo(), &stream);
    let listed = place.skein(&["doc", "turns", "ours.md"]);
    assert_eq!(listed.lines().count(), 10_000);
    let pair = |_| {
        let git = ["log", "--format=%s", "-1", &name];
        (place.millis(&binary(), &["doc", "turns", "ours.md"]), place.millis("git", &git))
    };
    row("`doc turns` of 10,000 turns beside `git log -1`", (0..ROUNDS).map(pair).collect(), f64::NAN);
}
