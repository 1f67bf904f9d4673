//! What a client makes of the agent's messages.

use alloc::{boxed::Box, vec::Vec};

use bytes::BytesMut;

use super::{
    Connection, Role,
    answer::Duty,
    call::{Call, Purpose},
    client::ClientState,
    hooks::Hooks,
    turns::Turn,
};
use crate::{
    action::{ClientAction, Common, Decision, Delivery, Origin, Outcome, Settlement},
    error::{CloseReason, CommandError, Violation},
    machine::{Broken, CancelKind, Ended, HandshakeInput, Machine, TurnInput, TurnOutput, WorkInput},
    outbox::Tag,
    role::{Client, Side},
    ticket::{FrameId, IncomingKey, SessionKey, Ticket, TurnKey},
    wire::{
        Capabilities, ErrorObject, Method, MethodName, Payload, StopReason, code,
        dialect::{v1, v2},
    },
};

impl Role for Client {
    type Action = ClientAction;
    const SIDE: Side = Side::Client;
}

impl Hooks for Client {
    type State = ClientState;

    fn on_request(conn: &mut Connection<Self>, key: IncomingKey, method: MethodName, params: Option<Payload>) {
        let named = params.as_ref().and_then(|params| v1::with_session_id(params, |id| conn.sessions.find(id)));
        if method.known() == Some(Method::SessionRequestPermission) {
            return conn.receive_permission(key, named, params);
        }
        if method.known() == Some(Method::ElicitationCreate) {
            if let Err(why) = conn.check_elicitation(params.as_ref()) {
                conn.answer(key, Err(&ErrorObject::new(code::INVALID_PARAMS, why)));
                return conn.violation(Violation::BadRequest { method, why });
            }
        }
        let session = named.flatten();
        conn.set_duty(key, Duty::Plain { session });
        conn.tell(Common::Request { ticket: Ticket { key }, method, session, params });
    }

    fn is_offered(conn: &Connection<Self>, method: Method, params: Option<&Payload>) -> bool {
        let is_login = matches!(method, Method::Authenticate | Method::AuthLogin);
        let way = params.filter(|_| is_login).and_then(v1::login);
        !way.is_some_and(|way| conn.role.terminal_logins.contains(&way))
    }

    fn on_notification(conn: &mut Connection<Self>, method: Method, params: Option<Payload>) {
        match (method, params) {
            (Method::SessionUpdate, Some(params)) => conn.receive_update(params),
            (Method::SessionUpdate, None) => {
                let why = "an update needs params";
                conn.violation(Violation::BadNotification { method: MethodName::Known(method), why });
            }
            (_, params) => conn.tell(Common::Notification { method: MethodName::Known(method), params }),
        }
    }

    fn on_withdrawn(conn: &mut Connection<Self>, key: IncomingKey) -> bool {
        let Some(Duty::Permission { session, .. }) = conn.duty(key).cloned() else { return false };
        if conn.is_committed(session, key) {
            return false;
        }
        conn.void(session, key);
        true
    }

    fn on_resolved(conn: &mut Connection<Self>, id: u64, call: Call, outcome: Outcome) {
        match call.purpose {
            Purpose::Prompt(turn) => match outcome {
                Outcome::Result(result) if conn.speaks_v2() => conn.prompt_inserted(turn, &result),
                outcome => conn.prompt_resolved(turn, outcome),
            },
            Purpose::Initialize => {
                let ends = conn.initialize_resolved(&outcome);
                conn.resolved(id, &call, outcome);
                if let Some(reason) = ends {
                    conn.end(reason);
                }
            }
            Purpose::LogIn => conn.logged_in(&call, outcome),
            Purpose::Open { .. } if conn.opening_answered(&call, &outcome) => {}
            Purpose::Plain | Purpose::Open { .. } | Purpose::Close | Purpose::InTurn(_) | Purpose::Ask(_) => {
                conn.resolved(id, &call, outcome);
            }
        }
    }

    fn on_opened(conn: &mut Connection<Self>, session: Option<SessionKey>) {
        let known = session.and_then(|known| conn.sessions.get(known));
        if let Some((session, id)) = session.zip(known.map(|session| session.id.clone())) {
            // The history, if there was any, is over: the next opening of this session may tell it again.
            conn.replay_over(session);
            for params in conn.role.early.remove(&*id).into_iter().flatten() {
                conn.tell_update(session, Origin::Early, params);
            }
        }
        if !conn.is_opening() {
            let left: Vec<Payload> = core::mem::take(&mut conn.role.early).into_values().flatten().collect();
            for params in left {
                conn.tell(ClientAction::Update { session: None, origin: Origin::Early, params });
            }
        }
    }

