//! Every kind of change, each told in every way that work can fare: picked, squashed, among other work,
//! merged, merged back, edited, taken back, made again, in part, or never, but something that looks like it.

use super::Case;
use super::case;
use super::story::Truth;

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\ntwelve\n";
const FIVE: &str = "one\ntwo\nthree\nfour\nFIVE\nsix\nseven\neight\nnine\nten\neleven\ntwelve\n";
const CINQ: &str = "one\ntwo\nthree\nfour\ncinq\nsix\nseven\neight\nnine\nten\neleven\ntwelve\n";
const CRLF: &str = "one\r\ntwo\r\nthree\r\nfour\r\nfive\r\n";
const CRLF_THREE: &str = "one\r\ntwo\r\nTHREE\r\nfour\r\nfive\r\n";
const CRLF_TROIS: &str = "one\r\ntwo\r\ntrois\r\nfour\r\nfive\r\n";
const CRLF_ONE_LF: &str = "one\r\ntwo\r\nTHREE\nfour\r\nfive\r\n";
const TWICE: &str = "begin\none\nx\ntwo\nend\nbegin\none\nx\ntwo\nend\n";
const FIRST: &str = "begin\none\ny\ntwo\nend\nbegin\none\nx\ntwo\nend\n";
const SECOND: &str = "begin\none\nx\ntwo\nend\nbegin\none\ny\ntwo\nend\n";
const FIRST_LATER: &str = "begin\none\nz\ntwo\nend\nbegin\none\nx\ntwo\nend\n";

/// The cases of one kind of change: `base` is made first, `work` is what the fork does, `undo` takes that back,
/// `later` changes it further and so leads to the verdict beside it, and `near` only looks like `work`.
macro_rules! kind {
    (
        $kind:literal, base $base:expr, work $work:expr, undo $undo:expr,
        later $later:expr => $changed:literal, near $near:expr $(,)?
    ) => {
        vec![
            case(concat!($kind, ": picked"), Truth::In, "landed exact @l", "", |s| {
                s.commit("B", &[], &$base);
                s.commit("S", &["B"], &$work);
                s.commit("t1", &["B"], &[("other", "2\n")]);
                s.commit("l", &["t1"], &$work);
                s.commit("T", &["l"], &[("other", "3\n")]);
            }),
            case(concat!($kind, ": squashed"), Truth::In, "landed range @l", "", |s| {
                s.commit("B", &[], &$base);
                s.commit("f1", &["B"], &[("extra", "1\n")]);
                s.commit("S", &["f1"], &$work);
                s.commit("t1", &["B"], &[("other", "2\n")]);
                s.commit("l", &["t1"], &[&[("extra", "1\n")][..], &$work].concat());
                s.commit("T", &["l"], &[("other", "3\n")]);
            }),
            case(concat!($kind, ": among other work"), Truth::In, "landed contained @l", "", |s| {
                s.commit("B", &[], &$base);
                s.commit("S", &["B"], &$work);
                s.commit("t1", &["B"], &[("other", "2\n")]);
                s.commit("l", &["t1"], &[&[("noise", "1\n")][..], &$work].concat());
                s.commit("T", &["l"], &[("other", "3\n")]);
            }),
            case(concat!($kind, ": merged"), Truth::In, "landed ancestor @S", "merged", |s| {
                s.commit("B", &[], &$base);
                s.commit("S", &["B"], &$work);
                s.commit("t1", &["B"], &[("other", "2\n")]);
                s.commit("m", &["t1", "S"], &$work);
                s.commit("T", &["m"], &[("other", "3\n")]);
            }),
            case(concat!($kind, ": picked, then merged back"), Truth::In, "landed exact @l", "", |s| {
                s.commit("B", &[], &$base);
                s.commit("f1", &["B"], &$work);
                s.commit("t1", &["B"], &[("other", "2\n")]);
                s.commit("l", &["t1"], &$work);
                s.commit("S", &["f1", "l"], &[("other", "2\n")]);
                s.commit("T", &["l"], &[("other", "3\n")]);
            }),
            case(concat!($kind, ": picked, then edited"), Truth::In, $changed, "", |s| {
                s.commit("B", &[], &$base);
                s.commit("S", &["B"], &$work);
                s.commit("l", &["B"], &$work);
                s.commit("T", &["l"], &$later);
            }),
            case(concat!($kind, ": picked, then reverted"), Truth::Gone, "reverted exact @l", "-", |s| {
                s.commit("B", &[], &$base);
                s.commit("S", &["B"], &$work);
                s.commit("l", &["B"], &$work);
                s.commit("t1", &["l"], &[("other", "2\n")]);
                s.commit("T", &["t1"], &$undo);
            }),
            case(concat!($kind, ": the revert reverted"), Truth::In, "landed exact", "-", |s| {
                s.commit("B", &[], &$base);
                s.commit("S", &["B"], &$work);
                s.commit("l", &["B"], &$work);
                s.commit("r", &["l"], &$undo);
                s.commit("T", &["r"], &$work);
            }),
            case(
                concat!($kind, ": merged, the merge reverted"),
                Truth::Gone,
                "reverted ancestor @S",
                "merged",
                |s| {
                    s.commit("B", &[], &$base);
                    s.commit("S", &["B"], &$work);
                    s.commit("t1", &["B"], &[("other", "2\n")]);
                    s.commit("m", &["t1", "S"], &$work);
                    s.commit("T", &["m"], &$undo);
                },
            ),
            case(concat!($kind, ": the other half landed"), Truth::Not, "partial", "", |s| {
                s.commit("B", &[], &$base);
                s.commit("f1", &["B"], &[("extra", "1\n")]);
                s.commit("S", &["f1"], &$work);
                s.commit("T", &["B"], &[("extra", "1\n")]);
            }),
            case(concat!($kind, ": something like it"), Truth::Not, "not-landed", "", |s| {
                s.commit("B", &[], &$base);
                s.commit("S", &["B"], &$work);
                s.commit("T", &["B"], &$near);
            }),
        ]
    };
}

