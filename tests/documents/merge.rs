//! What an agent says and what a person types meanwhile, in one text.

use super::Doc;
use super::FRONT;
use super::block;
use super::exchange;
use super::fed;
use super::with_status;
use crate::support::Ran;
use std::process::Stdio;

/// The parts of the answer that went nowhere, by component.
fn refused(ran: &Ran) -> Vec<(String, String)> {
    let refused = ran.json()["result"]["refused"].clone();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    refused.as_array().unwrap().iter().map(|pair| (text(&pair[0]), text(&pair[1]))).collect()
}

#[test]
fn two_blocks_for_one_component_stand_in_order() {
    let said = "Q?\n<!-- agent:boundary:39a9 -->\n";
    let doc = Doc::new(&with_status("open\n", said));
    doc.send();
    let answer = ["### Re: A\n\none", "### Re: B\n\ntwo"].map(|text| block("exchange", text));
    doc.respond(&format!("{}{}{}", answer[0], block("status", "busy"), answer[1]));
    doc.is(&with_status("busy\n", &format!("{said}\n### Re: A\n\none\n\n### Re: B\n\ntwo\n\n")));
    // Of two that replace, the second stands.
    doc.fed("respond", &[], &(block("status", "first") + &block("status", "second"))).ok();
    doc.is(&with_status("second\n", &format!("{said}\n### Re: A\n\none\n\n### Re: B\n\ntwo\n\n")));
}

#[test]
fn what_stands_in_no_block_goes_into_the_exchange_last() {
    let doc = Doc::new(&with_status("open\n", "Q?\n"));
    doc.send();
    doc.respond(&format!("Before.\n\n{}\nAfter.\n", block("exchange", "Inside.")));
    doc.is(&with_status("open\n", "Q?\n\nInside.\n\nBefore.\n\nAfter.\n\n"));
}

#[test]
fn what_is_typed_below_while_the_agent_answers_is_a_paragraph_of_its_own() {
    let doc = Doc::new(&exchange("What is 2+2?\n"));
    doc.send();
    doc.put(&exchange("What is 2+2?\nand then typed more\n"));
    doc.respond("It is 4.\n");
    assert_eq!(doc.text(), exchange("What is 2+2?\n\nIt is 4.\n\nand then typed more\n"));
    assert_eq!(doc.head(), exchange("What is 2+2?\n\nIt is 4.\n\n"));
    assert_eq!(doc.new_lines(), ["+and then typed more"]);
    doc.send();
    doc.respond("More.\n");
    doc.is(&exchange("What is 2+2?\n\nIt is 4.\n\nand then typed more\n\nMore.\n\n"));
}

#[test]
fn paragraphs_of_both_at_one_place_are_not_mixed() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    doc.put(&exchange("Q?\n\nOne more thing:\n\n- d\n- b\n\n```\ncode\n```\n"));
    doc.respond("### Re: Q\n\nOne answer:\n\n- a\n- c\n\n```\nother\n```\n");
    assert_eq!(
        doc.text(),
        exchange(
            "Q?\n\n### Re: Q\n\nOne answer:\n\n- a\n- c\n\n```\nother\n```\n\n\nOne more thing:\n\n- d\n- b\n\n```\ncode\n```\n"
        )
    );
}

