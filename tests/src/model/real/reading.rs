//! Frames and actions in the words of the model.

use core::fmt::Debug;

use acp_core::{
    AgentAction, CancelCause, ClientAction, CloseReason, Common, IncomingKey, Outcome, Settlement, TurnKey,
    wire::{Method, code},
};
use serde_json::Value;

use super::{
    Paper, Twin,
    names::{is_named, number, result},
};
use crate::model::{
    Model,
    words::{Cause, Leg, Of, Origin, Reason, Resolution, Said, Settled, Told, Want},
};

/// The name of a value of an enumeration that the model has, too.
pub(super) fn word(value: &impl Debug) -> &'static str {
    let name = format!("{value:?}");
    let known = ["Queued", "AsCancelled", "AsWithdrawn", "TooLate", "Requested", "AlreadyRequested", "Moot"];
    known.into_iter().find(|known| *known == name).unwrap_or("another word")
}

fn reason(reason: &CloseReason) -> Option<Reason> {
    Some(match reason {
        CloseReason::Local => Reason::Local,
        CloseReason::Eof => Reason::Eof,
        CloseReason::Lost(_) => Reason::Lost,
        CloseReason::StopUnconfirmed => Reason::StopUnconfirmed,
        _ => return None,
    })
}

const fn cause(cause: CancelCause) -> Option<Cause> {
    Some(match cause {
        CancelCause::Session => Cause::Session,
        CancelCause::Request => Cause::Request,
        CancelCause::CloseSession => Cause::CloseSession,
        CancelCause::Closing => Cause::Closing,
        _ => return None,
    })
}

fn settled(settlement: &Settlement, outcome: &Outcome) -> Option<Settled> {
    Some(match (settlement, outcome) {
        (Settlement::Ended(_), _) => Settled::Ended,
        (Settlement::Cancelled, _) => Settled::Cancelled,
        (Settlement::CancelledUnasked, _) => Settled::CancelledUnasked,
        (Settlement::EndedAlthoughCancelled(_), _) => Settled::EndedAlthoughCancelled,
        (Settlement::Failed, Outcome::NotSent) => Settled::NotSent,
        (Settlement::Failed, Outcome::Undelivered) => Settled::Undelivered,
        (Settlement::Failed, Outcome::Error(_)) => Settled::Failed,
        (Settlement::Closed, Outcome::Closed) => Settled::Closed,
        _ => return None,
    })
}

fn resolution(outcome: &Outcome) -> Option<Resolution> {
    Some(match outcome {
        Outcome::Result(value) => Resolution::Answered(result(&value.get::<Value>().ok()?)?),
        Outcome::Error(error) if error.code == code::REQUEST_CANCELLED => Resolution::Answered(Said::Withdrawn),
        Outcome::Error(error) => Resolution::Answered(Said::Failed(error.code)),
        Outcome::Cancelled(of) => Resolution::Cancelled(cause(*of)?),
        Outcome::TimedOut => Resolution::TimedOut,
        Outcome::Undelivered => Resolution::Undelivered,
        Outcome::Closed => Resolution::Closed,
        _ => return None,
    })
}

fn common(common: &Common) -> Option<Told> {
    match common {
        Common::Violation(_) => Some(Told::Violation),
        Common::Closed(why) => reason(why).map(Told::Closed),
        _ => None,
    }
}

/// What an errand looks like to the agent's host.
enum Like {
    Any,
    Open(Method),
    Close(usize),
}

impl Twin {
    fn prompt_of(&self, turn: TurnKey) -> Option<usize> {
        self.turns.iter().find(|(_, key)| **key == turn).map(|(number, _)| *number)
    }

    fn turn_of(&self, turn: TurnKey) -> Option<usize> {
        self.agent_turns.iter().find(|(_, key)| **key == turn).map(|(number, _)| *number)
    }

    /// What the client's host is told. It keeps the tickets.
    pub(super) fn client_told(&mut self, action: ClientAction) -> Told {
        let text = format!("{action:?}");
        self.of_client(action).unwrap_or(Told::Other(text))
    }

