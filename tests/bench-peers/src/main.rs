//! This library in the comparison of peers: one client and one agent, written as a host would write them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use acp_tokio::{
    Actions, Handle, Turn,
    acp_core::{
        Agent, AgentAction, Client, ClientAction, Common, Config, Decision, Outcome, Payload, Settlement, SessionKey,
        TurnTicket,
        wire::{PermissionOutcome, StopReason, TextChunk, UpdateKind, permission_outcome},
    },
};
use bench_core::{AgentHooks, AgentPeer, ClientHooks, Contender, Io, Stop};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::oneshot;

#[global_allocator]
static COUNTING: bench_core::alloc::Counting = bench_core::alloc::Counting;

fn payload<T: Serialize>(value: &T) -> Payload {
    Payload::new(value).expect("it has a form in JSON")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Mode<'a> {
    mode_id: &'a str,
}

#[derive(Serialize, Deserialize)]
struct Block<'a> {
    r#type: &'a str,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Prompt<'a> {
    #[serde(borrow)]
    prompt: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Permission<'a> {
    tool_call: ToolCall<'a>,
    options: [Choice<'a>; 2],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolCall<'a> {
    tool_call_id: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Choice<'a> {
    option_id: &'a str,
    name: &'a str,
    kind: &'a str,
}

/// The client's end in the harness's hands.
#[derive(Clone)]
pub(crate) struct Ours(Handle<Client>);

impl Ours {
    fn session(&self, id: &str) -> SessionKey {
        self.0.find_session(id).expect("the session is open")
    }
}

impl bench_core::Client for Ours {
    async fn initialize(&self) {
        let params = payload(&json!({ "clientCapabilities": {} }));
        self.0.initialize(&params).expect("it was never asked before").await;
    }

    async fn new_session(&self) -> String {
        let params = payload(&json!({ "cwd": "/tmp", "mcpServers": [] }));
        let opened = self.0.request("session/new", Some(params), None).expect("there is room").await;
        let session = opened.session.expect("the session was opened");
        self.0.session_id(session).expect("it is open")
    }

    async fn set_mode(&self, session: &str) {
        let params = payload(&Mode { mode_id: "code" });
        let session = self.session(session);
        self.0.request_in(session, "session/set_mode", &params, None).expect("there is room").await;
    }

    async fn prompt(&self, session: &str, text: &str) -> Stop {
        let content = payload(&[Block { r#type: "text", text: text.into() }]);
        let session = self.session(session);
        match self.0.prompt(session, &content).expect("no turn runs").await {
            (Settlement::Ended(StopReason::EndTurn), _) => Stop::EndTurn,
            _ => Stop::Cancelled,
        }
    }

    async fn cancel(&self, session: &str) {
        let session = self.session(session);
        self.0.with(|conn, now| match conn.running_turn(session) {
            Some(turn) => conn.cancel_turn(turn, acp_tokio::acp_core::CancelKind::Steer, now).map(drop),
            None => conn.stop_session(session, now).map(drop),
        })
        .expect("the session is open");
    }
}

/// What the client does with what it is told: it reads the text.
async fn listen(handle: Handle<Client>, mut actions: Actions<Client>, hooks: Arc<ClientHooks>) {
    let mut ids: HashMap<SessionKey, String> = HashMap::new();
    let mut buffer = String::new();
    while let Some(action) = actions.next().await {
        match action {
            ClientAction::Update { session: Some(session), params, .. } => {
                let Some(chunk) = TextChunk::of(&params) else { continue };
                let id = ids.entry(session).or_insert_with(|| handle.session_id(session).unwrap_or_default());
                if let Some(text) = chunk.text_in(&mut buffer) {
                    hooks.on_update(id, text);
                }
            }
            ClientAction::PermissionRequested { ticket, .. } => {
                handle.decide(ticket, &Decision::Select(hooks.permission().into()));
            }
            other => {
                handle.decline(other);
            }
        }
    }
}

struct Peer {
    handle: Handle<Agent>,
    turn: Turn,
    id: String,
}

impl AgentPeer for &Peer {
    async fn update(&self, session: &str, text: &str) {
        let kind = &UpdateKind::AgentMessageChunk;
        let said = if session == self.id {
            self.turn.say(kind, text).await
        } else {
            let session = self.handle.find_session(session).expect("the session is open");
            self.handle.say(session, kind, text).await
        };
        said.expect("the text fits into a line");
    }

    async fn permission(&self, _: &str) -> String {
        let choice = |option_id, name, kind| Choice { option_id, name, kind };
        let params = payload(&Permission {
            tool_call: ToolCall { tool_call_id: "t-1" },
            options: [choice("allow", "Allow", "allow_once"), choice("reject", "Reject", "reject_once")],
        });
        let answer = self.turn.ask("session/request_permission", &params, None).await.expect("there is room");
        match answer.outcome {
            Outcome::Result(result) => match permission_outcome(&result) {
                Some(PermissionOutcome::Selected(option)) => option.into(),
                _ => String::new(),
            },
            _ => String::new(),
        }
    }
}

async fn run_turn(handle: Handle<Agent>, ticket: TurnTicket, params: Payload, hooks: Arc<AgentHooks>) {
    let turn = handle.turn(ticket);
    let id = handle.session_id(turn.session()).unwrap_or_default();
    let text = params.get::<Prompt<'_>>().expect("a prompt of text").prompt.swap_remove(0).text.into_owned();
    let peer = Peer { handle, turn, id };
    let stop = hooks.prompt(&&peer, &peer.id, &text).await;
    peer.turn.stop(match stop {
        Stop::EndTurn => StopReason::EndTurn,
        Stop::Cancelled => StopReason::Cancelled,
    });
}

async fn serve(handle: Handle<Agent>, mut actions: Actions<Agent>, hooks: Arc<AgentHooks>) {
    while let Some(action) = actions.next().await {
        match action {
            AgentAction::Initialize { ticket, .. } => {
                let result = payload(&json!({ "agentCapabilities": {}, "authMethods": [] }));
                handle.accept_initialize(ticket, &result).expect("an object");
            }
            AgentAction::SessionRequested { ticket, .. } => {
                let result = payload(&json!({ "sessionId": hooks.new_session() }));
                handle.accept_session(ticket, &result).expect("there is room");
            }
            AgentAction::Prompt { ticket, params } => {
                tokio::task::spawn_local(run_turn(handle.clone(), ticket, params, hooks.clone()));
            }
            AgentAction::AbortTurn { session, .. } => {
                hooks.cancel(&handle.session_id(session).unwrap_or_default());
            }
            AgentAction::Common(Common::Request { ticket, .. }) => {
                handle.respond(ticket, Ok(Payload::EMPTY));
            }
            other => {
                handle.decline(other);
            }
        }
    }
}

/// The defaults, except that 1 024 requests may be open, and that `LINE_LIMIT` bytes may be in a line, if that is set.
fn configured(mut config: Config) -> Config {
    (config.limits.own_requests, config.limits.peer_requests) = (1024, 1024);
    if let Some(limit) = std::env::var("LINE_LIMIT").ok().and_then(|limit| limit.parse().ok()) {
        config.limits.line = limit;
        config.limits.queued_bytes = config.limits.queued_bytes.max(2 * limit);
    }
    config
}

pub(crate) struct Mine;

impl Contender for Mine {
    const NAME: &'static str = "ours";
    type Client = Ours;

    async fn client(io: Io, hooks: Arc<ClientHooks>, ready: oneshot::Sender<Ours>, stop: oneshot::Receiver<()>) {
        let (handle, actions, driver) = acp_tokio::client(io.r, io.w, configured(Config::client())).expect("the defaults are valid");
        let _ = ready.send(Ours(handle.clone()));
        let driver = tokio::task::spawn_local(driver);
        tokio::select! {
            () = listen(handle, actions, hooks) => {}
            _ = stop => {}
        }
        driver.abort();
    }

    async fn agent(io: Io, hooks: Arc<AgentHooks>) {
        let (handle, actions, driver) = acp_tokio::agent(io.r, io.w, configured(Config::agent())).expect("the defaults are valid");
        let driver = tokio::task::spawn_local(driver);
        serve(handle, actions, hooks).await;
        let _ = driver.await;
    }

    async fn agent_stdio(hooks: Arc<AgentHooks>) {
        let (input, output) = acp_tokio::stdio().expect("stdin and stdout are pipes");
        Self::agent(Io { r: Box::pin(input), w: Box::pin(output) }, hooks).await;
    }
}

fn main() {
    bench_core::contender_main::<Mine>();
}
