//! Messages to lines: compact, and never with a raw line break inside, because a [`Payload`] has none.

use bytes::BytesMut;

use super::{
    error_object::ErrorObject,
    id::Id,
    open_enum::UpdateKind,
    payload::Payload,
    special::{STRIDE, bits, block, find},
    update,
};

/// What a line needs besides the method and the payload: names, quotes, and an id of 20 digits.
const ENVELOPE: usize = 80;

/// What a request is sent with: an object, and a session whose id is put in front of its members.
#[derive(Clone, Copy)]
pub(crate) struct Params<'a> {
    pub(crate) session: Option<&'a str>,
    pub(crate) object: Option<&'a Payload>,
}

impl<'a> From<Option<&'a Payload>> for Params<'a> {
    fn from(object: Option<&'a Payload>) -> Self {
        Self { session: None, object }
    }
}

/// Appends a request of ours, with its line break.
pub(crate) fn write_request(out: &mut BytesMut, id: u64, method: &str, params: Params<'_>) {
    let Params { session, object } = params;
    out.reserve(ENVELOPE + method.len() + session.map_or(0, str::len) + object.map_or(0, Payload::len));
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    write_number(out, id);
    out.extend_from_slice(br#","method":"#);
    match (session, object.and_then(members)) {
        (Some(session), Some(members)) => {
            write_string(out, method);
            out.extend_from_slice(br#","params":"#);
            write_with_session(out, session, members);
            out.extend_from_slice(b"}\n");
        }
        _ => write_rest_of_call(out, method, object),
    }
}

/// Appends a notification, with its line break.
pub(crate) fn write_notification(out: &mut BytesMut, method: &str, params: Option<&Payload>) {
    out.reserve(ENVELOPE + method.len() + params.map_or(0, Payload::len));
    out.extend_from_slice(br#"{"jsonrpc":"2.0","method":"#);
    write_rest_of_call(out, method, params);
}

/// Appends a `session/update`, with its line break: the update is the host's.
pub(crate) fn write_update(out: &mut BytesMut, session: &str, update: &Payload) {
    out.reserve(ENVELOPE + session.len() + update.len());
    write_session(out, session);
    out.extend_from_slice(update.as_bytes());
    out.extend_from_slice(b"}}\n");
}

/// Appends a `session/update` whose update is a chunk of text, with its line break.
///
/// `message`: the number of the message it belongs to, which version 2 wants to know.
pub(crate) fn write_chunk(out: &mut BytesMut, session: &str, kind: &UpdateKind, message: Option<u64>, text: &str) {
    // With room for some escapes.
    out.reserve(2 * ENVELOPE + session.len() + kind.as_str().len() + text.len() + text.len() / 8);
    write_session(out, session);
    out.extend_from_slice(update::KIND.as_bytes());
    match kind {
        UpdateKind::Unknown(kind) => write_text(out, kind),
        // The names of ACP have nothing to escape.
        known => out.extend_from_slice(known.as_str().as_bytes()),
    }
    if let Some(message) = message {
        out.extend_from_slice(br#"","messageId":"reply-"#);
        write_number(out, message);
    }
    out.extend_from_slice(update::TEXT.as_bytes());
    write_text(out, text);
    out.extend_from_slice(b"\"}}}}\n");
}

/// What comes before the update.
fn write_session(out: &mut BytesMut, session: &str) {
    out.extend_from_slice(update::HEAD.as_bytes());
    write_text(out, session);
    out.extend_from_slice(update::UPDATE.as_bytes());
}

/// The member `sessionId` of params, and more behind it.
pub(crate) fn session_member(session: &str, more: &[u8]) -> BytesMut {
    let mut out = BytesMut::with_capacity(ENVELOPE + session.len() + more.len());
    out.extend_from_slice(br#""sessionId":"#);
    write_string(&mut out, session);
    out.extend_from_slice(more);
    out
}

/// Puts `sessionId` in front of the members of an object. `None`: it is not an object. Nobody looks whether it has one.
pub(crate) fn with_session(session: &str, object: &Payload) -> Option<Payload> {
    let mut out = BytesMut::with_capacity(ENVELOPE + session.len() + object.len());
    write_with_session(&mut out, session, members(object)?);
    Some(Payload::from_trusted(out.freeze()))
}

/// What is between the braces of an object.
fn members(object: &Payload) -> Option<&[u8]> {
    Some(object.as_bytes().strip_prefix(b"{")?.strip_suffix(b"}")?.trim_ascii())
}

fn write_with_session(out: &mut BytesMut, session: &str, members: &[u8]) {
    out.extend_from_slice(br#"{"sessionId":"#);
    write_string(out, session);
    if !members.is_empty() {
        out.extend_from_slice(b",");
        out.extend_from_slice(members);
    }
    out.extend_from_slice(b"}");
}

/// JSON that is known up to one text in it.
pub(super) fn around_text(before: &str, text: &str, behind: &str) -> Payload {
    let mut out = BytesMut::with_capacity(before.len() + text.len() + behind.len());
    out.extend_from_slice(before.as_bytes());
    write_text(&mut out, text);
    out.extend_from_slice(behind.as_bytes());
    Payload::from_trusted(out.freeze())
}

fn write_rest_of_call(out: &mut BytesMut, method: &str, params: Option<&Payload>) {
    write_string(out, method);
    if let Some(params) = params {
        out.extend_from_slice(br#","params":"#);
        out.extend_from_slice(params.as_bytes());
    }
    out.extend_from_slice(b"}\n");
}

/// Appends an answer, without a line break: a batch joins several.
pub(crate) fn write_answer(out: &mut BytesMut, id: &Id, answer: Result<&Payload, &ErrorObject>) {
    let payload = match answer {
        Ok(result) => result.len(),
        Err(error) => error.message.len() + error.data.as_ref().map_or(0, Payload::len),
    };
    out.reserve(ENVELOPE + id.as_json().len() + payload);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.as_json());
    match answer {
        Ok(result) => {
            out.extend_from_slice(br#","result":"#);
            out.extend_from_slice(result.as_bytes());
        }
        Err(error) => {
            out.extend_from_slice(br#","error":"#);
            write_error(out, error);
        }
    }
    out.extend_from_slice(b"}");
}

/// Appends an error object.
pub(super) fn write_error(out: &mut BytesMut, ErrorObject { code, message, data }: &ErrorObject) {
    out.extend_from_slice(br#"{"code":"#);
    if *code < 0 {
        out.extend_from_slice(b"-");
    }
    write_number(out, code.unsigned_abs());
    out.extend_from_slice(br#","message":"#);
    write_string(out, message);
    if let Some(data) = data {
        out.extend_from_slice(br#","data":"#);
        out.extend_from_slice(data.as_bytes());
    }
    out.extend_from_slice(b"}");
}

/// By hand, since `fmt` costs more than the rest of a short line.
fn write_number(out: &mut BytesMut, number: u64) {
    // Room for 20 digits.
    let mut digits = [0; 20];
    let mut rest = number;
    let mut count = 0;
    for digit in digits.iter_mut().rev() {
        // A remainder of ten fits.
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
        count += 1;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(digits.len() - count..).unwrap_or_default());
}

pub(super) fn write_string(out: &mut BytesMut, text: &str) {
    out.extend_from_slice(b"\"");
    write_text(out, text);
    out.extend_from_slice(b"\"");
}

/// Appends what stands between the quotes of a string, as `serde_json` writes it.
///
/// By hand, because it is what sending costs: serde looks at every byte by itself, here a block is one look.
fn write_text(out: &mut BytesMut, text: &str) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(whole) = block::<STRIDE>(bytes, at) {
        at += STRIDE;
        let mut left = bits(whole);
        if left == 0 {
            out.extend_from_slice(whole);
            continue;
        }
        let mut rest = &whole[..];
        let mut done = 0;
        while left != 0 {
            let place = left.trailing_zeros() as usize;
            left &= left - 1;
            if let Some((plain, [special, behind @ ..])) = rest.split_at_checked(place - done) {
                out.extend_from_slice(plain);
                write_escape(out, *special);
                rest = behind;
                done = place + 1;
            }
        }
        out.extend_from_slice(rest);
    }
    while let Some(rest) = bytes.get(at..) {
        let end = find(bytes, at);
        out.extend_from_slice(rest.get(..end - at).unwrap_or_default());
        let Some(special) = bytes.get(end) else { break };
        write_escape(out, *special);
        at = end + 1;
    }
}

fn write_escape(out: &mut BytesMut, byte: u8) {
    out.extend_from_slice(match byte {
        b'"' => b"\\\"",
        b'\\' => b"\\\\",
        b'\n' => b"\\n",
        b'\r' => b"\\r",
        b'\t' => b"\\t",
        0x08 => b"\\b",
        0x0C => b"\\f",
        _ => {
            let digit = |value: u8| if value < 10 { b'0' + value } else { b'a' + value - 10 };
            return out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 0xF)]);
        }
    });
}

#[cfg(test)]
mod tests {
    use alloc::{boxed::Box, string::String};
    use core::error::Error;

    use bytes::{Bytes, BytesMut};

    use proptest::prelude::*;

    use super::{
        Params, with_session, write_answer, write_chunk, write_notification, write_request, write_string, write_update,
    };
    use crate::wire::{ErrorObject, Id, Line, Message, MethodName, Payload, UpdateKind, parse_line};

    fn line(write: impl FnOnce(&mut BytesMut)) -> Bytes {
        let mut out = BytesMut::new();
        write(&mut out);
        out.freeze()
    }

    #[test]
    fn every_message_is_one_line() -> Result<(), Box<dyn Error>> {
        let params = Payload::parse(&b"{\"a\":[1,\r\n2]}"[..])?;
        let id = Payload::parse(r#""\u0061""#).map(|raw| Id::parse(&raw))?.ok_or("an id")?;
        let error = ErrorObject::new(-5, "a\nb");
        for (written, expected) in [
            (
                line(|out| write_request(out, u64::MAX, "x/y", Some(&params).into())),
                "{\"jsonrpc\":\"2.0\",\"id\":18446744073709551615,\"method\":\"x/y\",\"params\":{\"a\":[1,2]}}\n",
            ),
            (line(|out| write_request(out, 1, "x", None.into())), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}\n"),
            (
                line(|out| write_notification(out, "ü", Some(&Payload::NULL))),
                "{\"jsonrpc\":\"2.0\",\"method\":\"ü\",\"params\":null}\n",
            ),
            (
                line(|out| write_notification(out, "a\n\"\\", None)),
                "{\"jsonrpc\":\"2.0\",\"method\":\"a\\n\\\"\\\\\"}\n",
            ),
            (
                line(|out| write_answer(out, &id, Ok(&Payload::NULL))),
                "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0061\",\"result\":null}",
            ),
            (
                line(|out| write_answer(out, &Id::NULL, Err(&error.clone().with_data(Payload::EMPTY)))),
                "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-5,\"message\":\"a\\nb\",\"data\":{}}}",
            ),
        ] {
            assert_eq!(String::from_utf8(written.to_vec())?, expected);
        }
        Ok(())
    }

    #[test]
    fn a_session_is_put_in_front_of_the_members() -> Result<(), Box<dyn Error>> {
        for (object, expected) in [
            ("{}", r#"{"sessionId":"a\"b"}"#),
            ("{ }", r#"{"sessionId":"a\"b"}"#),
            (r#"{ "x":1 }"#, r#"{"sessionId":"a\"b","x":1}"#),
        ] {
            let object = Payload::parse(object)?;
            let params = Params { session: Some("a\"b"), object: Some(&object) };
            let line = line(|out| write_request(out, 1, "x", params));
            let expected_line = [r#"{"jsonrpc":"2.0","id":1,"method":"x","params":"#, expected, "}\n"].concat();
            assert_eq!(String::from_utf8(line.to_vec())?, expected_line);
            assert_eq!(with_session("a\"b", &object).ok_or("an object")?.as_str(), expected);
        }
        assert_eq!(with_session("a", &Payload::NULL), None);
        Ok(())
    }

    #[test]
    fn what_is_written_reads_the_same() {
        let params = Some(Payload::EMPTY);
        for name in ["session/prompt", "_x\"\n\u{7f}ü\0", ""] {
            let method = MethodName::new(name);
            let request = line(|out| write_request(out, 7, name, params.as_ref().into()));
            let expected = Message::Request { id: Id::from(7), method, params: params.clone() };
            assert_eq!(parse_line(&request, 1), Line::Message(expected), "{name:?}");
        }
        let error = ErrorObject::new(i64::MIN, "\u{2028}\\").with_data(Payload::EMPTY);
        let answer = line(|out| write_answer(out, &Id::from(7), Err(&error)));
        let expected = Message::Response { id: Id::from(7), answer: Err(error) };
        assert_eq!(parse_line(&answer, 1), Line::Message(expected));
    }

    #[test]
    fn every_character_is_written_as_serde_writes_it_in_every_place() {
        for character in (0..=0x100).chain([0x2028, 0xD7FF, 0x10_FFFF]).filter_map(char::from_u32) {
            for length in [0, 1, 15, 63, 64, 65, 130] {
                let text = [&"x".repeat(length), &*String::from(character).repeat(2), "y"].concat();
                let written = line(|out| write_string(out, &text));
                assert_eq!(written, serde_json::to_vec(&text).unwrap(), "{character:?} at {length}");
            }
        }
    }

    proptest! {
        #[test]
        fn a_string_is_written_as_serde_writes_it(pieces in prop::collection::vec("[ -~]{0,40}|\\PC{0,3}|[\0-\x20\"\\\\]{0,3}", 0..8)) {
            let text = pieces.concat();
            prop_assert_eq!(&line(|out| write_string(out, &text))[..], &serde_json::to_vec(&text).unwrap()[..]);
        }

        #[test]
        fn a_chunk_of_text_is_the_same_update_as_one_made_of_a_value(session in any::<String>(), kind in any::<String>(), text in any::<String>()) {
            let update = serde_json::json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } });
            let whole = line(|out| write_update(out, &session, &Payload::try_from(update.clone()).unwrap()));
            let chunk = line(|out| write_chunk(out, &session, &UpdateKind::from(&*kind), None, &text));
            let value = |line: &Bytes| serde_json::from_slice::<serde_json::Value>(line).unwrap();
            prop_assert_eq!(value(&chunk), value(&whole));
            let params = serde_json::json!({ "sessionId": session, "update": update });
            prop_assert_eq!(value(&chunk), serde_json::json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }));
            prop_assert_eq!(chunk.last(), Some(&b'\n'));
        }
    }
}
