//! How the agent's sessions end: closed or deleted by the client, with their turns over first and nothing left behind.

use core::time::Duration;

use acp_core::{Config, Delivery, error::Misuse, wire::StopReason};
use acp_tests::agent::{AgentBench, chunk};
use acp_tests::bench::payload;
use serde_json::json;

fn none() -> Vec<String> {
    Vec::new()
}

#[test]
fn closing_a_session_answers_its_prompts_first_then_has_the_host_release_it() {
    let mut bench = AgentBench::ready();
    bench.prompt(5, "s1");
    bench.prompt(6, "s1");
    let session = bench.session("s1");
    bench.told();
    bench.request(9, "session/close", json!({ "sessionId": "s1" }));
    assert_eq!(bench.told(), ["AbortTurn t1 CloseSession"]);
    assert_eq!(bench.due_in(), Some(Duration::from_secs(5)));
    bench.prompt(7, "s1");
    bench.request(8, "session/close", json!({ "sessionId": "s1" }));
    assert_eq!(bench.wire(), ["6: cancelled", "7: -32002", "8: -32002"], "it takes nothing new");
    assert_eq!(bench.end(1, StopReason::EndTurn), Delivery::AsCancelled);
    assert_eq!(bench.told(), ["CloseSession s1"], "now its processes can go");
    assert_eq!((bench.wire(), bench.deadline()), (vec!["5: cancelled".to_owned()], None));
    assert_eq!(bench.respond(Ok(json!({}))), Delivery::Queued);
    let frames = bench.frames();
    assert_eq!(frames[0]["result"], json!({}));
    assert_eq!(frames.len(), 1);
    assert_eq!(bench.conn.sessions(), 0);
    let late = bench.conn.update(session, &payload(chunk("late")), bench.now);
    assert_eq!(late, Err(Misuse::UnknownSession.into()), "after the close nothing can be said in it");
    bench.prompt(10, "s1");
    assert_eq!(bench.wire(), ["10: -32002"]);
}

#[test]
fn closing_an_idle_session_asks_the_host_at_once() {
    let mut bench = AgentBench::ready();
    bench.request(9, "session/close", json!({ "sessionId": "s1" }));
    assert_eq!((bench.told(), bench.deadline()), (vec!["CloseSession s1".to_owned()], None));
}

#[test]
fn closing_waits_a_bounded_time_for_the_turn() {
    let mut bench = AgentBench::ready();
    bench.prompt(5, "s1");
    bench.told();
    bench.request(9, "session/close", json!({ "sessionId": "s1" }));
    bench.told();
    bench.wait(Duration::from_millis(4_999));
    assert_eq!((bench.wire(), bench.told()), (none(), none()));
    bench.wait(Duration::from_millis(1));
    assert_eq!(bench.wire(), ["5: cancelled"]);
    assert_eq!(bench.told(), ["TurnForced t1", "CloseSession s1"], "it is told in the order in which it happened");
    assert_eq!(bench.deadline(), None);
    assert_eq!(bench.end(1, StopReason::EndTurn), Delivery::TooLate);
    bench.respond(Ok(json!({})));
    assert_eq!(bench.wire(), ["9: ok"]);
}

#[test]
fn a_close_that_the_host_refuses_or_drops_leaves_the_session_open() {
    let mut bench = AgentBench::ready();
    bench.request(9, "session/close", json!({ "sessionId": "s1" }));
    bench.told();
    bench.respond(Err(-32603));
    bench.prompt(10, "s1");
    assert_eq!(bench.told(), ["Prompt t1"]);
    bench.end(1, StopReason::EndTurn);
    bench.request(11, "session/close", json!({ "sessionId": "s1" }));
    bench.told();
    let dropped = bench.held.requests.pop_front().expect("a ticket");
    bench.conn.abandon(dropped.key(), bench.now);
    bench.prompt(12, "s1");
    assert_eq!(bench.told(), ["Prompt t2"]);
    assert_eq!(bench.wire(), ["9: -32603", "10: end_turn", "11: -32603"]);
}

