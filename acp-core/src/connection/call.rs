//! Our requests and notifications: sending them, and resolving each request once. And the answers a host gives.

use alloc::format;
use core::time::Duration;

use super::{Connection, Role};
use crate::{
    action::{CancelCause, Cancellation, Common, Delivery, Outcome, Resolved},
    error::{CommandError, Misuse, Refused},
    machine::{Asked, Machine, OutgoingInput, OutgoingOutput},
    outbox::{NoRoom, Room, Tag},
    role::Side,
    ticket::{FrameId, IncomingKey, RequestKey, Scope, SessionKey, Ticket, TurnKey},
    timers::Cause,
    wire::{
        ErrorObject, Form, Method, MethodName, Payload, Sender, code, dialect::v1, write_notification, write_request,
    },
};

/// What is known about an open request of ours.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    pub(super) purpose: Purpose,
    pub(super) session: Option<SessionKey>,
    pub(super) frame: FrameId,
}

/// What its answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Purpose {
    /// Nothing to the core.
    Plain,
    /// The version agreement.
    Initialize,
    /// A session. `fresh`: it was made for this request, and goes if it fails.
    Open { fresh: bool },
    /// The end of a session.
    Close,
    /// The end of a turn of ours.
    Prompt(TurnKey),
    /// Nothing to the core, but it ends with this turn.
    InTurn(TurnKey),
}

impl<R: Role> Connection<R> {
    /// Sends a request that has no command of its own: any method of the protocol, an extension, or one of the host's.
    ///
    /// `timeout` bounds the wait for the answer; `None` waits as long as the connection lives, except that an agent's
    /// `fs/*` and `terminal/*` requests take [`Config::client_request`](crate::Config::client_request). The outcome is
    /// told as [`Common::Resolved`], once, whatever happens. A request that opens a session says so there.
    ///
    /// # Errors
    ///
    /// [`CommandError`]: nothing was sent.
    pub fn request(
        &mut self,
        method: &str,
        params: Option<Payload>,
        timeout: Option<Duration>,
        now: crate::Timestamp,
    ) -> Result<RequestKey, CommandError> {
        self.advance(now);
        self.call(MethodName::new(method), params, None, timeout)
    }

    /// Sends a request that belongs to a session or a turn. The core adds `sessionId`, so `params` must be an object
    /// without it. What belongs to a turn is resolved as [`Outcome::Cancelled`] when the turn is cancelled, and at once
    /// if it is being cancelled already: then nothing is sent.
    ///
    /// # Errors
    ///
    /// [`CommandError`]: nothing was sent.
    pub fn request_in(
        &mut self,
        scope: impl Into<Scope>,
        method: &str,
        params: &Payload,
        timeout: Option<Duration>,
        now: crate::Timestamp,
    ) -> Result<RequestKey, CommandError> {
        self.advance(now);
        let scope = scope.into();
        let session = self.session_of(scope)?;
        let params = self.with_session(session, params)?;
        self.call(MethodName::new(method), Some(params), Some((session, scope)), timeout)
    }

    fn call(
        &mut self,
        method: MethodName,
        params: Option<Payload>,
        place: Option<(SessionKey, Scope)>,
        timeout: Option<Duration>,
    ) -> Result<RequestKey, CommandError> {
        self.check_open()?;
        let Some(known) = method.known() else {
            return self.send_call(&method, params.as_ref(), Purpose::Plain, place, timeout);
        };
        self.check_direction(known, Form::Request)?;
        if !self.peer.offers(known.spec().gate) {
            return Err(CommandError::NotOffered(method));
        }
        match known {
            Method::Initialize | Method::SessionPrompt => Err(Misuse::HasItsOwnCommand.into()),
            Method::SessionNew | Method::SessionFork => {
                self.check_session_room()?;
                self.send_call(&method, params.as_ref(), Purpose::Open { fresh: true }, None, timeout)
            }
            Method::SessionLoad | Method::SessionResume => self.open_known(&method, params.as_ref(), timeout),
            Method::SessionClose => {
                self.send_call(&method, params.as_ref(), Purpose::Close, self.place_of(params.as_ref(), place), timeout)
            }
            _ => self.send_call(&method, params.as_ref(), Purpose::Plain, place, timeout),
        }
    }

