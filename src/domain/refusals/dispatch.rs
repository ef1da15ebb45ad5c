//! Refusals before a worker runs.

use crate::domain::Token;
use crate::domain::refusals::Explained;

pub(super) const DISPATCH: &[Explained] = &[
    Explained {
        token: Token::NoJail,
        means: "The agent cannot be shut in as far as was asked: bubblewrap is missing or the system forbids it",
        show: "`bwrap --ro-bind / / --unshare-user true`",
        next: "Install bubblewrap, or let the agent run free with `--jail none`",
    },
    Explained {
        token: Token::BadLimit,
        means: "A limit on what workers and gates may take of the machine cannot be read",
        show: "`git config --show-origin --get-regexp '^skein\\.limit'`",
        next: "Give a whole number above 0, with `k`, `m` or `g` for powers of 1024, or unset it",
    },
    Explained {
        token: Token::NoPane,
        means: "There is no tmux, or the worker has no window in it",
        show: "`tmux list-windows -a`",
        next: "Install tmux and dispatch with `--tmux`; `git skein show --log <worker>` shows the output of any worker",
    },
    Explained {
        token: Token::NoTask,
        means: "There is no task text",
        show: "`git show refs/skein/worker/<id>:brief.md` shows another worker's",
        next: "Give the task as an argument or with `-F`",
    },
    Explained {
        token: Token::BadTasks,
        means: "A line of the file given with `--from` cannot be read, or cannot be carried out: an unknown key, a bad value, a name twice, an `after` that names no task or leads in a circle",
        show: "`git skein help dispatch` (git takes no part in it)",
        next: "Correct the lines that are named; nothing was started",
    },
    Explained {
        token: Token::AgentNotFound,
        means: "The agent's command does not exist or cannot be run",
        show: "`command -v <agent>` (git takes no part in it)",
        next: "Install it, or give its full path after `--`",
    },
    Explained {
        token: Token::NoIdentity,
        means: "Git does not know your name and address",
        show: "`git var GIT_COMMITTER_IDENT`",
        next: "Set `user.name` and `user.email` with `git config`",
    },
    Explained {
        token: Token::WorktreeExists,
        means: "The folder for the worktree exists already, or the worker that is to be restored has one",
        show: "`git worktree list`",
        next: "Choose another `--name` or `--to`, or move the folder away",
    },
    Explained {
        token: Token::WorktreeInside,
        means: "The worktree would stand inside another working tree",
        show: "`git rev-parse --show-toplevel`",
        next: "Set `git config skein.worktreeDir` to a folder outside",
    },
    Explained {
        token: Token::InWorker,
        means: "The verb was given inside a worker; only a person or the orchestrator may use it",
        show: "`git rev-parse --git-dir`",
        next: "Give it in the main checkout",
    },
];
