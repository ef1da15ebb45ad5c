//! Patch ids of whole histories: thousands of made-up commits, and the history of this project. One git
//! process makes all the patches, and one more for each kind of id reads them.

use super::*;
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

/// Where the two may differ, in commits for each thousand.
const PER_MILLE: usize = 2;
const MADE_UP: usize = 2000;

/// The ids that git gives the commits of `rev`, no merges, by commit. Those that change nothing have none.
fn theirs(dir: &Path, rev: &str) -> (Vec<Oid>, HashMap<Oid, PatchIds>) {
    let listed = git(dir, &["rev-list", "--no-merges", rev], b"");
    let diff = "diff-tree --stdin --root -r -p --no-renames --no-indent-heuristic --full-index -U3";
    let patches = git(dir, &diff.split(' ').collect::<Vec<&str>>(), &listed);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let ids = |kind: &str| -> HashMap<Oid, String> {
        let out = text(git(dir, &["patch-id", kind], &patches));
        out.lines()
            .map(|l| l.split_once(' ').unwrap())
            .map(|(id, oid)| (oid.parse().unwrap(), id.into()))
            .collect()
    };
    let (stable, mut verbatim) = (ids("--stable"), ids("--verbatim"));
    let both = stable.into_iter().map(|(oid, stable)| {
        let verbatim = verbatim.remove(&oid).unwrap();
        (oid, PatchIds { stable, verbatim })
    });
    (text(listed).lines().map(|l| l.parse().unwrap()).collect(), both.collect())
}

/// Compares all commits of `rev`, and names each that differs with what it changes.
fn compare(dir: &Path, objects: &Objects, rev: &str) -> usize {
    let (commits, mut theirs) = theirs(dir, rev);
    assert!(theirs.len() * 10 > commits.len() * 9, "git gives {} of {} an id", theirs.len(), commits.len());
    let mut differ = Vec::new();
    for oid in &commits {
        let changes = objects.changes_of(*oid).unwrap();
        let ours = objects.patch_ids(&changes).unwrap();
        let nothing = PatchIds { stable: String::new(), verbatim: String::new() };
        let git = theirs.remove(oid).unwrap_or(nothing);
        if ours != git {
            let what: Vec<String> =
                changes.iter().map(|c| format!("{} {:?} {:?}", c.path, c.old, c.new)).collect();
            differ.push(format!("{oid}: ours {ours:?}, git's {git:?}: {}", what.join("; ")));
        }
    }
    println!("{} of {} commits differ\n{}", differ.len(), commits.len(), differ.join("\n"));
    assert!(differ.len() * 1000 <= commits.len() * PER_MILLE, "{} of {}", differ.len(), commits.len());
    commits.len()
}

/// A generator whose whole state is its seed (Knuth's MMIX constants).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }

    /// A line out of few, so that many are equal; some with white space or an odd end.
    fn line(&mut self) -> String {
        let word = ["", "}", "{", "one", "two", "three", "four", "five", "six"][self.roll(9)];
        match self.roll(12) {
            0 => format!("  {word}\n"),
            1 => format!("\t{word} {word}\n"),
            2 => format!("{word}\r\n"),
            _ => format!("{word}\n"),
        }
    }

    fn edit(&mut self, text: &mut Vec<String>) {
        for _ in 0..=self.roll(4) {
            let at = self.roll(text.len() + 1);
            let line = self.line();
            match self.roll(3) {
                0 if at < text.len() => drop(text.remove(at)),
                1 if at < text.len() => text[at] = line,
                _ => text.insert(at, line),
            }
        }
    }
}

/// A stream for `git fast-import` of commits that change a file or several in every way there is.
fn made_up(seed: u64) -> String {
    let mut dice = Dice(seed);
    let mut files: Vec<Vec<String>> = (0..8).map(|_| (0..30).map(|_| dice.line()).collect()).collect();
    let mut stream = String::new();
    for n in 0..MADE_UP {
        let stamp = 1_700_000_000 + n;
        write!(
            stream,
            "commit refs/heads/main\ncommitter A U Thor <a@example.com> {stamp} +0000\ndata 1\nx\n"
        )
        .unwrap();
        for _ in 0..=dice.roll(3) {
            let at = dice.roll(files.len());
            let name = ["a", "a.b", "a/c", "dir/with space", "ä", "z.bin", "link", "run"][at];
            dice.edit(&mut files[at]);
            let (mode, content) = match dice.roll(14) {
                0 => {
                    writeln!(stream, "D {name}").unwrap();
                    continue;
                }
                1 => {
                    writeln!(stream, "D {name}\nM 160000 {:040x} sub", dice.roll(9) + 1).unwrap();
                    continue;
                }
                2 => ("100644", format!("{}\0{}", dice.roll(9), files[at].concat())),
                3 => ("120000", format!("to/{}", dice.roll(9))),
                4 | 5 => ("100755", files[at].concat()),
                6 => ("100644", files[at].concat().trim_end_matches('\n').to_owned()),
                7 => ("100644", String::new()),
                _ => ("100644", files[at].concat()),
            };
            write!(stream, "M {mode} inline {name}\ndata {}\n{content}\n", content.len()).unwrap();
        }
        stream.push('\n');
    }
    stream
}

#[test]
fn thousands_of_made_up_commits_have_the_ids_of_git() {
    let seed = 0x5eed;
    println!("seed {seed:#x}");
    let repo = Repo::new("sha1");
    git(repo.dir.path(), &["fast-import", "--quiet"], made_up(seed).as_bytes());
    assert_eq!(compare(repo.dir.path(), &repo.objects, "main"), MADE_UP);
}

#[test]
fn the_history_of_this_project_has_the_ids_of_git() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = |args: &[&str]| String::from_utf8(git(here, args, b"")).unwrap().trim_end().to_owned();
    if !here.join(".git").exists() || text(&["rev-parse", "--is-shallow-repository"]) == "true" {
        println!("skipped: these sources come without their history");
        return;
    }
    let objects = here.join(text(&["rev-parse", "--git-path", "objects"]));
    let objects = Objects::open(&objects, &text(&["rev-parse", "--show-object-format"])).unwrap();
    assert!(compare(here, &objects, "HEAD") > 0);
}
