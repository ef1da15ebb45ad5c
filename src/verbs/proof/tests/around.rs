//! What stands around a history and must not change the answer: configuration, attributes, merge drivers,
//! hooks that reformat, replacements, grafts, a cut, a partial clone.

use super::Case;
use super::case;
use super::story::Truth;
use super::story::doc;

pub fn cases() -> Vec<Case> {
    [disguised(), attributes(), reformatted(), cut(), rewritten()].into_iter().flatten().collect()
}

/// Other objects and other parents than those that the history has.
fn disguised() -> Vec<Case> {
    vec![
        case("the fork replaced by what the trunk has", Truth::Not, "not-landed", "-", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("X", &["B"], &[("b", "2\n")]);
            s.commit("T", &["X"], &[("c", "2\n")]);
            s.replace = Some(("S", "X"));
        }),
        case("the trunk replaced by what the fork has", Truth::Not, "not-landed", "-", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("X", &["B"], &[("a", "2\n")]);
            s.commit("T", &["B"], &[("b", "2\n")]);
            s.replace = Some(("T", "X"));
        }),
        case("the landing replaced by something else", Truth::In, "landed exact @l", "+", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("X", &["B"], &[("b", "2\n")]);
            s.commit("l", &["B"], &[("a", "2\n")]);
            s.commit("T", &["l"], &[("c", "2\n")]);
            s.replace = Some(("l", "X"));
        }),
        case("a graft makes the fork a parent of the trunk", Truth::Not, "not-landed", "merged", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("T", &["B"], &[("b", "2\n")]);
            s.graft = Some(("T", &["B", "S"]));
        }),
        case("a graft hides that the fork was merged", Truth::In, "landed ancestor @S", "-", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("t1", &["B"], &[("b", "2\n")]);
            s.commit("T", &["t1", "S"], &[("a", "2\n")]);
            s.graft = Some(("T", &["t1"]));
        }),
    ]
}

fn attributes() -> Vec<Case> {
    vec![
        case("a driver that keeps the trunk's side", Truth::Not, "not-landed", "+", |s| {
            s.commit("B", &[], &[("a", "1\n"), (".gitattributes", "a merge=keep\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("T", &["B"], &[("a", "3\n")]);
            s.config = vec![("merge.keep.driver", "true")];
        }),
        case("the trunk marks the file as one that is never merged", Truth::Not, "not-landed", "+", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "three")]))]);
            s.commit("T", &["B"], &[("a", &doc(&[(9, "nine")])), (".gitattributes", "a binary -merge\n")]);
        }),
        case("marked so, and the text landed in moved context", Truth::In, "landed contained @l", "+", |s| {
            s.commit("B", &[], &[("a", &doc(&[])), (".gitattributes", "a -diff -merge\n")]);
            s.commit("S", &["B"], &[("a", &doc(&[(10, "ten")]))]);
            s.commit("t1", &["B"], &[("a", &doc(&[(8, "eight")]))]);
            s.commit("l", &["t1"], &[("a", &doc(&[(8, "eight"), (10, "ten")]))]);
            s.commit("T", &["l"], &[("b", "1\n")]);
        }),
        case("a union driver that would put both lines in", Truth::Not, "not-landed", "+", |s| {
            s.commit("B", &[], &[("a", "1\n"), (".gitattributes", "a merge=union\n")]);
            s.commit("S", &["B"], &[("a", "1\nfork\n")]);
            s.commit("T", &["B"], &[("a", "1\ntrunk\n")]);
        }),
        case("landed by a union driver", Truth::In, "not-landed", "+", |s| {
            s.commit("B", &[], &[("a", "1\n"), (".gitattributes", "a merge=union\n")]);
            s.commit("S", &["B"], &[("a", "1\nfork\n")]);
            s.commit("t1", &["B"], &[("a", "1\ntrunk\n")]);
            s.commit("T", &["t1"], &[("a", "1\ntrunk\nfork\n")]);
        }),
        case("landed by a union driver, with its receipt", Truth::In, "landed receipt @T", "+", |s| {
            s.commit("B", &[], &[("a", "1\n"), (".gitattributes", "a merge=union\n")]);
            s.commit("S", &["B"], &[("a", "1\nfork\n")]);
            s.commit("t1", &["B"], &[("a", "1\ntrunk\n")]);
            s.commit("T", &["t1"], &[("a", "1\ntrunk\nfork\n")]);
            s.receipt(&[("S", "T")], "S", "t1", "T");
        }),
        case("line ends by attribute and configuration", Truth::Not, "not-landed", "-", |s| {
            s.commit("B", &[], &[("a", "1\n2\n3\n"), (".gitattributes", "* text=auto eol=lf\n")]);
            s.commit("S", &["B"], &[("a", "1\ntwo\r\n3\n")]);
            s.commit("T", &["B"], &[("a", "1\ntwo\n3\n")]);
            s.config = vec![("core.autocrlf", "true"), ("merge.renormalize", "true")];
        }),
        case("configuration that makes diffs blind", Truth::In, "landed exact @l", "-", |s| {
            s.commit("B", &[], &[("a", &doc(&[])), ("m:sub", "1")]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "three")])), ("m:sub", "2")]);
            s.commit("l", &["B"], &[("a", &doc(&[(3, "three")])), ("m:sub", "2")]);
            s.commit("T", &["l"], &[("b", "1\n")]);
            s.config = vec![
                ("diff.external", "true"),
                ("diff.ignoreSubmodules", "all"),
                ("diff.context", "0"),
                ("merge.renames", "false"),
                ("diff.renames", "copies"),
            ];
        }),
    ]
}