#[test]
fn a_cancelled_close_is_carried_out_all_the_same() {
    let mut bench = AgentBench::ready();
    bench.prompt(5, "s1");
    bench.request(9, "session/close", json!({ "sessionId": "s1" }));
    bench.told();
    bench.cancel_request(9);
    assert_eq!(bench.told(), none(), "the host has not been told of it, so there is nothing to take back");
    bench.end(1, StopReason::EndTurn);
    assert_eq!(bench.told(), ["CloseSession s1"]);
}

#[test]
fn what_we_asked_in_a_session_ends_with_it() {
    let mut bench = AgentBench::with_sessions(Config::agent(), &["s1", "s2"]);
    let (gone, other) = (bench.session("s1"), bench.session("s2"));
    bench.ask_permission(gone).expect("sent");
    bench.ask(other, "fs/read_text_file").expect("sent");
    bench.request(9, "session/close", json!({ "sessionId": "s1" }));
    assert_eq!(bench.told(), ["CloseSession s1"], "the host may still need the client to tidy up");
    bench.ask(gone, "terminal/release").expect("sent");
    bench.respond(Ok(json!({})));
    assert_eq!(bench.told(), ["Resolved r1 Cancelled(CloseSession)", "Resolved r3 Cancelled(CloseSession)"]);
    assert_eq!(bench.conn.unresolved(), 1, "the other session's goes on");
}

#[test]
fn the_key_of_a_closed_session_does_not_reach_a_new_one_of_the_same_id() {
    let mut bench = AgentBench::ready();
    let old = bench.session("s1");
    bench.request(9, "session/close", json!({ "sessionId": "s1" }));
    bench.told();
    bench.respond(Ok(json!({})));
    bench.request(10, "session/resume", json!({ "sessionId": "s1" }));
    bench.told();
    let new = bench.accept(&json!({}));
    bench.frames();
    assert_ne!(old, new);
    assert_eq!(bench.conn.update(old, &payload(chunk("late")), bench.now), Err(Misuse::UnknownSession.into()));
    assert_eq!(bench.ask(old, "fs/read_text_file"), Err(Misuse::UnknownSession.into()));
    assert_eq!(bench.wire(), none());
    assert_eq!(bench.conn.update(new, &payload(chunk("new")), bench.now), Ok(Delivery::Queued));
}

#[test]
fn deleting_a_session_that_is_open_here_ends_its_turns_before_the_answer() {
    let mut bench = AgentBench::ready();
    let session = bench.session("s1");
    bench.prompt(5, "s1");
    bench.prompt(6, "s1");
    bench.told();
    bench.request(9, "session/delete", json!({ "sessionId": "s1" }));
    assert_eq!(bench.told(), ["Request session/delete"]);
    bench.respond(Ok(json!({})));
    assert_eq!(bench.told(), ["AbortTurn t1 CloseSession", "TurnForced t1"]);
    assert_eq!(bench.wire(), ["6: cancelled", "5: cancelled", "9: ok"]);
    assert_eq!(bench.end(1, StopReason::EndTurn), Delivery::TooLate, "and the host is told not to store it");
    assert_eq!(bench.update(1, chunk("late")), Ok(Delivery::TooLate));
    assert_eq!(bench.conn.session_id(session), None);
    assert_eq!((bench.conn.sessions(), bench.deadline()), (0, None));
}

#[test]
fn a_delete_that_the_host_refuses_or_of_a_stored_session_touches_nothing_here() {
    let mut bench = AgentBench::ready();
    bench.prompt(5, "s1");
    bench.told();
    bench.request(8, "session/delete", json!({ "sessionId": "s1" }));
    bench.request(9, "session/delete", json!({ "sessionId": "stored" }));
    bench.told();
    bench.respond(Err(-32600));
    bench.respond(Ok(json!({})));
    assert_eq!((bench.wire(), bench.told()), (vec!["8: -32600".into(), "9: ok".into()], none()));
    assert!(bench.conn.is_live(bench.turn(1)));
}
