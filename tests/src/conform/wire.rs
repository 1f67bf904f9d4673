//! One end of a connection as raw lines: it sends whatever it is told, correct or not, and writes down all that passes.

use core::time::Duration;
use std::{
    io::{ErrorKind, Read, Write},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::Instant,
};

use acp_core::Side;
use acp_examples::trace::Recorder;
use serde_json::{Value, json};

use super::Stop;

/// How requests of the other side are answered while something else is waited for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Policy {
    /// Permissions: the first option whose kind begins with this; everything else: method not found.
    Permit(&'static str),
    /// Permissions with this result, as it stands.
    Result(Value),
    /// Not at all.
    Hold,
}

/// One end.
pub(super) struct Wire {
    me: Side,
    out: Option<Sender<Vec<u8>>>,
    lines: Receiver<String>,
    recorder: Recorder,
    pub(super) timeout: Duration,
    pub(super) policy: Policy,
    last: u64,
    /// All messages that came, in order.
    pub(super) heard: Vec<Value>,
    /// Up to where `wait` has looked.
    looked: usize,
    pub(super) over: bool,
}

impl Wire {
    pub(super) fn new(
        me: Side,
        mut reader: impl Read + Send + 'static,
        mut writer: impl Write + Send + 'static,
        recorder: Recorder,
        timeout: Duration,
    ) -> Self {
        let (sender, lines) = channel();
        let (out, bytes) = channel::<Vec<u8>>();
        let (told, peer) = (recorder.clone(), if me == Side::Client { Side::Agent } else { Side::Client });
        thread::spawn(move || {
            let (mut piece, mut line) = (vec![0; 64 << 10], Vec::new());
            loop {
                let read = match reader.read(&mut piece) {
                    Ok(0) => break,
                    Ok(read) => read,
                    Err(why) if why.kind() == ErrorKind::Interrupted => continue,
                    Err(_) => break,
                };
                let bytes = piece.get(..read).unwrap_or_default();
                told.feed(peer, bytes);
                line.extend_from_slice(bytes);
                while let Some(end) = line.iter().position(|byte| *byte == b'\n') {
                    let rest = line.split_off(end + 1);
                    let said = String::from_utf8_lossy(&line).into_owned();
                    line = rest;
                    if sender.send(said).is_err() {
                        return;
                    }
                }
            }
            told.end(peer, "end of file");
        });
        // Writing never holds up reading: whoever does not read must not make this one deaf.
        thread::spawn(move || {
            while let Ok(bytes) = bytes.recv() {
                if writer.write_all(&bytes).and_then(|()| writer.flush()).is_err() {
                    return;
                }
            }
        });
        Self {
            me,
            out: Some(out),
            lines,
            recorder,
            timeout,
            policy: Policy::Permit("allow"),
            last: 0,
            heard: Vec::new(),
            looked: 0,
            over: false,
        }
    }

    /// Sends these bytes.
    pub(super) fn raw(&mut self, bytes: impl Into<Vec<u8>>) {
        let bytes = bytes.into();
        // Written down first: an answer must not overtake its request in the trace.
        self.recorder.feed(self.me, &bytes);
        if let Some(out) = &self.out {
            let _ = out.send(bytes);
        }
    }

    pub(super) fn send(&mut self, message: &Value) {
        self.raw(format!("{message}\n"));
    }

    pub(super) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Asks, and gives the id.
    pub(super) fn post(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let id = json!(self.last);
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    pub(super) fn answer(&mut self, id: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    pub(super) fn refuse(&mut self, id: &Value, code: i64) {
        let error = json!({ "code": code, "message": "not here" });
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
    }

    /// Asks, and waits for the answer, which may be an error.
    pub(super) fn ask(&mut self, method: &str, params: Value) -> Result<Value, Stop> {
        let id = self.post(method, params);
        self.response(&id)
    }

    /// Asks, and waits for a result.
    pub(super) fn result(&mut self, method: &str, params: Value) -> Result<Value, Stop> {
        let answer = self.ask(method, params)?;
        match answer.get("result") {
            Some(result) => Ok(result.clone()),
            None => Err(format!("`{method}` is answered {}", answer["error"]).into()),
        }
    }

    /// The answer to a request of ours, which may have come already.
    pub(super) fn response(&mut self, id: &Value) -> Result<Value, Stop> {
        let is_it = |message: &Value| message.get("method").is_none() && message.get("id") == Some(id);
        if let Some(found) = self.heard.iter().find(|message| is_it(message)) {
            return Ok(found.clone());
        }
        self.wait(&format!("an answer to request {id}"), is_it)
    }

    /// The next message of which this holds.
    pub(super) fn wait(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Result<Value, Stop> {
        let deadline = self.deadline();
        loop {
            while let Some(message) = self.heard.get(self.looked) {
                self.looked += 1;
                if is_it(message) {
                    return Ok(message.clone());
                }
            }
            self.more(what, deadline)?;
        }
    }

    /// Until when an answer may take, from now on.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.timeout
    }

    /// Hears one line more; an error, if none comes in time.
    pub(super) fn more(&mut self, what: &str, deadline: Instant) -> Result<(), Stop> {
        if self.hear(deadline) {
            return Ok(());
        }
        let why = if self.over { "the stream ended" } else { "nothing came in time" };
        Err(format!("{why}, but {what} was due").into())
    }

    /// What comes for this long.
    pub(super) fn quiet(&mut self, long: Duration) -> Vec<Value> {
        let (before, deadline) = (self.heard.len(), Instant::now() + long);
        while self.hear(deadline) {}
        self.heard.get(before..).unwrap_or_default().to_vec()
    }

    /// Takes the next line. `false`: none came, or none comes any more.
    fn hear(&mut self, deadline: Instant) -> bool {
        let line = match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => return false,
            Err(RecvTimeoutError::Disconnected) => {
                self.over = true;
                return false;
            }
        };
        // What is no message is the linter's to tell.
        match serde_json::from_str(&line) {
            Ok(Value::Array(messages)) => messages.into_iter().for_each(|message| self.take(message)),
            Ok(message) => self.take(message),
            Err(_) => {}
        }
        true
    }

    fn take(&mut self, message: Value) {
        if let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) {
            let (id, is_permission) = (id.clone(), method == "session/request_permission");
            match (&self.policy, is_permission && self.me == Side::Client) {
                (Policy::Hold, _) => {}
                (Policy::Permit(kind), true) => {
                    let options = message["params"]["options"].as_array();
                    let fits = |option: &&Value| option["kind"].as_str().is_some_and(|it| it.starts_with(kind));
                    let option = options.and_then(|options| options.iter().find(fits).or(options.first()));
                    let outcome = match option {
                        Some(option) => json!({ "outcome": "selected", "optionId": option["optionId"] }),
                        None => json!({ "outcome": "cancelled" }),
                    };
                    self.answer(&id, json!({ "outcome": outcome }));
                }
                (Policy::Result(result), true) => {
                    let result = result.clone();
                    self.answer(&id, result);
                }
                (_, false) if self.me == Side::Client => self.refuse(&id, -32601),
                // A scripted agent answers by its script.
                (_, false) => {}
            }
        }
        self.heard.push(message);
    }

    /// Ends what we send.
    pub(super) fn close(&mut self) {
        if self.out.is_some() {
            // Written down first: the other side may be quick to end, too.
            self.recorder.end(self.me, "closed");
            self.out = None;
        }
    }
}
