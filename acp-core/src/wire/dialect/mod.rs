//! The few fields the core reads of what passes through, one module for each version of the protocol.
//!
//! All of it is lenient: what cannot be read counts as not there, and never fails its neighbours. A member that comes
//! twice cannot be read, since the host's parser may take the other one. No tree is built. A payload has been checked
//! already, so what is not asked for is jumped over, not parsed a second time: the text of a chunk is most of its bytes.

mod capabilities;
pub(crate) mod v1;
pub(crate) mod v2;

use alloc::borrow::Cow;
use core::str;

use super::{
    object::string,
    special::{BLOCK, block, first},
};

pub use capabilities::Capabilities;

/// The versions of the protocol that are spoken here: what differs between them is said in this directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Version {
    V1,
    V2,
}

impl Version {
    /// All there are.
    pub(crate) const KNOWN: [u16; 2] = [1, 2];

    /// Its number.
    pub(crate) const fn number(self) -> u16 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }

    /// The one that an agreed or an offered number stands for: an offer of a later one has the shape of the newest.
    pub(crate) const fn of(number: u16) -> Self {
        if number >= 2 { Self::V2 } else { Self::V1 }
    }
}

/// The values of the members of these names, each as its text. `None` in place of one that is missing or comes twice; all
/// of them if `json` is not an object.
pub(super) fn fields<'a, const N: usize>(json: &'a [u8], names: [&str; N]) -> [Option<&'a [u8]>; N] {
    found(members(json), &names)
}

/// The same for every element of an array, in one pass over it.
fn fields_of_elements<'a, const N: usize>(
    json: &'a [u8],
    names: [&str; N],
) -> impl Iterator<Item = [Option<&'a [u8]>; N]> {
    let mut rest = Rest(json.strip_prefix(b"[").unwrap_or_default());
    core::iter::from_fn(move || {
        if !rest.enter_object() {
            return rest.value().map(|_| [None; N]);
        }
        let fields = found(core::iter::from_fn(|| Some((rest.value()?, rest.value()?))), &names);
        rest.leave_object();
        Some(fields)
    })
}

fn found<'a, const N: usize>(
    members: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    names: &[&str; N],
) -> [Option<&'a [u8]>; N] {
    let mut found = [Field::Missing; N];
    for (key, value) in members {
        if let Some(field) = position(key, names).and_then(|index| found.get_mut(index)) {
            *field = match field {
                Field::Missing => Field::Once(value),
                Field::Once(_) | Field::Twice => Field::Twice,
            };
        }
    }
    found.map(|field| match field {
        Field::Once(value) => Some(value),
        Field::Missing | Field::Twice => None,
    })
}

#[derive(Clone, Copy)]
enum Field<'a> {
    Missing,
    Once(&'a [u8]),
    Twice,
}

/// Which of the names this key is, the text of a string.
fn position(key: &[u8], names: &[&str]) -> Option<usize> {
    let plain = key.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let found = names.iter().position(|name| name.as_bytes() == plain);
    if found.is_some() || !plain.contains(&b'\\') {
        return found;
    }
    let decoded = text(key)?;
    names.iter().position(|name| *name == decoded)
}

/// The string that this value is, if it is one and decodes.
fn text(value: &[u8]) -> Option<Cow<'_, str>> {
    string(str::from_utf8(value).ok()?)
}

/// The members of an object, key and value as text. None if it is not an object.
fn members(json: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let inner = json.strip_prefix(b"{").unwrap_or_default();
    let mut rest = Rest(inner);
    core::iter::from_fn(move || Some((rest.value()?, rest.value()?)))
}

/// The elements of an array, as text. None if it is not an array.
pub(super) fn elements(json: &[u8]) -> Elements<'_> {
    Elements(Rest(json.strip_prefix(b"[").unwrap_or_default()))
}

/// See [`elements`].
#[derive(Clone, Debug)]
pub(super) struct Elements<'a>(Rest<'a>);

impl<'a> Iterator for Elements<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.0.value()
    }
}

