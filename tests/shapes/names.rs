//! Names that break careless programs: of files in a worker's tree, and of the folder that all of it is in.

use crate::shapes::files::back_again;
use crate::shapes::files::contents;
use crate::support::World;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

/// Names that are odd, and fine.
fn fine() -> Vec<OsString> {
    let mut names: Vec<OsString> = [
        "a b",
        " ",
        "-n",
        "--",
        "--all",
        "\"quoted\"",
        "it's",
        "$(touch x)",
        "*",
        ":(glob)x",
        ":top",
        "#x",
        "!x",
        "a -> b",
        "%s",
        "~",
        "HEAD",
        "CON",
        "e\u{301}t\u{e9}",
        "\u{65e5}\u{672c}",
        "\u{1f980}",
        "d e/-f/\"g\"",
    ]
    .iter()
    .map(OsString::from)
    .collect();
    names.push(OsStr::from_bytes(b"b\xff\xfe").to_owned());
    names.push("n".repeat(255).into());
    names.push((0..15).map(|_| "w".repeat(250)).collect::<Vec<_>>().join("/").into());
    names
}

/// Puts each name into `dir`; the worker moves it all into its worktree, so that no shell reads a name.
fn lay_out(dir: &Path, names: &[OsString]) {
    for name in names {
        let mut at = dir.to_owned();
        let mut parts: Vec<&OsStr> = Path::new(name).iter().collect();
        let last = parts.pop().unwrap();
        for part in parts {
            at.push(part);
        }
        fs::create_dir_all(&at).unwrap();
        // The whole may be too long for one call.
        let made =
            Command::new("dd").arg(long(last)).current_dir(&at).stdin(std::process::Stdio::null()).output();
        assert!(made.unwrap().status.success(), "{name:?}");
    }
}

fn long(name: &OsStr) -> OsString {
    let mut word = OsString::from("of=./");
    word.push(name);
    word
}

/// The paths of a commit, as bytes.
fn listed(world: &World, rev: &str) -> Vec<Vec<u8>> {
    let said = world.try_git(["ls-tree", "-r", "-z", "--name-only", rev]);
    said.stdout.split(|b| *b == 0).filter(|p| !p.is_empty()).map(<[u8]>::to_vec).collect()
}

/// A worker that takes what lies in `from`; then commits it, or not.
#[track_caller]
fn takes(world: &World, worker: &str, from: &Path, then: &str) {
    let script = format!("cp -r {}/. . && {then}", from.display());
    world.worker(worker, &script);
    let log = world.skein(&["show", "--log", worker]).out;
    assert_ne!(world.field(worker, "outcome"), "failed", "{log}");
}

#[test]
fn odd_names_of_files_come_home() {
    let world = World::in_memory();
    let from = world.root().join("from");
    lay_out(&from, &fine());
    let mut want: Vec<Vec<u8>> = fine().iter().map(|name| name.as_bytes().to_vec()).collect();
    want.extend([".gitignore", "a.txt", "b.txt"].map(|name| name.as_bytes().to_vec()));
    want.sort();
    for (worker, then) in [("left", "true"), ("done", "git add -A && git commit -qm done")] {
        takes(&world, worker, &from, then);
        let old = world.rev("main");
        world.skein(&["show", worker]).ok();
        world.skein(&["show", "--diff", worker]).ok();
        world.skein(&["land", worker]).ok();
        let mut all = listed(&world, "main");
        all.sort();
        assert_eq!(all, want);
        assert_eq!(world.git(["status", "--porcelain"]), "");
        world.skein(&["landed", worker]).ok();
        back_again(&world, worker);
        world.skein(&["undo"]).ok();
        assert_eq!(world.rev("main"), old);
        assert_eq!(world.git(["status", "--porcelain"]), "");
    }
    world.check();
}

#[test]
fn odd_names_are_stored_as_git_does() {
    let world = World::in_memory();
    world.write(".gitattributes", "* text=auto\n");
    world.commit("attributes");
    world.git(["config", "core.autocrlf", "true"]);
    world.git(["config", "core.ignoreCase", "true"]);
    let from = world.root().join("from");
    lay_out(&from, &fine());
    takes(
        &world,
        "left",
        &from,
        "find . -type f -empty -exec sh -c 'for f; do printf \"1\\r\\n\" >\"$f\"; done' x {} +",
    );
    world.skein(&["land", "left"]).ok();
    let stored: std::collections::BTreeSet<String> = fine()
        .iter()
        .map(|name| {
            let mut spec = OsString::from("main:");
            spec.push(name);
            world.git([OsStr::new("rev-parse"), &spec])
        })
        .collect();
    let one = Command::new("sh").args(["-c", "echo 1 | git hash-object --stdin"]).output().unwrap().stdout;
    assert_eq!(stored.into_iter().collect::<Vec<_>>(), [String::from_utf8_lossy(&one).trim()]);
    back_again(&world, "left");
    world.check();
}

