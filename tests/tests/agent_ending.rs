//! How the agent's connection ends: turns are cancelled and answered, what is owed is paid, the output is written, and
//! the host is told once, at last.

use core::time::Duration;

use acp_core::{CommandError, Delivery, wire::StopReason};
use acp_tests::agent::{AgentBench, chunk};
use serde_json::json;

fn none() -> Vec<String> {
    Vec::new()
}

const DRAIN: Duration = Duration::from_secs(2);

/// Nothing more comes of it, whatever is done.
fn assert_over(bench: &mut AgentBench) {
    assert!(bench.conn.is_closed());
    assert!(!bench.conn.wants_input());
    let reason = bench.conn.close_reason().cloned();
    bench.prompt(99, "s1");
    bench.cancel("s1");
    bench.eof();
    bench.conn.handle_lost("again", bench.now);
    bench.conn.close(bench.now);
    bench.wait(Duration::from_secs(1_000));
    if let Some(session) = bench.conn.find_session("s1") {
        assert_eq!(bench.ask(session, "fs/read_text_file"), Err(CommandError::Closed));
        let update = acp_tests::bench::payload(chunk("late"));
        assert_eq!(bench.conn.update(session, &update, bench.now), Ok(Delivery::TooLate));
    }
    while let Some(turn) = bench.held.turns.keys().next().copied() {
        assert_eq!(bench.end(turn, StopReason::EndTurn), Delivery::TooLate);
    }
    while !bench.held.requests.is_empty() {
        assert_eq!(bench.respond(Ok(json!({}))), Delivery::TooLate);
    }
    assert_eq!((bench.wire(), bench.told(), bench.deadline()), (none(), none(), None));
    assert_eq!((bench.conn.unresolved(), bench.conn.unanswered().count()), (0, 0));
    assert_eq!(bench.conn.close_reason().cloned(), reason, "the first reason stays");
}

#[test]
fn an_idle_agent_closes_at_the_end_of_the_input() {
    let mut bench = AgentBench::ready();
    bench.eof();
    assert_eq!((bench.told(), bench.deadline()), (vec!["Closed Eof".into()], None));
    assert_over(&mut bench);
    let mut bench = AgentBench::new(acp_core::Config::agent());
    bench.eof();
    assert_eq!(bench.told(), ["Closed Eof"], "also before it was initialized");
    assert_over(&mut bench);
}

