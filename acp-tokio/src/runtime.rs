//! What this adapter stands on: tokio, under the names that the files which both adapters share call it by.

use core::{
    future::Future as _,
    pin::Pin,
    task::{Context, Poll},
};
use std::io;

use acp_core::ChildKey;
#[cfg(feature = "process")]
pub(crate) use tokio::process::Command;
use tokio::{
    io::ReadBuf,
    sync::{Notify, futures::Notified},
    time::{Sleep, sleep_until},
};
pub(crate) use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::oneshot,
    task::yield_now,
    time::Instant,
};
pub(crate) use tokio_util::sync::CancellationToken as Token;

use crate::attended::Attended;

/// Something that may happen again and again, and who waits for it.
#[derive(Debug, Default)]
pub(crate) struct Event(Notify);

impl Event {
    /// Wakes all who listen.
    pub(crate) fn happen(&self) {
        self.0.notify_waiters();
    }

    /// Waits until it happens next, from this call on and not from the first poll.
    pub(crate) fn listen(&self) -> Notified<'_> {
        self.0.notified()
    }
}

/// Rings once at the time that was set last.
pub(crate) struct Alarm(Pin<Box<Sleep>>);

impl Alarm {
    /// It may ring, until it is set.
    pub(crate) fn new() -> Self {
        Self(Box::pin(sleep_until(Instant::now())))
    }

    pub(crate) fn set(&mut self, at: Instant) {
        self.0.as_mut().reset(at);
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

/// The children that a driver attends to. To drop it drops all of them.
pub(crate) type Children = Attended<ChildKey>;

/// The next child that ended; `None`: there is no other.
pub(crate) fn poll_child(children: &mut Children, cx: &mut Context<'_>) -> Poll<Option<ChildKey>> {
    children.poll_next(cx)
}

/// How many bytes were read.
pub(crate) fn poll_read(
    reader: &mut (impl AsyncRead + Unpin),
    cx: &mut Context<'_>,
    space: &mut [u8],
) -> Poll<io::Result<usize>> {
    let mut space = ReadBuf::new(space);
    let attempt = Pin::new(reader).poll_read(cx, &mut space);
    attempt.map_ok(|()| space.filled().len())
}

/// The peer sees the end of our stream.
pub(crate) fn poll_close(writer: &mut (impl AsyncWrite + Unpin), cx: &mut Context<'_>) -> Poll<io::Result<()>> {
    Pin::new(writer).poll_shutdown(cx)
}
