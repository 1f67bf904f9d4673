//! Takes the texts out of a recording, so that it can be shown to others and still does the same.
//!
//! Every text becomes another one of the same length: the same text always the same one, two texts two, as far as letters
//! reach. What decides what happens stays: ids, kinds, reasons, names of methods, numbers, and the names of members except
//! in what is a tool's or an extension's own.

use alloc::{
    borrow::Cow,
    collections::BTreeMap,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt::Write;

use serde_json::value::RawValue;

use super::{Fields, ReplayError, TORN, begin, rerun};
use crate::tape::{Put, Raw};

/// The members whose texts stay.
const STAYS: [&str; 25] = [
    "jsonrpc",
    "method",
    "id",
    "requestId",
    "sessionId",
    "toolCallId",
    "optionId",
    "methodId",
    "terminalId",
    "modeId",
    "configId",
    "messageId",
    "elicitationId",
    "stopReason",
    "outcome",
    "kind",
    "status",
    "sessionUpdate",
    "type",
    "role",
    "priority",
    "idempotencyKey",
    "state",
    "mode",
    "action",
];

/// The members in which names are texts, too.
const OPAQUE: [&str; 4] = ["rawInput", "rawOutput", "_meta", "data"];

/// The arguments of a call that are no texts: all others are.
const PLAIN: [&str; 20] = [
    "at",
    "do",
    "due",
    "cause",
    "frame",
    "session",
    "turn",
    "ticket",
    "scope",
    "kind",
    "timeout",
    "method",
    "request",
    "required",
    "option",
    "stored",
    "login",
    "message",
    "auth_method",
    "key",
];

/// Takes the texts out of a recording: content, paths, commands, names, messages.
///
/// Ids, kinds, reasons, methods, numbers and lengths stay, and what happens stays the same, unless a broken line was read
/// differently for its text; the outputs are those of a replay of what is left.
///
/// It goes by the names of members: what somebody has written into an id, or into the name of a member of an extension's
/// params, stays. Look at what you publish.
///
/// # Errors
///
/// [`ReplayError`]: nothing is given out.
pub fn redact(recording: &str) -> Result<String, ReplayError> {
    begin(recording)?;
    let mut names = Names::default();
    // Input is cut anywhere: it is read as a whole, and cut again at the same places.
    let mut stream = Vec::new();
    let mut lines = Vec::new();
    for (index, line) in recording.lines().enumerate().skip(1) {
        if line == TORN {
            break;
        }
        let wrong = |why: &str| ReplayError::Line { line: index + 1, why: why.into() };
        let fields = Fields::read(line).map_err(|why| wrong(&why.to_string()))?;
        let what: Cow<'_, str> = fields.get("do").ok_or_else(|| wrong("`do` is missing"))?;
        let bytes = match &*what {
            "input" | "message" => Some(fields.bytes("bytes").ok_or_else(|| wrong("`bytes` is missing"))?),
            _ => None,
        };
        if let ("input", Some(bytes)) = (&*what, &bytes) {
            stream.extend_from_slice(bytes);
        }
        lines.push((what, fields, bytes));
    }
    let stream: Vec<u8> = stream.split_inclusive(|byte| *byte == b'\n').flat_map(|line| names.line(line)).collect();
    let mut rest = &*stream;
    let mut out = String::from(recording.lines().next().unwrap_or_default());
    for (what, fields, bytes) in lines {
        out.push_str("\n{\"do\":");
        what.put(&mut out);
        let bytes = bytes.map(|bytes| {
            if what == "message" {
                return names.line(&bytes);
            }
            let (taken, left) = rest.split_at_checked(bytes.len()).unwrap_or((rest, &[]));
            rest = left;
            taken.to_vec()
        });
        if let Some(bytes) = bytes {
            out.push_str(",\"bytes\":");
            Raw(&bytes).put(&mut out);
        }
        for (name, value) in &fields.0 {
            if !matches!(&**name, "do" | "bytes" | "told" | "print") {
                let _ = write!(out, ",\"{name}\":{}", names.argument(name, value));
            }
        }
        out.push('}');
    }
    rerun(&out)
}

/// The new names of the texts.
#[derive(Default)]
struct Names {
    of: BTreeMap<String, String>,
    /// How many there are of each length.
    given: BTreeMap<usize, u64>,
}

/// Where a scan is: in an object or a list, under which member, and whether names are texts there.
#[derive(Clone, Copy, Default)]
struct Level {
    object: bool,
    stays: bool,
    opaque: bool,
    /// The opacity of the value that comes next.
    next: bool,
}

impl Names {
    /// A line of the wire.
    fn line(&mut self, line: &[u8]) -> Vec<u8> {
        let end = line.iter().rposition(|byte| !byte.is_ascii_whitespace()).map_or(0, |last| last + 1);
        let text = line.get(..end).unwrap_or_default();
        let is_json = |text: &str| serde_json::from_str::<&RawValue>(text).is_ok();
        let redacted = core::str::from_utf8(text).ok().map(|text| (is_json(text), self.json(text, false)));
        match redacted {
            Some((true, json)) => [json.as_bytes(), line.get(end..).unwrap_or_default()].concat(),
            // What is broken must stay so, and what stands outside of strings may be text, too.
            Some((false, json)) if !is_json(&bare(&json)) => {
                [bare(&json).as_bytes(), line.get(end..).unwrap_or_default()].concat()
            }
            _ => line.iter().map(|byte| if byte.is_ascii_whitespace() { *byte } else { b'x' }).collect(),
        }
    }

    /// An argument of a command.
    fn argument(&mut self, name: &str, value: &RawValue) -> String {
        let value = value.get();
        // How a turn ends is a reason, or an error with its message.
        let plain = PLAIN.contains(&name) || (name == "end" && value.starts_with('"'));
        if plain { value.into() } else { self.json(value, name == "meta") }
    }

    /// A JSON value, of the same length.
    fn json(&mut self, json: &str, opaque: bool) -> String {
        let mut out = String::with_capacity(json.len());
        let mut levels: Vec<Level> = Vec::new();
        let mut here = Level { opaque, next: opaque, ..Level::default() };
        let mut rest = json;
        while let Some(first) = rest.chars().next() {
            if first != '"' {
                match first {
                    '{' | '[' => {
                        levels.push(here);
                        let stays = here.stays && first == '[';
                        here = Level { object: first == '{', stays, opaque: here.next, next: here.next };
                    }
                    '}' | ']' => here = levels.pop().unwrap_or_default(),
                    _ => {}
                }
                out.push(first);
                rest = rest.get(first.len_utf8()..).unwrap_or_default();
                continue;
            }
            let length = string_length(rest);
            let (string, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
            let inner = string.get(1..length.saturating_sub(1)).unwrap_or_default();
            let is_name = here.object && after.trim_start().starts_with(':');
            if is_name {
                here.stays = !here.opaque && STAYS.contains(&inner);
                here.next = here.opaque || OPAQUE.contains(&inner);
            }
            let stays = if is_name { !here.opaque } else { here.stays && !here.opaque };
            out.push('"');
            // `data.sessionId` of an error is the protocol's.
            if stays || (is_name && inner == "sessionId") {
                out.push_str(inner)
            } else {
                out.push_str(self.name(inner))
            }
            out.push('"');
            rest = after;
        }
        out
    }

    /// The other text for this one.
    fn name(&mut self, text: &str) -> &str {
        let (given, of) = (&mut self.given, &mut self.of);
        of.entry(text.into()).or_insert_with(|| {
            let count = given.entry(text.len()).or_default();
            let name = letters(*count, text.len());
            *count += 1;
            name
        })
    }
}

/// Text of the same length without letters outside of strings.
fn bare(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(first) = rest.chars().next() {
        let length = if first == '"' { string_length(rest) } else { first.len_utf8() };
        let (token, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        if first == '"' || (first.is_ascii() && !first.is_ascii_alphabetic()) {
            out.push_str(token);
        } else {
            out.extend(token.bytes().map(|_| 'x'));
        }
        rest = after;
    }
    out
}

/// The bytes of the string that `json` begins with, quotes included.
fn string_length(json: &str) -> usize {
    let mut escaped = false;
    let end = json.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(json.len(), |end| end + 2)
}

/// The `number`th text of this length: `xxa`, `xxb` and so on.
fn letters(mut number: u64, length: usize) -> String {
    const LETTERS: &[u8; 26] = b"abcdefghijklmnopqrstuvwxyz";
    let mut text = alloc::vec![b'x'; length];
    for byte in text.iter_mut().rev() {
        *byte = LETTERS.get((number % 26) as usize).copied().unwrap_or(b'x');
        number /= 26;
        if number == 0 {
            break;
        }
    }
    String::from_utf8(text).unwrap_or_default()
}
