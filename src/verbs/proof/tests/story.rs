//! Histories made by real git for the tests of the oracle. Each names its commits; the truth about them
//! is stated by whoever tells the story, not computed.

use crate::domain::Oid;
use crate::domain::Presence;
use crate::domain::RawDigest;
use crate::domain::Verdict;
use crate::plumbing::Objects;
use crate::verbs::proof::Answer;
use crate::verbs::proof::Question;
use crate::verbs::proof::Receipt;
use crate::verbs::proof::prove;
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::process::Stdio;

/// What is so, by construction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    /// All of the fork's work is in the trunk's history, and was not taken back.
    In,
    /// It was, and all or a part that landed by itself was taken back.
    Gone,
    /// Some or all of it never was.
    Not,
    /// There is no work.
    Nothing,
    Unknowable,
}

/// A receipt in names: the landed pairs, old and new trunk, and the spans whose digests it claims.
type Claim = (Vec<(String, String)>, [String; 2], [String; 2], [String; 2]);

#[derive(Default)]
pub struct Story {
    stream: Vec<u8>,
    names: Vec<String>,
    aliases: Vec<(String, usize)>,
    claims: Vec<Claim>,
    pub shallow: bool,
    /// A path whose blob at S is taken out of the store.
    pub lose: Option<&'static str>,
    wide: bool,
}

impl Story {
    /// A commit on `parents` that makes `edits` to the tree of the first. Paths: `-p` deletes, `x:p` is
    /// executable, `l:p` a link, `m:p` a gitlink.
    pub fn commit(&mut self, name: &str, parents: &[&str], edits: &[(&str, &str)]) {
        let mark = |n: &str| self.names.iter().position(|known| known == n).expect("a known name") + 1;
        let own = self.names.len() + 1;
        let mut text = format!("commit refs/heads/{name}\nmark :{own}\n");
        text += &format!(
            "committer A U Thor <a@example.com> {} +0000\ndata {}\n{name}\n",
            1_700_000_000 + own,
            name.len()
        );
        for (at, parent) in parents.iter().enumerate() {
            text += &format!("{} :{}\n", if at == 0 { "from" } else { "merge" }, mark(parent));
        }
        for (path, content) in edits {
            if let Some(path) = path.strip_prefix('-') {
                text += &format!("D {path}\n");
                continue;
            }
            let (mode, path) = match path.split_once(':') {
                Some(("x", path)) => ("100755", path),
                Some(("l", path)) => ("120000", path),
                Some(("m", path)) => {
                    text += &format!("M 160000 {} {path}\n", content.repeat(if self.wide { 64 } else { 40 }));
                    continue;
                }
                _ => ("100644", *path),
            };
            text += &format!("M {mode} inline {path}\ndata {}\n{content}\n", content.len());
        }
        self.stream.extend_from_slice(text.as_bytes());
        self.stream.push(b'\n');
        self.names.push(name.to_owned());
    }

    /// Another name for a commit.
    pub fn alias(&mut self, name: &str, of: &str) {
        let mark = self.names.iter().position(|known| known == of).expect("a known name") + 1;
        self.stream.extend_from_slice(format!("reset refs/heads/{name}\nfrom :{mark}\n\n").as_bytes());
        self.aliases.push((name.to_owned(), mark));
    }

    /// A truthful receipt for the fork `B..tip` landed as `old..new`.
    pub fn receipt(&mut self, landed: &[(&str, &str)], tip: &str, old: &str, new: &str) {
        self.claim(landed, [old, new], [old, new], ["B", tip]);
    }

    /// A receipt that claims the digest of one span for the landing and of another for the fork.
    pub fn claim(&mut self, landed: &[(&str, &str)], trunk: [&str; 2], raw: [&str; 2], delta: [&str; 2]) {
        let pair = |p: [&str; 2]| p.map(str::to_owned);
        let landed = landed.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        self.claims.push((landed, pair(trunk), pair(raw), pair(delta)));
    }

