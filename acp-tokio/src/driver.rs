//! The loop: reading, writing, commands and time, none of which waits for another. What is next, the core says.

use std::{io, sync::Arc};

use acp_core::{CloseReason, Next, PIECE, Role, Round};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    select,
    time::sleep_until,
};

use crate::shared::Shared;

/// Ends what waits for the driver, also when the driver is dropped half-way, or before it was ever polled.
pub(crate) struct Finish<R: Role>(pub(crate) Arc<Shared<R>>);

impl<R: Role> Drop for Finish<R> {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// Drives one connection to its end, and says why it ended.
pub(crate) async fn drive<R: Role>(
    finish: Finish<R>,
    mut reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
) -> CloseReason {
    let shared = &finish.0;
    let mut input = vec![0; PIECE].into_boxed_slice();
    loop {
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
                    let _ = writer.shutdown().await;
                }
                return reason;
            }
        };
        select! {
            read = reader.read(&mut input), if read => match read {
                Ok(n) => shared.step(|state, now| state.desk.read(input.get(..n).unwrap_or_default(), now)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => shared.step(|state, now| state.desk.read_failed(&error, now)),
            },
            // One branch: `select!` borrows what it does not take, too.
            wrote = async {
                if flush { writer.flush().await.map(|()| 0) } else { writer.write(&write).await }
            }, if flush || !write.is_empty() => match wrote {
                Ok(_) if flush => shared.step(|state, _| state.desk.flushed()),
                Ok(n) => shared.step(|state, now| state.desk.wrote(n, now)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => shared.step(|state, now| state.desk.write_failed(&error, now)),
            },
            () = shared.work.notified() => {}
            () = async {
                match until {
                    Some(at) => sleep_until(at).await,
                    None => core::future::pending().await,
                }
            } => shared.step(|state, now| state.desk.timeout(now)),
        }
    }
}
