//! A bridge between the two versions of the protocol: an agent towards the client, a client towards the agent, and a host
//! that says at one end what it hears at the other. It is made of the core alone, so the program around it only carries
//! bytes and time.
//!
//! What the versions have in common passes; what only one of them has is put in the other's terms where it has any, and
//! left out where not: files and terminals of the client's, and modes, exist in version 1 only. Cancels, permissions and
//! the ends of turns are not translated at all: both ends keep their own rules about them.

mod translate;

use std::collections::BTreeMap;

use acp_core::{
    Agent, AgentAction, CancelKind, Client, ClientAction, CloseReason, CommandError, Common, Config, ConfigError,
    Connection, Decision, ErrorObject, IncomingKey, InitializeTicket, Origin, Outcome, Payload, PermissionTicket,
    RequestKey, Resolved, Scope, SessionKey, SessionPlan, SessionTicket, Settlement, Ticket, Timestamp, TurnEnd,
    TurnKey, TurnTicket,
    wire::{Method, PermissionOutcome, StopReason, permission_outcome},
};

use self::translate::{Spoken, Updates};
use crate::shape::{internal, widened};

/// Both ends, and what is under way between them.
#[derive(Debug)]
pub struct Bridge {
    /// Towards the client.
    pub front: Connection<Agent>,
    /// Towards the agent.
    pub back: Connection<Client>,
    /// `initialize`, while the agent has not answered it, and what the client wants to speak.
    hello: Option<(InitializeTicket, RequestKey, Spoken)>,
    /// Requests of the client's that the agent has to answer.
    asked: BTreeMap<RequestKey, Asked>,
    /// Requests of the agent's that the client has to answer.
    asking: BTreeMap<RequestKey, Asking>,
    /// Turns, by their key at the back, and that at the front.
    turns: BTreeMap<TurnKey, TurnTicket>,
    updates: Updates,
}

#[derive(Debug)]
enum Asked {
    Session(SessionTicket),
    Plain(Ticket),
}

#[derive(Debug)]
enum Asking {
    Permission(PermissionTicket),
    Plain(Ticket),
}

impl Bridge {
    /// A bridge on which nothing has happened. It speaks what the client asks for, and asks the agent for `version`; an
    /// older agent is taken as it is.
    ///
    /// # Errors
    ///
    /// None but those of a configuration that is wrong.
    pub fn new(version: u16) -> Result<Self, ConfigError> {
        let (mut front, mut back) = (widened(Config::agent()), widened(Config::client()));
        front.versions = [1, 2].into_iter().collect();
        back.versions = front.versions.clone();
        back.offer = Some(version);
        // The client decides how long it waits.
        back.stop_confirm = None;
        Ok(Self {
            front: Connection::new(front)?,
            back: Connection::new(back)?,
            hello: None,
            asked: BTreeMap::new(),
            asking: BTreeMap::new(),
            turns: BTreeMap::new(),
            updates: Updates::default(),
        })
    }

    /// Says at each end what was heard at the other.
    pub fn step(&mut self, now: Timestamp) {
        self.front.handle_timeout(now);
        self.back.handle_timeout(now);
        loop {
            if let Some(action) = self.front.poll_action() {
                self.client_said(action, now);
            } else if let Some(action) = self.back.poll_action() {
                self.agent_said(action, now);
            } else {
                return;
            }
        }
    }

    /// When there is more to do, if nothing happens before.
    #[must_use]
    pub fn due(&self) -> Option<Timestamp> {
        let at = [self.front.poll_timeout(), self.back.poll_timeout()];
        at.into_iter().flatten().map(|deadline| deadline.at).min()
    }

    /// What is spoken at the front, and at the back.
    fn spoken(&self) -> (Spoken, Spoken) {
        (Spoken::of(self.front.version()), Spoken::of(self.back.version()))
    }

    // ---- from the client ---------------------------------------------------------------------------------------

