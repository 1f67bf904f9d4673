//! Text of the agent's, on the shortest way to the wire.

use super::Connection;
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
    /// # Errors
    ///
    /// Those of [`update`](Self::update).
    pub fn say(
        &mut self,
        scope: impl Into<Scope>,
        kind: &UpdateKind,
        text: &str,
        now: Timestamp,
    ) -> Result<Delivery, CommandError> {
        self.advance(now);
        if self.lifecycle.is_closed() {
            return Ok(Delivery::TooLate);
        }
        let session = match self.session_of(scope.into()) {
            Ok(session) => session,
            Err(CommandError::TurnOver) => return Ok(Delivery::TooLate),
            Err(why) => return Err(why),
        };
        let id = self.sessions.get(session).ok_or(Misuse::UnknownSession)?.id.clone();
        self.offer(Tag::Plain, |out| write_chunk(out, &id, kind.as_str(), text))?;
        Ok(Delivery::Queued)
    }
}
