//! What landed and was taken back, again, in part, or otherwise.

use super::Case;
use super::case;
use super::story::Truth;
use super::story::doc;

#[expect(clippy::too_many_lines, reason = "a table")]
pub fn cases() -> Vec<Case> {
    vec![
        case("picked, then reverted", Truth::Gone, "reverted exact @l", "-", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "three")]))]);
            s.commit("l", &["B"], &[("a", &doc(&[(3, "three")]))]);
            s.commit("T", &["l"], &[("a", &doc(&[]))]);
        }),
        case("the revert reverted", Truth::In, "landed exact", "-", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("l", &["B"], &[("a", "2\n")]);
            s.commit("r", &["l"], &[("a", "1\n")]);
            s.commit("T", &["r"], &[("a", "2\n")]);
        }),
        case("the revert reverted, then edited", Truth::In, "landed, changed since exact", "-", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("l", &["B"], &[("a", "2\n")]);
            s.commit("r", &["l"], &[("a", "1\n")]);
            s.commit("l2", &["r"], &[("a", "2\n")]);
            s.commit("T", &["l2"], &[("a", "3\n")]);
        }),
        case("reverted, then landed with other content", Truth::Gone, "reverted exact @l", "-", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("l", &["B"], &[("a", "2\n")]);
            s.commit("r", &["l"], &[("a", "1\n")]);
            s.commit("T", &["r"], &[("a", "3\n")]);
        }),
        case("reverted where the file had moved on", Truth::Gone, "reverted exact @l", "-", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "three")]))]);
            s.commit("l", &["B"], &[("a", &doc(&[(3, "three")]))]);
            s.commit("t", &["l"], &[("a", &doc(&[(3, "three"), (9, "nine")]))]);
            s.commit("T", &["t"], &[("a", &doc(&[(9, "nine")]))]);
        }),
        case("moved context, reverted, other content", Truth::Gone, "reverted contained @l", "+", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(10, "ten")]))]);
            s.commit("t1", &["B"], &[("a", &doc(&[(8, "eight")]))]);
            s.commit("l", &["t1"], &[("a", &doc(&[(8, "eight"), (10, "ten")]))]);
            s.commit("t2", &["l"], &[("a", &doc(&[(1, "one"), (8, "eight"), (10, "ten")]))]);
            s.commit("r", &["t2"], &[("a", &doc(&[(1, "one"), (8, "eight")]))]);
            s.commit("T", &["r"], &[("a", &doc(&[(1, "one"), (8, "eight"), (10, "zehn")]))]);
        }),
        case("squash reverted", Truth::Gone, "reverted range @l", "++", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("S", &["f1"], &[("a", "3\n"), ("b", "2\n")]);
            s.commit("l", &["B"], &[("a", "3\n"), ("b", "2\n")]);
            s.commit("T", &["l"], &[("a", "1\n"), ("b", "1\n")]);
        }),
        case("one of two reverted", Truth::Gone, "reverted exact", "--", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("S", &["f1"], &[("b", "2\n")]);
            s.commit("l1", &["B"], &[("a", "2\n")]);
            s.commit("l2", &["l1"], &[("b", "2\n")]);
            s.commit("T", &["l2"], &[("a", "1\n")]);
        }),
        case("one reverted but for what the work went over", Truth::Gone, "reverted exact", "--", |s| {
            s.commit("B", &[], &[("a", &doc(&[])), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", &doc(&[(3, "three")])), ("b", "2\n")]);
            s.commit("S", &["f1"], &[("a", &doc(&[(3, "drei")]))]);
            s.commit("l1", &["B"], &[("a", &doc(&[(3, "three")])), ("b", "2\n")]);
            s.commit("l2", &["l1"], &[("a", &doc(&[(3, "drei")]))]);
            s.commit("T", &["l2"], &[("a", &doc(&[(3, "drei"), (9, "nine")])), ("b", "1\n")]);
        }),
        case("merged, then the merge reverted", Truth::Gone, "reverted ancestor @S", "merged", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("t1", &["B"], &[("b", "1\n")]);
            s.commit("m", &["t1", "S"], &[("a", "2\n")]);
            s.commit("r", &["m"], &[("a", "1\n")]);
            s.commit("T", &["r"], &[("b", "2\n")]);
        }),
        case(
            "fast-forwarded, then reverted and rewritten",
            Truth::Gone,
            "reverted ancestor @S",
            "merged",
            |s| {
                s.commit("B", &[], &[("a", "1\n")]);
                s.commit("S", &["B"], &[("a", "2\n")]);
                s.commit("r", &["S"], &[("a", "1\n")]);
                s.commit("T", &["r"], &[("a", "3\n")]);
            },
        ),
        case("merged with strategy ours", Truth::Gone, "reverted ancestor @S", "merged", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("t1", &["B"], &[("b", "1\n")]);
            s.commit("m", &["t1", "S"], &[]);
            s.commit("T", &["m"], &[("b", "2\n")]);
        }),
        case(
            "merged with strategy ours over other content",
            Truth::Gone,
            "reverted ancestor @S",
            "merged",
            |s| {
                s.commit("B", &[], &[("a", "1\n")]);
                s.commit("S", &["B"], &[("a", "2\n")]);
                s.commit("t1", &["B"], &[("a", "7\n")]);
                s.commit("T", &["t1", "S"], &[]);
            },
        ),
        case("its own revert, landed whole", Truth::In, "landed ancestor @S", "merged", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("f2", &["f1"], &[("a", "1\n")]);
            s.commit("S", &["f2"], &[("b", "2\n")]);
            s.commit("t1", &["B"], &[("c", "1\n")]);
            s.commit("T", &["t1", "S"], &[("b", "2\n")]);
        }),
        case("its own revert, then edited", Truth::In, "landed, changed since ancestor @S", "merged", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("f2", &["f1"], &[("a", "1\n")]);
            s.commit("S", &["f2"], &[("b", "2\n")]);
            s.commit("T", &["S"], &[("b", "3\n")]);
        }),
        case(
            "made, unmade, made; the trunk only made and unmade",
            Truth::Gone,
            "reverted range @l",
            "---",
            |s| {
                s.commit("B", &[], &[("a", "1\n")]);
                s.commit("f1", &["B"], &[("a", "2\n")]);
                s.commit("f2", &["f1"], &[("a", "1\n")]);
                s.commit("S", &["f2"], &[("a", "2\n")]);
                s.commit("l", &["B"], &[("a", "2\n")]);
                s.commit("T", &["l"], &[("a", "1\n")]);
            },
        ),
        case("mode landed, then taken back", Truth::Gone, "reverted exact @l", "-", |s| {
            s.commit("B", &[], &[("run", "1\n")]);
            s.commit("S", &["B"], &[("x:run", "1\n")]);
            s.commit("l", &["B"], &[("x:run", "1\n")]);
            s.commit("T", &["l"], &[("run", "1\n")]);
        }),
        case("deletion landed, file restored", Truth::Gone, "reverted exact @l", "-", |s| {
            s.commit("B", &[], &[("a", &doc(&[])), ("b", "1\n")]);
            s.commit("S", &["B"], &[("-a", "")]);
            s.commit("l", &["B"], &[("-a", "")]);
            s.commit("T", &["l"], &[("a", &doc(&[]))]);
        }),
        case(
            "reverted by a merge, landed again directly",
            Truth::In,
            "landed, changed since range @l",
            "++",
            |s| {
                s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
                s.commit("f1", &["B"], &[("a", "2\n")]);
                s.commit("S", &["f1"], &[("b", "2\n")]);
                s.commit("l0", &["B"], &[("a", "2\n"), ("b", "2\n")]);
                s.commit("u", &["l0"], &[("a", "1\n"), ("b", "1\n")]);
                s.commit("m", &["l0", "u"], &[("a", "1\n"), ("b", "1\n")]);
                s.commit("l", &["m"], &[("a", "2\n"), ("b", "2\n")]);
                s.commit("T", &["l"], &[("a", "3\n")]);
            },
        ),
        case(
            "the trunk renamed the file afterwards",
            Truth::In,
            "landed, changed since exact @l",
            "-",
            |s| {
                s.commit("B", &[], &[("a", &doc(&[]))]);
                s.commit("S", &["B"], &[("a", &doc(&[(3, "three")]))]);
                s.commit("l", &["B"], &[("a", &doc(&[(3, "three")]))]);
                s.commit("T", &["l"], &[("-a", ""), ("z", &doc(&[(3, "three")]))]);
            },
        ),
        case("a new file, renamed afterwards", Truth::In, "landed, changed since exact @l", "-", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("S", &["B"], &[("new", &doc(&[]))]);
            s.commit("l", &["B"], &[("new", &doc(&[]))]);
            s.commit("T", &["l"], &[("-new", ""), ("newer", &doc(&[(3, "three")]))]);
        }),
    ]
}
