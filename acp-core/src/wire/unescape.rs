//! The text of a string: what its escapes stand for.

use alloc::{string::String, vec::Vec};
use core::{mem, str};

use super::special::{STRIDE, backslashes, block};

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
    bytes.reserve(raw.len());
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
        let start = at;
        at += STRIDE;
        while left != 0 {
            let place = start + left.trailing_zeros() as usize;
            from = append_up_to(raw, from, place, to)?;
            match u32::try_from(from - start) {
                // What is behind the escape is still to be looked at.
                Ok(behind) if behind < u64::BITS => left &= u64::MAX << behind,
                _ => {
                    at = from;
                    break;
                }
            }
        }
    }
    // A block may have been left in the middle of what it was.
    at = at.max(from);
    while let Some(found) = memchr::memchr(b'\\', raw.get(at..)?) {
        from = append_up_to(raw, from, at + found, to)?;
        at = from;
    }
    to.extend_from_slice(raw.get(from..)?);
    Some(())
}

/// Appends what is plain, and the escape behind it. Answers where the escape ends.
#[inline]
fn append_up_to(raw: &[u8], from: usize, backslash: usize, to: &mut Vec<u8>) -> Option<usize> {
    to.extend_from_slice(raw.get(from..backslash)?);
    to.push(match *raw.get(backslash + 1)? {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 0x08,
        b'f' => 0x0C,
        b'u' => {
            let (decoded, length) = unicode(raw.get(backslash..)?)?;
            to.extend_from_slice(decoded.encode_utf8(&mut [0; 4]).as_bytes());
            return Some(backslash + length);
        }
        // A quote, a backslash or a slash stand for themselves.
        itself => itself,
    });
    Some(backslash + 2)
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
