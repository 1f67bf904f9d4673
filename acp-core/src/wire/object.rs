//! Reads the members of one JSON object without a tree.
//!
//! What serde derives is not good enough for text of a peer: it takes an array for a struct (by position), it fails the
//! whole object for a key it cannot decode, and it maps `null` to "absent". Here an object is an object, every key
//! counts by its decoded text, and every value stays as it came.

use alloc::{borrow::Cow, string::String};

use super::{scan::Walk, special};

/// Calls `each` with every member of the object `text`, in order: the decoded key, and the text of the value. `None`:
/// `text` is not exactly one JSON object.
///
/// A key that does not decode (a lone surrogate) is given as it stands, quotes included: no name anybody looks for begins
/// with a quote.
pub(super) fn members<'a>(text: &'a str, each: impl FnMut(&str, &'a str)) -> Option<()> {
    let mut walk = Walk::new(text);
    walk.members(each)?;
    walk.is_over().then_some(())
}

/// The text of a JSON string, decoded; borrowed when it has no escapes. `None`: not a string, or it does not decode.
pub(super) fn string(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str::<String>(raw).ok().map(Cow::Owned)
}

/// Appends the text between the quotes of a well-formed string, decoded. `None`: it does not decode; `to` is as it was.
pub(super) fn unescape(raw: &str, to: &mut String) -> Option<()> {
    let before = to.len();
    to.reserve(raw.len());
    let mut rest = raw;
    while let Some((plain, escape)) = split_at_backslash(rest) {
        to.push_str(plain);
        let mut escape_ends = 2;
        let decoded = match escape.as_bytes().get(1)? {
            b'b' => '\x08',
            b'f' => '\x0c',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => match unescape_unicode(escape) {
                Some((decoded, length)) => {
                    escape_ends = length;
                    decoded
                }
                None => {
                    to.truncate(before);
                    return None;
                }
            },
            // A quote, a backslash or a slash stand for themselves.
            itself => char::from(*itself),
        };
        to.push(decoded);
        rest = escape.get(escape_ends..)?;
    }
    to.push_str(rest);
    Some(())
}

fn split_at_backslash(text: &str) -> Option<(&str, &str)> {
    text.split_at_checked(special::backslash(text.as_bytes())?)
}

/// The character of an escape such as `\u00e9`, or of two that make a pair, and how long that is.
fn unescape_unicode(escape: &str) -> Option<(char, usize)> {
    let unit = |at: usize| {
        let digits = escape.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
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
    use alloc::{borrow::ToOwned, string::String, vec::Vec};

    use super::{members, string};

    fn read(text: &str) -> Option<Vec<(String, String)>> {
        let mut seen = Vec::new();
        members(text, |key, value| seen.push((key.to_owned(), value.to_owned())))?;
        Some(seen)
    }

    #[test]
    fn keys_are_decoded_and_values_kept() {
        for (text, expected) in [
            ("{}", &[][..]),
            (" { } ", &[]),
            (r#"{"a":null}"#, &[("a", "null")]),
            (r#"{"\u0069d" : 1.0 , "id":"\ud800"}"#, &[("id", "1.0"), ("id", r#""\ud800""#)]),
            (r#"{"\ud800":1e400}"#, &[(r#""\ud800""#, "1e400")]),
            (r#"{"a":{"b":[1, 2]},"":0}"#, &[("a", r#"{"b":[1, 2]}"#), ("", "0")]),
        ] {
            let expected: Vec<_> = expected.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            assert_eq!(read(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn only_one_whole_object_is_an_object() {
        for text in ["", "[]", "1", "null", "{", "{}{}", r#"{"a"}"#, r#"{"a":}"#, r#"{a:1}"#, r#"{1:1}"#, r#"{"a":1,}"#]
        {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn strings_decode_or_are_none() {
        assert_eq!(string(r#""a/b""#).as_deref(), Some("a/b"));
        assert_eq!(string(r#""a\/b\u0041""#).as_deref(), Some("a/bA"));
        for raw in [r#""\ud800""#, "1", "null", "\"", "{}"] {
            assert_eq!(string(raw), None, "{raw}");
        }
    }
}
