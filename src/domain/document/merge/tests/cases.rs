//! Texts and what becomes of them.

use super::super::*;

/// base, person, agent, text: merged without a clash.
fn clean(cases: &[[&str; 4]]) {
    for [base, person, agent, want] in cases {
        let merged = merge(base, person, agent);
        assert_eq!(merged.text, *want, "{base:?} {person:?} {agent:?}");
        assert_eq!(merged.clashes, [], "{base:?} {person:?} {agent:?}");
    }
}

fn clash(line: usize, base: &str, person: &str, agent: &str) -> Clash {
    Clash { line, base: base.to_owned(), person: person.to_owned(), agent: agent.to_owned() }
}

/// The whole text is one line or one paragraph that both want: the person's stands.
fn clashing(cases: &[[&str; 3]]) {
    for [base, person, agent] in cases {
        let merged = merge(base, person, agent);
        assert_eq!(merged.text, *person);
        assert_eq!(merged.clashes, [clash(1, base, person, agent)]);
    }
}

#[test]
fn values_are_never_spliced() {
    clashing(&[
        ["status: open\n", "status: closed\n", "status: blocked\n"],
        ["status: open\n", "status: open (why?)\n", "status: closed\n"],
        ["version = 10\n", "version = 11\n", "version = 12\n"],
        ["v1.2\n", "v1.3\n", "v2.2\n"],
        ["one two three.\n", "One Two Three.\n", "Uno dos tres.\n"],
        ["A first line.\nA second one.\n", "Mine is new.\nAll of it.\n", "Theirs as well.\nEach word.\n"],
        ["one two\n", "uno two\n", "one dos\n"],
        ["状态：开\n", "状态：关\n", "状态：停\n"],
    ]);
}

#[test]
fn what_both_did_is_there_once() {
    clean(&[
        ["a\nB\nc\n", "a\nB!\nc\n", "a\nB!\nc\n", "a\nB!\nc\n"],
        ["a\nB\nc\nd\n", "a\nB!\nc\nD\n", "A\nB!\nc\nd\n", "A\nB!\nc\nD\n"],
        ["a\n", "a\nx\ny\n", "a\nx\ny\n", "a\nx\ny\n"],
        ["a\nz\n", "a\nx\ny\nz!\n", "a\nx\ny\nz\n", "a\nx\ny\nz!\n"],
        ["a\n", "a\nx\ny\nq\n", "a\nx\ny\n", "a\nx\ny\nq\n"],
        ["a\n", "a\ny\nz\n", "a\nx\ny\n", "a\nx\ny\nz\n"],
        ["a\n", "a\nx\nx\n", "a\nx\n", "a\nx\nx\n"],
        ["a\n", "a\nq\n", "a\nx\nx\n", "a\nx\nx\nq\n"],
        ["a b c d e\n", "A b c d E\n", "A b C d e\n", "A b C d E\n"],
        ["x\n", "y\nq\n", "y\n", "y\nq\n"],
        ["x\n", "y\nq\n", "y\nr\n", "y\nr\nq\n"],
    ]);
}

#[test]
fn two_insertions_at_one_place_are_in_order() {
    clean(&[
        ["x\n", "x\nB1\nB2\n", "x\nA1\nA2\n", "x\nA1\nA2\nB1\nB2\n"],
        ["", "p\n", "a\n", "a\np\n"],
        ["x\ny\n", "x\n\nask\n\ny\n", "x\n\nanswer\n\ny\n", "x\n\nanswer\n\n\nask\n\ny\n"],
        ["x\n", "x\n\nask\n", "x\n\nanswer one\n\nanswer two\n", "x\n\nanswer one\n\nanswer two\n\nask\n"],
        // Fences are no landmarks, equal blocks are.
        [
            "x\n",
            "x\n```\nmine\n```\n",
            "x\nsee\n```\ntheirs\n```\n",
            "x\nsee\n```\ntheirs\n```\n```\nmine\n```\n",
        ],
        ["x\n", "x\n```\nsame\n```\nq\n", "x\nsee\n```\nsame\n```\n", "x\nsee\n```\nsame\n```\nq\n"],
        ["x\n", "x\n\nsame\n\nq\n", "x\n\nsame\n", "x\n\nsame\n\nq\n"],
    ]);
}

