//! What an agent makes of the client's messages; and the two-phase cancel.

use alloc::{boxed::Box, format};

use bytes::BytesMut;

use super::{
    Connection, Role,
    agent::AgentState,
    answer::{Duty, Served},
    call::{Call, Purpose},
    hooks::Hooks,
    turns::{STOP_CANCELLED, Turn},
};
use crate::{
    action::{AgentAction, CancelCause, Common, Delivery, Outcome, TurnEnd},
    error::{CommandError, Violation},
    machine::{Asked, CancelKind, CancelScope, Cancelled, Machine, TurnInput, TurnOutput, TurnReject, WorkInput},
    role::{Agent, Side},
    session::Stage,
    ticket::{FrameId, IncomingKey, SessionKey, SessionTicket, Ticket, TurnKey},
    timers::Cause,
    wire::{
        ErrorObject, Method, MethodName, Payload, code,
        dialect::{
            v1,
            v2::{self, Replay},
        },
    },
};

impl Role for Agent {
    type Action = AgentAction;
    const SIDE: Side = Side::Agent;
}

impl Hooks for Agent {
    type State = AgentState;

    fn on_request(conn: &mut Connection<Self>, key: IncomingKey, method: MethodName, params: Option<Payload>) {
        let Some(known) = conn.known(&method) else {
            let session = params.as_ref().and_then(|params| v1::with_session_id(params, |id| conn.sessions.find(id)));
            let session = session.flatten();
            conn.set_duty(key, Duty::Plain { session });
            return conn.tell(Common::Request { ticket: Ticket { key }, method, session, params });
        };
        let params = params.unwrap_or(Payload::EMPTY);
        let answer = match known {
            _ if conn.role.auth_required && known.needs_login() => Err(login_first(known)),
            Method::SessionResume if conn.speaks_v2() => match v2::replay_from(&params) {
                Ok(replay) => conn.receive_open_named(key, known, replay == Replay::Start, params),
                Err(why) => Err(ErrorObject::new(code::INVALID_PARAMS, why)),
            },
            Method::Initialize => conn.receive_initialize(key, params),
            Method::SessionNew => conn.receive_open(key, known, None, false, params),
            Method::SessionLoad | Method::SessionResume | Method::SessionFork => {
                conn.receive_open_named(key, known, known == Method::SessionLoad, params)
            }
            _ => conn.receive_ordinary(key, known, params),
        };
        if let Err(error) = answer {
            conn.answer(key, Err(&error));
        }
    }

    fn on_notification(conn: &mut Connection<Self>, method: Method, params: Option<Payload>) {
        if method != Method::SessionCancel {
            return conn.tell(Common::Notification { method: MethodName::Known(method), params });
        }
        let named = params.as_ref().and_then(|params| v1::with_session_id(params, |id| conn.sessions.find(id)));
        match named {
            Some(Some(session)) => conn.cancel_turns(session, CancelScope::Session, CancelCause::Session),
            // A session that is not open here has nothing to cancel; it may have been closed a moment ago.
            Some(None) => {}
            None => {
                let why = "`sessionId` is missing, or is no string";
                conn.violation(Violation::BadNotification { method: MethodName::Known(method), why });
            }
        }
    }

    fn on_withdrawn(conn: &mut Connection<Self>, key: IncomingKey) -> bool {
        let turn = match conn.duty(key) {
            Some(Duty::Prompt(turn)) => *turn,
            Some(Duty::PromptAgain(turn)) => {
                let turn = *turn;
                conn.forget_again(turn, key);
                conn.answer(key, Err(&Connection::<Self>::cancelled_error("the prompt")));
                return true;
            }
            Some(Duty::CloseToo { .. }) => return true,
            // The host knows nothing of it yet, and closing cannot be taken back half-way.
            Some(Duty::Close { told: false, .. }) => return true,
            _ => return false,
        };
        if let Some(session) = conn.turns.get(&turn).map(|turn| turn.session) {
            conn.cancel_turns(session, CancelScope::Turn(turn.0), CancelCause::Request);
        }
        true
    }

    fn on_resolved(conn: &mut Connection<Self>, id: u64, call: Call, outcome: Outcome) {
        conn.resolved(id, &call, outcome);
        if let Purpose::Ask(turn) = call.purpose {
            Self::on_asked(conn, turn);
        }
    }