/// base, person, agent, what stands, how many conflicts.
#[test]
fn two_versions_of_some_lines() {
    for (base, person, agent, want, conflicts) in [
        ("status: open", "status: closed", "status: blocked", "status: closed", 1),
        ("version = 10", "version = 11", "version = 12", "version = 11", 1),
        ("one\ntwo", "one\n2", "one\n2", "one\n2", 0),
        ("one", "one\nmore", "one\nmore", "one\nmore", 0),
        ("one", "one\nmine", "one\ntheirs", "one\ntheirs\nmine", 0),
        ("one\ntwo\nthree", "one\nthree", "one\ntwo, changed\nthree", "one\nthree", 1),
        ("one\ntwo\nthree", "one\ntwo, changed\nthree", "one\nthree", "one\ntwo, changed\nthree", 1),
        (
            "the quick fox\njumps high",
            "the quick\nfox jumps\nhigh",
            "the quick fox\njumps far",
            "the quick\nfox jumps\nfar",
            0,
        ),
        ("the old line here", "the new line here", "the old line there", "the new line there", 0),
        ("- [ ] a\n- [ ] b", "- [x] a\n- [ ] b", "- [ ] a\n- [x] b\n- [ ] c", "- [x] a\n- [x] b\n- [ ] c", 0),
        ("a\nb\nc\nd", "a!\nb\nc\nd", "a\nb\nc\nd!", "a!\nb\nc\nd!", 0),
        ("a\nb", "", "a\nb\nc", "c", 0),
        (
            "# A\ntext\n\n# B\nb1\nb2\nb3",
            "# B\nb1\nb2\nb3\n\n# A\ntext",
            "# A\ntext edited\n\n# B\nb1\nb2\nb3",
            "# B\nb1\nb2\nb3\n\n# A\ntext",
            1,
        ),
        ("one two three.", "One Two Three.", "Uno dos tres.", "One Two Three.", 1),
    ] {
        let status = |text: &str| if text.is_empty() { String::new() } else { format!("{text}\n") };
        let doc = Doc::new(&with_status(&status(base), "Q?\n"));
        doc.send();
        doc.put(&with_status(&status(person), "Q?\n"));
        let ran = doc.fed("respond", &["--json"], &block("status", agent));
        assert_eq!(ran.code, if conflicts == 0 { 0 } else { 3 }, "{base:?}: {ran:?}");
        assert_eq!(doc.text(), with_status(&status(want), "Q?\n"), "{base:?} {person:?} {agent:?}");
        assert_eq!(doc.head(), with_status(&status(agent), "Q?\n"), "{base:?}");
        let found = ran.json()["result"]["answer"]["conflicts"].clone();
        assert_eq!(found.as_array().unwrap().len(), conflicts, "{base:?}: {found}");
        doc.run("conflicts", &[]).code(conflicts.min(1) as i32);
        doc.tidy();
    }
}

#[test]
fn where_words_collide_the_persons_stand_until_it_is_said_otherwise() {
    for (whose, stands) in
        [("--ours", "closed\n"), ("--theirs", "blocked\n"), ("--both", "closed\nblocked\n")]
    {
        let doc = Doc::new(&with_status("open\n", "Q?\n"));
        doc.send();
        doc.put(&with_status("closed\n", "Q?\n"));
        let ran = doc
            .fed("respond", &[], &format!("{}{}", block("status", "blocked"), block("exchange", "A.")))
            .code(3);
        assert!(ran.out.contains("conflict 1 in line 7: your words stand"), "{}", ran.out);
        assert_eq!(doc.text(), with_status("closed\n", "Q?\n\nA.\n\n"));
        let listed = doc.run("conflicts", &["--json"]).code(1).json()["result"]["conflicts"].clone();
        let record = &listed[0];
        assert_eq!(listed.as_array().unwrap().len(), 1);
        let parts =
            ["component", "base", "person", "agent"].map(|key| record[key].as_str().unwrap().to_owned());
        assert_eq!(parts, ["status", "open\n", "closed\n", "blocked\n"]);
        assert_eq!((&record["line"], &record["turn"]), (&7.into(), &1.into()));
        // It is on the record while other things go on.
        doc.change("# T\n", "# T, changed\n");
        doc.run("resolve", &["1", whose]).ok();
        let after = with_status(stands, "Q?\n\nA.\n\n").replace("# T\n", "# T, changed\n");
        assert_eq!(doc.text(), after);
        doc.run("conflicts", &[]).ok();
        let all = doc.run("conflicts", &["--all", "--json"]).ok().json()["result"]["conflicts"].clone();
        assert_eq!(all[0]["resolved"], whose.trim_start_matches('-'));
        doc.run("resolve", &["1", whose]).refused("no-such-conflict", 1);
        assert_eq!(doc.text(), after);
        doc.tidy();
    }
}

