//! Enums that stay open: the values the protocol names, and any other string as it came.
//!
//! A peer may be newer than we are, or simply wrong. A stop reason nobody has heard of must not make a finished turn
//! look failed, so an unknown value is a value like the others: it is kept, compared, shown and written back.

use alloc::{boxed::Box, string::String};
use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Declares open enums. Everything that depends on the list of names is generated, so that no value can be read and
/// not be written.
macro_rules! open_enums {
    ($(
        $(#[$about:meta])*
        $name:ident { $( $(#[$doc:meta])* $variant:ident = $text:literal, )+ }
    )+) => { $(
        $(#[$about])*
        ///
        /// Made from a string with `From`, which never yields `Unknown` for a name that is known.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $( $(#[$doc])* $variant, )+
            /// Any other string, as it came.
            Unknown(Box<str>),
        }

        impl $name {
            /// The values the protocol names, in its order.
            pub const KNOWN: &'static [Self] = &[$( Self::$variant, )+];

            /// The value on the wire.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $( Self::$variant => $text, )+
                    Self::Unknown(other) => other,
                }
            }

            fn known(value: &str) -> Option<Self> {
                Some(match value {
                    $( $text => Self::$variant, )+
                    _ => return None,
                })
            }
        }

        impl From<&str> for $name {
            fn from(value: &str) -> Self {
                Self::known(value).unwrap_or_else(|| Self::Unknown(value.into()))
            }
        }

        impl From<String> for $name {
            fn from(value: String) -> Self {
                Self::known(&value).unwrap_or_else(|| Self::Unknown(value.into()))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        /// Any string is a value; what is no string is an error.
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl de::Visitor<'_> for Text {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("a string")
                    }

                    fn visit_str<E: de::Error>(self, value: &str) -> Result<$name, E> {
                        Ok(value.into())
                    }

                    fn visit_string<E: de::Error>(self, value: String) -> Result<$name, E> {
                        Ok(value.into())
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
    )+ };
}

open_enums! {
    /// Why a prompt turn ended (ACP v1, Prompt Turn, "Stop Reasons").
    StopReason {
        /// The model finished responding and asks for no more tools.
        EndTurn = "end_turn",
        /// The limit of tokens was reached.
        MaxTokens = "max_tokens",
        /// The limit of requests to the model within one turn was reached.
        MaxTurnRequests = "max_turn_requests",
        /// The agent refuses to go on.
        Refusal = "refusal",
        /// The client cancelled the turn.
        Cancelled = "cancelled",
        /// Version 2: the work failed. In version 1 the prompt is answered with an error instead.
        Error = "error",
    }

    /// What a session is at: the `state` of a `state_update` (ACP v2, Prompt Lifecycle).
    SessionState {
        /// Work goes on in the foreground.
        Running = "running",
        /// All of the work waits for the user.
        RequiresAction = "requires_action",
        /// No work in the foreground.
        Idle = "idle",
        /// The agent cannot tell.
        Unobserved = "unknown",
    }

    /// What sort of tool is called (ACP v1, Tool Calls): a hint for icons and for how progress is shown.
    ToolKind {
        /// Reads files or data.
        Read = "read",
        /// Changes files or content.
        Edit = "edit",
        /// Removes files or data.
        Delete = "delete",
        /// Moves or renames files.
        Move = "move",
        /// Searches for information.
        Search = "search",
        /// Runs commands or code.
        Execute = "execute",
        /// Reasons or plans within the agent.
        Think = "think",
        /// Gets data from elsewhere.
        Fetch = "fetch",
        /// Switches the mode of the session.
        SwitchMode = "switch_mode",
        /// Anything else; what is meant when the kind is left out.
        Other = "other",
    }

    /// How far a tool call is (ACP v1, Tool Calls, "Status").
    ToolCallStatus {
        /// It has not begun: its input streams in, or it waits for permission.
        Pending = "pending",
        /// It runs.
        InProgress = "in_progress",
        /// It succeeded.
        Completed = "completed",
        /// It failed.
        Failed = "failed",
        /// Version 2: it is held.
        Paused = "paused",
        /// Version 2: it was cancelled.
        Cancelled = "cancelled",
    }

    /// What choosing an option of a permission request means (ACP v1, Tool Calls, "Permission Options").
    PermissionOptionKind {
        /// Allow this one time.
        AllowOnce = "allow_once",
        /// Allow, and remember it.
        AllowAlways = "allow_always",
        /// Refuse this one time.
        RejectOnce = "reject_once",
        /// Refuse, and remember it.
        RejectAlways = "reject_always",
    }

    /// How much an entry of a plan matters (ACP v1, Agent Plan).
    PlanEntryPriority {
        /// Critical to the goal.
        High = "high",
        /// Important, not critical.
        Medium = "medium",
        /// Nice to have.
        Low = "low",
    }

    /// How far an entry of a plan is (ACP v1, Agent Plan).
    PlanEntryStatus {
        /// Not begun.
        Pending = "pending",
        /// Being worked on.
        InProgress = "in_progress",
        /// Done.
        Completed = "completed",
        /// Version 2: it will not be done.
        Cancelled = "cancelled",
    }

    /// What a `session/update` tells: its `sessionUpdate` (ACP v1, schema `SessionUpdate`).
    UpdateKind {
        /// A piece of a message of the user.
        UserMessageChunk = "user_message_chunk",
        /// A piece of the agent's message.
        AgentMessageChunk = "agent_message_chunk",
        /// A piece of the agent's reasoning.
        AgentThoughtChunk = "agent_thought_chunk",
        /// A tool call begins.
        ToolCall = "tool_call",
        /// A tool call goes on, or ends.
        ToolCallUpdate = "tool_call_update",
        /// The whole plan.
        Plan = "plan",
        /// A change to one of several plans.
        PlanUpdate = "plan_update",
        /// One of several plans is gone.
        PlanRemoved = "plan_removed",
        /// The whole list of slash commands.
        AvailableCommandsUpdate = "available_commands_update",
        /// The mode changed.
        CurrentModeUpdate = "current_mode_update",
        /// The whole list of configuration options.
        ConfigOptionUpdate = "config_option_update",
        /// News about the session, such as its title.
        SessionInfoUpdate = "session_info_update",
        /// How much of the context is used, and what it costs.
        UsageUpdate = "usage_update",
        /// Something to tell the user, outside the conversation.
        Notice = "notice",
        /// The context is being compacted.
        CompactionUpdate = "compaction_update",
        /// A piece of the summary the compaction writes.
        CompactionSummaryChunk = "compaction_summary_chunk",
        /// A child session: it appeared or changed.
        SubagentUpdate = "subagent_update",
        /// A message between sessions.
        SessionMessage = "session_message",
        /// A piece of a message between sessions.
        SessionMessageChunk = "session_message_chunk",
        /// What the user might say next (unstable).
        PromptSuggestionsUpdate = "prompt_suggestions_update",
        /// A point in the history to come back to (unstable).
        CursorUpdate = "cursor_update",
        /// Version 2: a whole message of the user.
        UserMessage = "user_message",
        /// Version 2: a whole message of the agent's.
        AgentMessage = "agent_message",
        /// Version 2: a whole piece of the agent's reasoning.
        AgentThought = "agent_thought",
        /// Version 2: a piece of what a tool call yields.
        ToolCallContentChunk = "tool_call_content_chunk",
        /// Version 2: a terminal of the agent's appeared or changed.
        TerminalUpdate = "terminal_update",
        /// Version 2: a piece of a terminal's output.
        TerminalOutputChunk = "terminal_output_chunk",
        /// Version 2: what the session is at.
        StateUpdate = "state_update",
        /// Version 2: the history is told to its end.
        ReplayComplete = "replay_complete",
    }

    /// What a block of content is: its `type` (ACP v1, Content).
    ContentKind {
        /// Plain text or Markdown.
        Text = "text",
        /// An image, as base64.
        Image = "image",
        /// Audio, as base64.
        Audio = "audio",
        /// A resource the agent can read.
        ResourceLink = "resource_link",
        /// A resource with its content.
        Resource = "resource",
    }

    /// Whom content is for: its `audience` (ACP v1, Content, "Annotations").
    Role {
        /// The model.
        Assistant = "assistant",
        /// The user.
        User = "user",
    }

    /// How bad what a notice tells is (ACP v1, schema `NoticeSeverity`).
    NoticeSeverity {
        /// It is good to know.
        Info = "info",
        /// Something may be wrong.
        Warning = "warning",
        /// Something is wrong.
        Error = "error",
    }

    /// How far a compaction of the context is (ACP v1, schema `CompactionStatus`).
    CompactionStatus {
        /// It goes on.
        InProgress = "in_progress",
        /// It is done.
        Completed = "completed",
        /// It failed.
        Failed = "failed",
        /// It was cancelled.
        Cancelled = "cancelled",
    }

    /// What an option of a session is about (ACP v1, Session Config Options): a hint where to show it.
    ConfigCategory {
        /// The mode.
        Mode = "mode",
        /// The model.
        Model = "model",
        /// Something of the model's.
        ModelConfig = "model_config",
        /// How much the model reasons.
        ThoughtLevel = "thought_level",
        /// How fast it works (unstable).
        Speed = "speed",
    }

    /// What happened to a file (ACP v2, schema `DiffChange`).
    DiffOperation {
        /// It is new.
        Add = "add",
        /// It is gone.
        Delete = "delete",
        /// It changed.
        Modify = "modify",
        /// It has another path.
        Move = "move",
        /// It is a copy of another.
        Copy = "copy",
    }

    /// What sort of file (ACP v2, schema `DiffFileType`).
    FileType {
        /// Text.
        Text = "text",
        /// Something else.
        Binary = "binary",
        /// A folder.
        Directory = "directory",
        /// A symbolic link.
        Symlink = "symlink",
    }
}

#[cfg(test)]
mod tests;
