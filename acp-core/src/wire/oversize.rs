//! Learns who waits for a line that is too long to keep.
//!
//! A line over the limit is thrown away while it arrives, but somebody may wait for it: the request it answers, or the
//! peer that asked. So its top-level keys are read on the way, wherever they stand, in memory that does not grow. What
//! the line says twice it does not say: a duplicate key must not smuggle an id past one of two readers.

mod kept;

use alloc::boxed::Box;

use self::kept::Kept;
use super::{id::Id, method::MethodName};

/// The most bytes kept of each of `id`, `method` and `params.sessionId`, as they stand in the line.
const KEEP: usize = 4096;
/// Enough for `"sessionId"` with every letter escaped. A longer key is none of ours.
const KEEP_KEY: usize = 64;

/// What is known of a line that was too long to keep.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Oversized {
    /// Bytes of the whole line, without its line break.
    pub size: u64,
    /// Bytes that were allowed.
    pub limit: usize,
    /// What it was.
    pub shape: OversizedShape,
    /// Its id, where it could be read. Of noise only if it has an id and no method, result or error.
    pub id: Option<Id>,
    /// Its method, where it could be read.
    pub method: Option<MethodName>,
    /// Its `params.sessionId`, where it could be read.
    pub session: Option<Box<str>>,
}

/// What a line that was too long to keep was, judged by its top-level keys (JSON-RPC 2.0 §4, §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OversizedShape {
    /// A method and an id that could be read.
    Request,
    /// A method and no id.
    Notification,
    /// A result or an error, whether or not its id could be read; also of a line that is broken or cut off behind it. If
    /// there is a method too, nothing else is told.
    Response,
    /// Anything else: no object, a batch, malformed, cut off by the end of the stream, a request whose id could not be
    /// read, or nothing but an id.
    Noise,
}

/// Reads the top-level keys of a line that is fed in pieces of any size. Holds less than 16 KiB.
///
/// It does not check the whole line: what is nested is only counted and skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Scanner {
    limit: usize,
    size: u64,
    /// The last byte was a carriage return.
    returned: bool,
    at: At,
    lead: Lead,
    /// Inside a string: a backslash came last.
    escaped: bool,
    /// Open brackets of the value that is skipped.
    depth: u64,
    /// The members read are those of `params`.
    in_params: bool,
    key: Kept,
    name: Name,
    /// A bit for each [`Name`] that was there.
    seen: u8,
    /// One of them was there before.
    twice: bool,
    /// `params` is there and is neither an object nor an array nor null.
    scalar_params: bool,
    version: Kept,
    id: Kept,
    method: Kept,
    session: Kept,
}

/// What is expected next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum At {
    /// The brace that opens the line.
    #[default]
    Start,
    /// A key, or the brace that closes an empty object.
    FirstKey,
    Key,
    Colon,
    Value,
    /// More of a number, `true`, `false` or `null`.
    Scalar,
    /// More of a string.
    Text(Of),
    /// More of an object or array that is skipped.
    Nested,
    /// A comma or a brace.
    Next,
    /// White space only.
    End,
    /// Nothing matters any more.
    Noise,
}

/// What `noise` passes over in front of a message, too: byte order marks, escape sequences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Lead {
    #[default]
    None,
    Mark(u8),
    Escape,
    EscapeMiddle,
    Control,
    Command,
    CommandEscape,
}

/// Which string it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Of {
    Key,
    Value,
    Nested,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Name {
    Version,
    Id,
    Method,
    Params,
    Result,
    Error,
    SessionId,
    #[default]
    Other,
}

