//! A number for an id, by which a table of ids is quick to search.
//!
//! Ids tend to begin alike and lie all over memory, so a walk down a tree of texts reads each of them; one of numbers
//! reads the text of the one that it finds.

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
    use alloc::{format, vec::Vec};

    use super::mix;

    #[test]
    fn ids_that_differ_have_different_numbers() {
        let mut numbers: Vec<u64> = (0..20_000).map(|index| mix(&format!("sess-{index:08}"))).collect();
        numbers.extend((0..200).map(|length| mix(&"x".repeat(length))));
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 20_200);
    }
}
