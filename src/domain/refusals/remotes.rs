//! Refusals around remotes.

use crate::domain::Token;
use crate::domain::refusals::Explained;

pub const REMOTES: &[Explained] = &[
    Explained {
        token: Token::NoRemote,
        means: "No remote has this name, or none is configured, or it cannot be told which is meant",
        show: "`git remote -v`",
        next: "`git remote add <name> <address>`, name one, or set `git config skein.remote <name>`",
    },
    Explained {
        token: Token::RemoteUnreachable,
        means: "The remote did not answer, or cut the connection, or gave what git does not take; git's words are there",
        show: "`git ls-remote <remote>`",
        next: "Make it reachable, then give the same command again: it goes on where it was",
    },
    Explained {
        token: Token::PushRefused,
        means: "The remote did not take refs that it was given; its words are there",
        show: "`git push --dry-run <remote> <ref>`",
        next: "Do as its words say, or ask who keeps it; what it did not take is given to it the next time",
    },
    Explained {
        token: Token::Forked,
        means: "Two folders have written as the same clone: a ref that only one writes has two histories",
        show: "`git log --oneline --graph <ref> <the same of the remote>`",
        next: "In the folder that is the copy: `git config --unset skein.clone`, then `git skein init`",
    },
    Explained {
        token: Token::NoSuchBrief,
        means: "No brief in the queue of the remote has this id, or more than one begins so, or this version cannot read it",
        show: "`git ls-remote <remote> 'refs/skein/queue/*'`",
        next: "`git skein queue list` shows them",
    },
    Explained {
        token: Token::SecretInBrief,
        means: "A command of the brief holds what looks like a secret, and everybody who reads the remote would see it",
        show: "`git skein dispatch -h` (git takes no part in it)",
        next: "Let the agent read it from its environment or from a file on the machine of the runner",
    },
    Explained {
        token: Token::RunnerRuns,
        means: "Another runner of this clone is at work",
        show: "`fuser -v <repository>/skein/run/runner.lock`",
        next: "One is enough: give it more workers with `-j`",
    },
];
