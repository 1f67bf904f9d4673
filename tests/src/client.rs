//! A bench for the client's end, in words that fit on one line.
//!
//! A frame in words is `ask 3 session/prompt` (a request of ours), `session/cancel s1`, `$/cancel_request 3`,
//! `p: cancelled` or `p: allow` (a permission decided), `p: ok`, `p: -32601`. An action begins with what it is: see
//! [`heard`](ClientBench::heard). Requests of the agent go by the order in which they arrived, from 1.

use core::ops::{Deref, DerefMut};
use std::collections::BTreeMap;

use acp_core::{
    Client, ClientAction, Common, Config, Decision, Delivery, Offer, Origin, Outcome, Payload, PermissionTicket,
    SessionKey, Ticket, TurnKey,
};
use serde_json::{Value, json};

use crate::bench::{Bench, name, payload};

/// A client, and the tickets its host holds, by the number of the agent's request.
#[derive(Debug)]
pub struct ClientBench {
    bench: Bench<Client>,
    /// Permission requests, with what they offer.
    pub permissions: BTreeMap<u64, (PermissionTicket, Offer)>,
    /// Other requests.
    pub requests: BTreeMap<u64, Ticket>,
}

impl From<ClientBench> for Bench<Client> {
    fn from(client: ClientBench) -> Self {
        client.bench
    }
}

impl Deref for ClientBench {
    type Target = Bench<Client>;

    fn deref(&self) -> &Bench<Client> {
        &self.bench
    }
}

impl DerefMut for ClientBench {
    fn deref_mut(&mut self) -> &mut Bench<Client> {
        &mut self.bench
    }
}

impl From<Bench<Client>> for ClientBench {
    fn from(bench: Bench<Client>) -> Self {
        Self { bench, permissions: BTreeMap::new(), requests: BTreeMap::new() }
    }
}

/// One block of text, as a prompt.
#[must_use]
pub fn text(text: &str) -> Payload {
    payload(json!([{ "type": "text", "text": text }]))
}

/// The default policy, changed.
#[must_use]
pub fn config(change: impl FnOnce(&mut Config)) -> Config {
    let mut config = Config::client();
    change(&mut config);
    config
}

impl ClientBench {
    /// A client on whose connection nothing has happened.
    #[must_use]
    pub fn fresh(config: Config) -> Self {
        Bench::new(config).into()
    }

    /// An initialized client with the session `s1`: the next request has the id 3.
    #[must_use]
    pub fn ready(config: Config) -> (Self, SessionKey) {
        let mut bench = Bench::client(config);
        let session = bench.session("s1");
        (bench.into(), session)
    }

    /// The same with a turn, whose prompt was sent as request 3.
    #[must_use]
    pub fn running(config: Config) -> (Self, SessionKey, TurnKey) {
        let (mut client, session) = Self::ready(config);
        let (turn, _) = client.prompt(session);
        (client, session, turn)
    }

    /// Sends `initialize` with nothing offered, and has it answered with these members, `protocolVersion` apart.
    pub fn initialize(&mut self, mut result: Value) {
        let now = self.now;
        let request = self.conn.initialize(&Payload::EMPTY, now).expect("idle").number();
        result["protocolVersion"] = json!(1);
        self.said();
        self.result(request, result);
    }

    /// The agent answers the prompt of this request with a stop reason.
    pub fn stops(&mut self, request: u64, reason: &str) {
        self.result(request, json!({ "stopReason": reason }));
    }

    /// The frames that wait, handed out, in words.
    pub fn said(&mut self) -> Vec<String> {
        self.frames().iter().map(frame_in_words).collect()
    }

    /// What the host is told, in words; its tickets are kept.
    pub fn heard(&mut self) -> Vec<String> {
        let mut heard = Vec::new();
        while let Some(action) = self.conn.poll_action() {
            heard.push(self.in_words(&action));
            match action {
                ClientAction::PermissionRequested { ticket, offer, .. } => {
                    self.permissions.insert(ticket.key().number(), (ticket, *offer));
                }
                ClientAction::Common(Common::Request { ticket, .. }) => {
                    self.requests.insert(ticket.key().number(), ticket);
                }
                _ => {}
            }
        }
        heard
    }

    /// Decides a permission request.
    ///
    /// # Panics
    ///
    /// The host was not told of it, or has decided it.
    pub fn decide(&mut self, number: u64, option: &str) -> Delivery {
        let (ticket, _) = self.permissions.remove(&number).expect("a permission to decide");
        let now = self.now;
        self.conn.decide(ticket, &Decision::Select(option.into()), now)
    }

    /// Commits to a permission request.
    #[must_use]
    pub fn commit(&mut self, number: u64) -> bool {
        let now = self.bench.now;
        self.bench.conn.commit(&self.permissions[&number].0, now)
    }

