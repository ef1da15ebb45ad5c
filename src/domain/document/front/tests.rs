use super::*;

fn read(text: &str) -> Front {
    front(text).unwrap()
}

#[test]
fn keys_are_read() {
    let text = "---\nskein_doc: 01JA\nagent_doc_session: 7f0e8a2c-0000\nagent: codex # mine\nmodel: 1.10\nbranch: 'a b'\nclaude_args: \"--x --y\"\nother: [1, 2]\n1: 2\n---\nbody\n";
    let Front { body, fields } = read(text);
    assert_eq!(&text[body..], "body\n");
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        fields,
        Fields {
            skein_doc: some("01JA"),
            session: some("7f0e8a2c-0000"),
            agent: some("codex"),
            model: some("1.10"),
            branch: some("a b"),
            claude_args: some("--x --y"),
            ..Fields::default()
        }
    );
    assert_eq!(read("---\nsession: old\n---\n").fields.session.as_deref(), Some("old"));
    assert_eq!(read("---\nsession: a\nagent_doc_session: b\n---\n").fields.session.as_deref(), Some("b"));
    assert_eq!(read("---\nbranch: on\n---\n").fields.branch.as_deref(), Some("on"));
    assert_eq!(read("---\nagent:\nmodel: ~\n---\n").fields, Fields::default());
}

#[test]
fn explicit_comes_before_the_single_mode() {
    for (yaml, format, write) in [
        ("", Format::Template, Strategy::Crdt),
        ("agent_doc_mode: append", Format::Append, Strategy::Crdt),
        ("agent_doc_mode: template", Format::Template, Strategy::Crdt),
        ("agent_doc_mode: stream", Format::Template, Strategy::Crdt),
        ("mode: append", Format::Append, Strategy::Crdt),
        ("response_mode: append", Format::Append, Strategy::Crdt),
        ("agent_doc_mode: append\nagent_doc_format: template", Format::Template, Strategy::Crdt),
        ("agent_doc_format: inline", Format::Append, Strategy::Crdt),
        ("agent_doc_format: append\nagent_doc_write: merge", Format::Append, Strategy::Merge),
        ("mode: stream\nagent_doc_write: merge", Format::Template, Strategy::Merge),
        ("mode: dark", Format::Template, Strategy::Crdt),
    ] {
        let fields = read(&format!("---\n{yaml}\n---\n")).fields;
        assert_eq!((fields.format, fields.write), (format, write), "{yaml}");
    }
}

#[test]
fn fences_of_every_kind() {
    for (text, body) in [
        ("", ""),
        ("text\n", "text\n"),
        ("\u{feff}text\n", "text\n"),
        ("---\n---\ntext", "text"),
        ("---\n\n# only a comment\n---\ntext", "text"),
        ("\u{feff}---\nagent: x\n...\ntext", "text"),
        ("---\r\nagent: x\r\n---\r\n\r\ntext\r\n", "\r\ntext\r\n"),
        ("---\nagent: x\n---", ""),
        ("---\n\nagent: [never closed\n", "---\n\nagent: [never closed\n"),
        ("---", "---"),
        (" ---\nagent: x\n---\n", " ---\nagent: x\n---\n"),
        ("----\nagent: x\n---\n", "----\nagent: x\n---\n"),
    ] {
        assert_eq!(&text[read(text).body..], body, "{text:?}");
    }
    assert_eq!(read("\u{feff}---\r\nagent: x\r\n...\r\n").fields.agent.as_deref(), Some("x"));
}

#[test]
fn what_cannot_be_read_is_named_with_its_line() {
    for (text, line) in [
        ("---\nagent: x\nmodel: [a\n---\n", 0),
        ("---\nagent: x\nagent: y\n---\n", 3),
        ("---\njust a text\n---\n", 2),
        ("---\na: 1\n\nagent: [x]\n---\n", 4),
        ("---\r\na: 1\r\nmodel: {b: c}\r\n---\r\n", 3),
        ("---\nskein_doc: true\n---\n", 2),
        ("---\nx: 1\nagent_doc_format: fancy\n---\n", 3),
        ("---\nagent_doc_write: both\n---\n", 2),
        ("---\nagent_doc_mode: 3\n---\n", 2),
    ] {
        let bad = front(text).unwrap_err();
        assert!(line == 0 || bad.line == line, "{text:?} {bad:?}");
        assert!(!bad.says.contains('\n'), "{bad:?}");
        assert_eq!(set(text, "skein_doc", "01").unwrap_err(), bad, "no write");
    }
}

