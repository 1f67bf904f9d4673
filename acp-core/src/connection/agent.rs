//! The agent's commands.

use alloc::{collections::BTreeMap, format};

use super::{Connection, agent_work::Kept, answer::Duty, recording::note};
use crate::{
    action::{AgentAction, Delivery, TurnEnd},
    error::{CommandError, Misuse, Refused},
    machine::{HandshakeInput, Machine},
    outbox::Tag,
    role::Agent,
    session::Stage,
    ticket::{IncomingKey, InitializeTicket, Scope, SessionKey, SessionTicket, TurnKey, TurnTicket},
    time::Timestamp,
    wire::{
        Capabilities, ErrorObject, Method, Payload,
        dialect::{v1, v2},
        write_update,
    },
};

/// What only an agent keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AgentState {
    /// Whether a login has to come first.
    pub(super) auth_required: bool,
    /// Version 2: what is kept of each session.
    pub(super) kept: BTreeMap<SessionKey, Kept>,
}

impl Connection<Agent> {
    /// Whether a login has to come first. While it has, requests that open a session (new, load, resume, fork) and
    /// prompts are answered -32000 without asking the host; what runs goes on, and may be cancelled and closed.
    ///
    /// Off at first, because most agents need none. Who logs in, and when that is no longer good, the host knows alone:
    /// switch it on before `initialize` is answered or when a login expires, and off before a good `authenticate` is
    /// answered, so that what the client sends upon the answer passes.
    pub fn set_auth_required(&mut self, required: bool) {
        note!(self, "set_auth_required", self.now, "required" = required);
        self.role.auth_required = required;
    }

    /// Whether a login has to come first: see [`set_auth_required`](Self::set_auth_required).
    #[must_use]
    pub const fn auth_required(&self) -> bool {
        self.role.auth_required
    }

