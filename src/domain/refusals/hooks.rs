//! What refusals of `hooks`, and of the hooks themselves, mean.

use crate::domain::Token;
use crate::domain::refusals::Explained;

pub const HOOKS: &[Explained] = &[
    Explained {
        token: Token::HooksOff,
        means: "`core.hooksPath` leads to no folder, such as `/dev/null`: somebody has turned hooks off",
        show: "`git config --show-origin --get core.hooksPath`",
        next: "Unset it there, if hooks are to run",
    },
    Explained {
        token: Token::HooksShared,
        means: "`core.hooksPath` is set for all repositories of this user or this machine, and hooks there would run in each of them",
        show: "`git config --show-origin --get core.hooksPath`",
        next: "Give this repository a folder of its own with `git config core.hooksPath <folder>`, or say `--shared`",
    },
    Explained {
        token: Token::HooksTracked,
        means: "The hooks are files of the working tree that are or can be committed: they are the project's, and a path of this machine does not belong into them",
        show: "`git rev-parse --git-path hooks`",
        next: "Call `git-skein hook <name> - \"$@\"` from the project's own hook, or let `core.hooksPath` name another folder",
    },
    Explained {
        token: Token::HookReplaced,
        means: "Somebody put another hook where ours was, and the one that was there before is still set aside",
        show: "`ls -l <hooks>`",
        next: "Remove the one that is not needed, then do the same again",
    },
    Explained {
        token: Token::Fenced,
        means: "A process inside a worker wanted to move a ref that is not its own: it may move the detached `HEAD` of its own worktree, and what only that worktree has",
        show: "`git rev-parse --git-dir --symbolic-full-name HEAD`",
        next: "Commit on the detached `HEAD` of the worker's own worktree, then `git skein worker done`; a person lands it",
    },
    Explained {
        token: Token::Undeclared,
        means: "A worker was about to commit paths that it has not declared, and another open worker has",
        show: "`git diff --cached --name-only`",
        next: "Leave them out: `git restore --staged <path>`; or ask with `git skein worker wait`",
    },
    Explained {
        token: Token::ConflictMarkers,
        means: "A worker was about to commit lines that mark a conflict",
        show: "`git diff --cached --check`",
        next: "Resolve the conflict, then commit again",
    },
    Explained {
        token: Token::Unjudged,
        means: "A push would publish landed work that nobody has judged, and `skein.debtGate` is `refuse`",
        show: "`git log --notes='skein/*' <remote>/<branch>..<branch>`",
        next: "`git skein debt` lists it; judge it, or set `skein.debtGate` to `warn`",
    },
    Explained {
        token: Token::Unproven,
        means: "A push would move the trunk of this server to commits for which no lane has a landing with a gate that passed on exactly that tree",
        show: "`git log <old>..<new>`",
        next: "Push the lane along: `git push <remote> 'refs/skein/lane/*' <branch>`; a person may sign: `git push --signed -o skein-override=<reason>`",
    },
];
