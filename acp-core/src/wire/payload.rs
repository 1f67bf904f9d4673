//! JSON that passes through: values kept as text.
//!
//! Routing needs a handful of fields. Everything else is the host's, so it stays what it was: a slice of the line that
//! was received. No tree is built, no number is rounded, no unknown member is lost.

use alloc::{boxed::Box, string::ToString, vec::Vec};
use core::{
    fmt,
    hash::{Hash, Hasher},
    str,
};

use bytes::Bytes;
use serde::{Deserialize, Serialize, Serializer, ser::Error as _};
use serde_json::value::RawValue;

use super::{
    scan,
    update::Seen,
    view::{Unreadable, View},
};

/// A JSON value as text: a slice of the received line, or what we serialized.
///
/// It is well-formed, one value, without raw line breaks (so it fits into a line), and trimmed. Well-formed is what
/// `serde_json` takes for a raw value: any depth, any range of numbers, lone surrogates included. Equality is that of the
/// text.
///
/// A slice keeps the line it came in alive; [`detach`](Self::detach) what is kept for long.
#[derive(Clone)]
pub struct Payload {
    text: Bytes,
    /// What the reader of the line has seen in it.
    seen: Seen,
}

impl Payload {
    /// `null`
    pub const NULL: Self = Self::from_trusted(Bytes::from_static(b"null"));
    /// `{}`
    pub const EMPTY: Self = Self::from_trusted(Bytes::from_static(b"{}"));

    /// Serializes `value`.
    ///
    /// # Errors
    ///
    /// It has no form in JSON (a map whose keys are no strings), or its own `Serialize` failed.
    pub fn new<T: Serialize + ?Sized>(value: &T) -> Result<Self, NotJson> {
        // A raw value inside it brings its own white space.
        Ok(Self::from_trusted(without_line_breaks(serde_json::to_vec(value)?.into())))
    }

    /// Takes text that holds one JSON value. Line breaks between its tokens are removed.
    ///
    /// # Errors
    ///
    /// It is not UTF-8, not well-formed, or more than one value.
    pub fn parse(text: impl Into<Bytes>) -> Result<Self, NotJson> {
        let text = text.into();
        let checked = match str::from_utf8(&text).ok().and_then(scan::json) {
            Some(value) => value,
            // It knows what is wrong, and where.
            None => serde_json::from_slice::<&RawValue>(&text)?.get(),
        };
        Ok(Self::from_trusted(without_line_breaks(text.slice_ref(checked.as_bytes()))))
    }

    /// Takes what a parser has already found to be one JSON value, trimmed and without line breaks.
    pub(crate) const fn from_trusted(text: Bytes) -> Self {
        Self { text, seen: Seen::NOTHING }
    }

    /// The same for text that stands in the program.
    pub(crate) const fn from_static(text: &'static [u8]) -> Self {
        Self::from_trusted(Bytes::from_static(text))
    }

    /// Takes the part `raw` of `line` that a parser has already found to be one JSON value; `broken`, if there may be line
    /// breaks in it.
    pub(super) fn from_line(line: &Bytes, raw: &str, broken: bool) -> Self {
        let text = line.slice_ref(raw.as_bytes());
        Self::from_trusted(if broken { without_line_breaks(text) } else { text })
    }

    /// Takes the part `raw` of this value that was found to be a value too.
    pub(super) fn part(&self, raw: &str) -> Self {
        Self::from_line(&self.text, raw, false)
    }

    /// Takes the part `raw` of `line`, without line breaks, in which these parts are known.
    pub(super) fn from_seen(line: &Bytes, raw: &str, seen: Seen) -> Self {
        Self { text: line.slice_ref(raw.as_bytes()), seen }
    }

    /// What is known of the parts.
    pub(super) const fn seen(&self) -> Seen {
        self.seen
    }

