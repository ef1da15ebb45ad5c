//! `doc commit` moves one path, whatever else the person has in hand.

use crate::docworld::ANSWER;
use crate::docworld::DOC;
use crate::docworld::answered;
use crate::docworld::feed;
use crate::docworld::litter;
use crate::docworld::send;
use crate::docworld::times;
use crate::docworld::type_on;
use crate::support::World;
use crate::support::check::Picture;
use std::io::Write;
use std::process::Command;
use std::process::Stdio;

/// All that a commit of `path` must leave alone.
#[derive(Debug, PartialEq, Eq)]
pub struct Rest {
    picture: Picture,
    index: Vec<String>,
    status: Vec<String>,
    stash: String,
}

impl Rest {
    pub fn of(world: &World, path: &str) -> Rest {
        let others = |args: &[&str]| -> Vec<String> {
            let mut lines = world.lines(args);
            lines.retain(|line| !line.ends_with(path) && !line.starts_with("# branch"));
            lines
        };
        Rest {
            picture: world.picture(&["main"]).but("index").but("HEAD"),
            index: others(&["ls-files", "--stage", "-v"]),
            status: others(&["status", "--porcelain=v2", "-uall", "--ignored"]),
            stash: world.git(["stash", "list"]),
        }
    }
}

/// The tree that git's own plumbing makes: the text hashed as a file of that path, put into an index of its own at
/// the observed commit, and written.
pub fn oracle(world: &World, parent: Option<&str>, path: &str, text: &str) -> String {
    let index = world.root().join("oracle-index");
    let _ = std::fs::remove_file(&index);
    let git = |args: &[&str], input: &str| -> String {
        let mut git = Command::new("git");
        git.args(args).current_dir(&world.cwd).env("GIT_INDEX_FILE", &index).env("GIT_CONFIG_NOSYSTEM", "1");
        git.env("HOME", world.root().join("home")).env_remove("XDG_CONFIG_HOME");
        git.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = git.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.success(), "git {args:?}");
        String::from_utf8(ended.stdout).unwrap().trim().to_owned()
    };
    if let Some(parent) = parent {
        git(&["read-tree", parent], "");
    }
    let blob = git(&["hash-object", "-w", "--stdin", "--path", path], text);
    git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},{path}")], "");
    git(&["write-tree"], "")
}

/// Commits `path` and shows that nothing else moved and that its tree is git's own.
#[track_caller]
pub fn moves_alone(world: &World, path: &str, known: &str, parent: Option<&str>) {
    let rest = Rest::of(world, path);
    let done = world.skein(&["doc", "commit", path, "--json"]).ok().json();
    assert_eq!(done["result"]["commit"].as_str(), Some(world.head().as_str()), "{done}");
    assert_eq!(Rest::of(world, path), rest);
    assert_eq!(world.rev("HEAD^{tree}"), oracle(world, parent, path, known));
    match parent {
        Some(parent) => {
            assert_eq!(world.rev("HEAD^"), parent);
            assert_eq!(world.lines(&["diff-tree", "-r", "--name-only", parent, "HEAD"]), [path]);
        }
        None => assert_eq!(world.lines(&["rev-list", "HEAD"]).len(), 1),
    }
    assert!(litter(world).is_empty());
    // Once is enough.
    let head = world.head();
    let again = world.skein(&["doc", "commit", path, "--json"]).ok().json();
    assert!(again["result"]["commit"].is_null() && world.head() == head, "{again}");
    assert_eq!(Rest::of(world, path), rest);
    world.check();
}

/// Only the unfinished typing differs from the commit, and the index is as the commit.
#[track_caller]
pub fn only_typing_is_left(world: &World, path: &str) {
    assert_eq!(world.git(["diff", "--cached", "--name-only", "--", path]), "");
    assert_eq!(world.git(["diff", "--numstat", "--", path]), format!("1\t0\t{path}"));
}

pub fn ready(world: World) -> (World, String, String) {
    let known = answered(&world, DOC);
    let head = world.head();
    (world, known, head)
}

#[test]
fn with_a_dirty_index() {
    let world = World::in_memory();
    for name in ["gone", "staged", "moved", "half"] {
        world.write(name, &(1..=30).map(|n| format!("{n}\n")).collect::<String>());
    }
    world.commit("files");
    let (world, known, head) = ready(world);
    world.git(["rm", "-q", "gone"]);
    world.git(["mv", "moved", "there"]);
    world.write("staged", "staged\n");
    world.git(["add", "staged"]);
    world.write("new", "new\n");
    world.git(["add", "-N", "new"]);
    world.write("untracked", "u\n");
    world.write("x.ign", "i\n");
    world.write("b.txt", "not staged\n");
    // One half of it is staged.
    let text = world.read("half");
    world.write("half", &text.replace("1\n2\n", "one\n2\n"));
    world.git(["add", "half"]);
    world.write("half", &text.replace("1\n2\n", "one\n2\n").replace("30\n", "thirty\n"));
    moves_alone(&world, DOC, &known, Some(&head));
    only_typing_is_left(&world, DOC);
}

