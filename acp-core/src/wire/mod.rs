//! Layer 1: bytes and JSON; no protocol state.
//!
//! Bytes go through [`Deframer`] to lines, and through [`parse_line`] to messages. Both take everything a peer may send:
//! what cannot be understood is a value too. The few members of a payload that decide something are read in `dialect`;
//! the rest passes through.

pub(crate) mod dialect;
mod envelope;
mod error_object;
mod id;
mod method;
mod ndjson;
mod noise;
mod object;
mod open_enum;
mod oversize;
pub(crate) mod own;
mod payload;
mod scan;
mod special;
mod unescape;
mod update;
pub mod view;
mod write;

pub use dialect::{
    Capabilities,
    v1::{PermissionOutcome, TextChunk, permission_outcome},
};
pub use envelope::{Line, Malformed, Message, Shape, parse_line};
pub use error_object::{ErrorObject, code};
pub use id::Id;
pub use method::{Form, Gate, Method, MethodName, Sender, Spec};
pub use ndjson::{Deframer, Framed};
pub use open_enum::{
    CompactionStatus, ConfigCategory, ContentKind, DiffOperation, FileType, NoticeSeverity, PermissionOptionKind,
    PlanEntryPriority, PlanEntryStatus, Role, SessionState, StopReason, ToolCallStatus, ToolKind, UpdateKind,
};
pub use oversize::{Oversized, OversizedShape};
pub use payload::{NotJson, Payload};
/// The versions of the protocol that are spoken here.
pub(crate) const SPOKEN: [u16; 2] = dialect::Version::KNOWN;
pub(crate) use write::{
    Params, session_member, with_session, write_answer, write_chunk, write_notification, write_request, write_update,
};
