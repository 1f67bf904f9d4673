//! Time at the client's end: what is bounded, from when, and that its end reports and never decides.

use acp_core::{CancelKind, Cancellation, Cause, Config, Payload, RequestKey};
use acp_tests::{
    bench::payload,
    client::{ClientBench, config},
    schema::may_emit,
};
use core::time::Duration;
use serde_json::json;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn ask(client: &mut ClientBench, method: &str, timeout: Option<Duration>) -> RequestKey {
    let now = client.now;
    client.conn.request(method, Some(payload(json!({ "sessionId": "s1" }))), timeout, now).expect("it may be sent")
}

fn cancel(client: &mut ClientBench, request: RequestKey) -> Cancellation {
    let now = client.now;
    client.conn.cancel_request(request, now).expect("a request of ours")
}

#[test]
fn a_prompt_may_take_as_long_as_it_takes() {
    let (mut client, ..) = ClientBench::running(Config::client());
    client.permission("p", "s1");
    for _ in 0..24 {
        client.wait(seconds(3600));
    }
    assert_eq!((client.due_in(), client.said()), (None, vec![]));
    client.stops(3, "end_turn");
    assert_eq!(client.heard(), ["permission 1 s1 turn 1", "turn 1 Ended(EndTurn)"]);
}

#[test]
fn a_request_is_bounded_by_what_its_caller_says() {
    may_emit("its host asks without params");
    let (mut client, _) = ClientBench::ready(Config::client());
    let bounded = ask(&mut client, "session/set_mode", Some(seconds(5)));
    ask(&mut client, "_unbounded", None);
    client.said();
    assert_eq!(client.conn.poll_timeout().map(|deadline| deadline.cause), Some(Cause::Request(bounded)));
    client.wait(Duration::from_millis(4999));
    assert_eq!(client.heard(), [""; 0]);
    client.wait(Duration::from_millis(1));
    assert_eq!((client.heard(), client.due_in()), (vec!["resolved 3 - TimedOut".into()], None));
    client.wait(seconds(5));
    client.result(3, json!({}));
    client.error(3, -32603);
    assert_eq!(client.heard(), [""; 0], "what comes too late says nothing");
    client.result(4, json!({}));
    assert_eq!(client.heard(), ["resolved 4 - Result"]);
}

#[test]
fn a_request_that_was_not_handed_out_in_time_never_is() {
    let (mut client, _) = ClientBench::ready(Config::client());
    ask(&mut client, "_bounded", Some(seconds(5)));
    ask(&mut client, "_unbounded", None);
    client.wait(seconds(5));
    assert_eq!(
        (client.heard(), client.said()),
        (vec!["resolved 3 - TimedOut".into()], vec!["ask 4 _unbounded".into()])
    );
    assert_eq!(client.conn.queued_bytes(), 0);
}

#[test]
fn an_answer_in_time_disarms() {
    let (mut client, _) = ClientBench::ready(Config::client());
    ask(&mut client, "_a", Some(seconds(5)));
    client.result(3, json!({}));
    assert_eq!(client.due_in(), None);
    client.wait(seconds(10));
    assert_eq!(client.heard(), ["resolved 3 - Result"]);
}

#[test]
fn a_place_under_the_limit_comes_back_with_the_answer_and_with_the_deadline() {
    let (mut client, _) = ClientBench::ready(config(|config| config.limits.own_requests = 1));
    ask(&mut client, "_a", Some(seconds(5)));
    let now = client.now;
    let full = acp_core::CommandError::Full { what: "limits.own_requests" };
    assert_eq!(client.conn.request("_b", None, None, now), Err(full.clone()));
    client.wait(seconds(5));
    ask(&mut client, "_c", None);
    let now = client.now;
    assert_eq!(client.conn.request("_d", None, None, now), Err(full));
    client.result(4, json!({}));
    ask(&mut client, "_e", None);
    assert_eq!(client.said(), ["ask 4 _c", "ask 5 _e"], "a refused request used up no id");
}

// ---- cancelling a request --------------------------------------------------------------------------------------

#[test]
fn a_request_of_ours_is_cancelled_once_and_stays_open_for_either_answer() {
    for (answer, heard) in [
        (json!({ "id": 3, "result": {} }), "resolved 3 - Result"),
        (json!({ "id": 3, "error": { "code": -32800, "message": "" } }), "resolved 3 - Error -32800"),
    ] {
        let (mut client, _) = ClientBench::ready(Config::client());
        let request = ask(&mut client, "_slow", None);
        client.said();
        assert_eq!(cancel(&mut client, request), Cancellation::Requested);
        assert_eq!(cancel(&mut client, request), Cancellation::AlreadyRequested);
        assert_eq!((client.said(), client.heard(), client.due_in()), (vec!["$/cancel_request 3".into()], vec![], None));
        client.message(answer);
        assert_eq!(client.heard(), [heard]);
        assert_eq!((cancel(&mut client, request), client.said()), (Cancellation::Moot, vec![]));
    }
}

