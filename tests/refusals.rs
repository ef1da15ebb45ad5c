//! Every "no": its token, its exit code, what it names, where to look, what to do next; and that nothing
//! changed. Then that no token is without a test.

use crate::support::Ran;
use crate::support::World;
use crate::support::ran;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

/// All refs with their oids and what symbolic ones point at, ours too.
fn refs(world: &World) -> String {
    world.git(["for-each-ref", "--format=%(refname) %(objectname) %(symref)"])
}

/// A verb that is refused and changes nothing: no file or ref of the person's, no ref of ours, no worktree,
/// no configuration.
#[track_caller]
pub fn refused(world: &World, token: &str, code: i32, args: &[&str]) -> Ran {
    refused_with(world, token, code, args, |_| {})
}

#[track_caller]
fn refused_with(world: &World, token: &str, code: i32, args: &[&str], change: impl Fn(&mut Command)) -> Ran {
    let all = || {
        let config = fs::read_to_string(world.repo.join(".git/config")).unwrap_or_default();
        (world.picture(&[]), refs(world), world.git(["worktree", "list", "--porcelain"]), config)
    };
    let before = all();
    let mut command = world.command(args);
    change(&mut command);
    let ran = ran(command.output().unwrap()).refused(token, code);
    assert!(ran.out.is_empty(), "{args:?}: {ran:?}");
    assert_eq!(all(), before, "{args:?}");
    let mut command = world.command(&[args.split(|a| *a == "--").next().unwrap(), &["--json"]].concat());
    command.args(args.iter().skip_while(|a| **a != "--"));
    change(&mut command);
    let json = crate::support::ran(command.output().unwrap()).code(code).json();
    assert_eq!((&json["error"]["token"], &json["error"]["code"]), (&token.into(), &code.into()), "{args:?}");
    assert!(json["error"]["show"].as_str().is_some_and(|s| !s.is_empty()), "{json}");
    assert!(json["error"]["next"].as_str().is_some_and(|s| !s.is_empty()), "{json}");
    assert_eq!(all(), before, "{args:?}");
    ran
}

/// A worker that commits what `script` does.
fn committed(world: &World, name: &str, script: &str) {
    done(world, name, &format!("{script}\ngit add -A -f && git commit -qm '{name}'"));
}

/// A worker whose `script` ends well.
#[track_caller]
fn done(world: &World, name: &str, script: &str) {
    world.worker(name, script);
    let (outcome, log) = (world.field(name, "outcome"), world.skein(&["show", name, "--log"]).out);
    assert_ne!(outcome, "failed", "{name}: {log}");
}

/// Bytes of every file below our own folder in the shared git folder, locks aside.
fn local(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(dir: &Path, all: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for path in fs::read_dir(dir).into_iter().flatten().map(|e| e.unwrap().path()) {
            if path.is_dir() {
                walk(&path, all);
            } else if path.extension().is_none_or(|e| e != "lock") {
                all.insert(path.clone(), fs::read(path).unwrap());
            }
        }
    }
    let mut all = BTreeMap::new();
    walk(&world.path(".git/skein"), &mut all);
    all
}

#[test]
fn outside_a_repository() {
    let world = World::new();
    let nowhere = world.root().join("home");
    for verb in
        ["status", "init", "log", "wait", "land", "dispatch T", "show w", "landed main", "import w", "stop w"]
    {
        let words: Vec<&str> = ["-C", nowhere.to_str().unwrap()].into_iter().chain(verb.split(' ')).collect();
        let said = refused(&world, "not-a-repository", 128, &words);
        assert!(said.err.contains("not a git repository"), "{}", said.err);
    }
    refused(&world, "not-a-repository", 128, &["-C", "/no/such/folder", "status"]);
    assert_eq!(fs::read_dir(&nowhere).unwrap().count(), 1, "more than its .gitconfig");
}

/// The person told git not to trust a bare repository that it happens upon: neither do we.
#[test]
fn a_repository_that_git_does_not_trust() {
    let world = World::new();
    world.git(["clone", "-q", "--bare", "--template=", ".", "../bare.git"]);
    fs::write(world.root().join("home/.gitconfig"), "[safe]\n\tbareRepository = explicit\n").unwrap();
    let bare = world.root().join("bare.git");
    let said = refused(&world, "not-a-repository", 128, &["-C", bare.to_str().unwrap(), "status"]);
    assert!(said.err.contains("safe.bareRepository") && said.err.contains("let git use it"), "{}", said.err);
    world.skein(&["status"]).ok();
}

#[test]
fn an_unborn_head() {
    let world = World::empty();
    refused(&world, "unborn-trunk", 1, &["dispatch", "T", "--", "true"]);
    refused(&world, "unborn-trunk", 1, &["landed", "main"]);
    world.skein(&["status"]).ok();
    world.git(["commit", "-q", "--allow-empty", "-m", "first"]);
    world.skein(&["dispatch", "--wait", "T", "--", "true"]).ok();
}

#[test]
fn a_base_that_is_no_commit() {
    let world = World::new();
    world.git(["tag", "tree", "HEAD^{tree}"]);
    let tree = world.rev("HEAD^{tree}");
    let zero = "0".repeat(40);
    for base in [
        "tree",
        &tree,
        "HEAD:a.txt",
        "nothing",
        "--output=x",
        "--all",
        "-q",
        "",
        &zero,
        "a b",
        "@{u}",
        "HEAD^9",
    ] {
        let said =
            refused(&world, "bad-base", 1, &["dispatch", &format!("--base={base}"), "T", "--", "true"]);
        assert!(said.err.contains("rev-parse --verify"), "{}", said.err);
    }
    assert!(!world.path("x").exists());
    let said = refused(&world, "bad-base", 1, &["dispatch", "--base=tree", "T", "--", "true"]);
    assert!(said.err.contains(&tree), "the object that it is: {}", said.err);
    assert_eq!(local(&world), BTreeMap::new());
}

