//! A stream that passes everything on as it is, and tells a [`Recorder`] what passed.

use core::{
    pin::Pin,
    task::{Context, Poll, ready},
};
use std::io;

use acp_core::Side;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Recorder;

/// One direction of a connection, with a recorder beside it.
#[derive(Debug)]
pub struct Tap<S> {
    stream: S,
    from: Side,
    recorder: Recorder,
}

impl<S> Tap<S> {
    /// `stream` carries what `from` sends.
    #[must_use]
    pub const fn new(stream: S, from: Side, recorder: Recorder) -> Self {
        Self { stream, from, recorder }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Tap<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        let read = ready!(Pin::new(&mut this.stream).poll_read(cx, buf));
        match (&read, buf.filled().get(before..).unwrap_or_default()) {
            (Ok(()), []) => this.recorder.end(this.from, "end of file"),
            (Ok(()), bytes) => this.recorder.feed(this.from, bytes),
            (Err(why), _) => this.recorder.end(this.from, &why.to_string()),
        }
        Poll::Ready(read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Tap<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let wrote = ready!(Pin::new(&mut this.stream).poll_write(cx, bytes));
        match &wrote {
            Ok(n) => this.recorder.feed(this.from, bytes.get(..*n).unwrap_or_default()),
            Err(why) => this.recorder.end(this.from, &why.to_string()),
        }
        Poll::Ready(wrote)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let shut = ready!(Pin::new(&mut this.stream).poll_shutdown(cx));
        this.recorder.end(this.from, "closed");
        Poll::Ready(shut)
    }
}

/// A stream that is dropped is closed.
impl<S> Drop for Tap<S> {
    fn drop(&mut self) {
        self.recorder.end(self.from, "closed");
    }
}
