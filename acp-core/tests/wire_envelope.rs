//! One line to one message: every rule of the envelope, as a table.

use acp_core::wire::{ErrorObject, Id, Line, Malformed, Message, MethodName, Payload, Shape, parse_line};
use bytes::Bytes;

fn parse(line: impl Into<Bytes>) -> Line {
    parse_line(&line.into(), 3)
}

fn id(text: &'static str) -> Id {
    Id::parse(&payload(text)).unwrap()
}

fn payload(text: &'static str) -> Payload {
    Payload::parse(text).unwrap()
}

fn request(of: &'static str, method: &str, params: Option<&'static str>) -> Message {
    Message::Request { id: id(of), method: MethodName::new(method), params: params.map(payload) }
}

fn notification(method: &str, params: Option<&'static str>) -> Message {
    Message::Notification { method: MethodName::new(method), params: params.map(payload) }
}

fn response(of: &'static str, answer: Result<&'static str, ErrorObject>) -> Message {
    Message::Response { id: id(of), answer: answer.map(payload) }
}

#[test]
fn well_formed_messages() {
    for (line, expected) in [
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{}}"#,
            request("1", "session/prompt", Some("{}")),
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#, request("1", "x", None)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x","params":null}"#, request("1", "x", None)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}"#, request("1", "x", Some("[1]"))),
        (r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, request("null", "x", None)),
        (r#"{"jsonrpc":"2.0","id":"q","method":""}"#, request(r#""q""#, "", None)),
        (r#"{"jsonrpc":"2.0","method":"x"}"#, notification("x", None)),
        (
            r#"{"params":{"id":1,"result":2},"method":"x","jsonrpc":"2.0"}"#,
            notification("x", Some(r#"{"id":1,"result":2}"#)),
        ),
        (r#"{"jsonrpc":"2.0","method":"session\/list"}"#, notification("session/list", None)),
        (r#"{"jsonrpc":"2\u002e0","\u0069d":7,"m\u0065thod":"x"}"#, request("7", "x", None)),
        (r#"{"jsonrpc":"2.0","method":"x","_meta":1,"ID":2,"\ud800":3}"#, notification("x", None)),
        (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, response("1", Ok("null"))),
        (r#"{"jsonrpc":"2.0","id":1,"result":false,"params":1}"#, response("1", Ok("false"))),
        (
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m","data":[]}}"#,
            response("null", Err(ErrorObject::new(-1, "m").with_data(payload("[]")))),
        ),
        (" \t{ \"jsonrpc\" : \"2.0\" , \"method\" : \"x\" } \r\n", notification("x", None)),
        ("\u{feff}\x1b[0m\x1b]0;t\x07{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", notification("x", None)),
        ("{\"jsonrpc\":\"2.0\",\n\"method\":\"x\",\"params\":[1,\r\n2]}", notification("x", Some("[1,2]"))),
    ] {
        assert_eq!(parse(line), Line::Message(expected), "{line}");
    }
}

#[test]
fn malformed_messages_tell_what_they_look_like() {
    use Shape::{Bare, Call, Hybrid, NotJson, Nothing, Response};
    for (line, shape, of) in [
        // Not JSON.
        ("{bad", NotJson, None),
        ("{\"jsonrpc\":\"2.0\",\"method\":\"x\"}}", NotJson, None),
        ("log: {}", NotJson, None),
        ("\x1b]0;no end {\"jsonrpc\":\"2.0\",\"method\":\"x\"}", NotJson, None),
        ("[1,", NotJson, None),
        ("{\"method\":\"a\rb\"}", NotJson, None),
        // JSON, but no object.
        ("5", Nothing, None),
        ("\"{}\"", Nothing, None),
        ("{}", Nothing, None),
        (r#"{"jsonrpc":"2.0","params":{}}"#, Nothing, None),
        // The version.
        (r#"{"id":1,"method":"x"}"#, Call, Some("1")),
        (r#"{"jsonrpc":2.0,"id":1,"method":"x"}"#, Call, Some("1")),
        (r#"{"jsonrpc":"1.0","id":1,"result":1}"#, Response, Some("1")),
        (r#"{"method":"x"}"#, Call, None),
        // The id.
        (r#"{"jsonrpc":"2.0","id":1.0,"method":"x"}"#, Call, None),
        (r#"{"jsonrpc":"2.0","id":-0,"method":"x"}"#, Call, None),
        (r#"{"jsonrpc":"2.0","id":true,"method":"x"}"#, Call, None),
        (r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#, Call, None),
        (r#"{"jsonrpc":"2.0","id":[1],"result":1}"#, Response, None),
        (r#"{"jsonrpc":"2.0","result":1}"#, Response, None),
        // The method, and its parameters.
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, Call, Some("1")),
        (r#"{"jsonrpc":"2.0","id":1,"method":null}"#, Call, Some("1")),
        (r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#, Call, Some("1")),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x","params":1}"#, Call, Some("1")),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x","params":"{}"}"#, Call, Some("1")),
        (r#"{"jsonrpc":"2.0","method":"x","params":false}"#, Call, None),
        // Neither, or both.
        (r#"{"jsonrpc":"2.0","id":1}"#, Bare, Some("1")),
        (r#"{"id":[]}"#, Bare, None),
        (r#"{"jsonrpc":"2.0","id":5,"method":"x","result":1}"#, Hybrid, Some("5")),
        (r#"{"jsonrpc":"2.0","id":5,"method":"x","error":null}"#, Hybrid, Some("5")),
        (r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}}"#, Response, Some("1")),
        // The error.
        (r#"{"jsonrpc":"2.0","id":1,"error":null}"#, Response, Some("1")),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":"E1","message":"m"}}"#, Response, Some("1")),
        (r#"{"jsonrpc":"2.0","id":1,"error":[1,"m"]}"#, Response, Some("1")),
        // Twice.
        (r#"{"jsonrpc":"2.0","id":1,"method":"x","id":2}"#, Call, None),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x","\u0069d":1}"#, Call, None),
        (r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"x"}"#, Call, Some("1")),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x","method":"x"}"#, Call, Some("1")),
        (r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{},"params":{}}"#, Call, Some("1")),
        (r#"{"jsonrpc":"2.0","id":1,"result":1,"result":1}"#, Response, Some("1")),
        (r#"{"jsonrpc":"2.0","id":1,"error":1,"error":1}"#, Response, Some("1")),
    ] {
        let Line::Message(Message::Malformed(malformed)) = parse(line) else { panic!("{line}: {:?}", parse(line)) };
        assert_eq!((malformed.shape, malformed.id), (shape, of.map(id)), "{line}");
        assert!(!malformed.why.is_empty());
    }
}

#[test]
fn a_line_that_is_not_utf8_is_not_json() {
    let line = parse(&b"\xff\xfe"[..]);
    assert!(matches!(line, Line::Message(Message::Malformed(Malformed { shape: Shape::NotJson, id: None, .. }))));
}

#[test]
fn an_array_is_a_batch_of_messages_that_spoil_each_other_not() {
    let nothing = |message: &Message| matches!(message, Message::Malformed(m) if m.shape == Shape::Nothing);
    let good = r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#;

    let Line::Batch(messages) = parse(format!(" [ {good} , 5,{{\"id\":2}}]\r")) else { panic!() };
    assert_eq!(messages[0], request("1", "x", None));
    assert!(nothing(&messages[1]));
    assert!(matches!(&messages[2], Message::Malformed(m) if m.shape == Shape::Bare && m.id == Some(Id::from(2))));
    assert_eq!(messages.len(), 3);

    // By position, an array could pass for an envelope.
    let Line::Batch(messages) = parse(r#"[["2.0",7,"initialize",{}],[]]"#) else { panic!() };
    assert!(messages.len() == 2 && messages.iter().all(nothing));

    for (line, expected) in [("[]", Line::EmptyBatch), (" [ ] ", Line::EmptyBatch), ("[1,2,3,4]", Line::BatchTooLarge)]
    {
        assert_eq!(parse(line), expected, "{line}");
    }
    for line in ["[1", "[1,]", "[1]]", "[1] 2", "[1,2,3,4,"] {
        assert!(matches!(parse(line), Line::Message(Message::Malformed(m)) if m.shape == Shape::NotJson), "{line}");
    }
}

#[test]
fn blank_lines_are_blank() {
    for line in ["", " ", "\r", "\n", " \t\r\n", "\u{feff}", "\x1b[0m"] {
        assert_eq!(parse(line), Line::Blank, "{line:?}");
    }
}

#[test]
fn what_nobody_reads_may_be_anything() {
    let brackets = ["[".repeat(1_000_000), "]".repeat(1_000_000)].concat();
    for params in [brackets.as_str(), r#"{"a":1e400,"b":"\ud800","\udfff":-0}"#] {
        let line = Bytes::from(format!(r#"{{"jsonrpc":"2.0","method":"x","params":{params}}}"#));
        let Line::Message(Message::Notification { params: Some(read), .. }) = parse(line.clone()) else { panic!() };
        assert_eq!(read.as_str(), params);
        assert_eq!(read.as_bytes().as_ptr(), line[line.len() - params.len() - 1..].as_ptr(), "a slice, not a copy");
    }
    // The same where a message should stand.
    assert!(matches!(parse(brackets), Line::Batch(messages) if messages.len() == 1));
}

#[test]
fn a_large_batch_is_not_read() {
    let line = Bytes::from(format!("[{}1]", "1,".repeat(9)));
    assert_eq!(parse_line(&line, 9), Line::BatchTooLarge);
    assert!(matches!(parse_line(&line, 10), Line::Batch(messages) if messages.len() == 10));
    assert_eq!(parse_line(&Bytes::from_static(b"[1]"), 0), Line::BatchTooLarge);
}
