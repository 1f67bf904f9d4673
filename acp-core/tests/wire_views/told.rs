//! What a view says, as a tree: to be compared with what is there.

use std::borrow::Cow;

use acp_core::{
    view::{
        Annotations, Background, BackgroundSubagent, BackgroundTerminal, BackgroundToolCall, Cancellable, Change,
        Changes, ChangesPatch, Choice, Chunk, Command, CommandInput, Commands, Compaction, CompactionChunk,
        ConfigChoice, ConfigGroup, ConfigOption, ConfigOptions, ConfigValue, Content, Cost, CurrentMode, Cursor, Diff,
        ExitStatus, Failure, List, Location, Media, Message, Mode, Modes, NamedPlan, Notice, Opened, Output, Patch,
        Plan, PlanEntry, PlanItems, PlanMarkdown, PlanRemoved, PlanUpdate, Raw, ReplayComplete, Resource,
        ResourceContents, ResourceLink, Select, SessionInfo, SessionList, SessionMessage, SessionRef, State,
        StoredSession, Subagent, Suggestion, Suggestions, Switch, Terminal, TerminalOutput, TerminalRef, TerminalSize,
        Text, ToolCall, ToolCallChunk, ToolContent, Update, Usage, View,
    },
    wire::{
        CompactionStatus, ConfigCategory, DiffOperation, FileType, NoticeSeverity, PlanEntryPriority, PlanEntryStatus,
        Role, SessionState, StopReason, ToolCallStatus, ToolKind,
    },
};
use serde_json::{Map, Value, json};

pub(crate) trait Told {
    /// `None`: nothing.
    fn told(&self) -> Option<Value>;
}

macro_rules! plain {
    ($($type:ty)+) => { $( impl Told for $type {
        fn told(&self) -> Option<Value> {
            Some(json!(self))
        }
    } )+ };
}
plain! {
    Cow<'_, str> bool u16 u32 u64 i64 f64 CompactionStatus ConfigCategory DiffOperation FileType NoticeSeverity
    PlanEntryPriority PlanEntryStatus Role SessionState StopReason ToolCallStatus ToolKind
}

impl Told for Raw<'_> {
    fn told(&self) -> Option<Value> {
        self.get().ok()
    }
}

impl<T: Told> Told for Option<T> {
    fn told(&self) -> Option<Value> {
        self.as_ref()?.told()
    }
}

impl<T: Told> Told for Patch<T> {
    fn told(&self) -> Option<Value> {
        match self {
            Self::Absent => None,
            Self::Null => Some(Value::Null),
            Self::Value(value) => value.told(),
        }
    }
}

impl<'a, T: Told + View<'a>> Told for List<'a, T> {
    fn told(&self) -> Option<Value> {
        let results: Vec<T> = self.results().filter_map(Result::ok).collect();
        let told: Vec<_> = results.iter().map(Told::told).collect();
        let iterated: Vec<_> = self.iter().map(|element| element.told()).collect();
        assert_eq!(told, iterated, "the two ways to go over a list");
        told.into_iter().collect()
    }
}

