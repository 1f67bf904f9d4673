//! The agent under test, and the client that drives it.

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

use super::{About, Done, Outcome, Setup, Stop, agent_sessions, agent_turns, agent_wire, lint, wire::Wire};

/// How long an agent may take to go once its stdin is closed.
const GRACE: Duration = Duration::from_secs(5);
/// How long the output of an agent that is gone may take to end.
const LEFT: Duration = Duration::from_secs(2);
/// How long one listens to hear nothing.
pub(super) const QUIET: Duration = Duration::from_millis(300);

/// A check of an agent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Check {
    pub(super) about: About,
    pub(super) run: fn(&mut Peer<'_>) -> Outcome,
}

/// A client that can say whatever it likes to one agent.
pub(super) struct Peer<'a> {
    wire: Wire,
    child: Child,
    pub(super) setup: &'a Setup,
    /// The result of `initialize`.
    pub(super) hello: Value,
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

/// All checks of agents, in order.
fn all() -> impl Iterator<Item = Check> {
    [agent_wire::CHECKS, agent_sessions::CHECKS, agent_turns::CHECKS].into_iter().flatten().copied()
}

/// What checks there are.
pub fn list() -> Vec<About> {
    all().map(|check| check.about).collect()
}

/// Runs all checks that are wanted, and tells each when it is done.
pub fn run(setup: &Setup, mut told: impl FnMut(&Done)) -> Vec<Done> {
    let wanted = all().filter(|check| setup.wants(&check.about));
    wanted
        .map(|check| {
            let started = Instant::now();
            let outcome = one(setup, &check);
            let done = Done { about: check.about, outcome, took: started.elapsed() };
            told(&done);
            done
        })
        .collect()
}

fn one(setup: &Setup, check: &Check) -> Outcome {
    let (trace, is_kept) = setup.trace(&check.about);
    let recorder = Recorder::create(&trace, Side::Client, "conform", true).map_err(|why| why.to_string())?;
    let outcome = Peer::start(setup, recorder).and_then(|mut peer| {
        let outcome = (check.run)(&mut peer);
        let gone = peer.end();
        // What the check says comes first: it is about its rule.
        outcome.and_then(|remark| gone.map(|()| remark))
    });
    let outcome = outcome.and_then(|remark| lint(&trace, Side::Agent, &check.about).map(|()| remark));
    if !is_kept {
        let _ = std::fs::remove_file(trace);
    }
    outcome
}

impl<'a> Peer<'a> {
    fn start(setup: &'a Setup, recorder: Recorder) -> Result<Self, Stop> {
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

    /// Initializes the connection.
    pub(super) fn initialize(&mut self) -> Result<(), Stop> {
        self.hello = self.result("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} }))?;
        if let Some(auth) = &self.setup.auth {
            let params = json!({ "methodId": auth });
            self.result("authenticate", params)?;
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

    /// Whether a capability is offered, by its path in `agentCapabilities`.
    pub(super) fn offers(&self, path: &str) -> Result<(), Stop> {
        let value = self.hello.pointer(&format!("/agentCapabilities/{path}"));
        match value {
            Some(Value::Null | Value::Bool(false)) | None => Err(Stop::Skip(format!("it does not offer `{path}`"))),
            Some(_) => Ok(()),
        }
    }

    /// Begins a turn.
    pub(super) fn start_turn(&mut self, session: &str, text: &str) -> Value {
        let prompt = json!([{ "type": "text", "text": text }]);
        self.post("session/prompt", json!({ "sessionId": session, "prompt": prompt }))
    }

    /// Runs the prompt that is answered in a moment. Gives the stop reason.
    pub(super) fn turn(&mut self, session: &str) -> Result<String, Stop> {
        let id = self.start_turn(session, &self.setup.prompt.clone());
        self.reason(&id)
    }

    /// The stop reason of a turn.
    pub(super) fn reason(&mut self, id: &Value) -> Result<String, Stop> {
        let answer = self.response(id)?;
        match answer["result"]["stopReason"].as_str() {
            Some(reason) => Ok(reason.to_owned()),
            None => Err(format!("the prompt is answered {answer}").into()),
        }
    }

    /// Begins the turn that streams for long, and waits until it does.
    pub(super) fn slow_turn(&mut self, session: &str) -> Result<Value, Stop> {
        let text = self.setup.slow.clone();
        let text = text.ok_or_else(|| Stop::Skip("--slow names no prompt that streams for long".to_owned()))?;
        let id = self.start_turn(session, &text);
        let session = session.to_owned();
        self.wait("an update of the turn", move |message| {
            message["method"] == "session/update" && message["params"]["sessionId"] == session
        })?;
        Ok(id)
    }

    /// Begins the turn that asks for permission, and waits until it has. Gives the prompt's id and the request.
    pub(super) fn permission_turn(&mut self, session: &str) -> Result<(Value, Value), Stop> {
        let text = self.setup.permission.clone();
        let text = text.ok_or_else(|| Stop::Skip("--permission names no prompt that asks for one".to_owned()))?;
        let id = self.start_turn(session, &text);
        let asked = self.wait("a permission request", |message| message["method"] == "session/request_permission")?;
        Ok((id, asked))
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
    fn end(&mut self) -> Result<(), Stop> {
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
