//! How a view is read: what may be missing, wrong or `null`, and the values that stand alone.

use alloc::{borrow::Cow, string::String};
use core::str;

use super::raw::{Raw, Unreadable};
use crate::wire::{payload::Payload, unescape::unescape};

/// What a payload, or a part of one, can be read as: see [`Payload::view`]. For types of your own there is
/// [`Payload::get`], by way of serde.
pub trait View<'a>: Sized {
    /// Reads a value.
    ///
    /// # Errors
    ///
    /// It is not of that type, or lacks what it cannot be without.
    fn read(raw: Raw<'a>) -> Result<Self, Unreadable>;

    /// Reads a payload.
    ///
    /// # Errors
    ///
    /// Those of [`read`](Self::read).
    fn of(payload: &'a Payload) -> Result<Self, Unreadable> {
        Self::read(Raw::of(payload))
    }

    /// Reads an object of which `by` is known to tell the kind, if it comes once.
    #[doc(hidden)]
    fn read_as(raw: Raw<'a>, by: &'static str) -> Result<Self, Unreadable> {
        let [kind] = raw.members([by])?;
        if kind.is_some() { Self::read(raw) } else { Err(Unreadable::new("it is missing").at(by)) }
    }

    /// Reads the member of an object, which may be missing. A view that can be without it says so here.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read), or it is missing.
    fn member(raw: Option<Raw<'a>>) -> Result<Self, Unreadable> {
        raw.map_or(Err(Unreadable::new("it is missing")), Self::read)
    }
}

impl<'a> View<'a> for Raw<'a> {
    fn read(raw: Self) -> Result<Self, Unreadable> {
        Ok(raw)
    }
}

/// Borrowed, unless there are escapes in it.
impl<'a> View<'a> for Cow<'a, str> {
    fn read(raw: Raw<'a>) -> Result<Self, Unreadable> {
        let text = raw.0.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\""));
        let text = text.ok_or(Unreadable::new("it is no string"))?;
        if memchr::memchr(b'\\', text).is_none() {
            return str::from_utf8(text).map(Cow::Borrowed).map_err(|_| Unreadable::new("it is no text"));
        }
        let mut decoded = String::new();
        unescape(text, &mut decoded).ok_or(Unreadable::new("it has half a character: a lone surrogate"))?;
        Ok(Cow::Owned(decoded))
    }
}

impl View<'_> for bool {
    fn read(raw: Raw<'_>) -> Result<Self, Unreadable> {
        match raw.0 {
            b"true" => Ok(true),
            b"false" => Ok(false),
            _ => Err(Unreadable::new("it is neither `true` nor `false`")),
        }
    }
}

macro_rules! integers {
    ($($name:ident)+) => { $(
        impl View<'_> for $name {
            fn read(raw: Raw<'_>) -> Result<Self, Unreadable> {
                raw.as_str().parse().map_err(|_| Unreadable::new("it is no integer, or too large for what it means"))
            }
        }
    )+ };
}
integers! { u16 u32 u64 i64 }

impl View<'_> for f64 {
    fn read(raw: Raw<'_>) -> Result<Self, Unreadable> {
        let is_number = raw.0.first().is_some_and(|byte| matches!(byte, b'-' | b'0'..=b'9'));
        let number = raw.as_str().parse().ok().filter(|number: &Self| is_number && number.is_finite());
        number.ok_or(Unreadable::new("it is no number, or too large for one"))
    }
}

/// What is missing, `null` or wrong is not there: it does not lose the rest.
impl<'a, T: View<'a>> View<'a> for Option<T> {
    fn read(raw: Raw<'a>) -> Result<Self, Unreadable> {
        Ok(T::read(raw).ok())
    }

    fn member(raw: Option<Raw<'a>>) -> Result<Self, Unreadable> {
        Ok(raw.and_then(|raw| T::read(raw).ok()))
    }
}

/// What an update says about something that may have been said before.
///
/// In version 2 `null` takes back what was said. Version 1 has no such: there it is one more way to say nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Patch<T> {
    /// Nothing; or what it says cannot be read.
    #[default]
    Absent,
    /// `null`.
    Null,
    /// This.
    Value(T),
}

impl<T> Patch<T> {
    /// What it says, if it says something.
    #[must_use]
    pub const fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Null => None,
        }
    }

    /// The same, taken.
    #[must_use]
    pub fn into_value(self) -> Option<T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Null => None,
        }
    }
}

impl<'a, T: View<'a>> View<'a> for Patch<T> {
    fn read(raw: Raw<'a>) -> Result<Self, Unreadable> {
        Ok(if raw.0 == b"null" { Self::Null } else { T::read(raw).map_or(Self::Absent, Self::Value) })
    }

    fn member(raw: Option<Raw<'a>>) -> Result<Self, Unreadable> {
        raw.map_or(Ok(Self::Absent), Self::read)
    }
}
