//! A line that is too long to keep is taken for what it would be if it were kept: two readers, one opinion.

use acp_core::wire::{
    Deframer, Framed, Id, Line, Malformed, Message, MethodName, Oversized, OversizedShape, Shape, parse_line,
};
use bytes::Bytes;
use proptest::prelude::*;

/// What is learned of `line` when no line may have any bytes.
fn scan(line: &[u8], chunk: usize) -> Oversized {
    let mut deframer = Deframer::new(0);
    let mut framed = Vec::new();
    for mut part in line.chunks(chunk) {
        while let Some(one) = deframer.next(&mut part) {
            framed.push(one);
        }
    }
    framed.extend(deframer.finish());
    match <[Framed; 1]>::try_from(framed) {
        Ok([Framed::TooLong(told)]) => told,
        other => panic!("one oversized line, not {other:?}"),
    }
}

/// What should be learned, by the parser that keeps the line.
fn expected(line: &[u8]) -> Option<(OversizedShape, Option<Id>, Option<MethodName>)> {
    Some(match parse_line(&Bytes::copy_from_slice(line), 10) {
        Line::Message(Message::Request { id, method, .. }) => (OversizedShape::Request, Some(id), Some(method)),
        Line::Message(Message::Notification { method, .. }) => (OversizedShape::Notification, None, Some(method)),
        Line::Message(Message::Response { id, .. }) => (OversizedShape::Response, Some(id), None),
        Line::Message(Message::Malformed(Malformed { shape, id, .. })) => match shape {
            // The scanner does not check what it skips.
            Shape::NotJson => return None,
            Shape::Call if id.is_some() => (OversizedShape::Request, id, None),
            Shape::Response => (OversizedShape::Response, id, None),
            Shape::Bare => (OversizedShape::Noise, id, None),
            Shape::Hybrid => (OversizedShape::Response, None, None),
            Shape::Call | Shape::Nothing => (OversizedShape::Noise, None, None),
        },
        Line::Blank | Line::Batch(_) | Line::EmptyBatch | Line::BatchTooLarge => (OversizedShape::Noise, None, None),
    })
}

fn agree(line: &[u8], chunk: usize) -> Result<(), TestCaseError> {
    let told = scan(line, chunk);
    prop_assert_eq!(told.limit, 0);
    if let Some((shape, id, method)) = expected(line) {
        prop_assert_eq!((told.shape, &told.id), (shape, &id));
        // Of a call that is broken elsewhere the scanner may know the method.
        prop_assert!(told.method == method || method.is_none(), "{:?} and {:?}", told.method, method);
    }
    if let Line::Message(Message::Request { params, .. } | Message::Notification { params, .. }) =
        parse_line(&Bytes::copy_from_slice(line), 10)
    {
        let params: Option<serde_json::Value> = params.and_then(|params| params.get().ok());
        let session = params.as_ref().and_then(|params| params.get("sessionId")?.as_str());
        prop_assert_eq!(told.session.as_deref(), session);
    }
    Ok(())
}

fn key() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        r#""jsonrpc""#,
        r#""id""#,
        r#""method""#,
        r#""params""#,
        r#""result""#,
        r#""error""#,
        r#""\u0069d""#,
        r#""m\u0065thod""#,
        r#""Id""#,
        r#""x""#,
        r#""\ud800""#,
    ])
}

fn value() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        r#""2.0""#,
        r#""2\u002e0""#,
        r#""1.0""#,
        "1",
        "-7",
        "1.5",
        "-0",
        "null",
        "true",
        r#""a""#,
        r#""session\/prompt""#,
        r#""\ud800""#,
        "{}",
        "[]",
        r#"{"id":1,"method":"a","sessionId":"s"}"#,
        r#"{"x":{"sessionId":"no"},"sess\u0069onId":"\u0073"}"#,
        r#"{"code":1,"message":"m"}"#,
        r#"["}",{"a":"]"},[[]]]"#,
        r#""\",\"id\":2,\"""#,
        "1e400",
    ])
}

/// Members as they should be, each of which may be replaced, doubled or left out.
fn envelope() -> impl Strategy<Value = String> {
    let good = prop::sample::subsequence(
        vec![
            r#""jsonrpc":"2.0""#,
            r#""id":1"#,
            r#""method":"a""#,
            r#""params":{"sessionId":"s"}"#,
            r#""result":{}"#,
            r#""error":{"code":1,"message":"m"}"#,
        ],
        0..=6,
    );
    let odd = prop::collection::vec((key(), value()).prop_map(|(key, value)| format!("{key} : {value}")), 0..3);
    let lead = prop::sample::select(vec![
        "",
        " ",
        "\x1b[0m",
        "\x1b]0;t\x07",
        "\x1b(B",
        "\x1b[",
        "[",
        "x",
        "\u{feff} \u{feff}",
    ]);
    (lead, good, odd, prop::sample::select(vec![",", " ,\t"]))
        .prop_flat_map(|(lead, good, odd, comma)| {
            let all: Vec<String> = good.into_iter().map(String::from).chain(odd).collect();
            (Just(lead), Just(all).prop_shuffle(), Just(comma))
        })
        .prop_map(|(lead, all, comma)| format!("{lead}{{{}}}", all.join(comma)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn both_readers_agree_about_an_envelope(line in envelope(), chunk in 1_usize..80) {
        agree(line.as_bytes(), chunk)?;
    }

    #[test]
    fn both_readers_agree_about_a_broken_envelope(
        line in envelope(),
        at in any::<prop::sample::Index>(),
        byte in prop::sample::select(&b"{}[]\",:\\ 0nx\x1b\r\xff"[..]),
        chunk in 1_usize..80,
    ) {
        let mut line = line.into_bytes();
        let at = at.index(line.len());
        line[at] = byte;
        agree(&line, chunk)?;
        prop_assert_eq!(scan(&line, chunk), scan(&line, line.len()));
    }

    #[test]
    fn any_bytes_tell_something(mut line in prop::collection::vec(any::<u8>(), 1..200), chunk in 1_usize..80) {
        line.retain(|byte| *byte != b'\n');
        line.push(b'x');
        agree(&line, chunk)?;
        prop_assert_eq!(scan(&line, chunk), scan(&line, line.len()));
    }
}

#[test]
fn a_number_that_white_space_ends_is_whole_though_the_line_is_cut_off() {
    for (line, id) in [("{\"result\":{},\"id\":1\r", Some(Id::from(1))), ("{\"result\":{},\"id\":1", None)] {
        assert_eq!(scan(line.as_bytes(), 1).id, id, "{line:?}");
        assert_eq!(expected(line.as_bytes()), Some((OversizedShape::Response, id, None)), "{line:?}");
    }
}
