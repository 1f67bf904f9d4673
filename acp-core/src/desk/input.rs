//! The memory that a driver reads into: small as long as little comes at a time.

use alloc::{boxed::Box, vec};

use super::PIECE;

/// What is not worth being made smaller.
const SMALL: usize = 4 << 10;
/// A large buffer that was hardly used so many times in a row is given back.
const PATIENCE: u32 = 256;

/// Where a driver reads into. It grows up to [`PIECE`] when it is filled, so that an idle connection holds little and a
/// busy one needs few reads.
#[derive(Debug)]
pub struct Input {
    buffer: Box<[u8]>,
    filled: usize,
    hardly_used: u32,
}

impl Default for Input {
    fn default() -> Self {
        Self { buffer: vec![0; SMALL].into(), filled: 0, hardly_used: 0 }
    }
}

impl Input {
    /// Where to read into. What was read before is gone.
    #[inline]
    pub fn space(&mut self) -> &mut [u8] {
        let length = self.buffer.len();
        if self.filled == length && length < PIECE {
            self.resize(4 * length);
        } else if self.hardly_used >= PATIENCE {
            self.resize(SMALL);
        }
        &mut self.buffer
    }

    fn resize(&mut self, length: usize) {
        *self = Self { buffer: vec![0; length].into(), filled: 0, hardly_used: 0 };
    }

    /// So many bytes were read into it.
    pub const fn fill(&mut self, count: usize) {
        self.filled = count;
        let hardly = count <= SMALL && self.buffer.len() > SMALL;
        self.hardly_used = if hardly { self.hardly_used + 1 } else { 0 };
    }

    /// What was read.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.buffer.get(..self.filled).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::{Input, PATIENCE, PIECE, SMALL};

    #[test]
    fn it_is_as_large_as_what_comes() {
        let mut input = Input::default();
        for length in [SMALL, 4 * SMALL, PIECE, PIECE] {
            assert_eq!(input.space().len(), length);
            input.fill(length);
            assert_eq!(input.bytes().len(), length);
        }
        for _ in 0..PATIENCE {
            assert_eq!(input.space().len(), PIECE);
            input.fill(10);
        }
        assert_eq!(input.space().len(), SMALL);
        input.fill(SMALL - 1);
        assert_eq!(input.space().len(), SMALL);
    }
}
