//! Refusals around what a person decides.

use crate::domain::Token;
use crate::domain::refusals::Explained;

pub const VERDICTS: &[Explained] = &[
    Explained {
        token: Token::VerdictStale,
        means: "The delta or the question that was seen is not the one that there is now, or there are several and none was named",
        show: "`git range-diff <base>..<tip> <base>..<tip>`",
        next: "`git skein verdict <worker>` shows the card as it is now, with the id for `--delta`",
    },
    Explained {
        token: Token::VerdictGiven,
        means: "This very delta was judged so already",
        show: "`git log refs/skein/lane/<clone>`",
        next: "Nothing to do; another verdict on it may still be given",
    },
    Explained {
        token: Token::NoSuchOption,
        means: "`--option` names no option of the question, or is given where none is to be chosen",
        show: "`git show refs/skein/worker/<id>:record.json`",
        next: "`git skein verdict <worker>` lists the options with their numbers; `-m` answers in words",
    },
    Explained {
        token: Token::ForeignWorker,
        means: "The worker was dispatched in another clone, which alone writes its record, and may alone have its work",
        show: "`git show refs/skein/worker/<id>:record.json`: `clone`, beside `git config skein.clone`",
        next: "Decide where it was dispatched; to land its work here, freeze it there with `git skein import`, and push and fetch its ref",
    },
    Explained {
        token: Token::MayNotJudge,
        means: "`verdict_actors` of the policy does not name you, or does not name who accepted the delta",
        show: "`git show <trunk>:.skein/policy.toml` and `git var GIT_COMMITTER_IDENT`",
        next: "Let one of those decide that are named",
    },
    Explained {
        token: Token::NotAccepted,
        means: "Policy or `skein.requireVerdict` asks for a verdict, and nobody has accepted this very delta",
        show: "`git show <trunk>:.skein/policy.toml`; `git range-diff` with the delta that was judged, if there is one",
        next: "Look at it with `git skein verdict <worker>`, then accept it, or `git skein land --accept <worker>`",
    },
    Explained {
        token: Token::Rejected,
        means: "The delta was rejected, or its task given to another worker, and nobody has accepted it since",
        show: "`git log refs/skein/lane/<clone>`",
        next: "Leave it, or accept it after all: `git skein verdict <worker> accept`",
    },
    Explained {
        token: Token::BadPolicy,
        means: "`.skein/policy.toml` at the tip of the trunk cannot be read, so nobody knows what it demands",
        show: "`git show <trunk>:.skein/policy.toml`",
        next: "Correct it on the trunk",
    },
];