    /// Answers `initialize`: from here on, everything else may pass. `result` is an object without `protocolVersion`,
    /// which the core adds, in the shape of the version that [`AgentAction::Initialize`] tells. Its `agentCapabilities`,
    /// `capabilities` in version 2, decide which methods reach the host.
    ///
    /// # Errors
    ///
    /// `result` is not an object, or lacks the `info` that version 2 requires. The ticket comes back.
    pub fn accept_initialize(
        &mut self,
        ticket: InitializeTicket,
        result: &Payload,
        now: Timestamp,
    ) -> Result<Delivery, Refused<InitializeTicket>> {
        note!(self, "accept_initialize", now, "ticket" = ticket.key, "result" = result);
        self.advance(now);
        let Some(Duty::Initialize { version, before }) = self.duty(ticket.key).cloned() else {
            return Ok(Delivery::TooLate);
        };
        let member = format!(r#""protocolVersion":{version}"#);
        let Some(result) = Payload::splice(member.as_bytes(), result) else {
            let why = Misuse::Payload("the result of `initialize` must be a JSON object").into();
            return Err(Refused { ticket, why });
        };
        if version >= 2 && !v2::has_info(&result) {
            let why = Misuse::Payload("version 2 of the protocol wants `info`, with a `name` and a `version`").into();
            return Err(Refused { ticket, why });
        }
        let delivery = self.answer(ticket.key, Ok(&result));
        // An answer that went out as an error agrees on nothing: the client may try again.
        let agreed = delivery == Delivery::Queued;
        if agreed {
            self.own = Capabilities::of_agent(&result);
            let _ = self.handshake.step(HandshakeInput::Settle(version));
        } else {
            self.withdraw_initialize(before);
        }
        Ok(delivery)
    }

    /// Answers `initialize` with an error. A later one may succeed.
    pub fn reject_initialize(&mut self, ticket: InitializeTicket, error: &ErrorObject, now: Timestamp) -> Delivery {
        note!(self, "reject_initialize", now, "ticket" = ticket.key, "error" = error);
        self.advance(now);
        if let Some(Duty::Initialize { before, .. }) = self.duty(ticket.key) {
            self.withdraw_initialize(*before);
        }
        self.answer(ticket.key, Err(error))
    }

    /// Answers a request that opens a session, and makes it known. For new and fork, `result` must name the `sessionId`,
    /// one that is not open here yet.
    ///
    /// # Errors
    ///
    /// `sessionId` is missing or taken, or there are too many sessions. The ticket comes back. A result that is too long
    /// for a line is [`Delivery::AsError`], and the key then names nothing, since the client knows of no such session.
    pub fn accept_session(
        &mut self,
        ticket: SessionTicket,
        result: &Payload,
        now: Timestamp,
    ) -> Result<(SessionKey, Delivery), Refused<SessionTicket>> {
        note!(self, "accept_session", now, "ticket" = ticket.key, "result" = result);
        self.advance(now);
        let opened = match self.duty(ticket.key).cloned() {
            Some(Duty::Open { session: Some(session), fresh, method, replay }) => {
                if method == Method::SessionResume && self.speaks_v2() {
                    // Where the history ends, and what the session is at, comes before the answer.
                    if replay {
                        self.write_update_of(session, &Payload::from_static(v2::REPLAY_COMPLETE));
                    }
                    self.report_again(session);
                }
                Ok((session, fresh))
            }
            Some(Duty::Open { session: None, .. }) => self.intern_new(result).map(|session| (session, true)),
            _ => Err(CommandError::Closed),
        };
        let (session, fresh) = match opened {
            Ok(opened) => opened,
            Err(why) => return Err(Refused { ticket, why }),
        };
        let delivery = self.answer(ticket.key, Ok(result));
        if delivery == Delivery::AsError {
            // The client was told that it failed.
            self.opening_failed(session, fresh);
        } else if let Some(session) = self.sessions.get_mut(session) {
            session.stage = Stage::Open;
        }
        Ok((session, delivery))
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
        note!(self, "reject_session", now, "ticket" = ticket.key, "error" = error);
        self.advance(now);
        if let Some(Duty::Open { session: Some(session), fresh, .. }) = self.duty(ticket.key).cloned() {
            self.opening_failed(session, fresh);
        }
        self.answer(ticket.key, Err(error))
    }

    /// Reports progress: sends a `session/update`. `update` is the object that goes into its `update` member.
    ///
    /// In a turn that is over it is [`Delivery::TooLate`] and nothing is sent: "the Agent MUST send all updates before it
    /// responds" (ACP v1, Prompt Turn). News about the session itself go to the session's scope.
    ///
    /// A `subagent_update` makes the child session known that it names: [`find_session`](Self::find_session) has its key.
    /// In version 2 the first update in a turn [inserts](Self::insert_prompt) its prompt, messages and pieces of them need
    /// a `messageId`, and `state_update` and `replay_complete` are the core's to send.
    ///
    /// # Errors
    ///
    /// [`CommandError::Full`] if too much waits to be written; nothing was sent. The update is no object, or not what its
    /// version allows.
    pub fn update(
        &mut self,
        scope: impl Into<Scope>,
        update: &Payload,
        now: Timestamp,
    ) -> Result<Delivery, CommandError> {
        let scope = scope.into();
        note!(self, "update", now, "scope" = scope, "update" = update);
        self.advance(now);
        if self.lifecycle.is_closed() {
            return Ok(Delivery::TooLate);
        }
        let session = match self.session_of(scope) {
            Ok(session) => session,
            Err(CommandError::TurnOver) => return Ok(Delivery::TooLate),
            Err(why) => return Err(why),
        };
        if !update.is_object() {
            return Err(Misuse::Payload("the update must be a JSON object").into());
        }
        let kind = match self.speaks_v2() {
            true => Some(self.check_update(scope, session, update)?),
            false => None,
        };
        let child = v2::announced(update.as_bytes());
        if child.as_ref().is_some_and(|(id, _)| self.sessions.is_full() && self.sessions.find(id).is_none()) {
            return Err(CommandError::Full { what: "limits.sessions" });
        }
        let id = self.sessions.get(session).ok_or(Misuse::UnknownSession)?.id.clone();
        let Some(room) = self.may_tell(scope, |out| write_update(out, &id, update))? else {
            return Ok(Delivery::TooLate);
        };
        // Written in place: an update is what there is most of.
        self.offer_within(Tag::Plain, room, |out| write_update(out, &id, update))?;
        if let Some((id, cancel)) = child {
            self.sessions.adopt(&id, session, cancel);
        }
        if let Some(kind) = &kind {
            self.note_update(session, kind, update);
        }
        let turn = match scope {
            Scope::Turn(turn) => self.turns.get_mut(&turn),
            Scope::Session(_) => None,
        };
        let seen = || match &kind {
            Some(kind) => v2::tool_call(kind, update.as_bytes()),
            None => v1::tool_call(update),
        };
        if let Some((turn, seen)) = turn.and_then(|turn| Some((turn, seen()?))) {
            // They are our host's own: it sent each of them.
            turn.note_tool_call(&seen, usize::MAX);
        }
        Ok(Delivery::Queued)
    }

    /// Ends a prompt turn: answers `session/prompt`, after all its updates. A turn that was cancelled is answered
    /// `cancelled`, whatever `end` says; one that was not never is: `cancelled` then goes out as an error of code -32800.
    pub fn end_turn(&mut self, ticket: TurnTicket, end: &TurnEnd, now: Timestamp) -> Delivery {
        note!(self, "end_turn", now, "turn" = ticket.turn, "ticket" = ticket.key, "end" = end);
        self.advance(now);
        self.settle_turn(ticket.turn, end, false)
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
