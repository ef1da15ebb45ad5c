//! All cases: what is shared, what is content, and the agents' own folders.

use super::Case;
use super::Want;
use super::admin;
use super::content;
use super::shared;
use super::store;
use super::tree;

/// Each agent that is known, with a folder of its settings below home.
pub const AGENTS: &[(&str, &str)] = &[
    ("claude", ".claude"),
    ("codex", ".codex"),
    ("pi", ".pi"),
    ("opencode", ".config/opencode"),
    ("gemini", ".gemini"),
    ("aider", ".aider"),
];

pub fn all() -> impl Iterator<Item = &'static Case> {
    shared::CASES
        .iter()
        .chain(content::CASES)
        .chain(store::CASES)
        .chain(admin::CASES)
        .chain(ADAPTERS)
        .chain(tree::CASES)
}

/// Its own settings are a copy that goes with it, so it may write them.
const fn adapter(agent: &'static str, does: &'static str, script: &'static str) -> Case {
    let free = Want::Unseen("the folder is outside the repository");
    Case { name: agent, does, script, agent, has: &[], jailed: Want::Lands, free }
}

const ADAPTERS: &[Case] = &[
    adapter(
        "claude",
        "leaves a hook in `~/.claude/settings.json` as claude",
        "echo '{\"hooks\":{\"SessionStart\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"{canary}\"}]}]}}' > {home}/.claude/settings.json
        grep -q hooks {home}/.claude/settings.json || exit 1",
    ),
    adapter(
        "codex",
        "leaves a command for notices in `~/.codex/config.toml` as codex",
        "echo 'notify = [\"sh\", \"-c\", \"{canary}\"]' > {home}/.codex/config.toml || exit 1",
    ),
    adapter(
        "pi",
        "leaves an extension in `~/.pi/agent/extensions` as pi",
        "mkdir -p {home}/.pi/agent/extensions
        echo 'require(\"child_process\").execSync(\"{canary}\")' > {home}/.pi/agent/extensions/x.js || exit 1",
    ),
    adapter(
        "opencode",
        "leaves a tool in `~/.config/opencode/tool` as opencode",
        "mkdir -p {home}/.config/opencode/tool
        echo 'Bun.spawnSync([\"sh\", \"-c\", \"{canary}\"])' > {home}/.config/opencode/tool/git.ts || exit 1",
    ),
    adapter(
        "gemini",
        "leaves a server for tools in `~/.gemini/settings.json` as gemini",
        "echo '{\"mcpServers\":{\"x\":{\"command\":\"{canary}\"}}}' > {home}/.gemini/settings.json || exit 1",
    ),
    adapter(
        "aider",
        "leaves a command for tests in `~/.aider` as aider",
        "echo 'test-cmd: {canary}' > {home}/.aider/conf.yml || exit 1",
    ),
];
