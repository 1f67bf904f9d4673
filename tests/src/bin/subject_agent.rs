//! An agent for the runner of the conformance checks to find fault with: without arguments the echo agent, which is good;
//! with the name of a fault a small one that has it, in version 1 or 2.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead as _, Write as _},
    process::ExitCode,
};

use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match std::env::args().nth(1) {
        None => acp_examples::echo::serve(acp_examples::echo::Options::default()).await,
        Some(fault) => {
            Small { fault, ..Small::default() }.run();
            ExitCode::SUCCESS
        }
    }
}

/// An agent that does one thing at a time.
#[derive(Default)]
struct Small {
    fault: String,
    /// Version 2 was agreed.
    second: bool,
    sessions: u64,
    messages: u64,
    /// The sessions that are closed.
    closed: BTreeSet<String>,
    /// Idempotency keys, and the messages they stand for.
    keys: BTreeMap<String, String>,
    /// The prompt that runs until it is cancelled, and its session.
    slow: Option<(Value, Value)>,
    /// The prompt that waits for a permission, and its session.
    asking: Option<(Value, Value)>,
    /// A cancel that hits the next turn.
    leaked: bool,
    /// Prompts of version 2 that wait.
    waiting: Vec<(Value, Value)>,
}

impl Small {
    fn has(&self, fault: &str) -> bool {
        self.fault == fault
    }

    fn run(&mut self) {
        if self.has("noisy") {
            println!("INFO starting");
        }
        for line in std::io::stdin().lock().split(b'\n') {
            let Ok(line) = line else { break };
            match serde_json::from_slice::<Value>(&line) {
                Ok(message) if message.is_object() => self.take(&message),
                Ok(_) => self.error(&Value::Null, -32600),
                Err(_) if self.has("brittle") => return,
                Err(_) => self.error(&Value::Null, -32700),
            }
        }
        if self.has("stays") {
            std::thread::sleep(core::time::Duration::from_secs(1000));
        }
    }

    fn send(&self, message: &Value) {
        let mut out = std::io::stdout().lock();
        let times = if self.has("twice") && message.get("method").is_none() { 2 } else { 1 };
        for _ in 0..times {
            // A client that is gone is noticed when reading.
            let _ = writeln!(out, "{message}").and_then(|()| out.flush());
        }
    }

    fn answer(&self, id: &Value, result: Value) {
        let id = if self.has("text-ids") { json!(id.to_string()) } else { id.clone() };
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    fn error(&self, id: &Value, code: i64) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": "no" } }));
    }

    fn update(&self, session: &Value, update: Value) {
        let params = json!({ "sessionId": session, "update": update });
        self.send(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }));
    }

    fn say(&self, session: &Value, text: &str) {
        let content = json!({ "type": "text", "text": text });
        let message = format!("m{}", self.messages);
        let mut update = json!({ "sessionUpdate": "agent_message_chunk", "content": content });
        if self.second {
            update["messageId"] = json!(format!("{message}-answer"));
        }
        self.update(session, update);
    }

    fn take(&mut self, message: &Value) {
        let (id, params) = (message.get("id"), &message["params"]);
        match (message["method"].as_str(), id) {
            (Some("initialize"), Some(id)) if self.second && self.sessions > 0 => self.error(id, -32600),
            (Some("initialize"), Some(id)) => self.initialize(id, params),
            (Some("session/new"), Some(id)) if params["cwd"].is_string() && !(self.second && id.is_null()) => {
                self.sessions += 1;
                self.answer(id, json!({ "sessionId": format!("s{}", self.sessions) }));
            }
            (Some("session/prompt"), Some(id))
                if params["sessionId"].as_str().is_some_and(|id| id.starts_with('s') && !self.closed.contains(id)) =>
            {
                if self.second {
                    self.submit(id, params)
                } else {
                    self.prompt(id, params)
                }
            }
            (Some("session/cancel"), _) => self.cancel(),
            (Some("session/list"), Some(id)) if self.second => self.list(id),
            (Some("session/close"), Some(id)) if self.second => {
                self.cancel();
                self.closed.extend(params["sessionId"].as_str().map(str::to_owned));
                self.answer(id, json!({}));
            }
            (Some(_), Some(id)) => self.error(id, -32601),
            (Some(_), None) if self.has("answers") => self.error(&Value::Null, -32601),
            (Some(_), None) => {}
            (None, Some(_)) => self.permitted(message),
            (None, None) => self.error(&Value::Null, -32600),
        }
    }

    fn prompt(&mut self, id: &Value, params: &Value) {
        let session = params["sessionId"].clone();
        match params["prompt"][0]["text"].as_str() {
            Some("slow") => {
                self.say(&session, "…");
                self.slow = Some((id.clone(), session));
            }
            Some("permission") => {
                self.ask(&session);
                self.asking = Some((id.clone(), session));
            }
            _ => {
                self.say(&session, "Hello.");
                let reason = if core::mem::take(&mut self.leaked) { "cancelled" } else { "end_turn" };
                self.end(id, &session, reason);
            }
        }
    }

    /// Asks for permission to run a tool.
    fn ask(&self, session: &Value) {
        let kind = if self.second { "tool_call_update" } else { "tool_call" };
        let call = json!({ "toolCallId": "t", "title": "T", "status": "pending" });
        let mut update = call.clone();
        update["sessionUpdate"] = json!(kind);
        self.update(session, update);
        let options = json!([
            { "optionId": "yes", "name": "Yes", "kind": "allow_once" },
            { "optionId": "no", "name": "No", "kind": "reject_once" },
        ]);
        let mut params = json!({ "sessionId": session, "options": options });
        match self.second {
            true => {
                params["title"] = json!("T?");
                params["subject"] = json!({ "type": "tool_call", "toolCall": call });
            }
            false => params["toolCall"] = call,
        }
        self.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "session/request_permission", "params": params }));
    }

    fn cancel(&mut self) {
        let slow = self.slow.take();
        let asked = self.asking.take_if(|_| slow.is_none());
        if self.second && asked.is_some() && !self.has("keeps-asking") {
            let params = json!({ "requestId": 1 });
            self.send(&json!({ "jsonrpc": "2.0", "method": "$/cancel_request", "params": params }));
        }
        let Some((id, session)) = slow.or(asked) else {
            self.leaked = self.has("leaks");
            return;
        };
        for (id, _) in core::mem::take(&mut self.waiting) {
            self.error(&id, if self.has("drops") { -32603 } else { -32800 });
        }
        match self.fault.as_str() {
            "ignores" => self.end(&id, &session, "end_turn"),
            "fails" if self.second => self.end(&id, &session, "error"),
            "fails" => self.error(&id, -32603),
            "hangs" => {}
            _ => self.end(&id, &session, "cancelled"),
        }
        if self.has("talks") {
            self.say(&session, "one more thing");
        }
    }

    /// Ends a turn: by the answer to its prompt, or by the state of its session.
    fn end(&self, id: &Value, session: &Value, reason: &str) {
        match self.second {
            true => self.state(session, "idle", Some(reason)),
            false => self.answer(id, json!({ "stopReason": reason })),
        }
    }

    fn permitted(&mut self, answer: &Value) {
        // Of what is not asked, or void by now, nothing follows.
        let Some((id, session)) = self.asking.take_if(|_| answer["id"] == 1) else { return };
        let is_yes = answer["result"]["outcome"]["optionId"] == "yes" || self.has("trusting");
        let status = if is_yes { "completed" } else { "failed" };
        self.update(&session, json!({ "sessionUpdate": "tool_call_update", "toolCallId": "t", "status": status }));
        self.end(&id, &session, "end_turn");
    }
}

