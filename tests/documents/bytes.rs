//! No byte of the person's changes but where the answer goes in.

use super::Doc;
use super::FRONT;
use super::ID;
use super::block;
use super::exchange;
use super::with_status;
use crate::support::World;
use std::fs;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::rc::Rc;

/// One turn on a document of this text.
#[track_caller]
fn answered(text: &str, answer: &str, after: &str) {
    let doc = Doc::new(text);
    doc.send();
    doc.respond(answer);
    doc.is(after);
}

#[test]
fn line_endings_stay_and_what_comes_in_has_them() {
    let crlf = |text: &str| text.replace('\n', "\r\n");
    let answer = "A.\n\n```sh\nls\n```\n";
    answered(&exchange("Q?\n"), answer, &exchange("Q?\n\nA.\n\n```sh\nls\n```\n\n"));
    answered(&crlf(&exchange("Q?\n")), answer, &crlf(&exchange("Q?\n\nA.\n\n```sh\nls\n```\n\n")));
    answered(&crlf(&exchange("Q?\n")), &crlf(answer), &crlf(&exchange("Q?\n\nA.\n\n```sh\nls\n```\n\n")));
    answered(&exchange("Q?\n"), &crlf(answer), &exchange("Q?\n\nA.\n\n```sh\nls\n```\n\n"));
    // A few lines of another kind stay what they are.
    let mixed = |said: &str| crlf(&exchange(said)).replace("# T\r\n", "# T\n").replace("one\r\n", "one\n");
    answered(&mixed("one\ntwo\n"), "A.\n", &mixed("one\ntwo\n\nA.\n\n"));
    // A commit alone, and a write of nothing new, touch no byte.
    let doc = Doc::new(&crlf(&exchange("Q?\n")));
    doc.send();
    doc.run("commit", &[]).ok();
    assert_eq!(doc.text(), crlf(&exchange("Q?\n")));
    assert_eq!(doc.head(), crlf(&exchange("Q?\n")));
}

#[test]
fn a_text_without_a_last_line_feed_keeps_having_none() {
    let cut = |text: String| text.strip_suffix('\n').unwrap().to_owned();
    answered(&cut(exchange("Q?\n")), "A.\n", &cut(exchange("Q?\n\nA.\n\n")));
    let tail = |text: String| format!("{text}\nThe end.");
    answered(&tail(exchange("Q?\n")), "A.\n", &tail(exchange("Q?\n\nA.\n\n")));
    let append = "---\nskein_doc: 01jgzzzzzzzzzzzzzzzzzzzzzz\nagent_doc_format: append\n---\n## User\n\nQ?";
    answered(append, "A.", &format!("{append}\n\n## Assistant\n\nA.\n\n## User\n\n"));
}

#[test]
fn a_link_stays_a_link_and_what_it_leads_to_is_written() {
    let world = World::in_memory();
    world.write("real/t.md", &exchange("Q?\n"));
    symlink("real/t.md", world.path("t.md")).unwrap();
    let before = world.commit("a document behind a link");
    let doc = Doc::in_world(world, "t.md");
    doc.send();
    doc.respond("A.\n");
    let after = exchange("Q?\n\nA.\n\n");
    assert_eq!(fs::read_link(doc.world.path("t.md")).unwrap(), Path::new("real/t.md"));
    assert_eq!(
        (doc.text(), doc.blob("HEAD:real/t.md"), doc.head()),
        (after.clone(), after, "real/t.md".into())
    );
    assert!(doc.world.git(["ls-tree", "HEAD", "t.md"]).starts_with("120000 blob "));
    assert_eq!(doc.world.git(["diff", "--name-only", &before, "HEAD"]), "real/t.md");
    assert_eq!(doc.world.git(["status", "--porcelain"]), "");
    doc.tidy();
}

#[test]
fn a_file_keeps_its_permissions() {
    for (bits, entry) in
        [(0o755, "100755"), (0o700, "100755"), (0o644, "100644"), (0o600, "100644"), (0o664, "100644")]
    {
        let doc = Doc::in_world(World::in_memory(), "t.md");
        doc.put(&exchange("Q?\n"));
        fs::set_permissions(doc.world.path("t.md"), Permissions::from_mode(bits)).unwrap();
        // Once into a commit that does not have it yet, once into one that does.
        doc.send();
        doc.respond("A.\n");
        doc.is(&exchange("Q?\n\nA.\n\n"));
        doc.send_after(&exchange("Q?\n\nA.\n\nMore?\n"));
        doc.respond("B.\n");
        doc.is(&exchange("Q?\n\nA.\n\nMore?\n\nB.\n\n"));
        doc.fed("patch", &["exchange"], "C.").ok();
        let mode = fs::metadata(doc.world.path("t.md")).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, bits, "{bits:o}");
        assert!(doc.world.git(["ls-tree", "HEAD", "t.md"]).starts_with(entry), "{bits:o}");
    }
}

