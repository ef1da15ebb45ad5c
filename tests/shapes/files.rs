//! What stands between a file on the disk and its blob: line ends, `$Id$`, encodings, filters. What lands is
//! what `git add` would store; what a snapshot saw comes back byte for byte.

use crate::support::World;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The blob at `rev:path`, as bytes.
#[track_caller]
fn blob(world: &World, name: &str) -> Vec<u8> {
    let read = world.try_git(["cat-file", "blob", name]);
    assert!(read.status.success(), "{name}: {}", String::from_utf8_lossy(&read.stderr));
    read.stdout
}

/// Every file of a worktree with its bytes.
pub fn contents(root: &Path) -> BTreeMap<OsString, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else if entry.path() != root.join(".git") {
                let name = entry.path().strip_prefix(root).unwrap().as_os_str().to_owned();
                found.insert(name, fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}

/// The worker goes into the archive and comes back as its worktree was, to the byte.
#[track_caller]
pub fn back_again(world: &World, name: &str) {
    let before = contents(&world.worktree(name));
    world.skein(&["reap", "--yes", "--include-unlanded", name]).ok();
    world.collect_garbage();
    world.skein(&["restore", name]).ok();
    assert_eq!(contents(&world.worktree(name)), before);
}

/// One worker's uncommitted work comes home: it is stored as `want` says, shown so, told to be just that, and
/// the person's checkout has nothing to say about it.
#[track_caller]
fn day(world: &World, script: &str, want: &[(&str, &[u8])]) {
    world.worker("one", script);
    let changed = world.field("one", "changes");
    let changed: Vec<&str> =
        changed.as_array().unwrap().iter().map(|c| c["path"].as_str().unwrap()).collect();
    let paths: Vec<&str> = want.iter().map(|(path, _)| *path).collect();
    assert_eq!(changed, paths, "shown");
    let old = world.rev("main");
    let said = world.skein(&["land", "one", "--json"]).ok().json();
    assert_eq!(said["result"]["leftovers"], serde_json::json!([]), "{said}");
    assert_eq!(world.lines(&["diff", "--name-only", "--no-renames", &old, "main"]), paths);
    for (path, bytes) in want {
        let stored = blob(world, &format!("main:{path}"));
        assert_eq!(stored, *bytes, "{path}: {:?}", String::from_utf8_lossy(&stored));
    }
    assert_eq!(world.git(["status", "--porcelain"]), "");
    let said = world.skein(&["landed", "one", "--json"]).ok().json();
    assert_eq!(said["result"]["leftovers"], 0, "{said}");
    back_again(world, "one");
    world.check();
}

/// As `fill` leaves it, but with line 5 changed.
const FIVE: &[u8] = b"line 1\nline 2\nline 3\nline 4\nfive\nline 6\nline 7\nline 8\nline 9\n";

const TO_FIVE: &str = "sed -i 's/line 5/five/' a.txt";

#[test]
fn every_line_ends_with_crlf_on_the_disk() {
    let world = World::in_memory();
    world.git(["config", "core.autocrlf", "true"]);
    let check = "test $(tr -dc '\\r' <a.txt | wc -c) = 9";
    let script = format!("{check} && {TO_FIVE} && {check} && printf 'n\\r\\n' >new && touch b.txt");
    day(&world, &script, &[("a.txt", FIVE), ("new", b"n\n")]);
    let diff = world.skein(&["show", "--diff", "one"]).ok().out;
    let gone: Vec<&str> = diff.lines().filter(|l| l.starts_with('-') && !l.starts_with("---")).collect();
    assert_eq!(gone, ["-line 5"], "{diff}");
}

#[test]
fn crlf_is_not_stored() {
    let world = World::in_memory();
    world.git(["config", "core.autocrlf", "input"]);
    day(&world, "sed -i 's/$/\\r/; s/line 5/five/' a.txt; sed -i 's/$/\\r/' b.txt", &[("a.txt", FIVE)]);
}

#[test]
fn crlf_by_the_attributes_of_the_base() {
    let world = World::in_memory();
    let rules = "* text=auto eol=crlf\n*.bin -text\nkept/* eol=lf\n";
    world.write(".gitattributes", rules);
    world.write("kept/x", "k\n");
    world.write("raw.bin", "r\r\n");
    world.write("sub/.gitattributes", "* -text\n");
    world.write("sub/x", "x\n");
    world.commit("attributes");
    // One more rule, which stores nothing otherwise; the file itself has the line ends of all others.
    let script = format!(
        "{TO_FIVE} && printf '1\\r\\n2\\n' >mixed && printf 'r\\r\\nr\\n' >raw.bin && printf 'k\\r\\nl\\n' >kept/x \
         && printf 'x\\r\\n' >sub/x && printf '*.x merge=union\\r\\n' >>.gitattributes"
    );
    let want: [(&str, &[u8]); 6] = [
        (".gitattributes", &[rules.as_bytes(), b"*.x merge=union\n"].concat()),
        ("a.txt", FIVE),
        ("kept/x", b"k\nl\n"),
        ("mixed", b"1\n2\n"),
        ("raw.bin", b"r\r\nr\n"),
        ("sub/x", b"x\r\n"),
    ];
    day(&world, &script, &want);
    // A folder that goes takes its rules with it.
    world.worker("gone", "rm -r sub");
    world.skein(&["land", "gone"]).ok();
    assert_eq!(world.git(["ls-tree", "main", "sub"]), "");
    world.check();
}

#[test]
fn attributes_outside_the_tree_are_the_persons() {
    let world = World::in_memory();
    fs::create_dir_all(world.path(".git/info")).unwrap();
    fs::write(world.path(".git/info/attributes"), "[attr]lines text\n*.txt lines\n").unwrap();
    fs::create_dir_all(world.root().join("home/config/git")).unwrap();
    fs::write(world.root().join("home/config/git/attributes"), "new text\n").unwrap();
    let script = format!("{TO_FIVE} && sed -i 's/$/\\r/' a.txt && printf 'n\\r\\n' | tee new >other");
    day(&world, &script, &[("a.txt", FIVE), ("new", b"n\n"), ("other", b"n\r\n")]);
}

#[test]
fn what_is_stored_with_crlf_stays_so() {
    let world = World::in_memory();
    world.write("dos.txt", "1\r\n2\r\n");
    world.commit("stored with its line ends");
    world.git(["config", "core.autocrlf", "true"]);
    day(&world, "printf '3\\r\\n' >>dos.txt", &[("dos.txt", b"1\r\n2\r\n3\r\n")]);
    // So does what the worker committed so.
    let add = "git -c core.autocrlf=false add new";
    world.worker(
        "two",
        &format!("printf '1\\r\\n' >new && {add} && git commit -qm new && printf '2\\r\\n' | tee new2 >>new"),
    );
    world.skein(&["land", "--uncommitted", "two"]).ok();
    assert_eq!(blob(&world, "main:new"), b"1\r\n2\r\n");
    assert_eq!(blob(&world, "main:new2"), b"2\n");
    back_again(&world, "two");
}

#[test]
fn committed_work_leaves_no_leftovers_behind() {
    let world = World::in_memory();
    world.git(["config", "core.autocrlf", "true"]);
    world.worker("one", &format!("{TO_FIVE} && git commit -qam five"));
    assert_eq!(world.field("one", "flags"), serde_json::json!([]));
    assert_eq!(world.field("one", "outcome"), "ready");
    let said = world.skein(&["import", "one", "--json"]).ok().json();
    assert_eq!(
        (&said["result"]["leftovers"], &said["result"]["delta"]["uncommitted"]),
        (&serde_json::json!([]), &false.into())
    );
    world.skein(&["land", "one"]).ok();
    assert_eq!(blob(&world, "main:a.txt"), FIVE);
    // Mixed line ends are nothing to git. To a snapshot they are bytes like all others.
    world.worker("two", "sed -i '1s/\\r//' a.txt");
    assert_eq!(world.field("two", "flags"), serde_json::json!([]));
    world.skein(&["import", "two"]).refused("empty", 1);
    back_again(&world, "two");
    assert!(
        contents(&world.worktree("two"))[std::ffi::OsStr::new("a.txt")].starts_with(b"line 1\nline 2\r\n")
    );
    world.check();
}

#[test]
fn ids_and_encodings() {
    let world = World::in_memory();
    world.write(".gitattributes", "id.txt ident\nwide.txt text working-tree-encoding=UTF-16LE eol=lf\n");
    world.write("id.txt", "$Id$\n");
    fs::write(world.path("wide.txt"), b"\xe4\0\n\0").unwrap();
    world.commit("attributes");
    assert_eq!(blob(&world, "main:wide.txt"), "ä\n".as_bytes());
    let script =
        "grep -q '^.Id: [0-9a-f]* .$' id.txt && echo more >>id.txt && printf '\\366\\000\\n\\000' >>wide.txt";
    day(&world, script, &[("id.txt", b"$Id$\nmore\n"), ("wide.txt", "ä\nö\n".as_bytes())]);
}

#[test]
fn what_git_would_not_store_is_refused_and_kept() {
    let world = World::in_memory();
    world.write(".gitattributes", "wide.txt text working-tree-encoding=UTF-16LE\n*.lf text\n");
    world.commit("attributes");
    world.worker("odd", "printf 'abc' >wide.txt");
    let said = world.skein(&["land", "odd"]).refused("filter-failed", 1);
    assert!(said.err.contains("wide.txt"), "{}", said.err);
    back_again(&world, "odd");
    world.skein(&["status"]).ok();
    world.git(["config", "core.safecrlf", "true"]);
    world.worker("safe", "printf '1\\r\\n2\\n' >x.lf");
    world.skein(&["import", "safe"]).refused("filter-failed", 1);
    world.git(["config", "core.safecrlf", "false"]);
    world.skein(&["land", "safe"]).ok();
    assert_eq!(blob(&world, "main:x.lf"), b"1\n2\n");
    world.check();
}

#[test]
fn other_hashes_and_no_checkout() {
    for bare in [false, true] {
        let mut world = World::with_formats(&["--object-format=sha256"]);
        if bare {
            let there = world.root().join("bare.git");
            world.git(["clone", "-q", "--bare", ".", there.to_str().unwrap()]);
            (world.repo, world.cwd) = (there.clone(), there);
            world.git(["config", "user.name", "Ada"]);
            world.git(["config", "user.email", "ada@example.invalid"]);
        }
        world.git(["config", "core.autocrlf", "true"]);
        world.worker("one", &format!("{TO_FIVE} && printf 'n\\r\\n' >new"));
        world.skein(&["land", "one"]).ok();
        assert_eq!((blob(&world, "main:a.txt"), blob(&world, "main:new")), (FIVE.to_vec(), b"n\n".to_vec()));
        back_again(&world, "one");
        world.check();
    }
}

/// A filter that keeps the bytes elsewhere and stores where, as some do with what is large. It notes each call.
fn with_pointers(world: &World, required: bool) {
    let store = world.root().join("store");
    fs::create_dir(&store).unwrap();
    let script = |name: &str, words: &str| {
        let path = world.root().join(name);
        fs::write(&path, format!("#!/bin/sh\nstore={}\n{words}\n", store.display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    };
    let clean = script(
        "clean",
        "echo \"clean $1 $(pwd)\" >>$store.log; f=$(mktemp); trap 'rm -f $f' EXIT; cat >$f
        if head -c 8 $f | grep -q '^pointer '; then cat $f; exit; fi
        h=$(sha1sum <$f | cut -d' ' -f1); cp $f $store/$h; echo pointer $h",
    );
    let smudge = script("smudge", "read p h; cat $store/$h");
    world.git(["config", "filter.ptr.clean", &format!("{clean} %f")]);
    world.git(["config", "filter.ptr.smudge", &smudge]);
    world.git(["config", "filter.ptr.required", if required { "true" } else { "false" }]);
}

fn pointer(world: &World, bytes: &str) -> String {
    let file = world.root().join("hashed");
    fs::write(&file, bytes).unwrap();
    let said = std::process::Command::new("sha1sum").arg(&file).output().unwrap();
    format!("pointer {}\n", &String::from_utf8_lossy(&said.stdout)[..40])
}

#[test]
fn a_filter_of_the_person_runs_where_the_base_names_it() {
    let world = World::in_memory();
    with_pointers(&world, true);
    world.write(".gitattributes", "*.big filter=ptr -text\n");
    world.write("a.big", "large a\n");
    world.write("b.big", "large b\n");
    world.commit("large");
    assert_eq!(blob(&world, "main:a.big"), pointer(&world, "large a\n").as_bytes());
    let (a, new) = (pointer(&world, "large a\nmore\n"), pointer(&world, "new\n"));
    let script =
        "grep -q 'large a' a.big && echo more >>a.big && echo new >new.big && touch b.big && echo t >t.txt";
    day(&world, script, &[("a.big", a.as_bytes()), ("new.big", new.as_bytes()), ("t.txt", b"t\n")]);
    assert_eq!(world.read("a.big"), "large a\nmore\n", "smudged in the person's checkout");
    let log = || fs::read_to_string(world.root().join("store.log")).unwrap();
    let asked = log();
    world.worker("looked", "echo l >l.big");
    let ended = log();
    assert_ne!(asked, ended, "at the end");
    for verb in [&["show", "looked"][..], &["show", "--diff", "looked"]] {
        world.skein(verb).ok();
    }
    assert_eq!(log(), ended, "nobody asks again");
    fs::remove_file(world.common().join("skein/run").join(world.ulid("looked")).join("stored")).unwrap();
    let shown = world.skein(&["show", "--diff", "looked"]).ok().out;
    assert!(shown.contains(&format!("+{}", pointer(&world, "l\n"))) && log() != ended, "{shown}");
    let log = log();
    let tree = world.worktree("one");
    assert!(!log.contains(&format!("{}", tree.display())), "not in the worker's folder: {log}");
    // What it committed itself is clean, and nothing is left over.
    world.worker("two", "echo two >>b.big; git commit -qam two");
    assert_eq!((world.field("two", "flags"), world.field("two", "files")), (serde_json::json!([]), 1.into()));
    world.skein(&["land", "two"]).ok();
    assert_eq!(blob(&world, "main:b.big"), pointer(&world, "large b\ntwo\n").as_bytes());
    back_again(&world, "two");
    // Without its worktree, the snapshot has what is to be taken.
    world.worker("three", "echo three >>a.big");
    fs::remove_dir_all(world.worktree("three")).unwrap();
    world.skein(&["land", "three"]).ok();
    assert_eq!(blob(&world, "main:a.big"), pointer(&world, "large a\nmore\nthree\n").as_bytes());
    world.check();
}

#[test]
fn a_filter_that_fails() {
    let world = World::in_memory();
    with_pointers(&world, true);
    world.write(".gitattributes", "*.big filter=ptr\n*.none filter=nowhere\n");
    world.write("a.big", "large\n");
    world.commit("large");
    let clean = world.git(["config", "filter.ptr.clean"]);
    world.worker("one", "echo more >>a.big");
    world.git(["config", "filter.ptr.clean", "false"]);
    let said = world.skein(&["import", "one"]).refused("filter-failed", 1);
    assert!(said.err.contains("a.big"), "{}", said.err);
    world.skein(&["status"]).ok();
    back_again(&world, "one");
    world.skein(&["import", "one"]).refused("filter-failed", 1);
    world.git(["config", "filter.ptr.clean", &clean]);
    world.skein(&["land", "one"]).ok();
    assert_eq!(blob(&world, "main:a.big"), pointer(&world, "large\nmore\n").as_bytes());
    // As in git: a filter that nobody defines, and one that need not succeed, leave the bytes.
    world.git(["config", "filter.ptr.required", "false"]);
    world.git(["config", "filter.ptr.clean", "false"]);
    world.worker("two", "echo raw >two.big; echo raw >x.none");
    world.skein(&["land", "two"]).ok();
    assert_eq!(
        (blob(&world, "main:two.big"), blob(&world, "main:x.none")),
        (b"raw\n".to_vec(), b"raw\n".to_vec())
    );
    world.check();
}

#[test]
fn a_filter_that_is_spoken_to() {
    let world = World::in_memory();
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        return crate::matrix::not_here("a filter process", "there is no python3");
    }
    let talk = world.root().join("talk.py");
    fs::write(&talk, TALK).unwrap();
    world.git(["config", "filter.up.process", &format!("python3 {}", talk.display())]);
    world.git(["config", "filter.up.required", "true"]);
    world.write(".gitattributes", "*.up filter=up\n");
    world.commit("attributes");
    day(&world, "echo one >1.up; echo two >2.up", &[("1.up", b"ONE\n"), ("2.up", b"TWO\n")]);
}

/// The long-running protocol of gitattributes(5): clean is upper case, smudge is lower case.
const TALK: &str = r#"
import sys
r, w = sys.stdin.buffer, sys.stdout.buffer
def get():
    n = r.read(4)
    if not n: sys.exit()
    return r.read(int(n, 16) - 4) if int(n, 16) else None
def lines():
    out = []
    while (p := get()) is not None: out.append(p)
    return out
def put(*ps):
    for p in ps: w.write(b'%04x' % (len(p) + 4) + p)
    w.write(b'0000'); w.flush()
lines(); put(b'git-filter-server\n', b'version=2\n')
lines(); put(b'capability=clean\n', b'capability=smudge\n')
while True:
    head, body = lines(), b''.join(lines())
    put(b'status=success\n')
    put(body.upper() if b'command=clean\n' in head else body.lower())
    put()
"#;

#[test]
fn a_filter_of_the_workers_own() {
    let world = World::in_memory();
    world.git(["config", "extensions.worktreeConfig", "true"]);
    world.write(".gitattributes", "*.named filter=named\n");
    world.commit("a name that nobody defines");
    let canary = world.root().join("canary");
    let clean = format!("touch {}; cat", canary.display());
    let own = format!(
        "git config --worktree filter.named.clean '{clean}' && git config --worktree filter.x.clean '{clean}'"
    );
    world.worker("named", &format!("{own} && echo n >a.named"));
    world.skein(&["land", "named"]).ok();
    assert_eq!(blob(&world, "main:a.named"), b"n\n");
    // Attributes of its own, uncommitted: nothing is taken, everything is kept.
    for (name, file, line) in [
        ("filter", ".gitattributes", "*.x filter=x"),
        ("text", "d/.gitattributes", "* text=auto"),
        ("crlf", ".gitattributes", "b.txt -crlf"),
        ("eol", ".gitattributes", "*.txt eol=crlf"),
        ("ident", ".gitattributes", "*.txt ident"),
        ("wide", ".gitattributes", "*.txt working-tree-encoding=UTF-16"),
        ("binary", ".gitattributes", "*.x binary"),
        ("macro", ".gitattributes", "[attr]y filter=x"),
    ] {
        let script = format!(
            "{own}; mkdir -p d; echo '{line}' >>{file}; printf 'x\\r\\n' >1.x; echo '$Id: 5 $' >>b.txt"
        );
        world.worker(name, &script);
        let said = world.skein(&["import", name]).refused("filter-changed", 1);
        assert!(said.err.contains(file), "{}", said.err);
        world.skein(&["land", name]).refused("filter-changed", 1);
        back_again(&world, name);
        world.skein(&["import", name]).refused("filter-changed", 1);
    }
    // Gone is changed too, and so is one of two.
    world.worker("gone", "rm .gitattributes");
    world.skein(&["import", "gone"]).refused("filter-changed", 1);
    // What stores nothing otherwise is taken.
    world.worker("diff", "echo '*.x diff=y merge=union linguist-generated' >>.gitattributes; echo x >1.x");
    world.skein(&["land", "diff"]).ok();
    // What it committed is taken as it is, and told.
    world.worker("done", "echo '*.txt -text' >.gitattributes; git add -A; git commit -qm done");
    let said = world.skein(&["import", "done", "--json"]).ok().json();
    assert_eq!(said["result"]["attributes"], serde_json::json!([".gitattributes"]));
    world.skein(&["land", "done"]).ok();
    assert!(!canary.exists());
    world.check();
}

#[test]
fn a_filter_written_into_the_persons_configuration() {
    let world = World::in_memory();
    world.write(".gitattributes", "*.x filter=x\n");
    world.commit("attributes");
    let canary = world.root().join("canary");
    let config = world.path(".git/config");
    let script = format!(
        "git config --file {} filter.x.clean 'touch {}; cat'; echo x >1.x",
        config.display(),
        canary.display()
    );
    world.worker("bad", &script);
    world.skein(&["status"]).ok();
    world.skein(&["show", "bad"]).ok();
    world.skein(&["import", "bad"]).refused("outside-changed", 1);
    world.skein(&["reap"]);
    assert!(!canary.exists());
}

#[test]
fn rules_written_beside_the_persons_configuration() {
    let world = World::in_memory();
    world.git(["config", "extensions.worktreeConfig", "true"]);
    for (name, line) in [
        ("info/attributes", "* text"),
        ("info/exclude", "hidden"),
        ("config.worktree", "[filter \"x\"] clean = touch canary"),
    ] {
        let file = world.path(".git").join(name);
        let script = format!(
            "mkdir -p {}; echo '{line}' >>{}; echo x >hidden",
            file.parent().unwrap().display(),
            file.display()
        );
        world.worker("bad", &script);
        let said = world.skein(&["import", "bad"]).refused("outside-changed", 1);
        assert!(said.err.contains(&format!("the repository's {name}")), "{}", said.err);
        world.skein(&["reap", "--yes", "--include-unlanded", "--include-ignored", "bad"]).ok();
    }
}

#[test]
fn what_a_worker_hides_is_told() {
    let world = World::in_memory();
    world.worker("hide", "echo '*.log' >>.gitignore; echo l >x.log; echo i >y.ign; echo s >seen");
    let said = world.skein(&["import", "hide", "--json"]).ok().json();
    assert_eq!(said["result"]["ignored"], serde_json::json!(["x.log"]), "not what the base ignores: {said}");
    let said = world.skein(&["import", "hide"]).ok();
    assert!(said.out.contains("ignored by its own rule: x.log"), "{}", said.out);
}

#[test]
fn uncommitted_changes_of_the_person_are_stored_alike() {
    let world = World::in_memory();
    with_pointers(&world, true);
    world.git(["config", "core.autocrlf", "true"]);
    world.write(".gitattributes", "*.big filter=ptr -text\n");
    world.write("a.big", "large\n");
    world.commit("large");
    world.write("a.big", "dirty\n");
    world.write("b.txt", "dirty\r\n");
    let args = [
        "dispatch",
        "--wait",
        "--with-dirty",
        "--name",
        "one",
        "one",
        "--",
        "sh",
        "-c",
        "grep -q dirty a.big && echo w >>a.big && printf 'w\\r\\n' >>b.txt",
    ];
    world.skein(&args).code(3);
    let base = world.field("one", "base");
    let base = base.as_str().unwrap();
    assert_eq!(blob(&world, &format!("{base}:a.big")), pointer(&world, "dirty\n").as_bytes());
    assert_eq!(blob(&world, &format!("{base}:b.txt")), b"dirty\n");
    let said = world.skein(&["import", "one", "--json"]).ok().json();
    let tip = said["result"]["delta"]["tip"].as_str().unwrap();
    assert_eq!(blob(&world, &format!("{tip}:a.big")), pointer(&world, "dirty\nw\n").as_bytes());
    assert_eq!(blob(&world, &format!("{tip}:b.txt")), b"dirty\nw\n");
    world.git(["config", "core.safecrlf", "true"]);
    world.write("b.txt", "mixed\r\nends\n");
    world.skein(&["dispatch", "--with-dirty", "x"]).refused("filter-failed", 1);
    world.check();
}
