//! The agent's commands.

use alloc::format;

use super::{
    Connection,
    answer::Duty,
    turns::{STOP_CANCELLED, Turn},
};
use crate::{
    action::{AgentAction, Delivery, TurnEnd},
    error::{CommandError, Misuse, Refused},
    machine::{Ended, HandshakeInput, Machine, Transcript, TranscriptInput, TurnInput, TurnOutput},
    outbox::Tag,
    role::Agent,
    session::Stage,
    ticket::{IncomingKey, InitializeTicket, Scope, SessionKey, SessionTicket, TurnKey, TurnTicket},
    time::Timestamp,
    wire::{Capabilities, ErrorObject, Method, Payload, StopReason, ToolCallStatus, dialect::v1, write_notification},
};

impl Connection<Agent> {
    /// Answers `initialize`: from here on, everything else may pass. `result` is an object without `protocolVersion`,
    /// which the core adds; its `agentCapabilities` decide which methods reach the host.
    ///
    /// # Errors
    ///
    /// `result` is not an object. The ticket comes back.
    pub fn accept_initialize(
        &mut self,
        ticket: InitializeTicket,
        result: &Payload,
        now: Timestamp,
    ) -> Result<Delivery, Refused<InitializeTicket>> {
        self.advance(now);
        let Some(Duty::Initialize { version }) = self.duty(ticket.key).cloned() else { return Ok(Delivery::TooLate) };
        let member = format!(r#""protocolVersion":{version}"#);
        let Some(result) = Payload::splice(member.as_bytes(), result) else {
            let why = Misuse::Payload("the result of `initialize` must be a JSON object").into();
            return Err(Refused { ticket, why });
        };
        self.own = Capabilities::of_agent(&result);
        let _ = self.handshake.step(HandshakeInput::Settle(version));
        Ok(self.answer(ticket.key, Ok(&result)))
    }

    /// Answers `initialize` with an error. A later one may succeed.
    pub fn reject_initialize(&mut self, ticket: InitializeTicket, error: &ErrorObject, now: Timestamp) -> Delivery {
        self.advance(now);
        if self.duty(ticket.key).is_some() {
            let _ = self.handshake.step(HandshakeInput::Withdraw);
        }
        self.answer(ticket.key, Err(error))
    }

    /// Answers a request that opens a session, and makes it known. For new and fork, `result` must name the `sessionId`,
    /// one that is not open here yet.
    ///
    /// # Errors
    ///
    /// `sessionId` is missing or taken, or there are too many sessions. The ticket comes back.
    pub fn accept_session(
        &mut self,
        ticket: SessionTicket,
        result: &Payload,
        now: Timestamp,
    ) -> Result<(SessionKey, Delivery), Refused<SessionTicket>> {
        self.advance(now);
        let opened = match self.duty(ticket.key).cloned() {
            Some(Duty::Open { session: Some(session), .. }) => Ok(session),
            Some(Duty::Open { session: None, .. }) => self.intern_new(result),
            _ => Err(CommandError::Closed),
        };
        let session = match opened {
            Ok(session) => session,
            Err(why) => return Err(Refused { ticket, why }),
        };
        self.reopen(session);
        Ok((session, self.answer(ticket.key, Ok(result))))
    }

    fn intern_new(&mut self, result: &Payload) -> Result<SessionKey, CommandError> {
        let id = v1::session_id(result)
            .filter(|id| !id.is_empty())
            .ok_or(Misuse::Payload("the result needs `sessionId`, a string that is not empty"))?;
        if self.sessions.find(&id).is_some() {
            return Err(Misuse::Payload("the `sessionId` of the result is open already").into());
        }
        self.sessions.intern(&id, Stage::Open).ok_or(CommandError::Full { what: "limits.sessions" })
    }

    /// Answers a request that opens a session with an error.
    pub fn reject_session(&mut self, ticket: SessionTicket, error: &ErrorObject, now: Timestamp) -> Delivery {
        self.advance(now);
        match self.duty(ticket.key).cloned() {
            Some(Duty::Open { session: Some(session), fresh: true, .. }) => self.forget_session(session),
            Some(Duty::Open { session: Some(session), fresh: false, .. }) => self.reopen(session),
            _ => {}
        }
        self.answer(ticket.key, Err(error))
    }

    /// Reports progress: sends a `session/update`. `update` is the object that goes into its `update` member.
    ///
    /// In a turn that is over it is [`Delivery::TooLate`] and nothing is sent: "the Agent MUST send all updates before it
    /// responds" (ACP v1, Prompt Turn). News about the session itself go to the session's scope.
    ///
    /// # Errors
    ///
    /// [`CommandError::Full`] if too much waits to be written; nothing was sent.
    pub fn update(
        &mut self,
        scope: impl Into<Scope>,
        update: &Payload,
        now: Timestamp,
    ) -> Result<Delivery, CommandError> {
        self.advance(now);
        if self.lifecycle.is_closed() {
            return Ok(Delivery::TooLate);
        }
        let scope = scope.into();
        let session = match self.session_of(scope) {
            Ok(session) => session,
            Err(CommandError::TurnOver) => return Ok(Delivery::TooLate),
            Err(why) => return Err(why),
        };
        if !update.is_object() {
            return Err(Misuse::Payload("the update must be a JSON object").into());
        }
        let id = self.sessions.get(session).ok_or(Misuse::UnknownSession)?.id_json.clone();
        let name = Method::SessionUpdate.name();
        self.offer(Tag::Plain, |out| {
            // Written in place: an update is what there is most of.
            write_update(out, name, &id, update);
        })?;
        if let Scope::Turn(turn) = scope
            && let Some(turn) = self.turns.get_mut(&turn)
            && let Some(seen) = v1::tool_call(update)
        {
            match seen.status {
                Some(ToolCallStatus::Completed | ToolCallStatus::Failed) => {
                    turn.transcript.step(TranscriptInput::Finished(&seen.id));
                }
                Some(_) => turn.transcript.step(TranscriptInput::Open(&seen.id)),
                // Pending is what a call begins with, and may be left out.
                None if seen.is_new => turn.transcript.step(TranscriptInput::Open(&seen.id)),
                None => {}
            }
        }
        Ok(Delivery::Queued)
    }

    /// Ends a prompt turn: answers `session/prompt`, after all its updates. A turn that was cancelled is answered
    /// `cancelled`, whatever `end` says; one that was not never is: `cancelled` then goes out as an error of code -32800.
    pub fn end_turn(&mut self, ticket: TurnTicket, end: &TurnEnd, now: Timestamp) -> Delivery {
        self.advance(now);
        self.settle_turn(ticket.turn, end)
    }

    /// The one way in which a turn ends.
    pub(super) fn settle_turn(&mut self, turn: TurnKey, end: &TurnEnd) -> Delivery {
        let Some(Turn { session, request, transcript, .. }) = self.retire_turn(turn) else {
            return Delivery::TooLate;
        };
        let key = IncomingKey(request);
        let Some(TurnOutput::Ended(Ended { cancelled, next })) = self.step_turns(session, TurnInput::End(turn.0))
        else {
            return Delivery::TooLate;
        };
        // `cancelled` that nobody asked for is answered with an error, so it failed.
        if cancelled || !matches!(end, TurnEnd::Stop(reason) if *reason != StopReason::Cancelled) {
            self.close_tool_calls(session, turn, transcript);
        }
        let delivery = match end {
            TurnEnd::Stop(StopReason::Cancelled) if cancelled => match self.answer_cancelled(key, STOP_CANCELLED) {
                Delivery::AsCancelled => Delivery::Queued,
                other => other,
            },
            _ if cancelled => self.answer_cancelled(key, STOP_CANCELLED),
            TurnEnd::Stop(StopReason::Cancelled) => match self.answer(key, Err(&Self::cancelled_error("the prompt"))) {
                Delivery::Queued => Delivery::AsWithdrawn,
                other => other,
            },
            TurnEnd::Stop(reason) => match Payload::try_from(serde_json::json!({ "stopReason": reason.as_str() })) {
                Ok(result) => self.answer(key, Ok(&result)),
                Err(_) => self.answer_cancelled(key, STOP_CANCELLED),
            },
            TurnEnd::Error(error) => self.answer(key, Err(error)),
        };
        if let Some((next, true)) = next {
            self.start_turn(TurnKey(next));
        }
        self.turns_over(session);
        delivery
    }

    /// Gives every open tool call of a turn that did not come to its own end a last word, before the turn's answer.
    fn close_tool_calls(&mut self, session: SessionKey, turn: TurnKey, transcript: Transcript) {
        let calls = transcript.close();
        let Some(known) = self.sessions.get(session).filter(|_| !calls.is_empty()) else { return };
        let id = known.id_json.clone();
        for call in &calls {
            let update = serde_json::json!({
                "sessionUpdate": "tool_call_update",
                "toolCallId": call,
                "status": "failed",
                "content": [{ "type": "content", "content": { "type": "text", "text": "cancelled" } }],
            });
            if let Ok(update) = Payload::try_from(update) {
                self.outbox.push(Tag::Plain, |out| write_update(out, Method::SessionUpdate.name(), &id, &update));
            }
        }
        self.tell(AgentAction::ToolCallsClosed { session, turn, calls });
    }

    /// Tells the host of a prompt.
    pub(super) fn start_turn(&mut self, key: TurnKey) {
        let Some(turn) = self.turns.get_mut(&key) else { return };
        let ticket = TurnTicket { key: IncomingKey(turn.request), turn: key, session: turn.session };
        if let Some(params) = turn.params.take() {
            self.tell(AgentAction::Prompt { ticket, params });
        }
    }
}

fn write_update(out: &mut bytes::BytesMut, method: &str, session: &Payload, update: &Payload) {
    let params = Payload::splice(
        &[br#""sessionId":"#, session.as_bytes(), br#","update":"#, update.as_bytes()].concat(),
        &Payload::EMPTY,
    );
    write_notification(out, method, params.as_ref());
}
