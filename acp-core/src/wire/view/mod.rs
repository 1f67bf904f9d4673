//! Typed views of payloads: what a host reads of what it is told.
//!
//! A [`Payload`](crate::Payload) is text, and [`Payload::view`](crate::Payload::view) looks at it as one of these types:
//!
//! ```
//! use acp_core::{Payload, view::{SessionUpdate, Update}};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // As `ClientAction::Update { params, .. }` has them.
//! let params = Payload::parse(
//!     r#"{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"7","title":"Read","_meta":{"x":1}}}"#,
//! )?;
//! match params.view::<SessionUpdate<'_>>()?.update {
//!     Update::AgentMessageChunk(chunk) => print!("{}", chunk.content.text().unwrap_or_default()),
//!     Update::ToolCall(call) | Update::ToolCallUpdate(call) => {
//!         assert_eq!((&*call.id, call.title.value().map(|title| &**title)), ("7", Some("Read")));
//!         assert!(call.raw.member("_meta").is_some());
//!     }
//!     other => println!("({})", other.kind()),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | what is told | its view |
//! |---|---|
//! | [`ClientAction::Update`](crate::ClientAction::Update) | [`SessionUpdate`] |
//! | [`ClientAction::PermissionRequested`](crate::ClientAction::PermissionRequested) | [`Permission`] |
//! | the result of `initialize` | [`Initialized`] |
//! | the result of a request that opens a session | [`Opened`] |
//! | the result of `session/list` | [`SessionList`] |
//! | the result of `session/set_config_option` | [`ConfigOptions`] |
//! | [`AgentAction::Initialize`](crate::AgentAction::Initialize) | [`Initialize`] |
//! | [`AgentAction::Prompt`](crate::AgentAction::Prompt) | [`Prompt`] |
//!
//! - **Both versions.** A view has what version 1 and version 2 of the protocol say. What they name or put differently has one
//!   field here, or a variant for each; what only version 2 has says so.
//! - **Lenient.** A view needs what it is about (an id, the text of a text), and no more: anything else that is missing,
//!   `null` or of a wrong type is `None`, members that are not known are passed over, and an element of a [`List`] that
//!   cannot be read does not lose its neighbours. A member that comes twice counts as missing, since nobody can say which
//!   one is meant.
//! - **Open.** What is of no known kind is [`Unknown`], with all that came; a value of no known name is the `Unknown` of its
//!   enum. But what is of a known kind and lacks what that kind needs is [`Unreadable`], and says where and why.
//! - **Borrowed.** Text is a slice of the line it came in. Nothing allocates but text with escapes, which is decoded, a value of
//!   no known name, and to say where something is wrong. Lists are read while one goes over them. For pieces of text with escapes there is
//!   [`TextChunk`](crate::wire::TextChunk), which decodes to a buffer of yours.
//! - **Beside them, the text.** Every view has `raw`, all that it was read from: for `_meta` and fields of vendors
//!   ([`Raw::member`]), and for types of serde ([`Raw::get`]).
//!
//! # Types of the official schema crate
//!
//! They read the same payloads, and a view finds the part for them. They are of one version each, and owned; in version 1 a
//! kind that they do not know fails the whole. (Shown and not compiled here: that crate switches on `preserve_order` of `serde_json`
//! for whatever is built beside it, and these tests among it.)
//!
//! ```ignore
//! use acp_core::{Payload, view::{SessionUpdate, Update}};
//! use agent_client_protocol_schema::v1::{ContentBlock, SessionNotification, ToolCallUpdate};
//!
//! let all: SessionNotification = params.get()?; // all of what `ClientAction::Update` brings
//! let SessionUpdate { update, .. } = params.view()?;
//! if let Update::ToolCallUpdate(call) = &update {
//!     let call: ToolCallUpdate = call.raw.get()?; // or a part of it
//! }
//! let block = Payload::new(&ContentBlock::from("Hello."))?; // and the other way
//! ```

mod config;
mod content;
mod declare;
mod initialize;
mod list;
mod permission;
mod plan;
mod raw;
mod read;
mod session;
mod tool;
mod update;
mod work;

pub use config::{Choice, ConfigChoice, ConfigGroup, ConfigOption, ConfigOptions, ConfigValue, Select, Switch};
pub use content::{
    Annotations, Chunk, Content, Media, Message, Prompt, Resource, ResourceContents, ResourceLink, Text,
};
pub use declare::Unknown;
pub use initialize::{AgentCapabilities, AuthMethod, ClientCapabilities, Info, Initialize, Initialized};
pub use list::{Elements, List};
pub use permission::{CommandSubject, Permission, PermissionOption, Subject, ToolCallSubject};
pub use plan::{NamedPlan, Plan, PlanEntry, PlanItems, PlanMarkdown, PlanRemoved, PlanUpdate};
pub use raw::{Raw, Unreadable};
pub use read::{Patch, View};
pub use session::{
    Command, CommandInput, Commands, Cost, CurrentMode, Mode, Modes, Notice, Opened, SessionInfo, SessionList,
    StoredSession, Usage,
};
pub use tool::{
    Cancellable, Change, Changes, ChangesPatch, Diff, Location, SessionRef, TerminalRef, ToolCall, ToolCallChunk,
    ToolContent, ToolContentBlock,
};
pub use update::{SessionUpdate, Update};
pub use work::{
    Background, BackgroundSubagent, BackgroundTerminal, BackgroundToolCall, Compaction, CompactionChunk, Cursor,
    ExitStatus, Failure, Output, ReplayComplete, SessionMessage, State, Subagent, Suggestion, Suggestions, Terminal,
    TerminalOutput, TerminalSize,
};
