//! Updates: their kinds and what each must hold, in either version.

use acp_core::wire::UpdateKind;
use serde_json::Value;

use super::{Observer, r, requests::Sort};

/// The members that an update must have. What it is about in an update of version 1 is left to the rules of turns.
const fn required(kind: &UpdateKind, is_v2: bool) -> &'static [(&'static str, Sort)] {
    use UpdateKind as Kind;
    match (kind, is_v2) {
        (Kind::UserMessageChunk | Kind::AgentMessageChunk | Kind::AgentThoughtChunk, true) => {
            &[("messageId", Sort::Text), ("content", Sort::Object)]
        }
        (Kind::UserMessageChunk | Kind::AgentMessageChunk | Kind::AgentThoughtChunk, false) => {
            &[("content", Sort::Object)]
        }
        (Kind::UserMessage | Kind::AgentMessage | Kind::AgentThought, _) => &[("messageId", Sort::Text)],
        (Kind::ToolCall | Kind::ToolCallUpdate, _) => &[("toolCallId", Sort::Text)],
        (Kind::ToolCallContentChunk, _) => &[("toolCallId", Sort::Text), ("content", Sort::Object)],
        (Kind::TerminalUpdate, _) => &[("terminalId", Sort::Text)],
        (Kind::TerminalOutputChunk, _) => &[("terminalId", Sort::Text), ("data", Sort::Text)],
        (Kind::StateUpdate, _) => &[("state", Sort::Text)],
        (Kind::PlanUpdate, _) => &[("plan", Sort::Object)],
        (Kind::PlanRemoved, _) => &[("planId", Sort::Text)],
        (Kind::AvailableCommandsUpdate, true) => &[("availableCommands", Sort::List)],
        (Kind::ConfigOptionUpdate, true) => &[("configOptions", Sort::List)],
        (Kind::UsageUpdate, true) => &[("used", Sort::Number), ("size", Sort::Number)],
        _ => &[],
    }
}

/// The version that alone has this kind of update.
const fn only_in(kind: &UpdateKind) -> Option<u16> {
    match kind {
        UpdateKind::ToolCall | UpdateKind::Plan | UpdateKind::CurrentModeUpdate => Some(1),
        UpdateKind::UserMessage
        | UpdateKind::AgentMessage
        | UpdateKind::AgentThought
        | UpdateKind::ToolCallContentChunk
        | UpdateKind::TerminalUpdate
        | UpdateKind::TerminalOutputChunk
        | UpdateKind::StateUpdate
        | UpdateKind::ReplayComplete => Some(2),
        _ => None,
    }
}

impl Observer {
    pub(super) fn update(&mut self, id: &str, update: &Value) {
        let Some(kind) = update["sessionUpdate"].as_str() else {
            return self.found(r::BAD_PARAMS, "`sessionUpdate` of an update must be a string", None);
        };
        let kind = UpdateKind::from(kind);
        if only_in(&kind).is_some_and(|version| version != self.version) {
            let what = format!("an update of the kind `{kind}`, which version {} does not have", self.version);
            return self.found(r::OTHER_VERSION, what, None);
        }
        let is_v2 = self.is_v2();
        if let Some((member, sort)) = required(&kind, is_v2).iter().find(|(member, sort)| !sort.fits(&update[*member]))
        {
            return self.found(r::BAD_PARAMS, format!("`{member}` of `{kind}` must be {}", sort.name()), None);
        }
        match &kind {
            UpdateKind::Unknown(name) if !(is_v2 && name.starts_with('_')) => {
                self.found(r::UPDATE_KIND, format!("an update of the kind `{name}`"), None);
            }
            UpdateKind::SubagentUpdate => self.child_sessions(update),
            UpdateKind::ToolCall | UpdateKind::ToolCallUpdate | UpdateKind::ToolCallContentChunk => {
                self.tool_call(id, &kind, update);
            }
            UpdateKind::TerminalUpdate | UpdateKind::TerminalOutputChunk => self.terminal(id, update),
            UpdateKind::StateUpdate => self.state(id, update),
            UpdateKind::ReplayComplete => self.replayed(id),
            UpdateKind::UserMessage | UpdateKind::UserMessageChunk if is_v2 => self.user_told(id, &kind, update),
            _ => {}
        }
        let is_output = matches!(
            kind,
            UpdateKind::UserMessageChunk
                | UpdateKind::UserMessage
                | UpdateKind::AgentMessageChunk
                | UpdateKind::AgentMessage
                | UpdateKind::AgentThoughtChunk
                | UpdateKind::AgentThought
        );
        let is_tool_call = matches!(kind, UpdateKind::ToolCall | UpdateKind::ToolCallUpdate);
        if is_v2 && is_output {
            self.output(id, &kind, update);
        } else if !is_v2 && (is_output || is_tool_call) {
            self.talk(id, &kind);
        }
    }

    /// Sessions that the agent opens by itself, and names in updates of their parent.
    fn child_sessions(&mut self, update: &Value) {
        for name in ["sessionId", "subagentSessionId", "childSessionId"] {
            if let Some(id) = update[name].as_str() {
                self.session(id);
            }
        }
    }
}