#[test]
fn front_matter_gets_one_line_and_loses_nothing() {
    let body = "\n# T\n\n<!-- agent:exchange -->\nQ?\n<!-- /agent:exchange -->\n";
    let odd = "# a comment\ntitle:   'It''s'   # why\n\ntags: [b,   a]\n\"quoted key\": \"x\\ty\"\nunknown:\n  - x\n\n  # deep\n  - y\n";
    let fenced = |front: &str, end: &str| format!("---\n{front}{end}\n{body}");
    for (before, after) in [
        (fenced(odd, "---"), fenced(&format!("{odd}ID\n"), "---")),
        (fenced(odd, "..."), fenced(&format!("{odd}ID\n"), "...")),
        (fenced("", "---"), fenced("ID\n", "---")),
        (fenced("# only a comment\n", "---"), fenced("# only a comment\nID\n", "---")),
        (body.to_owned(), format!("---\nID\n---\n{body}")),
        (
            format!("\u{feff}{}", fenced(odd, "---")),
            format!("\u{feff}{}", fenced(&format!("{odd}ID\n"), "---")),
        ),
        (format!("\u{feff}{body}"), format!("\u{feff}---\nID\n---\n{body}")),
    ] {
        for eol in ["\n", "\r\n"] {
            let with = |text: &str| text.replace('\n', eol);
            let doc = Doc::new(&with(&before));
            let head = doc.world.head();
            let made = doc.run("claim", &["--json"]).ok().json()["result"].clone();
            let line = format!("skein_doc: {}", made["doc"].as_str().unwrap());
            let after = with(&after).replacen("ID", &line, 1);
            assert_eq!(doc.text(), after);
            assert_eq!(doc.world.head(), head);
            assert_eq!(doc.run("claim", &["--json"]).ok().json()["result"]["already"], true);
            assert_eq!(doc.text(), after);
            doc.send();
            doc.respond("A.\n");
            let after = after.replace(&with("Q?\n"), &with("Q?\n\nA.\n\n"));
            assert_eq!((doc.text(), doc.head()), (after.clone(), after));
            doc.tidy();
        }
    }
}

/// The marks of other tools are the person's text like any other.
#[test]
fn what_looks_like_a_mark_of_a_tool_stays() {
    for line in [
        "## git reset (HEAD)",
        "# build it (HEAD)",
        "### Re: A (HEAD)",
        "❯ prompt",
        "<!-- agent:boundary:26e1b6ab -->",
        "> <!-- agent:boundary:26e1b6ab -->",
        "    <!-- agent:boundary:26e1b6ab -->",
        "<<<<<<< agent-response",
        "```bash\n# build it\nmake\n```",
    ] {
        let said = |more: &str| format!("{line}\n{more}{line}\n");
        let text = exchange(&said("Q?\n")).replace("# T\n", &format!("# T\n\n{line}\n"));
        let after = text.replace("<!-- /agent:exchange -->", "\nA.\n\n<!-- /agent:exchange -->");
        answered(&text, "A.\n", &after);
    }
    // Nor is such a mark made of what the agent says.
    answered(
        &exchange("Q?\n"),
        "### Re: Q\n\n```bash\n# build it\nmake\n```\n",
        &exchange("Q?\n\n### Re: Q\n\n```bash\n# build it\nmake\n```\n\n"),
    );
}

#[test]
fn a_marker_that_is_shown_as_code_is_none() {
    for shown in [
        "see `<!-- /agent:exchange -->` here\n",
        "see ``<!-- agent:exchange --> ` <!-- /agent:exchange -->`` here\n",
        "```\n<!-- /agent:exchange -->\n```\n",
        "~~~ md\n<!-- agent:exchange -->\n~~~\n",
        "````\n```\n<!-- /agent:exchange -->\n```\n````\n",
        "- item\n\n  ```\n  <!-- /agent:exchange -->\n  ```\n",
        "> <!-- /agent:exchange -->\n",
        "> ```\n> <!-- /agent:exchange -->\n> ```\n",
        "text\n\n    <!-- /agent:exchange -->\n",
        "text\n\n\t<!-- agent:status -->\n",
        "a <!-- comment --> and <!-- not ours in prose\n",
        "<!-- patch:exchange -->\n",
    ] {
        // In the exchange, above it, and in what the agent says.
        answered(&exchange(shown), "A.\n", &exchange(&format!("{shown}\nA.\n\n")));
        let above = |said: &str| exchange(said).replace("# T\n", &format!("# T\n\n{shown}"));
        answered(&above("Q?\n"), "A.\n", &above("Q?\n\nA.\n\n"));
        if !shown.contains("patch:") {
            let answer = block("exchange", &format!("So:\n\n{shown}"));
            answered(&exchange("Q?\n"), &answer, &exchange(&format!("Q?\n\nSo:\n\n{shown}\n")));
        }
    }
}