#[test]
fn what_is_staged_of_it_stays_staged() {
    let (world, known, head) = ready(World::in_memory());
    world.git(["add", DOC]);
    let staged = world.git(["ls-files", "--stage", DOC]);
    type_on(&world, DOC, " else");
    moves_alone(&world, DOC, &known, Some(&head));
    assert_eq!(world.git(["ls-files", "--stage", DOC]), staged);
    assert_eq!(world.git(["show", &format!(":{DOC}")]), format!("{known}And what"));
}

#[test]
fn what_a_person_has_committed_of_it_stays() {
    let world = World::in_memory();
    answered(&world, DOC);
    // After the question was sent, and before the first commit of ours.
    world.commit("all of it");
    let head = world.head();
    assert_eq!(
        world.skein(&["doc", "commit", DOC, "--json"]).ok().json()["result"]["commit"],
        serde_json::Value::Null
    );
    assert_eq!(world.head(), head, "it is all there");
    type_on(&world, DOC, " else?\n");
    send(&world, DOC);
    type_on(&world, DOC, "A line of my own.\n");
    world.commit("mine");
    feed(&world, &["doc", "write", DOC], "Nothing else.").ok();
    world.skein(&["doc", "commit", DOC]).ok();
    let text = world.git(["show", &format!("HEAD:{DOC}")]);
    for said in [ANSWER, "A line of my own.", "And what else?", "Nothing else."] {
        assert_eq!(times(&text, said), 1, "{said}: {text}");
    }
    assert_eq!(world.git(["status", "--porcelain"]), "");
}

/// The first commit of ours comes after one of theirs, made of an older text of the document.
#[test]
fn what_a_person_has_committed_before_the_first_commit_stays() {
    let world = World::in_memory();
    crate::docworld::asked(&world, DOC);
    world.commit("mine");
    type_on(&world, DOC, "\nMore?\n");
    send(&world, DOC);
    type_on(&world, DOC, "\nTyped after.\n");
    world.commit("mine, too");
    feed(&world, &["doc", "respond", DOC], ANSWER).ok();
    let text = world.git(["show", &format!("HEAD:{DOC}")]);
    for said in [ANSWER, "More?", "Typed after."] {
        assert_eq!(times(&text, said), 1, "{said}: {text}");
    }
    assert_eq!(world.git(["status", "--porcelain"]), "");
}

#[test]
fn hooks_of_the_person_are_not_run() {
    let (world, known, head) = ready(World::in_memory());
    for hook in ["pre-commit", "commit-msg", "post-commit", "prepare-commit-msg"] {
        let path = world.path(&format!(".git/hooks/{hook}"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(
            &path,
            format!("#!/bin/sh\necho {hook} >>{}\nexit 1\n", world.root().join("ran").display()),
        )
        .unwrap();
        Command::new("chmod").arg("+x").arg(&path).status().unwrap();
    }
    moves_alone(&world, DOC, &known, Some(&head));
    assert!(!world.root().join("ran").exists());
}

#[test]
fn its_mode_and_its_links_stay() {
    let world = World::in_memory();
    world.write("docs/talk.md", "x\n");
    std::os::unix::fs::symlink("docs/talk.md", world.path("link.md")).unwrap();
    Command::new("chmod").arg("755").arg(world.path("docs/talk.md")).status().unwrap();
    world.commit("a link");
    let head = world.head();
    world.skein(&["doc", "claim", "link.md"]).ok();
    type_on(&world, "docs/talk.md", "Why?\n");
    send(&world, "link.md");
    feed(&world, &["doc", "respond", "link.md"], ANSWER).ok();
    assert_eq!(world.lines(&["diff-tree", "-r", "--name-only", &head, "HEAD"]), ["docs/talk.md"]);
    assert!(world.git(["ls-tree", "HEAD", "docs/talk.md"]).starts_with("100755 "));
    assert!(world.path("link.md").is_symlink());
    assert_eq!(world.git(["status", "--porcelain"]), "");
}

#[test]
fn hooks_that_are_named_see_the_commit_and_can_refuse_it() {
    let (world, known, head) = ready(World::in_memory());
    let hook = |name: &str, script: &str| {
        let path = world.path(&format!(".git/hooks/{name}"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    };
    world.git(["config", "skein.docHooks", "commit-msg, pre-commit"]);
    hook(
        "pre-commit",
        &format!("git show :{DOC} | grep -q 'It is a test' || exit 0; echo not so >&2; exit 1"),
    );
    let before = world.picture(&[]);
    let refused = world.skein(&["doc", "commit", DOC]).refused("hook-failed", 1);
    assert!(refused.err.contains("not so"), "{}", refused.err);
    assert_eq!((world.head(), world.picture(&[])), (head.clone(), before));
    hook("pre-commit", "git diff --cached --name-only | grep -qx talk.md");
    hook("commit-msg", "echo 'Seen-By: hook' >>\"$1\"");
    moves_alone(&world, DOC, &known, Some(&head));
    assert!(world.git(["log", "-1", "--format=%B"]).contains("Seen-By: hook"));
    world.git(["config", "skein.docHooks", "post-checkout"]);
    type_on(&world, DOC, " more");
    world.skein(&["doc", "preflight", DOC]).ok();
    crate::docworld::feed(&world, &["doc", "respond", DOC], "Again.").refused("hook-failed", 1);
}
