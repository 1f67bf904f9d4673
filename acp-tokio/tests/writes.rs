//! How often the system is asked: a burst of updates goes out in few writes.

use core::{
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering},
    task::{Context, Poll},
    time::Duration,
};
use std::{io, sync::Arc};

use acp_tokio::{
    Actions, Handle,
    acp_core::{Agent, AgentAction, Config, Payload, SessionKey, wire::UpdateKind},
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf};

/// Counts what would be a call of the system each, if the stream were a pipe: a read, a write. A flush is none.
#[derive(Default)]
struct Calls {
    reads: AtomicUsize,
    writes: AtomicUsize,
    bytes: AtomicUsize,
}

struct Counted<S>(S, Arc<Calls>);

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.1.reads.fetch_add(1, Ordering::Relaxed);
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.1.writes.fetch_add(1, Ordering::Relaxed);
        let written = Pin::new(&mut self.0).poll_write(cx, bytes);
        if let Poll::Ready(Ok(count)) = written {
            self.1.bytes.fetch_add(count, Ordering::Relaxed);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

const UPDATES: usize = 2000;

/// An agent's end with one session, whose stream holds this many bytes, and the other end of that.
async fn agent(holds: usize) -> (Handle<Agent>, Actions<Agent>, SessionKey, DuplexStream, Arc<Calls>) {
    let calls = Arc::new(Calls::default());
    let (ours, mut theirs) = tokio::io::duplex(holds);
    let (reader, writer) = tokio::io::split(ours);
    let parts = acp_tokio::agent(Counted(reader, calls.clone()), Counted(writer, calls.clone()), Config::agent());
    let (handle, mut actions, driver) = parts.expect("the defaults are valid");
    tokio::spawn(driver);
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
    let new = r#"{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}"#;
    theirs.write_all(format!("{initialize}\n").as_bytes()).await.expect("the agent reads");
    loop {
        match actions.next().await.expect("both are asked") {
            AgentAction::Initialize { ticket, .. } => {
                handle.accept_initialize(ticket, &Payload::EMPTY).expect("an object");
                theirs.write_all(format!("{new}\n").as_bytes()).await.expect("the agent reads");
            }
            AgentAction::SessionRequested { ticket, .. } => {
                let result = Payload::try_from(serde_json::json!({ "sessionId": "s" })).expect("JSON");
                let (session, _) = handle.accept_session(ticket, &result).expect("it is new");
                return (handle, actions, session, theirs, calls);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn what_is_queued_while_a_write_waits_goes_out_when_it_is_done() {
    let (handle, _actions, session, mut peer, _) = agent(1024).await;
    let say = |size: usize| {
        let text = "x".repeat(size);
        let handle = handle.clone();
        async move { handle.say(session, &UpdateKind::AgentMessageChunk, &text).await.expect("there is room") }
    };
    let mut seen = 0;
    let mut buffer = vec![0; 4096];
    // Which of the two news the driver looks at first is chance, so often enough.
    for round in 1..=100 {
        // More than the stream holds, and what is behind it comes when the rest of it fits.
        say(1200).await;
        tokio::task::yield_now().await;
        say(10).await;
        while seen < 2 * round + 2 {
            let read = tokio::time::timeout(Duration::from_secs(10), peer.read(&mut buffer));
            let count = read.await.expect("all of it goes out").expect("the agent writes");
            seen += buffer[..count].iter().filter(|byte| **byte == b'\n').count();
        }
    }
}

#[tokio::test]
async fn a_burst_of_updates_goes_out_in_few_calls() {
    let (handle, _actions, session, mut theirs, calls) = agent(64 << 10).await;
    let peer = tokio::spawn(async move { tokio::io::copy(&mut theirs, &mut tokio::io::sink()).await });
    handle.flush().await;
    let before = calls.reads.load(Ordering::Relaxed) + calls.writes.load(Ordering::Relaxed);
    let text = "x".repeat(1024);
    for _ in 0..UPDATES {
        handle.say(session, &UpdateKind::AgentMessageChunk, &text).await.expect("there is room");
    }
    handle.flush().await;
    let used = calls.reads.load(Ordering::Relaxed) + calls.writes.load(Ordering::Relaxed) - before;
    assert!(calls.bytes.load(Ordering::Relaxed) > UPDATES * 1024);
    println!("{used} reads and writes for {UPDATES} updates");
    assert!(used * 2 <= UPDATES, "{used} reads and writes for {UPDATES} updates");
    handle.close();
    handle.closed().await;
    drop(handle);
    assert!(peer.await.expect("the peer ends").expect("it reads") > (UPDATES * 1024) as u64);
}
