//! What this adapter stands on: async-io and what goes with it, under the names that the files which both adapters share
//! call it by.

use core::{
    future::Future as _,
    pin::Pin,
    task::{Context, Poll},
};
use std::io;
#[cfg(feature = "process")]
pub(crate) use std::process::Command;
pub(crate) use std::time::Instant;

use acp_core::ChildKey;
use async_io::Timer;
use event_listener::EventListener;
pub(crate) use futures_channel::oneshot;
pub(crate) use futures_io::{AsyncRead, AsyncWrite};
pub(crate) use futures_lite::future::yield_now;
use futures_util::stream::{FuturesUnordered, StreamExt as _};

use crate::shared::Attendance;
pub(crate) use crate::token::Token;

/// Something that may happen again and again, and who waits for it.
#[derive(Debug, Default)]
pub(crate) struct Event(event_listener::Event);

impl Event {
    /// Wakes all who listen.
    pub(crate) fn happen(&self) {
        self.0.notify(usize::MAX);
    }

    /// Waits until it happens next, from this call on and not from the first poll.
    pub(crate) fn listen(&self) -> EventListener {
        self.0.listen()
    }
}

/// Rings once at the time that was set last.
pub(crate) struct Alarm(Timer);

impl Alarm {
    /// It may ring, until it is set.
    pub(crate) fn new() -> Self {
        Self(Timer::never())
    }

    pub(crate) fn set(&mut self, at: Instant) {
        self.0.set_at(at);
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx).map(drop)
    }
}

/// The children that a driver attends to. To drop it drops all of them.
pub(crate) type Children = FuturesUnordered<Attendance>;

/// The next child that ended; `None`: there is no other.
pub(crate) fn poll_child(children: &mut Children, cx: &mut Context<'_>) -> Poll<Option<ChildKey>> {
    children.poll_next_unpin(cx)
}

/// How many bytes were read.
pub(crate) fn poll_read(
    reader: &mut (impl AsyncRead + Unpin),
    cx: &mut Context<'_>,
    space: &mut [u8],
) -> Poll<io::Result<usize>> {
    Pin::new(reader).poll_read(cx, space)
}

/// The peer sees the end of our stream.
pub(crate) fn poll_close(writer: &mut (impl AsyncWrite + Unpin), cx: &mut Context<'_>) -> Poll<io::Result<()>> {
    Pin::new(writer).poll_close(cx)
}
