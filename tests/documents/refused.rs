//! Every "no" around documents: the token, where to look, what to do; and that nothing has changed.

use super::Doc;
use super::FRONT;
use super::block;
use super::exchange;
use super::with_status;
use crate::refusals::refused;
use crate::support::World;
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn there_is_no_such_file() {
    let world = World::in_memory();
    fs::create_dir(world.path("folder")).unwrap();
    for file in ["nothing.md", "folder", ".", "no/such/folder.md"] {
        for verb in ["diff", "preflight", "write", "respond", "commit", "status", "turns", "outline", "claim"]
        {
            let said = refused(&world, "no-document", 1, &["doc", verb, file]);
            assert!(said.err.contains(&format!("there is no file {file}")), "{}", said.err);
        }
    }
}

#[test]
fn a_new_document_takes_no_place_of_another_file() {
    let world = World::in_memory();
    symlink("nowhere", world.path("link.md")).unwrap();
    fs::create_dir(world.path("folder")).unwrap();
    for file in ["a.txt", "link.md", "folder"] {
        refused(&world, "file-exists", 1, &["doc", "init", file]);
    }
}

#[test]
fn a_file_without_an_identity_is_no_document() {
    let world = World::in_memory();
    for text in ["# Just text\n", "---\ntitle: x\n---\n", "---\nskein_doc: none\n---\n", ""] {
        world.write("t.md", text);
        for verb in ["preflight", "commit", "dedupe", "recover", "reset", "clean"] {
            let said = refused(&world, "not-a-document", 1, &["doc", verb, "t.md"]);
            assert!(said.err.contains("git skein doc claim t.md"), "{}", said.err);
        }
    }
}

#[test]
fn what_is_no_text_is_left_alone() {
    let world = World::in_memory();
    for bytes in
        [&b"---\nskein_doc: 01jgzzzzzzzzzzzzzzzzzzzzzz\n---\na\0b\n"[..], b"\xff\xfea\0", b"ok \xe9\n"]
    {
        fs::write(world.path("t.md"), bytes).unwrap();
        for verb in ["diff", "preflight", "claim", "status", "commit"] {
            refused(&world, "not-text", 1, &["doc", verb, "t.md"]);
        }
        assert_eq!(fs::read(world.path("t.md")).unwrap(), bytes);
    }
}

#[test]
fn a_text_that_cannot_be_read_is_refused_by_its_line() {
    let world = World::in_memory();
    for (front, line) in [("agent: [x\n", 2), ("a: 1\nagent_doc_format: odd\n", 3), ("model: {a: 1}\n", 2)] {
        world.write("t.md", &format!("---\n{front}skein_doc: 01jgzzzzzzzzzzzzzzzzzzzzzz\n---\ntext\n"));
        for verb in ["diff", "claim", "preflight"] {
            let said = refused(&world, "bad-document", 1, &["doc", verb, "t.md"]);
            assert!(said.err.contains("t.md:") && said.err.contains("sed -n '"), "{line}: {}", said.err);
        }
    }
    world.skein(&["init"]).ok();
    let bodies = [
        ("<!-- agent:status -->\n", 4),
        ("a\n<!-- /agent:status -->\n", 5),
        ("<!-- agent:status -->\n<!-- /agent:status -->\n<!-- agent:status -->\n<!-- /agent:status -->\n", 6),
    ];
    for (body, line) in bodies {
        world.write("t.md", &format!("{FRONT}{body}"));
        let said = refused(&world, "bad-document", 1, &["doc", "patch", "t.md", "status", "x"]);
        assert!(said.err.contains(&format!("t.md:{line}: ")), "{}", said.err);
    }
}

#[test]
fn a_copy_is_not_the_document() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    doc.world.write("u.md", &doc.text());
    for verb in ["diff", "preflight", "commit", "turns", "status"] {
        let said = refused(&doc.world, "document-twice", 1, &["doc", verb, "u.md"]);
        assert!(said.err.contains("u.md and t.md"), "{}", said.err);
        doc.run(verb, &[]).ok();
    }
    doc.world.skein(&["doc", "claim", "--new", "u.md"]).ok();
    doc.world.skein(&["doc", "preflight", "u.md"]).ok();
    assert_eq!(doc.step().lines().count(), 2);
}

#[test]
fn a_link_out_of_the_working_tree_is_not_followed() {
    let world = World::in_memory();
    let outside = world.root().join("outside.md");
    fs::write(&outside, exchange("Q?\n")).unwrap();
    symlink(&outside, world.path("t.md")).unwrap();
    for verb in ["diff", "preflight", "claim", "commit"] {
        refused(&world, "outside-worktree", 1, &["doc", verb, "t.md"]);
    }
    world.write("config.md", &exchange(""));
    fs::rename(world.path("config.md"), world.path(".git/config.md")).unwrap();
    assert_eq!(world.skein(&["doc", "diff", ".git/config.md"]).code, 1);
    assert_eq!(fs::read_to_string(&outside).unwrap(), exchange("Q?\n"));
}

#[test]
fn an_answer_that_is_empty_or_cut_off() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    for verb in ["write", "respond"] {
        refused(&doc.world, "bad-answer", 1, &["doc", verb, "t.md"]);
    }
    doc.fed("write", &[], " \n\n").refused("bad-answer", 1);
    let cut = "Hello.\n<!-- patch:exchange -->\n```rust\nfn";
    let said = doc.fed("write", &[], cut).refused("bad-answer", 1);
    assert!(said.err.contains("line 2"), "{}", said.err);
    assert_eq!(doc.text(), exchange("Q?\n"));
    let see = said.err.lines().find_map(|line| line.split_once("git show ")).unwrap().1;
    assert_eq!(doc.blob(see), cut);
    // It still waits for one.
    doc.respond("A.\n");
    doc.is(&exchange("Q?\n\nA.\n\n"));
}

