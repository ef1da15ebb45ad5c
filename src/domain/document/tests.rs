use super::*;
use crate::domain::dice::Xorshift;

const PIECES: &[&str] = &[
    "<!-- agent:exchange -->",
    "<!-- /agent:exchange -->",
    "<!-- agent:status patch=append -->",
    "<!-- /agent:status -->",
    "<!-- agent:boundary:ab12 -->",
    "<!-- patch:status -->",
    "<!-- /patch:status -->",
    "<!--",
    "-->",
    "<!-- note -->",
    "[//]: # (x)",
    "```",
    "````rust",
    "~~~",
    "`",
    "``",
    "> ",
    "- ",
    "  ",
    "    ",
    "\t",
    "\n",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "---\n",
    "...\n",
    "skein_doc: 01\n",
    "agent: [x",
    "model: 'a\n",
    "### Re: A\n\none\n",
    "# T (HEAD)\n",
    "===\n",
    "text",
    "é",
    "❯",
    "\u{feff}",
    "\u{0}",
    "\\",
    "<pre>",
    "1. ",
    "[a](b)",
    "*",
    "agent:",
    ": |\n",
];

fn text(dice: &mut Xorshift) -> String {
    let mut text = String::new();
    if dice.roll(4) == 0 {
        text.push_str("---\nagent: x\n---\n");
    }
    for _ in 0..dice.roll(24) {
        text.push_str(dice.pick(PIECES));
    }
    for _ in 0..dice.roll(3) {
        let mut at = dice.roll(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        match dice.roll(2) {
            0 => text.truncate(at),
            _ => text.insert_str(at, dice.pick(PIECES)),
        }
    }
    text
}

/// Whichever fences a person leaves open, and wherever: the components are the same, and each can be written.
#[test]
fn open_fences_change_no_component() {
    let bodies = [
        "",
        "text\n",
        "```sh\nls\n```\n",
        "```\nx\n```\n",
        "~~~\n```\n~~~\n",
        "- a\n\n  ```\n  b\n  ```\n",
        "> ```\n> q\n\n",
        "see `<!-- /agent:c0 -->`\n",
        "```md\n<!-- agent:c1 -->\n<!-- /agent:c1 -->\n```\n",
    ];
    let open = ["```\n", "```rust\nfn\n", "~~~~\n\n", "   ```\nx\n"];
    let mut dice = Xorshift(0x5eed_0f0f);
    for round in 0..1_000 {
        let count = 1 + dice.roll(4);
        let at = dice.roll(count);
        let mut text = String::new();
        for n in 0..count {
            for _ in 0..dice.roll(2) {
                text += dice.pick(&bodies);
            }
            text += &format!("<!-- agent:c{n} -->\n");
            for _ in 0..dice.roll(4) {
                text += dice.pick(&bodies);
            }
            if n == at || dice.roll(6) == 0 {
                text += dice.pick(&open);
            }
            text += &format!("<!-- /agent:c{n} -->\n");
        }
        let found = components(&text).unwrap_or_else(|bad| panic!("round {round}: {bad}\n{text}"));
        let names: Vec<_> = found.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["c0", "c1", "c2", "c3"][..count], "round {round}\n{text}");
        for target in &found {
            let patch = Patch { component: target.name.clone(), content: "a\n\n```\nb\n```".to_owned() };
            for mode in [Mode::Append, Mode::Replace] {
                let made = apply(&text, &patch, &Rule { mode, ..Rule::default() }, None);
                assert!(made.is_ok(), "round {round}: {made:?}\n{text}");
            }
        }
    }
}

/// Nothing panics, whatever stands there; and what is written can be read again.
#[test]
fn no_text_is_too_odd() {
    let seed = 0x5eed_0d0c;
    let mut dice = Xorshift(seed);
    for round in 0..5_000 {
        let (text, said) = (text(&mut dice), text(&mut dice));
        let note = || format!("seed {seed:#x}, round {round}: {text:?} {said:?}");
        let read = front(&text);
        match set(&text, "model", &said) {
            Ok(made) => assert!(front(&made).is_ok(), "{}", note()),
            Err(_) => assert!(front::body(&text) > 0, "{}", note()),
        }
        if let Ok(read) = read {
            assert_eq!(read.body, front::body(&text));
        }
        let _ = answer(&said);
        let _ = outline(&text);
        let stripped = strip_comments(&text);
        assert!(stripped.len() <= text.len());
        let once = dedupe(&text);
        assert_eq!(dedupe(&once), once, "{}", note());
        assert!(append_answer(&text, &said).starts_with(&text), "{}", note());
        let Ok(before) = components(&text) else { continue };
        for target in &before {
            for mode in [Mode::Replace, Mode::Append, Mode::Prepend] {
                let patch = Patch { component: target.name.clone(), content: said.clone() };
                let rule =
                    Rule { mode, max_entries: dice.roll(3), max_lines: dice.roll(3), ..Rule::default() };
                let Ok(made) = apply(&text, &patch, &rule, None) else { continue };
                assert!(made.starts_with(&text[..target.open.end]), "{}", note());
                assert!(made.ends_with(&text[target.close.start..]), "{}", note());
                let names = |all: &[Component]| all.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
                assert_eq!(names(&components(&made).unwrap()), names(&before), "{}", note());
                if mode == Mode::Append && rule.max_entries == 0 && rule.max_lines == 0 {
                    assert!(made.starts_with(&text[..target.body.end]), "{}", note());
                }
            }
        }
    }
}
