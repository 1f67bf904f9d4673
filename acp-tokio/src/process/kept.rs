//! Child processes that a session owns: an agent's MCP servers, a client's terminals. The connection's driver ends them.

use std::io;
use std::sync::Arc;

use acp_core::{ChildKey, Role, SessionKey};
use bytes::Bytes;
use tokio::sync::{broadcast, oneshot};
use tokio_util::sync::CancellationToken;

use super::{AgentProcess, Ended, Stderr};
use crate::Handle;

/// A process that a session owns. Dropping this leaves it to its session.
#[derive(Debug)]
pub struct KeptProcess<R: Role> {
    handle: Handle<R>,
    /// `None`: the connection was over.
    child: Option<ChildKey>,
    stderr: Arc<Stderr>,
    ended: oneshot::Receiver<io::Result<Ended>>,
}

impl<R: Role> Handle<R> {
    /// Gives a process into the care of a session: it is ended, as by [`AgentProcess::shutdown`], when
    ///
    /// - the host takes the action that the session is closed, loaded or resumed (what it keeps after that belongs to what
    ///   is loaded; a load that the host then refuses does not bring back what it ended),
    /// - the session is no longer known: closed, deleted, or opened in vain; also if it was not when this is called,
    /// - the connection is over, for whatever reason.
    ///
    /// All that a session owns ends at once, not one after the other. The connection's driver does it: it ends itself when
    /// the last of them has ended, and one that is dropped before kills them. After that, this kills the process.
    ///
    /// ```no_run
    /// use acp_tokio::{AgentProcess, Grace, Handle, acp_core::{Agent, SessionKey}, process};
    ///
    /// fn start(agent: &Handle<Agent>, session: SessionKey) -> std::io::Result<()> {
    ///     let server = process::command_line("npx -y 'some MCP server'")?;
    ///     let (server, pipes) = AgentProcess::spawn(server, Grace::default())?;
    ///     let server = agent.keep(session, server);
    ///     // Speak MCP over `pipes`; `server.ended().await` tells how it ended.
    ///     # drop((server, pipes));
    ///     Ok(())
    /// }
    /// ```
    pub fn keep(&self, session: SessionKey, process: AgentProcess) -> KeptProcess<R> {
        let (stderr, token) = (Arc::clone(&process.stderr), CancellationToken::new());
        let (tell, ended) = oneshot::channel();
        // Dropped, and so killed, at the end of this, if nobody takes it.
        let mut process = Some(process);
        let child = self.shared.with(|state, _| {
            let child = state.desk.keep(session, token.clone()).ok()?;
            state.arrivals.0.push(Box::pin(attend(process.take()?, token, tell, child)));
            Some(child)
        });
        KeptProcess { handle: self.clone(), child, stderr, ended }
    }

    /// Waits until everything has ended that this session had to let go of: before a `session/close` is answered, or
    /// before a session that is loaded gets its own. What it keeps does not count.
    pub async fn released(&self, session: SessionKey) {
        self.when(&self.shared.over, |state| state.desk.is_released(session).then_some(())).await;
    }
}

/// Waits for the end of a process, or for the time to end it.
async fn attend(
    mut process: AgentProcess,
    token: CancellationToken,
    tell: oneshot::Sender<io::Result<Ended>>,
    child: ChildKey,
) -> ChildKey {
    tokio::select! {
        _ = process.wait() => {}
        () = token.cancelled() => {}
    }
    // Whether anybody listens is theirs to know.
    let _ = tell.send(process.shutdown().await);
    child
}

impl<R: Role> KeptProcess<R> {
    /// Ends it now, although its session goes on.
    pub fn end(&self) {
        if let Some(child) = self.child {
            self.handle.shared.with(|state, _| state.desk.end_child(child));
        }
    }

    /// See [`AgentProcess::stderr_tail`].
    #[must_use]
    pub fn stderr_tail(&self) -> Vec<u8> {
        self.stderr.tail()
    }

    /// See [`AgentProcess::follow_stderr`].
    pub fn follow_stderr(&self) -> (Vec<u8>, broadcast::Receiver<Bytes>) {
        self.stderr.follow()
    }

    /// Waits for its end, by itself or not.
    ///
    /// # Errors
    ///
    /// As [`AgentProcess::shutdown`]; or the driver of its connection is gone, and it was killed.
    pub async fn ended(self) -> io::Result<Ended> {
        let killed = || io::Error::other("it was killed, since nobody drives its connection any more");
        self.ended.await.unwrap_or_else(|_| Err(killed()))
    }
}
