//! How turns and requests come out: what was asked, and what the wire said, kept apart.

use acp_core::{
    CancelCause, CancelKind, ClientAction, Common, Config, Outcome, Resolved, Settlement, Violation, wire::StopReason,
};
use acp_tests::{
    bench::payload,
    client::{ClientBench, config},
};
use serde_json::{Value, json};

/// What a turn comes to after it was cancelled or not, and answered so.
fn settled(cancelled: Option<CancelKind>, answer: Value) -> (Settlement, Outcome) {
    let (mut client, _, turn) = ClientBench::running(config(|config| config.limits.line = 500));
    if let Some(kind) = cancelled {
        let now = client.now;
        assert!(client.conn.cancel_turn(turn, kind, now).is_ok());
    }
    client.said();
    client.message(answer);
    let mut ended = client.actions();
    assert_eq!(ended.len(), 1, "{ended:?}");
    match ended.remove(0) {
        ClientAction::TurnEnded { turn: of, settlement, outcome, .. } if of == turn => (settlement, outcome),
        other => panic!("{other:?}"),
    }
}

fn result(result: Value) -> Value {
    json!({ "id": 3, "result": result })
}

fn error(code: i64) -> Value {
    json!({ "id": 3, "error": { "code": code, "message": "" } })
}

#[test]
fn a_turn_comes_out_as_what_was_asked_and_what_the_wire_said() {
    let other = StopReason::from("paused_v9");
    for (reason, unasked, asked) in [
        ("end_turn", Settlement::Ended(StopReason::EndTurn), Settlement::EndedAlthoughCancelled(StopReason::EndTurn)),
        (
            "max_tokens",
            Settlement::Ended(StopReason::MaxTokens),
            Settlement::EndedAlthoughCancelled(StopReason::MaxTokens),
        ),
        ("refusal", Settlement::Ended(StopReason::Refusal), Settlement::EndedAlthoughCancelled(StopReason::Refusal)),
        ("paused_v9", Settlement::Ended(other.clone()), Settlement::EndedAlthoughCancelled(other)),
        ("cancelled", Settlement::CancelledUnasked, Settlement::Cancelled),
    ] {
        let answer = json!({ "stopReason": reason, "_meta": { "usage": 1 } });
        let outcome = Outcome::Result(payload(answer.clone()));
        assert_eq!(settled(None, result(answer.clone())), (unasked, outcome.clone()), "{reason}");
        for kind in [CancelKind::Stop, CancelKind::Steer] {
            assert_eq!(settled(Some(kind), result(answer.clone())), (asked.clone(), outcome.clone()), "{reason}");
        }
    }
}

#[test]
fn both_answers_to_a_cancelled_prompt_are_a_cancel_and_no_other_error_is() {
    let kind = Some(CancelKind::Stop);
    assert_eq!(settled(kind, error(-32800)).0, Settlement::Cancelled);
    assert_eq!(settled(None, error(-32800)).0, Settlement::CancelledUnasked);
    for code in [-32603, -32000, -32602, 1] {
        for kind in [None, kind] {
            let (settlement, outcome) = settled(kind, error(code));
            assert_eq!(settlement, Settlement::Failed, "{code}");
            assert!(matches!(outcome, Outcome::Error(error) if error.code == code));
        }
    }
}

