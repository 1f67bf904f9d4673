//! The agent under test, and the client that drives it, in either version of the protocol.

use core::{
    ops::{Deref, DerefMut},
    time::Duration,
};
use std::{
    process::{Child, Command, Stdio},
    time::Instant,
};

use acp_core::Side;
use acp_examples::trace::Recorder;
use serde_json::{Value, json};

use super::{Setup, Stop, wire::Wire};

/// How long an agent may take to go once its stdin is closed.
const GRACE: Duration = Duration::from_secs(5);
/// How long the output of an agent that is gone may take to end.
const LEFT: Duration = Duration::from_secs(2);

/// A client that can say whatever it likes to one agent.
pub(super) struct Peer<'a> {
    wire: Wire,
    child: Child,
    pub(super) setup: &'a Setup,
    /// The result of `initialize`.
    pub(super) hello: Value,
}

/// A turn that was begun.
pub(super) struct Turn {
    /// The id of its prompt.
    pub(super) id: Value,
    session: String,
    /// How much had been heard before.
    before: usize,
}

impl Deref for Peer<'_> {
    type Target = Wire;

    fn deref(&self) -> &Wire {
        &self.wire
    }
}

impl DerefMut for Peer<'_> {
    fn deref_mut(&mut self) -> &mut Wire {
        &mut self.wire
    }
}

