//! The end of a connection at the client's end: everything resolves once, `Closed` comes last and once, nothing is left.

use acp_core::{CancelKind, Cancellation, CloseReason, CommandError, Config, Delivery, Overlap, Payload, SessionPlan};
use acp_tests::{
    bench::payload,
    client::{ClientBench, config, text},
};
use core::time::Duration;
use serde_json::json;

/// Two turns, one that waits, a request, an opening, a permission and a request of the agent's, a Stop and each clock.
fn busy() -> ClientBench {
    let (mut client, session, turn) = ClientBench::running(config(|config| {
        config.overlap = Overlap::Queue(1);
        config.permission = Some(Duration::from_secs(600));
        config.cancel_confirm = Some(Duration::from_secs(600));
        config.silence = Some(Duration::from_secs(600));
        config.idle = Some(Duration::from_secs(600));
    }));
    let other = client.session("s2"); // request 4
    client.prompt(other); // request 5, turn 2
    let now = client.now;
    client.conn.prompt(session, &text("waits"), None, now).expect("room"); // turn 3
    let slow = client.conn.request("_slow", None, Some(Duration::from_secs(600)), now).expect("room"); // request 6
    let place = payload(json!({ "cwd": "/", "mcpServers": [] }));
    client.conn.open_session(&SessionPlan::new(place), now).expect("room"); // request 7
    client.said();
    client.chunk("s3", "early");
    client.permission("p", "s2");
    client.request("q", "_ask", json!({ "sessionId": "s2" }));
    client.heard();
    client.conn.cancel_request(slow, now).expect("ours");
    client.conn.cancel_turn(turn, CancelKind::Stop, now).expect("ours");
    client.said();
    client
}

const RESOLVED: [&str; 6] = [
    "turn 1 Closed, Closed",
    "turn 3 Closed, Closed",
    "turn 2 Closed, Closed",
    "resolved 6 - Closed",
    "resolved 7 - Closed",
    "update - Early: early",
];

/// Nothing is left, and nothing comes any more, whatever happens.
fn is_over(client: &mut ClientBench, reason: &CloseReason) {
    assert!(client.conn.is_closed());
    assert_eq!(client.conn.close_reason(), Some(reason));
    assert_eq!((client.due_in(), client.conn.unresolved(), client.conn.unanswered().count()), (None, 0, 0));
    assert_eq!((client.conn.queued_bytes(), client.conn.wants_input()), (0, false));
    let (now, session) = (client.now, client.conn.find_session("s1").expect("known"));
    client.stops(3, "end_turn");
    client.permission("late", "s1");
    client.eof();
    client.conn.handle_lost("again", now);
    client.conn.close(now);
    client.wait(Duration::from_secs(3600));
    assert_eq!(client.conn.prompt(session, &text("hi"), None, now), Err(CommandError::Closed));
    assert_eq!(client.conn.request("_x", None, None, now), Err(CommandError::Closed));
    assert_eq!(client.conn.stop_session(session, now), Err(CommandError::Closed));
    assert_eq!(client.conn.initialize(&Payload::EMPTY, now), Err(CommandError::Closed));
    assert_eq!((client.heard(), client.said()), (vec![], vec![]));
    assert_eq!(client.conn.close_reason(), Some(reason), "the first reason stays");
}

#[test]
fn the_end_of_the_stream_resolves_everything_once_and_waits_for_what_is_owed() {
    let mut client = busy();
    client.eof();
    assert_eq!(client.heard(), [&RESOLVED[..], &["revoked 1", "signal 2"]].concat());
    assert_eq!((client.said(), client.due_in()), (vec!["p: cancelled".into()], Some(Duration::from_secs(2))));
    assert_eq!(client.respond(2, Ok(json!({}))), Delivery::Queued);
    assert_eq!(client.heard(), [""; 0], "it is not over before the output is");
    assert_eq!(client.said(), ["q: ok"]);
    assert_eq!(client.heard(), ["closed Eof"]);
    is_over(&mut client, &CloseReason::Eof);
}

#[test]
fn what_the_host_still_owes_is_answered_for_it_when_the_time_is_over() {
    let mut client = busy();
    let now = client.now;
    client.conn.close(now);
    client.heard();
    client.said();
    client.wait(Duration::from_secs(2));
    assert_eq!(client.said(), ["q: -32800"]);
    assert_eq!(client.heard(), ["closed Local"]);
    assert_eq!(client.respond(2, Ok(json!({}))), Delivery::TooLate);
    is_over(&mut client, &CloseReason::Local);
}

