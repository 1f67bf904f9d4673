//! The client's commands.

use alloc::collections::BTreeMap;

use super::{
    Connection,
    answer::Duty,
    call::Purpose,
    turns::{OUTCOME_CANCELLED, Turn},
};
use crate::{
    action::{CancelCause, Cancellation, ClientAction, Decision, Delivery, Outcome, Settlement},
    error::{CommandError, Misuse},
    machine::{Asked, CancelKind, CancelScope, Cancelled, HandshakeInput, Machine, TurnInput, TurnOutput, TurnReject},
    outbox::Tag,
    role::Client,
    ticket::{FrameId, IncomingKey, PermissionTicket, RequestKey, Scope, SessionKey, TurnKey},
    time::Timestamp,
    timers::Cause,
    wire::{Capabilities, Method, MethodName, Payload, write_notification},
};

/// What only a client keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ClientState {
    /// Updates of sessions that are not known yet, by id.
    pub(super) early: BTreeMap<alloc::boxed::Box<str>, alloc::vec::Vec<Payload>>,
}

impl Connection<Client> {
    /// Opens the connection: sends `initialize`. `params` is an object without `protocolVersion`, which comes from the
    /// configuration. The answer is told as [`Common::Resolved`](crate::Common::Resolved); if its version is not
    /// spoken here, the connection closes, as the protocol says it should. After an error it may be tried again.
    ///
    /// # Errors
    ///
    /// [`Misuse::AlreadyInitialized`] while one is open or after one succeeded; otherwise see [`CommandError`].
    pub fn initialize(&mut self, params: &Payload, now: Timestamp) -> Result<RequestKey, CommandError> {
        self.advance(now);
        if !self.lifecycle.is_open() {
            return Err(CommandError::Closed);
        }
        let newest = self.config.versions.iter().copied().max().unwrap_or(1);
        let version = self.config.offer.unwrap_or(newest);
        let member = alloc::format!(r#""protocolVersion":{version}"#);
        let params = Payload::splice(member.as_bytes(), params)
            .ok_or(Misuse::Payload("the params of `initialize` must be a JSON object"))?;
        let mut next = self.handshake;
        next.step(HandshakeInput::Offer(version)).map_err(|_| Misuse::AlreadyInitialized)?;
        let method = MethodName::Known(Method::Initialize);
        let request = self.send_call(&method, Some(&params), Purpose::Initialize, None, None)?;
        self.handshake = next;
        self.own = Capabilities::of_client(&params);
        Ok(request)
    }

    /// Begins a prompt turn: sends `session/prompt`. `content` is an array of content blocks; `meta`, if given, an object
    /// for `_meta`. The end is told as [`ClientAction::TurnEnded`], once, whatever happens.
    ///
    /// # Errors
    ///
    /// [`Misuse::TurnInProgress`] while a turn runs in this session, unless [`Config::overlap`](crate::Config::overlap)
    /// says otherwise; otherwise see [`CommandError`].
    pub fn prompt(
        &mut self,
        session: SessionKey,
        content: &Payload,
        meta: Option<&Payload>,
        now: Timestamp,
    ) -> Result<TurnKey, CommandError> {
        self.advance(now);
        self.check_open()?;
        if content.as_bytes().first() != Some(&b'[') {
            return Err(Misuse::Payload("the prompt must be a JSON array of content blocks").into());
        }
        let mut members = [br#""prompt":"#, content.as_bytes()].concat();
        if let Some(meta) = meta {
            members.extend_from_slice(br#","_meta":"#);
            members.extend_from_slice(meta.as_bytes());
        }
        let params = Payload::splice(&members, &Payload::EMPTY).ok_or(Misuse::Payload("the prompt is not JSON"))?;
        let params = self.with_session(session, &params)?;
        let turn = TurnKey(self.last_turn + 1);
        let mut turns = self.sessions.get(session).ok_or(Misuse::UnknownSession)?.turns.clone();
        let started = turns.step(TurnInput::Prompt(turn.0)).map_err(|why| match why {
            TurnReject::Full => CommandError::Full { what: "overlap" },
            TurnReject::Busy | TurnReject::NoSuchFrame => Misuse::TurnInProgress.into(),
        })?;
        let opened = match started {
            // It waits here, unsent, so that a cancel of the one before cannot hit it.
            TurnOutput::Wait => Turn::new(session, 0, Some(params)),
            _ => Turn::new(session, self.send_prompt(session, turn, &params)?, None),
        };
        self.next_turn();
        if let Some(session) = self.sessions.get_mut(session) {
            session.turns = turns;
        }
        self.turns.insert(turn, opened);
        Ok(turn)
    }

    /// Cancels a turn of ours: one `session/cancel`, then the outcome `cancelled` for every open permission of the
    /// session, and for those that cross it. Other requests of the agent in this session are signalled and stay their
    /// owners' to answer.
    ///
    /// A [`CancelKind::Stop`] is bounded: if the turn is not over within [`Config::stop_confirm`], the connection closes.
    /// A [`CancelKind::Steer`] is sent once per turn, is never bounded and never closes. Once a turn is over, nothing is
    /// sent: a late cancel cannot hit the next one.
    ///
    /// [`Config::stop_confirm`]: crate::Config::stop_confirm
    ///
    /// # Errors
    ///
    /// [`Misuse::UnknownKey`] if the key was never given.
    pub fn cancel_turn(
        &mut self,
        turn: TurnKey,
        kind: CancelKind,
        now: Timestamp,
    ) -> Result<Cancellation, CommandError> {
        self.advance(now);
        let Some(session) = self.turns.get(&turn).map(|turn| turn.session) else {
            let given = 0 < turn.0 && turn.0 <= self.last_turn;
            return if given { Ok(Cancellation::Moot) } else { Err(Misuse::UnknownKey.into()) };
        };
        let covered = self.step_cancel(session, CancelScope::Turn(turn.0), kind);
        let Cancelled { running: Some((_, asked)), void, .. } = covered else {
            return self.cancel_waiting(turn, now);
        };
        if kind == CancelKind::Stop
            && let Some(bound) = self.config.stop_confirm
            && !self.timers.is_armed(Cause::StopConfirm(turn))
        {
            self.timers.arm(Cause::StopConfirm(turn), self.now + bound);
        }
        if let Some(turn) = self.turns.get_mut(&turn) {
            turn.cause.get_or_insert(CancelCause::Session);
        }
        if asked == Asked::Shared {
            return Ok(Cancellation::AlreadyRequested);
        }
        // The cancel goes first, then the answers that the protocol demands.
        self.send_cancel(session, Tag::Cancel { session, turn, kind });
        for ask in void {
            self.withdraw(IncomingKey(ask));
        }
        self.signal_session(session);
        Ok(Cancellation::Requested)
    }

    /// Cancels what the agent does in a session without a prompt of ours: one `session/cancel`, not bounded. If a turn of
    /// ours runs there, this is a Stop of that turn.
    ///
    /// # Errors
    ///
    /// [`Misuse::UnknownSession`], or the connection is closed.
    pub fn stop_session(&mut self, session: SessionKey, now: Timestamp) -> Result<Cancellation, CommandError> {
        self.advance(now);
        self.check_open()?;
        if self.sessions.get(session).is_none() {
            return Err(Misuse::UnknownSession.into());
        }
        if let Some(turn) = self.running_turn(session) {
            return self.cancel_turn(turn, CancelKind::Stop, now);
        }
        self.send_cancel(session, Tag::Plain);
        for key in self.open_permissions(session) {
            self.step_turns(session, TurnInput::Answered(key.0));
            self.withdraw(key);
        }
        self.signal_session(session);
        Ok(Cancellation::Requested)
    }

    /// Decides a permission request.
    pub fn decide(&mut self, ticket: PermissionTicket, decision: &Decision, now: Timestamp) -> Delivery {
        self.advance(now);
        let Some(Duty::Permission { session, options }) = self.duty(ticket.key).cloned() else {
            return Delivery::TooLate;
        };
        self.step_turns(session, TurnInput::Answered(ticket.key.0));
        match decision {
            Decision::Select(id) if options.contains(id) => {
                let chosen = serde_json::json!({ "outcome": { "outcome": "selected", "optionId": id } });
                match Payload::try_from(chosen) {
                    Ok(chosen) => self.answer(ticket.key, Ok(&chosen)),
                    Err(_) => self.answer_cancelled(ticket.key, OUTCOME_CANCELLED),
                }
            }
            Decision::Select(_) => self.answer_cancelled(ticket.key, OUTCOME_CANCELLED),
            Decision::Cancelled => match self.answer_cancelled(ticket.key, OUTCOME_CANCELLED) {
                Delivery::AsCancelled => Delivery::Queued,
                other => other,
            },
        }
    }

    // ---- inside ------------------------------------------------------------------------------------------------

    pub(super) fn send_prompt(
        &mut self,
        session: SessionKey,
        turn: TurnKey,
        params: &Payload,
    ) -> Result<u64, CommandError> {
        let method = MethodName::Known(Method::SessionPrompt);
        let place = Some((session, Scope::Session(session)));
        self.send_call(&method, Some(params), Purpose::Prompt(turn), place, None).map(|request| request.0)
    }

    /// Cancels a prompt that waits behind another one, which `session/cancel` would hit instead.
    fn cancel_waiting(&mut self, turn: TurnKey, now: Timestamp) -> Result<Cancellation, CommandError> {
        match self.turns.get(&turn) {
            Some(Turn { params: None, request, .. }) => self.cancel_request(RequestKey(*request), now),
            Some(Turn { session, .. }) => {
                let session = *session;
                self.retire_turn(turn);
                let outcome = Outcome::Cancelled(CancelCause::Session);
                self.tell(ClientAction::TurnEnded { session, turn, settlement: Settlement::Cancelled, outcome });
                Ok(Cancellation::Requested)
            }
            None => Ok(Cancellation::Moot),
        }
    }

    fn send_cancel(&mut self, session: SessionKey, tag: Tag) {
        if let Ok(params) = self.with_session(session, &Payload::EMPTY) {
            self.outbox.push(tag, |out| write_notification(out, Method::SessionCancel.name(), Some(&params)));
        }
    }

    /// The host's own cancel makes a permission void: it is answered `cancelled`, and a host that was not told of it yet
    /// never is.
    fn withdraw(&mut self, key: IncomingKey) {
        let told = |action: &ClientAction| !matches!(action, ClientAction::PermissionRequested { ticket, .. } if ticket.key == key);
        if self.actions.iter().all(told) {
            return self.revoke(key);
        }
        self.actions.retain(told);
        self.answer_cancelled(key, OUTCOME_CANCELLED);
    }

    /// The peer, or the end, makes a permission void: it is answered `cancelled`, and the host is told. What is told may
    /// depend on the bytes only, not on when the host took its actions.
    pub(super) fn revoke(&mut self, key: IncomingKey) {
        self.tell(ClientAction::PermissionRevoked(key));
        self.answer_cancelled(key, OUTCOME_CANCELLED);
    }

    pub(super) fn open_permissions(&self, session: SessionKey) -> alloc::vec::Vec<IncomingKey> {
        let of = |duty: &Duty| matches!(duty, Duty::Permission { session: of, .. } if *of == session);
        self.incoming.iter().filter(|(_, served)| of(&served.duty)).map(|(key, _)| IncomingKey(key)).collect()
    }

    /// A cancel frame could not be delivered. Whether this frame was one.
    pub(super) fn client_cancel_failed(&mut self, frame: FrameId) -> bool {
        let found = self.turns.iter().find_map(|(key, turn)| {
            let (_, kind) = turn.sent.iter().find(|(sent, _)| *sent == frame)?;
            Some((*key, turn.session, *kind))
        });
        let Some((key, session, kind)) = found else { return false };
        if let Some(turn) = self.turns.get_mut(&key) {
            turn.sent.retain(|(sent, _)| *sent != frame);
        }
        if let Some(TurnOutput::Unsent(unsent)) = self.step_turns(session, TurnInput::Failed(kind)) {
            if unsent.stop {
                self.timers.disarm(Cause::StopConfirm(key));
            }
            let cancelling = self.sessions.get(session).is_some_and(|session| session.turns.is_cancelling());
            if let Some(turn) = self.turns.get_mut(&key).filter(|_| !cancelling) {
                turn.cause = None;
            }
            self.tell(ClientAction::CancelUndelivered { turn: key, stop: unsent.stop, steer: unsent.steer });
        }
        true
    }
}
