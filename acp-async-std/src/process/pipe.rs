//! The streams of a child process: on the reactor where that takes pipes, behind a thread where it does not.

use core::{
    pin::Pin,
    task::{Context, Poll, ready},
};
use std::{io, process};

use futures_io::{AsyncRead, AsyncWrite};

#[cfg(unix)]
type Inner<T> = async_io::Async<T>;
#[cfg(not(unix))]
type Inner<T> = blocking::Unblock<T>;

/// What an agent reads. Closing it, or dropping it, ends the agent's input.
#[derive(Debug)]
pub struct ChildStdin(Option<Inner<process::ChildStdin>>);

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
    pub(super) fn new(pipe: process::ChildStdin) -> io::Result<Self> {
        Ok(Self(Some(open(pipe)?)))
    }

    fn inner(self: Pin<&mut Self>) -> io::Result<Pin<&mut Inner<process::ChildStdin>>> {
        self.get_mut().0.as_mut().map(Pin::new).ok_or_else(|| io::ErrorKind::BrokenPipe.into())
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
        self.inner()?.poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Ok(inner) = self.inner() else { return Poll::Ready(Ok(())) };
        inner.poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(inner) = self.0.as_mut() else { return Poll::Ready(Ok(())) };
        let closed = ready!(Pin::new(inner).poll_close(cx));
        self.0 = None;
        Poll::Ready(closed)
    }
}
