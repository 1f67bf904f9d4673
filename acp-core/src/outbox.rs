//! The frames that wait to be written, in order, with their bytes counted.

use alloc::collections::VecDeque;
use core::{
    hash::{Hash, Hasher},
    mem,
};

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
    /// Bytes of its line.
    length: usize,
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
#[derive(Clone, Debug, Default)]
pub(crate) struct Outbox {
    next: u64,
    bytes: usize,
    queue: VecDeque<Queued>,
    /// Their lines, one behind the other, in pieces of whole lines: those that are full, and the one that is written to.
    full: VecDeque<BytesMut>,
    open: BytesMut,
    /// How much the open piece was made for.
    size: usize,
}

/// Pieces are of this size: large enough to be written at once, small enough not to pin much.
const PIECE: usize = 16 << 10;
/// The same while that much waits already.
const LARGE_PIECE: usize = 64 << 10;
/// The same while nothing waits: a connection that says little holds little.
const SMALL_PIECE: usize = 1 << 10;
/// A piece with less than this left is full.
const REST: usize = 2 << 10;

/// How the lines lie in pieces is nobody's business.
impl PartialEq for Outbox {
    fn eq(&self, other: &Self) -> bool {
        self.next == other.next && self.queue == other.queue && self.lines().eq(other.lines())
    }
}

impl Eq for Outbox {}

impl Hash for Outbox {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.next, &self.queue).hash(state);
        self.lines().for_each(|line| line.hash(state));
    }
}

impl Outbox {
    /// Queues what `write` appends, whatever the room: one message, line break included.
    pub(crate) fn push(&mut self, tag: Tag, write: impl FnOnce(&mut BytesMut)) -> FrameId {
        let length = self.build(write);
        self.commit(tag, length)
    }

    /// The same, if the message fits. If not, it was never there.
    pub(crate) fn offer(&mut self, tag: Tag, room: Room, write: impl FnOnce(&mut BytesMut)) -> Result<FrameId, NoRoom> {
        let length = self.build(write);
        match self.refused(length, room) {
            Some(why) => {
                self.unbuild(length);
                Err(why)
            }
            None => Ok(self.commit(tag, length)),
        }
    }

    /// Whether it could be queued, and how many bytes it takes.
    pub(crate) fn fits(&mut self, room: Room, write: impl FnOnce(&mut BytesMut)) -> Result<usize, NoRoom> {
        let length = self.build(write);
        let refused = self.refused(length, room);
        self.unbuild(length);
        refused.map_or(Ok(length), Err)
    }

    /// Why what was built has no room.
    const fn refused(&self, length: usize, room: Room) -> Option<NoRoom> {
        if length.saturating_sub(1) > room.line {
            Some(NoRoom::Line { size: length - 1 })
        } else if length > room.always && self.bytes.saturating_add(length) > room.total {
            Some(NoRoom::Total)
        } else {
            None
        }
    }

    /// Appends a line, which is not queued yet, and answers its length.
    fn build(&mut self, write: impl FnOnce(&mut BytesMut)) -> usize {
        // Where one frame follows the other, a piece holds more of them.
        let piece = match self.bytes {
            0 => SMALL_PIECE,
            1..PIECE => PIECE,
            _ => LARGE_PIECE,
        };
        // All of it again, if what was cut from it is gone: before it is too little for a burst.
        let whole = self.open.capacity() < self.size / 2 && self.open.is_empty() && self.open.try_reclaim(self.size);
        if !whole && self.open.capacity() - self.open.len() < REST.min(piece / 4) {
            self.size = piece;
            let full = mem::replace(&mut self.open, BytesMut::with_capacity(piece));
            if !full.is_empty() {
                self.full.push_back(full);
            }
        }
        let before = self.open.len();
        write(&mut self.open);
        self.open.len() - before
    }

    fn unbuild(&mut self, length: usize) {
        self.open.truncate(self.open.len() - length);
        self.shrink();
    }

    /// A message of many megabytes must not leave its allocation behind.
    fn shrink(&mut self) {
        if self.open.is_empty() && self.open.capacity() > LARGE_PIECE {
            self.open = BytesMut::new();
        } else if self.open.capacity() > 4 * LARGE_PIECE && self.open.len() <= LARGE_PIECE {
            self.open = BytesMut::from(&*self.open);
        }
    }

    fn commit(&mut self, tag: Tag, length: usize) -> FrameId {
        let id = FrameId::new(self.next, !matches!(tag, Tag::Plain));
        self.next += 1;
        self.bytes += length;
        self.queue.push_back(Queued { id, length, tag });
        id
    }

    pub(crate) fn pop(&mut self) -> Option<(Frame, Tag)> {
        let Queued { id, length, tag } = self.queue.pop_front()?;
        Some((Frame { id, line: self.cut(length) }, tag))
    }

    /// The lines of several frames as they lie there, up to the one that makes it `enough` bytes; `each` is told of all that
    /// are not plain.
    pub(crate) fn pop_many(&mut self, enough: usize, mut each: impl FnMut(FrameId, Tag)) -> Option<Bytes> {
        let there = self.full.front().unwrap_or(&self.open).len();
        let mut length = 0;
        while length < enough.min(there) {
            let Some(frame) = self.queue.pop_front() else { break };
            length += frame.length;
            if !matches!(frame.tag, Tag::Plain) {
                each(frame.id, frame.tag);
            }
        }
        (length > 0).then(|| self.cut(length))
    }

