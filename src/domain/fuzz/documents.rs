//! Session documents and what an agent answers in them.

use crate::domain::document::Component;
use crate::domain::document::Mode;
use crate::domain::document::Patch;
use crate::domain::document::Rule;
use crate::domain::document::Touched;
use crate::domain::document::answer;
use crate::domain::document::append_answer;
use crate::domain::document::apply;
use crate::domain::document::common;
use crate::domain::document::components;
use crate::domain::document::dedupe;
use crate::domain::document::front;
use crate::domain::document::graft;
use crate::domain::document::outline;
use crate::domain::document::rule;
use crate::domain::document::rules;
use crate::domain::document::set;
use crate::domain::document::skeleton;
use crate::domain::document::strip_comments;
use crate::domain::document::tasks;
use crate::domain::fuzz::parts;
use crate::domain::fuzz::text;

/// The front matter: what is set can be read again, the text below it keeps every byte, and so does what is set twice.
pub fn front_matter(bytes: &[u8]) {
    let [document, value] = parts(bytes).map(text);
    let read = front(&document);
    if let Ok(read) = &read {
        assert!(document.is_char_boundary(read.body));
    }
    for (key, value) in [("skein_doc", "01k00000000000000000000d0c"), ("model", value.as_str())] {
        let Ok(made) = set(&document, key, value) else {
            assert!(
                document.trim_start_matches('\u{feff}').starts_with("---"),
                "only what is there can be bad"
            );
            continue;
        };
        let now = front(&made).unwrap();
        let below = read.as_ref().map_or(&document[..], |read| &document[read.body..]);
        assert_eq!(&made[now.body..], below);
        if key == "skein_doc" {
            assert_eq!(now.fields.skein_doc.as_deref(), Some(value));
        }
        assert_eq!(set(&made, key, value).unwrap(), made, "the same again");
    }
}

/// Components, comments, sections, open tasks, doubled answers; and a patch into each component.
pub fn document(bytes: &[u8]) {
    let [document, said] = parts(bytes).map(text);
    read_only(&document);
    assert!(append_answer(&document, &said).starts_with(&document));
    let Ok(before) = components(&document) else { return };
    bodies(&document, &before);
    for target in before.iter().take(6) {
        for mode in [Mode::Replace, Mode::Append, Mode::Prepend] {
            let patch = Patch { component: target.name.clone(), content: said.clone() };
            let rule = Rule { mode, ..Rule::default() };
            let Ok(made) = apply(&document, &patch, &rule, Some("12:00")) else { continue };
            assert!(made.starts_with(&document[..target.open.end]));
            assert!(made.ends_with(&document[target.close.start..]));
            let names = |all: &[Component]| all.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
            assert_eq!(names(&components(&made).unwrap()), names(&before));
            if mode == Mode::Append {
                assert!(made.starts_with(&document[..target.body.end]));
                let touched = Touched::Components(vec![target.name.clone()]);
                if let Ok(grafted) = graft(&document, &document, &made, &touched) {
                    assert_eq!(grafted.text, made, "nobody else wrote");
                }
            }
        }
    }
}

/// What changes nothing but what it has to.
pub(super) fn read_only(document: &str) {
    let lines = document.lines().count();
    let sections = outline(document);
    assert!(sections.iter().all(|s| s.line <= lines && s.line > 0 && s.lines <= lines));
    assert!(sections.windows(2).all(|two| two[0].line <= two[1].line), "{sections:?}");
    let stripped = strip_comments(document);
    assert!(stripped.len() <= document.len());
    let once = dedupe(document);
    assert!(once.len() <= document.len());
    assert_eq!(dedupe(&once), once);
    let found = tasks(document);
    assert!(found.len() <= document.matches("[ ]").count(), "{found:?}");
    if let (Ok(read), Ok(all)) = (front(document), components(document))
        && let Ok(bones) = skeleton(document, read.body)
    {
        assert!(components(&bones).is_ok_and(|now| now.len() == all.len()), "{bones:?}");
    }
}

/// Components stand in order, each between its markers, and lie in one another or apart.
fn bodies(document: &str, all: &[Component]) {
    for one in all {
        assert!(one.open.end <= one.body.start && one.body.end <= one.close.start, "{one:?}");
        assert!(
            document[one.open.clone()].starts_with("<!--") && document[one.close.clone()].ends_with("-->")
        );
        assert!(document.is_char_boundary(one.body.start) && document.is_char_boundary(one.body.end));
        for other in all {
            let (a, b) = (one.open.start..one.close.end, other.open.start..other.close.end);
            let apart = a.end <= b.start || b.end <= a.start;
            let inside =
                |x: &std::ops::Range<usize>, y: &std::ops::Range<usize>| x.start <= y.start && y.end <= x.end;
            assert!(apart || inside(&a, &b) || inside(&b, &a), "{one:?} {other:?}");
        }
        let made = rule(one, None);
        assert!(made.pre_patch.is_none());
    }
}

/// The blocks of an answer: all of them is text of it, in order.
pub fn patch_blocks(bytes: &[u8]) {
    let said = text(bytes);
    let Ok(read) = answer(&said) else { return };
    let mut at = 0;
    for patch in &read.patches {
        let found = said[at..].find(&patch.content);
        at += found.unwrap_or_else(|| panic!("{patch:?} stands nowhere"));
    }
    if read.patches.is_empty() {
        assert_eq!(read.rest, said.trim());
    }
    assert!(read.rest.len() <= said.len() + 2 * read.patches.len());
}

/// `components.toml`.
pub fn component_rules(bytes: &[u8]) {
    let said = text(bytes);
    match rules(&said) {
        Ok(rules) => assert!(rules.len() <= said.len()),
        Err(bad) => assert!(bad.line <= said.lines().count() + 1, "{bad:?}"),
    }
}

/// What two texts share is in both, in order.
pub fn shared_lines(bytes: &[u8]) {
    let [one, other] = parts(bytes).map(text);
    let both = common(&one, &other);
    for text in [&one, &other] {
        let mut lines = text.split_inclusive('\n');
        assert!(both.split_inclusive('\n').all(|line| lines.any(|there| there == line)), "{both:?}");
    }
}
