//! Whole turns, between both ends.

use acp_core::{
    AgentAction, CancelKind, ClientAction, CloseReason, Common, Config, Outcome, Payload, Settlement, wire::StopReason,
};
use futures_lite::future::or;
use serde_json::json;

use super::{
    Adapter, Pair,
    pair::{asks, duplex, place, stream, until_cancelled, words, work},
    payload, soon, text,
};

const ENDED: Settlement = Settlement::Ended(StopReason::EndTurn);

#[doc(hidden)]
pub async fn whole_turns_pass_through_a_pipe_of_one_byte<A: Adapter>() {
    let mut pair = Pair::<A>::new(1, work::<A, _>(stream::<A>)).await;
    for _ in 0..3 {
        pair.prompt();
        assert_eq!(pair.finish().await, (20, ENDED));
    }
    pair.close().await;
}

#[doc(hidden)]
pub async fn many_turns_pass_one_after_the_other<A: Adapter>() {
    let mut pair = Pair::<A>::new(64, work::<A, _>(stream::<A>)).await;
    for _ in 0..50 {
        pair.prompt();
        assert_eq!(pair.finish().await, (20, ENDED));
    }
    pair.close().await;
}

#[doc(hidden)]
pub async fn a_cancel_in_mid_stream_reaches_the_turn_and_only_that_turn<A: Adapter>() {
    let mut pair = Pair::<A>::new(1024, work::<A, _>(until_cancelled::<A>)).await;
    for _ in 0..3 {
        let turn = pair.prompt();
        assert!(matches!(A::next(&mut pair.actions).await, Some(ClientAction::Update { .. })));
        pair.cancel(turn, CancelKind::Stop);
        assert_eq!(pair.finish().await.1, Settlement::Cancelled);
    }
    pair.close().await;
}

#[doc(hidden)]
pub async fn a_token_fires_while_the_agents_host_takes_no_actions<A: Adapter>() {
    let (left, right) = duplex(1 << 16);
    let (agent, mut told, driver) = A::agent(right, Config::agent());
    A::detach(async { drop(driver.await) });
    let (client, _actions, driver) = A::client(left, Config::client());
    A::detach(async { drop(driver.await) });
    let hello = A::initialize(&client, &Payload::EMPTY).expect("idle");
    let Some(AgentAction::Initialize { ticket, .. }) = A::next(&mut told).await else { panic!() };
    A::with(&agent, |conn, now| conn.accept_initialize(ticket, &Payload::EMPTY, now)).expect("an object");
    hello.await;
    let opened = A::request(&client, "session/new", place()).expect("initialized");
    let Some(AgentAction::SessionRequested { ticket, .. }) = A::next(&mut told).await else { panic!() };
    let id = payload(json!({ "sessionId": "s" }));
    A::with(&agent, |conn, now| conn.accept_session(ticket, &id, now)).expect("new");
    let session = opened.await.session.expect("a session");
    let turn = A::detach_prompt(A::prompt(&client, session, &words()).expect("idle"));
    let Some(AgentAction::Prompt { ticket, .. }) = A::next(&mut told).await else { panic!() };
    let held = A::turn(&agent, ticket);
    // From here on the host takes nothing, and 500 notifications lie before the cancel.
    for _ in 0..500 {
        A::with(&client, |conn, now| conn.notify("_note", None, now)).expect("there is room");
    }
    A::with(&client, |conn, now| conn.cancel_turn(turn, CancelKind::Steer, now)).expect("a turn of ours");
    A::cancelled(&held).await;
    assert!(matches!(A::next(&mut told).await, Some(AgentAction::Common(Common::Notification { .. }))));
}

#[doc(hidden)]
pub async fn a_dropped_turn_is_answered<A: Adapter>() {
    let drops_it = |turn: A::Turn| async move {
        A::update(&turn, &text("so long")).await.expect("it fits");
    };
    let mut pair = Pair::<A>::new(1024, work::<A, _>(drops_it)).await;
    pair.prompt();
    assert_eq!(pair.finish().await, (1, Settlement::Failed));
    pair.close().await;
}

