//! Reads the members of one JSON object without a tree.
//!
//! What serde derives is not good enough for text of a peer: it takes an array for a struct (by position), it fails the
//! whole object for a key it cannot decode, and it maps `null` to "absent". Here an object is an object, every key
//! counts by its decoded text, and every value stays as it came.

use alloc::{borrow::Cow, string::String};

use super::scan::Walk;

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
