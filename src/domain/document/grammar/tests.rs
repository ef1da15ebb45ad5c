use super::*;

/// Each component as `name: body`.
fn read(text: &str) -> Vec<String> {
    let found = components(text).unwrap_or_else(|bad| panic!("{bad}\n{text}"));
    for component in &found {
        assert!(
            text[component.open.clone()].starts_with("<!--") && text[component.open.clone()].ends_with("-->")
        );
        assert!(text[component.close.clone()].contains(&format!("/agent:{}", component.name)));
        assert_eq!(component.line, lines::number(text, component.open.start));
    }
    found.into_iter().map(|c| format!("{}: {}", c.name, &text[c.body])).collect()
}

#[test]
fn bodies_are_the_lines_between() {
    assert_eq!(read("a\n<!-- agent:x -->\none\ntwo\n<!-- /agent:x -->\nb"), ["x: one\ntwo\n"]);
    assert_eq!(read("<!-- agent:x -->\r\none\r\n<!-- /agent:x -->\r\n"), ["x: one\r\n"]);
    assert_eq!(read("<!-- agent:x --> \n<!-- /agent:x -->"), ["x: "]);
    assert_eq!(read("<!-- agent:x --><!-- /agent:x -->"), ["x: "]);
    assert_eq!(read("a <!-- agent:x -->v<!-- /agent:x --> b"), ["x: v"]);
    assert_eq!(read("  <!-- agent:x -->\none\n  <!-- /agent:x -->\n"), ["x: one\n"]);
    assert_eq!(read("<!--agent:x-->\n❯ ü ж\n<!--/agent:x-->"), ["x: ❯ ü ж\n"]);
    assert_eq!(read("---\nagent: '<!-- agent:y -->'\n---\n<!-- agent:x -->\n<!-- /agent:x -->"), ["x: "]);
}

#[test]
fn markers_have_names_and_attributes() {
    let text = "<!-- agent:a-1 patch=append max_lines=3 q=\"x\" on -->\n<!-- /agent:a-1 -->\n";
    let found = components(text).unwrap();
    let attrs: Vec<_> = found[0].attrs.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(attrs, [("patch", "append"), ("max_lines", "3"), ("q", "x"), ("on", "")]);
    for text in [
        "<!-- agent:boundary:26e1b6ab -->",
        "<!-- agent:boundary:26e1b6ab:t -->",
        "<!-- agent:-x -->",
        "<!-- agent:a_b -->",
        "<!-- agent: x -->",
        "<!-- agent: -->",
        "<!-- agent -->",
        "<!-- an agent:x -->",
        "<!-- agent:x\n-->",
        "<!-- agent:ü -->",
        "<!-->agent:x -->",
        "<!--->",
        "<!-- patch:x -->",
    ] {
        assert_eq!(read(text), [""; 0], "{text}");
    }
}

#[test]
fn nested_ones_are_both_there() {
    let text = "<!-- agent:a -->\n1\n<!-- agent:b -->\n2\n<!-- /agent:b -->\n3\n<!-- /agent:a -->\n";
    assert_eq!(read(text), ["a: 1\n<!-- agent:b -->\n2\n<!-- /agent:b -->\n3\n", "b: 2\n"]);
}

#[test]
fn what_does_not_nest_is_named_with_its_line() {
    for (text, line, says) in [
        ("a\n\n<!-- agent:x -->\n", 3, "\"x\" begins here"),
        ("a\n<!-- /agent:x -->\n", 2, "no component \"x\" is open"),
        ("<!-- agent:x -->\n<!-- /agent:x -->\n<!-- agent:x -->\n<!-- /agent:x -->\n", 3, "line 1"),
        ("<!-- agent:x -->\n\n<!-- agent:x -->\n<!-- /agent:x -->\n<!-- /agent:x -->\n", 3, "line 1"),
        (
            "<!-- agent:a -->\n<!-- agent:b -->\n<!-- /agent:a -->\n<!-- /agent:b -->\n",
            2,
            "\"b\" begins here",
        ),
    ] {
        let bad = components(text).unwrap_err();
        assert_eq!(bad.line, line, "{text}");
        assert!(bad.says.contains(says), "{bad}");
    }
}