#[test]
fn a_conflict_whose_words_are_gone_is_settled_by_hand() {
    let doc = Doc::new(&with_status("open\n", "Q?\n"));
    doc.send();
    doc.put(&with_status("closed\n", "Q?\n"));
    doc.fed("write", &[], &block("status", "blocked")).code(3);
    let status = doc.run("status", &["--json"]).ok().json()["result"].clone();
    assert_eq!(status["conflicts"], 1);
    assert_eq!(
        (&status["lines"][6]["state"], &status["lines"][6]["text"]),
        (&"conflict".into(), &"closed".into())
    );
    doc.put(&with_status("both are wrong\n", "Q?\n"));
    for whose in ["--theirs", "--both"] {
        doc.run("resolve", &[whose]).refused("no-such-conflict", 1);
    }
    assert_eq!(doc.text(), with_status("both are wrong\n", "Q?\n"));
    doc.run("resolve", &["--ours"]).ok();
    doc.run("conflicts", &[]).ok();
    assert_eq!(doc.text(), with_status("both are wrong\n", "Q?\n"));
    assert_eq!(doc.new_lines(), ["-blocked", "+both are wrong"]);
}

#[test]
fn a_line_that_the_person_has_deleted_does_not_come_back() {
    let doc = Doc::new(&exchange("one\ntwo\nthree\n"));
    doc.send();
    doc.put(&exchange("one\nthree\n"));
    doc.respond("A.\n");
    assert_eq!(doc.text(), exchange("one\nthree\n\nA.\n\n"));
    assert_eq!(doc.new_lines(), ["-two"]);
    // Nor does what was said long ago.
    doc.put(&exchange("Only this?\n"));
    doc.send();
    doc.respond("B.\n");
    doc.is(&exchange("Only this?\n\nB.\n\n"));
    doc.put(&exchange(""));
    doc.send();
    doc.put(&exchange("And now?\n"));
    doc.respond("C.\n");
    assert_eq!(doc.text(), exchange("\nC.\n\nAnd now?\n").replace("-->\n\nC", "-->\nC"));
}

#[test]
fn front_matter_and_markers_may_be_changed_meanwhile() {
    let doc = Doc::new(&with_status("open\n", "Q?\n"));
    doc.send();
    let changed = |text: String| {
        text.replacen("\n---\n", "\nmodel: opus # mine\n---\n", 1)
            .replace("<!-- agent:exchange -->", "<!-- agent:exchange max_lines=500 -->")
    };
    doc.put(&changed(with_status("open\n", "Q?\n")));
    doc.respond(&format!("{}{}", block("status", "done"), block("exchange", "A.")));
    assert_eq!(doc.text(), changed(with_status("done\n", "Q?\n\nA.\n\n")));
    assert_eq!(doc.head(), with_status("done\n", "Q?\n\nA.\n\n"));
    assert_eq!(doc.new_lines().len(), 3);
}

#[test]
fn an_answer_finds_its_component_where_it_stands_now() {
    let doc = Doc::new(&with_status("open\n", "Q?\n"));
    doc.send();
    let turned = |status: &str, said: &str| {
        format!(
            "{FRONT}# T\n\n<!-- agent:exchange -->\n{said}<!-- /agent:exchange -->\n\nBetween.\n\n<!-- agent:new -->\n<!-- /agent:new -->\n\n<!-- agent:status -->\n{status}<!-- /agent:status -->\n"
        )
    };
    doc.put(&turned("open\n", "Q?\nMore?\n"));
    doc.respond(&format!("{}{}", block("status", "done"), block("exchange", "A.")));
    assert_eq!(doc.text(), turned("done\n", "Q?\n\nA.\n\nMore?\n"));
    assert_eq!(doc.head(), with_status("done\n", "Q?\n\nA.\n\n"));
}