    /// The text.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // It was checked when it was made.
        str::from_utf8(&self.text).unwrap_or("null")
    }

    /// Reads it as a `T`, which may borrow from it.
    ///
    /// # Errors
    ///
    /// It is not a `T`, it is nested deeper than 128, or one of the strings or numbers that `T` wants has no value (a
    /// lone surrogate, `1e400`).
    pub fn get<'a, T: Deserialize<'a>>(&'a self) -> Result<T, NotJson> {
        Ok(serde_json::from_slice(&self.text)?)
    }

    /// Looks at it as one of the [views](crate::view), which borrow from it.
    ///
    /// # Errors
    ///
    /// A part that the view cannot be without is missing or wrong: which one, and what about it.
    pub fn view<'a, T: View<'a>>(&'a self) -> Result<T, Unreadable> {
        T::of(self)
    }

    /// A copy that does not keep the received line alive.
    #[must_use]
    pub fn detach(&self) -> Self {
        Self { text: Bytes::copy_from_slice(&self.text), seen: self.seen }
    }

    /// Bytes of the text.
    #[must_use]
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Whether there is no text, which no JSON value is: always false. Not whether it is `{}`.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether it is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        *self.text == *b"null"
    }

    /// Whether it is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.text.first() == Some(&b'{')
    }

    /// Puts `members`, `"a":1,"b":2` without braces, in front of the members of `object`. `None`: it is not an object.
    ///
    /// Nobody looks whether a name is in both.
    pub(crate) fn splice(members: &[u8], object: &Self) -> Option<Self> {
        let rest = object.text.strip_prefix(b"{")?.strip_suffix(b"}")?.trim_ascii();
        let comma: &[u8] = if members.is_empty() || rest.is_empty() { b"" } else { b"," };
        Some(Self::from_trusted([b"{", members, comma, rest, b"}"].concat().into()))
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Payload {}

impl Hash for Payload {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

/// Removes the line breaks. Well-formed JSON has them between tokens only, where they mean nothing.
fn without_line_breaks(json: Bytes) -> Bytes {
    if memchr::memchr2(b'\n', b'\r', &json).is_none() {
        return json;
    }
    json.iter().copied().filter(|byte| !matches!(byte, b'\n' | b'\r')).collect::<Vec<_>>().into()
}

/// Prints the length only: what passes through may be long, and is not ours to show.
impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({} bytes)", self.len())
    }
}

impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// As the value it is, without a tree. Only `serde_json` understands that.
impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::from_slice::<&RawValue>(&self.text).map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl TryFrom<serde_json::Value> for Payload {
    type Error = NotJson;

    fn try_from(value: serde_json::Value) -> Result<Self, NotJson> {
        Self::new(&value)
    }
}

/// Text that is not the JSON it should be, or a value that has no JSON. Says what is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct NotJson {
    what: Box<str>,
}

impl From<serde_json::Error> for NotJson {
    fn from(error: serde_json::Error) -> Self {
        Self { what: error.to_string().into() }
    }
}

#[cfg(test)]
mod tests {
    use alloc::{string::ToString, vec, vec::Vec};

    use serde_json::value::RawValue;

    use super::{Bytes, Payload};
    use crate::wire::ErrorObject;

    fn payload(text: &'static str) -> Payload {
        Payload::parse(text).unwrap()
    }

