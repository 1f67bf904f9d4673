//! Recordings of a connection: to replay one to the same outputs, byte for byte, and to take the texts out before it is
//! shown to anybody. [`Connection::record`](crate::Connection::record) makes one.
//!
//! # The format
//!
//! One JSON object a line. The first says `acp_recording` (the number of the format, 1), `agent` (which end it is), and the
//! policy. Every other line is one call, in the order of the calls:
//!
//! | member | what it says |
//! |---|---|
//! | `at` | the caller's clock, in nanoseconds |
//! | `do` | the call: `input`, `message`, `eof`, `lost`, `undelivered`, `timeout` (the `handle_*`); `transmit`, `action` (the `poll_*` that gave something); any other is the command of that name, and `time` a command that did nothing but tell the time |
//! | `due`, `cause` | the deadline that stood when it was called, if one did |
//! | `bytes` | `input`, `message`: what came; `transmit`: what went; a string, or `{"hex":…}` if it is not UTF-8 |
//! | `told`, `print` | `action`: what the host was told, without its payloads; a checksum of it, payloads included, by its `Hash`, which may differ between compilers |
//! | others | the arguments of the command, by name. Keys are numbers, a session is a pair of them; payloads stand as they are |
//!
//! `{"torn":true}` as the last line: more followed than there was room for.
//!
//! A replay calls the same on a fresh connection that records itself. It went well if it made the same recording.

mod play;
mod redact;

use alloc::{
    borrow::Cow,
    boxed::Box,
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};

use serde::Deserialize;
use serde_json::value::RawValue;
use thiserror::Error;

use self::play::Play;
pub use self::redact::redact;
use crate::{
    config::Config,
    connection::Connection,
    role::{Agent, Client, Side},
    tape::{FORMAT, Header},
    time::Timestamp,
};

/// What a replay came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Which end was recorded.
    pub side: Side,
    /// How many calls there were.
    pub calls: usize,
    /// Whether the recording ends before what was recorded did.
    pub torn: bool,
}

/// Why a recording was not replayed to its end. Lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The first line is not that of a recording of this format.
    #[error("the first line is not that of a recording of format {FORMAT}")]
    NoRecording,
    /// A line cannot be read.
    #[error("line {line} cannot be read: {why}")]
    Line {
        /// Which.
        line: usize,
        /// What is wrong with it.
        why: Box<str>,
    },
    /// The connection did something else than it did when it was recorded: it is another version of this library, or the
    /// recording was changed.
    #[error("line {line}: recorded {recorded:?}, replayed {replayed:?}")]
    Diverged {
        /// Which.
        line: usize,
        /// The line as it stands.
        recorded: Box<str>,
        /// The line that the replay would have recorded; empty if none.
        replayed: Box<str>,
    },
}

/// Replays a recording on a fresh connection, and compares all that comes out: bytes, actions and deadlines.
///
/// # Errors
///
/// [`ReplayError`].
pub fn replay(recording: &str) -> Result<Replayed, ReplayError> {
    let again = rerun(recording)?;
    let mut lines = again.lines();
    let (mut calls, mut torn) = (0, false);
    for (index, recorded) in recording.lines().enumerate() {
        torn = recorded == TORN;
        if torn {
            break;
        }
        let replayed = lines.next().unwrap_or_default();
        if recorded != replayed {
            return Err(ReplayError::Diverged {
                line: index + 1,
                recorded: recorded.into(),
                replayed: replayed.into(),
            });
        }
        calls = index;
    }
    let (side, _) = begin(recording)?;
    Ok(Replayed { side, calls, torn })
}

/// Calls what a recording says on a fresh connection, and gives the recording of that.
///
/// Those are the same calls with the outputs of today. It is how a recording that was written or changed by hand gets its
/// outputs.
///
/// # Errors
///
/// [`ReplayError`], but never [`Diverged`](ReplayError::Diverged).
pub fn rerun(recording: &str) -> Result<String, ReplayError> {
    match begin(recording)? {
        (Side::Client, config) => run::<Client>(recording, config),
        (Side::Agent, config) => run::<Agent>(recording, config),
    }
}

const TORN: &str = r#"{"torn":true}"#;

fn begin(recording: &str) -> Result<(Side, Config), ReplayError> {
    let header = recording.lines().next().and_then(|line| serde_json::from_str::<Header>(line).ok());
    let header = header.filter(|header| header.acp_recording == FORMAT).ok_or(ReplayError::NoRecording)?;
    let side = if header.agent { Side::Agent } else { Side::Client };
    Ok((side, header.config().ok_or(ReplayError::NoRecording)?))
}

fn run<R: Play>(recording: &str, config: Config) -> Result<String, ReplayError> {
    let mut conn = Connection::<R>::new(config).map_err(|_| ReplayError::NoRecording)?;
    conn.record(usize::MAX);
    let mut out = String::new();
    for (index, line) in recording.lines().enumerate().skip(1) {
        let wrong = |why: &str| ReplayError::Line { line: index + 1, why: why.into() };
        if line == TORN {
            break;
        }
        let fields = Fields::read(line).map_err(|why| wrong(&why.to_string()))?;
        let what: Cow<'_, str> = fields.get("do").ok_or_else(|| wrong("it does nothing: `do` is missing"))?;
        let at = fields.get("at").map(Timestamp::from_nanos).ok_or_else(|| wrong("`at` is missing"))?;
        R::play(&mut conn, &what, &fields, at)
            .ok_or_else(|| wrong("no such call, or its arguments are not as they should be"))?;
        out.push_str(&conn.take_recording().unwrap_or_default());
    }
    out.push_str(&conn.take_recording().unwrap_or_default());
    Ok(out)
}

/// The members of a line, unread.
struct Fields<'a>(BTreeMap<Cow<'a, str>, &'a RawValue>);

impl<'a> Fields<'a> {
    fn read(line: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(line).map(Self)
    }

    fn raw(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).map(|raw| raw.get())
    }

    fn get<T: Deserialize<'a>>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.raw(name)?).ok()
    }

    /// Bytes, as text or in hexadecimal digits.
    fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        if let Some(text) = self.get::<String>(name) {
            return Some(text.into_bytes());
        }
        let digits = self.get::<BTreeMap<String, String>>(name)?.remove("hex")?;
        let digits: Option<Vec<u8>> =
            digits.chars().map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
        digits?.chunks(2).map(|pair| if let [high, low] = pair { Some(high << 4 | low) } else { None }).collect()
    }
}
