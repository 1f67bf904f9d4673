//! One connection on the bench: lines in; frames, actions and timers out; time as you please.

use core::{fmt::Debug, time::Duration};

use acp_core::{Agent, AgentAction, Client, Config, Payload, Role, SessionKey, Timestamp};
use serde_json::{Value, json};

use crate::taped::Taped;

/// A connection with a clock of its own. `conn` is there for commands; `now` is what they take.
#[derive(Debug)]
pub struct Bench<R: Role> {
    /// The connection under test.
    pub conn: Taped<R>,
    /// The time, which only [`wait`](Self::wait) moves.
    pub now: Timestamp,
}

/// A JSON value as a payload.
#[must_use]
pub fn payload(value: Value) -> Payload {
    Payload::try_from(value).expect("a JSON value is JSON")
}

impl<R: Role> Bench<R> {
    /// A fresh connection at time zero.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { conn: Taped::new(config), now: Timestamp::ZERO }
    }

    /// Bytes in, as they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.conn.handle_input(bytes, self.now);
    }

    /// One line in, without its line break.
    pub fn line(&mut self, line: &str) {
        self.bytes(format!("{line}\n").as_bytes());
    }

    /// One message in; `"jsonrpc": "2.0"` is added.
    pub fn message(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        self.line(&message.to_string());
    }

    /// A request of the peer's.
    pub fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        self.message(json!({ "id": id.into(), "method": method, "params": params }));
    }

    /// A notification of the peer's.
    pub fn notification(&mut self, method: &str, params: Value) {
        self.message(json!({ "method": method, "params": params }));
    }

    /// The peer's result for our request of this id.
    pub fn result(&mut self, id: u64, result: Value) {
        self.message(json!({ "id": id, "result": result }));
    }

    /// The peer's error for our request of this id.
    pub fn error(&mut self, id: u64, code: i64) {
        self.message(json!({ "id": id, "error": { "code": code, "message": "no" } }));
    }

    /// The lines that wait to be written, handed out; each is checked to be one line.
    pub fn lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(frame) = self.conn.poll_transmit() {
            let line = String::from_utf8(frame.into_line().to_vec()).expect("output is UTF-8");
            let line = line.strip_suffix('\n').expect("output ends in a line break");
            assert!(!line.contains('\n'), "one message a line");
            lines.push(line.to_owned());
        }
        lines
    }

    /// The messages that wait to be written, handed out, without `jsonrpc`, which is checked.
    pub fn frames(&mut self) -> Vec<Value> {
        self.lines().iter().map(|line| message(line)).collect()
    }

    /// What the host is told.
    pub fn actions(&mut self) -> Vec<R::Action> {
        core::iter::from_fn(|| self.conn.poll_action()).collect()
    }

    /// What the host is told, as the names of the actions.
    pub fn told(&mut self) -> Vec<String> {
        self.actions().iter().map(name).collect()
    }

    /// Lets time pass, in one step, and fires what is due.
    pub fn wait(&mut self, time: Duration) {
        self.now = self.now + time;
        self.conn.handle_timeout(self.now);
    }

    /// How long until the next deadline.
    #[must_use]
    pub fn due_in(&self) -> Option<Duration> {
        self.conn.poll_timeout().map(|deadline| deadline.at.saturating_duration_since(self.now))
    }

    /// The peer ends its stream.
    pub fn eof(&mut self) {
        self.conn.handle_eof(self.now);
    }
}

fn message(line: &str) -> Value {
    let strip = |mut message: Value| {
        let object = message.as_object_mut().expect("a message is an object");
        assert_eq!(object.remove("jsonrpc"), Some(json!("2.0")), "{line}");
        message
    };
    match serde_json::from_str(line).expect("output is JSON") {
        Value::Array(batch) => batch.into_iter().map(strip).collect(),
        message => strip(message),
    }
}

