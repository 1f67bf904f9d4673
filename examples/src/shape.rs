//! The few JSON shapes that these programs write and read: content blocks, updates and errors of ACP v1.

use acp_core::{
    Config, ErrorObject, Payload,
    view::Prompt,
    wire::{ToolCallStatus, code},
};
use serde_json::{Value, json};

/// Bytes a line may have in these programs: they are driven with messages of 20 MiB, more than the default allows.
pub const LINE: usize = 64 << 20;

/// Widens the limits of a configuration to what these programs are driven with; everything else keeps its default.
#[must_use]
pub fn widened(mut config: Config) -> Config {
    config.limits.line = LINE;
    config.limits.queued_bytes = 2 * LINE;
    config
}

/// JSON text, ready to be sent.
#[must_use]
pub fn payload(value: Value) -> Payload {
    // A `Value` is well-formed JSON by itself, so there is nothing to fail.
    Payload::try_from(value).unwrap_or(Payload::EMPTY)
}

/// A text content block.
#[must_use]
pub fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// The update that brings a piece of a message: of the agent's, or of the user's when a session is loaded.
#[must_use]
pub fn chunk(kind: &str, text: &str) -> Value {
    json!({ "sessionUpdate": kind, "content": text_block(text) })
}

/// The update that announces a tool call. It ends as `completed` or `failed`, at the latest with its turn.
#[must_use]
pub fn tool_call(id: &str, title: &str) -> Value {
    json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": "edit", "status": "pending" })
}

/// The update that moves a tool call on.
#[must_use]
pub fn tool_status(id: &str, status: &ToolCallStatus) -> Value {
    json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": status.as_str() })
}

/// The params of a permission request, without its session: one way to say yes, one to say no.
#[must_use]
pub fn permission() -> Payload {
    payload(json!({
        "toolCall": { "toolCallId": "call-1", "title": "Something that needs permission" },
        "options": [
            { "optionId": "yes", "name": "Allow", "kind": "allow_once" },
            { "optionId": "no", "name": "Reject", "kind": "reject_once" },
        ],
    }))
}

/// The error of a request whose parameters are not what they must be. `why` names the part and what it must be.
#[must_use]
pub fn invalid_params(why: impl Into<Box<str>>) -> ErrorObject {
    ErrorObject::new(code::INVALID_PARAMS, why)
}

/// The error of a request for a session that nobody has.
#[must_use]
pub fn no_such_session(id: &str) -> ErrorObject {
    ErrorObject::new(code::RESOURCE_NOT_FOUND, "there is no such session")
        .with_data(payload(json!({ "sessionId": id })))
}

/// The error of something that went wrong on this side.
#[must_use]
pub fn internal(why: impl core::fmt::Display) -> ErrorObject {
    // One line, whatever `why` was made of.
    ErrorObject::new(code::INTERNAL_ERROR, why.to_string().replace(['\n', '\r'], " "))
}

/// The text of a prompt: its text blocks, joined. Blocks of other kinds are passed over, known or not.
///
/// # Errors
///
/// `prompt` is no array of objects, is empty, or has a block that lacks what its kind needs.
pub fn prompt_text(params: &Payload) -> Result<String, ErrorObject> {
    let wrong = |why: String| invalid_params(format!("`prompt` must be an array of content blocks: {why}"));
    let prompt: Prompt<'_> = params.view().map_err(|why| wrong(why.to_string()))?;
    if prompt.content.is_empty() {
        return Err(wrong("it is empty".into()));
    }
    let mut joined = String::new();
    for block in prompt.content.results() {
        joined.push_str(block.map_err(|why| wrong(format!("block {why}")))?.text().unwrap_or_default());
    }
    Ok(joined)
}

#[cfg(test)]
mod tests {
    use super::{Payload, json, payload, prompt_text};

    #[test]
    fn text_blocks_are_joined_and_others_passed_over() {
        let prompt = |blocks| payload(json!({ "sessionId": "s", "prompt": blocks }));
        let mixed = json!([
            { "type": "text", "text": "echo " }, { "type": "hologram", "text": 7 }, { "type": "text", "text": "é✓" }
        ]);
        assert_eq!(prompt_text(&prompt(mixed)).as_deref(), Ok("echo é✓"));
        assert_eq!(prompt_text(&prompt(json!([{ "type": "image", "data": "" }]))).as_deref(), Ok(""));
        for wrong in [
            json!([]),
            json!("x"),
            json!([["text", "x"]]),
            json!([{ "type": "text" }]),
            json!([{ "type": "image" }]),
            json!([{}]),
        ] {
            assert!(prompt_text(&prompt(wrong.clone())).is_err(), "{wrong}");
        }
        assert!(prompt_text(&Payload::EMPTY).is_err());
    }
}
