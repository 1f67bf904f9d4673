//! Gauges: they tell what a connection holds and what was agreed, and change nothing.

use super::{Connection, Role};
use crate::{
    config::Config,
    error::CloseReason,
    ticket::{IncomingKey, SessionKey, TurnKey},
    wire::Capabilities,
};

impl<R: Role> Connection<R> {
    /// Whether to read more. False after the end of the input, when the host has [`Limits::actions`] to take, and when
    /// the peer reads so little that even the reserve for answers is used up.
    ///
    /// [`Limits::actions`]: crate::Limits::actions
    #[must_use]
    pub fn wants_input(&self) -> bool {
        self.lifecycle.is_open()
            && self.actions.len() < self.config.limits.actions
            && self.outbox.bytes() < self.obligation_room()
    }

    /// Whether an action waits to be taken.
    pub(crate) fn tells(&self) -> bool {
        !self.actions.is_empty()
    }

    /// Bytes that wait to be written, line breaks included: of frames that were not handed out yet.
    #[must_use]
    pub const fn queued_bytes(&self) -> usize {
        self.outbox.bytes()
    }

    /// Bytes of input held: the line that is not complete yet.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.deframer.held()
    }

    /// Whether `Closed` has been told, or waits to be taken.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.lifecycle.is_closed()
    }

    /// Why the connection ends, once it does.
    #[must_use]
    pub const fn close_reason(&self) -> Option<&CloseReason> {
        self.lifecycle.reason()
    }

    /// The protocol version both ends speak, once agreed.
    #[must_use]
    pub const fn version(&self) -> Option<u16> {
        self.handshake.version()
    }

    /// What the peer offered in `initialize`.
    #[must_use]
    pub const fn peer_capabilities(&self) -> Capabilities {
        self.peer
    }

    /// The policy in force.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The peer's requests that wait for an answer, oldest first, with their methods.
    pub fn unanswered(&self) -> impl Iterator<Item = (IncomingKey, &str)> {
        self.incoming.iter().map(|(key, served)| (IncomingKey(key), served.method.as_str()))
    }

    /// Our requests that wait for an answer.
    #[must_use]
    pub fn unresolved(&self) -> usize {
        self.outgoing.len()
    }

    /// The agent's id of a session. `None`: this connection knows no such session, or not any more.
    #[must_use]
    pub fn session_id(&self, session: SessionKey) -> Option<&str> {
        self.sessions.get(session).map(|session| &*session.id)
    }

    /// The key of the session with this id. `None`: this connection knows no such session.
    #[must_use]
    pub fn find_session(&self, id: &str) -> Option<SessionKey> {
        self.sessions.find(id)
    }

    /// How many sessions are known here. A new one counts once its opening is answered.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// The turn that runs in a session, or is being cancelled there. `None`: none does.
    #[must_use]
    pub fn running_turn(&self, session: SessionKey) -> Option<TurnKey> {
        self.sessions.get(session)?.turns.running().map(TurnKey)
    }

    /// Whether a turn is not over: it runs, waits, or is being cancelled.
    #[must_use]
    pub fn is_live(&self, turn: TurnKey) -> bool {
        self.turns.contains_key(&turn)
    }

    /// The tool calls of a turn that have no result yet, oldest first. None of a turn that is over.
    pub fn open_tool_calls(&self, turn: TurnKey) -> impl Iterator<Item = &str> {
        self.turns.get(&turn).into_iter().flat_map(|turn| turn.transcript.open())
    }
}
