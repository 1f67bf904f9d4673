//! Work of one kind, as much of it as one likes: for counting what it costs.

use acp_core::{
    Agent, AgentAction, Client, ClientAction, Common, Config, Connection, Payload, Role, SessionKey, Timestamp,
    TurnEnd, TurnTicket,
    wire::{StopReason, TextChunk, UpdateKind},
};
use serde_json::json;

use crate::bench::payload;

const NOW: Timestamp = Timestamp::ZERO;
/// Bytes that are handed in, or handed out, between two looks at what came of it: what an adapter reads at once.
const PIECE: usize = 64 << 10;

/// Prose of this size, with three escapes in 92 bytes.
#[must_use]
pub fn text(size: usize) -> String {
    let line = "The quick brown fox jumps over the lazy dog; then it reads `src/main.rs` and says \"done\".\n";
    line.chars().cycle().take(size).collect()
}

/// The line of an update that says this in this session.
#[must_use]
pub fn update_line(session: &str, text: &str) -> String {
    let text = serde_json::Value::from(text);
    format!(
        r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"{session}","update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":{text}}}}}}}}}"#
    ) + "\n"
}

/// Both ends, with nothing between them.
#[derive(Debug)]
pub struct Both {
    /// The client's end.
    pub client: Connection<Client>,
    /// The agent's end.
    pub agent: Connection<Agent>,
    wire: Vec<u8>,
}

impl Default for Both {
    fn default() -> Self {
        let mut both = Self {
            client: Connection::new(Config::client()).expect("the defaults are valid"),
            agent: Connection::new(Config::agent()).expect("the defaults are valid"),
            wire: Vec::new(),
        };
        both.client.initialize(&Payload::EMPTY, NOW).expect("it is the first");
        both.carry();
        let Some(AgentAction::Initialize { ticket, .. }) = both.agent.poll_action() else { panic!("initialize") };
        both.agent.accept_initialize(ticket, &Payload::EMPTY, NOW).expect("an object");
        both.carry();
        while both.client.poll_action().is_some() {}
        both
    }
}

/// Moves what one end has to write to the other.
fn carry<A: Role, B: Role>(from: &mut Connection<A>, to: &mut Connection<B>, wire: &mut Vec<u8>) {
    wire.clear();
    while let Some(frame) = from.poll_transmit() {
        wire.extend_from_slice(&frame.into_line());
    }
    for piece in wire.chunks(PIECE) {
        to.handle_input(piece, NOW);
    }
}

impl Both {
    fn carry(&mut self) {
        carry(&mut self.client, &mut self.agent, &mut self.wire);
        carry(&mut self.agent, &mut self.client, &mut self.wire);
    }

    /// Opens a session with this id, and names it at the client's end and at the agent's.
    ///
    /// # Panics
    ///
    /// There is no room for it, or it is open.
    pub fn open(&mut self, id: &str) -> (SessionKey, SessionKey) {
        let params = payload(json!({ "cwd": "/", "mcpServers": [] }));
        self.client.request("session/new", Some(params), None, NOW).expect("there is room");
        self.carry();
        let Some(AgentAction::SessionRequested { ticket, .. }) = self.agent.poll_action() else { panic!("a session") };
        let result = payload(json!({ "sessionId": id }));
        let (session, _) = self.agent.accept_session(ticket, &result, NOW).expect("it is new");
        self.carry();
        while self.client.poll_action().is_some() {}
        (self.client.find_session(id).expect("it is open"), session)
    }

    /// The client receives `count` updates of this text, and looks at each; answers how many bytes of text it saw.
    pub fn receive(&mut self, block: &[u8], count: usize, read: bool) -> usize {
        let (mut seen, mut bytes) = (0, 0);
        let mut buffer = String::with_capacity(PIECE);
        while seen < count {
            for piece in block.chunks(PIECE) {
                self.client.handle_input(piece, NOW);
                while let Some(action) = self.client.poll_action() {
                    let ClientAction::Update { params, .. } = action else { continue };
                    seen += 1;
                    bytes += params.len();
                    if let Some(chunk) = TextChunk::of(&params).filter(|_| read) {
                        buffer.clear();
                        bytes += chunk.append_to(&mut buffer).map_or(0, |()| buffer.len());
                    }
                }
            }
        }
        bytes
    }

    /// The agent sends `count` updates, and its frames are written and let go, about 64 KiB at a time.
    ///
    /// # Panics
    ///
    /// The session is not open.
    pub fn send(&mut self, count: usize, mut one: impl FnMut(&mut Connection<Agent>)) -> usize {
        let mut bytes = 0;
        for index in 0..count {
            one(&mut self.agent);
            if self.agent.queued_bytes() >= PIECE || index + 1 == count {
                while let Some(frame) = self.agent.poll_transmit() {
                    bytes += frame.into_line().len();
                }
            }
        }
        bytes
    }

    /// The client asks `count` times for a mode, one after the other, and gets it.
    ///
    /// # Panics
    ///
    /// The session is not open.
    pub fn trips(&mut self, session: SessionKey, count: usize) {
        let params = payload(json!({ "modeId": "code" }));
        for _ in 0..count {
            self.client.request_in(session, "session/set_mode", &params, None, NOW).expect("there is room");
            self.carry();
            let action = self.agent.poll_action();
            let Some(AgentAction::Common(Common::Request { ticket, .. })) = action else { panic!("{action:?}") };
            self.agent.respond(ticket, Ok(Payload::EMPTY), NOW).expect("it is owed");
            self.carry();
            assert!(self.client.poll_action().is_some(), "it is resolved");
        }
    }

    /// The client prompts, and the agent has its turn.
    ///
    /// # Panics
    ///
    /// The session is not open, or a turn runs.
    pub fn prompt(&mut self, session: SessionKey) -> TurnTicket {
        let content = payload(json!([{ "type": "text", "text": "go" }]));
        self.client.prompt(session, &content, None, NOW).expect("no turn runs");
        self.carry();
        match self.agent.poll_action() {
            Some(AgentAction::Prompt { ticket, .. }) => ticket,
            other => panic!("{other:?}"),
        }
    }

    /// `count` whole turns with ten updates each.
    ///
    /// # Panics
    ///
    /// The session is not open.
    pub fn turns(&mut self, session: SessionKey, count: usize) {
        let text = text(64);
        for _ in 0..count {
            let ticket = self.prompt(session);
            for _ in 0..10 {
                self.agent.say(&ticket, &UpdateKind::AgentMessageChunk, &text, NOW).expect("there is room");
            }
            self.agent.end_turn(ticket, &TurnEnd::Stop(StopReason::EndTurn), NOW);
            self.carry();
            let told = core::iter::from_fn(|| self.client.poll_action()).count();
            assert_eq!(told, 11, "ten updates and the end");
        }
    }
}
