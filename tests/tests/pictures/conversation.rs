//! A prompt turn that is cancelled in two phases, between two real ends: what passed, with times, as a trace.

use core::time::Duration;

use acp_core::{
    Agent, AgentAction, CancelKind, Client, ClientAction, Common, Config, Connection, Payload, Scope, Side, Timestamp,
    TurnEnd, TurnTicket, wire::StopReason,
};
use acp_examples::trace::{Entry, Log, What};
use serde_json::{Value, json};

struct Talk {
    client: Connection<Client>,
    agent: Connection<Agent>,
    now: Timestamp,
    log: Log,
    turns: Vec<TurnTicket>,
    session: Option<acp_core::SessionKey>,
}

fn payload(value: Value) -> Payload {
    Payload::try_from(value).expect("JSON is a payload")
}

impl Talk {
    /// Everything arrives that is under way; each line takes a few milliseconds.
    fn pass(&mut self) {
        loop {
            let of_client = self.client.poll_transmit().map(|frame| (Side::Client, frame));
            let next = of_client.or_else(|| self.agent.poll_transmit().map(|frame| (Side::Agent, frame)));
            let Some((from, frame)) = next else { return };
            self.now = self.now + Duration::from_millis(4);
            let line = frame.into_line();
            match from {
                Side::Client => self.agent.handle_input(&line, self.now),
                Side::Agent => self.client.handle_input(&line, self.now),
            }
            let at = Some(self.now.as_nanos() as f64 / 1e6);
            let line = line.slice(..line.len() - 1);
            self.log.entries.push(Entry { line: self.log.entries.len() + 1, at, from, what: What::Line(line) });
            self.act();
        }
    }

    /// The hosts: the agent's takes what comes; the client's leaves the dialog open.
    fn act(&mut self) {
        while let Some(action) = self.agent.poll_action() {
            match action {
                AgentAction::Initialize { ticket, .. } => {
                    self.agent.accept_initialize(ticket, &payload(json!({})), self.now).expect("an object");
                }
                AgentAction::SessionRequested { ticket, .. } => {
                    let opened = payload(json!({ "sessionId": "s" }));
                    self.agent.accept_session(ticket, &opened, self.now).expect("a new id");
                }
                AgentAction::Prompt { ticket, .. } => self.turns.push(ticket),
                _ => {}
            }
        }
        while let Some(action) = self.client.poll_action() {
            if let ClientAction::Common(Common::Resolved(resolved)) = action {
                self.session = self.session.or(resolved.session);
            }
        }
    }
}

/// A session opens, a tool call wants a permission, and the user stops it all.
pub(crate) fn cancel() -> Log {
    let (client, agent) = (Connection::new(Config::client()), Connection::new(Config::agent()));
    let (client, agent) = (client.expect("defaults"), agent.expect("defaults"));
    let mut talk = Talk { client, agent, now: Timestamp::ZERO, log: Log::default(), turns: Vec::new(), session: None };
    talk.client.initialize(&Payload::EMPTY, talk.now).expect("the first command");
    talk.pass();
    let place = payload(json!({ "cwd": "/src", "mcpServers": [] }));
    talk.client.request("session/new", Some(place), None, talk.now).expect("initialized");
    talk.pass();
    let session = talk.session.expect("it is open");
    let content = payload(json!([{ "type": "text", "text": "Run the tests." }]));
    let turn = talk.client.prompt(session, &content, None, talk.now).expect("nothing runs");
    talk.pass();
    let ticket = talk.turns.pop().expect("it was told");
    let chunk =
        json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "Running them." } });
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "call", "title": "cargo test", "kind": "execute", "status": "pending" });
    for update in [chunk, call] {
        talk.agent.update(Scope::from(&ticket), &payload(update), talk.now).expect("there is room");
    }
    let ask = json!({
        "toolCall": { "toolCallId": "call" },
        "options": [{ "optionId": "yes", "name": "Allow", "kind": "allow_once" }],
    });
    let ask = payload(ask);
    talk.agent.request_in(&ticket, "session/request_permission", &ask, None, talk.now).expect("there is room");
    talk.pass();
    talk.client.cancel_turn(turn, CancelKind::Stop, talk.now).expect("it runs");
    talk.pass();
    talk.now = talk.now + Duration::from_millis(30);
    talk.agent.end_turn(ticket, &TurnEnd::Stop(StopReason::EndTurn), talk.now);
    talk.pass();
    talk.log
}