    /// Has git make it.
    pub fn tell(tell: fn(&mut Story), format: &str) -> World {
        let mut story = Story { wide: format == "sha256", ..Story::default() };
        tell(&mut story);
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "-q", "--bare", "--object-format", format, "."], b"");
        git(dir.path(), &["fast-import", "--quiet", "--export-marks=marks"], &story.stream);
        let marks = std::fs::read_to_string(dir.path().join("marks")).unwrap();
        let mut oids = HashMap::new();
        for line in marks.lines() {
            let (mark, oid) = line[1..].split_once(' ').unwrap();
            let (mark, oid): (usize, Oid) = (mark.parse().unwrap(), oid.parse().unwrap());
            oids.insert(story.names[mark - 1].clone(), oid);
            oids.extend(story.aliases.iter().filter(|a| a.1 == mark).map(|a| (a.0.clone(), oid)));
        }
        let objects = Objects::open(&dir.path().join("objects"), format).unwrap();
        if let Some(path) = story.lose {
            let (_, oid) =
                objects.entry_at(objects.tree_of(oids["S"]).unwrap(), path.into()).unwrap().unwrap();
            std::fs::remove_file(loose(dir.path(), oid)).unwrap();
        }
        World { objects: Objects::open(&dir.path().join("objects"), format).unwrap(), dir, oids, story }
    }
}

pub struct World {
    pub objects: Objects,
    pub dir: tempfile::TempDir,
    pub oids: HashMap<String, Oid>,
    story: Story,
}

impl World {
    pub fn oid(&self, name: &str) -> Oid {
        self.oids[name]
    }

    fn raw(&self, span: &[String; 2]) -> RawDigest {
        let [from, to] = span.each_ref().map(|n| self.objects.tree_of(self.oids[n]).unwrap());
        RawDigest::of(&self.objects.diff_trees(from, to).unwrap())
    }

    pub fn question(&self) -> Question {
        let receipts = self
            .story
            .claims
            .iter()
            .map(|(landed, trunk, raw, delta)| Receipt {
                landed: landed.iter().map(|(a, b)| (self.oids[a], self.oids[b])).collect(),
                old: self.oids[&trunk[0]],
                new: self.oids[&trunk[1]],
                landed_raw: self.raw(raw),
                delta_raw: self.raw(delta),
            })
            .collect();
        let [base, tip, onto] = ["B", "S", "T"].map(|n| self.oids[n]);
        Question { base, tip, onto, shallow: self.story.shallow, receipts }
    }

    pub fn ask(&self) -> Answer {
        prove(&self.objects, &self.question()).unwrap()
    }

    /// The names of `oid`: two names may be the same commit.
    pub fn is(&self, name: &str, oid: Oid) -> bool {
        self.oids.get(name) == Some(&oid)
    }

    /// The signs of `git cherry T S B`, oldest first.
    pub fn cherry(&self) -> String {
        let out = git(self.dir.path(), &["cherry", "T", "S", "B"], b"");
        String::from_utf8(out).unwrap().lines().map(|l| &l[..1]).collect()
    }

    /// Whether `git branch --merged T` lists S.
    pub fn merged(&self) -> bool {
        let out = git(self.dir.path(), &["branch", "--merged", "T", "--format=%(refname)"], b"");
        String::from_utf8(out).unwrap().lines().any(|l| l == "refs/heads/S")
    }
}

/// The verdict as the tables write it: word, then proof or reason.
pub fn told(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Landed { proof, .. } => format!("{} {}", verdict.word(), proof.as_str()),
        Verdict::Unknown { why, .. } => format!("unknown {}", why.as_str()),
        _ => verdict.word().to_owned(),
    }
}

/// Whether `verdict` permits what only `truth == In` may permit.
pub fn is_false_landed(verdict: &Verdict, truth: Truth) -> bool {
    matches!(verdict, Verdict::Landed { presence: Presence::Yes | Presence::Changed, .. })
        && truth != Truth::In
}

/// Twenty lines, some replaced; a replacement of `-` takes the line out.
pub fn doc(edits: &[(usize, &str)]) -> String {
    let line = |n: usize| match edits.iter().find(|e| e.0 == n) {
        Some((_, "-")) => String::new(),
        Some((_, text)) => format!("{text}\n"),
        None => format!("line number {n}\n"),
    };
    (1..=20).map(line).collect()
}

pub fn git(dir: &Path, args: &[&str], stdin: &[u8]) -> Vec<u8> {
    let mut child = Command::new("git")
        .args(args)
        .current_dir(dir)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let feed = stdin.to_vec();
    let feeder = std::thread::spawn(move || {
        let _ = pipe.write_all(&feed);
    });
    let out = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    out.stdout
}

fn loose(dir: &Path, oid: Oid) -> std::path::PathBuf {
    let hex = oid.to_string();
    dir.join("objects").join(&hex[..2]).join(&hex[2..])
}
