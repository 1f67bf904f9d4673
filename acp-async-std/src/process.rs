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
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use acp_core::Timestamp;
use acp_core::machine::shutdown::{Input, Step};
pub use acp_core::process::Grace;
use acp_core::process::{Departure, LINGER, PIECE, PIECES, Tail};
use async_broadcast::{InactiveReceiver, Receiver, Sender};
use async_io::Timer;
use bytes::Bytes;
use event_listener::Event;
use futures_lite::AsyncReadExt as _;
use futures_lite::future::{block_on, or};

#[cfg(unix)]
use self::group::Group;
#[cfg(windows)]
use self::job::Group;
use self::pipe::ChildStderr;
pub use self::{
    command::{command, command_line},
    kept::KeptProcess,
    pipe::{ChildStdin, ChildStdout},
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
    stdin: std::process::ChildStdin,
    stdout: std::process::ChildStdout,
    stderr: std::process::ChildStderr,
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
/// Dropping it kills the whole group, at once and without blocking, and no zombie is left. It needs no runtime: a thread
/// waits for the process, and another one reads its stderr. Nothing can be done in a client that is itself killed by
/// SIGKILL: then the agent sees its stdin end. One that does not look goes on until it writes, which fails; one that
/// neither reads nor writes is left behind.
#[derive(Debug)]
pub struct AgentProcess {
    group: Group,
    departure: Departure,
    started: Instant,
    stdin: pipe::Closer,
    stderr: Arc<Stderr>,
}

impl AgentProcess {
    /// Starts `command` with its three streams piped, in a group of its own. Everything else is as `command` says.
    ///
    /// # Errors
    ///
    /// When it cannot be started: the error says which program, in which directory if one was set, and why.
    pub fn spawn(mut command: Command, grace: Grace) -> io::Result<(Self, Pipes)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (program, directory) = (command.get_program(), command.get_current_dir());
        // A missing directory and a missing program are the same error of the system.
        let place = directory.map_or_else(String::new, |directory| format!(" in {}", directory.display()));
        let name = format!("{}{place}", program.display());
        let (group, Streams { stdin, stdout, stderr }) = Group::spawn(command)
            .map_err(|error| io::Error::new(error.kind(), format!("cannot start {name}: {error}")))?;

        // An error drops the group, which kills it.
        let (pipe, stdin) = ChildStdin::new(stdin)?;
        let (stdout, stderr) = (ChildStdout::new(stdout)?, ChildStderr::new(stderr)?);
        let shared = Arc::new(Stderr::new());
        let to = Arc::clone(&shared);
        thread::Builder::new().name("acp-agent-stderr".into()).spawn(move || block_on(drain(stderr, &to)))?;
        let (departure, started) = (Departure::new(grace), Instant::now());
        Ok((Self { group, departure, started, stdin, stderr: shared }, Pipes { stdin: pipe, stdout }))
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
    /// A taker who is 64 pieces behind misses the oldest, and is told how many (`RecvError::Overflowed`): the process
    /// never waits for a taker. The channel closes with stderr.
    pub fn follow_stderr(&self) -> (Vec<u8>, Receiver<Bytes>) {
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
            let exited = async {
                let _ = self.group.exited().await;
                Input::Exited
            };
            let expired = async {
                Timer::at(due).await;
                Input::Expired
            };
            let input = or(exited, expired).await;
            self.advance(input);
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

    async fn drained(&self) {
        self.stderr.say_over();
        self.stderr.when(|ring| ring.pieces.is_none()).await;
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        // Nobody looks any more.
        self.stderr.say_over();
    }
}

/// What is known of a process's stderr.
#[derive(Debug)]
struct Stderr {
    ring: Mutex<Ring>,
    /// Told when `over` or `pieces` changes.
    changed: Event,
}

#[derive(Debug)]
struct Ring {
    tail: Tail,
    /// `None` once stderr is over.
    pieces: Option<(Sender<Bytes>, InactiveReceiver<Bytes>)>,
    /// The process is over, or nobody looks any more.
    over: bool,
}

impl Stderr {
    fn new() -> Self {
        let (mut sender, receiver) = async_broadcast::broadcast(PIECES);
        sender.set_overflow(true);
        let pieces = Some((sender, receiver.deactivate()));
        Self { ring: Mutex::new(Ring { tail: Tail::new(), pieces, over: false }), changed: Event::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tail(&self) -> Vec<u8> {
        self.lock().tail.to_vec()
    }

    fn follow(&self) -> (Vec<u8>, Receiver<Bytes>) {
        let ring = self.lock();
        // A closed channel, for when stderr is already over.
        let closed = || async_broadcast::broadcast(1).1;
        let pieces = ring.pieces.as_ref().map_or_else(closed, |(_, idle)| idle.activate_cloned());
        (ring.tail.to_vec(), pieces)
    }

    fn push(&self, piece: &[u8]) {
        let mut ring = self.lock();
        ring.tail.push(piece);
        // Told under the lock, so that a follower gets each byte once: in the tail or as a piece.
        if let Some((pieces, _)) = ring.pieces.as_ref().filter(|(pieces, _)| pieces.receiver_count() > 0) {
            let _ = pieces.try_broadcast(Bytes::copy_from_slice(piece));
        }
    }

    fn say_over(&self) {
        self.lock().over = true;
        self.changed.notify(usize::MAX);
    }

    async fn when(&self, is_so: impl Fn(&Ring) -> bool) {
        loop {
            // Listen first, look second: what changes in between is not missed.
            let changed = self.changed.listen();
            if is_so(&self.lock()) {
                return;
            }
            changed.await;
        }
    }
}

/// Reads stderr to its end, but not for long once the process is over.
async fn drain(mut from: ChildStderr, to: &Stderr) {
    let mut enough = core::pin::pin!(async {
        to.when(|ring| ring.over).await;
        Timer::after(LINGER).await;
        Ok(0)
    });
    let mut piece = [0; PIECE];
    while let Ok(n @ 1..) = or(&mut enough, from.read(&mut piece)).await {
        to.push(piece.get(..n).unwrap_or_default());
    }
    to.lock().pieces = None;
    to.changed.notify(usize::MAX);
}