macro_rules! objects {
    ($( $name:ident { $($field:ident: $member:literal),* } )+) => { $(
        impl Told for $name<'_> {
            fn told(&self) -> Option<Value> {
                #[allow(unused_mut)]
                let mut said = Map::new();
                $( said.extend(self.$field.told().map(|value| ($member.to_owned(), value))); )*
                let text: Value = self.raw.get().expect("JSON");
                assert!(text.is_object(), "it is read from an object, and gives it back");
                Some(Value::Object(said))
            }
        }
    )+ };
}
objects! {
    Annotations { audience: "audience", priority: "priority", last_modified: "lastModified" }
    BackgroundSubagent { id: "sessionId" }
    BackgroundTerminal { id: "terminalId" }
    BackgroundToolCall { id: "toolCallId" }
    Cancellable { cancel: "cancel" }
    Change { operation: "operation", path: "path", old_path: "oldPath", file_type: "fileType", mime_type: "mimeType" }
    Changes { changes: "changes", patch: "patch" }
    ChangesPatch { format: "format", text: "text" }
    Chunk { content: "content", message_id: "messageId" }
    Command { name: "name", description: "description", input: "input", kind: "type" }
    CommandInput { hint: "hint" }
    Commands { commands: "availableCommands" }
    Compaction { id: "compactionId", status: "status", summary: "summary", error: "error" }
    CompactionChunk { id: "compactionId", content: "content" }
    ConfigChoice { id: "value", name: "name", description: "description" }
    ConfigGroup { id: "groupId", name: "name", choices: "options" }
    ConfigOption { id: "configId", name: "name", description: "description", category: "category", value: "value" }
    ConfigOptions { options: "configOptions" }
    Cost { amount: "amount", currency: "currency" }
    CurrentMode { id: "currentModeId" }
    Cursor { id: "cursorId", anchor: "anchor", capabilities: "capabilities" }
    Diff { path: "path", old_text: "oldText", new_text: "newText" }
    ExitStatus { code: "exitCode", signal: "signal" }
    Failure { code: "code", message: "message", data: "data" }
    Location { path: "path", line: "line" }
    Media { data: "data", mime_type: "mimeType", uri: "uri", annotations: "annotations" }
    Message { message_id: "messageId", content: "content" }
    Mode { id: "id", name: "name", description: "description" }
    Modes { current: "currentModeId", available: "availableModes" }
    Notice { title: "title", description: "description", severity: "severity" }
    Opened { session_id: "sessionId", modes: "modes", options: "configOptions", commands: "availableCommands" }
    Output { data: "data" }
    Plan { entries: "entries" }
    PlanEntry { content: "content", priority: "priority", status: "status" }
    PlanItems { id: "planId", entries: "entries" }
    PlanMarkdown { id: "planId", content: "content", path: "path" }
    PlanRemoved { id: "planId" }
    PlanUpdate { plan: "plan" }
    ReplayComplete {}
    Resource { resource: "resource", annotations: "annotations" }
    ResourceContents { uri: "uri", text: "text", blob: "blob", mime_type: "mimeType" }
    ResourceLink { uri: "uri", name: "name", title: "title", description: "description", mime_type: "mimeType",
        size: "size", annotations: "annotations" }
    Select { current: "currentValue", choices: "options" }
    SessionInfo { title: "title", updated_at: "updatedAt" }
    SessionList { sessions: "sessions", next_cursor: "nextCursor" }
    SessionMessage { id: "messageId", sender: "senderSessionId", recipient: "recipientSessionId", content: "content" }
    SessionRef { id: "sessionId" }
    State { state: "state", stop_reason: "stopReason", error: "error", background: "background" }
    StoredSession { id: "sessionId", cwd: "cwd", title: "title", updated_at: "updatedAt",
        additional_directories: "additionalDirectories" }
    Subagent { id: "sessionId", title: "title", description: "description", state: "state", cwd: "cwd",
        additional_directories: "additionalDirectories", capabilities: "capabilities" }
    Suggestion { prompt: "prompt" }
    Suggestions { suggestions: "suggestions" }
    Switch { current: "currentValue" }
    Terminal { id: "terminalId", command: "command", cwd: "cwd", output: "output", exit_status: "exitStatus",
        size: "size", capabilities: "capabilities" }
    TerminalOutput { id: "terminalId", data: "data" }
    TerminalRef { id: "terminalId" }
    TerminalSize { cols: "cols", rows: "rows" }
    Text { text: "text", annotations: "annotations" }
    ToolCall { id: "toolCallId", title: "title", name: "name", kind: "kind", status: "status", content: "content",
        locations: "locations", raw_input: "rawInput", raw_output: "rawOutput", capabilities: "capabilities" }
    ToolCallChunk { id: "toolCallId", content: "content" }
    Usage { used: "used", size: "size", cost: "cost" }
}

macro_rules! kinds {
    ($( $name:ident by $by:literal { $($variant:ident)+ } )+) => { $(
        impl Told for $name<'_> {
            fn told(&self) -> Option<Value> {
                Some(match self {
                    $( Self::$variant(view) => {
                        let mut said = view.told()?;
                        said[$by] = self.kind().into();
                        said
                    } )+
                    Self::Unknown(other) => json!({ "unknown": other.kind, "raw": other.raw }),
                    other => panic!("{} is not in the table", other.kind()),
                })
            }
        }
    )+ };
}
kinds! {
    Background by "type" { ToolCall Terminal Subagent }
    ConfigValue by "type" { Select Switch }
    Content by "type" { Text Image Audio ResourceLink Resource }
    NamedPlan by "type" { Items Markdown }
    Update by "sessionUpdate" {
        UserMessageChunk AgentMessageChunk AgentThoughtChunk ToolCall ToolCallUpdate Plan PlanUpdate PlanRemoved
        AvailableCommandsUpdate CurrentModeUpdate ConfigOptionUpdate SessionInfoUpdate UsageUpdate Notice
        CompactionUpdate CompactionSummaryChunk SubagentUpdate SessionMessage SessionMessageChunk
        PromptSuggestionsUpdate CursorUpdate UserMessage AgentMessage AgentThought ToolCallContentChunk TerminalUpdate
        TerminalOutputChunk StateUpdate ReplayComplete
    }
}

impl Told for Choice<'_> {
    fn told(&self) -> Option<Value> {
        match self {
            Self::One(one) => one.told(),
            Self::Group(group) => group.told(),
        }
    }
}

impl Told for ToolContent<'_> {
    fn told(&self) -> Option<Value> {
        let (kind, mut said) = match self {
            Self::Content(content) => return Some(json!({ "type": "content", "content": content.told()? })),
            Self::Unknown(other) => return Some(json!({ "unknown": other.kind, "raw": other.raw })),
            Self::Diff(diff) => ("diff", diff.told()?),
            Self::Changes(changes) => ("diff", changes.told()?),
            Self::Terminal(terminal) => ("terminal", terminal.told()?),
            Self::Session(session) => ("session", session.told()?),
            other => panic!("{other:?} is not in the table"),
        };
        said["type"] = kind.into();
        Some(said)
    }
}
