//! Well-known agents by name: the commands with which their documentation starts them as ACP agents.

use std::ffi::OsString;

/// An agent that is known by name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Preset {
    pub(super) name: &'static str,
    command: &'static [&'static str],
    /// How one gets it.
    pub(super) install: &'static str,
}

const fn preset(name: &'static str, command: &'static [&'static str], install: &'static str) -> Preset {
    Preset { name, command, install }
}

/// All of them. `echo` is the agent that this program brings along.
pub(super) const ALL: &[Preset] = &[
    preset("auggie", &["auggie", "--acp"], "npm install -g @augmentcode/auggie"),
    preset(
        "claude",
        &["npx", "-y", "@agentclientprotocol/claude-agent-acp"],
        "Node.js brings npx, which gets the adapter by itself",
    ),
    preset(
        "codex",
        &["npx", "-y", "@zed-industries/codex-acp"],
        "Node.js brings npx, which gets the adapter by itself",
    ),
    preset("copilot", &["copilot", "--acp", "--stdio"], "npm install -g @github/copilot"),
    preset("droid", &["droid", "exec", "--output-format", "acp"], "see https://factory.ai"),
    preset("echo", &[], "it is a part of this program"),
    preset("gemini", &["gemini", "--acp"], "npm install -g @google/gemini-cli"),
    preset("goose", &["goose", "acp"], "see https://block.github.io/goose"),
    preset("kimi", &["kimi", "acp"], "see https://github.com/MoonshotAI/kimi-cli"),
    preset("opencode", &["opencode", "acp"], "npm install -g opencode-ai"),
    preset("qwen", &["qwen", "--acp"], "npm install -g @qwen-code/qwen-code"),
    preset("vibe", &["vibe-acp"], "see https://github.com/mistralai/mistral-vibe"),
];

/// The agent of this name.
pub(super) fn named(name: &str) -> Option<&'static Preset> {
    ALL.iter().find(|preset| preset.name == name)
}

impl Preset {
    /// Its command, with more arguments behind.
    ///
    /// # Errors
    ///
    /// This program, which is its own agent, cannot be found.
    pub(super) fn command(&self, more: Vec<OsString>) -> std::io::Result<Vec<OsString>> {
        let mut command: Vec<OsString> = self.command.iter().map(OsString::from).collect();
        if command.is_empty() {
            command = vec![std::env::current_exe()?.into(), super::AS_AGENT.into()];
        }
        command.extend(more);
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::{ALL, named};

    #[test]
    fn names_are_sorted_and_unique() {
        assert!(ALL.windows(2).all(|pair| pair[0].name < pair[1].name));
        assert_eq!(named("gemini").and_then(|preset| preset.command(vec!["-x".into()]).ok()).map(|c| c.len()), Some(3));
        assert!(named("./agent").is_none());
    }
}