    fn on_ending(conn: &mut Connection<Self>) {
        // Prompts that were never sent: those that were are resolved already.
        let unsent: Vec<TurnKey> = conn.turns.keys().copied().collect();
        for turn in unsent {
            conn.prompt_resolved(turn, Outcome::Closed);
        }
        for session in conn.sessions.keys() {
            for key in conn.open_permissions(session) {
                conn.void(session, key);
            }
        }
    }

    fn end_for_host(_: &mut Connection<Self>, _: TurnKey, _: &ErrorObject) -> Delivery {
        Delivery::TooLate
    }

    fn end_answered(_: &mut Connection<Self>, _: IncomingKey, _: &ErrorObject) -> Delivery {
        Delivery::TooLate
    }

    fn on_turn_used(
        _: &mut Connection<Self>,
        _: TurnKey,
        _: impl FnOnce(&mut BytesMut),
    ) -> Result<usize, CommandError> {
        Ok(0)
    }

    fn on_asked(_: &mut Connection<Self>, _: TurnKey) {}

    fn on_force_due(_: &mut Connection<Self>, _: TurnKey) {}

    fn on_close_due(_: &mut Connection<Self>, _: SessionKey) {}

    fn on_turn_lost(_: &mut Connection<Self>, _: TurnKey, _: Turn) {}

    fn on_permission_due(conn: &mut Connection<Self>, key: IncomingKey) {
        conn.tell(ClientAction::PermissionOverdue(key));
    }

    fn on_forget(conn: &mut Connection<Self>, session: SessionKey) {
        for key in conn.open_permissions(session) {
            conn.void(session, key);
        }
        let waiting: Vec<TurnKey> = conn.waiting_prompts(session).collect();
        for turn in waiting {
            conn.take_back(turn, Settlement::Failed, Outcome::NotSent);
        }
        conn.end_inserted(session);
        conn.role.stops.remove(&session);
        for child in conn.sessions.children(session) {
            conn.forget_session(child);
        }
        conn.role.watched.remove(&session);
    }

    fn on_cancel_failed(conn: &mut Connection<Self>, frame: FrameId) -> bool {
        conn.client_cancel_failed(frame)
    }

    fn decline(conn: &mut Connection<Self>, action: ClientAction) -> Delivery {
        match action {
            ClientAction::Common(common) => conn.decline_common(common),
            ClientAction::PermissionRequested { ticket, .. } => conn.decide(ticket, &Decision::Cancelled, conn.now),
            ClientAction::Update { .. }
            | ClientAction::PromptInserted { .. }
            | ClientAction::PermissionRevoked(_)
            | ClientAction::ToolCallsLeftOpen { .. }
            | ClientAction::TurnEnded { .. }
            | ClientAction::CancelUndelivered { .. }
            | ClientAction::SessionStopUndelivered { .. }
            | ClientAction::PermissionOverdue(_) => Delivery::TooLate,
        }
    }
}

impl Connection<Client> {
    fn receive_update(&mut self, params: Payload) {
        enum Place {
            Known(SessionKey),
            Unknown(Box<str>),
        }
        let place = v1::with_session_id(&params, |id| match self.sessions.find(id) {
            Some(session) => Place::Known(session),
            None => Place::Unknown(id.into()),
        });
        match place {
            Some(Place::Known(session)) => self.tell_update(session, self.origin(session), params),
            Some(Place::Unknown(id)) if self.is_opening() && self.holds_early(&id) => {
                // What waits long must not keep the whole receive buffer alive.
                self.role.early.entry(id).or_default().push(params.detach());
            }
            Some(Place::Unknown(_)) => {
                self.tell(ClientAction::Update { session: None, origin: Origin::OutOfTurn, params });
            }
            None => {
                let method = MethodName::Known(Method::SessionUpdate);
                self.violation(Violation::BadNotification { method, why: "`sessionId` is missing, or is no string" });
            }
        }
    }

    fn tell_update(&mut self, session: SessionKey, origin: Origin, params: Payload) {
        let seen = self.look(&params);
        let lacks = if self.speaks_v2() { v2::update_lacks(&params) } else { None };
        self.tell(ClientAction::Update { session: Some(session), origin, params });
        if let Some(why) = lacks {
            let method = MethodName::Known(Method::SessionUpdate);
            self.violation(Violation::BadNotification { method, why });
        }
        if let Some(seen) = seen {
            self.heed(session, origin, seen);
        }
    }

    /// Whether a request is under way whose answer will make a session known.
    fn is_opening(&self) -> bool {
        self.outgoing.iter().any(|(_, call)| call.session.is_none() && matches!(call.purpose, Purpose::Open { .. }))
    }

    fn holds_early(&self, id: &str) -> bool {
        let limits = &self.config.limits;
        match self.role.early.get(id) {
            Some(held) => held.len() < limits.early_updates,
            None => self.role.early.len() < limits.own_requests,
        }
    }

