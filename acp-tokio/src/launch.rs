//! An agent as a child process, with the connection to it: started together, and ended together.

use core::{future::Future, pin::Pin};
use std::{io, process::ExitStatus};

use acp_core::{
    Client, CloseReason, Config,
    process::{LINGER, LastBytes},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    process::Command,
};

use crate::{Actions, AgentProcess, Ended, Grace, Handle, Pipes};

/// Starts an agent and connects to it. Spawn [`Running::run`]: it moves the bytes, and ends the agent with its whole
/// process group once the connection is over.
///
/// # Errors
///
/// The program cannot be started, and why; or the configuration holds a zero or an impossible value.
pub fn launch(
    command: Command,
    config: Config,
    grace: Grace,
) -> io::Result<(Handle<Client>, Actions<Client>, Running)> {
    launch_through(command, config, grace, |pipes| (pipes.stdout, pipes.stdin))
}

/// Starts an agent and connects to it, with something of yours between the connection and the pipes.
///
/// `through` takes what the agent writes and what it reads, and gives what the connection uses instead. Dropping that must
/// drop the pipes.
///
/// # Errors
///
/// As [`launch`].
pub fn launch_through<R, W>(
    command: Command,
    config: Config,
    grace: Grace,
    through: impl FnOnce(Pipes) -> (R, W),
) -> io::Result<(Handle<Client>, Actions<Client>, Running)>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    config.check().map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why.to_string()))?;
    let (process, pipes) = AgentProcess::spawn(command, grace)?;
    let (reader, writer) = through(pipes);
    let (client, actions, driver) = crate::client(reader, writer, config)
        .map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why.to_string()))?;
    let running = Running { process, driver: Box::pin(driver), client: client.clone() };
    Ok((client, actions, running))
}

/// A running agent: its process, and what moves the bytes. Dropping it kills the agent with its whole process group.
pub struct Running {
    process: AgentProcess,
    driver: Pin<Box<dyn Future<Output = CloseReason> + Send>>,
    client: Handle<Client>,
}

impl core::fmt::Debug for Running {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Running").field("process", &self.process).finish_non_exhaustive()
    }
}

/// How it all ended: only facts that were seen.
#[derive(Debug)]
#[non_exhaustive]
pub struct Ending {
    /// Why the connection ended.
    pub reason: CloseReason,
    /// How the process ended; `None` if it could not be ended.
    pub status: Option<ExitStatus>,
    /// The step that it took; `None` if it had exited by itself.
    pub by: Option<acp_core::machine::shutdown::Step>,
    /// The last it said on stderr, up to 64 KiB.
    pub stderr: String,
}

impl Running {
    /// The process.
    #[must_use]
    pub const fn process(&self) -> &AgentProcess {
        &self.process
    }

    /// Moves the bytes until the connection is over, then ends the agent, and at the same time what the sessions own here:
    /// its stdin is closed, then SIGTERM, then SIGKILL to its group, with the graces it was launched with.
    ///
    /// # Errors
    ///
    /// The process cannot be waited for.
    pub async fn run(mut self) -> io::Result<Ending> {
        let mut exited: Option<LastBytes> = None;
        let client = self.client.clone();
        let mut closed = core::pin::pin!(client.closed());
        let (reason, driven) = loop {
            tokio::select! {
                // The last bytes come before the exit status: what the agent said at the end is heard first.
                biased;
                reason = &mut self.driver => break (reason, true),
                // It is not done yet: it ends what the sessions own. The agent does not wait for that.
                reason = &mut closed => break (reason, false),
                status = self.process.wait(), if exited.is_none() => {
                    status?;
                    exited = Some(LastBytes::new(self.client.shared.lock().desk.bytes_read()));
                }
                () = tokio::time::sleep(LINGER), if exited.is_some() => self.client.shared.with(|state, now| {
                    let (read, behind) = (state.desk.bytes_read(), !state.desk.wants_input());
                    if exited.as_mut().is_some_and(|last| last.were_read(read, behind)) {
                        state.desk.conn().handle_lost("the agent exited", now);
                    }
                }),
            }
        };
        let (driver, shutdown) = (&mut self.driver, self.process.shutdown());
        let rest = async {
            if !driven {
                driver.await;
            }
        };
        let ((), ended) = tokio::join!(rest, shutdown);
        let Ended { status, by } = ended?;
        let stderr = String::from_utf8_lossy(&self.process.stderr_tail()).into_owned();
        Ok(Ending { reason, status, by, stderr })
    }
}