pub fn cases() -> Vec<Case> {
    [paths(), modes(), bytes(), text()].into_iter().flatten().collect()
}

fn paths() -> Vec<Case> {
    [
        kind!(
            "new file", base [("b", "1\n")], work [("dir/new", TEXT)], undo [("-dir/new", "")],
            later [("dir/new", FIVE)] => "landed, changed since exact @l",
            near [("dir/neu", TEXT)],
        ),
        kind!(
            "empty file", base [("b", "1\n")], work [("mark", "")], undo [("-mark", "")],
            later [("mark", "1\n")] => "landed exact @l",
            near [("marks", "")],
        ),
        kind!(
            "deletion", base [("a", TEXT), ("b", "1\n")], work [("-a", "")], undo [("a", TEXT)],
            later [("a", "something else\n")] => "landed, changed since exact @l",
            near [("a", FIVE)],
        ),
        kind!(
            "rename", base [("a", TEXT), ("b", "1\n")], work [("-a", ""), ("z", TEXT)],
            undo [("-z", ""), ("a", TEXT)],
            later [("z", FIVE)] => "landed, changed since exact @l",
            near [("-a", ""), ("y", TEXT)],
        ),
        kind!(
            "rename with an edit", base [("a", TEXT), ("b", "1\n")], work [("-a", ""), ("z", FIVE)],
            undo [("-z", ""), ("a", TEXT)],
            later [("z", CINQ)] => "landed, changed since exact @l",
            near [("-a", ""), ("z", TEXT)],
        ),
    ]
    .concat()
}

fn modes() -> Vec<Case> {
    [
        kind!(
            "mode", base [("run", TEXT)], work [("x:run", TEXT)], undo [("run", TEXT)],
            later [("-run", "")] => "landed, changed since exact @l",
            near [("run", FIVE)],
        ),
        kind!(
            "symlink", base [("l:a", "here"), ("b", "1\n")], work [("l:a", "there")], undo [("l:a", "here")],
            later [("l:a", "elsewhere")] => "landed, changed since exact @l",
            near [("l:a", "There")],
        ),
        kind!(
            "file to symlink", base [("a", "b"), ("b", "1\n")], work [("l:a", "b")], undo [("a", "b")],
            later [("l:a", "c")] => "landed, changed since exact @l",
            near [("a", "c")],
        ),
        kind!(
            "gitlink", base [("m:sub", "1"), ("b", "1\n")], work [("m:sub", "2")], undo [("m:sub", "1")],
            later [("m:sub", "3")] => "landed, changed since exact @l",
            near [("m:sub", "4")],
        ),
    ]
    .concat()
}

fn bytes() -> Vec<Case> {
    [
        kind!(
            "binary", base [("a", "1\0\n"), ("b", "1\n")], work [("a", "2\0\n")], undo [("a", "1\0\n")],
            later [("a", "3\0\n")] => "landed, changed since exact @l",
            near [("a", "4\0\n")],
        ),
        kind!(
            "line ends kept", base [("a", CRLF)], work [("a", CRLF_THREE)], undo [("a", CRLF)],
            later [("a", CRLF_TROIS)] => "landed, changed since exact @l",
            near [("a", CRLF_ONE_LF)],
        ),
        kind!(
            "line ends converted", base [("a", "one\ntwo\nthree\nfour\nfive\n")], work [("a", CRLF)],
            undo [("a", "one\ntwo\nthree\nfour\nfive\n")],
            later [("a", CRLF_TROIS)] => "landed, changed since exact @l",
            near [("a", "one\r\ntwo\r\nthree\nfour\r\nfive\r\n")],
        ),
        kind!(
            "last newline", base [("a", "one\ntwo")], work [("a", "one\ntwo\n")], undo [("a", "one\ntwo")],
            later [("a", "one\nzwei\n")] => "landed, changed since exact @l",
            near [("a", "one\ntwo\n\n")],
        ),
    ]
    .concat()
}

fn text() -> Vec<Case> {
    [
        kind!(
            "white space", base [("a", "if a:\n  b()\nc()\n")], work [("a", "if a:\n  b()\n  c()\n")],
            undo [("a", "if a:\n  b()\nc()\n")],
            later [("a", "if a:\n  b()\n  d()\n")] => "landed, changed since exact @l",
            near [("a", "if a:\n  b()\n\tc()\n")],
        ),
        kind!(
            "one of two equal places", base [("a", TWICE)], work [("a", FIRST)], undo [("a", TWICE)],
            later [("a", FIRST_LATER)] => "landed, changed since exact @l",
            near [("a", SECOND)],
        ),
        kind!(
            "text", base [("a", TEXT)], work [("a", FIVE)], undo [("a", TEXT)],
            later [("a", CINQ)] => "landed, changed since exact @l",
            near [("a", CINQ)],
        ),
    ]
    .concat()
}
