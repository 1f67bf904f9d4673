//! How connections end, whoever ends them.

use core::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};
use std::{sync::Arc, time::Instant};

use acp_core::{
    AgentAction, ClientAction, CloseReason, CommandError, Common, Config, Outcome, Payload, Settlement,
    wire::StopReason,
};
use futures_lite::AsyncReadExt as _;
use serde_json::json;

use super::{
    Adapter, Pair, Raw,
    pair::{asks, duplex, hangs, place, serve, stream, words, work},
    payload, polled, text,
};

#[doc(hidden)]
pub async fn a_scripted_peer_is_answered_line_by_line<A: Adapter>() {
    let (near, far) = duplex(1);
    let (agent, told, driver) = A::agent(near, Config::agent());
    let end = A::spawn(driver);
    A::detach(serve::<A>(agent, told, work::<A, _>(asks::<A>)));
    let mut peer = Raw::new(far);
    peer.open().await;
    peer.prompt(3).await;
    let asked = peer.hear().await.expect("a question");
    assert_eq!((&asked["method"], &asked["params"]["sessionId"]), (&json!("session/request_permission"), &json!("s1")));
    peer.say(json!({ "id": 4, "method": "no/such" })).await;
    assert_eq!(peer.hear().await.expect("an answer")["error"]["code"], -32601);
    let chosen = json!({ "outcome": { "outcome": "selected", "optionId": "yes" } });
    peer.say(json!({ "id": asked["id"], "result": chosen })).await;
    let update = peer.hear().await.expect("an update");
    assert_eq!(update["params"]["update"]["content"]["text"], chosen.to_string());
    assert_eq!(peer.hear().await, Some(json!({ "id": 3, "result": { "stopReason": "end_turn" } })));
    drop(peer.writer);
    assert_eq!(end.await, CloseReason::Eof);
}

#[doc(hidden)]
pub async fn at_the_end_of_the_input_what_was_accepted_is_answered_then_the_output_ends<A: Adapter>() {
    let (near, far) = duplex(64);
    let (agent, mut told, driver) = A::agent(near, Config::agent());
    let end = A::spawn(driver);
    let (mut held, mut turns) = (None, Vec::new());
    let host = A::spawn({
        let agent = agent.clone();
        async move {
            while let Some(action) = A::next(&mut told).await {
                match action {
                    AgentAction::Initialize { ticket, .. } => {
                        A::with(&agent, |conn, now| conn.accept_initialize(ticket, &Payload::EMPTY, now))
                            .expect("good");
                    }
                    AgentAction::SessionRequested { ticket, .. } => {
                        let id = payload(json!({ "sessionId": "s1" }));
                        A::with(&agent, |conn, now| conn.accept_session(ticket, &id, now)).expect("new");
                    }
                    AgentAction::Prompt { ticket, .. } => turns.push(A::turn(&agent, ticket)),
                    AgentAction::Common(Common::Request { ticket, .. }) => held = Some(ticket),
                    // The end of the input: only now are they answered, the request with much to flush.
                    AgentAction::AbortTurn { .. } => {
                        for turn in turns.drain(..) {
                            assert!(A::is_cancelled(&turn));
                            A::stop(turn, StopReason::EndTurn);
                        }
                        let much = payload(json!({ "much": "x".repeat(100_000) }));
                        let ticket = held.take().expect("it came before");
                        A::with(&agent, |conn, now| conn.respond(ticket, Ok(much), now)).expect("taken");
                    }
                    AgentAction::Common(Common::Closed(reason)) => return reason,
                    _ => {}
                }
            }
            panic!("the end is told")
        }
    });
    let mut peer = Raw::new(far);
    peer.open().await;
    peer.say(json!({ "id": 4, "method": "_slow" })).await;
    peer.prompt(3).await;
    drop(core::mem::replace(&mut peer.writer, piper::pipe(1).1));
    assert_eq!(peer.hear().await, Some(json!({ "id": 3, "result": { "stopReason": "cancelled" } })));
    let answer = peer.hear().await.expect("the request is answered");
    assert_eq!((&answer["id"], answer["result"]["much"].as_str().map(str::len)), (&json!(4), Some(100_000)));
    assert_eq!(peer.hear().await, None, "then the stream ends");
    assert_eq!(end.await, CloseReason::Eof);
    assert_eq!(host.await, CloseReason::Eof);
    assert_eq!(A::closed(&agent).await, CloseReason::Eof);
}

