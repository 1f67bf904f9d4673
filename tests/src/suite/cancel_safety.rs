//! Every public future, dropped at every point where it waits: nothing is lost, nothing is sent by halves, nobody waits
//! for ever.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use acp_core::{CancelKind, Client, ClientAction, CloseReason, Common, Config, Payload, Settlement, wire::StopReason};

use super::{
    Adapter, Pair, pair,
    pair::{duplex, place, question, serve, stream, words, work},
    polled, soon, text,
};

/// More polls than anything here needs.
const ENOUGH: usize = 100_000;

#[doc(hidden)]
pub async fn a_dropped_wait_for_an_action_loses_none<A: Adapter>() {
    let mut pair = Pair::<A>::new(7, work::<A, _>(stream::<A>)).await;
    assert!(polled(A::next(&mut pair.actions), 1).await.is_none(), "there is nothing to tell");
    pair.prompt();
    let mut updates = 0;
    loop {
        match polled(A::next(&mut pair.actions), 1).await {
            Some(Some(ClientAction::Update { params, .. })) => {
                assert!(params.as_str().contains(&format!("piece {updates}\"")), "{updates}: {}", params.as_str());
                updates += 1;
            }
            Some(Some(ClientAction::TurnEnded { settlement, .. })) => {
                assert_eq!((updates, settlement), (20, Settlement::Ended(StopReason::EndTurn)));
                break;
            }
            Some(other) => panic!("{other:?}"),
            None => futures_lite::future::yield_now().await,
        }
    }
    pair.close().await;
}

#[doc(hidden)]
pub async fn a_dropped_update_was_sent_whole_or_not_at_all<A: Adapter>() {
    let drops_updates = |turn: A::Turn| async move {
        let large = "x".repeat(30_000);
        let (mut n, mut dropped, mut polls) = (0, 0, 0);
        while n < 30 {
            if polled(A::update(&turn, &text(&format!("piece {n} {large}"))), polls % 3).await.is_some() {
                n += 1;
            } else {
                dropped += 1;
            }
            polls += 1;
            futures_lite::future::yield_now().await;
        }
        assert!(dropped > 0);
        A::stop(turn, StopReason::EndTurn);
    };
    let mut pair = Pair::<A>::new(512, work::<A, _>(drops_updates)).await;
    pair.prompt();
    for n in 0..30 {
        let Some(ClientAction::Update { params, .. }) = A::next(&mut pair.actions).await else { panic!() };
        assert!(params.as_str().contains(&format!("piece {n} x")), "{n}");
    }
    assert_eq!(pair.finish().await, (0, Settlement::Ended(StopReason::EndTurn)));
    pair.close().await;
}

#[doc(hidden)]
pub async fn a_dropped_question_leaves_the_turn_as_it_was<A: Adapter>() {
    for polls in 0..ENOUGH {
        let done = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&done);
        let drops_it = move |turn: A::Turn| {
            let count = Arc::clone(&count);
            async move {
                if polled(A::ask(&turn, "session/request_permission", &question()), polls).await.is_some() {
                    count.fetch_add(1, Ordering::Relaxed);
                }
                A::update(&turn, &text("on it goes")).await.expect("it fits");
                A::stop(turn, StopReason::EndTurn);
            }
        };
        let mut pair = Pair::<A>::new(64, work::<A, _>(drops_it)).await;
        for _ in 0..2 {
            pair.prompt();
            // A question that is still open when its turn ends is revoked.
            let settlement = loop {
                match A::next(&mut pair.actions).await.expect("the turn ends first") {
                    ClientAction::PermissionRequested { ticket, offer, .. } => {
                        let option = offer.options.first().expect("an option").id.clone();
                        let choice = acp_core::Decision::Select(option);
                        A::with(&pair.client, |conn, now| conn.decide(ticket, &choice, now));
                    }
                    ClientAction::TurnEnded { settlement, .. } => break settlement,
                    _ => {}
                }
            };
            assert_eq!(settlement, Settlement::Ended(StopReason::EndTurn), "after {polls} polls");
        }
        pair.close().await;
        if done.load(Ordering::Relaxed) == 2 {
            return;
        }
    }
}

#[doc(hidden)]
pub async fn a_dropped_request_only_stops_the_waiting<A: Adapter>() {
    let mut pair = Pair::<A>::new(16, work::<A, _>(stream::<A>)).await;
    for polls in 0..ENOUGH {
        let pending = A::request(&pair.client, "session/new", place()).expect("there is room");
        let finished = polled(pending, polls).await.is_some();
        pair.prompt();
        assert_eq!(pair.finish().await, (20, Settlement::Ended(StopReason::EndTurn)), "after {polls} polls");
        assert_eq!(A::with(&pair.client, |conn, _| conn.unresolved()), 0);
        if finished {
            break;
        }
    }
    pair.close().await;
}

