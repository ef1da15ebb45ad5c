//! What the agent knows, and what is new: no text of the person's leaves the diff before it was sent.

use super::Doc;
use super::FRONT;
use super::block;
use super::exchange;
use super::with_status;
use crate::support::World;
use std::fs;

#[test]
fn the_question_in_a_new_document_is_what_is_new() {
    let world = World::in_memory();
    world.skein(&["doc", "init", "q.md", "Sums"]).ok();
    let doc = Doc::in_world(world, "q.md");
    let id = doc.text().lines().find_map(|line| line.strip_prefix("skein_doc: ").map(str::to_owned)).unwrap();
    let whole = |said: &str| exchange(said).replace(super::ID, &id).replace("# T", "# Sums");
    let whole = |said: &str| whole(said).replacen("\n---\n", "\nagent_doc_format: template\n---\n\n", 1);
    assert_eq!(doc.text(), whole(""));
    doc.put(&whole("What is 2+2?\n"));
    let sent = doc.preflight();
    assert_eq!(sent["no_changes"], false);
    assert_eq!(
        sent["diff"],
        "--- sent\n+++ q.md\n@@ -1,4 +1,10 @@\n ---\n".to_owned()
            + &format!(" skein_doc: {id}\n agent_doc_format: template\n ---\n")
            + "+\n+# Sums\n+\n+<!-- agent:exchange -->\n+What is 2+2?\n+<!-- /agent:exchange -->\n"
    );
    assert_eq!(sent["document"], whole("What is 2+2?\n"));
    doc.respond("It is 4.\n");
    assert_eq!(doc.text(), whole("What is 2+2?\n\nIt is 4.\n\n"));
    assert_eq!(doc.head(), doc.text());
    assert_eq!(doc.preflight()["no_changes"], true);
}

#[test]
fn the_first_contact_changes_no_head() {
    let doc = Doc::new(&with_status("open\n", "Q?\n\nA long conversation.\n"));
    let (head, text) = (doc.world.head(), doc.text());
    for _ in 0..3 {
        let sent = doc.preflight();
        assert_eq!((&sent["no_changes"], &sent["committed"]), (&false.into(), &serde_json::Value::Null));
    }
    doc.run("commit", &[]).ok();
    assert_eq!((doc.world.head(), doc.text(), doc.head()), (head, text.clone(), text));
    assert_eq!(doc.world.git(["status", "--porcelain"]), "");
    let turns = doc.run("turns", &["--json"]).ok().json()["result"]["turns"].clone();
    assert_eq!(turns.as_array().unwrap().len(), 1, "the same text again is the same turn");
}

#[test]
fn a_claim_takes_nothing_for_sent() {
    let doc = Doc::new("# T\n\nWhat is 2+2?\n");
    doc.run("claim", &[]).ok();
    assert_eq!(doc.new_lines(), ["+# T", "+", "+What is 2+2?"]);
    doc.change("2+2?\n", "2+2?\n\nAnd 3+3?\n");
    doc.run("claim", &[]).ok();
    assert_eq!(doc.new_lines(), ["+# T", "+", "+What is 2+2?", "+", "+And 3+3?"]);
}

const UNSENT: [&str; 3] = ["+## Me", "+", "+Unsent?"];

#[test]
fn an_edit_by_a_tool_leaves_a_question_unsent() {
    let said = "### Re: A\n\none\n\n### Re: A\n\none\n\n";
    let doc = Doc::new(&with_status("open\n", said));
    doc.send();
    doc.respond(&block("status", "ready"));
    let first = doc.world.head();
    doc.put(&with_status("ready\n", &format!("{said}## Me\n\nUnsent?\n")));
    doc.run("patch", &["status", "busy"]).ok();
    assert_eq!(doc.text(), with_status("busy\n", &format!("{said}## Me\n\nUnsent?\n")));
    assert_eq!(doc.new_lines(), UNSENT);
    doc.run("dedupe", &[]).ok();
    let once = "### Re: A\n\none\n\n";
    assert_eq!(doc.text(), with_status("busy\n", &format!("{once}## Me\n\nUnsent?\n")));
    assert_eq!(doc.new_lines(), UNSENT);
    doc.run("history", &["--restore", &first]).ok();
    let restored = format!("{}\n\n---\n\n{once}", said.trim_end());
    assert_eq!(doc.text(), with_status("busy\n", &format!("{restored}## Me\n\nUnsent?\n")));
    assert_eq!(doc.new_lines(), UNSENT);
    doc.fed("write", &[], &block("exchange", "Unasked.")).ok();
    assert_eq!(doc.new_lines(), UNSENT);
    doc.run("commit", &[]).ok();
    assert_eq!(doc.head(), with_status("busy\n", &format!("{restored}Unasked.\n\n")));
    assert_eq!(doc.new_lines(), UNSENT);
    doc.run("recover", &[]).ok();
    assert_eq!(doc.send(), 6);
    doc.respond("B.\n");
    assert_eq!(doc.head(), doc.text());
    assert_eq!(doc.text().matches("Unsent?").count(), 1);
}

