//! What the scanner must learn, and what it must not believe. Every line is also fed in pieces.

use alloc::{format, string::String, vec, vec::Vec};

use super::{KEEP, Oversized, OversizedShape, OversizedShape::*, Scanner};

/// Feeds the line whole and in pieces of many sizes; all must agree.
fn scan(line: impl AsRef<[u8]>) -> Oversized {
    let line = line.as_ref();
    let in_pieces = |size: usize| {
        let mut scanner = Scanner::new(10);
        for piece in line.chunks(size.max(1)) {
            scanner.feed(piece);
            assert!(scanner.held() < 16 * 1024);
        }
        scanner.finish()
    };
    let whole = in_pieces(line.len());
    for size in [1, 2, 3, 5, 7, 64, 1000] {
        assert_eq!(in_pieces(size), whole, "pieces of {size}");
    }
    whole
}

fn shape(line: impl AsRef<[u8]>) -> OversizedShape {
    scan(line).shape
}

/// Shape, id, method and session, as text.
fn told(line: &str) -> (OversizedShape, Option<String>, Option<String>, Option<String>) {
    let Oversized { shape, id, method, session, .. } = scan(line);
    let id = id.map(|id| String::from_utf8(id.as_json().to_vec()).unwrap());
    (shape, id, method.map(|method| method.as_str().into()), session.map(Into::into))
}