#[test]
fn names_that_must_not_enter_are_refused_and_kept() {
    let world = World::in_memory();
    for (n, names) in [
        vec!["a\nb"],
        vec!["a\tb"],
        vec!["a\\b"],
        vec!["\u{202e}txt"],
        // The same name on some systems: case, and two ways to write an accent.
        vec!["same", "SAME"],
        vec!["Dir/x", "dir/y"],
        vec!["A.TXT"],
        vec!["\u{e9}", "e\u{301}"],
    ]
    .into_iter()
    .enumerate()
    {
        let from = world.root().join(format!("from{n}"));
        let names: Vec<OsString> = names.into_iter().map(OsString::from).collect();
        lay_out(&from, &names);
        let worker = format!("w{n}");
        takes(&world, &worker, &from, "true");
        let old = world.rev("main");
        world.skein(&["land", &worker]).refused("bad-path", 1);
        assert_eq!(world.rev("main"), old);
        world.skein(&["show", &worker]).ok();
        world.skein(&["show", "--diff", &worker]).ok();
        back_again(&world, &worker);
        world.skein(&["import", &worker]).refused("bad-path", 1);
        assert!(names.iter().all(|name| contents(&world.worktree(&worker)).contains_key(name)), "{names:?}");
    }
    world.check();
}

/// A worker's whole life in a repository whose folder has this name, seen from inside it.
fn lives_in(name: &[u8]) {
    let mut world = World::in_memory();
    let there = world.root().join(OsStr::from_bytes(name));
    fs::rename(&world.repo, &there).unwrap();
    (world.repo, world.cwd) = (there.clone(), there.clone());
    world.git(["config", "core.autocrlf", "input"]);
    let mut beside = name.to_vec();
    beside.extend(b".skein/");
    let tree = |worker: &str| -> PathBuf {
        world.root().join(OsStr::from_bytes(&[&beside, worker.as_bytes()].concat()))
    };
    let script = "echo one >>a.txt && git commit -qam one && printf 'left\\r\\n' >left";
    world.worker("one", script);
    assert_eq!(world.field("one", "flags"), serde_json::json!(["uncommitted"]));
    let before = contents(&tree("one"));
    assert_eq!(before.len(), 4);
    world.skein(&["status"]).ok();
    world.skein(&["import", "--uncommitted", "one"]).ok();
    world.skein(&["land", "--uncommitted", "one", "--gate", "test -f left"]).ok();
    assert_eq!(world.read("left"), "left\n");
    assert_eq!(world.git(["status", "--porcelain"]), "");
    world.skein(&["landed", "one"]).ok();
    world.skein(&["reap", "--yes", "one"]).ok();
    assert!(!tree("one").exists());
    world.skein(&["restore", "one"]).ok();
    assert_eq!(contents(&tree("one")), before);
    world.skein(&["fsck"]).ok();
    world.skein(&["undo"]).ok();
    // What outlives its agent there is found, and what waits there can be stopped.
    world.worker("leaver", "setsid sh -c 'exec >&- 2>&- <&-; sleep 600' & sleep 0.2; touch l");
    assert_eq!(world.field("leaver", "flags"), serde_json::json!(["uncommitted", "survivors"]));
    world.skein(&["dispatch", "--name", "long", "long", "--", "sh", "-c", "touch up; sleep 600"]).ok();
    crate::support::acts::until("it is up", || tree("long").join("up").exists());
    world.skein(&["stop", "long"]).ok();
    world.write("b.txt", "mine\n");
    world
        .skein(&["dispatch", "--wait", "--with-dirty", "--name", "d", "d", "--", "grep", "mine", "b.txt"])
        .ok();
    let told = "test -f \"$1/b.txt\" && test -f \"$2\"";
    let words = ["dispatch", "--wait", "--name", "told", "told", "--", "sh", "-c", told, "x"];
    world.skein(&[&words[..], &["{worktree}", "{brief-file}"]].concat()).ok();
    world.skein(&["doctor"]).ok();
    // Seen from elsewhere, by -C.
    let mut elsewhere = world.command(&["-C"]);
    elsewhere.arg(&there).arg("status").current_dir("/");
    crate::support::ran(elsewhere.output().unwrap()).ok();
    world.check();
}

