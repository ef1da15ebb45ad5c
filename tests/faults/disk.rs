//! Real disks: one that is full, one that may not be written; and that reading writes nothing.

use crate::docworld;
use crate::docworld::DOC;
use crate::faults::children::with_git;
use crate::faults::scenes;
use crate::faults::state;
use crate::proof::strace;
use crate::support::World;
use crate::support::ran;
use crate::support::tally::full;
use crate::support::tally::tally;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

/// Something mounted on a folder, for as long as it lives.
struct Mounted(PathBuf);

impl Mounted {
    /// `None` where that is not allowed; then it says why. Where it must be, that is a failure.
    fn new(args: &[&str], on: &Path) -> Option<Mounted> {
        crate::support::mounts::apart();
        let said = Command::new("mount").args(args).arg(on).output();
        let why = match said {
            Ok(output) if output.status.success() => return Some(Mounted(on.to_owned())),
            Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            Err(e) => e.to_string(),
        };
        assert!(!crate::jail::must_mount(), "nothing can be mounted here: {why}");
        writeln!(std::io::stdout().lock(), "faults: skipped, nothing can be mounted here: {why}").unwrap();
        None
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).output();
    }
}

/// The calls of git at which the disk is filled; before the first of them the verb has looked that there
/// is room.
const MOMENTS: [&str; 3] = ["status", "update-ref", "read-tree"];

#[test]
fn a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_disk) = Mounted::new(&["-t", "tmpfs", "-o", "size=24m", "skein"], folder.path()) else {
        return;
    };
    let prepared = scenes::checked_out();
    let whole = prepared.copy();
    scenes::in_doubt(&whole);
    let old = whole.rev("main");
    whole.skein(&["land", "fix"]).ok();
    let (new, want) = (whole.rev("main"), state::of(&whole));
    let (mut refused, mut landed) = (0_u64, 0_u64);
    // In full each level, else some; above the last of them all is landed.
    let levels: Vec<u64> = if full() { (0..64).collect() } else { vec![0, 1, 2, 3, 5, 8, 13, 19, 32] };
    let cases = MOMENTS.into_iter().flat_map(|m| levels.iter().map(move |pages| (m, *pages)));
    for (moment, pages) in cases {
        let at = format!("{pages} pages left at {moment}");
        let world = prepared.copy_into(folder.path());
        scenes::in_doubt(&world);
        let filler = world.root().join("filler");
        let mut command = world.command(&["land", "fix"]);
        let file = filler.display();
        let fill =
            format!("dd if=/dev/zero of={file} bs=4096 2> /dev/null; truncate -s -{} {file}", pages * 4096);
        with_git(&world, &mut command, moment, &format!("[ -e {file} ] || {{ {fill}; }}"));
        let ran = ran(command.output().unwrap());
        assert!(filler.exists(), "{at}: it was not filled");
        assert!(!ran.err.contains("panicked"), "{at}: {}", ran.err);
        let main = world.rev("main");
        if ran.code == 0 {
            landed += 1;
            assert_eq!(main, new, "{at}: told, but not so");
        } else {
            refused += 1;
            assert_eq!(ran.code, 128, "{at}: {}", ran.err);
            let clean = ran.err.contains("refused: no-space") || ran.err.contains("fault: ");
            assert!(clean, "{at}: {}", ran.err);
            assert!(main == old || main == new, "{at}: {main}");
        }
        fs::remove_file(&filler).unwrap();
        world.skein(&["land", "fix"]).ok();
        if let Some(difference) = state::differ(&want, &state::of(&world)) {
            panic!("{at}: {difference}\n{}", ran.err);
        }
        world.check();
    }
    writeln!(std::io::stdout().lock(), "faults: full disk: {refused} refused, {landed} landed").unwrap();
    tally("full disk", refused + landed);
    assert!(refused > 5 && landed > 0, "{refused} refused, {landed} landed");
    // Before anything is begun there is a look at the room that is left.
    let world = prepared.copy_into(folder.path());
    fs::write(world.root().join("filler"), vec![1; 20 << 20]).unwrap();
    world.skein(&["land", "fix"]).refused("no-space", 128);
    assert_eq!(world.rev("main"), old);
}

/// Verbs that only look, each with its exit code on the repository of [`readable`].
pub const READING: &[(&[&str], i32)] = &[
    (&["status"], 0),
    (&["status", "--json"], 0),
    (&["show", "fix"], 0),
    (&["show", "fix", "--diff"], 0),
    (&["show", "fix", "--brief"], 0),
    (&["show", "fix", "--events"], 0),
    (&["show", "fix", "--log"], 0),
    (&["landed", "fix", "--explain"], 1),
    (&["landed", "side~1"], 0),
    (&["landed", "side"], 1),
    (&["log"], 0),
    (&["wait", "fix", "--timeout", "1s"], 0),
    (&["land", "fix", "--dry-run"], 0),
    (&["import", "fix", "--dry-run"], 0),
    (&["artifacts", "fix"], 0),
    (&["search", "nowhere to be found"], 1),
    (&["bundle", "list"], 0),
    (&["overlap"], 0),
    (&["inbox"], 0),
    (&["verdict", "fix"], 0),
    (&["debt"], 0),
    (&["kinds"], 0),
    (&["trust"], 0),
    (&["log", "decisions"], 0),
    (&["fsck"], 0),
    (&["reap", "--all"], 0),
    (&["hooks", "status"], 1),
    (&["completions", "bash"], 0),
    (&["help", "land"], 0),
    (&["doctor"], 0),
    (&["events"], 0),
    (&["bundle", "show", "fix"], 0),
    // It has no window, and has laid out no plan.
    (&["peek", "fix"], 1),
    (&["attach", "fix"], 1),
    (&["plan", "fix"], 1),
    (&["trust", "--list"], 0),
    (&["doc", "diff", DOC], 0),
    (&["doc", "turns", DOC], 0),
    (&["doc", "turn", "show", DOC, "1"], 0),
    (&["doc", "turn", "diff", DOC, "1"], 0),
    (&["doc", "conflicts", DOC, "--all"], 0),
    (&["doc", "status", DOC], 0),
    (&["doc", "outline", DOC], 0),
    (&["doc", "show", DOC], 0),
    (&["doc", "show", DOC, "--verify"], 0),
    (&["doc", "history", DOC], 0),
    (&["doc", "run", DOC, "--dry-run"], 0),
    (&["doc", "fanout", DOC, "--dry-run"], 0),
];

