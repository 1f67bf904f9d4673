//! What a child reads: a pipe that its owner can close, and that the end of the child closes from elsewhere.

use core::{
    pin::Pin,
    task::{Context, Poll, Waker},
};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::AsyncWrite;

/// What an agent reads. Closing it, or dropping it, ends the agent's input; so does a shutdown of its process, after which
/// writing fails with [`io::ErrorKind::BrokenPipe`].
#[derive(Debug)]
pub struct ChildStdin(Closer);

impl ChildStdin {
    pub(super) fn new(pipe: tokio::process::ChildStdin) -> (Self, Closer) {
        let closer = Closer(Arc::new(Mutex::new(State { pipe: Some(pipe), waiting: None })));
        (Self(closer.clone()), closer)
    }
}

/// Closes it from elsewhere.
#[derive(Clone, Debug)]
pub(super) struct Closer(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    pipe: Option<tokio::process::ChildStdin>,
    /// Who waits for the pipe to take more, and would wait for ever for one that is gone.
    waiting: Option<Waker>,
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
        poll: impl FnOnce(Pin<&mut tokio::process::ChildStdin>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let State { pipe, waiting } = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(pipe) = pipe else { return Poll::Ready(gone) };
        let polled = poll(Pin::new(pipe), cx);
        *waiting = polled.is_pending().then(|| cx.waker().clone());
        polled
    }
}

impl AsyncWrite for ChildStdin {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.poll(cx, Err(io::ErrorKind::BrokenPipe.into()), |pipe, cx| pipe.poll_write(cx, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll(cx, Ok(()), |pipe, cx| pipe.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = self.0.poll(cx, Ok(()), |pipe, cx| pipe.poll_shutdown(cx));
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
