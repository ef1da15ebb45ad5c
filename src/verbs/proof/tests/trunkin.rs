//! Forks that took the trunk in: then the difference to their base holds the trunk's work too.

use super::Case;
use super::case;
use super::story::Truth;
use super::story::doc;

#[expect(clippy::too_many_lines, reason = "a table")]
pub fn cases() -> Vec<Case> {
    vec![
        case("picked, then merged back", Truth::In, "landed exact @l", "", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("t1", &["B"], &[("b", "2\n")]);
            s.commit("l", &["t1"], &[("a", "2\n")]);
            s.commit("S", &["f1", "l"], &[("b", "2\n")]);
            s.commit("T", &["l"], &[("b", "3\n")]);
        }),
        case("squashed, then merged back", Truth::In, "landed range @l", "", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("f2", &["f1"], &[("a", "3\n"), ("c", "1\n")]);
            s.commit("l", &["B"], &[("a", "3\n"), ("c", "1\n")]);
            s.commit("t1", &["l"], &[("b", "2\n")]);
            s.commit("S", &["f2", "t1"], &[("b", "2\n")]);
            s.commit("T", &["t1"], &[("b", "3\n")]);
        }),
        case("landed in moved context, then merged back", Truth::In, "landed contained", "", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("f1", &["B"], &[("a", &doc(&[(10, "ten")]))]);
            s.commit("t1", &["B"], &[("a", &doc(&[(8, "eight")]))]);
            s.commit("l", &["t1"], &[("a", &doc(&[(8, "eight"), (10, "ten")]))]);
            s.commit("S", &["f1", "l"], &[("a", &doc(&[(8, "eight"), (10, "ten")]))]);
            s.commit("T", &["l"], &[("b", "1\n")]);
        }),
        case(
            "landed, merged back with a conflict, the trunk's side taken",
            Truth::In,
            "landed exact @l",
            "",
            |s| {
                s.commit("B", &[], &[("a", "1\n")]);
                s.commit("f1", &["B"], &[("a", "2\n")]);
                s.commit("l", &["B"], &[("a", "2\n")]);
                s.commit("t1", &["l"], &[("a", "3\n")]);
                s.commit("S", &["f1", "t1"], &[("a", "3\n")]);
                s.commit("t2", &["t1"], &[("b", "3\n")]);
                s.commit("T", &["t2"], &[("a", "2\n")]);
            },
        ),
        case("merged back, more work, not landed", Truth::Not, "partial", "", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("l", &["B"], &[("a", "2\n")]);
            s.commit("m", &["f1", "l"], &[]);
            s.commit("S", &["m"], &[("c", "1\n")]);
            s.commit("T", &["l"], &[("b", "2\n")]);
        }),
        case("merged back, then squashed as the net", Truth::In, "landed range @l", "", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("t1", &["B"], &[("b", "2\n")]);
            s.commit("m", &["f1", "t1"], &[("b", "2\n")]);
            s.commit("S", &["m"], &[("a", "3\n")]);
            s.commit("l", &["t1"], &[("a", "3\n")]);
            s.commit("T", &["l"], &[("b", "3\n")]);
        }),
        case(
            "merged back, conflict resolved, squashed among others",
            Truth::In,
            "landed contained @l",
            "",
            |s| {
                s.commit("B", &[], &[("a", &doc(&[]))]);
                s.commit("f1", &["B"], &[("a", &doc(&[(3, "three")]))]);
                s.commit("t1", &["B"], &[("a", &doc(&[(3, "drei")]))]);
                s.commit("S", &["f1", "t1"], &[("a", &doc(&[(3, "three, drei")]))]);
                s.commit("t2", &["t1"], &[("a", &doc(&[(3, "drei"), (15, "x")]))]);
                s.commit("l", &["t2"], &[("a", &doc(&[(3, "three, drei"), (15, "x")]))]);
                s.commit("T", &["l"], &[("b", "3\n")]);
            },
        ),
        // Against its base alone the fork changes nothing in `b`, and all would seem to be there.
        case("took the trunk in and reverted a part of it", Truth::Not, "not-landed", "", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("t1", &["B"], &[("b", "2\n")]);
            s.commit("t2", &["t1"], &[("a", "2\n")]);
            s.commit("m", &["B", "t2"], &[("a", "2\n"), ("b", "2\n")]);
            s.commit("S", &["m"], &[("b", "1\n")]);
            s.commit("T", &["t2"], &[("c", "1\n")]);
        }),
        case("the same with work that landed", Truth::Not, "partial", "", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("t1", &["B"], &[("b", "2\n")]);
            s.commit("l", &["t1"], &[("a", "2\n")]);
            s.commit("m", &["f1", "l"], &[("b", "2\n")]);
            s.commit("S", &["m"], &[("b", "1\n")]);
            s.commit("T", &["l"], &[("c", "1\n")]);
        }),
        case("took the trunk in with strategy ours", Truth::Not, "partial", "", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("t1", &["B"], &[("b", "2\n")]);
            s.commit("l", &["t1"], &[("a", "2\n")]);
            s.commit("S", &["f1", "l"], &[]);
            s.commit("T", &["l"], &[("c", "1\n")]);
        }),
        case("gave its work up when it took the trunk in", Truth::Not, "not-landed", "", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("t1", &["B"], &[("b", "2\n")]);
            s.commit("S", &["f1", "t1"], &[("a", "1\n"), ("b", "2\n")]);
            s.commit("T", &["t1"], &[("c", "1\n")]);
        }),
        case("makes again what the trunk had made and unmade", Truth::Not, "not-landed", "", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[]);
            s.commit("t1", &["B"], &[("a", "2\n")]);
            s.commit("t2", &["t1"], &[("a", "1\n")]);
            s.commit("m", &["f1", "t2"], &[]);
            s.commit("S", &["m"], &[("a", "2\n")]);
            s.commit("T", &["t2"], &[("a", "3\n")]);
        }),
        case(
            "the same, and the trunk makes it again too",
            Truth::In,
            "landed, changed since exact @l",
            "",
            |s| {
                s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
                s.commit("f1", &["B"], &[]);
                s.commit("t1", &["B"], &[("a", "2\n")]);
                s.commit("t2", &["t1"], &[("a", "1\n")]);
                s.commit("m", &["f1", "t2"], &[]);
                s.commit("S", &["m"], &[("a", "2\n")]);
                s.commit("l", &["t2"], &[("a", "2\n")]);
                s.commit("T", &["l"], &[("a", "3\n")]);
            },
        ),
        case("only took the trunk in", Truth::Nothing, "empty", "", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("f1", &["B"], &[]);
            s.commit("t1", &["B"], &[("a", "2\n")]);
            s.commit("S", &["f1", "t1"], &[("a", "2\n")]);
            s.commit("T", &["t1"], &[("c", "1\n")]);
        }),
        case("landed, reverted, then merged back", Truth::Gone, "reverted exact @l", "", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("l", &["B"], &[("a", "2\n")]);
            s.commit("r", &["l"], &[("a", "1\n")]);
            s.commit("S", &["f1", "r"], &[]);
            s.commit("T", &["r"], &[("b", "2\n")]);
        }),
        case(
            "landed in moved context, reverted, the revert taken in",
            Truth::Gone,
            "reverted contained @l",
            "",
            |s| {
                s.commit("B", &[], &[("a", &doc(&[]))]);
                s.commit("f1", &["B"], &[("a", &doc(&[(10, "ten")]))]);
                s.commit("t1", &["B"], &[("a", &doc(&[(8, "eight")]))]);
                s.commit("l", &["t1"], &[("a", &doc(&[(8, "eight"), (10, "ten")]))]);
                s.commit("r", &["l"], &[("a", &doc(&[(8, "eight")]))]);
                s.commit("S", &["f1", "r"], &[("a", &doc(&[(8, "eight")]))]);
                s.commit("T", &["r"], &[("b", "1\n")]);
            },
        ),
        case("the same, and an empty commit on top", Truth::Gone, "reverted contained @l", "", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("f1", &["B"], &[("a", &doc(&[(10, "ten")]))]);
            s.commit("t1", &["B"], &[("a", &doc(&[(8, "eight")]))]);
            s.commit("l", &["t1"], &[("a", &doc(&[(8, "eight"), (10, "ten")]))]);
            s.commit("r", &["l"], &[("a", &doc(&[(8, "eight")]))]);
            s.commit("m", &["f1", "r"], &[("a", &doc(&[(8, "eight")]))]);
            s.commit("S", &["m"], &[]);
            s.commit("T", &["r"], &[("b", "1\n")]);
        }),
        case("twice taken in around a squash of rewritten work", Truth::In, "landed range @l", "", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("t1", &["B"], &[("b", "2\n")]);
            s.commit("m1", &["f1", "t1"], &[("b", "2\n")]);
            s.commit("f2", &["m1"], &[("a", "3\n")]);
            s.commit("l", &["t1"], &[("a", "3\n")]);
            s.commit("t2", &["l"], &[("b", "3\n")]);
            s.commit("S", &["f2", "t2"], &[("b", "3\n")]);
            s.commit("T", &["t2"], &[("b", "4\n")]);
        }),
        case("merged back, then reverted", Truth::Gone, "reverted exact @l", "", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("l", &["B"], &[("a", "2\n")]);
            s.commit("t1", &["l"], &[("b", "2\n")]);
            s.commit("S", &["f1", "t1"], &[("b", "2\n")]);
            s.commit("T", &["t1"], &[("a", "1\n")]);
        }),
        case("first part reverted, second landed", Truth::Gone, "reverted exact", "", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("m", &["B", "f1"], &[("a", "2\n")]);
            s.commit("r", &["m"], &[("a", "1\n")]);
            s.commit("S", &["f1"], &[("b", "2\n")]);
            s.commit("T", &["r"], &[("b", "2\n")]);
        }),
        case("took the trunk in, then merged", Truth::In, "landed ancestor @S", "merged", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("t1", &["B"], &[("b", "2\n")]);
            s.commit("S", &["f1", "t1"], &[("b", "2\n")]);
            s.commit("t2", &["t1"], &[("b", "3\n")]);
            s.commit("T", &["t2", "S"], &[("a", "2\n")]);
        }),
        // The merge base with the trunk has what the fork undoes; its recorded base does not.
        case(
            "undid the trunk's work, merged, the merge reverted",
            Truth::Gone,
            "reverted ancestor @S",
            "merged",
            |s| {
                s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
                s.commit("t1", &["B"], &[("b", "2\n"), ("c", "1\n")]);
                s.commit("f1", &["B"], &[]);
                s.commit("m", &["f1", "t1"], &[("b", "2\n"), ("c", "1\n")]);
                s.commit("S", &["m"], &[("b", "1\n")]);
                s.commit("t2", &["t1"], &[("d", "1\n")]);
                s.commit("l", &["t2", "S"], &[("b", "1\n")]);
                s.commit("T", &["l"], &[("b", "2\n")]);
            },
        ),
        case("trunk and fork merged each other", Truth::Not, "partial", "", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
            s.commit("x", &["B"], &[("a", "2\n")]);
            s.commit("y", &["B"], &[("b", "2\n")]);
            s.commit("m1", &["y", "x"], &[("a", "2\n")]);
            s.commit("S", &["m1"], &[("c", "2\n")]);
            s.commit("m2", &["x", "y"], &[("b", "2\n")]);
            s.commit("T", &["m2"], &[("d", "2\n")]);
        }),
    ]
}
