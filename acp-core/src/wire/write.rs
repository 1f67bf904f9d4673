//! Messages to lines: compact, and never with a raw line break inside, because a [`Payload`] has none.

use core::fmt::Write as _;

use bytes::BytesMut;

use super::{error_object::ErrorObject, id::Id, payload::Payload};

/// What a line needs besides the method and the payload: names, quotes, and an id of 20 digits.
const ENVELOPE: usize = 80;

/// Appends a request of ours, with its line break.
pub(crate) fn write_request(out: &mut BytesMut, id: u64, method: &str, params: Option<&Payload>) {
    out.reserve(ENVELOPE + method.len() + params.map_or(0, Payload::len));
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    write_number(out, id);
    out.extend_from_slice(br#","method":"#);
    write_rest_of_call(out, method, params);
}

/// Appends a notification, with its line break.
pub(crate) fn write_notification(out: &mut BytesMut, method: &str, params: Option<&Payload>) {
    out.reserve(ENVELOPE + method.len() + params.map_or(0, Payload::len));
    out.extend_from_slice(br#"{"jsonrpc":"2.0","method":"#);
    write_rest_of_call(out, method, params);
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
        Err(ErrorObject { code, message, data }) => {
            out.extend_from_slice(br#","error":{"code":"#);
            write_number(out, code);
            out.extend_from_slice(br#","message":"#);
            write_string(out, message);
            if let Some(data) = data {
                out.extend_from_slice(br#","data":"#);
                out.extend_from_slice(data.as_bytes());
            }
            out.extend_from_slice(b"}");
        }
    }
    out.extend_from_slice(b"}");
}

fn write_number(out: &mut BytesMut, number: impl core::fmt::Display) {
    // It fails only when memory has no more addresses.
    let _ = write!(out, "{number}");
}

fn write_string(out: &mut BytesMut, text: &str) {
    if text.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
        // A string always has a form in JSON.
        out.extend_from_slice(&serde_json::to_vec(text).unwrap_or_else(|_| b"\"\"".to_vec()));
    } else {
        out.extend_from_slice(b"\"");
        out.extend_from_slice(text.as_bytes());
        out.extend_from_slice(b"\"");
    }
}

#[cfg(test)]
mod tests {
    use alloc::{boxed::Box, string::String};
    use core::error::Error;

    use bytes::{Bytes, BytesMut};

    use super::{write_answer, write_notification, write_request};
    use crate::wire::{ErrorObject, Id, Line, Message, MethodName, Payload, parse_line};

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
                line(|out| write_request(out, u64::MAX, "x/y", Some(&params))),
                "{\"jsonrpc\":\"2.0\",\"id\":18446744073709551615,\"method\":\"x/y\",\"params\":{\"a\":[1,2]}}\n",
            ),
            (line(|out| write_request(out, 1, "x", None)), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}\n"),
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
    fn what_is_written_reads_the_same() {
        let params = Some(Payload::EMPTY);
        for name in ["session/prompt", "_x\"\n\u{7f}ü\0", ""] {
            let method = MethodName::new(name);
            let request = line(|out| write_request(out, 7, name, params.as_ref()));
            let expected = Message::Request { id: Id::from(7), method, params: params.clone() };
            assert_eq!(parse_line(&request, 1), Line::Message(expected), "{name:?}");
        }
        let error = ErrorObject::new(i64::MIN, "\u{2028}\\").with_data(Payload::EMPTY);
        let answer = line(|out| write_answer(out, &Id::from(7), Err(&error)));
        let expected = Message::Response { id: Id::from(7), answer: Err(error) };
        assert_eq!(parse_line(&answer, 1), Line::Message(expected));
    }
}