#[doc(hidden)]
pub async fn a_dropped_prompt_is_settled_wherever_it_was_dropped<A: Adapter>() {
    let mut pair = Pair::<A>::new(64, work::<A, _>(stream::<A>)).await;
    for polls in 0..ENOUGH {
        let mut turn = pair.begin();
        // Its own end is told by the stream, so that has to be taken meanwhile.
        let mut settled = None;
        let finished = {
            let both = async {
                while let Some(action) = A::next(&mut pair.actions).await {
                    if let ClientAction::TurnEnded { settlement, .. } = action {
                        settled = Some(settlement);
                        break;
                    }
                }
                (&mut turn).await
            };
            polled(both, polls).await.is_some()
        };
        drop(turn);
        if settled.is_none() {
            settled = Some(pair.finish().await.1);
        }
        let settled = settled.expect("it is settled once");
        assert!(
            matches!(settled, Settlement::Cancelled | Settlement::Ended(_) | Settlement::EndedAlthoughCancelled(_)),
            "after {polls} polls: {settled:?}"
        );
        if finished {
            assert_eq!(settled, Settlement::Ended(StopReason::EndTurn));
            break;
        }
    }
    pair.close().await;
}

#[doc(hidden)]
pub async fn dropped_waits_for_room_for_the_flush_for_a_token_and_for_the_end_change_nothing<A: Adapter>() {
    let waits = |turn: A::Turn| async move {
        while polled(A::cancelled(&turn), 1).await.is_none() {
            futures_lite::future::yield_now().await;
        }
        A::cancelled(&turn).await;
        A::stop(turn, StopReason::EndTurn);
    };
    let mut pair = Pair::<A>::new(64, work::<A, _>(waits)).await;
    let turn = pair.prompt();
    let note = pair::payload(serde_json::json!({ "text": "x".repeat(100_000) }));
    A::with(&pair.client, |conn, now| conn.notify("_note", Some(&note), now)).expect("there is room");
    while polled(A::room(&pair.client), 1).await.is_none() || polled(A::flush(&pair.client), 1).await.is_none() {
        futures_lite::future::yield_now().await;
    }
    assert_eq!(polled(A::closed(&pair.client), 1).await, None);
    A::room(&pair.client).await;
    A::flush(&pair.client).await;
    pair.cancel(turn, CancelKind::Steer);
    assert_eq!(pair.finish().await.1, Settlement::Cancelled);
    pair.close().await;
}

/// A client's host for a connection that may end anywhere. Whether it came to the end of its turn.
async fn host<A: Adapter>(client: A::Handle<Client>, mut actions: A::Actions<Client>) -> bool {
    let turn = async {
        A::initialize(&client, &Payload::EMPTY).ok()?.await;
        let session = A::request(&client, "session/new", place()).ok()?.await.session?;
        A::prompt(&client, session, &words()).ok()
    }
    .await;
    let (mut ends, mut settled, mut closed) = (0, None, 0);
    if turn.is_none() {
        A::close(&client);
    }
    while let Some(action) = A::next(&mut actions).await {
        assert_eq!(closed, 0, "nothing is told after the end");
        match action {
            ClientAction::TurnEnded { settlement, .. } => {
                ends += 1;
                settled = Some(settlement);
                A::close(&client);
            }
            ClientAction::Common(Common::Closed(_)) => closed += 1,
            _ => {}
        }
    }
    assert_eq!((closed, ends), (1, usize::from(turn.is_some())), "each end is told once");
    if let Some(turn) = turn {
        assert_eq!(Some(turn.await.0), settled);
    }
    A::closed(&client).await;
    A::room(&client).await;
    A::flush(&client).await;
    settled == Some(Settlement::Ended(StopReason::EndTurn))
}

/// Drops the driver of one end after so many polls, for each number until it was done by itself.
async fn drop_a_driver<A: Adapter>(of_the_agent: bool, run: pair::Work<A>) {
    for polls in 0..ENOUGH {
        let running = Arc::new(AtomicUsize::new(0));
        let (count, run) = (Arc::clone(&running), Arc::clone(&run));
        let counted = move |turn: A::Turn| {
            let (count, run) = (Arc::clone(&count), Arc::clone(&run));
            async move {
                count.fetch_add(1, Ordering::Relaxed);
                run(turn).await;
                count.fetch_sub(1, Ordering::Relaxed);
            }
        };
        let (left, right) = duplex(200);
        let (agent, told, agents) = A::agent(right, Config::agent());
        let served = A::spawn(serve::<A>(agent, told, work::<A, _>(counted)));
        let (client, actions, clients) = A::client(left, Config::client());
        let host = A::spawn(host::<A>(client, actions));
        let limit = move |is_cut: bool| if is_cut { polls } else { usize::MAX };
        let ends = [
            A::spawn(async move { polled(agents, limit(of_the_agent)).await }),
            A::spawn(async move { polled(clients, limit(!of_the_agent)).await }),
        ];
        let what = format!("everything, after {polls} polls");
        let done = soon::<A, _>(&what, async {
            let whole = host.await;
            served.await;
            let [agents, clients] = ends;
            let (agents, clients): (Option<CloseReason>, _) = (agents.await, clients.await);
            while running.load(Ordering::Relaxed) > 0 {
                A::sleep(core::time::Duration::from_millis(1)).await;
            }
            if agents.is_some() && clients.is_some() {
                assert!(whole, "{agents:?} {clients:?}");
                return true;
            }
            false
        })
        .await;
        if done {
            return;
        }
    }
}

#[doc(hidden)]
pub async fn a_clients_driver_may_be_dropped_anywhere<A: Adapter>() {
    drop_a_driver::<A>(false, work::<A, _>(stream::<A>)).await;
}

#[doc(hidden)]
pub async fn an_agents_driver_may_be_dropped_anywhere<A: Adapter>() {
    drop_a_driver::<A>(true, work::<A, _>(stream::<A>)).await;
}
