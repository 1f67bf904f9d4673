//! The loop: reading, writing, commands and time, none of which waits for another.

use std::{io, sync::Arc};

use acp_core::{CloseReason, Role};
use bytes::{Buf, Bytes, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    select,
    time::{Instant, sleep_until},
};

use crate::shared::Shared;

/// Bytes read at a time, and bytes gathered into one write.
const PIECE: usize = 64 << 10;

/// Ends what waits for the driver, also when the driver is dropped half-way.
struct Finish<R: Role>(Arc<Shared<R>>);

impl<R: Role> Drop for Finish<R> {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// Drives one connection to its end, and says why it ended.
pub(crate) async fn drive<R: Role>(
    shared: Arc<Shared<R>>,
    mut reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
) -> CloseReason {
    let finish = Finish(shared);
    let shared = &finish.0;
    let mut input = vec![0; PIECE].into_boxed_slice();
    let mut output = Bytes::new();
    let mut unflushed = false;
    let mut give_up: Option<Instant> = None;
    let reason = loop {
        // Handing out output may be the last thing that the end waited for.
        if output.is_empty() {
            output = shared.step(|state, now| {
                // It has to know the time to tell a peer that reads slowly from one that does not read.
                state.desk.conn().handle_timeout(now);
                gather(state.desk.conn())
            });
        }
        let (wants_input, mut deadline, closed, drain) = {
            let mut state = shared.lock();
            state.writing = unflushed || !output.is_empty();
            let view = state.desk.view();
            let deadline = view.poll_timeout().map(|deadline| state.instant(deadline.at));
            let closed = view.is_closed().then(|| view.close_reason().cloned());
            (state.desk.wants_input(), deadline, closed, view.config().drain)
        };
        if let Some(reason) = closed {
            // What was handed out last is still written, if the peer takes it in time.
            let until = *give_up.get_or_insert_with(|| Instant::now() + drain);
            if (output.is_empty() && !unflushed) || Instant::now() >= until {
                break reason.unwrap_or(CloseReason::Local);
            }
            deadline = Some(until);
        }
        shared.wake_senders();
        select! {
            read = reader.read(&mut input), if wants_input => match read {
                Ok(0) => shared.step(|state, now| state.desk.conn().handle_eof(now)),
                Ok(n) => shared.step(|state, now| state.desk.conn().handle_input(input.get(..n).unwrap_or_default(), now)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => shared.step(|state, now| state.desk.conn().handle_lost(&format!("reading: {error}"), now)),
            },
            // One branch: `select!` borrows what it does not take, too.
            wrote = async {
                if output.is_empty() { writer.flush().await.map(|()| 0) } else { writer.write(&output).await }
            }, if unflushed || !output.is_empty() => match wrote {
                Ok(0) if output.is_empty() => unflushed = false,
                Ok(0) => lose(shared, &mut output, &mut unflushed, &io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    output.advance(n);
                    unflushed = true;
                    give_up = None;
                }
                Err(error) => lose(shared, &mut output, &mut unflushed, &error),
            },
            () = shared.work.notified() => {}
            () = async {
                match deadline {
                    Some(at) => sleep_until(at).await,
                    None => core::future::pending().await,
                }
            } => shared.step(|state, now| state.desk.conn().handle_timeout(now)),
        }
    };
    // The peer sees the end of our stream; that it may be gone already is no news.
    let _ = writer.shutdown().await;
    reason
}

/// Nothing can be written any more, so nothing that was read could be answered.
fn lose<R: Role>(shared: &Shared<R>, output: &mut Bytes, unflushed: &mut bool, error: &io::Error) {
    output.clear();
    *unflushed = false;
    shared.step(|state, now| state.desk.conn().handle_lost(&format!("writing: {error}"), now));
}

/// Takes the frames that are ready, as many as one write may carry. A large one goes as it is.
fn gather<R: Role>(conn: &mut acp_core::Connection<R>) -> Bytes {
    let Some(first) = conn.poll_transmit().map(acp_core::Frame::into_line) else { return Bytes::new() };
    if first.len() >= PIECE || conn.queued_bytes() == 0 {
        return first;
    }
    let mut gathered = BytesMut::with_capacity(PIECE);
    gathered.extend_from_slice(&first);
    while gathered.len() < PIECE {
        let Some(frame) = conn.poll_transmit() else { break };
        gathered.extend_from_slice(&frame.into_line());
    }
    gathered.freeze()
}
