//! A turn as the commands see it: say, report, ask, wait. Each of them ends early when the turn is cancelled, so that a
//! command is written as if there were no cancel.

use core::{future::Future, time::Duration};
use std::sync::Arc;

use acp_core::{Agent, CommandError, Delivery, ErrorObject, Outcome, Payload, Resolved, SessionKey, wire::StopReason};
use acp_tokio::{Handle, Turn};
use serde_json::Value;

use super::{
    dialect::Dialect,
    store::{AGENT, Mode, Store, USER},
};
use crate::shape::{internal, payload};

/// Why a command ends before its own end.
#[derive(Debug)]
pub(super) enum Halt {
    /// The turn was cancelled.
    Cancelled,
    /// The client cannot do what the command needs.
    Unsupported,
    /// The turn is answered with this error.
    Failed(ErrorObject),
}

/// A turn, and what a command needs beside it.
#[derive(Debug)]
pub(super) struct Talk {
    agent: Handle<Agent>,
    turn: Turn,
    store: Arc<Store>,
    /// The session's id on the wire.
    id: String,
    pub(super) dialect: Dialect,
}

impl Talk {
    pub(super) fn new(agent: Handle<Agent>, turn: Turn, store: Arc<Store>, dialect: Dialect) -> Self {
        let id = agent.session_id(turn.session()).unwrap_or_default();
        Self { agent, turn, store, id, dialect }
    }

    pub(super) const fn agent(&self) -> &Handle<Agent> {
        &self.agent
    }

    pub(super) const fn session(&self) -> SessionKey {
        self.turn.session()
    }

    pub(super) fn is_loud(&self) -> bool {
        self.store.mode(&self.id) == Some(Mode::Loud)
    }

    /// Keeps what the user said: from here on it has its place in the session.
    pub(super) fn heard(&self, text: &str) {
        let message = self.store.record(&self.id, USER, text);
        // Refused only while the client does not read; then the core inserts it under an id of its own.
        let _ = self.turn.insert(&message);
    }

    /// Sends one piece of the answer.
    pub(super) async fn say(&self, text: &str) -> Result<(), Halt> {
        let message = self.store.record(&self.id, AGENT, text);
        self.report(self.dialect.chunk(AGENT, &message, text)).await
    }

    /// Sends an update, once there is room for it.
    pub(super) async fn report(&self, update: Value) -> Result<(), Halt> {
        let update = payload(update);
        match self.unless_cancelled(self.turn.update(&update)).await? {
            Ok(Delivery::TooLate) => Err(Halt::Cancelled),
            Ok(_) => Ok(()),
            Err(why) => Err(Halt::Failed(internal(why))),
        }
    }

    /// Sends the last update of something that the end of the turn cuts short. It does not wait for room: a client that
    /// does not read must not hold up the end.
    pub(super) fn report_now(&self, update: Value) {
        // Refused only if 128 MiB wait already; then the client has not seen the beginning either.
        let _ = self.agent.with(|conn, now| conn.update(self.turn.key(), &payload(update), now));
    }

    /// Asks the client.
    pub(super) async fn ask(&self, method: &str, params: Value, limit: Option<Duration>) -> Result<Payload, Halt> {
        let asked = self.turn.ask(method, &payload(params), limit).await;
        asked.map_err(|why| refused(method, why)).and_then(|resolved| answer(method, resolved))
    }

    /// Waits for `future`, but not beyond the end of the turn.
    pub(super) async fn unless_cancelled<T>(&self, future: impl Future<Output = T>) -> Result<T, Halt> {
        tokio::select! {
            biased;
            () = self.turn.token().cancelled() => Err(Halt::Cancelled),
            done = future => Ok(done),
        }
    }

    /// Ends the turn.
    pub(super) fn end(self, how: Result<StopReason, Halt>) {
        let _ = match how {
            Ok(reason) => self.turn.stop(reason),
            Err(Halt::Cancelled) => self.turn.stop(StopReason::Cancelled),
            Err(Halt::Unsupported) => self.turn.stop(StopReason::EndTurn),
            Err(Halt::Failed(error)) => self.turn.fail(error),
        };
    }
}

/// What became of a question to the client.
pub(super) fn answer(method: &str, resolved: Resolved) -> Result<Payload, Halt> {
    match resolved.outcome {
        Outcome::Result(result) => Ok(result),
        Outcome::Error(error) => Err(Halt::Failed(error)),
        Outcome::Cancelled(_) => Err(Halt::Cancelled),
        other => Err(Halt::Failed(internal(format!("`{method}` got no usable answer: {other:?}")))),
    }
}

/// Why a question to the client was not sent.
pub(super) fn refused(method: &str, why: CommandError) -> Halt {
    match why {
        CommandError::NotOffered(_) | CommandError::Unsupported { .. } => Halt::Unsupported,
        CommandError::TurnOver => Halt::Cancelled,
        why => Halt::Failed(internal(format!("`{method}` was not sent: {why}"))),
    }
}
