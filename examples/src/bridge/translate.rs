//! What is put in other words between the two versions: shapes only, no rule.

use std::collections::{BTreeMap, BTreeSet};

use acp_core::{Payload, SessionKey, TurnKey, wire::Method};
use serde_json::{Map, Value, json};

use crate::shape::payload;

/// A version, as far as shapes go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Spoken {
    #[default]
    V1,
    V2,
}

impl Spoken {
    pub(super) fn of(version: Option<u16>) -> Self {
        if version.is_some_and(|version| version >= 2) { Self::V2 } else { Self::V1 }
    }
}

fn object(of: &Payload) -> Map<String, Value> {
    of.get().unwrap_or_default()
}

/// A member of an object.
pub(super) fn member(of: &Payload, name: &str) -> Option<Payload> {
    object(of).remove(name).map(payload)
}

/// The params without the session they name, which the core adds.
pub(super) fn without_session(params: Option<&Payload>) -> Payload {
    let mut members = params.map(object).unwrap_or_default();
    members.remove("sessionId");
    payload(Value::Object(members))
}

/// The params of `initialize` for the agent, from those of the client.
pub(super) fn hello(params: &Payload, from: Spoken, to: Spoken) -> Payload {
    let mut said = object(params);
    let take = |said: &mut Map<String, Value>, names: [&str; 2]| names.iter().find_map(|name| said.remove(*name));
    let info = take(&mut said, ["info", "clientInfo"]).unwrap_or_else(|| json!({ "name": "unknown", "version": "0" }));
    let offered = take(&mut said, ["capabilities", "clientCapabilities"]).unwrap_or_else(|| json!({}));
    payload(match (from, to) {
        (Spoken::V1, Spoken::V2) => json!({ "info": info, "capabilities": only(&offered, &["elicitation", "_meta"]) }),
        (_, Spoken::V2) => json!({ "info": info, "capabilities": offered }),
        (Spoken::V2, Spoken::V1) => {
            json!({ "clientInfo": info, "clientCapabilities": only(&offered, &["elicitation", "_meta"]) })
        }
        (_, Spoken::V1) => json!({ "clientInfo": info, "clientCapabilities": offered }),
    })
}

/// The result of `initialize` for the client, from that of the agent.
pub(super) fn welcome(result: &Payload, from: Spoken, to: Spoken) -> Payload {
    let mut said = object(result);
    said.remove("protocolVersion");
    if from == to {
        return payload(Value::Object(said));
    }
    let methods = said.remove("authMethods").unwrap_or_else(|| json!([]));
    let methods = methods.as_array().cloned().unwrap_or_default();
    payload(match to {
        Spoken::V2 => {
            let offered = said.remove("agentCapabilities").unwrap_or_default();
            let mut session = json!({});
            if let Some(content) = offered.get("promptCapabilities") {
                let kinds =
                    ["image", "audio", "embeddedContext"].into_iter().filter(|kind| content[kind] == json!(true));
                session["prompt"] = kinds.map(|kind| (kind.to_owned(), json!({}))).collect::<Map<_, _>>().into();
            }
            if offered["sessionCapabilities"]["delete"].is_object() {
                session["delete"] = json!({});
            }
            let methods: Vec<Value> = methods
                .into_iter()
                .map(|mut method| {
                    method["methodId"] = method["id"].take();
                    method["type"] = json!("agent");
                    method.as_object_mut().map(|method| method.remove("id"));
                    method
                })
                .collect();
            json!({
                "info": said.remove("agentInfo").unwrap_or_else(|| json!({ "name": "unknown", "version": "0" })),
                "capabilities": { "session": session },
                "authMethods": methods,
            })
        }
        Spoken::V1 => {
            let session = said.remove("capabilities").map_or(Value::Null, |mut offered| offered["session"].take());
            let has = |path: [&str; 2]| json!(session[path[0]][path[1]].is_object());
            let mut sessions = json!({ "list": {}, "resume": {}, "close": {} });
            if session["delete"].is_object() {
                sessions["delete"] = json!({});
            }
            let usable = methods.into_iter().filter(|method| method["type"] == json!("agent"));
            let methods: Vec<Value> = usable
                .map(|mut method| {
                    method["id"] = method["methodId"].take();
                    method.as_object_mut().map(|method| method.remove("methodId"));
                    method
                })
                .collect();
            let logout = if methods.is_empty() { json!({}) } else { json!({ "logout": {} }) };
            json!({
                "agentInfo": said.remove("info"),
                "agentCapabilities": {
                    "loadSession": session.is_object(),
                    "sessionCapabilities": sessions,
                    "promptCapabilities": {
                        "image": has(["prompt", "image"]),
                        "audio": has(["prompt", "audio"]),
                        "embeddedContext": has(["prompt", "embeddedContext"]),
                    },
                    "auth": logout,
                },
                "authMethods": methods,
            })
        }
    })
}

