//! A queue of bytes of fixed size, as between an interrupt and a main loop: what one end writes, the other one reads.

/// Bytes that fit into a queue: less than a message has, so that each takes several rounds.
const ROOM: usize = 64;

/// The queue.
pub struct Queue {
    bytes: [u8; ROOM],
    first: usize,
    len: usize,
}

impl Queue {
    pub const fn new() -> Self {
        Self { bytes: [0; ROOM], first: 0, len: 0 }
    }

    /// Takes what there is room for, and answers how many bytes that was.
    pub fn push(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(ROOM - self.len);
        for byte in &bytes[..taken] {
            self.bytes[(self.first + self.len) % ROOM] = *byte;
            self.len += 1;
        }
        taken
    }

    /// Gives what can be had in one piece.
    pub fn pop(&mut self) -> &[u8] {
        let end = (self.first + self.len).min(ROOM);
        let piece = self.first..end;
        self.len -= piece.len();
        self.first = end % ROOM;
        &self.bytes[piece]
    }
}
