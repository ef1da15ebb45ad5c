//! What an agent begins with that follows on another worker: nothing, or the session of that one. The other one keeps
//! its own.

use crate::domain::Agent;
use crate::domain::Jail;
use crate::domain::Outcome;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::WorkerId;
use crate::domain::kind;
use crate::state::Seeded;
use crate::state::View;
use crate::state::Worker;
use crate::verbs::dispatch::Request;
use crate::verbs::session::Session;
use std::path::Path;
use std::path::PathBuf;

/// The session that a worker to be goes on from.
pub struct Seed {
    from: WorkerId,
    session: String,
    /// The command that goes on from it.
    pub argv: Vec<String>,
    /// Where it is kept, if that is not where the agent of the new one looks: a home folder, and folders in it.
    kept: Option<(PathBuf, &'static [&'static str])>,
}

impl Seed {
    pub fn record(&self) -> Seeded {
        Seeded { worker: self.from, session: self.session.clone() }
    }

    /// Gives worker `id` a copy of it. The agent that wrote it may run, and write on.
    pub fn bring(&self, session: &Session<'_>, id: WorkerId) -> Result<()> {
        let Some((home, folders)) = &self.kept else { return Ok(()) };
        let own = session.local.kept_home(id);
        crate::host::remove_tree(&own)?;
        crate::host::make_dir(&own)?;
        for folder in *folders {
            crate::host::carry_all(home, &own, Path::new(folder))?;
        }
        crate::fault::point("seed: session copied");
        Ok(())
    }
}

/// The session that the agent of `request` is to go on from in `jail`, if its kind asks for one and it follows on
/// anybody. Who starts for the first time has nothing to go on from.
pub fn look(
    session: &Session<'_>,
    view: &View,
    seed: kind::Seed,
    request: &Request,
    jail: Jail,
) -> Result<Option<Seed>> {
    let wanted = seed == kind::Seed::Full || request.goes_on;
    let Some(from) = request.follows.filter(|_| wanted) else { return Ok(None) };
    let worker = view.any_worker(&session.repo, &from.to_string())?;
    let record = &worker.record;
    let no = |says: &str| Err(no_session(&worker, says).into());
    let Some(agent) = Agent::of(&request.argv) else { return no("its own agent is none that has sessions") };
    if Agent::of(&record.agent).is_none_or(|other| other.name != agent.name) {
        return no(&format!("its own agent is {}, and not the one that has it", agent.name));
    }
    if session.clone_id() != Some(record.clone.as_str()) {
        return no("that one ran in another clone");
    }
    let Some(name) = &record.session else { return no("the agent of that one has told none") };
    let homes = [session.local.kept_home(from), session.local.private(from).join("home")];
    let kept = match (record.jail, jail) {
        (Jail::None, _) => None,
        (_, Jail::None) => return no("that one ran in a jail, which its agent's sessions do not leave"),
        _ => match homes.into_iter().find(|home| home.is_dir()) {
            Some(home) => Some((home, agent.state)),
            None => return no("what the agent of that one kept went with its jail"),
        },
    };
    // In a jail it has a copy of all sessions in any case.
    let alone = !jail.is_none() || record.outcome != Outcome::Active;
    let Some(argv) = agent.fork(&request.argv, name, alone) else {
        let why = match agent.fork(&request.argv, name, true) {
            Some(_) => "cannot copy a session, and that one still runs",
            None => "finds no session but in the worktree where it began",
        };
        return no(&format!("{} {why}", agent.name));
    };
    Ok(Some(Seed { from, session: name.clone(), argv, kept }))
}

fn no_session(worker: &Worker, says: &str) -> Refusal {
    let handle = &worker.record.handle;
    Refusal::new(Token::NoSession, format!("it is to go on from the session of {handle}: {says}"))
        .show(format!("git show {}:record.json", worker.ref_text()))
        .next("give it a kind that says seed: none, or the agent that the other one has")
}