impl<'a> Peer<'a> {
    pub(super) fn start(setup: &'a Setup, recorder: Recorder) -> Result<Self, Stop> {
        let (program, arguments) = setup.command.split_first().ok_or("there is no command")?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&setup.cwd);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(|why| format!("it cannot be started: {why}"))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("it has no pipes".into());
        };
        let wire = Wire::new(Side::Client, stdout, stdin, recorder, setup.timeout);
        Ok(Self { wire, child, setup, hello: Value::Null })
    }

    /// Whether version 2 is checked.
    pub(super) const fn is_v2(&self) -> bool {
        self.setup.version >= 2
    }

    /// The params of `initialize` that ask for this version.
    pub(super) fn greeting(&self, version: u64) -> Value {
        let info = json!({ "name": "conform", "version": env!("CARGO_PKG_VERSION") });
        match self.is_v2() {
            true => json!({ "protocolVersion": version, "capabilities": {}, "info": info }),
            false => json!({ "protocolVersion": version, "clientCapabilities": {} }),
        }
    }

    /// Initializes the connection.
    pub(super) fn initialize(&mut self) -> Result<(), Stop> {
        let version = u64::from(self.setup.version);
        let greeting = self.greeting(version);
        self.hello = self.result("initialize", greeting)?;
        if self.hello["protocolVersion"] != version && self.is_v2() {
            return Err(Stop::Skip("it does not speak version 2".to_owned()));
        }
        if let Some(auth) = &self.setup.auth {
            let params = json!({ "methodId": auth });
            let method = if self.is_v2() { "auth/login" } else { "authenticate" };
            self.result(method, params)?;
        }
        Ok(())
    }

    /// Initializes the connection, and opens a session.
    pub(super) fn open(&mut self) -> Result<String, Stop> {
        self.initialize()?;
        self.session()
    }

    /// The parameters of a new session.
    pub(super) fn place(&self) -> Value {
        json!({ "cwd": self.setup.cwd, "mcpServers": [] })
    }

    /// Opens one more session.
    pub(super) fn session(&mut self) -> Result<String, Stop> {
        let place = self.place();
        let opened = self.result("session/new", place)?;
        Ok(opened["sessionId"].as_str().ok_or("`session/new` names no session")?.to_owned())
    }

    /// Whether a capability is offered, by its path in the `agentCapabilities` of version 1. In version 2 most of them come
    /// with `session`.
    pub(super) fn offers(&self, path: &str) -> Result<(), Stop> {
        let path = match (self.is_v2(), path) {
            (false, path) => format!("/agentCapabilities/{path}"),
            (
                true,
                "loadSession" | "sessionCapabilities/resume" | "sessionCapabilities/list" | "sessionCapabilities/close",
            ) => "/capabilities/session".to_owned(),
            (true, path) => format!("/capabilities/{}", path.replace("sessionCapabilities", "session")),
        };
        match self.hello.pointer(&path) {
            Some(Value::Null | Value::Bool(false)) | None => Err(Stop::Skip(format!("it does not offer `{path}`"))),
            Some(_) => Ok(()),
        }
    }

    /// Asks for a stored session with its history.
    pub(super) fn restore(&mut self, session: &str) -> Result<Value, Stop> {
        let mut stored = self.place();
        stored["sessionId"] = json!(session);
        if self.is_v2() {
            stored["replayFrom"] = json!({ "type": "start" });
        }
        let method = if self.is_v2() { "session/resume" } else { "session/load" };
        self.ask(method, stored)
    }

    /// Begins a turn.
    pub(super) fn start_turn(&mut self, session: &str, text: &str) -> Turn {
        self.start_with(session, json!([{ "type": "text", "text": text }]))
    }

    /// Begins a turn with this content.
    pub(super) fn start_with(&mut self, session: &str, prompt: Value) -> Turn {
        self.start_as(json!({ "sessionId": session, "prompt": prompt }))
    }

    /// Begins a turn with these params.
    pub(super) fn start_as(&mut self, params: Value) -> Turn {
        let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
        let before = self.heard.len();
        Turn { id: self.post("session/prompt", params), session, before }
    }

    /// Runs the prompt that is answered in a moment. Gives the stop reason.
    pub(super) fn turn(&mut self, session: &str) -> Result<String, Stop> {
        let turn = self.start_turn(session, &self.setup.prompt.clone());
        self.reason(&turn)
    }

    /// The stop reason of a turn: in version 1 the answer to its prompt, in version 2 the state that ends its work.
    pub(super) fn reason(&mut self, turn: &Turn) -> Result<String, Stop> {
        let answer = self.response(&turn.id)?;
        let result = &answer["result"];
        match (self.is_v2(), result["stopReason"].as_str(), result["messageId"].as_str()) {
            (false, Some(reason), _) => Ok(reason.to_owned()),
            (true, _, Some(_)) => self.rest(turn),
            // A prompt that was cancelled before it had its place.
            (true, ..) if answer["error"]["code"] == -32800 => Ok("cancelled".to_owned()),
            _ => Err(format!("the prompt is answered {answer}").into()),
        }
    }

    /// Version 2: why the work ended that was begun after the prompt of this turn was sent.
    fn rest(&mut self, turn: &Turn) -> Result<String, Stop> {
        let (mut at, mut is_begun) = (turn.before, false);
        let deadline = self.deadline();
        loop {
            while let Some(said) = self.heard.get(at) {
                at += 1;
                let params = &said["params"];
                match params["update"]["state"].as_str().filter(|_| params["sessionId"] == turn.session.as_str()) {
                    Some("idle") if is_begun => {
                        let reason = params["update"]["stopReason"].as_str();
                        return reason.map(str::to_owned).ok_or_else(|| "`idle` has no stop reason".into());
                    }
                    Some("idle") | None => {}
                    Some(_) => is_begun = true,
                }
            }
            self.more("the state `idle`, behind another", deadline)?;
        }
    }

    /// Whether a turn is over, by what was heard of it so far.
    pub(super) fn is_over(&self, turn: &Turn) -> bool {
        let heard = self.heard.get(turn.before..).unwrap_or_default();
        heard.iter().any(|said| {
            let params = &said["params"];
            let is_answer = said.get("method").is_none() && said["id"] == turn.id;
            let is_idle = params["update"]["state"] == "idle" && params["sessionId"] == turn.session.as_str();
            if self.is_v2() { is_idle || (is_answer && said["error"].is_object()) } else { is_answer }
        })
    }

    /// Waits until everything that was sent so far was read, and whatever it brought at once was heard: by a request that
    /// nobody knows, and its answer.
    pub(super) fn fence(&mut self) -> Result<(), Stop> {
        self.ask("_conform/fence", json!({})).map(drop)
    }

    /// Begins the turn that streams for long, and waits until it does.
    pub(super) fn slow_turn(&mut self, session: &str) -> Result<Turn, Stop> {
        let text = self.setup.slow.clone();
        let text = text.ok_or_else(|| Stop::Skip("--slow names no prompt that streams for long".to_owned()))?;
        let turn = self.start_turn(session, &text);
        if self.is_v2() {
            // It has its place, from where only a cancel of its session reaches it.
            self.response(&turn.id)?;
        }
        let session = session.to_owned();
        let is_v2 = self.is_v2();
        self.wait("an update of the turn", move |message| {
            let kind = message["params"]["update"]["sessionUpdate"].as_str().unwrap_or_default();
            let is_output = !is_v2 || kind.starts_with("agent_") || kind.starts_with("tool_call");
            is_output && message["method"] == "session/update" && message["params"]["sessionId"] == session
        })?;
        Ok(turn)
    }

    /// Begins the turn that asks for permission, and waits until it has. Gives the turn and the request.
    pub(super) fn permission_turn(&mut self, session: &str) -> Result<(Turn, Value), Stop> {
        let text = self.setup.permission.clone();
        let text = text.ok_or_else(|| Stop::Skip("--permission names no prompt that asks for one".to_owned()))?;
        let turn = self.start_turn(session, &text);
        let asked = self.wait("a permission request", |message| message["method"] == "session/request_permission")?;
        Ok((turn, asked))
    }

    pub(super) fn cancel(&mut self, session: &str) {
        self.notify("session/cancel", json!({ "sessionId": session }));
    }

    /// Whether the connection is still of use.
    pub(super) fn is_usable(&mut self) -> Result<(), Stop> {
        let is_usable = self.session();
        is_usable.map(drop).map_err(|why| match why {
            Stop::Fail(why) => Stop::Fail(format!("the connection is of no use afterwards: {why}")),
            skip @ Stop::Skip(_) => skip,
        })
    }

    /// Closes its stdin, and waits until it is gone.
    pub(super) fn end(&mut self) -> Result<(), Stop> {
        self.close();
        let deadline = Instant::now() + GRACE;
        while self.child.try_wait().ok().flatten().is_none() {
            if Instant::now() > deadline {
                return Err(format!("it is still there {} s after its stdin was closed", GRACE.as_secs()).into());
            }
            self.quiet(Duration::from_millis(5));
            if self.over {
                // Its stdout is closed, which says nothing about itself.
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        // What it had said is still to be read, to the end; but what it left behind may keep its stdout open.
        let deadline = Instant::now() + LEFT;
        while !self.over && Instant::now() < deadline {
            self.quiet(Duration::from_millis(5));
        }
        Ok(())
    }
}

/// Nothing of it stays, whatever it started.
impl Drop for Peer<'_> {
    fn drop(&mut self) {
        end_group(&mut self.child);
    }
}

pub(super) fn end_group(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}
