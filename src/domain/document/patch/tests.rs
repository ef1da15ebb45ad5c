use super::*;
use crate::domain::document::components;

fn patch(component: &str, content: &str) -> Patch {
    Patch { component: component.to_owned(), content: content.to_owned() }
}

fn with(mode: Mode) -> Rule {
    Rule { mode, ..Rule::default() }
}

/// The patch as the name of its component wants it.
fn put(text: &str, name: &str, content: &str) -> Result<String, Unpatched> {
    let found = components(text).unwrap();
    let rule = named(&found, name).map(|component| rule(component, None)).unwrap_or_default();
    apply(text, &patch(name, content), &rule, None)
}

#[test]
fn blocks_stay_in_their_order() {
    let text = "Hello.\n\n<!-- patch:exchange -->\n### Re: A\n\none\n<!-- /patch:exchange -->\n\n<!-- patch:status -->\nok\n<!-- /patch:status -->\nmore\n<!-- patch:exchange -->\n### Re: B\n<!-- /patch:exchange -->\n";
    for text in [text.to_owned(), text.replace('\n', "\r\n")] {
        let eol = lines::ending(&text);
        let found = answer(&text).unwrap();
        let one = lines::with_ending("### Re: A\n\none", eol);
        assert_eq!(
            found.patches,
            [patch("exchange", &one), patch("status", "ok"), patch("exchange", "### Re: B")]
        );
        assert_eq!(found.rest, "Hello.\n\nmore");
    }
    assert_eq!(answer("just text\n").unwrap().rest, "just text");
    assert_eq!(answer("").unwrap(), Answer::default());
    assert_eq!(answer("<!-- patch:a -->x<!-- /patch:a -->").unwrap().patches, [patch("a", "x")]);
    assert_eq!(answer("<!-- patch:a -->\n<!-- /patch:a -->").unwrap().patches, [patch("a", "")]);
}

#[test]
fn blocks_that_do_not_end_are_refused() {
    for (text, line) in [
        ("a\n<!-- patch:exchange -->\ntext", 2),
        ("<!-- patch:exchange -->\n```rust\nfn", 1),
        ("a\n\n<!-- /patch:exchange -->\n", 3),
        ("<!-- patch:a -->\n<!-- patch:b -->\n<!-- /patch:b -->\n<!-- /patch:a -->\n", 2),
        ("<!-- patch:a -->\n<!-- /patch:b -->\n", 2),
        ("<!-- patch:a -->\n```\n<!-- patch:a -->\n<!-- /patch:a -->\n```\nand then", 1),
    ] {
        assert_eq!(answer(text).unwrap_err().line, line, "{text}");
    }
}

#[test]
fn code_in_an_answer_shows_markers_and_hides_no_end() {
    let shown = "use `<!-- patch:x -->`:\n\n```md\n<!-- patch:x -->\n<!-- /patch:exchange -->\n```";
    let text = format!("<!-- patch:exchange -->\n{shown}\n<!-- /patch:exchange -->\n");
    assert_eq!(answer(&text).unwrap().patches, [patch("exchange", shown)]);
    let text = "```md\n<!-- patch:x -->\n<!-- /patch:x -->\n```";
    assert_eq!(answer(text).unwrap(), Answer { patches: vec![], rest: text.to_owned() });
    let cut = "### Re: A\n\n```rust\nfn main() {";
    for next in ["b", "```\nb\n```", "~~~\nb"] {
        let text = format!(
            "<!-- patch:exchange -->\n{cut}\n<!-- /patch:exchange -->\n<!-- patch:status -->\n{next}\n<!-- /patch:status -->\n"
        );
        assert_eq!(answer(&text).unwrap().patches, [patch("exchange", cut), patch("status", next)]);
    }
}

#[test]
fn appended_paragraphs_stand_apart() {
    for (body, after) in [
        ("", "new\n\n"),
        ("\n", "\nnew\n\n"),
        ("old\n", "old\n\nnew\n\n"),
        ("old\n\n", "old\n\nnew\n\n"),
        ("old\n  \n", "old\n  \nnew\n\n"),
        ("❯ é ж\n", "❯ é ж\n\nnew\n\n"),
        ("old\n<!-- agent:boundary:26e1b6ab -->\n", "old\n<!-- agent:boundary:26e1b6ab -->\n\nnew\n\n"),
        ("# x (HEAD)\n> <!-- agent:boundary:1 -->\n", "# x (HEAD)\n> <!-- agent:boundary:1 -->\n\nnew\n\n"),
    ] {
        for (head, tail) in [("", ""), ("---\n# c\na: 1\n---\nq <!-- \n", "\ntail\n"), ("\u{feff}ж\n", "\n")]
        {
            let make =
                |body: &str| format!("{head}<!-- agent:exchange -->\n{body}<!-- /agent:exchange -->{tail}");
            assert_eq!(put(&make(body), "exchange", "\nnew\n\n").unwrap(), make(after));
            let crlf = |text: &str| make(text).replace('\n', "\r\n");
            assert_eq!(put(&crlf(body), "exchange", "new").unwrap(), crlf(after));
            assert_eq!(put(&crlf(body), "exchange", "").unwrap(), crlf(body));
        }
    }
}

