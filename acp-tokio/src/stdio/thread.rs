//! Files and terminals as stdin and stdout: blocking descriptors, each behind a thread that nobody waits for.
//!
//! Such a descriptor must stay blocking, and is never ready or not in a way that a reactor can watch. The rules of both
//! threads: memory is bounded, and the process may exit at any moment.

use core::task::{Context, Poll, Waker, ready};
use core::time::Duration;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc as blocking};
use std::thread;

use bytes::{Buf as _, Bytes};
use rustix::event::{PollFd, PollFlags, poll};
use tokio::io::ReadBuf;
use tokio::sync::mpsc;

use super::CHUNK;

/// How long a drop waits for the last bytes: a terminal stopped by Ctrl-S may never take them.
const DROP_WAIT: Duration = Duration::from_secs(5);

/// Calls until the descriptor was ready, also when somebody else who holds it made it non-blocking (Node does that
/// to terminals).
fn until_ready<T>(file: &File, ready: PollFlags, mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                match poll(&mut [PollFd::new(file, ready)], None) {
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            done => return done,
        }
    }
}

/// Reads on request, one chunk at a time, so that no byte is taken from a terminal that nobody wants.
#[derive(Debug)]
pub(super) enum Reader {
    Idle(Option<File>),
    Started { ask: blocking::Sender<()>, asked: bool, chunks: mpsc::Receiver<io::Result<Bytes>>, rest: Bytes },
}

impl Reader {
    pub(super) const fn new(file: File) -> Self {
        Self::Idle(Some(file))
    }

    fn start(file: File) -> io::Result<Self> {
        let (ask, asks) = blocking::channel::<()>();
        let (send, chunks) = mpsc::channel(1);
        let run = move || {
            let mut chunk = vec![0; CHUNK];
            while asks.recv().is_ok() {
                let read = until_ready(&file, PollFlags::IN, || (&file).read(&mut chunk));
                let last = !matches!(read, Ok(1..));
                // An empty chunk is the end. Nobody may be there to hear of it.
                let gone = send.blocking_send(read.map(|n| Bytes::copy_from_slice(&chunk[..n]))).is_err();
                if last || gone {
                    return;
                }
            }
        };
        thread::Builder::new().name("acp-stdin".into()).spawn(run)?;
        Ok(Self::Started { ask, asked: false, chunks, rest: Bytes::new() })
    }

    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        if let Self::Idle(file) = self {
            let Some(file) = file.take() else { return Poll::Ready(Ok(())) };
            *self = Self::start(file)?;
        }
        let Self::Started { ask, asked, chunks, rest } = self else { return Poll::Ready(Ok(())) };
        if rest.is_empty() {
            // A thread that has ended hears no question, and leaves the channel closed: the end, or after an error.
            *asked = *asked || ask.send(()).is_ok();
            match ready!(chunks.poll_recv(cx)) {
                Some(chunk) => {
                    *asked = false;
                    *rest = chunk?;
                }
                None => return Poll::Ready(Ok(())),
            }
        }
        let n = rest.len().min(buf.remaining());
        buf.put_slice(&rest[..n]);
        rest.advance(n);
        Poll::Ready(Ok(()))
    }
}

/// What a [`Writer`] and its thread share.
#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Told of every change that the thread, or a drop, may wait for.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Taken from the caller, not yet by the thread.
    bytes: Vec<u8>,
    /// The thread is writing what it took.
    writing: bool,
    closed: bool,
    /// The first failure. Nothing is written after it, and every call tells it.
    error: Option<io::Error>,
    waker: Option<Waker>,
}

impl State {
    const fn pending(&self) -> bool {
        self.error.is_none() && (self.writing || !self.bytes.is_empty())
    }

    fn check(&self) -> io::Result<()> {
        let Some(error) = &self.error else { return Ok(()) };
        Err(error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, file: &File) {
        let mut chunk = Vec::new();
        let mut state = self.lock();
        loop {
            let idle = |state: &mut State| state.bytes.is_empty() && !state.closed;
            state = self.changed.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner);
            if state.bytes.is_empty() {
                return;
            }
            core::mem::swap(&mut chunk, &mut state.bytes);
            state.writing = true;
            drop(state);
            let written = write_all(file, &chunk);
            chunk.clear();
            state = self.lock();
            state.writing = false;
            state.error = written.err();
            state.waker.take().into_iter().for_each(Waker::wake);
            self.changed.notify_all();
            if state.error.is_some() {
                return;
            }
        }
    }
}

fn write_all(file: &File, mut bytes: &[u8]) -> io::Result<()> {
    let mut file_ref = file;
    while !bytes.is_empty() {
        match until_ready(file, PollFlags::OUT, || file_ref.write(bytes))? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            n => bytes = &bytes[n..],
        }
    }
    Ok(())
}

/// Writes behind the caller's back, never more than two chunks behind: the one being written and the one filling up.
#[derive(Debug)]
pub(super) struct Writer {
    file: Option<File>,
    shared: Arc<Shared>,
}

impl Writer {
    pub(super) fn new(file: File) -> Self {
        Self { file: Some(file), shared: Arc::default() }
    }

    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = self.shared.lock();
        state.check()?;
        if state.closed {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if let Some(file) = self.file.take() {
            let shared = Arc::clone(&self.shared);
            thread::Builder::new().name("acp-stdout".into()).spawn(move || shared.run(&file))?;
        }
        let n = bytes.len().min(CHUNK - state.bytes.len());
        if n == 0 && !bytes.is_empty() {
            state.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        state.bytes.extend_from_slice(&bytes[..n]);
        self.shared.changed.notify_all();
        Poll::Ready(Ok(n))
    }

    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.shared.lock();
        state.check()?;
        if state.pending() {
            state.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }

    pub(super) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.close();
        self.poll_flush(cx)
    }

    fn close(&self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close();
        let wait = self.shared.changed.wait_timeout_while(self.shared.lock(), DROP_WAIT, |state| state.pending());
        drop(wait);
    }
}