impl Name {
    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl Scanner {
    /// `limit`: what the line may have, to be told with the result.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Bytes held.
    pub(crate) fn held(&self) -> usize {
        [&self.key, &self.version, &self.id, &self.method, &self.session].map(Kept::held).iter().sum()
    }

    /// Takes more of the line.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) {
        self.size = self.size.saturating_add(bytes.len() as u64);
        self.returned = bytes.last().map_or(self.returned, |last| *last == b'\r');
        while let Some((&byte, rest)) = bytes.split_first() {
            bytes = match self.at {
                At::Noise => return,
                At::Text(of) => self.text(of, bytes),
                At::Nested => self.nested(bytes),
                At::Scalar if byte.is_ascii_alphanumeric() || b"+-.".contains(&byte) => {
                    self.keep_value(&[byte]);
                    rest
                }
                At::Scalar => {
                    self.at = At::Next;
                    bytes
                }
                At::Start => {
                    self.start(byte);
                    rest
                }
                At::FirstKey | At::Key | At::Colon | At::Value | At::Next | At::End => {
                    if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                        self.token(byte);
                    }
                    rest
                }
            };
        }
    }

    /// The line is over, at a line break or at the end of the stream: a carriage return before that belongs to it.
    pub(crate) fn finish_line(mut self) -> Oversized {
        self.size -= u64::from(self.returned);
        self.finish()
    }

    /// The message is over.
    pub(crate) fn finish(self) -> Oversized {
        let complete = self.at == At::End;
        // More digits may have been to come.
        let id_is_whole = !(self.at == At::Scalar && self.name == Name::Id);
        let id = self.id.value().filter(|_| id_is_whole).as_ref().and_then(Id::parse);
        let method = self.method.string();
        let is_call = self.has(Name::Method);
        let is_answer = self.has(Name::Result) || self.has(Name::Error);
        // A method that is too long to keep is a method all the same.
        let well_formed = self.version.string().as_deref() == Some("2.0")
            && !self.twice
            && !self.scalar_params
            && (method.is_some() || self.method.is_lost());
        let shape = match (is_call, is_answer) {
            // What looks like an answer is none of a peer's requests, however broken.
            (_, true) => OversizedShape::Response,
            _ if !complete => OversizedShape::Noise,
            (true, false) if self.has(Name::Id) && id.is_some() => OversizedShape::Request,
            (true, false) if !self.has(Name::Id) && well_formed => OversizedShape::Notification,
            _ => OversizedShape::Noise,
        };
        let is_told = shape != OversizedShape::Noise && !(is_call && is_answer);
        let is_bare = complete && !is_call && !is_answer;
        Oversized {
            size: self.size,
            limit: self.limit,
            shape,
            id: id.filter(|_| is_told || is_bare),
            method: method.filter(|_| is_told).map(|name| MethodName::new(&name)),
            session: self.session.string().filter(|_| is_told),
        }
    }

    const fn has(&self, name: Name) -> bool {
        self.seen & name.bit() != 0
    }

    /// From here on only the length counts.
    const fn noise(&mut self) {
        self.at = At::Noise;
    }

    fn start(&mut self, byte: u8) {
        self.lead = match (self.lead, byte) {
            (Lead::None, b'{') => {
                self.at = At::FirstKey;
                Lead::None
            }
            (Lead::None, b' ' | b'\t' | b'\r' | b'\n') => Lead::None,
            (Lead::None, 0xEF) => Lead::Mark(0xBB),
            (Lead::Mark(0xBB), 0xBB) => Lead::Mark(0xBF),
            (Lead::Mark(0xBF), 0xBF) => Lead::None,
            (Lead::None, 0x1B) => Lead::Escape,
            (Lead::None | Lead::Mark(_), _) => return self.noise(),
            (Lead::Escape, b'[') => Lead::Control,
            (Lead::Escape, b']' | b'P' | b'X' | b'^' | b'_') => Lead::Command,
            (Lead::Escape | Lead::EscapeMiddle, b' '..=b'/') => Lead::EscapeMiddle,
            (Lead::Escape | Lead::EscapeMiddle, b'0'..=b'z' | b'|'..=b'~') => Lead::None,
            (Lead::Control, b' '..=b'?') => Lead::Control,
            (Lead::Control, b'@'..=b'Z' | b'\\'..=b'z' | b'|'..=b'~') => Lead::None,
            (Lead::Command, 0x1B) => Lead::CommandEscape,
            (Lead::Command, 0x07) | (Lead::CommandEscape, b'\\') => Lead::None,
            (Lead::Command, _) => Lead::Command,
            // A broken sequence does not take what follows it.
            (broken, _) => {
                self.lead = if broken == Lead::CommandEscape { Lead::Escape } else { Lead::None };
                return self.start(byte);
            }
        };
    }

    /// One byte of the structure, in an object whose members are read.
    fn token(&mut self, byte: u8) {
        match (self.at, byte) {
            (At::FirstKey | At::Key, b'"') => {
                self.key = Kept::default();
                self.key.push(b"\"", KEEP_KEY);
                self.at = At::Text(Of::Key);
            }
            (At::Colon, b':') => self.at = At::Value,
            (At::Value, b'{') if self.name == Name::Params => {
                self.in_params = true;
                self.at = At::FirstKey;
            }
            (At::Value, b'{' | b'[') => {
                // The bracket alone makes the value unreadable, as it should be.
                self.keep_value(&[byte]);
                self.depth = 1;
                self.at = At::Nested;
            }
            (At::Value, b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
                self.scalar_params |= self.name == Name::Params && byte != b'n';
                self.keep_value(&[byte]);
                self.at = if byte == b'"' { At::Text(Of::Value) } else { At::Scalar };
            }
            (At::Next, b',') => self.at = At::Key,
            (At::Next | At::FirstKey, b'}') => {
                self.at = if self.in_params { At::Next } else { At::End };
                self.in_params = false;
            }
            _ => self.noise(),
        }
    }

    /// More of a string; gives back what follows it.
    fn text<'a>(&mut self, of: Of, bytes: &'a [u8]) -> &'a [u8] {
        let end = if self.escaped { Some(0) } else { memchr::memchr2(b'"', b'\\', bytes) };
        let (text, rest) = bytes.split_at(end.map_or(bytes.len(), |end| (end + 1).min(bytes.len())));
        match of {
            Of::Key => self.key.push(text, KEEP_KEY),
            Of::Value => self.keep_value(text),
            Of::Nested => {}
        }
        if self.escaped {
            self.escaped = false;
        } else if text.last() == Some(&b'\\') {
            self.escaped = true;
        } else if text.last() == Some(&b'"') {
            match of {
                Of::Key => self.named(),
                Of::Value => self.at = At::Next,
                Of::Nested => self.at = At::Nested,
            }
        }
        rest
    }

    /// More of what is skipped; gives back what follows it, or follows the quote of a string in it.
    fn nested<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        for (index, byte) in bytes.iter().enumerate() {
            match byte {
                b'"' => self.at = At::Text(Of::Nested),
                b'{' | b'[' => {
                    self.depth += 1;
                    continue;
                }
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth > 0 {
                        continue;
                    }
                    self.at = At::Next;
                }
                _ => continue,
            }
            return bytes.get(index + 1..).unwrap_or_default();
        }
        &[]
    }

    /// A key is complete.
    fn named(&mut self) {
        self.name = match (self.in_params, self.key.string().as_deref()) {
            (false, Some("jsonrpc")) => Name::Version,
            (false, Some("id")) => Name::Id,
            (false, Some("method")) => Name::Method,
            (false, Some("params")) => Name::Params,
            (false, Some("result")) => Name::Result,
            (false, Some("error")) => Name::Error,
            (true, Some("sessionId")) => Name::SessionId,
            _ => Name::Other,
        };
        self.at = At::Colon;
        if self.has(self.name) {
            match self.name {
                Name::Version => self.version.lose(),
                Name::Id => self.id.lose(),
                Name::Method => self.method.lose(),
                Name::Params | Name::SessionId => self.session.lose(),
                Name::Result | Name::Error | Name::Other => {}
            }
            self.twice |= !matches!(self.name, Name::SessionId | Name::Other);
        }
        self.seen |= self.name.bit();
    }

    fn keep_value(&mut self, bytes: &[u8]) {
        match self.name {
            Name::Version => self.version.push(bytes, KEEP_KEY),
            Name::Id => self.id.push(bytes, KEEP),
            Name::Method => self.method.push(bytes, KEEP),
            Name::SessionId => self.session.push(bytes, KEEP),
            Name::Params | Name::Result | Name::Error | Name::Other => {}
        }
    }
}

#[cfg(test)]
mod tests;