#[test]
fn the_whole_content_has_the_ending_of_the_document() {
    let text = "<!-- agent:exchange -->\r\n<!-- /agent:exchange -->\r\n";
    let made = put(text, "exchange", "a\n\n```\nb\r\n```\n\nc").unwrap();
    assert_eq!(
        made,
        "<!-- agent:exchange -->\r\na\r\n\r\n```\r\nb\r\n```\r\n\r\nc\r\n\r\n<!-- /agent:exchange -->\r\n"
    );
    let text = text.replace("\r\n", "\n");
    assert_eq!(
        put(&text, "exchange", "a\r\nb").unwrap(),
        "<!-- agent:exchange -->\na\nb\n\n<!-- /agent:exchange -->\n"
    );
}

#[test]
fn nothing_is_welded_to_a_marker() {
    let lines = "<!-- agent:status -->\nold\n<!-- /agent:status -->";
    let make = |body: &str| format!("a <!-- agent:status -->{body}<!-- /agent:status --> b\n");
    for (text, mode, after) in [
        (lines, Mode::Replace, "<!-- agent:status -->\nx\n<!-- /agent:status -->".to_owned()),
        (lines, Mode::Append, "<!-- agent:status -->\nold\nx\n<!-- /agent:status -->".to_owned()),
        (lines, Mode::Prepend, "<!-- agent:status -->\nx\nold\n<!-- /agent:status -->".to_owned()),
        (&make(""), Mode::Replace, make("\nx\n")),
        (&make("old"), Mode::Replace, make("\nx\n")),
        (&make(""), Mode::Append, make("\nx\n")),
        (&make("old"), Mode::Append, make("old\nx\n")),
        (&make("old"), Mode::Prepend, make("\nx\nold")),
        (&make(""), Mode::Prepend, make("\nx\n")),
        (&make("x"), Mode::Replace, make("\nx\n")),
    ] {
        let made = apply(text, &patch("status", "x"), &with(mode), None).unwrap();
        assert_eq!(made, after, "{mode:?}");
        let again = apply(&made, &patch("status", "x"), &with(Mode::Replace), None).unwrap();
        assert_eq!(apply(&again, &patch("status", "x"), &with(Mode::Replace), None).unwrap(), again);
    }
    let empty = apply(lines, &patch("status", " \n"), &with(Mode::Replace), None).unwrap();
    assert_eq!(empty, "<!-- agent:status -->\n<!-- /agent:status -->");
    let full = apply(&empty, &patch("status", "x"), &with(Mode::Replace), None).unwrap();
    assert_eq!(full, "<!-- agent:status -->\nx\n<!-- /agent:status -->");
}

#[test]
fn a_name_that_is_not_there_is_refused() {
    let text =
        "<!-- agent:status -->\n<!-- /agent:status -->\n<!-- agent:exchange -->\n<!-- /agent:exchange -->\n";
    let names = vec!["status".to_owned(), "exchange".to_owned()];
    assert_eq!(put(text, "statuss", "x"), Err(Unpatched::Unknown { names }));
    let broken = apply("<!-- agent:a -->\n", &patch("a", "x"), &Rule::default(), None);
    assert!(matches!(broken, Err(Unpatched::Breaks(Malformed { line: 1, .. }))), "{broken:?}");
}

#[test]
fn content_cannot_leave_its_component() {
    let text = "<!-- agent:status -->\nold\n<!-- /agent:status -->\n";
    for content in [
        "<!-- /agent:status --> evil <!-- agent:status -->",
        "a\n<!-- /agent:status -->\nb\n<!-- agent:status -->",
        "<!-- agent:other -->\nx\n<!-- /agent:other -->",
        "<!-- agent:boundary:x --><!-- /agent:exchange -->",
        "x <!--\n<!-- /agent:status -->",
        "é<!--/agent:status-->",
    ] {
        assert_eq!(put(text, "status", content), Err(Unpatched::Escapes), "{content}");
    }
    for content in [
        "```\n<!-- /agent:status -->\n```",
        "`<!-- /agent:status -->`",
        "> <!-- /agent:status -->",
        "<!-- not ours",
        "<!-- note -->",
        "<pre>",
    ] {
        let made = put(text, "status", content).unwrap();
        assert_eq!(made, format!("<!-- agent:status -->\n{content}\n<!-- /agent:status -->\n"));
        assert_eq!(put(&made, "status", "old").unwrap(), text);
    }
}