#[test]
fn an_answer_that_cannot_be_read_is_not_the_agents_no_and_is_kept() {
    for answer in [json!({}), json!({ "stopReason": 1 }), Value::Null] {
        let (settlement, outcome) = settled(None, result(answer.clone()));
        assert_eq!(settlement, Settlement::Failed);
        assert!(matches!(outcome, Outcome::Invalid { raw, .. } if raw.get::<Value>().expect("JSON") == answer));
    }
    for answer in
        [json!({ "id": 3, "error": { "code": 1.5, "message": "" } }), json!({ "id": 3, "result": {}, "error": null })]
    {
        let (settlement, outcome) = settled(None, answer.clone());
        assert_eq!(settlement, Settlement::Failed);
        let Outcome::Invalid { raw, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!(raw.get::<Value>().expect("JSON")["id"], 3, "all of it");
    }
}

#[test]
fn an_answer_that_is_too_long_settles_its_own_turn_only() {
    let (settlement, outcome) = settled(None, result(json!({ "stopReason": "end_turn", "x": "x".repeat(600) })));
    assert_eq!(settlement, Settlement::Failed);
    assert!(matches!(outcome, Outcome::TooLong { limit: 500, size } if size > 600));
}

#[test]
fn a_prompt_that_was_not_delivered_failed_so() {
    let (mut client, session) = ClientBench::ready(Config::client());
    let now = client.now;
    let content = payload(json!([]));
    assert!(client.conn.prompt(session, &content, None, now).is_ok());
    let frame = client.conn.poll_transmit().expect("the prompt").id();
    client.conn.handle_transmit_failed(frame, now);
    client.conn.handle_transmit_failed(frame, now);
    assert_eq!((client.heard(), client.conn.is_closed()), (vec!["turn 1 Failed, Undelivered".into()], false));
    assert!(client.conn.prompt(session, &content, None, now).is_ok());
}

#[test]
fn intent_is_on_record_before_anything_is_written() {
    let (mut client, _, turn) = ClientBench::running(Config::client());
    let now = client.now;
    assert!(client.conn.cancel_turn(turn, CancelKind::Stop, now).is_ok());
    client.error(3, -32603);
    client.stops(3, "cancelled");
    assert_eq!(client.heard(), ["turn 1 Failed, Error -32603"], "and the first answer is the only one");
}

#[test]
fn a_request_comes_out_in_as_many_ways_as_there_are() {
    let outcome = |then: fn(&mut ClientBench)| {
        let (mut client, _) = ClientBench::ready(config(|config| config.limits.line = 300));
        let now = client.now;
        let timeout = Some(core::time::Duration::from_secs(1));
        assert!(client.conn.request("_ask", None, timeout, now).is_ok());
        then(&mut client);
        let mut actions = client.actions();
        assert!(!actions.is_empty());
        match actions.remove(0) {
            ClientAction::Common(Common::Resolved(Resolved { outcome, .. })) => outcome,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(outcome(|client| client.result(3, json!(null))), Outcome::Result(payload(json!(null))));
    assert!(matches!(outcome(|client| client.error(3, 7)), Outcome::Error(error) if error.code == 7));
    assert!(outcome(|client| client.error(3, -32000)).is_auth_required());
    assert!(!outcome(|client| client.error(3, -32001)).is_auth_required());
    assert!(matches!(outcome(|client| client.message(json!({ "id": 3 }))), Outcome::Invalid { .. }));
    let long = |client: &mut ClientBench| client.result(3, json!("x".repeat(300)));
    assert!(matches!(outcome(long), Outcome::TooLong { limit: 300, .. }));
    assert_eq!(outcome(|client| client.wait(core::time::Duration::from_secs(1))), Outcome::TimedOut);
    assert_eq!(outcome(|client| client.eof()), Outcome::Closed);
    let taken_back = |client: &mut ClientBench| {
        let (now, own) = (client.now, client.conn.poll_timeout().map(|deadline| deadline.cause));
        let Some(acp_core::Cause::Request(request)) = own else { panic!("{own:?}") };
        assert!(client.conn.cancel_request(request, now).is_ok());
    };
    assert_eq!(outcome(taken_back), Outcome::Cancelled(CancelCause::Request));
}

#[test]
fn an_error_for_nobody_says_that_the_agent_could_not_read_us_and_settles_nothing() {
    let (mut client, _, turn) = ClientBench::running(Config::client());
    client.message(json!({ "id": null, "error": { "code": -32700, "message": "what?" } }));
    let [ClientAction::Common(Common::Violation(Violation::PeerRejected(error)))] = &client.actions()[..] else {
        panic!("a rejection")
    };
    assert_eq!((error.code, &*error.message), (-32700, "what?"));
    assert!(client.conn.is_live(turn) && client.said().is_empty());
}

#[test]
fn noise_is_reported_and_never_answered() {
    let (mut client, _, turn) = ClientBench::running(Config::client());
    for line in ["Loading model…", "{bad", "[]", "5", "{}", r#"{"jsonrpc":"2.0","id":77,"result":{}}"#] {
        client.line(line);
    }
    assert_eq!(client.heard().len(), 6);
    assert!(client.said().is_empty() && client.conn.is_live(turn));
}