fn only(object: &Value, names: &[&str]) -> Value {
    let kept = names.iter().filter_map(|name| Some(((*name).to_owned(), object.get(name)?.clone())));
    kept.collect::<Map<_, _>>().into()
}

/// The name of a method in a version.
pub(super) fn method(name: &str, to: Spoken) -> &str {
    match (Method::from_name(name), to) {
        (Some(Method::Authenticate), Spoken::V2) => Method::AuthLogin.name(),
        (Some(Method::Logout), Spoken::V2) => Method::AuthLogout.name(),
        (Some(Method::AuthLogin), Spoken::V1) => Method::Authenticate.name(),
        (Some(Method::AuthLogout), Spoken::V1) => Method::Logout.name(),
        _ => name,
    }
}

/// The params of a request that opens a session, without what the core adds to them.
pub(super) fn opening(params: &Payload, to: Spoken) -> Payload {
    let mut asked = object(params);
    asked.remove("sessionId");
    asked.remove("replayFrom");
    if to == Spoken::V1 {
        // Version 1 wants it, if only empty.
        asked.entry("mcpServers").or_insert_with(|| json!([]));
    }
    payload(Value::Object(asked))
}

/// The params of a permission request, without the session.
pub(super) fn permission(params: &Payload, (to, from): (Spoken, Spoken)) -> Payload {
    let mut asked = object(params);
    asked.remove("sessionId");
    match (from, to) {
        (Spoken::V1, Spoken::V2) => {
            let call = asked.remove("toolCall").unwrap_or_default();
            let title = call["title"].as_str().unwrap_or("Permission").to_owned();
            asked.insert("title".into(), json!(title));
            asked.insert("subject".into(), json!({ "type": "tool_call", "toolCall": call }));
        }
        (Spoken::V2, Spoken::V1) => {
            let mut subject = asked.remove("subject").unwrap_or_default();
            let title = asked.remove("title").unwrap_or_default();
            let mut call = subject["toolCall"].take();
            if !call.is_object() {
                let id = subject.get("toolCallId").cloned().unwrap_or_else(|| json!("no-tool-call"));
                call = json!({ "toolCallId": id });
            }
            if call.get("title").is_none_or(Value::is_null) {
                call["title"] = title;
            }
            asked.insert("toolCall".into(), call);
        }
        _ => {}
    }
    payload(Value::Object(asked))
}

/// Updates in the other version's terms, which takes some memory: who began, and what was said already.
#[derive(Debug, Default)]
pub(super) struct Updates {
    /// Tool calls that were told of.
    calls: BTreeSet<(SessionKey, String)>,
    /// Messages that came in pieces: told whole afterwards, they say nothing new.
    pieces: BTreeSet<(SessionKey, String)>,
    /// How many messages were named here, and of whom the last was.
    named: BTreeMap<SessionKey, (u64, String, Option<TurnKey>)>,
}

