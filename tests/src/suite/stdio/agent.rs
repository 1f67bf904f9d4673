//! The child: an agent at the other end of whatever its stdin and stdout are.

use core::{
    future::poll_fn,
    pin::Pin,
    sync::atomic::{AtomicBool, Ordering},
    task::{Context, Poll, Waker},
    time::Duration,
};
use std::{
    process::{Command, exit},
    sync::Arc,
};

use acp_core::Config;
use futures_lite::{AsyncReadExt as _, AsyncWrite as _, AsyncWriteExt as _};

use crate::suite::{
    Adapter, BoxRead, BoxWrite,
    pair::{serve, until_cancelled, work},
};

/// Names what the child is to do.
pub(super) const ROLE: &str = "ACP_TEST_ROLE";
/// Where the wire begins.
pub(super) const READY: &str = "\u{1}ready\n";

/// More than any pipe or buffer on the way holds, and different at every offset.
pub(super) fn payload() -> Vec<u8> {
    (0..200_000_u32).flat_map(|n| format!("{n}\n").into_bytes()).collect()
}

/// Does nothing unless it is told to be an agent; then it never returns.
pub fn child<A: Adapter>() {
    let Ok(role) = std::env::var(ROLE) else { return };
    A::block_on(async move {
        let (stdin, mut stdout) = A::stdio().expect("stdin and stdout are there to be taken");
        stdout.write_all(READY.as_bytes()).await.expect("stdout takes bytes");
        stdout.flush().await.expect("stdout takes bytes");
        play::<A>(&role, stdin, stdout).await;
    });
    exit(0);
}

async fn play<A: Adapter>(role: &str, mut stdin: BoxRead, mut stdout: BoxWrite) {
    match role {
        "echo" => echo(stdin, stdout).await,
        "noise" => {
            println!("stray print");
            let status = Command::new("sh").args(["-c", "echo from a child; cat; echo its input is over"]).status();
            assert!(status.expect("sh starts").success());
            echo(stdin, stdout).await;
        }
        "drop" => {
            stdout.write_all(&payload()).await.expect("stdout takes bytes");
            drop(stdout);
        }
        "twice" => eprintln!("{}", A::stdio().map(drop).expect_err("it was taken")),
        "read" => {
            let mut byte = [0];
            let mut read = core::pin::pin!(stdin.read_exact(&mut byte));
            let waits = poll_fn(|cx| Poll::Ready(read.as_mut().poll(cx).is_pending())).await;
            assert!(waits, "nobody types");
            stdout.write_all(b"reading\n").await.expect("stdout takes bytes");
            stdout.close().await.expect("stdout takes bytes");
        }
        "full" => full(stdout),
        "terminated" => {
            let terminated = A::terminated();
            stdout.write_all(b"waiting\n").await.expect("stdout takes bytes");
            terminated.await;
            stdout.write_all(b"in order\n").await.expect("stdout takes bytes");
            stdout.close().await.expect("stdout takes bytes");
            stdin.read_to_end(&mut Vec::new()).await.expect("stdin works");
        }
        "broken" => {
            // Nothing is under way; the end of stdin says that nobody reads any more.
            eprintln!("written");
            stdin.read_to_end(&mut Vec::new()).await.expect("stdin works");
            // A child of the test's that is just being started may still hold what its parent has closed.
            let error = loop {
                match async { stdout.write_all(b"more").await.and(stdout.flush().await) }.await {
                    Ok(()) => A::sleep(Duration::from_millis(1)).await,
                    Err(error) => break error,
                }
            };
            eprintln!("failed: {error}");
            assert!(stdout.write_all(b"again").await.is_err(), "it stays broken");
        }
        "turn" => {
            let (agent, told, driver) = A::agent_over(stdin, stdout, Config::agent());
            let end = A::spawn(driver);
            let stopped = Arc::new(AtomicBool::new(false));
            let stops = Arc::clone(&stopped);
            let turn = work::<A, _>(move |turn| {
                let stops = Arc::clone(&stops);
                async move {
                    until_cancelled::<A>(turn).await;
                    stops.store(true, Ordering::Release);
                }
            });
            serve::<A>(agent, told, turn).await;
            end.await;
            while !stopped.load(Ordering::Acquire) {
                A::sleep(Duration::from_millis(1)).await;
            }
            eprintln!("the turn was cancelled");
        }
        other => panic!("no such role: {other}"),
    }
}

async fn echo(mut stdin: BoxRead, mut stdout: BoxWrite) {
    futures_lite::io::copy(&mut stdin, &mut stdout).await.expect("stdin and stdout work");
    stdout.close().await.expect("stdout takes bytes");
    assert!(stdout.write_all(b"late").await.is_err(), "nothing is taken after the end");
}

/// Writes to a terminal that nobody reads, until no more is taken.
fn full(mut stdout: BoxWrite) {
    let mut taken = 0;
    let mut cx = Context::from_waker(Waker::noop());
    while let Poll::Ready(n) = Pin::new(&mut stdout).poll_write(&mut cx, &[b'x'; 4096]) {
        taken += n.expect("stdout takes bytes");
        assert!(taken <= 1 << 20, "memory is bounded");
    }
    eprintln!("full");
    // Not dropped: that would wait for the terminal.
    exit(0);
}
