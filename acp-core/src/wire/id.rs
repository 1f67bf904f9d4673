//! Request ids, as the peer wrote them.

use alloc::{boxed::Box, string::ToString};
use core::{
    cmp::Ordering,
    fmt,
    hash::{Hash, Hasher},
    ops::Deref,
    str,
};

use smallvec::SmallVec;

use super::{object::string, payload::Payload};

/// The peer's request id: `null`, an integer of any length, or a string (JSON-RPC 2.0 §4).
///
/// It is echoed byte for byte, and matched by type and value: `"1"` is not `1`, and `"\u0061"` is `"a"`. A string that
/// does not decode (a lone surrogate) is matched by its text. It owns its text, so it keeps no received line alive.
#[derive(Clone)]
pub struct Id(Repr);

#[derive(Clone)]
enum Repr {
    Null,
    /// JSON writes an integer in one way only, so the text is the value.
    Integer(Text),
    String {
        raw: Text,
        /// Only where it is not the text between the quotes.
        decoded: Option<Box<str>>,
    },
    /// A string that does not decode.
    Opaque(Text),
}

/// Long enough for every integer of 64 bits and most counters in quotes.
struct Text(SmallVec<[u8; 24]>);

impl Text {
    fn from_slice(text: &[u8]) -> Self {
        Self(SmallVec::from_slice(text))
    }
}

/// By hand: the derived one goes byte by byte.
impl Clone for Text {
    fn clone(&self) -> Self {
        Self::from_slice(&self.0)
    }
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// What makes two ids the same.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Key<'a> {
    Null,
    Integer(&'a [u8]),
    String(&'a [u8]),
    Opaque(&'a [u8]),
}

impl Id {
    /// `null`: what one answers when the id could not be read (JSON-RPC 2.0 §5). As the id of a request it is
    /// discouraged, but legal.
    pub const NULL: Self = Self(Repr::Null);

    /// Reads an id. `None`: a number with a fraction or an exponent, `-0`, a boolean, an array or an object.
    #[must_use]
    pub fn parse(raw: &Payload) -> Option<Self> {
        Self::from_raw(raw.as_str())
    }

    /// The same, from the text of one well-formed JSON value.
    pub(super) fn from_raw(raw: &str) -> Option<Self> {
        let text = || Text::from_slice(raw.as_bytes());
        Some(Self(match raw.as_bytes() {
            b"null" => Repr::Null,
            b"-0" => return None,
            [b'"', ..] => match string(raw) {
                Some(decoded) if decoded.len() + 2 == raw.len() => Repr::String { raw: text(), decoded: None },
                Some(decoded) => Repr::String { raw: text(), decoded: Some(decoded.into()) },
                None => Repr::Opaque(text()),
            },
            [b'-', digits @ ..] | digits if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) => {
                Repr::Integer(text())
            }
            _ => return None,
        }))
    }

    /// The text, to echo it.
    #[must_use]
    pub fn as_json(&self) -> &[u8] {
        match &self.0 {
            Repr::Null => b"null",
            Repr::Integer(raw) | Repr::String { raw, .. } | Repr::Opaque(raw) => raw,
        }
    }

    /// The number, if it is one that we could have issued: our own ids are integers that fit an `u64`.
    #[must_use]
    pub fn own(&self) -> Option<u64> {
        match &self.0 {
            Repr::Integer(raw) => str::from_utf8(raw).ok()?.parse().ok(),
            _ => None,
        }
    }

    /// Whether it is `null`.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self.0, Repr::Null)
    }

    fn key(&self) -> Key<'_> {
        match &self.0 {
            Repr::Null => Key::Null,
            Repr::Integer(raw) => Key::Integer(raw),
            Repr::String { decoded: Some(decoded), .. } => Key::String(decoded.as_bytes()),
            Repr::String { raw, decoded: None } => Key::String(raw.get(1..raw.len().saturating_sub(1)).unwrap_or(raw)),
            Repr::Opaque(raw) => Key::Opaque(raw),
        }
    }
}

/// An id of ours.
impl From<u64> for Id {
    fn from(id: u64) -> Self {
        Self(Repr::Integer(Text::from_slice(id.to_string().as_bytes())))
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Id {}

/// Some order, for maps: by type, then by text. Not that of the numbers.
impl Ord for Id {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Id {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(str::from_utf8(self.as_json()).unwrap_or("null"))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({self})")
    }
}

#[cfg(test)]
mod tests {
    use alloc::{collections::BTreeSet, format};

    use super::{Id, Payload};

    fn id(text: &'static str) -> Option<Id> {
        Id::parse(&Payload::parse(text).unwrap())
    }

    #[test]
    fn ids_are_null_integers_and_strings() {
        for text in [
            "null",
            "0",
            "-1",
            "9007199254740993",
            "123456789012345678901234567890",
            r#""""#,
            r#""1""#,
            r#""\u0061""#,
            r#""\ud800""#,
        ] {
            let id = id(text).unwrap();
            assert_eq!(id.as_json(), text.as_bytes(), "echoed as it came");
            assert_eq!(format!("{id} {id:?}"), format!("{text} Id({text})"));
            assert_eq!(id.is_null(), text == "null");
        }
        for text in ["1.0", "1.5", "1e3", "1E3", "-0", "-0.0", "true", "false", "{}", "[1]"] {
            assert_eq!(id(text), None, "{text}");
        }
    }

    #[test]
    fn ids_match_by_type_and_value() {
        for (one, other, same) in [
            ("1", "1", true),
            ("1", r#""1""#, false),
            ("null", r#""null""#, false),
            (r#""a""#, r#""\u0061""#, true),
            (r#""/""#, r#""\/""#, true),
            (r#""\u0061""#, r#""\u0041""#, false),
            (r#""\ud800""#, r#""\ud800""#, true),
            (r#""\ud800""#, r#""\uD800""#, false),
            (r#""\ud800""#, r#""\"\\ud800\"""#, false),
        ] {
            let (one, other) = (id(one).unwrap(), id(other).unwrap());
            assert_eq!(one == other, same, "{one} {other}");
            assert_eq!(one.cmp(&other).is_eq(), same, "{one} {other}");
            assert_eq!(BTreeSet::from([one, other]).len(), if same { 1 } else { 2 });
        }
    }

    #[test]
    fn our_own_ids_are_plain_integers() {
        for (text, expected) in [
            ("1", Some(1)),
            ("0", Some(0)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("-1", None),
            (r#""1""#, None),
            ("null", None),
        ] {
            assert_eq!(id(text).unwrap().own(), expected, "{text}");
        }
        assert_eq!(Some(Id::from(7)), id("7"));
    }
}
