//! Frames in the words of the model.

use std::collections::BTreeMap;

use acp_core::{IncomingKey, RequestKey, wire::code};
use serde_json::Value;

use super::errands::LOGINS;
use crate::model::words::{Kind, Leg, Message, Of, Said, Side, State, Stop, Update, Want};

/// The ids on the wire, and what they stand for.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Whether version 2 is spoken.
    two: bool,
    /// Of the client's requests, and of the agent's.
    pub(super) client: BTreeMap<u64, Of>,
    pub(super) agent: BTreeMap<u64, Of>,
    /// What the errands are for. They are counted from 1.
    wants: Vec<Want>,
    /// What the client's host was told of.
    pub(super) keys: BTreeMap<IncomingKey, usize>,
}

impl Names {
    /// Those of a connection of this version.
    pub(super) fn of(version: u16) -> Self {
        Self { two: version == 2, ..Self::default() }
    }

    /// The next errand has this key.
    pub(super) fn errand(&mut self, request: RequestKey, want: Want) {
        self.wants.push(want);
        self.client.insert(request.number(), Of::Errand(self.wants.len(), Leg::First));
    }

    /// The id of a request that was written.
    pub(super) fn id(&self, of: Of) -> Option<u64> {
        self.client.iter().chain(&self.agent).find(|(_, known)| **known == of).map(|(id, _)| *id)
    }

    /// What a frame of this end says.
    pub(super) fn message(&mut self, side: Side, frame: &Value) -> Message {
        self.known(side, frame).unwrap_or_else(|| Message::Other(frame.to_string()))
    }

    fn known(&mut self, side: Side, frame: &Value) -> Option<Message> {
        let (params, id) = (&frame["params"], frame["id"].as_u64());
        Some(match (side, frame["method"].as_str(), id) {
            (Side::Client, Some("session/prompt"), Some(id)) => {
                let number = number(&params["prompt"][0]["text"])?;
                if self.client.insert(id, Of::Prompt(number)).is_some() {
                    return None;
                }
                Message::Prompt(number)
            }
            (Side::Client, Some(method), Some(id)) => self.wanted(id, method, params)?,
            (Side::Client, Some("session/cancel"), None) => Message::Cancel(session(&params["sessionId"])?),
            (Side::Client, Some("$/cancel_request"), None) => {
                Message::Withdraw(*self.client.get(&params["requestId"].as_u64()?)?)
            }
            (Side::Client, None, Some(id)) => self.answer(*self.agent.get(&id)?, frame)?,
            (Side::Agent, Some("session/request_permission"), Some(id)) => {
                let about = if self.two { &params["subject"] } else { params };
                self.asked(id, &about["toolCall"]["toolCallId"], Kind::Permission)?
            }
            (Side::Agent, Some(read), Some(id)) if read == if self.two { "_read" } else { "fs/read_text_file" } => {
                self.asked(id, &params["path"], Kind::Read)?
            }
            (Side::Agent, Some("$/cancel_request"), None) => {
                Message::Withdraw(*self.agent.get(&params["requestId"].as_u64()?)?)
            }
            (Side::Agent, Some("session/update"), None) => Message::Update(self.update(params)?),
            (Side::Agent, None, Some(id)) => self.answer(*self.client.get(&id)?, frame)?,
            (Side::Agent, None, None) if frame["id"] == "stray" => self.answer(Of::Stray, frame)?,
            (_, None, None) if frame["id"].is_null() && frame["error"]["code"] == code::INVALID_REQUEST => {
                Message::UsedTwice
            }
            (Side::Agent, None, None) if frame["id"].is_null() && frame["error"]["code"] == code::PARSE_ERROR => {
                Message::NotUnderstood
            }
            _ => return None,
        })
    }

    /// A request of an errand. One that it sent by itself is known by the way to log in, or by what is asked again.
    fn wanted(&mut self, id: u64, method: &str, params: &Value) -> Option<Message> {
        let logs_in = if self.two { "auth/login" } else { "authenticate" };
        let login = method == logs_in;
        let (errand, leg) = match self.client.get(&id) {
            Some(Of::Errand(errand, leg)) => (*errand, *leg),
            Some(_) => return None,
            None if login => {
                let way: usize = number(&params["methodId"])?;
                let mut errands = (1..=self.wants.len()).rev();
                (errands.find(|errand| errand % LOGINS == way && self.wants[errand - 1] != Want::LogIn)?, Leg::LogIn)
            }
            None => (usize::try_from(params["_meta"]["errand"].as_u64()?).ok()?, Leg::Again),
        };
        let want = *self.wants.get(errand.checked_sub(1)?)?;
        let history = params["replayFrom"]["type"] == "start";
        let (asks, of) = match want {
            _ if leg == Leg::LogIn => (logs_in, None),
            Want::LogIn => (logs_in, None),
            Want::Initialize => ("initialize", None),
            Want::New => ("session/new", None),
            Want::Load(session) if self.two && history => ("session/resume", Some(session)),
            Want::Load(session) => ("session/load", Some(session)),
            Want::Resume(_) if history => return None,
            Want::Resume(session) => ("session/resume", Some(session)),
            Want::Close(session) => ("session/close", Some(session)),
        };
        self.client.insert(id, Of::Errand(errand, leg));
        let right = asks == method && of.is_none_or(|of| session(&params["sessionId"]) == Some(of));
        right.then_some(Message::Errand(errand, leg))
    }

