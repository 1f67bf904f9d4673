//! Pipes that are full, hosts that are slow, peers that do not pause.

use core::{
    pin::Pin,
    sync::atomic::{AtomicUsize, Ordering},
    task::{Context, Poll},
    time::Duration,
};
use std::{io, sync::Arc};

use acp_core::{AgentAction, CancelKind, Client, ClientAction, Common, Config, Payload, Settlement, wire::StopReason};
use futures_lite::{
    AsyncReadExt as _, AsyncWrite,
    future::{yield_now, zip},
};
use serde_json::json;

use super::{
    Adapter, Pair, Raw,
    pair::{duplex, serve, work},
    payload, polled, text,
};

/// Waits until something has happened `least` times and nothing of it happens any more.
async fn stalled<A: Adapter>(count: &AtomicUsize, least: usize) {
    loop {
        let before = count.load(Ordering::Relaxed);
        A::sleep(Duration::from_millis(150)).await;
        if before >= least && count.load(Ordering::Relaxed) == before {
            return;
        }
    }
}

#[doc(hidden)]
pub async fn a_host_that_takes_no_actions_stops_the_reading_and_not_the_cancel<A: Adapter>() {
    let (sent, stopped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (count, stops) = (Arc::clone(&sent), Arc::clone(&stopped));
    let counts = move |turn: A::Turn| {
        let (count, stops) = (Arc::clone(&count), Arc::clone(&stops));
        async move {
            let more = text("more");
            while !A::is_cancelled(&turn) {
                let update = async {
                    A::update(&turn, &more).await.expect("it fits");
                    count.fetch_add(1, Ordering::Relaxed);
                };
                futures_lite::future::or(A::cancelled(&turn), update).await;
                yield_now().await;
            }
            A::stop(turn, StopReason::EndTurn);
            stops.store(1, Ordering::Release);
        }
    };
    let mut pair = Pair::<A>::new(256, work::<A, _>(counts)).await;
    let turn = pair.prompt();
    stalled::<A>(&sent, 1024).await;
    // The client's host still takes nothing, and the cancel goes out all the same: the agent stops although it is stuck.
    pair.cancel(turn, CancelKind::Steer);
    while stopped.load(Ordering::Acquire) == 0 {
        A::sleep(Duration::from_millis(1)).await;
    }
    let most = sent.load(Ordering::Relaxed);
    // The client's bound of actions; the agent's mark, in its queue and in its driver; pieces of some 150 bytes.
    let held = 2 * (2 * (64 << 10)) / 100;
    assert!((1024..1024 + held).contains(&most), "{most}");
    let (updates, settlement) = pair.finish().await;
    assert_eq!((updates, settlement), (most, Settlement::Cancelled));
    pair.close().await;
}

#[doc(hidden)]
pub async fn both_ends_write_more_than_a_pipe_holds<A: Adapter>() {
    const NOTES: usize = 40;
    let (left, right) = duplex(64);
    let (agent, mut told, driver) = A::agent(right, Config::agent());
    A::detach(async { drop(driver.await) });
    let (client, mut actions, driver) = A::client(left, Config::client());
    A::detach(async { drop(driver.await) });
    let hello = A::initialize(&client, &Payload::EMPTY).expect("idle");
    let Some(AgentAction::Initialize { ticket, .. }) = A::next(&mut told).await else { panic!() };
    A::with(&agent, |conn, now| conn.accept_initialize(ticket, &Payload::EMPTY, now)).expect("an object");
    hello.await;
    // Both write first and read later, as ends do that deadlock.
    let note = payload(json!({ "text": "x".repeat(10_000) }));
    for _ in 0..NOTES {
        A::with(&client, |conn, now| conn.notify("_note", Some(&note), now)).expect("there is room");
        A::with(&agent, |conn, now| conn.notify("_note", Some(&note), now)).expect("there is room");
    }
    let both = zip(A::flush(&client), A::flush(&agent));
    let ((), ()) = both.await;
    for _ in 0..NOTES {
        assert!(matches!(A::next(&mut told).await, Some(AgentAction::Common(Common::Notification { .. }))));
        assert!(matches!(A::next(&mut actions).await, Some(ClientAction::Common(Common::Notification { .. }))));
    }
}

#[doc(hidden)]
pub async fn a_peer_that_reads_slowly_gets_every_byte_in_order<A: Adapter>() {
    let large = |turn: A::Turn| async move {
        for n in 0..60 {
            A::update(&turn, &text(&format!("{n} {}", "x".repeat(5_000)))).await.expect("it fits");
        }
        A::stop(turn, StopReason::EndTurn);
    };
    let (near, far) = duplex(100);
    let (agent, told, driver) = A::agent(near, Config::agent());
    A::detach(async { drop(driver.await) });
    A::detach(serve::<A>(agent.clone(), told, work::<A, _>(large)));
    let mut peer = Raw::new(far);
    peer.open().await;
    peer.prompt(3).await;
    // Nothing of it was read: it cannot be flushed, and there is no room for all of it.
    let mut bytes = vec![0; 7];
    peer.reader.read_exact(&mut bytes).await.expect("the first bytes");
    while A::with(&agent, |conn, _| conn.queued_bytes()) <= 64 << 10 {
        yield_now().await;
    }
    assert_eq!(polled(A::room(&agent), 1).await, None);
    assert_eq!(polled(A::flush(&agent), 1).await, None);
    let mut breaks = 0;
    while breaks < 61 {
        let mut some = [0; 7];
        let n = peer.reader.read(&mut some).await.expect("a pipe in memory");
        breaks += some[..n].iter().filter(|byte| **byte == b'\n').count();
        bytes.extend_from_slice(&some[..n]);
    }
    let lines: Vec<_> = bytes.split(|byte| *byte == b'\n').collect();
    A::flush(&agent).await;
    for (n, line) in lines.iter().take(60).enumerate() {
        let update: serde_json::Value = serde_json::from_slice(line).expect("a whole line");
        let said = update["params"]["update"]["content"]["text"].as_str().expect("a text");
        assert!(said.starts_with(&format!("{n} xx")) && said.ends_with("xx"), "{n}");
    }
    let last: serde_json::Value = serde_json::from_slice(lines[60]).expect("a whole line");
    assert_eq!(last["result"]["stopReason"], "end_turn");
}

/// Counts what would be a call of the system each, if it were a pipe.
struct Counted<W>(W, Arc<AtomicUsize>);

impl<W: AsyncWrite + Unpin> AsyncWrite for Counted<W> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_close(cx)
    }
}

