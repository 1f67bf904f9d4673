//! The client under test, and the agent that it starts: a scene that this program plays in a process of its own.

use core::{
    ops::{Deref, DerefMut},
    time::Duration,
};
use std::{
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    thread,
    time::Instant,
};

use acp_core::Side;
use acp_examples::trace::Recorder;
use serde_json::{Value, json};

use super::{About, Done, Outcome, Setup, Stop, client_scenes, lint, peer::end_group, wire::Wire};

/// The session of every scene.
pub(super) const SESSION: &str = "conform-1";
/// The place of the agent's command in that of the client.
const PLACE: &str = "{agent}";

/// A check of a client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene {
    pub(super) about: About,
    pub(super) play: fn(&mut Stage) -> Outcome,
}

/// An agent that can say whatever it likes to one client.
pub(super) struct Stage {
    wire: Wire,
    /// The params of `initialize`.
    pub(super) hello: Value,
}

impl Deref for Stage {
    type Target = Wire;

    fn deref(&self) -> &Wire {
        &self.wire
    }
}

impl DerefMut for Stage {
    fn deref_mut(&mut self) -> &mut Wire {
        &mut self.wire
    }
}

/// What checks there are.
#[must_use]
pub fn list() -> Vec<About> {
    client_scenes::SCENES.iter().map(|scene| scene.about).collect()
}

/// Runs all checks that are wanted, and tells each when it is done. `player` is the command that [`play`]s: the name of the
/// scene, the file for the trace and the timeout in milliseconds are appended.
pub fn run(setup: &Setup, player: &[OsString], mut told: impl FnMut(&Done)) -> Vec<Done> {
    let wanted = client_scenes::SCENES.iter().filter_map(|scene| Some((scene, setup.wants(&scene.about)?)));
    wanted
        .map(|(scene, place)| {
            let started = Instant::now();
            let outcome = one(setup, player, &scene.about);
            let done = Done { about: scene.about, place, outcome, took: started.elapsed() };
            told(&done);
            done
        })
        .collect()
}

fn one(setup: &Setup, player: &[OsString], about: &About) -> Outcome {
    let (trace, is_kept) = setup.trace(about);
    let verdict = verdict(&trace);
    let _ = fs::remove_file(&verdict);
    let mut agent = player.to_vec();
    agent.extend([about.id.into(), trace.clone().into(), setup.timeout.as_millis().to_string().into()]);
    let ended = client(setup, agent);
    let said = fs::read_to_string(&verdict).ok();
    let _ = fs::remove_file(&verdict);
    let outcome = match (said, ended) {
        (Some(said), ended) => read(&said).and_then(|remark| ended.map(|_| remark)),
        (None, Ok(status)) => {
            Err(Stop::Fail(format!("it ended ({status}) before the scene was over, or never started its agent")))
        }
        (None, Err(why)) => Err(why),
    };
    let outcome = outcome.and_then(|remark| lint(&trace, Side::Client, about).map(|()| remark));
    if !is_kept {
        let _ = fs::remove_file(trace);
    }
    outcome
}

/// Runs the client with this agent, until it ends by itself.
fn client(setup: &Setup, agent: Vec<OsString>) -> Result<ExitStatus, Stop> {
    let mut words = Vec::new();
    for word in &setup.command {
        if word == OsStr::new(PLACE) { words.extend(agent.iter().cloned()) } else { words.push(word.clone()) }
    }
    if !setup.command.iter().any(|word| word == OsStr::new(PLACE)) {
        words.push("--".into());
        words.extend(agent);
    }
    let (program, arguments) = words.split_first().ok_or("there is no command")?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&setup.cwd).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(|why| format!("it cannot be started: {why}"))?;
    let deadline = Instant::now() + 3 * setup.timeout;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                end_group(&mut child);
                return Ok(status);
            }
            Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(5)),
            _ => break,
        }
    }
    end_group(&mut child);
    Err("it does not end by itself".into())
}

