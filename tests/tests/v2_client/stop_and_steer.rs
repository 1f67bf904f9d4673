//! Stop and Steer in version 2: confirmed by an idle session or by the answer to a prompt that was not inserted, and never
//! at the cost of a later prompt.

use core::time::Duration;

use acp_core::{CancelKind, Cancellation, Overlap, SessionKey, TurnKey};
use acp_tests::{
    client::{ClientBench, text},
    v2::{asks, client_config, client_in, client_is_at_rest, heard, idle, inserts, running, state},
};
use serde_json::json;

use super::none;

fn cancel(client: &mut ClientBench, turn: TurnKey, kind: CancelKind) -> Cancellation {
    let now = client.now;
    client.conn.cancel_turn(turn, kind, now).expect("a turn of ours")
}

fn prompt(client: &mut ClientBench, session: SessionKey) -> TurnKey {
    let now = client.now;
    client.conn.prompt(session, &text("more"), None, now).expect("it may be sent, or wait")
}

fn steer(client: &mut ClientBench, session: SessionKey) -> TurnKey {
    let now = client.now;
    client.conn.steer(session, &text("rather"), None, now).expect("it may wait")
}

fn with(overlap: Overlap) -> (ClientBench, SessionKey, TurnKey) {
    running(client_config(|config| config.overlap = overlap))
}

#[test]
fn a_stop_sends_one_cancel_and_is_confirmed_by_an_idle_session() {
    for (reason, told) in [("cancelled", "turn 1 Cancelled"), ("end_turn", "turn 1 EndedAlthoughCancelled(EndTurn)")] {
        let (mut client, _, turn) = running(client_config(|_| ()));
        inserts(&mut client, 3, "m1");
        asks(&mut client, "p", "s1");
        heard(&mut client);
        assert_eq!(cancel(&mut client, turn, CancelKind::Stop), Cancellation::Requested);
        assert_eq!(cancel(&mut client, turn, CancelKind::Stop), Cancellation::AlreadyRequested);
        assert_eq!(client.said(), ["session/cancel s1", "p: cancelled"]);
        asks(&mut client, "q", "s1");
        assert_eq!(client.said(), ["q: cancelled"], "one that crosses it");
        client.notification("$/cancel_request", json!({ "requestId": "p" }));
        client.chunk("s1", "the last word");
        state(&mut client, "s1", "requires_action");
        state(&mut client, "s1", "running");
        assert_eq!(heard(&mut client), ["revoked 1"]);
        assert_eq!(client.due_in(), Some(Duration::from_secs(10)));
        idle(&mut client, reason);
        assert_eq!(heard(&mut client), [told]);
        assert_eq!(cancel(&mut client, turn, CancelKind::Stop), Cancellation::Moot);
        assert_eq!(client.said(), none());
        client_is_at_rest(&client.conn);
    }
}

#[test]
fn a_stop_of_a_prompt_that_is_not_inserted_is_confirmed_by_its_answer() {
    let (mut client, _, turn) = running(client_config(|_| ()));
    cancel(&mut client, turn, CancelKind::Stop);
    client.error(3, -32800);
    assert_eq!(heard(&mut client), ["turn 1 Cancelled, Error -32800"]);
    client_is_at_rest(&client.conn);
    // Or it was inserted a moment ago.
    let (mut client, _, turn) = running(client_config(|_| ()));
    cancel(&mut client, turn, CancelKind::Stop);
    inserts(&mut client, 3, "m1");
    assert!(client.conn.is_live(turn));
    idle(&mut client, "cancelled");
    assert_eq!(heard(&mut client), ["turn 1 inserted m1", "turn 1 Cancelled"]);
    client_is_at_rest(&client.conn);
}

#[test]
fn a_stop_that_is_not_confirmed_in_time_closes_and_a_steer_never_does() {
    for (kind, closes) in [(CancelKind::Stop, true), (CancelKind::Steer, false)] {
        let (mut client, _, turn) = running(client_config(|_| ()));
        inserts(&mut client, 3, "m1");
        cancel(&mut client, turn, kind);
        heard(&mut client);
        client.wait(Duration::from_secs(10));
        let expected =
            if closes { vec!["turn 1 Closed, Closed".to_owned(), "closed StopUnconfirmed".into()] } else { none() };
        assert_eq!(heard(&mut client), expected, "{kind:?}");
    }
}

#[test]
fn a_failure_of_cancelled_work_drops_what_waits_for_it() {
    let (mut client, session, _) = with(Overlap::Queue(8));
    inserts(&mut client, 3, "m1");
    steer(&mut client, session);
    heard(&mut client);
    acp_tests::v2::update(
        &mut client,
        "s1",
        json!({ "sessionUpdate": "state_update", "state": "idle", "stopReason": "error" }),
    );
    assert_eq!(heard(&mut client), ["turn 1 Failed, Error -32603", "turn 2 Failed, NotSent"]);
}

