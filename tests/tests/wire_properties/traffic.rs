//! What a peer may send: arbitrary bytes, and good traffic with damage in it.

use acp_tests::fuzz::LINES;
use proptest::prelude::*;

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