/// With a ready worker, a bundle of it, and a document with an answer that is committed and a task that is
/// not sent.
fn readable() -> World {
    let world = scenes::ready();
    world.skein(&["bundle", "save", "fix"]).ok();
    docworld::answered(&world, DOC);
    world.skein(&["doc", "commit", DOC]).ok();
    docworld::type_on(&world, DOC, "\n\n- [ ] look at it\n");
    world
}

/// Each once, under strace: no file is opened to be written, and none is made, moved or removed.
#[test]
fn reading_verbs_open_nothing_to_write() {
    if !strace::there() {
        return;
    }
    let world = readable();
    let root = world.root().display().to_string();
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut seen = 0;
    for (args, code) in READING {
        let noted = format!("trace={}", strace::CALLS);
        let mut command = strace::traced(&world.command(args), log.path(), &["-f", "-e", &noted]);
        ran(command.output().unwrap()).code(*code);
        let text = fs::read_to_string(log.path()).unwrap();
        let calls = strace::calls(&text, &root);
        seen += calls.len();
        let writes = |call: &&strace::Call| call.kind == strace::Kind::Writes && call.name != "write";
        let wrote: Vec<_> = calls.iter().filter(writes).collect();
        assert!(wrote.is_empty(), "{args:?}: {wrote:?}");
    }
    tally("reading verb under strace", READING.len() as u64);
    assert!(seen > READING.len(), "strace saw nothing");
}

#[test]
fn a_disk_that_may_not_be_written() {
    let world = readable();
    let root = world.root();
    let text = root.to_str().unwrap();
    let Some(_bound) = Mounted::new(&["--bind", text], &root) else { return };
    let Some(_closed) = Mounted::new(&["-o", "remount,bind,ro"], &root) else { return };
    assert!(fs::write(root.join("x"), "").is_err(), "the disk is not read-only");
    for (args, code) in READING {
        world.skein(args).code(*code);
    }
    let writing: &[&[&str]] = &[
        &["dispatch", "task", "--", "true"],
        &["import", "fix", "--into", "coord"],
        &["candidate", "create", "fix"],
        &["land", "fix"],
        &["land", "fix", "--gate", "true"],
    ];
    for args in writing {
        let ran = world.skein(args).refused("read-only", 128);
        assert!(!ran.err.contains("panicked"), "{args:?}: {}", ran.err);
    }
    // Everything is there already, so there is nothing to write.
    world.skein(&["init"]).ok();
    world.skein(&["import", "fix"]).ok();
}

/// Content and times of everything below a folder.
fn digest(dir: &Path, all: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let (path, meta) = (entry.path(), entry.path().symlink_metadata().unwrap());
        let stamp = format!("{} {}.{} {}", meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.mode());
        if meta.is_dir() {
            digest(&path, all);
            all.insert(path, stamp);
        } else {
            let bytes = if meta.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            all.insert(path, format!("{stamp} {bytes:?}"));
        }
    }
}

#[test]
fn reading_verbs_write_nothing() {
    let world = readable();
    scenes::dirty(&world);
    let look = || {
        let mut all = BTreeMap::new();
        digest(&world.root(), &mut all);
        all
    };
    let before = look();
    let mut wrong = Vec::new();
    for (args, code) in READING {
        let ran = world.skein(args);
        if ran.code != *code {
            wrong.push(format!("{args:?}: {ran:?}"));
        }
        let after = look();
        let changed = before.iter().filter(|(path, was)| after.get(*path) != Some(was)).map(|(path, _)| path);
        let new = after.keys().filter(|path| !before.contains_key(*path));
        let wrote: Vec<&PathBuf> = changed.chain(new).collect();
        if !wrote.is_empty() {
            wrong.push(format!("{args:?} wrote {wrote:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Where there is nothing of ours yet, too.
    let fresh = World::new();
    let mut all = BTreeMap::new();
    digest(&fresh.root(), &mut all);
    for (args, code) in [(&["status"][..], 0), (&["log"], 0), (&["landed", "main"], 128)] {
        fresh.skein(args).code(code);
    }
    let mut after = BTreeMap::new();
    digest(&fresh.root(), &mut after);
    assert_eq!(all, after);
}
