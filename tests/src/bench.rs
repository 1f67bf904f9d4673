//! One end of a connection on the bench: bytes in; frames, actions and the next deadline out, as text to compare.
//!
//! The clock is the bench's own and stands still unless a test moves it. Actions are kept after they were described, so
//! that a test can play the host with the tickets they carry.

use std::time::Duration;

use acp_core::{Agent, AgentAction, Client, Common, Config, Connection, Payload, Role, SessionKey, Timestamp};

use crate::describe::{Describe, frame};

/// A connection, its clock, and what it has told so far.
#[derive(Debug)]
pub struct Bench<R: Role> {
    /// The connection itself.
    pub conn: Connection<R>,
    /// The time it is given.
    pub now: Timestamp,
    /// The actions that were taken out, oldest first, with their tickets.
    pub told: Vec<R::Action>,
}

/// JSON as a payload.
///
/// # Panics
///
/// It is not JSON.
#[must_use]
pub fn payload(json: &str) -> Payload {
    Payload::parse(json.to_owned()).unwrap_or_else(|why| panic!("{json}: {why}"))
}

/// A line of JSON-RPC with these members.
#[must_use]
pub fn rpc(members: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",{members}}}\n")
}

/// The frame of a result.
#[must_use]
pub fn ok(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// The frame of an error, its message left out as [`frame`] does.
#[must_use]
pub fn err(id: &str, code: i64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"…"}}}}"#)
}

/// The same with data.
#[must_use]
pub fn err_with(id: &str, code: i64, data: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"…","data":{data}}}}}"#)
}

impl<R: Role> Bench<R>
where
    R::Action: Describe<R>,
{
    /// A connection on which nothing has happened.
    ///
    /// # Panics
    ///
    /// The configuration is impossible.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let conn = Connection::new(config).expect("a possible configuration");
        Self { conn, now: Timestamp::ZERO, told: Vec::new() }
    }

    /// Bytes arrive.
    pub fn feed(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.conn.handle_input(bytes.as_ref(), self.now);
        self
    }

    /// Time passes, up to each deadline on the way.
    pub fn sleep(&mut self, time: Duration) -> &mut Self {
        let until = self.now + time;
        while let Some(deadline) = self.conn.poll_timeout().filter(|deadline| deadline.at <= until) {
            self.now = self.now.max(deadline.at);
            self.conn.handle_timeout(self.now);
        }
        self.now = until;
        self.conn.handle_timeout(until);
        self
    }

    /// The frames that wait, taken out, without the words of error messages.
    ///
    /// # Panics
    ///
    /// One of them is not one line of JSON-RPC.
    pub fn frames(&mut self) -> Vec<String> {
        core::iter::from_fn(|| self.conn.poll_transmit()).map(|written| frame(&written.into_line())).collect()
    }

    /// The actions that wait, taken out, described and kept.
    pub fn actions(&mut self) -> Vec<String> {
        let mut described = Vec::new();
        while let Some(action) = self.conn.poll_action() {
            described.push(action.describe(&self.conn));
            self.told.push(action);
        }
        described
    }

    /// Takes out and drops what waits.
    pub fn quiet(&mut self) -> &mut Self {
        self.frames();
        self.actions();
        self.told.clear();
        self
    }

    /// Plays a host that answers every plain request it was told of with `{}`, the latest first.
    pub fn answer_all(&mut self) {
        while let Some(action) = self.told.pop() {
            if let Ok(Common::Request { ticket, .. }) = action.into_common() {
                let _ = self.conn.respond(ticket, Ok(Payload::EMPTY), self.now);
            }
        }
    }

    /// The key of a session that is known.
    ///
    /// # Panics
    ///
    /// It is not known.
    #[must_use]
    pub fn session(&self, id: &str) -> SessionKey {
        self.conn.find_session(id).expect("a known session")
    }

    /// Everything that is counted: our requests, the peer's, bytes to write, actions, bytes of input held.
    #[must_use]
    pub fn counts(&self) -> [usize; 4] {
        let conn = &self.conn;
        [conn.unresolved(), conn.unanswered().count(), conn.queued_bytes(), conn.held_bytes()]
    }
}

impl Bench<Agent> {
    /// An agent that offers everything, initialized by a client that offers everything, with session `s1`.
    #[must_use]
    pub fn agent(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::agent();
        change(&mut config);
        let mut bench = Self::new(config);
        bench.initialize();
        bench
    }

    /// Initializes it and opens session `s1`.
    ///
    /// # Panics
    ///
    /// The agent does not take part.
    pub fn initialize(&mut self) {
        let offer = r#"{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true,"elicitation":{"form":{}}}"#;
        self.feed(rpc(&format!(
            r#""id":"init","method":"initialize","params":{{"protocolVersion":1,"clientCapabilities":{offer}}}"#
        )));
        let Some(AgentAction::Initialize { ticket, .. }) = self.conn.poll_action() else { panic!("no initialize") };
        let result = payload(
            r#"{"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{},"list":{},"close":{},"delete":{},"fork":{}}}}"#,
        );
        self.conn.accept_initialize(ticket, &result, self.now).expect("an object");
        self.open("s1");
        self.quiet();
    }

    /// Opens one more session, as far as the limits let it.
    pub fn open(&mut self, id: &str) -> Option<SessionKey> {
        self.feed(rpc(&format!(r#""id":"new {id}","method":"session/new","params":{{"cwd":"/","mcpServers":[]}}"#)));
        let Some(AgentAction::SessionRequested { ticket, .. }) = self.conn.poll_action() else { return None };
        let result = payload(&format!(r#"{{"sessionId":"{id}"}}"#));
        self.conn.accept_session(ticket, &result, self.now).ok().map(|(session, _)| session)
    }
}

impl Bench<Client> {
    /// A client that offers everything, initialized with an agent that offers everything, with session `s1`. Its next
    /// request has the id 3.
    #[must_use]
    pub fn client(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::client();
        change(&mut config);
        let mut bench = Self::new(config);
        bench.initialize();
        bench
    }

    /// Initializes it and opens session `s1`.
    ///
    /// # Panics
    ///
    /// The client does not take part.
    pub fn initialize(&mut self) {
        let offer = r#"{"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true,"elicitation":{"form":{}}}}"#;
        self.conn.initialize(&payload(offer), self.now).expect("it may be sent");
        let offered = r#"{"loadSession":true,"sessionCapabilities":{"resume":{},"list":{},"close":{}}}"#;
        self.feed(rpc(&format!(r#""id":1,"result":{{"protocolVersion":1,"agentCapabilities":{offered}}}"#)));
        let new = payload(r#"{"cwd":"/","mcpServers":[]}"#);
        self.conn.request("session/new", Some(new), None, self.now).expect("it may be sent");
        self.feed(rpc(r#""id":2,"result":{"sessionId":"s1"}"#));
        self.quiet();
    }
}