    fn on_opened(_: &mut Connection<Self>, _: Option<SessionKey>) {}

    fn on_ending(conn: &mut Connection<Self>) {
        for session in conn.sessions.keys() {
            conn.cancel_turns(session, CancelScope::Session, CancelCause::Closing);
        }
    }

    fn end_for_host(conn: &mut Connection<Self>, turn: TurnKey, error: &ErrorObject) -> Delivery {
        conn.settle_turn(turn, &TurnEnd::Error(error.clone()), false)
    }

    fn end_answered(conn: &mut Connection<Self>, key: IncomingKey, error: &ErrorObject) -> Delivery {
        match conn.turn_of(key) {
            Some(turn) => Self::end_for_host(conn, turn, error),
            None => Delivery::TooLate,
        }
    }

    fn on_turn_used(
        conn: &mut Connection<Self>,
        turn: TurnKey,
        write: impl FnOnce(&mut BytesMut),
    ) -> Result<usize, CommandError> {
        if conn.speaks_v2() { conn.insert_if_due(turn, write) } else { Ok(0) }
    }

    fn on_asked(conn: &mut Connection<Self>, turn: TurnKey) {
        if conn.speaks_v2() {
            conn.asked(turn);
        }
    }

    fn on_force_due(conn: &mut Connection<Self>, turn: TurnKey) {
        conn.force_turn(turn);
    }

    fn on_close_due(conn: &mut Connection<Self>, session: SessionKey) {
        if let Some(turn) = conn.running_turn(session) {
            conn.force_turn(turn);
        }
    }

    fn on_turn_lost(conn: &mut Connection<Self>, turn: TurnKey, lost: Turn) {
        conn.close_tool_calls(lost.session, turn, lost.transcript);
    }

    fn on_permission_due(_: &mut Connection<Self>, _: IncomingKey) {}

    fn on_forget(conn: &mut Connection<Self>, session: SessionKey) {
        conn.end_session(session);
    }

    fn on_cancel_failed(_: &mut Connection<Self>, _: FrameId) -> bool {
        false
    }

    fn decline(conn: &mut Connection<Self>, action: AgentAction) -> Delivery {
        let now = conn.now;
        let unhandled = || ErrorObject::new(code::INTERNAL_ERROR, "this agent does not handle it");
        match action {
            AgentAction::Common(common) => conn.decline_common(common),
            AgentAction::Initialize { ticket, .. } => conn.reject_initialize(ticket, &unhandled(), now),
            AgentAction::SessionRequested { ticket, method, .. } => {
                conn.reject_session(ticket, &Connection::<Self>::not_served(method.name()), now)
            }
            AgentAction::Prompt { ticket, .. } => conn.end_turn(ticket, &TurnEnd::Error(unhandled()), now),
            AgentAction::CloseSession { ticket, .. } => match conn.respond(ticket, Ok(Payload::EMPTY), now) {
                Ok(delivery) => delivery,
                Err(refused) => conn.abandon(refused.ticket.key, now),
            },
            AgentAction::DropQueued { .. }
            | AgentAction::AbortTurn { .. }
            | AgentAction::TurnForced { .. }
            | AgentAction::ToolCallsClosed { .. }
            | AgentAction::IdleCancel { .. } => Delivery::TooLate,
        }
    }
}

/// What stands in for an action: the error to answer with at once.
pub(super) type Admitted = Result<(), ErrorObject>;

impl Connection<Agent> {
    fn receive_open(
        &mut self,
        key: IncomingKey,
        method: Method,
        target: Option<(SessionKey, bool)>,
        replay: bool,
        params: Payload,
    ) -> Admitted {
        if target.is_none() && !self.has_session_room() {
            return Err(self.too_many_sessions());
        }
        let (session, fresh) = (target.map(|(session, _)| session), target.is_none_or(|(_, fresh)| fresh));
        self.set_duty(key, Duty::Open { method, session, fresh, replay });
        let ticket = SessionTicket { key, method };
        self.tell(AgentAction::SessionRequested { ticket, method, session, replay, params });
        Ok(())
    }

