//! The frames that wait to be written, in order, with their bytes counted.

use alloc::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use crate::{
    machine::CancelKind,
    ticket::{FrameId, SessionKey, TurnKey},
};

/// One message to write. It counts as sent when it is handed out.
#[derive(Clone, PartialEq, Eq, Hash)]
#[must_use = "a frame that is not written is lost"]
pub struct Frame {
    id: FrameId,
    line: Bytes,
}

impl Frame {
    /// Its name, for `handle_transmit_failed`.
    #[must_use]
    pub const fn id(&self) -> FrameId {
        self.id
    }

    /// The bytes with the line break: for stdio and sockets.
    #[must_use]
    pub fn into_line(self) -> Bytes {
        self.line
    }

    /// The bytes without the line break: for transports that keep messages apart.
    #[must_use]
    pub fn into_message(mut self) -> Bytes {
        self.line.truncate(self.line.len().saturating_sub(1));
        self.line
    }
}

impl core::fmt::Debug for Frame {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // Payload text does not belong in logs.
        write!(f, "Frame({}, {} bytes)", self.id.0, self.line.len())
    }
}

/// What the connection has to know again when a frame is handed out, fails, or is withdrawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Tag {
    Plain,
    /// A `$/cancel_request` for a request of ours.
    CancelRequest(u64),
    /// A `session/cancel` for no turn of ours.
    StopSession,
    /// A request of ours, by its id.
    Request(u64),
    Cancel {
        session: SessionKey,
        turn: TurnKey,
        kind: CancelKind,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Queued {
    id: FrameId,
    line: Bytes,
    tag: Tag,
}

/// What a frame may take: bytes of the line without its break, and bytes of the whole queue with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    pub(crate) line: usize,
    pub(crate) total: usize,
    /// A frame of no more than this always fits.
    pub(crate) always: usize,
}

/// Why a frame was not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRoom {
    Line { size: usize },
    Total,
}

/// The queue of frames.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Outbox {
    next: u64,
    bytes: usize,
    queue: VecDeque<Queued>,
    /// Where frames are built; each is split off, so that many share one allocation.
    scratch: BytesMut,
}

/// Frames are cut from pieces of this size: large enough to share, small enough not to pin much.
const PIECE: usize = 16 << 10;
/// The same while that much waits already.
const LARGE_PIECE: usize = 64 << 10;
/// The same while nothing waits: a connection that says little holds little.
const SMALL_PIECE: usize = 1 << 10;
/// A piece with less than this left is not begun again.
const REST: usize = 2 << 10;

impl Outbox {
    /// Queues what `write` appends, whatever the room: one message, line break included.
    pub(crate) fn push(&mut self, tag: Tag, write: impl FnOnce(&mut BytesMut)) -> FrameId {
        self.build(write);
        self.commit(tag)
    }

    /// The same, if the message fits. If not, it was never there.
    pub(crate) fn offer(&mut self, tag: Tag, room: Room, write: impl FnOnce(&mut BytesMut)) -> Result<FrameId, NoRoom> {
        self.build(write);
        match self.refused(room) {
            Some(why) => {
                // Not `clear`: a message of many megabytes must not leave its allocation behind.
                self.scratch = BytesMut::new();
                Err(why)
            }
            None => Ok(self.commit(tag)),
        }
    }

    /// Whether it could be queued, and how many bytes it takes.
    pub(crate) fn fits(&mut self, room: Room, write: impl FnOnce(&mut BytesMut)) -> Result<usize, NoRoom> {
        self.build(write);
        let (size, refused) = (self.scratch.len(), self.refused(room));
        self.scratch = BytesMut::new();
        refused.map_or(Ok(size), Err)
    }

    /// Why what was built has no room.
    fn refused(&self, room: Room) -> Option<NoRoom> {
        let size = self.scratch.len();
        if size.saturating_sub(1) > room.line {
            Some(NoRoom::Line { size: size - 1 })
        } else if size > room.always && self.bytes.saturating_add(size) > room.total {
            Some(NoRoom::Total)
        } else {
            None
        }
    }

    fn build(&mut self, write: impl FnOnce(&mut BytesMut)) {
        // Where one frame follows the other, an allocation serves more of them.
        let piece = match self.bytes {
            0 => SMALL_PIECE,
            1..PIECE => PIECE,
            _ => LARGE_PIECE,
        };
        if self.scratch.capacity() < REST.min(piece / 4) && !self.scratch.try_reclaim(piece) {
            // Afresh, for one that is reserved is never smaller than the first was.
            self.scratch = BytesMut::with_capacity(piece);
        }
        write(&mut self.scratch);
    }

    fn commit(&mut self, tag: Tag) -> FrameId {
        let line = self.scratch.split().freeze();
        let id = FrameId::new(self.next, !matches!(tag, Tag::Plain));
        self.next += 1;
        self.bytes += line.len();
        self.queue.push_back(Queued { id, line, tag });
        id
    }

    pub(crate) fn pop(&mut self) -> Option<(Frame, Tag)> {
        let Queued { id, line, tag } = self.queue.pop_front()?;
        self.bytes -= line.len();
        Some((Frame { id, line }, tag))
    }

    /// Takes back the frames of this tag that were not handed out. Returns whether there were any.
    pub(crate) fn withdraw(&mut self, unwanted: impl Fn(&Tag) -> bool) -> bool {
        let before = self.queue.len();
        let bytes = &mut self.bytes;
        self.queue.retain(|queued| {
            let keep = !unwanted(&queued.tag);
            if !keep {
                *bytes -= queued.line.len();
            }
            keep
        });
        self.queue.len() < before
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.queue.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::{NoRoom, Outbox, Room, Tag};

    #[test]
    fn a_frame_that_does_not_fit_leaves_nothing_behind() {
        let mut outbox = Outbox::default();
        let mut offer = |line, total, always| {
            outbox.offer(Tag::Plain, Room { line, total, always }, |out| out.extend_from_slice(b"[1]\n"))
        };
        assert_eq!(offer(2, 100, 100), Err(NoRoom::Line { size: 3 }));
        assert_eq!(offer(3, 3, 0), Err(NoRoom::Total));
        assert!(offer(3, 4, 0).is_ok());
        assert_eq!(offer(3, 4, 3), Err(NoRoom::Total));
        assert!(offer(3, 4, 4).is_ok());
        assert_eq!(outbox.bytes(), 8);
    }

    #[test]
    fn bytes_are_counted_in_and_out_and_a_withdrawn_frame_was_never_there() {
        let mut outbox = Outbox::default();
        outbox.push(Tag::Plain, |out| out.extend_from_slice(b"{}\n"));
        outbox.push(Tag::Request(7), |out| out.extend_from_slice(b"[1]\n"));
        outbox.push(Tag::Plain, |out| out.extend_from_slice(b"3\n"));
        assert_eq!(outbox.bytes(), 9);
        assert!(outbox.withdraw(|tag| *tag == Tag::Request(7)));
        assert!(!outbox.withdraw(|tag| *tag == Tag::Request(7)));
        assert_eq!(outbox.bytes(), 5);
        let lines: alloc::vec::Vec<_> = core::iter::from_fn(|| outbox.pop()).map(|(frame, _)| frame).collect();
        assert_eq!(lines[0].clone().into_line(), &b"{}\n"[..]);
        assert_eq!(lines[1].clone().into_message(), &b"3"[..]);
        assert_eq!(outbox.bytes(), 0);
    }
}
