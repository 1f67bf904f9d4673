//! Ids of sessions in an order that is quick to search: by a number made of them, and only then by their text.
//!
//! Ids tend to begin alike and lie all over memory, so a walk down a tree of texts reads each of them; one of numbers
//! reads one text. Whoever makes ids whose numbers are the same gets the walk over texts, and nothing worse.

use alloc::sync::Arc;
use core::{borrow::Borrow, cmp::Ordering};

/// An id, and its number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Name {
    pub(super) mixed: u64,
    pub(super) id: Arc<str>,
}

/// A [`Name`], or what one is searched with.
pub(super) trait Named {
    fn parts(&self) -> (u64, &str);
}

impl Named for Name {
    fn parts(&self) -> (u64, &str) {
        (self.mixed, &self.id)
    }
}

impl Named for (u64, &str) {
    fn parts(&self) -> (u64, &str) {
        *self
    }
}

impl<'a> Borrow<dyn Named + 'a> for Name {
    fn borrow(&self) -> &(dyn Named + 'a) {
        self
    }
}

impl PartialEq for dyn Named + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for dyn Named + '_ {}

impl PartialOrd for dyn Named + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for dyn Named + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

/// The number of an id: the same everywhere, and seldom that of another.
pub(super) fn mix(id: &str) -> u64 {
    // The fraction of the golden ratio, whose bits are spread well.
    const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
    let step = |mixed: u64, part: u64| (mixed.rotate_left(29) ^ part).wrapping_mul(SPREAD);
    let mut eights = id.as_bytes().chunks_exact(8);
    let mut mixed = id.len() as u64;
    for eight in &mut eights {
        mixed = step(mixed, eight.first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight)));
    }
    let rest = eights.remainder().iter().fold(0, |rest, byte| (rest << 8) | u64::from(*byte));
    step(mixed, rest)
}

#[cfg(test)]
mod tests {
    use alloc::{collections::BTreeMap, format, vec::Vec};

    use super::{Name, Named, mix};

    #[test]
    fn ids_that_differ_have_different_numbers() {
        let mut numbers: Vec<u64> = (0..20_000).map(|index| mix(&format!("sess-{index:08}"))).collect();
        numbers.extend((0..200).map(|length| mix(&"x".repeat(length))));
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 20_200);
    }

    #[test]
    fn ids_with_the_same_number_are_told_apart() {
        let mut table = BTreeMap::new();
        for (value, id) in ["a", "b", "c"].into_iter().enumerate() {
            table.insert(Name { mixed: 7, id: id.into() }, value);
        }
        let get = |mixed: u64, id| table.get(&(mixed, id) as &dyn Named).copied();
        assert_eq!([get(7, "a"), get(7, "b"), get(7, "c")], [Some(0), Some(1), Some(2)]);
        assert_eq!([get(7, "d"), get(8, "a")], [None, None]);
    }
}