#[test]
fn a_component_that_is_gone_is_named_and_the_rest_goes_in() {
    let doc = Doc::new(&with_status("open\n", "Q?\n"));
    doc.send();
    doc.put(&exchange("Q?\nMore?\n"));
    let answer = format!("{}{}", block("status", "done"), block("exchange", "A."));
    let ran = doc.fed("write", &["--json"], &answer).code(1);
    assert_eq!(refused(&ran), [("status".into(), "it was removed meanwhile".into())]);
    assert_eq!(doc.text(), exchange("Q?\n\nA.\n\nMore?\n"));
    assert_eq!(doc.blob(ran.json()["result"]["kept"].as_str().unwrap()), answer);
    doc.run("commit", &[]).ok();
    assert_eq!(doc.text(), exchange("Q?\n\nA.\n\nMore?\n"));
    doc.tidy();
}

#[test]
fn a_component_that_never_was_is_named_with_those_that_are() {
    let doc = Doc::new(&with_status("open\n", "Q?\n"));
    doc.send();
    let (text, new, head) = (doc.text(), doc.new_lines(), doc.world.head());
    let answer = block("statuss", "done");
    for verb in ["write", "respond"] {
        let ran = doc.fed(verb, &["--json"], &answer).code(1);
        let said = ran.json()["result"].clone();
        let said = if verb == "write" { said } else { said["answer"].clone() };
        assert_eq!(said["refused"][0][0], "statuss");
        assert_eq!(said["refused"][0][1], "there is no such component; there are status, exchange");
        assert_eq!(doc.blob(said["kept"].as_str().unwrap()), answer);
        assert_eq!(
            (doc.text(), doc.world.head(), doc.new_lines()),
            (text.clone(), head.clone(), new.clone())
        );
    }
    // The turn still waits for an answer.
    let ran = doc.fed("respond", &["--json"], &format!("{answer}{}", block("status", "done"))).code(1);
    assert_eq!(ran.json()["result"]["answer"]["turn"], 1);
    doc.is(&with_status("done\n", "Q?\n"));
}

#[test]
fn a_fence_that_is_cut_off_within_its_block_is_closed() {
    let doc = Doc::new(&with_status("open\n", "Q?\n"));
    doc.send();
    doc.respond(&format!("{}{}", block("exchange", "So:\n\n```rust\nfn"), block("status", "done")));
    doc.is(&with_status("done\n", "Q?\n\nSo:\n\n```rust\nfn\n```\n\n"));
    doc.send_after(&with_status("done\n", "Q?\n\nSo:\n\n```rust\nfn\n```\n\nMore?\n"));
    doc.respond("~~~~\nopen\n");
    doc.is(&with_status("done\n", "Q?\n\nSo:\n\n```rust\nfn\n```\n\nMore?\n\n~~~~\nopen\n~~~~\n\n"));
}

#[test]
fn a_fence_that_the_person_has_left_open_stops_nothing() {
    let asked = "Q?\n```\nopen\n";
    let doc = Doc::new(&with_status("open\n", asked));
    doc.send();
    doc.respond(&format!("{}{}", block("exchange", "A.\n\n```\nx\n```"), block("status", "done")));
    let said = format!("{asked}\nA.\n\n```\nx\n```\n\n");
    doc.is(&with_status("done\n", &said));
    doc.fed("patch", &["status", "busy"], "").ok();
    doc.send_after(&with_status("busy\n", &format!("{said}More?\n")));
    doc.respond("B.\n");
    doc.is(&with_status("busy\n", &format!("{said}More?\n\nB.\n\n")));
}