/// What only version 2 has.
impl Small {
    fn initialize(&mut self, id: &Value, params: &Value) {
        self.second = params["protocolVersion"].as_u64().is_some_and(|asked| asked >= 2) || self.has("higher");
        let second = params.get("info").is_some() || self.has("higher");
        self.second &= second;
        let info = json!({ "name": "small", "version": "1" });
        self.answer(
            id,
            match self.second {
                true => json!({ "protocolVersion": 2, "capabilities": { "session": {} }, "info": info }),
                false => json!({ "protocolVersion": 1, "agentCapabilities": {} }),
            },
        );
    }

    fn list(&self, id: &Value) {
        let open = (1..=self.sessions).map(|n| json!({ "sessionId": format!("s{n}"), "cwd": "/" }));
        self.answer(id, json!({ "sessions": open.collect::<Vec<_>>() }));
    }

    fn state(&self, session: &Value, state: &str, reason: Option<&str>) {
        let mut update = json!({ "sessionUpdate": "state_update", "state": state });
        if let Some(reason) = reason {
            update["stopReason"] = json!(reason);
        }
        if self.has("silent") && state == "running" {
            return;
        }
        self.update(session, update);
    }

    /// A prompt: it gets its place, or waits, or is none.
    fn submit(&mut self, id: &Value, params: &Value) {
        let key = params["idempotencyKey"].as_str();
        let blocks = params["prompt"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_text = |block: &Value| matches!(block["type"].as_str(), Some("text" | "resource_link"));
        let is_fine = !blocks.is_empty() && blocks.iter().all(is_text);
        if (!is_fine || key.is_some_and(|key| key.is_empty() || key.len() > 255)) && !self.has("takes-all") {
            return self.error(id, -32602);
        }
        if let Some(message) = key.and_then(|key| self.keys.get(key)).filter(|_| !self.has("forgetful")) {
            return self.answer(id, json!({ "messageId": message }));
        }
        if self.slow.is_some() || self.asking.is_some() {
            match self.has("refuses") {
                true => self.error(id, -32603),
                false => self.waiting.push((id.clone(), params.clone())),
            }
            return;
        }
        self.messages += 1;
        let message = format!("m{}", self.messages);
        self.keys.extend(key.map(|key| (key.to_owned(), message.clone())));
        self.answer(id, json!({ "messageId": message }));
        let session = &params["sessionId"];
        self.state(session, "running", None);
        if !self.has("untold") {
            let told = json!({ "sessionUpdate": "user_message", "messageId": message, "content": blocks });
            self.update(session, told);
        }
        self.prompt(id, params);
    }
}
