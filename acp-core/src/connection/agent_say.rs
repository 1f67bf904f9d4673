//! The agent's text, by the shortest way to the wire.

use bytes::BytesMut;

use super::{Connection, recording::note};
use crate::{
    action::Delivery,
    error::{CommandError, Misuse},
    outbox::Tag,
    role::Agent,
    ticket::Scope,
    time::Timestamp,
    wire::{UpdateKind, write_chunk},
};

impl Connection<Agent> {
    /// Reports a piece of text, such as [`UpdateKind::AgentMessageChunk`]: what [`update`](Self::update) does with
    /// `{"sessionUpdate":<kind>,"content":{"type":"text","text":<text>}}`, without making that value first. The text is
    /// written once, escapes included, to where it is sent from.
    ///
    /// Version 2 wants a `messageId`: here it is one for each turn, unique on this connection only. An agent whose history
    /// outlives the connection gives its own with [`update`](Self::update).
    ///
    /// # Errors
    ///
    /// Those of [`update`](Self::update). In version 2 it takes a turn: [`Misuse::Payload`] without one.
    pub fn say(
        &mut self,
        scope: impl Into<Scope>,
        kind: &UpdateKind,
        text: &str,
        now: Timestamp,
    ) -> Result<Delivery, CommandError> {
        let scope = scope.into();
        note!(self, "say", now, "scope" = scope, "kind" = kind.as_str(), "text" = text);
        self.advance(now);
        if self.lifecycle.is_closed() {
            return Ok(Delivery::TooLate);
        }
        let session = match self.session_of(scope) {
            Ok(session) => session,
            Err(CommandError::TurnOver) => return Ok(Delivery::TooLate),
            Err(why) => return Err(why),
        };
        let message = match scope {
            _ if !self.speaks_v2() => None,
            Scope::Turn(turn) => Some(turn.0),
            Scope::Session(_) => return Err(Misuse::Payload("version 2 wants a `messageId`: use `update`").into()),
        };
        let id = self.sessions.get(session).ok_or(Misuse::UnknownSession)?.id.clone();
        let write = |out: &mut BytesMut| write_chunk(out, &id, kind, message, text);
        let Some(room) = self.may_tell(scope, write)? else { return Ok(Delivery::TooLate) };
        self.offer_within(Tag::Plain, room, write)?;
        Ok(Delivery::Queued)
    }
}