    /// The session that a request names by itself.
    fn place_of(&self, params: Option<&Payload>, place: Option<(SessionKey, Scope)>) -> Option<(SessionKey, Scope)> {
        let named = || v1::with_session_id(params?, |id| self.sessions.find(id))?;
        place.or_else(|| named().map(|session| (session, Scope::Session(session))))
    }

    /// Queues a request and keeps what its answer will mean.
    pub(super) fn send_call(
        &mut self,
        method: &MethodName,
        params: Option<&Payload>,
        purpose: Purpose,
        place: Option<(SessionKey, Scope)>,
        timeout: Option<Duration>,
    ) -> Result<RequestKey, CommandError> {
        let timeout = timeout.or_else(|| self.default_timeout(method));
        let id = self.outgoing.next_id().ok_or(CommandError::Full { what: "limits.own_requests" })?;
        let turn = match place {
            Some((_, Scope::Turn(turn))) => Some(turn),
            Some((_, Scope::Session(_))) | None => None,
        };
        let session = place.map(|(session, _)| session);
        let purpose = turn.map_or(purpose, Purpose::InTurn);
        // A turn that is being cancelled, or is over, waits for nothing any more: a race, not an error.
        if let Some(cause) = turn.and_then(|turn| self.cancelled_by(turn)) {
            let call = Call { purpose, session, frame: FrameId(u64::MAX) };
            if self.outgoing.step(OutgoingInput::Issue(call)).is_ok() {
                self.resolve_own(id, Outcome::Cancelled(cause));
            }
            return Ok(RequestKey(id));
        }
        let frame = self.offer(Tag::Request(id), |out| write_request(out, id, method.as_str(), params))?;
        let call = Call { purpose, session, frame };
        // There is room: `next_id` said so.
        if self.outgoing.step(OutgoingInput::Issue(call)).is_ok() {
            if let Some(turn) = turn.and_then(|turn| self.turns.get_mut(&turn)) {
                turn.calls.push(id);
            }
            if let Some(timeout) = timeout {
                self.timers.arm(Cause::Request(RequestKey(id)), self.now + timeout);
            }
        }
        self.touch_idle();
        Ok(RequestKey(id))
    }

    /// Machines answer `fs/*` and `terminal/*`; `terminal/wait_for_exit` waits for a program, which takes its time.
    fn default_timeout(&self, method: &MethodName) -> Option<Duration> {
        match method.known()? {
            Method::FsReadTextFile
            | Method::FsWriteTextFile
            | Method::TerminalCreate
            | Method::TerminalOutput
            | Method::TerminalKill
            | Method::TerminalRelease => self.config.client_request,
            _ => None,
        }
    }

    /// Sends a notification that has no command of its own.
    ///
    /// # Errors
    ///
    /// [`CommandError`]: nothing was sent.
    pub fn notify(
        &mut self,
        method: &str,
        params: Option<&Payload>,
        now: crate::Timestamp,
    ) -> Result<(), CommandError> {
        self.advance(now);
        self.check_open()?;
        let method = MethodName::new(method);
        if let Some(known) = method.known() {
            self.check_direction(known, Form::Notification)?;
            if matches!(known, Method::SessionCancel | Method::SessionUpdate | Method::CancelRequest) {
                return Err(Misuse::HasItsOwnCommand.into());
            }
        }
        self.offer(Tag::Plain, |out| write_notification(out, method.as_str(), params)).map(drop)
    }

