//! The client's end of the stdio transport: an agent as a child process that leaves nothing behind.
//!
//! The child leads a process group of its own, and whatever ends the child ends the group: `npx` and its like are
//! wrappers, and to kill only those leaves the real agent running. Its stderr is always drained, for a full pipe stops the
//! child for good. It is asked to go before it is made to: [`AgentProcess::shutdown`] follows
//! `acp_core::machine::shutdown`.
//!
//! A program is named by [`command()`] and its arguments, or by a [`command_line`]. What a session of an agent starts in
//! its turn, MCP servers above all, is given to that session by [`Handle::keep`](crate::Handle::keep), and ends with it.
//!
//! What escapes: a descendant that makes itself a group or session of its own, as terminals with job control do, is the
//! agent's to end when it gets SIGTERM, which is why that comes before SIGKILL. And since the group is not the
//! terminal's foreground group, Ctrl-C reaches the client alone: it is the client's to pass on, by a shutdown.
//!
//! Windows is type-checked only, nothing of it was ever run. `.cmd` and `.bat` are found by [`command()`], no console window
//! opens, and there is no SIGTERM.
//!
//! Groups: `process-wrap` does it on Windows, by a job object. On Unix it does not kill the group when dropped, and
//! signals a group whose leader it has reaped, when the number may be a stranger's; so there it is std and `rustix`.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use acp_core::Timestamp;
use acp_core::machine::shutdown::{Input, Step};
pub use acp_core::process::Grace;
use acp_core::process::{Departure, LINGER, PIECE, PIECES, Tail};
use bytes::Bytes;
use tokio::io::AsyncReadExt as _;
use tokio::process::{ChildStderr, ChildStdout, Command};
use tokio::sync::{broadcast, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

#[cfg(unix)]
use self::group::Group;
#[cfg(windows)]
use self::job::Group;
pub use self::{
    command::{command, command_line},
    kept::KeptProcess,
    pipe::ChildStdin,
};

mod command;
#[cfg(unix)]
mod group;
#[cfg(windows)]
mod job;
mod kept;
mod pipe;

/// The wire to an agent.
#[derive(Debug)]
pub struct Pipes {
    /// What the agent reads.
    pub stdin: ChildStdin,
    /// What the agent writes. Bytes may be left in it after the exit: read to the end before calling a stream over.
    pub stdout: ChildStdout,
}

/// The streams of a child that was just started.
struct Streams {
    stdin: tokio::process::ChildStdin,
    stdout: ChildStdout,
    stderr: ChildStderr,
}

/// How a process ended, in facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its exit status. `None`: it was sent SIGKILL and still hangs in the kernel; it is reaped when it comes out.
    pub status: Option<ExitStatus>,
    /// The last step taken before it ended. `None`: it had ended before anybody asked it to.
    pub by: Option<Step>,
}

/// An agent, or anything else, that runs as a child process, and its process group (on Windows: its job object).
///
/// Dropping it kills the whole group, at once and without blocking, whether or not there still is a runtime, and no
/// zombie is left. Nothing can be done in a client that is itself killed by SIGKILL: then the agent sees its stdin end.
/// One that does not look goes on until it writes, which fails; one that neither reads nor writes is left behind.
#[derive(Debug)]
pub struct AgentProcess {
    group: Group,
    departure: Departure,
    started: Instant,
    stdin: pipe::Closer,
    stderr: Arc<Stderr>,
    drain: Option<JoinHandle<()>>,
    /// Tells the drain that the process is over (or, when dropped, that nobody looks any more).
    over: watch::Sender<bool>,
}

impl AgentProcess {
    /// Starts `command` with its three streams piped, in a group of its own. Everything else is as `command` says.
    ///
    /// # Errors
    ///
    /// When it cannot be started: the error says which program, in which directory if one was set, and why. Also outside
    /// of a tokio runtime.
    ///
    /// # Panics
    ///
    /// In a tokio runtime without I/O or time.
    pub fn spawn(mut command: Command, grace: Grace) -> io::Result<(Self, Pipes)> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(io::Error::other("an agent's process needs a tokio runtime: start it inside of one"));
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (program, directory) = (command.as_std().get_program(), command.as_std().get_current_dir());
        // A missing directory and a missing program are the same error of the system.
        let place = directory.map_or_else(String::new, |directory| format!(" in {}", directory.display()));
        let name = format!("{}{place}", program.display());
        let (group, Streams { stdin, stdout, stderr }) = Group::spawn(command)
            .map_err(|error| io::Error::new(error.kind(), format!("cannot start {name}: {error}")))?;

