//! Commands that need the client's services: its files, its terminals, its forms. A client that offers none is never
//! asked: the core refuses to send, and the command ends as unsupported.

use core::time::Duration;

use acp_core::{Agent, Payload, SessionKey};
use acp_tokio::Handle;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::talk::{Halt, Talk, answer, refused};
use crate::shape::{internal, invalid_params, payload};

const CREATE: &str = "terminal/create";
/// How long a command in a terminal may run. The core's own limit for terminal requests is meant for quick ones.
const RUN: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) async fn read(talk: &Talk, path: &str) -> Result<(), Halt> {
    #[derive(Deserialize)]
    struct Read {
        content: String,
    }
    let result = talk.ask("fs/read_text_file", json!({ "path": path }), None).await?;
    let Read { content } = readable("fs/read_text_file", &result)?;
    talk.say(&content).await
}

pub(super) async fn write(talk: &Talk, arguments: &str) -> Result<(), Halt> {
    let (path, text) = arguments.split_once(' ').unwrap_or((arguments, ""));
    talk.ask("fs/write_text_file", json!({ "path": path, "content": text }), None).await?;
    talk.say("written").await
}

/// Runs a shell command in a terminal of the client's. The terminal is released whatever happens; that kills a command
/// that still runs.
pub(super) async fn exec(talk: &Talk, command: &str) -> Result<(), Halt> {
    if command.is_empty() {
        return Err(Halt::Failed(invalid_params("`exec CMD` needs a command")));
    }
    let terminal = Terminal::create(talk, command).await?;
    let output = terminal.finish(talk).await;
    terminal.release();
    talk.say(&output?).await
}

/// A terminal of the client's, which is ours to release.
struct Terminal {
    agent: Handle<Agent>,
    session: SessionKey,
    id: String,
}

impl Terminal {
    async fn create(talk: &Talk, command: &str) -> Result<Self, Halt> {
        let (agent, session) = (talk.agent().clone(), talk.session());
        let params = payload(json!({ "command": "/bin/sh", "args": ["-c", command] }));
        // In the session, not in the turn: when the turn is cancelled meanwhile, the client may have made the terminal
        // all the same, and its id must not get lost with the turn.
        let pending = agent.request_in(session, CREATE, &params, None).map_err(|why| refused(CREATE, why))?;
        let (sender, receiver) = tokio::sync::oneshot::channel();
        tokio::spawn(async move {
            let id = answer(CREATE, pending.await).and_then(|result| terminal_id(&result));
            // Nobody waits any more: the turn is over, and so is the terminal.
            if let Err(Ok(late)) = sender.send(id.map(|id| Self { agent, session, id })) {
                late.release();
            }
        });
        let made = talk.unless_cancelled(receiver).await?;
        made.unwrap_or_else(|why| Err(Halt::Failed(internal(why))))
    }

    /// Waits for the command to end, and gives its output.
    async fn finish(&self, talk: &Talk) -> Result<String, Halt> {
        #[derive(Deserialize)]
        struct Output {
            output: String,
        }
        let this = || json!({ "terminalId": self.id });
        talk.ask("terminal/wait_for_exit", this(), Some(RUN)).await?;
        let result = talk.ask("terminal/output", this(), None).await?;
        readable("terminal/output", &result).map(|Output { output }| output)
    }

    fn release(self) {
        let this = payload(json!({ "terminalId": self.id }));
        // In the session: the turn may be over. There is nothing to do about a client that does not manage to.
        drop(self.agent.request_in(self.session, "terminal/release", &this, None));
    }
}

fn terminal_id(result: &Payload) -> Result<String, Halt> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Created {
        terminal_id: String,
    }
    readable(CREATE, result).map(|Created { terminal_id }| terminal_id)
}

/// Asks the user for a name, with a form.
pub(super) async fn elicit(talk: &Talk) -> Result<(), Halt> {
    #[derive(Deserialize)]
    struct Elicited<'a> {
        action: String,
        #[serde(borrow)]
        content: Option<&'a RawValue>,
    }
    let form: Value = json!({
        "mode": "form",
        "message": "What shall I call you?",
        "requestedSchema": {
            "type": "object",
            "properties": { "name": { "type": "string", "title": "Name" } },
            "required": ["name"],
        },
    });
    let result = talk.ask("elicitation/create", form, None).await?;
    let Elicited { action, content } = readable("elicitation/create", &result)?;
    talk.say(&format!("elicitation: {action} {}", content.map_or("", RawValue::get))).await
}

fn readable<'a, T: Deserialize<'a>>(method: &str, result: &'a Payload) -> Result<T, Halt> {
    result
        .get()
        .map_err(|why| Halt::Failed(internal(format!("the client's answer to `{method}` cannot be read: {why}"))))
}
