//! A bench with an agent and its host, who keeps the tickets: lines of the wire in, and what came out of it in words that
//! fit on one line.
//! [`words`](crate::words) says how.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use acp_core::{
    Agent, AgentAction, CommandError, Common, Config, Deadline, Delivery, ErrorObject, InitializeTicket, RequestKey,
    Scope, SessionKey, SessionTicket, Ticket, Timestamp, TurnEnd, TurnKey, TurnTicket, ticket::Fork, wire::StopReason,
};
use serde_json::{Value, json};

use crate::bench::{agent_capabilities, client_capabilities, payload};
use crate::taped::Taped;
use crate::words::{action_in_words, frame_in_words};

/// One agent under test, its clock, and the tickets that its host holds.
#[derive(Debug)]
pub struct AgentBench {
    /// The connection under test.
    pub conn: Taped<Agent>,
    /// The time it is given.
    pub now: Timestamp,
    /// What the host may answer, as it was told.
    pub held: Held,
}

/// The tickets in the host's hands.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub struct Held {
    /// Initialize requests.
    pub initialize: VecDeque<InitializeTicket>,
    /// Requests that open a session.
    pub opening: VecDeque<SessionTicket>,
    /// Any other request, session/close included.
    pub requests: VecDeque<Ticket>,
    /// Turns, by their number.
    pub turns: BTreeMap<u64, TurnTicket>,
    /// Every turn that was ever told of, by its number.
    pub known: BTreeMap<u64, TurnKey>,
}

/// The result of `initialize` of an agent that offers everything.
#[must_use]
pub fn every_capability() -> Value {
    json!({ "agentCapabilities": agent_capabilities() })
}

/// The params of `initialize` of a client that offers everything.
#[must_use]
pub fn every_client_capability() -> Value {
    json!({ "protocolVersion": 1, "clientCapabilities": client_capabilities() })
}

/// A chunk of text, as an update.
#[must_use]
pub fn chunk(text: &str) -> Value {
    json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } })
}

/// A tool call that begins.
#[must_use]
pub fn tool_call(id: &str) -> Value {
    json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": id })
}

/// A tool call that goes on.
#[must_use]
pub fn tool_call_update(id: &str, status: &str) -> Value {
    json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": status })
}

impl AgentBench {
    /// A copy, while no actions wait.
    #[must_use]
    pub fn fork(&self) -> Option<Self> {
        let Held { initialize, opening, requests, turns, known } = &self.held;
        let held = Held {
            initialize: initialize.iter().map(Fork::fork).collect(),
            opening: opening.iter().map(Fork::fork).collect(),
            requests: requests.iter().map(Fork::fork).collect(),
            turns: turns.iter().map(|(number, ticket)| (*number, ticket.fork())).collect(),
            known: known.clone(),
        };
        Some(Self { conn: self.conn.fork()?, now: self.now, held })
    }