/// A hook on the trunk writes the work in another form.
fn reformatted() -> Vec<Case> {
    vec![
        case("a hook formatted the work as it landed", Truth::In, "not-landed", "+", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "f( a,b )")]))]);
            s.commit("T", &["B"], &[("a", &doc(&[(3, "f(a,\n  b)")]))]);
        }),
        case("a hook formatted the work, with its receipt", Truth::In, "landed receipt @T", "+", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "f( a,b )")]))]);
            s.commit("T", &["B"], &[("a", &doc(&[(3, "f(a,\n  b)")]))]);
            s.receipt(&[("S", "T")], "S", "B", "T");
        }),
        case("a hook formatted other lines as it landed", Truth::In, "landed contained @l", "+", |s| {
            s.commit("B", &[], &[("a", &doc(&[])), ("b", "x ( )\n")]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "three")]))]);
            s.commit("l", &["B"], &[("a", &doc(&[(3, "three"), (15, "formatted")])), ("b", "x()\n")]);
            s.commit("T", &["l"], &[("c", "1\n")]);
        }),
        case("all was formatted afterwards", Truth::In, "landed, changed since exact @l", "-", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "f( a,b )")]))]);
            s.commit("l", &["B"], &[("a", &doc(&[(3, "f( a,b )")]))]);
            s.commit("T", &["l"], &[("a", &doc(&[(3, "f(a,\n  b)")]))]);
        }),
        case("a ledger file was added to the landing", Truth::In, "landed contained @l", "+", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("l", &["B"], &[("a", "2\n"), ("ledger", "a landed\n")]);
            s.commit("T", &["l"], &[("b", "2\n")]);
        }),
        case("line ends converted as it landed", Truth::In, "not-landed", "+", |s| {
            s.commit("B", &[], &[("a", "1\n2\n3\n")]);
            s.commit("S", &["B"], &[("a", "1\ntwo\r\n3\n")]);
            s.commit("T", &["B"], &[("a", "1\ntwo\n3\n"), (".gitattributes", "* text=auto\n")]);
        }),
    ]
}

/// A part of the history or of the objects is not here.
fn cut() -> Vec<Case> {
    vec![
        case("shallow, and picked after the cut", Truth::In, "landed exact @l", "-", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("l", &["B"], &[("a", "2\n")]);
            s.commit("T", &["l"], &[("b", "2\n")]);
            s.shallow = true;
        }),
        case("shallow, and squashed after the cut", Truth::In, "landed range @l", "++", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("S", &["f1"], &[("b", "2\n")]);
            s.commit("l", &["B"], &[("a", "2\n"), ("b", "2\n")]);
            s.commit("T", &["l"], &[("c", "2\n")]);
            s.shallow = true;
        }),
        case("shallow, picked, then reverted", Truth::Gone, "reverted exact @l", "-", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("l", &["B"], &[("a", "2\n")]);
            s.commit("T", &["l"], &[("a", "1\n")]);
            s.shallow = true;
        }),
        case("shallow, and a part landed", Truth::Unknowable, "unknown shallow", "-+", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("S", &["f1"], &[("b", "2\n")]);
            s.commit("T", &["B"], &[("a", "2\n")]);
            s.shallow = true;
        }),
        case("a partial clone whose remote is gone", Truth::Unknowable, "unknown unreadable", "", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(10, "ten")]))]);
            s.commit("T", &["B"], &[("a", &doc(&[(8, "eight")]))]);
            s.lose = Some("a");
            s.config = vec![
                ("remote.origin.url", "/nowhere"),
                ("remote.origin.promisor", "true"),
                ("remote.origin.partialclonefilter", "blob:none"),
            ];
        }),
    ]
}