#[doc(hidden)]
pub async fn an_agent_awaits_a_permission_in_its_turn<A: Adapter>() {
    let mut pair = Pair::<A>::new(1, work::<A, _>(asks::<A>)).await;
    pair.prompt();
    assert_eq!(pair.finish().await, (1, ENDED));
    pair.close().await;
}

#[doc(hidden)]
pub async fn a_prompt_that_is_awaited_resolves_after_its_updates_were_taken<A: Adapter>() {
    enum Event {
        Ended(Settlement),
        Told(Option<ClientAction>),
    }
    let mut pair = Pair::<A>::new(1024, work::<A, _>(stream::<A>)).await;
    let mut turn = pair.begin();
    let mut updates = 0;
    let ended = loop {
        let ended = async { Event::Ended((&mut turn).await.0) };
        match or(ended, async { Event::Told(A::next(&mut pair.actions).await) }).await {
            Event::Ended(settlement) => break settlement,
            Event::Told(action) => updates += usize::from(matches!(action, Some(ClientAction::Update { .. }))),
        }
    };
    assert_eq!((updates, ended), (20, ENDED));
    A::flush(&pair.client).await;
    assert_eq!(A::with(&pair.client, |conn, _| conn.queued_bytes()), 0);
    pair.close().await;
}

#[doc(hidden)]
pub async fn a_steer_cuts_the_running_turn_short_and_sends_its_line_after_it<A: Adapter>() {
    let mut pair = Pair::<A>::new(1024, work::<A, _>(until_cancelled::<A>)).await;
    pair.prompt();
    let line = payload(json!([{ "type": "text", "text": "rather this" }]));
    let second = A::detach_prompt(A::steer(&pair.client, pair.session, &line).expect("room"));
    assert_eq!(pair.finish().await.1, Settlement::Cancelled);
    assert!(matches!(A::next(&mut pair.actions).await, Some(ClientAction::Update { .. })));
    pair.cancel(second, CancelKind::Stop);
    assert_eq!(pair.finish().await.1, Settlement::Cancelled);
    pair.close().await;
}

#[doc(hidden)]
pub async fn a_dropped_prompt_is_cancelled_and_a_detached_one_is_not<A: Adapter>() {
    let mut pair = Pair::<A>::new(1024, work::<A, _>(until_cancelled::<A>)).await;
    drop(pair.begin());
    assert_eq!(pair.finish().await.1, Settlement::Cancelled);
    let turn = A::detach_prompt(pair.begin());
    assert!(matches!(A::next(&mut pair.actions).await, Some(ClientAction::Update { .. })));
    assert!(A::with(&pair.client, |conn, _| conn.is_live(turn)));
    // The agent is in mid-stream: whether it sees the end of its input or of its output first is a race.
    A::close(&pair.client);
    assert_eq!(A::closed(&pair.client).await, CloseReason::Local);
}

#[doc(hidden)]
pub async fn a_client_that_drops_its_stream_still_answers_and_still_learns_the_end_of_a_prompt<A: Adapter>() {
    let pair = Pair::<A>::new(1024, work::<A, _>(asks::<A>)).await;
    let turn = pair.begin();
    drop(pair.actions);
    // The permission is declined: the outcome `cancelled`, with which this agent goes on.
    assert_eq!(turn.await.0, ENDED);
    A::close(&pair.client);
    assert_eq!(A::closed(&pair.client).await, CloseReason::Local);
}

#[doc(hidden)]
pub async fn an_agent_that_drops_its_stream_leaves_no_client_waiting<A: Adapter>() {
    let (left, right) = duplex(256);
    let (_agent, told, driver) = A::agent(right, Config::agent());
    A::detach(async { drop(driver.await) });
    drop(told);
    let (client, _actions, driver) = A::client(left, Config::client());
    A::detach(async { drop(driver.await) });
    let hello = A::initialize(&client, &Payload::EMPTY).expect("idle");
    let outcome = soon::<A, _>("an answer", hello).await.outcome;
    assert!(matches!(outcome, Outcome::Error(_) | Outcome::Result(_)), "{outcome:?}");
}
