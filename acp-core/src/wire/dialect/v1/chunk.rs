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
            let kind = UpdateKind::from(str::from_utf8(parts.kind).ok()?);
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

    /// Appends the text. `None`: it has a lone surrogate; `to` is as it was.
    pub fn append_to(&self, to: &mut String) -> Option<()> {
        unescape(self.raw, to)
    }
}