    /// Answers another request of the agent's.
    ///
    /// # Panics
    ///
    /// The host was not told of it, or has answered it.
    pub fn respond(&mut self, number: u64, answer: Result<Value, i64>) -> Delivery {
        let ticket = self.requests.remove(&number).expect("a request to answer");
        let answer = answer.map(payload).map_err(|code| acp_core::ErrorObject::new(code, "no"));
        let now = self.now;
        self.conn.respond(ticket, answer, now).expect("an answer is always taken")
    }

    /// One update of a tool call.
    pub fn tool(&mut self, session: &str, call: &str, status: &str) {
        let update = json!({ "sessionUpdate": "tool_call_update", "toolCallId": call, "status": status });
        self.notification("session/update", json!({ "sessionId": session, "update": update }));
    }

    fn in_words(&self, action: &ClientAction) -> String {
        let id = |session: &SessionKey| self.conn.session_id(*session).unwrap_or("(gone)").to_owned();
        let turn = |turn: &TurnKey| format!("turn {}", turn.number());
        match action {
            ClientAction::Update { session, origin, params } => {
                let origin = match origin {
                    Origin::Turn(of) => turn(of),
                    other => format!("{other:?}"),
                };
                let params: Value = params.get().expect("an update is JSON");
                let update = &params["update"];
                let known = [&update["content"]["text"], &update["toolCallId"], &update["state"], &update["messageId"]];
                let what = known.into_iter().find_map(Value::as_str).unwrap_or("?");
                format!("update {} {origin}: {what}", session.as_ref().map_or("-".into(), id))
            }
            ClientAction::PermissionRequested { ticket, session, turn: of, .. } => {
                let place = of.as_ref().map_or("OutOfTurn".into(), turn);
                format!("permission {} {} {place}", ticket.key().number(), id(session))
            }
            ClientAction::PermissionRevoked(key) => format!("revoked {}", key.number()),
            ClientAction::PermissionOverdue(key) => format!("overdue {}", key.number()),
            ClientAction::PromptInserted { turn: of, message, .. } => {
                format!("{} inserted {}", turn(of), message.as_deref().unwrap_or("-"))
            }
            ClientAction::ToolCallsLeftOpen { turn: of, calls, .. } => {
                format!("{} left open: {}", turn(of), calls.join(" "))
            }
            ClientAction::TurnEnded { turn: of, settlement, outcome, .. } => match outcome {
                Outcome::Result(_) => format!("{} {settlement:?}", turn(of)),
                other => format!("{} {settlement:?}, {}", turn(of), outcome_in_words(other)),
            },
            ClientAction::CancelUndelivered { turn: of, stop, steer } => {
                format!("undelivered {} stop={stop} steer={steer}", turn(of))
            }
            ClientAction::SessionStopUndelivered { session } => format!("undelivered {}", id(session)),
            ClientAction::Common(common) => match common {
                Common::Request { ticket, method, .. } => format!("request {} {method}", ticket.key().number()),
                Common::CancelRequested(key) => format!("signal {}", key.number()),
                Common::Notification { method, .. } => format!("notification {method}"),
                Common::Resolved(of) => {
                    let session = of.session.as_ref().map_or("-".into(), id);
                    format!("resolved {} {session} {}", of.request.number(), outcome_in_words(&of.outcome))
                }
                Common::CancelUnconfirmed(request) => format!("unconfirmed {}", request.number()),
                Common::Silent(time) => format!("silent {time:?}"),
                Common::Violation(violation) => format!("violation {}", name(violation)),
                Common::Closed(reason) => format!("closed {reason:?}"),
                other => format!("{other:?}"),
            },
            other => format!("{other:?}"),
        }
    }
}

fn outcome_in_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Error(error) => format!("Error {}", error.code),
        other => name(other),
    }
}

fn frame_in_words(frame: &Value) -> String {
    let (id, params) = (&frame["id"], &frame["params"]);
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match frame["method"].as_str() {
        Some(method) if !id.is_null() => format!("ask {id} {method}"),
        Some("session/cancel") => format!("session/cancel {}", text(&params["sessionId"])),
        Some("$/cancel_request") => format!("$/cancel_request {}", params["requestId"]),
        Some(method) => method.to_owned(),
        None => {
            let outcome = &frame["result"]["outcome"];
            let answer = match (frame.get("error"), outcome["optionId"].as_str(), outcome["outcome"].as_str()) {
                (Some(error), _, _) => error["code"].to_string(),
                (None, Some(option), _) => option.to_owned(),
                (None, None, Some(outcome)) => outcome.to_owned(),
                (None, None, None) => "ok".to_owned(),
            };
            format!("{}: {answer}", text(id))
        }
    }
}
