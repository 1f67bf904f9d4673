//! Where a string of JSON is not plain text: the quote that ends it, escapes, and control characters.
//!
//! Most bytes of the protocol are text in strings, so this is what the time goes into. Whole blocks are compared at once,
//! in a form that compilers turn into vector instructions; there is no `unsafe`, and no instruction is asked for by name.

/// Bytes compared at once where a string is short, or ends.
pub(super) const BLOCK: usize = 16;
/// Bytes compared at once inside a long string.
pub(super) const STRIDE: usize = 64;

/// The lowest bit of each byte of a word, and the next bit of each of the next word.
const COLUMNS: u128 = 0x0202_0202_0202_0202_0101_0101_0101_0101;

const fn is_special(byte: u8) -> bool {
    // Not `||`: a branch for each byte would be the end of it.
    (byte == b'"') | (byte == b'\\') | (byte < b' ')
}

const fn is_backslash(byte: u8) -> bool {
    byte == b'\\'
}

/// 255 where a byte of the block is a wanted one, 0 elsewhere.
#[inline]
fn marks<const N: usize>(block: &[u8; N], wanted: impl Fn(u8) -> bool) -> [u8; N] {
    let mut marks = [0; N];
    for (mark, byte) in marks.iter_mut().zip(block) {
        *mark = u8::from(wanted(*byte)).wrapping_neg();
    }
    marks
}

/// The place of the first special byte of a block.
#[inline]
pub(super) fn first(block: &[u8; BLOCK]) -> Option<usize> {
    let marks = u128::from_le_bytes(marks(block, is_special));
    if marks == 0 { None } else { Some(marks.trailing_zeros() as usize / 8) }
}

/// A bit for each special byte of a block, the lowest for the first.
#[inline]
pub(super) fn bits(block: &[u8; STRIDE]) -> u64 {
    fold(&marks(block, is_special))
}

/// The same for backslashes.
#[inline]
pub(super) fn backslashes(block: &[u8; STRIDE]) -> u64 {
    fold(&marks(block, is_backslash))
}

/// A bit for each mark, the lowest for the first.
///
/// Bit `j` of byte `i` of what is gathered is byte `i` of word `j`; exchanging rows and columns puts it in its place. That
/// costs less than to draw each word together by a multiplication of its own.
#[inline]
fn fold(marks: &[u8; STRIDE]) -> u64 {
    let mut gathered = 0;
    for (pair, sixteen) in marks.chunks_exact(BLOCK).enumerate() {
        if let Some(sixteen) = sixteen.first_chunk() {
            gathered |= u128::from_le_bytes(*sixteen) & COLUMNS << (2 * pair);
        }
    }
    transpose(gathered as u64 | (gathered >> 64) as u64)
}

/// Exchanges rows and columns of a square of eight times eight bits.
#[inline]
const fn transpose(mut square: u64) -> u64 {
    let mut exchanged = (square ^ square >> 7) & 0x00AA_00AA_00AA_00AA;
    square ^= exchanged ^ exchanged << 7;
    exchanged = (square ^ square >> 14) & 0x0000_CCCC_0000_CCCC;
    square ^= exchanged ^ exchanged << 14;
    exchanged = (square ^ square >> 28) & 0x0000_0000_F0F0_F0F0;
    square ^ exchanged ^ exchanged << 28
}

/// The block of `text` that begins at `at`, if there is a whole one.
#[inline]
pub(super) fn block<const N: usize>(text: &[u8], at: usize) -> Option<&[u8; N]> {
    text.get(at..)?.first_chunk()
}

/// The place of the first special byte at or behind `at`, or the end.
#[inline]
pub(super) fn find(text: &[u8], mut at: usize) -> usize {
    while let Some(block) = block(text, at) {
        if let Some(found) = first(block) {
            return at + found;
        }
        at += BLOCK;
    }
    find_in_tail(text, at)
}

/// The same where less than a block is left. Byte by byte, for most tails are a few bytes long.
#[inline(never)]
fn find_in_tail(text: &[u8], at: usize) -> usize {
    let tail = text.get(at..).unwrap_or_default();
    at + tail.iter().position(|byte| is_special(*byte)).unwrap_or(tail.len())
}

/// What an escape of one letter stands for: a quote, a backslash or a slash for themselves.
#[inline]
pub(super) fn letter(letter: u8) -> Option<u8> {
    LETTERS.get(usize::from(letter)).copied().filter(|decoded| *decoded != 0)
}

/// By letter; 0 for what is no escape of one letter, since none stands for it.
const LETTERS: [u8; 256] = {
    let mut letters = [0; 256];
    let known = *b"\"\"\\\\//b\x08f\x0Cn\nr\rt\t";
    let mut at = 0;
    while at < known.len() {
        letters[known[at] as usize] = known[at + 1];
        at += 2;
    }
    letters
};

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::{BLOCK, STRIDE, backslashes, bits, block, find, is_special};

    #[test]
    fn every_byte_in_every_place_is_found() {
        for byte in 0..=u8::MAX {
            for place in 0..STRIDE {
                let mut text = vec![b'x'; STRIDE];
                text[place] = byte;
                let expected = if is_special(byte) { place } else { STRIDE };
                assert_eq!(find(&text, 0), expected, "{byte} at {place}");
                let whole = block(&text, 0).expect("a whole block");
                assert_eq!(bits(whole).trailing_zeros() as usize, expected, "{byte} at {place}");
                assert_eq!(bits(whole).count_ones(), u32::from(is_special(byte)));
                assert_eq!(backslashes(whole), u64::from(byte == b'\\') << place);
            }
        }
        assert_eq!(bits(&[b'"'; STRIDE]), u64::MAX);
    }

    #[test]
    fn the_search_begins_where_it_is_told_to_and_ends_at_the_end() {
        let text = [&[b'"'; 5][..], &[0xFF; 100]].concat();
        for at in 0..text.len() {
            assert_eq!(find(&text, at), if at < 5 { at } else { text.len() });
        }
        assert_eq!(find(&text, 1000), 1000);
        for length in 0..BLOCK {
            let text = [&vec![b'x'; length][..], b"\\"].concat();
            assert_eq!((find(&text, 0), find(&text[..length], 0)), (length, length));
        }
    }
}