#[test]
fn a_prompt_sent_after_the_cancel_is_not_covered_by_what_confirms_it() {
    // However the agent orders its insertion and the end of the cancelled work.
    for inserted_before in [true, false] {
        let (mut client, session, turn) = with(Overlap::Forward(8));
        inserts(&mut client, 3, "m1");
        cancel(&mut client, turn, CancelKind::Stop);
        let later = prompt(&mut client, session);
        assert_eq!(client.said(), ["session/cancel s1", "ask 4 session/prompt"]);
        if inserted_before {
            client.result(4, json!({ "messageId": "m2" }));
        }
        idle(&mut client, "cancelled");
        assert!(client.conn.is_live(later));
        if !inserted_before {
            client.result(4, json!({ "messageId": "m2" }));
        }
        state(&mut client, "s1", "running");
        idle(&mut client, "end_turn");
        let mut told = heard(&mut client);
        told.retain(|told| !told.contains("inserted"));
        assert_eq!(told, ["turn 1 Cancelled", "turn 2 Ended(EndTurn)"]);
        client_is_at_rest(&client.conn);
    }
}

#[test]
fn a_prompt_behind_a_cancelled_one_that_was_never_inserted_ends_with_its_own_work() {
    let (mut client, session, turn) = with(Overlap::Forward(8));
    cancel(&mut client, turn, CancelKind::Stop);
    prompt(&mut client, session);
    assert_eq!(client.said(), ["session/cancel s1", "ask 4 session/prompt"]);
    client.error(3, -32800);
    inserts(&mut client, 4, "m2");
    idle(&mut client, "end_turn");
    assert_eq!(heard(&mut client), ["turn 1 Cancelled, Error -32800", "turn 2 inserted m2", "turn 2 Ended(EndTurn)"]);
    client_is_at_rest(&client.conn);
}

#[test]
fn a_prompt_behind_a_cancel_that_never_went_out_shares_the_work_as_if_there_had_been_none() {
    // It could not be delivered.
    let (mut client, session, turn) = with(Overlap::Forward(8));
    inserts(&mut client, 3, "m1");
    cancel(&mut client, turn, CancelKind::Stop);
    let frame = client.conn.poll_transmit().expect("the cancel");
    prompt(&mut client, session);
    let now = client.now;
    client.conn.handle_transmit_failed(frame.id(), now);
    client.result(4, json!({ "messageId": "m2" }));
    idle(&mut client, "end_turn");
    assert_eq!(heard(&mut client)[3..], ["turn 1 Ended(EndTurn)", "turn 2 Ended(EndTurn)"]);
    // Or its prompt was refused before it was handed out, while the agent works by itself.
    let (mut client, session, turn) = with(Overlap::Forward(8));
    state(&mut client, "s1", "running");
    cancel(&mut client, turn, CancelKind::Stop);
    prompt(&mut client, session);
    client.error(3, -32603);
    assert_eq!(client.said(), ["ask 4 session/prompt"]);
    client.result(4, json!({ "messageId": "m2" }));
    idle(&mut client, "end_turn");
    assert_eq!(heard(&mut client)[1..], ["turn 2 inserted m2", "turn 2 Ended(EndTurn)"]);
}

#[test]
fn what_confirms_a_cancel_of_the_agents_own_work_does_not_end_a_later_prompt_either() {
    let (mut client, session) = client_in(client_config(|config| config.overlap = Overlap::Forward(8)));
    state(&mut client, "s1", "running");
    let (turn, _) = client.prompt(session);
    cancel(&mut client, turn, CancelKind::Stop);
    prompt(&mut client, session);
    assert_eq!(client.said(), ["session/cancel s1", "ask 4 session/prompt"]);
    client.error(3, -32800);
    client.result(4, json!({ "messageId": "m2" }));
    idle(&mut client, "cancelled");
    state(&mut client, "s1", "running");
    idle(&mut client, "end_turn");
    assert_eq!(heard(&mut client), ["turn 1 Cancelled, Error -32800", "turn 2 inserted m2", "turn 2 Ended(EndTurn)"]);
}

