//! The loop: reading, writing, commands and time, none of which waits for another. What is next, the core says.

use core::{
    future::{Future as _, poll_fn},
    pin::{Pin, pin},
    task::Poll,
};
use std::{io, sync::Arc};

use acp_core::{CloseReason, Happened, Input, Next, Role, Round};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf},
    task::coop::consume_budget,
    time::{Instant, sleep_until},
};

use crate::shared::{Attendance, Shared};

/// Ends what waits for the driver, also when the driver is dropped half-way, or before it was ever polled.
pub(crate) struct Finish<R: Role>(pub(crate) Arc<Shared<R>>);

impl<R: Role> Drop for Finish<R> {
    fn drop(&mut self) {
        self.0.forsake();
    }
}

/// Drives one connection to its end, with all that its sessions own, and says why it ended.
pub(crate) async fn drive<R: Role>(
    finish: Finish<R>,
    mut reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
) -> CloseReason {
    let shared = &finish.0;
    let mut input = Input::default();
    let mut work = pin!(shared.work.notified());
    // Rings at the earliest time that was wanted since it last rang: too early does no harm, and to set it costs.
    let mut alarm = pin!(sleep_until(Instant::now()));
    let mut rings_at: Option<Instant> = None;
    // Made when there is one: most connections have none.
    let mut children: Option<FuturesUnordered<Attendance>> = None;
    let mut happened = Happened::default();
    loop {
        let (next, until) = shared.round(|state, now| {
            state.desk.tell(happened, &input, now);
            if !state.arrivals.0.is_empty() {
                children.get_or_insert_default().extend(state.arrivals.0.drain(..));
            }
        });
        let Round { read, write, flush, .. } = match next {
            Next::Wait(round) => round,
            Next::Over { reason, orderly } => {
                if orderly {
                    // The peer sees the end of our stream; that it may be gone already is no news.
                    let _ = writer.shutdown().await;
                }
                drop((reader, writer));
                let mut children = children.unwrap_or_default();
                children.extend(shared.finish());
                while let Some(child) = children.next().await {
                    shared.child_ended(child);
                }
                return reason;
            }
        };
        if let Some(until) = until
            && rings_at.is_none_or(|at| until < at)
        {
            alarm.as_mut().reset(until);
            rings_at = Some(until);
        }
        // A peer that never pauses does not keep the thread.
        consume_budget().await;
        // Everything is tried each time, so that nothing that is always ready starves the rest.
        happened = poll_fn(|cx| {
            let mut happened = Happened::default();
            let mut again = false;
            happened.write(&write, flush, |bytes| {
                let writer = Pin::new(&mut writer);
                calm(
                    if bytes.is_empty() { writer.poll_flush(cx).map_ok(|()| 0) } else { writer.poll_write(cx, bytes) },
                    &mut again,
                )
            });
            if read {
                happened.read(&mut input, |space| {
                    let mut space = ReadBuf::new(space);
                    let attempt = Pin::new(&mut reader).poll_read(cx, &mut space);
                    calm(attempt.map_ok(|()| space.filled().len()), &mut again)
                });
            }
            if work.as_mut().poll(cx).is_ready() {
                work.set(shared.work.notified());
                again = true;
            }
            if rings_at.is_some() && alarm.as_mut().poll(cx).is_ready() {
                rings_at = None;
                again = true;
            }
            if let Some(children) = &mut children
                && let Poll::Ready(Some(child)) = children.poll_next_unpin(cx)
            {
                shared.child_ended(child);
                again = true;
            }
            happened.called = again;
            if happened.is_nothing() { Poll::Pending } else { Poll::Ready(happened) }
        })
        .await;
    }
}

/// An interrupted attempt is no failure: it is made `again`.
fn calm<T>(attempt: Poll<io::Result<T>>, again: &mut bool) -> Poll<io::Result<T>> {
    match attempt {
        Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {
            *again = true;
            Poll::Pending
        }
        attempt => attempt,
    }
}
