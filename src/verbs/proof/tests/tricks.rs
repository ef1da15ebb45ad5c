//! Histories that look landed and are not, and some that look otherwise and are.

use super::Case;
use super::case;
use super::story::Truth;
use super::story::doc;

const FUNCTION: &str = "fn answer() -> u32 {\n    let six = 6;\n    six * 7\n}";

pub fn cases() -> Vec<Case> {
    [text(), paths(), merges(), forged(), vacuous()].into_iter().flatten().collect()
}

fn text() -> Vec<Case> {
    vec![
        case("indentation differs", Truth::Not, "not-landed", "-", |s| {
            s.commit("B", &[], &[("a.py", "if a:\n        a()\nc()\n")]);
            s.commit("S", &["B"], &[("a.py", "if a:\n        a()\n        b()\nc()\n")]);
            s.commit("T", &["B"], &[("a.py", "if a:\n        a()\nb()\nc()\n")]);
        }),
        case("white space in a literal", Truth::Not, "not-landed", "-", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "pw = \"a b\"")]))]);
            s.commit("T", &["B"], &[("a", &doc(&[(3, "pw = \"ab\"")]))]);
        }),
        case("line ends differ", Truth::Not, "not-landed", "-", |s| {
            s.commit("B", &[], &[("a", "1\n2\n3\n")]);
            s.commit("S", &["B"], &[("a", "1\ntwo\r\n3\n")]);
            s.commit("T", &["B"], &[("a", "1\ntwo\n3\n")]);
        }),
        case("last newline differs", Truth::Not, "not-landed", "-", |s| {
            s.commit("B", &[], &[("a", "1\n2\n")]);
            s.commit("S", &["B"], &[("a", "1\ntwo")]);
            s.commit("T", &["B"], &[("a", "1\ntwo\n")]);
        }),
        case("the same hunk elsewhere in the file", Truth::Not, "not-landed", "-", |s| {
            let block = |x: &str| format!("begin\none\ntwo\n{x}\nthree\nfour\nend\n");
            s.commit("B", &[], &[("a", &[block("x"), block("x")].concat())]);
            s.commit("S", &["B"], &[("a", &[block("y"), block("x")].concat())]);
            s.commit("T", &["B"], &[("a", &[block("x"), block("y")].concat())]);
        }),
        case("the same line changed otherwise", Truth::Not, "not-landed", "+", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "three")]))]);
            s.commit("T", &["B"], &[("a", &doc(&[(3, "drei")]))]);
        }),
        case("half of the squash", Truth::Not, "not-landed", "+", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "three"), (15, "fifteen")]))]);
            s.commit("T", &["B"], &[("a", &doc(&[(3, "three")]))]);
        }),
        case("the trunk moved the function that the fork deletes", Truth::Not, "not-landed", "+", |s| {
            s.commit("B", &[], &[("a", &doc(&[(3, FUNCTION)]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "-")]))]);
            s.commit("T", &["B"], &[("a", &doc(&[(3, "-"), (17, FUNCTION)]))]);
        }),
        case("the trunk moved it to another file, indented", Truth::Not, "not-landed", "", |s| {
            s.commit("B", &[], &[("a", &doc(&[(3, FUNCTION)])), ("b", "impl X {\n}\n")]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "-")]))]);
            let inside = FUNCTION.replace('\n', "\n    ");
            s.commit(
                "T",
                &["B"],
                &[("a", &doc(&[(3, "-")])), ("b", &format!("impl X {{\n    {inside}\n}}\n")), ("c", "1\n")],
            );
        }),
        case("both deleted the function, among other work", Truth::In, "landed contained @T", "", |s| {
            s.commit("B", &[], &[("a", &doc(&[(3, FUNCTION)]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "-")]))]);
            s.commit("T", &["B"], &[("a", &doc(&[(3, "-"), (17, "seventeen")])), ("c", "1\n")]);
        }),
        case("the fork moved the function, the trunk too", Truth::In, "landed contained @T", "", |s| {
            s.commit("B", &[], &[("a", &doc(&[(3, FUNCTION)]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "-"), (17, FUNCTION)]))]);
            s.commit("T", &["B"], &[("a", &doc(&[(3, "-"), (17, FUNCTION)])), ("c", "1\n")]);
        }),
    ]
}

