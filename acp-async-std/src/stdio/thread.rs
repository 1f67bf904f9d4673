//! Files and terminals as stdin and stdout: blocking descriptors, each behind a thread that nobody waits for.
//!
//! Such a descriptor must stay blocking, and is never ready or not in a way that a reactor can watch.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::fs::File;
use std::io::{self, Read, Write};

use async_io::Timer;
use blocking::Unblock;
use futures_io::AsyncWrite as _;
use futures_lite::future::{block_on, or, poll_fn};
use rustix::event::{PollFd, PollFlags, poll};

use super::CHUNK;

/// How long a drop waits for the last bytes: a terminal stopped by Ctrl-S may never take them.
const DROP_WAIT: Duration = Duration::from_secs(5);

pub(super) type Reader = Unblock<Patient>;

/// A file that blocks, also when somebody else who holds it made it non-blocking (Node does that to terminals).
#[derive(Debug)]
pub(super) struct Patient {
    file: File,
    /// A terminal gives its end once, and `Unblock` may look twice.
    ended: bool,
}

impl Patient {
    pub(super) fn behind_a_thread(file: File) -> Unblock<Self> {
        Unblock::with_capacity(CHUNK, Self { file, ended: false })
    }

    fn until_ready<T>(&self, ready: PollFlags, mut call: impl FnMut(&File) -> io::Result<T>) -> io::Result<T> {
        loop {
            match call(&self.file) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    match poll(&mut [PollFd::new(&self.file, ready)], None) {
                        Ok(_) | Err(rustix::io::Errno::INTR) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                done => return done,
            }
        }
    }
}

impl Read for Patient {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.ended || buf.is_empty() {
            return Ok(0);
        }
        let n = self.until_ready(PollFlags::IN, |mut file| file.read(buf))?;
        self.ended = n == 0;
        Ok(n)
    }
}

impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.until_ready(PollFlags::OUT, |mut file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes behind the caller's back.
#[derive(Debug)]
pub(super) struct Writer {
    file: Unblock<Patient>,
    /// Nothing is written after an error, and every call tells the first; nor after `close`.
    over: Option<io::Error>,
    closed: bool,
}

impl Writer {
    pub(super) fn new(file: File) -> Self {
        Self { file: Patient::behind_a_thread(file), over: None, closed: false }
    }

    fn check(&self) -> io::Result<()> {
        let Some(error) = &self.over else { return Ok(()) };
        Err(error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error))
    }

    fn failed(&mut self, error: io::Error) -> io::Result<()> {
        self.over = Some(error);
        self.check()
    }

    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.check()?;
        if self.closed {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        match ready!(Pin::new(&mut self.file).poll_write(cx, bytes)) {
            // The thread has given up: a flush tells why.
            Ok(0) if !bytes.is_empty() => {
                ready!(self.poll_flush(cx))?;
                Poll::Ready(Ok(0))
            }
            Ok(n) => Poll::Ready(Ok(n)),
            Err(error) => {
                self.failed(error)?;
                Poll::Ready(Ok(0))
            }
        }
    }

    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        let flushed = ready!(Pin::new(&mut self.file).poll_flush(cx));
        Poll::Ready(flushed.or_else(|error| self.failed(error)))
    }

    pub(super) fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.closed = true;
        self.poll_flush(cx)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let late = async {
            Timer::after(DROP_WAIT).await;
        };
        block_on(or(async { drop(poll_fn(|cx| self.poll_flush(cx)).await) }, late));
    }
}
