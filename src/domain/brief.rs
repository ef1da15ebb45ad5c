//! Which commands that somebody else wrote a runner may run on this machine. What is not named is not run.

/// The name of the built-in agent, which runs lines of the task.
pub const SCRIPTED: &str = "scripted";

/// What the person who owns the machine allows.
#[derive(Debug, Default)]
pub struct Allowed {
    /// Names of known agents, or commands: words between blanks, of which a last `*` stands for any more.
    pub agents: Vec<String>,
    /// Commands as they are; `*` is any.
    pub checks: Vec<String>,
}

impl Allowed {
    /// Whether the agent of that name may run.
    pub fn agent(&self, name: &str) -> bool {
        self.agents.iter().any(|allowed| allowed.trim() == name)
    }

    /// Whether this very command may run as an agent.
    pub fn command(&self, argv: &[String]) -> bool {
        self.agents.iter().any(|allowed| {
            let mut words: Vec<&str> = allowed.split_whitespace().collect();
            let open = words.len() > 1 && words.last() == Some(&"*");
            if open {
                words.pop();
            }
            let same =
                argv.len() >= words.len() && argv.iter().zip(&words).all(|(word, allowed)| word == allowed);
            same && !words.is_empty() && (open || argv.len() == words.len())
        })
    }

    /// The first of `checks` that may not run.
    pub fn refused_check<'c>(&self, checks: &'c [String]) -> Option<&'c str> {
        let fine = |check: &&String| self.checks.iter().any(|allowed| allowed == "*" || allowed == *check);
        checks.iter().find(|check| !fine(check)).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argv(text: &str) -> Vec<String> {
        text.split('|').map(ToOwned::to_owned).collect()
    }

    #[test]
    fn only_what_is_named_runs() {
        let allowed = Allowed {
            agents: ["claude", "sh -c *", "make  test", "*"].map(ToOwned::to_owned).to_vec(),
            checks: vec!["make check".to_owned()],
        };
        assert!(allowed.agent("claude") && !allowed.agent("codex") && !allowed.agent(SCRIPTED));
        assert!(allowed.command(&argv("sh|-c|rm -rf /")) && allowed.command(&argv("make|test")));
        for other in ["sh", "sh|-x", "make|test|more", "make test", "bash|-c|true", "claude|-p"] {
            assert!(!allowed.command(&argv(other)), "{other}");
        }
        assert!(!Allowed::default().command(&argv("true")));
        assert_eq!(allowed.refused_check(&argv("make check|true")), Some("true"));
        assert_eq!(allowed.refused_check(&[]), None);
    }
}
