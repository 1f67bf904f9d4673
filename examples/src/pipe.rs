//! A pipe in memory, of bounded size, and two ends with two of them in between. Nobody waits in here: whoever uses a pipe
//! is told whether something moved.

use std::collections::VecDeque;

use acp_core::{Agent, Client, CommandError, Connection, Frame, Role, Timestamp};
use bytes::Bytes;

use crate::bare::{End, Host, is_idle};

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

    /// Ends the stream, after what is in it. Whether it had not ended before.
    pub const fn close(&mut self) -> bool {
        !core::mem::replace(&mut self.closed, true)
    }
}

/// Both ends of one connection, the pipes between them, and the frame that each is writing.
#[derive(Debug)]
pub struct Pair<C, A> {
    /// The client's end.
    pub client: End<Client, C>,
    /// The agent's end.
    pub agent: End<Agent, A>,
    pipes: [Pipe; 2],
    frames: [Bytes; 2],
}

impl<C: Host<Client>, A: Host<Agent>> Pair<C, A> {
    /// Two ends with pipes that hold `room` bytes each.
    #[must_use]
    pub const fn new(client: End<Client, C>, agent: End<Agent, A>, room: usize) -> Self {
        Self { client, agent, pipes: [Pipe::new(room), Pipe::new(room)], frames: [Bytes::new(), Bytes::new()] }
    }

    /// Lets both talk until neither has more to say.
    ///
    /// # Errors
    ///
    /// A host gave up.
    pub fn settle(&mut self, now: Timestamp) -> Result<(), CommandError> {
        let ([there, back], [asked, said]) = (&mut self.pipes, &mut self.frames);
        loop {
            let (asks, _) = advance(&mut self.client, [back, there], asked, now)?;
            let (says, _) = advance(&mut self.agent, [there, back], said, now)?;
            if !asks && !says {
                return Ok(());
            }
        }
    }

    /// Whether nothing is open, held, armed or waiting to be written at either end.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        is_idle(&self.client.conn) && is_idle(&self.agent.conn)
    }

    /// Whether both ends are closed.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.client.conn.is_closed() && self.agent.conn.is_closed()
    }
}

/// Moves what one end can move now: out of its input, and into its output. Whether that was anything, and when it will have
/// more to do by itself.
///
/// # Errors
///
/// The host gave up.
pub fn advance<R: Role>(
    end: &mut End<R, impl Host<R>>,
    [input, output]: [&mut Pipe; 2],
    frame: &mut Bytes,
    now: Timestamp,
) -> Result<(bool, Option<Timestamp>), CommandError> {
    let read = input.read(&mut end.conn, now);
    let due = end.step(now)?;
    if frame.is_empty() {
        *frame = end.conn.poll_transmit().map(Frame::into_line).unwrap_or_default();
    }
    let wrote = output.write(frame);
    let ended = frame.is_empty() && end.conn.is_closed() && output.close();
    Ok((read || wrote || ended, due))
}
