//! `terminal/*`: commands of the agent's that run here, each in a process group of its own. They share the machinery of
//! the agent's own process, so that nothing they start outlives them, or this program. Stdout and stderr are two streams:
//! what is written to both at the same moment may change its order.

use core::time::Duration;
use std::{
    collections::{BTreeMap, VecDeque},
    path::{Path, PathBuf},
    process::ExitStatus,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use acp_core::{ErrorObject, Payload, wire::code};
use acp_tokio::{AgentProcess, Grace, Pipes};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    io::AsyncReadExt as _,
    sync::{broadcast::error::RecvError, watch},
};
use tokio_util::sync::CancellationToken;

use crate::shape::{internal, invalid_params, payload};

/// Bytes of output that are kept, unless the agent says how many; and at most.
const OUTPUT: usize = 1 << 20;
/// Terminals that may be open at once.
const OPEN: usize = 64;
/// A command that is killed gets no time to agree.
const AT_ONCE: Grace = Grace { stdin: Duration::ZERO, terminate: Duration::ZERO };

/// The parameters of `terminal/create`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Create {
    command: String,
    #[serde(default)]
    args: Option<Vec<String>>,
    #[serde(default)]
    env: Option<Vec<Variable>>,
    cwd: Option<PathBuf>,
    output_byte_limit: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Variable {
    name: String,
    value: String,
}

/// The parameters of every other `terminal/…`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct This {
    terminal_id: String,
}

/// All open terminals.
#[derive(Clone, Debug, Default)]
pub(super) struct Terminals(Arc<Mutex<Table>>);

#[derive(Debug, Default)]
struct Table {
    last: u64,
    open: BTreeMap<String, Arc<Terminal>>,
}

#[derive(Debug)]
struct Terminal {
    output: Mutex<Tail>,
    exit: watch::Receiver<Option<Value>>,
    kill: CancellationToken,
}

impl Terminals {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, this: &This) -> Result<Arc<Terminal>, ErrorObject> {
        self.lock().open.get(&this.terminal_id).cloned().ok_or_else(|| no_such(this))
    }

    pub(super) fn create(&self, root: &Path, asked: Create) -> Result<Payload, ErrorObject> {
        if self.lock().open.len() >= OPEN {
            return Err(internal(format!("{OPEN} terminals are open: release some")));
        }
        let directory = asked.cwd.unwrap_or_else(|| root.to_owned());
        if !directory.is_absolute() {
            return Err(invalid_params("`cwd` must be an absolute path"));
        }
        let mut command = acp_tokio::process::command(&asked.command);
        command.args(asked.args.unwrap_or_default()).current_dir(directory);
        command.envs(asked.env.unwrap_or_default().into_iter().map(|Variable { name, value }| (name, value)));
        let (process, pipes) = AgentProcess::spawn(command, AT_ONCE).map_err(internal)?;
        let limit =
            asked.output_byte_limit.map_or(OUTPUT, |limit| usize::try_from(limit).unwrap_or(OUTPUT).min(OUTPUT));
        let (told, exit) = watch::channel(None);
        let output = Mutex::new(Tail { limit, ..Tail::default() });
        let terminal = Arc::new(Terminal { output, exit, kill: CancellationToken::new() });
        tokio::spawn(Arc::clone(&terminal).run(process, pipes, told));
        let mut table = self.lock();
        table.last += 1;
        let id = format!("terminal-{}", table.last);
        table.open.insert(id.clone(), terminal);
        Ok(payload(json!({ "terminalId": id })))
    }

    pub(super) fn output(&self, this: &This) -> Result<Payload, ErrorObject> {
        let terminal = self.find(this)?;
        let (output, truncated) = terminal.tail().text();
        let mut result = json!({ "output": output, "truncated": truncated });
        if let Some(exit) = &*terminal.exit.borrow() {
            result["exitStatus"] = exit.clone();
        }
        Ok(payload(result))
    }

    pub(super) async fn wait(&self, this: &This) -> Result<Payload, ErrorObject> {
        let mut exit = self.find(this)?.exit.clone();
        let exit = exit.wait_for(Option::is_some).await.map_err(internal)?;
        Ok(payload(exit.clone().unwrap_or_default()))
    }

    pub(super) fn kill(&self, this: &This) -> Result<Payload, ErrorObject> {
        self.find(this)?.kill.cancel();
        Ok(Payload::EMPTY)
    }

    pub(super) fn release(&self, this: &This) -> Result<Payload, ErrorObject> {
        let released = self.lock().open.remove(&this.terminal_id).ok_or_else(|| no_such(this))?;
        released.kill.cancel();
        Ok(Payload::EMPTY)
    }
}