#[test]
fn names_that_are_no_worker_or_more_than_one() {
    let world = World::new();
    world.worker("fix-auth", "true");
    world.worker("fix-login", "true");
    for name in ["nobody", "fixx", "", "--output=x", "*", "../fix-auth", "fix-auth ", "FIX"] {
        for verb in ["show", "wait", "stop", "import", "land"] {
            refused(&world, "no-such-worker", 1, &[verb, "--", name]);
        }
        let said = refused(&world, "no-such-worker", 1, &["candidate", "create", "--", name]);
        assert!(said.err.contains("no worker and no local branch is called"), "{}", said.err);
    }
    for name in ["fix", "fix-", "0"] {
        for verb in ["show", "wait", "stop", "import", "land"] {
            let said = refused(&world, "ambiguous-worker", 1, &[verb, name]);
            assert!(said.err.contains("fix-auth") && said.err.contains("fix-login"), "{}", said.err);
        }
    }
    let (id, full) = (world.ulid("fix-auth"), world.ulid("fix-login"));
    let common = id.bytes().zip(full.bytes()).take_while(|(a, b)| a == b).count();
    world.skein(&["show", &id[..common + 1]]).ok();
    world.skein(&["show", &id.to_uppercase()]).ok();
    world.skein(&["show", "fix-a"]).ok();
    let said = refused(&world, "no-such-worker", 1, &["land"]);
    assert!(said.err.contains("  fix-auth\n"), "which one is meant: {}", said.err);
}

#[test]
fn a_revision_that_is_no_commit() {
    let world = World::new();
    for rev in ["nothing", "HEAD:a.txt", "HEAD^{tree}", "--all", "", "refs/heads"] {
        refused(&world, "bad-revision", 1, &["landed", "--", rev]);
    }
    refused(&world, "bad-revision", 1, &["landed", "main", "--base", "HEAD:a.txt"]);
    refused(&world, "not-a-branch", 1, &["landed", "main", "--onto", "nothing"]);
    world.skein(&["landed", "main", "--onto", "a..b"]).refused("bad-name", 1);
}

#[test]
fn an_agent_that_is_not_there() {
    let world = World::new();
    world.write("plain", "not executable\n");
    for agent in ["no-such-agent", "./no-such-agent", "/etc", "./plain", "", "/no/such/folder/agent"] {
        let said = refused(&world, "agent-not-found", 1, &["dispatch", "T", "--", agent, "--flag"]);
        assert!(said.err.contains("command -v"), "{}", said.err);
    }
    assert_eq!(local(&world), BTreeMap::new());
}

#[test]
fn a_task_that_says_nothing() {
    let world = World::new();
    world.write("empty", " \n\t\n");
    for task in ["", "  ", "\n\n"] {
        refused(&world, "no-task", 1, &["dispatch", task]);
    }
    refused(&world, "no-task", 1, &["dispatch"]);
    refused(&world, "no-task", 1, &["dispatch", "-F", "empty"]);
    refused(&world, "no-task", 1, &["dispatch", "-F", "/dev/null"]);
    let said = refused(&world, "no-task", 1, &["dispatch", "-F", "no/such/file"]);
    assert!(said.err.contains("no/such/file"), "{}", said.err);
}

#[test]
fn patterns_that_cannot_be_read() {
    let world = World::new();
    for glob in ["[", "src/{a,b", "a[b-", "[z-a]"] {
        let said = refused(&world, "bad-pattern", 1, &["dispatch", "--path", glob, "T", "--", "true"]);
        assert!(said.err.contains("path pattern"), "{}", said.err);
    }
    for pattern in ["(", "a{2,1}", "*", "(?<x"] {
        let said =
            refused(&world, "bad-pattern", 1, &["dispatch", "--done-pattern", pattern, "T", "--", "true"]);
        assert!(said.err.contains("regular expression"), "{}", said.err);
    }
    committed(&world, "w", "echo 1 >new");
    world.git(["config", "skein.forbidden", "["]);
    refused(&world, "bad-pattern", 1, &["land", "w"]);
}

#[test]
fn names_that_no_handle_or_branch_can_have() {
    let world = World::new();
    committed(&world, "w", "echo 1 >new");
    let long = "a".repeat(41);
    for name in ["", "-x", "x-", "--output=x", "A", "a b", "a/b", "..", "é", &long, "a.b", "a\n"] {
        refused(&world, "bad-name", 1, &["dispatch", &format!("--name={name}"), "T", "--", "true"]);
    }
    for branch in
        ["a..b", "a b", "a~1", ".a", "a.lock", "a//b", "", "-", "--output=x", "a\u{1b}b", "HEAD", "@{-1}"]
    {
        refused(&world, "bad-name", 1, &["import", "w", &format!("--into={branch}")]);
    }
    assert!(!world.path("x").exists());
}

/// A branch that only `update-ref` makes is a name like any other, never an option.
#[test]
fn a_branch_with_the_name_of_an_option() {
    let world = World::new();
    committed(&world, "w", "echo 1 >new");
    world.git(["update-ref", "refs/heads/--output=x", "main"]);
    world.skein(&["land", "w", "--onto=--output=x", "--gate", "true"]).ok();
    assert_eq!(world.git(["rev-parse", "refs/heads/--output=x^"]), world.rev("main"));
    world.skein(&["landed", "w", "--onto=--output=x"]).ok();
    world.skein(&["land", "--", "--output=x"]).ok();
    assert_eq!(world.git(["rev-parse", "refs/heads/--output=x"]), world.rev("main"));
    assert!(!world.path("x").exists());
    world.check();
}

