//! One line to one message, and back: the envelope of JSON-RPC 2.0.
//!
//! The line is read once. Members nobody asks about are skipped, the payloads are slices of it. Whatever is wrong with a
//! message, what can still be said about it is kept, because somebody may wait for an answer.

use alloc::vec::Vec;
use core::str;

use bytes::Bytes;

use super::{
    error_object::ErrorObject,
    id::Id,
    method::{Method, MethodName},
    noise::without_noise,
    object::string,
    oversize::{Oversized, OversizedShape, Scanner},
    payload::Payload,
    scan::{Walk, json},
    update,
};

/// One decoded message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// It wants an answer under this id.
    Request {
        /// The sender's id; `null` is one.
        id: Id,
        /// The method.
        method: MethodName,
        /// An object or an array. `null` is read as none.
        params: Option<Payload>,
    },
    /// It wants no answer.
    Notification {
        /// The method.
        method: MethodName,
        /// An object or an array. `null` is read as none.
        params: Option<Payload>,
    },
    /// It answers a request of the receiver.
    Response {
        /// The receiver's id; `null` if the sender could not read it (JSON-RPC 2.0 §5).
        id: Id,
        /// The result, which may be `null`, or the error.
        answer: Result<Payload, ErrorObject>,
    },
    /// None of these.
    Malformed(Malformed),
}

/// What a malformed message still tells, so that whoever waits can be answered (JSON-RPC 2.0 §4, §5).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Malformed {
    /// What it looks like.
    pub shape: Shape,
    /// Its id, if there is one, once, and it is readable.
    pub id: Option<Id>,
    /// What is wrong, in words.
    pub why: &'static str,
    /// All of it, if it is JSON.
    pub raw: Option<Payload>,
}

impl Malformed {
    /// What is no message at all.
    pub(crate) const fn nothing(why: &'static str) -> Self {
        Self { shape: Shape::Nothing, id: None, why, raw: None }
    }
}

/// What a malformed message looks like: which members are there, whatever is in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shape {
    /// The line is not JSON, or not UTF-8, and does not look like a response: -32700 without an id.
    NotJson,
    /// It has `method`, and neither `result` nor `error`.
    Call,
    /// It has `result` or `error`, but no `method`; of a line that is not JSON, as far as it can be read. Never answered.
    Response,
    /// It has `method` together with `result` or `error`. Never answered: it may be a response.
    Hybrid,
    /// It has an `id`, and none of these.
    Bare,
    /// An object without any of them; or no object at all.
    Nothing,
}

/// What one line holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Line {
    /// White space.
    Blank,
    /// One message, which may be malformed.
    Message(Message),
    /// Messages in their order, at least one. A malformed one spoils no other (JSON-RPC 2.0 §6).
    Batch(Vec<Message>),
    /// `[]`, which JSON-RPC 2.0 §6 forbids.
    EmptyBatch,
    /// A batch of more messages than allowed. None of them was read.
    BatchTooLarge,
}

/// Reads one line, with its line break or without. A batch may have `max_batch` messages.
///
/// White space around it is fine, and so are a byte order mark and the escape sequences of terminals in front of it.
#[must_use]
pub fn parse_line(line: &Bytes, max_batch: usize) -> Line {
    let Ok(text) = str::from_utf8(line) else {
        return Line::Message(not_json(line, "the line is not UTF-8"));
    };
    if let Some((params, seen)) = update::params(text) {
        let (method, params) = (MethodName::Known(Method::SessionUpdate), Payload::from_seen(line, params, seen));
        return Line::Message(Message::Notification { method, params: Some(params) });
    }
    if let Some(message) = usual(line, text) {
        return Line::Message(message);
    }
    let text = without_noise(text);
    match text.as_bytes().first() {
        None => Line::Blank,
        Some(b'[') => batch(line, text, max_batch),
        Some(_) => Line::Message(message(line, text)),
    }
}

