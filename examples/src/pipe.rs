//! A pipe in memory, of bounded size. Nobody waits in here: both ends say whether something moved.

use std::collections::VecDeque;

use acp_core::{Connection, Role, Timestamp};
use bytes::Bytes;

/// One direction between two connections.
#[derive(Debug)]
pub struct Pipe {
    bytes: VecDeque<u8>,
    room: usize,
    closed: bool,
}

impl Pipe {
    /// A pipe that holds `room` bytes.
    #[must_use]
    pub const fn new(room: usize) -> Self {
        Self { bytes: VecDeque::new(), room, closed: false }
    }

    /// Takes what there is room for off `frame`.
    pub fn write(&mut self, frame: &mut Bytes) -> bool {
        let piece = frame.split_to(frame.len().min(self.room - self.bytes.len()));
        self.bytes.extend(&piece);
        !piece.is_empty()
    }

    /// Hands what there is to a connection, and then the end of the stream, if it is ready to take it.
    pub fn read<R: Role>(&mut self, conn: &mut Connection<R>, now: Timestamp) -> bool {
        if !conn.wants_input() {
            return false;
        }
        let any = !self.bytes.is_empty();
        if any {
            let (first, second) = self.bytes.as_slices();
            conn.handle_input(first, now);
            conn.handle_input(second, now);
            self.bytes.clear();
        } else if self.closed {
            conn.handle_eof(now);
        }
        any || self.closed
    }

    /// Ends the stream, after what is in it.
    pub const fn close(&mut self) {
        self.closed = true;
    }
}