fn paths() -> Vec<Case> {
    vec![
        case("mode never landed, content did", Truth::Not, "not-landed", "+", |s| {
            s.commit("B", &[], &[("run", "1\n")]);
            s.commit("S", &["B"], &[("x:run", "2\n")]);
            s.commit("T", &["B"], &[("run", "2\n")]);
        }),
        case("mode landed on a file with later content", Truth::In, "landed contained @l", "", |s| {
            s.commit("B", &[], &[("run", "1\n")]);
            s.commit("S", &["B"], &[("x:run", "1\n")]);
            s.commit("t1", &["B"], &[("run", "2\n")]);
            s.commit("l", &["t1"], &[("x:run", "2\n")]);
            s.commit("T", &["l"], &[("x:run", "3\n")]);
        }),
        case("the trunk renamed what the fork deletes", Truth::Not, "not-landed", "", |s| {
            s.commit("B", &[], &[("a", &doc(&[])), ("b", "1\n")]);
            s.commit("S", &["B"], &[("-a", "")]);
            s.commit("T", &["B"], &[("-a", ""), ("z", &doc(&[]))]);
        }),
        case("the same, with edits", Truth::Not, "not-landed", "", |s| {
            s.commit("B", &[], &[("a", &doc(&[])), ("b", "1\n")]);
            s.commit("S", &["B"], &[("-a", "")]);
            let other: Vec<(usize, &str)> = (1..=8).map(|n| (n, "something else here")).collect();
            s.commit("T", &["B"], &[("-a", ""), ("dir/z", &doc(&other))]);
        }),
        case("two alike deleted, one lives on", Truth::Not, "not-landed", "", |s| {
            s.commit("B", &[], &[("a", &doc(&[])), ("b", &doc(&[(1, "one")]))]);
            s.commit("S", &["B"], &[("-b", "")]);
            s.commit("T", &["B"], &[("-a", ""), ("-b", ""), ("z", &doc(&[]))]);
        }),
        case("the trunk deleted what the fork edits", Truth::Not, "not-landed", "+", |s| {
            s.commit("B", &[], &[("a", &doc(&[])), ("b", "1\n")]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "three")]))]);
            s.commit("T", &["B"], &[("-a", "")]);
        }),
        case("the trunk renamed what the fork edits", Truth::Not, "not-landed", "+", |s| {
            s.commit("B", &[], &[("a", &doc(&[])), ("b", "1\n")]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "three")]))]);
            s.commit("T", &["B"], &[("-a", ""), ("z", &doc(&[]))]);
        }),
        // Landed, but only a receipt can tell: without one it is refused, which is the safe side.
        case("renamed, then landed at the new path", Truth::In, "not-landed", "+", |s| {
            s.commit("B", &[], &[("a", &doc(&[])), ("b", "1\n")]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "three")]))]);
            s.commit("t1", &["B"], &[("-a", ""), ("z", &doc(&[]))]);
            s.commit("T", &["t1"], &[("z", &doc(&[(3, "three")]))]);
        }),
        case("the fork renamed, the trunk too", Truth::In, "landed contained @T", "", |s| {
            s.commit("B", &[], &[("a", &doc(&[])), ("b", "1\n")]);
            s.commit("S", &["B"], &[("-a", ""), ("z", &doc(&[]))]);
            s.commit("T", &["B"], &[("-a", ""), ("z", &doc(&[])), ("b", "2\n")]);
        }),
        case("two new files of one name", Truth::Not, "not-landed", "+", |s| {
            s.commit("B", &[], &[("b", "1\n")]);
            s.commit("S", &["B"], &[("new", "1\n2\n")]);
            s.commit("T", &["B"], &[("new", "1\n2\n3\n")]);
        }),
        case("a file where the fork has a folder", Truth::Not, "not-landed", "", |s| {
            s.commit("B", &[], &[("b", "1\n")]);
            s.commit("S", &["B"], &[("a/x", "1\n")]);
            s.commit("T", &["B"], &[("a", "1\n")]);
        }),
        case("a link instead of the file", Truth::Not, "not-landed", "", |s| {
            s.commit("B", &[], &[("b", "1\n")]);
            s.commit("S", &["B"], &[("a", "b")]);
            s.commit("T", &["B"], &[("l:a", "b")]);
        }),
        case("gitlink moved to the same commit", Truth::In, "landed contained @T", "+", |s| {
            s.commit("B", &[], &[("m:sub", "1"), ("a", "1\n")]);
            s.commit("S", &["B"], &[("m:sub", "3")]);
            s.commit("t1", &["B"], &[("m:sub", "2")]);
            s.commit("T", &["t1"], &[("m:sub", "3"), ("a", "2\n")]);
        }),
        case("gitlink moved elsewhere", Truth::Not, "not-landed", "+", |s| {
            s.commit("B", &[], &[("m:sub", "1"), ("a", "1\n")]);
            s.commit("S", &["B"], &[("m:sub", "3"), ("a", "2\n")]);
            s.commit("T", &["B"], &[("m:sub", "2"), ("a", "2\n")]);
        }),
    ]
}

