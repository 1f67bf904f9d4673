//! Recording: what a connection is given and gives, for [`replay`](crate::replay).

use alloc::string::String;

use super::{Connection, Role};
use crate::{
    tape::{Shown, TapeLine, header, print},
    time::Timestamp,
};

/// Writes down what is called, with its arguments, if the connection is recorded.
macro_rules! note {
    ($conn:ident, $what:literal, $now:expr $(, $name:literal = $value:expr)* $(,)?) => {
        if let Some(line) = $conn.tape_line($what, $now) {
            line$(.put($name, &$value))*.end();
        }
    };
}

pub(super) use note;

impl<R: Role> Connection<R> {
    /// Records all that happens to this connection from now on, and what it answers, for [`replay`](crate::replay). What
    /// is recorded waits to be taken with [`take_recording`](Self::take_recording), at most `room` bytes of it: if there
    /// is more, the recording ends there, and says so.
    ///
    /// Returns whether it records: not if anything has happened already, since a replay has to begin at the beginning.
    ///
    /// A recording holds every text that came and went. [`redact`](crate::replay::redact) takes the texts out.
    pub fn record(&mut self, room: usize) -> bool {
        let fresh = Self::new(self.config.clone()).is_ok_and(|fresh| *self == fresh);
        if !fresh || self.tape.runs() {
            return false;
        }
        self.tape.begin(&header(R::SIDE, &self.config), room);
        true
    }

    /// What was recorded since the last call, in whole lines; `None` if nothing is being recorded.
    pub fn take_recording(&mut self) -> Option<String> {
        self.tape.take()
    }

    /// Whether it records.
    pub(crate) fn records(&self) -> bool {
        self.tape.runs()
    }

    // ---- inside ------------------------------------------------------------------------------------------------

    /// A line of the tape for what is called now: with the deadline that stands, so that a replay compares it.
    #[inline]
    pub(super) fn tape_line(&mut self, what: &'static str, now: Timestamp) -> Option<TapeLine<'_>> {
        if self.tape.runs() { self.begin_line(what, now) } else { None }
    }

    fn begin_line(&mut self, what: &'static str, now: Timestamp) -> Option<TapeLine<'_>> {
        let due = self.timers.next();
        let line = self.tape.line(what, now)?;
        Some(match due {
            Some(due) => {
                line.put("due", &due.at.saturating_duration_since(Timestamp::ZERO)).put("cause", &Shown(&due.cause))
            }
            None => line,
        })
    }

    /// A command that did nothing else, in a replay.
    pub(crate) fn tell_time(&mut self, now: Timestamp) {
        note!(self, "time", now);
        self.advance(now);
    }

    pub(super) fn note_action(&mut self, action: &R::Action) {
        let now = self.now;
        if let Some(line) = self.tape_line("action", now) {
            line.put("told", &Shown(action)).put("print", &*print(action)).end();
        }
    }
}