#[test]
fn a_fence_that_is_cut_off_is_closed() {
    let make = |body: &str| {
        format!(
            "<!-- agent:exchange -->\n{body}<!-- /agent:exchange -->\n<!-- agent:status -->\n```\nx\n```\n<!-- /agent:status -->\n"
        )
    };
    for (content, after) in [
        ("a\n\n```rust\nfn", "a\n\n```rust\nfn\n```\n"),
        ("```", "```\n```\n"),
        ("~~~~ x\n~~~\nb", "~~~~ x\n~~~\nb\n~~~~\n"),
        ("```\n<!-- /agent:exchange -->", "```\n<!-- /agent:exchange -->\n```\n"),
        ("- a\n\n  ```\n  b", "- a\n\n  ```\n  b\n"),
        ("> ```\n> b", "> ```\n> b\n"),
        ("```\na\n```", "```\na\n```\n"),
        ("```\na\n``` ", "```\na\n``` \n"),
    ] {
        let made = put(&make(""), "exchange", content).unwrap();
        assert_eq!(made, make(&format!("{after}\n")));
        assert_eq!(put(&made, "exchange", "next").unwrap(), make(&format!("{after}\nnext\n\n")));
    }
}

#[test]
fn a_fence_that_the_person_left_open_bricks_nothing() {
    let text = "<!-- agent:exchange -->\nq?\n```\nopen\n<!-- /agent:exchange -->\n<!-- agent:status -->\n```\nx\n```\n<!-- /agent:status -->\n";
    let made = put(text, "status", "done").unwrap();
    assert_eq!(made, text.replace("```\nx\n```\n", "done\n"));
    let made = put(&made, "exchange", "### Re: A\n\n```sh\nls\n```").unwrap();
    assert!(
        made.contains("q?\n```\nopen\n\n### Re: A\n\n```sh\nls\n```\n\n<!-- /agent:exchange -->\n"),
        "{made}"
    );
    assert_eq!(components(&made).unwrap().len(), 2);
}

#[test]
fn two_blocks_for_one_component_go_in_once_each() {
    let mut text =
        "<!-- agent:exchange -->\nq\n<!-- agent:boundary:39a9 -->\n<!-- /agent:exchange -->\n".to_owned();
    let said = "<!-- patch:exchange -->\n### Re: A\n<!-- /patch:exchange -->\n<!-- patch:exchange -->\n### Re: B\n<!-- /patch:exchange -->";
    for patch in answer(said).unwrap().patches {
        text = put(&text, &patch.component, &patch.content).unwrap();
    }
    assert_eq!(
        text,
        "<!-- agent:exchange -->\nq\n<!-- agent:boundary:39a9 -->\n\n### Re: A\n\n### Re: B\n\n<!-- /agent:exchange -->\n"
    );
}

#[test]
fn nested_components_keep_each_other() {
    let text = "<!-- agent:exchange -->\na\n<!-- agent:status -->\nold\n<!-- /agent:status -->\n<!-- /agent:exchange -->\n";
    assert_eq!(put(text, "status", "new").unwrap(), text.replace("old", "new"));
    let made = put(text, "exchange", "b").unwrap();
    assert_eq!(made, text.replace("<!-- /agent:exchange", "\nb\n\n<!-- /agent:exchange"));
    for mode in [Mode::Prepend, Mode::Append] {
        assert!(apply(text, &patch("exchange", "b"), &with(mode), None).is_ok());
    }
    let gone = apply(text, &patch("exchange", "b"), &with(Mode::Replace), None);
    assert!(matches!(gone, Err(Unpatched::Breaks(Malformed { line: 3, .. }))), "{gone:?}");
}

#[test]
fn limits_drop_the_oldest() {
    let make = |body: &str| format!("<!-- agent:log -->\n{body}<!-- /agent:log -->\n");
    let limited = |mode, max_entries, max_lines| Rule { mode, max_entries, max_lines, ..Rule::default() };
    for (body, rule, after) in [
        ("e0\n\ne1\ne2\n", limited(Mode::Append, 3, 0), "e1\ne2\nnew\n"),
        ("e0\n\ne1\n\n", limited(Mode::Append, 2, 0), "e1\n\nnew\n"),
        ("e0\ne1\n", limited(Mode::Append, 9, 0), "e0\ne1\nnew\n"),
        ("e0\ne1\n\n", limited(Mode::Prepend, 2, 0), "new\ne0\n"),
        ("e0\ne1\n", limited(Mode::Replace, 1, 0), "new\n"),
        ("e0\n\ne1\n", limited(Mode::Append, 0, 3), "\ne1\nnew\n"),
        ("é0\nж1\n", limited(Mode::Append, 0, 1), "new\n"),
    ] {
        assert_eq!(apply(&make(body), &patch("log", "new"), &rule, None).unwrap(), make(after));
    }
    let lines = apply(&make(""), &patch("log", "a\nb\nc"), &limited(Mode::Replace, 0, 2), None).unwrap();
    assert_eq!(lines, make("b\nc\n"));
    let text = "<!-- agent:log -->e0<!-- /agent:log -->";
    let made = apply(text, &patch("log", "new"), &limited(Mode::Append, 1, 0), None).unwrap();
    assert_eq!(made, "<!-- agent:log -->\nnew\n<!-- /agent:log -->");
}

