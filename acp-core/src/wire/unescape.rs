//! The text of a string: what its escapes stand for.

use alloc::{string::String, vec::Vec};
use core::{mem, str};

use super::special::{STRIDE, backslashes, block, letter};

/// Appends the text between the quotes of a well-formed string, decoded. `None`: it has a lone surrogate, which is no
/// character; `to` is as it was.
pub(super) fn unescape(raw: &[u8], to: &mut String) -> Option<()> {
    if !to.is_empty() {
        // What is there already is not looked at again.
        let mut text = String::new();
        unescape(raw, &mut text)?;
        to.push_str(&text);
        return Some(());
    }
    let mut bytes = mem::take(to).into_bytes();
    bytes.reserve(raw.len() + PIECE);
    let done = append(raw, &mut bytes);
    if done.is_none() {
        bytes.clear();
    }
    // As bytes and checked at the end: that costs less than to append characters.
    *to = String::from_utf8(bytes).ok()?;
    done
}

fn append(raw: &[u8], to: &mut Vec<u8>) -> Option<()> {
    // Where what is not yet appended begins, and where the search goes on.
    let (mut from, mut at) = (0, 0);
    while let Some(whole) = block::<STRIDE>(raw, at) {
        let mut left = backslashes(whole);
        while left != 0 {
            let place = at + left.trailing_zeros() as usize;
            from = match append_short(raw, from, place, to) {
                Some(behind) => behind,
                None => append_up_to(raw, from, place, to)?,
            };
            // What is behind the escape is still to be looked at.
            left &= if from - at < STRIDE { u64::MAX << (from - at) } else { 0 };
        }
        // An escape may end in the next block.
        at = from.max(at + STRIDE);
    }
    while let Some(found) = memchr::memchr(b'\\', raw.get(at..)?) {
        from = append_up_to(raw, from, at + found, to)?;
        at = from;
    }
    to.extend_from_slice(raw.get(from..)?);
    Some(())
}

/// Bytes that are copied at once.
const PIECE: usize = 32;

/// Appends what is plain and the escape behind it, and answers where that ends, if it is a short piece and an escape of
/// one letter, as most are. It copies more than that and takes it back: a copy of a known size is no call.
#[inline]
fn append_short(raw: &[u8], from: usize, backslash: usize, to: &mut Vec<u8>) -> Option<usize> {
    let length = backslash - from;
    let piece = (length < PIECE).then_some(block::<PIECE>(raw, from)?)?;
    let decoded = letter(*raw.get(backslash + 1)?)?;
    let end = to.len() + length;
    to.extend_from_slice(piece);
    *to.get_mut(end)? = decoded;
    to.truncate(end + 1);
    Some(backslash + 2)
}

/// The same for every piece and every escape.
#[inline(never)]
fn append_up_to(raw: &[u8], from: usize, backslash: usize, to: &mut Vec<u8>) -> Option<usize> {
    to.extend_from_slice(raw.get(from..backslash)?);
    if let Some(decoded) = letter(*raw.get(backslash + 1)?) {
        to.push(decoded);
        return Some(backslash + 2);
    }
    let (decoded, length) = unicode(raw.get(backslash..)?)?;
    to.extend_from_slice(decoded.encode_utf8(&mut [0; 4]).as_bytes());
    Some(backslash + length)
}

/// The character of an escape such as `\u00e9`, or of two that make a pair, and how long that is.
fn unicode(escape: &[u8]) -> Option<(char, usize)> {
    let unit = |at: usize| {
        let digits = escape.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
    };
    let first = unit(0)?;
    if let Some(alone) = char::from_u32(first.into()) {
        return Some((alone, 6));
    }
    let mut pair = char::decode_utf16([first, unit(6)?]);
    pair.next()?.ok().map(|both| (both, 12))
}

#[cfg(test)]
mod tests {
    use alloc::{format, string::String, vec::Vec};

    use proptest::prelude::*;

    use super::unescape;

    fn decoded(raw: &str) -> Option<String> {
        let (mut text, mut alone) = (String::from("before"), String::new());
        let done = unescape(raw.as_bytes(), &mut text);
        assert_eq!(unescape(raw.as_bytes(), &mut alone), done);
        assert_eq!(text.strip_prefix("before"), Some(&*alone));
        done.map(|()| alone)
    }

    fn expected(raw: &str) -> Option<String> {
        serde_json::from_str(&format!("\"{raw}\"")).ok()
    }

    #[test]
    fn every_escape_is_decoded_as_serde_decodes_it_in_every_place() {
        let escapes = [
            r#"\""#,
            r"\\",
            r"\/",
            r"\b",
            r"\f",
            r"\n",
            r"\r",
            r"\t",
            r"\u0000",
            r"\u00e9",
            r"\uD83D\uDE00",
            r"\ud83d",
            r"\ude00",
            r"\ud83dx",
            r"\ud83d\n",
            r"\ud83d\u0041",
            r"\uffff",
        ];
        for escape in escapes {
            for length in [0, 1, 50, 52, 58, 60, 62, 63, 64, 65, 127, 128, 200] {
                let raw = format!("{}{escape}{escape}{}", "ü".repeat(length / 2), "x".repeat(70));
                assert_eq!(decoded(&raw), expected(&raw), "{escape} behind {length}");
                let end = format!("{}{escape}", "x".repeat(length));
                assert_eq!(decoded(&end), expected(&end), "{escape} behind {length}");
            }
        }
    }

    proptest! {
        #[test]
        fn a_string_is_decoded_as_serde_decodes_it(
            pieces in prop::collection::vec(prop_oneof!["[^\"\\\\[:cntrl:]]{0,40}", r#"\\["\\/bfnrt]"#, r"\\u[0-9a-fA-F]{4}"], 0..10),
        ) {
            let raw = pieces.concat();
            prop_assert_eq!(decoded(&raw), expected(&raw));
            let text: Vec<_> = raw.chars().collect();
            let written = serde_json::to_string(&raw).unwrap();
            prop_assert_eq!(decoded(&written[1..written.len() - 1]), Some(text.iter().collect()));
        }
    }
}