        let (pipe, stdin) = ChildStdin::new(stdin);
        let shared = Arc::new(Stderr::new());
        let (over, is_over) = watch::channel(false);
        let drain = tokio::spawn(drain(stderr, Arc::clone(&shared), is_over));
        let (departure, started) = (Departure::new(grace), Instant::now());
        let process = Self { group, departure, started, stdin, stderr: shared, drain: Some(drain), over };
        Ok((process, Pipes { stdin: pipe, stdout }))
    }

    /// Its process id, which is its group's too. `None` once it was reaped.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.group.id()
    }

    /// The last 64 KiB that the process, or a descendant, wrote to stderr. Complete after `wait` or `shutdown`.
    #[must_use]
    pub fn stderr_tail(&self) -> Vec<u8> {
        self.stderr.tail()
    }

    /// What [`stderr_tail`](Self::stderr_tail) has, and everything that comes after it, in pieces of up to 8 KiB.
    ///
    /// A taker who is 64 pieces behind misses the oldest, and is told how many (`RecvError::Lagged`): the process never
    /// waits for a taker. The channel closes with stderr.
    pub fn follow_stderr(&self) -> (Vec<u8>, broadcast::Receiver<Bytes>) {
        self.stderr.follow()
    }

    /// Waits for the process to end, by itself. What is left of its group is then killed, and its stderr is complete
    /// (unless something outside of the group holds it open: that is given 0.5 s). Cancel safe; again gives the same.
    ///
    /// # Errors
    ///
    /// When the system does not tell the exit status, because somebody else in this process collects children.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.group.exited().await;
        self.advance(Input::Exited);
        self.drained().await;
        status
    }

    /// Ends the process: closes its stdin and waits, then SIGTERM to its group and a wait, then SIGKILL to its group.
    /// Nothing of the group is left afterwards.
    ///
    /// Cancel safe: called again it goes on where it was, with the same deadlines. Without SIGTERM (Windows) that step is
    /// passed over.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait): it has ended, only how is unknown.
    pub async fn shutdown(&mut self) -> io::Result<Ended> {
        if self.group.has_exited() {
            self.advance(Input::Exited);
        }
        self.advance(Input::Begin);
        while !self.departure.is_over() {
            // No grace is left: it survived SIGKILL.
            let Some(due) = self.departure.due() else {
                return Ok(Ended { status: None, by: self.departure.by() });
            };
            let due = self.started + due.saturating_duration_since(Timestamp::ZERO);
            tokio::select! {
                biased;
                _ = self.group.exited() => self.advance(Input::Exited),
                () = tokio::time::sleep_until(due) => self.advance(Input::Expired),
            }
        }
        self.drained().await;
        Ok(Ended { status: Some(self.group.exited().await?), by: self.departure.by() })
    }

    fn advance(&mut self, input: Input) {
        let now = Timestamp::from_elapsed(self.started.elapsed());
        self.departure.step(input, now, |step| match step {
            Step::CloseStdin => {
                self.stdin.close();
                true
            }
            Step::Terminate => self.group.terminate(),
            Step::Kill => {
                self.group.kill();
                true
            }
        });
    }

    async fn drained(&mut self) {
        self.over.send_replace(true);
        if let Some(drain) = &mut self.drain {
            // An error is a runtime that shut down, and took the drain with it.
            let _ = drain.await;
            self.drain = None;
        }
    }
}

/// What is known of a process's stderr.
#[derive(Debug)]
struct Stderr(Mutex<Ring>);

#[derive(Debug)]
struct Ring {
    tail: Tail,
    /// `None` once stderr is over.
    pieces: Option<broadcast::Sender<Bytes>>,
}

impl Stderr {
    fn new() -> Self {
        Self(Mutex::new(Ring { tail: Tail::new(), pieces: Some(broadcast::channel(PIECES).0) }))
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tail(&self) -> Vec<u8> {
        self.lock().tail.to_vec()
    }

    fn follow(&self) -> (Vec<u8>, broadcast::Receiver<Bytes>) {
        let ring = self.lock();
        // A closed channel, for when stderr is already over.
        let pieces = ring.pieces.as_ref().map_or_else(|| broadcast::channel(1).1, broadcast::Sender::subscribe);
        (ring.tail.to_vec(), pieces)
    }

    fn push(&self, piece: &[u8]) {
        let mut ring = self.lock();
        ring.tail.push(piece);
        // Told under the lock, so that a follower gets each byte once: in the tail or as a piece.
        if let Some(pieces) = ring.pieces.as_ref().filter(|pieces| pieces.receiver_count() > 0) {
            let _ = pieces.send(Bytes::copy_from_slice(piece));
        }
    }
}

/// Reads stderr to its end, but not for long once the process is over.
async fn drain(mut from: ChildStderr, to: Arc<Stderr>, mut over: watch::Receiver<bool>) {
    let enough = async {
        let _ = over.wait_for(|over| *over).await;
        tokio::time::sleep(LINGER).await;
    };
    tokio::pin!(enough);
    let mut piece = [0; PIECE];
    loop {
        tokio::select! {
            biased;
            () = &mut enough => break,
            read = from.read(&mut piece) => match read {
                Ok(0) | Err(_) => break,
                Ok(n) => to.push(&piece[..n]),
            },
        }
    }
    to.lock().pieces = None;
}