/// At the border of a change, too, a fence or a rule that both have is of each of them.
#[test]
fn no_fence_goes_where_an_insertion_and_a_change_touch() {
    clean(&[
        [
            "intro\n",
            "```\nmy code\n```\n",
            "ran it:\n```sh\nmake\n```\nintro\n",
            "ran it:\n```sh\nmake\n```\n```\nmy code\n```\n",
        ],
        [
            "intro\nold\n",
            "intro\n```\nnote\n```\nold\n",
            "intro\n```\nblock\n```\n",
            "intro\n```\nnote\n```\n```\nblock\n```\n",
        ],
        ["intro\n", "---\nmine\n", "theirs\n---\nintro\n", "theirs\n---\n---\nmine\n"],
        // What is the same in both is there once.
        ["intro\n", "```\nsame\n```\nmine\n", "```\nsame\n```\nintro\n", "```\nsame\n```\nmine\n"],
    ]);
}

#[test]
fn changes_that_touch_are_both_made() {
    clean(&[
        ["a\nb\n", "a!\nb\n", "a\nnew\nb\n", "a!\nnew\nb\n"],
        ["a\nb\n", "a\nb!\n", "a\nnew\nb\n", "a\nnew\nb!\n"],
        ["a\nb\n", "a!\nb\n", "a\nb!\n", "a!\nb!\n"],
        ["a\nb\nc\n", "a\nc\n", "a\nb\nnew\nc\n", "a\nnew\nc\n"],
        // An insertion between lines that the other changed, one by one.
        ["on a\non b\n", "on a\nnew\non b\n", "On a\nOn b\n", "On a\nnew\nOn b\n"],
        [
            "the old line\nend\n",
            "that old line\nmore\nend\n",
            "the old row\nanswer\nend\n",
            "that old row\nanswer\nmore\nend\n",
        ],
    ]);
}

#[test]
fn different_words_of_one_line_are_merged() {
    clean(&[
        ["the quick brown fox\n", "the slow brown fox\n", "the quick brown dog\n", "the slow brown dog\n"],
        ["  one two three", "  uno two three", "  one two tres", "  uno two tres"],
        [
            "ein schöner Tag heute\n",
            "ein schöner Tag morgen\n",
            "kein schöner Tag heute\n",
            "kein schöner Tag morgen\n",
        ],
        ["done 3 of 10\n", "done 4 of 10\n", "done 3 of 11\n", "done 4 of 11\n"],
        ["a b c d\n", "a b c\n", "x b c d\n", "x b c\n"],
    ]);
}

#[test]
fn other_line_breaks_and_other_words() {
    clean(&[
        [
            "one two three\nfour five six\n",
            "one two\nthree four\nfive six\n",
            "one two three\nfour FIVE six\n",
            "one two\nthree four\nFIVE six\n",
        ],
        [
            "one two three\nfour five six\n",
            "one 2 three\nfour five six\n",
            "one two three four five six\n",
            "one 2 three four five six\n",
        ],
        [
            "one two three\nfour five six\n",
            "one two\nthree four\nfive six\n",
            "one three\nfour five six\n",
            "one\nthree four\nfive six\n",
        ],
        [
            "one two three\nfour five six\n",
            "one two\nthree four\nfive six\n",
            "one two three\nfour five and six\n",
            "one two\nthree four\nfive and six\n",
        ],
        ["one two\nthree\n", "one\r\ntwo three\r\n", "zero one two\nthree\n", "zero one\r\ntwo three\r\n"],
    ]);
    clean(&[
        [
            "one two\r\nthree four\r\n",
            "one 2\r\nthree four\r\n",
            "one two three\r\nfour\r\n",
            "one 2 three\r\nfour\r\n",
        ],
        [
            "one two\nthree four\n",
            "one 2\r\nthree four\r\n",
            "one two three\nfour\n",
            "one 2 three\r\nfour\r\n",
        ],
    ]);
    // Nor is white space of the person's lost on the way.
    clashing(&[["one two\nthree four\n", "one 2\nthree  four\n", "one two three\nfour\n"]]);
    let (base, mine) = ("one two three\nfour five six\n", "one two\nthree four\nfive six\n");
    clashing(&[[base, mine, "one 2 three\n\nnew\n\nfour 5 six\n"]]);
}