#[test]
fn no_branch_to_land_on() {
    let world = World::new();
    world.worker("w", "echo 1 >new; git add new; git commit -qm new");
    world.git(["tag", "v1"]);
    for onto in ["nothing", "v1", "HEAD", "refs/tags/v1", "refs/heads/nothing"] {
        refused(&world, "not-a-branch", 1, &["dispatch", "--onto", onto, "T", "--", "true"]);
        refused(&world, "not-a-branch", 1, &["land", "w", "--onto", onto]);
        refused(&world, "not-a-branch", 1, &["landed", "w", "--onto", onto]);
    }
    world.git(["config", "skein.trunk", "nothing"]);
    refused(&world, "not-a-branch", 1, &["dispatch", "T", "--", "true"]);
    refused(&world, "not-a-branch", 1, &["landed", "v1"]);
    world.git(["config", "--unset", "skein.trunk"]);
    world.git(["branch", "-m", "main", "work"]);
    let said = refused(&world, "no-trunk", 1, &["dispatch", "T", "--", "true"]);
    assert!(said.err.contains("  work\n") && said.err.contains("skein.trunk"), "{}", said.err);
    refused(&world, "not-a-branch", 1, &["land", "w"]);
    world.git(["checkout", "-q", "--detach"]);
    refused(&world, "no-trunk", 1, &["dispatch", "T", "--", "true"]);
    world.git(["config", "skein.trunk", "work"]);
    world.skein(&["dispatch", "--wait", "T", "--", "true"]).ok();
}

#[test]
fn a_folder_where_the_worktree_would_be() {
    let world = World::new();
    let place = world.root().join("repo.skein/w");
    fs::create_dir_all(&place).unwrap();
    let dispatch = ["dispatch", "--wait", "--name", "w", "T", "--", "true"];
    let said = refused(&world, "worktree-exists", 1, &dispatch);
    assert!(said.err.contains(place.to_str().unwrap()), "{}", said.err);
    fs::remove_dir(&place).unwrap();
    symlink("/no/such/place", &place).unwrap();
    refused(&world, "worktree-exists", 1, &dispatch);
    fs::remove_file(&place).unwrap();
    fs::write(&place, "a file").unwrap();
    refused(&world, "worktree-exists", 1, &dispatch);
    assert_eq!(fs::read(&place).unwrap(), b"a file");
    fs::remove_file(&place).unwrap();
    world.skein(&dispatch).ok();
    world.check();
}

#[test]
fn a_worktree_inside_a_working_tree() {
    let world = World::new();
    world.git(["worktree", "add", "-q", "--detach", "../linked"]);
    world.write("sub/keep", "k\n");
    symlink(world.path("sub"), world.root().join("link")).unwrap();
    let dispatch = |n: &str| ["dispatch", "--wait", "--name", n, "T", "--", "true"].map(ToOwned::to_owned);
    let inside = ["in", ".", "./sub/../in", "../repo/in", "../linked/in", "../link/in", ".git/in", "../link"];
    for dir in inside {
        world.git(["config", "skein.worktreeDir", dir]);
        let words = dispatch("w");
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let said = refused(&world, "worktree-inside", 1, &words);
        assert!(said.err.contains("skein.worktreeDir"), "{dir}: {}", said.err);
    }
    let outside = world.root().join("outside").to_str().unwrap().to_owned();
    for (n, dir) in ["../trees", "sub/../../trees", &outside, "~/trees", "../repo-trees"].iter().enumerate() {
        world.git(["config", "skein.worktreeDir", dir]);
        let words = dispatch(&format!("w{n}"));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        world.skein(&words).ok();
        assert!(world.worktree(&format!("w{n}")).is_dir(), "{dir}");
    }
    world.check();
}

/// From the k-th durable step on the disk is full: refused, nothing acknowledged, and the same command
/// works once there is room.
#[test]
fn a_full_disk() {
    for (site, name) in [("file:1+", "one"), ("file:3+", "three"), ("file:5+", "five")] {
        let world = World::new();
        let dispatch = ["dispatch", "--wait", "--name", name, "T", "--", "true"];
        let said = refused_with(&world, "no-space", 128, &dispatch, |command| {
            command.env("SKEIN_FAULT", format!("{site}:ENOSPC"));
        });
        assert!(said.err.contains("room") || said.err.contains("free some space"), "{}", said.err);
        world.skein(&dispatch).ok();
        committed(&world, "w", "echo 1 >new");
        let tip = world.rev("main");
        let mut land = world.command(&["land", "w"]);
        land.env("SKEIN_FAULT", format!("{site}:ENOSPC"));
        ran(land.output().unwrap()).refused("no-space", 128);
        assert_eq!(world.rev("main"), tip);
        world.skein(&["land", "w"]).ok();
        assert_eq!(world.rev("main^"), tip);
        world.check();
    }
}

/// Runs a command of ours as a user who may only read, if we may become one.
fn as_nobody(world: &World, args: &[&str]) -> Option<Ran> {
    let skein = world.command(args);
    let mut nobody = Command::new("setpriv");
    nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]);
    nobody.arg(skein.get_program()).args(skein.get_args()).current_dir(&world.cwd).env_clear();
    nobody.envs(skein.get_envs().filter_map(|(k, v)| Some((k, v?))));
    let probe =
        Command::new("setpriv").args(["--reuid=65534", "--regid=65534", "--clear-groups", "true"]).output();
    // The binary itself may lie where nobody may look.
    let runs = probe.is_ok_and(|o| o.status.success())
        && Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", "test", "-x"])
            .arg(skein.get_program())
            .status()
            .is_ok_and(|s| s.success());
    runs.then(|| ran(nobody.output().unwrap()))
}

