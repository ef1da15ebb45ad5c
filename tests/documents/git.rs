//! What git sees of a document: one path moves, and nothing else.

use super::Doc;
use super::exchange;
use crate::support::World;
use std::fs;

/// A document whose answer is not committed yet.
fn answered() -> Doc {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    doc.write("A.\n");
    doc
}

const AFTER: &str = "Q?\n\nA.\n\n";

#[test]
fn what_is_staged_stays_staged() {
    let doc = answered();
    let world = &doc.world;
    let mut lines = world.read("a.txt").replace("line 1\n", "line one\n");
    world.write("a.txt", &lines);
    world.git(["add", "a.txt"]);
    lines = lines.replace("line 9\n", "line nine\n");
    world.write("a.txt", &lines);
    world.write("new.txt", "new\n");
    world.git(["add", "new.txt"]);
    world.git(["rm", "-q", "--cached", "b.txt"]);
    let staged = || {
        let paths = ["a.txt", "new.txt", "b.txt"];
        (
            world.git(["ls-files", "--stage", "--", paths[0], paths[1], paths[2]]),
            world.git(["diff", "--", "a.txt"]),
        )
    };
    let before = staged();
    doc.run("commit", &[]).ok();
    assert_eq!(staged(), before);
    assert_eq!(world.git(["diff", "--name-only", "HEAD^", "HEAD"]), "t.md");
    assert_eq!(world.git(["status", "--porcelain"]), "MM a.txt\nD  b.txt\nA  new.txt\n?? b.txt");
    assert_eq!((doc.head(), doc.text()), (exchange(AFTER), exchange(AFTER)));
    doc.tidy();
}

#[test]
fn a_version_that_the_person_has_staged_stays_staged() {
    let doc = answered();
    doc.put(&exchange("Q?\n\nA.\n\nMine, staged.\n"));
    doc.world.git(["add", "t.md"]);
    let staged = doc.world.git(["ls-files", "--stage", "t.md"]);
    doc.put(&exchange("Q?\n\nA.\n\nMine, staged.\nAnd more.\n"));
    let said = doc.run("commit", &[]).ok();
    assert!(said.out.contains("the index was left as it is"), "{}", said.out);
    assert_eq!(doc.world.git(["ls-files", "--stage", "t.md"]), staged);
    assert_eq!(doc.head(), exchange(AFTER));
    assert_eq!(doc.text(), exchange("Q?\n\nA.\n\nMine, staged.\nAnd more.\n"));
    assert_eq!(doc.world.git(["status", "--porcelain"]), "MM t.md");
    doc.tidy();
}

#[test]
fn nothing_new_makes_no_commit() {
    let doc = answered();
    doc.run("commit", &[]).ok();
    let (head, step) = (doc.world.head(), doc.step());
    for verb in ["commit", "preflight", "commit", "preflight", "recover"] {
        doc.run(verb, &[]).ok();
        assert_eq!((doc.world.head(), doc.step()), (head.clone(), step.clone()), "{verb}");
    }
    let said = doc.run("commit", &[]).ok();
    assert!(said.out.contains("nothing to commit"), "{}", said.out);
    doc.is(&exchange(AFTER));
}

#[test]
fn a_commit_says_what_it_is_of() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    doc.fed("write", &["--agent", "codex", "--model", "m-1"], "A.\n").ok();
    doc.fed("write", &["--agent", "pi"], "B.\n").ok();
    doc.run("commit", &[]).ok();
    assert_eq!(
        doc.world.git(["log", "-1", "--format=%B%an <%ae>"]),
        format!(
            "doc(t): turns 1 to 2\n\nSkein-Doc: {}\nSkein-Turn: 1\nSkein-Turn: 2\nSkein-Agent: codex\nSkein-Agent: pi\nSkein-Model: m-1\nAda <ada@example.invalid>",
            super::ID
        )
    );
}