#[test]
fn the_person_deletes_what_the_agent_edits() {
    let merged = merge("a\nb\nc\n", "a\nc\n", "a\nb edited\nc\n");
    assert_eq!(merged.text, "a\nc\n");
    assert_eq!(merged.clashes, [clash(2, "b\n", "", "b edited\n")]);
    let merged = merge("a\nb\nc\n", "a\nb edited\nc\n", "a\nc\n");
    assert_eq!(merged.text, "a\nb edited\nc\n");
    assert_eq!(merged.clashes, [clash(2, "b\n", "b edited\n", "")]);
    clean(&[["a\n", "", "a\nx\n", "x\n"]]);
}

#[test]
fn a_moved_section_and_an_edit_in_it() {
    let base = "# A\ntext\n\n# B\nb1\nb2\nb3\n";
    let moved = "# B\nb1\nb2\nb3\n\n# A\ntext\n";
    let edited = "# A\ntext edited\n\n# B\nb1\nb2\nb3\n";
    let merged = merge(base, moved, edited);
    assert_eq!(merged.text, moved);
    assert_eq!(merged.clashes, [clash(1, "# A\ntext\n\n", "", "# A\ntext edited\n\n")]);
}

#[test]
fn a_clash_is_as_small_as_its_lines() {
    let merged = merge("on a\non b\non c\n", "in a\nin b\non c\n", "on a\nat b\nat c\n");
    assert_eq!(merged.text, "in a\nin b\nat c\n");
    assert_eq!(merged.clashes, [clash(2, "on b\n", "in b\n", "at b\n")]);
}

#[test]
fn items_are_found_by_their_text() {
    clean(&[
        ["- [ ] a\n- [ ] b\n", "- [x] a\n- [ ] b\n", "- [ ] a\n- [x] b\n", "- [x] a\n- [x] b\n"],
        ["- [ ] buy milk\n", "- [ ] buy oat milk\n", "- [x] buy milk\n", "- [x] buy oat milk\n"],
        // Moved by the person, checked by the agent; and the other way round.
        [
            "- [ ] a\n- [ ] b\n- [ ] c\n",
            "- [ ] c\n- [ ] a\n- [ ] b\n",
            "- [ ] a\n- [ ] b\n- [x] c\n",
            "- [x] c\n- [ ] a\n- [ ] b\n",
        ],
        [
            "- [ ] a\n- [ ] b\n- [ ] c\n",
            "- [ ] a\n- [ ] b\n- [x] c\n- [ ] d\n",
            "- [ ] c\n- [ ] a\n- [ ] b\n",
            "- [x] c\n- [ ] d\n- [ ] a\n- [ ] b\n",
        ],
        ["1. a\n2. b\n", "1. new\n2. a\n3. b\n", "1. a\n2. b changed\n", "1. new\n2. a\n3. b changed\n"],
        ["- a\n  more\n- b\n", "- b\n- a\n  more\n", "- a\n  more\n- b\n- c\n", "- b\n- a\n  more\n- c\n"],
    ]);
    let merged = merge("x\n- [ ] a\n- [ ] b\n", "x\n- [ ] b\n", "x\n- [x] a\n- [x] b\n");
    assert_eq!(merged.text, "x\n- [x] b\n");
    assert_eq!(merged.clashes, [clash(2, "- [ ] a\n", "", "- [x] a\n")]);
    let merged = merge("- [ ] a\n", "- [ ] mine\n", "- [x] theirs\n");
    assert_eq!(merged.text, "- [ ] mine\n");
    assert_eq!(merged.clashes, [clash(1, "- [ ] a\n", "- [ ] mine\n", "- [x] theirs\n")]);
}

#[test]
fn equal_lists_beside_each_other_stay_two() {
    let list = "- a\n- b\n";
    let base = format!("{list}\n{list}\nend\n");
    let person = format!("{list}\n{list}\nend, edited\n");
    let agent = format!("start\n{base}");
    clean(&[[&base, &person, &agent, &format!("start\n{person}")]]);
    let ask = format!("{base}ask\n");
    let answer = format!("{base}answer\n");
    clean(&[[&base, &ask, &answer, &format!("{base}answer\nask\n")]]);
}

