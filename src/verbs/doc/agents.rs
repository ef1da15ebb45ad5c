//! Which agent answers in a document, and how it is called: what was asked for, the front matter, the person's
//! configuration, and that of agent-doc, in this order.

use crate::domain::AGENTS;
use crate::domain::Agent;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::document::Fields;
use crate::verbs::session::Session;
use serde::Deserialize;
use std::collections::BTreeMap;

/// An agent as it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    pub name: String,
    /// The whole command, if the agent is none that is known by its name.
    pub argv: Vec<String>,
    /// Words that a known agent is called with beside its own.
    pub more: Vec<String>,
    pub model: Option<String>,
}

/// The file of agent-doc.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Theirs {
    default_agent: Option<String>,
    claude_args: Option<String>,
    agents: BTreeMap<String, Command>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Command {
    command: Option<String>,
    args: Vec<String>,
}

/// Chooses it. `asked` and `model` are what the command line says.
pub fn choose(
    session: &Session<'_>,
    fields: &Fields,
    asked: Option<&str>,
    model: Option<&str>,
) -> Result<Chosen> {
    let theirs = theirs(session)?;
    let own = session.config.get("skein.agent");
    let name = [asked, fields.agent.as_deref(), own, theirs.default_agent.as_deref(), Some("claude")];
    let name = name.into_iter().flatten().next().unwrap_or("claude").to_owned();
    let model = model.or(fields.model.as_deref()).map(str::to_owned);
    if let Some(Command { command: Some(command), args }) = theirs.agents.get(&name) {
        let argv = std::iter::once(command).chain(args).cloned().collect();
        return Ok(Chosen { name, argv, more: Vec::new(), model });
    }
    if Agent::named(&name).is_none() {
        let known: Vec<&str> = AGENTS.iter().map(|agent| agent.name).collect();
        return Err(Refusal::new(Token::AgentNotFound, format!("no agent is known as {name:?}"))
            .lines([format!("known are {}", known.join(", "))])
            .show("git config --get skein.agent")
            .next("name a known agent, or its command in [agents.<name>] of agent-doc/config.toml")
            .into());
    }
    let mut more = if name == "claude" { claude_args(session, fields, &theirs) } else { Vec::new() };
    more.extend(model.iter().flat_map(|model| ["--model".to_owned(), model.clone()]));
    Ok(Chosen { name, argv: Vec::new(), more, model })
}

/// What `claude` is given beside all else; the first that says anything counts.
fn claude_args(session: &Session<'_>, fields: &Fields, theirs: &Theirs) -> Vec<String> {
    let set = session.env.get("AGENT_DOC_CLAUDE_ARGS").map(|value| value.to_string_lossy().into_owned());
    let said = fields.claude_args.clone().or_else(|| theirs.claude_args.clone()).or(set);
    said.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

fn theirs(session: &Session<'_>) -> Result<Theirs> {
    let Some(path) = session.config_home().map(|home| home.join("agent-doc/config.toml")) else {
        return Ok(Theirs::default());
    };
    let Some(bytes) = crate::host::read_optional(&path)? else { return Ok(Theirs::default()) };
    read(&String::from_utf8_lossy(&bytes)).map_err(|e| {
        Refusal::new(Token::BadTasks, format!("{}: {}", path.display(), e.message()))
            .show(format!("cat {}", crate::domain::quoted(&path)))
            .next("mend it, or give --agent")
            .into()
    })
}

fn read(text: &str) -> std::result::Result<Theirs, toml::de::Error> {
    toml::from_str(text)
}

/// The names of the agents that such a file has.
#[cfg(feature = "fuzz")]
pub fn agents_in(text: &str) -> Vec<String> {
    read(text).map(|theirs| theirs.agents.into_keys().collect()).unwrap_or_default()
}
