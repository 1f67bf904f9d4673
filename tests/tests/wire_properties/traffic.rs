//! What a peer may send: arbitrary bytes, and good traffic with damage in it.

use proptest::prelude::*;

/// Lines of either end, good and bad, most of them short.
const LINES: &[&str] = &[
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}"#,
    r#"{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s1","prompt":[]}}"#,
    r#"{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"hi"}]}}"#,
    r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}"#,
    r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"q"}}"#,
    r#"{"jsonrpc":"2.0","id":"q","method":"_ext","params":{"sessionId":"s1","deep":[[[[{}]]]]}}"#,
    r#"{"jsonrpc":"2.0","id":null,"method":"_ext"}"#,
    r#"{"jsonrpc":"2.0","id":"\u0061","method":"session\/list","params":{}}"#,
    r#"{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"no/such"}"#,
    r#"{"jsonrpc":"2.0","id":8,"method":"session/load","params":{"sessionId":"s2","cwd":"/","mcpServers":[]}}"#,
    r#"{"jsonrpc":"2.0","id":9,"method":"session/close","params":{"sessionId":"s1"}}"#,
    r#"{"jsonrpc":"2.0","id":"r","method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"t"},"options":[{"optionId":"a","name":"A","kind":"allow_once"}]}}"#,
    r#"{"jsonrpc":"2.0","id":10,"method":"fs/read_text_file","params":{"sessionId":"s1","path":"/a"}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"é✓\u2028"}}}}"#,
    r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s7","update":{"sessionUpdate":"novel","x":1e400}}}"#,
    r#"{"jsonrpc":"2.0","method":"_note","params":[1,"\ud800"]}"#,
    r#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#,
    r#"{"jsonrpc":"2.0","id":4,"result":null}"#,
    r#"{"jsonrpc":"2.0","id":5,"result":{"sessionId":"s7"}}"#,
    r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32603,"message":"m","data":[]}}"#,
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}"#,
    r#"{"jsonrpc":"2.0","id":1.5,"method":"_ext"}"#,
    r#"{"jsonrpc":"2.0","id":6}"#,
    r#"{"jsonrpc":"2.0","id":6,"method":"_ext","result":{}}"#,
    r#"{"jsonrpc":"2.0","id":6,"id":7,"method":"_ext"}"#,
    r#"[{"jsonrpc":"2.0","id":11,"method":"_ext"},{"jsonrpc":"2.0","method":"_note"},5,{"jsonrpc":"2.0","id":12,"method":"nope"}]"#,
    "[]",
    "log: starting",
    "",
    "\u{1b}[0m \u{feff}{\"jsonrpc\":\"2.0\",\"method\":\"_note\"}\r",
];

/// One line without its line break: good, bad or arbitrary.
pub(crate) fn line() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(LINES);
    let no_break = |mut bytes: Vec<u8>| {
        bytes.retain(|byte| *byte != b'\n');
        bytes
    };
    prop_oneof![
        8 => known.clone().prop_map(|line| line.as_bytes().to_vec()),
        4 => (known, prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..6))
            .prop_map(move |(line, damage)| no_break(damaged(line.as_bytes(), &damage))),
        1 => (0..3000_usize).prop_map(|fill| {
            let text = "y".repeat(fill);
            format!(r#"{{"params":{{"t":"{text}"}},"id":"long","method":"_ext","jsonrpc":"2.0"}}"#).into_bytes()
        }),
        1 => (0..3000_usize)
            .prop_map(|fill| format!(r#"{{"jsonrpc":"2.0","id":3,"result":"{}"}}"#, "y".repeat(fill)).into_bytes()),
        2 => prop::collection::vec(any::<u8>(), 0..60).prop_map(no_break),
        2 => r#"[\[\]{}:,"\\u0-9a-fn \-.]{0,60}"#.prop_map(String::into_bytes),
    ]
}

fn damaged(line: &[u8], damage: &[(prop::sample::Index, u8, u8)]) -> Vec<u8> {
    const LIKELY: &[u8] = b"{}[]\",:\\ 01x\x1b\xff";
    let mut bytes = line.to_vec();
    for (at, byte, how) in damage {
        let at = at.index(bytes.len() + 1).min(bytes.len().saturating_sub(1));
        let likely = LIKELY[usize::from(*byte) % LIKELY.len()];
        match how {
            _ if bytes.is_empty() => bytes.push(*byte),
            0 => bytes[at] = *byte,
            1 => bytes[at] = likely,
            2 => bytes.insert(at, likely),
            _ => drop(bytes.drain(at..(at + usize::from(*byte) % 8).min(bytes.len()))),
        }
    }
    bytes
}

/// Many lines, one after another.
pub(crate) fn stream(lines: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(line(), lines).prop_map(|lines| lines.join(&b'\n'))
}

/// Cuts `bytes` into pieces of these lengths, round and round.
pub(crate) fn cut<'a>(mut bytes: &'a [u8], lengths: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for length in lengths.iter().cycle() {
        if bytes.is_empty() {
            break;
        }
        let (piece, rest) = bytes.split_at((*length).min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}