    /// Takes bytes of the first piece.
    fn cut(&mut self, length: usize) -> Bytes {
        self.bytes -= length;
        match self.full.front_mut() {
            Some(piece) if piece.len() > length => piece.split_to(length).freeze(),
            Some(_) => self.full.pop_front().unwrap_or_default().freeze(),
            None => {
                let cut = self.open.split_to(length).freeze();
                if length > LARGE_PIECE && self.open.is_empty() {
                    // What is left belongs to the allocation of a large message.
                    self.open = BytesMut::new();
                }
                cut
            }
        }
    }

    /// The lines of the queue, in order.
    fn lines(&self) -> impl Iterator<Item = &[u8]> {
        let mut pieces = self.full.iter().chain([&self.open]);
        let mut rest: &[u8] = &[];
        self.queue.iter().map(move |queued| {
            while rest.is_empty() {
                match pieces.next() {
                    Some(piece) => rest = piece,
                    None => break,
                }
            }
            let (line, behind) = rest.split_at_checked(queued.length).unwrap_or((rest, &[]));
            rest = behind;
            line
        })
    }

    /// Takes back the frames of this tag that were not handed out. Returns whether there were any.
    pub(crate) fn withdraw(&mut self, unwanted: impl Fn(&Tag) -> bool) -> bool {
        if !self.queue.iter().any(|queued| unwanted(&queued.tag)) {
            return false;
        }
        let Self { queue, full, open, bytes, .. } = self;
        let mut pieces = full.iter_mut().chain(core::iter::once(open));
        let mut piece = pieces.next();
        let mut at = 0;
        queue.retain(|queued| {
            while piece.as_ref().is_some_and(|piece| piece.len() == at) {
                (piece, at) = (pieces.next(), 0);
            }
            if !unwanted(&queued.tag) {
                at += queued.length;
                return true;
            }
            if let Some(piece) = &mut piece {
                piece.copy_within(at + queued.length.., at);
                piece.truncate(piece.len() - queued.length);
            }
            *bytes -= queued.length;
            false
        });
        full.retain(|piece| !piece.is_empty());
        true
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self { next: self.next, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use alloc::{format, vec::Vec};

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
        let lines: Vec<_> = core::iter::from_fn(|| outbox.pop()).map(|(frame, _)| frame).collect();
        assert_eq!(lines[0].clone().into_line(), &b"{}\n"[..]);
        assert_eq!(lines[1].clone().into_message(), &b"3"[..]);
        assert_eq!(outbox.bytes(), 0);
    }

    #[test]
    fn whatever_pieces_the_lines_lie_in_they_come_out_in_order_and_once() {
        for (length, enough) in [(10, 1), (10, 100), (700, 1000), (5_000, 64 << 10), (200_000, 64 << 10)] {
            let (mut many, mut single) = (Outbox::default(), Outbox::default());
            let mut expected = Vec::new();
            let mut cut = Vec::new();
            for index in 0..40_u64 {
                let line = [&b"x".repeat(length)[..], format!("{index}\n").as_bytes()].concat();
                for outbox in [&mut many, &mut single] {
                    let tag = if index % 3 == 0 { Tag::Request(index) } else { Tag::Plain };
                    outbox.push(tag, |out| out.extend_from_slice(&line));
                }
                assert_eq!(many, single);
                if index % 7 == 3 {
                    // One that is gone, in the middle or at an end.
                    for outbox in [&mut many, &mut single] {
                        assert_eq!(outbox.withdraw(|tag| *tag == Tag::Request(index - 1)), index % 3 == 1);
                    }
                }
                if !(index % 7 == 2 && index % 3 == 0) {
                    expected.extend_from_slice(&line);
                }
                if index % 11 == 10 {
                    // Handed out half-way, and a piece is begun again.
                    let (frame, _) = many.pop().expect("there is one");
                    cut.extend_from_slice(&frame.clone().into_line());
                    assert_eq!(single.pop().map(|(frame, _)| frame), Some(frame));
                }
            }
            let mut told = Vec::new();
            while let Some(piece) = many.pop_many(enough, |_, tag| told.push(tag)) {
                assert!(piece.len() < enough + length + 4 || enough == 1, "{}", piece.len());
                cut.extend_from_slice(&piece);
            }
            assert!(many.bytes() == 0 && cut == expected, "{length} {enough}");
            let tags: Vec<_> =
                core::iter::from_fn(|| single.pop()).map(|(_, tag)| tag).filter(|tag| *tag != Tag::Plain).collect();
            assert_eq!(told, tags);
        }
    }

    #[test]
    fn a_large_message_leaves_no_memory_behind() {
        let large = b"x".repeat(1 << 20);
        let mut outbox = Outbox::default();
        let small = Room { line: 10, total: 10, always: 0 };
        assert!(outbox.offer(Tag::Plain, small, |out| out.extend_from_slice(&large)).is_err());
        assert!(outbox.open.capacity() <= 64 << 10);
        outbox.push(Tag::Plain, |out| out.extend_from_slice(b"1\n"));
        assert!(outbox.offer(Tag::Plain, small, |out| out.extend_from_slice(&large)).is_err());
        assert!(outbox.open.capacity() <= 64 << 10);
        outbox.push(Tag::Plain, |out| out.extend_from_slice(&large));
        let pieces = core::iter::from_fn(|| outbox.pop_many(usize::MAX, |_, _| {}));
        assert_eq!(pieces.map(|piece| piece.len()).sum::<usize>(), (1 << 20) + 2);
        assert!(outbox.open.capacity() <= 64 << 10);
    }
}