#[test]
fn turns_conflicts_and_components_that_are_not_there() {
    let doc = Doc::new(&with_status("open\n", "Q?\n"));
    doc.world.skein(&["init"]).ok();
    let words = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let all = |when: &str| {
        for (token, line) in [
            ("no-such-turn", "turn show t.md 9"),
            ("no-such-turn", "turn diff t.md 9"),
            ("no-such-turn", "turn undo t.md 9"),
            ("no-such-turn", "turn redo t.md 1"),
            ("no-such-turn", "turn fork t.md 9 new.md"),
            ("no-such-conflict", "resolve t.md --ours"),
            ("no-such-conflict", "resolve t.md 7 --both"),
            ("no-such-component", "patch t.md statuss x"),
        ] {
            let words = words(&format!("doc {line}"));
            let said = refused(&doc.world, token, 1, &words.iter().map(String::as_str).collect::<Vec<_>>());
            if token == "no-such-component" {
                assert!(said.err.contains("  status\n  exchange\n"), "{when}: {}", said.err);
            }
        }
    };
    all("before the first turn");
    doc.send();
    refused(&doc.world, "no-such-turn", 1, &["doc", "turn", "undo", "t.md", "1"]);
    doc.respond("A.\n");
    all("after it");
}

#[test]
fn a_patch_whose_command_fails() {
    let doc = Doc::new(&with_status("open\n", ""));
    doc.world.skein(&["init"]).ok();
    doc.world.write(".skein/components.toml", "[status]\npre_patch = \"echo no good; exit 3\"\n");
    let said = refused(&doc.world, "untrusted", 1, &["doc", "patch", "t.md", "status", "x"]);
    let digest = said.err.lines().find_map(|line| line.trim().strip_prefix("digest: ")).unwrap().to_owned();
    doc.world.git(["config", "--add", "skein.trust", &digest]);
    let said = refused(&doc.world, "hook-failed", 1, &["doc", "patch", "t.md", "status", "x"]);
    assert!(said.err.contains("ended with 3") && said.err.contains("  no good\n"), "{}", said.err);
    assert_eq!(doc.text(), with_status("open\n", ""));
}

#[test]
fn an_agent_that_fails_or_says_nothing() {
    let doc = Doc::new(&exchange("Q?\n"));
    let (text, head) = (doc.text(), doc.world.head());
    for (script, named) in [("echo it says why; exit 3", "it says why"), ("true", "said nothing")] {
        super::agent(&doc.world, script);
        let said = doc.run("run", &["--agent", "stub"]).refused("no-answer", 1);
        assert!(said.err.contains(named), "{}", said.err);
        assert_eq!((doc.text(), doc.world.head()), (text.clone(), head.clone()));
        assert_eq!(doc.new_lines().len(), 5, "all of it is new still");
    }
    let turns = doc.run("turns", &["--json"]).ok().json()["result"]["turns"].clone();
    let standing: Vec<_> = turns.as_array().unwrap().iter().map(|turn| turn["standing"].clone()).collect();
    assert_eq!(standing, ["failed", "failed"]);
    doc.tidy();
}

#[test]
fn another_branch_than_the_answer_was_written_on() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    doc.write("A.\n");
    doc.world.git(["switch", "-q", "-c", "other"]);
    let said = refused(&doc.world, "branch-switched", 1, &["doc", "commit", "t.md"]);
    assert!(said.err.contains("  then main\n  now other\n"), "{}", said.err);
    let main = doc.world.rev("main");
    doc.run("commit", &["--here"]).ok();
    assert_eq!((doc.world.rev("main"), doc.world.rev("other^")), (main.clone(), main));
    doc.is(&exchange("Q?\n\nA.\n\n"));
}

#[test]
fn a_document_that_git_ignores() {
    let doc = Doc::in_world(World::in_memory(), "t.ign");
    doc.put(&exchange("Q?\n"));
    doc.send();
    doc.write("A.\n");
    let said = refused(&doc.world, "ignored", 1, &["doc", "commit", "t.ign"]);
    assert!(said.err.contains("git check-ignore -v "), "{}", said.err);
    doc.run("commit", &["--force"]).ok();
    doc.is(&exchange("Q?\n\nA.\n\n"));
    doc.send_after(&exchange("Q?\n\nA.\n\nMore?\n"));
    doc.respond("B.\n");
    doc.is(&exchange("Q?\n\nA.\n\nMore?\n\nB.\n\n"));
}

#[test]
fn a_commit_that_cannot_be_signed() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    doc.write("A.\n");
    doc.world.git(["config", "commit.gpgSign", "true"]);
    doc.world.git(["config", "gpg.program", "false"]);
    refused(&doc.world, "not-signed", 1, &["doc", "commit", "t.md"]);
    doc.world.git(["config", "commit.gpgSign", "false"]);
    doc.run("commit", &[]).ok();
    doc.is(&exchange("Q?\n\nA.\n\n"));
}

#[test]
fn commits_with_others_among_them_are_not_folded() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    doc.respond("A.\n");
    doc.world.write("b.txt", "more\n");
    doc.world.commit("a person's");
    let said = refused(&doc.world, "not-ours", 1, &["doc", "clean", "t.md"]);
    assert!(said.err.contains("others lie above them"), "{}", said.err);
    for n in 0..2 {
        doc.fed("respond", &[], &block("exchange", &format!("B{n}."))).ok();
    }
    doc.world.git(["update-ref", "refs/remotes/origin/main", "HEAD"]);
    let said = refused(&doc.world, "not-ours", 1, &["doc", "clean", "t.md"]);
    assert!(said.err.contains("origin/main"), "{}", said.err);
}