#[test]
fn a_tool_that_comes_first_takes_nothing_for_sent() {
    for verb in ["patch", "write"] {
        let doc = Doc::new(&with_status("open\n", "Unsent?\n"));
        match verb {
            "patch" => doc.run("patch", &["status", "busy"]).ok(),
            _ => doc.write(&block("status", "busy")),
        };
        assert_eq!(doc.text(), with_status("busy\n", "Unsent?\n"));
        assert_eq!(doc.new_lines(), ["+# T", "+", "+", "+Unsent?"], "{verb}");
        let head = doc.head();
        doc.run("commit", &[]).ok();
        assert_eq!(doc.head(), head.replace("open", "busy"), "{verb}: only the status is committed");
        doc.send();
        doc.respond("A.\n");
        doc.is(&with_status("busy\n", "Unsent?\n\nA.\n\n"));
    }
}

#[test]
fn what_is_typed_after_it_was_sent_is_new_with_the_next_turn() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    doc.put(&exchange("Q?\n\nAnd this?\n"));
    doc.respond("A.\n");
    assert_eq!(doc.text(), exchange("Q?\n\nA.\n\n\nAnd this?\n"));
    assert_eq!(doc.head(), exchange("Q?\n\nA.\n\n"));
    assert_eq!(doc.known(), doc.head());
    assert_eq!(doc.new_lines(), ["+", "+And this?"]);
    // The text is sent as it is now, and what was said before is no news.
    let sent = doc.preflight();
    assert!(
        sent["diff"].as_str().unwrap().ends_with(" A.\n \n+\n+And this?\n <!-- /agent:exchange -->\n"),
        "{sent}"
    );
    doc.respond("B.\n");
    doc.is(&exchange("Q?\n\nA.\n\n\nAnd this?\n\nB.\n\n"));
}

#[test]
fn an_answer_to_an_older_text_takes_no_later_one_away() {
    let doc = Doc::new(&with_status("open\n", "Q?\n"));
    let old = doc.text();
    doc.send();
    doc.respond(&format!("{}{}", block("status", "one"), block("exchange", "A.")));
    fs::write(doc.world.root().join("old.md"), &old).unwrap();
    doc.put(&with_status("one\n", "Q?\n\nA.\n\nMore?\n"));
    doc.fed("write", &["--baseline-file", "../old.md"], &block("exchange", "B.")).ok();
    let text = doc.text();
    for line in ["Q?\n", "A.\n", "B.\n", "More?\n", "one\n"] {
        assert_eq!(text.matches(line).count(), 1, "{line}: {text}");
    }
    assert_eq!(doc.new_lines(), ["+More?"]);
    doc.fed("write", &["--baseline-file", "../nothing.md"], "C.\n").code(128);
    assert_eq!(doc.text(), text);
}

#[test]
fn a_commit_has_the_answer_and_the_file_keeps_what_was_typed() {
    let doc = Doc::new(&exchange("One?\nTwo?\n"));
    doc.send();
    doc.write("A.\n");
    doc.put(&exchange("One!\nTwo?\n\nA, with my words.\n\nThree?\n"));
    doc.run("commit", &[]).ok();
    assert_eq!(doc.head(), exchange("One?\nTwo?\n\nA.\n\n"));
    assert_eq!(doc.text(), exchange("One!\nTwo?\n\nA, with my words.\n\nThree?\n"));
    assert_eq!(doc.new_lines(), ["-One?", "+One!", "-A.", "+A, with my words.", "+Three?"]);
    assert_eq!(doc.world.git(["status", "--porcelain"]), " M t.md");
    doc.tidy();
}