/// What is left of well-formed JSON between the brackets of an object or array.
///
/// Of anything else it yields some slices of it, and ends.
#[derive(Clone, Debug)]
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    /// What is left, from the next key, value or bracket on.
    fn next(&self) -> Option<&'a [u8]> {
        let start = self.0.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',' | b':'))?;
        self.0.get(start..)
    }

    /// Whether the next value is an object, of which the members are next then.
    fn enter_object(&mut self) -> bool {
        let inner = self.next().and_then(|text| text.strip_prefix(b"{"));
        self.0 = inner.unwrap_or(self.0);
        inner.is_some()
    }

    /// What follows behind its end.
    fn leave_object(&mut self) {
        self.0 = self.next().and_then(|text| text.strip_prefix(b"}")).unwrap_or_default();
    }

    /// The next key or value.
    fn value(&mut self) -> Option<&'a [u8]> {
        let text = self.next()?;
        let (value, rest) = text.split_at_checked(end_of_value(text))?;
        self.0 = rest;
        (!value.is_empty()).then_some(value)
    }
}

/// Where the value ends that this text begins with; 0 for a closing bracket.
fn end_of_value(text: &[u8]) -> usize {
    match text.first() {
        Some(b'"') => end_of_string(text, 0),
        Some(b'{' | b'[') => end_of_brackets(text),
        _ => {
            let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n');
            text.iter().position(ends).unwrap_or(text.len())
        }
    }
}

/// Where the string ends whose quote is at `start`.
fn end_of_string(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    // Names and ids are short, and a call costs more than those.
    if let Some(block) = block(text, at) {
        let plain = first(block).unwrap_or(BLOCK);
        match text.get(at + plain) {
            Some(b'"') => return at + plain + 1,
            Some(b'\\') => at += plain + 2,
            _ => at += plain,
        }
    }
    while let Some(rest) = text.get(at..) {
        match memchr::memchr2(b'"', b'\\', rest) {
            Some(found) if rest.get(found) == Some(&b'"') => return at + found + 1,
            Some(found) => at += found + 2,
            None => break,
        }
    }
    text.len()
}

/// Where the object or array ends that this text begins with. Counts, so no depth is too deep.
fn end_of_brackets(text: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                at = end_of_string(text, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    text.len()
}

/// `sessionUpdate` of an update, if that can be seen [`at_a_glance`].
fn kind_at_a_glance(update: &[u8]) -> Option<&[u8]> {
    at_a_glance(update, "sessionUpdate")
}

/// The text of this member of an object, if it is the first member or the last, as nearly every writer has the one that
/// names a kind, and has no escapes. It costs no walk over the object, and does not tell whether the member comes twice.
pub(super) fn at_a_glance<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let name = name.as_bytes();
    let first = || object.strip_prefix(b"{\"")?.strip_prefix(name)?.strip_prefix(b"\":\"");
    let text = match first() {
        Some(rest) => rest.get(..memchr::memchr(b'"', rest)?)?,
        None => {
            let rest = object.strip_suffix(b"\"}")?;
            let (before, text) = rest.split_at_checked(memchr::memrchr(b'"', rest)? + 1)?;
            // In a string, there would be a backslash before the quote.
            let before = before.strip_suffix(b"\":\"")?.strip_suffix(name)?.strip_suffix(b"\"")?;
            before.ends_with(b",").then_some(text)?
        }
    };
    (!text.contains(&b'\\')).then_some(text)
}

