//! A copy of a connection, to see what would happen if.

use alloc::collections::VecDeque;

use super::{Connection, Role};
use crate::tape::Tape;

impl<R: Role> Connection<R> {
    /// A copy, for model checkers, and to see what would happen if. `None` while actions wait to be taken: they hold
    /// tickets, which are never copied in passing. A copy is not recorded.
    ///
    /// Keys name the same in both. A ticket answers in the one it is given to; see [`Fork`](crate::ticket::Fork) for a
    /// copy that answers in the other.
    #[must_use]
    pub fn fork(&self) -> Option<Self> {
        // Whole, so that a new field is not forgotten here.
        let Self {
            config,
            now,
            begun,
            lifecycle,
            over,
            handshake,
            deframer,
            noise,
            outgoing,
            incoming,
            batches,
            sessions,
            turns,
            last_turn,
            peer,
            own,
            timers,
            outbox,
            actions,
            role,
            tape: _,
        } = self;
        actions.is_empty().then(|| Self {
            config: config.clone(),
            now: *now,
            begun: *begun,
            lifecycle: lifecycle.clone(),
            over: *over,
            handshake: *handshake,
            deframer: deframer.clone(),
            noise: *noise,
            outgoing: outgoing.clone(),
            incoming: incoming.clone(),
            batches: batches.clone(),
            sessions: sessions.clone(),
            turns: turns.clone(),
            last_turn: *last_turn,
            peer: *peer,
            own: *own,
            timers: timers.clone(),
            outbox: outbox.clone(),
            actions: VecDeque::new(),
            role: role.clone(),
            tape: Tape::default(),
        })
    }
}
