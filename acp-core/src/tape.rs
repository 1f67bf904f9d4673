//! What a connection is given and gives, written down as it happens: one JSON object a line. The format is described at
//! [`replay`](crate::replay), which reads it again.

mod settings;

use alloc::{
    boxed::Box,
    format,
    string::{String, ToString},
};
use core::{
    fmt::{Debug, Write},
    hash::{Hash, Hasher},
    time::Duration,
};

use crate::{
    action::{Decision, TurnEnd},
    machine::CancelKind,
    ticket::{FrameId, IncomingKey, RequestKey, Scope, SessionKey, TurnKey},
    time::Timestamp,
    wire::{ErrorObject, Payload},
};

pub(crate) use self::settings::{FORMAT, Header, header};

/// The tape of a connection, if it is recorded. It is no part of the connection's state: connections that differ in it are
/// equal, and hash alike.
#[derive(Debug, Default)]
pub(crate) struct Tape(Option<Box<Reel>>);

#[derive(Debug)]
struct Reel {
    text: String,
    /// Bytes that may wait to be taken.
    room: usize,
    /// More happened than there was room for: what follows would not make sense without it.
    torn: bool,
}

impl PartialEq for Tape {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Tape {}

impl Hash for Tape {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Tape {
    /// Begins with this first line.
    pub(crate) fn begin(&mut self, header: &str, room: usize) {
        self.0 = Some(Box::new(Reel { text: format!("{header}\n"), room, torn: false }));
    }

    pub(crate) const fn runs(&self) -> bool {
        self.0.is_some()
    }

    /// What was written since the last time.
    pub(crate) fn take(&mut self) -> Option<String> {
        self.0.as_mut().map(|reel| core::mem::take(&mut reel.text))
    }

    /// A line for what happens now.
    pub(crate) fn line(&mut self, what: &str, now: Timestamp) -> Option<TapeLine<'_>> {
        let reel = self.0.as_deref_mut().filter(|reel| !reel.torn)?;
        let begun = reel.text.len();
        let _ = write!(reel.text, r#"{{"at":{},"do":"{what}""#, now.as_nanos());
        Some(TapeLine { reel, begun })
    }
}

/// A line that is being written.
#[derive(Debug)]
pub(crate) struct TapeLine<'a> {
    reel: &'a mut Reel,
    begun: usize,
}

impl TapeLine<'_> {
    pub(crate) fn put(self, name: &str, value: &(impl Put + ?Sized)) -> Self {
        if value.is_there() {
            let _ = write!(self.reel.text, r#","{name}":"#);
            value.put(&mut self.reel.text);
        }
        self
    }

    pub(crate) fn end(self) {
        let Self { reel, begun } = self;
        reel.text.push_str("}\n");
        if reel.text.len() > reel.room {
            reel.text.truncate(begun);
            reel.text.push_str("{\"torn\":true}\n");
            reel.torn = true;
        }
    }
}

/// Bytes: as text, where they are.
pub(crate) struct Raw<'a>(pub(crate) &'a [u8]);

/// A print of a value, for what is too long to write down: FNV-1a over what it hashes, the same on every machine.
pub(crate) fn print(value: &impl Hash) -> String {
    let mut fnv = Fnv(0xcbf2_9ce4_8422_2325);
    value.hash(&mut fnv);
    format!("{:016x}", fnv.0)
}

struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write(&number.to_le_bytes());
    }

    fn write_u64(&mut self, number: u64) {
        self.write(&number.to_le_bytes());
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    // By way of their unsigned twins, and the discriminants of enums as eight bytes everywhere.
    fn write_isize(&mut self, number: isize) {
        self.write(&(number as i64).to_le_bytes());
    }

    fn write_i64(&mut self, number: i64) {
        self.write(&number.to_le_bytes());
    }
}

/// What can stand on a tape.
pub(crate) trait Put {
    /// Writes it as JSON.
    fn put(&self, out: &mut String);

    /// Whether its member is written at all.
    fn is_there(&self) -> bool {
        true
    }
}

impl<T: Put + ?Sized> Put for &T {
    fn put(&self, out: &mut String) {
        (*self).put(out);
    }

    fn is_there(&self) -> bool {
        (*self).is_there()
    }
}

impl<T: Put> Put for Option<T> {
    fn put(&self, out: &mut String) {
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn is_there(&self) -> bool {
        self.is_some()
    }
}

impl Put for str {
    fn put(&self, out: &mut String) {
        out.push_str(&serde_json::Value::from(self).to_string());
    }
}

impl Put for bool {
    fn put(&self, out: &mut String) {
        out.push_str(if *self { "true" } else { "false" });
    }
}

impl Put for Payload {
    fn put(&self, out: &mut String) {
        out.push_str(self.as_str());
    }
}

impl Put for Raw<'_> {
    fn put(&self, out: &mut String) {
        match core::str::from_utf8(self.0) {
            Ok(text) => text.put(out),
            Err(_) => {
                out.push_str(r#"{"hex":""#);
                for byte in self.0 {
                    let _ = write!(out, "{byte:02x}");
                }
                out.push_str(r#""}"#);
            }
        }
    }
}

impl Put for Duration {
    fn put(&self, out: &mut String) {
        let _ = write!(out, "{}", u64::try_from(self.as_nanos()).unwrap_or(u64::MAX));
    }
}

macro_rules! keys {
    ($($key:ty),*) => { $(
        impl Put for $key {
            fn put(&self, out: &mut String) {
                let _ = write!(out, "{}", self.0);
            }
        }
    )* };
}

keys!(RequestKey, IncomingKey, TurnKey, FrameId);

impl Put for SessionKey {
    fn put(&self, out: &mut String) {
        let _ = write!(out, "[{},{}]", self.slot, self.generation);
    }
}

impl Put for Scope {
    fn put(&self, out: &mut String) {
        match self {
            Self::Turn(turn) => turn.put(out),
            Self::Session(session) => session.put(out),
        }
    }
}

impl Put for CancelKind {
    fn put(&self, out: &mut String) {
        match self {
            Self::Stop => "stop",
            Self::Steer => "steer",
        }
        .put(out);
    }
}

impl Put for Decision {
    fn put(&self, out: &mut String) {
        match self {
            Self::Select(option) => (**option).put(out),
            Self::Cancelled => out.push_str("null"),
        }
    }
}

impl Put for ErrorObject {
    fn put(&self, out: &mut String) {
        let _ = write!(out, r#"{{"code":{},"message":"#, self.code);
        (*self.message).put(out);
        if let Some(data) = &self.data {
            out.push_str(r#","data":"#);
            data.put(out);
        }
        out.push('}');
    }
}

/// A result, or an error: told apart by a box around the result.
impl Put for Result<Payload, ErrorObject> {
    fn put(&self, out: &mut String) {
        match self {
            Ok(result) => {
                out.push('[');
                result.put(out);
                out.push(']');
            }
            Err(error) => error.put(out),
        }
    }
}

impl Put for TurnEnd {
    fn put(&self, out: &mut String) {
        match self {
            Self::Stop(reason) => reason.as_str().put(out),
            Self::Error(error) => error.put(out),
        }
    }
}

/// Shown as Rust shows it.
pub(crate) struct Shown<'a, T>(pub(crate) &'a T);

impl<T: Debug> Put for Shown<'_, T> {
    fn put(&self, out: &mut String) {
        (*format!("{:?}", self.0)).put(out);
    }
}