#[doc(hidden)]
pub async fn a_client_that_goes_away_ends_the_agent_and_its_turns<A: Adapter>() {
    let over = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&over);
    let counted = move |turn: A::Turn| {
        let count = Arc::clone(&count);
        async move {
            hangs::<A>(turn).await;
            count.fetch_add(1, Ordering::Relaxed);
        }
    };
    let (left, right) = duplex(1024);
    let (agent, told, driver) = A::agent(right, Config::agent());
    let agent_end = A::spawn(driver);
    A::detach(serve::<A>(agent, told, work::<A, _>(counted)));
    let mut peer = Raw::new(left);
    peer.open().await;
    peer.prompt(3).await;
    drop(peer);
    // Whether it sees the end of its input or of its output first is a race.
    let reason = agent_end.await;
    assert!(matches!(reason, CloseReason::Eof | CloseReason::Lost(_)), "{reason:?}");
    while over.load(Ordering::Relaxed) == 0 {
        A::sleep(Duration::from_millis(1)).await;
    }
}

#[doc(hidden)]
pub async fn a_dropped_driver_resolves_what_is_awaited_and_stops_the_turns<A: Adapter>() {
    let (near, _far) = duplex(64);
    let (client, mut actions, driver) = A::client(near, Config::client());
    let hello = A::initialize(&client, &Payload::EMPTY).expect("idle");
    assert_eq!(polled(driver, 1).await, None);
    assert_eq!(hello.await.outcome, Outcome::Closed);
    let Some(ClientAction::Common(Common::Closed(CloseReason::Lost(why)))) = A::next(&mut actions).await else {
        panic!("the end is told")
    };
    assert!(A::next(&mut actions).await.is_none());
    A::room(&client).await;
    A::flush(&client).await;
    assert_eq!(A::closed(&client).await, CloseReason::Lost(why));
    assert!(A::is_closed(&client));

    let (near, far) = duplex(1024);
    let (agent, mut told, driver) = A::agent(near, Config::agent());
    let driver = A::spawn(async move {
        // As long as the peer is there.
        let (tell, told) = futures_channel::oneshot::channel::<()>();
        let driven = futures_lite::future::or(async { drop(driver.await) }, async {
            let _ = told.await;
        });
        let play = async move {
            let mut peer = Raw::new(far);
            peer.say(json!({ "id": 1, "method": "initialize", "params": { "protocolVersion": 1 } })).await;
            peer.hear().await;
            peer.say(json!({ "id": 2, "method": "session/new", "params": { "cwd": "/", "mcpServers": [] } })).await;
            peer.hear().await;
            peer.prompt(3).await;
            A::sleep(Duration::from_millis(50)).await;
            drop(tell);
            peer
        };
        futures_lite::future::zip(driven, play).await.1
    });
    let turn = loop {
        match A::next(&mut told).await.expect("a prompt comes first") {
            AgentAction::Initialize { ticket, .. } => {
                A::with(&agent, |conn, now| conn.accept_initialize(ticket, &Payload::EMPTY, now)).expect("good");
            }
            AgentAction::SessionRequested { ticket, .. } => {
                let id = payload(json!({ "sessionId": "s1" }));
                A::with(&agent, |conn, now| conn.accept_session(ticket, &id, now)).expect("new");
            }
            AgentAction::Prompt { ticket, .. } => break A::turn(&agent, ticket),
            other => panic!("{other:?}"),
        }
    };
    A::cancelled(&turn).await;
    let mut peer = driver.await;
    A::stop(turn, StopReason::EndTurn);
    assert_eq!(peer.hear().await, None, "nobody writes any more");
}