#[test]
fn a_comment_that_does_not_end_bricks_nothing() {
    let doc = Doc::new(&exchange("Why <!-- does this\n"));
    doc.send();
    doc.respond("Because <!-- of that.\n");
    doc.is(&exchange("Why <!-- does this\n\nBecause <!-- of that.\n\n"));
    doc.send_after(&exchange("Why <!-- does this\n\nBecause <!-- of that.\n\nMore?\n"));
    doc.respond("A.\n");
    doc.is(&exchange("Why <!-- does this\n\nBecause <!-- of that.\n\nMore?\n\nA.\n\n"));
}

#[test]
fn no_text_gets_out_of_its_component() {
    let doc = Doc::new(&with_status("open\n", "Q?\n"));
    doc.send();
    let before = doc.text();
    for evil in [
        "<!-- /agent:status --> evil <!-- agent:status -->",
        "a\n<!-- /agent:status -->\nb\n<!-- agent:status -->",
        "<!-- agent:other -->\nx\n<!-- /agent:other -->",
        "<!-- /agent:exchange -->",
    ] {
        let said = doc.run("patch", &["status", evil]).refused("bad-answer", 1);
        assert!(said.err.contains("marker of a component"), "{}", said.err);
        let ran = doc.fed("write", &["--json"], &block("status", evil)).code(1);
        assert_eq!(refused(&ran)[0].1, "its content has the marker of a component in it");
        assert_eq!(doc.text(), before);
    }
    // Shown as code it is text.
    doc.run("patch", &["status", "`<!-- /agent:status -->`"]).ok();
    assert_eq!(doc.text(), with_status("`<!-- /agent:status -->`\n", "Q?\n"));
}

#[test]
fn a_component_within_another_is_patched_alone() {
    let nested = |status: &str, said: &str| {
        exchange(&format!("a\n<!-- agent:status -->\n{status}\n<!-- /agent:status -->\nb\n{said}"))
    };
    let doc = Doc::new(&nested("open", ""));
    doc.send();
    doc.respond(&block("status", "done"));
    doc.is(&nested("done", ""));
    doc.fed("respond", &[], &block("exchange", "A.")).ok();
    doc.is(&nested("done", "\nA.\n\n"));
}

#[test]
fn a_name_that_stands_twice_is_an_error() {
    let twice = format!("{}<!-- agent:status -->\nb\n<!-- /agent:status -->\n", with_status("a\n", "Q?\n"));
    let doc = Doc::new(&twice);
    doc.send();
    let said = doc.run("patch", &["status", "x"]).refused("bad-document", 1);
    assert!(said.err.contains("t.md:13:"), "{}", said.err);
    let said = doc.fed("write", &[], &block("status", "x")).code(1);
    assert!(format!("{}{}", said.out, said.err).contains("status"), "{said:?}");
    assert_eq!(doc.text(), twice);
}

#[test]
fn the_same_answer_twice_is_applied_once() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    doc.respond("A.\n");
    let (step, head) = (doc.step(), doc.world.head());
    for verb in ["write", "respond", "write"] {
        let said = doc.fed(verb, &[], "A.\n").ok();
        assert!(said.out.contains("turn 1 has this very answer already"), "{}", said.out);
        assert_eq!((doc.step(), doc.world.head()), (step.clone(), head.clone()));
        doc.is(&exchange("Q?\n\nA.\n\n"));
    }
    // Once more is another thing than again, and a turn that is named is the one that is meant.
    doc.send_after(&exchange("Q?\n\nA.\n\nAnd again?\n"));
    doc.fed("write", &["--turn", "1"], "A.\n").ok();
    assert_eq!(doc.text(), exchange("Q?\n\nA.\n\nAnd again?\n"));
    doc.respond("A.\n");
    doc.is(&exchange("Q?\n\nA.\n\nAnd again?\n\nA.\n\n"));
}