    #[test]
    fn text_is_checked_trimmed_and_has_no_line_breaks() {
        let deep = [vec![b'['; 1_000_000], vec![b']'; 1_000_000]].concat();
        assert_eq!(Payload::parse(deep.clone()).unwrap().as_bytes(), deep);
        for (text, expected) in [
            ("null", "null"),
            (" {\"a\" : 1}\t", "{\"a\" : 1}"),
            ("\r\n[1,\n 2]\n", "[1, 2]"),
            (r#""\ud800\n""#, r#""\ud800\n""#),
            ("1e400", "1e400"),
        ] {
            assert_eq!(payload(text).as_str(), expected);
        }
        for text in
            [&b""[..], b" ", b"{", b"1 2", b"{}{}", b"nul", b"\"\xff\"", b"\"a\nb\"", b"[1\n2]", b"\xef\xbb\xbf{}"]
        {
            assert!(Payload::parse(text).is_err(), "{text:?}");
        }
        assert_eq!(Payload::parse("[1,\n x]").unwrap_err().to_string(), "expected value at line 2 column 2");
    }

    #[test]
    fn a_value_becomes_its_text() {
        assert_eq!(Payload::new(&["a\n", "b"]).unwrap().as_str(), r#"["a\n","b"]"#);
        let raw = RawValue::from_string("[1,\r\n2]".into()).unwrap();
        assert_eq!(Payload::new(&raw).unwrap().as_str(), "[1,2]");
        assert_eq!(Payload::try_from(serde_json::json!({"a": null})).unwrap().as_str(), r#"{"a":null}"#);
        assert!(Payload::new(&alloc::collections::BTreeMap::from([((1, 2), 3)])).is_err());
        // A payload inside a value is the value, not a string.
        let inside = [payload("1.50"), Payload::NULL, payload(r#"{"\ud800":1e400}"#)];
        assert_eq!(Payload::new(&inside).unwrap().as_str(), r#"[1.50,null,{"\ud800":1e400}]"#);
    }

    #[test]
    fn a_payload_is_read_on_demand() {
        let text = payload(r#"{"a":[1,2],"b":"x"}"#);
        #[derive(serde::Deserialize)]
        struct Borrowed<'a> {
            b: &'a str,
        }
        assert_eq!(text.get::<Borrowed<'_>>().unwrap().b, "x");
        assert!(text.get::<Vec<u8>>().is_err());
        assert!(payload("1e400").get::<f64>().is_err());
        assert_eq!((text.len(), text.is_empty(), text.is_null(), text.is_object()), (19, false, false, true));
        assert_eq!(
            (Payload::NULL.is_null(), Payload::NULL.is_object(), Payload::EMPTY.is_object()),
            (true, false, true)
        );
        assert_eq!(alloc::format!("{text:?} {text}"), r#"Payload(19 bytes) {"a":[1,2],"b":"x"}"#);
    }

    #[test]
    fn a_slice_is_not_copied_until_it_is_detached() {
        let line = Bytes::from_static(b"  [1,2]  ");
        let slice = Payload::parse(line.clone()).unwrap();
        assert_eq!(slice.as_bytes().as_ptr(), line[2..].as_ptr());
        let copy = slice.detach();
        assert_eq!(copy, slice);
        assert_ne!(copy.as_bytes().as_ptr(), slice.as_bytes().as_ptr());
    }

    #[test]
    fn members_go_in_front_of_an_object() {
        for (members, object, expected) in [
            (r#""a":1"#, "{}", Some(r#"{"a":1}"#)),
            (r#""a":1"#, "{ }", Some(r#"{"a":1}"#)),
            (r#""a":1,"b":2"#, r#"{ "c":3 }"#, Some(r#"{"a":1,"b":2,"c":3}"#)),
            ("", r#"{"c":3}"#, Some(r#"{"c":3}"#)),
            (r#""a":1"#, "[]", None),
            (r#""a":1"#, "null", None),
            (r#""a":1"#, r#""{}""#, None),
        ] {
            let spliced = Payload::splice(members.as_bytes(), &payload(object));
            assert_eq!(spliced.as_ref().map(Payload::as_str), expected, "{object}");
        }
    }

    #[test]
    fn an_error_object_has_a_code_and_a_message() {
        let error = |text| ErrorObject::parse(&payload(text));
        let plain = ErrorObject::new(-32000, "no/way");
        for (text, expected) in [
            (r#"{"code":-32000,"message":"no\/way"}"#, plain.clone()),
            (r#"{"message":"no/way","data":null,"x":[],"c\u006fde":-32000}"#, plain.clone()),
            (r#"{"code":-32000,"message":"no/way","data":{"a":1}}"#, plain.clone().with_data(payload(r#"{"a":1}"#))),
        ] {
            assert_eq!(error(text), Some(expected), "{text}");
        }
        for text in [
            "null",
            "{}",
            r#"[-32000,"by position"]"#,
            r#"{"code":1}"#,
            r#"{"message":"m"}"#,
            r#"{"code":"1","message":"m"}"#,
            r#"{"code":1.0,"message":"m"}"#,
            r#"{"code":9223372036854775808,"message":"m"}"#,
            r#"{"code":1,"message":null}"#,
            r#"{"code":1,"message":"m","code":1}"#,
        ] {
            assert_eq!(error(text), None, "{text}");
        }
        assert_eq!(plain.to_string(), "no/way (-32000)");
    }
}
