//! The benches in version 2 of the protocol: ends that have agreed on it, the messages of the other end, and what comes
//! out in words.
//!
//! A frame in words begins with what it is about: `3: inserted m1`, `3: -32800` and `3: ok` (answers), `ask 1 m` (a request
//! of ours), `s1 running`, `s1 idle end_turn`, `s1 idle error -32603` (states, `+bg` if something goes on in the
//! background), `s1 user_message m1` and `s1 tool t1 cancelled` (other updates), `$/cancel_request 1`.

use acp_core::{Agent, Client, Config, Connection, SessionKey, TurnKey};
use serde_json::{Value, json};

use crate::{agent::AgentBench, bench::payload, client::ClientBench};

/// What names a program.
#[must_use]
pub fn info() -> Value {
    json!({ "name": "bench", "version": "1.0" })
}

/// What an agent offers in these tests: everything.
#[must_use]
pub fn agent_result() -> Value {
    json!({
        "info": info(),
        "capabilities": { "session": { "delete": {}, "fork": {} } },
        "authMethods": [
            { "type": "agent", "methodId": "web", "name": "Log in" },
            { "type": "terminal", "methodId": "tui", "name": "Log in there" },
        ],
    })
}

/// What a client offers in these tests: everything.
#[must_use]
pub fn client_params() -> Value {
    json!({ "info": info(), "capabilities": { "elicitation": { "form": {}, "url": {} } } })
}

/// A policy that speaks both versions.
#[must_use]
pub fn both(mut config: Config) -> Config {
    config.versions = [1, 2].into_iter().collect();
    config
}

/// The default policy of an agent that speaks both, changed.
#[must_use]
pub fn agent_config(change: impl FnOnce(&mut Config)) -> Config {
    let mut config = both(Config::agent());
    change(&mut config);
    config
}

/// The default policy of a client that speaks both, changed.
#[must_use]
pub fn client_config(change: impl FnOnce(&mut Config)) -> Config {
    let mut config = both(Config::client());
    change(&mut config);
    config
}

// ---- the agent's end -------------------------------------------------------------------------------------------------

/// An agent that has agreed on version 2, with everything offered on both sides.
///
/// # Panics
///
/// The policy does not speak version 2.
#[must_use]
pub fn agent(config: Config) -> AgentBench {
    agent_with(config, &agent_result())
}

/// The same with this result of `initialize`.
///
/// # Panics
///
/// The policy does not speak version 2.
#[must_use]
pub fn agent_with(config: Config, result: &Value) -> AgentBench {
    let mut bench = AgentBench::new(config);
    let mut params = client_params();
    params["protocolVersion"] = json!(2);
    bench.request("init", "initialize", params);
    bench.told();
    bench.initialize(result);
    assert_eq!((bench.frames().len(), bench.conn.version()), (1, Some(2)));
    bench
}

/// One with these sessions.
#[must_use]
pub fn agent_in(config: Config, sessions: &[&str]) -> AgentBench {
    let mut bench = agent(config);
    for session in sessions {
        open(&mut bench, session);
    }
    bench
}

/// One with the session `s1` and the default policy.
#[must_use]
pub fn ready() -> AgentBench {
    agent_in(agent_config(|_| ()), &["s1"])
}

/// Opens a session.
pub fn open(bench: &mut AgentBench, id: &str) -> SessionKey {
    bench.request(format!("new {id}"), "session/new", json!({ "cwd": "/" }));
    bench.told();
    let session = bench.accept(&json!({ "sessionId": id }));
    bench.frames();
    session
}

/// A prompt that says this, with a key if there is one.
pub fn prompt(bench: &mut AgentBench, id: impl Into<Value>, text: &str, key: Option<&str>) {
    let mut params = json!({ "sessionId": "s1", "prompt": [{ "type": "text", "text": text }] });
    if let Some(key) = key {
        params["idempotencyKey"] = json!(key);
    }
    bench.request(id, "session/prompt", params);
}

/// A piece of the agent's text.
#[must_use]
pub fn chunk(text: &str) -> Value {
    let content = json!({ "type": "text", "text": text });
    json!({ "sessionUpdate": "agent_message_chunk", "messageId": "a1", "content": content })
}

/// A tool call at this.
#[must_use]
pub fn tool(id: &str, status: &str) -> Value {
    json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": status })
}

/// The same, which can be cancelled.
#[must_use]
pub fn cancellable(id: &str, status: &str) -> Value {
    let mut update = tool(id, status);
    update["capabilities"] = json!({ "cancel": {} });
    update
}

/// A child session.
#[must_use]
pub fn child(id: &str, cancel: bool) -> Value {
    let capabilities = if cancel { json!({ "cancel": {} }) } else { json!({}) };
    json!({ "sessionUpdate": "subagent_update", "sessionId": id, "title": id, "capabilities": capabilities })
}

/// The params of a permission request, `sessionId` apart.
#[must_use]
pub fn permission() -> Value {
    json!({
        "title": "May I?",
        "subject": { "type": "tool_call", "toolCall": { "toolCallId": "t1" } },
        "options": [{ "optionId": "yes", "name": "Yes", "kind": "allow_once" }],
    })
}

/// Asks for permission.
///
/// # Panics
///
/// The command is refused.
pub fn ask(bench: &mut AgentBench, scope: impl Into<acp_core::Scope>) -> acp_core::RequestKey {
    let now = bench.now;
    bench
        .conn
        .request_in(scope, "session/request_permission", &payload(permission()), None, now)
        .expect("it may be asked")
}