#[test]
fn a_prompt_that_waited_here_while_the_one_before_was_cancelled_ends_with_its_own_work() {
    for inserted in [true, false] {
        let (mut client, session, turn) = with(Overlap::Queue(8));
        if inserted {
            inserts(&mut client, 3, "m1");
        }
        cancel(&mut client, turn, CancelKind::Stop);
        prompt(&mut client, session);
        assert_eq!(client.said(), ["session/cancel s1"]);
        if inserted {
            idle(&mut client, "cancelled");
        } else {
            client.error(3, -32800);
        }
        assert_eq!(client.said(), ["ask 4 session/prompt"]);
        inserts(&mut client, 4, "m2");
        idle(&mut client, "end_turn");
        assert_eq!(
            heard(&mut client).last().map(String::as_str),
            Some("turn 2 Ended(EndTurn)"),
            "inserted: {inserted}"
        );
        client_is_at_rest(&client.conn);
    }
}

#[test]
fn a_line_of_steers_is_sent_in_order_each_cut_short_for_the_next() {
    for inserted in [true, false] {
        let (mut client, session, _) = with(Overlap::Queue(8));
        if inserted {
            inserts(&mut client, 3, "m1");
        }
        steer(&mut client, session);
        steer(&mut client, session);
        assert_eq!(client.said(), ["session/cancel s1"]);
        let confirm = |client: &mut ClientBench, request: u64| {
            if inserted {
                idle(client, "cancelled");
            } else {
                client.error(request, -32800);
            }
        };
        confirm(&mut client, 3);
        assert_eq!(client.said(), ["ask 4 session/prompt", "session/cancel s1"]);
        if inserted {
            inserts(&mut client, 4, "m2");
        }
        confirm(&mut client, 4);
        assert_eq!(client.said(), ["ask 5 session/prompt"]);
        inserts(&mut client, 5, "m3");
        idle(&mut client, "end_turn");
        let mut told = heard(&mut client);
        told.retain(|told| !told.contains("inserted"));
        assert_eq!(told.last().map(String::as_str), Some("turn 3 Ended(EndTurn)"), "inserted: {inserted}: {told:?}");
        assert_eq!(told.len(), 3);
        client_is_at_rest(&client.conn);
    }
}

#[test]
fn of_prompts_that_were_sent_at_once_one_is_cancelled_by_its_request_or_with_the_work_it_shares() {
    let (mut client, session, _) = with(Overlap::Forward(8));
    let second = prompt(&mut client, session);
    inserts(&mut client, 3, "m1");
    client.said();
    assert_eq!(cancel(&mut client, second, CancelKind::Stop), Cancellation::Requested);
    assert_eq!(client.said(), ["$/cancel_request 4"], "it is held");
    client.error(4, -32800);
    idle(&mut client, "end_turn");
    assert_eq!(heard(&mut client), ["turn 1 inserted m1", "turn 2 Cancelled, Error -32800", "turn 1 Ended(EndTurn)"]);
    // One that is inserted shares its work.
    let (_, first) = client.prompt(session);
    let second = prompt(&mut client, session);
    client.said();
    inserts(&mut client, first, "m3");
    client.result(first + 1, json!({ "messageId": "m4" }));
    heard(&mut client);
    assert_eq!(cancel(&mut client, second, CancelKind::Stop), Cancellation::Requested);
    assert_eq!(client.said(), ["session/cancel s1"]);
    idle(&mut client, "cancelled");
    assert_eq!(heard(&mut client), ["turn 3 Cancelled", "turn 4 Cancelled"]);
    client_is_at_rest(&client.conn);
}

#[test]
fn work_of_the_agents_own_is_stopped_with_its_session() {
    let (mut client, session) = client_in(client_config(|_| ()));
    state(&mut client, "s1", "running");
    asks(&mut client, "p", "s1");
    let now = client.now;
    assert_eq!(client.conn.stop_session(session, now), Ok(Cancellation::Requested));
    assert_eq!(client.said(), ["session/cancel s1", "p: cancelled"]);
    idle(&mut client, "cancelled");
    assert_eq!(heard(&mut client), none());
    client_is_at_rest(&client.conn);
}

#[test]
fn a_cancel_that_was_not_delivered_may_be_asked_again() {
    let (mut client, _, turn) = running(client_config(|_| ()));
    inserts(&mut client, 3, "m1");
    cancel(&mut client, turn, CancelKind::Stop);
    let frame = client.conn.poll_transmit().expect("the cancel");
    let now = client.now;
    client.conn.handle_transmit_failed(frame.id(), now);
    assert_eq!(heard(&mut client), ["turn 1 inserted m1", "undelivered turn 1 stop=true steer=false"]);
    assert_eq!(cancel(&mut client, turn, CancelKind::Stop), Cancellation::Requested);
    assert_eq!(client.said(), ["session/cancel s1"]);
    idle(&mut client, "cancelled");
    assert_eq!(heard(&mut client), ["turn 1 Cancelled"]);
}
