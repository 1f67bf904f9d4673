//! What a client makes of the agent's messages.

use alloc::{boxed::Box, vec::Vec};

use super::{
    Connection, Role,
    answer::Duty,
    call::{Call, Purpose},
    client::ClientState,
    hooks::Hooks,
    turns::{OUTCOME_CANCELLED, Turn},
};
use crate::{
    action::{ClientAction, Common, Delivery, Offer, Origin, Outcome, PermissionOption, Settlement},
    error::{CloseReason, Violation},
    machine::{Ended, HandshakeInput, Machine, TurnInput, TurnOutput},
    role::{Client, Side},
    session::Stage,
    ticket::{FrameId, IncomingKey, PermissionTicket, SessionKey, Ticket, TurnKey},
    wire::{Capabilities, ErrorObject, Method, MethodName, Payload, StopReason, code, dialect::v1},
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
        let session = named.flatten();
        conn.set_duty(key, Duty::Plain { session });
        conn.tell(Common::Request { ticket: Ticket { key }, method, session, params });
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
        conn.step_turns(session, TurnInput::Answered(key.0));
        conn.revoke(key);
        true
    }

    fn on_resolved(conn: &mut Connection<Self>, id: u64, call: Call, outcome: Outcome) {
        match call.purpose {
            Purpose::Prompt(turn) => conn.prompt_resolved(turn, outcome),
            Purpose::Initialize => {
                let ends = conn.initialize_resolved(&outcome);
                conn.resolved(id, &call, outcome);
                if let Some(reason) = ends {
                    conn.end(reason);
                }
            }
            Purpose::Plain | Purpose::Open { .. } | Purpose::Close | Purpose::InTurn(_) => {
                conn.resolved(id, &call, outcome);
            }
        }
    }

    fn on_opened(conn: &mut Connection<Self>, session: Option<SessionKey>) {
        if let Some(known) = session
            && let Some(id) = conn.sessions.get(known).map(|session| session.id.clone())
        {
            for params in conn.role.early.remove(&id).into_iter().flatten() {
                conn.tell(ClientAction::Update { session, origin: Origin::Early, params });
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
                conn.step_turns(session, TurnInput::Answered(key.0));
                conn.revoke(key);
            }
        }
    }

    fn end_for_host(_: &mut Connection<Self>, _: TurnKey, _: &ErrorObject) -> Delivery {
        Delivery::TooLate
    }

    fn on_force_due(_: &mut Connection<Self>, _: TurnKey) {}

    fn on_close_due(_: &mut Connection<Self>, _: SessionKey) {}

    fn on_turn_lost(_: &mut Connection<Self>, _: TurnKey, _: Turn) {}

    fn on_session_ended(_: &mut Connection<Self>, _: SessionKey) {}

    fn on_cancel_failed(conn: &mut Connection<Self>, frame: FrameId) -> bool {
        conn.client_cancel_failed(frame)
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
            Some(Place::Known(session)) => {
                let origin = match self.sessions.get(session) {
                    Some(known) if known.stage == Stage::Opening => Origin::Replay,
                    Some(known) => known.turns.running().map_or(Origin::OutOfTurn, |turn| Origin::Turn(TurnKey(turn))),
                    None => Origin::OutOfTurn,
                };
                self.tell(ClientAction::Update { session: Some(session), origin, params });
            }
            Some(Place::Unknown(id)) if self.is_opening() && self.holds_early(&id) => {
                self.role.early.entry(id).or_default().push(params);
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

    fn receive_permission(&mut self, key: IncomingKey, named: Option<Option<SessionKey>>, params: Option<Payload>) {
        let usable = named.and_then(|session| {
            let params = params?;
            Some((session, v1::permission(&params)?, params))
        });
        // "The only error case": nothing could be chosen, or nobody knows by whom.
        let Some((session, offered, params)) = usable else {
            let why = "a permission request needs `sessionId`, `toolCall.toolCallId` and an option with an `optionId`";
            self.answer(key, Err(&ErrorObject::new(code::INVALID_PARAMS, why)));
            return;
        };
        let Some(session) = session else {
            self.answer_cancelled(key, OUTCOME_CANCELLED);
            return;
        };
        let options = offered.options.iter().map(|(id, _)| id.clone()).collect();
        self.set_duty(key, Duty::Permission { session, options });
        match self.step_turns(session, TurnInput::Ask(key.0)) {
            Some(TurnOutput::Open(turn)) => {
                let option = |(id, kind)| PermissionOption { id, kind };
                let offer = Offer {
                    tool_call: offered.tool_call,
                    options: offered.options.into_iter().map(option).collect(),
                    dropped: offered.dropped.into(),
                };
                let ticket = PermissionTicket { key };
                let turn = turn.map(TurnKey);
                self.tell(ClientAction::PermissionRequested { ticket, session, turn, offer, params });
            }
            // It crossed our cancel: "the Client MUST respond with the cancelled outcome" (ACP v1, Prompt Turn).
            _ => drop(self.answer_cancelled(key, OUTCOME_CANCELLED)),
        }
    }

    /// What the answer to `initialize` comes to: the reason to end, if it cannot be worked with.
    fn initialize_resolved(&mut self, outcome: &Outcome) -> Option<CloseReason> {
        let Outcome::Result(result) = outcome else {
            let _ = self.handshake.step(HandshakeInput::Withdraw);
            return None;
        };
        let (input, ends) = match v1::protocol_version(result) {
            Some(version) if self.config.versions.contains(&version) => {
                self.peer = Capabilities::of_agent(result);
                (HandshakeInput::Settle(version), None)
            }
            Some(theirs) => (HandshakeInput::Refuse, Some(CloseReason::Version { theirs })),
            None => (HandshakeInput::Refuse, Some(CloseReason::Handshake)),
        };
        let _ = self.handshake.step(input);
        ends
    }

    /// A prompt of ours is answered, or never will be. The next that waits here is sent.
    fn prompt_resolved(&mut self, turn: TurnKey, outcome: Outcome) {
        let Some(retired) = self.retire_turn(turn) else { return };
        let session = retired.session;
        let ended = self.step_turns(session, TurnInput::End(turn.0));
        let asked = match ended {
            Some(TurnOutput::Ended(Ended { cancelled, .. })) => cancelled,
            _ => false,
        };
        let (settlement, outcome) = settle(asked, outcome);
        self.tell(ClientAction::TurnEnded { session, turn, settlement, outcome });
        if let Some(TurnOutput::Ended(Ended { next: Some((next, true)), .. })) = ended {
            self.start_waiting(session, TurnKey(next));
        }
    }

    fn start_waiting(&mut self, session: SessionKey, turn: TurnKey) {
        let Some(params) = self.turns.get_mut(&turn).and_then(|turn| turn.params.take()) else { return };
        match self.send_prompt(session, turn, &params) {
            Ok(request) => {
                if let Some(turn) = self.turns.get_mut(&turn) {
                    turn.request = request;
                }
            }
            Err(_) if self.lifecycle.is_open() => self.prompt_resolved(turn, Outcome::Undelivered),
            Err(_) => self.prompt_resolved(turn, Outcome::Closed),
        }
    }
}

/// Both facts in one word: what was asked, and what the wire said.
fn settle(asked: bool, outcome: Outcome) -> (Settlement, Outcome) {
    match outcome {
        Outcome::Result(result) => match v1::stop_reason(&result) {
            Some(StopReason::Cancelled) if asked => (Settlement::Cancelled, Outcome::Result(result)),
            Some(StopReason::Cancelled) => (Settlement::CancelledUnasked, Outcome::Result(result)),
            Some(reason) if asked => (Settlement::EndedAlthoughCancelled(reason), Outcome::Result(result)),
            Some(reason) => (Settlement::Ended(reason), Outcome::Result(result)),
            None => (Settlement::Failed, Outcome::Invalid { why: "`stopReason` is missing, or is no string" }),
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