#[doc(hidden)]
pub async fn a_burst_goes_out_in_few_writes<A: Adapter>() {
    const NOTES: usize = 2000;
    let writes = Arc::new(AtomicUsize::new(0));
    let ((reader, writer), far) = duplex(64 << 10);
    let writer = Counted(writer, Arc::clone(&writes));
    let (agent, told, driver) = A::agent_over(Box::new(reader), Box::new(writer), Config::agent());
    A::detach(async { drop(driver.await) });
    A::detach(serve::<A>(agent.clone(), told, work::<A, _>(|turn| async { drop(turn) })));
    let mut peer = Raw::new(far);
    peer.open().await;
    A::flush(&agent).await;
    let before = writes.load(Ordering::Relaxed);
    let note = payload(json!({ "text": "x".repeat(100) }));
    // In one step, so that nobody writes in between.
    A::with(&agent, |conn, now| {
        for _ in 0..NOTES {
            conn.notify("_note", Some(&note), now).expect("there is room");
        }
    });
    let read = async {
        let (mut breaks, mut some) = (0, vec![0; 64 << 10]);
        while breaks < NOTES {
            let n = peer.reader.read(&mut some).await.expect("a pipe in memory");
            breaks += some[..n].iter().filter(|byte| **byte == b'\n').count();
        }
    };
    zip(read, A::flush(&agent)).await;
    let used = writes.load(Ordering::Relaxed) - before;
    assert!(used * 10 <= NOTES, "{used} writes for {NOTES} notifications");
}

#[doc(hidden)]
pub async fn a_peer_that_never_pauses_does_not_keep_the_cancel_from_going_out<A: Adapter>() {
    let (near, far) = duplex(4096);
    let (client, actions, driver) = A::client(near, Config::client());
    A::detach(async { drop(driver.await) });
    // The host takes all it is told.
    A::detach(take_all::<A>(actions));
    let mut agent = Raw::new(far);
    let hello = A::initialize(&client, &Payload::EMPTY).expect("idle");
    let id = agent.hear().await.expect("a request")["id"].clone();
    agent.say(json!({ "id": id, "result": { "protocolVersion": 1 } })).await;
    hello.await;
    let opened = A::request(&client, "session/new", super::pair::place()).expect("initialized");
    let id = agent.hear().await.expect("a request")["id"].clone();
    agent.say(json!({ "id": id, "result": { "sessionId": "s" } })).await;
    let session = opened.await.session.expect("a session");
    let turn = A::prompt(&client, session, &super::pair::words()).expect("idle");
    agent.hear().await.expect("the prompt");
    // From here on it talks without a pause, in a task of its own, and reads nothing but what a cancel is.
    let Raw { mut reader, mut writer } = agent;
    let talk = A::spawn(async move {
        let note = b"{\"jsonrpc\":\"2.0\",\"method\":\"_note\"}\n";
        while futures_lite::AsyncWriteExt::write_all(&mut writer, note).await.is_ok() {}
    });
    A::sleep(Duration::from_millis(20)).await;
    A::with(&client, |conn, now| conn.cancel_turn(A::prompt_key(&turn), CancelKind::Steer, now)).expect("ours");
    let mut heard = vec![0; 64];
    reader.read_exact(&mut heard).await.expect("the cancel");
    assert!(String::from_utf8_lossy(&heard).contains("session/cancel"), "{}", String::from_utf8_lossy(&heard));
    drop((turn, reader));
    A::close(&client);
    talk.await;
}

async fn take_all<A: Adapter>(mut actions: A::Actions<Client>) {
    while A::next(&mut actions).await.is_some() {}
}
