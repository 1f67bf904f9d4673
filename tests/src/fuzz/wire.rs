//! Bytes to lines, and lines to messages, each against a second reading that is as plain as can be.

use acp_core::wire::{Deframer, Framed, Id, Line, Malformed, Message, Payload, Shape, parse_line};
use bytes::Bytes;
use serde_json::value::RawValue;

use super::Decisions;

/// A stream, cut as the first bytes say, is split as it is when it comes in one piece, and at its line breaks.
///
/// # Panics
///
/// It is not.
pub fn deframer(data: &[u8]) {
    let mut decisions = Decisions(data);
    let limit = [1, 2, 3, 7, 16, 64, 1000][decisions.below(7)];
    let lengths: Vec<usize> = (0..=decisions.below(4)).map(|_| 1 + usize::from(decisions.byte())).collect();
    let stream = decisions.0;
    let (whole, cut) = (frames(limit, &[stream.len().max(1)], stream), frames(limit, &lengths, stream));
    assert_eq!(whole, cut, "limit {limit}, lengths {lengths:?}");

    let text = stream.strip_prefix(b"\xef\xbb\xbf").unwrap_or(stream);
    let mut plain: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    // What follows the last line break is a line only if it is something.
    plain.pop_if(|last| last.is_empty());
    assert_eq!(whole.len(), plain.len());
    for (framed, line) in whole.iter().zip(plain) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match framed {
            Framed::Line(framed) => assert!(framed == line && line.len() <= limit),
            Framed::TooLong(long) => {
                assert!(line.len() > limit && long.limit == limit);
                assert_eq!(long.size, line.len() as u64);
            }
        }
    }
}

fn frames(limit: usize, lengths: &[usize], mut stream: &[u8]) -> Vec<Framed> {
    let mut deframer = Deframer::new(limit);
    let mut frames = Vec::new();
    for length in lengths.iter().cycle() {
        if stream.is_empty() {
            break;
        }
        let (mut chunk, rest) = stream.split_at((*length).min(stream.len()));
        while let Some(framed) = deframer.next(&mut chunk) {
            frames.push(framed);
        }
        assert!(chunk.is_empty() && deframer.held() <= (limit + 1).max(16 << 10));
        stream = rest;
    }
    frames.extend(deframer.finish());
    assert_eq!((deframer.held(), deframer.finish()), (0, None));
    frames
}

/// How many messages a batch may have here.
const BATCH: usize = 3;

/// A line is read as `serde_json` reads it: the same verdict, and the same parts of the line.
///
/// # Panics
///
/// It is not.
pub fn envelope(data: &[u8]) {
    // Lines have no line breaks in them, and what terminals put in front is not JSON's business.
    let line: Vec<u8> = data.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r' | 0x1b)).collect();
    let line = Bytes::from(line);
    let read = parse_line(&line, BATCH);
    let Ok(text) = core::str::from_utf8(&line) else {
        return assert!(is_not_json(&read), "{read:?}");
    };
    if text.contains('\u{feff}') {
        return;
    }
    let text = text.trim_matches([' ', '\t']);
    let Ok(raw) = serde_json::from_str::<&RawValue>(text) else {
        return assert!(is_not_json(&read) || (text.is_empty() && read == Line::Blank), "{read:?}");
    };
    match text.as_bytes() {
        [b'[', ..] => {
            let elements: Vec<&RawValue> = serde_json::from_str(text).expect("an array");
            match (elements.len(), read) {
                (0, read) => assert_eq!(read, Line::EmptyBatch),
                (1..=BATCH, Line::Batch(messages)) => {
                    assert_eq!(messages.len(), elements.len());
                    messages.iter().zip(elements).for_each(|(message, raw)| same(message, raw, &line));
                }
                (count, read) => assert!(count > BATCH && read == Line::BatchTooLarge, "{read:?}"),
            }
        }
        _ => match read {
            Line::Message(message) => same(&message, raw, &line),
            other => panic!("{other:?}"),
        },
    }
}

fn is_not_json(line: &Line) -> bool {
    matches!(line, Line::Message(Message::Malformed(Malformed { shape: Shape::NotJson | Shape::Response, .. })))
}

/// The members that make an envelope, each with how often it is there.
#[derive(Default)]
struct Members<'a>([(usize, Option<&'a RawValue>); 6]);