#[test]
fn code_and_quotes_hide_markers() {
    for hidden in [
        "see `<!-- agent:y -->` and ``<!-- /agent:x -->``\n",
        "`a\n<b> <!-- agent:y -->`\n",
        "```\n<!-- agent:y -->\n```\n",
        "```md\n<!-- /agent:x -->\n```\n",
        "~~~\n<!-- /agent:x -->\n~~~\n",
        "~~~~~ info\n~~~\n<!-- /agent:x -->\n```\n~~~~~~\n",
        "````\n```\n<!-- /agent:x -->\n```\n````\n",
        "   ```\n   <!-- /agent:x -->\n   ```\n",
        "- item\n\n  ```\n  <!-- /agent:x -->\n  ```\n",
        "1. a\n   - b\n     ~~~\n     <!-- agent:y -->\n     ~~~\n",
        "text\n\n    <!-- /agent:x -->\n\n    <!-- agent:boundary:1 -->\n",
        "\t<!-- agent:y -->\n",
        "> <!-- agent:y -->\n> <!-- agent:boundary:12 -->\n",
        "> ```\n> <!-- /agent:x -->\n> ```\n",
        "> > - <!-- /agent:x -->\n",
        "> a\nlazy <!-- agent:y -->\n",
    ] {
        let whole =
            format!("<!-- agent:x -->\n\n{hidden}\n<!-- /agent:x -->\n<!-- agent:z -->\n<!-- /agent:z -->\n");
        for text in [whole.clone(), whole.replace('\n', "\r\n")] {
            let eol = lines::ending(&text);
            let hidden = lines::with_ending(hidden, eol);
            assert_eq!(read(&text), [format!("x: {eol}{hidden}{eol}"), "z: ".to_owned()]);
        }
    }
}

#[test]
fn a_comment_without_an_end_hides_nothing() {
    for open in ["<!-- not ours\n", "prose with <!-- in it\n", "a <!--\n\nb <!-- c\n", "`<!--` and <!-- x"] {
        let text = format!("{open}\n<!-- agent:x -->\n{open}\n<!-- /agent:x -->\n{open}");
        assert_eq!(read(&text), [format!("x: {open}\n")]);
    }
}

#[test]
fn an_open_fence_ends_with_its_component() {
    for fence in ["```", "```bash", "~~~~", "- a\n\n  ```", "   ```"] {
        let x = format!("{fence}\ncode\n");
        let first = format!("<!-- agent:x -->\n{x}<!-- /agent:x -->\n");
        assert_eq!(read(&first), [format!("x: {x}")]);
        for y in
            ["y\n", "```\ny\n```\n", "```a\ny\n```\n\n~~~~\n~~~~\n", "`<!-- /agent:y -->`\n", "```\nopen\n"]
        {
            let text = format!("{first}\nbetween\n<!-- agent:y -->\n{y}<!-- /agent:y -->\n");
            for text in [text.clone(), text.replace('\n', "\r\n")] {
                let eol = lines::ending(&text);
                let whole = |text: &str| lines::with_ending(text, eol);
                assert_eq!(read(&text), [whole(&format!("x: {x}")), whole(&format!("y: {y}"))]);
            }
        }
    }
}

#[test]
fn an_open_fence_leaves_closed_ones_alone() {
    let shown = "```\n<!-- agent:x -->\n<!-- /agent:x -->\n```\n";
    let text = format!("<!-- agent:x -->\n{shown}mine:\n```\nopen\n<!-- /agent:x -->\ntail\n");
    assert_eq!(read(&text), [format!("x: {shown}mine:\n```\nopen\n")]);
}

