//! Reads a trace: our own form, and the forms in which others write down the same.
//!
//! A line is one of these, and a file may mix them; what is none of them is skipped and counted:
//!
//! - ours, as [`record`](super::record) writes it: `{"at":1.5,"from":"client","message":{…}}`;
//! - an object that names a direction: `{"direction":"in","message":{…}}`. The direction may be called `direction` or
//!   `dir`, the message `message`, `msg`, `payload`, `data`, `raw` or `line`, and it may be a string with JSON in it;
//! - a marker in front of the message: `-->` and `<--`, `->` and `<-`, `>>` and `<<`, `>` and `<`, `→` and `←`,
//!   `client → agent` and the reverse, `client:` and `agent:`, `send` and `recv`, `out` and `in`; in front of it may be a
//!   time, or anything in brackets.
//!
//! Who is at which end of an arrow is known once somebody sends what only a client, or only an agent, may send.

use acp_core::{
    Side,
    wire::{Form, Line, Message, Sender, parse_line},
};
use bytes::Bytes;
use serde_json::{Value, value::RawValue};

use super::log::{Entry, Log, What, other};

/// Why a file is no trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// No line of it is in a form that is known.
    NoTrace,
    /// It has directions, and nothing in it tells which of them is the client's: say which side wrote it.
    NoSides,
}

impl core::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::NoTrace => {
                "no line of it is in a known form: {\"at\":…,\"from\":\"client\",\"message\":{…}}, \
                 {\"direction\":\"in\",\"message\":{…}}, or `-->` or `<--` in front of each message"
            }
            Self::NoSides => "nothing tells which direction is the client's: say `--side client` or `--side agent`",
        })
    }
}

/// Who sent something: known, or the side that wrote the log, or the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Side(Side),
    Writer,
    Other,
}

enum Found {
    Header { side: Option<Side>, program: Option<String> },
    Entry { who: Who, at: Option<f64>, what: What },
    Nothing,
}

/// Reads a trace. `side` is the end at which it was written, if that is known.
///
/// # Errors
///
/// It is none, or does not tell who is who.
pub fn read(text: &str, side: Option<Side>) -> Result<Log, Unreadable> {
    let mut log = Log { side, ..Log::default() };
    let (mut found, mut is_ours) = (Vec::new(), false);
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        match recognise(line) {
            Found::Header { side, program } => {
                log.side = log.side.or(side);
                log.program = program;
                is_ours = true;
            }
            Found::Entry { who, at, what } => found.push((index + 1, who, at, what)),
            Found::Nothing => log.skipped += usize::from(!line.is_empty()),
        }
    }
    // Of a connection that never was there is nothing but the beginning.
    if found.is_empty() && !is_ours {
        return Err(Unreadable::NoTrace);
    }
    let arrows = found.iter().any(|(_, who, ..)| !matches!(who, Who::Side(_)));
    if arrows && log.side.is_none() {
        log.side = Some(found.iter().find_map(|(_, who, _, what)| writer(*who, what)).ok_or(Unreadable::NoSides)?);
    }
    let writer = log.side.unwrap_or(Side::Client);
    log.entries = found
        .into_iter()
        .map(|(line, who, at, what)| {
            let from = match who {
                Who::Side(side) => side,
                Who::Writer => writer,
                Who::Other => other(writer),
            };
            Entry { line, at, from, what }
        })
        .collect();
    log.rebase();
    Ok(log)
}

/// Who wrote the log, if this entry tells: one that only a client, or only an agent, may send.
fn writer(who: Who, what: &What) -> Option<Side> {
    let What::Line(line) = what else { return None };
    let Line::Message(Message::Request { method, .. } | Message::Notification { method, .. }) = parse_line(line, 1)
    else {
        return None;
    };
    let spec = method.known()?.spec();
    let sender = match spec.sender {
        Sender::Client => Side::Client,
        Sender::Agent => Side::Agent,
        Sender::Both => return None,
    };
    // A cancel is easily sent the wrong way; a request that opens something is not.
    (spec.form != Form::Either).then_some(if who == Who::Writer { sender } else { other(sender) })
}

fn recognise(line: &str) -> Found {
    let object = if line.starts_with('{') { object(line) } else { None };
    object.or_else(|| marked(line)).unwrap_or(Found::Nothing)
}

