//! Version 2 of the protocol, a preview: where the fields are that the core reads, and the shapes it writes.
//!
//! Where the schema of the protocol's crate and the older pages differ, the schema is followed. What version 2 has in
//! common with version 1, `sessionId` for one, is read in [`v1`](super::v1).

use alloc::{boxed::Box, format, vec::Vec};
use core::str;

use bytes::{Bytes, BytesMut};

use super::{
    elements, fields, kind_at_a_glance, text,
    v1::{Offered, ToolCallSeen, offered_options},
};
use crate::wire::{
    error_object::{ErrorObject, code},
    open_enum::{SessionState, StopReason, ToolCallStatus, UpdateKind},
    own,
    payload::Payload,
    write::{write_error, write_string},
};

/// The longest `idempotencyKey`, in characters (ACP v2, schema `IdempotencyKey`).
const KEY_LENGTH: usize = 255;

/// Whether `info` names the program: "name" and "version", both strings.
pub(crate) fn has_info(params_or_result: &Payload) -> bool {
    let [info] = fields(params_or_result.as_bytes(), ["info"]);
    let [name, version] = fields(info.unwrap_or_default(), ["name", "version"]);
    [name, version].iter().all(|part| part.and_then(text).is_some())
}

/// `messageId` of the result of `session/prompt`. `None`: it has none, as in older drafts.
pub(crate) fn message_id(result: &Payload) -> Option<Box<str>> {
    let [id] = fields(result.as_bytes(), ["messageId"]);
    Some(text(id?)?.into())
}

/// `idempotencyKey` of the params of `session/prompt`: there may be none.
///
/// # Errors
///
/// It is no string of 1 to 255 characters.
pub(crate) fn idempotency_key(params: &Payload) -> Result<Option<Box<str>>, &'static str> {
    let [key] = fields(params.as_bytes(), ["idempotencyKey"]);
    let Some(key) = key.filter(|key| *key != b"null") else { return Ok(None) };
    match text(key) {
        Some(key) if (1..=KEY_LENGTH).contains(&key.chars().count()) => Ok(Some(key.into())),
        _ => Err("`idempotencyKey` must be a string of 1 to 255 characters"),
    }
}

/// `prompt` of the params of `session/prompt`. `None`: it is missing, empty, or no array.
pub(crate) fn prompt(params: &Payload) -> Option<Payload> {
    let [prompt] = fields(params.as_bytes(), ["prompt"]);
    let prompt = prompt.filter(|prompt| elements(prompt).next().is_some())?;
    Some(params.part(str::from_utf8(prompt).ok()?))
}

/// Where a resumed session is to be told from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Replay {
    /// Not at all.
    No,
    /// From its start.
    Start,
}

/// `replayFrom` of the params of `session/resume`.
///
/// # Errors
///
/// It is of a type that is not known, or of none: "MUST NOT substitute" another (ACP v2, schema `ReplayFrom`).
pub(crate) fn replay_from(params: &Payload) -> Result<Replay, &'static str> {
    let [from] = fields(params.as_bytes(), ["replayFrom"]);
    let Some(from) = from.filter(|from| *from != b"null") else { return Ok(Replay::No) };
    let [kind] = fields(from, ["type"]);
    match kind.and_then(text) {
        Some(kind) if kind == "start" => Ok(Replay::Start),
        _ => Err("`replayFrom` must have the `type` \"start\": nothing else is supported"),
    }
}

/// The `update` of a `session/update`, and what it tells. `None`: a piece of text, which nearly every update is, or it
/// cannot be read.
pub(crate) fn update(params: &Payload) -> Option<(UpdateKind, Payload)> {
    if params.seen().chunk(params.as_bytes()).is_some() {
        return None;
    }
    let [update] = fields(params.as_bytes(), ["update"]);
    let update = params.part(str::from_utf8(update?).ok()?);
    Some((kind(update.as_bytes())?, update))
}

/// `sessionUpdate` of an update.
pub(crate) fn kind(update: &[u8]) -> Option<UpdateKind> {
    let [kind] = fields(update, ["sessionUpdate"]);
    Some(UpdateKind::from(&*text(kind?)?))
}

/// What a `state_update` says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StateSeen {
    pub(crate) state: SessionState,
    /// Why the work ended, if it says so.
    pub(crate) stop: Option<StopReason>,
    /// What went wrong, if it says so.
    pub(crate) error: Option<ErrorObject>,
    /// Whether work goes on in the background, if it says so.
    pub(crate) background: Option<bool>,
}

/// Reads a `state_update`. `None`: it says no state.
pub(crate) fn state(update: &[u8]) -> Option<StateSeen> {
    let [state, stop, error, background] = fields(update, ["state", "stopReason", "error", "background"]);
    let background = background.filter(|listed| listed.starts_with(b"["));
    Some(StateSeen {
        state: SessionState::from(&*text(state?)?),
        stop: stop.and_then(text).map(|reason| StopReason::from(&*reason)),
        error: error.and_then(|error| ErrorObject::parse(&Payload::from_trusted(Bytes::copy_from_slice(error)))),
        background: background.map(|listed| elements(listed).next().is_some()),
    })
}

