//! Listens to what is really written to the agent, for the moment at which a cancel goes out. The connection says when it
//! was asked for; between the two there may be much that was queued before.

use std::{
    io,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
    time::Instant,
};

use tokio::io::AsyncWrite;

/// When the first cancel was written.
#[derive(Clone, Debug, Default)]
pub(super) struct Tap(Arc<OnceLock<Instant>>);

impl Tap {
    pub(super) fn cancel_written(&self) -> Option<Instant> {
        self.0.get().copied()
    }

    pub(super) fn around<W>(self, writer: W) -> Tapped<W> {
        Tapped { writer, tap: self }
    }
}

/// A writer with a tap on it.
#[derive(Debug)]
pub(super) struct Tapped<W> {
    writer: W,
    tap: Tap,
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Tapped<W> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.writer).poll_write(cx, bytes);
        if let Poll::Ready(Ok(n)) = written
            // Long writes are prompts.
            && n < 4096
            && bytes[..n].windows(CANCEL.len()).any(|part| part == CANCEL)
        {
            self.tap.0.get_or_init(Instant::now);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(cx)
    }
}

const CANCEL: &[u8] = br#""method":"session/cancel""#;
