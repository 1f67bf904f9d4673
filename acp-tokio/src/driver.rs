//! The loop: reading, writing, commands and time, none of which waits for another. What is next, the core says.
//!
//! Both adapters have this file: one of them has a link to it.

use core::{
    future::poll_fn,
    pin::Pin,
    task::{Poll, Waker},
};
use std::{io, sync::Arc};

use acp_core::{CloseReason, Happened, Input, Next, Role};

use crate::{
    runtime::{Alarm, AsyncRead, AsyncWrite, Children, Instant, poll_child, poll_close, poll_read, yield_now},
    shared::Shared,
};

/// Ends what waits for the driver, also when the driver is dropped half-way, or before it was ever polled.
pub(crate) struct Finish<R: Role>(pub(crate) Arc<Shared<R>>);

impl<R: Role> Drop for Finish<R> {
    fn drop(&mut self) {
        self.0.forsake();
    }
}

/// Rounds after which a driver lets others in between.
const IN_A_ROW: u32 = 32;

/// Drives one connection to its end, with all that its sessions own, and says why it ended.
pub(crate) async fn drive<R: Role>(
    finish: Finish<R>,
    mut reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
) -> CloseReason {
    let shared = &finish.0;
    let mut input = Input::default();
    // Rings at the earliest time that was wanted since it last rang: too early does no harm, and to set it costs.
    let mut alarm = Alarm::new();
    let mut rings_at: Option<Instant> = None;
    // Made when there is one: most connections have none.
    let mut children: Option<Children> = None;
    let mut happened = Happened::default();
    let mut rounds = 0;
    let mut waker: Option<Waker> = None;
    loop {
        let (next, until) = shared.round(|state, now| {
            state.desk.tell(happened, &input, now);
            if !state.arrivals.0.is_empty() {
                children.get_or_insert_default().extend(state.arrivals.0.drain(..));
            }
        });
        let round = match next {
            Next::Wait(round) => round,
            Next::Over { reason, orderly } => {
                if orderly {
                    // The peer sees the end of our stream; that it may be gone already is no news.
                    let _ = poll_fn(|cx| poll_close(&mut writer, cx)).await;
                }
                drop((reader, writer));
                let mut children = children.unwrap_or_default();
                children.extend(shared.finish());
                while let Some(child) = poll_fn(|cx| poll_child(&mut children, cx)).await {
                    shared.child_ended(child);
                }
                return reason;
            }
        };
        if let Some(until) = until
            && rings_at.is_none_or(|at| until < at)
        {
            alarm.set(until);
            rings_at = Some(until);
        }
        // A peer that never pauses does not keep the thread.
        rounds = (rounds + 1) % IN_A_ROW;
        if rounds == 0 {
            yield_now().await;
        }
        happened = Happened::default();
        // Whether a command may have woken this task since the round.
        let mut waited = rounds == 0;
        poll_fn(|cx| {
            let known = waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
            if !known {
                waker = Some(cx.waker().clone());
            }
            // A command that is made from here on wakes this task once more.
            if waited || !known {
                happened.called = shared.lock().attend(cx.waker());
                if happened.called && waited {
                    // It most likely has to write: that is looked at first.
                    return Poll::Ready(());
                }
            }
            waited = true;
            let mut again = happened.called;
            // Everything is tried each time, so that nothing that is always ready starves the rest.
            happened.write(&round, |bytes| {
                let writer = Pin::new(&mut writer);
                calm(
                    if bytes.is_empty() { writer.poll_flush(cx).map_ok(|()| 0) } else { writer.poll_write(cx, bytes) },
                    &mut again,
                )
            });
            if round.read {
                happened.read(&mut input, |space| calm(poll_read(&mut reader, cx, space), &mut again));
            }
            if rings_at.is_some() && alarm.poll(cx).is_ready() {
                rings_at = None;
                again = true;
            }
            if let Some(children) = &mut children
                && let Poll::Ready(Some(child)) = poll_child(children, cx)
            {
                shared.child_ended(child);
                again = true;
            }
            happened.called = again;
            if happened.is_news(&round) { Poll::Ready(()) } else { Poll::Pending }
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
