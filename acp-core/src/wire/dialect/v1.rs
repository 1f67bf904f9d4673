//! Version 1 of the protocol: where the fields are that the core reads.

mod chunk;

use alloc::{borrow::Cow, boxed::Box, format, vec::Vec};
use core::str;

use smallvec::SmallVec;

pub use chunk::TextChunk;

use super::{elements, fields, fields_of_elements, kind_at_a_glance, text};
use crate::wire::{
    id::Id,
    method::Gate,
    open_enum::{PermissionOptionKind, StopReason, ToolCallStatus},
    payload::Payload,
};

/// The most paths of unreadable fields that are told of one permission request.
const TOLD_AT_MOST: usize = 32;

/// `sessionId` of any params.
pub(crate) fn session_id(params: &Payload) -> Option<Cow<'_, str>> {
    if let Some(id) = params.seen().session(params.as_bytes()) {
        return str::from_utf8(id).ok().map(Cow::Borrowed);
    }
    let [id] = fields(params.as_bytes(), ["sessionId"]);
    text(id?)
}

/// The same for one use.
pub(crate) fn with_session_id<R>(params: &Payload, then: impl FnOnce(&str) -> R) -> Option<R> {
    session_id(params).map(|id| then(&id))
}

/// `requestId` of `$/cancel_request`.
pub(crate) fn request_id(params: &Payload) -> Option<Id> {
    let [id] = fields(params.as_bytes(), ["requestId"]);
    Id::parse(&Payload::from_trusted(bytes::Bytes::copy_from_slice(id?)))
}

/// `protocolVersion` of the params or the result of `initialize`: an integer from 0 (ACP, Initialization). One above
/// 65535 is read as 65535: it is a version newer than any, and negotiated like one.
pub(crate) fn protocol_version(params_or_result: &Payload) -> Option<u16> {
    let [version] = fields(params_or_result.as_bytes(), ["protocolVersion"]);
    version_number(version?)
}

/// The same of the value itself.
pub(in crate::wire) fn version_number(version: &[u8]) -> Option<u16> {
    // Only digits: `1.0`, `1e0` and `-0` are no integers here.
    version.iter().try_fold(0_u16, |version, digit| {
        let digit = u16::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?);
        Some(version.saturating_mul(10).saturating_add(digit))
    })
}

/// `stopReason` of the result of `session/prompt`.
pub(crate) fn stop_reason(result: &Payload) -> Option<StopReason> {
    let [reason] = fields(result.as_bytes(), ["stopReason"]);
    Some(StopReason::from(&*text(reason?)?))
}

/// `optionId`, `name` and `kind` of an option.
pub(crate) type OfferedOption = (Box<str>, Box<str>, PermissionOptionKind);

/// What `session/request_permission` offers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Offered {
    /// `title`, in version 2.
    pub(crate) title: Option<Box<str>>,
    /// `toolCall.toolCallId`. In version 2 it may be about something else.
    pub(crate) tool_call: Option<Box<str>>,
    /// The usable options, in order. One without a name has its id for a name; a kind that
    /// cannot be read is the unknown kind of no name.
    pub(crate) options: SmallVec<[OfferedOption; 4]>,
    /// Paths of what could not be read, such as `options.1` or `toolCall.content`; the first 32.
    pub(crate) dropped: Vec<Box<str>>,
}

/// Reads the params of `session/request_permission`. `None`: it names no tool call, or there is nothing to choose.
///
/// A tool waits for the answer, so as little as possible makes a request unreadable: an option needs an id only, and what
/// else cannot be read is named for the host to see.
pub(crate) fn permission(params: &Payload) -> Option<Offered> {
    let [call, options] = fields(params.as_bytes(), ["toolCall", "options"]);
    let [id, others @ ..] = fields(call?, ["toolCallId", "kind", "status", "title", "name", "content", "locations"]);
    // "or null", says the schema of each of them.
    let [kind, status, title, name, content, locations] = others.map(|value| value.filter(|value| *value != b"null"));
    let mut offered = Offered { tool_call: Some(text(id?)?.into()), ..Offered::default() };
    let is_text = |value: &[u8]| text(value).is_some();
    let is_array = |value: &[u8]| value.starts_with(b"[");
    for (path, readable) in [
        ("toolCall.kind", kind.is_none_or(is_text)),
        ("toolCall.status", status.is_none_or(is_text)),
        ("toolCall.title", title.is_none_or(is_text)),
        ("toolCall.name", name.is_none_or(is_text)),
        ("toolCall.content", content.is_none_or(is_array)),
        ("toolCall.locations", locations.is_none_or(is_array)),
    ] {
        if !readable {
            offered.drop(|| path.into());
        }
    }
    offered_options(&mut offered, options?);
    (!offered.options.is_empty()).then_some(offered)
}

