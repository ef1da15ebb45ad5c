//! Kinds: named roles for workers. A kind is a text with front matter; the text is for the agent, what stands in
//! front of it binds the worker.

mod front;

use crate::domain::Agent;
use crate::domain::Failure;
use crate::domain::Globs;
use crate::domain::Handle;
use crate::domain::Oid;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use front::Front;
use serde::Deserialize;
use serde::Serialize;

/// The kind of a worker for which none is named.
pub const DEFAULT: &str = "default";

/// Bytes of the file of a kind.
pub const LONGEST_KIND: usize = 64 << 10;

/// Those that come with the program.
pub const BUILT_IN: &[(&str, &str)] = &[
    (DEFAULT, include_str!("kinds/default.md")),
    ("scout", include_str!("kinds/scout.md")),
    ("patcher", include_str!("kinds/patcher.md")),
    ("architect", include_str!("kinds/architect.md")),
    ("implementer", include_str!("kinds/implementer.md")),
];

/// Where a kind comes from. The first one that has a name hides those below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// `.skein/kinds` at the tip of the trunk.
    Project,
    /// The person's own folder.
    Person,
    BuiltIn,
}

impl Origin {
    pub fn word(self) -> &'static str {
        match self {
            Origin::Project => "project",
            Origin::Person => "person",
            Origin::BuiltIn => "built-in",
        }
    }
}

/// What the agent of a worker knows when it begins that follows on another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Seed {
    /// Nothing of it.
    #[default]
    None,
    /// All that was said in the session of the other.
    Full,
}

impl Seed {
    pub fn is_none(&self) -> bool {
        *self == Seed::None
    }
}

/// A kind as its text says. Times are in seconds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Kind {
    pub name: String,
    pub description: String,
    /// The name of a known agent, if `argv` is empty.
    pub agent: Option<String>,
    pub argv: Vec<String>,
    pub read_only: bool,
    /// It runs in a jail or not at all.
    pub require_jail: bool,
    pub plan_gate: bool,
    pub seed: Seed,
    /// How deep its workers may start others.
    pub can_spawn: Option<u32>,
    pub decision_rights: Vec<String>,
    pub paths: Vec<String>,
    pub forbid: Vec<String>,
    pub checks: Vec<String>,
    pub timeout: Option<u64>,
    pub silence: Option<u64>,
    /// In cents, as the agent counts them.
    pub budget: Option<u64>,
    /// What its agent is told.
    pub body: String,
    /// Keys that mean nothing here.
    pub unknown: Vec<String>,
}

impl Kind {
    /// Reads the file of the kind `name`.
    pub fn parse(name: &str, text: &str) -> Result<Kind> {
        Handle::new(name)
            .map_err(|_| bad(name, "its name is none: lower-case letters, digits and hyphens"))?;
        if text.len() > LONGEST_KIND {
            return Err(bad(name, format!("it has {} bytes, and {LONGEST_KIND} are the most", text.len())));
        }
        let (front, body) = front::split(text).map_err(|why| bad(name, why))?;
        let kind = Kind::of(front, name).map_err(|why| bad(name, why))?;
        Ok(Kind { body: body.trim().to_owned(), ..kind })
    }

    fn of(mut front: Front, name: &str) -> std::result::Result<Kind, String> {
        if let Some(other) = front.text("name")?.filter(|other| other != name) {
            return Err(format!("name: its file is named {name:?}, and it says {other:?}"));
        }
        let (agent, argv) = front.command("agent")?;
        if let Some(agent) = agent.as_deref().filter(|agent| Agent::named(agent).is_none()) {
            return Err(match agent == name {
                true => "agent: it names itself; a kind has an agent, and is none".to_owned(),
                false => format!("agent: no agent is known as {agent:?}; a command is a list of words"),
            });
        }
        let kind = Kind {
            name: name.to_owned(),
            description: front.text("description")?.unwrap_or_default(),
            agent,
            argv,
            read_only: front.truth("read_only")?,
            require_jail: front.truth("require_jail")?,
            plan_gate: front.truth("plan_gate")?,
            seed: match front.text("seed")?.as_deref() {
                None | Some("none") => Seed::None,
                Some("full") => Seed::Full,
                Some(_) => return Err("seed: say none or full".to_owned()),
            },
            can_spawn: front.depth("can_spawn")?,
            decision_rights: front.list("decision_rights")?,
            paths: front.list("paths")?,
            forbid: front.list("forbid")?,
            checks: front.list("checks")?,
            timeout: front.time("timeout")?,
            silence: front.time("silence")?,
            budget: front.money("budget")?,
            body: String::new(),
            unknown: front.rest(),
        };
        for (key, globs) in [("paths", &kind.paths), ("forbid", &kind.forbid)] {
            Globs::new(globs.iter().map(String::as_str)).map_err(|failure| format!("{key}: {failure}"))?;
        }
        Ok(kind)
    }

