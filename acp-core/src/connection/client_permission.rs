//! Permission requests of the agent, which a client answers: never failing open, and `cancelled` when in doubt.

use super::{Connection, answer::Duty, recording::note, turns::OUTCOME_CANCELLED};
use crate::{
    action::{ClientAction, Decision, Delivery, Offer, PermissionOption},
    error::Violation,
    machine::{TurnInput, TurnOutput},
    role::Client,
    ticket::{IncomingKey, PermissionTicket, SessionKey, TurnKey},
    time::Timestamp,
    timers::Cause,
    wire::{
        ErrorObject, Method, MethodName, Payload, code,
        dialect::{v1, v2},
        own,
    },
};

impl Connection<Client> {
    /// Decides a permission request. [`Delivery::AsCancelled`]: the option was not one of those offered, so the answer is
    /// `cancelled`, and nothing is allowed. [`Delivery::TooLate`]: it was revoked before, and nothing is sent.
    pub fn decide(&mut self, ticket: PermissionTicket, decision: &Decision, now: Timestamp) -> Delivery {
        note!(self, "decide", now, "ticket" = ticket.key, "option" = decision);
        self.advance(now);
        let key = ticket.key;
        let Some(Duty::Permission { session, options }) = self.duty(key).cloned() else {
            return Delivery::TooLate;
        };
        self.step_turns(session, TurnInput::Answered(key.0));
        match decision {
            Decision::Select(id) if options.contains(id) => self.answer(key, Ok(&own::selected(id))),
            Decision::Select(_) => self.answer_cancelled(key, OUTCOME_CANCELLED),
            Decision::Cancelled => match self.answer_cancelled(key, OUTCOME_CANCELLED) {
                Delivery::AsCancelled => Delivery::Queued,
                other => other,
            },
        }
    }

    /// Keeps a permission request from being cancelled: an approval of yours is being saved, and its answer is to reach
    /// the agent whatever is cancelled meanwhile. A cancel then only tells you [`Common::CancelRequested`](crate::Common::CancelRequested), once.
    ///
    /// Returns whether it is yours now. If not, it was answered `cancelled` already: save nothing.
    #[must_use = "a permission that is void must not be saved as given"]
    pub fn commit(&mut self, ticket: &PermissionTicket, now: Timestamp) -> bool {
        note!(self, "commit", now, "ticket" = ticket.key);
        self.advance(now);
        let Some(Duty::Permission { session, .. }) = self.duty(ticket.key) else { return false };
        let session = *session;
        if !matches!(self.step_turns(session, TurnInput::Commit(ticket.key.0)), Some(TurnOutput::Committed)) {
            // A cancel has left it open, because it may not be of the work that was cancelled.
            self.commit_left_open(session, ticket.key);
        }
        true
    }

    // ---- inside ------------------------------------------------------------------------------------------------

    pub(super) fn is_committed(&self, session: SessionKey, key: IncomingKey) -> bool {
        self.sessions.get(session).is_some_and(|session| session.turns.is_committed(key.0))
            || self.is_left_open(session, key)
    }

    /// The agent's `$/cancel_request`, the end of the session or of the connection: the permission is void, or, if its
    /// owner is committed, signalled.
    pub(super) fn void(&mut self, session: SessionKey, key: IncomingKey) {
        if self.is_committed(session, key) {
            return self.signal(key);
        }
        self.step_turns(session, TurnInput::Answered(key.0));
        self.revoke(key);
    }

    /// The host's own cancel makes a permission void: it is answered `cancelled`, and a host that was not told of it yet
    /// never is.
    pub(super) fn withdraw(&mut self, key: IncomingKey) {
        let told = |action: &ClientAction| !matches!(action, ClientAction::PermissionRequested { ticket, .. } if ticket.key == key);
        if self.actions.iter().all(told) {
            return self.revoke(key);
        }
        self.actions.retain(told);
        self.answer_cancelled(key, OUTCOME_CANCELLED);
    }

    /// The peer, or the end, makes a permission void: it is answered `cancelled`, and the host is told. What is told may
    /// depend on the bytes only, not on when the host took its actions.
    fn revoke(&mut self, key: IncomingKey) {
        self.tell(ClientAction::PermissionRevoked(key));
        self.answer_cancelled(key, OUTCOME_CANCELLED);
    }

    pub(super) fn open_permissions(&self, session: SessionKey) -> alloc::vec::Vec<IncomingKey> {
        let of = |duty: &Duty| matches!(duty, Duty::Permission { session: of, .. } if *of == session);
        self.incoming.iter().filter(|(_, served)| of(&served.duty)).map(|(key, _)| IncomingKey(key)).collect()
    }

    pub(super) fn receive_permission(
        &mut self,
        key: IncomingKey,
        named: Option<Option<SessionKey>>,
        params: Option<Payload>,
    ) {
        let method = MethodName::Known(Method::SessionRequestPermission);
        let usable = named.and_then(|session| {
            let params = params?;
            let offered = if self.speaks_v2() { v2::permission(&params) } else { v1::permission(&params) };
            Some((session, offered?, params))
        });
        // "The only error case": nothing could be chosen, or nobody knows by whom.
        let Some((session, offered, params)) = usable else {
            let why = if self.speaks_v2() {
                "a permission request needs `sessionId` and an option with an `optionId`"
            } else {
                "a permission request needs `sessionId`, `toolCall.toolCallId` and an option with an `optionId`"
            };
            self.answer(key, Err(&ErrorObject::new(code::INVALID_PARAMS, why)));
            return self.violation(Violation::BadRequest { method, why });
        };
        let Some(session) = session else {
            self.answer_cancelled(key, OUTCOME_CANCELLED);
            return self.violation(Violation::BadRequest { method, why: "this connection knows no such session" });
        };
        let options = offered.options.iter().map(|(id, ..)| id.clone()).collect();
        self.set_duty(key, Duty::Permission { session, options });
        let asked = match self.step_turns(session, TurnInput::Ask(key.0)) {
            Some(TurnOutput::Void) if self.may_be_of_background(session) => Some(TurnOutput::Open(None)),
            asked => asked,
        };
        match asked {
            Some(TurnOutput::Open(turn)) => {
                let option = |(id, name, kind)| PermissionOption { id, name, kind };
                let offer = Offer {
                    title: offered.title,
                    tool_call: offered.tool_call,
                    options: offered.options.into_iter().map(option).collect(),
                    dropped: offered.dropped.into(),
                };
                let ticket = PermissionTicket { key };
                if let Some(time) = self.config.permission {
                    self.timers.arm(Cause::Permission(key), self.now + time);
                }
                let turn = turn.map(TurnKey);
                let offer = alloc::boxed::Box::new(offer);
                self.tell(ClientAction::PermissionRequested { ticket, session, turn, offer, params });
            }
            // It crossed our cancel: "the Client MUST respond with the cancelled outcome" (ACP v1, Prompt Turn).
            _ => drop(self.answer_cancelled(key, OUTCOME_CANCELLED)),
        }
    }
}
