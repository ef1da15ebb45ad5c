//! The agents that are known by name: how each is called, where it keeps its own state, and what its output says.

mod limit;
mod rpc;
mod said;

pub use limit::Day;
pub use limit::Reset;
pub use limit::limit;
pub use rpc::Heard;
pub use rpc::Rpc;
pub use said::Said;

use crate::domain::Jail;
use serde_json::Value;

/// One known agent.
pub struct Agent {
    /// Of its program, too.
    pub name: &'static str,
    /// How it is called for one task. `{fences}` stands for what says how far it may go by itself.
    call: &'static [&'static str],
    /// How it is spoken to while it works, if it listens then.
    rpc: Option<Rpc>,
    /// The words in its command without which it reads what is typed into its terminal.
    headless: &'static [&'static str],
    /// How its command takes up a session again, and where that goes in it.
    again: Option<(&'static str, Place)>,
    /// How another worker goes on from a session of it.
    fork: Fork,
    /// Its fences in a jail, which is one.
    jailed: &'static [&'static str],
    /// Its fences without a jail.
    free: &'static [&'static str],
    /// Where it keeps settings, credentials and sessions, below the home folder.
    pub state: &'static [&'static str],
    /// A regular expression for the line that ends its work; some stay after it.
    pub ends: Option<&'static str>,
    /// A regular expression for the line that says that it goes on after all.
    pub goes_on: Option<&'static str>,
    /// How events begin that say again what others say.
    noise: Option<&'static str>,
    /// What an event of its output says.
    said: fn(&Value, &mut Vec<Said>),
}

