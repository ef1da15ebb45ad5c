//! Each proof and each verdict, without tricks.

use super::Case;
use super::case;
use super::story::Truth;
use super::story::doc;

pub fn cases() -> Vec<Case> {
    [exact(), range(), ancestor(), contained(), receipt(), partial(), empty(), unknown()]
        .into_iter()
        .flatten()
        .collect()
}

fn exact() -> Vec<Case> {
    vec![
        case("one commit picked", Truth::In, "landed exact @l1", "-", |s| {
            s.commit("B", &[], &[("a", &doc(&[])), ("b", "1\n")]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "three")]))]);
            s.commit("t1", &["B"], &[("b", "2\n")]);
            s.commit("l1", &["t1"], &[("a", &doc(&[(3, "three")]))]);
            s.commit("T", &["l1"], &[("b", "3\n")]);
        }),
        case("two commits picked apart", Truth::In, "landed exact @l2", "--", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("S", &["f1"], &[("b", "2\n")]);
            s.commit("l1", &["B"], &[("a", "2\n")]);
            s.commit("t1", &["l1"], &[("c", "2\n")]);
            s.commit("l2", &["t1"], &[("b", "2\n")]);
            s.commit("T", &["l2"], &[("c", "3\n")]);
        }),
        case("picked, then edited", Truth::In, "landed, changed since exact @l1", "-", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "three")]))]);
            s.commit("l1", &["B"], &[("a", &doc(&[(3, "three")]))]);
            s.commit("T", &["l1"], &[("a", &doc(&[(3, "drei")]))]);
        }),
        case("a clean merge inside the fork", Truth::In, "landed exact @l2", "--", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("f2", &["B"], &[("b", "2\n")]);
            s.commit("S", &["f1", "f2"], &[("b", "2\n")]);
            s.commit("l1", &["B"], &[("a", "2\n")]);
            s.commit("l2", &["l1"], &[("b", "2\n")]);
            s.commit("T", &["l2"], &[("c", "1\n")]);
        }),
        case("an empty commit among others", Truth::In, "landed exact @T", "-+", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("S", &["f1"], &[]);
            s.commit("T", &["B"], &[("a", "2\n")]);
        }),
        case("new file, link and mode picked", Truth::In, "landed exact @T", "", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("run", "1\n")]);
            s.commit("S", &["B"], &[("new", "1\n"), ("l:link", "a"), ("x:run", "1\n")]);
            s.commit("t1", &["B"], &[("a", "2\n")]);
            s.commit("T", &["t1"], &[("new", "1\n"), ("l:link", "a"), ("x:run", "1\n")]);
        }),
    ]
}

fn range() -> Vec<Case> {
    vec![
        case("squash", Truth::In, "landed range @l", "++", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("S", &["f1"], &[("a", "3\n"), ("b", "2\n")]);
            s.commit("l", &["B"], &[("a", "3\n"), ("b", "2\n")]);
            s.commit("T", &["l"], &[("c", "1\n")]);
        }),
        case("squash, then edited", Truth::In, "landed, changed since range @l", "++", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("f1", &["B"], &[("a", &doc(&[(3, "three")]))]);
            s.commit("S", &["f1"], &[("a", &doc(&[(3, "three"), (5, "five")]))]);
            s.commit("l", &["B"], &[("a", &doc(&[(3, "three"), (5, "five")]))]);
            s.commit("T", &["l"], &[("a", &doc(&[(3, "three!"), (5, "five")]))]);
        }),
        case("two commits remade on a branch of the trunk", Truth::In, "landed range @l", "++", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("S", &["f1"], &[("a", "3\n"), ("b", "2\n")]);
            s.commit("u1", &["B"], &[("b", "2\n")]);
            s.commit("u2", &["u1"], &[("a", "3\n")]);
            s.commit("t1", &["B"], &[("c", "1\n")]);
            s.commit("l", &["t1", "u2"], &[("a", "3\n"), ("b", "2\n")]);
            s.commit("T", &["l"], &[("c", "2\n")]);
        }),
    ]
}

fn ancestor() -> Vec<Case> {
    vec![
        case("fast-forward", Truth::In, "landed ancestor @S", "merged", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("T", &["S"], &[("b", "1\n")]);
        }),
        case("no-ff merge", Truth::In, "landed ancestor @S", "merged", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("t1", &["B"], &[("b", "1\n")]);
            s.commit("m", &["t1", "S"], &[("a", "2\n")]);
            s.commit("T", &["m"], &[("b", "2\n")]);
        }),
        case("merged, then edited", Truth::In, "landed, changed since ancestor @S", "merged", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("t1", &["B"], &[("b", "1\n")]);
            s.commit("m", &["t1", "S"], &[("a", "2\n")]);
            s.commit("T", &["m"], &[("a", "3\n")]);
        }),
    ]
}