const NAMES: [&[u8]; 6] = [b"jsonrpc", b"id", b"method", b"params", b"result", b"error"];

impl<'de: 'a, 'a> serde::Deserialize<'de> for Members<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Members::default();
                while let Some(Key(name)) = map.next_key()? {
                    let value: &RawValue = map.next_value()?;
                    if let Some(place) = NAMES.iter().position(|known| *known == name) {
                        let (count, latest) = &mut members.0[place];
                        (*count, *latest) = (*count + 1, Some(value));
                    }
                }
                Ok(members)
            }
        }
        from.deserialize_map(Visitor)
    }
}

/// A name, which need not be text: half a surrogate pair is JSON.
struct Key(Vec<u8>);

impl<'de> serde::Deserialize<'de> for Key {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Key;

            fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str("a name")
            }

            fn visit_str<E>(self, name: &str) -> Result<Key, E> {
                Ok(Key(name.as_bytes().to_vec()))
            }

            fn visit_bytes<E>(self, name: &[u8]) -> Result<Key, E> {
                Ok(Key(name.to_vec()))
            }
        }
        from.deserialize_bytes(Visitor)
    }
}

/// Whether this message is what `serde_json` finds there.
fn same(message: &Message, raw: &RawValue, line: &Bytes) {
    let Ok(Members([jsonrpc, id, method, params, result, error])) = serde_json::from_str::<Members<'_>>(raw.get())
    else {
        let nothing = matches!(message, Message::Malformed(malformed) if malformed.shape == Shape::Nothing);
        return assert!(nothing && !raw.get().starts_with('{'), "{message:?}: {raw}");
    };
    let there = |(count, _): (usize, Option<&RawValue>)| count > 0;
    let shape = match (there(method), there(result) || there(error)) {
        (true, true) => Shape::Hybrid,
        (true, false) => Shape::Call,
        (false, true) => Shape::Response,
        (false, false) if there(id) => Shape::Bare,
        (false, false) => Shape::Nothing,
    };
    let text = |(_, value): (usize, Option<&RawValue>)| serde_json::from_str::<String>(value?.get()).ok();
    let known = |value: &RawValue| Payload::parse(value.get().to_owned()).ok().as_ref().and_then(Id::parse);
    let of = id.1.filter(|_| id.0 == 1).and_then(known);
    let once = [jsonrpc, id, method, params, result, error].iter().all(|(count, _)| *count <= 1);
    let sound = once
        && text(jsonrpc).as_deref() == Some("2.0")
        && (of.is_some() || !there(id))
        && match shape {
            Shape::Call => {
                let object = |value: &RawValue| value.get() == "null" || value.get().starts_with(['{', '[']);
                text(method).is_some() && params.1.is_none_or(object)
            }
            Shape::Response => of.is_some() && there(result) != there(error),
            _ => false,
        };
    let span = |payload: &Payload, value: Option<&RawValue>| {
        let value = value.map_or("", RawValue::get);
        let inside = line.as_ptr_range().contains(&payload.as_bytes().as_ptr());
        assert!(payload.as_str() == value && inside, "{payload} of {raw}");
    };
    match message {
        Message::Malformed(malformed) => {
            // What is in an error is not looked at here.
            assert!(!sound || there(error), "{malformed:?}: {raw}");
            assert_eq!((malformed.shape, &malformed.id), (shape, &of), "{raw}");
        }
        Message::Request { id, method: name, params: read } => {
            assert!(sound && of.as_ref() == Some(id) && text(method).as_deref() == Some(name.as_str()), "{raw}");
            assert_eq!(read.is_some(), params.1.is_some_and(|value| value.get() != "null"));
            read.iter().for_each(|read| span(read, params.1));
        }
        Message::Notification { method: name, params: read } => {
            assert!(sound && of.is_none() && text(method).as_deref() == Some(name.as_str()), "{raw}");
            assert_eq!(read.is_some(), params.1.is_some_and(|value| value.get() != "null"));
            read.iter().for_each(|read| span(read, params.1));
        }
        Message::Response { id, answer } => {
            assert!(sound && of.as_ref() == Some(id) && answer.is_ok() == there(result), "{raw}");
            answer.iter().for_each(|answer| span(answer, result.1));
        }
    }
}
