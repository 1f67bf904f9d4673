//! Checks of agents that only version 2 has: prompts that are inserted, states, resuming, and what is gone.

use serde_json::{Value, json};

use super::{
    Outcome, Stop, Weight,
    agent::{Check, check, v2},
    agent_wire::code,
    peer::Peer,
};

const SETUP: [&str; 2] = ["Session Setup, Resuming Sessions", "session-setup#resuming-sessions"];
const PROMPT: [&str; 2] = ["Schema, PromptRequest", "schema#promptrequest"];
const CANCEL: [&str; 2] = ["Prompt Lifecycle, Cancellation", "prompt-lifecycle#cancellation"];
const VERSION: [&str; 2] = ["Initialization, Version Negotiation", "initialization#version-negotiation"];

pub(super) const CHECKS: &[Check] = &[
    check(
        v2(["A06", "an older client is answered with its version, or with an error", VERSION[0], VERSION[1]]),
        Weight::Must,
        &[],
        |peer| {
            let older = json!({ "protocolVersion": 1, "clientCapabilities": {} });
            let answer = peer.ask("initialize", older)?;
            match (answer["result"]["protocolVersion"].as_u64(), code(&answer)) {
                (Some(1), _) => Ok("version 1".to_owned()),
                (None, Some(-32022)) => Ok("it speaks version 2 only".to_owned()),
                _ => Err(format!("it is answered {answer}").into()),
            }
        },
    ),
    check(
        v2(["A07", "initialize may be repeated while nothing else was asked", VERSION[0], VERSION[1]]),
        Weight::Must,
        &[],
        |peer| {
            let greeting = peer.greeting(2);
            peer.result("initialize", greeting)?;
            peer.open().map(|_| String::new())
        },
    ),
    check(
        v2(["A08", "initialize is refused once something else was asked", VERSION[0], VERSION[1]]),
        Weight::Should,
        &[],
        |peer| {
            peer.open()?;
            let greeting = peer.greeting(2);
            let code = code(&peer.ask("initialize", greeting)?).ok_or("it has a result")?;
            peer.is_usable().map(|()| code.to_string())
        },
    ),
    check(
        v2(["A16", "what only version 1 has is answered with an error", "Migration", "migration"]),
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            let mut load = peer.place();
            load["sessionId"] = json!(session);
            for (method, params) in [
                ("authenticate", json!({ "methodId": "x" })),
                ("session/load", load),
                ("session/set_mode", json!({ "sessionId": session, "modeId": "x" })),
            ] {
                let answer = peer.ask(method, params)?;
                code(&answer).ok_or_else(|| format!("`{method}` has a result"))?;
            }
            peer.is_usable().map(|()| String::new())
        },
    ),
    check(v2(["A17", "the id null is refused", "Schema, RequestId", "schema#requestid"]), Weight::Must, &[], |peer| {
        peer.initialize()?;
        let place = peer.place();
        peer.send(&json!({ "jsonrpc": "2.0", "id": null, "method": "session/new", "params": place }));
        let answer = peer.response(&Value::Null)?;
        let code = code(&answer).ok_or("it has a result")?;
        peer.is_usable().map(|()| code.to_string())
    }),
    check(
        v2(["A38", "a session is resumed without its history, and with its state", SETUP[0], SETUP[1]]),
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            peer.turn(&session)?;
            peer.result("session/close", json!({ "sessionId": session }))?;
            let mut stored = peer.place();
            stored["sessionId"] = json!(session);
            // What comes before the answer, and whether the state does, is the linter's to tell.
            match code(&peer.ask("session/resume", stored)?) {
                Some(code) => Err(Stop::Skip(format!("it keeps no sessions: error {code}"))),
                None => peer.turn(&session),
            }
        },
    ),
    check(
        v2([
            "A39",
            "to close a session that is not there does no harm",
            "Session Setup, Closing Active Sessions",
            "session-setup#closing-active-sessions",
        ]),
        Weight::Should,
        &[],
        |peer| {
            let session = peer.open()?;
            for session in [&session, &session, "no-such-session"] {
                peer.result("session/close", json!({ "sessionId": session }))?;
            }
            Ok(String::new())
        },
    ),
    check(
        v2([
            "A44",
            "a prompt is answered with the id of its message, which is told",
            "Prompt Lifecycle, Prompt Accepted",
            "prompt-lifecycle#2-prompt-accepted",
        ]),
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            let turn = peer.start_turn(&session, &peer.setup.prompt.clone());
            let answer = peer.response(&turn.id)?;
            let id = answer["result"]["messageId"].as_str().ok_or("the answer has no `messageId`")?;
            peer.reason(&turn)?;
            let is_told = |said: &Value| {
                let update = &said["params"]["update"];
                let kind = update["sessionUpdate"].as_str().unwrap_or_default();
                kind.starts_with("user_message") && update["messageId"] == id
            };
            if peer.heard.iter().any(is_told) { Ok(id.to_owned()) } else { Err("its message is not told".into()) }
        },
    ),
    check(
        v2(["A45", "a prompt while another runs is not refused", PROMPT[0], PROMPT[1]]),
        Weight::Should,
        &[],
        |peer| {
            let session = peer.open()?;
            let first = peer.slow_turn(&session)?;
            let second = peer.start_turn(&session, &peer.setup.prompt.clone());
            peer.fence()?;
            let refused = peer.heard.iter().find(|said| said["id"] == second.id && said["error"].is_object()).cloned();
            peer.cancel(&session);
            peer.reason(&first)?;
            refused.map_or(Ok(String::new()), |answer| Err(format!("it is answered {}", answer["error"]).into()))
        },
    ),
    check(
        v2(["A46", "a cancel answers a prompt that waits, with -32800", CANCEL[0], CANCEL[1]]),
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            let first = peer.slow_turn(&session)?;
            let second = peer.start_turn(&session, &peer.setup.prompt.clone());
            peer.fence()?;
            if peer.heard.iter().any(|said| said["id"] == second.id && said.get("method").is_none()) {
                peer.cancel(&session);
                return Err(Stop::Skip("it does not let it wait".to_owned()));
            }
            peer.cancel(&session);
            peer.reason(&first)?;
            match code(&peer.response(&second.id)?) {
                Some(-32800) => Ok(String::new()),
                code => {
                    Err(format!("the answer is {}", code.map_or("a result".to_owned(), |code| code.to_string())).into())
                }
            }
        },
    ),
    check(
        v2(["A47", "a prompt that is sent again with its idempotency key is inserted once", PROMPT[0], PROMPT[1]]),
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            let text = json!([{ "type": "text", "text": peer.setup.prompt }]);
            let params = json!({ "sessionId": session, "prompt": text, "idempotencyKey": "conform-1" });
            let first = peer.start_as(params.clone());
            peer.reason(&first)?;
            let again = peer.post("session/prompt", params);
            let [one, two] =
                [&first.id, &again].map(|id| peer.response(id).map(|it| it["result"]["messageId"].clone()));
            let (one, two) = (one?, two?);
            if one.is_string() && one == two { Ok(String::new()) } else { Err(format!("{one}, and then {two}").into()) }
        },
    ),
    check(
        v2(["A48", "content and keys that are wrong are refused, and nothing is inserted", PROMPT[0], PROMPT[1]]),
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            let text = json!([{ "type": "text", "text": "hi" }]);
            for (wrong, params) in [
                ("a block that nobody knows", json!({ "sessionId": session, "prompt": [{ "type": "_conform" }] })),
                ("an empty key", json!({ "sessionId": session, "prompt": text, "idempotencyKey": "" })),
                ("a key of 256", json!({ "sessionId": session, "prompt": text, "idempotencyKey": "k".repeat(256) })),
            ] {
                let answer = peer.ask("session/prompt", params)?;
                refused(&answer, -32602).map_err(|why| format!("{wrong}: {why}"))?;
            }
            let is_told = |said: &Value| said["params"]["update"]["sessionUpdate"] == "user_message";
            if peer.heard.iter().any(is_told) { Err("a message is told".into()) } else { Ok(String::new()) }
        },
    ),
    check(
        v2(["A56", "a prompt that was inserted is not cancelled by its id", "Cancellation", "cancellation"]),
        Weight::Must,
        &[],
        |peer| {
            let session = peer.open()?;
            let turn = peer.slow_turn(&session)?;
            peer.notify("$/cancel_request", json!({ "requestId": turn.id }));
            peer.fence()?;
            if peer.is_over(&turn) {
                return Err("its work is over".into());
            }
            peer.cancel(&session);
            peer.reason(&turn)
        },
    ),
    check(
        v2(["A67", "a cancel takes back the permission that is open, by its id", CANCEL[0], CANCEL[1]]),
        Weight::Must,
        &[],
        taken_back,
    ),
];

fn refused(answer: &Value, due: i64) -> Result<(), String> {
    match code(answer) {
        Some(code) if code == due => Ok(()),
        Some(code) => Err(format!("the error is {code}")),
        None => Err("it has a result".to_owned()),
    }
}

fn taken_back(peer: &mut Peer<'_>) -> Outcome {
    let session = peer.open()?;
    peer.policy = super::wire::Policy::Hold;
    let (turn, asked) = peer.permission_turn(&session)?;
    peer.cancel(&session);
    let is_it = |said: &Value| said["method"] == "$/cancel_request" && said["params"]["requestId"] == asked["id"];
    if !peer.heard.iter().any(is_it) {
        peer.wait("`$/cancel_request` for the permission", is_it)?;
    }
    peer.answer(&asked["id"], json!({ "outcome": { "outcome": "cancelled" } }));
    peer.reason(&turn)
}