fn contained() -> Vec<Case> {
    vec![
        case("picked where the context had moved", Truth::In, "landed contained @l", "+", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(10, "ten")]))]);
            s.commit("t1", &["B"], &[("a", &doc(&[(8, "eight")]))]);
            s.commit("l", &["t1"], &[("a", &doc(&[(8, "eight"), (10, "ten")]))]);
            s.commit("T", &["l"], &[("b", "1\n")]);
        }),
        case("the same, then edited", Truth::In, "landed, changed since contained @l", "+", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(10, "ten")]))]);
            s.commit("t1", &["B"], &[("a", &doc(&[(8, "eight")]))]);
            s.commit("l", &["t1"], &[("a", &doc(&[(8, "eight"), (10, "ten")]))]);
            s.commit("t2", &["l"], &[("b", "1\n")]);
            s.commit("T", &["t2"], &[("a", &doc(&[(8, "eight"), (10, "zehn")]))]);
        }),
        case("squash within a larger commit", Truth::In, "landed contained @l", "++", |s| {
            s.commit("B", &[], &[("a", &doc(&[])), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", &doc(&[(3, "three")]))]);
            s.commit("S", &["f1"], &[("a", &doc(&[(3, "three"), (15, "fifteen")]))]);
            s.commit("t1", &["B"], &[("a", &doc(&[(9, "nine")]))]);
            s.commit(
                "l",
                &["t1"],
                &[("a", &doc(&[(3, "three"), (9, "nine"), (15, "fifteen")])), ("b", "2\n")],
            );
            s.commit("T", &["l"], &[("b", "3\n")]);
        }),
        case(
            "two halves, never whole on the trunk",
            Truth::In,
            "landed, changed since contained @l2",
            "--",
            |s| {
                s.commit("B", &[], &[("a", &doc(&[])), ("b", &doc(&[]))]);
                s.commit("f1", &["B"], &[("a", &doc(&[(3, "three")]))]);
                s.commit("S", &["f1"], &[("b", &doc(&[(3, "three")]))]);
                s.commit("t1", &["B"], &[("a", &doc(&[(19, "x")])), ("b", &doc(&[(19, "x")]))]);
                s.commit("l1", &["t1"], &[("a", &doc(&[(3, "three"), (19, "x")]))]);
                s.commit("t2", &["l1"], &[("a", &doc(&[(3, "drei"), (19, "x")]))]);
                s.commit("l2", &["t2"], &[("b", &doc(&[(3, "three"), (19, "x")]))]);
                s.commit("T", &["l2"], &[("b", &doc(&[(3, "drei"), (19, "x")]))]);
            },
        ),
        case("binary landed over another content", Truth::In, "landed contained @l", "+", |s| {
            s.commit("B", &[], &[("a", "1\0")]);
            s.commit("S", &["B"], &[("a", "3\0")]);
            s.commit("t1", &["B"], &[("a", "2\0")]);
            s.commit("l", &["t1"], &[("a", "3\0")]);
            s.commit("T", &["l"], &[("b", "1\n")]);
        }),
        case("both deleted it, the trunk after an edit", Truth::In, "landed contained @l", "+", |s| {
            s.commit("B", &[], &[("a", &doc(&[])), ("b", "1\n")]);
            s.commit("S", &["B"], &[("-a", "")]);
            s.commit("t1", &["B"], &[("a", &doc(&[(8, "eight")]))]);
            s.commit("l", &["t1"], &[("-a", "")]);
            s.commit("T", &["l"], &[("b", "2\n")]);
        }),
    ]
}

fn receipt() -> Vec<Case> {
    vec![
        case("receipt", Truth::In, "landed receipt @l", "+", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(10, "ten")]))]);
            s.commit("t1", &["B"], &[("a", &doc(&[(8, "eight")]))]);
            s.commit("l", &["t1"], &[("a", &doc(&[(8, "eight"), (10, "ten")]))]);
            s.commit("T", &["l"], &[("b", "1\n")]);
            s.receipt(&[("S", "l")], "S", "t1", "l");
        }),
        case(
            "receipt of a conflict that a person resolved",
            Truth::In,
            "landed, changed since receipt @l",
            "+",
            |s| {
                s.commit("B", &[], &[("a", &doc(&[]))]);
                s.commit("S", &["B"], &[("a", &doc(&[(10, "ten")]))]);
                s.commit("t1", &["B"], &[("a", &doc(&[(10, "zehn")]))]);
                s.commit("l", &["t1"], &[("a", &doc(&[(10, "ten, zehn")]))]);
                s.commit("T", &["l"], &[("a", &doc(&[(10, "dix")]))]);
                s.receipt(&[("S", "l")], "S", "t1", "l");
            },
        ),
        case("receipt where the trunk had renamed the file", Truth::In, "landed receipt @l", "+", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(10, "ten")]))]);
            s.commit("t1", &["B"], &[("-a", ""), ("z", &doc(&[]))]);
            s.commit("l", &["t1"], &[("z", &doc(&[(10, "ten")]))]);
            s.commit("T", &["l"], &[("b", "1\n")]);
            s.receipt(&[("S", "l")], "S", "t1", "l");
        }),
        case("receipt, then taken back", Truth::Gone, "reverted receipt @l", "", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(10, "ten")]))]);
            s.commit("t1", &["B"], &[("a", &doc(&[(10, "zehn")]))]);
            s.commit("l", &["t1"], &[("a", &doc(&[(10, "ten, zehn")]))]);
            s.commit("t2", &["l"], &[("a", &doc(&[(10, "ten, zehn"), (1, "one")]))]);
            s.commit("T", &["t2"], &[("a", &doc(&[(10, "zehn"), (1, "one")]))]);
            s.receipt(&[("S", "l")], "S", "t1", "l");
        }),
        case("receipt for the fork before it took the trunk in", Truth::In, "landed receipt @l", "", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("f1", &["B"], &[("a", &doc(&[(10, "ten")]))]);
            s.commit("t1", &["B"], &[("a", &doc(&[(8, "eight")]))]);
            s.commit("l", &["t1"], &[("a", &doc(&[(8, "eight"), (10, "ten")]))]);
            s.commit("S", &["f1", "l"], &[("a", &doc(&[(8, "eight"), (10, "ten")]))]);
            s.commit("T", &["l"], &[("b", "1\n")]);
            s.receipt(&[("f1", "l")], "f1", "t1", "l");
        }),
        case("receipt for a shorter fork", Truth::Not, "partial", "", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("f1", &["B"], &[("a", &doc(&[(10, "ten")]))]);
            s.commit("S", &["f1"], &[("new", "1\n")]);
            s.commit("t1", &["B"], &[("a", &doc(&[(8, "eight")]))]);
            s.commit("T", &["t1"], &[("a", &doc(&[(8, "eight"), (10, "ten")]))]);
            s.receipt(&[("f1", "T")], "f1", "t1", "T");
        }),
    ]
}