#[test]
fn a_document_keeps_its_history_under_another_name() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    doc.respond("A.\n");
    doc.world.git(["mv", "t.md", "elsewhere.md"]);
    doc.world.commit("moved");
    let doc = Doc { file: "elsewhere.md".to_owned(), ..doc };
    assert_eq!(doc.preflight()["no_changes"], true);
    doc.send_after(&exchange("Q?\n\nA.\n\nMore?\n"));
    doc.respond("B.\n");
    doc.is(&exchange("Q?\n\nA.\n\nMore?\n\nB.\n\n"));
    let turns = doc.run("turns", &["--json"]).ok().json()["result"]["turns"].clone();
    assert_eq!(turns.as_array().unwrap().len(), 2);
    let history = doc.run("history", &["--json"]).ok().json()["result"]["commits"].clone();
    assert_eq!(history.as_array().unwrap().len(), 4, "{history}");
    // So does a clone that fetches it.
    let refs = "refs/skein/doc/*:refs/skein/doc/*";
    doc.world.git(["clone", "-q", "--template=", ".", "../clone"]);
    doc.world.git([
        "-C",
        "../clone",
        "fetch",
        "-q",
        "origin",
        refs,
        "refs/skein/format/*:refs/skein/format/*",
    ]);
    let clone = doc.world.root().join("clone");
    let there = doc.world.skein(&["-C", clone.to_str().unwrap(), "doc", "turns", "elsewhere.md", "--json"]);
    assert_eq!(there.ok().json()["result"]["turns"], turns);
}

#[test]
fn a_turn_that_is_undone_leaves_what_was_typed_since() {
    let doc = Doc::new(&with_status("open\n", "Q?\n"));
    doc.send();
    let before = doc.text();
    doc.respond(&format!("{}{}", block("status", "done"), block("exchange", "A.")));
    doc.run("turn undo", &["1"]).ok();
    assert_eq!((doc.text(), doc.known()), (before.clone(), before.clone()));
    doc.run("turn undo", &["1"]).refused("no-such-turn", 1);
    doc.run("turn redo", &["1"]).ok();
    assert_eq!(doc.text(), with_status("done\n", "Q?\n\nA.\n\n"));
    doc.run("turn redo", &["1"]).refused("no-such-turn", 1);
    // More turns, and typing below and above.
    doc.send_after(&with_status("done\n", "Q?\n\nA.\n\nMore?\n"));
    doc.respond("B.\n");
    let typed = |text: String| text.replace("# T\n", "# T, mine\n");
    doc.put(&typed(with_status("done\n", "Q?\n\nA.\n\nMore?\n\nB.\n\nLater?\n")));
    doc.run("turn undo", &["1"]).ok();
    assert_eq!(doc.text(), typed(with_status("open\n", "Q?\nMore?\n\nB.\n\nLater?\n")));
    doc.run("turn undo", &["2"]).ok();
    assert_eq!(doc.text(), typed(with_status("open\n", "Q?\nMore?\nLater?\n")));
    assert_eq!(doc.new_lines(), ["-# T", "+# T, mine", "+Later?"]);
    doc.run("turn redo", &["1"]).ok();
    doc.run("turn redo", &["2"]).ok();
    assert_eq!(doc.text(), typed(with_status("done\n", "Q?\n\nA.\n\nMore?\n\nB.\n\nLater?\n")));
    // What was taken back is committed as taken back.
    doc.run("turn undo", &["2"]).ok();
    doc.run("commit", &[]).ok();
    assert_eq!(doc.head(), with_status("done\n", "Q?\n\nA.\n\nMore?\n"));
    doc.tidy();
}

#[test]
fn an_answer_that_the_person_has_changed_is_not_taken_back() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    doc.respond("One line.\n\nAnother line.\n");
    let mine = exchange("Q?\n\nOne line, mine.\n\nAnother line.\n\n");
    doc.put(&mine);
    let (known, step) = (doc.known(), doc.step());
    let said = doc.run("turn undo", &["1"]).refused("no-such-turn", 1);
    assert!(said.err.contains("you have changed what it wrote"), "{}", said.err);
    assert_eq!((doc.text(), doc.known(), doc.step()), (mine, known, step));
    doc.run("conflicts", &[]).ok();
}

#[test]
fn what_was_said_in_a_commit_comes_back_above() {
    let doc = Doc::new(&exchange("Old?\n"));
    let first = doc.world.head();
    doc.send();
    doc.respond("Old.\n");
    let second = doc.world.head();
    doc.put(&exchange("New?\n"));
    doc.send();
    doc.respond("New.\n");
    doc.run("history", &["--restore", &second[..8]]).ok();
    assert_eq!(doc.text(), exchange("Old?\n\nOld.\n\n---\n\nNew?\n\nNew.\n\n"));
    assert_eq!(doc.new_lines(), Vec::<String>::new());
    let text = doc.text();
    let base = format!("{first}^");
    for rev in [base.as_str(), "nothing", "--all", "HEAD:t.md"] {
        doc.run("history", &[&format!("--restore={rev}")]).refused("bad-revision", 1);
    }
    assert_eq!(doc.text(), text);
}

