//! What is emitted, read with the types of the official schema: its envelope, and the params or the result of its method
//! in the version that was agreed on. The types are lenient, so nothing that was written may be lost in them either.
//!
//! Every connection on a bench is checked when it is dropped, by its recording. A test whose host says on purpose what
//! the schema does not have says so: [`may_emit`].

use core::cell::Cell;
use std::collections::BTreeMap;

use acp_core::wire::{Form, Method, MethodName};
use agent_client_protocol_schema::{MethodDispatchError, v1, v2};
use serde_json::Value;

/// What was read, written again.
type Read = Result<serde_json::Result<Value>, MethodDispatchError>;

macro_rules! typed {
    ($read:expr) => {
        $read.map(|read| serde_json::to_value(read))
    };
}

thread_local! {
    static ODD: Cell<bool> = const { Cell::new(false) };
}

/// From now on the connections of this test may emit what the schema does not have, for the reason that is given.
pub fn may_emit(why: &str) {
    assert!(!why.is_empty(), "say why");
    ODD.set(true);
}

/// One end, as its frames say it: which version is in force, and who waits for an answer.
#[derive(Debug)]
pub struct Reader {
    agent: bool,
    version: u64,
    /// The peer's open requests, by their ids as they were written.
    asked: BTreeMap<String, String>,
    /// Bytes that came, without a line break yet.
    begun: Vec<u8>,
}

/// Reads a recording.
///
/// # Panics
///
/// A frame is not as the schema says.
pub fn check(recording: &str) {
    if ODD.get() {
        return;
    }
    let mut lines = recording.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let agent = lines.next().is_some_and(|header| header["agent"] == true);
    let mut reader = Reader::new(agent);
    for line in lines {
        let text = line["bytes"].as_str();
        match (line["do"].as_str(), text) {
            (Some("transmit"), Some(text)) => {
                if let Err(why) = reader.said(text) {
                    panic!("{why}\n{text}\nin\n{recording}");
                }
            }
            (Some("input"), Some(text)) => reader.heard(text.as_bytes()),
            (Some("message"), Some(text)) => reader.heard(format!("{text}\n").as_bytes()),
            // Not UTF-8: no request that is answered with a result.
            (Some("input"), None) => reader.begun.push(0xff),
            _ => {}
        }
    }
}

/// Reads one line of an end, of which nothing else is known but the version in force. What a result answers is told by
/// what it says.
///
/// # Panics
///
/// It is not as the schema says.
pub fn alone(agent: bool, version: u16, line: &[u8]) {
    let line = core::str::from_utf8(line).expect("UTF-8");
    let message: Value = serde_json::from_str(line).expect("JSON");
    let mut reader = Reader { version: version.into(), ..Reader::new(agent) };
    let asked =
        if message["result"].get("outcome").is_some() { "session/request_permission" } else { "session/prompt" };
    reader.asked.insert(message["id"].to_string(), asked.to_owned());
    if let Err(why) = reader.said(line) {
        panic!("{why}\n{line}");
    }
}

impl Reader {
    /// An end on whose connection nothing has happened.
    #[must_use]
    pub const fn new(agent: bool) -> Self {
        Self { agent, version: 0, asked: BTreeMap::new(), begun: Vec::new() }
    }

