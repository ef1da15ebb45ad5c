//! Agents that ran into a usage limit: until it passes none is started, since it would only fail.

use crate::domain::Agent;
use crate::domain::Outcome;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::date;
use crate::state::View;
use crate::state::Worker;
use crate::verbs::session::Session;
use std::time::Duration;

/// What to do while an agent is paused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AtLimit {
    #[default]
    Refuse,
    Wait,
    Ignore,
}

/// How often it is looked whether a limit has passed.
const LOOK: Duration = Duration::from_secs(1);

/// Returns when the agent that `argv` starts may be started.
pub fn heed(session: &Session<'_>, at_limit: AtLimit, argv: &[String]) -> Result<()> {
    let Some(agent) = Agent::of(argv).filter(|_| at_limit != AtLimit::Ignore) else { return Ok(()) };
    let mut told = None;
    loop {
        let view = session.view()?;
        let Some((worker, until)) = longest(session, &view, agent) else { return Ok(()) };
        if at_limit == AtLimit::Refuse {
            return Err(paused(agent, worker, until).into());
        }
        if told.replace(until) != Some(until) {
            session.tell(format!("{} is paused until {}: waiting", agent.name, date(until)));
        }
        std::thread::sleep(LOOK);
    }
}

/// The worker whose limit passes last, if any has not passed.
fn longest<'v>(session: &Session<'_>, view: &'v View, agent: &Agent) -> Option<(&'v Worker, i64)> {
    let now = session.clock.now_secs();
    let same = |w: &&Worker| Agent::of(&w.record.agent).is_some_and(|other| other.name == agent.name);
    let until = |w: &'v Worker| Some((w, w.record.paused.filter(|until| *until > now)?));
    let of_it = view.workers.iter().filter(same).filter(|w| w.record.outcome == Outcome::NeedsInput);
    of_it.filter_map(until).max_by_key(|(_, until)| *until)
}

fn paused(agent: &Agent, worker: &Worker, until: i64) -> Refusal {
    let name = agent.name;
    let handle = &worker.record.handle;
    Refusal::new(
        Token::AgentPaused,
        format!("the usage limit of {name} is reached, and passes at {}", date(until)),
    )
    .lines([format!("{handle} ran into it")])
    .show(format!("git show {}:record.json", worker.ref_text()))
    .next("stay until then with --wait-limit, or start all the same with --ignore-limit")
}
