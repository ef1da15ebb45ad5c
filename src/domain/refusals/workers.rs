//! Refusals around workers and what they say.

use crate::domain::Token;
use crate::domain::refusals::Explained;

pub const DISPATCH: &[Explained] = &[
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
        token: Token::NoTerminal,
        means: "`dock` fills a terminal, and there is none, or one that cannot place its cursor",
        show: "`tty; echo $TERM`",
        next: "`git skein status`, `git skein inbox` and `git skein verdict <worker>` show and do the same by lines",
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
        token: Token::AgentPaused,
        means: "A worker of this agent ran into its usage limit, and that has not passed yet",
        show: "`git show refs/skein/worker/<id>:record.json`: `paused` is when it passes, in seconds since 1970",
        next: "Wait for it with `--wait-limit`, take another agent, or start all the same with `--ignore-limit`",
    },
    Explained {
        token: Token::NoSuchKind,
        means: "No kind has that name; or no file that `trust` is asked for makes commands run",
        show: "`git ls-tree --name-only <trunk> .skein/kinds/`",
        next: "`git skein kinds` lists them",
    },
    Explained {
        token: Token::BadKind,
        means: "The file of a kind cannot be read: its front matter has no end, is no YAML, or has a value that its key does not take; or the kind names itself as its agent",
        show: "`git show <trunk>:.skein/kinds/<kind>.md`",
        next: "Correct it where it comes from: `git skein kinds` says where",
    },
    Explained {
        token: Token::Untrusted,
        means: "A tracked file would make commands run, and nobody has trusted its content here, or it has changed since",
        show: "`git show <trunk>:<path>`, or `git diff` from what was trusted, as the message has it",
        next: "Read it; if it may run as you, `git skein trust --yes`, or in CI `SKEIN_TRUST=<digest>`",
    },
    Explained {
        token: Token::NoSession,
        means: "The kind says `seed: full`, and there is no session of the other worker that its agent could go on from: it has told none, is another agent, or cannot",
        show: "`git show refs/skein/worker/<id>:record.json`: `agent` and `session`",
        next: "Dispatch with a kind that says `seed: none`, or with the agent that the other one has",
    },
    Explained {
        token: Token::TooMany,
        means: "As many workers are active as `skein.maxActive` allows",
        show: "`git config --get skein.maxActive`",
        next: "Wait until one has ended: `git skein wait`; or raise `skein.maxActive`",
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

pub const SPEAKING: &[Explained] = &[
    Explained {
        token: Token::NotAWorker,
        means: "`git skein worker` was given where no worker runs, or its supervisor is gone",
        show: "`env | grep SKEIN_OUTBOX` (git takes no part in it)",
        next: "Give it from inside a running worker",
    },
    Explained {
        token: Token::NotTheWorker,
        means: "A request in the outbox of a worker came from a process that its agent did not start, or that no longer waits",
        show: "`env | grep SKEIN_` (git takes no part in it)",
        next: "Let the agent say it, or something that it started",
    },
    Explained {
        token: Token::BadCall,
        means: "A request of a worker is no small regular file, is not of the form that is spoken, or has an empty or endless text",
        show: "`git skein worker -h`",
        next: "Say it again as the help has it",
    },
    Explained {
        token: Token::Vague,
        means: "`worker done` does not say what was changed or what shows it; what is missing is named",
        show: "`git log --stat`",
        next: "Say it again with a summary and evidence that can be looked at",
    },
    Explained {
        token: Token::SpawnRefused,
        means: "This worker may not start others, or no more of them, or none as deep as that",
        show: "`git config --get skein.spawn`",
        next: "Let the worker do it itself, or allow it: `git skein dispatch --spawn 1 …`",
    },
    Explained {
        token: Token::TurnEnded,
        means: "The worker has said its last word: it is done, has failed or has asked a question",
        show: "`git log -1`",
        next: "End the turn",
    },
    Explained {
        token: Token::PlanFirst,
        means: "The worker may change nothing and start nobody before its plan is approved",
        show: "`git show refs/skein/worker/<id>:record.json`: `plans` has what it has laid out",
        next: "In the worker: `git skein worker plan`; as a person: `git skein plan <worker> approve`",
    },
    Explained {
        token: Token::PlanLate,
        means: "Files were changed before the plan was approved, so approving it would approve them unseen",
        show: "`git diff <base>` and `git status` in the worktree of the worker",
        next: "Put the files back, in the worktree, and plan again; or stop the worker and dispatch another",
    },
    Explained {
        token: Token::NoPlan,
        means: "The worker has laid out no plan, or none with that id",
        show: "`git show refs/skein/worker/<id>:record.json`: `plans`",
        next: "`git skein plan <worker>` shows the newest one with its id",
    },
    Explained {
        token: Token::PlanDecided,
        means: "That plan was approved or rejected already; one that is approved stays so",
        show: "`git show refs/skein/worker/<id>:record.json`: `plans`",
        next: "`git skein plan <worker>` shows what was decided",
    },
    Explained {
        token: Token::PlanMoved,
        means: "The worker has laid out another plan since the one that was to be decided",
        show: "`git log -2 refs/skein/worker/<id>`",
        next: "Read the newest one, `git skein plan <worker>`, and decide that",
    },
    Explained {
        token: Token::HeadMoved,
        means: "`worker commit` was asked for on a `HEAD` that is not the worker's any more",
        show: "`git reflog -3`",
        next: "Look at what moved it, then commit again",
    },
    Explained {
        token: Token::NoSuchQuestion,
        means: "`tell --to` names no question of the worker that is open",
        show: "`git for-each-ref refs/skein`",
        next: "`git skein show` lists what it asks",
    },
    Explained {
        token: Token::NoSuchItem,
        means: "The worker has left no artifact with that address",
        show: "`git show refs/skein/worker/<ulid>:record.json`",
        next: "`git skein artifacts <worker>` lists what there is",
    },
    Explained {
        token: Token::Undeliverable,
        means: "The worker has ended and asked nothing, so it will never ask for a message",
        show: "`git for-each-ref refs/skein`",
        next: "Dispatch another worker with what is to be done",
    },
];
