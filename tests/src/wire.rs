//! A connection on the bench, as text: bytes in; frames, actions and the next deadline out, byte for byte.
//!
//! Actions are kept after they were described, so that a test can play the host with the tickets they carry.

use core::time::Duration;

use acp_core::{Agent, AgentAction, Client, Common, Config, Payload, Role, SessionKey, Timestamp};

use crate::{
    bench::Bench,
    describe::{Describe, frame},
    taped::Taped,
};

/// A connection on the bench, and what it has told so far.
#[derive(Debug)]
pub struct Wire<R: Role> {
    /// The connection under test.
    pub conn: Taped<R>,
    /// The time, which only [`sleep`](Self::sleep) moves.
    pub now: Timestamp,
    /// The actions that were taken out, oldest first, with their tickets.
    pub told: Vec<R::Action>,
}

impl<R: Role> From<Bench<R>> for Wire<R> {
    fn from(Bench { conn, now }: Bench<R>) -> Self {
        Self { conn, now, told: Vec::new() }
    }
}

/// JSON as a payload, as it stands.
///
/// # Panics
///
/// It is not JSON.
#[must_use]
pub fn raw(json: &str) -> Payload {
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

impl<R: Role> Wire<R>
where
    R::Action: Describe<R>,
{
    /// A connection on which nothing has happened.
    #[must_use]
    pub fn fresh(config: Config) -> Self {
        Bench::new(config).into()
    }

    /// Bytes arrive.
    pub fn feed(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.conn.handle_input(bytes.as_ref(), self.now);
        self
    }

    /// Time passes, up to each deadline on the way.
    pub fn sleep(&mut self, time: Duration) {
        let until = self.now + time;
        while let Some(deadline) = self.conn.poll_timeout().filter(|deadline| deadline.at <= until) {
            self.now = deadline.at;
            self.conn.handle_timeout(self.now);
        }
        self.now = until;
        self.conn.handle_timeout(until);
    }

    /// The frames that wait, taken out, without the words of error messages.
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
    pub fn quiet(&mut self) {
        self.frames();
        self.actions();
        self.told.clear();
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
    pub fn key(&self, session: &str) -> SessionKey {
        self.conn.find_session(session).expect("a known session")
    }

    /// What is counted: our open requests, the peer's, bytes to write, bytes of input held.
    #[must_use]
    pub fn counts(&self) -> [usize; 4] {
        let conn = &self.conn;
        [conn.unresolved(), conn.unanswered().count(), conn.queued_bytes(), conn.held_bytes()]
    }
}

impl Wire<Agent> {
    /// An agent that is initialized, with every capability offered both ways, and with session `s1`.
    #[must_use]
    pub fn agent(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::agent();
        change(&mut config);
        let mut bench = Bench::agent(config);
        bench.session("s1");
        bench.into()
    }

    /// Opens one more session, if the limits let it.
    pub fn open(&mut self, id: &str) -> Option<SessionKey> {
        let params = r#"{"cwd":"/","mcpServers":[]}"#;
        self.feed(rpc(&format!(r#""id":"new {id}","method":"session/new","params":{params}"#)));
        let Some(AgentAction::SessionRequested { ticket, .. }) = self.conn.poll_action() else { return None };
        self.conn.accept_session(ticket, &raw(&format!(r#"{{"sessionId":"{id}"}}"#)), self.now).ok().map(|(key, _)| key)
    }
}

impl Wire<Client> {
    /// A client that is initialized, with every capability offered both ways, and with session `s1`. Its next request has
    /// the id 3.
    #[must_use]
    pub fn client(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::client();
        change(&mut config);
        let mut bench = Bench::client(config);
        bench.session("s1");
        bench.into()
    }
}