#[test]
fn a_preflight_is_one_object_with_these_keys() {
    let doc = Doc::new(&exchange("Q?\n"));
    let said = doc.run("preflight", &[]).ok();
    let keys: Vec<String> = said.json()["result"].as_object().unwrap().keys().cloned().collect();
    let mut want = vec![
        "doc",
        "path",
        "recovered",
        "committed",
        "turn",
        "claims",
        "diff",
        "no_changes",
        "document",
        "baseline",
    ];
    want.sort_unstable();
    let mut keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(keys, want);
    let sent = said.json()["result"].clone();
    assert_eq!(doc.blob(sent["baseline"].as_str().unwrap()), doc.text());
    assert_eq!((&sent["turn"], &sent["recovered"]), (&1.into(), &false.into()));
}

#[test]
fn each_line_says_whose_it_is_and_whether_it_was_sent() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    doc.respond("A.\n");
    doc.put(&exchange("Q?\n\nA.\n\nMore?\n<!-- a note to myself -->\n").replace("# T\n\n", "# T\n"));
    let status = doc.run("status", &["--json"]).ok().json()["result"].clone();
    let lines: Vec<String> = status["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| format!("{} {}", line["state"].as_str().unwrap(), line["text"].as_str().unwrap()))
        .collect();
    assert_eq!(
        lines,
        [
            "sent ---",
            &format!("sent skein_doc: {}", super::ID),
            "sent ---",
            "sent # T",
            "sent <!-- agent:exchange -->",
            "sent Q?",
            "agent ",
            "agent A.",
            "agent ",
            "unsent More?",
            "comment <!-- a note to myself -->",
            "sent <!-- /agent:exchange -->",
        ]
    );
    assert_eq!((&status["removed"], &status["turns"]), (&1.into(), &1.into()));
    let sent = doc.preflight();
    assert!(!sent["diff"].as_str().unwrap().contains("note to myself"), "{sent}");
}

#[test]
fn a_document_that_is_begun_anew_is_sent_whole() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    doc.respond("A.\n");
    let (text, head) = (doc.text(), doc.world.head());
    doc.run("reset", &[]).ok();
    assert_eq!((doc.text(), doc.world.head()), (text, head));
    assert_eq!(doc.new_lines().len(), doc.text().lines().count() - FRONT.lines().count());
    doc.run("turn show", &["1"]).ok();
    doc.send();
    doc.respond("B.\n");
    doc.is(&exchange("Q?\n\nA.\n\nB.\n\n"));
}

/// What is kept of a turn is what was said in it, and nothing is left outside of the repository.
#[test]
fn a_long_talk_stays_small_and_in_its_place() {
    let world = World::in_memory();
    let scratch = world.root().join("scratch");
    fs::create_dir(&scratch).unwrap();
    let doc = Doc::in_world(world.env("TMPDIR", scratch.to_str().unwrap()), "t.md");
    let home = || -> Vec<_> {
        let listed = std::process::Command::new("find").arg(doc.world.root().join("home")).output().unwrap();
        String::from_utf8(listed.stdout).unwrap().lines().map(str::to_owned).collect()
    };
    let before = home();
    let said: String = (0..2_000).map(|n| format!("Line {n} of {}.\n", n * 7919 % 1_000)).collect();
    let mut text = exchange(&said);
    doc.put(&text);
    doc.world.commit("a long document");
    for n in 0..20 {
        let end = "<!-- /agent:exchange -->";
        doc.send_after(&text.replace(end, &format!("Question {n}?\n{end}")));
        doc.respond(&format!("Answer {n}.\n"));
        text = doc.text();
    }
    doc.is(&text);
    assert_eq!(home(), before);
    assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0, "left in TMPDIR");
    doc.world.git(["gc", "--quiet"]);
    let counted = doc.world.git(["count-objects", "-v"]);
    let kib = counted.lines().find_map(|l| l.strip_prefix("size-pack: ")).unwrap().parse::<usize>().unwrap();
    assert!(kib * 1024 < 3 * text.len(), "{kib} KiB for a document of {} bytes: {counted}", text.len());
}
