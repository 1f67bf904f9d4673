//! What the hosts send, in the shape of either version. Each carries the number that it goes by.

use acp_core::Payload;
use serde_json::json;

use super::ends::payload;

pub(super) fn prompt(turn: usize) -> Payload {
    payload(json!([{ "type": "text", "text": turn.to_string() }]))
}

/// A permission request.
pub(super) fn ask(version: u16, ask: usize) -> Payload {
    let call = json!({ "toolCallId": ask.to_string() });
    let options = json!([{ "optionId": "yes", "name": "Yes", "kind": "allow_once" }]);
    payload(if version == 1 {
        json!({ "toolCall": call, "options": options })
    } else {
        json!({ "title": "May I?", "subject": { "type": "tool_call", "toolCall": call }, "options": options })
    })
}

/// The tool call of a turn begins.
pub(super) fn update(version: u16, turn: usize) -> Payload {
    let kind = if version == 1 { "tool_call" } else { "tool_call_update" };
    payload(json!({ "sessionUpdate": kind, "toolCallId": turn.to_string(), "title": "Run", "status": "in_progress" }))
}