#[test]
fn an_open_fence_before_components_hides_none() {
    for rest in [
        "<!-- agent:x -->\n1\n<!-- /agent:x -->\n",
        "<!-- agent:x -->\n1\n<!-- /agent:x -->\n<!-- agent:y -->\n```\nb\n",
        "<!-- agent:x -->\n```sh\n1\n```\n<!-- /agent:x -->\n<!-- agent:y -->\n```sh\nb\n```\n",
    ] {
        let rest = if rest.contains(":y") { format!("{rest}<!-- /agent:y -->\n") } else { rest.to_owned() };
        let text = format!("# T\n```\nopen\n{rest}");
        let names: Vec<_> = components(&text).unwrap().into_iter().map(|c| c.name).collect();
        assert_eq!(names, if rest.contains(":y") { vec!["x", "y"] } else { vec!["x"] }, "{text}");
    }
    // What is no whole component stays code.
    assert_eq!(read("```\n<!-- agent:x -->\n"), [""; 0]);
    assert_eq!(read("a\n```\n<!-- /agent:x -->\n"), [""; 0]);
}

#[test]
fn regions_in_an_open_fence_count_if_they_are_whole() {
    let inner = "<!-- agent:b -->\n2\n<!-- /agent:b -->\n";
    let text = format!("<!-- agent:a -->\n```\n{inner}<!-- /agent:a -->\n");
    assert_eq!(read(&text), [format!("a: ```\n{inner}"), "b: 2\n".to_owned()]);
    let text = "<!-- agent:a -->\n```\n<!-- agent:b -->\n<!-- /agent:a -->\n";
    assert_eq!(read(text), ["a: ```\n<!-- agent:b -->\n"]);
}

#[test]
fn many_open_fences_end_somewhere() {
    let mut text = String::new();
    for n in 0..200 {
        text += &format!("<!-- agent:c{n} -->\n```\n<!-- /agent:c{n} -->\n");
    }
    // However it is read, it is read.
    let _ = components(&text);
    for n in 0..20 {
        let one = format!("<!-- agent:c{n} -->\n```a\n<!-- /agent:c{n} -->\n");
        text = if n == 0 { one } else { text + &one };
    }
    assert_eq!(components(&text).unwrap().len(), 20);
}

#[test]
fn comments_go_with_their_lines() {
    for (text, after) in [
        ("a\n<!-- x -->\nb\n", "a\nb\n"),
        ("a <!-- x --> b\n", "a  b\n"),
        ("a\n  <!-- x\n\ny -->  \nb\n", "a\nb\n"),
        ("a\r\n<!-- x -->\r\nb\r\n", "a\r\nb\r\n"),
        ("<!-- x --> a\n", " a\n"),
        ("a\n[//]: # (note)\nb\n", "a\nb\n"),
        ("a\n  [//]: # (note) \nb", "a\nb"),
        ("[//]: # other\nx [//]: # (y)\n", "[//]: # other\nx [//]: # (y)\n"),
        ("<!-- agent:x -->\n<!-- y -->\nz\n<!-- /agent:x -->\n", "<!-- agent:x -->\nz\n<!-- /agent:x -->\n"),
        ("a\n<!-- agent:boundary:ab -->\nb\n", "a\nb\n"),
        ("```\n<!-- x -->\n[//]: # (y)\n```\n", "```\n<!-- x -->\n[//]: # (y)\n```\n"),
        ("`<!-- x -->`\n\n    <!-- y -->\n", "`<!-- x -->`\n\n    <!-- y -->\n"),
        ("> a <!-- x -->\n", "> a \n"),
        ("a <!-- open\nb\n", "a <!-- open\nb\n"),
        ("a <!-- open\n\nb -->\n", "a <!-- open\n\nb -->\n"),
        (
            "<!-- open\n<!-- agent:x -->\nq?\n<!-- /agent:x -->\n",
            "<!-- open\n<!-- agent:x -->\nq?\n<!-- /agent:x -->\n",
        ),
        ("---\na: <!-- x -->\n---\n<!-- ü -->ж<!-- -->\n", "---\na: <!-- x -->\n---\nж\n"),
        (" <!-- a --> <!-- b -->\nc\n", "c\n"),
        ("d <!-- a --> <!-- b -->\nc\n", "d  \nc\n"),
        ("\u{feff}<!-- a -->\nc\n", "\u{feff}c\n"),
        ("<!-- a -->", ""),
    ] {
        assert_eq!(strip_comments(text), after);
        assert_eq!(strip_comments(after), after);
    }
}