    /// Asks the peer to cancel a request of ours with `$/cancel_request`, once. It stays open: the peer still owes an
    /// answer, which may be a normal result, or an error of code -32800. A request that was not handed out yet is taken
    /// back instead, and resolves as [`Outcome::Cancelled`].
    ///
    /// # Errors
    ///
    /// [`Misuse::UnknownKey`] if the key was never given. That it is resolved already is [`Cancellation::Moot`].
    pub fn cancel_request(&mut self, request: RequestKey, now: crate::Timestamp) -> Result<Cancellation, CommandError> {
        self.advance(now);
        match self.outgoing.step(OutgoingInput::Cancel(request.0)) {
            Ok(OutgoingOutput::Asked(Asked::First | Asked::Again)) => {
                if self.outbox.withdraw(|tag| *tag == Tag::Request(request.0)) {
                    self.resolve_own(request.0, Outcome::Cancelled(CancelCause::Request));
                } else {
                    self.send_cancel_request(request.0);
                }
                Ok(Cancellation::Requested)
            }
            Ok(OutgoingOutput::Asked(Asked::Shared)) => Ok(Cancellation::AlreadyRequested),
            Ok(_) => Ok(Cancellation::Moot),
            Err(_) => Err(Misuse::UnknownKey.into()),
        }
    }

    pub(super) fn send_cancel_request(&mut self, id: u64) {
        if let Ok(params) = Payload::try_from(serde_json::json!({ "requestId": id })) {
            self.outbox.push(Tag::Plain, |out| write_notification(out, Method::CancelRequest.name(), Some(&params)));
        }
    }

    /// Resolves a request of ours for a reason of our own. If it still waits to be written, it never will be.
    pub(super) fn resolve_own(&mut self, id: u64, outcome: Outcome) {
        if let Ok(OutgoingOutput::Resolved(answered)) = self.outgoing.step(OutgoingInput::Abandon(id)) {
            self.timers.disarm(Cause::Request(RequestKey(id)));
            self.outbox.withdraw(|tag| *tag == Tag::Request(id));
            R::on_resolved(self, id, answered.about, outcome);
            self.touch_idle();
        }
    }

    /// What a resolved request means to either end.
    pub(super) fn resolved(&mut self, id: u64, call: &Call, outcome: Outcome) {
        let mut session = call.session;
        match call.purpose {
            Purpose::InTurn(turn) => {
                if let Some(turn) = self.turns.get_mut(&turn) {
                    turn.calls.retain(|call| *call != id);
                }
            }
            Purpose::Open { fresh } => session = self.opened(session, fresh, &outcome),
            Purpose::Close => {
                if let (Some(closed), Outcome::Result(_)) = (session, &outcome) {
                    self.forget_session(closed);
                }
            }
            Purpose::Plain | Purpose::Initialize | Purpose::Prompt(_) => {}
        }
        self.tell(Common::Resolved(Resolved { request: RequestKey(id), session, outcome }));
        if matches!(call.purpose, Purpose::Open { .. }) {
            R::on_opened(self, session);
        }
    }

    // ---- answers of the host -----------------------------------------------------------------------------------

    /// Answers a request of the peer's.
    ///
    /// # Errors
    ///
    /// None at present: that nobody waits any more is [`Delivery::TooLate`].
    pub fn respond(
        &mut self,
        ticket: Ticket,
        answer: Result<Payload, ErrorObject>,
        now: crate::Timestamp,
    ) -> Result<Delivery, Refused<Ticket>> {
        self.advance(now);
        self.before_answer(ticket.key, answer.is_ok());
        Ok(self.answer(ticket.key, answer.as_ref()))
    }

    /// Tells the core that a ticket was dropped: it answers in the host's place. A permission is `cancelled`, a turn
    /// that was being cancelled is `cancelled`, anything else is an error of code -32603.
    pub fn abandon(&mut self, key: IncomingKey, now: crate::Timestamp) -> Delivery {
        self.advance(now);
        self.answer_for_host(key, &ErrorObject::new(code::INTERNAL_ERROR, "the request was dropped without an answer"))
    }

    pub(super) fn decline_common(&mut self, common: Common) -> Delivery {
        match common {
            Common::Request { ticket, method, .. } => self.answer(ticket.key, Err(&Self::not_served(method.as_str()))),
            Common::CancelRequested(_)
            | Common::Notification { .. }
            | Common::Resolved(_)
            | Common::Violation(_)
            | Common::Closed(_) => Delivery::TooLate,
        }
    }