/// The next verb that sends commits what was answered, and no word that was not.
#[test]
fn what_was_answered_is_committed_before_more_is_sent() {
    let doc = answered();
    doc.put(&exchange("Q?\n\nA.\n\nMore?\n"));
    let sent = doc.preflight();
    assert_eq!(sent["committed"], doc.world.head());
    assert_eq!(doc.head(), exchange(AFTER));
    assert_eq!(doc.text(), exchange("Q?\n\nA.\n\nMore?\n"));
}

#[test]
fn while_git_is_in_the_middle_of_something_nothing_is_committed() {
    for (begin, what) in [
        (&["merge", "--no-commit", "--no-ff", "side"][..], "merge"),
        (&["cherry-pick", "clash"], "cherry-pick"),
        (&["rebase", "clash"], "rebase"),
        (&["revert", "--no-edit", "old"], "revert"),
        (&["bisect", "start"], "bisect"),
    ] {
        let doc = Doc::new(&exchange("Q?\n"));
        let world = &doc.world;
        world.write("b.txt", "old\n");
        world.commit("old");
        world.git(["tag", "old"]);
        world.git(["switch", "-q", "-c", "side"]);
        world.write("side.txt", "side\n");
        world.commit("side");
        world.git(["switch", "-q", "-c", "clash", "main"]);
        world.write("b.txt", "theirs\n");
        world.commit("theirs");
        world.git(["switch", "-q", "main"]);
        world.write("b.txt", "mine\n");
        world.commit("mine");
        doc.send();
        doc.write("A.\n");
        world.git(["stash", "-q"]);
        let _ = world.try_git(begin);
        doc.put(&exchange(AFTER));
        let all = || {
            let names = ["HEAD", "index", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG"];
            let files = names.map(|name| fs::read(world.path(".git").join(name)).ok());
            (world.picture(&[]), files, doc.step())
        };
        let before = all();
        let said = doc.run("commit", &[]).refused("operation-in-progress", 1);
        assert!(said.err.contains(what), "{}", said.err);
        assert_eq!(all(), before, "{what}");
        // What is beside the commit goes on, and says why there is none.
        let said = doc.run("preflight", &[]).ok();
        assert_eq!(said.json()["result"]["committed"], serde_json::Value::Null, "{what}");
        assert!(said.err.contains("not committed: operation-in-progress"), "{}", said.err);
    }
}

#[test]
fn without_a_name_nothing_is_committed() {
    let doc = answered();
    doc.world.git(["config", "--unset", "user.name"]);
    doc.world.git(["config", "--unset", "user.email"]);
    doc.world.git(["config", "user.useConfigOnly", "true"]);
    crate::refusals::refused(&doc.world, "no-identity", 1, &["doc", "commit", "t.md"]);
    doc.world.git(["config", "user.name", "Ada"]);
    doc.world.git(["config", "user.email", "ada@example.invalid"]);
    doc.run("commit", &[]).ok();
    doc.is(&exchange(AFTER));
}

/// They are the person's, for their own commits.
#[test]
fn hooks_are_not_run() {
    let doc = answered();
    for hook in ["pre-commit", "commit-msg", "prepare-commit-msg", "post-commit"] {
        let path = doc.world.path(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "#!/bin/sh\ntouch \"$GIT_DIR/hook-ran\" .git/hook-ran\nexit 1\n").unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    doc.run("commit", &[]).ok();
    assert!(!doc.world.path(".git/hook-ran").exists());
    doc.is(&exchange(AFTER));
}

#[test]
fn a_detached_head_an_unborn_branch_and_a_linked_worktree() {
    let doc = answered();
    let main = doc.world.rev("main");
    doc.world.git(["checkout", "-q", "--detach"]);
    doc.run("commit", &[]).refused("branch-switched", 1);
    doc.run("commit", &["--here"]).ok();
    assert_eq!((doc.world.rev("main"), doc.world.rev("HEAD^")), (main.clone(), main));
    doc.is(&exchange(AFTER));

    let doc = Doc::in_world(World::empty(), "t.md");
    doc.put(&exchange("Q?\n"));
    doc.send();
    doc.respond("A.\n");
    assert_eq!(doc.world.git(["log", "--format=%s %D"]), "doc(t): turn 1 HEAD -> main");
    doc.is(&exchange(AFTER));

    let doc = Doc::new(&exchange("Q?\n"));
    let main = doc.world.rev("main");
    doc.world.git(["worktree", "add", "-q", "../linked"]);
    let there = doc.world.root().join("linked");
    let dir = there.to_str().unwrap();
    let file = there.join("t.md");
    doc.world.skein(&["-C", dir, "doc", "preflight", "t.md"]).ok();
    super::fed(doc.world.command(&["doc", "respond", file.to_str().unwrap()]), "A.\n").ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), exchange(AFTER));
    assert_eq!(doc.blob("linked:t.md"), exchange(AFTER));
    assert_eq!(doc.world.git(["-C", dir, "status", "--porcelain"]), "");
    assert_eq!((doc.world.rev("main"), doc.text()), (main, exchange("Q?\n")));
    doc.tidy();
}

