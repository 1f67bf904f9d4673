//! Updates: what a `session/update` tells, a variant for each kind (ACP, schema `SessionUpdate`).

use alloc::borrow::Cow;
use core::str;

use super::{
    config::ConfigOptions,
    content::{Chunk, Content, Message, Text},
    declare::{Unknown, kinds},
    plan::{Plan, PlanRemoved, PlanUpdate},
    raw::{Raw, Unreadable},
    read::View,
    session::{Commands, CurrentMode, Notice, SessionInfo, Usage},
    tool::{ToolCall, ToolCallChunk},
    work::{
        Compaction, CompactionChunk, Cursor, ReplayComplete, SessionMessage, State, Subagent, Suggestions, Terminal,
        TerminalOutput,
    },
};
use crate::wire::{payload::Payload, update::Parts};

/// The params of a `session/update`, for a client: what [`ClientAction::Update`](crate::ClientAction::Update) brings.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SessionUpdate<'a> {
    /// The session.
    pub session_id: Cow<'a, str>,
    /// What is told.
    pub update: Update<'a>,
    /// All of it, as it came.
    pub raw: Raw<'a>,
}

impl<'a> View<'a> for SessionUpdate<'a> {
    fn read(raw: Raw<'a>) -> Result<Self, Unreadable> {
        let [session_id, update] = raw.members(["sessionId", "update"])?;
        Ok(Self {
            session_id: View::member(session_id).map_err(|why| why.at("sessionId"))?,
            update: View::member(update).map_err(|why| why.at("update"))?,
            raw,
        })
    }

    /// What the reader of the line has seen already is not looked for again: for most pieces of text that is all.
    fn of(payload: &'a Payload) -> Result<Self, Unreadable> {
        let (raw, params, seen) = (Raw::of(payload), payload.as_bytes(), payload.seen());
        let parts = || Some((str::from_utf8(seen.session(params)?).ok()?, Raw(seen.update(params)?)));
        let Some((session_id, update)) = parts() else { return Self::read(raw) };
        let chunk = seen.chunk(params).and_then(|parts| Update::of_text(&parts, update));
        let update = chunk.map_or_else(|| View::read(update).map_err(|why: Unreadable| why.at("update")), Ok)?;
        Ok(Self { session_id: session_id.into(), update, raw })
    }
}

impl<'a> Update<'a> {
    /// A piece of text whose parts are known. `None`: not this kind, or the text has escapes.
    fn of_text(parts: &Parts<'a>, raw: Raw<'a>) -> Option<Self> {
        let variant = match parts.kind {
            b"agent_message_chunk" => Self::AgentMessageChunk,
            b"agent_thought_chunk" => Self::AgentThoughtChunk,
            b"user_message_chunk" => Self::UserMessageChunk,
            _ => return None,
        };
        let text = memchr::memchr(b'\\', parts.text).is_none().then_some(parts.text)?;
        let text = Text { text: str::from_utf8(text).ok()?.into(), annotations: None, raw: Raw(parts.content) };
        Some(variant(Chunk { content: Content::Text(text), message_id: None, raw }))
    }
}

kinds! {
    /// What an update tells. The kinds of both versions; which of them has which is in [`UpdateKind`](crate::wire::UpdateKind).
    Update by "sessionUpdate" {
        /// A piece of a message of the user.
        UserMessageChunk(Chunk) = "user_message_chunk",
        /// A piece of the agent's message.
        AgentMessageChunk(Chunk) = "agent_message_chunk",
        /// A piece of the agent's reasoning.
        AgentThoughtChunk(Chunk) = "agent_thought_chunk",
        /// A tool call begins.
        ToolCall(ToolCall) = "tool_call",
        /// A tool call goes on, or ends. In version 2 it may begin one, too.
        ToolCallUpdate(ToolCall) = "tool_call_update",
        /// The whole plan.
        Plan(Plan) = "plan",
        /// One of several plans.
        PlanUpdate(PlanUpdate) = "plan_update",
        /// One of several plans is gone.
        PlanRemoved(PlanRemoved) = "plan_removed",
        /// The whole list of slash commands.
        AvailableCommandsUpdate(Commands) = "available_commands_update",
        /// The mode changed.
        CurrentModeUpdate(CurrentMode) = "current_mode_update",
        /// The whole list of configuration options.
        ConfigOptionUpdate(ConfigOptions) = "config_option_update",
        /// News about the session, such as its title.
        SessionInfoUpdate(SessionInfo) = "session_info_update",
        /// How much of the context is used, and what it costs.
        UsageUpdate(Usage) = "usage_update",
        /// Something to tell the user, outside the conversation.
        Notice(Notice) = "notice",
        /// The context is being compacted.
        CompactionUpdate(Compaction) = "compaction_update",
        /// A piece of the summary the compaction writes.
        CompactionSummaryChunk(CompactionChunk) = "compaction_summary_chunk",
        /// A child session: it appeared or changed.
        SubagentUpdate(Subagent) = "subagent_update",
        /// A message between sessions.
        SessionMessage(SessionMessage) = "session_message",
        /// A piece of a message between sessions.
        SessionMessageChunk(Chunk) = "session_message_chunk",
        /// What the user might say next (unstable).
        PromptSuggestionsUpdate(Suggestions) = "prompt_suggestions_update",
        /// A point in the history to come back to (unstable).
        CursorUpdate(Cursor) = "cursor_update",
        /// Version 2: a whole message of the user.
        UserMessage(Message) = "user_message",
        /// Version 2: a whole message of the agent's.
        AgentMessage(Message) = "agent_message",
        /// Version 2: a whole piece of the agent's reasoning.
        AgentThought(Message) = "agent_thought",
        /// Version 2: a piece of what a tool call yields.
        ToolCallContentChunk(ToolCallChunk) = "tool_call_content_chunk",
        /// Version 2: a terminal of the agent's appeared or changed.
        TerminalUpdate(Terminal) = "terminal_update",
        /// Version 2: a piece of a terminal's output.
        TerminalOutputChunk(TerminalOutput) = "terminal_output_chunk",
        /// Version 2: what the session is at.
        StateUpdate(State) = "state_update",
        /// Version 2: the history is told to its end.
        ReplayComplete(ReplayComplete) = "replay_complete",
    }
}