    pub(super) fn not_served(method: &str) -> ErrorObject {
        ErrorObject::new(code::METHOD_NOT_FOUND, format!("`{method}` is not served here"))
    }

    // ---- inside ------------------------------------------------------------------------------------------------

    pub(super) fn check_direction(&self, method: Method, form: Form) -> Result<(), CommandError> {
        let spec = method.spec();
        let ours = match R::SIDE {
            Side::Client => matches!(spec.sender, Sender::Client | Sender::Both),
            Side::Agent => matches!(spec.sender, Sender::Agent | Sender::Both),
        };
        match (ours, spec.form) {
            (false, _) => Err(Misuse::WrongSide.into()),
            (true, sent) if sent == form || (sent == Form::Either && form == Form::Notification) => Ok(()),
            (true, _) => Err(Misuse::WrongForm.into()),
        }
    }

    /// Queues a voluntary message if there is room.
    pub(super) fn offer(
        &mut self,
        tag: Tag,
        write: impl FnOnce(&mut bytes::BytesMut),
    ) -> Result<FrameId, CommandError> {
        let limits = &self.config.limits;
        let room = Room { line: limits.line, total: limits.queued_bytes };
        self.outbox.offer(tag, room, write).map_err(|why| match why {
            NoRoom::Line { size } => CommandError::TooLong { size, limit: room.line },
            NoRoom::Total => CommandError::Full { what: "limits.queued_bytes" },
        })
    }

    pub(super) fn session_of(&self, scope: Scope) -> Result<SessionKey, CommandError> {
        match scope {
            Scope::Session(session) if self.sessions.get(session).is_some() => Ok(session),
            Scope::Session(_) => Err(Misuse::UnknownSession.into()),
            Scope::Turn(turn) => match self.turns.get(&turn) {
                Some(turn) => Ok(turn.session),
                None if 0 < turn.0 && turn.0 <= self.last_turn => Err(CommandError::TurnOver),
                None => Err(Misuse::UnknownKey.into()),
            },
        }
    }

    /// Puts `sessionId` in front of the members of an object.
    pub(super) fn with_session(&self, session: SessionKey, object: &Payload) -> Result<Payload, CommandError> {
        let session = self.sessions.get(session).ok_or(Misuse::UnknownSession)?;
        let member = [br#""sessionId":"#, session.id_json.as_bytes()].concat();
        Payload::splice(&member, object).ok_or_else(|| Misuse::Payload("the params must be a JSON object").into())
    }

    fn check_session_room(&self) -> Result<(), CommandError> {
        if self.sessions.is_full() { Err(CommandError::Full { what: "limits.sessions" }) } else { Ok(()) }
    }

    /// Loads or resumes: the session is there as soon as it is asked for, since its history comes before the answer.
    fn open_known(
        &mut self,
        method: &MethodName,
        params: Option<&Payload>,
        timeout: Option<Duration>,
    ) -> Result<RequestKey, CommandError> {
        let missing = Misuse::Payload("the params need `sessionId`, a string");
        let id = params.and_then(v1::session_id).ok_or(missing)?;
        let known = self.sessions.find(&id);
        if known.is_some_and(|session| self.running_turn(session).is_some()) {
            return Err(Misuse::TurnInProgress.into());
        }
        let session = match known {
            Some(session) => session,
            None => self
                .sessions
                .intern(&id, crate::session::Stage::Opening)
                .ok_or(CommandError::Full { what: "limits.sessions" })?,
        };
        let fresh = known.is_none();
        let place = Some((session, Scope::Session(session)));
        let sent = self.send_call(method, params, Purpose::Open { fresh }, place, timeout);
        match (&sent, self.sessions.get_mut(session)) {
            (Ok(_), Some(session)) => session.stage = crate::session::Stage::Opening,
            (Err(_), _) if fresh => drop(self.sessions.remove(session)),
            (Ok(_) | Err(_), _) => {}
        }
        sent
    }

    /// The error that stands in for an answer nobody gave.
    pub(super) fn cancelled_error(what: &str) -> ErrorObject {
        ErrorObject::new(code::REQUEST_CANCELLED, format!("{what} was cancelled"))
    }
}