#[doc(hidden)]
pub async fn a_command_after_the_driver_is_gone_is_refused<A: Adapter>() {
    let pair = Pair::<A>::new(1024, work::<A, _>(stream::<A>)).await;
    A::close(&pair.client);
    A::closed(&pair.client).await;
    assert!(matches!(A::request(&pair.client, "session/new", place()), Err(CommandError::Closed)));
    assert!(matches!(A::prompt(&pair.client, pair.session, &words()), Err(CommandError::Closed)));

    let (near, _far) = duplex(64);
    let (client, _actions, driver) = A::client(near, Config::client());
    drop(polled(driver, 1).await);
    assert!(matches!(A::initialize(&client, &Payload::EMPTY), Err(CommandError::Closed)));
}

#[doc(hidden)]
pub async fn the_end_of_a_prompt_is_not_lost_when_the_agent_leaves_before_it_was_taken<A: Adapter>() {
    let (near, far) = duplex(4096);
    let (client, mut actions, driver) = A::client(near, Config::client());
    let end = A::spawn(driver);
    let mut agent = Raw::new(far);
    let hello = A::initialize(&client, &Payload::EMPTY).expect("idle");
    let id = agent.hear().await.expect("a request")["id"].clone();
    agent.say(json!({ "id": id, "result": { "protocolVersion": 1 } })).await;
    hello.await;
    let opened = A::request(&client, "session/new", place()).expect("initialized");
    let id = agent.hear().await.expect("a request")["id"].clone();
    agent.say(json!({ "id": id, "result": { "sessionId": "s" } })).await;
    let session = opened.await.session.expect("a session");
    let turn = A::prompt(&client, session, &words()).expect("idle");
    let id = agent.hear().await.expect("the prompt")["id"].clone();
    agent.say(json!({ "id": id, "result": { "stopReason": "end_turn" } })).await;
    drop(agent);
    let reason = end.await;
    assert_eq!(reason, CloseReason::Eof);
    // All is over, and the host has taken nothing yet.
    let mut told = Vec::new();
    while let Some(action) = A::next(&mut actions).await {
        told.push(action);
    }
    assert!(matches!(told.last(), Some(ClientAction::Common(Common::Closed(_)))), "{told:?}");
    assert_eq!(turn.await.0, Settlement::Ended(StopReason::EndTurn));
}

#[doc(hidden)]
pub async fn closing_is_bounded_although_the_peer_does_not_read<A: Adapter>() {
    let mut config = Config::client();
    config.drain = Duration::from_millis(100);
    let (near, mut kept) = duplex(64);
    let (client, _actions, driver) = A::client(near, config);
    let large = payload(json!({ "clientInfo": { "name": "x".repeat(100_000), "version": "1" } }));
    let hello = A::initialize(&client, &large).expect("idle");
    let end = A::spawn(driver);
    // It is on its way: what was not handed out yet would be taken back, and nothing would be left to wait for.
    kept.0.read_exact(&mut [0]).await.expect("a byte");
    let begun = Instant::now();
    A::close(&client);
    assert_eq!(end.await, CloseReason::Local);
    assert_eq!(hello.await.outcome, Outcome::Closed);
    assert!(begun.elapsed() >= Duration::from_millis(90), "not before the peer had its time");
}

#[doc(hidden)]
pub async fn a_peer_that_reads_nothing_any_more_is_a_lost_stream_and_no_panic<A: Adapter>() {
    let chatters = |turn: A::Turn| async move {
        while !A::is_cancelled(&turn) {
            drop(A::update(&turn, &text("more")).await);
            futures_lite::future::yield_now().await;
        }
        A::stop(turn, StopReason::EndTurn);
    };
    let (near, far) = duplex(64);
    let (agent, told, driver) = A::agent(near, Config::agent());
    let end = A::spawn(driver);
    A::detach(serve::<A>(agent, told, work::<A, _>(chatters)));
    let mut peer = Raw::new(far);
    peer.open().await;
    peer.prompt(3).await;
    peer.hear().await.expect("an update");
    let Raw { reader, writer } = peer;
    drop(reader);
    let reason = end.await;
    assert!(matches!(reason, CloseReason::Lost(_)), "{reason:?}");
    drop(writer);
}