    fn client_said(&mut self, action: AgentAction, now: Timestamp) {
        match action {
            AgentAction::Initialize { ticket, version, params } => {
                let asked = Spoken::of(Some(version));
                let hello = translate::hello(&params, asked, Spoken::of(self.back.config().offer));
                match self.back.initialize(&hello, now) {
                    Ok(request) => self.hello = Some((ticket, request, asked)),
                    Err(why) => drop(self.front.reject_initialize(ticket, &internal(why), now)),
                }
            }
            AgentAction::SessionRequested { ticket, method, session, replay, params } => {
                match self.open(method, session, replay, &params, now) {
                    Ok(request) => drop(self.asked.insert(request, Asked::Session(ticket))),
                    Err(why) => drop(self.front.reject_session(ticket, &internal(why), now)),
                }
            }
            AgentAction::Prompt { ticket, params } => {
                let content = translate::member(&params, "prompt").unwrap_or(Payload::NULL);
                let begun = self.other(ticket.session()).and_then(|there| {
                    self.back.prompt(there, &content, translate::member(&params, "_meta").as_ref(), now)
                });
                match begun {
                    Ok(turn) => drop(self.turns.insert(turn, ticket)),
                    Err(why) => drop(self.front.end_turn(ticket, &TurnEnd::Error(internal(why)), now)),
                }
            }
            AgentAction::AbortTurn { turn, .. } => {
                let there = self.turns.iter().find(|(_, ticket)| ticket.turn() == turn).map(|(there, _)| *there);
                if let Some(there) = there {
                    // A race with the end of the turn is none of ours.
                    let _ = self.back.cancel_turn(there, CancelKind::Stop, now);
                }
            }
            AgentAction::IdleCancel { session } => {
                if let Ok(there) = self.other(session) {
                    let _ = self.back.stop_session(there, now);
                }
            }
            AgentAction::CloseSession { ticket, session } => {
                let sent = self.other(session).and_then(|there| {
                    self.back.request_in(there, Method::SessionClose.name(), &Payload::EMPTY, None, now)
                });
                self.keep(sent, Asked::Plain(ticket), now);
            }
            AgentAction::Common(Common::Request { ticket, method, params, .. }) => {
                let method = translate::method(method.as_str(), self.spoken().1);
                let sent = self.back.request(method, params, None, now);
                self.keep(sent, Asked::Plain(ticket), now);
            }
            AgentAction::Common(Common::CancelRequested(key)) => self.withdraw(key, now),
            AgentAction::Common(Common::Resolved(resolved)) => self.client_answered(resolved, now),
            AgentAction::Common(Common::Notification { method, params }) => {
                let _ = self.back.notify(method.as_str(), params.as_ref(), now);
            }
            AgentAction::Common(Common::Closed(_)) => self.back.close(now),
            other => drop(self.front.decline(other, now)),
        }
    }

    /// Opens at the back what is opened at the front.
    fn open(
        &mut self,
        method: Method,
        session: Option<SessionKey>,
        replay: bool,
        params: &Payload,
        now: Timestamp,
    ) -> Result<RequestKey, CommandError> {
        let Some(id) = session.and_then(|session| self.front.session_id(session)) else {
            return self.back.request(method.name(), Some(translate::opening(params, self.spoken().1)), None, now);
        };
        let mut plan = SessionPlan::stored(id, translate::opening(params, self.spoken().1));
        plan.prefer_resume = !replay;
        self.back.open_session(&plan, now)
    }

    /// The session at the back that one at the front stands for: they have the same id.
    fn other(&self, session: SessionKey) -> Result<SessionKey, CommandError> {
        let known = self.front.session_id(session).and_then(|id| self.back.find_session(id));
        known.ok_or(CommandError::Misuse(acp_core::Misuse::UnknownSession))
    }

    fn keep(&mut self, sent: Result<RequestKey, CommandError>, asked: Asked, now: Timestamp) {
        match (sent, asked) {
            (Ok(request), asked) => drop(self.asked.insert(request, asked)),
            (Err(why), Asked::Plain(ticket)) => drop(self.front.respond(ticket, Err(refusal(&why)), now)),
            (Err(why), Asked::Session(ticket)) => drop(self.front.reject_session(ticket, &refusal(&why), now)),
        }
    }

