//! Both ends over pipes in memory; and one end with a peer that the test plays itself.

use core::{future::Future, pin::Pin};
use std::sync::Arc;

use acp_core::{
    Agent, AgentAction, CancelKind, Client, ClientAction, CloseReason, Config, Decision, Outcome, Payload, SessionKey,
    Settlement, TurnKey, wire::StopReason,
};
use futures_lite::{AsyncReadExt as _, AsyncWriteExt as _};
use serde_json::{Value, json};

use super::{Adapter, Task, Wires};
pub use crate::bench::payload;

/// Two ends of a two-way pipe in memory that holds `width` bytes each way.
#[must_use]
pub fn duplex(width: usize) -> (Wires, Wires) {
    let (left_reader, right_writer) = piper::pipe(width);
    let (right_reader, left_writer) = piper::pipe(width);
    ((left_reader, left_writer), (right_reader, right_writer))
}

/// An update: a piece of text.
#[must_use]
pub fn text(text: &str) -> Payload {
    payload(json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } }))
}

/// What an agent does with each turn.
pub type Work<A> = Arc<dyn Fn(<A as Adapter>::Turn) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// From a function.
pub fn work<A: Adapter, F>(run: impl Fn(A::Turn) -> F + Send + Sync + 'static) -> Work<A>
where
    F: Future<Output = ()> + Send + 'static,
{
    Arc::new(move |turn| Box::pin(run(turn)))
}

/// An agent that opens every session and hands each turn to `work`, until the connection ends. That it ended before an
/// answer is not its business.
pub async fn serve<A: Adapter>(agent: A::Handle<Agent>, mut actions: A::Actions<Agent>, work: Work<A>) {
    let mut sessions = 0;
    while let Some(action) = A::next(&mut actions).await {
        match action {
            AgentAction::Initialize { ticket, .. } => {
                drop(A::with(&agent, |conn, now| conn.accept_initialize(ticket, &Payload::EMPTY, now)));
            }
            AgentAction::SessionRequested { ticket, .. } => {
                sessions += 1;
                let result = payload(json!({ "sessionId": format!("s{sessions}") }));
                drop(A::with(&agent, |conn, now| conn.accept_session(ticket, &result, now)));
            }
            AgentAction::Prompt { ticket, .. } => A::detach(work(A::turn(&agent, ticket))),
            other => drop(A::with(&agent, |conn, now| conn.decline(other, now))),
        }
    }
}

/// Both ends, initialized, with one session.
#[expect(missing_debug_implementations, reason = "an adapter's parts need not have it")]
pub struct Pair<A: Adapter> {
    /// The client.
    pub client: A::Handle<Client>,
    /// What it is told.
    pub actions: A::Actions<Client>,
    /// Its session.
    pub session: SessionKey,
    /// The drivers: the client's, the agent's.
    pub ends: [Task<CloseReason>; 2],
}

impl<A: Adapter> Pair<A> {
    /// Over a pipe of this width, with an agent that does this in each turn.
    pub async fn new(width: usize, work: Work<A>) -> Self {
        let (left, right) = duplex(width);
        let (agent, told, driver) = A::agent(right, Config::agent());
        let agent_end = A::spawn(driver);
        A::detach(serve::<A>(agent, told, work));
        let (client, actions, driver) = A::client(left, Config::client());
        let client_end = A::spawn(driver);
        let answer = A::initialize(&client, &Payload::EMPTY).expect("idle").await;
        assert!(matches!(answer.outcome, Outcome::Result(_)), "{answer:?}");
        let opened = A::request(&client, "session/new", place()).expect("initialized").await;
        let session = opened.session.expect("a session");
        Self { client, actions, session, ends: [client_end, agent_end] }
    }

    /// Begins a turn and keeps it.
    pub fn begin(&self) -> A::Prompt {
        A::prompt(&self.client, self.session, &words()).expect("idle")
    }

    /// Begins a turn.
    pub fn prompt(&self) -> TurnKey {
        A::detach_prompt(self.begin())
    }

    /// Cancels a turn.
    pub fn cancel(&self, turn: TurnKey, kind: CancelKind) {
        A::with(&self.client, |conn, now| conn.cancel_turn(turn, kind, now)).expect("a turn of ours");
    }

    /// Takes actions up to the end of the turn: how many updates there were, and how it ended.
    pub async fn finish(&mut self) -> (usize, Settlement) {
        let mut updates = 0;
        loop {
            match A::next(&mut self.actions).await.expect("the turn ends first") {
                ClientAction::Update { .. } => updates += 1,
                ClientAction::TurnEnded { settlement, .. } => return (updates, settlement),
                ClientAction::PermissionRequested { ticket, offer, .. } => {
                    let option = offer.options.first().expect("an option").id.clone();
                    A::with(&self.client, |conn, now| conn.decide(ticket, &Decision::Select(option), now));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// Ends it in order.
    pub async fn close(self) {
        A::close(&self.client);
        assert_eq!(A::closed(&self.client).await, CloseReason::Local);
        let [client, agent] = self.ends;
        assert_eq!(client.await, CloseReason::Local);
        assert_eq!(agent.await, CloseReason::Eof);
    }
}

/// The parameters of `session/new`.
#[must_use]
pub fn place() -> Payload {
    payload(json!({ "cwd": "/", "mcpServers": [] }))
}

/// What is prompted.
#[must_use]
pub fn words() -> Payload {
    payload(json!([{ "type": "text", "text": "go" }]))
}

/// Work: 20 updates, numbered.
pub async fn stream<A: Adapter>(turn: A::Turn) {
    for n in 0..20 {
        A::update(&turn, &text(&format!("piece {n}"))).await.expect("it fits");
    }
    A::stop(turn, StopReason::EndTurn);
}

/// Work: updates until it is cancelled.
pub async fn until_cancelled<A: Adapter>(turn: A::Turn) {
    let more = text("more");
    while !A::is_cancelled(&turn) {
        let cancelled = async {
            A::cancelled(&turn).await;
        };
        futures_lite::future::or(cancelled, async {
            A::update(&turn, &more).await.expect("it fits");
        })
        .await;
        // No update has to wait while there is room: a turn that never pauses would keep a single thread.
        futures_lite::future::yield_now().await;
    }
    A::stop(turn, StopReason::EndTurn);
}

/// Work: asks for a permission, and reports the answer.
pub async fn asks<A: Adapter>(turn: A::Turn) {
    let asked = A::ask(&turn, "session/request_permission", &question()).await.expect("it can be asked");
    if let Outcome::Result(result) = asked.outcome {
        A::update(&turn, &text(result.as_str())).await.expect("it fits");
    }
    A::stop(turn, StopReason::EndTurn);
}

/// Work: nothing, until it is cancelled.
pub async fn hangs<A: Adapter>(turn: A::Turn) {
    A::cancelled(&turn).await;
    A::stop(turn, StopReason::EndTurn);
}

/// A permission to ask for.
#[must_use]
pub fn question() -> Payload {
    payload(json!({
        "toolCall": { "toolCallId": "t" },
        "options": [{ "optionId": "yes", "name": "Yes", "kind": "allow_once" }],
    }))
}

/// A peer that the test plays: lines out, lines in.
#[expect(missing_debug_implementations, reason = "the pipes have none")]
pub struct Raw {
    /// What it hears.
    pub reader: piper::Reader,
    /// What it says.
    pub writer: piper::Writer,
}

impl Raw {
    /// At this end.
    #[must_use]
    pub fn new((reader, writer): Wires) -> Self {
        Self { reader, writer }
    }

    /// Says one message.
    pub async fn say(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        self.writer.write_all(format!("{message}\n").as_bytes()).await.expect("the other end reads");
    }

    /// Hears one message; `None` at the end of the stream.
    pub async fn hear(&mut self) -> Option<Value> {
        let mut line = Vec::new();
        loop {
            let mut byte = [0];
            if self.reader.read(&mut byte).await.expect("a pipe in memory") == 0 {
                assert!(line.is_empty(), "a line was cut off: {}", String::from_utf8_lossy(&line));
                return None;
            }
            if byte == *b"\n" {
                let mut message: Value = serde_json::from_slice(&line).expect("a message a line");
                assert_eq!(message.as_object_mut().expect("an object").remove("jsonrpc"), Some(json!("2.0")));
                return Some(message);
            }
            line.extend_from_slice(&byte);
        }
    }

    /// As a client: initializes, and opens a session.
    pub async fn open(&mut self) {
        self.say(json!({ "id": 1, "method": "initialize", "params": { "protocolVersion": 1 } })).await;
        assert_eq!(self.hear().await.expect("an answer")["id"], 1);
        self.say(json!({ "id": 2, "method": "session/new", "params": { "cwd": "/", "mcpServers": [] } })).await;
        assert_eq!(self.hear().await, Some(json!({ "id": 2, "result": { "sessionId": "s1" } })));
    }

    /// As a client: prompts, under this id.
    pub async fn prompt(&mut self, id: u64) {
        let params = json!({ "sessionId": "s1", "prompt": [{ "type": "text", "text": "go" }] });
        self.say(json!({ "id": id, "method": "session/prompt", "params": params })).await;
    }
}