    /// Load and resume name a stored session, which is there from here on: its history comes before the answer. Fork
    /// names one too, and answers with the id of another.
    fn receive_open_named(&mut self, key: IncomingKey, method: Method, replay: bool, params: Payload) -> Admitted {
        let id = v1::session_id(&params).ok_or_else(no_session_id)?;
        if method == Method::SessionFork {
            return self.receive_open(key, method, None, false, params);
        }
        let known = self.sessions.find(&id);
        if known
            .and_then(|session| self.sessions.get(session))
            .is_some_and(|session| session.turns.running().is_some() || session.stage != Stage::Open)
        {
            let why = format!("session {id:?} is busy: a turn runs, or it is being opened or closed");
            return Err(ErrorObject::new(code::INVALID_REQUEST, why));
        }
        let fresh = known.is_none();
        if fresh && !self.has_session_room() {
            return Err(self.too_many_sessions());
        }
        let session = self.sessions.intern(&id, Stage::Opening).ok_or_else(|| self.too_many_sessions())?;
        if let Some(session) = self.sessions.get_mut(session) {
            session.stage = Stage::Opening;
        }
        self.receive_open(key, method, Some((session, fresh)), replay, params)
    }

    /// Sessions whose opening is not answered yet count: accepting them cannot be refused.
    fn has_session_room(&self) -> bool {
        let opens = |served: &Served| matches!(served.duty, Duty::Open { session: None, .. });
        let opening = self.incoming.iter().filter(|(_, served)| opens(served)).count();
        self.sessions.len() + opening < self.config.limits.sessions
    }

    fn too_many_sessions(&self) -> ErrorObject {
        let limit = self.config.limits.sessions;
        ErrorObject::new(code::INTERNAL_ERROR, format!("{limit} sessions are open already: close one first"))
    }

    fn receive_ordinary(&mut self, key: IncomingKey, method: Method, params: Payload) -> Admitted {
        let session = if method.spec().in_session {
            let id = v1::session_id(&params).ok_or_else(no_session_id)?;
            let here = self.sessions.find(&id);
            if method == Method::SessionClose && self.speaks_v2() {
                if let Some(answered) = self.close_again(key, here) {
                    return answered;
                }
            }
            let known = here
                .filter(|session| self.sessions.get(*session).is_some_and(|session| session.stage != Stage::Closing));
            let known = known.ok_or_else(|| self.unknown_session(&id))?;
            if method != Method::SessionCancel && self.sessions.get(known).is_some_and(|known| known.child.is_some()) {
                let why = format!("session {id:?} belongs to another session, and is driven by this agent");
                return Err(ErrorObject::new(code::INVALID_PARAMS, why));
            }
            if self.sessions.get(known).is_some_and(|session| session.stage == Stage::Opening) {
                let why = format!("session {id:?} is being opened: wait for the answer to that");
                return Err(ErrorObject::new(code::INVALID_REQUEST, why));
            }
            Some(known)
        } else {
            None
        };
        match (method, session) {
            (Method::SessionPrompt, Some(session)) => self.receive_prompt(key, session, params),
            (Method::ToolCallCancel | Method::TerminalCancel, Some(session))
                if !self.is_cancellable(session, &params, method == Method::TerminalCancel) =>
            {
                let why = "there is no such tool call or terminal, or it cannot be cancelled";
                Err(ErrorObject::new(code::INVALID_PARAMS, why))
            }
            (Method::SessionCancel, Some(session)) => {
                // The request form, which some clients use: carried out, then answered.
                self.cancel_turns(session, CancelScope::Session, CancelCause::Session);
                self.answer(key, Ok(&Payload::NULL));
                Ok(())
            }
            (Method::SessionClose, Some(session)) => {
                self.receive_close(key, session);
                Ok(())
            }
            (Method::SessionDelete, _) => {
                // It names a stored session, which may be open here as well.
                let session = v1::with_session_id(&params, |id| self.sessions.find(id)).flatten();
                self.set_duty(key, Duty::Delete { session });
                let method = MethodName::Known(method);
                self.tell(Common::Request { ticket: Ticket { key }, method, session, params: Some(params) });
                Ok(())
            }
            (_, session) => {
                self.set_duty(key, Duty::Plain { session });
                let method = MethodName::Known(method);
                self.tell(Common::Request { ticket: Ticket { key }, method, session, params: Some(params) });
                Ok(())
            }
        }
    }