fn object(line: &str) -> Option<Found> {
    let members: std::collections::BTreeMap<String, &RawValue> = serde_json::from_str(line).ok()?;
    let text = |name: &str| members.get(name).and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    if members.contains_key("trace") {
        return Some(Found::Header { side: text("side").and_then(|side| side_named(&side)), program: text("program") });
    }
    let who = match text("from") {
        Some(from) => Who::Side(side_named(&from)?),
        None => direction(&text("direction").or_else(|| text("dir"))?)?,
    };
    let at = members.get("at").and_then(|raw| serde_json::from_str(raw.get()).ok());
    let at = at.or_else(|| ["t", "ts", "time", "timestamp"].iter().find_map(|name| time(members.get(*name)?)));
    let entry = |what| Some(Found::Entry { who, at, what });
    if let Some(why) = text("end") {
        return entry(What::End(why));
    }
    if let Some(long) = members.get("long") {
        let long: Value = serde_json::from_str(long.get()).unwrap_or_default();
        let method = long.get("method").and_then(Value::as_str).map(str::to_owned);
        return entry(What::Long { size: long.get("bytes").and_then(Value::as_u64).unwrap_or_default(), method });
    }
    let names = ["message", "msg", "payload", "data", "raw", "line"];
    let (name, raw) = names.iter().find_map(|name| Some((*name, *members.get(*name)?)))?;
    // A string is the line itself, whatever it holds.
    let said = Bytes::from(text(name).unwrap_or_else(|| raw.get().to_owned()));
    // Our own recorder looked at the bytes, which a string may not hold.
    let is_noise = name == "line" && members.contains_key("from");
    entry(if is_noise { What::Noise(said) } else { What::Line(said) })
}

fn side_named(name: &str) -> Option<Side> {
    match name.to_ascii_lowercase().as_str() {
        "client" | "editor" | "host" => Some(Side::Client),
        "agent" | "server" => Some(Side::Agent),
        _ => None,
    }
}

fn direction(word: &str) -> Option<Who> {
    let word = word.to_ascii_lowercase();
    if let (Some(client), Some(agent)) = (word.find("client"), word.find("agent")) {
        // Who is named first speaks to the other.
        return Some(Who::Side(if client < agent { Side::Client } else { Side::Agent }));
    }
    Some(match word.as_str() {
        "in" | "incoming" | "inbound" | "recv" | "receive" | "received" | "read" | "<" | "<-" | "<--" | "←" => {
            Who::Other
        }
        "out" | "outgoing" | "outbound" | "send" | "sent" | "write" | "written" | ">" | "->" | "-->" | "→" => {
            Who::Writer
        }
        "to_agent" | "c2s" | "c2a" => Who::Side(Side::Client),
        "to_client" | "s2c" | "a2c" => Who::Side(Side::Agent),
        other => return side_named(other).map(Who::Side),
    })
}

/// Markers in front of a message, the longer first.
const MARKERS: &[(&str, Who)] = &[
    ("client --> agent", Who::Side(Side::Client)),
    ("agent --> client", Who::Side(Side::Agent)),
    ("client -> agent", Who::Side(Side::Client)),
    ("agent -> client", Who::Side(Side::Agent)),
    ("client → agent", Who::Side(Side::Client)),
    ("agent → client", Who::Side(Side::Agent)),
    ("client:", Who::Side(Side::Client)),
    ("agent:", Who::Side(Side::Agent)),
    ("received", Who::Other),
    ("recv", Who::Other),
    ("sent", Who::Writer),
    ("send", Who::Writer),
    ("out", Who::Writer),
    ("in", Who::Other),
    ("-->", Who::Writer),
    ("<--", Who::Other),
    (">>>", Who::Writer),
    ("<<<", Who::Other),
    ("->", Who::Writer),
    ("<-", Who::Other),
    (">>", Who::Writer),
    ("<<", Who::Other),
    ("→", Who::Writer),
    ("←", Who::Other),
    (">", Who::Writer),
    ("<", Who::Other),
];

fn marked(line: &str) -> Option<Found> {
    let (mut rest, mut at) = (line, None);
    loop {
        let lower = rest.to_ascii_lowercase();
        if let Some((marker, who)) = MARKERS.iter().find(|(marker, _)| lower.starts_with(marker)) {
            let said = rest.get(marker.len()..)?;
            // A word must end there: `in` is a marker, `info` is none.
            let is_word = marker.ends_with(|end: char| end.is_ascii_alphabetic());
            if !is_word || said.starts_with([' ', ':', '\t', '{', '[']) {
                let said = if is_word { said.trim_start_matches(':') } else { said }.trim_start();
                return Some(Found::Entry { who: *who, at, what: What::Line(Bytes::from(said.to_owned())) });
            }
        }
        // A time, or anything in brackets, may stand in front.
        let (token, after) = match rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            Some(split) => split,
            None => rest.split_once([' ', '\t']).filter(|(token, _)| is_time(token))?,
        };
        at = at.or_else(|| clock(token));
        rest = after.trim_start();
    }
}

fn is_time(token: &str) -> bool {
    token.starts_with(|first: char| first.is_ascii_digit())
        && token.chars().all(|c| c.is_ascii_digit() || ".,:-+TZms".contains(c))
}

