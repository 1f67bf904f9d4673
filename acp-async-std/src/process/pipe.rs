//! The streams of a child process: on the reactor where that takes pipes, behind a thread where it does not.

use core::{
    pin::Pin,
    task::{Context, Poll, Waker},
};
use std::{
    io, process,
    sync::{Arc, Mutex, PoisonError},
};

use futures_io::{AsyncRead, AsyncWrite};

#[cfg(unix)]
type Inner<T> = async_io::Async<T>;
#[cfg(not(unix))]
type Inner<T> = blocking::Unblock<T>;

/// What an agent reads. Closing it, or dropping it, ends the agent's input; so does a shutdown of its process, after which
/// writing fails with [`io::ErrorKind::BrokenPipe`].
#[derive(Debug)]
pub struct ChildStdin(Closer);

/// Closes it from elsewhere.
#[derive(Clone, Debug)]
pub(super) struct Closer(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    pipe: Option<Inner<process::ChildStdin>>,
    /// Who waits for the pipe to take more, and would wait for ever for one that is gone.
    waiting: Option<Waker>,
}

/// What an agent writes.
#[derive(Debug)]
pub struct ChildStdout(Inner<process::ChildStdout>);

/// What an agent complains.
#[derive(Debug)]
pub(super) struct ChildStderr(Inner<process::ChildStderr>);

#[cfg(unix)]
fn open<T: std::os::fd::AsFd>(pipe: T) -> io::Result<Inner<T>> {
    async_io::Async::new(pipe)
}

#[cfg(not(unix))]
fn open<T>(pipe: T) -> io::Result<Inner<T>> {
    Ok(blocking::Unblock::with_capacity(acp_core::PIECE, pipe))
}

impl ChildStdin {
    pub(super) fn new(pipe: process::ChildStdin) -> io::Result<(Self, Closer)> {
        let closer = Closer(Arc::new(Mutex::new(State { pipe: Some(open(pipe)?), waiting: None })));
        Ok((Self(closer.clone()), closer))
    }
}

impl Closer {
    pub(super) fn close(&self) {
        let State { pipe, waiting } = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *pipe = None;
        if let Some(waiting) = waiting.take() {
            waiting.wake();
        }
    }

    fn poll<T>(
        &self,
        cx: &mut Context<'_>,
        gone: io::Result<T>,
        poll: impl FnOnce(Pin<&mut Inner<process::ChildStdin>>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let State { pipe, waiting } = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(pipe) = pipe else { return Poll::Ready(gone) };
        let polled = poll(Pin::new(pipe), cx);
        *waiting = polled.is_pending().then(|| cx.waker().clone());
        polled
    }
}

impl ChildStdout {
    pub(super) fn new(pipe: process::ChildStdout) -> io::Result<Self> {
        open(pipe).map(Self)
    }
}

impl ChildStderr {
    pub(super) fn new(pipe: process::ChildStderr) -> io::Result<Self> {
        open(pipe).map(Self)
    }
}

impl AsyncRead for ChildStdout {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncRead for ChildStderr {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for ChildStdin {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.poll(cx, Err(io::ErrorKind::BrokenPipe.into()), |pipe, cx| pipe.poll_write(cx, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll(cx, Ok(()), |pipe, cx| pipe.poll_flush(cx))
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = self.0.poll(cx, Ok(()), |pipe, cx| pipe.poll_close(cx));
        if closed.is_ready() {
            self.0.close();
        }
        closed
    }
}

impl Drop for ChildStdin {
    fn drop(&mut self) {
        self.0.close();
    }
}