    /// What the answer to `initialize` comes to: the reason to end, if it cannot be worked with.
    fn initialize_resolved(&mut self, outcome: &Outcome) -> Option<CloseReason> {
        let Outcome::Result(result) = outcome else {
            let _ = self.handshake.step(HandshakeInput::Withdraw);
            self.own = self.role.own_before;
            return None;
        };
        let (input, ends) = match v1::protocol_version(result) {
            Some(version) if self.config.versions.contains(&version) => {
                self.peer = Capabilities::of_agent(result);
                let logins = if version >= 2 { v2::auth_methods(result) } else { v1::auth_methods(result) };
                (self.role.auth_methods, self.role.terminal_logins) = logins;
                (HandshakeInput::Settle(version), None)
            }
            Some(theirs) => (HandshakeInput::Refuse, Some(CloseReason::Version { theirs })),
            None => (HandshakeInput::Refuse, Some(CloseReason::Handshake)),
        };
        let _ = self.handshake.step(input);
        ends
    }

    /// A prompt of ours is answered, or never will be. The next that waits here is sent.
    pub(super) fn prompt_resolved(&mut self, turn: TurnKey, outcome: Outcome) {
        let Some(retired) = self.retire_turn(turn) else { return };
        let session = retired.session;
        if self.sessions.get(session).is_some_and(|session| session.turns.has_unsent_cancel())
            && self.outbox.withdraw(|tag| matches!(tag, Tag::Cancel { turn: of, .. } if *of == turn))
        {
            self.step_work(session, WorkInput::Uncancel);
        }
        self.step_work(session, WorkInput::End { turn: turn.0, done: false });
        let cancelled = retired.cause.is_some();
        let (settlement, outcome) = settle(cancelled, retired.is_inserted(), outcome);
        let failed = settlement == Settlement::Failed;
        let ended = self.step_turns(session, if failed { TurnInput::Fail(turn.0) } else { TurnInput::End(turn.0) });
        let calls = retired.transcript.close();
        if !calls.is_empty() {
            self.tell(ClientAction::ToolCallsLeftOpen { session, turn, calls });
        }
        self.tell(ClientAction::TurnEnded { session, turn, settlement, outcome });
        match ended {
            Some(TurnOutput::Ended(Ended { next: Some((next, true)), .. })) => {
                self.start_waiting(session, TurnKey(next));
            }
            Some(TurnOutput::Broken(Broken { dropped })) => {
                for turn in dropped {
                    self.take_back(TurnKey(turn), Settlement::Failed, Outcome::NotSent);
                }
            }
            _ => {}
        }
    }

    fn start_waiting(&mut self, session: SessionKey, turn: TurnKey) {
        let Some(params) = self.turns.get_mut(&turn).and_then(|turn| turn.params.take()) else { return };
        if !self.lifecycle.is_open() {
            return self.prompt_resolved(turn, Outcome::Closed);
        }
        match self.send_prompt(session, turn, &params) {
            Ok(request) => {
                if let Some(turn) = self.turns.get_mut(&turn) {
                    turn.request = request;
                }
                self.work_sent(session, turn);
                // A line that waits to take its place cuts it short as it did the one before.
                let next = self.waiting_prompts(session).next().and_then(|next| self.turns.get(&next));
                if next.is_some_and(|next| next.steers) {
                    let _ = self.cancel(turn, CancelKind::Steer, &[]);
                }
            }
            Err(_) => self.prompt_resolved(turn, Outcome::NotSent),
        }
    }
}

/// Both facts in one word: what was asked, and what the wire said.
///
/// `inserted`: it was version 2, where the reason may be left out. What is not said is no reason of the protocol's.
fn settle(asked: bool, inserted: bool, outcome: Outcome) -> (Settlement, Outcome) {
    match outcome {
        Outcome::Result(result) => match v1::stop_reason(&result).or_else(|| inserted.then(|| StopReason::from(""))) {
            Some(StopReason::Cancelled) if asked => (Settlement::Cancelled, Outcome::Result(result)),
            Some(StopReason::Cancelled) => (Settlement::CancelledUnasked, Outcome::Result(result)),
            Some(reason) if asked => (Settlement::EndedAlthoughCancelled(reason), Outcome::Result(result)),
            Some(reason) => (Settlement::Ended(reason), Outcome::Result(result)),
            None => {
                let why = "`stopReason` is missing, or is no string";
                (Settlement::Failed, Outcome::Invalid { why, raw: result })
            }
        },
        // Both answers to a cancelled prompt are legal (ACP, Cancellation).
        Outcome::Error(error) if error.code == code::REQUEST_CANCELLED => {
            (if asked { Settlement::Cancelled } else { Settlement::CancelledUnasked }, Outcome::Error(error))
        }
        Outcome::Cancelled(cause) => (Settlement::Cancelled, Outcome::Cancelled(cause)),
        Outcome::Closed => (Settlement::Closed, Outcome::Closed),
        failed => (Settlement::Failed, failed),
    }
}