/// Where words go in a command.
enum Place {
    /// Behind the program.
    First,
    /// Behind this word.
    Behind(&'static str),
    /// Before the task.
    Last,
}

impl Place {
    /// `argv` with `words` there.
    fn put(&self, argv: &[String], words: &[&str]) -> Option<Vec<String>> {
        let at = match self {
            Place::First => 1,
            Place::Behind(before) => argv.iter().position(|a| a == before)? + 1,
            Place::Last => {
                let task = |a: &String| a.contains("{brief}") || a.contains("{brief-file}");
                argv.iter().position(task).unwrap_or(argv.len())
            }
        };
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Some([argv.get(..at)?, &words, argv.get(at..)?].concat())
    }
}

/// How a session is gone on from, in another folder, by somebody else.
enum Fork {
    /// Not at all: it has none, or finds it in the folder alone where it began.
    Never,
    /// Its command makes a session of its own from it: the word before its name, and where.
    Copies(&'static str, Place),
    /// It only takes it up again: nobody else may have the same one.
    TakesUp,
}

/// In the order in which they are listed.
pub const AGENTS: &[Agent] = &[
    Agent {
        name: "claude",
        call: &["-p", "{brief}", "--output-format", "stream-json", "--verbose", FENCES],
        rpc: None,
        headless: &["-p", "--print"],
        again: Some(("--resume", Place::First)),
        fork: Fork::Never,
        jailed: &["--dangerously-skip-permissions"],
        free: &["--permission-mode", "acceptEdits"],
        state: &[".claude"],
        ends: Some(r#"^\{"type":"result","#),
        goes_on: None,
        noise: None,
        said: said::claude,
    },
    Agent {
        name: "codex",
        call: &["exec", "--json", FENCES, "{brief}"],
        rpc: None,
        headless: &["exec"],
        again: Some(("resume", Place::Last)),
        fork: Fork::TakesUp,
        jailed: &["--dangerously-bypass-approvals-and-sandbox"],
        free: &["--sandbox", "workspace-write"],
        state: &[".codex"],
        ends: Some(r#"^\{"type":"turn\.(completed|failed)""#),
        goes_on: None,
        noise: None,
        said: said::codex,
    },
    Agent {
        name: "pi",
        call: &["--mode", "json", "-p", "{brief}"],
        rpc: Some(rpc::PI),
        headless: &["-p", "--print", "--mode"],
        again: Some(("--session", Place::First)),
        fork: Fork::Copies("--fork", Place::First),
        jailed: &[],
        free: &[],
        state: &[".pi"],
        ends: Some(r#"^\{("type":"agent_end"|"id":"skein-task",.*"success":false)"#),
        goes_on: Some(r#"^\{"type":"(agent_start|auto_retry_start|compaction_start)""#),
        noise: Some(r#"{"type":"message_update""#),
        said: said::pi,
    },
    Agent {
        name: "opencode",
        call: &["run", "--format", "json", "{brief}"],
        rpc: None,
        headless: &["run"],
        again: Some(("--session", Place::Behind("run"))),
        // A copy goes into the folder of the first one, and that is not there for another worker.
        fork: Fork::Never,
        jailed: &[],
        free: &[],
        state: &[".config/opencode", ".local/share/opencode", ".local/state/opencode"],
        ends: Some(r#"^\{"type":"step_finish",.*"reason":"stop""#),
        goes_on: None,
        noise: None,
        said: said::opencode,
    },
    Agent {
        name: "gemini",
        call: &["--output-format", "stream-json", FENCES, "-p", "{brief}"],
        rpc: None,
        headless: &["-p", "--prompt"],
        again: Some(("--resume", Place::First)),
        fork: Fork::Never,
        jailed: &["--approval-mode", "yolo"],
        free: &["--approval-mode", "auto_edit"],
        state: &[".gemini"],
        ends: Some(r#"^\{"type":"result""#),
        goes_on: None,
        noise: None,
        said: said::gemini,
    },
    Agent {
        name: "aider",
        call: &["--yes-always", "--no-check-update", "--no-gitignore", "--message", "{brief}"],
        rpc: None,
        headless: &["--message", "-m", "--message-file"],
        again: None,
        fork: Fork::Never,
        jailed: &[],
        free: &[],
        state: &[".aider"],
        ends: None,
        goes_on: None,
        noise: None,
        said: said::nothing,
    },
];

const FENCES: &str = "{fences}";

impl Agent {
    pub fn named(name: &str) -> Option<&'static Agent> {
        AGENTS.iter().find(|agent| agent.name == name)
    }

    /// The one that a command starts, if it is known: by the last part of the program's path.
    pub fn of(argv: &[String]) -> Option<&'static Agent> {
        Agent::named(argv.first()?.rsplit('/').next()?)
    }

    /// The command for one task. In a terminal nobody speaks to it by lines of JSON.
    pub fn argv(&self, jail: Jail, terminal: bool) -> Vec<String> {
        let fences = if jail.is_none() { self.free } else { self.jailed };
        let call = self.rpc.as_ref().filter(|_| !terminal).map_or(self.call, |rpc| rpc.words);
        let words = call.iter().flat_map(|word| match *word {
            FENCES => fences,
            _ => std::slice::from_ref(word),
        });
        [self.name].iter().chain(words).map(|word| (*word).to_owned()).collect()
    }

    /// How the one that `argv` starts is spoken to while it works.
    pub fn rpc(argv: &[String]) -> Option<&'static Rpc> {
        Agent::of(argv)?.rpc.as_ref().filter(|rpc| rpc.is_in(argv))
    }

    /// Whether the command `argv` reads what is typed into its terminal, as far as is known.
    pub fn reads_terminal(argv: &[String]) -> bool {
        Agent::of(argv).is_some_and(|agent| !argv.iter().any(|word| agent.headless.contains(&word.as_str())))
    }

    /// The command `argv`, which starts it, for another turn of its session `name`.
    pub fn again(&self, argv: &[String], name: &str) -> Option<Vec<String>> {
        let (word, place) = self.again.as_ref()?;
        place.put(argv, &[word, name])
    }

    /// The command `argv` with more words of its own.
    pub fn with(&self, argv: &[String], words: &[String]) -> Vec<String> {
        let place = self.again.as_ref().map_or(&Place::First, |(_, place)| place);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        place.put(argv, &words).unwrap_or_else(|| argv.to_vec())
    }

    /// The same for another worker, which goes on from that session by itself. `alone`: nobody else has the same one.
    pub fn fork(&self, argv: &[String], name: &str, alone: bool) -> Option<Vec<String>> {
        match &self.fork {
            Fork::Copies(word, place) => place.put(argv, &[word, name]),
            Fork::TakesUp if alone => self.again(argv, name),
            Fork::TakesUp | Fork::Never => None,
        }
    }

    /// What a line of its output says. One that is no event says nothing.
    pub fn said(&self, line: &[u8]) -> Vec<Said> {
        let mut found = Vec::new();
        if line.first() != Some(&b'{') || self.noise.is_some_and(|noise| line.starts_with(noise.as_bytes())) {
            return found;
        }
        if let Ok(event) = serde_json::from_slice(line) {
            (self.said)(&event, &mut found);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Event;
    use crate::domain::Tally;

    fn tally(agent: &Agent, output: &str) -> Tally {
        let said = output.split('\n').flat_map(|line| agent.said(line.as_bytes()));
        Tally::of(said.filter_map(|said| Event::of(0, &said)))
    }

    #[test]
    fn each_is_found_by_its_program_and_takes_the_brief() {
        for agent in AGENTS {
            let path = format!("/opt/bin/{}", agent.name);
            assert_eq!(Agent::of(&[path]).map(|a| a.name), Some(agent.name));
            for jail in [Jail::None, Jail::Bwrap] {
                assert!(agent.argv(jail, true).contains(&"{brief}".to_owned()));
                let argv = agent.argv(jail, false);
                assert!(argv.contains(&"{brief}".to_owned()) || Agent::rpc(&argv).is_some());
            }
            assert!(!Agent::reads_terminal(&agent.argv(Jail::None, true)), "{}", agent.name);
            assert!(Agent::reads_terminal(&[agent.name.to_owned(), "{brief}".to_owned()]));
            assert!(agent.ends.is_none_or(|ends| regex::Regex::new(ends).is_ok()));
        }
        assert!(Agent::of(&["sh".to_owned()]).is_none() && Agent::of(&[]).is_none());
    }

    #[test]
    fn a_session_is_taken_up_by_its_name() {
        for (name, want) in [
            ("claude", "claude --resume s -p {brief} --output-format"),
            ("codex", "codex exec --json --dangerously-bypass-approvals-and-sandbox resume s {brief}"),
            ("pi", "pi --session s --mode rpc"),
            ("opencode", "opencode run --session s --format json {brief}"),
            ("gemini", "gemini --resume s --output-format"),
        ] {
            let agent = Agent::named(name).unwrap();
            let argv = agent.again(&agent.argv(Jail::Bwrap, false), "s").unwrap().join(" ");
            assert!(argv.starts_with(want), "{argv}");
        }
        let aider = Agent::named("aider").unwrap();
        assert_eq!(aider.again(&aider.argv(Jail::Bwrap, false), "s"), None);
        let codex = Agent::named("codex").unwrap();
        let bare = codex.again(&["codex".into(), "exec".into()], "s");
        assert_eq!(bare.unwrap().join(" "), "codex exec resume s", "its task goes to standard input");
    }

    #[test]
    fn another_worker_goes_on_from_a_session_where_that_can_be_done() {
        let fork = |name: &str, alone| {
            let agent = Agent::named(name).unwrap();
            agent.fork(&agent.argv(Jail::None, false), "s", alone).map(|argv| argv.join(" "))
        };
        assert_eq!(fork("pi", false).unwrap(), "pi --fork s --mode rpc");
        assert!(fork("opencode", true).is_none());
        assert!(fork("codex", true).unwrap().ends_with(" resume s {brief}"));
        for (name, alone) in [("codex", false), ("claude", true), ("gemini", true), ("aider", true)] {
            assert_eq!(fork(name, alone), None, "{name}");
        }
    }

    /// Recorded from the agents themselves, claude's and gemini's written after what they document.
    #[test]
    fn what_they_say_is_read() {
        let output = |name: &str| {
            let path = format!("{}/fixtures/agents/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
            std::fs::read_to_string(path).unwrap()
        };
        for (name, turns, tools, tokens_in, tokens_out, cost) in [
            ("claude", 2, 1, 300, 20, Some(0.0125)),
            ("codex", 1, 2, 3, 3, None),
            ("pi", 3, 2, 3, 3, None),
            ("opencode", 3, 2, 3, 3, None),
            ("gemini", 1, 1, 300, 30, None),
        ] {
            let agent = Agent::named(name).unwrap();
            let output = output(name);
            let tally = tally(agent, &output);
            let usage = tally.usage;
            assert_eq!((usage.turns, usage.tools), (turns, tools), "{name}");
            assert_eq!(
                (usage.tokens_in, usage.tokens_out, usage.cost),
                (tokens_in, tokens_out, cost),
                "{name}"
            );
            assert_eq!(tally.text.as_deref(), Some("The greeting is for the world now."), "{name}");
            assert!(tally.command.is_some_and(|c| c.contains("greeting.txt")), "{name}");
            assert!(tally.done && tally.error.is_none(), "{name}");
            let ends = regex::Regex::new(agent.ends.unwrap()).unwrap();
            let at = output.lines().position(|line| ends.is_match(line));
            assert_eq!(at, Some(output.lines().count() - 1), "{name}: the last line ends it, and no other");
        }
        let odd = "{\"type\":1}\n{\n[]\nplain\n{\"type\":\"agent_end\"";
        assert!(tally(Agent::named("pi").unwrap(), odd).is_empty());
    }
}