#[test]
fn a_repository_that_may_only_be_read() {
    let world = World::new();
    committed(&world, "w", "echo 1 >new");
    committed(&world, "v", "echo 1 >newer");
    fs::set_permissions(world.root(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(world.root().join("home/.gitconfig"), "[safe]\n\tdirectory = *\n").unwrap();
    let before = (world.picture(&[]), refs(&world));
    let (nobody, reads) = match as_nobody(&world, &["status"]) {
        Some(ran) => (true, ran),
        None => (false, world.skein(&["status"])),
    };
    assert!(reads.ok().out.contains("ready"));
    for args in [
        &["dispatch", "T", "--", "true"][..],
        &["land", "w"],
        &["import", "v", "--into", "coord"],
        &["candidate", "create", "w"],
    ] {
        let said = if nobody {
            as_nobody(&world, args).unwrap()
        } else {
            let mut command = world.command(args);
            command.env("SKEIN_FAULT", "file:1:EACCES");
            ran(command.output().unwrap())
        };
        let said = said.refused("read-only", 128);
        assert!(said.err.contains("access"), "{}", said.err);
        assert_eq!((world.picture(&[]), refs(&world)), before, "{args:?}");
    }
    let fresh = World::new();
    fs::set_permissions(fresh.root(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(fresh.root().join("home/.gitconfig"), "[safe]\n\tdirectory = *\n").unwrap();
    if nobody {
        as_nobody(&fresh, &["init"]).unwrap().refused("read-only", 128);
        as_nobody(&fresh, &["dispatch", "T", "--", "true"]).unwrap().refused("read-only", 128);
        assert!(!refs(&fresh).contains("refs/skein"));
    }
}

#[test]
fn a_worktree_deleted_by_hand_loses_nothing() {
    let world = World::new();
    committed(&world, "whole", "echo 1 >whole");
    world.worker("half", "echo 1 >half");
    done(&world, "both", "echo 1 >both; git add -A; git commit -qm both; echo left >left");
    let trees: Vec<PathBuf> = ["whole", "half", "both"].iter().map(|w| world.worktree(w)).collect();
    fs::remove_dir_all(&trees[0]).unwrap();
    fs::remove_dir_all(&trees[1]).unwrap();
    fs::remove_dir_all(&trees[2]).unwrap();
    world.git(["worktree", "unlock", trees[2].to_str().unwrap()]);
    world.git(["worktree", "prune"]);
    assert!(world.skein(&["status"]).ok().out.contains("whole"));
    world.skein(&["import", "whole"]).ok();
    world.skein(&["land", "whole"]).ok();
    world.skein(&["land", "half"]).ok();
    let both = world.skein(&["land", "both"]).ok();
    assert!(both.out.contains("left"), "the leftover is named: {}", both.out);
    for name in ["whole", "half", "both"] {
        assert_eq!(world.read(name), "1\n");
    }
    world.skein(&["import", "both", "--uncommitted"]).ok();
    world.check();
}

/// A record commit of a version that does not exist yet, as a newer program would write it.
fn from_the_future(world: &World, record: &str) -> (String, String) {
    let name = "refs/skein/worker/01zzzzzzzzzzzzzzzzzzzzzzzz".to_owned();
    world.write("../record.json", record);
    let blob = world.git(["hash-object", "-w", "../record.json"]);
    world.write("../tree", &format!("100644 blob {blob}\trecord.json\n"));
    let script = "git mktree <../tree";
    let tree = Command::new("sh").args(["-c", script]).current_dir(&world.repo).output().unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap();
    let commit = world.git(["commit-tree", tree.trim(), "-m", "future"]);
    world.git(["update-ref", &name, &commit]);
    (name, commit)
}

#[test]
fn a_record_of_an_unknown_version_is_listed_and_left_alone() {
    let world = World::new();
    committed(&world, "w", "echo 1 >new");
    let (name, oid) = from_the_future(&world, "{\"v\": 2, \"soul\": \"of a new machine\"}\n");
    let id = name.rsplit('/').next().unwrap();
    let status = world.skein(&["status"]).ok();
    assert!(status.out.contains(&format!("{id} version 2 is not known here")), "{}", status.out);
    let json = world.skein(&["status", "--json"]).ok().json();
    assert_eq!(json["result"]["unreadable"][0]["worker"], id);
    assert_eq!(json["result"]["workers"].as_array().unwrap().len(), 1);
    for verb in ["show", "wait", "stop", "import", "land"] {
        let said = refused(&world, "unknown-record", 1, &[verb, id]);
        assert!(said.err.contains(&format!("git show {name}:record.json")), "{}", said.err);
    }
    refused(&world, "unknown-record", 1, &["candidate", "create", id]);
    world.skein(&["landed", id]).refused("unknown-record", 1);
    world.skein(&["land", "w"]).ok();
    world.skein(&["dispatch", "--wait", "--name", "x", "T", "--", "true"]).ok();
    assert_eq!(world.rev(&name), oid);
    for damaged in ["{\"v\": 1}\n", "no JSON\n", "{}\n", ""] {
        let (name, oid) = from_the_future(&world, damaged);
        assert!(world.skein(&["status"]).ok().out.contains(&format!("{id} damaged: ")), "{damaged}");
        refused(&world, "unknown-record", 1, &["import", id]);
        assert_eq!(world.rev(&name), oid);
    }
}

#[test]
fn a_lost_sentinel_stops_everything() {
    let world = World::new();
    committed(&world, "w", "echo 1 >new");
    let sentinel = world.rev("refs/skein/format/1");
    world.git(["update-ref", "-d", "refs/skein/format/1"]);
    for args in
        ["status", "show w", "wait", "import w", "land w", "log", "landed w", "init", "dispatch T", "stop w"]
    {
        let words: Vec<&str> = args.split(' ').collect();
        let said = refused(&world, "state-corrupt", 128, &words);
        assert!(said.err.contains("refs/skein/format/1"), "{}", said.err);
    }
    world.git(["update-ref", "refs/skein/format/1", &sentinel]);
    world.skein(&["land", "w"]).ok();
    world.check();
}

#[test]
fn a_ref_that_a_power_cut_left_without_an_id() {
    let world = World::new();
    committed(&world, "w", "echo 1 >new");
    let own = format!("refs/skein/worker/{}", world.ulid("w"));
    let tip = world.rev(&own);
    for (name, commit) in [("refs/heads/other", world.head()), (own.as_str(), tip)] {
        let file = world.path(&format!(".git/{name}"));
        for text in ["", "junk\n"] {
            fs::write(&file, text).unwrap();
            for args in ["status", "show w", "land w", "dispatch T"] {
                let words: Vec<&str> = args.split(' ').collect();
                let said = refused(&world, "ref-broken", 128, &words);
                assert!(said.err.contains(&format!("the file of {name} holds no object id")), "{}", said.err);
                assert_eq!(said.shown(), format!("git for-each-ref {name}"));
                assert!(said.next().contains(&format!("git update-ref {name} <commit>")), "{}", said.next());
            }
        }
        fs::remove_file(&file).unwrap();
        world.git(["update-ref", name, &commit]);
        world.skein(&["status"]).ok();
    }
    world.skein(&["land", "w"]).ok();
    world.check();
}

#[test]
fn a_name_of_ours_that_somebody_else_holds() {
    let id = "01jzzzzzzzzzzzzzzzzzzzzzzz";
    let squats = [
        "refs/skein".to_owned(),
        "refs/skein/format".to_owned(),
        "refs/skein/worker".to_owned(),
        "refs/skein/worker/nobody".to_owned(),
        format!("refs/skein/worker/{id}/more"),
        "refs/skein/something/else".to_owned(),
        "refs/skein-local".to_owned(),
        "refs/skein-local/wip/nobody".to_owned(),
        "refs/notes/skein".to_owned(),
    ];
    for squat in &squats {
        let world = World::new();
        world.git(["update-ref", squat, "HEAD"]);
        for args in [&["status"][..], &["init"], &["dispatch", "T", "--", "true"], &["land", "main"]] {
            let said = refused(&world, "refs-squatted", 128, args);
            assert!(said.err.contains(squat.as_str()), "{}", said.err);
        }
        world.git(["update-ref", "-d", squat]);
        world.skein(&["init"]).ok();
    }
}

#[test]
fn a_symbolic_ref_under_a_name_of_ours_moves_nothing() {
    let world = World::new();
    committed(&world, "w", "echo 1 >new");
    let worker = format!("refs/skein/worker/{}", world.ulid("w"));
    world.git(["branch", "victim"]);
    let target = world.rev("victim");
    for name in [
        &worker,
        "refs/skein/format/1",
        "refs/skein-local/wip/01jzzzzzzzzzzzzzzzzzzzzzzz",
        "refs/notes/skein/landed",
    ] {
        let old = world.try_git(["rev-parse", "-q", "--verify", name]);
        world.git(["symbolic-ref", name, "refs/heads/victim"]);
        for args in [
            &["status"][..],
            &["land", "w"],
            &["import", "w"],
            &["stop", "w"],
            &["dispatch", "T", "--", "true"],
        ] {
            let said = refused(&world, "refs-squatted", 128, args);
            assert!(said.err.contains(name) && said.err.contains("symbolic"), "{}", said.err);
        }
        assert_eq!(world.rev("victim"), target);
        world.git(["symbolic-ref", "--delete", name]);
        if old.status.success() {
            world.git(["update-ref", name, String::from_utf8(old.stdout).unwrap().trim()]);
        }
    }
    // One that points at nothing is not listed; writing goes to the name, never through it.
    let fresh = World::new();
    fresh.git(["symbolic-ref", "refs/skein/format/1", "refs/heads/none"]);
    fresh.skein(&["init"]);
    assert!(!fresh.try_git(["rev-parse", "-q", "--verify", "refs/heads/none"]).status.success());
    world.skein(&["land", "w"]).ok();
    world.check();
}

#[test]
fn an_object_of_another_kind_under_a_name_of_ours() {
    let world = World::new();
    committed(&world, "w", "echo 1 >new");
    let blob = world.rev("HEAD:a.txt");
    let ulid = world.ulid("w");
    let old = world.rev(&format!("refs/skein/worker/{ulid}"));
    for name in
        [format!("refs/skein/worker/{ulid}"), "refs/skein/worker/01jzzzzzzzzzzzzzzzzzzzzzzz".to_owned()]
    {
        world.git(["update-ref", &name, &blob]);
        for args in [&["status"][..], &["land", "w"], &["show", "w"]] {
            let said = refused(&world, "refs-squatted", 128, args);
            assert!(said.err.contains(&name), "{}", said.err);
        }
        world.git(["update-ref", "-d", &name]);
    }
    world.git(["update-ref", &format!("refs/skein/worker/{ulid}"), &old]);
    world.skein(&["land", "w"]).ok();
}

#[test]
fn a_verb_inside_a_worker() {
    let world = World::new();
    committed(&world, "w", "echo 1 >new");
    let verbs: &[&[&str]] = &[
        &["init"],
        &["dispatch", "T", "--", "true"],
        &["land", "w"],
        &["land"],
        &["import", "w"],
        &["import", "w", "--dry-run"],
        &["candidate", "create", "w"],
        &["candidate", "admit", "w"],
        &["candidate", "integrate", "w"],
        &["stop", "w"],
    ];
    for args in verbs {
        refused_with(&world, "in-worker", 1, args, |command| {
            command.env("SKEIN_WORKER", "somebody");
        });
    }
    for args in [&["status"][..], &["show", "w"], &["landed", "w"], &["wait", "w"]] {
        let mut command = world.command(args);
        command.env("SKEIN_WORKER", "somebody");
        let read = ran(command.output().unwrap());
        assert!(!read.out.is_empty() && !read.err.contains("in-worker"), "{args:?}: {read:?}");
    }
    // An agent that forgets where it is is still below its supervisor.
    let skein = env!("CARGO_BIN_EXE_git-skein");
    let script = format!(
        "unset SKEIN_WORKER; cd '{}'; '{skein}' land w; echo code $?; (setsid '{skein}' import w; echo code $?)",
        world.repo.display()
    );
    let tip = world.rev("main");
    world.worker("sly", &script);
    let log = world.skein(&["show", "sly", "--log"]).ok().out;
    assert_eq!(log.matches("refused: in-worker").count(), 2, "{log}");
    assert_eq!(log.matches("code 1").count(), 2, "{log}");
    assert_eq!(world.rev("main"), tip);
}

#[test]
fn command_lines_that_are_wrong() {
    let world = World::new();
    world.worker("w", "true");
    let before = (world.picture(&[]), refs(&world));
    let wrong: &[&[&str]] = &[
        &[],
        &["no-such-verb"],
        &["show"],
        &["show", "w", "more"],
        &["show", "--output=x"],
        &["stop", "--output=x"],
        &["import", "--output=x"],
        &["land", "--output=x"],
        &["wait", "--output=x"],
        &["landed", "--output=x"],
        &["dispatch", "--output=x"],
        &["dispatch", "-F", "a", "T"],
        &["dispatch", "T", "more", "than", "one"],
        &["dispatch", "--timeout", "soon", "T"],
        &["dispatch", "--timeout", "-5s", "T"],
        &["show", "w", "--diff", "--log"],
        &["land", "--retries", "-1"],
        &["land", "--retries", "many"],
        &["log", "-n", "x"],
        &["candidate"],
        &["candidate", "make", "w"],
        &["--color=sometimes", "status"],
        &["-C"],
        &["help", "no-such-topic"],
    ];
    for args in wrong {
        let ran = world.skein(args).code(129);
        assert!(ran.out.is_empty() && !ran.err.is_empty(), "{args:?}: {ran:?}");
        assert_eq!((world.picture(&[]), refs(&world)), before, "{args:?}");
    }
    assert!(!world.path("x").exists());
}

#[test]
fn a_worker_that_still_runs() {
    let world = World::new();
    let script = "echo 1 >new; git add new; git commit -qm new; sleep 60";
    world.skein(&["dispatch", "--name", "w", "T", "--", "sh", "-c", script]).ok();
    // It has to have something to land when it is stopped.
    let tree = world.worktree("w").to_str().unwrap().to_owned();
    let base = world.head();
    let began = std::time::Instant::now();
    while world.git(["-C", &tree, "rev-parse", "HEAD"]) == base {
        assert!(began.elapsed().as_secs() < 60, "it never committed");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let limited = world.skein(&["wait", "w", "--timeout", "0"]).refused("timed-out", 75);
    assert!(limited.err.contains("  w\n"), "{}", limited.err);
    for args in
        [&["import", "w"][..], &["land", "w"], &["land", "w", "--any-outcome"], &["candidate", "create", "w"]]
    {
        let said = world.skein(args).refused("still-running", 1);
        assert!(said.err.contains("git skein stop w"), "{}", said.err);
    }
    world.skein(&["stop", "w"]).ok();
    world.skein(&["land", "w"]).ok();
    world.check();
}

#[test]
fn work_that_did_not_end_well() {
    let world = World::new();
    committed(&world, "ill", "echo 1 >new");
    world.worker("failed", "echo 1 >failed; git add -A; git commit -qm 1; exit 7");
    for args in [&["import", "failed"][..], &["land", "failed"], &["candidate", "create", "failed"]] {
        let said = refused(&world, "not-ready", 1, args);
        assert!(said.err.contains("exit code 7") && said.err.contains("--any-outcome"), "{}", said.err);
    }
    world.skein(&["land", "failed", "--any-outcome"]).ok();
    world.check();
}

#[test]
fn work_that_left_its_worktree() {
    let world = World::new();
    let script = format!("echo theirs >'{}'; echo 1 >new", world.path("b.txt").display());
    world.worker("w", &format!("{script}; git add -A && git commit -qm w"));
    for args in [&["import", "w"][..], &["land", "w"]] {
        let said = refused(&world, "outside-changed", 1, args);
        assert!(
            said.err.contains("  b.txt\n") && said.err.contains("git skein land --any-outcome w"),
            "{said:?}"
        );
    }
    world.git(["checkout", "-q", "b.txt"]);
    world.skein(&["land", "w", "--any-outcome"]).ok();
    world.check();
}

#[test]
fn a_base_that_moved_and_work_that_is_not_its_own() {
    let world = World::new();
    world.write("b.txt", "more\n");
    world.commit("more");
    let dispatch = |name: &str, script: &str| {
        let words = ["dispatch", "--wait", "--base", "main~1", "--name", name, "T", "--", "sh", "-c", script];
        world.skein(&words).ok();
    };
    dispatch("ff", "git merge -q --ff-only main; echo 1 >ff; git add -A; git commit -qm ff");
    dispatch(
        "merged",
        "echo 1 >merged; git add -A; git commit -qm merged; git merge -q --no-ff -m merge main",
    );
    dispatch("rebased", "echo 1 >rebased; git add -A; git commit -qm rebased; git rebase -q main");
    dispatch(
        "picked",
        "git checkout -q --orphan lost; git rm -rqf .; echo 1 >lost; git add -A; git commit -qm lost; git checkout -q --detach",
    );
    for name in ["ff", "merged", "rebased"] {
        for verb in ["import", "land"] {
            let said = refused(&world, "foreign-merge", 1, &[verb, name]);
            assert!(said.err.contains(&world.rev("main")), "the foreign commit: {}", said.err);
        }
    }
    let said = refused(&world, "base-moved", 1, &["land", "picked"]);
    assert!(said.err.contains(&world.rev("main~1")), "{}", said.err);
    world.check();
}

#[test]
fn paths_that_no_worker_may_change() {
    let world = World::new();
    for (n, path) in
        ["AGENTS.md", "sub/CLAUDE.md", ".github/workflows/ci.yml", ".skein/policy.toml", "mine/x"]
            .iter()
            .enumerate()
    {
        let name = format!("w{n}");
        if *path == "mine/x" {
            world.git(["config", "skein.forbidden", "mine"]);
        }
        committed(&world, &name, &format!("mkdir -p \"$(dirname {path})\"; echo 1 >{path}"));
        for verb in ["import", "land"] {
            let said = refused(&world, "forbidden-path", 1, &[verb, &name]);
            assert!(said.err.contains(&format!("  {path}\n")), "{}", said.err);
        }
    }
    world.git(["config", "skein.allow", "AGENTS.md"]);
    world.skein(&["land", "w0"]).ok();
    world.check();
}

#[test]
fn paths_that_must_not_enter_the_trunk() {
    let world = World::new();
    for (n, (script, named)) in [
        ("ln -s ../../outside link", "link"),
        ("ln -s /etc/passwd link", "link"),
        ("ln -s .git/config link", "link"),
        ("printf 1 >\"$(printf 'a\\033b')\"", "a\\u{1b}b"),
        ("printf 1 >\"$(printf 'a\\nb')\"", "a b"),
        ("printf 1 >\"$(printf 'a\\342\\200\\256b')\"", "a\\u{202e}b"),
        ("echo 1 >A.TXT", "A.TXT"),
        ("echo 1 >Readme; echo 2 >README", "README and Readme"),
        ("mkdir -p sub; echo 1 >sub/x; mkdir SUB; echo 2 >SUB/y", "SUB and sub"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("w{n}");
        committed(&world, &name, script);
        let said = refused(&world, "bad-path", 1, &["land", &name]);
        assert!(said.err.contains(named), "{script}: {}", said.err);
    }
    world.check();
}

#[test]
fn a_nested_repository() {
    let world = World::new();
    let script = "git init -q --template= sub; cd sub; git -c user.name=x -c user.email=x commit -q --allow-empty -m x; cd ..; git -c advice.addEmbeddedRepo=false add sub; git commit -qm sub";
    world.worker("w", script);
    let said = refused(&world, "gitlink", 1, &["land", "w"]);
    assert!(said.err.contains("  sub\n"), "{}", said.err);
    world.check();
}

#[test]
fn work_that_changes_nothing() {
    let world = World::new();
    world.worker("idle", "true");
    committed(&world, "same", "echo 1 >new");
    committed(&world, "twin", "echo 1 >new");
    world.worker("undone", "echo 1 >x; git add x; git commit -qm x; git rm -q x; git commit -qm undone");
    for name in ["idle", "undone"] {
        refused(&world, "empty", 1, &["import", name]);
        refused(&world, "empty", 1, &["land", name]);
    }
    world.skein(&["land", "same"]).ok();
    world.skein(&["land", "twin"]).refused("empty", 1);
    world.git(["branch", "behind", "main~1"]);
    refused(&world, "empty", 1, &["land", "behind"]);
    world.check();
}

#[test]
fn a_change_that_would_land_differently() {
    let world = World::new();
    committed(&world, "w", "sed -i s/1/one/ a.txt");
    committed(&world, "x", "sed -i s/1/eins/ a.txt");
    world.skein(&["import", "w"]).ok();
    world.skein(&["import", "x"]).ok();
    let text = world.read("a.txt").replace("line 3", "line three");
    world.write("a.txt", &text);
    world.commit("the trunk goes on");
    let said = refused(&world, "not-exact", 1, &["land", "w", "--exact"]);
    assert!(said.err.contains("--exact"), "{}", said.err);
    world.skein(&["land", "w"]).ok();
    for args in [
        &["land", "x"][..],
        &["import", "x", "--into", "main"],
        &["import", "x", "--into", "collect"],
        &["candidate", "create", "x"],
    ] {
        let said = refused(&world, "conflict", 3, args);
        assert!(said.err.contains("  a.txt\n") && said.err.contains("git diff "), "{}", said.err);
    }
    world.check();
}

#[test]
fn steps_that_conflict_though_the_whole_does_not() {
    let world = World::new();
    world.worker("w", "sed -i s/1/one/ a.txt; git commit -qam one; sed -i s/one/1/ a.txt; echo 1 >new; git add new; git commit -qam back");
    world.skein(&["import", "w"]).ok();
    let text = world.read("a.txt").replace("line 1\n", "line eins\n");
    world.write("a.txt", &text);
    world.commit("the trunk goes on");
    let said = refused(&world, "conflict-midway", 3, &["land", "w"]);
    assert!(said.err.contains("--squash"), "{}", said.err);
    world.skein(&["land", "w", "--squash"]).ok();
    world.check();
}

/// A gate leaves its evidence on the lane and its candidate; everything else is as before.
#[test]
fn gates_that_fail_or_write() {
    let world = World::new();
    committed(&world, "w", "echo 1 >new");
    for (token, gate, named) in [
        ("gate-failed", "echo it says why; exit 3", "it says why"),
        ("gate-failed", "kill -KILL $$", "signal 9"),
        ("gate-failed", "no-such-command", "exit code 127"),
        ("gate-dirtied", "echo more >>a.txt", "  a.txt\n"),
        ("gate-dirtied", "rm b.txt", "  b.txt\n"),
        ("gate-dirtied", "git rm -q --cached b.txt", "  b.txt\n"),
        ("gate-dirtied", "echo 1 >made; git add made", "  made\n"),
    ] {
        let before = world.picture(&[]);
        // Twice: what was refused is no evidence the next time.
        for _ in 0..2 {
            let said = world.skein(&["land", "w", "--gate", gate]).refused(token, 5);
            assert!(said.err.contains(named), "{gate}: {}", said.err);
            assert_eq!(world.picture(&[]), before, "{gate}");
        }
        assert_eq!(world.git(["worktree", "list"]).lines().count(), 2, "the gate's worktree is gone: {gate}");
    }
    world.skein(&["land", "w", "--gate", "echo untracked >made; test -f new"]).ok();
    world.check();
}

#[test]
fn a_gate_that_moves_the_candidate_away_proves_nothing() {
    let world = World::new();
    committed(&world, "w", "echo 1 >new");
    let tip = world.rev("main");
    for gate in ["git checkout -q HEAD~1", "echo 2 >new; git commit -qam other"] {
        world.skein(&["land", "w", "--gate", gate]).refused("gate-dirtied", 5);
        assert_eq!(world.rev("main"), tip, "{gate}");
    }
    world.check();
}

#[test]
fn candidates_in_the_wrong_order() {
    let world = World::new();
    committed(&world, "w", "echo 1 >new");
    world.skein(&["import", "w"]).ok();
    refused(&world, "no-candidate", 1, &["candidate", "admit", "w"]);
    refused(&world, "no-candidate", 1, &["candidate", "integrate", "w"]);
    world.skein(&["candidate", "create", "w"]).ok();
    assert!(world.skein(&["candidate", "create", "w"]).ok().out.contains("already"));
    let said = refused(&world, "not-admitted", 1, &["candidate", "integrate", "w"]);
    assert!(said.err.contains("candidate admit w"), "{}", said.err);
    world.skein(&["candidate", "admit", "w"]).ok();
    world.write("b.txt", "more\n");
    let tip = world.commit("the trunk goes on");
    let said = refused(&world, "candidate-stale", 4, &["candidate", "integrate", "w"]);
    assert!(said.err.contains(&tip) && said.err.contains("--supersede"), "{}", said.err);
    let said = refused(&world, "candidate-exists", 1, &["candidate", "create", "w"]);
    assert!(said.err.contains("--supersede"), "{}", said.err);
    world.skein(&["candidate", "create", "w", "--supersede"]).ok();
    refused(&world, "not-admitted", 1, &["candidate", "integrate", "w"]);
    world.skein(&["candidate", "admit", "w", "--gate", "test -f new"]).ok();
    world.skein(&["candidate", "integrate", "w"]).ok();
    assert_eq!(world.rev("main^"), tip);
    assert!(world.skein(&["candidate", "integrate", "w"]).ok().out.contains("already"));
    world.check();
}

#[test]
fn a_trunk_that_moves_each_time() {
    let world = World::new();
    committed(&world, "w", "echo 1 >new");
    // The gate stands for another writer who is always faster.
    let push = format!("cd '{}' && git commit -q --allow-empty -m faster", world.repo.display());
    let gate = format!("unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE; {push}; : $RANDOM $(date +%N)");
    let said = world.skein(&["land", "w", "--retries", "0", "--gate", &gate]).refused("trunk-moved", 4);
    assert!(said.err.contains(&world.rev("main")), "{}", said.err);
    assert_eq!(world.git(["log", "--format=%s", "main"]), "faster\nbase");
    world.skein(&["land", "w", "--gate", &gate]).ok();
    world.check();
}

#[test]
fn nobody_to_commit_in_the_name_of() {
    let world = World::new();
    committed(&world, "w", "echo 1 >new");
    world.skein(&["import", "w"]).ok();
    world.git(["config", "--unset", "user.name"]);
    world.git(["config", "--unset", "user.email"]);
    world.git(["config", "user.useConfigOnly", "true"]);
    for args in [&["land", "w"][..], &["candidate", "create", "w"]] {
        let said = refused(&world, "no-identity", 1, args);
        assert!(said.err.contains("user.email"), "{}", said.err);
    }
    let mut land = world.command(&["land", "w"]);
    land.envs([("GIT_COMMITTER_NAME", "Eve"), ("GIT_COMMITTER_EMAIL", "eve@example.invalid")]);
    ran(land.output().unwrap()).ok();
    assert_eq!(world.git(["log", "-1", "--format=%cn <%ce>", "main"]), "Eve <eve@example.invalid>");
}

#[test]
fn a_lock_that_another_holds() {
    let world = World::new();
    committed(&world, "w", "echo 1 >new");
    let op = world.skein(&["candidate", "create", "w", "--json"]).ok().json()["result"]["op"].clone();
    let room = world.path(&format!(".git/skein/run/gate-{}", op.as_str().unwrap()));
    fs::create_dir_all(&room).unwrap();
    let lock = fs::File::create(room.join("lock")).unwrap();
    lock.lock().unwrap();
    refused(&world, "busy", 75, &["candidate", "admit", "w", "--gate", "true"]);
    drop(lock);
    world.skein(&["candidate", "admit", "w", "--gate", "true"]).ok();
    world.skein(&["candidate", "integrate", "w"]).ok();
    world.check();
}

/// Tokens that no run of the binary in a test can bring about, with the reason.
const UNTESTED: &[(&str, &str)] =
    &[("record-moved", "fifty writers of one record in a row, each between two reads of one landing")];

#[test]
fn every_token_is_tested() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = fs::read_to_string(root.join("src/domain/failure.rs")).unwrap();
    let table = table.split("\ntokens! {").nth(1).unwrap().split("\n}").next().unwrap();
    let tokens: Vec<&str> = table.lines().filter_map(|line| line.split('"').nth(1)).collect();
    assert!(tokens.len() > 30, "{tokens:?}");
    let own = include_str!("refusals.rs").split("const UNTESTED").next().unwrap();
    let mut tests = own.to_owned();
    let below = [
        "tests",
        "tests/shapes",
        "tests/jail",
        "tests/bundle",
        "tests/documents",
        "tests/docworld",
        "tests/hooks",
    ]
    .map(|folder| fs::read_dir(root.join(folder)).unwrap());
    for entry in below.into_iter().flatten().map(|e| e.unwrap().path()) {
        let name = entry.file_name().unwrap().to_str().unwrap().to_owned();
        if name.ends_with(".rs") && !["refusals.rs", "wardens.rs"].contains(&name.as_str()) {
            tests.push_str(&fs::read_to_string(entry).unwrap());
        }
    }
    let tested = |token: &str| tests.contains(&format!("\"{token}\""));
    let listed = |token: &str| UNTESTED.iter().any(|(t, why)| *t == token && !why.is_empty());
    let missing: Vec<_> = tokens.iter().filter(|t| !tested(t) && !listed(t)).collect();
    assert!(missing.is_empty(), "no test for {missing:?}");
    let idle: Vec<_> = UNTESTED.iter().filter(|(t, _)| tested(t) || !tokens.contains(t)).collect();
    assert!(idle.is_empty(), "no longer needed: {idle:?}");
    assert!(!tested("no-such-token"));
}

/// Where nothing is kept no worker has a name, and nothing is made for saying so.
#[test]
fn a_name_of_nothing_leaves_a_fresh_repository_as_it_was() {
    let world = World::new();
    let before = (world.picture(&[]), std::fs::read(world.path(".git/config")).unwrap());
    for words in [
        &["land", "nosuch"][..],
        &["restore", "nosuch"],
        &["stop", "nosuch"],
        &["tell", "nosuch", "a word"],
        &["check", "nosuch"],
        &["verify", "nosuch"],
        &["import", "nosuch"],
        &["bundle", "save", "nosuch"],
        &["verdict", "nosuch", "accept"],
        &["candidate", "create", "nosuch"],
        &["candidate", "admit", "nosuch"],
        &["candidate", "integrate", "nosuch"],
    ] {
        let refused = world.skein(words).code(1);
        assert!(refused.err.contains("refused: "), "{words:?}: {refused:?}");
        let after = (world.picture(&[]), std::fs::read(world.path(".git/config")).unwrap());
        assert_eq!(after, before, "{words:?}");
    }
    assert_eq!(world.git(["for-each-ref", "refs/skein"]), "");
    world.git(["branch", "side"]);
    world.skein(&["land", "side"]).refused("empty", 1);
}
