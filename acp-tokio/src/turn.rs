//! A prompt turn in the agent's hands, with its cancellation token.
//!
//! Both adapters have this file: one of them has a link to it.

use core::time::Duration;

use acp_core::{
    Agent, CommandError, Delivery, ErrorObject, Payload, Resolved, SessionKey, TurnEnd, TurnKey, TurnTicket,
    wire::{StopReason, UpdateKind},
};

use crate::{Handle, runtime::Token};

/// A prompt turn: report in it, ask in it, and end it. Dropped without an end, it is answered for you: `cancelled` if it
/// was, an error if not.
#[derive(Debug)]
#[must_use = "a turn that is never ended leaves the client waiting"]
pub struct Turn {
    agent: Handle<Agent>,
    ticket: Option<TurnTicket>,
    turn: TurnKey,
    session: SessionKey,
    token: Token,
}

impl Handle<Agent> {
    /// Takes charge of a turn, from the ticket of [`AgentAction::Prompt`](acp_core::AgentAction::Prompt).
    pub fn turn(&self, ticket: TurnTicket) -> Turn {
        let (turn, session) = (ticket.turn(), ticket.session());
        let token = self.shared.lock().desk.token(turn).clone();
        Turn { agent: self.clone(), ticket: Some(ticket), turn, session, token }
    }
}

impl Turn {
    /// Names the turn.
    #[must_use]
    pub const fn key(&self) -> TurnKey {
        self.turn
    }

    /// Its session.
    #[must_use]
    pub const fn session(&self) -> SessionKey {
        self.session
    }

    /// Fired when the turn is to stop, and for no other reason: not by dropping anything, and never for another turn.
    /// The driver fires it as soon as it has read the cancel, however far behind the host's actions are.
    #[must_use]
    pub const fn token(&self) -> &Token {
        &self.token
    }

    /// Inserts the prompt into its session under this id, in version 2: see
    /// [`Connection::insert_prompt`](acp_core::Connection::insert_prompt).
    ///
    /// # Errors
    ///
    /// The id is empty, or the user's message has no room at present.
    pub fn insert(&self, message: &str) -> Result<Delivery, CommandError> {
        self.agent.with(|conn, now| conn.insert_prompt(self.turn, message, now))
    }

    /// Reports progress, once there is room for it.
    ///
    /// # Errors
    ///
    /// The update is larger than may wait to be written, or than a line may be.
    pub async fn update(&self, update: &Payload) -> Result<Delivery, CommandError> {
        self.agent.update(self.turn, update).await
    }

    /// Reports a piece of text, once there is room for it: see [`Connection::say`](acp_core::Connection::say).
    ///
    /// # Errors
    ///
    /// The text is larger than may wait to be written, or than a line may be.
    pub async fn say(&self, kind: &UpdateKind, text: &str) -> Result<Delivery, CommandError> {
        self.agent.say(self.turn, kind, text).await
    }

    /// Asks the client for something: permission, a file, a terminal. The core adds `sessionId` to `params`. When the
    /// turn is cancelled, the outcome is [`Outcome::Cancelled`](acp_core::Outcome::Cancelled) at once.
    ///
    /// # Errors
    ///
    /// [`CommandError`]: nothing was sent, for example because the client did not offer it.
    pub async fn ask(
        &self,
        method: &str,
        params: &Payload,
        timeout: Option<Duration>,
    ) -> Result<Resolved, CommandError> {
        Ok(self.agent.request_in(self.turn, method, params, timeout)?.await)
    }

    /// Ends the turn. If it was cancelled, the answer is `cancelled` whatever this says.
    pub fn end(mut self, end: &TurnEnd) -> Delivery {
        self.finish(end)
    }

    /// Ends the turn with a stop reason.
    pub fn stop(self, reason: StopReason) -> Delivery {
        self.end(&TurnEnd::Stop(reason))
    }

    /// Ends the turn with an error.
    pub fn fail(self, error: ErrorObject) -> Delivery {
        self.end(&TurnEnd::Error(error))
    }

    fn finish(&mut self, end: &TurnEnd) -> Delivery {
        let Some(ticket) = self.ticket.take() else { return Delivery::TooLate };
        self.agent.shared.with(|state, now| state.desk.end_turn(ticket, end, now))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.agent.shared.with(|state, now| state.desk.abandon_turn(&ticket, now));
        }
    }
}
