//! Our requests and notifications: sending them, and resolving each request once.

use core::time::Duration;

use bytes::BytesMut;

use super::{Connection, Role, recording::note};
use crate::{
    action::{Common, Outcome, Resolved},
    error::{CommandError, Misuse},
    machine::{HandshakeInput, Machine, OutgoingInput, OutgoingOutput},
    outbox::{NoRoom, Room, Tag},
    role::Side,
    session::Stage,
    ticket::{FrameId, RequestKey, Scope, SessionKey, TurnKey},
    timers::Cause,
    wire::{
        Form, Method, MethodName, Params, Payload, Sender, dialect::v1, with_session, write_notification, write_request,
    },
};

/// What is known about an open request of ours.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    pub(super) purpose: Purpose,
    pub(super) session: Option<SessionKey>,
    pub(super) frame: FrameId,
    /// The `$/cancel_request` for it, once there is one.
    pub(super) cancel: Option<FrameId>,
    /// The request whose key its end is told under, if that is not its own: it is a part of one command.
    pub(super) told_as: Option<u64>,
    /// What a session was asked for with.
    pub(super) options: Option<Payload>,
}

/// What its answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Purpose {
    /// Nothing to the core.
    Plain,
    /// The version agreement.
    Initialize,
    /// A session. `fresh`: it was made for this request, and goes if it fails. `history`: it tells what it was, first.
    Open { fresh: bool, history: bool },
    /// The end of a session.
    Close,
    /// The end of a turn of ours.
    Prompt(TurnKey),
    /// Whether to ask for a session again.
    LogIn,
    /// Nothing to the core, but it ends with this turn.
    InTurn(TurnKey),
    /// The same, and it waits for the user.
    Ask(TurnKey),
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
        note!(self, "request", now, "method" = method, "params" = params, "timeout" = timeout);
        self.advance(now);
        self.call(MethodName::new(method), params.as_ref(), None, None, timeout)
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
        let scope = scope.into();
        note!(self, "request_in", now, "scope" = scope, "method" = method, "params" = params, "timeout" = timeout,);
        self.advance(now);
        let session = self.session_of(scope)?;
        if !params.is_object() {
            return Err(Misuse::Payload("the params must be a JSON object").into());
        }
        let name = self.sessions.get(session).map(|session| session.id.clone());
        self.call(MethodName::new(method), Some(params), name.as_deref(), Some((session, scope)), timeout)
    }

    /// `name`: the id of a session that is added to `params`.
    pub(super) fn call(
        &mut self,
        method: MethodName,
        params: Option<&Payload>,
        name: Option<&str>,
        place: Option<(SessionKey, Scope)>,
        timeout: Option<Duration>,
    ) -> Result<RequestKey, CommandError> {
        self.check_open()?;
        let Some(known) = method.known() else {
            let params = Params { session: name, object: params };
            return self.send_call(&method, params, Purpose::Plain, place, timeout);
        };
        self.check_direction(known, Form::Request)?;
        match known.spec().gate(self.speaks().number()) {
            None => return Err(self.unsupported(&method)),
            Some(gate) if !self.peer.offers(gate) || !R::is_offered(self, known, params) => {
                return Err(CommandError::NotOffered(method));
            }
            Some(_) => {}
        }
        if let Some(gate) = params.filter(|_| known == Method::ElicitationCreate).and_then(v1::elicitation) {
            if !self.peer.offers(gate) {
                return Err(CommandError::NotOffered(method));
            }
        }
        if known.spec().in_session && R::SIDE == Side::Client {
            let named = self.place_of(params, place).and_then(|(session, _)| self.sessions.get(session));
            if named.is_some_and(|session| session.child.is_some()) {
                return Err(Misuse::ChildSession.into());
            }
        }
        match known {
            Method::Initialize | Method::SessionPrompt => Err(Misuse::HasItsOwnCommand.into()),
            Method::SessionNew | Method::SessionFork => {
                self.check_session_room()?;
                let params = named(params, name);
                self.send_call(&method, params.as_ref(), Purpose::Open { fresh: true, history: false }, None, timeout)
            }
            Method::SessionLoad | Method::SessionResume => {
                self.open_known(&method, named(params, name).as_ref(), timeout)
            }
            Method::SessionClose => {
                let params = named(params, name);
                let place = self.place_of(params.as_ref(), place);
                let sent = self.send_call(&method, params.as_ref(), Purpose::Close, place, timeout)?;
                if let Some(session) = place.and_then(|(session, _)| self.sessions.get_mut(session)) {
                    session.stage = Stage::Closing;
                }
                Ok(sent)
            }
            _ => {
                let params = Params { session: name, object: params };
                self.send_call(&method, params, Purpose::Plain, place, timeout)
            }
        }
    }

    /// The session that a request names by itself.
    fn place_of(&self, params: Option<&Payload>, place: Option<(SessionKey, Scope)>) -> Option<(SessionKey, Scope)> {
        let named = || v1::with_session_id(params?, |id| self.sessions.find(id))?;
        place.or_else(|| named().map(|session| (session, Scope::Session(session))))
    }

    /// Queues a request and keeps what its answer will mean.
    pub(super) fn send_call<'a>(
        &mut self,
        method: &MethodName,
        params: impl Into<Params<'a>>,
        purpose: Purpose,
        place: Option<(SessionKey, Scope)>,
        timeout: Option<Duration>,
    ) -> Result<RequestKey, CommandError> {
        let params = params.into();
        let timeout = timeout.or_else(|| self.default_timeout(method));
        let id = self.outgoing.next_id().ok_or(CommandError::Full { what: "limits.own_requests" })?;
        let turn = match place {
            Some((_, Scope::Turn(turn))) => Some(turn),
            Some((_, Scope::Session(_))) | None => None,
        };
        let session = place.map(|(session, _)| session);
        let asks = matches!(method.known(), Some(Method::SessionRequestPermission | Method::ElicitationCreate));
        let purpose = turn.map_or(purpose, if asks { Purpose::Ask } else { Purpose::InTurn });
        let options = params.object.filter(|_| matches!(purpose, Purpose::Open { .. })).cloned();
        // A turn that is being cancelled, or is over, waits for nothing any more: a race, not an error.
        if let Some(cause) = turn.and_then(|turn| self.cancelled_by(turn)) {
            let call = Call { purpose, session, frame: FrameId(u64::MAX), cancel: None, told_as: None, options };
            if self.outgoing.step(OutgoingInput::Issue(call)).is_ok() {
                self.resolve_own(id, Outcome::Cancelled(cause));
            }
            return Ok(RequestKey(id));
        }
        let write = |out: &mut BytesMut| write_request(out, id, method.as_str(), params);
        let room = match turn {
            Some(turn) => R::on_turn_used(self, turn, write)?,
            None => 0,
        };
        let frame = self.offer_within(Tag::Request(id), room, write)?;
        if R::SIDE == Side::Client && purpose != Purpose::Initialize {
            // From here on `initialize` may not be repeated.
            let _ = self.handshake.step(HandshakeInput::Use);
        }
        let call = Call { purpose, session, frame, cancel: None, told_as: None, options };
        // There is room: `next_id` said so.
        if self.outgoing.step(OutgoingInput::Issue(call)).is_ok() {
            if let Some(turn) = turn.and_then(|turn| self.turns.get_mut(&turn)) {
                turn.calls.push(id);
            }
            if let Some(timeout) = timeout {
                self.timers.arm(Cause::Request(RequestKey(id)), self.now + timeout);
            }
        }
        if let Purpose::Ask(turn) = purpose {
            R::on_asked(self, turn);
        }
        self.touch_clocks();
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
        note!(self, "notify", now, "method" = method, "params" = params);
        self.advance(now);
        self.check_open()?;
        let method = MethodName::new(method);
        if let Some(known) = method.known() {
            self.check_direction(known, Form::Notification)?;
            if self.known(&method).is_none() {
                return Err(self.unsupported(&method));
            }
            if matches!(known, Method::SessionCancel | Method::SessionUpdate | Method::CancelRequest) {
                return Err(Misuse::HasItsOwnCommand.into());
            }
        }
        self.offer(Tag::Plain, |out| write_notification(out, method.as_str(), params)).map(drop)
    }

    /// Resolves a request of ours for a reason of our own. If it still waits to be written, it never will be.
    pub(super) fn resolve_own(&mut self, id: u64, outcome: Outcome) {
        if let Ok(OutgoingOutput::Resolved(answered)) = self.outgoing.step(OutgoingInput::Abandon(id)) {
            self.timers.disarm(Cause::Request(RequestKey(id)));
            self.timers.disarm(Cause::CancelConfirm(RequestKey(id)));
            self.outbox.withdraw(|tag| *tag == Tag::Request(id));
            R::on_resolved(self, id, answered.about, outcome);
            self.touch_clocks();
        }
    }

    /// What a resolved request means to either end.
    pub(super) fn resolved(&mut self, id: u64, call: &Call, mut outcome: Outcome) {
        let mut session = call.session;
        match call.purpose {
            Purpose::InTurn(turn) | Purpose::Ask(turn) => {
                if let Some(turn) = self.turns.get_mut(&turn) {
                    turn.calls.retain(|call| *call != id);
                }
            }
            Purpose::Open { fresh, .. } => session = self.opened(call, fresh, &mut outcome),
            Purpose::Close => match (session, &outcome) {
                (Some(closed), Outcome::Result(_)) => self.forget_session(closed),
                (Some(kept), _) => self.reopen(kept),
                (None, _) => {}
            },
            Purpose::Plain | Purpose::Initialize | Purpose::Prompt(_) | Purpose::LogIn => {}
        }
        self.tell(Common::Resolved(Resolved { request: RequestKey(call.told_as.unwrap_or(id)), session, outcome }));
        if matches!(call.purpose, Purpose::Open { .. }) {
            R::on_opened(self, session);
        }
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
    pub(super) fn offer(&mut self, tag: Tag, write: impl FnOnce(&mut BytesMut)) -> Result<FrameId, CommandError> {
        self.offer_within(tag, 0, write)
    }

    /// The same; one of up to so many bytes has room in any case.
    pub(super) fn offer_within(
        &mut self,
        tag: Tag,
        always: usize,
        write: impl FnOnce(&mut BytesMut),
    ) -> Result<FrameId, CommandError> {
        let room = self.room(always);
        self.outbox.offer(tag, room, write).map_err(|why| refused(why, room))
    }

    /// Whether a voluntary message has room, and how many bytes it takes. Nothing is queued.
    pub(super) fn fits(&mut self, write: impl FnOnce(&mut BytesMut)) -> Result<usize, CommandError> {
        let room = self.room(0);
        self.outbox.fits(room, write).map_err(|why| refused(why, room))
    }

    const fn room(&self, always: usize) -> Room {
        Room { line: self.config.limits.line, total: self.config.limits.queued_bytes, always }
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
        with_session(&session.id, object).ok_or_else(|| Misuse::Payload("the params must be a JSON object").into())
    }
}

/// The params with the id of their session, for who keeps them.
fn named(params: Option<&Payload>, name: Option<&str>) -> Option<Payload> {
    match (params, name) {
        (Some(object), Some(name)) => with_session(name, object),
        _ => params.cloned(),
    }
}

const fn refused(why: NoRoom, room: Room) -> CommandError {
    match why {
        NoRoom::Line { size } => CommandError::TooLong { size, limit: room.line },
        NoRoom::Total => CommandError::Full { what: "limits.queued_bytes" },
    }
}