#[test]
fn what_stands_twice_stays_twice() {
    let list = "- a\n- b\n";
    let text = |top: &str, said: &str| {
        exchange(said).replace("# T\n", &format!("# T\n\n{top}\n\n{list}\n{list}\n{list}"))
    };
    let doc = Doc::new(&text("Top.", "### Re: A\n\none\n\n### Re: A\n\ntwo\n\nQ?\n"));
    doc.send();
    doc.change("Top.", "Top, changed.");
    doc.respond("### Re: A\n\none\n");
    let said = "### Re: A\n\none\n\n### Re: A\n\ntwo\n\nQ?\n\n### Re: A\n\none\n\n";
    assert_eq!(doc.text(), text("Top, changed.", said));
    assert_eq!(doc.head(), text("Top.", said));
}

#[test]
fn blank_lines_and_blanks_at_ends_stay() {
    let text = |said: &str| exchange(said).replace("# T\n", "# T  \n\n\n\n\ttab\t\n \n   \n");
    let said = "Q?  \n\n\n\n  more \n\n\n";
    answered(&text(said), "A.  \n\n\n\nB.\n", &text(&format!("{said}A.  \n\n\n\nB.\n\n")));
}

#[test]
fn a_name_may_be_any_that_git_takes() {
    for name in [
        "with space.md",
        "it's \"quoted\".md",
        "пример.md",
        "ünï ❯ 🙂.md",
        "./-x.md",
        "./--json",
        "line\nfeed.md",
        "deep er/$HOME `x` \\.md",
        "*.md",
        ":(top)x.md",
        "%41 {} [a].md",
    ] {
        let doc = Doc::named(name, &exchange("Q?\n"));
        doc.world.write("other.md", "not meant\n");
        doc.world.commit("more");
        doc.send();
        doc.write("A.\n");
        doc.run("commit", &[]).ok();
        doc.is(&exchange("Q?\n\nA.\n\n"));
        doc.send_after(&exchange("Q?\n\nA.\n\nMore?\n"));
        doc.respond("B.\n");
        let whole = exchange("Q?\n\nA.\n\nMore?\n\nB.\n\n");
        doc.is(&whole);
        let history = doc.run("history", &["--json"]).ok().json()["result"]["commits"].clone();
        assert_eq!(history.as_array().unwrap().len(), 3, "{name}: {history}");
        for verb in ["diff", "status", "turns", "conflicts", "outline", "history", "recover", "dedupe"] {
            let path = doc.run(verb, &["--json"]).ok().json()["result"]["path"].clone();
            assert_eq!(path, name, "{verb}");
        }
        assert_eq!(doc.run("show", &[]).ok().out, whole);
        doc.run("turn undo", &["2"]).ok();
        assert_eq!(doc.text(), exchange("Q?\n\nA.\n\nMore?\n"));
        doc.run("turn redo", &["2"]).ok();
        assert_eq!(doc.text(), whole);
        doc.run("clean", &[]).ok();
        doc.is(&whole);
        doc.run("reset", &[]).ok();
        assert_eq!(doc.preflight()["no_changes"], false);
    }
    let doc = Doc::named("-x.md", &exchange("Q?\n"));
    let said = doc.world.skein(&["doc", "diff", "--", "-x.md"]).ok();
    assert!(said.out.contains("+Q?\n"), "{}", said.out);
}

#[test]
fn a_glyph_is_never_cut() {
    let long = format!("{}é❯🙂{}", "x".repeat(71), "ж".repeat(80));
    let doc = Doc::new(&exchange(&format!("{long}\n")));
    doc.send();
    doc.respond(&format!("### Re: {long}\n\n{long}\n"));
    doc.is(&exchange(&format!("{long}\n\n### Re: {long}\n\n{long}\n\n")));
    for verb in ["history", "turns", "outline", "status", "turn show 1"] {
        let mut words = verb.split(' ');
        let verb = words.by_ref().take(2).collect::<Vec<_>>();
        let more: Vec<&str> = words.collect();
        let ran = doc.run(&verb.join(" "), &more).ok();
        assert!(!ran.out.is_empty(), "{verb:?}");
    }
    // Words of one line that both changed are merged by glyphs, not by bytes.
    let doc = Doc::new(&with_status("ein schöner Täg heute\n", ""));
    doc.send();
    doc.change("heute", "mörgen");
    doc.respond(&block("status", "kein schöner Täg heute"));
    assert_eq!(doc.text(), with_status("kein schöner Täg mörgen\n", ""));
}

