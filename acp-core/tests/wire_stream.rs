//! Bytes to lines to messages: the same whatever the chunks are, within bounds whatever the bytes are.

use acp_core::wire::{Deframer, Framed, Id, Line, Oversized, OversizedShape, parse_line};
use bytes::Bytes;
use proptest::prelude::*;

/// What comes out, chunk by chunk, and at the end of the stream.
fn frames<'a>(limit: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Framed> {
    let mut deframer = Deframer::new(limit);
    let mut frames = Vec::new();
    for mut chunk in chunks {
        while let Some(framed) = deframer.next(&mut chunk) {
            frames.push(framed);
        }
        assert!(chunk.is_empty(), "`None` says that the input is used up");
        assert!(deframer.held() <= (limit + 1).max(16 << 10));
    }
    frames.extend(deframer.finish());
    assert_eq!((deframer.held(), deframer.finish()), (0, None), "the end is the end");
    frames
}

fn whole(limit: usize, stream: &[u8]) -> Vec<Framed> {
    frames(limit, [stream])
}

fn line(text: &'static str) -> Framed {
    Framed::Line(Bytes::from_static(text.as_bytes()))
}

/// Cuts `stream` into chunks of these lengths, round and round.
fn cut<'a>(mut stream: &'a [u8], lengths: &[usize]) -> Vec<&'a [u8]> {
    let mut chunks = Vec::new();
    for length in lengths.iter().cycle() {
        if stream.is_empty() {
            break;
        }
        let (chunk, rest) = stream.split_at((*length).min(stream.len()));
        chunks.push(chunk);
        stream = rest;
    }
    chunks
}

#[test]
fn a_stream_is_split_at_line_feeds() {
    for (stream, expected) in [
        ("", vec![]),
        ("a\nb\n", vec![line("a"), line("b")]),
        ("a\nb", vec![line("a"), line("b")]),
        ("\n\r\n \n", vec![line(""), line(""), line(" ")]),
        ("a\r\nb\r\r\nc\rd\r", vec![line("a"), line("b\r"), line("c\rd")]),
        ("✓\n", vec![line("✓")]),
        ("\u{feff}a\n\u{feff}b", vec![line("a"), line("\u{feff}b")]),
        ("\u{feff}\u{feff}a", vec![line("\u{feff}a")]),
        ("\u{feff}", vec![]),
        ("\u{feff}\n", vec![line("")]),
        // Begins like a byte order mark.
        ("\u{fee9}a", vec![line("\u{fee9}a")]),
    ] {
        assert_eq!(whole(9, stream.as_bytes()), expected, "{stream:?}");
        assert_eq!(frames(9, stream.as_bytes().chunks(1)), expected, "{stream:?}, byte by byte");
    }
    for stream in [&b"\xef"[..], b"\xef\xbb", b"\xef\xbb\n", b"\xef\xbbx"] {
        let expected = [Framed::Line(Bytes::copy_from_slice(stream.strip_suffix(b"\n").unwrap_or(stream)))];
        assert_eq!(whole(9, stream), expected);
        assert_eq!(frames(9, stream.chunks(1)), expected);
    }
}

#[test]
fn the_limit_counts_neither_the_line_break_nor_the_mark() {
    let is_long = |framed: &Framed| matches!(framed, Framed::TooLong(_));
    for (stream, long) in [
        ("12345\n", false),
        ("12345\r\n", false),
        ("12345", false),
        ("12345\r", false),
        ("\u{feff}12345\n", false),
        ("1234\r\r\n", false),
        ("123456\n", true),
        ("123456", true),
        ("12345\r\r\n", true),
        ("\u{feff}123456", true),
        ("12345\rx\n", true),
    ] {
        for frames in [whole(5, stream.as_bytes()), frames(5, stream.as_bytes().chunks(1))] {
            assert_eq!(frames.iter().map(is_long).collect::<Vec<_>>(), [long], "{stream:?}");
        }
    }
    // Nor does the size that is told.
    for (stream, size) in
        [("123456\r\n", 6), ("123456\r", 6), ("123456\n", 6), ("12345\r\r\n", 6), ("\u{feff}123456\r\n", 6)]
    {
        for frames in [whole(5, stream.as_bytes()), frames(5, stream.as_bytes().chunks(1))] {
            assert!(matches!(&frames[..], [Framed::TooLong(long)] if long.size == size), "{stream:?}: {frames:?}");
        }
    }
}

#[test]
fn the_limit_counts_what_only_began_like_a_mark() {
    for stream in [&b"\xef\xbb"[..], b"\xef\xbb\n", b"\xef\xbb\r"] {
        assert!(matches!(whole(1, stream)[..], [Framed::TooLong(_)]), "{stream:?}");
        assert!(matches!(whole(2, stream)[..], [Framed::Line(_)]), "{stream:?}");
    }
}

