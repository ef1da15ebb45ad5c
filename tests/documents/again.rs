//! What is given again, superseded, refused half way, or taken back: nothing stands twice, and nothing is lost.

use super::Doc;
use super::FRONT;
use super::agent;
use super::block;
use super::exchange;
use super::with_status;
use crate::support::World;

/// The turns, newest first: number and how it stands.
fn turns(doc: &Doc) -> Vec<(u64, String)> {
    let said = doc.run("turns", &["--json"]).ok().json()["result"]["turns"].clone();
    let rows = said.as_array().unwrap().iter();
    rows.map(|row| (row["n"].as_u64().unwrap(), row["standing"].as_str().unwrap().to_owned())).collect()
}

#[test]
fn an_answer_is_the_same_whatever_a_tool_has_edited_since() {
    let doc = Doc::new(&with_status("open\n", "Q?\n"));
    doc.send();
    doc.respond("A1 answer\n");
    doc.run("patch", &["status", "busy"]).ok();
    let said = doc.respond("A1 answer\n");
    assert!(said.out.contains("turn 1 has this very answer already"), "{}", said.out);
    doc.is(&with_status("busy\n", "Q?\n\nA1 answer\n\n"));
}

#[test]
fn an_answer_that_was_taken_back_is_given_anew() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    doc.respond("A1\n");
    doc.run("turn undo", &["1"]).ok();
    doc.fed("respond", &["--turn", "1"], "A1\n").refused("no-such-turn", 1);
    doc.respond("A1\n");
    doc.is(&exchange("Q?\n\nA1\n\n"));
    assert_eq!(turns(&doc), [(2, "answered".to_owned()), (1, "undone".to_owned())]);
    // Now it stands.
    doc.respond("A1\n");
    doc.is(&exchange("Q?\n\nA1\n\n"));
}

#[test]
fn what_was_asked_again_takes_no_answer_that_does_not_name_it() {
    let doc = Doc::new(&with_status("red\n", ""));
    doc.send();
    doc.change("red", "amber");
    doc.send();
    let first = format!("A2\n{}", block("status", "green"));
    assert_eq!(turns(&doc), [(2, "open".to_owned()), (1, "open".to_owned())]);
    doc.respond(&first);
    assert_eq!(turns(&doc), [(2, "answered".to_owned()), (1, "superseded".to_owned())]);
    // Given again it is the same, and no answer to the turn before.
    doc.respond(&first);
    doc.is(&with_status("green\n", "A2\n\n"));
    doc.respond(&block("status", "blue"));
    doc.is(&with_status("blue\n", "A2\n\n"));
    doc.run("conflicts", &[]).ok();
    // Whoever names it still answers it.
    doc.fed("respond", &["--turn", "1"], "Late.\n").ok();
    assert!(doc.text().contains("Late.\n"), "{}", doc.text());
}

#[test]
fn an_answer_whose_commit_is_refused_is_told_as_given() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    let merging = doc.world.path(".git/MERGE_HEAD");
    std::fs::write(&merging, format!("{}\n", doc.world.head())).unwrap();
    let head = doc.head();
    let said = doc.fed("respond", &[], "A1\n").refused("operation-in-progress", 1);
    assert!(said.out.contains("turn 1 is answered (exchange)"), "{}", said.out);
    assert_eq!((doc.text(), doc.head()), (exchange("Q?\n\nA1\n\n"), head));
    let said = doc.fed("respond", &["--json"], "A1\n").code(1).json();
    assert_eq!(said["error"]["token"], "operation-in-progress", "{said}");
    assert_eq!((&said["result"]["answer"]["already"], &said["result"]["commit"]), (&true.into(), &().into()));
    // An agent that is run is told of no less.
    agent(&doc.world, "echo B");
    doc.change("A1\n", "A1\n\nMore?\n");
    let said = doc.run("run", &["--agent", "stub"]).refused("operation-in-progress", 1);
    assert!(said.out.contains("turn 2 is answered (exchange)"), "{}", said.out);
    std::fs::remove_file(merging).unwrap();
    doc.respond("B");
    doc.is(&exchange("Q?\n\nA1\n\nMore?\n\nB\n\n"));
}

#[test]
fn what_may_not_be_told_of_is_not_written() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.world.skein(&["init"]).ok();
    doc.world.write(".skein/components.toml", "[exchange]\npost_patch = \"true\"\n");
    let (text, step) = (doc.text(), doc.step());
    doc.run("patch", &["exchange", "one entry"]).refused("untrusted", 1);
    assert_eq!((doc.text(), doc.step()), (text, step));
}