#[test]
fn writers_at_once_all_get_in_once() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    let answers: Vec<String> = (0..6).map(|n| format!("### Re: {n}\n\nAnswer {n}.\n")).collect();
    let all: Vec<Ran> = std::thread::scope(|scope| {
        let commands: Vec<_> = answers
            .iter()
            .map(|answer| {
                let command = doc.command("respond", &[]);
                scope.spawn(move || fed(command, answer))
            })
            .collect();
        commands.into_iter().map(|one| one.join().unwrap()).collect()
    });
    for ran in all {
        ran.ok();
    }
    let text = doc.text();
    let mut said: Vec<&str> = text.split("### ").skip(1).collect();
    let last = said.pop().unwrap();
    said.push(last.strip_suffix("<!-- /agent:exchange -->\n").unwrap());
    said.sort_unstable();
    let want: Vec<String> = (0..6).map(|n| format!("Re: {n}\n\nAnswer {n}.\n\n")).collect();
    assert_eq!(said, want);
    assert!(
        text.starts_with(exchange("Q?\n\n").strip_suffix("<!-- /agent:exchange -->\n").unwrap()),
        "{text}"
    );
    doc.is(&text);
}

#[test]
fn an_agents_appended_answer_stands_below_what_was_asked() {
    let front = FRONT.replacen("\n---\n", "\nagent_doc_format: append\n---\n", 1);
    let asked = |question: &str| format!("{front}# T\n\n## User\n\n{question}\n");
    let doc = Doc::new(&asked("What is 2+2?"));
    doc.send();
    doc.put(&asked("What is 2+3?"));
    doc.respond("It is 4.\n");
    let after = |question: &str| format!("{}\n## Assistant\n\nIt is 4.\n\n## User\n\n", asked(question));
    assert_eq!(doc.text(), after("What is 2+3?"));
    assert_eq!(doc.head(), after("What is 2+2?"));
    assert_eq!(doc.new_lines(), ["-What is 2+2?", "+What is 2+3?"]);
    // The next turn, as it was told.
    doc.put(&format!("{}And 3+3?\n", after("What is 2+3?")));
    doc.send();
    doc.respond("It is 6.\n");
    doc.is(&format!("{}And 3+3?\n\n## Assistant\n\nIt is 6.\n\n## User\n\n", after("What is 2+3?")));
}

/// A document without its history is one that begins: nothing of it is doubled.
#[test]
fn a_document_whose_history_is_lost_goes_on() {
    let doc = Doc::new(&with_status("open\n", "Q?\n"));
    doc.send();
    doc.respond(&format!("{}{}", block("status", "done"), block("exchange", "A.")));
    let whole = with_status("done\n", "Q?\n\nA.\n\n");
    doc.is(&whole);
    doc.world.git(["update-ref", "-d", &format!("refs/skein/doc/{}", super::ID)]);
    doc.fed("respond", &[], &block("status", "busy")).ok();
    assert_eq!(doc.text(), with_status("busy\n", "Q?\n\nA.\n\n"));
    doc.send_after(&with_status("busy\n", "Q?\n\nA.\n\nMore?\n"));
    doc.respond("B.\n");
    assert_eq!(doc.text(), with_status("busy\n", "Q?\n\nA.\n\nMore?\n\nB.\n\n"));
    assert_eq!(doc.head(), doc.text());
}

/// A file that an editor empties before it writes is never seen empty.
#[test]
fn a_text_that_is_just_being_written_is_waited_for() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    std::fs::write(doc.world.path("t.md"), "").unwrap();
    let mut command = doc.command("respond", &[]);
    command.stdin(Stdio::piped());
    let ran = std::thread::scope(|scope| {
        let writer = scope.spawn(move || fed(command, "A.\n"));
        std::thread::sleep(std::time::Duration::from_millis(150));
        doc.put(&exchange("Q?\nMore?\n"));
        writer.join().unwrap()
    });
    ran.ok();
    assert_eq!(doc.text(), exchange("Q?\n\nA.\n\nMore?\n"));
}
