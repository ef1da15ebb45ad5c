//! What a full-screen view asks before it begins and on each look. What it shows and does, the other verbs do.

use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::state::View;
use crate::verbs::session::Session;

/// Refuses where nobody can look at it, and where an agent would. Gives the repository's name.
pub fn begin(session: &Session<'_>, at_terminal: bool) -> Result<String> {
    session.refuse_in_worker("dock")?;
    let dumb = session.env.get("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    let says = match (at_terminal, dumb) {
        (false, _) => "standard input and output are not both a terminal",
        (true, true) => "this terminal cannot place its cursor, as TERM tells",
        (true, false) => return Ok(name(session)),
    };
    Err(Refusal::new(Token::NoTerminal, says)
        .show("tty; echo \"$TERM\"")
        .next("git skein status, git skein inbox and git skein verdict show and do the same by lines")
        .into())
}

/// The folder that holds it.
fn name(session: &Session<'_>) -> String {
    let common = &session.repo.dirs.common;
    let folder = if common.ends_with(".git") { common.parent() } else { Some(common.as_path()) };
    folder.and_then(|path| path.file_name()).unwrap_or_default().to_string_lossy().into_owned()
}

/// Is another one as soon as a ref is: of a worker, a lane, a branch or what is kept of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark(String);

/// One listing of the refs.
pub fn mark(session: &Session<'_>) -> Result<Mark> {
    let view = session.view()?;
    let View { workers, unreadable, lanes, archives, kept, candidates, branches, .. } = &view;
    let workers: Vec<_> = workers.iter().map(|w| (w.id, w.at, w.head, w.wip)).collect();
    let all = (workers, unreadable, lanes, archives, kept, candidates, branches);
    Ok(Mark(format!("{all:?}")))
}
