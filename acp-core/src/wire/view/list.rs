//! Lists, of which nothing is read before it is asked for.

use core::{fmt, marker::PhantomData};

use super::{
    raw::{Raw, Unreadable},
    read::View,
};
use crate::wire::dialect::{self, elements};

/// A list, whose elements are read when they are asked for.
///
/// To go over it gives the elements that can be read, so that one that is wrong does not lose its neighbours;
/// [`results`](Self::results) tells of the others, too.
pub struct List<'a, T> {
    raw: Raw<'a>,
    of: PhantomData<fn() -> T>,
}

impl<'a, T: View<'a>> List<'a, T> {
    /// The elements that can be read.
    #[must_use]
    pub fn iter(&self) -> Elements<'a, T> {
        Elements { rest: elements(self.raw.0), of: PhantomData }
    }

    /// Every element, or what is wrong with it, and with which: the path begins with its number, from 0.
    pub fn results(&self) -> impl Iterator<Item = Result<T, Unreadable>> + use<'a, T> {
        elements(self.raw.0)
            .enumerate()
            .map(|(index, element)| T::read(Raw(element)).map_err(|why| why.at_element(index)))
    }
}

impl<'a, T> List<'a, T> {
    /// All of it, as it came.
    #[must_use]
    pub const fn raw(&self) -> Raw<'a> {
        self.raw
    }

    /// Whether it has no elements at all, readable or not.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        elements(self.raw.0).next().is_none()
    }
}

impl<'a, T> View<'a> for List<'a, T> {
    fn read(raw: Raw<'a>) -> Result<Self, Unreadable> {
        if raw.0.starts_with(b"[") { Ok(Self { raw, of: PhantomData }) } else { Err(Unreadable::new("it is no array")) }
    }
}

impl<T> Clone for List<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for List<'_, T> {}

/// Of the text, as that of a [`Payload`](crate::Payload).
impl<T> PartialEq for List<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}

impl<T> fmt::Debug for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "List({} bytes)", self.raw.0.len())
    }
}

impl<'a, T: View<'a>> IntoIterator for List<'a, T> {
    type Item = T;
    type IntoIter = Elements<'a, T>;

    fn into_iter(self) -> Elements<'a, T> {
        self.iter()
    }
}

/// The readable elements of a [`List`].
#[derive(Clone, Debug)]
pub struct Elements<'a, T> {
    rest: dialect::Elements<'a>,
    of: PhantomData<fn() -> T>,
}

impl<'a, T: View<'a>> Iterator for Elements<'a, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.rest.find_map(|element| T::read(Raw(element)).ok())
    }
}