    /// An agent on whose connection nothing happened yet.
    ///
    /// # Panics
    ///
    /// The configuration is impossible.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { conn: Taped::new(config), now: Timestamp::ZERO, held: Held::default() }
    }

    /// One that is initialized, with everything offered on both sides.
    #[must_use]
    pub fn initialized(config: Config) -> Self {
        let mut bench = Self::new(config);
        bench.request(0, "initialize", every_client_capability());
        bench.told();
        assert_eq!(bench.initialize(&every_capability()), Delivery::Queued);
        assert_eq!(bench.frames().len(), 1);
        bench
    }

    /// One with these sessions open.
    #[must_use]
    pub fn with_sessions(config: Config, sessions: &[&str]) -> Self {
        let mut bench = Self::initialized(config);
        for session in sessions {
            bench.request(0, "session/new", json!({ "cwd": "/", "mcpServers": [] }));
            bench.told();
            bench.accept(&json!({ "sessionId": session }));
        }
        assert_eq!(bench.frames().len(), sessions.len());
        bench
    }

    /// One with the session `s1` open, and the default policy.
    #[must_use]
    pub fn ready() -> Self {
        Self::with_sessions(Config::agent(), &["s1"])
    }

    // ---- the wire in -------------------------------------------------------------------------------------------

    /// Bytes as they are.
    pub fn feed(&mut self, bytes: impl AsRef<[u8]>) {
        self.conn.handle_input(bytes.as_ref(), self.now);
    }

    /// One message.
    pub fn line(&mut self, message: &Value) {
        self.feed(format!("{message}\n"));
    }

    /// A request of the client's.
    pub fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        self.line(&json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params }));
    }

    /// A notification of the client's.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// The client's answer to a request of ours.
    pub fn answer(&mut self, request: RequestKey, result: Value) {
        self.line(&json!({ "jsonrpc": "2.0", "id": request.number(), "result": result }));
    }

    /// A prompt.
    pub fn prompt(&mut self, id: impl Into<Value>, session: &str) {
        let text = json!([{ "type": "text", "text": "Hello." }]);
        self.request(id, "session/prompt", json!({ "sessionId": session, "prompt": text }));
    }

    /// `session/cancel`, as the protocol has it.
    pub fn cancel(&mut self, session: &str) {
        self.notify("session/cancel", json!({ "sessionId": session }));
    }

    /// `$/cancel_request`.
    pub fn cancel_request(&mut self, id: impl Into<Value>) {
        self.notify("$/cancel_request", json!({ "requestId": id.into() }));
    }

    /// Time goes by, and the loop around the connection wakes up for each deadline.
    pub fn wait(&mut self, time: Duration) {
        let until = self.now + time;
        while let Some(deadline) = self.conn.poll_timeout().filter(|deadline| deadline.at <= until) {
            self.now = self.now.max(deadline.at);
            self.conn.handle_timeout(self.now);
            assert!(
                self.conn.poll_timeout().is_none_or(|next| next.at > self.now),
                "a deadline that is due stays armed"
            );
        }
        self.now = until;
        self.conn.handle_timeout(self.now);
    }

    /// The end of the input.
    pub fn eof(&mut self) {
        self.conn.handle_eof(self.now);
    }

    // ---- the wire out ------------------------------------------------------------------------------------------

    /// Every frame that waits, written.
    ///
    /// # Panics
    ///
    /// A frame is no single line of JSON-RPC 2.0.
    pub fn frames(&mut self) -> Vec<Value> {
        let mut frames = Vec::new();
        while let Some(frame) = self.conn.poll_transmit() {
            let line = frame.into_line();
            assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1, "one line a frame");
            let frame: Value = serde_json::from_slice(&line).expect("a frame is JSON");
            assert!(frame.is_array() || frame["jsonrpc"] == "2.0", "{frame}");
            frames.push(frame);
        }
        frames
    }

    /// The same in words.
    pub fn wire(&mut self) -> Vec<String> {
        self.frames().iter().map(frame_in_words).collect()
    }

    /// What the host is told, in words; the tickets are put aside in [`held`](Self::held).
    pub fn told(&mut self) -> Vec<String> {
        let mut told = Vec::new();
        while let Some(action) = self.conn.poll_action() {
            told.push(action_in_words(&self.conn, &action));
            self.keep(action);
        }
        told
    }

    /// The next deadline.
    #[must_use]
    pub fn deadline(&self) -> Option<Deadline> {
        self.conn.poll_timeout()
    }

    /// How long until the next deadline.
    #[must_use]
    pub fn due_in(&self) -> Option<Duration> {
        self.deadline().map(|deadline| deadline.at.saturating_duration_since(self.now))
    }

    // ---- the host ----------------------------------------------------------------------------------------------

    /// The key of a session.
    ///
    /// # Panics
    ///
    /// There is none of that id.
    #[must_use]
    pub fn session(&self, id: &str) -> SessionKey {
        self.conn.find_session(id).expect("a session of that id")
    }

    /// The key of a turn that the host was told of.
    #[must_use]
    pub fn turn(&self, turn: u64) -> TurnKey {
        self.held.known[&turn]
    }

    /// Answers the oldest initialize.
    ///
    /// # Panics
    ///
    /// There is none, or the answer is refused.
    pub fn initialize(&mut self, result: &Value) -> Delivery {
        let ticket = self.held.initialize.pop_front().expect("an initialize to answer");
        self.conn.accept_initialize(ticket, &payload(result.clone()), self.now).expect("an answer that is taken")
    }

    /// Answers the oldest request that opens a session.
    ///
    /// # Panics
    ///
    /// There is none, or the answer is refused.
    pub fn accept(&mut self, result: &Value) -> SessionKey {
        let ticket = self.held.opening.pop_front().expect("a session to open");
        self.conn.accept_session(ticket, &payload(result.clone()), self.now).expect("an answer that is taken").0
    }

    /// Answers the oldest other request.
    ///
    /// # Panics
    ///
    /// There is none.
    pub fn respond(&mut self, answer: Result<Value, i64>) -> Delivery {
        let ticket = self.held.requests.pop_front().expect("a request to answer");
        let answer = answer.map(payload).map_err(|code| ErrorObject::new(code, "no"));
        self.conn.respond(ticket, answer, self.now).expect("an answer is always taken")
    }

    /// Ends a turn.
    ///
    /// # Panics
    ///
    /// The host was not told of it, or has ended it.
    pub fn end(&mut self, turn: u64, reason: StopReason) -> Delivery {
        let ticket = self.held.turns.remove(&turn).expect("a turn to end");
        self.conn.end_turn(ticket, &TurnEnd::Stop(reason), self.now)
    }

    /// Ends a turn with an error.
    ///
    /// # Panics
    ///
    /// The host was not told of it, or has ended it.
    pub fn fail(&mut self, turn: u64, code: i64) -> Delivery {
        let ticket = self.held.turns.remove(&turn).expect("a turn to end");
        self.conn.end_turn(ticket, &TurnEnd::Error(ErrorObject::new(code, "it broke")), self.now)
    }

    /// Reports progress in a turn.
    ///
    /// # Errors
    ///
    /// As the command says.
    pub fn update(&mut self, turn: u64, update: Value) -> Result<Delivery, CommandError> {
        let turn = self.turn(turn);
        self.conn.update(turn, &payload(update), self.now)
    }

    /// Asks the client for something, in a turn or a session.
    ///
    /// # Errors
    ///
    /// As the command says.
    pub fn ask(&mut self, scope: impl Into<Scope>, method: &str) -> Result<RequestKey, CommandError> {
        let params = match method {
            "fs/read_text_file" => json!({ "path": "/a" }),
            "fs/write_text_file" => json!({ "path": "/a", "content": "a" }),
            "terminal/create" => json!({ "command": "a" }),
            of if of.starts_with("terminal/") => json!({ "terminalId": "t" }),
            _ => json!({}),
        };
        self.conn.request_in(scope, method, &payload(params), None, self.now)
    }

    /// Asks for permission.
    ///
    /// # Errors
    ///
    /// As the command says.
    pub fn ask_permission(&mut self, scope: impl Into<Scope>) -> Result<RequestKey, CommandError> {
        let params = json!({
            "toolCall": { "toolCallId": "t" },
            "options": [{ "optionId": "yes", "name": "Yes", "kind": "allow_once" }],
        });
        self.conn.request_in(scope, "session/request_permission", &payload(params), None, self.now)
    }

    fn keep(&mut self, action: AgentAction) {
        match action {
            AgentAction::Initialize { ticket, .. } => self.held.initialize.push_back(ticket),
            AgentAction::SessionRequested { ticket, .. } => self.held.opening.push_back(ticket),
            AgentAction::Prompt { ticket, .. } => {
                self.held.known.insert(ticket.turn().number(), ticket.turn());
                self.held.turns.insert(ticket.turn().number(), ticket);
            }
            AgentAction::CloseSession { ticket, .. } | AgentAction::Common(Common::Request { ticket, .. }) => {
                self.held.requests.push_back(ticket);
            }
            _ => {}
        }
    }
}
