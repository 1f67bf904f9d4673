//! Prints of states: what the explorer knows them by.

use core::hash::{Hash, Hasher};

/// 128 bits, so that two states are not taken for one.
pub fn fingerprint(state: &(impl Hash + ?Sized)) -> u128 {
    let mut print = Print::default();
    state.hash(&mut print);
    u128::from(print.mixed(print.0)) << 64 | u128::from(print.mixed(print.1))
}

/// Two lanes of folded multiplications, eight bytes at a time: some ten times the speed of SipHash, whose strength against
/// those who choose the input is not needed here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Print(u64, u64);

impl Default for Print {
    fn default() -> Self {
        Self(0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344)
    }
}

impl Print {
    fn folded(a: u64, b: u64) -> u64 {
        let product = u128::from(a) * u128::from(b);
        (product as u64) ^ ((product >> 64) as u64)
    }

    fn mixed(self, lane: u64) -> u64 {
        Self::folded(lane ^ 0xa409_3822_299f_31d0, 0x9e37_79b9_7f4a_7c15)
    }

    fn word(&mut self, word: u64) {
        self.0 = Self::folded(self.0 ^ word, 0x9e37_79b9_7f4a_7c15).wrapping_add(word.rotate_left(32));
        self.1 = Self::folded(self.1 ^ word, 0xc2b2_ae3d_27d4_eb4f).wrapping_add(word);
    }
}

impl Hasher for Print {
    fn finish(&self) -> u64 {
        self.mixed(self.0)
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.word(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_le_bytes(last) ^ (rest.len() as u64) << 56);
    }

    fn write_u64(&mut self, number: u64) {
        self.word(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.word(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.word(number as u64);
    }

    fn write_u32(&mut self, number: u32) {
        self.word(number.into());
    }

    fn write_u8(&mut self, number: u8) {
        self.word(number.into());
    }
}