fn partial() -> Vec<Case> {
    vec![
        case("two of three", Truth::Not, "partial", "--+", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("f2", &["f1"], &[("b", "2\n")]);
            s.commit("S", &["f2"], &[("c", "2\n")]);
            s.commit("l1", &["B"], &[("a", "2\n")]);
            s.commit("T", &["l1"], &[("b", "2\n")]);
        }),
        case("the first fast-forwarded", Truth::Not, "partial", "", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("S", &["f1"], &[("a", "3\n")]);
            s.commit("T", &["f1"], &[("b", "2\n")]);
        }),
        case("one by the merge test", Truth::Not, "partial", "++", |s| {
            s.commit("B", &[], &[("a", &doc(&[])), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", &doc(&[(10, "ten")]))]);
            s.commit("S", &["f1"], &[("b", "2\n")]);
            s.commit("t1", &["B"], &[("a", &doc(&[(8, "eight")]))]);
            s.commit("T", &["t1"], &[("a", &doc(&[(8, "eight"), (10, "ten")]))]);
        }),
        case("nothing landed", Truth::Not, "not-landed", "+", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("T", &["B"], &[("b", "2\n")]);
        }),
        case("the trunk has not moved", Truth::Not, "not-landed", "+", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.alias("T", "B");
        }),
    ]
}

fn empty() -> Vec<Case> {
    vec![
        case("no commits", Truth::Nothing, "empty", "", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("T", &["B"], &[("a", "2\n")]);
            s.alias("S", "B");
        }),
        case("made and unmade", Truth::Nothing, "empty", "++", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("S", &["f1"], &[("a", "1\n")]);
            s.commit("T", &["B"], &[("b", "2\n")]);
        }),
        case("empty commits on both sides", Truth::Nothing, "empty", "-", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("S", &["B"], &[]);
            s.commit("T", &["B"], &[]);
        }),
    ]
}

fn unknown() -> Vec<Case> {
    vec![
        case("shallow", Truth::Unknowable, "unknown shallow", "", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("T", &["B"], &[("b", "2\n")]);
            s.shallow = true;
        }),
        case("shallow, with a merge", Truth::Unknowable, "unknown shallow", "", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("X", &["B"], &[("x", "2\n")]);
            s.commit("Y", &["B"], &[("y", "2\n")]);
            s.commit("S", &["X", "Y"], &[("x", "2\n"), ("y", "2\n")]);
            s.commit("T", &["B"], &[("x", "2\n"), ("y", "2\n")]);
            s.shallow = true;
        }),
        case("base not on the trunk", Truth::Unknowable, "unknown base-not-in-trunk", "", |s| {
            s.commit("R", &[], &[("a", "1\n")]);
            s.commit("B", &["R"], &[("b", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("T", &["R"], &[("a", "2\n")]);
        }),
        case("base not under the tip", Truth::Unknowable, "unknown base-not-in-tip", "", |s| {
            s.commit("R", &[], &[("a", "1\n")]);
            s.commit("B", &["R"], &[("b", "1\n")]);
            s.commit("S", &["R"], &[("a", "2\n")]);
            s.commit("T", &["B"], &[("a", "2\n")]);
        }),
        case("a blob is missing", Truth::Unknowable, "unknown unreadable", "", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(10, "ten")]))]);
            s.commit("T", &["B"], &[("a", &doc(&[(8, "eight")]))]);
            s.lose = Some("a");
        }),
    ]
}