    /// Whether it makes commands run: of its own, or those of workers that its workers start.
    pub fn makes_run(&self) -> bool {
        self.agent.is_some()
            || !self.argv.is_empty()
            || !self.checks.is_empty()
            || self.can_spawn.is_some_and(|depth| depth > 0)
    }

    /// What it makes run, a line each.
    pub fn commands(&self) -> Vec<String> {
        let agent = self.agent.iter().map(|name| format!("agent: {name}"));
        let argv = (!self.argv.is_empty()).then(|| format!("agent: {}", self.argv.join(" ")));
        let spawn = self.can_spawn.filter(|depth| *depth > 0).map(|depth| format!("can_spawn: {depth}"));
        let checks = self.checks.iter().map(|check| format!("check: {check}"));
        agent.chain(argv).chain(checks).chain(spawn).collect()
    }

    /// What an agent is told below the guardrails of all workers. They hold whatever is said here.
    pub fn told(&self) -> String {
        let mut text = String::new();
        if self.read_only {
            text.push_str(READ_ONLY);
        }
        if self.plan_gate {
            text.push_str(PLAN_GATE);
        }
        if !self.forbid.is_empty() {
            text.push_str(&format!("- Do not change: {}\n", self.forbid.join(", ")));
        }
        for right in &self.decision_rights {
            text.push_str(&format!("- You may decide by yourself: {right}\n"));
        }
        match self.body.is_empty() {
            true => text,
            false => format!("{text}\n{}\n", self.body),
        }
    }
}

const READ_ONLY: &str = "- Change no file here: you only look. What you found is the summary of `git skein worker \
                         done`, or goes there with `git skein worker note`.\n";

const PLAN_GATE: &str =
    "- Change no file before a person has approved your plan. This says it, and ends your turn:
  `git skein worker plan --goal \"<what>\" --step \"<what> -- <path>…\"… --verify \"<command or look>\"… \
                         --risk \"<what>\"…`
";

/// What the kind of a worker binds it to, as its record has it. The text is beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ties {
    pub name: String,
    pub from: Origin,
    /// The blob of its text.
    pub oid: Oid,
    pub read_only: bool,
    pub plan_gate: bool,
    /// Its session may be wanted after it has ended.
    #[serde(default, skip_serializing_if = "Seed::is_none")]
    pub seed: Seed,
    pub forbid: Vec<String>,
    /// In cents.
    pub budget: Option<u64>,
}

impl Ties {
    /// The kind, as far as it is known without its front matter.
    pub fn with_body(&self, body: &str) -> Kind {
        Kind {
            name: self.name.clone(),
            read_only: self.read_only,
            plan_gate: self.plan_gate,
            seed: self.seed,
            forbid: self.forbid.clone(),
            budget: self.budget,
            body: body.to_owned(),
            ..Kind::default()
        }
    }
}

/// The refusal of a kind that cannot be carried out as it stands.
pub fn bad(name: &str, why: impl Into<String>) -> Failure {
    Refusal::new(Token::BadKind, format!("the kind {name:?} cannot be read: {}", why.into()))
        .show(format!("git show <trunk>:.skein/kinds/{name}.md"))
        .next("correct it where it comes from; git skein kinds lists them all")
        .into()
}

/// The refusal of a name that no kind has.
pub fn unknown(name: &str, known: impl IntoIterator<Item = String>) -> Failure {
    Refusal::new(Token::NoSuchKind, format!("there is no kind {name:?}"))
        .lines([format!("known are {}", known.into_iter().collect::<Vec<_>>().join(", "))])
        .show("git ls-tree --name-only <trunk> .skein/kinds/")
        .next("git skein kinds lists them")
        .into()
}

#[cfg(test)]
mod tests;