    fn receive_prompt(&mut self, key: IncomingKey, session: SessionKey, params: Payload) -> Admitted {
        let held = match self.speaks_v2() {
            true => match self.receive_submission(key, session, &params)? {
                Some(held) => Some(Box::new(held)),
                None => return Ok(()),
            },
            false => None,
        };
        let turn = self.next_turn();
        let behind_cancel = self.is_cancelling_work(session);
        let Some(known) = self.sessions.get_mut(session) else { return Ok(()) };
        let started = known.turns.step(TurnInput::Prompt(turn.0)).map_err(|why| match why {
            TurnReject::Full => ErrorObject::new(code::INTERNAL_ERROR, "too many prompts wait in this session"),
            TurnReject::Busy | TurnReject::NoSuchFrame => {
                ErrorObject::new(code::INVALID_REQUEST, "a turn is running in this session")
            }
        })?;
        self.set_duty(key, Duty::Prompt(turn));
        // What waits long must not keep the whole receive buffer alive.
        let waits = started == TurnOutput::Wait || (started == TurnOutput::Deliver && behind_cancel);
        let params = if waits { params.detach() } else { params };
        if held.is_some() {
            self.step_work(session, WorkInput::Prompt { turn: turn.0, behind_cancel: false });
        }
        self.turns.insert(turn, Turn { held, ..Turn::new(session, key.0, Some(params)) });
        if !waits {
            self.start_turn(turn);
        }
        Ok(())
    }

    // ---- cancel ------------------------------------------------------------------------------------------------

    /// A cancel arrived: it covers what was received before it, and nothing that comes after.
    ///
    /// In this order: prompts that wait are answered `cancelled`, and dropped at the backend; the running turn is told to
    /// abort (phase one: the model stream); its requests to the client resolve as cancelled (phase two); the deadline is
    /// armed, once, after which it is answered `cancelled` anyway.
    pub(super) fn cancel_turns(&mut self, session: SessionKey, scope: CancelScope, cause: CancelCause) {
        let Cancelled { dropped, delivered, running, .. } = self.step_cancel(session, scope, CancelKind::Stop);
        // What arrived needs no sending.
        self.step_turns(session, TurnInput::Sent(CancelKind::Stop));
        let idle = dropped.is_empty() && running.is_none();
        for turn in dropped.into_iter().map(TurnKey) {
            if delivered && self.turns.get(&turn).is_some_and(|turn| turn.params.is_none()) {
                self.tell(AgentAction::DropQueued { session, turn });
            }
            self.resolve_calls(turn, cause);
            let Some(Turn { request, transcript, held, .. }) = self.retire_turn(turn) else { continue };
            if self.speaks_v2() {
                self.step_work(session, WorkInput::End { turn: turn.0, done: false });
            }
            self.close_tool_calls(session, turn, transcript);
            match held {
                Some(held) => drop(self.refuse_prompt(request, &held.again, &Self::cancelled_error("the prompt"))),
                None => drop(self.answer_cancelled(IncomingKey(request), STOP_CANCELLED)),
            }
        }
        match running {
            Some((turn, asked)) => self.abort_turn(session, TurnKey(turn), asked != Asked::First, cause),
            None if idle && cause == CancelCause::Session => self.tell(AgentAction::IdleCancel { session }),
            None => {}
        }
    }

    fn abort_turn(&mut self, session: SessionKey, turn: TurnKey, again: bool, cause: CancelCause) {
        if let Some(turn) = self.turns.get_mut(&turn) {
            turn.cause.get_or_insert(cause);
        }
        self.tell(AgentAction::AbortTurn { session, turn, cause, again });
        self.resolve_calls(turn, cause);
        if let Some(floor) = self.config.force_cancelled.filter(|_| !again && self.lifecycle.is_open()) {
            self.timers.arm(Cause::ForceCancelled(turn), self.now + floor);
        }
    }
}

fn login_first(method: Method) -> ErrorObject {
    ErrorObject::new(code::AUTH_REQUIRED, format!("`{}` needs a login: authenticate first", method.name()))
}

fn no_session_id() -> ErrorObject {
    ErrorObject::new(code::INVALID_PARAMS, "the params need `sessionId`, a string")
}