impl Terminal {
    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Collects the output until the command is over.
    async fn run(self: Arc<Self>, mut process: AgentProcess, pipes: Pipes, told: watch::Sender<Option<Value>>) {
        let Pipes { stdin, mut stdout } = pipes;
        // Nobody types here.
        drop(stdin);
        let (before, mut stderr) = process.follow_stderr();
        self.tail().push(&before);
        let (mut reading, mut following, mut killed) = (true, true, false);
        let mut piece = vec![0; 8 << 10];
        while reading || following {
            tokio::select! {
                read = stdout.read(&mut piece), if reading => match read {
                    Ok(0) | Err(_) => reading = false,
                    Ok(n) => self.tail().push(piece.get(..n).unwrap_or_default()),
                },
                piece = stderr.recv(), if following => match piece {
                    Ok(piece) => self.tail().push(&piece),
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => following = false,
                },
                () = self.kill.cancelled(), if !killed => {
                    killed = true;
                    // How it ended is asked for below.
                    let _ = process.shutdown().await;
                }
            }
        }
        told.send_replace(Some(match process.wait().await {
            Ok(status) => exit_status(status),
            Err(_) => json!({ "exitCode": null, "signal": null }),
        }));
    }
}

/// The end of an output: what is over the limit goes from the beginning.
#[derive(Debug, Default)]
struct Tail {
    bytes: VecDeque<u8>,
    limit: usize,
    truncated: bool,
}

impl Tail {
    fn push(&mut self, piece: &[u8]) {
        self.bytes.extend(piece);
        let excess = self.bytes.len().saturating_sub(self.limit);
        self.truncated |= excess > 0;
        self.bytes.drain(..excess);
    }

    /// As text, from the beginning of a character to the end of one.
    fn text(&self) -> (String, bool) {
        let is_inside = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
        let cut = if self.truncated { self.bytes.iter().take(3).take_while(is_inside).count() } else { 0 };
        let bytes: Vec<u8> = self.bytes.iter().skip(cut).copied().collect();
        let whole = match core::str::from_utf8(&bytes) {
            Err(why) if why.error_len().is_none() => why.valid_up_to(),
            _ => bytes.len(),
        };
        (String::from_utf8_lossy(bytes.get(..whole).unwrap_or_default()).into_owned(), self.truncated)
    }
}

fn exit_status(status: ExitStatus) -> Value {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status).map(|signal| match signal {
        9 => "SIGKILL".to_owned(),
        15 => "SIGTERM".to_owned(),
        other => format!("signal {other}"),
    });
    #[cfg(not(unix))]
    let signal: Option<String> = None;
    json!({ "exitCode": status.code(), "signal": signal })
}

fn no_such(this: &This) -> ErrorObject {
    ErrorObject::new(
        code::RESOURCE_NOT_FOUND,
        format!("there is no terminal {:?}: it was released, or never created", this.terminal_id),
    )
}

#[cfg(test)]
mod tests {
    use super::Tail;

    #[test]
    fn output_is_cut_at_its_beginning_between_characters() {
        let mut tail = Tail { limit: 4, ..Tail::default() };
        tail.push("é".as_bytes());
        assert_eq!(tail.text(), ("é".to_owned(), false));
        tail.push("€x".as_bytes());
        // Four bytes are left, all of them of whole characters.
        assert_eq!(tail.text(), ("€x".to_owned(), true));
        tail.push(b"y");
        assert_eq!(tail.text(), ("xy".to_owned(), true));
        tail.push(&"é".as_bytes()[..1]);
        assert_eq!(tail.text(), ("xy".to_owned(), true));
    }
}
