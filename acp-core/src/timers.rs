//! The deadlines of a connection: one for each owner, disarmed before it fires.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::{
    ticket::{IncomingKey, RequestKey, SessionKey, TurnKey},
    time::Timestamp,
};

/// When to call `handle_timeout`, and what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Deadline {
    /// Not before this time.
    pub at: Timestamp,
    /// What will be due.
    pub cause: Cause,
}

/// What a deadline is for, and what happens when it passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// A request of ours should be answered by now: it resolves as [`Outcome::TimedOut`](crate::Outcome::TimedOut).
    Request(RequestKey),
    /// A Stop should be confirmed by now ([`Config::stop_confirm`](crate::Config::stop_confirm)): the connection ends.
    StopConfirm(TurnKey),
    /// The host should have ended a cancelled turn by now
    /// ([`Config::force_cancelled`](crate::Config::force_cancelled)): it is answered `cancelled`.
    ForceCancelled(TurnKey),
    /// The turns of a closing session should be over by now
    /// ([`Config::close_session`](crate::Config::close_session)): they are answered in the host's place.
    CloseSession(SessionKey),
    /// The connection is ending, and the time for it ([`Config::drain`](crate::Config::drain)) is up: what is still owed is
    /// answered in the host's place; if that was done before, what the peer does not read is dropped.
    Drain,
    /// Nothing has happened for [`Config::idle`](crate::Config::idle): the connection closes.
    Idle,
    /// Nothing has arrived for [`Config::silence`](crate::Config::silence): the host is told.
    Silence,
    /// A permission request has been open for [`Config::permission`](crate::Config::permission): the host is told.
    Permission(IncomingKey),
    /// A request of ours that was to be cancelled is still open after
    /// [`Config::cancel_confirm`](crate::Config::cancel_confirm): the host is told.
    CancelConfirm(RequestKey),
}

/// The armed deadlines, soonest first. Arming again moves a deadline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Timers {
    by_cause: BTreeMap<Cause, Timestamp>,
    by_time: BTreeSet<(Timestamp, Cause)>,
}

impl Timers {
    pub(crate) fn arm(&mut self, cause: Cause, at: Timestamp) {
        self.disarm(cause);
        self.by_cause.insert(cause, at);
        self.by_time.insert((at, cause));
    }

    pub(crate) fn disarm(&mut self, cause: Cause) {
        if let Some(at) = self.by_cause.remove(&cause) {
            self.by_time.remove(&(at, cause));
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn is_armed(&self, cause: Cause) -> bool {
        self.by_cause.contains_key(&cause)
    }

    pub(crate) fn next(&self) -> Option<Deadline> {
        self.by_time.first().map(|(at, cause)| Deadline { at: *at, cause: *cause })
    }

    /// Takes one deadline that is due, so that firing it cannot find it armed.
    pub(crate) fn take_due(&mut self, now: Timestamp) -> Option<Cause> {
        let Deadline { at, cause } = self.next()?;
        (at <= now).then(|| {
            self.disarm(cause);
            cause
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Cause, Deadline, Timers};
    use crate::{ticket::RequestKey, time::Timestamp};

    #[test]
    fn deadlines_come_soonest_first_and_are_disarmed_before_they_fire() {
        let at = Timestamp::from_millis;
        let first = Cause::Request(RequestKey(1));
        let mut timers = Timers::default();
        timers.arm(Cause::Drain, at(20));
        timers.arm(first, at(30));
        timers.arm(first, at(10));
        assert_eq!(timers.next(), Some(Deadline { at: at(10), cause: first }));
        assert_eq!(timers.take_due(at(9)), None);
        assert_eq!(timers.take_due(at(15)), Some(first));
        assert!(!timers.is_armed(first));
        assert_eq!(timers.take_due(at(15)), None);
        timers.disarm(Cause::Drain);
        assert_eq!(timers.next(), None);
        assert_eq!(timers, Timers::default(), "nothing is left behind");
    }
}