#[test]
fn entries_have_their_time() {
    let text = "<!-- agent:log -->\n<!-- /agent:log -->";
    let rule = Rule { timestamp: true, ..with(Mode::Append) };
    let stamp = Some("2026-01-02T03:04:05Z");
    for (content, after) in
        [("x", "2026-01-02T03:04:05Z x"), ("```\ny\n```", "2026-01-02T03:04:05Z\n```\ny\n```")]
    {
        let made = apply(text, &patch("log", content), &rule, stamp).unwrap();
        assert_eq!(made, format!("<!-- agent:log -->\n{after}\n<!-- /agent:log -->"));
    }
    let made = apply(text, &patch("log", "x"), &with(Mode::Append), stamp).unwrap();
    assert_eq!(made, "<!-- agent:log -->\nx\n<!-- /agent:log -->");
}

#[test]
fn the_marker_comes_before_the_file_and_the_file_before_the_name() {
    let read = |text: &str| components(text).unwrap().remove(0);
    let toml = "[exchange]\nmode = \"replace\"\npatch = \"prepend\"\nmax_lines = 7\n[log]\nmode = \"append\"\ntimestamp = true\nmax_entries = 5\npre_patch = \"cat\"\npost_patch = \"true\"\nnew_key = 1\n";
    let rules = rules(toml).unwrap();
    let of = |text: &str, name: &str| rule(&read(text), rules.get(name));
    let exchange = of("<!-- agent:exchange -->\n<!-- /agent:exchange -->", "exchange");
    assert_eq!((exchange.mode, exchange.max_lines), (Mode::Prepend, 7));
    let exchange = of(
        "<!-- agent:exchange mode=replace patch=append max_lines=0 -->\n<!-- /agent:exchange -->",
        "exchange",
    );
    assert_eq!((exchange.mode, exchange.max_lines), (Mode::Append, 0));
    let exchange = of("<!-- agent:exchange mode=replace -->\n<!-- /agent:exchange -->", "");
    assert_eq!(exchange.mode, Mode::Replace);
    let log = of("<!-- agent:log -->\n<!-- /agent:log -->", "log");
    assert_eq!(
        log,
        Rule {
            mode: Mode::Append,
            timestamp: true,
            max_entries: 5,
            max_lines: 0,
            pre_patch: Some("cat".to_owned()),
            post_patch: Some("true".to_owned()),
        }
    );
    for (name, mode) in [("exchange", Mode::Append), ("findings", Mode::Append), ("status", Mode::Replace)] {
        assert_eq!(of(&format!("<!-- agent:{name} -->\n<!-- /agent:{name} -->"), "").mode, mode);
    }
    for (toml, line) in [("[a]\nmode = \"x\"\n", 2), ("\n[a\n", 2), ("[a]\n\nmax_lines = -1\n", 3)] {
        assert_eq!(super::rules(toml).unwrap_err().line, line, "{toml}");
    }
}

#[test]
fn an_answer_goes_to_the_end() {
    for (text, after) in [
        ("", ""),
        ("q", "q\n\n"),
        ("q\n", "q\n\n"),
        ("q\n\n", "q\n\n"),
        ("---\na: 1\n---\n", "---\na: 1\n---\n"),
        ("---\na: 1\n---\n## User\n\nж❯", "---\na: 1\n---\n## User\n\nж❯\n\n"),
    ] {
        let made = append_answer(text, "\nA\n\nB\n\n");
        assert_eq!(made, format!("{after}## Assistant\n\nA\n\nB\n\n## User\n\n"));
    }
    assert_eq!(append_answer("q\r\n", "A\nB"), "q\r\n\r\n## Assistant\r\n\r\nA\r\nB\r\n\r\n## User\r\n\r\n");
    assert_eq!(append_answer("q\n", "```\nA"), "q\n\n## Assistant\n\n```\nA\n```\n\n## User\n\n");
}
