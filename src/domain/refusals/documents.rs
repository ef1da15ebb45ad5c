//! Refusals around session documents.

use crate::domain::Token;
use crate::domain::refusals::Explained;

pub const DOCUMENTS: &[Explained] = &[
    Explained {
        token: Token::NoDocument,
        means: "There is no file of this name, or it is no regular one",
        show: "`ls -ld <file>`",
        next: "`git skein doc init <file>` makes one",
    },
    Explained {
        token: Token::NotADocument,
        means: "The front matter of the file states no identity, neither `skein_doc` nor `agent_doc_session`",
        show: "`head -n 20 <file>`",
        next: "`git skein doc claim <file>` adds one line to it",
    },
    Explained {
        token: Token::NotText,
        means: "The file is not UTF-8, or has a NUL in it. It is never changed",
        show: "`file <file>`",
        next: "Convert it, or keep it out of this",
    },
    Explained {
        token: Token::BadDocument,
        means: "The front matter is no YAML, or the markers of components do not pair, in the line that is named",
        show: "`sed -n '<line>p' <file>`",
        next: "Mend that line. Nothing was written",
    },
    Explained {
        token: Token::DocumentTwice,
        means: "Two files state the same identity, as after a copy",
        show: "`git for-each-ref refs/skein/doc`",
        next: "`git skein doc claim --new <copy>`, or remove one of the two",
    },
    Explained {
        token: Token::OutsideWorktree,
        means: "The file, or what it links to, is not in a working tree of the repository",
        show: "`git rev-parse --show-toplevel`",
        next: "Give a file of the working tree",
    },
    Explained {
        token: Token::BadAnswer,
        means: "The answer is empty, or one of its blocks is not closed. One that is not empty is kept",
        show: "`git show refs/skein/doc/<id>:turns/<…>/response`",
        next: "Mend it and give it again",
    },
    Explained {
        token: Token::NoAnswer,
        means: "The agent failed, or ended without a word. The document, its state and the branch are as before",
        show: "`git show refs/skein/worker/<id>:record.json`",
        next: "`git skein show --log <worker>`, then run it again",
    },
    Explained {
        token: Token::NoSuchTurn,
        means: "The document has no such turn, or not one to which this can be done",
        show: "`git log refs/skein/doc/<id>`",
        next: "`git skein doc turns <file>` lists them",
    },
    Explained {
        token: Token::NoSuchConflict,
        means: "There is no such open conflict in the document, or the words that it is about are not there any more",
        show: "`git ls-tree refs/skein/doc/<id> conflicts/`",
        next: "`git skein doc conflicts <file>` lists them",
    },
    Explained {
        token: Token::NoSuchComponent,
        means: "The document has no component of that name",
        show: "`grep -n 'agent:' <file>`",
        next: "Give one of those that are named, or put its markers into the text",
    },
    Explained {
        token: Token::HookFailed,
        means: "The `pre_patch` command of a component failed, or did not end within a minute",
        show: "`cat .skein/components.toml`",
        next: "Mend it, then try again. Nothing was written",
    },
    Explained {
        token: Token::NotOurs,
        means: "Between the commits of the document are others, or they are on a remote already: they are not folded",
        show: "`git log -- <file>`",
        next: "Leave them as they are",
    },
    Explained {
        token: Token::BranchSwitched,
        means: "The answer was written while another branch was checked out",
        show: "`git branch --show-current`",
        next: "Switch back, or give `--here`",
    },
    Explained {
        token: Token::Ignored,
        means: "git ignores the path of the document, and does not track it",
        show: "`git check-ignore -v <file>`",
        next: "Commit it anyway with `--force`",
    },
    Explained {
        token: Token::NotSigned,
        means: "Commits are to be signed, and git could not sign this one",
        show: "`git config --get-regexp '^(commit.gpgsign|gpg|user.signingkey)'`",
        next: "Make signing work, or turn it off",
    },
];