fn verdict(trace: &Path) -> PathBuf {
    trace.with_extension("verdict")
}

fn read(said: &str) -> Outcome {
    match said.split_once(' ').unwrap_or((said, "")) {
        ("ok", remark) => Ok(remark.to_owned()),
        ("skip", why) => Err(Stop::Skip(why.to_owned())),
        (_, why) => Err(Stop::Fail(why.to_owned())),
    }
}

/// Plays a scene on stdin and stdout, and leaves word of what came of it.
///
/// # Errors
///
/// There is no such scene, or a file cannot be written.
pub fn play(id: &str, trace: &Path, timeout: Duration) -> io::Result<()> {
    let scene = client_scenes::SCENES.iter().find(|scene| scene.about.id == id);
    let scene = scene.ok_or_else(|| io::Error::other("there is no such scene"))?;
    let recorder = Recorder::create(trace, Side::Agent, "conform", true)?;
    let wire = Wire::new(Side::Agent, io::stdin(), io::stdout(), recorder, timeout);
    let mut stage = Stage { wire, hello: Value::Null };
    let said = match (scene.play)(&mut stage) {
        Ok(remark) => format!("ok {remark}"),
        Err(Stop::Skip(why)) => format!("skip {why}"),
        Err(Stop::Fail(why)) => format!("fail {why}"),
    };
    fs::write(verdict(trace), said)?;
    stage.rest();
    Ok(())
}

impl Stage {
    /// The next request of the client.
    pub(super) fn request(&mut self) -> Result<Value, Stop> {
        self.wait("a request", |message| message["method"].is_string() && message.get("id").is_some())
    }

    /// Does what a good agent does until the client prompts. Gives the prompt's id.
    pub(super) fn prompted(&mut self) -> Result<Value, Stop> {
        loop {
            let request = self.request()?;
            if request["method"] == "session/prompt" {
                return Ok(request["id"].clone());
            }
            self.serve(&request);
        }
    }

    /// Answers a request as a good agent does.
    pub(super) fn serve(&mut self, request: &Value) {
        let id = &request["id"];
        match request["method"].as_str() {
            Some("initialize") => {
                self.hello = request["params"].clone();
                let info = json!({ "name": "conform", "version": env!("CARGO_PKG_VERSION") });
                self.answer(id, json!({ "protocolVersion": 1, "agentCapabilities": {}, "agentInfo": info }));
            }
            Some("session/new") => self.answer(id, json!({ "sessionId": SESSION })),
            Some("session/prompt") => self.end_turn(id),
            _ => self.refuse(id, -32601),
        }
    }

    pub(super) fn end_turn(&mut self, id: &Value) {
        self.answer(id, json!({ "stopReason": "end_turn" }));
    }

    pub(super) fn update(&mut self, session: &str, update: Value) {
        self.notify("session/update", json!({ "sessionId": session, "update": update }));
    }

    pub(super) fn say(&mut self, text: &str) {
        let content = json!({ "type": "text", "text": text });
        self.update(SESSION, json!({ "sessionUpdate": "agent_message_chunk", "content": content }));
    }

    /// Whether the client still listens: it answers a permission request, whatever it says.
    pub(super) fn is_heard(&mut self) -> Result<Value, Stop> {
        let options = json!([
            { "optionId": "yes", "name": "Yes", "kind": "allow_once" },
            { "optionId": "no", "name": "No", "kind": "reject_once" },
        ]);
        let params = json!({ "sessionId": SESSION, "toolCall": { "toolCallId": "call", "title": "A tool" }, "options": options });
        self.ask("session/request_permission", params)
    }

    /// Does what a good agent does, until the client has had enough.
    fn rest(&mut self) {
        while let Ok(request) = self.request() {
            self.serve(&request);
        }
        self.close();
        // What was written is still to be taken.
        thread::sleep(Duration::from_millis(50));
    }
}