#[test]
fn a_request_that_was_not_handed_out_is_taken_back_when_it_is_cancelled() {
    let (mut client, _) = ClientBench::ready(Config::client());
    let request = ask(&mut client, "_slow", Some(seconds(5)));
    assert_eq!(cancel(&mut client, request), Cancellation::Requested);
    assert_eq!((client.said(), client.heard()), (vec![], vec!["resolved 3 - Cancelled".into()]));
    assert_eq!(client.due_in(), None);
}

#[test]
fn an_unsent_cancel_is_taken_back_when_the_answer_comes_first() {
    let (mut client, _) = ClientBench::ready(Config::client());
    let request = ask(&mut client, "_slow", None);
    client.said();
    cancel(&mut client, request);
    client.result(3, json!({}));
    assert_eq!((client.said(), client.heard()), (vec![], vec!["resolved 3 - Result".into()]));
}

#[test]
fn a_cancel_that_is_ignored_is_reported_where_that_is_asked_for() {
    let (mut client, _) = ClientBench::ready(config(|config| config.cancel_confirm = Some(seconds(3))));
    let request = ask(&mut client, "_slow", None);
    client.said();
    cancel(&mut client, request);
    client.wait(seconds(1));
    cancel(&mut client, request);
    client.wait(seconds(2));
    assert_eq!((client.heard(), client.due_in()), (vec!["unconfirmed 3".into()], None), "from the first, and once");
    assert_eq!((client.conn.unresolved(), client.conn.is_closed()), (1, false), "nothing is decided by it");
    client.result(3, json!({}));
    assert_eq!(client.heard(), ["resolved 3 - Result"]);
    let request = ask(&mut client, "_slow", None);
    client.said();
    cancel(&mut client, request);
    client.error(4, -32800);
    assert_eq!(client.due_in(), None);
}

#[test]
fn a_request_that_is_resolved_here_takes_the_wait_for_its_cancel_along() {
    let (mut client, _) = ClientBench::ready(config(|config| config.cancel_confirm = Some(seconds(3))));
    let request = ask(&mut client, "_slow", Some(seconds(1)));
    client.said();
    cancel(&mut client, request);
    client.wait(seconds(1));
    assert_eq!((client.heard(), client.due_in()), (vec!["resolved 3 - TimedOut".into()], None));
    client.wait(seconds(5));
    assert!(client.heard().is_empty(), "nothing is reported about what is over");
}

#[test]
fn a_cancel_that_was_not_delivered_is_waited_for_no_longer() {
    let (mut client, _) = ClientBench::ready(config(|config| config.cancel_confirm = Some(seconds(3))));
    let request = ask(&mut client, "_slow", None);
    client.said();
    cancel(&mut client, request);
    let (frame, now) = (client.conn.poll_transmit().expect("the cancel").id(), client.now);
    client.conn.handle_transmit_failed(frame, now);
    assert_eq!((client.heard(), client.due_in()), (vec!["unconfirmed 3".into()], None), "reported once, at once");
}

#[test]
fn a_cancel_of_a_request_that_was_not_delivered_may_be_asked_again() {
    let (mut client, _) = ClientBench::ready(Config::client());
    let request = ask(&mut client, "_slow", None);
    client.said();
    for _ in 0..2 {
        assert_eq!(cancel(&mut client, request), Cancellation::Requested);
        let (frame, now) = (client.conn.poll_transmit().expect("the cancel").id(), client.now);
        client.conn.handle_transmit_failed(frame, now);
        assert_eq!((client.heard(), client.conn.unresolved()), (vec!["unconfirmed 3".into()], 1));
    }
}

#[test]
fn requests_in_a_turn_resolve_when_it_is_cancelled_and_cascade_where_that_is_the_policy() {
    may_emit("its host asks without params");
    for cascade in [false, true] {
        let (mut client, session, turn) = ClientBench::running(config(|config| config.cascade = cascade));
        let now = client.now;
        assert!(client.conn.request_in(turn, "session/set_mode", &Payload::EMPTY, None, now).is_ok());
        assert!(client.conn.request_in(session, "session/set_mode", &Payload::EMPTY, None, now).is_ok());
        client.said();
        assert!(client.conn.request_in(turn, "_unsent", &Payload::EMPTY, None, now).is_ok());
        assert!(client.conn.cancel_turn(turn, CancelKind::Stop, now).is_ok());
        let frames = if cascade { vec!["session/cancel s1", "$/cancel_request 4"] } else { vec!["session/cancel s1"] };
        assert_eq!(client.said(), frames);
        assert_eq!(client.heard(), ["resolved 4 s1 Cancelled", "resolved 6 s1 Cancelled"]);
        assert!(client.conn.request_in(turn, "_late", &Payload::EMPTY, None, now).is_ok());
        assert_eq!((client.said(), client.heard()), (vec![], vec!["resolved 7 s1 Cancelled".into()]));
        client.result(4, json!({}));
        client.result(5, json!({}));
        assert_eq!(client.heard(), ["resolved 5 s1 Result"]);
    }
}