fn time(raw: &RawValue) -> Option<f64> {
    match serde_json::from_str::<Value>(raw.get()).ok()? {
        Value::Number(number) => number.as_f64().map(|number| match number {
            // Seconds since 1970; anything else is taken for milliseconds.
            seconds if (1e9..1e11).contains(&seconds) => seconds * 1000.0,
            millis => millis,
        }),
        Value::String(text) => clock(&text),
        _ => None,
    }
}

/// Milliseconds of a time such as `12:30:01.250` or `2026-01-31T12:30:01.250Z`; the day counts, the zone does not.
fn clock(text: &str) -> Option<f64> {
    let (day, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (days(date)?, time),
        None => (0.0, text),
    };
    let time = time.trim_end_matches('Z');
    let time = time.split_once('+').map_or(time, |(time, _)| time);
    let mut parts = time.split(':').map(|part| part.replace(',', ".").parse::<f64>());
    let (Some(Ok(hours)), Some(Ok(minutes)), Some(Ok(seconds)), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return None;
    };
    Some(((day * 24.0 + hours) * 60.0 + minutes) * 60_000.0 + seconds * 1000.0)
}

/// Days, such that later dates have more of them and neighbours differ by one within a month.
fn days(date: &str) -> Option<f64> {
    let mut parts = date.split('-').map(str::parse::<f64>);
    match (parts.next()?, parts.next()?, parts.next()?) {
        (Ok(year), Ok(month), Ok(day)) => Some((year * 12.0 + month) * 31.0 + day),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, Log, Side, Unreadable, What, read};

    const ASKED: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
    const SAID: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}"#;

    fn sides(text: &str) -> Vec<Side> {
        read(text, None).map(|log| log.entries.iter().map(|entry| entry.from).collect()).unwrap_or_default()
    }

    #[test]
    fn every_form_is_read() {
        let string = |line: &str| serde_json::Value::from(line).to_string();
        for (there, back) in [
            (
                format!("{{\"at\":0,\"from\":\"client\",\"message\":{ASKED}}}"),
                format!("{{\"from\":\"agent\",\"message\":{SAID}}}"),
            ),
            (
                format!("{{\"direction\":\"out\",\"message\":{ASKED}}}"),
                format!("{{\"direction\":\"in\",\"message\":{SAID}}}"),
            ),
            // Written by the agent.
            (format!("{{\"dir\":\"recv\",\"data\":{ASKED}}}"), format!("{{\"dir\":\"send\",\"data\":{SAID}}}")),
            (
                format!("{{\"direction\":\"in\",\"raw\":{}}}", string(ASKED)),
                format!("{{\"direction\":\"out\",\"raw\":{}}}", string(SAID)),
            ),
            (format!("--> {ASKED}"), format!("<-- {SAID}")),
            (format!("< {ASKED}"), format!("> {SAID}")),
            (format!("12:30:01.250 >> {ASKED}"), format!("12:30:01.251 << {SAID}")),
            (
                format!("[2026-01-31T12:30:01Z] [acp] Recv: {ASKED}"),
                format!("[2026-01-31T12:30:01Z] [acp] send: {SAID}"),
            ),
            (format!("client → agent {ASKED}"), format!("agent → client {SAID}")),
        ] {
            assert_eq!(sides(&format!("{there}\n{back}\n")), [Side::Client, Side::Agent], "{there}");
        }
    }

    #[test]
    fn lines_of_something_else_are_counted_and_garbage_behind_a_marker_is_kept() {
        let log = read(&format!("starting up\nINFO x\n--> {ASKED}\n<-- Loading…\n\n<-- {SAID}"), None);
        let Ok(Log { entries, skipped: 2, side: Some(Side::Client), .. }) = log else { panic!("{log:?}") };
        let lines: Vec<_> = entries.iter().map(|entry| entry.line).collect();
        assert_eq!(lines, [3, 4, 6]);
        assert!(matches!(&entries[1], Entry { what: What::Line(line), .. } if line == "Loading…".as_bytes()));
    }

    #[test]
    fn what_is_no_trace_is_said_so() {
        assert_eq!(read("hello\n{}\n", None).err(), Some(Unreadable::NoTrace));
        assert!(read("{\"trace\":\"acp\",\"version\":1}\n", None).is_ok_and(|log| log.entries.is_empty()));
        assert_eq!(read(ASKED, None).err(), Some(Unreadable::NoTrace));
        let answer = format!("> {SAID}");
        assert_eq!(read(&answer, None).err(), Some(Unreadable::NoSides));
        assert!(read(&answer, Some(Side::Agent)).is_ok());
    }

    #[test]
    fn times_count_from_the_first() {
        let log = read(&format!("2026-01-31T23:59:59.500Z > {ASKED}\n2026-01-31T23:59:59.750Z < {SAID}"), None);
        let times: Vec<_> =
            log.map(|log| log.entries.iter().filter_map(|entry| entry.at).collect()).unwrap_or_default();
        assert_eq!(times, [0.0, 250.0]);
    }
}
