//! Histories made by real git for the tests of the oracle. Each names its commits; the truth about them
//! is stated by whoever tells the story, not computed. This file and the tables beside it know nothing of
//! the crate: the tests of the built binary tell the same stories.

use super::git;
use std::collections::HashMap;
use std::path::Path;

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
pub type Claim = (Vec<(String, String)>, [String; 2], [String; 2], [String; 2]);

#[derive(Default)]
pub struct Story {
    stream: Vec<u8>,
    names: Vec<String>,
    aliases: Vec<(String, usize)>,
    pub claims: Vec<Claim>,
    pub shallow: bool,
    /// A path whose blob at S is taken out of the store.
    pub lose: Option<&'static str>,
    /// What `git config` is told in the repository.
    pub config: Vec<(&'static str, &'static str)>,
    /// A commit, and the one that `git replace` puts in its place.
    pub replace: Option<(&'static str, &'static str)>,
    /// A commit, and the parents that a graft gives it.
    pub graft: Option<(&'static str, &'static [&'static str])>,
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

    /// Has git make it in `dir`, as a bare repository. Gives the commits by name.
    pub fn tell(tell: fn(&mut Story), format: &str, dir: &Path) -> (Story, HashMap<String, String>) {
        let mut story = Story { wide: format == "sha256", ..Story::default() };
        tell(&mut story);
        bare(dir, format);
        // A blob that is to be lost must lie by itself.
        let limit = format!("fastimport.unpackLimit={}", if story.lose.is_some() { 1000 } else { 1 });
        git(dir, &["-c", &limit, "fast-import", "--quiet", "--export-marks=marks"], &story.stream);
        let marks = std::fs::read_to_string(dir.join("marks")).unwrap();
        let mut oids = HashMap::new();
        for line in marks.lines() {
            let (mark, oid) = line[1..].split_once(' ').unwrap();
            let mark: usize = mark.parse().unwrap();
            oids.insert(story.names[mark - 1].clone(), oid.to_owned());
            oids.extend(story.aliases.iter().filter(|a| a.1 == mark).map(|a| (a.0.clone(), oid.to_owned())));
        }
        story.disturb(dir, &oids);
        (story, oids)
    }

    /// What is around the history: configuration, replacements, grafts, a cut, a loss.
    fn disturb(&self, dir: &Path, oids: &HashMap<String, String>) {
        for (key, value) in &self.config {
            git(dir, &["config", key, value], b"");
        }
        if let Some((of, by)) = self.replace {
            git(dir, &["replace", &oids[of], &oids[by]], b"");
        }
        if let Some((of, parents)) = self.graft {
            let line: Vec<&str> = std::iter::once(&of).chain(parents).map(|n| oids[*n].as_str()).collect();
            std::fs::create_dir_all(dir.join("info")).unwrap();
            std::fs::write(dir.join("info/grafts"), line.join(" ") + "\n").unwrap();
        }
        if self.shallow {
            std::fs::write(dir.join("shallow"), format!("{}\n", oids["B"])).unwrap();
        }
        if let Some(path) = self.lose {
            let blob = git(dir, &["rev-parse", &format!("{}:{path}", oids["S"])], b"");
            let hex = std::str::from_utf8(&blob).unwrap().trim_end();
            std::fs::remove_file(dir.join("objects").join(&hex[..2]).join(&hex[2..])).unwrap();
        }
    }
}

/// What `git init --bare` makes, without its process.
fn bare(dir: &Path, format: &str) {
    for folder in ["objects/info", "objects/pack", "refs/heads"] {
        std::fs::create_dir_all(dir.join(folder)).unwrap();
    }
    let extension = match format {
        "sha1" => "repositoryformatversion = 0".to_owned(),
        _ => format!("repositoryformatversion = 1\n[extensions]\nobjectformat = {format}"),
    };
    std::fs::write(dir.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(dir.join("config"), format!("[core]\nbare = true\n{extension}\n")).unwrap();
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