/// The frames that wait, in words.
pub fn said(bench: &mut AgentBench) -> Vec<String> {
    bench.frames().iter().map(words).collect()
}

/// Nothing of a session's work is left at the agent.
///
/// # Panics
///
/// Something is.
pub fn agent_is_at_rest(conn: &Connection<Agent>) {
    assert_eq!((conn.unanswered().count(), conn.unresolved(), conn.queued_bytes(), conn.held_bytes()), (0, 0, 0, 0));
    assert_eq!(conn.poll_timeout(), None);
}

// ---- the client's end ------------------------------------------------------------------------------------------------

/// A client that has agreed on version 2, with everything offered on both sides.
///
/// # Panics
///
/// The policy does not speak version 2.
#[must_use]
pub fn client(config: Config) -> ClientBench {
    let mut client = ClientBench::fresh(config);
    initialize(&mut client, agent_result());
    client
}

/// Sends `initialize`, and has it answered with version 2 and these members.
///
/// # Panics
///
/// It cannot be sent, or is not agreed on.
pub fn initialize(client: &mut ClientBench, mut result: Value) {
    let now = client.now;
    let request = client.conn.initialize(&payload(client_params()), now).expect("it may be sent").number();
    assert_eq!(client.frames()[0]["params"]["protocolVersion"], 2);
    result["protocolVersion"] = json!(2);
    client.result(request, result);
    client.heard();
    assert_eq!(client.conn.version(), Some(2));
}

/// One with the session `s1`: the next request has the id 3.
#[must_use]
pub fn client_in(config: Config) -> (ClientBench, SessionKey) {
    let mut client = client(config);
    let session = client.session("s1");
    (client, session)
}

/// The same with a turn, whose prompt was sent as request 3.
#[must_use]
pub fn running(config: Config) -> (ClientBench, SessionKey, TurnKey) {
    let (mut client, session) = client_in(config);
    let (turn, id) = client.prompt(session);
    assert_eq!(id, 3);
    (client, session, turn)
}

/// The agent inserts the prompt of this request under this id, and works.
pub fn inserts(client: &mut ClientBench, request: u64, message: &str) {
    client.result(request, json!({ "messageId": message }));
    state(client, "s1", "running");
    let content = json!([{ "type": "text", "text": "hi" }]);
    let echo = json!({ "sessionUpdate": "user_message", "messageId": message, "content": content });
    update(client, "s1", echo);
}

/// The agent reports this.
pub fn update(client: &mut ClientBench, session: &str, update: Value) {
    client.notification("session/update", json!({ "sessionId": session, "update": update }));
}

/// The agent reports this state.
pub fn state(client: &mut ClientBench, session: &str, state: &str) {
    update(client, session, json!({ "sessionUpdate": "state_update", "state": state }));
}

/// The agent's work is over, for this reason.
pub fn idle(client: &mut ClientBench, reason: &str) {
    update(client, "s1", json!({ "sessionUpdate": "state_update", "state": "idle", "stopReason": reason }));
}

/// The agent asks for permission.
pub fn asks(client: &mut ClientBench, id: impl Into<Value>, session: &str) {
    let mut params = permission();
    params["sessionId"] = json!(session);
    client.request(id, "session/request_permission", params);
}

/// What the host is told, states and messages of the user's left out.
pub fn heard(client: &mut ClientBench) -> Vec<String> {
    client.heard().into_iter().filter(|heard| !heard.starts_with("update ")).collect()
}

/// Nothing of a session's work is left at the client.
///
/// # Panics
///
/// Something is.
pub fn client_is_at_rest(conn: &Connection<Client>) {
    assert_eq!((conn.unanswered().count(), conn.unresolved(), conn.queued_bytes(), conn.held_bytes()), (0, 0, 0, 0));
    assert_eq!(conn.poll_timeout(), None);
}

// ---- words -----------------------------------------------------------------------------------------------------------

/// A frame in words: see the head of this module.
#[must_use]
pub fn words(frame: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let (id, params) = (text(&frame["id"]), &frame["params"]);
    match frame["method"].as_str() {
        Some(method) if frame.get("id").is_some() => format!("ask {id} {method}"),
        Some("session/update") => format!("{} {}", text(&params["sessionId"]), update_in_words(&params["update"])),
        Some("$/cancel_request") => format!("$/cancel_request {}", params["requestId"]),
        Some(method) => method.to_owned(),
        None => match (frame.get("error"), frame["result"].get("messageId")) {
            (Some(error), _) => format!("{id}: {}", error["code"]),
            (None, Some(message)) => format!("{id}: inserted {}", text(message)),
            (None, None) => format!("{id}: ok"),
        },
    }
}

fn update_in_words(update: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let words = match text(&update["sessionUpdate"]).as_str() {
        "state_update" => {
            let code = update["error"]["code"].as_i64().map(|code| code.to_string()).unwrap_or_default();
            let background = if update.get("background").is_some() { "+bg" } else { "" };
            [text(&update["state"]), text(&update["stopReason"]), code, background.to_owned()].join(" ")
        }
        "tool_call_update" => format!("tool {} {}", text(&update["toolCallId"]), text(&update["status"])),
        kind => format!("{kind} {}", text(&update["messageId"])),
    };
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}
