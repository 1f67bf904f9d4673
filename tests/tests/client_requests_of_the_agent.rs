//! What the agent asks of a client, permissions apart: its owner answers, once; a cancel only signals.

use acp_core::{CancelKind, Config, Delivery, ErrorObject, Payload};
use acp_tests::{
    bench::payload,
    client::{ClientBench, config},
};
use serde_json::json;

#[test]
fn a_host_answers_with_a_result_with_nothing_or_with_an_error_of_its_own() {
    let (mut client, _) = ClientBench::ready(Config::client());
    for id in ["a", "b", "c"] {
        client.request(id, "_vendor", json!({}));
    }
    assert_eq!(client.heard(), ["request 1 _vendor", "request 2 _vendor", "request 3 _vendor"]);
    let now = client.now;
    let error = ErrorObject::new(7, "mine").with_data(payload(json!({ "k": 1 })));
    let third = client.requests.remove(&3).expect("told");
    assert_eq!(client.conn.respond(third, Err(error), now), Ok(Delivery::Queued));
    client.respond(1, Ok(json!({ "x": 1 })));
    let second = client.requests.remove(&2).expect("told");
    assert_eq!(client.conn.respond(second, Ok(Payload::NULL), now), Ok(Delivery::Queued));
    assert_eq!(
        client.frames(),
        [
            json!({ "id": "c", "error": { "code": 7, "message": "mine", "data": { "k": 1 } } }),
            json!({ "id": "a", "result": { "x": 1 } }),
            json!({ "id": "b", "result": null }),
        ]
    );
}

#[test]
fn what_the_host_does_not_handle_is_not_found() {
    let (mut client, _) = ClientBench::ready(Config::client());
    client.request(1, "_vendor", json!({}));
    let (action, now) = (client.conn.poll_action().expect("told"), client.now);
    assert_eq!(client.conn.decline(action, now), Delivery::Queued);
    client.request(2, "vendor/unlisted", json!({}));
    client.request(3, "session/new", json!({}));
    assert_eq!(
        (client.said(), client.heard()),
        (vec!["1: -32601".into(), "2: -32601".into(), "3: -32601".into()], vec![])
    );
}

#[test]
fn files_and_terminals_are_served_only_where_they_were_offered() {
    let methods =
        ["fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/output", "elicitation/create"];
    let mut bare = ClientBench::fresh(Config::client());
    bare.initialize(json!({}));
    bare.heard();
    let (mut full, _) = ClientBench::ready(Config::client());
    for (id, method) in methods.into_iter().enumerate() {
        bare.request(id, method, json!({ "sessionId": "s1" }));
        full.request(id, method, json!({ "sessionId": "s1" }));
        assert_eq!((bare.said(), bare.heard()), (vec![format!("{id}: -32601")], vec![]));
        assert_eq!((full.said(), full.heard()), (vec![], vec![format!("request {} {method}", id + 1)]));
    }
}

#[test]
fn methods_beyond_the_protocol_are_served_by_name() {
    let (mut client, _) = ClientBench::ready(config(|config| {
        config.methods.insert("vendor/listed".into());
    }));
    client.request(1, "vendor/listed", json!({}));
    client.request(2, "vendor/other", json!({}));
    assert_eq!((client.heard(), client.said()), (vec!["request 1 vendor/listed".into()], vec!["2: -32601".into()]));
}

#[test]
fn a_cancel_of_the_turn_signals_once_and_the_owner_answers_all_the_same() {
    let (mut client, _, turn) = ClientBench::running(Config::client());
    client.request("plan", "_plan", json!({ "sessionId": "s1" }));
    client.request("elsewhere", "_plan", json!({ "sessionId": "s2" }));
    client.request("nowhere", "_plan", json!({}));
    client.heard();
    let now = client.now;
    for kind in [CancelKind::Steer, CancelKind::Stop, CancelKind::Stop] {
        assert!(client.conn.cancel_turn(turn, kind, now).is_ok());
    }
    client.notification("$/cancel_request", json!({ "requestId": "plan" }));
    assert_eq!(client.heard(), ["signal 1"]);
    assert_eq!(client.said(), ["session/cancel s1", "session/cancel s1"], "nobody answers in its place");
    client.stops(3, "cancelled");
    assert_eq!(client.respond(1, Ok(json!({ "approved": true }))), Delivery::Queued);
    assert_eq!(client.said(), ["plan: ok"]);
}