/// A request with params, or a response with a result, in its usual form: the members of the envelope in the order of the
/// documents, with no white space between them. `None`: it has another form, or is none, or no JSON.
fn usual(line: &Bytes, text: &str) -> Option<Message> {
    let mut walk = Walk::new(text);
    walk.expect(r#"{"jsonrpc":"2.0","id":"#)?;
    let id = Id::from_raw(walk.value()?)?;
    let (method, value, seen) = if walk.expect(r#","method":""#).is_some() {
        let start = walk.place();
        // Names have no escapes.
        let name = (!walk.string()?).then(|| walk.since(start).strip_suffix('"'))??;
        walk.expect(r#","params":"#)?;
        let (params, seen) = update::params_of_call(&mut walk)?;
        (Some(MethodName::new(name)), params, Some(seen))
    } else {
        walk.expect(r#","result":"#)?;
        (None, walk.value()?, None)
    };
    walk.expect("}")?;
    walk.is_at_end().then_some(())?;
    let payload = match seen.filter(|_| !walk.broken) {
        Some(seen) => Payload::from_seen(line, value, seen),
        None => Payload::from_line(line, value, walk.broken),
    };
    Some(match method {
        Some(method) => Message::Request { id, method, params: Some(payload) },
        None => Message::Response { id, answer: Ok(payload) },
    })
}

fn malformed(shape: Shape, id: Option<Id>, why: &'static str) -> Message {
    Message::Malformed(Malformed { shape, id, why, raw: None })
}

/// The message `text`, which is a part of `line`.
fn message(line: &Bytes, text: &str) -> Message {
    let mut walk = Walk::new(text);
    if let Some(message) = object(line, &mut walk).filter(|_| walk.is_over()) {
        return message;
    }
    // Either it is not JSON, or it is, but no object. Ask only now: this is not the way of ordinary lines.
    match json(text) {
        Some(_) => malformed(Shape::Nothing, None, "a message must be an object"),
        None => not_json(line, "the line is not JSON"),
    }
}

/// The message at which the walk is. `None`: there is no object, or what is there is not JSON.
fn object(line: &Bytes, walk: &mut Walk<'_>) -> Option<Message> {
    let mut envelope = Envelope::default();
    let start = walk.place();
    walk.members(|key, value| envelope.take(key, value))?;
    let (text, broken) = (walk.since(start), walk.broken);
    Some(envelope.decode(line, broken).unwrap_or_else(|malformed| {
        Message::Malformed(Malformed { raw: Some(Payload::from_line(line, text, broken)), ..malformed })
    }))
}

/// What is not JSON may still tell whom it answers: whoever waits for that must not wait for ever.
fn not_json(line: &[u8], why: &'static str) -> Message {
    let mut scanner = Scanner::new(0);
    scanner.feed(line);
    match scanner.finish() {
        Oversized { shape: OversizedShape::Response, id, .. } => malformed(Shape::Response, id, why),
        _ => malformed(Shape::NotJson, None, why),
    }
}

fn batch(line: &Bytes, text: &str, max: usize) -> Line {
    let mut messages = Vec::new();
    let mut count = 0_usize;
    let mut walk = Walk::new(text);
    let read = walk.elements(|walk| {
        count += 1;
        if count <= max && walk.is_at_object() {
            messages.push(object(line, walk)?);
        } else {
            walk.value()?;
            if count <= max {
                // An array in here is no envelope: neither by position nor as a batch of its own.
                messages.push(malformed(Shape::Nothing, None, "a message must be an object"));
            }
        }
        Some(())
    });
    match read.filter(|()| walk.is_over()) {
        None => Line::Message(malformed(Shape::NotJson, None, "the line is not JSON")),
        Some(()) if count == 0 => Line::EmptyBatch,
        Some(()) if count > max => Line::BatchTooLarge,
        Some(()) => Line::Batch(messages),
    }
}

/// The members that make an envelope, as text.
#[derive(Default)]
struct Envelope<'a> {
    jsonrpc: Option<&'a str>,
    id: Option<&'a str>,
    method: Option<&'a str>,
    params: Option<&'a str>,
    result: Option<&'a str>,
    error: Option<&'a str>,
    /// One of them is there twice. Two readers of such a message could take it for two different ones.
    twice: bool,
    id_twice: bool,
}

impl<'a> Envelope<'a> {
    fn take(&mut self, key: &str, value: &'a str) {
        let member = match key {
            "jsonrpc" => &mut self.jsonrpc,
            "id" => &mut self.id,
            "method" => &mut self.method,
            "params" => &mut self.params,
            "result" => &mut self.result,
            "error" => &mut self.error,
            _ => return,
        };
        if member.replace(value).is_some() {
            self.twice = true;
            self.id_twice |= key == "id";
        }
    }

    fn shape(&self) -> Shape {
        match (self.method.is_some(), self.result.is_some() || self.error.is_some()) {
            (true, true) => Shape::Hybrid,
            (true, false) => Shape::Call,
            (false, true) => Shape::Response,
            (false, false) if self.id.is_some() => Shape::Bare,
            (false, false) => Shape::Nothing,
        }
    }

    fn decode(&self, line: &Bytes, broken: bool) -> Result<Message, Malformed> {
        let shape = self.shape();
        let id = self.id.filter(|_| !self.id_twice).and_then(Id::from_raw);
        let fault = |why| Malformed { shape, id: id.clone(), why, raw: None };
        if self.twice {
            return Err(fault("a member of the envelope is there twice"));
        }
        if shape == Shape::Hybrid {
            return Err(fault("`method` must not be together with `result` or `error`"));
        }
        if self.jsonrpc.and_then(string).as_deref() != Some("2.0") {
            return Err(fault("`jsonrpc` must be \"2.0\""));
        }
        if self.id.is_some() && id.is_none() {
            return Err(fault("`id` must be a string, an integer or null"));
        }
        if let Some(method) = self.method {
            let method = string(method).ok_or_else(|| fault("`method` must be a string"))?;
            let method = MethodName::new(&method);
            let params = match self.params {
                None | Some("null") => None,
                Some(raw) if raw.starts_with(['{', '[']) => Some(Payload::from_line(line, raw, broken)),
                Some(_) => return Err(fault("`params` must be an object or an array")),
            };
            return Ok(match id {
                Some(id) => Message::Request { id, method, params },
                None => Message::Notification { method, params },
            });
        }
        let answer = match (self.result, self.error) {
            (Some(result), None) => Ok(Payload::from_line(line, result, broken)),
            (None, Some(error)) => Err(ErrorObject::parse(&Payload::from_line(line, error, broken))
                .ok_or_else(|| fault("`error` must have an integer `code` and a string `message`"))?),
            (Some(_), Some(_)) => return Err(fault("`result` must not be together with `error`")),
            (None, None) => return Err(fault("`method`, `result` or `error` must be there")),
        };
        match id {
            Some(id) => Ok(Message::Response { id, answer }),
            None => Err(fault("a response must have an `id`")),
        }
    }
}