#[test]
fn the_shape_follows_from_the_top_level_keys() {
    for (line, expected) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{}}"#, Request),
        (r#"{"params":[1,{"id":2}],"method":"a","id":1,"jsonrpc":"2.0"}"#, Request),
        (r#" { "jsonrpc" : "2.0" , "id" : 1 , "method" : "a" } "#, Request),
        (r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, Request),
        (r#"{"jsonrpc":"2.0","method":"a"}"#, Notification),
        (r#"{"jsonrpc":"2.0","method":"a","params":null}"#, Notification),
        (r#"{"jsonrpc":"2.0","method":"a","params":{"id":1,"result":2}}"#, Notification),
        (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, Response),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}"#, Response),
        (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#, Response),
        (r#"{"jsonrpc":"2.0","id":[1],"result":{}}"#, Response),
        (r#"{"jsonrpc":"2.0","result":{}}"#, Response),
        ("{}", Noise),
        (r#"{"jsonrpc":"2.0","id":1}"#, Noise),
        // It may be an answer, and those get none.
        (r#"{"jsonrpc":"2.0","id":1,"method":"a","result":1}"#, Response),
        (r#"{"jsonrpc":"2.0","method":"a","error":1}"#, Response),
    ] {
        assert_eq!(shape(line), expected, "{line}");
    }
}

#[test]
fn what_is_no_object_is_noise() {
    let good = r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#;
    for line in
        ["", "  ", "5", "null", "\"x\"", "log: {", "}", "{", "{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}"]
    {
        assert_eq!(shape(line), Noise, "{line}");
    }
    for line in
        [format!("[{good}]"), format!("{good}{good}"), format!("{good}]"), format!("{good},"), format!("x{good}")]
    {
        assert_eq!(shape(&line), Noise, "{line}");
    }
    let members = good.trim_matches(['{', '}']);
    for odd in [
        "",
        "x",
        "\"x\"",
        "\"x\":",
        "\"x\" 1",
        "\"x\":1{",
        "\"x\":1 2",
        "\"x\":,",
        "\"x\"::1",
        "x:1",
        "1:1",
        "\"x\":]",
        "\"x\":+1",
    ] {
        assert_eq!(shape(format!("{{{members},{odd}}}")), Noise, "{odd}");
        assert_eq!(shape(format!("{{{odd},{members}}}")), Noise, "{odd}");
    }
    for cut in 0..good.len() {
        assert_eq!(shape(&good[..cut]), Noise, "{}", &good[..cut]);
    }
}

#[test]
fn an_answer_is_known_as_soon_as_its_members_are() {
    let whole = r#"{"jsonrpc":"2.0","id":31,"result":{"id":7,"method":"a"},"x":1}"#;
    let known = whole.find(":{").unwrap();
    for cut in 0..whole.len() {
        let expected = if cut < known { (Noise, None) } else { (Response, Some("31".into())) };
        let (shape, id, ..) = told(&whole[..cut]);
        assert_eq!((shape, id), expected, "{}", &whole[..cut]);
    }
    for odd in [",", "x", ",\"x\"", "}", "]", ",,", ":1"] {
        let line = whole.replace(",\"x\":1", odd);
        assert_eq!(told(&line), (Response, Some("31".into()), None, None), "{line}");
    }
    // The id may have had more digits, or a second one to follow it.
    for line in [r#"{"result":{},"id":3"#, r#"{"result":{},"id":"3"#, r#"{"id":3,"result":{},"id""#] {
        assert_eq!(told(line), (Response, None, None, None), "{line}");
    }
}

#[test]
fn ids_methods_and_sessions_are_read_wherever_they_stand() {
    let told_all =
        |id: &str, method: &str, session: &str| (Request, Some(id.into()), Some(method.into()), Some(session.into()));
    let long = "x".repeat(100_000);
    for (line, expected) in [
        (
            format!(r#"{{"params":{{"text":"{long}","sessionId":"s"}},"id":"q","method":"session/prompt","jsonrpc":"2.0"}}"#),
            told_all("\"q\"", "session/prompt", "s"),
        ),
        (
            format!(r#"{{"jsonrpc":"2.0","method":"_x","id":-7,"params":{{"sessionId":"\u00e9\"","a":["{long}"]}}}}"#),
            told_all("-7", "_x", "é\""),
        ),
        (
            r#"{"\u006asonrpc":"2\u002e0","\u0069d":"\u0061","m\u0065thod":"a\/b","p\u0061rams":{"session\u0049d":"\n"}}"#
                .into(),
            told_all("\"\\u0061\"", "a/b", "\n"),
        ),
        (
            r#"{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"","params":{"sessionId":""}}"#.into(),
            told_all("123456789012345678901234567890", "", ""),
        ),
    ] {
        assert_eq!(told(&line), expected, "{}", &line[..60]);
    }
}

#[test]
fn nested_or_quoted_keys_cannot_impersonate() {
    for line in [
        r#"{"jsonrpc":"2.0","params":{"id":1,"result":{}},"method":"a"}"#,
        r#"{"jsonrpc":"2.0","x":{"id":1},"y":[{"id":1},"id"],"method":"a"}"#,
        r#"{"jsonrpc":"2.0","x":"\",\"id\":1,\"","method":"a"}"#,
        r#"{"jsonrpc":"2.0","x":"\\","method":"a","y":"id"}"#,
        r#"{"jsonrpc":"2.0","x":["]}\"",{"}":"{"}],"method":"a"}"#,
        r#"{"jsonrpc":"2.0"," id":1,"Id":2,"id\u0000":3,"\"id\"":4,"method":"a"}"#,
    ] {
        assert_eq!(told(line), (Notification, None, Some("a".into()), None), "{line}");
    }
    let result = r#"{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s","method":"a"}}"#;
    assert_eq!(told(result), (Response, Some("1".into()), None, None));
    for line in [
        r#"{"jsonrpc":"2.0","method":"a","sessionId":"s","params":{"x":{"sessionId":"s"},"y":["sessionId"]}}"#,
        r#"{"jsonrpc":"2.0","method":"a","params":[{"sessionId":"s"}]}"#,
        r#"{"jsonrpc":"2.0","method":"a","params":{},"x":{"sessionId":"s"}}"#,
        r#"{"jsonrpc":"2.0","method":"a","params":{"sessionId":1}}"#,
        r#"{"jsonrpc":"2.0","method":"a","params":null,"x":{"sessionId":"s","params":{"sessionId":"s"}}}"#,
        r#"{"jsonrpc":"2.0","method":"a","params":{"sessionId":"s","sessionId":"s"}}"#,
        r#"{"jsonrpc":"2.0","method":"a","params":{"sessionId":"a","sessionId":"b","sessionId":"c"}}"#,
    ] {
        assert_eq!(told(line), (Notification, None, Some("a".into()), None), "{line}");
    }
}

#[test]
fn what_comes_twice_is_not_told() {
    for (key, id, method) in [
        (r#""jsonrpc":"2.0""#, Some("1"), Some("a")),
        (r#""method":"a""#, Some("1"), None),
        (r#""params":{"sessionId":"s"}"#, Some("1"), Some("a")),
        (r#""id":1"#, None, None),
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{{"sessionId":"s"}},{key}}}"#);
        let (shape, told_id, told_method, session) = told(&line);
        assert_eq!(
            (shape == Request, told_id.as_deref(), told_method.as_deref()),
            (id.is_some(), id, method),
            "{line}"
        );
        assert_eq!(session.is_some(), id.is_some() && !key.contains("params"), "{line}");
        // Without an id nothing says that it is a notification.
        let without_id = line.replace(r#""id":1,"#, "");
        assert_eq!(self::shape(&without_id), if id.is_some() { Noise } else { Request }, "{line}");
    }
    for (line, expected) in [
        (r#"{"jsonrpc":"2.0","id":1,"result":1,"result":1}"#, Some("1".into())),
        (r#"{"jsonrpc":"2.0","id":1,"error":1,"error":1}"#, Some("1".into())),
        (r#"{"jsonrpc":"2.0","id":1,"\u0069d":2,"result":1}"#, None),
        (r#"{"jsonrpc":"2.0","id":1,"result":1,"id":2}"#, None),
    ] {
        assert_eq!(told(line), (Response, expected, None, None), "{line}");
    }
    assert_eq!(told(r#"{"jsonrpc":"2.0","id":1,"id":2}"#), (Noise, None, None, None));
    assert_eq!(shape(r#"{"jsonrpc":"2.0","method":"a","x":1,"x":2}"#), Notification);
}

#[test]
fn a_lone_id_is_kept_although_it_is_noise() {
    assert_eq!(told(r#"{"jsonrpc":"2.0","vendor":{},"id":3}"#), (Noise, Some("3".into()), None, None));
    assert_eq!(told(r#"{"jsonrpc":"2.0","id":3,"method":"a","result":1}"#), (Response, None, None, None));
}

#[test]
fn an_id_that_is_none_makes_a_request_noise() {
    for id in ["1.0", "1e3", "-0", "true", "{}", "[]", "[1]", "\"\u{1}\"", "01", "1x", "nul", "\"\\x\""] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"a"}}"#);
        assert_eq!(told(&line), (Noise, None, None, None), "{line}");
    }
}

#[test]
fn a_broken_call_is_still_answered_under_its_id() {
    for line in [
        r#"{"id":1,"method":"a"}"#,
        r#"{"jsonrpc":"1.0","id":1,"method":"a"}"#,
        r#"{"jsonrpc":2.0,"id":1,"method":"a"}"#,
        r#"{"jsonrpc":["2.0"],"id":1,"method":"a"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":["a"]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"a","params":"text"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"a","params":1}"#,
    ] {
        let (shape, id, ..) = told(line);
        assert_eq!((shape, id), (Request, Some("1".into())), "{line}");
        // Without an id nothing says that it is a notification.
        let line = line.replace(r#""id":1,"#, "");
        assert_eq!(told(&line), (Noise, None, None, None), "{line}");
    }
}

#[test]
fn ids_and_methods_are_kept_up_to_their_bound() {
    let quoted = |len: usize| format!("\"{}\"", "x".repeat(len - 2));
    let line = |id: &str, method: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method}}}"#);
    let (most, over) = (quoted(KEEP), quoted(KEEP + 1));
    let method: String = most.trim_matches('"').into();
    assert_eq!(told(&line(&most, &most)), (Request, Some(most.clone()), Some(method), None));
    assert_eq!(told(&line("1", &over)), (Request, Some("1".into()), None, None));
    assert_eq!(told(&line(&over, "\"a\"")), (Noise, None, None, None));
    assert_eq!(shape(line("1", &over).replace(r#""id":1,"#, "")), Notification);
    let long_digits = "1".repeat(KEEP + 1);
    assert_eq!(shape(line(&long_digits, "\"a\"")), Noise);
    assert_eq!(shape(line(&long_digits[1..], "\"a\"")), Request);
    let session = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{{"sessionId":{over}}}}}"#);
    assert_eq!(told(&session), (Request, Some("1".into()), Some("a".into()), None));
}

#[test]
fn what_stands_in_front_of_the_brace_is_passed_over() {
    let good = r#"{"jsonrpc":"2.0","method":"a"}"#;
    for lead in [
        " \t\r",
        "\u{feff}",
        "\u{feff} \u{feff}",
        "\u{1b}[0m",
        "\u{1b}[2K\u{1b}[?25l\u{1b}[1;31m ",
        "\u{1b}[ q",
        "\u{1b}[",
        "\u{1b}]0;a title {\u{7}",
        "\u{1b}]8;;x\u{1b}\\",
        "\u{1b}]0;cut short\u{1b}[0m",
        "\u{1b}P1$r0m\u{1b}\\",
        "\u{1b}c\u{1b}(B\u{1b}=",
        "\u{1b}",
        "\u{1b}\u{feff}",
    ] {
        assert_eq!(shape(format!("{lead}{good}\r")), Notification, "{lead:?}");
    }
    for lead in [&b"\xEF"[..], b"\xEF\xBB", b"\xBB", b"\xEF\xBF", b"\x1b[\x07", b"\x1b]0;", b"\x07", b"x", b"\x1b\xE2"]
    {
        assert_eq!(shape([lead, good.as_bytes()].concat()), Noise, "{lead:?}");
    }
}

#[test]
fn a_huge_line_is_skipped_in_bounded_memory() {
    let mut scanner = Scanner::new(16 << 20);
    let mut size = 0_u64;
    let mut feed = |scanner: &mut Scanner, bytes: &[u8]| {
        scanner.feed(bytes);
        size += bytes.len() as u64;
        assert!(scanner.held() < 16 * 1024);
    };
    feed(&mut scanner, br#"{"id":"q","params":{"a":""#);
    let piece = vec![b'x'; 64 << 10];
    for _ in 0..(128 << 20) / piece.len() {
        feed(&mut scanner, &piece);
    }
    feed(&mut scanner, br#"","b":"#);
    let open = vec![b'['; 64 << 10];
    for _ in 0..16 {
        feed(&mut scanner, &open);
    }
    let close: Vec<u8> = vec![b']'; 64 << 10];
    for _ in 0..16 {
        feed(&mut scanner, &close);
    }
    feed(&mut scanner, br#"},"method":""#);
    feed(&mut scanner, &piece);
    feed(&mut scanner, br#"","jsonrpc":"2.0"}"#);
    let told = scanner.finish();
    assert_eq!((told.shape, told.size, told.limit, told.method), (Request, size, 16 << 20, None));
    assert_eq!(told.id.unwrap().as_json(), b"\"q\"");
}