#[test]
fn a_turn_whose_cancel_did_not_get_out_takes_requests_again() {
    let (mut client, _, turn) = ClientBench::running(Config::client());
    let now = client.now;
    assert!(client.conn.cancel_turn(turn, CancelKind::Stop, now).is_ok());
    let frame = client.conn.poll_transmit().expect("the cancel").id();
    client.conn.handle_transmit_failed(frame, now);
    assert!(client.conn.request_in(turn, "_again", &Payload::EMPTY, None, now).is_ok());
    assert_eq!(client.said(), ["ask 4 _again"]);
    assert_eq!(client.heard(), ["undelivered turn 1 stop=true steer=false"]);
}

// ---- clocks of silence -----------------------------------------------------------------------------------------

#[test]
fn silence_is_told_once_and_any_frame_ends_it() {
    let (mut client, ..) = ClientBench::running(config(|config| config.silence = Some(seconds(30))));
    client.wait(seconds(29));
    client.chunk("s1", "a");
    client.wait(seconds(29));
    client.line("some log output");
    client.wait(seconds(29));
    assert_eq!(client.heard(), ["update s1 turn 1: a", "violation NotJson"]);
    client.wait(seconds(1));
    assert_eq!((client.heard(), client.due_in(), client.said()), (vec!["silent 30s".into()], None, vec![]));
    client.wait(seconds(300));
    assert_eq!(client.heard(), [""; 0], "once for each silence");
    client.chunk("s1", "b");
    client.wait(seconds(30));
    client.stops(3, "end_turn");
    assert_eq!(client.heard(), ["update s1 turn 1: b", "silent 30s", "turn 1 Ended(EndTurn)"]);
    assert_eq!(client.due_in(), None, "nothing of ours is open");
}

#[test]
fn nobody_is_silent_who_waits_for_us() {
    let (mut client, ..) = ClientBench::running(config(|config| config.silence = Some(seconds(30))));
    client.permission("p", "s1");
    assert_eq!(client.due_in(), None);
    client.wait(seconds(300));
    client.heard();
    client.decide(1, "allow");
    assert_eq!(client.due_in(), Some(seconds(30)), "from our answer on");
    client.wait(seconds(30));
    assert_eq!(client.heard(), ["silent 30s"]);
}

#[test]
fn an_idle_connection_is_closed_where_that_is_the_policy_and_only_while_nothing_is_open() {
    let (mut client, session) = ClientBench::ready(config(|config| config.idle = Some(seconds(60))));
    assert_eq!(client.due_in(), Some(seconds(60)));
    client.wait(seconds(59));
    client.chunk("s1", "a");
    assert_eq!(client.due_in(), Some(seconds(60)), "any frame starts it again");
    client.prompt(session);
    assert_eq!(client.due_in(), None);
    client.wait(seconds(3600));
    client.stops(3, "end_turn");
    client.request("q", "_ask", json!({}));
    assert_eq!(client.due_in(), None);
    client.wait(seconds(3600));
    client.heard();
    client.respond(1, Ok(json!({})));
    client.wait(seconds(60));
    assert_eq!((client.said(), client.heard()), (vec!["q: ok".into()], vec!["closed Idle".into()]));
}

#[test]
fn the_clocks_run_on_transports_that_keep_messages_apart() {
    let (mut client, ..) = ClientBench::running(config(|config| config.silence = Some(seconds(30))));
    client.wait(seconds(20));
    let message = br#"{"jsonrpc":"2.0","method":"_x"}"#;
    let now = client.now;
    client.conn.handle_message(&message[..].into(), now);
    assert_eq!(client.due_in(), Some(seconds(30)));
}

#[test]
fn a_clock_that_jumps_back_or_wakes_early_fires_nothing() {
    let (mut client, _) = ClientBench::ready(Config::client());
    ask(&mut client, "_a", Some(seconds(5)));
    client.said();
    client.wait(seconds(4));
    client.conn.handle_timeout(acp_core::Timestamp::ZERO);
    client.conn.handle_timeout(acp_core::Timestamp::ZERO);
    assert_eq!((client.heard(), client.due_in()), (vec![], Some(seconds(1))));
}