/// A `state_update`, in the order of its members: the state, why and how work ended, what goes on in the background.
pub(crate) fn write_state(state: &SessionState, end: Option<&Ending>, background: Option<&Payload>) -> Payload {
    let mut out = BytesMut::from(&br#"{"sessionUpdate":"state_update","state":"#[..]);
    write_string(&mut out, state.as_str());
    match end {
        Some(Ending::Stop(reason)) => {
            out.extend_from_slice(br#","stopReason":"#);
            write_string(&mut out, reason.as_str());
        }
        Some(Ending::Error(error)) => {
            out.extend_from_slice(br#","stopReason":"error","error":"#);
            write_error(&mut out, error);
        }
        None => {}
    }
    if let Some(background) = background {
        out.extend_from_slice(br#","background":"#);
        out.extend_from_slice(background.as_bytes());
    }
    out.extend_from_slice(b"}");
    Payload::from_trusted(out.freeze())
}

/// Why work ended, for [`write_state`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ending {
    Stop(StopReason),
    Error(ErrorObject),
}

/// An update that tells the user's message: what was asked, under the id it was given.
pub(crate) fn write_user_message(message: &str, content: Option<&Payload>) -> Payload {
    let mut out = BytesMut::from(&br#"{"sessionUpdate":"user_message","messageId":"#[..]);
    write_string(&mut out, message);
    if let Some(content) = content {
        out.extend_from_slice(br#","content":"#);
        out.extend_from_slice(content.as_bytes());
    }
    out.extend_from_slice(b"}");
    Payload::from_trusted(out.freeze())
}

/// An update that says that the history is told to its end.
pub(crate) const REPLAY_COMPLETE: &[u8] = br#"{"sessionUpdate":"replay_complete"}"#;

/// `{"messageId":…}`, the answer to a prompt that was inserted.
pub(crate) fn write_inserted(message: &str) -> Payload {
    let mut out = BytesMut::from(&br#"{"messageId":"#[..]);
    write_string(&mut out, message);
    out.extend_from_slice(b"}");
    Payload::from_trusted(out.freeze())
}

/// What an update of this kind must say, and does not: what it is about. "A known discriminator with a malformed payload"
/// is an error, and never taken for a kind that is not known (ACP v2, Extensibility).
pub(crate) fn lacks(kind: &UpdateKind, update: &[u8]) -> Option<&'static str> {
    let (name, why) = match kind {
        UpdateKind::SessionMessage | UpdateKind::SessionMessageChunk => ("messageId", "it needs `messageId`, a string"),
        kind if is_message(kind) => ("messageId", "it needs `messageId`, a string"),
        UpdateKind::ToolCallUpdate | UpdateKind::ToolCallContentChunk => {
            ("toolCallId", "it needs `toolCallId`, a string")
        }
        UpdateKind::TerminalUpdate | UpdateKind::TerminalOutputChunk => {
            ("terminalId", "it needs `terminalId`, a string")
        }
        UpdateKind::StateUpdate => ("state", "it needs `state`, a string"),
        UpdateKind::SubagentUpdate => ("sessionId", "it needs the `sessionId` of the child, a string"),
        UpdateKind::PlanRemoved => ("planId", "it needs `planId`, a string"),
        UpdateKind::CompactionUpdate | UpdateKind::CompactionSummaryChunk => {
            ("compactionId", "it needs `compactionId`, a string")
        }
        _ => return None,
    };
    let [named] = fields(update, [name]);
    named.and_then(text).is_none().then_some(why)
}

/// The same of the params of a `session/update`.
pub(crate) fn update_lacks(params: &Payload) -> Option<&'static str> {
    let [update] = fields(params.as_bytes(), ["update"]);
    let Some(update) = update else { return Some("it needs `update`, an object") };
    match kind(update) {
        Some(kind) => lacks(&kind, update),
        None => Some("its `update` needs `sessionUpdate`, a string"),
    }
}

/// Whether it tells what was said.
pub(crate) fn is_message(kind: &UpdateKind) -> bool {
    matches!(
        kind,
        UpdateKind::UserMessageChunk
            | UpdateKind::AgentMessageChunk
            | UpdateKind::AgentThoughtChunk
            | UpdateKind::UserMessage
            | UpdateKind::AgentMessage
            | UpdateKind::AgentThought
    )
}

/// What a tool call is at, if the update says so. An update makes the tool call if there is none.
pub(crate) fn tool_call(kind: &UpdateKind, update: &[u8]) -> Option<ToolCallSeen> {
    if *kind != UpdateKind::ToolCallUpdate {
        return None;
    }
    let [id, status] = fields(update, ["toolCallId", "status"]);
    let status = status.and_then(text).map(|status| ToolCallStatus::from(&*status));
    Some(ToolCallSeen { id: text(id?)?.into(), status, is_new: false })
}

/// Something of a session's that can be cancelled apart from its work.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Entity {
    ToolCall(Box<str>),
    Terminal(Box<str>),
}

/// What an update says about the cancelling of an entity: whether it may be. `None`: nothing.
pub(crate) fn cancellable(kind: &UpdateKind, update: &[u8]) -> Option<(Entity, bool)> {
    let (name, over) = match kind {
        UpdateKind::ToolCallUpdate => ("toolCallId", "status"),
        UpdateKind::TerminalUpdate => ("terminalId", "exitStatus"),
        _ => return None,
    };
    let [id, over, capabilities] = fields(update, [name, over, "capabilities"]);
    let id = text(id?)?.into();
    let entity = if *kind == UpdateKind::ToolCallUpdate { Entity::ToolCall(id) } else { Entity::Terminal(id) };
    let over = over.is_some_and(|over| match (&entity, text(over).as_deref()) {
        (Entity::ToolCall(_), Some("completed" | "failed" | "cancelled")) => true,
        (Entity::ToolCall(_), _) => false,
        (Entity::Terminal(_), _) => over.starts_with(b"{"),
    });
    match capabilities {
        _ if over => Some((entity, false)),
        Some(capabilities) => {
            let [cancel] = fields(capabilities, ["cancel"]);
            Some((entity, cancel.is_some_and(|cancel| cancel.starts_with(b"{"))))
        }
        None => None,
    }
}

/// What `tool_call/cancel` or `terminal/cancel` is about.
pub(crate) fn entity(params: &Payload, terminal: bool) -> Option<Entity> {
    let [id] = fields(params.as_bytes(), [if terminal { "terminalId" } else { "toolCallId" }]);
    let id = text(id?)?.into();
    Some(if terminal { Entity::Terminal(id) } else { Entity::ToolCall(id) })
}

/// The child that an update of the agent's own brings, if it is a `subagent_update`. Most updates are not.
pub(crate) fn announced(update: &[u8]) -> Option<(Box<str>, Option<bool>)> {
    let other = kind_at_a_glance(update).is_some_and(|kind| kind != b"subagent_update");
    if other || kind(update)? != UpdateKind::SubagentUpdate {
        return None;
    }
    child(update)
}

/// `sessionId` of a `subagent_update`, the child, and whether it may be cancelled, if the update says so.
pub(crate) fn child(update: &[u8]) -> Option<(Box<str>, Option<bool>)> {
    let [id, capabilities] = fields(update, ["sessionId", "capabilities"]);
    let cancel = capabilities.map(|capabilities| {
        let [cancel] = fields(capabilities, ["cancel"]);
        cancel.is_some_and(|cancel| cancel.starts_with(b"{"))
    });
    Some((text(id?)?.into(), cancel))
}

/// Reads the params of `session/request_permission`: as in version 1, but the question has a `title`, and what it is
/// about is a `subject`, which may be no tool call. `None`: nothing can be chosen.
pub(crate) fn permission(params: &Payload) -> Option<Offered> {
    let [title, subject, options] = fields(params.as_bytes(), ["title", "subject", "options"]);
    let [call, id] = fields(subject.unwrap_or_default(), ["toolCall", "toolCallId"]);
    let [of_call] = fields(call.unwrap_or_default(), ["toolCallId"]);
    let mut offered = Offered {
        title: title.and_then(text).map(Into::into),
        tool_call: of_call.or(id).and_then(text).map(Into::into),
        ..Offered::default()
    };
    if offered.title.is_none() {
        offered.drop(|| "title".into());
    }
    offered_options(&mut offered, options?);
    (!offered.options.is_empty()).then_some(offered)
}

/// How an elicitation says where it belongs: with a session, or with a request of the client's.
///
/// # Errors
///
/// With both, or with neither.
pub(crate) fn elicitation_scope(params: &Payload) -> Result<(), &'static str> {
    let [session, request] = fields(params.as_bytes(), ["sessionId", "requestId"]);
    let [session, request] = [session, request].map(|id| id.is_some_and(|id| id != b"null"));
    if session == request { Err("an elicitation needs either `sessionId` or `requestId`") } else { Ok(()) }
}

/// The ids of `authMethods` in the result of `initialize`: first those that `auth/login` may name, of the type `agent`, then
/// those that it must not, since they are for a terminal.
pub(crate) fn auth_methods(result: &Payload) -> (Vec<Box<str>>, Vec<Box<str>>) {
    let [methods] = fields(result.as_bytes(), ["authMethods"]);
    let (mut ours, mut terminals) = (Vec::new(), Vec::new());
    for method in elements(methods.unwrap_or_default()) {
        let [id, kind] = fields(method, ["methodId", "type"]);
        match (id.and_then(text), kind.and_then(text).as_deref()) {
            (Some(id), Some("agent")) => ours.push(id.into()),
            (Some(id), Some("terminal")) => terminals.push(id.into()),
            _ => {}
        }
    }
    (ours, terminals)
}

/// The error for a version that is newer than none of ours: `data` tells which there are (ACP v2, Initialization).
pub(crate) fn unsupported_version(requested: u16, supported: &[u16]) -> ErrorObject {
    let why = format!("protocol version {requested} is older than every version spoken here");
    ErrorObject::new(code::UNSUPPORTED_PROTOCOL_VERSION, why).with_data(own::versions(requested, supported))
}

#[cfg(test)]
mod tests;