/// Line endings × last line × byte order mark × code and glyphs × what the person does meanwhile.
const SHAPES: usize = 2 * 2 * 2 * 2 * 5;

#[test]
fn every_byte_is_where_it_belongs() {
    every_byte(World::in_memory(), 0..SHAPES, |_| {});
}

/// The same shapes, some in each state that a repository can be in.
#[test]
fn every_byte_is_where_it_belongs_in_every_state() {
    let some = |from: usize| (from..SHAPES).step_by(7);
    let stage = |world: &World| {
        world.write("staged.txt", "staged\n");
        world.git(["add", "staged.txt"]);
        world.write("a.txt", "half of it\n");
        world.git(["add", "a.txt"]);
        world.write("a.txt", "half of it\nand the rest\n");
    };
    let world = every_byte(World::in_memory(), some(0), stage);
    assert_eq!(world.git(["diff", "--cached", "--name-only"]), "a.txt\nstaged.txt");
    assert_eq!(world.git(["diff", "--name-only", "a.txt"]), "a.txt");
    let world =
        every_byte(World::in_memory(), some(1), |world| drop(world.git(["checkout", "-q", "--detach"])));
    assert_eq!(world.git(["rev-list", "--count", "main..HEAD"]), some(1).count().to_string());
    let mut world = World::in_memory();
    let linked = world.root().join("linked");
    world.git(["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    (world.repo, world.cwd) = (linked.clone(), linked);
    let world = every_byte(world, some(2), |_| {});
    assert_eq!(world.git(["symbolic-ref", "HEAD"]), "refs/heads/side");
    every_byte(World::with_formats(&["--object-format=sha256"]), some(3), |_| {});
    let world = World::in_memory();
    world.git(["config", "core.autocrlf", "input"]);
    let unix = some(4).filter(|n| n % 2 == 0);
    every_byte(world, unix, |_| {});
}

/// One turn on a document of each of these shapes, after the repository was brought into a state.
fn every_byte(world: World, shapes: impl Iterator<Item = usize>, state: impl Fn(&World)) -> Rc<World> {
    let world = Rc::new(world);
    let mut docs = Vec::new();
    for n in shapes {
        let (crlf, cut, bom, odd, edit) =
            (n % 2 == 1, n / 2 % 2 == 1, n / 4 % 2 == 1, n / 8 % 2 == 1, n / 16);
        let id = format!("{}{n:03}", &ID[..23]);
        let make = move |top: &str, status: &str, said: &str| {
            let front = FRONT.replace(ID, &id);
            let body = format!(
                "# T\n\n{top}\n\n<!-- agent:status -->\n{status}\n<!-- /agent:status -->\n\n<!-- agent:exchange -->\n{said}<!-- /agent:exchange -->"
            );
            let end = if cut { "" } else { "\n" };
            let text = format!("{}{front}{body}{end}", if bom { "\u{feff}" } else { "" });
            if crlf { text.replace('\n', "\r\n") } else { text }
        };
        let file = format!("t{n}.md");
        let asked = if odd { "❯ é ж?\n\n~~~~\n<!-- /agent:status -->\n~~~\n~~~~\n" } else { "Q?\n" };
        world.write(&file, &make("Top.", "open", asked));
        docs.push((file, make, asked, odd, edit));
    }
    world.commit("documents");
    state(&world);
    for (file, make, asked, odd, edit) in docs {
        let doc = Doc::in_world(Rc::clone(&world), &file);
        doc.send();
        let (top, said) = match edit {
            1 => ("Top, changed.", asked.to_owned()),
            2 => ("Top.", format!("{asked}And more?\n")),
            3 => ("Top.", String::new()),
            4 => ("", format!("First:\n{asked}")),
            _ => ("Top.", asked.to_owned()),
        };
        doc.put(&make(top, "open", &said));
        let answer = if odd {
            "### Re: é 🙂\n\n```sh\nls # <!-- /agent:exchange -->\n```"
        } else {
            "### Re: Q\n\nA."
        };
        doc.respond(&format!("{}{}", block("status", "done"), block("exchange", answer)));
        let after = match edit {
            2 => format!("{asked}\n{answer}\n\nAnd more?\n"),
            _ => format!("{said}\n{answer}\n\n"),
        };
        assert_eq!(doc.text(), make(top, "done", &after), "{file}: the file");
        assert_eq!(doc.head(), make("Top.", "done", &format!("{asked}\n{answer}\n\n")), "{file}: HEAD");
    }
    world
}