/// What an agent offers in these tests: everything.
#[must_use]
pub fn agent_capabilities() -> Value {
    json!({
        "loadSession": true,
        "sessionCapabilities": { "list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {} },
        "auth": { "logout": {} },
    })
}

/// What a client offers in these tests: everything.
#[must_use]
pub fn client_capabilities() -> Value {
    json!({
        "fs": { "readTextFile": true, "writeTextFile": true },
        "terminal": true,
        "elicitation": { "form": {}, "url": {} },
    })
}

impl Bench<Agent> {
    /// An agent that is initialized, with every capability offered both ways; nothing waits to be taken.
    #[must_use]
    pub fn agent(config: Config) -> Self {
        let mut bench = Self::new(config);
        let params = json!({ "protocolVersion": 1, "clientCapabilities": client_capabilities() });
        bench.request("init", "initialize", params);
        let Some(AgentAction::Initialize { ticket, .. }) = bench.conn.poll_action() else {
            panic!("told to initialize")
        };
        let result = payload(json!({ "agentCapabilities": agent_capabilities() }));
        bench.conn.accept_initialize(ticket, &result, bench.now).expect("an object");
        assert_eq!(bench.frames().len(), 1);
        bench
    }

    /// A session of this id.
    pub fn session(&mut self, id: &str) -> SessionKey {
        self.request(format!("new {id}"), "session/new", json!({ "cwd": "/", "mcpServers": [] }));
        let Some(AgentAction::SessionRequested { ticket, .. }) = self.conn.poll_action() else {
            panic!("told to open")
        };
        let result = payload(json!({ "sessionId": id }));
        let (session, _) = self.conn.accept_session(ticket, &result, self.now).expect("a new session");
        assert_eq!(self.frames().len(), 1);
        session
    }

    /// The client prompts in a session, under this request id.
    pub fn prompt(&mut self, id: impl Into<Value>, session: &str) {
        self.request(
            id,
            "session/prompt",
            json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "hi" }] }),
        );
    }

    /// The client cancels a session.
    pub fn cancel(&mut self, session: &str) {
        self.notification("session/cancel", json!({ "sessionId": session }));
    }
}

impl Bench<Client> {
    /// A client that is initialized (its request 1), with every capability offered both ways; nothing waits to be taken.
    #[must_use]
    pub fn client(config: Config) -> Self {
        let mut bench = Self::new(config);
        let params = payload(json!({ "clientCapabilities": client_capabilities() }));
        bench.conn.initialize(&params, bench.now).expect("idle");
        assert_eq!(bench.frames().len(), 1);
        bench.result(1, json!({ "protocolVersion": 1, "agentCapabilities": agent_capabilities() }));
        assert_eq!(bench.actions().len(), 1);
        bench
    }

    /// A session of this id (one request of ours).
    pub fn session(&mut self, id: &str) -> SessionKey {
        let params = payload(json!({ "cwd": "/", "mcpServers": [] }));
        self.conn.request("session/new", Some(params), None, self.now).expect("initialized");
        let sent = self.frames().pop().expect("a request");
        self.result(sent["id"].as_u64().expect("our id"), json!({ "sessionId": id }));
        assert_eq!(self.actions().len(), 1);
        self.conn.find_session(id).expect("it is open")
    }

    /// Our prompt in a session: the turn, and the id of its request.
    pub fn prompt(&mut self, session: SessionKey) -> (acp_core::TurnKey, u64) {
        let content = payload(json!([{ "type": "text", "text": "hi" }]));
        let turn = self.conn.prompt(session, &content, None, self.now).expect("idle");
        let sent = self.frames().pop().expect("a request");
        (turn, sent["id"].as_u64().expect("our id"))
    }

    /// The agent asks for permission, with the options `allow` and `reject`.
    pub fn permission(&mut self, id: impl Into<Value>, session: &str) {
        let options = json!([
            { "optionId": "allow", "name": "Allow", "kind": "allow_once" },
            { "optionId": "reject", "name": "Reject", "kind": "reject_once" },
        ]);
        let params = json!({ "sessionId": session, "toolCall": { "toolCallId": "t1" }, "options": options });
        self.request(id, "session/request_permission", params);
    }

    /// The agent reports a piece of text.
    pub fn chunk(&mut self, session: &str, text: &str) {
        let content = json!({ "type": "text", "text": text });
        let mut update = json!({ "sessionUpdate": "agent_message_chunk", "content": content });
        if self.conn.version() == Some(2) {
            update["messageId"] = json!("a1");
        }
        self.notification("session/update", json!({ "sessionId": session, "update": update }));
    }
}

/// The name of an action: `TurnEnded`; of what either end is told, with its kind: `Common::Request`.
pub fn name(action: &impl Debug) -> String {
    let text = format!("{action:?}");
    let word = |text: &str| text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned();
    match text.strip_prefix("Common(") {
        Some(common) => format!("Common::{}", word(common)),
        None => word(&text),
    }
}