    /// Bytes came.
    pub fn heard(&mut self, bytes: &[u8]) {
        self.begun.extend_from_slice(bytes);
        while let Some(end) = self.begun.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.begun.drain(..=end).collect();
            match serde_json::from_slice(line.trim_ascii().trim_prefix_bom()) {
                Ok(Value::Array(batch)) => batch.iter().for_each(|message| self.note(message)),
                Ok(message) => self.note(&message),
                Err(_) => {}
            }
        }
    }

    fn note(&mut self, message: &Value) {
        if let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) {
            // The first one keeps it.
            self.asked.entry(id.to_string()).or_insert_with(|| method.to_owned());
        }
        // A client learns the version from the answer; nothing else has this member.
        if let (false, Some(version)) = (self.agent, message["result"]["protocolVersion"].as_u64()) {
            self.version = version;
        }
    }

    /// A line went out.
    ///
    /// # Errors
    ///
    /// What the schema says against it.
    pub fn said(&mut self, line: &str) -> Result<(), String> {
        let text = line.strip_suffix('\n').ok_or("no line break")?;
        let read = match serde_json::from_str(text) {
            Ok(read) => read,
            // The peer's own id, said again: half a surrogate pair is a string of JSON, and none of Rust's.
            Err(_) if text.starts_with(r#"{"jsonrpc":"2.0","id":"\ud"#) => return Ok(()),
            Err(why) => return Err(why.to_string()),
        };
        match read {
            Value::Array(batch) if batch.is_empty() => Err("an empty batch".to_owned()),
            Value::Array(batch) => batch.into_iter().try_for_each(|message| self.message(message)),
            message => self.message(message),
        }
    }

    fn message(&mut self, mut message: Value) -> Result<(), String> {
        let members = message.as_object_mut().ok_or("a message is an object")?;
        if members.remove("jsonrpc") != Some("2.0".into()) {
            return Err("`jsonrpc` must be \"2.0\"".to_owned());
        }
        let [id, method, params, result, error] =
            ["id", "method", "params", "result", "error"].map(|name| members.remove(name));
        if !members.is_empty() {
            return Err(format!("no message has these members: {members:?}"));
        }
        let id = id.map(|id| id.to_string());
        match (method, id, params, result, error) {
            (Some(Value::String(method)), id, params, None, None) => self.call(&method, id.as_deref(), params),
            (None, Some(id), None, Some(result), None) => self.result(&id, result),
            (None, Some(id), None, None, Some(error)) => {
                self.asked.remove(&id);
                self.error(error)
            }
            _ => Err("neither a request nor a notification nor a response".to_owned()),
        }
    }

    fn call(&mut self, method: &str, id: Option<&str>, params: Option<Value>) -> Result<(), String> {
        if method == "initialize" {
            self.version = params.as_ref().map_or(0, |params| params["protocolVersion"].as_u64().unwrap_or(0));
        }
        let params = params.unwrap_or(Value::Null);
        if id.is_some_and(|id| id.parse::<u64>().is_err()) {
            return Err("an id of ours is a number".to_owned());
        }
        if method == "$/cancel_request" {
            let read = serde_json::from_value::<v1::CancelRequestNotification>(params.clone());
            return kept(&params, read.as_ref().map(serde_json::to_value).map_err(ToString::to_string));
        }
        let read = match (self.second(), self.agent, id.is_some()) {
            (false, true, true) => typed!(v1::AgentRequest::from_method_and_params(method, &params)),
            (false, true, false) => typed!(v1::AgentNotification::from_method_and_params(method, &params)),
            (false, false, true) => typed!(v1::ClientRequest::from_method_and_params(method, &params)),
            (false, false, false) => typed!(v1::ClientNotification::from_method_and_params(method, &params)),
            (true, true, true) => typed!(v2::AgentRequest::from_method_and_params(method, &params)),
            (true, true, false) => typed!(v2::AgentNotification::from_method_and_params(method, &params)),
            (true, false, true) => typed!(v2::ClientRequest::from_method_and_params(method, &params)),
            (true, false, false) => typed!(v2::ClientNotification::from_method_and_params(method, &params)),
        };
        known(method, &params, read)
    }

    fn result(&mut self, id: &str, result: Value) -> Result<(), String> {
        // What cannot be read here may be a request to the core, which takes more.
        let Some(method) = self.asked.remove(id) else { return Ok(()) };
        if self.agent && method == "initialize" {
            self.version = result["protocolVersion"].as_u64().ok_or("`protocolVersion` is no integer")?;
        }
        let read = match (self.second(), self.agent) {
            (false, true) => typed!(v1::AgentResponse::from_method_and_result(&method, result.clone())),
            (false, false) => typed!(v1::ClientResponse::from_method_and_result(&method, result.clone())),
            (true, true) => typed!(v2::AgentResponse::from_method_and_result(&method, result.clone())),
            (true, false) => typed!(v2::ClientResponse::from_method_and_result(&method, result.clone())),
        };
        known(&method, &result, read)
    }

    fn error(&self, error: Value) -> Result<(), String> {
        let read = if self.second() {
            serde_json::from_value::<v2::Error>(error.clone()).map(serde_json::to_value)
        } else {
            serde_json::from_value::<v1::Error>(error.clone()).map(serde_json::to_value)
        };
        kept(&error, read.map_err(|why| why.to_string()))
    }

    const fn second(&self) -> bool {
        self.version >= 2
    }
}

/// A method that neither we nor the schema know is its host's; and a notification that came as a request is answered.
fn known(method: &str, written: &Value, read: Read) -> Result<(), String> {
    let spec = MethodName::new(method).known().map(Method::spec);
    let beyond = spec.is_none_or(|spec| spec.form == Form::Either && written.is_null());
    match read {
        Err(MethodDispatchError::UnknownMethod { .. }) if beyond => Ok(()),
        read => kept(written, read.map_err(|why| why.to_string())).map_err(|why| format!("{method}: {why}")),
    }
}

/// What was written is what was read.
fn kept(written: &Value, read: Result<serde_json::Result<Value>, String>) -> Result<(), String> {
    let read = read?.map_err(|why| why.to_string())?;
    within(written, &read).map_err(|path| format!("`{path}` is not in the schema: it read {read}"))
}

/// Whether all of `written` is in `read`; else where it is not.
fn within(written: &Value, read: &Value) -> Result<(), String> {
    match (written, read) {
        (Value::Object(written), Value::Object(read)) => {
            written.iter().try_for_each(|(name, value)| match read.get(name) {
                Some(read) => within(value, read).map_err(|path| format!(".{name}{path}")),
                None if says_nothing(name, value) => Ok(()),
                None => Err(format!(".{name}")),
            })
        }
        (Value::Array(written), Value::Array(read)) if written.len() == read.len() => {
            written.iter().zip(read).enumerate().try_for_each(|(index, (written, read))| {
                within(written, read).map_err(|path| format!("[{index}]{path}"))
            })
        }
        (Value::Null, Value::Object(read)) if read.is_empty() => Ok(()),
        (written, read) if written == read => Ok(()),
        _ => Err(String::new()),
    }
}

/// What the types leave out when they are written, because it is what its absence says.
fn says_nothing(name: &str, value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(all) => all.is_empty(),
        Value::Object(all) => all.is_empty(),
        Value::String(text) => matches!((name, text.as_str()), ("status", "pending") | ("kind", "other")),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

trait TrimBom {
    fn trim_prefix_bom(&self) -> &Self;
}

impl TrimBom for [u8] {
    fn trim_prefix_bom(&self) -> &Self {
        self.strip_prefix("\u{feff}".as_bytes()).unwrap_or(self)
    }
}