#[test]
fn an_agent_that_reads_nothing_cannot_hold_up_the_end() {
    let mut client = busy();
    client.eof();
    client.heard();
    client.wait(Duration::from_secs(2));
    client.wait(Duration::from_secs(2));
    assert_eq!(client.heard(), ["closed Eof"]);
    is_over(&mut client, &CloseReason::Eof);
}

#[test]
fn a_lost_stream_resolves_everything_at_once_and_writes_nothing() {
    let mut client = busy();
    let now = client.now;
    client.conn.handle_lost("broken pipe", now);
    let closed = r#"closed Lost("broken pipe")"#;
    assert_eq!(client.heard(), [&RESOLVED[..], &["revoked 1", closed]].concat());
    is_over(&mut client, &CloseReason::Lost("broken pipe".into()));
    assert_eq!(client.decide(1, "allow"), Delivery::TooLate);
    assert_eq!((client.heard(), client.said()), (vec![], vec![]));
}

#[test]
fn an_unconfirmed_stop_resolves_everything_at_once() {
    let mut client = busy();
    client.wait(Duration::from_secs(10));
    assert_eq!(client.heard(), [&RESOLVED[..], &["revoked 1", "closed StopUnconfirmed"]].concat());
    is_over(&mut client, &CloseReason::StopUnconfirmed);
}

#[test]
fn too_much_noise_ends_it_and_a_good_line_starts_the_count_again() {
    let (mut client, _) = ClientBench::ready(config(|config| config.limits.noise_lines = 3));
    for _ in 0..2 {
        for line in ["a", "b", "c"] {
            client.line(line);
        }
        client.chunk("s1", "good");
    }
    assert!(!client.conn.is_closed());
    client.heard();
    for line in ["a", "b", "c", "d", "e"] {
        client.line(line);
    }
    let heard = client.heard();
    assert_eq!((heard.len(), heard.last().map(String::as_str)), (5, Some("closed TooMuchNoise")), "{heard:?}");
    is_over(&mut client, &CloseReason::TooMuchNoise);
}

#[test]
fn a_last_line_without_a_line_break_counts() {
    let (mut client, ..) = ClientBench::running(Config::client());
    client.bytes(br#"{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}"#);
    assert_eq!(client.heard(), [""; 0]);
    client.eof();
    assert_eq!(client.heard(), ["turn 1 Ended(EndTurn)", "closed Eof"]);
    let (mut client, ..) = ClientBench::running(Config::client());
    client.bytes(br#"{"jsonrpc":"2.0","id":3,"resu"#);
    client.eof();
    assert_eq!(client.heard(), ["violation NotJson", "turn 1 Closed, Closed", "closed Eof"]);
}

#[test]
fn the_end_after_a_cancel_is_the_end_and_the_unsent_cancel_is_not_written() {
    let (mut client, _, turn) = ClientBench::running(Config::client());
    let now = client.now;
    client.conn.cancel_turn(turn, CancelKind::Stop, now).expect("ours");
    client.conn.close(now);
    assert_eq!((client.heard(), client.said()), (vec!["turn 1 Closed, Closed".into(), "closed Local".into()], vec![]));
    assert_eq!(client.conn.cancel_turn(turn, CancelKind::Stop, now), Ok(Cancellation::Moot));
}

#[test]
fn a_new_connection_knows_nothing_of_the_turns_of_the_last() {
    let (mut client, _, _) = ClientBench::running(Config::client());
    client.eof();
    assert_eq!(client.heard(), ["turn 1 Closed, Closed", "closed Eof"]);
    let mut next = ClientBench::fresh(Config::client());
    next.initialize(json!({ "agentCapabilities": { "loadSession": true } }));
    let now = next.now;
    next.conn.open_session(&SessionPlan::stored("s1", payload(json!({}))), now).expect("offered");
    next.result(2, json!({}));
    let session = next.conn.find_session("s1").expect("open");
    assert_eq!(next.conn.running_turn(session), None);
    assert!(next.conn.prompt(session, &text("hi"), None, now).is_ok());
}