/// The fork's or the trunk's commits are not those that were made first.
fn rewritten() -> Vec<Case> {
    vec![
        case("the fork amended after it was picked", Truth::Not, "not-landed", "+", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "three"), (15, "fifteen")]))]);
            s.commit("l", &["B"], &[("a", &doc(&[(3, "three")]))]);
            s.commit("T", &["l"], &[("b", "1\n")]);
        }),
        case("one commit split into two as it landed", Truth::In, "landed contained @l2", "+", |s| {
            s.commit("B", &[], &[("a", &doc(&[])), ("b", "1\n")]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "three")])), ("b", "2\n")]);
            s.commit("l1", &["B"], &[("a", &doc(&[(3, "three")]))]);
            s.commit("l2", &["l1"], &[("b", "2\n")]);
            s.commit("T", &["l2"], &[("c", "1\n")]);
        }),
        case("one commit split, the second half reverted", Truth::Gone, "reverted contained @l2", "+", |s| {
            s.commit("B", &[], &[("a", &doc(&[])), ("b", "1\n")]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "three")])), ("b", "2\n")]);
            s.commit("l1", &["B"], &[("a", &doc(&[(3, "three")]))]);
            s.commit("l2", &["l1"], &[("b", "2\n")]);
            s.commit("T", &["l2"], &[("b", "1\n")]);
        }),
        case("picked in the other order", Truth::In, "landed exact @l1", "--", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("S", &["f1"], &[("b", "2\n")]);
            s.commit("l2", &["B"], &[("b", "2\n")]);
            s.commit("l1", &["l2"], &[("a", "2\n")]);
            s.commit("T", &["l1"], &[("c", "2\n")]);
        }),
        case("squashed, and a person resolved a conflict", Truth::In, "partial", "++", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("f1", &["B"], &[("a", &doc(&[(3, "three")]))]);
            s.commit("S", &["f1"], &[("a", &doc(&[(3, "three"), (5, "five")]))]);
            s.commit("t1", &["B"], &[("a", &doc(&[(3, "drei")]))]);
            s.commit("T", &["t1"], &[("a", &doc(&[(3, "three, drei"), (5, "five")]))]);
        }),
        case("squashed, reverted, squashed again", Truth::In, "landed range", "++", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("S", &["f1"], &[("b", "2\n")]);
            s.commit("l1", &["B"], &[("a", "2\n"), ("b", "2\n")]);
            s.commit("r", &["l1"], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("l2", &["r"], &[("a", "2\n"), ("b", "2\n")]);
            s.commit("T", &["l2"], &[("c", "2\n")]);
        }),
        case("reverted, the revert reverted, and reverted", Truth::Gone, "reverted exact", "-", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("l", &["B"], &[("a", "2\n")]);
            s.commit("r1", &["l"], &[("a", "1\n")]);
            s.commit("l2", &["r1"], &[("a", "2\n")]);
            s.commit("T", &["l2"], &[("a", "1\n")]);
        }),
        case("merged by an octopus", Truth::In, "landed ancestor @S", "merged", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("u", &["B"], &[("b", "2\n")]);
            s.commit("t1", &["B"], &[("c", "2\n")]);
            s.commit("T", &["t1", "S", "u"], &[("a", "2\n"), ("b", "2\n")]);
        }),
        case("an octopus in the fork, squashed", Truth::In, "landed range @l", "", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
            s.commit("x", &["B"], &[("a", "2\n")]);
            s.commit("y", &["B"], &[("b", "2\n")]);
            s.commit("z", &["B"], &[("c", "2\n")]);
            s.commit("S", &["x", "y", "z"], &[("b", "2\n"), ("c", "2\n")]);
            s.commit("l", &["B"], &[("a", "2\n"), ("b", "2\n"), ("c", "2\n")]);
            s.commit("T", &["l"], &[("d", "2\n")]);
        }),
        case("an octopus in the fork adds a file", Truth::Not, "partial", "", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
            s.commit("x", &["B"], &[("a", "2\n")]);
            s.commit("y", &["B"], &[("b", "2\n")]);
            s.commit("z", &["B"], &[("c", "2\n")]);
            s.commit("S", &["x", "y", "z"], &[("b", "2\n"), ("c", "2\n"), ("evil", "1\n")]);
            s.commit("l1", &["B"], &[("a", "2\n")]);
            s.commit("l2", &["l1"], &[("b", "2\n")]);
            s.commit("T", &["l2"], &[("c", "2\n")]);
        }),
    ]
}
