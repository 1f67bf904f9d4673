//! What is kept of a line that is not.

use alloc::{boxed::Box, vec::Vec};

use crate::wire::{object::string, payload::Payload};

/// Text that is kept up to a bound; of longer text nothing is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Kept {
    text: Vec<u8>,
    lost: bool,
}

impl Kept {
    pub(super) fn push(&mut self, bytes: &[u8], most: usize) {
        let len = self.text.len() + bytes.len();
        if self.lost || len > most {
            return self.lose();
        }
        if len > self.text.capacity() {
            // Doubled, but not beyond the bound; and the same however the text was cut.
            let room = len.next_power_of_two().min(most);
            self.text.reserve_exact(room - self.text.len());
        }
        self.text.extend_from_slice(bytes);
    }

    pub(super) fn lose(&mut self) {
        *self = Self { text: Vec::new(), lost: true };
    }

    pub(super) const fn is_lost(&self) -> bool {
        self.lost
    }

    /// Bytes held.
    pub(super) fn held(&self) -> usize {
        self.text.capacity()
    }

    pub(super) fn value(&self) -> Option<Payload> {
        Payload::parse(self.text.clone()).ok()
    }

    pub(super) fn string(&self) -> Option<Box<str>> {
        Some(string(self.value()?.as_str())?.into())
    }
}
