//! An agent for the runner of the conformance checks to find fault with: without arguments the echo agent, which is good;
//! with the name of a fault a small one that has it.

use std::{
    io::{BufRead as _, Write as _},
    process::ExitCode,
};

use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match std::env::args().nth(1) {
        None => acp_examples::echo::serve(acp_examples::echo::Options::default()).await,
        Some(fault) => {
            Small { fault, sessions: 0, slow: None, asking: None, leaked: false }.run();
            ExitCode::SUCCESS
        }
    }
}

/// An agent that does one thing at a time.
struct Small {
    fault: String,
    sessions: u64,
    /// The prompt that runs until it is cancelled, and its session.
    slow: Option<(Value, Value)>,
    /// The prompt that waits for a permission, and its session.
    asking: Option<(Value, Value)>,
    /// A cancel that hits the next turn.
    leaked: bool,
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
        self.update(session, json!({ "sessionUpdate": "agent_message_chunk", "content": content }));
    }

    fn take(&mut self, message: &Value) {
        let (id, params) = (message.get("id"), &message["params"]);
        match (message["method"].as_str(), id) {
            (Some("initialize"), Some(id)) => self.answer(id, json!({ "protocolVersion": 1, "agentCapabilities": {} })),
            (Some("session/new"), Some(id)) if params["cwd"].is_string() => {
                self.sessions += 1;
                self.answer(id, json!({ "sessionId": format!("s{}", self.sessions) }));
            }
            (Some("session/prompt"), Some(id))
                if params["sessionId"].as_str().is_some_and(|id| id.starts_with('s')) =>
            {
                self.prompt(id, params);
            }
            (Some("session/cancel"), _) => self.cancel(),
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
                self.update(
                    &session,
                    json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "title": "T", "status": "pending" }),
                );
                let options = json!([
                    { "optionId": "yes", "name": "Yes", "kind": "allow_once" },
                    { "optionId": "no", "name": "No", "kind": "reject_once" },
                ]);
                let params = json!({ "sessionId": session, "toolCall": { "toolCallId": "t" }, "options": options });
                self.send(
                    &json!({ "jsonrpc": "2.0", "id": 1, "method": "session/request_permission", "params": params }),
                );
                self.asking = Some((id.clone(), session));
            }
            _ => {
                self.say(&session, "Hello.");
                let reason = if core::mem::take(&mut self.leaked) { "cancelled" } else { "end_turn" };
                self.answer(id, json!({ "stopReason": reason }));
            }
        }
    }

    fn cancel(&mut self) {
        let Some((id, session)) = self.slow.take().or_else(|| self.asking.take()) else {
            self.leaked = self.has("leaks");
            return;
        };
        match self.fault.as_str() {
            "ignores" => self.answer(&id, json!({ "stopReason": "end_turn" })),
            "fails" => self.error(&id, -32603),
            _ => self.answer(&id, json!({ "stopReason": "cancelled" })),
        }
        if self.has("talks") {
            self.say(&session, "one more thing");
        }
    }

    fn permitted(&mut self, answer: &Value) {
        // Of what is not asked, or void by now, nothing follows.
        let Some((id, session)) = self.asking.take_if(|_| answer["id"] == 1) else { return };
        let is_yes = answer["result"]["outcome"]["optionId"] == "yes" || self.has("trusting");
        let status = if is_yes { "completed" } else { "failed" };
        self.update(&session, json!({ "sessionUpdate": "tool_call_update", "toolCallId": "t", "status": status }));
        self.answer(&id, json!({ "stopReason": "end_turn" }));
    }
}