#[test]
fn the_line_after_one_that_is_too_long_is_read() {
    let request = format!("{{\"jsonrpc\":\"2.0\",\"params\":\"{}\",\"method\":\"x\",\"id\":7}}", "y".repeat(100));
    let frames = whole(50, format!("a\n{request}\nb\n").as_bytes());
    let [Framed::Line(a), Framed::TooLong(oversized), Framed::Line(b)] = &frames[..] else { panic!("{frames:?}") };
    assert_eq!((&a[..], &b[..]), (&b"a"[..], &b"b"[..]));
    let Oversized { size, limit, shape, id, .. } = oversized;
    assert_eq!((*size, *limit), (request.len() as u64, 50));
    assert_eq!((*shape, id), (OversizedShape::Request, &Some(Id::from(7))));
}

#[test]
fn a_line_of_256_mib_is_skipped_in_bounded_memory() {
    let mut deframer = Deframer::new(16 << 20);
    let chunk = [b'x'; 64 << 10];
    let mut most = 0;
    assert_eq!(deframer.next(&mut &br#"{"jsonrpc":"2.0","id":9,"result":""#[..]), None);
    for _ in 0..4096 {
        assert_eq!(deframer.next(&mut &chunk[..]), None);
        most = most.max(deframer.held());
    }
    assert!((15 << 20..=(16 << 20) + 1).contains(&most), "{most}");
    assert!(deframer.held() < 16 << 10, "not much is held once it is too long");
    let mut end = &b"\"}\nnext\n"[..];
    let Some(Framed::TooLong(oversized)) = deframer.next(&mut end) else { panic!() };
    assert_eq!((oversized.shape, oversized.id), (OversizedShape::Response, Some(Id::from(9))));
    assert_eq!(oversized.size, (256 << 20) + 36);
    assert_eq!(deframer.next(&mut end), Some(line("next")));
}

const TRAFFIC: &str = concat!(
    "\u{feff}",
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#,
    "\r\n\n",
    r#"{"jsonrpc":"2.0","id":"\u00e9✓","result":null}"#,
    "\nlog: starting\n",
    r#"[{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}},5,{"id":[1]}]"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"\ud800","data":[[[{}]]]}}"#,
    "\n \x1b[0m",
    r#"{"jsonrpc":"2.0","params":{"sessionId":"s","x":"a line over the limit a line over the limit"},"id":3,"method":"x"}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"_x"}"#,
);

#[test]
fn mixed_traffic_is_the_same_whole_and_byte_by_byte() {
    let expected = whole(100, TRAFFIC.as_bytes());
    assert_eq!(expected.len(), 8);
    assert_eq!(frames(100, TRAFFIC.as_bytes().chunks(1)), expected);
}

/// What `parse_line` says must not depend on anything but the line; and it must not panic.
fn read(framed: &Framed) -> Option<Line> {
    match framed {
        Framed::Line(line) => Some(parse_line(line, 2)),
        Framed::TooLong(_) => None,
    }
}

proptest! {
    #[test]
    fn chunks_never_matter(
        stream in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..200),
            proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'x'), Just(0xef), Just(0xbb), Just(0xbf)], 0..60),
            Just(TRAFFIC.as_bytes().to_vec()),
        ],
        lengths in proptest::collection::vec(1..40_usize, 1..8),
        limit in 0..120_usize,
    ) {
        let expected = whole(limit, &stream);
        prop_assert_eq!(&frames(limit, cut(&stream, &lengths)), &expected);
        // The state is the same as well, wherever one stops.
        let (mut at_once, mut in_parts) = (Deframer::new(limit), Deframer::new(limit));
        let mut rest = &stream[..];
        while at_once.next(&mut rest).is_some() {}
        for mut chunk in cut(&stream, &lengths) {
            while in_parts.next(&mut chunk).is_some() {}
        }
        prop_assert_eq!(at_once, in_parts);
    }

    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for framed in whole(100, &bytes) {
            read(&framed);
        }
        read(&Framed::Line(bytes.into()));
    }

    #[test]
    fn any_json_like_text_is_read(text in r#"[\[\]{}:,"\\u0-9a-fn \-.]{0,80}"#) {
        read(&Framed::Line(text.into_bytes().into()));
    }

    #[test]
    fn damaged_traffic_is_read(
        damage in proptest::collection::vec((0..TRAFFIC.len(), any::<u8>(), 0..3_u8), 1..12),
        limit in 20..200_usize,
    ) {
        let mut bytes = TRAFFIC.as_bytes().to_vec();
        for (at, byte, how) in damage {
            let at = at.min(bytes.len() - 1);
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => drop(bytes.remove(at)),
            }
        }
        for framed in whole(limit, &bytes) {
            read(&framed);
        }
    }
}
