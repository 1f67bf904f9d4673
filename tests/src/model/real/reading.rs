//! Frames and actions in the words of the model.

use core::fmt::Debug;
use std::collections::BTreeMap;

use acp_core::{
    AgentAction, CancelCause, ClientAction, CloseReason, Common, IncomingKey, Origin, Outcome, Settlement, TurnKey,
    wire::code,
};
use serde_json::Value;

use super::Twin;
use crate::model::words::{Cause, Kind, Message, Of, Reason, Resolution, Said, Settled, Side, Told, Update};

/// The ids on the wire, and what they stand for.
#[derive(Debug, Default)]
pub(super) struct Names {
    prompts: BTreeMap<u64, usize>,
    asks: BTreeMap<u64, usize>,
    /// What the client's host was told of.
    keys: BTreeMap<IncomingKey, usize>,
}

impl Names {
    /// What a frame of this end says.
    pub(super) fn message(&mut self, side: Side, frame: &Value) -> Message {
        self.known(side, frame).unwrap_or_else(|| Message::Other(frame.to_string()))
    }

    fn known(&mut self, side: Side, frame: &Value) -> Option<Message> {
        let (params, id) = (&frame["params"], frame["id"].as_u64());
        let prompt = |id: u64| self.prompts.get(&id).copied();
        let ask = |id: u64| self.asks.get(&id).copied();
        Some(match (side, frame["method"].as_str(), id) {
            (Side::Client, Some("session/prompt"), Some(id)) => {
                let number = number(&params["prompt"][0]["text"])?;
                if self.prompts.insert(id, number).is_some() {
                    return None;
                }
                Message::Prompt(number)
            }
            (Side::Client, Some("session/cancel"), None) => Message::Cancel(number(&params["sessionId"])?),
            (Side::Client, Some("$/cancel_request"), None) => {
                Message::Withdraw(Of::Prompt(prompt(params["requestId"].as_u64()?)?))
            }
            (Side::Client, None, Some(id)) => Message::Answer(Of::Ask(ask(id)?), said(frame)?),
            (Side::Agent, Some("session/request_permission"), Some(id)) => {
                self.asked(id, &params["toolCall"]["toolCallId"], Kind::Permission)?
            }
            (Side::Agent, Some("fs/read_text_file"), Some(id)) => self.asked(id, &params["path"], Kind::Read)?,
            (Side::Agent, Some("$/cancel_request"), None) => {
                Message::Withdraw(Of::Ask(ask(params["requestId"].as_u64()?)?))
            }
            (Side::Agent, Some("session/update"), None) => Message::Update(update(&params["update"])?),
            (Side::Agent, None, Some(id)) => Message::Answer(Of::Prompt(prompt(id)?), said(frame)?),
            (Side::Agent, None, None) if frame["id"].is_null() && frame["error"]["code"] == code::PARSE_ERROR => {
                Message::NotUnderstood
            }
            _ => return None,
        })
    }

    fn asked(&mut self, id: u64, name: &Value, kind: Kind) -> Option<Message> {
        let number = number(name)?;
        self.asks.insert(id, number).is_none().then_some(Message::Ask(number, kind))
    }
}

fn number(text: &Value) -> Option<usize> {
    text.as_str()?.parse().ok()
}

fn update(update: &Value) -> Option<Update> {
    let call = number(&update["toolCallId"]);
    Some(match (update["sessionUpdate"].as_str()?, update["status"].as_str()) {
        ("agent_message_chunk", None) => Update::Text(number(&update["content"]["text"])?),
        ("tool_call", None) => Update::Open(call?),
        ("tool_call_update", Some("completed")) => Update::Finished(call?),
        ("tool_call_update", Some("failed")) => Update::LastWord(call?),
        _ => return None,
    })
}

/// What a response says.
fn said(frame: &Value) -> Option<Said> {
    match frame["error"]["code"].as_i64() {
        Some(code::REQUEST_CANCELLED) => Some(Said::Withdrawn),
        Some(_) => Some(Said::Failed),
        None => result(&frame["result"]),
    }
}

fn result(result: &Value) -> Option<Said> {
    match (result["stopReason"].as_str(), result["outcome"]["outcome"].as_str(), result["content"].as_str()) {
        (Some("end_turn"), None, None) => Some(Said::Ended),
        (Some("cancelled"), None, None) => Some(Said::Cancelled),
        (None, Some("selected"), None) if result["outcome"]["optionId"] == "yes" => Some(Said::Allowed),
        (None, Some("cancelled"), None) => Some(Said::Dismissed),
        (None, None, Some("text")) => Some(Said::Done),
        _ => None,
    }
}

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
        (Settlement::Failed, Outcome::Error(_)) => Settled::Failed,
        (Settlement::Closed, Outcome::Closed) => Settled::Closed,
        _ => return None,
    })
}

fn resolution(outcome: &Outcome) -> Option<Resolution> {
    Some(match outcome {
        Outcome::Result(value) => Resolution::Answered(result(&value.get::<Value>().ok()?)?),
        Outcome::Error(error) if error.code == code::REQUEST_CANCELLED => Resolution::Answered(Said::Withdrawn),
        Outcome::Error(_) => Resolution::Answered(Said::Failed),
        Outcome::Cancelled(of) => Resolution::Cancelled(cause(*of)?),
        Outcome::TimedOut => Resolution::TimedOut,
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
            ClientAction::Update { origin, params, .. } => {
                let told = update(&params.get::<Value>().ok()?["update"])?;
                match origin {
                    Origin::Turn(turn) => Told::Update(told, Some(self.prompt_of(turn)?)),
                    Origin::OutOfTurn => Told::Update(told, None),
                    _ => return None,
                }
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
            ClientAction::TurnEnded { turn, settlement, outcome, .. } => {
                Told::TurnEnded(self.prompt_of(turn)?, settled(&settlement, &outcome)?)
            }
            ClientAction::Common(Common::Request { ticket, params, .. }) => {
                let ask = number(&params?.get::<Value>().ok()?["path"])?;
                self.names.keys.insert(ticket.key(), ask);
                self.requests.insert(ask, ticket);
                Told::Request(ask)
            }
            ClientAction::Common(Common::CancelRequested(key)) => Told::CancelRequested(*self.names.keys.get(&key)?),
            ClientAction::Common(other) => common(&other)?,
            _ => return None,
        })
    }

    /// What the agent's host is told. It keeps the tickets.
    pub(super) fn agent_told(&mut self, action: AgentAction) -> Told {
        let text = format!("{action:?}");
        self.of_agent(action).unwrap_or(Told::Other(text))
    }

    fn of_agent(&mut self, action: AgentAction) -> Option<Told> {
        Some(match action {
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
            AgentAction::IdleCancel { session } => {
                Told::IdleCancel(self.agent.sessions.iter().position(|key| *key == session)? + 1)
            }
            AgentAction::Common(Common::Resolved(resolved)) => {
                let ask = self.asks.iter().find(|(_, key)| **key == resolved.request).map(|(ask, _)| *ask)?;
                Told::Resolved(ask, resolution(&resolved.outcome)?)
            }
            AgentAction::Common(other) => common(&other)?,
            _ => return None,
        })
    }
}
