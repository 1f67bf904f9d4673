//! The loop: reading, writing, commands and time, none of which waits for another. What is next, the core says.

use core::{
    future::{Future as _, poll_fn},
    pin::Pin,
    task::Poll,
};
use std::{io, sync::Arc, time::Instant};

use acp_core::{CloseReason, Next, PIECE, Role, Round};
use async_io::Timer;
use futures_io::{AsyncRead, AsyncWrite};
use futures_lite::{AsyncWriteExt as _, future::yield_now};

use crate::shared::Shared;

/// Ends what waits for the driver, also when the driver is dropped half-way, or before it was ever polled.
pub(crate) struct Finish<R: Role>(pub(crate) Arc<Shared<R>>);

impl<R: Role> Drop for Finish<R> {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// All that happened while the driver waited.
#[derive(Default)]
struct Happened {
    read: Option<io::Result<usize>>,
    wrote: Option<io::Result<usize>>,
    due: bool,
    called: bool,
}

/// Drives one connection to its end, and says why it ended.
pub(crate) async fn drive<R: Role>(
    finish: Finish<R>,
    mut reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
) -> CloseReason {
    let shared = &finish.0;
    let mut input = vec![0; PIECE].into_boxed_slice();
    let mut timer: Option<(Instant, Timer)> = None;
    loop {
        // Listen first, look second: a command in between is not missed.
        let mut work = shared.work.listen();
        let (next, until) = shared.step(|state, now| {
            let next = state.desk.next(now);
            let until = if let Next::Wait(Round { until, .. }) = &next { *until } else { None };
            (next, until.map(|at| state.instant(at)))
        });
        shared.wake_senders();
        let Round { read, write, flush, .. } = match next {
            Next::Wait(round) => round,
            Next::Over { reason, orderly } => {
                if orderly {
                    // The peer sees the end of our stream; that it may be gone already is no news.
                    let _ = writer.close().await;
                }
                return reason;
            }
        };
        if timer.as_ref().map(|(at, _)| *at) != until {
            timer = until.map(|at| (at, Timer::at(at)));
        }
        // Everything is tried each time, so that nothing that is always ready starves the rest.
        let Happened { read, wrote, due, .. } = poll_fn(|cx| {
            let mut happened = Happened::default();
            if read && let Poll::Ready(read) = Pin::new(&mut reader).poll_read(cx, &mut input) {
                happened.read = Some(read);
            }
            if flush && let Poll::Ready(flushed) = Pin::new(&mut writer).poll_flush(cx) {
                happened.wrote = Some(flushed.map(|()| 0));
            }
            if !write.is_empty()
                && let Poll::Ready(wrote) = Pin::new(&mut writer).poll_write(cx, &write)
            {
                happened.wrote = Some(wrote);
            }
            happened.due = timer.as_mut().is_some_and(|(_, timer)| Pin::new(timer).poll(cx).is_ready());
            happened.called = Pin::new(&mut work).poll(cx).is_ready();
            let Happened { read, wrote, due, called } = &happened;
            if read.is_some() || wrote.is_some() || *due || *called { Poll::Ready(happened) } else { Poll::Pending }
        })
        .await;
        let moved = read.is_some() || wrote.is_some();
        match read {
            Some(Ok(n)) => shared.step(|state, now| state.desk.read(input.get(..n).unwrap_or_default(), now)),
            Some(Err(error)) if error.kind() != io::ErrorKind::Interrupted => {
                shared.step(|state, now| state.desk.read_failed(&error, now));
            }
            _ => {}
        }
        match wrote {
            Some(Ok(_)) if flush => shared.step(|state, _| state.desk.flushed()),
            Some(Ok(n)) => shared.step(|state, now| state.desk.wrote(n, now)),
            Some(Err(error)) if error.kind() != io::ErrorKind::Interrupted => {
                shared.step(|state, now| state.desk.write_failed(&error, now));
            }
            _ => {}
        }
        if due {
            timer = None;
            shared.step(|state, now| state.desk.timeout(now));
        }
        if moved {
            // A peer that never pauses does not keep the thread.
            yield_now().await;
        }
    }
}
