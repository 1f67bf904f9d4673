//! What a driver does next: when to read, what to write, when to look at the clock, and when it is over.

use alloc::format;
use core::{fmt::Display, mem};

use bytes::{Buf as _, Bytes};

use super::Desk;
use crate::{
    connection::{Connection, Role},
    error::CloseReason,
    outbox::Frame,
    time::Timestamp,
};

/// Bytes gathered into one write, and read at a time at the most.
pub const PIECE: usize = 64 << 10;

/// Bytes waiting to be written, above which senders wait for [`Desk::has_room`]: low enough that a cancel's answer is
/// never behind much, high enough to keep a pipe busy.
const MARK: usize = 64 << 10;

/// What a driver does next. Everything in it is to be waited for at once, as long as it takes; whatever happens first is
/// handed to the desk, and then [`Desk::next`] is asked again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "nothing moves by itself"]
pub enum Next {
    /// Wait, and for a command of the host's, too.
    Wait(Round),
    /// It is over. If `orderly`, end the stream of output, so that the peer sees it; else it does not take any more.
    Over {
        /// Why.
        reason: CloseReason,
        /// Everything was written and flushed.
        orderly: bool,
    },
}

/// What to wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// Read, and tell [`Desk::read`] or [`Desk::read_failed`].
    pub read: bool,
    /// Write these bytes unless they are empty, and tell [`Desk::wrote`] or [`Desk::write_failed`].
    pub write: Bytes,
    /// When all of it is written, flush, and tell [`Desk::flushed`] or [`Desk::write_failed`].
    pub flush: bool,
    /// Tell at once what was written: there is more behind it, or somebody waits for that. If not, it is told with the next
    /// thing that happens, which saves a round.
    pub hurry: bool,
    /// At this time, tell [`Desk::timeout`]. Earlier does no harm.
    pub until: Option<Timestamp>,
}

/// What was taken from the connection and is not with the peer yet.
#[derive(Debug, Default)]
pub(super) struct Output {
    piece: Bytes,
    unflushed: bool,
    /// The driver was not told to hurry with it.
    unhurried: bool,
    /// Up to when the peer may take nothing more, once the connection is over.
    patience: Option<Timestamp>,
}

impl Output {
    const fn is_clean(&self) -> bool {
        self.piece.is_empty() && !self.unflushed
    }

    /// Takes the frames that are ready, as many as one write may carry.
    fn fill<R: Role>(&mut self, conn: &mut Connection<R>) {
        // Also an empty slice holds its memory, which is wanted again.
        self.piece = Bytes::new();
        if conn.queued_bytes() == 0 {
            return;
        }
        // A recording knows of single frames.
        let piece = if conn.records() { conn.poll_transmit().map(Frame::into_line) } else { conn.transmit(PIECE) };
        self.piece = piece.unwrap_or_default();
    }
}

impl<R: Role, A, P, T: Default> Desk<R, A, P, T> {
    /// What the driver does next.
    pub fn next(&mut self, now: Timestamp) -> Next {
        self.called = false;
        // It has to know the time to tell a peer that reads slowly from one that does not read.
        self.conn.handle_timeout(now);
        // Handing out output may be the last thing that the end waited for.
        if self.output.piece.is_empty() {
            self.output.fill(&mut self.conn);
        }
        let mut until = self.conn.poll_timeout().map(|deadline| deadline.at);
        if self.conn.is_closed() {
            let patience = *self.output.patience.get_or_insert(now + self.conn.config().drain);
            let orderly = self.output.is_clean();
            // What was handed out last is still written, if the peer takes it in time.
            if orderly || now >= patience {
                return Next::Over { reason: self.reason(), orderly };
            }
            until = Some(until.map_or(patience, |until| until.min(patience)));
        }
        // What is behind it will be written and flushed at once.
        let behind = self.conn.queued_bytes() > 0;
        let flush = !self.output.is_clean() && !behind;
        let hurry = behind || self.awaits_room || self.conn.is_closed();
        self.output.unhurried = !hurry && !self.output.is_clean();
        Next::Wait(Round { read: self.wants_input(), write: self.output.piece.clone(), flush, hurry, until })
    }

    /// Bytes were read; none are the end of the input.
    pub fn read(&mut self, bytes: &[u8], now: Timestamp) {
        self.bytes_read = self.bytes_read.wrapping_add(bytes.len() as u64);
        if bytes.is_empty() { self.conn.handle_eof(now) } else { self.conn.handle_input(bytes, now) }
    }

    /// Bytes read so far.
    #[must_use]
    pub const fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// This many of the bytes were written.
    pub fn wrote(&mut self, count: usize, now: Timestamp) {
        if count == 0 {
            return self.write_failed(&"no byte is taken", now);
        }
        let Output { piece, unflushed, patience, .. } = &mut self.output;
        piece.advance(count.min(piece.len()));
        *unflushed = true;
        *patience = None;
    }

    /// All that was written is flushed.
    pub const fn flushed(&mut self) {
        self.output.unflushed = false;
    }

    /// Reading failed for good.
    pub fn read_failed(&mut self, why: &dyn Display, now: Timestamp) {
        self.conn.handle_lost(&format!("reading: {why}"), now);
    }

    /// Nothing can be written any more, so nothing that was read could be answered.
    pub fn write_failed(&mut self, why: &dyn Display, now: Timestamp) {
        self.output = Output::default();
        self.conn.handle_lost(&format!("writing: {why}"), now);
    }

    /// Time has passed.
    pub fn timeout(&mut self, now: Timestamp) {
        self.conn.handle_timeout(now);
    }

    /// The host made a command. Whether the driver has to be told: one word is enough until it asks for what is next.
    pub const fn call(&mut self) -> bool {
        !mem::replace(&mut self.called, true)
    }

    /// Whether the driver was told since it asked for what is next.
    #[must_use]
    pub const fn is_called(&self) -> bool {
        self.called
    }

    /// Somebody waits for [`Desk::has_room`] or [`Desk::is_flushed`], to be woken when [`Desk::calls_senders`]. Whether the
    /// driver has to be told, as by [`Desk::call`]: it may know of something written that nobody was in a hurry for.
    #[must_use]
    pub const fn await_room(&mut self) -> bool {
        self.awaits_room = true;
        mem::replace(&mut self.output.unhurried, false) && self.call()
    }

    /// Whether to wake those who wait for room: there is some, and somebody waits. To be asked after [`Desk::next`].
    pub const fn calls_senders(&mut self) -> bool {
        self.has_room() && mem::replace(&mut self.awaits_room, false)
    }

    /// Whether so little waits to be written that senders may go on; or nobody will write it.
    #[must_use]
    pub const fn has_room(&self) -> bool {
        self.finished || self.conn.queued_bytes() <= MARK
    }

    /// Whether everything queued so far is written and flushed; or nobody will write it.
    #[must_use]
    pub const fn is_flushed(&self) -> bool {
        self.finished || (self.conn.queued_bytes() == 0 && self.output.is_clean())
    }

    /// The driver is done; or it was dropped before the end, which is the end, too: turns stop, and nobody waits for ever.
    pub fn finish(&mut self, now: Timestamp) {
        self.conn.handle_lost("its driver was dropped", now);
        self.children.let_go(|_, _| true);
        self.finished = true;
    }

    /// Why it ended, once the driver is done: nothing new will be told.
    #[must_use]
    pub fn finished(&self) -> Option<CloseReason> {
        self.finished.then(|| self.reason())
    }

    fn reason(&self) -> CloseReason {
        self.conn.close_reason().cloned().unwrap_or(CloseReason::Local)
    }
}
