//! `reference-transaction`: a worker without a jail moves no ref but its own. It is a fence and no wall: it stops who
//! walks into it.

use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::fenced;
use crate::host::Env;
use crate::verbs::hooks;
use crate::verbs::hooks::Input;

/// The state of a transaction in which it can still be refused, with its locks taken. A newer git asks before that too.
const PREPARED: &str = "prepared";

/// Refs that a refusal names.
const MOST: usize = 10;

/// `state` is what git says of the transaction. Who is no worker is let through before anything is read.
pub fn run(env: &Env, state: &str, input: &mut Input) -> Result<()> {
    if state != PREPARED {
        return Ok(());
    }
    let Some(called) = hooks::called(env) else { return Ok(()) };
    let Some(id) = hooks::caller(&called) else { return Ok(()) };
    let own = hooks::is_own(&called, id);
    let blocked = fenced(input.read()?, own);
    if blocked.is_empty() {
        return Ok(());
    }
    let says = match own {
        true => format!("worker {id} may move nothing but the detached HEAD of its worktree"),
        false => format!("worker {id} may move nothing outside its own worktree"),
    };
    let more = blocked.len().saturating_sub(MOST);
    let more = (more > 0).then(|| format!("and {more} more"));
    Err(Refusal::new(Token::Fenced, says)
        .lines(blocked.into_iter().take(MOST).chain(more))
        .show("git worktree list && git symbolic-ref -q HEAD")
        .next("commit in your own worktree with HEAD detached (git switch --detach), then: git skein worker done")
        .into())
}