    fn of_client(&mut self, action: ClientAction) -> Option<Told> {
        Some(match action {
            ClientAction::Update { session, origin, params } => {
                let told = self.names.update(&params.get::<Value>().ok()?)?;
                let session = match session {
                    Some(session) => Some(*self.client.keys.get(&session)?),
                    None => None,
                };
                let origin = match origin {
                    acp_core::Origin::Turn(turn) => Origin::Turn(self.prompt_of(turn)?),
                    acp_core::Origin::OutOfTurn => Origin::OutOfTurn,
                    acp_core::Origin::Replay => Origin::Replay,
                    acp_core::Origin::Early => Origin::Early,
                    _ => return None,
                };
                Told::Update(told, session, origin)
            }
            ClientAction::PermissionRequested { ticket, turn, offer, .. } => {
                let ask = offer.tool_call.as_deref()?.parse().ok()?;
                self.names.keys.insert(ticket.key(), ask);
                self.dialogs.insert(ask, ticket);
                let turn = match turn {
                    Some(turn) => Some(self.prompt_of(turn)?),
                    None => None,
                };
                Told::Permission(ask, turn)
            }
            ClientAction::PermissionRevoked(key) => Told::Revoked(*self.names.keys.get(&key)?),
            ClientAction::ToolCallsLeftOpen { turn, calls, .. } => {
                let calls: Option<Vec<_>> = calls.iter().map(|call| call.parse().ok()).collect();
                Told::CallsLeftOpen(self.prompt_of(turn)?, calls?)
            }
            ClientAction::PromptInserted { turn, message, .. } => {
                let prompt = self.prompt_of(turn)?;
                Told::Inserted(prompt, is_named(&Value::from(message?.into_string()), prompt)?)
            }
            ClientAction::CancelUndelivered { turn, stop, steer } => {
                Told::CancelUndelivered(self.prompt_of(turn)?, stop, steer)
            }
            ClientAction::Common(Common::Resolved(resolved)) => {
                let Of::Errand(errand, Leg::First) = *self.names.client.get(&resolved.request.number())? else {
                    return None;
                };
                let session = match resolved.session {
                    Some(session) => Some(*self.client.keys.get(&session)?),
                    None => None,
                };
                Told::Done(errand, session, resolution(&resolved.outcome)?)
            }
            ClientAction::Common(Common::CancelUnconfirmed(request)) => {
                Told::CancelUnconfirmed(*self.names.client.get(&request.number())?)
            }
            ClientAction::TurnEnded { turn, settlement, outcome, .. } => {
                Told::TurnEnded(self.prompt_of(turn)?, settled(&settlement, &outcome)?)
            }
            ClientAction::Common(Common::Request { ticket, params, .. }) => {
                let ask = number(&params?.get::<Value>().ok()?["path"])?;
                self.names.keys.insert(ticket.key(), ask);
                self.requests.insert(ask, ticket);
                Told::Request(ask)
            }
            ClientAction::Common(Common::CancelRequested(key)) => {
                Told::CancelRequested(Of::Ask(*self.names.keys.get(&key)?))
            }
            ClientAction::Common(other) => common(&other)?,
            _ => return None,
        })
    }

    /// What the agent's host is told. It keeps the tickets.
    pub(super) fn agent_told(&mut self, action: AgentAction, model: &Model) -> Told {
        let text = format!("{action:?}");
        self.of_agent(action, model).unwrap_or(Told::Other(text))
    }

    /// The host has an errand on its desk. `want`: what it looks like.
    fn on_desk(&mut self, key: IncomingKey, paper: Paper, replay: bool, like: Like, model: &Model) -> Option<Told> {
        let Of::Errand(errand, leg) = model.arrived(usize::try_from(key.number()).ok()?)? else { return None };
        let want = if leg == Leg::LogIn { Want::LogIn } else { model.want(errand) };
        let right = match like {
            Like::Any => want == Want::Initialize || want == Want::LogIn,
            Like::Open(method) => matches!(
                (want, method),
                (Want::New, Method::SessionNew)
                    | (Want::Load(_), Method::SessionLoad)
                    | (Want::Load(_) | Want::Resume(_), Method::SessionResume)
            ),
            Like::Close(session) => want == Want::Close(session),
        };
        self.desk.insert((errand, leg), paper);
        right.then_some(Told::Errand(errand, leg, replay))
    }

    fn of_agent(&mut self, action: AgentAction, model: &Model) -> Option<Told> {
        Some(match action {
            AgentAction::Initialize { ticket, .. } => {
                self.on_desk(ticket.key(), Paper::Initialize(ticket), false, Like::Any, model)?
            }
            AgentAction::SessionRequested { ticket, method, replay, .. } => {
                self.on_desk(ticket.key(), Paper::Session(ticket), replay, Like::Open(method), model)?
            }
            AgentAction::CloseSession { ticket, session } => {
                let session = *self.agent.keys.get(&session)?;
                self.on_desk(ticket.key(), Paper::Plain(ticket), false, Like::Close(session), model)?
            }
            AgentAction::Common(Common::Request { ticket, method, .. })
                if ["authenticate", "auth/login"].contains(&method.as_str()) =>
            {
                self.on_desk(ticket.key(), Paper::Plain(ticket), false, Like::Any, model)?
            }
            AgentAction::Common(Common::CancelRequested(key)) => {
                Told::CancelRequested(model.arrived(usize::try_from(key.number()).ok()?)?)
            }
            AgentAction::Common(Common::CancelUnconfirmed(request)) => {
                Told::CancelUnconfirmed(*self.names.agent.get(&request.number())?)
            }
            AgentAction::Prompt { ticket, params } => {
                let number = number(&params.get::<Value>().ok()?["prompt"][0]["text"])?;
                self.agent_turns.insert(number, ticket.turn());
                self.tickets.insert(number, ticket);
                Told::Prompt(number)
            }
            AgentAction::DropQueued { turn, .. } => Told::DropQueued(self.turn_of(turn)?),
            AgentAction::AbortTurn { turn, cause: of, again, .. } => {
                Told::Abort(self.turn_of(turn)?, cause(of)?, again)
            }
            AgentAction::TurnForced { turn, .. } => Told::Forced(self.turn_of(turn)?),
            AgentAction::ToolCallsClosed { turn, calls, .. } => {
                let calls: Option<Vec<_>> = calls.iter().map(|call| call.parse().ok()).collect();
                Told::CallsClosed(self.turn_of(turn)?, calls?)
            }
            AgentAction::IdleCancel { session } => Told::IdleCancel(*self.agent.keys.get(&session)?),
            AgentAction::Common(Common::Resolved(resolved)) => {
                let ask = self.asks.iter().find(|(_, key)| **key == resolved.request).map(|(ask, _)| *ask)?;
                Told::Resolved(ask, resolution(&resolved.outcome)?)
            }
            AgentAction::Common(other) => common(&other)?,
            _ => return None,
        })
    }
}