#[test]
fn a_folder_with_a_space() {
    lives_in(b" my  project ");
}

#[test]
fn a_folder_with_a_dash_in_front() {
    lives_in(b"-C");
}

#[test]
fn a_folder_with_a_line_feed() {
    lives_in(b"two\nlines\n");
}

#[test]
fn a_folder_with_bytes_that_are_no_text() {
    lives_in(b"b\xff\xfe\xe4");
}

#[test]
fn a_folder_with_quotes_and_a_colon() {
    lives_in(b"a:b\"c'd\\e$x;");
}

/// A folder that folds case, which goes when this is dropped. `SKEIN_TEST_FOLDING` names a place that does;
/// else an image of ext4 is mounted. `None`, with a word about it, where that cannot be.
struct Folding(PathBuf, Option<tempfile::TempDir>);

impl Folding {
    fn new(at: &Path) -> Option<Folding> {
        if let Some(place) = std::env::var_os("SKEIN_TEST_FOLDING") {
            let folder = tempfile::tempdir_in(place).unwrap();
            return Some(Folding(folder.path().to_owned(), Some(folder)));
        }
        let script = "set -e; truncate -s 40M image; mkfs.ext4 -q -O casefold -E encoding=utf8 image; mkdir m; mount -o loop image m; mkdir m/f; chattr +F m/f";
        crate::support::mounts::apart();
        let tried = Command::new("sh").args(["-c", script]).current_dir(at).output().unwrap();
        let folding = Folding(at.join("m/f"), None);
        if tried.status.success() {
            return Some(folding);
        }
        let why = String::from_utf8_lossy(&tried.stderr);
        let why = why.lines().next().unwrap_or("it cannot be made");
        crate::matrix::not_here("a folder that folds case", why);
        None
    }
}

impl Drop for Folding {
    fn drop(&mut self) {
        if self.1.is_none() {
            let _ = Command::new("umount").arg(self.0.parent().unwrap()).output();
        }
    }
}

#[test]
fn a_folder_that_folds_case() {
    let mut world = World::in_memory();
    let Some(folding) = Folding::new(&world.root()) else { return };
    let there = folding.0.join("repo");
    world.git(["clone", "-q", ".", there.to_str().unwrap()]);
    (world.repo, world.cwd) = (there.clone(), there.clone());
    world.git(["config", "user.name", "Ada"]);
    world.git(["config", "user.email", "ada@example.invalid"]);
    assert_eq!(world.git(["config", "core.ignoreCase"]), "true");
    crate::shapes::round(&world, "one");
    // The same file under another case of its name, committed or not, and a folder.
    let names = |rev: &str| world.git(["ls-tree", "-r", "--name-only", rev]).replace('\n', " ");
    world.worker("two", "git mv a.txt A.txt; git commit -qm renamed");
    world.skein(&["land", "two"]).ok();
    assert_eq!(names("main"), ".gitignore A.txt b.txt d/one.new");
    assert_eq!(world.git(["status", "--porcelain"]), "");
    world.worker("three", "mv A.txt x && mv x a.TXT && mv d x && mv x D && echo 3 >>B.TXT");
    world.skein(&["land", "three"]).ok();
    assert_eq!(names("main"), ".gitignore D/one.new a.TXT b.txt");
    assert_eq!((world.git(["status", "--porcelain"]), world.read("b.txt")), (String::new(), "b\n3\n".into()));
    back_again(&world, "three");
    // Two names that are one here: refused, and neither is lost.
    let script = "o=$(echo other | git hash-object -w --stdin); git update-index --add --cacheinfo 100644,$o,B.TXT; git commit -qm both";
    world.worker("both", script);
    let tip = world.field("both", "head");
    let tip = tip.as_str().unwrap();
    world.skein(&["land", "both"]).refused("bad-path", 1);
    assert_eq!(world.git(["status", "--porcelain"]), "");
    world.skein(&["reap", "--yes", "--include-unlanded", "both"]).ok();
    world.collect_garbage();
    world.skein(&["restore", "both"]).ok();
    assert_eq!(world.git(["show", &format!("{tip}:B.TXT")]), "other");
    assert_eq!(world.git(["show", &format!("{tip}:b.txt")]), "b\n3");
    // What only the person has, under another case, is in the way.
    world.worker("new", "echo theirs >New; git add New; git commit -qm new");
    world.write("NEW", "mine\n");
    world.skein(&["land", "new"]).refused("in-the-way", 1);
    assert_eq!(world.read("NEW"), "mine\n");
    world.check();
}