#[test]
fn a_repository_that_only_the_environment_names() {
    let world = World::in_memory();
    let (store, tree) = (world.root().join("store.git"), world.repo.clone());
    fs::rename(world.path(".git"), &store).unwrap();
    world.git(["--git-dir", store.to_str().unwrap(), "config", "core.worktree", tree.to_str().unwrap()]);
    let world = world.env("GIT_DIR", store.to_str().unwrap()).env("GIT_WORK_TREE", tree.to_str().unwrap());
    let doc = Doc::in_world(world, "t.md");
    doc.put(&exchange("Q?\n"));
    doc.world.commit("the document");
    doc.send();
    doc.respond("A.\n");
    assert_eq!((doc.text(), doc.head(), doc.known()), (exchange(AFTER), exchange(AFTER), exchange(AFTER)));
    assert_eq!(doc.world.git(["status", "--porcelain"]), "");
    assert!(!doc.world.path(".git").exists());
}

/// The repository that a document is of is the innermost, wherever one stands.
#[test]
fn a_document_in_a_submodule_is_committed_there() {
    let doc = Doc::new(&exchange("Outer?\n"));
    let world = &doc.world;
    world.git(["init", "-q", "--template=", "--initial-branch=main", "sub"]);
    let text = exchange("Q?\n").replace(super::ID, "01jgyyyyyyyyyyyyyyyyyyyyyy");
    world.write("sub/t.md", &text);
    for args in [
        &["config", "user.name", "Ada"][..],
        &["config", "user.email", "a@example.invalid"],
        &["add", "."],
        &["commit", "-qm", "in"],
    ] {
        world.git([&["-C", "sub"], args].concat());
    }
    world.git(["-c", "advice.addEmbeddedRepo=false", "add", "sub"]);
    let head = world.commit("with a submodule");
    world.skein(&["doc", "preflight", "sub/t.md"]).ok();
    super::fed(world.command(&["doc", "respond", "sub/t.md"]), "A.\n").ok();
    assert_eq!(world.git(["-C", "sub", "show", "HEAD:t.md"]), text.replace("Q?\n", AFTER).trim_end());
    assert_eq!(world.git(["-C", "sub", "status", "--porcelain"]), "");
    assert_eq!((world.head(), doc.text()), (head, exchange("Outer?\n")));
    assert_eq!(doc.step(), "", "the outer repository knows of no document");
}

#[test]
fn a_folder_and_a_binary_are_not_committed() {
    let doc = answered();
    let head = doc.world.head();
    fs::write(doc.world.path("x.png"), b"\x89PNG\r\n\0\x1a").unwrap();
    for (file, token) in [(".", "no-document"), ("x.png", "not-text"), ("b.txt", "not-a-document")] {
        doc.world.skein(&["doc", "commit", file]).refused(token, 1);
    }
    assert_eq!(doc.world.head(), head);
}