#[cfg(test)]
mod tests {
    use alloc::{format, string::String, vec, vec::Vec};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_kind_of_an_update_is_seen_at_a_glance_where_it_is_first_or_last() {
        for (update, kind) in [
            (r#"{"sessionUpdate":"plan","entries":[]}"#, Some("plan")),
            (r#"{"sessionUpdate":"plan"}"#, Some("plan")),
            (r#"{"content":{"text":"a \"b\""},"sessionUpdate":"plan"}"#, Some("plan")),
            (r#"{"a":{"sessionUpdate":"plan"}}"#, None),
            (r#"{"a":"\"sessionUpdate\":\"plan"}"#, None),
            (r#"{"a":1,"sessionUpdate":"pl\u0061n"}"#, None),
            (r#"{"sessionUpdate":"pl\u0061n","a":1}"#, None),
            (r#"{"a":1,"b\"sessionUpdate":"plan"}"#, None),
            (r#"{"a":",\"sessionUpdate\":\"plan"}"#, None),
            (r#"{"a":1,"sessionUpdate":"plan","b":"c"}"#, None),
            ("{}", None),
        ] {
            assert_eq!(kind_at_a_glance(update.as_bytes()), kind.map(str::as_bytes), "{update}");
        }
    }

    fn pairs(json: &str) -> Vec<(&str, &str)> {
        members(json.as_bytes())
            .map(|(key, value)| (str::from_utf8(key).unwrap(), str::from_utf8(value).unwrap()))
            .collect()
    }

    #[test]
    fn members_are_found_between_any_white_space() {
        for (json, expected) in [
            ("{}", vec![]),
            ("{ }", vec![]),
            (r#"{"a":1}"#, vec![("\"a\"", "1")]),
            (r#"{ "a" : -1.5e3 , "b" : null }"#, vec![("\"a\"", "-1.5e3"), ("\"b\"", "null")]),
            (r#"{"a":"}\"{\\","b":"\\"}"#, vec![("\"a\"", r#""}\"{\\""#), ("\"b\"", r#""\\""#)]),
            (r#"{"a":[1,{"b":"]"}],"c":{}}"#, vec![("\"a\"", r#"[1,{"b":"]"}]"#), ("\"c\"", "{}")]),
            (r#"{"a:,":true}"#, vec![("\"a:,\"", "true")]),
            ("[1,2]", vec![]),
            ("null", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(pairs(json), expected, "{json}");
        }
    }

    #[test]
    fn a_field_counts_by_its_decoded_name_and_once() {
        let get =
            |json: &'static str| fields(json.as_bytes(), ["id", "x"]).map(|v| v.map(|v| str::from_utf8(v).unwrap()));
        assert_eq!(get(r#"{"id":1}"#), [Some("1"), None]);
        assert_eq!(get(r#"{"x":null,"\u0069d":1}"#), [Some("1"), Some("null")]);
        assert_eq!(get(r#"{"id":1,"\u0069d":1,"x":2}"#), [None, Some("2")]);
        assert_eq!(get(r#"{"id":1,"id":1,"id":1}"#), [None, None]);
        assert_eq!(get(r#"{"a":{"id":1},"b":"\"id\":1","\ud800":1,"id ":1}"#), [None, None]);
        assert_eq!(get(r#"["id",1]"#), [None, None]);
    }

    #[test]
    fn no_depth_is_too_deep() {
        let json = format!("{{\"a\":{}{},\"id\":1}}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        assert_eq!(fields(json.as_bytes(), ["id"]), [Some(&b"1"[..])]);
    }

    /// Any JSON, with white space in every place where it may be.
    fn json() -> impl Strategy<Value = String> {
        let text = prop_oneof!["[a-z\"\\\\{}\\[\\],: é]{0,8}"].prop_map(|text| serde_json::to_string(&text).unwrap());
        let leaf = prop_oneof![Just("null".into()), any::<i64>().prop_map(|n| format!("{n}")), text.clone()];
        leaf.prop_recursive(4, 32, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(|all| format!("[ {} ]", all.join(" ,\t"))),
                prop::collection::vec((text.clone(), inner), 0..5).prop_map(|all| {
                    let all: Vec<_> = all.into_iter().map(|(key, value)| format!("{key} : {value}")).collect();
                    format!("{{{} }}", all.join(", "))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn walking_agrees_with_parsing(json in json()) {
            let mut expected = Vec::new();
            let is_object = super::super::object::members(&json, |_, value| expected.push(value)).is_some();
            let found: Vec<_> = pairs(&json).into_iter().map(|(_, value)| value).collect();
            prop_assert_eq!(is_object, json.starts_with('{'));
            if is_object {
                prop_assert_eq!(found, expected);
            } else {
                prop_assert_eq!(found.len(), 0);
                let all: Vec<&serde_json::value::RawValue> = serde_json::from_str(&json).unwrap_or_default();
                let all: Vec<_> = all.into_iter().map(|raw| raw.get().as_bytes()).collect();
                prop_assert_eq!(elements(json.as_bytes()).collect::<Vec<_>>(), all);
                let names = ["a", "", "b"];
                let expected: Vec<_> = elements(json.as_bytes()).map(|element| fields(element, names)).collect();
                prop_assert_eq!(fields_of_elements(json.as_bytes(), names).collect::<Vec<_>>(), expected);
            }
        }

        #[test]
        fn what_is_not_json_ends_all_the_same(bytes in prop::collection::vec(any::<u8>(), 0..64), open in any::<bool>()) {
            let mut bytes = bytes;
            bytes.insert(0, if open { b'{' } else { b'[' });
            prop_assert!(members(&bytes).count() + elements(&bytes).count() <= bytes.len());
            prop_assert!(fields_of_elements(&bytes, ["a"]).count() <= bytes.len());
        }
    }
}