fn merges() -> Vec<Case> {
    vec![
        case("a merge with content of its own", Truth::Not, "partial", "--", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("f2", &["B"], &[("b", "2\n")]);
            s.commit("S", &["f1", "f2"], &[("b", "2\n"), ("evil", "1\n")]);
            s.commit("l1", &["B"], &[("a", "2\n")]);
            s.commit("T", &["l1"], &[("b", "2\n")]);
        }),
        case("the same, and the content landed", Truth::In, "landed contained @l3", "--", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("f2", &["B"], &[("b", "2\n")]);
            s.commit("S", &["f1", "f2"], &[("b", "2\n"), ("extra", "1\n")]);
            s.commit("l1", &["B"], &[("a", "2\n")]);
            s.commit("l2", &["l1"], &[("b", "2\n")]);
            s.commit("l3", &["l2"], &[("extra", "1\n")]);
            s.commit("T", &["l3"], &[("c", "1\n")]);
        }),
        case("a merge that drops one side", Truth::Not, "partial", "-++", |s| {
            s.commit("B", &[], &[("a", "1\n"), ("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "2\n")]);
            s.commit("f2", &["B"], &[("b", "2\n")]);
            s.commit("m", &["f1", "f2"], &[]);
            s.commit("S", &["m"], &[("c", "1\n")]);
            s.commit("T", &["B"], &[("a", "2\n")]);
        }),
        case("twin on a branch that was merged with ours", Truth::Gone, "reverted exact @u", "-", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("u", &["B"], &[("a", "2\n")]);
            s.commit("t1", &["B"], &[("b", "1\n")]);
            s.commit("T", &["t1", "u"], &[]);
        }),
        case("the same over other content", Truth::Gone, "reverted exact @u", "-", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("u", &["B"], &[("a", "2\n")]);
            s.commit("t1", &["B"], &[("a", "7\n")]);
            s.commit("T", &["t1", "u"], &[]);
        }),
    ]
}

fn forged() -> Vec<Case> {
    vec![
        case("receipt of a landing that the trunk lost", Truth::Not, "not-landed", "+", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("l", &["B"], &[("a", "2\n")]);
            s.commit("T", &["B"], &[("b", "1\n")]);
            s.receipt(&[("S", "l")], "S", "B", "l");
        }),
        case("receipt with the digest of another change", Truth::Not, "not-landed", "+", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("T", &["B"], &[("b", "1\n")]);
            s.claim(&[("S", "T")], ["B", "T"], ["B", "S"], ["B", "S"]);
        }),
        case("receipt that names another's landing", Truth::Not, "not-landed", "+", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("S", &["B"], &[("a", "2\n")]);
            s.commit("T", &["B"], &[("b", "1\n")]);
            s.receipt(&[("S", "T")], "S", "B", "T");
        }),
        case("receipt for another state of the fork", Truth::Not, "not-landed", "+", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("old", &["B"], &[("a", &doc(&[(3, "three")]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "drei")]))]);
            s.commit("T", &["B"], &[("a", &doc(&[(3, "three")]))]);
            s.receipt(&[("old", "T")], "old", "B", "T");
        }),
        case("receipt with old and new swapped", Truth::Not, "not-landed", "", |s| {
            s.commit("B", &[], &[("a", "1\n")]);
            s.commit("S", &["B"], &[("a", "0\n")]);
            s.commit("t1", &["B"], &[("a", "2\n")]);
            s.commit("T", &["t1"], &[("a", "3\n")]);
            s.receipt(&[], "S", "T", "t1");
        }),
    ]
}

fn vacuous() -> Vec<Case> {
    vec![
        case("takes back a part of what it made itself", Truth::Not, "not-landed", "", |s| {
            s.commit("B", &[], &[("b", "1\n")]);
            s.commit("f1", &["B"], &[("a", "1\n2\n3\n"), ("c", "1\n")]);
            s.commit("S", &["f1"], &[("-c", "")]);
            s.commit("T", &["B"], &[("b", "2\n")]);
        }),
        case("deletes what older trunk commits did not have yet", Truth::Not, "not-landed", "", |s| {
            s.commit("R", &[], &[("a", "1\n"), ("dir/x", "1\n")]);
            s.commit("B", &["R"], &[("k", &doc(&[]))]);
            s.commit("S", &["B"], &[("-k", "")]);
            s.commit("t1", &["R"], &[("a", "2\n")]);
            s.commit("T", &["t1", "B"], &[("k", &doc(&[]))]);
        }),
        case("an unrelated commit of the same file", Truth::Not, "not-landed", "+", |s| {
            s.commit("B", &[], &[("a", &doc(&[]))]);
            s.commit("S", &["B"], &[("a", &doc(&[(3, "-")]))]);
            s.commit("T", &["B"], &[("a", &doc(&[(10, "-")]))]);
        }),
    ]
}