/// Reads the options of a permission request.
pub(crate) fn offered_options(offered: &mut Offered, options: &[u8]) {
    for (index, option) in fields_of_elements(options, ["optionId", "name", "kind"]).enumerate() {
        let [id, name, kind] = option;
        let Some(id) = id.and_then(text) else {
            offered.drop(|| format!("options.{index}").into());
            continue;
        };
        let name = name.and_then(text);
        if name.is_none() {
            offered.drop(|| format!("options.{index}.name").into());
        }
        let kind = kind.and_then(text);
        if kind.is_none() {
            offered.drop(|| format!("options.{index}.kind").into());
        }
        let name = name.unwrap_or_else(|| id.clone()).into();
        offered.options.push((id.into(), name, PermissionOptionKind::from(kind.as_deref().unwrap_or_default())));
    }
}

impl Offered {
    pub(crate) fn drop(&mut self, path: impl FnOnce() -> Box<str>) {
        if self.dropped.len() < TOLD_AT_MOST {
            self.dropped.push(path());
        }
    }
}

/// The ids of `authMethods` in the result of `initialize`, the newer kinds included: first those that `authenticate` may
/// name, then those that it must not, since they are for a terminal (ACP v1, Authentication). One that cannot be read is
/// left out.
pub(crate) fn auth_methods(result: &Payload) -> (Vec<Box<str>>, Vec<Box<str>>) {
    let [methods] = fields(result.as_bytes(), ["authMethods"]);
    let (mut ours, mut terminals) = (Vec::new(), Vec::new());
    for method in elements(methods.unwrap_or_default()) {
        let [id, kind] = fields(method, ["id", "type"]);
        if let Some(id) = id.and_then(text) {
            let for_a_terminal = kind.and_then(text).is_some_and(|kind| kind == "terminal");
            if for_a_terminal { &mut terminals } else { &mut ours }.push(id.into());
        }
    }
    (ours, terminals)
}

/// `methodId` of a request to log in.
pub(crate) fn login(params: &Payload) -> Option<Box<str>> {
    let [id] = fields(params.as_bytes(), ["methodId"]);
    Some(text(id?)?.into())
}

/// Whether a session would be opened with the same parameters: all but `sessionId`, `replayFrom`, and `_meta`, which may
/// carry what belongs to the request alone. What cannot be read is not the same.
pub(crate) fn same_options(one: &Payload, other: &Payload) -> bool {
    let options = |params: &Payload| {
        let mut params: serde_json::Map<alloc::string::String, serde_json::Value> = params.get().ok()?;
        for of_the_request in ["sessionId", "replayFrom", "_meta"] {
            params.remove(of_the_request);
        }
        Some(params)
    };
    options(one).is_some_and(|one| options(other) == Some(one))
}

/// How a permission request was answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PermissionOutcome {
    /// With the option of this id.
    Selected(Box<str>),
    /// With none: the turn was cancelled.
    Cancelled,
    /// With an outcome of this name, which the protocol does not have. It allows nothing.
    Unknown(Box<str>),
}

/// Reads the result of `session/request_permission`. `None`: it has no outcome, or selects an option without saying which.
#[must_use]
pub fn permission_outcome(result: &Payload) -> Option<PermissionOutcome> {
    let [outcome] = fields(result.as_bytes(), ["outcome"]);
    let [name, option] = fields(outcome?, ["outcome", "optionId"]);
    Some(match &*text(name?)? {
        "selected" => PermissionOutcome::Selected(text(option?)?.into()),
        "cancelled" => PermissionOutcome::Cancelled,
        other => PermissionOutcome::Unknown(other.into()),
    })
}

/// What an elicitation of this `mode` needs of the client. `None`: it is of another mode, which every client may refuse.
pub(crate) fn elicitation(params: &Payload) -> Option<Gate> {
    let [mode] = fields(params.as_bytes(), ["mode"]);
    match &*text(mode?)? {
        "form" => Some(Gate::ElicitationForm),
        "url" => Some(Gate::ElicitationUrl),
        _ => None,
    }
}

/// What a `session/update` says about a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ToolCallSeen {
    /// `toolCallId`
    pub(crate) id: Box<str>,
    /// `status`, if it is said.
    pub(crate) status: Option<ToolCallStatus>,
    /// `tool_call`, which begins one, not `tool_call_update`.
    pub(crate) is_new: bool,
}

/// Reads the `update` of a `session/update`. `None`: it is of another kind, or names no tool call.
pub(crate) fn tool_call(update: &Payload) -> Option<ToolCallSeen> {
    // Nearly every update is a chunk of text: no need to look further.
    if kind_at_a_glance(update.as_bytes()).is_some_and(|kind| !kind.starts_with(b"tool_call")) {
        return None;
    }
    let [kind, id, status] = fields(update.as_bytes(), ["sessionUpdate", "toolCallId", "status"]);
    let is_new = match &*text(kind?)? {
        "tool_call" => true,
        "tool_call_update" => false,
        _ => return None,
    };
    let status = status.and_then(text).map(|status| ToolCallStatus::from(&*status));
    Some(ToolCallSeen { id: text(id?)?.into(), status, is_new })
}

#[cfg(test)]
mod tests;