#[test]
fn front_matter_is_merged_by_key() {
    clean(&[
        [
            "---\na: 1\nb: 2\n---\ntext\n",
            "---\na: 1\nmodel: opus\nb: 2\n---\ntext\n",
            "---\na: 1\nb: 3\n---\ntext\nanswer\n",
            "---\na: 1\nmodel: opus\nb: 3\n---\ntext\nanswer\n",
        ],
        // The order and the comments are the person's.
        [
            "---\na: 1\nb: 2\n---\n",
            "---\n# why\nb: 2\na: 1\n---\n",
            "---\na: 5\nb: 2\nc:\n  - x\n---\n",
            "---\n# why\nb: 2\nc:\n  - x\na: 5\n---\n",
        ],
        [
            "---\na: 1\nb: 2\n---\nx\n",
            "---\nb: 2\n---\nx\n",
            "---\na: 1\nb: 2\nc: 3\n---\nx\n",
            "---\nb: 2\nc: 3\n---\nx\n",
        ],
        [
            "\u{feff}---\r\na: 1\r\n---\r\n",
            "\u{feff}---\r\na: 2\r\n---\r\n",
            "\u{feff}---\r\na: 1\r\n---\r\nhi\r\n",
            "\u{feff}---\r\na: 2\r\n---\r\nhi\r\n",
        ],
    ]);
    let merged = merge("---\na: 1\nb: 1\n---\n", "---\na: 2 3 4\nb: 1\n---\n", "---\na: 3\nb: 2\n---\n");
    assert_eq!(merged.text, "---\na: 2 3 4\nb: 2\n---\n");
    assert_eq!(merged.clashes, [clash(2, "a: 1\n", "a: 2 3 4\n", "a: 3\n")]);
    let merged = merge("---\na: 1\n---\nx\n", "---\n---\nx\n", "---\na: 3\n---\nx\n");
    assert_eq!(merged.text, "---\n---\nx\n");
    assert_eq!(merged.clashes, [clash(2, "a: 1\n", "", "a: 3\n")]);
}

#[test]
fn lines_keep_their_endings() {
    clean(&[
        ["a\r\nb\r\n", "a!\r\nb\r\n", "a\r\nb\r\nc\r\n", "a!\r\nb\r\nc\r\n"],
        ["a\r\nb\nc\r\n", "a!\r\nb\nc\r\n", "a\r\nb\nc\r\nd\n", "a!\r\nb\nc\r\nd\n"],
        // An editor turned the whole document meanwhile.
        ["a\nb\n", "a\r\nb\r\nask\r\n", "a\nanswer\nb\n", "a\r\nanswer\r\nb\r\nask\r\n"],
        ["a\r\nb\r\n", "a\nb\n", "a\r\nanswer\r\nb!\r\n", "a\nanswer\nb!\n"],
        ["a\nb\n", "a\rx\nb\n", "a\nb\ny\r", "a\rx\nb\ny\r\n"],
    ]);
}

#[test]
fn the_end_of_the_text_is_the_persons() {
    clean(&[
        ["a\nb", "a!\nb", "a\nb\nc\n", "a!\nb\nc"],
        ["a\nb", "a!\nb", "a\nb\nc", "a!\nb\nc"],
        ["a\r\nb", "a!\r\nb", "a\r\nb\r\nc\r\n", "a!\r\nb\r\nc"],
        ["a\nb", "a\nb\nask", "a\nb\nanswer\n", "a\nb\nanswer\nask"],
        ["a\nb\n", "a!\nb", "a\nb\nc\n", "a!\nb\nc"],
        ["a\nb", "a!\nb\n", "a\nb\nc", "a!\nb\nc\n"],
        ["a\nb", "a\nb!", "a\nb\nc\n\n", "a\nb!\nc\n\n"],
        ["b", "b?", "b\r\nc\r\n", "b?\r\nc"],
        ["a b c", "A b c", "a b C", "A b C"],
    ]);
}

#[test]
fn empty_texts() {
    clean(&[
        ["", "", "", ""],
        ["", "", "a\n", "a\n"],
        ["", "a", "", "a"],
        ["a\n", "", "", ""],
        ["a\n", "a\n", "", ""],
        ["", "a", "b", "b\na"],
        ["a\nb", "", "a\nb\nc", "c"],
    ]);
}

#[test]
fn what_was_deleted_stays_deleted() {
    clean(&[
        ["a\nb\nc\nd\n", "a\nc\nd\n", "a\nb\nc\nd\nanswer\n", "a\nc\nd\nanswer\n"],
        ["a\nb\nc\n", "a\n", "a\nb\nc\nanswer\n", "a\nanswer\n"],
    ]);
}