#[test]
fn a_last_line_without_its_end_still_counts() {
    let mut bench = AgentBench::ready();
    bench.feed(r#"{"jsonrpc":"2.0","id":9,"method":"nope"}"#);
    bench.eof();
    assert_eq!((bench.wire(), bench.told()), (vec!["9: -32601".into()], vec!["Closed Eof".into()]));
}

#[test]
fn the_end_of_the_input_cancels_every_turn_with_a_cause_of_its_own() {
    let mut bench = AgentBench::with_sessions(acp_core::Config::agent(), &["s1", "s2"]);
    bench.prompt(3, "s1");
    bench.prompt(4, "s1");
    bench.prompt(5, "s2");
    bench.told();
    bench.ask_permission(bench.turn(1)).expect("sent");
    bench.frames();
    bench.eof();
    assert_eq!(
        bench.told(),
        ["Resolved r1 Closed", "AbortTurn t1 Closing", "AbortTurn t2 Closing"].map(|told| {
            // The turns are numbered as the prompts came: the third is the second session's.
            told.replace("t2", "t3")
        })
    );
    assert_eq!(bench.wire(), ["4: cancelled"]);
    assert_eq!(bench.due_in(), Some(DRAIN), "the floor of 30 s does not hold up the end");
    bench.update(1, chunk("the output still stands")).expect("room");
    assert_eq!(bench.end(1, StopReason::EndTurn), Delivery::AsCancelled);
    assert_eq!(bench.told(), none(), "one still runs");
    bench.end(3, StopReason::EndTurn);
    assert_eq!(bench.told(), none(), "nothing is written yet");
    assert_eq!(bench.wire(), ["upd s1 agent_message_chunk", "3: cancelled", "5: cancelled"]);
    assert_eq!((bench.told(), bench.deadline()), (vec!["Closed Eof".into()], None));
    assert_over(&mut bench);
}

#[test]
fn what_is_not_ended_in_time_is_answered_for_the_host() {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.request(4, "session/set_mode", json!({ "sessionId": "s1" }));
    bench.request(5, "session/load", json!({ "sessionId": "old" }));
    bench.told();
    bench.eof();
    assert_eq!(bench.told(), ["AbortTurn t1 Closing", "CancelRequested", "CancelRequested"]);
    bench.wait(DRAIN - Duration::from_millis(1));
    assert_eq!((bench.wire(), bench.told()), (none(), none()));
    bench.wait(Duration::from_millis(1));
    assert_eq!(bench.told(), ["TurnForced t1"]);
    assert_eq!(bench.wire(), ["3: cancelled", "4: -32800", "5: -32800"]);
    assert_eq!(bench.told(), ["Closed Eof"]);
    assert_over(&mut bench);
}

#[test]
fn what_is_answered_in_time_goes_out_as_it_was_given() {
    let mut bench = AgentBench::ready();
    bench.request(4, "session/set_mode", json!({ "sessionId": "s1" }));
    bench.told();
    bench.eof();
    bench.told();
    bench.wait(Duration::from_secs(1));
    bench.respond(Ok(json!({})));
    assert_eq!((bench.wire(), bench.told()), (vec!["4: ok".into()], vec!["Closed Eof".into()]));
    assert_over(&mut bench);
}

#[test]
fn a_client_that_does_not_read_does_not_hold_up_the_end_for_ever() {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.told();
    bench.eof();
    bench.told();
    bench.wait(DRAIN * 2);
    assert_eq!(bench.told(), ["TurnForced t1", "Closed Eof"], "answered, then given up");
    assert_over(&mut bench);
}

#[test]
fn closing_here_ends_it_the_same_way() {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.told();
    bench.conn.close(bench.now);
    bench.prompt(4, "s1");
    assert!(!bench.conn.wants_input());
    assert_eq!(bench.told(), ["AbortTurn t1 Closing"], "nothing new is taken");
    bench.end(1, StopReason::EndTurn);
    assert_eq!((bench.wire(), bench.told()), (vec!["3: cancelled".into()], vec!["Closed Local".into()]));
    assert_over(&mut bench);
}

#[test]
fn a_lost_stream_ends_everything_at_once() {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.prompt(4, "s1");
    bench.request(5, "session/set_mode", json!({ "sessionId": "s1" }));
    bench.told();
    bench.ask_permission(bench.turn(1)).expect("sent");
    bench.update(1, chunk("never written")).expect("room");
    bench.conn.handle_lost("broken pipe", bench.now);
    let expected = ["Resolved r1 Closed", "AbortTurn t1 Closing", "Closed Lost(\"broken pipe\")"];
    assert_eq!((bench.told(), bench.wire()), (expected.map(String::from).to_vec(), none()));
    assert_over(&mut bench);
}

#[test]
fn a_stream_that_breaks_while_it_drains_closes_at_once_and_the_first_reason_stays() {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.told();
    bench.eof();
    bench.conn.handle_lost("broken pipe", bench.now);
    assert_eq!(bench.told(), ["AbortTurn t1 Closing", "Closed Eof"]);
    assert_over(&mut bench);
}

#[test]
fn a_frame_that_a_message_transport_cannot_deliver_ends_the_connection_unless_it_was_a_request() {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.told();
    bench.ask_permission(bench.turn(1)).expect("queued");
    let request = bench.conn.poll_transmit().expect("a frame");
    bench.conn.handle_transmit_failed(request.id(), bench.now);
    assert_eq!(bench.told(), ["Resolved r1 Undelivered"], "the turn goes on");
    bench.update(1, chunk("x")).expect("room");
    let update = bench.conn.poll_transmit().expect("a frame");
    bench.conn.handle_transmit_failed(update.id(), bench.now);
    let told = bench.told();
    assert!(told[0] == "AbortTurn t1 Closing" && told[1].starts_with("Closed Lost"), "{told:?}");
    assert_over(&mut bench);
}

#[test]
fn a_session_that_is_being_closed_when_the_input_ends_is_released() {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.request(9, "session/close", json!({ "sessionId": "s1" }));
    bench.told();
    bench.eof();
    assert_eq!(bench.told(), ["AbortTurn t1 Closing again"]);
    bench.end(1, StopReason::EndTurn);
    assert_eq!(bench.told(), ["CloseSession s1"]);
    bench.respond(Ok(json!({})));
    assert_eq!((bench.wire(), bench.told()), (vec!["3: cancelled".into(), "9: ok".into()], vec!["Closed Eof".into()]));
    assert_over(&mut bench);
}

#[test]
fn a_cancel_before_the_end_and_the_end_make_one_answer() {
    let mut bench = AgentBench::ready();
    bench.prompt(3, "s1");
    bench.cancel("s1");
    bench.told();
    bench.eof();
    assert_eq!(bench.told(), ["AbortTurn t1 Closing again"]);
    bench.end(1, StopReason::EndTurn);
    assert_eq!((bench.wire(), bench.told()), (vec!["3: cancelled".into()], vec!["Closed Eof".into()]));
    assert_over(&mut bench);
}

#[test]
fn two_open_requests_of_one_id_get_one_answer() {
    let mut bench = AgentBench::ready();
    bench.request(5, "_vendor/a", json!({}));
    bench.request(5, "_vendor/b", json!({}));
    let told = bench.told();
    assert!(told[0] == "Request _vendor/a" && told[1].starts_with("Violation DuplicateId"), "{told:?}");
    bench.prompt(5, "s1");
    assert_eq!(bench.told().len(), 1, "whatever its method");
    bench.respond(Ok(json!({})));
    assert_eq!(bench.wire(), ["5: ok"]);
    bench.request(5, "_vendor/c", json!({}));
    assert_eq!(bench.told(), ["Request _vendor/c"], "an answered id may come again");
}