    fn withdraw(&mut self, key: IncomingKey, now: Timestamp) {
        let of = |asked: &Asked| match asked {
            Asked::Session(ticket) => ticket.key() == key,
            Asked::Plain(ticket) => ticket.key() == key,
        };
        if let Some((request, _)) = self.asked.iter().find(|(_, asked)| of(asked)) {
            let _ = self.back.cancel_request(*request, now);
        }
    }

    /// The client's answer to something the agent had asked.
    fn client_answered(&mut self, resolved: Resolved, now: Timestamp) {
        match self.asking.remove(&resolved.request) {
            Some(Asking::Permission(ticket)) => {
                let chosen = match &resolved.outcome {
                    Outcome::Result(result) => permission_outcome(result),
                    _ => None,
                };
                let decision = match chosen {
                    Some(PermissionOutcome::Selected(option)) => Decision::Select(option),
                    _ => Decision::Cancelled,
                };
                self.back.decide(ticket, &decision, now);
            }
            Some(Asking::Plain(ticket)) => drop(self.back.respond(ticket, answer(resolved.outcome), now)),
            None => {}
        }
    }

    // ---- from the agent ----------------------------------------------------------------------------------------

    fn agent_said(&mut self, action: ClientAction, now: Timestamp) {
        match action {
            ClientAction::Update { session: Some(there), origin, params } => self.update(there, origin, &params, now),
            ClientAction::PermissionRequested { ticket, session, turn, params, .. } => {
                let question = translate::permission(&params, self.spoken());
                let sent = match self.scope(session, turn) {
                    Some(scope) => {
                        self.front.request_in(scope, Method::SessionRequestPermission.name(), &question, None, now)
                    }
                    None => Err(CommandError::Closed),
                };
                match sent {
                    Ok(request) => drop(self.asking.insert(request, Asking::Permission(ticket))),
                    Err(_) => drop(self.back.decide(ticket, &Decision::Cancelled, now)),
                }
            }
            ClientAction::PermissionRevoked(key) => {
                let of = |asking: &Asking| matches!(asking, Asking::Permission(ticket) if ticket.key() == key);
                if let Some((request, _)) = self.asking.iter().find(|(_, asking)| of(asking)) {
                    let _ = self.front.cancel_request(*request, now);
                }
            }
            ClientAction::TurnEnded { turn, settlement, outcome, .. } => {
                if let Some(ticket) = self.turns.remove(&turn) {
                    self.front.end_turn(ticket, &end(settlement, outcome), now);
                }
            }
            ClientAction::PromptInserted { turn, message, .. } => {
                if let (Some(ticket), Some(message)) = (self.turns.get(&turn), message) {
                    // In version 1 there is no such step; without room the core inserts it later, under a name of its own.
                    let _ = self.front.insert_prompt(ticket.turn(), &message, now);
                }
            }
            ClientAction::Common(Common::Request { ticket, method, session, params }) => {
                let scope = session.and_then(|there| self.scope(there, self.back.running_turn(there)));
                let bare = translate::without_session(params.as_ref());
                let sent = match scope {
                    Some(scope) => self.front.request_in(scope, method.as_str(), &bare, None, now),
                    None => self.front.request(method.as_str(), params, None, now),
                };
                match sent {
                    Ok(request) => drop(self.asking.insert(request, Asking::Plain(ticket))),
                    Err(why) => drop(self.back.respond(ticket, Err(refusal(&why)), now)),
                }
            }
            ClientAction::Common(Common::CancelRequested(key)) => {
                let of = |asking: &Asking| matches!(asking, Asking::Plain(ticket) if ticket.key() == key);
                if let Some((request, _)) = self.asking.iter().find(|(_, asking)| of(asking)) {
                    let _ = self.front.cancel_request(*request, now);
                }
            }
            ClientAction::Common(Common::Resolved(resolved)) => self.agent_answered(resolved, now),
            ClientAction::Common(Common::Notification { method, params }) => {
                let _ = self.front.notify(method.as_str(), params.as_ref(), now);
            }
            ClientAction::Common(Common::Closed(reason)) => {
                if let (Some((ticket, ..)), false) = (self.hello.take(), reason == CloseReason::Local) {
                    self.front.reject_initialize(ticket, &internal(&reason), now);
                }
                self.front.close(now);
            }
            other => drop(self.back.decline(other, now)),
        }
    }

