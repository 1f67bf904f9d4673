//! A process group on Unix, watched by a thread.
//!
//! A group is known by the process id of its leader, and such a number is reserved only for as long as the leader is not
//! reaped. So the leader is never reaped before its group was killed, and no signal is sent after that: it could reach
//! a stranger. `async-process` does not allow for that order; a thread that waits in the kernel does, and a client which
//! just drops everything leaves nothing behind either. (`SIGCHLD`, which would save the thread, is anybody's to catch.)

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use event_listener::Event;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions};

use super::Streams;

/// An exit status, or why there is none; kept, since it is asked for again.
type Exit = Result<ExitStatus, Arc<io::Error>>;

/// Dropping it kills the group.
#[derive(Debug)]
pub(super) struct Group {
    leader: Leader,
    exit: Arc<Told>,
}

/// What the thread tells.
#[derive(Debug, Default)]
struct Told {
    exit: OnceLock<Exit>,
    event: Event,
}

/// The leader's number, and whether it is still the leader's.
#[derive(Clone, Debug)]
struct Leader {
    pid: Pid,
    /// Held while the number is used, so that it is not reaped in between.
    reserved: Arc<Mutex<bool>>,
}

impl Leader {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn signal(&self, signal: Signal) {
        if *self.lock() {
            // An error is a group that is already gone, or that has put on another user's rights.
            let _ = rustix::process::kill_process_group(self.pid, signal);
        }
    }

    /// Waits for the exit, kills what is left of the group, and reaps.
    fn watch(&self, mut child: Child) -> Exit {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(Errno::INTR) = rustix::process::waitid(WaitId::Pid(self.pid), options) {}
        let mut reserved = self.lock();
        let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
        let status = child.wait();
        *reserved = false;
        status.map_err(Arc::new)
    }
}

impl Group {
    pub(super) fn spawn(mut command: Command) -> io::Result<(Self, Streams)> {
        let mut child = command.process_group(0).spawn()?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // From here on an error drops the group, which kills it.
        let group = Self::watched(child)?;
        let (Some(stdin), Some(stdout), Some(stderr)) = streams else {
            return Err(io::Error::other("a stream is not piped"));
        };
        Ok((group, Streams { stdin, stdout, stderr }))
    }

    fn watched(child: Child) -> io::Result<Self> {
        let leader = Leader { pid: Pid::from_child(&child), reserved: Arc::new(Mutex::new(true)) };
        let exit = Arc::<Told>::default();
        let group = Self { leader: leader.clone(), exit: Arc::clone(&exit) };
        let run = move || {
            let _ = exit.exit.set(leader.watch(child));
            exit.event.notify(usize::MAX);
        };
        let pid = group.leader.pid;
        if let Err(error) = thread::Builder::new().name(format!("acp-agent-{pid}")).spawn(run) {
            // Nobody else will reap it.
            drop(group);
            let _ = rustix::process::waitpid(Some(pid), WaitOptions::empty());
            return Err(error);
        }
        Ok(group)
    }

    pub(super) fn id(&self) -> Option<u32> {
        self.leader.lock().then(|| self.leader.pid.as_raw_pid().unsigned_abs())
    }

    pub(super) async fn exited(&mut self) -> io::Result<ExitStatus> {
        loop {
            // Listen first, look second: what is told in between is not missed.
            let told = self.exit.event.listen();
            match self.exit.exit.get() {
                Some(Ok(status)) => return Ok(*status),
                Some(Err(error)) => return Err(io::Error::new(error.kind(), Arc::clone(error))),
                None => told.await,
            }
        }
    }

    pub(super) fn has_exited(&mut self) -> bool {
        self.exit.exit.get().is_some()
    }

    /// Sends SIGTERM; says that there is such a thing.
    pub(super) fn terminate(&mut self) -> bool {
        self.leader.signal(Signal::TERM);
        true
    }

    pub(super) fn kill(&mut self) {
        self.leader.signal(Signal::KILL);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
