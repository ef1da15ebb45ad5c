//! Branches on a server, as a person names them: `REMOTE/BRANCH`. Here they are known by the ref that git notes them
//! at; what is true is on the server.

use crate::domain::Failure;
use crate::domain::Oid;
use crate::domain::RefName;
use crate::domain::Refusal;
use crate::domain::RemoteName;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::quoted;
use crate::plumbing::Hooks;
use crate::plumbing::Send;
use crate::state::View;
use crate::verbs::landing::Landings;
use crate::verbs::session::Session;

/// A branch of a configured remote.
#[derive(Debug, Clone)]
pub struct ServerBranch {
    pub remote: RemoteName,
    /// Its name there, `refs/heads/main`.
    pub branch: RefName,
    /// Where it is noted here, `refs/remotes/origin/main`.
    pub tracking: RefName,
}

impl ServerBranch {
    /// Asks the server where it is, and notes that.
    pub fn fetch(&self, session: &Session<'_>) -> Result<Option<Oid>> {
        session.repo.fetch_branch(&self.remote, &self.branch, &self.tracking)
    }

    /// Moves it from exactly `old` to `new`, which holds it. The person's hooks run, as in their own push. The words
    /// of those who did not let it through.
    pub fn push(&self, session: &Session<'_>, old: Oid, new: Oid) -> Result<Option<String>> {
        let send = Send { name: self.branch.clone(), new: Some(new), expected: Some(old) };
        session.repo.push(&self.remote, &[send], Hooks::Persons)
    }

    pub fn unknown(&self) -> Failure {
        let (remote, name) = (&self.remote, self.branch.short());
        Refusal::new(Token::NotABranch, format!("{remote} is not known to have a branch {name}"))
            .show(format!("git ls-remote --heads {remote} {}", quoted(name)))
            .next(format!(
                "git fetch {remote}, or make it there: git push {remote} <commit>:refs/heads/{name}"
            ))
            .into()
    }
}

/// The branch that `name` stands for here. None if its remote is not configured, or it is a local one.
pub fn of(session: &Session<'_>, name: &RefName) -> Option<ServerBranch> {
    if name.is_tracking() { by_words(session, name.short()) } else { None }
}

/// `REMOTE/BRANCH`; of two remotes that fit, the longer name.
fn by_words(session: &Session<'_>, words: &str) -> Option<ServerBranch> {
    let remotes = session.config.named("remote", "url");
    let fit =
        remotes.iter().filter_map(|(name, _)| Some((*name, words.strip_prefix(name)?.strip_prefix('/')?)));
    let (remote, branch) = fit.max_by_key(|(name, _)| name.len())?;
    Some(ServerBranch {
        remote: RemoteName::new(remote).ok()?,
        branch: RefName::branch(branch).ok()?,
        tracking: RefName::new(format!("refs/remotes/{words}")).ok()?,
    })
}

/// What a person means by the branch that they named.
pub fn meant(session: &Session<'_>, view: &View, name: &RefName) -> Result<RefName> {
    if name.is_tracking() {
        return match of(session, name) {
            Some(_) => Ok(name.clone()),
            None => Err(no_remote(name)),
        };
    }
    match by_words(session, name.short()) {
        Some(server) if view.branches.contains_key(name) => Err(both(name, &server)),
        Some(server) => Ok(server.tracking),
        None => Ok(name.clone()),
    }
}

/// Refuses the name of a branch on a server where a local one is wanted.
pub fn refuse(session: &Session<'_>, view: &View, name: &RefName, worker: &str) -> Result<()> {
    let server = if view.branches.contains_key(name) { None } else { by_words(session, name.short()) };
    let Some(server) = server else { return Ok(()) };
    let says =
        format!("{} is a branch of {}, and work is collected on a local one", name.short(), server.remote);
    Err(Refusal::new(Token::BadName, says)
        .show(format!("git remote show {}", server.remote))
        .next(format!("git skein land --onto {} {worker}, or name a local branch", quoted(name.short())))
        .into())
}

pub fn no_remote(name: &RefName) -> Failure {
    Refusal::new(Token::NoRemote, format!("{} is of no remote that is configured", name.short()))
        .show("git remote -v")
        .next("name a branch as <remote>/<branch>, or make the remote: git remote add <name> <address>")
        .into()
}

fn both(name: &RefName, server: &ServerBranch) -> Failure {
    let says = format!("{} is a local branch, and also one of {}", name.short(), server.remote);
    Refusal::new(Token::BadName, says)
        .lines([name.to_string(), server.tracking.to_string()])
        .show(format!("git for-each-ref {} {}", quoted(name.as_str()), quoted(server.tracking.as_str())))
        .next(format!("give {} for that of the server, or rename the local one", server.tracking))
        .into()
}

/// Before anything is built on `onto`: where it is now on its server. A rehearsal takes it as it was seen last.
pub fn refresh(session: &Session<'_>, onto: &RefName) -> Result<()> {
    if !onto.is_tracking() {
        return Ok(());
    }
    let server = of(session, onto).ok_or_else(|| no_remote(onto))?;
    if session.dry {
        session.tell_once(format!("nothing is fetched: {} is taken as it was seen last", onto.short()));
        return Ok(());
    }
    // An intent that is still open is about what the server has now, and two fetches are in each other's way.
    let _held = Landings::begin(session, session.clone_id().unwrap_or_default())?;
    server.fetch(session)?.map(drop).ok_or_else(|| server.unknown())
}