#[test]
fn one_that_arrives_while_the_turn_is_being_cancelled_is_told_as_ever() {
    let (mut client, _, turn) = ClientBench::running(Config::client());
    let now = client.now;
    assert!(client.conn.cancel_turn(turn, CancelKind::Stop, now).is_ok());
    client.request("q", "terminal/output", json!({ "sessionId": "s1", "terminalId": "t" }));
    assert_eq!(client.heard(), ["request 1 terminal/output"]);
}

#[test]
fn the_agent_may_ask_to_cancel_any_request_of_its_own_and_no_other() {
    let (mut client, _) = ClientBench::ready(Config::client());
    client.request(9, "_slow", json!({}));
    client.request("9", "_other", json!({}));
    client.heard();
    client.notification("$/cancel_request", json!({ "requestId": 8 }));
    assert_eq!((client.heard(), client.said()), (vec![], vec![]), "what is unknown or over is ignored");
    client.notification("$/cancel_request", json!({ "requestId": 9 }));
    client.notification("$/cancel_request", json!({ "requestId": 9 }));
    assert_eq!(client.heard(), ["signal 1"]);
    client.respond(1, Err(-32800));
    assert_eq!(client.said(), ["9: -32800"]);
    client.notification("$/cancel_request", json!({}));
    assert_eq!((client.heard(), client.said()), (vec!["violation BadNotification".into()], vec![]));
}

#[test]
fn an_owner_that_fails_after_the_signal_has_cancelled() {
    let (mut client, _) = ClientBench::ready(Config::client());
    client.request("signalled", "_a", json!({}));
    client.request("not", "_b", json!({}));
    client.heard();
    client.notification("$/cancel_request", json!({ "requestId": "signalled" }));
    let now = client.now;
    for ticket in core::mem::take(&mut client.requests).into_values() {
        assert_eq!(client.conn.abandon(ticket.key(), now), Delivery::Queued);
    }
    assert_eq!(client.said(), ["signalled: -32800", "not: -32603"]);
}

#[test]
fn one_that_nobody_answers_stays_open_until_the_end() {
    let (mut client, _, turn) = ClientBench::running(Config::client());
    client.request("q", "_slow", json!({ "sessionId": "s1" }));
    client.heard();
    let now = client.now;
    assert!(client.conn.cancel_turn(turn, CancelKind::Steer, now).is_ok());
    assert_eq!(client.said(), ["session/cancel s1"]);
    client.stops(3, "cancelled");
    client.wait(core::time::Duration::from_secs(3600));
    assert_eq!(client.conn.unanswered().map(|(_, method)| method).collect::<Vec<_>>(), ["_slow"]);
    assert_eq!(client.said(), [""; 0]);
    client.eof();
    client.wait(core::time::Duration::from_secs(2));
    assert_eq!(client.said(), ["q: -32800"]);
    assert_eq!(client.heard(), ["signal 1", "turn 1 Cancelled", "closed Eof"], "signalled once");
}

#[test]
fn a_second_request_of_an_open_id_gets_no_answer_that_the_first_could_be_taken_for() {
    let (mut client, _) = ClientBench::ready(Config::client());
    client.request(5, "_a", json!({}));
    client.request(5, "_b", json!({}));
    client.request("5", "_c", json!({}));
    assert_eq!(client.heard(), ["request 1 _a", "violation DuplicateId", "request 2 _c"]);
    client.respond(1, Ok(json!({})));
    client.request(5, "_d", json!({}));
    assert_eq!((client.said(), client.heard()), (vec!["5: ok".into()], vec!["request 3 _d".into()]));
}

#[test]
fn our_ids_and_the_agents_are_two_spaces() {
    let (mut client, ..) = ClientBench::running(Config::client());
    client.request(3, "_same_number", json!({}));
    client.stops(3, "end_turn");
    assert_eq!(client.heard(), ["request 1 _same_number", "turn 1 Ended(EndTurn)"]);
    client.respond(1, Ok(json!({})));
    assert_eq!(client.said(), ["3: ok"]);
}

#[test]
fn over_the_limit_the_next_one_is_told_so_and_the_open_ones_stay() {
    let (mut client, _) = ClientBench::ready(config(|config| config.limits.peer_requests = 1));
    client.request(1, "_a", json!({}));
    client.request(2, "_b", json!({}));
    assert_eq!((client.heard(), client.said()), (vec!["request 1 _a".into()], vec!["2: -32603".into()]));
    client.respond(1, Ok(json!({})));
    client.request(2, "_b", json!({}));
    assert_eq!((client.heard(), client.said()), (vec!["request 2 _b".into()], vec!["1: ok".into()]));
}