#[test]
fn only_the_owned_line_changes() {
    for (text, after) in [
        // A key that is there.
        (
            "---\n# mine\nskein_doc: old  # keep\ntitle: 'A: b'\n\ntags: [a,  b]\n---\nskein_doc: x\n",
            "---\n# mine\nskein_doc: new  # keep\ntitle: 'A: b'\n\ntags: [a,  b]\n---\nskein_doc: x\n",
        ),
        ("---\r\nskein_doc:\r\nz: 1\r\n---\r\n\r\nx", "---\r\nskein_doc: new\r\nz: 1\r\n---\r\n\r\nx"),
        ("---\nskein_doc: \"a # b\"\n---\n", "---\nskein_doc: new\n---\n"),
        ("---\n\"skein_doc\":   old\n---\n", "---\n\"skein_doc\":   new\n---\n"),
        ("---\nskein_doc: >\n  a\n\n  b\n\n# c\nz: 1\n---\n", "---\nskein_doc: new\n\n# c\nz: 1\n---\n"),
        ("---\nskein_doc: new # same\n---\n", "---\nskein_doc: new # same\n---\n"),
        // One that is not.
        ("---\n---\nx", "---\nskein_doc: new\n---\nx"),
        ("---\na: 1 # c\n\n---\nx\n", "---\na: 1 # c\n\nskein_doc: new\n---\nx\n"),
        ("\u{feff}---\r\na: 1\r\n...\r\nx\r\n", "\u{feff}---\r\na: 1\r\nskein_doc: new\r\n...\r\nx\r\n"),
        ("---\na:\n  skein_doc: x\n---\n", "---\na:\n  skein_doc: x\nskein_doc: new\n---\n"),
        ("---\na: 1\n---", "---\na: 1\nskein_doc: new\n---"),
        // No front matter.
        ("", "---\nskein_doc: new\n---\n"),
        ("x\r\ny\r\n", "---\r\nskein_doc: new\r\n---\r\nx\r\ny\r\n"),
        ("\u{feff}x", "\u{feff}---\nskein_doc: new\n---\nx"),
        ("---\n\nx\n", "---\nskein_doc: new\n---\n---\n\nx\n"),
    ] {
        let set = set(text, "skein_doc", "new").unwrap();
        assert_eq!(set, after);
        assert_eq!(read(&set).fields.skein_doc.as_deref(), Some("new"));
    }
}

#[test]
fn values_are_quoted_where_they_mean_something() {
    for (value, said) in [
        ("gpt-5.1", "gpt-5.1"),
        ("a b", "a b"),
        ("1.10", "\"1.10\""),
        ("01234567890123456789E12345", "\"01234567890123456789E12345\""),
        ("true", "\"true\""),
        ("on", "\"on\""),
        ("", "\"\""),
        (" x", "\" x\""),
        ("a: b # c", "\"a: b # c\""),
        ("é\n\"q\"\\", "\"é\\n\\\"q\\\"\\\\\""),
        ("- x", "\"- x\""),
    ] {
        for text in ["x\n", "---\nmodel: y\n---\nx\n", "---\n---\nx\n"] {
            assert_eq!(set(text, "model", value).unwrap(), format!("---\nmodel: {said}\n---\nx\n"));
        }
    }
}

#[test]
fn what_is_no_list_of_lines_is_left_alone() {
    for text in ["---\n{a: 1}\n---\n", "---\nmodel: {a: 1,\nb: 2}\n---\n", "---\n? model\n: x\n---\n"] {
        assert!(set(text, "model", "y").is_err(), "{text}");
    }
}
