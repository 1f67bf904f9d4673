//! One end with its connection, and the way to it.

use std::collections::{BTreeMap, VecDeque};

use acp_core::{Config, FrameId, Role, SessionKey, Timestamp};

use super::errands::id;
use crate::{model::words::Break, taped::Taped};

/// One end.
#[derive(Debug)]
pub(super) struct Half<R: Role> {
    pub(super) conn: Taped<R>,
    /// The keys of the sessions, the last of each, and which is whose.
    pub(super) sessions: BTreeMap<usize, SessionKey>,
    pub(super) keys: BTreeMap<SessionKey, usize>,
    /// Lines on their way here, which frames they are, and how much of the first was read.
    pipe: VecDeque<(Vec<u8>, Option<FrameId>)>,
    read: usize,
    broken: bool,
}

impl<R: Role> Half<R> {
    pub(super) fn new(config: Config) -> Self {
        Self {
            conn: Taped::new(config),
            sessions: BTreeMap::new(),
            keys: BTreeMap::new(),
            pipe: VecDeque::new(),
            read: 0,
            broken: false,
        }
    }

    /// The next bytes: so many whole frames, and of the next one so many 256ths, never all that is needed to know it.
    pub(super) fn bytes(&mut self, whole: u8, part: u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        for _ in 0..whole {
            let Some((frame, _)) = self.pipe.pop_front() else { break };
            bytes.extend_from_slice(&frame[self.read..]);
            self.read = 0;
        }
        if let Some((frame, _)) = self.pipe.front().filter(|_| part > 0) {
            let upto = if part == 1 { 1 } else { frame.len() * usize::from(part) / 256 }.max(self.read);
            bytes.extend_from_slice(&frame[self.read..upto]);
            self.read = upto;
        }
        bytes
    }

    pub(super) fn deliver(&mut self, whole: u8, part: u8, piece: u8, now: Timestamp) {
        let bytes = self.bytes(whole, part);
        let piece = if piece == 0 { bytes.len().max(1) } else { piece.into() };
        for piece in bytes.chunks(piece) {
            self.conn.handle_input(piece, now);
        }
    }

    pub(super) fn break_off(&mut self, how: Break, now: Timestamp) {
        if how != Break::Close {
            (self.broken, self.read) = (true, 0);
            self.pipe.clear();
        }
        match how {
            Break::Close => self.conn.close(now),
            Break::Eof => self.conn.handle_eof(now),
            Break::Lost => self.conn.handle_lost("broken pipe", now),
        }
    }

    /// Notes the keys of these sessions.
    pub(super) fn note(&mut self, sessions: usize) {
        for session in 1..=sessions {
            if let Some(key) = self.conn.find_session(&id(session)) {
                self.sessions.insert(session, key);
                self.keys.insert(key, session);
            }
        }
    }

    /// The next frame, which is on its way to the other end from here on.
    pub(super) fn transmit<O: Role>(&mut self, other: &mut Half<O>) -> Option<Vec<u8>> {
        let frame = self.conn.poll_transmit()?;
        let (id, line) = (frame.id(), frame.into_line().to_vec());
        assert!(line.ends_with(b"\n") && line.iter().filter(|byte| **byte == b'\n').count() == 1, "one line");
        other.put(line.clone(), Some(id));
        Some(line)
    }

    pub(super) fn put(&mut self, line: Vec<u8>, frame: Option<FrameId>) {
        if !self.broken {
            self.pipe.push_back((line, frame));
        }
    }

    /// A frame of this end does not arrive: so many were put into the pipe after it.
    pub(super) fn lose<O: Role>(&mut self, other: &mut Half<O>, back: u8, now: Timestamp) {
        let place = other.pipe.len() - 1 - usize::from(back);
        if let Some((_, Some(frame))) = other.pipe.remove(place) {
            self.conn.handle_transmit_failed(frame, now);
        }
    }
}