    fn asked(&mut self, id: u64, name: &Value, kind: Kind) -> Option<Message> {
        let number = number(name)?;
        self.agent.insert(id, Of::Ask(number)).is_none().then_some(Message::Ask(number, kind))
    }
}

fn session(text: &Value) -> Option<usize> {
    text.as_str()?.strip_prefix('s')?.parse().ok()
}

pub(super) fn number(text: &Value) -> Option<usize> {
    text.as_str()?.parse().ok()
}

impl Names {
    /// What an update says, by the params that it came in.
    pub(super) fn update(&self, params: &Value) -> Option<Update> {
        let update = &params["update"];
        let (call, here) = (number(&update["toolCallId"]), || session(&params["sessionId"]));
        Some(match (update["sessionUpdate"].as_str()?, update["status"].as_str()) {
            ("agent_message_chunk", None) => Update::Text(number(&update["content"]["text"])?),
            ("tool_call", None) if !self.two => Update::Open(call?),
            ("tool_call_update", Some("in_progress")) if self.two => Update::Open(call?),
            ("tool_call_update", Some("completed")) => Update::Finished(call?),
            ("tool_call_update", Some("failed")) if !self.two => Update::LastWord(call?),
            ("tool_call_update", Some("cancelled")) if self.two => Update::LastWord(call?),
            ("state_update", None) if self.two => Update::State(here()?, state(update)?),
            ("user_message", None) if self.two => {
                let prompt = number(&update["content"][0]["text"])?;
                Update::User(prompt, is_named(&update["messageId"], prompt)?)
            }
            ("replay_complete", None) if self.two => Update::Replayed(here()?),
            _ => return None,
        })
    }

    fn answer(&self, of: Of, frame: &Value) -> Option<Message> {
        let inserted = match of {
            Of::Prompt(prompt) if self.two => is_named(&frame["result"]["messageId"], prompt),
            _ => None,
        };
        Some(Message::Answer(of, if let Some(named) = inserted { Said::Inserted(named) } else { said(frame)? }))
    }
}

fn state(update: &Value) -> Option<State> {
    let stop = match update["stopReason"].as_str() {
        None => None,
        Some("end_turn") => Some(Stop::Ended),
        Some("cancelled") => Some(Stop::Cancelled),
        Some("error") => Some(Stop::Error(update["error"]["code"].as_i64()?)),
        Some(_) => return None,
    };
    Some(match (update["state"].as_str()?, stop) {
        ("idle", stop) => State::Rest(stop),
        ("running", None) => State::Running,
        ("requires_action", None) => State::Waiting,
        _ => return None,
    })
}

/// The id that the agent's host gives the message of a prompt.
pub(super) fn message(prompt: usize) -> String {
    format!("m{prompt}")
}

/// Whether a message of this prompt has the id that its host gives it, or one of the core's.
pub(super) fn is_named(id: &Value, prompt: usize) -> Option<bool> {
    let id = id.as_str()?;
    if id == message(prompt) { Some(true) } else { id.starts_with("prompt-").then_some(false) }
}

/// What a response says.
fn said(frame: &Value) -> Option<Said> {
    match frame["error"]["code"].as_i64() {
        Some(code::REQUEST_CANCELLED) => Some(Said::Withdrawn),
        Some(code) => Some(Said::Failed(code)),
        None => result(&frame["result"]),
    }
}

pub(super) fn result(result: &Value) -> Option<Said> {
    let text = |name: &str| result[name].as_str();
    Some(match (text("stopReason"), result["outcome"]["outcome"].as_str(), text("content"), text("sessionId")) {
        (Some("end_turn"), None, None, None) => Said::Ended,
        (Some("cancelled"), None, None, None) => Said::Cancelled,
        (None, Some("selected"), None, None) if result["outcome"]["optionId"] == "yes" => Said::Allowed,
        (None, Some("cancelled"), None, None) => Said::Dismissed,
        (None, None, Some("text"), None) => Said::File,
        (None, None, None, Some(_)) => Said::Session(session(&result["sessionId"])?),
        (None, None, None, None) if result["protocolVersion"].is_u64() => {
            Said::Version(result["protocolVersion"].as_u64()?)
        }
        (None, None, None, None) if result.as_object()?.is_empty() => Said::Done,
        _ => return None,
    })
}