#[test]
fn what_goes_into_a_component_that_was_removed_is_not_known() {
    let doc = Doc::new(&with_status("red\n", "Q?\n"));
    doc.send();
    doc.put(&exchange("Q?\n"));
    let said = doc.fed("respond", &[], &block("status", "green")).code(1);
    assert!(said.out.contains("nothing of the answer could be applied (turn 1)"), "{}", said.out);
    assert!(said.out.contains("it was removed meanwhile"), "{}", said.out);
    assert!(!said.out.contains("is answered") && !doc.head().contains("green"), "{}", said.out);
    // The turn still waits for one.
    let both = format!("A.\n{}", block("status", "green"));
    let said = doc.fed("respond", &[], &both).code(1);
    assert!(said.out.contains("turn 1 is answered (exchange)"), "{}", said.out);
    assert_eq!(doc.text(), exchange("Q?\n\nA.\n\n"));
    assert_eq!(doc.head(), with_status("red\n", "Q?\n\nA.\n\n"));
}

#[test]
fn a_block_is_changed_on_its_way_in_as_a_patch_is() {
    let doc = Doc::new(&with_status("open\n", "Q?\n"));
    doc.send();
    let text = doc.text();
    let script = "[status]\npre_patch = \"tr a-z A-Z\"\n";
    doc.world.write(".skein/components.toml", script);
    let answer = block("status", "busy");
    let said = doc.fed("write", &[], &answer).refused("untrusted", 1);
    assert_eq!(doc.text(), text);
    let kept = said.err.lines().find_map(|line| line.split_once("git show ")).unwrap().1;
    assert_eq!(doc.blob(kept), answer);
    let digest = said.err.lines().find_map(|line| line.trim().strip_prefix("digest: ")).unwrap();
    doc.world.git(["config", "skein.trust", digest]);
    doc.write(&answer);
    assert_eq!(doc.text(), with_status("BUSY\n", "Q?\n"));
}

#[test]
fn a_component_within_another_clashes_once() {
    let nested = |inner: &str, more: &str| {
        format!(
            "{FRONT}<!-- agent:outer patch=append -->\nTop.\n<!-- agent:inner patch=replace -->\n{inner}\n<!-- /agent:inner -->\n{more}<!-- /agent:outer -->\n"
        )
    };
    for (how, inner) in [("--both", "person\nagent"), ("--theirs", "agent"), ("--ours", "person")] {
        for agents_first in [true, false] {
            let doc = Doc::new(&nested("in", ""));
            doc.send();
            doc.put(&nested("person", ""));
            let mut blocks = [block("inner", "agent"), block("outer", "appended")];
            if !agents_first {
                blocks.reverse();
            }
            let said = doc.fed("respond", &["--json"], &blocks.concat()).code(3).json();
            let conflicts = said["result"]["answer"]["conflicts"].clone();
            assert_eq!(conflicts.as_array().unwrap().len(), 1, "{conflicts}");
            assert_eq!(conflicts[0]["component"], "inner");
            let text = doc.text();
            assert!(text.contains("person") && text.matches("appended").count() == 1, "{text}");
            doc.run("resolve", &[how]).ok();
            assert_eq!(doc.text(), text.replace("person", inner));
        }
    }
}

#[test]
fn a_conflict_behind_a_marker_can_be_resolved() {
    let inline = |word: &str| format!("{FRONT}Now <!-- agent:status -->{word}<!-- /agent:status -->!\n");
    for mine in ["blue", ""] {
        let doc = Doc::new(&inline("red"));
        doc.send();
        doc.put(&inline(mine));
        doc.fed("respond", &[], &block("status", "green")).code(3);
        assert_eq!(doc.text(), inline(mine));
        doc.run("resolve", &["--theirs"]).ok();
        assert_eq!(doc.text().replace('\n', ""), inline("green").replace('\n', ""));
    }
}

#[test]
fn what_was_typed_within_an_answer_stays_when_it_is_taken_back() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    doc.respond("A1\n");
    doc.change("A1\n", "A1\nthanks\n");
    doc.run("turn undo", &["1"]).ok();
    assert_eq!((doc.text(), doc.known()), (exchange("Q?\nthanks\n"), exchange("Q?\n")));
    doc.run("conflicts", &[]).ok();
    doc.run("commit", &[]).ok();
    assert_eq!(doc.head(), exchange("Q?\n"));
    // Also where it was sent and answered.
    doc.run("turn redo", &["1"]).ok();
    doc.send_after(&exchange("Q?\n\nA1\nthanks\n\n"));
    doc.respond("Welcome.\n");
    doc.run("turn undo", &["1"]).ok();
    assert!(!doc.text().contains("A1") && doc.text().contains("thanks"), "{}", doc.text());
    assert_eq!(doc.text(), doc.known());
}

