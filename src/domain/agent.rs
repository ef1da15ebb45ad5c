//! The agents that are known by name.

/// Where each keeps its settings, credentials and sessions, below the home folder.
const STATE: &[(&str, &[&str])] = &[
    ("claude", &[".claude"]),
    ("codex", &[".codex"]),
    ("pi", &[".pi"]),
    ("opencode", &[".config/opencode", ".local/share/opencode", ".local/state/opencode"]),
    ("gemini", &[".gemini"]),
    ("aider", &[".aider"]),
];

/// The folders that agent `program` writes its own state to, below the home folder.
pub fn agent_state(program: &str) -> &'static [&'static str] {
    STATE.iter().find(|(name, _)| *name == program).map(|(_, folders)| *folders).unwrap_or_default()
}
