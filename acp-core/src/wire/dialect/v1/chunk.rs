//! Chunks of text: what nearly every `session/update` is.

use alloc::{borrow::Cow, string::String};
use core::str;

use crate::wire::{
    dialect::{fields, text},
    open_enum::UpdateKind,
    payload::Payload,
    unescape::unescape,
};

/// A piece of text from a `session/update`: `agent_message_chunk` and the like.
///
/// It borrows from the params of the update, and costs no second look at them where their writer wrote them as usual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextChunk<'a> {
    /// Whose text it is: what `sessionUpdate` says.
    pub kind: UpdateKind,
    /// The text as it stands, without the quotes.
    raw: &'a [u8],
}

impl<'a> TextChunk<'a> {
    /// Reads the params of a `session/update`, as [`ClientAction::Update`](crate::ClientAction::Update) has them. `None`: it
    /// is an update of another kind, or its content is no text.
    #[must_use]
    pub fn of(params: &'a Payload) -> Option<Self> {
        if let Some(parts) = params.seen().chunk(params.as_bytes()) {
            let kind = match parts.kind {
                // Nearly all are that.
                b"agent_message_chunk" => UpdateKind::AgentMessageChunk,
                kind => UpdateKind::from(str::from_utf8(kind).ok()?),
            };
            return Some(Self { kind, raw: parts.text });
        }
        let [update] = fields(params.as_bytes(), ["update"]);
        let [kind, content] = fields(update?, ["sessionUpdate", "content"]);
        let [of, raw] = fields(content?, ["type", "text"]);
        if text(of?)? != "text" {
            return None;
        }
        let raw = raw?.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        Some(Self { kind: UpdateKind::from(&*text(kind?)?), raw })
    }

    /// The text: borrowed if it has no escapes. `None`: it has a lone surrogate, which is no character.
    #[must_use]
    pub fn text(&self) -> Option<Cow<'a, str>> {
        if memchr::memchr(b'\\', self.raw).is_none() {
            return str::from_utf8(self.raw).ok().map(Cow::Borrowed);
        }
        let mut text = String::new();
        self.append_to(&mut text).map(|()| Cow::Owned(text))
    }

    /// The text: as it stands in the update if it has no escapes, else in the `buffer`, whose text it replaces. So a
    /// buffer that is used again costs nothing. `None`: it has a lone surrogate.
    pub fn text_in<'b>(&self, buffer: &'b mut String) -> Option<&'b str>
    where
        'a: 'b,
    {
        if memchr::memchr(b'\\', self.raw).is_none() {
            return str::from_utf8(self.raw).ok();
        }
        buffer.clear();
        self.append_to(buffer).map(|()| &**buffer)
    }

    /// Appends the text. `None`: it has a lone surrogate; `to` is as it was.
    pub fn append_to(&self, to: &mut String) -> Option<()> {
        unescape(self.raw, to)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::{Payload, TextChunk, UpdateKind};

    fn params(kind: &str, text: &str) -> Payload {
        let update = serde_json::json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } });
        Payload::try_from(serde_json::json!({ "sessionId": "s", "update": update })).expect("JSON")
    }

    #[test]
    fn a_text_without_escapes_is_read_where_it_stands_and_any_other_from_the_buffer() {
        let mut buffer = String::from("before");
        for (text, behind) in
            [("plain", "before"), ("", "before"), ("two\nlines", "two\nlines"), ("no more", "two\nlines")]
        {
            let params = params("agent_message_chunk", text);
            let chunk = TextChunk::of(&params).expect("a text");
            assert_eq!((chunk.text_in(&mut buffer), &chunk.kind), (Some(text), &UpdateKind::AgentMessageChunk));
            assert_eq!(chunk.text().as_deref(), Some(text));
            assert_eq!(buffer, behind, "{text}");
        }
        let other = params("_kind", "x");
        assert_eq!(TextChunk::of(&other).expect("a text").kind, UpdateKind::Unknown("_kind".into()));
    }
}