    /// Where at the front something belongs that the agent says.
    fn scope(&self, there: SessionKey, turn: Option<TurnKey>) -> Option<Scope> {
        if let Some(ticket) = turn.and_then(|turn| self.turns.get(&turn)) {
            return Some(ticket.into());
        }
        let id = self.back.session_id(there)?;
        self.front.find_session(id).map(Scope::Session)
    }

    fn update(&mut self, there: SessionKey, origin: Origin, params: &Payload, now: Timestamp) {
        let turn = match origin {
            Origin::Turn(turn) => Some(turn),
            _ => None,
        };
        let Some(scope) = self.scope(there, turn) else { return };
        let replay = origin == Origin::Replay;
        if let Some(update) = self.updates.translate(there, turn, replay, params, self.spoken()) {
            // An update that has no room is lost, as it is on a client that does not read.
            let _ = self.front.update(scope, &update, now);
        }
    }

    /// The agent's answer to something the client had asked.
    fn agent_answered(&mut self, resolved: Resolved, now: Timestamp) {
        if let Some((ticket, _, asked)) = self.hello.take_if(|(_, request, _)| *request == resolved.request) {
            match answer(resolved.outcome) {
                Ok(result) => {
                    let result = translate::welcome(&result, Spoken::of(self.back.version()), asked);
                    if let Err(refused) = self.front.accept_initialize(ticket, &result, now) {
                        self.front.reject_initialize(refused.ticket, &internal(refused.why), now);
                    }
                }
                Err(error) => drop(self.front.reject_initialize(ticket, &error, now)),
            }
            return;
        }
        match (self.asked.remove(&resolved.request), answer(resolved.outcome)) {
            (Some(Asked::Session(ticket)), Ok(result)) => {
                if let Err(refused) = self.front.accept_session(ticket, &result, now) {
                    self.front.reject_session(refused.ticket, &internal(refused.why), now);
                }
            }
            (Some(Asked::Session(ticket)), Err(error)) => drop(self.front.reject_session(ticket, &error, now)),
            (Some(Asked::Plain(ticket)), answer) => drop(self.front.respond(ticket, answer, now)),
            (None, _) => {}
        }
    }
}

/// How a turn ends at the front that ended so at the back.
fn end(settlement: Settlement, outcome: Outcome) -> TurnEnd {
    match settlement {
        Settlement::Ended(reason) | Settlement::EndedAlthoughCancelled(reason) => TurnEnd::Stop(reason),
        Settlement::Cancelled | Settlement::CancelledUnasked => TurnEnd::Stop(StopReason::Cancelled),
        _ => match answer(outcome) {
            Err(error) => TurnEnd::Error(error),
            Ok(_) => TurnEnd::Error(internal("the agent's turn failed")),
        },
    }
}

fn answer(outcome: Outcome) -> Result<Payload, ErrorObject> {
    match outcome {
        Outcome::Result(result) => Ok(result),
        Outcome::Error(error) => Err(error),
        other => Err(internal(format!("no answer from the other side: {other:?}"))),
    }
}

fn refusal(why: &CommandError) -> ErrorObject {
    match why {
        CommandError::NotOffered(_) | CommandError::Unsupported { .. } => {
            ErrorObject::new(acp_core::wire::code::METHOD_NOT_FOUND, why.to_string())
        }
        why => internal(why),
    }
}
