//! The few JSON shapes that these programs write and read: content blocks, updates and errors of ACP v1.

use std::borrow::Cow;

use acp_core::{
    Config, ErrorObject, Payload,
    wire::{ToolCallStatus, code},
};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

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
/// `prompt` is no array of objects, is empty, or has a text block without text.
pub fn prompt_text(params: &Payload) -> Result<String, ErrorObject> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow)]
        prompt: Vec<&'a RawValue>,
    }
    /// `text` stays unread until it is known to be one: other kinds may have another idea of it.
    #[derive(Deserialize)]
    struct Block<'a> {
        #[serde(borrow)]
        r#type: Cow<'a, str>,
        #[serde(borrow, default)]
        text: Option<&'a RawValue>,
    }
    let wrong = |why: String| invalid_params(format!("`prompt` must be an array of content blocks: {why}"));
    let Params { prompt } = params.get().map_err(|why| wrong(why.to_string()))?;
    if prompt.is_empty() {
        return Err(wrong("it is empty".into()));
    }
    let mut joined = String::new();
    for (at, raw) in prompt.into_iter().enumerate() {
        // Serde would read an array as a struct, too.
        if !raw.get().starts_with('{') {
            return Err(wrong(format!("block {at} is not an object")));
        }
        let block: Block<'_> = serde_json::from_str(raw.get()).map_err(|why| wrong(format!("block {at}: {why}")))?;
        if block.r#type == "text" {
            let text = block.text.map_or("null", RawValue::get);
            let text: Cow<'_, str> =
                serde_json::from_str(text).map_err(|why| wrong(format!("the text of block {at}: {why}")))?;
            joined.push_str(&text);
        }
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
        assert_eq!(prompt_text(&prompt(json!([{ "type": "image" }]))).as_deref(), Ok(""));
        for wrong in [json!([]), json!("x"), json!([["text", "x"]]), json!([{ "type": "text" }]), json!([{}])] {
            assert!(prompt_text(&prompt(wrong.clone())).is_err(), "{wrong}");
        }
        assert!(prompt_text(&Payload::EMPTY).is_err());
    }
}