#[test]
fn a_fork_is_made_of_a_turn_that_was_answered_after_others() {
    let doc = Doc::new(&with_status("open\n", "Q?\n"));
    doc.send();
    doc.run("patch", &["status", "busy"]).ok();
    doc.respond("A1\n");
    doc.run("turn fork", &["1", "f.md"]).ok();
    let fork = doc.world.read("f.md");
    assert!(fork.contains("\nA1\n") && fork.contains("\nopen\n"), "{fork}");
    assert_eq!(doc.world.skein(&["doc", "preflight", "f.md"]).ok().json()["result"]["no_changes"], true);
}

#[test]
fn what_was_said_under_another_name_comes_back() {
    let doc = Doc::new(&exchange("Old?\n"));
    doc.send();
    doc.respond("A.\n");
    let then = doc.world.head();
    doc.world.git(["mv", "t.md", "notes.md"]);
    doc.world.git(["commit", "-qm", "another name"]);
    let doc = Doc { file: "notes.md".to_owned(), ..doc };
    doc.run("history", &["--restore", &then]).ok();
    assert_eq!(doc.text(), exchange("Old?\n\nA.\n\n---\n\nOld?\n\nA.\n\n"));
}

#[test]
fn where_there_is_something_else_no_document_is_to_be_made() {
    let world = World::in_memory();
    std::fs::create_dir(world.path("folder")).unwrap();
    std::os::unix::fs::symlink("nowhere", world.path("link.md")).unwrap();
    for name in ["folder", "link.md"] {
        let said = world.skein(&["doc", "claim", name]).refused("no-document", 1);
        assert!(!said.err.contains("doc init"), "{}", said.err);
    }
}

#[test]
fn a_command_that_is_shown_can_be_given() {
    let name = "my plan.md";
    let world = World::in_memory();
    let said = world.skein(&["doc", "init", name]).ok();
    assert!(said.out.contains("git skein doc run 'my plan.md'\n"), "{}", said.out);
    let doc = Doc::named(name, &with_status("red\n", ""));
    doc.send();
    doc.change("red", "blue");
    let said = doc.fed("write", &[], &block("status", "green")).code(3);
    assert!(said.out.contains("git skein doc conflicts 'my plan.md'\n"), "{}", said.out);
    let said = doc.run("conflicts", &[]).code(1);
    assert!(said.out.contains("git skein doc resolve 'my plan.md' <n>"), "{}", said.out);
}

#[test]
fn signed_commits_are_folded_to_a_signed_one() {
    let doc = Doc::new(&exchange("Q?\n"));
    let program = doc.world.root().join("gpg");
    let script = "#!/bin/sh\ncat >/dev/null\necho '[GNUPG:] SIG_CREATED D' >&2\necho '-----BEGIN PGP SIGNATURE-----'\necho x\necho '-----END PGP SIGNATURE-----'\n";
    std::fs::write(&program, script).unwrap();
    std::process::Command::new("chmod").arg("+x").arg(&program).status().unwrap();
    doc.world.git(["config", "commit.gpgSign", "true"]);
    doc.world.git(["config", "gpg.program", program.to_str().unwrap()]);
    let before = doc.world.head();
    doc.send();
    doc.respond("A.\n");
    doc.respond("B.\n");
    let head = doc.world.head();
    doc.world.git(["config", "gpg.program", "false"]);
    doc.run("clean", &[]).refused("not-signed", 1);
    assert_eq!(doc.world.head(), head);
    doc.world.git(["config", "gpg.program", program.to_str().unwrap()]);
    doc.run("clean", &[]).ok();
    assert_eq!(doc.world.rev("HEAD^"), before);
    assert!(doc.world.git(["cat-file", "commit", "HEAD"]).contains("gpgsig"));
}

#[test]
fn a_copy_of_a_renamed_document_is_noticed() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    doc.world.git(["mv", "t.md", "notes.md"]);
    doc.world.git(["commit", "-qm", "another name"]);
    // Alone it is the same one.
    doc.world.skein(&["doc", "diff", "notes.md"]).ok();
    doc.world.write("copy.md", &doc.world.read("notes.md"));
    for (file, other) in [("copy.md", "notes.md"), ("notes.md", "copy.md")] {
        let said = doc.world.skein(&["doc", "diff", file]).refused("document-twice", 1);
        assert!(said.err.contains(&format!("{file} and {other}")), "{}", said.err);
    }
    doc.world.skein(&["doc", "claim", "--new", "copy.md"]).ok();
    doc.world.skein(&["doc", "preflight", "notes.md"]).ok();
}

#[test]
fn a_copy_does_not_take_the_identity_before_the_first_turn() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.world.write("copy.md", &doc.text());
    for file in ["copy.md", "t.md"] {
        doc.world.skein(&["doc", "preflight", file]).refused("document-twice", 1);
    }
    assert_eq!(doc.step(), "");
    doc.world.skein(&["doc", "claim", "--new", "copy.md"]).ok();
    doc.world.skein(&["doc", "preflight", "copy.md"]).ok();
    doc.send();
}
