//! What refusals of `undo` mean.

use crate::domain::Token;
use crate::domain::refusals::Explained;

pub const UNDO: &[Explained] = &[
    Explained {
        token: Token::NoSuchOperation,
        means: "No operation on any lane has this id or prefix",
        show: "`git log refs/skein/lane/<clone>`",
        next: "List them with `git skein log`",
    },
    Explained {
        token: Token::AmbiguousOperation,
        means: "More than one operation has this prefix",
        show: "`git log refs/skein/lane/<clone>`",
        next: "Give more letters, or the whole id",
    },
    Explained {
        token: Token::NothingToUndo,
        means: "No landing stands, the operation moved no branch, or the branch does not hold it any more",
        show: "`git log <onto>..<new>`",
        next: "Nothing to do; name another operation if you meant one",
    },
    Explained {
        token: Token::BuiltUpon,
        means: "The branch has gone on from where the operation left it",
        show: "`git log <old>..<onto>`",
        next: "Land a revert: the message has the command, a worker that runs `git revert`",
    },
    Explained {
        token: Token::Pushed,
        means: "A remote-tracking branch holds what the operation brought: others may have it",
        show: "`git branch --remotes --contains <new>`",
        next: "Land a revert: the message has the command",
    },
];