/// Three commits of the document's own become one, and only those.
#[test]
fn own_commits_at_the_tip_are_folded() {
    let doc = Doc::new(&exchange("Q?\n"));
    let (before, mut said) = (doc.world.head(), "Q?\n".to_owned());
    let one = |said: &mut String, n: u32| {
        doc.fed("respond", &["--agent", "pi"], &format!("A{n}.\n")).ok();
        said.push_str(&format!("{}A{n}.\n\n", if n == 1 { "\n" } else { "" }));
    };
    doc.send();
    for n in 1..=3 {
        one(&mut said, n);
    }
    doc.world.git(["config", "extra.key", "1"]);
    doc.put(&exchange(&format!("{said}Unsent?\n")));
    doc.world.write("b.txt", "staged\n");
    doc.world.git(["add", "b.txt"]);
    let (tree, index) = (doc.world.rev("HEAD^{tree}"), doc.world.git(["ls-files", "--stage"]));
    doc.run("clean", &[]).ok();
    assert_eq!((doc.world.rev("HEAD^"), doc.world.rev("HEAD^{tree}")), (before.clone(), tree));
    assert_eq!(doc.world.git(["ls-files", "--stage"]), index);
    assert_eq!(doc.text(), exchange(&format!("{said}Unsent?\n")));
    let message = doc.world.git(["log", "-1", "--format=%B"]);
    let trailers = [1, 2, 3].map(|n| format!("Skein-Turn: {n}\n")).concat();
    let all = trailers.lines().filter(|line| message.contains(line)).count();
    assert_eq!((all, message.matches("Skein-Doc:").count()), (3, 1), "{message}");
    // One is no more to fold.
    let head = doc.world.head();
    doc.run("clean", &[]).ok();
    assert_eq!(doc.world.head(), head);
    // Above a commit of the person's it is only what lies above.
    doc.world.git(["commit", "-q", "-m", "a person's"]);
    let person = doc.world.head();
    one(&mut said, 4);
    one(&mut said, 5);
    doc.run("clean", &[]).ok();
    assert_eq!((doc.world.rev("HEAD^"), doc.world.rev("HEAD^^")), (person, head));
    doc.tidy();
}

#[test]
fn a_root_commit_is_folded_like_any() {
    let doc = Doc::in_world(World::empty(), "t.md");
    doc.put(&exchange("Q?\n"));
    doc.send();
    doc.respond("A.\n");
    doc.respond("B.\n");
    doc.run("clean", &[]).ok();
    assert_eq!(doc.world.git(["rev-list", "--count", "HEAD"]), "1");
    doc.is(&exchange("Q?\n\nA.\n\nB.\n\n"));
}

/// Two documents in one repository, committed at once.
#[test]
fn two_documents_at_once_are_both_committed() {
    let world = std::rc::Rc::new(World::in_memory());
    let docs: Vec<Doc> = (0..4)
        .map(|n| {
            let doc = Doc::in_world(std::rc::Rc::clone(&world), &format!("t{n}.md"));
            doc.put(&exchange("Q?\n").replace(super::ID, &format!("{}{n}", &super::ID[..25])));
            doc
        })
        .collect();
    world.commit("documents");
    for doc in &docs {
        doc.send();
        doc.write("A.\n");
    }
    let words: Vec<Vec<&str>> = docs.iter().map(|doc| vec!["doc", "commit", doc.file.as_str()]).collect();
    for ran in world.at_once(&words) {
        ran.ok();
    }
    for (n, doc) in docs.iter().enumerate() {
        let text = exchange(AFTER).replace(super::ID, &format!("{}{n}", &super::ID[..25]));
        assert_eq!((doc.head(), doc.text()), (text.clone(), text));
    }
    assert_eq!(world.git(["rev-list", "--count", "HEAD"]), "6");
    world.git(["reset", "-q"]);
    assert_eq!(world.git(["status", "--porcelain"]), "");
    world.check();
}