impl Updates {
    /// What the client is told of an update of the agent's: mostly one thing, sometimes nothing.
    pub(super) fn translate(
        &mut self,
        session: SessionKey,
        turn: Option<TurnKey>,
        replay: bool,
        params: &Payload,
        (to, from): (Spoken, Spoken),
    ) -> Option<Payload> {
        let mut update = object(params).remove("update")?;
        let kind = update["sessionUpdate"].as_str()?.to_owned();
        let update = match (from, to) {
            (Spoken::V1, Spoken::V2) => self.newer(session, turn, &kind, update)?,
            (Spoken::V2, Spoken::V1) => self.older(session, replay, &kind, update)?,
            // The state and the end of a replay are for each end to tell by itself.
            (Spoken::V2, Spoken::V2) if matches!(&*kind, "state_update" | "replay_complete") => return None,
            // The client's own message was told when it was inserted.
            (Spoken::V2, Spoken::V2) if kind == "user_message" && !replay => return None,
            _ => update.take(),
        };
        Some(payload(update))
    }

    fn newer(&mut self, session: SessionKey, turn: Option<TurnKey>, kind: &str, mut update: Value) -> Option<Value> {
        match kind {
            "current_mode_update" => return None,
            "tool_call" => update["sessionUpdate"] = json!("tool_call_update"),
            "plan" => {
                return Some(json!({
                    "sessionUpdate": "plan_update",
                    "plan": { "type": "items", "planId": "plan", "entries": update["entries"] },
                }));
            }
            "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk" if update["messageId"].is_null() => {
                // Pieces of one kind that follow each other in a turn are one message.
                let named = self.named.entry(session).or_default();
                if (named.1.as_str(), named.2) != (kind, turn) || named.0 == 0 {
                    *named = (named.0 + 1, kind.to_owned(), turn);
                }
                update["messageId"] = json!(format!("bridged-{}", named.0));
            }
            _ => {}
        }
        if let Some(parts) = update.get_mut("content").and_then(Value::as_array_mut) {
            for part in parts.iter_mut().filter(|part| part["type"] == json!("diff")) {
                *part = json!({ "type": "diff", "changes": [{ "operation": "modify", "path": part["path"] }] });
            }
        }
        Some(update)
    }

    fn older(&mut self, session: SessionKey, replay: bool, kind: &str, mut update: Value) -> Option<Value> {
        let id = |update: &Value, name: &str| update[name].as_str().unwrap_or_default().to_owned();
        match kind {
            "state_update" | "replay_complete" => return None,
            // The client knows what it said.
            "user_message" | "user_message_chunk" if !replay => return None,
            "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk" => {
                self.pieces.insert((session, id(&update, "messageId")));
            }
            "user_message" | "agent_message" | "agent_thought" => {
                if !self.pieces.insert((session, id(&update, "messageId"))) {
                    return None;
                }
                let texts = update["content"].as_array()?.iter().filter_map(|block| block["text"].as_str());
                let text: String = texts.collect();
                let content = json!({ "type": "text", "text": text });
                return Some(json!({ "sessionUpdate": format!("{kind}_chunk"), "content": content }));
            }
            "tool_call_update" => {
                if self.calls.insert((session, id(&update, "toolCallId"))) {
                    update["sessionUpdate"] = json!("tool_call");
                    if update["title"].is_null() {
                        update["title"] = update["toolCallId"].clone();
                    }
                }
                if update["status"] == json!("cancelled") {
                    update["status"] = json!("failed");
                }
            }
            "plan_update" => {
                let entries = update["plan"]["entries"].take();
                return entries.is_array().then(|| json!({ "sessionUpdate": "plan", "entries": entries }));
            }
            "plan_removed" | "tool_call_content_chunk" | "terminal_update" | "terminal_output_chunk" => return None,
            _ => {}
        }
        if let Some(parts) = update.get_mut("content").and_then(Value::as_array_mut) {
            for part in parts.iter_mut().filter(|part| part["type"] == json!("diff")) {
                let text = part["patch"]["text"].as_str().unwrap_or("a change").to_owned();
                *part = json!({ "type": "content", "content": { "type": "text", "text": text } });
            }
        }
        Some(update)
    }
}
