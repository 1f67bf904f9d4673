//! The text beside every view, and what is said of text that is none.

use alloc::{string::String, vec::Vec};
use core::{fmt, str};

use bytes::Bytes;
use serde::{Deserialize, Serialize, Serializer, ser::Error as _};
use serde_json::value::RawValue;

use super::read::View;
use crate::wire::{
    dialect::{at_a_glance, fields},
    payload::{NotJson, Payload},
};

/// A value as the text that came: what a view was read from, or a part that no view looks into.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Raw<'a>(pub(super) &'a [u8]);

impl<'a> Raw<'a> {
    /// All of a payload.
    pub(crate) fn of(payload: &'a Payload) -> Self {
        Self(payload.as_bytes())
    }

    /// The text.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &'a str {
        // It is a part of a payload, which was checked.
        str::from_utf8(self.0).unwrap_or("null")
    }

    /// Reads it as a `T` of serde, which may borrow from the line it came in: a type of the official schema crate, a
    /// `&RawValue`, a `Value`.
    ///
    /// # Errors
    ///
    /// Those of [`Payload::get`].
    pub fn get<T: Deserialize<'a>>(&self) -> Result<T, NotJson> {
        Ok(serde_json::from_slice(self.0)?)
    }

    /// Reads it as one of the views.
    ///
    /// # Errors
    ///
    /// A part that the view cannot be without is missing or wrong: which one, and what about it.
    pub fn view<T: View<'a>>(&self) -> Result<T, Unreadable> {
        T::read(*self)
    }

    /// The member of this name: `_meta`, or a field of a vendor's. `None`: there is none, or two, or it is no object.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<Self> {
        let [value] = fields(self.0, [name]);
        value.map(Self)
    }

    /// A copy of it, to be sent or kept.
    #[must_use]
    pub fn to_payload(&self) -> Payload {
        Payload::from_trusted(Bytes::copy_from_slice(self.0))
    }

    /// The values of these members, in one walk.
    pub(super) fn members<const N: usize>(self, names: [&str; N]) -> Result<[Option<Self>; N], Unreadable> {
        if !self.0.starts_with(b"{") {
            return Err(Unreadable::new("it is no object"));
        }
        Ok(fields(self.0, names).map(|value| value.map(Self)))
    }

    /// The text of this member, if one look tells it: see [`at_a_glance`].
    pub(super) fn at_a_glance(self, name: &str) -> Option<&'a str> {
        at_a_glance(self.0, name).and_then(|text| str::from_utf8(text).ok())
    }

    /// Whether it is an object, which is how a capability is offered, or a plain `true`.
    pub(super) fn is_offered(self) -> bool {
        self.0.starts_with(b"{") || self.0 == b"true"
    }
}

/// Prints the length only, as that of a [`Payload`].
impl fmt::Debug for Raw<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Raw({} bytes)", self.0.len())
    }
}

impl fmt::Display for Raw<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// As the value it is, without a tree. Only `serde_json` understands that.
impl Serialize for Raw<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::from_slice::<&RawValue>(self.0).map_err(S::Error::custom)?.serialize(serializer)
    }
}

/// Why a payload is not what it should be a view of: where, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// From the inside out.
    path: Vec<Step>,
    why: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Member(&'static str),
    Element(usize),
}

impl Unreadable {
    pub(super) const fn new(why: &'static str) -> Self {
        Self { path: Vec::new(), why }
    }

    pub(super) fn at(mut self, member: &'static str) -> Self {
        self.path.push(Step::Member(member));
        self
    }

    pub(super) fn at_element(mut self, index: usize) -> Self {
        self.path.push(Step::Element(index));
        self
    }

    /// What is wrong: "it is missing", "it is no string".
    #[must_use]
    pub const fn why(&self) -> &'static str {
        self.why
    }

    /// Where, from the payload inwards: `update.content.text`, `prompt.1.type`. Empty for the payload itself.
    #[must_use]
    pub fn path(&self) -> String {
        let mut path = String::new();
        let _ = self.write_path(&mut path);
        path
    }

    fn write_path(&self, to: &mut impl fmt::Write) -> fmt::Result {
        for (at, step) in self.path.iter().rev().enumerate() {
            if at > 0 {
                to.write_char('.')?;
            }
            match step {
                Step::Member(name) => to.write_str(name)?,
                Step::Element(index) => write!(to, "{index}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            self.write_path(f)?;
            f.write_str(": ")?;
        }
        f.write_str(self.why)
    }
}

impl core::error::Error for Unreadable {}
